"""What is broken in a model → commands that may mend it, with what each does."""

from __future__ import annotations

import os
from shlex import join
from typing import TYPE_CHECKING

from templatelint import cards

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from templatelint.model import Finding, Model
    from templatelint.vet.verdicts import Verdict

_PROVED, _UNSAFE = "sometimes", "unsafe"
_OTHER = "OTHER.jinja"
_FIXED, _NEW = "fixed.jinja", "NEW.gguf"


def cures(model: Model, findings: Sequence[Finding], verdicts: Iterable[Verdict]) -> Iterator[tuple[str, str]]:
    """What each command does, in a clause, and the command.

    Args:
        model: the model; what stands in capitals or is called fixed is for the reader to name.
        findings: what was found in it.
        verdicts: what becomes of needs.
    """
    behind = {rule for one in verdicts if one.asked and not one.serves for rule in one.because}
    if not behind or not model.templates or model.kind == "stdin":
        return
    known = cards.all_cards()
    fixes = {known[found.rule].fix: found.rule for found in findings if found.rule in behind and found.rule in known}
    fixable = sorted({found.rule for found in findings if found.rule in behind and _fixed(found.rule)})
    unsafe = ["--unsafe-fixes"] if _UNSAFE in fixes and _PROVED not in fixes else []
    ref = _typed(model.reference(model.templates[0]) if model.picked else model.ref)
    if fixable and model.kind == "file":
        yield (
            f"cures {', '.join(fixable)} where rendering proves the edit (--diff shows it)",
            join(["templatelint", "lint", ref, "--fix", *unsafe]),
        )
    elif fixable:
        extract = join(["templatelint", "extract", ref, "-o", _FIXED])
        fix = join(["templatelint", "lint", _FIXED, "--fix", *unsafe])
        yield f"cures {', '.join(fixable)} where rendering proves the edit", f"{extract} && {fix}"
    if model.kind == "gguf" and model.launch is None:
        replaced = _FIXED if fixable else _OTHER
        says = (
            f"judges another template with the tokens of this file, to be served with --chat-template-file {replaced}"
        )
        yield says, join(["templatelint", "vet", replaced, "--against", ref])
        if os.path.lexists(model.ref):
            yield "writes it into a copy", join(["templatelint", "embed", ref, "--template", replaced, "-o", _NEW])


def _fixed(rule: str) -> bool:
    known = cards.all_cards()
    return rule in known and known[rule].fix in {_PROVED, _UNSAFE}


def _typed(ref: str) -> str:
    """The reference as a command line takes it."""
    return f"./{ref}" if ref.startswith("-") and ref != "-" else ref

"""References as typed → models, and what could not be read: one bad reference does not stop the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from templatelint import sources
from templatelint.errors import TemplatelintError
from templatelint.report import Remark, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Model


@dataclass(frozen=True)
class Read:
    """What the references gave, in their order.

    Attributes:
        models: each reference as typed, with its model.
    """

    models: tuple[tuple[str, Model], ...]
    unreadable: tuple[Unreadable, ...]

    def remarks(self) -> Iterator[Remark]:
        """What the user must know about how the references were understood."""
        for ref, model in self.models:
            yield from (Remark(ref, note) for note in model.notes)
            if model.tokenizer.assumed and (assumed := _assumed(model)):
                yield Remark(ref, assumed)


def read(
    refs: Sequence[str],
    *,
    stdin_filename: str | None = None,
    bos_token: str | None = None,
    eos_token: str | None = None,
) -> Read:
    """Resolve references, each file once however often and however it was typed."""
    models: list[tuple[str, Model]] = []
    unreadable: list[Unreadable] = []
    for ref in once(refs):
        try:
            model = sources.resolve(ref, stdin_filename=stdin_filename, bos_token=bos_token, eos_token=eos_token)
        except TemplatelintError as error:
            unreadable.append(Unreadable(ref, error.message, error.help))
        else:
            models.append((ref, model))
    return Read(tuple(models), tuple(unreadable))


def once(refs: Sequence[str]) -> list[str]:
    """The references without those that mean a file named before."""
    seen: dict[str, str] = {}
    for ref in refs:
        path, sign, name = (ref, "", "") if _exists(ref) else ref.rpartition("#")
        if not sign:
            path = ref
        identity = str(Path(path).resolve()) if _exists(path) else path
        seen.setdefault(f"{identity}{sign}{name}", ref)
    return list(seen.values())


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _assumed(model: Model) -> str:
    """Which tokens are our assumption, where a template prints them."""
    named = {"bos_token": "BOS", "eos_token": "EOS"}
    special = model.tokenizer.special_tokens
    used = [
        f"{named[token]} {special[token]}"
        for token in named
        if token in special and any(token in template.source for template in model.templates)
    ]
    if not used:
        return ""
    flags = " and ".join(
        f"--{token.replace('_', '-')}" for token in named if any(named[token] in text for text in used)
    )
    return f"{' and '.join(used)} assumed ({flags})"

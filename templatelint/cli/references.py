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
        given: the tokens that the user set: what he set is no assumption of ours.
    """

    models: tuple[tuple[str, Model], ...]
    unreadable: tuple[Unreadable, ...]
    given: frozenset[str] = frozenset()

    def remarks(self) -> Iterator[Remark]:
        """What the user must know about how the references were understood."""
        for ref, model in self.models:
            yield from (Remark(ref, note) for note in model.notes)
            if model.tokenizer.assumed:
                yield from (Remark(ref, text) for text in _assumed(model, self.given))


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
    wanted = once(refs)
    if sum(map(is_stdin, wanted)) > 1:
        raise TemplatelintError("stdin is asked for twice", help="- alone takes all of its templates")
    for ref in wanted:
        try:
            model = sources.resolve(ref, stdin_filename=stdin_filename, bos_token=bos_token, eos_token=eos_token)
        except TemplatelintError as error:
            unreadable.append(Unreadable(ref, error.message, error.help))
        else:
            models.append((ref, model))
    given = {"bos_token": bos_token, "eos_token": eos_token}
    return Read(tuple(models), tuple(unreadable), frozenset(name for name, text in given.items() if text is not None))


def once(refs: Sequence[str]) -> list[str]:
    """The references without those that mean a file named before."""
    seen: dict[tuple[str, str | None], str] = {}
    for ref in refs:
        path, name = _parts(ref)
        seen.setdefault((_identity(path), name), ref)
    return list(seen.values())


def is_stdin(ref: str) -> bool:
    """Whether it means standard input, all of it or the template of a name (`-#NAME`)."""
    return _parts(ref)[0] == "-"


def _parts(ref: str) -> tuple[str, str | None]:
    """Path, and name of the template where one is named."""
    if "#" not in ref or _exists(ref):
        return ref, None
    path, _, name = ref.rpartition("#")
    return path, name


def _identity(path: str) -> str:
    try:
        return str(Path(path).resolve()) if _exists(path) else path
    except (OSError, RuntimeError):  # the working directory is gone, or links go round in a circle
        return path


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _assumed(model: Model, given: frozenset[str]) -> Iterator[str]:
    """Which tokens are our assumption, where a template prints them."""
    special = model.tokenizer.special_tokens
    for token, name, flag in (("bos_token", "BOS", "--bos-token"), ("eos_token", "EOS", "--eos-token")):
        if token in special and token not in given and any(token in template.source for template in model.templates):
            yield f"{name} {special[token]} assumed ({flag})"

"""References as typed → models, and what could not be read: one bad reference does not stop the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from templatelint import sources
from templatelint.errors import TemplatelintError
from templatelint.report import Remark, Unreadable
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Model


@dataclass(frozen=True)
class Read:
    """What the references gave, in their order.

    Attributes:
        models: each reference as typed, but for passwords in it, with its model.
        given: the tokens that the user set: what he set is no assumption of ours.
        left_out: references that another one stands for.
        reach: how far they were followed.
    """

    models: tuple[tuple[str, Model], ...]
    unreadable: tuple[Unreadable, ...]
    given: frozenset[str] = frozenset()
    left_out: tuple[Remark, ...] = ()
    reach: Reach = field(default_factory=Reach)

    def remarks(self) -> Iterator[Remark]:
        """What the user must know about how the references were understood."""
        yield from self.left_out
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
    reach: Reach,
) -> Read:
    """Resolve references, each file once however often and however it was typed."""
    models: list[tuple[str, Model]] = []
    unreadable: list[Unreadable] = []
    wanted, left_out = _without_later_shards(once(refs))
    if sum(map(is_stdin, wanted)) > 1:
        raise TemplatelintError("stdin is asked for twice", help="- alone takes all of its templates")
    for ref in wanted:
        try:
            model = sources.resolve(
                ref, stdin_filename=stdin_filename, bos_token=bos_token, eos_token=eos_token, reach=reach
            )
        except TemplatelintError as error:
            unreadable.append(Unreadable(sources.public(ref), error.message, error.help))
        else:
            models.append((sources.public(ref), model))
    given = {"bos_token": bos_token, "eos_token": eos_token}
    named = frozenset(name for name, text in given.items() if text is not None)
    return Read(tuple(models), tuple(unreadable), named, tuple(left_out), reach)


def _without_later_shards(refs: Sequence[str]) -> tuple[list[str], list[Remark]]:
    """The references without the shards of a split GGUF whose first one is among them: that carries the template."""
    if not any(ref.lower().endswith(".gguf") for ref in refs):
        return list(refs), []
    from templatelint.sources.gguf_shards import first_shard

    known = {_identity(ref) for ref in refs}
    kept: list[str] = []
    left_out: list[Remark] = []
    for ref in refs:
        first = first_shard(Path(ref).name)
        if first and first != Path(ref).name and _identity(str(Path(ref).with_name(first))) in known:
            left_out.append(Remark(ref, "later shards of a split left out: the first one has its template"))
        else:
            kept.append(ref)
    return kept, left_out


def need_other_file(target: Path | None, read: Read) -> None:
    """Refuse to write the result over a file that was read for it.

    Raises:
        TemplatelintError: the target is one of the references, or carries a template of one.
    """
    if target is None or not _exists(str(target)):
        return
    files = {_parts(ref)[0] for ref in (*(ref for ref, _ in read.models), *(row.ref for row in read.unreadable))}
    files.update(template.origin.path for _, model in read.models for template in model.templates)
    if _identity(str(target)) in map(_identity, files):
        raise TemplatelintError(f"{target} is read: the result would take its place", help="give -o another file")


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
    from templatelint.passages import without_comments

    special = model.tokenizer.special_tokens
    written = [without_comments(template.source) for template in model.templates]
    for token, name, flag in (("bos_token", "BOS", "--bos-token"), ("eos_token", "EOS", "--eos-token")):
        if token in special and token not in given and any(token in text for text in written):
            yield f"{name} {special[token]} assumed ({flag})"

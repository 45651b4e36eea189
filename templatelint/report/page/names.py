"""References → the shortest names that tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

from templatelint.report.terminal import visible

_LONG = 80
_ENDINGS = (".jinja", ".jinja2", ".j2", ".gguf")
# files that are called so in every folder
_COMMON = frozenset({"chat_template.jinja", "tokenizer_config.json", "chat_template.json", "processor_config.json"})


def short(refs: Iterable[str]) -> Mapping[str, str]:
    """A name for each reference: the end of a path, as long as it has to be."""
    distinct = list(dict.fromkeys(refs))
    lengths = dict.fromkeys(distinct, 1)
    most = max((ref.count("/") for ref in distinct), default=0) + 1
    for _ in range(most):
        names = {ref: _tail(ref, lengths[ref]) for ref in distinct}
        taken = list(names.values())
        clashing = [ref for ref in distinct if taken.count(names[ref]) > 1]
        if not clashing:
            return {ref: _clipped(name) for ref, name in names.items()}
        for ref in clashing:
            lengths[ref] += 1
    return {ref: visible(ref) for ref in distinct}


def _tail(ref: str, parts: int) -> str:
    pieces = ref.split("/")
    owned = len(pieces) == 2 and "" not in pieces and not ref.startswith(".")  # noqa: PLR2004 (owner/name)
    if owned and pieces[1] not in _COMMON and not ref.endswith(_ENDINGS):
        return ref
    tail = pieces[-parts:]
    if tail[-1] in _COMMON and len(pieces) > parts:
        tail = pieces[-parts - 1 :]
    name = "/".join(tail)
    for ending in _ENDINGS:
        if name.endswith(ending) and len(name) > len(ending) and tail[-1] not in _COMMON:
            return name.removesuffix(ending)
    return name


def _clipped(name: str) -> str:
    name = visible(name)
    return name if len(name) <= _LONG else f"{name[: _LONG // 2]}…{name[-_LONG // 2 :]}"

"""TL211: parts of a tool's definition do not reach the prompt although the tool itself does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._words import listed
from templatelint.model import Fault
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_RICH = "tool-schema-rich"
_OPTIONAL = f"{_RICH}+optional"
CASES = (_RICH, _OPTIONAL)

_TOOL = "tools.1"
_REQUIRED = "the list of required parameters"
# What a definition consists of, and the mark that is in the prompt if that is. What is within a part that is lost is
# lost with it.
_PARTS = {
    "the tool's name": "name",
    "the tool's description": "description",
    "the parameters": "parameter",
    "their descriptions": "parameter.description",
    "the values of an `enum`": "enum",
    "the properties of an object": "nested",
    "descriptions inside an object": "nested.description",
    "the `items` of an array": "item",
    "descriptions inside `items`": "item.description",
    "the branches of `anyOf`": "branch.description",
    "the description of a parameter with `anyOf`": "choice.description",
    "the description of a parameter of two types": "union.description",
    "the description of a parameter without a type": "untyped.description",
    "the definition that a `$ref` names": "definition",
    "descriptions inside that definition": "definition.description",
}


def check(view: View) -> Iterator[Fault]:
    """Follow every part of a rich definition; see whether it matters to the prompt what is required."""
    case, prompt = view.case(_RICH), view.prompt(_RICH)
    if not any(has(prompt, case, f"{_TOOL}.{mark}") for mark in ("name", "parameter")):
        return
    missing = {mark for mark in _PARTS.values() if not has(prompt, case, f"{_TOOL}.{mark}")}
    lost = [part for part, mark in _PARTS.items() if mark in missing and _outer(mark) not in missing]
    if "parameter" not in missing and view.renders(_OPTIONAL) and view.prompt(_OPTIONAL) == prompt:
        lost.append(_REQUIRED)
    if lost:
        yield Fault(
            message=f"a tool's definition reaches the prompt without {listed(lost)}",
            help="print these too, or all of it, `{{ tool | tojson }}`: what a model is not told, it makes up",
            cases=(_RICH, _OPTIONAL) if _REQUIRED in lost else (_RICH,),
            cause=", ".join(lost),
            span=view.mention("parameters", "properties", "tools"),
        )


def _outer(mark: str) -> str:
    """The mark of what this one is within; parameters hold all but the tool's own name and description."""
    outer = mark.rpartition(".")[0]
    if outer in _PARTS.values():
        return outer
    return "" if mark in {"name", "description", "parameter"} else "parameter"

"""Content as a string or as a list of parts: which of the two arrives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from templatelint.capabilities import tools
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.capabilities.cells import Cells, Word

_BASIC, _TURNS = "chat-basic", "chat-turns"
_WHOSE = {"typed-user": "user", "typed-system": "system", "typed-assistant": "assistant"}
_RESULT = {"tool-result-typed": "tool"}
CASES = (_BASIC, _TURNS, *_WHOSE, *_RESULT)
CARRIERS = tuple(_RESULT)

_PRINTED = re.compile(r"""[\[{]\s*['"]type['"]\s*:\s*['"]text['"]|\[object |['"]text['"]\s*:\s*['"]""")


def facts(cells: Cells, known: Mapping[str, Any]) -> dict[str, Any]:
    """`string_content`, `typed_content` and `typed_tool_results`.

    Args:
        cells: the cells.
        known: what is known of roles and tools: where a text is lost anyway, its shape is not to blame.
    """
    whose = {case_id: role for case_id, role in _WHOSE.items() if role != "system" or known["system"] in _ARRIVES}
    result = _RESULT if known["tool_results"] == "shown" else {}
    return {
        "string_content": _string(cells),
        "typed_content": _typed(cells, "typed_content", _TURNS, whose),
        "typed_tool_results": _typed(cells, "typed_tool_results", tools.usual(cells), result),
    }


_ARRIVES = frozenset({"honoured", "merged"})


def _string(cells: Cells) -> Word:
    """What becomes of a user's plain string; a template that takes neither shape is not to be judged by one."""
    plain = cells.plain(_BASIC)
    adapted = cells.case(_BASIC).id != _BASIC
    if plain is None:
        return None
    if plain.prompt is not None:
        return "lost" if adapted or not cells.has(_BASIC, "user.1") else "fine"
    if not adapted or plain.error is None:
        return None
    cells.errors["string_content"] = plain.error.message
    return "raises"


def _typed(cells: Cells, fact: str, usual: str, whose: Mapping[str, str]) -> Word:
    """The first thing that goes wrong with lists of text parts, where strings are taken."""
    if cells.prompt(usual) is None:
        return None
    words = [word for case_id, role in whose.items() if (word := _parts(cells, fact, case_id, role)) is not None]
    return next((word for word in words if word != "fine"), "fine" if words else None)


def _parts(cells: Cells, fact: str, case_id: str, role: str) -> Word:
    prompt = cells.prompt(case_id)
    if prompt is None:
        return None if cells.error(case_id) is None else cells.told(fact, "raises", case_id)
    case = cells.case(case_id)
    printed = _PRINTED.search(prompt)
    if printed is not None and printed[0] not in cells.view.template.source:
        return "printed"
    arrived = [has(prompt, case, mark) for mark in case.marks if mark.split(".")[0] == role]
    return "fine" if all(arrived) else "first only" if arrived[0] else "lost"

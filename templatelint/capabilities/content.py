"""Content as a string or as a list of parts: which of the two arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.capabilities import tools
from templatelint.checks._parts import printed
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from templatelint.capabilities.cells import Cells, Word

_BASIC, _TURNS = "chat-basic", "chat-turns"
_WHOSE = {"typed-user": "user", "typed-system": "system", "typed-assistant": "assistant"}
_RESULT = {"tool-result-typed": "tool"}
CASES = (_BASIC, _TURNS, *_WHOSE, *_RESULT)
CARRIERS = tuple(_RESULT)


def facts(cells: Cells, known: Mapping[str, Any]) -> dict[str, Any]:
    """`string_content`, `typed_content` and `typed_tool_results`.

    Args:
        cells: the cells.
        known: what is known of roles and tools: where a text is lost anyway, its shape is not to blame.
    """
    result = _RESULT if known["tool_results"] == "shown" else {}
    parts = typed(cells, known["system"], tuple(_WHOSE.values()))
    results = _typed(cells, "typed_tool_results", tools.usual(cells), result)
    return {
        "string_content": _string(cells),
        "typed_content": parts and parts[0],
        "typed_tool_results": results and results[0],
    }


def typed(cells: Cells, system: Word, roles: Collection[str]) -> tuple[str, str] | None:
    """What becomes of lists of text parts in messages of these roles, as a word of `typed_content`, and where it shows.

    Args:
        cells: the cells.
        system: what becomes of a system message.
        roles: of `user`, `system` and `assistant`.

    Returns:
        The word and the id of the cell; None where no text of these roles arrives as a string either.
    """
    arrives = {"user": True, "system": system in _ARRIVES, "assistant": cells.has(_TURNS, "assistant.1")}
    whose = {case_id: role for case_id, role in _WHOSE.items() if role in roles and arrives[role]}
    return _typed(cells, "typed_content", _TURNS, whose)


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


def _typed(cells: Cells, fact: str, usual: str, whose: Mapping[str, str]) -> tuple[str, str] | None:
    """The first thing that goes wrong with lists of text parts, where strings are taken."""
    if cells.prompt(usual) is None:
        return None
    found = [
        (word, cells.case(case_id).id)
        for case_id, role in whose.items()
        if (word := _parts(cells, fact, case_id, role)) is not None
    ]
    return next((fate for fate in found if fate[0] != "fine"), found[0] if found else None)


def _parts(cells: Cells, fact: str, case_id: str, role: str) -> Word:
    prompt = cells.prompt(case_id)
    if prompt is None:
        return None if cells.error(case_id) is None else cells.told(fact, "raises", case_id)
    if printed(cells.view, case_id, role) is not None:
        return "printed"
    case = cells.case(case_id)
    arrived = [has(prompt, case, mark) for mark in case.marks if mark.split(".")[0] == role]
    return "fine" if all(arrived) else "first only" if arrived[0] else "lost"

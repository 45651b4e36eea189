"""Content as a string or as a list of parts: which of the two arrives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jinja2 import nodes

from templatelint.capabilities import tools
from templatelint.reading import has, message_text, positions
from templatelint.syntax import TemplateSyntax, parse, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from templatelint.capabilities.cells import Cells, Word
    from templatelint.model import Case
    from templatelint.view import View

_BASIC, _TURNS = "chat-basic", "chat-turns"
_WHOSE = {"typed-user": "user", "typed-system": "system", "typed-assistant": "assistant"}
_RESULT = {"tool-result-typed": "tool"}
CASES = (_BASIC, _TURNS, *_WHOSE, *_RESULT)
CARRIERS = tuple(_RESULT)

# what stands before a text where the part that holds it is printed: its key, and no end of it since
_KEYED = re.compile(r"""['"]text['"]\s*:\s*['"][^{}]*\Z""")
_KEY = 24  # characters
_OBJECT = "[object "


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
    case = cells.case(case_id)
    marks = [mark for mark in case.marks if mark.split(".")[0] == role]
    if any(as_data(cells.view, case, prompt, mark) for mark in marks):
        return "printed"
    arrived = [has(prompt, case, mark) for mark in marks]
    if not all(arrived) and _OBJECT in prompt and _OBJECT not in cells.view.template.source:
        return "printed"
    return "fine" if all(arrived) else "first only" if arrived[0] else "lost"


def as_data(view: View, case: Case, prompt: str, mark: str) -> bool:
    """Whether a text stands in the prompt as a member of a part that is printed: `{'type': 'text', 'text': '…'}`.

    One that the template writes such keys round itself does not.
    """
    marked = case.marks[mark]
    before = message_text(case, marked).find(marked)
    # quotes and line ends in front of it are escaped there
    keys = (
        _KEYED.search(prompt[max(0, at - 2 * before - _KEY) : at].replace("\\", "")) for at in positions(prompt, marked)
    )
    return any(keys) and not _writes_keys(view)


def _writes_keys(view: View) -> bool:
    """Whether a text of the template's own ends in such a key, so that a message's text follows."""
    try:
        root = parse(view.template.source).root
    except TemplateSyntax:
        return False
    return any(
        isinstance(text, str) and _KEYED.search(text[-_KEY:]) is not None
        for node in walk(root)
        for text in [node.value if isinstance(node, nodes.Const) else getattr(node, "data", None)]
    )

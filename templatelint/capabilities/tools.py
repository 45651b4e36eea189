"""Definitions, calls, results, ids, and the shape of arguments: what of tool use reaches the model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from templatelint.checks._calls import id_for_name, lost_parts
from templatelint.reading import has, positions, region

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.capabilities.cells import Cells, Word
    from templatelint.model import Case

_BASIC = "chat-basic"
_OFFER = "tools-offer"
_OFFERS = (_OFFER, "tools-offer-system", "tools-many", "tool-call")
_NULL, _ABSENT, _EMPTY, _TEXT = "tool-call", "tool-call-absent", "tool-call-empty", "tool-call-text"
_CALLS = (_EMPTY, _TEXT, _NULL)
_FORMS = ("native", "wire")
_MAPPING = f"{_NULL}+mapping"
_UNANSWERED = ("tool-pending", "tool-unanswered")
_NAMED = "tool-result-named"
_PARALLEL = ("tool-parallel", "tool-parallel-same")
_ALONE = f"{_EMPTY}+notools"
CASES = (
    *(_BASIC, *_OFFERS, *_CALLS, *(f"{case_id}+{form}" for case_id in _CALLS for form in _FORMS)),
    *(_MAPPING, _ABSENT, f"{_ABSENT}+wire", f"{_ABSENT}+native", *_UNANSWERED, _NAMED, *_PARALLEL, _ALONE),
)
# cases with a call whose content and arguments are none of their business
CARRIERS = (_NAMED, *_PARALLEL, _ALONE)

_BEST = ("shown", "partly", "dropped", "refused")
_UNUSABLE = frozenset({"raises", "rejected", "lost"})
_WORD = "None"


def facts(cells: Cells) -> dict[str, Any]:
    """`tools` … `text_with_calls`."""
    found: dict[str, Any] = {"tools": _offered(cells), "tool_calls": _calls(cells)}
    found["tool_results"] = _results(cells, found["tool_calls"])
    if found["tool_calls"] not in {"shown", "partly"}:
        gone = dict.fromkeys(("parallel_tool_calls", "object_arguments", "string_arguments"), found["tool_calls"])
        return {**found, **gone}
    shapes = _shapes(cells)
    form = _usable(cells, shapes)
    return {
        **found,
        "parallel_tool_calls": _parallel(cells),
        "history_without_tools": _without_tools(cells, form),
        **_ids(cells),
        "object_arguments": shapes["native"],
        "string_arguments": shapes["wire"],
        "null_content": _bare(cells, "null_content", _null_case(cells, shapes), form),
        "absent_content": _bare(cells, "absent_content", _in_form(cells, _ABSENT, form), form),
        "text_with_calls": _text(cells, form),
    }


def demands(cells: Cells) -> tuple[str, ...]:
    """The variants without which calls do not arrive: content that is a string, arguments of the other shape."""
    form = _usable(cells, _shapes(cells))
    other = (form,) if form != cells.view.client_form else ()
    bare, filled = (_fate(cells, _in_form(cells, case_id, form)) for case_id in (_NULL, _EMPTY))
    better = bare is not None and filled is not None and _BEST.index(filled) < _BEST.index(bare)
    return (*other, "empty") if better else other


def usual(cells: Cells) -> str:
    """The id of the plainest history with a call and its result, in the form in which calls arrive."""
    return _in_form(cells, _EMPTY, _usable(cells, _shapes(cells)))


# ----------------------------------------------------------------------------------------------- definitions


def _offered(cells: Cells) -> Word:
    seen = {case_id: lost for case_id in _OFFERS if (lost := _unseen(cells, case_id)) is not None}
    if cells.error(_OFFER) is not None and cells.prompt(_BASIC) is not None:
        if not seen:
            return cells.told("tools", "refused", _OFFER)
        seen[_OFFER] = 1.0
    if not seen:
        return None
    if not any(seen.values()):
        return "shown"
    if all(lost == 1 for lost in seen.values()):
        return "dropped"
    with_system = [case_id for case_id, lost in seen.items() if not lost]
    return "with system only" if with_system == ["tools-offer-system"] else "some"


def _unseen(cells: Cells, case_id: str) -> float | None:
    """Which share of the definitions left neither name nor description in the prompt; None where there is none."""
    prompt = cells.prompt(case_id)
    if prompt is None:
        return None
    case = cells.case(case_id)
    called = {text for mark, text in case.marks.items() if mark.startswith("call.") and mark.endswith(".name")}
    names = [mark for mark in case.marks if mark.startswith("tools.") and mark.endswith(".name")]
    lost = [
        mark
        for mark in names
        if not has(prompt, case, mark.removesuffix("name") + "description")
        # a name that the history calls stands in the prompt without being offered
        and (case.marks[mark] in called or not has(prompt, case, mark))
    ]
    return len(lost) / len(names)


# ---------------------------------------------------------------------------------------- calls and results


def _calls(cells: Cells) -> Word:
    """The best that any form of the call gets."""
    fates = [_fate(cells, case_id) for case_id in (*_CALLS, *_other_forms(), _MAPPING)]
    if not any(fate in _BEST[:3] for fate in fates):
        # it may be the result that is refused; a call that is then lost speaks only where none is refused
        others = [_fate(cells, case_id) for case_id in _UNANSWERED]
        fates += [fate for fate in others if fate != "dropped" or "refused" not in others]
    best = min((_BEST.index(fate) for fate in fates if fate is not None), default=None)
    if best is None:
        return None
    if _BEST[best] == "refused":
        return cells.told("tool_calls", "refused", _CALLS) if cells.prompt(_BASIC) is not None else None
    return _BEST[best]


def _other_forms() -> Sequence[str]:
    return [f"{case_id}+{form}" for case_id in _CALLS for form in _FORMS]


def _fate(cells: Cells, case_id: str, call: int = 1) -> Word:
    """What becomes of a call: `shown`, `partly`, `dropped`, `refused`; None where there is no cell."""
    prompt = cells.prompt(case_id)
    if prompt is None:
        return None if cells.error(case_id) is None else "refused"
    case = cells.case(case_id)
    lost = lost_parts(prompt, case, call)
    if not lost or id_for_name(prompt, case, lost):
        return "shown"
    return "dropped" if {"name", "value"} <= set(lost) else "partly"


def _results(cells: Cells, calls: Word) -> Word:
    answered = [case_id for case_id in (*_CALLS, *_other_forms(), _MAPPING) if cells.prompt(case_id) is not None]
    if answered:
        return "shown" if any(cells.has(case_id, "tool.1") for case_id in answered) else "dropped"
    if calls is None:
        return None
    word = "need a name" if cells.has(_NAMED, "tool.1") else "refused"
    return cells.told("tool_results", word, _CALLS)


def _parallel(cells: Cells) -> Word:
    fates = [_fate(cells, case_id, 2) for case_id in _PARALLEL]
    if "refused" in fates:
        return cells.told("parallel_tool_calls", "refused", _PARALLEL)
    seen = [fate for fate in fates if fate is not None]
    if not seen:
        return None
    return "first only" if any(fate != "shown" for fate in seen) else "shown"


def _without_tools(cells: Cells, form: str) -> Word:
    usual = _in_form(cells, _EMPTY, form)
    if cells.prompt(usual) is None:
        return None
    if cells.prompt(_ALONE) is None:
        return cells.told("history_without_tools", "refused", _ALONE) if cells.error(_ALONE) is not None else None
    marks = [mark for mark in ("call.1.value", "tool.1") if cells.has(usual, mark)]
    return "kept" if all(cells.has(_ALONE, mark) for mark in marks) else "dropped"


def _ids(cells: Cells) -> dict[str, Any]:
    shown = [case_id for case_id in (*_CALLS, *_other_forms()) if _fate(cells, case_id) == "shown"]
    if not shown:
        return {}
    case_id = shown[0]
    case, prompt = cells.case(case_id), cells.prompt(case_id) or ""
    visible = bool(positions(region(prompt, case, until=""), case.marks["call.1.id"]))
    if "shortids" in case.id.split("+"):
        plain = cells.plain(_EMPTY)
        if plain is not None and plain.error is not None:
            cells.errors["call_ids"] = plain.error.message
        return {"call_ids": "nine", "call_ids_shown": visible}
    named = id_for_name(prompt, case, lost_parts(prompt, case, 1))
    return {"call_ids": "name" if named else "any", "call_ids_shown": visible}


# ------------------------------------------------------------------------------ the shape of arguments and content


def _in_form(cells: Cells, case_id: str, form: str) -> str:
    """The id of the case in that form."""
    return case_id if form == cells.view.client_form else f"{case_id}+{form}"


def _shapes(cells: Cells) -> dict[str, Word]:
    return {form: _arguments(cells, form) for form in _FORMS}


def _arguments(cells: Cells, form: str) -> Word:
    """What becomes of arguments as a mapping (`native`) or as a JSON string (`wire`)."""
    fact = "object_arguments" if form == "native" else "string_arguments"
    other = _FORMS[form == "native"]
    for case_id in _CALLS:
        own, compared = _in_form(cells, case_id, form), _in_form(cells, case_id, other)
        if cells.prompt(own) is None and cells.prompt(compared) is None:
            continue
        prompt = cells.prompt(own)
        if prompt is None:
            error = cells.error(own)
            word = "rejected" if error is not None and error.kind == "invalid-request" else "raises"
            return cells.told(fact, word, own) if error is not None else None
        if _fate(cells, own) in {"shown", "partly"} or _fate(cells, compared) in {"shown", "partly"}:
            return _written(prompt, cells.case(own))
    return None


def _written(prompt: str, case: Case) -> str:
    text, key = region(prompt, case), re.escape(case.marks["call.1.key"])
    if "value" in lost_parts(prompt, case, 1) or "key" in lost_parts(prompt, case, 1):
        return "lost"
    if re.search(rf'\\+"{key}\\+"', text):
        return "double-encoded"
    if re.search(rf"[{{ ]'{key}': ", text) and not re.search(rf"{re.escape(case.marks['call.1.name'])}\(\w+\s*=", text):
        return "python"
    return "fine"


def _usable(cells: Cells, shapes: dict[str, Word]) -> str:
    """The form in which calls arrive: the engine's own where it does."""
    own = cells.view.client_form
    other = _FORMS[own == "native"]
    return other if shapes[own] in _UNUSABLE and shapes[other] not in {*_UNUSABLE, None} else own


def _null_case(cells: Cells, shapes: dict[str, Word]) -> str:
    """The case of a call whose content is null: Python callers send mappings beside it, where those can be sent."""
    if cells.view.client_form == "native" and shapes["native"] not in _UNUSABLE:
        return _MAPPING
    return _in_form(cells, _NULL, "wire")


def _bare(cells: Cells, fact: str, case_id: str, form: str) -> Word:
    """What becomes of a call without content, compared with one that has some."""
    usual = [shape for shape in (_EMPTY, _TEXT) if cells.prompt(_in_form(cells, shape, form)) is not None]
    fate = _fate(cells, case_id)
    if fate is None or (fate == "refused" and not usual):
        return None
    if fate == "refused":
        return cells.told(fact, "raises", case_id)
    printed = region(cells.prompt(case_id) or "", cells.case(case_id))
    compared = _in_form(cells, usual[0], form) if usual else case_id
    if _WORD in printed and _WORD not in region(cells.prompt(compared) or "", cells.case(compared)):
        return "word"
    return "lost" if fate == "dropped" else "fine"


def _text(cells: Cells, form: str) -> Word:
    case_id = _in_form(cells, _TEXT, form)
    fate = _fate(cells, case_id)
    if fate == "refused":
        others = any(cells.prompt(_in_form(cells, shape, form)) is not None for shape in (_EMPTY, _NULL))
        return cells.told("text_with_calls", "raises", case_id) if others else None
    if fate in {None, "dropped"}:
        return None if fate is None else "lost"
    return "kept" if cells.has(case_id, "assistant.1") else "dropped"

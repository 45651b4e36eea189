"""What becomes of a model's thoughts: which fields carry them, how long they stay, what turns thinking on and off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.checks._reasoning import SWITCHES
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from templatelint.capabilities.cells import Cells, Word

_BASIC, _HISTORY, _LOOP = "chat-basic", "reasoning-history", "reasoning-loop"
# message field → the variant of a case that carries reasoning in it
_FIELDS = {"reasoning_content": "", "reasoning": "+reasoning", "thinking": "+thinking"}
_LONGEST = ("kept", "last-turn", "dropped")
_EFFORT = "reasoning_effort"
_EFFORTS = tuple(f'{_BASIC}+{_EFFORT}="{level}"' for level in ("none", "low", "high"))


def cases(text: str) -> Iterator[str]:
    """Ids of the cases for templates of that text: what has not the name of a variable cannot read it."""
    yield from (_BASIC, _HISTORY, _LOOP)
    if any(name in text for name in _FIELDS):  # engines may give it under other names than it came
        yield from (case_id + variant for variant in _FIELDS.values() for case_id in (_HISTORY, _LOOP))
    for name, pairs in SWITCHES.items():
        if name in text:
            yield from (_with(name, value) for pair in pairs for value in pair)
    if _EFFORT in text:
        yield from _EFFORTS


def carriers(planned: Iterable[str]) -> Iterator[str]:
    """The planned cases with a call that is none of their business."""
    return (case_id for case_id in planned if case_id.split("+")[0] == _LOOP)


def facts(cells: Cells) -> dict[str, Any]:
    """`reasoning` … `reasoning_effort`."""
    fates = {name: _fate(cells, variant) for name, variant in _FIELDS.items()}
    known = [_LONGEST.index(fate) for fate in fates.values() if fate is not None]
    reads = tuple(name for name, fate in fates.items() if fate in _LONGEST[:2])
    return {
        "reasoning": _LONGEST[min(known)] if known else None,
        "reasoning_fields": reads if known else None,
        **_switch(cells),
        "reasoning_effort": _effort(cells),
    }


def _fate(cells: Cells, variant: str) -> Word:
    """How long reasoning in one field stays; a running loop that is refused leaves the history alone to judge by."""
    history, loop = cells.prompt(_HISTORY + variant), cells.prompt(_LOOP + variant)
    if history is not None and has(history, cells.case(_HISTORY + variant), "reasoning.1"):
        return "kept"
    if loop is not None and any(has(loop, cells.case(_LOOP + variant), f"reasoning.{turn}") for turn in (1, 2)):
        return "last-turn"
    if loop is None and cells.error(_LOOP + variant) is None:
        return None
    return None if history is None else "dropped"


def _with(name: str, value: str) -> str:
    return f"{_BASIC}+{name}={value}"


def switched(cells: Cells, name: str) -> str:
    """The id of the cell whose prompt this variable makes another than it is without; empty where none does so."""
    usual = cells.prompt(_BASIC)
    ids = [_with(name, value) for pair in SWITCHES.get(name, ()) for value in reversed(pair)]
    prompts = {case_id: cells.prompt(case_id) for case_id in ids if case_id in cells.view.matrix.cases}
    return next((cells.case(own).id for own, prompt in prompts.items() if prompt is not None and prompt != usual), "")


def _differ(cells: Cells, one: str, other: str) -> bool | None:
    prompts = [cells.prompt(case_id) if case_id in cells.view.matrix.cases else None for case_id in (one, other)]
    return None if None in prompts else prompts[0] != prompts[1]


def _effort(cells: Cells) -> bool | None:
    """Whether any two levels give different prompts; templates refuse those that they do not know."""
    if cells.prompt(_BASIC) is None:
        return None
    if _EFFORTS[0] not in cells.view.matrix.cases:
        return False
    prompts = [prompt for case_id in _EFFORTS if (prompt := cells.prompt(case_id)) is not None]
    return len(set(prompts)) > 1 if len(prompts) > 1 else None


def _switch(cells: Cells) -> dict[str, Any]:
    """The variables that change the prompt, and which of its two values the first has where it is not sent."""
    usual = cells.prompt(_BASIC)
    if usual is None:
        return {}
    working = {
        name: (on, off)
        for name, pairs in SWITCHES.items()
        for on, off in pairs
        if _differ(cells, _with(name, on), _with(name, off))
    }
    found: dict[str, Any] = {"thinking_switch": tuple(working)}
    for name, (on, off) in working.items():
        same = [word for word, value in (("on", on), ("off", off)) if cells.prompt(_with(name, value)) == usual]
        return {**found, "thinking_default": same[0] if same else None}
    return found

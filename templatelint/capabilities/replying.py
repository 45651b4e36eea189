"""A prompt as it is where a request says nothing of thinking → how the model replies to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.dialects.serving.replies import Replying
from templatelint.reading import named_thought, stretch
from templatelint.view import NoText

if TYPE_CHECKING:
    from templatelint.capabilities import Capabilities
    from templatelint.dialects.serving.parsers import Marks
    from templatelint.dialects.serving.replies import Habit
    from templatelint.view import View

_BASIC = "chat-basic"
_NO_EFFORT = f'{_BASIC}+reasoning_effort="none"'
_HARMONY = "<|channel|>analysis"  # models that write it name a channel before every text


def replying(facts: Capabilities, marks: Marks | None, view: View) -> Replying:
    """How the model replies where a request says nothing of thinking.

    Args:
        facts: what the engine's cells show.
        marks: the marks around its thoughts; None where it has none.
        view: the engine's cells.
    """
    return Replying(_habit(facts, marks, view), marks, view.template.source)


def _habit(facts: Capabilities, marks: Marks | None, view: View) -> Habit:
    if marks is None:
        return "either" if facts.thinking_default == "on" else "bare"
    prompt = _prompt(view, _BASIC)
    user = stretch(prompt, view.case(_BASIC), "user.1") if prompt is not None else None
    if prompt is None or user is None:
        return "either"
    before = prompt[: user.start]
    # some open thoughts nowhere and end them all the same
    if facts.thought == "closes" or marks.end.strip() in (facts.generation_prompt or ""):
        return "closed"
    if marks.opened or facts.thought == "opens":
        return "opened"
    if facts.thinking_default == "off" or (facts.reasoning_effort and prompt == _prompt(view, _NO_EFFORT)):
        return "bare"
    thinks = facts.thinking_default == "on" or named_thought(before) is not None or marks.start.startswith(_HARMONY)
    return "marked" if thinks else "either"


def _prompt(view: View, case_id: str) -> str | None:
    if case_id not in view.matrix.cases and view.adapted.get(case_id) not in view.matrix.cases:
        return None
    try:
        return view.prompt(case_id)
    except NoText:
        return None

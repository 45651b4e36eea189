"""TL502: the assistant cue appears also where `add_generation_prompt` is false."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._cues import spoken
from templatelint.model import Fault
from templatelint.reading import MARKER, common, shortened, stretch, turns
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.reading import Turns
    from templatelint.view import View

_ANSWERED = "chat-turns@2+nogen"
_ASKED = "chat-basic+nogen"
_TWICE = "chat-two-users"
# Texts for training come from transformers; others continue a last answer.
_TRAINS = "jinja2"
# Characters; what is longer asks for something, as templates of classifiers do.
_LONGEST = 60
_HELP = "write the cue inside `{% if add_generation_prompt %}`: in training text it opens a turn that nobody takes"
CASES = ("chat-basic", _ASKED, "chat-turns", _ANSWERED, _TWICE)


def check(view: View) -> Iterator[Fault]:
    """Look for the cue behind a last answer; then behind a last question, where it is no part of every question."""
    if view.always_cued:
        raise NoText(_ASKED, f"{view.engine} always asks for the generation prompt")
    anatomy = turns(view.prompt("chat-turns"), view.case("chat-turns"))
    if view.renderer != _TRAINS or anatomy is None or not anatomy.user_to_assistant.strip():
        return
    behind = _behind(view, _ANSWERED, "assistant.1")
    cue = behind[common(behind, anatomy.assistant_to_user) :].strip()
    if cue and _is_cue(cue, anatomy):
        yield Fault(
            message=f"the cue {shortened(cue)!r} follows the last answer too, whatever add_generation_prompt says",
            help=_HELP,
            cases=(_ANSWERED,),
            cause="always",
            span=view.mention("endfor", "messages"),
        )
    elif _after_questions(view, anatomy):
        yield Fault(
            message=f"a last question is followed by the cue, {shortened(anatomy.tail)!r}, "
            "whatever add_generation_prompt says",
            help=_HELP,
            cases=(_ASKED, _TWICE),
            cause="after questions",
            span=view.mention("add_generation_prompt", "loop.last", "messages"),
            impact="informs",
        )


def _behind(view: View, case_id: str, mark: str) -> str:
    prompt = view.prompt(case_id)
    text = stretch(prompt, view.case(case_id), mark)
    return "" if text is None else prompt[text.end :]


def _is_cue(text: str, anatomy: Turns) -> bool:
    """Whether the text opens a turn: as the history does, or as prompts end; a marker alone may end all texts."""
    opening = anatomy.user_to_assistant.strip()
    if opening.endswith(spoken(text).strip() or "\0"):
        return True
    return len(text) <= _LONGEST and anatomy.tail.strip().endswith(text) and bool(MARKER.sub("", text).strip())


def _after_questions(view: View, anatomy: Turns) -> bool:
    opening = anatomy.user_to_assistant.strip()
    cued = view.prompt("chat-basic") == view.prompt(_ASKED) and anatomy.tail.strip().startswith(opening)
    if not cued or not view.renders(_TWICE):  # alternation is a rule of its own
        return False
    prompt, case = view.prompt(_TWICE), view.case(_TWICE)
    first, second = stretch(prompt, case, "user.1"), stretch(prompt, case, "user.2")
    between = prompt[first.end : second.start].strip() if first and second else ""
    # without any header of its own, the second text has been joined to the first one
    return bool(between) and opening not in between and anatomy.user_header.strip() in between

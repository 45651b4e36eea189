"""TL507: what tells the model that it is its turn differs from what opens its turns in the history."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.checks._cues import spoken
from templatelint.model import Fault
from templatelint.reading import MARKER, common, message_text, shortened, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Case
    from templatelint.reading import Turns
    from templatelint.view import View

CASES = ("chat-turns", "chat-basic", "chat-basic+nogen")

_PART = re.compile(rf"{MARKER.pattern}|\w+")
_THINKS = re.compile(r"think|thought|reason|judge", re.IGNORECASE)
# Characters; what is longer asks the model for something, as templates of classifiers do.
_LONGEST = 40


def check(view: View) -> Iterator[Fault]:
    """Compare what follows the last user text with what stands before the assistant's, up to where thoughts begin."""
    anatomy = turns(view.prompt("chat-turns"), view.case("chat-turns"))
    if anatomy is None or not _untouched(view.prompt("chat-turns"), view.case("chat-turns")):
        return
    # tokenizers differ in what blanks they want before an answer
    cue, opening = ("".join(spoken(text).split()) for text in (anatomy.tail, anatomy.user_to_assistant))
    yield from _line_breaks(view, anatomy)
    shared = _shared(cue, opening)
    if not _contradicts(cue[:shared], cue[shared:], opening[shared:]):
        return
    if not MARKER.sub("", cue[shared:]) and view.prompt("chat-basic") == view.prompt("chat-basic+nogen"):
        return  # an end of text that is always there is no cue
    header = anatomy.user_header.strip()
    as_user = bool(_PART.search(header)) and anatomy.user_to_assistant.strip().endswith(header)
    yield Fault(
        message=f"the cue {shortened(anatomy.tail)!r} differs from what opens an assistant turn in the history, "
        f"{shortened(anatomy.user_to_assistant)!r}" + (", as it opens the user's" if as_user else ""),
        help="write the same text for `add_generation_prompt` as before an assistant's text: "
        "the model takes its turn where it has seen no turn begin",
        cases=("chat-turns",),
        cause="as the user's" if as_user else "differs",
        span=view.mention("add_generation_prompt", "endfor"),
        impact="breaks" if as_user else None,
    )


def _untouched(prompt: str, case: Case) -> bool:
    """Whether the texts stand there once, as they were sent: else a part of one would be taken for a header."""
    return all(prompt.count(message_text(case, case.marks[mark]).strip()) == 1 for mark in case.marks)


def _line_breaks(view: View, anatomy: Turns) -> Iterator[Fault]:
    """A cue that is all of what opens an assistant turn but for line breaks at its end."""
    cue, opening = anatomy.tail, anatomy.user_to_assistant
    left, added = opening[len(cue) :], cue[len(opening) :]
    if opening.strip() and cue.startswith(opening) and "\n" in added and not added.strip():
        yield Fault(
            message=f"the cue {shortened(cue)!r} ends with {added!r} more than assistant turns open with",
            help="end the cue where the history begins the text: the model sees a line break that it never wrote",
            cases=("chat-turns",),
            cause="line break",
            span=view.mention("add_generation_prompt", "endfor"),
            impact="informs",
        )
    if cue.strip() and opening.startswith(cue) and "\n" in left and not left.strip():
        yield Fault(
            message=f"the cue {shortened(cue)!r} leaves out {left!r}, with which the history goes on",
            help="end the cue with the line break, unless the model was trained to write it itself",
            cases=("chat-turns",),
            cause="line break",
            span=view.mention("add_generation_prompt", "endfor"),
            impact="informs",
        )


def _shared(cue: str, opening: str) -> int:
    """How many characters both begin with, not ending inside a marker or a word."""
    shared = common(cue, opening)
    for text in (cue, opening):
        inside = (part.start() for part in _PART.finditer(text) if part.start() < shared < part.end())
        shared = next(inside, shared)
    return shared


def _contradicts(shared: str, added: str, left: str) -> bool:
    """Whether a cue contradicts the history.

    Args:
        shared: what both begin with.
        added: how the cue goes on.
        left: how the opening of an assistant turn goes on.
    """
    if not added or _THINKS.search(added):
        return False  # the model writes the rest itself, or thinks in words
    if left and added.endswith(left):
        return False  # more is said before the turn, which then opens alike
    if not left:
        # a marker opens a section of the answer; words begin it
        return bool(MARKER.sub("", added)) and (bool(shared) or len(added) <= _LONGEST)
    # where only one of them has markers, the history is quoted to a classifier
    return bool(shared) or bool(MARKER.search(added)) == bool(MARKER.search(left))

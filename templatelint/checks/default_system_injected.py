"""TL111: a system text that nobody sent appears in the prompt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import MARKER, has, shortened, stretch, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-basic", "chat-turns", "chat-system")

_ELEMENT = re.compile(r"</?\w{1,30}(?: \w{1,30}=\"[^\"<>]{0,60}\")+ ?/?>")  # <turn role="system">
_WORD = re.compile(r"[^\W\d_]{2,}")
_ROLE_WORDS = frozenset({"system", "developer", "user", "human", "start", "bos", "instruction", "instructions"})


def check(view: View) -> Iterator[Fault]:
    """Read the words before the first user turn of a conversation that has no system message."""
    anatomy = turns(view.prompt("chat-turns"), view.case("chat-turns"))
    case, prompt = view.case("chat-basic"), view.prompt("chat-basic")
    user = stretch(prompt, case, "user.1")
    if anatomy is None or user is None:
        return
    before = prompt[: user.start]
    if anatomy.user_header:  # an altered user text begins earlier than what is left of it
        before = before.rpartition(anatomy.user_header)[0] or before
    sentence = _prose(before)
    if not sentence:
        return
    always = any(
        sentence in _prose(other) for system, other in view.rendered("chat-system") if has(other, system, "system")
    )
    when = "even beside a system message of yours" if always else "when no system message is sent"
    yield Fault(
        message=f"the template adds a system text of its own {when}: {shortened(sentence)!r}",
        help="take it out of the template, or serve an edited copy: a system message of yours does not replace it"
        if always
        else "send a system message of your own where the wording matters",
        cases=(case.id, "chat-system") if always else (case.id,),
        cause=when,
        span=view.mention(sentence[:40], sentence.split("\n")[0][:40], sentence[:12]),
    )


def _prose(text: str) -> str:
    """The text without markers and role words; empty where no two words are left."""
    bare = _ELEMENT.sub(" ", MARKER.sub(" ", text))
    words = [word for word in _WORD.findall(bare) if word.lower() not in _ROLE_WORDS]
    if len(words) < 2:  # noqa: PLR2004 (one word is a role, two are a message)
        return ""
    return bare[bare.index(words[0]) :].strip()

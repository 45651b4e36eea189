"""TL505: the template's last newline, which engines drop, belongs to the cue or to a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import shortened, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-turns",)


def check(view: View) -> Iterator[Fault]:
    """See whether the prompt lacks, at its end, just the newline that the history has there."""
    source = view.template.source
    # a newline behind a block or a comment never reaches the prompt
    if not source.endswith("\n") or source.rstrip("\r\n").endswith(("%}", "#}")):
        return
    anatomy = turns(view.prompt("chat-turns"), view.case("chat-turns"))
    if anatomy is None or anatomy.user_to_assistant != anatomy.tail + "\n":
        return
    yield Fault(
        message="the newline at the end of the file is dropped, and the cue with it: prompts end with "
        f"{shortened(anatomy.tail)!r}, while the history opens an assistant turn with "
        f"{shortened(anatomy.user_to_assistant)!r}",
        help=r"print it: `{{ '\n' }}` as the last thing of the template",
        cases=("chat-turns",),
        cause="cue",
        span=(len(source) - 1, len(source)),
    )

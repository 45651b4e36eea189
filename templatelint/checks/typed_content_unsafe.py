"""TL302: content as a list of parts crashes or is dumped, on an engine that passes it through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._parts import faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Fault
    from templatelint.view import View

_WHOSE = {
    "typed-user": ("user", "chat-turns"),
    "typed-system": ("system", "chat-system"),
    "typed-assistant": ("assistant", "chat-turns"),
}
CASES = ("chat-turns", "chat-system", *_WHOSE)


def check(view: View) -> Iterator[Fault]:
    """See what becomes of lists of text parts."""
    if view.renders("chat-turns"):
        yield from faults(view, _WHOSE)

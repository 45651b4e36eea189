"""What stops a command: one clear line, a remedy, exit code 2."""

from __future__ import annotations

_ECHO = 60  # characters of a word of the user's that a message repeats


def clip(text: str, room: int = _ECHO) -> str:
    """What the user typed, as a message repeats it: cut in the middle where it is longer than `room` characters."""
    if len(text) <= room:
        return text
    head = room * 2 // 3
    return f"{text[:head]}…{text[head + 1 - room :]}"


class TemplatelintError(Exception):
    """No answer is possible: shown as `error: MESSAGE` and `help: HELP`, exit code 2.

    Args:
        message: what is wrong and where, with its values, in one clause: lower case, no full stop.
        help: what to do about it.
    """

    def __init__(self, message: str, *, help: str | None = None) -> None:  # noqa: A002 (the word the user reads)
        super().__init__(message)
        self.message = message
        self.help = help

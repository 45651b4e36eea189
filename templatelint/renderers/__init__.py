"""Jinja implementations: template and variables in, text or a located failure out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from templatelint.model import RenderError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from templatelint.model import ErrorKind

MAX_OUTPUT = 8 * 1024 * 1024
"""Characters of a prompt beyond which a renderer gives up."""

_LONGEST_MESSAGE = 4000


class RenderFailure(Exception):
    """A template that cannot be compiled, or gives no text with these variables.

    Attributes:
        record: what goes into an observation.
    """

    def __init__(self, kind: ErrorKind, message: str, line: int | None = None, column: int | None = None) -> None:
        if len(message) > _LONGEST_MESSAGE:
            message = message[:_LONGEST_MESSAGE] + " …"
        super().__init__(message)
        self.record = RenderError(kind, message, line, column)


class Program(Protocol):
    """A template that a renderer has compiled."""

    def render(self, variables: Mapping[str, Any], now: datetime) -> str:
        """The text with these variables (JSON data, left as they are); `now` is what the clock tells.

        Raises:
            RenderFailure: there is no text.
        """
        ...

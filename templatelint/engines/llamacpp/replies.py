"""What a llama-server answers or logs → observations: the text of its errors tells their kind and their place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.errors import clip
from templatelint.model import ErrorKind, Observation, RenderError

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.server import Reply

_OK, _BAD_REQUEST, _FAILED = 200, 400, 500
_PLACE = re.compile(r"While executing \w+ at line (\d+), column (\d+) in source:")
_CAUSE = re.compile(r"^Error: ", re.MULTILINE)
_RAISED_BY_TEMPLATE = "Jinja Exception: "
# what precedes the true reason
_WRAPPED = "Automatic parser generation failed: "
_SYNTAX = re.compile(r"(?:Lexer|Parser) Error: ", re.IGNORECASE)
_LONGEST = 600  # characters of a reason


class NotLlamaCpp(Exception):
    """The answer is none that a llama-server gives; says what it is."""


def observation(reply: Reply) -> Observation:
    """The prompt, or why there is none, in an answer to `/apply-template`.

    Raises:
        NotLlamaCpp: it is neither.
    """
    body = reply.body if isinstance(reply.body, dict) else {}
    if reply.status == _OK and isinstance(body.get("prompt"), str):
        return Observation(body["prompt"])
    error = body.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    if reply.status not in (_BAD_REQUEST, _FAILED) or not isinstance(message, str):
        raise NotLlamaCpp(glimpse(reply))
    return Observation(error=failure(message))


def failure(text: str) -> RenderError:
    """An error of a request, its kind as far as the text tells it."""
    reason, line, column = _located(text)
    if reason.startswith(_RAISED_BY_TEMPLATE):
        return RenderError("refused", reason.removeprefix(_RAISED_BY_TEMPLATE), line, column)
    kind: ErrorKind = "invalid-request" if line is None else "raised"
    if line is not None and _lacks(reason):
        kind = "unsupported"
    return RenderError(kind, reason, line, column)


def refusal(text: str) -> RenderError:
    """Why a server ended while it loaded the template."""
    reason, line, column = _located(text)
    return RenderError("no-start", f"llama-server exits at start: {reason}", line, column)


def _located(text: str) -> tuple[str, int | None, int | None]:
    """The reason without its wrapping, and the place in the template."""
    places = list(_PLACE.finditer(text))
    if places:
        causes = list(_CAUSE.finditer(text, places[-1].end()))
        reason = text[causes[0].end() :] if causes else text[places[-1].end() :]
        return _clipped(reason), int(places[-1][1]), int(places[-1][2])
    if match := _SYNTAX.search(text):
        return _clipped(text[match.start() :].partition("\n")[0]), None, None
    return _clipped(text.rpartition(_WRAPPED)[2]), None, None


def _lacks(reason: str) -> bool:
    """Whether llama.cpp lacks something, rather than the template having nothing to apply it to."""
    return reason.startswith(("Unknown ", "Unsupported ")) and not re.search(r"for type (Undefined|None)", reason)


def _clipped(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def glimpse(reply: Reply) -> str:
    """An answer that is not understood, in a few words."""
    return f"HTTP {reply.status}, {clip(' '.join(str(reply.body).split())) or 'empty'}"

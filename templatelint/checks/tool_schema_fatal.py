"""TL210: a legal tool definition makes the template raise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_CHAT = "chat-basic"
_USUAL = ("tools-offer", "tools-many")
_RICH, _OPTIONAL = "tool-schema-rich", "tool-schema-rich+optional"
_UNUSUAL = {
    "tool-no-description": "without a description",
    "tool-no-parameters": "without parameters",
    _RICH: "with a rich JSON schema",
    _OPTIONAL: "that requires no parameter",
}
# the engine's own limits, and what TL002 tells
_ELSEWHERE = frozenset({"invalid-request", "unsupported"})
CASES = (_CHAT, *_USUAL, *_UNUSUAL)


def check(view: View) -> Iterator[Fault]:
    """Offer usual tools, then unusual ones that JSON Schema and OpenAI's API allow."""
    # a template for requests with tools alone is asked for nothing else
    anyway = view.raised(_CHAT) if view.tried(_CHAT) else None
    failed = {
        case_id: error
        for case_id in (*_USUAL, *_UNUSUAL)
        if (error := view.raised(case_id)) is not None and error.kind not in _ELSEWHERE and error != anyway
    }
    if _RICH in failed:  # the same tool otherwise
        failed.pop(_OPTIONAL, None)
    for case_id, error in failed.items():
        what = "a request that offers tools" if case_id in _USUAL else f"a tool {_UNUSUAL[case_id]}"
        yield Fault(
            message=f"{what} makes the template raise: {error.message}",
            help="guard what a definition may lack: `{% if tool.function.description is defined %}`",
            cases=tuple(other for other in failed if failed[other].message == error.message),
            cause=what,
            span=view.span_of(error),
        )
        if case_id in _USUAL:
            return

"""TL202: the tool calls of an assistant turn leave no trace in the prompt, or lose the name or an argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._calls import WITHOUT_RESULT, id_for_name, lost_parts
from templatelint.checks._words import listed
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import RenderError
    from templatelint.view import View

_SHAPES = {
    "tool-call": "without content",
    "tool-call-empty": 'with content ""',
    "tool-call-text": "with text beside them",
}
_OTHER_FORM = "tool-call-empty+wire"
_PARTS = {"name": "function name", "key": "argument names", "value": "argument values"}
CASES = ("chat-turns", "tools-offer", *WITHOUT_RESULT, *_SHAPES, "tool-loop", _OTHER_FORM)


def check(view: View) -> Iterator[Fault]:
    """Look after the user's text for the function name, an argument's key and its value."""
    shapes = [case_id for case_id in _SHAPES if view.renders(case_id)]
    if not shapes and _call_alone_fails(view):
        error = view.raised("tool-call-empty")
        if error is not None:
            yield Fault(
                message=f"an assistant turn with tool calls makes the template raise: {error.message}",
                help="render `message['tool_calls']`",
                cases=view.ids(*(case_id for case_id in _SHAPES if _raises(view, case_id, error))),
                cause="refused",
                span=view.span_of(error),
            )
            return
    lost = {
        case.id: parts
        for case, prompt in view.rendered(*_SHAPES)
        if (parts := lost_parts(prompt, case, 1)) and not id_for_name(prompt, case, parts)
    }
    if not lost:
        yield from _later_call(view)
        return
    if _without_effect(view):  # a name that stands there is that of the definition
        lost = {case_id: list(_PARTS) for case_id in lost}
    first = next(iter(lost.values()))
    where = " " + listed(_SHAPES[case_id.split("+")[0]] for case_id in lost) if len(lost) < len(shapes) else ""
    if "name" in first and "value" in first:
        message = f"tool calls of earlier assistant turns{where} leave no trace in the prompt"
    else:
        message = f"tool calls of earlier assistant turns{where} lose their {_listed(first)}"
    yield Fault(
        message=message,
        help="render name and arguments of every entry of `message['tool_calls']`: "
        "the model sees results of calls that it never made",
        cases=tuple(lost),
        cause=",".join(first) + where,
        span=view.mention("tool_calls", "'assistant'", '"assistant"', "messages"),
        partial=not {"name", "value"} <= set(first),
    )


def _raises(view: View, case_id: str, error: RenderError) -> bool:
    """Whether a shape of the call fails for that very reason: some lack the content that a template asks for."""
    found = view.raised(case_id)
    return found is not None and found.message == error.message


def _without_effect(view: View) -> bool:
    """Whether the prompt stays the same without the call and its result."""
    return (
        view.renders("tools-offer")
        and view.renders("tool-call-empty")
        and view.prompt("tools-offer") == view.prompt("tool-call-empty")
    )


def _call_alone_fails(view: View) -> bool:
    """Whether it is the call that raises: not the tools it belongs to, its result, or the shape of its arguments."""
    without_result = any(view.renders(case_id) for case_id in WITHOUT_RESULT)
    return (
        not without_result
        and view.renders("chat-turns")
        and view.renders("tools-offer")
        and not view.renders(_OTHER_FORM)
    )


def _later_call(view: View) -> Iterator[Fault]:
    for case, prompt in view.rendered("tool-loop"):
        parts = lost_parts(prompt, case, 2)
        if parts and not id_for_name(prompt, case, parts):
            yield Fault(
                message=f"the second tool call of a loop loses its {_listed(parts)}",
                help="render every assistant turn's `tool_calls`, not only those of one turn",
                cases=(case.id,),
                cause="later",
                span=view.mention("tool_calls"),
            )


def _listed(parts: list[str]) -> str:
    return listed(_PARTS[part] for part in parts)

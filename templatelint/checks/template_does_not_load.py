"""TL001: the engine cannot parse, compile or start with the template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import engines
from templatelint.cases import get, to_form
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ()

_CHAT, _TOOLS = "chat-basic", "tools-offer"
# Engines that look only at templates which they choose of themselves, whatever else the model carries.
_LOOKS_AT_OWN = frozenset({"llama.cpp", "ollama", "sglang", "tgi"})
# llama.cpp's, and that of Ollama, which leaves the choice to it (common/chat.cpp::common_chat_templates_init)
_IGNORES = {"llama.cpp": "tool_use", "ollama": "tool_use"}


def check(view: View) -> Iterator[Fault]:
    """Say what the engine says when it loads the template."""
    error = view.load_error
    if error is None or error.out_of_budget:
        return
    starts = error.kind != "no-start"
    if view.engine in _LOOKS_AT_OWN and not _serves(view):
        yield from _passed_over(view, error.message)
        return
    yield Fault(
        message=f"the template does not load: {error.message}" if starts else error.message,
        help=_help(error.message)
        if starts
        else "guard what may be undefined and print data with `| tojson`, or start the server with another template "
        "(`--chat-template-file`)",
        cause="loads" if starts else "starts",
        span=view.span_of(error),
    )


def _serves(view: View) -> bool:
    """Whether the engine chooses the template for any request."""
    engine = engines.get(view.engine)
    requests = (to_form(get(case_id).request, engine.client_form) for case_id in (_CHAT, _TOOLS))
    return any(engine.choose(view.model, request) == view.template for request in requests)


def _passed_over(view: View, why: str) -> Iterator[Fault]:
    """A template that the engine does without: what it serves the requests with instead."""
    if _IGNORES.get(view.engine) != view.template.name or view.model.template("default") is None:
        return
    error = view.load_error
    yield Fault(
        message=f"{view.engine} cannot parse the template tool_use, logs that it ignores it, and serves requests with "
        f"tools with the default template: {why}",
        help="mend the syntax at this place: until it parses, what the default template makes of tools is what counts",
        cause="ignored",
        span=None if error is None else view.span_of(error),
        impact="degrades",
    )


def _help(message: str) -> str:
    if "nested too deeply" in message:
        return "flatten the nesting at this place"
    if "unknown tag" in message:
        return "use only tags that the engine knows, and close every block"
    return "mend the syntax at this place: until it parses, requests fail"

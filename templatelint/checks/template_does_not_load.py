"""TL001: the engine cannot parse, compile or start with the template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import engines
from templatelint.cases import get, to_form
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import RenderError
    from templatelint.view import View

CASES = ()

_CHAT, _TOOLS, _TOOL_USE = "chat-basic", "tools-offer", "tool_use"
# llama.cpp, and with it Ollama, looks at no other template besides the default one, and goes on where it cannot parse
# that (common/chat.cpp::common_chat_templates_init).
_IGNORES = frozenset({"llama.cpp", "ollama"})


def check(view: View) -> Iterator[Fault]:
    """Say what the engine says when it loads the template."""
    error = view.load_error
    if error is None or error.out_of_budget:
        return
    starts = error.kind != "no-start"
    if view.engine in _IGNORES and not any(_serves(view, case_id) for case_id in (_CHAT, _TOOLS)):
        yield from _ignored(view, error)
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


def _serves(view: View, case_id: str) -> bool:
    """Whether the engine chooses the template for that request."""
    engine = engines.get(view.engine)
    return engine.choose(view.model, to_form(get(case_id).request, engine.client_form)) == view.template


def _ignored(view: View, error: RenderError) -> Iterator[Fault]:
    """A template for tools in whose place the engine takes the default one."""
    if view.template.name == _TOOL_USE and view.model.template("default") is not None:
        yield Fault(
            message=f"{view.engine} cannot parse the template {_TOOL_USE}, logs that it ignores it, and serves "
            f"requests with tools with the default template: {error.message}",
            help="mend the syntax at this place: until it parses, what counts is what the default template does",
            cause="ignored",
            span=view.span_of(error),
            impact="degrades",
            need="tools",
        )


def _help(message: str) -> str:
    if "nested too deeply" in message:
        return "flatten the nesting at this place"
    if "unknown tag" in message:
        return "use only tags that the engine knows, and close every block"
    return "mend the syntax at this place: until it parses, requests fail"

"""TL209: ids of calls must have a form that those of the engine do not have, or carry the function name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._calls import id_for_name, lost_parts
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Impact, RenderError
    from templatelint.view import View

_CALL = "tool-call-empty"
# Engine → the case whose ids are as its server makes them: vLLM 0.33 renderers/chat_utils/tool_call.py
# make_tool_call_id, SGLang 0.5.23 serving_chat.py _process_tool_call_id, llama.cpp b11549 server-common.cpp
# gen_tool_call_id.
_OWN_IDS = {"vllm": "tool-id-vllm", "sglang": "tool-id-sglang", "llama.cpp": "tool-id-llamacpp"}
CASES = (_CALL, *_OWN_IDS.values())

# Further servers whose ids have more than nine characters: mlx-lm a UUID (server.py ToolCallFormatter), mistral.rs
# `call-` and a UUID (tools/), Ollama `call_` and eight (server/routes.go toolCallId). Elsewhere callers make up ids, or
# they have nine characters (LM Studio): a constraint is a contract there, not a break.
_SERVERS = frozenset({*_OWN_IDS, "mlx-lm", "mistral.rs", "ollama"})

# Syntax → the servers whose parser for it makes ids in its form, or takes over those that the model writes.
_NINE, _NAMED = "[TOOL_CALLS]", "<|tool_call_begin|>"
_PARSERS_WITH_OWN_FORM = {_NINE: ("vllm",), _NAMED: ("vllm", "sglang", "llama.cpp", "mlx-lm", "ollama")}


def check(view: View) -> Iterator[Fault]:
    """Compare usual ids with short ones and the engine's own, and see where the id stands in the prompt."""
    usual = _error(view, _CALL)
    if usual is not None and view.renders(_CALL) and view.case(_CALL).id.endswith("+shortids"):
        yield from _nine(view, usual)
    elif usual is None:
        yield from _foreign(view)
    for case, prompt in view.rendered(_CALL):
        if id_for_name(prompt, case, lost_parts(prompt, case, 1)):
            impact = _impact(view, _NAMED)
            yield Fault(
                message="the prompt shows the id of a call in place of the function name"
                + (" and the engine's ids do not carry it" if impact is None else ""),
                help="print `tool_call.function.name`, or give calls ids like `functions.NAME:INDEX` before sending",
                cases=(case.id,),
                cause=f"name {impact or ''}",
                span=view.mention("tool_call['id']", "tool_call.id", ".id", "tool_calls"),
                impact=impact,
            )


def _nine(view: View, error: RenderError) -> Iterator[Fault]:
    impact = _impact(view, _NINE)
    others = "others" if impact else "those of the engine"
    yield Fault(
        message=f"ids of calls must be nine letters and digits, {others} make the template raise: {error.message}",
        help="shorten ids to nine letters and digits, in calls and in results, before sending",
        cases=(_CALL,),
        cause=f"nine {impact or ''}",
        span=view.span_of(error),
        impact=impact,
    )


def _foreign(view: View) -> Iterator[Fault]:
    """Ids of a form that the template refuses although it takes the usual one."""
    own = _OWN_IDS.get(view.engine)
    if own is None and view.engine in _SERVERS:
        return
    impact: Impact | None = None if own else "informs"
    for case_id in [own] if own else _OWN_IDS.values():
        error = _error(view, case_id)
        if error is not None:
            made = view.case(case_id).marks["call.1.id"]
            yield Fault(
                message=f"an id like `{made}` makes the template raise: {error.message}",
                help="give calls ids of the form that the template asks for before sending, or take any id",
                cases=(case_id,),
                cause=f"{case_id} {impact or ''}",
                span=view.span_of(error),
                impact=impact,
            )
            return


def _error(view: View, case_id: str) -> RenderError | None:
    """What the template has against the ids of the case as it is, where there is something."""
    error = view.plain(case_id).error
    return error if error is not None and error.kind in {"refused", "raised"} else None


def _impact(view: View, syntax: str) -> Impact | None:
    """A contract where callers make up ids or the engine's parser for this syntax keeps to the form."""
    if view.engine not in _SERVERS:
        return "informs"
    return "informs" if view.engine in _PARSERS_WITH_OWN_FORM[syntax] and syntax in view.prompt(_CALL) else None

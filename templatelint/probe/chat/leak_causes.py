"""A call that was left in the text → why: the template shows no tools, the model writes otherwise, or the parser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint import dialects, engines, matrix
from templatelint.errors import TemplatelintError
from templatelint.model import Case, RenderError
from templatelint.probe.verdict import NoAnswer
from templatelint.sources.endpoint.routes import table, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.call_syntax import CallSyntax
    from templatelint.model import Model
    from templatelint.probe.chat.leaks import Leak
    from templatelint.probe.endpoint import Endpoint

TOOLLESS = "serve a template that lists the tools: templatelint vet names what is wrong with this one"
_LLAMA_CPP = "llama.cpp"
_WITNESS = "transformers"
_APPLY = "/apply-template"
_CHAT_CASE = "probe"
_PARSERS = {"vllm": "--tool-call-parser", "sglang": "--tool-call-parser"}


@dataclass(frozen=True)
class Cause:
    """Why a call was left in the text.

    Attributes:
        said: in a clause.
        cure: what to do about it; empty where nothing is known.
    """

    said: str
    cure: str = ""


def cause(endpoint: Endpoint, leak: Leak, body: Mapping[str, Any]) -> Cause:
    """Why, as far as the template tells that is in force, or else the one that was named.

    Args:
        endpoint: who answered.
        leak: what was found.
        body: of the request that was answered.
    """
    model = endpoint.served.model or endpoint.linted
    whose = "the template in force" if endpoint.served.model or endpoint.linted is None else "the linted template"
    if tools_shown(endpoint, body) is False:
        return Cause(
            f"{whose} never shows the tools to the model",
            TOOLLESS,
        )
    if model is None:
        return Cause(
            "what the template in force teaches is not known, as the server does not tell it",
            "name the model's own: --template REF",
        )
    syntax = syntax_of(model)
    if syntax is None or syntax.dialect is None:
        return Cause(f"{whose} writes calls in no known syntax", "templatelint inspect shows what it writes")
    return _compared(endpoint, leak, syntax, whose)


def _compared(endpoint: Endpoint, leak: Leak, syntax: CallSyntax, whose: str) -> Cause:
    taught = syntax.dialect or ""
    writes = endpoint.scripted.dialect if endpoint.scripted is not None else taught
    if leak.dialect != taught and (leak.marked or writes != taught):
        return Cause(
            f"the model wrote {leak.form} where {whose} teaches {taught}",
            f"serve the template that the model was trained with, or a model that writes {taught}",
        )
    if leak.dialect == taught:
        return Cause(
            f"{whose} teaches just that ({taught}), and the server's parser did not take it out of the text",
            _parser_cure(endpoint, syntax),
        )
    return Cause(
        f"the marks of {taught} are missing, which {whose} teaches: the model did not write them, or the server "
        "took them away before it looked for calls",
        _parser_cure(endpoint, syntax),
    )


def _parser_cure(endpoint: Endpoint, syntax: CallSyntax) -> str:
    kind = endpoint.served.kind
    if kind not in _PARSERS:
        return ""
    from templatelint.dialects.serving.flags import Known, flags

    wanted = flags(kind, syntax.dialect, None, known=Known(calls=syntax.calls))
    words = " ".join(wanted.arguments) if wanted is not None else ""
    if not words:
        return f"{kind} has no parser that reads {syntax.dialect}"
    running = _running_parser(endpoint, _PARSERS[kind])
    return f"start {kind} with {words}" + (f" instead of {_PARSERS[kind]} {running}" if running else "")


def _running_parser(endpoint: Endpoint, flag: str) -> str:
    launch = endpoint.served.model.launch if endpoint.served.model is not None else None
    if launch is None:
        return ""
    told = text(launch.settings.get("tool_call_parser"))
    words = launch.arguments or ()
    pairs = [word.partition("=") for word in words if word.startswith(f"{flag}=")]
    behind = [words[at + 1] for at, word in enumerate(words[:-1]) if word == flag]
    return told or next(iter((*behind, *(value for _, _, value in pairs))), "")


# --------------------------------------------------------------------------------------- what the template does


def syntax_of(model: Model | None) -> CallSyntax | None:
    """How a model's template writes calls and thoughts; None where it cannot be found out."""
    if model is None or not model.templates:
        return None
    from templatelint import call_syntax

    try:
        return call_syntax.of_model(model)
    except TemplatelintError:
        return None


def written(endpoint: Endpoint) -> str:
    """The dialect in which calls are to be expected: the scripted model's, else the template's; empty: not known."""
    if endpoint.scripted is not None and endpoint.scripted.dialect in dialects.NAMES:
        return endpoint.scripted.dialect
    syntax = syntax_of(endpoint.served.model)
    return (syntax.dialect or "") if syntax is not None else ""


def tools_shown(endpoint: Endpoint, body: Mapping[str, Any]) -> bool | None:
    """Whether the prompt that comes of a request names one of its tools; None where nobody can tell."""
    names = [text(table(tool.get("function")).get("name")) for tool in body.get("tools", ())]
    prompt = _prompt(endpoint, body)
    if prompt is None or not names:
        return None
    said = "\0".join(map(_said, body.get("messages", ())))
    return any(prompt.count(name) > said.count(name) for name in names)


def _said(message: Mapping[str, Any]) -> str:
    return text(message.get("content"))


def _prompt(endpoint: Endpoint, body: Mapping[str, Any]) -> str | None:
    """The prompt as the server shows it, else as our model of its engine renders it."""
    return applied(endpoint, body) if endpoint.served.kind == _LLAMA_CPP else rendered(endpoint, body)


def applied(endpoint: Endpoint, body: Mapping[str, Any]) -> str | None:
    """What a llama-server makes of a request; None where it does not show it."""
    asked = {key: body[key] for key in ("model", "messages", "tools") if key in body}
    beside = endpoint.for_check()
    try:
        answer = beside.post(_APPLY, asked)
    except NoAnswer:
        return None
    finally:
        # in front of the exchange that is judged, which stays the last one
        endpoint.exchanges[-1:-1] = beside.exchanges
    found = answer.object.get("prompt") if answer.ok else None
    return found if isinstance(found, str) else None


def rendered(endpoint: Endpoint, body: Mapping[str, Any]) -> str | None:
    """What our model of the engine makes of a request with the template in force."""
    from templatelint.traffic.chat import request_from_openai

    model: Model | None = endpoint.served.model
    if model is None or not model.templates:
        return None
    names: Sequence[str] = engines.available()
    engine = engines.get(endpoint.served.kind if endpoint.served.kind in names else _WITNESS)
    try:
        request = request_from_openai({key: body[key] for key in ("messages", "tools") if key in body})
        template = engine.choose(model, request)
        if isinstance(template, RenderError):
            return None
        case = Case(_CHAT_CASE, "the request of a check", request)
        cell = matrix.observe(model, template, [engine], [case]).of(engine.name).get(_CHAT_CASE)
    except TemplatelintError:
        return None
    return cell.prompt if cell is not None else None

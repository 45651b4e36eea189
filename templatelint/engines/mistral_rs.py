"""Requests → prompts as mistral.rs gives them, for a model of text.

Read at 9e922623f (2026-08-22) and shortly after it: `parse_request` in `mistralrs-server-core/src/chat_completion.rs`;
in `mistralrs-core/src`, `resolve_reasoning_controls` in `request.rs`, `Processor` in `pipeline/processing.rs` and
`apply_chat_template_to` in `pipeline/chat_template.rs`. Its minijinja is 2.14. Functions named in brackets are theirs.

Not known from a template, and so not modelled: what models with media make of parts, and with them of a list of texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint.engines.prepared import Prepared, Preparing
from templatelint.model import ClientForm, RenderError, Template

# the renderer not inside `load`: what is imported here, the children of a run inherit
from templatelint.renderers import RenderFailure
from templatelint.renderers.minijinja.program import compile_template
from templatelint.renderers.minijinja.rewriting import Rewritten
from templatelint.renderers.minijinja.setup import Setup

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from templatelint.model import Model, Request, Tokenizer

Message = dict[str, Any]

SETUP = Setup((2, 14), "spaced", loop_controls=False)
_TOOL_USE = "tool_use"
_BUILT_IN_TOOLS = ("browser", "python", "code_interpreter", "web_search", "brave_search", "wolfram_alpha")
_FIRST_OF_PARAMETERS = ("type", "properties", "required", "additionalProperties")
_EFFORTS = {"none": "off", "max": "xhigh"} | {name: name for name in ("off", "low", "medium", "high", "xhigh")}
_TEXT = "text"


@dataclass(frozen=True)
class MistralRs:
    """The server with a model of text."""

    name: str
    renderer: str = "minijinja"
    version: str = "9e922623f (2026-08-22)"
    emulated: bool = True
    client_form: ClientForm = "wire"
    always_cues: bool = True

    def choose(self, model: Model, request: Request) -> Template | RenderError:
        """Of a list of named templates `tool_use` where there are tools, which must exist then, else `default`."""
        if any(_holds_media(message) for message in request.messages):
            return RenderError("unsupported", "what mistral.rs makes of media depends on the model")
        if not request.add_generation_prompt:
            return RenderError("unsupported", "mistral.rs cannot be asked to leave the generation prompt out")
        if not model.templates:
            return _invalid("the model has no chat template")
        if model.picked or not _is_list(model.templates):
            return model.template("default") or model.templates[0]
        if not request.tools:
            return model.template("default") or model.templates[-1]
        return model.template(_TOOL_USE) or _invalid("tools are given, and the model has no template tool_use")

    def load(self, template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
        """Compile the template as mistral.rs changes it."""
        try:
            program = compile_template(template.source, SETUP, edited(template.source))
        except RenderFailure as failure:
            return failure.record
        return LoadedTemplate(program, template.source, tokenizer.special_tokens)


def _invalid(message: str) -> RenderError:
    return RenderError("invalid-request", message)


def _holds_media(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(part, Mapping) and part.get("type", _TEXT) != _TEXT for part in content
    )


def _is_list(templates: Sequence[Template]) -> bool:
    """Whether one file lists them; of further files mistral.rs reads none."""
    first = templates[0].origin
    return len(templates) > 1 and first.escaped and all(each.origin.path == first.path for each in templates)


# ------------------------------------------------------------------------------- edits of the template

_DESCENDING = re.compile(r"range\(([^,]+),\s*-1,\s*-1\)")
_GENERATION = re.compile(r"\{%-?\s*(?:end)?generation\s*-?%\}")
_META = "{{ meta }}"


def edited(source: str) -> Rewritten:
    """The template as it is compiled (`apply_chat_template_to`)."""
    text = Rewritten(source).replaced("namespace(name=tcid if tcid else '')", "namespace(name=(tcid if tcid else ''))")
    text = text.replaced("[::-1]", "|reverse")
    text = text.substituted(_DESCENDING, lambda call: f"range({call[1]})|reverse")
    if _META in text.text:
        text = text.replaced('{%- set meta = message.get("metadata", "") %}', "").replaced(_META, "")
    return text.substituted(_GENERATION, lambda _: "")


# ---------------------------------------------------------------------------------------- one request


class _InvalidRequest(Exception):
    """mistral.rs answers with an error before it renders."""


@dataclass(frozen=True)
class LoadedTemplate(Preparing):
    """A template inside mistral.rs.

    Attributes:
        source: the template as the model has it, which tells how messages are prepared.
        special_tokens: those that are set.
    """

    source: str
    special_tokens: Mapping[str, str]

    def prepare(self, request: Request, now: datetime) -> Prepared | RenderError:
        """The variables, and what is added for Gemma 4."""
        try:
            variables = self._variables(request, now)
        except _InvalidRequest as error:
            return _invalid(str(error))
        return Prepared(variables, _with_cue) if self._is_gemma else Prepared(variables)

    def _variables(self, request: Request, now: datetime) -> dict[str, Any]:
        tools = [_tool(tool) for tool in request.tools or ()]
        _require_choice(request.extra.get("tool_choice"), tools)
        thinking, effort = _reasoning(request)
        variables: dict[str, Any] = {
            "messages": self._messages(request.messages),
            "add_generation_prompt": True,
            # a token that is not set is none and not undefined
            **{name: self.special_tokens.get(name) for name in ("bos_token", "eos_token", "unk_token")},
            "date_string": now.strftime("%d, %B, %Y"),
            "enable_thinking": thinking,
        }
        if effort is not None:
            variables |= {"reasoning_effort": effort, "reasoning_strength": effort}
        if tools:
            names = [tool["function"]["name"] for tool in tools]
            built_in = [name for name in names if name in _BUILT_IN_TOOLS]
            variables |= {"tools": tools, "xml_tools": tools, "builtin_tools": built_in}
        return variables

    @property
    def _is_gemma(self) -> bool:
        return "<|tool_call>" in self.source and "<tool_call|>" in self.source

    @property
    def _is_liquid(self) -> bool:
        return "<|tool_call_start|>" in self.source and "<|tool_call_end|>" in self.source

    def _messages(self, given: Iterable[Mapping[str, Any]]) -> list[Message]:
        messages = [_with_objects(_message(message)) for message in given]
        if self._is_gemma:
            return _for_gemma(messages)
        return [_without_content(message) for message in messages] if self._is_liquid else messages


def _with_cue(text: str) -> str:
    """Gemma 4's templates leave the cue out behind tool results (the end of `apply_chat_template_to`)."""
    return f"{text}<|turn>model\n" if text.endswith("<tool_response|>") else text


# ------------------------------------------------------------------------------------------- messages


def _message(given: Mapping[str, Any]) -> Message:
    """The message with the members that mistral.rs knows, in its order (`parse_request`)."""
    content = given.get("content")
    calls = given.get("tool_calls")
    if content is None:
        if calls is None:
            raise _InvalidRequest("a message has neither content nor tool calls")
        content = ""
    if isinstance(content, list):
        return _of_parts(given, content)
    if not isinstance(content, str):
        raise _InvalidRequest(f"content is no text and no list but {type(content).__name__}")
    message = {"role": given["role"], "content": content}
    for name in ("reasoning_content", "tool_calls", "tool_call_id", "name"):
        value = given.get(name)
        if value is not None:
            message[name] = [_call(call) for call in value] if name == "tool_calls" else _text(value, name)
    return message


def _of_parts(given: Mapping[str, Any], parts: list[Any]) -> Message:
    """A message of texts: joined with blanks, in the one part that remains; only a user may send one."""
    if len(parts) == 1 and isinstance(parts[0], Mapping) and "type" not in parts[0]:
        message = {"role": given["role"], "content": _text(parts[0].get(_TEXT), _TEXT)}
        reasoning = given.get("reasoning_content")
        return message if reasoning is None else {**message, "reasoning_content": _text(reasoning, "reasoning_content")}
    if given["role"] != "user":
        raise _InvalidRequest(f"content is a list in a message of {given['role']}: only a user's may be")
    texts = []
    for part in parts:
        if not isinstance(part, Mapping) or part.get("type") != _TEXT:
            raise _InvalidRequest("a part of the content is of no known type")
        texts.append(_text(part.get(_TEXT), _TEXT))
    return {"role": "user", "content": [{"type": _TEXT, _TEXT: " ".join(texts)}]}


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise _InvalidRequest(f"{name} is no text")
    return value


def _call(given: Any) -> Message:
    function = given.get("function") if isinstance(given, Mapping) else None
    if not isinstance(function, Mapping):
        raise _InvalidRequest("a tool call has no function")
    name = _text(function.get("name"), "the name of a called function")
    arguments = _text(function.get("arguments", function.get("parameters")), "the arguments of a call")
    return {
        "id": _text(name if given.get("id") is None else given["id"], "the id of a call"),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _with_objects(message: Message) -> Message:
    """The assistant's arguments that are JSON objects as such (`parse_tool_call_arguments`)."""
    if message["role"] != "assistant" or "tool_calls" not in message:
        return message
    calls = []
    for call in message["tool_calls"]:
        parsed = _json(call["function"]["arguments"])
        function = {**call["function"], "arguments": parsed} if isinstance(parsed, dict) else call["function"]
        calls.append({**call, "function": function})
    return {**message, "tool_calls": calls}


def _json(text: str) -> Any:
    """What a text says as JSON; the text where it says nothing."""
    try:
        return json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return text


def _no_json(constant: str) -> Any:
    raise ValueError(constant)


def _without_content(message: Message) -> Message:
    """The assistant's message without the content beside its calls (`clear_assistant_tool_call_content`)."""
    cleared = message["role"] == "assistant" and "tool_calls" in message
    return {**message, "content": ""} if cleared else message


def _for_gemma(messages: Sequence[Message]) -> list[Message]:
    """Tool results that follow each other as one message of a user (`preprocess_gemma4_tool_messages`)."""
    prepared: list[Message] = []
    responses: list[Any] = []
    for message in messages:
        if message["role"] != "tool":
            responses = []
            prepared.append(_without_content(message))
            continue
        if not responses:
            prepared.append({"role": "user", "tool_responses": responses})
        responses.append({"name": message.get("name", "unknown"), "response": _json(message["content"])})
    return prepared


# ---------------------------------------------------------------------------------- tools and reasoning


def _tool(given: Mapping[str, Any]) -> Message:
    """The tool with the members that mistral.rs knows, in its order (`tool_template_value`)."""
    own = given.get("function")
    if not isinstance(own, Mapping):
        raise _InvalidRequest("a tool has no function")
    function: Message = {"name": _text(own.get("name"), "the name of a tool")}
    if own.get("description") is not None:
        function["description"] = _text(own["description"], "the description of a tool")
    parameters = own.get("parameters")
    if parameters is not None:
        if not isinstance(parameters, Mapping):
            raise _InvalidRequest("the parameters of a tool are no object")
        first = [name for name in _FIRST_OF_PARAMETERS if name in parameters]
        order = first + sorted(name for name in parameters if name not in first)
        function["parameters"] = {name: parameters[name] for name in order}
    if own.get("strict") is not None:
        function["strict"] = own["strict"]
    return {"type": "function", "function": function}


def _require_choice(choice: Any, tools: Sequence[Message]) -> None:
    """What is asked for is on offer (`validate_openai_tool_choice`)."""
    if choice == "required" and not tools:
        raise _InvalidRequest("tool_choice is required, and there are no tools")
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if name is not None and all(tool["function"]["name"] != name for tool in tools):
        raise _InvalidRequest(f"tool_choice names the function {name}, which is not among the tools")


def _reasoning(request: Request) -> tuple[bool, str | None]:
    """Whether to think, and how hard; other template variables of a request are ignored (`parse_request`)."""
    thinking, effort = request.extra.get("enable_thinking"), request.extra.get("reasoning_effort")
    wanted, level = request.variables.get("enable_thinking"), request.variables.get("reasoning_effort")
    if thinking is None and isinstance(wanted, bool):
        thinking = wanted
    if effort is None and isinstance(level, str):
        effort = level
    if effort is None:
        return (True if thinking is None else bool(thinking)), None
    known = _EFFORTS.get(str(effort).strip().lower())
    if known is None:
        raise _InvalidRequest(f"reasoning_effort is {effort}")
    thinks = known != "off"
    if thinking is not None and thinking != thinks:
        raise _InvalidRequest(f"reasoning_effort {effort} contradicts enable_thinking {str(thinking).lower()}")
    return thinks, known


def engine(name: str) -> MistralRs:
    """The engine of that id."""
    return MistralRs(name)

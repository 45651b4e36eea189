"""Requests → prompts as Ollama's OpenAI server gives them for a GGUF without a Go template.

Ollama (fb3076099, 2026-08-21) then has its own llama-server render the GGUF's template: `chatModeForModel` in
`server/routes.go`. What stands before that was read in `openai/openai.go` (`FromChatRequest`), `api/types.go`,
`server/routes.go` (`ChatHandler`), `types/model/capability.go` and `llm/llama_server.go` (`llamaServerChatRequest`).
Its llama.cpp is b10488; the one modelled here is younger.

Not known from a template, and so not modelled: when Ollama takes the template for one of the 37 that it has a Go
template for, and how it cuts conversations that fill the context. Of a model in its store it is known what renders it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from templatelint.engines import gojson
from templatelint.engines.llamacpp.engine import LlamaCpp
from templatelint.model import ClientForm, Observation, RenderError, Request
from templatelint.sources import ollama_choice
from templatelint.sources.ollama_choice import knows_thinking, knows_tools

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from templatelint.engines.llamacpp.loaded import LoadedTemplate as Server
    from templatelint.model import Model, Template, Tokenizer
    from templatelint.renderers import Program

_OWN_RENDERER = frozenset({"gptoss", "gpt-oss"})
# what a model of Ollama's store is rendered with instead → how that is told
_OTHERWISE: Mapping[str, str] = {
    "go template": "ollama renders this model with its Go template, not with the template of the GGUF",
    "renderer": "ollama renders this model with code of its own, not with the template of the GGUF",
    "unknown": "whether ollama renders this model with its Go template is not known",
}
_EFFORTS = ("high", "medium", "low", "max", "none")
_IMAGES = ("data:;base64,", *(f"data:image/{kind};base64," for kind in ("jpeg", "jpg", "png", "webp")))


@dataclass(frozen=True)
class Ollama:
    """Ollama's server, and the llama-server behind it."""

    name: str = "ollama"
    renderer: str = "llama.cpp"
    version: str = "fb3076099 (2026-08-21)"
    emulated: bool = True
    client_form: ClientForm = "wire"
    always_cues: bool = True

    def choose(self, model: Model, request: Request) -> Template | RenderError:
        """What llama-server chooses, where Ollama leaves the choice to it; tools depend on the default template."""
        default = model.template("default")
        if reason := _OTHERWISE.get(ollama_choice.choice(model.metadata, default.source if default else "")):
            return RenderError("unsupported", reason)
        if model.metadata.get("general.architecture") in _OWN_RENDERER:
            return RenderError("unsupported", "which of its own renderers ollama takes for gpt-oss is not known")
        if not request.add_generation_prompt and not _ends_with_answer(request):
            return RenderError("unsupported", "ollama cannot be asked to leave the generation prompt out")
        if any(_lacks_properties(tool) for tool in request.tools or ()):
            what = "a tool without properties is not known of every version: it rejects them from 0.34.2 on"
            return RenderError("unsupported", f"what ollama does with {what}")
        chosen = LlamaCpp().choose(model, request)
        if request.tools and default is not None and chosen != default and not knows_tools(default.source):
            return _no_tools()
        return chosen

    def load(self, template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
        """Have llama-server load the template."""
        server = LlamaCpp().load(template, tokenizer)
        if isinstance(server, RenderError):
            return server
        return LoadedTemplate(server, template.source)


def _lacks_properties(tool: Mapping[str, Any]) -> bool:
    """Sent on as `properties: null`, of which llama-server makes a grammar or not (ollama-vscode #70)."""
    function = tool.get("function")
    parameters = function.get("parameters") if isinstance(function, Mapping) else None
    return not isinstance(parameters, Mapping) or parameters.get("properties") is None


def _ends_with_answer(request: Request) -> bool:
    return bool(request.messages) and request.messages[-1].get("role") == "assistant"


@dataclass(frozen=True)
class LoadedTemplate:
    """A template inside the llama-server that Ollama started.

    Attributes:
        source: the template as the GGUF has it, in which Ollama looks for words.
    """

    server: Server
    source: str

    @property
    def refusal(self) -> RenderError | None:
        """Why llama-server does not start with the template."""
        return self.server.refusal

    def through(self, program: Program) -> LoadedTemplate:
        """The same, its requests prepared as before, but rendered by another program of this template."""
        return replace(self, server=self.server.through(program))

    def render(self, request: Request, now: datetime) -> Observation:
        """The prompt of `/v1/chat/completions`."""
        try:
            return self.server.render(self.forwarded(request), now)
        except (_InvalidRequest, gojson.Unreadable) as error:
            return Observation(error=RenderError("invalid-request", str(error)))

    def forwarded(self, request: Request) -> Request:
        """What Ollama asks its llama-server.

        Raises:
            _InvalidRequest, Unreadable: Ollama answers with an error instead.
        """
        messages = _messages(request.messages)
        tools = [_tool(tool) for tool in request.tools or ()]
        if tools and not knows_tools(self.source):
            raise _InvalidRequest(_no_tools().message)
        if not messages:
            raise _InvalidRequest("a conversation without messages only loads the model")
        return Request(
            messages,
            tools or None,
            variables=_kwargs(_thinking(request.extra, thinks=knows_thinking(self.source))),
            extra=_response_format(request.extra),
            media=request.media,
        )


class _InvalidRequest(Exception):
    """Ollama rejects the request before it renders."""


def _no_tools() -> RenderError:
    return RenderError(
        "invalid-request", "ollama takes no tools: its template speaks neither of tools nor of tool_call"
    )


# ------------------------------------------------------------------------------ what the template's words tell


def _thinking(body: Mapping[str, Any], *, thinks: bool) -> bool | str | None:
    """What `think` becomes: an effort, a boolean, or None, which is said of a template that does not think."""
    asked = body.get("reasoning")
    effort = asked.get("effort") if isinstance(asked, Mapping) else body.get("reasoning_effort")
    if not effort:
        return True if thinks else None
    if effort not in _EFFORTS:
        raise _InvalidRequest(f"the reasoning effort is {effort}, none of {', '.join(_EFFORTS)}")
    if effort == "none":
        return False
    if not thinks:
        raise _InvalidRequest("ollama finds no thinking in the template, and a reasoning effort is asked for")
    return str(effort)


def _kwargs(think: bool | str | None) -> dict[str, Any]:
    """The variables of the template: no others reach it, whatever the request has."""
    if think is None:
        return {}
    if isinstance(think, bool):
        return {"enable_thinking": think}
    return {"enable_thinking": True, "reasoning_effort": think}


def _response_format(body: Mapping[str, Any]) -> dict[str, Any]:
    wanted = body.get("response_format")
    kind = str(wanted.get("type", "")).strip().lower() if isinstance(wanted, Mapping) else ""
    if kind == "json_object":
        return {"response_format": {"type": "json_object"}}
    wrapper = wanted.get("json_schema") if isinstance(wanted, Mapping) and kind == "json_schema" else None
    schema = wrapper.get("schema") if isinstance(wrapper, Mapping) else None
    if schema is None:
        return {}
    if not isinstance(schema, Mapping):
        raise _InvalidRequest("the schema of the answer is no object")
    schema = gojson.decoded(schema)
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "schema", "schema": schema}}}


# ------------------------------------------------------------------------------------------------ messages


def _messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """FromChatRequest, then llamaServerChatMessage: no other member of a message survives, reasoning neither."""
    sent: list[dict[str, Any]] = []
    for number, message in enumerate(messages, 1):
        where = f"message {number}"
        role = _text(message, "role", where).lower()
        content, calls = message.get("content"), _calls(message, where)
        answers: dict[str, Any] = {}
        if call_id := _text(message, "tool_call_id", where):
            answers["tool_call_id"] = call_id
        name = _text(message, "name", where)
        if role == "tool" and (name := name or _called(messages, call_id)):
            answers["name"] = name
        called = {"tool_calls": calls} if calls else {}
        if isinstance(content, str):
            sent.append({"role": role, "content": content, **answers, **called})
        elif isinstance(content, list):
            # each part becomes a message, and only calls bring along what the message answers
            sent.extend({"role": role, "content": _part(part, where)} for part in content)
            if sent and called:
                sent[-1] |= answers | called
        elif calls is None:
            raise _InvalidRequest(f"{where} has neither content nor tool_calls")
        else:
            answers.pop("name", None)
            sent.append({"role": role, "content": "", **answers, **called})
    return sent


def _called(messages: Sequence[Mapping[str, Any]], call_id: str) -> str:
    """The name of the function that the last call of that id is for."""
    if not call_id:
        return ""
    for message in reversed(messages):
        for call in _calls(message, "a message") or ():
            if call.get("id") == call_id:
                return str(call["function"]["name"])
    return ""


def _part(part: Any, where: str) -> Any:
    """The content of the message that a part becomes."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return part["text"]
    if kind == "image_url":
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, Mapping) else image
        if not isinstance(url, str) or not url.startswith(_IMAGES):
            raise _InvalidRequest(f"{where} has an image that is not given as base64 data")
        return [{"type": "image_url", "image_url": {"url": url}}]
    if kind == "input_audio" and isinstance(part.get("input_audio"), Mapping):
        return [{"type": "input_audio", "input_audio": part["input_audio"]}]
    raise _InvalidRequest(f"{where} has a part that ollama does not take")


def _calls(message: Mapping[str, Any], where: str) -> list[dict[str, Any]] | None:
    """The calls as llama-server is given them; None where the message has no such member."""
    calls = message.get("tool_calls")
    if calls is None:
        return None
    if not isinstance(calls, list):
        raise _InvalidRequest(f"tool_calls of {where} are no list")
    return [_call(call, where) for call in calls]


def _call(call: Any, where: str) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        raise _InvalidRequest(f"a tool call of {where} has no function")
    where = f"a tool call of {where}"
    arguments = gojson.object_of(_text(function, "arguments", where))
    if arguments is None:
        raise _InvalidRequest(f"arguments of {where} are no JSON object")
    call_id = _text(call, "id", where)
    return {
        **({"id": call_id} if call_id else {}),
        "index": 0,
        "type": "function",
        "function": {"name": _text(function, "name", where), "arguments": gojson.dump(arguments)},
    }


def _text(holder: Mapping[str, Any], name: str, where: str) -> str:
    """The text of a member; empty where it is absent or null."""
    value = holder.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _InvalidRequest(f"{name} of {where} is no text but {type(value).__name__}")
    return value


# --------------------------------------------------------------------------------------------------- tools


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A definition cut down to what `api.Tool` holds, in the order of its fields."""
    function = _object(tool.get("function"), "a tool")
    items = tool.get("items")
    return {
        "type": _text(tool, "type", "a tool"),
        **({} if items is None else {"items": gojson.decoded(items)}),
        "function": {
            "name": _text(function, "name", "a tool"),
            **_given(description=_text(function, "description", "a tool")),
            "parameters": _parameters(_object(function.get("parameters"), "parameters")),
        },
    }


def _parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": _text(parameters, "type", "parameters"),
        **{name: gojson.decoded(parameters[name]) for name in ("$defs", "items") if parameters.get(name) is not None},
        **_given(required=_texts(parameters.get("required"))),
        "properties": _properties(parameters.get("properties")),
    }


def _properties(properties: Any) -> dict[str, Any] | None:
    if properties is None:
        return None
    return {name: _property(value) for name, value in _object(properties, "properties").items()}


def _property(value: Any) -> dict[str, Any]:
    """ToolProperty: what it has no field for is lost, such as `default`, `format`, `minimum` and `$ref`."""
    given = _object(value, "a property")
    kept = _given(
        anyOf=[_property(choice) for choice in _list(given.get("anyOf"))],
        type=_types(given.get("type")),
    )
    if given.get("items") is not None:
        kept["items"] = gojson.decoded(given["items"])
    kept |= _given(
        description=_text(given, "description", "a property"),
        enum=[gojson.decoded(choice) for choice in _list(given.get("enum"))],
    )
    if given.get("properties") is not None:
        kept["properties"] = _properties(given["properties"])
    return kept | _given(required=_texts(given.get("required")))


def _given(**members: Any) -> dict[str, Any]:
    """Those that are not empty."""
    return {name: value for name, value in members.items() if value}


def _types(value: Any) -> Any:
    types = [value] if isinstance(value, str) else _texts(value)
    return types[0] if len(types) == 1 else types


def _texts(value: Any) -> list[str]:
    texts = _list(value)
    if not all(isinstance(text, str) for text in texts):
        raise _InvalidRequest("a list of texts in a tool holds something else")
    return texts


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _InvalidRequest(f"a list in a tool is {type(value).__name__}")
    return value


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _InvalidRequest(f"{what} is no object but {type(value).__name__}")
    return value


def engine(name: str) -> Ollama:
    """The engine of that id."""
    return Ollama(name)

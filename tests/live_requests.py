"""Bodies of the three APIs → what is wanted, in chat completions' forms, or the error object that they deserve."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from live_model import Json, Refused, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Choice: TypeAlias = Literal["auto", "none", "required"]

ROLES = ("system", "developer", "user", "assistant", "tool")
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")


# ------------------------------------------------------------------------------------------------ members


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_stop(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


Kind: TypeAlias = "tuple[str, Callable[[Any], bool]]"
NUMBER: Kind = ("a number", _is_number)
INTEGER: Kind = ("an integer", _is_integer)
COUNT: Kind = ("a positive integer", lambda value: _is_integer(value) and value > 0)
BOOLEAN: Kind = ("a boolean", lambda value: isinstance(value, bool))
TEXT: Kind = ("a string", lambda value: isinstance(value, str))
OBJECT: Kind = ("an object", lambda value: isinstance(value, dict))
LIST: Kind = ("an array", lambda value: isinstance(value, list))
STOPS: Kind = ("a string or an array of strings", _is_stop)

_COMMON: Mapping[str, Kind] = {
    "model": TEXT,
    "temperature": NUMBER,
    "top_p": NUMBER,
    "top_logprobs": INTEGER,
    "parallel_tool_calls": BOOLEAN,
    "stream": BOOLEAN,
    "stream_options": OBJECT,
    "tools": LIST,
    "user": TEXT,
    "metadata": OBJECT,
    "store": BOOLEAN,
    "chat_template_kwargs": OBJECT,
}
CHAT_MEMBERS: Mapping[str, Kind] = {
    **_COMMON,
    "max_tokens": COUNT,
    "max_completion_tokens": COUNT,
    "presence_penalty": NUMBER,
    "frequency_penalty": NUMBER,
    "seed": INTEGER,
    "n": ("1, the only number of choices that is supported", lambda value: value == 1 and _is_integer(value)),
    "stop": STOPS,
    "response_format": OBJECT,
    "logprobs": ("false, as log probabilities are not supported", lambda value: value is False),
    "logit_bias": OBJECT,
    "reasoning_effort": TEXT,
}
RESPONSES_MEMBERS: Mapping[str, Kind] = {
    **_COMMON,
    "instructions": TEXT,
    "max_output_tokens": COUNT,
    "max_tool_calls": COUNT,
    "text": OBJECT,
    "reasoning": OBJECT,
    "truncation": TEXT,
    "include": LIST,
    "background": ("false, as nothing runs in the background", lambda value: value is False),
}
ANTHROPIC_MEMBERS: Mapping[str, Kind] = {
    "model": TEXT,
    "temperature": NUMBER,
    "top_p": NUMBER,
    "top_k": INTEGER,
    "stream": BOOLEAN,
    "stop_sequences": ("an array of strings", lambda value: isinstance(value, list) and _is_stop(value)),
    "tools": LIST,
    "tool_choice": OBJECT,
    "thinking": OBJECT,
    "metadata": OBJECT,
    "max_tokens": COUNT,
}


def require(body: Json, members: Mapping[str, Kind]) -> None:
    """Refuse a member of another type than it has to have."""
    for name, (what, fits) in members.items():
        if body.get(name) is not None and not fits(body[name]):
            raise Refused(f"{name} is not {what}", param=name, code="invalid_type")


def _refuse(param: str, fact: str, code: str | None = "invalid_value") -> Refused:
    return Refused(f"{param} {fact}", param=param, code=code)


def _rows(body: Json, name: str, *, empty: bool = False) -> list[Json]:
    rows = body.get(name)
    if rows is None:
        raise _refuse(name, "is missing", "missing_required_parameter")
    if not isinstance(rows, list) or not (rows or empty):
        raise _refuse(name, "is no array with something in it", "invalid_type")
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise _refuse(f"{name}[{index}]", "is no object", "invalid_type")
    return rows


def _text(row: Json, name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise _refuse(f"{where}.{name}", "is missing" if value is None else "is no text that says something")
    return value


# ------------------------------------------------------------------------------------------------- tools


def _function(function: Any, where: str) -> None:
    if not isinstance(function, dict):
        raise _refuse(where, "is no object")
    _text(function, "name", where)
    if function.get("description") is not None and not isinstance(function["description"], str):
        raise _refuse(f"{where}.description", "is no text")
    if function.get("parameters") is not None:
        schema(function["parameters"], f"{where}.parameters")


def chat_tools(body: Json) -> list[Json]:
    """The tools of a chat-completions body."""
    if body.get("tools") is None:
        return []
    tools = _rows(body, "tools", empty=True)
    for index, tool in enumerate(tools):
        if tool.get("type") != "function":
            raise _refuse(f"tools[{index}].type", f"is {tool.get('type')!r}, not function")
        _function(tool.get("function"), f"tools[{index}].function")
    return tools


def schema(value: Any, where: str) -> None:
    """Refuse what is no JSON schema."""
    if isinstance(value, bool):
        return
    if not isinstance(value, dict):
        raise _refuse(where, "is no JSON schema", "invalid_json_schema")
    kind = value.get("type")
    for each in kind if isinstance(kind, list) else [] if kind is None else [kind]:
        if each not in _TYPES:
            raise _refuse(where, f"has the type {each!r}, which JSON schemas do not know", "invalid_json_schema")
    properties = value.get("properties", {})
    if not isinstance(properties, dict):
        raise _refuse(f"{where}.properties", "is no object", "invalid_json_schema")
    for name, inner in properties.items():
        schema(inner, f"{where}.properties.{name}")


def _named(names: Sequence[str], tools: Sequence[Json], param: str) -> tuple[str, ...]:
    offered = {tool["function"]["name"] for tool in tools}
    for name in names:
        if name not in offered:
            raise _refuse(param, f"names {name!r}, which is not among the tools")
    return tuple(names)


def tool_choice(value: Any, tools: Sequence[Json]) -> tuple[Choice, tuple[str, ...] | None]:
    """Of chat completions and Responses, which differ in where a name stands: the mode, and the names."""
    if value is None:
        return "auto", None
    if isinstance(value, str):
        if value not in ("auto", "none", "required"):
            raise _refuse("tool_choice", f"is {value!r}, neither none nor auto nor required")
        if value == "required" and not tools:
            raise _refuse("tool_choice", "is only allowed when tools are specified")
        return value, None  # type: ignore[return-value]  # one of the three
    if not isinstance(value, dict) or value.get("type") not in ("function", "allowed_tools"):
        raise _refuse("tool_choice", "is neither a mode nor a function nor a set of allowed tools")
    if value["type"] == "function":
        holder = value.get("function") if "function" in value else value
        if not isinstance(holder, dict):
            raise _refuse("tool_choice.function", "is no object")
        return "required", _named([_text(holder, "name", "tool_choice")], tools, "tool_choice")
    holder = value.get("allowed_tools", value)
    if not isinstance(holder, dict) or holder.get("mode") not in ("auto", "required"):
        raise _refuse("tool_choice.mode", "is neither auto nor required")
    rows = _rows(holder, "tools")
    functions = [row["function"] if isinstance(row.get("function"), dict) else row for row in rows]
    return holder["mode"], _named([_text(each, "name", "tool_choice") for each in functions], tools, "tool_choice")


# -------------------------------------------------------------------------------------- chat completions


def chat(body: Json) -> Wanted:
    """What a chat-completions body wants.

    Raises:
        Refused: it is none.
    """
    require(body, CHAT_MEMBERS)
    messages = _rows(body, "messages")
    pending: set[str] = set()
    for index, message in enumerate(messages):
        _chat_message(message, f"messages[{index}]", pending)
    tools = chat_tools(body)
    choice, allowed = tool_choice(body.get("tool_choice"), tools)
    stops = body.get("stop") or ()
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    return Wanted(
        body,
        tools=tools,
        choice=choice,
        allowed=allowed,
        parallel=body.get("parallel_tool_calls") is not False,
        schema=_response_format(body.get("response_format")),
        stops=(stops,) if isinstance(stops, str) else tuple(stops),
        limit=limit,
        thinks=_thinks(body),
    )


def _thinks(body: Json) -> bool | None:
    if body.get("reasoning_effort") == "none":
        return False
    value = (body.get("chat_template_kwargs") or {}).get("enable_thinking")
    return value if isinstance(value, bool) else None


def _chat_message(message: Json, where: str, known: set[str]) -> None:
    """Refuse a malformed message; `known` collects the ids of calls."""
    role = message.get("role")
    if not isinstance(role, str):
        raise _refuse(f"{where}.role", "is missing" if role is None else "is no text", "missing_required_parameter")
    if role not in ROLES:
        raise _refuse(f"{where}.role", f"is {role!r}, none of {', '.join(ROLES)}")
    content = message.get("content")
    calls = message.get("tool_calls")
    if content is None and role not in ("tool", "assistant"):
        raise _refuse(f"{where}.content", "is missing", "missing_required_parameter")
    if content is None and role == "assistant" and not calls:
        raise _refuse(f"{where}.content", "is missing, and there are no tool_calls", "missing_required_parameter")
    _content(content, ("text",), f"{where}.content")
    if calls is not None:
        if role != "assistant":
            raise _refuse(f"{where}.tool_calls", f"is not for the role {role}")
        for number, call in enumerate(_rows(message, "tool_calls", empty=True)):
            known.add(_chat_call(call, f"{where}.tool_calls[{number}]"))
    if role == "tool" and _text(message, "tool_call_id", where) not in known:
        raise _refuse(f"{where}.tool_call_id", f"is {message['tool_call_id']!r}, which no call before it has")


def _chat_call(call: Json, where: str) -> str:
    function = call.get("function")
    if call.get("type") != "function" or not isinstance(function, dict):
        raise _refuse(where, "is no call of a function")
    _text(function, "name", f"{where}.function")
    if not isinstance(function.get("arguments"), str):
        raise _refuse(f"{where}.function.arguments", "is no text")
    return _text(call, "id", where)


def _content(content: Any, kinds: Sequence[str], where: str) -> str:
    """Refuse content that is neither text nor parts of those kinds; what the text is."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise _refuse(where, "is neither text nor an array of parts", "invalid_type")
    texts = []
    for index, part in enumerate(content):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise _refuse(f"{where}[{index}]", "is no content part", "invalid_type")
        if part["type"] not in kinds:
            raise _refuse(f"{where}[{index}].type", f"is {part['type']!r}, which this model does not take")
        if not isinstance(part.get("text"), str):
            raise _refuse(f"{where}[{index}].text", "is no text", "invalid_type")
        texts.append(part["text"])
    return "\n".join(texts)


def _response_format(value: Any) -> Any:
    kind = None if value is None else value.get("type")
    if value is None or kind == "text":
        return None
    if kind == "json_object":
        return value.get("schema") or {"type": "object"}
    if kind != "json_schema":
        raise _refuse("response_format.type", f"is {kind!r}, neither text nor json_object nor json_schema")
    wrapper = value.get("json_schema")
    if not isinstance(wrapper, dict) or "schema" not in wrapper:
        raise _refuse("response_format.json_schema", "is missing", "missing_required_parameter")
    schema(wrapper["schema"], "response_format.json_schema.schema")
    return wrapper["schema"]


# ------------------------------------------------------------------------------------------- Responses


def responses(body: Json) -> Wanted:
    """What a Responses body wants.

    Raises:
        Refused: it is none.
    """
    require(body, RESPONSES_MEMBERS)
    if body.get("previous_response_id") is not None:
        raise _refuse("previous_response_id", "cannot be used: no response is kept", "previous_response_not_found")
    if body.get("conversation") is not None:
        raise _refuse("conversation", "cannot be used: no conversation is kept")
    given = body.get("input")
    if given is None:
        raise _refuse("input", "is missing", "missing_required_parameter")
    if isinstance(given, str):
        messages: list[Json] = [{"role": "user", "content": given}]
    elif isinstance(given, list):
        messages = _Items().read(_rows(body, "input"))
    else:
        raise _refuse("input", "is neither text nor an array of items", "invalid_type")
    if body.get("instructions"):
        messages.insert(0, {"role": "system", "content": body["instructions"]})
    tools = _responses_tools(body)
    choice, allowed = tool_choice(body.get("tool_choice"), tools)
    rendered: Json = {"messages": messages}
    if tools:
        rendered["tools"] = tools
    effort = (body.get("reasoning") or {}).get("effort")
    if isinstance(effort, str):
        rendered["reasoning_effort"] = effort
    if body.get("chat_template_kwargs"):
        rendered["chat_template_kwargs"] = body["chat_template_kwargs"]
    return Wanted(
        rendered,
        tools=tools,
        choice=choice,
        allowed=allowed,
        parallel=body.get("parallel_tool_calls") is not False,
        schema=_text_format((body.get("text") or {}).get("format")),
        limit=body.get("max_output_tokens"),
        thinks=_thinks(rendered),
    )


def _responses_tools(body: Json) -> list[Json]:
    if body.get("tools") is None:
        return []
    tools = []
    for index, tool in enumerate(_rows(body, "tools", empty=True)):
        if tool.get("type") != "function":
            raise _refuse(f"tools[{index}].type", f"is {tool.get('type')!r}, which is not supported")
        _function(tool, f"tools[{index}]")
        function = {name: tool[name] for name in ("name", "description", "parameters") if tool.get(name) is not None}
        tools.append({"type": "function", "function": function})
    return tools


def _text_format(value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _refuse("text.format", "is no object", "invalid_type")
    if value.get("type") == "json_schema":
        if "schema" not in value:
            raise _refuse("text.format.schema", "is missing", "missing_required_parameter")
        schema(value["schema"], "text.format.schema")
        return value["schema"]
    if value.get("type") == "json_object":
        return {"type": "object"}
    if value.get("type") != "text":
        raise _refuse("text.format.type", f"is {value.get('type')!r}, neither text nor json_object nor json_schema")
    return None


class _Items:
    """Reads items into chat messages: calls that follow each other are one message's."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self.calls: set[str] = set()
        self.answered: set[str] = set()
        self.thoughts = ""

    def read(self, items: Sequence[Json]) -> list[Json]:
        for index, item in enumerate(items):
            where = f"input[{index}]"
            kind = item.get("type", "message" if "role" in item else None)
            if kind == "message":
                self._message(item, where)
            elif kind == "function_call":
                self._call(item, where)
            elif kind == "function_call_output":
                self._output(item, where)
            elif kind == "reasoning":
                self._reasoning(item, where)
            else:
                raise _refuse(f"{where}.type", f"is {kind!r}, which is no item that is supported")
        missing = self.calls - self.answered
        if missing:
            raise _refuse("input", f"has no tool output for the function call {min(missing)}")
        if self.thoughts:
            self._assistant()
        return self.messages

    def _assistant(self) -> Json:
        """The assistant's message that is being put together."""
        if not self.messages or self.messages[-1]["role"] != "assistant" or self.thoughts:
            self.messages.append({"role": "assistant", "content": ""})
            if self.thoughts:
                self.messages[-1]["reasoning_content"] = self.thoughts
            self.thoughts = ""
        return self.messages[-1]

    def _message(self, item: Json, where: str) -> None:
        role = item.get("role")
        if role not in ("user", "assistant", "system", "developer"):
            raise _refuse(f"{where}.role", f"is {role!r}, none of user, assistant, system, developer")
        if item.get("content") is None:
            raise _refuse(f"{where}.content", "is missing", "missing_required_parameter")
        text = _content(item["content"], ("input_text", "output_text", "refusal"), f"{where}.content")
        if role == "assistant":
            message = self._assistant()
            if not message["content"] and "tool_calls" not in message:
                message["content"] = text
                return
        self.messages.append({"role": role, "content": text})

    def _call(self, item: Json, where: str) -> None:
        if not isinstance(item.get("arguments"), str):
            raise _refuse(f"{where}.arguments", "is no text", "invalid_type")
        call_id, name = _text(item, "call_id", where), _text(item, "name", where)
        self.calls.add(call_id)
        function = {"name": name, "arguments": item["arguments"]}
        calls = self._assistant().setdefault("tool_calls", [])
        calls.append({"id": call_id, "type": "function", "function": function})

    def _output(self, item: Json, where: str) -> None:
        call_id = _text(item, "call_id", where)
        if call_id not in self.calls:
            raise _refuse(f"{where}.call_id", f"is {call_id!r}, which no function call has")
        output = item.get("output")
        if output is None:
            raise _refuse(f"{where}.output", "is missing", "missing_required_parameter")
        text = _content(output, ("input_text",), f"{where}.output")
        self.answered.add(call_id)
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": text})

    def _reasoning(self, item: Json, where: str) -> None:
        content = item.get("content")
        if not isinstance(item.get("summary"), list):
            raise _refuse(f"{where}.summary", "is no array", "invalid_type")
        if content is not None and not isinstance(content, list):
            raise _refuse(f"{where}.content", "is no array", "invalid_type")
        self.thoughts = _content(content, ("reasoning_text",), f"{where}.content")


# ------------------------------------------------------------------------------------------- Anthropic


def anthropic(body: Json, *, counting: bool = False) -> Wanted:
    """What a body of Anthropic's Messages wants.

    Args:
        body: of the request.
        counting: its tokens are to be counted, and no limit is needed.

    Raises:
        Refused: it is none.
    """
    require(body, ANTHROPIC_MEMBERS)
    rows = _rows(body, "messages")
    if body.get("max_tokens") is None and not counting:
        raise _refuse("max_tokens", "is missing", "missing_required_parameter")
    messages: list[Json] = []
    system = body.get("system")
    if system is not None:
        messages.append({"role": "system", "content": _content(system, ("text",), "system")})
    known: set[str] = set()
    for index, row in enumerate(rows):
        messages += _anthropic_message(row, f"messages[{index}]", known)
    tools = _anthropic_tools(body)
    choice, allowed, parallel = _anthropic_choice(body.get("tool_choice"), tools)
    rendered: Json = {"messages": messages}
    if tools:
        rendered["tools"] = tools
    thinks = None
    if body.get("thinking") is not None:
        kind = body["thinking"].get("type")
        if kind not in ("enabled", "disabled", "adaptive"):
            raise _refuse("thinking.type", f"is {kind!r}, neither enabled nor disabled nor adaptive")
        thinks = kind != "disabled"
        rendered["chat_template_kwargs"] = {"enable_thinking": thinks}
    return Wanted(
        rendered,
        tools=tools,
        choice=choice,
        allowed=allowed,
        parallel=parallel,
        stops=tuple(body.get("stop_sequences") or ()),
        limit=body.get("max_tokens"),
        thinks=thinks,
    )


def _anthropic_message(row: Json, where: str, known: set[str]) -> list[Json]:  # noqa: C901 (a branch for each block)
    role = row.get("role")
    if role not in ("user", "assistant"):
        raise _refuse(f"{where}.role", f"is {role!r}, neither user nor assistant")
    content = row.get("content")
    if content is None:
        raise _refuse(f"{where}.content", "is missing", "missing_required_parameter")
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    if not isinstance(content, list):
        raise _refuse(f"{where}.content", "is neither text nor an array of blocks", "invalid_type")
    results: list[Json] = []
    message: Json = {"role": role, "content": ""}
    for index, block in enumerate(_rows(row, "content")):
        at = f"{where}.content[{index}]"
        kind = block.get("type")
        if kind == "text":
            message["content"] += _content([block], ("text",), at)
        elif kind == "tool_result" and role == "user":
            call_id = _text(block, "tool_use_id", at)
            if call_id not in known:
                raise _refuse(f"{at}.tool_use_id", f"is {call_id!r}, which no tool_use has")
            text = _content(block.get("content"), ("text",), f"{at}.content")
            results.append({"role": "tool", "tool_call_id": call_id, "content": text})
        elif kind == "tool_use" and role == "assistant":
            known.add(_text(block, "id", at))
            if not isinstance(block.get("input"), dict):
                raise _refuse(f"{at}.input", "is no object", "invalid_type")
            function = {"name": _text(block, "name", at), "arguments": json.dumps(block["input"])}
            message.setdefault("tool_calls", []).append({"id": block["id"], "type": "function", "function": function})
        elif kind == "thinking" and role == "assistant":
            message["reasoning_content"] = _text(block, "thinking", at)
        else:
            raise _refuse(f"{at}.type", f"is {kind!r}, which is not supported here")
    return [*results, message] if not results or message["content"] else results


def _anthropic_tools(body: Json) -> list[Json]:
    tools = []
    for index, tool in enumerate(_rows(body, "tools", empty=True) if body.get("tools") is not None else []):
        where = f"tools[{index}]"
        if tool.get("type") not in (None, "custom"):
            raise _refuse(f"{where}.type", f"is {tool.get('type')!r}, which is not supported")
        name = _text(tool, "name", where)
        if not isinstance(tool.get("input_schema"), dict):
            raise _refuse(f"{where}.input_schema", "is no object", "invalid_type")
        schema(tool["input_schema"], f"{where}.input_schema")
        function = {"name": name, "parameters": tool["input_schema"]}
        if isinstance(tool.get("description"), str):
            function["description"] = tool["description"]
        tools.append({"type": "function", "function": function})
    return tools


def _anthropic_choice(value: Any, tools: Sequence[Json]) -> tuple[Choice, tuple[str, ...] | None, bool]:
    if value is None:
        return "auto", None, True
    parallel = value.get("disable_parallel_tool_use") is not True
    kind = value.get("type")
    if kind == "tool":
        return "required", _named([_text(value, "name", "tool_choice")], tools, "tool_choice"), parallel
    if kind not in ("auto", "any", "none"):
        raise _refuse("tool_choice.type", f"is {kind!r}, none of auto, any, tool, none")
    if kind == "any" and not tools:
        raise _refuse("tool_choice", "is only allowed when tools are specified")
    return ("required" if kind == "any" else "none" if kind == "none" else "auto"), None, parallel

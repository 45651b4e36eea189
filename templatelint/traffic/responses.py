"""An OpenAI Responses body → the chat-completions body that serving engines make of it.

What llama-server b11549 (tools/server/server-chat.cpp) and vLLM 0.33.0 (entrypoints/openai/responses/utils.py) do.
Where they differ, the way that loses least is taken, and a comment says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from templatelint.errors import TemplatelintError, clip
from templatelint.traffic.json_files import wrong

_BODY = 'give an OpenAI Responses body: {"input": "..."} or {"input": [{"role": "user", "content": "..."}]}'
_WHOLE = "record the whole input of each request: what a server stored is not in it"
# a tuple, not a set: what is looked for in it may be of any type
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_AUDIO = "input_audio"
# members that mean the same in both interfaces
_SAME = ("chat_template_kwargs", "parallel_tool_calls", "allow_media", "add_generation_prompt")

_Message = dict[str, Any]


def chat_body(body: Mapping[str, Any], where: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The chat-completions body, and what of the request no engine shows a model, in clauses.

    Raises:
        TemplatelintError: it continues what a server stored, or holds something that no engine takes.
    """
    tools, left_out = _tools(body.get("tools"), f"{where}: tools")
    chat = {"messages": _messages(body, where), **{name: body[name] for name in _SAME if name in body}}
    if tools:
        chat["tools"] = tools
        if (choice := _tool_choice(body.get("tool_choice"))) is not None:
            chat["tool_choice"] = choice
    reasoning = body.get("reasoning")
    if isinstance(reasoning, Mapping) and reasoning.get("effort") is not None:
        chat["reasoning_effort"] = reasoning["effort"]
    return chat, left_out


def _messages(body: Mapping[str, Any], where: str) -> list[_Message]:
    for member in ("previous_response_id", "conversation"):
        if body.get(member):
            raise TemplatelintError(f"{where} continues a conversation that a server stored ({member})", help=_WHOLE)
    messages: list[_Message] = []
    instructions = body.get("instructions")
    if instructions is not None and not isinstance(instructions, str):
        raise wrong(f"{where}: instructions", instructions, "a string", _BODY)
    if instructions:  # llama-server writes an empty system message for ""
        messages.append({"role": "system", "content": instructions})
    asked = body.get("input")
    if isinstance(asked, str):
        messages.append({"role": "user", "content": asked})
    elif isinstance(asked, list):
        for index, item in enumerate(asked):
            _add(messages, item, f"{where}: input[{index}]")
    else:
        raise wrong(f"{where}: input", asked, "a string or an array of items", _BODY)
    return messages


# ----------------------------------------------------------------------------------------------- items


def _add(messages: list[_Message], item: Any, where: str) -> None:
    """Take an item in; what the assistant says, thinks and calls in a row is one message."""
    if not isinstance(item, Mapping):
        raise wrong(where, item, "an object", _BODY)
    kind = item.get("type")
    if kind is None and "role" in item:
        kind = "message"
    if kind == "message":
        _add_message(messages, item, where)
    elif kind == "function_call":
        _add_call(messages, item, item.get("arguments"), where)
    elif kind == "custom_tool_call":
        # vLLM; llama-server knows no such items
        import json

        _add_call(messages, item, json.dumps({"input": item.get("input") or ""}, ensure_ascii=False), where)
    elif kind in _OUTPUTS:
        output = _content(item.get("output"), f"{where}.output")
        messages.append({"role": "tool", "tool_call_id": _text(item, "call_id", where), "content": output})
    elif kind == "reasoning":
        _add_reasoning(messages, item)
    elif kind == "item_reference":
        raise TemplatelintError(f"{where} names an item that a server stored", help=_WHOLE)
    else:
        shown = f'is of type "{clip(str(kind))}"' if kind is not None else "has neither a type nor a role"
        raise TemplatelintError(
            f"{where} {shown}, which serving engines do not take",
            help="they take messages, function calls, their outputs and reasoning",
        )


def _add_message(messages: list[_Message], item: Mapping[str, Any], where: str) -> None:
    role = _text(item, "role", where)
    content = _content(item.get("content"), f"{where}.content")
    if role != "assistant":
        messages.append({"role": role, "content": content})
        return
    message = _assistant(messages)
    # llama-server joins messages of the assistant in a row, vLLM keeps them apart: which more templates refuse
    message["content"] = _joined(message["content"], content) if "content" in message else content


def _add_call(messages: list[_Message], item: Mapping[str, Any], arguments: Any, where: str) -> None:
    if not isinstance(arguments, str):
        raise wrong(f"{where}.arguments", arguments, "a string of JSON", _BODY)
    name = _text(item, "name", where)
    if isinstance(item.get("namespace"), str) and item["namespace"]:
        name = f"{item['namespace']}__{name}"  # vLLM, as with the tools themselves
    call = {
        "id": _text(item, "call_id", where),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    _assistant(messages).setdefault("tool_calls", []).append(call)


def _add_reasoning(messages: list[_Message], item: Mapping[str, Any]) -> None:
    """Both engines take the first text only; a summary only vLLM.

    Reasoning that is encrypted they refuse: it is left out, so that the rest of the request can be judged.
    """
    text = "\n".join(_texts(item.get("content"))) or "\n".join(_texts(item.get("summary")))
    if not text:
        return
    if messages and messages[-1]["role"] == "assistant" and "reasoning_content" in messages[-1]:
        messages.append({"role": "assistant"})
    _assistant(messages)["reasoning_content"] = text


def _assistant(messages: list[_Message]) -> _Message:
    """The assistant's message that is under way."""
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant"})
    return messages[-1]


def _joined(one: Any, other: Any) -> Any:
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n{other}"
    return [*_parts(one), *_parts(other)]


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


# --------------------------------------------------------------------------------------------- content


def _content(content: Any, where: str) -> Any:
    """Content as chat completions have it; a single text is a string, which every template takes.

    llama-server makes a list of every content, vLLM keeps what is sent but for the assistant's, of which it takes the
    first text.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise wrong(where, content, "a string or an array of parts", _BODY)
    parts = [_part(part, f"{where}[{index}]") for index, part in enumerate(content)]
    if len(parts) == 1 and parts[0]["type"] == "text":
        return parts[0]["text"]
    return parts


def _part(part: Any, where: str) -> dict[str, Any]:
    if not isinstance(part, Mapping):
        raise wrong(where, part, "an object", _BODY)
    kind = part.get("type")
    if kind in _TEXTS:
        return {"type": "text", "text": _text(part, "text", where)}
    if kind == "refusal":  # a text that the assistant said
        return {"type": "text", "text": _text(part, "refusal", where)}
    if kind == "input_image":
        url = part.get("image_url")
        if not isinstance(url, str):
            raise TemplatelintError(
                f"{where} is an image without image_url", help="record the image itself, or its URL"
            )
        return {"type": "image_url", "image_url": {"url": url}}
    if kind == _AUDIO and isinstance(part.get(_AUDIO), Mapping):
        return {"type": _AUDIO, _AUDIO: part[_AUDIO]}
    raise TemplatelintError(
        f'{where} is of type "{clip(str(kind))}", which serving engines do not take',
        help="they take texts (input_text, output_text) and images (input_image)",
    )


def _texts(parts: Any) -> list[str]:
    if not isinstance(parts, list):
        return []
    return [part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)]


def _text(item: Mapping[str, Any], member: str, where: str) -> str:
    value = item.get(member)
    if not isinstance(value, str):
        raise wrong(f"{where}.{member}", value, "a string", _BODY)
    return value


# ----------------------------------------------------------------------------------------------- tools


def _tools(tools: Any, where: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Function tools, and clauses on those that are none: llama-server and vLLM leave them out."""
    if tools is None:
        return [], ()
    if not isinstance(tools, list):
        raise wrong(where, tools, "an array of tools", _BODY)
    found: list[dict[str, Any]] = []
    others: dict[str, None] = {}
    for index, tool in enumerate(tools):
        at = f"{where}[{index}]"
        if not isinstance(tool, Mapping):
            raise wrong(at, tool, "an object", _BODY)
        kind = tool.get("type")
        if kind == "function":
            found.append(_function(tool, at))
        elif kind == "custom":  # vLLM; llama-server leaves them out
            found.append(_function({**tool, "parameters": _CUSTOM}, at))
        elif kind == "namespace" and isinstance(tool.get("tools"), list):  # the same
            inner = [one for one in tool["tools"] if isinstance(one, Mapping) and one.get("type") == "function"]
            found += [_function(one, at, prefix=f"{_text(tool, 'name', at)}__") for one in inner]
        else:
            others[clip(str(kind))] = None
    return found, tuple(f"tools of type {kind} are left out" for kind in others)


# how vLLM shows a tool whose input is free text
_CUSTOM = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The freeform text payload for this tool."}},
    "required": ["input"],
    "additionalProperties": False,
}


def _function(tool: Mapping[str, Any], where: str, prefix: str = "") -> dict[str, Any]:
    flat = tool["function"] if isinstance(tool.get("function"), Mapping) else tool  # some clients send the other form
    function: dict[str, Any] = {"name": prefix + _text(flat, "name", where)}
    # llama-server adds `strict: true` where the request says nothing; vLLM does not
    for member in ("description", "parameters", "strict"):
        if flat.get(member) is not None:
            function[member] = flat[member]
    return {"type": "function", "function": function}


def _tool_choice(choice: Any) -> Any:
    if isinstance(choice, str):
        return choice
    if isinstance(choice, Mapping) and choice.get("type") == "function" and isinstance(choice.get("name"), str):
        return {"type": "function", "function": {"name": choice["name"]}}
    return None

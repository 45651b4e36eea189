"""An Anthropic Messages body → the chat-completions body that serving engines make of it.

What llama-server b11549 (tools/server/server-chat.cpp) and vLLM 0.33.0 (entrypoints/anthropic/serving.py) do. Where
they differ, the way that loses least is taken, and a comment says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from templatelint.errors import clip
from templatelint.traffic.json_files import wrong

_BODY = 'give an Anthropic Messages body: {"messages": [{"role": "user", "content": "..."}]}'
_SAME = ("chat_template_kwargs", "allow_media", "add_generation_prompt")
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
# what Claude Code puts in front of its system text: vLLM takes it out, llama-server makes it the same every time
_STAMP = "x-anthropic-billing-header"
# opaque to everybody but Anthropic
_OPAQUE = "redacted_thinking"


def chat_body(body: Mapping[str, Any], where: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The chat-completions body, and what of the request no engine shows a model, in clauses.

    Raises:
        TemplatelintError: a member has a type that no engine could read.
    """
    conversion = _Conversion()
    system = conversion.system(body.get("system"), f"{where}: system")
    messages = [{"role": "system", "content": system}] if system else []
    sent = body.get("messages")
    if not isinstance(sent, list):
        raise wrong(f"{where}: messages", sent, "an array", _BODY)
    for index, message in enumerate(sent):
        messages += conversion.messages(message, f"{where}: messages[{index}]")
    chat = {"messages": messages, **{name: body[name] for name in _SAME if name in body}}
    if body.get("tools") is not None:
        tools = conversion.tools(body["tools"], f"{where}: tools")
        if tools:
            chat["tools"] = tools
            chat |= _tool_choice(body.get("tool_choice"))
    return chat, tuple(conversion.left_out)


@dataclass
class _Turn:
    """The blocks of one message, converted."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)

    def messages(self, role: str) -> list[dict[str, Any]]:
        """What they make up, if anything."""
        own: dict[str, Any] = {"role": role}
        if self.parts:
            alone = len(self.parts) == 1 and self.parts[0]["type"] == "text"
            own["content"] = self.parts[0]["text"] if alone else self.parts
        elif self.calls or self.thoughts:
            own["content"] = ""  # llama-server; vLLM leaves it out, which some templates print or do not take
        if self.calls:
            own["tool_calls"] = self.calls
        if self.thoughts:
            own["reasoning_content"] = "".join(self.thoughts)
        # vLLM puts results first, straight behind their calls; llama-server puts them last
        return [*self.results, own] if len(own) > 1 else self.results


class _Conversion:
    """One body under conversion.

    Attributes:
        left_out: clauses on what no engine shows a model, each once, in order.
    """

    def __init__(self) -> None:
        self.left_out: dict[str, None] = {}

    def system(self, system: Any, where: str) -> str:
        """Both engines put texts of a list together with nothing in between."""
        if system is None or isinstance(system, str):
            return system or ""
        texts = [_text(block, "text", at) for block, at in _blocks(system, where) if block.get("type") == "text"]
        return "".join(text for text in texts if not text.startswith(_STAMP))

    def messages(self, message: Any, where: str) -> list[dict[str, Any]]:
        """The messages that one becomes: results of tools are messages of their own."""
        if not isinstance(message, Mapping):
            raise wrong(where, message, "an object", _BODY)
        role, content = _text(message, "role", where), message.get("content")
        if isinstance(content, str):
            return [{"role": role, "content": content}]
        if role == "system":
            text = self.system(content, f"{where}.content")
            return [{"role": role, "content": text}] if text else []
        turn = _Turn()
        for block, at in _blocks(content, f"{where}.content"):
            kind = block.get("type")
            if kind == "thinking":
                turn.thoughts.append(_text(block, "thinking", at))
            elif kind == "tool_use":
                turn.calls.append(_call(block, at))
            elif kind == "tool_result":
                turn.results.append(self._result(block, at))
            elif kind != _OPAQUE:
                turn.parts += self._part(block, at)
        return turn.messages(role)

    def _part(self, block: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
        kind = block.get("type")
        if kind == "text":
            text = _text(block, "text", where)
            return [{"type": "text", "text": text}] if text else []
        if kind == "image" and (url := _url(block.get("source"))):
            return [{"type": "image_url", "image_url": {"url": url}}]
        # llama-server passes over them, vLLM refuses the request
        self.left_out[f"content of type {clip(str(kind))} is left out"] = None
        return []

    def _result(self, block: Mapping[str, Any], where: str) -> dict[str, Any]:
        content = block.get("content")
        if isinstance(content, list):
            parts = [part for inner, at in _blocks(content, f"{where}.content") for part in self._part(inner, at)]
            if all(part["type"] == "text" for part in parts):
                # so does vLLM; llama-server puts nothing between them
                content = "\n".join(part["text"] for part in parts)
            else:  # llama-server; vLLM sends the images as a user message of their own, which more templates refuse
                content = parts
        elif not isinstance(content, str):
            content = ""
        call_id = block.get("tool_use_id")
        return {"role": "tool", "tool_call_id": call_id if isinstance(call_id, str) else "", "content": content}

    def tools(self, tools: Any, where: str) -> list[dict[str, Any]]:
        """OpenAI definitions; a tool that Anthropic defines is shown by its name alone, as llama-server does."""
        found = []
        for tool, at in _blocks(tools, where):
            if not (isinstance(tool.get("name"), str) and tool["name"]):
                self.left_out["tools without a name are left out"] = None
                continue
            function: dict[str, Any] = {"name": tool["name"]}
            if tool.get("description") is not None:
                function["description"] = _text(tool, "description", at)
            schema = tool.get("input_schema")
            if schema is not None and not isinstance(schema, Mapping):
                raise wrong(f"{at}.input_schema", schema, "a JSON schema object", _BODY)
            function["parameters"] = schema if schema is not None else {}
            if tool.get("strict") is not None:
                function["strict"] = tool["strict"]
            found.append({"type": "function", "function": function})
        return found


def _call(block: Mapping[str, Any], where: str) -> dict[str, Any]:
    import json

    arguments = block.get("input")
    # vLLM escapes what is not ASCII
    written = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    call_id = block.get("id")
    return {
        "id": call_id if isinstance(call_id, str) else "",
        "type": "function",
        "function": {"name": _text(block, "name", where), "arguments": written},
    }


def _url(source: Any) -> str:
    if not isinstance(source, Mapping):
        return ""
    if source.get("type") == "url":
        return source["url"] if isinstance(source.get("url"), str) else ""
    if not isinstance(source.get("data"), str):
        return ""
    return f"data:{source.get('media_type') or 'image/jpeg'};base64,{source['data']}"


def _tool_choice(choice: Any) -> dict[str, Any]:
    """The members that say which tools may be called; llama-server asks for any call where one is named."""
    if not isinstance(choice, Mapping):
        return {}
    found: dict[str, Any] = {}
    if isinstance(parallel := choice.get("disable_parallel_tool_use"), bool):
        found["parallel_tool_calls"] = not parallel
    kind = choice.get("type")
    if kind == "tool" and isinstance(choice.get("name"), str):
        found["tool_choice"] = {"type": "function", "function": {"name": choice["name"]}}
    elif isinstance(kind, str) and kind in _CHOICES:
        found["tool_choice"] = _CHOICES[kind]
    return found


def _blocks(blocks: Any, where: str) -> list[tuple[Mapping[str, Any], str]]:
    """The objects of a list, each with where it stands."""
    if not isinstance(blocks, list):
        raise wrong(where, blocks, "a string or an array of blocks" if "tools" not in where else "an array", _BODY)
    found = []
    for index, block in enumerate(blocks):
        if not isinstance(block, Mapping):
            raise wrong(f"{where}[{index}]", block, "an object", _BODY)
        found.append((block, f"{where}[{index}]"))
    return found


def _text(block: Mapping[str, Any], member: str, where: str) -> str:
    value = block.get(member)
    if not isinstance(value, str):
        raise wrong(f"{where}.{member}", value, "a string", _BODY)
    return value

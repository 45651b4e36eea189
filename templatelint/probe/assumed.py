"""A request → what a right server would answer, for rehearsals in which nothing is sent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint.probe.endpoint import CHAT, MESSAGES, RESPONSES
from templatelint.probe.prompts import CITY, OTHER_CITY
from templatelint.probe.wire.exchange import DONE, Event, Exchange, parsed
from templatelint.probe.wire.sse import Frames
from templatelint.sources.endpoint.routes import rows, table, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from templatelint.probe.prompts import Prompts
    from templatelint.probe.wire.exchange import Asked

_TEXT = "Hello, and a good day."
_WRITE = ("write_file", {"path": "notes.txt", "content": "The tide comes in at six, and leaves again at noon."})
_WEATHER, _OTHER = (("get_weather", {"city": city}) for city in (CITY, OTHER_CITY))
_STREAM = {"content-type": "text/event-stream"}
_CALLING = ("tool", "write", "parallel")  # prompts that ask for a call
_THOUGHTS = "Let me see."
_SHORT = 24  # tokens: fewer cut a call, or a long answer
_LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
_CONTEXT = 4096  # tokens
_RESPONSE = "resp_1"
_LENGTH = 5  # tokens of what is not cut


@dataclass(frozen=True)
class _Said:
    """What the model of a right server says."""

    text: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()  # id, name, arguments
    thoughts: str = ""
    cut: bool = False


def answering(model: str, template: str, prompts: Prompts) -> Callable[[Asked], Exchange]:
    """A server of a model of that id, with that template in force; the model does what the prompts ask for."""

    def answer(asked: Asked) -> Exchange:
        if asked.leave_at is not None:
            return Exchange(asked, left=True)
        path = asked.path.partition("?")[0]
        body = table(asked.body)
        if asked.method == "GET":
            told = _told(path, model, template)
            return _json(asked, told) if told is not None else refused(asked, 404)
        if path in _ROUTES:
            sound = _sound(path, body) and body.get("previous_response_id", _RESPONSE) == _RESPONSE
            return _ROUTES[path](asked, body, _said(path, body, prompts)) if sound else refused(asked, 400)
        if path == "/apply-template":
            return _json(asked, {"prompt": json.dumps(body.get("messages"))})
        if path == "/tokenize":
            return _json(asked, {"tokens": [*range(len(text(body.get("content"))))]})
        return refused(asked, 404)

    return answer


def other(answer: Callable[[Asked], Exchange], model: str, version: str) -> Callable[[Asked], Exchange]:
    """The same for a server that has no `/props`, and tells its version on that route; empty for none."""

    def other_answer(asked: Asked) -> Exchange:
        if asked.path.startswith("/props"):
            return refused(asked, 404)
        return _json(asked, told[asked.path]) if asked.path in told else answer(asked)

    told: dict[str, Any] = {version: {"version": "0.9"}, "/api/tags": {"models": [{"name": model}]}}
    if version == "/version":
        told["/v1/models"] = {"object": "list", "data": [{"id": model, "object": "model", "owned_by": "vllm"}]}
    return other_answer


def _told(path: str, model: str, template: str) -> Any:
    """What GET routes tell; None where there is no such route."""
    entry = {"id": model, "object": "model", "created": 0, "owned_by": "somebody"}
    generation = {"n_ctx": _CONTEXT}
    props = {"chat_template": template, "build_info": "b1", "total_slots": 1, "default_generation_settings": generation}
    routes = {
        "/health": {"status": "ok"},
        "/v1/models": {"object": "list", "data": [entry]},
        "/props": props,
        "/slots": [{"id": 0, "is_processing": False}],
    }
    return routes.get(path)


def _sound(path: str, body: Mapping[str, Any]) -> bool:
    """Whether there is a conversation at all in a body."""
    said = body.get("input" if path == RESPONSES else "messages")
    return bool(said) and isinstance(said, str if path == RESPONSES and isinstance(said, str) else list)


def _said(path: str, body: Mapping[str, Any], prompts: Prompts) -> _Said:
    """What is said to a conversation: a call where one is asked for and offered, the text otherwise."""
    messages = rows(body, "input" if path == RESPONSES else "messages")
    last: Mapping[str, Any] = messages[-1] if messages else {"content": body.get("input")}
    content = last.get("content")
    spoken = content if isinstance(content, str) else json.dumps(content)

    def means(*names: str) -> bool:
        return any(getattr(prompts, name) in spoken or f"@@{name}" in spoken for name in names)

    cut = _limit(body) < _SHORT
    result = last.get("role") == "tool" or "_output" in text(last.get("type")) or "tool_result" in spoken
    choice = body.get("tool_choice")
    kind = choice if isinstance(choice, str) else text(table(choice).get("type"))
    named = text(table(choice).get("name")) or text(table(table(choice).get("function")).get("name"))
    if body.get("tools") and kind != "none" and not result and (kind not in {"", "auto"} or means(*_CALLING)):
        write = named == "write_file" or (not named and means("write"))
        calls = [_WRITE] if write else [_WEATHER, _OTHER] if means("parallel") else [_WEATHER]
        pieces = [(name, json.dumps(given)[: _SHORT // 2 if cut else None]) for name, given in calls]
        return _Said(calls=tuple((f"call_{at}", *call) for at, call in enumerate(pieces)), cut=cut)
    if schema := _schema(body):
        return _Said(json.dumps(_instance(schema)))
    return _Said(_TEXT, thoughts=_THOUGHTS if means("think") else "", cut=cut)


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any]:
    form = table(body.get("response_format")) or table(table(body.get("text")).get("format"))
    return table(table(form.get("json_schema")).get("schema")) or table(form.get("schema"))


def _instance(schema: Mapping[str, Any]) -> Any:
    """A value of one of our own schemas."""
    if "const" in schema:
        return schema["const"]
    if isinstance(options := schema.get("enum"), list) and options:
        return options[0]
    kind = schema.get("type")
    if kind == "object":
        return {name: _instance(table(each)) for name, each in table(schema.get("properties")).items()}
    if kind == "array":
        return [_instance(table(schema.get("items")))] * int(schema.get("minItems", 1))
    plain: Mapping[Any, Any] = {"integer": 1, "number": 1, "boolean": True, "null": None}
    return plain.get(kind, "Paris")


# ------------------------------------------------------------------------------------------------- chat route


def _chat(asked: Asked, body: Mapping[str, Any], said: _Said) -> Exchange:
    finish = "length" if said.cut else "tool_calls" if said.calls else "stop"
    calls = [
        {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}
        for key, name, arguments in said.calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.thoughts:
        message["reasoning_content"] = said.thoughts
    if calls:
        message["tool_calls"] = calls
    head = {"id": "chatcmpl-1", "created": 1, "model": body.get("model")}
    usage = {"prompt_tokens": 10, "completion_tokens": _length(body, said), "total_tokens": 10 + _length(body, said)}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return _json(asked, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    deltas: list[tuple[Mapping[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"reasoning_content": said.thoughts}, None)] if said.thoughts else []
    deltas += [({"content": said.text[at : at + 4]}, None) for at in range(0, len(said.text), 4)]
    for index, call in enumerate(calls):
        arguments = said.calls[index][2]
        first = {**call, "index": index, "function": {"name": said.calls[index][1], "arguments": ""}}
        deltas.append(({"tool_calls": [first]}, None))
        for at in range(0, len(arguments), 4):
            piece = {"index": index, "function": {"arguments": arguments[at : at + 4]}}
            deltas.append(({"tool_calls": [piece]}, None))
    deltas.append(({}, finish))
    chunk = {**head, "object": "chat.completion.chunk"}
    events = [
        ("", json.dumps({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}))
        for delta, end in deltas
    ]
    if table(body.get("stream_options")).get("include_usage"):
        events.append(("", json.dumps({**chunk, "choices": [], "usage": usage})))
    return _stream(asked, [*events, ("", DONE)])


# -------------------------------------------------------------------------------------------- responses route


def _respond(asked: Asked, body: Mapping[str, Any], said: _Said) -> Exchange:
    status = "incomplete" if said.cut else "completed"
    items = [*_items(said, status)]
    used = _length(body, said)
    given = 30 if "previous_response_id" in body else 10  # with its history
    response = {
        "id": _RESPONSE,
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if said.cut else None,
        "instructions": body.get("instructions"),
        "model": body.get("model"),
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "temperature": 1.0,
        "top_p": 1.0,
        "metadata": {},
        "usage": {
            "input_tokens": given,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": used,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": given + used,
        },
    }
    if not body.get("stream"):
        return _json(asked, response)
    begun = {**response, "status": "in_progress", "output": [], "incomplete_details": None, "usage": None}
    events: list[dict[str, Any]] = [
        {"type": f"response.{word}", "response": begun} for word in ("created", "in_progress")
    ]
    for at, item in enumerate(items):
        events += [{**event, "output_index": at} for event in _item_events(item)]
    events.append({"type": f"response.{status}", "response": response})
    numbered = [{**event, "sequence_number": at} for at, event in enumerate(events)]
    return _stream(asked, [(str(event["type"]), json.dumps(event)) for event in numbered])


def _items(said: _Said, status: str) -> Iterator[dict[str, Any]]:
    if said.thoughts:
        content = [{"type": "reasoning_text", "text": said.thoughts}]
        yield {"id": "rs_1", "type": "reasoning", "summary": [], "content": content, "status": "completed"}
    if said.text:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        yield {"id": "msg_1", "type": "message", "role": "assistant", "content": [part], "status": status}
    for key, name, arguments in said.calls:
        call = {"type": "function_call", "call_id": key, "name": name, "arguments": arguments, "status": status}
        yield {"id": f"fc_{key}", **call}


def _item_events(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    of, kind = {"item_id": item["id"]}, item["type"]
    yield {"type": "response.output_item.added", "item": {**item, "status": "in_progress"}}
    if kind == "function_call":
        arguments = item["arguments"]
        for at in range(0, len(arguments), 4):
            yield {"type": "response.function_call_arguments.delta", **of, "delta": arguments[at : at + 4]}
        yield {
            "type": "response.function_call_arguments.done",
            **of,
            "name": item["name"],
            "arguments": arguments,
        }
    else:
        route = "reasoning_text" if kind == "reasoning" else "output_text"
        part = item["content"][0]
        place = {**of, "content_index": 0}
        yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
        yield {"type": f"response.{route}.delta", **place, "delta": part["text"], "logprobs": []}
        yield {"type": f"response.{route}.done", **place, "text": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **place, "part": part}
    yield {"type": "response.output_item.done", "item": item}


# --------------------------------------------------------------------------------------------- messages route


def _message(asked: Asked, body: Mapping[str, Any], said: _Said) -> Exchange:
    stop = "max_tokens" if said.cut else "tool_use" if said.calls else "end_turn"
    blocks: list[dict[str, Any]] = []
    if said.thoughts:
        blocks.append({"type": "thinking", "thinking": said.thoughts, "signature": ""})
    if said.text:
        blocks.append({"type": "text", "text": said.text})
    blocks += [
        {"type": "tool_use", "id": key, "name": name, "input": parsed(arguments) or {}}
        for key, name, arguments in said.calls
    ]
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": _length(body, said)},
    }
    if not body.get("stream"):
        return _json(asked, message)
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    ]
    for at, block in enumerate(blocks):
        events += [{**event, "index": at} for event in _block_events(block)]
    end = {"stop_reason": stop, "stop_sequence": None}
    events += [{"type": "message_delta", "delta": end, "usage": message["usage"]}, {"type": "message_stop"}]
    return _stream(asked, [(str(event["type"]), json.dumps(event)) for event in events])


def _block_events(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = block["type"]
    member, delta = {
        "tool_use": ("input", "input_json_delta"),
        "text": ("text", "text_delta"),
        "thinking": ("thinking", "thinking_delta"),
    }[kind]
    value = block[member]
    empty: Any = {} if kind == "tool_use" else ""
    yield {"type": "content_block_start", "content_block": {**block, member: empty}}
    told = {"partial_json": json.dumps(value)} if kind == "tool_use" else {member: value}
    yield {"type": "content_block_delta", "delta": {"type": delta, **told}}
    yield {"type": "content_block_stop"}


# --------------------------------------------------------------------------------------------------- exchanges


def _length(body: Mapping[str, Any], said: _Said) -> int:
    """How many tokens it took: as many as allowed where it was cut."""
    return _limit(body) if said.cut else _LENGTH


def _limit(body: Mapping[str, Any]) -> int:
    limit = next((body[name] for name in _LIMITS if name in body), _SHORT)
    return limit if isinstance(limit, int) else _SHORT


def _json(asked: Asked, value: Any, status: int = 200) -> Exchange:
    return Exchange(asked, status, {"content-type": "application/json"}, json.dumps(value).encode())


def refused(asked: Asked, status: int) -> Exchange:
    """An answer with an error."""
    error = {"message": "what was asked for is not possible", "type": "invalid_request_error", "param": None}
    return _json(asked, {"error": {**error, "code": None}}, status)


def _stream(asked: Asked, events: list[tuple[str, str]]) -> Exchange:
    raw = "".join(f"{f'event: {name}' + chr(10) if name else ''}data: {data}\n\n" for name, data in events).encode()
    frames = [Event(name, data, at / 1000) for at, (name, data) in enumerate(Frames().feed(raw))]
    if asked.leave_after is None:
        return Exchange(asked, 200, _STREAM, raw, tuple(frames), 0.1)
    seen = (frames * asked.leave_after)[: asked.leave_after]  # what is left early would not have ended
    return Exchange(asked, 200, _STREAM, raw, tuple(seen), 0.1, left=True)


_ROUTES: Mapping[str, Callable[[Asked, Mapping[str, Any], _Said], Exchange]] = {
    CHAT: _chat,
    RESPONSES: _respond,
    MESSAGES: _message,
}

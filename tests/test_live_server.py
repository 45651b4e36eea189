"""The tests' own server is right: clients that are strict are content with it, and a twist breaks what it says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import openai
import pytest
from live_model import ANSWER, LONG, NOTES, PLAIN, THOUGHT, UNICODE
from live_server import CHAT, LiveServer, drop, edit, has, ignore, put
from openai.types.chat import ChatCompletion

if TYPE_CHECKING:
    from collections.abc import Iterator

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tell the weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
            "required": ["city"],
        },
    },
}
WRITE = {
    "type": "function",
    "function": {
        "name": "write_file",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"],
        },
    },
}
TOOLS = [WEATHER, WRITE]


@pytest.fixture(scope="module")
def right() -> Iterator[LiveServer]:
    with LiveServer() as server:
        yield server


def client(server: LiveServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)


def user(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def chat(server: LiveServer, text: str, **members: Any) -> ChatCompletion:
    """The plain answer, which has to be what a strict reader takes, and what the stream comes to."""
    with client(server) as asks:
        plain: ChatCompletion = asks.chat.completions.create(model="scripted", messages=user(text), **members)
        ChatCompletion.model_validate(plain.to_dict(mode="json"), strict=False)
        with asks.chat.completions.stream(
            model="scripted", messages=user(text), stream_options={"include_usage": True}, **members
        ) as stream:
            for _ in stream:
                pass
            streamed = stream.current_completion_snapshot
    for one, other in zip(plain.choices, streamed.choices, strict=True):
        assert (one.message.content or "") == (other.message.content or "")
        assert one.finish_reason == other.finish_reason
        calls = [
            [
                (call.function.name, call.function.arguments)
                for call in choice.message.tool_calls or []
                if call.type == "function"
            ]
            for choice in (one, other)
        ]
        assert calls[0] == calls[1]
    assert plain.usage is not None
    assert streamed.usage is not None
    assert plain.usage.total_tokens == plain.usage.prompt_tokens + plain.usage.completion_tokens
    assert plain.usage == streamed.usage
    return plain


def calls_of(done: ChatCompletion) -> list[tuple[str, Any]]:
    found = [call for call in done.choices[0].message.tool_calls or [] if call.type == "function"]
    return [(call.function.name, json.loads(call.function.arguments)) for call in found]


def test_chat_texts(right: LiveServer) -> None:
    for text, said in (("hello", PLAIN), ("@@long", LONG), ("@@unicode", UNICODE), ("@@tool", PLAIN)):
        done = chat(right, text)
        assert done.choices[0].message.content == said
        assert done.choices[0].finish_reason == "stop"
    done = chat(right, "@@think")
    assert done.choices[0].message.content == PLAIN
    assert done.choices[0].message.model_dump()["reasoning_content"] == THOUGHT


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_chat_is_cut(right: LiveServer, limit: str) -> None:
    done = chat(right, "@@long", **{limit: 8})
    assert done.choices[0].finish_reason == "length"
    assert done.usage is not None
    assert done.usage.completion_tokens == 8
    assert done.choices[0].message.content == LONG[:32]


def test_chat_cut_anywhere(right: LiveServer) -> None:
    whole = chat(right, "@@tool", tools=TOOLS)
    assert whole.usage is not None
    for limit in range(1, whole.usage.completion_tokens):
        cut = chat(right, "@@tool", tools=TOOLS, max_tokens=limit).choices[0]
        assert cut.finish_reason == "length"
        assert not cut.message.content
        for call in cut.message.tool_calls or []:
            assert call.type == "function"
            assert '{"city": "Paris"}'.startswith(call.function.arguments)


def test_chat_calls(right: LiveServer) -> None:
    paris, oslo = ("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Oslo"})
    assert calls_of(chat(right, "@@tool", tools=TOOLS)) == [paris]
    assert calls_of(chat(right, "@@write", tools=TOOLS)) == [("write_file", {"path": "notes.txt", "content": NOTES})]
    assert calls_of(chat(right, "@@parallel", tools=TOOLS)) == [paris, oslo]
    assert calls_of(chat(right, "@@parallel", tools=TOOLS, parallel_tool_calls=False)) == [paris]
    assert calls_of(chat(right, "@@tool", tools=TOOLS, tool_choice="none")) == []
    assert calls_of(chat(right, "@@prose", tools=TOOLS, tool_choice="required")) == [("get_weather", {"city": "calm"})]
    named = {"type": "function", "function": {"name": "write_file"}}
    assert [name for name, _ in calls_of(chat(right, "@@tool", tools=TOOLS, tool_choice=named))] == ["write_file"]


def test_twists() -> None:
    with (
        LiveServer(
            twists=[
                edit(CHAT, put("choices.0.finish_reason", "stop"), when=has("max_tokens")),
                edit(CHAT, drop("usage"), when=has("seed"), stream=False),
                ignore("tool_choice", CHAT),
            ]
        ) as server,
        client(server) as asks,
    ):
        create: Any = asks.chat.completions.create
        cut = create(model="x", messages=user("@@long"), max_tokens=8)
        assert cut.choices[0].finish_reason == "stop"
        chunks = list(create(model="x", messages=user("@@long"), max_tokens=8, stream=True))
        assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason] == ["stop"]
        assert create(model="x", messages=user("hi"), seed=1).usage is None
        assert calls_of(create(model="x", messages=user("@@tool"), tools=TOOLS, tool_choice="none"))


def test_round_trip(right: LiveServer) -> None:
    first = chat(right, "@@tool", tools=TOOLS).choices[0].message
    assert first.tool_calls
    result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "21 degrees"}
    with client(right) as asks:
        create: Any = asks.chat.completions.create
        messages = [*user("@@tool"), first.model_dump(exclude_none=True), result]
        done = create(model="scripted", messages=messages, tools=TOOLS)
    assert done.choices[0].message.content == ANSWER
    assert done.choices[0].finish_reason == "stop"

"""The tests' own server is right: clients that are strict are content with it, and a twist breaks what it says."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from live_hostile import RawServer, endless, garbage, hanging, hanging_up, not_openai, redirecting, refusing
from live_server import (
    APPLY,
    CHAT,
    CHATML,
    LEAKED,
    MESSAGES,
    PROPS,
    RESPONSES,
    SLOTS,
    TOKENIZE,
    Answer,
    LiveServer,
    accept,
    cut_after,
    drop,
    edit,
    hang_after,
    has,
    ignore,
    keep_running,
    never_end,
    put,
    swap,
    without_done,
)

from templatelint.scripted.scripts import ANSWER, LONG, NOTE, PLAIN, STOP, THOUGHTS, UNICODE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    # both take seconds to import, and megabytes, which every process that collects this module would pay for
    import anthropic
    import openai
    import pydantic
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

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


@functools.cache
def http() -> httpx2.Client:
    """One for all: each takes a while to make."""
    return httpx2.Client(timeout=20.0)


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    http().close()
    http.cache_clear()


@pytest.fixture(scope="module")
def right() -> Iterator[LiveServer]:
    with LiveServer() as server:
        yield server


def client(server: LiveServer) -> openai.OpenAI:
    import openai

    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, http_client=http())


def user(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def chat(server: LiveServer, text: str, **members: Any) -> ChatCompletion:
    """The plain answer, which has to be what a strict reader takes, and what the stream comes to."""
    from openai.types.chat import ChatCompletion

    asks = client(server)
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
    assert done.choices[0].message.model_dump()["reasoning_content"] == THOUGHTS


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
    assert calls_of(chat(right, "@@write", tools=TOOLS)) == [("write_file", {"path": "notes.txt", "content": NOTE})]
    assert calls_of(chat(right, "@@parallel", tools=TOOLS)) == [paris, oslo]
    assert calls_of(chat(right, "@@parallel", tools=TOOLS, parallel_tool_calls=False)) == [paris]
    assert calls_of(chat(right, "@@tool", tools=TOOLS, tool_choice="none")) == []
    assert calls_of(chat(right, "@@prose", tools=TOOLS, tool_choice="required")) == [("get_weather", {"city": "calm"})]
    named = {"type": "function", "function": {"name": "write_file"}}
    assert [name for name, _ in calls_of(chat(right, "@@tool", tools=TOOLS, tool_choice=named))] == ["write_file"]


def test_twists() -> None:
    twists = [
        edit(CHAT, put("choices.0.finish_reason", "stop"), when=has("max_tokens")),
        edit(CHAT, drop("usage"), when=has("seed"), stream=False),
        ignore("tool_choice", CHAT),
    ]
    with LiveServer(twists=twists) as server:
        create: Any = client(server).chat.completions.create
        cut = create(model="x", messages=user("@@long"), max_tokens=8)
        assert cut.choices[0].finish_reason == "stop"
        chunks = list(create(model="x", messages=user("@@long"), max_tokens=8, stream=True))
        assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason] == ["stop"]
        assert create(model="x", messages=user("hi"), seed=1).usage is None
        assert calls_of(create(model="x", messages=user("@@tool"), tools=TOOLS, tool_choice="none"))


def test_refusals_that_are_forgotten() -> None:
    twists = [accept(CHAT), accept(RESPONSES), accept(MESSAGES)]
    with LiveServer(twists=twists) as server:
        for path, body in ((CHAT, "{nope"), (CHAT, {"messages": 5}), (RESPONSES, {}), (MESSAGES, {})):
            done = post(server, path, body)
            assert done.status_code == 200
            assert PLAIN in done.text
        assert post(server, CHAT, {"stream": True}).text.endswith("data: [DONE]\n\n")


def test_calls_that_are_left_in_the_text() -> None:
    with LiveServer(scripts=LEAKED, twists=[edit(CHAT, swap("Paris", "Oslo"), when=has("seed"))]) as server:
        done = chat(server, "@@tool", tools=TOOLS)
        assert calls_of(done) == []
        assert '"Paris"' in (done.choices[0].message.content or "")
        swapped = post(server, CHAT, {"messages": user("@@tool"), "tools": TOOLS, "seed": 1}).text
        assert "Oslo" in swapped
        assert "Paris" not in swapped


def test_round_trip(right: LiveServer) -> None:
    first = chat(right, "@@tool", tools=TOOLS).choices[0].message
    assert first.tool_calls
    result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "21 degrees"}
    asks = client(right)
    create: Any = asks.chat.completions.create
    messages = [*user("@@tool"), first.model_dump(exclude_none=True), result]
    done = create(model="scripted", messages=messages, tools=TOOLS)
    assert done.choices[0].message.content == ANSWER
    assert done.choices[0].finish_reason == "stop"


# -------------------------------------------------------------------------------------------- Responses

FLAT = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]  # type: ignore[dict-item]


def respond(server: LiveServer, given: Any, **members: Any) -> Response:
    """The plain answer, which has to be what a strict reader takes, and what the stream comes to."""
    asks = client(server)
    from openai.types.responses import Response

    plain: Response = asks.responses.create(model="scripted", input=given, **members)
    strict(Response, plain.to_dict(mode="json"))
    final: Any = None
    with asks.responses.stream(model="scripted", input=given, **members) as stream:
        for number, event in enumerate(stream):
            assert event.sequence_number == number
            final = event
    assert final.type == f"response.{plain.status}"
    assert [shape(item) for item in final.response.output] == [shape(item) for item in plain.output]
    assert final.response.usage == plain.usage
    return plain


def strict(kind: type[pydantic.BaseModel], data: Any) -> None:
    """Refuse members that the SDK does not know, beside a few of Open Responses."""
    found = kind.model_validate_json(json.dumps(data), strict=True)
    kept = found.model_dump(mode="json", by_alias=True, warnings=False)
    assert {name for name in data if name not in kept} <= {"presence_penalty", "frequency_penalty", "store"}


def shape(item: Any) -> Any:
    data = item.to_dict(mode="json")
    return {name: value for name, value in data.items() if name not in ("id", "call_id", "parsed_arguments", "content")}


def texts(item: Any) -> list[str]:
    return [part.text for part in item.content]


def test_responses_texts(right: LiveServer) -> None:
    for text, said in (("hello", PLAIN), ("@@unicode", UNICODE)):
        done = respond(right, text)
        assert (done.status, done.output_text) == ("completed", said)
        assert done.incomplete_details is None
    done = respond(right, [{"role": "user", "content": "@@think"}])
    assert [item.type for item in done.output] == ["reasoning", "message"]
    assert texts(done.output[0]) == [THOUGHTS]
    assert done.usage is not None
    assert done.usage.output_tokens_details.reasoning_tokens > 0
    again = [{"role": "user", "content": "@@think"}, *(item.to_dict() for item in done.output)]
    assert respond(right, [*again, {"role": "user", "content": "@@stop"}]).output_text == STOP


def test_responses_cut(right: LiveServer) -> None:
    import openai

    done = respond(right, "@@long", max_output_tokens=8)
    assert done.status == "incomplete"
    assert done.incomplete_details is not None
    assert done.incomplete_details.reason == "max_output_tokens"
    assert shape(done.output[-1])["status"] == "incomplete"
    done = respond(right, "@@think", max_output_tokens=8)
    assert [(item.type, shape(item)["status"]) for item in done.output] == [("reasoning", "incomplete")]
    done = respond(right, "@@write", tools=FLAT, max_output_tokens=16)
    assert done.status == "incomplete"
    assert [(item.type, shape(item)["status"]) for item in done.output] == [("function_call", "incomplete")]
    cut = done.output[0].to_dict()
    result = {"type": "function_call_output", "call_id": cut["call_id"], "output": "error"}
    with pytest.raises(openai.BadRequestError, match="not JSON"):
        respond(right, [{"role": "user", "content": "@@write"}, cut, result], tools=FLAT)


def test_responses_calls(right: LiveServer) -> None:
    done = respond(right, "@@parallel", tools=FLAT)
    assert [shape(item)["arguments"] for item in done.output] == ['{"city": "Paris"}', '{"city": "Oslo"}']
    ids = [item.to_dict()[name] for item in done.output for name in ("id", "call_id")]
    assert len(set(ids)) == 4
    results = [
        {"type": "function_call_output", "call_id": item.to_dict()["call_id"], "output": "21"} for item in done.output
    ]
    history = [{"role": "user", "content": "@@parallel"}, *(item.to_dict() for item in done.output), *results[::-1]]
    assert respond(right, history, tools=FLAT).output_text == ANSWER
    one = respond(right, "@@parallel", tools=FLAT, parallel_tool_calls=False)
    assert len(one.output) == 1
    named = {"type": "function", "name": "write_file"}
    assert shape(respond(right, "hi", tools=FLAT, tool_choice=named).output[0])["name"] == "write_file"
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [named]}
    assert respond(right, "@@tool", tools=FLAT, tool_choice=allowed).output_text == PLAIN


def test_structured_output(right: LiveServer) -> None:
    import pydantic

    class Town(pydantic.BaseModel):
        name: str
        people: int
        kind: str | None

    asks = client(right)
    done = asks.responses.parse(model="scripted", input="@@plain", text_format=Town)
    assert isinstance(done.output_parsed, Town)
    parsed = asks.chat.completions.parse(model="scripted", messages=user("@@plain"), response_format=Town)
    assert isinstance(parsed.choices[0].message.parsed, Town)
    assert parsed.choices[0].finish_reason == "stop"


# -------------------------------------------------------------------------------------------- Anthropic

ANTHROPIC: Any = [
    {"name": tool["function"]["name"], "input_schema": tool["function"]["parameters"]}  # type: ignore[index]
    for tool in TOOLS
]


def message(server: LiveServer, given: Any, **members: Any) -> anthropic.types.Message:
    """The plain message, which has to be what a strict reader takes, and what the stream comes to."""
    body: dict[str, Any] = {
        "model": "scripted",
        "messages": user(given) if isinstance(given, str) else given,
        "max_tokens": 200,
    }
    body |= members
    import anthropic

    asks: Any = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0, http_client=http())
    plain: anthropic.types.Message = asks.messages.create(**body)
    strict(anthropic.types.Message, plain.to_dict(mode="json"))
    with asks.messages.stream(**body) as stream:
        streamed = stream.get_final_message()
    assert plain.stop_reason == streamed.stop_reason
    assert plain.usage == streamed.usage
    assert [shape(block) for block in plain.content] == [shape(block) for block in streamed.content]
    return plain


def test_messages(right: LiveServer) -> None:
    assert shape(message(right, "hi").content[0]) == {"type": "text", "text": PLAIN}
    done = message(right, "@@tool", tools=ANTHROPIC)
    assert done.stop_reason == "tool_use"
    assert shape(done.content[0]) == {"type": "tool_use", "name": "get_weather", "input": {"city": "Paris"}}
    result = {"type": "tool_result", "tool_use_id": done.content[0].to_dict()["id"], "content": "21"}
    history = [*user("@@tool"), {"role": "assistant", "content": done.content}, {"role": "user", "content": [result]}]
    assert shape(message(right, history, tools=ANTHROPIC).content[0])["text"] == ANSWER
    assert len(message(right, "@@parallel", tools=ANTHROPIC).content) == 2
    alone = {"type": "auto", "disable_parallel_tool_use": True}
    assert len(message(right, "@@parallel", tools=ANTHROPIC, tool_choice=alone).content) == 1
    named = {"type": "tool", "name": "write_file"}
    assert shape(message(right, "@@tool", tools=ANTHROPIC, tool_choice=named).content[0])["name"] == "write_file"
    none = message(right, "@@tool", tools=ANTHROPIC, tool_choice={"type": "none"})
    assert [block.type for block in none.content] == ["text"]


def test_messages_end(right: LiveServer) -> None:
    cut = message(right, "@@long", max_tokens=8)
    assert (cut.stop_reason, cut.usage.output_tokens) == ("max_tokens", 8)
    assert message(right, "@@tool", max_tokens=16, tools=ANTHROPIC).content == []
    stopped = message(right, "@@stop", stop_sequences=["STOPWORD"])
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "STOPWORD")
    assert shape(stopped.content[0])["text"] == "one two "
    thinking = {"type": "enabled", "budget_tokens": 1024}
    thought = message(right, "@@think", stop_sequences=["STOPWORD"], thinking=thinking)
    assert [block.type for block in thought.content] == ["thinking", "text"]
    assert thought.stop_reason == "end_turn"
    quiet = message(right, "@@think", thinking={"type": "disabled"})
    assert [block.type for block in quiet.content] == ["text"]
    assert quiet.usage.input_tokens > thought.usage.input_tokens, "an empty thought stands in its prompt"


# ------------------------------------------------------------------------------------------------ errors


def post(server: LiveServer, path: str, body: Any) -> httpx2.Response:
    content = body if isinstance(body, str) else json.dumps(body)
    return http().post(server.url + path, content=content, headers={"content-type": "application/json"})


HI = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, "{nope"),
        (CHAT, "[" * 100_000),
        (CHAT, []),
        (CHAT, {}),
        (CHAT, {"messages": []}),
        (CHAT, {"messages": "hi"}),
        (CHAT, {"messages": ["hi"]}),
        (CHAT, {"messages": [{"content": "hi"}]}),
        (CHAT, {"messages": [{"role": "wizard", "content": "hi"}]}),
        (CHAT, {"messages": [{"role": "user", "content": 5}]}),
        (CHAT, {"messages": [{"role": "user", "content": {"a": 1}}]}),
        (CHAT, {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}),
        (CHAT, {"messages": [{"role": "user", "content": [{"type": "text"}]}]}),
        (CHAT, {"messages": [*HI, {"role": "tool", "tool_call_id": "call_x", "content": "1"}]}),
        (CHAT, {"messages": HI, "temperature": "hot"}),
        (CHAT, {"messages": HI, "max_tokens": "many"}),
        (CHAT, {"messages": HI, "stream": "yes"}),
        (CHAT, {"messages": HI, "tools": "get_weather"}),
        (CHAT, {"messages": HI, "tools": {"a": 1}}),
        (CHAT, {"messages": HI, "tools": [{"type": "function", "function": {}}]}),
        (CHAT, {"messages": HI, "tools": [{"type": "spell"}]}),
        (CHAT, {"messages": HI, "tools": TOOLS, "tool_choice": "maybe"}),
        (CHAT, {"messages": HI, "tool_choice": "required"}),
        (CHAT, {"messages": HI, "response_format": {"type": "json_schema", "schema": {"type": "object"}}}),
        (CHAT, {"messages": [{"role": "user", "content": "tide " * 5000}]}),
        (CHAT, {"messages": [{"role": "user", "content": "tide " * 5000}], "stream": True}),
        (APPLY, {"messages": HI, "chat_template": "{% if"}),
        (RESPONSES, {}),
        (RESPONSES, {"input": 5}),
        (RESPONSES, {"input": [{"type": "spell"}]}),
        (RESPONSES, {"input": "hi", "tools": "get_weather"}),
        (RESPONSES, {"input": "hi", "previous_response_id": "resp_1"}),
        (RESPONSES, {"input": [*HI, {"type": "function_call_output", "call_id": "x", "output": "1"}]}),
        (RESPONSES, {"input": [*HI, {"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"}]}),
        (MESSAGES, {}),
        (MESSAGES, {"messages": HI}),
        (MESSAGES, {"messages": HI, "max_tokens": "many"}),
        (MESSAGES, {"messages": [{"role": "system", "content": "hi"}], "max_tokens": 8}),
    ],
)
def test_what_is_refused(right: LiveServer, path: str, body: Any) -> None:
    done = post(right, path, body)
    assert done.status_code == 400, done.text
    error = done.json()["error"]
    assert error["message"]
    assert error["type"]
    if path == MESSAGES:
        assert done.json()["type"] == "error"
    else:
        assert {"param", "code"} <= set(error)
    assert post(right, CHAT, {"messages": HI}).status_code == 200


def test_a_refusal_of_the_template() -> None:
    with LiveServer(
        template="{{ raise_exception('no ' ~ messages[0].content) if messages[0].content == 'tea' }}"
    ) as server:
        done = post(server, CHAT, {"messages": user("tea")})
        assert done.status_code == 400
        assert "no tea" in done.json()["error"]["message"]


def test_what_is_not_there(right: LiveServer) -> None:
    for path in ("/tools", "/v1/responses/resp_1", "/nowhere"):
        done = http().get(right.url + path)
        assert done.status_code == 404
        assert done.json()["error"]["code"] == "not_found"
    with LiveServer(api_key="right") as server:
        assert http().get(f"{server.url}/v1/models").status_code == 401
        assert http().get(f"{server.url}/v1/models", headers={"Authorization": "Bearer right"}).status_code == 200


# ---------------------------------------------------------------------------------------------- identity


def test_prompts_and_tokens(right: LiveServer) -> None:
    body: Any = {"messages": user("@@tool"), "tools": TOOLS}
    prompt = post(right, APPLY, body).json()["prompt"]
    assert "get_weather" in prompt
    asked = {"content": prompt, "add_special": True, "parse_special": True}
    count = len(post(right, TOKENIZE, asked).json()["tokens"])
    assert post(right, CHAT, {**body, "max_tokens": 1}).json()["usage"]["prompt_tokens"] == count
    assert post(right, f"{CHAT}/input_tokens", body).json()["input_tokens"] == count
    flat = {"input": "@@tool", "tools": FLAT}
    assert post(right, f"{RESPONSES}/input_tokens", flat).json()["input_tokens"] == count
    own = {**body, "chat_template": "{{ messages[0].content }}"}
    assert post(right, APPLY, own).json()["prompt"].strip() == "@@tool"
    props = http().get(right.url + PROPS).json()
    assert props["build_info"] == post(right, CHAT, body).json()["system_fingerprint"]


def test_a_twist_that_raises() -> None:
    def raises(_: Answer) -> None:
        raise ZeroDivisionError

    server = LiveServer(twists=[edit(CHAT, raises)])
    with pytest.raises(ZeroDivisionError), server, pytest.raises(httpx2.RemoteProtocolError):
        post(server, CHAT, {"messages": HI})


def test_several_models() -> None:
    twisted = edit(CHAT, drop("usage"), when=lambda body: body["model"] == "b")
    with LiveServer(models={"a": CHATML, "b": CHATML}, twists=[twisted]) as server:
        listed = http().get(f"{server.url}/v1/models").json()["data"]
        assert [row["id"] for row in listed] == ["a", "b"]
        assert http().get(f"{server.url}/props?model=b").json()["chat_template"] == CHATML
        assert "usage" in post(server, CHAT, {"messages": HI, "model": "a"}).json()
        assert "usage" not in post(server, CHAT, {"messages": HI, "model": "b"}).json()
        assert post(server, CHAT, {"messages": HI, "model": "c"}).status_code == 404


# ------------------------------------------------------------------------------------------ cancellation


def busy(server: LiveServer) -> int:
    return sum(row["is_processing"] for row in http().get(server.url + SLOTS).json())


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves(right: LiveServer, stream: bool) -> None:
    body = {"messages": user("@@endless"), "stream": stream}
    if stream:
        with http().stream("POST", right.url + CHAT, json=body) as answer:
            lines = answer.iter_lines()
            next(lines)
            assert busy(right) == 1
    else:
        with pytest.raises(httpx2.ReadTimeout):
            http().post(right.url + CHAT, json=body, timeout=0.1)
    for _ in range(2000):
        if not busy(right):
            break
    assert busy(right) == 0


def test_a_slot_that_stays_busy() -> None:
    with LiveServer(twists=[edit(CHAT, keep_running())]) as server:
        with http().stream("POST", server.url + CHAT, json={"messages": user("@@endless"), "stream": True}) as answer:
            lines = answer.iter_lines()
            next(lines)
        assert busy(server) == 1
        for _ in range(20):
            assert busy(server) == 1
        assert post(server, CHAT, {"messages": HI}).status_code == 200


# -------------------------------------------------------------------------------------- broken on purpose


def test_broken_streams() -> None:
    def called(name: str) -> Callable[[dict[str, Any]], bool]:
        return lambda body: body.get("user") == name

    broken = {"cut": cut_after(3), "hang": hang_after(3), "done": without_done, "forever": never_end()}
    twists = [edit(CHAT, change, when=called(name)) for name, change in broken.items()]

    def lines(user_name: str) -> Generator[str]:
        body = {"messages": HI, "stream": True, "user": user_name}
        patience = 0.5 if user_name == "hang" else 20.0
        with http().stream("POST", server.url + CHAT, json=body, timeout=patience) as answer:
            for line in answer.iter_lines():
                if line:
                    yield line

    with LiveServer(twists=twists) as server:
        assert list(lines("nobody"))[-1] == "data: [DONE]"
        assert "[DONE]" not in list(lines("done"))[-1]
        for name, error in (("cut", httpx2.RemoteProtocolError), ("hang", httpx2.ReadTimeout)):
            got = lines(name)
            assert len([next(got) for _ in range(3)]) == 3
            with pytest.raises(error):
                next(got)
        unending = lines("forever")
        assert len([next(unending) for _ in range(500)]) == 500
        unending.close()


@pytest.mark.parametrize(
    ("server", "error"),
    [
        (garbage(), httpx2.RemoteProtocolError),
        (hanging_up(), httpx2.RemoteProtocolError),
        (hanging(), httpx2.ReadTimeout),
        (hanging("head"), httpx2.ReadTimeout),
        (hanging("body"), httpx2.ReadTimeout),
        (hanging("stream"), httpx2.ReadTimeout),
    ],
)
def test_servers_that_do_not_answer(server: RawServer, error: type[Exception]) -> None:
    with server, pytest.raises(error):
        http().post(server.url + CHAT, json={}, timeout=0.1 if error is httpx2.ReadTimeout else 20.0)


def test_servers_of_something_else() -> None:
    with refusing() as nothing, pytest.raises(httpx2.ConnectError):
        http().get(nothing.url)
    with not_openai() as server:
        assert http().get(server.url + PROPS).headers["content-type"] == "text/html"
    with redirecting("http://example.org/") as server:
        assert http().get(server.url).headers["location"] == "http://example.org/"
    with endless() as server, http().stream("GET", server.url) as answer:
        pieces = answer.iter_raw()
        assert sum(len(next(pieces)) for _ in range(20)) > 0


@pytest.mark.parametrize("kind", ["vllm", "sglang", "ollama", "lmstudio", "bare"])
def test_other_kinds(kind: str) -> None:
    with LiveServer(kind=kind) as server:
        assert http().get(server.url + PROPS).status_code == 404
        assert calls_of(chat(server, "@@tool", tools=TOOLS)) == [("get_weather", {"city": "Paris"})]
        if kind in ("vllm", "sglang"):
            ids = post(server, TOKENIZE, {"messages": HI, "tools": TOOLS}).json()["tokens"]
            text = next(iter(post(server, "/detokenize", {"tokens": ids}).json().values()))
            assert post(server, TOKENIZE, {"prompt": text}).json()["tokens"] == ids
            done = post(server, CHAT, {"messages": HI, "tools": TOOLS, "max_tokens": 1}).json()
            assert done["usage"]["prompt_tokens"] == len(ids)

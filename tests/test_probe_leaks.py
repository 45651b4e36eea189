"""Calls that were left in a text: found in every syntax, told from examples, and why they are there."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from live_model import said
from live_server import APPLY, CHATML, LiveServer, ignore
from scripted_server import model_of

from templatelint import dialects
from templatelint.dialects.reply import ToolCall
from templatelint.model import Launch
from templatelint.probe import Options, opened
from templatelint.probe.chat import leaks
from templatelint.probe.clauses.calls import call_not_leaked
from templatelint.probe.endpoint import Endpoint, Served
from templatelint.probe.wire.exchange import Asked, Exchange
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from templatelint.probe.verdict import Verdict

CALL = ToolCall("get_weather", {"city": "Paris"})
JSON_CALL = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
HERMES = f"<tool_call>\n{JSON_CALL}\n</tool_call>"
TOOLLESS = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"


@pytest.mark.parametrize("dialect", dialects.NAMES)
def test_a_call_is_found_in_whatever_syntax(dialect: str) -> None:
    text = dialects.get(dialect).write([CALL])
    leak = leaks.found(text, taught=dialect)
    assert leak is not None
    assert (leak.tool, leak.certain) == ("get_weather", True)
    assert leak.dialect in {dialect, ""} or not leak.marked or dialects.get(leak.dialect).write([CALL]) == text


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (HERMES, "a call in the syntax of hermes"),
        (f"I look that up.\n{HERMES}", "a call in the syntax of hermes"),
        ('<tool_call>\n{"name": "get_weather", "argum', "the beginning of a call in the syntax of hermes"),
        (
            "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>",
            "a call in the syntax of qwen3-coder",
        ),
        ('[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}', "a call in the syntax of mistral"),
        (
            '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris"}}',
            "a call in the syntax of llama3-json",
        ),
        (JSON_CALL, "a call as bare JSON"),
        (f"{JSON_CALL}\n</tool_call>", "a call as bare JSON"),
        (f"Sure:\n\n{JSON_CALL}", "a call as bare JSON"),
        (f"<tools>\n{JSON_CALL}\n</tools>", "a call as JSON in <tools>"),
        (f"```json\n{JSON_CALL}\n```", "a call as JSON in a code fence"),
        (f"Let me look that up.\n```json\n{JSON_CALL}\n```", "a call as JSON in a code fence"),
        ('[get_weather(city="Paris")]', "a call as a bare Python expression"),
        ('get_weather{"city": "Paris"}', "the function's name with its arguments, without marks"),
        ('functions.get_weather:0{"city": "Paris"}', "the function's name with its arguments, without marks"),
        (
            'functionget_weather\n```json\n{"city": "Paris"}\n```',
            "the function's name with its arguments, without marks",
        ),
        (
            'Action: get_weather\nAction Input: {"city": "Paris"}',
            "the function's name with its arguments, without marks",
        ),
        (
            '```python\nget_weather(city="Paris")\n```',
            "the function's name with its arguments in parentheses, without marks",
        ),
    ],
)
def test_what_is_meant_as_a_call_is_certain(text: str, form: str) -> None:
    leak = leaks.found(text)
    assert leak is not None
    assert (leak.form, leak.certain) == (form, True)


@pytest.mark.parametrize(
    "text",
    [
        f"One could write:\n```json\n{JSON_CALL}\n```\nThen the tool would tell the weather.",
        f"Models of this kind write `{HERMES.replace(chr(10), '')}` to call it.",
        'Try `get_weather(city="Paris")` for that.',
        '{"name": "get_weather", "arguments": {"town": "Paris"}}',
        "def get_weather(city):\n    return 21",
    ],
)
def test_what_may_be_an_example_is_not_certain(text: str) -> None:
    leak = leaks.found(text)
    assert leak is not None
    assert not leak.certain


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is 21 degrees in Paris.",
        "I would ask get_weather for that.",
        "The function get_weather takes a city, as {...}.",
        '{"city": "Paris", "temperature": 21}',
        '<tool_call>\n{"name": "send_mail", "arguments": {}}\n</tool_call>',
        "\ud800\x1b[31m{{{{",
    ],
)
def test_what_is_no_call_is_none(text: str) -> None:
    assert leaks.found(text) is None


@pytest.mark.parametrize("text", ["get_weather{" * 3000, HERMES[:30] * 1000, "<|python_tag|>get_weather(" * 2000])
def test_endless_text_is_read_in_bounds(text: str) -> None:
    assert leaks.found(text) is None or len(leaks.found(text).text) <= 120  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------------------------- why


def _judged(content: str, served: Served) -> Verdict:
    def send(asked: Asked) -> Exchange:
        if asked.path == APPLY:
            return Exchange(asked, 404)
        message = {"role": "assistant", "content": content}
        reply = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        return Exchange(asked, 200, {}, json.dumps(reply).encode())

    return call_not_leaked(Endpoint("http://127.0.0.1:1", "m", send, served=served))


def _served(kind: str, template: str = CHATML, parser: str = "") -> Served:
    launch = Launch(kind, "1", ("serve", "m", "--tool-call-parser", parser) if parser else None)
    return Served(kind, "1", replace(model_of(template), launch=launch))


@pytest.mark.parametrize(
    ("content", "served", "why", "cure"),
    [
        (HERMES, _served("vllm", TOOLLESS), "never shows the tools", "templatelint vet"),
        (
            "[TOOL_CALLS]get_weather[ARGS]" + '{"city": "Paris"}',
            _served("vllm"),
            "the model wrote a call in the syntax of mistral where the template in force teaches hermes",
            "serve the template that the model was trained with",
        ),
        (
            HERMES,
            _served("vllm", parser="pythonic"),
            "teaches just that (hermes), and the server's parser did not take it out",
            "--tool-call-parser hermes instead of --tool-call-parser pythonic",
        ),
        (HERMES, _served("sglang"), "teaches just that (hermes)", "start sglang with --tool-call-parser qwen"),
        (HERMES, _served("llama.cpp"), "teaches just that (hermes)", ""),
        (JSON_CALL, _served("vllm"), "the marks of hermes are missing", "--tool-call-parser hermes"),
        (f"```json\n{JSON_CALL}\n```", _served("vllm"), "the model wrote a call as JSON in a code fence", ""),
        (HERMES, Served(), "is not known", "--template REF"),
    ],
)
def test_a_leak_is_explained(content: str, served: Served, why: str, cure: str) -> None:
    verdict = _judged(content, served)
    assert verdict.word == "fail"
    assert why in verdict.message
    assert cure in verdict.help


def test_the_linted_template_stands_in_for_one_that_is_not_told() -> None:
    message = {"role": "assistant", "content": HERMES}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    endpoint = Endpoint("http://a", "m", lambda asked: Exchange(asked, 200, {}, body), linted=model_of(CHATML))
    assert "the linted template teaches just that (hermes)" in call_not_leaked(endpoint).message


def test_a_server_that_shows_its_prompts_tells_that_the_tools_are_not_in_them() -> None:
    with (
        LiveServer(template=CHATML, twists=[ignore("tools", APPLY)], scripts={"tool": said(HERMES)}) as server,
        opened(server.url, Options(), Reach()) as endpoint,
    ):
        verdict = call_not_leaked(endpoint)
    assert "the template in force never shows the tools to the model" in verdict.message


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (f"You may write:\n```json\n{JSON_CALL}\n```\nand wait for the answer.", "inconclusive"),
        ("I cannot know the weather.", "inconclusive"),
    ],
)
def test_what_may_be_none_is_no_failure(content: str, word: str) -> None:
    assert _judged(content, _served("vllm")).word == word

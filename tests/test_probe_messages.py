"""The clauses about Anthropic's messages: kept by a right server, broken by a twisted one; llama.cpp as it deserves."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from live_model import by_selector, said, thought
from live_server import (
    CHATML,
    MESSAGES,
    THINKING,
    Answer,
    LiveServer,
    Twist,
    accept,
    cut_after,
    drop,
    drop_events,
    each,
    edit,
    has,
    holds,
    ignore,
    instead,
    put,
    rearrange,
    status,
    type_of,
)
from scripted_server import deserved, model_of, serving

from templatelint import probe
from templatelint.errors import TemplatelintError
from templatelint.probe.catalogue import CHECKS
from templatelint.probe.clauses import messages
from templatelint.probe.endpoint import Endpoint, Scripted, Served
from templatelint.probe.messages import stream as message_stream
from templatelint.probe.messages.reply import MessageReply
from templatelint.probe.prompts import Prompts
from templatelint.probe.prompts import scripted as scripted_prompts
from templatelint.probe.template.thinking_switch import switched_off
from templatelint.probe.verdict import NotOffered
from templatelint.probe.wire import sdk
from templatelint.probe.wire.client import Client
from templatelint.probe.wire.exchange import Asked, Event, Exchange
from templatelint.sources.reach import Reach
from templatelint.sources.web import Web
from templatelint.sources.web_address import address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from live_answers import Event as Sent

    from templatelint.probe.verdict import Verdict

Choose: TypeAlias = Callable[[Sequence[Any], str], str]
OURS = {check.id: check for check in CHECKS if check.module in ("messages", "messages_stream")}
WILLING = ["TL970", "TL971", "TL972", "TL973"]
SERVERS: dict[tuple[Choose, str], LiveServer] = {}
RUNNING = ExitStack()


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    with RUNNING:
        yield
    SERVERS.clear()


def plain(_: Sequence[Any], prompt: str) -> str:
    """Of a model that says a short sentence whatever it is told."""
    return "about" if "@@about" in prompt else "plain"


def writer(_: Sequence[Any], __: str) -> str:
    """Of a model that is not scripted, and calls the second function whatever it is told."""
    return "write"


def words(chat: Sequence[Any], prompt: str) -> str:
    """Of a model that is not scripted, and does as it is told."""
    return by_selector(chat, prompt)


def tell(
    rule: str,
    *twists: Twist,
    choose: Choose = by_selector,
    template: str = THINKING,
    told: bool = True,
    known: bool = True,
) -> Verdict:
    """The verdict on a server that is known, so that nobody has to be met first.

    Args:
        rule: which.
        twists: what the server does wrong.
        choose: what the model says.
        template: in force.
        told: the model has introduced itself as the scripted one.
        known: the server tells its template.
    """
    if (choose, template) not in SERVERS:
        SERVERS[choose, template] = RUNNING.enter_context(LiveServer(choose=choose, template=template))
    server = SERVERS[choose, template]
    server.twists = twists
    with Web(server.url, name=server.url, stay=True) as web:
        send = Client(web, address(server.url), 10.0).ask
        served = Served("llama.cpp", "b1", model_of(template) if known else None, ("scripted",))
        prompts = scripted_prompts() if choose in (by_selector, plain) else Prompts()
        scripted = Scripted(1, "hermes") if told and choose not in (words, writer) else None
        return OURS[rule].judge(Endpoint(server.url, "scripted", send, prompts, served=served, scripted=scripted))


# --------------------------------------------------------------------------------------- a server that is right


@pytest.mark.parametrize("rule", OURS)
def test_a_right_server_keeps_the_clause(rule: str) -> None:
    verdict = tell(rule)
    assert verdict.word == "pass", verdict


@pytest.mark.parametrize("rule", OURS)
def test_so_does_one_whose_model_is_not_scripted(rule: str) -> None:
    verdict = tell(rule, choose=words)
    assert verdict.word == "pass", verdict


@pytest.mark.parametrize("rule", OURS)
def test_a_server_without_the_route_is_not_judged(rule: str) -> None:
    with pytest.raises(NotOffered):
        tell(rule, instead(MESSAGES, lambda _: Answer({"error": {"message": "no route"}}, status=404)))


# --------------------------------------------------------------------------------- servers that break one clause


def results(body: Mapping[str, Any]) -> bool:
    return "tool_result" in json.dumps(body.get("messages"))


def offered(body: Mapping[str, Any]) -> bool:
    return bool(body.get("tools")) and not results(body)


def short(body: Mapping[str, Any]) -> bool:
    return bool(body.get("max_tokens", 512) < 100)


def long(body: Mapping[str, Any]) -> bool:
    return "lighthouse" in json.dumps(body)


def unrelated(body: dict[str, Any]) -> None:
    """Lose all but a greeting."""
    body["messages"] = [{"role": "user", "content": "hi"}]
    body.pop("tools", None)


def nobody(body: Mapping[str, Any]) -> bool:
    return bool(body) and "messages" not in body


def cutting(body: Mapping[str, Any]) -> bool:
    return offered(body) and short(body)


def stopping(body: Mapping[str, Any]) -> bool:
    return bool(body.get("stop_sequences"))


def forget_results(body: dict[str, Any]) -> None:
    """Forget the results of calls."""
    body["messages"] = body["messages"][:1]


def call_with(arguments: Any, stop: str = "max_tokens") -> Callable[[Answer], None]:
    """Hand over a cut call with these arguments."""

    def change(answer: Answer) -> None:
        block = {"type": "tool_use", "id": "toolu_1", "name": "write_file", "input": arguments}
        answer.json.update(content=[block], stop_reason=stop)

    return change


def say(text: str, stop: str) -> Callable[[Answer], None]:
    """Say this alone."""

    def change(answer: Answer) -> None:
        answer.json.update(content=[{"type": "text", "text": text}], stop_reason=stop)

    return change


def thoughts_alone(answer: Answer) -> None:
    """Stop in the thoughts."""
    block = answer.json["content"][0]
    if block["type"] == "thinking":
        block["thinking"] = block["thinking"].partition("STOPWORD")[0]
        answer.json.update(content=[block], stop_reason="end_turn", stop_sequence="STOPWORD")


def as_openai(answer: Answer) -> None:
    """An error as OpenAI writes it."""
    if answer.status >= 400:
        del answer.json["type"]


def named(name: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda body: (body.get("tool_choice") or {}).get("type") == name


def overlapping(events: list[Sent]) -> list[Sent]:
    """Stop the blocks when all have started."""
    stops = [event for event in events if type_of(event) == "content_block_stop"]
    if len(stops) < 2:
        return events
    others = [event for event in events if event not in stops]
    at = next(place for place, event in enumerate(others) if type_of(event) == "message_delta")
    return [*others[:at], *stops, *others[at:]]


def mixed(events: list[Sent]) -> list[Sent]:
    """Give what belongs to the second call to the first."""
    for event in events:
        if type_of(event) == "content_block_delta":
            event.data["index"] = 0
    return events


def nothing(answer: Answer) -> Answer:
    """No block at all."""
    answer.json["content"] = []
    return answer


BROKEN: Sequence[tuple[str, Sequence[Twist], str]] = (
    ("TL970", [edit(MESSAGES, drop("id"))], "in the answer to a plain message id is missing"),
    ("TL970", [edit(MESSAGES, put("type", "completion"))], "type is 'completion'"),
    ("TL970", [edit(MESSAGES, put("role", "user"))], "role is 'user'"),
    ("TL970", [edit(MESSAGES, put("model", None))], "model is null"),
    ("TL970", [edit(MESSAGES, put("stop_reason", "stop"))], "stop_reason is 'stop'"),
    ("TL970", [edit(MESSAGES, put("stop_reason", "tool_use"))], "a plain answer comes with stop_reason 'tool_use'"),
    ("TL970", [edit(MESSAGES, drop("usage"))], "usage.input_tokens is missing"),
    ("TL970", [edit(MESSAGES, put("usage.output_tokens", "4"))], "usage.output_tokens is '4'"),
    ("TL970", [edit(MESSAGES, put("content.0", "Hello."))], "content[0]: it is 'Hello.'"),
    ("TL970", [edit(MESSAGES, drop("content.0.type"))], "content[0]: type is missing"),
    ("TL970", [edit(MESSAGES, put("content.0.text", None))], "content[0]: text is null"),
    ("TL970", [edit(MESSAGES, put("content", "Hello."))], "answered HTTP 200 without a list 'content'"),
    ("TL970", [edit(MESSAGES, cut_after(30))], "the connection ends before the answer to a plain message"),
    ("TL970", [edit(MESSAGES, status(500))], "a plain message is answered HTTP 500"),
    ("TL970", [edit(MESSAGES, put("content.0.input", '{"city": "Paris"}'), when=offered)],
     "in the answer to a prompt with tools content[0]: input is '{\"city\": \"Paris\"}'"),
    ("TL970", [edit(MESSAGES, put("content.0.id", ""), when=offered)], "content[0]: id is ''"),
    ("TL970", [edit(MESSAGES, put("stop_reason", "end_turn"), when=offered)], "an answer with a tool_use comes with"),
    ("TL970", [edit(MESSAGES, put("content.0.input", {}), when=offered)], "a tool_use of 'get_weather' with the input"),
    ("TL970", [edit(MESSAGES, status(500), when=results)], "the result of a call, with the content as it came, is ans"),
    ("TL970", [edit(MESSAGES, status(400), when=results)], "is answered HTTP 400"),
    ("TL970", [Twist(MESSAGES, results, before=forget_results)], "with the result before it the model calls 'get_wea"),
    ("TL970", [edit(MESSAGES, put("stop_reason", "stop_sequence"), when=results)], "the answer to the result of a cal"),
    ("TL971", [ignore("tool_choice", MESSAGES, when=named("tool"))],
     "tool_choice of the tool write_file brings a call of 'get_weather'"),
    ("TL971", [edit(MESSAGES, say("No.", "end_turn"), when=named("tool"))], "brings 'text', and no call"),
    ("TL971", [ignore("tool_choice", MESSAGES, when=named("none"))], "tool_choice none brings a call of 'get_weather'"),
    ("TL971", [ignore("tool_choice", MESSAGES, when=named("auto"))], "disable_parallel_tool_use brings 2 calls"),
    ("TL971", [edit(MESSAGES, status(500), when=named("none"))], "tool_choice none is answered HTTP 500"),
    ("TL972", [edit(MESSAGES, put("stop_reason", "end_turn"), when=short)], "a text cut after 8 tokens has stop_reaso"),
    ("TL972", [edit(MESSAGES, drop("stop_reason"), when=short)], "a text cut after 8 tokens has stop_reason null"),
    ("TL972", [edit(MESSAGES, status(500), when=short)], "a prompt for a long text with max_tokens 8 is answered HTTP"),
    ("TL972", [Twist(MESSAGES, holds("@@long"), before=lambda body: body.update(max_tokens=500))], "max_tokens 8"),
    ("TL972", [edit(MESSAGES, call_with({}), when=cutting)],
     "tokens is handed over with the input {}, as if it had no arguments"),
    ("TL972", [edit(MESSAGES, call_with({}, "tool_use"), when=cutting)],
     "is handed over with the input {}"),
    ("TL972", [edit(MESSAGES, call_with({"path": "notes"}, "tool_use"), when=cutting)],
     "is handed over with a part of its arguments, and stop_reason 'tool_use'"),
    ("TL972", [edit(MESSAGES, call_with("{"), when=cutting)], "has the input '{'"),
    ("TL972", [edit(MESSAGES, put("stop_reason", "end_turn"), when=cutting)],
     "inside its call, has stop_reason 'end_turn'"),
    ("TL973", [edit(MESSAGES, rearrange(overlapping))],
     "in a stream of two calls event 9 starts content block 1 before block 0 has stopped"),
    ("TL973", [edit(MESSAGES, rearrange(mixed))], "is about content block 0, which is not open"),
    ("TL973", [edit(MESSAGES, drop_events("content_block_stop"))], "comes before the last content block has stopped"),
    ("TL973", [edit(MESSAGES, drop_events("message_stop"))], "the stream ends without message_stop"),
    ("TL973", [edit(MESSAGES, drop_events("message_start"))], "comes before message_start"),
    ("TL973", [edit(MESSAGES, drop_events("message_delta"))], "message_stop, comes before any stop_reason"),
    ("TL973", [edit(MESSAGES, rearrange(lambda events: [*events, events[2]]), stream=True)], "comes behind message_st"),
    ("TL973", [edit(MESSAGES, rearrange(lambda events: [events[0], *events]), stream=True)], "one more message_start"),
    ("TL973", [edit(MESSAGES, each(lambda event: setattr(event, "name", "")))], "and its event: is ''"),
    ("TL973", [edit(MESSAGES, drop("index"), stream=True)], "starts content block null, where 0 is the next one"),
    ("TL973", [edit(MESSAGES, drop("message"), stream=True)], "message_start, has no message"),
    ("TL973", [edit(MESSAGES, put("message.role", "user"), stream=True)], "message_start: role is 'user'"),
    ("TL973", [edit(MESSAGES, put("content_block.type", 7), stream=True)], "the type of the block is 7"),
    ("TL973", [edit(MESSAGES, put("content_block.name", 7), stream=True)], "name of the tool_use is 7"),
    ("TL973", [edit(MESSAGES, put("delta.partial_json", 7), stream=True)], "partial_json is 7"),
    ("TL973", [edit(MESSAGES, put("delta.partial_json", "{"), stream=True)], "the joined partial_json of block 0 is n"),
    ("TL973", [edit(MESSAGES, put("usage.output_tokens", "7"), stream=True)], "usage.output_tokens is '7'"),
    ("TL973", [edit(MESSAGES, put("delta.stop_reason", "end_turn"), stream=True)], "stop_reason is 'end_turn'"),
    ("TL973", [edit(MESSAGES, put("delta.type", "text_delta"), stream=True)], "gives a 'text_delta' to a block of the"),
    ("TL973", [edit(MESSAGES, each(lambda event: event.data.update(type=None)))], "event 1 has no type"),
    ("TL973", [edit(MESSAGES, put("delta.partial_json", ""), stream=True)], "call 0 is 'get_weather' with '{}', and"),
    ("TL973", [edit(MESSAGES, cut_after(4), stream=True)], "the connection ends before the stream does"),
    ("TL973", [edit(MESSAGES, status(500), stream=True)], "stream: true is answered with no event stream: HTTP 500"),
    ("TL973", [ignore("stream", MESSAGES)], "with no event stream: HTTP 200 of the type 'application/json"),
    ("TL974", [ignore("stop_sequences", MESSAGES)], "stop_sequences is ignored: the text goes on"),
    ("TL974", [edit(MESSAGES, put("stop_reason", "end_turn"), when=stopping)],
     "a text that ends at a stop sequence has stop_reason 'end_turn'"),
    ("TL974", [edit(MESSAGES, put("stop_sequence", None), when=stopping)], "the stop sequence is STOPWORD, and is tol"),
    ("TL974", [edit(MESSAGES, status(500), when=stopping)], "stop_sequences is answered HTTP 500"),
    ("TL974", [edit(MESSAGES, thoughts_alone, when=stopping)], "the stop sequence STOPWORD ends the thoughts"),
    ("TL974", [ignore("thinking", MESSAGES)], "thinking disabled is ignored: the prompt has the same"),
    ("TL974", [edit(MESSAGES, status(500), when=has("thinking"))], "thinking disabled is answered HTTP 500"),
    ("TL975", [edit(MESSAGES, as_openai)], "7 of 7 faulty bodies are not refused as faulty"),
    ("TL975", [edit(MESSAGES, status(500), when=nobody)],
     "1 of 7 faulty bodies is not refused as faulty: no messages (HTTP 500)"),
    ("TL975", [accept(MESSAGES, when=lambda body: isinstance(body.get("tools"), str))],
     "tools as a text (accepted with HTTP 200)"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "twists", "message"), BROKEN, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_broken_clause_is_told(rule: str, twists: Sequence[Twist], message: str) -> None:
    verdict = tell(rule, *twists)
    assert (verdict.word, message in verdict.message) == ("fail", True), verdict


@pytest.mark.parametrize(
    ("rule", "twist", "member"),
    [
        ("TL971", ignore("tool_choice", MESSAGES, when=named("tool")), "tool_choice"),
        ("TL972", edit(MESSAGES, put("stop_reason", "end_turn"), when=short), "max_tokens"),
        ("TL974", edit(MESSAGES, put("stop_reason", "end_turn"), when=stopping), "stop_sequences"),
        ("TL974", ignore("thinking", MESSAGES), "thinking"),
    ],
)
def test_what_decides_is_the_last_of_the_record(rule: str, twist: Twist, member: str) -> None:
    server = LiveServer(twists=[twist])
    with server, probe.opened(server.url, probe.Options(), Reach()) as endpoint:
        seen = endpoint.for_check()
        assert OURS[rule].judge(seen).word == "fail"
    last = seen.exchanges[-1].asked.body
    assert member in last
    if member == "tool_choice":
        assert last["tool_choice"]["type"] == "tool"
    if member == "max_tokens":
        assert last["max_tokens"] == 8
    assert len({exchange.asked.key for exchange in seen.exchanges}) == len(seen.exchanges), "each is there once"


# ---------------------------------------------------------------------------------------- what says nothing of it


@pytest.mark.parametrize("rule", [*WILLING, "TL974"])
@pytest.mark.parametrize("told", [True, False])
def test_a_model_that_does_not_as_it_is_told_shows_nothing(rule: str, told: bool) -> None:
    verdict = tell(rule, choose=plain, told=told)
    # what the scripted model would have said at length was cut in any case
    assert verdict.word == "inconclusive", verdict


MISREAD = {"error": {"code": 500, "type": "server_error", "message":
    "The model produced output that does not match the expected peg-native format"}}  # fmt: skip
OTHERS: Sequence[tuple[str, str, Sequence[Twist], Mapping[str, Any], str]] = (
    *((rule, "inconclusive", [edit(MESSAGES, status(529))], {}, "turns the request away: HTTP 529") for rule in OURS),
    *((rule, "inconclusive", [edit(MESSAGES, status(400), when=offered)], {}, "is refused: HTTP 400")
      for rule in WILLING),
    ("TL970", "inconclusive", [edit(MESSAGES, put("stop_reason", "max_tokens"))], {}, "are not enough for a plain an"),
    ("TL970", "inconclusive", [edit(MESSAGES, nothing)], {}, "to a plain message is nothing, without a text"),
    ("TL970", "inconclusive", [edit(MESSAGES, put("content.0.input", {}), when=offered)], {"choose": words},
     "the model calls 'get_weather' wrongly: city is missing"),
    ("TL970", "inconclusive", [edit(MESSAGES, put("content.0.name", "fly"), when=offered)], {"choose": words},
     "the model calls 'fly' wrongly: it is not offered"),
    ("TL970", "inconclusive", [Twist(MESSAGES, results, before=forget_results)], {"choose": words}, "again"),
    ("TL970", "inconclusive", [edit(MESSAGES, nothing, when=results)], {}, "to the result of a call is nothing"),
    ("TL970", "warn", [edit(MESSAGES, put("content.0.citations", 7))], {}, "the anthropic SDK's types refuse"),
    ("TL971", "pass", [edit(MESSAGES, status(400), when=named("tool"))], {}, "write_file is refused: HTTP 400"),
    ("TL971", "inconclusive", [edit(MESSAGES, say("It", "max_tokens"), when=named("tool"))], {}, "brings no call with"),
    ("TL971", "inconclusive", [edit(MESSAGES, say("It", "end_turn"), when=named("auto"))], {}, "brings no call at all"),
    ("TL971", "inconclusive", [edit(MESSAGES, status(429), when=named("auto"))], {}, "HTTP 429"),
    ("TL972", "inconclusive", [edit(MESSAGES, say("It rained.", "end_turn"), put("usage.output_tokens", 4),
                                    when=holds("lighthouse"))], {"choose": words}, "ended by itself within 8 tokens"),
    ("TL972", "inconclusive", [edit(MESSAGES, put("stop_reason", "max_tokens"), when=offered)], {}, "for a call"),
    ("TL972", "inconclusive", [edit(MESSAGES, put("content.0.input", {}), when=offered)], {}, "has no arguments where"),
    ("TL972", "inconclusive", [Twist(MESSAGES, offered, before=lambda body: body.update(max_tokens=500))], {},
     "tokens were enough for the whole call"),
    ("TL972", "inconclusive", [edit(MESSAGES, say("No.", "end_turn"), when=cutting)],
     {"choose": words}, "the model calls no function"),
    ("TL972", "inconclusive", [edit(MESSAGES, call_with({"path": "x"}), when=cutting)],
     {}, "the model calls otherwise"),
    ("TL972", "warn", [edit(MESSAGES, call_with({"path": "notes"}), when=cutting)],
     {}, "a part of its arguments, and stop_reason 'max_tokens'"),
    ("TL972", "warn", [edit(MESSAGES, say('<tool_call>{"name": "write_file', "max_tokens"),
                            when=cutting)], {}, "stands as text in the message"),
    ("TL973", "inconclusive", [edit(MESSAGES, put("stop_reason", "max_tokens"), stream=False)], {}, "not enough for"),
    ("TL973", "inconclusive", [edit(MESSAGES, status(429), stream=True)], {}, "HTTP 429"),
    ("TL971", "inconclusive", [edit(MESSAGES, status(429), when=holds("Oslo"))], {}, "HTTP 429"),
    ("TL973", "warn", [edit(MESSAGES, drop("content_block.input"))], {}, "a tool_use starts without an input"),
    ("TL973", "warn", [edit(MESSAGES, rearrange(lambda events: [*events, type(events[0])("[DONE]")]), stream=True)], {},
     "ends with [DONE]"),
    ("TL974", "pass", [], {"template": CHATML}, "a stop sequence ends the text, and is told"),
    ("TL974", "inconclusive", [edit(MESSAGES, say("Two.", "end_turn"), when=stopping)], {"choose": words},
     "which is not the start of what it said before"),
    ("TL974", "warn", [ignore("thinking", MESSAGES)], {"known": False}, "thinking disabled brings thoughts"),
    ("TL974", "pass", [edit(MESSAGES, status(400), when=has("thinking"))], {}, "thinking disabled is refused"),
    ("TL975", "inconclusive", [edit(MESSAGES, status(500))], {}, "so that a refusal shows nothing"),
    *((rule, "inconclusive", [instead(MESSAGES, lambda _: Answer(MISREAD, status=500), when=offered)], {}, "not unders")
      for rule in WILLING),
    ("TL975", "pass", [edit(MESSAGES, status(400), when=offered)], {}, "all 6 faulty bodies are refused"),
    ("TL975", "fail", [edit(MESSAGES, status(400), when=short), accept(MESSAGES)], {}, "of 7 faulty bodies are not re"),
    ("TL972", "inconclusive", [edit(MESSAGES, status(400), when=short)], {}, "with max_tokens 8 is refused: HTTP 400"),
    ("TL974", "inconclusive", [edit(MESSAGES, status(400), when=stopping)], {}, "stop_sequences is refused: HTTP 400"),
    ("TL974", "inconclusive", [edit(MESSAGES, say("", "max_tokens"), when=stopping)], {}, "has stop_reason 'max_t"),
    ("TL971", "inconclusive", [edit(MESSAGES, status(400), when=holds("Oslo"))], {}, "two calls is refused: HTTP 400"),
    # an answer that ends for reasons of its own
    *((rule, "inconclusive", [edit(MESSAGES, put("stop_reason", reason))], {"choose": words}, f"stop_reason '{reason}'")
      for rule in ("TL970", "TL972", "TL974") for reason in ("refusal", "pause_turn", "model_context_window_exceeded")),
    ("TL971", "inconclusive", [edit(MESSAGES, say("No.", "refusal"), when=named("tool"))], {}, "stop_reason 'refusal'"),
    ("TL973", "inconclusive", [edit(MESSAGES, put("delta.stop_reason", "refusal"), stream=True)], {}, "ends with sto"),
    # what the model would do in any case, or says without having seen what it is told
    ("TL971", "inconclusive", [ignore("tool_choice", MESSAGES, when=named("tool"))], {"choose": writer},
     "and so does the same prompt without it"),
    ("TL970", "inconclusive", [Twist(MESSAGES, results, before=unrelated)], {"choose": words}, "and the prompt has"),
    ("TL970", "fail", [Twist(MESSAGES, results, before=unrelated)], {}, "and not what is said behind a result"),
    ("TL970", "inconclusive", [edit(MESSAGES, put("content.0.input", {"city": ""}), when=offered)], {},
     "which the server's grammar may have it write"),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "verdict", "twists", "given", "message"), OTHERS)
def test_what_is_not_broken_is_not_told_to_be(
    rule: str, verdict: str, twists: Sequence[Twist], given: Mapping[str, Any], message: str
) -> None:
    found = tell(rule, *twists, **given)
    assert (found.word, message in found.message) == (verdict, True), found


@pytest.mark.parametrize(
    ("text", "written", "verdict"),
    [
        ("It was a night of", 8, "fail"),
        ("It was a night of \ufffd", 8, "fail"),  # within a character
        ("It rained.", 8, "inconclusive"),
        ("Sorry, no stories today :-)", 8, "inconclusive"),
        ("对不起,我不会讲", 8, "inconclusive"),
        ("It was a night of", 5, "inconclusive"),
    ],
)
def test_a_text_is_only_told_to_be_cut_where_it_was(text: str, written: int, verdict: str) -> None:
    changes = (say(text, "end_turn"), put("usage.output_tokens", written))
    whole = say("It was a night of storms." if text.startswith("It was") else text, "end_turn")
    found = tell(
        "TL972",
        edit(MESSAGES, *changes, when=lambda body: long(body) and short(body)),
        edit(MESSAGES, whole, when=lambda body: long(body) and not short(body)),
        choose=words,
    )
    assert (found.word, "a text cut after 8 tokens" in found.message) == (verdict, verdict == "fail"), found


def test_thoughts_of_another_model_are_stopped_by_what_stands_in_them() -> None:
    scripts = {"think": (*thought("17 times 23 is 340 and 51."), *said("It is 391."))}
    with LiveServer(scripts=scripts, choose=words) as server, Web(server.url, name=server.url, stay=True) as web:
        served = Served("llama.cpp", "b1", model_of(THINKING), ("scripted",))
        for twists, word in (((), "pass"), ((edit(MESSAGES, no_more, when=stopping),), "fail")):
            server.twists = twists
            send = Client(web, address(server.url), 10.0).ask
            found = OURS["TL974"].judge(Endpoint(server.url, "scripted", send, served=served))
            assert found.word == word, found
    assert "the stop sequence 23 ends the thoughts" in found.message


def no_more(answer: Answer) -> None:
    """Stop in the thoughts, at another word."""
    block = answer.json["content"][0]
    if block["type"] == "thinking":
        block["thinking"] = block["thinking"].partition("23")[0]
        answer.json["content"] = [block]


def test_without_the_sdk_our_own_list_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "installed", lambda _: False)
    assert (tell("TL970").word, tell("TL973").word) == ("pass", "pass")
    assert tell("TL970", edit(MESSAGES, put("content.0.citations", 7))).word == "pass"


def test_what_the_sdk_reads_otherwise_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "message_stream", lambda _: sdk.Reading({"content": []}))
    assert "hands over the arguments '[]'" in tell("TL973").message
    monkeypatch.setattr(sdk, "message_stream", lambda _: sdk.Reading({}, "TypeError: x"))
    assert "the anthropic SDK raises TypeError: x" in tell("TL973").message
    monkeypatch.setattr(sdk, "message_stream", lambda _: sdk.Reading({}, unread="too long"))
    assert tell("TL973").word == "pass"
    monkeypatch.setattr(sdk, "message", lambda _, **__: sdk.Reading({}, "TypeError: x"))
    assert "the anthropic SDK raises TypeError: x on a plain message" in tell("TL970").message


def test_an_engine_that_does_not_work_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise TemplatelintError("no engine")

    monkeypatch.setattr(messages, "switched_off", broken)
    found = tell("TL974", ignore("thinking", MESSAGES))
    assert (found.word, "cannot be rendered here: no engine" in found.message) == ("inconclusive", True), found


def test_a_template_with_a_switch_for_thoughts() -> None:
    assert switched_off(model_of(THINKING), "llama.cpp", "Hi") is True
    assert switched_off(model_of(CHATML), "", "Hi") is False
    # as many tokens for all we know
    words = "{{ 'think' if enable_thinking else 'do not' }}: {{ messages[0].content }}"
    assert switched_off(model_of(words), "llama.cpp", "Hi") is False
    assert switched_off(None, "", "Hi") is False


# ------------------------------------------------------------------------------------------------------- readings


def test_a_reply_is_read_from_what_has_its_form() -> None:
    body = {
        "content": [
            7,
            {"type": "text", "text": "He"},
            {"type": "text", "text": 8},
            {"type": "text", "text": "llo"},
            {},
        ],
        "stop_reason": ["x"],
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "cache_creation_input_tokens": True},
    }
    reply = MessageReply(Exchange(Asked("POST", "/"), 200, {}, json.dumps(body).encode()))
    assert (reply.text, reply.thoughts, reply.calls, reply.stop) == ("Hello", "", [], "")
    assert (reply.read, reply.written, len(reply.blocks)) == (7, None, 4)
    assert [*reply.faults()][-3:] == [
        "content[0]: it is 7", "content[2]: text is 8", "content[4]: type is missing",
    ]  # fmt: skip


def test_a_stream_is_read_from_what_has_its_form() -> None:
    def streamed(*values: Any) -> message_stream.Streamed:
        data = [json.dumps(value) for value in values]
        events = tuple(Event(value.get("type", ""), text) for value, text in zip(values, data, strict=True))
        return message_stream.read(Exchange(Asked("POST", "/"), 200, {}, b"", events))

    start = {"type": "message_start", "message": {"id": "m", "role": "assistant"}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
    later = {"type": "content_block_delta", "index": 0, "delta": {"type": "sense_delta", "sense": 1}}
    stop = {"type": "content_block_stop", "index": 0}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
    last = {"type": "message_stop"}
    found = streamed(start, {"type": "ping"}, {"type": "mood"}, block, delta, later, stop, end, last)
    assert (found.faults, found.odd, found.stop, found.blocks[0].joined) == ([], [], "end_turn", "Hi")
    failed = streamed(start, {"type": "error", "error": {"message": "overloaded"}})
    assert failed.faults == ["event 2 is an error: 'overloaded'"]
    assert streamed(*[delta] * 100).faults[0] == "event 1, content_block_delta, comes before message_start"
    assert len(streamed(*[delta] * 100).faults) == 20


# ------------------------------------------------------------------------------------------ llama-server as it is

B11549 = {
    "TL970": ("pass", "a text, a call and the answer to its result are complete"),
    "TL971": ("fail", "tool_choice of the tool write_file brings a call of 'get_weather'"),
    "TL972": ("fail", "is handed over with the input {}, as if it had no arguments"),
    "TL973": ("fail", "in a stream of two calls event 9 starts content block 1 before block 0 has stopped"),
    "TL974": ("fail", "a text that ends at a stop sequence has stop_reason 'end_turn'"),
    "TL975": ("fail", "7 of 7 faulty bodies are not refused as faulty"),
}


def test_llama_server_gets_what_it_deserves() -> None:
    pytest.importorskip("xllamacpp")
    with serving(THINKING) as url:
        found = deserved(url, OURS, B11549)
    assert found["TL971"].evidence == (
        "tool_choice none brings a call of 'get_weather'",
        "disable_parallel_tool_use brings 2 calls",
    )
    assert "the stop sequence STOPWORD ends the thoughts, and there is no answer" in found["TL974"].evidence
    assert any(line.startswith("thinking disabled is ignored") for line in found["TL974"].evidence)
    said = " ".join(found["TL975"].evidence)
    assert "messages as a text: HTTP 200" in said
    assert "no messages: HTTP 500" in said

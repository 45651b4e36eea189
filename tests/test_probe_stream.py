"""The clauses on streamed chat completions: kept by right servers, llama.cpp among them, and broken by spoilt ones."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from live_answers import DONE
from live_answers import Event as Sent
from live_model import SCRIPTS, by_words, said, thought
from live_server import (
    CHAT,
    CHATML,
    LEAKED,
    RESPONSES,
    SLOTS,
    Answer,
    Change,
    LiveServer,
    Twist,
    When,
    cut_after,
    drop,
    drop_events,
    each,
    edit,
    every,
    hang_after,
    has,
    holds,
    ignore,
    keep_running,
    put,
    rearrange,
    swap,
    without_done,
)
from scripted_server import serving

from templatelint.probe import Options, opened
from templatelint.probe.catalogue import CHECKS
from templatelint.probe.chat import stream as chat_stream
from templatelint.probe.clauses import cancelling
from templatelint.probe.endpoint import Endpoint, Scripted
from templatelint.probe.running import run
from templatelint.probe.server import slots
from templatelint.probe.wire.exchange import Asked, Event, Exchange
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from templatelint.probe.verdict import Result, Verdict

MINE = [f"TL{number}" for number in range(925, 936)]
SLOW = ("TL933", "TL934")
CONTEXT = 1500  # tokens: the tests' own server thinks out all that fit before it says the first one
_BY_ID = {check.id: check for check in CHECKS}


def probed(url: str, *ids: str) -> dict[str, Result]:
    with opened(url, Options(seconds=30.0), Reach()) as endpoint:
        return {result.id: result for result in run([_BY_ID[each_id] for each_id in ids], endpoint)}


def verdict(check: str, *twists: Twist, **options: Any) -> Verdict:
    with LiveServer(twists=twists, context=CONTEXT, **options) as server:
        return probed(server.url, check)[check].verdict


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own server notices at once that a client has left."""
    monkeypatch.setattr(slots, "APART", 0.05)
    monkeypatch.setattr(cancelling, "_STREAM_LOOKS", (0.1, 0.6))
    monkeypatch.setattr(cancelling, "_PLAIN_LOOKS", (0.1, 1.0))
    monkeypatch.setattr(cancelling, "_PLAIN_LEFT", 0.05)
    monkeypatch.setattr(cancelling, "_SAMPLE", 8)


# ------------------------------------------------------------------------------------------------ what is right


@pytest.mark.usefixtures("hasty")
def test_a_right_server_keeps_all_of_them() -> None:
    with LiveServer(context=CONTEXT) as server:
        found = probed(server.url, *MINE)
    assert {check: (result.verdict.word, result.verdict.message) for check, result in found.items()} == {
        check: ("pass", found[check].verdict.message) for check in MINE
    }


def test_a_willing_model_that_is_not_scripted_shows_what_it_can() -> None:
    with LiveServer(context=CONTEXT, choose=by_words) as server:
        found = probed(server.url, *MINE)
    skipped = {"TL930", "TL932", *SLOW}
    assert {check: result.verdict.word for check, result in found.items()} == {
        check: "skip" if check in skipped else "pass" for check in MINE
    }


@pytest.fixture(scope="module")
def llama_cpp() -> Iterator[dict[str, Result]]:
    with serving(CHATML) as url:
        yield probed(url, *MINE)


@pytest.mark.parametrize("check", MINE)
def test_llama_cpp_keeps_all_of_them(llama_cpp: dict[str, Result], check: str) -> None:
    assert llama_cpp[check].verdict.word == "pass", llama_cpp[check].verdict


def test_a_request_that_was_left_is_known_among_the_slots(llama_cpp: dict[str, Result]) -> None:
    assert "tokens in ours" in llama_cpp["TL933"].verdict.evidence[0]


# ------------------------------------------------------------------------------------------------ what is wrong


def on_stream(*changes: Change, when: When = lambda _: True) -> tuple[Twist, ...]:
    return (edit(CHAT, *changes, when=when, stream=True),)


def _calls(event: Sent) -> list[Any]:
    if not isinstance(event.data, dict):
        return []
    return [call for choice in event.data["choices"] for call in choice["delta"].get("tool_calls") or []]


def _arguments(event: Sent) -> str:
    return "".join(call["function"].get("arguments", "") for call in _calls(event))


def on_calls(change: Callable[[dict[str, Any]], object]) -> Change:
    """Change what deltas say of calls."""
    return each(lambda event: [change(call) for call in _calls(event)])


def on_function(**members: Any) -> Change:
    return on_calls(lambda call: call["function"].update(members))


def on_text(change: Callable[[str], str]) -> Change:
    """Change the text of each delta."""

    def changed(event: Sent) -> None:
        for choice in event.data["choices"] if isinstance(event.data, dict) else []:
            if choice["delta"].get("content"):
                choice["delta"]["content"] = change(choice["delta"]["content"])

    return each(changed)


def on_data(change: Callable[[dict[str, Any]], object]) -> Change:
    return each(lambda event: change(event.data) if isinstance(event.data, dict) else None)


def without(text: str) -> Change:
    """Leave out the deltas whose arguments start so."""
    return drop_events(lambda event: _arguments(event).startswith(text))


def exchanged(answer: Answer) -> None:
    """Arguments of one call in the deltas of the other."""
    events = [event for event in answer.events or [] if _arguments(event)]
    one, other = ([event for event in events if _calls(event)[0]["index"] == index] for index in (0, 1))
    for index, sent in ((1, one), (0, other)):
        for event in sent:
            _calls(event)[0]["index"] = index
    opening = [event for event in answer.events or [] if _calls(event) and event not in events]
    rest = [event for event in answer.events or [] if not _calls(event)]
    answer.events = [rest[0], *opening, *other, *one, *rest[1:]]


no_calls: Change = drop_events(lambda event: bool(_calls(event)))


def between(*events: Sent, at: int = 2) -> Change:
    return rearrange(lambda others: [*others[:at], *events, *others[at:]])


def cut_into(*lengths: int) -> Change:
    """Cut all arguments into pieces of these lengths, the rest being the last."""

    def change(answer: Answer) -> None:
        events = answer.events or []
        whole = "".join(map(_arguments, events))
        kept = [event for event in events if not _arguments(event)]
        place = next((number for number, event in enumerate(kept) if _calls(event)), 0) + 1
        pieces = []
        for length in lengths:
            pieces.append(whole[:length])
            whole = whole[length:]
        for piece in reversed([*pieces, whole]):
            data = copy.deepcopy(kept[place - 1].data)
            data["choices"][0]["delta"] = {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
            kept.insert(place, Sent(data))
        answer.events = kept

    return change


def other_end(answer: Answer) -> None:
    events = answer.events or []
    first = copy.deepcopy(events[-2].data)
    first["choices"][0]["finish_reason"] = "length"
    events.insert(-2, Sent(first))


def again_at_the_end(answer: Answer) -> None:
    events = answer.events or []
    events.insert(-1, events[-2])


def one_more_usage(answer: Answer) -> None:
    events = answer.events or []
    events.insert(-1, Sent({**events[0].data, "choices": [], "usage": USAGE}))


def chunk(delta: Any, finish: Any = None) -> dict[str, Any]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def left_over(answer: Answer) -> None:
    """The mark that opened the call comes as text."""
    (answer.events or []).insert(1, Sent(chunk({"content": "<tool_call>\n"})))


ERROR = {"error": {"message": "no output", "type": "server_error"}}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 3}
HEAD = len('{"path": "notes.txt", "content": ')
TOLD = has("stream_options")
LARGE: When = lambda body: len(str(body)) > 9000  # noqa: E731 (one of many)
REPLACED = on_text(lambda text: text.encode("ascii", "replace").decode().replace("?", "\ufffd"))

# check, what is twisted, a part of what is said about it
BROKEN: list[tuple[str, tuple[Twist, ...], str]] = [
    ("TL925", on_stream(without_done), "does not end with [DONE]"),
    ("TL925", on_stream(rearrange(lambda events: [*events, Sent(DONE)])), "[DONE] is sent 2 times"),
    ("TL925", on_stream(rearrange(lambda events: [*events[:-2], *events[:-3:-1]])), "not the last"),
    ("TL925", on_stream(between(Sent("{broken"))), "is no JSON: '{broken'"),
    ("TL925", on_stream(between(Sent("[1]"))), "is no JSON object"),
    ("TL925", on_stream(between(Sent('{"a": NaN}'))), "is no JSON"),
    ("TL925", on_stream(between(Sent(ERROR))), "is an error: 'no output'"),
    ("TL925", on_stream(cut_after(3)), "the connection ends after 3 chunks"),
    ("TL925", on_stream(drop("choices.0.index")), "index of the choice"),
    ("TL925", on_stream(drop("choices.0.delta.role")), "the first delta has the role"),
    ("TL925", on_stream(put("object", "chat.completion")), "object of chunk 1"),
    ("TL925", on_stream(drop("id")), "id of chunk 1"),
    ("TL925", on_stream(drop("created")), "created of chunk 1"),
    ("TL925", on_stream(drop("choices")), "has no choices"),
    ("TL925", on_stream(put("choices.*.delta", "Hello")), "delta of chunk 1"),
    ("TL925", on_stream(put("choices.0.delta.content", ["Hello"])), "content of chunk 1 is no text"),
    ("TL925", on_stream(put("choices.0.finish_reason", "eos")), "finish_reason is 'eos'"),
    ("TL925", on_stream(drop("choices.0.finish_reason")), "no chunk has a finish_reason"),
    ("TL925", on_stream(on_data(lambda data: data["choices"][0].update(finish_reason="stop"))), "goes on in chunk 2"),
    ("TL925", on_stream(other_end), "finish_reason is 'length' at first and 'stop'"),
    ("TL925", on_stream(on_data(lambda data: data.update(id=f"chatcmpl-{id(data)}"))), "id is 'chatcmpl-"),
    ("TL925", (ignore("stream", CHAT),), "the answer's content-type is 'application/json"),
    ("TL926", on_stream(on_text(str.strip)), "as a stream"),
    ("TL926", on_stream(rearrange(lambda events: [*events[:2], *events[1:]])), "as a stream"),
    ("TL926", on_stream(put("choices.0.finish_reason", "length")), "finish_reason is 'stop' at once, and 'length'"),
    ("TL927", (ignore("stream_options", CHAT),), "no chunk has usage"),
    ("TL927", on_stream(put("usage", USAGE), when=TOLD), "does not add up"),
    ("TL927", on_stream(put("usage.total_tokens", "many"), when=TOLD), "usage.total_tokens is 'many'"),
    ("TL927", on_stream(one_more_usage, when=lambda body: "stream_options" not in body), "nobody asked"),
    ("TL928", on_stream(left_over), "a mark of the syntax of hermes"),
    ("TL928", on_stream(on_calls(lambda call: call.pop("index"))), "has the index null"),
    ("TL928", on_stream(on_calls(lambda call: call.update(index="0"))), "has the index '0'"),
    ("TL928", on_stream(on_calls(lambda call: call.update(index=1))), "not those from 0 on"),
    ("TL928", on_stream(on_calls(lambda call: call.pop("id", None))), "the first delta of call 0 has no id"),
    ("TL928", on_stream(on_calls(lambda call: call.pop("type", None))), "the first delta of call 0 has no type"),
    ("TL928", on_stream(on_calls(lambda call: call.update(id="call_1"))), "the id 'call_1' again"),
    ("TL928", on_stream(on_calls(lambda call: call.update(id=f"c{id(call)}"))), "after 'c"),
    ("TL928", on_stream(on_function(name="get_weather")), "is given a name again"),
    ("TL928", on_stream(on_function(arguments={})), "arguments of call 0 are an object"),
    ("TL928", on_stream(put("choices.0.finish_reason", "stop")), "'stop', not with"),
    ("TL928", on_stream(no_calls), "no delta has a call"),
    ("TL928", on_stream(without('"}')), "the arguments of get_weather are no JSON object"),
    ("TL928", on_stream(no_calls, put("choices.0.finish_reason", "stop")), "does not come as a stream"),
    ("TL929", on_stream(cut_into(), when=holds("@@write")), "all at once: "),
    ("TL929", on_stream(cut_into(9, 13, 2, 9, 90), when=holds("@@write")), "per value: "),
    ("TL930", on_stream(on_calls(lambda call: call.update(index=0))), "another call begins"),
    ("TL930", on_stream(on_calls(lambda call: "id" in call and call.update(id="call_1"))), "2 calls have the id"),
    ("TL930", on_stream(drop_events(lambda event: any(call["index"] for call in _calls(event)))), "and 1 as a stream"),
    ("TL930", on_stream(exchanged), "join to others"),
    ("TL931", on_stream(put("choices.0.finish_reason", "stop")), "a text cut after 8 tokens ends with"),
    ("TL931", on_stream(put("choices.0.finish_reason", "tool_calls"), when=has("tools")), "a call cut after 36 tokens"),
    ("TL931", on_stream(drop("choices.0.finish_reason")), "without a finish_reason"),
    ("TL931", (ignore("max_tokens", CHAT, when=holds("@@long")),), "max_tokens 8 is not heeded"),
    ("TL932", on_stream(REPLACED), "U+FFFD"),
    ("TL932", on_stream(on_text(lambda text: text.encode("ascii", "ignore").decode())), "lost or changed"),
    ("TL935", (edit(CHAT, lambda _: Answer(events=[Sent(ERROR)]), when=LARGE),), "and then chunk 1 of the stream"),
    ("TL935", (edit(CHAT, lambda _: Answer(events=[]), when=LARGE),), "a stream that does not end"),
    ("TL935", (edit(CHAT, lambda _: Answer(ERROR, status=500), when=LARGE),), "is not refused: HTTP 500: no output"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "twists", "said"), BROKEN, ids=[f"{check}-{said}" for check, _, said in BROKEN])
def test_a_twist_breaks_the_clause(check: str, twists: tuple[Twist, ...], said: str) -> None:
    found = verdict(check, *twists)
    assert (found.word, said in found.message) == ("fail", True), found


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("check", "twist", "said"),
    [
        ("TL933", edit(CHAT, keep_running(), when=holds("@@endless")), "/v1/chat/completions, streamed, still runs"),
        ("TL933", edit(RESPONSES, keep_running()), "/v1/responses, streamed, still runs"),
        ("TL934", edit(CHAT, keep_running(), when=holds("@@endless")), "/v1/chat/completions still runs"),
    ],
)
def test_a_server_that_goes_on_is_told(check: str, twist: Twist, said: str) -> None:
    found = verdict(check, twist)
    assert (found.word, said in found.message, len(found.evidence) >= 2) == ("fail", True, True), found


# --------------------------------------------------------------------------------------------- what is between


def on_choice(change: Callable[[dict[str, Any]], object]) -> Change:
    return on_data(lambda data: [change(choice) for choice in data["choices"]])


def without_null_finish(choice: dict[str, Any]) -> None:
    if choice["finish_reason"] is None:
        del choice["finish_reason"]


def usage_with_choice(answer: Answer) -> None:
    *events, told, done = answer.events or []
    events[-1].data["usage"] = told.data["usage"]
    answer.events = [*events, done]


def around(before: str, behind: str) -> Change:
    """More text around the content of plain replies."""

    def change(answer: Answer) -> None:
        message = answer.json["choices"][0]["message"]
        message["content"] = f"{before}{message['content']}{behind}"

    return change


DONE_AT_ONCE = chunk({"role": "assistant"}, "stop")
ODD: list[tuple[str, tuple[Twist, ...], str]] = [
    ("TL926", (edit(CHAT, around("\n", "\n"), stream=False),), "the same but for the white space around it"),
    ("TL925", on_stream(on_choice(lambda choice: choice["delta"].update(role="assistant"))), "the role stands"),
    ("TL925", on_stream(on_choice(without_null_finish)), "no finish_reason"),
    ("TL925", on_stream(again_at_the_end), "without anything in it follows"),
    ("TL925", on_stream(each(lambda event: setattr(event, "name", "message"))), "events are named"),
    ("TL927", on_stream(usage_with_choice, when=TOLD), "usage stands in a chunk with a choice"),
    ("TL927", (edit(CHAT, lambda _: Answer(ERROR, status=400), when=TOLD),), "stream_options is refused: HTTP 400"),
    ("TL928", on_stream(on_calls(lambda call: call.update(type="function"))), "the type of call 0 is given"),
    ("TL929", on_stream(cut_into(20, 40, 30), when=holds("@@write")), "coarse: "),
    ("TL935", (edit(CHAT, lambda _: Answer(events=[Sent(DONE_AT_ONCE), Sent(DONE)]), when=LARGE),), "is answered"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "twists", "said"), ODD, ids=[f"{check}-{said}" for check, _, said in ODD])
def test_what_clients_put_up_with_is_a_warning(check: str, twists: tuple[Twist, ...], said: str) -> None:
    found = verdict(check, *twists)
    assert (found.word, said in found.message) == ("warn", True), found


# ------------------------------------------------------------------------------------- a model that does something else


def always(script: str) -> dict[str, Any]:
    """A server whose model is told things in vain."""
    return {"choose": lambda messages, _: "about" if "@@about" in str(messages) else script}


UNWILLING = [
    ("TL928", always("plain"), "and calls nothing"),
    ("TL929", always("plain"), "no call with arguments came"),
    ("TL929", always("tool"), "characters, too few"),
    ("TL930", always("tool"), "1 call of two came"),
    ("TL932", always("plain"), "not its text with accents"),
    ("TL933", always("plain"), "was over by itself"),
    ("TL934", always("plain"), "the answer that never ends is over"),
]


@pytest.mark.parametrize(("check", "options", "said"), UNWILLING)
def test_a_model_that_does_something_else_shows_nothing(check: str, options: dict[str, Any], said: str) -> None:
    found = verdict(check, **options)
    assert (found.word, said in found.message) == ("inconclusive", True), found


def test_a_short_answer_of_another_model_is_not_taken_for_a_cut_one() -> None:
    short = {"about": said("I am a model."), "long": said("Once."), "write": said("No.")}
    found = verdict("TL931", scripts=short)
    assert (found.word, found.message) == ("inconclusive", "the text was done before 8 tokens were")


# a call behind thoughts that are longer than what is allowed of a text
THOUGHTFUL = {"write": (*thought("What may the sentence be, I wonder? " * 4), *SCRIPTS["write"])}


def test_a_limit_that_thoughts_use_up_says_nothing_of_a_call() -> None:
    assert verdict("TL931", scripts=THOUGHTFUL, choose=by_words).word == "pass"
    marked = on_stream(put("choices.0.finish_reason", "tool_calls"), when=has("tools"))
    found = verdict("TL931", *marked, scripts=THOUGHTFUL, choose=by_words)
    assert (found.word, "a call cut after" in found.message) == ("fail", True), found
    thinking = on_stream(drop_events(lambda event: bool(_calls(event))), on_text(lambda _: ""), when=has("tools"))
    short = (*thinking, *on_stream(without_thoughts, when=has("tools")))
    found = verdict("TL931", *short, scripts=THOUGHTFUL, choose=by_words)
    assert (found.word, "no call had begun" in found.message) == ("inconclusive", True), found


def without_thoughts(answer: Answer) -> None:
    answer.events = [event for event in answer.events or [] if "reasoning" not in json.dumps(event.data)]


def test_a_call_that_comes_whole_at_its_end_only_is_no_fault_where_its_stream_is_cut() -> None:
    buffered = on_stream(drop_events(lambda event: bool(_calls(event))), when=every(has("tools"), has("max_tokens")))
    assert verdict("TL931", *buffered).word == "pass"


def stopped(answer: Answer) -> None:
    """The last chunk says that a filter was at work."""
    for event in answer.events or []:
        for choice in event.data["choices"] if isinstance(event.data, dict) else []:
            if choice["finish_reason"]:
                choice["finish_reason"] = "content_filter"


def declined(answer: Answer) -> None:
    """All that is said is said as a refusal."""
    for event in answer.events or []:
        for choice in event.data["choices"] if isinstance(event.data, dict) else []:
            if "content" in choice["delta"]:
                choice["delta"]["refusal"] = choice["delta"].pop("content")


MISREAD = {"error": {"message": "The model produced output that does not match the expected peg-native format"}}


@pytest.mark.parametrize("check", ["TL925", "TL926", "TL927", "TL928", "TL931"])
def test_what_a_parser_does_not_read_says_nothing_of_streams(check: str) -> None:
    broken = on_stream(rearrange(lambda events: [*events[:2], Sent(MISREAD)]))
    found = verdict(check, *broken, choose=by_words)
    assert (found.word, "does not match" in found.message) == ("inconclusive", True), found


@pytest.mark.parametrize("check", ["TL926", "TL928", "TL931"])
def test_what_a_filter_or_a_refusal_ends_shows_nothing(check: str) -> None:
    found = verdict(check, *on_stream(stopped))
    assert (found.word, "a filter ends the answer" in found.message) == ("inconclusive", True), found


def test_a_refusal_is_no_lost_text() -> None:
    found = verdict("TL926", *on_stream(declined))
    assert (found.word, "the model refuses to answer" in found.message) == ("inconclusive", True), found


def test_answers_that_vary_are_not_held_against_the_server() -> None:
    texts = iter(f"Hello number {number}." for number in range(100))

    def vary(answer: Answer) -> None:
        if not answer.streamed:
            answer.json["choices"][0]["message"]["content"] = next(texts)

    found = verdict("TL926", edit(CHAT, vary))
    assert (found.word, found.message) == ("inconclusive", "the model's answers to the same question vary")


def test_other_words_of_a_model_that_is_not_scripted_are_not_held_against_the_server() -> None:
    others = (edit(CHAT, swap("Hello", "Good day"), stream=False),)
    unscripted = {"about": said("I am a model."), "plain": said("Hello there.")}
    assert verdict("TL926", *others, scripts=unscripted).word == "inconclusive"
    assert verdict("TL926", *others, scripts={"plain": said("Hello there.")}).word == "fail"


def test_a_call_left_in_the_text_names_its_syntax_and_why() -> None:
    found = verdict("TL928", scripts=LEAKED)
    assert (found.word, "hermes" in found.message) == ("fail", True), found


# ------------------------------------------------------------------------------------------------ state of a server


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("check", SLOW)
@pytest.mark.parametrize(("count", "word"), [(1, "pass"), (4, "skip")])
def test_without_a_state_only_a_single_slot_shows_something(check: str, count: int, word: str) -> None:
    assert verdict(check, routes_missing={SLOTS}, slots=count).word == word


@pytest.mark.usefixtures("hasty")
def test_a_next_request_that_gets_no_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancelling, "_SOON", 0.3)
    seen: list[str] = []

    def after_endless(body: dict[str, Any]) -> bool:
        if "@@endless" in str(body):
            seen.append("endless")
        return bool(seen) and "@@plain" in str(body)

    found = verdict("TL934", edit(CHAT, hang_after(), when=after_endless))
    assert (found.word, found.message) == (
        "fail",
        "/v1/chat/completions was left, and the next request gets no answer within 0.3 s",
    )


@pytest.mark.usefixtures("hasty")
def test_a_next_request_that_is_turned_away_shows_nothing() -> None:
    seen: list[str] = []

    def after_endless(body: dict[str, Any]) -> bool:
        if "@@endless" in str(body):
            seen.append("endless")
        return bool(seen) and "@@plain" in str(body)

    found = verdict("TL934", edit(CHAT, lambda _: Answer(ERROR, status=429), when=after_endless))
    assert (found.word, "turns the request away" in found.message) == ("inconclusive", True), found


@pytest.mark.usefixtures("hasty")
def test_a_server_that_others_use_meanwhile_is_not_judged() -> None:
    def more(answer: Answer) -> None:
        answer.json = [*answer.json, {"id": 9, "n_ctx": 100, "is_processing": True}]

    running = edit(CHAT, keep_running(), when=holds("@@endless"))
    found = verdict("TL934", running, edit(SLOTS, more))
    assert (found.word, "and other requests do" in found.message) == ("inconclusive", True), found


SLOT = {"id": 0, "n_ctx": 100, "is_processing": False}
OURS = {**SLOT, "params": {"max_tokens": 7}, "id_task": 5, "n_prompt_tokens": 40}


@pytest.mark.parametrize(
    ("given", "runs", "ended"),
    [
        ([SLOT], False, None),
        ([{**SLOT, "is_processing": True}], True, None),
        ([OURS, {**SLOT, "is_processing": True, "params": {"max_tokens": 8}}], False, False),
        ([{**OURS, "n_prompt_tokens": 99}], False, True),
        ([{**OURS, "id_task": 4, "n_prompt_tokens": 99}, OURS], False, False),
        ([{**OURS, "is_processing": True}], True, False),
        ([{**OURS, "n_ctx": "many", "n_prompt_tokens": None}], False, None),
        ("llamacpp:requests_processing 0\n", False, None),
        ('# TYPE x gauge\nvllm:num_requests_running{model_name="m"} 1.0\n', True, None),
    ],
)
def test_slots_and_gauges_tell_what_runs(given: Any, runs: bool, ended: bool | None) -> None:
    state = slots.Watch(endpoint_that_answers(given)).look(7, 0.0)
    assert state is not None
    assert (state.runs, state.ended) == (runs, ended)


@pytest.mark.parametrize("given", [[], [7], {}, None, [{"is_processing": "no"}], "processing 1"])
def test_what_tells_no_state_is_none(given: Any) -> None:
    assert slots.Watch(endpoint_that_answers(given)).look(7, 0.0) is None


def endpoint_that_answers(given: Any) -> Endpoint:
    body = given if isinstance(given, str) else json.dumps(given)
    return Endpoint("http://127.0.0.1", "m", lambda asked: Exchange(asked, 200, {}, body.encode()))


# ------------------------------------------------------------------------------------------------ anything at all


VALUES: tuple[Any, ...] = (None, True, 0, -1.5, "", "text", "\ud800", "\x1b[2J", [], [[]], {}, {"index": []}, 10**400)


@pytest.mark.parametrize("check", [each_id for each_id in MINE if each_id not in SLOW])
def test_no_value_in_any_place_makes_a_check_raise(check: str) -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    places: tuple[Callable[[Any], Any], ...] = (
        lambda value: value,
        lambda value: {"choices": value},
        lambda value: {"choices": [value], "usage": value},
        lambda value: chunk(value, value),
        lambda value: chunk({"role": value, "content": value, "tool_calls": value}, value),
        lambda value: chunk({"tool_calls": [value, {**call, "index": value}]}, "tool_calls"),
        lambda value: chunk({"tool_calls": [{**call, "function": value, "id": value, "type": value}]}, "tool_calls"),
        lambda value: chunk({"tool_calls": [{**call, "function": {"name": value, "arguments": value}}]}, "tool_calls"),
        lambda value: {"default_generation_settings": {"n_ctx": value}, "error": value, "data": [value]},
    )
    for place in places:
        for value in VALUES:
            given = place(value)
            texts = (json.dumps(chunk({"role": "assistant"})), json.dumps(given), DONE)
            send = always_answering(json.dumps(given), tuple(Event("", text) for text in texts))
            endpoint = Endpoint("http://127.0.0.1", "m", send, scripted=Scripted(1, "hermes"))
            assert _BY_ID[check].judge(endpoint).word in ("pass", "fail", "warn", "inconclusive", "skip")


def always_answering(text: str, events: tuple[Event, ...]) -> Callable[[Asked], Exchange]:
    def send(asked: Asked) -> Exchange:
        if isinstance(asked.body, dict) and asked.body.get("stream"):
            return Exchange(asked, 200, {"content-type": "text/event-stream"}, b"", events)
        return Exchange(asked, 200, {"content-type": "application/json"}, text.encode())

    return send


def test_deltas_are_joined_by_their_index() -> None:
    calls = [
        {"index": 1, "id": "b", "type": "function", "function": {"name": "two", "arguments": "[2"}},
        {"index": 0, "id": "a", "type": "function", "function": {"name": "one", "arguments": "[1"}},
        {"index": 1, "function": {"arguments": "]"}},
        {"index": 0, "function": {"arguments": "]"}},
        {"index": True, "function": {"arguments": "!"}},
    ]
    events = [Event("", json.dumps(chunk({"tool_calls": [call]})), at) for at, call in enumerate(calls)]
    reply = chat_stream.read(Exchange(Asked("POST", "/"), 200, events=tuple(events)))
    assert [(call.index, call.id, call.name, call.arguments) for call in reply.calls] == [
        (1, "b", "two", "[2]"),
        (0, "a", "one", "[1]"),
    ]
    assert [delta.chunk for delta in reply.stray] == [5]

from __future__ import annotations

import copy
import json
from contextlib import ExitStack
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from live_answers import Event as LiveEvent
from live_model import by_selector, by_words
from live_server import (
    CHATML,
    RESPONSES,
    THINKING,
    Answer,
    LiveServer,
    Twist,
    cut_after,
    drop,
    drop_events,
    each,
    edit,
    holds,
    ignore,
    put,
    rearrange,
    type_of,
)
from scripted_server import model_of, serving

from templatelint import probe
from templatelint.probe import running
from templatelint.probe.catalogue import CHECKS
from templatelint.probe.endpoint import Endpoint, Scripted, Served
from templatelint.probe.prompts import Prompts
from templatelint.probe.prompts import scripted as scripted_prompts
from templatelint.probe.responses.events import read
from templatelint.probe.verdict import WORDS
from templatelint.probe.wire import sdk
from templatelint.probe.wire.client import Client
from templatelint.probe.wire.exchange import Asked, Event, Exchange
from templatelint.probe.wire.sse import Frames
from templatelint.sources.reach import Reach
from templatelint.sources.web import Web
from templatelint.sources.web_address import address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.probe.catalogue import Check
    from templatelint.probe.verdict import Verdict

OURS = {check.id: check for check in CHECKS if "TL949" <= check.id <= "TL959"}
ALL = pytest.mark.parametrize("rule", OURS)
R = "response."
TEXT, CALL, PARALLEL, WRITE, LONG, THINK = ("plain", "tool", "parallel", "write", "long", "think")


# -------------------------------------------------------------------------------------------------- endpoints

SERVERS: dict[tuple[str, str], LiveServer] = {}
RUNNING = ExitStack()


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    with RUNNING:
        yield
    SERVERS.clear()


def server(template: str, chosen: str) -> LiveServer:
    """One that is started once; `chosen` is the script that its model always says, if any."""
    if (template, chosen) not in SERVERS:
        choose = (lambda *_: chosen) if chosen else by_selector
        SERVERS[template, chosen] = RUNNING.enter_context(LiveServer(template=template, choose=choose))
    return SERVERS[template, chosen]


def tell(rule: str, *twists: Twist, template: str = THINKING, chosen: str = "", willing: bool = False) -> Verdict:
    """The verdict on a server of the scripted model; or, `willing`, of one that nobody knows to be scripted."""
    live = server(template, chosen)
    live.twists = twists
    with Web(live.url, name=live.url, stay=True) as web:
        send = Client(web, address(live.url), 10.0).ask
        endpoint = Endpoint(live.url, "scripted", send, scripted_prompts(), Served(model=model_of(template)))
        endpoint.scripted = None if willing else Scripted(1, "hermes")
        return judged(OURS[rule], endpoint)


def judged(check: Check, endpoint: Endpoint) -> Verdict:
    """What a run of this check alone tells, a route that is missing and answers that do not come included."""
    return next(running.run([check], endpoint)).verdict


def stream(*changes: Callable[[Answer], Answer | None], when: Callable[[Any], bool] = lambda _: True) -> Twist:
    return edit(RESPONSES, *changes, when=when, stream=True)


def on(script: str) -> Callable[[Any], bool]:
    return holds(f"@@{script} ")


# ----------------------------------------------------------------------------------------- a server that is right


@ALL
def test_a_right_server_keeps_the_clause(rule: str) -> None:
    verdict = tell(rule)
    assert verdict.word == "pass", verdict


@ALL
def test_a_server_without_the_route_is_not_judged(rule: str) -> None:
    verdict = tell(rule, edit(RESPONSES, lambda _: Answer({"error": {"message": "no such route"}}, status=404)))
    assert verdict.word == "skip", verdict


# ----------------------------------------------------------------------------------- servers that break one clause


def move(which: str, where: int) -> Callable[[Answer], Answer | None]:
    """Send the first event of a type so many places later, or earlier."""

    def moved(sent: list[LiveEvent]) -> list[LiveEvent]:
        place = next(place for place, event in enumerate(sent) if type_of(event) == which)
        event = sent.pop(place)
        sent.insert(place + where, event)
        return sent

    return rearrange(moved)


def twice(which: str) -> Callable[[Answer], Answer | None]:
    """Send events of a type again."""
    return rearrange(lambda sent: [event for one in sent for event in [one] * (1 + (type_of(one) == which))])


def add(*new: LiveEvent) -> Callable[[Answer], Answer | None]:
    return rearrange(lambda sent: [*sent, *new])


def ends_last(sent: list[LiveEvent]) -> list[LiveEvent]:
    """Tell that items are done when all are there, as llama.cpp does."""
    done = [event for event in sent if type_of(event) == R + "output_item.done"]
    return [*[event for event in sent[:-1] if event not in done], *done, sent[-1]]


def crossed(sent: list[LiveEvent]) -> list[LiveEvent]:
    """Give the arguments of each call to the other one's id."""
    ids = [event.data["item"]["id"] for event in sent if type_of(event) == R + "output_item.added"]
    for event in sent:
        if type_of(event) == R + "function_call_arguments.delta":
            event.data["item_id"] = ids[1 - ids.index(event.data["item_id"])]
    return sent


def completed(sent: list[LiveEvent]) -> list[LiveEvent]:
    """Tell that a cut response is complete."""
    sent[-1].name = sent[-1].data["type"] = R + "completed"
    sent[-1].data["response"]["status"] = "completed"
    return sent


def alone(change: Callable[[LiveEvent], object], kind: str) -> Callable[[Answer], Answer | None]:
    """Change events of a type, and nothing that other events have in common with them."""

    def changed(event: LiveEvent) -> None:
        event.data = copy.deepcopy(event.data)
        change(event)

    return each(changed, R + kind)


def at_the_end(where: str, value: Any) -> Callable[[Answer], Answer | None]:
    """Set a member of the first item in the final response alone."""
    *steps, last = where.split(".")

    def change(event: LiveEvent) -> None:
        found = event.data["response"]["output"][0]
        for step in steps:
            found = found[int(step) if step.isdigit() else step]
        if last in found:
            found[last] = value

    return alone(change, "completed")


def number(event: LiveEvent) -> None:
    event.data["sequence_number"] = 7


def rename(event: LiveEvent) -> None:
    event.name = ""


def parts_at(value: Any) -> Callable[[LiveEvent], None]:
    def change(event: LiveEvent) -> None:
        if "content_index" in event.data:
            event.data["content_index"] = value

    return change


BROKEN: list[tuple[str, Twist, str]] = [
    ("TL949", stream(each(rename)), "has no name and is of type 'response.created'"),
    ("TL949", stream(each(rename, R + "completed")), "has no name and is of type 'response.completed'"),
    ("TL949", stream(each(lambda event: setattr(event, "name", "message"))), "is named 'message'"),
    ("TL949", stream(drop("type")), "has no type"),
    ("TL949", stream(each(lambda event: setattr(event, "data", "[1]"))), "is no JSON object: '[1]'"),
    ("TL949", stream(drop_events(R + "completed")), "no event ends the response"),
    ("TL949", stream(twice(R + "completed")), "two or more events end the response"),
    ("TL949", stream(move(R + "completed", -2)), "response.completed is followed by further events"),
    ("TL949", stream(add(LiveEvent("[DONE]"), LiveEvent("[DONE]"))), "[DONE] comes 2 times"),
    ("TL949", stream(lambda _: Answer({"status": "completed"})), "answered with content type 'application/json"),
    ("TL949", stream(lambda _: Answer(events=[])), "the stream ends without an event"),
    ("TL949", stream(lambda _: Answer({"error": {"message": "so sorry"}}, status=500)), "HTTP 500: so sorry"),
    ("TL949", stream(cut_after(4)), "the connection ends after 4 events"),
    ("TL950", stream(drop("sequence_number")), "22 of 22 events have no sequence_number"),
    ("TL950", stream(put("sequence_number", "3")), "event 1 ('response.created') and has '3'"),
    ("TL950", stream(put("sequence_number", -1)), "have no sequence_number"),
    ("TL950", stream(each(number, R + "output_text.done")), "has the sequence_number 7 after 17"),
    ("TL950", stream(drop("sequence_number"), when=on(CALL)), "of 11 events have no sequence_number"),
    ("TL951", stream(drop("output_index")), "events of items have no output_index: the first is event 3"),
    ("TL951", stream(drop("content_index")), "no content_index: the first is event 4 ('response.content_part.added')"),
    ("TL951", stream(each(parts_at("0"))), "('response.content_part.added') and has '0'"),
    ("TL951", stream(each(parts_at(True))), "and has true"),
    ("TL951", stream(drop("output_index"), when=on(CALL)), "no output_index"),
    (
        "TL951",
        stream(each(lambda event: event.data.update(output_index=1), R + "output_text.delta")),
        "has the output_index 1, its item 0",
    ),
    ("TL952", stream(drop_events(R + "created")), "the first event is 'response.in_progress'"),
    ("TL952", stream(twice(R + "created")), "response.created comes 2 times"),
    ("TL952", stream(drop_events(R + "completed")), "none ends the response"),
    ("TL952", stream(move(R + "completed", -1)), "'response.output_item.done' comes after response.completed"),
    ("TL952", stream(drop_events(R + "output_item.added")), "about an item that has not started"),
    ("TL952", stream(twice(R + "output_item.done")), "about an item that is over"),
    ("TL952", stream(drop_events(R + "output_item.done")), "item 1 ('message') has no response.output_item.done"),
    ("TL952", stream(drop_events(R + "content_part.added")), "without a response.content_part.added"),
    ("TL952", stream(drop_events(R + "output_text.done")), "has no response.output_text.done"),
    ("TL952", stream(drop_events(R + "content_part.done")), "has no response.content_part.done"),
    ("TL952", stream(move(R + "content_part.added", 1)), "('response.output_text.delta') comes before event 5"),
    ("TL952", stream(move(R + "output_text.done", -1)), "('response.output_text.done') comes before"),
    ("TL952", stream(move(R + "output_item.done", -1)), "comes after the end of its item"),
    ("TL953", stream(drop_events(R + "function_call_arguments.done")), "no response.function_call_arguments.done"),
    ("TL953", stream(twice(R + "function_call_arguments.done")), "comes 2 times for one call"),
    ("TL953", stream(move(R + "function_call_arguments.done", 1)), "comes after response.output_item.done"),
    ("TL953", stream(move(R + "function_call_arguments.done", -1)), "a delta comes after"),
    (
        "TL953",
        stream(each(lambda event: event.data.update(arguments="{"), R + "function_call_arguments.done")),
        "has the arguments '{', the call in the end",
    ),
    ("TL953", stream(put("name", "write_file")), "has the name 'write_file', the call 'get_weather'"),
    ("TL953", stream(drop_events(R + "output_item.done")), "no response.output_item.done of a call"),
    ("TL954", stream(rearrange(ends_last)), "item 2 ('function_call') starts before item 1 ('function_call') is done"),
    ("TL954", stream(drop("output_index")), "0 of 2 calls are started with an output_index of their own"),
    ("TL954", stream(put("output_index", 0)), "1 of 2 calls are started with an output_index of their own"),
    ("TL954", stream(put("item.id", "fc_1")), "1 of 2 calls are started with an id of their own"),
    ("TL954", stream(rearrange(crossed)), "the deltas of its item_id give"),
    ("TL954", stream(drop_events(R + "function_call_arguments.delta")), "give '' in place of"),
    ("TL955", stream(put("response.output.0.id", "msg_9")), "was streamed and is not in the final output"),
    ("TL955", stream(put("response.output", [])), "was streamed and is not in the final output"),
    ("TL955", stream(drop("response.output")), "the response in response.completed has no output"),
    ("TL955", stream(drop_events(R + "completed")), "no event ends the response"),
    ("TL955", stream(drop_events(R + "output_item.added")), "about an item that has not started"),
    (
        "TL955",
        stream(alone(lambda event: event.data["item"].update(id="msg_9"), "output_item.done")),
        "then 'msg_9', then",
    ),
    ("TL955", stream(at_the_end("content.0.text", "Hi."), when=on(TEXT)), "'Hi.' in the final output"),
    (
        "TL955",
        stream(alone(lambda event: event.data["part"].update(text="Hi."), "content_part.done")),
        "in response.content_part.done",
    ),
    ("TL955", stream(each(lambda event: event.data.update(text="Hi."), R + "output_text.done")), "and 'Hi.' in"),
    ("TL955", stream(twice(R + "output_text.delta")), "in the deltas and"),
    ("TL955", stream(at_the_end("arguments", "{}")), "'{}' in the final output"),
    ("TL955", stream(put("response.output.0.call_id", "call_9")), "then 'call_9'"),
    ("TL955", stream(put("response.output.1.name", "write_file")), "then 'write_file'"),
    ("TL956", stream(rearrange(completed)), "a text of 16 tokens, limited to 16, ends with response.completed"),
    ("TL956", stream(rearrange(completed), when=on(WRITE)), "a call of 31 tokens, limited to 31, ends with"),
    ("TL956", stream(put("response.status", "completed")), "has the status 'completed'"),
    ("TL956", stream(drop("response.incomplete_details")), "has the reason null"),
    ("TL956", stream(drop_events(R + "incomplete")), "no event ends the response of a text limited to 16 tokens"),
    ("TL956", ignore("max_output_tokens", RESPONSES), "limited to 16, ends with response.completed"),
    ("TL956", stream(rearrange(completed), put("response.status", "incomplete")), "around an incomplete response"),
    ("TL957", stream(drop("response.tools")), "the response in response.created has no tools"),
    ("TL957", stream(drop("response")), "has no id, object"),
    ("TL957", stream(put("response.output", {})), "has an object as output"),
    ("TL957", stream(drop_events(R + "created")), "no event is response.created"),
    ("TL957", stream(drop_events(R + "completed")), "no event ends the response"),
    ("TL957", stream(put("response.status", "completed")), "response.created has the status 'completed'"),
    ("TL957", stream(put("response.status", "in_progress")), "response.completed has the status 'in_progress'"),
    (
        "TL957",
        stream(each(lambda event: event.data["response"].update(id="resp_9"), R + "completed")),
        "and ends with 'resp_9'",
    ),
    ("TL958", stream(drop("content_index")), "raises on a text: TypeError"),
    ("TL958", stream(drop("output_index")), "raises on 2 calls: RuntimeError: Duplicate response output index None"),
    ("TL958", stream(drop_events(R + "content_part.added")), "raises on a text: IndexError"),
    ("TL958", stream(drop_events(R + "output_item.added"), when=on(PARALLEL)), "raises"),
    ("TL958", stream(put("output_index", 0), when=on(PARALLEL)), "raises on 2 calls: RuntimeError: Duplicate"),
    ("TL958", stream(put("response.output.0.content.0.text", "Hi.")), "is not what the plain answer is"),
    ("TL958", stream(put("response.output.1.arguments", "{}"), when=on(PARALLEL)), "of 2 calls is not what"),
    ("TL959", stream(drop_events(R + "reasoning_text.done")), "and no response.reasoning_text.done"),
    ("TL959", stream(rearrange(ends_last)), "item 2 ('message') starts before item 1 ('reasoning') is done"),
    ("TL959", stream(move(R + "reasoning_text.done", -1)), "does not stand between the last delta and the item's end"),
    (
        "TL959",
        stream(each(lambda event: event.data.update(text="Hm."), R + "reasoning_text.done")),
        "their end 'Hm.'",
    ),
]


@pytest.mark.parametrize(("rule", "twist", "message"), BROKEN, ids=[f"{rule}-{why[:40]}" for rule, _, why in BROKEN])
def test_a_server_that_breaks_the_clause_is_told(rule: str, twist: Twist, message: str) -> None:
    verdict = tell(rule, twist)
    assert verdict.word == "fail", verdict
    assert message in verdict.message
    assert (
        verdict.evidence or "event" in message or "HTTP" in message or "content type" in message or "[DONE]" in message
    )


# --------------------------------------------------------------------------------------------- what is allowed


def at_once(sent: list[LiveEvent]) -> list[LiveEvent]:
    """Send a call with its arguments, and no deltas of them."""
    for event in sent:
        if type_of(event) == R + "function_call_arguments.done":
            added = next(each_event for each_event in sent if each_event.data.get("item", {}).get("arguments") == "")
            added.data["item"]["arguments"] = event.data["arguments"]
    return [event for event in sent if type_of(event) != R + "function_call_arguments.delta"]


ALLOWED: list[tuple[str, str, Twist]] = [
    ("TL949", "pass", stream(add(LiveEvent("[DONE]")))),
    (
        "TL950",
        "pass",
        stream(each(lambda event: event.data.update(sequence_number=3 + 2 * event.data["sequence_number"]))),
    ),
    (
        "TL951",
        "warn",
        stream(each(lambda event: event.data.update(output_index=2) if "output_index" in event.data else None)),
    ),
    ("TL952", "warn", stream(drop_events(R + "in_progress"))),
    (
        "TL952",
        "pass",
        stream(rearrange(lambda sent: [sent[0], LiveEvent({"type": "x.keepalive"}, "x.keepalive"), *sent[1:]])),
    ),
    ("TL953", "warn", stream(each(lambda event: event.data.pop("name"), R + "function_call_arguments.done"))),
    # who sends all arguments with the item has sent them
    ("TL953", "pass", stream(rearrange(at_once))),
    ("TL955", "pass", stream(rearrange(at_once))),
    ("TL958", "pass", stream(add(LiveEvent("[DONE]")))),
]


@pytest.mark.parametrize(("rule", "word", "twist"), ALLOWED, ids=[f"{rule}-{word}" for rule, word, _ in ALLOWED])
def test_what_openai_allows_is_no_failure(rule: str, word: str, twist: Twist) -> None:
    verdict = tell(rule, twist)
    assert verdict.word == word, verdict


def open_responses(event: LiveEvent) -> None:
    """Name events of thoughts as the Open Responses specification does."""
    event.name = event.data["type"] = event.data["type"].replace("reasoning_text", "reasoning")


def kept_back(sent: list[LiveEvent]) -> list[LiveEvent]:
    """Keep the text of thoughts to oneself."""
    told = [event for event in sent if "reasoning_text" not in json.dumps(event.data) or "item" in event.data]
    for event in told:
        if event.data.get("item", {}).get("type") == "reasoning":
            event.data["item"].pop("content", None)
    return told


@pytest.mark.parametrize("change", [each(open_responses), rearrange(kept_back)], ids=["names", "kept-back"])
def test_thoughts_by_other_names_and_thoughts_that_are_kept_back(change: Callable[[Answer], None]) -> None:
    verdict = tell("TL959", stream(change))
    assert verdict.word == "pass", verdict


# ------------------------------------------------------------------------- what shows nothing, and what is not there


def failing_response(sent: list[LiveEvent]) -> list[LiveEvent]:
    error = {"code": "server_error", "message": "out of memory"}
    return [*sent[:2], LiveEvent({"type": "error", "sequence_number": 2, **error}, "error")]


@ALL
def test_a_stream_that_tells_of_its_own_failure_shows_nothing(rule: str) -> None:
    verdict = tell(rule, stream(rearrange(failing_response)))
    assert (verdict.word, "out of memory" in verdict.message) == ("inconclusive", True), verdict


@ALL
@pytest.mark.parametrize("code", [400, 429, 503])
def test_a_stream_that_is_refused_shows_nothing(rule: str, code: int) -> None:
    verdict = tell(rule, stream(lambda _: Answer({"error": {"message": "no stream"}}, status=code)))
    assert (verdict.word, "no stream" in verdict.message) == ("inconclusive", True), verdict


@ALL
def test_a_server_that_does_not_understand_its_model_shows_nothing(rule: str) -> None:
    said = "The model produced output that does not match the expected peg-native format"
    verdict = tell(rule, stream(lambda _: Answer({"error": {"message": said}}, status=500)))
    assert verdict.word == "inconclusive", verdict


# rules that a model which does not do as it is told leaves open, and what it says
UNSEEN = [
    ("TL953", TEXT, "the model has called no function"),
    ("TL954", CALL, "1 call in place of two"),
    ("TL956", "answer", "as the model may have ended it by itself"),
    ("TL959", TEXT, "the model does not think"),
]


@pytest.mark.parametrize(("rule", "chosen", "message"), UNSEEN, ids=[rule for rule, _, _ in UNSEEN])
def test_a_model_that_does_something_else_shows_nothing(rule: str, chosen: str, message: str) -> None:
    verdict = tell(rule, chosen=chosen)
    assert (verdict.word, message in verdict.message) == ("inconclusive", True), verdict


def test_where_nobody_thinks_the_clause_on_thoughts_is_left_out() -> None:
    assert tell("TL959", template=CHATML, chosen=TEXT).word == "skip"


def test_a_model_that_is_not_scripted_is_not_asked_for_two_calls() -> None:
    assert tell("TL954", willing=True).word == "skip"
    assert tell("TL958", willing=True, chosen=TEXT).evidence == ("two calls were not seen: 0 calls",)


def test_usage_that_is_not_told_leaves_open_whether_an_answer_was_cut() -> None:
    verdict = tell("TL956", drop_usage := stream(rearrange(completed), drop("response.usage")), chosen="answer")
    assert (verdict.word, "of a number of tokens that is not told" in verdict.message) == ("inconclusive", True), (
        verdict
    )
    assert tell("TL956", drop_usage).word == "fail", "the plain answer with more room goes on"


def full(answer: Answer) -> None:
    """Count as many tokens as there may be."""
    each(lambda event: event.data["response"]["usage"].update(output_tokens=16), R + "completed")(answer)


def silent_call(events: list[LiveEvent]) -> list[LiveEvent]:
    """Tell nothing of items."""
    return [event for event in completed(events) if "output_item" not in type_of(event) and "arguments" not in type_of(
        event)]  # fmt: skip


@pytest.mark.parametrize(
    ("chosen", "twist", "word"),
    [
        ("answer", stream(full, when=on(LONG)), "inconclusive"),  # whole, and ended by the sixteenth token
        ("", stream(rearrange(completed), when=on(LONG)), "fail"),
        ("", stream(rearrange(completed), when=on(WRITE)), "fail"),
        ("", stream(rearrange(silent_call), when=on(WRITE)), "pass"),  # no call had begun
        ("", stream(put("response.incomplete_details", {"reason": "content_filter"})), "inconclusive"),
    ],
)
def test_what_a_strange_model_says_was_cut_where_it_goes_on(chosen: str, twist: Twist, word: str) -> None:
    verdict = tell("TL956", twist, chosen=chosen, willing=True)
    assert verdict.word == word, verdict


def test_a_cut_text_is_enough_where_the_model_does_not_call() -> None:
    verdict = tell("TL956", chosen=LONG)
    assert (verdict.word, verdict.message) == ("pass", "a text limited to 16 tokens ends with response.incomplete")


def test_answers_that_differ_each_time_are_not_compared() -> None:
    said = iter("ABCDEFG")

    def moody(answer: Answer) -> None:
        word = next(said)
        if answer.streamed:
            each(lambda event: event.data["response"]["output"][0]["content"][0].update(text=word), R + "completed")(
                answer
            )
        else:
            answer.json["output"][0]["content"][0]["text"] = word

    verdict = tell("TL958", edit(RESPONSES, moody, when=on(TEXT)))
    assert (verdict.word, verdict.message) == ("inconclusive", "the same request is answered in several ways")


def test_without_the_package_its_check_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "installed", lambda _: False)
    verdict = tell("TL958")
    assert (verdict.word, verdict.help) == ("skip", "pip install 'templatelint[probe]'")


# ------------------------------------------------------------------------------------------------- real llama.cpp

DESERVED = {
    "TL949": ("pass", "25 events carry their type as name, and response.completed is the last"),
    "TL950": ("fail", "25 of 25 events have no sequence_number: the first is event 1 ('response.created')"),
    "TL951": ("fail", "22 of 22 events of items have no output_index"),
    "TL952": ("pass", "25 events of 1 item come in order"),
    "TL953": ("fail", "no response.function_call_arguments.done between 6 deltas and response.output_item.done"),
    "TL954": ("fail", "item 2 ('function_call') starts before item 1 ('function_call') is done"),
    "TL955": ("pass", "4 items, each in the end what was told of it before"),
    "TL956": ("fail", "a text of 16 tokens, limited to 16, ends with response.completed"),
    "TL957": ("fail", "the response in response.created has no created_at, error, incomplete_details, instructions"),
    "TL958": ("fail", "raises on a text: TypeError: list indices must be integers or slices, not NoneType"),
    "TL959": ("fail", "deltas of thoughts, and no response.reasoning_text.done"),
}


@pytest.fixture(scope="module")
def llama_cpp() -> Iterator[Endpoint]:
    with serving(THINKING) as url, probe.opened(url, probe.Options(), Reach()) as endpoint:
        yield endpoint


@ALL
def test_llama_cpp_gets_the_verdicts_that_its_build_deserves(llama_cpp: Endpoint, rule: str) -> None:
    verdict = judged(OURS[rule], llama_cpp.for_check())
    word, message = DESERVED[rule]
    assert (verdict.word, message in verdict.message) == (word, True), verdict


# -------------------------------------------------------------------------------------------------------- garbage

JUNK: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1e308,
    10**30,
    "",
    "x",
    "\ud800",
    "\x1b[2J\u202e\0",
    [],
    [[]],
    {},
    {"type": {}},
    json.loads("[" * 300 + "]" * 300),
    [{"type": []}],
    "response.completed",
    "message",
    "function_call",
)


def spoiled(value: Any, random: Random) -> Any:
    """The value with junk in some of its places."""
    if random.random() < 0.04:
        return random.choice(JUNK)
    if isinstance(value, dict):
        return {key: spoiled(each_value, random) for key, each_value in value.items() if random.random() > 0.02}
    if isinstance(value, list):
        return [spoiled(each_value, random) for each_value in value]
    return value


def spoiled_stream(events: Sequence[Event], random: Random) -> tuple[Event, ...]:
    found = []
    for event in events:
        chance = random.random()
        if chance > 0.05:
            name = event.name if chance > 0.1 else random.choice(("", "\x1b[2J", "error", R + "completed"))
            data = event.data if chance < 0.08 else json.dumps(spoiled(json.loads(event.data), random))
            found.append(Event(name, data if chance > 0.07 else random.choice(("", "{", "[DONE]", "\ud800")), event.at))
    if random.random() < 0.2:
        random.shuffle(found)
    return tuple(found)


def test_no_garbage_makes_a_check_raise() -> None:
    recorded: dict[Any, Exchange] = {}
    live = server(THINKING, "")
    live.twists = ()
    with Web(live.url, name=live.url, stay=True) as web:
        client = Client(web, address(live.url), 10.0)
        for seed in range(60):
            random = Random(seed)  # noqa: S311 (not for secrets)

            def send(asked: Asked, random: Random = random) -> Exchange:
                if asked.key not in recorded:
                    recorded[asked.key] = client.ask(asked)
                right = recorded[asked.key]
                if right.events is None:
                    body = json.dumps(spoiled(right.value, random)).encode()
                    return replace(right, asked=asked, body=body)
                events = spoiled_stream(right.events, random)
                text = "".join(f"event: {event.name}\ndata: {event.data}\n\n" for event in events)
                body = text.encode("utf-8", "replace")
                return replace(right, asked=asked, events=events, body=body, cut=random.random() < 0.2)

            for rule, check in OURS.items():
                if rule == "TL958" and seed % 6:
                    continue  # the SDK takes its time
                endpoint = Endpoint(live.url, "m", send, scripted_prompts(), scripted=Scripted(1, "hermes"))
                verdict = judged(check, endpoint)
                assert verdict.word in WORDS
                told = (verdict.message, *verdict.evidence)
                assert all(line.isprintable() and len(line) < 600 for line in told), told
                assert json.dumps(told)


# -------------------------------------------------------------------------------------------------------- reading


def frames(*data: dict[str, Any]) -> tuple[Event, ...]:
    return tuple(Event(each_data["type"], json.dumps(each_data)) for each_data in data)


def test_events_without_id_and_index_belong_to_the_item_that_was_started_last() -> None:
    added, delta, done = R + "output_item.added", R + "function_call_arguments.delta", R + "output_item.done"
    told = read(
        frames(
            {"type": added, "item": {"id": "fc_1", "type": "function_call"}},
            {"type": delta, "delta": "{"},
            {"type": added, "item": {"id": "fc_2", "type": "function_call"}},
            {"type": delta, "delta": "["},
            {"type": done, "item": {"id": "fc_2"}},
            {"type": delta, "delta": "}"},
            {"type": delta, "item_id": "fc_3", "delta": "?"},
        )
    )
    assert [item.joined(delta) for item in told.calls] == ["{}", "["]
    assert [place for place, _ in told.astray] == [6]
    assert told.routed("item_id") == {"fc_3": "?"}


# ---------------------------------------------------------------------------------------------------- the SDKs


def recorded(body: str, kind: str = "application/json", status: int = 200) -> Exchange:
    events = tuple(Event(*frame) for frame in Frames().feed(body.encode())) if "event-stream" in kind else None
    return Exchange(Asked("POST", "/"), status, {"content-type": kind}, body.encode("utf-8", "replace"), events)


def lines(*data: dict[str, Any], done: bool = False) -> Exchange:
    """A stream of these events, their types as names where they have any."""
    text = "".join(
        (f"event: {each_data['type']}\n" if "type" in each_data else "") + f"data: {json.dumps(each_data)}\n\n"
        for each_data in data
    )
    return recorded(text + ("data: [DONE]\n\n" if done else ""), "text/event-stream")


def chunk(**choice: Any) -> dict[str, Any]:
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [{"index": 0, "delta": {}, **choice}]}


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
REPLY = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi."}}],
}


def test_what_the_sdks_make_of_recorded_answers() -> None:
    reply = sdk.chat(recorded(json.dumps(REPLY)), strict=True)
    assert reply == sdk.Reading(REPLY)
    streamed = sdk.chat_stream(
        lines(
            chunk(delta={"role": "assistant", "content": "Hi"}),
            chunk(delta={"content": "."}),
            chunk(finish_reason="stop"),
            done=True,
        )
    )
    assert streamed.value["choices"][0]["message"]["content"] == "Hi."
    assert sdk.message(recorded(json.dumps(MESSAGE)), strict=True).value == MESSAGE
    begun = sdk.message_stream(lines({"type": "message_start", "message": MESSAGE}, {"type": "message_stop"}))
    assert (begun.value["id"], begun.trouble) == ("msg_1", "")
    assert sdk.response(recorded('{"id": "resp_1", "output": []}')).value == {"id": "resp_1", "output": []}


def test_what_strict_types_refuse() -> None:
    wrong = {**REPLY, "choices": [{**REPLY["choices"][0], "message": {"role": "assistant", "content": [1]}}]}  # type: ignore[index]
    reading = sdk.chat(recorded(json.dumps(wrong)), strict=True)
    assert reading.trouble.startswith("APIResponseValidationError: ")
    assert reading.faults == ("choices.0.message.content: Input should be a valid string",)
    assert sdk.chat(recorded(json.dumps(wrong))).trouble == ""


@pytest.mark.parametrize(
    ("body", "trouble"),
    [
        ("[]", "list in place of an object"),
        ('"\\u001b[2J"', "str in place of an object"),
        ('{"a":', "JSONDecodeError: "),
    ],
)
def test_what_is_no_answer_is_trouble(body: str, trouble: str) -> None:
    assert sdk.response(recorded(body)).trouble.startswith(trouble)


def test_what_an_exception_says_is_one_printable_line() -> None:
    reading = sdk.response(recorded('{"error": {"message": "\x1b[2J\\u001b[2J\\n' + "x" * 5000 + '"}}', status=400))
    assert reading.trouble.startswith("BadRequestError: ")
    assert reading.trouble.isprintable()
    assert len(reading.trouble) < 400


def test_what_is_too_large_is_not_read() -> None:
    reading = sdk.chat(recorded(" " * (2 << 20)))
    assert (reading.trouble, reading.unread) == ("", "an answer of more than 1,048,576 bytes or 10,000 events")


def test_what_keeps_the_sdk_from_asking_is_no_fault_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "\u00e9")
    reading = sdk.chat(recorded(json.dumps(REPLY)))
    assert reading.trouble == ""
    assert reading.unread.startswith("UnicodeEncodeError: ")


def test_a_redirect_leads_nowhere() -> None:
    answer = Exchange(Asked("POST", "/"), 307, {"location": "http://127.0.0.1:9/", "content-type": "text/html"}, b"")
    assert sdk.chat(answer).trouble.startswith("APIStatusError: ")


def test_a_package_that_does_not_start_is_not_installed() -> None:
    assert sdk.installed("openai")
    assert not sdk.installed("templatelint_no_such_package")


# ---------------------------------------------------------------------------------------------- a helpful model


def test_words_do_as_well_as_selectors() -> None:
    with LiveServer(choose=by_words) as live, Web(live.url, name=live.url, stay=True) as web:
        endpoint = Endpoint(live.url, "scripted", Client(web, address(live.url), 10.0).ask, Prompts())
        words = {rule: judged(check, endpoint.for_check()).word for rule, check in OURS.items()}
    assert words == {rule: "skip" if rule == "TL954" else "pass" for rule in OURS}

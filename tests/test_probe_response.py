from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from live_model import by_selector
from live_server import (
    CHAT,
    CHATML,
    RESPONSES,
    THINKING,
    Answer,
    Call,
    LiveServer,
    Twist,
    cut_after,
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
)
from scripted_server import deserved, model_of, serving

from templatelint import probe
from templatelint.probe.catalogue import CHECKS
from templatelint.probe.endpoint import Endpoint, Scripted, Served
from templatelint.probe.prompts import scripted as scripted_prompts
from templatelint.probe.responses import types as response_types
from templatelint.probe.responses.items import LEAST, Reply
from templatelint.probe.verdict import NoAnswer, NotOffered
from templatelint.probe.wire import sdk
from templatelint.probe.wire.client import Client
from templatelint.probe.wire.exchange import Exchange
from templatelint.sources.reach import Reach
from templatelint.sources.web import Web
from templatelint.sources.web_address import address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Asked

Choose: TypeAlias = Callable[[Sequence[Any], str], str]
OURS = {check.id: check for check in CHECKS if check.module in ("response", "response_calls")}
SERVERS: dict[tuple[Choose, str], LiveServer] = {}
RUNNING = ExitStack()
ITEM = "output.0."


def started(choose: Choose, template: str) -> LiveServer:
    """A server that is started once: loading a template takes longer than all that is asked of it."""
    if (choose, template) not in SERVERS:
        SERVERS[choose, template] = RUNNING.enter_context(LiveServer(choose=choose, template=template))
    return SERVERS[choose, template]


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    with RUNNING:
        yield
    SERVERS.clear()


def tell(rule: str, *twists: Twist, choose: Choose = by_selector, template: str = THINKING) -> Verdict:
    """The verdict on a server that is known, so that nobody has to be met first."""
    server = started(choose, template)
    server.twists = twists
    with Web(server.url, name=server.url, stay=True) as web:
        send = Client(web, address(server.url), 10.0).ask
        endpoint = Endpoint(server.url, "scripted", send, served=Served(model=model_of(template)))
        if choose in (by_selector, unwilling):
            endpoint = replace(endpoint, prompts=scripted_prompts(), scripted=Scripted(1, "hermes"))
        return OURS[rule].judge(endpoint)


# --------------------------------------------------------------------------------------- a server that is right


@pytest.mark.parametrize("rule", OURS)
def test_a_right_server_keeps_the_clause(rule: str) -> None:
    verdict = tell(rule)
    assert verdict.word == "pass", verdict


@pytest.mark.parametrize("rule", [*OURS])
def test_a_server_without_the_route_is_not_judged(rule: str) -> None:
    with pytest.raises(NotOffered):
        tell(rule, instead(RESPONSES, lambda _: Answer({"error": {"message": "no route"}}, status=404)))


# --------------------------------------------------------------------------------- servers that break one clause


def limited(body: Mapping[str, Any]) -> bool:
    return bool(body.get("max_output_tokens", 512) < 100)


def history(body: Mapping[str, Any]) -> bool:
    return isinstance(body.get("input"), list)


def untyped(body: Mapping[str, Any]) -> bool:
    return history(body) and any("type" not in item for item in body["input"] if item.get("role") == "assistant")


def outputs(body: Mapping[str, Any]) -> list[Any]:
    items = body["input"] if history(body) else []
    return [item for item in items if item.get("type") == "function_call_output"]


def odd_output(body: Mapping[str, Any]) -> bool:
    return any(not isinstance(item.get("output"), str) for item in outputs(body))


def forget_results(body: dict[str, Any]) -> None:
    """Forget the results of calls."""
    body["input"] = [item for item in body["input"] if "call_id" not in item]


def heal(answer: Answer) -> None:
    """Close the arguments of a cut call, and tell that nothing was cut."""
    for item in answer.json["output"]:
        item["status"] = "completed"
        if item["type"] == "function_call":
            item["arguments"] += '"}'
    answer.json.update(status="completed", incomplete_details=None)


def spoken_call(answer: Answer) -> None:
    """Let the start of a call stand as text in a completed response."""
    content = [{"type": "output_text", "text": '<tool_call>\n{"name": "write_file', "annotations": []}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    answer.json.update(status="completed", incomplete_details=None, output=[message])


def bare(answer: Answer) -> None:
    """Say why without an error object."""
    answer.json = {"detail": "no"}


def reverse(answer: Answer) -> None:
    """Put the items the other way round."""
    answer.json["output"].reverse()


def fetched(call: Call, answer: Answer) -> Answer:
    """Give a page of the web interface for what is not known."""
    return Answer(b"<html>", headers={"Content-Type": "text/html"}) if call.path.startswith(f"{RESPONSES}/") else answer


def pensive(answer: Answer) -> None:
    """Let the thoughts be all there is, as servers built on the SDK's types tell them."""
    answer.json["output"] = [{"type": "reasoning", "id": "rs_1", "summary": [], "status": None}]


def decline(answer: Answer) -> None:
    """Say that it cannot be done."""
    content = [{"type": "refusal", "refusal": "I cannot assist with that."}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    answer.json["output"] = [message]


def again(answer: Answer) -> None:
    """Make one more call."""
    answer.json["output"] += [{**item, "id": "fc_9", "call_id": "call_9"} for item in answer.json["output"][-1:]]


def stateless(call: Call, _: Answer) -> Answer | None:
    """Keep nothing between two requests."""
    given = call.members.get("input")
    for item in given if isinstance(given, list) else ():
        if item.get("type") == "reasoning" and not item.get("encrypted_content"):
            said = f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false."
            return Answer({"error": {"message": said, "type": "invalid_request_error"}}, status=404)
    return None


def unrelated(body: dict[str, Any]) -> None:
    """Lose all but a greeting."""
    body["input"] = "hi"
    body.pop("tools", None)


COMPLETED = (put("status", "completed"), put("incomplete_details", None))
MISREAD = {"error": {"code": 500, "type": "server_error", "message":
    "The model produced output that does not match the expected peg-native format"}}  # fmt: skip
REFUSED = {"error": {"message": "no such thing", "type": "invalid_request_error", "param": None, "code": None}}


def refuse(path: str, what: str) -> Twist:
    return instead(path, lambda _: Answer(REFUSED, status=400), when=holds(what))


BROKEN: Sequence[tuple[str, Twist, str]] = (
    ("TL936", edit(RESPONSES, drop("top_p")), "1 of 14 required members is missing: top_p"),
    ("TL936", edit(RESPONSES, drop("id"), drop("tools")), "2 of 14 required members are missing: id, tools"),
    ("TL936", edit(RESPONSES, put("object", "chat.completion")), "object is 'chat.completion'"),
    ("TL936", edit(RESPONSES, put("created_at", "today")), "created_at is 'today'"),
    ("TL936", edit(RESPONSES, put("status", "done")), "status is 'done'"),
    ("TL936", edit(RESPONSES, put("parallel_tool_calls", None)), "parallel_tool_calls is null"),
    ("TL936", edit(RESPONSES, put("output.0", "Hello.")), "output[0]: it is 'Hello.'"),
    ("TL936", edit(RESPONSES, drop(ITEM + "id")), "output[0]: id is missing"),
    ("TL936", edit(RESPONSES, put(ITEM + "role", "user")), "output[0]: role is 'user'"),
    ("TL936", edit(RESPONSES, put(ITEM + "content", "Hello.")), "output[0]: content is 'Hello.'"),
    ("TL936", edit(RESPONSES, drop(ITEM + "content.0.annotations")), "annotations of output_text is missing"),
    ("TL936", edit(RESPONSES, put("metadata", {"run": 1})), "the openai SDK's types refuse metadata"),
    ("TL936", edit(RESPONSES, only_good(status(500))), "a plain input is answered HTTP 500"),
    ("TL936", edit(RESPONSES, put("status", "failed")), "a plain input is answered with a failed response"),
    ("TL936", edit(RESPONSES, cut_after(40)), "the connection ends before the answer"),
    ("TL936", instead(RESPONSES, lambda _: Answer(b"[]")), "without a JSON object"),
    ("TL937", edit(RESPONSES, put("usage", None)), "usage is null"),
    ("TL937", edit(RESPONSES, drop("usage")), "usage is missing"),
    ("TL937", edit(RESPONSES, drop("usage.output_tokens_details")), "output_tokens_details is missing"),
    ("TL937", edit(RESPONSES, put("usage.input_tokens_details", {})), "input_tokens_details.cached_tokens is missing"),
    ("TL937", edit(RESPONSES, put("usage.total_tokens", 5)), "are 5 in all"),
    ("TL937", edit(RESPONSES, put("usage.input_tokens", "9")), "input_tokens is '9'"),
    ("TL938", edit(RESPONSES, put("output.*.id", "fc_1")), "2 items have the id 'fc_1'"),
    ("TL938", edit(RESPONSES, put("output.*.call_id", "call_1")), "2 items have the call_id 'call_1'"),
    ("TL938", edit(RESPONSES, put("output.0.id", "x"), put("output.0.call_id", "x")), "are both 'x'"),
    ("TL938", edit(RESPONSES, put("output.1.call_id", "c" * 65)), "has 65 characters"),
    ("TL938", edit(RESPONSES, put("output.1.status", "done")), "output[1]: status is 'done'"),
    ("TL938", edit(RESPONSES, drop("output.1.call_id")), "output[1]: call_id is missing"),
    ("TL938", edit(RESPONSES, put("output.0.arguments", {"city": "Paris"})), "arguments is an object"),
    ("TL939", edit(RESPONSES, *COMPLETED, when=limited), "a response cut after 16 tokens has status completed"),
    ("TL939", edit(RESPONSES, put("incomplete_details", None)), "incomplete_details is null"),
    ("TL939", edit(RESPONSES, put("incomplete_details.reason", "length")), "incomplete_details is"),
    ("TL939", edit(RESPONSES, put(ITEM + "status", "completed")), "the status of its last item, a 'message', is"),
    ("TL939", ignore("max_output_tokens", RESPONSES), "max_output_tokens 16 brings"),
    ("TL939", edit(RESPONSES, drop("status")), "status is missing"),
    ("TL940", edit(RESPONSES, *COMPLETED, when=limited), "in a completed response"),
    ("TL940", edit(RESPONSES, heal, when=limited), "in a completed response"),
    ("TL940", edit(RESPONSES, spoken_call, when=limited), "inside its call, has status completed"),
    ("TL940", edit(RESPONSES, put(ITEM + "status", "completed")), "the status of the call that is cut is 'completed'"),
    ("TL940", edit(RESPONSES, put(ITEM + "status", "cut")), "the status of the call that is cut is 'cut'"),
    ("TL940", edit(RESPONSES, put("incomplete_details", {})), "incomplete_details is an object"),
    ("TL940", preset("max_output_tokens", 512, RESPONSES), "and status completed"),
    ("TL941", edit(RESPONSES, status(500), when=history), "sent back with its error, is answered HTTP 500"),
    ("TL941", edit(RESPONSES, cut_after(9), when=history), "the connection ends where the cut call"),
    ("TL942", edit(RESPONSES, status(400), when=history), "the result of a call with the output as it came"),
    ("TL942", edit(RESPONSES, status(500), when=history), "is answered HTTP 500"),
    ("TL942", edit(RESPONSES, drop("output.0.call_id")), "call_id of a call is missing"),
    ("TL942", edit(RESPONSES, put("output.0.arguments", {"city": "Paris"})), "arguments of a call is an object"),
    ("TL942", Twist(RESPONSES, history, before=forget_results), "calls 'get_weather' again"),
    (
        "TL942",
        edit(RESPONSES, status(400), when=lambda body: len(outputs(body)) > 1),
        "the result of two calls, the last first, with the output as it came is answered HTTP 400",
    ),
    ("TL943", edit(RESPONSES, status(200), when=odd_output), "4 of 7 malformed tool results are not refused"),
    ("TL943", edit(RESPONSES, status(500), when=odd_output), "an output that is an object: HTTP 500"),
    ("TL943", edit(RESPONSES, status(200, only=400)), "7 of 7 malformed tool results"),
    ("TL944", ignore("text", RESPONSES), "text.format json_schema is not enforced: it is no JSON"),
    ("TL944", ignore("text.format.schema.required", RESPONSES), "city is missing"),
    ("TL944", edit(RESPONSES, put(ITEM + "content", [])), "brings no text"),
    ("TL944", edit(RESPONSES, status(500), when=holds("json_schema")), "text.format json_schema is answered HTTP 500"),
    ("TL945", ignore("tool_choice", RESPONSES, when=holds('"required"')), "and no call"),
    ("TL945", ignore("tool_choice", RESPONSES, when=holds('"name": "write_file"}}')), "of the function write_file"),
    ("TL945", ignore("tool_choice", RESPONSES, when=holds("allowed_tools")), "allowed_tools of write_file alone"),
    ("TL945", edit(RESPONSES, status(500), when=holds("allowed_tools")), "is answered HTTP 500"),
    ("TL946", ignore("previous_response_id", RESPONSES), "that there never was is ignored"),
    ("TL946", edit(RESPONSES, status(500), when=has("previous_response_id")), "is answered HTTP 500"),
    ("TL946", Twist(after=fetched), "with something else than the response of that id"),
    ("TL947", edit(RESPONSES, status(400), when=untyped), "a history of messages without a type is answered HTTP 400"),
    ("TL947", edit(RESPONSES, status(500), when=holds("output_text")), "a history of typed items is answered HTTP 500"),
    ("TL948", edit(RESPONSES, *COMPLETED, when=limited), "inside its reasoning, has status 'completed'"),
    ("TL948", edit(RESPONSES, put("incomplete_details", None)), "incomplete_details is null"),
    ("TL948", edit(RESPONSES, drop("output.0.id")), "the reasoning item: id is missing"),
    ("TL948", edit(RESPONSES, reverse), "stands behind the message"),
    ("TL948", edit(RESPONSES, drop("output.0")), "though the chat route gives thoughts apart"),
    ("TL948", edit(RESPONSES, put("output.1.content.0.text", "<think>\n</think>")), "the message holds '<think>'"),
    ("TL948", edit(RESPONSES, status(400), when=history), "a history with the reasoning item as it came is answered"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "twist", "message"), BROKEN, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_broken_clause_is_told(rule: str, twist: Twist, message: str) -> None:
    verdict = tell(rule, twist)
    assert (verdict.word, message in verdict.message) == ("fail", True), verdict


# ---------------------------------------------------------------------------------------- what says nothing of it


def unwilling(_: Sequence[Any], prompt: str) -> str:
    """Of a model that is scripted, and says a short sentence whatever it is told."""
    return "about" if "@@about" in prompt else "plain"


def strange(_: Sequence[Any], __: str) -> str:
    """Of a model that is not scripted, and says a short sentence whatever it is told."""
    return "plain"


def last_message(_: Sequence[Any], prompt: str) -> str:
    """Of a model that is not scripted, and calls a function wherever it can."""
    return "write" if "write_file with" in prompt else "tool"


@pytest.mark.parametrize("rule", ["TL938", "TL940", "TL941", "TL942"])
def test_a_model_that_calls_nothing_shows_nothing(rule: str) -> None:
    assert tell(rule, choose=unwilling).word == "inconclusive"
    assert tell(rule, choose=strange).word == "inconclusive"


def writer(_: Sequence[Any], __: str) -> str:
    """Of a model that is not scripted, and calls the second function whatever it is told."""
    return "write"


OTHER: Sequence[tuple[str, str, Twist | None, Mapping[str, Any], str]] = (
    ("TL939", "inconclusive", None, {"choose": strange}, "the model ended by itself after 15 tokens"),
    ("TL948", "inconclusive", None, {"choose": strange}, "the template knows <think>, and the model does not think"),
    ("TL948", "skip", None, {"choose": strange, "template": CHATML}, "no thoughts are seen"),
    ("TL948", "inconclusive", refuse(RESPONSES, f'"max_output_tokens": {LEAST}'), {}, "is refused: HTTP 400: no such"),
    ("TL942", "inconclusive", None, {"choose": last_message}, "calls 'get_weather' again"),
    ("TL936", "inconclusive", edit(RESPONSES, status(503)), {}, "turns the request away: HTTP 503"),
    ("TL943", "inconclusive", edit(RESPONSES, status(429), when=odd_output), {}, "turns the request away: HTTP 429"),
    ("TL943", "inconclusive", edit(RESPONSES, status(400), when=history), {}, "a call with its output is answered"),
    ("TL946", "inconclusive", edit(RESPONSES, status(429), when=has("previous_response_id")), {}, "HTTP 429"),
    ("TL941", "inconclusive", edit(RESPONSES, status(429), when=history), {}, "HTTP 429"),
    ("TL945", "inconclusive", edit(RESPONSES, status(429), when=holds('"required"')), {}, "HTTP 429"),
    ("TL945", "inconclusive", refuse(RESPONSES, '"tools": [{'), {}, "a prompt with tools is refused: HTTP 400"),
    ("TL936", "inconclusive", edit(RESPONSES, put("output", [])), {}, "the output has no message, but nothing"),
    ("TL938", "inconclusive", refuse(RESPONSES, '"tools": [{'), {}, "a prompt for two calls is refused: HTTP 400"),
    ("TL944", "inconclusive", edit(RESPONSES, put("status", "incomplete")), {}, "512 tokens are not enough"),
    ("TL942", "inconclusive", edit(RESPONSES, put("output.0.arguments", '{"city')), {}, "the call is no whole one: '{"),
    ("TL942", "inconclusive", edit(RESPONSES, put("usage.output_tokens", 512)), {}, "the call is no whole one"),
    ("TL945", "inconclusive", edit(RESPONSES, put("output", []), put("usage.output_tokens", 600), when=holds(
        '"required"')), {}, "tool_choice required brings no call within 512 tokens"),
    ("TL940", "inconclusive", edit(RESPONSES, put("usage.output_tokens", 512)), {}, "not enough for a call"),
    ("TL948", "inconclusive", edit(RESPONSES, drop("output.1")), {}, "nothing follows the thoughts within 512 tokens"),
    ("TL936", "warn", edit(RESPONSES, put("service_tier", "galactic")), {}, "types refuse service_tier"),
    ("TL937", "warn", edit(RESPONSES, put("usage.output_tokens_details.reasoning_tokens", 99)), {}, "99 reason"),
    ("TL940", "warn", edit(RESPONSES, spoken_call, put("status", "incomplete"),
                           put("incomplete_details", {"reason": "max_output_tokens"}), when=limited), {}, "as text"),
    ("TL943", "warn", edit(RESPONSES, bare, when=odd_output), {},
     "HTTP 400 without an error object"),
    ("TL946", "warn", ignore("previous_response_id", RESPONSES, when=lambda body: "templatelint" not in str(
        body.get("previous_response_id"))), {}, "usage does not show its history"),
    ("TL947", "warn", edit(RESPONSES, put("usage.input_tokens", 9)), {}, "usage tells of no more input tokens"),
    ("TL940", "pass", edit(RESPONSES, put("output", []), when=limited), {}, "and hands over no call"),
    ("TL941", "pass", edit(RESPONSES, put("output", []), when=limited), {}, "a call with half of its arguments"),
    ("TL945", "pass", refuse(RESPONSES, '"tool_choice": '), {}, "allowed_tools of write_file alone is refused"),
    ("TL939", "pass", edit(RESPONSES, put("output", []), when=limited), {}, "status incomplete"),
    # what the API's types let be null or missing
    ("TL938", "pass", edit(RESPONSES, drop("output.1.status")), {}, "2 calls with ids of their own"),
    ("TL939", "pass", edit(RESPONSES, pensive, when=limited), {}, "last item null"),
    ("TL940", "warn", edit(RESPONSES, put(ITEM + "status", None), when=limited), {}, "and its call has no status"),
    # what a model, a filter or a server without the feature turns down
    ("TL944", "inconclusive", refuse(RESPONSES, "json_schema"), {}, "is refused: HTTP 400: no such thing"),
    ("TL944", "inconclusive", edit(RESPONSES, decline), {}, "the model refuses to answer: 'I cannot assist"),
    ("TL945", "inconclusive", edit(RESPONSES, decline, when=holds('"required"')), {}, "the model refuses to answer"),
    ("TL939", "inconclusive", edit(RESPONSES, put("incomplete_details", {"reason": "content_filter"})), {}, "a filter"),
    ("TL936", "inconclusive", edit(RESPONSES, put("status", "failed"), put("error", {
        "code": "rate_limit_exceeded", "message": "wait"})), {}, "a failed response: 'wait'"),
    *((rule, "inconclusive", refuse(RESPONSES, '"tools": [{'), {}, "a prompt with tools is refused: HTTP 400: no such")
      for rule in ("TL940", "TL941", "TL942")),
    ("TL939", "inconclusive", refuse(RESPONSES, f'"max_output_tokens": {LEAST}'), {}, "is refused: HTTP 400: no such"),
    ("TL946", "pass", instead(RESPONSES, lambda _: Answer(REFUSED, status=400), when=limited), {},
     "an unknown previous_response_id is refused"),
    *((rule, "inconclusive", instead(RESPONSES, lambda _: Answer(MISREAD, status=500), when=has("tools")), {},
       "is not understood by the server: HTTP 500: The model produced")
      for rule in ("TL938", "TL940", "TL941", "TL942", "TL943", "TL945")),
    # thoughts that the server has not kept, and gives no means to bring back
    *((rule, "pass", Twist(RESPONSES, after=stateless), {}, "") for rule in ("TL941", "TL942", "TL947", "TL948")),
    ("TL948", "fail", Twist(RESPONSES, history, after=lambda *_: Answer(REFUSED, status=404)), {}, "HTTP 404: no such"),
    # what the model would do in any case
    ("TL945", "inconclusive", ignore("tool_choice", RESPONSES), {"choose": writer},
     "tool_choice required brings a call, and so does the same prompt without it"),
    ("TL942", "inconclusive", Twist(RESPONSES, history, before=unrelated), {"choose": last_message},
     "says nothing that stands in it, and the prompt has"),
    ("TL942", "fail", Twist(RESPONSES, history, before=unrelated), {}, "and not what is said behind a result"),
    ("TL938", "inconclusive", edit(RESPONSES, again), {}, "the answer to a prompt for two calls is 'function_call', "),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "verdict", "twist", "given", "message"), OTHER)
def test_what_is_not_broken_is_not_told_to_be(
    rule: str, verdict: str, twist: Twist | None, given: Mapping[str, Any], message: str
) -> None:
    found = tell(rule, *([twist] if twist else []), **given)
    assert (found.word, message in found.message) == (verdict, True), found


# -------------------------------------------------------------------------------- what proves that an answer was cut


@pytest.mark.parametrize(
    ("text", "written", "finish", "verdict"),
    [
        ("He kept", 16, "stop", "fail"),  # it goes on where it may
        ("He kept\ufffd", 16, "stop", "fail"),  # within a character
        ("He kept the light. And then", 16, "stop", "inconclusive"),
        ("Sorry, no stories today :-)", 16, "stop", "inconclusive"),  # a missing full stop proves nothing
        ("He kept the light.", 16, "length", "fail"),  # the chat route says so
        ("He kept the light.", 16, "stop", "inconclusive"),
        ("He kept the light.", 9, "length", "fail"),  # the same text was cut there
        ("He left.", 9, "length", "inconclusive"),
        ("He kept the light.", 0, "length", "fail"),  # a server that does not count
        ("He kept", 0, "stop", "fail"),
        ("He kept the light.", 0, "stop", "inconclusive"),
    ],
)
def test_a_completed_response_is_only_broken_where_it_was_cut(
    text: str, written: int, finish: str, verdict: str
) -> None:
    def send(asked: Asked) -> Exchange:
        goes_on = text.startswith("He kept") and asked.body.get("max_output_tokens") != LEAST
        whole = "He kept the light." if goes_on else text
        part = {"type": "output_text", "text": whole, "annotations": []}
        response = {"status": "completed", "output": [{"type": "message", "content": [part]}]}
        chat = {"choices": [{"message": {"content": "He kept the light."}, "finish_reason": finish}]}
        answer = chat if asked.path == CHAT else {**response, "usage": {"output_tokens": written}}
        return Exchange(asked, 200, {}, json.dumps(answer).encode())

    assert OURS["TL939"].judge(Endpoint("http://127.0.0.1:1", "m", send)).word == verdict


@pytest.mark.parametrize(
    ("rule", "twist", "text"),
    [
        ("TL939", edit(RESPONSES, *COMPLETED, when=limited), '"max_output_tokens": 16'),
        ("TL943", edit(RESPONSES, status(500), when=holds('"output": 21')), '"output": 21'),
        ("TL945", ignore("tool_choice", RESPONSES, when=holds('"required"')), '"required"'),
        ("TL947", edit(RESPONSES, status(400), when=holds("output_text")), "output_text"),
    ],
)
def test_what_a_verdict_rests_on_is_the_last_exchange(rule: str, twist: Twist, text: str) -> None:
    server = started(by_selector, THINKING)
    server.twists = (twist,)
    with probe.opened(server.url, probe.Options(seconds=10.0), Reach()) as whole:
        endpoint = whole.for_check()
        assert OURS[rule].judge(endpoint).word == "fail"
    last = endpoint.exchanges[-1].asked
    assert last.path == RESPONSES
    assert text in json.dumps(last.body)
    assert len({id(each) for each in endpoint.exchanges}) == len(endpoint.exchanges)


def test_a_server_that_keeps_state_passes() -> None:
    def remembered(body: dict[str, Any]) -> None:
        if "templatelint" not in body["previous_response_id"]:
            del body["previous_response_id"]
            body["input"] = [{"role": "user", "content": f"{body['input']} {body['input']}"}]

    def kept(call: Call, answer: Answer) -> Answer:
        return Answer({"id": call.path.rpartition("/")[2]}) if call.method == "GET" and "resp_" in call.path else answer

    found = tell("TL946", Twist(RESPONSES, has("previous_response_id"), before=remembered), Twist(after=kept))
    assert (found.word, "a known one brings its history" in found.message) == ("pass", True), found


def test_without_the_sdk_our_own_list_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openai.types.responses", None)
    monkeypatch.setattr(sdk, "installed", lambda _: False)
    assert response_types.refused_by_types({}) == ()
    assert tell("TL936", edit(RESPONSES, drop("top_p"))).word == "fail"
    assert (tell("TL936").word, tell("TL944").word) == ("pass", "pass")


# ---------------------------------------------------------------------------------------------------------- garbage

DEEP = '{"output": [{"type": "function_call", "x": ' + "[" * 900 + "]" * 900 + "}]}"
GARBAGE: Sequence[str] = (
    *("null", "[]", "7", '"x"', "{}", "", "{", '{"output": 1}', '{"output": [1, null, "x", [], {}]}', DEEP),
    '{"status": ["completed"], "output": [{"type": ["message"], "status": {}}], "usage": [1]}',
    '{"status": "incomplete", "incomplete_details": "x", "output": [{"type": "message", "content": [{"type": {}}]}]}',
    '{"status": "completed", "output": [{"type": "function_call", "name": {}, "arguments": [], "id": {}}]}',
    (
        '{"id": "\\ud800/../\\u0000", "status": "completed", "usage": {"input_tokens": 1e999, "output_tokens": -1},'
        ' "output": [{"type": "function_call", "id": "\\ud800", "call_id": "\\u001b[2J", "name": "write_file\\u0000",'
        ' "arguments": "{\\"path\\": \\"\\ud83d"}, {"type": "reasoning", "summary": {}, "content": 1}]}'
    ),
    '{"error": ["x"]}',
    '{"error": {"message": {"a": 1}}}',
)


def exchanges() -> Iterator[tuple[int, bytes]]:
    for text in GARBAGE:
        for code in (200, 302, 400, 500):
            yield code, text.encode("utf-8", "surrogatepass")
    yield 200, b"\xff\xfe\x00"


@pytest.mark.parametrize("rule", OURS)
def test_garbage_is_judged(rule: str) -> None:
    for code, body in exchanges():
        for told in (None, Scripted(1, "hermes")):

            def send(asked: Asked, code: int = code, body: bytes = body) -> Exchange:
                return Exchange(asked, code, {"content-type": "application/json"}, body)

            endpoint = Endpoint("http://127.0.0.1:1", "m", send, scripted_prompts(), scripted=told)
            verdict = OURS[rule].judge(endpoint)
            assert verdict.word in ("fail", "inconclusive", "skip"), (code, body, verdict)
            assert "\x1b" not in verdict.message + "".join(verdict.evidence)


@pytest.mark.parametrize("rule", OURS)
def test_a_server_that_stops_answering_is_told_by_the_run(rule: str) -> None:
    def send(asked: Asked) -> Exchange:
        return Exchange(asked, error="nothing more within 5 s")

    with pytest.raises(NoAnswer):
        OURS[rule].judge(Endpoint("http://127.0.0.1:1", "m", send))


def test_a_reply_is_read_from_what_has_its_form() -> None:
    part = {"type": "output_text", "text": "Hello."}
    body = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [
            7,
            {"type": "message", "content": [part, 8, {"type": "refusal", "refusal": "no"}]},
            {"type": "reasoning"},
        ],
        "usage": {"input_tokens": True, "output_tokens": 3},
    }
    reply = Reply(Exchange(Endpoint("u", "m", Exchange).ask, 200, {}, json.dumps(body).encode()))  # type: ignore[arg-type]
    assert (reply.text, reply.cut, reply.read, reply.written) == ("Hello.", True, None, 3)
    assert (len(reply.items), len(reply.messages), len(reply.thoughts), reply.calls) == (2, 1, 1, [])


# ------------------------------------------------------------------------------------------ llama-server as it is

B11549 = {
    "TL936": ("fail", "9 of 14 required members are missing: error, incomplete_details, instructions, metadata"),
    "TL937": ("fail", "output_tokens_details is missing"),
    "TL938": ("pass", "2 calls with ids of their own"),
    "TL939": ("fail", "a response cut after 16 tokens has status completed"),
    "TL940": ("fail", "tokens comes with status 'completed', in a completed response"),
    "TL941": ("fail", "sent back with its error, is answered HTTP 500: Failed to parse tool call arguments as JSON"),
    "TL942": ("pass", "the result of a call is answered, and so are those of two calls"),
    "TL943": ("fail", "3 of 7 malformed tool results are not refused"),
    "TL944": ("fail", "is not enforced: it is no JSON"),
    "TL945": ("fail", "tool_choice of the function write_file brings a call of 'get_weather'"),
    "TL946": ("pass", "GET /v1/responses/ID answers HTTP 404"),
    "TL947": ("fail", "a history of messages without a type is answered HTTP 400: Cannot determine type of 'item'"),
    "TL948": ("fail", "a response cut after 16 tokens, inside its reasoning, has status 'completed'"),
}


@pytest.fixture(scope="module")
def llama_server() -> Iterator[str]:
    pytest.importorskip("xllamacpp")
    with serving(THINKING) as url:
        yield url


def test_llama_server_gets_what_it_deserves(llama_server: str) -> None:
    deserved(llama_server, OURS, B11549)

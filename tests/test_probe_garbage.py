from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from live_server import THINKING

from templatelint.model import Launch, Model, Origin, Template, Tokenizer
from templatelint.probe import assumed
from templatelint.probe.catalogue import CHECKS, Check
from templatelint.probe.endpoint import Endpoint, Scripted, Served
from templatelint.probe.prompts import Prompts, scripted
from templatelint.probe.verdict import WORDS, NoAnswer, NotOffered, Verdict
from templatelint.probe.wire.exchange import Asked, Event, Exchange
from templatelint.probe.wire.sse import Frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SEEDS = 12
# checks that render templates, in a child each time
SLOW = {"TL902": 2, "TL903": 2, "TL904": 2, "TL964": 3, "TL970": 3}
DEEP = json.loads("[" * 300 + "]" * 300)
ENDLESS = 1.2345e300  # written as a number that JSON allows and no float holds
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7.5, 2**70, ENDLESS, "", "x", "\ud800", "\x1b[31m\x00", "é" * 3000, "NaN", "[DONE]",
    [], [None], [[]], ["x", 1], {}, {"": None}, [{}], [[{"x": []}]], {"type": {}}, DEEP, {"id": ["x"]}, "{", "9" * 5000,
    "response.completed", "function_call", "tool_calls", "length",
)  # fmt: skip
BODIES = (
    b"", b"\x00", b"\xff\xfe{", b"<html>", b"null", b"[", b"{" * 100_000, b"[" * 100_000, b"NaN", b"1e999", b'"x"',
    b"{}", b"[]", b'{"error": null}', b'{"error": "x"}', b'{"error": {"message": {}}}', b'{"choices": {}}',
    b'{"choices": [null]}', b'{"output": 1}', b'{"content": "x"}', b'{"data": [1]}', b"9" * 10_000,
    b'{"a": ' + b"9" * 6_000 + b"}",
)  # fmt: skip
STATUSES = (200, 200, 200, 200, 201, 204, 400, 404, 422, 429, 500, 503, 999)
KINDS = ("application/json", "text/event-stream", "text/html", "", "\x1b[31m")
NAMES = ("", "error", "response.completed", "response.output_item.added", "message_stop", "\x1b", "content_block_delta")
TOOLS = Launch("llama.cpp", "b1", None, {"n_ctx": 4096})
SERVED = Model("m", "server", (Template("default", THINKING, Origin("m", THINKING)),), Tokenizer(), launch=TOOLS)
RIGHT = assumed.answering("m", THINKING, Prompts())


def anywhere(value: Any, chance: Random) -> Any:
    """The value, with another one somewhere in it, or without a part of it."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.15:
        return chance.choice(VALUES)
    changed = dict(value) if isinstance(value, dict) else list(value)
    at = chance.choice([*changed] if isinstance(changed, dict) else range(len(changed)))
    if chance.random() < 0.2:
        del changed[at]
    elif isinstance(changed, list) and chance.random() < 0.2:
        changed.append(changed[at])
    else:
        changed[at] = anywhere(changed[at], chance)
    return changed


def raw(value: Any) -> bytes:
    return json.dumps(value).replace(repr(ENDLESS), "1e999").encode()


def mutated(exchange: Exchange, chance: Random) -> Exchange:
    """A right answer with some of it changed."""
    if exchange.events is None:
        value = exchange.value
        for _ in range(chance.choice((1, 1, 2, 5))):
            value = anywhere(value, chance)
        return replace(exchange, body=raw(value))
    return streamed(exchange.asked, [*mutated_events(list(exchange.events), chance)], chance)


def mutated_events(events: list[Event], chance: Random) -> Iterator[tuple[str, bytes]]:
    if chance.random() < 0.3:
        chance.shuffle(events)
    for event in events:
        fate = chance.random()
        if fate < 0.1:
            continue
        if fate < 0.4 and event.value is not None:
            yield event.name, raw(anywhere(event.value, chance))
        elif fate < 0.5:
            yield chance.choice(NAMES), event.data.encode()
        elif fate < 0.6:
            yield event.name, chance.choice(BODIES).replace(b"\n", b" ")[:10_000]
        else:
            yield event.name, event.data.encode()
        if chance.random() < 0.1:
            yield event.name, event.data.encode()


def streamed(asked: Asked, events: list[tuple[str, bytes]], chance: Random) -> Exchange:
    body = b"".join(b"event: %s\ndata: %s\n\n" % (name.encode(), data) for name, data in events)
    frames = tuple(Event(name, data, at / 50) for at, (name, data) in enumerate(Frames().feed(body)))
    if asked.leave_after is not None:
        frames = frames[: asked.leave_after]
    headers = {"content-type": "text/event-stream"}
    return Exchange(asked, 200, headers, body, frames, 0.1, chance.random() < 0.2, asked.leave_after is not None)


def garbage(chance: Random) -> Callable[[Asked], Exchange]:
    """A server that answers with garbage of some kind: nearly right, the same to everything, or anything."""
    kind = chance.choice(("mutated", "mutated", "mutated", "same", "any", "swapped"))
    constant = (chance.choice(STATUSES), chance.choice(KINDS), chance.choice(BODIES))

    def answer(asked: Asked) -> Exchange:
        right = RIGHT(asked)
        if right.left and not right.status:
            return right if chance.random() < 0.7 else Exchange(asked, 200, {}, b"{}")
        if kind == "mutated":
            return mutated(right, chance) if chance.random() < 0.7 else right
        if kind == "swapped" and isinstance(asked.body, dict):
            flipped = {**asked.body, "stream": not asked.body.get("stream")}
            return replace(RIGHT(replace(asked, body=flipped)), asked=asked)
        status, content_type, body = constant
        if kind == "any":
            status, content_type = chance.choice(STATUSES), chance.choice(KINDS)
            body = chance.choice((chance.choice(BODIES), raw(chance.choice(VALUES))))
        headers: Mapping[str, str] = {"content-type": content_type} if content_type else {}
        if content_type == "text/event-stream":
            data = body.replace(b"\n", b" ")[:10_000]
            return replace(streamed(asked, [(chance.choice(NAMES), data)] * 3, chance), status=status)
        return Exchange(asked, status, headers, body, cut=chance.random() < 0.1)

    return answer


def judged(check: Check, seed: int) -> Verdict | None:
    chance = Random(f"{check.id} {seed}")  # noqa: S311 (no secret)
    told = chance.random() < 0.7
    endpoint = Endpoint(
        "http://127.0.0.1:1",
        "m",
        garbage(chance),
        prompts=scripted() if told or check.mode == "scripted" else Prompts(),
        served=Served("llama.cpp", "b1", SERVED, ("m",)) if chance.random() < 0.7 else Served(),
        scripted=Scripted(1, "hermes") if told or check.mode == "scripted" else None,
        linted=SERVED if chance.random() < 0.5 else None,
        wait=lambda _: None,
    )
    try:
        return check.judge(endpoint)
    except (NoAnswer, NotOffered):
        return None


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_check_judges_garbage_and_never_raises(check: Check) -> None:
    for seed in range(SLOW.get(check.id, SEEDS)):
        verdict = judged(check, seed)
        if verdict is not None:
            assert verdict.word in WORDS
            assert len(verdict.message) < 4_000, (seed, verdict.message)
            assert all(len(line) < 40_000 for line in verdict.evidence), seed


# no tools, and no crash, are what these promise: an empty answer keeps that
CONTENT = {"TL905", "TL922"}


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b'{"choices": []}', b"<html>"])
def test_an_answer_without_anything_passes_no_check_of_what_it_holds(body: bytes) -> None:
    def send(asked: Asked) -> Exchange:
        return Exchange(asked, 200, {"content-type": "application/json"}, body)

    passing = set()
    for check in CHECKS:
        endpoint = Endpoint("http://127.0.0.1:1", "m", send, scripted(), scripted=Scripted(1, "hermes"))
        endpoint.wait = lambda _: None
        try:
            if check.judge(endpoint).word == "pass":
                passing.add(check.id)
        except (NoAnswer, NotOffered):
            continue
    assert passing <= CONTENT

"""Results and runs of `probe` made by hand, for the tests of what is told of them."""

from __future__ import annotations

from typing import Any

from templatelint.probe import Probed
from templatelint.probe.endpoint import Served
from templatelint.probe.several import Apart
from templatelint.probe.verdict import Result, Verdict, Word
from templatelint.probe.wire.exchange import Asked, Event, Exchange
from templatelint.report.probed import Run

URL = "http://127.0.0.1:8080"
CHAT = "/v1/chat/completions"


def asked(**changes: Any) -> Asked:
    body = {"model": "m", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8, "temperature": 0}
    return Asked(**{"method": "POST", "path": CHAT, "body": body, **changes})


def exchange(body: str = '{"choices": []}', **changes: Any) -> Exchange:
    made: dict[str, Any] = {
        "asked": asked(),
        "status": 200,
        "headers": {"content-type": "application/json"},
        "body": body.encode("utf-8", "surrogatepass"),
        "seconds": 0.25,
    }
    return Exchange(**{**made, **changes})


def streamed(*events: tuple[str, str], **changes: Any) -> Exchange:
    raw = "".join(f"event: {name}\ndata: {data}\n\n" if name else f"data: {data}\n\n" for name, data in events)
    frames = tuple(Event(name, data, at / 100) for at, (name, data) in enumerate(events))
    return exchange(raw, events=frames, headers={"content-type": "text/event-stream"}, **changes)


def result(word: Word = "fail", message: str = "a reply without choices", **changes: Any) -> Result:
    made: dict[str, Any] = {
        "id": "TL907",
        "name": "reply-complete",
        "severity": "error",
        "clause": "a plain reply has every member that clients read",
        "verdict": Verdict(word, message, changes.pop("evidence", ()), changes.pop("help", "")),
        "exchanges": (exchange(),),
        "seconds": 0.5,
    }
    return Result(**{**made, **changes})


def probed(*results: Result, **changes: Any) -> Probed:
    made: dict[str, Any] = {
        "url": URL,
        "model": "m",
        "served": Served("llama.cpp", "b11549", None, ("m",)),
        "results": results,
    }
    return Probed(**{**made, **changes})


def run(*results: Result, **changes: Any) -> Run:
    return Run(**{"url": URL, "probed": (probed(*results),), **changes})


def hostile(text: str) -> Run:
    """A run in which that text stands wherever a server's text can."""
    answers = (
        exchange(text, headers={"content-type": text}, asked=asked(path=f"/v1/{text}", headers={"x": text})),
        streamed((text, text), ("", text), error=text),
        exchange(text, status=500, cut=True),
        Exchange(asked(body=text), error=text),
        Exchange(asked(), left=True),
    )
    words: tuple[Word, ...] = ("fail", "inconclusive", "warn", "pass", "skip")
    results = [
        result(word, text, exchanges=tuple(answers[at] for at in order), evidence=(text, f"a {text}"), help=text)
        for word, order in zip(words, ((0, 1), (2, 0), (3,), (4, 1), ()), strict=True)
    ]
    one = probed(*results, model=text, served=Served(text, text), broken_off=text)
    return Run(
        URL,
        (one, probed(result("pass"))),
        (Apart("TL907", "reply-complete", (text, text), ("m",)),),
        remarks=(text,),
        exit_code=1,
    )

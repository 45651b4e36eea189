from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from templatelint.probe import running
from templatelint.probe.catalogue import CHECKS, Check
from templatelint.probe.endpoint import Endpoint
from templatelint.probe.keeping import ROOM
from templatelint.probe.running import BrokenOff
from templatelint.probe.verdict import Result, Verdict, inconclusive, passed
from templatelint.probe.wire.exchange import Asked, Event, Exchange

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://127.0.0.1:1"


def answered(asked: Asked) -> Exchange:
    return Exchange(asked, 200, {}, b"{}")


def silent(asked: Asked) -> Exchange:
    return Exchange(asked, error=f"nothing for {asked.path}")


def by_path(asked: Asked) -> Exchange:
    """Whatever begins with an `x` is not answered."""
    return silent(asked) if asked.path.startswith("/x") else answered(asked)


class Asking(Check):
    """A check that asks for paths, and is content when all are answered."""

    __slots__ = ()

    def judge(self, endpoint: Endpoint) -> Verdict:
        for path in self.module.split():
            endpoint.get(path)
        return passed("all are answered")


def asking(*paths: str, mode: str = "any") -> list[Check]:
    """A check for each; several paths of one stand with spaces."""
    made = CHECKS[6]
    return [Asking(*made._replace(module=each, mode=mode)) for each in paths]  # type: ignore[arg-type]


def ran(checks: list[Check], send: Callable[[Asked], Exchange], room: int = ROOM) -> tuple[list[Result], str]:
    results: list[Result] = []
    try:
        for result in running.run(checks, Endpoint(URL, "m", send), room=room):
            results.append(result)  # noqa: PERF402 (what there is when it breaks off)
    except BrokenOff as end:
        return results, end.why
    return results, ""


@pytest.mark.parametrize(
    ("paths", "count", "why"),
    [
        ("/a /b /c", 3, ""),
        ("/x1 /b /x2 /d", 4, ""),
        ("/a /x1 /x2 /d", 3, "nothing for /x2"),
        ("/x1 /x1 /c", 2, "nothing for /x1"),
        ("/x1 /b /x1 /b /x1 /b /x1 /b /x1 /b /x1 /b /x1 /b", 14, ""),
        ("/x1 /b /x2 /b /x3 /b /x4 /b /x5 /b /x6 /b /x7", 11, "6 requests got no answer, the last: nothing for /x6"),
    ],
)
def test_a_server_that_answers_no_more_is_not_asked_to_the_end(paths: str, count: int, why: str) -> None:
    results, found = ran(asking(*paths.split()), by_path)
    assert (len(results), found) == (count, why)
    assert {result.verdict.word for result in results} <= {"pass", "inconclusive"}


def test_what_is_not_answered_is_not_judged() -> None:
    ((result,), why) = ran(asking("/a /x1 /c"), by_path)
    assert result.verdict == inconclusive("GET /x1: nothing for /x1")
    assert [exchange.asked.path for exchange in result.exchanges] == ["/a", "/x1"]
    assert why == ""


def test_each_check_has_a_record_of_its_own_and_the_same_request_is_sent_once() -> None:
    sent: list[str] = []

    def send(asked: Asked) -> Exchange:
        sent.append(asked.path)
        return answered(asked)

    results, _ = ran(asking("/a /b", "/b /c"), send)
    assert sent == ["/a", "/b", "/c"]
    assert [[exchange.asked.path for exchange in result.exchanges] for result in results] == [
        ["/a", "/b"],
        ["/b", "/c"],
    ]


def test_a_check_that_needs_the_scripted_model_sends_another_one_nothing() -> None:
    ((result,), _) = ran(asking("/a", mode="scripted"), silent)
    assert (result.verdict.word, result.exchanges) == ("skip", ())
    assert "templatelint cases --scripted-gguf" in result.verdict.help


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_route_that_is_not_there_is_skipped(status: int) -> None:
    (check,) = (check for check in CHECKS if check.id == "TL936")
    ((result,), _) = ran([check], lambda asked: Exchange(asked, status, {}, b"{}"))
    assert result.verdict.word == "skip"
    assert result.verdict.message == f"the server has no /v1/responses (HTTP {status})"


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    results = running.run(asking("/a", "/b"), Endpoint(URL, "m", answered), lambda *at: told.append(at))
    assert len([*results]) == 2
    assert told == [(0, 2), (1, 2), (2, 2)]


# ------------------------------------------------------------------------------------------------- what is kept


def large(asked: Asked) -> Exchange:
    """As much as its path says, in an event of a stream where that is asked for."""
    size = int(asked.path.strip("/s"))
    body = b"a" * size + b"z"
    return Exchange(asked, 200, {}, body, (Event("", body.decode()),) * 20 if "s" in asked.path else None)


def test_exchanges_are_kept_whole_while_there_is_room() -> None:
    sent: list[str] = []

    def answer(asked: Asked) -> Exchange:
        sent.append(asked.path)
        return large(asked)

    endpoint = Endpoint(URL, "m", answer)
    first, second = running.run(asking("/100000 /200000 /100000", "/100000 /200000s /9"), endpoint, room=250_000)
    whole, part, again = first.exchanges
    assert again is whole is second.exchanges[0]
    assert (whole.left_out, len(whole.body)) == (0, 100_001)
    gap = f"… {part.left_out:,} bytes …".encode()
    assert gap in part.body
    assert part.left_out + len(part.body) - len(gap) == 200_001
    assert (part.body[:1], part.body[-1:]) == (b"a", b"z")
    some = second.exchanges[1]
    assert len(some.events or ()) == 16
    assert all(len(event.data) == 256 for event in some.events or ())
    assert second.exchanges[2].left_out == 0  # what is small is kept whatever there is
    # what is not kept is not known either
    endpoint.get("/100000")
    endpoint.get("/200000")
    assert sent == ["/100000", "/200000", "/200000s", "/9", "/200000"]


def test_what_was_never_answered_in_full_is_not_asked_again() -> None:
    sent: list[str] = []

    def answer(asked: Asked) -> Exchange:
        sent.append(asked.path)
        return Exchange(asked, 200, {}, b"a" * 100_000, error="more than 99,999 bytes")

    found, why = ran(asking("/a", "/a", "/a"), answer, room=1000)
    assert (sent, why) == (["/a"], "more than 99,999 bytes")
    assert [result.exchanges[0].left_out for result in found] == [91_808] * 2

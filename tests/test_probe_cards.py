from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from templatelint import cards, data
from templatelint.model import Model, Origin, Template
from templatelint.probe.catalogue import CHECKS, Check
from templatelint.probe.endpoint import Endpoint, Scripted
from templatelint.probe.verdict import NoAnswer, NotOffered, Verdict
from templatelint.probe.wire.exchange import Asked, Event, Exchange
from templatelint.probe.wire.sse import Frames

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# ```json kept /props 400: language, verdict, of which route, with which status; the last two where they matter
_EXAMPLE = re.compile(r"^```(\w+) (kept|broken|linted)(?: (/\S*))?(?: (\d{3}))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECTIONS = ["What it checks", "Why it matters", "Kept", "Broken", "Source"]
_VERDICTS = {"kept": "pass", "broken": "fail"}
FILES = sorted((data.folder("rules") / "probe").glob("*.md"))
_BY_ID = {check.id: check for check in CHECKS}


@dataclass
class Answers:
    """Gives the examples of a card as answers: those of a route to it, the others in their order, the last again."""

    examples: list[tuple[str, str, int, str]]
    by_route: dict[str, list[Exchange]] = field(default_factory=dict)

    def __call__(self, asked: Asked) -> Exchange:
        routes = [route for _, route, _, _ in self.examples if route and asked.path.partition("?")[0] == route]
        route = routes[0] if routes else ""
        if route not in self.by_route:
            self.by_route[route] = [_exchange(*each) for each in self.examples if each[1] == route]
        left = self.by_route[route]
        if not left:
            return Exchange(
                asked, 404, {"content-type": "application/json"}, b'{"error": {"message": "no such route"}}'
            )
        answer = left.pop(0) if len(left) > 1 else left[0]
        return replace(answer, asked=asked)


def _exchange(language: str, _route: str, status: int, text: str) -> Exchange:
    asked = Asked("GET", "/")
    if language == "sse":
        frames = Frames().feed((text + "\n").encode())
        events = tuple(Event(name, data, at / 100) for at, (name, data) in enumerate(frames))
        return Exchange(asked, status, {"content-type": "text/event-stream"}, text.encode(), events)
    return Exchange(asked, status, {"content-type": "application/json"}, text.encode())


def _examples(rule: str, verdict: str) -> list[tuple[str, str, int, str]]:
    found = _EXAMPLE.findall(cards.clause(rule).prose)
    return [
        (language, route, int(status or 200), text)
        for language, word, route, status, text in found
        if word == verdict and language != "text"
    ]


def _linted(rule: str) -> Model | None:
    texts = [text for language, word, _, _, text in _EXAMPLE.findall(cards.clause(rule).prose) if word == "linted"]
    templates = tuple(Template("default", text, Origin("chat_template.jinja", text)) for text in texts)
    return Model("chat_template.jinja", "file", templates) if templates else None


def _runnable() -> Iterator[tuple[Check, str]]:
    for path in FILES:
        for verdict in _VERDICTS:
            if _examples(path.stem, verdict):
                yield _BY_ID[path.stem], verdict


@pytest.mark.parametrize(("check", "verdict"), [*_runnable()], ids=lambda value: getattr(value, "id", value))
def test_every_example_is_judged_as_its_card_says(check: Check, verdict: str) -> None:
    answers = Answers(_examples(check.id, verdict))
    endpoint = Endpoint(
        "http://127.0.0.1:8080", "m", answers, linted=_linted(check.id), scripted=Scripted(1, "hermes"), seconds=5.0
    )
    try:
        found = check.judge(endpoint)
    except (NotOffered, NoAnswer) as absence:
        found = Verdict("skip", repr(absence))
    assert found.word == _VERDICTS[verdict], found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_card_has_its_head_and_its_sections(path: Path) -> None:
    card = cards.read(path)
    head = tomllib.loads(path.read_text(encoding="utf-8").split("+++\n")[1])
    assert head == {
        **{key: getattr(card, key) for key in ("id", "name", "title", "impact", "need", "since", "fix")},
        "command": "probe",
    }
    assert re.findall(r"^## (.+)$", card.prose, re.MULTILINE) == _SECTIONS
    words = {word for _, word, _, _, _ in _EXAMPLE.findall(card.prose)}
    assert words - {"linted"} == {"kept", "broken"}


def test_cards_and_checks_pair_up_both_ways() -> None:
    assert {(card.id, card.name) for card in cards.clauses().values()} == {(check.id, check.name) for check in CHECKS}


def test_a_clause_is_found_by_id_and_by_name() -> None:
    assert cards.get("TL907") == cards.get("reply-complete") == cards.clause("TL907")


def test_no_name_is_that_of_a_rule_too() -> None:
    assert not {card.name for card in cards.all_cards().values()} & {card.name for card in cards.clauses().values()}

"""`rules/TLxxx.md` → Card: the page of each rule, and which rules a selector means."""

from __future__ import annotations

import re
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, cast, get_args

from templatelint import data
from templatelint.errors import TemplatelintError
from templatelint.model import NEEDS, Card, Impact
from templatelint.nearest import unknown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# A head holds strings and lists of strings only, a subset of TOML that a regular expression reads: importing
# the parser of the standard library costs more at start-up than all cards together.
_ENTRY = re.compile(r'(?P<key>[a-z-]+) = (?:"(?P<text>[^"\\]*)"|\[(?P<list>(?:"[^"\\]*"(?:, )?)*)\])')
_FENCE = "+++\n"
# what `lint --fix` does about the rule's findings: nothing; cures those for which an edit is proved; the same only
# with `--unsafe-fixes`
FIXES = ("none", "sometimes", "unsafe")
_REQUIRED = frozenset({"id", "name", "title", "impact", "need", "since", "fix"})
_LISTS = frozenset({"subsumed-by"})
_OPTIONAL = _LISTS | {"command"}
# what tells of the rule where `lint` does not
COMMANDS = ("lint", "vet", "pin", "probe")


def read(path: Path) -> Card:
    """The card in one file.

    Raises:
        ValueError: the file is no card: what is wrong with its head.
    """
    start, *rest = path.read_text(encoding="utf-8").split(_FENCE, 2)
    if start or len(rest) != 2:  # noqa: PLR2004 (head and prose)
        raise ValueError(f"{path}: the head does not stand between two lines of +++")
    head, prose = rest
    entries: dict[str, str | tuple[str, ...]] = {}
    for line in head.splitlines():
        entry = _ENTRY.fullmatch(line)
        if entry is None:
            raise ValueError(f"{path}: not an entry of a head: {line}")
        listed = entry["list"]
        entries[entry["key"]] = entry["text"] if listed is None else tuple(re.findall(r'"([^"]*)"', listed))
    return _card(path, entries, prose.strip("\n") + "\n")


def _card(path: Path, entries: Mapping[str, str | tuple[str, ...]], prose: str) -> Card:
    if missing := _REQUIRED - entries.keys():
        raise ValueError(f"{path}: the head lacks {', '.join(sorted(missing))}")
    if surplus := entries.keys() - _REQUIRED - _OPTIONAL:
        raise ValueError(f"{path}: the head has unknown entries {', '.join(sorted(surplus))}")
    if wrong := sorted(key for key, value in entries.items() if isinstance(value, tuple) != (key in _LISTS)):
        raise ValueError(f"{path}: a string and a list are confused in {', '.join(wrong)}")
    texts = {key: value for key, value in entries.items() if isinstance(value, str)}
    if texts["id"] != path.stem:
        raise ValueError(f"{path}: holds the card of {texts['id']}")
    if texts["impact"] not in get_args(Impact) or texts["need"] not in NEEDS:
        raise ValueError(f"{path}: unknown impact or need: {texts['impact']} · {texts['need']}")
    if texts["fix"] not in FIXES:
        raise ValueError(f"{path}: unknown fix: {texts['fix']}")
    if texts.get("command", "lint") not in COMMANDS:
        raise ValueError(f"{path}: unknown command: {texts['command']}")
    return Card(
        id=texts["id"],
        name=texts["name"],
        title=texts["title"],
        impact=cast("Impact", texts["impact"]),
        need=texts["need"],
        since=texts["since"],
        fix=texts["fix"],
        subsumed_by=tuple(entries.get("subsumed-by", ())),
        prose=prose,
        command=texts.get("command", "lint"),
    )


@cache
def all_cards() -> Mapping[str, Card]:
    """Every card of a rule about templates by id, in the order of the ids."""
    return _folder(data.folder("rules"))


@cache
def clauses() -> Mapping[str, Card]:
    """Every card of a clause that `probe` checks; apart, since no other command needs them."""
    return _folder(data.folder("rules") / "probe")


def _folder(folder: Path) -> Mapping[str, Card]:
    return MappingProxyType({path.stem: read(path) for path in sorted(folder.glob("TL*.md"))})


@cache
def clause(rule: str) -> Card:
    """The card of the clause of that id, read alone: a run tells of each, and its report again."""
    return read(data.folder("rules") / "probe" / f"{rule}.md")


def get(word: str) -> Card:
    """The card of that id or name.

    Raises:
        TemplatelintError: there is none.
    """
    for known in (all_cards, clauses):  # the clauses are read where no rule about templates is meant
        for card in known().values():
            if word.lower() in {card.id.lower(), card.name}:
                return card
    raise _unknown(word, {**all_cards(), **clauses()})


def select(word: str) -> tuple[str, ...]:
    """The ids of rules about templates that an id, a prefix of ids (`TL2`) or a name means.

    Raises:
        TemplatelintError: it means none.
    """
    ids = _meant(word, all_cards())
    if not ids:
        if _meant(word, clauses()):
            raise TemplatelintError(
                f"{word} is what a live endpoint promises, not a rule about templates",
                help="templatelint probe URL checks it",
            )
        raise _unknown(word, all_cards())
    return ids


def select_any(word: str) -> tuple[Card, ...]:
    """The cards, those of clauses too, that an id, a prefix of ids or a name means.

    Raises:
        TemplatelintError: it means none.
    """
    cards = {**all_cards(), **clauses()}
    ids = _meant(word, cards)
    if not ids:
        raise _unknown(word, cards)
    return tuple(cards[rule] for rule in ids)


def _meant(word: str, cards: Mapping[str, Card]) -> tuple[str, ...]:
    upper = word.upper()
    return tuple(
        card.id
        for card in cards.values()
        if card.name == word.lower() or (upper.startswith("TL") and card.id.startswith(upper))
    )


def _unknown(word: str, cards: Mapping[str, Card]) -> TemplatelintError:
    error = unknown("rule", word, [*cards, *(card.name for card in cards.values())])
    return TemplatelintError(error.message, help=error.help or "templatelint rule lists them")

"""What a reading of a template gathers: ways into Python, words that it is keyed to, text that it writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from jinja2 import nodes

from templatelint.security.hidden import runs
from templatelint.security.protocol import PROTOCOL, SHAPES, instructs, prose
from templatelint.security.values import Str

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from templatelint.security.conditions import Condition
    from templatelint.security.values import Atom, Why

_MOST: Final = 64
_LONGEST_PATH: Final = 120
_WORD = re.compile(r"[^\W\d_]")
# brackets and bars of markers, switches such as /think, names of fields such as tool_calls
_MARKER = re.compile(r"[<>\[\]{}|=`]|^\s*/\w+\s*$|^\s*[A-Za-z]+(?:_[A-Za-z0-9]+)+\s*$")
# a length that tells an empty text from another, or a short prefix from a longer one, says nothing of its words
_SHORT: Final = 16
_VOCABULARY: Final = 100  # words that are a list of languages or the like
_YEAR = re.compile(r"\d{4}")
_ORDER = frozenset(("lt", "lteq", "gt", "gteq"))
_ASKING = frozenset(("in", "notin", "eq", "ne", "startswith", "endswith"))


@dataclass
class Reach:
    """A way from what a template is given to what it must not touch.

    Attributes:
        path: the way, its names as they come out (`''.__class__.__mro__`).
        node: where it leaves the data.
        pieces: the literals that a name was put together of.
        name: that name; empty where it stands as it is.
        dynamic: why the name cannot be told; empty where it can.
    """

    path: str
    node: nodes.Node
    pieces: tuple[nodes.Node, ...] = ()
    name: str = ""
    dynamic: str = ""


@dataclass
class Trigger:
    """Words (or a time) that what is done depends on.

    Attributes:
        kind: `words` of a language, `marker` for other words, `length` or `clock`; `argument` of a call, `described`
            for what a tool's description says, `name` of a speaker, `form` of letters, `random`.
        words: what a message is compared with.
        node: where.
        says: texts that are written in its branches.
    """

    kind: str
    words: tuple[str, ...]
    operator: str
    node: nodes.Node
    says: list[tuple[str, nodes.Node]] = field(default_factory=list)

    @property
    def instruction(self) -> tuple[str, nodes.Node] | None:
        """The text that instructs and stands next behind this; None where none does."""
        told = [said for said in self.says if prose(said[0])] or list(filter(None, [instructs(self.says)]))
        start = _start(self.node)
        return min(told, key=lambda said: (_start(said[1]) < start, abs(_start(said[1]) - start)), default=None)


def _start(node: nodes.Node) -> int:
    """Where it stands, as far as that is told."""
    places = (getattr(part.lineno, "start", None) for part in (node, *node.find_all(nodes.Expr)))
    return next((place for place in places if place is not None), 0)


class Findings:
    """Everything that one reading told."""

    def __init__(self) -> None:
        self.reaches: dict[str, Reach] = {}
        self.triggers: list[Trigger] = []
        self.unread = False  # it was given up before its end
        self.written: list[tuple[str, nodes.Node, tuple[nodes.Node, ...]]] = []
        self.asked: set[str] = set()  # members of what a message says, which may be a mapping
        self.conditional: list[Trigger] = []
        self.undecided = False  # not all conditions were followed
        self._at: dict[int, int] = {}

    def judged(self) -> list[Trigger]:
        """The triggers that do not merely tell shapes and protocols apart."""
        found = [trigger for trigger in self.triggers if not self._everyday(trigger)]
        instead = {id(trigger.node) for trigger in self.conditional}  # these know on which side a text stands
        others = _together(trigger for trigger in found if id(trigger.node) not in instead)
        return [*self.conditional, *others]

    def conditions(self, found: Iterable[Condition]) -> None:
        """Instructions that the other reading found under conditions."""
        rows: dict[int, Trigger] = {}
        for ask, text, at in found:
            known = rows.setdefault(id(ask.node), Trigger(ask.kind, ask.words, ask.operator, ask.node))
            known.says.append((text, at))
        self.conditional = list(rows.values())

    def _everyday(self, trigger: Trigger) -> bool:
        if trigger.kind == "marker":
            return not trigger.instruction or any(map(PROTOCOL.search, trigger.words))
        if trigger.kind == "clock":  # hours, months and days of a month are told in other words, too
            dated = trigger.operator in _ORDER and any(map(_YEAR.search, trigger.words))
            return not dated and not trigger.instruction
        shapes = trigger.kind == "words" and trigger.operator in ("in", "notin")
        if shapes and all(word in SHAPES and word in self.asked for word in trigger.words):
            return True
        return len(trigger.words) > _VOCABULARY

    def reach(self, path: str, node: nodes.Node, pieces: tuple[nodes.Node, ...], name: str, root: str) -> None:
        """A step into Python; `root` is the path that it goes on from."""
        path = path if len(path) <= _LONGEST_PATH else path[:_LONGEST_PATH] + "…"
        known = self.reaches.pop(root, None) if root else None
        if known is not None:
            old = known.pieces
            new = tuple(piece for piece in pieces if all(piece is not other for other in old))
            known = Reach(path, known.node, (*known.pieces, *new)[:8], known.name or name)
        elif len(self.reaches) < _MOST:
            known = Reach(path, node, pieces, name)
        if known is not None:
            self.reaches.setdefault(path, known)

    def dynamic(self, path: str, why: str, node: nodes.Node) -> None:
        """A name that cannot be told and that only Python's objects answer to."""
        if len(self.reaches) < _MOST:
            self.reaches.setdefault(path, Reach(path, node, dynamic=why))

    def trigger(self, tag: str, operator: str, constants: Iterable[Atom], node: nodes.Node) -> int | None:
        """The number of the trigger that a comparison is; None where it tells markers or shapes apart."""
        known = self._at.get(id(node))
        if known is not None:
            return known
        found = _trigger(tag, operator, list(constants), node)
        if found is None or sum(one.kind == found.kind for one in self.triggers) >= _MOST:
            return None
        self.triggers.append(found)
        self._at[id(node)] = len(self.triggers) - 1
        return len(self.triggers) - 1

    def says(self, guard: Why, why: Why, texts: Sequence[str], node: nodes.Node) -> None:
        """Text that is written where these hold, or that is one thing or another because of those."""
        for number in guard | why:
            found = self.triggers[number]
            if len(found.says) < _MOST and (number in guard or found.kind != "marker"):
                found.says += [(text, node) for text in texts]

    def writes(self, text: Str, node: nodes.Node) -> None:
        """Text outside ASCII that is put together and written, where something in it is not seen."""
        if len(self.written) < _MOST and next(runs(text.text), None) is not None:
            self.written.append((text.text, node, text.pieces))


def _together(found: Iterable[Trigger]) -> list[Trigger]:
    """Those that ask for the same made one: an instruction may be written in pieces."""
    rows: dict[tuple[str, str, tuple[str, ...]], Trigger] = {}
    for one in found:
        known = rows.setdefault((one.kind, one.operator, one.words), one)
        if known is not one and len(known.says) < _MOST:
            rows[one.kind, one.operator, one.words] = replace(known, says=[*known.says, *one.says][:_MOST])
    return list(rows.values())


def _trigger(tag: str, operator: str, constants: list[Atom], node: nodes.Node) -> Trigger | None:
    if tag == "clock":
        times = [str(atom.text if isinstance(atom, Str) else atom) for atom in constants if _is_time(atom)]
        return Trigger("clock", tuple(times[:3]), operator, node) if times else None
    if tag == "length":
        sizes = [str(atom) for atom in constants if type(atom) is int and atom > _SHORT]
        return Trigger("length", tuple(sizes[:1]), operator, node) if sizes else None
    words = [atom.text for atom in constants if isinstance(atom, Str) and _natural(atom.text)]
    if words:
        return Trigger("words", tuple(dict.fromkeys(words)), operator, node)
    if operator not in _ASKING:
        return None
    markers = [atom.text for atom in constants if isinstance(atom, Str) and _WORD.search(atom.text)]
    return Trigger("marker", tuple(dict.fromkeys(markers)), operator, node) if markers else None


def _is_time(atom: Atom) -> bool:
    if isinstance(atom, Str):
        return any(character.isdigit() for character in atom.text)
    return type(atom) is int


def _natural(text: str) -> bool:
    """Whether people write that; markers, punctuation and switches are protocol."""
    return _WORD.search(text) is not None and _MARKER.search(text) is None

"""Where a reading stands: the variables, what is captured, on what it depends, and what was found so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias
from unicodedata import normalize

from jinja2 import nodes

from templatelint.security.atoms import known_texts, solid, tied
from templatelint.security.findings import Findings
from templatelint.security.internals import opens_internal
from templatelint.security.requests import item, systems
from templatelint.security.showing import shown
from templatelint.security.values import (
    ALTERNATIVES,
    LONGEST_LIST,
    MANY,
    NO_REASON,
    UNKNOWN,
    Atom,
    Seq,
    Str,
    Table,
    Thing,
    Value,
    Why,
    built,
    joined,
    one,
    pieces_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from templatelint.syntax import Syntax

# Evaluations of one template: so many in loops that are followed item by item and in macros that are called, then
# every node once more.
_STEPS: Final = 4_000
CAPTURED: Final = 16  # alternatives of a text that is captured (macros, `set` blocks): most are prose
_SHOWN: Final = 24
_UNFOLLOWED: Final = "a name that is computed in a way that cannot be followed"
_BARE = frozenset(("global", "macro", "method", "made", "generator", "loop", "number", "numbers"))
CHANGED: Final = "changed"  # lists and mappings that were changed in place, by name

Env: TypeAlias = dict[Any, Value]

# Tenths of a microsecond, about: what a variable takes that is copied, a row that is compared.
_WORK: Final = 4_000_000
_FOLLOWED: Final = _WORK // 4  # of it in loops that are followed and in macros that are called
EACH: Final = 40  # what an expression takes


class GivenUp(Exception):
    """A template is made to be read for ever."""


class State:
    """One reading of one template; the layers above it read expressions and statements."""

    def __init__(self, syntax: Syntax) -> None:
        self.found = Findings()
        self.syntax = syntax
        self.env: Env = {}
        self.out: Value | None = None  # what is being captured
        self.guard: Why = NO_REASON
        self.systems = systems(syntax.all_nodes)
        self.operator: nodes.Expr | None = None  # the message that is the system's where we are
        self.steps = 0
        self.work = 0
        self.depth = 0
        self.spaces = 0
        self.writes = 0  # of what macros see: namespaces, lists, variables of the template
        self.scopes = 0  # loops, macros and the like that are open
        self.stack: list[nodes.Node] = []
        self.seen: set[int] = set()  # accesses

    @property
    def spent(self) -> bool:
        """Whether the time for following each item and call is over."""
        return self.steps > _STEPS or self.work > _FOLLOWED

    def charge(self, items: int) -> None:
        """Count work.

        Raises:
            GivenUp: it is more than a reading may take.
        """
        self.work += items
        if self.work > _WORK:
            raise GivenUp

    # ------------------------------------------------------------------------------- told by the layers above

    def eval(self, node: nodes.Node, caller: Value | None = None) -> Value:
        """What an expression may be."""
        raise NotImplementedError

    def enter(self, node: Any, args: Sequence[Value], named: dict[str, Value], caller: Value | None = None) -> Value:
        """The text that a macro gives."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------- scopes

    def forked(self, branches: Sequence[Callable[[], None]]) -> None:
        """Each of the branches from here, then what any of them leaves."""
        env, out, guard = self.env, self.out, self.guard
        ends: list[tuple[Env, Value | None]] = []
        for branch in branches:
            self.charge(EACH + 2 * len(env))
            self.env, self.out = dict(env), out
            branch()
            ends.append((self.env, self.out))
            self.guard = guard
        self.env = _merged([end for end, _ in ends])
        if out is not None:
            self.out = joined([end for _, end in ends if end is not None])

    def leave(self, outer: Env) -> None:
        """Out of a scope: what is set in it stays in it, what namespaces and lists hold does not."""
        self.charge(2 * len(self.env))
        heap = {key: value for key, value in self.env.items() if isinstance(key, tuple)}
        if all(outer.get(key) is value for key, value in heap.items()):
            self.env = outer
            return
        self.env = {**outer, **heap}
        for (space, name), value in heap.items():
            if space == CHANGED and name in outer:
                self.env[name] = value

    def bind(self, target: nodes.Node, value: Value) -> None:
        """A value to a name, a member of a namespace, or several in turn."""
        value = value.because(self.guard)
        if isinstance(target, nodes.Name):
            self.env[identifier(target.name)] = value
            self.writes += not self.scopes
        elif isinstance(target, nodes.NSRef):
            for atom in self.env.get(identifier(target.name), UNKNOWN).atoms:
                if isinstance(atom, Thing) and atom.kind == "namespace":
                    self.writes += self.env.get((atom.name, target.attr)) is not value
                    self.env[atom.name, target.attr] = value
        elif isinstance(target, nodes.Tuple | nodes.List):
            for number, part in enumerate(target.items):
                self.bind(part, _unpacked(value, number, len(target.items)))
        elif isinstance(target, nodes.Getattr | nodes.Getitem):
            self.eval(target.node)

    # ------------------------------------------------------------------------------------------------- values

    def iterated(self, value: Value) -> tuple[list[Value], bool]:
        """The items of it, and whether these are all, in their order."""
        value = solid(value)
        if len(value.atoms) == 1 and not isinstance(value.atoms[0], Thing):
            items = _items(value.atoms[0])
            self.charge(5 * len(items))
            if len(items) <= LONGEST_LIST:
                return [each.because(value.why) for each in items] if value.why else items, True
            return [MANY.because(value.why)], False
        items = []
        for atom in value.atoms:
            if isinstance(atom, Thing):
                items.append(item(atom))
            else:
                items += _items(atom)
        self.charge(5 * len(items))
        if len(items) > LONGEST_LIST:
            items = [*items[:LONGEST_LIST], MANY]
        return [each.because(value.why) for each in items], False

    def crossed(
        self, left: Value, right: Value, work: Callable[[Atom, Atom], Value], most: int = 2 * ALTERNATIVES
    ) -> Value:
        """What the work gives for each pair of alternatives."""
        self.charge(EACH + EACH * min(len(left.atoms) * len(right.atoms), most))
        if len(left.atoms) == len(right.atoms) == 1:
            value = work(left.atoms[0], right.atoms[0])
        elif len(left.atoms) * len(right.atoms) > most:
            value = MANY
        else:
            value = joined([work(one_, other) for one_ in left.atoms for other in right.atoms])
        return value.because(left.why | right.why) if left.why or right.why else value

    def concat(self, parts: Sequence[Value]) -> Value:
        """The text of one after the other."""
        value = parts[0]
        for part in parts[1:]:
            value = self.crossed(value, part, tied)
        return value

    # --------------------------------------------------------------------------------------------- what is told

    def emit(self, value: Value, node: nodes.Node) -> None:
        """Text of the prompt, or of what is captured."""
        why = value.why | self.guard
        if self.out is not None:
            self.out = self.crossed(self.out, value, tied, CAPTURED)
            self.out = self.out.because(why)
        if why:
            self.found.says(self.guard, value.why, [text for atom in value.atoms for text in known_texts(atom)], node)
        for atom in value.atoms:
            if isinstance(atom, Str) and atom.built and not atom.text.isascii():
                self.found.writes(atom, node)

    def reached(self, way: str, node: nodes.Node, key: Atom = None, base: Atom = None) -> Value:
        """A step into Python's internals, by a name that may have been put together."""
        name = key.text if isinstance(key, Str) and key.built else ""
        root = base.name if isinstance(base, Thing) and base.kind == "internal" else ""
        pieces = tuple(piece for piece in pieces_of((key,)) if piece is not node)
        self.found.reach(way, node, pieces, name, root)
        return one(Thing("internal", way))

    def unfolded(self, base: Atom, key: Atom, node: nodes.Node, how: str) -> None:
        """A name that is not known, or computed: everyday on data, and telling where it can only be an attribute's."""
        if isinstance(key, Str):
            if _bare(base) and how in ("", "attr"):
                self.found.dynamic(f"{shown(base)}[{key.text[:_SHOWN]!r}]", "a name that is computed", node)
            return
        if not isinstance(key, Thing):
            return
        spoken = key.kind == "data" and key.name in ("text", "part", "pieces")
        if key.kind == "mixed" and any(opens_internal(piece) for piece in key.base):
            form = "…".join(key.base)
            self.found.dynamic(f"{shown(base)}|attr({form!r})", f"a name made of {form!r} and data", node)
        elif how == "attr" and key.kind in ("data", "variable", "mixed"):
            whose = "what a message says" if spoken else f"`{key.name}` of the request" if key.name else "the request"
            self.found.dynamic(f"{shown(base)}|attr({key.name or '…'})", f"an attribute that {whose} names", node)
        elif (key.kind == "many" and not (isinstance(base, Table) and base.rows)) or (
            key.kind in ("unknown", "mixed") and (how == "attr" or _bare(base))
        ):
            self.found.dynamic(f"{shown(base)}[…]", _UNFOLLOWED, node)
        elif spoken and isinstance(base, Thing) and base.kind in ("global", "macro", "method", "made"):
            self.found.dynamic(f"{shown(base)}[{key.name}]", "an attribute that what a message says names", node)


def identifier(name: str) -> str:
    """The name as Python reads it."""
    return name if name.isascii() else normalize("NFKC", name)


def _bare(base: Atom) -> bool:
    """Whether nothing of it is found by a computed name: text, numbers, functions, the list of messages."""
    if isinstance(base, Thing):
        return base.kind in _BARE or (base.kind == "data" and base.name == "messages")
    return base is not None and not isinstance(base, Table)


def _merged(envs: Sequence[Env]) -> Env:
    merged = dict(envs[0])
    for other in envs[1:]:
        for name, value in other.items():
            known = merged.get(name)
            if known is not value:
                merged[name] = joined((known, value)) if known is not None else value
    return merged


def _items(atom: Atom) -> list[Value]:
    """What a loop over a constant goes through."""
    if isinstance(atom, Seq):
        return list(atom.items)
    if isinstance(atom, Table):
        return [key for key, _ in atom.rows]
    return [built(character, atom) for character in atom.text[: LONGEST_LIST + 1]] if isinstance(atom, Str) else []


def _unpacked(value: Value, number: int, count: int) -> Value:
    found: list[Value] = []
    for atom in value.atoms:
        if isinstance(atom, Thing):
            found.append(item(atom))
        else:
            items = _items(atom)
            found += items[number : number + 1] if len(items) == count else ()
    return joined(found).because(value.why)

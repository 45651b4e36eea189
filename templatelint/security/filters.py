"""Filters → what they give, and what they ask of each item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jinja2 import nodes

from templatelint.security import pure
from templatelint.security.atoms import leaves, percent, solid
from templatelint.security.calls import KEEPING, Calls
from templatelint.security.requests import OPERATORS, item, keyed, list_of
from templatelint.security.showing import GENERATORS, PRINTABLE, printed
from templatelint.security.values import (
    EMPTY,
    MANY,
    NUMBER,
    UNKNOWN,
    Atom,
    Seq,
    Str,
    Table,
    Thing,
    Value,
    data,
    joined,
    one,
    plain,
    texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ASKING_FIRST = frozenset(("selectattr", "rejectattr", "groupby", "sum"))  # by their first argument
_ASKING = _ASKING_FIRST | {"map", "sort", "unique", "min", "max", "join"}
_PRINTING = frozenset(("string", "e", "escape", "forceescape", "pprint", "urlencode", "striptags"))
_COUNTING = frozenset(("length", "count", "wordcount"))
_NUMBERS = frozenset(("int", "float", "round", "abs"))
_PICKING = frozenset(("select", "reject", "selectattr", "rejectattr"))
_LONGEST_NUMBER = 5
_LOOKED_AT = 8  # items of a list in which words are looked for
TESTS: Final[Mapping[str, str]] = {
    "eq": "eq",
    "equalto": "eq",
    "==": "eq",
    "ne": "ne",
    "!=": "ne",
    "in": "in",
    "gt": "gt",
    "greaterthan": "gt",
    ">": "gt",
    "ge": "gteq",
    ">=": "gteq",
    "lt": "lt",
    "lessthan": "lt",
    "<": "lt",
    "le": "lteq",
    "<=": "lteq",
}

_Named = dict[str, Value]


class Filters(Calls):
    """Reads filters."""

    def filter(self, node: nodes.Filter) -> Value:
        """A chain of them: a long one is no deep one."""
        chain: list[nodes.Filter] = []
        inner: nodes.Expr | None = node
        while isinstance(inner, nodes.Filter):
            self.seen.add(id(inner))
            chain.append(inner)
            inner = inner.node
        value = self.eval(inner) if inner is not None else UNKNOWN
        return self.through(chain, value)

    def through(self, chain: list[nodes.Filter], value: Value) -> Value:
        """The value through filters, the last of the chain first."""
        for link in reversed(chain):
            self.seen.add(id(link))
            args, named = self.arguments(link)
            value = self.apply(link.name, value, args, named, link)
        return value

    def keyed_by(self, left: Value, operator: str, right: Value, node: nodes.Node) -> int | None:
        """The trigger that a comparison of what a message says with words is, or of the clock with a time."""
        for spoken, words in ((left, right), (right, left)):
            tag = keyed(spoken)
            if tag is None:
                continue
            if operator in ("in", "notin") and tag == "part" and words is left:
                return None  # what members a part has
            constants = [atom for atom in leaves(words) if not isinstance(atom, Thing)]
            if constants:
                return self.found.trigger(tag, operator, constants, node)
        return None

    def apply(self, name: str, value: Value, args: list[Value], named: _Named, node: nodes.Node) -> Value:
        """What one filter makes of a value."""
        self.steps += 1
        if name in ("attr", "getattr"):
            return self.member(value, args[0] if args else named.get("name", UNKNOWN), node, "attr")
        asked = self._asked(name, value, args, named, node)
        if asked is not None:
            return asked
        if name in _PICKING:
            return self._picked(name, value, args, node)
        if name not in _PRINTING:
            value = solid(value)
        made = joined([self._atom(name, atom, args, named, node) for atom in value.atoms]).because(value.why)
        return _with_generator(name, made) if name in GENERATORS else made

    # ----------------------------------------------------------------------------------------- of every item

    def _asked(self, name: str, value: Value, args: list[Value], named: _Named, node: nodes.Node) -> Value | None:
        """What a filter gives that asks an attribute, or another filter, of every item; None for others."""
        if name not in _ASKING:
            return None
        attribute = named.get("attribute")
        if attribute is None and name in _ASKING_FIRST and args and any(texts(args[0])):
            attribute = args[0]
        if attribute is None and name == "join" and len(args) > 1:
            attribute = args[1]
        items, known = self.iterated(value)
        if attribute is not None:
            found = [self._path(each, attribute, name, node) for each in items or [UNKNOWN]]
            return self._mapped(name, found, known=known) if name in ("map", "sum", "min", "max") else None
        if name != "map" or not args:
            return None
        if self.spent:
            return MANY
        names = [text.text for text in texts(args[0])]
        found = [
            joined([self.apply(filtering, each, args[1:], named, node) for filtering in names])
            for each in (items or [UNKNOWN])
            if names
        ]
        return self._mapped(name, found, known=known)

    def _path(self, value: Value, attribute: Value, name: str, node: nodes.Node) -> Value:
        """What `attribute='a.b.0'` is of an item."""
        found: list[Value] = []
        for way in attribute.atoms:
            member = value
            if isinstance(way, Str):
                for step in way.text.split("."):
                    number = step.isdecimal() and len(step) <= _LONGEST_NUMBER
                    key = one(int(step)) if number else one(Str(step, way.pieces, built=way.built))
                    member = self.member(member, key, node, name)
            elif isinstance(way, Thing):
                member = self.member(member, one(way), node, "attr")
            found.append(member)
        return joined(found)

    def _mapped(self, name: str, found: list[Value], *, known: bool) -> Value:
        if known:
            return _with_generator(name, one(Seq(tuple(found))))
        return list_of(found[0]) if len(found) == 1 else joined(found)

    def _picked(self, name: str, value: Value, args: list[Value], node: nodes.Node) -> Value:
        """`select` and its like: some of the items, in their order."""
        rest = args[1:] if name.endswith("attr") else args
        why = value.why
        if len(rest) > 1:
            operators = [TESTS[text.text] for text in texts(rest[0]) if text.text in TESTS]
            for each in self.iterated(value)[0][:_LOOKED_AT]:
                if name.endswith("attr"):
                    each = self._path(each, args[0], name, node)  # noqa: PLW2901 (of the item, what is asked)
                triggers = [self.keyed_by(each, operator, rest[1], node) for operator in operators]
                why |= frozenset(trigger for trigger in triggers if trigger is not None)
        if name == "selectattr" and len(rest) > 1 and OPERATORS.issuperset(text.text for text in texts(rest[1])):
            return data("system").because(why)
        return Value(_with_generator(name, value).atoms, why)

    # ------------------------------------------------------------------------------------------- of one atom

    def _atom(self, name: str, atom: Atom, args: list[Value], named: _Named, node: nodes.Node) -> Value:
        if name in ("default", "d"):
            return _defaulted(atom, args, named)
        if isinstance(atom, Thing):
            return self._thing(name, atom, args, named, node)
        if name == "format" and isinstance(atom, Str):
            given = self.built_in("dict", [], named) if named else one(Seq(tuple(args)))
            return self.crossed(one(atom), given, percent)
        part = _PARTS.get(name)
        if part is not None and isinstance(atom, Str | Seq | Table):
            return part(self, atom, args, named)
        if isinstance(atom, Str) and not pure.known_filter(name):
            return MANY
        return self.pure(lambda given, keys: pure.filtered(name, plain(atom), given, keys), atom, args, named)

    def _thing(self, name: str, atom: Thing, args: list[Value], named: _Named, node: nodes.Node) -> Value:
        if name == "string":
            return printed(atom)
        if atom.kind == "data":
            return self._data(name, atom, args, node)
        if name in _COUNTING or name in _NUMBERS:
            return NUMBER
        if atom.kind in PRINTABLE and name not in GENERATORS:
            return self.apply(name, printed(atom), args, named, node) if printed(atom).only != atom else UNKNOWN
        return one(atom) if atom.kind in ("mixed", "many") else UNKNOWN

    def _data(self, name: str, atom: Thing, args: list[Value], node: nodes.Node) -> Value:
        tag = atom.name
        if name in ("first", "last", "random"):
            return item(atom) if tag in ("messages", "pieces") else one(atom)
        if name in _COUNTING:
            return data("length") if tag in ("text", "part", "pieces") else NUMBER
        if name in _NUMBERS:
            return one(atom) if tag == "clock" else NUMBER
        if name == "replace":
            return self.of_data(atom, "replace", args, node)
        if name == "list" and tag == "text":
            return data("pieces")
        return one(atom) if name in KEEPING else UNKNOWN

    # ------------------------------------------------- filters that pass on what a list or mapping holds, known or not

    def _first(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        del args, named
        items = self.iterated(one(atom))[0]
        return items[0] if items else one(Thing("undefined"))

    def _last(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        del args, named
        items = self.iterated(one(atom))[0]
        return items[-1] if items else one(Thing("undefined"))

    def _random(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        del args, named
        return joined(self.iterated(one(atom))[0])

    def _list(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        del args, named
        return one(Seq(tuple(self.iterated(one(atom))[0])))

    def _reverse(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        if isinstance(atom, Str):
            return self.pure(lambda given, keys: pure.filtered("reverse", plain(atom), given, keys), atom, args, named)
        return one(Seq(tuple(reversed(self.iterated(one(atom))[0]))))

    def _items(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        del args, named
        return one(Seq(tuple(one(Seq(row)) for row in atom.rows))) if isinstance(atom, Table) else UNKNOWN

    def _join(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        between = args[0].only if args else named["d"].only if "d" in named else Str("")
        items = one(Seq(tuple(self.iterated(one(atom))[0])))
        return self.joined_by(between, items) if isinstance(between, Str) else UNKNOWN


def _with_generator(name: str, made: Value) -> Value:
    """The items, and the object that prints as no list."""
    if all(isinstance(atom, Thing) for atom in made.atoms):
        return made
    return Value((*made.atoms, Thing("generator", GENERATORS.get(name, name))), made.why)


def _defaulted(atom: Atom, args: list[Value], named: _Named) -> Value:
    other = args[0] if args else named.get("default_value", EMPTY)
    certain = not isinstance(atom, Thing) and atom is not None and len(args) < 2 and "boolean" not in named  # noqa: PLR2004 (the flag)
    return one(atom) if certain else joined((one(atom), other))


_PARTS: Mapping[str, Callable[[Filters, Any, list[Value], _Named], Value]] = {
    "first": Filters._first,  # noqa: SLF001 (the table of this class)
    "last": Filters._last,  # noqa: SLF001 (as above)
    "random": Filters._random,  # noqa: SLF001 (as above)
    "list": Filters._list,  # noqa: SLF001 (as above)
    "reverse": Filters._reverse,  # noqa: SLF001 (as above)
    "items": Filters._items,  # noqa: SLF001 (as above)
    "join": Filters._join,  # noqa: SLF001 (as above)
}

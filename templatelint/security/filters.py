"""Filters → what they give, and what they ask of each item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jinja2 import nodes

from templatelint.security import pure
from templatelint.security.atoms import leaves, percent, solid, truth
from templatelint.security.calls import KEEPING, MAKING, Calls, holding
from templatelint.security.requests import OPERATORS, item, keyed, list_of
from templatelint.security.showing import GENERATORS, PRINTABLE, printed
from templatelint.security.state import EACH
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
    Unknown,
    Value,
    data,
    joined,
    one,
    plain,
    sole,
    texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# where the attribute stands that a filter asks every item for
_ASKING_AT: Final[Mapping[str, int]] = {
    "selectattr": 0,
    "rejectattr": 0,
    "groupby": 0,
    "sum": 0,
    "join": 1,
    "max": 1,
    "min": 1,
    "unique": 1,
    "sort": 2,
}
_ASKING = frozenset(_ASKING_AT) | {"map"}
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

_KINDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda it: isinstance(it, str),
    "number": lambda it: isinstance(it, int | float),
    "integer": lambda it: isinstance(it, int) and not isinstance(it, bool),
    "boolean": lambda it: isinstance(it, bool),
    "mapping": lambda it: isinstance(it, dict),
    "none": lambda it: it is None,
    "defined": lambda it: True,  # noqa: ARG005 (every constant is)
    "undefined": lambda it: False,  # noqa: ARG005 (as above)
    "odd": lambda it: it % 2 == 1,
    "even": lambda it: it % 2 == 0,
    "upper": lambda it: str(it).isupper(),
    "lower": lambda it: str(it).islower(),
    "true": lambda it: it is True,
    "false": lambda it: it is False,
}
_Named = dict[str, Value]


def tested(name: Atom, value: Value, args: Sequence[Value]) -> bool | None:
    """Whether a test holds of constants; None where that is not known."""
    if not isinstance(name, Str):
        return None
    try:
        given = plain(sole(value))
        if name.text in TESTS and len(args) == 1:
            return bool(pure.arithmetic(TESTS[name.text], given, plain(sole(args[0]))))
        if name.text == "divisibleby" and len(args) == 1:
            return not pure.arithmetic("mod", given, plain(sole(args[0])))
        kind = _KINDS.get(name.text)
        return None if kind is None or args else bool(kind(given))
    except (Unknown, TypeError, ValueError):
        return None


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
        self.charge(EACH)
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
        place = _ASKING_AT.get(name)
        if attribute is None and place is not None and len(args) > place:
            attribute = args[place]
        items, known = self.iterated(value)
        if attribute is not None and not (attribute.only is None and name != "map"):
            found = [self._path(each, attribute, name, node) for each in items or [UNKNOWN]]
            if name in ("map", "sum"):
                more = [MANY] if "default" in named else []
                return self._mapped(name, [joined((each, *more)) for each in found], known=known)
            return _ordered(name, value, items, known=known) or self._joining(name, found, args, named, known=known)
        return self._each(items, args, named, node, known=known) if name == "map" and args else None

    def _joining(self, name: str, found: list[Value], args: list[Value], named: _Named, *, known: bool) -> Value | None:
        """`join` of what is asked of each item."""
        if name != "join" or not known:
            return None
        between = args[0].only if args else named["d"].only if "d" in named else Str("")
        return self.joined_by(between, one(Seq(tuple(found)))) if isinstance(between, Str) else MANY

    def _each(self, items: list[Value], args: list[Value], named: _Named, node: nodes.Node, *, known: bool) -> Value:
        """`map` with the name of a filter."""
        if self.spent:
            return MANY
        names = [text.text for text in texts(args[0])]
        if any(isinstance(atom, Thing) for atom in args[0].atoms):
            self.found.dynamic("map(…)", "a filter whose name is computed in a way that cannot be followed", node)
            return MANY
        found = [
            joined([self.apply(filtering, each, args[1:], named, node) for filtering in names])
            for each in (items or [UNKNOWN])
            if names
        ]
        return self._mapped("map", found, known=known)

    def _path(self, value: Value, attribute: Value, name: str, node: nodes.Node) -> Value:
        """What `attribute='a.b.0'` is of an item."""
        found: list[Value] = []
        for way in attribute.atoms:
            member = value
            if isinstance(way, Str):
                for step in way.text.replace(",", ".").split("."):
                    number = step.isdecimal() and len(step) <= _LONGEST_NUMBER
                    key = one(int(step)) if number else one(Str(step, way.pieces, built=way.built))
                    member = self.member(member, key, node, name)
            elif isinstance(way, int):
                member = self.member(member, one(way), node, name)
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
        wanted = [text.text for text in texts(rest[1])] if len(rest) > 1 else []
        if name == "selectattr" and wanted and OPERATORS.issuperset(wanted):
            return data("system").because(why)
        items, known = self.iterated(value)
        if known:
            value = self._kept(name, items, args, node)
        elif any(not isinstance(atom, Thing) for atom in value.atoms):
            value = joined((value, MANY))
        return Value(_with_generator(name, value).atoms, why)

    def _kept(self, name: str, items: list[Value], args: list[Value], node: nodes.Node) -> Value:
        """Those of constant items that a test keeps; nothing that is known where it cannot be made."""
        rest = args[1:] if name.endswith("attr") else args
        kept: list[Value] = []
        for each in items:
            asked = self._path(each, args[0], name, node) if name.endswith("attr") and args else each
            holds = tested(rest[0].only, asked, rest[1:]) if rest else truth(asked)
            if holds is None:
                return joined((one(Seq(tuple(items))), MANY))
            if holds is not name.startswith("reject"):
                kept.append(each)
        return one(Seq(tuple(kept)))

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
        if not pure.known_filter(name):
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
        if name in MAKING and args and atom.kind != "many":
            return joined((one(atom) if atom.kind == "mixed" else UNKNOWN, holding(args)))
        return one(atom) if atom.kind in ("mixed", "many") else UNKNOWN

    def _data(self, name: str, atom: Thing, args: list[Value], node: nodes.Node) -> Value:
        tag = atom.name
        if name == "list" and tag == "text":
            atom = Thing("data", "pieces")
        if name in ("first", "last", "random"):
            return item(atom) if tag in ("messages", "pieces") else one(atom)
        if name in _COUNTING:
            return data("length") if tag in ("text", "part", "pieces") else NUMBER
        if name in _NUMBERS:
            return one(atom) if tag == "clock" else NUMBER
        if name == "replace":
            return self.of_data(atom, "replace", args, node)
        kept = one(atom) if name in KEEPING else UNKNOWN
        return joined((one(atom), holding(args))) if name in MAKING and args else kept

    # ------------------------------------------------- filters that pass on what a list or mapping holds, known or not

    def _first(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        del args, named
        items, known = self.iterated(one(atom))
        return items[0] if items and known else MANY if items else one(Thing("undefined"))

    def _last(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        del args, named
        items, known = self.iterated(one(atom))
        return items[-1] if items and known else MANY if items else one(Thing("undefined"))

    def _random(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        del args, named
        return joined(self.iterated(one(atom))[0])

    def _list(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        del args, named
        items, known = self.iterated(one(atom))
        return one(Seq(tuple(items))) if known else MANY

    def _reverse(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        if isinstance(atom, Str):
            return self.pure(lambda given, keys: pure.filtered("reverse", plain(atom), given, keys), atom, args, named)
        items, known = self.iterated(one(atom))
        return one(Seq(tuple(reversed(items)))) if known else MANY

    def _items(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        del args, named
        return one(Seq(tuple(one(Seq(row)) for row in atom.rows))) if isinstance(atom, Table) else UNKNOWN

    def _join(self, atom: Atom, args: list[Value], named: _Named) -> Value:
        between = args[0].only if args else named["d"].only if "d" in named else Str("")
        return self.joined_by(between, one(atom)) if isinstance(between, Str) else MANY


def _ordered(name: str, value: Value, items: list[Value], *, known: bool) -> Value | None:
    """What a filter picks or puts in order by an attribute of each item."""
    if name in ("min", "max"):
        return joined((*items, MANY)) if known else joined(items or [UNKNOWN])
    return joined((value, MANY)) if name in ("sort", "unique") and known else None


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

"""Two atoms → what operators make of them; one atom → whether it is true, and what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from templatelint.security import pure
from templatelint.security.showing import PRINTABLE, printed
from templatelint.security.values import (
    LONGEST_LIST,
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
    built,
    data,
    joined,
    lifted,
    one,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CONTAINER_METHODS = frozenset(
    (
        "append",
        "clear",
        "copy",
        "count",
        "extend",
        "get",
        "index",
        "insert",
        "items",
        "keys",
        "pop",
        "popitem",
        "remove",
        "reverse",
    )
) | {"setdefault", "sort", "update", "values"}
_UNDEFINED = one(Thing("undefined"))
_KEPT = 8  # known pieces of a text that is not wholly known
_LONGEST_PIECE = 80


def truth(value: Value) -> bool | None:
    """Whether it counts as true; None where that is not known."""
    found = {_counts(atom) for atom in value.atoms}
    return found.pop() if len(found) == 1 else None


def _counts(atom: Atom) -> bool | None:
    if isinstance(atom, Str):
        return bool(atom.text)
    if isinstance(atom, Seq | Table):
        return bool(atom.items if isinstance(atom, Seq) else atom.rows)
    return None if isinstance(atom, Thing) else bool(atom)


def leaves(value: Value) -> Iterator[Atom]:
    """The atoms, and those of the lists and keys of the mappings among them."""
    for atom in value.atoms:
        if isinstance(atom, Seq):
            for item in atom.items:
                yield from item.atoms
        elif isinstance(atom, Table):
            for key, _ in atom.rows:
                yield from key.atoms
        else:
            yield atom


def solid(value: Value) -> Value:
    """Without the object that a filter gives besides the items in it."""
    if len(value.atoms) > 1 and any(isinstance(atom, Thing) and atom.kind == "generator" for atom in value.atoms):
        return Value(tuple(a for a in value.atoms if not (isinstance(a, Thing) and a.kind == "generator")), value.why)
    return value


def tied(left: Atom, right: Atom) -> Value:
    """The text of one and then the other (`~`)."""
    if isinstance(left, Str) and isinstance(right, Str):
        if not left.text:
            return one(right)
        return one(left) if not right.text else built(left.text + right.text, left, right)
    if isinstance(left, Thing) or isinstance(right, Thing):
        return _tied_to_thing(left, right)
    try:
        return built(str(plain(left)) + str(plain(right)), left, right)
    except (Unknown, ValueError):
        return MANY


def _tied_to_thing(left: Atom, right: Atom) -> Value:
    tag = ""
    for atom in (left, right):
        if isinstance(atom, Thing):
            if atom.kind == "many":
                return one(atom)
            if atom.kind in PRINTABLE:
                ends = [
                    printed(end).atoms[0] if end is atom and isinstance(end, Thing) else end for end in (left, right)
                ]
                return tied(*ends) if ends[0] is not left or ends[1] is not right else UNKNOWN
            if atom.kind == "data":
                tag = tag or atom.name
    known = tuple(text[:_LONGEST_PIECE] for text in (*known_texts(left), *known_texts(right)))
    if known:
        return one(Thing("mixed", tag, known[:_KEPT]))
    return data(tag) if tag else UNKNOWN


def known_texts(atom: Atom) -> tuple[str, ...]:
    """The text that it is, or those that are known to stand in it."""
    if isinstance(atom, Str):
        return (atom.text,) if atom.text else ()
    return tuple(atom.base) if isinstance(atom, Thing) and atom.kind == "mixed" else ()


def added(left: Atom, right: Atom) -> Value:
    """`left + right`."""
    if isinstance(left, Str | Thing) and isinstance(right, Str | Thing):
        return tied(left, right)
    if isinstance(left, Seq) and isinstance(right, Seq):
        items = left.items + right.items
        return one(Seq(items)) if len(items) <= LONGEST_LIST else MANY
    for one_, other in ((left, right), (right, left)):
        unknown = isinstance(one_, Thing) and one_.kind in ("unknown", "numbers", "many")
        if unknown and isinstance(other, Seq) and any(isinstance(atom, Str) for atom in leaves(one(other))):
            return MANY
    return calculated("add", left, right)


def calculated(operator: str, left: Atom, right: Atom) -> Value:
    """What another operator gives."""
    if isinstance(left, Thing) or isinstance(right, Thing):
        text = any(isinstance(atom, Thing) and atom.kind in ("many", "mixed") for atom in (left, right))
        return MANY if text and operator == "mul" else _number(left, right)
    try:
        return lifted(pure.arithmetic(operator, plain(left), plain(right)), left, right)
    except Unknown:
        return MANY


def _number(left: Atom, right: Atom) -> Value:
    tags = {atom.name for atom in (left, right) if isinstance(atom, Thing) and atom.kind == "data"}
    return data("clock") if "clock" in tags else data("length") if "length" in tags else NUMBER


def percent(left: Atom, right: Atom) -> Value:
    """`left % right`."""
    if not isinstance(left, Str):
        return calculated("mod", left, right)
    try:
        return built(pure.percent(left.text, plain(right)), left, *list(leaves(one(right)))[:_KEPT])
    except Unknown:
        given = list(leaves(one(right)))
        things = [atom for atom in given if isinstance(atom, Thing)]
        if "*" in left.text or not things or any(atom.kind == "many" for atom in things):
            return MANY
        known = [text[:_LONGEST_PIECE] for atom in (left, *given) for text in known_texts(atom)]
        return one(Thing("mixed", "", tuple(known[:_KEPT])))


def cut(atom: Atom, bounds: list[Atom]) -> Value:
    """A slice of it."""
    if isinstance(atom, Thing):
        return one(atom) if atom.kind in ("data", "variable", "mixed", "internal", "numbers", "many") else UNKNOWN
    where = _slice(bounds)
    if isinstance(atom, Str):
        return built(atom.text[where], atom) if where is not None else one(Thing("many"))
    if where is None:
        return MANY
    if isinstance(atom, Seq):
        return one(Seq(atom.items[where]))
    return one(atom[where]) if isinstance(atom, bytes) else UNKNOWN


def _slice(bounds: list[Atom]) -> slice | None:
    numbers = [bound for bound in bounds if bound is None or isinstance(bound, int)]
    return slice(*numbers) if len(numbers) == len(bounds) and bounds[2] != 0 else None


def row(table: Table, key: Atom) -> Value:
    """What a mapping holds under that key; any of it where the key is not known."""
    if isinstance(key, Thing):
        return joined([value for _, value in table.rows]) if table.rows else UNKNOWN
    found = [
        value
        for name, value in table.rows
        if any(isinstance(atom, Thing) or (type(atom) is type(key) and atom == key) for atom in name.atoms)
    ]
    return found[-1] if found else method_of(table, key)


def method_of(atom: Atom, key: Atom) -> Value:
    """The method of that name; undefined where it is none."""
    name = key.text if isinstance(key, Str) else ""
    if isinstance(key, int) and isinstance(atom, bytes) and -len(atom) <= key < len(atom):
        return one(atom[key])
    known = isinstance(atom, Str | bytes | int) and (name in pure.METHODS)
    known = known or (isinstance(atom, Seq | Table) and name in _CONTAINER_METHODS)
    return one(Thing("method", name, atom)) if known else _UNDEFINED


def place(atom: Str | Seq, key: Atom) -> Value:
    """What a text or list has at that place."""
    count = len(atom.text) if isinstance(atom, Str) else len(atom.items)
    if isinstance(key, int):
        if not -count <= key < count:
            return _UNDEFINED
        return built(atom.text[key], atom) if isinstance(atom, Str) else atom.items[key]
    if isinstance(key, Str):
        return method_of(atom, key)
    if isinstance(atom, Seq):
        return joined(atom.items)
    return joined([built(character, atom) for character in dict.fromkeys(atom.text[:LONGEST_LIST])])


LOOP_NUMBERS: Final = frozenset(
    ("index", "index0", "first", "last", "length", "revindex", "revindex0", "depth", "depth0")
)


def loop(items: Sequence[Value], number: int) -> Value:
    """What `loop` is in that round."""
    count = len(items)
    facts = {
        "index": number + 1,
        "index0": number,
        "first": number == 0,
        "last": number == count - 1,
        "length": count,
        "revindex": count - number,
        "revindex0": count - number - 1,
    }
    rows = [(one(Str(name)), one(fact)) for name, fact in facts.items()]
    beside = {
        "previtem": items[number - 1] if number else _UNDEFINED,
        "nextitem": items[number + 1] if number + 1 < count else _UNDEFINED,
        "depth": NUMBER,
        "depth0": NUMBER,
        "cycle": MANY,
        "changed": MANY,
    }
    return one(Table((*rows, *((one(Str(name)), value) for name, value in beside.items()))))

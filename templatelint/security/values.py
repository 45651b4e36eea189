"""What an expression of a template may stand for, without any of it being run: constants, and things that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jinja2 import nodes

# Beyond these, what is put together is said to be unknown: hostile templates multiply alternatives.
ALTERNATIVES: Final = 64
LONGEST_TEXT: Final = 4096
LONGEST_LIST: Final = 512
LARGEST_NUMBER: Final = 1 << 64
_PIECES = 6


class Str:
    """A text that is known.

    Attributes:
        text: the text.
        pieces: the literals that it was made of, some of the first.
        built: it does not stand in the template as it is.
    """

    __slots__ = ("built", "pieces", "text")

    def __init__(self, text: str, pieces: tuple[nodes.Node, ...] = (), *, built: bool = False) -> None:
        self.text = text
        self.pieces = pieces
        self.built = built

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Str) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


class Seq:
    """A list or tuple whose length is known."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Value, ...]) -> None:
        self.items = items


class Table:
    """A mapping whose keys are written in the template."""

    __slots__ = ("rows",)

    def __init__(self, rows: tuple[tuple[Value, Value], ...]) -> None:
        self.rows = rows


class Thing:
    """What is not known, or no constant: data of the request, a function, a macro.

    Attributes:
        kind: `data` (name: which part of a request), `variable` (name: as it is called), `global`, `method`
            (of `base`), `macro` (of `base`), `namespace`, `mixed` (text with the known pieces `base`), `many` (text
            in more ways than are followed), `internal` (name: the path to it), `unknown`.
    """

    __slots__ = ("base", "kind", "name")

    def __init__(self, kind: str, name: str = "", base: Any = None) -> None:
        self.kind = kind
        self.name = name
        self.base = base

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Thing)
            and self.kind == other.kind
            and self.name == other.name
            and (self.base is other.base or (self.kind == "mixed" and self.base == other.base))
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.base if self.kind == "mixed" else None))


Atom = Str | Seq | Table | Thing | bytes | int | float | bool | None
Why = frozenset[int]
NO_REASON: Why = frozenset()


class Value:
    """One of the atoms; which one may depend on what a message says (`why`: numbers of the triggers)."""

    __slots__ = ("atoms", "why")

    def __init__(self, atoms: tuple[Atom, ...], why: Why = NO_REASON) -> None:
        self.atoms = atoms
        self.why = why

    def because(self, why: Why) -> Value:
        """The same, which depends on these triggers besides."""
        return self if why <= self.why else Value(self.atoms, self.why | why)

    @property
    def only(self) -> Atom | Thing:
        """The one atom; an unknown thing where there are several."""
        return self.atoms[0] if len(self.atoms) == 1 else _UNKNOWN


_UNKNOWN = Thing("unknown")
UNKNOWN = Value((_UNKNOWN,))
MANY = Value((Thing("many"),))
NOTHING = Value((None,))
EMPTY = Value((Str(""),))
# a number or a truth that is not known
TRUTH = Value((True, False))
NUMBER = Value((Thing("number"),))


def one(atom: Atom) -> Value:
    """The value that is this atom."""
    return Value((atom,))


def data(tag: str) -> Value:
    """What a request holds of that kind."""
    found = _DATA.get(tag)
    if found is None:
        found = _DATA[tag] = Value((Thing("data", tag),))
    return found


_DATA: dict[str, Value] = {}


def joined(values: Iterable[Value]) -> Value:
    """One of these; unknown where that is too much to tell apart."""
    different: list[Value] = []
    for value in values:
        if not different or (value is not different[-1] and value.atoms != different[-1].atoms):
            different.append(value)
        elif not value.why <= different[-1].why:
            different[-1] = different[-1].because(value.why)
    if len(different) == 1:
        return different[0]
    atoms: dict[Any, Atom] = {}
    why: Why = NO_REASON
    for value in different:
        why |= value.why
        for atom in value.atoms:
            # True is 1 to Python
            atoms.setdefault(atom if isinstance(atom, Str | Thing) else (type(atom), atom), atom)
            if len(atoms) > ALTERNATIVES:
                return MANY.because(why)
    return Value(tuple(atoms.values()), why) if atoms else UNKNOWN.because(why)


def pieces_of(atoms: Iterable[Atom]) -> tuple[nodes.Node, ...]:
    """The first literals that the texts were made of."""
    found: list[nodes.Node] = []
    for atom in atoms:
        if isinstance(atom, Str):
            found += [piece for piece in atom.pieces if not any(piece is one for one in found)]
            if len(found) >= _PIECES:
                break
    return tuple(found[:_PIECES])


def built(text: str, *sources: Atom) -> Value:
    """A text that was put together of these; unknown where it is too long for a name."""
    if len(text) > LONGEST_TEXT:
        return MANY
    return one(Str(text, pieces_of(sources), built=True))


def texts(value: Value) -> Iterator[Str]:
    """The texts that it may be."""
    return (atom for atom in value.atoms if isinstance(atom, Str))


def plain(atom: Atom, depth: int = 0) -> Any:
    """The atom as Python data.

    Raises:
        Unknown: it is not wholly known, or too deep.
    """
    if isinstance(atom, Str):
        return atom.text
    if isinstance(atom, Thing) or depth > 8:  # noqa: PLR2004 (deeper than any name hides)
        raise Unknown
    if isinstance(atom, Seq):
        return [plain(sole(item), depth + 1) for item in atom.items]
    if isinstance(atom, Table):
        rows = [(plain(sole(key), depth + 1), plain(sole(value), depth + 1)) for key, value in atom.rows]
        return {key if isinstance(key, str | int | float | None) else str(key): value for key, value in rows}
    return atom


def sole(value: Value) -> Atom:
    """The only atom.

    Raises:
        Unknown: there are several.
    """
    if len(value.atoms) != 1:
        raise Unknown
    return value.atoms[0]


def lifted(result: Any, *sources: Atom) -> Value:
    """Python data as a value that was made of these."""
    if isinstance(result, str):
        return built(result, *sources)
    if isinstance(result, int) and abs(result) >= LARGEST_NUMBER:
        return NUMBER
    if isinstance(result, int | float | None) or (isinstance(result, bytes) and len(result) <= LONGEST_TEXT):
        return one(result)
    if isinstance(result, list | tuple | dict | bytes) and len(result) > LONGEST_LIST:
        return MANY
    made: Atom = _UNKNOWN
    if isinstance(result, list | tuple):
        made = Seq(tuple(lifted(item, *sources) for item in result))
    elif isinstance(result, dict):
        made = Table(tuple((lifted(key, *sources), lifted(item, *sources)) for key, item in result.items()))
    return one(made)


class Unknown(Exception):
    """What an operation gives is not known."""

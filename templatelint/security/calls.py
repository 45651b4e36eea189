"""Calls of functions, macros and methods → what they give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jinja2 import nodes

from templatelint.security import pure
from templatelint.security.atoms import known_texts, leaves
from templatelint.security.formats import Field, fields
from templatelint.security.internals import CALLED, METHODS, internal
from templatelint.security.members import Members, computed, leaves_data
from templatelint.security.requests import is_object
from templatelint.security.showing import listed, printed, shown
from templatelint.security.state import CHANGED, EACH, identifier
from templatelint.security.values import (
    EMPTY,
    LONGEST_LIST,
    MANY,
    NO_REASON,
    NOTHING,
    NUMBER,
    TRUTH,
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
    sole,
    texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_CALLS: Final = 5  # macros in each other
_LONGEST_NUMBER = 5  # digits of an index or argument in a format
# fmt: off (packed as prose is)
KEEPING: Final = frozenset(  # methods and filters after which a text is still what was said
    [
        "list",
        "selectattr",
        "rejectattr",
        "select",
        "reject",
        "sort",
        "unique",
        "reverse",
        "batch",
        "slice",
        "default",
        "d",
        "safe",
        "string",
        "trim",
        "lower",
        "upper",
        "title",
        "capitalize",
        "replace",
        "indent",
        "join",
        "tojson",
        "fromjson",
        "from_json",
        "escape",
        "e",
        "forceescape",
        "striptags",
        "truncate",
        "wordwrap",
        "center",
        "urlencode",
        "format",
        "dictsort",
        "items",
        "strip",
        "lstrip",
        "rstrip",
        "removeprefix",
        "removesuffix",
        "casefold",
        "swapcase",
        "encode",
        "decode",
        "copy",
        "expandtabs",
        "ljust",
        "rjust",
        "zfill",
        "splitlines",
    ]
)
# fmt: on
_SPLITS = frozenset(("split", "rsplit", "partition", "rpartition", "splitlines"))
_LOOKS = frozenset(("startswith", "endswith", "find", "rfind", "index", "rindex", "count"))
_SPOKEN = frozenset(("text", "part", "pieces"))
_CHANGING = frozenset(
    ("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update")
)
_LONGEST_PIECE = 80
_PIECES = 8
# what is called by a computed name and is none of these is not known
_UNTOLD = frozenset(("unknown", "many", "mixed"))
# methods and filters that put their arguments into the text
MAKING = frozenset(
    ("replace", "join", "center", "ljust", "rjust", "format", "indent", "truncate", "wordwrap", "translate")
) | {"default", "d", "batch", "slice"}
_FORMATS = frozenset(("format", "format_map"))


class Calls(Members):
    """Reads calls."""

    def __init__(self, syntax: Any) -> None:
        super().__init__(syntax)
        self._known: dict[Any, Value] = {}

    def call(self, node: nodes.Call, caller: Value | None) -> Value:
        """What a call gives."""
        self.seen.add(id(node))
        args, named = self.arguments(node)
        target = node.node
        if isinstance(target, nodes.Getattr) and not internal(target.attr):
            self.seen.add(id(target))
            base = self.eval(target.node)
            return joined([self._asked_of(atom, target.attr, args, named, node) for atom in base.atoms]).because(
                base.why
            )
        callee = self.eval(target)
        if any(isinstance(atom, Thing) and atom.kind in _UNTOLD for atom in callee.atoms) and self._named(target):
            self.found.dynamic("[…](…)", "a method whose name is computed in a way that cannot be followed", node)
        return joined([self._called(atom, args, named, node, caller) for atom in callee.atoms]).because(callee.why)

    def _named(self, target: nodes.Expr) -> bool:
        """Whether what is called goes by a name that is computed and not known."""
        if isinstance(target, nodes.Filter):
            return target.name in ("attr", "getattr") and computed(target)
        if not isinstance(target, nodes.Getitem) or not computed(target):
            return False
        return any(isinstance(atom, Thing) and atom.kind in _UNTOLD for atom in self.eval(target.arg).atoms)

    def _asked_of(self, base: Atom, name: str, args: list[Value], named: dict[str, Value], node: nodes.Call) -> Value:
        """What `base.name(…)` gives: a method, or what is held under that name."""
        held = None
        if isinstance(base, Table):
            held = next((value for key, value in reversed(base.rows) if Str(name) in key.atoms), None)
        elif isinstance(base, Thing) and base.kind == "namespace":
            held = self.env.get((base.name, name))
        if held is not None:
            return joined([self._called(atom, args, named, node, None) for atom in held.atoms]).because(held.why)
        return self.method(base, name, args, named, node)

    def arguments(self, node: nodes.Call | nodes.Filter) -> tuple[list[Value], dict[str, Value]]:
        """The arguments by place and by name, what is spread among them."""
        args = [self.eval(arg) for arg in node.args]
        named: dict[str, Value] = {identifier(str(pair.key)): self.eval(pair.value) for pair in node.kwargs}
        if node.dyn_args is not None:
            args += self.iterated(self.eval(node.dyn_args))[0]
        if node.dyn_kwargs is not None:
            named |= _names(self.eval(node.dyn_kwargs))
        return args, named

    def _called(
        self, callee: Atom, args: list[Value], named: dict[str, Value], node: nodes.Call, caller: Value | None
    ) -> Value:
        if not isinstance(callee, Thing):
            return MANY
        if callee.kind == "internal" or (callee.kind == "variable" and callee.name in CALLED):
            return self.reached(f"{callee.name}({listed(args)})", node, base=callee)
        if callee.kind == "macro":
            return self._expanded(callee, args, named, caller)
        if callee.kind == "method":
            return self.method(callee.base, callee.name, args, named, node)
        if callee.kind in ("made", "many", "loop"):
            return MANY
        return self.built_in(callee.name, args, named) if callee.kind == "global" else UNKNOWN

    def _expanded(self, macro: Thing, args: list[Value], named: dict[str, Value], caller: Value | None) -> Value:
        node = macro.base
        if self.spent or len(self.stack) >= _CALLS or sum(known is node for known in self.stack) > 1:
            return MANY
        given = tuple((name, arg.atoms, arg.why) for name, arg in (*((None, arg) for arg in args), *named.items()))
        known = (id(node), given, self.guard, self.operator, self.writes, caller and caller.atoms)
        if known not in self._known:
            before = self.writes
            self._known[known] = self.enter(node, args, named, caller)
            if self.writes != before:  # it has done more than give a text
                return self._known.pop(known)
        return self._known[known]

    # ------------------------------------------------------------------------------------- jinja2's own functions

    def built_in(self, name: str, args: list[Value], named: dict[str, Value]) -> Value:
        """What one of the functions that every template has gives."""
        work = _BUILT_IN.get(name)
        if work is not None:
            return work(self, args, named)
        return MANY if name in ("lipsum", "self") else one(Thing("made", name))

    def _namespace(self, args: list[Value], named: dict[str, Value]) -> Value:
        self.spaces += 1
        space = f"{self.spaces}"
        for arg in args:
            named = _names(arg) | named
        self.env.update({(space, key): value for key, value in named.items()})
        return one(Thing("namespace", space))

    def _mapping(self, args: list[Value], named: dict[str, Value]) -> Value:
        rows: list[tuple[Value, Value]] = []
        for arg in args:
            if isinstance(arg.only, Table):
                rows += arg.only.rows
            else:
                items, known = self.iterated(arg)
                pairs = [_pair(item.only) for item in items]
                if not known or None in pairs or len(items) + len(rows) > LONGEST_LIST:
                    return UNKNOWN if all(isinstance(a, Thing) and a.kind == "data" for a in arg.atoms) else MANY
                rows += [pair for pair in pairs if pair is not None]
        rows += [(one(Str(key, built=True)), value) for key, value in named.items()]
        return one(Table(tuple(rows)))

    def _numbers(self, args: list[Value], named: dict[str, Value]) -> Value:
        del named
        try:
            numbers = range(*[plain(sole(arg)) for arg in args])
            return lifted(list(numbers)) if len(numbers) <= LONGEST_LIST else one(Thing("numbers"))
        except (Unknown, TypeError, ValueError, OverflowError):
            return one(Thing("numbers"))

    def _time(self, args: list[Value], named: dict[str, Value]) -> Value:
        form = args[0].only if args else named.get("format", UNKNOWN).only
        if isinstance(form, Str) and "%" not in form.text.replace("%%", ""):
            return built(form.text.replace("%%", "%"), form)
        return data("clock")

    # -------------------------------------------------------------------------------------------------- methods

    def method(self, base: Atom, name: str, args: list[Value], named: dict[str, Value], node: nodes.Node) -> Value:
        """What a method gives."""
        within = isinstance(base, Thing) and base.kind == "internal"
        if within or name in METHODS or leaves_data(base, name):
            return self.reached(f"{shown(base)}.{name}({listed(args)})", node, base=base)
        if name in _FORMATS:
            return self._formatted(base, args, named, node)
        if name == "get" and args:
            return self._got(base, args, node)
        if isinstance(base, Thing):
            return self._of_object(base, name, args, node)
        if isinstance(base, Table | Seq):
            given = _of_list(base, name, args) if isinstance(base, Seq) else _of_mapping(base, name, args)
            if name in _CHANGING:
                self._change(base, name, args, named)
            return given
        joins = name == "join" and len(args) > 0
        return (
            self.joined_by(base, args[0])
            if isinstance(base, Str) and joins
            else self.pure(lambda given, keys: pure.method(plain(base), name, given, keys), base, args, named)
        )

    def _got(self, base: Atom, args: list[Value], node: nodes.Node) -> Value:
        """`base.get(key, default)`."""
        found = self.member(one(base), args[0], node)
        if not isinstance(base, Table) or any(isinstance(atom, Thing) for atom in args[0].atoms):
            return joined((found, *args[1:2]))
        missing = any(isinstance(atom, Thing) and atom.kind == "undefined" for atom in found.atoms)
        return found if not missing else args[1] if len(args) > 1 else NOTHING

    def _of_object(self, base: Thing, name: str, args: list[Value], node: nodes.Node) -> Value:
        if base.kind in ("data", "mixed", "many"):
            return self.of_data(base, name, args, node)
        if base.kind == "made" or (base.kind, base.name) == ("global", "self"):
            return MANY
        if base.kind == "global" and (base.name, name) == ("dict", "fromkeys") and args:
            keys, known = self.iterated(args[0])
            return one(Table(tuple((key, NOTHING) for key in keys))) if known else MANY
        return holding(args) if name in MAKING else UNKNOWN

    def of_data(self, base: Thing, name: str, args: list[Value], node: nodes.Node) -> Value:
        """What a method (or filter) of a request's data gives, and whether it looks for words."""
        tag = base.name if base.kind == "data" else ""
        if tag in _SPOKEN and args and name in (_LOOKS | _SPLITS | {"replace"}):
            return self._looked(tag, name, args, node)
        if tag in ("text", "part") and name in _SPLITS:
            return data("pieces")
        if name in ("items", "values") and tag != "text":
            return data(tag)
        if name in MAKING and args:
            return joined((one(base), holding(args)))
        if name in KEEPING or base.kind == "many":
            return one(base)
        return holding(args) if name in MAKING else UNKNOWN

    def _looked(self, tag: str, name: str, args: list[Value], node: nodes.Node) -> Value:
        trigger = self.found.trigger(tag, name, leaves(args[0]), node)
        why = frozenset(() if trigger is None else (trigger,))
        if name in _LOOKS:
            return (TRUTH if name.endswith("with") else NUMBER).because(why)
        if name in _SPLITS:
            return data("pieces").because(why)
        return joined((data(tag), args[1] if len(args) > 1 else UNKNOWN, *_held(args[1:]))).because(why)

    def joined_by(self, between: Str, items: Value) -> Value:
        """`between.join(items)`."""
        parts, known = self.iterated(items)
        if not known:
            return (joined((UNKNOWN, holding(parts))) if between.text else UNKNOWN).because(items.why)
        if between.text:
            parts = [part for each in parts for part in (one(between), each)][1:]
        return self.concat([EMPTY, *parts])

    def pure(
        self,
        work: Callable[[list[Any], dict[str, Any]], Any],
        base: Atom,
        args: Sequence[Value],
        named: Mapping[str, Value],
    ) -> Value:
        """The work's result for constant arguments, each alternative of one of them."""
        why = NO_REASON.union(*(arg.why for arg in (*args, *named.values())))
        self.charge(_weight(base))
        several = [number for number, arg in enumerate(args) if len(arg.atoms) > 1]
        if len(several) > 1:
            return MANY.because(why)
        rows = [list(args)]
        if several:
            at = several[0]
            rows = [[*args[:at], one(atom), *args[at + 1 :]] for atom in args[at].atoms]
        try:
            keys = {name: plain(sole(value)) for name, value in named.items()}
            sources = [[sole(arg) for arg in row] for row in rows]
            return joined([lifted(work([*map(plain, row)], keys), base, *row) for row in sources]).because(why)
        except Unknown:
            return MANY.because(why) if why else MANY

    # ---------------------------------------------------------------------------------------- changes in place

    def _change(self, base: Table | Seq, name: str, args: list[Value], named: dict[str, Value]) -> None:
        """A list or mapping of the template's own that is changed in place, under all names that it goes by."""
        changed = self._changed(base, name, args, named)
        found = False
        self.charge(len(self.env))
        for key, value in list(self.env.items()):
            if not any(atom is base for atom in value.atoms):
                continue
            found = True
            alone = len(value.atoms) == 1
            self.env[key] = changed if alone else joined((value, changed))
            if not isinstance(key, tuple):
                self.env[CHANGED, key] = self.env[key]
        self.writes += 1
        if not found and not self._fresh(base):
            self.muddle()

    def _fresh(self, base: Table | Seq) -> bool:
        """Whether nothing holds it but the expression itself."""
        pending: list[Any] = [value for value in self.env.values() if value.atoms]
        for _ in range(3):
            self.charge(5 * len(pending))
            inner = [atom for value in pending for atom in value.atoms if isinstance(atom, Table | Seq)]
            if any(atom is base for atom in inner):
                return False
            pending = [
                item
                for atom in inner
                for item in (atom.items if isinstance(atom, Seq) else [value for _, value in atom.rows])
            ]
        return not pending

    def muddle(self) -> None:
        """Any list or mapping may have been changed in any way."""
        for key, value in list(self.env.items()):
            if key != "loop" and any(isinstance(atom, Table | Seq) for atom in value.atoms):
                self.env[key] = joined((value, MANY))
                if not isinstance(key, tuple):
                    self.env[CHANGED, key] = self.env[key]

    def _changed(self, base: Table | Seq, name: str, args: list[Value], named: dict[str, Value]) -> Value:
        """What it is then."""
        if isinstance(base, Seq) and name in _LIST_CHANGES:
            items = _LIST_CHANGES[name](base.items, args, self)
            if items is not None and len(items) <= LONGEST_LIST:
                return one(Seq(items))
        elif name == "clear":
            return one(Table(()))
        elif isinstance(base, Table) and name == "update" and len(args) <= 1:
            more = self._mapping(args, named).only
            if isinstance(more, Table) and len(base.rows) + len(more.rows) <= LONGEST_LIST:
                return one(Table((*base.rows, *more.rows)))
        elif isinstance(base, Table) and name == "setdefault" and len(args) == 2 and not named:  # noqa: PLR2004 (key, value)
            return one(Table(((args[0], args[1]), *base.rows)))  # what stands behind it wins
        return joined((one(base), MANY))

    # -------------------------------------------------------------------------------------------------- formats

    def _formatted(self, base: Atom, args: list[Value], named: dict[str, Value], node: nodes.Node) -> Value:
        """`str.format`, whose fields may ask for attributes."""
        objects = any(is_object(atom) for arg in (*args, *named.values()) for atom in arg.atoms)
        if not isinstance(base, Str):
            spoken = isinstance(base, Thing) and base.kind == "data" and base.name in _SPOKEN
            if objects and isinstance(base, Thing):
                whose = "whatever a message names in a format" if spoken else "whatever a computed format names"
                self.found.dynamic(f"{base.name or '(…)'}.format(…)", whose, node)
            return joined((UNKNOWN, holding([*args, *named.values()])))
        if objects and base.built:
            self.found.dynamic(f"{shown(base)}.format(…)", "whatever a computed format names", node)
        if len(args) == 1 and isinstance(args[0].only, Table) and not named:  # format_map
            named = _names(args[0])
        parts: list[Value] = [EMPTY]
        automatic = 0
        for literal, field in fields(base.text):
            if literal:
                parts.append(built(literal, base))
            if field is not None:
                number = field.first or str(automatic)
                automatic += not field.first
                parts.append(self._field(field, _argument(number, args, named), base, node))
        return self.concat(parts)

    def _field(self, field: Field, value: Value, base: Str, node: nodes.Node) -> Value:
        for dotted, name in field.path:
            number = not dotted and name.isdecimal() and len(name) <= _LONGEST_NUMBER
            key = one(int(name)) if number else one(Str(name, base.pieces, built=base.built))
            value = self.member(value, key, node, "format", dotted=dotted)
        found: list[Value] = []
        for atom in value.atoms:
            try:
                made = printed(atom) if isinstance(atom, Thing) else None
                if "{" in field.spec:  # its own specification is made of fields
                    found.append(MANY)
                    continue
                text = pure.formatted(plain(atom), field.conversion, field.spec) if made is None else ""
                found.append(made or built(text, base, atom))
            except Unknown:
                found.append(UNKNOWN if isinstance(atom, Thing) and not field.spec else MANY)
        return joined(found).because(value.why)


def _of_list(base: Seq, name: str, args: list[Value]) -> Value:
    if name in ("index", "count"):
        return NUMBER
    if name == "copy":
        return one(Seq(base.items))
    del args
    return joined(base.items) if name == "pop" else NOTHING if name in _CHANGING else MANY


def _of_mapping(base: Table, name: str, args: list[Value]) -> Value:
    keys, values = [key for key, _ in base.rows], [value for _, value in base.rows]
    made: Value | None = None
    if name in ("pop", "setdefault"):
        made = joined((*values, *args[1:2]))
    elif name == "popitem":
        made = one(Seq((joined(keys), joined(values))))
    elif name == "items":
        made = one(Seq(tuple(one(Seq(row)) for row in base.rows)))
    elif name in ("keys", "values"):
        made = one(Seq(tuple(keys if name == "keys" else values)))
    elif name == "copy":
        made = one(Table(base.rows))
    return made or (NOTHING if name in _CHANGING else MANY)


def _pair(atom: Atom) -> tuple[Value, Value] | None:
    if isinstance(atom, Seq) and len(atom.items) == 2:  # noqa: PLR2004 (key, value)
        return atom.items[0], atom.items[1]
    return None


def _weight(atom: Atom) -> int:
    """How much work a constant is."""
    if isinstance(atom, Str | bytes):
        return EACH + len(atom.text if isinstance(atom, Str) else atom) // 8
    return EACH + 15 * len(atom.items if isinstance(atom, Seq) else atom.rows if isinstance(atom, Table) else ())


def _held(args: Sequence[Value]) -> list[Value]:
    made = holding(args)
    return [] if made is UNKNOWN else [made]


def holding(args: Sequence[Value]) -> Value:
    """A text that is not known and in which these are."""
    if any(isinstance(atom, Thing) and atom.kind == "many" for arg in args for atom in arg.atoms):
        return MANY
    known = [text[:_LONGEST_PIECE] for arg in args for atom in leaves(arg) for text in known_texts(atom)]
    return one(Thing("mixed", "", tuple(known[:_PIECES]))) if known else UNKNOWN


def _argument(name: str, args: list[Value], named: dict[str, Value]) -> Value:
    if name.isdecimal():
        return args[int(name)] if len(name) <= _LONGEST_NUMBER and int(name) < len(args) else UNKNOWN
    return named.get(name, UNKNOWN)


def _names(value: Value) -> dict[str, Value]:
    """The rows of a mapping whose keys are texts."""
    table: Any = value.only
    return {text.text: item for key, item in table.rows for text in texts(key)} if isinstance(table, Table) else {}


def _appended(items: tuple[Value, ...], args: list[Value], state: Calls) -> tuple[Value, ...]:
    del state
    return (*items, *args[:1])


def _extended(items: tuple[Value, ...], args: list[Value], state: Calls) -> tuple[Value, ...] | None:
    more, known = state.iterated(args[0]) if args else ([], True)
    return (*items, *more) if known else None


def _inserted(items: tuple[Value, ...], args: list[Value], state: Calls) -> tuple[Value, ...] | None:
    del state
    at = args[0].only if args else 0
    if not isinstance(at, int):
        return None
    return (*items[:at], *args[1:2], *items[at:])


def _popped(items: tuple[Value, ...], args: list[Value], state: Calls) -> tuple[Value, ...] | None:
    del state
    at = args[0].only if args else -1
    if not isinstance(at, int) or not -len(items) <= at < len(items):
        return None
    return (*items[: at % len(items)], *items[at % len(items) + 1 :])


def _reversed(items: tuple[Value, ...], args: list[Value], state: Calls) -> tuple[Value, ...]:
    del args, state
    return items[::-1]


def _cleared(items: tuple[Value, ...], args: list[Value], state: Calls) -> tuple[Value, ...]:
    del items, args, state
    return ()


_LIST_CHANGES: Mapping[str, Callable[[tuple[Value, ...], list[Value], Calls], tuple[Value, ...] | None]] = {
    "append": _appended,
    "clear": _cleared,
    "extend": _extended,
    "insert": _inserted,
    "pop": _popped,
    "reverse": _reversed,
}
_BUILT_IN: Mapping[str, Callable[[Calls, list[Value], dict[str, Value]], Value]] = {
    "namespace": Calls._namespace,  # noqa: SLF001 (the table of this class)
    "dict": Calls._mapping,  # noqa: SLF001 (as above)
    "range": Calls._numbers,  # noqa: SLF001 (as above)
    "strftime_now": Calls._time,  # noqa: SLF001 (as above)
}

"""Calls of functions, macros and methods → what they give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jinja2 import nodes

from templatelint.security import pure
from templatelint.security.atoms import leaves
from templatelint.security.formats import Field, fields
from templatelint.security.internals import CALLED, METHODS, internal
from templatelint.security.members import Members, leaves_data
from templatelint.security.requests import is_object
from templatelint.security.showing import listed, printed, shown
from templatelint.security.state import CHANGED
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
            found = [self.method(atom, target.attr, args, named, node) for atom in base.atoms]
            self._change(target, base.only, args)
            return joined(found).because(base.why)
        callee = self.eval(target)
        return joined([self._called(atom, args, named, node, caller) for atom in callee.atoms]).because(callee.why)

    def arguments(self, node: nodes.Call | nodes.Filter) -> tuple[list[Value], dict[str, Value]]:
        """The arguments by place and by name, what is spread among them."""
        args = [self.eval(arg) for arg in node.args]
        named: dict[str, Value] = {str(pair.key): self.eval(pair.value) for pair in node.kwargs}
        if node.dyn_args is not None:
            args += self.iterated(self.eval(node.dyn_args))[0]
        if node.dyn_kwargs is not None:
            named |= _names(self.eval(node.dyn_kwargs))
        return args, named

    def _called(
        self, callee: Atom, args: list[Value], named: dict[str, Value], node: nodes.Call, caller: Value | None
    ) -> Value:
        if not isinstance(callee, Thing):
            return UNKNOWN
        if callee.kind == "internal" or (callee.kind == "variable" and callee.name in CALLED):
            return self.reached(f"{callee.name}({listed(args)})", node, base=callee)
        if callee.kind == "macro":
            return self._expanded(callee, args, named, caller)
        if callee.kind == "method":
            return self.method(callee.base, callee.name, args, named, node)
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
        return work(self, args, named) if work is not None else one(Thing("made", name))

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
                pairs = [pair.only for pair in self.iterated(arg)[0]]
                rows += [
                    (pair.items[0], pair.items[1]) for pair in pairs if isinstance(pair, Seq) and len(pair.items) > 1
                ]
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
        if isinstance(base, Thing | Table | Seq):
            return self._of_object(base, name, args, node) if isinstance(base, Thing) else self._of_list(base, name)
        if isinstance(base, Str) and name == "join" and args:
            return self.joined_by(base, args[0])
        return self.pure(lambda given, keys: pure.method(plain(base), name, given, keys), base, args, named)

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
        if base.kind == "global" and (base.name, name) == ("dict", "fromkeys") and args:
            return one(Table(tuple((key, NOTHING) for key in self.iterated(args[0])[0])))
        return UNKNOWN

    def _of_list(self, base: Table | Seq, name: str) -> Value:
        if isinstance(base, Seq):
            return joined(base.items) if name == "pop" else UNKNOWN
        if name == "items":
            return one(Seq(tuple(one(Seq(row)) for row in base.rows)))
        if name in ("keys", "values"):
            return one(Seq(tuple(row[name == "values"] for row in base.rows)))
        return one(base) if name == "copy" else UNKNOWN

    def of_data(self, base: Thing, name: str, args: list[Value], node: nodes.Node) -> Value:
        """What a method (or filter) of a request's data gives, and whether it looks for words."""
        tag = base.name if base.kind == "data" else ""
        if tag in _SPOKEN and args and name in (_LOOKS | _SPLITS | {"replace"}):
            return self._looked(tag, name, args, node)
        if tag in ("text", "part") and name in _SPLITS:
            return data("pieces")
        if name in ("items", "values") and tag != "text":
            return data(tag)
        return one(base) if name in KEEPING else UNKNOWN

    def _looked(self, tag: str, name: str, args: list[Value], node: nodes.Node) -> Value:
        trigger = self.found.trigger(tag, name, leaves(args[0]), node)
        why = frozenset(() if trigger is None else (trigger,))
        if name in _LOOKS:
            return (TRUTH if name.endswith("with") else NUMBER).because(why)
        if name in _SPLITS:
            return data("pieces").because(why)
        return joined((data(tag), args[1] if len(args) > 1 else UNKNOWN)).because(why)

    def joined_by(self, between: Str, items: Value) -> Value:
        """`between.join(items)`."""
        parts, known = self.iterated(items)
        if not known:
            return UNKNOWN.because(items.why)
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
            return UNKNOWN.because(why) if why else UNKNOWN

    # ---------------------------------------------------------------------------------------- changes in place

    def _change(self, target: nodes.Getattr, atom: Atom, args: list[Value]) -> None:
        """A list or mapping of the template's own that is changed in place, under the name it goes by."""
        changed: Atom = None
        if isinstance(atom, Seq) and target.attr in _LIST_CHANGES:
            changed = Seq(_LIST_CHANGES[target.attr](atom.items, args, self)[:LONGEST_LIST])
        elif isinstance(atom, Table) and target.attr in ("update", "setdefault") and args:
            more = args[0].only
            rows = more.rows if isinstance(more, Table) else ((args[0], args[1]),) if len(args) > 1 else ()
            changed = Table((*atom.rows, *rows)[-LONGEST_LIST:])
        if changed is None:
            return
        holder = target.node
        if isinstance(holder, nodes.Name):
            self.env[holder.name] = self.env[CHANGED, holder.name] = one(changed)
            self.writes += 1
        elif isinstance(holder, nodes.Getattr) and isinstance(holder.node, nodes.Name):
            space = self.env.get(holder.node.name, UNKNOWN).only
            if isinstance(space, Thing) and space.kind == "namespace":
                self.env[space.name, holder.attr] = one(changed)
                self.writes += 1

    # -------------------------------------------------------------------------------------------------- formats

    def _formatted(self, base: Atom, args: list[Value], named: dict[str, Value], node: nodes.Node) -> Value:
        """`str.format`, whose fields may ask for attributes."""
        if not isinstance(base, Str):
            objects = any(is_object(atom) for arg in (*args, *named.values()) for atom in arg.atoms)
            if objects and isinstance(base, Thing) and base.kind == "data" and base.name in _SPOKEN:
                self.found.dynamic(f"{base.name}.format(…)", "whatever a message names in a format", node)
            return UNKNOWN
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
                text = pure.formatted(plain(atom), field.conversion, field.spec) if made is None else ""
                found.append(made or built(text, base, atom))
            except Unknown:
                found.append(UNKNOWN)
        return joined(found).because(value.why)


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


def _extended(items: tuple[Value, ...], args: list[Value], state: Calls) -> tuple[Value, ...]:
    return (*items, *state.iterated(args[0])[0]) if args else items


def _inserted(items: tuple[Value, ...], args: list[Value], state: Calls) -> tuple[Value, ...]:
    del state
    at = args[0].only if args else 0
    at = at if isinstance(at, int) else 0
    return (*items[:at], *args[1:2], *items[at:])


def _popped(items: tuple[Value, ...], args: list[Value], state: Calls) -> tuple[Value, ...]:
    del state
    at = args[0].only if args else -1
    if not isinstance(at, int) or not -len(items) <= at < len(items):
        return items
    return (*items[: at % len(items)], *items[at % len(items) + 1 :])


def _reversed(items: tuple[Value, ...], args: list[Value], state: Calls) -> tuple[Value, ...]:
    del args, state
    return items[::-1]


_LIST_CHANGES: Mapping[str, Callable[[tuple[Value, ...], list[Value], Calls], tuple[Value, ...]]] = {
    "append": _appended,
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

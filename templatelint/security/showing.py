"""Atoms → how they are told, and what a template prints of things that are no data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from templatelint.security.values import EMPTY, MANY, Atom, Seq, Str, Table, Thing, Value, one

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LONGEST = 12
_ARGUMENTS = 2

GLOBALS: Final = frozenset(("cycler", "joiner", "namespace", "lipsum", "range", "dict", "self", "strftime_now"))
# what jinja2 3.1 prints of them, up to the first character that differs from run to run
_PRINTED: Mapping[str, str] = {
    "lipsum": "<function generate_lorem_ipsum at 0x7",
    "cycler": "<class 'jinja2.utils.Cycler'>",
    "joiner": "<class 'jinja2.utils.Joiner'>",
    "namespace": "<class 'jinja2.utils.Namespace'>",
    "range": "<class 'range'>",
    "dict": "<class 'dict'>",
    "self": "<TemplateReference None>",
    "strftime_now": "<function strftime_now at 0x7",
}
# filters that give a generator → the name it has
GENERATORS: Final[Mapping[str, str]] = {
    "select": "select_or_reject",
    "reject": "select_or_reject",
    "selectattr": "select_or_reject",
    "rejectattr": "select_or_reject",
    "map": "sync_do_map",
    "batch": "do_batch",
    "slice": "sync_do_slice",
    "unique": "do_unique",
    "items": "do_items",
}
PRINTABLE: Final = frozenset(("global", "made", "generator", "macro", "namespace", "undefined", "method"))


def printed(thing: Thing) -> Value:
    """What printing it gives, as far as that is known."""
    if thing.kind == "undefined":
        return EMPTY
    forms = {
        "global": _PRINTED.get(thing.name, ""),
        "generator": f"<generator object {thing.name} at 0x7",
        "made": f"<jinja2.utils.{thing.name.title()} object at 0x7",
        "macro": f"<Macro {thing.name!r}>",
        "method": f"<built-in method {thing.name} of ",
    }
    if thing.kind == "namespace":
        return MANY
    form = forms.get(thing.kind)
    return one(Str(form, built=True)) if form else one(thing)


def shown(atom: Atom) -> str:
    """How it is written in a path, in short."""
    if isinstance(atom, Str):
        return repr(atom.text if len(atom.text) <= _LONGEST else atom.text[: _LONGEST - 1] + "…")
    if isinstance(atom, Seq):
        return "[…]" if atom.items else "[]"
    if isinstance(atom, Table):
        return "{…}" if atom.rows else "{}"
    return _thing(atom) if isinstance(atom, Thing) else repr(atom)


def _thing(thing: Thing) -> str:
    if thing.kind in ("made", "namespace"):
        return "namespace()" if thing.kind == "namespace" else f"{thing.name}()"
    if thing.kind == "method":
        return f"{shown(thing.base)}.{thing.name}"
    return "(…)" if thing.kind == "generator" else thing.name or "(…)"


def path(base: Atom, key: Atom, how: str, *, dotted: bool) -> str:
    """The way from one to the other: `how` is the filter (or format) that takes it."""
    if isinstance(key, Str):
        return f"{shown(base)}.{key.text}" if dotted or how else f"{shown(base)}[{key.text!r}]"
    return f"{shown(base)}[{key if isinstance(key, int) else '…'}]"


def listed(args: Sequence[Value]) -> str:
    """The arguments of a call, the first of them."""
    first = ", ".join(shown(arg.only) if isinstance(arg.only, Str | int) else "…" for arg in args[:_ARGUMENTS])
    return first if len(args) <= _ARGUMENTS else first + ", …"

"""A value and a name or key → its attribute, its item, or what its filter makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.renderers.llamacpp.arguments import Misuse
from templatelint.renderers.llamacpp.methods import methods_of
from templatelint.renderers.llamacpp.usage import ARRAY_ACCESS, OBJECT_ACCESS, note
from templatelint.renderers.llamacpp.values import (
    Function,
    Trouble,
    Undefined,
    Value,
    as_key,
    called,
    hashable,
    is_list,
    no_member,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.model import ErrorKind
    from templatelint.renderers.llamacpp.scope import Scope


_MISSING = Undefined()


def attribute_of(value: Value, name: str, scope: Scope) -> Value:
    """`value.name`: methods come before members.

    Raises:
        Trouble: the value has neither.
    """
    watching = scope.run.watching
    if watching:
        note(value, name)
    handler = methods_of(value).get(name)
    if handler is not None:
        return Function(name, handler, value)
    if isinstance(value, Undefined):
        return no_member()
    found = value.get(name, _MISSING) if isinstance(value, dict) else _MISSING
    if watching:
        note(found)
        note(value, OBJECT_ACCESS)
    return Undefined(name) if type(found) is Undefined else found


def item_of(value: Value, key: Value, scope: Scope) -> Value:
    """`value[key]`: members come before methods.

    Raises:
        Trouble: the value has no items of such a key.
    """
    if isinstance(key, Undefined):
        return no_member()
    if not hashable(key):
        raise Trouble(f"{called(key)} cannot be a key")
    if isinstance(value, Undefined):
        return no_member()
    if isinstance(value, dict):
        found = value.get(as_key(key), _MISSING)
        if type(found) is Undefined:
            found = _method_of(value, text(key), scope)
    elif isinstance(key, str):
        found = _method_of(value, key, scope)
    elif isinstance(value, str) or is_list(value):
        found = _at_place(value, key)
    else:
        raise Trouble(f"{called(value)} has no items")
    if scope.run.watching:
        note(found)
        note(key)
        indexed = isinstance(key, int) and not isinstance(value, dict)
        note(value, ARRAY_ACCESS if indexed else OBJECT_ACCESS)
    return found


def _at_place(value: Sequence[Value], place: Value) -> Value:
    """An item of a list or a byte of a string; a string is not counted from its end."""
    if not isinstance(place, int):
        return no_member()
    if place < 0 and not isinstance(value, str):
        place += len(value)
    return value[place] if 0 <= place < len(value) else no_member()


def _method_of(value: Value, name: str, scope: Scope) -> Value:
    if scope.run.watching:
        note(value, name)
    handler = methods_of(value).get(name)
    return Undefined(name) if handler is None else Function(name, handler, value)


def filtered(value: Value, name: str, what: str, arguments: Sequence[Value], scope: Scope) -> Value:
    """`value|name(arguments)`; `what` is what messages call it.

    Raises:
        Trouble: there is no such filter for the value, or it fails.
    """
    if scope.run.watching:
        note(value, name)
    handler = methods_of(value).get(name)
    if handler is None:
        # of nothing jinja2 would not take it either, or as of an empty string
        kind: ErrorKind = "raised" if value is None or isinstance(value, Undefined) else "unsupported"
        raise Trouble(f"no {what} of {called(value)}", kind)
    try:
        return handler((value, *arguments), scope)
    except Misuse as misuse:
        raise Trouble(f"{what} {misuse}", misuse.kind) from None

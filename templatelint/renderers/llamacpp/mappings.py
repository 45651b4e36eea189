"""Methods and filters of mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.renderers.llamacpp import arguments as given
from templatelint.renderers.llamacpp.arguments import InNameOnly, is_mapping, is_string, require
from templatelint.renderers.llamacpp.general import tojson, whole_text
from templatelint.renderers.llamacpp.ordering import in_order, less
from templatelint.renderers.llamacpp.values import Value, true

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.renderers.llamacpp.scope import Scope
    from templatelint.renderers.llamacpp.values import Handler


def _mapping_method(look: Callable[[dict[Value, Value]], Value]) -> Handler:
    """A method that looks at the mapping alone."""

    def handler(args: Sequence[Value], scope: Scope) -> Value:
        del scope
        require(args, is_mapping)
        return look(args[0])

    return handler


def _get(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    given.count(args, 2, 3)
    require(args, is_mapping, is_string)
    mapping, key, *default = args
    return mapping.get(key, *default)


def _dictsort(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    by_value = given.named_or_at(args, "by", 2) == "value"
    backwards = true(given.named_or_at(args, "reverse", 3))

    def before(left: tuple[Value, Value], right: tuple[Value, Value]) -> bool:
        first, second = (right, left) if backwards else (left, right)
        return less(first[by_value], second[by_value])

    return dict(in_order(list(args[0].items()), before))


MAPPINGS: Mapping[str, Handler] = {
    "get": _get,
    "keys": _mapping_method(list),
    "values": _mapping_method(lambda mapping: list(mapping.values())),
    "items": _mapping_method(lambda mapping: list(mapping.items())),
    "tojson": tojson,
    "string": whole_text,
    "length": _mapping_method(len),
    "dictsort": _dictsort,
    "join": InNameOnly("a mapping"),
}

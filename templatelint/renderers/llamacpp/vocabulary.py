"""What llama.cpp's renderer has at all: the names that work on some kind of value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.renderers.llamacpp.arguments import InNameOnly
from templatelint.renderers.llamacpp.expressions import ALIASES, LACKING_GLOBALS
from templatelint.renderers.llamacpp.functions import LACKING_TESTS, TESTS
from templatelint.renderers.llamacpp.methods import TABLES

if TYPE_CHECKING:
    from templatelint.renderers.llamacpp.values import Handler

__all__ = ["FILTERS", "LACKING_GLOBALS", "METHODS", "TESTS_AT_HAND"]


def _works(handler: Handler) -> bool:
    return not isinstance(handler, InNameOnly)


METHODS = frozenset(name for table in TABLES for name, handler in table.items() if _works(handler))
FILTERS = METHODS | {alias for alias, name in ALIASES.items() if name in METHODS} | {"tojson"}
TESTS_AT_HAND = frozenset(TESTS) - LACKING_TESTS

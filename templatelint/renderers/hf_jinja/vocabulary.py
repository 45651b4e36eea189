"""The names that @huggingface/jinja 0.5.11 knows, whatever they are applied to; it takes them for granted nowhere else.

Read in its `src/runtime.ts`: `applyFilter`, `Environment.TESTS`, the `builtins` of its values and `setupGlobals`.
"""

from __future__ import annotations

FILTERS = frozenset(
    {
        "abs", "bool", "capitalize", "default", "dictsort", "first", "float", "get", "indent", "int", "items", "join",
        "keys", "last", "length", "list", "lower", "map", "rejectattr", "replace", "reverse", "safe", "selectattr",
        "sort", "string", "title", "tojson", "trim", "unique", "upper", "values",
    }
)  # fmt: skip

TESTS = frozenset(
    {
        "boolean", "callable", "defined", "eq", "equalto", "even", "false", "integer", "iterable", "lower", "mapping",
        "none", "number", "odd", "sequence", "string", "true", "undefined", "upper",
    }
)  # fmt: skip

METHODS = frozenset(
    {
        "capitalize", "dictsort", "endswith", "get", "items", "keys", "lower", "lstrip", "replace", "rstrip", "split",
        "startswith", "strip", "title", "upper", "values",
    }
)  # fmt: skip

LACKING_GLOBALS = frozenset({"cycler", "dict", "joiner", "lipsum"})

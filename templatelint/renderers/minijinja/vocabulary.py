"""The names that minijinja 2.14 knows as programs in Rust set it up; it takes them for granted nowhere else.

Read in `minijinja/src/defaults.rs` and `minijinja-contrib/src/pycompat.rs`; 2.8 has a few less. `changed` and `cycle`
are methods of `loop`.
"""

from __future__ import annotations

FILTERS = frozenset(
    {
        "abs", "attr", "batch", "bool", "capitalize", "chain", "count", "d", "default", "dictsort", "e", "escape",
        "first", "float", "format", "groupby", "indent", "int", "items", "join", "last", "length", "lines", "list",
        "lower", "map", "max", "min", "pprint", "reject", "rejectattr", "replace", "reverse", "round", "safe", "select",
        "selectattr", "slice", "sort", "split", "string", "sum", "title", "tojson", "trim", "unique", "upper", "zip",
    }
)  # fmt: skip

TESTS = frozenset(
    {
        "!=", "<", "<=", "==", ">", ">=", "boolean", "defined", "divisibleby", "endingwith", "eq", "equalto", "escaped",
        "even", "false", "filter", "float", "ge", "greaterthan", "gt", "in", "int", "integer", "iterable", "le",
        "lessthan", "lower", "lt", "mapping", "ne", "none", "number", "odd", "safe", "sameas", "sequence",
        "startingwith", "string", "test", "true", "undefined", "upper",
    }
)  # fmt: skip

METHODS = frozenset(
    {
        "capitalize", "changed", "count", "cycle", "endswith", "find", "format", "get", "isalnum", "isalpha", "isascii",
        "isdigit", "islower", "isnumeric", "isspace", "isupper", "items", "join", "keys", "lower", "lstrip", "replace",
        "rfind", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper", "values",
    }
)  # fmt: skip

LACKING_GLOBALS = frozenset({"cycler", "joiner", "lipsum"})

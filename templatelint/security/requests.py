"""What a request holds, by tags: which part of it an expression is, and so what may be asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jinja2 import nodes

from templatelint.security.values import NUMBER, UNKNOWN, Atom, Str, Thing, Value, data, one
from templatelint.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VARIABLES: Final[Mapping[str, Value]] = {
    "messages": data("messages"),
    "message": data("message"),
    "tools": data("tools"),
    "functions": data("tools"),
    "documents": data("tools"),
    "date_string": data("clock"),
    "current_date": data("clock"),
    "today": data("clock"),
    "now": data("clock"),
}
# members of a message that hold what it says
SPOKEN: Final = frozenset(("content", "text", "reasoning_content", "reasoning", "thinking", "refusal"))
_LISTS = frozenset(("parts", "blocks"))
_CALLS = frozenset(("tool_calls", "function_call"))
OPERATORS: Final = frozenset(("system", "developer"))
# what triggers are made of: texts, parts of them, lengths of them, the time
_KEYED = frozenset(("text", "part", "pieces", "clock", "length"))
_ITEMS = {"messages": "message", "text": "part", "pieces": "text"}
_OPEN = frozenset(("data", "variable", "unknown", "mixed", "namespace", "number", "undefined", "many"))
_OBJECTS = frozenset(("global", "macro", "method", "made", "namespace", "internal"))


def member(tag: str, key: Atom) -> Value:
    """A member of a request's data."""
    name = key.text if isinstance(key, Str) else None
    if tag == "messages":
        return data("message") if name is None else UNKNOWN
    if tag == "message":
        return data("text" if name in SPOKEN else "tools" if name in _CALLS else "field")
    if tag in ("text", "part"):
        if name is None:
            return data("part")
        return data("text" if name in SPOKEN or name in _LISTS else "field")
    return data("text" if tag == "pieces" else tag)


def item(thing: Thing) -> Value:
    """One of what a loop over it goes through."""
    if thing.kind == "data":
        return data(_ITEMS.get(thing.name, thing.name))
    if thing.kind == "numbers":
        return NUMBER
    return one(thing) if thing.kind in ("variable", "internal", "many", "mixed") else UNKNOWN


def list_of(value: Value) -> Value:
    """A list of such items."""
    return Value(tuple(Thing("data", "pieces") if a == Thing("data", "text") else a for a in value.atoms), value.why)


def keyed(value: Value) -> str | None:
    """The tag of a value that is what a message says, its length, or the time."""
    for atom in value.atoms:
        if isinstance(atom, Thing) and atom.name in _KEYED and atom.kind in ("data", "mixed"):
            return atom.name
    return None


def answers_any(atom: Atom) -> bool:
    """Whether keys of any name may be asked of it."""
    return atom.kind in _OPEN if isinstance(atom, Thing) else not isinstance(atom, Str | bytes | int | float | None)


def is_object(atom: Atom) -> bool:
    """Whether it is one of Python's objects rather than data."""
    return isinstance(atom, Thing) and atom.kind in _OBJECTS


def role_of(test: nodes.Node | None) -> nodes.Expr | None:
    """The message that is the system's where this holds; None where the test is not about that."""
    pending: list[Any] = [test]
    while pending:
        node = pending.pop()
        if isinstance(node, nodes.And):
            pending += (node.left, node.right)
        elif isinstance(node, nodes.Compare) and node.ops[0].op in ("eq", "in"):
            wanted = _words(node.ops[0].expr)
            spoken = node.expr
            if wanted and OPERATORS.issuperset(wanted) and _asked(spoken) == "role":
                return spoken.node if isinstance(spoken, nodes.Getattr | nodes.Getitem) else None
    return None


def systems(every: Sequence[nodes.Node]) -> frozenset[str]:
    """Names that only ever hold the system's message: set to it where its role was asked for, and to nothing else."""
    found: set[int] = set()
    for node in every:
        if isinstance(node, nodes.If) and (system := role_of(node.test)) is not None:
            inside = (part for statement in node.body for part in walk(statement))
            found.update(id(part) for part in inside if isinstance(part, nodes.Assign) and part.node == system)
    given = [node for node in every if isinstance(node, nodes.Assign)]
    fitting = {id(node.target) for node in given if id(node) in found or isinstance(node.node, nodes.Const)}
    bound = [node for node in every if isinstance(node, nodes.Name) and node.ctx != "load"]
    others = {node.name for node in bound if id(node) not in fitting}
    held = {node.target.name for node in given if id(node) in found and isinstance(node.target, nodes.Name)}
    return frozenset(held - others)


def _asked(node: nodes.Expr) -> Any:
    if isinstance(node, nodes.Getattr):
        return node.attr
    arg = node.arg if isinstance(node, nodes.Getitem) else None
    return arg.value if isinstance(arg, nodes.Const) else None


def _words(node: nodes.Expr) -> list[Any]:
    """The constants that it lists; nothing where it lists others."""
    items = node.items if isinstance(node, nodes.List | nodes.Tuple) else [node]
    words = [word.value for word in items if isinstance(word, nodes.Const) and isinstance(word.value, str)]
    return words if len(words) == len(items) else []

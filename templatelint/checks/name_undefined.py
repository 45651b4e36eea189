"""TL003: a variable, macro or function that no engine defines is called, or used where undefined breaks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jinja2 import nodes

from templatelint.model import Fault
from templatelint.syntax import Syntax, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = (
    "chat-basic",
    "chat-turns",
    "chat-turns-system",
    "tools-offer",
    "tools-many",
    "tool-call",
    "tool-loop",
)

_UNDEFINED = re.compile(r"'(\w+)' is undefined")
_SPECIAL_TOKEN = re.compile(r"\w+_token")  # those are the tokenizer's business
# what engines put into the template's globals, and names Jinja binds by itself
_GLOBALS = frozenset(
    {"range", "dict", "lipsum", "cycler", "joiner", "namespace", "raise_exception", "strftime_now"}
    | {"loop", "caller", "varargs", "kwargs", "self", "super"}
)


def check(view: View) -> Iterator[Fault]:
    """Take what the cells ran into, then calls of unknown names in branches that no cell reached."""
    syntax = view.syntax
    seen: dict[str, list[str]] = {}
    for case, error in view.failures():
        found = _UNDEFINED.search(error.message)
        if error.kind == "raised" and found and not _SPECIAL_TOKEN.fullmatch(found[1]):
            seen.setdefault(found[1], []).append(case.id)
    bound = _bound(syntax)
    for name, case_ids in seen.items():
        needs_tools = all(view.case(case_id).request.tools for case_id in case_ids)
        fact = "is set on some paths only" if name in bound else "is defined neither by the template nor by the engine"
        yield Fault(
            message=f"{name!r} is used where it is undefined: it {fact}, "
            f"and {'requests with tools' if needs_tools else 'requests'} fail",
            help=f"define {name!r} on every path, or guard it: `{{% if {name} is defined %}}`",
            cases=tuple(case_ids),
            cause=name,
            span=_first_use(syntax, name),
            need="tools" if needs_tools else None,
        )
    for name in _unknown_calls(syntax) - seen.keys():
        yield Fault(
            message=f"{name!r} is called, but neither the template nor any engine defines it "
            "(in a branch that no case reaches)",
            help=f"define the macro {name!r}, or remove the call",
            cause=name,
            span=_first_use(syntax, name),
            impact="degrades",
        )


def _unknown_calls(syntax: Syntax) -> set[str]:
    called = {
        node.node.name
        for node in walk(syntax.root)
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name)
    }
    return called - _bound(syntax)


def _bound(syntax: Syntax) -> set[str]:
    """Names that the template binds somewhere, guards somewhere, or gets from every engine."""
    bound = set(_GLOBALS)
    for node in walk(syntax.root):
        if (isinstance(node, nodes.Name) and node.ctx != "load") or isinstance(node, nodes.Macro):
            bound.add(node.name)
        elif isinstance(node, nodes.Test) and node.name == "defined" and isinstance(node.node, nodes.Name):
            bound.add(node.node.name)  # the author knows that it may be missing
    return bound


def _first_use(syntax: Syntax, name: str) -> tuple[int, int] | None:
    uses = [node for node in walk(syntax.root) if isinstance(node, nodes.Name) and node.name == name]
    called = [node.node for node in walk(syntax.root) if isinstance(node, nodes.Call) and node.node in uses]
    first = next(iter(called or uses), None)
    return None if first is None else syntax.span(first)

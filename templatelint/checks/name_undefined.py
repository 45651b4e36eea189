"""TL003: a variable, macro or function that no engine defines is called, or used where undefined breaks."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from jinja2 import nodes

from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.syntax import Syntax
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

# as jinja2, llama.cpp's renderer and minijinja say it
_UNDEFINED = re.compile(
    r"'(?P<name>\w+)' is undefined|no function '(?P<function>\w+)'|unknown function: (?P<unknown>\w+) is unknown"
    r"|`(?P<value>\w+)` is undefined"
)
# what engines hand to a template, or leave undefined where a request has none: what chat lacks without is TL113's
_HANDED = frozenset({"messages", "tools", "documents", "add_generation_prompt"})
# as @huggingface/jinja says it, without the name
_NAMELESS = "Cannot call something that is not a function: got UndefinedValue"
_SPECIAL_TOKEN = re.compile(r"\w+_token")  # those are the tokenizer's business
_LISTED = 3  # names in one message
# what engines put into the template's globals, and names Jinja binds by itself
_GLOBALS = frozenset(
    {"range", "dict", "lipsum", "cycler", "joiner", "namespace", "raise_exception", "strftime_now"}
    | {"loop", "caller", "varargs", "kwargs", "self", "super"}
)


def check(view: View) -> Iterator[Fault]:
    """Take what the cells ran into, then calls of unknown names in branches that no cell reached."""
    syntax = view.syntax
    names = _names(syntax)
    seen: dict[str, list[str]] = {}
    for case, error in view.failures():
        name = _named(error.message) or (names.only_free if error.message == _NAMELESS else "")
        if error.kind in {"raised", "unsupported"} and name and not _elsewhere(name):
            seen.setdefault(name, []).append(case.id)
    for name, case_ids in seen.items():
        needs_tools = all(view.case(case_id).request.tools for case_id in case_ids)
        fact = "is set on some paths only" if name in names.bound else "is defined by neither template nor engine"
        yield Fault(
            message=f"{name!r} is used where it is undefined: it {fact}, "
            f"and {'requests with tools' if needs_tools else 'requests'} fail",
            help=f"define {name!r} on every path, or guard it: `{{% if {name} is defined %}}`",
            cases=tuple(case_ids),
            cause=name,
            span=names.called.get(name) or names.used.get(name),
            need="tools" if needs_tools else None,
            related=((names.set[name], f"{name!r} is set here"),) if name in names.set else (),
        )
    unknown = [name for name in names.called if name not in names.bound and name not in seen]
    if unknown:
        listed = ", ".join(map(repr, unknown[:_LISTED])) + (" and others" if len(unknown) > _LISTED else "")
        yield Fault(
            message=f"{listed} {'is' if len(unknown) == 1 else 'are'} called where no case gets, "
            "but neither the template nor any engine defines such a function",
            help="define the macro, or remove the call",
            cause=f"called {listed}",
            span=names.called[unknown[0]],
            impact="degrades",
        )


def _elsewhere(name: str) -> bool:
    return name in _HANDED or _SPECIAL_TOKEN.fullmatch(name) is not None


def _named(message: str) -> str:
    """The name that is undefined, where the message tells of one."""
    found = _UNDEFINED.search(message)
    return next(filter(None, found.groups()), "") if found else ""


@lru_cache(maxsize=4)  # the same for all engines
def _names(syntax: Syntax) -> _Names:
    return _Names(syntax)


class _Names:
    """Where a template uses, calls and sets names, in the order of the text, and which names it binds.

    Bound is what it sets or defines somewhere, guards somewhere (`is defined`: the author knows that it may be
    missing), or gets from every engine.
    """

    def __init__(self, syntax: Syntax) -> None:
        self.used: dict[str, tuple[int, int]] = {}
        self.called: dict[str, tuple[int, int]] = {}
        self.set: dict[str, tuple[int, int]] = {}
        self.asked: set[str] = set()  # names whose methods are called
        self.bound = set(_GLOBALS)
        for node in syntax.all_nodes:
            if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name):
                self.called.setdefault(node.node.name, syntax.span(node.node))
            elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
                self.asked |= {node.node.node.name} if isinstance(node.node.node, nodes.Name) else set()
            elif isinstance(node, nodes.Name) and node.ctx == "load":
                self.used.setdefault(node.name, syntax.span(node))
            elif isinstance(node, (nodes.Name, nodes.Macro)):
                self.bound.add(node.name)
                self.set.setdefault(node.name, syntax.span(node))
            elif isinstance(node, nodes.Test) and node.name == "defined" and isinstance(node.node, nodes.Name):
                self.bound.add(node.node.name)

    @property
    def only_free(self) -> str:
        """The one name that is called, or whose method is, and that nothing binds; empty where it is not one."""
        free = {name for name in (*self.called, *self.asked) if name not in self.bound and not _elsewhere(name)}
        return free.pop() if len(free) == 1 else ""

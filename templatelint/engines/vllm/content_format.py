"""Template → the form in which vLLM gives it message content: text, or a list of typed parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from jinja2 import nodes

from templatelint.syntax import TemplateSyntax, parse, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.syntax import Syntax

ContentFormat: TypeAlias = Literal["string", "openai"]


class _Confused(Exception):
    """vLLM's own search fails on a loop over several targets, and then takes the template for one of text."""


def content_format(source: str) -> ContentFormat:
    """`openai` where a loop of the template goes over a message's content, as vLLM finds it; `string` otherwise.

    That is a `for` over `content` of what a `for` over the messages gives, over a macro's parameter that is passed
    such content, or, outside macros, over a variable that is called `content`. Filters, tests and slices around any
    of these are looked through. `messages` goes by further names where it is assigned to a variable or to an
    attribute of a namespace; a message or its content does not.
    """
    try:
        syntax = parse(source)
    except TemplateSyntax:
        return "string"
    try:
        return "openai" if any(_content_loops(syntax)) else "string"
    except _Confused:
        return "string"


def _content_loops(syntax: Syntax) -> Iterator[bool]:
    """True for every loop that counts."""
    loops = [node for node in syntax.all_nodes if isinstance(node, nodes.For)]
    if not loops:
        return
    histories = _names_of_messages(syntax)
    messages = {_target(loop) for loop in loops if _variable(_core(loop.iter)) in histories}
    parameters = _parameters_in_macros(syntax, messages)
    for loop in loops:
        bare = loop.iter.name if isinstance(loop.iter, nodes.Name) else None
        if _message_of_content(loop.iter) in messages or bare in parameters.get(id(loop), {"content"}):
            _target(loop)
            yield True


def _target(loop: nodes.For) -> str:
    if not isinstance(loop.target, nodes.Name):
        raise _Confused
    return loop.target.name


# ------------------------------------------------------------------------------------------- expressions


def _core(node: nodes.Node) -> nodes.Node:
    """What an expression of filters, tests and slices is about."""
    while isinstance(node, nodes.Filter | nodes.Test) or (
        isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)
    ):
        if node.node is None:  # the filter of a filter block
            break
        node = node.node
    return node


def _variable(node: nodes.Node) -> str | None:
    """The variable that a node reads, `ns.rest` where it is an attribute of one."""
    if isinstance(node, nodes.Name):
        return node.name if node.ctx == "load" else None
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name) and node.node.ctx == "load":
        return f"{node.node.name}.{node.attr}"
    return None


def _message_of_content(node: nodes.Node) -> str | None:
    """The variable whose `content` an expression is about."""
    node = _core(node)
    if isinstance(node, nodes.Getattr) and node.attr == "content":
        return _variable(node.node)
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and node.arg.value == "content":
        return _variable(node.node)
    return None


# ------------------------------------------------------------------------------------------------- names


def _names_of_messages(syntax: Syntax) -> set[str]:
    """Every name that the list of messages, or a slice of it, is assigned to somewhere."""
    aliases: dict[str, list[str]] = {}
    for node in syntax.all_nodes:
        if isinstance(node, nodes.Assign):
            for alias, value in _assignments(node):
                if (variable := _variable(_core(value))) is not None:
                    aliases.setdefault(variable, []).append(alias)
    known, pending = {"messages"}, ["messages"]
    while pending:
        for alias in aliases.get(pending.pop(), ()):
            if alias not in known:
                known.add(alias)
                pending.append(alias)
    return known


def _assignments(node: nodes.Assign) -> Iterator[tuple[str, nodes.Node]]:
    """The names that a `set` gives, and what to."""
    target, value = node.target, node.node
    if isinstance(target, nodes.NSRef):
        yield f"{target.name}.{target.attr}", value
    elif isinstance(target, nodes.Name):
        yield target.name, value
        if isinstance(value, nodes.Call) and isinstance(value.node, nodes.Name) and value.node.name == "namespace":
            for keyword in value.kwargs:
                yield f"{target.name}.{keyword.key}", keyword.value


def _parameters_in_macros(syntax: Syntax, messages: set[str]) -> dict[int, set[str]]:
    """For every loop inside a macro, by its identity: the macro's parameters that content is passed as."""
    macros = [node for node in syntax.all_nodes if isinstance(node, nodes.Macro)]
    if not macros:
        return {}
    passed: dict[str, list[int | str]] = {}
    for node in syntax.all_nodes:
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name):
            given: list[tuple[int | str, nodes.Node]] = [*enumerate(node.args)]
            given += [(keyword.key, keyword.value) for keyword in node.kwargs]
            places = [place for place, value in given if _message_of_content(value) in messages]
            passed.setdefault(node.node.name, []).extend(places)
    found: dict[int, set[str]] = {}
    for macro in macros:
        names = [argument.name for argument in macro.args]
        places = passed.get(macro.name, [])
        parameters = {name for place, name in enumerate(names) if place in places or name in places}
        for loop in walk(macro):
            # of nested macros the inner one counts, where it is passed any
            if isinstance(loop, nodes.For) and (parameters or id(loop) not in found):
                found[id(loop)] = parameters
    return found

"""Statements → functions from a scope to what they print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from templatelint.renderers.llamacpp import tree
from templatelint.renderers.llamacpp.arguments import named_or_at
from templatelint.renderers.llamacpp.expressions import applied, called_with, expression, true_at
from templatelint.renderers.llamacpp.general import bearable
from templatelint.renderers.llamacpp.scope import Break, Continue
from templatelint.renderers.llamacpp.usage import ARRAY_ACCESS, OBJECT_ACCESS, note
from templatelint.renderers.llamacpp.values import (
    Function,
    LoopInfo,
    Trouble,
    Undefined,
    Value,
    called,
    fragments,
    is_list,
    true,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.renderers.llamacpp.expressions import Evaluation
    from templatelint.renderers.llamacpp.scope import Scope
    from templatelint.renderers.llamacpp.tree import Node, Nodes


def body(nodes: Nodes) -> Callable[[Scope], str]:
    """What the nodes print, as one text."""
    parts = [_statement(node) for node in nodes]

    def run(scope: Scope) -> str:
        out: list[str] = []
        _print(parts, scope, out)
        return _joined(out, scope)

    return run if parts else _print_nothing


def _print(parts: Sequence[Evaluation], scope: Scope, out: list[str]) -> None:
    """Let the parts print; what they printed before one of them jumps stays."""
    for part in parts:
        value = part(scope)
        if type(value) is str:
            out.append(value)
        else:
            out += fragments(value)


def _joined(out: Sequence[str], scope: Scope) -> str:
    output = scope.run.join(out)
    bearable(len(output))
    return output


def _print_nothing(scope: Scope) -> str:
    del scope
    return ""


def _statement(node: Node) -> Evaluation:
    make = _STATEMENTS.get(type(node), expression)
    return make(node)


def _nothing(node: tree.Nothing) -> Evaluation:
    del node
    return _print_nothing


def _if(node: tree.If) -> Evaluation:
    test, then, otherwise, at = expression(node.test), body(node.body), body(node.otherwise), node.at
    return lambda scope: then(scope) if true_at(test(scope), at) else otherwise(scope)


def _binder(target: Node, whose: str) -> Callable[[Scope, Value], None]:
    """What gives a value, or the parts of it, to the variables of a target."""
    if isinstance(target, tree.Name):
        name = target.name

        def bind(scope: Scope, value: Value) -> None:
            scope[name] = value

        return bind
    names = [item.name if isinstance(item, tree.Name) else None for item in _items(target)]

    def unpack(scope: Scope, value: Value) -> None:
        for name, part in zip(names, value, strict=False):
            if name is None:
                raise Trouble(f"no unpacking into anything but names in {whose}", "unsupported")
            scope[name] = part

    return unpack


def _items(target: Node) -> Nodes:
    return target.items if isinstance(target, tree.TupleLiteral) else ()


def _check_parts(target: Node, value: Value) -> None:
    """Complain unless the value can be unpacked into a target of several names."""
    if not isinstance(target, tree.TupleLiteral):
        return
    if not is_list(value):
        raise Trouble(f"{called(value)} cannot be unpacked")
    if len(value) != len(target.items):
        raise Trouble(f"{len(value)} items cannot be unpacked into {len(target.items)} names")


def _for(node: tree.For) -> Evaluation:
    choose, at = _choice(node), node.at
    bind = _binder(node.target, "a loop")
    parts = [_statement(part) for part in node.body]
    otherwise = body(node.otherwise)

    def run(scope: Scope) -> str:
        inner = scope.inner()  # one for all rounds: what one sets, the next one sees
        out: list[str] = []
        completed = False
        try:
            items = choose(inner)
            for place, item in enumerate(items):
                inner["loop"] = _loop_info(items, place)
                bind(inner, item)
                try:
                    _print(parts, inner, out)
                except Continue:
                    continue
                except Break:
                    break
                completed = True
        except Trouble as trouble:
            raise trouble.placed(at) from None
        if not completed:
            out.append(otherwise(scope))
        return _joined(out, scope)

    return run


def _choice(node: tree.For) -> Callable[[Scope], list[Value]]:
    """What gives the items that a loop goes over."""
    target, test = node.target, None
    if isinstance(node.iterable, tree.Selection):
        iterable, test = expression(node.iterable.value), expression(node.iterable.test)
    else:
        iterable = expression(node.iterable)
    bind = _binder(target, "a loop")
    several = isinstance(target, tree.TupleLiteral)

    def wanted(item: Value, scope: Scope) -> bool:
        _check_parts(target, item)
        if test is None:
            return True
        trial = scope.inner()
        bind(trial, item)
        return true(test(trial))

    def choose(scope: Scope) -> list[Value]:
        items = _iterated(iterable(scope), scope, pairs=several)
        if items and not several and not isinstance(target, tree.Name):
            raise Trouble("a loop's variable is a name or several, nothing else")
        return [item for item in items if wanted(item, scope)]

    return choose


def _loop_info(items: Sequence[Value], place: int) -> LoopInfo:
    last = len(items) - 1
    return LoopInfo(
        index=place + 1,
        index0=place,
        revindex=last - place + 1,
        revindex0=last - place,
        first=place == 0,
        last=place == last,
        length=last + 1,
        previtem=items[place - 1] if place else Undefined("previtem"),
        nextitem=items[place + 1] if place < last else Undefined("nextitem"),
    )


def _iterated(value: Value, scope: Scope, *, pairs: bool) -> list[Value]:
    """What a loop goes over; of a mapping the keys, or the pairs where it takes several variables."""
    if scope.run.watching:
        note(value, ARRAY_ACCESS)
    if isinstance(value, Undefined):
        return []
    if isinstance(value, dict):
        if scope.run.watching:
            note(value, OBJECT_ACCESS)
        return list(value.items()) if pairs else list(value)
    if is_list(value):
        return list(value)
    raise Trouble(f"no loop over {called(value)}", "unsupported" if isinstance(value, str) else "raised")


def _set(node: tree.Set) -> Evaluation:
    value: Evaluation = body(node.body) if node.value is None else expression(node.value)
    assign, at = _assignment(node.target), node.at

    def run(scope: Scope) -> str:
        found = value(scope)
        try:
            assign(scope, found)
        except Trouble as trouble:
            raise trouble.placed(at) from None
        return ""

    return run


def _assignment(target: Node) -> Callable[[Scope, Value], None]:
    if isinstance(target, tree.Name | tree.TupleLiteral):
        bind = _binder(target, "a set tag")

        def assign(scope: Scope, value: Value) -> None:
            _check_parts(target, value)
            bind(scope, value)

        return assign
    if isinstance(target, tree.Attribute) and isinstance(target.name, tree.Name):
        owner, name = expression(target.value), target.name.name

        def assign_member(scope: Scope, value: Value) -> None:
            mapping = owner(scope)
            if not isinstance(mapping, dict):
                raise Trouble(f"no attribute of {called(mapping)} can be set")
            mapping[name] = value

        return assign_member
    wrong = "items" if isinstance(target, tree.Item | tree.Slice) else "anything but names and attributes"

    def refuse(scope: Scope, value: Value) -> NoReturn:
        del scope, value
        raise Trouble(f"no setting of {wrong}", "unsupported")

    return refuse


def _macro(node: tree.Macro) -> Evaluation:
    if not isinstance(node.name, tree.Name):
        return _failing("a macro's name is a name, nothing else", node.at)
    name, content = node.name.name, body(node.body)
    bind = _parameters(node.parameters, f"macro '{name}'")

    def call(arguments: Sequence[Value], scope: Scope) -> str:
        inner = scope.inner()  # a macro sees what its caller sees
        bind(inner, arguments, scope)
        return content(inner)

    def run(scope: Scope) -> str:
        scope[name] = Function(name, call)
        return ""

    return run


def _failing(message: str, at: int) -> Evaluation:
    def run(scope: Scope) -> NoReturn:
        del scope
        raise Trouble(message, at=at)

    return run


def _parameters(parameters: Nodes, whose: str) -> Callable[[Scope, Sequence[Value], Scope], None]:
    """What gives arguments to parameters; defaults are evaluated in the caller's scope.

    As many parameters as there are arguments take one by name or place, or become undefined; the others their default.
    """
    named: list[tuple[str | None, Evaluation | None]] = []
    for parameter in parameters:
        if isinstance(parameter, tree.Keyword) and isinstance(parameter.key, tree.Name):
            named.append((parameter.key.name, expression(parameter.value)))
        else:
            named.append((parameter.name if isinstance(parameter, tree.Name) else None, None))

    def bind(inner: Scope, arguments: Sequence[Value], caller: Scope) -> None:
        for place, (name, default) in enumerate(named):
            if name is None:
                raise Trouble(f"a parameter of {whose} is a name, with or without default, nothing else")
            if place < len(arguments):
                inner[name] = named_or_at(arguments, name, place)
            elif default is not None:
                inner[name] = default(caller)
            else:
                raise Trouble(f"no argument '{name}' for {whose}", "unsupported")

    return bind


def _call_block(node: tree.CallBlock) -> Evaluation:
    at, content = node.at, body(node.body)
    callee = expression(node.call.callee)
    arguments = [expression(argument) for argument in node.call.arguments]
    bind = _parameters(node.parameters, "caller")

    def run(scope: Scope) -> Value:
        function = callee(scope)
        if type(function) is not Function:
            raise Trouble(f"{called(function)} is no macro", at=node.call.at)
        captured = scope.inner()

        def call(given: Sequence[Value], caller: Scope) -> str:
            inner = captured.inner()
            bind(inner, given, caller)
            return content(inner)

        calling = scope.inner()
        calling["caller"] = Function("caller", call)
        return called_with(function, [argument(scope) for argument in arguments], calling, at)

    return run


def _filter_block(node: tree.FilterBlock) -> Evaluation:
    return applied(body(node.body), node.filter, node.filter.at)


def _jump(node: tree.Jump) -> Evaluation:
    jump = Break if node.leaves else Continue

    def run(scope: Scope) -> NoReturn:
        del scope
        raise jump

    return run


# ------------------------------------------------------------------------------------ dispatch

_STATEMENTS: Mapping[type[Node], Callable[[Any], Evaluation]] = {
    tree.Nothing: _nothing,
    tree.If: _if,
    tree.For: _for,
    tree.Set: _set,
    tree.Macro: _macro,
    tree.CallBlock: _call_block,
    tree.FilterBlock: _filter_block,
    tree.Jump: _jump,
}

"""Expressions → functions from a scope to a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from templatelint.renderers.llamacpp import tree
from templatelint.renderers.llamacpp.arguments import Misuse
from templatelint.renderers.llamacpp.functions import GLOBALS, TESTS
from templatelint.renderers.llamacpp.general import bearable, is_nothing
from templatelint.renderers.llamacpp.lookup import attribute_of, filtered, item_of
from templatelint.renderers.llamacpp.operators import operate
from templatelint.renderers.llamacpp.pieces import joined
from templatelint.renderers.llamacpp.usage import note
from templatelint.renderers.llamacpp.values import (
    FIRST_INTEGER,
    Function,
    Keyword,
    Trouble,
    Undefined,
    Value,
    as_key,
    called,
    equal,
    integer,
    is_number,
    text,
    true,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.renderers.llamacpp.scope import Scope
    from templatelint.renderers.llamacpp.tree import Node

    Evaluation = Callable[[Scope], Value]


def expression(node: Node) -> Evaluation:
    """What evaluates the expression; its Trouble carries a place."""
    return _EVALUATIONS[type(node)](node)


def called_with(function: Function, arguments: Sequence[Value], scope: Scope, at: int) -> Value:
    """What the function gives; its Trouble gets that place unless it has one."""
    try:
        return function(arguments, scope)
    except Misuse as misuse:
        raise Trouble(f"'{function.name}' {misuse}", misuse.kind, at) from None
    except Trouble as trouble:
        raise trouble.placed(at) from None


def true_at(value: Value, at: int) -> bool:
    """Whether a value is true; the Trouble where it is neither true nor false gets that place."""
    if value is True or value is False:
        return value
    try:
        return true(value)
    except Trouble as trouble:
        raise trouble.placed(at) from None


def applied(value: Evaluation, filter_: Node, at: int) -> Evaluation:
    """What evaluates a filter of something."""
    if isinstance(filter_, tree.Call) and isinstance(filter_.callee, tree.Name):
        written, arguments = filter_.callee.name, [expression(argument) for argument in filter_.arguments]
        coerces = False
    elif isinstance(filter_, tree.Name):
        written, arguments = filter_.name, []
        coerces = True
    else:
        return _failing(value, "a filter is a name, with or without arguments, nothing else", at)
    name, what = ALIASES.get(written, written), f"filter '{written}'"
    coerces = coerces and name in _COERCING

    def run(scope: Scope) -> Value:
        operand = value(scope)
        given = [argument(scope) for argument in arguments]
        try:
            if coerces and not isinstance(operand, str | Undefined):
                operand = text(operand)
            return filtered(operand, name, what, given, scope)
        except Trouble as trouble:
            raise trouble.placed(at) from None

    return run


ALIASES = {"count": "length", "d": "default", "e": "escape", "trim": "strip"}
# without brackets behind the name, these take anything that has a text
_COERCING = frozenset({"capitalize", "lower", "replace", "strip", "title", "upper", "wordcount"})


# ------------------------------------------------------------------------------------ names and literals


def _literal(node: tree.Literal) -> Evaluation:
    value = node.value
    return lambda _: value


def _name(node: tree.Name) -> Evaluation:
    name = node.name
    fallback = GLOBALS.get(name)

    def run(scope: Scope) -> Value:
        value = scope.get(name, _MISSING)
        if type(value) is Undefined:
            return Undefined(name) if fallback is None else fallback
        if scope.run.watching:
            note(value)
        return value

    return run


_MISSING = Undefined()


def _list(node: tree.ListLiteral) -> Evaluation:
    items = [expression(item) for item in node.items]
    return lambda scope: [item(scope) for item in items]


def _tuple(node: tree.TupleLiteral) -> Evaluation:
    items = [expression(item) for item in node.items]
    return lambda scope: tuple([item(scope) for item in items])


def _dict(node: tree.DictLiteral) -> Evaluation:
    pairs = [(expression(key), expression(value)) for key, value in node.pairs]
    at = node.at

    def run(scope: Scope) -> Value:
        made = {}
        for key, value in pairs:
            found = key(scope)
            member = value(scope)
            try:
                made[as_key(found)] = member
            except Trouble as trouble:
                raise trouble.placed(at) from None
        return made

    return run


# ------------------------------------------------------------------------------------ operators


def _binary(node: tree.Binary) -> Evaluation:
    if node.operator in _SUMS:
        return _sum(node)
    left, right, operator, at = expression(node.left), expression(node.right), node.operator, node.at
    if operator == "and":
        return lambda scope: right(scope) if true_at(value := left(scope), at) else value
    if operator == "or":
        return lambda scope: value if true_at(value := left(scope), at) else right(scope)
    if operator == "==":
        return lambda scope: equal(left(scope), right(scope))
    if operator == "!=":
        return lambda scope: not equal(left(scope), right(scope))

    def run(scope: Scope) -> Value:
        first = left(scope)
        second = right(scope)
        try:
            return operate(operator, first, second)
        except Trouble as trouble:
            raise trouble.placed(at) from None

    return run


_SUMS = frozenset({"+", "-", "~"})


def _sum(node: tree.Binary) -> Evaluation:
    """A chain of sums and concatenations, however long, without recursion."""
    steps: list[tuple[str, Evaluation, int]] = []
    first: Node = node
    while isinstance(first, tree.Binary) and first.operator in _SUMS:
        steps.append((first.operator, expression(first.right), first.at))
        first = first.left
    steps.reverse()
    start = expression(first)

    def run(scope: Scope) -> Value:
        total = start(scope)
        piecewise = scope.run.piecewise
        for operator, right, at in steps:
            term = right(scope)
            if type(total) is str and type(term) is str and operator != "-" and not piecewise:
                total += term
                continue
            try:
                result = operate(operator, total, term)
            except Trouble as trouble:
                raise trouble.placed(at) from None
            if piecewise and isinstance(result, str):
                result = joined(text(part) for part in (total, term) if not is_nothing(part))
            total = result
        if type(total) is str:
            bearable(len(total))
        return total

    return run


def _unary(node: tree.Unary) -> Evaluation:
    operand, sign, at = expression(node.operand), node.operator, node.at
    if sign == "not":
        return lambda scope: not true_at(operand(scope), at)

    def run(scope: Scope) -> Value:
        value = operand(scope)
        if not is_number(value):
            raise Trouble(f"no operator '{sign}' before {called(value)}", at=at)
        if sign == "+":
            return value
        return value if value == FIRST_INTEGER else -value

    return run


def _conditional(node: tree.Conditional) -> Evaluation:
    test, then, otherwise, at = expression(node.test), expression(node.then), expression(node.otherwise), node.at
    return lambda scope: then(scope) if true_at(test(scope), at) else otherwise(scope)


def _selection(node: tree.Selection) -> Evaluation:
    test, value, at = expression(node.test), expression(node.value), node.at
    return lambda scope: value(scope) if true_at(test(scope), at) else Undefined()


# ------------------------------------------------------------------------------------ attributes and items


def _attribute(node: tree.Attribute) -> Evaluation:
    value, at = expression(node.value), node.at
    if isinstance(node.name, tree.Literal) and type(node.name.value) is int and node.name.value >= 0:
        place = node.name.value
        return _looking_up(value, lambda _: place, at)
    if not isinstance(node.name, tree.Name):
        return _failing(value, "an attribute is a name or a place, nothing else", at)
    name = node.name.name

    def run(scope: Scope) -> Value:
        found = value(scope)
        try:
            return attribute_of(found, name, scope)
        except Trouble as trouble:
            raise trouble.placed(at) from None

    return run


def _item(node: tree.Item) -> Evaluation:
    key = expression(node.key) if node.key is not None else lambda _: Undefined()
    return _looking_up(expression(node.value), key, node.at)


def _looking_up(value: Evaluation, key: Evaluation, at: int) -> Evaluation:
    def run(scope: Scope) -> Value:
        found = value(scope)
        place = key(scope)
        try:
            return item_of(found, place, scope)
        except Trouble as trouble:
            raise trouble.placed(at) from None

    return run


def _failing(first: Evaluation, message: str, at: int) -> Evaluation:
    """Evaluates something, and then fails whatever it is."""

    def run(scope: Scope) -> NoReturn:
        first(scope)
        raise Trouble(message, at=at)

    return run


def _slice(node: tree.Slice) -> Evaluation:
    value, at = expression(node.value), node.at
    start, stop, step = (part and expression(part) for part in (node.start, node.stop, node.step))

    def run(scope: Scope) -> Value:
        whole = value(scope)
        stride = step(scope) if step else 1
        length = len(whole) if isinstance(whole, str | list | tuple) else 0
        try:
            backwards = (start is None or stop is None) and integer(stride) < 0
            first = start(scope) if start else length - 1 if backwards else 0
            last = stop(scope) if stop else -1 if backwards else length
            return filtered(whole, "slice", "slice", (first, last, stride), scope)
        except Trouble as trouble:
            raise trouble.placed(at) from None

    return run


# ------------------------------------------------------------------------------------ filters, tests, calls


def _filtered(node: tree.Filtered) -> Evaluation:
    return applied(expression(node.operand), node.filter, node.at)


def _tested(node: tree.Tested) -> Evaluation:
    value, at, negated = expression(node.operand), node.at, node.negated
    if isinstance(node.test, tree.Call) and isinstance(node.test.callee, tree.Name):
        name, arguments = node.test.callee.name, [expression(argument) for argument in node.test.arguments]
    elif isinstance(node.test, tree.Name):
        name, arguments = node.test.name, []
    else:
        return _failing(value, "a test is a name, with or without arguments, nothing else", at)
    handler = TESTS.get(name)
    op = f"is {name}"

    def run(scope: Scope) -> Value:
        operand = value(scope)
        given = [operand, *(argument(scope) for argument in arguments)]
        if handler is None:
            raise Trouble(f"no test '{name}'", "unsupported", at)
        if scope.run.watching:
            note(operand, op)
        try:
            return handler(given, scope) is not negated
        except Misuse as misuse:
            raise Trouble(f"test '{name}' {misuse}", misuse.kind, at) from None
        except Trouble as trouble:
            raise trouble.placed(at) from None

    return run


LACKING_GLOBALS = frozenset({"cycler", "joiner", "lipsum"})


def _call(node: tree.Call) -> Evaluation:
    arguments, at = [expression(argument) for argument in node.arguments], node.at
    if isinstance(node.callee, tree.Attribute) and isinstance(node.callee.name, tree.Name):
        return _method_call(node.callee, node.callee.name.name, arguments)
    callee = expression(node.callee)
    missing = ""
    if isinstance(node.callee, tree.Name):
        missing = f"no function '{node.callee.name}'"
    kind: Any = (
        "unsupported" if isinstance(node.callee, tree.Name) and node.callee.name in LACKING_GLOBALS else "raised"
    )

    def run(scope: Scope) -> Value:
        given = [argument(scope) for argument in arguments]
        function = callee(scope)
        if type(function) is not Function:
            if missing and isinstance(function, Undefined):
                raise Trouble(missing, kind, at)
            raise Trouble(f"{called(function)} is no function", at=at)
        return called_with(function, given, scope, at)

    return run


def _method_call(callee: tree.Attribute, name: str, arguments: Sequence[Evaluation]) -> Evaluation:
    value, at = expression(callee.value), callee.at

    def run(scope: Scope) -> Value:
        given = [argument(scope) for argument in arguments]
        own = value(scope)
        try:
            function = attribute_of(own, name, scope)
        except Trouble as trouble:
            raise trouble.placed(at) from None
        if type(function) is not Function:
            if not isinstance(function, Undefined):
                raise Trouble(f"{called(function)} is no function", at=at)
            kind: Any = "unsupported" if hasattr(own, name) else "raised"
            raise Trouble(f"no method '{name}' of {called(own)}", kind, at)
        return called_with(function, given, scope, at)

    return run


def _keyword(node: tree.Keyword) -> Evaluation:
    value, at = expression(node.value), node.at
    if not isinstance(node.key, tree.Name):
        return _failing(lambda _: None, "an argument's name is a name, nothing else", at)
    name = node.key.name
    return lambda scope: Keyword(name, value(scope))


def _spread(node: tree.Spread) -> Evaluation:
    at = node.at

    def run(scope: Scope) -> NoReturn:
        del scope
        raise Trouble("no arguments from a list (*)", "unsupported", at)

    return run


# ------------------------------------------------------------------------------------ dispatch

_EVALUATIONS: Mapping[type[Node], Callable[[Any], Evaluation]] = {
    tree.Literal: _literal,
    tree.Name: _name,
    tree.ListLiteral: _list,
    tree.TupleLiteral: _tuple,
    tree.DictLiteral: _dict,
    tree.Binary: _binary,
    tree.Unary: _unary,
    tree.Conditional: _conditional,
    tree.Selection: _selection,
    tree.Filtered: _filtered,
    tree.Tested: _tested,
    tree.Attribute: _attribute,
    tree.Item: _item,
    tree.Slice: _slice,
    tree.Call: _call,
    tree.Keyword: _keyword,
    tree.Spread: _spread,
}

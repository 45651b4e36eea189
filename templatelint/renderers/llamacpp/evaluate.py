"""Tree → closures that render it as llama.cpp does.

An expression becomes a function from a scope to a value, a statement one to what it prints.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

from templatelint.renderers import MAX_OUTPUT
from templatelint.renderers.llamacpp import tree
from templatelint.renderers.llamacpp.arguments import Misuse, named_or_at
from templatelint.renderers.llamacpp.functions import GLOBALS, TESTS, contains
from templatelint.renderers.llamacpp.methods import methods_of
from templatelint.renderers.llamacpp.usage import ARRAY_ACCESS, OBJECT_ACCESS, note, note_whole
from templatelint.renderers.llamacpp.values import (
    FIRST_INTEGER,
    Function,
    Keyword,
    LoopInfo,
    Trouble,
    Undefined,
    Value,
    as_key,
    called,
    equal,
    hashable,
    integer,
    is_integer,
    is_list,
    is_number,
    no_member,
    printed,
    real,
    text,
    true,
    truncated,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from templatelint.renderers.llamacpp.tree import Node, Nodes

    Evaluation = Callable[["Scope"], Value]


# ------------------------------------------------------------------------------------ run and scope


class Run:
    """What one render knows.

    Attributes:
        now: what the clock tells.
        watching: whether the input remembers what happens to it.
    """

    __slots__ = ("now", "watching")

    def __init__(self, now: datetime, *, watching: bool) -> None:
        self.now = now
        self.watching = watching

    def read_whole(self, value: Value) -> None:
        """Remember that a value was turned into text with all that it holds."""
        if self.watching:
            note_whole(value)


class Scope(dict[str, Any]):
    """Variables that are visible somewhere; an inner scope is a copy, so that nothing set in it gets out."""

    __slots__ = ("run",)
    run: Run

    def inner(self) -> Scope:
        """A scope inside this one."""
        scope = Scope(self)
        scope.run = self.run
        return scope


def outermost(variables: Mapping[str, Value], run: Run) -> Scope:
    """The scope in which a template starts."""
    scope = Scope({"true": True, "True": True, "false": False, "False": False, "none": None, "None": None})
    scope.update(variables)
    scope.run = run
    return scope


class Jump(Exception):
    """`break` or `continue` on its way to the loop around it, which may be that of a macro's caller."""


class _Break(Jump):
    pass


class _Continue(Jump):
    pass


# ------------------------------------------------------------------------------------ bodies


def body(nodes: Nodes) -> Callable[[Scope], str]:
    """What the nodes print, as one text."""
    parts = [_evaluation(node) for node in nodes]
    if not parts:
        return lambda scope: ""

    def run(scope: Scope) -> str:
        out = []
        for part in parts:
            value = part(scope)
            out.append(value if type(value) is str else printed(value))
        return _bounded("".join(out))

    return run


def _bounded(output: str) -> str:
    if len(output) > MAX_OUTPUT:
        raise Trouble(f"more than {MAX_OUTPUT:,} characters of output", "too-large")
    return output


# ------------------------------------------------------------------------------------ names and literals


def _literal(node: tree.Literal) -> Evaluation:
    value = node.value
    return lambda scope: value


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
    items = [_evaluation(item) for item in node.items]
    return lambda scope: [item(scope) for item in items]


def _tuple(node: tree.TupleLiteral) -> Evaluation:
    items = [_evaluation(item) for item in node.items]
    return lambda scope: tuple([item(scope) for item in items])


def _dict(node: tree.DictLiteral) -> Evaluation:
    pairs = [(_evaluation(key), _evaluation(value)) for key, value in node.pairs]
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
    left, right, operator, at = _evaluation(node.left), _evaluation(node.right), node.operator, node.at
    if operator == "and":
        return lambda scope: right(scope) if _true_at(value := left(scope), at) else value
    if operator == "or":
        return lambda scope: value if _true_at(value := left(scope), at) else right(scope)
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
        steps.append((first.operator, _evaluation(first.right), first.at))
        first = first.left
    steps.reverse()
    start = _evaluation(first)

    def run(scope: Scope) -> Value:
        total = start(scope)
        for operator, right, at in steps:
            term = right(scope)
            if type(total) is str and type(term) is str and operator != "-":
                total += term
                continue
            try:
                total = operate(operator, total, term)
            except Trouble as trouble:
                raise trouble.placed(at) from None
        return _bounded(total) if type(total) is str else total

    return run


def operate(operator: str, left: Value, right: Value) -> Value:  # noqa: C901, PLR0911, PLR0912 (one table of cases)
    """The value of any operator but the logical ones and equality.

    Raises:
        Trouble: the operator does not work on these values.
    """
    looks_for = operator in ("in", "not in")
    if left is None or right is None or isinstance(left, Undefined) or isinstance(right, Undefined):
        return _operate_on_nothing(operator, left, right)
    if is_number(left) and is_number(right) and operator in _ARITHMETIC:
        return _ARITHMETIC[operator](left, right)
    if is_list(left) and is_list(right):
        if operator == "+":
            return [*left, *right]
    elif is_list(right) and looks_for:
        return contains(left, right) == (operator == "in")
    if isinstance(left, str) or isinstance(right, str):
        if operator in ("~", "+"):
            return text(left) + text(right)
        if operator == "*" and (is_integer(left) or is_integer(right)):
            return _repeated(left, right) if isinstance(left, str) else _repeated(right, left)
        if looks_for and isinstance(left, str) and isinstance(right, str):
            return contains(left, right) == (operator == "in")
    if isinstance(right, dict) and looks_for:
        return contains(left, right) == (operator == "in")
    raise Trouble(f"no operator '{operator}' between {called(left)} and {called(right)}", "unsupported")


def _operate_on_nothing(operator: str, left: Value, right: Value) -> Value:
    """The operators where an operand is undefined or none, which count as empty beside a string."""
    undefined = isinstance(left, Undefined) or isinstance(right, Undefined)
    if operator in ("in", "not in"):
        if isinstance(right, Undefined):
            return operator == "not in"
        if not undefined and right is not None:
            return contains(left, right) == (operator == "in")
    if operator in ("+", "~"):
        for value in (left, right):
            if isinstance(value, str):
                return value
    raise Trouble(f"no operator '{operator}' between {called(left)} and {called(right)}")


def _repeated(value: str, times: int) -> str:
    if len(value) * times > MAX_OUTPUT:
        raise Trouble(f"more than {MAX_OUTPUT:,} characters of output", "too-large")
    return value * times


def _quotient(left: float, right: float) -> float:
    if right:
        return left / right
    if math.isnan(left) or not left:
        return -math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _remainder(left: float, right: float) -> float:
    if not right or math.isinf(left):
        return -math.nan
    return math.fmod(left, right)


def _arithmetic(compute: Callable[[float, float], float]) -> Callable[[Value, Value], Value]:
    """Computes with doubles; integers become one again."""

    def run(left: Value, right: Value) -> Value:
        result = compute(real(left), real(right))
        return result if type(left) is float or type(right) is float else truncated(result)

    return run


def _comparison(holds: Callable[[float, float], bool]) -> Callable[[Value, Value], Value]:
    return lambda left, right: holds(real(left), real(right))


_ARITHMETIC: Mapping[str, Callable[[Value, Value], Value]] = {
    "+": _arithmetic(lambda left, right: left + right),
    "-": _arithmetic(lambda left, right: left - right),
    "*": _arithmetic(lambda left, right: left * right),
    "%": _arithmetic(_remainder),
    "/": lambda left, right: _quotient(real(left), real(right)),
    "<": _comparison(lambda left, right: left < right),
    ">": _comparison(lambda left, right: left > right),
    "<=": _comparison(lambda left, right: left <= right),
    ">=": _comparison(lambda left, right: left >= right),
}


def _true_at(value: Value, at: int) -> bool:
    if value is True or value is False:
        return value
    try:
        return true(value)
    except Trouble as trouble:
        raise trouble.placed(at) from None


def _unary(node: tree.Unary) -> Evaluation:
    operand, sign, at = _evaluation(node.operand), node.operator, node.at
    if sign == "not":
        return lambda scope: not _true_at(operand(scope), at)

    def run(scope: Scope) -> Value:
        value = operand(scope)
        if not is_number(value):
            raise Trouble(f"no operator '{sign}' before {called(value)}", at=at)
        if sign == "+":
            return value
        return value if value == FIRST_INTEGER else -value

    return run


def _conditional(node: tree.Conditional) -> Evaluation:
    test, then, otherwise, at = _evaluation(node.test), _evaluation(node.then), _evaluation(node.otherwise), node.at
    return lambda scope: then(scope) if _true_at(test(scope), at) else otherwise(scope)


def _selection(node: tree.Selection) -> Evaluation:
    test, value, at = _evaluation(node.test), _evaluation(node.value), node.at
    return lambda scope: value(scope) if _true_at(test(scope), at) else Undefined()


# ------------------------------------------------------------------------------------ attributes and items


def attribute_of(value: Value, name: str, scope: Scope) -> Value:
    """`value.name`: methods come before members.

    Raises:
        Trouble: the value has neither.
    """
    watching = scope.run.watching
    if watching:
        note(value, name)
    handler = methods_of(value).get(name)
    if handler is not None:
        return Function(name, handler, value)
    if isinstance(value, Undefined):
        return no_member()
    found = value.get(name, _MISSING) if isinstance(value, dict) else _MISSING
    if watching:
        note(found)
        note(value, OBJECT_ACCESS)
    return Undefined(name) if type(found) is Undefined else found


def item_of(value: Value, key: Value, scope: Scope) -> Value:
    """`value[key]`: members come before methods.

    Raises:
        Trouble: the value has no items of such a key.
    """
    if isinstance(key, Undefined):
        return no_member()
    if not hashable(key):
        raise Trouble(f"{called(key)} cannot be a key")
    if isinstance(value, Undefined):
        return no_member()
    found: Value = no_member()
    if isinstance(value, dict):
        found = value.get(as_key(key), _MISSING)
        if type(found) is Undefined:
            found = _method_of(value, text(key), scope)
    elif not isinstance(value, str | list | tuple):
        if not isinstance(key, str):
            raise Trouble(f"{called(value)} has no items")
        found = _method_of(value, key, scope)
    elif isinstance(key, str):
        found = _method_of(value, key, scope)
    elif isinstance(key, int):
        length = len(value)
        place = key + length if key < 0 and not isinstance(value, str) else key
        if 0 <= place < length:
            found = value[place]
    if scope.run.watching:
        note(found)
        note(key)
        indexed = isinstance(key, int) and not isinstance(value, dict)
        note(value, ARRAY_ACCESS if indexed else OBJECT_ACCESS)
    return found


def _method_of(value: Value, name: str, scope: Scope) -> Value:
    if scope.run.watching:
        note(value, name)
    handler = methods_of(value).get(name)
    return Undefined(name) if handler is None else Function(name, handler, value)


def _attribute(node: tree.Attribute) -> Evaluation:
    value, at = _evaluation(node.value), node.at
    if isinstance(node.name, tree.Literal) and type(node.name.value) is int and node.name.value >= 0:
        place = node.name.value
        return _looking_up(value, lambda scope: place, at)
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
    key = _evaluation(node.key) if node.key is not None else lambda scope: Undefined()
    return _looking_up(_evaluation(node.value), key, node.at)


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
    value, at = _evaluation(node.value), node.at
    start, stop, step = (part and _evaluation(part) for part in (node.start, node.stop, node.step))

    def run(scope: Scope) -> Value:
        whole = value(scope)
        stride = step(scope) if step else 1
        length = len(whole) if isinstance(whole, str | list | tuple) else 0
        try:
            backwards = (start is None or stop is None) and integer(stride) < 0
            first = start(scope) if start else length - 1 if backwards else 0
            last = stop(scope) if stop else -1 if backwards else length
            return _filter(whole, "slice", (first, last, stride), scope)
        except Trouble as trouble:
            raise trouble.placed(at) from None

    return run


# ------------------------------------------------------------------------------------ filters, tests, calls


_ALIASES = {"count": "length", "d": "default", "e": "escape", "trim": "strip"}
# without brackets behind the name, these take anything that has a text
_COERCING = frozenset({"capitalize", "lower", "replace", "strip", "title", "upper", "wordcount"})


def _filter(value: Value, name: str, arguments: Sequence[Value], scope: Scope) -> Value:
    if scope.run.watching:
        note(value, name)
    handler = methods_of(value).get(name)
    if handler is None:
        # jinja2 would not take nothing either, or would take it for an empty string
        kind: Any = "raised" if value is None or isinstance(value, Undefined) else "unsupported"
        raise Trouble(f"no filter '{name}' for {called(value)}", kind)
    try:
        return handler((value, *arguments), scope)
    except Misuse as misuse:
        raise Trouble(f"filter '{name}' {misuse}", misuse.kind) from None


def _filtered(node: tree.Filtered) -> Evaluation:
    return _applied(_evaluation(node.operand), node.filter, node.at)


def _applied(value: Evaluation, filter_: Node, at: int) -> Evaluation:
    if isinstance(filter_, tree.Call) and isinstance(filter_.callee, tree.Name):
        written, arguments = filter_.callee.name, [_evaluation(argument) for argument in filter_.arguments]
        coerces = False
    elif isinstance(filter_, tree.Name):
        written, arguments = filter_.name, []
        coerces = _ALIASES.get(written, written) in _COERCING
    else:
        return _failing(value, "a filter is a name, with or without arguments, nothing else", at)
    name = _ALIASES.get(written, written)

    def run(scope: Scope) -> Value:
        operand = value(scope)
        given = [argument(scope) for argument in arguments]
        try:
            if coerces and not isinstance(operand, str | Undefined):
                operand = text(operand)
            return _filter(operand, name, given, scope)
        except Trouble as trouble:
            raise trouble.placed(at) from None

    return run


def _tested(node: tree.Tested) -> Evaluation:
    value, at, negated = _evaluation(node.operand), node.at, node.negated
    if isinstance(node.test, tree.Call) and isinstance(node.test.callee, tree.Name):
        name, arguments = node.test.callee.name, [_evaluation(argument) for argument in node.test.arguments]
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


_LACKING_GLOBALS = frozenset({"cycler", "joiner", "lipsum"})


def _call(node: tree.Call) -> Evaluation:
    arguments, at = [_evaluation(argument) for argument in node.arguments], node.at
    if isinstance(node.callee, tree.Attribute) and isinstance(node.callee.name, tree.Name):
        return _method_call(node.callee, node.callee.name.name, arguments)
    callee = _evaluation(node.callee)
    missing = ""
    if isinstance(node.callee, tree.Name):
        missing = f"no function '{node.callee.name}'"
    kind: Any = (
        "unsupported" if isinstance(node.callee, tree.Name) and node.callee.name in _LACKING_GLOBALS else "raised"
    )

    def run(scope: Scope) -> Value:
        given = [argument(scope) for argument in arguments]
        function = callee(scope)
        if type(function) is not Function:
            if missing and isinstance(function, Undefined):
                raise Trouble(missing, kind, at)
            raise Trouble(f"{called(function)} is no function", at=at)
        return _called(function, given, scope, at)

    return run


def _method_call(callee: tree.Attribute, name: str, arguments: Sequence[Evaluation]) -> Evaluation:
    value, at = _evaluation(callee.value), callee.at

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
            raise Trouble(f"no method '{name}' for {called(own)}", kind, at)
        return _called(function, given, scope, at)

    return run


def _called(function: Function, arguments: Sequence[Value], scope: Scope, at: int) -> Value:
    try:
        return function(arguments, scope)
    except Misuse as misuse:
        raise Trouble(f"'{function.name}' {misuse}", misuse.kind, at) from None
    except Trouble as trouble:
        raise trouble.placed(at) from None


def _keyword(node: tree.Keyword) -> Evaluation:
    value, at = _evaluation(node.value), node.at
    if not isinstance(node.key, tree.Name):
        return _failing(lambda scope: None, "an argument's name is a name, nothing else", at)
    name = node.key.name
    return lambda scope: Keyword(name, value(scope))


def _spread(node: tree.Spread) -> Evaluation:
    at = node.at

    def run(scope: Scope) -> NoReturn:
        del scope
        raise Trouble("no arguments from a list (*)", "unsupported", at)

    return run


# ------------------------------------------------------------------------------------ statements


def _nothing(node: Node) -> Evaluation:
    del node
    return lambda scope: ""


def _if(node: tree.If) -> Evaluation:
    test, then, otherwise, at = _evaluation(node.test), body(node.body), body(node.otherwise), node.at
    return lambda scope: then(scope) if _true_at(test(scope), at) else otherwise(scope)


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
    at, target = node.at, node.target
    if isinstance(node.iterable, tree.Selection):
        iterable, test = _evaluation(node.iterable.value), _evaluation(node.iterable.test)
    else:
        iterable, test = _evaluation(node.iterable), None
    parts = [_evaluation(part) for part in node.body]
    otherwise = body(node.otherwise)
    bind = _binder(target, "a loop")
    usable = isinstance(target, tree.Name | tree.TupleLiteral)

    def chosen(scope: Scope) -> list[Value]:
        items = _iterated(iterable(scope), scope, pairs=isinstance(target, tree.TupleLiteral))
        if items and not usable:
            raise Trouble("a loop's variable is a name or several, nothing else")
        result = []
        for item in items:
            _check_parts(target, item)
            if test is not None:
                trial = scope.inner()
                bind(trial, item)
                if not true(test(trial)):
                    continue
            result.append(item)
        return result

    def run(scope: Scope) -> str:
        inner = scope.inner()
        out: list[str] = []
        ran = False
        try:
            items = chosen(inner)
            last = len(items) - 1
            for place, item in enumerate(items):
                inner["loop"] = LoopInfo(
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
                bind(inner, item)
                try:
                    for part in parts:
                        value = part(inner)
                        out.append(value if type(value) is str else printed(value))
                except _Continue:
                    continue
                except _Break:
                    break
                ran = True
        except Trouble as trouble:
            raise trouble.placed(at) from None
        if not ran:  # neither has a loop that left every round early
            out.append(otherwise(scope))
        return _bounded("".join(out))

    return run


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
    value: Evaluation = body(node.body) if node.value is None else _evaluation(node.value)
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
        owner, name = _evaluation(target.value), target.name.name

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
        return _failing(lambda scope: None, "a macro's name is a name, nothing else", node.at)
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


def _parameters(parameters: Nodes, whose: str) -> Callable[[Scope, Sequence[Value], Scope], None]:
    """What gives arguments to parameters; defaults are evaluated in the caller's scope.

    As many parameters as there are arguments take one by name or place, or become undefined; the others their default.
    """
    named: list[tuple[str | None, Evaluation | None]] = []
    for parameter in parameters:
        if isinstance(parameter, tree.Keyword) and isinstance(parameter.key, tree.Name):
            named.append((parameter.key.name, _evaluation(parameter.value)))
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
    callee = _evaluation(node.call.callee)
    arguments = [_evaluation(argument) for argument in node.call.arguments]
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
        return _called(function, [argument(scope) for argument in arguments], calling, at)

    return run


def _filter_block(node: tree.FilterBlock) -> Evaluation:
    return _applied(body(node.body), node.filter, node.filter.at)


def _jump(node: tree.Jump) -> Evaluation:
    jump = _Break if node.leaves else _Continue

    def run(scope: Scope) -> NoReturn:
        del scope
        raise jump

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
    tree.Nothing: _nothing,
    tree.If: _if,
    tree.For: _for,
    tree.Set: _set,
    tree.Macro: _macro,
    tree.CallBlock: _call_block,
    tree.FilterBlock: _filter_block,
    tree.Jump: _jump,
}


def _evaluation(node: Node) -> Evaluation:
    return _EVALUATIONS[type(node)](node)

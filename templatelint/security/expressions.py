"""Expressions of a template → what each may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jinja2 import nodes

from templatelint.security import pure
from templatelint.security.atoms import added, calculated, cut, percent, truth
from templatelint.security.filters import TESTS, Filters, tested
from templatelint.security.internals import internal
from templatelint.security.requests import VARIABLES, role_of
from templatelint.security.showing import GLOBALS
from templatelint.security.state import EACH, identifier
from templatelint.security.values import (
    LONGEST_LIST,
    MANY,
    NO_REASON,
    NUMBER,
    TRUTH,
    UNKNOWN,
    Atom,
    Seq,
    Str,
    Table,
    Thing,
    Unknown,
    Value,
    joined,
    lifted,
    one,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from templatelint.security.state import Env

DEEP: Final = 60


class Expressions(Filters):
    """Reads expressions."""

    def __init__(self, syntax: Any) -> None:
        super().__init__(syntax)
        self._constants: dict[int, Value] = {}
        self.deferred: list[tuple[nodes.Node, Env]] = []  # what is too deep to be read where it stands

    def eval(self, node: nodes.Node, caller: Value | None = None) -> Value:
        """What an expression may be."""
        self.steps += 1
        self.charge(EACH)
        if self.depth > DEEP:
            if id(node) not in self.seen:
                self.seen.add(id(node))
                self.deferred.append((node, self.env))
            return MANY
        self.depth += 1
        try:
            if isinstance(node, nodes.Call):
                return self.call(node, caller)
            work = _EXPRESSIONS.get(type(node))
            if work is not None:
                return work(self, node)
            for child in node.iter_child_nodes():
                self.eval(child)
            return UNKNOWN
        finally:
            self.depth -= 1

    def _constant(self, node: nodes.Const) -> Value:
        known = self._constants.get(id(node))
        if known is None:
            known = one(Str(node.value, (node,))) if isinstance(node.value, str) else lifted(node.value)
            self._constants[id(node)] = known
        return known

    def _text(self, node: nodes.TemplateData) -> Value:
        return one(Str(node.data, (node,)))

    def _name(self, node: nodes.Name) -> Value:
        name = identifier(node.name)
        known = self.env.get(name) or VARIABLES.get(name)
        if known is not None:
            return known
        if internal(name):
            return self.reached(name, node)
        return one(Thing("global" if name in GLOBALS else "variable", name))

    def _sequence(self, node: nodes.List | nodes.Tuple) -> Value:
        items = [self.eval(item) for item in node.items]
        return one(Seq(tuple(items))) if len(items) <= LONGEST_LIST else MANY

    def _table(self, node: nodes.Dict) -> Value:
        rows = [(self.eval(pair.key), self.eval(pair.value)) for pair in node.items]
        return one(Table(tuple(rows))) if len(rows) <= LONGEST_LIST else MANY

    def _conditional(self, node: nodes.CondExpr) -> Value:
        test = self.eval(node.test)
        guard, operator = self.guard, self.operator
        self.guard, self.operator = guard | test.why, role_of(node.test) or operator
        yes = self.eval(node.expr1)
        self.operator = operator
        no = self.eval(node.expr2) if node.expr2 is not None else one(Thing("undefined"))
        self.guard = guard
        known = truth(test)
        return joined((yes,) if known is True else (no,) if known is False else (yes, no)).because(test.why)

    def _either(self, node: nodes.And | nodes.Or) -> Value:
        operator = self.operator
        if isinstance(node, nodes.And):
            self.operator = role_of(node) or operator
        parts = [self.eval(part) for part in _flat(node, type(node))]
        self.operator = operator
        return joined(parts)

    def _not(self, node: nodes.Not) -> Value:
        value = self.eval(node.node)
        known = truth(value)
        return (TRUTH if known is None else one(not known)).because(value.why)

    def _sum(self, node: nodes.Add) -> Value:
        first, *others = [self.eval(part) for part in _flat(node, nodes.Add)]
        for other in others:
            first = self.crossed(first, other, added)
        return first

    def _concatenation(self, node: nodes.Concat) -> Value:
        return self.concat([self.eval(part) for part in node.nodes])

    def _binary(self, node: nodes.BinExpr) -> Value:
        left, right = self.eval(node.left), self.eval(node.right)
        if isinstance(node, nodes.Mod):
            return self.crossed(left, right, percent)
        operator = _OPERATORS[type(node)]
        return self.crossed(left, right, lambda one_, other: calculated(operator, one_, other))

    def _negative(self, node: nodes.Neg) -> Value:
        value = self.eval(node.node)
        atom = value.only
        return one(-atom) if isinstance(atom, int | float) else NUMBER.because(value.why)

    # ---------------------------------------------------------------------------------------- comparisons

    def _compare(self, node: nodes.Compare) -> Value:
        left = self.eval(node.expr)
        results: list[Value] = []
        for operand in node.ops:
            right = self.eval(operand.expr)
            results.append(self._compared(left, operand.op, right, node))
            left = right
        return results[0] if len(results) == 1 else TRUTH.because(NO_REASON.union(*(made.why for made in results)))

    def _compared(self, left: Value, operator: str, right: Value, node: nodes.Node) -> Value:
        why = left.why | right.why
        trigger = self.keyed_by(left, operator, right, node)
        if trigger is not None:
            why |= {trigger}
        value = TRUTH
        if len(left.atoms) == len(right.atoms) == 1:
            value = _known(operator, left.atoms[0], right.atoms[0])
        return value.because(why) if why else value

    def _test(self, node: nodes.Test) -> Value:
        value = self.eval(node.node)
        args = [self.eval(arg) for arg in node.args or ()]
        operator = TESTS.get(node.name)
        if operator is not None and args:
            return self._compared(value, operator, args[0], node)
        why = value.why.union(*(arg.why for arg in args))
        holds = tested(Str(node.name), value, args)
        made = TRUTH if holds is None or node.name in ("defined", "undefined") else one(holds)
        return made.because(why) if why else made

    # ------------------------------------------------------------------------------- what belongs to what

    def _attribute(self, node: nodes.Getattr) -> Value:
        self.seen.add(id(node))
        return self.member(self.eval(node.node), one(Str(node.attr, (node,))), node, dotted=True)

    def _subscript(self, node: nodes.Getitem) -> Value:
        self.seen.add(id(node))
        base = self.eval(node.node)
        if not isinstance(node.arg, nodes.Slice):
            return self.member(base, self.eval(node.arg), node)
        bounds = [node.arg.start, node.arg.stop, node.arg.step]
        numbers = [None if part is None else self.eval(part).only for part in bounds]
        return joined([cut(atom, numbers) for atom in base.atoms]).because(base.why)


def _flat(node: nodes.Expr, kind: type[nodes.BinExpr]) -> list[nodes.Expr]:
    """The operands of a chain that leans to the left, in order: a long one is no deep one."""
    parts: list[nodes.Expr] = []
    current = node
    while type(current) is kind:
        parts.append(current.right)
        current = current.left
    parts.append(current)
    return parts[::-1]


def _known(operator: str, left: Atom, right: Atom) -> Value:
    if isinstance(left, Thing) or isinstance(right, Thing):
        return TRUTH
    try:
        return one(bool(pure.arithmetic(operator, plain(left), plain(right))))
    except Unknown:
        return TRUTH


_OPERATORS: Mapping[type[nodes.Node], str] = {
    nodes.Sub: "sub",
    nodes.Mul: "mul",
    nodes.Div: "div",
    nodes.FloorDiv: "floordiv",
    nodes.Pow: "pow",
}
_EXPRESSIONS: Mapping[type[nodes.Node], Callable[[Expressions, Any], Value]] = {
    nodes.Const: Expressions._constant,  # noqa: SLF001 (the table of this class)
    nodes.TemplateData: Expressions._text,  # noqa: SLF001 (as above)
    nodes.Name: Expressions._name,  # noqa: SLF001 (as above)
    nodes.List: Expressions._sequence,  # noqa: SLF001 (as above)
    nodes.Tuple: Expressions._sequence,  # noqa: SLF001 (as above)
    nodes.Dict: Expressions._table,  # noqa: SLF001 (as above)
    nodes.CondExpr: Expressions._conditional,  # noqa: SLF001 (as above)
    nodes.And: Expressions._either,  # noqa: SLF001 (as above)
    nodes.Or: Expressions._either,  # noqa: SLF001 (as above)
    nodes.Not: Expressions._not,  # noqa: SLF001 (as above)
    nodes.Add: Expressions._sum,  # noqa: SLF001 (as above)
    nodes.Concat: Expressions._concatenation,  # noqa: SLF001 (as above)
    nodes.Mod: Expressions._binary,  # noqa: SLF001 (as above)
    **dict.fromkeys(_OPERATORS, Expressions._binary),  # noqa: SLF001 (as above)
    nodes.Neg: Expressions._negative,  # noqa: SLF001 (as above)
    nodes.Compare: Expressions._compare,  # noqa: SLF001 (as above)
    nodes.Test: Expressions._test,  # noqa: SLF001 (as above)
    nodes.Getattr: Expressions._attribute,  # noqa: SLF001 (as above)
    nodes.Getitem: Expressions._subscript,  # noqa: SLF001 (as above)
    nodes.Filter: Filters.filter,
}

"""What llama.cpp's parser makes of a template: expressions and statements that know where they stand.

`at` is the offset in the normalised text of the token that tells what a node is: the name of a filter, test, attribute
or variable, the operator, the tag's name, the opening bracket or the literal. Strings hold bytes, see `values`.

Nothing writes to a node once it is made. The classes are not frozen all the same: Python takes three times as long to
define one that is, and a tenth of the time of a small run was spent on these.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False, repr=False)
class Node:
    """An expression or a statement."""

    at: int


Nodes = tuple[Node, ...]


# ---------------------------------------------------------------------------------------- expressions


@dataclass(eq=False, repr=False)
class Literal(Node):
    """A string or a number."""

    value: str | int | float


@dataclass(eq=False, repr=False)
class Name(Node):
    """A variable."""

    name: str


@dataclass(eq=False, repr=False)
class ListLiteral(Node):
    """`[a, b]`."""

    items: Nodes


@dataclass(eq=False, repr=False)
class TupleLiteral(Node):
    """`a, b`, where the grammar has it."""

    items: Nodes


@dataclass(eq=False, repr=False)
class DictLiteral(Node):
    """`{a: b}`."""

    pairs: tuple[tuple[Node, Node], ...]


@dataclass(eq=False, repr=False)
class Binary(Node):
    """`left operator right`."""

    operator: str
    left: Node
    right: Node


@dataclass(eq=False, repr=False)
class Unary(Node):
    """`operator operand`: `not`, `-` or `+`."""

    operator: str
    operand: Node


@dataclass(eq=False, repr=False)
class Conditional(Node):
    """`then if test else otherwise`."""

    test: Node
    then: Node
    otherwise: Node


@dataclass(eq=False, repr=False)
class Selection(Node):
    """`value if test`: undefined where the test fails; in a loop's head it picks items."""

    value: Node
    test: Node


@dataclass(eq=False, repr=False)
class Filtered(Node):
    """`operand|filter`, where the filter is a `Name`, a `Call` of one, or nothing that works."""

    operand: Node
    filter: Node


@dataclass(eq=False, repr=False)
class Tested(Node):
    """`operand is test`, where the test is a `Name`, a `Call` of one, or nothing that works."""

    operand: Node
    test: Node
    negated: bool


@dataclass(eq=False, repr=False)
class Attribute(Node):
    """`value.name`, where a `Name` or an integer `Literal` works as the name."""

    value: Node
    name: Node


@dataclass(eq=False, repr=False)
class Item(Node):
    """`value[key]`; no key in `value[]`."""

    value: Node
    key: Node | None


@dataclass(eq=False, repr=False)
class Slice(Node):
    """`value[start:stop:step]`."""

    value: Node
    start: Node | None
    stop: Node | None
    step: Node | None


@dataclass(eq=False, repr=False)
class Call(Node):
    """`callee(arguments)`."""

    callee: Node
    arguments: Nodes


@dataclass(eq=False, repr=False)
class Keyword(Node):
    """`key=value` among arguments or parameters, where a `Name` works as the key."""

    key: Node
    value: Node


@dataclass(eq=False, repr=False)
class Spread(Node):
    """`*value` among arguments, which nothing can execute."""

    value: Node


# ----------------------------------------------------------------------------------------- statements


@dataclass(eq=False, repr=False)
class Nothing(Node):
    """A tag without effect: `{% generation %}` or its end."""


@dataclass(eq=False, repr=False)
class If(Node):
    """`{% if %}`; `{% elif %}` is an `If` alone in the alternative."""

    test: Node
    body: Nodes
    otherwise: Nodes


@dataclass(eq=False, repr=False)
class For(Node):
    """`{% for target in iterable %}`, where a `Name` or a `TupleLiteral` of them works as the target."""

    target: Node
    iterable: Node
    body: Nodes
    otherwise: Nodes


@dataclass(eq=False, repr=False)
class Set(Node):
    """`{% set target = value %}`, or with a body instead of the value."""

    target: Node
    value: Node | None
    body: Nodes


@dataclass(eq=False, repr=False)
class Macro(Node):
    """`{% macro name(parameters) %}`, where a `Name` works as the name."""

    name: Node
    parameters: Nodes
    body: Nodes


@dataclass(eq=False, repr=False)
class CallBlock(Node):
    """`{% call(parameters) callee(arguments) %}`."""

    call: Call
    parameters: Nodes
    body: Nodes


@dataclass(eq=False, repr=False)
class FilterBlock(Node):
    """`{% filter %}`."""

    filter: Node
    body: Nodes


@dataclass(eq=False, repr=False)
class Jump(Node):
    """`{% break %}` or `{% continue %}`."""

    leaves: bool

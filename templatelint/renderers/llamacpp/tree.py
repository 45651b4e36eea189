"""What llama.cpp's parser makes of a template: expressions and statements that know where they stand.

`at` is the offset in the normalised text of the token that tells what a node is: the name of a filter, test, attribute
or variable, the operator, the tag's name, the opening bracket or the literal. Strings hold bytes, see `values`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """An expression or a statement."""

    at: int


Nodes = tuple[Node, ...]


# ---------------------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A string or a number."""

    value: str | int | float


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A variable."""

    name: str


@dataclass(frozen=True, slots=True)
class ListLiteral(Node):
    """`[a, b]`."""

    items: Nodes


@dataclass(frozen=True, slots=True)
class TupleLiteral(Node):
    """`a, b`, where the grammar has it."""

    items: Nodes


@dataclass(frozen=True, slots=True)
class DictLiteral(Node):
    """`{a: b}`."""

    pairs: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """`left operator right`."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`operator operand`: `not`, `-` or `+`."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`then if test else otherwise`."""

    test: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Selection(Node):
    """`value if test`: undefined where the test fails; in a loop's head it picks items."""

    value: Node
    test: Node


@dataclass(frozen=True, slots=True)
class Filtered(Node):
    """`operand|filter`, where the filter is a `Name`, a `Call` of one, or nothing that works."""

    operand: Node
    filter: Node


@dataclass(frozen=True, slots=True)
class Tested(Node):
    """`operand is test`, where the test is a `Name`, a `Call` of one, or nothing that works."""

    operand: Node
    test: Node
    negated: bool


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """`value.name`, where a `Name` or an integer `Literal` works as the name."""

    value: Node
    name: Node


@dataclass(frozen=True, slots=True)
class Item(Node):
    """`value[key]`; no key in `value[]`."""

    value: Node
    key: Node | None


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """`value[start:stop:step]`."""

    value: Node
    start: Node | None
    stop: Node | None
    step: Node | None


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`callee(arguments)`."""

    callee: Node
    arguments: Nodes


@dataclass(frozen=True, slots=True)
class Keyword(Node):
    """`key=value` among arguments or parameters, where a `Name` works as the key."""

    key: Node
    value: Node


@dataclass(frozen=True, slots=True)
class Spread(Node):
    """`*value` among arguments, which nothing can execute."""

    value: Node


# ----------------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Nothing(Node):
    """A tag without effect: `{% generation %}` or its end."""


@dataclass(frozen=True, slots=True)
class If(Node):
    """`{% if %}`; `{% elif %}` is an `If` alone in the alternative."""

    test: Node
    body: Nodes
    otherwise: Nodes


@dataclass(frozen=True, slots=True)
class For(Node):
    """`{% for target in iterable %}`, where a `Name` or a `TupleLiteral` of them works as the target."""

    target: Node
    iterable: Node
    body: Nodes
    otherwise: Nodes


@dataclass(frozen=True, slots=True)
class Set(Node):
    """`{% set target = value %}`, or with a body instead of the value."""

    target: Node
    value: Node | None
    body: Nodes


@dataclass(frozen=True, slots=True)
class Macro(Node):
    """`{% macro name(parameters) %}`, where a `Name` works as the name."""

    name: Node
    parameters: Nodes
    body: Nodes


@dataclass(frozen=True, slots=True)
class CallBlock(Node):
    """`{% call(parameters) callee(arguments) %}`."""

    call: Call
    parameters: Nodes
    body: Nodes


@dataclass(frozen=True, slots=True)
class FilterBlock(Node):
    """`{% filter %}`."""

    filter: Node
    body: Nodes


@dataclass(frozen=True, slots=True)
class Jump(Node):
    """`{% break %}` or `{% continue %}`."""

    leaves: bool

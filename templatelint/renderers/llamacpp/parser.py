"""Tokens → tree, by llama.cpp's grammar: looser than Jinja's in some places, poorer in others."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from jinja2.exceptions import TemplateSyntaxError

from templatelint.lexer import Spot
from templatelint.renderers.llamacpp import tree
from templatelint.renderers.llamacpp.lexing import Token
from templatelint.renderers.llamacpp.values import byte_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.renderers.llamacpp.tree import Node, Nodes

# how tightly binary operators bind, all to the left; `not` before an operand stands at _NEGATION
_OR, _AND, _NEGATION, _COMPARISON, _SUM, _PRODUCT = range(1, 7)
_BINDING = {
    **dict.fromkeys(("<", ">", "<=", ">=", "==", "!=", "in", "not in"), _COMPARISON),
    **dict.fromkeys(("+", "-", "~"), _SUM),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
    "or": _OR,
    "and": _AND,
}
_NAMED_OPERATORS = frozenset({"or", "and", "in"})
# what may follow a test's name as its argument, without brackets; of the names all but these
_BARE_ARGUMENTS = frozenset({"number", "string", "lbrace", "lbracket", "name"})
_NO_ARGUMENTS = frozenset({"and", "or", "else"})

_LAST_INTEGER = 2**63 - 1

_SHOWN = {
    "lparen": "(",
    "rparen": ")",
    "lbracket": "[",
    "rbracket": "]",
    "lbrace": "{",
    "rbrace": "}",
    "variable_begin": "{{",
    "variable_end": "}}",
    "block_begin": "{%",
    "block_end": "%}",
    "comma": ",",
    "dot": ".",
    "colon": ":",
    "pipe": "|",
    "assign": "=",
}


class Parser:
    """Parses one template's tokens.

    Its methods raise TemplateSyntaxError, whose `lineno` is a `Spot`, where the grammar knows no way on.
    """

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        end = Spot(tokens[-1].spot if tokens else 1)
        end.start = max(len(text) - 1, 0)
        end.end = len(text)
        self._text = text
        self._tokens = [*tokens, Token("end", "", end), Token("end", "", end)]
        self._next = 0

    def parse(self) -> Nodes:
        """The whole template."""
        parts = []
        while self._kind != "end":
            parts.append(self._part())
        return tuple(parts)

    # ------------------------------------------------------------------------------------ tokens

    @property
    def _kind(self) -> str:
        return self._tokens[self._next].kind

    @property
    def _at(self) -> int:
        return self._tokens[self._next].spot.start

    def _take(self) -> Token:
        token = self._tokens[self._next]
        if token.kind == "end":
            raise self._error("the template ends inside a tag or a block")
        self._next += 1
        return token

    def _is(self, kind: str) -> bool:
        return self._tokens[self._next].kind == kind

    def _skip(self, kind: str) -> bool:
        """Take the next token if it is of that kind."""
        if self._tokens[self._next].kind == kind:
            self._next += 1
            return True
        return False

    def _is_word(self, *words: str) -> bool:
        token = self._tokens[self._next]
        return token.kind == "name" and token.value in words

    def _expect(self, kind: str) -> None:
        if not self._skip(kind):
            raise self._error(f"expected {_SHOWN[kind]}, found {self._found()}")

    def _found(self) -> str:
        kind, value, spot = self._tokens[self._next]
        if kind == "end":
            return "the end of the template"
        if kind == "data":
            return "text"
        before = self._tokens[self._next - 1]
        if kind == "name" and before.kind == "number" and before.spot.end == spot.start:
            return f"'{self._text[before.spot.start : spot.end]}', which is no number"
        if kind in ("name", "string", "number"):
            return f"{kind} {self._text[spot.start : spot.end]}"
        return _SHOWN.get(kind, str(value))

    def _error(self, message: str) -> TemplateSyntaxError:
        return TemplateSyntaxError(message, self._tokens[self._next].spot)

    # ------------------------------------------------------------------------------------ statements

    def _part(self) -> Node:
        """Text, `{{ }}` or a statement."""
        token = self._take()
        if token.kind == "data":
            return tree.Literal(token.spot.start, byte_text(token.value))
        if token.kind == "variable_begin":
            value = self._expression()
            self._expect("variable_end")
            return value
        if token.kind == "block_begin":
            return self._statement()
        self._next -= 1
        raise self._error(f"unexpected {self._found()}")

    def _statement(self) -> Node:
        if not self._is("name"):
            raise self._error(f"expected the name of a statement, found {self._found()}")
        at, name = self._at, self._take().value
        parse = self._STATEMENTS.get(name)
        if parse is None:
            self._next -= 1
            raise self._error(f"no statement '{name}'")
        return parse(self, at)

    def _at_tag(self, *names: str) -> bool:
        if not self._is("block_begin"):
            return False
        after = self._tokens[self._next + 1]
        return after.kind == "name" and after.value in names

    def _body(self, *ends: str) -> Nodes:
        """Everything up to one of these tags, which stays."""
        parts = []
        while not self._at_tag(*ends):
            if self._kind == "end":
                raise self._error(f"expected {{% {ends[-1]} %}}, found the end of the template")
            parts.append(self._part())
        return tuple(parts)

    def _tag(self) -> None:
        """Take an inner or closing tag that `_body` stopped at."""
        self._next += 2
        self._expect("block_end")

    def _closed_body(self, end: str) -> Nodes:
        body = self._body(end)
        self._tag()
        return body

    def _if(self, at: int) -> Node:
        node = self._branch(at)
        self._tag()
        return node

    def _branch(self, at: int) -> Node:
        """A condition with what belongs to it, up to `{% endif %}`."""
        test = self._expression()
        self._expect("block_end")
        body = self._body("elif", "else", "endif")
        otherwise: Nodes = ()
        if self._at_tag("elif"):
            at_elif = self._tokens[self._next + 1].spot.start
            self._next += 2
            otherwise = (self._branch(at_elif),)
        elif self._at_tag("else"):
            self._tag()
            otherwise = self._body("endif")
        return tree.If(at, test, body, otherwise)

    def _for(self, at: int) -> Node:
        target = self._sequence(self._primary)
        if not self._is_word("in"):
            raise self._error(f"expected in, found {self._found()}")
        self._next += 1
        iterable = self._expression()
        self._expect("block_end")
        body = self._body("else", "endfor")
        otherwise: Nodes = ()
        if self._at_tag("else"):
            self._tag()
            otherwise = self._body("endfor")
        self._tag()
        return tree.For(at, target, iterable, body, otherwise)

    def _set(self, at: int) -> Node:
        target = self._sequence(self._expression)
        if self._skip("assign"):
            value = self._sequence(self._expression)
            self._expect("block_end")
            return tree.Set(at, target, value, ())
        self._expect("block_end")
        return tree.Set(at, target, None, self._closed_body("endset"))

    def _macro(self, at: int) -> Node:
        name = self._primary()
        parameters = self._arguments()
        self._expect("block_end")
        return tree.Macro(at, name, parameters, self._closed_body("endmacro"))

    def _call_block(self, at: int) -> Node:
        parameters = self._arguments() if self._is("lparen") else ()
        at_callee = self._at
        if not self._is("name"):
            raise self._error(f"expected the name of a macro, found {self._found()}")
        call = tree.Call(at_callee, self._primary(), self._arguments())
        self._expect("block_end")
        return tree.CallBlock(at, call, parameters, self._closed_body("endcall"))

    def _filter_block(self, at: int) -> Node:
        filter_ = self._primary()
        if isinstance(filter_, tree.Name) and self._is("lparen"):
            filter_ = self._postfix(filter_)
        self._expect("block_end")
        return tree.FilterBlock(at, filter_, self._closed_body("endfilter"))

    def _break(self, at: int) -> Node:
        self._expect("block_end")
        return tree.Jump(at, leaves=True)

    def _continue(self, at: int) -> Node:
        self._expect("block_end")
        return tree.Jump(at, leaves=False)

    def _generation(self, at: int) -> Node:
        self._take()  # whatever it is
        return tree.Nothing(at)

    _STATEMENTS: ClassVar[Mapping[str, Callable[[Parser, int], Node]]] = {
        "if": _if,
        "for": _for,
        "set": _set,
        "macro": _macro,
        "call": _call_block,
        "filter": _filter_block,
        "break": _break,
        "continue": _continue,
        "generation": _generation,
        "endgeneration": _generation,
    }

    # ------------------------------------------------------------------------------------ expressions

    def _sequence(self, parse: Callable[[], Node]) -> Node:
        """One expression, or several with commas between them, which make a tuple."""
        at = self._at
        first = parse()
        if not self._is("comma"):
            return first
        items = [first]
        while self._skip("comma"):
            items.append(parse())
        return tree.TupleLiteral(at, tuple(items))

    def _expression(self) -> Node:
        value = self._binary(_OR)
        if not self._is_word("if"):
            return value
        at = self._at
        self._next += 1
        test = self._binary(_OR)
        if not self._is_word("else"):
            return tree.Selection(at, value, test)
        self._next += 1
        return tree.Conditional(at, test, value, self._expression())

    def _binary(self, loosest: int) -> Node:
        """An operand with all that follows and binds at least as tightly as `loosest`."""
        if loosest <= _NEGATION and self._is_word("not"):
            at = self._at
            self._next += 1
            left: Node = tree.Unary(at, "not", self._binary(_NEGATION))
        else:
            left = self._tested()
        while True:
            at, operator = self._at, self._operator()
            binding = _BINDING.get(operator, 0)
            if binding < loosest:
                return left
            self._next += 2 if operator == "not in" else 1
            left = tree.Binary(at, operator, left, self._binary(binding + 1))

    def _operator(self) -> str:
        """The binary operator that comes next, or something that is none."""
        token = self._tokens[self._next]
        if token.kind != "name":
            return token.kind
        if token.value == "not":
            after = self._tokens[self._next + 1]
            return "not in" if after.kind == "name" and after.value == "in" else ""
        return token.value if token.value in _NAMED_OPERATORS else ""

    def _tested(self) -> Node:
        value = self._filtered()
        while self._is_word("is"):
            self._next += 1
            negated = self._is_word("not")
            self._next += negated
            at = self._at
            test = self._primary()
            if self._is("lparen"):
                test = self._postfix(test)
            elif self._kind in _BARE_ARGUMENTS and not self._is_word(*_NO_ARGUMENTS):
                test = tree.Call(at, test, (self._signed(),))
            value = tree.Tested(at, value, test, negated)
        return value

    def _filtered(self) -> Node:
        value = self._signed()
        while self._skip("pipe"):
            at = self._at
            filter_ = self._primary()
            if self._is("lparen"):
                filter_ = self._postfix(filter_)
            value = tree.Filtered(at, value, filter_)
        return value

    def _signed(self) -> Node:
        if self._is("sign"):
            at, sign = self._at, self._take().value
            return tree.Unary(at, sign, self._signed())
        return self._postfix(self._primary())

    def _postfix(self, value: Node) -> Node:
        """The value with the attributes, items and calls behind it."""
        while True:
            if self._is("lparen"):
                value = tree.Call(value.at, value, self._arguments())
            elif self._skip("dot"):
                at = self._at
                value = tree.Attribute(at, value, self._primary())
            elif self._is("lbracket"):
                value = self._subscript(value)
            else:
                return value

    def _arguments(self) -> Nodes:
        """Arguments in brackets; commas between them may be missing."""
        self._expect("lparen")
        arguments: list[Node] = []
        while not self._skip("rparen"):
            at = self._at
            if self._skip("*"):
                arguments.append(tree.Spread(at, self._expression()))
            else:
                argument = self._expression()
                if self._skip("assign"):
                    argument = tree.Keyword(at, argument, self._expression())
                arguments.append(argument)
            self._skip("comma")
        return tuple(arguments)

    def _subscript(self, value: Node) -> Node:
        """`[key]` or a slice; expressions without a colon between them are read, and all but the first ignored."""
        at = self._take().spot.start
        parts: list[Node | None] = []
        is_slice = False
        while not self._skip("rbracket"):
            if self._skip("colon"):
                parts.append(None)
                is_slice = True
            else:
                parts.append(self._expression())
                is_slice = self._skip("colon") or is_slice
        if not is_slice:
            return tree.Item(at, value, parts[0] if parts else None)
        start, stop, step = (*parts, None, None)[:3]
        return tree.Slice(at, value, start, stop, step)

    def _primary(self) -> Node:
        at, (kind, value, _) = self._at, self._take()
        if kind == "name":
            return tree.Name(at, value)
        if kind == "string":
            while self._is("string"):
                value += self._take().value
            return tree.Literal(at, byte_text(value))
        if kind == "number":
            return self._number(at, value)
        if kind == "lparen":
            inner = self._sequence(self._expression)
            self._expect("rparen")
            return inner
        if kind == "lbracket":
            return tree.ListLiteral(at, self._items())
        if kind == "lbrace":
            return tree.DictLiteral(at, self._pairs())
        self._next -= 1
        raise self._error(f"expected an expression, found {self._found()}")

    def _number(self, at: int, value: float) -> Node:
        if isinstance(value, int) and not -_LAST_INTEGER - 1 <= value <= _LAST_INTEGER:
            self._next -= 1
            raise self._error("integer beyond 64 bits")
        if value in (float("inf"), float("-inf")):
            self._next -= 1
            raise self._error("number too large")
        return tree.Literal(at, value)

    def _items(self) -> Nodes:
        items = []
        while not self._skip("rbracket"):
            items.append(self._expression())
            self._skip("comma")
        return tuple(items)

    def _pairs(self) -> tuple[tuple[Node, Node], ...]:
        pairs = []
        while not self._skip("rbrace"):
            key = self._expression()
            self._expect("colon")
            pairs.append((key, self._expression()))
            self._skip("comma")
        return tuple(pairs)

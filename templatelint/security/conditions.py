"""Conditions → those that ask what a request says, or the clock, or chance, and the instructions written under them.

Beside the reading that follows values: this one follows names alone, and knows more ways to ask. What it tells is that
an instruction depends on what somebody wrote; what merely shows texts otherwise is none of its business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jinja2 import nodes

from templatelint.security.protocol import SHAPES, instructs, is_protocol
from templatelint.security.requests import SPOKEN, role_of, systems
from templatelint.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from templatelint.syntax import Syntax

_ROUNDS: Final = 3  # until what is kept under names is known where it is asked
_DEEP: Final = 60
_MOST: Final = 64
_STEPS: Final = 150_000  # expressions that are looked at
_NODES: Final = 4_000  # of a body that is looked through
_SHORT: Final = 16
_FEW: Final = 2
_KEPT: Final = 24
_LISTED: Final = 256

_Tags = frozenset[str]
_NONE: _Tags = frozenset()
_WHOLE = frozenset(("messages", "message"))
_PRINTING = frozenset(("string", "tojson", "pprint", "e", "escape", "forceescape", "urlencode", "safe", "list", "join"))
_COUNTING = frozenset(("length", "count", "wordcount"))
_METHODS = frozenset(
    ("isupper", "islower", "isdigit", "isalpha", "isalnum", "istitle", "isnumeric", "isdecimal", "isascii", "isspace")
)
_LOOKS = frozenset(("startswith", "endswith", "find", "rfind", "index", "rindex", "count", "partition", "split"))
_FORMS = frozenset(("upper", "lower", "divisibleby", "odd", "even"))
_OF_TESTS: Mapping[str, str] = {"eq": "eq", "equalto": "eq", "in": "in", "ne": "ne", "gt": "gt", "lt": "lt"}
_KINDS: Mapping[str, str] = {
    "text": "words",
    "part": "words",
    "argument": "argument",
    "described": "described",
    "name": "name",
    "length": "length",
    "clock": "clock",
    "random": "random",
}
_VARIABLES: Mapping[str, _Tags] = {
    **{name: frozenset((name,)) for name in ("messages", "message")},
    **dict.fromkeys(("tools", "functions"), frozenset(("tools",))),
    **dict.fromkeys(("date_string", "current_date", "today", "now"), frozenset(("clock",))),
}


class Ask(NamedTuple):
    """A question to what is not the template's."""

    kind: str
    words: tuple[str, ...]
    operator: str
    node: nodes.Node
    negative: bool = False


class Condition(NamedTuple):
    """A question, and an instruction that is written where it is answered so."""

    ask: Ask
    text: str
    at: nodes.Node


def conditions(syntax: Syntax) -> tuple[list[Condition], bool]:
    """All of them, in the order of the source, and whether the template was read to its end."""
    reading = _Reading(syntax)
    for _ in range(_ROUNDS):
        reading.round()
    return reading.found, not reading.spent


class _Reading:
    def __init__(self, syntax: Syntax) -> None:
        self.syntax = syntax
        self.steps = 0
        self.systems = systems(syntax.all_nodes)
        self.names: dict[str, _Tags] = {}
        self.asked: dict[str, tuple[Ask, ...]] = {}  # what names depend on
        self.macros = {node.name: node for node in syntax.all_nodes if isinstance(node, nodes.Macro)}
        self.constants = _constants(syntax)
        self.listed = _listed(syntax, self.constants)
        self.typed = {  # what has a type is a part
            _name(node.node)
            for node in syntax.all_nodes
            if isinstance(node, nodes.Getattr | nodes.Getitem) and _key(node) == "type"
        } - {""}
        self.found: list[Condition] = []
        self._tags: dict[int, _Tags] = {}
        self._system: list[nodes.Node] = []  # messages that are the system's where we are
        self._within: list[tuple[Ask, ...]] = []
        self._counting = 0

    @property
    def spent(self) -> bool:
        """Whether the work for one template is over."""
        return self.steps > _STEPS

    def round(self) -> None:
        """Once through the template."""
        self.found = []
        self._tags = {}
        self._run(self.syntax.root.body, 0)

    # ---------------------------------------------------------------------------------------------- statements

    def _run(self, body: Iterable[nodes.Node], depth: int) -> None:
        if depth > _DEEP:
            return
        for node in body:
            if isinstance(node, nodes.If):
                self._if(node, depth)
            elif isinstance(node, nodes.For):
                self._for(node, depth)
            elif isinstance(node, nodes.Assign):
                self._assign(node.target, node.node)
                self._expression(node.node)
            elif isinstance(node, nodes.Output):
                for part in node.nodes:
                    self._expression(part)
            else:
                self._other(node, depth)

    def _other(self, node: nodes.Node, depth: int) -> None:
        """A statement that is met less often."""
        if isinstance(node, nodes.AssignBlock):
            tags = [self.tags(part) for part in _outputs(node.body)]
            self._bind(node.target, _NONE.union(*map(_printed, tags)), ())
            self._run(node.body, depth + 1)
        elif isinstance(node, nodes.With):
            for target, value in zip(node.targets, node.values, strict=False):
                self._assign(target, value)
                self._expression(value)
            self._run(node.body, depth + 1)
        else:
            children = list(node.iter_child_nodes())
            for part in children:
                if isinstance(part, nodes.Expr):
                    self._expression(part)
            self._run([part for part in children if not isinstance(part, nodes.Expr)], depth + 1)

    def _if(self, node: nodes.If, depth: int) -> None:
        every: tuple[Ask, ...] = ()
        for test, body in [(node.test, node.body), *((other.test, other.body) for other in node.elif_)]:
            asks = self._branch(test, body, depth)
            every = (*every, *asks)[:_KEPT]
        self._guarded(tuple(ask._replace(negative=not ask.negative) for ask in every), node.else_, depth)

    def _branch(self, test: nodes.Node, body: Sequence[nodes.Node], depth: int) -> tuple[Ask, ...]:
        system = role_of(test)
        if system is not None:
            self._system.append(system)
            self._tags = {}
        asks = tuple(self.asks(test))[:_KEPT]
        self._guarded(asks, body, depth)
        if system is not None:
            self._system.pop()
            self._tags = {}
        return asks

    def _guarded(self, asks: tuple[Ask, ...], body: Sequence[nodes.Node], depth: int) -> None:
        self._tell([ask for ask in asks if not ask.negative], body)
        self._within.append(asks)
        self._run(body, depth + 1)
        self._within.pop()

    def _for(self, node: nodes.For, depth: int) -> None:
        tags = self.tags(node.iter)
        item = {"messages": "message", "message": "text", "text": "part"}
        self._bind(node.target, frozenset(item.get(tag, tag) for tag in tags), ())
        asks = (*self.asks(node.iter), *(self.asks(node.test) if node.test is not None else ()))[:_KEPT]
        self._counting += "text" in tags
        self._guarded(tuple(asks), node.body, depth)
        self._counting -= "text" in tags
        self._run(node.else_, depth + 1)

    def _assign(self, target: nodes.Node, value: nodes.Node) -> None:
        tags = self.tags(value)
        if self._counting and isinstance(value, nodes.BinExpr) and not isinstance(value, nodes.Concat):
            tags |= {"length"}
        within = [ask for asks in self._within for ask in asks if not ask.negative]
        self._bind(target, tags, (*self.asks(value), *within))

    def _bind(self, target: nodes.Node, tags: _Tags, asks: tuple[Ask, ...]) -> None:
        if isinstance(target, nodes.Tuple | nodes.List):
            for part in target.items:
                self._bind(part, tags, asks)
            return
        name = _name(target)
        if name:
            self.names[name] = self.names.get(name, _NONE) | tags
            kept = self.asked.get(name, ())
            known = {id(ask.node) for ask in kept}
            self.asked[name] = (*kept, *(ask for ask in asks if id(ask.node) not in known))[:_KEPT]

    def _expression(self, node: nodes.Node) -> None:
        """An expression that is written or kept: where a question decides on what it gives."""
        inner: set[int] = set()  # a long chain is told of at its top alone
        for part in walk(node):
            if isinstance(part, nodes.And | nodes.Or):
                inner.add(id(part.left))
                if id(part) in inner:
                    continue
            for asks, body in self._deciding(part):
                self._tell(tuple(asks), body)
            if isinstance(part, nodes.Call):
                self._given(part)

    def _deciding(self, node: nodes.Node) -> Iterator[tuple[Iterable[Ask], list[nodes.Node]]]:
        if isinstance(node, nodes.CondExpr):
            asks = list(self.asks(node.test))
            yield (ask for ask in asks if not ask.negative), [node.expr1]
            if node.expr2 is not None:
                yield (ask for ask in asks if ask.negative), [node.expr2]
        elif isinstance(node, nodes.And | nodes.Or):
            parts = _operands(node)
            yield (ask for part in parts[:-1] for ask in self.asks(part)), list(parts[1:])
        elif isinstance(node, nodes.Mul):
            yield self.asks(node.right), [node.left]
            yield self.asks(node.left), [node.right]
        elif isinstance(node, nodes.Getitem):
            bounds = (
                (node.arg.start, node.arg.stop, node.arg.step) if isinstance(node.arg, nodes.Slice) else (node.arg,)
            )
            yield (ask for bound in bounds if bound is not None for ask in self.asks(bound)), [node.node]
            yield self._atomic(node), [node.node]
        elif isinstance(node, nodes.Filter) and node.name == "random" and node.node is not None:
            yield self._atomic(node), [node.node]
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
            table = node.node.node
            yield (self._atomic(node) if isinstance(table, nodes.Dict) else ()), [table]

    def _given(self, node: nodes.Call) -> None:
        """What a call hands on: to a macro, or into a list."""
        callee = node.node
        if isinstance(callee, nodes.Name) and callee.name in self.macros:
            for argument, value in zip(self.macros[callee.name].args, node.args, strict=False):
                self._bind(argument, self.tags(value), ())
        elif isinstance(callee, nodes.Getattr) and callee.attr in ("append", "insert", "extend", "update"):
            within = [ask for asks in self._within for ask in asks if not ask.negative]
            self._bind(callee.node, _NONE.union(*(self.tags(arg) for arg in node.args)), tuple(within))

    def _tell(self, asks: Sequence[Ask], body: Sequence[nodes.Node]) -> None:
        """An instruction in the body, which is written where these are answered so."""
        if not asks or len(self.found) >= _MOST:
            return
        told = instructs(list(self._texts(body)))
        if told is not None:
            self.found += [Condition(ask, *told) for ask in asks[:_MOST]]

    def _texts(self, body: Sequence[nodes.Node], *, called: bool = False) -> Iterator[tuple[str, nodes.Node]]:
        """What is written there: texts, constants, those kept under names, and what macros write."""
        skipped: set[int] = set()
        seen = 0
        for node in (node for statement in body for node in walk(statement)):
            seen += 1
            self.steps += 1
            if seen > _NODES or self.spent:
                return
            callee = node.node.name if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) else ""
            if id(node) in skipped:
                continue
            if isinstance(node, nodes.Compare) or callee == "raise_exception":  # asked for, or told the client
                skipped.update(id(part) for part in walk(node))
            elif callee in self.macros and not called:
                yield from self._texts(self.macros[callee].body, called=True)
            else:
                text = self._text(node)
                if text:
                    yield text, node

    def _text(self, node: nodes.Node) -> str:
        named = isinstance(node, nodes.Name | nodes.Getattr)
        constant = self.constants.get(_name(node)) if named else node
        if isinstance(constant, nodes.TemplateData):
            return constant.data
        return constant.value if isinstance(constant, nodes.Const) and isinstance(constant.value, str) else ""

    # --------------------------------------------------------------------------------------------- expressions

    def asks(self, node: nodes.Node) -> Iterator[Ask]:
        """The questions in an expression."""
        denied: set[int] = set()
        for part in walk(node):
            self.steps += 1
            if self.spent:
                return
            if isinstance(part, nodes.Not):
                denied.update(id(inner) for inner in walk(part.node))
            flipped = id(part) in denied
            if isinstance(part, nodes.Name | nodes.Getattr):
                for ask in self.asked.get(_name(part), ()):
                    yield ask._replace(negative=flipped)
            for ask in self._atomic(part):
                yield ask._replace(negative=ask.negative != flipped)

    def _atomic(self, node: nodes.Node) -> Iterator[Ask]:
        if isinstance(node, nodes.Compare):
            left: nodes.Expr = node.expr
            for operand in node.ops:
                yield from self._compared(left, operand.op, operand.expr, node)
                left = operand.expr
        elif isinstance(node, nodes.Test):
            if node.name in _FORMS and _KINDS.keys() & (self.tags(node.node) - {"clock"}):
                yield Ask("form", (node.name,), node.name, node)
            elif node.name in _OF_TESTS and node.args:
                yield from self._compared(node.node, _OF_TESTS[node.name], node.args[0], node)
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
            yield from self._method(node, node.node)
        elif isinstance(node, nodes.Getitem) and not isinstance(node.arg, nodes.Slice):
            if isinstance(node.node, nodes.Dict):
                yield from self._of_kind(node.arg, "lookup", _strings(node.node), node)
        elif isinstance(node, nodes.Filter) and node.name == "random":
            yield Ask("random", (), "random", node)

    def _method(self, node: nodes.Call, callee: nodes.Getattr) -> Iterator[Ask]:
        base, name = callee.node, callee.attr
        if name in _METHODS and _KINDS.keys() & (self.tags(base) - {"clock"}):
            yield Ask("form", (name,), name, node)
        elif name in _LOOKS and node.args and isinstance(node.args[0], nodes.Const | nodes.List | nodes.Tuple):
            yield from self._of_kind(base, name, _strings(node.args[0]), node)
        elif node.args and isinstance(base, nodes.List | nodes.Tuple | nodes.Dict | nodes.Const):
            yield from self._of_kind(node.args[0], "lookup", _strings(base), node)

    def _compared(self, left: nodes.Expr, operator: str, right: nodes.Expr, node: nodes.Node) -> Iterator[Ask]:
        for spoken, other in ((left, right), (right, left)):
            words = [*_strings(other), *_numbers(other)]
            if isinstance(other, nodes.Name):
                words = self.listed.get(other.name, words)
            part = "part" in self.tags(spoken) or _name(spoken) in self.typed
            if operator in ("in", "notin") and other is left and part and set(words) <= SHAPES:
                continue  # what members a part has
            for ask in self._of_kind(spoken, operator, words, node):
                yield ask._replace(negative=operator in ("ne", "notin") and ask.kind not in ("clock", "random"))

    def _of_kind(self, spoken: nodes.Expr, operator: str, words: Sequence[str], node: nodes.Node) -> Iterator[Ask]:
        tags = self.tags(spoken)
        for tag, kind in _KINDS.items():
            if tag not in tags:
                continue
            asked = [word for word in words if _tells(tag, operator, word, spoken)]
            if asked or (tag == "random" and words):
                yield Ask(kind, tuple(dict.fromkeys(asked)), operator, node)
                return

    def tags(self, node: nodes.Node, depth: int = 0) -> _Tags:
        """What of a request the expression is."""
        known = self._tags.get(id(node))
        if known is None:
            known = self._tags_of(node, depth + 1) if depth < _DEEP else _NONE
            self._tags[id(node)] = known
        return known

    def _tags_of(self, node: nodes.Node, depth: int) -> _Tags:  # noqa: PLR0911 (one for each kind of expression)
        if isinstance(node, nodes.Name):
            return self.names.get(node.name, _NONE) | _VARIABLES.get(node.name, _NONE)
        if isinstance(node, nodes.Getattr | nodes.Getitem):
            held = self.names.get(_name(node), _NONE)
            return held | self._member(self.tags(node.node, depth), _key(node), node)
        if isinstance(node, nodes.Filter) and node.node is not None:
            return self._filtered(node, self.tags(node.node, depth))
        if isinstance(node, nodes.Call):
            return self._called(node, depth)
        if isinstance(node, nodes.Concat):
            return _printed(_NONE.union(*(self.tags(part, depth) for part in node.nodes)))
        if isinstance(node, nodes.BinExpr):
            return self.tags(node.left, depth) | self.tags(node.right, depth)
        if isinstance(node, nodes.CondExpr):
            return self.tags(node.expr1, depth) | (self.tags(node.expr2, depth) if node.expr2 is not None else _NONE)
        if isinstance(node, nodes.List | nodes.Tuple):
            return _NONE.union(*(self.tags(item, depth) for item in node.items[:_MOST]))
        return _NONE

    def _member(self, tags: _Tags, key: Any, node: nodes.Getattr | nodes.Getitem) -> _Tags:
        found: set[str] = set()
        sliced = isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)
        for tag in tags:
            if tag == "messages":
                found.add("messages" if sliced else "message")
            elif tag == "message":
                named = isinstance(node.node, nodes.Name) and node.node.name in self.systems
                system = named or any(node.node == known for known in self._system)
                spoken = key in SPOKEN or (key is None and not isinstance(node, nodes.Getattr))
                if spoken and not system:
                    found.add("text")
                elif key in ("tool_calls", "function_call"):
                    found.add("tools")
                elif key == "name" and not system:
                    found.add("name")
            elif tag == "tools":
                found.add({"arguments": "argument", "description": "described"}.get(key, "tools"))
            elif key not in ("type", "role", "id", "name"):
                found.add("text" if tag == "part" and key in SPOKEN else tag)
        return frozenset(found)

    def _filtered(self, node: nodes.Filter, tags: _Tags) -> _Tags:
        if node.name in _COUNTING:
            return frozenset(("length",)) if tags & {"text", "part"} else _NONE
        attribute = next((pair.value for pair in node.kwargs if pair.key == "attribute"), None)
        if node.name in ("groupby", "sum") and attribute is None and node.args:
            attribute = node.args[0]
        if node.name in ("map", "groupby", "join", "sum") and isinstance(attribute, nodes.Const) and tags & _WHOLE:
            return frozenset(("text",)) if attribute.value in SPOKEN else _NONE
        if node.name == "random":
            return tags | {"random"}
        if node.name in ("first", "last") and "messages" in tags:
            return (tags - {"messages"}) | {"message"}
        return _printed(tags) if node.name in _PRINTING - {"list"} else tags

    def _called(self, node: nodes.Call, depth: int) -> _Tags:
        callee = node.node
        if isinstance(callee, nodes.Name):
            return frozenset(("clock",)) if callee.name == "strftime_now" else _NONE
        if not isinstance(callee, nodes.Getattr):
            return _NONE
        tags = self.tags(callee.node, depth)
        if callee.attr == "get" and node.args:
            key = node.args[0].value if isinstance(node.args[0], nodes.Const) else None
            return self._member(tags, key, callee)
        if callee.attr in ("items", "values") and "message" in tags:
            return frozenset(("text",))
        return tags if tags & {"text", "part", "clock", "argument", "described", "name", "message"} else _NONE


def _tells(tag: str, operator: str, word: str, spoken: nodes.Expr) -> bool:
    """Whether asking for that word tells one text from another, not its shape."""
    if tag == "length":
        size = int(word) if word.lstrip("-").isdecimal() and len(word) < 12 else 0  # noqa: PLR2004 (any length)
        modulus = any(isinstance(part, nodes.Mod) for part in walk(spoken))
        return size > _SHORT or modulus or (operator in ("eq", "ne") and size > _FEW)
    if tag == "clock":
        return any(map(str.isalnum, word))
    if tag in ("text", "part") and word.isdecimal():  # indices and counts of a text, not what it says
        return operator == "in" or len(word) > 1
    return bool(word.strip()) and not is_protocol(word)


def _printed(tags: _Tags) -> _Tags:
    return (tags - _WHOLE) | {"text"} if tags & _WHOLE else tags


def _name(node: nodes.Node) -> str:
    """The name of a variable, or of a namespace's member."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.NSRef):
        return f"{node.name}.{node.attr}"
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        return f"{node.node.name}.{node.attr}"
    return ""


def _key(node: nodes.Getattr | nodes.Getitem) -> Any:
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) else None


def _constants(syntax: Syntax) -> dict[str, nodes.Const]:
    """Names, members of namespaces among them, that are only ever one constant text."""
    given: dict[str, list[nodes.Node]] = {}
    for node in syntax.all_nodes:
        if isinstance(node, nodes.Assign):
            given.setdefault(_name(node.target), []).append(node.node)
            if isinstance(node.node, nodes.Call):
                for pair in node.node.kwargs:
                    given.setdefault(f"{_name(node.target)}.{pair.key}", []).append(pair.value)
        elif isinstance(node, nodes.AssignBlock):
            texts = [part for output in node.body if isinstance(output, nodes.Output) for part in output.nodes]
            for text in texts:
                if isinstance(text, nodes.TemplateData):
                    given.setdefault(_name(node.target), []).append(nodes.Const(text.data, lineno=text.lineno))
    found = {name: values[0] for name, values in given.items() if name and len(values) == 1}
    return {
        name: value for name, value in found.items() if isinstance(value, nodes.Const) and isinstance(value.value, str)
    }


def _listed(syntax: Syntax, constants: Mapping[str, nodes.Const]) -> dict[str, list[str]]:
    """Names → the words that they go through: those of a loop over a list, or of one that has a name."""
    found = {name: [constant.value] for name, constant in constants.items()}
    for node in syntax.all_nodes:
        if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
            words = _strings(node.node)
            if words and not isinstance(node.node, nodes.Const):
                found.setdefault(node.target.name, []).extend(words)
        elif isinstance(node, nodes.For) and isinstance(node.target, nodes.Name):
            words = found.get(node.iter.name, []) if isinstance(node.iter, nodes.Name) else _strings(node.iter)
            if words and len(found.get(node.target.name, ())) < _LISTED:
                found.setdefault(node.target.name, []).extend(words[:_LISTED])
    return found


def _operands(node: nodes.And | nodes.Or) -> list[nodes.Expr]:
    """Those of a chain that leans to the left, in order."""
    parts: list[nodes.Expr] = []
    current: nodes.Expr = node
    while isinstance(current, nodes.And | nodes.Or):
        parts.append(current.right)
        current = current.left
    return [current, *reversed(parts)]


def _outputs(body: Sequence[nodes.Node]) -> Iterator[nodes.Expr]:
    for statement in body:
        for node in walk(statement):
            if isinstance(node, nodes.Output):
                yield from (part for part in node.nodes if not isinstance(part, nodes.TemplateData))


def _strings(node: nodes.Node) -> list[str]:
    """The texts that it lists, or has for keys."""
    listed: Sequence[nodes.Node] = [node]
    if isinstance(node, nodes.List | nodes.Tuple):
        listed = node.items
    elif isinstance(node, nodes.Dict):
        listed = [pair.key for pair in node.items]
    return [part.value for part in listed if isinstance(part, nodes.Const) and isinstance(part.value, str)]


def _numbers(node: nodes.Expr) -> list[str]:
    return [str(node.value)] if isinstance(node, nodes.Const) and type(node.value) is int else []

"""A template's tree → edits that make the installed minijinja do what an older release would, and where it fails.

What an older release lacks is put behind names that nothing has, so that it fails where it is reached and only there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import nodes

from templatelint.renderers.minijinja.loops import leaks
from templatelint.renderers.minijinja.rewriting import Edit
from templatelint.renderers.minijinja.tags import Tags, operands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.renderers.minijinja.setup import Release, Setup
    from templatelint.renderers.minijinja.tags import Token
    from templatelint.syntax import Syntax

JSON, JSON_OF, TEXT, GATE = (f"templatelint_{name}" for name in ("json", "json_of", "text", "gate_"))
RAISE = "raise_exception"

_ESCAPES = frozenset("\"\\/'bfnrtu")
_BYTE_ESCAPES = frozenset("x01234567")
_PATH = frozenset({"name", "dot", "lbracket", "rbracket", "string", "integer"})
# filters that take any value for its text
_OF_TEXT = frozenset({"capitalize", "lower", "replace", "string", "title", "trim", "upper"})
# filters that fail with what is undefined
_NO_UNDEFINED = frozenset({"count", "first", "items", "last", "length"})


class _Limit(NamedTuple):
    """How many arguments a filter took, none of them by name, before a release."""

    before: Release
    fewest: int
    most: int
    words: str

    def allows(self, given: int, *, named: bool) -> bool:
        """Whether a call gives it what it takes."""
        return self.fewest <= given <= self.most and not named


_LIMITS = {
    "d": _Limit((2, 9), 0, 1, "one argument"),
    "default": _Limit((2, 9), 0, 1, "one argument"),
    "indent": _Limit((2, 18), 1, 3, "a width and two more arguments, none of them by name"),
    "int": _Limit((3, 0), 0, 0, "no argument"),
    "join": _Limit((3, 0), 0, 1, "one argument"),
    "replace": _Limit((3, 0), 2, 2, "two arguments"),
    "round": _Limit((3, 0), 0, 1, "one argument"),
}


class Gate(NamedTuple):
    """Something in the template that the release fails at.

    Attributes:
        name: what the template calls it.
        message: what is wrong with it.
        start: offset in the source.
    """

    name: str
    message: str
    start: int


class Gates(NamedTuple):
    """What the tree of a template comes to in one set-up.

    Attributes:
        rejected: what the release's parser does not take, unordered.
        edits: of the source.
        reached: what fails where it is reached, under the name GATE and its index here.
        raises: offsets of the calls of `raise_exception`; each passes its index here before its own arguments.
    """

    rejected: list[Gate]
    edits: list[Edit]
    reached: list[Gate]
    raises: list[int]


NO_GATES = Gates([], [], [], [])


def gates(syntax: Syntax, setup: Setup) -> Gates:
    """Look at every node of the tree, and at the tags where the release is an older one."""
    found = _Finder(syntax, setup)
    for node in syntax.all_nodes:
        found.visit(node)
    if not setup.python_names:
        found.tags()
    return Gates(found.rejected, found.edits, found.reached, found.raises)


class _Finder:
    """Collects the members of `Gates`."""

    def __init__(self, syntax: Syntax, setup: Setup) -> None:
        self.rejected: list[Gate] = []
        self.edits: list[Edit] = []
        self.reached: list[Gate] = []
        self.raises: list[int] = []
        self._syntax = syntax
        self._setup = setup
        self._own = {node.name for node in syntax.all_nodes if isinstance(node, nodes.Macro)} | {
            node.name for node in syntax.all_nodes if isinstance(node, nodes.Name) and node.ctx != "load"
        }

    def visit(self, node: nodes.Node) -> None:
        """Note what one node comes to."""
        match node:
            case nodes.Filter():
                self._filter(node)
            case nodes.Call():
                self._call(node)
            case nodes.Break() | nodes.Continue():
                self._jump(node)
            case nodes.Assign():
                self._assign(node)
            case nodes.Slice():
                self._slice(node)
            case nodes.Output():
                self._output(node)

    # ------------------------------------------------------------------------------------------- places

    def _start(self, node: nodes.Node) -> int:
        return self._syntax.span(node)[0]

    def _reject(self, node: nodes.Node, name: str, message: str) -> None:
        self.rejected.append(Gate(name, message, self._start(node)))

    def _behind(self, node: nodes.Node, name: str, message: str) -> None:
        """Make a filter or method fail where it is reached."""
        start = self._start(node)
        self.edits.append(Edit(start, start + len(name), f"{GATE}{len(self.reached)}"))
        self.reached.append(Gate(name, message, start))

    def _fail(self, node: nodes.Node, written: str, following: str, name: str, message: str) -> None:
        """Make the evaluation of an expression that starts with `written` fail."""
        start = self._start(node)
        self.edits.append(Edit(start, start + len(written), f"{GATE}{len(self.reached)}{following}"))
        self.reached.append(Gate(name, message, start))

    def _before(self, node: nodes.Filter, filters: str) -> None:
        """Put filters before another; that is named first, and what stands before it is piped already."""
        start = self._start(node)
        self.edits.append(Edit(start, start, f"{filters}|"))

    def _follows(self, node: nodes.Node, character: str) -> bool:
        return self._syntax.source[: self._start(node)].rstrip().endswith(character)

    # -------------------------------------------------------------------------------------- expressions

    def _filter(self, node: nodes.Filter) -> None:
        given = len(node.args) + bool(node.dyn_args)
        named = {str(keyword.key) for keyword in node.kwargs}
        if node.name == "tojson":
            self._json(node, given, named)
        elif node.name == "map" and node.args and _constant(node.args[0]) == "tojson":
            start, end = self._syntax.span(node.args[0])
            self.edits.append(Edit(start, end, f"'{JSON_OF}'"))
        elif not self._setup.python_names:
            self._older_filter(node, given, bool(named))
            self._conditional_keywords(node)

    def _older_filter(self, node: nodes.Filter, given: int, named: bool) -> None:
        limit = _LIMITS.get(node.name)
        if limit is not None and self._setup.release < limit.before and not limit.allows(given, named=named):
            self._behind(node, node.name, f"{node.name} takes {limit.words}")
        elif node.name in _NO_UNDEFINED:
            self._before(node, "default(none)")
        elif node.name in _OF_TEXT:
            self._text_of(node)

    def _text_of(self, node: nodes.Filter) -> None:
        """Give a filter the text of what stands before it."""
        start = self._start(node)
        pipe = self._syntax.source.rfind("|", 0, start)
        path = None if node.node is None else self._path(node.node, pipe)
        if path is None:
            self._before(node, f"default('')|{TEXT}")
        else:
            self.edits.append(Edit(path, pipe, as_text(self._syntax.source[path:pipe].strip())))

    def _path(self, node: nodes.Node, end: int) -> int | None:
        """Where a name with attributes starts that ends there, if the node is one."""
        inner = node
        while isinstance(inner, nodes.Getattr | nodes.Getitem):
            if isinstance(inner, nodes.Getitem) and not isinstance(inner.arg, nodes.Const):
                return None
            inner = inner.node
        if not isinstance(inner, nodes.Name):
            return None
        start = self._start(inner)
        written = self._syntax.source[start:end]
        return start if "(" not in written and ")" not in written and "|" not in written else None

    def _json(self, node: nodes.Filter, given: int, named: set[str]) -> None:
        if self._setup.json == "spaced" and given:
            self._behind(node, "tojson", "tojson takes no arguments but indent by name")
        elif self._setup.json == "builtin" and (unknown := sorted(named - {"indent"})):
            self._behind(node, "tojson", f"tojson has no argument '{unknown[0]}'")
        else:
            end = self._start(node) + len("tojson")
            self.edits.append(Edit(end, end, f"|{JSON}"))

    def _call(self, node: nodes.Call) -> None:
        called = node.node
        if isinstance(called, nodes.Name) and called.name == RAISE and RAISE not in self._own and node.args:
            start = self._start(node)
            opening = self._syntax.source.index("(", start) + 1
            self.edits.append(Edit(opening, opening, f"{len(self.raises)}, "))
            self.raises.append(start)
        if self._setup.python_names:
            return
        negative = any(isinstance(argument, nodes.Neg) for argument in node.args)
        if isinstance(called, nodes.Name) and called.name == "range" and negative and self._setup.release < (2, 11):
            self._behind(node, "range", "range takes no negative numbers")
        elif isinstance(called, nodes.Getattr):
            if called.attr == "get" and len(node.args) + len(node.kwargs) > 1:
                self._behind(node, "get", "get takes one argument")
            elif called.attr == "format" and self._setup.release < (2, 13):
                self._behind(node, "format", "strings have no method format")
        self._conditional_keywords(node)

    def _conditional_keywords(self, node: nodes.Call | nodes.Filter | nodes.Test) -> None:
        for keyword in node.kwargs:
            if isinstance(keyword.value, nodes.CondExpr):
                self._reject(keyword, str(keyword.key), "syntax error: a conditional expression as an argument by name")

    def _slice(self, node: nodes.Slice) -> None:
        if self._setup.release < (2, 10) and isinstance(node.step, nodes.Neg):
            self._fail(node.step, "-", "()or-", "-", "slices take no negative step")

    # --------------------------------------------------------------------------------------- statements

    def _jump(self, node: nodes.Node) -> None:
        if not self._setup.loop_controls:
            name = type(node).__name__.lower()
            self._reject(node, name, f"syntax error: unknown statement {name}")

    def _output(self, node: nodes.Output) -> None:
        for printed in node.nodes:
            if isinstance(printed, nodes.Tuple) and not self._follows(printed, "(") and not self._setup.python_names:
                self._reject(printed, ",", "syntax error: unexpected `,`, expected end of variable block")

    def _assign(self, node: nodes.Assign) -> None:
        bare = isinstance(node.target, nodes.Tuple) and not self._follows(node.target, "(")
        if bare and self._setup.release < (2, 14):
            self._reject(node.target, "set", "syntax error: unexpected `,`, expected assignment operator")

    # --------------------------------------------------------------------------------------------- tags

    def tags(self) -> None:
        """What the tree does not tell: where printed expressions end, how numbers and texts are written."""
        tags = Tags(self._syntax)
        self.edits += leaks(self._syntax, tags)
        for tag in tags.all:
            for operand in operands(tag):
                self._textual(operand)
            if tag.prints:
                self.edits += Edit(tag.inside, tag.inside, "("), Edit(tag.end, tag.end, ")|default('')")
            previous = ""
            for token in tag.tokens:
                self._token(token, previous)
                previous = token.type

    def _textual(self, operand: Sequence[Token]) -> None:
        """Make an operand of `~` the text that the release would."""
        start, end = operand[0].start, operand[-1].end
        if all(token.type == "string" for token in operand):
            return
        written = self._syntax.source[start:end]
        if all(token.type in _PATH for token in operand):
            self.edits.append(Edit(start, end, as_text(written)))
        else:
            self.edits += Edit(start, start, "("), Edit(end, end, f")|default('')|{TEXT}")

    def _token(self, token: Token, previous: str) -> None:
        if token.type in ("integer", "float") and previous == "dot":
            message = "syntax error: unexpected number, expected identifier"
            self.rejected.append(Gate(str(token.value), message, token.start))
        elif token.type == "string":
            self._escapes(token)
        elif token.type == "name" and not str(token.value).isascii():
            self.rejected.append(Gate(token.value, "syntax error: unexpected character", token.start))

    def _escapes(self, token: Token) -> None:
        written = self._syntax.source[token.start + 1 : token.end - 1]
        known = _ESCAPES if self._setup.release < (2, 11) else _ESCAPES | _BYTE_ESCAPES
        at = written.find("\\")
        while at >= 0:
            escape = written[at + 1 : at + 2]
            if escape not in known:
                self.rejected.append(Gate(f"\\{escape}", "syntax error: bad string escape", token.start + 1 + at))
            at = written.find("\\", at + 2)


def as_text(path: str) -> str:
    """An expression without effects as the text that it had before 2.22; numbers stay the engine's own to write."""
    return f"({path}|string if {path} is number else {path}|default('')|{TEXT})"


def _constant(node: nodes.Node) -> Any:
    return node.value if isinstance(node, nodes.Const) else None

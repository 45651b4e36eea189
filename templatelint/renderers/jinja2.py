"""Templates → text with jinja2 as transformers sets it up: the reference among the renderers."""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, lru_cache
from io import StringIO
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

from jinja2 import nodes
from jinja2.compiler import CodeGenerator
from jinja2.environment import Template as CompiledTemplate
from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError, UndefinedError
from jinja2.ext import LoopControlExtension
from jinja2.optimizer import Optimizer
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace, internal_code

from templatelint.renderers import MAX_OUTPUT, RenderFailure
from templatelint.syntax import GenerationTag, Syntax, TemplateSyntax, parse, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import CodeType, TracebackType

    from templatelint.model import ErrorKind, RenderError

Span = tuple[int, int]

_KEPT = 4  # compiled templates; the engines that share one ask for it in a row
_REMEMBERED = 4_000_000  # characters of variables and prompts of one template
# what the guarded `dict` and `namespace` of transformers 5.23 could make a difference to
_GUARDED = re.compile(r"(?<!\w)_\w|\bdict\b")


# ------------------------------------------------------------------------------------- what templates see


class _Refused(TemplateError):
    """`raise_exception` was called."""


def _raise_exception(message: Any) -> NoReturn:
    raise _Refused(message)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    import json

    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class _Dict:
    """`dict` without the attributes of a class."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


# jinja2's messages name the type of the object that lacks an attribute
_Dict.__module__, _Dict.__name__ = "builtins", "dict"


class _PublicNamespace(Namespace):
    """`namespace` whose attributes may not start with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:  # so that an attribute may be called self
        attributes = dict(*args[1:], **kwargs)
        for name in attributes:
            _require_public(name)
        Namespace.__init__(args[0], attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _require_public(name)
        super().__setitem__(name, value)


def _require_public(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace attribute may not start with an underscore: {name!r}")


@dataclass
class _Marking:
    """Where the output stands while generation blocks are marked."""

    length: int
    spans: list[Span]


class _Marks(GenerationTag):
    """Notes where transformers believes the text of a generation block to stand.

    It counts what has been *output* when the block ends. Inside a macro, a set block or another generation
    block that is not where the text will stand; the wrong spans are the behaviour to reproduce.
    """

    current: ClassVar[ContextVar[_Marking | None]] = ContextVar("marking", default=None)

    def mark(self, caller: Callable[[], str]) -> str:
        text = caller()
        if (marking := self.current.get()) is not None:
            marking.spans.append((marking.length, marking.length + len(text)))
        return text


# ------------------------------------------------------------------------------------------ the set-up


class _Folder(Optimizer):
    """Folds constants as jinja2 does, but leaves the tree as it is for the rules that read it later."""

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        del kwargs
        if isinstance(node, nodes.Expr):
            try:
                return nodes.Const.from_untrusted(
                    node.as_const(args[0] if args else None), lineno=node.lineno, environment=self.environment
                )
            except nodes.Impossible:
                pass
        return node


class _Writer(CodeGenerator):
    """Writes a template's Python code, and notes which node each part of it came from."""

    def __init__(self, environment: ImmutableSandboxedEnvironment) -> None:
        self._text = StringIO()
        super().__init__(environment, None, None, self._text)
        self.optimizer = _Folder(environment)
        self.parts: list[tuple[int, int, nodes.Node]] = []
        self.reached: nodes.Node | None = None

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> Any:
        self.reached = node
        start = self.stream.tell()
        super().visit(node, *args, **kwargs)
        self.parts.append((start, self.stream.tell(), node))

    def python(self) -> str:
        """What has been written."""
        return self._text.getvalue()

    def node_at(self, position: _PythonPosition) -> nodes.Node | None:
        """The node that a part of the Python code came from; None where the template has no such place."""
        lines = self.python().split("\n")
        start = _offset(lines, position.line, position.column)
        end = _offset(lines, position.end_line, position.end_column)
        node: nodes.Node | None = _smallest(part for part in self.parts if part[0] <= start and end <= part[1])
        if isinstance(node, nodes.For):  # Python blames the whole loop for what its iterable does
            return node.iter
        if isinstance(node, nodes.CallBlock):
            return node.call
        if isinstance(node, nodes.Output):  # the code around an expression that turns its value into text
            inside = (part for part in self.parts if start <= part[0] and part[1] <= end)
            return _largest(part for part in inside if isinstance(part[2], nodes.Expr)) or node
        return node


class _PythonPosition(NamedTuple):
    """A part of Python code, as code objects tell it: lines from 1, columns from 0 and in bytes."""

    line: int
    end_line: int
    column: int
    end_column: int


def _offset(lines: list[str], line: int, column: int) -> int:
    before = lines[line - 1].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "surrogatepass")
    return sum(len(text) + 1 for text in lines[: line - 1]) + len(before)


def _smallest(parts: Iterable[tuple[int, int, nodes.Node]]) -> nodes.Node | None:
    return min(parts, key=lambda part: part[1] - part[0], default=(0, 0, None))[2]


def _largest(parts: Iterable[tuple[int, int, nodes.Node]]) -> nodes.Node | None:
    return max(parts, key=lambda part: part[1] - part[0], default=(0, 0, None))[2]


class _Sandbox(ImmutableSandboxedEnvironment):
    """jinja2's sandbox, which takes the commonest look-ups of plain data without the detour by an exception."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is dict and attribute not in _OF_DICTS:
            try:
                return obj[attribute]
            except LookupError:
                return self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)


_OF_DICTS = frozenset(dir(dict))


@cache
def environment(restricted: bool = True) -> ImmutableSandboxedEnvironment:
    """The environment of transformers; `restricted` names (from 5.23) are `dict` and `namespace`."""
    made = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[LoopControlExtension])
    made.extensions[GenerationTag.identifier] = _Marks(made)
    made.filters["tojson"] = _tojson
    made.globals["raise_exception"] = _raise_exception
    if restricted:
        made.globals["dict"] = _Dict()
        made.globals["namespace"] = _PublicNamespace
    return made


def strftime_at(now: datetime | None) -> Callable[[str], str]:
    """The function that tells templates the time; None means the time of the call."""

    def strftime_now(format: str) -> str:  # noqa: A002 (templates may pass it by name)
        return (now or datetime.now()).strftime(format)  # noqa: DTZ005 (transformers tells local time)

    return strftime_now


class _Rendered:
    """What a template gave for the variables that it has seen: engines prepare many requests alike."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, datetime | None], str | RenderError] = {}
        self._asked: tuple[str, datetime | None] | None = None
        self._room = _REMEMBERED

    def answer(self, variables: Mapping[str, Any], now: datetime | None) -> str | RenderError | None:
        """What it gave for these, or None."""
        try:
            self._asked = repr(variables), now
        except RecursionError:
            self._asked = None
            return None
        return self._answers.get(self._asked)

    def keep(self, answer: str | RenderError) -> None:
        """Remember what it gave for the variables that were asked about last, while there is room."""
        if self._asked is None:
            return
        self._room -= len(self._asked[0]) + (len(answer) if isinstance(answer, str) else 0)
        if self._room > 0:
            self._answers[self._asked] = answer


@dataclass
class _Written:
    """What all engines that render a template share of it."""

    syntax: Syntax
    writer: _Writer
    code: CodeType
    _memory: dict[bool, _Rendered] = field(default_factory=dict)

    def rendered(self, restricted: bool) -> _Rendered:
        """What it gave in the one environment or the other; the same memory where it cannot tell them apart."""
        guarded = restricted and _GUARDED.search(self.syntax.source) is not None
        return self._memory.setdefault(guarded, _Rendered())


class Compiled:
    """A template ready to render."""

    def __init__(self, written: _Written, restricted: bool) -> None:
        env = environment(restricted)
        self.syntax = written.syntax
        self._writer = written.writer
        self._rendered = written.rendered(restricted)
        self._template = CompiledTemplate.from_code(env, written.code, env.make_globals(None))
        self._places: dict[tuple[CodeType, int], tuple[int, int] | None] = {}

    def render(self, variables: Mapping[str, Any], now: datetime | None = None) -> str:
        """The template's text with these variables; `now` is the time that `strftime_now` tells.

        Raises:
            RenderFailure: there is no text.
        """
        known = self._rendered.answer(variables, now)
        if known is None:
            try:
                known = self.render_with_spans(variables, now)[0]
            except RenderFailure as failure:
                known = failure.record
            self._rendered.keep(known)
        if isinstance(known, str):
            return known
        raise RenderFailure(known.kind, known.message, known.line, known.column)

    def render_with_spans(self, variables: Mapping[str, Any], now: datetime | None = None) -> tuple[str, list[Span]]:
        """The text, and the spans of it that transformers takes for the assistant's (`{% generation %}`).

        Raises:
            RenderFailure: there is no text.
        """
        context = self._template.new_context({"strftime_now": strftime_at(now), **variables})
        marking = _Marking(0, [])
        token = _Marks.current.set(marking)
        try:
            return "".join(self._limited(context, marking)), marking.spans
        except RenderFailure:
            raise
        except Exception as error:  # noqa: BLE001 (whatever the template's code raises)
            raise self._failure(error) from None
        finally:
            _Marks.current.reset(token)

    def _limited(self, context: Any, marking: _Marking) -> Iterator[str]:
        for block in self._template.root_render_func(context):
            marking.length += len(block)
            if marking.length > MAX_OUTPUT:
                raise RenderFailure("too-large", f"more than {MAX_OUTPUT:,} characters of output")
            yield block

    # ------------------------------------------------------------------------------------ failures

    def _failure(self, error: Exception) -> RenderFailure:
        kind, message = verdict(error)
        return RenderFailure(kind, message, *self._place(error))

    def _place(self, error: Exception) -> tuple[int | None, int | None]:
        """(line, column) of what raised in the innermost template frame; None where unknown."""
        frame = self._innermost(error.__traceback__)
        if frame is None:
            return None, None
        instruction = (frame.tb_frame.f_code, frame.tb_lasti)
        if instruction not in self._places:  # many requests fail at the same place
            self._places[instruction] = self._place_in(frame, error)
        return self._places[instruction] or (self._template.get_corresponding_lineno(frame.tb_lineno), None)

    def _place_in(self, frame: TracebackType, error: Exception) -> tuple[int, int] | None:
        positions = islice(frame.tb_frame.f_code.co_positions(), frame.tb_lasti // 2, None)
        line, end_line, column, end_column = next(positions, (None,) * 4)
        if not line or not end_line or column is None or end_column is None:
            return None  # Python keeps none
        node = self._writer.node_at(_PythonPosition(line, end_line, column, end_column))
        return _place_of(node, error, self.syntax)

    def _innermost(self, frame: TracebackType | None) -> TracebackType | None:
        found = None
        while frame is not None:
            ours = frame.tb_frame.f_globals is self._template.root_render_func.__globals__
            # jinja2 marks what it put there itself, such as the stand-in for a filter that does not exist
            if ours and frame.tb_frame.f_code not in internal_code:
                found = frame
            frame = frame.tb_next
        return found


def _place_of(node: nodes.Node | None, error: Exception, syntax: Syntax) -> tuple[int, int] | None:
    if node is not None and isinstance(error, UndefinedError | SecurityError):
        node = _named_part(node, str(error))
    return syntax.line_of(syntax.span(node)[0]) if node is not None and syntax.knows(node) else None


def verdict(error: Exception) -> tuple[ErrorKind, str]:
    """What an exception that came out of a template's code says of it."""
    if isinstance(error, _Refused):
        return "refused", str(error)
    if isinstance(error, MemoryError):
        return "too-large", "out of memory"
    if isinstance(error, RecursionError):
        return "too-large", "recursion too deep"
    # jinja2's own messages tell all; of Python's, some are a bare value
    return "raised", str(error) if isinstance(error, TemplateError) else f"{type(error).__name__}: {error}"


_QUOTED = re.compile(r"'([^']*)'")


def _named_part(node: nodes.Node, message: str) -> nodes.Node:
    """The part of an expression whose name the message quotes, or the expression.

    jinja2 complains of an undefined or forbidden value where it is used, not where it comes from.
    """
    quoted = _QUOTED.findall(message)
    for part in walk(node):
        if isinstance(part, nodes.Name):
            name: Any = part.name
        elif isinstance(part, nodes.Getattr):
            name = part.attr
        elif isinstance(part, nodes.Getitem) and isinstance(part.arg, nodes.Const):
            name = part.arg.value
        else:
            continue
        if name in quoted:
            return part
    return node


def compile_template(template: str | Syntax, *, restricted: bool = True) -> Compiled:
    """Make a template ready to render.

    Args:
        template: its source, or the tree of it, which is left as it is.
        restricted: `dict` and `namespace` are the guarded ones of transformers 5.23 and later.

    Raises:
        RenderFailure: `syntax` where transformers cannot compile it; `too-large` where it would take too much.
    """
    return Compiled(_written(template) if isinstance(template, str) else _write(template), restricted)


@lru_cache(_KEPT)
def _written(source: str) -> _Written:
    try:
        return _write(parse(source))
    except TemplateSyntax as error:
        raise RenderFailure("syntax", error.message, error.line, error.column) from None


def _write(syntax: Syntax) -> _Written:
    writer = _Writer(environment())  # `dict` and `namespace` are no constants: one code serves both environments
    try:
        writer.visit(syntax.root)
        return _Written(syntax, writer, compile(writer.python(), "<template>", "exec"))
    except TemplateSyntaxError as error:
        blamed = [node for node in walk(syntax.root) if node.lineno is error.lineno]
        offset = syntax.span(blamed[-1])[0] if blamed else syntax.offset_of(error.lineno)
        raise RenderFailure("syntax", error.message or "", *syntax.line_of(offset)) from None
    except SyntaxError as error:  # Python's, about the code that jinja2 wrote
        raise RenderFailure("syntax", error.msg, *_python_place(error, writer, syntax)) from None
    except (MemoryError, RecursionError) as error:
        raise RenderFailure(*verdict(error)) from None
    except Exception as error:  # noqa: BLE001 (folding constants runs the template's own expressions)
        place = _place_of(writer.reached, error, syntax) or (None, None)
        raise RenderFailure("syntax", verdict(error)[1], *place) from None


def _python_place(error: SyntaxError, writer: _Writer, syntax: Syntax) -> tuple[int, int] | tuple[None, None]:
    """Where the Python code that Python rejects came from."""
    if error.lineno is None or error.offset is None:
        return None, None
    column = error.offset - 1
    node = writer.node_at(_PythonPosition(error.lineno, error.lineno, column, column))
    return _place_of(node, error, syntax) or (None, None)

"""`parse`: a model's raw output → content, reasoning and tool calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import CLEAN, FINDINGS, NO_ANSWER
from templatelint.cli.group import Command
from templatelint.cli.options import Session, common
from templatelint.dialects import NAMES
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.call_syntax import CallSyntax
    from templatelint.dialects.reply import Reply
    from templatelint.sources.reach import Reach

_TEXT = "give a file with what the model wrote, special tokens as text, or pipe it in"
_LINES = 'give one object a line: {"id": "1", "text": "<tool_call>...", "dialect": "hermes"}'


@click.command(
    cls=Command,
    examples=(
        "templatelint parse output.txt --template model/ --tools tools.json",
        "templatelint parse output.txt --dialect hermes --output-format json",
    ),
)
@click.argument("file", metavar="[FILE|-]", default="-")
@click.option(
    "--dialect",
    metavar="NAME",
    help=f"The syntax of the calls: {', '.join(sorted(NAMES))}.  [default: whichever occurs]",
)
@click.option("--template", metavar="REF", help="Take dialect and prefix from this model's template.")
@click.option("--tools", metavar="FILE", help="Tool definitions in OpenAI, Anthropic or MCP form: types of arguments.")
@click.option("--prefix", metavar="TEXT", help="The generation prompt, or its end: what it already opened.")
@common(("text", "json", "jsonl"))
def command(session: Session, file: str, **given: str | None) -> int:
    """Read a model's raw output back.

    For the client whose server left the calls in the text. With --output-format jsonl the input is JSON lines:
    id, text, and if need be dialect or template, tools, prefix. Exit code 1 means that a call is malformed or cut.
    """
    from templatelint import traffic

    if (file, given["tools"], (given["template"] or "").partition("#")[0]).count("-") > 1:
        raise TemplatelintError("stdin is asked for twice", help="give one of the two as a file")
    defaults = _Defaults(
        dialect=given["dialect"],
        template=given["template"],
        prefix=given["prefix"],
        tools=None if given["tools"] is None else traffic.read_tools(given["tools"]),
    )
    manners = _Manners(defaults, session.reach())
    manners.of({})  # a wrong word is told before anything is read
    if session.output_format == "jsonl":
        codes: list[int] = []
        session.write(_lines(traffic.read_text(file, "JSON lines", _LINES), manners, codes))
        return max(codes, default=CLEAN)
    reply = manners.of({}).read(traffic.read_text(file, "a model's output", _TEXT).removeprefix("\ufeff"))
    if session.output_format == "json":
        import json

        session.write([json.dumps({"version": 1, **_object(reply)}) + "\n"])
    else:
        session.write(_shown(session, reply))
    return CLEAN if reply.complete else FINDINGS


# ---------------------------------------------------------------------------------- how an output is to be read


@dataclass(frozen=True)
class _Defaults:
    """The options as typed; None where they were not."""

    dialect: str | None
    template: str | None
    prefix: str | None
    tools: Sequence[Mapping[str, Any]] | None


@dataclass(frozen=True)
class _Manner:
    """How an output is read."""

    dialect: str
    tools: Sequence[Mapping[str, Any]] | None
    prefix: str | None

    def read(self, text: str) -> Reply:
        from templatelint.dialects.reader import parse

        return parse(text, self.dialect, self.tools, self.prefix)


class _Manners:
    """The options, and what a line says beside them."""

    def __init__(self, defaults: _Defaults, reach: Reach) -> None:
        self._defaults = defaults
        self._reach = reach
        self._templates: dict[str, tuple[str, str | None]] = {}

    def of(self, line: Mapping[str, Any], where: str = "") -> _Manner:
        """How to read the text of a line.

        Raises:
            TemplatelintError: a member is of a wrong type, or names what is not known.
        """
        from templatelint import dialects, traffic

        told = {name: _text(line, name, where) for name in ("dialect", "template", "prefix")}
        tools = self._defaults.tools
        if line.get("tools") is not None:
            tools = traffic.tools_of(line["tools"], f"{where}: tools")
        if told["dialect"] is None and told["template"] is None:
            told |= {"dialect": self._defaults.dialect, "template": self._defaults.template}
        if told["prefix"] is None:
            told["prefix"] = self._defaults.prefix
        dialect, prefix = told["dialect"], told["prefix"]
        if told["template"] is not None:
            spoken, cue = self._template(told["template"])
            dialect = dialect or spoken
            prefix = cue if prefix is None else prefix
        dialect = dialect or dialects.AUTO
        if dialect != dialects.AUTO:
            dialect = dialects.get(dialect).name
        return _Manner(dialect, tools, prefix)

    def _template(self, ref: str) -> tuple[str, str | None]:
        """The dialect that a model's template writes, and its generation prompt; each reference is read once."""
        if ref not in self._templates:
            from templatelint import sources
            from templatelint.call_syntax import of_model

            # what the input names is not fetched on its word: only what the user typed is
            named = ref == self._defaults.template
            reach = self._reach if named else replace(self._reach, offline=True, typed=False)
            syntax = of_model(sources.resolve(ref, reach=reach))
            if syntax.dialect is None:
                unknown = "the calls that the template renders fit no known dialect"
                reason = syntax.why or (unknown if syntax.rendered else "the template renders no tool calls")
                raise TemplatelintError(f"{ref}: {reason}", help="name one with --dialect")
            self._templates[ref] = syntax.dialect, _prefix(syntax)
        return self._templates[ref]


def _prefix(syntax: CallSyntax) -> str | None:
    """The generation prompt; None where it holds a closed thought, which requests may switch to an open one."""
    reasoning = syntax.reasoning
    closed = reasoning is not None and reasoning.start in (syntax.cue or "") and not reasoning.opened
    return None if closed else syntax.cue


def _text(line: Mapping[str, Any], name: str, where: str) -> str | None:
    value = line.get(name)
    if value is not None and not isinstance(value, str):
        raise TemplatelintError(f"{where}: {name} is no string", help=_LINES)
    return value


# --------------------------------------------------------------------------------------------------- JSON lines


def _lines(text: str, manners: _Manners, codes: list[int]) -> Iterator[str]:
    """One answer a line; a line that cannot be read is answered by what is wrong with it."""
    import json

    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        name: Any = None
        try:
            body = _parsed(line, number)
            name = _id(body, f"line {number}")
            answer, code = _answer(body, manners, f"line {number}")
        except TemplatelintError as error:
            answer, code = {"error": {"message": error.message, "help": error.help}}, NO_ANSWER
        codes.append(code)
        yield json.dumps({"id": name, **answer}) + "\n"


def _parsed(line: str, number: int) -> Mapping[str, Any]:
    from templatelint import traffic

    body = traffic.parsed(line, f"line {number}", _LINES)
    if not isinstance(body, dict):
        raise TemplatelintError(f"line {number} is no object", help=_LINES)
    return body


def _id(body: Mapping[str, Any], where: str) -> Any:
    """The id, of whatever type; Python reads NaN and Infinity, and nobody else could read them in the answer."""
    import json

    try:
        json.dumps(body.get("id"), allow_nan=False)
    except ValueError as error:
        raise TemplatelintError(f"{where}: id holds a number that JSON has not", help=_LINES) from error
    return body.get("id")


def _answer(body: Mapping[str, Any], manners: _Manners, where: str) -> tuple[Mapping[str, Any], int]:
    text = _text(body, "text", where)
    if text is None:
        raise TemplatelintError(f"{where} has no text", help=_LINES)
    reply = manners.of(body, where).read(text)
    return {"version": 1, **_object(reply)}, CLEAN if reply.complete else FINDINGS


def _object(reply: Reply) -> dict[str, Any]:
    return {
        "dialect": reply.dialect,
        "message": {
            "content": reply.content,
            "reasoning_content": reply.reasoning_content,
            "tool_calls": [
                {"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.tool_calls
            ],
        },
        "complete": reply.complete,
        "problems": [
            {"kind": problem.kind, "message": problem.message, "offset": problem.offset, "text": problem.text}
            for problem in reply.problems
        ],
    }


# ------------------------------------------------------------------------------------------------------- people


def _shown(session: Session, reply: Reply) -> Iterator[str]:
    import json

    from templatelint.report.terminal import visible, visible_block

    def head(label: str) -> str:
        return session.paint(f"{label:<{_PAD}}", "cyan")

    yield f"{head('dialect')}{reply.dialect}\n"
    for label, text in (("reasoning", reply.reasoning_content), ("content", reply.content)):
        if text is not None:
            block = visible_block(text).rstrip("\n").replace("\n", "\n" + " " * _PAD)
            yield f"{head(label)}{block}\n"
    for call in reply.tool_calls:
        identifier = f"  {session.paint(f'id {visible(call.id)}', 'dim')}" if call.id else ""
        arguments = visible(json.dumps(call.arguments, ensure_ascii=False))
        yield f"{head('call')}{session.paint(visible(call.name), 'bold')} {arguments}{identifier}\n"
    for problem in reply.problems:
        yield f"{head('problem')}{session.paint(problem.kind, 'yellow')}: {visible(problem.message)}\n"
        if problem.text:
            yield f"{head('')}{visible(problem.text)}\n"


_PAD = 11  # characters of the labels' column

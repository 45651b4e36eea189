"""TL215: the parser that an engine uses does not read back the calls that the template renders."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint import call_syntax
from templatelint.model import Fault
from templatelint.reading import MARKER, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.call_syntax import CallSyntax
    from templatelint.dialects.serving.parsers import ToolParser
    from templatelint.engines.read_back import ReadBack
    from templatelint.model import Impact
    from templatelint.view import View

CASES = call_syntax.FIRST
CALL_CASES = call_syntax.CASES
READ_BACK = call_syntax.ROUND_TRIPS
_PLAIN, _TYPES, _PARALLEL = call_syntax.ROUND_TRIPS
_BAD = frozenset({"wrong_args", "wrong_calls", "as_content", "parse_error"})
# of arguments that are true, false, lists and objects: another rule says what is wrong with these
_PYTHON = re.compile(r"\b(?:True|False)\b|[\[{]'")
_PARALLEL_NEED = "parallel-tools"
# engines that are launched with the name of a parser
_LAUNCHED = frozenset({"vllm", "sglang"})
# where a template takes the name of a call; it may take names of tools so too, though hardly behind `tool_calls`
_NAME_OF_CALL = re.compile(
    r"\.function\.name\b|\[['\"]function['\"]\]\[['\"]name['\"]\]|\b(?:\w*call|tc|fn?)\.name\b|"
    r"\b(?:\w*call|tc|func\w*)\[['\"]name['\"]\]"
)


def check(view: View) -> Iterator[Fault]:
    """Ask the parser that the template selects, or look the one up that reads its dialect."""
    if view.engine in _LAUNCHED:
        yield from _launched(view)
    elif view.reply(_PLAIN) is not None:
        yield from _selected(view)


# ------------------------------------------------------------------------- parsers that a template selects


def _selected(view: View) -> Iterator[Fault]:
    """The plain call first; what only shows in others is not said where that is lost already."""
    for case_id in call_syntax.ROUND_TRIPS:
        reply = view.reply(case_id)
        if reply is None or reply.status not in _BAD or (case_id == _TYPES and _PYTHON.search(reply.text)):
            continue
        if case_id == _PARALLEL and not _shown(view, case_id):
            continue  # the template itself leaves one out, and another rule says so
        handler = _handler(view)
        yield Fault(
            message=f"{f'the handler {handler}' if handler else 'the auto-parser'} of {view.engine}"
            f" {_outcome(reply, _kind(case_id))}: {shortened(reply.text)!r}",
            help="write calls as llama.cpp's templates for the same family do, or take another template"
            if handler
            else "write each call as one JSON object, or with a tag a name and a tag a value, between marks of its own",
            cases=(case_id,),
            cause=f"{view.engine} {case_id}",
            span=_where(view),
            need=_PARALLEL_NEED if case_id == _PARALLEL else None,
            impact="degrades" if case_id == _TYPES else None,
            total=case_id == _PLAIN,
        )
        if case_id == _PLAIN:
            return


def _kind(case_id: str) -> str:
    further = {_TYPES: "calls with arguments of every type", _PARALLEL: "two calls in a turn"}
    return further.get(case_id, "the calls")


def _shown(view: View, case_id: str) -> bool:
    """Whether the prompt has each of the case's calls."""
    return view.renders(case_id) and call_syntax.shows_all(view.prompt(case_id), view.case(case_id))


def _outcome(reply: ReadBack, calls: str) -> str:
    """What becomes of the calls, as a clause without its subject, the parser."""
    written = f"{calls} that the template writes"
    if reply.status == "parse_error":
        return f"cannot read {written}, and the request fails: {shortened(reply.error, 120)}"
    if reply.status == "as_content":
        return f"takes {written} for text, which reaches the client as content" if reply.content else f"loses {written}"
    if reply.status == "wrong_calls":
        return f"reads {written} as {len(reply.calls)}: {', '.join(call.name for call in reply.calls)}"
    return f"reads {written} with other arguments: {shortened(reply.calls[0].arguments)}"


def _handler(view: View) -> str:
    """The handler of llama.cpp's that serves the template; empty where its analysis does."""
    from templatelint.engines.llamacpp import facts

    known = facts.load()
    handler = known.handler(known.patched(view.template.source))
    return handler.name if handler else ""


# ---------------------------------------------------------------------------- parsers that a user names


def _launched(view: View) -> Iterator[Fault]:
    """The parser that the user names, or else the one that fits best."""
    syntax = call_syntax.of(view)
    if syntax.dialect is None:
        return
    from templatelint.dialects.serving import parsers

    known = parsers.load(view.engine)
    release = f"{known.title} {known.version}"
    fitting = parsers.for_dialect(view.engine, syntax.dialect, syntax.calls)
    chosen = _inferred(view) if view.parser == parsers.AUTO else view.parser
    if chosen is None:
        yield _unread(
            view,
            syntax,
            f"and {known.title} {known.version} infers no parser from the template's text: they stay in the text",
            help=_launch_with(fitting, release),
            cause=f"{view.engine} {view.parser}",
        )
        return
    name = chosen or next(iter(fitting), "")
    if not name:
        without = [
            f"{other.title} {other.version}"
            for other in map(parsers.load, parsers.LAUNCHED)
            if not parsers.for_dialect(other.engine, syntax.dialect)
        ]
        yield _unread(
            view,
            syntax,
            f"which no parser of {' or '.join(without)} reads: they stay in the text",
            help="read them in the client (`templatelint parse`), serve the model with an engine that can, or give its"
            " tokenizer a `response_template` (--tool-call-parser hf on vLLM, response_template on SGLang)",
            cause="no parser",
        )
        return
    parser = parsers.named(view.engine, name)
    if syntax.dialect not in parser.dialects:
        half = syntax.dialect in parser.unstreamed
        origin = f"of {release}, inferred from the template's text," if view.parser == parsers.AUTO else f"of {release}"
        yield _unread(
            view,
            syntax,
            f"which the parser {name} {origin}"
            f" {'reads only where replies are not streamed' if half else 'does not read'}",
            help=_launch_with(fitting, release),
            cause=f"{view.engine} {name}",
            impact="degrades" if syntax.dialect in parser.unstreamed else None,
        )
        return
    yield from _lost(view, syntax, parser, release)


def _inferred(view: View) -> str | None:
    """What the engine infers; a mark that the template holds is taken to be a token of its vocabulary."""
    from templatelint.dialects.serving.inferred import inferred

    source, tokenizer = view.template.source, view.model.tokenizer
    marks = frozenset((*MARKER.findall(source), *tokenizer.special_tokens.values(), *tokenizer.stop_tokens))
    return inferred(view.engine, source, marks)


def _launch_with(fitting: Sequence[str], release: str) -> str:
    return f"launch with --tool-call-parser {fitting[0]}" if fitting else f"no parser of {release} reads it"


def _where(view: View) -> tuple[int, int] | None:
    """Where the template writes a call; where it first speaks of calls if that is not found."""
    first = view.mention("tool_calls")
    found = _NAME_OF_CALL.search(view.template.source, first[0]) if first else None
    return found.span() if found else first


def _unread(  # noqa: PLR0913 (what a finding says)
    view: View,
    syntax: CallSyntax,
    outcome: str,
    *,
    help: str,  # noqa: A002 (as in Fault)
    cause: str,
    impact: Impact | None = None,
) -> Fault:
    return Fault(
        message=f"the template writes calls in the dialect {syntax.dialect}, {outcome}",
        help=help,
        cases=(syntax.case,),
        cause=cause,
        span=_where(view),
        impact=impact,
        total=impact is None,
    )


def _tokens_of(view: View, parser: ToolParser) -> frozenset[str] | None:
    """Those tokens of the vocabulary that what the parser does hangs on; None where the vocabulary is not known."""
    vocabulary = view.model.tokenizer.vocabulary
    if vocabulary is None:
        return None
    marks = {mark for fault in parser.faults for mark in (fault.with_token, fault.without_token) if mark}
    return frozenset(mark for mark in marks if vocabulary.token(mark) is not None)


def _lost(view: View, syntax: CallSyntax, parser: ToolParser, release: str) -> Iterator[Fault]:
    """What that parser is known not to give back of calls that are written like this."""
    texts = {syntax.case: syntax.calls, **call_syntax.texts(view)}
    told: set[str] = set()
    for case_id, text in texts.items():
        stem = case_id.split("+")[0]
        if stem == _TYPES and _PYTHON.search(text):
            continue
        for note in parser.lost(text, vocabulary=_tokens_of(view, parser)):
            if note in told:
                continue
            told.add(note)
            yield Fault(
                message=f"the parser {parser.name} of {release} does not read {_kind(stem)} that the template writes:"
                f" {note}: {shortened(text.strip())!r}",
                help="write calls as the models that the parser is made for do",
                cases=(case_id,),
                cause=f"{view.engine} {parser.name} {note}",
                span=_where(view),
                need=_PARALLEL_NEED if stem == _PARALLEL else None,
                impact="degrades" if stem == _TYPES else None,
            )

"""Cells with tool calls → what becomes of their shape and ids, and of calls in replies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint import call_syntax, inspection
from templatelint.checks import call_id_constrained, parser_mismatch, python_repr_leaks, tool_schema_fatal
from templatelint.dialects.serving import parsers
from templatelint.errors import clip
from templatelint.outcomes.outcome import UNKNOWN, WORDS, Grade, Outcome, of_fact
from templatelint.outcomes.subjects import OFFERED
from templatelint.reading import positions
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.call_syntax import CallSyntax
    from templatelint.capabilities import Capabilities
    from templatelint.inspection import Inspection
    from templatelint.model import Fault
    from templatelint.view import View

# Cases beside those of `inspect`: they show whether ids as the engine makes them are taken, every legal schema, and
# arguments of every type.
_NULL, _EMPTY = "tool-call", "tool-call-empty"
_TYPES = "tool-arguments-types"
_FILLED = f"{_TYPES}+empty"
CASES = (*call_id_constrained.CASES, *tool_schema_fatal.CASES, *python_repr_leaks.CASES, _FILLED)
_SHOWN = frozenset({"shown", "partly"})


def told(known: Inspection, engine: str, parser: str) -> Mapping[str, Outcome]:
    """By subject, with the parser that the engine runs with."""
    view, facts = known.views[engine], known.capabilities[engine]
    return {
        "arguments": of_fact("arguments", facts, _own_shape(view)) if facts.tool_calls in _SHOWN else UNKNOWN,
        "argument-values": _values(view, facts),
        "content-beside-calls": of_fact("content-beside-calls", facts, _own_gap(view)),
        "call-ids": _call_ids(view, facts),
        "tool-schemas": _schemas(view, facts),
        "call-dialect": _dialect(known, engine),
        **_replies(known, engine, parser),
    }


def _own_shape(view: View) -> str:
    """The fact that tells of arguments in the shape that clients of the engine send."""
    return "string_arguments" if view.client_form == "wire" else "object_arguments"


def _values(view: View, facts: Capabilities) -> Outcome:
    """Whether arguments that are no strings are written as JSON writes them, or as the dialect does."""
    if facts.tool_calls not in _SHOWN:
        return UNKNOWN
    if not view.renders(_TYPES) and view.renders(_FILLED):  # calls without content are another subject's business
        filled = {_NULL: view.case(_EMPTY).id, _TYPES: view.case(_FILLED).id}
        view = replace(view, adapted={**view.adapted, **filled})
    if not view.renders(_TYPES) or not view.renders(_NULL):
        return UNKNOWN
    fault = next((fault for fault in python_repr_leaks.check(view) if fault.cause in _PYTHON), None)
    if fault is None:
        return Outcome("works", "fine", "are written as in JSON or in the dialect", view.case(_TYPES).id)
    grade: Grade = "degraded" if fault.impact == "degrades" else "broken"
    said = f"are written as Python writes them: {clip(fault.message, WORDS)}"
    return Outcome(grade, "python", said, fault.cases[0])


_PYTHON = frozenset({"value", "arguments"})


def _own_gap(view: View) -> str:
    """Servers are sent `content: null` beside calls; Python callers leave the member out."""
    return "null_content" if view.client_form == "wire" else "absent_content"


def _schemas(view: View, facts: Capabilities) -> Outcome:
    """Whether a template that takes tools takes every legal definition of one."""
    if facts.tools not in OFFERED:
        return UNKNOWN
    try:
        fault = next(iter(tool_schema_fatal.check(view)), None)
    except NoText:
        return UNKNOWN
    if fault is None:
        return Outcome("works", "fine", "are taken")
    return Outcome("broken", "raises", f"make the template raise ({fault.cause})", fault.cases[0])


def _call_ids(view: View, facts: Capabilities) -> Outcome:
    if facts.tool_calls != "shown":
        return UNKNOWN
    try:
        fault = next((fault for fault in call_id_constrained.check(view) if fault.impact is None), None)
    except NoText:
        return UNKNOWN
    if fault is None:
        return Outcome("works", "any", "are taken")
    return Outcome("broken", facts.call_ids or "refused", f"do not do: {clip(fault.message, WORDS)}", fault.cases[0])


def _dialect(known: Inspection, engine: str) -> Outcome:
    syntax = known.syntax[engine]
    if not syntax.rendered:
        return UNKNOWN
    if syntax.dialect is None:
        return Outcome("degraded", "unknown", "are written in no known dialect")
    said = f"are written in the dialect {syntax.dialect}"
    return Outcome("works", syntax.dialect, said, syntax.case, _form(known.views[engine], syntax))


def _form(view: View, syntax: CallSyntax) -> str:
    """What stands between the name of a call and its arguments: dialects have more than one way to write a call."""
    case, text = view.matrix.cases[syntax.case], syntax.calls
    name, key = (positions(text, case.marks[mark]) for mark in ("call.1.name", "call.1.key"))
    if not name or not key or name[0] > key[0]:
        return ""
    between = text[name[0] + len(case.marks["call.1.name"]) : key[0]].replace(case.marks["call.1.id"], "")
    return "".join(between.split())


def _replies(known: Inspection, engine: str, parser: str) -> Mapping[str, Outcome]:
    """Whether what the engine runs with reads the calls as the template writes them: one of them, and two in a turn."""
    view, facts = known.views[engine], known.capabilities[engine]
    if facts.tool_calls not in _SHOWN:
        return {"reply-calls": UNKNOWN, "reply-parallel-calls": UNKNOWN}
    if view.engine in parsers.LAUNCHED and not parser:
        return _of_replies(facts, _NONE_RUNS[view.engine])
    try:
        faults = list(parser_mismatch.check(replace(view, parser=parser)))
    except NoText:
        faults = []
    told = call_syntax.of(view)
    if view.reply(told.case) is None and (view.engine not in parsers.LAUNCHED or told.dialect is None):
        status = known.own[engine].read_back if engine in known.own else ""
        return {"reply-calls": _found_out(status), "reply-parallel-calls": UNKNOWN}
    foreign = _foreign(view.engine, parser, told.dialect)
    if foreign is not None:
        return _of_replies(facts, foreign)
    own = next((fault for fault in faults if fault.need is None and fault.impact is None), None)
    two = next((fault for fault in faults if fault.need is not None), None)
    return _of_replies(facts, _as_read(view, own), _as_read(view, own or two))


def _of_replies(facts: Capabilities, one: Outcome, two: Outcome | None = None) -> Mapping[str, Outcome]:
    """What becomes of a call, and of two in a turn where the template writes two; the same unless it is given."""
    return {
        "reply-calls": one,
        "reply-parallel-calls": (two or one) if facts.parallel_tool_calls == "shown" else UNKNOWN,
    }


def _foreign(engine: str, parser: str, dialect: str | None) -> Outcome | None:
    """What a parser makes of a dialect that it is not for, None where it is."""
    if dialect is None or engine not in parsers.LAUNCHED:
        return None
    known = parsers.named(engine, parser)
    if dialect in known.dialects:
        return None
    if known.others == "fails":
        return Outcome("broken", "fail", f"do not come, the request fails: {parser} is for {known.dialects[0]} alone")
    if dialect in known.unstreamed:
        return Outcome("degraded", "unstreamed", "are read only where they are not streamed")
    return Outcome(
        "broken", "in the text", f"stay in the text: a parser for {known.dialects[0]} does not read {dialect}"
    )


# vLLM answers requests that leave the choice of tools to the model only where it has a parser
_NONE_RUNS = {
    "vllm": Outcome("broken", "refused", "do not come: without a tool-call parser, requests with tools get an error"),
    "sglang": Outcome("broken", "in the text", "stay in the text: no tool-call parser runs"),
}


def _found_out(read_back: str) -> Outcome:
    """The same as the engine finds out itself, where results that it refuses leave no prompt to judge by."""
    if read_back in inspection.UNREAD:
        return Outcome("broken", "unread", f"are not read: {inspection.UNREAD[read_back]}")
    return _BACK if read_back in _READ else UNKNOWN


_READ = frozenset({"ok", "ok_extra_content"})


def _as_read(view: View, fault: Fault | None) -> Outcome:
    if fault is None:
        return _BACK
    stem = fault.cases[0].split("+")[0]
    shown = view.case(stem).id if stem in view.matrix.cases else fault.cases[0]
    # what the engine is told at launch may be told otherwise; what it finds in the template may not
    cure = "" if view.engine in parsers.LAUNCHED else "serve it with a template whose calls the engine reads"
    return Outcome("broken", "unread", f"are not read: {fault.message}", shown, cure=cure)


_BACK = Outcome("works", "read", "are read back")

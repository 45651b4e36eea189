"""What is known of a model on an engine → what becomes of each thing that a client may rely on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from templatelint import call_syntax, cards, checks, inspection
from templatelint.capabilities import content
from templatelint.capabilities.cells import Cells
from templatelint.checks import call_id_constrained, parser_mismatch
from templatelint.dialects.serving import parsers
from templatelint.errors import clip
from templatelint.model import NEEDS
from templatelint.reading import has, positions
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.call_syntax import CallSyntax
    from templatelint.capabilities import Capabilities
    from templatelint.engines import Engine
    from templatelint.inspection import Inspection
    from templatelint.model import Card, Fault, Model
    from templatelint.view import View

Grade: TypeAlias = Literal["works", "degraded", "broken"]
GRADES: tuple[Grade, ...] = ("broken", "degraded", "works")

# The needs that facts of single conversations tell nothing of.
_ELSEWHERE = frozenset({"prefix-cache", "training"})
JUDGED = tuple(need for need in NEEDS if need not in _ELSEWHERE)

# Cases beside those of `inspect`: they show whether ids as the engine makes them are taken.
FURTHER = call_id_constrained.CASES
# The parts of a template's whole answer that lack together where it does not load, or refuses every request.
LOADS, CHAT, _EARLIER = "template", "chat", "earlier-turns"
_CHAT_CASE, _TURNS, _ALONE = "chat-basic", "chat-turns", "tool-call-empty+notools"
_WORDS = 160  # characters of what a template says


class Launch(NamedTuple):
    """With which parsers an engine is started that is told them; empty where it is started with none."""

    calls: str = ""
    thoughts: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of one thing.

    Attributes:
        grade: it `works`, is `degraded` or `broken`; None where that is not known, or it does not apply.
        word: the same as a word of `Capabilities`, or a name.
        says: the same as a clause.
        case: the id of the cell that shows it; empty where none does.
        form: what else tells two outcomes of one word apart.
        cure: what can be done about it, where the subject does not say it.
    """

    grade: Grade | None
    word: str = ""
    says: str = ""
    case: str = ""
    form: str = ""
    cure: str = ""


UNKNOWN = Outcome(None)


class Subject(NamedTuple):
    """One thing that a client may rely on.

    Attributes:
        id: stable name, for programs.
        need: which of a client's needs it belongs to.
        name: what it is called, in the plural: a clause follows.
        fact: the capability that tells; empty where something else does.
        case: the id of the case that shows it.
        cases: ids of further cases that may show it where that one does not.
        marks: which texts of that case to look for; `cue` for what opens the answer.
        within: larger subjects, the largest first: where one of them is lost, so is this.
        cure: what can be done where the model does not do it; empty where nothing can.
        template: another template would do it.
        mildly: a loss here is no break: clients hardly rely on it.
    """

    id: str
    need: str
    name: str
    fact: str = ""
    case: str = ""
    marks: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    cure: str = ""
    template: bool = False
    mildly: bool = False
    cases: tuple[str, ...] = ()


_CALL = ("call.1.name", "call.1.value")
_NO_TOOLS = ("tools", "tool-calls")
_THINKS = ("reasoning",)

SUBJECTS: tuple[Subject, ...] = (
    Subject(LOADS, "chat", "the template", case="chat-basic"),
    Subject(CHAT, "chat", "plain chats", "chat", "chat-basic", ("user.1",)),
    Subject(
        "string-content",
        "chat",
        "messages with a string as content",
        "string_content",
        "chat-basic",
        ("user.1",),
        (CHAT,),
        "send content as a list of parts",
    ),
    Subject(
        _EARLIER,
        "chat",
        "earlier turns",
        case="chat-turns",
        marks=("user.1", "assistant.1", "user.2"),
        within=(CHAT,),
        cure="put what counts of the history into the last user message",
    ),
    Subject(
        "answers",
        "chat",
        "answers",
        case="chat-basic",
        marks=("cue",),
        within=(CHAT,),
        cure="cut the thoughts off in the client (`templatelint parse`)",
    ),
    Subject(
        "system",
        "system",
        "system messages",
        "system",
        "chat-system",
        ("system",),
        cure="put the text at the start of the first user message",
    ),
    Subject(
        "system-with-tools",
        "system",
        "system messages beside tools",
        "system_with_tools",
        "tools-offer-system",
        ("system",),
        ("system",),
        "put the text at the start of the first user message",
    ),
    Subject(
        "tools",
        "tools",
        "tool definitions",
        "tools",
        "tools-offer",
        ("tools.1.name", "tools.1.description"),
        cure="serve it with a template of this model that prints them",
        template=True,
    ),
    Subject(
        "tool-calls",
        "tools",
        "tool calls of the history",
        "tool_calls",
        "tool-call-empty",
        _CALL,
        ("tools",),
        "serve it with a template of this model that prints them",
        template=True,
    ),
    Subject(
        "tool-results",
        "tools",
        "tool results",
        "tool_results",
        "tool-call-empty",
        ("tool.1",),
        _NO_TOOLS,
        "send results as user messages, or serve it with a template that takes the role tool",
        template=True,
    ),
    Subject(
        "reply-calls",
        "tools",
        "tool calls in replies",
        case="tool-call-empty",
        marks=_CALL,
        within=_NO_TOOLS,
        cure="read the calls in the client (`templatelint parse`)",
    ),
    Subject(
        "call-dialect",
        "tools",
        "tool calls",
        case="tool-call-empty",
        marks=_CALL,
        within=(*_NO_TOOLS, "reply-calls"),
        cure="a client that reads calls itself has to read these (`templatelint parse`)",
    ),
    Subject("arguments", "tools", "arguments of tool calls", case="tool-call-empty", marks=_CALL, within=_NO_TOOLS),
    Subject(
        "content-beside-calls",
        "tools",
        "tool calls without content",
        case="tool-call",
        marks=_CALL,
        within=(*_NO_TOOLS, "arguments"),
        cure='send content "" beside tool calls',
    ),
    Subject(
        "text-with-calls",
        "tools",
        "texts beside tool calls",
        "text_with_calls",
        "tool-call-text",
        ("assistant.1", *_CALL),
        _NO_TOOLS,
        "send no text beside tool calls that the next turns need",
    ),
    Subject(
        "call-ids",
        "tools",
        "ids of tool calls as the server makes them",
        case="tool-call-empty",
        marks=_CALL,
        within=_NO_TOOLS,
        cure="rewrite ids, in calls and in results, before sending them back",
    ),
    Subject(
        "tool-results-parts",
        "tools",
        "tool results as lists of parts",
        "typed_tool_results",
        "tool-result-typed",
        ("tool.1",),
        (*_NO_TOOLS, "tool-results"),
        "send tool results as strings",
    ),
    Subject(
        "parallel-calls",
        "parallel-tools",
        "two tool calls in one turn",
        "parallel_tool_calls",
        "tool-parallel",
        ("call.1.name", "call.1.value", "call.2.name", "call.2.value"),
        _NO_TOOLS,
        "send `parallel_tool_calls: false`, and one call a turn in the history",
    ),
    Subject(
        "reply-parallel-calls",
        "parallel-tools",
        "two tool calls in a reply",
        case="tool-parallel",
        marks=("call.1.name", "call.1.value", "call.2.name", "call.2.value"),
        within=(*_NO_TOOLS, "parallel-calls", "reply-calls"),
        cure="send `parallel_tool_calls: false`",
    ),
    Subject(
        "reasoning",
        "reasoning",
        "thoughts of earlier turns",
        "reasoning",
        "reasoning-loop",
        ("reasoning.1", "reasoning.2"),
        cure="expect no thoughts: the template has no place for any",
    ),
    Subject(
        "reasoning-field",
        "reasoning",
        "thoughts in the field `reasoning_content`",
        case="reasoning-loop",
        marks=("reasoning.1", "reasoning.2"),
        within=_THINKS,
    ),
    Subject(
        "thinking-switch",
        "reasoning",
        "switches of thinking",
        case="chat-basic",
        marks=("user.1",),
        within=_THINKS,
        cure="send none: what it says has no effect",
    ),
    Subject(
        "thinking-default",
        "reasoning",
        "replies where no switch is sent",
        case="chat-basic",
        marks=("cue",),
        cure="send the switch",
    ),
    Subject(
        "reply-thoughts",
        "reasoning",
        "thoughts in replies",
        case="chat-basic",
        marks=("cue",),
        within=("reasoning", "answers"),
        cure="cut them off in the client (`templatelint parse`)",
    ),
    Subject(
        "content-parts",
        "multimodal",
        "user messages with a list of parts as content",
        "typed_content",
        "typed-user",
        ("user.1",),
        (CHAT,),
        "send content as one string",
    ),
    Subject(
        "content-parts-elsewhere",
        "multimodal",
        "system and assistant messages with a list of parts as content",
        "typed_content",
        "typed-system",
        ("system",),
        ("system", "content-parts"),
        "send content as one string",
    ),
    Subject(
        "later-system",
        "agent",
        "later system messages",
        "later_system",
        "system-twice",
        ("system", "system.2"),
        ("system",),
        "send later instructions as user messages, or add them to the first system message",
        cases=("system-later",),
    ),
    Subject(
        "developer",
        "agent",
        "developer messages",
        "developer",
        "developer",
        ("developer",),
        ("system",),
        "send them as system messages",
    ),
    Subject(
        "consecutive-users",
        "agent",
        "two user messages in a row",
        "consecutive_users",
        "chat-two-users",
        ("user.1", "user.2"),
        (_EARLIER,),
        "join messages of one role before sending",
    ),
    Subject(
        "consecutive-assistants",
        "agent",
        "two assistant messages in a row",
        "consecutive_assistants",
        "chat-two-assistants",
        ("assistant.1", "assistant.2"),
        (_EARLIER, "consecutive-users"),
        "join messages of one role before sending",
    ),
    Subject(
        "user-after-tool",
        "agent",
        "user messages straight after a tool result",
        "user_after_tool",
        "tool-interrupted",
        ("tool.1", "user.2"),
        (*_NO_TOOLS, "tool-results", _EARLIER, "consecutive-users"),
        "put an answer between the result and the message",
    ),
    Subject(
        "assistant-first",
        "agent",
        "histories that start with the assistant",
        "assistant_first",
        "chat-assistant-first",
        ("assistant.1",),
        ("consecutive-users",),
        "put a user message before it",
        mildly=True,
    ),
    Subject(
        "no-user",
        "agent",
        "histories without a user message",
        "no_user",
        "no-user",
        ("system",),
        cure="keep one user message when compacting",
    ),
    Subject(
        "tools-again",
        "agent",
        "tool calls of the history without the tools",
        "history_without_tools",
        "tool-call-empty+notools",
        _CALL,
        (*_NO_TOOLS, "tool-results"),
        "send the tools again in every request",
    ),
)
BY_ID: Mapping[str, Subject] = {subject.id: subject for subject in SUBJECTS}

# word of a capability → grade and clause
_MEANINGS: Mapping[str, tuple[Grade | None, str]] = {
    "honoured": ("works", "have a turn of their own"),
    "merged": ("works", "are merged into a user turn"),
    "kept": ("works", "are kept"),
    "moved": ("works", "are moved"),
    "shown": ("works", "reach the model"),
    "fine": ("works", "are taken"),
    "last-turn": ("works", "are kept in the running tool loop"),
    "with system only": ("degraded", "reach the model only beside a system message"),
    "some": ("degraded", "do not all reach the model"),
    "partly": ("broken", "lose their name or their arguments"),
    "first only": ("broken", "are lost but for the first"),
    "replaces": ("broken", "replace the first one"),
    "dropped": ("broken", "never reach the model"),
    "lost": ("broken", "are lost"),
    "refused": ("broken", "are refused"),
    "raises": ("broken", "make the template raise"),
    "printed": ("broken", "are printed as data"),
    "word": ("broken", "are printed with the word None"),
    "double-encoded": ("broken", "are printed as quoted JSON strings"),
    "python": ("broken", "are printed as Python writes them"),
    "need a name": ("broken", "are refused without the function's name"),
    "rejected": (None, "are rejected by the engine"),
    "over budget": (None, "take more than they may"),
}
# clauses that read better for one subject
_OF_ONE: Mapping[tuple[str, str], tuple[Grade | None, str]] = {
    ("text-with-calls", "dropped"): ("degraded", "never reach the model"),
    ("content-parts", "first only"): ("broken", "are cut after the first part"),
    ("content-parts-elsewhere", "first only"): ("broken", "are cut after the first part"),
    ("tool-results-parts", "first only"): ("degraded", "are cut after the first part"),
    ("reasoning", "kept"): ("works", "are kept in every turn"),
}


def subjects(needs: AbstractSet[str]) -> tuple[Subject, ...]:
    """What a client with these needs relies on; where no capability tells of a need, its rules do."""
    return (*(subject for subject in SUBJECTS if subject.need in needs), *map(_of_rule, _rules(needs)))


def _rules(needs: AbstractSet[str]) -> list[Card]:
    told = needs & _ELSEWHERE
    return [card for card in cards.all_cards().values() if card.need in told and card.name in checks.names()]


def untold(needs: AbstractSet[str]) -> list[str]:
    """Those of the needs of which neither capabilities nor rules tell anything."""
    told = {card.need for card in _rules(needs)}
    return [need for need in NEEDS if need in needs & _ELSEWHERE and need not in told]


def _of_rule(card: Card) -> Subject:
    case = next(iter(checks.load(card.name).CASES), "")
    return Subject(card.name, card.need, f"{card.id}:", case=case, marks=("user.1",))


def observed(model: Model, asked: Sequence[Engine], needs: AbstractSet[str] = frozenset(JUDGED)) -> Inspection:
    """What is known of a model, with the cells that outcomes need beside those of `inspect`."""
    read_back = partial(call_syntax.shows_call_of, call_syntax.ROUND_TRIPS)
    ruled = (case_id for card in _rules(needs) for case_id in checks.load(card.name).CASES)
    return inspection.inspect(model, asked, (*FURTHER, *ruled), read_back)


def launch(known: Inspection, engine: str) -> Launch:
    """The parsers that fit the model on an engine that is told them at launch."""
    flags = known.flags.get(engine)
    if flags is None:
        return Launch()
    words = flags.arguments
    named = dict(pairwise(words))
    return Launch(named.get("--tool-call-parser", ""), named.get("--reasoning-parser", ""))


def of(known: Inspection, engine: str, started: Launch, needs: AbstractSet[str] = frozenset()) -> Mapping[str, Outcome]:
    """What becomes of each subject, by its id.

    Args:
        known: what `observed` gives.
        engine: the id of an engine that was asked.
        started: the parsers with which it runs.
        needs: those of them that rules tell of are told too.
    """
    facts, view = known.capabilities[engine], known.views[engine]
    loads = _loads(facts, view)
    ruled = _rules(needs)
    if loads.grade != "works":
        return {subject.id: loads for subject in (*SUBJECTS, *map(_of_rule, ruled))}
    told = {
        LOADS: loads,
        CHAT: _chat(view, facts),
        _EARLIER: _earlier_turns(view),
        **_parts(view, facts),
        "tools-again": _tools_again(view, facts),
        "arguments": _of_fact("arguments", facts, _own_shape(view)) if facts.tool_calls in _SHOWN else UNKNOWN,
        "content-beside-calls": _of_fact("content-beside-calls", facts, _own_gap(view)),
        "call-ids": _call_ids(view, facts),
        "call-dialect": _dialect(known, engine),
        **_replies(known, engine, started.calls),
        "reasoning-field": _field(facts),
        "thinking-switch": _switch(facts),
        "thinking-default": Outcome("works", facts.thinking_default, _THINKING[facts.thinking_default])
        if facts.thinking_default
        else UNKNOWN,
        **_thoughts(known, engine, started.thoughts),
    }
    placed = {
        subject.id: _placed(subject, told[subject.id] if subject.id in told else _of_fact(subject.id, facts), view)
        for subject in SUBJECTS
    }
    for subject_id in _FALLING:
        placed[subject_id] = _fallen(BY_ID[subject_id], placed)
    return {**placed, **{card.name: _by_rule(card, view) for card in ruled}}


_SHOWN = frozenset({"shown", "partly"})
_THINKING = {"on": "begin with thoughts", "off": "come without thoughts"}


# What is not asked of a template that loses what it builds on, and is lost all the same.
_FALLING = ("later-system", "consecutive-users", "consecutive-assistants", "user-after-tool")


def _fallen(subject: Subject, told: Mapping[str, Outcome]) -> Outcome:
    """The outcome; where there is none, that of the nearest larger subject that is lost."""
    own = told[subject.id]
    if own.grade is not None:
        return own
    return next((told[larger] for larger in reversed(subject.within) if told[larger].grade == "broken"), own)


def _placed(subject: Subject, outcome: Outcome, view: View) -> Outcome:
    """The outcome with the cell that shows it, in the variant in which the template is judged."""
    if outcome.case or outcome.grade is None:
        return outcome
    cells = [case_id for case_id in (subject.case, *subject.cases) if case_id in view.matrix.cases]
    if outcome.grade == "broken" and len(cells) > 1:
        cells.sort(key=lambda case_id: _whole(subject, view, case_id))
    return replace(outcome, case=view.case(cells[0]).id) if cells else outcome


def _whole(subject: Subject, view: View, case_id: str) -> int:
    """0 where the cell has no prompt, 1 where a text of it is missing, 2 where nothing is."""
    if not view.renders(case_id):
        return 0
    case, prompt = view.case(case_id), view.prompt(case_id)
    return 2 if all(has(prompt, case, mark) for mark in subject.marks if mark in case.marks) else 1


def _of_fact(subject: str, facts: Capabilities, fact: str = "") -> Outcome:
    fact = fact or BY_ID[subject].fact
    word = getattr(facts, fact)
    return UNKNOWN if word is None else _worded(subject, word, facts.errors.get(fact, ""))


def _worded(subject: str, word: str, said: str = "") -> Outcome:
    """The outcome that a word stands for, with what the template or the engine says where it refuses."""
    grade, clause = _OF_ONE.get((subject, word), _MEANINGS[word])
    if grade == "broken" and said:
        clause = f"{clause}: {clip(said, _WORDS)}"
    return Outcome(grade, word, clause)


def _by_rule(card: Card, view: View) -> Outcome:
    """What the first of a rule's faults says; one that informs is no loss."""
    try:
        faults = [*checks.load(card.name).check(view)]
    except NoText:
        return UNKNOWN
    for fault in faults:
        impact = fault.impact or card.impact
        if impact != "informs":
            grade: Grade = "broken" if impact == "breaks" else "degraded"
            case_id = fault.cases[0] if fault.cases else ""
            return Outcome(grade, card.name, fault.message, case_id, cure=fault.help)
    return Outcome("works", "fine", "fine")


def _loads(facts: Capabilities, view: View) -> Outcome:
    """Whether the template answers anything at all; one that has no end does not."""
    error = view.load_error
    if error is not None and error.out_of_budget:
        return _endless(error.message)
    if facts.loads is None:
        return UNKNOWN
    if not facts.loads:
        return Outcome("broken", "does not load", f"does not load: {clip(facts.why, _WORDS)}")
    if facts.prompts is False:
        said = facts.errors.get(CHAT, "")
        if facts.chat == "over budget":
            return _endless(said)
        return Outcome("broken", "refuses", f"refuses every request: {clip(said, _WORDS)}")
    return Outcome("works", "loads", "loads")


def _endless(said: str) -> Outcome:
    return Outcome("broken", "over budget", f"is at work on every request without end: {clip(said, _WORDS)}")


# --------------------------------------------------------------------------------------------- messages


def _chat(view: View, facts: Capabilities) -> Outcome:
    """What becomes of a user's text; a prompt without it is none, whatever shape it was sent in."""
    if facts.chat == "fine" and not has(view.prompt(_CHAT_CASE), view.case(_CHAT_CASE), "user.1"):
        return _worded(CHAT, "dropped")
    return _of_fact(CHAT, facts)


def _earlier_turns(view: View) -> Outcome:
    """Whether users' and assistants' texts before the last reach the model."""
    return _whole_case(view, _EARLIER, _TURNS, BY_ID[_EARLIER].marks) if view.renders(_CHAT_CASE) else UNKNOWN


def _tools_again(view: View, facts: Capabilities) -> Outcome:
    """What becomes of calls and results without tools; looked at for itself where calls beside tools do not arrive."""
    if facts.tool_calls == "shown" and facts.history_without_tools is not None:
        return _of_fact("tools-again", facts)
    return _whole_case(view, "tools-again", _ALONE, ("call.1.value", "tool.1"))


def _whole_case(view: View, subject: str, case_id: str, marks: Sequence[str]) -> Outcome:
    """Whether all of these texts of a case are in its prompt."""
    try:
        error = view.raised(case_id)
    except NoText:
        return UNKNOWN
    if error is not None:
        return _worded(subject, "refused", error.message)
    if not view.renders(case_id):
        return UNKNOWN
    prompt, case = view.prompt(case_id), view.case(case_id)
    return _worded(subject, "kept" if all(has(prompt, case, mark) for mark in marks) else "dropped")


def _parts(view: View, facts: Capabilities) -> Mapping[str, Outcome]:
    """What becomes of lists of parts: those of users, on which clients with images rely, and those of other roles."""
    found = {}
    for subject, roles in (("content-parts", ("user",)), ("content-parts-elsewhere", ("system", "assistant"))):
        cells = Cells(view)
        fate = content.typed(cells, facts.system, roles)
        if fate is None:
            found[subject] = UNKNOWN
            continue
        word, case_id = fate
        found[subject] = replace(_worded(subject, word, cells.errors.get(BY_ID[subject].fact, "")), case=case_id)
    return found


# ------------------------------------------------------------------------------------------------ calls


def _own_shape(view: View) -> str:
    """The fact that tells of arguments in the shape that clients of the engine send."""
    return "string_arguments" if view.client_form == "wire" else "object_arguments"


def _own_gap(view: View) -> str:
    """Servers are sent `content: null` beside calls; Python callers leave the member out."""
    return "null_content" if view.client_form == "wire" else "absent_content"


def _call_ids(view: View, facts: Capabilities) -> Outcome:
    if facts.tool_calls != "shown":
        return UNKNOWN
    try:
        fault = next((fault for fault in call_id_constrained.check(view) if fault.impact is None), None)
    except NoText:
        return UNKNOWN
    if fault is None:
        return Outcome("works", "any", "are taken")
    return Outcome("broken", facts.call_ids or "refused", f"do not do: {clip(fault.message, _WORDS)}", fault.cases[0])


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
        return {
            "reply-calls": foreign,
            "reply-parallel-calls": foreign if facts.parallel_tool_calls == "shown" else UNKNOWN,
        }
    own = next((fault for fault in faults if fault.need is None and fault.impact is None), None)
    two = next((fault for fault in faults if fault.need is not None), None)
    both = UNKNOWN if facts.parallel_tool_calls != "shown" else _as_read(view, own or two)
    return {"reply-calls": _as_read(view, own), "reply-parallel-calls": both}


def _foreign(engine: str, parser: str, dialect: str | None) -> Outcome | None:
    """What a parser makes of a dialect that it is not for; None where it is."""
    if not parser or dialect is None or engine not in parsers.LAUNCHED:
        return None
    known = parsers.named(engine, parser)
    if dialect in known.dialects:
        return None
    if dialect in known.unstreamed:
        return Outcome("degraded", "unstreamed", "are read only where they are not streamed")
    return Outcome(
        "broken", "in the text", f"stay in the text: a parser for {known.dialects[0]} does not read {dialect}"
    )


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


# --------------------------------------------------------------------------------------------- thoughts


def _field(facts: Capabilities) -> Outcome:
    if not facts.reasoning_fields:
        return UNKNOWN
    if "reasoning_content" in facts.reasoning_fields:
        return Outcome("works", "reasoning_content", "are taken")
    other = facts.reasoning_fields[0]
    return Outcome("broken", other, f"never reach the model: the template reads `{other}`")


def _switch(facts: Capabilities) -> Outcome:
    if facts.thinking_switch is None:
        return UNKNOWN
    if not facts.thinking_switch:
        return Outcome("broken", "none", "have no effect")
    names = " or ".join(f"`{name}`" for name in facts.thinking_switch)
    return Outcome("works", ", ".join(facts.thinking_switch), f"work by {names}")


def _thoughts(known: Inspection, engine: str, parser: str) -> Mapping[str, Outcome]:
    """What becomes of answers and thoughts, on engines that are told a parser for these."""
    syntax = known.syntax[engine]
    if engine not in parsers.LAUNCHED:
        return {"answers": UNKNOWN, "reply-thoughts": UNKNOWN}
    if syntax.reasoning is None:
        taken = bool(parser) and parsers.named_reasoning(engine, parser).bare == "thoughts"
        lost = Outcome("broken", "empty", "have no content: the reasoning parser takes what has no marks for thoughts")
        return {"answers": lost if taken else _CLEAN, "reply-thoughts": UNKNOWN}
    switches = known.capabilities[engine].thinking_switch
    switch = None if switches is None else next(iter(switches), "")
    if parser in parsers.for_reasoning(engine, syntax.reasoning, dialect=syntax.dialect, switch=switch):
        return {"answers": _CLEAN, "reply-thoughts": Outcome("works", "apart", "are taken out of the answer")}
    marks = f"{syntax.reasoning.start.strip()} … {syntax.reasoning.end.strip()}"
    why = f"the reasoning parser does not look for {marks}" if parser else "no reasoning parser takes them out"
    return {
        "answers": Outcome("degraded", "with thoughts", f"hold the thoughts between {marks}: {why}"),
        "reply-thoughts": Outcome("broken", "in the text", f"stay in the text: {why}"),
    }


_CLEAN = Outcome("works", "clean", "come without thoughts")


# ------------------------------------------------------------------------------------------------ needs


def needs_of(outcomes: Mapping[str, Outcome]) -> Mapping[str, Grade | None]:
    """What becomes of each need: the worst of its subjects, those apart that clients hardly rely on."""
    return {need: _worst(_told(need, outcomes)) for need in JUDGED}


def _told(need: str, outcomes: Mapping[str, Outcome]) -> Iterator[Grade | None]:
    for subject in SUBJECTS:
        if subject.need == need and not subject.mildly:
            yield outcomes[subject.id].grade


def _worst(grades: Iterable[Grade | None]) -> Grade | None:
    known = {grade for grade in grades if grade is not None}
    return next((grade for grade in GRADES if grade in known), None)

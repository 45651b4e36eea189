"""What one engine made of calls and thoughts → the dialect that the template writes, and whether it reads back."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from templatelint import accommodation, cases, engines, matrix
from templatelint.model import RenderError
from templatelint.reading import THOUGHT, has, named_thought, positions, region, stretch
from templatelint.view import NoText, View

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from templatelint.dialects.reply import ToolCall
    from templatelint.engines import Engine
    from templatelint.model import Case, Model

_BASIC = "chat-basic"
_CALLS = ("tool-call-empty", "tool-call-text", "tool-call", "tool-call-absent")
# Calls that show whether arguments of every type, and several calls, survive the way there and back.
ROUND_TRIPS = ("tool-call-empty", "tool-arguments-typed", "tool-parallel")
# Calls for templates that refuse all of the others: they want a name with the result, or no result, or no tools.
_LAST = ("tool-result-named", "tool-unanswered", "tool-pending", "tool-history-no-tools")
_NAMED = "tool-id-named"
_WITNESS, OLDER = "transformers", "transformers@4.57"
_ID = "functions.NAME:0"
_VALUE = re.compile(r"call\.\d+\.value")
_MEMO = "call_syntax"
_THOUGHTS = ("reasoning-loop", "reasoning-history")
# in which some templates take thoughts alone; looked at where others asked for them
_FIELDS = ("thinking", "reasoning")
_SHOWING = (*_CALLS, *(f"{case_id}+{form}" for case_id in _CALLS for form in ("wire", "native")), *_LAST)
CASES = (_BASIC, *_SHOWING, *ROUND_TRIPS[1:], _NAMED, *_THOUGHTS)
# Those that show whether the others are worth rendering.
FIRST = (_BASIC, *_CALLS[:3])


@dataclass(frozen=True)
class ReasoningMarks:
    """The marks around a model's thoughts.

    Attributes:
        opened: the generation prompt leaves the model inside of them.
    """

    start: str
    end: str
    opened: bool = False


@dataclass(frozen=True)
class CallSyntax:
    """How a template writes tool calls.

    Attributes:
        rendered: a call reaches the prompt at all; None where no cell tells.
        dialect: the name of the syntax; None where no known one fits.
        case: the id of the cell that shows it.
        calls: the calls as that cell has them: what stands between the user's text and the result.
        lost: case id → what the dialect's own reader does not get back of its calls, in a clause; see `read_back`.
        ids: what ids of calls must look like for the calls to be read back; empty where any will do.
        cue: what stands behind the user's text in a prompt that asks for an answer.
        reasoning: the marks around thoughts; None where the template has none.
        why: why no cell tells, in a clause.
        refused: the template loads, and no request with calls has a prompt.
        budget: it ran out of time or memory.
    """

    rendered: bool | None = None
    dialect: str | None = None
    case: str = ""
    calls: str = ""
    lost: tuple[tuple[str, str], ...] = ()
    ids: str = ""
    cue: str | None = None
    reasoning: ReasoningMarks | None = None
    why: str = ""
    refused: bool = False
    budget: bool = False

    @property
    def reads_back(self) -> bool | None:
        """Whether the dialect's reader gives the calls that were rendered; None without a dialect."""
        return None if self.dialect is None else not self.lost


def of_model(model: Model, witnesses: Sequence[str] = (_WITNESS, OLDER)) -> CallSyntax:
    """The syntax of a model as transformers renders its template: the first answer with a dialect, else the first.

    Args:
        model: the model.
        witnesses: the ids of the engines that render, in their order; the older one passes on `content: null`, without
            which some templates write no calls.

    Raises:
        TemplatelintError: what the engine runs on does not work.
    """
    first: CallSyntax | None = None
    for name in witnesses:
        found = _seen_by(engines.get(name), model)
        if found.dialect is not None:
            return found
        first = first or found
        if not speaks_of_calls(model):
            break
    return first or CallSyntax()


def _seen_by(engine: Engine, model: Model) -> CallSyntax:
    template = engine.choose(model, cases.get(_CALLS[0]).request)
    if isinstance(template, RenderError):
        return CallSyntax(why=template.message)
    wanted = [cases.get(case_id) for case_id in CASES]
    observed = matrix.observe(model, template, [engine], wanted, further=partial(accommodation.further, CASES))
    demands = accommodation.demands(observed.of(engine.name))
    return of(View.of(engine, model, template, observed, accommodation.adapted(CASES, demands) if demands else {}))


def of(view: View) -> CallSyntax:
    """The syntax as one engine's cells of `CASES` show it."""
    if _MEMO not in view.memo:
        view.memo[_MEMO] = _read(view)
    found: CallSyntax = view.memo[_MEMO]
    return found


def read_back(view: View) -> CallSyntax:
    """The syntax, and what the dialect's own reader does not get back."""
    found = of(view)
    if found.dialect is None:
        return found
    return replace(found, lost=tuple(_lost(view, found.dialect, named=bool(found.ids))))


def _read(view: View) -> CallSyntax:
    if view.load_error is not None:
        return CallSyntax(why=view.load_error.message)
    cue, reasoning = _cue(view), _reasoning(view)
    rendered: bool | None = None
    for case_id, case, text in _texts(view, _SHOWING):
        shown = _shows(text, case)
        rendered = rendered or shown
        name = _recognised(text, case) if shown else None
        if name is not None:
            ids = _ID if _wants_names(view, name, case, text) else ""
            marks = reasoning or _written_marks(view, name)
            return CallSyntax(True, name, case_id, text, ids=ids, cue=cue, reasoning=marks)
    if rendered is not None:
        return CallSyntax(rendered, cue=cue, reasoning=reasoning)
    return _refused(view, CallSyntax(cue=cue, reasoning=reasoning))


def _refused(view: View, known: CallSyntax) -> CallSyntax:
    """What is known, and why none of the calls has a prompt."""
    errors = {case_id: cell.error for case_id, cell in view.matrix.of(view.engine).items() if cell.error is not None}
    # what is over budget ends the run: nobody knows of the cases behind it
    stopped = next((error for error in errors.values() if error.out_of_budget), None)
    tried = (errors.get(view.adapted.get(case_id, case_id)) for case_id in _SHOWING)
    first = stopped or next((error for error in tried if error is not None), None)
    if first is None:
        return known
    why = f"no request with tool calls renders: {first.message}"
    never = stopped is None and not speaks_of_calls(view.model)
    return replace(known, rendered=False if never else None, why=why, refused=True, budget=stopped is not None)


def shows_call_of(case_ids: Collection[str], case_id: str, prompt: str) -> bool:
    """Whether a cell is one of these cases, be it adapted to what the template demands, and shows its calls."""
    stem, *variants = case_id.split("+")
    wanted = stem in case_ids and accommodation.VARIANTS.issuperset(variants)
    return wanted and has(prompt, cases.get(case_id), "call.1.value")


def speaks_of_calls(model: Model) -> bool:
    """Whether any template of the model looks at calls."""
    return any("tool_calls" in template.source for template in model.templates)


# ------------------------------------------------------------------------------------------------- calls


def calls_of(case: Case) -> tuple[ToolCall, ...]:
    """The calls of the first message of a case that has some, as data."""
    from templatelint.dialects.syntaxes.json_calls import call_of

    return next(
        (tuple(map(call_of, message["tool_calls"])) for message in case.request.messages if message.get("tool_calls")),
        (),
    )


def texts(view: View) -> dict[str, str]:
    """Case id → the stretch of the prompt where its calls stand, of the round trips."""
    return {case_id: text for case_id, _, text in _texts(view, ROUND_TRIPS)}


def _texts(view: View, case_ids: tuple[str, ...]) -> Iterator[tuple[str, Case, str]]:
    """Case id, case and the stretch of the prompt where its calls stand, of the cells that have a prompt.

    Where the user's text is missing nothing tells the calls from what the template says of calls to come.
    """
    for case_id in case_ids:
        if view.renders(case_id):
            case, prompt = view.case(case_id), view.prompt(case_id)
            if "user.1" not in case.marks or has(prompt, case, "user.1"):
                yield case.id, case, region(prompt, case)


def _shows(text: str, case: Case) -> bool:
    return bool(positions(text, case.marks["call.1.value"]))


def shows_all(text: str, case: Case) -> bool:
    """Whether a text has something of each call of the case that has a mark of its own."""
    values = [text_ for mark, text_ in case.marks.items() if _VALUE.fullmatch(mark)]
    return all(positions(text, value) for value in values)


def _recognised(text: str, case: Case) -> str | None:
    from templatelint.dialects.recognition import recognise

    return recognise(text, calls_of(case)[0])


def _lost(view: View, dialect: str, *, named: bool) -> Iterator[tuple[str, str]]:
    """What does not come back of the calls of the round trips; calls that the template leaves out do not count."""
    from templatelint.dialects.recognition import difference

    for case_id, case, text in _texts(view, ROUND_TRIPS):
        if not shows_all(text, case):
            continue
        shown = _with_names(text, case) if named else text
        lost = difference(dialect, shown, calls_of(case), case.request.tools or ())
        if lost:
            yield case_id, lost


def _wants_names(view: View, dialect: str, case: Case, text: str) -> bool:
    """Whether the call is read back only where its id carries the function's name."""
    from templatelint.dialects.recognition import difference

    if difference(dialect, text, calls_of(case)) is None:
        return False
    named = next((found for found in _texts(view, (_NAMED,))), None)
    return named is not None and difference(dialect, named[2], calls_of(named[1])) is None


def _with_names(text: str, case: Case) -> str:
    """The calls as they stand there where their ids carry the names, as `_NAMED` has them."""
    sent = next(message["tool_calls"] for message in case.request.messages if message.get("tool_calls"))
    for at, call in enumerate(sent):
        text = text.replace(call["id"], f"functions.{call['function']['name']}:{at}")
    return text


# ---------------------------------------------------------------------------------------------- thoughts


def _cue(view: View) -> str | None:
    """What follows the user's text of plain chat."""
    if not view.renders(_BASIC):
        return None
    prompt = view.prompt(_BASIC)
    user = stretch(prompt, view.case(_BASIC), "user.1")
    return None if user is None else prompt[user.end :]


def _reasoning(view: View) -> ReasoningMarks | None:
    """The marks that the cue opens, those that the history shows around a thought, or those of the system text."""
    cue = _cue(view) or ""
    for start, end in THOUGHT:
        at = cue.rfind(start)
        if at >= 0:
            return ReasoningMarks(start, end, opened=end not in cue[at:])
    for case_id in (*_THOUGHTS, *(f"{case_id}+{field}" for field in _FIELDS for case_id in _THOUGHTS)):
        if not view.renders(case_id) or not has(view.prompt(case_id), view.case(case_id), "reasoning.1"):
            continue
        prompt = view.prompt(case_id)
        thought = stretch(prompt, view.case(case_id), "reasoning.1")
        if thought is None:
            continue
        before, behind = prompt[: thought.start].rstrip(), prompt[thought.end :]
        found = next(((start, end) for start, end in THOUGHT if before.endswith(start) and end in behind), None)
        if found is not None:
            return ReasoningMarks(*found)
    return _told_to_write(view)


def _told_to_write(view: View) -> ReasoningMarks | None:
    """The marks that the template tells the model of in front of what the user says, where nobody else says a word."""
    if not view.renders(_BASIC):
        return None
    prompt = view.prompt(_BASIC)
    user = stretch(prompt, view.case(_BASIC), "user.1")
    named = named_thought(prompt[: user.start]) if user is not None else None
    return ReasoningMarks(*named) if named is not None else None


def _written_marks(view: View, dialect: str) -> ReasoningMarks | None:
    """The dialect's own marks, where the template writes them: no cell shows what a request has to turn on first."""
    from templatelint import dialects

    source = view.template.source
    pairs = [pair for pair in dialects.get(dialect).reasoning if all(mark in source for mark in pair)]
    if not pairs:
        return None
    text = "\0".join(written(view))
    return next((ReasoningMarks(*pair) for pair in pairs if all(mark in text for mark in pair)), None)


def written(view: View) -> Iterator[str]:
    """The texts of the template's own that go into a prompt: not those that it looks for or cuts off."""
    from jinja2 import nodes

    from templatelint.syntax import walk

    try:
        root = view.syntax.root
    except NoText:
        return
    pending: list[nodes.Node] = []
    for node in walk(root):
        if isinstance(node, nodes.Output):
            pending += node.nodes
        elif isinstance(node, nodes.Assign):
            pending.append(node.node)
    while pending:
        node = pending.pop()
        if isinstance(node, nodes.TemplateData):
            yield node.data
        elif isinstance(node, nodes.Const) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, (nodes.Add, nodes.Concat, nodes.CondExpr)):
            pending += node.iter_child_nodes(exclude=("test",))

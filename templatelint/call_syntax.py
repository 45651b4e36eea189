"""What one engine made of calls and thoughts → the dialect that the template writes, and whether it reads back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from templatelint import accommodation, cases, engines, matrix
from templatelint.model import RenderError
from templatelint.reading import THOUGHT, has, positions, region, stretch
from templatelint.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.dialects.reply import ToolCall
    from templatelint.model import Case, Model

_BASIC = "chat-basic"
_CALLS = ("tool-call-empty", "tool-call-text", "tool-call", "tool-call-absent")
# Calls that show whether arguments of every type, and several calls, survive the way there and back.
ROUND_TRIPS = ("tool-call-empty", "tool-arguments-typed", "tool-parallel")
_MEMO = "call_syntax"
_THOUGHTS = ("reasoning-loop", "reasoning-history")
CASES = (
    _BASIC,
    *_CALLS,
    *(f"{case_id}+{form}" for case_id in _CALLS for form in ("wire", "native")),
    *ROUND_TRIPS[1:],
    *_THOUGHTS,
)


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
        lost: case id → what the dialect's own reader does not get back of its calls, in a clause.
        cue: what stands behind the user's text in a prompt that asks for an answer.
        reasoning: the marks around thoughts; None where the template has none.
        why: why no cell tells.
    """

    rendered: bool | None = None
    dialect: str | None = None
    case: str = ""
    calls: str = ""
    lost: tuple[tuple[str, str], ...] = ()
    cue: str | None = None
    reasoning: ReasoningMarks | None = None
    why: str = ""

    @property
    def reads_back(self) -> bool | None:
        """Whether the dialect's reader gives the calls that were rendered; None without a dialect."""
        return None if self.dialect is None else not self.lost


def of_model(model: Model) -> CallSyntax:
    """The syntax of a model as transformers renders its template.

    Raises:
        TemplatelintError: what the engine runs on does not work.
    """
    engine = engines.get("transformers")
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


def _read(view: View) -> CallSyntax:
    if view.load_error is not None:
        return CallSyntax(why=view.load_error.message)
    cue, reasoning = _cue(view), _reasoning(view)
    rendered: bool | None = None
    for case_id, case, text in _texts(view, CASES[1 : CASES.index(ROUND_TRIPS[1])]):
        rendered = rendered or _shows(text, case)
        name = _recognised(text, case)
        if name is not None:
            return CallSyntax(True, name, case_id, text, tuple(_lost(view, name)), cue, reasoning)
    return CallSyntax(rendered, cue=cue, reasoning=reasoning)


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
    """Case id, case and the stretch of the prompt where its calls stand, of the cells that have a prompt."""
    for case_id in case_ids:
        if view.renders(case_id):
            case = view.case(case_id)
            yield case.id, case, region(view.prompt(case_id), case)


def _shows(text: str, case: Case) -> bool:
    return bool(positions(text, case.marks["call.1.value"]))


def _recognised(text: str, case: Case) -> str | None:
    from templatelint.dialects.recognition import recognise

    return recognise(text, calls_of(case)[0])


def _lost(view: View, dialect: str) -> Iterator[tuple[str, str]]:
    """What does not come back of the calls of the round trips."""
    from templatelint.dialects.recognition import difference

    for case_id, case, text in _texts(view, ROUND_TRIPS):
        lost = difference(dialect, text, calls_of(case), case.request.tools or ())
        if lost:
            yield case_id, lost


# ---------------------------------------------------------------------------------------------- thoughts


def _cue(view: View) -> str | None:
    """What follows the user's text of plain chat."""
    if not view.renders(_BASIC):
        return None
    prompt = view.prompt(_BASIC)
    user = stretch(prompt, view.case(_BASIC), "user.1")
    return None if user is None else prompt[user.end :]


def _reasoning(view: View) -> ReasoningMarks | None:
    """The marks that the cue opens, or those that the history shows around a thought."""
    cue = _cue(view) or ""
    for start, end in THOUGHT:
        at = cue.rfind(start)
        if at >= 0:
            return ReasoningMarks(start, end, opened=end not in cue[at:])
    for case_id in _THOUGHTS:
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
    return None

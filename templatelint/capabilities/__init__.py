"""What one engine made of the cases → what a client can rely on: facts, one word each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from templatelint.capabilities import content, prompts, reasoning, roles, tools
from templatelint.capabilities.cells import Cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from templatelint.capabilities.cells import Word
    from templatelint.view import View

_CHAT = "chat-basic"
# The words that mean that a client may do so, if not always.
_GOOD = frozenset({"shown", "some", "with system only", "need a name", "fine", "kept"})


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one engine does with a model's templates; None is unknown: a cell that would tell has no answer.

    Attributes:
        loads: whether the engine loads the template; None where it has none to load.
        why: why it does not, or why nothing or not everything is known; empty otherwise.
        chat: plain chat is `fine`, `refused`, makes the template raise (`raises`), or takes more time or room than we
            give it (`over budget`).
        prompts: whether any request of those tried gives a prompt.
        system: a leading system message is `honoured`, `merged` (into a user turn), `dropped` or `refused`.
        system_with_tools: the same where tools are offered.
        later_system: a further system message is `kept` where it stands, `merged` into a user turn, `moved`, `replaces`
            the first one, is `dropped` or `refused`.
        developer: a developer message in place of the system message; words of `system`.
        consecutive_users: two user messages in a row are `kept`, `dropped` (one of them) or `refused`.
        consecutive_assistants: the same for the assistant.
        user_after_tool: the same for a user message straight after a tool result.
        assistant_first: a history that starts with the assistant; the same words.
        no_user: a history without any user message; the same words.
        tools: definitions are `shown`, shown `with system only`, `some` of them or sometimes, `dropped`, or `refused`.
        tool_calls: calls of the history are `shown`, `partly` shown, `dropped` or `refused`.
        parallel_tool_calls: of two calls in a turn both are `shown`, the `first only`, none (`dropped`), or they are
            `refused`.
        tool_results: `shown`, `dropped`, `refused`, or refused without the function's name (`need a name`).
        history_without_tools: calls and results where no tools are sent again: `kept`, `dropped` or `refused`.
        call_ids: `any` will do, or they must be of `nine` letters and digits, or carry the `name`.
        call_ids_shown: whether the model sees them.
        object_arguments: arguments as a mapping are `fine`, `double-encoded`, printed as a `python` dict, `lost`, the
            template `raises`, or the engine has `rejected` them before rendering; what becomes of the calls where those
            do not arrive.
        string_arguments: the same for arguments as a JSON string.
        null_content: a call with content null is `fine`, its content is printed as a `word`, the call is `lost`, or
            the template `raises`.
        absent_content: the same without a content member.
        text_with_calls: text beside calls is `kept`, `dropped`, the calls are `lost`, or the template `raises`.
        string_content: content as a string is `fine`, `lost`, or the template `raises`.
        typed_content: content as a list of text parts is `fine`, `printed` as data, `lost`, of several parts the
            `first only` arrives, or the template `raises`.
        typed_tool_results: the same for results of tools.
        reasoning: reasoning of earlier turns is `kept`, of the running tool loop alone (`last-turn`), or `dropped`.
        reasoning_fields: the message fields that it is taken from.
        thinking_switch: the template variables that turn thinking on and off.
        thinking_default: what holds where the first of them is not sent: `on`, `off`, or neither of the two (None).
        reasoning_effort: whether `reasoning_effort` changes the prompt.
        generation_prompt: what `add_generation_prompt` adds; of an engine that always asks for it what opens the
            answer, where the history opens answers alike.
        thought: the prompt `opens` a stretch of thought, opens and `closes` it, or neither (`none`).
        bos: who writes BOS: the `template`, the `engine`, nobody (`none`), or it is `doubled`.
        errors: fact → what the engine or the template says where it refuses or raises.
    """

    loads: bool | None
    why: str = ""
    chat: Word = None
    prompts: bool | None = None
    system: Word = None
    system_with_tools: Word = None
    later_system: Word = None
    developer: Word = None
    consecutive_users: Word = None
    consecutive_assistants: Word = None
    user_after_tool: Word = None
    assistant_first: Word = None
    no_user: Word = None
    tools: Word = None
    tool_calls: Word = None
    parallel_tool_calls: Word = None
    tool_results: Word = None
    history_without_tools: Word = None
    call_ids: Word = None
    call_ids_shown: bool | None = None
    object_arguments: Word = None
    string_arguments: Word = None
    null_content: Word = None
    absent_content: Word = None
    text_with_calls: Word = None
    string_content: Word = None
    typed_content: Word = None
    typed_tool_results: Word = None
    reasoning: Word = None
    reasoning_fields: tuple[str, ...] | None = None
    thinking_switch: tuple[str, ...] | None = None
    thinking_default: Word = None
    reasoning_effort: bool | None = None
    generation_prompt: str | None = None
    thought: Word = None
    bos: Word = None
    errors: Mapping[str, str] = field(default_factory=dict)


def able(word: Word) -> bool | None:
    """Whether a word means that a client may do so; None where it is not known."""
    return None if word is None else word in _GOOD


def plan(sources: Iterable[str]) -> tuple[str, ...]:
    """Ids of the cases that answer every question about templates of these sources."""
    text = "\n".join(sources)
    groups = (roles.CASES, tools.CASES, content.CASES, prompts.CASES, reasoning.cases(text))
    return tuple(dict.fromkeys(case_id for group in groups for case_id in group))


def adapted(view: View) -> Mapping[str, str]:
    """The cases that need another variant where their calls are to arrive: id → id with what the template demands.

    Args:
        view: one engine's cells of the cases of `plan`, adapted to what the template demands of content and ids.
    """
    variants = tools.demands(Cells(view))
    carriers = (*roles.CARRIERS, *tools.CARRIERS, *content.CARRIERS, *reasoning.carriers(view.matrix.cases))
    return {case_id: _with(view.case(case_id).id, variants) for case_id in carriers} if variants else {}


def _with(case_id: str, variants: Iterable[str]) -> str:
    """The id with these variants before its own: content that is put in is then given the shape that they ask for."""
    stem, *own = case_id.split("+")
    return "+".join((stem, *variants, *own))


def read(view: View, *, adds_bos: bool | None = False) -> Capabilities:
    """The facts of one engine.

    Args:
        view: that engine's cells of the cases of `plan`, adapted to what the template demands.
        adds_bos: whether the engine puts BOS before the prompt; None where that is not known.
    """
    error = view.load_error
    if error is not None:
        place = "" if error.line is None else f" (line {error.line})"
        return Capabilities(None if error.out_of_budget else False, f"{error.message}{place}")
    reason = view.matrix.skipped.get((_CHAT, view.engine), "")
    if not any(engine == view.engine for _, engine in view.matrix.cells):
        return Capabilities(None, reason)
    cells = Cells(view)
    facts = roles.facts(cells) | tools.facts(cells)
    facts |= content.facts(cells, facts) | reasoning.facts(cells) | prompts.facts(cells, adds_bos=adds_bos)
    if not reason and facts["chat"] != "over budget":
        reason = next((error.message for _, error in view.failures() if error.out_of_budget), "")
    return Capabilities(True, reason, **facts, errors=cells.errors)

"""What a client may rely on: each thing's name, need and evidence, and what can be done where it is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from templatelint import cards, checks
from templatelint.model import NEEDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from templatelint.model import Card

# The needs that facts of single conversations tell nothing of.
_ELSEWHERE = frozenset({"prefix-cache", "training"})
JUDGED = tuple(need for need in NEEDS if need not in _ELSEWHERE)
# Rules that find in prompts of plain chat what no word of a capability says.
_OF_CHAT = ("leading-mark", "message-order-changed", "turn-unterminated", "generation-prompt-missing")
# The parts of a template's whole answer that lack together where it does not load, or refuses every request.
LOADS, CHAT, EARLIER = "template", "chat", "earlier-turns"


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
# words of the fact `tools` with which definitions reach the model, beside a system message at least
OFFERED = frozenset({"shown", "some", "with system only"})
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
        EARLIER,
        "chat",
        "earlier turns",
        case="chat-turns",
        marks=("user.1", "assistant.1", "user.2"),
        within=(CHAT, "string-content"),
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
        "tool-schemas",
        "tools",
        "tool definitions of other legal forms",
        case="tools-offer",
        marks=("tools.1.name",),
        within=("tools",),
        cure="give each tool a description and parameters, and each parameter one type and a description",
    ),
    Subject(
        "texts-with-tools",
        "tools",
        "texts of users beside tools",
        case="tools-offer",
        marks=("user.1",),
        within=("string-content", "tools"),
        cure="serve it with a template of this model that prints them",
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
        "argument-values",
        "tools",
        "arguments that are no strings",
        case="tool-arguments-types",
        marks=("call.1.key.6",),
        within=(*_NO_TOOLS, "arguments"),
        cure="read arguments of replies as Python literals too: models copy what they see",
    ),
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
        cases=("reasoning-history",),
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
        marks=("cue",),
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
        (EARLIER,),
        "join messages of one role before sending",
    ),
    Subject(
        "consecutive-assistants",
        "agent",
        "two assistant messages in a row",
        "consecutive_assistants",
        "chat-two-assistants",
        ("assistant.1", "assistant.2"),
        (EARLIER, "consecutive-users"),
        "join messages of one role before sending",
    ),
    Subject(
        "user-after-tool",
        "agent",
        "user messages straight after a tool result",
        "user_after_tool",
        "tool-interrupted",
        ("tool.1", "user.2"),
        (*_NO_TOOLS, "tool-results", EARLIER, "consecutive-users"),
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


def subjects(needs: AbstractSet[str]) -> tuple[Subject, ...]:
    """What a client with these needs relies on; where no capability tells of a need, its rules do."""
    return (*(subject for subject in SUBJECTS if subject.need in needs), *map(of_rule, rules(needs)))


def rules(needs: AbstractSet[str]) -> list[Card]:
    """The rules that tell of what no capability does: whole needs, and how prompts of plain chat begin and end."""
    told = needs & _ELSEWHERE
    names = _OF_CHAT if CHAT in needs else ()
    return [
        card
        for card in cards.all_cards().values()
        if card.name in checks.names() and (card.need in told or card.name in names)
    ]


def of_rule(card: Card) -> Subject:
    """A rule as a thing to rely on: that it finds nothing."""
    case = next(iter(checks.load(card.name).CASES), "")
    return Subject(card.name, card.need, f"{card.id} {card.name}:", case=case, marks=("user.1",))

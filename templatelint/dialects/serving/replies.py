"""How a model replies where a request says nothing of thinking, and a parser of thoughts → what the client gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.dialects.serving.parsers import Marks, ReasoningParser

# bare: the reply is an answer; closed: it is, and the prompt closes the thoughts; opened: the prompt opens them, the
# reply ends them; marked: the reply has both marks; either: bare or marked, nothing tells which
Habit = Literal["bare", "closed", "opened", "marked", "either"]
# what the content holds: the answer; thoughts too, with their marks; nothing; or there is no reply
Content = Literal["clean", "with thoughts", "empty", "fails"]
_KNOWN: Mapping[Habit, tuple[Habit, ...]] = {"either": ("bare", "marked")}
_ANSWERS = frozenset[Habit](("bare", "closed"))


@dataclass(frozen=True, slots=True)
class Replying:
    """How a model replies where a request says nothing of thinking.

    Attributes:
        habit: what its replies look like.
        marks: those around its thoughts; None where it has none.
        source: the template's text: SGLang looks in it for how thinking is turned on.
    """

    habit: Habit = "bare"
    marks: Marks | None = None
    source: str = ""

    @property
    def thinking(self) -> Replying:
        """The same model where it thinks; where the prompt closes thoughts, a switch makes it open them."""
        habit: Mapping[Habit, Habit] = {"closed": "opened", "bare": "marked", "either": "marked"}
        return Replying(habit.get(self.habit, self.habit), self.marks, self.source)


def contents(engine: str, parser: ReasoningParser | None, replying: Replying) -> tuple[Content, ...]:
    """What the content of ordinary replies may be; two answers where it is not known how the model replies.

    Args:
        engine: the id of an engine that is told its parsers.
        parser: the parser of thoughts that it runs with; None where it runs with none.
        replying: how the model replies.
    """
    habits = _KNOWN.get(replying.habit, (replying.habit,))
    return tuple(dict.fromkeys(_content(engine, parser, habit, replying) for habit in habits))


def _content(engine: str, parser: ReasoningParser | None, habit: Habit, replying: Replying) -> Content:
    if parser is None or not parser.splits:
        return "clean" if habit in _ANSWERS else "with thoughts"
    own = fits(parser, replying.marks)
    if parser.others and not own:
        return parser.others
    if engine == "sglang":
        return _sglang(parser, habit, replying, own=own)
    return _vllm(parser, habit, replying, own=own)


def fits(parser: ReasoningParser, marks: Marks | None) -> bool:
    """Whether the parser looks for these marks."""
    return marks is not None and (parser.start.strip(), parser.end.strip()) == (marks.start.strip(), marks.end.strip())


def _vllm(parser: ReasoningParser, habit: Habit, replying: Replying, *, own: bool) -> Content:
    """A parser that expects thoughts takes all for thoughts in which it finds no closing mark."""
    if habit in _ANSWERS or not own:
        if parser.bare == "thoughts":
            return "clean" if own and habit == "closed" and parser.heeds_prompt else "empty"
        return "clean" if habit in _ANSWERS else "with thoughts"
    if parser.idle or parser.frame not in replying.source:
        return "with thoughts"
    told = parser.default or not parser.switch
    return "clean" if habit == "marked" or (parser.opened != "reply" and told) else "with thoughts"


def _sglang(parser: ReasoningParser, habit: Habit, replying: Replying, *, own: bool) -> Content:
    """The server tells the parser whether to expect thoughts; those that look for an opening mark do not listen."""
    expecting = _expects(parser, replying.source)
    # ling3 hands thoughts without an answer on as the answer, though not in streams: it counts as the others do
    takes_all = parser.opened != "reply" and expecting
    if habit in _ANSWERS:
        return "empty" if takes_all else "clean"
    if not own:
        return "empty" if takes_all else "with thoughts"
    return "clean" if habit == "marked" or (parser.opened != "reply" and expecting) else "with thoughts"


def _expects(parser: ReasoningParser, source: str) -> bool:
    """Whether SGLang expects thoughts where the request says nothing: by the template's text, else by the parser."""
    from templatelint.dialects.serving.inferred import thinking

    if not parser.switch and parser.bare == "thoughts":
        return True
    found = thinking(source)
    if found is None or (parser.alone and found != "always"):
        return parser.default
    if parser.switch == "reasoning_effort" and parser.name == "hunyuan":
        return found in {"always", "hunyuan"}
    return found in {"always", "on"}

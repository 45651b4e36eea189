"""What is known of reasoning → what becomes of thoughts, in the history and in replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.capabilities.cells import Cells
from templatelint.capabilities.reasoning import switched
from templatelint.capabilities.replying import replying
from templatelint.checks._reasoning import SWITCHES
from templatelint.dialects.serving import parsers
from templatelint.dialects.serving.replies import contents, fits
from templatelint.outcomes.outcome import UNKNOWN, Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from templatelint.capabilities import Capabilities
    from templatelint.dialects.serving.parsers import Marks, ReasoningParser
    from templatelint.dialects.serving.replies import Content, Replying
    from templatelint.inspection import Inspection
    from templatelint.view import View

# Cases beside those of `inspect`: what templates make of the switches that most clients send, read or not.
CASES = tuple(f"chat-basic+{name}={value}" for name in ("enable_thinking", "thinking") for value in SWITCHES[name][0])


def told(known: Inspection, engine: str, parser: str) -> Mapping[str, Outcome]:
    """By subject, with the parser of thoughts that the engine runs with."""
    facts = known.capabilities[engine]
    return {
        "reasoning-field": _field(facts),
        "thinking-switch": _switch(facts, known.views[engine]),
        "thinking-default": _default(facts),
        **_thoughts(known, engine, parser),
    }


def _field(facts: Capabilities) -> Outcome:
    if not facts.reasoning_fields:
        return UNKNOWN
    if "reasoning_content" in facts.reasoning_fields:
        return Outcome("works", "reasoning_content", "are taken")
    other = facts.reasoning_fields[0]
    return Outcome("broken", other, f"never reach the model: the template reads `{other}`")


def _switch(facts: Capabilities, view: View) -> Outcome:
    if facts.thinking_switch is None:
        return UNKNOWN
    if not facts.thinking_switch:
        return Outcome("broken", "none", "have no effect")
    names = " or ".join(f"`{name}`" for name in facts.thinking_switch)
    shown = switched(Cells(view), facts.thinking_switch[0])
    return Outcome("works", ", ".join(facts.thinking_switch), f"work by {names}", shown)


def _thoughts(known: Inspection, engine: str, parser: str) -> Mapping[str, Outcome]:
    """What becomes of ordinary answers and of thoughts, on engines that are told a parser for these."""
    if engine not in parsers.LAUNCHED:
        return {"answers": UNKNOWN, "reply-thoughts": UNKNOWN}
    marks, facts = known.syntax[engine].reasoning, known.capabilities[engine]
    plain = replying(facts, marks, known.views[engine])
    runs = parsers.named_reasoning(engine, parser) if parser else None
    return {
        "answers": _answers(contents(engine, runs, plain), plain, runs),
        "reply-thoughts": _apart(engine, runs, plain, facts.thinking_switch or ()),
    }


def _answers(found: tuple[Content, ...], plain: Replying, runs: ReasoningParser | None) -> Outcome:
    """The outcome; where it is not known whether the model thinks, of a parser for its marks that where it does."""
    if len(found) > 1 and not (plain.marks is not None and found[-1] == "clean"):
        return UNKNOWN
    word = found[-1]
    if plain.habit == "either" and plain.marks is None:
        return UNKNOWN if word == "with thoughts" else _ANSWERS[word]
    if word != "with thoughts":
        return _ANSWERS[word]
    return Outcome("degraded", word, f"hold the thoughts {_where(plain)}: {_why(plain, runs)}")


def _apart(engine: str, runs: ReasoningParser | None, plain: Replying, switch: Collection[str]) -> Outcome:
    """What becomes of thoughts; where the model has none by default, of those that a switch brings."""
    marks = plain.marks
    asleep = plain.habit in {"bare", "closed"}
    if marks is None or (asleep and not switch):
        return UNKNOWN
    if runs is None:
        return _in_text(plain, runs)
    if runs.others and not fits(runs, marks):
        return _REPLIES_LOST[runs.others]
    if asleep and fits(runs, marks) and runs.splits:
        # the request that turns them on may tell the parser too
        told = runs.opened != "reply" or plain.habit == "bare"
        heard = runs.default or bool({runs.switch, runs.also}.intersection(switch)) or engine in _TOLD_BY_TEMPLATE
        return _APART if told and heard else _in_text(plain, runs)
    (content,) = contents(engine, runs, plain.thinking)
    return {"clean": _APART, "empty": _REPLIES_LOST["empty"]}.get(content) or _in_text(plain, runs)


def _in_text(plain: Replying, runs: ReasoningParser | None) -> Outcome:
    return Outcome("broken", "in the text", f"stay in the text: {_why(plain, runs)}")


def _where(plain: Replying) -> str:
    marks = plain.marks
    if marks is None:
        return ""
    return f"up to {marks.end.strip()}" if plain.habit == "opened" else f"between {_pair(marks)}"


def _why(plain: Replying, runs: ReasoningParser | None) -> str:
    if runs is None or plain.marks is None:
        return "no reasoning parser takes them out"
    if not fits(runs, plain.marks):
        return f"the reasoning parser does not look for {_pair(plain.marks)}"
    return "the reasoning parser looks for none unless the request turns them on"


def _pair(marks: Marks) -> str:
    return f"{marks.start.strip()} … {marks.end.strip()}"


_CLEAN = Outcome("works", "clean", "come without thoughts")
_APART = Outcome("works", "apart", "are taken out of the answer")
_FAILS = "the reasoning parser is for gpt-oss alone"
_ANSWERS: Mapping[Content, Outcome] = {
    "clean": _CLEAN,
    "empty": Outcome("broken", "empty", "have no content: the reasoning parser takes what has no marks for thoughts"),
    "fails": Outcome("broken", "fail", f"do not come, the request fails: {_FAILS}"),
}
_REPLIES_LOST = {
    "empty": Outcome(
        "broken", "with the answer", "take the answer with them: the reasoning parser finds no end of them"
    ),
    "fails": Outcome("broken", "fail", f"do not come, the request fails: {_FAILS}"),
}
# SGLang goes by the switch that it finds in the template, whichever the parser
_TOLD_BY_TEMPLATE = frozenset({"sglang"})


def _default(facts: Capabilities) -> Outcome:
    """Whether replies begin with thoughts where nothing is said of it."""
    word = facts.thinking_default
    return Outcome("works", word, _DEFAULT[word]) if word else UNKNOWN


_DEFAULT = {"on": "begin with thoughts", "off": "come without thoughts"}

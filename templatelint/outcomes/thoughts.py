"""What is known of reasoning → what becomes of thoughts, in the history and in replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.dialects.serving import parsers
from templatelint.outcomes.outcome import UNKNOWN, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.capabilities import Capabilities
    from templatelint.inspection import Inspection


def told(known: Inspection, engine: str, parser: str) -> Mapping[str, Outcome]:
    """By subject, with the parser of thoughts that the engine runs with."""
    facts = known.capabilities[engine]
    return {
        "reasoning-field": _field(facts),
        "thinking-switch": _switch(facts),
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


def _default(facts: Capabilities) -> Outcome:
    """Whether replies begin with thoughts where nothing is said of it."""
    word = facts.thinking_default
    return Outcome("works", word, _DEFAULT[word]) if word else UNKNOWN


_DEFAULT = {"on": "begin with thoughts", "off": "come without thoughts"}

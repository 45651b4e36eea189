"""What a user can do about a loss: what the client sends, with which flags the engine is launched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.outcomes import BY_ID, Launch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.diff.sides import Side
    from templatelint.outcomes import Outcome, Subject
    from templatelint.predictions import Verdict

# engine → how it is told to render with another template than the model's
OVERRIDE = {
    "llama.cpp": "--chat-template-file FILE",
    "vllm": "--chat-template FILE",
    "sglang": "--chat-template FILE",
    "transformers": "chat_template=TEXT",
    "mlx-lm": "--chat-template TEXT",
}


def cure(subject: Subject, verdict: Verdict, b: Side, started: Launch) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What the user can do, and the flags of the engine that it takes."""
    if verdict == "improves" or (verdict == "changes" and subject.id not in _TOLD_OF):
        return "", ()
    if subject.id not in READ_BY_PARSERS:
        return subject.cure, override(b.engine) if subject.template else ()
    return _cure_of_parsers(subject, b, started)


def override(engine: str) -> tuple[tuple[str, str], ...]:
    """The flag with which an engine is given another template."""
    return ((engine, OVERRIDE[engine]),) if engine in OVERRIDE else ()


def _cure_of_parsers(subject: Subject, b: Side, started: Launch) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The flags that mend it; where none do, what the client has to do, and without which parser."""
    fitting = b.fitting
    if fitting != started and b.outcomes(fitting, frozenset())[subject.id].grade == "works":
        own = outcomes.arguments(b.known.inspection, b.engine)
        if own:
            return "launch with the parsers that fit", ((b.engine, " ".join(own)),)
        return "launch without these parsers", ((b.engine, " ".join(_words(started))),)
    if subject.id in _OF_CALLS:
        return _calls_by_hand(subject, b, started)
    return _without(Launch(thoughts=started.thoughts), subject.cure, b)


def _calls_by_hand(subject: Subject, b: Side, started: Launch) -> tuple[str, tuple[tuple[str, str], ...]]:
    """How a client gets at calls that no parser reads; where one call is read, two of them are asked for in turn."""
    if subject.id != _ONE_CALL and b.outcomes(started, frozenset())[_ONE_CALL].grade == "works":
        return subject.cure, ()
    own = BY_ID[_ONE_CALL].cure
    if b.engine in _WANTS_PARSER:
        return f'{own}, of requests with `tool_choice: "none"`: no parser gets them back', ()
    return _without(Launch(calls=started.calls), f"{own}: no parser gets them back", b)


def _without(runs: Launch, cure: str, b: Side) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The cure; where parsers run that are in its way, without them."""
    if not any(runs):
        return cure, ()
    return f"launch without this parser and {cure}", ((b.engine, " ".join(_words(runs))),)


def possible(subject: Subject, cure: str, after: Mapping[str, Outcome]) -> str:
    """The cure, or another where B does not do what it takes."""
    takes, instead = _TAKES.get(subject.id, ("", ""))
    return instead if cure and takes and after[takes].grade == "broken" else cure


# subject → what its cure takes of a model, and the cure where that is lost
_AT_THE_START = "put the text at the start of the first user message"
_TAKES = {
    "developer": ("system", _AT_THE_START),
    "later-system": ("consecutive-users", "add them to the first system message, or to the user message behind"),
    "tools-again": ("tool-calls", "tell of calls and results in user and assistant messages"),
    "system-with-tools": ("system", _AT_THE_START),
}
# what the parsers decide that an engine is launched with
READ_BY_PARSERS = frozenset({"reply-calls", "reply-parallel-calls", "answers", "reply-thoughts"})
_ONE_CALL = "reply-calls"
_OF_CALLS = frozenset({_ONE_CALL, "reply-parallel-calls"})
# engines that answer requests with tools only with a parser of calls, unless these forbid calls: then none runs
_WANTS_PARSER = frozenset({"vllm"})
# of which a client has to know although nothing is lost
_TOLD_OF = frozenset({"call-dialect", "thinking-default"})


def _words(started: Launch) -> Iterator[str]:
    if started.calls:
        yield f"--tool-call-parser {started.calls}"
    if started.thoughts:
        yield f"--reasoning-parser {started.thoughts}"

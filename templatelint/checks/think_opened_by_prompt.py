"""TL405: the prompt opens, or closes, the thoughts that the reply begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import call_syntax
from templatelint.checks._reasoning import (
    SHOWING,
    SHOWING_CALLS,
    concerned,
    evidence,
    family,
    switch_cells,
    switches_in,
    tail,
)
from templatelint.model import Fault
from templatelint.reading import THOUGHT
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.dialects.serving.replies import Habit
    from templatelint.view import View

_BASIC = "chat-basic"
CASES, CALL_CASES = SHOWING, SHOWING_CALLS
_LLAMA_CPP, _MLX_LM = "llama.cpp", "mlx-lm"
# mlx-lm 0.32.2 begins a reply inside of thoughts where the prompt does, with these marks in the vocabulary
_KNOWN_TO_MLX_LM = frozenset({"<think>", "<longcat_think>"})
# engines whose reading of thoughts is not known
_UNKNOWN = frozenset({"ollama", "lmstudio", "mistral.rs"})
_FLAGGED = ("vllm", "sglang")


def cases_for(source: str) -> Iterator[str]:
    """The switches, which tell a parser whether to expect thoughts."""
    if concerned(source):
        yield from switch_cells(source)


def check(view: View) -> Iterator[Fault]:
    """Look at what stands behind the user's text, on engines that do not see to it by themselves."""
    if not concerned(view.template.source):
        return
    found = _left(tail(view))
    if found is None:
        return
    start, end, opened = found
    engine = family(view.engine)
    if engine in _UNKNOWN:
        raise NoText(_BASIC, f"how {engine} reads thoughts is not known")
    if engine == _LLAMA_CPP:
        if opened and not view.matrix.splits.get(view.engine, True):
            yield _stays(view, start, end)
        return
    if engine == _MLX_LM and start in _KNOWN_TO_MLX_LM:
        return
    yield _opened(view, start, end) if opened else _closed(view, start, end)


def _left(text: str) -> tuple[str, str, bool] | None:
    """The marks that the end of a prompt has, and whether it leaves the model between them."""
    for start, end in THOUGHT:
        at = text.rfind(start)
        if at >= 0:
            return start, end, end not in text[at:]
    return None


def _opened(view: View, start: str, end: str) -> Fault:
    flags = _flags(view, start, end, "opened")
    return Fault(
        message=f"the generation prompt ends inside a think block: replies have {end} and no {start}",
        help=f"{flags}who reads the text itself puts {start} before it",
        cases=evidence(view, _BASIC),
        cause="opened",
        span=view.mention(start),
    )


def _closed(view: View, start: str, end: str) -> Fault:
    flags = _flags(view, start, end, "closed")
    return Fault(
        message=f"the generation prompt ends with a closed think block: replies come without {start} and {end}",
        help=f"{flags}a parser that expects thoughts would take the answer for them" if flags else "expect no thoughts",
        cases=evidence(view, _BASIC),
        cause="closed",
        span=view.mention(start),
    )


def _stays(view: View, start: str, end: str) -> Fault:
    return Fault(
        message=f"the generation prompt ends inside a think block, and {view.engine} finds no thoughts in the template:"
        f" they stay in the content of replies, with {end}",
        help=f"print `message.reasoning_content` between {start} and {end} in the history: that is where it looks",
        cases=evidence(view, _BASIC),
        cause="not split",
        span=view.mention(start),
        impact="degrades",
    )


def _flags(view: View, start: str, end: str, habit: Habit) -> str:
    """The flags with which engines that are told a parser read such replies, as the start of a sentence."""
    from templatelint.dialects.serving.parsers import for_reasoning
    from templatelint.dialects.serving.replies import Replying

    marks = call_syntax.ReasoningMarks(start, end, opened=habit == "opened")
    dialect = call_syntax.of(view).dialect
    switch = next((name for name, *_ in switches_in(view.template.source)), "")
    replying = Replying(habit, marks, view.template.source)
    told = [
        f"{engine} with `--reasoning-parser {names[0]}`"
        for engine in _FLAGGED
        if (names := for_reasoning(engine, marks, dialect=dialect, switch=switch, replying=replying))
    ]
    return f"launch {' and '.join(told)}; " if told else ""

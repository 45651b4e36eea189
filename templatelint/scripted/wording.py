"""A template → how a model of it says things: calls, thoughts, answers, as llama.cpp prints and reads them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from templatelint import bounded, dialects, engines
from templatelint.model import RenderError, Request
from templatelint.reading import MARKER
from templatelint.scripted import scripts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.dialects.reply import ToolCall
    from templatelint.engines.llamacpp.loaded import LoadedTemplate
    from templatelint.model import Model, Template, Tokenizer

_ENGINE = "llama.cpp"
_LIMITS = bounded.Limits(seconds=10.0, wall=40.0)
_TEXT, _FACT = "text", "fact"


@dataclass(frozen=True, slots=True)
class Wording:
    """How a model of the template says things.

    Attributes:
        texts: script → its whole text, of those that depend on the template.
        prefix: what stands before plain text: it closes what the generation prompt opens.
        thought_end: what ends thoughts.
        between: what has to stand between a text and a call in one reply; mostly nothing.
        result: what stands before the result of a tool, and nowhere else; empty where nothing does.
        bare_answer: the prefix does not stand before what follows a result.
        unread: scripts of calls that our model of llama.cpp does not read back.
        markers: what looks like special tokens in prompts.
        dialect: of the calls; `none` where there are none.
        why: why nothing is known of the template, in a clause; empty where something is.
        served: llama-server starts with the template, as far as we know.
    """

    texts: Mapping[str, str]
    prefix: str = ""
    thought_end: str = ""
    between: str = ""
    result: str = ""
    bare_answer: bool = False
    unread: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    dialect: str = scripts.NO_DIALECT
    why: str = ""
    served: bool = True


def of(model: Model, dialect: str | None, further: Mapping[str, Sequence[ToolCall]]) -> Wording:
    """How a model with these templates says things.

    Args:
        model: the model.
        dialect: the name of the dialect of calls that is wanted instead of the template's own.
        further: script → calls that it makes beside ours.
    """
    engine = engines.get(_ENGINE)
    engines.preload([engine])
    plain = Request([scripts.USER])
    served = [engine.choose(model, each) for each in (plain, replace(plain, tools=scripts.TOOLS))]
    calls = {**scripts.CALLS, **further}
    texts: dict[str, str] = {}
    facts: dict[str, Any] = {}
    why = next((each.message for each in served if isinstance(each, RenderError)), "")
    if not why:
        items, stop = bounded.run(_found, served, model.tokenizer, calls, dialect is None, limits=_LIMITS)
        texts = {name: value for kind, name, value in items if kind == _TEXT}
        facts = {name: value for kind, name, value in items if kind == _FACT}
        why = facts.get("why", "") or (stop.message if stop is not None else "")
    for script, own in calls.items() if dialect is not None else ():
        with suppress(ValueError):  # the dialect cannot carry them
            texts[script] = dialects.get(dialect or "").write(own)
    return Wording(
        texts=texts,
        prefix=facts.get("prefix", ""),
        thought_end=facts.get("thought_end", ""),
        between=facts.get("between", ""),
        result=facts.get("result", ""),
        bare_answer=bool(facts.get("prefix")) and facts.get("answer") == "",
        unread=tuple(facts.get("unread", ())),
        markers=tuple(facts.get("markers", ())),
        dialect=dialect or facts.get("dialect", scripts.NO_DIALECT),
        why=why,
        served=not facts.get("refused", False),
    )


def _found(
    served: Sequence[Template], tokenizer: Tokenizer, calls: Mapping[str, Sequence[ToolCall]], written: bool
) -> Iterator[tuple[str, str, Any]]:
    """Whether it is a text of a script or a fact, its name and its value.

    Args:
        served: the template of a request without tools, and of one with them.
        tokenizer: the model's.
        calls: script → what it calls.
        written: the template's own texts of them are wanted.
    """
    from templatelint.scripted.prompted import Prompted, load

    loaded: list[LoadedTemplate] = []
    for template in dict.fromkeys(served):
        one = load(template, tokenizer)
        if isinstance(one, str):
            yield _FACT, "why", one
            yield _FACT, "refused", True
            return
        loaded.append(one)
    plain = Prompted.of(loaded[0], Request([scripts.USER]))
    if isinstance(plain, str):
        yield _FACT, "why", plain
        return
    yield _FACT, "markers", list(dict.fromkeys(MARKER.findall(plain.conversation())))
    yield _FACT, "prefix", plain.plain_start()
    thoughtful = plain.thoughtful()
    if thoughtful is not None:
        yield _TEXT, scripts.THINK, thoughtful
    tools = scripts.tools_for([call for own in calls.values() for call in own])
    asked = Prompted.of(loaded[-1], Request([scripts.USER], tools=tools, extra={"parallel_tool_calls": True}))
    if isinstance(asked, str):
        return
    yield _FACT, "thought_end", asked.thoughts()[1]
    yield _FACT, "result", asked.result_marker()
    yield _FACT, "answer", asked.answer_start()
    if written:
        own = asked.written(calls)
        if not own.texts:
            own = asked.read(calls)
        yield from ((_TEXT, script, text) for script, text in own.texts.items())
        yield _FACT, "dialect", own.dialect
        yield _FACT, "unread", own.unread
        if scripts.TOOL in own.texts:
            yield _FACT, "between", asked.between(own.texts[scripts.TOOL], calls[scripts.TOOL], own.dialect)

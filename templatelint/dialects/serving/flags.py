"""A template's dialect and marks of thoughts → the flags with which an engine reads its replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint.dialects.serving.parsers import for_dialect, for_reasoning, load
from templatelint.dialects.serving.replies import contents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from templatelint.dialects.serving.parsers import Marks, Parsers, ReasoningParser, ToolParser
    from templatelint.dialects.serving.replies import Replying


@dataclass(frozen=True, slots=True)
class Flags:
    """How an engine is started for a template, as far as reading its replies goes.

    Attributes:
        arguments: the flags and their values, as a shell's words.
        said: what the engine does without flags, or that no parser exists, in clauses.
        lost: what the parser of calls does not get back of the template's own calls, and which parsers the engine does
            not start with for want of tokens, in clauses.
        remarks: what the parsers need, and what else there is to know of them, in clauses.
    """

    engine: str
    arguments: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The flags, then what there is to say in their place; empty where there is nothing to do."""
        return "; ".join(filter(None, (" ".join(self.arguments), *self.said)))


@dataclass(frozen=True, slots=True)
class Known:
    """What else is known of a template and may decide between parsers.

    Attributes:
        calls: calls as it writes them.
        source: its text.
        switch: its variable that turns thinking on and off; empty where it has none, None where that is not known.
        unread: what becomes of the calls as it writes them, on an engine that chooses by the template, in a clause;
            empty where they come back.
        replying: how the model replies where a request says nothing of thinking; None where that is not known.
        has: whether a text is a token of the vocabulary; None where that is not known.
    """

    calls: str = ""
    source: str = ""
    switch: str | None = None
    unread: str = ""
    replying: Replying | None = None
    has: Callable[[str], bool] | None = None

    def lacks(self, parser: ToolParser | ReasoningParser) -> tuple[str, ...]:
        """The tokens without which the engine does not start with the parser, that the vocabulary is known to lack."""
        return () if self.has is None else tuple(token for token in parser.vocabulary if not self.has(token))


_NOTHING = Known()


def flags(
    engine: str, dialect: str | None, reasoning: Marks | None, own: str = "", known: Known = _NOTHING
) -> Flags | None:
    """The flags for that engine; None where nothing is known about how it reads replies.

    Args:
        engine: an engine's id; what follows an `@` does not count.
        dialect: the name of the dialect of the template's calls; None where it writes none, or no known one fits.
        reasoning: the marks around thoughts; None where there are none.
        own: what an engine that chooses by the template reads replies with: a handler's name, or `auto-parser`.
        known: what else there is to know.
    """
    name = engine.partition("@")[0]
    advise = _ENGINES.get(name)
    if advise is None:
        return None
    if dialect is None and reasoning is None and not known.unread:
        return Flags(name)
    return advise(name, _Replies(dialect, reasoning, own, known))


@dataclass(frozen=True, slots=True)
class _Replies:
    dialect: str | None
    reasoning: Marks | None
    own: str
    known: Known

    @property
    def reader(self) -> str:
        """What the engine reads replies with, in words."""
        return self.own if not self.own or self.own == "auto-parser" else f"handler {self.own}"

    @property
    def unread(self) -> str:
        """What does not come back, behind a clause on what reads."""
        return f", but not the calls that the template writes: {self.known.unread}" if self.known.unread else ""


# ------------------------------------------------------------------------------ engines that are told the parsers


def _by_name(engine: str, replies: _Replies) -> Flags:
    parsers = load(engine)
    calls = [name for name in _tool_parsers(engine, replies) if not replies.known.lacks(parsers.tool[name])]
    thoughts = _reasoning_parsers(engine, replies)
    thought_parser = next((name for name in thoughts if not replies.known.lacks(parsers.reasoning[name])), None)
    partner = parsers.reasoning[thought_parser].partner if thought_parser else ""
    call_parser = partner if partner in calls else next(iter(calls), None)
    arguments: list[str] = []
    if call_parser:
        arguments += ["--enable-auto-tool-choice"] if engine == "vllm" else []
        arguments += ["--tool-call-parser", call_parser]
    if thought_parser:
        arguments += ["--reasoning-parser", thought_parser]
    return Flags(
        engine,
        tuple(arguments),
        tuple(_missing(parsers, replies, call_parser, thought_parser)),
        (*_lost(parsers, replies, call_parser), *_unstarted(parsers, replies, call_parser, thought_parser)),
        tuple(_remarks(parsers, replies, call_parser, thought_parser)),
    )


def _tool_parsers(engine: str, replies: _Replies) -> tuple[str, ...]:
    return for_dialect(engine, replies.dialect, replies.known.calls) if replies.dialect else ()


def _reasoning_parsers(engine: str, replies: _Replies) -> tuple[str, ...]:
    marks = replies.reasoning
    if marks is None:
        return ()
    known = replies.known
    return for_reasoning(engine, marks, dialect=replies.dialect, switch=known.switch, replying=known.replying)


def _missing(parsers: Parsers, replies: _Replies, call_parser: str | None, thought_parser: str | None) -> Iterator[str]:
    if replies.dialect and call_parser is None and not _tool_parsers(parsers.engine, replies):
        yield f"no tool-call parser of {parsers.title} {parsers.version} reads {replies.dialect}"
    if replies.reasoning is not None and thought_parser is None and not _reasoning_parsers(parsers.engine, replies):
        marks = f"{replies.reasoning.start.strip()} … {replies.reasoning.end.strip()}"
        known = for_reasoning(parsers.engine, replies.reasoning, dialect=replies.dialect)
        beside = " and leaves answers without thoughts in the content" if known else ""
        yield f"no reasoning parser of {parsers.title} {parsers.version} reads {marks}{beside}"


def _lost(parsers: Parsers, replies: _Replies, call_parser: str | None) -> Iterator[str]:
    if call_parser is not None:
        lost = parsers.tool[call_parser].lost(replies.known.calls)
        yield from (f"{call_parser} does not read the calls that the template writes: {note}" for note in lost)


def _unstarted(
    parsers: Parsers, replies: _Replies, call_parser: str | None, thought_parser: str | None
) -> Iterator[str]:
    """The parsers that would read, were it not for the vocabulary."""
    calls = [] if call_parser else [parsers.tool[name] for name in _tool_parsers(parsers.engine, replies)]
    thoughts = (
        [] if thought_parser else [parsers.reasoning[name] for name in _reasoning_parsers(parsers.engine, replies)]
    )
    found: tuple[ToolParser | ReasoningParser, ...] = (*calls[:1], *thoughts[:1])
    for parser in found:
        tokens = " ".join(replies.known.lacks(parser))
        yield f"{parsers.title} does not start with {parser.name}: the vocabulary has no {tokens}"


def _remarks(parsers: Parsers, replies: _Replies, call_parser: str | None, thought_parser: str | None) -> Iterator[str]:
    if call_parser is not None:
        parser = parsers.tool[call_parser]
        yield from _needed(call_parser, parser.vocabulary, parser.needs)
        lost = parser.lost(replies.known.calls)
        streamed = parser.lost(replies.known.calls, streamed=True)
        yield from (f"{call_parser}, streamed: {note}" for note in streamed if note not in lost)
    elif replies.dialect:
        whole = [parser.name for parser in parsers.tool.values() if replies.dialect in parser.unstreamed]
        if whole:
            yield f"{whole[0]} reads {replies.dialect} where the reply is not streamed"
    if thought_parser is not None:
        thoughts = parsers.reasoning[thought_parser]
        yield from _needed(thought_parser, thoughts.vocabulary, ())
        if thoughts.note:
            yield f"{thought_parser}: {thoughts.note}"
        if replies.known.replying and "empty" in contents(parsers.engine, thoughts, replies.known.replying):
            yield f"{thought_parser}: a reply without {thoughts.end} has no content, all of it is taken for thoughts"


def _needed(name: str, vocabulary: tuple[str, ...], needs: tuple[str, ...]) -> Iterator[str]:
    if vocabulary:
        yield f"{name} needs the tokens {' '.join(vocabulary)}"
    yield from (f"{name} needs {need}" for need in needs)


# -------------------------------------------------------------------------------------- engines that choose themselves


def _mlx_lm(engine: str, replies: _Replies) -> Flags:
    """The parser comes from the template's text, or from the tokenizer's configuration."""
    from templatelint.dialects.serving.inferred import inferred

    if replies.dialect is None:
        return Flags(engine)
    parsers = load(engine)
    reading = for_dialect(engine, replies.dialect, replies.known.calls)
    name = inferred(engine, replies.known.source)
    if not reading:
        return Flags(
            engine, said=(f"no tool-call parser of {parsers.title} {parsers.version} reads {replies.dialect}",)
        )
    if not replies.known.source:
        return Flags(engine, said=("no flag: it infers the tool-call parser from the template's text",))
    if name in reading:
        said = f"no flag: it infers the tool-call parser {name} from the template's text"
        return Flags(engine, said=(said,), lost=tuple(_lost(parsers, replies, name)))
    inferred_one = f"the tool-call parser {name}" if name else "no tool-call parser"
    said = (
        f"no flag: it infers {inferred_one} from the template's text;"
        f' "tool_parser_type": "{reading[0]}" in tokenizer_config.json has it read {replies.dialect}'
    )
    return Flags(engine, said=(said,))


def _llama_cpp(engine: str, replies: _Replies) -> Flags:
    """llama.cpp chooses by the template; `--jinja` is its default."""
    return Flags(
        engine, said=(f"no flag: its {replies.reader} reads the replies{replies.unread}",) if replies.own else ()
    )


def _ollama(engine: str, replies: _Replies) -> Flags:
    of_it = f" ({replies.reader})" if replies.own else ""
    return Flags(engine, said=(f"no flag: the llama.cpp inside of it reads the replies{of_it}{replies.unread}",))


def _always(*said: str) -> Callable[[str, _Replies], Flags]:
    return lambda engine, _replies: Flags(engine, said=said)


_CALLER = _always("no parser: the caller reads the replies")
_ENGINES: Mapping[str, Callable[[str, _Replies], Flags]] = {
    "vllm": _by_name,
    "sglang": _by_name,
    "mlx-lm": _mlx_lm,
    "llama.cpp": _llama_cpp,
    "ollama": _ollama,
    "transformers": _CALLER,
    "transformers.js": _CALLER,
    "llama-cpp-python": _always("no parser: calls stay in the text of the reply"),
    "mistral.rs": _always("no flag: it chooses a parser by the template's text"),
    "tgi": _always("no flag: it makes the model write calls as JSON of its own, whatever the template writes"),
}

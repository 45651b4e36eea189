"""`parsers.toml` → which parser of an engine reads a dialect or a pair of marks, and what it does not get back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from templatelint.dialects import NAMES
from templatelint.dialects.serving.replies import contents, fits
from templatelint.errors import TemplatelintError, clip
from templatelint.nearest import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from templatelint.dialects.serving.replies import Replying

T = TypeVar("T")
ENGINES: tuple[str, ...] = ("vllm", "sglang", "mlx-lm")
LAUNCHED = ("vllm", "sglang")  # with the name of a parser
AUTO = "auto"  # in place of a name: SGLang takes the parser that it infers from the template's text
_INFERRING = "sglang"
_SEARCHED = 65_536  # characters of a text in which faults are looked for: none of them takes more to show
_FILE = Path(__file__).with_name("parsers.toml")


class Marks(Protocol):
    """The marks around a model's thoughts."""

    @property
    def start(self) -> str:
        """What stands before them."""
        ...

    @property
    def end(self) -> str:
        """What stands behind them."""
        ...

    @property
    def opened(self) -> bool:
        """Whether the generation prompt leaves the model inside of them."""
        ...


@dataclass(frozen=True, slots=True)
class Fault:
    """What of its dialects a parser does not get back as it was meant.

    Attributes:
        note: what becomes of it, in a clause.
        where: regular expression that is found in the text of such calls; empty where the text does not tell.
        streamed: in streamed replies alone.
        with_token: only with a tokenizer that has this token.
        without_token: only with a tokenizer that lacks it.
        history: only calls as templates write them for the history meet it; models write theirs otherwise.
    """

    note: str
    where: str = ""
    streamed: bool = False
    with_token: str = ""
    without_token: str = ""
    history: bool = False

    def applies(self, text: str, *, streamed: bool, vocabulary: Collection[str] | None) -> bool:
        """Whether calls that a model writes like this meet it; what hangs on an unknown vocabulary does not."""
        if not self.where or self.history or (self.streamed and not streamed):
            return False
        if self.with_token and (vocabulary is None or self.with_token not in vocabulary):
            return False
        if self.without_token and (vocabulary is None or self.without_token in vocabulary):
            return False
        return re.search(self.where, text[:_SEARCHED], re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class ToolParser:
    """A parser of tool calls.

    Attributes:
        name: what the engine calls it.
        dialects: what it reads, its own first.
        unstreamed: what it also reads where the reply is not streamed.
        same_as: the parser whose other name this is.
        replaced_by: the name that the engine asks to use instead.
        vocabulary: tokens without which the engine does not start with it.
        needs: what else it takes, in clauses.
        form: a regular expression that is found in the calls of models for which the engine's advice names it, rather
            than another one that reads them as well.
        others: `fails` where requests with tools fail for models that it is not made for.
    """

    name: str
    dialects: tuple[str, ...]
    others: Literal["", "fails"] = ""
    unstreamed: tuple[str, ...] = ()
    same_as: str = ""
    replaced_by: str = ""
    vocabulary: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    form: str = ""
    faults: tuple[Fault, ...] = ()

    def lost(self, text: str, *, streamed: bool = False, vocabulary: Collection[str] | None = None) -> tuple[str, ...]:
        """What becomes of calls of its dialects that are written like this, in clauses; nothing where all comes back.

        Args:
            text: the calls as a template or a model writes them.
            streamed: also what happens in streamed replies alone.
            vocabulary: the tokens of the tokenizer, where they are known.
        """
        return tuple(
            fault.note for fault in self.faults if fault.applies(text, streamed=streamed, vocabulary=vocabulary)
        )


@dataclass(frozen=True, slots=True)
class ReasoningParser:
    """A parser of thoughts.

    Attributes:
        name: what the engine calls it.
        start: the mark before thoughts.
        end: the mark behind them.
        opened: where the opening mark may stand: in the `reply`, in the `prompt`, in `either`.
        bare: what a reply without marks is taken for: `thoughts` or `answer`.
        switch: the template variable that tells it whether to expect thoughts; empty where none does.
        also: another variable that does the same.
        default: whether it expects them without the variable.
        idle: without the variable, it leaves all in the answer, marks included.
        heeds_prompt: where the prompt closes its marks, it takes a reply without marks for the answer.
        frame: the mark before the answer, without which it leaves all in it, marks included; empty where it wants none.
        alone: what the engine reads off the template does not count for it.
        others: what becomes of the replies of models that it is not made for; empty where that depends on the reply.
        vocabulary: tokens without which the engine does not start with it.
        dialects: the dialects of tool calls of the models that it is made for.
        same_as: the parser whose other name this is.
        partner: the tool-call parser that it goes with; empty where any does.
        note: what else there is to know, in a clause.
        splits: it takes thoughts out of the answer by these marks.
    """

    name: str
    start: str
    end: str
    opened: Literal["reply", "prompt", "either"]
    bare: Literal["thoughts", "answer"]
    switch: str = ""
    also: str = ""
    default: bool = True
    idle: bool = False
    heeds_prompt: bool = False
    frame: str = ""
    alone: bool = False
    others: Literal["", "fails", "empty"] = ""
    vocabulary: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    same_as: str = ""
    partner: str = ""
    note: str = ""
    splits: bool = True


@dataclass(frozen=True, slots=True)
class Parsers:
    """The parsers of an engine, in the order of its own advice.

    Attributes:
        engine: the engine's id.
        title: the engine's name.
        version: the version that they were read in.
        read: the day on which they were read, ISO 8601.
        notes: what holds for all of them, in clauses.
    """

    engine: str
    title: str
    version: str
    read: str
    notes: tuple[str, ...]
    tool: Mapping[str, ToolParser]
    reasoning: Mapping[str, ReasoningParser]


@cache
def load(engine: str) -> Parsers:
    """The parsers of an engine.

    Raises:
        TemplatelintError: it is none of those whose parsers are known.
    """
    if engine not in ENGINES:
        raise unknown("engine with named parsers", engine, ENGINES)
    data = _data()[engine]
    return Parsers(
        engine,
        data["title"],
        data["version"],
        data["read"].isoformat(),
        tuple(data.get("notes", ())),
        _named(data["tool"], _tool_parser),
        _named(data.get("reasoning", ()), _reasoning_parser),
    )


def launched(words: Iterable[str], where: str = "") -> tuple[tuple[str, str], ...]:
    """What a user says of how engines are launched (`vllm=hermes`), as engine and name of the tool-call parser.

    Args:
        words: `ENGINE=NAME` each.
        where: what error messages start with, without the colon.

    Raises:
        TemplatelintError: a word is not of that form, an engine or its parser is not known, or an engine has two.
    """
    said = f"{where.rstrip(': ')}: " if where else ""
    found: dict[str, str] = {}
    for word in words:
        engine, _, name = word.partition("=")
        if not name:
            raise TemplatelintError(f'{said}"{clip(word)}" names no parser', help="write ENGINE=NAME: vllm=hermes")
        if engine not in LAUNCHED:
            raise unknown("engine with named parsers", engine, LAUNCHED, where=said)
        inferred = engine == _INFERRING and name == AUTO
        parser = AUTO if inferred else _parser_of(engine, name, said).name
        if found.setdefault(engine, parser) != parser:
            raise TemplatelintError(f"{said}two parsers for {engine}: {found[engine]}, {parser}", help="name one")
    return tuple(found.items())


def need_asked(launches: Iterable[tuple[str, str]], engines: Collection[str], where: str = "") -> None:
    """Check that each engine that a user names a parser for is asked at all.

    Args:
        launches: engine and parser, as `launched` gives them.
        engines: the ids of the engines that are asked, as a user names them; empty for the default, which has them all.
        where: what the error message starts with, without the colon.

    Raises:
        TemplatelintError: an engine is not asked.
    """
    if not engines or "all" in engines:
        return
    for engine, parser in launches:
        if engine not in engines:
            said = f"{where}: " if where else ""
            raise TemplatelintError(f"{said}{engine}={parser}: {engine} is not asked", help=f"add --engine {engine}")


def named(engine: str, name: str) -> ToolParser:
    """The parser of tool calls that the engine knows by that name, `_` and `-` being the same.

    Raises:
        TemplatelintError: the engine knows none of that name.
    """
    return _parser_of(engine, name)


def named_reasoning(engine: str, name: str) -> ReasoningParser:
    """The parser of thoughts that the engine knows by that name, `_` and `-` being the same.

    Raises:
        TemplatelintError: the engine knows none of that name.
    """
    parsers = load(engine)
    return _lookup(parsers.reasoning, name, f"reasoning parser of {parsers.title} {parsers.version}", "")


def for_dialect(engine: str, dialect: str, text: str = "") -> tuple[str, ...]:
    """The names of the parsers that read the dialect, best first: the engine's own advice, other names last.

    Args:
        engine: an engine's id.
        dialect: a dialect's name.
        text: calls as the template writes them: parsers that get them back come before those that do not.
    """
    reading = [parser for parser in load(engine).tool.values() if dialect in parser.dialects]

    def rank(parser: ToolParser) -> tuple[bool, ...]:
        meant = bool(parser.form) and re.search(parser.form, text[:_SEARCHED]) is not None
        return (
            bool(parser.lost(text)),
            bool(parser.replaced_by),
            parser.dialects[0] != dialect,
            not meant,
            bool(parser.same_as),
        )

    return tuple(parser.name for parser in sorted(reading, key=rank))


def for_reasoning(
    engine: str,
    marks: Marks,
    *,
    dialect: str | None = None,
    switch: str | None = None,
    replying: Replying | None = None,
) -> tuple[str, ...]:
    """The names of the parsers that split thoughts off by these marks, best first.

    None of them leaves ordinary answers without content. Of the others, one that is made for the models of the dialect
    is best. Then comes one that follows the template's switch: where thinking is off, it takes the reply for the
    answer. Where the switch is not known, it is one that takes a reply without marks for thoughts if the prompt opens
    them, and one that can be told if the model itself opens them.

    Args:
        engine: an engine's id.
        marks: the marks; white space around them does not count.
        dialect: the dialect of the tool calls, where there is one.
        switch: the template variable that turns thinking on and off; empty where there is none, None where it is not
            known.
        replying: how the model replies where a request says nothing of thinking; None where that is not asked.
    """
    fitting = {
        parser: () if replying is None else contents(engine, parser, replying)
        for parser in load(engine).reasoning.values()
        if parser.splits and fits(parser, marks) and parser.opened in {"prompt" if marks.opened else "reply", "either"}
    }
    told = bool(switch) if switch is not None else not marks.opened

    def rank(parser: ReasoningParser) -> tuple[bool, ...]:
        follows = bool(switch) and switch in {parser.switch, parser.also}
        return (
            fitting[parser][-1:] not in {(), ("clean",)},
            dialect not in parser.dialects,
            bool(switch) and not follows,
            "empty" in fitting[parser],
            parser.name not in _GENERAL,
            not (parser.default or follows),
            bool(parser.switch) != told,
            bool(parser.same_as),
        )

    return tuple(parser.name for parser in sorted(fitting, key=rank) if fitting[parser] not in _USELESS)


_USELESS = (("empty",), ("fails",))
# made for one family, and used for every model that writes <think>
_GENERAL = frozenset(("deepseek_r1", "deepseek-r1", "qwen3", "deepseek_v3", "deepseek-v3"))


@cache
def aliases() -> Mapping[str, str]:
    """Name of a tool-call parser of vLLM or SGLang → the dialect that it is made for; only names that are no dialect's.

    Where the two engines mean different dialects by a name, it is left out.
    """
    found: dict[str, set[str]] = {}
    for engine in LAUNCHED:
        for parser in load(engine).tool.values():
            for dialect in parser.dialects[:1]:
                found.setdefault(parser.name, set()).add(dialect)
    return {
        name: next(iter(meant))
        for name, meant in found.items()
        if len(meant) == 1 and _folded(name) not in map(_folded, NAMES)
    }


@cache
def _data() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(_FILE.read_text("utf-8"))


def _named(entries: Iterable[dict[str, Any]], build: Callable[[dict[str, Any]], T]) -> dict[str, T]:
    """The parsers by name; another name of a parser has what that parser has."""
    by_name = {entry["name"]: entry for entry in entries}
    return {name: build({**by_name.get(entry.get("same_as"), {}), **entry}) for name, entry in by_name.items()}


def _tool_parser(entry: dict[str, Any]) -> ToolParser:
    return ToolParser(**_frozen(entry | {"faults": [Fault(**fault) for fault in entry.get("faults", ())]}))


def _reasoning_parser(entry: dict[str, Any]) -> ReasoningParser:
    return ReasoningParser(**_frozen(entry))


def _frozen(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


def _parser_of(engine: str, name: str, where: str = "") -> ToolParser:
    parsers = load(engine)
    return _lookup(parsers.tool, name, f"tool-call parser of {parsers.title} {parsers.version}", where)


def _lookup(parsers: Mapping[str, T], name: str, what: str, where: str) -> T:
    wanted = _folded(name)
    for known, parser in parsers.items():
        if _folded(known) == wanted:
            return parser
    raise unknown(what, name, parsers, where=where)


def _folded(name: str) -> str:
    return name.lower().replace("_", "-")

"""A conversation → what a model writes that does what it is told: the scripted model of the tests' own servers.

Its text is made of spans (reasoning, text, the name and the arguments of calls, markup that nobody sees) and is cut
into tokens of four bytes, inside characters too.
"""

from __future__ import annotations

import json
import re
from codecs import getincrementaldecoder
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from templatelint import engines
from templatelint.errors import TemplatelintError
from templatelint.model import Origin, RenderError, Template, Tokenizer
from templatelint.scripted.scripts import CALLS, ENDLESS, HANDSHAKE, PLAIN, TEXTS, THOUGHTS
from templatelint.traffic.chat import request_from_openai

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from templatelint.engines import Loaded

Json: TypeAlias = dict[str, Any]
Channel: TypeAlias = Literal["markup", "reasoning", "text", "name", "arguments"]
Finish: TypeAlias = Literal["stop", "length", "tool_calls"]

PIECE = 4  # bytes of a token

FOREIGN = "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>"

DEFAULT_BOS, DEFAULT_EOS = "<s>", "</s>"


class Refused(Exception):
    """A request that is answered with an error object."""

    def __init__(  # noqa: PLR0913 (the members of an error object)
        self,
        message: str,
        *,
        status: int = 400,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.kind, self.param, self.code = message, status, kind, param, code
        self.extra = dict(extra or {})


# ------------------------------------------------------------------------------------------------ spans


@dataclass(frozen=True)
class Span:
    """A stretch of what the model writes; `call` counts the calls from 0."""

    channel: Channel
    text: str
    call: int = -1


Script: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True)
class Delta:
    """What one token adds to a channel; a name comes whole, with the token that ends it."""

    channel: Channel
    text: str
    call: int = -1
    closes: bool = False


def said(text: str) -> Script:
    """Text alone."""
    return (Span("text", text),)


def thought(text: str) -> Script:
    """Thoughts in marks."""
    return (Span("markup", "<think>\n"), Span("reasoning", text), Span("markup", "\n</think>\n\n"))


def called(*calls: tuple[str, Mapping[str, Any]]) -> Script:
    """Calls, in tags."""
    spans: list[Span] = []
    for number, (name, arguments) in enumerate(calls):
        spans += [
            Span("markup", '\n<tool_call>\n{"name": "' if number else '<tool_call>\n{"name": "'),
            Span("name", name, number),
            Span("markup", '", "arguments": '),
            Span("arguments", json.dumps(arguments, ensure_ascii=False), number),
            Span("markup", "}\n</tool_call>"),
        ]
    return tuple(spans)


def leaked(script: Script) -> Script:
    """The script as a server gives it that does not read calls: all of it is text."""
    return said("".join(span.text for span in script))


def first_call(script: Script) -> Script:
    """The script up to the end of its first call."""
    kept: list[Span] = []
    for span in script:
        if span.call > 0:
            kept.pop()  # the markup that opens the second call
            break
        kept.append(span)
    return tuple(kept)


def names(script: Script) -> list[str]:
    """Of the functions that are called."""
    return [span.text for span in script if span.channel == "name"]


def steps(script: Script, count: int) -> Iterator[tuple[Delta, ...]]:
    """What the first so many tokens add, one after the other; a character comes with the token that ends it."""
    pending: list[tuple[Span, bytes]] = []
    for span in script:
        raw = span.text.encode("utf-8")
        pending += [(span, raw[at : at + 1]) for at in range(len(raw))]
    decoder = getincrementaldecoder("utf-8")()
    name = ""
    for start in range(0, min(len(pending), count * PIECE), PIECE):
        found: list[Delta] = []
        for at in range(start, min(start + PIECE, len(pending))):
            span, byte = pending[at]
            closes = at + 1 == len(pending) or pending[at + 1][0] is not span
            text = decoder.decode(byte)
            if span.channel == "name":
                name += text
                text, name = (name, "") if closes else ("", name)
                if not closes:
                    continue
            if found and (found[-1].channel, found[-1].call) == (span.channel, span.call):
                found[-1] = replace(found[-1], text=found[-1].text + text, closes=closes)
            elif text or closes:
                found.append(Delta(span.channel, text, span.call, closes))
        yield tuple(delta for delta in found if delta.channel != "markup")


def size(script: Script) -> int:
    """How many tokens there are, without the one that ends generation."""
    return -(-sum(len(span.text.encode("utf-8")) for span in script) // PIECE)


def cut_at(script: Script, stops: Sequence[str]) -> tuple[Script, str | None]:
    """The script up to the first stop sequence in its text, and that sequence; thoughts and calls are not looked at."""
    kept: list[Span] = []
    for span in script:
        if span.channel == "text":
            found = [(span.text.index(stop), stop) for stop in stops if stop in span.text]
            if found:
                at, stop = min(found)
                return (*kept, replace(span, text=span.text[:at])), stop
        kept.append(span)
    return script, None


# ------------------------------------------------------------------------------------------- the request


@dataclass(frozen=True)
class Wanted:
    """What any of the three APIs asks for, in chat completions' forms.

    Attributes:
        body: what is rendered.
        allowed: names of the functions that may be called; None for all of them.
        schema: of the text.
        limit: of the tokens.
        thinks: the client wants thoughts; None leaves it to the template.
    """

    body: Json
    tools: Sequence[Json] = ()
    choice: Literal["auto", "none", "required"] = "auto"
    allowed: tuple[str, ...] | None = None
    parallel: bool = True
    schema: Any = None
    stops: tuple[str, ...] = ()
    limit: int | None = None
    thinks: bool | None = None

    @property
    def offered(self) -> list[Json]:
        """Functions that may be called."""
        if self.choice == "none":
            return []
        functions = [tool["function"] for tool in self.tools]
        return [each for each in functions if self.allowed is None or each["name"] in self.allowed]


@dataclass(frozen=True)
class Generated:
    """What the model wrote.

    Attributes:
        steps: what each token adds.
        tokens: how many were generated, the one that ends generation included.
        stop: the stop sequence that ended it.
        endless: it would have gone on.
    """

    prompt_tokens: int
    steps: tuple[tuple[Delta, ...], ...]
    tokens: int
    finish: Finish
    stop: str | None = None
    endless: bool = False

    def joined(self, channel: Channel) -> str:
        """All of a channel."""
        return "".join(delta.text for delta in self.deltas if delta.channel == channel)

    @property
    def deltas(self) -> list[Delta]:
        """All of them, in order."""
        return [delta for step in self.steps for delta in step]

    @property
    def calls(self) -> list[tuple[str, str, bool]]:
        """Name, arguments and completeness of the calls whose names were written."""
        found: dict[int, tuple[str, str, bool]] = {}
        for delta in self.deltas:
            if delta.channel == "name":
                found[delta.call] = (delta.text, "", False)
            elif delta.channel == "arguments":
                name, arguments, _ = found[delta.call]
                found[delta.call] = (name, arguments + delta.text, delta.closes)
        return list(found.values())

    @property
    def reasoning_tokens(self) -> int:
        """Tokens that are thoughts, at least in part."""
        return sum(any(delta.channel == "reasoning" for delta in step) for step in self.steps)


# --------------------------------------------------------------------------------------------- the model


def _calls(name: str) -> Script:
    return called(*((call.name, call.arguments) for call in CALLS[name]))


SCRIPTS: Mapping[str, Script] = {
    **{name: said(text) for name, text in TEXTS.items()},
    **{name: _calls(name) for name in CALLS},
    "about": said(f"{HANDSHAKE} hermes"),
    "think": (*thought(THOUGHTS), *said(PLAIN)),
    "foreign": said(FOREIGN),
}

_SELECTOR = re.compile(r"@@([a-z]+)")
# What a model that is not scripted makes of words; the first that fits.
_HINTS: tuple[tuple[str, str], ...] = (
    ("oslo", "parallel"),
    ("write_file", "write"),
    ("get_weather", "tool"),
    ("weather", "tool"),
    ("stopword", "stop"),
    ("ten thousand", "endless"),
    ("accented", "unicode"),
    ("think", "think"),
    ("story", "long"),
)


def by_selector(messages: Sequence[Json], prompt: str) -> str:
    """The most recent selector's script; a tool's result that has none is answered."""
    last = texts_of(messages[-1:])
    if messages and messages[-1].get("role") == "tool" and not _known(last):
        return "answer"
    found = _known(prompt)
    return found[-1] if found else by_words(messages, prompt)


def by_words(messages: Sequence[Json], prompt: str) -> str:  # noqa: ARG001 (as all that choose)
    """What a helpful model that knows nothing of selectors would do."""
    if messages and messages[-1].get("role") == "tool":
        return "answer"
    text = texts_of(messages[-1:]).lower()
    return next((script for word, script in _HINTS if word in text), "plain")


def _known(text: str) -> list[str]:
    return [name for name in _SELECTOR.findall(text) if name in SCRIPTS]


def texts_of(value: Any) -> str:
    """All the texts in JSON data, a line each."""
    if isinstance(value, str):
        return value
    children: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "\n".join(filter(None, map(texts_of, children)))


@dataclass(frozen=True)
class Served:
    """A model that is served.

    Attributes:
        choose: messages and prompt → the name of the script.
        scripts: its own texts, in place of the usual ones.
        engine: that renders its prompts.
    """

    name: str
    template: str
    context: int = 4096
    bos_token: str = DEFAULT_BOS
    eos_token: str = DEFAULT_EOS
    choose: Callable[[Sequence[Json], str], str] = by_selector
    scripts: Mapping[str, Script] = field(default_factory=dict)
    engine: str = "llama.cpp"
    _ids: dict[bytes, int] = field(default_factory=dict)

    # ----------------------------------------------------------------------------------------- prompts

    @cached_property
    def loaded(self) -> Loaded:
        """Its template inside the engine."""
        return self._load(self.template)

    def _load(self, source: str) -> Loaded:
        tokens = {"bos_token": self.bos_token, "eos_token": self.eos_token}
        template = Template("default", source, Origin("chat_template", source))
        loaded = engines.get(self.engine).load(template, Tokenizer(special_tokens=tokens, assumed=True))
        if isinstance(loaded, RenderError):
            raise Refused(f"the chat template does not load: {loaded.message}", param="chat_template")
        return loaded

    @property
    def thinks(self) -> bool:
        """The template knows thoughts."""
        return "<think>" in self.template

    def prompt(self, body: Json) -> str:
        """What the template makes of a chat-completions body; its own `chat_template` is honoured."""
        own = body.get("chat_template")
        if own is not None and not isinstance(own, str):
            raise Refused("chat_template is no text", param="chat_template")
        try:
            request = request_from_openai({key: value for key, value in body.items() if key != "chat_template"})
        except TemplatelintError as error:
            raise Refused(error.message) from error
        seen = (self.loaded if own is None else self._load(own)).render(request, datetime.now())  # noqa: DTZ005 (a server's clock is local)
        if seen.prompt is None:
            raise Refused(seen.error.message if seen.error else "the template gives nothing", param="messages")
        return seen.prompt

    def tokens(self, text: str, *, parse_special: bool = True) -> list[tuple[int, bytes]]:
        """Id and bytes of each token of a text."""
        pieces: list[bytes] = []
        for part in self._specials.split(text) if parse_special else [text]:
            raw = part.encode("utf-8", "surrogatepass")
            whole = parse_special and self._specials.fullmatch(part)
            pieces += [raw] if whole else [raw[at : at + PIECE] for at in range(0, len(raw), PIECE)]
        return [(self._ids.setdefault(piece, len(self._ids)), piece) for piece in pieces]

    def text(self, ids: Sequence[int]) -> str:
        """The text of tokens that were given before."""
        known = {number: piece for piece, number in self._ids.items()}
        return b"".join(known.get(each, b"") for each in ids).decode("utf-8", "replace")

    @cached_property
    def _specials(self) -> re.Pattern[str]:
        ends = "|".join(re.escape(token) for token in (self.bos_token, self.eos_token) if token)
        return re.compile(rf"(<\|[^|<>\s]+\|>|{ends})")

    # ---------------------------------------------------------------------------------------- answers

    def generate(self, wanted: Wanted) -> Generated:
        """What the model writes.

        Raises:
            Refused: the template refuses the conversation, or the prompt is too long.
        """
        prompt = self.prompt(wanted.body)
        count = len(self.tokens(prompt))
        if count >= self.context:
            raise Refused(
                f"the request has {count} tokens, which exceeds the available context size of {self.context} tokens",
                kind="exceed_context_size_error",
                param="messages",
                code="context_length_exceeded",
                extra={"n_prompt_tokens": count, "n_ctx": self.context},
            )
        room = self.context - count
        limit = room if wanted.limit is None else min(wanted.limit, room)
        name, script = self._script(wanted, prompt)
        endless = name == "endless"
        if endless:
            script = said(ENDLESS * (limit * PIECE // len(ENDLESS) + 2))
        script, stop = cut_at(script, wanted.stops)
        whole = size(script) + 1
        done = limit >= whole
        finish: Finish = "length" if not done else "tool_calls" if names(script) else "stop"
        written = min(limit, whole)
        return Generated(count, tuple(steps(script, written)), written, finish, stop if done else None, endless=endless)

    def _script(self, wanted: Wanted, prompt: str) -> tuple[str, Script]:
        name = self.choose(wanted.body["messages"], prompt)
        script = {**SCRIPTS, **self.scripts}.get(name, SCRIPTS["plain"])
        thoughts = tuple(span for span in script if span.channel == "reasoning")
        if thoughts:
            quiet = wanted.thinks is False or not self.thinks
            kept = script[3:]
            script = kept if quiet else script
        offered = wanted.offered
        if wanted.schema is not None and not names(script):
            return "json", said(json.dumps(instance(wanted.schema), ensure_ascii=False))
        callable_names = {each["name"] for each in offered}
        if names(script) and not callable_names.issuperset(names(script)):
            script = said(PLAIN)
        if wanted.choice == "required" and not names(script):
            name = "tool"
            script = called((offered[0]["name"], instance(offered[0].get("parameters") or {})))
        if names(script) and not wanted.parallel:
            script = first_call(script)
        return name, script


# ----------------------------------------------------------------------------------------------- schemas


def instance(schema: Any, root: Any = None) -> Any:  # noqa: C901, PLR0911 (a branch for each kind of schema)
    """A small value that a JSON schema takes."""
    root = schema if root is None else root
    if not isinstance(schema, dict):
        return {}
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    if isinstance(schema.get("$ref"), str):
        found = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        return instance(found, root)
    for word in ("anyOf", "oneOf", "allOf"):
        if schema.get(word):
            return instance(schema[word][0], root)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array":
        return [instance(schema.get("items", {}), root) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        return "calm".ljust(schema.get("minLength", 0), "m")[: schema.get("maxLength", 1 << 20)]
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    if kind in ("boolean", "null"):
        return True if kind == "boolean" else None
    properties = schema.get("properties", {})
    return {name: instance(properties.get(name, {}), root) for name in schema.get("required", [])}

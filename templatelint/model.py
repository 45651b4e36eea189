"""The nouns: what every layer hands to the next, frozen; imports nothing of ours."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Severity = Literal["error", "warning", "note"]
Impact = Literal["breaks", "degrades", "informs"]
ClientForm = Literal["wire", "native"]
ErrorKind = Literal["syntax", "refused", "raised", "unsupported", "invalid-request", "no-start", "timeout", "too-large"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
NEEDS: tuple[str, ...] = (
    "chat",
    "system",
    "tools",
    "parallel-tools",
    "reasoning",
    "multimodal",
    "agent",
    "prefix-cache",
    "training",
)


_LINE_END = re.compile(r"\r\n|\r|\n")


# --------------------------------------------------------------------------- templates and models


@dataclass(frozen=True)
class Lines:
    """The lines of a text, ended by any of the three newlines, as Jinja counts them.

    Offsets count from 0, lines and columns from 1.
    """

    text: str = field(repr=False)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(end.end() for end in _LINE_END.finditer(self.text))]

    @property
    def count(self) -> int:
        """How many lines there are; what follows the last newline is one, be it empty."""
        return len(self._starts)

    def start(self, line: int) -> int:
        """The offset at which that line starts."""
        return self._starts[line - 1]

    def line_of(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset; a newline belongs to the line that it ends."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def excerpt(self, offset: int) -> str:
        """The line that holds the offset, without its newline."""
        start = self._starts[bisect_right(self._starts, offset) - 1]
        end = _LINE_END.search(self.text, start)
        return self.text[start : end.start() if end else None]


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file; line and column count from 1."""

    path: str
    line: int
    column: int


@dataclass(frozen=True)
class Origin:
    """Where a template's characters stand in the file that carries them.

    Attributes:
        path: the file as the user would name it.
        text: the text of that file (of the template alone where the file is binary).
        start: offset in `text` of the template's first character.
        escaped: the template stands there as the inside of a JSON string literal.
        locatable: False where lines of the real file mean nothing (GGUF): places are then given in the template.
    """

    path: str
    text: str = field(repr=False)
    start: int = 0
    escaped: bool = False
    locatable: bool = True

    def place(self, offset: int) -> Place:
        """The place in the real file of the template's character at `offset` (counted from 0)."""
        return Place(self.path, *self._lines.line_of(min(self.offset(offset), len(self.text))))

    def offset(self, offset: int) -> int:
        """The offset in `text` of the template's character at `offset`."""
        return _skip_escaped(self.text, self.start, offset) if self.escaped else self.start + offset

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.text)


def _skip_escaped(text: str, at: int, count: int) -> int:
    """The offset reached after `count` decoded characters of the JSON string literal that starts at `at`."""
    while count > 0 and at < len(text):
        if text[at] != "\\":
            at += 1
        elif text[at + 1 : at + 2] != "u":
            at += 2
        elif _surrogate(text, at, 0xD800) and _surrogate(text, at + 6, 0xDC00):
            at += 12  # two escapes, one decoded character
        else:
            at += 6
        count -= 1
    return at


def _surrogate(text: str, at: int, first: int) -> bool:
    if text[at : at + 2] != "\\u":
        return False
    try:
        return first <= int(text[at + 2 : at + 6], 16) < first + 0x400
    except ValueError:
        return False


@dataclass(frozen=True)
class Template:
    """The Jinja source of one named chat template, as the file carries it (newlines untouched)."""

    name: str
    source: str = field(repr=False)
    origin: Origin = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the UTF-8 bytes."""
        return hashlib.sha256(self.source.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def lines(self) -> Lines:
        """The lines of the source, for places and excerpts in it."""
        return Lines(self.source)


TokenType = Literal["normal", "unknown", "control", "user-defined", "unused", "byte"]


@dataclass(frozen=True, slots=True)
class Token:
    """An entry of a vocabulary, counted from 0.

    Types are GGUF's; of a `tokenizer.json`, an added token that is special is `control`, another `user-defined`.
    """

    id: int
    text: str
    type: TokenType


class Vocabulary(Protocol):
    """The tokens that a tokenizer has, looked up as they are asked for: there may be 300,000."""

    @property
    def size(self) -> int:
        """How many tokens there are."""

    def token(self, text: str) -> Token | None:
        """The token whose text this is, None where no single token has it."""

    def special(self) -> tuple[Token, ...]:
        """Those of the types control and user-defined: what a tokenizer finds in a prompt before it splits the rest."""


@dataclass(frozen=True)
class Tokenizer:
    """What the tokenizer's files say that matters to a prompt.

    Attributes:
        special_tokens: only the *set* named tokens, as transformers' `special_tokens_map` gives them to the
            template: `bos_token`, `eos_token`, `unk_token`, `sep_token`, `pad_token`, `cls_token`, `mask_token`.
        assumed: the tokens are our assumption (a bare template file), not read from anywhere.
        add_bos: whether encoding adds BOS; None where the files do not say.
        add_eos: whether encoding adds EOS; None where the files do not say.
        stop_tokens: texts of the tokens that end generation, as far as the files name them.
        generation_config: `generation_config.json` as parsed.
        facts: further values as found (`tokenizer_class`, `tokenizer.ggml.model`, …).
        vocabulary: None where the files carry none, or it was not asked for.
    """

    special_tokens: Mapping[str, str] = field(default_factory=dict)
    assumed: bool = False
    add_bos: bool | None = None
    add_eos: bool | None = None
    stop_tokens: tuple[str, ...] = ()
    generation_config: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    vocabulary: Vocabulary | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Launch:
    """How a running server was started, as far as it says.

    Attributes:
        engine: the engine's id.
        version: as the server gives it; empty where it does not.
        arguments: its command line without the program; None where it cannot be read.
        settings: what its own routes say of its state, as found.
    """

    engine: str
    version: str = ""
    arguments: tuple[str, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Model:
    """What a reference resolves to.

    Attributes:
        ref: the reference as typed, without `#NAME`.
        kind: what it was read as, wherever it is: `file`, `config`, `folder`, `gguf`, `ollama`, `server`, `stdin`.
        templates: in the file's order; empty where the model carries none.
        picked: the reference named one template (`REF#NAME`): it serves every request.
        local: a file of the user's, whose inline suppressions may be honoured.
        notes: what the user should know about how the reference was resolved.
        elsewhere: the file that carries the template of this model where the reference is a companion without one.
        not_for_chat: why a model without a template needs none (`general.type is mmproj`); empty where it may chat.
        others: templates that its files carry besides, and that are not in force by the order of `transformers`.
        damage: what of the file contradicts itself or its size, a clause each.
        launch: of a running server.
        weightless: its file holds no tensors, and no other file of a split does: no engine can answer with it.
    """

    ref: str
    kind: str
    templates: tuple[Template, ...]
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    picked: bool = False
    local: bool = True
    notes: tuple[str, ...] = ()
    elsewhere: str = ""
    not_for_chat: str = ""
    others: tuple[Template, ...] = ()
    damage: tuple[str, ...] = ()
    launch: Launch | None = None
    weightless: bool = False

    def template(self, name: str) -> Template | None:
        """The template of that name, if there is one."""
        return next((template for template in self.templates if template.name == name), None)

    def reference(self, template: Template) -> str:
        """The reference as typed, with `#NAME` where a named template is meant."""
        meant = self.picked or template.name not in {"default", ""}
        return f"{self.ref}#{template.name}" if meant else self.ref


# ------------------------------------------------------------------------------ requests and cases


@dataclass(frozen=True)
class Request:
    """One chat-completions request as far as a prompt depends on it; JSON data, never changed in place.

    Attributes:
        messages: OpenAI messages.
        tools: OpenAI tool definitions; None where the request has none.
        add_generation_prompt: ask for the assistant cue at the end.
        continue_final_message: True, or the name of a field, to continue the last message (transformers).
        variables: `chat_template_kwargs` and other template variables of the request.
        extra: every other member of the request body (`tool_choice`, `response_format`, …).
        media: the server has a multimodal projector.
    """

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] | None = None
    add_generation_prompt: bool = True
    continue_final_message: bool | str = False
    documents: Sequence[Mapping[str, Any]] | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    media: bool = False


@dataclass(frozen=True)
class Case:
    """One canonical conversation.

    Attributes:
        id: what users type; a variant appends `+NAME` (`chat-basic+nogen`).
        isolates: the one property it isolates, in a clause.
        request: in OpenAI wire form (arguments as JSON strings, `content: null`).
        marks: name → unique text inside the request whose fate in the prompt can be followed.
        form: the client form to render it in; None means the engine's own.
        day: days after the fixed date of the corpus at which the clock stands.
    """

    id: str
    isolates: str
    request: Request
    marks: Mapping[str, str] = field(default_factory=dict)
    form: ClientForm | None = None
    day: int = 0

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Every text of the messages, then of the tools, in their order."""
        return tuple(_texts([self.request.messages, self.request.tools]))


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from _texts(value)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from _texts(value)


# ------------------------------------------------------------------------------------ observations


@dataclass(frozen=True, slots=True)
class RenderError:
    """Why a cell has no prompt; line and column count from 1 in the template."""

    kind: ErrorKind
    message: str
    line: int | None = None
    column: int | None = None

    @property
    def out_of_budget(self) -> bool:
        """Whether our bounds ended the work, rather than the template or the engine."""
        return self.kind in {"timeout", "too-large"}


@dataclass(frozen=True, slots=True)
class Observation:
    """One cell: a prompt, or an error."""

    prompt: str | None = None
    error: RenderError | None = None


# ---------------------------------------------------------------------------------------- findings


@dataclass(frozen=True)
class Card:
    """The page of a rule: what `rules/TLxxx.md` says in its head, and its prose.

    Attributes:
        command: the command that tells of it: `lint` (and then `vet` too), or `vet` or `pin` alone.
    """

    id: str
    name: str
    title: str
    impact: Impact
    need: str
    since: str
    fix: str
    subsumed_by: tuple[str, ...]
    prose: str = field(repr=False)
    command: str = "lint"


@dataclass(frozen=True)
class Fault:
    """A rule's verdict on one engine, before severity: what a check yields.

    Attributes:
        message: the fact with its values in one clause.
        help: the cure.
        cases: ids of the cells that show it.
        cause: what makes two faults of a rule the same one; equal causes merge over engines.
        span: offsets of the construct in the template, where one is known.
        impact: overrides the card's.
        need: overrides the card's.
        total: nothing of what the rule is about works, so that what follows from it need not be said.
        partial: some of what the rule is about works, so that it does not follow from a larger loss.
        related: further places that a reader needs to see: offsets in the template, and what stands there.
        engines: of a verdict on a model as a whole: those that it is about; None for all that were asked.
    """

    message: str
    help: str
    cases: tuple[str, ...] = ()
    cause: str = ""
    span: tuple[int, int] | None = None
    impact: Impact | None = None
    need: str | None = None
    total: bool = True
    partial: bool = False
    related: tuple[tuple[tuple[int, int], str], ...] = ()
    engines: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """A second place of a finding, in the real file, and what stands there in a clause; `line` is the template's."""

    message: str
    place: Place
    end: Place
    line: int


class Effect(NamedTuple):
    """What a verdict means for a need on an engine, whatever it weighs.

    Attributes:
        partial: it is about one shape of what the need is about, and the others work.
    """

    engine: str
    need: str
    impact: Impact
    partial: bool = False


@dataclass(frozen=True)
class Finding:
    """A rule's verdict on a template, with the engines that show it, evidence and a remedy.

    Attributes:
        ref: the reference as typed, with `#NAME` where a named template is meant.
        place: in the real file.
        end: just behind the construct, in the real file.
        span: offsets in the template for the caret; None where the finding is about the whole.
        excerpt: the decoded template line that holds the span's start (empty without a span).
        excerpt_line: its number in the template.
        excerpt_column: where the span starts in the excerpt, counted from 1 (0 without a span).
        evidence: (case, engine) cells that anyone can re-run with `render`.
        fingerprint: stable over edits elsewhere in the file; holds no line number.
        locatable: lines and columns are those of a text file (not of a template inside a GGUF).
        replay: flags that `render` needs to show a cell of it, beside those that the user gave.
        effects: what it means for each need and engine, with what follows from it and is not told for itself.
    """

    rule: str
    name: str
    severity: Severity
    message: str
    help: str
    ref: str
    template: str
    place: Place
    end: Place
    engines: tuple[str, ...]
    needs: tuple[str, ...]
    evidence: tuple[tuple[str, str], ...]
    fingerprint: str
    span: tuple[int, int] | None = None
    excerpt: str = ""
    excerpt_line: int = 0
    excerpt_column: int = 0
    related: tuple[Related, ...] = ()
    locatable: bool = True
    replay: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True)
class Suppressed:
    """A finding that the user accepts: kept and counted, but neither shown to people nor decisive.

    Attributes:
        kind: what accepts it: a comment in the template, a per-file ignore of the settings, or the baseline.
        reason: the user's words; empty where a baseline gives none.
        place: where the comment or the entry stands; None where only its file is known.
    """

    finding: Finding
    kind: Literal["comment", "per-file", "baseline"]
    reason: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class NotRun:
    """A check that gave no verdict, and why: silence is a claim, so this is said.

    Attributes:
        no_answer: the run as a whole cannot say how it ended: a rule crashed, or no engine judged the template.
    """

    rule: str
    ref: str
    why: str
    no_answer: bool = False


@dataclass(frozen=True, slots=True)
class EngineUse:
    """An engine as it took part in a run."""

    name: str
    renderer: str
    version: str
    emulated: bool


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """A template as it took part in a run."""

    ref: str
    name: str
    path: str
    sha256: str


@dataclass(frozen=True)
class Report:
    """What `lint` found."""

    engines: tuple[EngineUse, ...]
    templates: tuple[TemplateUse, ...]
    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...] = ()
    not_run: tuple[NotRun, ...] = ()

    def count(self, severity: Severity) -> int:
        """How many findings have that severity."""
        return sum(finding.severity == severity for finding in self.findings)

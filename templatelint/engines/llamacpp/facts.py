"""`b11549.toml` → what the modelled build of llama.cpp decides by substrings of a template's source."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_FILE = "b11549.toml"


@dataclass(frozen=True, slots=True)
class Condition:
    """Texts that a template's source must, may and must not contain."""

    all: tuple[str, ...]
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()

    def holds(self, source: str) -> bool:
        """Whether the source meets it."""
        return (
            all(text in source for text in self.all)
            and (not self.any or any(text in source for text in self.any))
            and not any(text in source for text in self.none)
        )


@dataclass(frozen=True, slots=True)
class SourcePatch:
    """A guard of known templates that llama.cpp switches off before it parses them."""

    condition: Condition
    guard: str


@dataclass(frozen=True, slots=True)
class Handler:
    """How a family of templates is served instead of by analysis; texts as `b11549.toml` explains them.

    Attributes:
        thinking: what it says about support of thinking; a text stands for "where the source has it".
        rewrite: what it does to messages before rendering; empty for nothing.
        finish: what it does to the prompt; empty for nothing.
        cue: the generation prompt that it announces whatever the template prints; empty for none.
        turn, turn_after: `finish = "open_turn"` appends the one to a prompt that ends in the other.
        efforts: reasoning effort → word in the place of `think` in the tags, unless thinking is off and the
            source has `efforts_unless`.
        closing: what ends reasoning in a reply, where `end` says more than that.
        opening: what a reply must begin with.
        bare_end: a continued message without reasoning starts with `end`.
        schema_variable: the name under which the template sees the schema of the answer; empty for none.
        free_calls: schemas of tools are not converted, so that none is refused.
        free_answer: the same of the schema of the answer.
    """

    name: str
    condition: Condition
    thinking: bool | str
    rewrite: str = ""
    finish: str = ""
    cue: str = ""
    turn: str = ""
    turn_after: str = ""
    prefix: str = ""
    start: str = ""
    end: str = ""
    efforts: Mapping[str, str] = field(default_factory=dict)
    efforts_unless: str = ""
    closing: str = ""
    opening: str = ""
    bare_end: bool = False
    schema_variable: str = ""
    free_calls: bool = False
    free_answer: bool = False

    def supports_thinking(self, source: str) -> bool:
        """What llama.cpp tells of a template with that source."""
        return self.thinking in source if isinstance(self.thinking, str) else self.thinking


@dataclass(frozen=True, slots=True)
class AnalysisPatch:
    """A correction to what the analysis finds.

    Attributes:
        only_without: `reasoning`, where the analysis found none; else a field that must be empty.
        values: field → value.
        trims: fields that lose the white space around them.
    """

    condition: Condition
    only_without: str
    values: Mapping[str, Any]
    trims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What llama.cpp makes of a vocabulary.

    Attributes:
        adds_bos, adds_eos, adds_bos_by_pre, always_bos: which vocabularies add BOS and EOS where the file does not
            say, by `tokenizer.ggml.model` and `.pre`.
        ends: the tokens that end generation besides EOS.
        open_ends: a token that does not where those of one list are all there.
    """

    adds_bos: tuple[str, ...]
    adds_eos: tuple[str, ...]
    adds_bos_by_pre: tuple[str, ...]
    always_bos: tuple[str, ...]
    ends: tuple[str, ...]
    open_ends: Mapping[str, tuple[tuple[str, ...], ...]]


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything of the kind that the model of the engine needs.

    Attributes:
        trims_texts: a source with this text gets messages without white space around their texts.
        keeps_developer: a source with this text sees the role `developer`; others see `system`.
    """

    build: str
    read: str
    source_patches: tuple[SourcePatch, ...]
    trims_texts: str
    keeps_developer: str
    handlers: tuple[Handler, ...]
    analysis_patches: tuple[AnalysisPatch, ...]
    vocabulary: Vocabulary

    def patched(self, source: str) -> str:
        """The source that llama.cpp parses; lines keep their numbers."""
        for patch in self.source_patches:
            if patch.condition.holds(source):
                source = source.replace(patch.guard, "{%- if false %}")
        return source

    def handler(self, source: str) -> Handler | None:
        """The handler that serves a template with that source, if any."""
        return next((handler for handler in self.handlers if handler.condition.holds(source)), None)


@cache
def load() -> Facts:
    """The facts at hand."""
    import tomllib

    table = tomllib.loads(Path(__file__).with_name(_FILE).read_text("utf-8"))
    return Facts(
        build=table["build"],
        read=table["read"],
        source_patches=tuple(SourcePatch(_condition(entry), entry["guard"]) for entry in table["source_patch"]),
        trims_texts=table["treatment"]["trims_texts"],
        keeps_developer=table["treatment"]["keeps_developer"],
        handlers=tuple(_handler(entry) for entry in table["handler"]),
        analysis_patches=tuple(
            AnalysisPatch(
                _condition(entry), entry.get("only_without", ""), entry.get("set", {}), tuple(entry.get("trim", ()))
            )
            for entry in table["analysis_patch"]
        ),
        vocabulary=_vocabulary(**table["vocabulary"]),
    )


def _vocabulary(open_ends: Mapping[str, list[list[str]]], **lists: list[str]) -> Vocabulary:
    return Vocabulary(
        **{name: tuple(values) for name, values in lists.items()},
        open_ends={end: tuple(map(tuple, beside)) for end, beside in open_ends.items()},
    )


def _condition(entry: Mapping[str, Any]) -> Condition:
    return Condition(tuple(entry["all"]), tuple(entry.get("any", ())), tuple(entry.get("none", ())))


def _handler(entry: Mapping[str, Any]) -> Handler:
    own = {name: value for name, value in entry.items() if name not in ("all", "any", "none")}
    return Handler(condition=_condition(entry), **own)

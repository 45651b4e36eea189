"""What models were recorded to write, of nine families: read as it has to be, in pieces, cut, and damaged."""

from __future__ import annotations

import json
import math
import random
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from canitoolcall.checks import compare, expected_as_result
from canitoolcall.fixtures import load_families, load_fixtures
from canitoolcall.results import ParsedToolCall, ParseResult, Status

from templatelint.dialects.reader import Reader, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from canitoolcall.fixtures import Fixture

    from templatelint.dialects.reply import Reply, ToolCall

# family → how many outputs were recorded
FAMILIES = {
    "deepseek": 85,
    "gemma4": 48,
    "glm": 51,
    "gpt-oss": 51,
    "kimi": 49,
    "llama": 34,
    "mistral": 47,
    "qwen3-hermes": 50,
    "qwen3-xml": 54,
}
# family, or a tag of the output where a family has several → the dialect that it is written in
DIALECTS = {
    "x-deepseek-v3": "deepseek-v3",
    "x-deepseek-v31": "deepseek-v3.1",
    "x-deepseek-v32": "deepseek-v3.2",
    "x-deepseek-v4": "deepseek-v4",
    "x-deepseek-v41": "deepseek-v4.1",
    "x-kimi-k2": "kimi-k2",
    "x-kimi-k3": "kimi-k3",
    "x-llama-json": "llama3-json",
    "x-llama-pythonic": "pythonic",
    "gemma4": "gemma4",
    "glm": "glm",
    "gpt-oss": "harmony",
    "mistral": "mistral",
    "qwen3-hermes": "hermes",
    "qwen3-xml": "qwen3-coder",
}
# output → why it is read otherwise than recorded
OTHERWISE = {
    "gemma4/sglang-text-before-call": "keeps the blank before a call; gemma4/vllm-text-before-call drops it",
    "gemma4/sglang-text-around-call": "keeps the blanks on both sides of a call; we have one in their place",
}
DAMAGED = 10_000


@cache
def recorded(family: str) -> tuple[Fixture, ...]:
    return tuple(load_fixtures(families=[family]))


@cache
def default_prefix(family: str, model: str) -> str | None:
    reference = load_families()[family].reference_for(model)
    return None if reference is None else reference.default_generation_prompt


def arguments(output: Fixture) -> tuple[str, list[Any] | None, str | None]:
    """Dialect, tools and prefix of an output, as `parse` takes them."""
    dialect = next(DIALECTS[name] for name in (*output.tags, output.family) if name in DIALECTS)
    prefix = output.generation_prompt
    return dialect, list(output.tools), default_prefix(output.family, output.models[0]) if prefix is None else prefix


def in_pieces(pieces: Iterator[str], output: Fixture) -> Reply:
    reader = Reader(*arguments(output))
    for piece in pieces:
        reader.feed(piece)
    return reader.close()


def is_as_recorded(output: Fixture, reply: Reply) -> bool:
    if output.expected is not None:
        calls = tuple(ParsedToolCall(call.name, json.dumps(call.arguments)) for call in reply.tool_calls)
        found = ParseResult(content=reply.content, reasoning_content=reply.reasoning_content, tool_calls=calls)
        return compare(expected_as_result(output.expected), found) is Status.PASS
    assert output.expected_error is not None
    passed_on = reply.content == output.raw_output
    return not (
        reply.tool_calls or reply.complete or (passed_on and "content_passthrough" not in output.expected_error.accept)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_outputs_are_read_as_they_have_to_be(family: str) -> None:
    outputs = recorded(family)
    otherwise = [
        output.id for output in outputs if not is_as_recorded(output, parse(output.raw_output, *arguments(output)))
    ]
    assert len(outputs) == FAMILIES[family]
    assert otherwise == [name for name in OTHERWISE if name.startswith(f"{family}/")]


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_outputs_are_read_the_same_character_by_character(family: str) -> None:
    for output in recorded(family):
        assert in_pieces(iter(output.raw_output), output) == parse(output.raw_output, *arguments(output)), output.id


# ------------------------------------------------------------------------------------------ cut and damaged

MARKS = re.compile(r"<[^<>\s]{1,40}>|\[[A-Z_]+\]|[{}\[\]()\"',:=\\]|```")


def damage(text: str, chance: random.Random) -> str:
    """The text with something deleted, doubled, moved, replaced, or put in."""
    start = chance.randrange(len(text) + 1)
    end = min(len(text), start + chance.choice((1, 1, 1, 3, 10, 40)))
    marks: list[str] = MARKS.findall(text) or ["<"]
    kind = chance.choice(("delete", "double", "move", "character", "mark", "lose a mark"))
    if kind == "delete":
        return text[:start] + text[end:]
    if kind == "double":
        return text[:end] + text[start:end] + text[end:]
    if kind == "move":
        rest, to = text[:start] + text[end:], chance.randrange(len(text) - (end - start) + 1)
        return rest[:to] + text[start:end] + rest[to:]
    if kind == "character":
        return text[:start] + chance.choice("x7 \n\"'\\{}[]()<>|:,=/\u00e9\0") + text[start + 1 :]
    if kind == "mark":
        return text[:start] + chance.choice(marks) + text[start:]
    start, end = chance.choice([found.span() for found in MARKS.finditer(text)] or [(0, 0)])
    return text[:start] + text[end:]


def random_pieces(text: str, chance: random.Random) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = chance.choice((1, 2, 5, 20, 80))
        yield text[at : at + size]
        at += size


def examples(family: str) -> Iterator[tuple[Fixture, random.Random]]:
    """The family's share of the damaged outputs."""
    chance = random.Random(family)  # noqa: S311 (the same damage in every run)
    outputs = recorded(family)
    for number in range(math.ceil(DAMAGED * len(outputs) / sum(FAMILIES.values()) / 2)):
        yield outputs[number % len(outputs)], chance


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cut_output_has_no_call_that_the_whole_does_not_begin_with(family: str) -> None:
    for output, chance in examples(family):
        text = output.raw_output[: chance.randrange(len(output.raw_output) + 1)]
        reply = parse(text, *arguments(output))
        assert in_pieces(random_pieces(text, chance), output) == reply, (output.id, text)
        whole = parse(output.raw_output, *arguments(output)).tool_calls
        assert reply.tool_calls == whole[: len(reply.tool_calls)], (output.id, text)


@pytest.mark.parametrize("family", FAMILIES)
def test_of_a_damaged_output_nothing_is_read_that_does_not_stand_there(family: str) -> None:
    for output, chance in examples(family):
        text = output.raw_output
        for _ in range(chance.choice((1, 1, 2, 4))):
            text = damage(text, chance)
        reply = parse(text, *arguments(output))
        assert in_pieces(random_pieces(text, chance), output) == reply, (output.id, text)
        assert list(invented(text, reply.tool_calls)) == [], (output.id, text)


ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# what no syntax escapes
PLAIN = re.compile(r"""[^\\"'&<>\x00-\x1f]+""")
WORDS = {None: ("null", "none"), True: ("true",), False: ("false",)}


def invented(text: str, calls: tuple[ToolCall, ...]) -> Iterator[str]:
    """What of the calls does not stand in the text: more calls than names, other keys or values."""
    for name in {call.name for call in calls}:
        if sum(call.name == name for call in calls) > text.count(name):
            yield f"{name} is called more often than it is named"
    for call in calls:
        for value in leaves(call.arguments):
            if not stands(text, value):
                yield f"{value!r} of {call.name}"


def stands(text: str, value: Any) -> bool:
    """Whether a number or word stands in a text, or the parts of a text that nothing escapes, in their order."""
    if value is None or isinstance(value, bool):
        return any(word in text.lower() for word in WORDS[value])
    if not isinstance(value, str):
        return any(float(found) == float(value) for found in NUMBER.findall(text))
    return any(in_order(PLAIN.findall(value), form) for form in (text, unescaped(text)))


def in_order(parts: list[str], text: str) -> bool:
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def unescaped(text: str) -> str:
    """The text with letters for the numbers of letters that JSON has."""
    units: str = ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return str(units.encode("utf-16-le", "surrogatepass"), "utf-16-le", "replace")


def leaves(value: Any) -> Iterator[Any]:
    """All keys, texts, numbers and constants of JSON data."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value

"""Dialects whose calls are JSON objects between marks: hermes and many others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from templatelint.dialects import python_literals
from templatelint.dialects.dialect import Dialect, ReadCalls, Reading, WriteCalls
from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Malformed, Step, extent_of, parse_json

_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args")
_IDS = ("id", "tool_call_id")
_TYPES = ("function", "tool_call", "function_call", "tool_use")
_brackets = extent_of(r"[}\]\s]+")
_NAME = re.compile(r"[\w.:/-]+")

# ------------------------------------------------------------------------------------------ JSON that is a call


def call_of(found: Any, *, whole: bool = False) -> ToolCall:
    """A JSON object as a call: flat, or inside `function`; arguments may be a JSON text.

    Args:
        found: what the JSON says.
        whole: nothing but the JSON says that it is a call: it must have arguments.

    Raises:
        Malformed: it is none.
    """
    if not isinstance(found, Mapping):
        raise Malformed("a call as a JSON object expected")
    inner = found.get("function")
    if isinstance(inner, Mapping):
        found = {**found, **inner}
    name = _first(found, _NAMES) or (inner if isinstance(inner, str) else None)
    if not isinstance(name, str) or not is_name(name):
        raise Malformed("a call has no name")
    if whole and not any(key in found for key in _ARGUMENTS):
        raise Malformed("a call has no arguments")
    if _is_definition(found):
        raise Malformed("the definition of a tool is no call")
    identifier = _first(found, _IDS)
    return ToolCall(name, arguments_of(_first(found, _ARGUMENTS)), None if identifier is None else str(identifier))


def is_name(name: Any) -> bool:
    """Whether a function may have that name."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _first(found: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((found[name] for name in names if name in found), None)


def _is_definition(found: Mapping[str, Any]) -> bool:
    """Whether it is a tool that could be called: models repeat what the prompt lists."""
    schema = found.get("parameters")
    return isinstance(schema, Mapping) and (
        "description" in found or (schema.get("type") == "object" and isinstance(schema.get("properties"), Mapping))
    )


def arguments_of(found: Any) -> Mapping[str, Any]:
    """Arguments as data; a JSON text is parsed, nothing is no arguments.

    Raises:
        Malformed: they are no object.
    """
    if isinstance(found, str):
        try:
            found = parse_json(found) if found.strip() else None
        except ValueError as error:
            raise Malformed(f"arguments as text that is no JSON: {error}") from error
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise Malformed("arguments that are no object")
    return found


def calls_of(found: Any, *, whole: bool = False) -> list[ToolCall]:
    """One call, or an array of them.

    Raises:
        Malformed: anything else.
    """
    return [call_of(item, whole=whole) for item in found] if isinstance(found, list) else [call_of(found, whole=whole)]


def _single(found: Any) -> list[ToolCall]:
    return [call_of(found)]


def _keyed(found: Any) -> list[ToolCall]:
    """Calls as objects whose keys are the names, alone or in an array."""
    objects = found if isinstance(found, list) else [found]
    if not all(isinstance(item, Mapping) and all(map(is_name, item)) for item in objects):
        raise Malformed("an object of names and arguments expected")
    return [ToolCall(name, arguments_of(arguments)) for item in objects for name, arguments in item.items()]


# ---------------------------------------------------------------------------------------------------- reading


def value(reading: Reading) -> Step[Any]:
    """Read one JSON value; models whose template prints Python's literals write those.

    Raises:
        Cut: the reply ends inside it.
        Malformed: it is neither.
    """
    stream = reading.stream
    start = stream.at
    text = yield from stream.json_text()
    try:
        found = parse_json(text)
    except ValueError as error:
        with suppress(Malformed):
            return python_literals.read(text)
        stream.at = start
        raise Malformed(f"JSON that is not valid: {error}") from error
    _note_doubles(reading, text)
    return found


def _note_doubles(reading: Reading, text: str) -> None:
    """Note members of JSON objects of which others have the same key: the last one counts."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in pairs:
            if key in found:
                reading.drop(f"the key {key!r} twice", _member(key, found[key]))
            found[key] = item
        return found

    with suppress(ValueError, RecursionError):
        json.loads(text, strict=False, object_pairs_hook=members)


def note_others(reading: Reading, found: Any) -> None:
    """Note members of calls, or of an array of them, that are no part of a call."""
    for item in found if isinstance(found, list) else [found]:
        if isinstance(item, Mapping):
            inner = item.get("function")
            for members in (item, inner) if isinstance(inner, Mapping) else (item,):
                for key in _others(members):
                    reading.drop(f"the member {key!r}, which calls do not have", _member(key, members[key]))


def _others(members: Mapping[str, Any]) -> Iterator[str]:
    used = [next((key for key in keys if key in members), "") for keys in (_NAMES, _ARGUMENTS, _IDS)]
    for key, item in members.items():
        wrapper = key == "function" and (isinstance(item, Mapping) or not used[0])
        if key not in used and item is not None and not wrapper and not (key == "type" and item in _TYPES):
            yield key


def _member(key: str, item: Any) -> str:
    return f"{dump(key)}: {dump(item)}"


def marked(
    closings: Mapping[str, tuple[str, ...]],
    *,
    calls: Callable[[Any], list[ToolCall]] = calls_of,
    strict: bool = True,
    array: bool = False,
) -> ReadCalls:
    """A reader of blocks `OPENING json CLOSING`; json is a call, an array of calls, or several in a row.

    Args:
        closings: opening mark → those that may close it; none where nothing follows.
        calls: what a JSON value says.
        strict: a closing mark that is missing is worth a word.
        array: calls stand in an array; where the reply may be in another dialect, only there are they believed.
    """

    def read(reading: Reading) -> Step[None]:
        stream = reading.stream
        opening = yield from stream.expect(*closings)
        if array and not reading.own:
            yield from stream.blanks()
            if (yield from stream.starts("{")) is not None:
                raise Malformed("an array expected")
        yield from rows(reading, closings[opening], calls)
        if not strict:
            reading.unclosed = ""

    return read


def rows(reading: Reading, closing: tuple[str, ...], calls: Callable[[Any], list[ToolCall]] = calls_of) -> Step[None]:
    """Read JSON values, each of which is a call or several, and one of the closing marks, if any follows."""
    stream = reading.stream
    while True:
        yield from stream.blanks()
        found = yield from value(reading)
        for call in calls(found):
            reading.emit(call)
        if calls is not _keyed:
            note_others(reading, found)
        reading.empty = not reading.found
        behind = stream.at
        yield from stream.blanks()
        if closing and (yield from _closed(reading, closing)):
            return
        yield from stream.accept(",", ";")
        yield from stream.blanks()
        if (yield from stream.starts("{")) is not None:
            continue
        stream.at = behind
        reading.unclosed = closing[0] if closing else ""
        return


def _closed(reading: Reading, closing: tuple[str, ...]) -> Step[bool]:
    """Read the closing mark; models write brackets too many before it."""
    stream = reading.stream
    start = stream.at
    brackets = yield from stream.run(_brackets)
    if (yield from stream.accept(*closing)) is not None:
        if brackets:
            reading.drop("brackets too many", brackets.rstrip())
        return True
    stream.at = start
    return False


def _hermes(reading: Reading) -> Step[None]:
    """Read a block, or a section of them."""
    stream = reading.stream
    section = yield from stream.accept("<tool_calls>")
    while True:
        yield from stream.blanks()
        yield from stream.expect("<tool_call>")
        yield from rows(reading, ("</tool_call>",), _single)
        if section is None:
            return
        behind = stream.at
        yield from stream.blanks()
        if (yield from stream.accept("</tool_calls>")) is not None:
            return
        if (yield from stream.starts("<tool_call>")) is None:
            stream.at = behind
            reading.unclosed = "</tool_calls>"
            return


# ---------------------------------------------------------------------------------------------------- writing


def dump(found: Any) -> str:
    """Data as models write JSON: on one line, with every letter as it is.

    Raises:
        ValueError: it is no JSON.
    """
    return json.dumps(found, ensure_ascii=False, allow_nan=False)


def named(call: ToolCall) -> str:
    """The name of a call.

    Raises:
        ValueError: no function may have it.
    """
    if not is_name(call.name):
        raise ValueError(f"{call.name!r} is no name of a function")
    return call.name


def written(opening: str, closing: str, *, keys: tuple[str, str] = ("name", "arguments"), gap: str = "") -> WriteCalls:
    """A writer of `OPENING json CLOSING`, a block a call."""

    def write(calls: Sequence[ToolCall]) -> str:
        return gap.join(f"{opening}{dump(_object(call, keys))}{closing}" for call in calls)

    return write


def written_array(opening: str, closing: str, *, keys: tuple[str, str] = ("name", "arguments")) -> WriteCalls:
    """A writer of `OPENING [json, …] CLOSING`, one block for all calls."""

    def write(calls: Sequence[ToolCall]) -> str:
        return f"{opening}{dump([_object(call, keys) for call in calls])}{closing}" if calls else ""

    return write


def _object(call: ToolCall, keys: tuple[str, str]) -> dict[str, Any]:
    name, arguments = keys
    return {name: named(call), arguments: call.arguments}


def _write_falcon(calls: Sequence[ToolCall]) -> str:
    found = [
        {"type": "function", "function": _object(call, ("name", "arguments"))} | ({"id": call.id} if call.id else {})
        for call in calls
    ]
    return f"<tool_call>\n{dump(found)}\n</tool_call>" if calls else ""


def _write_minimax_m1(calls: Sequence[ToolCall]) -> str:
    lines = [dump(_object(call, ("name", "arguments"))) for call in calls]
    return "\n".join(["<tool_calls>", *lines, "</tool_calls>"]) if calls else ""


def _write_command_r7b(calls: Sequence[ToolCall]) -> str:
    found = [
        {"tool_call_id": call.id or str(number), **_object(call, ("tool_name", "parameters"))}
        for number, call in enumerate(calls)
    ]
    return f"<|START_ACTION|>{dump(found)}<|END_ACTION|>" if calls else ""


def _write_apertus(calls: Sequence[ToolCall]) -> str:
    return f"<|tools_prefix|>{dump([{named(call): call.arguments} for call in calls])}<|tools_suffix|>" if calls else ""


# --------------------------------------------------------------------------------------------------- dialects

HERMES = Dialect(
    name="hermes",
    openings=("<tool_call>", "<tool_calls>"),
    read=_hermes,
    write=written("<tool_call>\n", "\n</tool_call>", gap="\n"),
    signature=r"<tool_call>\s*\{",
    dropped=("<|im_end|>",),
    aliases=("qwen", "qwen2.5", "qwen25", "qwen3", "qwen3-json", "granite4", "ernie4.5", "ernie45"),
)
FALCON = Dialect(
    name="falcon",
    openings=("<tool_call>",),
    read=marked({"<tool_call>": ("</tool_call>",)}),
    write=_write_falcon,
    signature=r"<tool_call>\s*\[",
    aliases=("falcon3", "falcon-h1"),
)
GRANITE = Dialect(
    name="granite",
    openings=("<|tool_call|>", "<tool_call>"),
    read=marked(
        {"<|tool_call|>": ("<|tool_call_end|>", "<|/tool_call|>"), "<tool_call>": ("</tool_call>",)}, strict=False
    ),
    write=written_array("<|tool_call|>", ""),
    signature=r"<\|tool_call\|>\s*[\[{]",
    dropped=("<|end_of_text|>",),
    aliases=("granite3",),
)
GRANITE_20B_FC = Dialect(
    name="granite-20b-fc",
    openings=("<function_call>",),
    read=marked({"<function_call>": ("</function_call>",)}, strict=False),
    write=written("<function_call> ", "", gap=" "),
    signature=r"<function_call>\s*\{",
)
# Two templates' models write the same: only the mark behind the turn tells one from the other.
HUNYUAN_A13B = Dialect(
    name="hunyuan-a13b",
    openings=("<tool_calls>",),
    read=marked({"<tool_calls>": ("</tool_calls>",)}, array=True),
    write=written_array("<tool_calls>", "</tool_calls>"),
    signature=r"<tool_calls>\s*\[[\s\S]*</tool_calls>\s*(?:</answer>\s*)?<\|eos\|>",
    dropped=("<answer>", "</answer>", "<|eos|>"),
)
JAMBA = Dialect(
    name="jamba",
    openings=("<tool_calls>",),
    read=marked({"<tool_calls>": ("</tool_calls>",)}, array=True),
    write=written_array("<tool_calls>", "</tool_calls>"),
    signature=r"<tool_calls>\s*\[",
    dropped=("<|eom|>",),
    aliases=("apriel",),
)
MINIMAX_M1 = Dialect(
    name="minimax-m1",
    openings=("<tool_calls>",),
    read=marked({"<tool_calls>": ("</tool_calls>",)}),
    write=_write_minimax_m1,
    signature=r"<tool_calls>\s*\{",
)
NEMOTRON_NANO_V2 = Dialect(
    name="nemotron-nano-v2",
    openings=("<TOOLCALL>",),
    read=marked({"<TOOLCALL>": ("</TOOLCALL>",)}),
    write=written_array("<TOOLCALL>", "</TOOLCALL>"),
    signature=r"<TOOLCALL>\s*[\[{]",
    dropped=("<SPECIAL_12>",),
    aliases=("nemotron", "nemotron-json"),
)
COMMAND_R = Dialect(
    name="command-r",
    openings=("Action:```json", "Action: ```json", "Action:\n```json", "Action:\r\n```json"),
    read=marked({f"Action:{gap}```json": ("```",) for gap in ("", " ", "\n", "\r\n")}),
    write=written_array("Action: ```json\n", "\n```", keys=("tool_name", "parameters")),
    signature=r"Action:\s*```json\s*\[",
    dropped=("<|END_OF_TURN_TOKEN|>",),
    aliases=("command-r-plus",),
)
COMMAND_R7B = Dialect(
    name="command-r7b",
    openings=("<|START_ACTION|>",),
    read=marked({"<|START_ACTION|>": ("<|END_ACTION|>",)}),
    write=_write_command_r7b,
    signature=r"<\|START_ACTION\|>\s*\[",
    reasoning=(("<|START_THINKING|>", "<|END_THINKING|>"),),
    dropped=(
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        "<|START_TEXT|>",
        "<|END_TEXT|>",
        "<|START_OF_TURN_TOKEN|>",
        "<|CHATBOT_TOKEN|>",
        "<|END_OF_TURN_TOKEN|>",
    ),
    aliases=("command-a", "north", "cohere-command3", "cohere-command4"),
)
PHI4_MINI = Dialect(
    name="phi4-mini",
    openings=("functools[", "<|tool_call|>"),
    read=marked({"functools": (), "<|tool_call|>": ("<|/tool_call|>",)}, strict=False),
    write=written_array("functools", ""),
    signature=r"functools\s*\[",
    dropped=("<|end|>",),
    aliases=("phi4-mini-json",),
)
INTERNLM = Dialect(
    name="internlm",
    openings=("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"),
    read=marked({f"<|action_start|>{gap}<|plugin|>": ("<|action_end|>",) for gap in ("", " ")}),
    write=written("<|action_start|><|plugin|>\n", "\n<|action_end|>", keys=("name", "parameters"), gap="\n"),
    signature=r"<\|action_start\|>\s*<\|plugin\|>\s*\{",
    dropped=("<|im_end|>",),
    aliases=("internlm2", "interns1", "intern-s1"),
)
APERTUS = Dialect(
    name="apertus",
    openings=("<|tools_prefix|>",),
    read=marked({"<|tools_prefix|>": ("<|tools_suffix|>",)}, calls=_keyed),
    write=_write_apertus,
    signature=r"<\|tools_prefix\|>\s*\[",
    reasoning=(("<|inner_prefix|>", "<|inner_suffix|>"),),
    dropped=("<|assistant_end|>",),
    aliases=("apertus2509",),
)
HYPERCLOVAX = Dialect(
    name="hyperclovax",
    openings=("-> tool/function_call",),
    read=marked({"-> tool/function_call": ()}),
    write=written_array(" -> tool/function_call\n", ""),
    signature=r"-> tool/function_call\s*\[",
    dropped=("<|im_end|>", "<|im_start|>assistant", "<|stop|>"),
    aliases=("hyperclova-x", "hcx"),
)
GIGACHAT3 = Dialect(
    name="gigachat3",
    openings=("function call<|role_sep|>", "<|function_call|>"),
    read=marked({"function call<|role_sep|>": (), "<|function_call|>": ()}),
    write=written("<|function_call|>", ""),
    signature=r"(?:function call<\|role_sep\|>|<\|function_call\|>)\s*\{",
    dropped=("<|message_sep|>", "assistant<|role_sep|>"),
    aliases=("gigachat",),
)

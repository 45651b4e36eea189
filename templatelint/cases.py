"""Turns the conversations of the corpus into cases, and an id with cut and variants into what it stands for."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from templatelint.data import folder
from templatelint.errors import TemplatelintError, clip
from templatelint.model import Case
from templatelint.nearest import unknown
from templatelint.traffic import read_json, request_from_openai

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from templatelint.model import ClientForm, Request

# Where the clock of the corpus stands. Local time without a zone, as transformers gives it to `strftime_now`.
FIXED_NOW = datetime.fromisoformat("2026-03-02T09:30:00")
# How far a day of a case puts the clock: at another time of the day, too, for prompts that tell the time alone.
DAY = timedelta(days=1, hours=5, minutes=7, seconds=9)

VARIANTS: Mapping[str, str] = MappingProxyType(
    {
        "nogen": "without the generation prompt",
        "wire": "in OpenAI wire form",
        "native": "in Python form: arguments as mappings, no null members",
        "tomorrow": "a day later, at another time of day",
        "notools": "without its tool definitions",
        "typed": "content as a list of parts",
        "shortids": "call ids of nine letters and digits",
        "optional": "no parameter of a tool is required",
        "empty": 'content "" where tool calls have none',
        "mapping": "arguments as mappings, null members kept",
        "reasoning": "reasoning in the field `reasoning`",
        "thinking": "reasoning in the field `thinking`",
    }
)

# the fields of a message that templates take reasoning from
_REASONING = frozenset({"reasoning_content", "reasoning", "thinking"})
_CURE = "the files of corpus/ are not as they were installed: install templatelint again"


def all_cases() -> Mapping[str, Case]:
    """The base cases of `corpus/conversations`, by id in alphabetical order."""
    return MappingProxyType({case_id: get(case_id) for case_id in _ids()})


@cache
def get(case_id: str) -> Case:
    """The case of an id: a base case (`tool-loop`), cut (`@3`: its first 3 messages), varied (`+nogen+wire`).

    `+NAME=JSON` sets a template variable of the request (`chat-basic+enable_thinking=false`).

    Raises:
        TemplatelintError: no such case, cut or variant.
    """
    stem, *variants = case_id.split("+")
    base, cut, count = stem.partition("@")
    if base not in _ids():
        error = unknown("case", base, _ids())
        raise TemplatelintError(error.message, help=error.help or "`templatelint cases` lists them")
    case = _load(base)
    if cut:
        case = _first_messages(case, count)
    for variant in variants:
        case = _varied(case, variant)
    return replace(case, id=case_id)


def snapshots(case_id: str) -> tuple[str, ...]:
    """The growing cuts at which a client really sends a request: where the assistant is to speak next.

    Those are the ends of runs of user and tool messages; the last one is the case itself where it ends so.
    `snapshots("tool-loop")` is `("tool-loop@1", "tool-loop@3", "tool-loop@5", "tool-loop")`; variants carry over.
    """
    stem, plus, variants = case_id.partition("+")
    base = stem.partition("@")[0]
    roles = [message["role"] for message in get(case_id).request.messages]
    cuts = [f"{base}@{count}{plus}{variants}" for count in range(1, len(roles))] + [case_id]
    return tuple(
        cut
        for cut, role, following in zip(cuts, roles, [*roles[1:], "assistant"], strict=True)
        if role in ("user", "tool") and following == "assistant"
    )


def clock(case: Case) -> datetime:
    """The date and time that a template's clock shows while it renders the case."""
    return FIXED_NOW + case.day * DAY


# ------------------------------------------------------------------------------------------ client forms


def to_form(request: Request, form: ClientForm) -> Request:
    """The request as a client of that kind hands it over.

    `wire` is the request as it is (arguments as JSON strings, `content: null`). `native` is the Python data that
    callers of transformers pass: arguments that are JSON objects become mappings (anything else stays a string),
    members of a message that are null are absent.
    """
    if form == "wire":
        return request
    return replace(request, messages=[_native_message(message) for message in request.messages])


def _native_message(message: Mapping[str, Any]) -> dict[str, Any]:
    native = {name: value for name, value in message.items() if value is not None}
    if isinstance(native.get("tool_calls"), list):
        native["tool_calls"] = [_native_call(call) for call in native["tool_calls"]]
    return native


def _native_call(call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        return call
    import json

    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        return call
    return {**call, "function": {**function, "arguments": arguments}} if isinstance(arguments, dict) else call


# --------------------------------------------------------------------------------------- cuts and variants


def _first_messages(case: Case, count: str) -> Case:
    messages = case.request.messages
    cuts = {str(number): number for number in range(1, len(messages) + 1)}
    if count not in cuts:
        raise TemplatelintError(
            f'case "{case.id}" has no cut @{count}',
            help=f"it has {len(messages)} messages: @N with N from 1 to {len(messages)} keeps the first N",
        )
    return _with_request(
        case, f"the first {count} of {len(messages)} messages", replace(case.request, messages=messages[: cuts[count]])
    )


def _varied(case: Case, variant: str) -> Case:
    name, equals, value = variant.partition("=")
    if name and equals:
        return _with_variable(case, name, value)
    if variant not in VARIANTS:
        raise unknown("case variant", variant, VARIANTS)
    said, request = VARIANTS[variant], case.request
    without = {
        "nogen": lambda: replace(request, add_generation_prompt=False),
        "notools": lambda: replace(request, tools=None),
        "typed": lambda: replace(request, messages=[*map(_typed, request.messages)]),
        "optional": lambda: replace(request, tools=request.tools and [*map(_without_required, request.tools)]),
    }
    if variant in without:
        return _with_request(case, said, without[variant]())
    varied = replace(case, isolates=f"{case.isolates}; {said}")
    if variant == "shortids":
        return _with_short_ids(varied)
    changed: Mapping[str, Callable[[], dict[str, Any]]] = {
        "tomorrow": lambda: {"day": case.day + 1},
        "wire": lambda: {"form": "wire"},
        "native": lambda: {"form": "native"},
        "empty": lambda: {"request": _with_content(request)},
        "mapping": lambda: {"form": "wire", "request": _with_mappings(request)},
        "reasoning": lambda: {"request": _with_field(request, "reasoning")},
        "thinking": lambda: {"request": _with_field(request, "thinking")},
    }
    return replace(varied, **changed[variant]())


def _typed(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message with its text as the one part of a list; results of tools stay strings."""
    if message["role"] == "tool" or not isinstance(message.get("content"), str):
        return message
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def _without_required(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tool without the list that says which of its own parameters are required."""
    function = tool["function"]
    if "parameters" not in function:
        return tool
    parameters = {name: value for name, value in function["parameters"].items() if name != "required"}
    return {**tool, "function": {**function, "parameters": parameters}}


def _with_variable(case: Case, name: str, value: str) -> Case:
    import json

    try:
        variables = {**case.request.variables, name: json.loads(value)}
    except (ValueError, RecursionError) as error:
        raise TemplatelintError(
            f'case variant "{name}=": {clip(value)} is not JSON', help=f'a text keeps its quotes: {name}="..."'
        ) from error
    said = f"{case.isolates}; {name} is {value}"
    return replace(case, isolates=said, request=replace(case.request, variables=variables))


def _with_content(request: Request) -> Request:
    return replace(
        request,
        messages=[
            {**message, "content": ""} if message.get("tool_calls") and message.get("content") is None else message
            for message in request.messages
        ],
    )


def _with_mappings(request: Request) -> Request:
    called = [
        {**message, "tool_calls": [*map(_native_call, message["tool_calls"])]} if message.get("tool_calls") else message
        for message in request.messages
    ]
    return replace(request, messages=called)


def _with_field(request: Request, name: str) -> Request:
    """The request with its reasoning under another name."""
    return replace(
        request,
        messages=[
            {name if key == "reasoning_content" else key: value for key, value in message.items()}
            for message in request.messages
        ],
    )


def _with_short_ids(case: Case) -> Case:
    def shortened(message: Mapping[str, Any]) -> Mapping[str, Any]:
        short = dict(message)
        if "tool_call_id" in short:
            short["tool_call_id"] = _short_id(short["tool_call_id"])
        if short.get("tool_calls"):
            short["tool_calls"] = [{**call, "id": _short_id(call["id"])} for call in short["tool_calls"]]
        return short

    marks = {name: _short_id(mark) if name.endswith(".id") else mark for name, mark in case.marks.items()}
    return replace(case, request=replace(case.request, messages=[*map(shortened, case.request.messages)]), marks=marks)


def _short_id(call_id: str) -> str:
    return call_id[-9:]


def _with_request(case: Case, said: str, request: Request) -> Case:
    """The case with another request, and those marks whose carrier is still there."""
    carriers = _carriers(request)
    marks = {name: mark for name, mark in case.marks.items() if _number(name) <= carriers.get(_kind(name), 0)}
    return replace(case, isolates=f"{case.isolates}; {said}", request=request, marks=marks)


def _kind(mark: str) -> str:
    return mark.partition(".")[0]


def _number(mark: str) -> int:
    """Which carrier of its kind a mark belongs to: 2 of `call.2.value`, 1 of `system`."""
    return int([*mark.split("."), "1"][1])


def _carriers(request: Request) -> dict[str, int]:
    """How many carriers of each kind of mark there are."""
    found = {"tools": len(request.tools or ())}

    def count(kind: str, number: int = 1) -> None:
        found[kind] = found.get(kind, 0) + number

    for message in request.messages:
        if message["role"] != "assistant":
            count(message["role"])
            continue
        if message.get("content"):
            count("assistant")
        if not _REASONING.isdisjoint(message) or "<think>" in str(message.get("content")):
            count("reasoning")
        count("call", len(message.get("tool_calls") or ()))
    return found


# ---------------------------------------------------------------------------------------------- the files


@cache
def _ids() -> tuple[str, ...]:
    names = os.listdir(folder("corpus") / "conversations")  # noqa: PTH208 (a Path for every name costs more than the names)
    return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))


@cache
def _load(base: str) -> Case:
    path = folder("corpus") / "conversations" / f"{base}.json"
    entry = read_json(path, _CURE)
    body = entry["request"]
    if "tools" in body:
        body["tools"] = [_tools()[tool] if isinstance(tool, str) else tool for tool in body["tools"]]
    return Case(
        id=base,
        isolates=entry["isolates"],
        request=request_from_openai(body, where=str(path)),
        marks=entry["marks"],
    )


@cache
def _tools() -> Mapping[str, Any]:
    tools: Mapping[str, Any] = read_json(folder("corpus") / "tools.json", _CURE)
    return tools

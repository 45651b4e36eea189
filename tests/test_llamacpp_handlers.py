"""What llama.cpp's handlers read out of replies: tables of replies, and of what they become.

Each table in data/llamacpp_handlers names, under `facts`, the file and function of llama.cpp b11549 that it is about.
The replies and the small templates were written for these tests; what they become was taken from a build of
llama.cpp's own common/chat.cpp. `tools.json` holds the tools of all requests that have any.

A table: `handler`, `source` (a template that the handler serves) and `settings`, each with the generation prompt and
what differs from a request with tools, several calls and thinking. `replies` are [what, reply, parsed], `steps` are
[length, parsed] for the text `cut`, which reads the same from one length to the next. `parsed` is null where the
request fails, else what is not empty of content, reasoning and calls, these as [name, arguments, id if any].
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from templatelint.engines.llamacpp import facts
from templatelint.engines.llamacpp.parsing import handlers
from templatelint.engines.llamacpp.parsing.reply import NoMatch, Setting

FOLDER = Path(__file__).parent / "data" / "llamacpp_handlers"
TOOLS = json.loads((FOLDER / "tools.json").read_text("utf-8"))
TABLES = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
TABLES.pop("tools")


def settings_with(rows: str) -> list[Any]:
    """The settings of all tables that have such rows."""
    return [
        pytest.param(table, said, id=f"{name}-{number}")
        for name, table in TABLES.items()
        for number, said in enumerate(table["settings"])
        if rows in said
    ]


def setting(table: dict[str, Any], said: dict[str, Any]) -> Setting:
    """What a grammar is told of a request."""
    opening = said.get("opening")
    return Setting(
        generation_prompt=said["generation_prompt"].encode(),
        tools=TOOLS if said.get("tools", True) else (),
        parallel=said.get("parallel", True),
        required=said.get("required", False),
        source=table["source"],
        variables=said.get("variables", {}),
        thinking=said.get("thinking", True),
        schema=said.get("schema"),
        opening=None if opening is None else opening.encode(),
    )


def parsed(table: dict[str, Any], said: dict[str, Any], reply: bytes) -> dict[str, Any] | None:
    """A reply as the tables write it."""
    try:
        found = handlers.parse(table["handler"], reply, setting(table, said))
    except NoMatch:
        return None
    calls = [[part for part in (call.name, call.arguments, call.id) if part] for call in found.calls]
    parts = {"content": found.content, "reasoning": found.reasoning, "calls": calls}
    return {name: part for name, part in parts.items() if part}


@pytest.mark.parametrize(("table", "said"), settings_with("replies"))
def test_replies_become_what_llama_cpp_makes_of_them(table: dict[str, Any], said: dict[str, Any]) -> None:
    expected = {what: (reply, becomes) for what, reply, becomes in said["replies"]}
    found = {what: (reply, parsed(table, said, reply.encode())) for what, (reply, _) in expected.items()}
    assert found == expected


@pytest.mark.parametrize(("table", "said"), settings_with("steps"))
def test_a_reply_may_end_anywhere(table: dict[str, Any], said: dict[str, Any]) -> None:
    text, steps = said["cut"], said["steps"]
    for (start, becomes), (end, _) in zip(steps, [*steps[1:], (len(text) + 1, None)], strict=True):
        found = {length: parsed(table, said, text[:length].encode()) for length in range(start, end)}
        assert found == dict.fromkeys(range(start, end), becomes)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_the_handler_of_a_table_serves_its_template(table: dict[str, Any]) -> None:
    handler = facts.load().handler(table["source"])
    assert handler is not None
    assert handler.name == table["handler"]


def test_every_handler_has_a_parser_and_a_table() -> None:
    names = {handler.name for handler in facts.load().handlers}
    assert set(handlers.NAMES) == names
    assert {table["handler"] for table in TABLES.values()} == names


@pytest.mark.parametrize(
    ("name", "form"), [("kimi_k2", "peg-native"), ("gemma4", "peg-gemma4"), ("minimax_m3", "peg-minimax-m3")]
)
def test_a_reply_that_does_not_fit_fails_with_the_name_of_the_format(name: str, form: str) -> None:
    table = TABLES[name]
    said = table["settings"][0]
    unfit = next(reply for what, reply, _ in said["replies"] if what == "unknown tool")
    required = replace(setting(table, said), required=True)
    with pytest.raises(NoMatch, match=rf"does not match the expected {form} format$"):
        handlers.parse(name, unfit.encode(), required)


# -------------------------------------------------------------------------------------------- hostile replies

HOSTILE: dict[str, str | bytes] = {
    "open brackets": "[" * 20_000,
    "open braces": '{"a":' * 20_000,
    "marks": "<" * 20_000,
    "bytes that are no UTF-8": b"\xff\xc3" * 10_000,
    "blanks": "\n" * 20_000,
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_hostile_reply_is_read_or_refused(table: dict[str, Any], what: str) -> None:
    hostile = HOSTILE[what]
    said = table["settings"][0]
    call = next(reply for name, reply, _ in said["replies"] if name == "nested values").encode()
    filled = hostile if isinstance(hostile, bytes) else hostile.encode()
    places = [place for place in (0, call.find(b"10:00"), call.find(b"Sync"), len(call)) if place >= 0]
    for place in places:
        parsed(table, said, call[:place] + filled + call[place:])


def test_elements_of_a_schema_without_end_are_read() -> None:
    """The recursion over a schema is bounded."""
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(300):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    space = "]<]minimax[>["
    opened = f'{space}<tool_call>{space}<invoke name="f">' + f"{space}<a>" * 300
    table = TABLES["minimax_m3"]
    with pytest.raises(NoMatch):
        handlers.parse("minimax_m3", opened.encode(), Setting(b"", (tool,), source=table["source"]))

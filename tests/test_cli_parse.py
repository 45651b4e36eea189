from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import templatelint

if TYPE_CHECKING:
    from pathlib import Path

    from program import InProcess

HERMES = '<tool_call>\n{"name": "get_rain", "arguments": {"city": "Oslo"}}\n</tool_call>'
OSLO = [{"id": None, "name": "get_rain", "arguments": {"city": "Oslo"}}]
TOOLS = [{"name": "get_rain", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]


def message(content: str | None, calls: list[Any], reasoning: str | None = None) -> dict[str, Any]:
    return {"content": content, "reasoning_content": reasoning, "tool_calls": calls}


@pytest.fixture
def output(folder: Path) -> Path:
    return folder / "output.txt"


def parsed(cli: InProcess, output: Path, text: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    output.write_bytes(text.encode())
    ran = cli("parse", "output.txt", "--output-format", "json", *arguments)
    assert ran.err == ""
    body = json.loads(ran.out)
    assert body.pop("version") == 1
    return ran.code, body


@pytest.mark.parametrize("arguments", [("--dialect", "hermes"), (), ("--dialect", "auto")])
def test_a_call_is_read_back(cli: InProcess, output: Path, arguments: tuple[str, ...]) -> None:
    code, body = parsed(cli, output, f"Let me look.\n{HERMES}", *arguments)
    assert body == {
        "dialect": "hermes",
        "message": message("Let me look.", OSLO),
        "complete": True,
        "problems": [],
    }
    assert code == 0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('<tool_call>\n{"name": "get_rain", "arguments": {"city": "Os', "cut"),
        ("<tool_call>\nno JSON\n</tool_call>", "malformed"),
    ],
)
def test_a_broken_call_is_a_finding(cli: InProcess, output: Path, text: str, kind: str) -> None:
    code, body = parsed(cli, output, text, "--dialect", "hermes")
    assert (code, body["complete"], body["message"]["tool_calls"]) == (1, False, [])
    (problem,) = body["problems"]
    assert (problem["kind"], problem["offset"]) == (kind, 0)
    assert text in (problem["text"], body["message"]["content"])  # nothing is lost


LEAKS = [
    pytest.param('<tools>\n{"name": "get_rain", "arguments": {"city": "Oslo"}}\n</tools>', id="tools"),
    pytest.param("<function=get_rain>\n<parameter=city>\nOslo\n</parameter>\n</function>", id="function"),
    pytest.param('<function=get_rain>{"city": "Oslo"}</function>', id="function-json"),
    pytest.param('```json\n{"name": "get_rain", "arguments": {"city": "Oslo"}}\n```', id="fence"),
    pytest.param('{"name": "get_rain", "arguments": {"city": "Oslo"}}', id="bare"),
]


@pytest.mark.parametrize("text", LEAKS)
def test_what_leaks_from_a_hermes_template_is_read_and_explained(cli: InProcess, output: Path, text: str) -> None:
    (output.parent / "tools.json").write_text(json.dumps(TOOLS))
    code, body = parsed(
        cli,
        output,
        f"I look it up.\n{text}" if text[0] == "<" else text,
        "--dialect",
        "hermes",
        "--tools",
        "tools.json",
    )
    assert code == 0
    assert body["message"]["tool_calls"] == OSLO
    assert [problem["kind"] for problem in body["problems"]] == ["foreign"]
    assert "hermes" in body["problems"][0]["message"]


def test_the_schema_decides_about_raw_arguments(cli: InProcess, output: Path) -> None:
    (output.parent / "tools.json").write_text(
        json.dumps(
            [{"name": "f", "input_schema": {"properties": {"zip": {"type": "string"}, "n": {"type": "integer"}}}}]
        )
    )
    values = "<parameter=zip>\n12\n</parameter>\n<parameter=n>\n12\n</parameter>"
    text = f"<tool_call>\n<function=f>\n{values}\n</function>\n</tool_call>"
    _, body = parsed(cli, output, text, "--dialect", "qwen3_coder", "--tools", "tools.json")
    assert body["dialect"] == "qwen3-coder"
    assert body["message"]["tool_calls"][0]["arguments"] == {"zip": "12", "n": 12}


@pytest.mark.parametrize(
    ("prefix", "content", "reasoning"),
    [
        ("<|im_start|>assistant\n<think>\n", "Rain.", "Let me see."),
        ("<|im_start|>assistant\n", "Let me see.</think>\n\nRain.", None),
    ],
)
def test_the_prefix_says_whether_the_reply_begins_in_thought(
    cli: InProcess, output: Path, prefix: str, content: str, reasoning: str | None
) -> None:
    _, body = parsed(cli, output, "Let me see.</think>\n\nRain.", "--dialect", "hermes", "--prefix", prefix)
    assert body["message"] == message(content, [], reasoning)


def test_the_dialect_of_a_template(cli: InProcess, output: Path) -> None:
    code, body = parsed(cli, output, HERMES, "--template", "chat_template.jinja")
    assert (code, body["dialect"], body["message"]["tool_calls"]) == (0, "hermes", OSLO)


def test_a_template_without_calls_has_no_dialect(cli: InProcess, output: Path) -> None:
    output.write_text(HERMES)
    (output.parent / "plain.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    ran = cli("parse", "output.txt", "--template", "plain.jinja")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: plain.jinja: the template renders no tool calls\nhelp: name one with --dialect\n"


def test_many_a_run(cli: InProcess, output: Path) -> None:
    lines = [
        {"id": "a", "text": HERMES, "dialect": "hermes"},
        {"id": 7, "text": HERMES[:30], "dialect": "hermes"},
        {"id": "b", "text": HERMES, "template": "chat_template.jinja", "tools": TOOLS, "prefix": ""},
    ]
    output.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    ran = cli("parse", "output.txt", "--output-format", "jsonl")
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 1
    assert [(answer["id"], answer["version"], answer["complete"]) for answer in answers] == [
        ("a", 1, True),
        (7, 1, False),
        ("b", 1, True),
    ]


def test_a_bad_line_does_not_stop_the_others(cli: InProcess, output: Path) -> None:
    output.write_text('{"id": 1}\nno JSON\n[]\n{"id": 2, "text": "x", "dialect": "hermse"}\n{"id": 3, "text": "x"}\r\n')
    ran = cli("parse", "output.txt", "--output-format", "jsonl")
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 2
    assert [answer["id"] for answer in answers] == [1, None, None, 2, 3]
    assert [answer.get("error", {}).get("message") for answer in answers] == [
        "line 1 has no text",
        "line 2:1:1 is not JSON: expecting value",
        "line 3 is no object",
        'unknown dialect "hermse"',
        None,
    ]


def test_an_id_that_json_does_not_have(cli: InProcess, output: Path) -> None:
    output.write_text('{"id": NaN, "text": "x"}')
    ran = cli("parse", "output.txt", "--output-format", "jsonl")
    answer = json.loads(ran.out, parse_constant=pytest.fail)
    assert (ran.code, answer["id"]) == (2, None)


def test_standard_input_twice(cli: InProcess) -> None:
    ran = cli("parse", "-", "--template", "-")
    assert (ran.code, ran.err.splitlines()[0]) == (2, "error: stdin is asked for twice")


def test_a_byte_order_mark_is_no_content(cli: InProcess, output: Path) -> None:
    _, body = parsed(cli, output, f"\ufeff{HERMES}", "--dialect", "hermes")
    assert body["message"] == message(None, OSLO)


def test_for_people(cli: InProcess, output: Path) -> None:
    output.write_text(f"<think>\nHm.\n</think>\n\nLet me look.\n{HERMES}\n<tool_call>\n{{")
    ran = cli("parse", "output.txt", "--dialect", "hermes")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "dialect    hermes",
        "reasoning  Hm.",
        "content    Let me look.",
        'call       get_rain {"city": "Oslo"}',
        "problem    cut: the reply ends inside a call: '}' is still to come",
        "           <tool_call>\\n{",
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("--dialect hermse", 'unknown dialect "hermse"'),
        ("--tools gone.json", "cannot read gone.json: no such file or directory"),
        ("--template gone.jinja", "no such file: gone.jinja"),
        ("--output-format full", 'unknown output format "full"'),
    ],
)
def test_a_mistake_is_one_line(cli: InProcess, output: Path, arguments: str, error: str) -> None:
    output.write_text("x")
    ran = cli("parse", "output.txt", *arguments.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[0] == f"error: {error}"


def test_a_missing_file(cli: InProcess) -> None:
    ran = cli("parse", "gone.txt")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: cannot read gone.txt: no such file or directory\n")


def test_the_public_functions() -> None:
    reply = templatelint.parse(HERMES, dialect="hermes", tools=[{"type": "function", "function": {"name": "get_rain"}}])
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("get_rain", {"city": "Oslo"})]
    reader = templatelint.Reader("hermes")
    for character in HERMES:
        reader.feed(character)
    assert reader.close() == templatelint.parse(HERMES, dialect="hermes")

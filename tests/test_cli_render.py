from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from program import start

from templatelint import cases

if TYPE_CHECKING:
    from program import InProcess

BASIC = (
    "<|im_start|>user\nCould you tell me when the Kestrel4417 survey leaves the quay this week?<|im_end|>\n"
    "<|im_start|>assistant\n"
)
DATED = "{{ strftime_now('%Y-%m-%d %H:%M') }}"
ALL = "{{ [messages, tools, documents, add_generation_prompt] | tojson }}|{{ thinking | default('unset') }}"


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def write(path: str, content: object) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


# ------------------------------------------------------------------------------------------------ one cell


def test_one_prompt_is_the_whole_output(folder: Path) -> None:
    del folder
    ran = start("render", "chat_template.jinja")
    assert (ran.returncode, ran.stdout.decode(), ran.stderr) == (0, BASIC, b"")


def test_a_prompt_is_exact_to_the_byte(folder: Path) -> None:
    (folder / "raw.jinja").write_bytes("{{ messages[0].content }}\x1b[1m\u202e\r\n 日本".encode())
    write("m.json", [{"role": "user", "content": "a\x9b\x00b"}])
    ran = start("render", "raw.jinja", "--messages", "m.json")
    assert ran.stdout == "a\x9b\x00b\x1b[1m\u202e\n 日本".encode()


def test_a_failure_is_told_and_exits_1(cli: InProcess, folder: Path) -> None:
    (folder / "no.jinja").write_text("{% if messages %}{{ raise_exception('Not\x1b[2J today') }}{% endif %}")
    ran = cli("render", "no.jinja")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "error: no.jinja · chat-basic · transformers: refused: Not\\x1b[2J today (line 1, column 21)\n"


def test_a_model_without_a_template_is_a_failed_cell(cli: InProcess, folder: Path) -> None:
    (folder / "bare").mkdir()
    (folder / "bare" / "tokenizer_config.json").write_text("{}")
    ran = cli("render", "bare")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: bare · chat-basic · transformers: ")


def test_tokens_are_said_to_be_assumed_where_they_matter(cli: InProcess, folder: Path) -> None:
    (folder / "b.jinja").write_text("{{ bos_token }}{{ messages[0].role }}{{ eos_token }}")
    ran = cli("render", "b.jinja")
    assert (ran.out, ran.err) == (
        "<s>user</s>",
        "note: b.jinja: BOS <s> assumed (--bos-token)\nnote: b.jinja: EOS </s> assumed (--eos-token)\n",
    )
    given = cli("render", "b.jinja", "--bos-token", "[B]", "--eos-token", "")
    assert (given.out, given.err) == ("[B]user", "")
    assert cli("render", "b.jinja", "-q").err == ""
    (folder / "templatelint.toml").write_text('bos-token = "[C]"\neos-token = "[D]"')
    assert cli("render", "b.jinja").out == "[C]user[D]"
    assert cli("render", "b.jinja", "--isolated").out == "<s>user</s>"


# ------------------------------------------------------------------------------------------------ many cells


def test_several_prompts_are_told_apart(cli: InProcess, folder: Path) -> None:
    (folder / "picky.jinja").write_text(
        "{% if messages | length > 1 %}{{ raise_exception('one\nonly') }}{% endif %}{{ messages[0].role }}"
    )
    ran = cli("render", "picky.jinja", "chat_template.jinja", "--case", "chat-basic", "--case", "chat-turns+nogen")
    assert ran.code == 1
    assert ran.err == ""
    heads = re.findall(r"^── (.*)\n(.*)\n", ran.out, re.MULTILINE)
    assert heads == [
        ("picky.jinja · chat-basic · transformers", "user"),
        (
            "picky.jinja · chat-turns+nogen · transformers",
            "error refused: one\\nonly (line 1, column 34)",
        ),
        ("chat_template.jinja · chat-basic · transformers", "<|im_start|>user"),
        ("chat_template.jinja · chat-turns+nogen · transformers", "<|im_start|>user"),
    ]
    assert ran.out.endswith("<|im_end|>\n")


def test_all_cases(cli: InProcess, folder: Path) -> None:
    del folder
    ran = cli("render", "chat_template.jinja", "--all-cases", "--output-format", "jsonl")
    assert [row["case"] for row in rows(ran.out)] == list(cases.all_cases())


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json(cli: InProcess, folder: Path, form: str) -> None:
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "chat_template": [
                    {"name": "default", "template": "{{ messages[0].content.x.y }}"},
                    {"name": "tool_use", "template": "{{ tools | length }}"},
                ]
            }
        )
    )
    ran = cli(
        "render", "tokenizer_config.json", "--case", "chat-basic", "--case", "tools-many", "--output-format", form
    )
    assert ran.code == 1
    found: dict[str, Any] = json.loads(ran.out) if form == "json" else {"version": 1, "renders": rows(ran.out)}
    assert found == {
        "version": 1,
        "renders": [
            {
                "ref": "tokenizer_config.json",
                "template": "default",
                "case": "chat-basic",
                "engine": "transformers",
                "ok": False,
                "error": {
                    "kind": "raised",
                    "message": "'str object' has no attribute 'x'",
                    "line": 1,
                    "column": 24,
                },
            },
            {
                "ref": "tokenizer_config.json",
                "template": "tool_use",
                "case": "tools-many",
                "engine": "transformers",
                "ok": True,
                "prompt": "3",
            },
        ],
    }


def test_a_picked_template_keeps_its_name_in_the_reference(cli: InProcess, folder: Path) -> None:
    named = [{"name": "default", "template": "a"}, {"name": "rag", "template": "b"}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    ran = cli("render", "tokenizer_config.json#rag", "--output-format", "jsonl")
    assert (rows(ran.out)[0]["ref"], rows(ran.out)[0]["prompt"]) == ("tokenizer_config.json#rag", "b")


def test_one_unreadable_reference_does_not_stop_the_others(cli: InProcess, folder: Path) -> None:
    del folder
    ran = cli("render", "gone.jinja", "chat_template.jinja")
    assert ran.code == 2
    assert ran.err.startswith("error: no such file: gone.jinja\n")
    assert ran.out == f"── chat_template.jinja · chat-basic · transformers\n{BASIC}"


def test_a_reference_named_twice_is_rendered_once(cli: InProcess, folder: Path) -> None:
    ran = cli("render", "chat_template.jinja", "./chat_template.jinja", str(folder / "chat_template.jinja"))
    assert ran.out.count("── ") == 1


# --------------------------------------------------------------------------------------- requests of the user


@pytest.mark.parametrize(
    "content",
    [
        [{"role": "user", "content": "hi"}],
        {"messages": [{"role": "user", "content": "hi"}], "model": "m", "temperature": 0},
    ],
)
@pytest.mark.usefixtures("folder")
def test_messages_from_a_file_and_from_stdin(cli: InProcess, content: object) -> None:
    expected = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    file = write("chat.json", content)
    assert cli("render", "chat_template.jinja", "--messages", file).out == expected
    piped = start("render", "chat_template.jinja", "--messages", "-", stdin=json.dumps(content).encode())
    assert piped.stdout.decode() == expected


@pytest.mark.usefixtures("folder")
def test_requests_keep_the_form_they_are_in(cli: InProcess) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    body = {
        "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "", "tool_calls": [call]}],
        "add_generation_prompt": False,
        "chat_template_kwargs": {"thinking": True},
    }
    write("all.jinja", ALL)
    write("in/b.json", body)
    write("in/a.json", {**body, "chat_template_kwargs": {}})
    found = rows(cli("render", "all.jinja", "--requests", "in", "--output-format", "jsonl").out)
    assert [row["case"] for row in found] == ["a", "b"]
    told, thinking = found[1]["prompt"].split("|")
    assert json.loads(told) == [body["messages"], None, None, False]
    assert (thinking, found[0]["prompt"].split("|")[1]) == ("True", "unset")


@pytest.mark.usefixtures("folder")
def test_requests_from_one_file_with_ids(cli: InProcess) -> None:
    bodies = [{"id": name, "messages": [{"role": "user", "content": name}]} for name in ("z", "a")]
    write("all.json", bodies)
    write("say.jinja", "{{ messages[0].content }}")
    found = rows(cli("render", "say.jinja", "--requests", "all.json", "--output-format", "jsonl").out)
    assert [(row["case"], row["prompt"]) for row in found] == [("z", "z"), ("a", "a")]


@pytest.mark.usefixtures("folder")
def test_more_requests_than_one_child_takes(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("templatelint.cli.render._BATCH", 2)
    write("all.json", [{"id": str(n), "messages": [{"role": "user", "content": f"c{n}"}]} for n in range(5)])
    write("say.jinja", "{{ messages[0].content }}")
    found = rows(cli("render", "say.jinja", "--requests", "all.json", "--output-format", "jsonl").out)
    assert [row["prompt"] for row in found] == ["c0", "c1", "c2", "c3", "c4"]


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
        [{"name": "f", "description": "d", "input_schema": {"type": "object"}}],
        {"tools": [{"name": "f", "description": "d", "inputSchema": {"type": "object"}}]},
    ],
    ids=["OpenAI", "Anthropic", "MCP"],
)
@pytest.mark.usefixtures("folder")
def test_tools_in_three_forms(cli: InProcess, tools: object) -> None:
    write("tools.json", tools)
    write("all.jinja", ALL)
    ran = cli("render", "all.jinja", "--case", "chat-system", "--tools", "tools.json")
    assert json.loads(ran.out.split("|")[0])[1] == [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
    ]


@pytest.mark.usefixtures("folder")
def test_flags_change_every_request(cli: InProcess) -> None:
    write("all.jinja", ALL)
    write("m.json", [{"role": "user", "content": "x"}])
    flags = ("--no-generation-prompt", "--set", "thinking=[1, null]", "--set", "documents=[]")
    ran = cli("render", "all.jinja", "--case", "chat-basic", "--messages", "m.json", *flags, "--output-format", "jsonl")
    assert [row["case"] for row in rows(ran.out)] == ["chat-basic", "m"]
    for row in rows(ran.out):
        told, thinking = row["prompt"].split("|")
        assert json.loads(told)[2:] == [[], False]
        assert thinking == "[1, None]"


@pytest.mark.parametrize(
    ("flags", "error", "cure"),
    [
        ("--set=thinking", "--set thinking: not KEY=JSON", "for example"),
        ("--set==1", "--set =1: not KEY=JSON", "for example"),
        ("--set=a=b", "--set a: b is not JSON", "a text keeps its quotes"),
        ("--date=soon", "--date soon: not an ISO date", "for example"),
        ("--messages=gone.json", "cannot read gone.json: no such file or directory", ""),
        ("--requests=gone", "cannot read gone: no such file or directory", ""),
        ("--tools=gone", "cannot read gone: no such file or directory", ""),
        ("--messages=- --tools=-", "stdin is asked for twice", "give one of the two as a file"),
        ("- --messages=-", "stdin is asked for twice", "give one of the two as a file"),
        ("--renderer=jinja2", "--renderer and --context go together", ""),
        ("--context=c.json", "--renderer and --context go together", ""),
    ],
)
@pytest.mark.usefixtures("folder")
def test_an_option_that_cannot_be_used(cli: InProcess, flags: str, error: str, cure: str) -> None:
    ran = cli("render", "chat_template.jinja", *flags.split())
    first, *rest = ran.err.splitlines()
    assert (ran.code, ran.out, first) == (2, "", f"error: {error}")
    assert "".join(rest).removeprefix("help: ").startswith(cure)


# ------------------------------------------------------------------------------------------------- the clock


@pytest.mark.usefixtures("folder")
def test_cases_have_a_date_of_their_own(cli: InProcess) -> None:
    write("dated.jinja", DATED)
    fixed = cases.FIXED_NOW
    ids = ("chat-basic", "chat-basic+tomorrow", "chat-turns")
    flags = [word for case in ids for word in ("--case", case)]
    found = rows(cli("render", "dated.jinja", *flags, "--output-format", "jsonl").out)
    assert [row["case"] for row in found] == list(ids)
    days = [datetime.fromisoformat(row["prompt"]) for row in found]
    assert [(day - fixed.replace(second=0)).days for day in days] == [0, 1, 0]


@pytest.mark.usefixtures("folder")
def test_requests_of_the_user_are_rendered_now(cli: InProcess) -> None:
    write("dated.jinja", "{{ strftime_now('%Y-%m-%d') }}")
    write("m.json", [{"role": "user", "content": "x"}])
    before = datetime.now().astimezone().date()
    told = cli("render", "dated.jinja", "--messages", "m.json").out
    assert before <= datetime.fromisoformat(told).date() <= datetime.now().astimezone().date()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("2026-11-29", "2026-11-29 00:00"),
        ("2026-11-29T18:30", "2026-11-29 18:30"),
        ("2026-11-29T18:30:00+09:00", "2026-11-29 18:30"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_date_is_for_all(cli: InProcess, typed: str, told: str) -> None:
    write("dated.jinja", DATED)
    write("m.json", [{"role": "user", "content": "x"}])
    flags = ("--case", "chat-basic", "--messages", "m.json", "--date", typed, "--output-format", "jsonl")
    assert {row["prompt"] for row in rows(cli("render", "dated.jinja", *flags).out)} == {told}


# ----------------------------------------------------------------------------------------------- pointing out


@pytest.mark.usefixtures("folder")
def test_marks_are_pointed_out(cli: InProcess) -> None:
    write("shout.jinja", "{{ messages[0].content | upper }}\x1b[2J")
    ran = cli("render", "shout.jinja", "--case", "chat-turns", "--show", "marks")
    assert re.search(r"‹[A-Z]+[0-9]{4}›", ran.out)
    assert "\\x1b[2J" in ran.out
    assert re.search(r"^not in the prompt: assistant\.1, user\.2$", ran.out, re.MULTILINE)
    colored = cli("render", "shout.jinja", "--case", "chat-turns", "--show", "marks", "--color", "always")
    assert "\x1b[7;33m" in colored.out
    assert "‹" not in colored.out
    assert "\\x1b[2J" in colored.out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<|im_start|>user<|im_end|>", "‹<|im_start|>›user‹<|im_end|>›"),
        ("<｜User｜>hi<｜end▁of▁sentence｜>", "‹<｜User｜>›hi‹<｜end▁of▁sentence｜>›"),
        ("[INST] hi [/INST]", "‹[INST]› hi ‹[/INST]›"),
        ("<start_of_turn>user<end_of_turn>", "‹<start_of_turn>›user‹<end_of_turn>›"),
        ("<think>\n</think>", "‹<think>›\n‹</think>›"),
        ("<s>x</s>", "‹<s>›x‹</s>›"),
        ("<<SYS>>a<</SYS>>", "‹<<SYS>>›a‹<</SYS>>›"),
        ("EOT!", "‹EOT!›"),
        ("1 < 2 and 3 > 2, a[0], [x]", "1 < 2 and 3 > 2, a[0], [x]"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_tokens_are_pointed_out(cli: InProcess, text: str, shown: str) -> None:
    write("t.jinja", "{{ messages[0].content }}")
    write("m.json", [{"role": "user", "content": text}])
    ran = cli("render", "t.jinja", "--messages", "m.json", "--show", "tokens", "--eos-token", "EOT!")
    assert ran.out == f"{shown}\n"


@pytest.mark.usefixtures("folder")
def test_machines_are_shown_nothing(cli: InProcess) -> None:
    ran = cli("render", "chat_template.jinja", "--show", "marks", "--output-format", "json")
    assert (ran.code, ran.err) == (2, "error: --show is for people, not for --output-format json\n")


# ----------------------------------------------------------------------------------------- a renderer alone


@pytest.mark.usefixtures("folder")
def test_a_context_through_a_renderer(cli: InProcess) -> None:
    write("c.json", {"a": {"b": None}, "messages": "no list"})
    write("t.jinja", "{{ a | tojson }}{{ messages }}{{ bos_token }}{{ strftime_now('%d') }}")
    flags = ("--renderer", "jinja2", "--context", "c.json", "--date", "2026-11-29")
    assert cli("render", "t.jinja", *flags).out == '{"b": null}no list29'
    assert rows(cli("render", "t.jinja", *flags, "--output-format", "jsonl").out) == [
        {
            "ref": "t.jinja",
            "template": "default",
            "case": "c",
            "engine": "jinja2",
            "ok": True,
            "prompt": '{"b": null}no list29',
        }
    ]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("{{ a.b.c.d }}", "raised"),
        ("{{ raise_exception('no') }}", "refused"),
        ("{% if %}", "syntax"),
        ("{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}", "too-large"),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "timeout"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_a_renderer_refuses(cli: InProcess, source: str, kind: str) -> None:
    write("c.json", {})
    write("t.jinja", source)
    ran = cli("render", "t.jinja", "--renderer", "jinja2", "--context", "c.json", "--output-format", "jsonl")
    assert ran.code == 1
    assert rows(ran.out)[0]["error"]["kind"] == kind


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--renderer", "jinja", "--context", "c.json"], 'unknown renderer "jinja"'),
        (
            ["--renderer", "jinja2", "--context", "c.json", "--case", "x"],
            "--renderer takes all variables from --context",
        ),
        (["--renderer", "jinja2", "--context", "c.json", "--media"], "--renderer takes all variables from --context"),
        (["--renderer", "jinja2", "--context", "l.json"], "l.json: not an object of variables"),
        (["--renderer", "jinja2", "--context", "gone.json"], "cannot read gone.json: no such file or directory"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_context_that_cannot_be_used(cli: InProcess, arguments: list[str], error: str) -> None:
    write("c.json", {})
    write("l.json", [])
    ran = cli("render", "chat_template.jinja", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[0] == f"error: {error}"

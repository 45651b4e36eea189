from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from program import CHATML, DEAF

from templatelint.engines import DEFAULT_ENGINES
from templatelint.model import NEEDS

if TYPE_CHECKING:
    from pathlib import Path

    from program import InProcess

# refuses system messages; everything else as ChatML
STRICT = (
    "{% for m in messages if m.role == 'system' %}{{ raise_exception('no system messages, please') }}{% endfor %}"
    + CHATML
)
TWO = ("--engine", "transformers,vllm")
PREDICTION = (
    *("a", "b", "need", "subject", "verdict", "before", "after", "engines", "message", "help"),
    *("launch", "follows", "request", "evidence"),
)


@pytest.fixture
def here(folder: Path) -> Path:
    (folder / "a.jinja").write_text(CHATML)
    (folder / "b.jinja").write_text(DEAF)
    (folder / "strict.jinja").write_text(STRICT)
    return folder


def _json(cli: InProcess, *arguments: str) -> Any:
    ran = cli("diff", *arguments, "--output-format", "json")
    answer = json.loads(ran.out)
    assert answer["exit_code"] == ran.code
    return answer


def test_the_members_of_the_contract(cli: InProcess, here: Path) -> None:
    del here
    answer = _json(cli, "a.jinja", "b.jinja")
    assert answer["version"] == 1
    assert {"predictions", "models", "engines", "not_run", "unreadable", "differences"} <= set(answer)
    assert [engine["name"] for engine in answer["engines"]] == list(DEFAULT_ENGINES)
    assert [model["ref"] for model in answer["models"]] == ["a.jinja", "b.jinja"]
    assert all({"capabilities", "contract", "dialect", "flags"} <= set(model) for model in answer["models"])
    assert answer["exit_code"] == 1
    for one in answer["predictions"]:
        assert tuple(one) == PREDICTION
        assert (one["a"], one["b"]) == ("a.jinja", "b.jinja")
        assert one["verdict"] in {"breaks", "degrades", "changes", "improves"}
        for cell in one["evidence"]:
            assert set(cell) == {"ref", "case", "engine", "text", "failed"}
    broken = {one["need"] for one in answer["predictions"] if one["verdict"] == "breaks"}
    assert {"system", "tools", "parallel-tools"} <= broken


def test_text_says_what_breaks_with_evidence_and_how_to_see_it(cli: InProcess, here: Path) -> None:
    del here
    ran = cli("diff", "a.jinja", "strict.jinja", *TWO)
    assert ran.code == 1
    assert "breaks[system] system messages are refused: no system messages, please" in ran.out
    assert '= A: "' in ran.out
    assert "= B: fails: no system messages, please" in ran.out
    command = re.search(r"see it: templatelint (render .*)", ran.out)
    assert command is not None
    again = cli(*command[1].split())
    assert (again.code, "no system messages, please" in again.err) == (1, True)


def test_a_model_against_itself_predicts_nothing(cli: InProcess, here: Path) -> None:
    del here
    ran = cli("diff", "a.jinja", "a.jinja")
    assert (ran.code, ran.err) == (0, "")
    assert "what works with A works with B" in ran.out
    answer = _json(cli, "a.jinja", "a.jinja")
    assert (answer["predictions"], answer["differences"], answer["exit_code"]) == ([], [], 0)


def test_what_nobody_needs_breaks_nothing(cli: InProcess, here: Path) -> None:
    del here
    assert cli("diff", "a.jinja", "strict.jinja", "--needs", "chat,tools", *TWO).code == 0
    assert cli("diff", "a.jinja", "strict.jinja", "--needs", "system", *TWO).code == 1


def test_needs_of_the_settings_hold(cli: InProcess, here: Path) -> None:
    (here / "templatelint.toml").write_text('needs = ["chat"]\nengine = ["vllm"]\n')
    answer = _json(cli, "a.jinja", "b.jinja")
    assert [engine["name"] for engine in answer["engines"]] == ["vllm"]
    assert answer["exit_code"] == 0


def test_one_model_on_two_engines(cli: InProcess, here: Path) -> None:
    del here
    answer = _json(cli, "strict.jinja", "--engine-a", "llama.cpp", "--engine-b", "transformers")
    assert {tuple(one["engines"]) for one in answer["predictions"]} == {("transformers",)}
    assert {cell["engine"] for one in answer["predictions"] for cell in one["evidence"]} == {
        "llama.cpp",
        "transformers",
    }
    ran = cli("diff", "strict.jinja", "--engine-a", "llama.cpp", "--engine-b", "transformers")
    assert re.search(r"^A .*on llama.cpp\nB .*on transformers$", ran.out, re.MULTILINE)


def test_further_models_are_compared_with_the_first(cli: InProcess, here: Path) -> None:
    del here
    answer = _json(cli, "a.jinja", "b.jinja", "strict.jinja", *TWO)
    assert {(one["a"], one["b"]) for one in answer["predictions"]} == {
        ("a.jinja", "b.jinja"),
        ("a.jinja", "strict.jinja"),
    }


@pytest.mark.parametrize("need", NEEDS)
def test_exit_1_is_told_with_a_break_whatever_is_needed(cli: InProcess, here: Path, need: str) -> None:
    (here / "wrong.jinja").write_text("{% if %}")
    for other in ("b.jinja", "strict.jinja", "wrong.jinja"):
        ran = cli("diff", "a.jinja", other, *TWO, "--needs", need)
        assert (ran.code == 1) == ("breaks[" in ran.out), ran.out
        assert ran.code != 2


def test_symmetric_compares_back(cli: InProcess, here: Path) -> None:
    del here
    answer = _json(cli, "strict.jinja", "a.jinja", *TWO)
    assert answer["exit_code"] == 0
    assert {one["verdict"] for one in answer["predictions"]} == {"improves"}
    both = _json(cli, "strict.jinja", "a.jinja", *TWO, "--symmetric")
    assert both["exit_code"] == 1
    assert {(one["a"], one["verdict"]) for one in both["predictions"]} >= {
        ("strict.jinja", "improves"),
        ("a.jinja", "breaks"),
    }


def test_work_without_end_breaks_chat(cli: InProcess, here: Path) -> None:
    loop = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    (here / "slow.jinja").write_text(loop + CHATML)
    ran = cli("diff", "a.jinja", "slow.jinja", "--engine", "transformers")
    assert ran.code == 1
    assert "breaks[chat] the template takes more than it may on every request: more than" in ran.out


MASKED = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}"
    "{% else %}{{ m.content }}<|im_end|>{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@pytest.mark.parametrize(
    ("other", "lost"),
    [
        (
            MASKED.replace("{% generation %}", "").replace("{% endgeneration %}", ""),
            "no `generation` block says what the assistant writes",
        ),
        (MASKED.replace("<|im_end|>{% endgeneration %}", "{% endgeneration %}<|im_end|>"), "follows the `generation`"),
        (MASKED + "<|im_start|>assistant\n", "follows the last answer too"),
    ],
)
def test_training_is_told_by_its_rules(cli: InProcess, here: Path, other: str, lost: str) -> None:
    (here / "masked.jinja").write_text(MASKED)
    (here / "other.jinja").write_text(other)
    answer = _json(cli, "masked.jinja", "other.jinja", "--engine", "transformers", "--needs", "training")
    assert [lost in one["message"] for one in answer["predictions"]] == [True]


@pytest.mark.parametrize(
    ("arguments", "message", "cure"),
    [
        (("a.jinja",), "a.jinja alone: nothing to compare with", "--engine-a, --engine-b"),
        (("a.jinja", "nowhere.jinja"), "no such file: nowhere.jinja", ""),
        (("nowhere.jinja", "a.jinja"), "no such file: nowhere.jinja", ""),
        (("a.jinja", "b.jinja", "--engine-a", "vllm"), "--engine-a without --engine-b", "add --engine-b"),
        (("a.jinja", "b.jinja", "--engine-b", "vllm"), "--engine-b without --engine-a", "add --engine-a"),
        (("a.jinja", "--engine-a", "vllm", "--engine-b", "vlm"), 'unknown engine "vlm"', "did you mean vllm"),
        (
            ("a.jinja", "--engine", "vllm", "--engine-a", "vllm", "--engine-b", "sglang"),
            "--engine beside --engine-a and --engine-b",
            "leave it out",
        ),
        (("a.jinja", "b.jinja", "--needs", "tool"), 'unknown need "tool"', "did you mean tools"),
        (("a.jinja", "b.jinja", "--fleet", "--symmetric"), "--fleet beside --symmetric", "no first model"),
        (("-", "b.jinja", "--messages", "-"), "stdin is asked for twice", "as a file"),
        (("a.jinja", "b.jinja", "--messages", "nowhere.jsonl"), "nowhere.jsonl", ""),
        (
            ("a.jinja", "b.jinja", "--engine", "transformers", "--tool-call-parser", "vllm=hermes"),
            "vllm is not asked",
            "add --engine vllm",
        ),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(
    cli: InProcess, here: Path, arguments: tuple[str, ...], message: str, cure: str
) -> None:
    del here
    ran = cli("diff", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert cure in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_what_could_be_read_is_compared_all_the_same(cli: InProcess, here: Path) -> None:
    del here
    ran = cli("diff", "a.jinja", "strict.jinja", "nowhere.jinja", *TWO)
    assert ran.code == 2
    assert "breaks[system]" in ran.out
    assert "no such file: nowhere.jinja" in ran.err


def test_own_requests_decide(cli: InProcess, here: Path) -> None:
    rows = [
        {"id": "plain", "messages": [{"role": "user", "content": "How deep is the Heron fjord?"}]},
        {
            "id": "led",
            "messages": [
                {"role": "system", "content": "You answer in the dialect of the northern fleet."},
                {"role": "user", "content": "How deep is the Heron fjord?"},
            ],
        },
    ]
    (here / "traffic.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answer = _json(cli, "a.jinja", "strict.jinja", *TWO, "--messages", "traffic.jsonl")
    assert answer["exit_code"] == 1
    assert {one["request"] for one in answer["predictions"] if one["verdict"] == "breaks"} == {"led"}
    ran = cli("diff", "a.jinja", "strict.jinja", *TWO, "--messages", "traffic.jsonl")
    assert "requests: led" in ran.out
    assert "1 of 2 requests break" in ran.out
    (here / "traffic.jsonl").write_text(json.dumps(rows[0]) + "\n")
    assert cli("diff", "a.jinja", "strict.jinja", *TWO, "--messages", "traffic.jsonl").code == 0


def test_requests_with_images_are_judged_where_the_server_takes_them(cli: InProcess, here: Path) -> None:
    parts = "{% for m in messages %}{% for p in m.content %}{{ p.text or '<image>' }}{% endfor %}{% endfor %}"
    (here / "sees.jinja").write_text(parts)
    (here / "blind.jinja").write_text(parts.replace("or '<image>'", ""))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    message = {"role": "user", "content": [{"type": "text", "text": "How deep is this?"}, image]}
    (here / "traffic.json").write_text(json.dumps({"id": "seen", "messages": [message]}))
    asked = ("diff", "sees.jinja", "blind.jinja", "--engine", "sglang")
    unknown = cli(*asked, "--messages", "traffic.json")
    assert unknown.code == 2
    assert "no request could be judged" in unknown.err
    assert "(--media)" in unknown.out
    told = cli(*asked, "--messages", "traffic.json", "--media")
    assert told.code == 1
    assert "an image, sound or film leaves no trace in the prompt" in told.out
    assert cli(*asked, "--media").code == 2


def test_requests_that_fail_with_a_too_are_counted_apart(cli: InProcess, here: Path) -> None:
    system = {"role": "system", "content": "You answer in the dialect of the northern fleet."}
    user = {"role": "user", "content": "How deep is the Heron fjord?"}
    rows = [{"id": "led", "messages": [system, user]}, {"id": "plain", "messages": [user]}]
    (here / "traffic.json").write_text(json.dumps(rows))
    ran = cli("diff", "strict.jinja", "strict.jinja", *TWO, "--messages", "traffic.json")
    assert ran.code == 0
    assert "0 of 1 request break · 1 fails with A too" in ran.out
    assert "Of the others, 1 fails with A too." in cli(
        *("diff", "strict.jinja", "strict.jinja", *TWO, "--messages", "traffic.json", "--output-format", "html")
    ).out.replace("&#39;", "'")
    (here / "traffic.json").write_text(json.dumps(rows[:1]))
    ran = cli("diff", "strict.jinja", "strict.jinja", *TWO, "--messages", "traffic.json")
    assert ran.code == 2
    assert "every request fails with A too" in ran.err


def test_requests_that_cannot_be_read_are_no_silence(cli: InProcess, here: Path) -> None:
    good = json.dumps({"id": "plain", "messages": [{"role": "user", "content": "How deep is the Heron fjord?"}]})
    (here / "traffic.jsonl").write_text(f"{good}\nno json\n")
    ran = cli("diff", "a.jinja", "a.jinja", *TWO, "--messages", "traffic.jsonl")
    assert ran.code == 2
    assert "traffic.jsonl:2:1 is not JSON" in ran.err
    answer = _json(cli, "a.jinja", "a.jinja", *TWO, "--messages", "traffic.jsonl")
    assert answer["requests"] == [{"a": "a.jinja", "b": "a.jinja", "judged": 1, "failing_with_a": 0}]


def test_a_request_that_is_refused_counts_whatever_is_needed(cli: InProcess, here: Path) -> None:
    body = {
        "messages": [
            {"role": "system", "content": "You answer in the dialect of the northern fleet."},
            {"role": "user", "content": "How deep is the Heron fjord?"},
        ]
    }
    (here / "one.json").write_text(json.dumps(body))
    ran = cli("diff", "a.jinja", "strict.jinja", *TWO, "--messages", "one.json", "--needs", "tools")
    assert ran.code == 1
    assert "1 of 1 request break" in ran.out


def test_replies_call_no_tools_where_no_request_offers_any(cli: InProcess, here: Path) -> None:
    (here / "one.json").write_text(json.dumps([{"role": "user", "content": "How deep is the Heron fjord?"}]))
    answer = _json(cli, "a.jinja", "b.jinja", *TWO, "--messages", "one.json")
    assert {one["need"] for one in answer["predictions"]} <= {"chat", "reasoning"}


def test_a_fleet_is_judged_as_one(cli: InProcess, here: Path) -> None:
    del here
    ran = cli("diff", "a.jinja", "strict.jinja", "--fleet", *TWO)
    assert ran.code == 1
    assert "system messages are refused" in ran.out
    assert "no system messages, please" in ran.out
    assert cli("diff", "a.jinja", "a.jinja", "--fleet", *TWO).code == 0


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_what_is_shown_is_safe(cli: InProcess, here: Path, form: str) -> None:
    evil = "\x1b[31m<script>alert(1)</script>\u202e"
    (here / "evil.jinja").write_text(STRICT.replace("no system messages, please", evil))
    ran = cli("diff", "a.jinja", "evil.jinja", *TWO, "--output-format", form)
    assert ran.code == 1
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    if form == "html":
        assert "<script>alert" not in ran.out


def test_models_of_which_nothing_is_known_are_no_answer(cli: InProcess, here: Path) -> None:
    model = here / "gpt-oss"
    model.mkdir()
    (model / "chat_template.jinja").write_text(CHATML)
    (model / "config.json").write_text('{"model_type": "gpt_oss"}')
    (model / "tokenizer_config.json").write_text("{}")
    ran = cli("diff", "gpt-oss", "a.jinja", "--engine", "vllm")
    assert ran.code == 2
    assert "nothing could be compared" in ran.out
    assert "error: nothing to compare: gpt-oss: vllm: " in ran.err
    assert _json(cli, "gpt-oss", "a.jinja", "--engine", "vllm")["exit_code"] == 2
    assert cli("diff", "gpt-oss", "b.jinja").code in {0, 1}


def test_a_model_without_a_template_breaks_chat_where_one_is_needed(cli: InProcess, here: Path) -> None:
    model = here / "bare"
    model.mkdir()
    (model / "tokenizer_config.json").write_text("{}")
    ran = cli("diff", "a.jinja", "bare")
    assert ran.code == 1
    assert "breaks[chat] the template is missing" in ran.out
    assert cli("diff", "bare", "a.jinja").code == 0

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from templatelint import cards, cases
from templatelint.engines import ENGINES
from templatelint.traffic import request_from_openai

if TYPE_CHECKING:
    from pathlib import Path

    from program import InProcess


# ------------------------------------------------------------------------------------------------------ rule


@pytest.mark.parametrize("word", ["TL201", "tl201", "tools-ignored"])
def test_a_card(cli: InProcess, word: str) -> None:
    card = cards.get("TL201")
    ran = cli("rule", word)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"# tools-ignored (TL201)\n\n{card.title}\n\nImpact: breaks · need: tools · ")
    assert ran.out.endswith(card.prose)


@pytest.mark.parametrize(
    ("word", "facts"),
    [
        ("TL601", "Impact: breaks · need: chat · fix: by hand · since 0.1"),
        (
            "TL205",
            "fix: --fix cures it where the proof holds · since 0.1 · hidden where it follows from what TL001 tells",
        ),
        (
            "TL501",
            "--unsafe-fixes cures it where the proof holds · since 0.1 · hidden where it follows from what TL001 or",
        ),
    ],
)
def test_a_page_says_in_words_what_cures_and_what_hides(cli: InProcess, word: str, facts: str) -> None:
    assert facts in cli("rule", word).out


EVERY = [*cards.all_cards(), *cards.clauses()]


def test_the_list_of_rules(cli: InProcess) -> None:
    lines = cli("rule").out.splitlines()
    assert [line.split()[0] for line in lines] == EVERY


def test_a_list_names_the_command_that_tells_of_a_rule_where_lint_does_not(cli: InProcess) -> None:
    told = {line.split()[0]: line.partition(" · ")[2] for line in cli("rule").out.splitlines()}
    assert (told["TL201"], told["TL602"], told["TL907"]) == ("tools", "chat · vet", "chat · probe")


def test_the_card_of_a_clause(cli: InProcess) -> None:
    ran = cli("rule", "reply-complete")
    assert ran.out.startswith("# reply-complete (TL907)\n")
    assert "\n\nImpact: breaks · need: chat · checked by templatelint probe · since " in ran.out
    assert cli("rule", "tl907").out == ran.out


@pytest.mark.parametrize("word", ["TL9", "TL907", "reply-complete"])
def test_lint_has_no_use_for_a_clause(folder: Path, cli: InProcess, word: str) -> None:
    ran = cli("lint", str(folder / "chat_template.jinja"), "--select", word)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        f"error: {word} is what a live endpoint promises, not a rule about templates",
        "help: templatelint probe URL checks it",
    ]


@pytest.mark.parametrize(
    ("prefix", "ids"), [("TL40", [f"TL40{n}" for n in range(1, 7)]), ("tl30", None), ("tl9", None), ("TL", None)]
)
def test_a_prefix_lists_a_family(cli: InProcess, prefix: str, ids: list[str] | None) -> None:
    wanted = ids or [rule for rule in EVERY if rule.startswith(prefix.upper())]
    assert [line.split()[0] for line in cli("rule", prefix).out.splitlines()] == wanted
    rows = json.loads(cli("rule", prefix, "--output-format", "json").out)
    assert [row["id"] for row in rows] == wanted


def test_all_cards(cli: InProcess) -> None:
    ran = cli("rule", "--all")
    assert re.findall(r"^# \S+ \((TL\d+)\)$", ran.out, re.MULTILINE) == EVERY


def test_all_cards_as_json_are_a_bare_list(cli: InProcess) -> None:
    rows = json.loads(cli("rule", "--all", "--output-format", "json").out)
    assert [row["id"] for row in rows] == EVERY
    for row in rows:
        assert row.keys() >= {"id", "name", "title", "impact", "need", "fix", "since"}
    lines = cli("rule", "--all", "--output-format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == rows


def test_one_card_as_json_is_an_object(cli: InProcess) -> None:
    row = json.loads(cli("rule", "TL201", "--output-format", "json").out)
    assert (row["id"], row["name"], row["impact"], row["need"]) == ("TL201", "tools-ignored", "breaks", "tools")
    assert row["prose"] == cards.get("TL201").prose


def test_a_card_on_a_terminal_is_set_as_a_page(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("templatelint.cli.options.Session.terminal", True)
    ran = cli("rule", "TL201", "--color", "always")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", ran.out)
    assert plain != ran.out
    assert "tools-ignored (TL201)" in plain
    assert "```" not in plain
    assert max(map(len, plain.splitlines())) <= 80


# ----------------------------------------------------------------------------------------------------- cases


def test_the_list_of_cases(cli: InProcess) -> None:
    lines = cli("cases").out.splitlines()
    assert [line.split()[0] for line in lines] == list(cases.all_cases())


def test_a_case(cli: InProcess) -> None:
    case = cases.get("tool-call")
    ran = cli("cases", "tool-call")
    assert ran.out.startswith(f"tool-call: {case.isolates}\n\n{{\n")
    body, marks = ran.out.split("\n\n", 1)[1].split("\nmarks\n")
    assert request_from_openai(json.loads(body)) == case.request
    assert dict(line.split() for line in marks.splitlines()) == case.marks


@pytest.mark.parametrize("case_id", [*cases.all_cases(), "chat-basic+nogen", "tool-loop@3+tomorrow"])
def test_what_json_tells_of_a_case_is_the_case(cli: InProcess, case_id: str) -> None:
    case = cases.get(case_id)
    (row,) = json.loads(cli("cases", case_id, "--output-format", "json").out)["cases"]
    assert request_from_openai(row.pop("request")) == case.request
    assert row == {
        "id": case_id,
        "isolates": case.isolates,
        "marks": case.marks,
        "form": case.form,
        "day": case.day,
    }


def test_all_cases_as_json(cli: InProcess) -> None:
    rows = json.loads(cli("cases", "--output-format", "json").out)["cases"]
    assert [row["id"] for row in rows] == list(cases.all_cases())
    assert len(cli("cases", "--output-format", "jsonl").out.splitlines()) == len(rows)


# --------------------------------------------------------------------------------------------------- engines


def test_the_list_of_engines(cli: InProcess) -> None:
    lines = cli("engines").out.splitlines()
    assert [line[2:].split()[0] for line in lines[:-2]] == list(ENGINES)
    assert re.fullmatch(r"\* transformers +jinja2 +5\.\S+ +predicted, rendered by its own Jinja", lines[0])
    assert "predicted, rendered by a model of its Jinja; --real " in lines[3]
    assert lines[-2:] == ["", "* in the default set of lint and inspect"]


def test_engines_as_json(cli: InProcess) -> None:
    body = json.loads(cli("engines", "--output-format", "json").out)
    assert body["version"] == 1
    assert [row["name"] for row in body["engines"]] == list(ENGINES)
    assert [row["name"] for row in body["engines"] if row["default"]] == ["transformers", "llama.cpp", "vllm", "sglang"]
    for row in body["engines"]:
        assert row["available"] is not bool(row["why_not"])
        assert row["install"]
        assert (row["emulated"] is None) is not row["available"]

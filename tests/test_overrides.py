from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from program import CHATML, DEAF

from templatelint import overrides
from templatelint.model import Model, Origin, Template, Tokenizer
from templatelint.overrides import Deployed, Override, drift
from templatelint.sources import resolve
from templatelint.sources.file import ASSUMED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from program import InProcess

    from templatelint.model import Finding

ONE = ("transformers",)


def _model(source: str, ref: str = "o.jinja") -> Model:
    return Model(ref, "file", (Template("default", source, Origin(ref, source)),), ASSUMED)


def _drift(source: str, base: str, asked: Sequence[str] = ONE, needs: Sequence[str] | None = None) -> list[Finding]:
    found, not_run = drift(
        Deployed(_model(source), _model(base, "base"), tuple(asked), None if needs is None else tuple(needs))
    )
    assert not_run == ()
    return list(found)


# -------------------------------------------------------------------------------------------------- the rule


def test_equal_prompts_are_silent() -> None:
    assert _drift("{#- mended -#}\n" + CHATML, CHATML) == []


def test_what_breaks_is_a_warning_each_and_the_rest_one_note() -> None:
    found = _drift(DEAF, CHATML)
    assert {one.rule for one in found} == {"TL701"}
    broken = {one.needs[0]: one for one in found if one.severity == "warning"}
    assert {"system", "tools"} <= broken.keys()
    assert "system messages never reach the model" in broken["system"].message
    assert ("chat-system", "transformers") in broken["system"].evidence
    (note,) = [one for one in found if "with the template of base this works" not in one.message]
    assert note.severity == "note"
    assert note.message.startswith("prompts also differ from those of the template of base: ")
    assert len({one.fingerprint for one in found}) == len(found)


def test_what_improves_breaks_nothing() -> None:
    assert {one.severity for one in _drift(CHATML, DEAF)} == {"note"}


@pytest.mark.parametrize(
    ("needs", "severity"), [(None, "warning"), (("system",), "warning"), (("chat", "tools"), "note")]
)
def test_how_much_a_loss_weighs(needs: tuple[str, ...] | None, severity: str) -> None:
    found = _drift(DEAF, CHATML, needs=needs)
    assert [one.severity for one in found if one.needs == ("system",)] == [severity]


def test_a_difference_that_loses_nothing_names_its_cases() -> None:
    (note,) = _drift(CHATML.replace("<|im_end|>", "<|im_end|> ", 1), CHATML)
    assert note.severity == "note"
    assert note.message.startswith("prompts differ from those of the template of base: tools-offer, ")


def test_a_model_without_a_template_cannot_be_compared_with() -> None:
    found, not_run = drift(Deployed(_model(CHATML), Model("base", "folder", ()), ONE))
    assert found == ()
    assert [(row.rule, row.ref) for row in not_run] == [("TL701", "o.jinja")]


# ------------------------------------------------------------------------------------------------ the settings


def _override(folder: Path, **changes: Any) -> Override:
    made = {"file": "o/*.jinja", "model": "m", "engines": None, "needs": None, "settings": "t.toml", "folder": folder}
    return Override(**{**made, **changes})


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("o/*.jinja", ["o/a.jinja", "o/b.jinja"]),
        ("o/a.jinja", ["o/a.jinja"]),
        ("o/gone.jinja", ["o/gone.jinja"]),
        ("p/*.jinja", []),
        ("**/a.jinja", ["o/a.jinja"]),
        ("/*.jinja", []),
    ],
)
def test_the_files_that_an_override_means(folder: Path, pattern: str, files: list[str]) -> None:
    (folder / "o").mkdir()
    for name in ("b.jinja", "a.jinja", "a.txt"):
        (folder / "o" / name).touch()
    override = _override(folder, file=pattern)
    assert [*override.files] == files
    assert all(override.means(file) for file in files)


@pytest.mark.parametrize(
    ("model", "base"), [("m", "../m"), ("m#tool_use", "../m#tool_use"), ("owner/name", "owner/name")]
)
def test_a_model_is_seen_from_the_settings(
    folder: Path, monkeypatch: pytest.MonkeyPatch, model: str, base: str
) -> None:
    (folder / "m").mkdir()
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    assert _override(folder, model=model).base == base


@pytest.mark.parametrize(
    ("given", "tokens"),
    [
        (frozenset(), {"bos_token": "<|b|>", "pad_token": "<|p|>"}),
        (frozenset({"bos_token"}), {"bos_token": "<s>", "pad_token": "<|p|>"}),
    ],
)
def test_an_override_has_the_tokens_of_its_model(given: frozenset[str], tokens: dict[str, str]) -> None:
    base = Model("base", "folder", (), Tokenizer({"bos_token": "<|b|>", "pad_token": "<|p|>"}, add_bos=True))
    deployed = overrides.as_deployed(_model(CHATML), base, given)
    assert deployed.tokenizer == Tokenizer(tokens, add_bos=True)


# --------------------------------------------------------------------------------------------- the command line

SETTINGS = """
[[override]]
file = "deaf.jinja"
model = "model"
engines = ["transformers"]
needs = ["system"]
"""


@pytest.fixture
def project(folder: Path) -> Path:
    (folder / "templatelint.toml").write_text(SETTINGS)
    (folder / "model").mkdir()
    body = {"bos_token": "<|b|>", "eos_token": "<|im_end|>", "chat_template": CHATML}
    (folder / "model" / "tokenizer_config.json").write_text(json.dumps(body))
    return folder


def _found(out: str, rule: str = "TL701") -> list[tuple[str, str]]:
    rows = json.loads(out)["findings"]
    return [(row["severity"], row["needs"][0]) for row in rows if row["rule"] == rule]


JSON = ("--output-format", "json")


@pytest.mark.parametrize("refs", [(), ("deaf.jinja",), ("templatelint.toml",), ("./templatelint.toml", "deaf.jinja")])
def test_an_override_is_judged_where_it_is_deployed(cli: InProcess, project: Path, refs: tuple[str, ...]) -> None:
    del project
    ran = cli("lint", *refs, *JSON)
    body = json.loads(ran.out)
    assert (ran.code, ran.err) == (1, "")
    assert [engine["name"] for engine in body["engines"]] == ["transformers"]
    assert [use["ref"] for use in body["templates"]] == ["deaf.jinja"]
    assert _found(ran.out, "TL101") == [("error", "system")]
    assert body["remarks"] == []
    # what another rule tells is not told twice
    assert _found(ran.out) == [("note", "chat")]
    (note,) = [row["message"] for row in body["findings"] if row["rule"] == "TL701"]
    assert note.startswith("prompts differ from those of the template of model: ")
    assert "; what TL101, TL201, TL302 find here works with the template of model" in note
    losses = _found(cli("lint", *refs, "--ignore", "TL1", *JSON).out)
    assert ("warning", "system") in losses
    assert "tools" not in {need for _, need in losses}


def test_other_files_are_judged_as_ever(cli: InProcess, project: Path) -> None:
    del project
    body = json.loads(cli("lint", "deaf.jinja", "chat_template.jinja", *JSON).out)
    assert [use["ref"] for use in body["templates"]] == ["deaf.jinja", "chat_template.jinja"]
    assert [engine["name"] for engine in body["engines"]][:2] == ["transformers", "llama.cpp"]
    assert {tuple(row["engines"]) for row in body["findings"] if row["ref"] == "deaf.jinja"} == {("transformers",)}


def test_flags_win_over_an_override(cli: InProcess, project: Path) -> None:
    del project
    ran = cli("lint", "--engine", "vllm", "--needs", "tools", "--select", "TL701", *JSON)
    assert [engine["name"] for engine in json.loads(ran.out)["engines"]] == ["vllm"]
    assert ("warning", "tools") in _found(ran.out)
    assert ("note", "system") in _found(ran.out)


def test_the_tokens_of_the_model_are_no_assumption(cli: InProcess, project: Path) -> None:
    (project / "deaf.jinja").write_text("{{ bos_token }}" + DEAF)
    assert json.loads(cli("lint", *JSON).out)["remarks"] == []
    assert json.loads(cli("lint", "deaf.jinja", "--isolated", *JSON).out)["remarks"] != []


@pytest.mark.parametrize("ignore", ["TL701", "TL1,TL2"])
def test_the_printed_commands_show_the_tokens_of_the_model(cli: InProcess, project: Path, ignore: str) -> None:
    (project / "deaf.jinja").write_text("{{ bos_token }}" + DEAF)
    flags = ("--min-severity", "warning", "--ignore", ignore)
    (command, *_) = [line for line in cli("lint", *flags).out.splitlines() if "see it: " in line]
    assert command.endswith(" --bos-token '<|b|>'")
    ran = cli(*shlex.split(command.partition("templatelint ")[2]))
    assert (ran.code, "<|b|><|im_start|>" in ran.out) == (0, True)
    rows = json.loads(cli("lint", *flags, *JSON).out)["findings"]
    for row in rows:
        if row["rule"] == "TL701" and "templatelint diff " in row["help"]:
            shown = cli(*shlex.split(row["help"].partition("templatelint ")[2]))
            assert shown.code in {0, 1}
            assert "transformers" in shown.out


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("./deaf.jinja", "deaf.jinja"),
        ("TOP/deaf.jinja", "deaf.jinja"),
        ("../NAME/deaf.jinja", "deaf.jinja"),
        ("**/deaf.jinja", "deaf.jinja"),
        ("de*.jinja", "deaf.jinja"),
        ("[d].jinja", "[d].jinja"),
        ("link.jinja", "link.jinja"),
    ],
)
def test_an_override_is_one_however_it_is_written(cli: InProcess, project: Path, file: str, name: str) -> None:
    (project / "[d].jinja").write_text(DEAF)
    (project / "link.jinja").symlink_to("[d].jinja")
    written = file.replace("TOP", str(project)).replace("NAME", project.name)
    (project / "templatelint.toml").write_text(SETTINGS.replace("deaf.jinja", written))
    for refs in ((), (name,)):
        body = json.loads(cli("lint", *refs, "--select", "TL701", *JSON).out)
        assert [use["ref"] for use in body["templates"]] == [name]
        assert [engine["name"] for engine in body["engines"]] == ["transformers"]
        assert {row["rule"] for row in body["findings"]} == {"TL701"}


def test_an_override_that_means_nothing_is_told_beside_others(cli: InProcess, project: Path) -> None:
    (project / "templatelint.toml").write_text(SETTINGS + SETTINGS.replace("deaf.jinja", "o/*"))
    told = 'note: templatelint.toml: the override "o/*" means no file that is there\n'
    assert told in cli("lint", "--select", "TL701").err
    assert told not in cli("lint", "deaf.jinja", "--select", "TL701").err


def test_a_model_that_cannot_be_read_is_told_and_the_rest_stands(cli: InProcess, project: Path) -> None:
    (project / "templatelint.toml").write_text(SETTINGS.replace('"model"', '"owner/name"'))
    ran = cli("lint", *JSON)
    body = json.loads(ran.out)
    assert (ran.code, _found(ran.out), _found(ran.out, "TL101")) == (1, [], [("error", "system")])
    assert [row["ref"] for row in body["not_run"] if row["rule"] == "TL701"] == ["deaf.jinja"]
    told = "override not compared with its model: there is no file or folder owner/name, and no answer from the Hub: "
    assert any(row["message"].startswith(told) for row in body["remarks"])
    (project / "deaf.jinja").write_text(CHATML)
    assert cli("lint", "-q").code == 0


@pytest.mark.parametrize("flags", [("--ignore", "TL701"), ("--select", "TL1")])
def test_it_is_a_rule_as_others(cli: InProcess, project: Path, flags: tuple[str, ...]) -> None:
    del project
    assert _found(cli("lint", *flags, *JSON).out) == []


def test_a_loss_that_is_meant_is_ignored_with_its_reason(cli: InProcess, project: Path) -> None:
    comment = "{#- templatelint: ignore[TL701] our gateway does without system texts -#}\n"
    (project / "deaf.jinja").write_text(comment + DEAF.replace("{% for", "{%- for", 1))
    ran = cli("lint", *JSON)
    assert _found(ran.out) == []
    assert {row["rule"] for row in json.loads(ran.out)["suppressed"]} == {"TL701"}
    assert _found(ran.out, "TL010") == []
    (project / "deaf.jinja").write_text(comment + CHATML)
    assert _found(cli("lint", *JSON).out, "TL010") == [("warning", "chat")]
    assert _found(cli("lint", "deaf.jinja", "--isolated", *JSON).out, "TL010") == []


@pytest.mark.parametrize(
    ("settings", "refs", "expected"),
    [
        ("", (), (2, "error: missing REF...")),
        ("jobs = 1", (), (2, "error: missing REF...")),
        ("jobs = 1", ("templatelint.toml",), (0, "note: nothing to judge: the settings name no override\n")),
        ("jobs = 1", ("pyproject.toml",), (0, "note: nothing to judge: the settings name no override\n")),
        (
            SETTINGS.replace("deaf.jinja", "o/*.jinja"),
            (),
            (0, "note: nothing to judge: the settings name no override file that is there\n"),
        ),
        (SETTINGS.replace("deaf.jinja", "gone.jinja"), (), (2, "error: no such file: gone.jinja")),
        (SETTINGS + 'exclude = ["deaf.jinja"]', (), (2, "error: templatelint.toml: override 1: unknown key")),
        ('exclude = ["deaf.jinja"]' + SETTINGS, (), (0, "note: nothing to judge: ")),
    ],
)
def test_without_anything_to_judge(
    cli: InProcess, project: Path, settings: str, refs: tuple[str, ...], expected: tuple[int, str]
) -> None:
    (project / "templatelint.toml").write_text(settings)
    ran = cli("lint", *refs)
    assert (ran.code, ran.err[: len(expected[1])]) == expected


def test_a_real_override_is_compared_with_a_folder(project: Path) -> None:
    own = resolve(str(project / "model"))
    found, _ = drift(Deployed(_model(DEAF), own, ONE, ("system",)))
    assert "with the template of " + str(project / "model") in found[0].message

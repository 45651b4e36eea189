"""What releases of transformers do differently: utils/chat_template_utils.py, tokenization_utils_base.py of each."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from templatelint.engines import get
from templatelint.model import Observation, Origin, RenderError, Request, Template, Tokenizer

NOW = datetime.fromisoformat("2026-11-29T13:05:09")
KEYS = "{% for m in messages %}{{ m.keys()|join(',') }};{% endfor %}"
NULL = [{"role": "assistant", "content": None}]
REASONED = [{"role": "assistant", "content": "Done.", "reasoning": "Because."}]
PREFIX = {"add_generation_prompt": False, "continue_final_message": "reasoning"}
OPEN = "{% for m in messages %}{{ m.reasoning }}|{{ m.content }}{% endfor %}"

# template, request, then what 4.57, 5.20 and 5.24 give: a prompt, or the kind of the error
CASES: dict[str, tuple[str, dict[str, Any], str, str, str]] = {
    "null-valued keys go (5.23)": (KEYS, {"messages": NULL}, "role,content;", "role,content;", "role;"),
    "reasoning has aliases (5.21)": (
        KEYS,
        {"messages": REASONED},
        "role,content,reasoning;",
        "role,content,reasoning;",
        "thinking,role,content,reasoning,reasoning_content;",
    ),
    "a namespace keeps names that start with an underscore (until 5.22)": (
        "{% set ns = namespace(_a=1) %}{{ ns._b }}{{ 1 }}",
        {"messages": REASONED},
        "1",
        "1",
        "raised",
    ),
    "the field to continue may be named (5.x)": (
        OPEN,
        {"messages": REASONED, **PREFIX},
        "Because.|Done.",
        "Because.",
        "Because.",
    ),
    "every alias of it is continued (5.21)": (
        "{% for m in messages %}{{ m.thinking }}{% endfor %}",
        {"messages": REASONED, **PREFIX},
        "raised",
        "invalid-request",
        "Because.",
    ),
    "text without tokens cannot be sanitized (5.20)": (
        "{{ sanitize_control_tokens }}",
        {"messages": REASONED, "variables": {"sanitize_control_tokens": True}},
        "True",
        "invalid-request",
        "invalid-request",
    ),
    "an answer without tokens is no dict (until 5.0)": (
        "{{ messages[0].content }}",
        {"messages": REASONED, "variables": {"return_dict": True}},
        "invalid-request",
        "Done.",
        "Done.",
    ),
}


def _outcome(name: str, source: str, body: dict[str, Any]) -> str:
    loaded = get(name).load(
        Template("default", source, Origin("t.jinja", source)), Tokenizer({"bos_token": "<s>", "eos_token": "</s>"})
    )
    assert not isinstance(loaded, RenderError)
    observation: Observation = loaded.render(Request(**body), NOW)
    if observation.prompt is not None:
        return observation.prompt
    assert observation.error is not None
    return observation.error.kind


@pytest.mark.parametrize("name", CASES)
def test_each_release_gives_what_it_gave(name: str) -> None:
    source, body, *expected = CASES[name]
    engines = ("transformers@4.57", "transformers@5.20", "transformers")
    assert [_outcome(engine, source, body) for engine in engines] == expected

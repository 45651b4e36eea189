"""The form of content that vLLM gives a template, as `renderers/hf.py::_detect_content_format` of 0.33.0 finds it."""

from __future__ import annotations

import json

import pytest
from reference import DATA, every, real_templates

from templatelint.engines.vllm.content_format import content_format

ROWS = json.loads((DATA / "vllm" / "content_formats.json").read_text("utf-8"))["rows"]
OPENAI = frozenset((DATA / "vllm" / "openai_templates.txt").read_text("utf-8").split())


@pytest.mark.parametrize(
    ("template", "expected"), [pytest.param(row["template"], row["format"], id=row["id"]) for row in ROWS]
)
def test_small_templates(template: str, expected: str) -> None:
    assert content_format(template) == expected


def test_real_templates() -> None:
    names = every(5)
    found = {name for name in names if content_format(real_templates()[name]) == "openai"}
    assert found == {name for name in names if name.removesuffix(".jinja") in OPENAI}
    assert found


def test_a_long_chain_of_names() -> None:
    chain = "".join(f"{{% set a{number} = a{number - 1} %}}" for number in range(1500, 0, -1))
    loops = "{% for m in a1500 %}{% for part in m.content %}{% endfor %}{% endfor %}"
    assert content_format("{% set a0 = messages %}" + chain + loops) == "openai"
    assert content_format("{% set a0 = tools %}" + chain + loops) == "string"

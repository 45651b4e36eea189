from __future__ import annotations

from pathlib import Path

import pytest

from templatelint import lint, sources

EARLIER = (Path(__file__).parent / "data" / "fixes" / "TL301-earlier.jinja").read_text("utf-8")
GUARDED = EARLIER.replace("m.content }}\n{%- elif", "(m.content or '') }}\n{%- elif")
WHOLE = EARLIER.replace("assistant\\n' + m.content }}", "assistant\\n' + (m.content or '') }}")
THINKS = WHOLE.replace(
    "{%- if m.role == 'assistant' and",
    "{%- if m.reasoning_content is defined %}{{- '<|im_start|>assistant\\n<think>' + m.reasoning_content + '</think>' "
    "+ m.content }}\n{%- elif m.role == 'assistant' and",
)
PRINTS = GUARDED.replace("assistant\\n' + m.content }}", "assistant\\n' ~ m.content }}")


@pytest.mark.parametrize(
    ("source", "engine", "told"),
    [
        (EARLIER, "transformers", "a tool-call turn without a content key makes the template raise"),
        (GUARDED, "transformers", "a tool-call turn of an earlier exchange without a content key makes the template"),
        (GUARDED, "llama.cpp", ""),  # fills in an empty text
        (THINKS, "transformers", "a tool-call turn that carries reasoning without a content key makes the template"),
        (WHOLE, "transformers", ""),
        (PRINTS, "llama-cpp-python", "the missing content of a tool-call turn is printed as a word"),
    ],
    ids=["all", "earlier", "earlier-filled", "reasoning", "guarded", "printed"],
)
def test_the_turn_is_judged_wherever_it_stands(source: str, engine: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text(source, "utf-8")
    report = lint.lint([sources.resolve(str(path))], lint.Options(select=("TL301",), engines=(engine,)))
    messages = [found.message for found in report.findings]
    assert len(messages) == bool(told), messages
    assert all(message.startswith(told) for message in messages)

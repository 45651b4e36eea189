from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from templatelint import cards, sources
from templatelint.lint import Options, lint
from templatelint.model import Place, Related

if TYPE_CHECKING:
    from pathlib import Path

CUE = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
SYNTAX = next(code for code in re.findall(r"```jinja bad\n(.*?)```", cards.get("TL214").prose, re.DOTALL))
MARK = """\
{% if tools %}{{ tools | tojson }}
Answer with <tool_call>{"name": <function-name>, "arguments": <args-json-object>}</tool_call> to call one.
{% endif %}
{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for call in m.tool_calls or [] %}<|tool_call|>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
<|/tool_call|>{% endfor %}</s>
{% endfor %}"""
# rule → a template, what a finding points at, and what else it shows of it
SECOND = {
    "TL214 another syntax": ("TL214", SYNTAX, '<tool_call>{"name":', "the history has its own: <function="),
    "TL214 another mark": ("TL214", MARK, "<|tool_call|>", "the system text asks for it: <tool_call>"),
    "TL003": (
        "TL003",
        "{% for m in messages %}{% if m.role == 'system' %}{% set head = m.content %}{% endif %}<|{{ m.role }}|>"
        "{{ m.content ~ head.strip() }}</s>\n{% endfor %}" + CUE,
        "head",
        "'head' is set here: head",
    ),
    "TL002": (
        "TL002",
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>\n"
        "{% if m.nothing %}{{ m.x | groupby('a') }}\n{{ m.y | batch(2) }}{% endif %}{% endfor %}" + CUE,
        "groupby",
        "filter 'batch' is used here: batch",
    ),
    "TL101": (
        "TL101",
        "{% for m in messages %}{% if m.role == 'system' %}<|system|>{{ m.content }}</s>\n{% continue %}{% endif %}"
        "<|{{ m.role }}|>{{ m.content }}</s>\n{% endfor %}" + CUE,
        "if",
        "the round of the loop ends here: continue",
    ),
}


def text_of(source: str, start: Place, end: Place) -> str:
    assert start.line == end.line
    return source.splitlines()[start.line - 1][start.column - 1 : end.column - 1]


@pytest.mark.parametrize(("rule", "source", "first", "second"), SECOND.values(), ids=SECOND)
def test_a_finding_shows_the_other_place(tmp_path: Path, rule: str, source: str, first: str, second: str) -> None:
    path = tmp_path / "m.jinja"
    path.write_text(source, "utf-8")
    report = lint([sources.resolve(str(path))], Options(select=(rule,), jobs=1))
    (found,) = [one for one in report.findings if one.related]
    assert text_of(source, found.place, found.end) == first
    told = [f"{other.message}: {text_of(source, other.place, other.end)}" for other in found.related]
    assert told == [second]


def test_the_other_place_is_in_the_real_file(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    (_, source, _, _) = SECOND["TL101"]
    escaped = source.replace("\n", "\\n")
    path.write_text('{"eos_token": "</s>",\n "chat_template": "' + escaped + '"}', "utf-8")
    report = lint([sources.resolve(str(path))], Options(select=("TL101",), jobs=1))
    (found,) = report.findings
    column = len(' "chat_template": "') + escaped.index("continue") + 1
    places = (Place(str(path), 2, column), Place(str(path), 2, column + len("continue")))
    assert found.related == (Related("the round of the loop ends here", *places, 2),)
    assert found.locatable

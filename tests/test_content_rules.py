"""What the rule on texts that reach the prompt changed says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from told import is_told, real, small, told

from templatelint.lint import Options, lint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.model import Finding, Model

CALLS = "{{ m.tool_calls | tojson if m.tool_calls }}"
ALL = ("transformers", "llama.cpp", "vllm", "sglang")


def _all(content: str) -> str:
    """A template that prints the content of every message `m` so."""
    return "{% for m in messages %}<|im_start|>{{ m.role }}\n" + content + CALLS + "<|im_end|>\n{% endfor %}"


def _only(role: str, content: str) -> str:
    """One that prints the content so for that role, and as it is for others."""
    return _all("{% if m.role == '" + role + "' %}" + content + "{% else %}{{ m.content }}{% endif %}")


ENDS = "text loses blanks and newlines at its ends"


class Row(NamedTuple):
    says: str
    template: str
    found: Sequence[str]
    engines: Sequence[str] = ALL


ROWS = [
    Row("texts as they are", _all("{{ m.content }}"), []),
    Row("thoughts cut off an answer", _only("assistant", "{{ m.content.split('</think>')[-1] }}"), []),
    Row("trimmed", _all("{{ m.content | trim }}"), [f"note user and assistant {ENDS}"]),
    Row("trimmed, of the system", _only("system", "{{ m.content | trim }}"), [f"note system {ENDS}"]),
    Row("trimmed, of users", _only("user", "{{ m.content.strip() }}"), [f"note user {ENDS}"]),
    Row("trimmed at one end", _only("assistant", "{{ m.content.rstrip('\\n') }}"), [f"note assistant {ENDS}"]),
    Row("trimmed, results", _only("tool", "{{ m.content | trim }}"), []),
    Row(
        "upper-cased",
        _all("{{ m.content | upper }}"),
        [
            "error user, assistant, system and tool text is upper-cased: ' BOAT OF THE PLOVER2954 ' for ' boat of the",
        ],
    ),
    Row(
        "in one line",
        _only("user", "{{ m.content | replace('\\n', ' ') }}"),
        ["warning user text loses its line breaks: "],
    ),
    Row(
        "lower-cased",
        _only("user", "{{ m.content | lower }}"),
        ["error user text is lower-cased: 't|>user\\n\\n  is the <b>lat' for 'Is the <b>lat'"],
    ),
    Row(
        "title",
        _only("user", "{{ m.content | title }}"),
        ["error user text is written in other letters: "],
        ("transformers", "vllm", "sglang"),
    ),
    Row("a beginning", _only("user", "{{ m.content[:60] }}"), ["error user text is cut: "]),
    Row("an end", _only("assistant", "{{ m.content[12:] }}"), ["error assistant text is cut: "]),
    Row(
        "a first line, which is empty",
        _only("user", "{{ m.content.split('\\n')[0] }}"),
        ["error user text is cut: nothing is left of '\\n  Is the <b>late</b>"],
    ),
    Row(
        "a first line, of the system",
        _only("system", "{{ m.content.split('\\n')[0] }}"),
        ["error system text is cut: nothing is left of '\\n  Answer <b>only</b>"],
    ),
    Row("nothing of the system", _only("system", ""), []),
    Row("escaped for HTML", _only("user", "{{ m.content | e }}"), ["warning user text is HTML-escaped: "], ("sglang",)),
    Row("as JSON", _only("user", "{{ m.content | tojson }}"), ["warning user text is written as a JSON string: "]),
    Row(
        "as JSON of ASCII",
        _only("user", "{{ m.content | tojson(ensure_ascii=True) }}"),
        ["warning user text is unicode-escaped: "],
        ("transformers", "vllm", "sglang"),
    ),
    Row("a word", _only("user", "{{ m.content | replace('boat', 'ship') }}"), ["warning user text is changed: '"]),
    Row(
        "blank lines", _only("user", "{{ m.content | replace('\\n\\n', '\\n') }}"), ["note user text has other blanks"]
    ),
    Row("results as JSON, which is another rule's", _only("tool", "{{ m.content | tojson }}"), []),
    Row("results for HTML", _only("tool", "{{ m.content | e }}"), ["warning tool output is HTML-escaped: "], ("vllm",)),
    Row(
        "behind a mark of thoughts",
        _only("user", "{{ m.content.split('</think>')[-1] }}"),
        ["warning user text is cut where it spells out a marker: "],
    ),
    Row(
        "before a mark of turns",
        _only("user", "{{ m.content.split('[INST]')[0] }}"),
        ["warning user text is cut where it spells out a marker: "],
    ),
    Row(
        "a marker taken out",
        _only("user", "{{ m.content.replace('<|im_end|>', '') }}"),
        ["warning user text is changed where it spells out a marker: "],
    ),
    Row(
        "results before a mark of turns",
        _only("tool", "{{ m.content.split('[INST]')[0] }}"),
        ["warning tool output is cut where it spells out a marker: "],
    ),
    Row("nothing of users", _only("user", ""), []),
]


def _told(model: Model, engine: str) -> list[Finding]:
    return told(model, engine, "TL304", ("chat", "system", "tools"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.says)
def test_the_rule_says_this_and_no_more(row: Row) -> None:
    for engine in row.engines:
        is_told(_told(small(row.template), engine), row.found, engine)


# real templates: engine, what is said
REAL = [
    (
        "zai-org-GLM-Z1-32B-0414",
        "llama.cpp",
        "user text is cut where it spells out a marker: 'op><|user|>\\n<tool_call> '",
    ),
    ("nvidia-NVIDIA-Nemotron-Nano-12B-v2", "vllm", "user text is changed where it spells out a marker"),
    ("tiiuae-falcon-7b-instruct", "transformers", "user and assistant text has other blanks and newlines inside"),
    ("google-gemma-2-2b-it", "sglang", f"user and assistant {ENDS}"),
    ("GLM-4.6", "transformers", f"assistant {ENDS}"),
]


@pytest.mark.parametrize(("name", "engine", "said"), REAL)
def test_real_templates_that_change_texts(name: str, engine: str, said: str) -> None:
    assert any(said in finding.message for finding in _told(real(name), engine))


@pytest.mark.parametrize(
    "name", ["Qwen-Qwen2.5-7B-Instruct", "Kimi-K2-Instruct", "Mistral-Small-3.2-24B-Instruct-2506"]
)
def test_silence_about_templates_that_print_texts_as_they_are(name: str) -> None:
    report = lint([real(name)], Options(select=("TL304",)))
    assert [finding.message for finding in report.findings] == []


def test_a_list_of_parts_that_is_printed_as_data_is_no_change_of_its_text() -> None:
    told = [finding.message for finding in _told(real("OpenPipe-Llama-3.1-8B-Instruct"), "vllm")]
    assert [message for message in told if "Python string" in message] == []

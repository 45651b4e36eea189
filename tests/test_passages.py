"""Where a text stands for a reader: in tags before text, never in comments, names as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from templatelint import lint
from templatelint.passages import mention, without_comments
from templatelint.sources import resolve

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        pytest.param("{# no tools #}{% if tools %}", "tools", "{# no tools #}{% if ", id="behind a comment"),
        pytest.param("my tools: {{ tools }}", "tools", "my tools: {{ ", id="a tag before text"),
        pytest.param("my tools", "tools", "my ", id="text where no tag has it"),
        pytest.param("{# tools #}", "tools", None, id="only in a comment"),
        pytest.param("{{ '{# tools #}' }}", "tools", "{{ '{# ", id="a string that looks like a comment"),
        pytest.param("{% raw %}{# tools #}{% endraw %}", "tools", "{% raw %}{# ", id="raw text has no comments"),
        pytest.param("{{ m.my_content }}{{ m['content'] }}", "content", "{{ m.my_content }}{{ m['", id="a whole name"),
        pytest.param("{{ m.reasoning_content }}", "content", None, id="no part of a name"),
        pytest.param("{{ m.thinking_mode }}{{ m.thinking }}", ".thinking", "{{ m.thinking_mode }}{{ m", id="attribute"),
        pytest.param(r"{{ '\nassistant' }}", "assistant", r"{{ '\n", id="behind an escape"),
        pytest.param("{{ 'You are help' }}", "You are he", "{{ '", id="the beginning of a sentence"),
        pytest.param(
            "{# a\r\n#}\r\n{# tools #}\r\n{{ tools }}", "tools", "{# a\r\n#}\r\n{# tools #}\r\n{{ ", id="CRLF"
        ),
        pytest.param("{{ tools }}{# tools", "tools", "{{ ", id="a comment without an end"),
        pytest.param("{{ messages }}{% if $ tools", "tools", "{{ messages }}{% if $ ", id="no Jinja"),
    ],
)
def test_where_a_text_stands(source: str, text: str, found: str | None) -> None:
    expected = None if found is None else (len(found), len(found) + len(text))
    assert mention(source, text) == expected


def test_offsets_stay_without_comments() -> None:
    assert without_comments("a{# b #}c\r\n{#- d -#}\r\n") == "a" + "\0" * 7 + "c\r\n" + "\0" * 9 + "\r\n"


_CHAT = "{%- for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


@pytest.mark.parametrize(
    ("comment", "rule"),
    [
        ("{#- has no use for tools: neither 'tool' nor tool_call_id, which it never prints -#}\n", "TL201"),
        ("{#- thinks about reasoning_content, enable_thinking and {{ .Prompt }}, and says None -#}\n", "TL501"),
    ],
)
def test_comments_change_no_finding(comment: str, rule: str, tmp_path: Path) -> None:
    plain, commented = tmp_path / "plain.jinja", tmp_path / "commented.jinja"
    plain.write_text(_CHAT)
    commented.write_text(comment + _CHAT)
    options = lint.Options(engines=("transformers",), jobs=1)
    before, after = (lint.lint([resolve(str(path))], options).findings for path in (plain, commented))
    assert rule in {finding.rule for finding in before}
    assert [(finding.rule, finding.message) for finding in after] == [(f.rule, f.message) for f in before]
    assert all(finding.span is None or finding.span[0] >= len(comment) for finding in after)

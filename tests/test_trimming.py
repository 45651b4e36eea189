from __future__ import annotations

import pytest

from templatelint.syntax import parse
from templatelint.trimming import trimmed

LOOP = "{% for m in messages %}{{ m.content }}{% endfor %}"


@pytest.mark.parametrize(
    ("source", "where", "always"),
    [
        (LOOP, None, False),
        ("a\nb" + LOOP, None, False),
        ("{%- for m in messages -%}\n  {{ m.content }}\n{%- endfor -%}\n", None, False),
        ("{% set a = 1 %}\n{%- if a %}x{% endif %}", None, False),  # the next tag takes the newline anyway
        ("{% set a = 1 -%}\n  {% if a %}x{% endif %}", None, False),  # the one before has taken the blanks
        ("{% set a = 1 +%}\n{{ a }}", None, False),  # kept on purpose
        ("{% set a = 1 %}\n{{ a }}", "{{", True),
        ("{# c #}\n{{ 1 }}", "{{", True),
        ("x\n  {% set a = 1 %}{{ a }}", "{%", True),
        ("{% for m in messages %}\n{{ m.content }}{% endfor %}", "{{", True),
        ("{% for t in tools %}\n{{ t.name }}{% endfor %}", "{{", False),
        ("{% if tools %}\n{{ tools }}{% endif %}", "{{", False),
        ("{% if tools %}{% else %}\nx{% endif %}", "{%", False),
        ("{% if tools %}\n{{ tools }}{% endif %}\n{{ 1 }}", "{{", True),
        ("{% set a %}\nb{% endset %}{{ a }}", "{%", False),
        ("{% for m in messages %}{{ m.content }}{% endfor %}\n</s>", "%}", True),
        ("{{ '{% x %}\n' }}", None, False),
        ("{% raw %}{% x %}\n{% endraw %}{{ 1 }}", None, False),
        ("{% if %}\n", None, False),  # no template at all
    ],
)
def test_what_the_settings_take_out(source: str, where: str | None, *, always: bool) -> None:
    place = trimmed(source)
    if where is None:
        assert place is None
        return
    assert place is not None
    assert place.always == always
    offset = parse(source).offset_of(place.at)
    assert source[offset : offset + 2] == where


def test_places_are_those_of_the_source_with_its_own_newlines() -> None:
    source = "{# a #}x\r\ny\r\n{% set a = 1 %}\r\n{{ a }}"
    place = trimmed(source)
    assert place is not None
    offset = parse(source).offset_of(place.at)
    assert source[offset:] == "{{ a }}"


@pytest.mark.parametrize("tag", ["{% %}", "{% 1 %}", "{% 1.5 %}", "{% 'set' %}"])
def test_a_tag_without_a_word_ends_no_run(tag: str) -> None:
    assert trimmed(tag + "\n{{ 1 }}") is not None

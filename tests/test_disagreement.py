"""Where engines disagree: told only where the renderer is the reason, and its cause only where that explains it."""

from __future__ import annotations

import pytest

from templatelint.lint import Options, lint
from templatelint.model import Finding, Model, Origin, Template

CHAT = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
CALLS = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ c.function.name }}"
    "{% for k, v in c.function.arguments.items() %}[{{ k }}={{ v }}]{% endfor %}{% endfor %}<end>{% endfor %}"
    "{% if tools %}{{ tools|tojson }}{% endif %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
SAFE = CHAT.replace("m.content }}", "('<b>' if m.role == 'user' else '') + ('<i>'|safe) + m.content }}")
BEFORE_CONTINUE = (
    "{% for m in messages %}{% if m.role == 'system' %}<system>{{ m.content }}<end>{% continue %}{% endif %}"
    "<{{ m.role }}>{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
BOTH = BEFORE_CONTINUE.replace("{{ m.content }}<end>{% endfor", "{{ none }}{{ m.content }}<end>{% endfor")

# template → what is said to be the cause on llama.cpp; None where nothing is to be said
CAUSES: dict[str, tuple[str, str | None]] = {
    "alike everywhere": (CHAT, None),
    "prepared differently (the date)": (CHAT + "{{ date_string|default('') }}", None),
    "a mapping printed": (CALLS, "prints none and mappings as nothing, lists without brackets"),
    "text before continue": (BEFORE_CONTINUE, "drops text that stands before `continue` or `break` in the same branch"),
    "marked safe": (SAFE, "joins text marked `safe` with other text unescaped"),
    "newline first": ("\n" + CHAT, "drops a newline at the start of the template"),
    "default of none": (
        CHAT.replace("{{ m.content }}", "{{ m.content }}{{ none|default('x') }}"),
        "takes none for undefined in `default`",
    ),
    "two at once": (
        BOTH,
        "prints none and mappings as nothing, lists without brackets, and drops text that stands before `continue`",
    ),
    "one that is not known": (
        CHAT.replace("{{ m.content", "{{ 'é'.upper() }}{{ m.content"),
        "renders something differently",
    ),
}


def _findings(source: str, rule: str, *engines: str) -> list[Finding]:
    template = Template("default", source, Origin("t.jinja", source))
    report = lint([Model("t.jinja", "file", (template,))], Options(engines=engines, select=(rule,), jobs=1))
    assert not [gap for gap in report.not_run if "crash" in gap.why]
    return list(report.findings)


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_named_where_it_explains_the_difference(name: str) -> None:
    source, cause = CAUSES[name]
    found = _findings(source, "TL004", "transformers", "llama.cpp")
    if cause is None:
        assert not found
        return
    assert any(cause in finding.message for finding in found)
    assert {engine for finding in found for engine in finding.engines} == {"llama.cpp"}


def test_an_engine_alone_disagrees_with_nobody() -> None:
    assert not _findings(BEFORE_CONTINUE, "TL004", "llama.cpp")


@pytest.mark.parametrize(
    ("source", "depends"),
    [
        (CHAT, False),
        (CHAT.replace("%}", "%}\n"), True),
        (CHAT.replace("{%", "\n   {%"), True),
        (CHAT.replace("{%", "\n   {%-").replace("%}", "-%}\n"), False),
        ("{# a comment #}\n" + CHAT, True),
        (CHAT + "{% if no_such_variable %}\n{% endif %}", False),
    ],
)
def test_trim_dependence_is_seen_in_the_prompt(source: str, *, depends: bool) -> None:
    assert bool(_findings(source, "TL005")) == depends

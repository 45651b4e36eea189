"""Prompts cut by message and laid side by side: nothing is lost, what belongs together stands together."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_prompts import SOME, prompt

from templatelint import cases
from templatelint.alignment import CUE, Run, Segment, aligned, excerpt, message_of, runs, segments
from templatelint.model import Case, Request

if TYPE_CHECKING:
    from collections.abc import Iterable

_CASES = (
    "chat-basic",
    "chat-system",
    "chat-turns",
    "tools-offer-system",
    "tool-call-empty",
    "tool-parallel",
    "tool-interrupted",
    "reasoning-inline",
    "markers-in-tool",
    "no-user",
)


def _joined(told: Iterable[Segment | Run]) -> str:
    return "".join(one.text for one in told)


@pytest.mark.parametrize("case_id", _CASES)
def test_segments_are_the_prompt(case_id: str) -> None:
    case = cases.get(case_id)
    rendered = [text for name in SOME if (text := prompt(name, case_id)) is not None]
    assert len(rendered) > 3
    for text in rendered:
        told = segments(text, case)
        assert _joined(told) == text
        assert all(one.text and text[one.start : one.end] == one.text for one in told)


@pytest.mark.parametrize("case_id", _CASES)
def test_rows_are_both_prompts(case_id: str) -> None:
    case = cases.get(case_id)
    rendered = [text for name in SOME if (text := prompt(name, case_id)) is not None]
    for one, other in pairwise(rendered):
        rows = aligned(one, other, case)
        cut = [runs(row) for row in rows]
        assert _joined(segment for row in rows for segment in row.a) == one
        assert _joined(segment for row in rows for segment in row.b) == other
        assert _joined(run for a, _ in cut for run in a) == one
        assert _joined(run for _, b in cut for run in b) == other
        for a, b in cut:
            assert _joined(run for run in a if not run.differs) == _joined(run for run in b if not run.differs)


@pytest.mark.parametrize("case_id", _CASES)
def test_a_prompt_agrees_with_itself(case_id: str) -> None:
    for name in SOME:
        text = prompt(name, case_id)
        if text is not None:
            rows = aligned(text, text, cases.get(case_id))
            assert all(row.same and not row.moved for row in rows)
            assert not any(run.differs for row in rows for side in runs(row) for run in side)


# template, case → the texts in the order of the prompt: (message, role, what it begins with, what it ends with)
_TEXTS = [
    (
        "Qwen-Qwen2.5-7B-Instruct",
        "tool-parallel",
        [
            ("tools", "<tools>\n{", "}\n</tools>"),
            ("user.1", "Find the next", "at once."),
            ("call.1", '<tool_call>\n{"name": "lookup_tide_table"', "}}\n</tool_call>"),
            ("call.2", '<tool_call>\n{"name": "reserve_pilot_berth"', "}}\n</tool_call>"),
            ("tool.1", "The next high", "after noon."),
            ("tool.2", "The barge", "watch."),
        ],
    ),
    (
        "meta-llama-Llama-3.1-8B-Instruct",
        "tool-call-empty",
        [
            ("tools", '{\n    "type": "function"', "    }\n}"),
            ("user.1", "When is", "quay?"),
            ("call.1", '{"name": "lookup_tide_table", "parameters": {', 'lock"}}'),
            ("tool.1", "The next", "noon."),
        ],
    ),
    (
        "mistralai-Mistral-Nemo-Instruct-2407",
        "tool-call-empty+shortids",
        [
            ("tools", "[AVAILABLE_TOOLS][{", "}][/AVAILABLE_TOOLS]"),
            ("user.1", "When is", "quay?"),
            ("call.1", '[TOOL_CALLS][{"name"', '"id": "XpQ7wR3vB"}]'),
            ("tool.1", "The next", "noon."),
        ],
    ),
    (
        "openai-gpt-oss-120b",
        "tool-call-empty",
        [
            ("tools", "// Looks up", "}) => any;"),
            ("user.1", "When is", "quay?"),
            ("call.1", "to=functions.lookup_tide_table", '"}<|call|>'),
            ("tool.1", "The next", "noon."),
        ],
    ),
    (
        "Qwen-Qwen3-Coder-30B-A3B-Instruct",
        "tool-call-empty",
        [
            ("tools", "<tools>\n<function>", "</function>\n</tools>"),
            ("user.1", "When is", "quay?"),
            ("call.1", "<tool_call>\n<function=lookup_tide_table>", "</function>\n</tool_call>"),
            ("tool.1", "The next", "noon."),
        ],
    ),
    (
        "deepseek-ai-DeepSeek-V3.1",
        "tool-call-empty",
        [
            ("user.1", "When is", "quay?"),
            ("call.1", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
            ("tool.1", "The next", "noon."),
        ],
    ),
    (
        "google-gemma-2-2b-it",
        "chat-turns",
        [
            ("user.1", "Which of", "Tuesday?"),
            ("assistant.1", "The blue", "seven."),
            ("user.2", "Then please", "boat."),
        ],
    ),
]


@pytest.mark.parametrize(("name", "case_id", "expected"), _TEXTS)
def test_where_texts_calls_and_definitions_stand(name: str, case_id: str, expected: list[tuple[str, str, str]]) -> None:
    told = [one for one in segments(prompt(name, case_id) or "", cases.get(case_id)) if one.mark]
    assert [one.message for one in told] == [message for message, _, _ in expected]
    for one, (_, first, last) in zip(told, expected, strict=True):
        assert one.text.startswith(first)
        assert one.text.endswith(last)
        assert one.role == one.message.partition(".")[0]


_CHATML = "<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
# prompt of `chat-basic` → role, message and text of every segment
_WHOLE = [
    (
        _CHATML,
        [("user", "user.1", "<|im_start|>user\n"), ("user", "user.1", "{user}"), ("user", "user.1", "<|im_end|>\n")],
        "<|im_start|>assistant\n",
    ),
    (
        "<s><｜User｜>{user}<｜Assistant｜><think>\n",
        [(None, "", "<s>"), ("user", "user.1", "<｜User｜>"), ("user", "user.1", "{user}")],
        "<｜Assistant｜><think>\n",
    ),
    (
        "### Human:\n{user}\n\n### Assistant:\n",
        [("user", "user.1", "### Human:\n"), ("user", "user.1", "{user}"), ("user", "user.1", "\n\n")],
        "### Assistant:\n",
    ),
    (
        "]~b]user\n{user}[e~[\n]~b]ai\n<think>\n",
        [("user", "user.1", "]~b]user\n"), ("user", "user.1", "{user}"), ("user", "user.1", "[e~[\n")],
        "]~b]ai\n<think>\n",
    ),
    ("<s>[INST] {user} [/INST]", [(None, "", "<s>"), ("user", "user.1", "[INST] ")], None),
    ("{user}", [("user", "user.1", "{user}")], None),
]


@pytest.mark.parametrize(("template", "expected", "cue"), _WHOLE)
def test_headers_name_whose_turn_they_open(
    template: str, expected: list[tuple[str | None, str, str]], cue: str | None
) -> None:
    case = cases.get("chat-basic")
    user = case.request.messages[0]["content"]
    told = segments(template.replace("{user}", user), case)
    shown = [(one.role, one.message, one.text.replace(user, "{user}")) for one in told]
    assert shown[: len(expected)] == expected
    assert [text for _, message, text in shown if message == CUE] == ([cue] if cue else [])


def test_a_moved_message_has_a_row_on_either_side() -> None:
    case = cases.get("chat-system")
    system, user = (message["content"] for message in case.request.messages)
    rows = aligned(f"<|system|>{system}<|user|>{user}", f"<|user|>{user}<|system|>{system}", case)
    assert [(row.message, bool(row.a), bool(row.b), row.moved) for row in rows] == [
        ("system", True, False, True),
        ("user.1", True, True, False),
        ("system", False, True, True),
    ]


def test_a_message_of_one_side_stands_alone() -> None:
    case = cases.get("chat-system")
    system, user = (message["content"] for message in case.request.messages)
    rows = aligned(f"<|system|>{system}<|user|>{user}", f"<|user|>{user}", case)
    assert [(row.role, row.message, bool(row.a), bool(row.b)) for row in rows] == [
        ("system", "system", True, False),
        ("user", "user.1", True, True),
    ]
    a, b = runs(rows[0])
    assert all(run.differs for run in a)
    assert b == ()


def test_a_system_text_in_a_user_turn_is_told_by_its_header() -> None:
    case = cases.get("chat-system")
    system, user = (message["content"] for message in case.request.messages)
    told = segments(f"<start_of_turn>user\n{system}\n\n{user}<end_of_turn>\n", case)
    assert [(one.role, one.message, bool(one.mark)) for one in told] == [
        ("user", "system", False),
        ("system", "system", True),
        ("user", "system", False),
        ("user", "user.1", True),
        ("user", "user.1", False),
    ]


def test_a_thought_inside_content_is_a_text_of_its_own() -> None:
    case = cases.get("reasoning-inline")
    content = case.request.messages[1]["content"]
    told = [one for one in segments(f"<|assistant|>{content}<|end|>", case) if one.mark]
    thought, answer = told
    assert (thought.role, answer.role) == ("reasoning", "assistant")
    assert thought.text.endswith("</think>\n\n")
    assert answer.text.startswith("The blue")


def test_differing_characters_are_pointed_out() -> None:
    case = cases.get("chat-basic")
    user = case.request.messages[0]["content"]
    (row, cue) = aligned(
        f"<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n",
        f"<start_of_turn>user\n{user}<end_of_turn>\n<start_of_turn>model\n",
        case,
    )
    a, b = runs(row)
    assert [(run.text, run.differs) for run in a] == [
        ("<|im_start|>", True),
        ("user\n", False),
        (user, False),
        ("<|im_end|>", True),
        ("\n", False),
    ]
    assert [run.text for run in b if run.differs] == ["<start_of_turn>", "<end_of_turn>"]
    assert cue.message == CUE


# requests of the user's own, which carry no marks
_OWN = Case(
    "own",
    "",
    Request(
        messages=[
            {"role": "system", "content": "Answer briefly.\nNever guess."},
            {"role": "user", "content": "ok"},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "find", "arguments": '{"q": ["boats at sea"]}'}}
            ]},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "three"}]},
            {"role": "assistant", "content": "Three.", "reasoning_content": "so three"},
            {"role": "user", "content": "ok"},
        ],
        tools=[{"type": "function", "function": {"name": "find", "description": "Finds boats."}}],
    ),
)  # fmt: skip


def test_a_request_without_marks_is_followed_by_its_texts() -> None:
    text = (
        "<|system|>Answer briefly.\nNever guess.\n\n<tools>\nfind: Finds boats.\n</tools>\n"
        '<|user|>ok<|assistant|><tool_call>{"name": "find", "arguments": {"q": ["boats at sea"]}}</tool_call>'
        "<|tool|>three<|assistant|><think>so three</think>Three.<|user|>ok<|assistant|>"
    )
    told = segments(text, _OWN)
    assert _joined(told) == text
    assert [(one.message, one.text) for one in told if one.mark] == [
        ("system", "Answer briefly.\nNever guess."),
        ("tools", "<tools>\nfind: Finds boats.\n</tools>"),
        ("user.1", "ok"),
        ("call.1", '<tool_call>{"name": "find", "arguments": {"q": ["boats at sea"]}}</tool_call>'),
        ("tool.1", "three"),
        ("reasoning.1", "so three"),
        ("assistant.1", "Three."),
        ("user.2", "ok"),
    ]


# ------------------------------------------------------------------------------------------------- excerpts


def _chatml(*turns: tuple[str, str]) -> str:
    return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns) + "<|im_start|>assistant\n"


def test_an_excerpt_shows_the_marks_with_their_header() -> None:
    case = cases.get("chat-system")
    system, user = (message["content"] for message in case.request.messages)
    text = _chatml(("system", system), ("user", user))
    assert excerpt(text, case, ["system"], 200) == f"<|im_start|>system\n{system}<|im_end|>\n"
    short = excerpt(text, case, ["system"], 80)
    assert short.startswith("<|im_start|>system\nYou are")
    assert short.endswith("sentences.<|im_end|>\n")
    assert "…" in short
    assert len(short) <= 80


def test_an_excerpt_of_what_is_missing_shows_where_it_would_stand() -> None:
    case = cases.get("tool-call-empty")
    user, result = case.request.messages[0]["content"], case.request.messages[2]["content"]
    text = _chatml(("user", user), ("assistant", ""), ("tool", result))
    shown = excerpt(text, case, ["call.1.name", "call.1.value"], 300)
    assert shown.startswith("…")
    assert "north quay?<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>tool\nThe next" in shown
    assert excerpt(text, case, ["tools.1.name"], 300).startswith("<|im_start|>user\nWhen is")


def test_an_excerpt_without_marks_is_the_whole_and_cue_its_end() -> None:
    case = cases.get("chat-basic")
    text = _chatml(("user", case.request.messages[0]["content"]))
    assert excerpt(text, case, [], 400) == text
    assert excerpt(text, case, [CUE], 400) == "<|im_start|>assistant\n"


@pytest.mark.parametrize("case_id", _CASES)
@pytest.mark.parametrize("width", [60, 160])
def test_excerpts_keep_their_width(case_id: str, width: int) -> None:
    case = cases.get(case_id)
    for name in SOME:
        text = prompt(name, case_id)
        for mark in case.marks if text is not None else ():
            assert 0 < len(excerpt(text or "", case, [mark], width)) <= width + 60


@pytest.mark.parametrize(
    ("mark", "message"),
    [("user.1.2", "user.1"), ("call.2.value.3", "call.2"), ("tools.3.name", "tools"), ("system", "system")],
)
def test_the_message_of_a_mark(mark: str, message: str) -> None:
    assert message_of(mark) == message


# --------------------------------------------------------------------------------------------------- hostile

_PIECES = st.sampled_from(
    [
        *cases.get("tool-parallel").texts,
        *cases.get("tool-parallel").marks.values(),
        "<|im_start|>user\n",
        "<|im_end|>\n",
        "</think>",
        "<tool_call>",
        "[INST]",
        "user:\n",
        "{",
        '"',
        "\n\n",
        "x",
        "\ud800",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=30), st.lists(_PIECES, max_size=30), st.booleans())
def test_whatever_stands_in_a_prompt_nothing_is_lost(one: list[str], other: list[str], own: bool) -> None:
    case = cases.get("tool-parallel")
    case = Case("own", "", case.request) if own else case
    a, b = "".join(one), "".join(other)
    rows = aligned(a, b, case)
    assert _joined(segment for row in rows for segment in row.a) == a
    assert _joined(segment for row in rows for segment in row.b) == b
    for row in rows:
        side_a, side_b = runs(row)
        assert _joined(side_a) == _joined(row.a)
        assert _joined(run for run in side_a if not run.differs) == _joined(r for r in side_b if not r.differs)
    assert len(excerpt(a, case, ["call.1"], 80)) <= 140

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from templatelint.capabilities import Capabilities
from templatelint.contract import contract

GOOD = Capabilities(
    True,
    chat="fine",
    prompts=True,
    system="honoured",
    system_with_tools="honoured",
    later_system="kept",
    developer="honoured",
    consecutive_users="kept",
    consecutive_assistants="kept",
    user_after_tool="kept",
    assistant_first="kept",
    no_user="kept",
    tools="shown",
    tool_calls="shown",
    parallel_tool_calls="shown",
    tool_results="shown",
    history_without_tools="kept",
    call_ids="any",
    call_ids_shown=True,
    object_arguments="fine",
    string_arguments="fine",
    null_content="fine",
    absent_content="fine",
    text_with_calls="kept",
    string_content="fine",
    typed_content="fine",
    typed_tool_results="fine",
    reasoning="dropped",
    reasoning_fields=(),
    thinking_switch=(),
    reasoning_effort=False,
    generation_prompt="",
    thought="none",
    bos="none",
)


def _with(**facts: Any) -> Capabilities:
    values = {field.name: getattr(GOOD, field.name) for field in fields(GOOD)}
    return Capabilities(**{**values, **facts})


def test_what_takes_everything_asks_for_nothing() -> None:
    assert contract({"transformers": GOOD}) == ()


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"string_content": "raises", "typed_content": "fine"}, ["content as a list of parts, not a string"]),
        ({"string_content": "lost", "typed_content": "lost"}, []),  # nothing would help
        ({"system": "refused"}, ["no system message: it is refused"]),
        ({"system": "dropped"}, ["no system message: it never reaches the model"]),
        ({"system": "merged"}, ["system text is weighed as part of a user turn"]),
        *(({"later_system": fate}, ["one system message, only first"]) for fate in ("dropped", "refused", "moved")),
        ({"later_system": "merged"}, []),
        # said once, by the larger lack
        ({"system": "refused", "later_system": "refused"}, ["no system message: it is refused"]),
        ({"system_with_tools": "dropped"}, ["no system message beside tools: it is lost"]),
        ({"tools": "dropped"}, ["no tools: the model never sees their definitions"]),
        ({"tools": "refused"}, ["no tools: a request with definitions is refused"]),
        (
            {"tools": "dropped", "tool_calls": "refused", "tool_results": "refused", "parallel_tool_calls": "refused"},
            ["plain chat only: the model sees neither tools nor calls of them"],
        ),
        ({"tools": "with system only"}, ["tools only beside a system message"]),
        ({"tools": "some"}, ["not every tool reaches the model in every conversation"]),
        (
            {"tool_calls": "dropped", "parallel_tool_calls": "dropped"},
            ["no tool calls in the history: the model never sees them"],
        ),
        ({"tool_calls": "partly"}, ["calls of the history lose their name or their arguments"]),
        ({"tool_results": "dropped"}, ["no messages of the role tool: the model never sees them"]),
        ({"tool_results": "need a name"}, ["the function's name with every tool result"]),
        ({"string_arguments": "raises"}, ["arguments as a mapping, not a JSON string"]),
        ({"string_arguments": "double-encoded"}, ["arguments as a mapping, not a JSON string"]),
        ({"object_arguments": "python"}, ["arguments as a JSON string, not a mapping"]),
        ({"object_arguments": "rejected"}, []),  # that engine's clients know of no mappings
        ({"object_arguments": None}, []),
        ({"call_ids": "nine"}, ["call ids of nine letters and digits"]),
        ({"call_ids": "name"}, ["call ids as functions.NAME:INDEX: they stand for the name"]),
        ({"null_content": "word"}, ['content "" beside tool calls, not null']),
        ({"absent_content": "raises"}, ["a content member on every message, calls too"]),
        ({"parallel_tool_calls": "first only"}, ["one call a turn"]),
        ({"parallel_tool_calls": "refused"}, ["one call a turn"]),
        ({"text_with_calls": "dropped"}, ["no text beside tool calls: one of the two is lost"]),
        ({"history_without_tools": "refused"}, ["the tools again in every request whose history has calls"]),
        ({"consecutive_users": "refused", "user_after_tool": "refused"}, ["roles alternate user/assistant"]),
        ({"user_after_tool": "refused"}, ["an answer between a tool result and the next user message"]),
        ({"assistant_first": "refused"}, ["a user message before the first answer"]),
        ({"no_user": "refused"}, ["at least one user message"]),
        ({"developer": "dropped"}, ["instructions as system, not as developer messages"]),
        ({"developer": "dropped", "system": "dropped"}, ["no system message: it never reaches the model"]),
        ({"typed_content": "printed"}, ["content as a string, not a list of parts"]),
        ({"typed_tool_results": "raises"}, ["tool results as strings, not lists of parts"]),
        ({"typed_content": "lost", "typed_tool_results": "lost"}, ["content as a string, not a list of parts"]),
        ({"reasoning_fields": ("reasoning", "thinking")}, ["reasoning in the field `reasoning`"]),
        ({"reasoning_fields": ("thinking",)}, ["reasoning in the field `thinking`"]),
        ({"reasoning_fields": ("reasoning_content", "reasoning")}, []),
        ({"thought": "opens"}, ["answers begin inside a think block: only its end will come"]),
    ],
)
def test_terms(facts: dict[str, Any], words: list[str]) -> None:
    assert [str(term) for term in contract({"transformers": _with(**facts)})] == words


def test_reasoning_that_no_field_carries_is_no_term() -> None:
    assert contract({"transformers": _with(reasoning="dropped", reasoning_fields=())}) == ()


def test_terms_come_in_the_order_of_what_they_cost() -> None:
    facts = _with(typed_content="raises", parallel_tool_calls="first only", string_arguments="raises", system="refused")
    assert [term.id for term in contract({"transformers": facts})] == [
        "no-system",
        "arguments-mapping",
        "one-call",
        "content-string",
    ]


def test_a_term_names_its_engines_where_it_does_not_hold_on_all() -> None:
    refused = _with(call_ids="nine")
    (term,) = contract({"transformers": refused, "llama.cpp": GOOD, "vllm": refused})
    assert str(term) == "call ids of nine letters and digits (on transformers, vllm)"
    assert (term.engines, term.everywhere) == (("transformers", "vllm"), False)
    (term,) = contract({"transformers": refused, "vllm": refused})
    assert str(term) == "call ids of nine letters and digits"


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("refused", "every request is refused: WORDS"),
        ("raises", "every request makes the template raise: WORDS"),
        ("over budget", "every request is too much to render: WORDS"),
    ],
)
def test_what_answers_no_request_has_that_one_term(word: str, text: str) -> None:
    nothing = Capabilities(True, chat=word, prompts=False, errors={"chat": "WORDS"})
    (term,) = contract({"transformers": nothing, "sglang": nothing})
    assert (term.id, str(term)) == ("no-requests", text)
    first, second = contract({"transformers": _with(call_ids="nine"), "sglang": nothing})
    assert (str(first), second.id) == (f"{text} (on sglang)", "ids-nine")


def test_what_each_engine_says_is_told_apart() -> None:
    silent, other = (Capabilities(True, chat="raises", prompts=False, errors={"chat": text}) for text in ("one", "two"))
    partly = _with(chat="refused", errors={"chat": "only with tools"})
    terms = contract({"a": partly, "b": silent, "c": other, "d": silent})
    assert [str(term) for term in terms] == [
        "every request makes the template raise: one (on b, d)",
        "every request makes the template raise: two (on c)",
        "plain chat is refused: only with tools (on a)",
    ]


def test_a_template_that_talks_without_end_is_cut_short() -> None:
    (term,) = contract({"a": Capabilities(True, chat="refused", prompts=False, errors={"chat": "x" * 5000})})
    assert len(term.text) < 300


@pytest.mark.parametrize("loads", [False, None])
def test_engines_of_which_nothing_is_known_have_no_say(loads: bool | None) -> None:
    (term,) = contract({"transformers": _with(call_ids="nine"), "vllm": Capabilities(loads, "why")})
    assert term.everywhere
    assert contract({"vllm": Capabilities(loads, "why")}) == ()

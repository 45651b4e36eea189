from __future__ import annotations

from typing import Any

import pytest
from replies import TRICKY, TWO, kinds, plain, read, tools

from templatelint import dialects
from templatelint.dialects.reply import ToolCall

F = [("f", {"a": 1})]
PROMPT = "<|start|>assistant"
BODY = '<|message|>{"a": 1}'
CALL = f"<|channel|>commentary to=functions.f <|constrain|>json{BODY}<|call|>"
THOUGHT = "<|channel|>analysis<|message|>Hm.<|end|>"
FINAL = "<|channel|>final<|message|>Yes."


@pytest.mark.parametrize("calls", [(TRICKY,), TWO, TWO[:1]], ids=["tricky", "two", "without arguments"])
@pytest.mark.parametrize("dialect", ["harmony", "harmony-llm-jp", "auto"])
@pytest.mark.parametrize("written", ["harmony", "harmony-llm-jp"])
def test_what_is_written_is_read(written: str, dialect: str, calls: tuple[ToolCall, ...]) -> None:
    reply = read(dialects.get(written).write(calls), dialect)
    assert plain(reply) == [(call.name, call.arguments) for call in calls]
    assert (reply.content, reply.reasoning_content, reply.problems) == (None, None, ())


@pytest.mark.parametrize("dialect", ["harmony", "harmony-llm-jp"])
def test_what_no_call_can_carry_is_refused(dialect: str) -> None:
    assert dialects.get(dialect).write(()) == ""
    with pytest.raises(ValueError, match="name"):
        dialects.get(dialect).write([ToolCall("two words", {})])


@pytest.mark.parametrize(
    "header",
    [
        "<|channel|>commentary to=functions.f <|constrain|>json",
        "<|channel|>commentary to=functions.f<|constrain|>json",
        "<|channel|>commentary to=functions.f json",
        "<|channel|>commentary to=functions.f",
        "<|channel|>analysis to=functions.f code",
        " to=functions.f<|channel|>commentary <|constrain|>json",
        " to=functions.f<|channel|>commentary json",
        " to=functions.f <|constrain|>json",
        "<|start|>assistant to=functions.f<|channel|>commentary",
        "<|start|> assistant<|channel|> commentary to=functions.f <|constrain|>  json",
    ],
)
@pytest.mark.parametrize("end", ["<|call|>", "<|end|>", "<|return|>", ""])
def test_headers_of_calls(header: str, end: str) -> None:
    for prefix in (PROMPT, None, ""):
        reply = read(f"{header}{BODY}{end}", "harmony", prefix=prefix)
        assert (plain(reply), reply.content, reply.problems) == (F, None, ())


@pytest.mark.parametrize(
    ("text", "calls", "content", "reasoning"),
    [
        (f"{THOUGHT}{PROMPT}{CALL}", F, None, "Hm."),
        (f"{THOUGHT}{PROMPT}{CALL}{PROMPT}{CALL}", F * 2, None, "Hm."),
        (f"{THOUGHT}{PROMPT}{FINAL}<|return|>", [], "Yes.", "Hm."),
        (f"{THOUGHT}{PROMPT}{THOUGHT}{PROMPT}{FINAL}", [], "Yes.", "Hm.\nHm."),
        (f"<|channel|>commentary<|message|>One.<|end|>{PROMPT}{CALL}{PROMPT}{FINAL}", F, "One.\nYes.", None),
        (f"{THOUGHT}<|channel|>final<|message|>Yes.", [], "Yes.", "Hm."),
        (f"<|channel|>analysis<|message|>Hm.{PROMPT}{FINAL}", [], "Yes.", "Hm."),
        (f"<|channel|>analysis<|message|>Hm.{FINAL}", [], "Yes.", "Hm."),
        ("<|channel|>analysis<|message|>No <|call|>, <|channel|>final or <|start|>assistant here.<|end|>",
         [], None, "No <|call|>, <|channel|>final or <|start|>assistant here."),
        ("<|channel|>final<|message|>It ends with <|end|>.<|return|>", [], "It ends with <|end|>.", None),
        (f"{FINAL}<|end|> ", [], "Yes.", None),
        ("<|message|>Yes.", [], "Yes.", None),
        ("Yes.", [], "Yes.", None),
        ("Yes.<|return|>", [], "Yes.", None),
        ("to=5 is odd", [], "to=5 is odd", None),
        ('<|channel|>final<|message|>{"name": "f", "arguments": {}}', [], '{"name": "f", "arguments": {}}', None),
        ("<|channel|>final<|message|><tool_call>{}</tool_call>", [], "<tool_call>{}</tool_call>", None),
        ("<|channel|>commentary to=functions.f<|message|><|call|>", [("f", {})], None, None),
    ],
)  # fmt: skip
def test_messages(
    text: str, calls: list[tuple[str, dict[str, Any]]], content: str | None, reasoning: str | None
) -> None:
    reply = read(text, "harmony", prefix=PROMPT)
    assert (plain(reply), reply.content, reply.reasoning_content, reply.problems) == (calls, content, reasoning, ())


@pytest.mark.parametrize(
    ("prefix", "text", "content", "reasoning"),
    [
        (f"{PROMPT}<|channel|>analysis<|message|>", f"Hm.<|end|>{PROMPT}{FINAL}", "Yes.", "Hm."),
        (f"{PROMPT}<|channel|>final<|message|>", "Yes.<|return|>", "Yes.", None),
        (f"{PROMPT}<|message|>", "Yes.", "Yes.", None),
        (f"{PROMPT}<|channel|>", f"analysis<|message|>Hm.<|end|>{PROMPT}{FINAL}", "Yes.", "Hm."),
        (f"{PROMPT}<|channel|>analysis", f"<|message|>Hm.<|end|>{PROMPT}{FINAL}", "Yes.", "Hm."),
        (f"{PROMPT}{THOUGHT}{PROMPT}", FINAL, "Yes.", None),
        (f"<|start|>user<|message|>Q<|end|>{PROMPT}", FINAL, "Yes.", None),
    ],
)
def test_what_the_prompt_began(prefix: str, text: str, content: str, reasoning: str | None) -> None:
    reply = read(text, "harmony", prefix=prefix)
    assert (reply.content, reply.reasoning_content, reply.problems) == (content, reasoning, ())


def test_a_call_behind_a_channel_that_the_prompt_began() -> None:
    reply = read(CALL.removeprefix("<|channel|>"), "harmony", prefix=f"{PROMPT}<|channel|>")
    assert (plain(reply), reply.problems) == (F, ())


@pytest.mark.parametrize(
    ("text", "content", "reasoning", "problem", "beside"),
    [
        ("<|channel|>??<|end|>", "Yes.", "Hm.", "malformed", "<|channel|>??"),
        ("<|channel|>commentary?We need it. Also this.<|end|>", "Yes.", "Hm.", "malformed",
         "<|channel|>commentary?We need it. Also this."),
        ("<|channel|>commentary to=assistant", "Yes.", "Hm.", "malformed", "<|channel|>commentary to=assistant"),
        ("<|channel|>comment<|message|>Some text.<|end|>", "Some text.\nYes.", "Hm.", "malformed", ""),
        ("<|channel|>final It is so.<|end|>", "It is so.\nYes.", "Hm.", "malformed", ""),
        ("<|channel|>analysis It is so.<|end|>", "Yes.", "It is so.\nHm.", "malformed", ""),
        ('<|channel|>commentary to=python code<|message|>print("x")<|call|>', "Yes.", "Hm.", "unknown-tool",
         '<|channel|>commentary to=python code<|message|>print("x")'),
        ("<|channel|>analysis to=browser.search<|message|>{}<|call|>", "Yes.", "Hm.", "unknown-tool",
         "<|channel|>analysis to=browser.search<|message|>{}"),
        ("<|start|>functions.f to=assistant<|channel|>commentary<|message|>12<|end|>", "Yes.", "Hm.", "malformed",
         "<|start|>functions.f to=assistant<|channel|>commentary<|message|>12"),
        ("<|start|>user<|message|>And now?<|end|>", "Yes.", "Hm.", "malformed", "<|start|>user<|message|>And now?"),
        ("<|channel|>commentary to=functions.f<|message|>{1}<|call|>", "{1}\nYes.", "Hm.", "malformed", ""),
        ("<|channel|>commentary to=functions.f<|message|>[1]<|call|>", "[1]\nYes.", "Hm.", "malformed", ""),
    ],
)  # fmt: skip
def test_faults_before_whole_messages(text: str, content: str, reasoning: str, problem: str, beside: str) -> None:
    start = "" if text.endswith("assistant") else PROMPT
    reply = read(f"{text}{start}{THOUGHT}{PROMPT}{FINAL}", "harmony", prefix=PROMPT)
    assert (reply.tool_calls, reply.content, reply.reasoning_content) == ((), content, reasoning)
    assert [(found.kind, found.text, found.offset) for found in reply.problems] == [(problem, beside, 0)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"<|channel|>commentary to=functions.f{BODY[:-1]}", "cut"),
        ("<|channel|>commentary to=functions.f", "cut"),
        (" to=functions.f<|channel|>comm", "cut"),
        ("<|channel|>fin", "unclosed"),
        ("<|channel|>final", "unclosed"),
        ("<|start|>assistant<|channel|>final", "unclosed"),
        ("<|start|>assist", "unclosed"),
    ],
)
def test_a_reply_that_ends_inside_of_a_header_or_a_call(text: str, kind: str) -> None:
    reply = read(f"{THOUGHT}{PROMPT}{FINAL}<|end|>{PROMPT if text.startswith(' ') else ''}{text}", "harmony")
    assert (reply.tool_calls, reply.content, reply.reasoning_content) == ((), "Yes.", "Hm.")
    assert kinds(reply) == [kind]
    assert reply.problems[0].text.endswith(text)
    assert reply.complete is (kind != "cut")


@pytest.mark.parametrize(("known", "calls"), [(["f"], F), (["g"], [])])
def test_a_recipient_without_functions_is_a_tool_if_there_is_one(known: list[str], calls: list[Any]) -> None:
    text = f"<|channel|>commentary to=f <|constrain|>json{BODY}<|call|>"
    assert plain(read(text, "harmony", tools(*known))) == calls


def test_in_another_dialects_reply_calls_are_read() -> None:
    reply = read(f"One. {CALL}", "hermes", tools("f"))
    assert (plain(reply), reply.content, kinds(reply)) == (F, "One.", ["foreign"])


def test_nobody_needs_to_name_it() -> None:
    reply = read(f"{THOUGHT}{PROMPT}{CALL}{PROMPT}{FINAL}", "auto", prefix=None)
    assert (reply.dialect, plain(reply), reply.content, reply.reasoning_content) == ("harmony", F, "Yes.", "Hm.")


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>commentary to=functions.f LOST <|constrain|>json<|message|>{}<|call|>",
        "<|channel|>commentary to=functions.f <|constrain|>json LOST<|message|>{}<|call|>",
        "<|channel|>commentary LOST to=functions.f code<|message|>{}<|call|>",
        "<|channel|>final LOST<|message|>Yes.<|return|>",
    ],
)
def test_words_in_a_header_that_say_nothing_are_told(text: str) -> None:
    reply = read(text, "harmony")
    assert bool(reply.tool_calls) is (reply.content is None)
    assert [(problem.kind, problem.text) for problem in reply.problems] == [("dropped", "LOST")]

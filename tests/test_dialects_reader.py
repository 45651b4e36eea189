from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from replies import kinds, plain, read, tools
from test_recorded_outputs import FAMILIES, arguments, recorded

from templatelint.dialects.reader import Reader, parse
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from templatelint.dialects.reply import Reply

CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
OTHER = CALL.replace('"f"', '"g"')
F = [("f", {"a": 1})]


# ------------------------------------------------------------------------------------------ what is certain


def states(text: str, *about: Any) -> Iterator[Reply]:
    """What the reader returns, character by character."""
    reader = Reader(*about)
    for character in text:
        yield reader.feed(character)
    yield reader.close()


def assert_only_grows(text: str, *about: Any) -> None:
    content = reasoning = ""
    count = 0
    for state in states(text, *about):
        assert (state.content or "").startswith(content), text
        assert (state.reasoning_content or "").startswith(reasoning), text
        assert len(state.tool_calls) >= count, text
        content, reasoning, count = state.content or "", state.reasoning_content or "", len(state.tool_calls)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_certain_only_grows(family: str) -> None:
    for output in recorded(family):
        assert_only_grows(output.raw_output, *arguments(output))


@pytest.mark.parametrize("dialect", ["hermes", "mistral", "auto"])
@pytest.mark.parametrize(
    "text",
    [
        f"Hello \n{CALL}",
        f"Hello \n{CALL} \n and \n\n{CALL}\n",
        "Hello \n[TOOL_CALLS]f[ARGS]{}  [TOOL_CALLS]f[ARGS]{} bye ",
        "Yes. \n</s> \n",
        "Yes. </s> No. <|im_end|> \n",
        "<think>Hm. \n</think> \nYes. \n<think> No. ",
    ],
)
def test_whitespace_waits_until_it_is_decided(dialect: str, text: str) -> None:
    assert_only_grows(text, dialect)


# -------------------------------------------------------------------------------------- ends of turns, headers


@pytest.mark.parametrize(
    ("dialect", "text", "content"),
    [
        ("mistral", "Use <s>old</s> in HTML.", "Use <s>old</s> in HTML."),
        ("mistral", "</s> ends what <s> begins.", "</s> ends what <s> begins."),
        ("mistral", "Yes.</s>", "Yes."),
        ("mistral", "Yes. </s>\n</s>\n", "Yes."),
        ("mistral", "Yes.</s>\n\n[TOOL_CALLS]f[ARGS]{}", "Yes."),
        ("mistral", "Yes.</s> [TOOL_CALLS] is a mark", "Yes.</s> [TOOL_CALLS] is a mark"),
        ("mistral", "[TOOL_CALLS]f[ARGS]{}</s> Yes.", "Yes."),
        ("hermes", f"One.\n<|im_end|>{CALL}<|im_end|>\nTwo.<|im_end|> Three.<|im_end|>",
         "One.\nTwo.<|im_end|> Three."),
        ("hermes", "The mark <|im_end|>  ends a turn.", "The mark <|im_end|>  ends a turn."),
        ("hermes", "Yes.<|im_end|>\n<think>Hm.</think>", "Yes."),
        ("hermes", "<think>Hm.</think><|im_end|>Yes.", "Yes."),
        ("auto", "The mark <|im_end|> ends a turn.<|im_end|>", "The mark <|im_end|> ends a turn."),
        ("command-r7b", "<|START_RESPONSE|>Yes.<|END_RESPONSE|>", "Yes."),
        ("hunyuan-a13b", "<answer>Use <answer>.</answer>", "Use <answer>."),
    ],
)  # fmt: skip
def test_marks_without_meaning_are_left_out_where_they_can_have_none(dialect: str, text: str, content: str) -> None:
    assert read(text, dialect).content == content


# -------------------------------------------------------------------------------------- calls as documentation


@pytest.mark.parametrize("dialect", ["hermes", "auto", "falcon"])
@pytest.mark.parametrize("text", [OTHER, f"A call: {OTHER} is one.", f"`{OTHER}`", f"```\n{OTHER}\n```"])
def test_a_call_of_no_tool_is_text(dialect: str, text: str) -> None:
    reply = read(text, dialect, tools("f"))
    assert (plain(reply), reply.content, kinds(reply), reply.complete) == ([], text, ["unknown-tool"], True)
    (problem,) = reply.problems
    assert (problem.message, problem.offset) == ("it calls g, which is not among the tools", text.index("<tool_call>"))


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("llama3-json", '{"name": "g", "parameters": {}} and more'),
        ("pythonic", "[g(a=1)] and more"),
        ("mistral", '[TOOL_CALLS][{"name": "g", "arguments": {}}]'),
        ("qwen3-coder", "Yes: <tool_call>\n<function=g>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"),
    ],
)
def test_a_call_of_no_tool_is_text_in_each_syntax(dialect: str, text: str) -> None:
    reply = read(text, dialect, tools("f"))
    assert (plain(reply), reply.content, kinds(reply)) == ([], text, ["unknown-tool"])


def test_calls_beside_one_of_no_tool_are_read() -> None:
    calls = ('{"name": "f", "arguments": {"a": 1}}', '{"name": "g", "arguments": {}}')
    reply = read(f"Yes.[TOOL_CALLS][{calls[0]}, {calls[1]}]", "mistral", tools("f"))
    assert (plain(reply), reply.content, kinds(reply)) == (F, "Yes.", ["unknown-tool"])
    assert calls[1] in reply.problems[0].text


def test_a_message_to_no_tool_is_told() -> None:
    text = "<|channel|>commentary to=functions.g<|message|>{}<|call|>"
    reply = read(text, "harmony", tools("f"))
    assert (plain(reply), kinds(reply), reply.problems[0].text) == ([], ["unknown-tool"], text)


QUOTED = [f"```\n{CALL}\n```\nIs one.", f"As in\n\n```xml\n{CALL}\n```", f"Write `{CALL}`.", f"Write ``a ` {CALL}``."]
UNQUOTED = [f"```\n{CALL}", f"`a`{CALL}`", f"`a\n{CALL}`", f"```\n```\n{CALL}\n", f"Write `{CALL}"]


@pytest.mark.parametrize("dialect", ["hermes", "auto"])
@pytest.mark.parametrize("text", QUOTED + UNQUOTED)
def test_a_call_in_markdown_code_is_an_example_unless_there_is_such_a_tool(dialect: str, text: str) -> None:
    reply = read(text, dialect)
    assert (plain(reply), reply.problems) == (F if text in UNQUOTED else [], ())
    assert (reply.content == text) == (text in QUOTED)
    assert plain(read(text, dialect, tools("f"))) == F


def test_a_fence_that_belongs_to_a_call_quotes_none() -> None:
    text = 'Action: ```json\n[{"tool_name": "f", "parameters": {"a": 1}}]\n```'
    assert plain(read(text, "command-r")) == F


# -------------------------------------------------------------------------------------------------- reasoning


@pytest.mark.parametrize(
    ("dialect", "prefix", "opened"),
    [
        ("hermes", "<|im_start|>assistant\n<think>\n", True),
        ("hermes", "<think>", True),
        ("hermes", "<think>So, first", True),
        ("hermes", "<|im_start|>user\nWhat is <think>?<|im_end|>\n<|im_start|>assistant\n", False),
        ("hermes", "<|im_start|>assistant\n<think>\n\n</think>\n\n", False),
        ("hermes", "<think> a </think> <think>", True),
        ("mistral", "[INST]What is [THINK]?[/INST]", False),
        ("mistral", "[INST]What?[/INST][THINK]", True),
        ("mistral", "What is <think>?</s>", False),
        ("deepseek-v3.1", "<｜User｜>What is <think>?<｜Assistant｜>", False),
        ("deepseek-v3.1", "<｜User｜>What?<｜Assistant｜><think>", True),
    ],
)
def test_only_the_end_of_a_prompt_opens_reasoning(dialect: str, prefix: str, opened: bool) -> None:
    assert read("Yes.", dialect, prefix=prefix).reasoning_content == ("Yes." if opened else None)


@pytest.mark.parametrize(
    ("text", "prefix", "reasoning", "content"),
    [
        ("Use `<think>` and `</think>`.", "", None, "Use `<think>` and `</think>`."),
        ("Use `<think>` and `</think>`.", None, None, "Use `<think>` and `</think>`."),
        ("Use <think> and </think>.", "", None, "Use <think> and </think>."),
        ("Use <think> and </think>.", None, None, "Use <think> and </think>."),
        ("```\n<think>\n</think>\n```", None, None, "```\n<think>\n</think>\n```"),
        ("Use `</think>`.", None, None, "Use `</think>`."),
        ("I use `</think>`.</think>Yes.", None, "I use `</think>`.", "Yes."),
        ("Hm.</think>Yes.", None, "Hm.", "Yes."),
        ("Hm.</think>Yes.", "", None, "Hm.</think>Yes."),
        (" <think>Hm.</think>Yes.", None, "Hm.", "Yes."),
        ("So.\n<think>Hm.</think>Yes.", "", "Hm.", "So.\nYes."),
        ("<think>Hm.</think><think>Ah.</think>Yes.", "", "Hm.Ah.", "Yes."),
        (f"{CALL}<think>Hm.</think>Yes.", "", "Hm.", "Yes."),
    ],
)
def test_marks_of_reasoning_in_prose_are_text(
    text: str, prefix: str | None, reasoning: str | None, content: str
) -> None:
    reply = read(text, "hermes", prefix=prefix)
    assert (reply.reasoning_content, reply.content) == (reasoning, content)


# ------------------------------------------------------------------------------------------------- mentions


@pytest.mark.parametrize("dialect", ["hermes", "glm", "qwen3-coder", "mistral", "llama3-json", "auto"])
@pytest.mark.parametrize(
    "text",
    [
        "The marker <tool_call> opens a call",
        "The marker <tool_call> opens and </tool_call> closes it.",
        "The marker `<tool_call>` opens a call, (<tool_call>) too.",
        "<tool_call> opens a call",
        "Then [TOOL_CALLS] comes.",
        "<|python_tag|>print(1)",
    ],
)
def test_what_mentions_a_mark_is_text(dialect: str, text: str) -> None:
    reply = read(text, dialect)
    assert (reply.tool_calls, reply.content, reply.problems) == ((), text, ())


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>not valid json</tool_call>",
        "<tool_call>\nnot valid json\n</tool_call>",
        "<tool_call> not valid json </tool_call>",
        "Yes: <tool_call>not valid json</tool_call>",
        "Yes: <tool_call>\nnot valid json\n</tool_call>",
        "Yes: <tool_call> {'name'} </tool_call>",
        "Yes: <tool_call>f</tool_call>",
    ],
)
def test_what_begins_like_a_call_is_malformed(text: str) -> None:
    reply = read(text, "hermes")
    assert (reply.tool_calls, reply.content, kinds(reply), reply.complete) == ((), text, ["malformed"], False)
    assert reply.problems[0].offset == text.index("<tool_call>")


# ------------------------------------------------------------------------------------------------- problems


@pytest.mark.parametrize(
    ("text", "about", "problems"),
    [
        (f'Yes: <function=f>{{"a": 1}}</function>{CALL}', None, [("foreign", 5)]),
        (f"Yes: {OTHER}{CALL} {OTHER}", tools("f"), [("unknown-tool", 5), ("unknown-tool", 6 + 2 * len(CALL))]),
    ],
)
def test_problems_are_where_the_call_begins(text: str, about: Any, problems: list[tuple[str, int]]) -> None:
    reply = read(text, "hermes", about)
    assert ([(problem.kind, problem.offset) for problem in reply.problems], plain(reply)[-1:]) == (problems, F)
    assert not any("leaves" in problem.message for problem in reply.problems)


def test_of_many_problems_most_are_counted() -> None:
    bad = "<tool_call>{]</tool_call>"
    reply = read(bad * 30 + CALL + OTHER * 2, "hermes", tools("f"))
    assert plain(reply) == F
    assert kinds(reply) == ["malformed"] * 20 + ["unknown-tool"] * 2 + ["malformed"]
    assert (reply.problems[-1].message, reply.problems[-1].offset) == ("10 more of this kind", 20 * len(bad))
    assert reply.content == bad * 30 + OTHER * 2


@pytest.mark.parametrize("dialect", ["hermes", "auto"])
def test_no_end_of_marks(dialect: str) -> None:
    text = "<tool_call>x" * 20_000
    reply = parse(text, dialect)
    assert (reply.content, reply.tool_calls, len(reply.problems)) == (text, (), 21)


def test_marks_that_begin_no_call_are_given_up_however_they_arrive() -> None:
    text = f"{'<tool_call>{]' * 600}{CALL}"
    reply = read(text, "hermes")
    assert (reply.content, reply.tool_calls, reply.complete) == (text, (), False)
    assert plain(read(f"{'<tool_call>{]' * 400}{CALL}", "hermes")) == F


# --------------------------------------------------------------------------------------------------- misuse


def test_a_closed_reply_takes_no_more() -> None:
    reader = Reader("hermes")
    reader.feed("Yes.")
    reply = reader.close()
    with pytest.raises(TemplatelintError, match="the reply is closed"):
        reader.feed(" No.")
    assert reader.close() == reply


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: parse(None), "the reply is NoneType, not a text"),  # type: ignore[arg-type]
        (lambda: parse(b"x"), "the reply is bytes, not a text"),  # type: ignore[arg-type]
        (lambda: parse("x", None), "dialect is NoneType, not a text"),  # type: ignore[arg-type]
        (lambda: parse("x", tools=5), "tools is int, not a sequence"),  # type: ignore[arg-type]
        (lambda: parse("x", tools="f"), "tools is str, not a sequence"),  # type: ignore[arg-type]
        (lambda: parse("x", prefix=b""), "prefix is bytes, not a text, or None"),  # type: ignore[arg-type]
        (lambda: Reader().feed(None), "a piece of a reply is NoneType, not a text"),  # type: ignore[arg-type]
    ],
)
def test_arguments_of_another_kind_are_refused(use: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}"):
        use()

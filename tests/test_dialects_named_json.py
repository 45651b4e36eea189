from __future__ import annotations

from typing import Any

import pytest
from replies import TRICKY, TWO, kinds, plain, read, tools

from templatelint import dialects
from templatelint.dialects.reply import ToolCall

NAMES = (
    "mistral",
    "deepseek-v3",
    "deepseek-v3.1",
    "kimi-k2",
    "hunyuan-dense",
    "functionary-v3.1",
    "functionary-v3.2",
    "solar-open",
    "step5",
    "plamo3",
)
F = [("f", {"a": 1})]
SECTION, SECTION_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
BEGIN, SEPARATOR, END = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"
V3 = f'{BEGIN}function{SEPARATOR}f\n```json\n{{"a": 1}}\n```{END}'
V3_1 = f'{BEGIN}f{SEPARATOR}{{"a": 1}}{END}'
KIMI, KIMI_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
KIMI_CALL = '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>'
SOLAR_CALL = '<|tool_call:begin|>a1<|tool_call:name|>f<|tool_call:args|>{"a": 1}<|tool_call:end|>'


@pytest.mark.parametrize("before", ["", "Let me see. "])
@pytest.mark.parametrize("calls", [(TRICKY,), TWO, TWO[:1]], ids=["tricky", "two", "without arguments"])
@pytest.mark.parametrize("dialect", NAMES)
def test_what_is_written_is_read(dialect: str, calls: tuple[ToolCall, ...], before: str) -> None:
    reply = read(before + dialects.get(dialect).write(calls), dialect)
    assert plain(reply) == [(call.name, call.arguments) for call in calls]
    assert ((reply.content or "").strip(), reply.problems) == (before.strip(), ())


@pytest.mark.parametrize("dialect", NAMES)
def test_without_calls_nothing_is_written(dialect: str) -> None:
    assert dialects.get(dialect).write(()) == ""


@pytest.mark.parametrize(
    "call", [ToolCall("two words", {}), ToolCall("f[ARGS]", {}), ToolCall("f", {"x": float("inf")})]
)
@pytest.mark.parametrize("dialect", NAMES)
def test_what_no_call_can_carry_is_refused(dialect: str, call: ToolCall) -> None:
    with pytest.raises(ValueError, match=r"."):
        dialects.get(dialect).write([call])


@pytest.mark.parametrize(
    ("dialect", "text", "calls"),
    [
        ("mistral", '[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}, "id": "123456789"}]', F),
        ("mistral", '[TOOL_CALLS] [{"arguments": {"a": 1}, "name": "f"}, {"name": "g", "arguments": {}}]</s>',
         [*F, ("g", {})]),
        ("mistral", '[TOOL_CALLS]{"name": "f", "arguments": {"a": 1}}', F),
        ("mistral", '[TOOL_CALLS]f{"a": 1}[TOOL_CALLS]f{"a": 1}', F * 2),
        ("mistral", '[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{"a": 1}', F),
        ("mistral", '[TOOL_CALLS] f [ARGS] {"a": 1}', []),
        ("mistral", '[TOOL_CALLS]f[ARGS]{"a": 1}f[ARGS]{"a": 1}', F * 2),
        ("mistral", "[TOOL_CALLS][]", []),
        ("deepseek-v3", f"{SECTION}{V3}{V3}{SECTION_END}<｜end▁of▁sentence｜>", F * 2),
        ("deepseek-v3", f"{SECTION}\n{V3}\n{V3}\n{SECTION_END}", F * 2),
        ("deepseek-v3", f'{SECTION}{BEGIN}function{SEPARATOR}f\n{{"a": 1}}{END}{SECTION_END}', F),
        ("deepseek-v3", f'{SECTION}{BEGIN}function{SEPARATOR}f\n```json\n"{{\\"a\\": 1}}"\n```{END}{SECTION_END}', F),
        ("deepseek-v3.1", f"{SECTION}{V3_1}{V3_1}{SECTION_END}", F * 2),
        ("deepseek-v3.1", V3_1, F),
        ("kimi-k2", f"{KIMI}{KIMI_CALL.replace('functions.', '').replace(':0', ':12 ')}{KIMI_END}", F),
        ("kimi-k2", f"{KIMI}{KIMI_END}", []),
        ("kimi-k2", KIMI_CALL, F),
        ("hunyuan-dense", '<tool_calls><tool_call>f\n```json\n{"a": 1}\n```</tool_call></tool_calls>', F),
        ("functionary-v3.1", '<function=f>{"a": 1}</function><function=f>{"a": 1}</function>', F * 2),
        ("functionary-v3.2", 'all\n>>>f\n{"a": 1}', F),
        ("functionary-v3.2", 'f\n{"a": 1}', F),
        ("functionary-v3.2", '>>>all\n>>>f\n{"a": 1}>>>f\n{"a": 1}<|eot_id|>', F * 2),
        ("solar-open", f"<|tool_calls|>{SOLAR_CALL}{SOLAR_CALL}<|calls|>", F * 2),
        ("solar-open", f"<|content|><|end|><|begin|>assistant<|tool_calls|>{SOLAR_CALL}<|calls|>", F),
        ("step5", '<|CALL_START|>function\nf\n{"a": 1}<|CALL_END|>\n<|CALL_START|>function f{"a": 1}<|CALL_END|>',
         F * 2),
        ("plamo3", dialects.get("plamo3").write([ToolCall("f", {"a": 1})]).replace("<|plamo:constrain|>json", ""), F),
    ],
)  # fmt: skip
def test_variants(dialect: str, text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    reply = read(text, dialect)
    expected = (calls, None, ()) if calls or "] f" not in text else ([], text, reply.problems)
    assert (plain(reply), reply.content, reply.problems) == expected


@pytest.mark.parametrize(
    ("dialect", "text", "identifier"),
    [
        ("mistral", '[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "123456789"}]', "123456789"),
        ("mistral", "[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{}", "123456789"),
        ("mistral", "[TOOL_CALLS]f[ARGS]{}", None),
        ("kimi-k2", f"{KIMI}{KIMI_CALL}{KIMI_END}", "functions.f:0"),
        ("solar-open", f"<|tool_calls|>{SOLAR_CALL}<|calls|>", "a1"),
    ],
)
def test_ids(dialect: str, text: str, identifier: str | None) -> None:
    assert [call.id for call in read(text, dialect).tool_calls] == [identifier]


@pytest.mark.parametrize(
    ("dialect", "text", "content", "problems"),
    [
        ("mistral", "Hello[TOOL_CALLS]f[ARGS]{}", "Hello", []),
        ("mistral", "Hello \n[TOOL_CALLS]f[ARGS]{}", "Hello", []),
        ("mistral", "Hello. [TOOL_CALLS]f[ARGS]{} Bye.", "Hello.  Bye.", []),
        ("mistral", '[TOOL_CALLS]f[ARGS]{}\n\nf[1] = {"a": 1}', 'f[1] = {"a": 1}', []),
        ("deepseek-v3", f"One.{SECTION}{V3}", "One.", ["unclosed"]),
        ("deepseek-v3", f"{SECTION}{V3.removesuffix(END)}{SECTION_END}", None, ["unclosed"]),
        ("deepseek-v3", f"{SECTION}{V3.removesuffix('```' + END)}{END}{SECTION_END}", None, ["unclosed"]),
        ("deepseek-v3", f"{SECTION}{V3} Two.", "Two.", ["unclosed"]),
        ("deepseek-v3", f"{SECTION}{V3_1}{SECTION_END}", None, ["foreign"]),
        ("deepseek-v3.1", f"{SECTION}{V3}{SECTION_END}", None, ["foreign"]),
        ("kimi-k2", f"{KIMI} noise {KIMI_CALL}{KIMI_END}", None, ["malformed"]),
        ("kimi-k2", f"One. {KIMI}{KIMI_CALL}{KIMI_END} Two.", "One.  Two.", []),
        ("functionary-v3.1", '<function=f>{"a": 1}', None, ["unclosed"]),
        ("functionary-v3.2", 'all\nOne.>>>f\n{"a": 1}', "One.", []),
        ("solar-open", f"<|content|>One.<|end|><|begin|>assistant<|tool_calls|>{SOLAR_CALL}<|calls|>", "One.", []),
        ("step5", '<|CALL_START|>function\nf\n{"a": 1}', None, ["unclosed"]),
    ],
)  # fmt: skip
def test_what_stands_beside_calls(dialect: str, text: str, content: str | None, problems: list[str]) -> None:
    reply = read(text, dialect)
    assert ([call.name for call in reply.tool_calls], reply.content, kinds(reply)) == (["f"], content, problems)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("mistral", "[TOOL_CALLS] not a call"),
        ("mistral", '[TOOL_CALLS]f[ARGS]["a"]'),
        ("mistral", "[TOOL_CALLS]f[ARGS]{bare: 1}"),
        ("mistral", '[TOOL_CALLS]["f"]'),
        ("deepseek-v3", f"{SECTION}function{SEPARATOR}f\n```json\n{{}}\n```{SECTION_END}"),
        ("deepseek-v3", f'{SECTION}{BEGIN}function{SEPARATOR}f\n```json\n{{"a": 1\n```{END}{SECTION_END}'),
        ("deepseek-v3.1", f"{SECTION}{BEGIN}{SEPARATOR}{{}}{END}{SECTION_END}"),
        ("kimi-k2", f"{KIMI}{KIMI_CALL.replace('functions.f:0', 'call_123')}{KIMI_END}"),
        ("kimi-k2", f"{KIMI} a section in a text"),
        ("functionary-v3.1", "<function=f>{1}</function>"),
        ("solar-open", "<|tool_calls|><|tool_call:begin|>a1<|tool_call:args|>{}"),
        ("step5", "<|CALL_START|>function\n{}<|CALL_END|>"),
    ],
)
def test_what_is_no_call_stays_in_the_content(dialect: str, text: str) -> None:
    reply = read(text, dialect)
    assert (reply.tool_calls, reply.content) == ((), text)
    assert set(kinds(reply)) == {"malformed"}


@pytest.mark.parametrize(
    ("dialect", "text", "begun"),
    [
        ("mistral", "[TOOL_CALLS]", "[TOOL_CALLS]"),
        ("mistral", "[TOOL_CALLS]f[AR", "[TOOL_CALLS]f[AR"),
        ("mistral", '[TOOL_CALLS]f[ARGS]{"a": "', '[TOOL_CALLS]f[ARGS]{"a": "'),
        ("deepseek-v3", f"{SECTION}{BEGIN}function", f"{SECTION}{BEGIN}function"),
        ("deepseek-v3.1", f"{SECTION}{BEGIN}f{SEPARATOR}", f"{SECTION}{BEGIN}f{SEPARATOR}"),
        ("kimi-k2", f"{KIMI}<|tool_call_begin|>functions.f", f"{KIMI}<|tool_call_begin|>functions.f"),
        ("functionary-v3.2", ">>>f\n{", ">>>f\n{"),
    ],
)
def test_a_reply_that_ends_inside_a_call(dialect: str, text: str, begun: str) -> None:
    reply = read(text, dialect)
    assert (reply.tool_calls, reply.content, kinds(reply)) == ((), None, ["cut"])
    assert reply.problems[0].text == begun


def test_what_is_whole_before_a_cut_call_is_kept() -> None:
    reply = read(f'{SECTION}{V3_1}{BEGIN}g{SEPARATOR}{{"a"', "deepseek-v3.1")
    assert (plain(reply), kinds(reply)) == (F, ["cut"])


@pytest.mark.parametrize("known", [True, False])
def test_an_id_without_a_number_names_a_function_only_if_there_is_one(known: bool) -> None:
    text = f"{KIMI}{KIMI_CALL.replace('functions.f:0', 'f')}{KIMI_END}"
    assert bool(read(text, "kimi-k2", tools("f" if known else "g")).tool_calls) is known


@pytest.mark.parametrize("text", ["all", "Hello", "Hello\n", "Hello\nyou", 'Hello\n"you"', ">>> print(1)", "1\n{}"])
def test_words_are_no_recipients(text: str) -> None:
    reply = read(text, "functionary-v3.2")
    assert (reply.tool_calls, reply.problems) == ((), ())
    assert (reply.content or "").strip() == text.strip()


def test_without_a_mark_a_recipient_is_a_tool() -> None:
    assert read('Result\n{"a": 1}', "functionary-v3.2", tools("f")).content == 'Result\n{"a": 1}'
    assert read('>>>f\n{"a": 1}', "hermes").content == '>>>f\n{"a": 1}'
    assert kinds(read('>>>f\n{"a": 1}', "hermes", tools("f"))) == ["foreign"]


@pytest.mark.parametrize(
    ("dialect", "text", "reasoning", "content"),
    [
        ("mistral", "[THINK]Hm.[/THINK]Yes.", "Hm.", "Yes."),
        ("mistral", "<think>Hm.</think>Yes.", "Hm.", "Yes."),
        ("kimi-k2", "◁think▷Hm.◁/think▷Yes.", "Hm.", "Yes."),
        ("solar-open", "<|think|>Hm.<|end|><|begin|>assistant<|content|>Yes.<|end|>", "Hm.", "Yes."),
        ("plamo3", "<|plamo:begin_think:plamo|>Hm.<|plamo:end_think:plamo|>Yes.", "Hm.", "Yes."),
    ],
)
def test_thoughts(dialect: str, text: str, reasoning: str, content: str) -> None:
    reply = read(text, dialect)
    assert (reply.reasoning_content, reply.content) == (reasoning, content)


@pytest.mark.parametrize("dialect", NAMES)
def test_lines_may_end_in_two_characters(dialect: str) -> None:
    calls = [ToolCall("f", {"a": 1}), ToolCall("f", {"a": "x"})]
    reply = read(dialects.get(dialect).write(calls).replace("\n", "\r\n"), dialect, tools("f"))
    assert (plain(reply), reply.content, reply.problems) == ([(c.name, c.arguments) for c in calls], None, ())

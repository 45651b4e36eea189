"""A template's text → the tool-call parser that mlx-lm 0.32.2 and SGLang 0.5.23 (`auto`) infer from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from jinja2 import nodes


def inferred(engine: str, source: str, vocabulary: Collection[str] = frozenset()) -> str | None:
    """The name of the parser that the engine infers, in its own words; None where it infers none, or never does.

    Both engines look at the template's text and at the tokenizer's vocabulary; without the latter the answer is that
    for a tokenizer which has none of the tokens they look for.

    Args:
        engine: an engine's id.
        source: the template's text.
        vocabulary: the texts of the tokenizer's tokens.
    """
    infer = _ENGINES.get(engine)
    return None if infer is None else infer(_Template(source, vocabulary))


@lru_cache(maxsize=16)  # asked once for each parser
def thinking(source: str) -> str | None:
    """How SGLang takes a template to turn thinking on: `on` or `off` by default, `always`, or one family's own way.

    None where it finds nothing: its parsers' own defaults hold then.
    """
    found = _Template(source).thinking
    if found is None:
        return None
    return "always" if found.always else found.special or ("on" if found.on else "off")


@dataclass(frozen=True)
class _Template:
    """What the rules look at."""

    source: str
    vocabulary: Collection[str] = frozenset()

    def has(self, *texts: str) -> bool:
        """Whether the template holds all of the texts."""
        return all(text in self.source for text in texts)

    def has_tokens(self, *tokens: str) -> bool:
        return all(token in self.vocabulary for token in tokens)

    def has_token_like(self, pattern: str) -> bool:
        return any(re.search(pattern, token) for token in self.vocabulary)

    def matches(self, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> bool:
        return re.search(pattern, self.source, flags) is not None

    @cached_property
    def thinking(self) -> _Thinking | None:
        """How the template turns thinking on, as SGLang reads it from the text."""
        return next((thinking for thinking, applies in _THINKING if applies(self)), None)

    @cached_property
    def defaults(self) -> frozenset[tuple[str, bool]]:
        """(variable, value) of every `variable | default(value)` that leaves the variable a working switch."""
        return frozenset(_defaults(self.source))


# ------------------------------------------------------------------------------------------------ mlx-lm

# Parser → what the text has to hold: one of these groups of texts. The first that fits is taken.
_MLX_LM: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    ("minimax_m2", (("<minimax:tool_call>",),)),
    ("gemma4", (("<|tool_call>", "<tool_call|>"),)),
    ("function_gemma", (("<start_function_call>",),)),
    ("longcat", (("<longcat_tool_call>",),)),
    ("glm47", (("<arg_key>",),)),
    ("pythonic", (("<|tool_list_start|>",), ("<|tool_call_start|>",))),
    ("qwen3_coder", (("<tool_call>\\n<function=",), ("<tool_call>\n<function=",))),
    ("kimi_k2", (("<|tool_calls_section_begin|>",),)),
    ("minicpm5", (('<function name="', '<param name="'),)),
    ("mistral", (("[TOOL_CALLS]",),)),
    ("muse_spark", (("<atem:function_calls>",),)),
    ("json_tools", (("<tool_call>", "tool_call.name"),)),
)
# Parser → tokens that decide where no text did.
_MLX_LM_TOKENS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("kimi_k3", ("<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>")),
    ("pythonic", ("<|tool_call_start|>", "<|tool_call_end|>")),
)


def _mlx_lm(template: _Template) -> str | None:
    for name, groups in _MLX_LM:
        if any(template.has(*texts) for texts in groups):
            return name
    return next((name for name, tokens in _MLX_LM_TOKENS if template.has_tokens(*tokens)), None)


# ------------------------------------------------------------------------------------------------ SGLang


@dataclass(frozen=True)
class _Thinking:
    """What turns thinking on.

    Attributes:
        switch: the variable; empty where something else decides.
        on: its default.
        always: nothing turns it off.
        special: another way, by its model family.
        effort: a further variable counts.
    """

    switch: str = ""
    on: bool = False
    always: bool = False
    special: str = ""
    effort: bool = False


_ON = _Thinking("enable_thinking", on=True)
_OFF = _Thinking("enable_thinking", on=False)
_ALWAYS = _Thinking(always=True)


def _sets(variable: str, value: str) -> Callable[[_Template], bool]:
    """Whether the text sets an undefined variable to that value, in tags without whitespace control."""
    undefined = re.compile(rf"{{%\s*if\s+not\s+{variable}\s+is\s+defined\s*%}}")
    assigned = re.compile(rf"{{%\s*set\s+{variable}\s*=\s*(?:{value}|{value.title()})\s*%}}")

    def check(template: _Template) -> bool:
        found = undefined.search(template.source)
        return found is not None and assigned.search(template.source, found.end()) is not None

    return check


def _on_by_default(variable: str) -> Callable[[_Template], bool]:
    sets = _sets(variable, "true")
    forms = (
        rf"set\s+{variable}\s*=\s*{variable}\s+if\s+{variable}\s+is\s+defined\s+else\s+(?:true|True)",
        rf"{variable}\s+is\s+defined\s+and\s+(?:{variable}\s+is\s+false|not\s+{variable})",
        rf"{variable}\s+is\s+not\s+defined\s+or\s+{variable}",
    )
    true = re.compile(rf"{variable}\s*=\s*true")

    def check(template: _Template) -> bool:
        return (
            sets(template)
            or any(template.matches(form) for form in forms)
            or _in_namespace(template.source, true)
            or (variable, True) in template.defaults
        )

    return check


def _in_namespace(source: str, wanted: re.Pattern[str]) -> bool:
    """Whether `namespace(` is followed by what is wanted, no `)` in between."""
    for stretch in source.split(")"):
        at = stretch.find("namespace(")
        if at >= 0 and wanted.search(stretch, at):
            return True
    return False


def _off_by_default(variable: str) -> Callable[[_Template], bool]:
    sets = _sets(variable, "false")
    return lambda template: sets(template) or (variable, False) in template.defaults


def _always_thinks(template: _Template) -> bool:
    return template.matches(r"<\|im_start\|>assistant\\n<think>\\n") and not template.has("thinking")


def _is_glm53(template: _Template) -> bool:
    return template.has(
        "[gMASK]<sop>", "Reasoning Effort:", "<tool_call>", "<arg_key>", "<arg_value>"
    ) and not template.has("enable_thinking")


# The first that applies is how the template is taken to turn thinking on.
_THINKING: tuple[tuple[_Thinking, Callable[[_Template], bool]], ...] = (
    (_ALWAYS, lambda template: template.has("<ifm|think>", "<ifm|think_fast>", "reasoning_effort")),
    (_ALWAYS, lambda template: template.has("<|channel|>")),
    (_ALWAYS, _always_thinks),
    (_ALWAYS, _is_glm53),
    (_Thinking(special="mistral"), lambda template: template.has("reasoning_effort", "[THINK]")),
    (
        _Thinking(special="hunyuan"),
        lambda template: template.has("reasoning_effort", "reasoning_mode_token", "no_think"),
    ),
    (_OFF, _off_by_default("enable_thinking")),
    (
        _Thinking("enable_thinking", on=True, effort=True),
        lambda template: template.has("low_effort", "truncate_history_thinking"),
    ),
    (_ON, _on_by_default("enable_thinking")),
    (_Thinking("thinking", on=False), _off_by_default("thinking")),
    (_Thinking("thinking", on=True), _on_by_default("thinking")),
)


def _defaults(source: str) -> Iterator[tuple[str, bool]]:
    """Those of the variables that rules ask for; the template is parsed only where one may be there."""
    from jinja2 import nodes

    from templatelint.syntax import TemplateSyntax, parse, walk

    if "thinking" not in source or not re.search(r"\|\s*d(?:efault)?\b", source):
        return
    try:
        root = parse(source).root
    except TemplateSyntax:
        return
    for node in walk(root):
        if isinstance(node, nodes.Filter) and node.name in {"default", "d"} and isinstance(node.node, nodes.Name):
            value = _default_of(node)
            if value is not None:
                yield node.node.name, value


def _default_of(node: nodes.Filter) -> bool | None:
    """The default of a switch; None where it is none, or is taken for a false one too."""
    from jinja2 import nodes

    if node.dyn_args or node.dyn_kwargs or not node.args or not isinstance(node.args[0], nodes.Const):
        return None
    value = node.args[0].value
    keywords = cast("list[nodes.Keyword]", node.kwargs)
    named = next((keyword.value for keyword in keywords if keyword.key == "boolean"), None)
    also = node.args[1] if len(node.args) > 1 else named
    if not isinstance(value, bool) or not (also is None or isinstance(also, nodes.Const)):
        return None
    return None if value and also is not None and also.value else value


def _is_glm45(template: _Template) -> bool:
    return _is_glm53(template) or (
        template.thinking == _ON
        and template.has_tokens("<tool_call>")
        and (template.has_tokens("<|user|>") or template.has_tokens("<|endoftext|>"))
        and (template.has("[gMASK]<sop>") or template.matches(r"(?<!<)/(?:no)?think"))
    )


def _is_glm47(template: _Template) -> bool:
    return _is_glm45(template) and template.matches(r"\{\{[-\s]*['\"]<tool_call>['\"]\s*[+~]\s*tc\.name")


def _is_hunyuan(template: _Template) -> bool:
    calls = template.has("<tool_calls>") or template.has_token_like(r"^<tool_calls(?::[^>]+)?>$")
    return (
        (calls and (template.has("<tool_sep>") or template.has_token_like(r"^<tool_sep(?::[^>]+)?>$")))
        or (
            calls
            and template.thinking == _Thinking(special="hunyuan")
            and template.has_token_like(r"^<arg_key(?::[^>]+)?>$")
            and template.has_token_like(r"^<arg_value(?::[^>]+)?>$")
        )
        or template.has("reasoning_effort", "interleaved_thinking")
    )


def _is_poolside(template: _Template) -> bool:
    if template.has("<arg_key>", "<arg_value>") and (
        template.has("unescaped XML-like object") or template.has("All available function signatures are listed below")
    ):
        return True
    return (
        template.thinking == _OFF
        and not _is_hunyuan(template)
        and all(template.has(mark) or template.has_tokens(mark) for mark in ("<arg_key>", "<arg_value>"))
    )


def _is_qwen3_coder(template: _Template) -> bool:
    return template.has("<function=", "<parameter=")


def _is_step3p5(template: _Template) -> bool:
    return template.matches(r"Step-?3(?:\.|p)?[57]", re.IGNORECASE) or (
        template.has("reasoning_effort", "Reasoning: ") and _is_qwen3_coder(template)
    )


# Parser → when SGLang's `--tool-call-parser auto` takes it; the first that applies.
_SGLANG: Sequence[tuple[str, Callable[[_Template], bool]]] = (
    ("iquest_q1", lambda template: template.has("<|iquest_assistant|>")),
    ("gigachat35", lambda template: template.has("<｜GCML｜tool_calls>")),
    ("k2_horizon", lambda template: template.has("<ifm|think>", "<ifm|tool_calls>", "<ifm|tool_call>")),
    ("apertus2509", lambda template: template.has_tokens("<|inner_prefix|>")),
    ("gemma4", lambda template: template.has("<|channel>")),
    ("beam", lambda template: template.has("<|channel|>", "<rfl:parameter")),
    ("gpt-oss", lambda template: template.has("<|channel|>")),
    ("kimi_k2", lambda template: template.has_tokens("<|tool_calls_section_begin|>")),
    ("minimax-m3", lambda template: template.has("<mm:think>") or template.has("]<]minimax[>[")),
    ("minimax-m2", lambda template: template.has("<minimax:tool_call>")),
    ("interns1", lambda template: template.has("default_thinking_sys") and template.thinking == _ON),
    ("mistral", lambda template: template.thinking == _Thinking(special="mistral")),
    ("deepseekv41", lambda template: template.has("<｜DSML｜ calls>")),
    ("deepseekv4", lambda template: template.has("<｜DSML｜tool_calls>")),
    ("deepseekv32", lambda template: template.has("<｜DSML｜function_calls>")),
    ("deepseekv31", lambda template: template.has("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>")),
    (
        "lfm2",
        lambda template: all(
            template.has(mark) or template.has_tokens(mark) for mark in ("<|tool_call_start|>", "<|tool_call_end|>")
        ),
    ),
    ("glm47", _is_glm47),
    ("glm45", _is_glm45),
    (
        "minicpm5",
        lambda template: (
            template.has_tokens("<function", "<param")
            or (template.matches(r"<function\s+name=") and template.matches(r"<param\s+name="))
        ),
    ),
    ("hunyuan", _is_hunyuan),
    ("poolside_v1", _is_poolside),
    ("step3p5", _is_step3p5),
    (
        "step3",
        lambda template: template.has("<steptml:invoke") or template.has("<｜tool_calls_begin｜>", "<｜tool_sep｜>"),
    ),
    (
        "ling3",
        lambda template: template.has(
            "<role>SYSTEM</role>", "<role>ASSISTANT</role>", "<|role_end|>", "<arg_key>", "<arg_value>"
        ),
    ),
    ("glm45", lambda template: template.has_tokens("<arg_key>", "<arg_value>")),
    ("mimo", lambda template: template.thinking == _OFF),
    ("qwen3_coder", _is_qwen3_coder),
    ("qwen", lambda template: template.thinking == _ON),
    ("deepseekv3", lambda template: template.thinking == _Thinking("thinking", on=False)),
    ("deepseekv3", lambda template: template.thinking == _ALWAYS),
)


def _sglang(template: _Template) -> str | None:
    return next((name for name, applies in _SGLANG if applies(template)), None)


_ENGINES: Mapping[str, Callable[[_Template], str | None]] = {"mlx-lm": _mlx_lm, "sglang": _sglang}

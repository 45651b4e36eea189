"""Syntaxes of tool calls: recognised in what a template renders, read back from what a model writes, written."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from templatelint.nearest import unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.dialects.dialect import Dialect

# Module → its dialects, each an attribute named like the dialect in capitals. The order is that of recognition: what
# is more specific comes first.
_MODULES: Mapping[str, tuple[str, ...]] = {
    "json_calls": (
        "hermes",
        "falcon",
        "granite",
        "granite-20b-fc",
        "hunyuan-a13b",
        "jamba",
        "minimax-m1",
        "nemotron-nano-v2",
        "command-r",
        "command-r7b",
        "phi4-mini",
        "internlm",
        "apertus",
        "hyperclovax",
        "gigachat3",
    ),
    "named_json": (
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
    ),
    "harmony": ("harmony-llm-jp", "harmony"),
    "tagged": ("qwen3-coder", "mimo", "seed-oss", "glm", "longcat", "hy3", "solar-open2", "k2-horizon"),
    "invoke": (
        "deepseek-v3.2",
        "deepseek-v4",
        "deepseek-v4.1",
        "gigachat3.5",
        "minimax-m2",
        "step3",
        "dots",
        "minicpm5",
    ),
    "kimi_k3": ("kimi-k3",),
    "minimax_m3": ("minimax-m3",),
    "muse": ("muse",),
    "gemma": ("gemma4", "functiongemma"),
    "pythonic": ("llama4-pythonic", "olmo3", "minicpm3", "lfm2", "pythonic"),
    "bare_json": ("llama3-json", "xlam", "json-text"),
}
# Module → texts of which every call in its dialects holds one; without any of them its dialects need no look.
_HINTS: Mapping[str, tuple[str, ...]] = {
    "named_json": (
        *("[TOOL_CALLS]", "<｜tool▁call▁begin｜>", "<|tool_call_begin|>", "<tool_calls>", "<function=", ">>>"),
        *("<|tool_call:name|>", "<|CALL_START|>", "<|plamo:"),
    ),
    "harmony": ("to=functions",),
    "tagged": (
        *("<function=", "<arg_key>", "<longcat_tool_call>", "<tool_sep", "<seed:tool_call>"),
        *("<|tool_call:start|>", "<ifm|tool_call>"),
    ),
    "invoke": ("invoke", "<function", "<dots_function_call>"),
    "kimi_k3": ("<|open|>call",),
    "minimax_m3": ("]<]minimax[>[",),
    "muse": ("<atem:invoke",),
    "gemma": ("call:",),
    "pythonic": ("(", "<|tool_call_start|>"),
}
NAMES: tuple[str, ...] = tuple(name for names in _MODULES.values() for name in names)
AUTO = "auto"


@cache
def get(name: str) -> Dialect:
    """The dialect of that name, of an alias, or that a parser of vLLM or SGLang of that name reads.

    `_` and `-` are the same.

    Raises:
        TemplatelintError: there is none.
    """
    wanted = _folded(name)
    for module, names in _MODULES.items():
        for known in names:
            if _folded(known) == wanted:
                return _dialect(module, known)
    for dialect in every():
        if wanted in map(_folded, dialect.aliases):
            return dialect
    from templatelint.dialects.serving.parsers import aliases

    for parser, meant in aliases().items():
        if _folded(parser) == wanted:
            return get(meant)
    raise unknown("dialect", name, (*NAMES, AUTO))


@cache
def every() -> tuple[Dialect, ...]:
    """All dialects, in the order in which they are tried."""
    return tuple(_dialect(module, name) for module, names in _MODULES.items() for name in names)


def standing_in(text: str) -> Iterator[Dialect]:
    """The dialects of which a call may stand in a text, in their order; modules are imported as they are needed."""
    for module, names in _MODULES.items():
        hints = _HINTS.get(module)
        if hints is None or any(hint in text for hint in hints):
            yield from (_dialect(module, name) for name in names)


def _dialect(module: str, name: str) -> Dialect:
    found: Dialect = getattr(
        import_module(f"templatelint.dialects.syntaxes.{module}"), name.upper().replace("-", "_").replace(".", "_")
    )
    return found


def _folded(name: str) -> str:
    return name.lower().replace("_", "-")

"""What Ollama holds of a model → which of its templates it renders with.

Read in `server/images.go` (`GetModel`, `shouldPreferChatTemplate`, `goTemplateCapabilities`), `server/routes.go`
(`usesOllamaRenderedChat`, `shouldUseGoTemplate`) and `thinking/template.go` (`InferTags`) of Ollama fb3076099
(2026-08-21), for a server that runs without `OLLAMA_GO_TEMPLATE`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Keys of `Model.metadata`.
TEMPLATE, RENDERER, PARSER, FAMILY = "ollama.template", "ollama.renderer", "ollama.parser", "ollama.family"

Choice = Literal["chat template", "go template", "renderer", "unknown"]

_HARMONY = frozenset({"gptoss", "gpt-oss"})
_FIELDS = re.compile(r"[.$]\w*(?:\.\w+)*")
# Thoughts between two texts of one branch, which is how every template of Ollama's library writes them.
_THINKING = re.compile(r"\}\}[^{}]*[^{}\s][^{}]*\{\{-?\s*\.Thinking\s*-?\}\}[^{}]*[^{}\s][^{}]*\{\{")
_ROUND_TRIPS = ("tool_response", "tool_results", "ipython")
_TOOL_ROLES = tuple(
    f"{role}{quote}tool{quote}" for role in ("role'] == ", 'role"] == ', "message.role == ") for quote in "'\""
)


def choice(metadata: Mapping[str, Any], chat_template: str) -> Choice:
    """What Ollama renders a model with.

    Args:
        metadata: of the model; without keys of Ollama's it is a plain GGUF.
        chat_template: the GGUF's; empty where it has none.
    """
    if metadata.get(RENDERER) or metadata.get(PARSER):
        return "renderer"
    go = metadata.get(TEMPLATE)
    if metadata.get(FAMILY) in _HARMONY and go and "<|start|>" in go and "<|end|>" in go:
        return "renderer"
    if go is None:
        return "chat template"
    if not chat_template:
        return "go template"
    preferred = {_prefers_chat(chat_template, go, thinks=thinks) for thinks in _go_thinks(go)}
    if len(preferred) > 1:
        return "unknown"
    return "chat template" if preferred.pop() else "go template"


def knows_tools(source: str) -> bool:
    """Whether Ollama takes a chat template for one that takes tools (`ChatTemplateHasToolSupport`)."""
    return "tools" in source or "tool_call" in source


def knows_thinking(source: str) -> bool:
    """Whether Ollama takes a chat template for one that thinks (`ChatTemplateHasThinkingSupport`)."""
    if "<think>" in source and "</think>" in source:
        return True
    splits = "content.split('</think>')" in source or 'content.split("</think>")' in source
    return splits and "reasoning_content" not in source and "<SPECIAL_12>" not in source


def _prefers_chat(chat: str, go: str, *, thinks: bool) -> bool:
    """Whether the GGUF's template can more than the Go template."""
    words = set(_words(go))
    can_chat = {name for name, yes in (("tools", knows_tools(chat)), ("thinking", knows_thinking(chat))) if yes}
    can_go = {
        name for name, yes in (("tools", "tools" in words), ("insert", "suffix" in words), ("thinking", thinks)) if yes
    }
    chat_returns = _returns_calls(chat)
    go_returns = {"tools", "toolcalls"} <= words and any(
        text in go for text in ('eq .Role "tool"', "tool_response", "TOOL_RESULTS")
    )
    if len(can_chat) > len(can_go):
        return not go_returns or chat_returns
    return can_chat == can_go and "tools" in can_chat and chat_returns and not go_returns


def _returns_calls(chat: str) -> bool:
    """`chatTemplateHasToolRoundTrip`."""
    if "tool_calls" not in chat and "assistant_tool_call" not in chat:
        return False
    return any(text in chat for text in (*_ROUND_TRIPS, *_TOOL_ROLES))


def _go_thinks(go: str) -> tuple[bool, ...]:
    """Whether the Go template has tags around thoughts; both answers where only its syntax tree would tell."""
    if ".Thinking" not in go:
        return (False,)
    return (True,) if _THINKING.search(go) else (False, True)


def _words(go: str) -> Iterator[str]:
    """The names of all fields and variables of a Go template, in lower case."""
    for action in _actions(go):
        for found in _FIELDS.findall(action):
            yield from found.lower().split(".")


def _actions(go: str) -> Iterator[str]:
    """What stands between `{{` and `}}`, texts and comments left out."""
    at = 0
    while (at := go.find("{{", at)) >= 0:
        at += 2
        kept = []
        while at < len(go) and not go.startswith("}}", at):
            mark = go[at]
            if mark in "\"`'":
                end = _behind_text(go, at)
            elif go.startswith("/*", at):
                end = go.find("*/", at + 2) + 2 or len(go)
                end = end if end > 1 else len(go)
            else:
                kept.append(mark)
                end = at + 1
            at = end
        yield "".join(kept)


def _behind_text(go: str, at: int) -> int:
    """The offset behind the string that starts here."""
    mark, at = go[at], at + 1
    while at < len(go) and go[at] != mark:
        at += 2 if go[at] == "\\" and mark != "`" else 1
    return at + 1

"""Requests → prompts as the OpenAI server of LM Studio gives them, as far as that is known: it is closed source.

Known: it renders with @huggingface/jinja, whose words its errors are (lmstudio-bug-tracker #393, #535, #842, #1342),
a copy of its own that may be older than the one found here. What comes before is told by the types of its open client
(lmstudio-js, packages/lms-shared-types: `ChatHistoryData.ts`, `llm/LLMToolUseSetting.ts`, `llm/LLMPromptTemplate.ts`,
`ToolNaming.ts`): messages of four roles, their content as parts, calls with their arguments as a mapping and nothing
else; tools cut down to the members that the types name, whose order they then have (changelog of 0.3.18: `$defs` of
tools had been lost); BOS and EOS. That templates see the arguments as a mapping shows in reports #812 and #884, where a
template of Qwen3-Coder fails on values inside its loop over `arguments|items`. Variables of the request do not reach a
template (#2057): `model.yaml` sets them. Images are left out for models without a configuration for them (#393).

Assumed: content that is one text reaches the template as a string; null and absent content as an empty one; messages
and calls have the members of OpenAI's; `tools` is not defined where the request has none; the generation prompt is on.

Where nothing is known, LM Studio is not judged: `choose` says what is not known, and no rejection is guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint.engines.prepared import Prepared, Preparing
from templatelint.model import ClientForm, RenderError, Template

# the renderer not inside `load`: what is imported here, the children of a run inherit
from templatelint.renderers import RenderFailure
from templatelint.renderers.hf_jinja import described
from templatelint.renderers.hf_jinja.program import compile_template

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from templatelint.model import Model, Request, Tokenizer

_ROLES = frozenset({"system", "user", "assistant", "tool"})
_REASONING = ("reasoning_content", "reasoning", "thinking")
_PLAIN_NAME = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")  # what no naming of tools changes but camelCase
_FUNCTION = ("name", "description", "parameters")
_PARAMETERS = ("type", "properties", "required", "additionalProperties", "$defs")


@dataclass(frozen=True)
class LmStudio:
    """LM Studio's server."""

    version: str
    name: str = "lmstudio"
    renderer: str = "hf-jinja"
    emulated: bool = False
    client_form: ClientForm = "wire"
    always_cues: bool = True

    def choose(self, model: Model, request: Request) -> Template | RenderError:
        """The default template; which of several LM Studio takes is not known."""
        chosen = model.templates[0] if model.picked and model.templates else model.template("default")
        if chosen is None:
            return _unknown("a model without a default template")
        try:
            _variables(request, {})
        except _Unknown as what:
            return _unknown(str(what))
        return chosen

    def load(self, template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
        """Compile the template."""
        try:
            program = compile_template(template.source)
        except RenderFailure as failure:
            return failure.record
        tokens = {name: tokenizer.special_tokens.get(name, "") for name in ("bos_token", "eos_token")}
        return LoadedTemplate(program, tokens)


@dataclass(frozen=True)
class LoadedTemplate(Preparing):
    """A compiled template and the two tokens it sees."""

    tokens: Mapping[str, str]

    def prepare(self, request: Request, now: datetime) -> Prepared | RenderError:  # noqa: ARG002 (others tell the time)
        """The request as LM Studio's own types hold it."""
        try:
            return Prepared(_variables(request, self.tokens))
        except _Unknown as what:
            return _unknown(str(what))


class _Unknown(Exception):
    """What LM Studio does with something is not known; the message names it."""


def _unknown(what: str) -> RenderError:
    return RenderError("unsupported", f"what LM Studio does with {what} is not known")


def _variables(request: Request, tokens: Mapping[str, str]) -> dict[str, Any]:
    if not request.add_generation_prompt:
        raise _Unknown("a wish for no generation prompt")
    if request.extra.get("tool_choice") == "none":
        raise _Unknown("tools that are not to be called")
    messages = [_message(message, media=request.media) for message in request.messages]
    if not messages or messages[-1]["role"] == "assistant":
        raise _Unknown("a conversation that leaves nothing to answer")
    variables: dict[str, Any] = {"messages": messages, "add_generation_prompt": True, **tokens}
    if request.tools:
        variables["tools"] = [_tool(tool) for tool in request.tools]
    return variables


# ------------------------------------------------------------------------------------------------ messages


def _message(message: Mapping[str, Any], *, media: bool) -> dict[str, Any]:
    role = message.get("role")
    if role not in _ROLES:
        raise _Unknown(f"messages of the role {role}")  # 0.3.15 answered with an error (#669)
    if any(message.get(name) for name in _REASONING):
        raise _Unknown("reasoning that a client sends back")
    kept: dict[str, Any] = {"role": role, "content": _text(message.get("content"), media=media)}
    if role == "assistant" and message.get("tool_calls"):
        kept["tool_calls"] = [_call(call) for call in message["tool_calls"]]
    if role == "tool":
        kept |= {name: message[name] for name in ("tool_call_id", "name") if message.get(name) is not None}
    return kept


def _text(content: Any, *, media: bool) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise _Unknown("content that is neither text nor a list")
    texts = [text for part in content if (text := _part_text(part, media=media)) is not None]
    if len(texts) > 1:
        raise _Unknown("several texts in one message")
    return texts[0] if texts else ""


def _part_text(part: Any, *, media: bool) -> str | None:
    """The text of a part; None for an image, which is left out."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and isinstance(part.get("text"), str):
        text: str = part["text"]
        return text
    if kind != "image_url" or media:
        raise _Unknown("images of a model that sees them" if kind == "image_url" else "parts that are no text")
    return None


def _call(call: Any) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise _Unknown("tool calls without a name")
    kept = {"id": call["id"]} if call.get("id") is not None else {}
    return {
        **kept,
        "type": "function",
        "function": {"name": _named(function["name"]), "arguments": _arguments(function.get("arguments"))},
    }


def _arguments(arguments: Any) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = None
    if not isinstance(arguments, Mapping):
        raise _Unknown("arguments that are no JSON object")
    return arguments


# --------------------------------------------------------------------------------------------------- tools


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise _Unknown("tools that are no functions with a name")
    kept = _members(function, _FUNCTION) | {"name": _named(function["name"])}
    parameters = kept.get("parameters")
    if parameters is not None:
        if not isinstance(parameters, Mapping) or parameters.get("type") != "object" or "properties" not in parameters:
            raise _Unknown("parameters that are no object with properties")
        kept["parameters"] = _members(parameters, _PARAMETERS)
    return {"type": "function", "function": kept}


def _members(holder: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Those members, in that order; the types have no null among them."""
    return {name: holder[name] for name in names if holder.get(name) is not None}


def _named(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) is None:
        raise _Unknown(f"the name {name} of a tool, which it may write otherwise")
    return name


def engine(name: str) -> LmStudio:
    """The engine of that id, over the copy of the npm package that is found."""
    return LmStudio(described(), name)

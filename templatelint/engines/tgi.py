"""Requests → prompts as text-generation-inference gives them.

Read at db931fcf (2026-01-08) and in the versions before it: `ChatTemplate` in `router/src/infer/chat_template.rs`,
`ToolGrammar` in `router/src/infer/tool_grammar.rs`, the types of messages and tools in `router/src/lib.rs`. Its
minijinja is 2.8 without `preserve_order`, so that every map is in the order of its keys. Names in brackets are theirs.

Of a model it reads `chat_template.json`, `tokenizer_config.json` and `processor_config.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from templatelint.engines.prepared import Prepared, Preparing
from templatelint.model import ClientForm, RenderError, Template

# the renderer not inside `load`: what is imported here, the children of a run inherit
from templatelint.renderers import RenderFailure
from templatelint.renderers.minijinja.program import compile_template, undeclared
from templatelint.renderers.minijinja.rewriting import Rewritten
from templatelint.renderers.minijinja.setup import Setup

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from templatelint.model import Model, Request, Tokenizer

Message = dict[str, str]

SETUP = Setup((2, 8), "builtin", trims=False, ordered=False)
_NOT_READ = "chat_template.jinja"
# The text that is put into a prompt with tools, by default (`default_tool_prompt`).
_TOOL_PROMPT = (
    "\nGiven the functions available, please respond with a JSON for a function call with its proper arguments that "
    "best answers the given prompt. Respond in the format {name: function name, parameters: dictionary of argument "
    "name and its value}.Do not use variables.\n"
)
_NO_TOOL = {
    "type": "function",
    "function": {
        "description": "Open ended response with no specific tool selected",
        "name": "no_tool",
        "arguments": '{"type":"object"}',
    },
}


@dataclass(frozen=True)
class Tgi:
    """The router's chat completions."""

    name: str
    renderer: str = "minijinja"
    version: str = "db931fcf (2026-01-08)"
    emulated: bool = True
    client_form: ClientForm = "wire"
    always_cues: bool = True

    def choose(self, model: Model, request: Request) -> Template | RenderError:
        """`default`, whatever the request has."""
        if not request.add_generation_prompt:
            return RenderError("unsupported", "tgi cannot be asked to leave the generation prompt out")
        template = model.templates[0] if model.picked and model.templates else model.template("default")
        if template is None:
            return RenderError("invalid-request", "the model has no chat template default")
        if model.kind == "folder" and template.origin.path.endswith(_NOT_READ):
            return RenderError("unsupported", f"tgi does not read {_NOT_READ}, where the model has its template")
        return template

    def load(self, template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
        """Compile the template as tgi changes it; the router ends where that fails."""
        text = edited(template.source)
        try:
            program = compile_template(template.source, SETUP, text)
        except RenderFailure as failure:
            return failure.record
        knows_tools = "tools" in undeclared(text.text)
        tokens = tokenizer.special_tokens
        return LoadedTemplate(program, knows_tools, tokens.get("bos_token"), tokens.get("eos_token"))


def edited(source: str) -> Rewritten:
    """The template as it is compiled (`ChatTemplate::new`): literal texts replaced, however they are meant."""
    text = Rewritten(source).replaced("messages[0]['content'][0]['text']", "messages[0]['content']")
    text = text.replaced("[::-1]", "|reverse")
    return text.replaced("{% generation %}", "").replaced("{% endgeneration %}", "")


class _InvalidRequest(Exception):
    """tgi answers with an error before it renders."""


@dataclass(frozen=True)
class LoadedTemplate(Preparing):
    """A template inside tgi.

    Attributes:
        knows_tools: the template reads `tools`.
        bos_token: None where it is not set, and then none and not undefined for the template; so is eos_token.
    """

    knows_tools: bool
    bos_token: str | None
    eos_token: str | None

    def prepare(self, request: Request, now: datetime) -> Prepared | RenderError:  # noqa: ARG002 (others tell the time)
        """The variables, and the cut where the conversation ends with the assistant (`ChatTemplate::apply`)."""
        try:
            tools = _tools(request)
            messages = [_message(message) for message in request.messages]
        except _InvalidRequest as error:
            return RenderError("invalid-request", str(error))
        if tools is not None and messages and not _calls_only(request.messages[-1]):
            listed = "" if self.knows_tools else f"{_compact(tools)}\n"
            messages[-1]["content"] += f"\n---\n{listed}{request.extra.get('tool_prompt') or _TOOL_PROMPT}"
        variables = {
            "messages": messages,
            "bos_token": self.bos_token,
            "eos_token": self.eos_token,
            "add_generation_prompt": True,
            "tools": tools,
        }
        if messages and messages[-1]["role"] == "assistant":
            return Prepared(variables, partial(_cut, messages[-1]["content"]))
        return Prepared(variables)


def _cut(content: str, text: str) -> str:
    """The text up to where the last message ends, so that it goes on from there."""
    at = text.rfind(content)
    return text if at < 0 else text[: at + len(content)].rstrip()


# ------------------------------------------------------------------------------------------- messages


def _message(given: Mapping[str, Any]) -> Message:
    """Role and text (`TextMessage`); of calls their JSON, of results nothing but the text."""
    if _calls_only(given):
        return {"role": given["role"], "content": _compact([_call(call) for call in given["tool_calls"]])}
    content = given.get("content")
    if isinstance(content, str):
        return {"role": given["role"], "content": content}
    if not isinstance(content, list):
        raise _InvalidRequest("a message has no content, and no tool calls in its place")
    return {"role": given["role"], "content": "".join(map(_part, content))}


def _calls_only(message: Mapping[str, Any]) -> bool:
    """Whether tool calls stand in for the content; beside content they are not read (`MessageBody`)."""
    return not isinstance(message.get("content"), str | list) and isinstance(message.get("tool_calls"), list)


def _part(part: Any) -> str:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    if kind == "image_url" and isinstance(part.get("image_url"), Mapping):
        return f"![]({part['image_url'].get('url')})"
    raise _InvalidRequest("a part of the content holds neither text nor image_url")


def _call(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not isinstance(given.get("id"), str):
        raise _InvalidRequest("a tool call has no id")
    return {"id": given["id"], "type": given.get("type", "function"), "function": _function(given, "arguments")}


def _function(holder: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A function's members in the order of `FunctionDefinition`; its arguments are written as JSON, texts too."""
    own = holder.get("function")
    if not isinstance(own, Mapping) or not isinstance(own.get("name"), str):
        raise _InvalidRequest("a function has no name")
    if name not in own and "arguments" not in own:
        raise _InvalidRequest(f"the function {own['name']} has no {name}")
    arguments = own.get("arguments", own.get("parameters"))
    return {"description": own.get("description"), "name": own["name"], "arguments": _compact(arguments)}


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# ---------------------------------------------------------------------------------------------- tools


def _tools(request: Request) -> list[dict[str, Any]] | None:
    """The tools that the template sees, None where there are none (`ToolGrammar::apply`)."""
    if request.tools is None:
        return None
    answer = request.extra.get("response_format")
    if answer is not None:
        raise _InvalidRequest("a request has either tools or response_format")
    tools = [
        {"type": tool.get("type", "function"), "function": _function(tool, "parameters")} for tool in request.tools
    ]
    choice = request.extra.get("tool_choice")
    if choice in (None, "auto"):
        return [*tools, _NO_TOOL]
    if choice == "none":
        return None
    return tools or None if choice == "required" else [_named(tools, choice)]


def _named(tools: Sequence[dict[str, Any]], choice: Any) -> dict[str, Any]:
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else choice
    for tool in tools:
        if tool["function"]["name"] == name:
            return tool
    raise _InvalidRequest(f"tool_choice names the function {name}, which is not among the tools")


def engine(name: str) -> Tgi:
    """The engine of that id."""
    return Tgi(name)

"""Requests → prompts as `Llama.create_chat_completion` of llama-cpp-python gives them.

Read in 0.3.35: `llama_cpp/llama.py` and `llama_cpp/llama_chat_format.py`; functions named in brackets are those of the
latter. The OpenAI server that comes with it checks requests before: it rejects null content of assistants, typed
content other than users', and the developer role, and drops reasoning. That is not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jinja2 import nodes

from templatelint.engines.assumed import text_of
from templatelint.engines.prepared import Prepared, Preparing
from templatelint.model import ClientForm, RenderError, Template
from templatelint.renderers import RenderFailure

# not inside `load`: what is imported here, the children of a run inherit
from templatelint.renderers.jinja2 import compile_template
from templatelint.syntax import Syntax, TemplateSyntax, is_generation, parse

if TYPE_CHECKING:
    from datetime import datetime

    from templatelint.model import Model, Request, Tokenizer

Messages = Sequence[Mapping[str, Any]]
Format = Callable[[Messages], str]


@dataclass(frozen=True)
class LlamaCppPython:
    """A model of a GGUF, loaded without `chat_format`."""

    name: str
    renderer: str = "jinja2"
    version: str = "0.3.35"
    emulated: bool = False
    client_form: ClientForm = "wire"
    always_cues: bool = True

    def choose(self, model: Model, request: Request) -> Template | RenderError:  # noqa: ARG002 (it never matters)
        """The default template; others only where `chat_format` names them."""
        if model.picked and model.templates:
            return model.templates[0]
        default = model.template("default")
        if default is None:
            return RenderError("unsupported", "without a default template llama-cpp-python writes its format llama-2")
        return default

    def load(self, template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
        """Compile the template, also where a format of Python code then takes its place."""
        try:
            syntax = parse(template.source)
            marked = any(map(is_generation, syntax.all_nodes))
            # the source itself has been compiled where another engine has it
            compiled = compile_template(_unmarked(syntax) if marked else template.source, restricted=False)
        except TemplateSyntax as error:
            return RenderError("syntax", error.message, error.line, error.column)
        except RenderFailure as failure:
            return failure.record
        written = _FORMATS.get(template.sha256) if template.name == "default" else None
        return LoadedTemplate(compiled, tokenizer, written)


@dataclass(frozen=True)
class LoadedTemplate(Preparing):
    """A template inside llama-cpp-python.

    Attributes:
        format: what writes the prompts instead, for a template that llama-cpp-python knows to the letter.
    """

    tokenizer: Tokenizer
    format: Format | None

    def prepare(self, request: Request, now: datetime) -> Prepared | RenderError:  # noqa: ARG002 (others tell the time)
        """The variables (`Jinja2ChatFormatter.__call__`): no special token but two, and none of the request's own."""
        variables = {
            "messages": request.messages,
            "tools": request.tools,
            **{name: request.extra.get(name) for name in ("functions", "function_call", "tool_choice")},
            "bos_token": text_of(self.tokenizer, "bos_token"),
            "eos_token": text_of(self.tokenizer, "eos_token"),
            "add_generation_prompt": True,
        }
        if self.format is None:
            return Prepared(variables, lambda text: _misnamed_tool(request) or text)
        try:
            prompt = self.format(request.messages)
        except (KeyError, TypeError) as error:
            return RenderError("raised", f"{type(error).__name__}: {error}")
        # no renderer has a part in it: without messages, each gives a text to throw away
        return Prepared({**variables, "messages": []}, lambda _: _misnamed_tool(request) or prompt)


def _misnamed_tool(request: Request) -> RenderError | None:
    """Why a function that is to be called is not found (`chat_formatter_to_chat_completion_handler`)."""
    choice, call = request.extra.get("tool_choice"), request.extra.get("function_call")
    functions = request.extra.get("functions")
    if functions is None and request.tools is not None:
        functions = [tool.get("function") for tool in request.tools]
    wanted = call if isinstance(call, Mapping) else choice.get("function") if isinstance(choice, Mapping) else None
    if not isinstance(wanted, Mapping) or not isinstance(functions, list) or call in ("none", "auto"):
        return None
    name = wanted.get("name")
    if name in [function.get("name") for function in functions if isinstance(function, Mapping)]:
        return None
    return RenderError("invalid-request", f"tool_choice names {name}, which is none of the tools")


# --------------------------------------------------------------------------------- {% generation %}


def _unmarked(syntax: Syntax) -> Syntax:
    """The tree in which the tags stand for nothing, so that what they enclose is no scope of its own.

    (`Jinja2ChatFormatter.IgnoreGenerationTags`)
    """
    return Syntax(syntax.source, _opened(syntax.root))


def _opened(node: Any) -> Any:
    """A copy of the node, in whose lists each generation block is replaced by what it encloses."""
    opened = copy(node)
    for name, value in node.iter_fields():
        if isinstance(value, list):
            setattr(opened, name, _statements(value))
    return opened


def _statements(values: list[Any]) -> list[Any]:
    statements: list[Any] = []
    for value in values:
        if isinstance(value, nodes.CallBlock) and is_generation(value):
            statements += _statements(value.body)
        else:
            statements.append(_opened(value) if isinstance(value, nodes.Stmt) else value)
    return statements


# ---------------------------------------------------------------------------------- formats of Python code


def _chatml(messages: Messages) -> str:
    """`format_chatml`: a system turn in any case, and turns without text are left open."""
    system = next((message["content"] or "" for message in messages if message["role"] == "system"), "")
    texts = [f"<|im_start|>system\n{system}<|im_end|>\n"]
    for role, text in _turns(messages, ("user", "assistant")):
        texts.append(f"<|im_start|>{role}\n" + (f"{text}<|im_end|>\n" if text else ""))
    return "".join([*texts, "<|im_start|>assistant\n"])


def _llama3(messages: Messages) -> str:
    """`format_llama3`: turns without text are left open."""
    texts = []
    for role, text in [*_turns(messages, ("system", "user", "assistant")), ("assistant", "")]:
        texts.append(f"<|start_header_id|>{role}<|end_header_id|>\n\n" + (f"{text}<|eot_id|>" if text else ""))
    return "".join(texts)


def _turns(messages: Messages, roles: tuple[str, ...]) -> list[tuple[str, str]]:
    """(role, text) of the messages of these roles; a list is no text."""
    kept = [(message["role"], message["content"]) for message in messages if message["role"] in roles]
    return [(role, content if isinstance(content, str) else "") for role, content in kept]


def _mistral_instruct(messages: Messages) -> str:
    """`format_mistral_instruct`."""
    prompt = ""
    for message in messages:
        if message["role"] == "user" and isinstance(message["content"], str):
            prompt += "[INST] " + message["content"]
        elif message["role"] == "assistant" and message["content"] is not None:
            prompt += " [/INST]" + message["content"] + "</s>"
    return prompt + " [/INST]"


# what `guess_chat_format_from_gguf_metadata` compares templates with, by the SHA-256 of their UTF-8
_FORMATS: Mapping[str, Format] = {
    "153280e3ff55d19da1398bdb3914ee2a51b80429bfaedde11d7d216c39db80f3": _chatml,
    "7e995b379ec01747807246483647cd99030abf331653f1119e16d7ac041a3495": _mistral_instruct,
    "26a59556925c987317ce5291811ba3b7f32ec4c647c400c6cc7e3a9993007ba7": _mistral_instruct,
    "ba03a121d097859c7b5b9cd03af99aafe95275210d2876f642ad9929a150f122": _llama3,
}


def engine(name: str) -> LlamaCppPython:
    """The engine of that id."""
    return LlamaCppPython(name)

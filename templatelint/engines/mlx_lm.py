"""Requests → prompts as mlx-lm's OpenAI server (`mlx_lm.server`) gives them.

mlx-lm 0.32.2 asks for transformers 5.7 or later and pins none: the newest one that is modelled stands below it.
Functions named in brackets are those of `mlx_lm/server.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from templatelint.engines import transformers
from templatelint.engines.prepared import Prepared, rendered
from templatelint.model import ClientForm, Observation, RenderError, Request, Template

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from templatelint.model import Model, Tokenizer
    from templatelint.renderers import Program

Message = dict[str, Any]


@dataclass(frozen=True)
class MlxLm:
    """The server as `--model` alone starts it."""

    name: str
    renderer: str = "jinja2"
    version: str = "0.32.2"
    emulated: bool = False
    client_form: ClientForm = "wire"
    always_cues: bool = True

    def choose(self, model: Model, request: Request) -> Template | RenderError:
        """What transformers chooses; tools that are an empty list are none."""
        own = model.tokenizer.facts.get("chat_template_type")
        if own:
            return RenderError("unsupported", f"mlx-lm writes the prompts of this model with its Python code {own}")
        if not model.templates:
            return RenderError("unsupported", "without a template mlx-lm writes turns as USER: and ASSISTANT:")
        return transformers.choose_named(model, _call(request, request.messages, {}))

    def load(self, template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
        """Compile the template."""
        inner = transformers.load(template, tokenizer, transformers.release("transformers"))
        return inner if isinstance(inner, RenderError) else LoadedTemplate(inner, _thinks(template.source))


@dataclass(frozen=True)
class LoadedTemplate:
    """A template inside mlx-lm.

    Attributes:
        inner: the same in transformers.
        thinks: the vocabulary is taken to have tokens around what the model thinks.
    """

    inner: transformers.LoadedTemplate
    thinks: bool

    @property
    def refusal(self) -> None:
        """None: mlx-lm starts with any template."""
        return

    def through(self, program: Program) -> LoadedTemplate:
        """The same, its requests prepared as before, but rendered by another program of this template."""
        return replace(self, inner=self.inner.through(program))

    def render(self, request: Request, now: datetime) -> Observation:
        """What the model is given to complete."""
        return rendered(self.inner.program, self.prepare(request, now), now)

    def prepare(self, request: Request, now: datetime) -> Prepared | RenderError:
        """The call of `apply_chat_template`, always with the generation prompt (`_tokenize`)."""
        try:
            messages = [_message(message) for message in request.messages]
        except _InvalidRequest as error:
            return RenderError("invalid-request", str(error))
        variables = {"enable_thinking": self.thinks, **request.variables}
        prepared = self.inner.prepare(_call(request, messages, variables), now)
        if isinstance(prepared, RenderError):
            return prepared
        head = _system_head(messages)
        if not head:
            return prepared
        alone = self.inner.prepare(_call(request, head, variables, cue=False), now)

        def finish(text: str) -> str | RenderError:
            """The text, unless the system messages fail on their own: the server caches what they give."""
            return rendered(self.inner.program, alone, now).error or text

        return Prepared(prepared.variables, finish)


def _call(
    request: Request, messages: Sequence[Mapping[str, Any]], variables: Mapping[str, Any], *, cue: bool = True
) -> Request:
    """The call: of the body's other members (`tool_choice`, `documents` …) none is read (`handle_chat_completions`)."""
    return Request(messages, request.tools or None, add_generation_prompt=cue, variables=variables)


def _system_head(messages: Sequence[Message]) -> list[Message]:
    """The conversation of the leading system messages, for one that ends with a user's; empty where there are none."""
    if not messages or messages[-1]["role"] != "user":
        return []
    count = next((at for at, message in enumerate(messages) if message["role"] != "system"), 0)
    return [*messages[:count], {"role": "user", "content": ""}] if count else []


# ------------------------------------------------------------------------------------------- messages


class _InvalidRequest(Exception):
    """mlx-lm answers with an error before it renders."""


def _message(message: Mapping[str, Any]) -> Message:
    """The message with its content as text and its arguments parsed (`process_message_content`)."""
    prepared = dict(message)
    content = message.get("content")
    if content is None:
        prepared["content"] = ""
    elif isinstance(content, list | tuple):
        prepared["content"] = "".join(map(_text, content))
    if message.get("tool_calls"):
        prepared["tool_calls"] = [_parsed_call(call) for call in message["tool_calls"]]
    return prepared


def _text(part: Any) -> str:
    # images are kept for one vision model only, which mlx-lm renders with code of its own
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind != "text":
        raise _InvalidRequest(f"content has a part that is no text: type {kind!r}")
    if not isinstance(part.get("text"), str):
        raise _InvalidRequest("content has a text part without text")
    text: str = part["text"]
    return text


def _parsed_call(call: Any) -> Any:
    function: Any = call.get("function") if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if not isinstance(arguments, str) or not arguments:
        return call
    import json

    try:
        value = json.loads(arguments)  # whatever it is, an object or not
    except (ValueError, RecursionError):
        raise _InvalidRequest("arguments of a tool call are not valid JSON") from None
    return {**call, "function": {**function, "arguments": value}}


# ------------------------------------------------------------------------------------------- thinking

_THINKING = (
    ("<think>", "</think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<|think:start|>", "<|think:end|>"),
    ("<|channel>", "<channel|>"),
)
_XTML = ("<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>")


def _thinks(source: str) -> bool:
    """Whether `enable_thinking` is true for a request that does not say.

    mlx-lm looks for both markers in the vocabulary (tokenizer_utils.py::_infer_thinking), which is not at hand: a
    template that has one of a pair is taken to come with a vocabulary that has both.
    """
    return any(marker in source for pair in _THINKING for marker in pair) or all(marker in source for marker in _XTML)


def engine(name: str) -> MlxLm:
    """The engine of that id."""
    return MlxLm(name)

"""Requests → prompts as `tokenizer.apply_chat_template` of transformers gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from templatelint.engines.prepared import Prepared, rendered
from templatelint.model import ClientForm, Observation, RenderError, Template
from templatelint.renderers import RenderFailure

# not inside `load`: what is imported here, the children of a run inherit
from templatelint.renderers.jinja2 import compile_template

if TYPE_CHECKING:
    from datetime import datetime

    from templatelint.model import Model, Request, Tokenizer
    from templatelint.renderers import Program
    from templatelint.renderers.jinja2 import Compiled

Message = dict[str, Any]


@dataclass(frozen=True)
class Release:
    """What a release of transformers does before it renders.

    Attributes:
        version: of the release.
        steps: what is done to the messages, in this order.
        restricted: templates see guarded `dict` and `namespace`.
        continues_fields: `continue_final_message` may name the field to continue, which the template must read.
        need_tokens: keyword arguments that are refused with a prompt that is not tokenized.
    """

    version: str
    steps: tuple[Callable[[list[Message]], list[Message]], ...] = ()
    restricted: bool = False
    continues_fields: bool = True
    need_tokens: tuple[str, ...] = ("sanitize_control_tokens", "return_assistant_tokens_mask")

    @property
    def aliases(self) -> bool:
        """Whether reasoning appears under several names, each of which is continued."""
        return _alias_reasoning in self.steps


@dataclass(frozen=True)
class Transformers:
    """The tokenizer's way from a conversation to a prompt."""

    name: str
    release: Release = field(repr=False)
    renderer: str = "jinja2"
    emulated: bool = False
    client_form: ClientForm = "native"
    always_cues: bool = False

    @property
    def version(self) -> str:
        """Of the release that is modelled."""
        return self.release.version

    def choose(self, model: Model, request: Request) -> Template | RenderError:
        """See `choose_named`."""
        return choose_named(model, request)

    def load(self, template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
        """Compile the template."""
        return load(template, tokenizer, self.release)


def choose_named(model: Model, request: Request) -> Template | RenderError:
    """`tool_use` where the request has tools (an empty list counts), else `default`."""
    if model.picked and model.templates:
        return model.templates[0]
    names = ("tool_use", "default") if request.tools is not None else ("default",)
    for name in names:
        if (template := model.template(name)) is not None:
            return template
    if not model.templates:
        return _invalid("the tokenizer has no chat template")
    listed = ", ".join(sorted(template.name for template in model.templates))
    return _invalid(f"none of the named templates is the default one: {listed}")


def load(template: Template, tokenizer: Tokenizer, release: Release) -> LoadedTemplate | RenderError:
    """The template as a tokenizer of that release holds it, or why it does not compile."""
    try:
        compiled = compile_template(template.source, restricted=release.restricted)
    except RenderFailure as failure:
        return failure.record
    return LoadedTemplate(compiled, tokenizer.special_tokens, release)


def _invalid(message: str) -> RenderError:
    return RenderError("invalid-request", message)


class _InvalidRequest(Exception):
    """transformers raises before it renders."""


@dataclass(frozen=True)
class LoadedTemplate:
    """A compiled template and the special tokens it sees.

    Attributes:
        printer: what renders the requests instead of the compiled template (see `through`).
    """

    compiled: Compiled
    special_tokens: Mapping[str, str]
    release: Release
    printer: Program | None = None

    def through(self, program: Program) -> LoadedTemplate:
        """The same, its requests prepared as before, but rendered by another program of this template."""
        return replace(self, printer=program)

    @property
    def program(self) -> Program:
        """What renders the requests."""
        return self.printer or self.compiled

    @property
    def refusal(self) -> None:
        """None: what compiles is used."""
        return

    def render(self, request: Request, now: datetime) -> Observation:
        """What `apply_chat_template(..., tokenize=False)` returns for the request."""
        return rendered(self.program, self.prepare(request, now), now)

    def prepare(self, request: Request, now: datetime) -> Prepared | RenderError:  # noqa: ARG002 (others tell the time)
        """The variables of the call, and the cut where a message is to be continued."""
        try:
            call = _arguments(request, self.release)
            messages = self._messages(call)
            continued = _Continued.of(call, messages, self.compiled.syntax.source, self.release)
        except _InvalidRequest as error:
            return _invalid(str(error))
        variables = {
            **self.special_tokens,
            **call.variables,
            "messages": messages,
            "tools": call.tools,
            "documents": call.documents,
            "add_generation_prompt": call.add_generation_prompt,
        }
        return Prepared(variables) if continued is None else Prepared(variables, continued.cut)

    def _messages(self, call: _Call) -> list[Message]:
        messages = call.messages
        for step in self.release.steps:
            messages = step(messages)
        return messages


# ---------------------------------------------------------------------------------- the call's arguments


@dataclass(frozen=True)
class _Call:
    """The request as the arguments of one call."""

    messages: list[Message]
    tools: Any
    documents: Any
    add_generation_prompt: bool
    continue_final_message: bool | str
    variables: Mapping[str, Any]


# Keyword arguments of `apply_chat_template` that never reach a template: it cannot see a variable so named.
_NEVER_SEEN = frozenset({"padding", "truncation", "max_length", "return_tensors", "return_dict", "tokenizer_kwargs"})
# Those that would be given twice.
_TAKEN = (
    "self",
    "conversation",
    "conversations",
    "messages",
    "tools",
    "chat_template",
    "add_generation_prompt",
    "tokenize",
)


def _arguments(request: Request, release: Release) -> _Call:
    """The call that a client makes who passes the request's variables on as keyword arguments.

    Raises:
        _InvalidRequest: transformers rejects it.
    """
    variables = dict(request.variables)
    for name in _TAKEN:
        if name in variables:
            raise _InvalidRequest(f"the variable {name} is an argument that the call already has")
    for name in release.need_tokens:
        if variables.pop(name, False):
            raise _InvalidRequest(f"{name} needs tokenized output")
    documents = _once(variables, "documents", request.documents, absent=None)
    continued = _once(variables, "continue_final_message", request.continue_final_message, absent=False)
    if not request.messages:
        raise _InvalidRequest("the conversation is empty")
    if continued and request.add_generation_prompt:
        raise _InvalidRequest("continue_final_message and add_generation_prompt exclude each other")
    return _Call(
        [_mapping(message, f"message {at}") for at, message in enumerate(request.messages, 1)],
        _mappings(request.tools, "tool"),
        _mappings(documents, "document"),
        request.add_generation_prompt,
        continued,
        {name: _plain(value) for name, value in variables.items() if name not in _NEVER_SEEN},
    )


def _once(variables: dict[str, Any], name: str, given: Any, *, absent: Any) -> Any:
    """An argument that the request has as its own member or among its variables, not as both."""
    if name not in variables:
        return given
    if given != absent:
        raise _InvalidRequest(f"{name} is given twice")
    return variables.pop(name)


def _mappings(values: Any, what: str) -> list[Message] | None:
    if values is None:
        return None
    if not isinstance(values, Sequence):
        raise _InvalidRequest(f"{what}s are no list but {type(values).__name__}")
    return [_mapping(value, f"{what} {at}") for at, value in enumerate(values, 1)]


def _mapping(value: Any, what: str) -> Message:
    if not isinstance(value, Mapping):
        raise _InvalidRequest(f"{what} is no mapping but {type(value).__name__}")
    return dict(value)


def _plain(value: Any) -> Any:
    """A copy built of dicts and lists, which a template may see and a continued message may change."""
    if isinstance(value, str | int | None):  # most are, and abstract classes are slow to ask
        return value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return value


# ------------------------------------------------------------------------------ steps before rendering

_REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")


def _drop_null_keys(messages: list[Message]) -> list[Message]:
    return [{key: value for key, value in message.items() if value is not None} for message in messages]


def _alias_reasoning(messages: list[Message]) -> list[Message]:
    """Reasoning under any of its names appears as `thinking` and `reasoning_content` too."""
    return [_with_aliases(message) for message in messages]


def _with_aliases(message: Message) -> Message:
    for name in _REASONING_FIELDS:
        if (reasoning := message.get(name)) is not None:
            return {"thinking": reasoning, **message, "reasoning_content": reasoning}
    return message


# ------------------------------------------------------------------------------ continuing a message

_TAG = "CONTINUE_FINAL_MESSAGE_TAG "  # its text can reach a prompt, and its blank shows whether a template trims


@dataclass(frozen=True)
class _Continued:
    """A last message that the prompt leaves open: its text as the caller gave it."""

    text: str

    @staticmethod
    def of(call: _Call, messages: list[Message], source: str, release: Release) -> _Continued | None:
        """Tag the last message, or None where it is not to be continued.

        Raises:
            _InvalidRequest: it has no text to continue.
        """
        if not call.continue_final_message:
            return None
        named = release.continues_fields and isinstance(call.continue_final_message, str)
        name = str(call.continue_final_message) if named else "content"
        last = messages[-1] = _plain(messages[-1])
        value = last.get(name)
        if value is None:
            raise _InvalidRequest(f"the last message has no {name} to continue")
        names = [name]
        if release.aliases and name in _REASONING_FIELDS:
            names = [alias for alias in _REASONING_FIELDS if last.get(alias) == value]
        if release.continues_fields and not any(alias in source for alias in names):
            raise _InvalidRequest(f"the template does not read {name}")
        if isinstance(value, list):
            return _Continued(_tag_last_text(value))
        if not isinstance(value, str):
            raise _InvalidRequest(f"{name} of the last message is no text but {type(value).__name__}")
        for alias in names:
            last[alias] = value + _TAG
        return _Continued(value)

    def cut(self, text: str) -> str | RenderError:
        """The text up to where the message is to go on, unless the message or the tag did not come through."""
        at = text.rfind(_TAG.strip())
        if at < 0 or self.text.strip() not in text:
            return RenderError("raised", "the message to continue is altered in the prompt")
        return text[:at] if text.startswith(_TAG, at) else text[:at].rstrip()


def _tag_last_text(parts: list[Any]) -> str:
    for part in reversed(parts):
        if isinstance(part, dict | list | str) and "text" not in part:
            continue
        if not isinstance(part, dict) or not isinstance(part["text"], str):
            break  # transformers fails on what it takes for a text part
        text: str = part["text"]
        part["text"] = text + _TAG
        return text
    raise _InvalidRequest("the last message has no text part to continue")


# ------------------------------------------------------------------------------------------- releases

_RELEASES = {
    "transformers": Release("5.24.0", (_drop_null_keys, _alias_reasoning), restricted=True),
    # the last before reasoning got its aliases (5.21) and null-valued keys were dropped (5.23); vLLM and SGLang pin it
    "transformers@5.20": Release("5.20.0"),
    "transformers@4.57": Release(
        "4.57.6",
        continues_fields=False,
        need_tokens=("return_assistant_tokens_mask", "return_dict"),
    ),
}


def release(name: str) -> Release:
    """The release that an engine id names (`transformers`, `transformers@5.20`, `transformers@4.57`)."""
    return _RELEASES[name]


def engine(name: str) -> Transformers:
    """The engine of that id."""
    return Transformers(name, release(name))

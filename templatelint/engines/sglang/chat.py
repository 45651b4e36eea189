"""Requests → prompts as SGLang's /v1/chat/completions gives them, at its default launch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from templatelint.engines import transformers
from templatelint.engines.prepared import Prepared, rendered
from templatelint.engines.sglang import detection, messages, protocol
from templatelint.engines.sglang.launches import replacement
from templatelint.engines.sglang.override import Override, override
from templatelint.model import ClientForm, Observation, RenderError, Request, Template

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from templatelint.engines.sglang.detection import ContentFormat
    from templatelint.engines.sglang.protocol import ChatRequest
    from templatelint.model import Model, Tokenizer
    from templatelint.renderers import Program


@dataclass(frozen=True)
class SGLang:
    """The server as `--model-path` or `--chat-template` alone start it: no parsers, no default variables."""

    name: str
    renderer: str = "jinja2"
    version: str = "0.5.23"
    emulated: bool = False
    client_form: ClientForm = "wire"
    always_cues: bool = False

    def choose(self, model: Model, request: Request) -> Template | RenderError:  # noqa: ARG002 (it never matters)
        """The first template of the model, whatever its name, unless SGLang renders it by other means.

        (parser/template_manager.py::_select_named_template; a picked one is --hf-chat-template-name)
        """
        if (other := replacement(model)) is not None:
            return RenderError("unsupported", f"SGLang renders the prompt with {other}, not with the template")
        if not model.templates:
            return RenderError("invalid-request", "the tokenizer has no chat template")
        return model.templates[0]

    def load(self, template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
        """Compile the template with the transformers that SGLang pins (5.19.0, like 5.20)."""
        file = override(template)
        passed = template if file is None else replace(template, source=file.text)
        loaded = transformers.load(passed, tokenizer, transformers.release("transformers@5.20"))
        if isinstance(loaded, RenderError):
            return loaded if file is None else file.placed(loaded)
        return LoadedTemplate(loaded, file, tokenizer)


@dataclass(frozen=True)
class LoadedTemplate:
    """A compiled template and what SGLang has concluded from it.

    Attributes:
        inner: the same in transformers.
        file: how its file was read, where that matters.
        tokenizer: of the model.
    """

    inner: transformers.LoadedTemplate
    file: Override | None
    tokenizer: Tokenizer

    @property
    def refusal(self) -> None:
        """None: SGLang starts with any template."""
        return

    def through(self, program: Program) -> LoadedTemplate:
        """The same, its requests prepared as before, but rendered by another program of this template."""
        return replace(self, inner=self.inner.through(program))

    def render(self, request: Request, now: datetime) -> Observation:
        """What the model is given to complete."""
        observation = Observation(error=RenderError("invalid-request", "there are no messages"))
        for prepared in self._attempts(request, now):
            observation = rendered(self.inner.program, prepared, now)
            if observation.error is None or observation.error.out_of_budget:
                break
        if observation.error is not None and self.file is not None:
            return Observation(error=self.file.placed(observation.error))
        return observation

    def prepare(self, request: Request, now: datetime) -> Prepared | RenderError:
        """The variables of the attempt that gives the prompt, or of the last one where none does."""
        first, *others = self._attempts(request, now)
        if not others or rendered(self.inner.program, first, now).error is None:
            return first
        return others[0]

    def _attempts(self, request: Request, now: datetime) -> Iterator[Prepared | RenderError]:
        """The call, and for a request with tools that fails once more with their bare functions.

        (entrypoints/openai/serving_chat.py::_apply_jinja_template)
        """
        try:
            chat = protocol.read(request)
            call, prefix = self._call(chat, request)
        except protocol.InvalidRequest as error:
            yield RenderError("invalid-request", str(error))
            return
        yield self._prepared(call, prefix, now)
        if call.tools:
            yield self._prepared(replace(call, tools=[tool["function"] for tool in call.tools]), prefix, now)

    def _prepared(self, call: Request, prefix: str, now: datetime) -> Prepared | RenderError:
        prepared = self.inner.prepare(call, now)
        return Prepared(prepared.variables, lambda text: text + prefix) if isinstance(prepared, Prepared) else prepared

    def _call(self, chat: ChatRequest, request: Request) -> tuple[Request, str]:
        """The call of `apply_chat_template`, and the text that goes behind what it gives."""
        turns = messages.prepared(chat.messages, self._format, reads_call_ids=self._reads_call_ids)
        prefix = ""
        # without the prompt it is /tokenize that was asked: it alone reads the member, and leaves the last message
        if request.add_generation_prompt:
            turns, prefix = messages.last_turn(turns, continued=chat.continued)
        variables = dict(chat.variables)
        if chat.effort is not None:
            variables = {"reasoning_effort": chat.effort, **variables}
        if chat.effort == "low" and (switch := detection.low_effort_switch(self._source)):
            variables.setdefault(switch, True)
        if "return_dict" in variables:
            raise protocol.InvalidRequest("the variable return_dict is an argument that the call already has")
        call = Request(turns, chat.tools, request.add_generation_prompt, variables=variables)
        return call, self._without_bos(prefix)

    def _without_bos(self, prefix: str) -> str:
        """The text to go on with as it arrives: of what it is encoded to, a BOS at the start is dropped.

        (::_append_assistant_prefix_to_prompt_ids) A tokenizer that adds one loses that, else one that the text has.
        """
        bos = self.tokenizer.special_tokens.get("bos_token", "")
        return prefix.removeprefix(bos) if self.tokenizer.add_bos is False else prefix

    # ------------------------------------------------------------------------------------ what was detected

    @property
    def _source(self) -> str:
        return self.inner.compiled.syntax.source

    @cached_property
    def _format(self) -> ContentFormat:
        return detection.content_format(self._source if self.file is None else self.file.unescaped)

    def _reads_call_ids(self) -> bool:
        return detection.reads_call_ids(self._source)


def engine(name: str) -> SGLang:
    """The engine of that id."""
    return SGLang(name)

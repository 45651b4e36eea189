"""A template inside vLLM → the prompts that it gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from templatelint.engines import transformers
from templatelint.engines.prepared import rendered
from templatelint.engines.vllm import validation, variables
from templatelint.engines.vllm.content_format import ContentFormat, content_format
from templatelint.engines.vllm.conversation import NoPlaceholder, conversation, without_developer
from templatelint.engines.vllm.validation import InvalidRequest
from templatelint.model import RenderError, Request

if TYPE_CHECKING:
    from datetime import datetime

    from templatelint.engines.prepared import Prepared
    from templatelint.model import Observation, Template, Tokenizer
    from templatelint.renderers import Program

_PINNED = "transformers@5.20"


def load(template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
    """The template as transformers compiles it."""
    loaded = transformers.load(template, tokenizer, transformers.release(_PINNED))
    return loaded if isinstance(loaded, RenderError) else LoadedTemplate(loaded)


@dataclass(frozen=True)
class LoadedTemplate:
    """A template inside vLLM."""

    tokenizer: transformers.LoadedTemplate

    def through(self, program: Program) -> LoadedTemplate:
        """The same, its requests prepared as before, but rendered by another program of this template."""
        return LoadedTemplate(self.tokenizer.through(program))

    @property
    def refusal(self) -> None:
        """None: vLLM starts with every template, and answers requests with an error where it cannot be rendered."""
        return

    @cached_property
    def content_format(self) -> ContentFormat:
        """What vLLM takes the template for."""
        return content_format(self._source)

    @property
    def _source(self) -> str:
        return self.tokenizer.compiled.syntax.source

    def render(self, request: Request, now: datetime) -> Observation:
        """The prompt that the server would put before the model."""
        return rendered(self.tokenizer.program, self.prepare(request, now), now)

    def prepare(self, request: Request, now: datetime) -> Prepared | RenderError:
        """What transformers makes of the request as vLLM hands it on."""
        try:
            return self.tokenizer.prepare(self._handed_on(request), now)
        except InvalidRequest as error:
            return RenderError("invalid-request", str(error))
        except NoPlaceholder as error:
            return RenderError("unsupported", str(error))

    def _handed_on(self, request: Request) -> Request:
        """The request as vLLM calls `apply_chat_template`."""
        validation.require_members(request)
        taken = [validation.message(message, number) for number, message in enumerate(request.messages, 1)]
        tools = request.tools and [validation.tool(tool, number) for number, tool in enumerate(request.tools, 1)]
        messages = conversation(taken, self.content_format, media=request.media)
        asked = variables.asked_for(request)
        tools = asked.pop("tools", tools)
        documents = asked.pop("documents", None)
        return Request(
            messages=without_developer(messages, self._source),
            tools=tools,
            add_generation_prompt=request.add_generation_prompt,
            continue_final_message=request.continue_final_message,
            documents=documents if request.documents is None else request.documents,
            variables=variables.mentioned(asked, self._source),
        )

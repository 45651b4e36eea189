"""A template inside llama-server → the prompts that it gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from templatelint.cases import FIXED_NOW
from templatelint.engines.assumed import text_of
from templatelint.engines.llamacpp import TOOL_USE, analysis, capabilities, facts, preparation, schemas
from templatelint.engines.llamacpp import cue as generation_cue
from templatelint.engines.llamacpp.markers import shared_head
from templatelint.engines.llamacpp.prefill import Continued
from templatelint.engines.llamacpp.probes import Rendered
from templatelint.engines.llamacpp.refusal import failed_trial, no_start, not_analysable
from templatelint.engines.llamacpp.rewriting import finished, rewritten
from templatelint.engines.llamacpp.tool_calls import NotAnalysable
from templatelint.engines.llamacpp.validation import ChatRequest, InvalidRequest, Message, read
from templatelint.model import Observation, RenderError
from templatelint.renderers import RenderFailure
from templatelint.renderers.llamacpp import compile_template

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from templatelint.engines.llamacpp.analysis import Analysis
    from templatelint.engines.llamacpp.capabilities import Capabilities
    from templatelint.engines.llamacpp.facts import Facts, Handler
    from templatelint.engines.llamacpp.preparation import Prepared
    from templatelint.engines.read_back import ReadBack
    from templatelint.model import Request, Template, Tokenizer
    from templatelint.renderers import Program as AnyProgram
    from templatelint.renderers.llamacpp import Program


def load(template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
    """Parse the template, probe it and try it on one message.

    A template that parses is ready even where the server does not start with it: see `LoadedTemplate.refusal`.
    """
    known = facts.load()
    source = template.source if template.name == TOOL_USE else known.patched(template.source)
    try:
        program = compile_template(source)
    except RenderFailure as failure:
        return failure.record
    traits = preparation.Traits(source, capabilities.probe(program, FIXED_NOW), known)
    return LoadedTemplate(program, traits, Ends.of(tokenizer, known), tried=template.name != TOOL_USE)


@dataclass(frozen=True, slots=True)
class Ends:
    """BOS and EOS as templates see them, and whether encoding adds them, so that they are cut from prompts (N20).

    Attributes:
        stop_tokens: what ends generation besides, as far as the tokenizer's files name it.
    """

    bos_token: str = ""
    eos_token: str = ""
    add_bos: bool = False
    add_eos: bool = False
    stop_tokens: tuple[str, ...] = ()

    @staticmethod
    def of(tokenizer: Tokenizer, known: Facts) -> Ends:
        """What the tokenizer's files say; where they are silent, the default of the kind of vocabulary."""
        kind = tokenizer.facts.get("tokenizer.ggml.model")
        pre = tokenizer.facts.get("tokenizer.ggml.pre")
        vocabulary = known.vocabulary
        add_bos, add_eos = tokenizer.add_bos, tokenizer.add_eos
        if add_bos is None:
            add_bos = kind in vocabulary.adds_bos or (kind == "gpt2" and pre in vocabulary.adds_bos_by_pre)
        if add_eos is None:
            add_eos = kind in vocabulary.adds_eos
        return Ends(
            text_of(tokenizer, "bos_token"),
            text_of(tokenizer, "eos_token"),
            add_bos or kind in vocabulary.always_bos,
            add_eos,
            tokenizer.stop_tokens,
        )

    def cut(self, prompt: str) -> str:
        """The prompt without what encoding will add."""
        if self.add_bos:
            prompt = prompt.removeprefix(self.bos_token)
        return prompt.removesuffix(self.eos_token) if self.add_eos else prompt


@dataclass(frozen=True)
class LoadedTemplate:
    """A template inside llama-server.

    Attributes:
        tried: the server tries it before it starts; the one for requests with tools it does not.
        printer: what renders the requests instead of the server's own renderer (see `through`).
    """

    program: Program
    traits: preparation.Traits
    ends: Ends
    tried: bool = True
    printer: AnyProgram | None = None

    def through(self, program: AnyProgram) -> LoadedTemplate:
        """The same server, its requests prepared as before, but rendered by another program of this template."""
        other = replace(self, printer=program)
        _ = self.refusal, self.supports_thinking
        vars(other).update({**vars(self), "printer": program})  # what the server concluded at its start holds here too
        return other

    @property
    def source(self) -> str:
        """The template as parsed."""
        return self.traits.source

    @property
    def capabilities(self) -> Capabilities:
        """What the server shows in `/props`."""
        return self.traits.capabilities

    def render(self, request: Request, now: datetime) -> Observation:
        """What `/apply-template` gives for the request, also where the server would not have started."""
        try:
            chat = read(request)
            prepared = preparation.prepare(chat, self.traits, thinks=self.supports_thinking, now=now)
            prompt = self._prompt(chat, prepared, now)
        except InvalidRequest as error:
            return Observation(error=RenderError("invalid-request", str(error)))
        except NotAnalysable as error:
            return Observation(error=not_analysable(error, self.source))
        except RenderFailure as failure:
            return Observation(error=failure.record)
        return Observation(prompt)

    @cached_property
    def refusal(self) -> RenderError | None:
        """Why the server does not start with this template; None where it does."""
        if not self.tried:
            return None
        if isinstance(self._outline, NotAnalysable):
            return no_start(not_analysable(self._outline, self.source))
        chat = ChatRequest((Message("user", "test"),))
        context = {"enable_thinking": True, **preparation.dates(FIXED_NOW)}
        messages = preparation.prepared_messages(chat, self.traits)
        try:
            self._renders(chat, preparation.Prepared(messages, context, thinking=True), FIXED_NOW)
        except RenderFailure as failure:
            return no_start(failed_trial(failure.record))
        return None

    @cached_property
    def handler(self) -> Handler | None:
        """The handler that serves the template; None where its analysis does."""
        return self.traits.facts.handler(self.source)

    @cached_property
    def supports_thinking(self) -> bool:
        """What the server finds out at start: the default of `enable_thinking`."""
        if self.refusal is not None:
            return False
        if self.handler is not None:
            return self.handler.supports_thinking(self.source)
        return not isinstance(self._outline, NotAnalysable) and self._outline.reasoning.mode != "NONE"

    @cached_property
    def analysis(self) -> Analysis | NotAnalysable | None:
        """The complete analysis, or why it fails; None where a handler serves the template."""
        if self.handler is not None:
            return None
        try:
            return analysis.analyse(self._probes, self.source, self.traits.facts.analysis_patches)
        except NotAnalysable as error:
            return error

    @cached_property
    def _outline(self) -> Analysis | NotAnalysable:
        """The part of the analysis that prompts depend on."""
        if self.handler is not None:
            return analysis.Analysis(analysis.Reasoning())
        try:
            return analysis.outline(self._probes, self.source, self.traits.facts.analysis_patches)
        except NotAnalysable as error:
            return error

    @cached_property
    def _probes(self) -> Rendered:
        return Rendered(self.program, self.capabilities, self.ends.bos_token, self.ends.eos_token, FIXED_NOW)

    def read_back(self, request: Request, now: datetime) -> ReadBack | None:
        """The last tool calls of the request, as the server reads them where the model writes them like the template.

        None where the request has none.
        """
        from templatelint.engines.llamacpp import round_trip

        return round_trip.read_back(self, request, now)

    # ------------------------------------------------------------------------------------------- one request

    def opened(self, chat: ChatRequest, now: datetime) -> Opened:
        """The prompt of a conversation, and what the server will read the reply with.

        Raises:
            InvalidRequest: the server refuses the request.
            NotAnalysable: it refuses every one.
            RenderFailure: the template fails.
        """
        if isinstance(self._outline, NotAnalysable):
            raise self._outline
        prepared = preparation.prepare(chat, self.traits, thinks=self.supports_thinking, now=now)
        variables = self._variables(chat, prepared)
        bare, rendered = (self._render(variables, now, cue=cue) for cue in (False, True))
        _require_schemas(chat, self.handler, self._outline)
        prompt, cue = rendered, _added(bare, rendered)
        if self.handler is not None:
            prompt = finished(self.handler, rendered, cue=True)
            if self.handler.cue or prompt != rendered:
                cue = _bytes(self.handler.cue or self.handler.turn)
        return Opened(prompt, cue, variables, prepared.thinking)

    def printed(self, chat: ChatRequest, now: datetime) -> str:
        """A conversation without generation prompt; raises as `opened`."""
        prepared = preparation.prepare(chat, self.traits, thinks=self.supports_thinking, now=now)
        prompt = self._render(self._variables(chat, prepared), now, cue=False)
        return prompt if self.handler is None else finished(self.handler, prompt, cue=False)

    def _prompt(self, chat: ChatRequest, prepared: Prepared, now: datetime) -> str:
        if isinstance(self._outline, NotAnalysable):
            raise self._outline
        prompt, other = self._renders(chat, prepared, now)
        _require_schemas(chat, self.handler, self._outline)
        if self.handler is not None:
            prompt = finished(self.handler, prompt, cue=chat.add_generation_prompt)
        if chat.continued is None:
            return prompt
        cue = _bytes(self.handler.cue) if self.handler and self.handler.cue else _added(prompt, other or prompt)
        if chat.messages[-1].empty:
            _require_opening(self.handler, cue)
            return prompt
        continued = Continued(chat.messages[-1], chat.continued, _bytes(prompt), cue)
        if self.handler is None:
            appended = continued.by_analysis(self._outline.reasoning)
        else:
            appended = continued.by_handler(self.handler, self.source, prepared.context, thinking=prepared.thinking)
        return (continued.prompt + appended).decode("utf-8", "replace")

    def _renders(self, chat: ChatRequest, prepared: Prepared, now: datetime) -> tuple[str, str | None]:
        """The prompt before it is finished, and the same with the generation prompt where that has none, or without.

        The server renders both for every request, so that either can fail it; the other is left out, as None, where
        it would neither fail nor be needed.
        """
        variables = self._variables(chat, prepared)
        wanted = chat.add_generation_prompt
        prompt = self._render(variables, now, cue=wanted)
        if (self.handler and self.handler.cue) or (chat.continued is None and generation_cue.harmless(self.source)):
            return prompt, None
        return prompt, self._render(variables, now, cue=not wanted)

    def _variables(self, chat: ChatRequest, prepared: Prepared) -> dict[str, Any]:
        variables = {"bos_token": self.ends.bos_token, "eos_token": self.ends.eos_token, **prepared.context}
        if "messages" not in variables:  # a request may set them as a variable of its template
            messages = prepared.messages
            variables["messages"] = rewritten(self.handler, messages, variables) if self.handler else messages
        if self.handler and self.handler.schema_variable and isinstance(chat.response_schema, dict):
            variables[self.handler.schema_variable] = chat.response_schema
        return variables

    def _render(self, variables: Mapping[str, Any], now: datetime, *, cue: bool) -> str:
        if cue:
            variables = {**variables, generation_cue.NAME: True}
        return self.ends.cut((self.printer or self.program).render(variables, now))


@dataclass(frozen=True, slots=True)
class Opened:
    """A prompt that awaits a reply.

    Attributes:
        generation_prompt: what the server puts before the reply when it reads it, in bytes: it may begin inside a
            character.
        variables: what the template was rendered with.
        thinking: the server's idea of whether the model is to think.
    """

    prompt: str
    generation_prompt: bytes
    variables: Mapping[str, Any]
    thinking: bool


def _added(prompt: str, longer: str) -> bytes:
    """What the generation prompt adds, byte by byte: it may begin inside a character."""
    text = _bytes(longer)
    return text[shared_head(_bytes(prompt), text) :]


def _require_opening(handler: Handler | None, cue: bytes) -> None:
    """The server reads the generation prompt as the beginning of the reply that it continues."""
    opening = _bytes(handler.opening) if handler is not None else b""
    if not cue.startswith(opening) and not opening.startswith(cue):
        shown = cue.decode("utf-8", "replace")
        raise InvalidRequest(
            f"there is nothing to continue, and llama.cpp cannot read {shown!r} as the start of a reply"
        )


def _require_schemas(chat: ChatRequest, handler: Handler | None, outline: Analysis) -> None:
    """The schemas of tools and answer convert to grammars, where they have to."""
    free_calls = outline.tools.mode == "NONE" if handler is None else handler.free_calls
    if chat.constrained and not free_calls:
        for number, tool in enumerate(chat.tools, 1):
            if found := schemas.fault(schemas.of_parameters(tool["function"]["parameters"])):
                raise InvalidRequest(f"llama.cpp does not take the parameters of tool {number}: {found}")
    free_answer = handler is not None and handler.free_answer
    if isinstance(chat.response_schema, dict) and not free_answer and (found := schemas.fault(chat.response_schema)):
        raise InvalidRequest(f"llama.cpp does not take the schema of the answer: {found}")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

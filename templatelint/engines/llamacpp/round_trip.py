"""The tool calls of a conversation, as a template prints them → what llama-server reads out of a reply like that."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from templatelint.engines.llamacpp import prefill
from templatelint.engines.llamacpp.markers import BLANKS, shared_head
from templatelint.engines.llamacpp.parsing import automatic, handlers
from templatelint.engines.llamacpp.parsing.reply import NoMatch, Parsed, Setting
from templatelint.engines.llamacpp.tool_calls import NotAnalysable
from templatelint.engines.llamacpp.validation import InvalidRequest, read
from templatelint.engines.read_back import ReadBack, ReadCall
from templatelint.renderers import RenderFailure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from templatelint.engines.llamacpp.loaded import LoadedTemplate, Opened
    from templatelint.engines.llamacpp.validation import ChatRequest, Message
    from templatelint.engines.read_back import Status
    from templatelint.model import Request

_REASONING = b"x"  # stands for reasoning where the generation prompt opens it and the template prints none
_MARK = "TEMPLATELINT_MARK"
_ORDER: tuple[Status, ...] = ("ok", "ok_extra_content", "wrong_args", "wrong_calls", "as_content", "parse_error")
FAILURES = (RenderFailure, InvalidRequest, NotAnalysable)
_MARKER = re.compile(r"<[^<>\s]+>|\[[^\[\]\s]+\]")
_OPEN_MARKER = re.compile(r"<[^<>\s]*\Z")
_LONGEST_MARKER = 64


def read_back(loaded: LoadedTemplate, request: Request, now: datetime) -> ReadBack | None:
    """See `LoadedTemplate.read_back`."""
    at = _last_calls(request)
    if at is None:
        return None
    try:
        before = _chat(request, at)
        opened = loaded.opened(before, now)
    except FAILURES as error:
        return ReadBack("prefix_error", error=shown(error))
    try:
        chat = _chat(request, at + 1)
        printed = loaded.printed(chat, now)
    except FAILURES as error:
        return ReadBack("render_error", error=shown(error))
    return _Trip(loaded, request, chat, opened, now).result(printed)


def _last_calls(request: Request) -> int | None:
    """The place of the last message with tool calls."""
    found = (
        at
        for at, message in reversed(list(enumerate(request.messages)))
        if message.get("role") == "assistant" and message.get("tool_calls")
    )
    return next(found, None)


def _chat(request: Request, count: int) -> ChatRequest:
    """The first messages of the request as history: what follows them stands for whatever does."""
    messages = [*request.messages[:count], {"role": "user", "content": ""}]
    chat = read(replace(request, messages=messages, add_generation_prompt=True, continue_final_message=False))
    return replace(chat, messages=chat.messages[:-1])


def shown(error: Exception) -> str:
    """What one of `FAILURES` says."""
    return error.record.message if isinstance(error, RenderFailure) else str(error)


def parse(loaded: LoadedTemplate, request: Request, chat: ChatRequest, opened: Opened, reply: bytes) -> Parsed:
    """What llama-server makes of a reply.

    Args:
        loaded: the template.
        request: what it answers.
        chat: the same as the server understands it.
        opened: the prompt of it.
        reply: what the model wrote, without what ends generation.

    Raises:
        NoMatch: the request fails.
    """
    capabilities = loaded.capabilities
    takes_calls = chat.constrained and (loaded.handler is not None or capabilities.tool_calls)
    schema, parallel = chat.response_schema, request.extra.get("parallel_tool_calls")
    setting = Setting(
        generation_prompt=opened.generation_prompt,
        tools=chat.tools if takes_calls else (),
        parallel=parallel if isinstance(parallel, bool) else capabilities.parallel_tool_calls,
        required=request.extra.get("tool_choice") == "required",
        source=loaded.source,
        variables=opened.variables,
        thinking=opened.thinking,
        schema=schema if isinstance(schema, dict) else None,
    )
    if loaded.handler is not None:
        return handlers.parse(loaded.handler.name, reply, setting)
    if loaded.analysis is None or isinstance(loaded.analysis, NotAnalysable):
        raise NoMatch  # there would be no prompt either
    return automatic.parse(loaded.analysis, reply, setting)


def thoughts(loaded: LoadedTemplate, opened: Opened) -> tuple[bytes, bytes]:
    """What opens and closes reasoning in a reply, without the white space around it; empty where nothing does."""
    handler = loaded.handler
    if handler is None:
        analysis = loaded.analysis
        if analysis is None or isinstance(analysis, NotAnalysable):
            return b"", b""
        return analysis.reasoning.start.strip(BLANKS), analysis.reasoning.end.strip(BLANKS)
    if not handler.supports_thinking(loaded.source):
        return b"", b""
    start, end = prefill.tags(handler, loaded.source, opened.variables, thinking=opened.thinking)
    return start.strip(BLANKS), (handler.closing.encode() or end).strip(BLANKS)


@dataclass(frozen=True, slots=True)
class _Trip:
    """One reply on its way back.

    Attributes:
        chat: the conversation up to the calls.
        opened: the prompt before them.
    """

    loaded: LoadedTemplate
    request: Request
    chat: ChatRequest
    opened: Opened
    now: datetime

    @property
    def _sent(self) -> Message:
        return self.chat.messages[-1]

    def result(self, printed: str) -> ReadBack:
        """What comes back of the calls in that conversation."""
        text, turn_end = self._reply(printed), self._turn_end()
        if not self._prints_call(text.removesuffix(turn_end)):
            text = self._before_results()
        if not self._prints_call(text.removesuffix(turn_end)):
            return ReadBack("not_rendered", text)
        return self._best(text, turn_end)

    def _prints_call(self, text: str) -> bool:
        """Whether a name of a function that is called is there."""
        return any(call.name in text for call in self._sent.calls)

    def _reply(self, printed: str) -> str:
        """What a conversation has behind the prompt.

        Where the prompt does not stay as it was, the reply starts behind the generation prompt, less the reasoning
        that this opens, or at the marker where the two part.
        """
        prompt = self.opened.prompt
        if printed.startswith(prompt):
            return printed[len(prompt) :]
        shared = shared_head(printed, prompt)
        start, _ = thoughts(self.loaded, self.opened)
        cue = self.opened.generation_prompt.decode("utf-8", "replace")
        header = cue.partition(start.decode("utf-8", "replace"))[0] if start else cue
        found = printed.find(header, max(0, shared - len(header)))
        if header.strip() and found >= 0 and not self._prints_call(printed[shared:found]):
            return printed[found + len(header) :]
        inside = _OPEN_MARKER.search(printed, max(0, shared - _LONGEST_MARKER), shared)
        return printed[inside.start() if inside else shared :]

    def _before_results(self) -> str:
        """What stands before the results of the calls: some templates print calls only when these are there."""
        result = {"role": "tool", "content": _MARK}
        read_results = read(replace(self.request, messages=[result] * len(self._sent.calls))).messages
        results = tuple(
            replace(each, call_id=call.id) for each, call in zip(read_results, self._sent.calls, strict=True)
        )
        try:
            printed = self.loaded.printed(replace(self.chat, messages=(*self.chat.messages, *results)), self.now)
        except FAILURES:
            return ""
        reply, found, _ = self._reply(printed).partition(_MARK)
        return reply if found else ""

    # ------------------------------------------------------------------------------------- end of the turn

    def _best(self, text: str, turn_end: str) -> ReadBack:
        """What is read out of the reply; of the ways in which it may start and end, the one that does best."""
        _, closing = thoughts(self.loaded, self.opened)
        starts = [b""] if not closing or closing.decode("utf-8", "replace") in text else [b"", _REASONING + closing]
        found: list[ReadBack] = []
        for start in starts:
            for each in dict.fromkeys(self._endings(text, turn_end)):
                found.append(self._outcome(start, each))
                if found[-1].status == "ok":
                    return found[-1]
        return min(found, key=lambda outcome: _ORDER.index(outcome.status))

    def _endings(self, text: str, turn_end: str) -> Iterator[str]:
        """The reply without what ends generation: known tokens, the template's end of a turn, the last marker."""
        places = [at for end in self._ends() if (at := text.find(end)) >= 0]
        if places:
            yield text[: min(places)]
        if turn_end.strip():
            for text_, end in ((text, turn_end), (text.rstrip(), turn_end.strip())):
                if text_.endswith(end):
                    yield text_.removesuffix(end)
            marker = _MARKER.search(turn_end)
            if marker is not None and marker[0] in text:
                yield text.partition(marker[0])[0]
        last = [marker.start() for marker in _MARKER.finditer(text)][-1:]
        if last and text.rstrip().endswith((">", "]")):
            yield text[: last[0]]
        yield text

    def _ends(self) -> list[str]:
        vocabulary = self.loaded.traits.facts.vocabulary
        source = self.loaded.source
        open_ends = [
            end
            for end, besides in vocabulary.open_ends.items()
            if any(all(other in source for other in beside) for beside in besides)
        ]
        ends = [*vocabulary.ends, self.loaded.ends.eos_token, *self.loaded.ends.stop_tokens]
        return [end for end in ends if end and end not in open_ends]

    def _turn_end(self) -> str:
        """What the template prints behind an answer."""
        answer = replace(self._sent, content=_MARK, parts=(), calls=(), reasoning="")
        try:
            printed = self.loaded.printed(replace(self.chat, messages=(*self.chat.messages[:-1], answer)), self.now)
        except FAILURES:
            return ""
        return printed.rpartition(_MARK)[2] if _MARK in printed else ""

    # -------------------------------------------------------------------------------------------- reading

    def _outcome(self, start: bytes, text: str) -> ReadBack:
        try:
            reply = start + text.encode("utf-8", "surrogatepass")
            parsed = parse(self.loaded, self.request, self.chat, self.opened, reply)
        except NoMatch as error:
            return ReadBack("parse_error", text, error=str(error))
        calls = [ReadCall(call.name, call.arguments) for call in parsed.calls]
        return ReadBack(self._status(parsed), text, calls, parsed.content, parsed.reasoning)

    def _status(self, parsed: Parsed) -> Status:
        sent = self._sent
        if not parsed.calls:
            return "as_content"
        if [call.name for call in parsed.calls] != [call.name for call in sent.calls]:
            return "wrong_calls"
        if not all(
            same_arguments(ours.arguments, theirs.arguments)
            for ours, theirs in zip(parsed.calls, sent.calls, strict=True)
        ):
            return "wrong_args"
        return "ok" if parsed.content.strip() == sent.text.strip() else "ok_extra_content"


# ------------------------------------------------------------------------------------------- arguments


def same_arguments(read_text: str, sent_text: str) -> bool:
    """Whether two JSON texts say the same."""
    try:
        return bool(_value(read_text) == _value(sent_text))
    except (ValueError, RecursionError):
        return read_text == sent_text


def _value(text: str) -> Any:
    """A JSON value in which numbers differ from booleans."""
    return json.loads(
        text,
        parse_int=lambda digits: ("", int(digits)),
        parse_float=lambda digits: ("", float(digits)),
        parse_constant=_reject,
    )


def _reject(constant: str) -> NoReturn:
    raise ValueError(constant)

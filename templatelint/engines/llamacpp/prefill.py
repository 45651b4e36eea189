"""The message that is to be continued → the text that llama.cpp appends to the prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.engines.llamacpp.analysis import Reasoning
    from templatelint.engines.llamacpp.facts import Handler
    from templatelint.engines.llamacpp.validation import Continuation, Message


@dataclass(frozen=True, slots=True)
class Continued:
    """A message to continue, and what it continues.

    Attributes:
        prompt: of the messages before it.
        cue: the generation prompt that the template would print, in bytes: it may begin inside a character.
    """

    message: Message
    part: Continuation
    prompt: bytes
    cue: bytes

    @property
    def _content(self) -> bytes:
        return _bytes(self.message.text) if self.part == "content" else b""

    @property
    def _reasoning(self) -> bytes:
        return _bytes(self.message.reasoning)

    def by_analysis(self, reasoning: Reasoning) -> bytes:
        """The text to append where the analysis serves the template.

        A template with a reasoning mark gets it, and the closing one before content, whether or not it would
        print them; without one, reasoning is dropped.
        """
        text = self.cue
        if reasoning.start:
            text = self.cue.partition(reasoning.start)[0] + reasoning.start + self._reasoning
            if self.part == "content":
                text += reasoning.end
        return text + self._content

    def by_handler(self, handler: Handler, source: str, variables: Mapping[str, Any], *, thinking: bool) -> bytes:
        """The text to append where a handler serves the template."""
        prefix = _bytes(handler.prefix).replace(b"{prompt}", self.cue)
        if handler.turn and self.prompt.endswith(_bytes(handler.turn_after)):
            prefix = _bytes(handler.turn)
        if not handler.start:
            return prefix + _bytes(self.message.text)
        if not handler.supports_thinking(source):
            return prefix + self._content
        start, end = tags(handler, source, variables, thinking=thinking)
        if handler.bare_end and not self.message.reasoning:
            return prefix + end + self._content
        text = prefix + start + self._reasoning
        return text + end + self._content if self.part == "content" else text


def tags(handler: Handler, source: str, variables: Mapping[str, Any], *, thinking: bool) -> tuple[bytes, bytes]:
    """What the handler puts before and behind the reasoning of a message that is continued."""
    start, end = handler.start, handler.end
    if handler.efforts and (thinking or handler.efforts_unless not in source):
        word = handler.efforts.get(variables.get("reasoning_effort", ""), "think")
        start, end = start.replace("think", word), end.replace("think", word)
    return _bytes(start), _bytes(end)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

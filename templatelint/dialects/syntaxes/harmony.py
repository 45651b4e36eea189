"""Harmony, the dialect of gpt-oss: a row of messages, whose headers say which of them thinks, speaks or calls."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from templatelint.dialects.dialect import Dialect, Reading, Speech
from templatelint.dialects.reply import Problem, ToolCall
from templatelint.dialects.stream import Cut, Malformed, Step, Stream, extent_of
from templatelint.dialects.syntaxes.json_calls import dump, is_name, named
from templatelint.dialects.syntaxes.named_json import arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.dialects.prose import Prose
    from templatelint.dialects.stream import Sink
    from templatelint.dialects.tools import Tools

_START, _CHANNEL, _CONSTRAIN, _MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
_ENDS = ("<|end|>", "<|call|>", "<|return|>")
_RECIPIENT, _FUNCTIONS = "to=", "functions."
_THOUGHT, _SAID = "analysis", ("commentary", "final")
# Who a message goes to that is no tool.
_NOBODY = frozenset({"", "assistant", "user", "all"})
_OTHERS = frozenset({"user", "system", "developer", "tool"})
# The mark before a part of a header → the marks that may follow that part.
_NEXT = {"": (_CHANNEL, _CONSTRAIN, _MESSAGE), _CHANNEL: (_CONSTRAIN, _MESSAGE), _CONSTRAIN: (_MESSAGE,)}
# What a text consists of.
_TYPES = ("json", "code")
_MOST_WORDS = 16  # of a header; what models write has five
_OTHER_WORDS = "words in its header that say nothing"
_word = extent_of(r"[^\s<]+")


@dataclass(slots=True)
class _Header:
    """What stands before the text of a message, as far as it is read.

    Attributes:
        part: the part of the header that is being read: empty for the first, else the mark before it.
        role: who writes the message.
        channel: what kind of message it is.
        recipient: whom it goes to.
        words: how many words it has.
        others: those that say nothing.
    """

    part: str = ""
    role: str = ""
    channel: str = ""
    recipient: str = ""
    words: int = 0
    others: list[str] = field(default_factory=list)

    def read(self, stream: Stream) -> Step[None]:
        """Read up to and with the mark before the text.

        Raises:
            Cut: the reply ends before it.
            Malformed: something else comes.
        """
        if not self.part and not self.role:
            yield from stream.accept(_START)
        while True:
            yield from stream.blanks()
            mark = yield from stream.accept(*_NEXT[self.part])
            if mark == _MESSAGE:
                return
            if mark is not None:
                self.part = mark
                continue
            word = yield from stream.run(_word)
            if not word or self.words == _MOST_WORDS:
                yield from stream.expect(_MESSAGE)
            self._take(word)

    def _take(self, word: str) -> None:
        self.words += 1
        if word.startswith(_RECIPIENT) and not self.recipient:
            self.recipient = word.removeprefix(_RECIPIENT)
        elif not self.part and not self.role:
            self.role = word
        elif self.part == _CHANNEL and not self.channel:
            self.channel = word
        elif word not in _TYPES:
            self.others.append(word)

    def function(self, tools: Tools) -> str | None:
        """The function that the message calls; None where it calls none."""
        if self.is_foreign:
            return None
        name = self.recipient.removeprefix(_FUNCTIONS)
        if name == self.recipient and not (tools.given and tools.known(name)):
            return None
        return name if is_name(name) else None

    @property
    def is_foreign(self) -> bool:
        """Whether it is another's message, as a tool's."""
        return self.role in _OTHERS or self.role.startswith(_FUNCTIONS)


def _read(reading: Reading) -> Step[None]:
    """Read one message that calls a function."""
    stream = reading.stream
    header = _Header()
    yield from header.read(stream)
    name = header.function(reading.tools)
    if name is None:
        raise Malformed("a message to no function")
    if header.others:
        reading.drop(_OTHER_WORDS, " ".join(header.others))
    yield from stream.blanks()
    found = {} if (yield from stream.starts(*_ENDS)) else (yield from arguments(reading))
    behind = stream.at
    yield from stream.blanks()
    if (yield from stream.accept(*_ENDS)) is None:
        stream.at = behind
    reading.emit(ToolCall(name, found))


# ----------------------------------------------------------------------------------------------- whole replies


def _speak(speech: Speech) -> Step[None]:
    """Read message after message."""
    stream = speech.stream
    header, prose = _begun(speech)
    if prose is not None:
        yield from _pass(stream, prose)
    while True:
        stream.forget()
        yield from stream.blanks()
        if not (yield from stream.peek()):
            return
        mark = yield from stream.starts(_START, _CHANNEL, _MESSAGE, _RECIPIENT)
        if mark is None and not header.part:
            yield from _stray(speech)
        else:
            yield from _message(speech, header, mark or header.part)
        header = _Header()


def _begun(speech: Speech) -> tuple[_Header, Prose | None]:
    """The header that the prompt began, and where the text goes if the prompt even ended it."""
    header = _Header()
    _, start, begun = (speech.prefix or "").rpartition(_START)
    if not start or any(end in begun for end in _ENDS):
        return header, None
    stream = Stream()
    stream.add(begun)
    stream.ended = True
    try:
        for _ in header.read(stream):
            pass
    except Cut:
        return replace(header, role=""), None
    except Malformed:
        return _Header(), None
    return _Header(), _prose(speech, header) or speech.content


def _prose(speech: Speech, header: _Header) -> Prose | None:
    """Where the text of a message in that channel goes."""
    if header.channel == _THOUGHT:
        return speech.reasoning
    return speech.content if header.channel in _SAID else None


def _stray(speech: Speech) -> Step[None]:
    """Text outside of messages is said; ends of messages there mean nothing."""
    stream = speech.stream
    speech.content.paragraph()
    mark = yield from stream.search((_START, _CHANNEL, *_ENDS), speech.content.add)
    speech.content.mark()
    if mark in _ENDS:
        yield from stream.expect(mark)


def _message(speech: Speech, header: _Header, mark: str) -> Step[None]:
    stream = speech.stream
    start, offset = stream.at, stream.offset
    try:
        yield from header.read(stream)
    except (Malformed, Cut) as error:
        stream.at = start
        yield from _headless(speech, header, mark, error)
        return
    if header.function(speech.tools) is not None:
        body, stream.at = stream.at, start
        if not (yield from speech.calls(mark)):
            stream.at = body
            yield from _pass(stream, speech.content)
    elif header.is_foreign or header.recipient not in _NOBODY:
        kept = [stream.since(start)]
        yield from _text(stream, kept.append)
        if header.is_foreign:
            problem = Problem("malformed", f"a message that {header.role} writes", offset, "".join(kept))
        else:
            problem = Problem("unknown-tool", f"{header.recipient} is no function", offset, "".join(kept))
        speech.report(problem)
    else:
        prose = _prose(speech, header)
        if header.others:
            speech.report(Problem("dropped", f"a message holds {_OTHER_WORDS}", offset, " ".join(header.others)))
        if prose is None and header.channel:
            speech.report(Problem("malformed", f"a channel named {header.channel!r}", offset))
        yield from _pass(stream, prose or speech.content)


def _pass(stream: Stream, prose: Prose) -> Step[None]:
    """The text of a message, up to its end."""
    prose.paragraph()
    yield from _text(stream, prose.add)
    prose.mark()


def _text(stream: Stream, sink: Sink) -> Step[None]:
    """Pass on the text of a message, up to and with its end; a mark is text unless what follows goes on from it."""
    while True:
        mark = yield from stream.search((_START, _CHANNEL, *_ENDS), sink)
        if mark is None:
            return
        start = stream.at
        if mark in _ENDS:
            yield from stream.expect(mark)
            behind = stream.at
            yield from stream.blanks()
            if not (yield from stream.peek()) or (yield from stream.starts(_START, _CHANNEL)) is not None:
                stream.at = behind
                return
            stream.at = start
        elif (yield from _is_header(stream)):
            return
        yield from stream.expect(mark)
        sink(mark)


def _is_header(stream: Stream) -> Step[bool]:
    """Whether the header of another message begins here; nothing is read."""
    start = stream.at
    header = _Header()
    try:
        yield from header.read(stream)
    except Cut:
        return True
    except Malformed:
        return False
    else:
        return header.channel in (_THOUGHT, *_SAID) or bool(header.recipient)
    finally:
        stream.at = start


def _headless(speech: Speech, header: _Header, mark: str, error: Malformed | Cut) -> Step[None]:
    """What begins like a message and has no whole header."""
    stream = speech.stream
    if isinstance(error, Cut) and header.function(speech.tools) is not None:
        yield from speech.calls(mark)
        return
    if mark == _RECIPIENT:
        yield from _stray(speech)
        return
    start, offset = stream.at, stream.offset
    kept: list[str] = []
    if (yield from stream.accept(mark)) == _START:
        yield from stream.search((_START, _CHANNEL, _MESSAGE, *_ENDS), kept.append)
        yield from stream.accept(_CHANNEL)
    kept.clear()
    end = yield from stream.search((_START, _CHANNEL, _MESSAGE, *_ENDS), kept.append)
    text, rest = stream.since(start), "".join(kept).strip().removeprefix(header.channel).strip()
    if end in _ENDS:
        yield from stream.expect(end)
    prose = None if header.recipient else _prose(speech, header)
    if isinstance(error, Cut) and not rest:
        speech.report(Problem("unclosed", f"{_MESSAGE!r} is missing behind the header of a message", offset, text))
    elif prose is None:
        speech.report(Problem("malformed", f"no header of a message: {error}", offset, text))
    else:
        speech.report(Problem("malformed", f"{_MESSAGE!r} is missing before the text of a message", offset))
        prose.paragraph()
        prose.add(rest)
        prose.mark()


# ---------------------------------------------------------------------------------------------------- writing


def _write(calls: Sequence[ToolCall]) -> str:
    return f"{_START}assistant".join(
        f"{_CHANNEL}commentary {_RECIPIENT}{_FUNCTIONS}{named(call)} {_CONSTRAIN}json{_MESSAGE}"
        f"{dump(call.arguments)}<|call|>"
        for call in calls
    )


def _write_llm_jp(calls: Sequence[ToolCall]) -> str:
    return f"<|end|>{_START} assistant".join(
        f"{_CHANNEL} commentary {_RECIPIENT}{_FUNCTIONS}{named(call)} {_CONSTRAIN} json{_MESSAGE} "
        f"{dump(call.arguments)}"
        for call in calls
    )


_REASONING = ((f"{_CHANNEL}{_THOUGHT}{_MESSAGE}", "<|end|>"),)

# The tokenizer of LLM-jp puts a blank behind every mark.
HARMONY_LLM_JP = Dialect(
    name="harmony-llm-jp",
    openings=(f"{_START} assistant", *(f"{_CHANNEL} {channel}" for channel in (_THOUGHT, *_SAID))),
    read=_read,
    write=_write_llm_jp,
    signature=r"to=functions\.NAME\s*<\|channel\|> (?:commentary|analysis)|<\|channel\|> \w+ to=functions\.NAME\s",
    reasoning=_REASONING,
    speak=_speak,
    aliases=("llm-jp", "llm-jp-harmony"),
)
HARMONY = Dialect(
    name="harmony",
    openings=(f"{_START}assistant", _CHANNEL, f"{_RECIPIENT}{_FUNCTIONS}"),
    read=_read,
    write=_write,
    signature=r"to=functions\.NAME\b[^\n{]*<\|message\|>",
    reasoning=_REASONING,
    speak=_speak,
    aliases=("gpt-oss", "openai"),
)

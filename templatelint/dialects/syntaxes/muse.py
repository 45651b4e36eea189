"""Muse's dialect, ATEM: a reply of messages, each addressed to the model itself, to the user or to a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.dialects.dialect import Dialect, Speech
from templatelint.dialects.stream import Cut, Malformed
from templatelint.dialects.syntaxes.invoke import invokes
from templatelint.dialects.syntaxes.tag_reader import reader
from templatelint.dialects.syntaxes.tag_writer import Layout, writer
from templatelint.dialects.syntaxes.tags import name_extent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.dialects.prose import Prose
    from templatelint.dialects.reply import ToolCall
    from templatelint.dialects.stream import Step, Stream

_TAGS = invokes("atem:", "atem:function_calls")
_write = writer(_TAGS, Layout(_TAGS.sections[0]))
_START, _TO, _MESSAGE = "<|start|>assistant", "to=", "<|message|>"
_ITSELF = "self"
_ENDS = ("<|eom|>", "<|eot|>")


def _speak(speech: Speech) -> Step[None]:
    stream = speech.stream
    to = _last_recipient(speech.prefix or "")
    if to is None:
        to = yield from _recipient(stream)
    prose = _addressed(speech, to)
    marks = (*_TAGS.openings, *_ENDS, _START)
    while True:
        mark = yield from stream.search(marks, prose.add)
        if mark is None:
            return
        if mark in _TAGS.openings:
            if prose is not speech.reasoning and (yield from speech.calls(mark)):
                prose.mark()
                continue
            yield from stream.expect(mark)
            prose.add(mark)
            continue
        yield from stream.expect(mark)
        prose.mark()
        to = (yield from _recipient(stream)) if mark == _START else None
        prose = _addressed(speech, to)
        prose.paragraph()


def _addressed(speech: Speech, to: str | None) -> Prose:
    return speech.reasoning if to == _ITSELF else speech.content


def _last_recipient(prefix: str) -> str | None:
    """Whom the prompt already lets the model speak to; None where the model is to say it."""
    _, start, header = prefix.rpartition(_START)
    to, message, said = header.partition(_MESSAGE)
    unfinished = start and message and not any(end in said for end in _ENDS)
    return to.strip().removeprefix(_TO) if unfinished else None


def _recipient(stream: Stream) -> Step[str | None]:
    """Read the rest of a header; None, and nothing is read, where it is none."""
    start = stream.at
    try:
        yield from stream.blanks()
        to = None
        if (yield from stream.accept(_TO)) is not None:
            to = yield from stream.run(name_extent)
        yield from stream.expect(_MESSAGE)
    except (Cut, Malformed):
        stream.at = start
        return None
    return to


def _messages(calls: Sequence[ToolCall]) -> str:
    _write(calls)  # what is ambiguous in one message is so in several
    return f"{_ENDS[0]}{_START} ".join(f"{_TO}{call.name}{_MESSAGE}{_write([call])}" for call in calls)


MUSE = Dialect(
    name="muse",
    # The first header of a reply is without its beginning, which is the prompt's.
    openings=(*_TAGS.openings, *(f"{_TO}{recipient}{_MESSAGE}" for recipient in (_ITSELF, "user", "commentary"))),
    read=reader(_TAGS),
    write=_messages,
    signature=r'<atem:invoke name="NAME"',
    reasoning=((f"{_START} {_TO}{_ITSELF}{_MESSAGE}", _ENDS[0]),),
    speak=_speak,
    dropped=_ENDS,
    aliases=("muse-glimmer", "musespark1x", "muse-spark", "atem"),
)

"""Kimi K3's dialect, XTML: `<|open|>call tool="f" index="1"<|sep|> … <|close|>call<|sep|>`, and channels likewise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.dialects.dialect import Dialect
from templatelint.dialects.syntaxes.tag_reader import reader
from templatelint.dialects.syntaxes.tag_writer import Layout, writer
from templatelint.dialects.syntaxes.tags import Tags, attributed
from templatelint.dialects.tools import kind_of

if TYPE_CHECKING:
    from templatelint.dialects.dialect import Reading
    from templatelint.dialects.stream import Step

_ESCAPES = (("&", "&amp;"), ('"', "&quot;"))


def _open(tag: str) -> str:
    return f"<|open|>{tag}<|sep|>"


def _close(tag: str) -> str:
    return f"<|close|>{tag}<|sep|>"


def _index(_: str, number: Any) -> str:
    return f'index="{number}"'


def _type(_: str, value: Any) -> str:
    kind = kind_of(value)
    return f'type="{"number" if kind == "integer" else kind}"'


_TAGS = Tags(
    call=attributed("<|open|>call", "tool", end="<|sep|>", kind=_index, escapes=_ESCAPES),
    call_end=_close("call"),
    argument=attributed("<|open|>argument", "key", end="<|sep|>", kind=_type, escapes=_ESCAPES),
    argument_end=_close("argument"),
    sections=((_open("tools"), _close("tools")),),
)

_read_calls = reader(_TAGS)
_RESPONSE = _open("response")


def _read(reading: Reading) -> Step[None]:
    """Calls; or the beginning of the response, which ends the thoughts even where their own mark is missing."""
    if (yield from reading.stream.accept(_RESPONSE)) is not None:
        reading.empty = True
        return
    yield from _read_calls(reading)


KIMI_K3 = Dialect(
    name="kimi-k3",
    openings=(*_TAGS.openings, _RESPONSE),
    read=_read,
    write=writer(_TAGS, Layout(_TAGS.sections[0], line="", gap="")),
    signature=r'<\|open\|>call tool="NAME"',
    reasoning=((_open("think"), _close("think")),),
    dropped=(
        _open('message role="assistant"'),
        _close("response"),
        _close("message"),
        "<|end_of_msg|>",
    ),
    aliases=("xtml",),
)

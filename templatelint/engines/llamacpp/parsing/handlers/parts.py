"""Steps that the grammars of several families share."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.parameters import Tool
from templatelint.engines.llamacpp.parsing.reply import CONTENT, NAME, REASONING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.reply import Setting


def tools_of(setting: Setting) -> tuple[Tool, ...]:
    """The tools of the request."""
    return tuple(Tool.of(definition) for definition in setting.tools)


@contextmanager
def entire(text: Cursor, kind: str) -> Iterator[None]:
    """Capture what is read inside, unless the text ends there."""
    with text.whole(), text.capture(kind):
        yield


# ------------------------------------------------------------------------------------ content and reasoning


def content(text: Cursor, *delimiters: bytes) -> None:
    """Content up to the first delimiter; to the end without one."""
    with text.capture(CONTENT):
        text.until(*delimiters)


def reasoning(text: Cursor, *delimiters: bytes) -> None:
    """Reasoning up to the first delimiter."""
    with text.capture(REASONING):
        text.until(*delimiters)


def thought(text: Cursor, start: bytes, end: bytes) -> None:
    """Reasoning between its marks."""
    text.literal(start)
    reasoning(text, end)
    text.literal(end)


def json_content(text: Cursor) -> None:
    """Content that is a JSON value."""
    with text.capture(CONTENT):
        text.value()


def fenced_content(text: Cursor) -> None:
    """The same in a fence."""
    text.literal(b"```json")
    text.blanks()
    json_content(text)
    text.blanks()
    text.literal(b"```")


# ------------------------------------------------------------------------------------------------- calls


def one_call(text: Cursor, tools: Sequence[Tool], call: Callable[[Cursor, Tool], object]) -> None:
    """A call of any of the tools."""
    text.first_of(*(partial(call, text, tool) for tool in tools))


def several_calls(
    text: Cursor, setting: Setting, call: Callable[[Cursor, Tool], object], between: Callable[[], object]
) -> None:
    """A call, and more behind what stands between them where the request takes more than one."""
    one = partial(one_call, text, tools_of(setting), call)

    def another() -> None:
        between()
        one()

    one()
    if setting.parallel:
        text.repeat(another)


def some_calls(text: Cursor, setting: Setting, call: Callable[..., object], *args: object) -> None:
    """As many calls as the request takes, none if it does not require one."""
    text.repeat(call, *args, least=int(setting.required), most=None if setting.parallel else 1)


def block_of_calls(text: Cursor, setting: Setting, block: Callable[..., object], *args: object) -> None:
    """A block of calls, which may be missing if the request does not require a call."""
    if setting.required:
        block(*args)
    else:
        text.optional(block, *args)


def name(text: Cursor, tool: Tool) -> None:
    """The name of a tool."""
    with text.capture(NAME):
        text.literal(tool.name)

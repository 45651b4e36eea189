"""TL801: the template reaches for Python's internals, modules or files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import security
from templatelint.model import Fault
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2 import nodes

    from templatelint.security import Reach
    from templatelint.syntax import Syntax
    from templatelint.view import View

CASES: tuple[str, ...] = ()
_TOLD = 8  # ways in one template: the first tells what it is
_REFUSES = "is unsafe"  # what jinja2's sandbox says of an attribute
_UNREAD = "the template takes too much work to be followed: only names that stand in it as they are were looked for"
_HELP = (
    "do not deploy this template: take the one of the model's maker; llama-cpp-python before 0.2.72 and every tool "
    "that renders with plain jinja2 run it, sandboxed engines refuse to"
)


def check(view: View) -> Iterator[Fault]:
    """Each way that the syntax tree holds, whether or not a case gets there."""
    syntax = view.syntax
    refused = tuple(dict.fromkeys(case.id for case, error in view.failures() if _REFUSES in error.message))
    read = security.read(syntax.source)
    if read.unread:
        view.missed.append(NoText("", _UNREAD))
    for reach in list(read.reaches.values())[:_TOLD]:
        yield Fault(
            message=_message(reach),
            help=_HELP,
            cases=refused,
            cause=reach.path,
            span=syntax.span(reach.node),
            related=tuple(_pieces(reach, syntax)),
        )


def _message(reach: Reach) -> str:
    if reach.dynamic:
        return f"`{reach.path}` asks for {reach.dynamic}, and so for Python's internals where no sandbox forbids it"
    parts = _parts(reach) if reach.name else ""
    made = f", {reach.name!r} made of {parts}," if parts else ""
    return (
        f"`{reach.path}`{made} reaches Python's internals: code of this template would run where no sandbox forbids it"
    )


def _parts(reach: Reach) -> str:
    """The pieces of the name as they stand in the template."""
    shown = [repr(text if len(text) <= 24 else text[:23] + "…") for text in map(_text, reach.pieces[:4]) if text]  # noqa: PLR2004
    return " and ".join(shown) + (" …" if len(reach.pieces) > 4 else "")  # noqa: PLR2004 (four show how it is done)


def _text(node: nodes.Node) -> str:
    text = getattr(node, "value", None)
    return text if isinstance(text, str) else getattr(node, "data", "")


def _pieces(reach: Reach, syntax: Syntax) -> Iterator[tuple[tuple[int, int], str]]:
    own = syntax.span(reach.node)
    for piece in reach.pieces:
        span = syntax.span(piece)
        if reach.name and span != own and _text(piece):
            yield span, f"{_text(piece)[:24]!r} is part of the name {reach.name!r}"
        elif span[0] not in range(own[0], own[1] + 3):  # not where it is asked for
            yield span, "the name stands here"

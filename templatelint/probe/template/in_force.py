"""The linted model and the served one → for each template in force, whether it is the linted one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from templatelint import engines
from templatelint.pin.normal import as_parsed, as_read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Model, Template

DEFAULT, TOOL_USE = "default", "tool_use"
_LLAMA_CPP = "llama.cpp"


@dataclass(frozen=True)
class Compared:
    """A template in force beside the linted one.

    Attributes:
        name: what the engine calls it.
        word: they are one, but for newlines at the end; the engine has rewritten a guard as it loaded it; they differ;
            no such template was linted; the linted one is not there.
        here: the text that was linted, as the engine's Jinja has it.
        there: the text in force, likewise.
    """

    name: str
    word: Literal["same", "patched", "other", "unlinted", "absent"]
    here: str = ""
    there: str = ""


def compared(linted: Model, served: Model, kind: str) -> tuple[Compared, ...]:
    """The templates that serve requests, each held against its linted counterpart.

    Args:
        linted: what was linted.
        served: what the server tells.
        kind: the engine's id; empty where it is not known.
    """
    return tuple(_compared(linted, served, kind))


def _compared(linted: Model, served: Model, kind: str) -> Iterator[Compared]:
    entry = engines.ENGINES.get(kind)
    renderer = entry.renderer if entry is not None else "jinja2"
    for there in served.templates:
        if there.name not in {DEFAULT, TOOL_USE} and len(served.templates) > 1:
            continue
        here = counterpart(linted, there.name)
        shown = as_read(renderer, there.source)
        if here is None:
            yield Compared(there.name, "unlinted", there=shown)
            continue
        ours = as_read(renderer, here.source)
        # a server tells its text before the engine has read it, or after
        tellings = (shown, there.source)
        if ours in tellings:
            yield Compared(there.name, "same", ours, shown)
        elif as_parsed(renderer, here.source, there.name) in tellings:
            yield Compared(there.name, "patched", ours, shown)
        else:
            yield Compared(there.name, "other", ours, shown)
    asked = counterpart(linted, TOOL_USE)
    if (
        kind == _LLAMA_CPP
        and asked is not None
        and not linted.picked
        and served.template(TOOL_USE) is None
        and counterpart(linted, DEFAULT) is not asked
    ):
        yield Compared(TOOL_USE, "absent", as_read(renderer, asked.source))


def counterpart(linted: Model, name: str) -> Template | None:
    """The linted template that ought to be in force under a name; the only one has the name that it is given."""
    found = linted.template(name)
    if found is not None or name != DEFAULT:
        return found
    return linted.templates[0] if len(linted.templates) == 1 else linted.template("")

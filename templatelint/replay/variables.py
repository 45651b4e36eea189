"""A request's template variables → copies of it that tell who reads them, and what they ask for."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from templatelint.checks._reasoning import SWITCHES
from templatelint.outcomes import BY_ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Request

    Wish = Literal["on", "off", ""]

EFFORT = "reasoning_effort"
# what a template says that knows of thoughts
_KNOWS = re.compile(r"think|thought|reason", re.IGNORECASE)
# at the end of a prompt: what opens a stretch of thought
_OPENS = re.compile(r"[<\[](?!/)[^<>\[\]]*(?:think|thought|reason)[^<>\[\]]*[>\]]\s*\Z", re.IGNORECASE)
_TAIL = 200  # characters of a prompt that may hold such a mark


class Variable(NamedTuple):
    """A template variable of a request.

    Attributes:
        wish: what it wants of thinking, where it is a switch of that.
    """

    name: str
    value: Any
    wish: Wish

    @property
    def switches(self) -> bool:
        """Whether it is about how a model thinks."""
        return bool(self.wish) or self.name == EFFORT


class Effect(NamedTuple):
    """What comes of a variable that is not read.

    Attributes:
        after: what the other template makes of it, in a word.
        says: the rest of a sentence that says that it has no effect.
    """

    verdict: Literal["breaks", "degrades", "changes"]
    after: str
    says: str
    cure: str = ""


class Other(NamedTuple):
    """Another switch of thinking, with the value that the request's own asks for, and with the opposite one."""

    name: str
    value: Any
    wanted: Request
    opposite: Request


def sent(request: Request) -> list[Variable]:
    """The variables of a request; servers make one of `reasoning_effort` too."""
    found = dict(request.variables)
    if isinstance(request.extra.get(EFFORT), str):
        found.setdefault(EFFORT, request.extra[EFFORT])
    return [Variable(name, value, _wish(name, value)) for name, value in found.items()]


def has_switch(request: Request) -> bool:
    """Whether it says anything of thinking."""
    return any(one.switches for one in sent(request))


def copies(request: Request, variable: Variable) -> list[Request]:
    """The request without the variable, then those in which a switch says the opposite."""
    bare = _without(request, variable.name)
    if not variable.wish:
        return [bare]
    pairs = _pairs(variable.name)
    values = [off if variable.wish == "on" else on for on, off in pairs if variable.value in (on, off)]
    return [bare, *(_with(bare, variable.name, value) for value in values)]


def others(request: Request, variable: Variable, template: str) -> Iterator[Other]:
    """The switches that a template of this source may read instead."""
    bare = _without(request, variable.name)
    for name in SWITCHES:
        if name == variable.name or name not in template:
            continue
        for pair in _pairs(name):
            wanted, opposite = pair if variable.wish == "on" else pair[::-1]
            yield Other(name, wanted, _with(bare, name, wanted), _with(bare, name, opposite))


def unread(
    variable: Variable, template: str, prompt: str, instead: Sequence[tuple[Other, str]], *, bare: bool
) -> Effect | None:
    """What it is that one side reads a variable and the other does not; None where nothing comes of it.

    Args:
        variable: the request's own.
        template: the source of the template that does not read it.
        prompt: the prompt that it gives.
        instead: the switches that it reads, each with the prompt that it gives as is wanted.
        bare: with the side that reads it, the variable makes a difference to a request without it.
    """
    if not (bare or variable.wish):
        return None  # it says what holds anyway
    if not variable.switches:
        return Effect("breaks", "not read", "", _UNREAD)
    for other, wanted in instead:
        said = f": the template reads `{other.name}`"
        if wanted == prompt:
            return Effect("changes", other.name, f"{said}, which is as asked for where it is not sent")
        cure = f"send {json.dumps({other.name: other.value})[1:-1]} among the template variables"
        return Effect("breaks", other.name, said, cure)
    return _without_switch(variable, template, prompt)


def _without_switch(variable: Variable, template: str, prompt: str) -> Effect | None:
    cure = BY_ID["thinking-switch"].cure
    if variable.wish == "on":  # a template of thoughts may have them all the same
        return None if _knows_thoughts(template) else Effect("breaks", "not read", _THOUGHTLESS, cure)
    if variable.wish == "off" and not _knows_thoughts(template):
        return Effect("changes", "not read", _THOUGHTLESS)
    if variable.wish == "off" and not _opens_thought(prompt):
        return Effect("degrades", "not read", "", cure)  # whether it thinks is up to the model
    said = ": answers begin as thoughts all the same" if variable.wish else ""
    return Effect("breaks", "not read", said, cure)


_UNREAD = "expect no effect of it, or serve it with a template of this model that reads it"
_THOUGHTLESS = ": the template knows no thoughts"


def _knows_thoughts(template: str) -> bool:
    """Whether the source of a template is about thoughts at all."""
    return _KNOWS.search(template) is not None


def _opens_thought(prompt: str) -> bool:
    """Whether the answer begins as a thought."""
    return _OPENS.search(prompt[-_TAIL:]) is not None


def _wish(name: str, value: Any) -> Wish:
    for on, off in _pairs(name):
        if value == on and type(value) is type(on):
            return "on"
        if value == off and type(value) is type(off):
            return "off"
    return ""


def _pairs(name: str) -> list[tuple[Any, Any]]:
    """Values that turn thinking on and off."""
    return [(json.loads(on), json.loads(off)) for on, off in SWITCHES.get(name, ())]


def _without(request: Request, name: str) -> Request:
    variables = {other: value for other, value in request.variables.items() if other != name}
    extra = request.extra
    if name == EFFORT:
        extra = {other: value for other, value in extra.items() if other != EFFORT}
    return replace(request, variables=variables, extra=extra)


def _with(request: Request, name: str, value: Any) -> Request:
    return replace(request, variables={**request.variables, name: value})

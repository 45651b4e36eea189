"""A set-up → minijinja's environment for one template: its switches, and what we add to and take from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import minijinja

from templatelint.renderers import RenderFailure
from templatelint.renderers.minijinja.filters import json_filter, shown, titled
from templatelint.renderers.minijinja.gates import GATE, JSON, JSON_OF, RAISE, TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from templatelint.renderers.minijinja.gates import Gate
    from templatelint.renderers.minijinja.setup import Setup

# What the Python package adds to minijinja itself, or switches on; programs in Rust have it where they ask for it.
_ADDED_FILTERS = ("filesizeformat", "pluralize", "striptags", "truncate", "urlencode", "wordwrap")
_ADDED_GLOBALS = ("cycler", "joiner")
_LATER_FILTERS = {(2, 11): ("chain",), (2, 12): ("zip",), (2, 13): ("format",)}


class Raised(Exception):
    """`raise_exception` was called.

    Attributes:
        message: what it was given.
        call: the number of the call, None where it has none.
    """

    def __init__(self, message: str, call: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.call = call


class Reached(Exception):
    """What an older release lacks was reached: its number."""


class Clock:
    """What `strftime_now` tells.

    Attributes:
        now: set before each render.
    """

    now: datetime

    def strftime_now(self, form: str) -> str:
        """The time in the form that `strftime` takes."""
        return self.now.strftime(form)


def environment(setup: Setup, reached: Sequence[Gate], clock: Clock) -> minijinja.Environment:
    """The environment, without a template."""
    made = minijinja.Environment(
        trim_blocks=setup.trims, lstrip_blocks=setup.trims, auto_escape_callback=_never, pycompat=True
    )
    tojson = json_filter(setup)
    made.add_filter(JSON, tojson)
    made.add_filter(JSON_OF, lambda value: tojson(_json(value)))
    made.add_global("strftime_now", clock.strftime_now)
    made.add_global(RAISE, _raise_exception)
    if setup.python_names:
        return made

    def text(value: Any) -> str:
        return shown(value, ordered=setup.ordered)

    def printed(value: Any) -> Any:
        # numbers print alike, and the engine alone tells 1.0 from 1
        return text(value) if value is None or isinstance(value, bool | list | tuple | dict) else NotImplemented

    made.add_filter(TEXT, text)
    made.finalizer = printed
    made.add_test("number", _is_number)
    made.add_filter("title", titled)
    for name in _ADDED_FILTERS:
        made.remove_filter(name)
    for name in _ADDED_GLOBALS:
        made.remove_global(name)
    for release, names in _LATER_FILTERS.items():
        if setup.release < release:
            for name in names:
                made.remove_filter(name)
    for number in range(len(reached)):
        made.add_filter(f"{GATE}{number}", _failing(number))
    return made


def _never(name: str) -> bool:
    del name
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _json(value: Any) -> str:
    from json import dumps

    return dumps(value)


def _raise_exception(*given: Any) -> NoReturn:
    call: int | None = None
    if len(given) > 1 and isinstance(given[0], int):
        call, *given = given  # type: ignore[assignment]  # a list does as well
    if not given:
        raise RenderFailure("raised", "raise_exception: missing argument")
    raise Raised(shown(given[0], ordered=True), call)


def _failing(number: int) -> Callable[..., NoReturn]:
    def fail(*given: Any, **named: Any) -> NoReturn:
        del given, named
        raise Reached(number)

    return fail

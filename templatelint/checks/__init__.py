"""One module a rule, bound by its name to a card of `rules/`: what an engine made of the cases → faults.

A module holds `CASES`, the ids of the cells it looks at, and `check(view)`, which yields faults for one engine. The
view raises where a cell has no text to give, and the pipeline records the check as not run: checks need no guards. It
may hold `CALL_CASES`, ids of cells that are there only where calls reach the prompt, `cases_for(source)`, which gives
the ids of those that only templates of such a text need, and `READ_BACK`, ids of cases of which engines with a parser
of their own are to read the calls back.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from templatelint.model import Fault, Model, RenderError
    from templatelint.view import View


class Check(Protocol):
    """What a module of this package offers."""

    CASES: Sequence[str]

    def check(self, view: View) -> Iterator[Fault]:
        """Judge one template on one engine."""
        ...


@cache
def names() -> tuple[str, ...]:
    """The rules that have a check, by name."""
    return tuple(
        sorted(path.stem.replace("_", "-") for path in Path(__file__).parent.glob("*.py") if path.stem[0] != "_")
    )


def load(name: str) -> Check:
    """The check of the rule of that name."""
    return cast("Check", import_module(f"{__name__}.{name.replace('-', '_')}"))


def load_model_check(name: str) -> Callable[[Model, Mapping[str, RenderError]], Iterable[Fault]]:
    """What the rule of that name says of a model as a whole (`check_model`); most say nothing.

    Its arguments: the model, and the engines that have no template for plain chat, with what they say.
    """
    return getattr(load(name), "check_model", lambda *_: ())

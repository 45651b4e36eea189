"""What probing an endpoint gave → text, one module a format."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from templatelint.report.terminal import Paint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.probe import Probed
    from templatelint.probe.several import Apart

FORMATS = {
    "text": "templatelint.report.probed.page",
    "concise": "templatelint.report.probed.concise",
    "json": "templatelint.report.probed.json",
    "junit": "templatelint.report.probed.junit",
    "markdown": "templatelint.report.probed.markdown",
    "html": "templatelint.report.page.probed",
}


@dataclass(frozen=True)
class Run:
    """What was probed, and how that ended.

    Attributes:
        url: of the endpoint, as people may see it.
        probed: what came of each model, in their order; none where the endpoint could not be asked.
        apart: checks that some models pass and others fail.
        trouble: why nothing could be asked, in a clause; empty where it could.
        remarks: what has to be known besides, a clause each.
    """

    url: str
    probed: tuple[Probed, ...] = ()
    apart: tuple[Apart, ...] = ()
    trouble: str = ""
    remarks: tuple[str, ...] = ()
    exit_code: int = 0


@dataclass(frozen=True)
class Look:
    """How the reader wants it told.

    Attributes:
        verbose: everything, raw exchanges too.
        quiet: nothing but what is broken, or could not be judged.
        columns: the width that text is written for.
    """

    paint: Paint = field(default_factory=lambda: Paint(on=False))
    columns: int = 80
    quiet: bool = False
    verbose: bool = False


class Writer(Protocol):
    """A module of this package."""

    def write(self, run: Run, look: Look) -> Iterator[str]:
        """The text in pieces, newlines included."""


def write(name: str, run: Run, look: Look) -> Iterator[str]:
    """The run in the format of that name (a key of FORMATS)."""
    return cast("Writer", import_module(FORMATS[name])).write(run, look)

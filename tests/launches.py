"""Command lines and settings of servers → what the audit says of them, with a template of the corpus in force."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from program import CHATML

from templatelint import audit, engines, inspection
from templatelint.model import Launch, Model, Origin, Template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.inspection import Inspection
    from templatelint.model import Finding, NotRun

ADDRESS = "server:http://127.0.0.1:8080"


def server(source: str = CHATML, launch: Launch | None = None, ref: str = ADDRESS) -> Model:
    """A server with a template in force."""
    return Model(ref, "server", (Template("default", source, Origin(ref, source)),), launch=launch, local=False)


@cache
def known(source: str, engine: str) -> Inspection:
    return inspection.inspect(server(source), [engines.get(engine)])


def audited(
    arguments: Sequence[str] | None,
    engine: str = "llama.cpp",
    source: str = CHATML,
    *,
    ref: str = ADDRESS,
    needs: tuple[str, ...] | None = None,
    **settings: Any,
) -> tuple[tuple[Finding, ...], tuple[NotRun, ...]]:
    """What the audit says of a launch."""
    launch = Launch(engine, arguments=None if arguments is None else tuple(arguments), settings=settings)
    return audit.findings(server(source, launch, ref), known(source, engine), needs)

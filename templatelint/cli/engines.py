"""`engines`: what can be asked, with which renderer, at which version, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import CLEAN, output
from templatelint.cli.group import Command
from templatelint.cli.options import Session, common

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@click.command(cls=Command, examples=("templatelint engines", "templatelint engines --output-format json"))
@common(("text", "json", "jsonl"))
def command(session: Session) -> int:
    """List the engines: renderer, version, and what the ones that cannot run here need."""
    from templatelint import engines

    rows = [
        {
            "name": entry.name,
            "renderer": entry.renderer,
            "version": entry.modelled,
            "available": entry.name in engines.available(),
            "default": entry.name in engines.DEFAULT_ENGINES,
            "install": entry.install,
            "why_not": entry.why_not,
            "real": _real(entry.name),
        }
        for entry in engines.ENGINES.values()
    ]
    if session.output_format in {"json", "jsonl"}:
        session.write(output.as_json(rows, "engines", lines=session.output_format == "jsonl"))
    else:
        session.write(_table(session, rows))
    return CLEAN


def _real(name: str) -> dict[str, str | None] | None:
    """Whether the engine itself is here; None where no version of ours could ask it."""
    from templatelint import engines

    counterpart = engines.counterpart(name)
    return None if counterpart is None else {"found": counterpart.found, "install": counterpart.install}


def _table(session: Session, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    name, renderer, version = (max(len(row[key]) for row in rows) for key in ("name", "renderer", "version"))
    for row in rows:
        state = "ready" if row["available"] else row["why_not"]
        if not row["available"] and row["install"]:
            state += f" ({row['install']})"
        if (real := row["real"]) is not None:
            told = f"with {real['found']}" if real["found"] else f"not here: {real['install']}"
            state += f": predicted; --real {told}"
        label = session.paint(f"{row['name']:<{name}}", "bold" if row["available"] else "dim")
        star = "*" if row["default"] else " "
        yield f"{star} {label}  {row['renderer']:<{renderer}}  {row['version']:<{version}}  {state}\n"
    yield "\n* in the default set of lint\n"

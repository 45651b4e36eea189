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
        }
        for entry in engines.ENGINES.values()
    ]
    if session.output_format in {"json", "jsonl"}:
        session.write(output.as_json(rows, "engines", lines=session.output_format == "jsonl"))
    else:
        session.write(_table(session, rows))
    return CLEAN


def _table(session: Session, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    name, renderer, version = (max(len(row[key]) for row in rows) for key in ("name", "renderer", "version"))
    for row in rows:
        state = "ready" if row["available"] else row["why_not"]
        if not row["available"] and row["install"]:
            state += f" ({row['install']})"
        label = session.paint(f"{row['name']:<{name}}", "bold" if row["available"] else "dim")
        star = "*" if row["default"] else " "
        yield f"{star} {label}  {row['renderer']:<{renderer}}  {row['version']:<{version}}  {state}\n"
    yield "\n* in the default set of lint\n"

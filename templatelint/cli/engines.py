"""`engines`: what can be asked, with which renderer, at which version, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import CLEAN, output
from templatelint.cli.group import Command
from templatelint.cli.options import Session, common

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.engines import EngineEntry


@click.command(cls=Command, examples=("templatelint engines", "templatelint engines --output-format json"))
@common(("text", "json", "jsonl"))
def command(session: Session) -> int:
    """List the engines: renderer, version, and what the ones that cannot run here need."""
    from templatelint import engines

    rows = [_row(entry) for entry in engines.ENGINES.values()]
    if session.output_format in {"json", "jsonl"}:
        session.write(output.as_json(rows, "engines", lines=session.output_format == "jsonl"))
    else:
        session.write(_table(session, rows))
    return CLEAN


def _row(entry: EngineEntry) -> dict[str, Any]:
    from templatelint import engines

    why_not = entry.why_not
    counterpart = engines.counterpart(entry.name)
    return {
        "name": entry.name,
        "renderer": entry.renderer,
        "version": entry.modelled,
        "available": not why_not,
        "default": entry.name in engines.DEFAULT_ENGINES,
        "emulated": None if why_not else engines.get(entry.name).emulated,
        "install": entry.install,
        "why_not": why_not,
        "real": None if counterpart is None else {"found": counterpart.found, "install": counterpart.install},
    }


def _table(session: Session, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    name, renderer, version = (max(len(row[key]) for row in rows) for key in ("name", "renderer", "version"))
    for row in rows:
        state = _state(row)
        if (real := row["real"]) is not None:
            state += f"; --real with {real['found']}" if real["found"] else f"; --real not here: {real['install']}"
        label = session.paint(f"{row['name']:<{name}}", "bold" if row["available"] else "dim")
        star = "*" if row["default"] else " "
        yield f"{star} {label}  {row['renderer']:<{renderer}}  {row['version']:<{version}}  {state}\n"
    yield "\n* in the default set of lint and inspect\n"


def _state(row: dict[str, Any]) -> str:
    """How prompts come about, or why none do."""
    if not row["available"]:
        return f"not here: {row['why_not']} ({row['install']})"
    return f"predicted, rendered by {'a model of its' if row['emulated'] else 'its own'} Jinja"

"""`probe`: a live endpoint → which clauses of its contract it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from templatelint.cli import CLEAN, FINDINGS, NO_ANSWER
from templatelint.cli.group import Command
from templatelint.cli.options import Session, common

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.probe import Probed


@click.command(cls=Command, examples=("templatelint probe http://localhost:8080",))
@click.argument("url", metavar="URL")
@click.option("--model", default="", metavar="ID", help="The model to ask for.")
@click.option("--suite", default="core", metavar="SUITE", help="core, all, or suites with commas.  [default: core]")
@common(("text", "json"))
def command(session: Session, url: str, model: str, suite: str) -> int:
    """Check which clauses of its contract a live endpoint keeps."""
    import os

    from templatelint import probe
    from templatelint.probe import catalogue

    options = probe.Options(model=model, key=os.environ.get("TEMPLATELINT_API_KEY", ""))
    probed = probe.probe(url, catalogue.select(suite.split(",")), options, session.reach())
    session.write(_text(probed))
    if probed.summary["fail"]:
        return FINDINGS
    return NO_ANSWER if probed.summary["inconclusive"] or probed.broken_off else CLEAN


def _text(probed: Probed) -> Iterator[str]:
    for result in probed.results:
        yield f"{result.verdict.word:<13}{result.id} {result.name}: {result.verdict.message}\n"
        for line in result.verdict.evidence:
            yield f"    {line}\n"

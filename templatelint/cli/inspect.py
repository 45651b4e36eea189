"""`inspect`: references → what their templates do on each engine, and what a client must observe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from templatelint.cli import CLEAN, NO_ANSWER
from templatelint.cli.group import Command
from templatelint.cli.options import DEFAULT_SET, Session, common, engine_option, token_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.cli.references import Read
    from templatelint.engines import Engine
    from templatelint.inspection import Inspection


@click.command(
    cls=Command,
    examples=(
        "templatelint inspect chat_template.jinja",
        "templatelint inspect model.gguf --engine llama.cpp --output-format json",
    ),
)
@click.argument("refs", metavar="REF...", nargs=-1, required=True)
@engine_option("Ask this engine", DEFAULT_SET)
@click.option("--stdin-filename", metavar="FILE", help="What the text on stdin is, for the REF -.")
@token_options
@common(("text", "json", "jsonl"))
def command(session: Session, refs: tuple[str, ...], engine: tuple[str, ...], **given: str | None) -> int:
    """Show what a model's templates honour, drop or refuse, engine by engine.

    In the table ≠ marks rows in which engines differ, – what does not apply, ? what is unknown. Below it stands the
    contract: what a client must observe, what costs most first.
    """
    from templatelint import engines
    from templatelint.cli import references

    config = session.config
    named = engine or config.engine or ()
    asked = engines.running(named)
    tokens = {"bos_token": config.bos_token, "eos_token": config.eos_token}
    read = references.read(refs, **tokens | {name: text for name, text in given.items() if text is not None})
    for row in read.unreadable:
        session.error(row.message, row.help)
    _write(session, read, asked, named)
    return NO_ANSWER if read.unreadable else CLEAN


def _write(session: Session, read: Read, asked: Sequence[Engine], named: Sequence[str]) -> None:
    from templatelint import inspection
    from templatelint.report import Setting

    uses, not_run = inspection.uses(asked), inspection.not_run(named)
    form = session.output_format or "text"
    if form == "text":
        if not read.models:
            return  # the errors have said it all
        from templatelint.report import inspected

        setting = Setting(quiet=session.quiet, verbose=session.verbose, paint=session.paint, columns=session.columns)
        session.write(inspected.write(_inspected(session, read, asked), uses, not_run, setting))
        return
    from templatelint.report import inspected_json

    write = inspected_json.write if form == "json" else inspected_json.write_lines
    session.write(write(_inspected(session, read, asked), uses, not_run, read.unreadable))


def _inspected(session: Session, read: Read, asked: Sequence[Engine]) -> Iterator[tuple[str, Inspection]]:
    """Each model as soon as it is known; a bar where they go to a file."""
    from templatelint import inspection
    from templatelint.cli.progress import bar

    with bar("inspecting", quiet=session.quiet or session.terminal) as progress:
        for number, (ref, model) in enumerate(read.models, 1):
            yield ref, inspection.inspect(model, asked)
            if progress is not None:
                progress(number, len(read.models))

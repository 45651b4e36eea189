"""`inspect`: references → what their templates do on each engine, and what a client must observe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from templatelint.cli import CLEAN, NO_ANSWER
from templatelint.cli.group import Command
from templatelint.cli.options import DEFAULT_SET, Session, common, engine_option, replay_flags, token_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.cli.references import Read
    from templatelint.engines import Engine
    from templatelint.inspection import Inspection
    from templatelint.model import Model


@click.command(
    cls=Command,
    examples=(
        "templatelint inspect chat_template.jinja",
        "templatelint inspect model.gguf model/ --output-format html -o facts.html",
    ),
)
@click.argument("refs", metavar="REF...", nargs=-1, required=True)
@engine_option("Ask this engine", DEFAULT_SET)
@click.option("--stdin-filename", metavar="FILE", help="What the text on stdin is, for the REF -.")
@token_options
@common(("text", "json", "jsonl", "html"))
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
    tokens |= {name: text for name, text in given.items() if text is not None}
    read = references.read(refs, reach=session.reach(), **tokens)
    references.need_other_file(session.output_file, read)
    for row in read.unreadable:
        session.error(row.message, row.help)
    _write(session, read, asked, named, replay_flags(tokens["bos_token"], tokens["eos_token"]))
    return NO_ANSWER if read.unreadable else CLEAN


def _write(session: Session, read: Read, asked: Sequence[Engine], named: Sequence[str], replay: Sequence[str]) -> None:
    from functools import partial

    from templatelint import inspection
    from templatelint.report import Setting

    uses, not_run = inspection.uses(asked), inspection.not_run(named)
    facts = partial(inspection.inspect, asked=asked)
    form = session.output_format or "text"
    if form == "text":
        if not read.models:
            return  # the errors have said it all
        from templatelint.report import inspected

        setting = Setting(quiet=session.quiet, verbose=session.verbose, paint=session.paint, columns=session.columns)
        session.write(inspected.write(_inspected(session, read, facts), uses, not_run, setting))
        return
    if form == "html":
        if not read.models:
            return
        from templatelint import outcomes
        from templatelint.report import page

        # grades take cells beside those of the facts
        judged = partial(outcomes.observed, asked=asked, needs=frozenset(outcomes.JUDGED))
        session.write(page.write_inspected(_inspected(session, read, judged), uses, not_run, replay))
        return
    from templatelint.report import inspected_json

    write = inspected_json.write if form == "json" else inspected_json.write_lines
    session.write(write(_inspected(session, read, facts), uses, not_run, read.unreadable))


def _inspected(
    session: Session, read: Read, observe: Callable[[Model], Inspection]
) -> Iterator[tuple[str, Inspection]]:
    """Each model as soon as it is known; a bar where they go to a file."""
    from templatelint.cli.progress import bar

    with bar("inspecting", quiet=session.quiet or session.terminal) as progress:
        for number, (ref, model) in enumerate(read.models, 1):
            yield ref, observe(model)
            if progress is not None:
                progress(number, len(read.models))

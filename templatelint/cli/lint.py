"""`lint`: references → findings, and the exit code that they deserve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import CLEAN, FINDINGS, NO_ANSWER
from templatelint.cli.group import Command
from templatelint.cli.options import (
    DEFAULT_SET,
    Count,
    Session,
    common,
    engine_option,
    needs_option,
    parser_option,
    replay_flags,
    token_options,
)
from templatelint.cli.selection import Chosen, least, selection_options, severity_options
from templatelint.model import SEVERITIES, Severity
from templatelint.report import FORMATS

if TYPE_CHECKING:
    from templatelint.cli.accepting import Accepted
    from templatelint.cli.fixing import Done
    from templatelint.cli.judging import Asked, Judged
    from templatelint.cli.references import Read
    from templatelint.model import Report

_PEOPLE = frozenset({"full", "concise"})


@dataclass(frozen=True)
class _Flags(Chosen):
    """The command's own options as typed, beside what is chosen; empty or None where they were not."""

    min_severity: Severity | None
    fail_on: Severity | None
    exit_zero: bool
    statistics: bool
    jobs: int | None
    baseline: Path | None
    write_baseline: Path | None
    fix: bool
    unsafe_fixes: bool
    diff: bool
    stdin_filename: str | None
    bos_token: str | None
    eos_token: str | None


@click.command(
    cls=Command,
    examples=(
        "templatelint lint chat_template.jinja --engine transformers",
        "templatelint lint model/ --needs tools,system --output-format concise",
    ),
)
@click.argument("refs", metavar="REF...", nargs=-1)
@engine_option("Judge on this engine", DEFAULT_SET)
@parser_option
@needs_option("What the client relies on, instead of what the template suggests")
@selection_options
@severity_options("full and concise")
@click.option("--exit-zero", is_flag=True, help="Exit 0 in spite of findings.")
@click.option("--statistics", is_flag=True, help="Count the findings by rule.")
@click.option("--jobs", type=Count(), metavar="N", help="Work in N processes.  [default: by cores]")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Accept the findings listed there; only others count.",
)
@click.option(
    "--write-baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="List what is found now as accepted; reasons written there are kept.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="Cure what is shown, where re-rendering proves that nothing else changes; with -, print the fixed text.",
)
@click.option("--unsafe-fixes", is_flag=True, help="Also make fixes that change what the author may have meant.")
@click.option(
    "--diff",
    is_flag=True,
    help="Print what --fix would change as a unified diff, whatever the format, and write nothing; exit 1 if anything.",
)
@click.option("--stdin-filename", metavar="FILE", help="What the text on stdin is, for the REF -.")
@token_options
@common(FORMATS)
def command(session: Session, refs: tuple[str, ...], **values: Any) -> int:
    """Judge templates by what engines make of them; without a REF, the override files of the settings.

    Exits 0 when clean, 1 with findings, and 2 when a REF cannot be read.
    """
    from templatelint.cli import accepting, judging, references
    from templatelint.cli.progress import bar

    flags = _Flags(**values)
    if flags.diff and flags.write_baseline is not None:
        raise click.UsageError("--diff and --write-baseline exclude each other: --diff writes nothing")
    config = session.config
    options = flags.options(config, jobs=flags.jobs)
    baselines = [Path(path) for path in (flags.baseline or config.baseline_path, flags.write_baseline) if path]
    if session.output_file in baselines:
        raise click.UsageError(f"-o and the baseline are one file: {session.output_file}")
    accepted = accepting.before(config, flags.baseline, flags.write_baseline)
    named = judging.named(refs, config, session.note)
    wanted = [ref for ref in named if not config.excludes((references.is_stdin(ref) and flags.stdin_filename) or ref)]
    if named and not wanted:
        session.note(f"nothing to judge: {config.path} excludes every reference")
    read = references.read(
        wanted,
        stdin_filename=flags.stdin_filename,
        bos_token=flags.bos_token if flags.bos_token is not None else config.bos_token,
        eos_token=flags.eos_token if flags.eos_token is not None else config.eos_token,
        reach=session.reach(),
    )
    references.need_other_file(session.output_file, read)
    for row in read.unreadable:
        session.error(row.message, row.help)
    asked = judging.Asked(options, config, engines=flags.engine, needs=flags.needs)
    fixed = _fixed(session, read, asked, accepted, flags)
    if fixed is not None:
        read = fixed.read
        if fixed.result is not None and flags.diff:
            session.write(fixed.result)
            return NO_ANSWER if read.unreadable else FINDINGS if fixed.changed and not flags.exit_zero else CLEAN
    with bar("linting", quiet=session.quiet) as progress:
        judged = judging.judge(read, asked, progress)
    fail_on = flags.fail_on or config.fail_on or "error"
    counted = SEVERITIES[: max(map(SEVERITIES.index, (fail_on, _least(session, flags)))) + 1]
    report = accepting.after(judged, accepted, counted, session.note)
    for gap in report.not_run:
        if gap.no_answer:
            session.error(f"{gap.ref}: not judged{'' if gap.rule == '*' else f' by {gap.rule}'}: {gap.why}")
    code = _exit_code(report, judged.read, fail_on, exit_zero=flags.exit_zero)
    if fixed is not None and fixed.result is not None:
        session.write(fixed.result)
    else:
        _write(session, report, judged, flags, code)
    return code


def _fixed(session: Session, read: Read, asked: Asked, accepted: Accepted, flags: _Flags) -> Done | None:
    """What came of `--fix` or `--diff`; None where neither was asked for."""
    if not (flags.fix or flags.diff):
        if flags.unsafe_fixes:
            raise click.UsageError("--unsafe-fixes goes with --fix or --diff")
        return None
    from templatelint.cli import accepting, fixing, judging

    unwritten = replace(accepted, target=None)

    def judged(one: Read) -> Report:
        return accepting.after(judging.judge(one, asked, None), unwritten, (), session.note)

    wanted = fixing.Wanted(flags.diff, flags.unsafe_fixes, _least(session, flags))
    return fixing.run(session, read, asked, judged, wanted)


def _exit_code(report: Report, read: Read, fail_on: Severity, *, exit_zero: bool) -> int:
    if read.unreadable or any(gap.no_answer for gap in report.not_run):
        return NO_ANSWER
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return FINDINGS if not exit_zero and any(report.count(severity) for severity in failing) else CLEAN


def _write(session: Session, report: Report, judged: Judged, flags: _Flags, code: int) -> None:
    from templatelint import report as reports

    form = session.output_format or session.config.output_format or "full"
    read = judged.read
    if form in _PEOPLE and not read.models:
        return  # the errors have said it all
    setting = reports.Setting(
        exit_code=code,
        unreadable=read.unreadable,
        remarks=(*read.remarks(), *judged.remarks),
        replay=replay_flags(flags.bos_token, flags.eos_token),
        least=_least(session, flags),
        quiet=session.quiet,
        verbose=session.verbose,
        statistics=flags.statistics,
        paint=session.paint,
        columns=session.columns,
        fail_on=flags.fail_on or session.config.fail_on or "error",
    )
    session.write(reports.write(form, report, setting))


def _least(session: Session, flags: _Flags) -> Severity:
    return least(session, flags.min_severity, flags.fail_on)

"""`pin`: references → entries of a lock; `pin --check`: what the lock pins held against what is there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from templatelint.cli import CLEAN, FINDINGS, NO_ANSWER
from templatelint.cli.group import Command
from templatelint.cli.options import DEFAULT_SET, Session, Word, common, engine_option
from templatelint.errors import TemplatelintError
from templatelint.model import SEVERITIES
from templatelint.report import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.cli.references import Read
    from templatelint.model import Model, NotRun, Report, Severity
    from templatelint.pin.lock import Entry, Lock
    from templatelint.report import Remark

_LOCK = Path("templatelint.lock")
_PEOPLE = ("full", "concise")
_PINNED = (*_PEOPLE, "json", "jsonl")
_FETCHED = frozenset({"hub", "url", "server"})
_SHOWN = 12  # digits of a digest


@click.command(
    cls=Command,
    examples=(
        "templatelint pin chat_template.jinja --engine llama.cpp",
        "templatelint pin --check chat_template.jinja",
    ),
)
@click.argument("refs", metavar="[REF]...", nargs=-1)
@click.option("--check", is_flag=True, help="Hold what is there against the lock: each REF, or all that is pinned.")
@click.option(
    "--lock",
    type=click.Path(path_type=Path),
    default=_LOCK,
    metavar="FILE",
    help=f"The lock.  [default: {_LOCK}]",
)
@engine_option("Pinned for this engine", DEFAULT_SET)
@click.option("--as", "as_ref", metavar="REF", help="With --check: the pinned REF that the checked one stands for.")
@click.option(
    "--fail-on",
    type=Word("severity", lambda: SEVERITIES, metavar="SEVERITY"),
    help="With --check: exit 1 at this severity and above.  [default: error]",
)
@common(FORMATS)
def command(  # noqa: PLR0913 (one argument an option)
    session: Session,
    refs: tuple[str, ...],
    *,
    check: bool,
    lock: Path,
    engine: tuple[str, ...],
    as_ref: str | None,
    fail_on: Severity | None,
) -> int:
    """Pin templates in a lock file, or check what it pins, on files and on running servers.

    Pinning a REF again renews its entries and keeps the others. Exits 0, with --check 1 where a template is not the
    one pinned, and 2 when something cannot be read or reached.
    """
    from templatelint.cli import references

    if session.output_file is not None and session.output_file == lock:
        raise click.UsageError(f"-o and the lock are one file: {lock}")
    if any(references.is_stdin(ref) for ref in refs):
        raise TemplatelintError("standard input cannot be pinned: nothing is there to check later")
    if check:
        if engine:
            raise click.UsageError("--engine goes without --check: the lock says which engines count")
        if as_ref is not None and len(refs) != 1:
            raise click.UsageError("--as goes with one REF")
        return _check(session, refs, str(lock), as_ref, fail_on or session.config.fail_on or "error")
    if as_ref is not None or fail_on is not None:
        raise click.UsageError("--as and --fail-on go with --check")
    if not refs:
        raise click.UsageError("missing REF...: what is to be pinned")
    return _pin(session, refs, str(lock), engine or session.config.engine or ())


# ------------------------------------------------------------------------------------------------ pinning


def _pin(session: Session, refs: Sequence[str], path: str, engines: Sequence[str]) -> int:
    from templatelint.cli import output, references
    from templatelint.cli.progress import bar
    from templatelint.pin import lock as locks
    from templatelint.pin.alone import alone
    from templatelint.pin.entries import entries
    from templatelint.sources import opening

    form = session.output_format or "full"
    if form not in _PINNED:
        raise click.UsageError(f"--output-format {form} goes with --check; pin alone has {', '.join(_PINNED)}")
    _known(path)  # a damaged one is told before the work
    read = references.read(refs, reach=session.reach())
    references.need_other_file(session.output_file, read)
    references.need_other_file(Path(path), read)
    for row in read.unreadable:
        session.error(row.message, row.help)
    if read.unreadable:
        return NO_ANSWER  # a lock of some of them would pass for one of all
    made: list[Entry] = []
    with bar("pinning", quiet=session.quiet) as progress:
        for number, (_, model) in enumerate(read.models, 1):
            made += entries(model, engines, path)
            if progress is not None:
                progress(number, len(read.models))
    for remark in _remarks(read):
        session.note(f"{remark.ref}: {remark.text}")
    with alone(path):  # what others have pinned meanwhile stays
        before = _known(path)
        text = locks.written(before.renewed(made).entries)
        if opening.status(path) is None or text.encode() != opening.read_bytes(path, locks.LIMIT, "a lock"):
            output.to_file(Path(path), [text])
    session.write(_pinned(form, made, before, path))
    return CLEAN


def _known(path: str) -> Lock:
    """What a lock pins that is to be renewed; nothing where there is none yet."""
    from templatelint.pin import lock as locks
    from templatelint.sources import opening

    there = opening.status(path)
    return locks.read(path) if there is not None and there.st_size else locks.Lock(path)


def _remarks(read: Read) -> tuple[Remark, ...]:
    """How the references were understood; tokens that are assumed are the same for what was and what is."""
    from templatelint.report import Remark

    notes = (Remark(ref, note) for ref, model in read.models for note in model.notes)
    return (*read.left_out, *notes)


def _pinned(form: str, made: Sequence[Entry], before: Lock, path: str) -> Iterator[str]:
    """What was pinned, a line each, and whether that is new."""
    known = {(entry.ref, entry.name): entry for entry in before.entries}
    rows = [(entry, _state(entry, known.get((entry.ref, entry.name)))) for entry in made]
    if form not in _PEOPLE:
        from templatelint.cli.output import as_json

        objects = (
            {
                "ref": entry.ref,
                "template": entry.name,
                "sha256": entry.sha256,
                "engines": list(entry.engines),
                "dialect": entry.dialect or None,
                "state": state,
                "lock": path,
            }
            for entry, state in rows
        )
        yield from as_json(objects, "pinned", lines=form == "jsonl")
        return
    from templatelint.report.terminal import visible

    for entry, state in rows:
        ref = f"{entry.ref}#{entry.name}" if entry.picked or entry.name != "default" else entry.ref
        dialect = f", calls: {entry.dialect}" if entry.dialect else ""
        yield f"{visible(ref)}: {state}, sha256 {entry.sha256[:_SHOWN]}{visible(dialect)}\n"


def _state(entry: Entry, before: Entry | None) -> str:
    if before is None:
        return "pinned"
    if entry.sha256 != before.sha256:
        return f"pinned anew (was {before.sha256[:_SHOWN]})"
    return "unchanged" if replace(entry, picked=before.picked) == before else "renewed"


# ----------------------------------------------------------------------------------------------- checking


@dataclass(frozen=True)
class _Found:
    """What there is to check.

    Attributes:
        left_out: what is elsewhere and not to be fetched.
    """

    read: Read
    left_out: tuple[NotRun, ...] = ()


def _check(session: Session, refs: Sequence[str], path: str, as_ref: str | None, fail_on: Severity) -> int:
    from templatelint.cli import references
    from templatelint.cli.progress import bar
    from templatelint.pin import lock as locks

    lock = locks.read(path)
    if not refs and not lock.entries:
        raise TemplatelintError(f"{path} pins nothing", help=f"templatelint pin REF --lock {quote(path)}")
    found = _Found(references.read(refs, reach=session.reach())) if refs else _all(session, lock)
    references.need_other_file(session.output_file, found.read)
    for row in found.read.unreadable:
        session.error(row.message, row.help)
    with bar("checking", quiet=session.quiet) as progress:
        report = _report([model for _, model in found.read.models], lock, as_ref, progress)
    report = replace(report, not_run=(*report.not_run, *found.left_out))
    unanswered = [gap for gap in report.not_run if gap.no_answer]
    for gap in unanswered:
        session.error(f"{gap.ref}: not checked: {gap.why}")
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    failed = any(report.count(severity) for severity in failing)
    code = NO_ANSWER if unanswered or found.read.unreadable else FINDINGS if failed else CLEAN
    left = tuple(_left(found.read, lock, as_ref))
    _write(session, report, replace(found.read, left_out=(*found.read.left_out, *left)), code, fail_on)
    return code


def _left(read: Read, lock: Lock, as_ref: str | None) -> Iterator[Remark]:
    """Which templates were not checked, since others of the same model are pinned by name."""
    from templatelint.pin.checking import unpinned
    from templatelint.report import Remark

    for ref, model in read.models:
        if names := unpinned(model, lock, as_ref):
            yield Remark(ref, f"not pinned: {', '.join(names)}")


def _all(session: Session, lock: Lock) -> _Found:
    """The references of the lock, resolved; with `--offline`, those elsewhere only as far as they are at hand."""
    from templatelint import sources
    from templatelint.cli.references import Read
    from templatelint.model import NotRun
    from templatelint.pin.checking import RULE
    from templatelint.pin.place import typed
    from templatelint.report import Unreadable

    models: list[tuple[str, Model]] = []
    unreadable: list[Unreadable] = []
    left_out: list[NotRun] = []
    for entry in {entry.ref: entry for entry in lock.entries}.values():
        try:
            ref = typed(entry, lock.path)
            models.append((ref, sources.resolve(ref, reach=session.reach(typed=False))))
        except TemplatelintError as error:
            if session.offline and entry.source in _FETCHED:
                left_out.append(NotRun(RULE, entry.ref, f"--offline: {error.message}"))
            else:
                unreadable.append(Unreadable(entry.ref, error.message, error.help))
    return _Found(Read(tuple(models), tuple(unreadable)), tuple(left_out))


def _report(
    models: Sequence[Model], lock: Lock, as_ref: str | None, progress: Callable[[int, int], None] | None
) -> Report:
    from templatelint import engines, pin
    from templatelint.model import EngineUse, Report, TemplateUse
    from templatelint.pin.checking import unpinned

    checked = []
    for model in models:
        checked.append(pin.check(model, lock, as_ref=as_ref))
        if progress is not None:
            progress(len(checked), len(models))
    findings = tuple(finding for found, _ in checked for finding in found)
    names = dict.fromkeys(engine for finding in findings for engine in finding.engines)
    running = [engines.get(name) for name in names if name in engines.ENGINES and not engines.ENGINES[name].why_not]
    return Report(
        engines=tuple(EngineUse(one.name, one.renderer, one.version, one.emulated) for one in running),
        templates=tuple(
            TemplateUse(model.reference(template), template.name, template.origin.path, template.sha256)
            for model in models
            for template in model.templates
            if template.name not in unpinned(model, lock, as_ref)
        ),
        findings=findings,
        not_run=tuple(gap for _, gaps in checked for gap in gaps),
    )


def _write(session: Session, report: Report, read: Read, code: int, fail_on: Severity) -> None:
    from templatelint import report as reports

    form = session.output_format or session.config.output_format or "full"
    if form in _PEOPLE and read.unreadable and not read.models:
        return  # the errors have said it all
    note = session.verbose or fail_on == "note"
    setting = reports.Setting(
        exit_code=code,
        unreadable=read.unreadable,
        remarks=_remarks(read),
        least="note" if note else "warning",
        quiet=session.quiet,
        verbose=session.verbose,
        paint=session.paint,
        columns=session.columns,
        fail_on=fail_on,
    )
    session.write(reports.write(form, report, setting))

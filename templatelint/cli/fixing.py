"""`lint --fix` and `--diff`: what was read → the same with what can be cured, written back or shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from templatelint.cli import output
from templatelint.errors import TemplatelintError
from templatelint.report.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from templatelint.cli.judging import Asked
    from templatelint.cli.options import Session
    from templatelint.cli.references import Read
    from templatelint.fix import Fixed, Outcome
    from templatelint.lint import Options
    from templatelint.model import Model, Report, Severity, Template


@dataclass(frozen=True)
class Wanted:
    """What is to be done.

    Attributes:
        diff: show what would change, and write nothing.
        unsafe: also what changes what the author may have meant.
        least: findings below this severity are left.
    """

    diff: bool
    unsafe: bool
    least: Severity


@dataclass(frozen=True)
class Done:
    """What came of it.

    Attributes:
        read: the references as they read now.
        result: what goes to standard output in place of findings; None where these go there.
        changed: whether there was anything to fix.
    """

    read: Read
    result: tuple[str, ...] | None
    changed: bool


def run(session: Session, read: Read, asked: Asked, judged: Callable[[Read], Report], wanted: Wanted) -> Done:
    """Fix each model and write its files, one after the other, or show the difference.

    Args:
        session: told what was done.
        read: what the references gave.
        asked: by which engines and needs to judge.
        judged: what the user is to get of references, without what is accepted.
        wanted: how far to go.

    Raises:
        TemplatelintError: a file cannot be written, or standard input stands beside other references.
    """
    from templatelint import fix
    from templatelint.fix.cures import for_rule

    piped = [model for _, model in read.models if model.kind == "stdin"]
    if piped and len(read.models) > 1 and not wanted.diff:
        raise TemplatelintError("--fix prints the template that stdin holds", help="give - alone")
    done: list[tuple[Model, Outcome]] = []
    for ref, model in read.models:

        def judge(changed: Model, ref: str = ref) -> Report:
            return judged(_only(read, ref, changed))

        report = judge(model)
        if not wanted.diff and (why := _unwritable(model)):
            if any(for_rule(finding.rule) for finding in report.findings):
                session.note(f"{ref}: not fixed: {why}; --diff shows what would change")
            done.append((model, fix.Outcome(model, report)))
            continue
        options = _options(asked, report)
        outcome = fix.fix(model, report, judge, options, unsafe=wanted.unsafe, least=wanted.least)
        if not wanted.diff:
            _write(model, outcome)
        done.append((model, outcome))
        _tell(session, _told(model, outcome))  # at once: an interrupt leaves what is written, and known
    changed = any(outcome.fixed for _, outcome in done)
    _tell(session, _summed([outcome for _, outcome in done], wanted, shows=session.verbose))
    models = tuple((ref, outcome.model) for (ref, _), (_, outcome) in zip(read.models, done, strict=True))
    result: tuple[str, ...] | None = None
    if wanted.diff:
        result = tuple(_diffs(done))
    elif piped:
        result = tuple(template.origin.text for template in done[0][1].model.templates[:1])
    return Done(replace(read, models=models), result, changed)


def _only(read: Read, ref: str, model: Model) -> Read:
    return replace(read, models=((ref, model),), unreadable=())


def _options(asked: Asked, report: Report) -> Options:
    """What to judge by, with the engines of the file's deployment where the settings tell one."""
    from templatelint import engines

    used = tuple(use.name for use in report.engines)
    if used == tuple(engine.name for engine in engines.running(asked.options.engines)):
        return asked.options
    return replace(asked.options, engines=used)


def _unwritable(model: Model) -> str:
    from templatelint.fix import writing

    for template in model.templates:
        if why := writing.refusal(model, template):
            return why
        if model.kind != "stdin" and output.read_only(Path(template.origin.path)):
            return "it is read-only" if template.origin.path == model.ref else f"{template.origin.path} is read-only"
    return ""


def _write(model: Model, outcome: Outcome) -> None:
    """Write the files of the model that changed; a template from standard input has none."""
    if model.kind == "stdin":
        return
    for before, after in _files(model, outcome.model):
        if not _current(before):
            raise TemplatelintError(f"{before.origin.path}: has changed since it was read", help="lint it again")
        output.to_file(Path(after.origin.path), [after.origin.text])


def _current(before: Template) -> bool:
    """Whether the file still holds what was read: another program, or another reference, may have written to it."""
    from templatelint.sources import opening

    expected = output.encoded(before.origin.text)
    return opening.read_bytes(before.origin.path, len(expected), "a template") == expected


def _files(before: Model, after: Model) -> list[tuple[Template, Template]]:
    """A template of each file that changed, as it was and as it is."""
    files: dict[str, tuple[Template, Template]] = {}
    for old, new in zip(before.templates, after.templates, strict=True):
        if old.source != new.source:
            files.setdefault(old.origin.path, (old, new))
    return list(files.values())


def _diffs(done: Sequence[tuple[Model, Outcome]]) -> Iterator[str]:
    """A unified diff of every file that changes, as `patch` takes it."""
    from difflib import unified_diff

    for model, outcome in done:
        for before, after in _files(model, outcome.model):
            path = before.origin.path
            for line in unified_diff(_lines(before.origin.text), _lines(after.origin.text), path, path):
                yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """The lines with their newlines; only those that `patch` knows end one."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _tell(session: Session, lines: Iterable[str]) -> None:
    if not session.quiet:
        for line in lines:
            output.tell(visible(line))


def _told(model: Model, outcome: Outcome) -> Iterator[str]:
    """What was fixed of a model, by rule."""
    if outcome.fixed:
        yield f"{'<stdin>' if model.kind == 'stdin' else model.ref}:"
        yield from (f"    {times} × {rule} ({kind})" for (rule, kind), times in _counted(outcome.fixed).items())


def _summed(outcomes: Sequence[Outcome], wanted: Wanted, *, shows: bool) -> Iterator[str]:
    """How much was fixed in all; and what was not, and why."""
    from templatelint.fix import ACCEPTS, UNTRIED

    count = sum(len(outcome.fixed) for outcome in outcomes)
    if count:
        yield f"{'Would fix' if wanted.diff else 'Fixed'} {_findings(count)}"
    refused = [row for outcome in outcomes for row in outcome.refused]
    unsafe = {(row.finding.ref, row.finding.fingerprint) for row in refused if row.why.endswith(ACCEPTS)}
    if unsafe:
        yield f"{len(unsafe)} more may be fixed with --unsafe-fixes"
    unproved = [row for row in refused if not row.why.endswith(ACCEPTS)]
    if shows:
        yield from (f"not fixed: {row.finding.ref}: {row.finding.rule}: {row.why}" for row in unproved)
    elif unproved:
        untried = {(row.finding.ref, row.finding.fingerprint) for row in unproved if row.why == UNTRIED}
        left = len({(row.finding.ref, row.finding.fingerprint) for row in unproved} - untried)
        verb = "has a cure" if left == 1 else "have cures"
        if left:
            yield f"{_findings(left)} {verb} that did not pass the proof; -v says why"
        if untried:
            yield f"{_findings(len(untried))} not tried: the time for one model is over"


def _findings(count: int) -> str:
    return f"{count} {'finding' if count == 1 else 'findings'}"


def _counted(fixes: Sequence[Fixed]) -> dict[tuple[str, str], int]:
    counted: dict[tuple[str, str], int] = {}
    for row in fixes:
        key = (row.finding.rule, row.kind)
        counted[key] = counted.get(key, 0) + 1
    return counted

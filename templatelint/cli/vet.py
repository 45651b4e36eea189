"""`vet`: a reference → may it be deployed, need by need and engine by engine, and the exit code that this deserves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import CLEAN, FINDINGS, NO_ANSWER
from templatelint.cli.group import Command
from templatelint.cli.options import (
    DEFAULT_SET,
    Session,
    common,
    engine_option,
    needs_option,
    parser_option,
    replay_flags,
    token_options,
)
from templatelint.cli.selection import Chosen, least, selection_options, severity_options
from templatelint.errors import TemplatelintError
from templatelint.model import SEVERITIES, Severity

if TYPE_CHECKING:
    from templatelint.cli.references import Read
    from templatelint.lint import Options
    from templatelint.model import Model, Report
    from templatelint.report import Setting
    from templatelint.vet import Vetted

FORMATS = ("text", "concise", "json", "jsonl", "sarif", "github", "junit", "markdown", "html", "full")
_PEOPLE = {"full": "text", "text": "text"}
_LENDERS = "give the GGUF, the folder or the repository that the template is served with"


@dataclass(frozen=True)
class _Flags(Chosen):
    """The command's own options as typed; empty or None where they were not."""

    upstream: str
    against: str | None
    lock: Path | None
    min_severity: Severity | None
    fail_on: Severity | None
    stdin_filename: str | None
    bos_token: str | None
    eos_token: str | None


@click.command(
    cls=Command,
    examples=(
        "templatelint vet model.gguf --needs chat,tools",
        "templatelint vet chat_template.jinja --against model.gguf --engine llama.cpp",
    ),
)
@click.argument("ref", metavar="REF")
@engine_option("Judge on this engine", DEFAULT_SET)
@parser_option
@needs_option("What the client relies on, instead of what the template suggests")
@click.option(
    "--upstream",
    metavar="REF",
    default="auto",
    help="What the template is held against: a reference, auto (the model that the file names) or none."
    "  [default: auto]",
)
@click.option("--against", metavar="REF", help="The GGUF or model that an override file is served with.")
@click.option(
    "--lock", type=click.Path(path_type=Path), metavar="FILE", help="The lock file that has to hold (see pin)."
)
@selection_options
@severity_options("text and concise")
@click.option("--stdin-filename", metavar="FILE", help="What the text on stdin is, for the REF -.")
@token_options
@common(FORMATS)
def command(session: Session, ref: str, **values: Any) -> int:
    """Say whether a model's file may be deployed: a verdict for each need and engine, with the reasons.

    Judges what lint judges, and the tokens, the structure of the file, where the template comes from and what it
    hides. Exits 0 when clean, 1 with findings, and 2 when there is no answer.
    """
    from templatelint import vet
    from templatelint.cli import references

    flags = _Flags(**values)
    _need_one_stdin(ref, flags)
    config = session.config
    options = flags.options(config, vetting=True)
    read = references.read(
        [ref],
        stdin_filename=flags.stdin_filename,
        bos_token=flags.bos_token if flags.bos_token is not None else config.bos_token,
        eos_token=flags.eos_token if flags.eos_token is not None else config.eos_token,
        reach=session.reach(vetting=True),
    )
    references.need_other_file(session.output_file, read)
    if session.output_file is not None and session.output_file == flags.lock:
        raise click.UsageError(f"-o and the lock are one file: {flags.lock}")
    for row in read.unreadable:
        session.error(row.message, row.help)
    if not read.models:
        _write_unread(session, read, flags)
        return NO_ANSWER
    (_, model), *_ = read.models
    against, options = _placed(session, model, options, flags)
    replay: tuple[str, ...] = ()
    if against is not None:
        from templatelint import overrides

        references.need_other_file(session.output_file, replace(read, models=((against.ref, against),)))
        deployed = _deployed(model, against, read)
        replay, model = overrides.replay(model, deployed), deployed
        read = replace(read, models=((read.models[0][0], model),))
    if not options.engines and (own := _own_engine(model)):  # whatever others would do
        options = replace(options, engines=(own,))
    beside = vet.Beside(against, replay, flags.lock, flags.upstream, session.offline)
    vetted = vet.vet(model, options, beside, lambda found: _accepted(session, found, read, options))
    report = vetted.report
    for gap in report.not_run:
        if gap.no_answer:
            session.error(f"{gap.ref}: not judged{'' if gap.rule == '*' else f' by {gap.rule}'}: {gap.why}")
    setting = _setting(session, flags, read)
    setting = _answered(replace(setting, exit_code=_exit_code(report, setting.fail_on)), vetted, report)
    _write(session, vetted, report, setting)
    return setting.exit_code


def _need_one_stdin(ref: str, flags: _Flags) -> None:
    """Refuse standard input where it cannot be read, or no longer."""
    from templatelint.cli.references import is_stdin

    if sum(map(is_stdin, (ref, flags.against or "", flags.upstream))) > 1:
        raise TemplatelintError("stdin is asked for twice", help="give one of the two as a file")
    if is_stdin(flags.against or ""):
        raise TemplatelintError("--against: standard input carries no tokens", help=_LENDERS)


def _own_engine(model: Model) -> str:
    """The engine on which the model runs, where its reference says so: that of a server, or of a store."""
    if model.launch is not None:
        return model.launch.engine
    return "ollama" if model.kind == "ollama" else ""


def _placed(session: Session, model: Model, options: Options, flags: _Flags) -> tuple[Model | None, Options]:
    """The model that a file is served with: the one that was named, or that the settings say it overrides."""
    reach = session.reach(vetting=True)
    if flags.against is not None:
        from templatelint import sources

        against = sources.resolve(flags.against, reach=reach)
        if against.tokenizer.assumed and against.tokenizer.vocabulary is None:
            raise TemplatelintError(f"--against: {against.ref} carries no tokens that it could lend", help=_LENDERS)
        return against, options
    if not session.config.override:
        return None, options
    from templatelint import overrides

    path = model.templates[0].origin.path if model.templates else model.ref
    remote = not model.local and model.kind != "gguf"  # what its files are called means nothing here
    override = None if remote else overrides.of(path, session.config.override)
    if override is None:
        return None, options
    if override.engines and not flags.engine:
        options = replace(options, engines=override.engines)
    if override.needs and not flags.needs:
        options = replace(options, needs=override.needs)
    base = overrides.base_of(override, reach)
    if isinstance(base, str):
        session.error(f"{path}: the model that it overrides cannot be read: {base}")
        return None, options
    return base, options


def _deployed(model: Model, against: Model, read: Read) -> Model:
    """The file with the tokens of the model that it is served with, but for those that the user set."""
    from templatelint import overrides

    if model.tokenizer.assumed:
        return overrides.as_deployed(model, against, read.given)
    return replace(model, tokenizer=against.tokenizer)


def _accepted(session: Session, report: Report, read: Read, options: Options) -> Report:
    """The report with what settings accept set apart; comments in files of others count for nothing."""
    from templatelint.cli import accepting, judging

    asked = judging.Asked(options, session.config)
    judged = judging.Judged(report, read, asked, whole=False)
    return accepting.after(judged, accepting.before(session.config, None, None), (), session.note)


def _exit_code(report: Report, fail_on: Severity) -> int:
    if any(gap.no_answer for gap in report.not_run):
        return NO_ANSWER
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return FINDINGS if any(report.count(severity) for severity in failing) else CLEAN


def _form(session: Session) -> str:
    form = session.output_format or session.config.output_format or "text"
    return _PEOPLE.get(form, form)


def _setting(session: Session, flags: _Flags, read: Read) -> Setting:
    from templatelint import report as reports

    return reports.Setting(
        remarks=tuple(read.remarks()),
        replay=replay_flags(flags.bos_token, flags.eos_token),
        least=least(session, flags.min_severity, flags.fail_on),
        quiet=session.quiet,
        verbose=session.verbose,
        paint=session.paint,
        columns=session.columns,
        fail_on=flags.fail_on or session.config.fail_on or "error",
    )


def _answered(setting: Setting, vetted: Vetted, report: Report) -> Setting:
    from templatelint.report import vetted as told

    every = [use.name for use in report.engines]
    failing = {
        engine for found in report.findings if setting.fails(found.severity) for engine in found.engines or every
    }
    answer = told.answer(vetted, failing)
    return replace(setting, answer=answer, members=told.members(vetted, answer))


def _write(session: Session, vetted: Vetted, report: Report, setting: Setting) -> None:
    form = _form(session)
    if form == "text":
        from templatelint.report import vetted as text

        session.write(text.write(vetted, report, setting))
    elif form == "html":
        from templatelint.report.page import vetted as page

        session.write(page.write(vetted, report, setting))
    else:
        from templatelint import report as reports

        session.write(reports.write(form, report, setting))


def _write_unread(session: Session, read: Read, flags: _Flags) -> None:
    """What machines are told where nothing could be read; people have been told."""
    form = _form(session)
    if form in {"text", "concise"}:
        return
    from templatelint import lint
    from templatelint import report as reports

    empty = lint.lint([], lint.Options(engines=flags.engine, vetting=True))
    members = {"answer": "", "verdicts": [], "launch": {}, "launch_remarks": {}, "cures": []}
    setting = reports.Setting(exit_code=NO_ANSWER, unreadable=read.unreadable, members=members)
    session.write(reports.write(form, empty, setting))

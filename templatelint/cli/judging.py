"""References and settings of `lint` → one report: overrides as they are deployed, and held against their models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from templatelint.config import OWN_FILE, SHARED_FILE
from templatelint.report import Remark

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from templatelint.cli.references import Read
    from templatelint.config import Config
    from templatelint.lint import Options, Progress
    from templatelint.model import Finding, Model, NotRun, Report
    from templatelint.overrides import Override


@dataclass(frozen=True)
class Asked:
    """What is to be judged.

    Attributes:
        engines: those that were typed: they win over what the settings say of a file.
        needs: likewise.
    """

    options: Options
    config: Config
    engines: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """What came of it.

    Attributes:
        read: the references, override files with the tokens of their model.
        remarks: what could not be compared.
        compared: the references that were held against the model that they override.
        whole: every engine that the settings name took part.
    """

    report: Report
    read: Read
    asked: Asked
    remarks: tuple[Remark, ...] = ()
    compared: frozenset[str] = frozenset()
    whole: bool = True


def named(refs: Sequence[str], config: Config, note: Callable[[str], None]) -> list[str]:
    """The references, a settings file standing for the override files that it names; without any, all of these."""
    if not refs and not config.override:
        context = click.get_current_context()
        raise click.MissingParameter(ctx=context, param=context.command.params[0])
    overriding = [file for override in config.override for file in override.files]
    found = [] if refs else overriding
    for ref in refs:
        if Path(ref).name not in (OWN_FILE, SHARED_FILE):
            found.append(ref)
        elif config.path is not None and _same(ref, config.path):
            found += overriding
    if not found:
        note(f"nothing to judge: the settings name no override{' file that is there' if config.override else ''}")
    return found


def _same(ref: str, path: Path) -> bool:
    try:
        return Path(ref).resolve() == path.resolve()
    except (OSError, RuntimeError, ValueError):  # no file can be called so
        return False


def judge(read: Read, asked: Asked, progress: Progress | None) -> Judged:
    """Lint each file as it is deployed, then hold overrides against what they replace."""
    from templatelint import lint

    if not asked.config.override:
        report = lint.lint([model for _, model in read.models], asked.options, progress)
        return Judged(report, read, asked, whole=_whole(report, asked))
    placed = [_deployed(ref, model, read, asked) for ref, model in read.models]
    read = replace(
        read, models=tuple((ref, model) for (ref, _), (model, _, _, _) in zip(read.models, placed, strict=True))
    )
    groups: dict[Options, list[Model]] = {}
    for model, _, _, options in placed:
        groups.setdefault(options, []).append(model)
    total = sum(len(model.templates) for model, _, _, _ in placed)
    reports = []
    done = 0
    for options, models in groups.items():
        reports.append(lint.lint(models, options, _shifted(progress, done, total)))
        done += sum(len(model.templates) for model in models)
    if not reports:
        reports = [lint.lint([], asked.options)]
    judged = Judged(_merged(reports), read, asked)
    return _compared(replace(judged, whole=_whole(judged.report, asked)), placed)


def _deployed(ref: str, model: Model, read: Read, asked: Asked) -> tuple[Model, Override | None, Model | str, Options]:
    """The model as it is deployed, the override that says so, what it replaces (or why that is unknown), and where."""
    from templatelint import overrides

    path = model.templates[0].origin.path if model.templates else ref
    override = overrides.of(path, asked.config.override)
    if override is None:
        return model, None, "", asked.options
    base = overrides.base_of(override)
    if not isinstance(base, str):
        model = overrides.as_deployed(model, base, read.given)
    options = asked.options
    if override.engines and not asked.engines:
        options = replace(options, engines=override.engines)
    if override.needs and not asked.needs:
        options = replace(options, needs=override.needs)
    return model, override, base, options


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _: progress(before + done, total)


def _merged(reports: Sequence[Report]) -> Report:
    first, *others = reports
    if not others:
        return first
    return replace(
        first,
        engines=tuple({use.name: use for report in reports for use in report.engines}.values()),
        templates=tuple(use for report in reports for use in report.templates),
        findings=tuple(found for report in reports for found in report.findings),
        not_run=tuple(dict.fromkeys(row for report in reports for row in report.not_run)),
    )


def _compared(judged: Judged, placed: Sequence[tuple[Model, Override | None, Model | str, Options]]) -> Judged:
    from templatelint import lint, overrides
    from templatelint.model import NotRun
    from templatelint.suppress import unused
    from templatelint.suppress.scope import DRIFT

    if DRIFT not in lint.chosen(judged.asked.options):
        return judged
    findings: list[Finding] = []
    not_run: list[NotRun] = []
    remarks: list[Remark] = []
    compared: set[str] = set()
    for model, override, base, options in placed:
        if override is None or not model.templates:
            continue
        ref = model.reference(model.templates[0])
        if isinstance(base, str):
            not_run.append(NotRun(DRIFT, ref, f"the model that it overrides cannot be read: {base}"))
            remarks.append(Remark(ref, f"override not compared with its model: {base}"))
            continue
        found, gaps = overrides.drift(model, base, options.engines, options.needs, dict(options.parsers))
        findings += found
        not_run += gaps
        if not gaps:
            compared.add(ref)
    report = unused.among(judged.report, findings)
    report = replace(report, not_run=(*report.not_run, *not_run))
    return replace(judged, report=report, remarks=tuple(remarks), compared=frozenset(compared))


def _whole(report: Report, asked: Asked) -> bool:
    """Whether every engine that the settings name, or else the default set, took part."""
    from templatelint.engines import DEFAULT_ENGINES

    if any(row.rule == row.ref == "*" for row in report.not_run):
        return False
    return (
        not asked.engines or "all" in asked.engines or set(asked.engines) >= set(asked.config.engine or DEFAULT_ENGINES)
    )

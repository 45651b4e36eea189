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
    asked = [Path(ref).name in (OWN_FILE, SHARED_FILE) for ref in refs]
    overriding = {override: override.files for override in config.override} if any(asked) or not refs else {}
    every = [file for files in overriding.values() for file in files]
    found = [] if refs else every
    for ref, settings in zip(refs, asked, strict=True):
        if not settings:
            found.append(ref)
        elif config.path is not None and _same(ref, config.path):
            found += every
    if not found:
        note(f"nothing to judge: the settings name no override{' file that is there' if config.override else ''}")
    elif every:
        for override, files in overriding.items():
            if not files:
                note(f'{override.settings}: the override "{override.file}" means no file that is there')
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
    bases: dict[str, Model | str] = {}
    placed = [_placed(ref, model, read, asked, bases) for ref, model in read.models]
    read = replace(read, models=tuple((ref, one.model) for (ref, _), one in zip(read.models, placed, strict=True)))
    groups: dict[Options, list[Model]] = {}
    for one in placed:
        groups.setdefault(one.options, []).append(one.model)
    total = sum(len(one.model.templates) for one in placed)
    reports = []
    done = 0
    for options, models in groups.items():
        reports.append(lint.lint(models, options, _shifted(progress, done, total)))
        done += sum(len(model.templates) for model in models)
    if not reports:
        reports = [lint.lint([], asked.options)]
    judged = Judged(_merged(reports), read, asked)
    return _compared(replace(judged, whole=_whole(judged.report, asked)), placed)


@dataclass(frozen=True)
class _Placed:
    """A model where it is deployed.

    Attributes:
        override: the settings that say so; None for a file that overrides nothing.
        base: what it replaces, or why that is unknown.
        flags: what gives it the same tokens where it is read alone.
    """

    model: Model
    options: Options
    override: Override | None = None
    base: Model | str = ""
    flags: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """What findings about its template call it."""
        return self.model.reference(self.model.templates[0])


def _placed(ref: str, model: Model, read: Read, asked: Asked, bases: dict[str, Model | str]) -> _Placed:
    from templatelint import overrides

    path = model.templates[0].origin.path if model.templates else ref
    remote = not model.local and model.kind != "gguf"  # what its files are called means nothing here
    override = None if remote else overrides.of(path, asked.config.override)
    if override is None:
        return _Placed(model, asked.options)
    if override.base not in bases:  # several files may override one model, and it may be far away
        bases[override.base] = overrides.base_of(override, read.reach)
    base = bases[override.base]
    deployed = model if isinstance(base, str) else overrides.as_deployed(model, base, read.given)
    options = asked.options
    if override.engines and not asked.engines:
        options = replace(options, engines=override.engines)
    if override.needs and not asked.needs:
        options = replace(options, needs=override.needs)
    return _Placed(deployed, options, override, base, overrides.replay(model, deployed))


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


def _compared(judged: Judged, placed: Sequence[_Placed]) -> Judged:
    from templatelint import lint, overrides
    from templatelint.model import NotRun
    from templatelint.suppress import unused
    from templatelint.suppress.scope import DRIFT

    overriding = [one for one in placed if one.override is not None and one.model.templates]
    findings: list[Finding] = []
    not_run: list[NotRun] = []
    remarks: list[Remark] = []
    compared: set[str] = set()
    for one in overriding if DRIFT in lint.chosen(judged.asked.options) else ():
        if isinstance(one.base, str):
            not_run.append(NotRun(DRIFT, one.ref, f"the model that it overrides cannot be read: {one.base}"))
            remarks.append(Remark(one.ref, f"override not compared with its model: {one.base}"))
            continue
        options = one.options
        deployed = overrides.Deployed(one.model, one.base, options.engines, options.needs, options.parsers, one.flags)
        found, gaps = overrides.drift(deployed, judged.report.findings)
        findings += found
        not_run += gaps
        if not gaps:
            compared.add(one.ref)
    report = unused.among(judged.report, findings)
    flags = {one.ref: one.flags for one in overriding}
    report = replace(
        report,
        findings=tuple(replace(one, replay=flags.get(one.ref, ())) for one in report.findings),
        not_run=(*report.not_run, *not_run),
    )
    return replace(judged, report=report, remarks=tuple(remarks), compared=frozenset(compared))


def _whole(report: Report, asked: Asked) -> bool:
    """Whether every engine that the settings name, or else the default set, took part."""
    from templatelint.engines import DEFAULT_ENGINES

    if any(row.rule == row.ref == "*" for row in report.not_run):
        return False
    return (
        not asked.engines or "all" in asked.engines or set(asked.engines) >= set(asked.config.engine or DEFAULT_ENGINES)
    )

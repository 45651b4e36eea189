"""What `lint` found → the same without what is accepted: by comments, by the settings, by a baseline (or into one)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from templatelint.cli import output
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from templatelint.cli.judging import Judged
    from templatelint.config import Config
    from templatelint.model import Report, Severity
    from templatelint.suppress.baseline import Baseline
    from templatelint.suppress.scope import Scope

_WORD = "templatelint"  # what a comment has to hold that is addressed to us


@dataclass(frozen=True)
class Accepted:
    """What is accepted before the run.

    Attributes:
        baseline: the findings listed in a file; None where none was named.
        target: the file to list them in anew; None for none.
    """

    config: Config
    baseline: Baseline | None
    target: Path | None


def before(config: Config, named: Path | None, target: Path | None) -> Accepted:
    """Read the baseline, so that a broken one is told before the work.

    Args:
        config: the settings, which may name one.
        named: `--baseline`.
        target: `--write-baseline`; it need not be there, and what it holds is kept as far as it still holds.
    """
    paths = [str(named) if named is not None else config.baseline_path, None if target is None else str(target)]
    if not any(paths):
        return Accepted(config, None, None)
    from templatelint.sources import opening
    from templatelint.suppress import baseline

    found: list[Baseline] = []
    for path in dict.fromkeys(path for path in paths if path):
        if target is not None and path == str(target) and baseline.is_empty(path):
            continue
        if opening.status(path) is not None:
            found.append(baseline.read(path))
        elif target is None or path != str(target):
            raise TemplatelintError(f"no such baseline: {path}", help=f"--write-baseline {path} makes it")
    entries = tuple(entry for one in found for entry in one.entries)
    first = found[0] if found else baseline.Baseline(str(target))
    return Accepted(config, baseline.Baseline(first.path, entries), target)


def after(judged: Judged, accepted: Accepted, counted: Iterable[Severity], note: Callable[[str], None]) -> Report:
    """The report with what is accepted set apart, and suppressions that accept nothing told.

    Args:
        judged: what was found.
        accepted: what is accepted.
        counted: findings of these severities go into a baseline that is written.
        note: tells what was written.
    """
    report = judged.report
    models = [model for _, model in judged.read.models]
    # vetting judges files of others: what these say of themselves excuses nothing
    own = [] if judged.asked.options.vetting else models
    commented = any(_WORD in template.source.lower() for model in own for template in model.templates)
    if not (commented or accepted.config.per_file_ignores or accepted.baseline):
        return report
    from templatelint.suppress import accepting, baseline

    scope = _scope(judged)
    report = accepting.applied(report, own, accepted.config.per_file_ignores, scope)
    known = accepted.baseline
    if known is None:
        return report
    refs = [model.ref for model in models]
    if accepted.target is not None and models:
        path = str(accepted.target)
        entries = baseline.renewed(report, known, refs, scope, frozenset(counted))
        text = baseline.written(path, entries)
        output.to_file(accepted.target, [text])
        known = baseline.parsed(text.encode(), path)
        note(f"{path} accepts {len(entries)} {'finding' if len(entries) == 1 else 'findings'}")
    return baseline.applied(report, known, refs, scope)


def _scope(judged: Judged) -> Scope:
    from templatelint.lint import chosen
    from templatelint.suppress.scope import Scope

    options = judged.asked.options
    weight: Severity = "warning" if options.needs is None or "chat" in options.needs else "note"
    rules = chosen(options)
    silenced = chosen(replace(options, ignore=())) - rules
    return Scope(judged.report, rules, judged.whole, weight, silenced, judged.compared)

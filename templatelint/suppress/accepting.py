"""Ignore comments and per-file ignores → the findings that they accept, and those of them that accept none."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from templatelint import cards, ignores
from templatelint.model import Place, Suppressed
from templatelint.suppress import unused
from templatelint.suppress.scope import UNUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from templatelint.ignores import Ignore
    from templatelint.model import Finding, Model, Report, Template, TemplateUse
    from templatelint.suppress.per_file import PerFileIgnore
    from templatelint.suppress.scope import Scope


@dataclass(frozen=True)
class _Comment:
    """An ignore comment for one rule, in the template that it stands in."""

    ref: str
    template: Template
    ignore: Ignore
    rule: str

    def accepts(self, finding: Finding) -> bool:
        """Whether it is meant: at the head of the file for all of it, else for the line below and what has no line."""
        if (finding.rule, finding.ref) != (self.rule, self.ref):
            return False
        ignore = self.ignore
        return ignore.head or finding.span is None or ignore.first <= finding.excerpt_line <= ignore.last

    def suppressed(self, finding: Finding) -> Suppressed:
        return Suppressed(finding, "comment", self.ignore.reason, self.template.origin.place(self.ignore.span[0]))

    def idle(self, scope: Scope) -> Finding | None:
        """What is to be said where it accepts nothing."""
        if not scope.judged(self.rule, self.ref):
            return None
        origin, (start, end) = self.template.origin, self.ignore.span
        where, cure = self._elsewhere(scope.report) or self._nowhere
        found = unused.finding(
            f"the comment ignores {_named(self.rule)}, which finds {where}",
            cure,
            self.ref,
            origin.place(start),
            scope.weight,
            cause=f"{self.rule} {self.ignore.text}",
            template=self.template.name,
        )
        lines = self.template.lines
        line, column = lines.line_of(start)
        return replace(
            found,
            end=origin.place(end),
            span=(start, end),
            excerpt=lines.excerpt(start),
            excerpt_line=line,
            excerpt_column=column,
        )

    @property
    def _nowhere(self) -> tuple[str, str]:
        where = "in this template" if self.ignore.head else "in the line below or in the template as a whole"
        cure = "remove it" if len(self.ignore.rules) == 1 else f"take {self.rule} out of its brackets"
        return f"nothing {where}", cure

    def _elsewhere(self, report: Report) -> tuple[str, str] | None:
        """Where the rule does find something, which the comment does not stand above."""
        found = [one.excerpt_line for one in report.findings if (one.rule, one.ref) == (self.rule, self.ref)]
        if not found:
            return None
        line = ignores.above(self.template.source, min(found))
        return (
            f"something in line {min(found)}, not in the line below",
            f"move it above line {line} or to the head of the file",
        )


@dataclass(frozen=True)
class _PerFile:
    """A per-file ignore, for one word that names rules."""

    entry: PerFileIgnore
    word: str
    rules: tuple[str, ...]

    def accepts(self, finding: Finding) -> bool:
        """Whether both the rule and the file are meant."""
        return finding.rule in self.rules and self.entry.matches(finding.place.path)

    def suppressed(self, finding: Finding) -> Suppressed:
        return Suppressed(finding, "per-file", self.entry.reason, _place(self.entry))

    def idle(self, scope: Scope) -> Finding | None:
        """What is to be said where it accepts nothing."""
        used = _used(self.entry, scope.report)
        if not used or not all(scope.judged(rule, use.ref) for rule in self.rules for use in used):
            return None
        if self.entry.others(frozenset(os.path.realpath(use.path) for use in used)):
            return None
        meant = _named(self.rules[0]) if len(self.rules) == 1 else self.word
        return unused.finding(
            f'per-file-ignores of "{self.entry.pattern}" ignore {meant}, which finds nothing there',
            f'take "{self.word}" out of it',
            self.entry.settings,
            _place(self.entry),
            scope.weight,
            cause=f"{self.word} {self.entry.pattern}",
        )


def _used(entry: PerFileIgnore, report: Report) -> list[TemplateUse]:
    return [use for use in report.templates if entry.matches(use.path)]


def _nothing_there(entry: PerFileIgnore, scope: Scope) -> Finding:
    braces = "; braces are no sign of a pattern: write an entry for each" if "{" in entry.pattern else ""
    return unused.finding(
        f'per-file-ignores of "{entry.pattern}" mean no file that is there',
        f"mend the pattern, which is seen from the folder of {entry.settings}, or take it out{braces}",
        entry.settings,
        _place(entry),
        scope.weight,
        cause=f"nothing {entry.pattern}",
    )


def _place(entry: PerFileIgnore) -> Place:
    quoted = (f"{quote}{entry.pattern}{quote}" for quote in "\"'")
    return unused.place_of(entry.settings, entry.text, *quoted, entry.pattern)


def applied(report: Report, models: Iterable[Model], per_file: Sequence[PerFileIgnore], scope: Scope) -> Report:
    """Set the accepted findings apart, and say which suppressions accept none.

    Args:
        report: what was found.
        models: whose templates may hold comments that count.
        per_file: entries of the settings.
        scope: what was judged.
    """
    means: list[_Comment | _PerFile] = [
        *_comments(models),
        *(_PerFile(entry, *row) for entry in per_file for row in entry.rules),
    ]
    if not means:
        return report
    report, idle = _split(report, means)
    if not scope.tells:
        return report
    told = [found for one in idle if UNUSED not in _rules(one) and (found := one.idle(scope)) is not None]
    told += [_nothing_there(entry, scope) for entry in per_file if not _used(entry, report) and entry.empty]
    # what ignores this very rule has a say in what was just found, and is judged by that alone
    report, idle = _split(unused.among(report, told), [one for one in means if UNUSED in _rules(one)])
    return unused.among(report, [found for one in idle if (found := one.idle(scope)) is not None])


def _rules(one: _Comment | _PerFile) -> tuple[str, ...]:
    return (one.rule,) if isinstance(one, _Comment) else one.rules


def _comments(models: Iterable[Model]) -> Iterator[_Comment]:
    for model in models:
        for template in model.templates:
            if ignores.WORD in template.source.lower() and ignores.honoured(model, template):
                for comment in ignores.ignores(template.source):
                    for rule in comment.rules:
                        yield _Comment(model.reference(template), template, comment, rule)


def _split(report: Report, means: Sequence[_Comment | _PerFile]) -> tuple[Report, list[_Comment | _PerFile]]:
    """The report with what is accepted set apart, and what accepts nothing."""
    kept: list[Finding] = []
    apart: list[Suppressed] = []
    used: set[int] = set()
    for finding in report.findings:
        accepting = [one for one in means if one.accepts(finding)]
        used.update(map(id, accepting))
        if accepting:
            apart.append(accepting[0].suppressed(finding))
        else:
            kept.append(finding)
    idle = [one for one in means if id(one) not in used]
    return replace(report, findings=tuple(kept), suppressed=(*report.suppressed, *apart)), idle


def _named(rule: str) -> str:
    return f"{rule} ({cards.all_cards()[rule].name})"

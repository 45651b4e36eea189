"""Findings → edits of the template that are proved: applied, observed again, kept where nothing else changed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from templatelint import lint
from templatelint.fix import proof, writing
from templatelint.fix.code import disjoint, read
from templatelint.fix.cures import for_rule
from templatelint.model import SEVERITIES
from templatelint.syntax import TemplateSyntax, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.engines import Engine
    from templatelint.fix.cure import Cure
    from templatelint.fix.proof import Cells
    from templatelint.model import Finding, Model, Report, Severity, Template

    Judge = Callable[[Model], Report]

_FIXES = 40  # of one model: a template that still has some is left with them
_TRIES = 40  # edits for one finding and cure of which it is seen whether they cure
_PROPOSALS = 200  # edits that are looked at to find these
_PROOFS = 5  # of those that do, which are observed everywhere
_PEERS = 4  # engines, of the default set, with which a cell that was healed may agree
_JUDGED = 400  # edits of one model of which it is seen what there is to say
# of processor time for one model; real templates take up to 9, half as much again where the machine is busy
_SECONDS = 15.0
ACCEPTS = "--unsafe-fixes accepts that"
UNSAFE = f"it changes what the author may have meant: {ACCEPTS}"
UNTRIED = "not tried: the fixes before it took all the time there is for one model"
_UNKNOWN = "no edit that is known cures it"


@dataclass(frozen=True)
class Fixed:
    """A finding that was cured.

    Attributes:
        finding: as it was reported before.
        kind: what was done, for people.
        safe: nothing changed outside its evidence.
    """

    finding: Finding
    kind: str
    safe: bool


@dataclass(frozen=True)
class Refused:
    """A finding that a cure is known for, and why it was not applied."""

    finding: Finding
    kind: str
    why: str


@dataclass(frozen=True)
class Outcome:
    """What became of a model.

    Attributes:
        model: as it reads now.
        report: what there is to say of it now.
        fixed: in the order in which it was done.
        refused: what had a cure that did not pass the proof, or was not tried.
    """

    model: Model
    report: Report
    fixed: tuple[Fixed, ...] = ()
    refused: tuple[Refused, ...] = ()


def _spent() -> float:
    """Processor time so far, that of children that have ended included."""
    return sum(os.times()[:4])


class _Enough(Exception):
    """One model has had its share of work."""


@dataclass
class _Fixer:
    """One model on its way.

    Attributes:
        options: of every rule, for what an edit brings up.
        unsafe: also what changes what the author decided.
        hopeless: findings, by fingerprint and cure, for which no edit is known.
    """

    options: lint.Options
    unsafe: bool
    hopeless: set[tuple[str, str]] = field(default_factory=set)
    _judged: int = 0
    _begun: float = field(default_factory=_spent)
    _seen: dict[tuple[str, str], Cells] = field(default_factory=dict)
    _reports: dict[tuple[str, str], Report] = field(default_factory=dict)

    def _judge(self, model: Model, options: lint.Options) -> Report:
        """What there is to say of a model.

        Raises:
            _Enough: it has been asked too often, or for too long.
        """
        self._judged += 1
        if self._judged > _JUDGED or _spent() - self._begun > _SECONDS:
            raise _Enough
        return lint.lint([model], options)

    def attempt(self, model: Model, finding: Finding, cure: Cure) -> tuple[Model | None, str]:
        """The model with the finding cured and all else as it was; or None, and why not, where an edit is known."""
        template = model.template(finding.template)
        if template is None:
            return None, ""
        tried: set[str] = set()
        why = ""
        for cured in islice(self._cured(model, template, finding, cure, tried), _PROOFS):
            problem = self._problem(model, cured, template.name, finding, cure)
            if not problem:
                return cured, ""
            why = why or problem
        return None, why or (_UNKNOWN if tried else "")

    def _cured(
        self, model: Model, template: Template, finding: Finding, cure: Cure, tried: set[str]
    ) -> Iterator[Model]:
        """Edits after which the rule is silent; where one only moves the failure on, further ones on top of it."""
        waiting: list[tuple[Model, Finding, int]] = [(model, finding, cure.steps)]
        while waiting:
            current, left, steps = waiting.pop()
            now = current.template(template.name) or template
            code = read(now.source)
            if code is None:
                continue
            further: list[tuple[Model, Finding, int]] = []
            for edits in filter(disjoint, islice(cure.propose(left, code), _PROPOSALS)):
                changed = writing.revised(current, now, edits)
                after = changed.template(template.name) or template
                if after.source in {template.source, *tried} or not _parses(after.source):
                    continue
                tried.add(after.source)
                if len(tried) > _TRIES:
                    return
                still = self._still(changed, finding)
                if still is None:
                    yield changed
                elif steps > 1 and (still.span, still.message) != (left.span, left.message):
                    further.append((changed, still, steps - 1))
            waiting.extend(reversed(further))

    def _still(self, model: Model, finding: Finding) -> Finding | None:
        """What the rule still reports of it."""
        options = replace(self.options, select=(finding.rule,), engines=finding.engines)
        one = replace(model, templates=tuple(t for t in model.templates if t.name == finding.template), picked=True)
        report = self._judge(one if len(model.templates) == 1 else model, options)
        evidence = set(finding.evidence)
        return next(
            (
                found
                for found in report.findings
                if found.template == finding.template
                and (found.fingerprint == finding.fingerprint or not evidence.isdisjoint(found.evidence))
            ),
            None,
        )

    def _problem(self, before: Model, after: Model, name: str, finding: Finding, cure: Cure) -> str:
        """What speaks against an edit that cures its finding; empty where nothing does."""
        own, other = self._cells(before, name), self._cells(after, name)
        for engine in proof.ordered(())[:_PEERS]:
            own.of(engine)
        engines = proof.ordered(finding.engines)
        count = len(finding.engines)
        return (
            self._changed(own, other, engines[:count], finding, cure)
            or self._brought(before, after, own)
            or self._changed(own, other, engines[count:], finding, cure)
        )

    def _changed(self, own: Cells, other: Cells, engines: Sequence[Engine], finding: Finding, cure: Cure) -> str:
        """The first change on these engines that the cure may not make, in words."""
        evidence = set() if cure.exact else set(finding.evidence)
        for engine in engines:
            if _spent() - self._begun > _SECONDS:
                raise _Enough
            if not own.loads(engine):
                continue  # nothing worked there
            if not other.loads(engine):
                return f"it would not load on {engine.name} any more"
            for change in proof.changes(own, other, engine):
                if (change.case.id, change.engine) in evidence or cure.allows(change):
                    continue
                if cure.safe or not self.unsafe or change.broken:
                    return f"it would change {change.said()}"
        return ""

    def _brought(self, before: Model, after: Model, own: Cells) -> str:
        """A warning or an error that was not there before, or not as grave, in words.

        What stood behind the failure comes to light once it is cured; that is accepted with the unsafe fixes.
        """
        known = {found.fingerprint: found for found in self._report(before).findings}
        for found in self._report(after).findings:
            told = known.get(found.fingerprint)
            graver = SEVERITIES.index(found.severity) < SEVERITIES.index(told.severity if told else "note")
            if not graver:
                continue
            fresh = set(found.evidence).difference(told.evidence if told else ())
            if fresh and all(own.failed(case_id, name) for case_id, name in fresh):
                if self.unsafe or told:  # that it now weighs more is due to what could not show it
                    continue
                return f"{found.rule} would come to light ({found.message}): {ACCEPTS}"
            return f"it would bring up {found.rule} ({found.message})"
        return ""

    def _report(self, model: Model) -> Report:
        key = _key(model)
        if key not in self._reports:
            self._reports[key] = self._judge(model, self.options)
        return self._reports[key]

    def _cells(self, model: Model, name: str) -> Cells:
        template = model.template(name)
        if template is None:
            raise LookupError(name)
        key = (name, template.sha256)
        if key not in self._seen:
            self._seen[key] = proof.Cells(model, template)
        return self._seen[key]


def fix(  # noqa: PLR0913 (what there is to cure, and how far to go)
    model: Model,
    report: Report,
    judge: Judge,
    options: lint.Options,
    *,
    unsafe: bool = False,
    least: Severity = "warning",
) -> Outcome:
    """Cure what can be cured without any other change.

    One finding at a time, after each of which everything is judged again, so that fixes cannot be in each other's way.

    Args:
        model: what a reference resolved to.
        report: what there is to say of it.
        judge: what there is to say of it once it is changed: the findings that the user is to get; what this
            suppresses is not fixed.
        options: the engines and needs to judge by.
        unsafe: also cures that change what the author may have meant. They too must cure their finding, may break
            nothing that rendered, and bring up nothing new.
        least: findings below this severity are left.
    """
    if all(not for_rule(finding.rule) for finding in report.findings):
        return Outcome(model, report)
    whole = replace(options, select=(), extend_select=(), ignore=(), jobs=1)
    fixer = _Fixer(whole, unsafe)
    fixed: list[Fixed] = []
    refused: dict[tuple[str, str], Refused] = {}
    while len(fixed) < _FIXES:
        step = _step(fixer, model, report, refused, SEVERITIES.index(least))
        if step is None:
            break
        model, done = step
        fixed.append(done)
        report = judge(model)
    left = {finding.fingerprint for finding in report.findings}
    return Outcome(
        model,
        report,
        tuple(fixed),
        tuple(row for (fingerprint, _), row in refused.items() if fingerprint in left),
    )


def _step(
    fixer: _Fixer,
    model: Model,
    report: Report,
    refused: dict[tuple[str, str], Refused],
    least: int,
) -> tuple[Model, Fixed] | None:
    for finding in report.findings:
        if SEVERITIES.index(finding.severity) > least:
            continue
        for cure in for_rule(finding.rule):
            key = (finding.fingerprint, cure.kind)
            if key in refused or key in fixer.hopeless:
                continue
            if not cure.safe and not fixer.unsafe:
                refused[key] = Refused(finding, cure.kind, UNSAFE)
                continue
            try:
                after, why = fixer.attempt(model, finding, cure)
            except _Enough:
                after, why = None, UNTRIED
            if after is not None:
                return after, Fixed(finding, cure.kind, cure.safe)
            if why:
                refused[key] = Refused(finding, cure.kind, why)
            else:
                fixer.hopeless.add(key)
    return None


def _key(model: Model) -> tuple[str, str]:
    return model.ref, " ".join(template.sha256 for template in model.templates)


def _parses(source: str) -> bool:
    try:
        parse(source)
    except TemplateSyntax:
        return False
    return True

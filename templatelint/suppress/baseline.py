"""A baseline file → the findings that it accepts, what is stale in it, and the file anew."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from templatelint import cards
from templatelint.errors import TemplatelintError, clip
from templatelint.model import SEVERITIES, Lines, Place, Suppressed
from templatelint.nearest import unknown
from templatelint.suppress import unused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.model import Finding, Report, Severity
    from templatelint.suppress.scope import Scope

VERSION = 1
_MESSAGE = 200  # characters of a message that are kept for people
_TEXTS = ("path", "rule", "fingerprint")  # what an entry cannot do without
_OTHERS = ("template", "severity", "message", "reason")
_NAME = "name"  # written for people, not read
_DEFAULT = "default"
_WRITTEN = re.compile(r'"fingerprint": "([^"\\]*+)"')

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Entry:
    """A finding as it was accepted.

    Attributes:
        path: the file that holds the template, a real path.
        template: the template's name; empty for what is said of the model as a whole.
        engines: on these it is accepted; what shows on another one is new.
        severity: a note is accepted as a note only.
        message: for people.
        reason: the user's words; may be empty.
    """

    path: str
    template: str
    rule: str
    fingerprint: str
    engines: frozenset[str]
    severity: Severity
    message: str = ""
    reason: str = ""

    @property
    def key(self) -> Key:
        """What makes it the same finding."""
        return self.path, self.rule, self.fingerprint

    def accepts(self, finding: Finding) -> bool:
        """Whether a finding of the same key is what was accepted."""
        graver = self.severity == "note" != finding.severity
        return not graver and self.engines.issuperset(finding.engines)


@dataclass(frozen=True)
class Baseline:
    """What a file accepts.

    Attributes:
        path: the file as the user named it.
        text: what it says.
    """

    path: str
    entries: tuple[Entry, ...] = ()
    text: str = field(default="", repr=False)


# ---------------------------------------------------------------------------------------------- reading


def read(path: str) -> Baseline:
    """The baseline in a file.

    Raises:
        TemplatelintError: it cannot be read, or is no baseline.
    """
    from templatelint.sources import json_object

    text, body = json_object.read(path)
    if body.get("version") != VERSION or not isinstance(body.get("findings"), list):
        raise TemplatelintError(
            f"{path} is no baseline of this version: it has not both version {VERSION} and a list of findings",
            help="--write-baseline FILE makes one",
        )
    folder = _folder(path)
    entries = [_entry(path, folder, number, row) for number, row in enumerate(body["findings"], 1)]
    return Baseline(path, tuple(entries), text)


def _entry(path: str, folder: str, number: int, row: object) -> Entry:
    where = f"{path}: finding {number}"
    if not isinstance(row, dict):
        raise TemplatelintError(f"{where} is no object")
    _check(where, row)
    rule, severity = row["rule"], row.get("severity", SEVERITIES[0])
    if rule not in cards.all_cards():
        raise unknown("rule", rule, cards.all_cards(), where=f"{where}: ")
    if severity not in SEVERITIES:
        raise unknown("severity", severity, SEVERITIES, where=f"{where}: ")
    return Entry(
        _real(row["path"], folder),
        row.get("template", _DEFAULT),
        rule,
        row["fingerprint"],
        frozenset(row.get("engines", ())),
        severity,
        row.get("message", ""),
        row.get("reason", ""),
    )


def _check(where: str, row: Mapping[str, Any]) -> None:
    """Raise for a member that is missing, not known, or of the wrong type."""
    for name in row:
        if name not in (*_TEXTS, *_OTHERS, _NAME, "engines"):
            raise unknown("member", name, (*_TEXTS, *_OTHERS, "engines"), where=f"{where}: ")
    for name in _TEXTS:
        if not isinstance(row.get(name), str) or not row[name]:
            raise TemplatelintError(f'{where} has no "{name}"')
    for name in _OTHERS:
        if not isinstance(row.get(name, ""), str):
            raise TemplatelintError(f'{where}: "{name}" is no string')
    engines = row.get("engines", [])
    if not isinstance(engines, list) or not all(isinstance(name, str) for name in engines):
        raise TemplatelintError(f'{where}: "engines" is no list of strings')


def _folder(path: str) -> str:
    return _real(str(Path(path).parent))


def _real(path: str, folder: str | None = None) -> str:
    """The one name of a file; text without a name of its own (standard input) has what it is called by."""
    if path.startswith("<"):
        return path
    try:
        return os.path.realpath(path if folder is None else Path(folder, path))
    except (OSError, ValueError):  # the working directory is gone; a name that no file can have
        return path


# --------------------------------------------------------------------------------------------- accepting


def applied(report: Report, baseline: Baseline, models: Iterable[str], scope: Scope) -> Report:
    """Set what the baseline accepts apart, and say which of its entries are stale.

    Args:
        report: what was found and is not accepted otherwise.
        baseline: what is accepted.
        models: the references that took part.
        scope: what was judged.
    """
    entries = _by_key(baseline.entries)
    places = _places(baseline)
    kept: list[Finding] = []
    apart: list[Suppressed] = []
    for finding in report.findings:
        entry = entries.get(_key(finding))
        if entry is None or not entry.accepts(finding):
            kept.append(finding)
        else:
            apart.append(Suppressed(finding, "baseline", entry.reason, places.get(entry.fingerprint)))
    report = replace(report, findings=tuple(kept), suppressed=(*report.suppressed, *apart))
    if not scope.tells:
        return report
    stale = [
        unused.finding(
            f"the baseline accepts {entry.rule} ({cards.all_cards()[entry.rule].name}) in "
            f"{_relative(entry.path, _real('.'))}, which is no longer found",
            f"--write-baseline {baseline.path} takes it out",
            baseline.path,
            places.get(entry.fingerprint, Place(baseline.path, 1, 1)),
            scope.weight,
            cause="\0".join(entry.key),
        )
        for entry in _stale(baseline.entries, report, models, scope)
    ]
    return unused.among(report, stale)


def _by_key(entries: Iterable[Entry]) -> Mapping[Key, Entry]:
    """One entry a finding; what several accept is accepted."""
    found: dict[Key, Entry] = {}
    for entry in entries:
        known = found.get(entry.key)
        found[entry.key] = entry if known is None else replace(known, engines=known.engines | entry.engines)
    return found


def _key(finding: Finding) -> Key:
    return _real(finding.place.path), finding.rule, finding.fingerprint


def _places(baseline: Baseline) -> Mapping[str, Place]:
    """Fingerprint → where it stands in the file."""
    lines = Lines(baseline.text)
    return {found[1]: Place(baseline.path, *lines.line_of(found.start())) for found in _WRITTEN.finditer(baseline.text)}


def _stale(entries: Iterable[Entry], report: Report, models: Iterable[str], scope: Scope) -> Iterator[Entry]:
    """The entries of what was judged in this run and is not found."""
    told = (*scope.report.findings, *report.findings, *(row.finding for row in report.suppressed))
    found = {_key(finding) for finding in told}
    refs: dict[tuple[str, str], str] = {(_real(ref), ""): ref for ref in models}
    refs |= {(_real(use.path), use.name): use.ref for use in scope.report.templates}
    for entry in entries:
        ref = refs.get((entry.path, entry.template))
        if ref is not None and entry.key not in found and scope.judged(entry.rule, ref, entry.engines or None):
            yield entry


# ----------------------------------------------------------------------------------------------- writing


def renewed(
    report: Report, baseline: Baseline, models: Sequence[str], scope: Scope, accepted: AbstractSet[Severity]
) -> tuple[Entry, ...]:
    """What a baseline holds after this run.

    Args:
        report: what was found and is not accepted otherwise.
        baseline: what was accepted before; its reasons stay, and so does what this run did not judge.
        models: the references that took part.
        scope: what was judged.
        accepted: findings of these severities are accepted from now on.
    """
    known = dict(_by_key(baseline.entries))
    stale = {entry.key for entry in _stale(baseline.entries, report, models, scope)}
    kept = {key: entry for key, entry in known.items() if key not in stale and _is_there(entry.path)}
    for finding in report.findings:
        key = _key(finding)
        before = known.get(key)
        if finding.severity not in accepted and before is None:
            continue
        unasked = before.engines - scope.engines if before else frozenset()
        kept[key] = Entry(
            key[0],
            finding.template,
            finding.rule,
            finding.fingerprint,
            unasked.union(finding.engines),
            finding.severity,
            clip(finding.message, _MESSAGE),
            before.reason if before else "",
        )
    return tuple(kept.values())


def _is_there(path: str) -> bool:
    return path.startswith("<") or os.path.lexists(path)


def written(path: str, entries: Iterable[Entry]) -> str:
    """The text of the file at `path` that holds the entries: sorted, without line numbers."""
    import json

    folder = _folder(path)
    rows = sorted((_row(entry, folder) for entry in entries), key=_order)
    # ASCII only, as all JSON of ours
    return json.dumps({"version": VERSION, "findings": rows}, indent=2) + "\n"


def _order(row: Mapping[str, Any]) -> tuple[str, ...]:
    return row["path"], row.get("template", ""), row["rule"], row["fingerprint"]


def _row(entry: Entry, folder: str) -> dict[str, Any]:
    row: dict[str, Any] = {"path": _relative(entry.path, folder)}
    if entry.template != _DEFAULT:
        row["template"] = entry.template
    row |= {
        "rule": entry.rule,
        "name": cards.all_cards()[entry.rule].name,
        "severity": entry.severity,
        "engines": sorted(entry.engines),
        "message": entry.message,
        "fingerprint": entry.fingerprint,
    }
    if entry.reason:
        row["reason"] = entry.reason
    return row


def _relative(path: str, folder: str) -> str:
    """The path as seen from a folder, with `/`; whole where no way leads there."""
    if path.startswith("<"):
        return path
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return Path(path).as_posix()

"""A baseline file → the findings that it accepts, what is stale in it, and the file anew."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from templatelint import cards
from templatelint.engines import ENGINES
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
_WRITTEN = re.compile(r'"fingerprint"\s*+:\s*+"')
_MARK = b"\xef\xbb\xbf"

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
        place: where it stands in its file; None where that is not known.
    """

    path: str
    template: str
    rule: str
    fingerprint: str
    engines: frozenset[str]
    severity: Severity
    message: str = ""
    reason: str = ""
    place: Place | None = field(default=None, compare=False)

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
    """

    path: str
    entries: tuple[Entry, ...] = ()


# ---------------------------------------------------------------------------------------------- reading


def read(path: str) -> Baseline:
    """The baseline in a file.

    Raises:
        TemplatelintError: it cannot be read, or is no baseline.
    """
    from templatelint.sources import opening

    return parsed(opening.read_bytes(path, opening.MAX_JSON, "a JSON file"), path)


def parsed(raw: bytes, path: str) -> Baseline:
    """The baseline that the bytes of a file hold.

    Raises:
        TemplatelintError: it is no baseline.
    """
    from templatelint.sources import json_object

    raw = raw.removeprefix(_MARK)
    if not raw.strip():
        raise TemplatelintError(f"{path} is empty", help=f"--write-baseline {path} fills it")
    text, body = json_object.parse(raw, path)
    if body.get("version") != VERSION or not isinstance(body.get("findings"), list):
        raise TemplatelintError(
            f"{path} is no baseline of this version: it has not both version {VERSION} and a list of findings",
            help="--write-baseline FILE makes one",
        )
    folder = _folder(path)
    rows = body["findings"]
    entries = [_entry(path, folder, number, row) for number, row in enumerate(rows, 1)]
    places = [Place(path, *line) for line in _lines(text)]
    if len(places) == len(entries):  # else something else in the file is called so
        entries = [replace(entry, place=place) for entry, place in zip(entries, places, strict=True)]
    return Baseline(path, tuple(entries))


def is_empty(path: str) -> bool:
    """Whether the file is there and holds nothing yet."""
    from templatelint.sources import opening

    found = opening.status(path)
    return found is not None and stat.S_ISREG(found.st_mode) and not found.st_size


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Line and column of each fingerprint."""
    lines = Lines(text)
    return (lines.line_of(found.start()) for found in _WRITTEN.finditer(text))


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
    for name in row.get("engines", ()):
        if name not in ENGINES:
            raise unknown("engine", name, ENGINES, where=f"{where}: ")
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
    kept: list[Finding] = []
    apart: list[Suppressed] = []
    for finding in report.findings:
        entry = entries.get(_key(finding))
        if entry is None or not entry.accepts(finding):
            kept.append(finding)
        else:
            apart.append(Suppressed(finding, "baseline", entry.reason, entry.place))
    report = replace(report, findings=tuple(kept), suppressed=(*report.suppressed, *apart))
    if not scope.tells:
        return report
    stale = [
        unused.finding(
            f"the baseline accepts {entry.rule} ({cards.all_cards()[entry.rule].name}) in "
            f"{clip(_relative(entry.path, _real('.')), _MESSAGE)}, which is "
            f"{'no longer found' if _is_there(entry.path) else 'gone'}",
            f"--write-baseline {baseline.path} takes it out",
            baseline.path,
            entry.place or Place(baseline.path, 1, 1),
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


def _stale(entries: Iterable[Entry], report: Report, models: Iterable[str], scope: Scope) -> Iterator[Entry]:
    """The entries of what was judged in this run and is not found, and of files that are gone."""
    told = (*scope.report.findings, *report.findings, *(row.finding for row in report.suppressed))
    found = {_key(finding) for finding in told}
    refs: dict[tuple[str, str], str] = {(_real(ref), ""): ref for ref in models}
    refs |= {(_real(use.path), use.name): use.ref for use in scope.report.templates}
    for entry in entries:
        ref = refs.get((entry.path, entry.template))
        if entry.key in found:
            continue
        if not _is_there(entry.path) if ref is None else scope.judged(entry.rule, ref, entry.engines or None):
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

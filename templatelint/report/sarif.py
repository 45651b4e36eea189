"""Report → SARIF 2.1.0, as code scanning services read it: rules with their pages, results, what was not run."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from templatelint import __version__, cards
from templatelint.report import statistics
from templatelint.report.evidence import rerun
from templatelint.report.rule_page import facts, section
from templatelint.report.summary import EVERY
from templatelint.report.terminal import visible, visible_block
from templatelint.report.uris import ROOT, absolute, artifact, working_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import PurePath

    from templatelint.model import Card, Finding, Impact, NotRun, Place, Report, Severity, Suppressed
    from templatelint.report import Setting

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_PROJECT = "https://github.com/templatelint/templatelint"
_DESCRIPTION = 1_000  # characters; code scanning takes 1,024
_LEVELS: Mapping[Impact, Severity] = {"breaks": "error", "degrades": "warning", "informs": "note"}
_PROBLEMS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "note": "recommendation"}
_KINDS = {"comment": "inSource"}
_NOTIFICATIONS = {
    "unreadable": "A reference could not be read: nothing is known of it.",
    "not-run": "A check gave no verdict, or an engine could not be asked: that nothing is said of it means nothing.",
    "understood-as": "How a reference was understood, where that decides what was judged.",
}
# In a message of SARIF, `[text](1)` and `[text](https://…)` are links; what a template brings must not become one.
_LINK = re.compile(r"\](?=\()")


def write(report: Report, setting: Setting) -> Iterator[str]:
    """One log with one run; each result stands on a line of its own."""
    root = working_directory()
    known = cards.all_cards()
    index = {rule: number for number, rule in enumerate(known)}
    driver = {
        "name": "templatelint",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": _PROJECT,
        "rules": [_rule(card) for card in known.values()],
        "notifications": [_notification_kind(name, text) for name, text in _NOTIFICATIONS.items()],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: _base(root)},
        "invocations": [_invocation(report, setting, index, root)],
        "properties": _properties(report, setting),
    }
    head = _dumped({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})
    yield f'{head.removesuffix("}]}")}, "results": ['
    results = [
        *(_result(finding, index, root, setting) for finding in report.findings),
        *(_suppressed(row, index, root, setting) for row in report.suppressed),
    ]
    for number, result in enumerate(results):
        yield ("," if number else "") + "\n" + _dumped(result)
    yield "\n]}]}\n"


def _dumped(value: object) -> str:
    # ASCII, and hidden or half characters spelt out: the strict parsers of some readers refuse the latter
    return json.dumps(_legible(value))


def _legible(value: Any) -> Any:
    if isinstance(value, str):
        return visible_block(value)
    if isinstance(value, dict):
        return {visible(key): _legible(item) for key, item in value.items()}
    return [_legible(item) for item in value] if isinstance(value, list) else value


def _base(root: PurePath | None) -> dict[str, Any]:
    described = {"description": {"text": "The working directory."}}
    return described if root is None else {"uri": absolute(root).rstrip("/") + "/", **described}


def _properties(report: Report, setting: Setting) -> dict[str, Any]:
    body: dict[str, Any] = {
        **setting.members,
        "engines": [
            {"name": use.name, "renderer": use.renderer, "version": use.version, "emulated": use.emulated}
            for use in report.engines
        ],
        "templates": [
            {"ref": use.ref, "name": use.name, "path": use.path, "sha256": use.sha256} for use in report.templates
        ],
    }
    if setting.statistics:
        body["statistics"] = [
            {"rule": first.rule, "name": first.name, "severity": first.severity, "count": count}
            for first, count in statistics(report)
        ]
    return body


# ------------------------------------------------------------------------------------------------ the rules


def _rule(card: Card) -> dict[str, Any]:
    found = section(card.prose, "What it finds")
    level = _LEVELS[card.impact]
    return {
        "id": card.id,
        "name": card.name,
        "shortDescription": {"text": _sentence(card.title)},
        "fullDescription": {"text": _cut(found or _sentence(card.title))},
        "help": {
            "text": "\n\n".join(filter(None, (_sentence(card.title), found, section(card.prose, "Why it matters")))),
            "markdown": f"{_sentence(card.title)}\n\n{facts(card)}\n\n{card.prose}",
        },
        "helpUri": f"{_PROJECT}/blob/main/rules/{card.id}.md",
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": ["chat-template", card.need, card.impact],
            "precision": "high",
            "problem.severity": _PROBLEMS[level],
            "need": card.need,
            "impact": card.impact,
        },
    }


def _cut(text: str) -> str:
    return text if len(text) <= _DESCRIPTION else f"{text[: _DESCRIPTION - 1]}…"


def _sentence(text: str) -> str:
    """The clause with the full stop that readers of SARIF expect."""
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


# ---------------------------------------------------------------------------------------------- the results


def _result(finding: Finding, index: Mapping[str, int], root: PurePath | None, setting: Setting) -> dict[str, Any]:
    """A finding as a result that nothing suppresses."""
    body: dict[str, Any] = {
        "ruleId": finding.rule,
        **({"ruleIndex": index[finding.rule]} if finding.rule in index else {}),
        "level": finding.severity,
        "message": {"text": _message(finding)},
        "locations": [{"physicalLocation": _location(finding.place, _region(finding), root)}],
        "partialFingerprints": {"templatelint/v1": finding.fingerprint},
        "suppressions": [],
        "properties": {
            "ref": finding.ref,
            "template": finding.template,
            "engines": [*finding.engines],
            "needs": [*finding.needs],
            "evidence": [{"case": case, "engine": engine} for case, engine in finding.evidence],
            "command": rerun(finding, setting.replay),
        },
    }
    if finding.span is not None:
        body["properties"]["excerpt"] = {
            "line": finding.excerpt_line,
            "column": finding.excerpt_column,
            "text": finding.excerpt,
        }
    if not finding.locatable:  # services compute this one from the line, and there is none
        body["partialFingerprints"]["primaryLocationLineHash"] = f"{finding.fingerprint}:1"
    if finding.related:
        body["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": _location(
                    other.place, _span(other.place, other.end) if finding.locatable else {}, root
                ),
                "message": {"text": _plain(other.message)},
            }
            for number, other in enumerate(finding.related, 1)
        ]
    return body


def _suppressed(row: Suppressed, index: Mapping[str, int], root: PurePath | None, setting: Setting) -> dict[str, Any]:
    suppression: dict[str, Any] = {"kind": _KINDS.get(row.kind, "external"), "status": "accepted"}
    if row.reason:
        suppression["justification"] = row.reason
    if row.place is not None:
        region = {"startLine": row.place.line, "startColumn": row.place.column}
        suppression["location"] = {"physicalLocation": _location(row.place, region, root)}
    suppression["properties"] = {"by": row.kind}
    return {**_result(row.finding, index, root, setting), "suppressions": [suppression]}


def _message(finding: Finding) -> str:
    """What is wrong, where and what to do, a sentence each; links lead to the related places."""
    lines = [_sentence(_plain(finding.message))]
    if finding.engines:
        lines.append(f"On {_plain(', '.join(finding.engines))}.")
    if finding.help:
        lines.append(f"Help: {_sentence(_plain(finding.help))}")
    for number, other in enumerate(finding.related, 1):
        text = visible(other.message).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
        lines.append(f"See [{text}]({number}).")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """One line of text that makes no link.

    Braces stay single although SARIF reserves them for placeholders: no message here has arguments, readers show the
    text as it is, and a cure with doubled ones would be wrong Jinja.
    """
    return _LINK.sub("] ", visible(text))


def _location(place: Place, region: Mapping[str, Any], root: PurePath | None) -> dict[str, Any]:
    return {"artifactLocation": artifact(place.path, root), **({"region": region} if region else {})}


def _region(finding: Finding) -> dict[str, Any]:
    if not finding.locatable:
        return {}
    if finding.span is None:
        return {"startLine": finding.place.line, "startColumn": finding.place.column}
    return _span(finding.place, finding.end)


def _span(start: Place, end: Place) -> dict[str, int]:
    return {
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    }


# ------------------------------------------------------------------------------------------- how the run went


def _invocation(report: Report, setting: Setting, index: Mapping[str, int], root: PurePath | None) -> dict[str, Any]:
    told = [
        *(
            _notification("unreadable", "error", f"{row.message}{f' ({row.help})' if row.help else ''}", row.ref, root)
            for row in setting.unreadable
        ),
        *_not_run(report.not_run, index, root),
        *(_notification("understood-as", "note", row.text, row.ref, root) for row in setting.remarks),
    ]
    return {
        "executionSuccessful": not setting.unreadable,
        "exitCode": setting.exit_code,
        "toolExecutionNotifications": told,
    }


def _not_run(rows: Iterable[NotRun], index: Mapping[str, int], root: PurePath | None) -> Iterator[dict[str, Any]]:
    for row in rows:
        body = _notification("not-run", "note", row.why, row.ref, root)
        if row.rule != EVERY:
            number = {"index": index[row.rule]} if row.rule in index else {}
            body["associatedRule"] = {"id": row.rule, **number}
        yield body


def _notification_kind(name: str, text: str) -> dict[str, Any]:
    said = {"text": text}
    return {"id": name, "shortDescription": said, "fullDescription": said, "help": said}


def _notification(name: str, level: Severity, text: str, ref: str, root: PurePath | None) -> dict[str, Any]:
    body: dict[str, Any] = {
        "descriptor": {"id": name, "index": [*_NOTIFICATIONS].index(name)},
        "level": level,
        "message": {"text": _sentence(_plain(text if ref == EVERY else f"{ref}: {text}"))},
    }
    if ref != EVERY:
        path = ref.partition("#")[0] or ref
        body["locations"] = [{"physicalLocation": {"artifactLocation": artifact(path, root)}}]
    return body

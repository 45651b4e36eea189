"""A fleet → one JSON object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from templatelint.fleet import Fleet
    from templatelint.fleet.mend import Kept, Mend, Rule
    from templatelint.fleet.standing import Loss, Need
    from templatelint.fleet.terms import SharedTerm
    from templatelint.model import EngineUse, NotRun
    from templatelint.outcomes import Subject
    from templatelint.report import Remark, Unreadable


def write(  # noqa: PLR0913 (what a run consists of)
    fleet: Fleet,
    engines: Iterable[EngineUse],
    not_run: Iterable[NotRun],
    remarks: Iterable[Remark],
    unreadable: Iterable[Unreadable],
    *,
    exit_code: int,
) -> Iterator[str]:
    """One object; lists of grades and flags are in the order of `models`."""
    standings = fleet.standings
    yield (
        json.dumps(
            {
                "version": 1,
                "models": [{"ref": ref} for ref in fleet.refs],
                "engines": [
                    {"name": use.name, "renderer": use.renderer, "version": use.version, "emulated": use.emulated}
                    for use in engines
                ],
                "fleet": {
                    "needs": [_need(need) for need in standings.needs],
                    "subjects": [
                        {
                            "subject": subject.id,
                            "need": subject.need,
                            "grades": {
                                engine: list(standings.grades(engine, subject.id)) for engine in standings.engines
                            },
                        }
                        for subject in standings.relied
                    ],
                    "contract": {
                        "relies_on": [subject.id for subject in standings.taken],
                        "terms": [_term(term, fleet.refs) for term in fleet.terms],
                        "differs": [
                            {
                                "subject": one.subject.id,
                                "ways": {word: _refs(models, fleet) for word, models in one.ways},
                            }
                            for one in standings.apart
                        ],
                    },
                    "breaks": [_loss(loss, fleet) for loss in fleet.losses],
                    "unavailable": [
                        {"subject": lack.subject.id, "need": lack.subject.need, "engines": list(lack.engines)}
                        for lack in standings.lacks
                    ],
                    "unknown": [
                        {"ref": fleet.refs[model], "engine": engine, "why": why} for model, engine, why in fleet.unknown
                    ],
                    "launch": [
                        {"engine": one.engine, "flags": list(one.flags), "one_for_all": one.common}
                        for one in fleet.launchings
                    ],
                    "mend": _mend(fleet.mend, fleet),
                },
                "not_run": [{"ref": row.ref, "why": row.why} for row in not_run],
                "remarks": [{"ref": remark.ref, "text": remark.text} for remark in remarks],
                "unreadable": [{"ref": row.ref, "message": row.message, "help": row.help} for row in unreadable],
                "exit_code": exit_code,
            }
        )
        + "\n"
    )


def _refs(models: Iterable[int], fleet: Fleet) -> list[str]:
    return [fleet.refs[model] for model in models]


def _need(need: Need) -> dict[str, Any]:
    return {
        "need": need.name,
        "status": need.status,
        "grades": list(need.grades),
        "engines": list(need.engines),
        "common": list(need.common),
    }


def _term(term: SharedTerm, refs: Sequence[str]) -> dict[str, Any]:
    return {
        "id": term.id,
        "text": term.text,
        "models": [
            {"ref": refs[party.model], "engines": list(party.engines), "everywhere": party.everywhere}
            for party in term.parties
        ],
        "opposed": list(term.opposed),
    }


def _loss(loss: Loss, fleet: Fleet) -> dict[str, Any]:
    return {
        "ref": fleet.refs[loss.model],
        "need": loss.subject.need,
        "subject": loss.subject.id,
        "verdict": loss.verdict,
        "word": loss.word,
        "engines": list(loss.engines),
        "message": loss.message,
        "help": loss.help,
        "follows": loss.follows or None,
        "evidence": [{"engine": engine, "case": case} for engine, case in loss.cells],
    }


def _mend(mend: Mend, fleet: Fleet) -> dict[str, Any]:
    return {
        "rules": [_rule(rule, fleet) for rule in mend.rules],
        "launch": [{"ref": fleet.refs[one.model], "engine": one.engine, "flags": one.flags} for one in mend.relaunches],
        "templates": [
            {"ref": fleet.refs[one.model], "has_to": _ids(one.has_to), "launch": dict(one.launch)}
            for one in mend.overrides
        ],
        "leave_out": [
            {"ref": fleet.refs[one.model], "engines": list(one.engines), "lost": _ids(one.lost)}
            for one in mend.removals
        ],
        "then": [_kept(need) for need in mend.then],
        "given_up": list(mend.given_up),
        "rules_alone": None
        if mend.alone is None
        else {
            "then": [_kept(need) for need in mend.alone.then],
            "further": [_rule(rule, fleet) for rule in mend.alone.further],
        },
    }


def _rule(rule: Rule, fleet: Fleet) -> dict[str, Any]:
    return {
        "id": rule.id,
        "text": rule.text,
        "models": _refs(rule.models, fleet),
        "engines": list(rule.engines),
        "gives_up": rule.gives_up or None,
    }


def _kept(kept: Kept) -> dict[str, Any]:
    return {"need": kept.need, "engines": list(kept.engines)}


def _ids(subjects: Iterable[Subject]) -> list[str]:
    return [subject.id for subject in subjects]

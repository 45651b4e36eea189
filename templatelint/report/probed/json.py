"""What probing gave → one JSON object: each check with the request that decided it and the raw answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from templatelint.report.probed import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.probe import Probed
    from templatelint.probe.verdict import Result
    from templatelint.probe.wire.exchange import Asked, Exchange
    from templatelint.report.probed import Look, Run

_BODY = 1 << 20  # characters of a body; no answer of a bounded request is longer


def write(run: Run, look: Look) -> Iterator[str]:
    """One object; each check stands on a line of its own."""
    del look  # machines get everything
    models = [_model(probed) for probed in run.probed]
    first = models[0] if models else {"server": {"kind": "", "version": ""}, "model": "", "scripted": None}
    head = {
        "version": 1,
        "endpoint": run.url,
        "answer": words.answer(run),
        **{name: first[name] for name in ("server", "model", "scripted")},
        "broken_off": run.trouble or next((one.broken_off for one in run.probed if one.broken_off), None),
        "remarks": [*run.remarks],
        "models": models,
        "apart": [
            {"id": apart.id, "name": apart.name, "failing": [*apart.failing], "passing": [*apart.passing]}
            for apart in run.apart
        ],
    }
    yield f'{json.dumps(head)[:-1]}, "checks": ['
    rows = [(probed, result) for probed in run.probed for result in probed.results]
    for number, (probed, result) in enumerate(rows):
        yield ("," if number else "") + "\n" + json.dumps(_check(probed, result))
    rest = {"summary": _summary(run), "exit_code": run.exit_code}
    yield f"\n],\n{json.dumps(rest)[1:]}\n"


def _model(probed: Probed) -> dict[str, Any]:
    return {
        "model": probed.model,
        "server": {"kind": probed.served.kind, "version": probed.served.version},
        "scripted": probed.scripted or None,
        "answer": words.of_one(probed),
        "summary": {**probed.summary},
        "broken_off": probed.broken_off or None,
    }


def _summary(run: Run) -> dict[str, int]:
    return {word: sum(one.summary[word] for one in run.probed) for word in words.TOLD}


def _check(probed: Probed, result: Result) -> dict[str, Any]:
    made = [{"request": _request(one.asked), "response": _response(one)} for one in result.exchanges]
    decisive: Mapping[str, Any] = made[-1] if made else {"request": None, "response": None}
    return {
        "id": result.id,
        "name": result.name,
        "model": probed.model,
        "verdict": result.verdict.word,
        "severity": result.severity,
        "message": result.verdict.message,
        "clause": result.clause,
        "help": result.verdict.help,
        "evidence": [*result.verdict.evidence],
        **decisive,
        "exchanges": made,
        "seconds": round(result.seconds, 3),
    }


def _request(asked: Asked) -> dict[str, Any]:
    return {"method": asked.method, "path": asked.path, "headers": {**asked.headers}, "body": asked.body}


def _response(exchange: Exchange) -> dict[str, Any]:
    """Status, headers and the body as it came; what a stream sent stays the text that it was."""
    return {
        "status": exchange.status,
        "headers": {**exchange.headers},
        "body": exchange.text[:_BODY],
        "left_out": exchange.left_out + max(0, len(exchange.text) - _BODY),
        "seconds": round(exchange.seconds, 3),
        "cut": exchange.cut,
        "left": exchange.left,
        "error": exchange.error or None,
    }

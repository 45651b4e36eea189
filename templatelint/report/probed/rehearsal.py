"""What a run would send → a page for people, or one JSON object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from templatelint.errors import clip
from templatelint.report.probed import exchanges
from templatelint.report.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from templatelint.probe.rehearsal import Planned
    from templatelint.probe.wire.exchange import Asked
    from templatelint.report.probed import Look

_BODY = 3_000  # characters, which all but a prompt beyond the context have less of
_COMMAND = 20_000  # characters of a command
_SCRIPTED = " (where the scripted model is served)"


def write_text(url: str, planned: Iterable[Planned], look: Look, *, keyed: bool) -> Iterator[str]:
    """A line a check, and a line a request; with `verbose`, as a line of a shell."""
    paint = look.paint
    first_sent: dict[object, str] = {}
    yield f"{paint(f'{visible(url)}: nothing was sent; this is what a run would send', 'bold')}\n"
    for each in planned:
        check = each.check
        name = "the first meeting" if check is None else check.id
        title = name if check is None else f"{check.id} {check.name}"
        scripted = check is not None and check.mode == "scripted"
        yield f"\n{paint(title, 'bold')}{_SCRIPTED if scripted else ''}\n"
        for asked, sent in zip(each.requests, each.sent, strict=True):
            sender = first_sent.setdefault(asked.key, name)
            if sent:
                line = look.verbose and exchanges.command(url, asked, _COMMAND, keyed=keyed)
                yield f"  {line or visible(_request(asked))}\n"
            elif sender != name:
                yield f"  {visible(f'{asked.method} {asked.path}')}: the answer to {sender}'s is taken\n"
        if each.elsewhere:
            also = ", ".join(visible(f"{asked.method} {asked.path}") for asked in each.elsewhere)
            yield f"  where /props is missing, also: {also}\n"
        if not each.requests:
            yield "  nothing\n"


def _request(asked: Asked) -> str:
    body = "" if asked.raw is None else f" {clip(asked.raw.decode('utf-8', 'surrogatepass'), _BODY)}"
    return f"{asked.method} {asked.path}{body}"


def write_json(url: str, planned: Iterable[Planned]) -> Iterator[str]:
    """One object; each request stands on a line of its own."""
    yield f'{{"version": 1, "dry_run": true, "endpoint": {json.dumps(url)}, "requests": ['
    first = True
    elsewhere: list[dict[str, Any]] = []
    for each in planned:
        elsewhere += ({"method": asked.method, "path": asked.path, "body": asked.body} for asked in each.elsewhere)
        for asked, sent in zip(each.requests, each.sent, strict=True):
            row: dict[str, Any] = {
                "id": each.check.id if each.check else None,
                "name": each.check.name if each.check else "first meeting",
                "scripted": each.check is not None and each.check.mode == "scripted",
                "method": asked.method,
                "path": asked.path,
                "headers": {**asked.headers},
                "body": asked.body,
                "sent": sent,
            }
            yield ("" if first else ",") + "\n" + json.dumps(row)
            first = False
    yield f"\n],\n{json.dumps({'without_props': elsewhere, 'exit_code': 0})[1:]}\n"

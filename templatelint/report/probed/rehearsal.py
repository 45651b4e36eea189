"""What a run would send → a page for people, or one JSON object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from templatelint.errors import clip
from templatelint.report.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from templatelint.probe.rehearsal import Planned
    from templatelint.report.terminal import Paint

_BODY = 3_000  # characters, which all but a prompt beyond the context have less of
_SCRIPTED = " (where the scripted model is served)"


def write_text(url: str, planned: Iterable[Planned], paint: Paint) -> Iterator[str]:
    """A line a check, and a line a request that no earlier check has sent."""
    first_sent: dict[object, str] = {}
    yield f"{paint(f'{visible(url)}: nothing was sent; this is what a run would send', 'bold')}\n"
    for each in planned:
        check = each.check
        name = "the first meeting" if check is None else check.id
        title = name if check is None else f"{check.id} {check.name}"
        scripted = check is not None and check.mode == "scripted"
        yield f"\n{paint(title, 'bold')}{_SCRIPTED if scripted else ''}\n"
        for asked in each.requests:
            sender = first_sent.setdefault(asked.key, name)
            body = "" if asked.raw is None else f" {clip(asked.raw.decode('utf-8', 'surrogatepass'), _BODY)}"
            told = body if sender == name else f": the answer to {sender}'s is taken"
            yield f"  {visible(f'{asked.method} {asked.path}{told}')}\n"
        if not each.requests:
            yield "  nothing\n"


def write_json(url: str, planned: Iterable[Planned], paint: Paint) -> Iterator[str]:
    """One object; each request stands on a line of its own."""
    del paint
    yield '{"version": 1, "dry_run": true, "requests": ['
    first = True
    for each in planned:
        for asked in each.requests:
            row: dict[str, Any] = {
                "id": each.check.id if each.check else None,
                "name": each.check.name if each.check else "first meeting",
                "scripted": each.check is not None and each.check.mode == "scripted",
                "method": asked.method,
                "path": asked.path,
                "headers": {**asked.headers},
                "body": asked.body,
            }
            yield ("" if first else ",") + "\n" + json.dumps(row)
            first = False
    yield f"\n],\n{json.dumps({'endpoint': url, 'exit_code': 0})[1:]}\n"

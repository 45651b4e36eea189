"""Plain replies of the chat route: complete, marked where they are cut, thoughts kept apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.probe.verdict import failed, passed
from templatelint.sources.endpoint.routes import rows, table, text

if TYPE_CHECKING:
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict


def reply_complete(endpoint: Endpoint) -> Verdict:
    """TL907."""
    reply = endpoint.chat(endpoint.prompts.plain)
    choices = rows(reply.value, "choices")
    if not choices:
        return failed("a reply without choices")
    content = text(table(choices[0].get("message")).get("content"))
    return passed(f"content is {content!r}")

"""A refusal of a member that every request has → the same request as the model takes it (OpenAI's o-series, GPT-5)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from templatelint.sources.endpoint.routes import table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from templatelint.probe.wire.exchange import Exchange

LIMIT, NEWER, TEMPERATURE = "max_tokens", "max_completion_tokens", "temperature"
_REFUSING = (400, 422)
_LONG = 4096  # characters of an answer that are looked at
# what a refusal of the member says of it, and one of its value or of the whole request does not
_WORDS = re.compile(
    r"support|deprecat|recogni[sz]|unknown|unexpected|permitted|allowed|instead|may only|only the default"
)


def refused(exchange: Exchange) -> str:
    """The member that a model does not take, though its value is a right one; empty where that is not what is said."""
    body = exchange.asked.body
    if exchange.status not in _REFUSING or not isinstance(body, dict):
        return ""
    named = table(exchange.object.get("error")).get("param")
    usual = [name for name in (LIMIT, TEMPERATURE) if _right(name, body.get(name))]
    if named in usual:
        return str(named)
    said = exchange.text[:_LONG].casefold()
    if not _WORDS.search(said):
        return ""
    return next((name for name in usual if re.search(rf"\b{name}\b", said)), "")


def _right(name: str, value: Any) -> bool:
    """Whether it is a value that the member may have wherever there is such a member."""
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return value > 0 if name == LIMIT else value == 0


def without(body: Mapping[str, Any], refused: Collection[str]) -> dict[str, Any]:
    """The same body without members that are refused; the limit of its answer has another name then."""
    names = {LIMIT: NEWER} if LIMIT in refused and NEWER not in body else {}
    return {
        names.get(name, name): value
        for name, value in body.items()
        if name in names or name not in refused or not _right(name, value)
    }

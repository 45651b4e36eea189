"""What a server tells of itself → how many tokens it takes, and a prompt that has more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.sources.endpoint.routes import rows, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.probe.endpoint import Endpoint

LARGEST = 1 << 18  # tokens: a prompt beyond a larger context has a megabyte and a half
_SMALLEST = 16
_ENDLESS = 1 << 40
_MORE = 64  # tokens beyond the context
_LETTERS = "qxzjkvwyfbgphmdlc"
_LONG = 5  # letters of a word


def size(endpoint: Endpoint) -> int:
    """Tokens that a prompt and its answer may have together; 0 where the server does not tell."""
    whole = (value for value in _told(endpoint) if isinstance(value, int) and not isinstance(value, bool))
    return next((value for value in whole if _SMALLEST <= value < _ENDLESS), 0)


def _told(endpoint: Endpoint) -> Iterator[Any]:
    if endpoint.served.kind in ("", "llama.cpp"):
        from urllib.parse import quote

        props = endpoint.get(f"/props?model={quote(endpoint.model, safe='')}")
        yield table(props.object.get("default_generation_settings")).get("n_ctx")
    launch = endpoint.served.model.launch if endpoint.served.model else None
    if launch is not None:
        for name in ("max_model_len", "context_length"):
            yield launch.settings.get(name)
    for row in rows(endpoint.get("/v1/models").value, "data"):
        if row.get("id") == endpoint.model:
            for name in ("max_model_len", "context_length", "context_window"):
                yield row.get(name)


def beyond(tokens: int) -> str:
    """A text of more tokens than that: words that no tokenizer has seen, of which none joins two."""
    count = len(_LETTERS)
    steps = range(1, _LONG + 1)
    return " ".join(
        "".join(_LETTERS[(number // step + number * step * step) % count] for step in steps)
        for number in range(tokens + _MORE)
    )

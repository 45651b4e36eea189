"""An answer in words: which errors are not about what was asked."""

from __future__ import annotations

import json

import pytest

from templatelint.probe.telling import busy, misread, used_up
from templatelint.probe.wire.exchange import Asked, Exchange

LIMIT = "Could not finish the message because max_tokens or model output limit was reached. Please try again."


def refused(status: int, **error: object) -> Exchange:
    return Exchange(Asked("POST", "/v1/chat/completions"), status, body=json.dumps({"error": error}).encode())


@pytest.mark.parametrize(
    ("exchange", "said"),
    [
        (refused(429, message="slow down"), "turns the request away"),
        (refused(402, message="no credit"), "turns the request away"),
        (refused(400, message=LIMIT), "the limit is used up"),
        (refused(400, message="filtered", code="content_filter"), "a filter"),
        (refused(400, message="filtered", code=None, innererror={"code": "ResponsibleAIPolicyViolation"}), "a filter"),
        (refused(400, message="litellm.ContentPolicyViolationError: no", code="400"), "a filter"),
        (refused(400, message="flagged as potentially violating our usage policy", code="invalid_prompt"), "a filter"),
    ],
)
def test_errors_that_are_not_about_the_request(exchange: Exchange, said: str) -> None:
    verdict = busy(exchange)
    assert verdict is not None
    assert verdict.word == "inconclusive"
    assert said in verdict.message


@pytest.mark.parametrize(
    "exchange",
    [
        refused(400, message="max_tokens is not supported, use max_completion_tokens"),
        refused(400, message="max_tokens must be at least 1"),
        refused(400, message=["content_filter"], code=["content_filter"], innererror="content_filter"),
        refused(500, message=LIMIT),
        refused(404, message="no such model"),
    ],
)
def test_errors_that_are(exchange: Exchange) -> None:
    assert busy(exchange) is None
    assert not used_up(exchange)


def test_what_the_model_has_said_is_not_the_request() -> None:
    words = "The model produced output that does not match the expected peg-native format"
    assert misread(refused(500, message=words))
    assert not misread(refused(400, message=words))
    assert not misread(refused(500, message="jinja error"))

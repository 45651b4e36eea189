"""The checks of `probe` by number: name, suite, the place of its function, what it needs of the model, whether core."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from templatelint.errors import TemplatelintError
from templatelint.nearest import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict

Mode = Literal["any", "willing", "scripted"]
"""Any model does; it has to do as it is told, or nothing is seen; only the scripted model does what is needed."""
Suite = Literal["identity", "chat", "stream", "responses", "anthropic", "errors"]
SUITES: tuple[Suite, ...] = ("identity", "chat", "stream", "responses", "anthropic", "errors")
CORE, ALL = "core", "all"


class Check(NamedTuple):
    """A check: `clauses/MODULE.py` has its function, of its name with `_`; `rules/probe/ID.md` is its card."""

    id: str
    name: str
    suite: Suite
    module: str
    mode: Mode
    core: bool

    def judge(self, endpoint: Endpoint) -> Verdict:
        """What the check concludes."""
        module = import_module(f"templatelint.probe.clauses.{self.module}")
        return cast("Callable[[Endpoint], Verdict]", getattr(module, self.name.replace("-", "_")))(endpoint)


_SUITES: dict[Suite, int] = {"identity": 1, "chat": 7, "stream": 25, "responses": 36, "errors": 60, "anthropic": 70}
# in the order of their numbers; `*` stands before the name of a core one
_TABLE: tuple[tuple[str, str, Mode], ...] = (
    ("*models-listed", "identity", "any"),
    ("*template-unchanged", "template", "any"),
    ("*prompts-as-linted", "template", "any"),
    ("*prompt-tokens-agree", "template", "any"),
    ("*server-tools-off", "identity", "any"),
    ("request-template-heeded", "identity", "any"),
    # chat
    ("*reply-complete", "reply", "any"),
    ("*cut-reply-marked", "reply", "willing"),
    ("*tool-called", "calls", "willing"),
    ("*call-not-leaked", "calls", "willing"),
    ("*cut-call-marked", "calls", "willing"),
    ("*choice-none", "choice", "any"),
    ("*choice-required", "choice", "any"),
    ("required-against-prose", "choice", "scripted"),
    ("*choice-named", "choice", "willing"),
    ("*parallel-calls", "calls", "scripted"),
    ("*schema-enforced", "schema", "any"),
    ("bare-schema-refused", "schema", "any"),
    ("*result-answered", "results", "willing"),
    ("*stray-result-refused", "results", "any"),
    ("*result-content-types", "results", "any"),
    ("*broken-arguments-survived", "results", "any"),
    ("*thoughts-apart", "reply", "willing"),
    ("cut-anywhere-agrees", "calls", "scripted"),
    # stream
    ("*stream-framed", "stream", "any"),
    ("*stream-equals-plain", "stream", "any"),
    ("usage-on-request", "stream", "any"),
    ("*call-streamed", "stream_calls", "willing"),
    ("*arguments-token-wise", "stream_calls", "willing"),
    ("*parallel-streamed", "stream_calls", "scripted"),
    ("*cut-stream-marked", "stream", "willing"),
    ("characters-whole", "stream", "scripted"),
    ("*stream-abandoned", "cancelling", "scripted"),
    ("request-abandoned", "cancelling", "scripted"),
    ("overflow-before-stream", "stream", "any"),
    # responses
    ("*response-complete", "response", "any"),
    ("response-usage-details", "response", "any"),
    ("*items-identified", "response_calls", "scripted"),
    ("*cut-response-incomplete", "response", "willing"),
    ("*cut-call-incomplete", "response_calls", "willing"),
    ("cut-call-returnable", "response_calls", "scripted"),
    ("*response-round-trip", "response_calls", "willing"),
    ("*stray-output-refused", "response_calls", "any"),
    ("*text-format-enforced", "response", "any"),
    ("*response-choice-heeded", "response_calls", "willing"),
    ("state-not-ignored", "response", "any"),
    ("input-forms-accepted", "response", "any"),
    ("response-reasoning", "response", "willing"),
    ("events-framed", "response_stream", "any"),
    ("*events-numbered", "response_stream", "any"),
    ("*events-indexed", "response_stream", "any"),
    ("*events-ordered", "response_stream", "any"),
    ("*arguments-done", "response_stream_calls", "willing"),
    ("parallel-items-routed", "response_stream_calls", "scripted"),
    ("*items-consistent", "response_stream", "any"),
    ("*cut-stream-incomplete", "response_stream", "willing"),
    ("events-carry-response", "response_stream", "any"),
    ("*sdk-streams", "sdk", "any"),
    ("reasoning-events", "response_stream", "willing"),
    # errors
    ("*bad-body-refused", "errors", "any"),
    ("*bad-tools-refused", "errors", "any"),
    ("unknown-role-refused", "errors", "any"),
    ("bad-choice-refused", "errors", "any"),
    ("*template-refusal-told", "errors", "any"),
    ("bad-part-refused", "errors", "any"),
    ("overflow-refused", "errors", "any"),
    ("error-members", "errors", "any"),
    ("bad-response-refused", "errors", "any"),
    ("still-correct", "errors", "any"),
    # anthropic
    ("message-complete", "messages", "willing"),
    ("message-choice-heeded", "messages", "willing"),
    ("cut-message-marked", "messages", "willing"),
    ("message-streamed", "messages_stream", "scripted"),
    ("stop-sequence-told", "messages", "willing"),
    ("bad-message-refused", "messages", "any"),
)


def _suite(number: int) -> Suite:
    return max((start, suite) for suite, start in _SUITES.items() if start <= number)[1]


CHECKS: tuple[Check, ...] = tuple(
    Check(f"TL9{number:02}", name.lstrip("*"), _suite(number), module, mode, name.startswith("*"))
    for number, (name, module, mode) in enumerate(_TABLE, 1)
)


def select(words: Sequence[str]) -> tuple[Check, ...]:
    """The checks that suites, `core` or `all` mean, in the order of their numbers.

    Raises:
        TemplatelintError: there is no such suite.
    """
    for word in words:
        if word not in (CORE, ALL, *SUITES):
            raise unknown("suite", word, (CORE, ALL, *SUITES))
    if not words:
        raise TemplatelintError("no suite is named", help=f"one of {', '.join((CORE, ALL, *SUITES))}")
    return tuple(check for check in CHECKS if ALL in words or check.suite in words or (CORE in words and check.core))

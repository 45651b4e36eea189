"""TL603: a marker of turns or calls is a token of the GGUF, and of a type that engines do not look for in a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import call_syntax
from templatelint.checks import _tokens
from templatelint.engines import tokenizing
from templatelint.model import Fault
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = (*_tokens.CHAT, *call_syntax.FIRST)
CALL_CASES = call_syntax.CASES


def unsettled(view: View) -> str:
    """Why nobody knows whether the engine finds the markers of the GGUF in a prompt."""
    tokens = view.model.tokenizer.vocabulary
    if tokens is None:
        return ""
    try:
        written = [marker for marker in _tokens.around_turns(view) if _tokens.is_marker(marker)]
    except NoText:
        return ""
    found = filter(None, map(tokens.token, written))
    return next(filter(None, (tokenizing.unfound(view.engine, view.model.tokenizer, token) for token in found)), "")


def check(view: View) -> Iterator[Fault]:
    """Judge the markers around turns, then those around calls that are not among them."""
    tokens = _tokens.vocabulary(view)
    if not tokenizing.of_gguf(view.model.tokenizer):
        return
    around_turns = _tokens.around_turns(view)
    around_calls = {
        marker: case_id for marker, case_id in _tokens.around_calls(view).items() if marker not in around_turns
    }
    for written, what, need in ((around_turns, "turns", "chat"), (around_calls, "tool calls", "tools")):
        found = {
            marker: (token, case_id)
            for marker, case_id in written.items()
            if _tokens.is_marker(marker) and (token := tokens.token(marker)) is not None
        }
        lost = {
            marker: (token, case_id)
            for marker, (token, case_id) in found.items()
            if tokenizing.finds(view.engine, token) is False
        }
        if lost:
            kinds = dict.fromkeys(token.type for token, _ in lost.values())
            # with a token for it in the vocabulary, a model was trained on that, and every prompt lacks it
            certain = need == "chat" and any(map(_tokens.has_to_be_token, lost))
            verb = "is a token" if len(lost) == 1 else "are tokens"
            yield Fault(
                message=f"{_tokens.listed(lost)}, which the template writes around {what}, {verb} of the type "
                f"{' or '.join(kinds)}: a prompt is split without a look at {'it' if len(lost) == 1 else 'them'}",
                help="convert the model again with a converter that reads its added tokens, or set the types in "
                "tokenizer.ggml.token_type to 3 (control) or 4 (user-defined)",
                cases=tuple(dict.fromkeys(case_id for _, case_id in lost.values())),
                cause=f"type {need}",
                span=view.mention(*lost),
                impact="breaks" if certain else "degrades",
                need=need,
            )

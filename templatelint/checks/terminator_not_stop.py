"""TL606: what the template writes where an answer ends does not end one on the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import call_syntax
from templatelint.checks import _tokens
from templatelint.checks._markers import TURNS
from templatelint.engines import tokenizing
from templatelint.model import Fault
from templatelint.reading import MARKER, turns
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Token, Vocabulary
    from templatelint.view import View

CASES = ("chat-turns", *call_syntax.FIRST)
CALL_CASES = call_syntax.CASES

_OPENERS = frozenset(opener for opener, _ in TURNS)
# What ends a turn that calls a tool, and no other.
_CALL_ENDS = ("<|call|>", "<|eom_id|>", "<|calls|>")
# What ends the last answer where the history has another mark for it: gpt-oss, Solar Open.
_LAST_ENDS = {"<|end|>": ("<|return|>", "<|flush|>")}
_LONGEST = 64  # characters of a token that ends a turn


def check(view: View) -> Iterator[Fault]:
    """Judge what follows calls, then what follows an assistant's text."""
    tokens = _tokens.vocabulary(view)
    syntax = call_syntax.of(view)
    for end in _CALL_ENDS:
        if end in syntax.calls:
            token = tokens.token(end)
            ends = [] if token is None else [token]
            yield from _judged(view, tokens, ends, syntax.case, "a turn that calls a tool", "tools")
    written, header = _answer_ends(view, tokens)
    if written:
        yield from _judged(view, tokens, written, "chat-turns", "an answer", "chat")
    elif not _opener_ends(view, tokens, header):
        raise NoText("chat-turns", "no token stands where an answer ends: what a model writes there is not shown")


def unsettled(view: View) -> str:
    """Why nobody knows whether answers end on the engine, of a GGUF that others than llama.cpp are given."""
    tokens = view.model.tokenizer.vocabulary
    if tokens is None or not tokenizing.of_gguf(view.model.tokenizer):
        return ""
    try:
        written, _ = _answer_ends(view, tokens)
    except NoText:
        return ""
    known = _known(view, tokens, written)
    if not written or True in known or None not in known or view.engine not in tokenizing.STOPPING:
        return ""
    return f"{written[0].text!r} ends answers, and the GGUF does not tell whether {view.engine} stops at it"


def _answer_ends(view: View, tokens: Vocabulary) -> tuple[list[Token], str]:
    """The tokens that stand where an answer ends, and what opens the user's turn."""
    anatomy = turns(view.prompt("chat-turns"), view.case("chat-turns"))
    if anatomy is None:
        raise NoText("chat-turns", "the prompt does not show what stands where an answer ends")
    return list(_terminators(anatomy.assistant_to_user.lstrip(), tokens)), anatomy.user_header


def _known(view: View, tokens: Vocabulary, written: Sequence[Token]) -> list[bool | None]:
    """Whether each of the tokens ends generation, and those with which a model ends its last answer in their place."""
    others = _LAST_ENDS.get(written[0].text, ()) if written else ()
    meant = (*written, *filter(None, map(tokens.token, others)))
    return [tokenizing.ends(view.engine, view.model.tokenizer, tokens, one) for one in meant]


def _opener_ends(view: View, tokens: Vocabulary, header: str) -> bool:
    """Whether what opens the user's turn ends an answer, where that follows at once: GLM."""
    opener = _first(header.lstrip(), tokens)
    return opener is not None and tokenizing.ends(view.engine, view.model.tokenizer, tokens, opener) is True


def _terminators(follows: str, tokens: Vocabulary) -> Iterator[Token]:
    """The tokens that a text begins with, up to one that opens the next turn or closes the user's part."""
    while True:
        token = _first(follows, tokens)
        if token is None or token.text in _OPENERS or token.text == "[/INST]":
            return
        yield token
        follows = follows[len(token.text) :].lstrip()


def _first(text: str, tokens: Vocabulary) -> Token | None:
    marker = MARKER.match(text)
    if marker is not None:
        return tokens.token(marker[0])
    special = {token.text: token for token in tokens.special() if len(token.text) <= _LONGEST} if text else {}
    starts = (text[:size] for size in range(min(_LONGEST, len(text)), 1, -1))
    return next((special[start] for start in starts if start in special), None)


def _judged(  # noqa: PLR0913, PLR0917 (one thing, said of two places)
    view: View, tokens: Vocabulary, written: Sequence[Token], case_id: str, what: str, need: str
) -> Iterator[Fault]:
    if not written:
        return
    token = written[0]
    known = _known(view, tokens, written)
    if None in known and True not in known:
        raise NoText(case_id, "the model's files do not say what ends generation")
    if not any(known):
        named = _named(view)
        where = f"generation ends at {_tokens.listed(named)}" if named else "the files name no token that does"
        yield Fault(
            message=f"{token.text!r} (id {token.id:,}) stands where {what} ends, and does not end generation: {where}",
            help=_help(view, token),
            cases=view.ids(case_id),
            cause=f"no stop {need} {token.text}{' of EOS' if _reads_eos(view) else ''}",
            span=view.mention(token.text, "eos_token", "messages"),
            need=need,
        )


def _reads_eos(view: View) -> bool:
    """Whether EOS is all that the engine takes from the file."""
    return tokenizing.of_gguf(view.model.tokenizer) and view.engine not in tokenizing.LLAMA


def _named(view: View) -> Sequence[str]:
    tokenizer = view.model.tokenizer
    return [tokenizer.special_tokens["eos_token"]] if _reads_eos(view) else tokenizer.stop_tokens


def _help(view: View, token: Token) -> str:
    if _reads_eos(view):
        return f"set tokenizer.ggml.eos_token_id to {token.id}: {view.engine} takes no other end from a GGUF"
    if tokenizing.of_gguf(view.model.tokenizer):
        return (
            f"set tokenizer.ggml.eot_token_id (or eos_token_id) to {token.id}, or end turns with the file's own token"
        )
    return f"add {token.id} to eos_token_id in generation_config.json, which may be a list"

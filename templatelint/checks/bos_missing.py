"""TL605: the tokenizer wants BOS before every text, and neither the template nor the engine writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks import _tokens
from templatelint.engines import tokenizing
from templatelint.model import Fault
from templatelint.reading import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-turns",)
_SHOWN = 40  # characters of a prompt's beginning


def check(view: View) -> Iterator[Fault]:
    """Look for BOS in front of the first text, on engines that do not add it."""
    _tokens.read_tokens(view)
    tokenizer = view.model.tokenizer
    bos = tokenizer.special_tokens.get("bos_token", "")
    if not bos or not tokenizing.declares_bos(tokenizer) or tokenizing.adds_bos(view.engine, tokenizer) is not False:
        return
    prompt = view.prompt("chat-turns")
    if not prompt.lstrip().startswith(bos):
        yield Fault(
            message=f"no {bos!r} at the beginning, where the tokenizer wants it: chat prompts are encoded as they are "
            f"rendered, and begin with {shortened(prompt[:_SHOWN])!r}",
            help="write `{{ bos_token }}` as the first thing of the template: engines that add it take that one away",
            cases=view.ids("chat-turns"),
            cause="bos missing",
        )

"""TL604: BOS stands twice at the beginning: the template writes it where the engine adds it too."""

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


def check(view: View) -> Iterator[Fault]:
    """Look for BOS in front of the first text, on engines that add it."""
    _tokens.read_tokens(view)
    tokenizer = view.model.tokenizer
    bos = tokenizer.special_tokens.get("bos_token", "")
    if not bos or not tokenizing.adds_bos(view.engine, tokenizer):
        return
    # llama.cpp cuts one that a prompt begins with, and so does our model of it
    prompt = view.prompt("chat-turns")
    if prompt.lstrip().startswith(bos):
        yield Fault(
            message=f"{bos!r} stands twice at the beginning: encoding adds it, and the prompt begins with "
            f"{shortened(prompt[: prompt.find(bos) + len(bos)])!r}",
            help="write `bos_token` once and as the very first thing: there the engine takes it away, "
            "behind white space it does not",
            cases=view.ids("chat-turns"),
            cause="bos doubled",
            span=view.mention("bos_token", bos),
        )

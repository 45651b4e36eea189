"""The text of a call → its parts, for a reply that is made to have one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from templatelint.scripted import scripts

_SHORTEST = 2  # bytes of a piece
_CLOSER = re.compile(r"[^\"'<\[]{0,8}?(?:<[^<>]{1,60}>|\[[^\[\]]{1,60}\])\s*")
_QUOTES = "\"'`"


@dataclass(frozen=True, slots=True)
class ForcedCall:
    """The parts of a call that a reply is made to have.

    Attributes:
        opener: what stands before the name of the function.
        rest: the call from there on.
        closer: what ends a text among the arguments; empty where a quote does.
        bare_keys: arguments stand in braces, and their names in no quotes: there is nothing that a model may not
            write for a name, but it may write no argument at all.
    """

    opener: str = ""
    rest: str = ""
    closer: str = ""
    bare_keys: bool = False

    @staticmethod
    def of(text: str, thought: str) -> ForcedCall:
        """The parts of the call of the script `tool`.

        Args:
            text: the script.
            thought: what ends thoughts, which are no part of the call; may be empty.
        """
        call = scripts.CALLS[scripts.TOOL][0]
        before, found, behind = text.partition(call.name)
        if not found:
            return ForcedCall()
        kept = before.rpartition(thought)[2] if thought else before
        opener = kept.lstrip("\n") or kept
        if len(opener.encode()) < _SHORTEST:  # it would be no piece
            opener, found = opener + call.name, ""
        _, value, end = behind.partition(str(call.arguments["city"]))
        mark = _CLOSER.match(end) if value and behind[: -len(value + end)][-1:] not in _QUOTES else None
        bare_keys = behind.startswith("{" + next(iter(call.arguments)))
        return ForcedCall(opener, found + behind, mark[0] if mark else "", bare_keys)

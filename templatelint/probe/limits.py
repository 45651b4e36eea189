"""An answer that a limit of tokens may have cut, and the same with more room → whether it was cut; where to cut."""

from __future__ import annotations

_TORN = "\ufffd"  # in place of a character whose end is missing
_LEAST, _MOST = 4, 20  # tokens before the end of a call where its last argument is


def goes_on(said: str, whole: str) -> bool:
    """Whether one text is only the start of the other: nothing else proves that an answer was cut.

    Args:
        said: within the limit.
        whole: the answer to the same prompt with more room.
    """
    start = said.rstrip(_TORN).rstrip()
    return bool(start) and whole.startswith(start) and len(whole.rstrip()) > len(said.rstrip())


def inside_call(written: int) -> int:
    """A limit that ends an answer with a call where its last argument is.

    Args:
        written: tokens of the whole answer.
    """
    return max(1, written - min(_MOST, max(_LEAST, written // 3)))

"""TL008: an invisible character at the start of the file becomes the first character of every prompt."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-basic",)


def check(view: View) -> Iterator[Fault]:
    """Compare the first character of the file with that of the prompt."""
    first = view.template.source[:1]
    if not first or unicodedata.category(first) not in ("Cf", "Cc") or first.isspace():
        return
    for case, prompt in view.rendered("chat-basic"):
        if prompt.startswith(first):
            name = unicodedata.name(first, "control character").lower()
            kind = "byte-order mark" if first == "\ufeff" else name
            yield Fault(
                message=f"the file begins with a {kind} (U+{ord(first):04X}), which starts every prompt",
                help="save the file as UTF-8 without a byte-order mark",
                cases=(case.id,),
                cause=first,
                span=(0, 1),
            )

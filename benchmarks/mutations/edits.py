"""Ways to edit a template's source once: each gives the edited source, or None where it does not fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Edit: TypeAlias = "Callable[[str], str | None]"


def sub(pattern: str, replacement: str, *, every: bool = False) -> Edit:
    """The first match of a pattern (every one, if asked) gives way to the replacement, as `re.sub` writes it."""

    def edit(source: str) -> str | None:
        changed = re.sub(pattern, replacement, source, count=0 if every else 1)
        return None if changed == source else changed

    return edit


def last(pattern: str, replacement: str) -> Edit:
    """The last match gives way to the replacement."""

    def edit(source: str) -> str | None:
        found = list(re.finditer(pattern, source))
        if not found:
            return None
        end = found[-1]
        return source[: end.start()] + end.expand(replacement) + source[end.end() :]

    return edit


def cue(pattern: str, replacement: str) -> Edit:
    """Every match behind the last mention of `add_generation_prompt` gives way to the replacement."""

    def edit(source: str) -> str | None:
        start = source.rfind("if add_generation_prompt")
        if start < 0:
            return None
        changed = re.sub(pattern, replacement, source[start:])
        return None if changed == source[start:] else source[:start] + changed

    return edit


def prelude(statements: str) -> Edit:
    """Statements before everything else; the last tag of theirs strips what white space follows."""
    return lambda source: None if source[:1].isspace() else statements + source


def appended(text: str) -> Edit:
    """Text after everything else."""
    return lambda source: source + text


def user_text(applied: str) -> list[Edit]:
    """Filters or methods on the text of a user message, in the forms in which templates print one.

    Args:
        applied: what follows the expression, `| upper`; `SELF` in it is the expression once more.
    """
    closing = r"""['"](?:<\|im_end|<\|eot|\[/INST|<\|end_of_text|<end_of_turn|<\|end\|)"""
    text = r"""(?:message|m)(?:\.content|\[['"]content['"]\])"""
    forms = (
        r"(?<=<\|user\|>\n\{\{ )(visible_text\(m\.content\))",
        rf"""(?<=<｜User｜>' \+ )({text})""",
        rf"""(?<=user<\|message\|>" \+ )({text})""",
        rf"""(?<=user<\|im_sep\|>' \+ )({text})""",
        rf"({text}(?: ?\| trim)?)(?= \+ {closing})",
        rf"(?<=\+ )(content(?:\.val)?)(?= \+ {closing})",
        rf"(?<=is string -%\}}\n        \{{\{{ )({text} \| trim)",
        rf"(?<=is string %\}}\n            \{{\{{- )({text})",
        r"(?<=\{\{ )(c)(?= \}\})",
    )
    following = applied.replace("SELF", r"(\1)")
    return [sub(form, rf"((\1){following})") for form in forms]

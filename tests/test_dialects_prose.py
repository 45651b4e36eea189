from __future__ import annotations

import pytest

from templatelint.dialects.prose import Markdown, Prose

MARK, INLINE, MESSAGE = object(), object(), object()


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([], None),
        (["", " \n"], None),
        (["  a b ", " \n"], "a b  \n"),
        (["a \n", MARK], "a"),
        (["a\n", MARK, "\nb"], "a\nb"),
        (["a", MARK, " b"], "ab"),
        ([MARK, " a"], "a"),
        ([" ", MARK, " ", MARK, "a"], "a"),
        (["a\n", MARK, " ", MARK, " b"], "a\nb"),
        (["a ", INLINE], "a "),
        (["a ", INLINE, " b"], "a  b"),
        (["a ", INLINE, " "], "a "),
        (["a ", INLINE, " ", INLINE, " b"], "a  b"),
        (["a\n", INLINE], "a"),
        (["a\n", INLINE, "b"], "a\nb"),
        ([" ", INLINE, " a"], "a"),
        (["a", MESSAGE, "b"], "a\nb"),
        (["a \n\n", MESSAGE, " b ", MESSAGE], "a\nb"),
        ([MESSAGE, "a"], "a"),
    ],
)
def test_whitespace_beside_marks(pieces: list[object], text: str | None) -> None:
    whole, split = Prose(), Prose()
    for piece in pieces:
        for prose in (whole, split):
            if isinstance(piece, str):
                for part in [piece] if prose is whole else piece:
                    prose.add(part)
            elif piece is MESSAGE:
                prose.paragraph()
            else:
                prose.mark(verbatim=piece is INLINE)
    assert (whole.text, split.text) == (text, text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", ""),
        ("a `b", "span"),
        ("a `b`", ""),
        ("a ``b ` c", "span"),
        ("a `b\nc", ""),
        ("```", "fence"),
        ("a\n  ```xml\n`b", "fence"),
        ("```\na\n```", ""),
        ("a ```", "span"),
    ],
)
def test_what_markdown_quotes(text: str, code: str) -> None:
    whole, split = Markdown(), Markdown()
    whole.add(text)
    for character in text:
        split.add(character)
    assert (whole.code, split.code) == (code, code)

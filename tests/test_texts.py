from __future__ import annotations

import pytest

from templatelint import texts
from templatelint.errors import TemplatelintError


@pytest.mark.parametrize("text", ["", "a", "\ufeffa\r\nb\rc\n", "\x1b日本\U0001f6a2", "\ufffe"])
def test_text_is_kept_as_it_is(text: str) -> None:
    assert texts.decode(text.encode(), "f", "a template") == text


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        *(
            pytest.param(
                "{{ a }}\n".encode(encoding), f"f is {encoding[:6].upper()} text, a template is UTF-8", id=encoding
            )
            for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
        ),
        pytest.param(b"\x00\x00\xfe\xff" + "é".encode("utf-32-be"), "f is UTF-32 text, a template is UTF-8", id="mark"),
        (b"\xfe\xff\xd8\x00", "f is UTF-16 text, a template is UTF-8"),
        (b"ab\x00c", "f is binary (a zero byte at offset 2), a template is UTF-8 text"),
        (b"\x00\x00\x00\x00\x00\x00\x00\x00", "f is binary (a zero byte at offset 0), a template is UTF-8 text"),
        (b"a\x00", "f is binary (a zero byte at offset 1), a template is UTF-8 text"),
        (b"a\rb\r\nc\n\xe9", "f is not UTF-8: byte 0xe9 at offset 7 (line 4)"),
        (b"\xe6\x97\xa5\n\xed\xa0\x80", "f is not UTF-8: byte 0xed at offset 4 (line 2)"),
        (b"version https://git-lfs.github.com/spec/v1\n", "f is a Git LFS pointer, not the file itself"),
    ],
)
def test_what_is_no_utf8_is_named(raw: bytes, message: str) -> None:
    with pytest.raises(TemplatelintError) as raised:
        texts.decode(raw, "f", "a template")
    assert raised.value.message == message


@pytest.mark.parametrize(("text", "half"), [("a\U0001f6a2", None), ("a\ud83d\udea2", "\\ud83d"), ("\udcff", "\\udcff")])
def test_half_a_character(text: str, half: str | None) -> None:
    assert texts.half_character(text) == half

"""Bytes of a file → its text, or one sentence that says what it is instead of UTF-8."""

from __future__ import annotations

from templatelint.errors import TemplatelintError
from templatelint.model import Lines

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
# The longer marks first: that of UTF-16 starts one of them.
_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_SHOWN = 80  # characters of a name in a message
_HEAD = 64  # bytes that show which encoding a file without a mark is in


def decode(raw: bytes, path: str, what: str) -> str:
    """UTF-8 bytes as text, a byte-order mark and all newlines kept.

    Args:
        raw: the bytes.
        path: the file as the user names it.
        what: what is meant to be in it (`a template`).

    Raises:
        TemplatelintError: a Git LFS pointer, UTF-16 or UTF-32, binary, or not UTF-8.
    """
    if is_lfs_pointer(raw):
        raise lfs_pointer(path)
    if other := _wide_encoding(raw[:_HEAD]):
        raise TemplatelintError(f"{path} is {other} text, {what} is UTF-8", help="save it as UTF-8")
    nul = raw.find(b"\0")
    if nul >= 0:
        raise TemplatelintError(f"{path} is binary (a zero byte at offset {nul:,}), {what} is UTF-8 text")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line, _ = Lines(raw[: error.start].decode("utf-8")).line_of(error.start)
        raise TemplatelintError(
            f"{path} is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start:,} (line {line:,})",
            help="save it as UTF-8",
        ) from error


def _wide_encoding(head: bytes) -> str | None:
    """The encoding that takes two or four bytes for each character, where the bytes show one."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    # Without a mark: in what is mostly ASCII, all bytes of a character but one are zero.
    for width, name in ((4, "UTF-32"), (2, "UTF-16")):
        columns = [head[place::width] for place in range(width)] if len(head) >= 2 * width else []
        if sum(1 for column in columns if not any(column)) == width - 1 and all(
            all(column) or not any(column) for column in columns
        ):
            return name
    return None


def is_lfs_pointer(head: bytes) -> bool:
    """Whether a file starts as the stand-in that Git LFS leaves in a checkout."""
    return head.startswith(_LFS_POINTER)


def lfs_pointer(path: str) -> TemplatelintError:
    """The error for a Git LFS pointer."""
    return TemplatelintError(f"{path} is a Git LFS pointer, not the file itself", help="fetch it with: git lfs pull")


def half_character(text: str) -> str | None:
    r"""How the first half of a surrogate pair in a text is written (`\ud83d`): such a text has no UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return ascii(text[error.start])[1:-1]
    return None


def shown(name: str | bytes) -> str:
    """A name out of the file, fit for a message: short, and nothing that a terminal would act on."""
    text = name if isinstance(name, str) else name.decode("latin-1")
    plain = ascii(text[:_SHOWN])[1:-1] + ("…" if len(text) > _SHOWN else "")
    return plain if isinstance(name, str) else f'"{plain}"'

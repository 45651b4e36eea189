"""The first bytes of a file that is no GGUF → what it is instead, in one sentence."""

from __future__ import annotations

from templatelint import texts
from templatelint.errors import TemplatelintError
from templatelint.sources import opening

INCOMPLETE = "is the download incomplete? fetch the file again"
DAMAGED = "the file is damaged: fetch it again"
_MAX_JSON = 100 << 20  # bytes of the JSON that a safetensors file starts with, by its specification
_WORD = 8  # bytes from which on what a file starts with is told to be text

_CONVERT = "convert the model to GGUF: llama.cpp has convert_hf_to_gguf.py"
_UNPACK = "decompress it first"
_OLD = ("is a GGML file from before GGUF", "convert the model again")
# how files start that are given the name of a GGUF → what they are, and the cure
_OTHERS = {
    **dict.fromkeys((b"lmgg", b"fmgg", b"tjgg", b"algg"), _OLD),
    b"PK\x03\x04": ("is a zip archive, as PyTorch's checkpoints are, no GGUF", _CONVERT),
    b"\x80\x02": ("is a Python pickle, as older PyTorch checkpoints are, no GGUF", _CONVERT),
    b"\x89HDF\r\n": ("is an HDF5 file, no GGUF", _CONVERT),
    b"\x1f\x8b": ("is compressed with gzip, no GGUF", _UNPACK),
    b"\x28\xb5\x2f\xfd": ("is compressed with zstd, no GGUF", _UNPACK),
    b"\xfd7zXZ\x00": ("is compressed with xz, no GGUF", _UNPACK),
    b"7z\xbc\xaf\x27\x1c": ("is a 7z archive, no GGUF", _UNPACK),
}


def refusal(path: str, head: bytes) -> TemplatelintError:
    """The error for a file that is none.

    Args:
        path: what the user calls it.
        head: its first 64 bytes, or all of them where it has fewer.
    """
    if texts.is_lfs_pointer(head):
        return texts.lfs_pointer(path)
    if opening.looks_like_html(head):
        return opening.html_page(path)
    fact, cure = _instead(head)
    return TemplatelintError(f"{path} {fact}", help=cure)


def _instead(head: bytes) -> tuple[str, str]:
    if not head:
        return "is empty", INCOMPLETE
    if known := next((told for start, told in _OTHERS.items() if head.startswith(start)), None):
        return known
    if head[8:10] == b'{"' and int.from_bytes(head[:8], "little") < _MAX_JSON:
        return "is a safetensors file, no GGUF", _CONVERT
    if not any(head):
        return "is no GGUF: it starts with zero bytes", "did the download only reserve the space? fetch the file again"
    if len(head) >= _WORD and _is_ascii_text(head):
        return (
            f"is text, no GGUF: {texts.shown(head)}",
            "did the download save what a server said? fetch the file again",
        )
    return f"is no GGUF: it starts with {texts.shown(head[:8])}", DAMAGED


def _is_ascii_text(head: bytes) -> bool:
    return head.isascii() and head.translate(None, b"\t\n\r").decode("ascii").isprintable()

"""Path or reference → the URI of a SARIF artifact: relative to the working directory where it is under it."""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from urllib.parse import quote

ROOT = "%SRCROOT%"  # the name that SARIF's own examples give to the root of the sources
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def working_directory() -> PurePath | None:
    """Where relative paths start; None where it is gone."""
    try:
        return Path.cwd()
    except OSError:
        return None


def artifact(path: str, root: PurePath | None) -> dict[str, str]:
    """The `artifactLocation` of what stands at that path.

    What lies elsewhere than in files becomes a relative URI too: code scanning refuses an upload in which absolute
    URIs have other schemes than `file`.

    Args:
        path: as the user named it, in the manner of the system that `root` is of.
        root: the working directory.
    """
    if _SCHEME.match(path):
        return {"uri": _quoted(path)}
    pure = type(root)(path) if root is not None else PurePath(path)
    if root is not None and pure.is_absolute() and pure.is_relative_to(root):
        pure = pure.relative_to(root)
    if pure.is_absolute():
        return {"uri": absolute(pure)}
    return {"uri": _quoted(pure.as_posix()), "uriBaseId": ROOT}


def absolute(path: PurePath) -> str:
    """The `file` URI of an absolute path."""
    plain = path.as_posix()
    if plain.startswith("//"):  # a share of Windows: its host is the URI's
        return f"file:{_quoted(plain)}"
    drive, colon, rest = plain.partition(":") if path.drive else ("", "", plain)
    return f"file:///{drive}{colon}{_quoted(rest.removeprefix('/') if not drive else rest)}"


def _quoted(text: str) -> str:
    """Percent-encoded; names that are no UTF-8 keep their bytes."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "surrogatepass")
    return quote(raw, safe="/")

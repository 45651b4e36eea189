"""A remote file → its bytes where they are asked for, by HTTP range requests that never overlap."""

from __future__ import annotations

from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_NONE: Mapping[str, str] = MappingProxyType({})


class Refused(TemplatelintError):
    """A server did not give what it was asked for.

    Attributes:
        status: of its answer; None where it gave none (no connection, time out, a lie about the range).
        headers: of its answer, names in lower case.
    """

    def __init__(
        self,
        message: str,
        *,
        help: str | None = None,  # noqa: A002 (as in the class above)
        status: int | None = None,
        headers: Mapping[str, str] = _NONE,
    ) -> None:
        super().__init__(message, help=help)
        self.status = status
        self.headers = headers


class RangedFile:
    """A remote file as a source of bytes; each byte is fetched once at most, and kept.

    Attributes:
        name: what messages call it.
        size: bytes in the whole file.
        headers: of the first answer, that of the host that was asked (a redirection of the Hub has
            `x-repo-commit`, `x-linked-etag`), names in lower case.
        requests: how many were made, redirections and repetitions counted.
        fetched: bytes that have come.
    """

    name: str
    size: int
    headers: Mapping[str, str]
    requests: int
    fetched: int

    def read(self, offset: int, count: int, least: int | None = None) -> bytes:
        """`count` bytes from `offset` on, fewer at the end of the file, or where `least` have come and more have not.

        Raises:
            Refused: the server does not give them, or the file has changed since it was opened.
        """
        raise NotImplementedError


@contextmanager
def open_ranged(
    url: str,
    *,
    name: str,
    headers: Mapping[str, str] = _NONE,
    progress: Callable[[int], None] | None = None,
) -> Iterator[RangedFile]:
    """A remote file, its first bytes fetched.

    Args:
        url: `http` or `https`; `user:password@` in it is sent to that host as basic authorisation.
        name: what messages call the file; never the URL.
        headers: sent to the scheme, host and port of `url` alone, not to where it redirects.
        progress: told how many bytes have come in all, as they come.

    Raises:
        Refused: nothing there, not permitted, no ranges in a file too large to take whole, no connection.
    """
    raise Refused(f"{name}: remote files are not supported in this version")
    yield RangedFile()

"""What a server answered, or why it did not → one line that says so."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError, clip

if TYPE_CHECKING:
    from collections.abc import Mapping

NONE: Mapping[str, str] = MappingProxyType({})

_MEANINGS = {
    204: "sends nothing",
    304: "sends nothing but that nothing has changed",
    401: "asks for a login",
    403: "refuses access",
    404: "has no such file",
    408: "has waited too long",
    410: "has that file no more",
    416: "has no such bytes",
    429: "has had too many requests",
}
_CURES = {
    401: "put USER:PASSWORD@ before its host, or download the file and give its path",
    403: "has the address expired? download the file and give its path",
    404: "is its name spelled right?",
    410: "is its name spelled right?",
}
_PASSING = (408, 429)
_PROXIES = "see HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY"
_REFUSES, _FAILS = 400, 500
_SECONDS = re.compile(r"\d{1,5}")
_ENDED = re.compile(r"disconnected|closed connection|without sending|incomplete")  # as h11 and the client say it
_UNFIT = re.compile(r"[^ -~]+")
_REASON = 120  # characters


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
        headers: Mapping[str, str] = NONE,
    ) -> None:
        super().__init__(message, help=help)
        self.status = status
        self.headers = headers


class Cut(Refused):
    """The connection ended before the answer did: asking again may help."""


def answered(name: str, host: str, status: int, headers: Mapping[str, str]) -> Refused:
    """The error for an answer whose status says no."""
    other = "fails" if status >= _FAILS else "refuses" if status >= _REFUSES else "sends no file"
    meaning = _MEANINGS.get(status, other)
    cure = _CURES.get(status)
    if status >= _FAILS or status in _PASSING:
        wait = _SECONDS.fullmatch(headers.get("retry-after", ""))
        cure = f"try again in {wait[0]} s" if wait else "try again later"
    return Refused(f"{name}: {host} {meaning} (HTTP {status})", help=cure, status=status, headers=headers)


def late(name: str, seconds: float, *, served: bool = False) -> Refused:
    """The error where all requests together take too long; what is served cannot be downloaded instead."""
    cure = "try again later" + ("" if served else ", or download the file and give its path")
    return Refused(f"{name} took longer than {seconds:g} s", help=cure)


def unusable(name: str, error: Exception) -> Refused:
    """The error where the settings of the environment allow no request at all; a proxy may hold a password."""
    if isinstance(error, OSError):
        return Refused(f"{name}: no certificates can be read: {_plain(error)}", help="see SSL_CERT_FILE, SSL_CERT_DIR")
    what = "a SOCKS proxy, which needs the package socksio" if isinstance(error, ImportError) else "none"
    return Refused(f"{name}: the proxy of the environment is {what}", help=_PROXIES)


def failed(name: str, host: str, error: Exception, *, proxied: bool = False) -> Refused:
    """What a failure of the client means.

    Args:
        name: what messages call the address.
        host: that was asked.
        error: of the client.
        proxied: by way of a proxy that the environment names.
    """
    import httpx2

    connects = isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
    if isinstance(error, httpx2.ProxyError) or (proxied and connects and not _has_tls(error)):
        why = f"no connection to {host} through the proxy of the environment: {_plain(error)}"
        return Refused(f"{name}: {why}", help=_PROXIES)
    if isinstance(error, httpx2.ConnectTimeout):
        return Refused(f"{name}: {host} accepts no connection", help="is the server running, on that port?")
    if isinstance(error, httpx2.TimeoutException):
        return Refused(f"{name}: {host} does not answer any more", help="try again later")
    if isinstance(error, httpx2.ConnectError):
        return _unconnected(name, host, error)
    if isinstance(error, (httpx2.RemoteProtocolError, httpx2.NetworkError)):
        return _ended(name, host, error)
    return Refused(f"{name} cannot be asked for: {_plain(error)}")


def _ended(name: str, host: str, error: Exception) -> Refused:
    import httpx2

    if isinstance(error, httpx2.RemoteProtocolError) and not _ENDED.search(str(error)):  # it repeats what came
        return Refused(f"{name}: {host} does not answer as HTTP has it", help="is it a web server, on that port?")
    return Cut(f"{name}: the connection to {host} ended too early: {_plain(error)}", help="try again")


def _cause(error: Exception) -> OSError | None:
    """What the system says, under what the client makes of it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _has_tls(error: Exception) -> bool:
    import ssl

    return isinstance(_cause(error), ssl.SSLError)


def _unconnected(name: str, host: str, error: Exception) -> Refused:
    import socket
    import ssl

    cause = _cause(error)
    if isinstance(cause, socket.gaierror):
        return Refused(f"{name}: the host {clip(host)} is not found", help="is its name spelled right?")
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Refused(
            f"{name}: the certificate of {host} is not trusted: {cause.verify_message or _plain(cause)}",
            help="SSL_CERT_FILE names a file of the certificates to trust",
        )
    if isinstance(cause, ssl.SSLError):
        return Refused(f"{name}: no TLS with {host}: {(cause.reason or _plain(cause)).lower().replace('_', ' ')}")
    if isinstance(cause, ConnectionRefusedError):
        return Refused(f"{name}: {host} refuses the connection", help="is the server running, on that port?")
    return Refused(f"{name}: no connection to {host}: {_plain(cause or error)}")


def _plain(error: BaseException) -> str:
    """What an error says, fit for one line."""
    reason = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
    reason = clip(_UNFIT.sub(" ", reason), _REASON)
    return reason[:1].lower() + reason[1:]

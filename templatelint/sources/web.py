"""An address on the web → its answer: redirections followed by hand, secrets kept to their host, time bounded."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urljoin

from templatelint.errors import clip
from templatelint.sources.web_address import Address, address, shown
from templatelint.sources.web_refusals import NONE, Refused, answered, failed, late, unusable

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping

    import httpx2

_REDIRECTS = 5
_REDIRECTING = frozenset({301, 302, 303, 307, 308})
_OK = 200


class Patience(NamedTuple):
    """Seconds: to connect, between two reads, and for all requests together."""

    connect: float = 10.0
    read: float = 20.0
    whole: float = 60.0


PATIENCE = Patience()
_SMALL = 2 << 20  # bytes
_SHORT = Patience(whole=30.0)


# ------------------------------------------------------------------------------------------ answers


class Answer:
    """An answer whose body has not been read.

    Attributes:
        status: of HTTP.
        headers: names in lower case.
        length: of the body as announced, None where it is not.
        host: that gave it.
    """

    def __init__(self, response: httpx2.Response, host: str, failed: Callable[[Exception], Refused]) -> None:
        self._response = response
        self._failed = failed
        self.host = host
        self.status = response.status_code
        self.headers: Mapping[str, str] = dict(response.headers)
        length = self.headers.get("content-length", "")
        self.length = int(length) if length.isascii() and length.isdigit() else None

    def parts(self) -> Iterator[bytes]:
        """The body as it comes, undecoded.

        Raises:
            Cut: it ended too early.
        """
        try:
            yield from self._response.iter_raw()
        except _failures() as error:
            raise self._failed(error) from error

    def up_to(self, limit: int) -> bytes | None:
        """The body; None where it turns out to have more bytes than `limit`."""
        if self.length is not None and self.length > limit:
            return None
        body = bytearray()
        for part in self.parts():
            body += part
            if len(body) > limit:
                return None
        return bytes(body)

    @property
    def encoded(self) -> str:
        """The encoding that the body has though none was accepted; empty where it has none."""
        encoding = self.headers.get("content-encoding", "").strip().lower()
        return "" if encoding == "identity" else encoding


class Web:
    """One address, asked as often as needed; connections are kept, and so is where it redirects to.

    Attributes:
        start: the address.
        name: what messages call it.
        requests: how many were made, redirections counted.
        first: headers of the first answer, that of the host that was asked.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str,
        headers: Mapping[str, str] = NONE,
        stay: bool = False,
        patience: Patience = PATIENCE,
    ) -> None:
        """Nothing is sent yet.

        Args:
            url: `http` or `https`; a login in it becomes basic authorisation.
            name: what messages call it.
            headers: for the scheme, host and port of `url` alone.
            stay: redirections to another scheme, host or port are refused.
            patience: how long to wait.
        """
        self.start = address(url)
        self.name = name
        self.requests = 0
        self.first: Mapping[str, str] = NONE
        self._own = {key.lower(): value for key, value in headers.items()}
        if self.start.login:
            self._own.setdefault("authorization", _basic(self.start.login))
        self._stay = stay
        self._patience = patience
        self._found = self.start

    def __enter__(self) -> Self:
        import httpx2

        try:
            self._client = httpx2.Client(
                verify=certificates(needed=not (self._stay and self.start.scheme == "http")),
                trust_env=not self.start.loopback,  # a proxy would not find this machine, and would see what it says
                follow_redirects=False,
            )
        except _failures() as error:
            raise unusable(self.name, error) from error
        self._watch = Watch(self._patience.whole)
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()
        self._client.close()

    @property
    def redirected(self) -> bool:
        """Whether the address that was asked leads to another one."""
        return self._found.url != self.start.url

    def forget(self) -> None:
        """Ask the first address again next time: what it led to may have expired."""
        self._found = self.start

    @contextmanager
    def ask(
        self,
        headers: Mapping[str, str] = NONE,
        *,
        url: str = "",
        body: bytes | None = None,
        patience: Patience | None = None,
    ) -> Iterator[Answer]:
        """The answer to a GET, or to a POST of a JSON body; any status but a redirection.

        Args:
            headers: of this request, wherever it is redirected to.
            url: another address than the first; what it redirects to is not remembered.
            body: JSON.
            patience: how long to wait for this answer alone, whatever others took.

        Raises:
            Refused: no connection, a redirection that is not followed, or time is up.
        """
        target = address(url) if url else self._found
        if patience is not None:
            self._watch.renew(patience.whole)
        for _ in range(_REDIRECTS + 1):
            response = self._send(target, headers, body, patience or self._patience)
            try:
                if response.status_code not in _REDIRECTING:
                    if not url:
                        self._found = target
                    yield Answer(response, target.host, lambda error: self._failed(target.host, error))  # noqa: B023 (used before the next turn)
                    return
                target = self._next(target, response.headers.get("location", ""))
            finally:
                response.close()
        raise Refused(f"{self.name} redirects more than {_REDIRECTS} times")

    def _send(
        self, target: Address, headers: Mapping[str, str], body: bytes | None, patience: Patience
    ) -> httpx2.Response:
        import httpx2

        own = self._own if target.origin == self.start.origin else {}
        fixed = {"accept-encoding": "identity", "user-agent": "templatelint"}
        kind = {} if body is None else {"content-type": "application/json"}
        limits = {"connect": patience.connect, "read": patience.read, "write": patience.read, "pool": patience.read}
        self.requests += 1
        try:
            request = httpx2.Request(
                "GET" if body is None else "POST",
                target.url,
                headers={**fixed, **kind, **own, **headers},
                content=body,
                extensions={"timeout": limits, "trace": self._watch.trace},
            )
            if self._watch.expired:
                raise self._late()
            response = self._client.send(request, stream=True)
        except _failures() as error:
            raise self._failed(target.host, error) from error
        if not self.first:
            self.first = dict(response.headers)
        return response

    def _next(self, here: Address, location: str) -> Address:
        """Where a redirection leads."""
        if not location:
            raise Refused(f"{self.name}: {here.host} redirects to nowhere")
        try:
            there = address(urljoin(here.url, location))
        except (Refused, ValueError) as error:
            raise Refused(f"{self.name}: {here.host} redirects to what is no web address") from error
        if here.scheme == "https" and there.scheme == "http":
            raise Refused(f"{self.name}: {here.host} redirects from https to http, to {there.host}")
        if there.on_this_link and not here.on_this_link:
            raise Refused(f"{self.name}: {here.host} redirects to this machine or its link, to {there.host}")
        if self._stay and there.origin != self.start.origin:
            raise Refused(
                f"{self.name} redirects to {shown(there.url)}", help="give that address, if you trust it, instead"
            )
        return there

    def refusal(self, answer: Answer) -> Refused:
        """The error for an answer whose status says no."""
        return answered(self.name, answer.host, answer.status, answer.headers)

    def _failed(self, host: str, error: Exception) -> Refused:
        if self._watch.expired:
            return self._late()
        return failed(self.name, host, error, proxied=not self.start.loopback and _proxied(host))

    def _late(self) -> Refused:
        return late(self.name, self._watch.seconds, served=self._stay)


def _basic(login: str) -> str:
    from base64 import b64encode

    return "Basic " + b64encode(login.encode()).decode()


def _proxied(host: str) -> bool:
    """Whether the environment has a proxy for that host."""
    from urllib.request import getproxies, proxy_bypass

    return not {"http", "https", "all"}.isdisjoint(getproxies()) and not proxy_bypass(host)


def _failures() -> tuple[type[Exception], ...]:
    """What the client raises; `ImportError` for a SOCKS proxy whose package is not there."""
    import httpx2

    return httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ValueError, OSError, ImportError


@cache
def certificates(*, needed: bool) -> ssl.SSLContext:
    """Whom to trust; nobody where no TLS can follow, as the store takes longer to read than a server to answer."""
    import ssl

    import httpx2

    return httpx2.create_ssl_context() if needed else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Watch:
    """Ends all connections at a point in time: a server that sends a byte now and then outlives any other limit."""

    def __init__(self, seconds: float) -> None:
        self._sockets: list[Any] = []
        self._start(seconds)

    def _start(self, seconds: float) -> None:
        from threading import Timer

        self.expired = False
        self.seconds = seconds
        timer = Timer(seconds, self._end)
        timer.daemon = True
        self._timer = timer
        timer.start()

    def renew(self, seconds: float) -> None:
        """Count from now on, and so many seconds; of what has ended, nothing is kept."""
        self.close()
        self._sockets = [each for each in self._sockets if each.fileno() >= 0]
        self._start(seconds)

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Take note of each connection; called by the client."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._sockets.append(info["return_value"].get_extra_info("socket"))
            if self.expired:
                self._end()

    def close(self) -> None:
        """Watch no longer; its thread has ended, since what follows may fork."""
        self._timer.cancel()
        if self._timer.is_alive():  # it is not where an interruption kept it from starting
            self._timer.join()

    def _end(self) -> None:
        import socket
        from contextlib import suppress

        self.expired = True
        for each in self._sockets:
            with suppress(OSError):
                # not TLS's own shutdown, which would wait for the other side
                socket.socket.shutdown(each, socket.SHUT_RDWR)


# ------------------------------------------------------------------------------------- whole bodies


def fetch(url: str, *, name: str, limit: int, what: str, headers: Mapping[str, str] = NONE) -> bytes:
    """All bytes of a small remote file.

    Args:
        url: where it is.
        name: what messages call it.
        limit: more bytes than this are refused before they have come.
        what: what the limit is for (`a template`).
        headers: for the host of `url` alone.
    """
    patience = _SHORT if limit <= _SMALL else PATIENCE
    with Web(url, name=name, headers=headers, patience=patience) as web, web.ask() as answer:
        return body(web, answer, limit, what)


def body(web: Web, answer: Answer, limit: int, what: str) -> bytes:
    """The body of an answer that ought to be a small file."""
    if answer.status != _OK:
        raise web.refusal(answer)
    if answer.encoded:
        raise Refused(f"{web.name}: {answer.host} sends it {clip(answer.encoded)}-encoded, which was not asked for")
    found = answer.up_to(limit)
    if found is None:
        size = f"{answer.length:,} bytes, more" if answer.length else "more bytes"
        raise Refused(f"{web.name} has {size} than the {limit:,} {what} may have")
    return found

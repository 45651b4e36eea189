"""Files of a repository → the library's cache: `hf_hub_download`, made silent, and bounded in bytes and time."""

from __future__ import annotations

import contextvars
import re
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import httpx2

from templatelint.errors import TemplatelintError
from templatelint.sources import opening
from templatelint.sources.hub import refusals
from templatelint.sources.web import Watch, certificates
from templatelint.sources.web_refusals import failed, late

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from templatelint.sources.hub.listing import Wanted
    from templatelint.sources.hub.refusals import Asked

_WORKERS = 6
_WHOLE = 300.0  # seconds for all files together
_ETAG = re.compile(r'(W/)?"?[\w.+-]{1,128}"?', re.ASCII)  # the library makes a file name of it
_COMMIT = re.compile(r"[0-9a-f]{40}")
_CODES = 400
# Xet is another client, which the bounds here do not reach, with threads that outlive the download. Telemetry asks for
# a list of programs that may have started this one.
_OFF = ("HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_TELEMETRY")


@dataclass(frozen=True)
class _Fetching:
    """What the requests of one file are measured by."""

    name: str
    wanted: Wanted
    asked: Asked
    watch: Watch

    def failed(self, host: str, error: Exception) -> TemplatelintError:
        """What a failure of the client means."""
        return late(self.name, _WHOLE) if self.watch.expired else failed(self.name, host, error)


_NOW: contextvars.ContextVar[_Fetching] = contextvars.ContextVar("fetching")


def fetch(asked: Asked, commit: str, wanted: Sequence[Wanted], cache: Path, token: str) -> None:
    """Put files into the cache, several at a time.

    Args:
        asked: what messages say of the requests.
        commit: 40 hex digits.
        wanted: the files.
        cache: the library's folder of repositories.
        token: for the Hub's host; empty for none.

    Raises:
        TemplatelintError: one of them cannot be had.
    """
    from concurrent.futures import ThreadPoolExecutor

    watch = Watch(_WHOLE)

    def one(each: Wanted) -> None:
        _NOW.set(_Fetching(f"{asked.repo}/{each.file}", each, asked, watch))
        _download(commit, each, cache, token)

    # Threads and connections end here: what follows forks.
    with closing(watch), _library(), ThreadPoolExecutor(min(_WORKERS, len(wanted))) as pool:
        for done in [pool.submit(one, each) for each in wanted]:
            done.result()


def _download(commit: str, wanted: Wanted, cache: Path, token: str) -> None:
    from huggingface_hub.errors import LocalEntryNotFoundError
    from huggingface_hub.file_download import hf_hub_download

    now = _NOW.get()
    name, asked = now.name, now.asked
    try:
        hf_hub_download(
            asked.repo,
            wanted.file,
            revision=commit,
            endpoint=asked.endpoint,
            cache_dir=cache,
            token=token or False,
            tqdm_class=_NoBar,
        )
    except TemplatelintError:
        raise
    except LocalEntryNotFoundError as error:
        raise refusals.no_hub(asked, "headers that no Hub sends") from error
    except OSError as error:
        if error.errno is None:  # the library's own: another number of bytes than announced
            raise TemplatelintError(f"{name} does not come whole from {asked.hub}", help="try again") from error
        raise TemplatelintError(
            f"{name} cannot be put into {cache}: {error.strerror}", help="HF_HOME names another folder"
        ) from error
    except Exception as error:  # the library has many names for what a server can do wrong
        kind = type(error).__name__
        raise TemplatelintError(f"{name} cannot be fetched from {asked.hub} ({kind})", help="try again") from error


@contextmanager
def _library() -> Iterator[None]:
    """huggingface_hub without a word on stderr, with a client of ours; no connection is left open."""
    import logging
    import warnings

    from huggingface_hub import constants
    from huggingface_hub.utils import _http

    logger = logging.getLogger("huggingface_hub")
    # there is a public way to set the factory, none to learn which is set
    factory, level = _http._GLOBAL_CLIENT_FACTORY, logger.level  # noqa: SLF001
    before = {name: getattr(constants, name) for name in _OFF}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.CRITICAL + 1)
        for name in _OFF:
            setattr(constants, name, True)
        _http.set_client_factory(_Client)
        try:
            yield
        finally:
            _http.set_client_factory(factory)
            logger.setLevel(level)
            for name, value in before.items():
                setattr(constants, name, value)


class _NoBar:
    """What the library takes for a progress bar."""

    def __init__(self, **_: Any) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, count: float = 1) -> None:
        """Nothing is shown."""


class _Client(httpx2.Client):
    """The client that the library is given: what goes wrong is said at once, in our words, and not tried again."""

    def __init__(self) -> None:
        super().__init__(
            verify=certificates(needed=True),
            event_hooks={"response": [_check]},
            follow_redirects=True,
            headers={"accept-encoding": "identity"},
        )

    def send(self, request: httpx2.Request, **keywords: Any) -> httpx2.Response:
        """Send a request."""
        now = _NOW.get()
        if "accept-encoding" in request.headers:
            request.headers["accept-encoding"] = "identity"
        request.extensions = {**request.extensions, "trace": now.watch.trace}
        try:
            return super().send(request, **keywords)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ImportError) as error:
            raise now.failed(request.url.host, error) from error


def _check(response: httpx2.Response) -> None:
    """Refuse an answer that would not do, before its body is read."""
    now = _NOW.get()
    headers = response.headers
    if response.status_code >= _CODES:
        raise refusals.answered(now.asked, response.status_code, dict(headers))
    for name, form in (("etag", _ETAG), ("x-linked-etag", _ETAG), ("x-repo-commit", _COMMIT)):
        if name in headers and not form.fullmatch(headers[name]):
            raise refusals.no_hub(now.asked, f"an {name} that no Hub sends")
    if headers.get("content-encoding", "identity") != "identity":
        raise refusals.no_hub(now.asked, "an encoding that was not asked for")
    for name in ("content-length", "x-linked-size"):
        size = headers.get(name, "")
        if size.isascii() and size.isdigit() and int(size) > now.wanted.limit:
            raise opening.too_large(now.name, int(size), now.wanted.limit, now.wanted.what)
    stream = response.stream
    if isinstance(stream, httpx2.SyncByteStream):
        response.stream = _Bounded(stream, now, response.url.host)


class _Bounded(httpx2.SyncByteStream):
    """A body of which no more is taken than a file may have, and not for ever."""

    def __init__(self, stream: httpx2.SyncByteStream, now: _Fetching, host: str) -> None:
        self._stream = stream
        self._now = now
        self._host = host

    def __iter__(self) -> Iterator[bytes]:
        now, taken = self._now, 0
        try:
            for part in self._stream:
                taken += len(part)
                if taken > now.wanted.limit:
                    raise TemplatelintError(
                        f"{now.name} has more bytes than the {now.wanted.limit:,} {now.wanted.what} may have"
                    )
                yield part
        except httpx2.HTTPError as error:
            raise now.failed(self._host, error) from error

    def close(self) -> None:
        self._stream.close()

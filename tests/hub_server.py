"""Repositories as data → a small Hugging Face Hub on loopback, and the host its large files come from.

Two servers: `endpoint` answers as the Hub does (API, small files, refusals), `cdn` serves the bytes of large files by
range. Both record every request, with its headers and the bytes that were sent for it.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = (".gguf", ".safetensors", ".bin", "tokenizer.json")
_CHUNK = 64 << 10
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_RESOLVE = re.compile(r"/(?P<repo>[^/]+(?:/[^/]+)?)/resolve/(?P<revision>[^/]+)/(?P<file>.+)")
_API = re.compile(r"/api/models/(?P<repo>[^/]+(?:/[^/]+)?)(?:/revision/(?P<revision>[^/]+))?")


@dataclass(frozen=True)
class Padded:
    """A file of which only the head matters: zeros follow up to its size, and are made as they are sent."""

    head: bytes
    size: int

    def part(self, start: int, stop: int) -> bytes:
        """The bytes from `start` on, up to `stop`."""
        inside = self.head[start:stop]
        return inside + bytes(stop - start - len(inside))


@dataclass
class Repo:
    """A repository.

    Attributes:
        files: name → content; text is UTF-8.
        commit: what `main` is.
        revisions: further branches and tags → commit; all have the same files.
        card: the front matter of its card, as the API gives it.
        gated: its files are for those who accepted its terms.
        private: it is there for its tokens alone.
        tokens: who may read it where not everybody may.
        large: names (or their endings) of files that are stored apart: the Hub redirects to the CDN for them.
        announced: sizes that the API gives instead of the true ones; None leaves the size out.
    """

    files: dict[str, bytes | str | Padded]
    commit: str = COMMIT
    revisions: dict[str, str] = field(default_factory=dict)
    card: Mapping[str, Any] | None = None
    gated: str | bool = False
    private: bool = False
    tokens: tuple[str, ...] = ()
    large: tuple[str, ...] = LARGE
    announced: dict[str, int | None] = field(default_factory=dict)

    def content(self, name: str) -> Padded | None:
        """A file's content, None where there is no such file."""
        found = self.files.get(name)
        if found is None or isinstance(found, Padded):
            return found
        raw = found.encode() if isinstance(found, str) else found
        return Padded(raw, len(raw))

    def is_large(self, name: str) -> bool:
        """Whether the file is stored apart."""
        return name.endswith(self.large)


@dataclass(frozen=True)
class Answer:
    """What is sent whatever is asked.

    Attributes:
        status: of HTTP.
        body: in full; of a `Padded` as much as the client takes.
        headers: besides `Content-Length`.
        sized: say how long the body is; otherwise it ends with the connection.
        stall: send the head and no more until the server stops.
        drop: close the connection without a word.
    """

    status: int = 200
    body: bytes | Padded = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    sized: bool = True
    stall: bool = False
    drop: bool = False


@dataclass
class Seen:
    """A request, and what was sent for it: `sent` counts the bytes of the body."""

    host: str  # hub or cdn
    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    status: int = 0
    sent: int = 0

    @property
    def token(self) -> str | None:
        """The token that came along."""
        return self.headers.get("authorization", "").removeprefix("Bearer ") or None


class HubServer:
    """The two servers; a context manager.

    Attributes:
        repos: name → repository; change it while it runs as you like.
        moved: old name → new name.
        answers: (start of a path, query included) → what is answered to it whatever there is; the first that fits.
        known_tokens: tokens that are somebody's; with another one every request fails. None: all are.
        requests: what was asked, in order.
        ranges: the CDN honours `Range`.
    """

    def __init__(self, repos: Mapping[str, Repo] | None = None) -> None:
        self.repos: dict[str, Repo] = dict(repos or {})
        self.moved: dict[str, str] = {}
        self.answers: dict[str, Answer] = {}
        self.known_tokens: tuple[str, ...] | None = None
        self.requests: list[Seen] = []
        self.ranges = True
        self.stopping = threading.Event()
        self._servers: list[ThreadingHTTPServer] = []

    def __enter__(self) -> Self:
        for host in ("hub", "cdn"):
            server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self, "host": host}))
            self._servers.append(server)
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    @property
    def endpoint(self) -> str:
        """What `HF_ENDPOINT` is set to."""
        return f"http://127.0.0.1:{self._servers[0].server_port}"

    @property
    def cdn(self) -> str:
        """Where large files are."""
        return f"http://127.0.0.1:{self._servers[1].server_port}"

    def seen(self, host: str) -> list[Seen]:
        """The requests to one of the hosts (`hub`, `cdn`)."""
        return [request for request in self.requests if request.host == host]

    def asked(self) -> list[str]:
        """The requests in short: `HEAD hub /owner/name/resolve/main/config.json 200`."""
        return [f"{one.method} {one.host} {urlsplit(one.path).path} {one.status}" for one in self.requests]

    def sent(self, host: str) -> int:
        """Bytes of bodies that one of the hosts has sent."""
        return sum(request.sent for request in self.seen(host))

    # ---- what the Hub says

    def answer(self, seen: Seen) -> tuple[Answer, tuple[int, int] | None]:
        """What a request is answered with, and which part of the body it is."""
        for start, answer in self.answers.items():
            if seen.path.startswith(start):
                return answer, None
        path = urlsplit(seen.path).path
        if seen.host == "cdn":
            return self._stored(unquote(path), seen.headers.get("range"))
        if seen.token and self.known_tokens is not None and seen.token not in self.known_tokens:
            return _refusal(401, "", "Invalid credentials in Authorization header"), None
        if found := _API.fullmatch(path):
            return self._api(found["repo"], found["revision"], seen), None
        if found := _RESOLVE.fullmatch(path):
            return self._resolve(found["repo"], found["revision"], unquote(found["file"]), seen), None
        return _refusal(404, "", "Sorry, we can't find the page you are looking for."), None

    def _api(self, name: str, revision: str | None, seen: Seen) -> Answer:
        if name in self.moved:
            return self._elsewhere(name, seen)
        repo, refusal = self._readable(name, seen)
        if repo is None:
            return refusal
        commit = self._commit(repo, revision or "main")
        if commit is None:
            return _refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        blobs = "blobs=" in seen.path
        owner = name.rpartition("/")[0]
        found = {
            "_id": "0" * 24,
            "id": name,
            "modelId": name,
            "author": owner,
            "sha": commit,
            "private": repo.private,
            "gated": repo.gated,
            "disabled": False,
            "tags": [],
            "siblings": [self._sibling(repo, file, blobs=blobs) for file in repo.files],
        }
        if repo.card is not None:
            found["cardData"] = dict(repo.card)
        return Answer(200, json.dumps(found).encode(), {"Content-Type": "application/json; charset=utf-8"})

    def _sibling(self, repo: Repo, name: str, *, blobs: bool) -> dict[str, Any]:
        found: dict[str, Any] = {"rfilename": name}
        content = repo.content(name)
        size = repo.announced.get(name, content.size if content else 0)
        if blobs and size is not None:
            found |= {"size": size, "blobId": "0" * 40}
            if repo.is_large(name):
                found["lfs"] = {"sha256": "0" * 64, "size": size, "pointerSize": 135}
        return found

    def _resolve(self, name: str, revision: str, file: str, seen: Seen) -> Answer:
        if name in self.moved:
            return self._elsewhere(name, seen)
        repo, refusal = self._readable(name, seen)
        if repo is None:
            return refusal
        commit = self._commit(repo, revision)
        if commit is None:
            return _refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if repo.gated and seen.token not in repo.tokens:
            return _gated(name, seen)
        content = repo.content(file)
        if content is None:
            return _refusal(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
        return self._file(name, file, content, {"X-Repo-Commit": commit, "Accept-Ranges": "bytes"})

    def _file(self, name: str, file: str, content: Padded, headers: Mapping[str, str]) -> Answer:
        etag = hashlib.sha256(f"{content.size} ".encode() + content.head).hexdigest()
        if self.repos[name].is_large(file):
            where = f"{self.cdn}/{quote(name)}/{quote(file)}?signature=secret"
            linked = {"X-Linked-Size": str(content.size), "X-Linked-Etag": f'"{etag}"'}
            return Answer(302, b"", {**headers, **linked, "Location": where})
        return Answer(200, content, {**headers, "ETag": f'"{etag[:40]}"', "Content-Type": "text/plain"})

    def _elsewhere(self, name: str, seen: Seen) -> Answer:
        return Answer(307, b"", {"Location": seen.path.replace(quote(name), quote(self.moved[name]), 1)})

    def _readable(self, name: str, seen: Seen) -> tuple[Repo | None, Answer]:
        repo = self.repos.get(name)
        if repo is not None and (not repo.private or seen.token in repo.tokens):
            return repo, Answer()
        if seen.token:
            return None, _refusal(404, "RepoNotFound", "Repository not found")
        return None, _refusal(401, "", "Invalid username or password.")

    @staticmethod
    def _commit(repo: Repo, revision: str) -> str | None:
        commits = {"main": repo.commit, repo.commit: repo.commit, **repo.revisions}
        commits |= {commit: commit for commit in repo.revisions.values()}
        return commits.get(unquote(revision))

    # ---- what the other host says

    def _stored(self, path: str, wanted: str | None) -> tuple[Answer, tuple[int, int] | None]:
        name, _, file = path.removeprefix("/").partition("/")
        repo = self.repos.get(name)
        if repo is None:
            owner, (short, _, file) = name, file.partition("/")
            repo = self.repos.get(f"{owner}/{short}")
        content = repo.content(file) if repo else None
        if content is None:
            return Answer(403, b"<Error>AccessDenied</Error>", {"Content-Type": "application/xml"}), None
        found = _RANGE.fullmatch(wanted or "") if self.ranges else None
        if found is None:
            return Answer(200, content, {"Accept-Ranges": "bytes"} if self.ranges else {}), None
        start = int(found[1])
        if start >= content.size:
            return Answer(416, b"", {"Content-Range": f"bytes */{content.size}"}), None
        stop = min(int(found[2]) + 1 if found[2] else content.size, content.size)
        headers = {"Content-Range": f"bytes {start}-{stop - 1}/{content.size}", "Accept-Ranges": "bytes"}
        return Answer(206, content, headers), (start, stop)


def _gated(name: str, seen: Seen) -> Answer:
    said = f"Access to model {name} is restricted"
    if seen.token:
        return _refusal(403, "GatedRepo", f"{said} and you are not in the authorized list.")
    return _refusal(401, "GatedRepo", f"{said}. You must have access to it and be authenticated.")


def _refusal(status: int, code: str, message: str, more: Mapping[str, str] | None = None) -> Answer:
    headers = {"Content-Type": "application/json; charset=utf-8", "X-Error-Message": message, **(more or {})}
    if code:
        headers["X-Error-Code"] = code
    return Answer(status, json.dumps({"error": message}).encode(), headers)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up in the middle is what is being tested."""


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    host: str
    protocol_version = "HTTP/1.1"
    timeout = 20

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.host, self.command, self.path, headers)
        self.hub.requests.append(seen)
        answer, part = self.hub.answer(seen)
        seen.status = answer.status
        if answer.drop:
            self.close_connection = True
            return
        body = answer.body if isinstance(answer.body, Padded) else Padded(answer.body, len(answer.body))
        start, stop = part or (0, body.size)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.sized:
            self.send_header("Content-Length", str(stop - start))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        if answer.stall:
            self.hub.stopping.wait()
            self.close_connection = True
        elif self.command != "HEAD":
            for chunk in _chunks(body, start, stop):
                self.wfile.write(chunk)
                seen.sent += len(chunk)


def _chunks(body: Padded, start: int, stop: int) -> Iterator[bytes]:
    for at in range(start, stop, _CHUNK):
        yield body.part(at, min(at + _CHUNK, stop))

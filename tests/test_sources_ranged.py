from __future__ import annotations

import random
import ssl
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import httpx2
import pytest
from gguf_bytes import header, text, texts, u32
from web_server import Asked, Reply, WebServer, part_of

from templatelint.errors import TemplatelintError
from templatelint.sources import gguf, web
from templatelint.sources.hub import listing, refusals
from templatelint.sources.hub.reference import parse
from templatelint.sources.ranged import RangedFile, Refused, open_ranged
from templatelint.sources.web import Patience, Web
from templatelint.sources.web_address import address, shown
from templatelint.sources.web_refusals import failed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from templatelint.model import Model

NAME = "x.gguf"
KIB, MIB = 1 << 10, 1 << 20
CONTENT = bytes(range(256)) * (8 * MIB // 256)


@pytest.fixture(autouse=True)
def _first_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a MiB in these tests, whatever suits real headers best."""
    monkeypatch.setattr("templatelint.sources.ranged._FIRST", 512 * KIB)


def model(server: WebServer, path: str = "/x.gguf") -> Model:
    with open_ranged(server.url + path, name=NAME) as file:
        return gguf.from_source(file, NAME, NAME)


def tokens_of(count: int) -> list[str]:
    return [f"token {number:07}{'x' * (number % 50)}" for number in range(count)]


def vocabulary(count: int) -> bytes:
    """A header with that many tokens of 40 bytes on average, and the template behind them."""
    pairs = [
        ("tokenizer.ggml.tokens", texts(*tokens_of(count))),
        ("tokenizer.ggml.eos_token_id", u32(count - 1)),
        ("tokenizer.chat_template", text("{{ messages }}")),
    ]
    return header(pairs)


# ------------------------------------------------------------------------------------------ headers


def test_a_large_header_takes_few_requests_and_no_byte_twice() -> None:
    head = vocabulary(150_000)
    assert 6_500_000 < len(head) < 7_700_000
    content = head + bytes(16 * MIB)
    with WebServer(lambda asked: part_of(content, asked, ETag='"1"')) as server:
        found = model(server)
    assert found.templates[0].source == "{{ messages }}"
    assert found.tokenizer.special_tokens == {"eos_token": tokens_of(150_000)[-1]}
    ranges = [asked.range or (0, 0) for asked in server.asked]
    assert ranges == [(0, 512 * KIB), (512 * KIB, 1536 * KIB), (1536 * KIB, 3584 * KIB), (3584 * KIB, 7680 * KIB)]
    assert server.sent == 7680 * KIB
    assert [asked.headers.get("if-range") for asked in server.asked] == [None, '"1"', '"1"', '"1"']


def test_a_small_header_takes_one_request() -> None:
    content = vocabulary(5_000) + bytes(4 * MIB)
    with WebServer(lambda asked: part_of(content, asked)) as server:
        model(server)
    assert [asked.range for asked in server.asked] == [(0, 512 * KIB)]


def test_what_nobody_reads_is_not_fetched() -> None:
    large = text("y" * (20 * MIB))
    content = header([("a.b", large), ("tokenizer.chat_template", text("T"))])
    with WebServer(lambda asked: part_of(content, asked)) as server:
        assert model(server).templates[0].source == "T"
    assert server.sent < 600 * KIB


@pytest.mark.parametrize("size", [0, 1, 100, 512 * KIB, 512 * KIB + 1])
def test_the_last_chunk_ends_with_the_file(size: int) -> None:
    with (
        WebServer(lambda asked: part_of(CONTENT[:size], asked)) as server,
        open_ranged(server.url, name=NAME) as file,
    ):
        assert file.size == size
        assert file.read(0, MIB) == CONTENT[:size]
        assert file.read(size, 10) == b""
        assert file.fetched == size == server.sent


def test_reads_step_back_and_ahead_without_overlap() -> None:
    with (
        WebServer(lambda asked: part_of(CONTENT, asked)) as server,
        open_ranged(server.url, name=NAME) as file,
    ):
        assert file.read(100, 50) == CONTENT[100:150]
        assert file.read(6 * MIB, 10) == CONTENT[6 * MIB : 6 * MIB + 10]
        assert file.read(5 * MIB, 2 * MIB) == CONTENT[5 * MIB : 7 * MIB]
        assert file.read(0, 8 * MIB) == CONTENT
        assert file.read(0, 8 * MIB) == CONTENT
    covered = sorted(asked.range or (0, 0) for asked in server.asked)
    assert all(before[1] <= after[0] for before, after in pairwise(covered))
    assert server.sent == len(CONTENT) == file.fetched
    assert file.requests == len(server.asked)


def test_more_is_not_fetched_for_its_own_sake() -> None:
    with (
        WebServer(lambda asked: part_of(CONTENT, asked)) as server,
        open_ranged(server.url, name=NAME) as file,
    ):
        assert file.read(512 * KIB - 10, 256 * KIB, 8) == CONTENT[512 * KIB - 10 : 512 * KIB]
        assert len(server.asked) == 1
        assert len(file.read(512 * KIB - 10, 256 * KIB, 11)) == 256 * KIB


def test_progress_is_told() -> None:
    told: list[int] = []
    with (
        WebServer(lambda asked: part_of(CONTENT, asked)) as server,
        open_ranged(server.url, name=NAME, progress=told.append) as file,
    ):
        file.read(0, MIB)
    *came, end = told
    assert came == sorted(came)
    assert came[-1] == 1536 * KIB
    assert end == 0


def test_any_reads_in_any_order_give_the_right_bytes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from templatelint.sources import ranged

    monkeypatch.setattr(ranged, "_FIRST", 700)
    chosen = random.Random(11)  # noqa: S311 (the same reads in every run)
    content = chosen.randbytes(30_000)
    with WebServer(lambda asked: part_of(content, asked)) as server:
        for _ in range(12):
            server.asked.clear()
            with open_ranged(server.url, name=NAME) as file:
                for _ in range(8):
                    start, count = chosen.randrange(31_000), chosen.randrange(6000)
                    least = chosen.choice([None, count // 3])
                    got = file.read(start, count, least)
                    assert got == content[start : start + len(got)]
                    assert len(got) >= min(count if least is None else least, max(len(content) - start, 0))
            asked = sorted(each.range or (0, 0) for each in server.asked)
            assert all(before[1] <= after[0] for before, after in pairwise(asked))
            assert file.fetched == server.sent == sum(min(stop, len(content)) - start for start, stop in asked)


# ------------------------------------------------------------------------ servers that do it wrong


def ignores(asked: Asked) -> Reply:
    del asked
    return Reply(200, CONTENT)


def reads(reply: Callable[[Asked], Reply]) -> tuple[WebServer, str]:
    """The refusal that reading the first MiB of such a server's file ends in."""
    with (
        WebServer(reply) as server,
        pytest.raises(TemplatelintError) as refused,
        open_ranged(server.url + "/?secret=1", name=NAME) as file,
    ):
        file.read(0, MIB)
    assert "secret" not in str(refused.value)
    return server, refused.value.message


def part(start: int, stop: int, size: str, body: bytes = b"", *, sized: bool = True, **headers: str) -> Reply:
    more = {key.replace("_", "-"): value for key, value in headers.items()}
    body = body or CONTENT[start:stop]
    return Reply(206, body, {"Content-Range": f"bytes {start}-{stop - 1}/{size}", **more}, sized)


def after_first(later: Reply) -> Callable[[Asked], Reply]:
    def reply(asked: Asked) -> Reply:
        return part_of(CONTENT, asked, ETag='"1"') if asked.range == (0, 512 * KIB) else later

    return reply


HALF = 512 * KIB
NEXT = 1536 * KIB


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(200, CONTENT), "ignores that a part was asked for and sends all 8,388,608 bytes"),
        (Reply(200, CONTENT, sized=False), "ignores that a part was asked for"),
        (Reply(206, CONTENT[:HALF]), "does not tell which bytes it sends"),
        (part(0, HALF, "*"), "does not tell its size"),
        (part(1, HALF, "99999999"), "sends bytes 1 to 524,287 of it, asked for 0 to 524,287"),
        (part(0, 100, "99999999"), "sends bytes 0 to 99 of it, asked for 0 to 524,287"),
        (part(0, HALF, "99999999", CONTENT[:100]), "announces 524,288 bytes of it and 100"),
        (
            Reply(206, CONTENT[: HALF + 5], {"Content-Range": f"bytes 0-{HALF - 1}/{8 * MIB}"}, sized=False),
            "sends more",
        ),
        (part(0, HALF, "9" * 30), "does not tell which bytes"),
        (part(0, HALF, "99999999", Content_Encoding="gzip"), "sends it encoded"),
        (Reply(200, b"<html>", {"Content-Type": "text/html; charset=utf-8"}), "is an HTML page"),
        (Reply(404), "has no such file (HTTP 404)"),
        (Reply(401), "asks for a login (HTTP 401)"),
        (Reply(403), "refuses access (HTTP 403)"),
        (Reply(416), "has no such bytes (HTTP 416)"),
        (Reply(429, headers={"Retry-After": "30"}), "has had too many requests (HTTP 429)"),
        (Reply(503), "fails (HTTP 503)"),
        (Reply(418), "refuses (HTTP 418)"),
        (Reply(204), "sends nothing (HTTP 204)"),
    ],
)
def test_the_first_answer_is_wrong(reply: Reply, message: str) -> None:
    server, told = reads(lambda _: reply)
    assert told.startswith(NAME)
    assert message in told
    assert len(server.asked) == 1
    assert "\n" not in told


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (Reply(200, CONTENT), "changed while it was read"),
        (Reply(416), "changed while it was read"),
        (part(HALF, NEXT, str(8 * MIB - 1), ETag='"1"'), "changed while it was read"),
        (part(HALF, NEXT, str(8 * MIB), ETag='"2"'), "changed while it was read"),
        (part(0, HALF, str(8 * MIB), ETag='"1"'), "sends bytes 0 to 524,287 of it, asked for 524,288 to 1,572,863"),
        (Reply(403), "refuses access (HTTP 403)"),
        (Reply(500), "fails (HTTP 500)"),
    ],
)
def test_a_later_answer_is_wrong(later: Reply, message: str) -> None:
    server, told = reads(after_first(later))
    assert message in told
    assert len(server.asked) == 2


def test_a_small_file_is_taken_whole() -> None:
    with WebServer(lambda _: Reply(200, vocabulary(1000))) as server:
        assert model(server).templates[0].source == "{{ messages }}"
    assert len(server.asked) == 1


def test_of_a_body_without_an_announced_size_little_is_taken() -> None:
    with (
        WebServer(lambda _: Reply(200, b"GGUF" + bytes(60 * KIB), sized=False)) as server,
        open_ranged(server.url, name=NAME) as file,
    ):
        assert file.size == 60 * KIB + 4
    reads(lambda _: Reply(200, bytes(70 * KIB), sized=False))


@pytest.mark.parametrize("at", [-1, 0, 1000])
@pytest.mark.parametrize("start", [0, HALF])
def test_a_cut_connection_is_tried_once_more_from_where_it_ended(start: int, at: int) -> None:
    cut: list[Asked] = []

    def reply(asked: Asked) -> Reply:
        whole = part_of(CONTENT, asked)
        if asked.range and asked.range[0] == start and not cut:
            cut.append(asked)
            return Reply(whole.status, whole.body, whole.headers, cut=at)
        return whole

    with WebServer(reply) as server, open_ranged(server.url, name=NAME) as file:
        assert file.read(0, MIB) == CONTENT[:MIB]
    assert server.sent == NEXT
    assert (start + max(at, 0), HALF if start == 0 else NEXT) in [asked.range for asked in server.asked]


def test_a_connection_that_is_cut_again_is_told() -> None:
    def reply(asked: Asked) -> Reply:
        whole = part_of(CONTENT, asked)
        return Reply(whole.status, whole.body, whole.headers, cut=1000)

    server, told = reads(reply)
    assert "ended too early" in told
    assert [asked.range for asked in server.asked] == [(0, HALF), (1000, HALF)]


def test_a_header_without_end_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    from templatelint.sources import ranged

    monkeypatch.setattr(ranged, "_MOST", 2 * MIB)
    with (
        WebServer(lambda asked: part_of(CONTENT, asked)) as server,
        open_ranged(server.url, name=NAME) as file,
        pytest.raises(Refused, match="wants more than 2,097,152 bytes to be read of its 8,388,608"),
    ):
        file.read(0, 8 * MIB)
    assert server.sent <= 2 * MIB


# -------------------------------------------------------------------------------------- redirections


def redirecting(where: Callable[[], str], status: int = 302) -> Callable[[Asked], Reply]:
    return lambda _: Reply(status, b"", {"Location": where(), "X-Repo-Commit": "abc"})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_is_followed_once_and_takes_no_secret_along(status: int) -> None:
    with (
        WebServer(lambda asked: part_of(CONTENT, asked)) as store,
        WebServer(redirecting(lambda: store.url + "/blob?signature=1", status)) as front,
        open_ranged(
            front.url.replace("//", "//user:pass%40word@"), name=NAME, headers={"Cookie": "a=b", "X-Key": "k"}
        ) as file,
    ):
        file.read(0, MIB)
        file.read(MIB, MIB)
        assert file.headers["x-repo-commit"] == "abc"
        assert file.requests == 4
    assert len(front.asked) == 1
    assert front.asked[0].headers["authorization"] == "Basic dXNlcjpwYXNzQHdvcmQ="
    assert {"cookie", "x-key"} <= set(front.asked[0].headers)
    assert [asked.path for asked in store.asked] == ["/blob?signature=1"] * 3
    for asked in store.asked:
        assert not {"authorization", "cookie", "x-key"} & set(asked.headers)


def test_a_redirection_on_the_same_host_keeps_the_secret() -> None:
    def reply(asked: Asked) -> Reply:
        return Reply(307, b"", {"Location": "/new"}) if asked.path == "/old" else part_of(b"abc", asked)

    with (
        WebServer(reply) as server,
        open_ranged(server.url + "/old", name=NAME, headers={"Authorization": "Bearer t"}) as file,
    ):
        assert file.size == 3
    assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer t"] * 2


def test_an_address_that_expires_is_asked_for_again_once() -> None:
    def stored(asked: Asked) -> Reply:
        return Reply(403) if asked.path == "/1" and asked.range != (0, HALF) else part_of(CONTENT, asked)

    with (
        WebServer(stored) as store,
        WebServer(lambda _: Reply(302, b"", {"Location": f"{store.url}/{len(front.asked)}"})) as front,
        open_ranged(front.url, name=NAME) as file,
    ):
        assert file.read(0, MIB) == CONTENT[:MIB]
        assert file.read(0, 3 * MIB) == CONTENT[: 3 * MIB]
    assert [asked.path for asked in store.asked] == ["/1", "/1", "/2", "/2"]
    assert len(front.asked) == 2


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "redirects to nowhere"),
        ("file:///etc/passwd", "redirects to what is no web address"),
        ("http://[::1", "redirects to what is no web address"),
        ("/", "redirects more than 5 times"),
    ],
)
def test_redirections_that_are_not_followed(location: str, message: str) -> None:
    server, told = reads(redirecting(lambda: location))
    assert message in told
    assert len(server.asked) <= 6


def test_no_redirection_from_https_to_http() -> None:
    web = Web("https://example.org/x", name=NAME)
    with pytest.raises(Refused, match=r"example.org redirects from https to http, to other\.example"):
        web._next(address("https://example.org/x"), "http://other.example/x")  # noqa: SLF001 (no TLS server here)


@pytest.mark.parametrize(
    "there", ["http://127.0.0.1/x", "http://169.254.169.254/x", "http://[::1]/", "http://localhost"]
)
def test_no_redirection_from_elsewhere_to_this_machine(there: str) -> None:
    with pytest.raises(Refused, match=r"example\.org redirects to this machine or its link"):
        Web("http://example.org/x", name=NAME)._next(address("http://example.org/x"), there)  # noqa: SLF001 (no server elsewhere)


# ---------------------------------------------------------------------------------- no answer at all


def refusal(url: str, patience: Patience = Patience()) -> str:  # noqa: B008 (a named tuple)
    with pytest.raises(Refused) as refused, open_ranged(url, name=NAME, patience=patience):
        pass
    assert refused.value.status is None
    return refused.value.message


def test_nothing_listens() -> None:
    with WebServer(lambda _: Reply()) as server:
        url = server.url
    assert refusal(url) == "x.gguf: 127.0.0.1 refuses the connection"


def test_no_such_host() -> None:
    assert "the host no-such-host.invalid is not found" in refusal("http://no-such-host.invalid/x")


@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        ("socks5://user:secret@127.0.0.1:9", "is a SOCKS proxy, which needs the package socksio"),
        ("ftp://user:secret@x", "the proxy of the environment is none"),
        ("http://user:secret@[::1", "the proxy of the environment is none"),
        ("http://user:secret@127.0.0.1:9", "no connection to example.org through the proxy of the environment"),
    ],
)
def test_a_proxy_that_is_of_no_use(proxy: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", proxy)
    told = refusal("http://example.org/x.gguf")
    assert message in told
    assert "secret" not in told


def test_certificates_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from templatelint.sources import web

    web.certificates.cache_clear()
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file")
    assert "no certificates can be read" in refusal("https://example.org/x.gguf")


def test_no_tls() -> None:
    with WebServer(lambda _: Reply()) as server:
        assert "no TLS with 127.0.0.1" in refusal(server.url.replace("http", "https"))


def test_a_certificate_that_is_not_trusted() -> None:
    untrusted = ssl.SSLCertVerificationError(1, "certificate verify failed")
    untrusted.verify_message = "self-signed certificate"
    error = httpx2.ConnectError("x")
    error.__cause__ = untrusted
    told = failed(NAME, "example.org", error)
    assert told.message == "x.gguf: the certificate of example.org is not trusted: self-signed certificate"


@pytest.mark.parametrize("reply", [Reply(drip=True), Reply(206, b"x" * 10, {"Content-Range": "bytes 0-9/10"})])
def test_time_is_bounded_whatever_the_server_sends(reply: Reply) -> None:
    if reply.drip:
        with WebServer(lambda _: reply) as server:
            assert refusal(server.url, Patience(whole=0.2)) == "x.gguf took longer than 0.2 s"
        return
    with WebServer(lambda _: reply) as server, Web(server.url, name=NAME, patience=Patience(whole=0.0)) as web:
        web._watch._timer.join()  # noqa: SLF001 (until time is up)
        with pytest.raises(Refused, match="took longer"):
            RangedFile(web)
    assert not server.asked


def test_a_server_that_says_nothing() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert refusal(url, Patience(read=0.1)) == "x.gguf: 127.0.0.1 does not answer any more"


# ---------------------------------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("https://user:secret@example.org/a.gguf", "https://example.org/a.gguf"),
        ("https://user@example.org/a.gguf", "https://example.org/a.gguf"),
        ("HTTPS://example.org:8443/a.gguf?X-Amz-Signature=secret", "https://example.org:8443/a.gguf?…"),
        ("https://example.org/a.gguf?download=true", "https://example.org/a.gguf?download=true"),
        ("https://user:sec/ret@example.org/a", "https://…"),
        ("https:user:secret@example.org/a", "https://example.org/a"),
        ("https://example.org/a\x1b[31m", "https://example.org/a�[31m"),
        ("https://[::1]:80/x#secret", "https://[::1]:80/x"),
        ("ftp://user:secret@x/", "an address"),
    ],
)
def test_what_people_see_of_an_address(url: str, seen: str) -> None:
    assert shown(url) == seen


@pytest.mark.parametrize(
    "url",
    [
        "https://",
        "https:x",
        "ftp://x/",
        "http://[::1/",
        "http://x:99999/",
        "http://x/a b",
        "http://a\\@b/",
        "http://x\n/",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(Refused, match="is no address of a file on the web"):
        address(url)


def test_what_is_no_http_is_said_without_its_bytes() -> None:
    error = httpx2.RemoteProtocolError("illegal status line: bytearray(b'SSH-2.0')")
    told = failed("n", "h", error)
    assert (told.message, told.help) == ("n: h does not answer as HTTP has it", "is it a web server, on that port?")
    assert "ended too early" in failed("n", "h", httpx2.RemoteProtocolError("Server disconnected")).message


@pytest.mark.parametrize(("limit", "seconds"), [(1 << 20, 30.0), (32 << 20, 60.0)])
def test_small_files_are_not_waited_for_as_long(limit: int, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[Patience] = []

    class Slow(Web):
        def __enter__(self) -> Self:
            waited.append(self._patience)
            raise Refused("late")

    monkeypatch.setattr(web, "Web", Slow)
    with pytest.raises(Refused):
        web.fetch("http://h/t.jinja", name="t", limit=limit, what="a file")
    assert [each.whole for each in waited] == [seconds]


def test_the_hub_is_not_waited_for_where_nobody_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    waited: list[Patience] = []

    class Slow(Web):
        def __enter__(self) -> Self:
            waited.append(self._patience)
            raise Refused("late")

    monkeypatch.setattr(web, "Web", Slow)
    asked = refusals.Asked("http://h", "a/b", "", token=False, path=False)
    with pytest.raises(TemplatelintError):
        listing.fetched(parse("hf:a/b"), asked, {}, tmp_path, hurry=2.0)
    assert waited == [Patience(1.0, 2.0, 2.0)]

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from gguf_bytes import header, text
from hub_server import COMMIT, HubServer, Repo
from web_server import Asked, Reply, WebServer, part_of

from templatelint import sources
from templatelint.errors import TemplatelintError
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from program import InProcess

GGUF = header([("tokenizer.chat_template", text("G")), ("tokenizer.chat_template.tool_use", text("T"))])
CONFIG = json.dumps({"chat_template": "C", "eos_token": "<end>"}).encode()
FILES: dict[str, bytes] = {
    "/m/model.gguf": GGUF + bytes(1 << 20),
    "/m/model-00001-of-00002.gguf": GGUF,
    "/m/chat_template.jinja": "{{ messages }}é\n".encode(),
    "/m/tokenizer_config.json": CONFIG,
    "/template": b"{{ messages }}",
    "/config": CONFIG,
    "/weights": GGUF,
    "/page.jinja": b"<!DOCTYPE html><html>log in</html>",
    "/page.json": b"<html>log in</html>",
    "/page.gguf": b"<html>log in</html>",
    "/large.jinja": b"x" * ((1 << 20) + 1),
    "/large": b"x" * ((1 << 20) + 1),
    "/empty.gguf": b"",
    "/binary": bytes(100),
}


def reply(asked: Asked) -> Reply:
    content = FILES.get(asked.path.partition("?")[0])
    return Reply(404) if content is None else part_of(content, asked)


@pytest.mark.parametrize(
    ("path", "kind", "found"),
    [
        ("/m/model.gguf", "gguf", {"default": "G", "tool_use": "T"}),
        ("/m/model.gguf?signature=" + "1" * 800, "gguf", {"default": "G", "tool_use": "T"}),
        ("/m/model.gguf#tool_use", "gguf", {"tool_use": "T"}),
        ("/m/model-00001-of-00002.gguf", "gguf", {"default": "G", "tool_use": "T"}),
        ("/m/chat_template.jinja", "file", {"default": "{{ messages }}é\n"}),
        ("/m/tokenizer_config.json", "config", {"default": "C"}),
        ("/m/tokenizer_config.json?download=true", "config", {"default": "C"}),
        ("/template", "file", {"default": "{{ messages }}"}),
        ("/config", "config", {"default": "C"}),
        ("/weights", "gguf", {"default": "G", "tool_use": "T"}),
    ],
)
def test_what_an_address_is(path: str, kind: str, found: dict[str, str]) -> None:
    with WebServer(reply) as server:
        model = sources.resolve(server.url + path)
    assert model.kind == kind
    assert {template.name: template.source for template in model.templates} == found
    assert not model.local
    assert "signature" not in model.ref
    assert model.ref.startswith(server.url)
    assert model.templates[0].origin.path == model.ref
    assert len(server.asked) == 1


def test_special_tokens_of_a_config() -> None:
    with WebServer(reply) as server:
        model = sources.resolve(server.url + "/m/tokenizer_config.json")
    assert model.tokenizer.special_tokens == {"eos_token": "<end>"}


@pytest.mark.parametrize(
    ("path", "message", "requests"),
    [
        ("/page.jinja", "is an HTML page", 1),
        ("/page.json", "is an HTML page", 1),
        ("/page.gguf", "is an HTML page", 1),
        ("/large.jinja", "has 1,048,577 bytes, more than the 1,048,576 a template may have", 1),
        ("/large", "has 1,048,577 bytes, more than the 1,048,576 a template may have", 1),
        ("/empty.gguf", "is empty", 1),
        ("/binary", "is binary", 1),
        ("/no-such", "has no such file (HTTP 404)", 1),
        ("/no-such.jinja", "has no such file (HTTP 404)", 1),
        ("/m/model-00002-of-00002.gguf", "is a later part of a split model", 0),
    ],
)
def test_what_is_refused(path: str, message: str, requests: int) -> None:
    with WebServer(reply) as server, pytest.raises(TemplatelintError) as refused:
        sources.resolve(server.url.replace("//", "//user:secret@") + path)
    assert message in refused.value.message
    assert refused.value.message.startswith(server.url + path)
    assert len(server.asked) == requests
    assert "secret" not in f"{refused.value.message} {refused.value.help}"


def test_a_later_part_names_the_first() -> None:
    with pytest.raises(TemplatelintError) as refused:
        sources.resolve("https://example.org/a/m-00003-of-00005.gguf?x=1")
    assert refused.value.help == "give the first: https://example.org/a/m-00001-of-00005.gguf"


def test_a_name_that_it_does_not_have() -> None:
    with WebServer(reply) as server, pytest.raises(TemplatelintError) as refused:
        sources.resolve(server.url.replace("//", "//user:secret@") + "/weights#tool")
    assert refused.value.message == f'no template "tool" in {server.url}/weights'


def test_a_template_without_an_announced_size() -> None:
    body = b"{{ messages }}" * 20_000
    with WebServer(lambda _: Reply(200, body, sized=False)) as server:
        assert sources.resolve(server.url + "/x.jinja").templates[0].source == body.decode()


def test_an_endless_template_is_refused() -> None:
    with (
        WebServer(lambda _: Reply(200, bytes(2 << 20), sized=False)) as server,
        pytest.raises(TemplatelintError, match="has more bytes than the 1,048,576 a template may have"),
    ):
        sources.resolve(server.url + "/x.jinja")


def test_offline_nothing_is_fetched() -> None:
    with WebServer(reply) as server, pytest.raises(TemplatelintError, match="is not fetched: --offline"):
        sources.resolve(server.url + "/template", reach=Reach(offline=True))
    assert not server.asked


@pytest.mark.parametrize("ref", ["https:", "http://", "https://user:secret@", "https:// x/y"])
def test_what_is_no_address(ref: str) -> None:
    with pytest.raises(TemplatelintError) as refused:
        sources.resolve(ref)
    assert "is no address of a file on the web" in refused.value.message
    assert "secret" not in refused.value.message


# ------------------------------------------------------------------------------------------ the Hub


@pytest.mark.parametrize(
    ("path", "read_as", "kind"),
    [
        ("/blob/main/q4.gguf", "hf:o/n@main/q4.gguf", "gguf"),
        ("/resolve/main/q4.gguf?download=true", "hf:o/n@main/q4.gguf", "gguf"),
        (f"/raw/{COMMIT}/chat_template.jinja", f"hf:o/n@{COMMIT}/chat_template.jinja", "file"),
        ("/tree/main", "hf:o/n@main", "folder"),
        ("/tree/v1", "hf:o/n@v1", "folder"),
        ("/", "hf:o/n", "folder"),
        ("", "hf:o/n", "folder"),
    ],
)
def test_a_page_of_the_hub(hub: HubServer, path: str, read_as: str, kind: str) -> None:
    files: dict[str, bytes | str] = {"q4.gguf": GGUF, "chat_template.jinja": "J", "tokenizer_config.json": "{}"}
    hub.repos["o/n"] = Repo({**files}, revisions={"v1": "1" * 40})
    ref = f"{hub.endpoint}/o/n{path}"
    model = sources.resolve(ref)
    assert model.kind == kind
    assert model.notes[0] == f"{ref} is read as {read_as}"
    assert model.templates[0].source == ("G" if kind == "gguf" else "J")


@pytest.mark.parametrize("page", ["/o/n/blob/refs%2Fpr%2F1/x.jinja", "/o/n/tree/refs/pr/1"])
def test_a_revision_with_slashes(hub: HubServer, page: str) -> None:
    with pytest.raises(TemplatelintError):
        sources.resolve(hub.endpoint + page)
    assert hub.requests[0].path.startswith("/api/models/o/n/revision/refs%2Fpr%2F1")


def test_other_pages_of_the_hub_are_pages(hub: HubServer) -> None:
    with pytest.raises(TemplatelintError, match="has no such file"):
        sources.resolve(f"{hub.endpoint}/datasets/owner/name/x.jinja")


# -------------------------------------------------------------------------------------- the program


def test_no_password_in_what_the_program_prints(cli: InProcess) -> None:
    with WebServer(reply) as server:
        ref = server.url.replace("//", "//user:secret@") + "/template?token=secret"
        for arguments in (
            ["lint", ref],
            ["inspect", ref],
            ["render", ref, "--case", "chat-basic"],
            ["diff", ref, ref + "2", "--case", "chat-basic"],
            ["lint", ref + "2", "--output-format", "json"],
        ):
            done = cli(*arguments)
            assert "secret" not in done.out + done.err, arguments
    assert all(asked.headers["authorization"] == "Basic dXNlcjpzZWNyZXQ=" for asked in server.asked)

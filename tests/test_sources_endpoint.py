from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from web_server import Asked, Reply, WebServer

from templatelint import engines, overrides, sources
from templatelint.engines.llamacpp.loaded import Ends
from templatelint.engines.llamacpp.real import real
from templatelint.engines.llamacpp.server import Bounds, serving
from templatelint.engines.llamacpp.tiny_gguf import write
from templatelint.errors import TemplatelintError
from templatelint.model import RenderError, Request
from templatelint.overrides import Override
from templatelint.sources.endpoint import process
from templatelint.sources.reach import Reach
from templatelint.sources.web_refusals import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from program import InProcess

    from templatelint.model import Model

JINJA = "{% for message in messages %}{{ message.content }}{% endfor %}"
PROPS = {
    "default_generation_settings": {"n_ctx": 512},
    "total_slots": 1,
    "model_alias": "tiny",
    "model_path": "/models/tiny.gguf",
    "chat_template": JINJA,
    "chat_template_caps": {"supports_tools": False},
    "bos_token": "<s>",
    "eos_token": "</s>",
    "build_info": "b11549-abc",
    "cors_proxy_enabled": False,
}


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEMPLATELINT_API_KEY", raising=False)


def routes(known: Mapping[str, Any]) -> Callable[[Asked], Reply]:
    """A server of those routes: path with its query → a JSON value, or a reply."""

    def reply(asked: Asked) -> Reply:
        path = asked.path if asked.path in known else asked.path.partition("?")[0]
        if path not in known:
            return Reply(404, b'{"detail": "Not Found"}')
        value = known[path]
        return value if isinstance(value, Reply) else Reply(200, json.dumps(value).encode())

    return reply


def answer(status: int, value: Any) -> Reply:
    return Reply(status, json.dumps(value).encode())


def resolved(known: Mapping[str, Any], behind: str = "", *, vetting: bool = False) -> tuple[Model, list[str]]:
    """The model of such a server, and what was asked for."""
    with WebServer(routes(known)) as server:
        model = sources.resolve(f"server:{server.url}{behind}", reach=Reach(vetting=vetting))
    assert model.kind == "server"
    assert not model.local
    return model, [f"{asked.method} {asked.path}" for asked in server.asked]


def refused(known: Mapping[str, Any], behind: str = "") -> TemplatelintError:
    with WebServer(routes(known)) as server, pytest.raises(TemplatelintError) as caught:
        sources.resolve(f"server:{server.url}{behind}")
    assert caught.value.message.startswith(f"server:{server.url}")
    assert "\n" not in f"{caught.value.message}{caught.value.help}"
    return caught.value


# -------------------------------------------------------------------------------------- llama-server


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs the package xllamacpp")
def test_a_real_llama_server() -> None:
    tools = "{{ messages[0].content }}{{ tools }}"
    model_file = write({"default": JINJA, "tool_use": tools}, Ends("<s>", "</s>"))
    with serving(real()._command, model_file, Bounds(20.0, 5.0)) as server:  # noqa: SLF001 (how `--real` starts one)
        model = sources.resolve(f"server:http://127.0.0.1:{server._port}", reach=Reach(offline=True, vetting=True))  # noqa: SLF001
    assert {each.name: each.source for each in model.templates} == {"default": JINJA, "tool_use": tools}
    assert model.tokenizer.special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert model.launch is not None
    assert model.launch.engine == "llama.cpp"
    assert model.launch.version
    assert model.launch.arguments is None  # no llama-server of its own
    assert str(model.launch.settings["model_path"]).endswith("model.gguf")


def test_llama_server() -> None:
    model, asked = resolved({"/props": {**PROPS, "chat_template_tool_use": "T"}})
    assert asked == ["GET /props"]
    assert {each.name: each.source for each in model.templates} == {"default": JINJA, "tool_use": "T"}
    assert model.tokenizer.special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert model.tokenizer.stop_tokens == ("</s>",)
    assert model.launch is not None
    assert (model.launch.engine, model.launch.version) == ("llama.cpp", "b11549-abc")
    assert model.launch.settings["chat_template_caps"] == {"supports_tools": False}
    assert "chat_template" not in model.launch.settings


@pytest.mark.parametrize("behind", ["/", "/v1", "/v1/", "?model=tiny", "/v1?model=/models/tiny.gguf", "#default"])
def test_forms_of_an_address(behind: str) -> None:
    model, asked = resolved({"/props": PROPS}, behind)
    assert asked == ["GET /props"]
    assert model.notes == ()


def test_an_address_without_a_scheme_and_one_below_a_path() -> None:
    with WebServer(routes({"/props": PROPS, "/llama/props": {**PROPS, "chat_template": "below"}})) as server:
        assert sources.resolve(f"server:127.0.0.1:{server.port}").templates[0].source == JINJA
        assert sources.resolve(f"server:localhost:{server.port}/llama/").templates[0].source == "below"


def test_another_model_than_the_one_served() -> None:
    model, _ = resolved({"/props": PROPS}, "?model=other")
    assert model.notes == ("it serves tiny whatever model is asked for",)
    model, _ = resolved({"/props": {**PROPS, "model_alias": "", "model_path": ""}}, "?model=other")
    assert model.notes == ("it serves its one model whatever model is asked for",)
    model, _ = resolved({"/props": PROPS}, "?model=a%26b")
    assert model.ref.endswith("?model=a%26b"), "which is read as the same again"


def test_vetting_asks_for_tools() -> None:
    tools = [{"tool": "exec_shell_command"}]
    model, asked = resolved({"/props": PROPS, "/tools": tools}, vetting=True)
    assert asked == ["GET /props", "GET /tools"]
    assert model.launch is not None
    assert model.launch.settings["tools"] == tools
    model, _ = resolved({"/props": PROPS, "/tools": answer(403, {"error": "no tools"})}, vetting=True)
    assert model.launch is not None
    assert "tools" not in model.launch.settings


ROUTER = {"role": "router", "models_autoload": True, "default_generation_settings": {}, "build_info": "b1"}
ARGS = ["/usr/bin/llama-server", "--port", "0", "--api-key", "secret", "--chat-template-file", "x.jinja", "--jinja"]
MODELS = {
    "data": [
        {"id": "one", "aliases": ["first"], "status": {"value": "loaded", "args": ARGS}},
        {"id": "two", "status": {"value": "unloaded", "args": []}},
    ]
}


@pytest.mark.parametrize("name", ["one", "first"])
def test_a_router(name: str) -> None:
    known = {"/props": ROUTER, "/v1/models": MODELS, f"/props?model={name}&autoload=false": PROPS}
    model, asked = resolved(known, f"?model={name}")
    assert asked == ["GET /props", "GET /v1/models", f"GET /props?model={name}&autoload=false"]
    assert model.ref.endswith(f"?model={name}")
    assert model.templates[0].source == JINJA
    assert model.launch is not None
    assert model.launch.arguments == (*ARGS[1:4], "…", *ARGS[5:])
    assert model.launch.settings["id"] == "one"


@pytest.mark.parametrize(
    ("behind", "message", "cure"),
    [
        ("", "serves 2 models", "?model=ID (one, two)"),
        ("?model=onee", 'has no model "onee"', "did you mean ?model=one?"),
        ("?model=two", "the router has not loaded two (unloaded)", "send it a request first"),
    ],
)
def test_a_router_that_cannot_say(behind: str, message: str, cure: str) -> None:
    unloaded = answer(400, {"error": {"message": "model is not loaded"}})
    known = {"/props": ROUTER, "/v1/models": MODELS, "/props?model=two&autoload=false": unloaded}
    error = refused(known, behind)
    assert message in error.message
    assert cure in (error.help or "")


# -------------------------------------------------------------------------------------------- others

TAGS = {"models": [{"name": "qwen3:4b"}, {"name": "own:latest"}]}
SHOW = {"template": JINJA, "model_info": {"general.architecture": "qwen3"}, "capabilities": ["completion"]}
OLLAMA = {"/api/version": {"version": "0.34.2"}, "/api/tags": TAGS, "/api/show": SHOW}


@pytest.mark.parametrize(("name", "sent"), [("qwen3:4b", "qwen3:4b"), ("own", "own:latest")])
def test_ollama(name: str, sent: str) -> None:
    with WebServer(routes(OLLAMA)) as server:
        model = sources.resolve(f"server:{server.url}?model={name}")
    assert [f"{asked.method} {asked.path}" for asked in server.asked] == [
        "GET /props",
        "GET /api/version",
        "GET /api/tags",
        "POST /api/show",
    ]
    assert json.loads(server.asked[-1].body) == {"model": sent}
    assert model.templates[0].source == JINJA
    assert model.tokenizer.assumed
    assert model.metadata["general.architecture"] == "qwen3"
    assert model.launch is not None
    assert (model.launch.engine, model.launch.version) == ("ollama", "0.34.2")
    request = Request(({"role": "user", "content": "Hi"},))
    assert not isinstance(engines.get("ollama").choose(model, request), RenderError)


@pytest.mark.parametrize(
    ("show", "message"),
    [
        ({"template": "{{ .Prompt }}"}, "renders qwen3:4b with its Go TEMPLATE"),
        ({"template": "{{- if .System }}x{{ end }}"}, "renders qwen3:4b with its Go TEMPLATE"),
        ({**SHOW, "renderer": "qwen3-coder"}, "renders qwen3:4b with code of its own (qwen3-coder)"),
        ({}, "tells no template of qwen3:4b"),
        (answer(404, {"error": "model not found"}), "tells no template of qwen3:4b"),
    ],
)
def test_ollama_that_renders_otherwise(show: Any, message: str) -> None:
    error = refused({**OLLAMA, "/api/show": show}, "?model=qwen3:4b")
    assert message in error.message
    assert "ollama:qwen3:4b" in (error.help or "")


def test_ollama_without_that_model() -> None:
    assert "serves 2 models" in refused(OLLAMA).message
    assert refused(OLLAMA, "?model=qwen3:8b").help == "did you mean ?model=qwen3:4b?"
    assert "serves no model" in refused({**OLLAMA, "/api/tags": {"models": []}}).message


INFO = {
    "tokenizer_class": "Qwen2TokenizerFast",
    "chat_template": JINJA,
    "eos_token": "<|im_end|>",
    "add_bos_token": False,
}
SERVED = {"data": [{"id": "served", "root": "Qwen/Qwen3-4B", "owned_by": "vllm", "max_model_len": 4096}]}
VLLM = {"/version": {"version": "0.29.1"}, "/v1/models": SERVED}


def test_vllm() -> None:
    model, _ = resolved({**VLLM, "/tokenizer_info": INFO})
    assert model.templates[0].source == JINJA
    assert model.tokenizer.special_tokens == {"eos_token": "<|im_end|>"}
    assert model.tokenizer.add_bos is False
    assert model.launch is not None
    assert (model.launch.engine, model.launch.version) == ("vllm", "0.29.1")
    assert model.launch.settings == {"id": "served", "root": "Qwen/Qwen3-4B", "max_model_len": 4096}


def test_vllm_with_named_templates() -> None:
    listed = [{"name": "default", "template": "A"}, {"name": "tool_use", "template": "B"}]
    model, _ = resolved({**VLLM, "/tokenizer_info": {**INFO, "chat_template": listed}}, "#tool_use")
    assert model.templates[0].source == "B"
    assert model.picked


def test_vllm_without_the_route() -> None:
    error = refused(VLLM)
    assert "is a vLLM 0.29.1 that does not tell its template" in error.message
    assert error.help == "start it with --enable-tokenizer-info-endpoint, or name what it serves: Qwen/Qwen3-4B"
    assert 'has no model "other"' in refused(VLLM, "?model=other").message
    assert "whose tokenizer has no template" in refused({**VLLM, "/tokenizer_info": {"tokenizer_class": "X"}}).message


SGLANG = {
    "version": "0.5.23",
    "model_path": "Qwen/Qwen3-4B",
    "tokenizer_path": "Qwen/Qwen3-4B",
    "chat_template": None,
    "tool_call_parser": "qwen",
    "api_key": "secret",
}


@pytest.mark.parametrize("route", ["/server_info", "/get_server_info"])
def test_sglang_tells_no_template(route: str) -> None:
    error = refused({route: SGLANG})
    assert "is an SGLang, which tells no template" in error.message
    assert error.help == "name what it serves instead: Qwen/Qwen3-4B"
    error = refused({route: {**SGLANG, "chat_template": "/opt/x.jinja"}})
    assert "--chat-template /opt/x.jinja, whose text it does not tell" in error.message


def test_sglang_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from templatelint.sources.endpoint import sglang

    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "tokenizer_config.json").write_text(json.dumps(INFO), "utf-8")
    (tmp_path / "own.jinja").write_text("own", "utf-8")
    info = {**SGLANG, "model_path": str(folder), "tokenizer_path": str(folder)}
    assert "tells no template" in refused({"/server_info": info}).message  # a forwarded port, for all we know
    monkeypatch.setattr(sglang, "runs_here", lambda *_: True)
    model, _ = resolved({"/server_info": info})
    assert model.templates[0].source == JINJA
    assert model.tokenizer.special_tokens == {"eos_token": "<|im_end|>"}
    model, _ = resolved({"/server_info": {**info, "chat_template": str(tmp_path / "own.jinja")}})
    assert model.templates[0].source == "own"
    assert model.tokenizer.special_tokens == {"eos_token": "<|im_end|>"}
    assert model.launch is not None
    assert model.launch.settings["tool_call_parser"] == "qwen"
    assert "secret" not in str(model.launch)


# ------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({}, "is no server of models that is known"),
        ({"/v1/models": SERVED}, "does not tell its template"),
        ({"/props": Reply(200, b"<html></html>")}, "is no server of models that is known"),
        ({"/props": Reply(200, b"[" * 100_000)}, "is no server of models that is known"),
        ({"/props": [1]}, "is no server of models that is known"),
        ({"/props": {**PROPS, "chat_template": ""}}, "is a llama-server that tells no template"),
        ({"/props": {**PROPS, "chat_template": 5}}, "is a llama-server that tells no template"),
        ({"/props": {**PROPS, "chat_template": "x" * (1 << 21)}}, "more than the 1,048,576 a template may have"),
        ({"/props": Reply(200, b" " * (17 << 20))}, "answers with more than 16,777,216 bytes"),
        ({"/props": answer(401, {})}, "asks for a login (HTTP 401)"),
        ({"/props": answer(503, {"error": {"message": "Loading model"}})}, "is not ready: loading model"),
        (
            {"/props": Reply(302, b"", {"Location": "http://example.org/props"})},
            "redirects to http://example.org/props",
        ),
    ],
)
def test_what_a_server_may_answer(known: dict[str, Any], message: str) -> None:
    assert message in refused(known).message


@pytest.mark.parametrize(
    "ref", ["server:", "server:ftp://x", "server:http://", "server:http://[::1", "server:http://x y"]
)
def test_what_is_no_address(ref: str) -> None:
    with pytest.raises(TemplatelintError):
        sources.resolve(ref)


@pytest.mark.parametrize("query", ["?model=a&model=b", "?key=secret", "?model=%00", "?model"])
def test_what_is_no_query(query: str) -> None:
    with pytest.raises(TemplatelintError) as caught:
        sources.resolve(f"server:http://127.0.0.1:9{query}")
    assert "secret" not in caught.value.message


def test_nothing_listens() -> None:
    with pytest.raises(Refused, match="refuses the connection"):
        sources.resolve("server:http://127.0.0.1:9")


def test_offline_only_this_machine_is_asked() -> None:
    with pytest.raises(TemplatelintError, match=r"server:http://example\.org:8080 is not asked: --offline"):
        sources.resolve("server:http://example.org:8080", reach=Reach(offline=True))
    with WebServer(routes({"/props": PROPS})) as server:
        assert sources.resolve(f"server:http://localhost:{server.port}", reach=Reach(offline=True)).templates


@pytest.mark.parametrize(("key", "cure"), [("", "set TEMPLATELINT_API_KEY to its key"), ("wrong", "is not accepted")])
def test_a_key(key: str, cure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(asked: Asked) -> Reply:
        known = asked.headers.get("authorization") in ("Bearer right", "Basic dTpw")
        return answer(200, PROPS) if known else answer(401, {"error": {"message": "Invalid API Key"}})

    with WebServer(reply) as server:
        ref = f"server:{server.url}"
        monkeypatch.setenv("TEMPLATELINT_API_KEY", key)
        with pytest.raises(Refused) as caught:
            sources.resolve(ref)
        assert cure in (caught.value.help or "")
        monkeypatch.setenv("TEMPLATELINT_API_KEY", "right")
        assert sources.resolve(ref).templates
        model = sources.resolve(ref.replace("//", "//u:p@"))
        assert "u:p" not in model.ref


def test_the_key_goes_to_no_host_that_only_a_file_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPLATELINT_API_KEY", "right")
    # no host of the web can be had here
    monkeypatch.setattr("templatelint.sources.web_address.Address.loopback", property(lambda _: False))

    def reply(asked: Asked) -> Reply:
        known = asked.headers.get("authorization") == "Bearer right"
        return answer(200, PROPS) if known else answer(401, {})

    with WebServer(reply) as server:
        ref = f"server:{server.url}"
        with pytest.raises(Refused) as caught:
            sources.resolve(ref)
        why_not = f"TEMPLATELINT_API_KEY is not sent to a host that a file names: give {ref} as the REF"
        assert caught.value.help == why_not
        override = Override("*", ref, None, None, "templatelint.toml", Path())
        assert "asks for a login" in str(overrides.base_of(override, Reach(typed=True)))
        assert not any("authorization" in asked.headers for asked in server.asked)
        assert sources.resolve(ref, reach=Reach(typed=True)).templates


def test_the_key_goes_to_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with WebServer(routes({"/props": PROPS})) as server, WebServer(lambda _: Reply(500)) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        assert sources.resolve(f"server:{server.url}").templates
    assert not proxy.asked


def test_commands_take_a_server(cli: InProcess) -> None:
    with WebServer(routes({"/props": PROPS})) as server:
        ref = f"server:{server.url}"
        assert cli("extract", ref).out == JINJA
        done = cli("render", ref, "--case", "chat-basic", "--engine", "llama.cpp")
        assert done.code == 0, done.err


# ------------------------------------------------------------------------------------- command lines

LISTENER = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="command lines are read where Linux shows them")  # noqa: PTH112 (a condition at import)
def test_the_command_line_of_what_listens(tmp_path: Path) -> None:
    script = tmp_path / "llama-server"
    script.write_text(LISTENER, "utf-8")
    given = ["--jinja", "--api-key", "secret", "--chat-template-file", "x.jinja"]
    command = [sys.executable, "-I", str(script), *given]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as listener:
        assert listener.stdout is not None
        port = int(listener.stdout.readline())
        assert process.arguments(port, ("llama",)) == ("--jinja", "--api-key", "…", *given[3:])
        assert process.arguments(port, ("vllm",)) is None
        assert process.runs_here(port, "llama-server")
        listener.communicate()
    assert process.arguments(port, ("llama",)) is None


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["/opt/llama-server-cuda", "-m", "x.gguf"], ("-m", "x.gguf")),
        (["python3.11", "-m", "vllm.entrypoints.openai.api_server", "--model", "x"], ("--model", "x")),
        (["/usr/bin/python3", "/usr/bin/vllm", "serve", "x"], ("serve", "x")),
        (["VLLM::APIServer"], None),
        (["/usr/bin/docker-proxy", "-host-port", "8080"], None),
        (["python"], None),
        ([], None),
    ],
)
def test_which_part_of_a_command_line_is_the_program(
    words: list[str], found: tuple[str, ...] | None, tmp_path: Path
) -> None:
    listed = "sl local rem st tx tr tm re uid to inode\n0: 0100007F:1F90 00000000:0000 0A 0 0 0 1000 0 4711\n"
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(listed, "ascii")
    (tmp_path / "77" / "fd").mkdir(parents=True)
    (tmp_path / "77" / "fd" / "3").symlink_to("socket:[4711]")
    (tmp_path / "77" / "cmdline").write_text("".join(f"{word}\0" for word in words), "utf-8")
    assert process.arguments(8080, ("llama", "vllm"), str(tmp_path)) == found
    assert process.arguments(8081, ("llama", "vllm"), str(tmp_path)) is None


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--api-key", "a", "b", "--port", "1"], ("--api-key", "…", "…", "--port", "1")),
        (["--api-key=a", "x"], ("--api-key=…", "x")),
        (["--hf-token", "a"], ("--hf-token", "…")),
        (["-hft", "a"], ("-hft", "…")),
        (["--max-tokens", "5"], ("--max-tokens", "5")),
        (["--api-key-file", "keys.txt"], ("--api-key-file", "keys.txt")),
        (["--admin-api-key", "a"], ("--admin-api-key", "…")),
    ],
)
def test_no_secret_of_a_command_line_is_kept(words: list[str], shown: tuple[str, ...]) -> None:
    assert process.without_secrets(words) == shown

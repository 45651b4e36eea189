from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from live_hostile import answering, endless, garbage, hanging, hanging_up, not_openai, redirecting, refusing
from live_server import CHAT, MODELS, PROPS, Answer, LiveServer, edit, has, instead, put, status
from web_server import Asked as Heard
from web_server import Reply, WebServer

from templatelint.errors import TemplatelintError
from templatelint.probe import Options, opened
from templatelint.probe.catalogue import CHECKS
from templatelint.probe.several import apart, probe_all
from templatelint.sources.endpoint import process
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

PLAIN = "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEMPLATELINT_API_KEY", raising=False)
    # to look through all processes of this machine takes longer than all else
    monkeypatch.setattr(process, "_command_lines", lambda *_: iter(()))


def met(url: str, **options: Any) -> tuple[str, str, str, str]:
    """What an address is found to be: URL, model, kind, version."""
    with opened(url, Options(**{"seconds": 5.0, **options}), Reach()) as endpoint:
        return endpoint.url, endpoint.model, endpoint.served.kind, endpoint.served.version


def refused(url: str, **options: Any) -> TemplatelintError:
    with pytest.raises(TemplatelintError) as caught:
        met(url, **{"seconds": 0.3, **options})
    assert "\n" not in f"{caught.value.message}{caught.value.help}"
    assert f"{caught.value.message}{caught.value.help}".isprintable()
    return caught.value


# ---------------------------------------------------------------------------------------------- addresses


@pytest.mark.parametrize("form", ["{}", "{}/", "{}/v1", "{}/v1/", "server:{}", "server:{}/v1?model=scripted"])
def test_forms_of_an_address(form: str) -> None:
    with LiveServer(template=PLAIN) as server:
        assert met(form.format(server.url)) == (server.url, "scripted", "llama.cpp", "b11549-abc1234")


def test_an_address_without_a_scheme() -> None:
    with LiveServer(template=PLAIN) as server:
        assert met(server.url.removeprefix("http://"))[0] == server.url


def test_a_path_before_v1_is_kept() -> None:
    """As gateways have it: everything stands below a path of their own."""
    model = b'{"object": "list", "data": [{"id": "m"}]}'
    reply = b'{"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}'

    def answer(heard: Heard) -> Reply:
        if not heard.path.startswith("/api/openai/"):
            return Reply(404, b"{}")
        known = {"/api/openai/v1/models": model, "/api/openai/v1/chat/completions": reply}
        return Reply(200, known[heard.path]) if heard.path in known else Reply(404, b"{}")

    with WebServer(answer) as server:
        assert met(f"{server.url}/api/openai/v1") == (f"{server.url}/api/openai", "m", "", "")
        assert all(asked.path.startswith("/api/openai/") for asked in server.asked)


# ---------------------------------------------------------------------------------------------- models


def test_a_list_of_models_is_not_needed_where_one_is_named() -> None:
    with LiveServer(template=PLAIN, routes_missing={MODELS}) as server:
        assert met(f"{server.url}?model=scripted")[1] == "scripted"
        assert met(server.url, model="scripted")[1] == "scripted"
        assert (refused(server.url).help or "").endswith("or name one: --model ID")


def test_one_of_several_has_to_be_named() -> None:
    with LiveServer(models={"a": PLAIN, "b": PLAIN}) as server:
        error = refused(server.url)
        assert error.message == f"{server.url} serves 2 models"
        assert error.help == "name one with --model (a, b), or take --all-models"
        assert met(server.url, model="b")[1] == "b"
        error = refused(server.url, model="c")
        assert f"POST {CHAT} is refused: HTTP 404: there is no model 'c'" in error.message


def test_no_model_at_all() -> None:
    with LiveServer(template=PLAIN, twists=[edit(MODELS, put("data", []))]) as server:
        assert refused(server.url).message == f"{server.url} lists no model in {MODELS}"


# ---------------------------------------------------------------------------------------------- kinds


def test_a_proxy_that_hides_all_else() -> None:
    with LiveServer(template=PLAIN, routes_missing={PROPS}) as server:
        assert met(server.url)[2:] == ("llama.cpp", "")  # as the owner of the model says


@pytest.mark.parametrize("code", [401, 403, 500])
def test_routes_that_are_closed(code: int) -> None:
    with LiveServer(template=PLAIN, twists=[edit(PROPS, status(code))]) as server:
        assert met(server.url)[2] == "llama.cpp"


def test_a_vllm_that_keeps_its_template_to_itself() -> None:
    with LiveServer(kind="vllm", template=PLAIN, routes_missing={"/tokenizer_info"}) as server:
        assert met(server.url)[2:] == ("vllm", "0.29.1")


def test_the_key_goes_where_the_questions_go() -> None:
    with LiveServer(template=PLAIN, api_key="k-123") as server:
        error = refused(server.url)
        assert error.message.startswith(f"{server.url} asks for a key: {MODELS} answers HTTP 401")
        assert "--api-key-file" in (error.help or "")
        assert met(server.url, key="k-123")[2:] == ("llama.cpp", "b11549-abc1234")


# ---------------------------------------------------------------------------- what is no server of models


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (refusing(), "GET /v1/models: "),
        (hanging(), "GET /v1/models: nothing more within 0.3 s"),
        (hanging("head"), "GET /v1/models: nothing more within 0.3 s"),
        (hanging("body"), "GET /v1/models: nothing more within 0.3 s"),
        (hanging("stream"), "GET /v1/models stops after 1 events: nothing more within 0.3 s"),
        (hanging_up(), "GET /v1/models: "),
        (garbage(), "GET /v1/models: "),
        (endless(), "GET /v1/models: more than "),
        (not_openai(), " is no OpenAI-compatible server: GET /v1/models answers HTTP 200 without JSON"),
        (answering("404 Not Found", b"nothing here"), "GET /v1/models answers HTTP 404 without JSON"),
        (answering("200 OK", b"[]", "Content-Type: application/json"), "GET /v1/models answers HTTP 200 without JSON"),
        (answering("500 Oops", b'{"error": "\x1b[31mno"}'), "GET /v1/models answers HTTP 500"),
        (
            answering("503 Later", b'{"error": {"message": "Loading"}}'),
            "is not ready: /v1/models answers HTTP 503: L",
        ),
        (answering("200 OK", b'{"object": "list"}'), "lists no models: GET /v1/models answers HTTP 200"),
        (redirecting("http://127.0.0.2:9/v1/models"), "redirects to http://127.0.0.2:9/v1/models"),
        (redirecting("/elsewhere"), "redirects more than 5 times"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_clear_line(server: AbstractContextManager[Any], told: str) -> None:
    with server as there:
        error = refused(there.url, seconds=5.0 if "bytes" in told or "more than " in told else 0.3)
        assert error.message.startswith(there.url)
        assert told in error.message


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer(b"<html>"), f"is no OpenAI-compatible server: POST {CHAT} answers HTTP 200 without JSON"),
        (Answer({"detail": "Not Found"}, status=404), f"POST {CHAT} is refused: HTTP 404: Not Found"),
        (Answer({"message": "no"}, status=400), f"POST {CHAT} is refused: HTTP 400: no"),
        (Answer({"text": "Hi"}), f"is no OpenAI-compatible server: POST {CHAT} answers HTTP 200 without choices"),
    ],
)
def test_a_chat_route_that_is_none(answer: Answer, told: str) -> None:
    with LiveServer(template=PLAIN, twists=[instead(CHAT, lambda _: answer)]) as server:
        assert told in refused(server.url).message


def test_a_stream_that_hangs_ends_the_meeting() -> None:
    def hang(_: Any) -> Answer:
        return Answer(hang_after=0)

    with LiveServer(template=PLAIN, twists=[instead(CHAT, hang, when=has("stream"))]) as server:
        assert f"POST {CHAT}: nothing more within 0.3 s" in refused(server.url).message


# --------------------------------------------------------------------------------------- all of its models


def test_models_of_one_endpoint_are_held_against_each_other() -> None:
    checks = [check for check in CHECKS if check.id in {"TL901", "TL904", "TL906"}]
    wrong = edit(CHAT, put("usage.prompt_tokens", 1), when=lambda body: body.get("model") == "b")
    mute = instead(
        CHAT,
        lambda _: Answer({"error": {"message": "embeddings only"}}, status=400),
        when=lambda body: body.get("model") == "c",
    )
    with LiveServer(models={"a": PLAIN, "b": PLAIN, "c": PLAIN}, twists=[wrong, mute]) as server:
        found = probe_all(server.url, checks, Options(seconds=5.0), Reach())
    assert [(one.model, len(one.results)) for one in found] == [("a", 3), ("b", 3), ("c", 0)]
    assert "embeddings only" in found[2].broken_off
    assert [(row.id, row.failing, row.passing) for row in apart(found)] == [("TL904", ("b",), ("a",))]

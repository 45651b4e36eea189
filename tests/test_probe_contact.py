from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from live_hostile import answering, endless, garbage, hanging, hanging_up, not_openai, redirecting, refusing
from live_server import (
    APPLY,
    CHAT,
    MESSAGES,
    MODELS,
    PROPS,
    RESPONSES,
    Answer,
    LiveServer,
    edit,
    has,
    instead,
    put,
    status,
)
from web_server import Asked as Heard
from web_server import Reply, WebServer

from templatelint.errors import TemplatelintError
from templatelint.probe import Options, opened, unmet
from templatelint.probe.catalogue import CHECKS
from templatelint.probe.endpoint import Endpoint
from templatelint.probe.server.rendering import made
from templatelint.probe.several import apart, probe_all
from templatelint.probe.verdict import NoAnswer, NotOffered
from templatelint.probe.wire.exchange import Asked, Exchange
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
        met(url, **{"seconds": 10.0, **options})
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


@pytest.mark.parametrize(
    "typed", ["", "http://", "http://127.0.0.1:99999", "hf:foo/bar", "ftp://127.0.0.1", "file:///etc/passwd"]
)
def test_what_is_no_address(typed: str) -> None:
    error = refused(typed)
    assert (error.message, error.help) == (f"{typed!r} is no address of a server", "give http://HOST:PORT")


def test_a_login_in_what_is_no_address_is_not_repeated() -> None:
    assert "secret" not in refused("ftp://user:secret@127.0.0.1").message


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
        (answering("500 Oops", b'{"error": "\x1b[31mno"}'), "fails at the first request: /v1/models answers HTTP 500"),
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
        error = refused(there.url, seconds=0.3 if "nothing more" in told else 10.0)
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
        assert f"POST {CHAT}: nothing more within 0.3 s" in refused(server.url, seconds=0.3).message


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
    assert "embeddings only" in found[2].left_out
    assert [(row.id, row.failing, row.passing) for row in apart(found)] == [("TL904", ("b",), ("a",))]


# ------------------------------------------------------------------------- what a model or a gateway refuses


def no(message: str, status: int = 400, **members: Any) -> Any:
    """An error as OpenAI writes it, for whatever is asked."""
    headers = members.pop("headers", {})
    return lambda _: Answer({"error": {"message": message, **members}}, status=status, headers=headers)


OLD = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
COLD = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
LIMIT = "Could not finish the message because max_tokens or model output limit was reached. Please try again."
# as OpenAI's o-series has them, Azure's without `param`, and Anthropic's newest
REFUSING = [
    instead(CHAT, no(OLD, param="max_tokens", code="unsupported_parameter"), when=has("max_tokens")),
    instead(CHAT, no(COLD), when=lambda body: "temperature" in body),
    instead(RESPONSES, no(COLD, param="temperature"), when=lambda body: "temperature" in body),
    instead(MESSAGES, no("`temperature` is deprecated for this model."), when=lambda body: "temperature" in body),
]


def test_a_model_that_refuses_usual_members_is_asked_without_them() -> None:
    with (
        LiveServer(kind="bare", twists=REFUSING) as server,
        opened(server.url, Options(seconds=5.0), Reach()) as endpoint,
    ):
        said = endpoint.prompts.plain
        assert [endpoint.chat(said).ok, endpoint.respond(said).ok, endpoint.message(said).ok] == [True] * 3
        asked = endpoint.chat(said, max_tokens=8).asked.body
        assert asked["max_completion_tokens"] == 8
        assert not {"max_tokens", "temperature"} & {*asked}
        assert "temperature" not in endpoint.response_body(said)
        assert endpoint.chat_body(said, temperature="hot")["temperature"] == "hot"
        # found out once, the temperature first
        assert sum("max_tokens" in call.members for call in server.requests if call.path == CHAT) == 2


def test_only_what_helps_is_left_out() -> None:
    """Whatever the words of a refusal are: when it stands without the member, the member was not at fault."""
    told = no("max_tokens and temperature are allowed, tools are not supported")
    with (
        LiveServer(kind="bare", twists=[instead(CHAT, told, when=has("tools"))]) as server,
        opened(server.url, Options(seconds=5.0), Reach()) as endpoint,
    ):
        assert endpoint.chat("hi", tools=[]).asked.body["max_tokens"]
        assert endpoint.chat_body("hi")["max_tokens"]


def test_a_limit_that_is_used_up_is_an_answer() -> None:
    with LiveServer(kind="bare", twists=[REFUSING[0], instead(CHAT, no(LIMIT), when=has("stream"))]) as server:
        assert met(server.url)[1] == "scripted"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (no("slow down", 429, headers={"Retry-After": "60"}), "takes no more requests for now: /v1/chat/completions"),
        (lambda _: Answer(b"<html>", status=429, headers={"Retry-After": "9"}), "takes no more requests for now"),
        (lambda _: Answer(b"<html>", status=502), "reaches no model: /v1/chat/completions answers HTTP 502"),
        (lambda _: Answer(b"<html>", status=504), "reaches no model: /v1/chat/completions answers HTTP 504"),
        (no("model failed to load", 500), "fails at the first request: /v1/chat/completions answers HTTP 500: model f"),
        (no("no credit", 402), "asks for credit: /v1/chat/completions answers HTTP 402: no credit"),
        (no("busy", 529, headers={"Retry-After": "9"}), "is overloaded"),
        (lambda _: Answer(b"x", headers={"Content-Encoding": "br"}), "the answer is br-encoded, which was not asked"),
        (lambda _: Answer(b"{}", headers={"Content-Encoding": "gzip"}), "the answer is not gzip-encoded as its head"),
    ],
)
def test_what_keeps_from_meeting(answer: Any, told: str) -> None:
    with LiveServer(kind="bare", twists=[instead(CHAT, answer)]) as server:
        assert told in refused(server.url).message


def test_a_request_that_is_turned_away_is_sent_once_more() -> None:
    turned_away = [429, 503]

    def answer(asked: Asked) -> Exchange:
        status = turned_away.pop(0) if turned_away else 200
        return Exchange(asked, status, {"retry-after": "2"}, b'{"id": "x"}')

    waited: list[float] = []
    endpoint = Endpoint("http://127.0.0.1:1", "m", answer, wait=waited.append)
    assert endpoint.get("/a").status == 503  # and is not kept
    assert endpoint.get("/a").ok
    assert waited == [2.0]
    turned_away[:] = [429] * 40
    for number in range(12):
        endpoint.get(f"/{number}")
    assert sum(waited) <= 20
    assert len(endpoint.exchanges) == 14


@pytest.mark.parametrize(("said", "waits"), [("", [1.0]), ("0", [0.0]), ("soon", [1.0]), ("6", []), ("nan", [])])
def test_how_long_a_server_may_ask_to_wait(said: str, waits: list[float]) -> None:
    waited: list[float] = []

    def answer(asked: Asked) -> Exchange:
        return Exchange(asked, 429, {"retry-after": said} if said else {})

    endpoint = Endpoint("http://127.0.0.1:1", "m", answer, wait=waited.append)
    endpoint.get("/a")
    assert waited == waits


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, lambda body: zlib.compress(body, wbits=-15)])
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_encoded_unasked_is_unpacked(pack: Any, *, stream: bool) -> None:
    encoding = "gzip" if pack is gzip.compress else "deflate"
    body = b'data: {"a": 1}\n\ndata: [DONE]\n\n' if stream else b'{"a": "' + b"x" * 200_000 + b'"}'
    kind = "text/event-stream" if stream else "application/json"
    packed = Reply(200, pack(body), {"Content-Encoding": encoding, "Content-Type": kind})
    with WebServer(lambda _: packed) as server, unmet(server.url, Options(seconds=5.0), Reach()) as endpoint:
        exchange = endpoint.get("/")
    assert exchange.body == body
    assert exchange.done is stream


def test_what_is_unpacked_has_an_end() -> None:
    packed = Reply(200, gzip.compress(b"\0" * (20 << 20)), {"Content-Encoding": "gzip"})
    with (
        WebServer(lambda _: packed) as server,
        unmet(server.url, Options(seconds=5.0), Reach()) as endpoint,
        pytest.raises(NoAnswer) as caught,
    ):
        endpoint.get("/")
    assert caught.value.exchange.error.startswith("more than 8,388,608 bytes")


def test_a_404_of_a_route_that_answers_is_a_refusal() -> None:
    """As OpenRouter answers for models that take no tools."""
    none = no("No endpoints found that support tool use.", 404)
    twists = [instead(path, none, when=has("tools")) for path in (CHAT, RESPONSES, MESSAGES)]
    tools = [{"type": "function"}]
    with (
        LiveServer(kind="bare", twists=twists) as server,
        opened(server.url, Options(seconds=5.0), Reach()) as endpoint,
    ):
        for ask in (endpoint.chat, endpoint.respond, endpoint.message):
            assert ask("hi", tools=tools).status == 404
    with (
        LiveServer(kind="bare", routes_missing={RESPONSES}) as server,
        opened(server.url, Options(seconds=5.0), Reach()) as endpoint,
        pytest.raises(NotOffered) as caught,
    ):
        endpoint.respond("hi", tools=tools)
    assert caught.value.told == "the server has no /v1/responses (HTTP 404)"


def test_a_page_for_every_address_is_no_route() -> None:
    page = instead(APPLY, lambda _: Answer(b"<!doctype html>"))
    with (
        LiveServer(kind="bare", twists=[page]) as server,
        opened(server.url, Options(), Reach()) as endpoint,
        pytest.raises(NotOffered) as caught,
    ):
        made(endpoint, {"messages": []}, "")
    assert caught.value.told == "POST /apply-template is answered HTTP 200 without a prompt"


@pytest.mark.parametrize(
    ("status", "words", "left_out"),
    [
        (400, '"nomic-embed-text" does not support chat', True),
        (404, "This is not a chat model and thus not supported in the v1/chat/completions endpoint.", True),
        (501, "This server does not support completions. Start it without `--embeddings`", True),
        (400, "The model does not support Chat Completions API", True),
        (400, "Conversation roles must alternate user/assistant/user/assistant/...", False),
        (400, "", False),
    ],
)
def test_a_model_that_takes_no_chat_is_left_out(status: int, words: str, *, left_out: bool) -> None:
    mute = instead(CHAT, no(words, status), when=lambda body: body.get("model") == "b")
    checks = [check for check in CHECKS if check.id == "TL901"]
    with LiveServer(models={"a": PLAIN, "b": PLAIN}, twists=[mute]) as server:
        found = probe_all(server.url, checks, Options(seconds=5.0), Reach())
        assert f"HTTP {status}" in refused(server.url, model="b").message
    assert [bool(one.left_out) for one in found] == [False, left_out]
    assert [bool(one.broken_off) for one in found] == [False, not left_out]


def test_what_a_parser_fails_at_is_judged() -> None:
    failing = no("The model produced output that does not match the expected peg-native format", 500)
    with LiveServer(kind="bare", twists=[instead(CHAT, failing)]) as server:
        assert met(server.url)[1] == "scripted"
    with LiveServer(kind="bare", twists=[instead(CHAT, no("oops", 500), when=has("stream"))]) as server:
        assert met(server.url)[1] == "scripted"


@pytest.mark.parametrize(
    ("server", "cure"),
    [
        (hanging(), "--timeout SECONDS gives a request longer"),
        (hanging("stream"), "--timeout SECONDS gives a request longer"),
        (refusing(), "is the server running, on that port?"),
        (endless(), None),
        (redirecting("http://127.0.0.2:9/v1/models"), "give that address, if you trust it, instead"),
    ],
)
def test_what_to_do_where_no_answer_comes(server: AbstractContextManager[Any], cure: str | None) -> None:
    with server as there:
        assert refused(there.url, seconds=0.3 if "--timeout" in (cure or "") else 10.0).help == cure


def test_what_refuses_members_breaks_no_clause() -> None:
    with (
        LiveServer(kind="bare", twists=REFUSING) as server,
        opened(server.url, Options(seconds=5.0), Reach()) as endpoint,
    ):
        words = {check.id: check.judge(endpoint.for_check()).word for check in CHECKS if check.id in {"TL907", "TL908"}}
        assert words == {"TL907": "pass", "TL908": "pass"}

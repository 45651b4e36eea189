from __future__ import annotations

import json
import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from live_server import (
    APPLY,
    CHAT,
    CHATML,
    HEALTH,
    MODELS,
    PROPS,
    THINKING,
    TOKENIZE,
    TOOLS,
    Answer,
    LiveServer,
    drop,
    edit,
    has,
    holds,
    ignore,
    instead,
    put,
    status,
    swap,
)

from templatelint import sources
from templatelint.engines.llamacpp.facts import load
from templatelint.model import Model, Origin, Template, Tokenizer
from templatelint.probe import Options, opened
from templatelint.probe.catalogue import CHECKS
from templatelint.probe.endpoint import Endpoint
from templatelint.probe.template.differing import difference, lines_that_differ
from templatelint.probe.verdict import NoAnswer, NotOffered, Verdict
from templatelint.probe.wire.exchange import Exchange
from templatelint.sources.endpoint import process
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from live_server import Twist

    from templatelint.probe.wire.exchange import Asked

_CHECKS = {check.id: check for check in CHECKS if check.suite == "identity"}
SHORT = "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}"
TOKENS = "{{ bos_token }}" + SHORT


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEMPLATELINT_API_KEY", raising=False)
    # to look through all processes of this machine takes longer than all else
    monkeypatch.setattr(process, "_command_lines", lambda *_: iter(()))


def linted(source: str, tool_use: str = "", tokenizer: Tokenizer | None = None) -> Model:
    texts = {"default": source, "tool_use": tool_use} if tool_use else {"default": source}
    templates = tuple(Template(name, text, Origin("r", text)) for name, text in texts.items())
    return Model("r", "file", templates, tokenizer or Tokenizer())


def judged(endpoint: Endpoint, check: str) -> Verdict:
    try:
        return _CHECKS[check].judge(endpoint.for_check())
    except NotOffered as absence:
        return Verdict("skip", f"no {absence.route}")


def of_url(url: str, check: str, model: Model | None = None) -> Verdict:
    with opened(url, Options(seconds=10.0, linted=model), Reach()) as endpoint:
        return judged(endpoint, check)


def verdict(check: str, *twists: Twist, model: Model | None = None, **server: Any) -> Verdict:
    server.setdefault("template", SHORT if model is None else THINKING)  # the simple one is there sooner
    with LiveServer(twists=twists, **server) as there:
        return of_url(there.url, check, model)


# ------------------------------------------------------------------------------------------- right servers


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("llama.cpp", "pass pass pass pass pass pass"),
        ("vllm", "pass pass pass pass pass pass"),
        ("sglang", "pass skip pass pass pass skip"),  # it tells no template, and takes none
        ("ollama", "pass pass skip skip pass skip"),
        ("lmstudio", "pass skip inconclusive skip pass skip"),
        ("bare", "pass skip inconclusive skip pass skip"),
    ],
)
def test_a_right_server_keeps_every_clause_that_concerns_it(kind: str, words: str) -> None:
    with (
        LiveServer(kind=kind) as there,
        opened(there.url, Options(seconds=10.0, linted=linted(THINKING)), Reach()) as endpoint,
    ):
        assert endpoint.served.kind == (kind if kind != "bare" else "")
        assert [judged(endpoint, check).word for check in _CHECKS] == words.split()


def test_without_a_linted_template_there_is_nothing_to_compare() -> None:
    for check in ("TL902", "TL903"):
        found = verdict(check)
        assert (found.word, found.help) == ("skip", "--template REF names what was linted")


# ------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize(
    ("twist", "told"),
    [
        (edit(MODELS, drop("data.0.created")), "data[0].created is missing"),
        (edit(MODELS, put("data.0.created", "today")), "data[0].created is 'today'"),
        (edit(MODELS, put("data.0.object", "engine")), "data[0].object is 'engine' in place of 'model'"),
        (edit(MODELS, put("object", "models")), "object is 'models' in place of 'list'"),
        (edit(MODELS, put("data.0.id", "other")), "'scripted' is asked for, and not listed: /v1/models has 'other'"),
        (edit(HEALTH, put("status", "loading")), "GET /health answers HTTP 200, status 'loading'"),
        (edit(HEALTH, status(503)), "GET /health answers HTTP 503"),
        (instead(MODELS, lambda _: Answer({"models": []})), "without a list of models in data"),
        (instead(MODELS, lambda _: Answer({"error": {"message": "no disk"}}, status=500)), "HTTP 500: no disk"),
    ],
)
def test_a_wrong_list_of_models(twist: Twist, told: str) -> None:
    with (
        LiveServer(twists=[twist], template=SHORT) as there,
        opened(f"{there.url}?model=scripted", Options(), Reach()) as endpoint,
    ):
        found = judged(endpoint, "TL901")
    assert found.word == "fail"
    assert told in found.message


def test_a_list_that_is_not_there_is_unusual() -> None:
    with LiveServer(routes_missing={MODELS}) as there:
        found = of_url(f"{there.url}/v1?model=scripted", "TL901")
    assert (found.word, found.message[:28]) == ("warn", "there is no list of models: ")


def test_a_gateway_may_keep_a_model_off_its_list() -> None:
    twists = [edit(MODELS, put("data.0.id", "other"))]
    with LiveServer(twists=twists, kind="bare") as there:
        assert of_url(f"{there.url}?model=scripted", "TL901").word == "warn"
    # but not answer with another one than was asked for
    with LiveServer(twists=[*twists, edit(CHAT, put("model", "other"))], kind="bare") as there:
        assert of_url(f"{there.url}?model=scripted", "TL901").word == "fail"


def test_a_name_that_the_route_of_one_model_knows_is_an_alias() -> None:
    """As Anthropic's API has them."""
    twists = [
        edit(MODELS, put("data.0.id", "other")),
        edit(CHAT, put("model", "other")),
        instead(f"{MODELS}/scripted", lambda _: Answer({"id": "other", "object": "model"})),
    ]
    with LiveServer(twists=twists, kind="bare") as there:
        found = of_url(f"{there.url}?model=scripted", "TL901")
    assert found.word == "warn"
    assert found.message.startswith("'scripted' is not listed, though GET /v1/models/ID knows it")
    # a route that knows every name knows none
    whatever = instead(f"{MODELS}/templatelint-no-such-model", lambda _: Answer({"id": "other", "object": "model"}))
    with LiveServer(twists=[*twists, whatever], kind="bare") as there:
        assert of_url(f"{there.url}?model=scripted", "TL901").word == "fail"


@pytest.mark.parametrize("code", [403, 429])
def test_a_list_that_may_not_be_read_leaves_it_open(code: int) -> None:
    closed = Answer(
        {"error": {"message": "Missing scopes: api.model.read"}}, status=code, headers={"Retry-After": "60"}
    )
    with LiveServer(twists=[instead(MODELS, lambda _: closed)], kind="bare") as there:
        found = of_url(f"{there.url}?model=scripted", "TL901")
    assert (found.word, found.message[:35]) == ("inconclusive", "the server turns the request away: ")


def test_only_a_llama_server_is_asked_for_its_health() -> None:
    with LiveServer(twists=[edit(HEALTH, status(500))], kind="bare") as there:
        assert of_url(there.url, "TL901").word == "pass"
        assert not [call for call in there.requests if call.path == HEALTH]


def test_ollama_has_names_without_their_tag() -> None:
    twist = edit(MODELS, put("data.0.id", "scripted:latest"))
    with LiveServer(twists=[twist], kind="ollama") as there:
        assert of_url(f"{there.url}?model=scripted", "TL901").word == "pass"


# --------------------------------------------------------------------------------- the template in force


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (THINKING, THINKING.rstrip("\n")),
        (THINKING.replace("\n", "\r\n"), THINKING),
        (THINKING + "\n", THINKING),  # the server has dropped the last newline, and not the one before it
    ],
)
def test_newlines_make_no_other_template(ours: str, theirs: str) -> None:
    assert verdict("TL902", edit(PROPS, put("chat_template", theirs)), model=linted(ours)).word == "pass"


def test_what_the_engine_patches_passes_with_a_remark() -> None:
    patch = load().source_patches[0]
    marks = "".join(f"{{# {mark} #}}" for mark in (*patch.condition.all, *patch.condition.any[:1]))
    source = f"{marks}{patch.guard}{{% endif %}}{SHORT}"
    assert load().patched(source) != source
    found = verdict("TL902", edit(PROPS, put("chat_template", load().patched(source))), model=linted(source))
    assert found.word == "pass"
    assert found.message.endswith(", patched by the engine: llama.cpp rewrites a guard as it loads it")


@pytest.mark.parametrize("kind", ["llama.cpp", "vllm", "ollama"])
def test_another_template_is_told_with_the_first_line_that_differs(kind: str) -> None:
    other = CHATML.replace("<|im_start|>", "<|start|>")
    found = verdict("TL902", model=linted(CHATML), template=other, kind=kind)
    assert found.word == "fail"
    assert found.message.startswith("the template in force is not the linted one: ")
    assert "<|im_start|>" in str(found.evidence)
    assert "<|start|>" in str(found.evidence)


def test_the_template_of_requests_with_tools_counts_too() -> None:
    both = [edit(PROPS, put("chat_template_tool_use", SHORT))]
    assert verdict("TL902", *both, model=linted(THINKING, SHORT)).word == "pass"
    found = verdict("TL902", *both, model=linted(THINKING, CHATML))
    assert found.message.startswith('the template "tool_use" in force is not the linted one')
    assert verdict("TL902", *both, model=linted(THINKING)).word == "warn"
    found = verdict("TL902", model=linted(THINKING, SHORT))
    assert (found.word, found.message) == (
        "fail",
        "the linted template of requests with tools (tool_use) is not in force",
    )


def test_ollama_with_a_template_of_its_own() -> None:
    twist = edit("/api/show", put("template", "{{ range .Messages }}{{ .Content }}{{ end }}"))
    found = verdict("TL902", twist, model=linted(THINKING), kind="ollama")
    assert found.word == "fail"
    assert "its Go TEMPLATE" in found.message


def test_a_server_that_tells_no_template_is_judged_by_its_prompts() -> None:
    hidden = {PROPS}
    assert verdict("TL902", model=linted(THINKING), routes_missing=hidden).word == "skip"
    assert verdict("TL903", model=linted(THINKING), routes_missing=hidden).word == "pass"
    assert verdict("TL903", model=linted(SHORT), routes_missing=hidden).word == "fail"
    assert verdict("TL903", model=linted(THINKING), routes_missing={PROPS, APPLY}).word == "inconclusive"


# ------------------------------------------------------------------------------------------- prompts


@pytest.mark.parametrize("kind", ["llama.cpp", "vllm", "sglang"])
def test_other_prompts_are_told_with_the_first_difference(kind: str) -> None:
    other = CHATML.replace("<|im_start|>", "<|start|>")
    found = verdict("TL903", model=linted(CHATML), template=other, kind=kind)
    assert found.word == "fail"
    assert "9 of 9 conversations" in found.message
    assert "chat-basic has in line 1: '<|start|>user" in found.message
    assert "in place of '<|im_start|>user" in found.message


@pytest.mark.parametrize("kind", ["vllm", "sglang"])
def test_token_counts_prove_it_where_no_tokens_of_a_conversation_are_told(kind: str) -> None:
    older = instead(TOKENIZE, lambda _: Answer({"detail": "prompt is missing"}, status=422), when=has("messages"))
    found = verdict("TL903", older, model=linted(THINKING), kind=kind)
    assert (found.word, found.message) == ("pass", "9 conversations give the token counts of the linted template")
    assert verdict("TL903", older, model=linted(SHORT), kind=kind).word == "fail"
    assert verdict("TL904", older, kind=kind).word == "skip"


def test_the_same_template_that_gives_other_prompts() -> None:
    said = edit(APPLY, swap("<|im_start|>assistant", "<|im_start|>assistant\n<think>"))
    found = verdict("TL903", said, model=linted(THINKING))
    assert found.word == "fail"
    assert "look for LLAMA_ARG_ variables" in found.help
    younger = edit(PROPS, put("build_info", "b12001-abc"))
    found = verdict("TL903", said, younger, model=linted(THINKING))
    assert found.word == "warn"
    assert "its build b12001 of the server may be why" in found.message


def test_what_a_template_file_cannot_know_is_no_fault_of_the_server() -> None:
    bare = sources.file.ASSUMED
    hidden = {"routes_missing": {PROPS}, "template": TOKENS, "bos_token": "<|begin|>"}
    assert verdict("TL903", model=linted(TOKENS, tokenizer=bare), **hidden).word == "inconclusive"
    known = Tokenizer({"bos_token": "<|begin|>"})
    assert verdict("TL903", model=linted(TOKENS, tokenizer=known), **hidden).word == "pass"


@pytest.mark.parametrize("days", [-1, 0, 1])
def test_the_server_may_live_on_another_day(days: int) -> None:
    day = (datetime.now(UTC).astimezone() + timedelta(days=days)).strftime("%d %b %Y")
    source = "{{ strftime_now('%d %b %Y') }}" + SHORT
    frozen = source.replace("{{ strftime_now('%d %b %Y') }}", day)
    with LiveServer(template=frozen, twists=[edit(PROPS, put("chat_template", source))]) as there:
        assert of_url(there.url, "TL903", linted(source)).word == "pass"


def test_a_template_that_reads_the_minute_is_not_compared() -> None:
    source = "{{ strftime_now('%H:%M') }}" + SHORT
    twist = edit(APPLY, put("prompt", "99:99"))
    assert verdict("TL903", twist, model=linted(source), template=source).word == "inconclusive"


def test_a_prompt_that_is_refused_on_both_sides_is_no_difference() -> None:
    source = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + SHORT
    assert verdict("TL903", model=linted(source), template=source).word == "pass"
    found = verdict("TL903", model=linted(SHORT), template=source)
    assert found.word == "fail"
    assert "2 of 9 conversations give other prompts than the linted template (chat-system, developer)" in found.message
    refused = instead(APPLY, lambda _: Answer({"error": {"message": "no"}}, status=400), when=holds("Osprey"))
    found = verdict("TL903", refused, model=linted(SHORT), template=SHORT)
    assert found.message.endswith("chat-system: the server makes no prompt: HTTP 400: no")


# ------------------------------------------------------------------------------------- counts of tokens


@pytest.mark.parametrize("kind", ["llama.cpp", "vllm", "sglang"])
def test_a_chat_route_that_counts_otherwise(kind: str) -> None:
    found = verdict("TL904", edit(CHAT, put("usage.prompt_tokens", 3), when=has("tools")), kind=kind)
    assert found.word == "fail"
    assert found.message.startswith("tools: usage.prompt_tokens 3, and ")
    assert len(found.evidence) == 4


def test_a_chat_route_that_renders_otherwise() -> None:
    assert verdict("TL904", ignore("tools", CHAT), template=THINKING).word == "fail"
    assert verdict("TL904", edit(CHAT, drop("usage"))).word == "inconclusive"
    assert verdict("TL904", routes_missing={TOKENIZE}).word in {"skip", "inconclusive"}


# ------------------------------------------------------------------------------------ tools of the server


def test_tools_of_the_server_are_never_right() -> None:
    found = verdict("TL905", tools=True)
    assert found.word == "fail"
    assert "'exec_shell_command'" in found.message
    empty = verdict("TL905", instead(TOOLS, lambda _: Answer([])))
    assert empty.word == "warn"
    closed = verdict("TL905", instead(TOOLS, lambda _: Answer({"error": {"message": "no"}}, status=403)))
    assert closed.word == "pass"
    # what answers 200 to everything
    assert verdict("TL905", instead(TOOLS, lambda _: Answer({"error": "Unexpected endpoint"}))).word == "pass"


def test_replies_of_another_build() -> None:
    found = verdict("TL905", edit(CHAT, put("system_fingerprint", "b9000-fff")))
    assert found.word == "fail"
    assert "'b9000-fff'" in found.message
    assert verdict("TL905", edit(CHAT, drop("system_fingerprint"))).word == "pass"


def test_what_is_known_of_the_server_is_kept() -> None:
    found = verdict("TL905")
    assert found.evidence[0].startswith("version: 'b11549")
    assert any(line.startswith("chat_template_caps: ") for line in found.evidence)


# ------------------------------------------------------------------------------- templates in requests


@pytest.mark.parametrize(
    ("twist", "word"),
    [
        (ignore("chat_template", APPLY), "fail"),
        (instead(APPLY, lambda _: Answer({"error": {"message": "no"}}, status=400), when=has("chat_template")), "pass"),
        (instead(APPLY, lambda _: Answer({"error": {"message": "no"}}, status=500), when=has("chat_template")), "fail"),
        (instead(APPLY, lambda _: Answer({"prompt": "else"}), when=has("chat_template")), "warn"),
        (instead(APPLY, lambda _: Answer({"prompt": 7})), "inconclusive"),
    ],
)
def test_a_template_in_a_request(twist: Twist, word: str) -> None:
    assert verdict("TL906", twist).word == word


def test_a_template_in_a_request_to_vllm() -> None:
    assert verdict("TL906", ignore("chat_template", TOKENIZE), kind="vllm").word == "fail"
    refused = instead(TOKENIZE, lambda _: Answer({"error": {"message": "no"}}, status=400), when=has("chat_template"))
    assert verdict("TL906", refused, kind="vllm").word == "pass"


# ------------------------------------------------------------------------------------------ real llama.cpp


@pytest.fixture(scope="module")
def real() -> Iterator[str]:
    if find_spec("xllamacpp") is None:
        pytest.skip("needs the package xllamacpp")
    from scripted_server import serving

    with serving(THINKING) as url:
        yield url


@pytest.mark.parametrize(
    ("check", "word"),
    [("TL901", "pass"), ("TL902", "pass"), ("TL903", "pass"), ("TL904", "pass"), ("TL905", "pass"), ("TL906", "fail")],
)
def test_what_llama_cpp_deserves(real: str, check: str, word: str) -> None:
    assert of_url(real, check, linted(THINKING)).word == word


def test_llama_cpp_with_the_wrong_template_in_force(real: str) -> None:
    found = of_url(real, "TL902", linted(CHATML))
    assert found.word == "fail"
    assert "lines differ from line" in found.message
    found = of_url(real, "TL903", linted(CHATML))
    assert found.word == "fail"
    assert "reasoning-history has in line 4: " in found.message


# ------------------------------------------------------------------------------------------ hostile answers

_VALUES: Sequence[Any] = (
    *(None, True, -1, 10**30, 1e300, "", "\ud800\x1b[31m", "m" * 300),
    *([], [[]], {}, {"id": {}}, [None, 1, {"id": 7}], {"chat_template": {"a": []}}),
)


def _spoilt(value: Any, chance: random.Random) -> Any:
    """The same with something else in one place."""
    if chance.random() < 0.3 or not isinstance(value, (dict, list)) or not value:
        return chance.choice(_VALUES)
    if isinstance(value, dict):
        name = chance.choice(list(value))
        return {**value, name: _spoilt(value[name], chance)}
    at = chance.randrange(len(value))
    return [*value[:at], _spoilt(value[at], chance), *value[at + 1 :]]


@pytest.mark.parametrize("kind", ["llama.cpp", "vllm", "ollama"])
def test_no_answer_makes_a_check_raise(kind: str) -> None:
    chance = random.Random(9)  # noqa: S311 (no secret)
    right: dict[tuple[Any, ...], Exchange] = {}
    with (
        LiveServer(kind=kind) as there,
        opened(there.url, Options(seconds=10.0, linted=linted(SHORT)), Reach()) as endpoint,
    ):
        for check in _CHECKS.values():
            seen = endpoint.for_check()
            with suppress(NotOffered):
                check.judge(seen)
            right.update({exchange.asked.key: exchange for exchange in seen.exchanges})

    def send(asked: Asked) -> Exchange:
        known = right.get(asked.key)
        value = known.value if known is not None else chance.choice(_VALUES)
        if chance.random() < chance.choice((0.2, 0.5, 1.0)):
            value = _spoilt(value, chance)
        status = chance.choice((200, 200, 200, 404, 500))
        return Exchange(asked, status, {"content-type": "application/json"}, json.dumps(value).encode())

    words = set()
    for name in _CHECKS:
        for _ in range(5 if name == "TL903" else 40):
            spoilt = Endpoint("http://127.0.0.1:9", "scripted", send, linted=linted(SHORT), seconds=1.0)
            with suppress(NoAnswer):
                found = judged(spoilt, name)
                words.add(found.word)
                assert (found.message + "".join(found.evidence)).isprintable(), found
    assert len(words) > 2


# ---------------------------------------------------------------------------------------------- differences


@pytest.mark.parametrize(
    ("here", "there", "told"),
    [
        ("a\nb", "a\nc", "line 2: 'c' in place of 'b'"),
        ("a", "ab", "line 1: 'ab' in place of 'a'"),
        ("", "x", "line 1: 'x' in place of the end"),
        ("x\r\n\x1b", "x\r\n\ud800", "line 2: '\\ud800' in place of '\\x1b'"),
        ("z" * 100 + "a", "z" * 100 + "b", f"line 1: …'{'z' * 24}b' in place of …'{'z' * 24}a'"),
    ],
)
def test_where_two_texts_part(here: str, there: str, told: str) -> None:
    assert str(difference(here, there)) == told


def test_the_same_text_parts_nowhere() -> None:
    assert difference("a", "a") is None


def test_lines_between_what_is_shared() -> None:
    assert lines_that_differ("a\nb\nc", "a\nx\x07\ny\nc") == (2, ("from line 2 on:", "- b", "+ x\\x07", "+ y"))
    assert lines_that_differ("a\n" * 9, "") == (9, ("from line 1 on:", "- a", "- a", "- a", "- a", "- … 5 more"))


# ------------------------------------------------------------------------------------------- turned away


@pytest.mark.parametrize("code", [401, 429, 503])
@pytest.mark.parametrize(
    ("check", "path", "member"),
    [("TL903", APPLY, "messages"), ("TL904", APPLY, "messages"), ("TL906", APPLY, "chat_template")],
)
def test_a_server_that_turns_a_request_away_leaves_it_open(check: str, path: str, member: str, code: int) -> None:
    answer = Answer({"error": {"message": "no"}}, status=code, headers={"Retry-After": "60"})
    away = instead(path, lambda _: answer, when=has(member))
    found = verdict(check, away, model=linted(THINKING) if check == "TL903" else None)
    assert found.word == "inconclusive"


def test_tools_that_are_not_told_for_now_leave_it_open() -> None:
    assert verdict("TL905", edit(TOOLS, status(503))).word == "inconclusive"

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from live_hostile import answering, endless, garbage, hanging, hanging_up, not_openai, redirecting, refusing
from live_server import (
    CHAT,
    CHATML,
    MESSAGES,
    RESPONSES,
    Answer,
    LiveServer,
    cut_after,
    edit,
    every,
    hang_after,
    has,
    holds,
    instead,
    put,
    status,
)
from program import start
from web_server import Reply, WebServer

from templatelint.cli.main import run
from templatelint.probe import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from live_server import Call
    from program import InProcess, Ran

    from templatelint.probe.catalogue import Check

CHECKS = {check.id: check for check in catalogue.CHECKS}
LIMITS = {"max_tokens", "max_completion_tokens", "max_output_tokens"}
FEW = ("TL907", "TL908", "TL909")
SECRET = "sk-never-to-be-printed-0123456789"  # noqa: S105 (nobody's)


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    with LiveServer() as live:
        yield live


@dataclass
class Whole:
    """What all suites send and find, once, to a server that is right in everything, and the rehearsal of it."""

    requests: list[Call]
    found: dict[str, Any]
    planned: dict[str, Any]
    codes: tuple[int, int]
    sent_by_rehearsal: int


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    file = str(tmp_path_factory.mktemp("whole") / "told")

    def ran(*arguments: str) -> tuple[int, str]:
        code = run(["probe", live.url, "--suite", "all", "-o", file, *arguments])
        return code, Path(file).read_text("utf-8")

    with LiveServer() as live:
        planned = ran("--dry-run", "--model", "scripted", "--output-format", "json")
        rehearsed = len(live.requests)
        found = ran("--output-format", "json")
    return Whole(live.requests, json.loads(found[1]), json.loads(planned[1]), (planned[0], found[0]), rehearsed)


CORE = list(FEW)


@pytest.fixture(autouse=True)
def few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """`core` is three checks here, or those that a test names: what they find is the business of other tests."""
    monkeypatch.delenv("TEMPLATELINT_API_KEY", raising=False)
    monkeypatch.setattr(sys.modules[__name__], "CORE", list(FEW))
    chosen = catalogue.select

    def select(words: list[str]) -> tuple[Check, ...]:
        return tuple(CHECKS[rule] for rule in CORE) if words == ["core"] else chosen(words)

    monkeypatch.setattr(catalogue, "select", select)


def told(ran: Ran) -> dict[str, Any]:
    found = json.loads(ran.out)
    assert found["exit_code"] == ran.code
    assert isinstance(found, dict)
    return found


def verdicts(ran: Ran) -> dict[str, str]:
    return {check["id"]: check["verdict"] for check in told(ran)["checks"]}


BREAKING = [edit(CHAT, put("object", "text_completion"))]  # TL907


# ----------------------------------------------------------------------------------------------- a run and its end


def test_all_is_kept(cli: InProcess, server: LiveServer) -> None:
    ran = cli("probe", server.url)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{server.url} keeps all 3 clauses that were checked (llama.cpp\n")


def test_a_broken_clause_is_exit_1(cli: InProcess) -> None:
    with LiveServer(twists=BREAKING) as live:
        ran = cli("probe", live.url)
    assert (ran.code, ran.err) == (1, "")
    assert ": 1 of 3 clauses is broken (" in ran.out.partition("\n\n")[0].replace("\n", " ")
    assert "\nfail[TL907] reply-complete: " in ran.out


def choosing_prose(*_: object) -> str:
    return "plain"


def test_what_could_not_be_judged_is_exit_2_unless_that_is_allowed(cli: InProcess) -> None:
    with LiveServer(choose=choosing_prose) as live:
        ran = cli("probe", live.url)
        allowed = cli("probe", live.url, "--allow-inconclusive")
        both = cli("probe", live.url, "--output-format", "json")
    assert verdicts(both)["TL909"] == "inconclusive"
    assert (ran.code, allowed.code) == (2, 0)
    assert "\ninconclusive[TL909] tool-called: " in ran.out


def test_a_broken_clause_outweighs_what_could_not_be_judged(cli: InProcess) -> None:
    with LiveServer(twists=BREAKING, choose=choosing_prose) as live:
        ran = cli("probe", live.url, "--output-format", "json")
    assert ran.code == 1
    assert {*verdicts(ran).values()} >= {"fail", "inconclusive"}


def test_where_nothing_is_judged_there_is_no_answer(cli: InProcess) -> None:
    CORE[:] = ["TL936", "TL937"]
    with LiveServer(routes_missing={RESPONSES}) as live:
        ran = cli("probe", live.url, "--output-format", "json")
    assert verdicts(ran) == {"TL936": "skip", "TL937": "skip"}
    assert ran.code == 2


@pytest.mark.parametrize("form", ["text", "concise", "json", "junit", "markdown", "html"])
def test_every_format(cli: InProcess, server: LiveServer, form: str, tmp_path: Path) -> None:
    file = tmp_path / "report"
    ran = cli("probe", server.url, "--output-format", form, "-o", str(file))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert server.url.removeprefix("http://") in file.read_text("utf-8")


def test_raw_answers_stand_in_json(cli: InProcess, server: LiveServer) -> None:
    found = told(cli("probe", server.url, "--output-format", "json"))
    assert found["server"]["kind"] == "llama.cpp"
    assert (found["model"], found["scripted"]) == ("scripted", "hermes")
    check = found["checks"][0]
    assert json.loads(check["response"]["body"])["object"] == "chat.completion"
    assert check["request"]["body"]["model"] == "scripted"


# ------------------------------------------------------------------------------------------------------- options


def test_limits_are_kept(cli: InProcess) -> None:
    with LiveServer() as live:
        cli("probe", live.url, "--max-tokens", "77")
        limits = [call.members.get("max_tokens") for call in live.requests if call.path == CHAT]
    assert limits
    assert max(limit for limit in limits if isinstance(limit, int)) == 77


def test_prompts_of_the_users_own(cli: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "prompts.json"
    file.write_text('{"tool": "@@tool please, only this once"}')
    with LiveServer() as live:
        ran = cli("probe", live.url, "--prompts", str(file))
        assert ran.code == 0
        assert any("please, only this once" in call.raw.decode() for call in live.requests)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "chatt"], 'unknown suite "chatt"'),
        (["--suite", ""], "no suite is named"),
        (["--suite", ","], "no suite is named"),
        (["--suite", "chat,chatt,"], 'unknown suite "chatt"'),
        (["--max-tokens", "0"], "--max-tokens 0: not a whole number above 0"),
        (["--timeout", "-1"], "--timeout -1: not a number of seconds above 0, an hour at most"),
        (["--timeout", "nan"], "--timeout nan: not a number of seconds above 0, an hour at most"),
        (["--timeout", "soon"], "--timeout soon: not a number of seconds above 0, an hour at most"),
        (["--all-models", "--model", "m"], "--all-models asks for all models, and one is named"),
        (["--template", "gone.jinja"], "gone.jinja"),
        (["--prompts", "gone.json"], "gone.json"),
        (["--prompts", "list.json"], "list.json holds a list, not a JSON object"),
        (["--prompts", "wrong.json"], 'unknown prompt "tol"'),
        (["--prompts", "empty.json"], "empty.json: the prompt tool is no text"),
        (["--prompts", ""], "--prompts names no file"),
        (["--api-key-file", ""], "--api-key-file names no file"),
        (["--api-key-file", "headed"], "headed starts with what a header puts before the key"),
        (["--api-key-file", "gone"], "gone"),
        (["--api-key-file", "empty"], "empty holds no key"),
        (["--api-key-file", "much"], "much has more than the 16,384 bytes that a key may have"),
        (["--api-key-file", "a\x00b"], "no file is called that"),
        (["--api-key-file", "."], ".: is a directory"),
        (["--api-key-file", "two"], "two holds a space, a newline or another character that no key may have"),
        (["--output-format", "sarif"], 'unknown output format "sarif"'),
        (["--dry-run", "--output-format", "html"], "--dry-run has text and json, and no html"),
        (["--prompts", "good.json", "-o", "good.json"], "good.json is read: the result would take its place"),
        (["--api-key-file", "one", "-o", "./one"], "one is read: the result would take its place"),
        (["--template", "deaf.jinja", "-o", "deaf.jinja"], "deaf.jinja is read: the result would take its place"),
    ],
)
def test_what_is_wrong_with_the_command_line_is_told_before_anything_is_sent(
    cli: InProcess, server: LiveServer, folder: Path, arguments: list[str], message: str
) -> None:
    files = {
        "list.json": "[]",
        "wrong.json": '{"tol": "x"}',
        "empty.json": '{"tool": " "}',
        "empty": "\n",
        "two": "a b",
        "headed": "\ufeffBearer sk-1\r\n",
    }
    files |= {"good.json": "{}", "one": SECRET, "much": "x" * 20_000}
    for name, content in files.items():
        (folder / name).write_text(content)
        (folder / name).chmod(0o600)
    before = len(server.requests)
    ran = cli("probe", server.url, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert message in ran.err.splitlines()[0]
    assert len(server.requests) == before


@pytest.mark.parametrize("url", ["ftp://h", "http://", "http://h:1/v1?other=1", "http://h:99999", "http://h\x1b[31m:1"])
def test_a_bad_address_is_one_line(cli: InProcess, url: str) -> None:
    ran = cli("probe", url)
    assert (ran.code, ran.out) == (2, "")
    assert 1 <= len(ran.err.splitlines()) <= 2
    assert "\x1b" not in ran.err


@pytest.mark.parametrize("form", ["{}", "{}/", "{}/v1", "{}/v1/", "server:{}", "{}?model=scripted"])
def test_forms_of_an_address(cli: InProcess, server: LiveServer, form: str) -> None:
    assert cli("probe", form.format(server.url)).code == 0


def test_an_address_and_an_option_that_name_two_models(cli: InProcess, server: LiveServer) -> None:
    ran = cli("probe", f"{server.url}?model=a", "--model", "b")
    assert ran.code == 2
    assert "the address names one model, and --model another" in ran.err


def test_offline_no_other_machine_is_asked(cli: InProcess, server: LiveServer) -> None:
    assert cli("probe", "http://192.0.2.1:8080", "--offline").err.startswith(
        "error: http://192.0.2.1:8080 is not asked"
    )
    assert cli("probe", server.url, "--offline").code == 0


# ------------------------------------------------------------------------------------------------------- the key


def in_file(folder: Path, mode: int = 0o600) -> str:
    file = folder / "key"
    file.write_text(f"{SECRET}\n")
    file.chmod(mode)
    return str(file)


def test_a_key_comes_from_a_file_or_the_environment(
    cli: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LiveServer(api_key=SECRET) as live:
        assert cli("probe", live.url, "--api-key-file", in_file(tmp_path)).code == 0
        monkeypatch.setenv("TEMPLATELINT_API_KEY", "another-one")
        assert cli("probe", live.url, "--api-key-file", in_file(tmp_path)).code == 0
        assert cli("probe", live.url).code == 2
        monkeypatch.setenv("TEMPLATELINT_API_KEY", SECRET)
        assert cli("probe", live.url).code == 0


def test_without_its_key_a_server_is_no_answer(cli: InProcess) -> None:
    with LiveServer(api_key=SECRET) as live:
        ran = cli("probe", live.url)
    assert (ran.code, ran.out) == (2, "")
    assert "asks for a key" in ran.err
    assert "TEMPLATELINT_API_KEY" in ran.err


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes have no names here")
def test_a_key_comes_from_a_pipe(cli: InProcess) -> None:
    reader, writer = os.pipe()
    os.write(writer, f"{SECRET}\n".encode())
    os.close(writer)
    with LiveServer(api_key=SECRET) as live:
        ran = cli("probe", live.url, "--api-key-file", f"/dev/fd/{reader}")
    os.close(reader)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_key_that_others_can_read_is_told(cli: InProcess, tmp_path: Path, server: LiveServer) -> None:
    ran = cli("probe", server.url, "--api-key-file", in_file(tmp_path, 0o644))
    assert ran.code == 0
    assert "can be read by others (mode 644)" in ran.err
    assert cli("probe", server.url, "--api-key-file", in_file(tmp_path)).err == ""


ECHOES = {
    "as it is": SECRET,
    "escaped": SECRET.replace("-", "\\u002d"),
    "escaped all over": "".join(f"\\u{ord(each):04X}" for each in SECRET),
}


@pytest.mark.parametrize("form", ["text", "verbose", "json", "junit", "markdown", "html"])
@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_that_a_server_sends_back_is_never_printed(cli: InProcess, tmp_path: Path, form: str, echo: str) -> None:
    body = f'{{"object": "x", "{ECHOES[echo]}": "{ECHOES[echo]}", "choices": [{{"message": 1}}]}}'.encode()
    twist = instead(CHAT, lambda _: Answer(json=body, headers={"X-Key": SECRET}))
    with LiveServer(twists=[twist], api_key=SECRET) as live:
        style = ["-v"] if form == "verbose" else ["--output-format", form]
        ran = cli("probe", live.url, "--api-key-file", in_file(tmp_path), *style)
    assert ran.code == 1
    for text in (ran.out, ran.err):
        assert SECRET not in text
        assert ECHOES[echo] not in text
        assert ECHOES[echo].replace("\\", "\\\\") not in text


@pytest.mark.parametrize("written", [f"\ufeff{SECRET}\r\n", f"  {SECRET}  "])
def test_what_editors_put_around_a_key_is_none_of_it(cli: InProcess, folder: Path, written: str) -> None:
    (folder / "key").write_text(written, encoding="utf-8")
    (folder / "key").chmod(0o600)
    with LiveServer(api_key=SECRET) as live:
        assert cli("probe", live.url, "--api-key-file", "key").code == 0


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_a_key_that_a_request_repeats_is_never_printed(cli: InProcess, tmp_path: Path, form: str) -> None:
    def told(answer: Answer) -> None:
        answer.json["prompt"] += f" {SECRET}"

    with LiveServer(twists=[edit("/apply-template", told)], api_key=SECRET) as live:
        style = ["--suite", "identity", "--output-format", form]
        ran = cli("probe", live.url, "-v", "--api-key-file", in_file(tmp_path), *style)
    assert "[hidden]" in ran.out
    assert SECRET not in ran.out + ran.err


@pytest.mark.parametrize("code", [400, 401, 500])
def test_a_key_in_the_words_of_a_refusal_is_never_printed(cli: InProcess, tmp_path: Path, code: int) -> None:
    body = f'{{"error": {{"message": "bad key {SECRET}"}}}}'.encode()
    with LiveServer(twists=[instead(CHAT, lambda _: Answer(json=body, status=code))]) as live:
        ran = cli("probe", live.url, "--api-key-file", in_file(tmp_path), "--output-format", "json")
    assert ran.code in {1, 2}
    assert SECRET not in ran.out + ran.err


def test_a_login_in_the_address_is_never_printed(cli: InProcess) -> None:
    with WebServer(lambda asked: Reply(200, json.dumps({"choices": [], "seen": asked.headers}).encode())) as web:
        url = web.url.replace("http://", f"http://somebody:{SECRET}@")
        ran = cli("probe", url, "--model", "m", "--output-format", "json")
        sent = web.asked[0].headers["authorization"]
    assert sent.startswith("Basic ")
    assert ran.code == 1
    assert SECRET not in ran.out + ran.err
    assert sent.removeprefix("Basic ") not in ran.out


# -------------------------------------------------------------------------------------------------- several models


def test_all_models_are_probed_and_what_sets_them_apart_is_told(cli: InProcess) -> None:
    twists = [edit(CHAT, put("object", "x"), when=holds('"model": "b"'))]
    with LiveServer(models={"a": CHATML, "b": CHATML}, twists=twists) as live:
        ran = cli("probe", live.url, "--all-models", "--output-format", "json")
        text = cli("probe", live.url, "--all-models")
        one = cli("probe", live.url)
    found = told(ran)
    assert ran.code == 1
    assert [one["model"] for one in found["models"]] == ["a", "b"]
    assert [(one["id"], one["failing"], one["passing"]) for one in found["apart"]] == [("TL907", ["b"], ["a"])]
    assert text.out.startswith(f"{live.url}: 1 of 2 models breaks clauses of the contract\n")
    assert one.code == 2
    assert "serves 2 models" in one.err


def test_names_of_any_length_are_told_in_short(cli: InProcess) -> None:
    name = "m" * 10_000
    with LiveServer(models={name: CHATML}, twists=[edit("/props", put("build_info", "b" * 10_000))]) as live:
        for form in ("text", "concise", "json", "junit", "markdown"):
            ran = cli("probe", live.url, "--output-format", form)
            said = re.sub(r'"request": .*|"exchanges": .*', "", ran.out)
            assert ran.code == 0
            assert len(re.findall("m{99}|b{99}", said)) < 30


def test_a_model_that_does_not_answer_stops_no_other(cli: InProcess) -> None:
    twists = [edit(CHAT, status(400), when=holds('"model": "a"'))]
    with LiveServer(models={"a": CHATML, "b": CHATML}, twists=twists) as live:
        ran = cli("probe", live.url, "--all-models", "--output-format", "json")
    found = told(ran)
    assert ran.code == 2
    assert [bool(one["broken_off"]) for one in found["models"]] == [True, False]
    assert {check["model"] for check in found["checks"]} == {"b"}


# ------------------------------------------------------------------------------------------------------ rehearsals


def test_a_rehearsal_sends_nothing(whole: Whole) -> None:
    assert (whole.sent_by_rehearsal, whole.codes[0]) == (0, 0)
    # without --template, two have nothing to compare
    assert {*CHECKS} - {row["id"] for row in whole.planned["requests"]} == {"TL902", "TL903"}


@pytest.mark.parametrize("check", CHECKS)
def test_a_rehearsal_tells_what_a_run_sends(whole: Whole, check: str) -> None:
    (found,) = (each for each in whole.found["checks"] if each["id"] == check)
    sent = {_line(each["request"]) for each in found["exchanges"]}
    planned = {_line(row) for row in whole.planned["requests"] if row["id"] == check}
    assert planned == sent


def _line(request: dict[str, Any]) -> str:
    return re.sub(r"resp_\w+", "resp_1", f"{request['method']} {request['path']}")


def test_a_rehearsal_knows_the_template_that_ought_to_be_in_force(cli: InProcess, folder: Path) -> None:
    CORE[:] = ["TL902", "TL903"]
    ran = cli("probe", "http://h:1", "--dry-run", "--template", str(folder / "chat_template.jinja"))
    assert ran.code == 0
    assert "POST /apply-template " in ran.out.partition("TL903")[2]


def test_a_rehearsal_for_people_names_what_was_sent_before(cli: InProcess) -> None:
    CORE[:] = ["TL907", "TL909", "TL910", "TL914"]
    ran = cli("probe", "http://h:1", "--dry-run")
    assert ran.out.startswith(
        "http://h:1: nothing was sent; this is what a run would send\n\nthe first meeting\n  GET "
    )
    assert f"\nTL907 reply-complete\n  POST {CHAT}: the answer to the first meeting's is taken\n" in ran.out
    assert f"\nTL910 call-not-leaked\n  POST {CHAT}: the answer to TL909's is taken\n" in ran.out
    assert f"\nTL914 required-against-prose (where the scripted model is served)\n  POST {CHAT} {{" in ran.out


def test_a_rehearsal_tells_what_is_sent_again(cli: InProcess) -> None:
    CORE[:] = ["TL907", "TL969"]
    ran = cli("probe", "http://h:1", "--dry-run")
    again = ran.out.partition("\nTL969 still-correct\n")[2].splitlines()
    assert again[0] == f"  POST {CHAT}: the answer to the first meeting's is taken"
    assert again[1].startswith(f"  POST {CHAT} {{")
    assert "\n  where /props is missing, also: GET /api/version, " in ran.out


def test_a_rehearsal_can_be_copied_as_commands(cli: InProcess, tmp_path: Path) -> None:
    ran = cli("probe", "http://h:1", "--dry-run", "-v", "--api-key-file", in_file(tmp_path))
    words = [shlex.split(line) for line in ran.out.splitlines() if line.startswith("  curl ")]
    assert len(words) > len(FEW)
    assert {word[2].removeprefix("http://h:1") for word in words} >= {CHAT, "/v1/models"}
    assert all("Authorization: Bearer $TEMPLATELINT_API_KEY" in word for word in words)
    assert [json.loads(word[-1])["model"] for word in words if CHAT in word[2]]
    assert SECRET not in ran.out


def test_a_rehearsal_needs_no_server_and_no_model(cli: InProcess) -> None:
    ran = cli("probe", "http://192.0.2.1:8080", "--dry-run", "--output-format", "json")
    rows = json.loads(ran.out)["requests"]
    assert ran.code == 0
    assert rows[0] == {
        "id": None, "name": "first meeting", "scripted": False, "method": "GET", "path": "/v1/models", "headers": {},
        "body": None, "sent": True,
    }  # fmt: skip
    assert [row["path"] for row in json.loads(ran.out)["without_props"]] == [
        "/api/version", "/version", "/server_info", "/get_server_info", "/api/v0/models", "/api/tags", "/api/show",
        "/tokenizer_info",
    ]  # fmt: skip
    assert {row["body"]["model"] for row in rows if row["body"]} == {"MODEL"}
    assert all(LIMITS & row["body"].keys() for row in rows if row["path"] == CHAT)


# ------------------------------------------------------------------------------------------- servers that are none


NOBODY: dict[str, AbstractContextManager[Any]] = {
    "refused": refusing(),
    "a page": not_openai(),
    "garbage": garbage(),
    "no JSON": answering("200 OK", b"\xff\xfe{", "Content-Type: application/json"),
    "a JSON list": answering("200 OK", b"[]", "Content-Type: application/json"),
    "elsewhere": redirecting("http://192.0.2.1/v1/models"),
    "silent": hanging(),
    "silent behind the head": hanging("head"),
    "silent in the body": hanging("body"),
    "silent in a stream": hanging("stream"),
    "without an end": endless(),
    "a stream without an end": endless("text/event-stream", b"data: {}\n\n" * 1000),
    "hangs up": hanging_up(),
    "401": answering("401 Unauthorized", b'{"error": {"message": "\x1b[31mno\\u001b[0m"}}'),
    "500": answering("500 Internal Server Error", b"oops"),
}  # fmt: skip


@pytest.mark.parametrize("kind", NOBODY)
def test_what_is_no_endpoint_is_one_clear_line(cli: InProcess, kind: str) -> None:
    with NOBODY[kind] as nobody:
        ran = cli("probe", nobody.url, "--timeout", "0.4", "--model", "m")
        assert (ran.code, ran.out) == (2, ""), ran.out
        first, *rest = ran.err.splitlines()
        assert first.startswith(f"error: {nobody.url}")
        assert len(rest) <= 1
        assert "\x1b" not in ran.err


def test_machines_are_told_too_that_there_was_no_answer(cli: InProcess) -> None:
    with refusing() as nobody:
        ran = cli("probe", nobody.url, "--output-format", "json")
        junit = cli("probe", nobody.url, "--output-format", "junit")
    assert told(ran)["checks"] == []
    assert "refuses the connection" in told(ran)["broken_off"]
    assert len([*ET.fromstring(junit.out.encode()).iter("error")]) == 1  # noqa: S314 (we wrote it)


def test_a_server_that_stops_answering_breaks_the_run_off(cli: InProcess) -> None:
    # the first meeting is answered, what the checks ask is not
    twists = [edit(CHAT, hang_after(), when=has("tools")), edit(CHAT, hang_after(), when=holds('"max_tokens": 8'))]
    with LiveServer(twists=twists) as live:
        ran = cli("probe", live.url, "--suite", "chat", "--timeout", "1", "--output-format", "json")
    found = told(ran)
    assert ran.code == 2
    assert "nothing more within 1 s" in found["broken_off"]
    assert 0 < len(found["checks"]) < 18


def test_a_stream_that_is_cut_is_judged_and_not_fatal(cli: InProcess) -> None:
    twists = [edit(CHAT, cut_after(2), when=every(has("tools"), has("stream")))]
    with LiveServer(twists=twists) as live:
        CORE[:] = ["TL928"]
        ran = cli("probe", live.url, "--output-format", "json")
    assert verdicts(ran) == {"TL928": "fail"}
    assert told(ran)["broken_off"] is None


# --------------------------------------------------------------------------------------------------------- manners


def test_built_in_tools_are_told_whatever_is_checked(cli: InProcess) -> None:
    with LiveServer(tools=True) as live:
        ran = cli("probe", live.url)
        assert {call.method for call in live.requests if call.path.startswith("/tools")} == {"GET"}
    assert ran.code == 0
    assert "\nwarning: the server runs built-in tools for whoever reaches it (GET /tools " in ran.out


def test_all_suites_together_find_nothing_wrong_with_a_server_that_is_right(whole: Whole) -> None:
    assert whole.codes[1] == 0
    assert {check["verdict"] for check in whole.found["checks"]} <= {"pass", "skip"}


def test_no_request_that_generates_lacks_a_limit(whole: Whole) -> None:
    bodies = [call.members for call in whole.requests if call.path in {CHAT, RESPONSES, MESSAGES}]
    assert bodies
    assert [body for body in bodies if body.get("model") and not LIMITS & body.keys()] == []


def test_a_bar_shows_on_a_terminal_alone(cli: InProcess, server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("templatelint.cli.progress._QUICK", 0.0)
    assert cli("probe", server.url).err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert "probing" in cli("probe", server.url).err


def test_the_program_as_a_user_starts_it(server: LiveServer) -> None:
    ran = start("probe", server.url, "--suite", "identity", "--output-format", "json")
    assert json.loads(ran.stdout)["exit_code"] == ran.returncode == 0
    assert ran.stderr == b""


@pytest.mark.parametrize("url", ["", "http://", "http://127.0.0.1:99999", "hf:foo/bar", "ftp://x"])
def test_what_is_no_address_of_a_server_is_named(cli: InProcess, url: str) -> None:
    ran = cli("probe", url)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: {url!r} is no address of a server\nhelp: give http://HOST:PORT\n"

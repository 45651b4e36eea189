from __future__ import annotations

import json
import re
import shlex
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from probed_by_hand import CHAT, URL, asked, exchange, hostile, probed, result, run, streamed
from reports_by_hand import HOSTILE

from templatelint.probe.endpoint import Served
from templatelint.probe.several import Apart
from templatelint.probe.wire.exchange import Asked, Exchange
from templatelint.report import probed as reports
from templatelint.report.probed import Look, Run, exchanges, words
from templatelint.report.terminal import Paint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.probe.verdict import Result

VERBOSE = Look(verbose=True)


def written(form: str, shown: Run, look: Look | None = None) -> str:
    return "".join(reports.write(form, shown, look or Look()))


# --------------------------------------------------------------------------------------------------- the answer


@pytest.mark.parametrize(
    ("results", "changes", "said"),
    [
        (["fail", "fail", "pass", "skip"], {}, f"{URL}: 2 of 3 clauses are broken (llama.cpp b11549, model m)"),
        (["fail", "pass"], {}, f"{URL}: 1 of 2 clauses is broken (llama.cpp b11549, model m)"),
        (["fail"], {}, f"{URL}: 1 of 1 clause is broken (llama.cpp b11549, model m)"),
        (["pass", "warn", "skip"], {}, f"{URL} keeps all 2 clauses that were checked (llama.cpp b11549, model m)"),
        (["pass"], {}, f"{URL} keeps its clause (llama.cpp b11549, model m)"),
        (
            ["pass", "inconclusive"],
            {},
            f"{URL}: no clause is broken (llama.cpp b11549, model m), but 1 of 2 was inconclusive",
        ),
        (["skip"], {}, f"{URL}: nothing was judged (llama.cpp b11549, model m): the one check was skipped"),
        (
            [],
            {"broken_off": "x", "model": ""},
            f"{URL}: nothing was judged (llama.cpp b11549): no check was made; broken off: x",
        ),
        (["pass"], {"served": Served(), "model": ""}, f"{URL} keeps its clause"),
        (["pass"], {"scripted": "hermes"}, f"{URL} keeps its clause (llama.cpp b11549, scripted model m)"),
    ],
)  # fmt: skip
def test_the_first_sentence_is_the_answer(results: list[Any], changes: Mapping[str, Any], said: str) -> None:
    assert words.answer(Run(URL, (probed(*map(result, results), **changes),))) == said


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ([["fail"], ["pass"]], f"{URL}: 1 of 2 models breaks clauses of the contract"),
        ([["fail"], ["fail"]], f"{URL}: 2 of 2 models break clauses of the contract"),
        ([["pass"], ["pass"]], f"{URL}: none of 2 models breaks a clause"),
        ([["pass"], ["inconclusive"]], f"{URL}: none of 2 models breaks a clause, 1 could not be judged in full"),
    ],
)  # fmt: skip
def test_several_models_have_one_answer(models: list[list[Any]], said: str) -> None:
    assert words.answer(Run(URL, tuple(probed(*map(result, each)) for each in models))) == said


# --------------------------------------------------------------------------------- requests and answers in a line


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (exchange('{"choices": [], "created": 1}'), 'HTTP 200: {"choices": []}'),
        (exchange('{"output": [], "status": "x"}'), 'HTTP 200: {"status": "x", "output": []}'),
        (exchange("<html>\n  hello"), "HTTP 200: <html> hello"),
        (exchange("", status=204), "HTTP 204"),
        (exchange("{}", cut=True), "HTTP 200: {} (the connection ended before the answer did)"),
        (exchange("{}", error="nothing more within 1 s"), "HTTP 200: {} (nothing more within 1 s)"),
        (Exchange(asked(), error="refused"), "refused"),
        (Exchange(asked(), cut=True), "nothing: the connection ended"),
        (Exchange(asked(), left=True), "nothing, until we hung up as meant"),
        (
            streamed(("response.created", "{}"), ("response.x.delta", "{}"), ("response.x.delta", "{}")),
            "HTTP 200, 3 events in 0.25 s: response.{created, 2 × x.delta}",
        ),
        (
            streamed(("", '{"a": 1}'), ("", "[DONE]"), left=True),
            'HTTP 200, 2 events in 0.25 s: … {"a": 1} [DONE] (we hung up, as meant)',
        ),
        (streamed(), "HTTP 200, 0 events in 0.25 s"),
    ],
)  # fmt: skip
def test_an_answer_in_a_line(shown: Exchange, line: str) -> None:
    assert exchanges.came(shown, 200) == line


def test_a_request_in_a_line_has_tools_by_their_names_and_what_is_short_first() -> None:
    tools = ({"type": "function", "function": {"name": "f", "parameters": {}}}, {"name": "g"}, 7)
    body = {"model": "m", "messages": [{"role": "user", "content": "x" * 100}], "tools": tools, "max_tokens": 8}
    line = exchanges.sent(asked(body=body), 400)
    assert line.startswith(f'POST {CHAT} {{"max_tokens": 8, "messages": [{{"role": "user", "content": "xxx')
    assert line.endswith('"tools": ["f", "g", 7]}')
    assert len(line) < 250


@pytest.mark.parametrize("body", ["[" * 20_000, "[" * 300 + "]" * 300, '{"a": ' * 300 + "1" + "}" * 300, "9" * 10_000])
def test_a_line_keeps_to_its_room_whatever_came(body: str) -> None:
    assert len(exchanges.came(exchange(body), 120)) <= 120


# --------------------------------------------------------------------------------------------------- for people


def test_a_page() -> None:
    shown = run(
        result("pass", "fine"),
        result("warn", "odd", help="look"),
        result("inconclusive", "no call came"),
        result("fail", "a small one", severity="note"),
        result("fail", "no choices", evidence=("a line", "another"), help="mend it"),
    )
    page = written("text", shown)
    assert page.startswith(f"{URL}: 2 of 5 clauses are broken (llama.cpp b11549, model m)\n\n")
    order = [line.split("[")[0] for line in page.splitlines() if re.match(r"\w+\[TL", line)]
    assert order == ["fail", "fail", "inconclusive", "warn"]
    assert page.index("no choices") < page.index("a small one")
    block = page.split("\n\n")[1]
    assert block.splitlines()[0] == "fail[TL907] reply-complete: no choices"
    assert re.findall(r"^    (clause:|\||sent:|came:|why:|help:) ", block, re.MULTILINE) == [
        "clause:", "|", "|", "sent:", "came:", "why:", "help:",
    ]  # fmt: skip
    assert "Typed clients validate a reply" in block
    assert page.endswith(
        "\n2 broken · 1 inconclusive · 1 unusual · 1 kept (-v lists them, with what was sent and what came)\n"
    )


def test_verbose_lists_everything_with_raw_exchanges() -> None:
    page = written("text", run(result("pass", "fine", exchanges=(exchange("{}\nraw  text"),))), VERBOSE)
    assert "pass[TL907] reply-complete: fine" in page
    assert '    sent: POST /v1/chat/completions\n\n      {"model": "m"' in page
    assert "    came: HTTP 200 application/json\n\n      {}\n      raw  text\n" in page


def test_quiet_leaves_out_what_is_no_fault() -> None:
    page = written("text", run(result("warn", "odd"), result("pass", "fine")), Look(quiet=True))
    assert " ".join(page.split()) == words.answer(run(result("warn"), result("pass")))


def test_colour_is_for_words_alone() -> None:
    plain = written("text", run(result("fail"), result("pass")))
    painted = written("text", run(result("fail"), result("pass")), Look(Paint(on=True)))
    assert "\x1b[1;31mfail[TL907]\x1b[0m" in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == plain


def several() -> Run:
    good = probed(result("pass"), model="good")
    bad = probed(result("fail"), model="bad", broken_off="gone")
    return Run(URL, (good, bad), (Apart("TL907", "reply-complete", ("bad",), ("good",)),), exit_code=1)


def test_several_models_stand_beside_each_other() -> None:
    page = written("text", several())
    assert page.splitlines()[:4] == [
        f"{URL}: 1 of 2 models breaks clauses of the contract",
        "",
        "  good  1 kept",
        "  bad   1 broken; broken off",
    ]
    gone, deaf = probed(model="gone", broken_off=f"{URL}: it is late"), probed(model="deaf", left_out="it embeds")
    page = written("text", Run(URL, (gone, deaf)))
    assert "  gone  broken off\n  deaf  left out\n" in page
    assert page.count(URL) == 3
    page = written("text", several())
    assert "  TL907 reply-complete: broken by bad; kept by good\n" in page


def test_a_remark_stands_below_the_answer() -> None:
    assert written("text", run(result("pass"), remarks=("tools are on",))).splitlines()[1] == "warning: tools are on"


# -------------------------------------------------------------------------------------------------- for machines


def test_json() -> None:
    decisive = streamed(("", '{"a": 1}'), ("", "[DONE]"))
    shown = run(result("fail", exchanges=(exchange(), decisive), evidence=("a",), help="b"), exit_code=1)
    told = json.loads(written("json", shown))
    assert told.keys() >= {"version", "endpoint", "server", "checks", "summary", "exit_code"}
    assert (told["version"], told["endpoint"], told["exit_code"]) == (1, URL, 1)
    assert told["server"] == {"kind": "llama.cpp", "version": "b11549"}
    assert told["summary"] == {"fail": 1, "inconclusive": 0, "warn": 0, "pass": 0, "skip": 0}
    (check,) = told["checks"]
    assert check["id"], check["name"] == ("TL907", "reply-complete")
    assert (check["verdict"], check["severity"]) == ("fail", "error")
    assert check["message"] == "a reply without choices"
    assert check["clause"] == "a plain reply has every member that clients read"
    assert check["request"]["body"]["messages"] == [{"role": "user", "content": "Say hello."}]
    assert check["response"]["body"] == 'data: {"a": 1}\n\ndata: [DONE]\n\n'
    assert [each["response"]["status"] for each in check["exchanges"]] == [200, 200]
    assert (check["evidence"], check["help"]) == (["a"], "b")


TYPED = "content-type: application/json"


def test_json_tells_first_whom_it_is_about() -> None:
    names = [*json.loads(written("json", several()))]
    assert names[:3] == ["version", "endpoint", "answer"]
    assert names[-3:] == ["checks", "summary", "exit_code"]


def test_what_was_not_kept_of_an_answer_is_told() -> None:
    part = exchange('{"a": "… 12,000 bytes …', left_out=12_000)
    stream = streamed(("", "1"), left_out=12_000)
    (check,) = json.loads(written("json", run(result(exchanges=(part,)))))["checks"]
    assert check["response"]["left_out"] == 12_000
    assert "… 12,000 bytes …" in written("text", run(result(exchanges=(part,))))
    assert exchanges.came(stream, 200).startswith("HTTP 200, more than 1 event in ")


@pytest.mark.parametrize(("lines", "more"), [(5, "… 1 more line"), (9, "… 5 more lines")])
def test_evidence_is_counted(lines: int, more: str) -> None:
    assert f"    | {more}\n" in written("text", run(result(evidence=("x",) * lines)))


def test_a_broken_clause_can_be_tried_by_hand() -> None:
    question = exchange(asked=asked(body={"text": "it's $HOME \u202e"}, headers={"x-y": "z"}))
    shown = Run(URL, (probed(result(exchanges=(question,)), keyed=True),))
    command = exchanges.command(URL, question.asked, 1_000, keyed=True)
    assert shlex.split(command) == [
        "curl", "-sN", f"{URL}{CHAT}", "-H", TYPED, "-H", "x-y: z",
        "-H", "Authorization: Bearer $TEMPLATELINT_API_KEY", "-H", "x-api-key: $TEMPLATELINT_API_KEY",
        "--data-raw", '{"text": "it\'s $HOME \\u202e"}',
    ]  # fmt: skip
    assert f"    curl: {command}\n" in written("text", shown, Look(verbose=True))
    assert f"curl: `{command}`" in written("markdown", shown)
    assert escape(command, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in written("html", shown)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (asked(method="GET", body=None), ["curl", "-sN", f"{URL}{CHAT}"]),
        (asked(method="DELETE", body=None), ["curl", "-sN", f"{URL}{CHAT}", "-X", "DELETE"]),
        (
            asked(body="{", leave_at=0.25),
            ["curl", "-sN", f"{URL}{CHAT}", "--max-time", "0.25", "-H", TYPED, "--data-raw", "{"],
        ),
        (asked(body="\udcff"), []),
        (asked(body="{\x1b"), []),
        (asked(body="x" * 1_000), []),
    ],
)
def test_a_request_as_a_command(question: Asked, words: list[str]) -> None:
    assert shlex.split(exchanges.command(URL, question, 1_000, keyed=False)) == words


def test_json_of_a_check_that_sent_nothing() -> None:
    (check,) = json.loads(written("json", run(result("skip", exchanges=()))))["checks"]
    assert (check["request"], check["response"], check["exchanges"]) == (None, None, [])


def test_json_of_several_models_says_whose_each_check_is() -> None:
    told = json.loads(written("json", several()))
    assert [(check["model"], check["verdict"]) for check in told["checks"]] == [("good", "pass"), ("bad", "fail")]
    assert [(one["model"], one["broken_off"]) for one in told["models"]] == [("good", None), ("bad", "gone")]
    assert told["apart"] == [{"id": "TL907", "name": "reply-complete", "failing": ["bad"], "passing": ["good"]}]
    assert (told["summary"]["fail"], told["summary"]["pass"], told["broken_off"]) == (1, 1, "gone")


def test_json_of_an_endpoint_that_does_not_answer() -> None:
    told = json.loads(written("json", Run(URL, trouble="it refuses", exit_code=2)))
    assert (told["checks"], told["broken_off"], told["answer"], told["exit_code"]) == (
        [],
        "it refuses",
        "it refuses",
        2,
    )


def test_a_body_beyond_all_bounds_is_cut_in_json() -> None:
    (check,) = json.loads(written("json", run(result(exchanges=(exchange("x" * 3_000_000),)))))["checks"]
    assert len(check["response"]["body"]) + check["response"]["left_out"] == 3_000_000
    assert check["response"]["left_out"] > 0


def test_junit() -> None:
    shown = run(*(result(word, f"says {word}", name=word) for word in words.TOLD))
    root = ET.fromstring(written("junit", shown).encode())  # noqa: S314 (we wrote it)
    cases = {case.attrib["name"].split()[1]: [child.tag for child in case] for case in root.iter("testcase")}
    assert cases == {
        "fail": ["failure"], "inconclusive": ["error"], "warn": ["system-out"], "pass": [], "skip": ["skipped"],
    }  # fmt: skip
    failure = next(root.iter("failure"))
    assert failure.attrib == {"type": "error", "message": "says fail"}
    assert failure.text is not None
    assert "sent: POST /v1/chat/completions" in failure.text


def test_junit_of_what_did_not_answer_or_was_broken_off() -> None:
    for shown in (Run(URL, trouble="it refuses"), Run(URL, (probed(broken_off="it refuses"),))):
        root = ET.fromstring(written("junit", shown).encode())  # noqa: S314 (we wrote it)
        assert [error.attrib["message"] for error in root.iter("error")] == ["it refuses"]


def test_markdown() -> None:
    text = written("markdown", run(result("fail", "no `choices`"), result("pass", "fine"), result("skip", "why")))
    assert text.startswith("### templatelint probe: http:&#8203;//127.0.0.1:8080: 1 of 2 clauses is broken (")
    assert "\n- **fail** TL907 reply-complete: no <code>choices</code><br>\n  clause: " in text
    assert "<summary>1 clause kept</summary>" in text
    assert "<summary>1 clause skipped</summary>" in text


@pytest.mark.parametrize("shown", [several(), run(result("fail"), remarks=("odd",)), Run(URL, trouble="it refuses")])
def test_the_html_page_stands_alone(shown: Run) -> None:
    page = written("html", shown)
    assert page.startswith("<!doctype html>")
    assert not re.search(r"""(?:src|href)=["'](?!#|data:,)""", page)
    for word in {one.verdict.word for each in shown.probed for one in each.results}:
        assert f'<details class="one {word}"' in page
    assert all(text in page for text in (*shown.remarks, shown.trouble))


# -------------------------------------------------------------------------------------------------- hostile texts


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("form", [*reports.FORMATS, "verbose"])
def test_nothing_that_a_server_says_leaves_as_a_control_character(form: str, name: str) -> None:
    shown = hostile(HOSTILE[name])
    told = written("text", shown, VERBOSE) if form == "verbose" else written(form, shown)
    told.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066\u2028\ud800-\udfff]", told)
    if form == "html":
        assert "<script>alert" not in told
    if form == "json":
        json.loads(told)
    if form == "junit":
        ET.fromstring(told.encode())  # noqa: S314 (we wrote it)


def many(count: int) -> list[Result]:
    lots = tuple(exchange("x" * 200_000) for _ in range(20))
    return [result("fail", "y" * 5000, exchanges=lots, evidence=("z" * 5000,) * 500) for _ in range(count)]


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_page_has_a_bound(form: str) -> None:
    assert len(written(form, run(*many(75)))) < {"html": 3_000_000, "markdown": 65_536}[form]

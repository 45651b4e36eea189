from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from typing import Any

import pytest
from probed_by_hand import asked, exchange, hostile, probed, result

from templatelint.probe.endpoint import Served
from templatelint.probe.redaction import HIDDEN, hiding, without
from templatelint.probe.wire.exchange import Event

SECRET = 'a"secret/of+ours'  # noqa: S105 (nobody's)


@pytest.mark.parametrize(
    "written",
    [
        'a"secret/of+ours',
        'a\\"secret\\/of+ours',
        "a\\u0022secret\\u002fof\\u002Bours",
        "a%22secret%2Fof%2Bours",
        "YSJzZWNyZXQvb2Yrb3Vycw==",
        "YSJzZWNyZXQvb2Yrb3Vycw",
        "YSJzZWNyZXQvb2Yrb3Vycw%3D%3D",
        'A"Secret/OF+ours',
        'a\\\\\\"secret/of+ours',
        "a\\x22secret\\x2fof\\x2bours",
        "a\\u0022\\u0073\\u0065cret\\U0000002fof+ours",
        "a&quot;secret/of+ours",
        "&#97;&#x22;secret&#47;of&#x2B;ours",
        "%61%22%73%65%63%72%65%74%2f%6F%66%2B%6f%75%72%73",
        "6122736563726574 2f6f662b6f757273".replace(" ", ""),
        "6122736563726574 2F6F662B6F757273".replace(" ", ""),
    ],
)
def test_a_secret_is_found_however_it_is_written(written: str) -> None:
    assert hiding([SECRET])(f"<{written}> and {written}") == f"<{HIDDEN}> and {HIDDEN}"


@pytest.mark.parametrize("before", ["", "x", "xy", "Bearer ", "Authorization: Bearer ", "user:"])
@pytest.mark.parametrize("after", ["", "\n", "ab"])
@pytest.mark.parametrize("key", ["sk-0123456789-abcdefghij", "~~~???>>>~~~???>>>", "hunter"])
def test_a_secret_is_found_wherever_it_stands_in_what_is_encoded(before: str, after: str, key: str) -> None:
    raw = f"{before}{key}{after}".encode()
    for coded in (b64encode(raw).decode(), urlsafe_b64encode(raw).decode().rstrip("=")):
        shown = hiding([key])(coded)
        head, hidden, tail = shown.partition(HIDDEN)
        assert hidden, coded
        assert len(head) <= -(-4 * len(before) // 3)
        assert len(tail) <= 5


def test_what_is_left_of_a_secret_that_a_message_was_cut_in_is_hidden() -> None:
    key = "sk-0123456789-abcdefghij"
    for at in range(6, len(key)):
        shown = hiding([key])(f"bad key {key[:at]}… and …{key[-at:]} there")
        assert shown == f"bad key {HIDDEN}… and …{HIDDEN} there"


def test_half_a_secret_is_hidden_where_nothing_shows_that_it_was_cut() -> None:
    key = "sk-0123456789-abcdefghij"
    hide = hiding([key])
    assert hide(f"bad key {key[:14]}") == hide(f"bad key {key[:8]}") == f"bad key {HIDDEN}"
    assert hide(f"{key[-14:]} and {key[:14]} are bad") == f"{HIDDEN} and {HIDDEN} are bad"
    assert hide("sk-012 is no key, [hidden] neither") == "sk-012 is no key, [hidden] neither"


@pytest.mark.parametrize("key", ["", "none", "EMPTY"])
def test_what_is_no_secret_stays(key: str) -> None:
    assert hiding([key])("none, EMPTY and all") == "none, EMPTY and all"


def test_every_text_of_a_run_is_without_it() -> None:
    key = "sk-0123456789"
    said = asked(path=f"/v1/responses/{key}", headers={key: key}, body={key: [{"content": (key, 1, None)}]})
    told = exchange(f'["{key}"]', headers={key: key}, error=key, asked=said, events=(Event(key, f"<{key}>", 0.5),))
    one = probed(
        result("fail", key, evidence=(key,), help=key, exchanges=(told, told)),
        model=key,
        served=Served(key, key, None, (key,), key),
        scripted=key,
        broken_off=key,
        left_out=key,
    )
    shown = without(one, hiding([key]))
    (found,) = shown.results
    assert key not in repr(shown)
    assert found.exchanges[0].asked.raw == b'{"[hidden]": [{"content": ["[hidden]", 1, null]}]}'
    assert found.exchanges[0].events == (Event(HIDDEN, f"<{HIDDEN}>", 0.5),)
    assert found.exchanges[0] is found.exchanges[1]
    assert found.exchanges[0].text == f'["{HIDDEN}"]'
    assert found.verdict.word == "fail"


def test_the_keys_on_a_routers_command_line_are_hidden_whoever_they_belong_to() -> None:
    told = exchange('{"args": ["llama-server", "--api-key", "their own", "-m", "x", "--hf-token", "hf_1"]}')
    (found,) = without(probed(result(exchanges=(told,))), hiding([])).results
    assert found.exchanges[0].text == (
        f'{{"args": ["llama-server", "--api-key", "{HIDDEN}", "-m", "x", "--hf-token", "{HIDDEN}"]}}'
    )


def test_a_request_that_repeats_an_answer_of_any_depth_is_told() -> None:
    deep: Any = "sk-0123456789"
    for _ in range(900):
        deep = [deep]
    (found,) = without(probed(result(exchanges=(exchange(asked=asked(body=deep)),))), hiding([SECRET])).results
    assert HIDDEN in str(found.exchanges[0].asked.body)


def test_what_is_no_text_stays_as_it_came() -> None:
    raw = result(exchanges=(exchange("\udcff"),))
    (found,) = without(probed(raw), hiding(["sk-0123456789"])).results
    assert found.exchanges[0].body == raw.exchanges[0].body


def test_a_run_without_a_secret_stays_as_it_is() -> None:
    one = hostile("\ud800 x").probed[0]
    assert without(one, hiding(["sk-0123456789"])).results == one.results

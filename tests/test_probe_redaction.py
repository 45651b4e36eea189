from __future__ import annotations

import pytest
from probed_by_hand import exchange, hostile, probed, result

from templatelint.probe.endpoint import Served
from templatelint.probe.redaction import HIDDEN, hiding, without

SECRET = 'a"secret/of+ours'  # noqa: S105 (nobody's)


@pytest.mark.parametrize(
    "written",
    [
        'a"secret/of+ours',
        'a\\"secret\\/of+ours',
        "a\\u0022secret\\u002fof\\u002Bours",
        "a%22secret%2Fof%2Bours",
        "YSJzZWNyZXQvb2Yrb3Vycw==",
    ],
)
def test_a_secret_is_found_however_it_is_written(written: str) -> None:
    assert hiding([SECRET])(f"<{written}> and {written}") == f"<{HIDDEN}> and {HIDDEN}"


def test_what_is_left_of_a_secret_that_a_message_was_cut_in_is_hidden() -> None:
    key = "sk-0123456789-abcdefghij"
    for at in range(6, len(key)):
        shown = hiding([key])(f"bad key {key[:at]}… and …{key[-at:]} there")
        assert shown == f"bad key {HIDDEN}… and …{HIDDEN} there"


@pytest.mark.parametrize("key", ["", "none", "EMPTY"])
def test_what_is_no_secret_stays(key: str) -> None:
    assert hiding([key])("none, EMPTY and all") == "none, EMPTY and all"


def test_every_text_of_a_run_is_without_it() -> None:
    key = "sk-0123456789"
    told = exchange(f'["{key}"]', headers={key: key}, error=key)
    one = probed(
        result("fail", key, evidence=(key,), help=key, exchanges=(told, told)),
        model=key,
        served=Served(key, key),
        broken_off=key,
    )
    shown = without(one, hiding([key]))
    (found,) = shown.results
    assert key not in repr(shown).replace(repr(told.asked), "")
    assert found.exchanges[0] is found.exchanges[1]
    assert found.exchanges[0].text == f'["{HIDDEN}"]'
    assert found.verdict.word == "fail"


def test_the_keys_on_a_routers_command_line_are_hidden_whoever_they_belong_to() -> None:
    told = exchange('{"args": ["llama-server", "--api-key", "their own", "-m", "x", "--hf-token", "hf_1"]}')
    (found,) = without(probed(result(exchanges=(told,))), hiding([])).results
    assert found.exchanges[0].text == (
        f'{{"args": ["llama-server", "--api-key", "{HIDDEN}", "-m", "x", "--hf-token", "{HIDDEN}"]}}'
    )


def test_what_is_no_text_stays_as_it_came() -> None:
    raw = result(exchanges=(exchange("\udcff"),))
    (found,) = without(probed(raw), hiding(["sk-0123456789"])).results
    assert found.exchanges[0].body == raw.exchanges[0].body


def test_a_run_without_a_secret_stays_as_it_is() -> None:
    one = hostile("\ud800 x").probed[0]
    assert without(one, hiding(["sk-0123456789"])).results == one.results

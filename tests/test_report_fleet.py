from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from fleets import standings
from reports_by_hand import ABSENT, TRANSFORMERS, VLLM

from templatelint import outcomes
from templatelint.contract import Term
from templatelint.fleet import Fleet
from templatelint.fleet.launching import Launching
from templatelint.fleet.mend import Relaunch, smallest
from templatelint.fleet.terms import shared
from templatelint.report import Remark, Setting, Unreadable, fleet, fleet_json
from templatelint.report.terminal import Paint, width

if TYPE_CHECKING:
    from collections.abc import Sequence

ONE_CALL = Term("one-call", "one call a turn", ("vllm",), everywhere=True)
NEWS = "{% generation %}"


def made(
    *models: tuple[str, ...],
    engines: tuple[str, ...] = ("vllm",),
    refs: Sequence[str] = (),
    contracts: Sequence[Sequence[Term]] = (),
    **changes: Any,
) -> Fleet:
    told = standings(models, engines)
    return Fleet(
        **{
            "refs": tuple(refs) or tuple(f"models/m{at}.jinja" for at in range(len(models))),
            "standings": told,
            "terms": shared(contracts, frozenset(outcomes.JUDGED)),
            "launchings": (),
            "mend": smallest(told, lambda *_: None),
            **changes,
        }
    )


def text(found: Fleet, **setting: Any) -> str:
    return "".join(fleet.write(found, (VLLM,), (), (), Setting(**setting)))


WHOLE = """\
A  models/m0.jinja
B  models/m1.jinja
C  models/m2.jinja

                  A  B  C
  chat            ✓  ✓  ✓
  system          ✓  ✓  ✓
  tools           ✓  ✓  ✗
  parallel-tools  ✓  ✗  ✓
  reasoning       ✓  ✓  ✓
  multimodal      ✓  ✓  ✓
  agent           ✓  ✗  ✓

  ✓ on every engine · ✗ not on every engine

one client does not fit all of them as they are: 3 breaks, with B, C

breaks[tools] tool definitions never reach the model
  = with C
  = so are lost: tool calls of the history

breaks[parallel-tools] two tool calls in one turn are refused
  = with B: one at a time!

breaks[agent] two user messages in a row are refused
  = with B: roles must alternate

  · no model takes developer messages

a client of all of them
  · may rely on: chat, system, reasoning, multimodal, agent (but not developer,
    consecutive-users)
  · one call a turn (B)

launch
  · vllm: no one set of flags serves all
    A, C: --tool-call-parser hermes
    B: no flags

the smallest mend
  · client: send `parallel_tool_calls: false`, and one call a turn in the
    history (for B)
  · client: join messages of one role before sending (for B)
  · serve C (m2) with a template that takes tool definitions, tool calls of the
    history (vllm: --chat-template FILE), or leave it out
then, given such templates, all 3 models take chat, system, tools, reasoning,
  multimodal, agent, without parallel-tools
with rules for the client alone: chat, system, reasoning, multimodal, agent

engines: vllm 0.33.0
"""


def test_the_whole_page() -> None:
    found = made(
        ("no developer",),
        ("no developer", "one call", "alternates"),
        ("no developer", "no tools"),
        contracts=((), (ONE_CALL,), ()),
        launchings=(Launching("vllm", ("--tool-call-parser hermes", "", "--tool-call-parser hermes"), None),),
    )
    assert text(found) == WHOLE


EQUAL = """\
A  models/m0.jinja
B  models/m1.jinja

                  A  B
  chat            ✓  ✓
  system          ✓  ✓
  tools           ✓  ✓
  parallel-tools  –  –
  reasoning       ✓  ✓
  multimodal      ✓  ✓
  agent           ✓  ✓

  ✓ on every engine · – with no model, or unknown

one client fits all of them as they are

  · no model takes two tool calls in one turn

a client of all of them
  · may rely on: chat, system, tools, reasoning, multimodal, agent
  · one call a turn (all)

nothing to mend: both models take chat, system, tools, reasoning, multimodal,
  agent

engines: vllm 0.33.0
"""


def test_equal_models() -> None:
    assert text(made(("one call",), ("one call",), contracts=((ONE_CALL,), (ONE_CALL,)))) == EQUAL


def test_a_model_alone() -> None:
    out = text(made(("one call",), contracts=((ONE_CALL,),)))
    assert "  · it does not take two tool calls in one turn\n" in out
    assert "  · one call a turn\n" in out
    assert "one client" not in out
    assert "nothing to mend: the model takes chat, " in out


@pytest.mark.parametrize(
    ("models", "changes", "line"),
    [
        (
            ((), ("broken",)),
            {},
            "B (m1) with a template that loads (vllm: --chat-template FILE), or\n    leave it out\n",
        ),
        (((), ("broken",)), {}, "with rules for the client alone: none of it\n"),
        (((), ("no tools", "no system")), {}, "if the client is to put"),
        (((), ("no tools", "alternates"), ("one call",)), {}, "if the client is also to join"),
        (((), ("broken",)), {}, "breaks[chat] the template does not load\n  = with B: ouch\n"),
        (((), ("no tools",)), {"engines": ("ollama",)}, "  · leave B (m1) out: it takes no other template there\n"),
        (((), ("no tools",)), {"engines": ("ollama",)}, "then the other model takes chat,"),
        (
            ((), ("no tools@ollama",)),
            {"engines": ("ollama", "vllm")},
            "  · leave B (m1) out on ollama: it takes no other template there\nthen both models take chat,",
        ),
        (((), ("strings only@vllm",)), {"engines": ("ollama", "vllm")}, "\n  multimodal (only on ollama), agent\n"),
        (
            ((), ("no tools",), ("one call",), ("no tools",)),
            {},
            "  · serve B (m1), D (m3) with templates that take tool definitions, tool calls",
        ),
        (
            ((), ("broken@vllm", "no results@transformers")),
            {"engines": ("vllm", "transformers")},
            "serve B (m1) with a template that loads and takes tool results (vllm:",
        ),
        (((), ("not alone",)), {}, "degrades[agent] histories that start with the assistant are refused\n  = with B\n"),
        (((), ("not alone",)), {}, "one client fits all of them as they are\n"),
        (((), ("unknown",)), {"unknown": ((1, "vllm", "has none"),)}, "  · nothing is known of B on vllm: has none\n"),
        (((), ()), {"launchings": (Launching("vllm", ("--x y", "--x y"), "--x y"),)}, "  · vllm, all: --x y\n"),
        (((), ()), {"launchings": (Launching("vllm", ("--x y", ""), "--x y"),)}, "vllm: --x y serves all as well\n"),
    ],
)
def test_lines(models: tuple[tuple[str, ...], ...], changes: dict[str, Any], line: str) -> None:
    assert line in text(made(*models, **changes))


def test_flags_of_its_own() -> None:
    told = standings([(), ("unread",)])
    found = made((), ("unread",), mend=smallest(told, lambda *_: "--tool-call-parser mistral"))
    assert found.mend.relaunches == (Relaunch(1, "vllm", "--tool-call-parser mistral"),)
    assert "  · launch B on vllm with --tool-call-parser mistral\nthen both models take chat" in text(found)


def test_terms_that_exclude_each_other() -> None:
    nine, name = (Term(f"ids-{one}", f"ids by {one}", ("vllm",), everywhere=True) for one in ("nine", "name"))
    out = text(made(("nine",), ("name",), (), contracts=((nine,), (name,), ())))
    assert "  · ids by nine (A, against ids-name of others)\n" in out


def test_verbose_shows_how_to_see_it() -> None:
    found = made((), ("one call",), refs=("a", "with space.jinja"))
    assert "see it" not in text(found)
    command = "templatelint render 'with space.jinja' --case parallel-calls+case --engine vllm --date 2030-01-01"
    assert f"  = see it: {command}\n" in text(found, verbose=True, replay=("--date", "2030-01-01"))


def test_the_last_line_is_of_the_run() -> None:
    found = made((), ())
    out = "".join(fleet.write(found, (TRANSFORMERS, VLLM), ABSENT, (Remark("a", "a\x1b is a file"),), Setting()))
    assert "engines: transformers 5.24.0, vllm 0.33.0" in out
    assert "a\\x1b is a file" in out
    assert "engines:" not in "".join(fleet.write(found, (VLLM,), (), (), Setting(quiet=True)))


@pytest.mark.parametrize("count", [2, 10, 26, 27, 64])
@pytest.mark.parametrize("columns", [60, 80])
def test_lines_have_the_width_that_was_asked_for(count: int, columns: int) -> None:
    kinds = (("one call", "alternates"), ("no tools",), ("no developer", "no thoughts"), ("broken",), ("nine",), ())
    models = tuple(kinds[at % len(kinds)] for at in range(count))
    out = text(made(*models, engines=("transformers", "vllm", "sglang")), columns=columns)
    assert [line for line in out.splitlines() if width(line) > columns] == []


def test_letters_go_on_behind_z() -> None:
    out = text(made(*[()] * 28))
    assert re.findall(r"^([A-Z]+) +models/m(?:0|25|26|27)\.jinja$", out, re.MULTILINE) == ["A", "Z", "AA", "AB"]
    assert len(re.findall(r"^  chat( +✓)+$", out, re.MULTILINE)) > 1


def test_hostile_references_and_messages_are_spelt_out() -> None:
    found = made((), ("no tools",), refs=("a\x1b[2J", "x/b\u202e.jinja"), unknown=((0, "vllm", "why\x07"),))
    out = text(found)
    assert not set("\x1b\u202e\x07") & set(out)
    assert "a\\x1b[2J" in out
    assert "serve B (b\\u202e)" in out


def test_colour_changes_nothing_else() -> None:
    found = made((), ("one call", "not alone"), ("no tools",))
    painted = text(found, paint=Paint(on=True))
    assert "\x1b[" in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == text(found)


@pytest.mark.parametrize(
    ("ref", "shown"),
    [
        ("google/gemma-2", "gemma-2"),
        ("/m/gemma-2/", "gemma-2"),
        ("/m/gemma-2/chat_template.jinja", "gemma-2"),
        ("C:\\m\\gemma-2\\tokenizer_config.json", "gemma-2"),
        ("chat_template.jinja", "chat_template"),
        ("m.gguf#tool_use", "m.gguf#tool_use"),
        ("/", "/"),
    ],
)
def test_models_have_short_names(ref: str, shown: str) -> None:
    assert f"serve B ({shown}) with" in text(made((), ("no tools",), refs=("a", ref)))


# ----------------------------------------------------------------------------------------------------------- json


def answer(found: Fleet, exit_code: int = 0) -> Any:
    unreadable = (Unreadable("x", "no such file", "look"),)
    pieces = fleet_json.write(found, (VLLM,), ABSENT, (Remark("a", "b"),), unreadable, exit_code=exit_code)
    return json.loads("".join(pieces))


def test_members() -> None:
    told = answer(made((), ()))
    assert list(told) == ["version", "models", "engines", "fleet", "not_run", "remarks", "unreadable", "exit_code"]
    assert (told["version"], [model["ref"] for model in told["models"]]) == (1, ["models/m0.jinja", "models/m1.jinja"])
    assert told["engines"] == [{"name": "vllm", "renderer": "jinja2", "version": "0.33.0", "emulated": True}]
    assert told["unreadable"] == [{"ref": "x", "message": "no such file", "help": "look"}]
    assert (told["remarks"], len(told["not_run"])) == ([{"ref": "a", "text": "b"}], 2)
    assert list(told["fleet"]) == [
        *("needs", "subjects", "contract", "breaks", "unavailable", "unknown", "launch", "mend"),
    ]
    assert told["fleet"]["breaks"] == []
    assert told["fleet"]["mend"]["rules_alone"] is None


def test_what_the_fleet_object_says() -> None:
    found = made(
        ("no developer", "strings only"),
        ("no developer", "one call"),
        ("no developer", "no tools"),
        contracts=((), (ONE_CALL,), ()),
        launchings=(Launching("vllm", ("--x", "", "--y"), None),),
        unknown=((0, "vllm", "why"),),
    )
    told = answer(found, 1)
    assert told["exit_code"] == 1
    body = told["fleet"]
    needs = {one["need"]: one for one in body["needs"]}
    assert needs["tools"] == {
        "need": "tools",
        "status": "broken",
        "grades": ["works", "works", "broken"],
        "engines": ["vllm"],
        "common": [],
    }
    assert {one["subject"]: one["grades"] for one in body["subjects"]}["parallel-calls"] == {
        "vllm": ["works", "broken", "works"]
    }
    assert "string-content" in body["contract"]["relies_on"]
    assert body["contract"]["terms"] == [
        {
            "id": "one-call",
            "text": "one call a turn",
            "models": [{"ref": "models/m1.jinja", "engines": ["vllm"], "everywhere": True}],
            "opposed": [],
        }
    ]
    assert [(one["ref"], one["subject"], one["verdict"], one["follows"]) for one in body["breaks"]] == [
        ("models/m2.jinja", "tools", "breaks", None),
        ("models/m2.jinja", "tool-calls", "breaks", "tools"),
        ("models/m1.jinja", "parallel-calls", "breaks", None),
        ("models/m0.jinja", "content-parts", "breaks", None),
    ]
    assert body["breaks"][2]["evidence"] == [{"engine": "vllm", "case": "parallel-calls+case"}]
    assert body["unavailable"] == [{"subject": "developer", "need": "agent", "engines": ["vllm"]}]
    assert body["unknown"] == [{"ref": "models/m0.jinja", "engine": "vllm", "why": "why"}]
    assert body["launch"] == [{"engine": "vllm", "flags": ["--x", "", "--y"], "one_for_all": None}]
    mend = body["mend"]
    assert [(rule["id"], rule["models"], rule["gives_up"]) for rule in mend["rules"]] == [
        ("one-call", ["models/m1.jinja"], "parallel-tools"),
        ("content-string", ["models/m0.jinja"], "multimodal"),
    ]
    assert mend["templates"] == [
        {"ref": "models/m2.jinja", "has_to": ["tools", "tool-calls"], "launch": {"vllm": "--chat-template FILE"}}
    ]
    assert (mend["leave_out"], mend["launch"], mend["given_up"]) == ([], [], ["parallel-tools", "multimodal"])
    assert [one["need"] for one in mend["then"]] == ["chat", "system", "tools", "reasoning", "agent"]
    assert [one["need"] for one in mend["rules_alone"]["then"]] == ["chat", "system", "reasoning", "agent"]

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from templatelint import cases
from templatelint.cases import all_cases, get, snapshots, to_form
from templatelint.errors import TemplatelintError
from templatelint.model import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Case

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "corpus"
FILES = sorted((CORPUS / "conversations").glob("*.json"), key=lambda file: file.stem)
IDS = [file.stem for file in FILES]

# what rules and users call cases by
CONTRACT = (ROOT / "tests" / "data" / "cases" / "ids.txt").read_text("utf-8").split()


# ------------------------------------------------------------------------------------------ the corpus


def test_the_ids_that_others_rely_on_exist() -> None:
    assert set(CONTRACT) <= set(all_cases())


def test_cases_come_by_id_in_alphabetical_order() -> None:
    assert list(all_cases()) == IDS
    assert all(case.id == case_id for case_id, case in all_cases().items())


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_a_file_has_the_four_members_and_its_own_name(file: Path) -> None:
    entry = json.loads(file.read_text("utf-8"))
    assert list(entry) == ["id", "isolates", "request", "marks"]
    assert entry["id"] == file.stem
    assert all(isinstance(tool, str) for tool in entry["request"].get("tools", []))
    isolates = entry["isolates"]
    assert isolates[0].islower() or isolates.startswith(tuple(IDS))
    assert not isolates.endswith(".")
    assert "\n" not in isolates


def test_no_two_cases_isolate_the_same() -> None:
    assert len({case.isolates for case in all_cases().values()}) == len(IDS)


def test_the_readme_has_one_line_a_case() -> None:
    readme = (CORPUS / "conversations" / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| \[([\w-]+)\]\(([\w-]+)\.json\) \| (.*) \|$", readme, re.MULTILINE)
    assert rows == [(case.id, case.id, case.isolates) for case in all_cases().values()]


def test_every_tool_is_named_once_and_used() -> None:
    tools = json.loads((CORPUS / "tools.json").read_text("utf-8"))
    assert all(tool["function"]["name"] == name for name, tool in tools.items())
    used = {name for file in FILES for name in json.loads(file.read_text("utf-8"))["request"].get("tools", [])}
    assert used == set(tools)


# ----------------------------------------------------------------------------------------------- marks


def _slots(request: Request) -> Iterator[tuple[str, str]]:
    """Every text of the request under the name of the place where it stands."""
    counts: dict[str, int] = {}

    def numbered(kind: str) -> str:
        counts[kind] = counts.get(kind, 0) + 1
        return f"{kind}.{counts[kind]}"

    for message in request.messages:
        role = message["role"]
        texts, others = _texts_of_content(message.get("content"))
        if role != "assistant":
            name = numbered(role)
            yield from ((name, text) for text in texts)
            yield from (("elsewhere", text) for text in others)
            yield from ((f"{name}.{key}", message[key]) for key in ("tool_call_id", "name") if key in message)
            continue
        thought = message.get("reasoning_content", "")
        if texts and texts[0].startswith("<think>"):
            thought, texts[0] = texts[0].removeprefix("<think>").split("</think>")
        if thought:
            yield numbered("reasoning"), thought
        if any(texts):
            name = numbered("assistant")
            yield from ((name, text) for text in texts)
        for call in message.get("tool_calls") or []:
            name = numbered("call")
            yield f"{name}.id", call["id"]
            yield f"{name}.name", call["function"]["name"]
            for key, value in json.loads(call["function"]["arguments"]).items():
                yield f"{name}.key", key
                yield from ((f"{name}.value", text) for text in _strings(value))
    for tool in request.tools or []:
        name = numbered("tools")
        yield f"{name}.name", tool["function"]["name"]
        rest = {key: value for key, value in tool["function"].items() if key != "name"}
        yield from ((name, text) for text in _strings(rest))


def _texts_of_content(content: Any) -> tuple[list[str], list[str]]:
    if content is None or isinstance(content, str):
        return [content] if content else [], []
    texts = [part["text"] for part in content if part["type"] == "text"]
    return texts, [text for part in content if part["type"] != "text" for text in _strings(part)]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


PROSE = re.compile(r"(system|developer|user|assistant|reasoning|tool)(\.\d+)*|call\.\d+\.value(\.\d+)?|.*description")
CODE_NAME = re.compile(r"[A-Z][a-z]+\d{4}")


def _home(mark: str) -> str:
    kind, number, *rest = [*mark.split("."), "1"]
    if kind == "call":
        return f"{kind}.{number}.{rest[0]}"
    if kind == "tools" and rest[0] == "name":
        return f"{kind}.{number}.name"
    return f"{kind}.{number}"


def _may_stand_in(mark: str) -> re.Pattern[str]:
    """Places other than its home where the text of a name, a key or an id stands by its nature."""
    if mark.endswith(".name"):
        # a named result, and an id that carries the name
        return re.compile(r"tools\.\d+\.name|call\.\d+\.(name|id)|tool\.\d+\.(name|tool_call_id)")
    if mark.split(".")[2:3] == ["key"]:
        return re.compile(r"tools\.\d+|call\.\d+\.key")
    if mark.endswith(".id"):
        return re.compile(r"tool\.\d+\.tool_call_id")
    return re.compile(r"(?!)")


@pytest.mark.parametrize("case_id", IDS)
def test_every_mark_stands_where_its_name_says_and_only_there(case_id: str) -> None:
    case = get(case_id)
    slots = list(_slots(case.request))
    for name, mark in case.marks.items():
        found = [(slot, text) for slot, text in slots if mark.lower() in text.lower()]
        assert _home(name) in [slot for slot, _ in found], name
        allowed = _may_stand_in(name)
        assert all(slot == _home(name) or allowed.fullmatch(slot) for slot, _ in found), (name, found)
        if PROSE.fullmatch(name):
            (text,) = [text for _, text in found]
            assert CODE_NAME.fullmatch(mark)
            assert text.lower().count(mark.lower()) == 1
            before, after = text.split(mark)
            # nothing that splits or trims a text can touch it
            assert re.search(r"\w[^\n]* $", before), (name, text)
            assert re.match(r" [^\n]*\w", after), (name, text)
        else:
            exact = [slot for slot, text in found if text == mark]
            assert all(slot in exact or slot.endswith(("id", "tool_call_id")) for slot, _ in found), (name, found)


@pytest.mark.parametrize("case_id", IDS)
def test_every_text_has_a_mark(case_id: str) -> None:
    case = get(case_id)
    for slot, text in _slots(case.request):
        kind = slot.split(".")[0]
        if slot == "elsewhere" or slot.endswith(("tool_call_id", "name")) or (kind == "tools"):
            continue
        if slot.endswith(".value") and not CODE_NAME.search(text):
            # the second of several texts of one value: its neighbour carries the mark
            assert slot in {_home(name) for name in case.marks}
            continue
        assert any(_home(name) == slot and mark in text for name, mark in case.marks.items()), (slot, text)
    for number, tool in enumerate(case.request.tools or [], 1):
        assert f"tools.{number}.name" in case.marks
        assert ("description" in tool["function"]) == (f"tools.{number}.description" in case.marks)
        assert ("parameters" in tool["function"]) == (f"tools.{number}.parameter" in case.marks)


def test_a_parameter_mark_names_a_parameter_that_no_call_uses() -> None:
    for case in all_cases().values():
        called = {mark for name, mark in case.marks.items() if ".key" in name}
        for number, tool in enumerate(case.request.tools or [], 1):
            parameter = case.marks.get(f"tools.{number}.parameter")
            if parameter is not None:
                assert parameter in tool["function"]["parameters"]["properties"]
                assert parameter not in called


@pytest.mark.parametrize("case_id", IDS)
def test_calls_and_results_belong_together(case_id: str) -> None:
    request = get(case_id).request
    offered = {tool["function"]["name"]: tool["function"] for tool in request.tools or []}
    open_ids: list[str] = []
    for message in request.messages:
        for call in message.get("tool_calls") or []:
            open_ids.append(call["id"])
            arguments = json.loads(call["function"]["arguments"])
            assert call["type"] == "function"
            # as json.dumps writes them, so that both client forms can give the same bytes
            assert call["function"]["arguments"] == json.dumps(arguments, ensure_ascii=False)
            if offered:
                assert set(arguments) <= set(offered[call["function"]["name"]]["parameters"]["properties"])
        if message["role"] == "tool":
            open_ids.remove(message["tool_call_id"])
    assert not open_ids or case_id in {"tool-pending", "tool-unanswered"}


# ------------------------------------------------------------------------------- cuts, variants, lookup


def _roles(case: Case) -> list[str]:
    return [message["role"] for message in case.request.messages]


def test_a_cut_keeps_the_first_messages_and_their_marks() -> None:
    case = get("tool-loop@3")
    assert case.id == "tool-loop@3"
    assert _roles(case) == ["user", "assistant", "tool"]
    assert case.request.tools == get("tool-loop").request.tools
    kept = {name for name in case.marks if not name.startswith("tools.")}
    assert kept == {"user.1", "call.1.name", "call.1.key", "call.1.value", "call.1.id", "tool.1"}
    assert {name for name in case.marks if name.startswith("tools.")} == {
        name for name in get("tool-loop").marks if name.startswith("tools.")
    }


@pytest.mark.parametrize("case_id", IDS)
def test_every_cut_has_exactly_the_marks_that_stand_in_it(case_id: str) -> None:
    whole = get(case_id)
    for count in range(1, len(whole.request.messages) + 1):
        case = get(f"{case_id}@{count}")
        homes = {slot for slot, _ in _slots(case.request)}
        assert dict(case.marks) == {name: mark for name, mark in whole.marks.items() if _home(name) in homes}


def test_a_cut_drops_reasoning_between_tags_with_its_message() -> None:
    assert set(get("reasoning-inline@1").marks) == {"user.1"}
    assert set(get("reasoning-inline@2").marks) == {"user.1", "reasoning.1", "assistant.1"}


def test_variants_change_one_thing_each() -> None:
    base = get("tool-call")
    assert base.request.add_generation_prompt
    assert base.form is None
    assert base.day == 0
    assert not get("tool-call+nogen").request.add_generation_prompt
    assert get("tool-call+wire").form == "wire"
    assert get("tool-call+native").form == "native"
    assert get("tool-call+tomorrow").day == 1
    bare = get("tool-call+notools")
    assert bare.request.tools is None
    assert dict(bare.marks) == {name: mark for name, mark in base.marks.items() if not name.startswith("tools.")}
    for variant in ("nogen", "wire", "native", "tomorrow"):
        varied = get(f"tool-call+{variant}")
        assert varied.request.messages == base.request.messages
        assert varied.marks == base.marks


def test_mappings_beside_nulls() -> None:
    case = get("tool-call+mapping")
    assert case.form == "wire"
    _, message, _ = to_form(case.request, "wire").messages
    assert message["content"] is None
    assert message["tool_calls"][0]["function"]["arguments"] == {
        "gauge_query": "the Petrel2291 gauge north of the lock"
    }
    assert [*map(set, case.request.messages)] == [*map(set, get("tool-call").request.messages)]


@pytest.mark.parametrize(
    ("case_id", "contents"),
    [("tool-call", [""]), ("tool-call-absent", [""]), ("tool-loop", ["", ""]), ("tool-call-text+wire", [None])],
)
def test_empty_content_where_calls_have_none(case_id: str, contents: list[str | None]) -> None:
    base, case = get(case_id), get(f"{case_id}+empty")
    calls = [message for message in case.request.messages if message.get("tool_calls")]
    before = [message for message in base.request.messages if message.get("tool_calls")]
    expected = [wanted if wanted is not None else old["content"] for wanted, old in zip(contents, before, strict=True)]
    assert [message["content"] for message in calls] == expected
    assert (case.marks, case.form) == (base.marks, base.form)


@pytest.mark.parametrize("name", ["reasoning", "thinking"])
def test_reasoning_under_another_name(name: str) -> None:
    case, base = get(f"reasoning-history+{name}"), get("reasoning-history")
    assert case.marks == base.marks
    for message, before in zip(case.request.messages, base.request.messages, strict=True):
        assert "reasoning_content" not in message
        assert message.get(name) == before.get("reasoning_content")
        assert message["content"] == before["content"]
    assert get(f"reasoning-history+{name}+typed").marks == base.marks


@pytest.mark.parametrize(
    ("case_id", "variables"),
    [
        ("chat-basic+enable_thinking=false", {"enable_thinking": False}),
        ('chat-basic+mode="a=b"', {"mode": "a=b"}),
        ("thinking-on+enable_thinking=false+other=1", {"enable_thinking": False, "other": 1}),
    ],
)
def test_a_variant_can_set_a_template_variable(case_id: str, variables: dict[str, Any]) -> None:
    case = get(case_id)
    assert case.request.variables == variables
    assert case.id == case_id
    assert case.request.messages == get("chat-basic").request.messages


def test_variants_and_cuts_combine() -> None:
    case = get("tool-loop@3+nogen+wire+tomorrow")
    assert case.id == "tool-loop@3+nogen+wire+tomorrow"
    assert len(case.request.messages) == 3
    assert not case.request.add_generation_prompt
    assert (case.form, case.day) == ("wire", 1)


@pytest.mark.parametrize(
    ("case_id", "message", "cure"),
    [
        ("chat-bsic", 'unknown case "chat-bsic"', "did you mean chat-basic?"),
        ("zzzz", 'unknown case "zzzz"', "`templatelint cases` lists them"),
        ("../tools", 'unknown case "../tools"', "did you mean"),
        ("", 'unknown case ""', "`templatelint cases` lists them"),
        ("tool-call+wir", 'unknown case variant "wir"', "did you mean wire? known: nogen"),
        ("tool-call+", 'unknown case variant ""', "known: nogen"),
        ("tool-call+=1", 'unknown case variant "=1"', "known: nogen"),
        ("tool-call+x=y", 'case variant "x=": y is not JSON', 'a text keeps its quotes: x="..."'),
        ("tool-loop@0", 'case "tool-loop" has no cut @0', "it has 7 messages: @N with N from 1 to 7"),
        ("tool-loop@8", 'case "tool-loop" has no cut @8', "it has 7 messages: @N with N from 1 to 7"),
        ("tool-loop@", 'case "tool-loop" has no cut @', "it has 7 messages: @N with N from 1 to 7"),
        ("tool-loop@x", 'case "tool-loop" has no cut @x', "it has 7 messages: @N with N from 1 to 7"),
    ],
)
def test_an_id_that_is_none(case_id: str, message: str, cure: str) -> None:
    with pytest.raises(TemplatelintError) as raised:
        get(case_id)
    assert raised.value.message == message
    assert (raised.value.help or "").startswith(cure)


@pytest.mark.parametrize(
    ("case_id", "expected"),
    [
        ("chat-basic", ("chat-basic",)),
        ("chat-long", ("chat-long@1", "chat-long@3", "chat-long@5", "chat-long@7", "chat-long")),
        ("tool-loop", ("tool-loop@1", "tool-loop@3", "tool-loop@5", "tool-loop")),
        ("tool-loop@5", ("tool-loop@1", "tool-loop@3", "tool-loop@5")),
        ("tool-loop+nogen", ("tool-loop@1+nogen", "tool-loop@3+nogen", "tool-loop@5+nogen", "tool-loop+nogen")),
        ("tool-parallel", ("tool-parallel@1", "tool-parallel")),  # not between the two results
        ("chat-two-users", ("chat-two-users",)),
        ("tool-interrupted", ("tool-interrupted@1", "tool-interrupted")),
        ("system-later", ("system-later@2", "system-later")),
        ("chat-assistant-last", ("chat-assistant-last@1",)),
        ("system-only", ()),
    ],
)
def test_snapshots_are_the_requests_that_a_client_sends(case_id: str, expected: tuple[str, ...]) -> None:
    assert snapshots(case_id) == expected
    assert all(get(cut).id == cut for cut in expected)


def test_the_clock_stands_and_moves_by_days() -> None:
    assert cases.FIXED_NOW.isoformat() == "2026-03-02T09:30:00"
    assert cases.clock(get("chat-basic")) == cases.FIXED_NOW
    assert cases.clock(get("chat-basic+tomorrow")).isoformat() == "2026-03-03T14:37:09"


def test_one_case_costs_one_file() -> None:
    program = (
        "import sys; opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None)\n"
        "from templatelint.cases import get\n"
        "get('chat-basic'), get('tool-call')\n"
        "print([name.replace('\\\\', '/').rsplit('/corpus/')[1] for name in opened if name.endswith('.json')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "['conversations/chat-basic.json', 'conversations/tool-call.json', 'tools.json']"


# ------------------------------------------------------------------------------------------ client forms


def _call(arguments: Any) -> dict[str, Any]:
    return {"id": "call_9k2Lm4XpQ7wR3vB", "type": "function", "function": {"name": "look", "arguments": arguments}}


@pytest.mark.parametrize(
    ("arguments", "native"),
    [
        ('{"a": 1, "b": [null, true]}', {"a": 1, "b": [None, True]}),
        ("{}", {}),
        ({"a": 1}, {"a": 1}),
        ("", ""),
        ('{"a": ', '{"a": '),
        ("[1]", "[1]"),
        ('"x"', '"x"'),
        (None, None),
        ("[" * 100_000, "[" * 100_000),
    ],
    ids=["object", "empty", "already", "no text", "cut", "list", "string", "null", "deep"],
)
def test_native_arguments_are_mappings_where_they_can_be(arguments: Any, native: Any) -> None:
    request = Request(messages=[{"role": "assistant", "content": None, "tool_calls": [_call(arguments)]}])
    (message,) = to_form(request, "native").messages
    assert message == {"role": "assistant", "tool_calls": [_call(native)]}


def test_native_drops_null_members_of_messages_only() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": None}], "name": None, "tool_calls": None}
    assert to_form(Request(messages=[message]), "native").messages == [
        {"role": "user", "content": [{"type": "text", "text": None}]}
    ]


@pytest.mark.parametrize("odd", ["text", [None], ["text"], [{}], [{"function": None}], {"a": 1}])
def test_odd_tool_calls_pass_through(odd: Any) -> None:
    message = {"role": "assistant", "tool_calls": odd}
    assert to_form(Request(messages=[message]), "native").messages == [message]


def test_forms_leave_the_case_as_it_is() -> None:
    request = get("tool-call").request
    before = json.dumps(request.messages)
    assert to_form(request, "wire") is request
    assert to_form(request, "native") != request
    assert json.dumps(request.messages) == before

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from templatelint import cases
from templatelint.cases import all_cases, get, snapshots, to_form
from templatelint.errors import TemplatelintError
from templatelint.model import Request
from templatelint.traffic import read_messages, read_requests, read_tools, request_from_openai

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Case

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "corpus"
TRUTH = ROOT.parent / "shared" / "truth" / "requests.json"
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
    assert not open_ids or case_id == "tool-pending"


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
    assert cases.clock(get("chat-basic+tomorrow")).isoformat() == "2026-03-03T09:30:00"


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


# -------------------------------------------------------------------------------------- request bodies

USER: dict[str, Any] = {"role": "user", "content": "Good morning"}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def test_every_member_of_a_body_finds_its_place() -> None:
    body = {
        "model": "any",
        "messages": [USER],
        "tools": [TOOL],
        "tool_choice": "required",
        "add_generation_prompt": False,
        "continue_final_message": "content",
        "documents": [{"text": "a page"}],
        "chat_template_kwargs": {"enable_thinking": False},
        "allow_media": True,
    }
    assert request_from_openai(body) == Request(
        messages=[USER],
        tools=[TOOL],
        add_generation_prompt=False,
        continue_final_message="content",
        documents=[{"text": "a page"}],
        variables={"enable_thinking": False},
        extra={"model": "any", "tool_choice": "required"},
        media=True,
    )


def test_null_members_count_as_absent() -> None:
    absent = dict.fromkeys(
        ("tools", "documents", "chat_template_kwargs", "add_generation_prompt", "continue_final_message", "allow_media")
    )
    assert request_from_openai({"messages": [USER], **absent}) == Request(messages=[USER])
    assert request_from_openai({"messages": [USER], "tools": []}).tools == []
    assert request_from_openai({"messages": [USER]}, media=True).media


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (3, "the request is a number, not an object"),
        (None, "the request is null, not an object"),
        ([USER], "the request is an array, not an object"),
        ({}, "the request has no messages"),
        ({"messages": None}, "the request has no messages"),
        ({"messages": "hi"}, "the request: messages is a string, not an array"),
        ({"messages": {"role": "user"}}, "the request: messages is an object, not an array"),
        ({"messages": [USER, "hi"]}, "the request: messages[1] is a string, not an object"),
        ({"messages": [USER, {"content": "hi"}]}, "the request: messages[1] has no role"),
        ({"messages": [{"role": 1}]}, "the request: messages[0] has no role"),
        ({"messages": [USER], "tools": {}}, "the request: tools is an object, not an array"),
        ({"messages": [USER], "tools": ["look"]}, "the request: tools[0] is a string, not an object"),
        ({"messages": [USER], "documents": [True]}, "the request: documents[0] is a boolean, not an object"),
        (
            {"messages": [USER], "chat_template_kwargs": []},
            "the request: chat_template_kwargs is an array, not an object",
        ),
        (
            {"messages": [USER], "add_generation_prompt": 1},
            "the request: add_generation_prompt is a number, not a boolean",
        ),
        ({"messages": [USER], "allow_media": "yes"}, "the request: allow_media is a string, not a boolean"),
        (
            {"messages": [USER], "continue_final_message": 1},
            "the request: continue_final_message is a number, not a boolean or the name of a field",
        ),
    ],
)
def test_a_malformed_body_is_named_by_its_place(body: object, message: str) -> None:
    with pytest.raises(TemplatelintError) as raised:
        request_from_openai(body)
    assert raised.value.message == message
    assert raised.value.help


# ------------------------------------------------------------------------------------------ users' files


def _write(path: Path, value: object) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize("value", [[USER], {"messages": [USER]}], ids=["array", "object"])
def test_messages_come_bare_or_in_a_request(tmp_path: Path, value: object) -> None:
    assert read_messages(_write(tmp_path / "m.json", value)) == Request(messages=[USER])


def test_messages_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps([USER]).encode())))
    assert read_messages("-") == Request(messages=[USER])


def test_a_byte_order_mark_and_nan_are_read_as_python_does(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_bytes(b'\xef\xbb\xbf{"messages": [{"role": "user", "content": "hi"}], "temperature": NaN}')
    assert str(read_messages(file).extra) == "{'temperature': nan}"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "{} is empty"),
        (b" \n", "{} is empty"),
        (b'{"messages": [}', "{}:1:15 is not JSON: expecting value"),
        (b'[\n  {"role": "user",\n   "content": "hi"\n', "{}:4:1 is not JSON: expecting ',' delimiter"),
        (b'["a\nb"]', "{}:1:4 is not JSON: invalid control character"),
        (b'["abc', "{}:1:2 is not JSON: unterminated string"),
        (b'[{"role": "user"}] x', "{}:1:20 is not JSON: extra data"),
        (b'[\n"caf\xe9"]', "{}:2 is not UTF-8: byte 0xe9"),
        ("[]".encode("utf-16"), "{}:1 is not UTF-8: byte 0xff"),
        (b"[" * 200_000, "{} is nested too deeply"),
        (b'[{"role": "user", "content": "\\uD83D"}]', "{} holds \\ud83d, half of a surrogate pair"),
        (b"[" + b"1" * 5000 + b"]", "{} holds a number that is too long"),
        (b'"hi"', "{} is a string, not an object"),
        (b'{"messages": [{"role": "user"}, 7]}', "{}: messages[1] is a number, not an object"),
    ],
)
def test_a_bad_file_gets_one_exact_sentence(tmp_path: Path, raw: bytes, message: str) -> None:
    file = tmp_path / "m.json"
    file.write_bytes(raw)
    with pytest.raises(TemplatelintError) as raised:
        read_messages(file)
    assert raised.value.message == message.format(file)
    assert raised.value.help


def test_a_whole_surrogate_pair_is_a_character(tmp_path: Path) -> None:
    file = _write(tmp_path / "m.json", r'[{"role": "user", "content": "\uD83D\uDEA2"}]')
    assert read_messages(file).messages[0]["content"] == "\U0001f6a2"


@pytest.mark.parametrize("read", [read_messages, read_tools, read_requests])
def test_a_file_that_is_not_there(tmp_path: Path, read: Any) -> None:
    missing = tmp_path / "none.json"
    with pytest.raises(TemplatelintError, match=f"^cannot read {re.escape(str(missing))}: no such file or directory$"):
        read(missing)


@pytest.mark.parametrize("read", [read_messages, read_tools])
def test_a_folder_is_no_file(tmp_path: Path, read: Any) -> None:
    with pytest.raises(TemplatelintError, match=r"^cannot read .*"):
        read(tmp_path)


OPENAI_TOOL = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}},
}
SCHEMA = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "value",
    [
        [OPENAI_TOOL],
        OPENAI_TOOL,
        {"messages": [], "tools": [OPENAI_TOOL]},
        [{"function": OPENAI_TOOL["function"]}],
        [{"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA}],
        [{"name": "look", "description": "Looks.", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}],
        [{"type": "custom", "name": "look", "description": "Looks.", "input_schema": SCHEMA}],
        {
            "tools": [
                {"name": "look", "title": "Look", "description": "Looks.", "inputSchema": SCHEMA, "annotations": {}}
            ]
        },
        {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {"tools": [{"name": "look", "description": "Looks.", "inputSchema": SCHEMA}]},
        },
    ],
    ids=["openai", "one", "request", "untyped", "responses", "anthropic", "custom", "mcp", "mcp envelope"],
)
def test_tools_of_every_form_become_openai_tools(tmp_path: Path, value: object) -> None:
    assert read_tools(_write(tmp_path / "t.json", value)) == [OPENAI_TOOL]


@pytest.mark.parametrize("tool", [{"name": "look"}, {"name": "look", "description": None, "inputSchema": None}])
def test_what_a_tool_leaves_out_stays_out(tmp_path: Path, tool: object) -> None:
    assert read_tools(_write(tmp_path / "t.json", [tool])) == [{"type": "function", "function": {"name": "look"}}]


def test_openai_tools_are_kept_as_they_are(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "look", "strict": True, "extra": 1}, "more": None}
    assert read_tools(_write(tmp_path / "t.json", [tool])) == [tool]
    strict = {"type": "function", "name": "look", "strict": True}
    assert read_tools(_write(tmp_path / "t.json", [strict]))[0]["function"] == {"name": "look", "strict": True}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "{} holds no tool"),
        ({"tools": []}, "{} holds no tool"),
        ({"tools": "look"}, "{}: tools is a string, not an array of tools"),
        ({"result": {"tools": None}}, "{}: result.tools is null, not an array of tools"),
        ("3", "{} is a number, not an array of tools"),
        ([OPENAI_TOOL, "look"], "{}: [1] is a string, not an object"),
        ([{"function": "look"}], "{}: [0].function is a string, not an object"),
        ([{"function": {}}], "{}: [0].function has no name"),
        ({"tools": [{"inputSchema": SCHEMA}]}, "{}: tools[0] has no name"),
        ([{"name": "look", "input_schema": "x"}], "{}: [0].input_schema is a string, not a JSON schema object"),
        (
            [{"function": {"name": "look", "parameters": []}}],
            "{}: [0].function.parameters is an array, not a JSON schema object",
        ),
        (
            [{"type": "bash_20250124", "name": "bash"}],
            '{}: [0] is of type "bash_20250124", which has no schema to show to a model',
        ),
        ({"hello": 1}, "{} has no name"),
    ],
)
def test_what_is_no_tool_is_named_by_its_place(tmp_path: Path, value: object, message: str) -> None:
    file = _write(tmp_path / "t.json", value)
    with pytest.raises(TemplatelintError) as raised:
        read_tools(file)
    assert raised.value.message == message.format(file)
    assert raised.value.help


def test_a_folder_gives_its_bodies_by_stem(tmp_path: Path) -> None:
    for name in ("b.json", "a-b.json", "a.json", "._a.json", "notes.txt"):
        _write(tmp_path / name, {"id": "ignored", "messages": [USER]})
    (tmp_path / "folder.json").mkdir()
    requests = read_requests(tmp_path)
    assert [name for name, _ in requests] == ["a", "a-b", "b"]
    assert all(request == Request(messages=[USER]) for _, request in requests)


@pytest.mark.parametrize("wrap", [lambda bodies: bodies, lambda bodies: {"fixtures": bodies}], ids=["list", "fixtures"])
def test_a_list_gives_its_bodies_by_id_in_its_order(tmp_path: Path, wrap: Any) -> None:
    bodies = [
        {"id": "second", "messages": [USER], "desc": "x"},
        {"id": "first", "messages": [USER], "allow_media": True},
    ]
    assert read_requests(_write(tmp_path / "all.json", wrap(bodies))) == [
        ("second", Request(messages=[USER], extra={"desc": "x"})),
        ("first", Request(messages=[USER], media=True)),
    ]


def test_a_file_with_one_body_is_named_by_its_stem(tmp_path: Path) -> None:
    assert read_requests(_write(tmp_path / "mine.json", {"messages": [USER]})) == [("mine", Request(messages=[USER]))]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "{} holds no request"),
        ({"fixtures": []}, "{} holds no request"),
        ({"fixtures": {"a": 1}}, "{} has no messages"),
        ({"fixtures": 3}, "{} is a number, not an array of request bodies"),
        ([{"messages": [USER]}], "{}: [0] has no id"),
        ([{"id": "", "messages": [USER]}], "{}: [0] has no id"),
        ([{"id": 3, "messages": [USER]}], "{}: [0] has no id"),
        ({"fixtures": [7]}, "{}: fixtures[0] is a number, not an object"),
        (
            [{"id": "a", "messages": [USER]}, {"id": "b", "messages": [USER]}, {"id": "a", "messages": [USER]}],
            '{}: [2] has the id "a" of [0]',
        ),
        ([{"id": "a", "messages": [USER]}, {"id": "b"}], "{}: [1] has no messages"),
        ("{", "{}:1:2 is not JSON: expecting property name enclosed in double quotes"),
    ],
)
def test_a_bad_collection_is_named_by_its_place(tmp_path: Path, value: object, message: str) -> None:
    file = _write(tmp_path / "all.json", value)
    with pytest.raises(TemplatelintError) as raised:
        read_requests(file)
    assert raised.value.message == message.format(file)
    assert raised.value.help


def test_a_folder_without_bodies(tmp_path: Path) -> None:
    _write(tmp_path / "notes.txt", "hi")
    with pytest.raises(TemplatelintError, match=r"holds no \*\.json file$"):
        read_requests(tmp_path)


def test_a_bad_body_in_a_folder_is_named_by_its_file(tmp_path: Path) -> None:
    _write(tmp_path / "a.json", {"messages": [USER]})
    bad = _write(tmp_path / "b.json", [{"messages": [USER]}])
    with pytest.raises(TemplatelintError) as raised:
        read_requests(tmp_path)
    assert raised.value.message == f"{bad} is an array, not an object"


@pytest.mark.skipif(not TRUTH.is_file(), reason="the handed requests are not beside this checkout")
def test_the_handed_requests_are_read() -> None:
    requests = dict(read_requests(TRUTH))
    assert len(requests) == 32
    assert requests["image_part"].media
    assert requests["tool_required"].extra["tool_choice"] == "required"
    assert not requests["user_nogen"].add_generation_prompt

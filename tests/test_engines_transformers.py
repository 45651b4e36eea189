from __future__ import annotations

import copy
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from reference import DATA, every, real_templates, truth

from templatelint.bounded import run
from templatelint.engines import get
from templatelint.model import Model, Observation, Origin, RenderError, Request, Template, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOW = datetime.fromisoformat("2026-11-29T13:05:09")
TOKENS = Tokenizer({"bos_token": "<s>", "eos_token": "</s>"})
REQUESTS = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted((DATA / "requests").glob("*.json"))}

Body = dict[str, Any]


def _request(body: Body) -> Request:
    """The body as it is, valid or not."""
    return Request(
        messages=body["messages"],
        tools=body.get("tools"),
        add_generation_prompt=body.get("add_generation_prompt", True),
        continue_final_message=body.get("continue_final_message", False),
        documents=body.get("documents"),
        variables=body.get("chat_template_kwargs", {}),
    )


def _template(source: str, name: str = "default") -> Template:
    return Template(name, source, Origin("chat_template.jinja", source))


def _observe(source: str, body: Body) -> Observation:
    loaded = get("transformers").load(_template(source), TOKENS)
    return Observation(error=loaded) if isinstance(loaded, RenderError) else loaded.render(_request(body), NOW)


@pytest.fixture(scope="module")
def real() -> Iterator[Callable[[str | dict[str, str] | None, Body], str]]:
    """`apply_chat_template` of the real transformers, its clock at NOW."""
    from tokenizers import Tokenizer as RawTokenizer
    from tokenizers import models
    from transformers import PreTrainedTokenizerFast
    from transformers.utils import chat_template_utils

    words = RawTokenizer(models.WordLevel({"<unk>": 0, "<s>": 1, "</s>": 2}, unk_token="<unk>"))  # noqa: S106 (no secret)
    make_tokenizer: Any = PreTrainedTokenizerFast
    tokenizer = make_tokenizer(tokenizer_object=words, bos_token="<s>", eos_token="</s>")  # noqa: S106 (the same)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            del tz
            return NOW

    def apply(template: str | dict[str, str] | None, body: Body) -> str:
        options: Body = {name: body[name] for name in ("documents", "continue_final_message") if name in body}
        if isinstance(template, str):
            options["chat_template"] = template
        else:
            tokenizer.chat_template = template
        prompt = tokenizer.apply_chat_template(
            body["messages"],
            tools=body.get("tools"),
            add_generation_prompt=body.get("add_generation_prompt", True),
            tokenize=False,
            **options,
            **body.get("chat_template_kwargs", {}),
        )
        return str(prompt)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat_template_utils, "datetime", Clock)
        yield apply


def _outcome(real: Any, template: Any, body: Body) -> str | Exception:
    try:
        return str(real(template, body))
    except Exception as error:  # noqa: BLE001 (whatever it raises: that it does is the outcome)
        return error


def _assert_same(real: Any, source: str, body: Body, ours: Observation) -> None:
    expected = _outcome(real, source, body)
    if isinstance(expected, str):
        assert ours.prompt == expected
        return
    assert ours.error is not None, (ours.prompt, expected)
    if ours.error.kind == "refused":
        assert ours.error.message == str(expected)
    if ours.error.kind in {"refused", "syntax"}:
        assert ours.error.column


@pytest.mark.parametrize("name", every(6))
def test_real_templates_give_transformers_prompt_or_fail_too(real: Any, name: str) -> None:
    source = real_templates()[name]
    loaded = get("transformers").load(_template(source), TOKENS)
    assert not isinstance(loaded, RenderError)
    for body in REQUESTS.values():
        _assert_same(real, source, body, loaded.render(_request(body), NOW))


def test_requests_in_wire_form_give_transformers_prompt_or_fail_too(real: Any) -> None:
    bodies = truth("requests.json")["fixtures"]
    for name in every(12):
        source = real_templates()[name]
        loaded = get("transformers").load(_template(source), TOKENS)
        assert not isinstance(loaded, RenderError)
        for body in bodies:
            _assert_same(real, source, body, loaded.render(_request(body), NOW))


# ------------------------------------------------------------------------- what single templates can show

DUMP = (
    "{% for m in messages %}{{ m|tojson }}\n{% endfor %}{{ tools|tojson }}{{ documents|tojson }}"
    "{{ add_generation_prompt }}{{ bos_token }}{{ eos_token }}{{ pad_token is defined }}{{ padding is defined }}"
    "{{ enable_thinking }}{{ strftime_now('%d %B %Y %H:%M') }}"
)
TEMPLATES = {
    "everything that it sees": DUMP,
    "text as it is": "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}",
    "text trimmed": "{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}<end>{% endfor %}",
    "text upper-cased": "{% for m in messages %}{{ m.content|upper }}{% endfor %}",
    "last message twice": "{{ messages[-1].content }}|{{ messages[-1].content }}|{{ messages|length }}",
    "reasoning_content": "{% for m in messages %}{{ m.reasoning_content }}|{{ m.content }}{% endfor %}",
    "thinking": "{% for m in messages %}{{ m.thinking }}|{{ m.content }}{% endfor %}",
    "reasoning": "{% for m in messages %}{{ m.reasoning }}|{{ m.content }}{% endfor %}",
    "parts": "{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}",
    "draft": "{{ messages[-1].draft }}",
    "changes its data": "{% set _ = messages.append(1) %}",
    "does not parse": "{% if %}",
}


@pytest.mark.parametrize("source", TEMPLATES.values(), ids=TEMPLATES)
def test_small_templates_give_transformers_prompt_or_fail_too(real: Any, source: str) -> None:
    for body in REQUESTS.values():
        before = copy.deepcopy(body)
        _assert_same(real, source, body, _observe(source, body))
        assert repr(body) == repr(before)  # requests are never changed in place


HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


VARIABLES: list[Body] = [
    *({name: value} for name in ("padding", "truncation", "max_length", "return_tensors") for value in (True, None)),
    *({name: True} for name in ("tokenizer_kwargs", "return_dict")),
    *({name: value} for name in ("sanitize_control_tokens", "return_assistant_tokens_mask") for value in (True, False)),
    *(
        {name: []}
        for name in ("self", "conversation", "conversations", "messages", "tools", "chat_template", "tokenize")
    ),
    *({"documents": None}, {"documents": []}, {"documents": True}, {"documents": "text"}),
    *({"continue_final_message": continued} for continued in (None, False, True, "content")),
    *({"add_generation_prompt": False}, {"strftime_now": 1}, {"raise_exception": 1}, {"eos_token": None}, {"a-b": 1}),
    {"range": 1, "dict": 2, "namespace": 3, "loop": 4, "caller": 5, "context": 6, "environment": 7, "kwargs": 8},
]


@pytest.mark.parametrize("variables", VARIABLES, ids=str)
def test_variables_named_like_arguments_do_what_they_do_in_transformers(real: Any, variables: Body) -> None:
    source = DUMP.replace("{{ strftime_now('%d %B %Y %H:%M') }}", "{{ range }}{{ loop }}{{ dict }}{{ kwargs }}")
    source = source.replace("{{ range }}", "{{ range if range is number }}{{ return_dict is defined }}")
    source = source.replace("{{ dict }}", "{{ dict if dict is number }}")
    body = {**HELLO, "chat_template_kwargs": variables}
    _assert_same(real, source, body, _observe(source, body))


@pytest.mark.parametrize(
    "content", [{"a": 1}, 7, True, [], ["text"], ["tex", {"text": "x"}], [{"text": 1}], [{}, 7], [None]]
)
def test_only_text_is_continued(real: Any, content: Any) -> None:
    messages = [*HELLO["messages"], {"role": "assistant", "content": content}]
    body = {"messages": messages, "add_generation_prompt": False, "continue_final_message": True}
    source = "{{ messages[-1].content }}"
    _assert_same(real, source, body, _observe(source, body))


ERRORS: dict[str, tuple[str, Body, str]] = {
    "no messages": ("{{ messages }}", {"messages": []}, "the conversation is empty"),
    "a message of text": ("{{ messages }}", {"messages": ["Hello"]}, "message 1 is no mapping but str"),
    "a tool of text": ("{{ messages }}", {**HELLO, "tools": ["ping"]}, "tool 1 is no mapping but str"),
    "a document of text": ("{{ messages }}", {**HELLO, "documents": ["Cows"]}, "document 1 is no mapping but str"),
    "documents that are no list": (
        "{{ messages }}",
        {**HELLO, "chat_template_kwargs": {"documents": 1}},
        "documents are no list but int",
    ),
    "a variable taken": (
        "{{ messages }}",
        {**HELLO, "chat_template_kwargs": {"tools": []}},
        "the variable tools is an argument that the call already has",
    ),
    "documents twice": (
        "{{ messages }}",
        {**HELLO, "documents": [], "chat_template_kwargs": {"documents": []}},
        "documents is given twice",
    ),
    "continue and generate": (
        "{{ messages }}",
        {**HELLO, "continue_final_message": True},
        "continue_final_message and add_generation_prompt exclude each other",
    ),
    "nothing to continue": (
        "{{ messages[-1].content }}",
        {"messages": [{"role": "assistant"}], "continue_final_message": True, "add_generation_prompt": False},
        "the last message has no content to continue",
    ),
    "a field that is not read": (
        "{{ messages[-1].content }}",
        {**HELLO, "continue_final_message": "role", "add_generation_prompt": False},
        "the template does not read role",
    ),
}


@pytest.mark.parametrize(("source", "body", "message"), ERRORS.values(), ids=ERRORS)
def test_what_fails_before_rendering_is_an_invalid_request(source: str, body: Body, message: str, real: Any) -> None:
    assert _observe(source, body) == Observation(error=RenderError("invalid-request", message))
    assert isinstance(_outcome(real, source, body), ValueError | TypeError)


def test_a_continued_message_that_is_altered_fails_after_rendering(real: Any) -> None:
    body = REQUESTS["continue-content"]
    source = "{{ messages[-1].content|upper }}"
    error = RenderError("raised", "the message to continue is altered in the prompt")
    assert _observe(source, body) == Observation(error=error)
    assert isinstance(_outcome(real, source, body), ValueError)


def test_a_template_that_does_not_compile_does_not_load() -> None:
    error = RenderError("syntax", "Expected an expression, got 'end of statement block'", 2, 7)
    assert get("transformers").load(_template("x\n{% if %}{% endif %}"), TOKENS) == error


def test_special_tokens_that_are_not_set_are_undefined() -> None:
    loaded = get("transformers").load(_template("{{ bos_token is defined }}"), Tokenizer())
    assert not isinstance(loaded, RenderError)
    assert loaded.render(_request(HELLO), NOW) == Observation("False")


# ------------------------------------------------------------------------------------- choice of template

CHOICES = [
    ({"default": "D"}, None),
    ({"default": "D", "tool_use": "T"}, None),
    ({"default": "D", "tool_use": "T"}, []),
    ({"tool_use": "T", "default": "D"}, [{"type": "function"}]),
    ({"default": "D", "rag": "R"}, [{"type": "function"}]),
    ({"tool_use": "T"}, [{"type": "function"}]),
    ({"tool_use": "T"}, None),
    ({"rag": "R", "other": "O"}, None),
]


@pytest.mark.parametrize(("templates", "tools"), CHOICES, ids=str)
def test_the_choice_among_named_templates_is_transformers(
    real: Any, templates: dict[str, str], tools: list[Body] | None
) -> None:
    body = {**HELLO, "tools": tools}
    model = Model("m", "folder", tuple(_template(source, name) for name, source in templates.items()))
    chosen = get("transformers").choose(model, _request(body))
    expected = _outcome(real, templates, body)
    if isinstance(expected, str):
        assert isinstance(chosen, Template)
        assert chosen.source == expected
    else:
        assert isinstance(chosen, RenderError)
        assert chosen.kind == "invalid-request"


def test_without_a_template_there_is_nothing_to_choose(real: Any) -> None:
    error = RenderError("invalid-request", "the tokenizer has no chat template")
    assert get("transformers").choose(Model("m", "folder", ()), _request(HELLO)) == error
    assert isinstance(_outcome(real, None, HELLO), ValueError)


def test_a_picked_template_serves_every_request() -> None:
    rag = _template("R", "rag")
    model = Model("m", "folder", (rag,), picked=True)
    assert get("transformers").choose(model, _request({**HELLO, "tools": []})) is rag


# -------------------------------------------------------------------------------------------- all together


def _cells(name: str, source: str, bodies: list[Body]) -> Iterator[Any]:
    """In the child: load the template once, render every request."""
    loaded = get(name).load(_template(source), TOKENS)
    for body in bodies:
        observation = (
            Observation(error=loaded) if isinstance(loaded, RenderError) else loaded.render(_request(body), NOW)
        )
        error = observation.error
        yield observation.prompt, error and (error.kind, error.message, error.line, error.column)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_gives_what_this_process_gives(method: Any) -> None:
    bodies = [REQUESTS[name] for name in ("unicode", "no-messages", "not-numbers", "continue-content", "system-later")]
    source = "{{ messages|tojson }}{% if messages|length > 3 %}\n{{ raise_exception('too many') }}{% endif %}"
    items, stop = run(_cells, "transformers", source, bodies, method=method)
    expected = [_observe(source, body) for body in bodies]
    assert stop is None
    assert [prompt for prompt, _ in items] == [observation.prompt for observation in expected]
    assert [error and RenderError(*error) for _, error in items] == [observation.error for observation in expected]
    assert items[-1][1] == ["refused", "too many", 2, 4]

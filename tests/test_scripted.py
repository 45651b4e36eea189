from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from gguf import GGUFReader
from reference import real_templates
from scripted_server import model_of, running

from templatelint import dialects, scripted
from templatelint.dialects.reply import ToolCall
from templatelint.errors import TemplatelintError
from templatelint.gguf_writing import USER_DEFINED
from templatelint.scripted import Scripted, scripts
from templatelint.scripted.pieces import Cutter
from templatelint.sources import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from program import InProcess

needs_package = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs the package xllamacpp")

_CORPUS = Path(__file__).parents[1] / "corpus" / "templates"
_FAMILIES = sorted(entry.name for entry in _CORPUS.iterdir() if entry.is_dir())
_DIALECTS = {
    "chatml-tools": "hermes",
    "gemma-style": "hermes",
    "llama3-style": "llama3-json",
    "mistral-style": "mistral",
    "thinking": "hermes",
}
# Calls as tags, behind thoughts that the prompt opens, in channels, with bare names of arguments.
_REAL = {
    "Qwen3-Coder.jinja": "qwen3-coder",
    "deepseek-ai-DeepSeek-V3.1.jinja": "deepseek-v3.1",
    "LLMWildling-gpt-oss-220a20b.jinja": "harmony",
    "MiniMax-M2.jinja": "minimax-m2",
    "google-gemma-4-31B-it.jinja": "gemma4",
}
# No more than a prompt: neither calls nor marks of thoughts.
_BARE = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}<|assistant|>"
_OWN: dict[str, str | Sequence[ToolCall]] = {
    "mine": "Goodbye, said the user's own script.",
    "silent": "",
    "sum": [ToolCall("add", {"a": 1, "b": [2.5, None], "exact": True})],
}
_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}, "kind": {"enum": ["town", "village"]}},
    "required": ["city", "people", "kind"],
}


@dataclass
class Served:
    """A scripted model behind a real llama-server."""

    made: Scripted
    client: httpx2.Client

    def ask(self, *messages: str | Mapping[str, Any], **members: Any) -> dict[str, Any]:
        """The first choice of a reply that is not streamed."""
        reply = self.client.post("/v1/chat/completions", json=_body(*messages, **members))
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()["choices"][0]
        return found

    def streamed(self, *messages: str | Mapping[str, Any], **members: Any) -> tuple[dict[str, Any], list[str]]:
        """The same put together from a stream; and the pieces of its content and arguments."""
        content, calls, pieces, reason = "", dict[int, dict[str, str]](), list[str](), None
        with self.client.stream("POST", "/v1/chat/completions", json=_body(*messages, stream=True, **members)) as reply:
            assert reply.status_code == 200
            for line in reply.iter_lines():
                if not line.startswith("data: {"):
                    continue
                for choice in json.loads(line[6:])["choices"]:
                    delta, reason = choice["delta"], choice["finish_reason"] or reason
                    content += delta.get("content") or ""
                    pieces += [delta["content"]] if delta.get("content") else []
                    for part in delta.get("tool_calls", ()):
                        call = calls.setdefault(part["index"], {"name": "", "arguments": ""})
                        for key, text in part["function"].items():
                            call[key] += text
                            pieces += [text] if key == "arguments" else []
        shown = [{"function": calls[index]} for index in sorted(calls)]
        return {"finish_reason": reason, "message": {"content": content, "tool_calls": shown}}, pieces


def _client(url: str) -> httpx2.Client:
    # the server now and then closes a connection behind a stream that it said to keep
    return httpx2.Client(base_url=url, timeout=30, headers={"Connection": "close"})


def _body(*messages: str | Mapping[str, Any], **members: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": each} if isinstance(each, str) else each for each in messages]
    return {"messages": said, "max_tokens": 300, **members}


def _calls(choice: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    found = [call["function"] for call in choice["message"].get("tool_calls") or []]
    return tuple(ToolCall(call["name"], json.loads(call["arguments"])) for call in found)


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[str], Served]]:
    """Family of the corpus, or file of a real template → its server; each is started once."""
    with ExitStack() as stack:
        started: dict[str, Served] = {}

        def get(name: str) -> Served:
            if name not in started:
                known = resolve(str(_CORPUS / name)) if name in _FAMILIES else model_of(_source(name))
                made = scripted.script(known, further=_OWN if name in _FAMILIES else {})
                url = stack.enter_context(running(made.gguf))
                started[name] = Served(made, stack.enter_context(_client(url)))
            return started[name]

        yield get


def _source(name: str) -> str:
    return _BARE if name == "bare" else real_templates()[name]


# --------------------------------------------------------------------------------------- behind a real server


@needs_package
@pytest.mark.parametrize("family", _FAMILIES)
def test_scripts_are_said_word_for_word(family: str, serve: Callable[[str], Served]) -> None:
    served = serve(family)
    assert served.made.dialect == _DIALECTS[family]
    texts = {name: text for name, text in served.made.texts.items() if name not in {"endless", scripts.THINK}}
    for name, text in texts.items():
        if name in scripts.CALLS or name == "sum":
            continue
        for choice in (served.ask(f"Say @@{name}, please"), served.streamed(f"@@{name}")[0]):
            assert (name, choice["message"]["content"], choice["finish_reason"]) == (name, text, "stop")


@needs_package
@pytest.mark.parametrize("name", [*_FAMILIES, *_REAL])
def test_calls_come_back_as_sent(name: str, serve: Callable[[str], Served]) -> None:
    served = serve(name)
    assert served.made.dialect == (_DIALECTS | _REAL)[name]
    tools = {"tools": list(scripts.TOOLS), "parallel_tool_calls": True}
    unread = "parallel" if name in {"LLMWildling-gpt-oss-220a20b.jinja", "MiniMax-M2.jinja"} else ""
    assert (unread in " ".join(served.made.notes)) if unread else not served.made.notes
    for script, calls in scripts.CALLS.items():
        if script == unread:
            continue
        plain, (streamed, pieces) = served.ask(f"@@{script}", **tools), served.streamed(f"@@{script}", **tools)
        for choice in (plain, streamed):
            assert (script, _calls(choice), choice["message"]["content"]) == (script, calls, "")
            assert choice["finish_reason"] == "tool_calls"
        assert len(pieces) > 4 or script != "write"


@needs_package
@pytest.mark.parametrize("name", [*_FAMILIES, *_REAL])
def test_a_call_that_is_forced(name: str, serve: Callable[[str], Served]) -> None:
    choice = serve(name).ask("Hi", tools=list(scripts.TOOLS), tool_choice="required")
    # a grammar of channels wants some marks otherwise than the template has them
    city = "" if name == "LLMWildling-gpt-oss-220a20b.jinja" else "Paris"
    assert _calls(choice) == (ToolCall("get_weather", {"city": city}),)
    assert choice["finish_reason"] == "tool_calls"
    assert (choice["message"]["content"] or "").strip() in {"", scripts.PLAIN}


@needs_package
@pytest.mark.parametrize("name", [*_FAMILIES, *_REAL])
def test_another_tool_than_ours_that_is_forced(name: str, serve: Callable[[str], Served]) -> None:
    properties = {"day": {"type": "string"}, "times": {"type": "integer"}}
    parameters = {"type": "object", "properties": properties, "required": ["day"]}
    tool = {"type": "function", "function": {"name": "open_door", "description": "", "parameters": parameters}}
    choice = serve(name).ask("Hi @@long", tools=[tool], tool_choice="required", max_tokens=900)
    assert [call.name for call in _calls(choice)] == ["open_door"]
    # nothing makes a model of that dialect write an argument that is required
    assert ("day" in _calls(choice)[0].arguments) == (name != "google-gemma-4-31B-it.jinja")


@needs_package
@pytest.mark.parametrize("name", ["chatml-tools", "thinking", "mistral-style", "Qwen3-Coder.jinja"])
def test_the_last_selector_wins_and_a_result_is_answered(name: str, serve: Callable[[str], Served]) -> None:
    served = serve(name)
    assert served.made.marker
    ask = partial(served.ask, tools=list(scripts.TOOLS))
    called = ask("What is the weather? @@tool")["message"]
    result = {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "21"}
    loop = ["What is the weather? @@tool", called, result]
    answered = ask(*loop)["message"]
    assert answered["content"].strip() == scripts.ANSWER
    further = [*loop, answered, "And then? @@stop"]
    assert ask(*further)["message"]["content"].strip() == scripts.STOP
    again = ask(*further, {"role": "assistant", "content": scripts.STOP}, "Once more, @@write")
    assert _calls(again) == scripts.CALLS["write"]
    assert ask("@@plain, no, here is what I would like to hear: @@stop")["message"]["content"].strip() == scripts.STOP
    assert ask("@@stop @@plain" + " padding" * 200)["message"]["content"].strip() == scripts.PLAIN


@needs_package
def test_thoughts(serve: Callable[[str], Served]) -> None:
    for name in ("thinking", "deepseek-ai-DeepSeek-V3.1.jinja", "LLMWildling-gpt-oss-220a20b.jinja"):
        message = serve(name).ask("@@think")["message"]
        assert message["content"].strip() == scripts.PLAIN
        assert message["reasoning_content"].strip() == scripts.THOUGHTS
    assert scripts.THINK not in serve("chatml-tools").made.texts
    # the template has the marks, and the server does not know them
    left = serve("NousResearch-Hermes-4-14B.jinja").ask("@@think")["message"]["content"]
    assert left == f"<think>\n{scripts.THOUGHTS}\n</think>\n\n{scripts.PLAIN}"


@needs_package
@pytest.mark.parametrize(
    "name", ["deepseek-ai-DeepSeek-V3.1.jinja", "CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja"]
)
def test_a_result_is_answered_where_prompts_open_no_thoughts_behind_it(
    name: str, serve: Callable[[str], Served]
) -> None:
    ask = partial(serve(name).ask, tools=list(scripts.TOOLS))
    called = ask("@@tool")["message"]
    result = {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "21"}
    assert ask("@@tool", called, result)["message"]["content"] == scripts.ANSWER


@needs_package
def test_ordinary_messages_are_no_results(serve: Callable[[str], Served]) -> None:
    for name in ("LLMWildling-gpt-oss-220a20b.jinja", "chatml-tools"):
        message = serve(name).ask('"Hi" and', {"role": "assistant", "content": ""}, '"Hi" [again]')["message"]
        assert message["content"].strip() == scripts.PLAIN


@needs_package
def test_answers_that_a_grammar_forces_are_short_and_the_same(serve: Callable[[str], Served]) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": _SCHEMA}}
    for name in (*_FAMILIES, "google-gemma-4-31B-it.jinja", "MiniMax-M2.jinja"):
        for text in ("Hi", "@@tool"):
            said = serve(name).ask(text, response_format=form)["message"]["content"]
            assert (name, json.loads(said)) == (name, {"city": "", "people": 0, "kind": "town"})


@needs_package
def test_what_never_ends(serve: Callable[[str], Served]) -> None:
    choice = serve("chatml-tools").ask("@@endless", max_tokens=64)
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"].startswith(scripts.ENDLESS * 2)
    insisted = serve("chatml-tools").ask("@@prose", tools=list(scripts.TOOLS), tool_choice="required", max_tokens=90)
    assert insisted["finish_reason"] == "length"
    assert insisted["message"]["content"].startswith(scripts.PROSE + scripts.PROSE[:40])


@needs_package
def test_characters_that_pieces_split_are_put_together(serve: Callable[[str], Served]) -> None:
    pieces = Cutter([]).cut("unicode", scripts.UNICODE)
    assert any(piece.decode("utf-8", "replace").endswith("\ufffd") for piece in pieces)
    _, shown = serve("chatml-tools").streamed("@@unicode")
    assert "".join(shown) == scripts.UNICODE
    assert len(shown) > 12


@needs_package
def test_a_prompt_larger_than_the_context_is_refused(serve: Callable[[str], Served]) -> None:
    reply = serve("chatml-tools").client.post("/v1/chat/completions", json=_body("x" * 9000))
    assert (reply.status_code, reply.json()["error"]["type"]) == (400, "exceed_context_size_error")


@needs_package
def test_scripts_of_the_user(serve: Callable[[str], Served]) -> None:
    add = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    for family in _FAMILIES:
        assert _calls(serve(family).ask("@@sum", tools=[add])) == tuple(_OWN["sum"])


@needs_package
def test_a_model_of_the_wrong_dialect_leaks() -> None:
    made = scripted.script(resolve(str(_CORPUS / "chatml-tools")), dialect="functionary-v3.1")
    with running(made.gguf) as url, _client(url) as client:
        choice = Served(made, client).ask("@@tool", tools=list(scripts.TOOLS))
        assert _calls(choice) == ()
        assert choice["message"]["content"] == dialects.get("functionary-v3.1").write(scripts.CALLS["tool"])
        about = Served(made, client).ask("@@about")["message"]["content"]
        assert about == f"{scripts.HANDSHAKE} functionary-v3.1"


@needs_package
@pytest.mark.parametrize("dialect", ["qwen3-coder", "mimo", "falcon"])
def test_a_model_of_a_dialect_that_starts_calls_alike_is_held_to_the_right_one(dialect: str) -> None:
    made = scripted.script(resolve(str(_CORPUS / "chatml-tools")), dialect=dialect)
    with running(made.gguf) as url, _client(url) as client:
        for script in scripts.CALLS:
            choice = Served(made, client).ask(f"@@{script}", tools=list(scripts.TOOLS))
            # neither an error nor call upon call
            assert ([call.name for call in _calls(choice)], choice["finish_reason"]) == (["get_weather"], "tool_calls")


@needs_package
def test_a_template_without_calls(serve: Callable[[str], Served]) -> None:
    served = serve("bare")
    assert served.made.dialect == scripts.NO_DIALECT
    assert served.made.notes == ("the template writes no calls: scripts of calls say a sentence instead",)
    choice = served.ask("@@tool", tools=list(scripts.TOOLS))
    assert (_calls(choice), choice["message"]["content"]) == ((), served.made.texts["tool"])


# ------------------------------------------------------------------------------------------------- the file


def test_the_file_is_small_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "scripted.gguf"
    path.write_bytes(scripted.write(resolve(str(_CORPUS / "thinking"))))
    assert path.stat().st_size < 3 << 20
    reader = GGUFReader(path)
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    assert len(set(tokens)) == len(tokens)
    shapes = {tensor.name: tuple(tensor.shape) for tensor in reader.tensors}
    assert shapes["token_embd.weight"] == shapes["output.weight"] == (192, len(tokens))
    assert reader.fields["tokenizer.chat_template"].contents() == resolve(str(_CORPUS / "thinking")).templates[0].source


@pytest.mark.parametrize("name", ["deepseek-ai-DeepSeek-V3.1.jinja", "GLM-4.7-Flash.jinja", "MiniMax-M2.jinja"])
def test_the_end_of_thoughts_that_prompts_open_is_one_token(name: str, tmp_path: Path) -> None:
    path = tmp_path / "scripted.gguf"
    path.write_bytes(scripted.write(model_of(_source(name))))
    reader = GGUFReader(path)
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    types = reader.fields["tokenizer.ggml.token_type"].contents()
    assert types[tokens.index("</think>")] == USER_DEFINED


@needs_package
def test_calls_that_are_held_to_one_behind_thoughts_that_the_prompt_opens(serve: Callable[[str], Served]) -> None:
    members = {"tools": list(scripts.TOOLS), "parallel_tool_calls": False}
    choice = serve("deepseek-ai-DeepSeek-V3.1.jinja").ask("@@parallel", **members)
    assert _calls(choice) == scripts.CALLS["tool"]


@pytest.mark.parametrize(
    ("name", "marker", "unwritten"),
    [
        ("meta-llama-Llama-3.1-8B-Instruct.jinja", "<|start_header_id|>ipython<|end_header_id|>", ("parallel",)),
        ("openai-gpt-oss-120b.jinja", "<|channel|>commentary<|message|>", ("parallel",)),
        ("GigaChat3-10B-A1.8B.jinja", "<|message_sep|>\n\nfunction result<|role_sep|>", ("parallel",)),
        ("CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja", "<|SYSTEM_TOKEN|><|START_TOOL_RESULT|>", ()),
        ("moonshotai-Kimi-K2.6.jinja", "<|im_middle|>## Return of", ()),
        ("Qwen-Qwen2.5-7B-Instruct.jinja", "<tool_response>", ()),
        # it prints no calls, and llama.cpp reads them
        ("LFM2-8B-A1B.jinja", "<|tool_response_start|>", ()),
    ],
)
def test_what_tells_a_result_and_which_calls_a_template_does_not_write(
    name: str, marker: str, unwritten: tuple[str, ...]
) -> None:
    made = scripted.script(model_of(_source(name)))
    assert (made.marker, made.unwritten) == (marker, unwritten)
    assert made.dialect != scripts.NO_DIALECT


def test_results_that_nothing_tells_are_noted() -> None:
    source = "{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% endfor %}"
    made = scripted.script(model_of(source + "<|assistant|>"), dialect="hermes")
    assert (made.marker, made.notes) == (
        "",
        ("nothing in prompts tells the result of a tool: one that is to be answered has to hold @@answer",),
    )


def test_two_runs_give_the_same_file() -> None:
    model = resolve(str(_CORPUS / "mistral-style"))
    assert scripted.write(model) == scripted.write(model)


@pytest.mark.parametrize("dialect", ["hermes", "functionary-v3.1", "pythonic", "harmony", "llama3-json"])
def test_every_dialect_can_be_the_wrong_one(dialect: str) -> None:
    made = scripted.script(model_of(_BARE), dialect=dialect)
    assert (made.dialect, made.notes) == (dialect, ())
    assert made.texts["write"] == dialects.get(dialect).write(scripts.CALLS["write"])
    assert made.foreign != dialect


def test_pieces() -> None:
    cutter = Cutter([b"</s>"])
    texts = ["abc", "abcd", "abcabcabcabcabc", "no </s> in here", "ü€😀"]
    cut = {text: cutter.cut("some", text) for text in texts}
    assert {text: b"".join(pieces).decode() for text, pieces in cut.items()} == {text: text for text in texts}
    every = [piece for pieces in cut.values() for piece in pieces]
    assert len(set(every)) == len(every)
    assert b"</s>" not in every
    marked = Cutter([], ["<tool_call>"])
    for number in range(6):
        text = f"{number:03}<tool_call>\n{{}}<tool_call>a" if number == 5 else f"<tool_call>\n{number:03}"
        found = marked.cut("some", text)
        assert b"".join(found).decode() == text
        assert any(b"".join(found[:at]).endswith(b"<tool_call>\n") for at in range(len(found)))
    with pytest.raises(TemplatelintError, match="script other repeats itself or others too often"):
        cutter.cut("other", "abc")
    with pytest.raises(TemplatelintError, match="script other is one character"):
        cutter.cut("other", "a")
    with pytest.raises(TemplatelintError, match="half of a surrogate pair"):
        cutter.cut("other", "ab\ud800")


@pytest.mark.parametrize(
    ("further", "fact"),
    [
        ({"much": "x" * 20_000}, "the scripts have more than 16,000 bytes"),
        ({f"s{number}": f"text {number}" for number in range(60)}, "scripts are too many: 59 are the most"),
        ({"half": "ab\ud800"}, "script half holds half of a surrogate pair"),
    ],
)
def test_scripts_that_no_model_says(further: dict[str, str], fact: str) -> None:
    with pytest.raises(TemplatelintError, match=fact):
        scripted.script(model_of(_BARE), further=further)


# ------------------------------------------------------------------------------------------------ the command


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "chat_template.jinja"
    path.write_bytes((_CORPUS / "chatml-tools" / "chat_template.jinja").read_bytes())
    return path


def test_the_command(cli: InProcess, template: Path) -> None:
    out = template.with_name("out.gguf")
    out.write_bytes(b"old")
    ran = cli("cases", "--scripted-gguf", str(out), "--template", str(template))
    assert (ran.code, ran.err) == (0, "")
    wrote, serve_it = ran.out.splitlines()
    assert wrote.startswith(f"wrote {out}: calls in hermes, chosen by @@about @@plain @@long @@tool ")
    assert wrote.endswith(f" ({out.stat().st_size:,} bytes)")
    assert serve_it == f"serve it: llama-server -m {out}"
    assert out.read_bytes()[:4] == b"GGUF"
    assert resolve(str(out)).templates[0].source == template.read_text()


def test_the_command_as_json(cli: InProcess, template: Path) -> None:
    own = template.with_name("own.json")
    own.write_text(json.dumps({"mine": "Words.", "sum": {"calls": [{"name": "add", "arguments": {"a": 1}}]}}))
    out = str(template.with_name("out.gguf"))
    arguments = ("--scripted-gguf", out, "--template", str(template), "--scripts", str(own))
    ran = cli("cases", *arguments, "--dialect", "mistral", "--output-format", "json")
    assert ran.code == 0
    (row,) = json.loads(ran.out)["scripted"]
    said = {script["selector"]: script["text"] for script in row["scripts"]}
    assert (row["dialect"], row["foreign"], row["result_marker"]) == ("mistral", "functionary-v3.1", "<tool_response>")
    assert (said["@@mine"], said["@@sum"]) == ("Words.", '[TOOL_CALLS]add[ARGS]{"a": 1}')
    assert row["serve"] == ["llama-server", "-m", out]


def test_the_command_says_what_there_is_not(cli: InProcess, template: Path) -> None:
    template.write_text(_BARE)
    ran = cli("cases", "--scripted-gguf", str(template.with_name("out.gguf")), "--template", str(template))
    assert ran.code == 0
    assert ran.err == "note: the template writes no calls: scripts of calls say a sentence instead\n"
    assert ": no calls, chosen by " in ran.out


def test_the_command_does_not_say_how_to_serve_what_no_server_starts_with(cli: InProcess, template: Path) -> None:
    template.write_text("{{ raise_exception('no') }}")
    arguments = ("--scripted-gguf", str(template.with_name("out.gguf")), "--template", str(template))
    ran = cli("cases", *arguments)
    assert (ran.code, "serve it" in ran.out, "llama-server exits at start" in ran.err) == (0, False, True)
    ran = cli("cases", *arguments, "--output-format", "json")
    assert json.loads(ran.out)["scripted"][0]["serve"] is None


@pytest.mark.parametrize(
    ("scripts_text", "error"),
    [
        ("{", ":1:2: not JSON: "),
        ("[1]", "holds a list, not a JSON object"),
        ('{"a b": "x"}', "'a b' is no name of a script"),
        ('{"about": "x"}', "about is a script of every model, and has no other text"),
        ('{"tool": {"calls": [{"name": "f"}]}}', "tool is a script of every model, and has no other text"),
        ('{"mine": "I say @@stop here"}', "the script mine holds @@stop, which chooses a script"),
        ('{"mine": {"calls": [{"name": "f", "arguments": {"a": ["@@mine"]}}]}}', "the script mine holds @@mine"),
        ('{"mine": 5}', "the script mine is neither a text nor calls"),
        ('{"mine": {"calls": []}}', "the script mine is neither a text nor calls"),
        ('{"mine": {"calls": [{"name": 5}]}}', "the script mine has a call without name and arguments"),
        ('{"mine": "x"}', "script mine is one character, which no script can be"),
        ("[" * 100_000, "nests JSON values too deeply to be read"),
        ("\ufeff{}", "starts with a byte-order mark"),
    ],
)
def test_a_file_of_scripts_that_is_none(cli: InProcess, template: Path, scripts_text: str, error: str) -> None:
    own, out = template.with_name("own.json"), template.with_name("out.gguf")
    own.write_text(scripts_text)
    ran = cli("cases", "--scripted-gguf", str(out), "--template", str(template), "--scripts", str(own))
    assert (ran.code, ran.out, out.exists()) == (2, "", False)
    first = ran.err.splitlines()[0]
    assert first.startswith("error: ")
    assert error in first


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--scripted-gguf", "out.gguf"), "--scripted-gguf goes with --template REF, and with no ID"),
        (("--template", "t.jinja"), "--template, --dialect and --scripts go with --scripted-gguf OUT"),
        (("chat-basic", "--scripted-gguf", "o", "--template", "t"), "--scripted-gguf goes with --template REF"),
    ],
)
def test_options_that_go_together(cli: InProcess, arguments: tuple[str, ...], error: str) -> None:
    ran = cli("cases", *arguments)
    assert ran.code == 2
    assert error in ran.err


def test_what_is_read_is_not_written_over(cli: InProcess, template: Path) -> None:
    before = template.read_bytes()
    ran = cli("cases", "--scripted-gguf", str(template), "--template", str(template))
    assert (ran.code, template.read_bytes()) == (2, before)
    assert ran.err == f"error: {template} is the file that the template is taken from\n"
    ran = cli("cases", "--scripted-gguf", str(template.with_name("no") / "out.gguf"), "--template", str(template))
    assert (ran.code, "there is no folder" in ran.err) == (2, True)
    ran = cli("cases", "--scripted-gguf", "-", "--template", str(template))
    assert (ran.code, ran.err.splitlines()[0]) == (2, "error: --scripted-gguf writes a file, and nothing to stdout")

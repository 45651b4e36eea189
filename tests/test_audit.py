from __future__ import annotations

from typing import Any

import pytest
from launches import audited, known, server
from program import CHATML

from templatelint import audit
from templatelint.audit.command_line import read
from templatelint.model import Launch

# thoughts in marks, and nothing of tools
THINKS = """\
{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
PLAIN = THINKS.replace("{% if m.reasoning_content %}", "{% if false %}")
IN_DOCKER = ["warning --tools read_file: whoever reaches its port has the server run read_file in docker:x"]
VLLM = ["serve", "m", "--enable-auto-tool-choice", "--tool-call-parser"]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEMPLATELINT_API_KEY", raising=False)


def _told(*words: str, source: str = CHATML, engine: str = "llama.cpp", **more: Any) -> list[str]:
    found, _ = audited(words, engine, source, **more)
    return [f"{one.severity} {one.message}" for one in found]


@pytest.mark.parametrize(
    ("words", "starts"),
    [
        ("-m model.gguf", []),
        ("-m model.gguf --jinja --port 8080 --reasoning-format auto --no-skip-chat-parsing", []),
        ("--no-jinja", ["error --no-jinja: the template is not rendered"]),
        ("--no_jinja", ["error --no-jinja: the template is not rendered"]),
        ("--no-jinja --jinja", []),
        ("--chat-template llama3", ["error --chat-template llama3: where Jinja renders, this names no"]),
        ("--chat-template chatml", ["warning --chat-template chatml: plain ChatML, which shows no tools"]),
        ("--chat-template llama3 --chat-template-file t.jinja", ["note --chat-template-file t.jinja is in force"]),
        ("--chat-template {{x}}", ["note --chat-template with a template of its own is in force"]),
        ("--skip-chat-parsing", ["error --skip-chat-parsing: calls stay in the text of the reply, written in hermes"]),
        ("--reasoning-format none", []),
        ('--chat-template-kwargs {"enable_thinking":false,"moon":1}', ["note --chat-template-kwargs: "]),
        ("--chat-template-kwargs {", []),
        ("--reasoning off", []),
        ("--reasoning-budget 100", ["note --reasoning-budget 100: the template has no marks of thoughts"]),
        ("--reasoning-budget -1", []),
    ],
)  # fmt: skip
def test_what_flags_of_llama_server_take_from_a_template_with_tools(words: str, starts: list[str]) -> None:
    told = _told(*words.split())
    assert len(told) == len(starts), told
    assert all(line.startswith(start) for line, start in zip(told, starts, strict=True))


def test_without_tools_in_the_template_none_are_missed() -> None:
    (line,) = _told("--no-jinja", source=PLAIN)
    assert line.startswith("warning --no-jinja: ")
    assert line.endswith(" takes it for")
    assert _told("--skip-chat-parsing", source=PLAIN) == []


@pytest.mark.parametrize(
    ("words", "starts"),
    [
        ("--skip-chat-parsing", ["--skip-chat-parsing: thoughts stay in the content, behind <think>"]),
        ("--reasoning-format none", ["--reasoning-format none: thoughts stay in the content, behind <think>"]),
        ("--reasoning-format none --reasoning-format deepseek", []),
        ("--reasoning off", ["--reasoning off: the template has no switch"]),
        ("-rea off", ["--reasoning off: the template has no switch"]),
        ("--reasoning on", []),
        ("--reasoning-budget 100", []),
    ],
)
def test_what_flags_take_from_thoughts(words: str, starts: list[str]) -> None:
    told = _told(*words.split(), source=THINKS, needs=("chat", "reasoning"))
    assert [line.startswith(f"warning {start}") for line, start in zip(told, starts, strict=True)] == [True] * len(
        starts
    )
    # who does not ask for them is only told
    assert all(line.startswith("note ") for line in _told(*words.split(), source=THINKS))


@pytest.mark.parametrize(
    ("words", "ref", "starts"),
    [
        ("--tools all", None, ["warning --tools all: whoever reaches its port has the server run read_file, "]),
        ("--tools get_info,read_file", None, ["warning --tools get_info,read_file: whoever reaches its port"]),
        ("--tools all --host 0.0.0.0", None, ["error --tools all: anyone who reaches 0.0.0.0 has the"]),
        ("--tools all --host 127.0.0.1,::1,localhost,/run/l.sock", None, ["warning --tools all"]),
        ("--tools all --host 127.0.0.1,192.168.1.5", None, ["error --tools all: anyone who reaches 192.168.1.5"]),
        ("--tools all --host 0.0.0.0 --api-key sesame", None, ["warning --tools all"]),
        ("--tools all --host 0.0.0.0 --api-key-file keys", None, ["warning --tools all"]),
        ("--tools all", "server:http://u:secret@gpu.lan:8080", ["error --tools all: anyone who reaches gpu.lan has"]),
        ("--tools all --host 127.0.0.1", "server:http://[::1]:8080?model=a", ["warning --tools all"]),
        ("--agent", None, ["warning --agent: whoever", "warning --agent: whoever reaches its port has the server"]),
        ("--agent --no-agent", None, []),
        ("--tools read_file --no-agent", None, []),
        ("--tools read_file --tools-runtime docker:x", None, IN_DOCKER),
        ("--mcp-servers-config m.json", None, ["warning --mcp-servers-config: whoever"]),
        ("--webui-mcp-proxy", None, ["warning --webui-mcp-proxy: whoever"]),
        ("--webui-mcp-proxy --no-ui-mcp-proxy", None, []),
        ("--host 0.0.0.0", None, []),
    ],
)  # fmt: skip
def test_what_a_llama_server_opens_to_others(words: str, ref: str | None, starts: list[str]) -> None:
    found, not_run = audited(words.split(), ref=ref) if ref else audited(words.split())
    told = [f"{one.severity} {one.message}" for one in found]
    assert not_run == ()
    assert {one.rule for one in found} <= {"TL806"}
    assert len(told) == len(starts), told
    assert all(line.startswith(start) for line, start in zip(told, starts, strict=True)), told
    assert "sesame" not in repr(found)
    assert not any("secret" in one.message + one.help for one in found)


def test_a_server_that_asked_for_a_key_is_open_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--tools", "all", "--host", "192.168.1.5"]
    (one,), _ = audited(words)
    assert one.severity == "error"
    assert one.message.endswith(", without a key")
    (other,), _ = audited(words, login=True)
    monkeypatch.setenv("TEMPLATELINT_API_KEY", "sesame")  # which may be meant for another server
    assert audited(words)[0][0].severity == "error"
    (one,), _ = audited(words, keyed=True)
    assert one.severity == other.severity == "warning"
    assert "key" not in one.message + other.message


def test_what_cannot_be_read_is_said() -> None:
    found, not_run = audited(None)
    assert found == ()
    assert [row.rule for row in not_run] == ["TL705", "TL806"]
    assert all(row.why.startswith("the command line of llama-server cannot be read") for row in not_run)


def test_the_list_of_tools_tells_where_the_command_line_does_not() -> None:
    found, not_run = audited(None, tools=[{"display_name": "Run", "tool": "exec_shell_command"}])
    assert [one.message for one in found] == [
        "GET /tools answers: whoever reaches its port has the server run exec_shell_command, without a key"
    ]
    assert [row.rule for row in not_run] == ["TL705"]
    assert audited(None, tools=[])[0] == ()


def test_a_file_has_no_launch() -> None:
    assert audit.findings(server(), known(CHATML, "llama.cpp")) == ((), ())
    ollama = server(launch=Launch("ollama"))
    assert audit.findings(ollama, known(CHATML, "llama.cpp")) == ((), ())


@pytest.mark.parametrize(
    ("engine", "words", "settings", "starts"),
    [
        ("vllm", [*VLLM, "hermes"], {}, []),
        ("vllm", ["serve", "m", "--tool-call-parser=hermes", "--enable-auto-tool-choice"], {}, []),
        ("vllm", ["serve", "m"], {}, ["error no --tool-call-parser: vLLM refuses requests with tools"]),
        ("vllm", ["serve", "m", "--tool-call-parser", "hermes"], {}, ["error no --enable-auto-tool-choice: vLLM"]),
        ("vllm", [*VLLM, "mistral"], {}, ["error --tool-call-parser mistral reads mistral, and the template"]),
        ("vllm", [*VLLM, "our_own_plugin"], {}, []),
        ("sglang", ["--model-path", "m"], {}, ["error no --tool-call-parser: SGLang leaves the calls in the text"]),
        ("sglang", None, {"tool_call_parser": "qwen25"}, []),
        ("sglang", None, {"server_info": {"tool_call_parser": "mistral"}}, ["error --tool-call-parser mistral reads"]),
        ("sglang", None, {"tool_call_parser": "auto"}, []),
    ],
)  # fmt: skip
def test_parsers_of_other_dialects(
    engine: str, words: list[str] | None, settings: dict[str, Any], starts: list[str]
) -> None:
    found, not_run = audited(words, engine, **settings)
    told = [f"{one.severity} {one.message}" for one in found]
    assert not_run == ()
    assert len(told) == len(starts), told
    assert all(line.startswith(start) for line, start in zip(told, starts, strict=True)), told


def test_the_cure_is_the_launch_line_that_fits() -> None:
    (one,), _ = audited(["serve", "m"], "vllm")
    assert one.help == "start it with --enable-auto-tool-choice --tool-call-parser hermes"


def test_unreadable_flags_of_vllm_are_said() -> None:
    assert [row.rule for row in audited(None, "vllm")[1]] == ["TL705"]


@pytest.mark.parametrize(
    ("words", "starts"),
    [
        (["--reasoning-parser", "qwen3"], []),
        ([], ["no --reasoning-parser: thoughts stay in the content, behind <think>"]),
        (["--reasoning-parser", "granite"], ["--reasoning-parser granite looks for"]),
    ],
)
def test_parsers_of_thoughts(words: list[str], starts: list[str]) -> None:
    found, _ = audited(["serve", "m", *words], "vllm", THINKS)
    assert [one.message.startswith(start) for one, start in zip(found, starts, strict=True)] == [True] * len(starts)


def test_the_last_flag_stands_and_a_missing_value_is_none() -> None:
    line = read(["--a", "1", "--A", "--a=2", "x", "--b"], {"--a", "--b"})
    assert line.value("--a") == "2"
    assert line.value("--b") is None
    assert line.switched(("--A",), ()) is True

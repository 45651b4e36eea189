from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from program import environment
from reference import real_templates

from templatelint import cases
from templatelint.cases import to_form
from templatelint.engines.llamacpp import replies
from templatelint.engines.llamacpp.engine import engine
from templatelint.engines.llamacpp.loaded import Ends, LoadedTemplate
from templatelint.engines.llamacpp.real import RealLlamaCpp, body
from templatelint.engines.llamacpp.server import Reply, complaint
from templatelint.engines.llamacpp.tiny_gguf import write
from templatelint.model import Model, Observation, Origin, RenderError, Request, Template, Tokenizer
from templatelint.sources import resolve
from templatelint.traffic import request_from_openai

if TYPE_CHECKING:
    from collections.abc import Sequence

    from program import InProcess

needs_package = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs the package xllamacpp")
needs_posix = pytest.mark.skipif(os.name != "posix", reason="the stand-ins for llama-server are scripts")

_CORPUS = Path(__file__).parents[1] / "corpus" / "templates"
# Handlers and analysis; typed content, thinking, clocks, refusals; and one that ends the server (the last).
_REAL = (
    "Abdelkareem-supra-50m-arabic-sft-mix.jinja",
    "GLM-4.7-Flash.jinja",
    "deepseek-ai-DeepSeek-V4.jinja",
    "Salesforce-xgen-small-4B-base-r.jinja",
    "allenai-Olmo-3-32B-Think.jinja",
    "c4tdr0ut-grok-oss-Revenant-70B.jinja",
    "kakaocorp-kanana-2-30b-a3b-thinking-2601.jinja",
    "mistralai-Ministral-3-3B-Reasoning-2512.jinja",
    "nvidia-audio-flamingo-next-hf.jinja",
    "stepfun-ai-RLVR-8B-0926.jinja",
    "typhoon-ai-llama3.1-typhoon2-8b-instruct.jinja",
    "zonzonzik-NMC-heretic-2-heretic.jinja",
    "ibm-granite-granite-20b-functioncalling.jinja",
    "allenai-Olmo-3-7B-Instruct.jinja",
)
_REFUSED = {"ibm-granite-granite-20b-functioncalling.jinja", "allenai-Olmo-3-7B-Instruct.jinja"}
_USER = {"role": "user", "content": "Hi"}


def _model(source: str, tokenizer: Tokenizer | None = None) -> Model:
    template = Template("default", source, Origin("chat_template.jinja", source))
    return Model("chat_template.jinja", "file", (template,), tokenizer or Tokenizer({"bos_token": "<s>"}))


def _requests() -> dict[str, Request]:
    """The canonical conversations, but for the one that needs a projector, and bodies with members of a user's own."""
    bodies = {
        "tool choice": {"messages": [_USER], "tool_choice": "required", "model": "m", "temperature": 0},
        "kwargs": {"messages": [_USER], "chat_template_kwargs": {"enable_thinking": False, "date_string": "today"}},
        "no cue": {"messages": [_USER], "add_generation_prompt": False},
        "continued": {
            "messages": [_USER, {"role": "assistant", "content": "On Mon"}],
            "add_generation_prompt": False,
            "continue_final_message": True,
        },
        "no content": {"messages": [{"role": "user"}]},
        "effort": {"messages": [_USER], "reasoning_effort": "none", "documents": [{"text": "t"}]},
    }
    canonical = {
        case_id: to_form(case.request, "wire") for case_id, case in cases.all_cases().items() if case_id != "image-user"
    }
    return canonical | {name: request_from_openai(value) for name, value in bodies.items()}


def _held_side_by_side(model: Model, requests: dict[str, Request]) -> None:
    now = datetime.now()  # noqa: DTZ005 (the clock of this place, which the server shows)
    answers = RealLlamaCpp("xllamacpp").answers(model, list(requests.values()))
    loaded = engine("llama.cpp").load(model.templates[0], model.tokenizer)
    assert isinstance(loaded, LoadedTemplate)
    assert answers.build.startswith("llama.cpp b")
    for (name, request), real in zip(requests.items(), answers.observations, strict=True):
        predicted = loaded.render(request, now) if loaded.refusal is None else Observation(error=loaded.refusal)
        assert (name, real.prompt) == (name, predicted.prompt)
        kinds = [seen.error and (name, seen.error.kind) for seen in (real, predicted)]
        assert kinds[0] == kinds[1]
    shown = None if loaded.refusal is not None else loaded.capabilities.as_props()
    assert answers.capabilities == shown


# ------------------------------------------------------------------------------------ prediction and reality


@needs_package
@pytest.mark.parametrize("name", _REAL)
def test_real_templates_as_predicted(name: str) -> None:
    model = _model(real_templates()[name], Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}))
    _held_side_by_side(model, _requests())


@needs_package
@pytest.mark.parametrize("family", sorted(entry.name for entry in _CORPUS.iterdir() if entry.is_dir()))
def test_families_of_the_corpus_as_predicted(family: str) -> None:
    _held_side_by_side(resolve(str(_CORPUS / family)), _requests())


_ENDS = (
    "{{ bos_token }}{{ bos_token }}[{{ messages[0].content }}]{{ eos_token }}{{ bos_token is defined }}{{ eos_token }}"
)


@needs_package
@pytest.mark.parametrize(
    ("tokenizer", "prompt"),
    [
        (Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}), "<s><s>[Hi]</s>True</s>"),
        (Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, add_bos=True), "<s>[Hi]</s>True</s>"),
        (Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, add_bos=True, add_eos=True), "<s>[Hi]</s>True"),
        (Tokenizer({"bos_token": "<|e|>", "eos_token": "<|e|>"}, add_eos=True), "<|e|><|e|>[Hi]<|e|>True"),
        (Tokenizer({"eos_token": "</s>"}, add_bos=True), "[Hi]</s>True</s>"),
        (Tokenizer(), "[Hi]True"),
        (Tokenizer({"bos_token": "a", "eos_token": "Ċ é"}, add_bos=False), "aa[Hi]Ċ éTrueĊ é"),
        (Tokenizer({"bos_token": "<bos>"}, facts={"tokenizer.ggml.model": "llama"}), "<bos>[Hi]True"),
    ],
)
def test_ends_of_the_text(tokenizer: Tokenizer, prompt: str) -> None:
    model = _model(_ENDS, tokenizer)
    assert RealLlamaCpp("xllamacpp").answers(model, [Request([_USER])]).observations == [Observation(prompt)]
    _held_side_by_side(model, {"user": Request([_USER])})


@needs_package
def test_named_templates_and_a_picked_one() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    requests = [Request([_USER]), Request([_USER], tools=[tool])]
    named = tuple(
        Template(name, f"{name}:{{{{ messages[0].content }}}}", Origin("t", "")) for name in ("default", "tool_use")
    )
    both = RealLlamaCpp("xllamacpp").answers(Model("m", "folder", named), requests)
    assert both.observations == [Observation("default:Hi"), Observation("tool_use:Hi")]
    picked = RealLlamaCpp("xllamacpp").answers(Model("m", "folder", named[1:], picked=True), requests)
    assert picked.observations == [Observation("tool_use:Hi")] * 2


@needs_package
@pytest.mark.parametrize(
    ("source", "error"),
    [
        (
            "{{ 1 }}\n{{ raise_exception('no ' ~ messages[0].content) if messages[0].content == 'Hi' }}",
            RenderError("refused", "no Hi", 2, 4),
        ),
        (
            "{{ messages[0].content | batch(2) if messages[0].content == 'Hi' }}",
            RenderError("unsupported", "Unknown (built-in) filter 'batch' for type String", 1, 26),
        ),
    ],
)
def test_errors_of_a_template(source: str, error: RenderError) -> None:
    [real] = RealLlamaCpp("xllamacpp").answers(_model(source), [Request([_USER])]).observations
    assert real.error is not None
    assert (real.error.kind, real.error.message, real.error.line) == (error.kind, error.message, error.line)


@needs_package
def test_a_syntax_error_ends_the_server() -> None:
    answers = RealLlamaCpp("xllamacpp").answers(_model("{{ messages[0].content }"), [Request([_USER])] * 2)
    assert [seen.error and seen.error.kind for seen in answers.observations] == ["no-start"] * 2
    assert [seen.error and "Parser Error: Expected }}" in seen.error.message for seen in answers.observations] == [
        True
    ] * 2


@needs_package
def test_media_cannot_be_asked_for() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
    requests = [Request([{"role": "user", "content": [image]}], media=True), Request([_USER], media=True)]
    image_seen, text_seen = RealLlamaCpp("xllamacpp").answers(_model("{{ 'x' }}"), requests).observations
    assert image_seen.error == RenderError("unsupported", "the model that --real makes has no multimodal projector")
    assert text_seen == Observation("x")


# ---------------------------------------------------------------------------------------------- command line


@needs_package
def test_the_build_is_named(cli: InProcess, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = sorted(folder.iterdir())
    plain = cli("render", "chat_template.jinja", "--engine", "llama.cpp", "--real")
    predicted = cli("render", "chat_template.jinja", "--engine", "llama.cpp")
    assert (plain.code, plain.out) == (0, predicted.out)
    assert plain.err.startswith("note: llama.cpp b")
    assert "(xllamacpp 20" in plain.err
    told = cli(
        "render", "chat_template.jinja", "broken.jinja", "--engine", "llama.cpp", "--real", "--output-format", "json"
    )
    rows = json.loads(told.out)["renders"]
    assert [row["ok"] for row in rows] == [True, False]
    assert rows[1]["error"]["kind"] == "no-start"
    assert [f"note: {row['build']}\n" for row in rows] == [plain.err] * 2
    assert "xllamacpp" not in told.err
    assert sorted(folder.iterdir()) == before


_NOT_HERE = (
    "error: no real llama.cpp here: neither llama-server on PATH nor the xllamacpp package\n"
    "help: pip install 'templatelint[llamacpp]'\n"
)


def test_neither_is_here(cli: InProcess, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    ran = cli("render", "chat_template.jinja", "--engine", "llama.cpp", "--real")
    assert (ran.code, ran.out, ran.err) == (2, "", _NOT_HERE)
    assert "a model of its Jinja; --real not here: pip install 'templatelint[llamacpp]'\n" in cli("engines").out
    rows = json.loads(cli("engines", "--output-format", "json").out)["engines"]
    assert {row["name"]: row["real"] for row in rows if row["real"]} == {
        "llama.cpp": {"found": None, "install": "pip install 'templatelint[llamacpp]'"}
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--real"], "--real without --engine"),
        (["--real", "--engine", "transformers"], "engine transformers has no real counterpart yet"),
        (["--real", "--engine", "llama.cpp,vllm"], "engine vllm has no real counterpart yet"),
        (["--real", "--engine", "llama.cpp", "--date", "2026-01-01"], "--date and --real exclude each other"),
        (["--real", "--engine", "llama.cpp", "--media"], "--media and --real exclude each other"),
        (
            ["--real", "--engine", "llama.cpp", "--case", "chat-basic+tomorrow"],
            "case chat-basic+tomorrow is of another",
        ),
        (["--real", "--renderer", "llama.cpp", "--context", "x.json"], "--renderer takes all variables from --context"),
    ],
)
def test_what_real_does_not_go_with(
    cli: InProcess, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str], message: str
) -> None:
    _stand_in(folder, monkeypatch, "")
    ran = cli("render", "chat_template.jinja", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {message}")


# ----------------------------------------------------------------------------------- servers that are none

_PID = Path("server.pid")
_HANGS = "time.sleep(60)"
_SERVER = """
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_GET(self): self.answer()
    def do_POST(self): self.answer()
    def send(self, status, text):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())
    def props(self):
        if self.path == "/health": self.send(200, "ok")
        elif self.path == "/props": self.send(200, '{"chat_template": "", "build_info": "b1-abc"}')
        return self.path in ("/health", "/props")
    def answer(self):
        ANSWER
port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def _serving(answer: str) -> str:
    """A script that answers `/health`, and what else comes, by that statement."""
    return _SERVER.replace("ANSWER", answer)


def _stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A llama-server first on PATH that notes its process and then does what the script says."""
    programs = folder / "programs"
    programs.mkdir()
    program = programs / "llama-server"
    note = f"import os, sys, time\nopen({str(folder / _PID)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
    program.write_text(f"#!{sys.executable}\n{note}{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    temporary = folder / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    return program


def _assert_nothing_left(folder: Path) -> None:
    assert list((folder / "temporary").iterdir()) == []
    for pid in map(int, (folder / _PID).read_text("utf-8").split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@needs_posix
@pytest.mark.parametrize(
    ("trial", "message"),
    [
        ((1.0, _HANGS), "is not ready after 1 s"),
        ((1.5, f"print('loading', flush=True)\n{_HANGS}"), "is not ready after 1.5 s: loading"),
        ((1.5, "while True: print('x' * 1000)"), "is not ready after 1.5 s: xxx"),
        ((1.0, _serving("self.send(503, 'loading')")), "is not ready after 1 s"),
        ((1.0, _serving("self.wfile.write(b'\\0' * 9999)")), "is not ready after 1 s"),
        ((10, "sys.exit(3)"), "ends at start"),
        ((10, "print('error: no option --jinja'); sys.exit(1)"), "ends at start: error: no option --jinja"),
        ((10, "os.abort()"), "ends at start"),
        ((10, _serving("self.send(200, 'hello')")), "is no llama-server: its answer to GET /props is HTTP 200, hello"),
        ((10, _serving("self.path == '/health' and self.send(200, '')")), "gives no answer to GET /props"),
        ((10, _serving("self.props() or self.send(200, '{}')")), "gives no prompt: its answer to POST /apply-template"),
        ((10, _serving("self.props() or self.send(404, 'no')")), "gives no prompt: its answer to POST /apply-template"),
    ],
)
def test_no_llama_server(
    cli: InProcess, folder: Path, monkeypatch: pytest.MonkeyPatch, trial: tuple[float, str], message: str
) -> None:
    start, script = trial
    program = _stand_in(folder, monkeypatch, script)
    monkeypatch.setattr(
        "templatelint.engines.llamacpp.real.real", lambda: RealLlamaCpp(str(program), start=start, request=2.0)
    )
    ran = cli("render", "chat_template.jinja", "--engine", "llama.cpp", "--real")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-2].startswith(f"error: {program} {message}")
    assert ran.err.splitlines()[-1].startswith("help: ")
    _assert_nothing_left(folder)


@needs_posix
@pytest.mark.parametrize(
    ("act", "error"),
    [
        ("time.sleep(60)", RenderError("timeout", "no answer of llama-server within 0.5 s")),
        # a byte now and then keeps every read within its time
        (
            "[(self.wfile.write(b'H'), self.wfile.flush(), time.sleep(0.1)) for _ in range(600)]",
            RenderError("timeout", "no answer of llama-server within 0.5 s"),
        ),
        ("os._exit(1)", RenderError("raised", "llama-server ends while it answers")),
        ("print('boom', flush=True); os.abort()", RenderError("raised", "llama-server ends while it answers: boom")),
        ('self.send(500, \'{"error": {"message": "no"}}\')', RenderError("invalid-request", "no")),
    ],
)
def test_requests_that_cost_a_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch, act: str, error: RenderError
) -> None:
    script = _serving(
        "if self.props(): return\n"
        "        asked = self.rfile.read(int(self.headers['Content-Length']))\n"
        "        if b'good' in asked: return self.send(200, '{\"prompt\": \"p\"}')\n"
        f"        {act}",
    )
    program = _stand_in(folder, monkeypatch, script)
    contents = ("good", "bad", "good")
    requests = [Request([{"role": "user", "content": text}]) for text in contents]
    answers = RealLlamaCpp(str(program), start=10, request=0.5).answers(_model("x"), requests)
    assert answers.observations == [Observation("p"), Observation(error=error), Observation("p")]
    assert answers.build == f"llama.cpp b1-abc ({program})"
    _assert_nothing_left(folder)


@needs_posix
def test_a_server_that_every_request_costs_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = _stand_in(folder, monkeypatch, _serving("self.props() or os._exit(1)"))
    answers = RealLlamaCpp(str(program), start=10, request=1).answers(_model("x"), [Request([_USER])] * 5)
    assert [seen.error and seen.error.kind for seen in answers.observations] == ["raised"] * 3 + ["timeout"] * 2
    assert len((folder / _PID).read_text("utf-8").split()) == 3


@needs_posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_an_end_from_outside_ends_the_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    _stand_in(folder, monkeypatch, _HANGS)
    command = [sys.executable, "-m", "templatelint", "render", "chat_template.jinja", "--engine", "llama.cpp", "--real"]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        started = folder / _PID
        deadline = time.monotonic() + 20
        while not (started.exists() and started.read_text("utf-8").endswith("\n")) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err
    _assert_nothing_left(folder)


@needs_posix
def test_the_users_settings_for_other_models_are_not_passed_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = "sorted(name for name in os.environ if name.startswith('LLAMA_'))"
    script = _serving(f"self.props() or self.send(200, json.dumps({{'prompt': ' '.join({names})}}))")
    program = _stand_in(folder, monkeypatch, script)
    monkeypatch.setenv("LLAMA_ARG_CHAT_TEMPLATE", "chatml")
    monkeypatch.setenv("LLAMA_CACHE", "cache")
    answers = RealLlamaCpp(str(program)).answers(_model("x"), [Request([_USER])])
    assert answers.observations == [Observation("LLAMA_CACHE")]


# ------------------------------------------------------------------------------------------------- its parts


def test_a_body_leaves_out_what_is_the_default() -> None:
    whole = {
        "messages": [_USER],
        "tools": [],
        "documents": [{"text": "t"}],
        "chat_template_kwargs": {"a": 1},
        "add_generation_prompt": False,
        "continue_final_message": True,
        "tool_choice": "none",
    }
    assert body(request_from_openai(whole)) == whole
    assert body(Request([_USER])) == {"messages": [_USER]}


_ANALYSIS = """Unable to generate parser for this template. Automatic parser generation failed:\x20
------------
While executing CallExpression at line 3, column 9 in source:
...{{ raise_exception('Error: x') }}...
      ^
Error: Jinja Exception: Error: x
y"""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (_ANALYSIS, RenderError("refused", "Error: x\ny", 3, 9)),
        (
            _ANALYSIS.replace("Jinja Exception: Error: x\ny", "Unknown filter 'x' for type Undefined"),
            RenderError("raised", "Unknown filter 'x' for type Undefined", 3, 9),
        ),
        (
            _ANALYSIS.replace("Jinja Exception: Error: x\ny", "Unknown test 'x'"),
            RenderError("unsupported", "Unknown test 'x'", 3, 9),
        ),
        ("'messages' is required", RenderError("invalid-request", "'messages' is required")),
        ("a" * 700, RenderError("invalid-request", "a" * 600 + " …")),
    ],
)
def test_kinds_of_errors(text: str, error: RenderError) -> None:
    assert replies.observation(Reply(400, {"error": {"message": text}})) == Observation(error=error)


@pytest.mark.parametrize(
    "reply", [Reply(200, []), Reply(200, {"prompt": 1}), Reply(400, {"error": "x"}), Reply(302, "")]
)
def test_answers_that_are_none(reply: Reply) -> None:
    with pytest.raises(replies.NotLlamaCpp, match=f"HTTP {reply.status}, "):
        replies.observation(reply)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            [
                "0.00.000.868 I srv          init: initializing ...",
                "0.00.001.000 E ggml_init: no device",
                "0.00.108.318 E common_chat_templates_init: error: parser: Parser Error: Expected }}",
                "...{{ a }...",
                "0.00.108.320 I srv  init: on",
            ],
            "Parser Error: Expected }}\n...{{ a }...",
        ),
        (["0.00.001.000 E srv  init: no memory", "Traceback (most recent call last):", "RuntimeError"], "no memory"),
        (["main: loading", "error: bad option", "usage: x"], "error: bad option\nusage: x"),
        (["one", "two", ""], "two"),
        ([], ""),
    ],
)
def test_the_complaint_in_a_log(log: list[str], said: str) -> None:
    assert complaint(log) == said


def test_a_tiny_model_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(write({"default": "{{ 'é' }}\r\n", "tool_use": "t"}, Ends("<s>", "</s>", add_bos=True)))
    model = resolve(str(path))
    assert {template.name: template.source for template in model.templates} == {
        "default": "{{ 'é' }}\r\n",
        "tool_use": "t",
    }
    assert model.tokenizer.special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert (model.tokenizer.add_bos, model.tokenizer.add_eos) == (True, False)

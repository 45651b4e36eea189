from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jinja2.filters import FILTERS as JINJA2_FILTERS
from jinja2.tests import TESTS as JINJA2_TESTS
from npm import needs_node, needs_package
from program import environment
from reference import every, real_templates

from templatelint import bounded, cases, matrix
from templatelint.engines import transformers_js
from templatelint.errors import TemplatelintError
from templatelint.model import Model, Origin, RenderError, Template
from templatelint.renderers import RenderFailure, hf_jinja
from templatelint.renderers.hf_jinja import installed, node, program, vocabulary
from templatelint.renderers.hf_jinja.node import Died, Node, NodeFailed, shared

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from program import InProcess

    from templatelint.renderers.hf_jinja.program import Program

NOW = datetime.fromisoformat("2026-03-02T09:30:00")
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
# 2 ** 28 characters, and as many again in upper case
MEMORY = (
    "{% set ns = namespace(a='x') %}{% for i in range(28) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}"
    "{{ ns.a|upper|length }}"
)


@pytest.fixture(scope="module", autouse=True)
def _node_at_hand() -> Program | None:
    """Keeps one node running for all renders."""
    return None if hf_jinja.missing() else hf_jinja.compile_template("")


def _outcome(source: str, variables: Mapping[str, Any] | None = None) -> str | RenderError:
    try:
        return hf_jinja.compile_template(source).render(variables or {}, NOW)
    except RenderFailure as failure:
        return failure.record


# ------------------------------------------------------------------------------------------ what it renders

# template, variables → text: what JavaScript makes of the data
TEXTS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("{{ x }}", {"x": 1.0}, "1"),
    ("{{ x }}", {"x": 1.5}, "1.5"),
    ("{{ x }}|{{ 1.0 }}", {"x": -0.0}, "0|1.0"),
    ("{{ x }}", {"x": 2**63}, "9223372036854776000"),
    ("{{ x }}", {"x": 1e21}, "1e+21"),
    ("{{ x }}|{{ x|tojson }}", {"x": float("nan")}, "NaN|null"),
    ("{{ x[0] }}|{{ x[1].y }}", {"x": [float("inf"), {"y": float("-inf")}]}, "Infinity|-Infinity"),
    ("{{ x|tojson }}", {"x": {"b": 1, "10": 2, "a": 3, "2": 4}}, '{"2": 4, "10": 2, "b": 1, "a": 3}'),
    ("{{ x|tojson }}", {"x": {"__proto__": 1, "constructor": 2}}, '{"__proto__": 1, "constructor": 2}'),
    ("{{ x }}", {"x": "a\u2028b\u2029\x85\r\n\0\ufeff"}, "a\u2028b\u2029\x85\r\n\0\ufeff"),
    ("{{ x }}", {"x": "\ud800 alone"}, "\ud800 alone"),
    ("{{ x }}{{ y }}", {"x": "\ud83d", "y": "\ude00"}, "\U0001f600"),
    ("{{ x|length }}", {"x": "\U0001f600"}, "2"),
    ("{{ true }}{{ none }}", {}, "true"),
    ("{{ strftime_now('%d %b %Y, %H:%M, %B %m %%') }}", {}, "02 Mar 2026, 09:30, March 03 %"),
    # nothing of JavaScript's is a member of anything
    ("{{ x.constructor }}{{ x.__proto__ }}{{ ''.constructor }}{{ [].at }}{{ range.name }}", {"x": {}}, ""),
)


@needs_package
@pytest.mark.parametrize(("source", "variables", "expected"), TEXTS)
def test_texts(source: str, variables: dict[str, Any], expected: str) -> None:
    assert _outcome(source, variables) == expected


# template → kind and message of the failure
FAILURES = {
    "{{ raise_exception('no ' ~ 1) }}": ("refused", "no 1"),
    "{{ raise_exception() }}": ("refused", ""),
    "{% if %}": ("syntax", "Unexpected token: CloseStatement"),
    "{% raw %}{% endraw %}": ("unsupported", "Unknown statement type: raw"),
    "{{ 'a'|groupby }}": ("unsupported", "Unknown StringValue filter: groupby"),
    "{{ 'a'|items }}": ("raised", "Unknown StringValue filter: items"),
    "{{ 1 is sameas }}": ("unsupported", "Unknown test: sameas"),
    "{{ ['a']|map('upper') }}": (
        "unsupported",
        "`map` expressions without `attribute` set are not currently supported.",
    ),
    "{% break %}": ("raised", "break or continue outside a loop"),
    "{{ 'a' * 2 }}": ("raised", 'Unknown operator "*" between StringValue and IntegerValue'),
    "{{ range.constructor('return 1')() }}": (
        "raised",
        "Cannot call something that is not a function: got UndefinedValue",
    ),
    "{{ " + "(" * 20_000 + ")" * 20_000 + " }}": ("too-large", "recursion too deep"),
    "{% set ns = namespace(a='x') %}{% for i in range(40) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}": (
        "too-large",
        "a text beyond what JavaScript holds",
    ),
    "{% set ns = namespace(a='x') %}{% for i in range(25) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}{{ ns.a }}": (
        "too-large",
        "more than 8,388,608 characters of output",
    ),
    MEMORY: ("too-large", "out of memory"),
    ENDLESS: ("timeout", "more than 1 s"),
}


@needs_package
@pytest.mark.parametrize("source", FAILURES)
def test_failures_and_none_keeps_the_next_render_from_being_done(source: str) -> None:
    kind, message = FAILURES[source]
    held = hf_jinja.compile_template("{{ x }}")
    outcome = _outcome(source)
    assert isinstance(outcome, RenderError)
    assert (outcome.kind, outcome.line, outcome.column) == (kind, None, None)
    assert outcome.message == message
    assert held.render({"x": 1}, NOW) == "1"


@needs_package
@pytest.mark.usefixtures("copied")
def test_text_is_counted_in_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (node, program):
        monkeypatch.setattr(module, "MAX_OUTPUT", 1000)
    for text in ("a" * 1000, "\U0001f600" * 1000):
        assert _outcome("{{ x }}", {"x": text}) == text
        over = _outcome("{{ x }}!", {"x": text})
        assert isinstance(over, RenderError)
        assert (over.kind, over.message) == ("too-large", "more than 1,000 characters of output")


@needs_package
def test_variables_that_nest_too_deeply() -> None:
    nested: Any = []
    for _ in range(20_000):
        nested = [nested]
    outcome = _outcome("{{ 1 }}", {"x": nested})
    assert isinstance(outcome, RenderError)
    assert outcome.kind == "too-large"
    assert "nest" in outcome.message


_DIRECT = """
import { readFileSync } from "node:fs";
const { Template } = await import(process.argv[1]);
const { sources, variables } = JSON.parse(readFileSync(0, "utf8"));
const render = (source) => variables.map((given) => {
  try { return new Template(source).render(given); } catch { return null; }
});
console.log(JSON.stringify(sources.map(render)));
"""


@needs_package
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not on PATH")
def test_it_gives_what_the_package_gives_without_us() -> None:
    templates = real_templates()
    sources = [templates[name] for name in every(24) if "strftime_now" not in templates[name]]
    requests = [cases.get(case_id).request for case_id in ("chat-unicode", "tool-loop-system", "tool-schema-rich")]
    variables = [
        {"messages": [*request.messages], "tools": request.tools, "bos_token": "<s>", "eos_token": "</s>"}
        for request in requests
    ]
    package, runtime = installed.package(), installed.node()
    assert package is not None
    assert runtime is not None
    given = json.dumps({"sources": sources, "variables": variables})
    command = [runtime, "--input-type=module", "-e", _DIRECT, package.module.as_uri()]
    told = subprocess.run(command, input=given, capture_output=True, check=True, encoding="utf-8").stdout
    for source, expected in zip(sources, json.loads(told), strict=True):
        outcomes = [_outcome(source, each) for each in variables]
        assert [None if isinstance(outcome, RenderError) else outcome for outcome in outcomes] == expected


# --------------------------------------------------------------------------------------- what it has names for

OPERANDS = ("'a'", "[1]", "[{'a': 1}]", "{'a': 1}", "1", "1.5", "true")
ARGUMENTS = {
    "default": "('a')",
    "get": "('a')",
    "map": "(attribute='a')",
    "replace": "('a', 'b')",
    "selectattr": "('a')",
    "rejectattr": "('a')",
}


def _unsupported(expression: str) -> bool:
    return all(
        isinstance(outcome := _outcome("{{ " + expression.replace("VALUE", operand) + " }}"), RenderError)
        and outcome.kind == "unsupported"
        for operand in OPERANDS
    )


@needs_package
@pytest.mark.parametrize("name", sorted(vocabulary.FILTERS | set(JINJA2_FILTERS)))
def test_its_filters_are_those(name: str) -> None:
    called = f"VALUE|{name}{ARGUMENTS.get(name, '')}"
    works = any(isinstance(_outcome("{{ " + called.replace("VALUE", operand) + " }}"), str) for operand in OPERANDS)
    assert works is (name in vocabulary.FILTERS)
    assert _unsupported(called) is (name not in vocabulary.FILTERS)


@needs_package
def test_default_is_a_filter_with_an_argument_only() -> None:
    assert _outcome("{{ x|default('d') }}") == "d"
    assert isinstance(_outcome("{{ x|default }}"), RenderError)


@needs_package
@pytest.mark.parametrize("name", sorted(vocabulary.TESTS | {name for name in JINJA2_TESTS if name.isidentifier()}))
def test_its_tests_are_those(name: str) -> None:
    assert _unsupported(f"VALUE is {name}") is (name not in vocabulary.TESTS)


@needs_package
def test_its_methods_and_functions_are_those() -> None:
    for name in (*vocabulary.METHODS, "append", "count", "find", "format", "index", "join", "pop", "splitlines"):
        known = any(
            _outcome("{{ " + f"{operand}.{name} is callable" + " }}") == "true"
            for operand in ("'a'", "[1]", "{'a': 1}")
        )
        assert known is (name in vocabulary.METHODS), name
    for name in ("range", "namespace", "raise_exception", "strftime_now", *vocabulary.LACKING_GLOBALS):
        defined = _outcome("{{ " + name + " is defined }}")
        assert defined == ("false" if name in vocabulary.LACKING_GLOBALS else "true"), name


# ---------------------------------------------------------------------------------------------- finding it


def _fake(node_modules: Path, version: str = "1.2.3", module: str = "") -> Path:
    folder = node_modules / "@huggingface" / "jinja"
    (folder / "dist").mkdir(parents=True)
    facts = {"name": "@huggingface/jinja", "version": version, "type": "module", "module": "./dist/index.js"}
    (folder / "package.json").write_text(json.dumps(facts), encoding="utf-8")
    (folder / "dist" / "index.js").write_text(module, encoding="utf-8")
    return folder


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a node in `prefix/bin` and nothing else, standing in a folder of somebody's."""
    binary = tmp_path / "prefix" / "bin" / ("node.exe" if os.name == "nt" else "node")
    binary.parent.mkdir(parents=True)
    binary.write_text("#!/bin/sh\n", encoding="utf-8")
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", str(binary.parent))
    for home in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(home, str(tmp_path / "home"))
    for name in (installed.NODE_MODULES, "NODE_PATH", "NPM_CONFIG_PREFIX", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="the folders of Windows are others")
def test_where_the_package_is_looked_for(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(installed.NODE_MODULES, os.pathsep.join((str(bare / "a"), "relative")))
    monkeypatch.setenv("NODE_PATH", os.pathsep.join((str(bare / "b"), "relative", "")))
    monkeypatch.setenv("NPM_CONFIG_PREFIX", str(bare / "c"))
    assert [*installed.folders()] == [
        bare / "a",
        Path("relative"),
        bare / "b",
        bare / "c" / "lib" / "node_modules",
        bare / "prefix" / "lib" / "node_modules",
        bare / "home" / ".npm-global" / "lib" / "node_modules",
        bare / "home" / ".local" / "lib" / "node_modules",
        Path("/usr/local/lib/node_modules"),
        Path("/usr/lib/node_modules"),
    ]


@pytest.mark.usefixtures("bare")
def test_a_package_in_the_working_directory_is_not_taken() -> None:
    _fake(Path("node_modules"))
    found = installed.package()
    assert found is None or found.version != "1.2.3"


def test_the_first_copy_that_can_be_imported_is_taken(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [bare / name for name in ("none", "broken", "gone", "good", "later")]
    (_fake(folders[1]) / "package.json").write_text("[", encoding="utf-8")
    (_fake(folders[2]) / "dist" / "index.js").unlink()
    good = _fake(folders[3], "0.5.11")
    _fake(folders[4], "9.9.9")
    monkeypatch.setenv(installed.NODE_MODULES, os.pathsep.join(map(str, folders)))
    assert installed.package() == installed.Package(good.resolve(), "0.5.11", (good / "dist" / "index.js").resolve())
    assert installed.described() == "@huggingface/jinja 0.5.11"
    assert installed.missing() is None


@pytest.mark.usefixtures("bare")
def test_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "package", lambda: None)
    assert installed.missing() == "the npm package @huggingface/jinja is not found"
    assert installed.described() == "@huggingface/jinja not found"
    monkeypatch.setenv("PATH", "")
    assert installed.missing() == "node is not on PATH"
    with pytest.raises(TemplatelintError, match=r"^renderer hf-jinja cannot run here: node is not on PATH$") as raised:
        hf_jinja.compile_template("{{ 1 }}")
    assert raised.value.help == "install Node.js and run: npm install -g @huggingface/jinja"


# ----------------------------------------------------------------------------------- the process and its bounds


def _node(tmp_path: Path, module: str) -> Node:
    """A node that runs our own stand-in for the package."""
    folder = _fake(tmp_path, module="export class Environment {}\n" + module).resolve()
    runtime = installed.node()
    assert runtime is not None
    return Node(runtime, installed.Package(folder, "1.2.3", folder / "dist" / "index.js"))


def _render(fake: Node) -> Mapping[str, Any]:
    return fake.ask(json.dumps({"source": "", "now": 0, "variables": {}}))


@needs_node
def test_the_package_may_read_nothing_and_sees_little_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_SECRET", "secret")
    monkeypatch.setenv("NODE_OPTIONS", "--title=changed")
    module = """
    import { readFileSync } from "node:fs";
    import { spawnSync } from "node:child_process";
    const failure = (work) => { try { work(); return "done"; } catch (error) { return error.code ?? error.message; } };
    export class Template {
      render() {
        return JSON.stringify([
          failure(() => readFileSync("/etc/hosts")),
          failure(() => spawnSync("true")),
          failure(() => eval("1")),
          Object.keys(process.env),
          process.title,
        ]);
      }
    }"""
    read, started, evaluated, names, title = json.loads(_render(_node(tmp_path, module))["text"])
    if read != "done":  # node before 20 has no permissions
        assert (read, started) == ("ERR_ACCESS_DENIED", "ERR_ACCESS_DENIED")
    assert "disallowed" in evaluated
    assert "SOME_SECRET" not in names
    assert "NODE_OPTIONS" not in names
    assert title != "changed"


@needs_node
def test_a_package_that_does_not_run_is_no_fault_of_a_template(tmp_path: Path) -> None:
    with pytest.raises(NodeFailed, match=r"^node at .* ends with status 1 as it starts with .*index\.js$"):
        _render(_node(tmp_path, "throw new Error('broken')"))


@needs_node
def test_another_node_answers_after_one_has_ended(tmp_path: Path) -> None:
    module = "export class Template { render() { process.kill(process.pid, 'SIGKILL'); for (;;) {} } }"
    mortal = _node(tmp_path, module)
    for _ in range(2):
        with pytest.raises(Died):
            _render(mortal)
    assert mortal.ask('{"source": ""}') == {}


@needs_node
def test_a_package_that_loads_and_does_not_render_is_not_here(tmp_path: Path) -> None:
    folder = _fake(tmp_path, module="export class Environment {}\nexport class Template {}").resolve()
    runtime = installed.node()
    assert runtime is not None
    lack = node.unfit(runtime, installed.Package(folder, "1.2.3", folder / "dist" / "index.js"))
    assert lack == f"node at {runtime} does not render with {folder / 'dist' / 'index.js'}"


# ---------------------------------------------------------------------------------------- a node that is none

# what stands in for node, and what is said of it
SCRIPTS = {
    "exit 3": "ends with status 3 as it starts with MODULE",
    "exit 9": "ends with status 9 as it starts with MODULE",
    "sleep 1000": "does not answer within 0.5 s",
    "sleep 1000 & wait": "does not answer within 0.5 s",
    "sleep 1000 & exit 3": "does not answer within 0.5 s",  # what it left holds the pipe
    "exec cat /dev/zero": "answers with something else than JSON objects",
    "while :; do echo garbage; done": "answers with something else than JSON objects",
    "echo '[1,2]'; cat": "answers with something else than JSON objects",
    "echo null; cat": "answers with something else than JSON objects",
    "printf '\\377\\376\\n'; sleep 1000": "answers with something else than JSON objects",
    "echo '{}'; cat": "does not run MODULE",
    """echo '{"ready":true}'; cat""": "does not run MODULE",
    """echo '{"ready":true}'; sleep 1000""": "does not answer within 0.5 s",
    """echo '{"ready":true}'; read line; exit 1""": "ends with status 1 as it starts with MODULE",
    """echo '{"ready":true}'; while read line; do echo '{}'; done""": "does not render with MODULE",
}

if shutil.which("setsid"):
    SCRIPTS["setsid sleep 5"] = "does not answer within 0.5 s"  # out of reach, and no reason to wait

stands_in = pytest.mark.skipif(os.name == "nt", reason="the stand-ins for node are shell scripts")


@pytest.fixture
def stand_in(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script in the place of the only node, with a package that it should run; `$0.started` lists its sessions."""
    monkeypatch.setattr(node, "_HANDSHAKE", 0.5)
    _fake(bare / "packages")
    monkeypatch.setenv(installed.NODE_MODULES, str(bare / "packages"))
    return bare / "prefix" / "bin" / "node"


def _put(script: Path, body: str, interpreter: str = "/bin/sh") -> None:
    head = f"#!{interpreter}\nPATH=/usr/bin:/bin\n" + 'echo $$ >> "$0.started"\n'
    script.write_text(head + body + "\n", encoding="utf-8")


def _wait_for_the_end(script: Path) -> None:
    """Returns when nothing runs that the script has started, except what left its sessions."""
    sessions = script.with_name("node.started").read_text("ascii").split()
    deadline = time.monotonic() + 20
    while any(state != "Z" and session in sessions for state, session in _states()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _states() -> Iterator[tuple[str, str]]:
    """State and session of every process, where they can be looked up."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, session, *_ = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        yield state, session


@stands_in
@pytest.mark.parametrize("body", SCRIPTS)
def test_a_node_that_does_not_work_is_not_here_and_nothing_is_left_of_it(stand_in: Path, body: str) -> None:
    _put(stand_in, body)
    package = installed.package()
    assert package is not None
    assert hf_jinja.missing() == f"node at {stand_in} {SCRIPTS[body].replace('MODULE', str(package.module))}"
    _wait_for_the_end(stand_in)


@stands_in
def test_a_node_that_the_system_does_not_start_is_not_here(stand_in: Path) -> None:
    _put(stand_in, "", interpreter="/nonexistent")
    assert hf_jinja.missing() == f"node at {stand_in} does not start: no such file or directory"


@stands_in
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_a_signal_ends_a_node_that_hangs_too(stand_in: Path, number: int, code: int) -> None:
    # a moment later than needed, when the process that is to get the signal knows of the script's
    _put(stand_in, 'sleep 0.3; touch "$0.hangs"; sleep 1000')
    program = "from templatelint.renderers.hf_jinja import node, missing; node._HANDSHAKE = 60; missing()"
    with subprocess.Popen([sys.executable, "-c", program], env=environment(), stderr=subprocess.DEVNULL) as started:
        while not stand_in.with_name("node.hangs").exists():
            assert started.poll() is None
            time.sleep(0.05)
        started.send_signal(number)
    assert started.returncode == code
    _wait_for_the_end(stand_in)


@stands_in
def test_only_a_command_that_would_use_node_starts_it(stand_in: Path, folder: Path, cli: InProcess) -> None:
    _put(stand_in, "exit 3")
    begun = stand_in.with_name("node.started")
    for command in ("lint", "inspect", "render"):
        ran = cli(command, str(folder / "chat_template.jinja"))
        assert (ran.code, ran.err) == (0, "")
        assert not begun.exists(), command
    listed = cli("engines")
    assert f"not here: node at {stand_in} ends with status 3" in listed.out
    attempts = begun.read_text("ascii")
    cli("engines")
    assert begun.read_text("ascii") == attempts


@stands_in
def test_a_node_that_does_not_work_is_named_and_the_other_engines_go_on(
    stand_in: Path, folder: Path, cli: InProcess
) -> None:
    _put(stand_in, "exit 3")
    template = str(folder / "chat_template.jinja")
    for command in ("lint", "inspect"):
        ran = cli(command, template, "--engine", "all", "--output-format", "json")
        assert (ran.code, ran.err) == (0, "")
        reasons = " ".join(str(gap) for gap in json.loads(ran.out)["not_run"])
        assert reasons.count(f"node at {stand_in} ends with status 3") == 2
        ran = cli(command, template, "--engine", "transformers.js")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"error: engine transformers.js cannot be used here: node at {stand_in} ends with")
        assert ran.err.count("\n") == 2


# what the package's node does once a file is there that stops it
STOPS = {"exit 3": "ends with status 3 as it starts", "echo garbage; cat": "answers with something else than JSON"}


@needs_package
@stands_in
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("body", STOPS)
def test_a_node_that_stops_working_is_no_fault_of_the_template(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: InProcess, body: str
) -> None:
    package = installed.package()
    assert package is not None
    monkeypatch.setenv(installed.NODE_MODULES, str(package.folder.parent.parent))
    stand_in = tmp_path / "bin" / "node"
    stand_in.parent.mkdir()
    _put(stand_in, f'[ -e "$0.broken" ] && {{ {body}; }}\nexec {installed.node()} "$@"')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}:{os.environ['PATH']}")
    assert hf_jinja.missing() is None
    stand_in.with_name("node.broken").touch()
    Path("c.json").write_text("{}", encoding="utf-8")
    names = "transformers,transformers.js,lmstudio"
    ran = cli("lint", "chat_template.jinja", "--engine", names, "--ignore", "TL804", "--output-format", "json")
    report = json.loads(ran.out)
    assert (ran.code, ran.err, report["findings"]) == (0, "", [])
    for engine in ("transformers.js", "lmstudio"):
        assert any(f"{engine}: node at {stand_in} {STOPS[body]}" in gap["why"] for gap in report["not_run"])
    ran = cli("inspect", "chat_template.jinja", "--engine", "transformers.js", "--output-format", "json")
    assert (ran.code, ran.err) == (0, "")
    assert f"node at {stand_in} {STOPS[body]}" in ran.out
    for arguments, who in (
        (("--engine", "lmstudio"), "engine lmstudio"),
        (("--renderer", "hf-jinja", "--context", "c.json"), "renderer hf-jinja"),
    ):
        ran = cli("render", "chat_template.jinja", *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"error: {who} cannot go on: node at {stand_in} {STOPS[body]}")


def _renderings(sources: list[str]) -> Iterator[Any]:
    for source in sources:
        outcome = _outcome(source, {"x": 1})
        yield outcome if isinstance(outcome, str) else outcome.kind


def _hanging() -> Iterator[Any]:
    hf_jinja.compile_template(ENDLESS)
    yield os.getpid()
    _outcome(ENDLESS)


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package under a path of its own, so that the processes that run it can be told from others."""
    found = installed.package()
    assert found is not None
    shutil.copytree(found.folder, tmp_path / "@huggingface" / "jinja")
    monkeypatch.setenv(installed.NODE_MODULES, str(tmp_path))
    return tmp_path


def _running(copied: Path) -> list[str]:
    """The states of the processes that have the copy on their command lines."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(copied).encode() in (folder / "cmdline").read_bytes():
                found.append((folder / "stat").read_text("ascii").rpartition(")")[2].split()[0])
        except OSError:
            continue
    return found


@needs_package
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")
@pytest.mark.parametrize("sources", [["{{ x }}"] * 3, ["{{ x }}", ENDLESS, MEMORY, "{{ x + 1 }}"]])
def test_no_process_is_left_of_a_bounded_run(copied: Path, sources: list[str]) -> None:
    items, stop = bounded.run(_renderings, sources)
    expected = {"{{ x }}": "1", "{{ x + 1 }}": "2", ENDLESS: "timeout", MEMORY: "too-large"}
    assert (items, stop) == ([expected[source] for source in sources], None)
    assert _running(copied) == []


@needs_package
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")
def test_a_node_ends_after_its_parent_was_killed(copied: Path) -> None:
    _, stop = bounded.run(_hanging, limits=bounded.Limits(wall=0.8))
    assert stop is not None
    assert stop.kind == "timeout"
    deadline = time.monotonic() + 20
    while [state for state in _running(copied) if state != "Z"]:  # nobody may be there to collect it
        assert time.monotonic() < deadline
        time.sleep(0.05)


@needs_package
def test_a_child_has_a_node_of_its_own() -> None:
    held = hf_jinja.compile_template("{{ x }}")
    assert bounded.run(_renderings, ["{{ x }}"] * 2) == (["1", "1"], None)
    assert held.render({"x": 2}, NOW) == "2"


@needs_package
@pytest.mark.usefixtures("copied")
def test_templates_share_a_node_that_ends_with_the_last() -> None:
    programs = [hf_jinja.compile_template(source) for source in ("{{ x }}", "{{ x + 1 }}")]
    common = shared()
    assert [each.render({"x": 1}, NOW) for each in programs] == ["1", "2"]
    assert shared() is common
    process = common._process  # noqa: SLF001 (whether it ended is seen nowhere else)
    assert process is not None
    del programs[:], common
    gc.collect()
    assert process._popen.returncode is not None  # noqa: SLF001 (the same)


@needs_package
def test_after_a_case_that_hangs_the_others_are_not_tried() -> None:
    source = "{% for m in messages %}{{ m.content }}{% if m.role == 'system' %}" + ENDLESS + "{% endif %}{% endfor %}"
    template = Template("default", source, Origin("t.jinja", source))
    engine = transformers_js.engine("transformers.js")
    ids = ("chat-basic", "chat-system", "chat-turns")
    observed = matrix.observe(
        Model("t.jinja", "file", (template,)), template, [engine], [cases.get(case_id) for case_id in ids]
    )
    assert observed.cells["chat-basic", engine.name].prompt
    hung = observed.cells["chat-system", engine.name].error
    assert hung is not None
    assert hung.kind == "timeout"
    assert ("chat-turns", engine.name) in observed.skipped


# -------------------------------------------------------------------------------------------- the command line


@needs_package
@pytest.mark.usefixtures("folder")
def test_rendering_with_the_renderer_alone(cli: InProcess) -> None:
    Path("c.json").write_text('{"x": {"y": 1.0}}', encoding="utf-8")
    Path("t.jinja").write_text("{{ x }}{{ raise_exception('no') if z is defined }}", encoding="utf-8")
    ran = cli("render", "t.jinja", "--renderer", "hf-jinja", "--context", "c.json", "--output-format", "jsonl")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["prompt"] == '{"y": 1}'


@pytest.mark.usefixtures("folder", "bare")
def test_the_renderer_says_what_it_lacks(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    Path("c.json").write_text("{}", encoding="utf-8")
    Path("t.jinja").write_text("{{ 1 }}", encoding="utf-8")
    ran = cli("render", "t.jinja", "--renderer", "hf-jinja", "--context", "c.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: renderer hf-jinja cannot run here: node is not on PATH\n"
        "help: install Node.js and run: npm install -g @huggingface/jinja\n"
    )

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jinja2
import pytest
from program import CHATML, DEAF
from reference import every, real_templates

from templatelint import cases, engines, matrix, pin
from templatelint.errors import TemplatelintError
from templatelint.model import Launch, Model, Origin, Template
from templatelint.pin import checking, lock, normal, place, rendered
from templatelint.pin.entries import entries
from templatelint.sources import endpoint
from templatelint.sources.file import ASSUMED

if TYPE_CHECKING:
    from pathlib import Path

    from templatelint.pin.lock import Entry, Lock

ONE = ("transformers",)
# a guard that llama.cpp switches off as it loads a template
PATCHED = (
    CHATML.removesuffix("\n")
    + '{#- <|channel|> -#}{%- for message in messages %}{%- if "<|channel|>analysis<|message|>" in message.content or'
    ' "<|channel|>final<|message|>" in message.content %}{%- endif %}{%- endfor %}\n'
)


def _model(*sources: str, ref: str = "m.jinja", kind: str = "file", **more: Any) -> Model:
    names = ("default", "tool_use", "rag")
    templates = tuple(Template(name, text, Origin(ref, text)) for name, text in zip(names, sources, strict=False))
    return Model(ref, kind, templates, ASSUMED, **more)


def _server(*sources: str, engine: str = "llama.cpp", ref: str = "server:http://127.0.0.1:1", **settings: Any) -> Model:
    return _model(*sources, ref=ref, kind="server", launch=Launch(engine, settings=settings), local=False)


def _entry(source: str = CHATML, ref: str = "m.jinja", name: str = "default", **more: Any) -> Entry:
    made = lock.Entry(
        ref, name, "file", normal.digest(source), normalised=normal.digests(source, name), engines=ONE, text=source
    )
    return replace(made, **more)


def _lock(*entries: Entry) -> Lock:
    return lock.Lock("l.lock", entries)


def _told(model: Model, *entries: Entry, as_ref: str | None = None) -> list[str]:
    found, not_run = pin.check(model, _lock(*entries), as_ref=as_ref)
    assert all(row.why == "prompts are not compared: l.lock holds digests alone" for row in not_run)
    assert not not_run or any(entry.text is None for entry in entries)
    assert {one.rule for one in found} <= {"TL704"}
    return [f"{one.severity} {one.message}" for one in found]


def _why_not(model: Model, *entries: Entry) -> str:
    found, (row,) = pin.check(model, _lock(*entries))
    assert found == ()
    assert row.no_answer
    assert row.rule == "TL704"
    return row.why


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The servers of these tests are none: they make no prompts."""
    monkeypatch.setattr(endpoint, "prompts", lambda _, bodies: [None for _ in bodies])


# ------------------------------------------------------------------------------------------------- the text

TEXTS = ("", "a", "a\n", "a\n\n", "a\r\nb\r\n", "a\rb\n", "a\r", "\ufeffa\n", "\n", "\r\n")


@pytest.mark.parametrize("text", TEXTS)
def test_jinja2_parses_what_we_say(text: str) -> None:
    assert jinja2.Environment(autoescape=True).from_string(text).render() == normal.as_read("jinja2", text)


@pytest.mark.parametrize("text", TEXTS)
def test_minijinja_parses_what_we_say(text: str) -> None:
    minijinja = pytest.importorskip("minijinja")
    assert minijinja.Environment().render_str(text) == normal.as_read("minijinja", text)


@pytest.mark.parametrize(
    ("text", "llama_cpp", "hf_jinja"),
    [("a\r\nb\r\n", "a\nb", "a\r\nb\r"), ("a\r", "a\n", "a\r"), ("a\n\n", "a\n", "a\n"), ("a", "a", "a")],
)
def test_what_other_renderers_parse(text: str, llama_cpp: str, hf_jinja: str) -> None:
    assert normal.as_read("llama.cpp", text) == llama_cpp
    assert normal.as_read("hf-jinja", text) == hf_jinja


def test_digests_are_those_of_other_texts_alone() -> None:
    assert normal.digests("a", "default") == {}
    assert set(normal.digests("a\n", "default").values()) == {normal.digest("a")}
    assert normal.digests(PATCHED, "default")["llama.cpp"] != normal.digests(PATCHED, "default")["jinja2"]
    # llama.cpp leaves all others as they are
    assert len(set(normal.digests(PATCHED, "tool_use").values())) == 1


# ------------------------------------------------------------------------------------------------- the file

HOSTILE = ("", "\n", "'\n", "a'''b\n", "a\r\nb", "\x7f\n\x00", "\\n\n", "\n\n a", "\ufeffx\n", "é\u2028\n", "=======\n")


def test_a_lock_comes_back_as_it_was_written() -> None:
    pinned = tuple(
        _entry(text, f"{number:03}.jinja", flags={"vllm": ("--a", "b")}, picked=number == 1)
        for number, text in enumerate([*HOSTILE, *(real_templates()[name] for name in every(20))])
    )
    written = lock.written(pinned)
    assert lock.parsed(written.encode(), "l.lock").entries == pinned
    assert lock.written(lock.parsed(written.encode(), "l.lock").entries) == written
    # Git may give it other newlines, and an editor a mark
    assert lock.parsed(b"\xef\xbb\xbf" + written.replace("\n", "\r\n").encode(), "l.lock").entries == pinned


def test_a_template_stands_in_it_line_by_line() -> None:
    assert f"text = '''\n{CHATML}'''\n" in lock.written([_entry()])
    assert tomllib.loads(lock.written([_entry()]))["template"][0]["sha256"] == normal.digest(CHATML)


def test_entries_are_renewed_and_others_kept() -> None:
    one, other = _entry("1", "a"), _entry("2", "b")
    old = _lock(other, _entry("0", "a"), _entry("3", "a", "tool_use"))
    assert old.renewed([one]).entries == (one, other)
    picked = _entry("4", "a", "tool_use", picked=True)
    assert [entry.text for entry in old.renewed([picked]).entries] == ["0", "4", "2"]
    assert not old.renewed([picked]).entries[1].picked, "one of all that are pinned stays one of them"
    assert _lock(other).renewed([picked]).entries == (picked, other)


GOOD = lock.written([_entry("a")])
ROW = GOOD[GOOD.index("[[template]]") :]
SHA = normal.digest("a")


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("", "l.lock is empty"),
        ("version = ", "l.lock: not TOML: "),
        ("version = 1\n" + "a = " + "[" * 5000, "l.lock nests values too deeply"),
        ("version = 1\na = " + "1" * 5000, "l.lock: not TOML: "),
        ("[[template]]\n", "l.lock is no lock: it has no version"),
        ('version = "1"\n', "l.lock is no lock: its version is no whole number"),
        ("version = true\n", "l.lock is no lock: its version is no whole number"),
        (GOOD.replace('"file"', '"ollama"'), "l.lock: template 1: m.jinja is no reference of source ollama"),
        (GOOD.replace('"file"', '"hub"').replace('"m.jinja"', '"http://h/a"'), "l.lock: template 1: http://h/a is no"),
        ("version = 2\n", "l.lock is a lock of version 2, this templatelint reads 1"),
        ("version = 1\ntemplates = []\n", 'l.lock: unknown member "templates"'),
        ("version = 1\ntemplate = 1\n", 'l.lock: "template" is no list of tables'),
        ("version = 1\ntemplate = [1]\n", "l.lock: template 1 is no table"),
        ("version = 1\n[[template]]\n", 'l.lock: template 1 has no "ref"'),
        (GOOD + ROW, "l.lock: template 2 is there twice: m.jinja default"),
        (GOOD.replace("sha256", "sha265"), 'l.lock: template 1: unknown member "sha265"'),
        (GOOD.replace('"a"', '"b"'), "l.lock: template 1 (m.jinja): its text is not the one of its sha256"),
        (GOOD.replace('text = "a"', "text = 1"), 'l.lock: template 1: "text" is no string'),
        (GOOD.replace(SHA, SHA[1:]).replace('text = "a"', ""), f"l.lock: template 1: {SHA[1:][:40]}"),
        (GOOD.replace('"file"', '"fiel"'), 'l.lock: template 1: unknown source "fiel"'),
        (GOOD.replace('["transformers"]', '["transfromers"]'), 'l.lock: template 1: unknown engine "transfromers"'),
        (GOOD.replace('["transformers"]', "[1]"), 'l.lock: template 1: "engines" is no list of strings'),
        (GOOD + "[template.normalised]\njinja3 = 1\n", 'l.lock: template 1: unknown renderer "jinja3"'),
        (GOOD + "[template.normalised]\njinja2 = 1\n", "l.lock: template 1: 1 is no sha256"),
        (GOOD + "[template.flags]\nvllm = 1\n", 'l.lock: template 1: "flags" is no table of lists of strings'),
        (GOOD.replace("source =", "picked = 1\nsource ="), 'l.lock: template 1: "picked" is neither true nor false'),
        (f"version = 1\n<<<<<<< ours\n{ROW}=======\n{ROW}>>>>>>> theirs\n", "l.lock:2: has the conflict markers"),
        (
            lock.written([_entry("a\nb\n")]).replace("a\nb\n", "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"),
            "l.lock:11: has the conflict markers",
        ),
        ("\0", "l.lock is binary"),
        ("version https://git-lfs.github.com/spec/v1\n", "l.lock is a Git LFS pointer"),
    ],
)  # fmt: skip
def test_a_damaged_lock_is_one_line(raw: str, says: str) -> None:
    with pytest.raises(TemplatelintError) as caught:
        lock.parsed(raw.encode(), "l.lock")
    assert caught.value.message.startswith(says)
    assert "\n" not in caught.value.message


def test_conflict_markers_in_a_template_are_its_own() -> None:
    text = "<<<<<<< ours\n=======\n>>>>>>> theirs\n"
    assert lock.parsed(lock.written([_entry(text)]).encode(), "l.lock").entries[0].text == text


# ----------------------------------------------------------------------------------------------- what is pinned


def test_what_is_kept_of_a_template() -> None:
    (entry,) = entries(_model(CHATML, kind="gguf", metadata={"hub.commit": "c0ffee"}), ("vllm",), "l.lock")
    assert entry == lock.Entry(
        "m.jinja",
        "default",
        "hub",
        normal.digest(CHATML),
        kind="gguf",
        place="tokenizer.chat_template",
        revision="c0ffee",
        dialect="hermes",
        engines=("vllm",),
        normalised=normal.digests(CHATML, "default"),
        flags={"vllm": ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")},
        text=CHATML,
    )


def test_an_ollama_model_is_pinned_with_its_go_template() -> None:
    model = _model(CHATML, ref="ollama:m", kind="ollama", metadata={"ollama.template": "{{ .Prompt }}"})
    first, second = entries(model, ("llama.cpp",), "l.lock")
    assert (first.name, first.source, second.name, second.text) == ("default", "ollama", "TEMPLATE", "{{ .Prompt }}")
    assert _told(model, first, second) == []
    (line,) = _told(replace(model, metadata={"ollama.template": "{{ .System }}"}), first, second)
    assert line.startswith("error not the template that l.lock pins: sha256 ")
    (line,) = _told(replace(model, metadata={}), first, second)
    assert line == 'error l.lock pins a template "TEMPLATE", which is gone'


def test_half_a_character_is_pinned_by_its_digest() -> None:
    (entry,) = entries(_model("\ud800"), ONE, "l.lock")
    assert entry.text is None
    assert lock.parsed(lock.written([entry]).encode(), "l.lock").entries == (entry,)


def test_a_running_server_is_pinned_for_its_engine() -> None:
    ref = "server:http://u:secret@h:1"
    (entry,) = entries(_server(CHATML, engine="vllm", ref=ref), (), "l.lock")
    assert (entry.ref, entry.source, entry.engines) == ("server:http://h:1", "server", ("vllm",))


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (_model(), "m.jinja carries no chat template"),
        (_model("a", ref="-", kind="stdin"), "standard input cannot be pinned"),
        (_model("a", ref="http://h/d?…"), "what stands behind its \\? may be a secret, and is not written"),
        (_model("a", ref="http://…"), "may be a secret"),
    ],
)
def test_what_cannot_be_pinned(model: Model, says: str) -> None:
    with pytest.raises(TemplatelintError, match=says):
        entries(model, ONE, "l.lock")


def test_paths_are_those_seen_from_the_lock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "below" / "deep").mkdir(parents=True)
    for here, ref, at, wanted in (
        (".", "chat_template.jinja", "l.lock", "chat_template.jinja"),
        (".", "./below/../chat_template.jinja", "below/l.lock", "../chat_template.jinja"),
        ("below", "../chat_template.jinja", "deep/l.lock", "../../chat_template.jinja"),
        (".", str(folder / "deaf.jinja"), "below/deep/l.lock", "../../deaf.jinja"),
        (".", "below/", "l.lock", "below"),
    ):
        monkeypatch.chdir(folder / here)
        found = place.of(ref, at)
        assert found == (wanted, "file")
        assert (folder / here / place.typed(_entry(ref=wanted), at)).resolve() == (folder / here / ref).resolve()


@pytest.mark.parametrize(
    ("ref", "wanted"),
    [
        ("owner/name@v1", ("owner/name@v1", "hub")),
        ("hf:owner/name", ("owner/name", "hub")),
        ("https://u:p@h/t.jinja", ("https://h/t.jinja", "url")),
        ("ollama:qwen3", ("ollama:qwen3", "ollama")),
        ("server:http://h:1?model=a@b", ("server:http://h:1?model=a@b", "server")),
    ],
)
def test_what_is_elsewhere_is_pinned_by_its_address(ref: str, wanted: tuple[str, str]) -> None:
    assert place.of(ref, "l.lock") == wanted


def test_a_file_that_is_gone_is_no_repository(folder: Path) -> None:
    del folder
    with pytest.raises(TemplatelintError, match=r"no such file: owner/name, which l\.lock pins"):
        place.typed(_entry(ref="owner/name"), "l.lock")


def test_a_repository_is_none_of_the_folders_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "owner" / "name").mkdir(parents=True)
    assert place.typed(replace(_entry(ref="owner/name"), source="hub"), "l.lock") == "hf:owner/name"
    assert place.typed(replace(_entry(ref="owner/other"), source="hub"), "l.lock") == "owner/other"


# ------------------------------------------------------------------------------------------------- checking


def test_the_pinned_template_is_silent() -> None:
    assert _told(_model(CHATML), _entry()) == []


def test_what_breaks_is_told_by_what_it_does() -> None:
    found, _ = pin.check(_model(DEAF), _lock(_entry()))
    (one,) = found
    assert one.severity == "error"
    assert one.message.startswith("not the template that l.lock pins: system messages never reach the model; ")
    assert "; prompts differ: " in one.message
    assert one.engines == ONE
    assert ("chat-system", "transformers") in one.evidence
    assert one.help.endswith("templatelint pin m.jinja --lock l.lock")


def test_what_merely_differs_is_an_error_too() -> None:
    (line,) = _told(_model(CHATML.replace("<|im_end|>", "<|im_end|> ")), _entry())
    assert line.startswith("error not the template that l.lock pins: ")
    assert "prompts differ: chat-basic, " in line


def test_the_same_prompts_are_a_warning() -> None:
    (line,) = _told(_model("{#- mended -#}\n" + CHATML), _entry())
    assert line.startswith("warning other bytes than l.lock pins (sha256 ")
    assert line.endswith("and the same prompts on transformers")


def test_other_newlines_are_a_warning() -> None:
    (line,) = _told(_model(CHATML.replace("\n", "\r\n")), _entry())
    assert line == "warning other newlines than l.lock pins, and the same text for transformers"
    (line,) = _told(_model(CHATML.rstrip("\n")), _entry(engines=("transformers", "llama.cpp")))
    assert line == "warning other newlines than l.lock pins, and the same text for transformers, llama.cpp"


def test_without_the_text_digests_are_all_there_is() -> None:
    assert _told(_model(CHATML), _entry(text=None)) == []
    (line,) = _told(_model(DEAF), _entry(text=None))
    hashes = f"sha256 {normal.digest(DEAF)[:12]} in place of {normal.digest(CHATML)[:12]}"
    assert line == f"error not the template that l.lock pins: {hashes}"


def test_a_template_that_no_engine_loads_is_told_as_one() -> None:
    (line,) = _told(_model("{% if %}"), _entry())
    assert line.startswith("error not the template that l.lock pins: the template ")


@pytest.mark.parametrize(
    ("there", "engines", "told"),
    [
        ((CHATML,), ONE, ['error l.lock pins a template "tool_use", which is gone']),
        ((CHATML, DEAF), ONE, []),
        ((CHATML, DEAF, DEAF), ONE, ['warning l.lock pins no template "rag"; no engine in question takes it']),
    ],
)
def test_templates_that_are_gone_or_new(there: tuple[str, ...], engines: tuple[str, ...], told: list[str]) -> None:
    pinned = (_entry(engines=engines), _entry(DEAF, name="tool_use", engines=engines))
    assert _told(_model(*there), *pinned) == told


def test_a_new_template_that_an_engine_takes_is_an_error() -> None:
    (line,) = _told(_model(CHATML, DEAF), _entry())
    assert line == 'error l.lock pins no template "tool_use", and transformers takes it'
    # who picked one has said nothing of the others
    assert _told(_model(CHATML, DEAF), _entry(picked=True)) == []
    picked = replace(_model(CHATML, DEAF), templates=_model(CHATML, DEAF).templates[1:], picked=True)
    assert _told(picked, _entry(), _entry(DEAF, name="tool_use")) == []


@pytest.mark.parametrize(
    ("pinned", "why"),
    [
        ((), "l.lock does not pin m.jinja"),
        ((_entry(ref="n.jinja"),), "l.lock does not pin m.jinja"),
    ],
)
def test_what_is_not_pinned_has_no_answer(pinned: tuple[Entry, ...], why: str) -> None:
    assert _why_not(_model(CHATML), *pinned) == why


# -------------------------------------------------------------------------------------------- running servers


@pytest.mark.parametrize(
    ("served", "told"),
    [
        (CHATML, []),
        (CHATML.rstrip("\n"), []),
        (CHATML.replace("\n", "\r\n"), []),
        (DEAF, ["error not the template that l.lock pins: "]),
    ],
)
def test_a_server_is_held_against_the_file_it_was_started_with(served: str, told: list[str]) -> None:
    lines = _told(_server(served), _entry(ref="models/m.gguf"))
    assert [line.startswith(start) for line, start in zip(lines, told, strict=True)] == [True] * len(told)


def test_a_server_tells_its_text_as_the_engine_has_read_it() -> None:
    assert _told(_server(CHATML + "\n"), _entry(CHATML + "\n\n", ref="models/m.gguf")) == []


def test_what_the_engine_patches_is_told_as_that() -> None:
    from templatelint.engines.llamacpp.facts import load

    served = _server(load().patched(PATCHED).rstrip("\n"))
    line = "note the template that l.lock pins, patched by the engine: llama.cpp rewrites a guard as it loads it"
    assert _told(served, _entry(PATCHED)) == [line]
    assert _told(served, _entry(PATCHED, text=None)) == [line]
    # builds that patch nothing
    assert _told(_server(PATCHED.rstrip("\n")), _entry(PATCHED)) == []


def test_which_entry_a_server_is_held_against() -> None:
    a, b = _entry(CHATML, "models/a.gguf", text=None), _entry(DEAF, "models/b.gguf", text=None)
    assert _told(_server(DEAF, model_path="/srv/b.gguf"), a, b) == []
    assert len(_told(_server(CHATML, model_path="C:\\srv\\b.gguf"), a, b)) == 1
    assert _told(_server(CHATML), a, b, as_ref="models/a.gguf") == []
    assert _told(_server(CHATML, DEAF), a, replace(b, ref=a.ref, name="tool_use"), as_ref="models/a.gguf") == []
    assert _why_not(_server(CHATML), a, b) == "l.lock pins 2 models that it may serve: name the one with --as"
    own = replace(b, ref="server:http://127.0.0.1:1", source="server")
    assert _told(_server(DEAF, model_path="/srv/a.gguf"), a, b, own) == []
    found, (row,) = pin.check(_server(CHATML), _lock(a), as_ref="c.gguf")
    assert (found, row.why) == ((), "l.lock does not pin c.gguf")


def test_a_server_of_this_machine_has_two_names() -> None:
    pinned = _entry(ref="server:http://127.0.0.1:8080?model=a")
    assert _told(_server(CHATML, ref="server:http://localhost:8080?model=a"), pinned) == []
    other = _why_not(_server(CHATML, ref="server:http://localhost:80?model=a"), replace(pinned, source="server"))
    assert other == "l.lock does not pin server:http://localhost:80?model=a, nor a model that it may serve"


def test_what_mends_where_one_stands_for_another() -> None:
    one = checking.held(_model(DEAF, ref="x.jinja"), _lock(_entry(ref="y.jinja")), "y.jinja")
    assert isinstance(one, checking.Held)
    (found,), _ = checking.verdict(one)
    assert (
        found.help == "make both the same; where y.jinja is what is meant now: templatelint pin y.jinja --lock l.lock"
    )


def test_a_picked_template_given_to_a_server_is_its_only_one() -> None:
    tools = _entry(DEAF, "m.gguf", "tool_use", text=None)
    assert _told(_server(DEAF), _entry(ref="m.gguf"), tools, as_ref="m.gguf#tool_use") == []
    assert len(_told(_server(CHATML), _entry(ref="m.gguf"), tools, as_ref="m.gguf#tool_use")) == 1


def test_servers_tell_not_all_templates_of_a_file() -> None:
    pinned = [_entry(ref="m.gguf"), _entry(DEAF, "m.gguf", "tool_use"), _entry(DEAF, "m.gguf", "rag")]
    assert _told(_server(CHATML, DEAF), *pinned) == []
    # llama-server would tell that one: it has lost it
    assert _told(_server(CHATML), *pinned) == ['error l.lock pins a template "tool_use", which is gone']
    assert _told(_server(CHATML, engine="vllm"), *pinned) == []


def test_a_server_that_tells_no_template_has_no_answer() -> None:
    assert _why_not(_server(engine="sglang"), _entry()) == "the server does not tell its template"


# --------------------------------------------------------------------------------- what a llama-server renders


def _prompts(source: str) -> list[str | None]:
    engine = engines.get("llama.cpp")
    requests = [cases.get(case_id).request for case_id in rendered.CASES]
    return [one.prompt for _, one in matrix.observe_requests(_server(source), engine, requests)]


@pytest.mark.parametrize(
    ("source", "change", "launch", "told"),
    [
        (CHATML, "", Launch("llama.cpp"), []),
        (CHATML, "moon", Launch("llama.cpp"), ["warning the pinned template is in force, and makes other"]),
        (CHATML, "moon", Launch("llama.cpp", "b1-x"), ["note the pinned template is in force, and makes other"]),
        (CHATML, "moon", Launch("llama.cpp", "b11549-x", ("--reasoning", "off")), ["note the pinned template is"]),
        (CHATML, "moon", Launch("llama.cpp", "b0-unknown", ("--chat_template_kwargs={}",)), ["note the pinned"]),
        (CHATML, "moon", Launch("llama.cpp", "b11549", ("--port", "1")), ["warning the pinned template is in force"]),
        # what tells the date is another text every day
        ("{{ strftime_now('%d') }}" + CHATML, "moon", Launch("llama.cpp"), []),
    ],
)  # fmt: skip
def test_prompts_of_a_llama_server_are_those_of_the_pinned_template(
    monkeypatch: pytest.MonkeyPatch, source: str, change: str, launch: Launch, told: list[str]
) -> None:
    there = [None if prompt is None else prompt + change for prompt in _prompts(source)]
    assert None not in there
    monkeypatch.setattr(endpoint, "prompts", lambda _ref, _bodies: there)
    model = replace(_server(source), launch=launch)
    lines = _told(model, _entry(source))
    assert [line.startswith(start) for line, start in zip(lines, told, strict=True)] == [True] * len(told)


def test_prompts_that_cannot_be_had_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_ref: str, _bodies: object) -> None:
        raise TemplatelintError("the moon is away")

    monkeypatch.setattr(endpoint, "prompts", refuses)
    found, (row,) = pin.check(_server(CHATML), _lock(_entry()))
    assert (found, row.why, row.no_answer) == ((), "prompts are not compared: the moon is away", False)

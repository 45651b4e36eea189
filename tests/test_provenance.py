from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from templatelint import provenance
from templatelint.errors import TemplatelintError
from templatelint.lint import Options
from templatelint.model import Finding, Model, NotRun, Origin, Template, Tokenizer
from templatelint.provenance.claims import Claim, claimed
from templatelint.provenance.reachable import unreachable
from templatelint.sources import model_card
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from pathlib import Path

    from hub_server import HubServer

TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOOLS = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}" + TURNS
REWORDED = "{#- the same -#}" + TURNS.replace(" m in", " message in").replace("m.", "message.")
OPTIONS = Options(engines=("transformers",), needs=("chat", "tools"), vetting=True)


def _model(source: str | dict[str, str], kind: str = "gguf", ref: str = "m.gguf", **metadata: Any) -> Model:
    named = {"default": source} if isinstance(source, str) else source
    templates = tuple(Template(name, text, Origin(ref, text, locatable=False)) for name, text in named.items())
    return Model(ref, kind, templates, Tokenizer(special_tokens={"eos_token": "</s>"}), metadata=metadata)


def _base(folder: Path, source: str) -> str:
    path = folder / "base.jinja"
    path.write_text(source, encoding="utf-8")
    return str(path)


# ---------------------------------------------------------------------------------------- what files claim


@pytest.mark.parametrize(
    ("kind", "metadata", "told"),
    [
        ("gguf", {"hub.base_model": ("Qwen/Qwen3-8B",)}, Claim("hf:Qwen/Qwen3-8B", copy=True, said="hub.base_model")),
        ("folder", {"hub.base_model": "Qwen/Qwen3-8B"}, Claim("hf:Qwen/Qwen3-8B", copy=False, said="hub.base_model")),
        (
            "folder",
            {"hub.base_model": "Qwen/Qwen3-8B", "hub.base_model_relation": "quantized"},
            Claim("hf:Qwen/Qwen3-8B", copy=True, said="hub.base_model"),
        ),
        (
            "gguf",
            {"hub.base_model": "Qwen/Qwen3-8B", "hub.base_model_relation": "adapter"},
            Claim("hf:Qwen/Qwen3-8B", copy=False, said="hub.base_model"),
        ),
        (
            "gguf",
            {"general.source.huggingface.repository": "Qwen/Qwen3-8B", "general.base_model.0.name": "Qwen3 8B Base"},
            Claim("hf:Qwen/Qwen3-8B", copy=True, said="general.source.huggingface.repository"),
        ),
        (
            "gguf",
            {"general.base_model.0.repo_url": "https://huggingface.co/Qwen/Qwen3-8B", "general.name": "Qwen3-8B"},
            Claim("hf:Qwen/Qwen3-8B", copy=True, said="general.base_model.0.repo_url"),
        ),
        (
            "gguf",
            {"general.base_model.0.repo_url": "https://huggingface.co/Qwen/Qwen3-8B-Base/", "general.name": "Qwen3-8B"},
            Claim("hf:Qwen/Qwen3-8B-Base", copy=False, said="general.base_model.0.repo_url"),
        ),
        (
            "gguf",
            {
                "general.base_model.0.name": "Qwen3 8B",
                "general.base_model.0.organization": "Qwen",
                "general.name": "Qwen3-8B-unsloth-bnb-4bit",
            },
            Claim("hf:Qwen/Qwen3-8B", copy=True, said="general.base_model.0.name"),
        ),
        (
            "gguf",
            {"general.repo_url": "https://huggingface.co/Qwen/Qwen3-8B/tree/main"},
            Claim("hf:Qwen/Qwen3-8B", copy=True, said="general.repo_url"),
        ),
    ],
)
def test_what_a_model_says_that_it_was_made_of(kind: str, metadata: dict[str, Any], told: Claim) -> None:
    assert claimed(_model(TURNS, kind, **metadata)) == told


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({}, "nothing in its files says what it was made of"),
        ({"general.repo_url": "https://huggingface.co/unsloth"}, "nothing in its files says what it was made of"),
        ({"hub.base_model": ["a/b", "c/d"]}, "it was made of several models: a/b, c/d"),
        (
            {"general.base_model.0.repo_url": "https://hf.co/a/b", "general.base_model.1.name": "C"},
            "it was made of several models: https://hf.co/a/b, C",
        ),
        (
            {"general.source.url": "https://github.com/a/b"},
            "general.source.url is https://github.com/a/b, which names no repository of the Hub",
        ),
        ({"hub.base_model": "../../etc"}, "hub.base_model is ../../etc, which names no repository of the Hub"),
        ({"hub.base_model": "owner/own"}, "hub.base_model names the model itself"),
        ({"hub.base_model": 3, "general.base_model.0.name": 7}, "nothing in its files says what it was made of"),
        ({"general.base_model.0.name": "x" * 5000}, f"{'x' * 40}"),
    ],
)
def test_why_no_model_is_known(metadata: dict[str, Any], why: str) -> None:
    told = claimed(_model(TURNS, ref="owner/own:Q4_K_M", **metadata))
    assert isinstance(told, str)
    assert why in told
    assert len(told) < 300


@pytest.mark.parametrize(
    ("own", "base", "copy"),
    [
        ("Qwen3-8B-Q4_K_M", "Qwen/Qwen3-8B", True),
        ("Qwen3-8B-GGUF", "Qwen/Qwen3-8B", True),
        ("qwen3_8b.i1-IQ2_XXS", "Qwen/Qwen3-8B", True),
        ("Qwen3-8B-UD-Q8_K_XL", "Qwen/Qwen3-8B", True),
        ("gemma-3-4b-it-qat-4bit", "google/gemma-3-4b-it-qat", True),
        ("Qwen3-8B-Instruct", "Qwen/Qwen3-8B", False),
        ("Llama-3", "meta-llama/Llama-2", False),
        ("Model-S", "vendor/Model-M", False),
        ("Qwen3-8B", "Qwen/Qwen3-8B-Base", False),
    ],
)
def test_a_name_tells_another_form_of_a_model_from_another_model(own: str, base: str, *, copy: bool) -> None:
    told = claimed(_model(TURNS, "folder", own, **{"hub.base_model": base}))
    assert isinstance(told, Claim)
    assert told.copy == copy


@pytest.mark.parametrize(
    "path",
    ["/data/llama", "/etc/passwd", "C:\\x", "p/t.jinja", "a/b/c", "https://hf.co/datasets/a/b", "./a/b"],
)
def test_a_path_is_no_repository(path: str) -> None:
    told = claimed(_model(TURNS, **{"general.base_model.0.repo_url": path}))
    assert told == f"general.base_model.0.repo_url is {path}, which names no repository of the Hub"


def test_what_stands_in_for_the_hub_has_repositories_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example.org/")
    told = claimed(_model(TURNS, **{"general.source.url": "https://hub.example.org/a/b/tree/main?x"}))
    assert isinstance(told, Claim)
    assert told.ref == "hf:a/b"


def test_a_longer_name_is_not_the_model_itself() -> None:
    assert isinstance(claimed(_model(TURNS, ref="hf:a/b-it", **{"hub.base_model": "a/b"})), Claim)
    assert (
        claimed(_model(TURNS, ref="hf:A/b@main", **{"hub.base_model": "a/b"}))
        == "hub.base_model names the model itself"
    )


# ------------------------------------------------------------------------------------------ front matter


@pytest.mark.parametrize(
    ("card", "told"),
    [
        ("---\nbase_model: a/b\n---\n", {"hub.base_model": ("a/b",)}),
        ("---\r\nbase_model: 'a/b' # it\r\n---\r\n", {"hub.base_model": ("a/b",)}),
        ('---\nbase_model: ["a/b", c/d]\n---\n', {"hub.base_model": ("a/b", "c/d")}),
        ("---\nbase_model:\n  - a/b\n# more\n\n  - c/d\nlicense: x\n- e/f\n---\n", {"hub.base_model": ("a/b", "c/d")}),
        (
            "---\nbase_model:\n- a/b\nbase_model_relation: quantized\n---\n",
            {"hub.base_model": ("a/b",), "hub.base_model_relation": "quantized"},
        ),
        ("\ufeff---\nbase_model: a/b\n---\n", {"hub.base_model": ("a/b",)}),
        ("---\nbase_model: a/b\n", {}),
        ("base_model: a/b\n", {}),
        ("---\nmodel-index:\n  base_model: a/b\n---\n", {}),
        ("---\nbase_model: a\x1b[2J/b\n---\n", {}),
        ("---\nbase_model:\n---\n", {}),
        ("", {}),
    ],
)
def test_front_matter(card: str, told: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "README.md").write_bytes(card.encode())
    assert model_card.read(str(tmp_path)) == told


def test_no_card_says_nothing(tmp_path: Path) -> None:
    assert model_card.read(str(tmp_path)) == {}
    (tmp_path / "README.md").mkdir()
    assert model_card.read(str(tmp_path)) == {}


# ---------------------------------------------------------------------------------------- what is found


def _upstream(model: Model, wanted: str, **reach: Any) -> tuple[list[Finding], list[NotRun]]:
    found, gaps = provenance.upstream(model, wanted, Reach(vetting=True, **reach), OPTIONS)
    return list(found), list(gaps)


def test_what_works_upstream_and_breaks_here_is_told(tmp_path: Path) -> None:
    base = _base(tmp_path, TOOLS)
    (lost, differs), gaps = _upstream(_model(TURNS), base)
    assert (lost.rule, lost.severity, lost.needs, lost.engines) == ("TL701", "warning", ("tools",), ("transformers",))
    assert f"; with the template of {base} this works" in lost.message
    assert differs.severity == "note"
    assert f"templatelint diff {base} m.gguf --engine transformers" in differs.help
    assert gaps == []


def test_a_template_that_was_mended_is_a_note_that_says_what_works_better(tmp_path: Path) -> None:
    ((differs,), gaps) = _upstream(_model(TOOLS), _base(tmp_path, TURNS))
    assert (differs.severity, gaps) == ("note", [])
    assert "; better here: " in differs.message


@pytest.mark.parametrize("source", [TURNS, TURNS.replace("\n", "\r\n"), REWORDED])
def test_equal_prompts_are_silent(source: str, tmp_path: Path) -> None:
    assert _upstream(_model(source), _base(tmp_path, TURNS)) == ([], [])


def test_nothing_is_held_against_none_nor_without_a_template_nor_where_the_rule_is_not_selected(tmp_path: Path) -> None:
    base = _base(tmp_path, TOOLS)
    assert _upstream(_model(TURNS), "none") == ([], [])
    assert _upstream(_model({}), base) == ([], [])
    ignored = Options(engines=("transformers",), ignore=("TL701",))
    assert provenance.upstream(_model(TURNS), base, Reach(), ignored) == ((), ())


def test_a_reference_that_was_asked_for_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(TemplatelintError, match="no such file"):
        _upstream(_model(TURNS), str(tmp_path / "missing.jinja"))


def test_a_picked_template_is_held_against_the_one_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(
        '{"chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]}', "utf-8"
    )
    picked = Model(
        "m.gguf", "gguf", (Template("tool_use", "b", Origin("m.gguf", "b")),), Tokenizer(), picked=True, local=False
    )
    assert _upstream(picked, str(tmp_path)) == ([], [])
    other = Model("m.gguf", "gguf", (Template("rag", "b", Origin("m.gguf", "b")),), Tokenizer(), picked=True)
    _, (gap,) = _upstream(other, str(tmp_path))
    assert gap.why == f"no upstream: {tmp_path} carries no chat template rag"


def test_the_model_that_a_file_names_is_fetched_and_held_against(hub: HubServer) -> None:
    from hub_server import Repo

    hub.repos["vendor/Model-8B"] = Repo({"chat_template.jinja": TOOLS, "tokenizer_config.json": "{}"})
    url = "https://huggingface.co/vendor/Model-8B"
    copy = _model(TURNS, **{"general.base_model.0.repo_url": url, "general.name": "Model 8B"})
    (lost, _), gaps = _upstream(copy, "auto")
    assert (lost.severity, lost.message.endswith("with the template of hf:vendor/Model-8B this works")) == (
        "warning",
        True,
    )
    assert gaps == []
    trained = _model(TURNS, **{"general.base_model.0.repo_url": url, "general.name": "Other 8B"})
    assert {finding.severity for finding in _upstream(trained, "auto")[0]} == {"note"}


@pytest.mark.usefixtures("hub")
def test_a_model_that_cannot_be_had_is_a_gap_and_no_error() -> None:
    model = _model(TURNS, **{"hub.base_model": "vendor/Model-8B"})
    for reach in ({}, {"offline": True}):
        found, (gap,) = _upstream(model, "auto", **reach)
        assert (found, gap.rule, gap.no_answer) == ([], "TL701", False)
        assert gap.why.startswith("no upstream: hub.base_model names hf:vendor/Model-8B: ")
    assert _upstream(_model(TURNS), "auto")[1] == [
        NotRun(
            "TL701",
            "m.gguf",
            "no upstream: nothing in its files says what it was made of; --upstream REF gives one to hold it against",
        )
    ]


def _no_names(*_: object) -> None:
    raise OSError


@pytest.mark.usefixtures("hub")
def test_without_a_network_the_cache_is_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.getaddrinfo", _no_names)
    _, (gap,) = _upstream(_model(TURNS, **{"hub.base_model": "vendor/Model-8B"}), "auto")
    assert ": the Hub's host is not found; vendor/Model-8B is not in the cache" in gap.why


def test_behind_a_proxy_names_are_not_looked_up_here(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.getaddrinfo", _no_names)
    assert unreachable()
    monkeypatch.setenv("HTTPS_PROXY", hub.endpoint)
    assert not unreachable()


@pytest.mark.parametrize(
    ("source", "base", "severity"),
    [
        (REWORDED, TURNS, None),
        (TURNS, TURNS.replace("}}<|im_end|>", "}} <|im_end|>"), "warning"),
        # plain chat is as it was, and what differs is better
        (TOOLS, TURNS, "note"),
    ],
    ids=["equal", "other prompts", "better"],
)
def test_prompts_of_plain_chat_that_a_copy_writes_otherwise_are_a_loss(
    tmp_path: Path, source: str, base: str, severity: str | None
) -> None:
    found, gaps = provenance.upstream(_model(source), _base(tmp_path, base), Reach(offline=True), OPTIONS)
    assert not gaps
    assert [one.severity for one in found] == ([severity] if severity else [])

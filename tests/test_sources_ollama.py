from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from gguf_bytes import header, text, texts, u32

from templatelint import cases, engines, sources
from templatelint.errors import TemplatelintError
from templatelint.model import RenderError, Request
from templatelint.sources import ollama, ollama_choice
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

IMAGE = "application/vnd.ollama.image."
JINJA = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
TOOLS = JINJA + "{{ tools }}{% if message.tool_calls %}<tool_response>{% endif %}"
GO = "{{ .System }}{{ .Prompt }}"


def gguf(template: str = JINJA) -> bytes:
    return header([("general.architecture", text("llama")), ("tokenizer.chat_template", text(template))])


class Store:
    """A store of models on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "blobs").mkdir(parents=True)

    def blob(self, content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (self.root / "blobs" / f"sha256-{digest}").write_bytes(content)
        return {"digest": f"sha256:{digest}", "size": len(content)}

    def layer(self, kind: str, content: bytes | str) -> dict[str, Any]:
        raw = content.encode() if isinstance(content, str) else content
        return {"mediaType": IMAGE + kind, **self.blob(raw)}

    def manifest(self, *layers: Mapping[str, Any], config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return {
            "schemaVersion": 2,
            "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "config": self.blob(json.dumps(config or {"model_format": "gguf"}).encode()),
            "layers": list(layers),
        }

    def write(self, name: str, manifest: Any, folder: str = "manifests") -> Path:
        path = self.root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(manifest if isinstance(manifest, str) else json.dumps(manifest), "utf-8")
        return path

    def model(self, name: str, jinja: str = JINJA, /, **layers: str) -> Path:
        """A model of a GGUF and further layers by their kind."""
        found = [self.layer("model", gguf(jinja)), *(self.layer(kind, raw) for kind, raw in layers.items())]
        return self.write(name, self.manifest(*found))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "models"))
    return Store(tmp_path / "models")


PUBLIC = "registry.ollama.ai/library/llama3/latest"


@pytest.mark.parametrize(
    ("ref", "place", "folder"),
    [
        ("ollama:llama3", PUBLIC, "manifests"),
        ("ollama:llama3:latest", PUBLIC, "manifests"),
        ("OLLAMA:llama3:8b-q4_K_M", "registry.ollama.ai/library/llama3/8b-q4_K_M", "manifests"),
        ("ollama:me/own:v1", "registry.ollama.ai/me/own/v1", "manifests"),
        ("ollama:hf.co/owner/name-GGUF:Q4_K_M", "hf.co/owner/name-GGUF/Q4_K_M", "manifests"),
        ("ollama:localhost:5000/ns/model", "localhost:5000/ns/model/latest", "manifests"),
        ("ollama:registry.ollama.ai/library/llama3", PUBLIC, "manifests"),
        ("ollama:llama3", "ollama.com/library/llama3/latest", "manifests-v2"),
    ],
)
def test_names(store: Store, ref: str, place: str, folder: str) -> None:
    store.write(place, store.manifest(store.layer("model", gguf())), folder)
    model = sources.resolve(ref, reach=Reach(offline=True))
    assert model.ref == ref
    assert model.kind == "ollama"
    assert model.templates[0].source == JINJA
    assert model.metadata["general.architecture"] == "llama"
    assert not model.local
    assert model.notes == ()


def test_the_newer_folder_goes_first_and_may_link(store: Store) -> None:
    store.model(PUBLIC, "old")
    blob = store.blob(json.dumps(store.manifest(store.layer("model", gguf("new")))).encode())
    link = store.root / "manifests-v2" / "ollama.com" / "library" / "llama3" / "latest"
    link.parent.mkdir(parents=True)
    link.symlink_to(store.root / "blobs" / blob["digest"].replace(":", "-"))
    assert sources.resolve("ollama:llama3").templates[0].source == "new"


def test_a_list_of_manifests(store: Store) -> None:
    child = store.blob(json.dumps(store.manifest(store.layer("model", gguf()))).encode())
    entries = [{"runner": "mlx", "layers": []}, {"runner": "llamacpp", "digest": child["digest"]}]
    store.write(PUBLIC, {"mediaType": "application/vnd.ollama.manifest.list.v2+json", "manifests": entries})
    assert sources.resolve("ollama:llama3").templates[0].source == JINJA


def test_of_a_split_the_first_part(store: Store) -> None:
    def part(number: int, *pairs: Any) -> dict[str, Any]:
        return store.layer("model", header([("split.no", u32(number)), ("split.count", u32(2)), *pairs]))

    first = part(0, ("tokenizer.chat_template", text("first")))
    store.write(PUBLIC, store.manifest(part(1), first))
    assert sources.resolve("ollama:llama3").templates[0].source == "first"


def test_vetting_reads_the_vocabulary(store: Store) -> None:
    raw = header([("tokenizer.ggml.tokens", texts("a", "b")), ("tokenizer.chat_template", text(JINJA))])
    store.write(PUBLIC, store.manifest(store.layer("model", raw)))
    vocabulary = sources.resolve("ollama:llama3", reach=Reach(vetting=True)).tokenizer.vocabulary
    assert vocabulary is not None
    assert vocabulary.size == 2


def test_the_usual_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_MODELS", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setattr(ollama, "_SERVICES", (str(tmp_path / "service"),))
    with pytest.raises(TemplatelintError, match="no models of Ollama in") as refused:
        sources.resolve("ollama:llama3")
    assert "OLLAMA_MODELS" in (refused.value.help or "")
    Store(tmp_path / ".ollama" / "models").model("registry.ollama.ai/library/a/latest")
    Store(tmp_path / "service").model("registry.ollama.ai/library/b/latest")
    assert sources.resolve("ollama:a").templates
    assert sources.resolve("ollama:b").templates


# ----------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "ref",
    [
        "ollama:",
        "ollama::tag",
        "ollama:a:",
        "ollama:../../etc/passwd",
        "ollama:..",
        "ollama:a/../b",
        "ollama:a:..",
        "ollama:/etc/passwd",
        "ollama:a/b/c/d",
        "ollama:a b",
        "ollama:a\x1b[31m",
        "ollama:" + "a" * 300,
        "ollama:a\\b",
        "ollama:" + "-" * 150,
        "ollama:a" + "-." * 90 + "!",
    ],
)
@pytest.mark.usefixtures("store")
def test_what_is_no_name(ref: str) -> None:
    with pytest.raises(TemplatelintError, match="names no model of Ollama") as refused:
        sources.resolve(ref)
    assert refused.value.message.isprintable()


@pytest.mark.parametrize(
    ("ref", "cure"),
    [
        ("ollama:llama4", "did you mean ollama:llama3:8b?"),
        ("ollama:llama3:7b", "did you mean ollama:llama3:8b?"),
        ("ollama:llama3", "did you mean ollama:llama3:8b?"),
        ("ollama:me/own", "did you mean ollama:me/own:v1?"),
        ("ollama:quite-another", "fetch it with: ollama pull quite-another:latest"),
    ],
)
def test_a_model_that_is_not_there(store: Store, ref: str, cure: str) -> None:
    store.model("registry.ollama.ai/library/llama3/8b")
    store.model("registry.ollama.ai/me/own/v1")
    with pytest.raises(TemplatelintError, match="no model") as refused:
        sources.resolve(ref)
    assert refused.value.help == cure


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("", "is empty"),
        ("{", "not JSON"),
        ("[]", "holds a list"),
        ("{}", "is no manifest: layers is null, not a list"),
        ({"layers": [1]}, "is damaged: a layer is none"),
        ({"layers": [{"mediaType": IMAGE + "model"}]}, "is damaged: null is no digest"),
        ({"layers": [{"mediaType": IMAGE + "model", "digest": "sha256:../../x"}]}, "sha256:../../x is no digest"),
        ({"layers": [{"mediaType": IMAGE + "model", "digest": "sha256:" + "0" * 64}]}, "its model layer is missing"),
        ({"layers": []}, "has no GGUF: its format is unknown"),
        ({"layers": [], "config": {"digest": "x"}}, "is no digest"),
        ({"mediaType": "application/vnd.ollama.manifest.list.v2+json", "manifests": [1]}, "lists no manifest"),
        ({"mediaType": "application/vnd.ollama.manifest.list.v2+json"}, "is no manifest: manifests is null"),
    ],
)
def test_a_damaged_manifest(store: Store, manifest: Any, message: str) -> None:
    store.write(PUBLIC, manifest)
    with pytest.raises(TemplatelintError) as refused:
        sources.resolve("ollama:llama3")
    assert message in refused.value.message
    assert "\n" not in refused.value.message


def test_a_blob_of_another_size(store: Store) -> None:
    layer = store.layer("model", gguf())
    store.write(PUBLIC, store.manifest({**layer, "size": layer["size"] + 1}))
    with pytest.raises(TemplatelintError, match=r"has \d+ bytes, its manifest says \d+") as refused:
        sources.resolve("ollama:llama3")
    assert refused.value.help == "fetch it again: ollama pull llama3:latest"


def test_models_without_a_gguf(store: Store) -> None:
    store.write(PUBLIC, store.manifest(config={"remote_host": "https://ollama.com:443", "remote_model": "x"}))
    with pytest.raises(TemplatelintError, match=r"llama3:latest runs at https://ollama.com:443"):
        sources.resolve("ollama:llama3")
    tensor = store.layer("tensor", b"x")
    store.write(PUBLIC, store.manifest(tensor, config={"model_format": "safetensors"}))
    with pytest.raises(TemplatelintError, match="has no GGUF: its format is safetensors"):
        sources.resolve("ollama:llama3")


# ------------------------------------------------------------------------- what Ollama renders with

GO_TOOLS = "{{ range .Messages }}{{ if .ToolCalls }}{{ end }}{{ end }}{{ if .Tools }}<tools>{{ end }}"
THINKING = "{{ range .Messages }}{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}{{ end }}"
THINKS = JINJA + "<think></think>"


@pytest.mark.parametrize(
    ("chat", "go", "chosen"),
    [
        (JINJA, None, "chat template"),
        ("", GO, "go template"),
        (JINJA, GO, "go template"),  # neither can more
        (TOOLS, GO, "chat template"),
        (TOOLS, GO_TOOLS, "chat template"),  # both have tools, one takes results
        (TOOLS, GO_TOOLS + "tool_response", "go template"),
        (JINJA + "{{ tools }}", GO_TOOLS, "go template"),
        (JINJA, GO_TOOLS, "go template"),
        (TOOLS + "<think></think>", GO_TOOLS, "chat template"),
        (JINJA + "{{ tools }}<think></think>", GO_TOOLS + "tool_response", "go template"),
        (THINKS, GO, "chat template"),
        (THINKS, THINKING, "go template"),
        (THINKS, GO + "{{ .Suffix }}", "go template"),
        (THINKS, GO + "{{ .Thinking }}", "unknown"),
        (TOOLS, GO + '{{/* .Tools */}}{{ "{{ .Tools }}" }}{{ `.Tools` }}', "chat template"),
        (TOOLS, "{{ $.Tools }}{{ .ToolCalls }}TOOL_RESULTS", "go template"),
    ],
)
def test_which_template_ollama_takes(chat: str, go: str | None, chosen: str) -> None:
    assert ollama_choice.choice({} if go is None else {ollama_choice.TEMPLATE: go}, chat) == chosen


@pytest.mark.parametrize("go", ["{{", '{{ "', "{{/*", "{{`", "{{ '\\", "{{" * 100_000, '{{ "' * 100_000])
def test_a_go_template_that_does_not_end(go: str) -> None:
    assert ollama_choice.choice({ollama_choice.TEMPLATE: go}, TOOLS) == "chat template"


@pytest.mark.parametrize(
    ("layers", "config", "note", "renders"),
    [
        ({}, {}, None, True),
        ({"template": GO}, {}, "ollama renders this model with its Go TEMPLATE, unless OLLAMA_GO_TEMPLATE=0", False),
        ({"prompt": GO}, {}, "ollama renders this model with its Go TEMPLATE", False),
        ({}, {"renderer": "qwen3-coder", "parser": "qwen3-coder"}, "code of its own (qwen3-coder)", False),
        ({"template": "<|start|><|end|>"}, {"model_family": "gptoss"}, "code of its own (harmony)", False),
        ({"template": GO + "{{ .Thinking }}"}, {}, "ollama renders this model with its Go TEMPLATE", False),
    ],
)
def test_the_engine_renders_what_ollama_leaves_to_the_gguf(
    store: Store, layers: dict[str, str], config: dict[str, str], note: str | None, renders: bool
) -> None:
    found = [store.layer("model", gguf()), *(store.layer(kind, raw) for kind, raw in layers.items())]
    store.write(PUBLIC, store.manifest(*found, config=config))
    model = sources.resolve("ollama:llama3")
    assert [note in told for told in model.notes] == [True] if note else model.notes == ()
    chosen = engines.get("ollama").choose(model, cases.get("chat-basic").request)
    assert isinstance(chosen, RenderError) is not renders
    if isinstance(chosen, RenderError):
        assert chosen.kind == "unsupported"
    # the others serve the GGUF
    assert not isinstance(
        engines.get("llama.cpp").choose(model, Request(({"role": "user", "content": "x"},))), RenderError
    )


def test_the_preferred_template_of_the_gguf_is_told(store: Store) -> None:
    store.model(PUBLIC, TOOLS, template=GO)
    model = sources.resolve("ollama:llama3")
    assert model.notes == ("ollama prefers the template of the GGUF to the model's Go TEMPLATE",)
    assert not isinstance(engines.get("ollama").choose(model, cases.get("chat-basic").request), RenderError)


def test_system_text_and_parameters(store: Store) -> None:
    store.model(PUBLIC, system="be brief", params='{"stop": ["<|im_end|>", "</s>"], "temperature": 1}')
    model = sources.resolve("ollama:llama3")
    assert model.metadata["ollama.stop"] == ("<|im_end|>", "</s>")
    assert model.metadata["ollama.system"] == "be brief"
    assert model.notes == ("ollama puts a system text of 8 characters before conversations without one",)

from __future__ import annotations

import gzip
import json
import logging
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gguf_bytes import header, text, texts, u32
from hub_server import COMMIT, Answer, Padded, Repo
from program import CHATML, ROOT, environment

from templatelint.errors import TemplatelintError
from templatelint.sources import resolve
from templatelint.sources.hub import downloads, quants
from templatelint.sources.hub.reference import Reference, parse
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from hub_server import HubServer
    from program import InProcess

    from templatelint.model import Model

OFFLINE, VETTING = Reach(offline=True), Reach(vetting=True)
OTHER = "f" * 40
CONFIG = json.dumps({"chat_template": "{{ 'config' }}", "bos_token": "<s>", "eos_token": "</s>"})
SMALL = {"config.json": '{"model_type": "qwen3"}', "tokenizer_config.json": CONFIG, "chat_template.jinja": CHATML}
WEIGHTS: dict[str, str | Padded] = {"model.safetensors": Padded(b"", 8 << 30), "tokenizer.json": '{"added_tokens": []}'}


CARD = "---\nbase_model: a/base\n---\n"


def small(**more: Any) -> Repo:
    files: dict[str, Any] = {".gitattributes": "", **SMALL, **WEIGHTS, "README.md": CARD}
    return Repo(files, **more)


def gguf(template: str = CHATML, tokens: int = 2_000, room: int = 0) -> bytes:
    vocabulary = texts(*(f"token-{number}{'x' * room}" for number in range(tokens)))
    return header(
        [
            ("general.architecture", text("qwen3")),
            ("tokenizer.ggml.tokens", vocabulary),
            ("tokenizer.ggml.eos_token_id", u32(7)),
            ("tokenizer.chat_template", text(template)),
        ]
    )


def ggufs(*names: str) -> Repo:
    return Repo({".gitattributes": "", "README.md": "", **{name: Padded(gguf(), 5 << 30) for name in names}})


def refused(ref: str, reach: Reach | None = None) -> TemplatelintError:
    with pytest.raises(TemplatelintError) as caught:
        resolve(ref, reach=reach or Reach())
    return caught.value


def sources(model: Model) -> dict[str, str]:
    return {template.name: template.origin.path for template in model.templates}


# ------------------------------------------------------------------------------------- references


PARSED = {
    "owner/name": Reference("owner/name"),
    "owner/name@v1.0": Reference("owner/name", "v1.0"),
    "owner/name@refs/pr/3": Reference("owner/name", "refs/pr/3"),
    "owner/name@feature/x": Reference("owner/name", "feature/x"),
    "owner/name:Q4_K_M": Reference("owner/name", quant="Q4_K_M"),
    "owner/name@v1:UD-Q4_K_XL": Reference("owner/name", "v1", "UD-Q4_K_XL"),
    "hf:owner/name": Reference("owner/name", explicit=True),
    "HF:owner/name": Reference("owner/name", explicit=True),
    "hf://owner/name": Reference("owner/name", explicit=True),
    "hf:gpt2": Reference("gpt2", explicit=True),
    "hf:gpt2@main": Reference("gpt2", "main", explicit=True),
    "hf:gpt2/config.json": Reference("gpt2", file="config.json", explicit=True),
    "hf:owner/name/sub/chat template.jinja": Reference("owner/name", file="sub/chat template.jinja", explicit=True),
    "hf:owner/name@v1/tokenizer_config.json": Reference(
        "owner/name", "v1", file="tokenizer_config.json", explicit=True
    ),
    "hf:owner/name@refs/pr/3/a.jinja": Reference("owner/name", "refs/pr/3", file="a.jinja", explicit=True),
    "hf:owner/name@feature%2Fx/a.jinja": Reference("owner/name", "feature/x", file="a.jinja", explicit=True),
    "hf:owner/name:Q8_0": Reference("owner/name", quant="Q8_0", explicit=True),
}


@pytest.mark.parametrize(("ref", "expected"), PARSED.items(), ids=PARSED)
def test_parts_of_a_reference(ref: str, expected: Reference) -> None:
    assert parse(ref) == expected


@pytest.mark.parametrize(
    "ref",
    [
        "hf:",
        "hf:/",
        "hf:owner/",
        "hf:../x",
        "hf:owner/name/../../etc/passwd",
        "hf:owner/name/a//b.jinja",
        "hf:owner/name/a\\b.jinja",
        "hf:owner/name/\x1b[31m.jinja",
        "hf:owner/name@../../x",
        "owner/name@..",
        "owner/na--me",
        "owner/..",
        "hf:owner/name:Q4_K_M/model.gguf",
        f"owner/{'n' * 100}",
    ],
)
def test_what_no_repository_is_called(ref: str, hub: HubServer) -> None:
    with pytest.raises(TemplatelintError) as caught:
        parse(ref)
    assert caught.value.message.isprintable()
    assert hub.requests == []


# ------------------------------------------------------------------------- a repository of a tokenizer


def test_small_files_alone_each_once(hub: HubServer) -> None:
    hub.repos["owner/name"] = small(card={"base_model": ["a/base", "b/base"], "base_model_relation": "merge"})
    model = resolve("owner/name")
    assert (model.ref, model.kind, model.local, model.notes[1:]) == ("owner/name", "folder", False, ())
    assert sources(model) == {"default": "owner/name/chat_template.jinja"}
    assert model.notes[0].startswith("transformers ignores the template in owner/name/tokenizer_config.json")
    assert model.tokenizer.special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert model.metadata == {
        "model_type": "qwen3",
        "hub.repo": "owner/name",
        "hub.commit": COMMIT,
        "hub.revision": "main",
        "hub.base_model": ("a/base", "b/base"),
        "hub.base_model_relation": "merge",
    }
    files = {f"{method} hub /owner/name/resolve/{COMMIT}/{name} 200" for method in ("HEAD", "GET") for name in SMALL}
    assert hub.asked()[0] == "GET hub /api/models/owner/name 200"
    assert sorted(hub.asked()[1:]) == sorted(files)
    assert hub.seen("cdn") == []


def test_what_is_cached_costs_one_request_and_offline_none(hub: HubServer) -> None:
    hub.repos["owner/name"] = small()
    first = resolve("owner/name")
    hub.requests.clear()
    assert resolve("owner/name").templates == first.templates
    assert hub.asked() == ["GET hub /api/models/owner/name 200"]
    hub.requests.clear()
    offline = resolve("owner/name", reach=OFFLINE)
    assert (offline.templates, offline.metadata["hub.commit"]) == (first.templates, COMMIT)
    assert hub.requests == []


def test_vetting_fetches_the_vocabulary_and_the_card(hub: HubServer) -> None:
    hub.repos["owner/name"] = small()
    resolve("owner/name")
    hub.requests.clear()
    resolve("owner/name", reach=VETTING)
    got = [request.path.rpartition("/")[2] for request in hub.seen("hub") if request.method == "GET"]
    assert got[1:] == ["README.md"]
    assert [request.path for request in hub.seen("cdn")] == ["/owner/name/tokenizer.json?signature=secret"]
    hub.requests.clear()
    assert resolve("owner/name", reach=Reach(offline=True, vetting=True)).metadata["hub.base_model"] == ("a/base",)
    assert hub.requests == []


def test_added_tokens_are_read_from_the_head_of_the_tokenizer(hub: HubServer) -> None:
    """Where no other file says what the ids are at which generation stops: so a folder here would give the same."""
    added = [{"id": number, "content": f"<|{number}|>"} for number in range(9000)]
    head = json.dumps({"added_tokens": added, "model": {"vocab": {}}})
    repo = small()
    repo.files |= {"generation_config.json": '{"eos_token_id": [7, 8999]}'}
    repo.files["tokenizer.json"] = Padded(head.encode(), 30 << 20)
    hub.repos["owner/name"] = repo
    model = resolve("owner/name")
    assert (model.tokenizer.stop_tokens, model.notes[1:]) == (("</s>", "<|7|>", "<|8999|>"), ())
    assert len(head) > 256 << 10
    assert hub.sent("cdn") <= 4 << 20
    assert len(hub.requests) == 1 + 2 * 4 + 2
    decoder = {"7": {"content": "<|7|>"}, "8999": {"content": "<|8999|>"}}
    repo.files["tokenizer_config.json"] = json.dumps({"added_tokens_decoder": decoder, "eos_token": "</s>"})
    repo.commit = OTHER
    hub.requests.clear()
    assert resolve("owner/name").tokenizer.stop_tokens == ("</s>", "<|7|>", "<|8999|>")
    assert hub.seen("cdn") == []


def test_a_tokenizer_that_cannot_be_read_is_told(hub: HubServer) -> None:
    hub.repos["owner/name"] = repo = small()
    repo.files |= {"generation_config.json": '{"eos_token_id": 7}', "tokenizer.json": Padded(b"{", 30 << 20)}
    hub.ranges = False
    model = resolve("owner/name")
    assert model.tokenizer.stop_tokens == ("</s>",)
    assert model.notes[1].startswith("left out: owner/name/tokenizer.json")


def test_named_templates_and_revisions(hub: HubServer) -> None:
    repo = small(revisions={"v1": OTHER, "a/b": OTHER})
    repo.files["additional_chat_templates/tool_use.jinja"] = "{{ 'tools' }}"
    repo.files["additional_chat_templates/deeper/no.jinja"] = "{{ 'no' }}"
    hub.repos["owner/name"] = repo
    model = resolve("owner/name@v1#tool_use")
    assert sources(model) == {"tool_use": "owner/name/additional_chat_templates/tool_use.jinja"}
    assert (model.ref, model.picked) == ("owner/name@v1", True)
    assert (model.metadata["hub.commit"], model.metadata["hub.revision"]) == (OTHER, "v1")
    for ref in ("owner/name@a/b", f"owner/name@{OTHER}", "hf:owner/name@a%2Fb"):
        assert resolve(ref).metadata["hub.commit"] == OTHER
        assert resolve(ref, reach=OFFLINE).metadata["hub.commit"] == OTHER


NAMED = json.dumps({"chat_template": [{"name": "default", "template": "D"}, {"name": "rag", "template": "R"}]})
LAYOUTS: dict[str, dict[str, Any]] = {
    "a config": {"tokenizer_config.json": CONFIG, "tokenizer.json": "{}"},
    "named templates": {"tokenizer_config.json": NAMED, "special_tokens_map.json": '{"eos_token": "</s>"}'},
    "files of templates": {**SMALL, "additional_chat_templates/rag.jinja": "R"},
    "a processor": {"processor_config.json": '{"chat_template": "P"}', "tokenizer_config.json": "{}"},
    "a processor's own file": {"chat_template.json": '{"chat_template": "P"}', "tokenizer_config.json": CONFIG},
    "added tokens": {
        "tokenizer_config.json": CONFIG,
        "generation_config.json": '{"eos_token_id": [1, 2]}',
        "tokenizer.json": '{"added_tokens": [{"id": 2, "content": "<|two|>"}], "model": {}}',
    },
    "an encoder": {"tokenizer_config.json": "{}", "config.json": '{"architectures": ["BertModel"]}'},
    "nothing of use": {"config.json": "[]", "tokenizer_config.json": CONFIG},
}


@pytest.mark.parametrize("vetting", [False, True], ids=["", "vetting"])
@pytest.mark.parametrize("files", LAYOUTS.values(), ids=LAYOUTS)
def test_a_repository_is_read_as_a_folder_is(
    files: dict[str, Any], vetting: bool, hub: HubServer, tmp_path: Path
) -> None:
    hub.repos["owner/name"] = Repo(files)
    for name, content in files.items():
        (tmp_path / "there" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "there" / name).write_text(content, encoding="utf-8")
    reach = Reach(vetting=vetting)
    there, here = resolve("owner/name", reach=reach), resolve(str(tmp_path / "there"), reach=reach)
    names = {name: path.replace(str(tmp_path / "there"), "owner/name") for name, path in sources(here).items()}
    assert sources(there) == names
    assert [each.source for each in there.templates] == [each.source for each in here.templates]
    assert [each.source for each in there.others] == [each.source for each in here.others]
    assert there.notes == tuple(note.replace(str(tmp_path / "there"), "owner/name") for note in here.notes)
    assert (there.not_for_chat, there.kind) == (here.not_for_chat, here.kind)
    assert {key: value for key, value in there.metadata.items() if not key.startswith("hub.")} == here.metadata
    assert (there.tokenizer.vocabulary is None) == (here.tokenizer.vocabulary is None)
    assert replace(there.tokenizer, vocabulary=None) == replace(here.tokenizer, vocabulary=None)


def test_a_repository_that_has_moved(hub: HubServer) -> None:
    hub.repos["new/name"] = small()
    hub.moved |= {"old/name": "new/name", "gpt2": "new/name"}
    for old, ref in (("old/name", "old/name"), ("gpt2", "hf:gpt2")):
        model = resolve(ref)
        assert model.notes[0] == f"{old} has moved: the Hub calls it new/name"
        assert (model.ref, model.metadata["hub.repo"]) == (ref, "new/name")
        assert sources(model) == {"default": f"{old}/chat_template.jinja"}
        assert sources(resolve(ref, reach=OFFLINE)) == sources(model)


def test_one_file(hub: HubServer) -> None:
    hub.repos["owner/name"] = repo = small()
    repo.files["extra/tools.jinja"] = "{{ 'tools' }}"
    model = resolve("hf:owner/name/extra/tools.jinja")
    assert (model.kind, model.tokenizer.assumed) == ("file", True)
    assert sources(model) == {"default": "owner/name/extra/tools.jinja"}
    assert len(hub.requests) == 3
    model = resolve("hf:owner/name/tokenizer_config.json")
    assert (model.kind, model.tokenizer.special_tokens["eos_token"]) == ("config", "</s>")
    assert sources(model) == {"default": "owner/name/tokenizer_config.json"}
    assert model.notes == ("transformers takes the template from owner/name/chat_template.jinja instead",)
    error = refused("hf:owner/name/tokenizer_confg.json")
    assert error.message == "owner/name has no file tokenizer_confg.json"
    assert error.help == "did you mean hf:owner/name/tokenizer_config.json?"
    assert refused("hf:owner/name/zzz.jinja", OFFLINE).message == "owner/name has no file zzz.jinja in the cache"


def test_a_model_without_a_template(hub: HubServer) -> None:
    hub.repos["owner/base"] = Repo({"config.json": "{}", "model.safetensors": Padded(b"", 1 << 30)})
    hub.repos["owner/embeds"] = Repo(
        {**SMALL, "config_sentence_transformers.json": "{}", "tokenizer_config.json": "{}"}
    )
    del hub.repos["owner/embeds"].files["chat_template.jinja"]
    assert resolve("owner/base").templates == ()
    assert resolve("owner/embeds").not_for_chat == "it has a config_sentence_transformers.json"
    hub.repos["owner/data"] = Repo({"README.md": "", "data.csv": ""})
    assert refused("owner/data").message.startswith("owner/data is no model folder")


def test_weights_of_mistral_are_known_by_name(hub: HubServer) -> None:
    more = {"consolidated.safetensors": Padded(b"", 1 << 30), "tekken.json": Padded(b"", 10 << 20)}
    hub.repos["owner/name"] = Repo({**SMALL, **more})
    assert resolve("owner/name").metadata["mistral_common"] == ["consolidated.safetensors", "tekken.json"]
    assert hub.sent("hub") + hub.sent("cdn") < 20_000


# --------------------------------------------------------------------------------------- the cache


def test_a_cache_that_is_not_whole(hub: HubServer) -> None:
    hub.repos["owner/name"] = repo = Repo({"config.json": "{}", "tokenizer_config.json": CONFIG})
    assert resolve("owner/name").notes == ()
    assert resolve("owner/name", reach=OFFLINE).notes == ()  # it is known that there is no chat_template.jinja
    repo.commit = OTHER
    resolve("hf:owner/name/config.json")
    snapshot = _cache() / "models--owner--name/snapshots" / OTHER
    absent = snapshot.parents[1] / ".no_exist" / OTHER / "chat_template.jinja"
    absent.unlink()
    note = "offline: whether the repository has a chat_template.jinja, which would be in force, is not known"
    assert resolve("owner/name", reach=OFFLINE).notes == (note,)
    (snapshot / "tokenizer_config.json").unlink()
    error = refused("owner/name", OFFLINE)
    assert error.message == "of owner/name the cache has no file with a template, and nothing is fetched offline"
    assert "chat_template.jinja, tokenizer_config.json" in (error.help or "")
    assert refused("owner/name@v2", OFFLINE).message.startswith(
        "there is no file or folder owner/name@v2, and it is not"
    )


def test_a_revision_stays_with_the_weights_that_an_engine_has(hub: HubServer) -> None:
    hub.repos["owner/name"] = repo = small()
    resolve("owner/name")
    folder = _cache() / "models--owner--name"
    (folder / "snapshots" / COMMIT / "model.safetensors").touch()
    repo.commit = OTHER
    assert resolve("owner/name").metadata["hub.commit"] == OTHER
    assert (folder / "refs" / "main").read_text() == COMMIT
    (folder / "snapshots" / COMMIT / "model.safetensors").unlink()
    resolve("owner/name")
    assert (folder / "refs" / "main").read_text() == OTHER


def test_a_cache_that_cannot_be_written_to(hub: HubServer) -> None:
    hub.repos["owner/name"] = small()
    _cache().parent.mkdir(parents=True)
    _cache().write_text("no folder")
    error = refused("owner/name")
    assert (str(_cache()) in error.message, error.help) == (True, "HF_HOME names another folder")


def _cache() -> Path:
    return Path(os.environ["HF_HOME"]) / "hub"


# --------------------------------------------------------------------------------------------- GGUF


# tag, files → the one that llama.cpp takes; of its common/download.cpp
PICKED = {
    ("", ("a-Q8_0.gguf", "a-Q4_K_M.gguf")): "a-Q4_K_M.gguf",
    ("", ("a-q4_k_m.gguf", "a-Q8_0.gguf")): "a-q4_k_m.gguf",
    ("", ("a-Q5_K_M.gguf", "a-Q8_0.gguf")): "a-Q8_0.gguf",
    ("", ("a-Q5_K_M.gguf", "a-F16.gguf")): "a-Q5_K_M.gguf",
    ("", ("a-mmproj-Q4_K_M.gguf", "imatrix.gguf", "mtp-a-Q8_0.gguf", "a-F16.gguf")): "a-F16.gguf",
    ("q8_0", ("a-Q4_K_M.gguf", "a-Q8_0.gguf")): "a-Q8_0.gguf",
    ("Q4_K", ("a-Q4_K_M.gguf", "a-Q4_K.gguf")): "a-Q4_K.gguf",
    ("UD-Q4_K_XL", ("a-Q4_K_XL.gguf", "a-UD-Q4_K_XL.gguf")): "a-UD-Q4_K_XL.gguf",
    ("BF16", ("BF16/a-00002-of-00002.gguf", "BF16/a-BF16-00001-of-00002.gguf")): "BF16/a-BF16-00001-of-00002.gguf",
    ("Q4_K_M", ("a.Q4_K_M.gguf",)): "a.Q4_K_M.gguf",
    ("a", ("a-Q4_K_M.gguf", "b-Q4_K_M.gguf")): "a-Q4_K_M.gguf",
}


@pytest.mark.parametrize(("asked", "expected"), PICKED.items(), ids=map(str, PICKED))
def test_the_gguf_that_llamacpp_takes(asked: tuple[str, tuple[str, ...]], expected: str) -> None:
    tag, files = asked
    assert quants.pick(files, tag, "owner/name") == expected


def test_no_gguf_of_that_tag(hub: HubServer) -> None:
    hub.repos["owner/name"] = ggufs("a-Q8_0.gguf", "a-Q4_K_M.gguf", "mmproj-a-Q5_K_M.gguf")
    error = refused("owner/name:Q4_KM")
    assert error.message == "owner/name has no GGUF with the tag Q4_KM"
    assert error.help == "did you mean owner/name:Q4_K_M? it has Q8_0, Q4_K_M"
    assert "hf download owner/name --include '*Q8_0*'" in (refused("owner/name:Q8_0", OFFLINE).help or "")
    hub.repos["owner/other"] = small()
    assert refused("owner/other:Q4_K_M").message == "owner/other has no GGUF of a model"
    assert len(hub.requests) == 2


@pytest.mark.parametrize("megabytes", [1, 8, 16])
def test_a_header_by_range(megabytes: int, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the largest there are, and of one with 150,000 tokens: 6 requests at most, one chunk more than needed."""
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    head = gguf(tokens=megabytes * 20_000, room=30)
    assert round(len(head) / 1_000_000) == megabytes
    hub.repos["owner/name"] = Repo({"a-Q8_0.gguf": b"", "a-Q4_K_M.gguf": Padded(head, 9 << 30)}, private=True)
    hub.repos["owner/name"].tokens = ("hf_secret",)
    model = resolve("owner/name")
    assert (model.kind, model.ref, model.local) == ("gguf", "owner/name", False)
    assert sources(model) == {"default": "owner/name/a-Q4_K_M.gguf"}
    assert model.notes == ("taken: a-Q4_K_M.gguf, as llama.cpp does of 2 GGUFs; owner/name:QUANT takes another",)
    assert model.tokenizer.special_tokens == {"eos_token": f"token-7{'x' * 30}"}
    assert len(hub.requests) <= 6
    assert {request.token for request in hub.seen("hub")} == {"hf_secret"}
    assert {request.token for request in hub.seen("cdn")} == {None}
    assert "hf_secret" not in str([request.headers for request in hub.seen("cdn")])
    largest = max(request.sent for request in hub.seen("cdn"))
    assert hub.sent("cdn") <= len(head) + largest
    assert not _cache().exists()


def test_a_gguf_by_its_tag(hub: HubServer) -> None:
    hub.repos["owner/name"] = ggufs("a-Q8_0.gguf", "a-Q4_K_M.gguf")
    hub.repos["owner/name"].card = {"base_model": "owner/base"}
    model = resolve("owner/name:q8_0")
    assert sources(model) == {"default": "owner/name/a-Q8_0.gguf"}
    assert (model.ref, model.notes) == ("owner/name:q8_0", ("taken: a-Q8_0.gguf",))
    assert model.metadata["hub.base_model"] == ("owner/base",)
    hub.repos["owner/name"].files["preset.ini"] = ""
    assert "llama-server -hf takes the preset.ini" in resolve("owner/name:q8_0").notes[1]
    assert sources(resolve("hf:owner/name/a-Q8_0.gguf")) == {"default": "owner/name/a-Q8_0.gguf"}


def test_ggufs_beside_a_tokenizer(hub: HubServer) -> None:
    hub.repos["owner/name"] = repo = small()
    repo.files["a-Q8_0.gguf"] = Padded(gguf(), 5 << 30)
    assert resolve("owner/name").kind == "folder"
    assert resolve("owner/name").notes[-1].endswith("its GGUFs have templates of their own: owner/name:QUANT")
    assert resolve("owner/name:Q8_0").kind == "gguf"
    hub.repos["owner/bare"] = Repo({"tokenizer_config.json": "{}", "a-Q8_0.gguf": Padded(gguf(), 5 << 30)})
    assert resolve("owner/bare").notes == ("owner/bare/a-Q8_0.gguf beside the tokenizer files was not looked into",)


def test_a_gguf_that_is_cached_is_read_there(hub: HubServer) -> None:
    hub.repos["owner/name"] = Repo({"a-Q8_0.gguf": gguf(), "a-Q4_K_M.gguf": gguf()})
    snapshot = _cache() / "models--owner--name" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "a-Q8_0.gguf").write_bytes(gguf("{{ 'cached' }}"))
    (refs := snapshot.parents[1] / "refs").mkdir()
    (refs / "main").write_text(COMMIT)
    model = resolve("owner/name:Q8_0")
    assert (model.templates[0].source, sources(model)["default"]) == ("{{ 'cached' }}", "owner/name/a-Q8_0.gguf")
    assert hub.asked() == ["GET hub /api/models/owner/name 200"]
    offline = resolve("owner/name", reach=OFFLINE)
    assert (offline.templates[0].source, offline.notes) == ("{{ 'cached' }}", ("taken: a-Q8_0.gguf",))
    assert "the tag Q4_K_M" in refused("owner/name:Q4_K_M", OFFLINE).message


# ------------------------------------------------------------------------------------------ refusals


LOGIN = "set HF_TOKEN or run: hf auth login"
MINE, STRANGE = "hf_mine", "hf_strange"
# reference, token → message, cure; HUB is the server's address
REFUSED = {
    ("owner/gated", ""): ("owner/gated is gated", f"accept its terms at HUB/owner/gated, then {LOGIN}"),
    ("owner/gated:Q8_0", ""): ("owner/gated is gated", f"accept its terms at HUB/owner/gated, then {LOGIN}"),
    ("owner/gated", STRANGE): (
        "owner/gated is gated, and the account of the token has no access to it",
        "accept its terms at HUB/owner/gated with that account; some owners then take time to approve",
    ),
    ("owner/private", ""): (
        "there is no file or folder owner/private, and HUB has no such repository, or it is private",
        f"check the name; for a private one {LOGIN}",
    ),
    ("hf:owner/private", ""): (
        "HUB has no repository owner/private, or it is private",
        f"check the name; for a private one {LOGIN}",
    ),
    ("hf:owner/missing", MINE): (
        "HUB has no repository owner/missing, or it is private",
        "check the name; a private one needs a token that may read it",
    ),
    ("owner/name@v9", ""): ("owner/name has no revision v9", "its branches and tags: HUB/owner/name/tree/main"),
    ("owner/name", "hf_revoked"): ("HUB does not accept the token", f"make one at HUB/settings/tokens, then {LOGIN}"),
    ("owner/name", "hf_bröken"): ("the token holds characters that no token has", "see HF_TOKEN, or: hf auth login"),
}


@pytest.mark.parametrize(("asked", "expected"), REFUSED.items(), ids=map(str, REFUSED))
def test_refused(
    asked: tuple[str, str], expected: tuple[str, str], hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, token = asked
    hub.repos |= {"owner/name": small(), "owner/gated": small(gated="manual", tokens=(MINE,))}
    hub.repos["owner/gated"].files["a-Q8_0.gguf"] = gguf()
    hub.repos["owner/private"] = small(private=True, tokens=(MINE,))
    hub.known_tokens = (MINE, STRANGE)
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    error = refused(ref)
    assert (error.message, error.help) == tuple(part.replace("HUB", hub.endpoint) for part in expected)
    assert not token or token not in f"{error.message}{error.help}"
    assert len(hub.requests) <= 4


def test_who_has_access_reads_it(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repos["owner/gated"] = small(gated="auto", private=True, tokens=(MINE,))
    monkeypatch.setenv("HF_TOKEN", MINE)
    assert resolve("owner/gated", reach=VETTING).templates
    assert {request.token for request in hub.seen("hub")} == {MINE}
    assert {request.token for request in hub.seen("cdn")} == {None}


API, FILE = "/api/models/owner/name", f"/owner/name/resolve/{COMMIT}/tokenizer_config.json"
NO_HUB = "is HF_ENDPOINT the address of a Hub, and no proxy or login page in between?"
# what the server does → part of the message, part of the cure
ANSWERED = {
    "429": (Answer(429, b"", {"Retry-After": "17"}), "has had too many requests (HTTP 429)", "try again in 17 s"),
    "429 of the new kind": (
        Answer(429, b"", {"RateLimit": '"api";r=0;t=55'}),
        "has had too many requests (HTTP 429)",
        "try again in 55 s; with a token there may be more: set HF_TOKEN",
    ),
    "500": (Answer(500, b"<html>oh"), "fails (HTTP 500)", "try again later"),
    "504": (Answer(504), "fails (HTTP 504)", "try again later"),
    "403": (Answer(403), "refuses access to owner/name (HTTP 403)", "for a token: set HF_TOKEN"),
    "418": (Answer(418), "answers a request for owner/name with HTTP 418", "is HF_ENDPOINT the address of a Hub?"),
    "disabled": (
        Answer(403, b"", {"X-Error-Message": "Access to this resource is disabled."}),
        "owner/name: the Hub has disabled access to it",
        "",
    ),
    "hung up": (Answer(drop=True), "the connection to 127.0.0.1 ended too early", ""),
    "zipped": (
        Answer(200, gzip.compress(b"{}"), {"Content-Encoding": "gzip"}),
        "with an encoding that was not asked for",
        NO_HUB,
    ),
    "round and round": (Answer(302, b"", {"Location": API}), "redirects more than", ""),
    "elsewhere": (Answer(302, b"", {"Location": "http://127.0.0.1:9/x"}), "127.0.0.1 refuses the connection", ""),
    "to a file": (Answer(302, b"", {"Location": "file:///etc/passwd"}), "redirects to what is no web address", ""),
}


@pytest.mark.parametrize(("answer", "message", "cure"), ANSWERED.values(), ids=ANSWERED)
def test_what_the_api_answers(answer: Answer, message: str, cure: str, hub: HubServer) -> None:
    hub.repos["owner/name"] = small()
    hub.answers[API] = answer
    error = refused("owner/name")
    assert message in error.message
    assert cure in (error.help or "")
    assert len(hub.requests) <= 7


OF_FILES = {key: ANSWERED[key] for key in ("429", "500", "504", "403", "418", "disabled", "hung up", "zipped")}


@pytest.mark.parametrize(("answer", "message", "cure"), OF_FILES.values(), ids=OF_FILES)
def test_what_is_answered_instead_of_a_file(answer: Answer, message: str, cure: str, hub: HubServer) -> None:
    """Asked once: the library would ask again for minutes."""
    hub.repos["owner/name"] = Repo({"tokenizer_config.json": CONFIG})
    hub.answers[FILE] = answer
    error = refused("owner/name")
    assert message in error.message
    assert cure in (error.help or "")
    assert [request.method for request in hub.requests] == ["GET", "HEAD"]


JUNK = {
    "a web page": (b"<!doctype html><title>Sign in</title>", "with an HTML page"),
    "no JSON": (b'{"sha": ', "with what is no JSON"),
    "nothing": (b"", "with what is no JSON"),
    "not UTF-8": (b'{"sha": "\xff"}', "with what is no JSON"),
    "deep": (b"[" * 200_000, "with what is no JSON"),
    "a list": (b"[]", "with JSON that describes no repository"),
    "no commit": (b'{"siblings": []}', "with JSON that names no commit"),
    "a commit that is a path": (b'{"sha": "../../../../tmp/x", "siblings": []}', "with JSON that names no commit"),
    "no files": (json.dumps({"sha": COMMIT}).encode(), "with JSON that lists no files"),
    "files as text": (json.dumps({"sha": COMMIT, "siblings": "x"}).encode(), "with JSON that lists no files"),
    "no end": (Padded(b"", 1 << 40), "bytes"),
}


@pytest.mark.parametrize(("body", "message"), JUNK.values(), ids=JUNK)
def test_what_is_no_hub(body: bytes | Padded, message: str, hub: HubServer) -> None:
    hub.answers[API] = Answer(200, body)
    error = refused("owner/name")
    assert error.message.startswith(f"{hub.endpoint} answers a request for owner/name")
    assert message in error.message
    assert error.help == NO_HUB


ODD: list[Any] = [None, 1, "x", [], {}, {"rfilename": 3}, {"rfilename": "../../x.jinja"}, {"rfilename": "a\x1bb.gguf"}]


def test_odd_entries_are_left_out(hub: HubServer) -> None:
    files = [*ODD, *({"rfilename": name, "size": -1} for name in SMALL)]
    hub.repos["owner/name"] = small()
    body = {"sha": COMMIT, "id": ["x"], "siblings": files, "cardData": {"base_model": [3, "a/b", "\x1b"]}}
    hub.answers[API] = Answer(200, json.dumps(body).encode())
    model = resolve("owner/name")
    assert (model.metadata["hub.repo"], model.metadata["hub.base_model"]) == ("owner/name", ("a/b",))


@pytest.mark.parametrize("endpoint", ["", "huggingface.co", "ftp://host", "http://", "user:hf_secret@host"])
def test_an_endpoint_that_is_no_address(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    error = refused("owner/name")
    assert (error.message, error.help) == ("HF_ENDPOINT is no http(s) address", "unset it, or give https://HOST")


# ------------------------------------------------------------------------------- bounds of downloads


HUGE = 10 << 30
LIMIT = "more than the 33,554,432 a JSON file may have"


def test_a_size_is_refused_before_anything_is_fetched(hub: HubServer) -> None:
    hub.repos["owner/name"] = Repo({**SMALL, "tokenizer_config.json": Padded(b"{", HUGE)})
    error = refused("owner/name")
    assert error.message == f"owner/name/tokenizer_config.json has {HUGE:,} bytes, {LIMIT}"
    assert len(hub.requests) == 1


@pytest.mark.parametrize("announced", [10, None])
@pytest.mark.parametrize("large", [(), ("config.json",)], ids=["here", "elsewhere"])
def test_a_size_that_was_not_announced(announced: int | None, large: tuple[str, ...], hub: HubServer) -> None:
    files: dict[str, Any] = {"tokenizer_config.json": Padded(b"{", HUGE)}
    hub.repos["owner/name"] = Repo(files, announced={"tokenizer_config.json": announced}, large=large)
    assert refused("owner/name").message == f"owner/name/tokenizer_config.json has {HUGE:,} bytes, {LIMIT}"
    assert len(hub.requests) == 2
    assert hub.sent("hub") < 10_000


def test_a_body_without_end(hub: HubServer) -> None:
    hub.repos["owner/name"] = Repo({"tokenizer_config.json": CONFIG})
    headers = {"X-Repo-Commit": COMMIT, "ETag": '"x"'}
    hub.answers[FILE] = Answer(200, Padded(b"{", HUGE), headers, sized=False)
    message = "owner/name/tokenizer_config.json has more bytes than the 33,554,432 a JSON file may have"
    assert refused("owner/name").message == message
    assert not list(_cache().rglob("*.incomplete"))


def test_a_body_that_never_comes(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "_WHOLE", 0.2)
    hub.repos["owner/name"] = Repo({"tokenizer_config.json": CONFIG})
    hub.answers[FILE] = Answer(200, b"{}", {"X-Repo-Commit": COMMIT, "ETag": '"x"'}, stall=True)
    assert refused("owner/name").message == "owner/name/tokenizer_config.json took longer than 0.2 s"


HEADERS = {
    "no commit": {"ETag": '"x"'},
    "no tag": {"X-Repo-Commit": COMMIT},
    "a tag that is a path": {"X-Repo-Commit": COMMIT, "ETag": '"../../../../x"'},
    "a commit that is a path": {"X-Repo-Commit": "../../../x", "ETag": '"x"'},
}


@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS)
def test_headers_that_no_hub_sends(headers: dict[str, str], hub: HubServer) -> None:
    hub.repos["owner/name"] = Repo({"tokenizer_config.json": CONFIG})
    hub.answers[FILE] = Answer(200, b"{}", headers)
    error = refused("owner/name")
    assert error.message.startswith(f"{hub.endpoint} answers a request for owner/name with ")
    assert error.help == NO_HUB


def test_too_many_templates(hub: HubServer) -> None:
    hub.repos["owner/name"] = Repo({f"additional_chat_templates/{number}.jinja": "x" for number in range(1000)})
    assert refused("owner/name").message == "owner/name has 1,000 chat templates, known models have under 10"
    assert len(hub.requests) == 1


def test_the_library_is_left_as_it_was(hub: HubServer) -> None:
    import threading

    from huggingface_hub import constants
    from huggingface_hub.utils import _http

    def state() -> tuple[Any, ...]:
        switches = constants.HF_HUB_DISABLE_XET, constants.HF_HUB_DISABLE_TELEMETRY
        return *switches, logging.getLogger("huggingface_hub").level, _http._GLOBAL_CLIENT_FACTORY  # noqa: SLF001 (what is left)

    before = state(), threading.active_count()
    hub.repos["owner/name"] = small()
    resolve("owner/name")
    ours = [thread for thread in threading.enumerate() if "process_request" not in thread.name]
    assert state() == before[0]
    assert len(ours) == before[1]
    assert _http._GLOBAL_CLIENT is None  # noqa: SLF001 (what forks must not hold an open connection)


# ------------------------------------------------------------------------------------ the program


def _start(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "templatelint", *arguments]
    return subprocess.run(command, env=environment(**changes), capture_output=True, text=True, check=False, cwd=ROOT)


def test_as_a_user_starts_it(hub: HubServer) -> None:
    hub.repos["owner/name"] = small()
    hub.answers["/owner/name/resolve/"] = Answer(503)
    command = ("extract", "owner/name")
    noisy = {"HF_TOKEN": MINE, "HF_DEBUG": "1", "HF_HUB_VERBOSITY": "debug"}
    ran = _start(*command, **noisy)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines()[0] == f"error: {hub.endpoint} fails (HTTP 503)"
    assert (len(ran.stderr.splitlines()), MINE in ran.stderr) == (2, False)
    hub.answers.clear()
    ran = _start(*command, **noisy)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, CHATML, "")
    hub.requests.clear()
    assert _start(*command, HF_HUB_OFFLINE="1").stdout == CHATML
    assert hub.requests == []


JSON = ("--output-format", "json")


def test_several_repositories_in_one_run(cli: InProcess, hub: HubServer) -> None:
    hub.repos |= {"owner/a": small(), "owner/b": small(), "owner/c": ggufs("c-Q8_0.gguf")}
    ran = cli("lint", "owner/a", "owner/b", "owner/c", "owner/none", "--jobs", "2", "--select", "TL101", *JSON)
    assert (ran.code, [row["ref"] for row in json.loads(ran.out)["templates"]]) == (
        2,
        ["owner/a", "owner/b", "owner/c"],
    )


def test_the_model_that_a_file_overrides(cli: InProcess, folder: Path, hub: HubServer) -> None:
    hub.repos["owner/name"] = small()
    (folder / "templatelint.toml").write_text(
        '[[override]]\nfile = "*.jinja"\nmodel = "owner/name"\n', encoding="utf-8"
    )
    (folder / "broken.jinja").unlink()
    flags = ("--select", "TL701", "--engine", "vllm", *JSON)
    found = json.loads(cli("lint", "deaf.jinja", "chat_template.jinja", *flags).out)["findings"]
    assert {row["ref"] for row in found} == {"deaf.jinja"}
    assert hub.asked().count("GET hub /api/models/owner/name 200") == 1  # for both files
    hub.requests.clear()
    assert json.loads(cli("lint", "deaf.jinja", *flags, "--offline").out)["findings"] == found[: len(found)]
    assert hub.requests == []
    # a file of a repository is no override, whatever a pattern means here
    hub.repos["owner/other"] = small()
    cli("lint", "owner/other", *flags)
    assert hub.asked()[0] == "GET hub /api/models/owner/other 200"
    assert not [line for line in hub.asked() if "owner/name" in line]

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gguf_bytes import header, text, u32

from templatelint.errors import TemplatelintError
from templatelint.sources import resolve

CASES = json.loads(Path(__file__).with_name("data").joinpath("sources", "folders.json").read_text("utf-8"))

# The tokenizer is a WordLevel one of four words: transformers loads it in a moment.
REFERENCE = """
import json, sys
from transformers import PreTrainedTokenizerFast
for line in sys.stdin:
    try:
        tokenizer = PreTrainedTokenizerFast.from_pretrained(line.strip())
        answer = {"tokens": tokenizer.special_tokens_map, "template": tokenizer.chat_template}
    except Exception as error:
        answer = {"refused": type(error).__name__}
    print("ANSWER " + json.dumps(answer))
"""


def write(folder: Path, files: dict[str, Any], padding: str | None = None) -> Path:
    """Write the files (JSON data or text), and a tokenizer.json as the tokenizers package saves it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((content if isinstance(content, str) else json.dumps(content)).encode("utf-8"))
    pads = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0}
    pads |= {"pad_type_id": 0, "pad_token": padding}
    tokenizer: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": pads if padding else None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, "a": 3}, "unk_token": "<unk>"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_templates_and_special_tokens(case: dict[str, Any], tmp_path: Path) -> None:
    model = resolve(str(write(tmp_path, case["files"], case.get("padding"))))
    assert model.kind == "folder"
    assert {template.name: template.source for template in model.templates} == case["templates"]
    assert dict(model.tokenizer.special_tokens) == case["tokens"]
    assert not model.tokenizer.assumed


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the real transformers makes of every case."""
    pytest.importorskip("transformers", reason="the reference is not installed")
    root = tmp_path_factory.mktemp("reference")
    folders = [write(root / case["case"], case["files"], case.get("padding")) for case in CASES]
    run = subprocess.run(
        [sys.executable, "-c", REFERENCE],
        input="\n".join(map(str, folders)),
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "critical"},
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line[7:]) for line in run.stdout.splitlines() if line.startswith("ANSWER ")]
    return dict(zip((case["case"] for case in CASES), answers, strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_transformers_says_the_same(case: dict[str, Any], reference: dict[str, dict[str, Any]]) -> None:
    answer = reference[case["case"]]
    assert ("refused" in answer) == case.get("refused", False)
    if "refused" in answer:
        return
    assert answer["tokens"] == case["tokens"]
    template = answer["template"]
    named = {} if template is None else template if isinstance(template, dict) else {"default": template}
    assert named == case["templates"]


PROCESSOR = {
    "processor-alone": ({"processor_config.json": {"chat_template": "P"}}, "P", "only the processor"),
    "legacy-alone": ({"chat_template.json": {"chat_template": "L"}}, "L", "only the processor"),
    "processor-before-legacy": (
        {"processor_config.json": {"chat_template": "P"}, "chat_template.json": {"chat_template": "L"}},
        "P",
        "only the processor",
    ),
    "tokenizer-first": (
        {"tokenizer_config.json": {"chat_template": "T"}, "chat_template.json": {"chat_template": "L"}},
        "T",
        "the processor has another template",
    ),
    "tokenizer-and-processor-agree": (
        {"tokenizer_config.json": {"chat_template": "T"}, "chat_template.json": {"chat_template": "T"}},
        "T",
        None,
    ),
    "jinja-first": (
        {"chat_template.jinja": "J", "processor_config.json": {"chat_template": "P"}},
        "J",
        "the processor has another template",
    ),
    "only-newlines-differ": (
        {"chat_template.jinja": "J\r\nJ", "chat_template.json": {"chat_template": "J\nJ"}},
        "J\r\nJ",
        None,
    ),
    "processor-without-template": (
        {"processor_config.json": {"processor_class": "X"}, "chat_template.jinja": "J"},
        "J",
        None,
    ),
    "config-ignored": (
        {"chat_template.jinja": "J", "tokenizer_config.json": {"chat_template": "T"}},
        "J",
        "transformers ignores the template",
    ),
    "processor-broken": ({"chat_template.jinja": "J", "chat_template.json": "{"}, "J", "left out: "),
}


@pytest.mark.parametrize(("files", "source", "note"), PROCESSOR.values(), ids=PROCESSOR)
def test_tokenizer_before_processor(files: dict[str, Any], source: str, note: str | None, tmp_path: Path) -> None:
    model = resolve(str(write(tmp_path, files)))
    assert [template.source for template in model.templates] == [source]
    assert [notes.startswith(note or "?") for notes in model.notes] == ([True] if note else [])


def test_processor_refuses_legacy_file_beside_additional_templates(tmp_path: Path) -> None:
    files = {"chat_template.json": {"chat_template": "L"}, "additional_chat_templates/tool_use.jinja": "A"}
    assert any("processor refuses this folder" in note for note in resolve(str(write(tmp_path, files))).notes)


def test_tokenizer_facts(tmp_path: Path) -> None:
    files = {
        "tokenizer_config.json": {
            "eos_token": "<|im_end|>",
            "add_bos_token": False,
            "tokenizer_class": "Qwen2Tokenizer",
            "additional_special_tokens": ["<|im_start|>", {"content": "<|im_end|>"}],
            "added_tokens_decoder": {"7": {"content": "<|endoftext|>"}, "8": {"content": "<|im_end|>"}},
        },
        "generation_config.json": {"eos_token_id": [8, 7, 999], "temperature": 0.7},
        "config.json": {"model_type": "qwen2", "hidden_size": 1},
    }
    model = resolve(str(write(tmp_path, files)))
    tokenizer = model.tokenizer
    assert (tokenizer.add_bos, tokenizer.add_eos) == (False, None)
    assert tokenizer.stop_tokens == ("<|im_end|>", "<|endoftext|>")
    assert tokenizer.generation_config == files["generation_config.json"]
    assert tokenizer.facts["tokenizer_class"] == "Qwen2Tokenizer"
    assert tokenizer.facts["extra_special_tokens"] == ["<|im_start|>", "<|im_end|>"]
    assert model.metadata == {"model_type": "qwen2"}


def test_stop_tokens_from_tokenizer_json(tmp_path: Path) -> None:
    write(tmp_path, {"generation_config.json": {"eos_token_id": 5}})
    head = '{"version": "1.0", "added_tokens": [{"id": 5, "content": "<end>"}], "model": {"cut'
    (tmp_path / "tokenizer.json").write_text(head, "utf-8")
    model = resolve(str(tmp_path))
    assert model.tokenizer.stop_tokens == ("<end>",)
    assert model.notes == ()


def test_added_tokens_behind_a_large_vocabulary(tmp_path: Path) -> None:
    write(tmp_path, {"generation_config.json": {"eos_token_id": 5}})
    large = {"vocab": ["x" * 1000] * 5000, "added_tokens": [{"id": 5, "content": "<end>"}]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(large), "utf-8")
    assert resolve(str(tmp_path)).tokenizer.stop_tokens == ("<end>",)


UNREADABLE = {
    "generation_config.json": ("{", "generation_config.json:1:2: not JSON"),
    "special_tokens_map.json": ("[]", "special_tokens_map.json holds a list, not a JSON object"),
    "tokenizer.json": ("{", "tokenizer.json has no readable list of added tokens"),
}


@pytest.mark.parametrize(("name", "expected"), UNREADABLE.items(), ids=UNREADABLE)
def test_unreadable_companion_leaves_a_note(name: str, expected: tuple[str, str], tmp_path: Path) -> None:
    write(tmp_path, {"chat_template.jinja": "J"})
    (tmp_path / name).write_text(expected[0], "utf-8")
    model = resolve(str(tmp_path))
    assert model.template("default") is not None
    assert [note for note in model.notes if expected[1] in note] == list(model.notes) != []


def test_folder_of_weights_without_template(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["X"]}', "utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"")
    model = resolve(str(tmp_path))
    assert (model.kind, model.templates, model.metadata) == ("folder", (), {"architectures": ["X"]})


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"config.json": '{"architectures": ["LlamaForCausalLM"]}'}, ""),
        ({"config.json": '{"architectures": ["ChatGLMModel"]}'}, ""),
        ({"config.json": '{"architectures": "BertModel"}'}, ""),
        ({"config.json": '{"architectures": ["BertForMaskedLM"]}'}, "its architecture is BertForMaskedLM"),
        ({"config.json": '{"architectures": ["XLMRobertaModel"]}'}, "its architecture is XLMRobertaModel"),
        (
            {"config.json": '{"architectures": ["Qwen3ForSequenceClassification"]}'},
            "its architecture is Qwen3ForSequenceClassification",
        ),
        ({"config_sentence_transformers.json": "{}"}, "it has a config_sentence_transformers.json"),
    ],
)
def test_what_nobody_chats_with_needs_no_template(files: dict[str, str], reason: str, tmp_path: Path) -> None:
    write(tmp_path, files)
    config = tmp_path / "tokenizer_config.json"
    config.write_text("{}", "utf-8")
    for ref in (tmp_path, config):
        model = resolve(str(ref))
        assert model.not_for_chat == reason
        assert model.notes == ((f"no chat model: {reason}",) if reason else ())


MISTRAL = {
    "both": (["consolidated.safetensors", "tekken.json"], ["consolidated.safetensors", "tekken.json"]),
    "shards-and-old-tokenizer": (
        ["consolidated-00002-of-00002.safetensors", "consolidated-00001-of-00002.safetensors", "tokenizer.model.v3"],
        ["consolidated-00001-of-00002.safetensors", "tokenizer.model.v3"],
    ),
    "weights-alone": (["consolidated.safetensors", "tokenizer.model"], None),
    "tokenizer-alone": (["model.safetensors", "tekken.json"], None),
    "other-weights": (["consolidated.00.pth", "tekken.json"], None),
}


@pytest.mark.parametrize(("names", "expected"), MISTRAL.values(), ids=MISTRAL)
def test_files_of_mistrals_own_format(names: list[str], expected: list[str] | None, tmp_path: Path) -> None:
    for name in (*names, "chat_template.jinja"):
        (tmp_path / name).write_bytes(b"")
    assert resolve(str(tmp_path)).metadata == ({} if expected is None else {"mistral_common": expected})


GGUF = header([("tokenizer.chat_template", text("G")), ("split.no", u32(0))])

GGUF_FOLDERS = {
    "one": (["model.gguf"], "model.gguf"),
    "with-projector": (["model.gguf", "mmproj-F16.gguf", "model-mmproj_Q8_0.gguf", "imatrix.gguf"], "model.gguf"),
    "shards": (["a-00001-of-00003.gguf", "a-00002-of-00003.gguf", "a-00003-of-00003.gguf"], "a-00001-of-00003.gguf"),
    "beside-config-json": (["model.gguf", "config.json", "README.md"], "model.gguf"),
}


@pytest.mark.parametrize(("names", "taken"), GGUF_FOLDERS.values(), ids=GGUF_FOLDERS)
def test_folder_of_one_gguf(names: list[str], taken: str, tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).write_bytes(GGUF)
    model = resolve(str(tmp_path))
    assert (model.ref, model.kind) == (str(tmp_path), "gguf")
    assert [template.origin.path for template in model.templates] == [str(tmp_path / taken)]


def test_tokenizer_files_before_gguf(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(GGUF)
    model = resolve(str(write(tmp_path, {"chat_template.jinja": "J"})))
    assert ([template.source for template in model.templates], model.notes) == (["J"], ())
    (tmp_path / "chat_template.jinja").unlink()
    model = resolve(str(tmp_path))
    assert (model.templates, model.notes) == (
        (),
        (f"{tmp_path / 'model.gguf'} beside the tokenizer files was not looked into",),
    )


REFUSED: dict[str, tuple[dict[str, str], str, str | None]] = {
    "two-models": (
        {"a-Q4_K_M.gguf": "", "b-Q8_0.gguf": ""},
        " holds 2 GGUF models: a-Q4_K_M.gguf, b-Q8_0.gguf",
        "name one of them",
    ),
    "first-shard-missing": (
        {"a-00002-of-00003.gguf": "", "a-00003-of-00003.gguf": ""},
        " holds 2 of the shards of a split GGUF, and not the first: a-00001-of-00003.gguf",
        "it carries the template",
    ),
    "nothing": ({"README.md": ""}, " is no model folder: it has no tokenizer_config.json", None),
    "templates-only": ({"x.jinja": "", "y.jinja": ""}, " is no model folder: it holds 2 template files", "x.jinja"),
    "hub-cache": (
        {"snapshots/abc/config.json": "{}", "refs/main": "abc"},
        " is a cache of 1 revisions",
        "snapshots/abc",
    ),
    "broken-config": (
        {"tokenizer_config.json": "{", "chat_template.jinja": "J"},
        "tokenizer_config.json:1:2: not JSON",
        None,
    ),
    "config-of-the-wrong-kind": ({"tokenizer_config.json": "[]"}, "holds a list, not a JSON object", None),
}


@pytest.mark.parametrize(("files", "message", "cure"), REFUSED.values(), ids=REFUSED)
def test_refused_folders(files: dict[str, str], message: str, cure: str | None, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(TemplatelintError) as caught:
        resolve(str(tmp_path))
    assert message in caught.value.message
    assert str(tmp_path) in caught.value.message
    assert cure is None or cure in str(caught.value.help)

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from gguf_bytes import header, text
from hub_server import HubServer, Repo

from templatelint.lint import Options, lint
from templatelint.sources import resolve
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from pathlib import Path

    from templatelint.model import Finding

TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
OTHER = TURNS.replace("im_start", "start")
ALIKE = "{#- another text -#}" + TURNS


def _gguf(template: str) -> bytes:
    return header([("general.architecture", text("llama")), ("tokenizer.chat_template", text(template))])


def _write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        if isinstance(content, str) and name.endswith(".json"):
            content = json.dumps({"chat_template": content, "eos_token": "<|im_end|>"})  # noqa: PLW2901
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def _found(folder: Path, *engines: str) -> list[Finding]:
    model = resolve(str(folder), reach=Reach(vetting=True))
    return list(lint([model], Options(engines=engines, select=("TL703",), vetting=True)).findings)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        pytest.param(
            {"chat_template.jinja": TURNS, "tokenizer_config.json": OTHER}, ["tokenizer_config.json"], id="config"
        ),
        pytest.param({"chat_template.jinja": TURNS, "tokenizer_config.json": ALIKE}, [], id="another text"),
        pytest.param(
            {"chat_template.jinja": TURNS.replace("\n", "\r\n"), "tokenizer_config.json": TURNS}, [], id="crlf"
        ),
        pytest.param(
            {"tokenizer_config.json": TURNS, "chat_template.json": OTHER}, ["chat_template.json"], id="processor"
        ),
        pytest.param({"tokenizer_config.json": TURNS, "m.gguf": _gguf(OTHER)}, ["m.gguf"], id="gguf"),
        pytest.param({"tokenizer_config.json": TURNS, "m.gguf": _gguf(TURNS)}, [], id="gguf of the same"),
        pytest.param({"tokenizer_config.json": TURNS, "m.gguf": _gguf("{% if")}, ["m.gguf"], id="gguf that fails"),
        pytest.param(
            {"chat_template.jinja": TURNS, "tokenizer_config.json": OTHER, "m.gguf": _gguf(OTHER)},
            ["tokenizer_config.json"],
            id="one text twice",
        ),
        pytest.param({"tokenizer_config.json": TURNS}, [], id="one file"),
    ],
)
def test_files_that_render_differently_are_told(files: dict[str, str | bytes], told: list[str], tmp_path: Path) -> None:
    found = _found(_write(tmp_path, files), "transformers")
    assert [re.findall(r", and (\S+), which ", finding.message)[0] for finding in found] == told
    assert {finding.severity for finding in found} <= {"warning"}


def test_the_finding_says_who_reads_which_file(tmp_path: Path) -> None:
    (finding,) = _found(_write(tmp_path, {"chat_template.jinja": TURNS, "tokenizer_config.json": OTHER}))
    assert finding.engines == ("transformers", "llama.cpp", "vllm", "sglang")
    assert finding.message.startswith(
        "chat_template.jinja, which transformers, vLLM, SGLang and mlx-lm read, and tokenizer_config.json, which "
        "llama.cpp's conversion to GGUF and TGI read, give different prompts: chat-basic, chat-system, chat-turns and "
    )
    assert finding.place.path.endswith("chat_template.jinja")


def test_requests_that_vllm_serves_with_no_template_of_a_processor_are_no_difference(tmp_path: Path) -> None:
    tools = "{% if tools %}{{ tools | tojson }}{% endif %}"
    files: dict[str, str | bytes] = {"tokenizer_config.json": tools + TURNS, "chat_template.json": TURNS}
    assert _found(_write(tmp_path, files), "vllm") == []
    assert [finding.evidence[0][0] for finding in _found(tmp_path, "transformers")] == ["tools-offer"]


def test_a_file_that_cannot_be_read_is_left_out_with_a_note(tmp_path: Path) -> None:
    _write(tmp_path, {"chat_template.jinja": TURNS, "processor_config.json": b"{", "m.gguf": b"GGUF"})
    model = resolve(str(tmp_path), reach=Reach(vetting=True))
    assert model.others == ()
    left_out = [note for note in model.notes if note.startswith("left out: ")]
    assert {name for note in left_out for name in ("processor_config.json", "m.gguf") if name in note} == {
        "processor_config.json",
        "m.gguf",
    }


def test_other_files_are_read_for_vetting_alone(tmp_path: Path) -> None:
    _write(tmp_path, {"chat_template.jinja": TURNS, "tokenizer_config.json": OTHER})
    assert resolve(str(tmp_path)).others == ()
    (other,) = resolve(str(tmp_path), reach=Reach(vetting=True)).others
    assert other.source == OTHER
    assert other.origin.path.endswith("tokenizer_config.json")


def test_more_ggufs_than_tell_anything_new_are_named_and_not_read(tmp_path: Path) -> None:
    _write(tmp_path, {"chat_template.jinja": TURNS, **{f"{at}.gguf": _gguf(OTHER) for at in range(4)}})
    model = resolve(str(tmp_path), reach=Reach(vetting=True))
    assert [other.origin.path[-6:] for other in model.others] == ["0.gguf", "1.gguf"]
    assert "not looked into for templates: 2.gguf, 3.gguf" in model.notes


def test_the_files_of_a_repository_are_compared_too(hub: HubServer) -> None:
    config = json.dumps({"chat_template": OTHER, "eos_token": "<|im_end|>"})
    hub.repos["vendor/Model-8B"] = Repo({"chat_template.jinja": TURNS, "tokenizer_config.json": config})
    model = resolve("hf:vendor/Model-8B", reach=Reach(vetting=True))
    (finding,) = lint([model], Options(engines=("transformers",), select=("TL703",), vetting=True)).findings
    assert finding.message.startswith("chat_template.jinja, which ")
    assert "templatelint diff hf:vendor/Model-8B/tokenizer_config.json hf:vendor/Model-8B/chat_template" in finding.help

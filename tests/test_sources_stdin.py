from __future__ import annotations

import io
import json
import sys

import pytest

from templatelint.errors import TemplatelintError
from templatelint.sources import resolve


def feed(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


CONFIG = json.dumps({"eos_token": "<e>", "chat_template": [{"name": "tool_use", "template": "a\nb"}]}).encode()

BARE = {"bos_token": "<s>", "eos_token": "</s>"}

# bytes, --stdin-filename -> path shown, templates, special tokens
READ = {
    "template": (b"{{ x }}\r\n", None, ("<stdin>", {"default": "{{ x }}\r\n"}, BARE)),
    "named": (b"x", "a/b.jinja", ("a/b.jinja", {"default": "x"}, BARE)),
    "empty": (b"", None, ("<stdin>", {"default": ""}, BARE)),
    "short": (b"G", None, ("<stdin>", {"default": "G"}, BARE)),
    "config": (
        CONFIG,
        "a/tokenizer_config.json",
        ("a/tokenizer_config.json", {"tool_use": "a\nb"}, {"eos_token": "<e>"}),
    ),
    "legacy": (b'{"chat_template": "L"}', "chat_template.json", ("chat_template.json", {"default": "L"}, BARE)),
}


@pytest.mark.parametrize(("raw", "filename", "expected"), READ.values(), ids=READ)
def test_standard_input(
    raw: bytes,
    filename: str | None,
    expected: tuple[str, dict[str, str], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    feed(monkeypatch, raw)
    model = resolve("-", stdin_filename=filename)
    assert (model.ref, model.kind, model.local) == ("-", "stdin", True)
    assert ({template.origin.path for template in model.templates}) == {expected[0]}
    assert {template.name: template.source for template in model.templates} == expected[1]
    assert dict(model.tokenizer.special_tokens) == expected[2]


def test_place_in_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, CONFIG)
    (template,) = resolve("-#tool_use", stdin_filename="tokenizer_config.json").templates
    place = template.origin.place(2)  # the b behind the escaped newline
    assert CONFIG.decode()[place.column - 1] == "b"


REFUSED = {
    "gguf": (b"GGUF\3\0\0\0", None, "a GGUF cannot be read from standard input"),
    "gguf-by-name": (b"", "model.gguf", "a GGUF cannot be read from standard input"),
    "json": (b"{", "x/tokenizer_config.json", "x/tokenizer_config.json:1:2: not JSON: "),
    "binary": (b"a\0", "x.jinja", "x.jinja is binary"),
    "utf-16": (b"\xff\xfea\0", None, "<stdin> is UTF-16 text"),
    "large": (b"x" * ((1 << 20) + 1), None, "<stdin> has 1,048,577 bytes, more than the 1,048,576 a template may have"),
}


@pytest.mark.parametrize(("raw", "filename", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(raw: bytes, filename: str | None, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, raw)
    with pytest.raises(TemplatelintError) as caught:
        resolve("-", stdin_filename=filename)
    assert caught.value.message.startswith(message)


def test_no_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TemplatelintError, match=r"^standard input is closed$"):
        resolve("-")
    feed(monkeypatch, b"")
    sys.stdin.close()
    with pytest.raises(TemplatelintError, match=r"^standard input cannot be read: "):
        resolve("-")

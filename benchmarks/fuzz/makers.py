"""A random source → a case: one maker a kind of input."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz import ggufs, jinja
from fuzz.case import Case
from fuzz.ggufs import Pair, Writer
from fuzz.texts import ENGINES, as_json, changed, damaged, odd, templates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

_GOOD = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def _commands(random: Random, ref: str, *, several: int = 1) -> list[tuple[str, ...]]:
    """Command lines for a reference; the quick ones are always among them."""
    engine = random.choice(ENGINES)
    every: list[tuple[str, ...]] = [
        ("lint", ref, "--engine", engine),
        (
            "lint",
            ref,
            "--engine",
            engine,
            "--output-format",
            random.choice(("json", "sarif", "html", "markdown", "junit")),
        ),
        ("inspect", ref, "--engine", engine),
        ("render", ref, "--engine", engine, "--case", random.choice(("chat-basic", "tool-call", "tools-offer"))),
        ("diff", "good.jinja", ref, "--engine", engine),
        ("diff", ref, "good.jinja", "--engine", engine, "--output-format", "json"),
        ("vet", ref, "--engine", engine, "--upstream", "none"),
        ("pin", ref, "--lock", "new.lock"),
        ("lint", ref, "--engine", engine, "--fix", "--diff"),
        ("parse", "output.txt", "--template", ref),
        ("vet", "good.jinja", "--against", ref, "--engine", engine, "--upstream", "none"),
    ]
    return [("extract", ref), *random.sample(every, several)]


_BESIDE = {"good.jinja": _GOOD.encode(), "output.txt": b'<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'}


def gguf(random: Random) -> Case:
    """A GGUF, good or not; what it carries is read by another reader too."""
    raw = ggufs.gguf(random)
    commands = _commands(random, "m.gguf", several=random.choice((1, 2)))
    commands += [("embed", "m.gguf", "--template", "good.jinja", "-o", "n.gguf", *random.choice(((), ("--force",))))]
    own = [command for command in commands if "m.gguf" in command]
    readable, exact = _of_gguf(raw)
    refused: list[tuple[str, ...]] = own if not readable else []
    if readable and not exact and not any(word in raw for word in _NO_CHAT):
        # what `--diff` exits with says whether it would change anything
        refused = [row for row in own if row[0] in _JUDGING and not {"--against", "--diff"}.intersection(row)]
    return Case("gguf", {"m.gguf": raw, **_BESIDE}, commands, frozenset(refused), exact)


# what may say that nobody chats with a file
_NO_CHAT = (b"general.type", b"pooling_type", b"clip", b"bert")
_JUDGING = frozenset({"lint", "vet", "extract", "render"})


def _of_gguf(raw: bytes) -> tuple[bool, dict[tuple[str, ...], bytes]]:
    """Whether its header can be read, and what `extract` has to print; nothing where there is no default template."""
    try:
        found = ggufs.read(raw)
        for template in found.values():
            template.decode()
    except (ggufs.Broken, RecursionError, UnicodeDecodeError):
        return False, {}
    default = found.get(ggufs.TEMPLATE, found.get(f"{ggufs.TEMPLATE}.default"))
    if default is None and len(found) == 1:  # a named one alone
        (default,) = found.values()
    return True, {} if default is None else {("extract", "m.gguf"): default}


def split(random: Random) -> Case:
    """The files of a split, one of them missing, foreign or damaged."""
    files = dict(_BESIDE)
    for number in range(3):
        writer = Writer("<", 3, random)
        pairs = [Pair(b"split.no", 2, number), Pair(b"split.count", 2, 3), Pair(b"split.tensors.count", 5, 3)]
        if number == 0:
            pairs.append(Pair(ggufs.TEMPLATE.encode(), ggufs.STRING, _GOOD.encode()))
        if random.random() < 0.3:
            pairs[random.randrange(3)] = Pair(b"split.x", 2, 7)
        writer.out += b"GGUF"
        writer.number("I", 3)
        writer.length(1)
        writer.length(len(pairs))
        for pair in pairs:
            writer.pair(pair)
        writer.string(b"blk.%d.weight" % random.choice((number, number, number, 0)))
        for code, value in (("I", 1), ("Q", 32), ("I", 0), ("Q", 0)):
            writer.number(code, value)
        raw = bytes(writer.out) + bytes(-len(writer.out) % 32) + bytes(random.choice((128, 128, 128, 12)))
        if random.random() < 0.85:
            files[f"m-{number + 1:05}-of-00003.gguf"] = damaged(raw, random) if random.random() < 0.2 else raw
    first = "m-00001-of-00003.gguf"
    return Case("split", files, [("vet", first, "--upstream", "none", "--engine", "llama.cpp"), ("extract", first)])


def template(random: Random) -> Case:
    """A template file with edits; Jinja itself says whether it parses."""
    source = jinja.mutated(random)
    raw = source.encode("utf-8", "surrogatepass")
    if random.random() < 0.1:
        raw = damaged(raw, random)
    commands = _commands(random, "t.jinja")
    files = {"t.jinja": raw, **_BESIDE}
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return Case("template-binary", files, commands, frozenset(row for row in commands if row[1] == "t.jinja"))
    exact: dict[tuple[str, ...], bytes] = {("extract", "t.jinja"): raw}
    if jinja.parses(text):
        return Case("template", files, commands, frozenset(), exact)
    # what Jinja does not parse, another engine may
    held = ("lint", "t.jinja", "--engine", "transformers")
    return Case("template-unparsed", files, [*commands, held], frozenset({held}), exact)


# ------------------------------------------------------------------------------------------------ folders


def folder(random: Random) -> Case:
    """A model folder in which one or two files are not what they have to be."""
    source = random.choice(templates())
    config: Any = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": source, "add_bos_token": True}
    if random.random() < 0.3:
        config["chat_template"] = [{"name": "default", "template": source}, {"name": "tool_use", "template": _GOOD}]
    config["added_tokens_decoder"] = {"2": {"content": "</s>", "special": True}}
    added = [{"id": 2, "content": "</s>", "special": True}, {"id": 3, "content": "<|im_end|>", "special": True}]
    files: dict[str, Any] = {
        "tokenizer_config.json": config,
        "generation_config.json": {"eos_token_id": [2, 3], "bos_token_id": 1},
        "tokenizer.json": {
            "added_tokens": added,
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]},
        },
        "special_tokens_map.json": {"bos_token": "<s>", "eos_token": {"content": "</s>"}},
        "config.json": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "eos_token_id": 2},
    }
    if random.random() < 0.3:
        name = random.choice(("chat_template.json", "processor_config.json"))
        files[name] = {"chat_template": random.choice((source, _GOOD))}
    for name in random.sample(sorted(files), random.choice((1, 1, 2))):
        files[name] = changed(files[name], random)
    written = {f"model/{name}": as_json(data, random) for name, data in files.items()}
    if random.random() < 0.3:
        written["model/chat_template.jinja"] = jinja.mutated(random).encode("utf-8", "surrogatepass")
    if random.random() < 0.2:
        name = random.choice(("tool_use", "é", "a b", "-x"))
        written[f"model/additional_chat_templates/{name}.jinja"] = jinja.mutated(random).encode(
            "utf-8", "surrogatepass"
        )
    if random.random() < 0.4:
        written["model/README.md"] = _card(random)
    if random.random() < 0.1:
        del written[random.choice(sorted(written))]
    ref = random.choice(("model", "model", f"model/{random.choice(sorted(files))}"))
    commands = _commands(random, ref)
    unreadable = ref.endswith("tokenizer_config.json") and _no_json(written.get(ref, b""))
    refused = [command for command in commands if command[1] == ref] if unreadable else []
    return Case("folder", {**written, **_BESIDE}, commands, frozenset(refused))


def _no_json(raw: bytes) -> bool:
    try:
        return not isinstance(json.loads(raw.decode()), dict)
    except (ValueError, RecursionError):
        return True


def _card(random: Random) -> bytes:
    head = random.choice(
        (
            "base_model: owner/name",
            "base_model:\n- owner/name\n- other/name\nbase_model_relation: quantized",
            "base_model: [owner/name, 1, null]",
            "base_model: &a [*a, *a]",
            "base_model: !!python/object/apply:os.system ['true']",
            "a: " + "{" * 5000,
            "- " * 3000,
            f'base_model: "{odd(random)}"',
        )
    )
    return damaged(f"---\n{head}\n---\n# Model\n{odd(random)}".encode(), random)


# ----------------------------------------------------------------------------------------- other files


def lock(random: Random) -> Case:
    """A lock file with damage, held against a template."""
    text = _lock_text()
    lines = text.splitlines(keepends=True)
    for _ in range(random.choice((1, 2, 4))):
        at = random.randrange(len(lines) or 1)
        wrong = random.choice(("[[template]]", "[template]", "x = 1", "version = 99", '"', "a.b.c = ["))
        value = random.choice(("1", "[]", "{}", "nan", "true", "1979-05-27", "[[]]", json.dumps(odd(random))))
        key = lines[at].partition("=")[0] if lines else ""
        random.choice(
            (
                lambda at=at: lines.__delitem__(slice(at, at + 1)),
                lambda at=at, wrong=wrong: lines.insert(at, f"{wrong}\n"),
                lambda at=at, key=key, value=value: lines.__setitem__(slice(at, at + 1), [f"{key}= {value}\n"]),
                lambda at=at: lines.insert(at, "".join(lines[at : at + 1])),
            )
        )()
    raw = "".join(lines).encode("utf-8", "surrogatepass")
    if random.random() < 0.3:
        raw = damaged(raw, random)
    commands = [("pin", "--check", "--lock", "a.lock"), ("pin", "good.jinja", "--lock", "a.lock")]
    return Case("lock", {"a.lock": raw, **_BESIDE}, commands)


@cache
def _lock_text() -> str:
    """A lock of a template, as the program writes it."""
    from tempfile import TemporaryDirectory

    from fuzz.running import ran

    with TemporaryDirectory() as folder:
        ran(Case("lock", _BESIDE, ()), ("pin", "good.jinja", "--lock", "a.lock"), Path(folder))
        return Path(folder, "a.lock").read_text(encoding="utf-8")


def ollama(random: Random) -> Case:
    """A local store whose manifest, layers or blobs are not what they have to be."""
    blobs: dict[str, bytes] = {}

    def layer(media: str, raw: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(raw).hexdigest()
        blobs[f"store/blobs/sha256-{digest}"] = raw
        return {"mediaType": f"application/vnd.ollama.image.{media}", "digest": f"sha256:{digest}", "size": len(raw)}

    go = "{{ if .System }}<|im_start|>{{ .System }}{{ end }}{{ .Prompt }}" + odd(random)
    manifest: Any = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        "config": layer("config", json.dumps({"model_format": "gguf", "model_family": "llama"}).encode()),
        "layers": [
            layer("model", ggufs.gguf(random)),
            layer("template", random.choice((go, jinja.mutated(random))).encode("utf-8", "surrogatepass")),
            layer("params", as_json({"stop": ["<|im_end|>"]}, random)),
            layer("system", odd(random).encode()),
        ],
    }
    if random.random() < 0.5:
        manifest = changed(manifest, random)
    files = {**blobs, "store/manifests/registry.ollama.ai/library/m/latest": as_json(manifest, random), **_BESIDE}
    if random.random() < 0.2:
        del files[random.choice(sorted(blobs))]
    return Case("ollama", files, _commands(random, "ollama:m"), environment={"OLLAMA_MODELS": "{folder}/store"})


def output(random: Random) -> Case:
    """A model's raw output with damage, read back."""
    calls = (
        '<tool_call>\n{"name": "f", "arguments": {"a": 1, "b": "x"}}\n</tool_call>',
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
        '[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]',
        '<|python_tag|>{"name": "f", "parameters": {"a": 1}}',
        "[f(a=1, b='x'), g()]",
        "<think>hm</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>',
        '<|tool_call>call:f{a:1,b:<|"|>x<|"|>}<tool_call|>',
        '<minimax:tool_call><invoke name="f"><parameter name="a">1</parameter></invoke></minimax:tool_call>',
    )  # fmt: skip
    raw = random.choice(calls).encode()
    for _ in range(random.choice((1, 2, 4))):
        raw = damaged(raw, random)
    raw += random.choice((b"", b"{" * 5000, b"[" * 5000, b"<think>" * 500, b'"' * 3000, b"\\" * 3000, b"f(" * 3000))
    dialects = ((), ("--dialect", random.choice(_dialects())), ("--template", "t.jinja"))
    files = {"o.txt": raw, "t.jinja": random.choice(templates()).encode()}
    row = {"id": odd(random), "text": raw.decode("utf-8", "replace"), "dialect": random.choice(_dialects())}
    files["o.jsonl"] = as_json(changed(row, random), random) + b"\n"
    form = random.choice(((), ("--output-format", "json")))
    commands = [("parse", "o.txt", *random.choice(dialects), *form), ("parse", "o.jsonl", "--output-format", "jsonl")]
    return Case("output", files, commands)


@cache
def _dialects() -> tuple[str, ...]:
    from templatelint.dialects import NAMES

    return NAMES


def requests(random: Random) -> Case:
    """Request bodies with damage, rendered and compared."""
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    body: Any = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "S"},
            {"role": "user", "content": [{"type": "text", "text": "U"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "R"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
        "chat_template_kwargs": {"enable_thinking": False},
    }
    files = {
        "r.json": as_json(changed(body, random), random),
        "t.jinja": random.choice(templates()).encode(),
        **_BESIDE,
    }
    engine = random.choice(ENGINES)
    commands = [
        ("render", "t.jinja", "--messages", "r.json", "--engine", engine),
        random.choice(
            (
                ("render", "t.jinja", "--requests", "r.json", "--engine", engine, "--output-format", "jsonl"),
                ("diff", "t.jinja", "good.jinja", "--messages", "r.json", "--engine", engine),
                ("render", "t.jinja", "--renderer", "jinja2", "--context", "r.json"),
                ("render", "t.jinja", "--tools", "r.json", "--engine", engine),
            )
        ),
    ]
    return Case("requests", files, commands)


def settings(random: Random) -> Case:
    """A settings file or a baseline with damage."""
    text = f"""\
engine = ["llama.cpp"]
needs = ["chat", "tools"]
ignore = ["TL304"]
fail-on = "warning"
[[override]]
file = "*.jinja"
model = "good.jinja"
needs = ["{random.choice(("chat", "tools"))}"]
[per-file-ignores]
"*.jinja" = ["TL5"]
"""
    raw = damaged(text.encode(), random)
    if random.random() < 0.5:
        raw = raw.replace(b'["', random.choice((b"[1, ", b"{", b'"', b'[["'))).replace(
            b"model", odd(random).encode(), 1
        )
    entry = {"rule": "TL101", "template": "default", "path": "good.jinja", "fingerprint": "00", "reason": "r"}
    baseline = as_json(changed({"version": 1, "findings": [entry], "accepted": [entry]}, random), random)
    files = {"s.toml": raw, "b.json": baseline, **_BESIDE}
    lint = ("lint", "good.jinja", "--engine", "llama.cpp")
    commands = [(*lint, "--config", "s.toml"), (*lint, "--baseline", "b.json")]
    return Case("settings", files, commands)


# how often each is made, of all
MAKERS: Mapping[Callable[[Random], Case], int] = {
    gguf: 30,
    split: 5,
    template: 25,
    folder: 20,
    lock: 4,
    ollama: 5,
    output: 5,
    requests: 4,
    settings: 2,
}


def make(random: Random) -> Case:
    """One case."""
    (maker,) = random.choices(list(MAKERS), list(MAKERS.values()))
    return maker(random)

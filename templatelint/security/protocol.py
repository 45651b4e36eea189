"""Words → whether they belong to a protocol; texts → whether they instruct."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import nodes

# words of the protocols between clients, engines and models: what is told apart by them is the shape of a message
PROTOCOL: Final = re.compile(
    r"think|thought|reason|tool|function|answer|respon|image|video|audio|media|channel|skill|chart|table|box|citation"
    r"|custom|source|target|text|sys|inst|final|analysis|commentary|plugin|im_|start|end|role|user|assistant|content",
    re.IGNORECASE,
)
# One marker and nothing besides: brackets around a name, a switch, a key with its sign.
_SHAPE = re.compile(
    r"\s*(?:<{1,3}[/|｜]{0,2}[\w. =:\"'▁-]{1,60}[|｜]?>{0,3}|\[[/\w ]{1,40}\]|\{+[\"'\w]{0,40}|/\w{1,20}"
    r"|[\w-]{1,40}[:=]|\w+_\w+|`{3}\w*|[!-/:-@\[-`{-~])\s*"
)
_MARKUP = re.compile(r"<[^<>]{0,80}>|\[[A-Z_/]+\]|https?://\S+")
_PROSE = re.compile(r"[^\W\d_]{2,}")
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_URL = re.compile(r"https?://\w")
_OPERATOR = re.compile(r"(?:^|[>|\]\n])\s*(?:system|developer)\s*(?:$|[<|\[\n])")
_INSTRUCTION: Final = 4  # words that make one
_TOGETHER: Final = 12  # pieces of one
_CODE = re.compile(r"[<>{}\[\]\"|=:]")
_PER_WORD: Final = 2  # characters of a word where no spaces stand
SHAPES: Final = frozenset(
    (
        *("text", "parts", "blocks", "value", "name", "response", "type", "image", "image_url", "images", "video"),
        *("videos", "audio", "content", "data", "role", "items", "arguments", "result", "output", "tools", "function"),
        *("reasoning", "thinking", "thought", "formatted_tools", "has_thinking", "id", "url", "properties"),
    )
)


def is_protocol(word: str) -> bool:
    """Whether it is a marker of a protocol, whole, rather than a text."""
    return _SHAPE.fullmatch(word) is not None and (PROTOCOL.search(word) is not None or not any(map(str.isalnum, word)))


def words(text: str) -> int:
    """How many words it has, markers aside."""
    plain = _MARKUP.sub(" ", text)
    unspaced = len(_IDEOGRAPH.findall(plain))
    return len(_PROSE.findall(_IDEOGRAPH.sub(" ", plain))) + unspaced // _PER_WORD


def prose(text: str) -> bool:
    """Whether the text, markers aside, is several words."""
    return words(text) >= _INSTRUCTION


def elevates(text: str) -> bool:
    """Whether it begins a turn of the operator's, or leads elsewhere."""
    return _URL.search(text) is not None or _OPERATOR.search(text) is not None


def instructs(texts: Sequence[tuple[str, nodes.Node]]) -> tuple[str, nodes.Node] | None:
    """The first of the texts that instructs; or all of them, where they do together and are but words."""
    for text, node in texts:
        if prose(text) or elevates(text):
            return text, node
    if not 1 < len(texts) <= _TOGETHER or any(map(_CODE.search, (text for text, _ in texts))):
        return None
    together = " ".join(" ".join(text for text, _ in texts).split())
    return (together, texts[0][1]) if prose(together) else None

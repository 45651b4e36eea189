"""A conversation → the prompt that a server makes of it, as text or as tokens, through the routes that it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint.probe.telling import busy, http, reason
from templatelint.probe.verdict import NotOffered
from templatelint.sources.endpoint.routes import table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.wire.exchange import Exchange

APPLY, TOKENIZE, DETOKENIZE = "/apply-template", "/tokenize", "/detokenize"
LLAMA_CPP = "llama.cpp"
# engines whose /tokenize takes messages too (vLLM's TokenizeChatRequest, SGLang's TokenizeRequest)
TOKENIZING = frozenset({"vllm", "sglang"})
_OF_A_CONVERSATION = (
    "messages",
    "tools",
    "chat_template",
    "chat_template_kwargs",
    "add_generation_prompt",
    "continue_final_message",
)

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Made:
    """What a server makes of a conversation.

    Attributes:
        text: the prompt; None where the server gives tokens, or no prompt.
        ids: its tokens; None where the server gives text, or no prompt.
        count: how many tokens it has, where nothing more is known of it.
        error: why there is no prompt, in a clause; empty where there is one.
        status: of HTTP, beside an error.
        turned_away: the server had other reasons for it than the conversation.
    """

    text: str | None = None
    ids: Ids | None = None
    count: int | None = None
    error: str = ""
    status: int = 0
    turned_away: bool = False

    @property
    def known(self) -> bool:
        """Whether anything is known of the prompt."""
        return self.text is not None or self.ids is not None or self.count is not None


def made(endpoint: Endpoint, body: Mapping[str, Any], kind: str) -> Made:
    """The prompt of a chat-completions body.

    Args:
        endpoint: whom to ask.
        body: without a model.
        kind: the engine's id, empty where it is not known.

    Raises:
        NotOffered: the server has no route that tells it.
        NoAnswer: it does not answer.
    """
    if kind in TOKENIZING:
        return _tokenized(endpoint, body)
    exchange = endpoint.post(APPLY, {**body, "model": endpoint.model})
    prompt = exchange.object.get("prompt")
    if exchange.ok and isinstance(prompt, str):
        return Made(prompt)
    if exchange.absent:
        raise NotOffered(APPLY, exchange.status)
    if exchange.ok and kind != LLAMA_CPP:  # as servers do that have a page for every address
        raise NotOffered(APPLY, exchange.status, f"POST {APPLY} is answered HTTP {exchange.status} without a prompt")
    return _refused(exchange, "without a prompt")


def _tokenized(endpoint: Endpoint, body: Mapping[str, Any]) -> Made:
    members = {name: body[name] for name in _OF_A_CONVERSATION if name in body}
    exchange = endpoint.post(TOKENIZE, {**members, "model": endpoint.model})
    ids = _ids(exchange)
    if ids is not None:
        return Made(ids=ids)
    if exchange.absent:
        raise NotOffered(TOKENIZE, exchange.status)
    return _refused(exchange, "without tokens")


def tokens(endpoint: Endpoint, prompt: str, kind: str, *, special: bool) -> Ids | None:
    """The tokens that the server makes of a text; None where it does not tell.

    Args:
        endpoint: whom to ask.
        prompt: in which the texts of special tokens stand for these tokens.
        kind: as above.
        special: add what the tokenizer puts around a text (BOS, EOS).

    Raises:
        NoAnswer: it does not answer.
    """
    if kind in TOKENIZING:
        body: dict[str, Any] = {"prompt": prompt, "add_special_tokens": special}
    else:
        body = {"content": prompt, "add_special": special, "parse_special": True}
    return _ids(endpoint.post(TOKENIZE, {**body, "model": endpoint.model}))


def written(endpoint: Endpoint, ids: Ids) -> str | None:
    """The text of tokens, special ones among them; None where the server does not tell."""
    exchange = endpoint.post(DETOKENIZE, {"tokens": list(ids), "skip_special_tokens": False, "model": endpoint.model})
    answer = exchange.object if exchange.ok else {}
    return next((text(answer[name]) for name in ("prompt", "text", "content") if text(answer.get(name))), None)


def _ids(exchange: Exchange) -> Ids | None:
    found = table(exchange.value).get("tokens") if exchange.ok else None
    if not isinstance(found, list) or not all(type(each) is int for each in found):
        return None
    return tuple(found)


def _refused(exchange: Exchange, lacking: str) -> Made:
    told = http(exchange) if reason(exchange) else f"{http(exchange)} {lacking}"
    return Made(error=told, status=exchange.status, turned_away=busy(exchange) is not None)

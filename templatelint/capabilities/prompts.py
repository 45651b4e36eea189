"""The two ends of a prompt: BOS, and the cue that tells the model to speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.reading import stretch

if TYPE_CHECKING:
    from templatelint.capabilities.cells import Cells, Word

_BASIC = "chat-basic"
_BARE = f"{_BASIC}+nogen"
CASES = (_BASIC, _BARE)

# What opens a stretch of thought, and what ends it (as of 2026-11).
_THOUGHT = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),  # MiniMax M3
    ("<longcat_think>", "</longcat_think>"),
    ("◁think▷", "◁/think▷"),  # Kimi-VL
    ("<|channel>thought", "<channel|>"),  # Gemma 4
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    ("<|channel|>analysis<|message|>", "<|end|>"),  # gpt-oss
)
# How templates spell BOS where they do not take it from the tokenizer.
_SPELT = (
    "<s>",
    "<bos>",
    "<|begin_of_text|>",
    "<｜begin▁of▁sentence｜>",
    "<|begin_of_sentence|>",
    "<|startoftext|>",
    "<BOS_TOKEN>",
    "<|bos|>",
)


def facts(cells: Cells, *, adds_bos: bool | None) -> dict[str, Any]:
    """`generation_prompt`, `thought` and `bos`."""
    return {"generation_prompt": _cue(cells), "thought": _thought(cells), "bos": _bos(cells, adds_bos=adds_bos)}


def _cue(cells: Cells) -> str | None:
    """What the flag adds at the end; empty where it adds nothing there."""
    prompt, bare = cells.prompt(_BASIC), cells.prompt(_BARE)
    if prompt is None or bare is None:
        return None
    return prompt[len(bare) :] if prompt.startswith(bare) else ""


def _thought(cells: Cells) -> Word:
    """How the prompt leaves the model behind the user's text: inside a stretch of thought, past one, or neither."""
    prompt = cells.prompt(_BASIC)
    user = stretch(prompt, cells.case(_BASIC), "user.1") if prompt is not None else None
    if prompt is None or user is None:
        return None
    tail = prompt[user.end :]
    for opening, closing in _THOUGHT:
        at = tail.rfind(opening)
        if at >= 0:
            return "closes" if closing in tail[at:] else "opens"
    return "none"


def _bos(cells: Cells, *, adds_bos: bool | None) -> Word:
    prompt = cells.prompt(_BASIC)
    if prompt is None:
        return None
    tokenizer = cells.view.model.tokenizer
    named = tokenizer.special_tokens.get("bos_token")
    spelt = (*([named] if named else []), *(_SPELT if tokenizer.assumed else ()))
    token = next((text for text in spelt if prompt.startswith(text)), None)
    if token is None:
        return "engine" if adds_bos else "none" if adds_bos is False else None
    # an engine of which it is not known cuts the template's BOS where it adds its own
    return "doubled" if adds_bos or prompt.startswith(token * 2) else "template"

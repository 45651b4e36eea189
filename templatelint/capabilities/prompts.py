"""Whether there is a prompt, and its two ends: BOS, and the cue that tells the model to speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.reading import MARKER, THOUGHT, common, stretch, turns

if TYPE_CHECKING:
    from templatelint.capabilities.cells import Cells, Word

_BASIC = "chat-basic"
_BARE = f"{_BASIC}+nogen"
_TURNS, _TWO_USERS = "chat-turns", "chat-two-users"
CASES = (_BASIC, _BARE, _TURNS, _TWO_USERS)
_FLAG = "add_generation_prompt"

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
    """`chat`, `prompts`, `generation_prompt`, `thought` and `bos`."""
    return {
        "chat": _chat(cells),
        "prompts": _any(cells),
        "generation_prompt": _cue_read_off(cells) if cells.view.always_cued else _cue(cells),
        "thought": _thought(cells),
        "bos": _bos(cells, adds_bos=adds_bos),
    }


def _chat(cells: Cells) -> Word:
    """What comes of one user message, in the shape that the template demands."""
    if cells.prompt(_BASIC) is not None:
        return "fine"
    observation = cells.plain(_BASIC)
    if observation is None or observation.error is None:
        return None
    error = observation.error
    cells.errors["chat"] = error.message
    if error.out_of_budget:
        return "over budget"
    return "refused" if error.kind in {"refused", "invalid-request"} else "raises"


def _any(cells: Cells) -> bool:
    """Whether any of the engine's cells has a prompt."""
    view = cells.view
    return any(cell.prompt is not None for (_, engine), cell in view.matrix.cells.items() if engine == view.engine)


def _cue(cells: Cells) -> str | None:
    """What the flag adds at the end; empty where it adds nothing there."""
    prompt, bare = cells.prompt(_BASIC), cells.prompt(_BARE)
    if prompt is None or bare is None:
        return None
    return prompt[len(bare) :] if prompt.startswith(bare) else ""


def _cue_read_off(cells: Cells) -> str | None:
    """What stands behind the last user text, from where it opens an answer as the history does; None where untold.

    Of an engine that always asks for it: no prompt shows what the flag adds, and a template that does not read the
    flag may write the same.
    """
    prompt, history = cells.prompt(_BASIC), cells.prompt(_TURNS)
    if prompt is None or history is None or _FLAG not in cells.view.written:
        return None
    user, anatomy = stretch(prompt, cells.case(_BASIC), "user.1"), turns(history, cells.case(_TURNS))
    if user is None or anatomy is None or not anatomy.user_to_assistant.strip():
        return None
    tail = prompt[user.end :]
    if not tail.startswith(anatomy.user_to_assistant.rstrip()):
        return None
    twice = cells.prompt(_TWO_USERS)
    first, second = (stretch(twice or "", cells.case(_TWO_USERS), mark) for mark in ("user.1", "user.2"))
    if twice is not None and first is not None and second is not None and first.end < second.start:
        at = _opening(anatomy.user_to_assistant, twice[first.end : second.start])
    else:  # two users in a row are not taken: most templates end an answer as they end a user's turn, if at all
        at = _opening(anatomy.user_to_assistant, anatomy.assistant_to_user + anatomy.user_header) or None
    return None if at is None else tail[at:]


def _opening(text: str, other: str) -> int | None:
    """Where what opens a turn begins in `text`, behind what ends the last one; `other` opens the turn of another role.

    None where the two cannot be told apart.
    """
    shared = text[: common(text, other)]
    line = shared.rfind("\n") + 1
    if shared[:line].strip():
        return line
    marker = MARKER.match(text)
    if not shared or (marker is not None and len(shared) < marker.end()):
        return 0
    if line or marker is None:
        return None
    # one that both roles share and that no other follows may be the first half of either's header
    return marker.end() if MARKER.match(text, marker.end()) else None


def _thought(cells: Cells) -> Word:
    """How the prompt leaves the model behind the user's text: inside a stretch of thought, past one, or neither."""
    prompt = cells.prompt(_BASIC)
    user = stretch(prompt, cells.case(_BASIC), "user.1") if prompt is not None else None
    if prompt is None or user is None:
        return None
    tail = prompt[user.end :]
    for opening, closing in THOUGHT:
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

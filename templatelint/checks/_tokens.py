"""What a template writes around messages and calls → the markers in it, and which of them have to be tokens."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from templatelint import call_syntax
from templatelint.checks._markers import TURNS
from templatelint.reading import MARKER, THOUGHT, stretch, turns
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from templatelint.model import Vocabulary
    from templatelint.view import View

CHAT = ("chat-turns", "chat-turns-system")
_CALL = "tool-call"

# A token by its looks: <|…|>, and DeepSeek's with full-width bars.
_SHAPE = re.compile(r"<\|[^<>|\s]{1,60}\|>")
_FULL_WIDTH = re.compile(r"<｜[^<>｜\s]{1,60}｜>")
# Tokens wherever models know them, by the formats of the field (as of 2026-11): nobody trains on them as plain text.
# Not among them: <|user|>, <|assistant|>, <|system|> and the like, which are tokens of Phi and GLM and plain text to
# Zephyr, TinyLlama, Tulu and H2O-Danube; [INST], which became a token with the third tokenizer of Mistral.
_TURN_TOKENS = frozenset(
    {marker for opener, closers in TURNS for marker in (opener, *closers) if opener != "[INST]"}
    | {"<|end_header_id|>", "<|header_end|>", "<|end_of_role|>", "<|message|>", "<|channel|>", "<|im_sep|>"}
    | {"<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>"}
    | {"<|SYSTEM_TOKEN|>", "<|endoftext|>", "<|end_of_turn|>", "</s>", "<eos>"}
    | {"<|endofturn|>", "<|startofturn|>", "<|role_end|>", "<|end_of_sentence|>", "<|EOT|>", "<|BOT|>"}
    | {"<|message_sep|>", "<|role_sep|>", "<|im:start|>", "<|im:content|>", "<|im:end|>"}
    | {f"<|{role}_{part}|>" for role in ("user", "assistant", "system", "developer") for part in ("start", "end")}
)
_CALL_TOKENS = frozenset(
    {"<tool_call>", "</tool_call>", "<|tool_call>", "<tool_call|>", "[TOOL_CALLS]", "[TOOL_RESULTS]"}
    | {"<start_function_call>", "<end_function_call>", "<seed:tool_call>", "</seed:tool_call>"}
    | {"<|tool_call_start|>", "<|tool_call_end|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>"}
    | {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tools_prefix|>", "<|tools_suffix|>"}
    | {"<|START_ACTION|>", "<|END_ACTION|>", "<|action_start|>", "<|action_end|>", "<|plugin|>", "<|python_start|>"}
    | {"<|tool_call:begin|>", "<|tool_call:end|>", "<|CALL_START|>", "<|CALL_END|>"}
)
# Vocabularies of 2023 (Llama 2 and Mistral 0.1, with a few tokens added) to which <tool_call> is plain text: models
# that call tools learned it so (Hermes 2 Pro).
_OLD_SIZES = range(32000, 32129)
_OLD_BYTE = "<0x0A>"
_PLAIN_TO_OLD = frozenset({"<tool_call>", "</tool_call>"})

_THOUGHT = frozenset(mark for pair in THOUGHT for mark in pair)
_MISSPELT, _ALIKE = 8, 0.85  # characters that a marker has at least for which another is meant; share of them in both
_MORE, _MAX_ALIKE = 4, 500  # characters more or less that the other has; how many are compared
_PROSE = 400  # characters of a header; more of it is text, which may speak about markers


def vocabulary(view: View) -> Vocabulary:
    """The tokens of the model; raises NoText where its files carry none."""
    found = view.model.tokenizer.vocabulary
    if found is None:
        raise NoText("its tokens", "the model's files carry no vocabulary that could be read")
    return found


def read_tokens(view: View) -> None:
    """Raises NoText where the special tokens are assumed, and not the model's own."""
    if view.model.tokenizer.assumed:
        raise NoText("its tokens", "no file says which special tokens there are")


def around_turns(view: View) -> dict[str, str]:
    """Marker → the case that shows it, of what stands around texts of plain chat; calls there are only talked of."""
    found: dict[str, str] = {}
    anatomy = turns(view.prompt("chat-turns"), view.case("chat-turns"))
    if anatomy is not None:
        written = (anatomy.user_header, anatomy.user_to_assistant, anatomy.assistant_to_user, anatomy.tail)
        _note(found, "chat-turns", written)
    for case, prompt in view.rendered("chat-turns-system"):
        if "system" not in case.marks:  # the template refuses one
            continue
        system, user = stretch(prompt, case, "system"), stretch(prompt, case, "user.1")
        if system is not None and user is not None and system.end <= user.start:
            _note(found, case.id, (prompt[: system.start][-_PROSE:], prompt[system.end : user.start][:_PROSE]))
    return {marker: case_id for marker, case_id in found.items() if marker not in _CALL_TOKENS}


def around_calls(view: View) -> dict[str, str]:
    """Marker → the case that shows it, of what stands around a call and its result.

    Where no cell shows a call, those that the template's own text has for calls, and the case that ought to show them.
    """
    found: dict[str, str] = {}
    syntax = call_syntax.of(view)
    if syntax.calls:
        _note(found, syntax.case, (syntax.calls,))
    elif call_syntax.speaks_of_calls(view.model):
        _note(found, view.adapted.get(_CALL, _CALL), call_syntax.written(view))
        found = {marker: case_id for marker, case_id in found.items() if _is_of_calls(marker)}
    return found


def _is_of_calls(marker: str) -> bool:
    return marker in _CALL_TOKENS or (_FULL_WIDTH.fullmatch(marker) is not None and "tool" in marker)


def has_to_be_token(marker: str) -> bool:
    """Whether models know a marker as one token wherever they know it."""
    return marker in _TURN_TOKENS or marker in _CALL_TOKENS or _FULL_WIDTH.fullmatch(marker) is not None


def looks_like_token(marker: str) -> bool:
    """Whether a marker is written as tokens mostly are."""
    return _SHAPE.fullmatch(marker) is not None


def is_marker(text: str) -> bool:
    """Whether a text is one that models know, or that is written as tokens mostly are."""
    return has_to_be_token(text) or looks_like_token(text)


def meant(marker: str, tokens: Vocabulary) -> str | None:
    """The special token for which a marker was probably meant that is none; None where none is spelt almost alike."""
    from difflib import get_close_matches  # only a mistake pays for it

    if len(marker) < _MISSPELT or marker in _THOUGHT:
        return None
    ends, size = (marker[0], marker[-1]), len(marker)
    texts = (token.text for token in tokens.special())
    alike = (text for text in texts if abs(len(text) - size) <= _MORE and (text[:1], text[-1:]) == ends)
    close = get_close_matches(marker, islice(alike, _MAX_ALIKE), n=1, cutoff=_ALIKE)
    return close[0] if close else None


def plain_to(marker: str, tokens: Vocabulary) -> bool:
    """Whether models with that vocabulary learned the marker as plain text."""
    return marker in _PLAIN_TO_OLD and tokens.size in _OLD_SIZES and tokens.token(_OLD_BYTE) is not None


def listed(markers: Iterable[str]) -> str:
    """Markers as a message names them."""
    *first, last = [repr(marker) for marker in markers]
    return f"{', '.join(first)} and {last}" if first else last


def _note(found: dict[str, str], case_id: str, texts: Iterable[str]) -> None:
    for marker in _markers(texts):
        found.setdefault(marker, case_id)


def _markers(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for marker in MARKER.finditer(text):
            yield marker[0]

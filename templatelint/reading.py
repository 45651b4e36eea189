"""A rendered prompt and the case it came from → where each text of the case went."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from templatelint.model import Case

# What looks like a token of the template's own: <|im_end|>, [INST], </s>, <｜User｜>.
MARKER = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z][A-Z_]*\]")

# What opens a stretch of thought, and what ends it (as of 2026-11).
THOUGHT = (
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

# What opens a turn, and what may close it (as of 2026-11).
TURNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("<|im_start|>", ("<|im_end|>",)),  # ChatML: Qwen, Yi, Hermes, SmolLM …
    ("<start_of_turn>", ("<end_of_turn>",)),  # Gemma 1 to 3
    ("<|turn>", ("<turn|>",)),  # Gemma 4
    ("<|start_header_id|>", ("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>")),  # Llama 3
    ("<|header_start|>", ("<|eot|>", "<|eom|>")),  # Llama 4
    ("<|start_of_role|>", ("<|end_of_text|>",)),  # Granite
    ("<|START_OF_TURN_TOKEN|>", ("<|END_OF_TURN_TOKEN|>",)),  # Command R
    ("<|start|>", ("<|end|>", "<|call|>", "<|return|>")),  # gpt-oss
    ("[INST]", ("[/INST]",)),  # Mistral, Llama 2: the user's part only
)
_OPENERS = tuple(opener for opener, _ in TURNS)
_USER_REACH = 40  # characters from where the word for the user stands to the user's text


def named_thought(text: str) -> tuple[str, str] | None:
    """The first of the pairs of marks that the text names, as where a system text tells the model how to think."""
    for start, end in THOUGHT:
        at = text.find(start)
        if at >= 0 and text.find(end, at) >= 0:
            return start, end
    return None


@dataclass(frozen=True, slots=True)
class Stretch:
    """A text of the case as it stands in a prompt: `prompt[start:end]`."""

    mark: str
    start: int
    end: int


def positions(prompt: str, text: str) -> list[int]:
    """Where `text` begins in the prompt, letter case apart."""
    return [found.start() for found in _ignoring_case(text).finditer(prompt)]


@lru_cache(maxsize=1024)
def _ignoring_case(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text), re.IGNORECASE | re.ASCII)


def has(prompt: str, case: Case, mark: str) -> bool:
    """Whether the marked text of the case reached the prompt."""
    text = case.marks[mark]
    return text in prompt or _ignoring_case(text).search(prompt) is not None


def stretch(prompt: str, case: Case, mark: str) -> Stretch | None:
    """The last place where the message text that carries the mark stands, as far as it arrived unaltered."""
    marked = case.marks[mark]
    found = _span(prompt, message_text(case, marked), marked)
    return None if found is None else Stretch(mark, *found)


@lru_cache(maxsize=1024)  # many rules ask, for several engines that agree on the prompt
def _span(prompt: str, text: str, marked: str) -> tuple[int, int] | None:
    found = positions(prompt, marked)
    if not found:
        return None
    inside = text.index(marked)
    start, end = found[-1], found[-1] + len(marked)
    start -= common(text[:inside][::-1], prompt[:start][::-1])
    end += common(text[inside + len(marked) :], prompt[end:])
    return start, end


def region(prompt: str, case: Case, turn: str = "user.1", until: str = "tool.1") -> str:
    """The prompt from the end of one text to the start of another (to its own end where that is missing)."""
    before, after = stretch(prompt, case, turn) if turn in case.marks else None, None
    if until in case.marks:
        after = stretch(prompt, case, until)
    start = before.end if before else 0
    return prompt[start : after.start if after and after.start >= start else len(prompt)]


def message_text(case: Case, mark_text: str) -> str:
    """The whole text (message, part, tool description …) of the request that carries the mark."""
    return next((text for text in case.texts if mark_text in text), mark_text)


def spoken(case: Case) -> list[str]:
    """Marks of the texts of user, assistant and tool messages, in the order of the conversation."""
    names = [name for name in case.marks if name.split(".")[0] in ("user", "assistant", "tool")]
    return sorted(
        names,
        key=lambda name: next((at for at, text in enumerate(case.texts) if case.marks[name] in text), len(case.texts)),
    )


def common(one: str, other: str) -> int:
    """How many characters the two texts begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def shortened(text: str, limit: int = 72) -> str:
    """An excerpt for a message, which shows it by `!r`: the middle of a long text left out."""
    if len(text) <= limit:
        return text
    half = (limit - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def around(prompt: str, at: int, before: int = 30, after: int = 40) -> str:
    """An excerpt of the prompt round an offset."""
    head = "…" if at > before else ""
    tail = "…" if at + after < len(prompt) else ""
    return head + shortened(prompt[max(0, at - before) : at + after], before + after + 20) + tail


@dataclass(frozen=True, slots=True)
class Turns:
    """How a template writes turns, read off one user–assistant–user prompt; texts exclude the messages.

    Attributes:
        user_header: what opens a user turn.
        user_to_assistant: what stands between the user's text and the assistant's (close and open).
        assistant_to_user: what stands between the assistant's text and the next user header.
        tail: what stands after the last user's text.
    """

    user_header: str
    user_to_assistant: str
    assistant_to_user: str
    tail: str


def turns(prompt: str, case: Case) -> Turns | None:
    """Read the turns of a prompt of `chat-turns`; None where a text is missing or out of order."""
    found = [stretch(prompt, case, name) for name in ("user.1", "assistant.1", "user.2")]
    first, answer, second = found
    if first is None or answer is None or second is None or not first.end <= answer.start <= answer.end <= second.start:
        return None
    before, between = prompt[: first.start], prompt[answer.end : second.start]
    header = common_header(before, between)
    header = header[_opens(header) :]
    return Turns(
        user_header=header,
        user_to_assistant=prompt[first.end : answer.start],
        assistant_to_user=between[: len(between) - len(header)],
        tail=prompt[second.end :],
    )


def _opens(header: str) -> int:
    """Where the user's turn opens in what is common to the first one and to one behind an answer.

    Behind a turn that comes before the first of the user (a default system text), the end of that turn is common too.
    """
    at = max(header.rfind(opener) for opener in _OPENERS)
    if at == 0:
        return 0
    user, in_marker, marker = _patterns()
    if at < 0:
        found = list(user.finditer(header, max(0, len(header) - _USER_REACH)))
        at = found[-1].start() if found else 0
        inside = in_marker.search(header[:at])
        at = inside.start() if inside else at
    return at if marker.search(header[:at]) else 0


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """The word for the user with a marker right before it (<role>HUMAN</role>), the inside of a marker, any marker.

    The last with those of EXAONE, and with the one that ends the turns of MiniMax.
    """
    return (
        re.compile(r"(?:<(?!/)[^<>\s]{0,60}>)?(?<![a-z])(?:user|human)", re.IGNORECASE),
        re.compile(r"(?:<(?!/)|\[\|)[^<>\s]{0,60}\Z"),
        re.compile(MARKER.pattern + r"|\[\|[^|\s]{1,60}\|\]|\[e~\["),
    )


def common_header(before: str, between: str) -> str:
    """What both texts end with, not beginning inside a marker or a word."""
    header = before[len(before) - common(before[::-1], between[::-1]) :]
    for text in (before, between):
        cut = len(text) - len(header)
        for marker in MARKER.finditer(text):
            if marker.start() < cut < marker.end():
                header = text[marker.end() :] if len(text) - marker.end() < len(header) else header
    while header and header[0].isalnum():
        start = len(before) - len(header)
        if not (start and before[start - 1].isalnum()) and not _cuts_word(between, header):
            break
        header = header[1:]
    return header


def _cuts_word(text: str, header: str) -> bool:
    start = len(text) - len(header)
    return start > 0 and text[start - 1].isalnum()

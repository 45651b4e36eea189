"""Two templates on their engines → what they write otherwise and nobody loses by: markers, own texts, forms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint.alignment import CUE, segments
from templatelint.cases import FIXED_NOW
from templatelint.reading import MARKER, THOUGHT, has, positions, region, shortened

if TYPE_CHECKING:
    from collections.abc import Callable

    from templatelint.alignment import Segment
    from templatelint.view import View

_BASIC, _SYSTEM, _TURNS = "chat-basic", "chat-system", "chat-turns"
_OFFER, _CALL = "tools-offer", "tool-call-empty"
_NONE = "none"
_SHOWN = 400  # characters of a text of the template's own
_MEMO = "differences"

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_DATE = re.compile(
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}} {_MONTH} \d{{4}}|{_MONTH} \d{{1,2}},? \d{{4}}"
    r"|\d{1,2}[./]\d{1,2}[./]\d{4}|\d{4}年\d{1,2}月\d{1,2}日"
)
# what is no prose of a text: names of roles between markers
_ROLE_LINE = re.compile(r"^\W*(?:system|developer|user|human|instructions?|bos|start)\W*", re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_]{2,}")
_EMPTY_THOUGHT = re.compile(
    "|".join(rf"{re.escape(opening)}\s*{re.escape(closing)}\s*" for opening, closing in THOUGHT)
)
# how tool definitions are written: what a stretch of them holds, the first that fits
_FORMS = (
    ("JSON, whole entries", re.compile(r'"type"\s*:\s*"function"')),
    ("TypeScript", re.compile(r"=>|\w+\??: (?:string|number|any)\b")),
    ("JSON, functions alone", re.compile(r'"(?:name|description|parameters)"\s*:')),
    ("Python", re.compile(r"\bdef \w+\(|'(?:name|description)'\s*:")),
    ("XML", re.compile(r"<(?:function|tool|parameter|name|description|invoke)\b[^<>]*>")),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """What one template writes otherwise than another, and nobody loses by.

    Attributes:
        subject: stable name of the thing.
        before: what the first one writes; `none` where it writes nothing.
        after: what the second one writes.
        message: the difference in one clause.
    """

    subject: str
    before: str
    after: str
    message: str


def differences(view_a: View, view_b: View) -> tuple[Difference, ...]:
    """What merely differs, each thing once; of what one of the two does not show nothing is said."""
    one, other = _written(view_a), _written(view_b)
    told = [
        Difference(subject, one[subject], other[subject], _message(subject, one[subject], other[subject]))
        for subject in _SUBJECTS
        if subject in one and subject in other and one[subject] != other[subject]
    ]
    if _opens_as_answers(one) and _opens_as_answers(other):
        told = [difference for difference in told if difference.subject != "generation-cue"]
    return tuple(told)


def _opens_as_answers(texts: dict[str, str]) -> bool:
    """Whether the cue is what the answers of the history begin with, so that theirs tells it."""
    return "generation-cue" in texts and texts.get("assistant-turn", "").startswith(f"{texts['generation-cue']}…")


def _message(subject: str, before: str, after: str) -> str:
    what, verb = _SUBJECTS[subject]
    if before.split() == after.split() or "".join(before.split()) == "".join(after.split()):
        return f"{what} {verb} in other white space"
    if _NONE in (before, after) and subject in _GIVEN:
        return f"{what} {_GIVEN[subject][after == _NONE]}"
    return f"{what} {verb} otherwise"


# subject → how its message begins; in the order in which they are told
_SUBJECTS = {
    "bos": ("the first token", "is written"),
    "user-turn": ("user turns", "open and close"),
    "assistant-turn": ("assistant turns", "open and close"),
    "system-turn": ("system messages", "are wrapped"),
    "generation-cue": ("the generation prompt", "reads"),
    "history-thought": ("answers of the history", "begin"),
    "default-system": ("the template's own system text", "reads"),
    "date": ("the date", "is written"),
    "tools-form": ("tool definitions", "are written"),
    "tool-result": ("tool results", "are wrapped"),
    "call-ids": ("ids of tool calls", "are shown"),
}
# how it goes on where only one has it: added, gone
_GIVEN = {
    "bos": ("is written by the template", "is left to the engine"),
    "generation-cue": ("is added", "adds nothing"),
    "history-thought": ("begin with an empty thought", "begin without an empty thought"),
    "default-system": ("is added", "is gone"),
    "date": ("is added", "is gone"),
    "call-ids": ("become visible to the model", "are no longer shown to the model"),
}


# --------------------------------------------------------------------------------- what one template writes


def _written(view: View) -> dict[str, str]:
    """Subject → what is written; without subjects of which no cell tells."""
    if _MEMO not in view.memo:
        read = {subject: reader(view) for subject, reader in _READERS.items()}
        view.memo[_MEMO] = {subject: text for subject, text in read.items() if text is not None}
    found: dict[str, str] = view.memo[_MEMO]
    return found


def _cut(view: View, case_id: str) -> tuple[Segment, ...]:
    """The cell's prompt by message; empty where there is none."""
    key = f"{_MEMO}.{case_id}"
    if key not in view.memo:
        view.memo[key] = segments(view.prompt(case_id), view.case(case_id)) if view.renders(case_id) else ()
    found: tuple[Segment, ...] = view.memo[key]
    return found


def _around(told: tuple[Segment, ...], message: str) -> tuple[str, str] | None:
    """What stands before and behind the text of a message, of what belongs to it; None without the text."""
    own = [segment for segment in told if segment.message == message]
    at = next((place for place, segment in enumerate(own) if segment.mark), None)
    if at is None:
        return None
    return "".join(one.text for one in own[:at]), "".join(one.text for one in own[at + 1 :] if not one.mark)


def _turn(view: View, case_id: str, opened: str, closed: str) -> str | None:
    """A turn with `…` for its text, read off two messages of one role: the first one's head may hold more."""
    told = _cut(view, case_id)
    first, last = _around(told, opened), _around(told, closed)
    if first is None or last is None:
        return None
    return shortened(f"{_EMPTY_THOUGHT.sub('', first[0])}…{last[1]}", _SHOWN)


def _user(view: View) -> str | None:
    return _turn(view, _TURNS, "user.2", "user.1")


def _assistant(view: View) -> str | None:
    return _turn(view, _TURNS, "assistant.1", "assistant.1")


def _system(view: View) -> str | None:
    """How a system message stands, without what the template adds to it."""
    around = _around(_cut(view, _SYSTEM), "system")
    if around is None:
        return None
    opening, closing = around
    return None if _prose(opening) or _prose(closing) else f"{opening}…{closing}"


def _result(view: View) -> str | None:
    around = _around(_cut(view, _CALL), "tool.1")
    if around is None:
        return None
    case = view.case(_CALL)
    opening, closing = (_without_ids(text, case.marks.get("call.1.id", "")) for text in around)
    return shortened(f"{opening}…{closing}", _SHOWN)


def _without_ids(text: str, call_id: str) -> str:
    return text.replace(call_id, "ID") if call_id else text


def _cue(view: View) -> str | None:
    told = _cut(view, _BASIC)
    if not told or not any(segment.mark for segment in told):
        return None
    return "".join(segment.text for segment in told if segment.message == CUE) or _NONE


def _history_thought(view: View) -> str | None:
    around = _around(_cut(view, _TURNS), "assistant.1")
    if around is None:
        return None
    found = _EMPTY_THOUGHT.search(around[0])
    return found[0] if found else _NONE


def _bos(view: View) -> str | None:
    """The first token, where it is one that opens a text and no turn."""
    told = _cut(view, _BASIC)
    if not told:
        return None
    named = view.model.tokenizer.special_tokens.get("bos_token")
    first = told[0].text
    if named and first.startswith(named):
        return named
    marker = MARKER.match(first)
    return marker[0] if marker and _STARTS.search(marker[0]) and not told[0].message else _NONE


_STARTS = re.compile(r"^<s>$|bos|begin|startoftext|sop", re.IGNORECASE)


def _own_text(view: View) -> str | None:
    """What the template says of its own before the user's turn, where no system message is sent."""
    told = _cut(view, _BASIC)
    at = next((place for place, segment in enumerate(told) if segment.message == "user.1"), None)
    if at is None:
        return None
    first = told[at].text if not told[at].mark else ""
    head = "".join(segment.text for segment in told[:at])
    return _prose(head) or _prose(first)


def _default_system(view: View) -> str | None:
    text = _own_text(view)
    if text is None:
        return None
    dates = _DATE.sub("DATE", text)
    return shortened(dates, _SHOWN) if dates else _NONE


def _prose(text: str) -> str:
    """The sentences of a text without markers and role names; empty where no two words are left."""
    lines = [_ROLE_LINE.sub("", MARKER.sub(" ", line)) for line in text.splitlines()]
    bare = "\n".join(lines).strip()
    return bare if len(_WORDS.findall(bare)) > 1 else ""


def _date(view: View) -> str | None:
    """The date that the template writes: today's, by its form, or a fixed one."""
    cells = [case_id for case_id in (_BASIC, _SYSTEM, _OFFER) if view.renders(case_id)]
    if not cells:
        return None
    for case_id in cells:
        own = "".join(segment.text for segment in _cut(view, case_id) if not segment.mark)
        # the last one: `Knowledge cutoff` stands in front of `Current date`
        found = _DATE.findall(own[: 64 * _SHOWN])
        if found:
            return f"{found[-1]} ({'today' if _is_today(found[-1]) else 'fixed'})"
    return _NONE


def _is_today(text: str) -> bool:
    numbers = {int(number) for number in re.findall(r"\d+", text)}
    month = FIXED_NOW.strftime("%b") in text or FIXED_NOW.month in numbers
    return {FIXED_NOW.year, FIXED_NOW.day} <= numbers and month


def _tools_form(view: View) -> str | None:
    told = _cut(view, _OFFER)
    at = next((place for place, segment in enumerate(told) if segment.mark and segment.role == "tools"), None)
    if at is None:
        return None
    text = told[at].text
    form = next((name for name, pattern in _FORMS if pattern.search(text)), "words")
    if form.startswith("JSON") and re.search(r'\{\n\s+"', text):
        form += ", indented"
    turn = told[at - 1].role if at and not told[at - 1].mark else None
    where = f" in a {turn} turn" if turn in ("system", "developer", "user") else ""
    return form + where


def _ids(view: View) -> str | None:
    if not view.renders(_CALL):
        return None
    prompt, case = view.prompt(_CALL), view.case(_CALL)
    if not has(prompt, case, "call.1.value"):
        return None
    return "shown" if positions(region(prompt, case, until=""), case.marks["call.1.id"]) else _NONE


_READERS: dict[str, Callable[[View], str | None]] = {
    "bos": _bos,
    "user-turn": _user,
    "assistant-turn": _assistant,
    "system-turn": _system,
    "generation-cue": _cue,
    "history-thought": _history_thought,
    "default-system": _default_system,
    "date": _date,
    "tools-form": _tools_form,
    "tool-result": _result,
    "call-ids": _ids,
}

"""What a finding claims → whether prompts that others made of its evidence cases bear it out.

One small test a rule, written from the rule's page and not from its check: a witness sees real prompts (None where the
engine gives an error instead) and the cases, and nothing of ours but the message's quoted excerpts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from templatelint.model import Case, Finding


@dataclass(frozen=True)
class Seen:
    """An evidence case and what came of it: a prompt, or the engine's own words for why there is none."""

    case: Case
    prompt: str | None
    error: str = ""

    def shows(self, mark: str) -> bool:
        """Whether the marked text is in the prompt, letter case apart."""
        return self.prompt is not None and self.case.marks[mark].lower() in self.prompt.lower()


Witness = Callable[[Finding, Sequence[Seen]], "bool | None"]

_RAISES = re.compile(r"\brais(?:e|es)\b|\brefused\b|\bno prompt\b")
_TOKEN = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]{2,}\]")
_PART = re.compile(r"""["']type["']\s*:\s*["']text["']|\[object """)
_HEADER = 12  # characters before a text that name who speaks
_QUOTED = re.compile(r"'([^']+)'")
_REPR = re.compile(r"[{\[,] ?'[A-Za-z_]+'|: '|\b(?:None|True|False)\b|<undefined>|\[object |Undefined|<built-in|<bound")


def _every_raises(_: Finding, seen: Sequence[Seen]) -> bool:
    return all(one.prompt is None for one in seen)


def _or_raises(witness: Witness) -> Witness:
    """As the message states it: every case raises, or every case has a prompt that bears the witness out."""

    def judge(finding: Finding, seen: Sequence[Seen]) -> bool | None:
        if _RAISES.search(finding.message):
            return _every_raises(finding, seen)
        return None not in [one.prompt for one in seen] and witness(finding, seen)

    return judge


def _every_lacks(*marks: str) -> Witness:
    """None of the marks that a case has reaches a prompt."""

    def judge(_: Finding, seen: Sequence[Seen]) -> bool:
        return not any(one.shows(mark) for one in seen for mark in marks if mark in one.case.marks)

    return judge


def _any_prompt(witness: Witness) -> Witness:
    """Of the cases that have a prompt at all, and there has to be one."""

    def judge(finding: Finding, seen: Sequence[Seen]) -> bool | None:
        there = [one for one in seen if one.prompt is not None]
        return bool(there) and witness(finding, there)

    return judge


def _parts_unread(*kinds: str) -> Witness:
    """In every case, the request fails, or the prompt has the keys of a part, or lacks a text."""
    lacks = _one_lacks(*kinds)

    def judge(finding: Finding, seen: Sequence[Seen]) -> bool:
        return all(_PART.search(one.prompt or "") is not None or lacks(finding, [one]) for one in seen)

    return judge


def _name_missing(_: Finding, seen: Sequence[Seen]) -> bool:
    """The id of the call stands behind the user's text, and the function's name does not."""
    behind = [(one.prompt or "").rpartition(one.case.marks["user.1"])[2] for one in seen]
    return all(
        one.case.marks["call.1.id"] in text and one.case.marks["call.1.name"] not in text
        for one, text in zip(seen, behind, strict=True)
    )


def _one_lacks(*kinds: str) -> Witness:
    """In every case, some text of these kinds is missing, or the request fails."""

    def judge(_: Finding, seen: Sequence[Seen]) -> bool:
        return all(
            one.prompt is None
            or not all(one.shows(mark) for mark in one.case.marks if mark.split(".")[0] in kinds and _is_text(mark))
            for one in seen
        )

    return judge


def _is_text(mark: str) -> bool:
    """Whether the mark belongs to a text that somebody wrote, not to an id that few templates show."""
    return not mark.endswith((".id", ".key"))


def _call_damaged(_: Finding, seen: Sequence[Seen]) -> bool:
    """Behind the user's text, a call's name, key or value is missing in every case."""
    for one in seen:
        if one.prompt is None:
            continue
        behind = one.prompt.lower().rpartition(one.case.marks["user.1"].lower())[2] or one.prompt.lower()
        wanted = [mark for name, mark in one.case.marks.items() if name.startswith("call.") and name[-3:] != ".id"]
        if all(mark.lower() in behind for mark in wanted):
            return False
    return True


def _prints_python(_: Finding, seen: Sequence[Seen]) -> bool:
    """A prompt holds Python's spelling of something that no text of its case holds."""
    for one in seen:
        said = json.dumps([one.case.request.messages, one.case.request.tools], ensure_ascii=False)
        for found in _REPR.finditer(one.prompt or ""):
            if found[0] not in said:
                return True
    return False


def _result_lost(finding: Finding, seen: Sequence[Seen]) -> bool | None:
    """A result is missing in every case, or nothing tells it from what the user says."""
    if "like words" not in finding.message:
        return _one_lacks("tool")(finding, seen)
    return all(_before(one, "tool.1") == _before(one, "user.1") for one in seen)


def _before(one: Seen, mark: str) -> str:
    return (one.prompt or "").partition(_text(one.case, mark))[0][-_HEADER:]


def _turns_broken(finding: Finding, seen: Sequence[Seen]) -> bool | None:
    """The prompt read anew: texts that touch, a marker twice in a row, or an answer that no token follows."""
    one = next((one for one in seen if one.prompt is not None), None)
    if one is None:
        return False
    prompt = one.prompt or ""
    if "fuse" in finding.message:
        names = re.findall(r"(?:user|assistant|tool)\.\d", finding.message)[:2]
        first, second = (_text(one.case, name) for name in names)
        between, found, _ = prompt.rpartition(first)[2].partition(second)
        return bool(found) and not between.strip()
    if "nothing that could be" in finding.message:
        answer, question = _text(one.case, "assistant.1"), _text(one.case, "user.2")
        gap = prompt.rpartition(answer)[2].partition(question)[0]
        header = prompt.partition(_text(one.case, "user.1"))[0][-40:]
        return all(token in header for token in _TOKEN.findall(gap))
    return _markers_broken(finding, one.case, prompt)


def _markers_broken(finding: Finding, case: Case, prompt: str) -> bool | None:
    markers = _QUOTED.findall(finding.message.split(": ")[0])
    if "ends an assistant turn twice" in finding.message:
        gap = prompt.rpartition(_text(case, "assistant.1"))[2].partition(_text(case, "user.2"))[0]
        return gap.count(markers[0]) > 1
    if "with which a text begins" in finding.message:
        return prompt.count(markers[0]) > 1
    if len(markers) != 2:
        return None
    if "opens before" in finding.message or "never closed" in finding.message:
        opener, closer = markers[:2]
        parts = prompt.split(opener)[1:]
        return any(closer not in part for part in (parts[:-1] if "opens before" in finding.message else parts))
    closer, opener = markers[:2]
    return any(part.count(closer) > 1 for part in prompt.split(opener)[1:])


def _text(case: Case, mark: str) -> str:
    """The text of the request that carries the mark."""
    return next(text for text in case.texts if case.marks[mark] in text)


def _no_cue(_: Finding, seen: Sequence[Seen]) -> bool:
    """With and without the flag the prompts end alike, and in no word for the assistant."""
    prompts = {one.case.id: one.prompt for one in seen}
    asked = [name for name in prompts if "+nogen" not in name]
    alike = True
    for name in asked:
        bare = prompts.get(f"{name}+nogen", prompts.get(name))
        alike = alike and prompts[name] is not None and (prompts[name] or "").rstrip() == (bare or "").rstrip()
        tail = (prompts[name] or "").rstrip()[-30:]
        alike = alike and not tail.lower().endswith(("[/inst]", "assistant:", "assistant|>", "response:", "model"))
    return alike


def _escaped(_: Finding, seen: Sequence[Seen]) -> bool:
    return any('{\\"' in (one.prompt or "") for one in seen)


def _altered_order(_: Finding, seen: Sequence[Seen]) -> bool:
    for one in seen:
        texts = [
            _text(one.case, name) for name in one.case.marks if name.split(".")[0] in ("user", "assistant", "tool")
        ]
        places = [(one.prompt or "").find(text) for text in texts]
        if any((one.prompt or "").count(text) > 1 for text in texts) or places != sorted(places):
            return True
    return False


def _starts_invisibly(_: Finding, seen: Sequence[Seen]) -> bool:
    return all(not (one.prompt or " ")[0].isprintable() for one in seen)


# rule → its test; a rule without one is told as not to be tested by prompts
WITNESSES: Mapping[str, Witness] = {
    "TL001": _every_raises,
    "TL003": _every_raises,
    "TL006": _prints_python,
    "TL007": _or_raises(_every_lacks("user.1", "user.2", "assistant.1")),
    "TL008": _starts_invisibly,
    "TL101": _or_raises(_every_lacks("system")),
    "TL102": _every_raises,
    "TL104": _or_raises(_one_lacks("system", "system.2", "later")),
    "TL105": _or_raises(_one_lacks("developer")),
    "TL106": _every_raises,
    "TL107": _every_raises,
    "TL108": _every_raises,
    "TL109": _or_raises(_one_lacks("user", "assistant")),
    "TL110": _altered_order,
    "TL112": _turns_broken,
    "TL113": _every_raises,
    "TL201": _any_prompt(_every_lacks("tools.1.description", "tools.1.parameter.description")),
    "TL202": _or_raises(_call_damaged),
    "TL203": _or_raises(_result_lost),
    "TL204": _every_raises,
    "TL205": _escaped,
    "TL207": _or_raises(_one_lacks("call")),
    "TL209": _or_raises(_name_missing),
    "TL210": _every_raises,
    "TL211": _or_raises(_one_lacks("tools")),
    "TL212": _or_raises(lambda _finding, _seen: None),
    "TL216": _or_raises(_one_lacks("call", "tool")),
    "TL301": _or_raises(_prints_python),
    "TL302": _parts_unread("user", "system", "assistant"),
    "TL303": _parts_unread("tool"),
    "TL305": _or_raises(_every_lacks("user.1")),
    "TL501": _no_cue,
}
# what a rule without evidence cases of its own is tested with
USUAL: Mapping[str, Sequence[str]] = {"TL001": ("chat-basic",)}


def judge(finding: Finding, seen: Sequence[Seen]) -> bool | None:
    """True: borne out; False: refuted; None: nothing in a prompt can tell."""
    witness: Any = WITNESSES.get(finding.rule)
    return None if witness is None or not seen else witness(finding, seen)

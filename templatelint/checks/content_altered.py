"""TL304: the text of a message reaches the prompt trimmed, cut, escaped or in other letters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from templatelint.checks._parts import printed
from templatelint.checks._words import listed
from templatelint.model import Fault
from templatelint.reading import common, has, message_text, positions, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from templatelint.model import Impact
    from templatelint.view import View

_PLAIN = {"chat-characters": ("user", "assistant"), "system-characters": ("system",)}
_RESULT = "tool-result-json"
_MARKED = {"markers-in-user": "user", "markers-in-tool": "tool"}
# what a case is compared with where nothing of its text arrives: texts that begin and end as texts mostly do
_USUAL = {"chat-characters": "chat-turns", "system-characters": "chat-system"}
CASES = (*_PLAIN, *_USUAL.values(), _RESULT, "markers-in-user")
CALL_CASES = ("markers-in-tool",)

_TEXTS = (
    *((case_id, role) for case_id, roles in _PLAIN.items() for role in roles),
    (_RESULT, "tool"),
    *_MARKED.items(),
)
_NEEDS = {"system": "system", "tool": "tools"}
_GRAVITY = ("breaks", "degrades", "informs")
_EDGE = 12  # characters at either end of a text that tell whether it is all there
_TRIMMED, _CUT, _OTHER = "loses blanks and newlines at its ends", "is cut", "is changed"
_BLANKS, _QUOTED = "has other blanks and newlines inside", "is written as a JSON string"
# where a reader would begin to look
_BEGINNINGS = {
    _TRIMMED: ("| trim", "|trim", ".strip(", ".lstrip(", ".rstrip("),
    _QUOTED: ("'tool'", '"tool"', "tojson"),
}
_CHANGING = ("| upper", "|upper", "| lower", "|lower", "| escape", "|escape", "| e ", ".replace(", ".split(")


class _Change(NamedTuple):
    """What became of a text; `excerpt` is empty where nothing inside it differs."""

    what: str
    impact: Impact
    excerpt: str = ""


def check(view: View) -> Iterator[Fault]:
    """Follow texts with blanks around them and characters that are often escaped; then such as hold markers."""
    found: dict[str, dict[str, tuple[str, _Change]]] = {}
    for case_id, role in _TEXTS:
        change = _change(view, case_id, role)
        # what every text suffers is not told again of texts with markers
        known = case_id in _MARKED and any(role in found.get(what, ()) for what in (_CUT, _OTHER))
        if change is not None and not known:
            found.setdefault(change.what, {}).setdefault(role, (case_id, change))
    if "user" in found.get(_TRIMMED, ()):  # one cause, though some engines carry the system's elsewhere
        found[_TRIMMED].pop("system", None)
    for what, roles in found.items():
        yield _fault(view, what, roles)


def _change(view: View, case_id: str, role: str) -> _Change | None:
    """What became of the first text of that role, as far as it can be told and no other rule tells it."""
    if not view.renders(case_id) or printed(view, case_id, role) is not None:
        return None
    case, prompt = view.case(case_id), view.prompt(case_id)
    first = role if role in case.marks else f"{role}.1"
    mark = next((mark for mark in case.marks if mark.startswith(first) and has(prompt, case, mark)), None)
    if mark is None:
        return _gone(view, case_id, first) if first in case.marks else None
    change = _told(message_text(case, case.marks[mark]), case.marks[mark], prompt)
    return change and _weighed(change, case_id)


def _gone(view: View, case_id: str, mark: str) -> _Change | None:
    """The loss of all of a text, where a usual one of that role arrives: another rule tells where none does."""
    usual = _USUAL.get(case_id, "")
    if not view.renders(usual) or not has(view.prompt(usual), view.case(usual), mark):
        return None
    text = message_text(view.case(case_id), view.case(case_id).marks[mark])
    return _Change(_CUT, "breaks", f"nothing is left of {shortened(text)!r}")


def _weighed(change: _Change, case_id: str) -> _Change | None:
    """The change as it matters in that case; None where it does not, or another case tells it better."""
    if case_id in _MARKED:
        if change.what == _CUT:
            return change._replace(what="is cut where it spells out a marker", impact="degrades")
        return change._replace(what="is changed where it spells out a marker") if change.what == _OTHER else None
    if case_id == _RESULT:
        # a rule of its own tells of results that are encoded again; an engine may hand over the data instead
        return None if change.what in {_CUT, _OTHER, _BLANKS, _TRIMMED, _QUOTED} else change
    return change


# ------------------------------------------------------------------------------------- what became of a text


def _json(text: str, *, ascii_only: bool) -> str:
    import json

    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]


_WAYS: tuple[tuple[str, Callable[[str], str], Impact], ...] = (
    (_QUOTED, lambda text: _json(text, ascii_only=False), "degrades"),
    ("is unicode-escaped", lambda text: _json(text, ascii_only=True), "degrades"),
    ("is written as a Python string", lambda text: repr(text)[1:-1], "degrades"),
)


def _told(sent: str, marked: str, prompt: str) -> _Change | None:
    """What became of a text that is somewhere in the prompt; None where all of it is.

    Args:
        sent: the text.
        marked: the part of it that is there, be it in other letters.
        prompt: the prompt.
    """
    core = sent.strip()
    if sent in prompt:
        return None
    if core in prompt:
        return _Change(_TRIMMED, "informs")
    what, impact = _altered(core, prompt)
    return _Change(what, impact, _excerpts(core, marked, prompt))


def _altered(core: str, prompt: str) -> tuple[str, Impact]:
    letters = _letters(core, prompt)
    if letters:
        return letters, "breaks"
    for what, way, impact in _WAYS:
        if way(core) in prompt:
            return what, impact
    from html import unescape

    if core in unescape(prompt):
        return "is HTML-escaped", "degrades"
    if "".join(core.split()) in "".join(prompt.split()):
        in_one_line = re.search(r"[^\S\n]*".join(map(re.escape, core.split())), prompt)
        return ("loses its line breaks", "degrades") if in_one_line and "\n" in core else (_BLANKS, "informs")
    if core[:_EDGE] in prompt and core[-_EDGE:] in prompt:
        return _OTHER, "degrades"
    return _CUT, "breaks"


def _letters(core: str, prompt: str) -> str:
    """How the text is written where it differs in letter case alone; some engines change ASCII letters only."""
    at = prompt.lower().find(core.lower())
    if at < 0:
        return ""
    letters = {letter.isupper() for letter in prompt[at : at + len(core)] if letter.isascii() and letter.isalpha()}
    if len(letters) > 1:
        return "is written in other letters"
    return "is upper-cased" if letters.pop() else "is lower-cased"


def _excerpts(core: str, marked: str, prompt: str) -> str:
    """What stands in the prompt, and what was sent, from a little before the first place where they differ."""
    inside, at = core.index(marked), positions(prompt, marked)[-1]
    before = common(core[:inside][::-1], prompt[:at][::-1])
    if before < inside:
        sent, got = inside - before, at - before
    else:
        behind = common(core[inside + len(marked) :], prompt[at + len(marked) :])
        sent, got = inside + len(marked) + behind, at + len(marked) + behind
    return f"{_around(prompt, got)!r} for {_around(core, sent)!r}"


def _around(text: str, at: int) -> str:
    return text[max(0, at - _EDGE) : at + _EDGE]


# ---------------------------------------------------------------------------------------------- the faults


def _fault(view: View, what: str, roles: dict[str, tuple[str, _Change]]) -> Fault:
    changes = [change for _, change in roles.values()]
    spoken = {_NEEDS.get(role) for role in roles}
    return Fault(
        message=f"{_listed(roles)} {what}" + (f": {changes[0].excerpt}" if changes[0].excerpt else ""),
        help="print `message['content']` as it is",
        cases=tuple(dict.fromkeys(view.case(case_id).id for case_id, _ in roles.values())),
        cause=f"{what}: {', '.join(roles)}",
        span=view.mention(*_BEGINNINGS.get(what, _CHANGING), "content"),
        impact=min((change.impact for change in changes), key=_GRAVITY.index),
        need=spoken.pop() if len(spoken) == 1 else None,
    )


def _listed(roles: Iterable[str]) -> str:
    words = listed(roles)
    return f"{words} {'output' if words == 'tool' else 'text'}"

"""Who may speak, and in which order: system and developer messages, roles in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.capabilities import tools
from templatelint.reading import has, positions, spoken, stretch, turns

if TYPE_CHECKING:
    from templatelint.capabilities.cells import Cells, Word
    from templatelint.reading import Stretch

_BASIC = "chat-basic"
_TURNS = "chat-turns"
_CALL = "tool-call-empty"
_SYSTEM, _LED = "chat-system", "tools-offer-system"
# case → the texts between which its further system message stands
_LATER = {"system-twice": ("system", "user.1"), "system-later": ("assistant.1", "user.2")}
_WORST = ("refused", "dropped", "replaces", "moved", "merged", "kept")
# fact → (a conversation of the usual kind, the one in question)
_LEADING = {
    "system": (_BASIC, _SYSTEM),
    "system_with_tools": ("tools-offer", _LED),
    "developer": (_BASIC, "developer"),
}
_ORDERS = {
    "consecutive_users": (_TURNS, "chat-two-users"),
    "consecutive_assistants": (_TURNS, "chat-two-assistants"),
    "user_after_tool": (_CALL, "tool-interrupted"),
    "assistant_first": (_TURNS, "chat-assistant-first"),
    "no_user": (_CALL, "no-user"),
}
# what else has to be taken before a refusal speaks
_ALSO = {"user_after_tool": _TURNS, "no_user": _LED}
CASES = tuple(
    dict.fromkeys((*(case_id for pair in (*_LEADING.values(), *_ORDERS.values()) for case_id in pair), *_LATER))
)

# cases with a call that is none of their business
CARRIERS = ("tool-interrupted", "no-user")


def facts(cells: Cells) -> dict[str, Any]:
    """`system` … `no_user`."""
    leading = {fact: _leading(cells, fact, *pair) for fact, pair in _LEADING.items()}
    orders = {fact: _order(cells, fact, *pair) for fact, pair in _ORDERS.items()}
    return {**leading, "later_system": _later(cells), **orders}


def _leading(cells: Cells, fact: str, usual: str, case_id: str) -> Word:
    mark = "developer" if fact == "developer" else "system"
    prompt = cells.prompt(case_id)
    if prompt is None:
        return _refused(cells, fact, usual, case_id)
    case = cells.case(case_id)
    text, user = stretch(prompt, case, mark), stretch(prompt, case, "user.1")
    if text is None:
        return "dropped"
    return "merged" if user is not None and _merged(cells, prompt, text, user) else "honoured"


def _refused(cells: Cells, fact: str, usual: str, case_id: str) -> Word:
    """`refused` where the usual conversation is taken and this one is not."""
    if cells.prompt(usual) is None or cells.error(case_id) is None:
        return None
    return cells.told(fact, "refused", case_id)


def _merged(cells: Cells, prompt: str, text: Stretch, user: Stretch, start: int = 0) -> bool:
    """Whether a user turn opens before both texts, and none between them."""
    usual = cells.prompt(_TURNS)
    anatomy = turns(usual, cells.case(_TURNS)) if usual is not None else None
    header = anatomy.user_header.strip() if anatomy else ""
    if not header:
        return False
    opened = [at for at in positions(prompt, header) if start <= at < max(text.start, user.start)]
    return bool(opened) and not any(min(text.end, user.end) <= at for at in opened)


def _later(cells: Cells) -> Word:
    """The worst that becomes of a further system message."""
    fates = [fate for case_id in _LATER if (fate := _further(cells, case_id)) is not None]
    return min(fates, key=_WORST.index, default=None)


def _further(cells: Cells, case_id: str) -> Word:
    prompt = cells.prompt(case_id)
    if prompt is None:
        return _refused(cells, "later_system", _SYSTEM, case_id)
    case = cells.case(case_id)
    before, after = (stretch(prompt, case, mark) for mark in _LATER[case_id])
    text = stretch(prompt, case, "system.2")
    if text is None:
        return "dropped"
    if not has(prompt, case, "system") and cells.has(_SYSTEM, "system"):
        return "replaces"
    if after is None or (before is not None and before.end > text.start):
        return "moved"
    if case_id == "system-later" and _merged(cells, prompt, text, after, before.end if before else 0):
        return "merged"
    return "kept" if text.end <= after.start else "moved"


def _order(cells: Cells, fact: str, usual: str, case_id: str) -> Word:
    usual = tools.usual(cells) if usual == _CALL else usual
    prompt, plain = cells.prompt(case_id), cells.prompt(usual)
    if plain is None or (fact in _ALSO and cells.prompt(_ALSO[fact]) is None):
        return None
    if prompt is None:
        return _refused(cells, fact, usual, case_id)
    # what is lost in the usual order too is another fact's business
    lost = {mark.split(".")[0] for mark in spoken(cells.case(usual)) if not has(plain, cells.case(usual), mark)}
    said = [mark for mark in spoken(cells.case(case_id)) if mark.split(".")[0] not in lost]
    if not said:
        return None
    return "kept" if all(has(prompt, cells.case(case_id), mark) for mark in said) else "dropped"

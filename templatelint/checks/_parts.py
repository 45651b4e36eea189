"""What a template makes of content that is a list of text parts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jinja2 import nodes

from templatelint.checks._words import listed
from templatelint.model import Fault
from templatelint.reading import around, has, message_text, positions
from templatelint.syntax import TemplateSyntax, parse, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.model import Case
    from templatelint.view import View

# what stands before a text where the part that holds it is printed: its key, and no end of it since
_KEYED = re.compile(r"""['"]text['"]\s*:\s*['"][^{}]*\Z""")
_KEY = 24  # characters
_OBJECT = "[object "


def faults(view: View, whose: Mapping[str, tuple[str, str]]) -> Iterator[Fault]:
    """One fault for all cells in which parts raise, are printed as data, or vanish.

    Args:
        view: the template on one engine.
        whose: case id → the role whose content is a list there, and a case in which that is a string.
    """
    bad: dict[str, tuple[str, tuple[int, int] | None]] = {}
    for case_id, (role, twin) in whose.items():
        if not view.renders(twin):
            continue
        error = view.error(case_id)
        if error is not None:
            if not error.out_of_budget and error.kind != "invalid-request":
                bad[case_id] = (f"makes the template raise: {error.message}", view.span_of(error))
            continue
        if not _kept(view, twin, role):
            continue  # lost as a string too: the form of the content is not to blame
        prompt = view.prompt(case_id)
        dumped = printed(view, case_id, role)
        if dumped is not None:
            bad[case_id] = (f"is printed as data: {around(prompt, dumped)!r}", None)
        elif not _kept(view, case_id, role):
            bad[case_id] = ("does not reach the prompt", None)
    if bad:
        roles = listed(whose[case_id][0] for case_id in bad)
        fact, span = next(iter(bad.values()))
        yield Fault(
            message=f"{roles} content given as a list of parts {fact}",
            help='print the `text` of each part of type "text" where content is no string, or send strings',
            cases=tuple(bad),
            cause=f"{roles}: {fact.split(':')[0]}",
            span=span or view.mention("content"),
        )


def printed(view: View, case_id: str, *roles: str) -> int | None:
    """Where a cell's prompt prints a part that holds a text of one of these roles: `{'type': 'text', 'text': '…'}`.

    A template that writes such keys round texts itself prints none, wherever they stand. Where a text is not in the
    prompt, JavaScript's `[object …]` may stand for it.
    """
    case, prompt = view.case(case_id), view.prompt(case_id)
    marks = [mark for mark in case.marks if mark.split(".")[0] in roles]
    found = next((at for mark in marks if (at := _keyed(prompt, case, mark)) is not None), None)
    if found is not None:
        return None if _writes_keys(view) else found
    at = prompt.find(_OBJECT)
    lost = at >= 0 and not all(has(prompt, case, mark) for mark in marks)
    return at if lost and _OBJECT not in view.written else None


def _keyed(prompt: str, case: Case, mark: str) -> int | None:
    """Where the text of the mark follows the key of a part."""
    marked = case.marks[mark]
    before = message_text(case, marked).find(marked)
    for at in positions(prompt, marked):
        # what stands in front of it in its text may be escaped there
        start = max(0, at - 2 * before - _KEY)
        found = _KEYED.search(prompt[start:at])
        if found is not None:
            return start + found.start()
    return None


def _writes_keys(view: View) -> bool:
    """Whether a text of the template's own ends in such a key, so that a message's text follows."""
    try:
        root = parse(view.template.source).root
    except TemplateSyntax:
        return False
    texts = (getattr(node, "value", None) or getattr(node, "data", None) for node in walk(root) if _literal(node))
    return any(isinstance(text, str) and _KEYED.search(text[-_KEY:]) is not None for text in texts)


def _literal(node: nodes.Node) -> bool:
    return isinstance(node, (nodes.Const, nodes.TemplateData))


def _kept(view: View, case_id: str, role: str) -> bool:
    """Whether all that the role says in the case reaches the prompt."""
    case, prompt = view.case(case_id), view.prompt(case_id)
    return all(has(prompt, case, mark) for mark in case.marks if mark.split(".")[0] == role)

"""What the author decided: no cue for the assistant, a refusal of what other templates render. Unsafe."""

from __future__ import annotations

import re
from ast import literal_eval
from typing import TYPE_CHECKING

from templatelint.fix.code import Edit
from templatelint.fix.cure import Cure
from templatelint.fix.cures.constructs import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.fix.code import Code, Tag
    from templatelint.fix.cure import Proposals
    from templatelint.fix.proof import Change
    from templatelint.model import Finding

_TEXT = r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_NEWLINE = re.compile(r"\r\n|\r|\n")
_OPENS = re.compile(rf"the prompt ends with {_TEXT}, while the history opens an assistant turn with {_TEXT}")


def _cue(finding: Finding, code: Code) -> Proposals:
    """`{% if add_generation_prompt %}` and the text that opens an assistant's turn, at the end."""
    found = _OPENS.search(finding.message)
    if found is None:
        return
    tail, cue = map(literal_eval, found.groups())
    if "…" in cue or not cue.startswith(tail):
        return
    cue = cue[len(tail) :]
    at = len(code.source.rstrip())
    yield [Edit(at, at, f"{{%- if add_generation_prompt %}}{{{{- {quoted(cue)} }}}}{{%- endif %}}")]


def _cued(change: Change) -> bool:
    """The request asks for the cue, and the prompt goes on where it ended."""
    return (
        change.request.add_generation_prompt
        and change.prompts is not None
        and (change.prompts[1].startswith(change.prompts[0].rstrip()))
    )


def _unrefused(finding: Finding, code: Code) -> Proposals:
    """The template without the `raise_exception` that the engine ran into."""
    for chain in code.near(finding.span):
        if chain.tag.prints and chain.text.startswith("raise_exception(") and chain.tag.pieces[1].start == chain.start:
            tag = chain.tag
            yield from ([edit] for edit in _without_branch(code, tag))
            yield [Edit(tag.start, tag.end, f"{{{{{tag.opening[2:]} '' {tag.closing[:-2]}}}}}")]
            return


def _without_branch(code: Code, tag: Tag) -> Iterator[Edit]:
    """The template without the `if`, or its last branch, that holds the tag and nothing else: its lines; its text."""
    source, at = code.source, code.tags.index(tag)
    if not 0 < at < len(code.tags) - 1:
        return
    opens, closes = code.tags[at - 1], code.tags[at + 1]
    if closes.word != "endif" or source[opens.end : tag.start].strip() or source[tag.end : closes.start].strip():
        return
    if opens.word in {"elif", "else"}:
        yield Edit(opens.start, closes.end, f"{opens.opening} endif {closes.closing}")
    if opens.word != "if":
        return
    before, after = source[: opens.start], source[closes.end :]
    line = before.rfind("\n") + 1
    newline = _NEWLINE.match(after)
    alone = not before[line:].strip(" \t")
    if alone and newline:
        yield Edit(line, closes.end + newline.end(), "")
    start, end = opens.start, closes.end
    if "-" in opens.opening:  # what it strips, whatever then stands beside
        start = len(before.rstrip())
    elif alone:
        start = line
    if "-" in closes.closing:
        end += len(after) - len(after.lstrip())
    elif newline:
        end += newline.end()
    yield Edit(start, end, "")


def _rendered_now(change: Change) -> bool:
    return change.before is not None and change.before.error is not None and change.before.error.kind == "refused"


CURES = (
    Cure("a cue for the assistant is added", ("TL501",), _cue, _cued, safe=False),
    Cure(
        "what the template refuses is rendered",
        ("TL102", "TL104", "TL105", "TL106", "TL107", "TL108", "TL113"),
        _unrefused,
        _rendered_now,
        safe=False,
        steps=4,
    ),
)

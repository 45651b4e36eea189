"""Text in front of `continue`, which llama.cpp drops → the rest of the loop under the opposite condition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from templatelint.fix.code import Edit
from templatelint.fix.cure import Cure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.fix.code import Code, Tag
    from templatelint.fix.cure import Proposals
    from templatelint.fix.proof import Change
    from templatelint.model import Finding

_LONGEST = 1000  # characters of a condition that a reader is to check
_RENDERER = ("llama.cpp", "ollama")


@dataclass
class _Block:
    """An `if` or a `for` that is open, with the conditions of its branches so far and its last tag."""

    tag: Tag
    conditions: list[str] = field(default_factory=list)

    @property
    def reached(self) -> str:
        """What holds in the branch that is open now."""
        *earlier, last = self.conditions
        refused = [f"not ({condition})" for condition in earlier]
        return " and ".join([*refused, f"({last})"] if last else refused)


@dataclass(frozen=True)
class _Exit:
    """A `continue`: its tag, when it is reached, and the tags between which the loop's rest stands."""

    tag: Tag
    condition: str
    outermost: Tag
    loop_end: Tag


def _guarded_rest(finding: Finding, code: Code) -> Proposals:
    """`{% if not (…) %}rest{% endif %}` in place of `{% continue %}`."""
    if "`continue`" not in finding.message:
        return
    exits = list(_exits(code))
    yield from (_edits(code, leaving) for leaving in exits if len(leaving.condition) <= _LONGEST)


def _exits(code: Code) -> Iterator[_Exit]:
    """Every `continue` inside an `if`, with the end of the outermost `if` around it in its loop."""
    pending: list[tuple[Tag, str, int]] = []
    closed: list[tuple[Tag, str, Tag, int]] = []
    stack: list[_Block] = []
    for tag in code.tags:
        if tag.word == "for":
            stack.append(_Block(tag))
        elif tag.word == "if":
            stack.append(_Block(tag, [_condition(code, tag)]))
        elif tag.word in {"elif", "else"} and stack and stack[-1].conditions:
            stack[-1].conditions.append(_condition(code, tag) if tag.word == "elif" else "")
        elif tag.word == "continue":
            depth = next((at for at in range(len(stack) - 1, -1, -1) if not stack[at].conditions), None)
            ifs = stack[depth + 1 :] if depth is not None else []
            if ifs and depth is not None:
                pending.append((tag, " and ".join(block.reached for block in ifs), depth + 1))
        elif tag.word == "endif" and stack:
            stack.pop()
            closed += [(left, condition, tag, at) for left, condition, at in pending if at == len(stack)]
            pending = [row for row in pending if row[2] != len(stack)]
        elif tag.word == "endfor" and stack:
            stack.pop()
            yield from (_Exit(left, condition, end, tag) for left, condition, end, at in closed if at == len(stack) + 1)
            closed = [row for row in closed if row[3] != len(stack) + 1]


def _condition(code: Code, tag: Tag) -> str:
    return code.source[tag.pieces[2].start : tag.pieces[-2].end]


def _edits(code: Code, leaving: _Exit) -> list[Edit]:
    source, tag, after = code.source, leaving.tag, leaving.outermost
    start, end = tag.start, tag.end
    if "-" in tag.opening:
        start = len(source[:start].rstrip())
    if "-" in tag.closing:
        end += len(source[end:]) - len(source[end:].lstrip())
    elif source.startswith(("\n", "\r\n"), end):
        end += 2 if source[end] == "\r" else 1
    rest = f"{{%- if not ({leaving.condition}) {after.closing}"
    kept = source[after.start : after.pieces[-1].start] + "-%}"
    return [
        Edit(start, end, ""),
        Edit(after.start, after.end, kept + rest),
        Edit(leaving.loop_end.start, leaving.loop_end.start, f"{leaving.loop_end.opening} endif %}}"),
    ]


def _as_others(change: Change) -> bool:
    return change.joins or (change.engine in _RENDERER and change.prompts is not None)


CURES = (
    Cure(
        "text in front of `continue` is kept: the rest of the loop stands under the opposite condition",
        ("TL004", "TL101", "TL109"),
        _guarded_rest,
        _as_others,
    ),
)

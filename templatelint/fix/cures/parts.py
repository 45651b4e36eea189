"""Content as a list of parts: its texts are printed; and as a string where only a list was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.fix.code import Edit
from templatelint.fix.cure import Cure
from templatelint.fix.cures.guards import assigned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from templatelint.fix.code import Chain, Code
    from templatelint.fix.cure import Proposals
    from templatelint.fix.proof import Change
    from templatelint.model import Finding

_TEXTS = "selectattr('type', 'equalto', 'text') | map(attribute='text') | join"


def texts(content: str) -> str:
    """The content where it is a string or empty, else the texts of its parts."""
    return f"({content} if {content} is string or not {content} else {content} | {_TEXTS})"


def _joined(finding: Finding, code: Code) -> Proposals:
    """The texts of the parts, where content is printed, joined or worked on; or where a variable is set to it."""
    if "list" not in finding.message:
        return
    places = _outermost(chain for chain in code.chains if chain.last == "content" and chain.loose and _value(chain))
    near = [chain for chain in code.near(finding.span) if chain in places]
    yield from ([_edit(chain)] for chain in near)
    for chain in code.near(finding.span):
        if chain.whole and chain.loose and chain.text.isidentifier():
            yield from ([_edit(source)] for source in assigned(code, chain) if source.last == "content")
    set_to = [chain for chain in places if chain.tag.word == "set"]
    if set_to:
        yield [_edit(chain) for chain in set_to]
    if places and set_to != places:
        yield [_edit(chain) for chain in places if not chain.text.startswith("(")]
    for chain in places:
        yield [_edit(chain)]


def _outermost(chains: Iterable[Chain]) -> list[Chain]:
    """The chains that stand in no other: of `message.content.content`, the whole."""
    found: list[Chain] = []
    for chain in sorted(chains, key=lambda chain: (chain.start, -chain.end)):
        if not found or chain.end > found[-1].end:
            found.append(chain)
    return found


def _edit(chain: Chain) -> Edit:
    return Edit(chain.start, chain.end, texts(chain.text))


def _value(chain: Chain) -> bool:
    """Whether its value goes into text here: it is printed or set, and not looked into."""
    if not (chain.tag.prints or chain.tag.word == "set"):
        return False
    return chain.after.type != "lbracket" and not (chain.before.type == "name" and chain.before.value in {"in", "if"})


def _parts(change: Change, roles: tuple[str, ...]) -> bool:
    """The request has a list of text parts in one of those roles, and is now rendered as with strings."""
    listed = [message for message in change.request.messages if isinstance(message.get("content"), list)]
    if not listed or not all(message.get("role") in roles for message in listed):
        return False
    return all(part.get("type") == "text" for message in listed for part in message["content"])


def _tool_parts(change: Change) -> bool:
    return _parts(change, ("tool",))


def _any_parts(change: Change) -> bool:
    """Also where the engine made the list out of a string: what it then renders is what all others do."""
    return change.joins or _parts(change, ("system", "user", "assistant", "tool", "developer"))


def _dropped_too(change: Change) -> bool:
    """Also where other parts are left out without a word, which is for the author to decide."""
    return any(isinstance(message.get("content"), list) for message in change.request.messages)


def _first(finding: Finding, code: Code) -> Proposals:
    """`(content if content is string else content[0].text)`."""
    if "[0]" not in code.source or "content" not in finding.message:
        return
    edits = []
    for chain in code.chains:
        head, subscript, _ = chain.text.partition("[0]")
        if chain.whole and chain.loose and chain.last == "text" and subscript and "content" in head[-10:]:
            edits.append(Edit(chain.start, chain.end, f"({head} if {head} is string else {chain.text})"))
    near = [edit for edit in edits if finding.span and edit.start <= finding.span[0] < edit.end]
    yield from ([edit] for edit in near)
    if edits:
        yield edits


def _strings(change: Change) -> bool:
    strings = any(isinstance(message.get("content"), str) for message in change.request.messages)
    return (change.healed and strings) or change.joins


CURES = (
    Cure("the texts of a tool result's parts are printed", ("TL303",), _joined, _tool_parts, steps=4),
    Cure("the texts of content's parts are printed", ("TL006", "TL302", "TL113"), _joined, _any_parts, steps=4),
    Cure(
        "the texts of content's parts are printed, and images are not",
        ("TL302",),
        _joined,
        _dropped_too,
        safe=False,
        steps=4,
    ),
    Cure("content is printed where it is a string", ("TL305", "TL301", "TL113"), _first, _strings),
)

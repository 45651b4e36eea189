"""Data printed as JSON: arguments that are a string already or still a mapping, definitions, values."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from templatelint.fix.code import Edit
from templatelint.fix.cure import Cure
from templatelint.fix.cures.guards import assigned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.fix.code import Chain, Code
    from templatelint.fix.cure import Proposals
    from templatelint.fix.proof import Change
    from templatelint.model import Finding

_ARGUMENTS = frozenset({"arguments", "args"})
_VALUE = re.compile("value of an argument|an argument that is")
_DATA = frozenset({"tools", "tool", "function", "functions", "parameters", "properties"})


def _either(text: str) -> str:
    return f"({text} if {text} is string else {text} | tojson)"


def _string_or_mapping(finding: Finding, code: Code) -> Proposals:
    """`(a if a is string else a | tojson)` in place of `a`, `a | string` or `a | tojson`."""
    if "argument" not in finding.message or _VALUE.search(finding.message):
        return
    named = _ARGUMENTS if any(chain.last == "arguments" for chain in code.chains) else {"parameters", *_ARGUMENTS}
    places = [chain for chain in code.chains if chain.last in named and chain.loose and chain.whole]
    edits = [edit for chain in places if (edit := _printed(chain)) is not None]
    yield from ([edit] for edit in edits)
    if len(edits) > 1:
        yield edits
    names = [
        chain
        for chain in code.chains
        if chain.whole and chain.loose and chain.text.isidentifier()
        if any(source.last in named for source in assigned(code, chain))
    ]
    edits = [edit for chain in names if (edit := _printed(chain)) is not None]
    yield from ([edit] for edit in edits)
    if len(edits) > 1:
        yield edits


def _printed(chain: Chain) -> Edit | None:
    """The edit of a place that prints or joins the value."""
    filters = chain.filters
    count = 1 if filters[:1] in {("tojson",), ("string",)} else 0
    if filters[count:] and filters[count:] not in {("safe",), ("trim",)}:
        return None
    if not chain.tag.prints and chain.tag.word != "set":
        return None
    if chain.before.type in {"lparen", "comma"}:  # an argument of a macro or filter
        return None
    written = chain.tag.pieces[chain.behind :]
    pretty = count and any(piece.value in {"indent", "separators", "sort_keys"} for piece in written[:8])
    return None if pretty else Edit(chain.start, chain.filtered(count), _either(chain.text))


def _calls(change: Change) -> Iterator[object]:
    for message in change.request.messages:
        for call in message.get("tool_calls") or ():
            yield call.get("function", {}).get("arguments")


def _other_shape(change: Change) -> bool:
    """The call is now written as it is where its arguments come in the other shape."""
    if not any(True for _ in _calls(change)):
        return False
    if change.healed:
        return change.like("wire", "mapping", "native")
    return change.respelt and change.like("wire", "mapping", "native")


def _as_json(finding: Finding, code: Code) -> Proposals:
    """`| tojson` on what is printed of a tool."""
    if "tool definitions" not in finding.message:
        return
    places = []
    for chain in code.chains:
        if not (chain.whole and chain.loose and (chain.last in _DATA or chain.text in _DATA)):
            continue
        filters = chain.filters
        if filters and filters != ("string",):
            continue
        if chain.tag.prints or filters == ("string",) or chain.before.type in {"tilde", "add"}:
            places.append(Edit(chain.start, chain.filtered(len(filters)), f"{_tight(chain)}"))
    yield from ([edit] for edit in places)
    if len(places) > 1:
        yield places


def _tight(chain: Chain) -> str:
    alone = (
        chain.before.type == "variable_begin" and chain.tag.pieces[-1].start <= chain.filtered(len(chain.filters)) + 1
    )
    return f"{chain.text} | tojson" if alone else f"({chain.text} | tojson)"


def _tools_respelt(change: Change) -> bool:
    return bool(change.request.tools) and change.respelt


def _values(finding: Finding, code: Code) -> Proposals:
    """`(value if value is string else value | tojson)` where the values of arguments are printed."""
    if not _VALUE.search(finding.message):
        return
    loops = {
        tag.pieces[4].value if tag.pieces[3].type == "comma" else tag.pieces[2].value
        for tag in code.tags
        if tag.word == "for" and len(tag.pieces) > 6  # noqa: PLR2004 (for KEY, VALUE in …)
    }
    stringed, bare = [], []
    for chain in code.chains:
        if not (chain.whole and chain.loose):
            continue
        text, filters = chain.text, chain.filters
        value = text in loops or text.isidentifier() or chain.before.type == "lparen" or "[" in text
        if filters in {("string",), ("string", "safe")} and value:
            stringed.append(Edit(chain.start, chain.filtered(len(filters)), _either(text)))
        elif not filters and text in loops and chain.before.type in {"variable_begin", "tilde", "add", "else"}:
            bare.append(Edit(chain.start, chain.end, _either(text)))
    both = [*stringed, *bare]
    yield from ([edit] for edit in both)
    for edits in (stringed, bare, both):
        if len(edits) > 1:
            yield edits


def _values_respelt(change: Change) -> bool:
    return any(map(_typed, _calls(change))) and change.respelt


def _typed(arguments: object) -> bool:
    """Whether a value of the arguments is no string."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return False
    return isinstance(arguments, dict) and not all(isinstance(value, str) for value in arguments.values())


CURES = (
    Cure(
        "arguments are printed as they are where they are a string, else as JSON",
        ("TL001", "TL006", "TL204", "TL205", "TL206"),
        _string_or_mapping,
        _other_shape,
        steps=3,
    ),
    Cure("tool definitions are printed as JSON", ("TL006",), _as_json, _tools_respelt),
    Cure("values of arguments are printed as JSON", ("TL006",), _values, _values_respelt),
)

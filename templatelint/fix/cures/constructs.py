"""Constructs that a renderer lacks → others that mean the same and that every renderer has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.fix.code import Edit
from templatelint.fix.cure import Cure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.fix.code import Chain, Code
    from templatelint.fix.cure import Proposals
    from templatelint.fix.proof import Change
    from templatelint.model import Finding

_RAW = re.compile(
    r"(?P<indent>^[ \t]*)?\{%(?P<left>[-+]?)\s*raw\s*(?P<inner>-?)%\}(?P<text>.*?)"
    r"\{%(?P<close>[-+]?)\s*endraw\s*(?P<right>[-+]?)%\}(?P<newline>\r\n|\n|\r)?",
    re.DOTALL | re.MULTILINE,
)
_MOST_RAW = 100  # mentions; templates with more are left
_BLANK_END = re.compile(r"(?:(?<=\n)|(?<=\r)|\A)[ \t]+\Z")


def _typed_member(finding: Finding, code: Code) -> Proposals:
    """`x is string and x in […]`: a list, a mapping or nothing is in none, where not every renderer can tell."""
    if not _KEYED.search(finding.message):
        return
    near = [chain for chain in code.near(finding.span) if chain.whole]
    for chain in near:
        if chain.after.type == "name" and chain.after.value == "in" and chain.tag.word != "for":
            yield [_before(chain, chain.text)]
    for chain in near:
        if chain.text.endswith("]") and not chain.last and "[" in chain.text:
            yield [_before(chain, chain.text[chain.text.index("[") + 1 : -1])]


# as llama.cpp and jinja2 say it
_KEYED = re.compile(r"operator 'in'|cannot be a key|unhashable|has no attributes")


def _before(chain: Chain, tested: str) -> Edit:
    return Edit(chain.start, chain.start, f"{tested} is string and ")


def _keys(finding: Finding, code: Code) -> Proposals:
    """`mapping.keys() | list` in place of `mapping | list`."""
    if "'list' of a mapping" not in finding.message:
        return
    for chain in code.near(finding.span):
        if chain.whole and chain.filters[:1] == ("list",):
            yield [Edit(chain.start, chain.end, f"{chain.text}.keys()")]


def _listed(finding: Finding, code: Code) -> Proposals:
    """`| list | tojson` in place of `| tojson` of what a filter hands on one by one."""
    if "generator" not in finding.message:
        return
    for chain in code.near(finding.span):
        filters = chain.filters
        if chain.whole and "tojson" in filters and filters[: filters.index("tojson")][-1:] != ("list",):
            at = chain.filtered(filters.index("tojson"))
            yield [Edit(at, at, " | list")]


def _unraw(finding: Finding, code: Code) -> Proposals:
    """`{{ 'text' }}` in place of `{% raw %}text{% endraw %}`."""
    if "'raw'" in finding.message and code.source.count("raw") <= _MOST_RAW:
        yield [Edit(found.start(), found.end(), _printed(found)) for found in _RAW.finditer(code.source)]


def _printed(raw: re.Match[str]) -> str:
    """A print tag that gives the text of the raw block, and leaves around it what the block leaves."""
    text = raw["text"].lstrip() if raw["inner"] else raw["text"]
    if raw["close"] == "-":
        text = text.rstrip()
    elif raw["close"] == "":
        text = _BLANK_END.sub("", text)
    left, right = raw["left"].replace("+", ""), raw["right"].replace("+", "")
    kept = (raw["indent"] or "") if raw["left"] else ""
    newline = (raw["newline"] or "") if raw["right"] else ""
    return f"{kept}{{{{{left} {quoted(text)} {right}}}}}{newline}" if text else kept + newline


def quoted(text: str) -> str:
    """The text as a string literal of Jinja, with nothing in it that a tag could end at."""
    escaped = text.replace("\\", "\\\\").replace("\r\n", "\n").replace("\n", "\\n").replace("\r", "\\n")
    escaped = escaped.replace("\t", "\\t").replace("'", "\\'")
    return f"'{escaped}'"


def _own_function(finding: Finding, code: Code) -> Proposals:
    """Filters and methods that some renderers lack, each by one that all have."""
    if not any(word in finding.message for word in ("lacks filter", "ensure_ascii", "get takes one argument")):
        return
    edits = [edit for chain in code.chains for edit in _equivalent(chain)]
    yield from ([edit] for edit in edits)
    if len(edits) > 1:
        yield edits


def _equivalent(chain: Chain) -> Iterator[Edit]:
    pieces, at = chain.tag.pieces, chain.behind
    if not chain.whole:
        return
    for name in chain.filters:
        filter_name = pieces[at + 1]
        arguments = pieces[at + 2].type == "lparen"
        if name in _FILTERS:
            yield Edit(filter_name.start, filter_name.end, _FILTERS[name])
        end = at + 2
        if arguments:
            depth = 0
            while True:
                depth += {"lparen": 1, "rparen": -1}.get(pieces[end].type, 0)
                end += 1
                if depth == 0:
                    break
            words = [piece.value for piece in pieces[at + 3 : end - 1]]
            if name == "tojson" and words[:1] == ["ensure_ascii"] and "," not in words:
                yield Edit(pieces[at + 2].start, pieces[end - 1].end, "")
        at = end
    yield from _short_get(chain)


def _short_get(chain: Chain) -> Iterator[Edit]:
    """`.get('key')` in place of `.get('key', none)`, and `(… or '')` in place of `.get('key', '')`."""
    pieces = chain.tag.pieces
    for at in range(chain.index + 1, chain.behind - 5):
        words = [piece.value for piece in pieces[at : at + 6]]
        if pieces[at - 1].type != "dot" or words[0] != "get" or words[3] != "," or words[5] != ")":
            continue
        if words[4] in {"none", "None"}:
            yield Edit(pieces[at + 2].end, pieces[at + 5].start, "")
        elif pieces[at + 4].type == "string" and not words[4] and at + 6 == chain.behind:
            yield Edit(chain.start, chain.end, f"({chain.text[: pieces[at + 2].end - chain.start]}) or '')")


_FILTERS = {"fromjson": "from_json", "count": "length", "d": "default"}


def _healed(change: Change) -> bool:
    return change.healed or change.joins


CURES = (
    Cure("only strings are looked for in a list", ("TL002", "TL210", "TL001"), _typed_member, _healed, steps=6),
    Cure("the keys of a mapping are listed by `.keys()`", ("TL002",), _keys, _healed, steps=4),
    Cure("what is mapped is listed before it becomes JSON", ("TL210", "TL002", "TL003"), _listed, _healed, steps=4),
    Cure("text of a raw block is printed as a string", ("TL001", "TL002"), _unraw, _healed),
    Cure("a filter that a renderer lacks gives way to one that all have", ("TL002", "TL001"), _own_function, _healed),
)

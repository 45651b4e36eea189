"""Prompts of one case → their stretches in order, told apart by message, and two of them side by side."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from templatelint.reading import MARKER, THOUGHT, common, shortened, stretch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from templatelint.model import Case

# whose turn a text stands in where nothing else tells
_TURNS = {
    **{role: role for role in ("system", "developer", "user", "assistant", "tool")},
    "reasoning": "assistant",
    "call": "assistant",
}
CUE = "cue"  # the key of what stands behind the last message and opens the answer
_TOOLS = "tools"
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")  # the fields of a message that hold reasoning

# Role words of headers, as templates of 2026-11 write them.
_ROLES: Mapping[str, str] = {
    **dict.fromkeys(("system", "sys"), "system"),
    "developer": "developer",
    **dict.fromkeys(("user", "human", "inst", "instruction", "question", "userprompt"), "user"),
    **dict.fromkeys(("assistant", "model", "chatbot", "bot", "ai", "gpt", "response", "answer"), "assistant"),
    **dict.fromkeys(("tool", "ipython", "observation", "environment"), "tool"),
    **dict.fromkeys(("function", "functions"), "tool"),
}
_WORDS = "|".join(sorted(_ROLES, key=len, reverse=True))
# what `reading` knows, and tokens in brackets: `[|user|]` of EXAONE, `]~b]` and `[e~[` of MiniMax
_MARKER = re.compile(rf"{MARKER.pattern}|\[\|[^\[\]\s]{{1,40}}\|\]|\]~!?b[\[\]]|\[e~\[")
_AFTER_MARKER = re.compile(rf" ?({_WORDS})(?!\w)", re.IGNORECASE)
# those that head lines of instructions too
_HEADINGS = frozenset({"function", "functions", "tool", "environment"})
_LINE_WORDS = "|".join(word for word in sorted(_ROLES, key=len, reverse=True) if word not in _HEADINGS)
# `### Human:`, `Assistant:`, `user<|role_sep|>`, at the start of a line or behind a marker; ` USER:` anywhere
_LINE_HEADER = re.compile(
    rf"(?:^|(?<=[>\]]))(?:#{{1,4}} ?|\*\*)?({_LINE_WORDS}|input)\**(?::|(?=\n|<\|role_sep))|(?<= )(USER|ASSISTANT):",
    re.IGNORECASE | re.MULTILINE,
)
_LETTERS = re.compile(r"[^\W\d_]+")
# what else the name of a marker that opens a turn consists of
_FILLERS = frozenset(
    {"start", "begin", "of", "turn", "token", "im", "role", "header", "id", "prompt", "s", "message", "hy"}
)
# roles that tags without bars may open: others are XML in which templates write calls, thoughts and answers
_PLAIN = frozenset({"system", "developer", "user", "human", "assistant"})
_RESULTS = frozenset({"response", "responses", "result", "results", "output", "outputs", "return", "returns"})
_CLOSES = re.compile(r"^(?:</|\[/|\[e~)|end|stop|eot|eom|eos|close", re.IGNORECASE)
_OPENS = re.compile(r"start|begin", re.IGNORECASE)
# the second half of a header: `<|end_header_id|>`, `<|im_middle|>`, `<|message|>`, a name before it
_HEADER_ENDS = re.compile(r"\w{0,20}<[^<>\s]{0,20}(?:header|role|middle|message)[^<>\s]{0,20}>\s*", re.IGNORECASE)
_OF_CALLS = re.compile(r"tool|call|func|param|arg|invoke|\"", re.IGNORECASE)
_OF_RESULTS = re.compile(r"response|output|result|observation|return", re.IGNORECASE)
_OF_TOOLS = re.compile(r"tools|functions|declaration", re.IGNORECASE)
_TOKEN = re.compile(rf"{MARKER.pattern}|\w+|\s+|.", re.DOTALL)
_REACH = 4_096  # how far round a text what belongs to it is looked for, in characters
_BLANK = 8  # characters of white space that a header ends in
_OWN = 131_072  # how far into longer text of the template's own turns are looked for, from either end
_COMPARED = 65_536  # longer texts are compared at their ends alone
_PROBE = 200  # characters of a text of the user's own that it is looked for by
_SEARCHED = 1 << 25  # characters that are looked through for all of those texts together


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a prompt.

    Attributes:
        role: whose it is: `system`, `developer`, `user`, `assistant`, `tool`, `reasoning`, `call`, `tools`; of the
            template's own text the role of the turn that it opens or closes, None where that cannot be told.
        mark: the mark of the case that shows what it is; empty for the template's own text.
        message: the key of the message that it belongs to (`user.1`, `call.2`, `tools`, `cue`); empty for none.
        start: where it begins in the prompt.
        text: its characters.
    """

    role: str | None
    mark: str
    message: str
    start: int
    text: str

    @property
    def end(self) -> int:
        """Just behind it."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Row:
    """What two prompts make of one message; either side may have nothing.

    Attributes:
        role: the message's role; of what belongs to none the role of the turn it opens, None where that is unknown.
        message: the message's key; empty for text of the templates' own.
        a: the first prompt's segments, in order.
        b: the second one's.
        moved: the other prompt has the message too, at another place.
    """

    role: str | None
    message: str
    a: tuple[Segment, ...]
    b: tuple[Segment, ...]
    moved: bool = False

    @property
    def same(self) -> bool:
        """Whether both sides read alike."""
        return _text(self.a) == _text(self.b)


@dataclass(frozen=True, slots=True)
class Run:
    """Characters of a segment that all differ from the other prompt, or none of which do."""

    role: str | None
    mark: str
    text: str
    differs: bool


def _text(segments: Iterable[Segment]) -> str:
    return "".join(segment.text for segment in segments)


# ------------------------------------------------------------------------------------------------- segments


@dataclass(frozen=True, slots=True)
class _Found:
    """A text of the case in the prompt; `text` is False for a stretch that holds syntax of the template too."""

    role: str
    message: str
    mark: str
    start: int
    end: int
    text: bool = True


def segments(prompt: str, case: Case) -> tuple[Segment, ...]:
    """The whole prompt, cut in order: joined, the segments are the prompt.

    Texts of messages are found by the marks of the case. A case without any (a request of the user's own) is followed
    by its texts themselves.

    Args:
        prompt: what an engine made of the case.
        case: the case; its request in wire form.
    """
    told: list[Segment] = []
    turn: str | None = None  # whose turn is open
    before: _Found | None = None
    for text in (*_found(prompt, case), None):
        for segment in _between(prompt, before, text, turn):
            told.append(segment)
            turn = segment.role
        if text is not None:
            if not told or told[-1].message != text.message:
                turn = _TURNS.get(text.role, turn)  # one that nothing opens, as answers behind `[/INST]`
            told.append(Segment(text.role, text.mark, text.message, text.start, prompt[text.start : text.end]))
        before = text
    return tuple(told)


def message_of(mark: str) -> str:
    """The key of the message that carries a mark: `call.1` of `call.1.value`, `tools` of all definitions."""
    kind, *rest = mark.split(".")
    return _TOOLS if kind == _TOOLS else ".".join([kind, *rest[:1]])


def _found(prompt: str, case: Case) -> list[_Found]:
    """Texts, calls and definitions of the case in the order of the prompt; none overlaps another."""
    marked = case.marks or _own_marks(case)
    places = _places(prompt, case, marked)
    spoken = [
        _Found(mark.split(".")[0], message_of(mark), mark, *places[mark])
        for mark in places
        if mark.split(".")[0] not in ("call", _TOOLS)
    ]
    texts = _apart(prompt, sorted(spoken, key=lambda text: (text.start, text.end)))
    calls = _calls(prompt, marked, places, texts)
    known = sorted([*texts, *calls], key=lambda text: text.start)
    return _apart(prompt, sorted([*known, *_definitions(prompt, marked, places, known)], key=lambda text: text.start))


def _places(prompt: str, case: Case, marked: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Mark → where its text stands, of those that are in the prompt."""
    if not case.marks:
        return _own_places(prompt, case, marked)
    found = {mark: stretch(prompt, case, mark) for mark in marked if not _ambiguous(mark)}
    return {mark: (place.start, place.end) for mark, place in found.items() if place is not None}


def _ambiguous(mark: str) -> bool:
    """Whether what it marks stands in several places by nature: names of functions and of arguments, and ids."""
    kind, _, rest = mark.partition(".")
    return kind in ("call", _TOOLS) and re.search(r"\.(name|key|id)(\.\d+)?$", "." + rest) is not None


def _apart(prompt: str, found: Sequence[_Found]) -> list[_Found]:
    """The same without overlaps."""
    told: list[_Found] = []
    for later in found:
        text = later
        last = told[-1] if told else None
        if last is not None and text.start < last.end:
            if text.message == last.message:
                told[-1] = replace(last, end=max(last.end, text.end))
                continue
            if text.text and last.text and text.end >= last.end:
                cut = _seam(prompt, last, text)
                told[-1] = replace(last, end=cut)
                text = replace(text, start=cut)
            elif text.text and not last.text:
                told[-1] = replace(last, end=text.start)
            else:
                text = replace(text, start=last.end)
        if text.start < text.end:
            told.append(text)
    return [text for text in told if text.start < text.end]


def _seam(prompt: str, first: _Found, second: _Found) -> int:
    """Where the second of two texts begins that one message holds (a thought, and the answer behind it)."""
    both = prompt[first.start : first.end]
    for _, closing in THOUGHT:
        at = both.find(closing)
        if at >= 0:
            end = at + len(closing)
            return first.start + end + len(both[end:]) - len(both[end:].lstrip())
    return max(second.start, first.start)


# ---------------------------------------------------------------------------------------------------- calls


def _calls(
    prompt: str, marked: Mapping[str, str], places: Mapping[str, tuple[int, int]], texts: Sequence[_Found]
) -> list[_Found]:
    """The calls with the syntax around them."""
    names = {message_of(mark): text for mark, text in marked.items() if mark.startswith("call.") and ".name" in mark}
    cores: list[_Found] = []
    for message, name in names.items():
        values = [places[mark] for mark in places if message_of(mark) == message]
        if values:
            cores.append(
                _Found("call", message, f"{message}.value", min(values)[0], max(end for _, end in values), text=False)
            )
        elif (at := _unvalued(prompt, message, name, marked, texts)) is not None:
            cores.append(_Found("call", message, f"{message}.name", at, at + len(name), text=False))
    cores.sort(key=lambda core: core.start)
    told: list[_Found] = []
    ends = [text.end for text in texts]
    starts = sorted(text.start for text in texts)
    for number, core in enumerate(cores):
        low = max([0, *(end for end in ends if end <= core.start), *(call.end for call in told)])
        high = min([len(prompt), *(start for start in starts if start >= core.end)])
        following = cores[number + 1].start if number + 1 < len(cores) else high
        start = core.start
        if (at := prompt.rfind(names[core.message], max(low, start - _REACH), start)) >= 0:
            start = at
        opens = _call_start(prompt, low, start, again=bool(told) and told[-1].end == low)
        openers = {marker[0] for marker in _MARKER.finditer(prompt, opens, start)}
        told.append(replace(core, start=opens, end=_call_end(prompt, core.end, min(high, following), openers)))
    return told


def _unvalued(prompt: str, message: str, name: str, marked: Mapping[str, str], texts: Sequence[_Found]) -> int | None:
    """Where a call's name stands between its neighbours, where its values do not."""
    order = list(dict.fromkeys(map(message_of, marked)))
    at = order.index(message)
    by_message = {text.message: text for text in texts}
    before = next((by_message[key] for key in reversed(order[:at]) if key in by_message), None)
    after = next((by_message[key] for key in order[at + 1 :] if key in by_message), None)
    low = before.end if before is not None else 0
    high = after.start if after is not None and after.start >= low else len(prompt)
    found = prompt.find(name, low, high)
    return found if found >= 0 else None


def _call_start(prompt: str, low: int, start: int, *, again: bool) -> int:
    """Where the syntax of a call begins, at or before its first text."""
    low = max(low, start - _REACH)
    headers = [(at, end) for at, end, role in _headers(prompt, low, start) if role == "assistant"]
    cut = headers[-1][1] if headers else low
    opener = next(
        (m for m in _MARKER.finditer(prompt, cut, start) if _OF_CALLS.search(m[0]) and not _closing(m[0])), None
    )
    if opener is not None:
        return opener.start()
    if headers or again:
        return cut
    last = max((marker.end() for marker in _MARKER.finditer(prompt, low, start)), default=low)
    return last if last > low else prompt.rfind("\n", low, start) + 1 or start


def _call_end(prompt: str, end: int, high: int, openers: set[str]) -> int:
    """Where it ends: behind what closes arguments and calls, before anything that opens or closes a turn."""
    high = min(high, end + _REACH)
    at = end
    for marker in _MARKER.finditer(prompt, end, high):
        plain = _plain_end(prompt, at, marker.start())
        ends = _OF_RESULTS.search(marker[0]) or _role_of(marker[0])
        if plain < marker.start() or ends or not _OF_CALLS.search(marker[0]):
            return plain if prompt[at:plain].strip() else at
        if marker[0] in openers and not _quotes(marker[0]):
            return at
        at = marker.end()
    plain = _plain_end(prompt, at, high)
    return plain if prompt[at:plain].strip() else at


def _plain_end(prompt: str, start: int, end: int) -> int:
    """How far text without markers belongs to a call: up to an empty line or the next object."""
    stops = [at for stop in ("\n\n", "{") if (at := prompt.find(stop, start, end)) >= 0]
    header = next((at for at, _, _ in _headers(prompt, start, end)), end)
    return min([*stops, header])


def _quotes(marker: str) -> bool:
    return '"' in marker


def _closing(marker: str) -> bool:
    return _CLOSES.search(marker) is not None


# --------------------------------------------------------------------------------------------- definitions


def _definitions(
    prompt: str, marked: Mapping[str, str], places: Mapping[str, tuple[int, int]], known: Sequence[_Found]
) -> list[_Found]:
    """The stretches where tools are defined, one where no message stands between."""
    found = sorted((*places[mark], mark) for mark in places if message_of(mark) == _TOOLS)
    names = [text for mark, text in marked.items() if message_of(mark) == _TOOLS and mark.endswith(".name")]
    found = found or _named(prompt, names, known)
    clusters: list[tuple[int, int, str]] = []
    for start, end, mark in found:
        last = clusters[-1] if clusters else None
        if last is not None and not any(last[1] <= text.start < start for text in known):
            clusters[-1] = (last[0], max(end, last[1]), last[2])
        elif not any(text.start <= start < text.end for text in known):
            clusters.append((start, end, mark))
    told = []
    for start, end, mark in clusters:
        low = max([0, start - _REACH, *(text.end for text in known if text.end <= start)])
        high = min([len(prompt), end + _REACH, *(text.start for text in known if text.start >= end)])
        called = [at for name in names if (at := prompt.rfind(name, low, start)) >= 0]
        first = min([start, *(at for at in called if "\n\n" not in prompt[at:start])])
        told.append(
            _Found(
                _TOOLS,
                _TOOLS,
                mark,
                _definition_start(prompt, low, first),
                _definition_end(prompt, end, high),
                text=False,
            )
        )
    return told


def _named(prompt: str, names: Iterable[str], known: Sequence[_Found]) -> list[tuple[int, int, str]]:
    """Definitions by their names alone, which calls have too: only in front of the conversation."""
    first = min((text.start for text in known if text.role not in ("system", "developer")), default=0)
    found = ((prompt.find(name, 0, first), name, number) for number, name in enumerate(names, 1))
    return sorted((at, at + len(name), f"tools.{number}.name") for at, name, number in found if at >= 0)


def _definition_start(prompt: str, low: int, start: int) -> int:
    """At the marker around the definitions, or behind an empty line, or else where the line begins."""
    markers = [m for m in _MARKER.finditer(prompt, low, start) if _OF_TOOLS.search(m[0]) and not _closing(m[0])]
    empty = prompt.rfind("\n\n", low, start)
    best = max(markers[-1].start() if markers else -1, empty + 2 if empty >= 0 else -1)
    if best >= 0:
        return best
    headers = [end for _, end, _ in _headers(prompt, low, start)]
    return max([low, prompt.rfind("\n", low, start) + 1, *headers])


def _definition_end(prompt: str, end: int, high: int) -> int:
    closing = next((m for m in _MARKER.finditer(prompt, end, high) if _OF_TOOLS.search(m[0])), None)
    empty = prompt.find("\n\n", end, high)
    if closing is not None and (empty < 0 or closing.start() < empty):
        return closing.end() if _closing(closing[0]) else closing.start()
    header = next((at for at, _, _ in _headers(prompt, end, high)), high)
    if empty >= 0:
        return min(empty, header)
    ends = [marker.start() for marker in _MARKER.finditer(prompt, end, header) if _CLOSES.search(marker[0])]
    return ends[0] if ends else header


# ------------------------------------------------------------------------------- the template's own text


def _headers(prompt: str, low: int, high: int) -> list[tuple[int, int, str]]:
    """What opens turns between two offsets: (start, end, role), in order."""
    found: list[tuple[int, int, str]] = []
    previous: re.Match[str] | None = None
    for marker in _MARKER.finditer(prompt, low, high):
        in_sentence = _is_tag(marker) and low < marker.start() and prompt[marker.start() - 1] == " "
        role = None if in_sentence else _role_of(marker[0])
        word = None if _closing(marker[0]) else _AFTER_MARKER.match(prompt, marker.end(), high)
        if role is not None or word is not None:
            start = marker.start()
            if previous is not None and previous.end() == start and _OPENS.search(previous[0]):
                start = previous.start()
            end = word.end() if word is not None else marker.end()
            rest = _HEADER_ENDS.match(prompt, end, high)
            end = rest.end() if rest is not None else end
            blank = prompt[end : min(end + _BLANK, high)]
            end += len(blank) - len(blank.lstrip())
            if found and start < found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]), found[-1][2])
            else:
                found.append((start, end, _ROLES[word[1].lower()] if word is not None else role or "user"))
        previous = marker
    lines = [
        (line.start(), line.end(), _ROLES.get((line[1] or line[2]).lower(), "user"))
        for line in _LINE_HEADER.finditer(prompt, low, high)
    ]
    told: list[tuple[int, int, str]] = []
    for header in sorted([*found, *lines]):
        if not told or header[0] >= told[-1][1]:
            told.append(header)
    return told


@lru_cache(maxsize=1024)
def _role_of(marker: str) -> str | None:
    """The role that a marker names which opens a turn of it: `<|user|>`, `[INST]`, `<tool_response>`."""
    if _closing(marker):
        return None
    words = {word.lower() for word in _LETTERS.findall(marker)} - _FILLERS
    if words & _RESULTS and words - _RESULTS in ({"tool"}, {"function"}):
        return "tool"
    if len(words) != 1 or (_is_tag(_MARKER.match(marker)) and not words & _PLAIN):
        return None
    return _ROLES.get(next(iter(words)))


def _is_tag(marker: re.Match[str] | None) -> bool:
    """Whether it reads like XML, and not like a token of a vocabulary."""
    return marker is not None and marker[0].startswith("<") and marker[0].isascii() and "|" not in marker[0]


def _between(prompt: str, before: _Found | None, after: _Found | None, turn: str | None) -> Iterator[Segment]:
    """The template's own text between two texts: what closes the one, turns without text, what opens the other."""
    start, end = before.end if before else 0, after.start if after else len(prompt)
    if start >= end:
        return
    if end - start > 2 * _OWN:  # no template writes that much of its own
        headers = [*_turns_opened(prompt, start, start + _OWN), *_turns_opened(prompt, end - _OWN, end)]
    else:
        headers = _turns_opened(prompt, start, end)
    if before is not None and after is not None and before.message == after.message:
        headers = []
    first = headers[0][0] if headers else end
    if first > start:
        yield Segment(turn, "", before.message if before else "", start, prompt[start:first])
    for (at, role), (until, _) in pairwise([*headers, (end, "")]):
        message = ""
        if until == end:
            message = after.message if after is not None else CUE if role == "assistant" else ""
        yield Segment(role, "", message, at, prompt[at:until])


def _turns_opened(prompt: str, low: int, high: int) -> list[tuple[int, str]]:
    """Where turns open, and whose; headers one behind the other open one turn."""
    turns: list[tuple[int, str]] = []
    last = -1
    for start, end, role in _headers(prompt, low, high):
        # what wraps a result inside a turn opens none of its own
        if not turns or prompt[last:start].strip() or role != "tool":
            turns.append((start, role))
        last = max(last, end)
    return turns


# ----------------------------------------------------------------------------------- requests of the user's own


def _own_marks(case: Case) -> dict[str, str]:
    """Marks for a case without: the longest line of each text, named as those of the corpus are."""
    counts: dict[str, int] = {}
    marks: dict[str, str] = {}

    def count(kind: str) -> str:
        counts[kind] = counts.get(kind, 0) + 1
        return kind if kind in ("system", "developer") and counts[kind] == 1 else f"{kind}.{counts[kind]}"

    def put(own: str, texts: Iterable[str]) -> None:
        for number, text in enumerate(texts, 1):
            marks[own + (f".{number}" if number > 1 else "")] = text

    for message in case.request.messages:
        role = str(message.get("role") or "user").replace(".", " ")
        thoughts = [text for name in _THOUGHTS for text in _parts(message.get(name))]
        for kind, texts in (("reasoning", thoughts), (role, _parts(message.get("content")))):
            if probes := [*filter(None, map(_probe, texts))]:
                put(count(kind), probes)
        for function in _functions(message.get("tool_calls")):
            own = count("call")
            put(f"{own}.name", filter(None, [_probe(str(function.get("name") or ""))]))
            put(f"{own}.value", filter(None, map(_probe, _leaves(function.get("arguments")))))
    for function in _functions(case.request.tools):
        own = count(_TOOLS)
        put(f"{own}.name", filter(None, [_probe(str(function.get("name") or ""))]))
        put(f"{own}.description", filter(None, map(_probe, _parts(function.get("description")))))
    return marks


def _functions(entries: Any) -> list[Mapping[str, Any]]:
    return [_mapping(_mapping(entry).get("function")) for entry in _list(entries)]


def _mapping(data: Any) -> Mapping[str, Any]:
    return data if isinstance(data, dict) else {}


def _list(data: Any) -> Sequence[Any]:
    return data if isinstance(data, (list, tuple)) else ()


def _parts(content: Any) -> list[str]:
    """The texts of content: a string, or a list of parts."""
    if isinstance(content, str):
        return [content]
    return [text for part in _list(content) if isinstance(text := _mapping(part).get("text"), str)]


def _leaves(arguments: Any) -> list[str]:
    """The strings in the arguments of a call, which come as JSON text or as data."""
    if isinstance(arguments, str):
        import json

        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return [arguments]
    waiting, texts = [arguments], []
    while waiting:
        data = waiting.pop()
        if isinstance(data, str):
            texts.append(data)
        waiting += reversed(data.values() if isinstance(data, dict) else _list(data))
    return texts


def _probe(text: str) -> str:
    """What a text is looked for by: the longest of its first lines, cut."""
    return max((line.strip() for line in text[: 16 * _PROBE].splitlines()), key=len, default="")[:_PROBE]


def _own_places(prompt: str, case: Case, marked: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Where these texts stand: each behind the one before it, or else anywhere."""
    places: dict[str, tuple[int, int]] = {}
    whole = {_probe(text): text for text in case.texts}
    cursor, budget = 0, _SEARCHED
    for mark, probe in marked.items():
        if _ambiguous(mark):
            continue
        anywhere = mark.startswith(_TOOLS)
        start = 0 if anywhere else cursor
        at = prompt.find(probe, start) if budget > 0 else -1
        budget -= (at if at >= 0 else len(prompt)) - start
        if at < 0 and start and budget > 0:
            budget -= start
            at = prompt.find(probe, 0, start)
        if at < 0:
            continue
        text = whole.get(probe, probe)
        inside = max(text.find(probe), 0)
        start = at - common(text[:inside][::-1], prompt[max(0, at - inside) : at][::-1])
        rest = text[inside + len(probe) :]
        end = at + len(probe)
        end += common(rest, prompt[end : end + len(rest)])
        places[mark] = (start, end)
        cursor = cursor if anywhere else max(cursor, end)
    return places


# ------------------------------------------------------------------------------------------------------ rows


def aligned(prompt_a: str, prompt_b: str, case: Case) -> tuple[Row, ...]:
    """Two prompts of a case by message, in order on either side: each side's segments, joined, are its prompt.

    A message at another place in the other prompt has two rows, one on each side.
    """
    groups_a, groups_b = _groups(segments(prompt_a, case)), _groups(segments(prompt_b, case))
    keys_b = {key: at for at, (key, _) in enumerate(groups_b)}
    shared = [(at, keys_b[key]) for at, (key, _) in enumerate(groups_a) if key in keys_b]
    moved = {groups_a[at][0] for at, _ in shared}
    kept = _increasing(shared)
    moved -= {groups_a[at][0] for at, _ in kept}
    rows: list[Row] = []
    done_a = done_b = 0
    for at_a, at_b in [*kept, (len(groups_a), len(groups_b))]:
        rows += [_row(key, own, (), moved) for key, own in groups_a[done_a:at_a]]
        rows += [_row(key, (), own, moved) for key, own in groups_b[done_b:at_b]]
        if at_a < len(groups_a):
            rows.append(_row(groups_a[at_a][0], groups_a[at_a][1], groups_b[at_b][1], moved))
        done_a, done_b = at_a + 1, at_b + 1
    return tuple(rows)


_Key = tuple[str, str, int]


def _groups(told: Sequence[Segment]) -> list[tuple[_Key, tuple[Segment, ...]]]:
    """The segments by message; what belongs to none is known by the message behind it."""
    runs: list[list[Segment]] = []
    for segment in told:
        if runs and runs[-1][0].message == segment.message:
            runs[-1].append(segment)
        else:
            runs.append([segment])
    counts: dict[tuple[str, str], int] = {}
    groups = []
    for run, behind in zip(runs, [*runs[1:], None], strict=False):
        message = run[0].message
        name = (message, "" if message or behind is None else behind[0].message)
        counts[name] = counts.get(name, 0) + 1
        groups.append(((*name, counts[name]), tuple(run)))
    return groups


def _row(key: _Key, a: tuple[Segment, ...], b: tuple[Segment, ...], moved: set[_Key]) -> Row:
    told = [*a, *b]
    role = next((segment.role for segment in told if segment.mark), None)
    if role is None:
        role = next((segment.role for segment in told if segment.role), None)
    return Row(role, key[0], a, b, key in moved)


def _increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs, which come by their first number, that rises in the second too."""
    tails: list[int] = []  # of runs of each length, the least second number that one ends in
    ends: list[int] = []  # the pair that has it
    before: list[int] = []
    for at, (_, second) in enumerate(pairs):
        length = bisect_left(tails, second)
        before.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(second)
            ends.append(at)
        else:
            tails[length], ends[length] = second, at
    run = []
    at = ends[-1] if ends else -1
    while at >= 0:
        run.append(pairs[at])
        at = before[at]
    return run[::-1]


# -------------------------------------------------------------------------------------- what of a row differs


def runs(row: Row) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    """Both sides of a row, cut where they begin or cease to differ; of a side alone all differs."""
    if row.same:
        return (
            tuple(Run(own.role, own.mark, own.text, differs=False) for own in row.a),
            tuple(Run(own.role, own.mark, own.text, differs=False) for own in row.b),
        )
    cuts_a, cuts_b = [], []
    for part_a, part_b in _parallel(row.a, row.b):
        text_a, text_b = _text(part_a), _text(part_b)
        first_a, first_b = part_a[0].start if part_a else 0, part_b[0].start if part_b else 0
        for start_a, end_a, start_b, end_b in _differing(text_a, text_b):
            cuts_a.append((first_a + start_a, first_a + end_a))
            cuts_b.append((first_b + start_b, first_b + end_b))
    return tuple(_cut(row.a, cuts_a)), tuple(_cut(row.b, cuts_b))


def _parallel(a: Sequence[Segment], b: Sequence[Segment]) -> Iterator[tuple[Sequence[Segment], Sequence[Segment]]]:
    """Both sides in parts: a text that both have is compared with itself."""
    at = {segment.mark: place for place, segment in enumerate(b) if segment.mark}
    shared = _increasing([(here, at[own.mark]) for here, own in enumerate(a) if own.mark and own.mark in at])
    done_a = done_b = 0
    for here, there in shared:
        yield a[done_a:here], b[done_b:there]
        yield a[here : here + 1], b[there : there + 1]
        done_a, done_b = here + 1, there + 1
    yield a[done_a:], b[done_b:]


def _differing(a: str, b: str) -> Iterator[tuple[int, int, int, int]]:
    """Where two texts differ: offsets in the one and in the other.

    What both begin and end with is alike, and between them the tokens that either text has once and that follow one
    another in both: time grows with the length of the texts, whatever they hold.
    """
    if a == b:
        return
    head = common(a, b)
    tail = min(common(a[::-1], b[::-1]), len(a) - head, len(b) - head)
    if max(len(a), len(b)) - head - tail > _COMPARED:
        yield head, len(a) - tail, head, len(b) - tail
        return
    tokens_a, tokens_b = _tokens(a), _tokens(b)
    keep_a, keep_b = _matched([text for _, text in tokens_a], [text for _, text in tokens_b])
    start_a = start_b = 0
    for at_a, at_b in zip([*keep_a, len(tokens_a)], [*keep_b, len(tokens_b)], strict=True):
        end_a = tokens_a[at_a][0] if at_a < len(tokens_a) else len(a)
        end_b = tokens_b[at_b][0] if at_b < len(tokens_b) else len(b)
        if start_a < end_a or start_b < end_b:
            yield start_a, end_a, start_b, end_b
        start_a = end_a + (len(tokens_a[at_a][1]) if at_a < len(tokens_a) else 0)
        start_b = end_b + (len(tokens_b[at_b][1]) if at_b < len(tokens_b) else 0)


def _tokens(text: str) -> list[tuple[int, str]]:
    return [(token.start(), token[0]) for token in _TOKEN.finditer(text)]


def _matched(a: Sequence[str], b: Sequence[str]) -> tuple[list[int], list[int]]:
    """Places of the tokens that are alike, in both lists."""
    once_a, once_b = _once(a), _once(b)
    anchors = _increasing([(at, once_b[token]) for token, at in once_a.items() if token in once_b and _telling(token)])
    kept: list[tuple[int, int]] = []
    low_a = low_b = 0
    for at_a, at_b in [*anchors, (len(a), len(b))]:
        if at_a < low_a or at_b < low_b:
            continue  # the text before it reached this far
        head = 0
        while low_a + head < at_a and low_b + head < at_b and a[low_a + head] == b[low_b + head]:
            head += 1
        tail = 0
        while tail < min(at_a - low_a, at_b - low_b) - head and a[at_a - tail - 1] == b[at_b - tail - 1]:
            tail += 1
        kept += [(low_a + step, low_b + step) for step in range(head)]
        kept += [(at_a - step, at_b - step) for step in range(tail, 0, -1)]
        if at_a < len(a):
            kept.append((at_a, at_b))
        low_a, low_b = at_a + 1, at_b + 1
    return [at for at, _ in kept], [at for _, at in kept]


def _once(tokens: Sequence[str]) -> dict[str, int]:
    """Token → its place, of those that occur once, in order."""
    seen: dict[str, int] = {}
    for at, token in enumerate(tokens):
        seen[token] = -1 if token in seen else at
    return {token: at for token, at in seen.items() if at >= 0}


def _telling(token: str) -> bool:
    """Whether it is no mere punctuation, which stands anywhere by chance."""
    return len(token) > 1 and not token.isspace()


def _cut(told: Sequence[Segment], differing: Sequence[tuple[int, int]]) -> Iterator[Run]:
    spans = iter(differing)
    span = next(spans, None)
    for segment in told:
        at = segment.start
        while at < segment.end:
            while span is not None and span[1] <= at:
                span = next(spans, None)
            if span is None or span[0] >= segment.end:
                until, differs = segment.end, False
            elif span[0] > at:
                until, differs = span[0], False
            else:
                until, differs = min(span[1], segment.end), True
            yield Run(segment.role, segment.mark, segment.text[at - segment.start : until - segment.start], differs)
            at = until


# -------------------------------------------------------------------------------------------------- excerpts

_AROUND = 24  # characters of the texts beside a gap
_LEAST = 16  # what is left of a text


def excerpt(prompt: str, case: Case, marks: Iterable[str], width: int = 160) -> str:
    """The stretch of a prompt that shows these marks: from the header before the first to just behind the last.

    Where none of them is in the prompt, the stretch where they would stand: between the messages before and behind.

    Args:
        prompt: what an engine made of the case.
        case: the case.
        marks: marks of the case, keys of messages (`call.1`), or `cue`; without any the whole prompt.
        width: about how many characters to give; what is left out of long texts, and then of the whole, is `…`.
    """
    told = segments(prompt, case)
    wanted = list(dict.fromkeys(map(message_of, marks)))
    shown = [at for at, segment in enumerate(told) if segment.message in wanted]
    if not wanted:
        return _fitted(told, width)
    if shown and any(told[at].mark or told[at].message == CUE for at in shown):
        return _fitted(told[shown[0] : shown[-1] + 1], width)
    return _gap(prompt, case, told, wanted, width)


def _fitted(told: Sequence[Segment], width: int) -> str:
    """The segments, texts of the case shortened before those of the template."""
    texts = [segment for segment in told if segment.mark]
    own = sum(len(segment.text) for segment in told if not segment.mark)
    room = max(_LEAST, (width - own) // len(texts)) if texts else 0
    return shortened("".join(shortened(own.text, room) if own.mark else own.text for own in told), width)


def _gap(prompt: str, case: Case, told: Sequence[Segment], wanted: Sequence[str], width: int) -> str:
    order = list(dict.fromkeys(map(message_of, case.marks or _own_marks(case))))
    here = [at for at, message in enumerate(order) if message in wanted and message != _TOOLS]
    first, last = (here[0], here[-1]) if here else (0, -1)  # definitions stand in front of everything
    texts = {segment.message: segment for segment in told if segment.mark and segment.message != _TOOLS}
    before = next((texts[message] for message in reversed(order[:first]) if message in texts), None)
    after = next((texts[message] for message in order[last + 1 :] if message in texts), None)
    start = before.end if before is not None else 0
    if after is not None and after.start >= start:
        end, tail = after.start, shortened(after.text[:_AROUND])
        tail += "…" if len(after.text) > _AROUND else ""
    else:
        end, tail = len(prompt), ""
    head = ""
    if before is not None:
        head = ("…" if len(before.text) > _AROUND else "") + before.text[-_AROUND:]
    room = max(width - len(head) - len(tail), _LEAST)
    return head + shortened(prompt[start:end], room) + tail

"""A template → how a model of it says things: calls, thoughts, answers, as llama.cpp prints and reads them."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from templatelint import bounded, dialects
from templatelint.dialects.recognition import recognise
from templatelint.engines import get
from templatelint.model import RenderError, Request
from templatelint.reading import MARKER
from templatelint.scripted import scripts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from templatelint.dialects.reply import ToolCall
    from templatelint.engines.llamacpp.loaded import LoadedTemplate, Opened
    from templatelint.engines.llamacpp.parsing.reply import Call, Parsed
    from templatelint.engines.llamacpp.validation import ChatRequest
    from templatelint.model import Model, Template, Tokenizer

_ENGINE = "llama.cpp"
_MARK = "TEMPLATELINTMARK"
_IDS = ("scripted1", "scripted2")  # nine letters and digits, which some templates insist on
_USER = {"role": "user", "content": "Hi"}
_SYSTEM = {"role": "system", "content": "Be brief."}
_LONGEST_MARKER = 80
_LIMITS = bounded.Limits(seconds=10.0, wall=40.0)
_SHORTEST = 2  # bytes of a piece
_CLOSER = re.compile(r"[^\"'<\[]{0,8}?(?:<[^<>]{1,60}>|\[[^\[\]]{1,60}\])\s*")
_QUOTES = "\"'`"


@dataclass(frozen=True, slots=True)
class Wording:
    """How a model of the template says things.

    Attributes:
        texts: script → its whole text, of those that depend on the template.
        prefix: what stands before plain text: it closes what the generation prompt opens.
        thought_end: what ends thoughts.
        between: what has to stand between a text and a call in one reply; mostly nothing.
        result: what stands before the result of a tool, and nowhere else; empty where nothing does.
        unread: scripts of calls that our model of llama.cpp does not read back.
        markers: what looks like special tokens in prompts.
        dialect: of the calls; `none` where there are none.
        why: why nothing is known of the template, in a clause; empty where something is.
    """

    texts: Mapping[str, str]
    prefix: str = ""
    thought_end: str = ""
    between: str = ""
    result: str = ""
    unread: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    dialect: str = scripts.NO_DIALECT
    why: str = ""


def of(model: Model, dialect: str | None, further: Mapping[str, Sequence[ToolCall]]) -> Wording:
    """How a model with these templates says things.

    Args:
        model: the model.
        dialect: the name of the dialect of calls that is wanted instead of the template's own.
        further: script → calls that it makes beside ours.
    """
    engine = get(_ENGINE)
    request = Request([_USER], tools=scripts.TOOLS)
    with_tools, without = (engine.choose(model, each) for each in (request, replace(request, tools=None)))
    known: dict[str, Any] = {}
    calls = {**scripts.CALLS, **further}
    why = ""
    for template, work in ((without, _of_answers), (with_tools, _of_calls)):
        if isinstance(template, RenderError):
            why = why or template.message
            continue
        found, stop = bounded.run(work, template, model.tokenizer, dialect, calls, limits=_LIMITS)
        known |= dict(found)
        why = why or known.pop("why", "") or (stop.message if stop is not None else "")
    return Wording(
        texts={name: known[name] for name in (*calls, scripts.THINK) if name in known},
        prefix=known.get("prefix", ""),
        thought_end=known.get("thought_end", ""),
        between=known.get("between", ""),
        result=known.get("result", ""),
        unread=tuple(known.get("unread", ())),
        markers=tuple(known.get("markers", ())),
        dialect=known.get("dialect", scripts.NO_DIALECT),
        why=why,
    )


# ------------------------------------------------------------------------------------- inside of the child


def _of_answers(
    template: Template, tokenizer: Tokenizer, _: str | None, __: Mapping[str, Sequence[ToolCall]]
) -> Iterator[tuple[str, Any]]:
    loaded = _load(template, tokenizer)
    if isinstance(loaded, str):
        yield "why", loaded
        return
    plain = _Prompted.of(loaded, Request([_USER]))
    if isinstance(plain, str):
        yield "why", plain
        return
    yield "markers", list(dict.fromkeys(MARKER.findall(plain.conversation())))
    start, end = plain.thoughts()
    yield "prefix", plain.plain_start()
    openings, gaps = ([f"{start}\n", start] if start else []) + [""], ("\n", "")
    thoughts = [f"{opening}{scripts.THOUGHTS}{gap}{end}" for opening in openings for gap in gaps] if end else []
    thought = plain.first(
        [f"{thought}{gap}" for thought in thoughts for gap in ("\n\n", "")], scripts.PLAIN, scripts.THOUGHTS
    )
    if thought is not None:
        yield scripts.THINK, thought + scripts.PLAIN


def _of_calls(
    template: Template, tokenizer: Tokenizer, dialect: str | None, wanted: Mapping[str, Sequence[ToolCall]]
) -> Iterator[tuple[str, Any]]:
    loaded = _load(template, tokenizer)
    if isinstance(loaded, str):
        return
    tools = scripts.tools_for([call for calls in wanted.values() for call in calls])
    asked = _Prompted.of(loaded, Request([_USER], tools=tools, extra={"parallel_tool_calls": True}))
    if isinstance(asked, str):
        return
    yield "thought_end", asked.thoughts()[1]
    if dialect is not None:
        for name, calls in wanted.items():
            with suppress(ValueError):  # it cannot carry them
                yield name, dialects.get(dialect).write(calls)
        yield "dialect", dialect
    else:
        yield from asked.written(wanted)
    result = asked.result_marker()
    if result:
        yield "result", result


def _load(template: Template, tokenizer: Tokenizer) -> LoadedTemplate | str:
    """The template inside our model of llama.cpp, or why it does not load."""
    from templatelint.engines.llamacpp.loaded import load

    loaded = load(template, tokenizer)
    if isinstance(loaded, RenderError):
        return loaded.message
    return loaded if loaded.refusal is None else loaded.refusal.message


@dataclass(frozen=True, slots=True)
class _Prompted:
    """A request that awaits its reply."""

    loaded: LoadedTemplate
    request: Request
    chat: ChatRequest
    opened: Opened

    @staticmethod
    def of(loaded: LoadedTemplate, request: Request) -> _Prompted | str:
        """The same of a request, or why it has no prompt."""
        from templatelint.engines.llamacpp.round_trip import FAILURES, shown
        from templatelint.engines.llamacpp.validation import read

        try:
            chat = read(request)
            return _Prompted(loaded, request, chat, loaded.opened(chat, _now()))
        except FAILURES as error:
            return shown(error)

    def thoughts(self) -> tuple[str, str]:
        """What opens and closes reasoning."""
        from templatelint.engines.llamacpp.round_trip import thoughts

        start, end = thoughts(self.loaded, self.opened)
        return start.decode("utf-8", "replace"), end.decode("utf-8", "replace")

    def _closing(self) -> str:
        """What ends the thoughts that the generation prompt opens; empty where it opens none."""
        start, end = self.thoughts()
        _, found, behind = self.opened.generation_prompt.decode("utf-8", "replace").rpartition(start or "\0")
        return end if found and end not in behind else ""

    def plain_start(self) -> str:
        """What has to stand before plain text."""
        lead, _ = self.around_answer()
        start, end = self.thoughts()
        starts = ["", end, f"{end}\n\n", lead, f"{start}\n\n{end}\n\n"] if end else ["", lead]
        return self.first(starts, scripts.PLAIN) or ""

    def first(self, starts: Sequence[str], content: str, reasoning: str = "") -> str | None:
        """The first of these starts behind which the content stays what it is, best to the last blank."""
        found: dict[tuple[bool, bool], str] = {}
        for start in dict.fromkeys(starts):
            parsed = self.parsed(start + content)
            if parsed is not None and parsed.content.strip() == content and reasoning in parsed.reasoning:
                # some generation prompts hold the first words of the thoughts
                rank = (parsed.reasoning.strip() != reasoning, parsed.content != content)
                found.setdefault(rank, start)
        return found[min(found)] if found else None

    def parsed(self, reply: str) -> Parsed | None:
        """What llama.cpp makes of a reply; None where it fails."""
        from templatelint.engines.llamacpp.parsing.reply import NoMatch
        from templatelint.engines.llamacpp.round_trip import parse

        try:
            return parse(self.loaded, self.request, self.chat, self.opened, reply.encode("utf-8", "surrogatepass"))
        except NoMatch:
            return None

    # ---------------------------------------------------------------------------------------- the history

    def _printed(self, *further: Mapping[str, Any], cue: bool = False) -> str:
        """The conversation with further messages; empty where it has no prompt."""
        from templatelint.engines.llamacpp.round_trip import FAILURES
        from templatelint.engines.llamacpp.validation import read

        request = replace(self.request, messages=[*self.request.messages, *further, _USER])
        try:
            chat = read(request)
            chat = replace(chat, messages=chat.messages[:-1])
            return self.loaded.opened(chat, _now()).prompt if cue else self.loaded.printed(chat, _now())
        except FAILURES:
            return ""

    def conversation(self) -> str:
        """A prompt with an answer in it."""
        return self._printed({"role": "assistant", "content": _MARK}, _USER, cue=True) or self.opened.prompt

    def around_answer(self) -> tuple[str, str]:
        """What stands between the prompt and an answer, and behind the answer."""
        printed = self._printed({"role": "assistant", "content": _MARK})
        before, found, behind = printed.rpartition(_MARK)
        if not found:
            return "", ""
        prompt = self.opened.prompt
        return (before[len(prompt) :] if before.startswith(prompt) else ""), behind

    def result_marker(self) -> str:
        """What stands before the result of a tool, as near to it as can be, and nowhere else."""
        call = _message(scripts.CALLS["tool"])
        result = {"role": "tool", "name": "get_weather", "tool_call_id": _IDS[0], "content": _MARK}
        told = replace(self, request=replace(self.request, messages=[_SYSTEM, _USER]))
        without = "\n".join(
            (self.opened.prompt, self._printed(call, cue=True), self.conversation(), told.conversation())
        )
        printed = self._printed(call, result)
        before, found, _ = printed.partition(_MARK)
        if not found or not without.strip():
            return ""
        near = before[-200:]
        markers = list(MARKER.finditer(near))
        for marker in reversed(markers):
            behind = near[marker.start() :]
            ids = [at for word in ("get_weather", "functions.", *_IDS) if (at := behind.find(word)) > 0]
            for candidate in (marker[0], behind[: min(ids, default=len(behind))].rstrip()):
                if len(candidate) <= _LONGEST_MARKER and candidate not in without:
                    return candidate
        return ""

    # ------------------------------------------------------------------------------------------- calls

    def written(self, wanted: Mapping[str, Sequence[ToolCall]]) -> Iterator[tuple[str, Any]]:
        """Script → the text of its calls as the template prints them, best as llama.cpp reads them; and the dialect."""
        name: str | None = None
        said, unread = False, []
        for script, calls in wanted.items():
            printed = list(self._replies(calls))
            if name is None and printed:
                name = recognise(printed[0], calls[0], self.request.tools)
            candidates = list(printed)
            if name is not None:
                with suppress(ValueError):
                    candidates.append(dialects.get(name).write(calls))
            text = self._best(candidates, calls)
            if text is None and printed:
                unread.append(script)
                text = self._closing() + printed[min(1, len(printed) - 1)]
            if text is not None:
                said = True
                yield script, text
            if script == scripts.TOOL and text is not None:
                yield "between", self._between(text, calls)
        yield "dialect", name or (scripts.UNNAMED if said else scripts.NO_DIALECT)
        yield "unread", unread

    def _between(self, text: str, calls: Sequence[ToolCall]) -> str:
        """What has to stand between a sentence and that call."""
        _, turn_end = self.around_answer()
        cue = self.opened.generation_prompt.decode("utf-8", "replace")
        marks: list[str] = MARKER.findall(turn_end)[:1]
        begun, end = self.thoughts()
        forced = ForcedCall.of(text, end)
        # where a call may only follow thoughts, the sentence is one
        for start, spoken in ((self.plain_start(), "content"), (begun, "reasoning")):
            for between in ("", *marks, *(mark + cue for mark in marks)):
                parsed = self.parsed(f"{start}{scripts.PLAIN}{between}{forced.opener}{forced.rest}")
                if (
                    parsed is not None
                    and _same(parsed.calls, calls)
                    and getattr(parsed, spoken).strip() == scripts.PLAIN
                ):
                    return between
        return ""

    def _replies(self, calls: Sequence[ToolCall]) -> Iterator[str]:
        """The calls as the template prints them, up to the end of the turn, or what may be that."""
        from templatelint.engines.llamacpp.round_trip import read_back

        request = replace(self.request, messages=[*self.request.messages, _message(calls)])
        back = read_back(self.loaded, request, _now())
        if back is None or not all(call.name in back.text for call in calls):
            return
        yield back.text
        _, turn_end = self.around_answer()
        for mark in MARKER.findall(turn_end):
            before, found, _ = back.text.partition(mark)
            if found and before.strip():
                yield before

    def _best(self, texts: Sequence[str], calls: Sequence[ToolCall]) -> str | None:
        """The text of which llama.cpp makes these calls, best without anything beside them."""
        _, end = self.thoughts()
        starts = ["", end, f"{end}\n\n"] if end else [""]
        second: str | None = None
        for text in texts:
            for start in starts:
                parsed = self.parsed(start + text)
                if parsed is None or not _same(parsed.calls, calls):
                    continue
                if not parsed.content.strip() and not parsed.reasoning.strip():
                    return start + text
                second = second or start + text
        return second


def _same(found: Sequence[Call], sent: Sequence[ToolCall]) -> bool:
    """Whether a parser gave back what was called."""
    from templatelint.engines.llamacpp.round_trip import same_arguments

    return [call.name for call in found] == [call.name for call in sent] and all(
        same_arguments(one.arguments, json.dumps(dict(other.arguments))) for one, other in zip(found, sent, strict=True)
    )


def _message(calls: Sequence[ToolCall]) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": own,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)},
            }
            for own, call in zip(_IDS, calls, strict=False)
        ],
    }


def _now() -> datetime:
    from templatelint.cases import FIXED_NOW

    now: datetime = FIXED_NOW
    return now


@dataclass(frozen=True, slots=True)
class ForcedCall:
    """The parts of a call that a reply is made to have.

    Attributes:
        opener: what stands before the name of the function.
        rest: the call from there on.
        closer: what ends a text among the arguments; empty where a quote does.
    """

    opener: str = ""
    rest: str = ""
    closer: str = ""

    @staticmethod
    def of(text: str, thought: str) -> ForcedCall:
        """The parts of the call of the script `tool`.

        Args:
            text: the script.
            thought: what ends thoughts, which are no part of the call; may be empty.
        """
        call = scripts.CALLS[scripts.TOOL][0]
        before, found, behind = text.partition(call.name)
        if not found:
            return ForcedCall()
        kept = before.rpartition(thought)[2] if thought else before
        opener = kept.lstrip("\n") or kept
        if len(opener.encode()) < _SHORTEST:  # it would be no piece
            opener, found = opener + call.name, ""
        _, value, end = behind.partition(str(call.arguments["city"]))
        mark = _CLOSER.match(end) if value and behind[: -len(value + end)][-1:] not in _QUOTES else None
        return ForcedCall(opener, found + behind, mark[0] if mark else "")

"""A request that awaits its reply → what llama.cpp, as we model it, prints for history and makes of replies."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from templatelint import dialects
from templatelint.cases import FIXED_NOW
from templatelint.dialects.recognition import recognise
from templatelint.engines.llamacpp import loaded as engine
from templatelint.engines.llamacpp.parsing.reply import NoMatch
from templatelint.engines.llamacpp.round_trip import FAILURES, parse, read_back, same_arguments, shown, thoughts
from templatelint.engines.llamacpp.validation import read
from templatelint.model import RenderError, Request
from templatelint.reading import MARKER
from templatelint.scripted import scripts
from templatelint.scripted.forced import ForcedCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.dialects.reply import ToolCall
    from templatelint.engines.llamacpp.loaded import LoadedTemplate, Opened
    from templatelint.engines.llamacpp.parsing.reply import Call, Parsed
    from templatelint.engines.llamacpp.validation import ChatRequest
    from templatelint.model import Template, Tokenizer

_MARK = "TEMPLATELINTMARK"
_ID = "scripted"  # and a digit: nine of both, which some templates insist on
_IDS = (f"{_ID}{{number}}", "functions.{name}:{place}")  # their forms; the second one is the Kimi family's
_SYSTEM = {"role": "system", "content": "Be brief."}
_LONGEST_MARKER = 80
_ORDINARY = ("", '"Hi"', "'Hi'", "[1]", '{"a": 1}')  # messages that begin as results of tools do in some prompts
_NEAR = 200  # characters before a result in which its mark is looked for


def load(template: Template, tokenizer: Tokenizer) -> LoadedTemplate | str:
    """The template inside our model of llama.cpp, or why it does not load."""
    loaded = engine.load(template, tokenizer)
    if isinstance(loaded, RenderError):
        return loaded.message
    return loaded if loaded.refusal is None else loaded.refusal.message


@dataclass(frozen=True, slots=True)
class Written:
    """How a template writes calls.

    Attributes:
        texts: script → its text.
        dialect: the name of the syntax.
        unread: scripts whose calls do not come back.
    """

    texts: Mapping[str, str]
    dialect: str
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prompted:
    """A request that awaits its reply."""

    loaded: LoadedTemplate
    request: Request
    chat: ChatRequest
    opened: Opened

    @staticmethod
    def of(loaded: LoadedTemplate, request: Request) -> Prompted | str:
        """The same of a request, or why it has no prompt."""
        try:
            chat = read(request)
            return Prompted(loaded, request, chat, loaded.opened(chat, FIXED_NOW))
        except FAILURES as error:
            return shown(error)

    def thoughts(self) -> tuple[str, str]:
        """What opens and closes reasoning."""
        start, end = thoughts(self.loaded, self.opened)
        return start.decode("utf-8", "replace"), end.decode("utf-8", "replace")

    def _closing(self) -> str:
        """What ends the thoughts that the generation prompt opens; empty where it opens none."""
        start, end = self.thoughts()
        _, found, behind = self.opened.generation_prompt.decode("utf-8", "replace").rpartition(start or "\0")
        return end if found and end not in behind else ""

    def plain_start(self) -> str:
        """What has to stand before plain text."""
        return self.first(self.starts(), scripts.PLAIN) or ""

    def starts(self) -> list[str]:
        """What may have to stand before plain text."""
        lead, _ = self.around_answer()
        start, end = self.thoughts()
        return ["", end, f"{end}\n\n", lead, f"{start}\n\n{end}\n\n"] if end else ["", lead]

    def thoughtful(self) -> str | None:
        """Our thoughts in the template's marks, and then the plain sentence; None where it has no marks."""
        start, end = self.thoughts()
        if not end:
            return self._unread_thoughts()
        openings = [f"{start}\n", start, ""] if start else [""]
        thoughts_ = [f"{opening}{scripts.THOUGHTS}{gap}{end}" for opening in openings for gap in ("\n", "")]
        lead = self.plain_start()
        gaps = ("\n\n", "", lead) if lead and end not in lead else ("\n\n", "")
        found = self.first(
            [f"{thought}{gap}" for thought in thoughts_ for gap in gaps], scripts.PLAIN, scripts.THOUGHTS
        )
        return None if found is None else found + scripts.PLAIN

    def _unread_thoughts(self) -> str | None:
        """The same in marks of which the template alone knows: llama.cpp leaves them in the content."""
        for start, end in dict.fromkeys(pair for dialect in dialects.every() for pair in dialect.reasoning):
            if start in self.loaded.source and end in self.loaded.source:
                return f"{start}\n{scripts.THOUGHTS}\n{end}\n\n{scripts.PLAIN}"
        return None

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
        try:
            return parse(self.loaded, self.request, self.chat, self.opened, reply.encode("utf-8", "surrogatepass"))
        except NoMatch:
            return None

    # ---------------------------------------------------------------------------------------- the history

    def _printed(self, *further: Mapping[str, Any], cue: bool = False) -> str:
        """The conversation with further messages; empty where it has no prompt."""
        request = replace(self.request, messages=[*self.request.messages, *further, scripts.USER])
        try:
            chat = read(request)
            chat = replace(chat, messages=chat.messages[:-1])
            return self.loaded.opened(chat, FIXED_NOW).prompt if cue else self.loaded.printed(chat, FIXED_NOW)
        except FAILURES:
            return ""

    def conversation(self) -> str:
        """A prompt with an answer in it."""
        return self._printed({"role": "assistant", "content": _MARK}, scripts.USER, cue=True) or self.opened.prompt

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
        call, result = _round()
        told = replace(self, request=replace(self.request, messages=[_SYSTEM, scripts.USER]))
        said = _message(scripts.CALLS[scripts.TOOL], content=scripts.PLAIN)
        ordinary = [[{"role": "assistant", "content": text}, {"role": "user", "content": text}] for text in _ORDINARY]
        without = "\n".join(
            (
                self.opened.prompt,
                self._printed(call, cue=True),
                self._printed(said, cue=True),
                self.conversation(),
                told.conversation(),
                *(self._printed(*messages, cue=True) for messages in ordinary),
            )
        )
        before, found, _ = self._printed(call, result).partition(_MARK)
        if not found or not without.strip():
            return ""
        candidates = (each for each in _markers(before[-_NEAR:]) if len(each) <= _LONGEST_MARKER)
        return next((each for each in candidates if each not in without), "")

    def answer_start(self) -> str | None:
        """What has to stand before plain text behind the result of a tool; None where nothing makes it so."""
        call, result = _round()
        asked = replace(self.request, messages=[*self.request.messages, call, result])
        behind = Prompted.of(self.loaded, asked)
        return None if isinstance(behind, str) else behind.first(behind.starts(), scripts.PLAIN)

    # ------------------------------------------------------------------------------------------- calls

    def written(self, wanted: Mapping[str, Sequence[ToolCall]]) -> Written:
        """The texts of calls as the template prints them, best as llama.cpp reads them too.

        Args:
            wanted: script → the calls in it.
        """
        name: str | None = None
        texts: dict[str, str] = {}
        unread: list[str] = []
        for script, calls in wanted.items():
            printed: list[str] = []
            for ids in _IDS:
                printed += self._replies(calls, ids)
                if name is None and printed:
                    name = recognise(printed[0], calls[0], self.request.tools)
                text = self._best(list(_candidates(printed, name, calls)), calls)
                if text is not None:
                    break
            if text is None and printed:
                unread.append(script)
                text = self._closing() + printed[min(1, len(printed) - 1)]
            if text is not None:
                texts[script] = text
        return Written(texts, name or (scripts.UNNAMED if texts else scripts.NO_DIALECT), tuple(unread))

    def read(self, wanted: Mapping[str, Sequence[ToolCall]]) -> Written:
        """The texts of calls that llama.cpp reads with a template that prints none.

        Args:
            wanted: script → the calls in it.
        """
        if self.loaded.handler is None:
            return Written({}, scripts.NO_DIALECT, ())
        for dialect in dialects.every():
            texts = {
                script: text
                for script, calls in wanted.items()
                if (text := self._best(list(_candidates((), dialect.name, calls)), calls)) is not None
            }
            if scripts.TOOL in texts:
                return Written(texts, dialect.name, ())
        return Written({}, scripts.NO_DIALECT, ())

    def between(self, text: str, calls: Sequence[ToolCall], dialect: str) -> str:
        """What has to stand between a sentence and that call, which is in the dialect of that name."""
        _, turn_end = self.around_answer()
        cue = self.opened.generation_prompt.decode("utf-8", "replace")
        marks: list[str] = MARKER.findall(turn_end)[:1]
        openings = [mark for each in dialects.every() if each.name == dialect for mark in each.openings]
        begun, end = self.thoughts()
        forced = ForcedCall.of(text, end)
        # where a call may only follow thoughts, the sentence is one
        for start, spoken in ((self.plain_start(), "content"), (begun, "reasoning")):
            for between in ("", *openings, *marks, *(mark + cue for mark in marks)):
                parsed = self.parsed(f"{start}{scripts.PLAIN}{between}{forced.opener}{forced.rest}")
                if (
                    parsed is not None
                    and _same(parsed.calls, calls)
                    and getattr(parsed, spoken).strip() == scripts.PLAIN
                ):
                    return between
        return ""

    def _replies(self, calls: Sequence[ToolCall], ids: str) -> Iterator[str]:
        """The calls as the template prints them, up to the end of the turn, or what may be that."""
        names = Counter(call.name for call in calls)
        request = replace(self.request, messages=[*self.request.messages, _message(calls, ids)])
        back = read_back(self.loaded, request, FIXED_NOW)
        # some templates print the first of several calls alone, and some the function's name as a part of an id
        if back is None or any(back.text.count(name) < number for name, number in names.items()):
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
        found: dict[tuple[bool, bool], str] = {}
        for text in (*texts, *(text.strip() for text in texts)):
            for start in starts:
                parsed = self.parsed(start + text)
                if parsed is None or not _same(parsed.calls, calls):
                    continue
                if not parsed.content and not parsed.reasoning.strip():
                    return start + text
                found.setdefault((bool(parsed.content.strip()), bool(parsed.reasoning.strip())), start + text)
        return found[min(found)] if found else None


def _round() -> tuple[dict[str, Any], dict[str, Any]]:
    """A call, and its result."""
    sent = scripts.CALLS[scripts.TOOL]
    return _message(sent), {"role": "tool", "name": sent[0].name, "tool_call_id": f"{_ID}1", "content": _MARK}


def _markers(near: str) -> Iterator[str]:
    """What may tell a result in the text before it: what is nearest first, and of that the shortest."""
    words = (scripts.CALLS[scripts.TOOL][0].name, "functions.", _ID)
    marks = list(MARKER.finditer(near))
    for number in range(len(marks) - 1, -1, -1):
        start = marks[number].start()
        ids = [at for word in words if (at := near.find(word, start + 1)) > 0]
        end = min(ids, default=len(near))
        yield from (near[start : mark.end()] for mark in marks[number:] if mark.end() <= end)
        yield near[start:end].rstrip()


def _candidates(printed: Sequence[str], name: str | None, calls: Sequence[ToolCall]) -> Iterator[str]:
    """What may be a model's text of these calls, in the dialect of that name where there is one."""
    yield from printed
    if name is None:
        return
    marks = dialects.get(name).openings
    yield from (text[at:] for text in printed for mark in marks if (at := text.find(mark)) > 0)
    with suppress(ValueError):  # the dialect cannot carry them
        yield dialects.get(name).write(calls)


def _same(found: Sequence[Call], sent: Sequence[ToolCall]) -> bool:
    """Whether a parser gave back what was called."""
    return [call.name for call in found] == [call.name for call in sent] and all(
        same_arguments(one.arguments, json.dumps(dict(other.arguments))) for one, other in zip(found, sent, strict=True)
    )


def _message(calls: Sequence[ToolCall], ids: str = _IDS[0], *, content: str = "") -> dict[str, Any]:
    """An assistant's message with calls, as clients send it.

    Args:
        calls: what it calls.
        ids: the form of their ids.
        content: what it says.
    """
    sent = [{"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)} for call in calls]
    numbered = [
        {"id": ids.format(name=each["name"], place=place, number=place + 1), "type": "function", "function": each}
        for place, each in enumerate(sent)
    ]
    return {"role": "assistant", "content": content, "tool_calls": numbered}

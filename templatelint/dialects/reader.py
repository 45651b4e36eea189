"""A model's raw output, whole or in pieces → what it says, thinks and calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from templatelint import dialects
from templatelint.dialects.dialect import Dialect, Reading
from templatelint.dialects.prose import Prose
from templatelint.dialects.reply import Problem, Reply, ToolCall
from templatelint.dialects.stream import Cut, Malformed, Step, Stream
from templatelint.dialects.tools import Tools

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_SPECIAL = re.compile("[|｜]")  # in the marks that tokenizers know
_PATIENCE = 20  # readings in other dialects that go to the end of the text and find nothing; then none is tried


def parse(
    text: str,
    dialect: str = dialects.AUTO,
    tools: Sequence[Mapping[str, Any]] | None = None,
    prefix: str | None = None,
) -> Reply:
    """Read a model's raw output back: the fallback of a client whose server left the calls in the text.

    Args:
        text: the output, from behind the generation prompt to before the stop token, special tokens as text.
        dialect: the syntax of its calls; `auto` takes whichever occurs.
        tools: the tools of the request, in OpenAI form: they decide the types of arguments that the dialect leaves
            raw. None where they are not known.
        prefix: the generation prompt, or its end: whether it already opened the reasoning, or closed it. None where
            that is not known.

    Returns:
        What was said, thought and called. Text is never lost: what cannot be read stands in the content or in a
        problem.

    Raises:
        TemplatelintError: there is no such dialect.
    """
    reader = Reader(dialect, tools, prefix)
    reader.feed(text)
    return reader.close()


class Reader:
    """Reads a reply that arrives in pieces; the result is the same however it was cut.

    Args as of `parse`.
    """

    def __init__(
        self,
        dialect: str = dialects.AUTO,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prefix: str | None = None,
    ) -> None:
        self._reading = _Reply(_candidates(dialect), dialect, Tools(tools), prefix)
        self._steps = self._reading.read()

    def feed(self, piece: str) -> Reply:
        """Take the next piece; what is certain so far."""
        self._reading.stream.add(piece)
        self._advance()
        return self._reading.result()

    def close(self) -> Reply:
        """The reply is over; all of it."""
        self._reading.stream.ended = True
        self._advance()
        return self._reading.result()

    def _advance(self) -> None:
        next(self._steps, None)


def _candidates(name: str) -> tuple[Dialect, ...]:
    """The dialect, then the others whose calls may leak into its replies."""
    if name == dialects.AUTO:
        return dialects.every()
    own = dialects.get(name)
    return (own, *(other for other in dialects.every() if other is not own))


class _Reply:
    """A reply in the course of being read."""

    def __init__(self, candidates: tuple[Dialect, ...], name: str, tools: Tools, prefix: str | None) -> None:
        self._own = None if name == dialects.AUTO else candidates[0]
        self.tools = tools
        self.prefix = prefix
        self._candidates = candidates
        self._by_opening: dict[str, list[Dialect]] = {}
        for dialect in candidates:
            for opening in (*dialect.openings, *dialect.loose):
                self._by_opening.setdefault(opening, []).append(dialect)
        speaking = (self._own,) if self._own else [dialect for dialect in candidates if dialect.speak is None]
        self._ends = dict(pair for dialect in speaking for pair in dialect.reasoning)
        dropped = frozenset(mark for dialect in speaking for mark in dialect.dropped) - self._by_opening.keys()
        # Where nobody knows the dialect, only marks that no text has by chance are left out.
        self._dropped = dropped if self._own else frozenset(filter(_SPECIAL.search, dropped))
        self._openings = tuple(self._by_opening)
        self.stream = Stream()
        self.content, self.reasoning = Prose(), Prose()
        self._calls: list[ToolCall] = []
        self._problems: list[Problem] = []
        self._used = self._own
        self._vain = 0  # readings in another dialect that went to the end of the text and found nothing
        self._speaker: Dialect | None = None

    def result(self) -> Reply:
        """What is certain so far."""
        return Reply(
            self._used.name if self._used else dialects.AUTO,
            self.content.text,
            self.reasoning.text,
            tuple(self._calls),
            tuple(self._problems),
        )

    def read(self) -> Step[None]:
        """All of the reply."""
        if self._own is not None and self._own.speak is not None:
            self._speaker = self._own
            yield from self._own.speak(self)
            return
        opened = self._opened_by_prefix()
        if opened:
            yield from self._think(opened)
        elif self.prefix is None:
            yield from self._perhaps_think()
        yield from self._bare()
        yield from self._talk(self.content)

    # --------------------------------------------------------------------------------------------- reasoning

    def _opened_by_prefix(self) -> str | None:
        """The end mark of the reasoning that the prompt opened and did not close; None where it did not."""
        prefix = self.prefix or ""
        at, start = max(((prefix.rfind(start), start) for start in self._ends), default=(-1, ""))
        return self._ends[start] if at >= 0 and self._ends[start] not in prefix[at:] else None

    def _perhaps_think(self) -> Step[None]:
        """Text of which only what follows tells whether it is reasoning that the prompt opened: its end mark."""
        start = self.stream.at
        ends = tuple(self._ends.values())
        while True:
            mark = yield from self.stream.search((*ends, *self._ends, *self._openings), _nowhere)
            if mark in ends:
                self.reasoning.add(self.stream.since(start))
                self.reasoning.mark()
                yield from self.stream.expect(mark)
                return
            if mark is not None and mark not in self._ends and not (yield from self._readable(mark)):
                yield from self.stream.expect(mark)
                continue
            self.stream.at = start
            return

    def _readable(self, mark: str) -> Step[bool]:
        """Whether calls stand here; nothing is read."""
        if self._speaker_at(mark) is not None:
            return True
        start = self.stream.at
        try:
            yield from self._attempt(self._by_opening[mark])
        except Malformed:
            return False
        except Cut:
            return True
        else:
            return True
        finally:
            self.stream.at = start

    def _think(self, end: str) -> Step[None]:
        """Reasoning, up to its end mark.

        A call in it is an example, unless the reasoning never ends: then the model forgot to close it.
        """
        mark = yield from self.stream.search((end, *self._openings), self.reasoning.add)
        if mark is not None and mark != end:
            start = self.stream.at
            mark = yield from self.stream.search((end,), _nowhere)
            if mark is None:
                self.stream.at = start
                yield from self._talk(self.reasoning)
                return
            self.reasoning.add(self.stream.since(start))
        if mark is not None:
            self.reasoning.mark()
            yield from self.stream.expect(end)

    # ------------------------------------------------------------------------------------------------- speech

    def _talk(self, prose: Prose) -> Step[None]:
        """Text and calls, to the end; behind a call the text is content, whatever it was before."""
        while True:
            self.stream.forget()
            mark = yield from self.stream.search((*self._openings, *self._ends, *self._dropped), prose.add)
            if mark is None:
                return
            speaker = self._speaker_at(mark)
            if speaker is not None and speaker.speak is not None:
                self._speaker = speaker
                self._used = self._used or speaker
                yield from speaker.speak(self)
                return
            if mark in self._by_opening:
                if (yield from self._block(mark, prose)):
                    prose.mark(verbatim=self._by_opening[mark][0].inline)
                    prose = self.content
                continue
            yield from self.stream.expect(mark)
            prose.mark()
            if mark in self._ends:
                yield from self._think(self._ends[mark])
            if self.content.text is None:
                yield from self._bare()

    def _speaker_at(self, mark: str) -> Dialect | None:
        """The dialect of which whole replies begin with this mark, where nobody knows which one the reply is in."""
        if self._own is not None:
            return None
        return next((dialect for dialect in self._by_opening.get(mark, ()) if dialect.speak is not None), None)

    def _bare(self) -> Step[None]:
        """Calls without an opening mark, at the start of what is said."""
        start = self.stream.at
        yield from self.stream.blanks()
        first = yield from self.stream.peek()
        for dialect in (self._own,) if self._own else self._candidates:
            if not first or first not in dialect.bare:
                continue
            reading = Reading(self.stream, self.tools, own=dialect is self._own)
            begin, offset = self.stream.at, self.stream.offset
            try:
                yield from dialect.read(reading)
            except Malformed:
                self.stream.at = begin
                if not reading.found:
                    continue
            except Cut as error:
                self._take(reading, dialect)
                self._cut(reading, begin, offset, error)
                return
            self._take(reading, dialect)
            if not reading.empty:
                self.stream.at = reading.found[-1][1] if reading.found else begin
            self.content.mark(verbatim=dialect.inline)
            return
        self.stream.at = start

    # ------------------------------------------------------------------------------------------------- calls

    def _block(self, mark: str, prose: Prose) -> Step[bool]:
        """The calls that stand here, or the mark as text; whether there were any."""
        silent = prose is self.reasoning or not self._speaks(mark)
        if (yield from self._calls_here(mark, self._by_opening[mark], silent=silent)):
            return True
        yield from self.stream.expect(mark)
        prose.add(mark)
        return False

    def calls(self, mark: str) -> Step[bool]:
        """The calls of the dialect that speaks, if there are any here."""
        return (yield from self._calls_here(mark, [self._speaker] if self._speaker else (), silent=False))

    def report(self, problem: Problem) -> None:
        """Something is wrong with the reply."""
        self._problems.append(problem)

    def _fault(self, message: str, offset: int, text: str = "") -> None:
        self.report(Problem("malformed", message, offset, text))

    def _calls_here(self, mark: str, among: Sequence[Dialect], *, silent: bool) -> Step[bool]:
        stream = self.stream
        start, offset = stream.at, stream.offset
        try:
            reading, dialect, fault = yield from self._attempt(among)
        except Malformed as error:
            stream.at = start
            if not silent:
                self._fault(f"{mark!r} begins no call: {error}", offset)
            return False
        except Cut as error:
            self._cut(Reading(stream, self.tools), start, offset, error)
            return True
        self._take(reading, dialect)
        if isinstance(fault, Cut):
            self._cut(reading, start, offset, fault)
        elif fault is not None and reading.found:
            stream.at = reading.found[-1][1]
            self._fault(f"what follows a call is none: {fault}", stream.offset)
        return True

    def _attempt(self, among: Sequence[Dialect]) -> Step[tuple[Reading, Dialect, Malformed | Cut | None]]:
        """Read with each of these dialects; the first that finds calls.

        Raises:
            Cut, Malformed: none does; what the first of them says that got to the end of the text, or that failed.
        """
        start = self.stream.at
        failed: Malformed | Cut | None = None
        for dialect in among:
            if self._foreign(dialect) and self._vain >= _PATIENCE:
                continue
            self.stream.at = start
            reading = Reading(self.stream, self.tools, own=dialect is self._own)
            error: Malformed | Cut | None = None
            try:
                yield from dialect.read(reading)
            except (Malformed, Cut) as raised:
                error = raised
            if self._credible(reading, dialect):
                return reading, dialect, error
            if isinstance(error, Cut) and self._foreign(dialect) and not self._names_a_tool(start):
                error = Malformed(f"{error.args[0]!r} is missing")
                self._vain += 1
            error = error or Malformed("a call of a function that is not among the tools")
            if failed is None or (isinstance(error, Cut) and isinstance(failed, Malformed)):
                failed = error
        raise failed or Malformed("no dialect")

    def _foreign(self, dialect: Dialect) -> bool:
        return self._own is not None and dialect is not self._own

    def _names_a_tool(self, start: int) -> bool:
        """Whether the text from here to the end mentions what may be called."""
        at, self.stream.at = self.stream.at, start
        text = self.stream.rest()
        self.stream.at = at
        return self.tools.given and any(name in text for name in self.tools.names)

    def _credible(self, reading: Reading, dialect: Dialect) -> bool:
        """Whether calls were found; in the syntax of another dialect only of known functions."""
        if self._foreign(dialect):
            return bool(reading.found) and all(self.tools.known(call.name) for call, _ in reading.found)
        return bool(reading.found) or reading.empty

    def _speaks(self, mark: str) -> bool:
        """Whether a call must begin with the mark in the dialect that the reply is read in."""
        return any(mark in dialect.openings for dialect in self._by_opening[mark] if not self._foreign(dialect))

    def _take(self, reading: Reading, dialect: Dialect) -> None:
        """Calls were read: keep them, and say what is odd about them."""
        offset = self.stream.offset
        if reading.skipped:
            self._fault("text between calls", offset, reading.skipped)
        if not reading.found:
            return
        if self._used is None:
            self._used = dialect
        elif self._foreign(dialect) and self._own is not None:
            self._problems.append(
                Problem(
                    "foreign",
                    f"a call in the syntax of {dialect.name}, not of {self._own.name}:"
                    f" a server's parser for {self._own.name} leaves it in the text",
                    offset,
                )
            )
        for call, _ in reading.found:
            self._calls.append(call)
            if not self.tools.known(call.name):
                self._problems.append(Problem("unknown-tool", f"{call.name} is not among the tools", offset))
        if reading.unclosed:
            self._problems.append(Problem("unclosed", f"{reading.unclosed!r} is missing behind a call", offset))

    def _cut(self, reading: Reading, start: int, offset: int, error: Cut) -> None:
        """The reply ends inside a call: what there is of it goes to the problem."""
        stream = self.stream
        begin = reading.found[-1][1] if reading.found else start
        stream.at = begin
        text = stream.rest()
        offset += begin - start
        self._problems.append(
            Problem("cut", f"the reply ends inside a call: {error.args[0]!r} is still to come", offset, text)
        )
        stream.at += len(text)


def _nowhere(_: str) -> None:
    """Text that is looked at again."""

"""A model's raw output, whole or in pieces → what it says, thinks and calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from templatelint import dialects
from templatelint.dialects.dialect import Dialect, Reading
from templatelint.dialects.prose import Code, Markdown, Prose
from templatelint.dialects.reply import Problem, Reply, ToolCall
from templatelint.dialects.stream import Cut, Malformed, Refused, Step, Stream, extent_of
from templatelint.dialects.tools import Tools
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.dialects.reply import ProblemKind

_SPECIAL = re.compile("[|｜]")  # in the marks that tokenizers know
# Behind one of these in a prompt, reasoning that it opened before is over.
_TOKEN = re.compile(r"<[|｜][^<>\n]{1,60}>|<[^<>\s]{1,60}[|｜]>|</?s>|\[/?INST\]")
_TAG = re.compile(r"<(\w+)>")  # a mark that text may have by chance
_BEGINS_CALL = ("{", "[", "<")
_word = extent_of(r"\w+")
_MOST_FAILURES = 500  # marks in a row that begin no call; then none is tried
_MOST_PROBLEMS = 20  # of one kind; the others are counted
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
        TypeError: an argument is of another kind.
    """
    _check("the reply", text, str, "a text")
    reader = Reader(dialect, tools, prefix)
    return reader.whole(text)


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
        _check("dialect", dialect, str, "a text")
        if tools is not None:
            _check("tools", tools, Sequence, "a sequence of tool definitions, or None", but=(str, bytes))
        if prefix is not None:
            _check("prefix", prefix, str, "a text, or None")
        self._reading = _Reply(_candidates(dialect), dialect, Tools(tools), prefix)
        self._steps = self._reading.read()

    def feed(self, piece: str) -> Reply:
        """Take the next piece.

        Returns:
            What is certain so far: content, reasoning and calls only ever grow.

        Raises:
            TemplatelintError: the reply is over.
        """
        _check("a piece of a reply", piece, str, "a text")
        if self._reading.stream.ended:
            raise TemplatelintError(
                "the reply is closed and takes no further text", help="make a Reader for each reply"
            )
        self._reading.stream.add(piece)
        self._advance()
        return self._reading.result()

    def close(self) -> Reply:
        """The reply is over; all of it."""
        self._reading.stream.ended = True
        self._advance()
        return self._reading.result()

    def whole(self, text: str) -> Reply:
        """All of a reply that is there at once."""
        self._reading.stream.add(text)
        return self.close()

    def _advance(self) -> None:
        next(self._steps, None)


def _check(what: str, value: Any, kind: type, wanted: str, but: tuple[type, ...] = ()) -> None:
    """Refuse what is of another kind.

    Raises:
        TypeError: it is.
    """
    if not isinstance(value, kind) or isinstance(value, but):
        raise TypeError(f"{what} is {type(value).__name__}, not {wanted}")


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
            named = (mark.replace("NAME", name) for mark in dialect.named for name in tools.names)
            for opening in (*dialect.openings, *dialect.loose, *named):
                self._by_opening.setdefault(opening, []).append(dialect)
        speaking = (self._own,) if self._own else [dialect for dialect in candidates if dialect.speak is None]
        self._ends = dict(pair for dialect in speaking for pair in dialect.reasoning)
        dropped = frozenset(mark for dialect in speaking for mark in dialect.dropped) - self._by_opening.keys()
        # Where nobody knows the dialect, only marks that no text has by chance are left out.
        self._dropped = dropped if self._own else frozenset(filter(_SPECIAL.search, dropped))
        self._openings = tuple(self._by_opening)
        self._beginnings = (*self._ends, *self._openings)
        self._marks = (*self._openings, *self._ends, *self._dropped)
        self.stream = Stream()
        self.content, self.reasoning = Prose(), Prose()
        self._calls: list[ToolCall] = []
        self._problems: list[Problem] = []
        self._counts: dict[ProblemKind, int] = {}
        self._others: dict[ProblemKind, list[Problem]] = {}  # those that are more than enough of their kind
        self._used = self._own
        self._vain = 0  # readings in another dialect that went to the end of the text and found nothing
        self._failures = 0  # marks since the last call that begin none
        self._ahead: tuple[str, int, int, bool] = ("", 0, -1, False)  # what was looked for last: see _closes
        self._speaker: Dialect | None = None

    def result(self) -> Reply:
        """What is certain so far."""
        return Reply(
            self._used.name if self._used else dialects.AUTO,
            self.content.text if self.stream.ended else self.content.certain,
            self.reasoning.text if self.stream.ended else self.reasoning.certain,
            tuple(self._calls),
            (*self._problems, *self._folded()),
        )

    def _folded(self) -> Iterator[Problem]:
        """A problem for all that are more than enough of their kind; their texts once the reply is over."""
        for kind, others in self._others.items():
            text = "".join(other.text for other in others) if self.stream.ended else ""
            yield Problem(kind, f"{len(others)} more of this kind", others[0].offset, text)

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
        behind = prefix[at + len(start) :]
        if at < 0 or self._ends[start] in behind or _TOKEN.search(behind):
            return None
        return self._ends[start]

    def _perhaps_think(self) -> Step[None]:
        """Text of which only what follows tells whether it is reasoning that the prompt opened: its end mark."""
        stream, start = self.stream, self.stream.at
        ends = tuple(self._ends.values())
        if stream.ended and not any(end in stream.rest() for end in ends):
            return
        seen = Markdown()
        while True:
            mark = yield from stream.search((*ends, *self._ends, *self._openings), seen.add)
            if mark is None:
                break
            quoted = yield from self._quoted(seen.code)
            if mark in ends and not quoted:
                self.reasoning.add(stream.since(start))
                self.reasoning.mark()
                yield from stream.expect(mark)
                return
            if not quoted and (mark in self._ends or (yield from self._readable(mark))):
                break
            seen.add((yield from stream.expect(mark)))
        stream.at = start
        self._failures = 0

    def _readable(self, mark: str) -> Step[bool]:
        """Whether calls stand here; nothing is read."""
        if self._speaker_at(mark) is not None:
            return True
        if self._failures >= _MOST_FAILURES:
            return False
        start = self.stream.at
        try:
            reading, _, _ = yield from self._attempt(self._by_opening[mark])
        except Malformed:
            self._failures += 1
            return False
        except Cut:
            return True
        else:
            return reading.empty or bool(self._called(reading))
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
            mark = yield from self.stream.search(self._marks, prose.add)
            if mark is None:
                return
            quoted = yield from self._quoted(prose.code)
            speaker = None if quoted else self._speaker_at(mark)
            if speaker is not None and speaker.speak is not None:
                self._speaker = speaker
                self._used = self._used or speaker
                yield from speaker.speak(self)
                return
            if mark in self._by_opening:
                if (yield from self._block(mark, prose, quoted=quoted)):
                    prose.mark(verbatim=self._by_opening[mark][0].inline)
                    prose = self.content
                continue
            if mark in self._ends and prose.is_at_line_start and not quoted:
                yield from self.stream.expect(mark)
                prose.mark()
                yield from self._think(self._ends[mark])
            elif mark in self._dropped and not quoted and (yield from self._drop(mark, prose)):
                prose.mark()
            else:
                if mark in self._ends or quoted:
                    prose.add((yield from self.stream.expect(mark)))
                continue
            if self.content.is_empty:
                yield from self._bare()

    def _drop(self, mark: str, prose: Prose) -> Step[bool]:
        """Marks that mean nothing, beside a call or a thought or at an end of the reply; elsewhere they are text.

        Returns:
            Whether they were left out.
        """
        stream = self.stream
        start = stream.at
        dropped = prose.is_behind_mark and not (mark.startswith("</") and self._nothing_is_read())
        found: str | None = mark
        while found is not None:
            yield from stream.expect(found)
            yield from stream.blanks()
            found = yield from stream.starts(*self._dropped)
        if not dropped:
            following = yield from stream.starts(*self._beginnings)
            if following is None:
                dropped = not (yield from stream.peek())
            else:
                dropped = following in self._ends or (yield from self._readable(following))
        if not dropped:
            prose.add(stream.since(start))
        return dropped

    def _nothing_is_read(self) -> bool:
        """Whether this is the beginning of the reply."""
        return self.content.is_empty and self.reasoning.is_empty and not self._calls

    def _quoted(self, code: Code) -> Step[bool]:
        """Whether what stands here is quoted as Markdown's code; nothing is read."""
        if code == "fence":
            return (yield from self._closes("```", ("```",)))
        if code == "span":
            return (yield from self._closes("`", ("`", "\n")))
        return False

    def _closes(self, closing: str, marks: tuple[str, ...]) -> Step[bool]:
        """Whether the first of these marks ahead is the closing one; each stretch of text is searched once."""
        stream = self.stream
        kind, since, until, answer = self._ahead
        if kind != closing or not since <= stream.offset <= until:
            start, since = stream.at, stream.offset
            answer = (yield from stream.search(marks, _nowhere)) == closing
            self._ahead = closing, since, stream.offset, answer
            stream.at = start
        return answer

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
        unknown: tuple[Reading, Dialect, int] | None = None
        begin, offset = self.stream.at, self.stream.offset
        for dialect in (self._own,) if self._own else self._candidates:
            if not first or first not in dialect.bare:
                continue
            self.stream.at = begin
            reading = Reading(self.stream, self.tools, own=dialect is self._own)
            try:
                yield from dialect.read(reading)
            except Malformed as error:
                if not reading.found:
                    self._refused(error, offset)
                    continue
            except Cut as error:
                if reading.found and not self._called(reading):
                    unknown = unknown or (reading, dialect, reading.found[-1][1])
                    continue
                self._take(reading, dialect, begin, offset, begin, said=False)
                self._cut(reading, begin, offset, error)
                return
            if reading.found and not self._called(reading):
                unknown = unknown or (reading, dialect, reading.found[-1][1])
                continue
            self._take(reading, dialect, begin, offset, begin, said=False)
            if not reading.empty:
                self.stream.at = reading.found[-1][1] if reading.found else begin
            self.content.mark(verbatim=dialect.inline)
            return
        if unknown is not None:
            reading, dialect, end = unknown
            self.stream.at = end
            self._take(reading, dialect, begin, offset, end, said=True)
            self.content.add(self.stream.between(start, end))
            return
        self.stream.at = start

    # ------------------------------------------------------------------------------------------------- calls

    def _block(self, mark: str, prose: Prose, *, quoted: bool) -> Step[bool]:
        """The calls that stand here, or the mark as text; whether there were any."""
        stream = self.stream
        if quoted and not self.tools.given:
            prose.add((yield from stream.expect(mark)))
            return False
        start = stream.at
        silent = quoted or prose is self.reasoning or not self._speaks(mark)
        if self._failures >= _MOST_FAILURES or (yield from self._repeated(mark)):
            if not silent:
                self._fault(f"{mark!r} begins no call", stream.offset)
        elif (yield from self._calls_here(mark, self._by_opening[mark], prose, silent=silent)):
            self._failures = 0
            return True
        else:
            self._failures += 1
        if stream.at == start:
            prose.add((yield from stream.expect(mark)))
        return False

    def _repeated(self, mark: str) -> Step[bool]:
        """Whether the same mark stands behind this one: then no call begins with it."""
        stream = self.stream
        start = stream.at
        yield from stream.expect(mark)
        repeated = _TAG.fullmatch(mark) is not None and (yield from stream.starts(mark)) is not None
        stream.at = start
        return repeated

    def calls(self, mark: str) -> Step[bool]:
        """The calls of the dialect that speaks, if there are any here."""
        return (yield from self._calls_here(mark, [self._speaker] if self._speaker else (), None, silent=False))

    def report(self, problem: Problem) -> None:
        """Something is wrong with the reply."""
        count = self._counts[problem.kind] = self._counts.get(problem.kind, 0) + 1
        (self._problems if count <= _MOST_PROBLEMS else self._others.setdefault(problem.kind, [])).append(problem)

    def _refused(self, error: Malformed, offset: int) -> None:
        """What looks like a call is none, whatever the dialect: said once."""
        if isinstance(error, Refused) and not any(
            problem.offset == offset and problem.kind == error.kind for problem in self._problems
        ):
            self.report(Problem(error.kind, error.said, offset))

    def _fault(self, message: str, offset: int, text: str = "") -> None:
        self.report(Problem("malformed", message, offset, text))

    def _calls_here(self, mark: str, among: Sequence[Dialect], prose: Prose | None, *, silent: bool) -> Step[bool]:
        """Read the calls that stand here; text that only looks like some is said, and read past.

        Args:
            mark: what they begin with.
            among: the dialects that are tried.
            prose: where the mark stands; None where the reply consists of messages: what is no call is not said then.
            silent: it is no fault if there are none.
        """
        stream = self.stream
        start, offset = stream.at, stream.offset
        try:
            reading, dialect, fault = yield from self._attempt(among)
        except (Malformed, Cut) as error:
            stream.at = start
            refused = isinstance(error, Refused)
            if prose is not None and not refused and (yield from self._mentions(mark, prose)):
                return False
            if isinstance(error, Cut):
                self._cut(Reading(stream, self.tools), start, offset, error)
                return True
            if isinstance(error, Refused):
                self._refused(error, offset)
            elif not silent:
                self._fault(f"{mark!r} begins no call: {error}", offset)
            return False
        whole = not isinstance(fault, Cut) and not (fault is not None and reading.found)
        end = stream.at if whole else reading.found[-1][1] if reading.found else start
        none = bool(reading.found) and not self._called(reading)
        text = stream.between(start, end) if none and prose is not None else ""
        self._take(reading, dialect, start, offset, end, said=bool(text))
        if text and prose is not None:
            prose.add(text)
        if isinstance(fault, Cut):
            self._cut(reading, start, offset, fault)
            return True
        stream.at = end
        if fault is not None and reading.found:
            self._fault(f"what follows a call is none: {fault}", stream.offset)
        return not text

    def _mentions(self, mark: str, prose: Prose) -> Step[bool]:
        """Whether a text speaks of the mark that stands here, and does not begin a call; nothing is read."""
        stream = self.stream
        start, tag = stream.at, _TAG.fullmatch(mark)
        line_start = prose.is_at_line_start
        try:
            yield from stream.expect(mark)
            behind = stream.at
            if (yield from stream.run(_word)) and (yield from stream.starts("(")) is not None:
                return True  # a program, and no call that a dialect has
            stream.at = behind
            if line_start and tag is None:
                return False
            blanks = yield from stream.blanks()
            if "\n" in blanks or not (following := (yield from stream.peek())) or following in _BEGINS_CALL:
                return False
            if not blanks and (line_start or following.isalnum() or following == "_"):
                return False
            closing = f"</{tag[1]}>" if tag and line_start else ""
            return not closing or (yield from stream.search((closing, "\n"), _nowhere)) != closing
        finally:
            stream.at = start

    def _called(self, reading: Reading) -> list[ToolCall]:
        """The calls of functions that there are."""
        return [call for call, _ in reading.found if self.tools.known(call.name)]

    def _attempt(self, among: Sequence[Dialect]) -> Step[tuple[Reading, Dialect, Malformed | Cut | None]]:
        """Read with each of these dialects; the first that finds calls of functions that there are, or else of others.

        Raises:
            Cut, Malformed: none does; what the first of them says that got to the end of the text, or that failed.
        """
        start = self.stream.at
        failed: Malformed | Cut | None = None
        unknown: tuple[Reading, Dialect, Malformed | Cut | None] | None = None
        end = start
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
            if reading.found and not self._foreign(dialect) and unknown is None:
                unknown, end = (reading, dialect, error), self.stream.at
            if isinstance(error, Cut) and self._foreign(dialect) and not self._names_a_tool(start):
                error = Malformed(f"{error.args[0]!r} is missing")
                self._vain += 1
            error = error or Malformed("a call of a function that is not among the tools")
            if failed is None or _weight(error) > _weight(failed):
                failed = error
        if unknown is not None:
            self.stream.at = end
            return unknown
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
        return bool(self._called(reading)) or (reading.empty and not reading.found)

    def _speaks(self, mark: str) -> bool:
        """Whether a call must begin with the mark in the dialect that the reply is read in."""
        return any(mark in dialect.openings for dialect in self._by_opening[mark] if not self._foreign(dialect))

    def _take(  # noqa: PLR0913 (where a block begins is both a position and an offset)
        self, reading: Reading, dialect: Dialect, start: int, offset: int, end: int, *, said: bool
    ) -> None:
        """Calls were read: keep those of functions that there are, and say what is odd about them.

        Args:
            reading: what was read.
            dialect: in which dialect.
            start: the position of the first call.
            offset: the same as an offset in the reply.
            end: the position behind the last one.
            said: they stay in the text, all of them.
        """
        if reading.skipped:
            self._fault("text between calls", offset, reading.skipped)
        if not reading.found:
            return
        called = self._called(reading)
        if called:
            self._used = self._used or dialect
        if called and self._own is not None and self._foreign(dialect):
            self.report(
                Problem(
                    "foreign",
                    f"a call in the syntax of {dialect.name}, not of {self._own.name}:"
                    f" a server's parser for {self._own.name} may leave it in the text",
                    offset,
                )
            )
        for kind, message, text in reading.notes if called else ():
            self.report(Problem(kind, message, offset, text))
        last = self._keep(reading, start, offset, end, said=said)
        if reading.unclosed and called:
            self.report(Problem("unclosed", f"{reading.unclosed!r} is missing behind a call", offset + last - start))

    def _keep(self, reading: Reading, start: int, offset: int, end: int, *, said: bool) -> int:
        """Calls of functions that there are, and problems for the others; the position behind the last. See _take."""
        begin = last = start
        for number, (call, behind) in enumerate(reading.found, 1):
            if number == len(reading.found):
                behind = max(behind, end)  # noqa: PLW2901 (the marks behind the last call are its own)
            if behind > last:  # else several calls end here
                begin, last = last, behind
            if self.tools.known(call.name):
                self._calls.append(call)
            else:
                text = "" if said else self.stream.between(begin, behind)
                message = f"it calls {call.name}, which is not among the tools"
                self.report(Problem("unknown-tool", message, offset + begin - start, text))
        return last

    def _cut(self, reading: Reading, start: int, offset: int, error: Cut) -> None:
        """The reply ends inside a call: what there is of it goes to the problem."""
        stream = self.stream
        begin = reading.found[-1][1] if reading.found else start
        stream.at = begin
        text = stream.rest()
        offset += begin - start
        self.report(Problem("cut", f"the reply ends inside a call: {error.args[0]!r} is still to come", offset, text))
        stream.at += len(text)


def _weight(error: Malformed | Cut) -> int:
    """How much a failure says about a text: more than others one that ends, or looks like a call."""
    return 2 if isinstance(error, Cut) else int(isinstance(error, Refused))


def _nowhere(_: str) -> None:
    """Text that is looked at again."""

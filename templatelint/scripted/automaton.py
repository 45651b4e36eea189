"""Scripts and a vocabulary → the weights of a one-layer llama model that says a script word for word.

The token that was said last is the state. Its embedding holds a code of signs; the row of `output.weight` of the piece
that comes next holds the same code, so that its logit is thousands above every other and sampling cannot leave the
script. States that many tokens share have a place of their own instead of a code: `base`, that of nearly all tokens of
a prompt, where scripts start, and the end of a script.

One head of attention chooses the script. Tokens that select one have a key; their values are one-hot, and what
attention takes from the one with the highest score is written into the residual, where the first piece of that script
looks for it. RoPE turns one pair of the key by its place, and so little that its second half grows with the place as
a straight line does: the last selector of a prompt wins.

One token, the end of thoughts in the prefix, may stand in scripts too: what follows it is what the script that was
chosen has there.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint.gguf_writing import HALF, SINGLE, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CONTEXT = 32768  # tokens, and each byte of a prompt is one
HEAD = 64  # values of a key
CHOICES = 62  # what may be selected
SCRIPTS = CHOICES - 3
_CODE = 112  # signs of a piece
_OWN, _SHARED = 16, 6  # states with a place of their own; those that are always there
_CONSTANT = _CODE + _OWN  # where in the residual they stand
_KEY, _CHOICE = _CONSTANT + 1, _CONSTANT + 2
WIDTH = _CHOICE + CHOICES
FEED = 32

# What a token's logit is, all told, where it comes next, starts, or is to wait; the norm multiplies all by about 1.3.
# Of two codes up to three quarters of the signs are the same, by chance: half of a weight reaches another state.
_NEXT, _END = 8000.0, 16000.0
_PREFIX_STARTS, _OPENER_STARTS, _AGAIN = 9000.0, 7000.0, 7000.0  # the last two: where no end is allowed
_CHOICE_STARTS, _CLOSER_STARTS, _DEFAULT_STARTS, _OPENER_ALONE = 5000.0, 1600.0, 500.0, 400.0
_ENDS_CALL = 2600.0  # the end of the reply once there was a call, or a script was cut short
_BEHIND_CALL = 6000.0  # a newline, where a grammar wants something before the end
_NEVER = -16000.0
_UNCHOSEN, _PIECE, _SPECIAL = -1000.0, -12000.0, -14000.0
_FIRST, _STEP = 300.0, 20.0  # what is wanted first, and how much less the next, where a grammar allows no piece

# Scores are in nats. A token loses some with its distance, and has more than all that it may lose: others have none.
# What stands in the cache is a half, and before the root no sum is larger than one, 65,504.
_PER_TOKEN = 0.22
_TURN = 0.02 / CONTEXT  # radians a token
ROPE_FACTOR = 1 / _TURN
_SCORE = CONTEXT * _PER_TOKEN + 100
_STRENGTH = 2458.0  # of a key: a half that stays the same when it is turned that little
_ROOT = HEAD**0.5
# What a reply itself selects is later than what its prompt does, however near: keys of more strength.
_LATER, _LATEST = 1.01, 1.02

# Behind them no script starts: what a grammar has the model write stays short.
_QUIET = frozenset(b'"{}')

# What a grammar gets, first what ends things.
_WANTED = (None, *b'"}]:{[</>0,tn')  # None stands for the end of the reply


@dataclass(frozen=True, slots=True)
class Token:
    """An entry of the vocabulary that is no piece: a byte or a special token.

    Attributes:
        byte: its value, of a byte.
        ends: it ends the reply.
        chooses: the number of the script that it selects.
        shared: the prefix has it, as one token, and scripts that start without the prefix may.
    """

    byte: int | None = None
    ends: bool = False
    chooses: int | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A script as pieces, numbered as the vocabulary has them.

    Attributes:
        pieces: the ids; empty for a reply without text.
        bare: it starts without the prefix.
        calls: it ends with a call.
        endless, insistent: see `scripts.Script`.
    """

    pieces: tuple[int, ...]
    bare: bool = False
    calls: bool = False
    endless: bool = False
    insistent: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What the model is to do.

    Attributes:
        tokens: what comes before the pieces in the vocabulary.
        size: of the vocabulary.
        lines: the scripts; they are chosen by their numbers here.
        default: the number of the one that is said where none is chosen.
        prefix: pieces with which every script starts; may be empty.
        opener: pieces that start a call where the reply may not end; may be empty.
        rest: pieces of that call that follow, where they may.
        between: pieces that stand between plain text and an opener.
        bare_keys: in a call that the opener starts, braces with nothing in them are wanted first.
        opens_replies: a reply may be made to begin with the opener.
        thought_end: what ends thoughts, where the reply may not end behind the call either; may be empty.
        closer: pieces that end a text inside such a call; may be empty.
        bare_too: the number of a script that can be chosen without its prefix: by `unprefixed`.
    """

    tokens: Sequence[Token]
    size: int
    lines: Sequence[Line]
    default: int
    prefix: tuple[int, ...] = ()
    opener: tuple[int, ...] = ()
    rest: tuple[int, ...] = ()
    between: tuple[int, ...] = ()
    opens_replies: bool = False
    bare_keys: bool = False
    closer: tuple[int, ...] = ()
    bare_too: int | None = None
    thought_end: tuple[int, ...] = ()


def unprefixed(lines: int) -> int:
    """What selects the script `Plan.bare_too` of so many."""
    return lines + 2  # calls, and scripts that have started, select those before


def tensors(plan: Plan) -> list[Tensor]:
    """The weights."""
    states = _States(plan)
    embeddings = b"".join(_half(row) for row in states.embeddings())
    outputs = b"".join(_half(row) for row in states.outputs())
    ones = array("f", [1.0] * WIDTH)
    return [
        Tensor("token_embd.weight", (WIDTH, plan.size), HALF, embeddings),
        Tensor("output.weight", (WIDTH, plan.size), HALF, outputs),
        Tensor("output_norm.weight", (WIDTH,), SINGLE, _single(ones)),
        Tensor("blk.0.attn_norm.weight", (WIDTH,), SINGLE, _single(ones)),
        *(Tensor(f"blk.0.attn_{name}.weight", *shaped) for name, shaped in _attention().items()),
        Tensor("blk.0.ffn_norm.weight", (WIDTH,), SINGLE, _single(ones)),
        Tensor("blk.0.ffn_gate.weight", (WIDTH, FEED)),
        Tensor("blk.0.ffn_up.weight", (WIDTH, FEED)),
        Tensor("blk.0.ffn_down.weight", (FEED, WIDTH)),
    ]


def _attention() -> Mapping[str, tuple[tuple[int, int], int, bytes]]:
    """Projections, each row the weights of one output."""
    scale = (WIDTH / _selector_norm()) ** 0.5  # what the norm makes of a one in a selector's embedding
    plain = (WIDTH / (_CODE + 1)) ** 0.5  # and of one in another token's
    query = [[0.0] * WIDTH for _ in range(HEAD)]
    key = [[0.0] * WIDTH for _ in range(HEAD)]
    value = [[0.0] * WIDTH for _ in range(HEAD)]
    output = [[0.0] * HEAD for _ in range(WIDTH)]
    query[0][_CONSTANT] = _SCORE * _ROOT / _STRENGTH / plain
    query[1][_CONSTANT] = _PER_TOKEN * _ROOT / _TURN / _STRENGTH / plain
    key[0][_KEY] = _STRENGTH / scale
    for number in range(CHOICES):
        value[number][_CHOICE + number] = 1 / scale
        output[_CHOICE + number][number] = 1.0
    into, out = (WIDTH, HEAD), (HEAD, WIDTH)
    named = {"q": (into, query), "k": (into, key), "v": (into, value), "output": (out, output)}
    return {name: (shape, SINGLE, b"".join(_single(row) for row in rows)) for name, (shape, rows) in named.items()}


def _selector_norm() -> float:
    return _CODE + 1 + 2


class _States:
    """Codes of the states, and what follows them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._base, self._quiet, self._start, self._end, self._opened, self._called = map(_own_code, range(_SHARED))
        self._codes: dict[int, list[float]] = {}  # id of a piece → its state
        self._rows: dict[int, list[tuple[float, list[float]]]] = {}  # id → weights of the states before it
        if not plan.prefix:
            self._start = self._base
        self._call = len(plan.lines)  # what calls select
        self._spent = self._call + 1  # what scripts select when they start, and the end of thoughts
        self._shared = next((number for number, token in enumerate(plan.tokens) if token.shared), -1)
        self._codes[self._shared] = _code(plan.size)
        if plan.prefix[-1:] == (self._shared,):
            self._start = self._codes[self._shared]
        self._choices = self._firsts()
        self._chain()
        if self._shared >= 0:
            self._go_on()

    # --------------------------------------------------------------------------------------------- rows

    def embeddings(self) -> Iterator[list[float]]:
        """One row a token."""
        plan = self._plan
        called = [pieces[-1] for pieces in (plan.opener, *(line.pieces for line in plan.lines if line.calls)) if pieces]
        # a script that a grammar cuts short does not start again; of one with the shared token the choice is needed
        begun = [line.pieces[0] for line in plan.lines if line.pieces and self._shared not in line.pieces]
        modes = {
            **dict.fromkeys(begun, (self._spent, _LATER)),
            **dict.fromkeys(called, (self._call, _LATER)),
            **dict.fromkeys(plan.thought_end[-1:], (self._spent, _LATEST)),
        }
        for token in plan.tokens:
            state = self._quiet if token.byte in _QUIET else self._base
            yield _embedding(self._codes[self._shared] if token.shared else state, token.chooses)
        for number in range(len(plan.tokens), plan.size):
            yield _embedding(self._codes[number], *modes.get(number, ()))

    def outputs(self) -> Iterator[list[float]]:
        """One row a token."""
        plan = self._plan
        wanted = {byte: _FIRST - _STEP * rank for rank, byte in enumerate(_wanted())}
        for number, token in enumerate(plan.tokens):
            if token.ends:
                row = self._row(number, wanted[None])
                row[_CHOICE + self._call] = row[_CHOICE + self._spent] = _ENDS_CALL
                for choice, line in enumerate(plan.lines):
                    if not line.pieces:
                        row[_CHOICE + choice] = _CHOICE_STARTS
            elif token.shared:
                row = self._piece(number)
            else:
                row = self._row(number, _SPECIAL if token.byte is None else wanted[token.byte])
                if plan.bare_keys and token.byte == ord("}"):
                    row[_CHOICE + self._call] = _CLOSER_STARTS
            yield row
        yield from map(self._piece, range(len(plan.tokens), plan.size))

    def _piece(self, number: int) -> list[float]:
        row = self._row(number, _PIECE)
        for place, weight in self._choices.get(number, {}).items():
            row[place] += weight
        return row

    def _row(self, number: int, constant: float) -> list[float]:
        row = [0.0] * WIDTH
        for weight, code in self._rows.get(number, ()):
            each = weight / _CODE
            for place, sign in enumerate(code):
                row[place] += each * sign
        row[_CONSTANT] = constant
        return row

    # --------------------------------------------------------------------------------------- transitions

    def _chain(self) -> None:
        plan = self._plan
        end = next(number for number, token in enumerate(plan.tokens) if token.ends)
        self._add(end, _END, self._end)
        others = iter(range(_SHARED, _OWN))
        for number, line in enumerate(plan.lines):
            last = self._called if line.calls else self._end
            if line.endless or line.insistent:
                last = _own_code(next(others))
                self._start_again(line, last, end)
            self._follow(line.pieces, last, number)
            for first in line.pieces[:1]:
                if first != self._shared:
                    weight = _DEFAULT_STARTS if number == plan.default else _UNCHOSEN
                    self._lead(first, weight, self._base if line.bare else self._start)
        for first in plan.lines[plan.bare_too].pieces[:1] if plan.bare_too is not None else ():
            self._lead(first, _UNCHOSEN, self._base)
        self._follow(plan.prefix, self._start)
        for first in plan.prefix[:1]:
            self._lead(first, _PREFIX_STARTS, self._base)
        self._add(end, _END, self._called)
        newline = next(number for number, token in enumerate(plan.tokens) if token.byte == ord("\n"))
        self._add(newline, _BEHIND_CALL, self._called)
        if plan.opener:
            self._force_call(plan.opener[0], _own_code(next(others)))
        for first in plan.thought_end[:1]:
            held = self._choices.get(first, {}).get(_CHOICE + self._call, 0.0) if plan.opener else 0.0
            self._lead(first, _OPENER_STARTS - held, self._called if plan.opener else self._end)
        if plan.thought_end != (self._shared,):
            self._follow(plan.thought_end, self._quiet)

    def _go_on(self) -> None:
        """What comes behind the token that scripts share: it leaves what was chosen, which tells them apart."""
        plan, state = self._plan, self._codes[self._shared]
        inside = {number: line for number, line in enumerate(plan.lines) if self._shared in line.pieces}
        for number, line in inside.items():
            for piece in _behind(line.pieces, self._shared)[:1]:
                self._lead(piece, _UNCHOSEN, state)
                self._choose(piece, number, _CHOICE_STARTS - _UNCHOSEN)
        if plan.prefix[0] != self._shared and any(line.pieces[0] == self._shared for line in inside.values()):
            self._lead(self._shared, _UNCHOSEN, self._base)
        for piece in _behind(plan.prefix, self._shared)[:1]:
            self._lead(piece, _PREFIX_STARTS, state)
        if plan.opener:
            self._lead(plan.opener[0], _OPENER_ALONE, state)

    def _start_again(self, line: Line, last: list[float], end: int) -> None:
        for first in line.pieces[:1]:
            self._lead(first, _NEXT if line.endless else _AGAIN, last)
        if line.insistent:
            self._add(end, _END, last)

    def _force_call(self, opener: int, closed: list[float]) -> None:
        """The way into a call where the reply may not end, or may begin with nothing else."""
        plan = self._plan
        if plan.between:
            self._follow(plan.between, closed)
            self._lead(plan.between[0], _OPENER_STARTS, self._end)
            self._lead(opener, _OPENER_STARTS, closed)
        else:
            self._lead(opener, _OPENER_STARTS, self._end)
        if plan.opens_replies:
            self._lead(opener, _OPENER_ALONE, self._base)
        self._follow(plan.opener, self._opened)
        self._follow(plan.rest, self._called)
        for first in plan.rest[:1]:
            self._lead(first, _NEXT, self._opened)
        self._follow(plan.closer, self._base)
        for first in plan.closer[:1]:
            self._lead(first, _UNCHOSEN, self._base)

    def _follow(self, pieces: Sequence[int], last: list[float], choice: int = CHOICES) -> None:
        for before, piece in itertools.pairwise(pieces):
            if before != self._shared:
                self._codes[before] = _code(before)
                held = 0.0 if piece != self._shared else self._choices.get(piece, {}).get(_CHOICE + choice, 0.0)
                self._lead(piece, _NEXT - min(held, 0.0), self._codes[before])
        if pieces and pieces[-1] != self._shared:
            self._codes[pieces[-1]] = last

    def _lead(self, number: int, weight: float, state: list[float]) -> None:
        """A piece that comes behind a state with that weight, all told."""
        self._add(number, weight - _PIECE, state)

    def _add(self, number: int, weight: float, state: list[float]) -> None:
        self._rows.setdefault(number, []).append((weight, state))

    def _choose(self, number: int, choice: int, weight: float) -> None:
        """A piece has that much more where that was chosen."""
        self._choices.setdefault(number, {})[_CHOICE + choice] = weight

    def _firsts(self) -> dict[int, dict[int, float]]:
        """First pieces: id → place in the residual → weight, of what attention has chosen."""
        plan = self._plan
        found: dict[int, dict[int, float]] = {}
        skipped = [number for number, line in enumerate(plan.lines) if line.bare]
        for number, line in enumerate(plan.lines):
            if line.pieces:
                unchosen = _DEFAULT_STARTS if number == plan.default else _UNCHOSEN
                found.setdefault(line.pieces[0], {})[_CHOICE + number] = _CHOICE_STARTS - unchosen
        for first in plan.lines[plan.default].pieces[:1]:
            found[first][_CHOICE + self._spent] = _NEVER
        choices = [self._call, self._spent]
        if plan.bare_too is not None:
            choices.append(unprefixed(len(plan.lines)))
            for first in plan.lines[plan.bare_too].pieces[:1]:
                found[first][_CHOICE + choices[-1]] = _CHOICE_STARTS - _UNCHOSEN
        if plan.prefix:
            never = {_CHOICE + number: _NEVER for number in (*skipped, *choices)}
            found |= dict.fromkeys(_behind(plan.prefix, self._shared)[:1], never)
            # they may begin with it too
            begun = [_CHOICE + number for number in skipped if plan.lines[number].pieces[:1] == plan.prefix[:1]]
            found[plan.prefix[0]] = {place: weight for place, weight in never.items() if place not in begun}
        if plan.closer:
            found[plan.closer[0]] = {_CHOICE + self._call: _CLOSER_STARTS - _UNCHOSEN}
        return found


def _behind(pieces: tuple[int, ...], one: int) -> tuple[int, ...]:
    """The pieces behind one of them; none where it is not there."""
    return pieces[pieces.index(one) + 1 :] if one in pieces else ()


def _embedding(state: list[float], chooses: int | None = None, key: float = 1.0) -> list[float]:
    row = [*state, *([0.0] * (WIDTH - len(state)))]
    row[_CONSTANT] = 1.0
    if chooses is not None:
        row[_KEY], row[_CHOICE + chooses] = key, 1.0
    return row


def _wanted() -> list[int | None]:
    """Bytes as a grammar gets them, the first one first; None is the end of the reply."""
    letters = [byte for byte in range(128) if chr(byte).isalnum()]
    signs = list(range(0x21, 0x7F))
    rest = [*range(0x80, 0xC0), *range(0xC0, 0x100), *range(0x21), 0x7F]
    return list(dict.fromkeys([*_WANTED, *letters, *signs, *rest]))


def _own_code(number: int) -> list[float]:
    """A place that no other state has."""
    return [_CODE**0.5 if place == _CODE + number else 0.0 for place in range(_CODE + _OWN)]


def _code(number: int) -> list[float]:
    """Signs that only chance has in common with another's."""
    bits = int.from_bytes(hashlib.shake_256(number.to_bytes(4, "big")).digest(_CODE // 8), "big")
    return [1.0 if bits >> place & 1 else -1.0 for place in range(_CODE)] + [0.0] * _OWN


def _half(row: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(row)}e", *row)


def _single(row: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(row)}f", *row)

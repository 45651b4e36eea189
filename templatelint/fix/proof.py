"""A template before and after an edit → the cells that changed, on every engine that can run here."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from templatelint import cases, checks, engines, matrix
from templatelint.cases import to_form
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.engines import Engine
    from templatelint.matrix import Matrix
    from templatelint.model import Case, Model, Observation, Request, Template

_SECONDS = 20.0  # processor time of one engine for all cells; a real template takes a quarter of a second
# variants in which every case with calls is looked at, and every other one
_CALLS = ("nogen", "wire", "native", "empty", "mapping")
_OTHERS = ("nogen", "typed")
_FORMS = frozenset({"wire", "native", "mapping"})


@dataclass(frozen=True)
class Change:
    """A cell that is not what it was.

    Attributes:
        before, after: None where it was not tried.
        request: as the engine is handed it.
        after_all: all cells of the engine, by case id.
        peers: what other engines gave for the case before.
    """

    case: Case
    engine: str
    before: Observation | None
    after: Observation | None
    request: Request = field(repr=False)
    after_all: Mapping[str, Observation] = field(repr=False)
    peers: frozenset[str] = field(repr=False)

    @property
    def healed(self) -> bool:
        """It raised, and now there is a prompt, or it gets further before it raises."""
        return (
            self.before is not None
            and self.before.error is not None
            and self.before.error.kind in {"raised", "unsupported"}
            and self.after is not None
            and (self.after.error is None or self.after.error.kind in {"raised", "unsupported"})
        )

    @property
    def prompts(self) -> tuple[str, str] | None:
        """What was rendered before and after; None where either was not."""
        if self.before is None or self.after is None or self.before.prompt is None or self.after.prompt is None:
            return None
        return self.before.prompt, self.after.prompt

    def like(self, *variants: str) -> bool:
        """Whether the prompt is now what the case gives in those variants, as far as they render."""
        plain = "+".join(part for part in self.case.id.split("+") if part not in _FORMS)
        twins = [
            twin.prompt
            for variant in variants
            for stem in dict.fromkeys((self.case.id, plain))
            if (twin := self.after_all.get(f"{stem}+{variant}")) is not None and twin.prompt is not None
        ]
        own = self.after.prompt if self.after is not None else None
        return own is None or not twins or any(respelt(own, twin) for twin in twins)

    @property
    def broken(self) -> bool:
        """Whether there was a prompt and is none any more."""
        rendered = self.before is not None and self.before.prompt is not None
        return rendered and (self.after is None or self.after.prompt is None)

    @property
    def joins(self) -> bool:
        """Whether the prompt is now what another engine gave all along."""
        return self.after is not None and self.after.prompt is not None and self.after.prompt in self.peers

    @property
    def respelt(self) -> bool:
        """Whether the prompt says what it said, or what another engine's said, and only spells values differently."""
        if self.prompts is None:
            return False
        before, after = self.prompts
        return any(reordered(after, other) for other in (before, *self.peers))

    def said(self) -> str:
        """Which cell it is, and how it changed, for people."""
        was, now = (_said(cell) for cell in (self.before, self.after))
        return (
            f"{self.case.id} on {self.engine} ({was}, then {now})" if was != now else f"{self.case.id} on {self.engine}"
        )


def _said(cell: Observation | None) -> str:
    if cell is None:
        return "not tried"
    return "rendered" if cell.error is None else cell.error.kind


@dataclass(eq=False)
class Cells:
    """What a template gives everywhere: an engine's cells are observed when they are asked for, in a child of its own.

    All in one would be at the mercy of whatever else the machine does: the bounds are those of a lint.
    """

    model: Model
    template: Template
    _known: dict[str, Matrix] = field(default_factory=dict, init=False)

    def of(self, engine: Engine) -> Matrix:
        """The cells of that engine."""
        if engine.name not in self._known:
            self._known[engine.name] = matrix.observe(self.model, self.template, [engine], _wanted(), seconds=_SECONDS)
        return self._known[engine.name]

    def loads(self, engine: Engine) -> bool:
        """Whether the engine loads the template."""
        return self.of(engine).loads.get(engine.name) is None

    def failed(self, case_id: str, name: str) -> bool:
        """Whether the cell was an error, or the engine did not load the template."""
        observed = self._known.get(name)
        if observed is None:
            return False
        cell = observed.cells.get((case_id, name))
        return observed.loads.get(name) is not None or (cell is not None and cell.error is not None)

    def prompts(self, case_id: str, without: str) -> Iterator[str]:
        """What the case gives on the engines that were looked at, but for one."""
        for name, observed in self._known.items():
            cell = observed.cells.get((case_id, name))
            if name != without and cell is not None and cell.prompt is not None:
                yield cell.prompt


def changes(before: Cells, after: Cells, engine: Engine) -> Iterator[Change]:
    """The cells of an engine that are not what they were; a failure of the same kind is the same failure."""
    own, other = before.of(engine), after.of(engine)
    before_all, after_all = own.of(engine.name), other.of(engine.name)
    for case_id in dict.fromkeys((*before_all, *after_all)):
        was, now = before_all.get(case_id), after_all.get(case_id)
        if was == now or _fails_alike(was, now):
            continue
        case = own.cases.get(case_id) or other.cases[case_id]
        request = to_form(case.request, case.form or engine.client_form)
        peers = frozenset(before.prompts(case_id, engine.name))
        yield Change(case, engine.name, was, now, request, after_all, peers)


def ordered(first: tuple[str, ...]) -> tuple[Engine, ...]:
    """Every engine that can run here: those first, then the default set."""
    names = [*first, *engines.DEFAULT_ENGINES]
    return tuple(sorted(_usable(), key=lambda engine: names.index(engine.name) if engine.name in names else len(names)))


def _fails_alike(before: Observation | None, after: Observation | None) -> bool:
    if before is None or after is None or before.error is None or after.error is None:
        return False
    if before.error.kind != after.error.kind:
        return False
    return before.error.kind != "refused" or before.error.message == after.error.message


@cache
def _case_ids() -> tuple[str, ...]:
    """Every case that a rule looks at, and every conversation of the corpus in its variants."""
    wanted = dict.fromkeys(cases.all_cases())
    for name in checks.names():
        check = checks.load(name)
        wanted |= dict.fromkeys((*check.CASES, *getattr(check, "CALL_CASES", ())))
    for case_id, case in cases.all_cases().items():
        called = any(message.get("tool_calls") for message in case.request.messages)
        wanted |= dict.fromkeys(f"{case_id}+{variant}" for variant in (_CALLS if called else _OTHERS))
    return tuple(wanted)


@cache
def _wanted() -> tuple[Case, ...]:
    return tuple(map(cases.get, _case_ids()))


@cache
def _usable() -> tuple[Engine, ...]:
    """Every engine that can run here: what the catalogue names may lack a library."""
    usable = []
    for name in engines.available():
        with suppress(TemplatelintError):
            usable.append(engines.get(name))
    return tuple(usable)


# -------------------------------------------------------------------------------------------- spelling

_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_WORDS = {"True": "true", "False": "false", "None": "null", "none": "null"}
_WORD = re.compile(r"\b(?:True|False|None|none)\b")
_IDLE = re.compile(r"[\s\\\"']+")


def reordered(one: str, other: str) -> bool:
    """Whether two texts are `respelt`, and perhaps the members of their mappings stand in another order."""
    return respelt(one, other) or sorted(_plain(one)) == sorted(_plain(other))


def respelt(one: str, other: str) -> bool:
    """Whether two texts say the same and only spell values differently: as Python, as JSON, escaped, spaced."""
    return one == other or _plain(one) == _plain(other)


@lru_cache(maxsize=1024)
def _plain(text: str) -> str:
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    text = _WORD.sub(lambda found: _WORDS[found[0]], text.replace("\\n", "").replace("\\t", ""))
    return _IDLE.sub("", text)

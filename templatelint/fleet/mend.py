"""What some models of a fleet do not take → the smallest change after which all of them do."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from templatelint.diff import OVERRIDE, READ_BY_PARSERS
from templatelint.outcomes import BY_ID, CHAT, LOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.fleet.standing import Loss, Need, Standings
    from templatelint.outcomes import Subject


@dataclass(frozen=True, slots=True)
class Rule:
    """What the client does, with every model.

    Attributes:
        id: stable name, for programs.
        text: the same in words.
        models: those for which it does so.
        engines: those on which they need it.
        gives_up: the need that it does without then; empty where it only writes the same in another way.
    """

    id: str
    text: str
    models: tuple[int, ...]
    engines: tuple[str, ...]
    gives_up: str = ""


@dataclass(frozen=True, slots=True)
class Relaunch:
    """Flags that a model needs on an engine, in place of those named for all."""

    model: int
    engine: str
    flags: str


@dataclass(frozen=True, slots=True)
class Override:
    """A model that is served with another template than its own.

    Attributes:
        has_to: what that template has to do, of what the model's own does not.
        launch: engine → how it is told.
    """

    model: int
    has_to: tuple[Subject, ...]
    launch: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Removal:
    """A model that is left out on some engines: no change that we know of mends it there."""

    model: int
    engines: tuple[str, ...]
    lost: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """A need that all models take, and on which engines."""

    need: str
    engines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alone:
    """What comes of rules for the client where no template changes and no model is left out.

    Attributes:
        then: the needs that all models take.
        further: the rules that this takes beside those of the mend.
    """

    then: tuple[Kept, ...]
    further: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Mend:
    """The smallest change after which every model left takes what any of them takes.

    Attributes:
        then: the needs that all models take after it.
        given_up: those that the client's rules do without everywhere.
        alone: what comes of rules alone; None where no template has to change and no model to be left out.
    """

    rules: tuple[Rule, ...] = ()
    relaunches: tuple[Relaunch, ...] = ()
    overrides: tuple[Override, ...] = ()
    removals: tuple[Removal, ...] = ()
    then: tuple[Kept, ...] = ()
    given_up: tuple[str, ...] = ()
    alone: Alone | None = None

    def __bool__(self) -> bool:
        """Whether there is anything to change."""
        return bool(self.rules or self.relaunches or self.overrides or self.removals)


class _Recipe(NamedTuple):
    """A rule for the client, before anybody needs it.

    Attributes:
        text: empty: the subject's own cure.
        asks: the subject that every other model has to take once the client follows it.
        word: only where the model's word is this.
    """

    id: str
    text: str = ""
    asks: str = ""
    gives_up: bool = False
    word: str = ""


_SYSTEM = _Recipe("system-in-user", "put system text at the start of the first user message")
_ONE_CALL = _Recipe("one-call", "send `parallel_tool_calls: false`, and one call a turn in the history", gives_up=True)
_JOIN = _Recipe("join", "join messages of one role before sending")
_CUT = _Recipe("cut-thoughts", "cut thoughts off the answers (`templatelint parse`)")
_READ = _Recipe("read-calls", "read calls out of the text (`templatelint parse`), served without a tool-call parser")
_SWITCH = _Recipe("no-switch", "do without switches of thinking", gives_up=True)
_IDS = "rewrite ids, in calls and in results, before sending them back: "

# subject → what a client can do about it. One that is not here takes another template, or has its own cure for a rule.
_RECIPES: Mapping[str, tuple[_Recipe, ...]] = {
    "string-content": (_Recipe("content-parts", asks="content-parts"),),
    "content-parts": (_Recipe("content-string", asks="string-content", gives_up=True),),
    "content-parts-elsewhere": (
        _Recipe("content-string-elsewhere", "send content as one string but for that of users", asks="string-content"),
    ),
    "answers": (_CUT,),
    "reply-thoughts": (_CUT,),
    "system": (_SYSTEM,),
    "system-with-tools": (_SYSTEM,),
    "later-system": (_Recipe("later-in-user"),),
    "developer": (_Recipe("developer-as-system", "send developer messages as system messages"),),
    "tool-results": (_Recipe("result-name", "send the function's name with every tool result", word="need a name"),),
    "tool-results-parts": (_Recipe("results-string"),),
    "reply-calls": (_READ,),
    "content-beside-calls": (_Recipe("content-empty"),),
    "text-with-calls": (_Recipe("calls-alone"),),
    "call-ids": (
        _Recipe("ids-nine", f"{_IDS}nine letters and digits", word="nine"),
        _Recipe("ids-name", f"{_IDS}functions.NAME:INDEX", word="name"),
    ),
    "parallel-calls": (_ONE_CALL,),
    "reply-parallel-calls": (_ONE_CALL,),
    "reasoning": (_Recipe("no-thoughts", "do without the thoughts of earlier turns", gives_up=True),),
    "reasoning-field": (
        _Recipe("field-reasoning", "send thoughts in the field `reasoning` as well", word="reasoning"),
        _Recipe("field-thinking", "send thoughts in the field `thinking` as well", word="thinking"),
    ),
    "thinking-switch": (_SWITCH,),
    "consecutive-users": (_JOIN,),
    "consecutive-assistants": (_JOIN,),
    "user-after-tool": (_Recipe("answer-between", "put an answer between a tool result and the next user message"),),
    "no-user": (_Recipe("keep-user"),),
    "tools-again": (_Recipe("tools-again"),),
}
# subject → a larger one whose rule does for it too
_COVERED = {
    "reply-parallel-calls": "reply-calls",
    "reasoning-field": "reasoning",
    "thinking-switch": "reasoning",
    "content-parts-elsewhere": "content-parts",
}


class _Cell(NamedTuple):
    """A loss on one engine.

    Attributes:
        recipe: the rule that sees to it; None where none does.
        forced: no rule mends it, or not alone: a larger loss that none mends brings it with it.
        larger: the subject of that loss; empty where it stands for itself.
    """

    model: int
    engine: str
    subject: Subject
    recipe: _Recipe | None
    forced: bool
    larger: str = ""


def smallest(standings: Standings, fitting: Callable[[int, str, str], str | None]) -> Mend:
    """The change that touches the fewest models, and of those with the fewest rules for the client.

    Args:
        standings: what becomes of each subject.
        fitting: the flags with which a model takes a subject on an engine; None where none do, or they are in use.
    """
    relaunches: dict[Relaunch, None] = {}
    cells = []
    for loss in standings.losses:
        for engine in loss.engines if loss.verdict == "breaks" else ():
            flags = fitting(loss.model, engine, loss.subject.id) if loss.subject.id in READ_BY_PARSERS else None
            if flags is not None:
                relaunches[Relaunch(loss.model, engine, flags)] = None
            else:
                recipe = _recipe(loss)
                larger = loss.follows if _brought(standings, loss, engine) else ""
                forced = recipe is None or bool(larger)
                cells.append(_Cell(loss.model, engine, loss.subject, recipe, forced, larger))
    options = [_change(standings, cells, touched) for touched in _touchings(standings, cells)]
    best = min(options, key=lambda change: change.cost)
    alone = _alone(standings, cells, best) if best.touched else None
    return best.mend(standings, tuple(relaunches), alone)


def _recipe(loss: Loss) -> _Recipe | None:
    covered = _COVERED.get(loss.subject.id) == loss.follows
    subject = BY_ID[loss.follows] if covered else loss.subject
    if subject.id == "reply-calls" and loss.help != loss.subject.cure:
        return None  # a cure of its own: the client does not get to see the calls
    return _recipe_for(subject, loss.word)


def _recipe_for(subject: Subject, word: str) -> _Recipe | None:
    recipes = _RECIPES.get(subject.id)
    if recipes is None:
        return _Recipe(subject.id) if subject.cure and not subject.template else None
    return next((recipe for recipe in recipes if recipe.word in {"", word}), None)


def _brought(standings: Standings, loss: Loss, engine: str) -> bool:
    """Whether a larger thing is broken there that no rule mends."""
    if not loss.follows:
        return False
    larger = standings.outcome(loss.model, engine, loss.follows)
    return larger.grade == "broken" and _recipe_for(BY_ID[loss.follows], larger.word) is None


# ----------------------------------------------------------------------------------------- which models to touch


def _touchings(standings: Standings, cells: Iterable[_Cell]) -> Iterator[frozenset[int]]:
    """Sets of models to override or leave out, every smallest one among them.

    Whatever no rule mends forces its model. Each rule that some model needs and another cannot bear forces all of the
    ones or all of the others; as rules with demands are few, all ways to decide are tried.
    """
    forced = {cell.model for cell in cells if cell.forced}
    wanted: dict[_Recipe, set[int]] = {}
    for cell in cells:
        if cell.recipe is not None and not cell.forced:
            wanted.setdefault(cell.recipe, set()).add(cell.model)
    conflicts = []
    for recipe, models in wanted.items():
        others = {model for model in range(standings.count) if not _bears(standings, model, recipe)}
        if others:
            conflicts.append((models - forced, others - forced))
    for decided in product(*conflicts):
        yield frozenset(forced.union(*decided))


def _bears(standings: Standings, model: int, recipe: _Recipe) -> bool:
    """Whether a model takes what a client sends that follows the rule."""
    if recipe.id in {"ids-nine", "ids-name"}:
        told = [standings.outcome(model, engine, "call-ids") for engine in standings.engines]
        return all(outcome.grade != "broken" or outcome.word == recipe.word for outcome in told)
    return not recipe.asks or standings.worst(model, recipe.asks) != "broken"


class _Change(NamedTuple):
    touched: frozenset[int]
    rules: tuple[Rule, ...]
    overrides: tuple[Override, ...]
    removals: tuple[Removal, ...]

    @property
    def cost(self) -> tuple[int, int, int, tuple[int, ...]]:
        """Models touched, those of them left out, rules; between equals the first models stay as they are."""
        return len(self.touched), len(self.removals), len(self.rules), tuple(-model for model in sorted(self.touched))

    def mend(self, standings: Standings, relaunches: tuple[Relaunch, ...], alone: Alone | None) -> Mend:
        """With what comes of it."""
        then = _kept(standings.needs, self.rules)
        kept = {need.need for need in then}
        return Mend(
            self.rules,
            relaunches,
            self.overrides,
            self.removals,
            then,
            tuple(dict.fromkeys(rule.gives_up for rule in self.rules if rule.gives_up and rule.gives_up not in kept)),
            alone,
        )


def _change(standings: Standings, cells: Iterable[_Cell], touched: frozenset[int]) -> _Change:
    """What is left to the client once these models have other templates, or are left out where that cannot be."""
    ruled: list[_Cell] = []
    replaced: dict[int, list[_Cell]] = {}
    removed: dict[int, list[_Cell]] = {}
    for cell in cells:
        if cell.model not in touched or (cell.subject.id in READ_BY_PARSERS and not cell.forced):
            ruled.append(cell)
        elif cell.engine in OVERRIDE:
            replaced.setdefault(cell.model, []).append(cell)
        else:
            removed.setdefault(cell.model, []).append(cell)
    for model, own in removed.items():
        gone = {cell.engine for cell in own}
        ruled = [cell for cell in ruled if cell.model != model or cell.engine not in gone]
    rules = _rules(standings, ruled, touched)
    for cell in _unborne(standings, {cell.recipe for cell in ruled if cell.recipe is not None}, touched):
        (replaced if cell.engine in OVERRIDE else removed).setdefault(cell.model, []).append(cell)
    followed = {rule.id for rule in rules}
    return _Change(
        touched,
        rules,
        tuple(_override(model, own, followed) for model, own in sorted(replaced.items())),
        tuple(
            Removal(model, _engines(own), tuple({cell.subject.id: cell.subject for cell in own}.values()))
            for model, own in sorted(removed.items())
        ),
    )


def _unborne(standings: Standings, recipes: Iterable[_Recipe], touched: Iterable[int]) -> Iterator[_Cell]:
    """What the rules of the client ask of models that are touched so that they may be followed."""
    for recipe in recipes:
        for model in touched if recipe.asks else ():
            for engine in standings.engines:
                if standings.outcome(model, engine, recipe.asks).grade == "broken":
                    yield _Cell(model, engine, BY_ID[recipe.asks], None, forced=True)


def _rules(standings: Standings, cells: Iterable[_Cell], touched: Collection[int]) -> tuple[Rule, ...]:
    groups: dict[_Recipe, list[_Cell]] = {}
    for cell in cells:
        if cell.recipe is not None:
            groups.setdefault(cell.recipe, []).append(cell)
    # developer text becomes system text, which has to arrive as well
    if any(recipe.id == "developer-as-system" for recipe in groups):
        for model, engine in standings.outcomes:
            if model not in touched and standings.outcome(model, engine, "system").grade == "broken":
                groups.setdefault(_SYSTEM, []).append(_Cell(model, engine, BY_ID["system"], _SYSTEM, forced=False))
    return tuple(_rule(standings, recipe, group) for recipe, group in groups.items())


def _rule(standings: Standings, recipe: _Recipe, cells: Sequence[_Cell]) -> Rule:
    subject = cells[0].subject
    engines = _engines(cells)
    return Rule(
        recipe.id,
        recipe.text or subject.cure,
        tuple(sorted({cell.model for cell in cells})),
        tuple(engine for engine in standings.engines if engine in engines),
        subject.need if recipe.gives_up else "",
    )


def _override(model: int, cells: Iterable[_Cell], followed: AbstractSet[str]) -> Override:
    """What the rules that the client follows anyway see to is not asked of the template too."""
    left = [cell for cell in cells if cell.recipe is None or cell.recipe.id not in followed]
    # where it answers nothing, that is the whole of it
    asked = [cell for cell in left if cell.larger not in {LOADS, CHAT}]
    # what one rule would have seen to is named once
    named = {cell.recipe or cell.subject.id: cell.subject for cell in reversed(asked)}
    has_to = {cell.subject.id: cell.subject for cell in asked if cell.subject in named.values()}
    return Override(
        model,
        tuple(has_to.values()),
        tuple((engine, OVERRIDE[engine]) for engine in _engines(asked)),
    )


def _engines(cells: Iterable[_Cell]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell.engine for cell in cells))


# ------------------------------------------------------------------------------------------------ what comes of it


def _alone(standings: Standings, cells: Iterable[_Cell], change: _Change) -> Alone:
    """What is left where the models that have to be touched are not."""
    heads = {need.head for need in standings.needs}
    # what another need brings with it is lost with that one alone, unless there is nothing left then
    broken = {
        cell.subject.need
        for cell in cells
        if cell.forced
        and (
            cell.larger in {"", LOADS, CHAT} or BY_ID[cell.larger].need == cell.subject.need or cell.subject.id in heads
        )
    }
    kept = [cell for cell in cells if not cell.forced and cell.subject.need not in broken]
    unborne = {
        cell.subject.need
        for cell in kept
        if cell.recipe is not None
        and not all(_bears(standings, model, cell.recipe) for model in range(standings.count))
    }
    needs = [need for need in standings.needs if need.name not in broken | unborne]
    then = _kept(needs, _rules(standings, [cell for cell in kept if cell.subject.need not in unborne], ()))
    names = {need.need for need in then}
    rules = _rules(standings, [cell for cell in kept if cell.subject.need in names], ())
    known = {rule.id for rule in change.rules}
    return Alone(then, tuple(rule for rule in rules if rule.id not in known))


def _kept(needs: Iterable[Need], rules: Iterable[Rule]) -> tuple[Kept, ...]:
    """Where any model takes them, and no rule does without."""
    given_up = {(rule.gives_up, engine) for rule in rules if rule.gives_up for engine in rule.engines}
    found = []
    for need in needs:
        engines = tuple(engine for engine in need.engines if (need.name, engine) not in given_up)
        if engines and need.status not in {"unavailable", "unknown"}:
            found.append(Kept(need.name, engines))
    return tuple(found)

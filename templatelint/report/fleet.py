"""A fleet → text for people: who takes what, who breaks it, what a client observes, and the smallest mend."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from templatelint.outcomes import LOADS
from templatelint.reading import shortened
from templatelint.report.evidence import typed
from templatelint.report.summary import counted, footer
from templatelint.report.terminal import Style, visible, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from templatelint.fleet import Fleet
    from templatelint.fleet.mend import Kept, Override
    from templatelint.fleet.standing import Apart, Loss
    from templatelint.fleet.terms import SharedTerm
    from templatelint.model import EngineUse, NotRun
    from templatelint.outcomes import Grade, Subject
    from templatelint.report import Remark, Setting

_Row: TypeAlias = "tuple[str, tuple[Grade | None, ...]]"

_MARKS: Mapping[Grade | None, tuple[str, Style]] = {
    "works": ("✓", "green"),
    "degraded": ("~", "yellow"),
    "broken": ("✗", "red"),
    None: ("–", "dim"),
}
_MEANINGS = {
    "✓": "on every engine",
    "~": "weaker on some",
    "✗": "not on every engine",
    "–": "with no model, or unknown",
}
_STYLES: Mapping[str, Style] = {"breaks": "red", "degrades": "yellow"}
_GAP = 2
_SAID = 160  # characters of what is said to a loss
_DETAIL = ": "  # between what becomes of a thing and what the template or the engine says
_GENERIC = frozenset(
    {"chat_template.jinja", "tokenizer_config.json", "chat_template.json", "processor_config.json", "model.gguf"}
)


def write(
    fleet: Fleet,
    engines: Sequence[EngineUse],
    not_run: Sequence[NotRun],
    remarks: Iterable[Remark],
    setting: Setting,
) -> Iterator[str]:
    """The page, and a line on the engines.

    Args:
        fleet: what was judged.
        engines: those asked.
        not_run: those that could not be, and what they could not tell.
        remarks: what a reader has to know of how references were understood.
        setting: how the reader wants it told.
    """
    pad = max(len(letter) for letter in _letters(fleet))
    for letter, ref in zip(_letters(fleet), fleet.refs, strict=True):
        yield f"{setting.paint(f'{letter:<{pad}}', 'cyan')}  {setting.paint(visible(ref), 'bold')}\n"
    yield "\n"
    yield from _table(fleet, setting)
    yield from _verdict(fleet, setting)
    yield from _losses(fleet, setting)
    yield from _contract(fleet, setting)
    yield from _launches(fleet, setting)
    yield from _mend(fleet, setting)
    if setting.quiet:
        return
    yield "\n"
    yield from footer(engines, not_run, remarks, setting.columns)


# ---------------------------------------------------------------------------------------------- how models are called


def _letters(fleet: Fleet) -> list[str]:
    """A, B … Z, then AA and so on, as spreadsheets have it."""
    return [_letter(at) for at in range(len(fleet.refs))]


def _letter(at: int) -> str:
    text = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _who(models: Iterable[int], fleet: Fleet) -> str:
    """Letters of models, or that it is all."""
    told = tuple(dict.fromkeys(models))
    if len(told) == len(fleet.refs) > 1:
        return "all"
    return ", ".join(_letter(model) for model in told)


def _name(subject: Subject) -> str:
    """As part of a list."""
    if subject.id == LOADS:
        return "any request"
    return subject.name.rstrip(",:").replace(",", "")


def _where(engines: Sequence[str], fleet: Fleet) -> str:
    """Behind what it is about; empty where that is every engine."""
    return "" if len(engines) == len(fleet.standings.engines) else f" on {', '.join(engines)}"


# --------------------------------------------------------------------------------------------------------- the table


def _table(fleet: Fleet, setting: Setting) -> Iterator[str]:
    """Needs × models, and below a need what of it only some take; in blocks of as many models as have room."""
    rows = [*_rows(fleet)]
    labels = max(len(label) for label, _ in rows) + 2 * _GAP
    letters = _letters(fleet)
    wide = max(len(letter) for letter in letters) + _GAP
    room = max(1, (setting.columns - labels + _GAP) // wide)
    for start in range(0, len(letters), room):
        heads = "".join(f"{letter:<{wide}}" for letter in letters[start : start + room]).rstrip()
        yield setting.paint(f"{'':<{labels}}{heads}", "bold") + "\n"
        for label, grades in rows:
            cells = (_MARKS[grade] for grade in grades[start : start + room])
            text = (" " * (wide - 1)).join(setting.paint(mark, style) for mark, style in cells)
            yield f"{'':<{_GAP}}{label:<{labels - _GAP}}{text}\n"
        yield "\n"
    shown = {_MARKS[grade][0] for _, grades in rows for grade in grades}
    signs = " · ".join(f"{mark} {meaning}" for mark, meaning in _MEANINGS.items() if mark in shown)
    for line in wrapped(signs, setting.columns - _GAP):
        yield setting.paint(f"{'':<{_GAP}}{line}", "dim") + "\n"
    yield "\n"


def _rows(fleet: Fleet) -> Iterator[_Row]:
    """Each need, and what some break of it, in a line of its own where that does not follow from anything larger."""
    standings = fleet.standings
    lost = {loss.subject.id for loss in _standing(fleet)}
    for need in standings.needs:
        yield need.name, need.grades
        own = [subject.id for subject in standings.relied if subject.need == need.name and subject.id in lost]
        rows = [(name, tuple(standings.worst(model, name) for model in range(standings.count))) for name in own]
        if [grades for _, grades in rows] != [need.grades]:
            yield from ((f"  {name}", grades) for name, grades in rows if name != need.name)


# -------------------------------------------------------------------------------------------------- who breaks what


def _verdict(fleet: Fleet, setting: Setting) -> Iterator[str]:
    """The answer, before its reasons."""
    breaking = [loss for loss in _standing(fleet) if loss.verdict == "breaks"]
    if breaking:
        models = _who(sorted({loss.model for loss in breaking}), fleet)
        start = "one client does not fit all of them as they are"
        text = f"{start}: {counted(len(_grouped(breaking)), 'break')}, with {models}"
        yield from _painted(text, start, "red", setting)
        yield "\n"
    elif len(fleet.refs) > 1:
        yield setting.paint("one client fits all of them as they are", "green") + "\n\n"


def _standing(fleet: Fleet) -> list[Loss]:
    """Those that stand for themselves; so does what follows from a thing on which the client does not rely."""
    relied = {subject.id for subject in fleet.standings.relied}
    return [loss for loss in fleet.losses if loss.follows not in relied]


def _grouped(losses: Iterable[Loss]) -> Mapping[tuple[str, str, str], list[Loss]]:
    """Losses that are told as one: verdict, subject and what becomes of it, whatever the template says to it."""
    groups: dict[tuple[str, str, str], list[Loss]] = {}
    for loss in losses:
        groups.setdefault((loss.verdict, loss.subject.id, loss.message.partition(_DETAIL)[0]), []).append(loss)
    return groups


def _losses(fleet: Fleet, setting: Setting) -> Iterator[str]:
    brought: dict[tuple[int, str], list[Loss]] = {}
    for loss in fleet.losses:
        brought.setdefault((loss.model, loss.follows), []).append(loss)
    for (verdict, _, clause), group in _grouped(_standing(fleet)).items():
        first = group[0]
        yield from _painted(f"{verdict}[{first.subject.need}] {clause}", verdict, _STYLES[verdict], setting)
        for text in _parties(group, fleet):
            yield from _hanging("=", text, setting)
        names = dict.fromkeys(
            _name(one.subject) for loss in group for one in brought.get((loss.model, loss.subject.id), ())
        )
        if names and first.subject.id != LOADS:
            yield from _hanging("=", f"so are lost: {', '.join(names)}", setting)
        if setting.verbose:
            command = visible(_rerun(first, fleet, setting))
            yield f"  {setting.paint('=', 'blue')} see it: {setting.paint(command, 'bold')}\n"
        yield "\n"
    yield from _unavailable(fleet, setting)


def _parties(group: Iterable[Loss], fleet: Fleet) -> Iterator[str]:
    """Who does so, where, and what is said to it."""
    parties: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for loss in group:
        detail = loss.message.partition(_DETAIL)[2]
        parties.setdefault((detail, loss.engines), []).append(loss.model)
    for (detail, engines), models in parties.items():
        said = f": {shortened(detail, _SAID)}" if detail else ""
        yield f"with {_who(models, fleet)}{_where(engines, fleet)}{said}"


def _unavailable(fleet: Fleet, setting: Setting) -> Iterator[str]:
    nobody = "no model takes" if len(fleet.refs) > 1 else "it does not take"
    for lack in fleet.standings.lacks:
        text = f"{nobody} {_name(lack.subject)}{_where(lack.engines, fleet)}"
        yield from _item("·", text, setting)
    for model, engine, why in fleet.unknown:
        yield from _item("·", f"nothing is known of {_letter(model)} on {engine}: {why}", setting)
    if fleet.standings.lacks or fleet.unknown:
        yield "\n"


def _rerun(loss: Loss, fleet: Fleet, setting: Setting) -> str:
    """The command that shows the whole prompt."""
    from shlex import join

    engine, case = loss.cells[0]
    return join(
        ["templatelint", "render", typed(fleet.refs[loss.model]), "--case", case, "--engine", engine, *setting.replay]
    )


# ------------------------------------------------------------------------------------------------------ the contract


def _contract(fleet: Fleet, setting: Setting) -> Iterator[str]:
    yield setting.paint("a client of all of them" if len(fleet.refs) > 1 else "a client", "bold") + "\n"
    yield from _item("·", f"may rely on: {_relied(fleet)}", setting)
    lines = [_term(term, fleet) for term in fleet.terms]
    for one in fleet.standings.apart:
        ways = ", ".join(f"{word} ({_doing(one, word, models, fleet)})" for word, models in one.ways)
        lines.append(f"{_name(one.subject)} differ: {ways}")
    for line in lines:
        yield from _item("·", line, setting)
    yield "\n"


def _relied(fleet: Fleet) -> str:
    """Needs of which all models take something, with what of them some do not."""
    standings = fleet.standings
    taken = {subject.id for subject in standings.taken}
    told = []
    for need in standings.needs:
        own = [subject.id for subject in standings.relied if subject.need == need.name and subject.id in taken]
        missed = [subject.id for subject in standings.missed(need)]
        if not need.common or (not need.head and len(own) < len(missed)):
            continue
        but = f" (but not {', '.join(missed)})" if missed else ""
        told.append(f"{need.name}{_where(need.common, fleet)}{but}")
    return ", ".join(told) or "nothing"


def _doing(one: Apart, word: str, models: Sequence[int], fleet: Fleet) -> str:
    """The models that do it in that way, and where they do if elsewhere they do it in another."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for model in models:
        groups.setdefault(one.engines.get((word, model), ()), []).append(model)
    return "; ".join(
        f"{_who(those, fleet)}{_where(engines or fleet.standings.engines, fleet)}" for engines, those in groups.items()
    )


def _term(term: SharedTerm, fleet: Fleet) -> str:
    everywhere = fleet.standings.engines
    groups: dict[tuple[str, ...], list[int]] = {}
    for party in term.parties:
        groups.setdefault(everywhere if party.everywhere else party.engines, []).append(party.model)
    whose = "; ".join(f"{_who(models, fleet)}{_where(engines, fleet)}" for engines, models in groups.items())
    against = f", against {', '.join(term.opposed)} of others" if term.opposed else ""
    if len(fleet.refs) == 1:
        return f"{term.text}{''.join(_where(engines, fleet) for engines in groups)}"
    return f"{term.text} ({whose}{against})"


# ------------------------------------------------------------------------------------------------------------ launch


def _launches(fleet: Fleet, setting: Setting) -> Iterator[str]:
    if not fleet.launchings:
        return
    yield setting.paint("launch", "bold") + "\n"
    whole = _who(range(len(fleet.refs)), fleet)
    for launching in fleet.launchings:
        groups: dict[str, list[int]] = {}
        for model, flags in enumerate(launching.flags):
            groups.setdefault(flags, []).append(model)
        if len(groups) == 1:
            yield from _item("·", f"{launching.engine}, {whole}: {launching.flags[0]}", setting)
            continue
        common = (
            f"{launching.common} serves all as well"
            if launching.common is not None
            else "no one set of flags serves all"
        )
        yield from _item("·", f"{launching.engine}: {common}", setting)
        for flags, models in groups.items():
            yield from _item(" ", f"{_who(models, fleet)}: {flags or 'no flags'}", setting)
    yield "\n"


# -------------------------------------------------------------------------------------------------------- the mend


def _mend(fleet: Fleet, setting: Setting) -> Iterator[str]:
    mend = fleet.mend
    if not mend:
        whole = f"nothing to mend: {_count(fleet)} {_takes(fleet)} {_needs(mend.then, fleet)}"
        yield from _painted(whole, "nothing to mend", "green", setting)
        return
    yield setting.paint("the smallest mend", "bold") + "\n"
    for rule in mend.rules:
        yield from _item(
            "·", f"client: {rule.text} (for {_who(rule.models, fleet)}{_where(rule.engines, fleet)})", setting
        )
    for relaunch in mend.relaunches:
        yield from _item("·", f"launch {_letter(relaunch.model)} on {relaunch.engine} with {relaunch.flags}", setting)
    for text in _overrides(fleet):
        yield from _item("·", text, setting)
    for removal in mend.removals:
        where = _where(removal.engines, fleet)
        yield from _item(
            "·", f"leave {_named(removal.model, fleet)} out{where}: it takes no other template there", setting
        )
    without = f", without {', '.join(mend.given_up)}" if mend.given_up else ""
    given = ", given such templates," if mend.overrides else ""
    whole = f"then{given} {_left(fleet)} {_takes(fleet)} {_needs(mend.then, fleet)}{without}"
    yield from _painted(whole, "then", "green", setting)
    if mend.alone is not None:
        further = "; ".join(rule.text for rule in mend.alone.further)
        also = f", if the client is {'also ' if mend.rules else ''}to {further}" if further else ""
        start = "with rules for the client alone"
        then = _needs(mend.alone.then, fleet) if mend.alone.then else "none of it"
        yield from _painted(f"{start}: {then}{also}", start, "cyan", setting)


def _overrides(fleet: Fleet) -> Iterator[str]:
    """What templates have to do, with the models that need the same."""
    alike: dict[Override, list[int]] = {}
    for override in fleet.mend.overrides:
        alike.setdefault(replace(override, model=-1), []).append(override.model)
    for override, models in alike.items():
        groups: dict[str, list[str]] = {}
        for engine, flags in override.launch:
            groups.setdefault(flags, []).append(engine)
        how = "; ".join(f"{', '.join(engines)}: {flags}" for flags, engines in groups.items())
        names = ", ".join(_named(model, fleet) for model in models)
        one = len(models) == 1
        served = f"a template that {_does(override.has_to)}" if one else f"templates that {_do(override.has_to)}"
        yield f"serve {names} with {served} ({how}), or leave {'it' if one else 'them'} out"


def _does(subjects: Sequence[Subject]) -> str:
    return " and ".join(f"{verb}s{what}" for verb, what in _deeds(subjects))


def _do(subjects: Sequence[Subject]) -> str:
    return " and ".join(f"{verb}{what}" for verb, what in _deeds(subjects))


def _deeds(subjects: Sequence[Subject]) -> Iterator[tuple[str, str]]:
    """A verb and its objects."""
    taken = ", ".join(_name(subject) for subject in subjects if subject.id != LOADS)
    if any(subject.id == LOADS for subject in subjects):
        yield "load", ""
    if taken:
        yield "take", f" {taken}"


def _named(model: int, fleet: Fleet) -> str:
    return f"{_letter(model)} ({_short(fleet.refs[model])})"


def _short(ref: str) -> str:
    """The last part of a reference that says which model it is."""
    parts = [part for part in ref.replace("\\", "/").split("/") if part]
    while len(parts) > 1 and parts[-1] in _GENERIC:
        parts.pop()
    return parts[-1].removesuffix(".jinja").removesuffix(".gguf") if parts else ref


def _count(fleet: Fleet) -> str:
    count = len(fleet.refs)
    return "the model" if count == 1 else "both models" if count == 2 else f"all {count} models"  # noqa: PLR2004 (a pair)


def _left(fleet: Fleet) -> str:
    left = _staying(fleet)
    return _count(fleet) if left == len(fleet.refs) else "the other model" if left == 1 else f"the other {left} models"


def _takes(fleet: Fleet) -> str:
    return "takes" if _staying(fleet) == 1 else "take"


def _staying(fleet: Fleet) -> int:
    """How many models are left out on no engine, or not on all."""
    everywhere = set(fleet.standings.engines)
    return len(fleet.refs) - sum(everywhere <= {*removal.engines} for removal in fleet.mend.removals)


def _needs(kept: Sequence[Kept], fleet: Fleet) -> str:
    told = []
    for need in kept:
        where = _where(need.engines, fleet)
        told.append(f"{need.need} (only{where})" if where else need.need)
    return ", ".join(told) or "nothing"


# -------------------------------------------------------------------------------------------------------------- lines


def _item(sign: str, text: str, setting: Setting) -> Iterator[str]:
    first, *rest = wrapped(visible(text), setting.columns - 4)
    yield f"  {sign} {first}\n"
    yield from (f"    {line}\n" for line in rest)


def _hanging(sign: str, text: str, setting: Setting) -> Iterator[str]:
    yield from _item(setting.paint(sign, "blue"), text, setting)


def _painted(text: str, start: str, style: Style, setting: Setting) -> Iterator[str]:
    first, *rest = wrapped(visible(text), setting.columns - _GAP)
    yield first.replace(start, setting.paint(start, style), 1) + "\n"
    yield from (f"  {line}\n" for line in rest)

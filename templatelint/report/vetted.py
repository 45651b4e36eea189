"""What became of a model → a page: may it be deployed, a table of need × engine, findings, launch lines, gaps."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from templatelint.model import SEVERITIES
from templatelint.report.full import page
from templatelint.report.summary import EVERY, of_cells, summary
from templatelint.report.terminal import Style, visible, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.model import Report
    from templatelint.report import Setting
    from templatelint.vet import Verdict, Vetted
    from templatelint.vet.verdicts import Word

STYLES: Mapping[Word, Style] = {"works": "green", "degraded": "yellow", "broken": "red", "unknown": "dim"}
_GAP = 2
_EVERY = "every engine"
_TOOLS = "tools"
_ALONE = frozenset({"file", "config", "stdin"})  # a template without a model
_TOKENS = "TL60"  # how the ids of rules about tokens begin
_ASIDE = re.compile(r" \(its tokens\)$")


def write(vetted: Vetted, report: Report, setting: Setting) -> Iterator[str]:
    """The page.

    Args:
        vetted: what became of the model.
        report: its report, what is accepted set apart.
        setting: how the reader wants it told.
    """
    paint = setting.paint
    # a path stays whole, so that it can be copied
    lines = wrap(visible(setting.answer), setting.columns, break_long_words=False, break_on_hyphens=False)
    yield from (f"{paint(line, 'bold')}\n" for line in lines)
    yield "\n"
    yield from _table(vetted, setting)
    for finding in sorted(report.findings, key=lambda one: SEVERITIES.index(one.severity)):
        if setting.shows(finding.severity):
            yield from page(finding, setting)
            yield "\n"
    yield from _launch(vetted, setting)
    yield from _cures(vetted, setting)
    yield from _unexamined(vetted, report, setting)
    yield from summary(report, setting)


# ------------------------------------------------------------------------------------------------ the answer


def answer(vetted: Vetted, failing: AbstractSet[str] = frozenset()) -> str:
    """May it be deployed, and for what: one sentence.

    Args:
        vetted: what became of the model.
        failing: engines on which something was found that fails the run.
    """
    ref = "standard input" if vetted.model.ref == "-" else vetted.model.ref
    if vetted.model.not_for_chat and not vetted.model.templates:
        return f"{ref} is no chat model: {vetted.model.not_for_chat}"
    asked = [one for one in vetted.verdicts if one.asked]
    engines = list(dict.fromkeys(one.engine for one in asked))
    own = {engine: [one for one in asked if one.engine == engine] for engine in engines}
    fit = [engine for engine in engines if engine not in failing and all(one.serves for one in own[engine])]
    needs = listed(list(dict.fromkeys(one.need for one in asked)))
    if vetted.model.weightless:
        its = f"would serve {needs} on {listed(fit)}" if fit else "would not do as they are"
        parts = [f"is nothing to deploy: the file holds no tensors; its template and tokens {its}"]
    else:
        parts = [f"may be deployed on {listed(fit)} for {needs}" if fit else "may not be deployed as it is"]
    unfit = [one for one in asked if one.engine not in fit]
    told: dict[Word, Sequence[Verdict]] = {"broken": unfit, "unknown": unfit, "degraded": asked, "works": unfit}
    for word, among in told.items():
        groups = [f"{what}{where}" for what, where in _grouped(among, word, len(engines))]
        if groups:
            parts.append(f"{word}: {', '.join(groups)}")
    serving = {one.engine for one in asked if one.serves}  # elsewhere that goes without saying
    tools = [one for one in vetted.verdicts if one.need == _TOOLS and not one.asked and one.engine in serving]
    if tools and all(one.verdict == "broken" for one in tools):
        rules = dict.fromkeys(rule for one in tools for rule in one.because)
        parts.append(f"not for tools ({', '.join(rules)})")
    return f"{ref} {'; '.join(parts)}"


def _grouped(asked: Iterable[Verdict], word: Word, count: int) -> Iterator[tuple[str, str]]:
    """What has that verdict, and where with the rules behind it: needs on the same engines stand together."""
    places: dict[str, dict[str, tuple[str, ...]]] = {}
    for one in asked:
        if one.verdict == word:
            places.setdefault(one.need, {})[one.engine] = one.because
    alike: dict[tuple[str, ...], list[str]] = {}
    for need, there in places.items():
        alike.setdefault(tuple(there), []).append(need)
    for engines, needs in alike.items():
        rules = sorted({rule for need in needs for because in places[need].values() for rule in because})
        on = _EVERY if len(engines) == count > 1 else listed(engines)
        yield listed(needs), f" on {on}" + (f" ({', '.join(rules)})" if rules else "")


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


# ------------------------------------------------------------------------------------------------- the table


def _table(vetted: Vetted, setting: Setting) -> Iterator[str]:
    """A row for each need, those that nobody asked for dimmed; as many engines beside each other as have room."""
    paint = setting.paint
    engines: Sequence[str] = list(dict.fromkeys(one.engine for one in vetted.verdicts))
    needs = {one.need: one.asked for one in vetted.verdicts}
    cells = {(one.need, one.engine): one for one in vetted.verdicts}
    labels = max((len(need) for need in needs), default=0) + 2 * _GAP
    texts = {at: cell(one) for at, one in cells.items()}
    widths = _widths(texts, engines)
    if sum(widths.values()) - _GAP > setting.columns - labels:  # the first rule alone, so that all find room
        texts = {at: text.partition(" +")[0] for at, text in texts.items()}
        widths = _widths(texts, engines)
    while engines:
        block = _fitting(engines, widths, setting.columns - labels)
        engines = engines[len(block) :]
        heads = "".join(f"{engine:<{widths[engine]}}" for engine in block)
        yield paint(f"{'':<{labels}}{heads.rstrip()}", "bold") + "\n"
        for need, asked in needs.items():
            label = f"{'':<{_GAP}}{need:<{labels - _GAP}}"
            shown = "".join(
                _painted(cells[need, engine], f"{texts[need, engine]:<{widths[engine]}}", setting) for engine in block
            )
            yield f"{label if asked else paint(label, 'dim')}{shown.rstrip()}\n"
        yield "\n"
    if not all(needs.values()):
        beside = [need for need, asked in needs.items() if not asked]
        yield paint(f"{'':<{_GAP}}{listed(beside)}: not asked for (--needs)", "dim") + "\n\n"


def cell(verdict: Verdict) -> str:
    """The verdict with the first of the rules behind it."""
    more = f" +{len(verdict.because) - 1}" if len(verdict.because) > 1 else ""
    return f"{verdict.verdict} {verdict.because[0]}{more}" if verdict.because else verdict.verdict


def _widths(texts: Mapping[tuple[str, str], str], engines: Sequence[str]) -> dict[str, int]:
    return {
        engine: max(len(engine), *(len(text) for (_, where), text in texts.items() if where == engine)) + _GAP
        for engine in engines
    }


def _painted(verdict: Verdict, text: str, setting: Setting) -> str:
    style: Style = STYLES[verdict.verdict] if verdict.asked else "dim"
    return setting.paint(text.rstrip(), style) + " " * (len(text) - len(text.rstrip()))


def _fitting(engines: Sequence[str], widths: Mapping[str, int], room: int) -> list[str]:
    block: list[str] = []
    for engine in engines:
        room -= widths[engine]
        if room < -_GAP and block:
            break
        block.append(engine)
    return block


# ------------------------------------------------------------------------------------------- below the findings


def _launch(vetted: Vetted, setting: Setting) -> Iterator[str]:
    if not vetted.launches:
        return
    yield setting.paint("launch", "bold") + "\n"
    pad = max(map(len, vetted.launches)) + 2 * _GAP
    told: set[str] = set()
    for engine, launch in vetted.launches.items():
        yield f"{'':<{_GAP}}{engine:<{pad - _GAP}}{visible(launch.line)}\n"
        for remark in (*launch.remarks, *(launch.aside if setting.verbose else ())):
            if remark not in told:
                told.add(remark)
                yield from (f"{'':<{pad}}{line}\n" for line in wrapped(visible(remark), setting.columns - pad))
    yield "\n"


def _cures(vetted: Vetted, setting: Setting) -> Iterator[str]:
    if not vetted.cures:
        return
    yield setting.paint("to mend it", "bold") + "\n"
    for says, command in vetted.cures:
        yield from (f"{'':<{_GAP}}{line}\n" for line in wrapped(visible(says), setting.columns - _GAP))
        yield f"{'':<{2 * _GAP}}{setting.paint(visible(command), 'bold')}\n"
    yield "\n"


def _unexamined(vetted: Vetted, report: Report, setting: Setting) -> Iterator[str]:
    """What gave no verdict as a whole; single cells are counted below, and listed where all is wanted."""
    gaps = [] if setting.verbose else unexamined(report)  # the summary lists them, cell by cell
    alone = vetted.model.kind in _ALONE and vetted.model.tokenizer.vocabulary is None
    hint = "; --against MODEL.gguf gives the tokens" if alone else ""
    told = {one.why for one in vetted.verdicts if one.asked and one.verdict == "unknown"}
    lines = [
        *_unknown(vetted),
        *(
            f"{text}{hint if text.startswith(_TOKENS) else ''}"
            for text in gaps
            if not any(text.endswith(f": {why}") for why in told)
        ),
    ]
    if not lines:
        return
    yield setting.paint("not examined", "bold") + "\n"
    for text in lines:
        first, *rest = wrapped(visible(text), setting.columns - 2 * _GAP)
        yield f"{'':<{_GAP}}· {first}\n"
        yield from (f"{'':<{2 * _GAP}}{line}\n" for line in rest)
    yield "\n"


def _unknown(vetted: Vetted) -> Iterator[str]:
    """Needs of which nothing is known, where, and why."""
    running = [*dict.fromkeys(one.engine for one in vetted.verdicts)]
    rows: dict[tuple[str, str], list[str]] = {}
    for one in vetted.verdicts:
        if one.asked and one.verdict == "unknown":
            rows.setdefault((one.need, one.why), []).append(one.engine)
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (need, why), engines in rows.items():
        groups.setdefault((why, tuple(engines)), []).append(need)
    for (why, where), needs in groups.items():
        yield f"{' '.join(filter(None, (listed(needs), _on(where, running))))}: {why}"


def unexamined(report: Report) -> list[str]:
    """What rules were not judged, on which engines, and why; without those that only miss some cells."""
    running = [use.name for use in report.engines]
    groups: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for row in report.not_run:
        where, colon, why = row.why.partition(": ")
        engine = where if colon and where in running else ""
        if engine and row.rule != EVERY and of_cells(row):
            continue
        rules, engines = groups.setdefault(_ASIDE.sub("", why if engine else row.why), ({}, {}))
        rules |= {} if row.rule == EVERY else {row.rule: None}
        engines |= {engine: None} if engine else dict.fromkeys(running)
    return [
        ": ".join(filter(None, (" ".join(filter(None, (", ".join(rules), _on(engines, running)))), why)))
        for why, (rules, engines) in groups.items()
    ]


def _on(engines: Iterable[str], running: Sequence[str]) -> str:
    named = [engine for engine in running if engine in set(engines)]
    return "" if len(named) == len(running) else f"on {listed(named)}"


# ----------------------------------------------------------------------------------------------- for machines


def members(vetted: Vetted, told: str) -> dict[str, Any]:
    """What objects for machines have besides the findings; `told` is the answer."""
    return {
        "answer": told,
        "verdicts": [
            {
                "engine": one.engine,
                "need": one.need,
                "verdict": one.verdict,
                "because": [*one.because],
                "asked": one.asked,
                **({"why": one.why} if one.why else {}),
            }
            for one in vetted.verdicts
        ],
        "launch": {engine: launch.line for engine, launch in vetted.launches.items()},
        "launch_remarks": {
            engine: [*launch.remarks, *launch.aside]
            for engine, launch in vetted.launches.items()
            if launch.remarks or launch.aside
        },
        "cures": [{"says": says, "command": command} for says, command in vetted.cures],
    }

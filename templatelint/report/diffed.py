"""Comparisons → text for people: what breaks first, each with evidence and remedy, then what merely differs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint.outcomes import BY_ID
from templatelint.predictions import VERDICTS
from templatelint.reading import shortened
from templatelint.report.evidence import typed
from templatelint.report.summary import counted, footer
from templatelint.report.terminal import Style, visible, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from templatelint.diff import Comparison
    from templatelint.model import EngineUse, NotRun
    from templatelint.predictions import Prediction, Span, Verdict
    from templatelint.report import Remark, Setting

VERDICT_STYLES: dict[Verdict, Style] = {"breaks": "red", "degrades": "yellow", "changes": "blue", "improves": "green"}
_COUNTED: dict[Verdict, str] = {
    "breaks": "break",
    "degrades": "degrade",
    "changes": "change",
    "improves": "improvement",
}
_LOSSES = frozenset({"breaks", "degrades"})
_EXCERPT = 110  # characters of a prompt
_BROUGHT = 6  # things that are lost with a larger one
_NAMED = 4  # requests of the user's own


def write(
    comparisons: Sequence[Comparison],
    engines: Sequence[EngineUse],
    not_run: Sequence[NotRun],
    remarks: Iterable[Remark],
    setting: Setting,
) -> Iterator[str]:
    """A page for each comparison, and a line on the engines.

    Args:
        comparisons: what was compared.
        engines: those asked.
        not_run: those that could not be, and what they could not tell.
        remarks: what a reader has to know of how references were understood.
        setting: how the reader wants it told.
    """
    for comparison in comparisons:
        yield from _page(comparison, setting)
        yield "\n"
    if not setting.quiet:
        yield from footer(engines, not_run, remarks, setting.columns)


def _page(comparison: Comparison, setting: Setting) -> Iterator[str]:
    paint = setting.paint
    for at, (letter, ref) in enumerate((("A", comparison.a.ref), ("B", comparison.b.ref))):
        engines = "" if comparison.paired else f" on {', '.join(pair[at] for pair in comparison.pairs)}"
        yield f"{paint(letter, 'cyan')}  {paint(visible(ref), 'bold')}{engines}\n"
    yield "\n"
    predictions, requests = _grouped(comparison.predictions)
    brought = _brought(predictions)
    for prediction in predictions:
        if prediction.verdict in _LOSSES and not prediction.follows:
            yield from _loss(prediction, brought.get(prediction.subject, ()), requests.get(prediction, ()), setting)
            yield "\n"
    others = [one for one in predictions if one.verdict not in _LOSSES and not one.follows]
    for prediction in others:
        yield from _line(prediction, setting)
    if others:
        yield "\n"
    yield from _differences(comparison, setting)
    if not setting.quiet:
        yield _verdict(predictions, comparison, setting) + "\n"


def _grouped(
    predictions: Sequence[Prediction],
) -> tuple[list[Prediction], Mapping[Prediction, list[str]]]:
    """The predictions, those that say the same of several requests of the user's own once; and the names of these."""
    groups: dict[Prediction, list[Prediction]] = {}
    for one in predictions:
        groups.setdefault(replace(one, request="", evidence=(), launch=()), []).append(one)
    firsts = [group[0] for group in groups.values()]
    names = {group[0]: [one.request for one in group if one.request] for group in groups.values()}
    return firsts, names


def _brought(predictions: Sequence[Prediction]) -> Mapping[str, list[Prediction]]:
    """Larger subject → the losses that it brings."""
    found: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        if prediction.follows and prediction.verdict in _LOSSES:
            found.setdefault(prediction.follows, []).append(prediction)
    return found


def _loss(
    prediction: Prediction, brought: Sequence[Prediction], requests: Sequence[str], setting: Setting
) -> Iterator[str]:
    paint = setting.paint
    label = paint(f"{prediction.verdict}[{prediction.need}]", VERDICT_STYLES[prediction.verdict])
    yield f"{label} {paint(visible(prediction.message), 'bold')}\n"
    sign = f"  {paint('=', 'blue')} "
    yield f"{sign}on {', '.join(prediction.engines)}\n"
    if requests:
        more = f" and {len(requests) - _NAMED} more" if len(requests) > _NAMED else ""
        yield from _hanging(sign, f"requests: {visible(', '.join(requests[:_NAMED]))}{more}", setting)
    spans = _both(prediction)
    if len({(span.text, span.failed) for span in spans}) > 1:
        yield from (f"{sign}{letter}: {_shown(span)}\n" for letter, span in zip("AB", spans, strict=False))
    if brought:
        names = list(dict.fromkeys(BY_ID[one.subject].name for one in brought if one.subject in BY_ID))
        more = f" and {len(names) - _BROUGHT} more" if len(names) > _BROUGHT and not setting.verbose else ""
        shown = names if setting.verbose else names[:_BROUGHT]
        yield from _hanging(sign, f"brings with it: {', '.join(shown)}{more}", setting)
    if spans and not requests:
        yield f"{sign}see it: {paint(visible(rerun(spans[-1], setting.replay)), 'bold')}\n"
    if prediction.remedy:
        yield f"{paint('help:', 'cyan')} {visible(prediction.remedy)}\n"


def _both(prediction: Prediction) -> tuple[Span, ...]:
    """What the first engine shows, of A and of B."""
    return prediction.evidence[:2]


def _shown(span: Span) -> str:
    said = visible(shortened(span.text, _EXCERPT))
    return f"fails: {said}" if span.failed else f'"{said}"'


def _hanging(sign: str, text: str, setting: Setting) -> Iterator[str]:
    first, *rest = wrapped(text, setting.columns - 4)
    yield f"{sign}{first}\n"
    yield from (f"    {line}\n" for line in rest)


def rerun(span: Span, replay: Sequence[str]) -> str:
    """The command that shows the whole prompt."""
    from shlex import join

    return join(["templatelint", "render", typed(span.ref), "--case", span.case, "--engine", span.engine, *replay])


def _line(prediction: Prediction, setting: Setting) -> Iterator[str]:
    label = f"{prediction.verdict}[{prediction.need}]"
    text = f"{prediction.message} (on {', '.join(prediction.engines)}; {prediction.before} → {prediction.after})"
    first, *rest = wrapped(f"{label} {visible(text)}", setting.columns)
    yield first.replace(label, setting.paint(label, VERDICT_STYLES[prediction.verdict]), 1) + "\n"
    yield from (f"  {line}\n" for line in rest)


def _differences(comparison: Comparison, setting: Setting) -> Iterator[str]:
    """What differs and loses nothing: named, and shown where more is wanted."""
    differing = comparison.differing
    if not differing:
        return
    if not setting.verbose:
        names = dict.fromkeys(one.subject for one in differing)
        yield from (f"{line}\n" for line in wrapped(f"also differs (-v shows it): {', '.join(names)}", setting.columns))
        yield "\n"
        return
    for one, engines in differing.items():
        where = "" if len(engines) == len(comparison.pairs) else f" (on {', '.join(engines)})"
        yield from _hanging("  · ", visible(one.message) + where, setting)
        yield f"      A: {visible(shortened(one.before, _EXCERPT))}\n"
        yield f"      B: {visible(shortened(one.after, _EXCERPT))}\n"
    yield "\n"


def _verdict(predictions: Sequence[Prediction], comparison: Comparison, setting: Setting) -> str:
    paint = setting.paint
    alone = [one for one in predictions if not one.follows]
    counts = [(verdict, sum(one.verdict == verdict for one in alone)) for verdict in VERDICTS]
    told = [paint(counted(count, _COUNTED[verdict]), VERDICT_STYLES[verdict]) for verdict, count in counts if count]
    line = ", ".join(told) if told else _nothing(comparison, setting)
    if comparison.judged is None:
        return line
    broken = {one.request for one in comparison.predictions if one.request and one.verdict == "breaks"}
    if comparison.judged:
        line += f" · {len(broken)} of {counted(comparison.judged, 'request')} break"
    return f"{line} · {failing(comparison.failing)}" if comparison.failing else line


def failing(count: int) -> str:
    """A clause on requests of the user's own that A refuses too."""
    return f"{count} fail{'s' if count == 1 else ''} with A too"


def _nothing(comparison: Comparison, setting: Setting) -> str:
    """What is said where nothing is predicted."""
    if comparison.blind:
        return setting.paint("nothing could be compared", "yellow")
    return setting.paint("what works with A works with B", "green")

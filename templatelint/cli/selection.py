"""Which rules are judged for whom, and what of it is shown: options of the commands that judge → lint.Options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from templatelint.cli.options import Word, split
from templatelint.model import SEVERITIES, Severity

if TYPE_CHECKING:
    from collections.abc import Callable

    from templatelint.cli.options import Session
    from templatelint.config import Config
    from templatelint.lint import Options

    Command = TypeVar("Command", bound=Callable[..., Any])

_SEVERITY = Word("severity", lambda: SEVERITIES, metavar="SEVERITY")


def selection_options(function: Command) -> Command:
    """Give a command `--select`, `--extend-select` and `--ignore`."""
    decorated: Any = function
    for flag, says in (
        ("--ignore", "Not these."),
        ("--extend-select", "These too."),
        ("--select", "Only these ids, prefixes or names."),
    ):
        decorated = click.option(flag, multiple=True, metavar="RULE,...", callback=split, help=says)(decorated)
    return cast("Command", decorated)


def severity_options(people: str) -> Callable[[Command], Command]:
    """`--min-severity` and `--fail-on`.

    Args:
        people: the formats that show no more than what was asked for.
    """

    def decorate(function: Command) -> Command:
        decorated: Any = click.option(
            "--fail-on", type=_SEVERITY, help="Exit 1 at this severity and above.  [default: error]"
        )(function)
        says = f"Show this severity and above (error, warning or note) in {people}; the others carry all."
        decorated = click.option("--min-severity", type=_SEVERITY, help=f"{says}  [default: warning]")(decorated)
        return cast("Command", decorated)

    return decorate


@dataclass(frozen=True)
class Chosen:
    """What of it was typed; empty where nothing was."""

    engine: tuple[str, ...]
    parsers: tuple[tuple[str, str], ...]
    needs: tuple[str, ...]
    select: tuple[str, ...]
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]

    def options(self, config: Config, *, jobs: int | None = None, vetting: bool = False) -> Options:
        """Flags over settings, checked."""
        from templatelint.lint import Options, chosen

        if self.parsers:
            from templatelint.dialects.serving.parsers import need_asked

            need_asked(self.parsers, self.engine or config.engine or (), "--tool-call-parser")
        select, extend, ignore = self._selection(config)
        options = Options(
            engines=tuple(dict.fromkeys(self.engine or config.engine or ())),
            needs=self.needs or config.needs,
            select=select,
            extend_select=extend,
            ignore=ignore,
            jobs=jobs or config.jobs or 0,
            parsers=self.parsers or config.parsers,
            vetting=vetting,
        )
        if not chosen(options):
            raise click.UsageError("no rule is left: all that are selected are ignored")
        return options

    def _selection(self, config: Config) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Which rules: `--select` replaces what the settings say, the other two come on top of it and win."""
        typed = (self.select, self.extend_select, self.ignore)
        if not any(typed):  # the settings were checked as they were read
            return config.select or (), config.extend_select or (), config.ignore or ()
        from templatelint import cards

        select, extend, ignore = (tuple(rule for word in words for rule in cards.select(word)) for words in typed)
        if select:
            return select, extend, ignore
        ignored = {rule for word in config.ignore or () for rule in cards.select(word)} - set(extend)
        return config.select or (), (*(config.extend_select or ()), *extend), (*sorted(ignored), *ignore)


def least(session: Session, min_severity: Severity | None, fail_on: Severity | None) -> Severity:
    """What is shown: as asked, or else no less than what decides the exit code."""
    asked = min_severity or session.config.min_severity
    if asked is not None:
        return asked
    note = session.verbose or "note" in {fail_on, session.config.fail_on}
    return "note" if note else "warning"

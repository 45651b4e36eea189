"""`rule`: an id or a name → the rule's card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import CLEAN, output
from templatelint.cli.group import Command
from templatelint.cli.options import Session, common
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Card


@click.command(
    cls=Command,
    examples=("templatelint rule TL201", "templatelint rule --all --output-format json"),
)
@click.argument("rule", required=False)
@click.option("--all", "every", is_flag=True, help="Every card.")
@common(("text", "json", "jsonl"))
def command(session: Session, rule: str | None, every: bool) -> int:
    """Explain a rule, given by its id or its name; list those of a prefix (TL2), or without one all.

    TL9 is what probe checks: the clauses that a live endpoint keeps or breaks.
    """
    from templatelint import cards

    if rule is not None and every:
        raise TemplatelintError("a rule and --all exclude each other")
    chosen = [*cards.select_any("TL" if rule is None else rule)]
    single = len(chosen) == 1 and rule is not None and rule.lower() in {chosen[0].id.lower(), chosen[0].name}
    if session.output_format == "jsonl":
        session.write(output.as_json([_object(card) for card in chosen], "rules", lines=True))
    elif session.output_format == "json":
        session.write(_json(chosen, single=single))
    elif not every and not single:
        session.write(_index(session, chosen))
    else:
        session.write(_pages(session, chosen))
    return CLEAN


def _json(chosen: Sequence[Card], *, single: bool) -> Iterator[str]:
    """One card as an object, several as a list."""
    import json

    objects = [_object(card) for card in chosen]
    yield json.dumps(objects[0] if single else objects, indent=2) + "\n"


def _object(card: Card) -> dict[str, Any]:
    return {
        "id": card.id,
        "name": card.name,
        "title": card.title,
        "impact": card.impact,
        "need": card.need,
        "fix": card.fix,
        "since": card.since,
        "command": card.command,
        "subsumed_by": list(card.subsumed_by),
        "prose": card.prose,
    }


def _index(session: Session, chosen: Sequence[Card]) -> Iterator[str]:
    pad = max((len(card.name) for card in chosen), default=0)
    for card in chosen:
        told_by = "" if card.command == "lint" else f" · {card.command}"
        yield f"{session.paint(card.id, 'bold')}  {card.name:<{pad}}  {card.impact} · {card.need}{told_by}\n"


def _pages(session: Session, chosen: Sequence[Card]) -> Iterator[str]:
    from templatelint.report.rule_page import facts

    for number, card in enumerate(chosen):
        text = f"# {card.name} ({card.id})\n\n{card.title}\n\n{facts(card)}\n\n{card.prose}"
        if number:
            yield "\n"
        yield _rendered(text, session) if session.paint.on and session.terminal else text


def _rendered(text: str, session: Session) -> str:
    from io import StringIO

    from rich.console import Console
    from rich.markdown import Markdown

    page = StringIO()
    console = Console(file=page, force_terminal=True, width=min(session.columns, 100), highlight=False)
    console.print(Markdown(text))
    return page.getvalue()

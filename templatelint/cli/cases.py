"""`cases`: the canonical conversations, listed or shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import CLEAN, output
from templatelint.cli.group import Command
from templatelint.cli.options import Session, common

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Case


@click.command(
    cls=Command,
    examples=(
        "templatelint cases",
        "templatelint cases chat-basic --output-format json",
        "templatelint cases --scripted-gguf out.gguf --template chat_template.jinja",
    ),
)
@click.argument("case", metavar="[ID]", required=False)
@click.option(
    "--scripted-gguf",
    "out",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write a small model that says scripted replies and calls, for rehearsals.",
)
@click.option("--template", "ref", metavar="REF", help="What carries its template: any reference.")
@click.option("--dialect", metavar="NAME", help="The dialect of its calls, instead of the template's own.")
@click.option(
    "--scripts",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Further scripts: a JSON object of names and texts or calls; @@NAME in a message chooses one.",
)
@common(("text", "json", "jsonl"))
def command(session: Session, case: str | None, out: Path | None, ref: str | None, **values: Any) -> int:
    """List the canonical conversations, or show one; ID+VARIANT names a variant of one.

    With --scripted-gguf, write a GGUF that any llama.cpp serves with the template of REF, and that replies by scripts.
    """
    from templatelint import cases

    if out is not None:
        from templatelint.cli import scripting

        if case is not None or ref is None:
            raise click.UsageError("--scripted-gguf goes with --template REF, and with no ID")
        scripting.write(session, scripting.Wanted(out, ref, **values))
        return CLEAN
    if ref is not None or any(value is not None for value in values.values()):
        raise click.UsageError("--template, --dialect and --scripts go with --scripted-gguf OUT")
    chosen = list(cases.all_cases().values()) if case is None else [cases.get(case)]
    if session.output_format in {"json", "jsonl"}:
        rows = [_object(case) for case in chosen]
        session.write(output.as_json(rows, "cases", lines=session.output_format == "jsonl"))
    elif case is None:
        session.write(_index(session, chosen))
    else:
        session.write(_page(session, chosen[0]))
    return CLEAN


def request_body(case: Case) -> dict[str, Any]:
    """The case's request as the body of a chat-completions call; what it leaves at its default is absent."""
    request = case.request
    body: dict[str, Any] = {"messages": list(request.messages)}
    if request.tools is not None:
        body["tools"] = list(request.tools)
    if request.documents is not None:
        body["documents"] = list(request.documents)
    if not request.add_generation_prompt:
        body["add_generation_prompt"] = False
    if request.continue_final_message is not False:
        body["continue_final_message"] = request.continue_final_message
    if request.variables:
        body["chat_template_kwargs"] = {**request.variables}
    if request.media:
        body["allow_media"] = True
    return {**body, **request.extra}


def _object(case: Case) -> dict[str, Any]:
    return {
        "id": case.id,
        "isolates": case.isolates,
        "request": request_body(case),
        "marks": {**case.marks},
        "form": case.form,
        "day": case.day,
    }


def _index(session: Session, chosen: Sequence[Case]) -> Iterator[str]:
    pad = max((len(case.id) for case in chosen), default=0)
    for case in chosen:
        yield f"{session.paint(f'{case.id:<{pad}}', 'bold')}  {case.isolates}\n"


def _page(session: Session, case: Case) -> Iterator[str]:
    import json

    from templatelint.report.terminal import visible_block

    yield f"{session.paint(case.id, 'bold')}: {case.isolates}\n\n"
    yield visible_block(json.dumps(request_body(case), indent=2, ensure_ascii=False)) + "\n"
    if case.marks:
        yield "\nmarks\n"
        pad = max(len(name) for name in case.marks)
        for name, text in case.marks.items():
            yield f"  {name:<{pad}}  {text}\n"

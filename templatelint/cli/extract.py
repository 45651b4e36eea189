"""`extract`: a reference → the templates it carries, byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import CLEAN, FINDINGS, output
from templatelint.cli.group import Command
from templatelint.cli.options import Session, common
from templatelint.errors import TemplatelintError
from templatelint.nearest import unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from templatelint.model import Model, Template


@click.command(
    cls=Command,
    examples=(
        "templatelint extract tokenizer_config.json",
        "templatelint extract model.gguf -o chat_template.jinja",
    ),
)
@click.argument("ref")
@click.option("--name", metavar="NAME", help="The template of that name, where there are several.")
@click.option("--all", "every", is_flag=True, help="Every template; with -o DIR each as DIR/NAME.jinja.")
@click.option("--stdin-filename", metavar="FILE", help="What the text on stdin is, for the REF -.")
@common(("text", "json", "jsonl"))
def command(session: Session, ref: str, name: str | None, every: bool, stdin_filename: str | None) -> int:
    """Print or write the chat templates that REF carries, exactly as it carries them."""
    from templatelint import sources
    from templatelint.cli import references
    from templatelint.report.terminal import visible

    if name is not None and every:
        raise TemplatelintError("--name and --all exclude each other")
    model = sources.resolve(ref, stdin_filename=stdin_filename, reach=session.reach())
    references.need_other_file(session.output_file, references.Read(((model.ref, model),), ()))
    if not model.templates:
        _tell_none(session, model.ref)
        return FINDINGS
    chosen = model.templates if every else (_one(session, model, name),)
    if session.output_format not in {"json", "jsonl"} and not any(template.source for template in chosen):
        output.tell(f"{visible(model.ref)}: carries an empty chat template")
        return FINDINGS
    if session.output_format in {"json", "jsonl"}:
        rows = [_object(model, template) for template in chosen]
        session.write(output.as_json(rows, "templates", lines=session.output_format == "jsonl"))
    elif every and session.output_file is not None:
        _write_each(session.output_file, chosen)
    else:
        session.write(_text(session, chosen))
    return CLEAN


def _tell_none(session: Session, ref: str) -> None:
    from templatelint.report.terminal import visible

    if session.output_format == "json":
        session.write(output.as_json((), "templates", lines=False))
    output.tell(f"{visible(ref)}: carries no chat template")


def _one(session: Session, model: Model, name: str | None) -> Template:
    names = [template.name for template in model.templates]
    if name is not None:
        if (template := model.template(name)) is None:
            raise unknown("template", name, names, where=f"{model.ref}: ")
        return template
    if len(names) == 1:
        return model.templates[0]
    if (template := model.template("default")) is None:
        raise TemplatelintError(
            f"{model.ref}: carries {', '.join(names)}, none of them the default", help="pick one with --name"
        )
    others = ", ".join(other for other in names if other != "default")
    session.note(f"{model.ref} also carries {others} (--name NAME or --all)")
    return template


def _text(session: Session, chosen: Sequence[Template]) -> Iterator[str]:
    from templatelint.report.terminal import visible, visible_block

    for template in chosen:
        if len(chosen) > 1:
            yield session.paint(f"── {visible(template.name)}", "bold") + "\n"
        # what a program reads is exact, what a person reads is safe
        yield visible_block(template.source) if session.terminal else template.source
        if (session.terminal or len(chosen) > 1) and not template.source.endswith("\n"):
            yield "\n"


def _object(model: Model, template: Template) -> dict[str, Any]:
    named = model.picked or template.name != "default"
    return {
        "ref": f"{model.ref}#{template.name}" if named else model.ref,
        "name": template.name,
        "path": template.origin.path,
        "sha256": template.sha256,
        "bytes": len(template.source.encode("utf-8", "surrogatepass")),
        "source": template.source,
        "tokens": {**model.tokenizer.special_tokens},
        "tokens_assumed": model.tokenizer.assumed,
    }


def _write_each(folder: Path, templates: Sequence[Template]) -> None:
    files = {template.name: f"{_file_stem(template.name)}.jinja" for template in templates}
    if len({file.casefold() for file in files.values()}) < len(templates):
        raise TemplatelintError(f"names that differ in case only: {', '.join(files)}", help="use --name for each")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TemplatelintError(f"{folder}: cannot be made a folder: {reason}") from error
    for template in templates:
        output.to_file(folder / files[template.name], [template.source])


def _file_stem(name: str) -> str:
    """The name as a file name; what a model calls its templates never leads out of the folder."""
    from urllib.parse import quote

    quoted = quote(name, safe=" ", errors="surrogatepass")
    return "%2E" + quoted[1:] if quoted.startswith(".") else quoted

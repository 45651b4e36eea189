"""`cases --scripted-gguf`: a template → a small model of it that says scripts, for rehearsals of clients."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import output
from templatelint.errors import TemplatelintError, clip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.cli.options import Session
    from templatelint.dialects.reply import ToolCall
    from templatelint.model import Model
    from templatelint.scripted import Scripted

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_SHAPE = 'a script is a text, or {"calls": [{"name": …, "arguments": {…}}]}'


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of it, as typed."""

    out: Path
    ref: str
    dialect: str | None
    scripts: Path | None


def write(session: Session, wanted: Wanted) -> None:
    """Write the file and tell of it.

    Raises:
        TemplatelintError: what was asked for cannot be.
    """
    from templatelint import scripted, sources

    further = _further(wanted.scripts) if wanted.scripts is not None else {}
    model = sources.resolve(wanted.ref, reach=session.reach())
    _need_place(wanted, model, session.output_file)
    made = scripted.script(model, dialect=wanted.dialect, further=further)
    output.to_file(wanted.out, [made.gguf])
    for note in made.notes:
        session.note(note)
    if session.output_format in {"json", "jsonl"}:
        session.write(_object(wanted, made, lines=session.output_format == "jsonl"))
    else:
        session.write(_lines(wanted, made))


def _need_place(wanted: Wanted, model: Model, result: Path | None) -> None:
    """Refuse a file that is read, or that the result is written to."""
    out = wanted.out
    if str(out) == "-":
        raise TemplatelintError("--scripted-gguf writes a file, and nothing to stdout", help="name one: out.gguf")
    if out.is_dir():
        raise TemplatelintError(f"{out}: is a folder, not a file")
    if not out.exists():
        if not out.parent.is_dir():
            raise TemplatelintError(f"{out}: there is no folder {out.parent}")
    elif out.is_file():
        read = {Path(template.origin.path) for template in model.templates}
        if any(path.exists() and out.samefile(path) for path in read):
            raise TemplatelintError(f"{out} is the file that the template is taken from")
        if wanted.scripts is not None and out.samefile(wanted.scripts):
            raise TemplatelintError(f"{out} is the file that the scripts are taken from")
    if result is not None and result.absolute() == out.absolute():
        raise click.UsageError("-o takes the words, and --scripted-gguf the model: give two files")


def _lines(wanted: Wanted, made: Scripted) -> Iterator[str]:
    from templatelint.report.terminal import visible
    from templatelint.scripted import scripts

    path = str(wanted.out)
    calls = "no calls" if made.dialect == scripts.NO_DIALECT else f"calls in {made.dialect}"
    yield visible(f"wrote {path}: {calls}, chosen by {' '.join(made.selectors)} ({len(made.gguf):,} bytes)") + "\n"
    if made.served:
        yield visible(f"serve it: llama-server -m {quote(path)}") + "\n"


def _object(wanted: Wanted, made: Scripted, *, lines: bool) -> Iterator[str]:
    path = str(wanted.out)
    row = {
        "path": path,
        "bytes": len(made.gguf),
        "dialect": made.dialect,
        "foreign": made.foreign,
        "prefix": made.prefix,
        "result_marker": made.marker,
        "scripts": [
            {"name": name, "selector": chosen, "text": text}
            for (name, text), chosen in zip(made.texts.items(), made.selectors, strict=True)
        ],
        "notes": list(made.notes),
        "serve": ["llama-server", "-m", path] if made.served else None,
    }
    return output.as_json([row], "scripted", lines=lines)


# ------------------------------------------------------------------------------------------ the user's scripts


def _further(path: Path) -> dict[str, str | Sequence[ToolCall]]:
    """Script → text or calls, of a file."""
    from templatelint.sources import json_object

    _, found = json_object.read(str(path))
    for name in found:
        _need_name(path, name)
    _need_no_selectors(path, found)
    return {name: _script(path, name, value) for name, value in found.items()}


def _need_name(path: Path, name: str) -> None:
    """Refuse what is no name, and names of our own scripts, whose texts the checks of `probe` know."""
    from templatelint.scripted import scripts

    if not _NAME.fullmatch(name):
        raise TemplatelintError(
            f"{path}: {clip(name)!r} is no name of a script", help="letters, digits, - and _, up to 32, first a letter"
        )
    if name in scripts.NAMES:
        raise TemplatelintError(
            f"{path}: {name} is a script of every model, and has no other text",
            help=f"give it another name than {', '.join(scripts.NAMES)}",
        )


def _need_no_selectors(path: Path, found: Mapping[str, Any]) -> None:
    """Refuse what would choose another script once it stands in the history of a conversation."""
    from templatelint.scripted import scripts

    selectors = [scripts.selector(name) for name in (*scripts.NAMES, *found)]
    for name, value in found.items():
        chosen = next((selector for selector in selectors for text in _texts(value) if selector in text), None)
        if chosen is not None:
            raise TemplatelintError(
                f"{path}: the script {name} holds {chosen}, which chooses a script in the conversation that goes on"
            )


def _texts(value: Any) -> Iterator[str]:
    """The texts in a JSON value, names of members among them."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list):
            left += one


def _script(path: Path, name: str, value: Any) -> str | list[ToolCall]:
    if isinstance(value, str):
        return value
    calls = value.get("calls") if isinstance(value, dict) and value.keys() == {"calls"} else None
    if not isinstance(calls, list) or not calls:
        raise TemplatelintError(f"{path}: the script {name} is neither a text nor calls", help=_SHAPE)
    return [_call(path, name, call) for call in calls]


def _call(path: Path, name: str, value: Any) -> ToolCall:
    from templatelint.dialects.reply import ToolCall

    called = value.get("name") if isinstance(value, dict) else None
    arguments = value.get("arguments", {}) if isinstance(value, dict) else None
    if not isinstance(called, str) or not called.strip() or not isinstance(arguments, dict):
        raise TemplatelintError(f"{path}: the script {name} has a call without name and arguments", help=_SHAPE)
    return ToolCall(called, arguments)

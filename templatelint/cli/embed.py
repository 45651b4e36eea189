"""`embed`: a GGUF and a template → a copy of the GGUF that carries it, everything else byte for byte."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import CLEAN, FINDINGS, output
from templatelint.cli.group import Command
from templatelint.cli.options import Session, common
from templatelint.errors import TemplatelintError
from templatelint.nearest import unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from templatelint.embed import Written
    from templatelint.model import Finding, Model, Report, Template

_ENGINE = "llama.cpp"
_UNLOADED = "TL001"
_MAX_NAME = 64  # characters
_WRITABLE = "give -o another file, or leave to write it (chmod u+w)"
_READ = ("default", "tool_use")  # of a file's templates; common/chat.cpp, common_chat_templates_init
_SHORT = 12  # hex digits of a hash, for people
_CACHE = "blobs"  # of the Hub's cache: files there are called by their hash


@dataclass(frozen=True)
class _Flags:
    """The command's own options as typed."""

    ref: str
    name: str
    in_place: bool
    force: bool


@dataclass(frozen=True)
class _Wanted:
    """What is to be written, and how it is judged.

    Attributes:
        template: with the name that it is to have.
        target: the file to write, links followed.
        shown: the same as the user calls it.
        report: what `lint` and `vet` say of it on llama.cpp.
    """

    gguf: str
    template: Template
    target: Path
    shown: str
    report: Report


@click.command(
    cls=Command,
    examples=(
        "templatelint embed model.gguf --template chat_template.jinja -o fixed.gguf",
        "templatelint embed model.gguf --template chat_template.jinja --in-place",
    ),
)
@click.argument("gguf")
@click.option("--template", "ref", metavar="REF", required=True, help="What carries the template: any reference.")
@click.option("--name", metavar="NAME", default="default", help="Its name in the file, as `tool_use`.")
@click.option("--in-place", is_flag=True, help="Replace GGUF itself, at once and whole, instead of -o.")
@click.option("--force", is_flag=True, help="Write it even where llama.cpp does not load it, or GGUF is damaged.")
@common(("text", "json"))
def command(session: Session, gguf: str, **values: Any) -> int:
    """Write a copy of GGUF with another chat template; tensors and all other metadata stay as they are.

    Of a split model give the first file. A template that llama.cpp does not load is refused (exit 1).
    """
    from templatelint import embed, sources
    from templatelint.cli.progress import bar

    flags = _Flags(**values)
    if flags.in_place == (session.output_file is not None):
        raise click.UsageError("give either -o NEW.gguf or --in-place")
    _need_name(flags.name)
    _need_local(gguf)
    model = sources.resolve(gguf, reach=session.reach(vetting=True))
    if model.kind != "gguf":
        raise TemplatelintError(f"{gguf} is no GGUF", help="templates of other files are files: edit those")
    template = _template(sources.resolve(flags.ref, reach=session.reach()), flags.name)
    target = _target(gguf, session.output_file, template)
    if output.read_only(target):
        raise TemplatelintError(f"{session.output_file or gguf} is read-only", help=_WRITABLE)
    if model.damage and not flags.force:
        from templatelint.sources.gguf_structure import made_so

        mend = "convert the model again" if made_so(model.damage[0]) else "fetch it again"
        raise TemplatelintError(f"{gguf}: {model.damage[0]}", help=f"{mend}, or copy it as it is with --force")
    template = replace(template, name=flags.name)
    shown = str(session.output_file or gguf)
    wanted = _Wanted(gguf, template, target, shown, _judged(model, template))
    refusal = _refusal(wanted)
    if refusal and not flags.force:
        session.error(f"nothing was written: {refusal}", "mend the template, or write it as it is with --force")
        return FINDINGS
    output.encoded(template.source)  # raises where it has no UTF-8 form
    links = _names(target) if flags.in_place else 1
    with bar("writing (MiB)", quiet=session.quiet) as progress:
        shown_as = None if progress is None else _in_mebibytes(progress)
        written = embed.embed(gguf, flags.name, template.source, target, shown_as)
    if links > 1:
        session.note(f"{gguf} had {links} names (hard links): the others keep the file as it was")
    if flags.name not in _READ:
        session.note(f"llama.cpp takes no template called {flags.name}: it reads {' and '.join(_READ)}")
    _tell(session, wanted, written, refusal)
    return CLEAN


def _names(path: Path) -> int:
    """How many names a file has."""
    return path.stat().st_nlink


def _in_mebibytes(progress: Callable[[int, int], None]) -> Callable[[int, int], None]:
    return lambda done, total: progress(done >> 20, total >> 20)


def _need_name(name: str) -> None:
    if not name.strip() or len(name) > _MAX_NAME or not name.isprintable():
        raise TemplatelintError(
            f"--name takes up to {_MAX_NAME} printable characters", help="llama.cpp looks for tool_use"
        )


def _need_local(gguf: str) -> None:
    from templatelint.sources import opening

    if gguf == "-" or (opening.status(gguf) is None and (":" in gguf or "/" in gguf)):
        cure = "embed copies a GGUF of this machine: download it first"
        raise TemplatelintError(f"no such file: {gguf}", help=cure)


def _template(model: Model, name: str) -> Template:
    """The template to embed: the one of that name where there are several, else the default, or the only one."""
    templates = model.templates
    if not templates:
        raise TemplatelintError(f"{model.ref} carries no chat template")
    found = templates[0] if len(templates) == 1 else model.template(name) or model.template("default")
    if found is None:
        raise unknown("template", name, [template.name for template in templates], where=f"{model.ref}: ")
    return found


# ------------------------------------------------------------------------------------------- where to


def _target(gguf: str, wanted: Path | None, template: Template) -> Path:
    """The file to write, links followed.

    Raises:
        TemplatelintError: it is the GGUF or the template's file without being meant, or no file can be there.
    """
    target = _followed(wanted if wanted is not None else Path(gguf))
    if wanted is None:
        if target.parent.name == _CACHE:
            raise TemplatelintError(
                f"{gguf} is in the Hub's cache, where files are called by their hash", help="give -o NEW.gguf"
            )
        return target
    if target.is_dir():
        raise TemplatelintError(f"{wanted}: is a folder, not a file")
    if target.exists():
        if not target.is_file():
            raise TemplatelintError(f"{wanted} is no regular file")
        if target.samefile(gguf):
            raise TemplatelintError(f"{wanted} is {gguf} itself", help="--in-place replaces it")
        if Path(template.origin.path).exists() and target.samefile(template.origin.path):
            raise TemplatelintError(f"{wanted} is the file that the template is taken from")
    elif not target.parent.is_dir():
        raise TemplatelintError(f"{wanted}: there is no folder {target.parent}")
    _need_shard_name(gguf, wanted)
    return target


def _followed(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: what Python before 3.13 says of links in a circle
        raise TemplatelintError(f"{path}: links go round in a circle") from error


def _need_shard_name(gguf: str, target: Path) -> None:
    """Of a split, llama.cpp finds the other files by the name of the first."""
    from templatelint.sources.gguf_shards import first_shard

    split = first_shard(Path(gguf).name)
    if split is None:
        return
    ending = split[-len("-00001-of-00001.gguf") :]
    if first_shard(target.name) != target.name or not target.name.endswith(ending):
        raise TemplatelintError(
            f"{target}: {gguf} is the first file of a split, and its copy has to be called so",
            help=f"give -o NAME{ending}, and put the other files beside it under that name",
        )


# ------------------------------------------------------------------------------------------- what of it


def _judged(model: Model, template: Template) -> Report:
    """What llama.cpp makes of the model with that template."""
    from templatelint.lint import Options, lint
    from templatelint.model import Origin

    embedded = replace(template, origin=Origin(model.ref, template.source, locatable=False))
    others = tuple(other for other in model.templates if other.name != template.name)
    templates = (embedded, *others) if template.name == "default" else (*others, embedded)
    return lint([replace(model, templates=templates)], Options(engines=(_ENGINE,), vetting=True))


def _refusal(wanted: _Wanted) -> str:
    """Why llama.cpp does not load the template; empty where it does."""
    for finding in _errors(wanted):
        if finding.rule == _UNLOADED:
            return f"{_ENGINE} does not load the template: {finding.message}"
    if not wanted.template.source.strip():
        return f"the template is empty, and {_ENGINE} takes its built-in ChatML instead"
    unsaid = next((gap for gap in wanted.report.not_run if gap.no_answer), None)
    return f"{_ENGINE} gives no answer: {unsaid.why}" if unsaid else ""


def _errors(wanted: _Wanted) -> list[Finding]:
    return [
        found
        for found in wanted.report.findings
        if found.severity == "error" and found.template in {"", wanted.template.name}
    ]


def _tell(session: Session, wanted: _Wanted, written: Written, refusal: str) -> None:
    import hashlib

    from templatelint.sources.gguf_shards import first_shard

    template, rules = wanted.template, list(dict.fromkeys(finding.rule for finding in _errors(wanted)))
    before = None if written.before is None else hashlib.sha256(written.before.encode()).hexdigest()
    named = "chat template" if template.name == "default" else f"chat template {template.name}"
    if session.output_format == "json":
        row = {
            "gguf": wanted.gguf,
            "path": wanted.shown,
            "bytes": written.size,
            "name": template.name,
            "before": before,
            "sha256": template.sha256,
            "errors": rules,
        }
        output.to_stdout(output.as_json([row], "embedded", lines=False))
    else:
        from templatelint.report.terminal import visible

        old = before[:_SHORT] if before else "none"
        line = f"wrote {wanted.shown}: {named} {old} → {template.sha256[:_SHORT]} ({written.size:,} bytes)"
        output.to_stdout([visible(line), "\n"])
    if refusal:
        session.note(refusal)
    elif rules:
        session.note(
            f"errors on {_ENGINE} ({', '.join(rules)}), which this tells: templatelint vet {quote(wanted.shown)}"
        )
    if wanted.target.parent != Path(wanted.gguf).resolve().parent and first_shard(wanted.target.name):
        session.note("the other files of the split have to stand beside it")

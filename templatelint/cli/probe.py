"""`probe`: a live endpoint → which clauses of its contract it keeps, and the exit code that this deserves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import CLEAN, FINDINGS, NO_ANSWER
from templatelint.cli.group import Command
from templatelint.cli.options import Count, Seconds, Session, common
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.probe import Options, Probed
    from templatelint.probe.catalogue import Check
    from templatelint.report.probed import Run

FORMATS = ("text", "concise", "json", "junit", "markdown", "html")
_PEOPLE = ("text", "concise")
_TOKENS, _SECONDS = 512, 60.0


@dataclass(frozen=True)
class _Flags:
    """The command's own options as typed; empty or None where they were not."""

    model: str
    template: str | None
    suite: str
    all_models: bool
    max_tokens: int
    timeout: float
    allow_inconclusive: bool
    prompts: str | None
    dry_run: bool
    api_key_file: str | None


@click.command(
    cls=Command,
    examples=(
        "templatelint probe http://localhost:8080 --template chat_template.jinja",
        "templatelint probe http://localhost:8080 --suite all --dry-run",
    ),
)
@click.argument("url", metavar="URL")
@click.option("--model", default="", metavar="ID", help="The model to ask for, where several are served.")
@click.option("--all-models", is_flag=True, help="Probe each model, and tell which fail what another passes.")
@click.option("--template", metavar="REF", help="The template that ought to be in force.")
@click.option(
    "--suite",
    default="core",
    metavar="SUITE,...",
    help="core, all, or some of identity, chat, stream, responses, anthropic, errors.  [default: core]",
)
@click.option(
    "--max-tokens",
    type=Count(),
    default=_TOKENS,
    metavar="N",
    help=f"Tokens of an answer, but of those without end that TL933 and TL934 hang up on.  [default: {_TOKENS}]",
)
@click.option(
    "--timeout",
    type=Seconds(),
    default=_SECONDS,
    metavar="SECONDS",
    help="For a request, not for all of a run.  [default: 60]",
)
@click.option("--allow-inconclusive", is_flag=True, help="Exit 0 although the model did not do what some checks need.")
@click.option("--prompts", metavar="FILE", help="Texts of your own for models that need coaxing, as a JSON object.")
@click.option("--dry-run", is_flag=True, help="Print what would be sent (-v: as curl commands), and send nothing.")
@click.option("--api-key-file", metavar="FILE", help="Read the key from here, instead of from TEMPLATELINT_API_KEY.")
@common(FORMATS)
def command(session: Session, url: str, **values: Any) -> int:
    """Check which clauses of its contract a live OpenAI-compatible endpoint keeps.

    Exits 0 when all that were checked are kept, 1 when one is broken, and 2 when there is no answer: no server, one
    that answers no more, or a model that did not do what a check needs.
    """
    from templatelint.cli import key
    from templatelint.probe import Options, catalogue
    from templatelint.report import probed as reports

    flags = _Flags(**values)
    form = _form(session)
    checks = catalogue.select(_words(flags.suite))
    named = _named(url, flags)
    secret = key.read(session, flags.api_key_file)
    options = Options(flags.model, _linted(session, flags), secret, _own(flags), flags.max_tokens, flags.timeout)
    _need_other_file(session, options, flags)
    hide = _hiding(url, secret)
    if flags.dry_run:
        return _rehearse(session, named, checks, options, form)
    try:
        run = _run(_probed(session, url, checks, options, every=flags.all_models), hide, flags)
    except TemplatelintError as trouble:
        session.error(hide(trouble.message), hide(trouble.help) if trouble.help else None)
        if form in _PEOPLE:
            return NO_ANSWER
        run = reports.Run(named, trouble=hide(trouble.message), exit_code=NO_ANSWER)
    look = reports.Look(session.paint, session.columns, session.quiet, session.verbose)
    session.write(reports.write(form, run, look))
    return run.exit_code


# --------------------------------------------------------------------------------------------- what was typed


def _form(session: Session) -> str:
    form = session.output_format or session.config.output_format or "text"
    return form if form in FORMATS else "text"  # settings are those of lint, which has more


def _words(suite: str) -> list[str]:
    return [word for word in map(str.strip, suite.split(",")) if word]


def _named(url: str, flags: _Flags) -> str:
    """The address as people may see it, checked."""
    from templatelint.probe import located
    from templatelint.sources.web_address import shown

    base, _, model = located(url)
    if flags.all_models and (model or flags.model):
        raise click.UsageError("--all-models asks for all models, and one is named")
    if model and flags.model and model != flags.model:
        raise click.UsageError("the address names one model, and --model another")
    return shown(base)


def _linted(session: Session, flags: _Flags) -> Any:
    if flags.template is None:
        return None
    from templatelint import sources

    model = sources.resolve(flags.template, reach=session.reach())
    if not model.templates:
        raise TemplatelintError(f"--template: {model.ref} has no template")
    for note in model.notes:
        session.note(note)
    return model


def _own(flags: _Flags) -> Any:
    """The user's prompts and their file; checked before anything is sent."""
    if flags.prompts is None:
        return None
    if not flags.prompts:
        raise click.UsageError("--prompts names no file")
    from templatelint.probe.prompts import Prompts, with_own
    from templatelint.sources import json_object

    _, texts = json_object.read(flags.prompts)
    with_own(Prompts(), texts, flags.prompts)
    return texts, flags.prompts


def _need_other_file(session: Session, options: Options, flags: _Flags) -> None:
    """Refuse to write the result over a file of the user's that was read."""
    from templatelint.cli.references import Read, need_other_file
    from templatelint.report import Unreadable

    files = tuple(Unreadable(path, "") for path in (flags.prompts, flags.api_key_file) if path is not None)
    models = ((options.linted.ref, options.linted),) if options.linted else ()
    need_other_file(session.output_file, Read(models, files))


def _hiding(url: str, secret: str) -> Callable[[str], str]:
    """What takes the key, and a login in the address, out of any text."""
    from base64 import b64encode

    from templatelint.probe import located
    from templatelint.probe.redaction import hiding

    login = located(url)[1].login
    coded = b64encode(login.encode()).decode() if login else ""
    return hiding([secret, login.partition(":")[2], coded])


# ------------------------------------------------------------------------------------------------------ a run


def _probed(
    session: Session, url: str, checks: Sequence[Check], options: Options, *, every: bool
) -> tuple[Probed, ...]:
    """What came of the model that is meant, or of every one."""
    from templatelint import probe
    from templatelint.cli import progress
    from templatelint.probe import several

    reach = session.reach(vetting=True)
    with progress.bar("probing", quiet=session.quiet) as told:
        if every:
            return several.probe_all(url, checks, options, reach, told)
        return (probe.probe(url, checks, options, reach, told),)


def _run(found: Sequence[Probed], hide: Callable[[str], str], flags: _Flags) -> Run:
    from templatelint.probe.redaction import without
    from templatelint.probe.several import apart
    from templatelint.report.probed import Run

    probed = tuple(without(one, hide) for one in found)
    code = _exit_code(probed, allow=flags.allow_inconclusive)
    return Run(probed[0].url, probed, tuple(apart(probed)), remarks=tuple(_remarks(probed)), exit_code=code)


def _exit_code(probed: Sequence[Probed], *, allow: bool) -> int:
    """A broken clause outweighs what could not be judged."""
    count = {word: sum(one.summary[word] for one in probed) for word in ("fail", "inconclusive", "warn", "pass")}
    if count["fail"]:
        return FINDINGS
    unjudged = any(one.broken_off for one in probed) or not any(count.values())
    return NO_ANSWER if unjudged or (count["inconclusive"] and not allow) else CLEAN


def _remarks(probed: Sequence[Probed]) -> Iterator[str]:
    """What has to be known of the server, whatever was checked."""
    for one in probed:
        if one.left_out:
            yield f"{one.model} is left out, as it takes no chat: {one.left_out}"
    for one in probed:
        launch = one.served.model.launch if one.served.model else None
        tools = launch.settings.get("tools") if launch else None
        if isinstance(tools, list) and tools:
            yield (
                f"the server runs built-in tools for whoever reaches it (GET /tools lists {len(tools)}): "
                "function calling needs none of them, and none was used"
            )
            return


# ------------------------------------------------------------------------------------------------- rehearsals


def _rehearse(session: Session, url: str, checks: Sequence[Check], options: Options, form: str) -> int:
    from templatelint.probe.rehearsal import rehearsed
    from templatelint.report import probed as reports
    from templatelint.report.probed import rehearsal

    if form not in {"text", "json"}:
        raise click.UsageError(f"--dry-run has text and json, and no {form}")
    planned = [*rehearsed(url, checks, options)]
    if form == "json":
        session.write(rehearsal.write_json(url, planned))
    else:
        look = reports.Look(session.paint, session.columns, session.quiet, session.verbose)
        session.write(rehearsal.write_text(url, planned, look, keyed=bool(options.key)))
    return CLEAN

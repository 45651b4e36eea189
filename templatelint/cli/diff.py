"""`diff`: two references and more → what works with the first and breaks with the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from templatelint.cli import CLEAN, FINDINGS, NO_ANSWER
from templatelint.cli.group import Command
from templatelint.cli.options import (
    DEFAULT_SET,
    Session,
    common,
    engine_option,
    needs_option,
    one_engine_option,
    parser_option,
    replay_flags,
    token_options,
)
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.cli.references import Read
    from templatelint.diff import Comparison, Known, Launches
    from templatelint.engines import Engine
    from templatelint.model import Model, NotRun
    from templatelint.replay import Replay
    from templatelint.report import Setting
    from templatelint.traffic import Recorded


@dataclass(frozen=True)
class _Flags:
    """The command's own options as typed; empty or None where they were not."""

    engine: tuple[str, ...]
    engine_a: str | None
    engine_b: str | None
    parsers: tuple[tuple[str, str], ...]
    relaunch: bool
    needs: tuple[str, ...]
    messages: Path | None
    media: bool
    symmetric: bool
    fleet: bool
    prompts: bool
    stdin_filename: str | None
    bos_token: str | None
    eos_token: str | None


@click.command(
    cls=Command,
    examples=(
        "templatelint diff model.gguf model/ --engine llama.cpp",
        "templatelint diff chat_template.jinja --engine-a vllm --engine-b sglang",
    ),
)
@click.argument("refs", metavar="A [B...]", nargs=-1, required=True)
@engine_option("Compare on this engine", DEFAULT_SET)
@one_engine_option("--engine-a", "Serve A on this engine; with --engine-b, in place of --engine.")
@one_engine_option("--engine-b", "Serve B on this one.")
@parser_option
@click.option("--relaunch", is_flag=True, help="B is launched with the parsers that fit B, not with those that fit A.")
@needs_option("What the client relies on, instead of all that works with A")
@click.option(
    "--messages",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Judge the requests recorded in a file or folder: OpenAI, Anthropic or MCP bodies, JSON or JSONL.",
)
@click.option("--media", is_flag=True, help="The server has a multimodal projector, for the requests recorded.")
@click.option("--symmetric", is_flag=True, help="Compare B with A too.")
@click.option("--fleet", is_flag=True, help="Ask what one client of all the models may rely on.")
@click.option("--prompts", is_flag=True, help="Show the prompts side by side.")
@click.option("--stdin-filename", metavar="FILE", help="What the text on stdin is, for the REF -.")
@token_options
@common(("text", "json", "html"))
def command(session: Session, refs: tuple[str, ...], **values: Any) -> int:
    """Predict what works with model A and breaks with model B, engine by engine.

    B takes A's place: same client, same launch flags. More models are each compared with A. Exits 1 where something
    that is needed breaks, 0 where nothing does, and 2 when a REF cannot be read.
    """
    from templatelint.cli import references
    from templatelint.dialects.serving.parsers import need_asked
    from templatelint.outcomes import JUDGED

    flags = _Flags(**values)
    _check(flags, session)
    config = session.config
    pairs = _pairs(flags, config.engine or ())
    need_asked(flags.parsers, [engine.name for pair in pairs for engine in pair], "--tool-call-parser")
    recorded = _recorded(flags, refs)
    tokens = {"bos_token": flags.bos_token, "eos_token": flags.eos_token}
    given = {name: text if text is not None else getattr(config, name) for name, text in tokens.items()}
    read = references.read(refs, stdin_filename=flags.stdin_filename, reach=session.reach(), **given)
    references.need_other_file(session.output_file, read)
    for row in read.unreadable:
        session.error(row.message, row.help)
    models = _models(refs, read, flags)
    if not models:
        return NO_ANSWER
    asked = _Asked(models, pairs, flags, frozenset(flags.needs or config.needs or JUDGED))
    run = _fleet(session, asked, read) if flags.fleet else _comparisons(session, asked, read, recorded)
    session.write(run.pieces)
    return _code(read, run)


def _code(read: Read, run: _Run) -> int:
    if read.unreadable or (run.blind and not run.breaks):
        return NO_ANSWER
    return FINDINGS if run.breaks else CLEAN


def _check(flags: _Flags, session: Session) -> None:
    """Flags that do not go together."""
    if flags.fleet and session.output_format == "html":
        raise TemplatelintError("--fleet has no html", help="--output-format text or json")
    if flags.relaunch and flags.parsers:
        raise TemplatelintError("--relaunch beside --tool-call-parser", help="the parser named is that of both models")
    for flag, given in (
        ("--engine-a", flags.engine_a is not None),
        ("--symmetric", flags.symmetric),
        ("--messages", flags.messages is not None),
        ("--prompts", flags.prompts),
        ("--relaunch", flags.relaunch),
    ):
        if flags.fleet and given:
            raise TemplatelintError(f"--fleet beside {flag}", help="a fleet has no first model: leave one of them out")


def _recorded(flags: _Flags, refs: Sequence[str]) -> Sequence[Recorded]:
    if flags.messages is None:
        if flags.media:
            raise TemplatelintError("--media without --messages", help="it is for the requests recorded there")
        return ()
    from templatelint.cli import references
    from templatelint.traffic import read_recorded

    if str(flags.messages) == "-" and any(map(references.is_stdin, refs)):
        raise TemplatelintError("stdin is asked for twice", help="give the requests or the template as a file")
    recorded = read_recorded(flags.messages)
    if not flags.media:
        return recorded
    return [replace(one, request=one.request and replace(one.request, media=True)) for one in recorded]


def _pairs(flags: _Flags, configured: Sequence[str]) -> list[tuple[Engine, Engine]]:
    """The engine of A and that of B, of each comparison."""
    from templatelint import engines

    if flags.engine_a is None and flags.engine_b is None:
        return [(engine, engine) for engine in engines.running(flags.engine or configured)]
    if flags.engine_a is None or flags.engine_b is None:
        missing, known = ("--engine-a", "--engine-b") if flags.engine_a is None else ("--engine-b", "--engine-a")
        raise TemplatelintError(
            f"{known} without {missing}", help=f"add {missing}, or ask one engine with both models (--engine)"
        )
    if flags.engine:
        raise TemplatelintError(
            "--engine beside --engine-a and --engine-b", help="--engine asks an engine with both models: leave it out"
        )
    return [(engines.get(flags.engine_a), engines.get(flags.engine_b))]


def _models(refs: Sequence[str], read: Read, flags: _Flags) -> list[tuple[str, Model]]:
    """A, and those to be compared with it; none where there is nothing to compare."""
    from templatelint import sources

    models = [*read.models]
    if flags.fleet and models and not read.unreadable:
        return models
    first = sources.public(refs[0])
    if read.unreadable and (first in {row.ref for row in read.unreadable} or len(models) < _TWO):
        return []
    if len(models) == 1 and (len(refs) > 1 or flags.engine_a is not None):
        return models * 2  # named twice, or on two engines
    if len(models) < _TWO and not flags.fleet:
        raise TemplatelintError(
            f"{first} alone: nothing to compare with",
            help="give a second reference, or two engines for the one (--engine-a, --engine-b)",
        )
    return models


_TWO = 2
_FLAWS = 5  # requests that cannot be read, of which each is told


@dataclass(frozen=True)
class _Asked:
    """What is to be compared, and for whom."""

    models: Sequence[tuple[str, Model]]
    pairs: Sequence[tuple[Engine, Engine]]
    flags: _Flags
    needs: frozenset[str]

    @property
    def engines(self) -> list[Engine]:
        """Each engine once."""
        return list({engine.name: engine for pair in self.pairs for engine in pair}.values())


@dataclass(frozen=True)
class _Run:
    """What the command gives.

    Attributes:
        pieces: the result.
        breaks: something needed breaks.
        blind: there is something of which nothing is known: a model on every engine, or requests.
    """

    pieces: Iterator[str]
    breaks: bool
    blind: bool = False


def _known(session: Session, asked: _Asked) -> list[Known]:
    """Each model, observed."""
    from templatelint import diff, outcomes
    from templatelint.cli.progress import bar

    known: list[Known] = []
    with bar("comparing", quiet=session.quiet) as progress:
        for ref, model in asked.models:
            again = next((one for one in known if one.ref == ref), None)
            known.append(again or diff.Known(ref, outcomes.observed(model, asked.engines, asked.needs)))
            if progress is not None:
                progress(len(known), len(asked.models))
    return known


def _launches(session: Session, flags: _Flags) -> Launches:
    from templatelint.diff import Launches

    return Launches(dict(flags.parsers or session.config.parsers), flags.relaunch)


def _comparisons(session: Session, asked: _Asked, read: Read, recorded: Sequence[Recorded]) -> _Run:
    from templatelint import diff

    first, *others = _known(session, asked)
    turned = [(b, a) for a, b in asked.pairs]
    wanted = [(first, other, asked.pairs) for other in others]
    if asked.flags.symmetric:
        wanted += [(other, first, turned) for other in others]
    launches = _launches(session, asked.flags)
    found = []
    for a, b, pairs in wanted:
        comparison = diff.compare(a, b, [(x.name, y.name) for x, y in pairs], asked.needs, launches)
        if recorded:
            own = _replayed(session, recorded, comparison, pairs)
            tools = any(one.request is not None and one.request.tools for one in recorded)
            comparison = diff.with_traffic(comparison, own, asked.needs, tools=tools)
        found.append(comparison)
    breaks = any(comparison.breaks for comparison in found)
    blind = tuple(dict.fromkeys(row for comparison in found for row in comparison.blind))
    for row in blind:
        session.error(f"nothing to compare: {row.ref}: {row.why}")
    flaws = [f"{one.name}: {one.flaw}" for one in recorded if one.request is None]
    for flaw in flaws[:_FLAWS]:
        session.error(flaw)
    if len(flaws) > _FLAWS:
        session.error(f"and {len(flaws) - _FLAWS:,} more requests that cannot be read")
    run = _Run(iter(()), breaks, blind=bool(blind or flaws))
    return replace(run, pieces=_written(session, asked, read, found, recorded, code=_code(read, run)))


def _replayed(
    session: Session, recorded: Sequence[Recorded], comparison: Comparison, pairs: Sequence[tuple[Engine, Engine]]
) -> Replay:
    """The user's own requests with both models, and a bar where there are many."""
    from templatelint import replay
    from templatelint.cli.progress import bar

    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, len(recorded))

    a, b = comparison.a.inspection.model, comparison.b.inspection.model
    with bar("judging requests", quiet=session.quiet) as progress:
        return replay.predictions(recorded, a, b, pairs, advance)


def _written(  # noqa: PLR0913 (what a run consists of)
    session: Session,
    asked: _Asked,
    read: Read,
    found: Sequence[Comparison],
    recorded: Sequence[Recorded],
    *,
    code: int,
) -> Iterator[str]:
    """The comparisons in the format that is wanted."""
    from templatelint import inspection
    from templatelint.report import Remark

    uses = inspection.uses(asked.engines)
    not_run = [*_absent(session, asked), *dict.fromkeys(row for one in found for row in one.not_run)]
    remarks = [*read.remarks(), *(Remark(one.name, text) for one in recorded for text in one.left_out)]
    if session.output_format == "json":
        from templatelint.report import diffed_json

        return diffed_json.write(found, uses, not_run, remarks, read.unreadable, exit_code=code)
    setting = _setting(session, asked)
    if session.output_format == "html":
        from templatelint.report import page

        return page.write_diff(found, uses, not_run, remarks, asked.needs, setting.replay)
    from templatelint.report import diffed

    written = diffed.write(found, uses, not_run, remarks, setting)
    return chain(_prompts(asked, found, recorded, setting), written) if asked.flags.prompts else written


def _prompts(
    asked: _Asked, found: Sequence[Comparison], recorded: Sequence[Recorded], setting: Setting
) -> Iterator[str]:
    """The prompts side by side, before what is said of them."""
    from templatelint.exhibits import exhibits
    from templatelint.report import side_by_side

    requests = {one.name: one.request for one in recorded if one.request is not None}
    for comparison in found:
        yield from side_by_side.write(exhibits(comparison, requests, asked.engines), setting)


def _fleet(session: Session, asked: _Asked, read: Read) -> _Run:
    from templatelint import fleet, inspection

    known = _known(session, asked)
    judged = fleet.judge(known, [engine.name for engine in asked.engines], asked.needs, _launches(session, asked.flags))
    not_run = [*_absent(session, asked)]
    uses, remarks = inspection.uses(asked.engines), [*read.remarks()]
    unknown = Counter(model for model, _, _ in judged.unknown)
    blind = [judged.refs[model] for model, count in unknown.items() if count == len(asked.engines)]
    for ref in blind:
        session.error(f"nothing is known of {ref} on any engine asked")
    run = _Run(iter(()), judged.breaks, blind=bool(blind))
    if session.output_format == "json":
        from templatelint.report import fleet_json

        code = _code(read, run)
        return replace(run, pieces=fleet_json.write(judged, uses, not_run, remarks, read.unreadable, exit_code=code))
    from templatelint.report import fleet as page

    return replace(run, pieces=page.write(judged, uses, not_run, remarks, _setting(session, asked)))


def _absent(session: Session, asked: _Asked) -> tuple[NotRun, ...]:
    from templatelint import inspection

    return inspection.not_run(asked.flags.engine or session.config.engine or ())


def _setting(session: Session, asked: _Asked) -> Setting:
    from templatelint.report import Setting

    return Setting(
        replay=replay_flags(asked.flags.bos_token, asked.flags.eos_token),
        quiet=session.quiet,
        verbose=session.verbose,
        paint=session.paint,
        columns=session.columns,
    )

"""`diff`: two references and more → what works with the first and breaks with the others."""

from __future__ import annotations

from dataclasses import dataclass
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
    replay,
    token_options,
)
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.cli.references import Read
    from templatelint.diff import Comparison, Known
    from templatelint.engines import Engine
    from templatelint.model import Model


@dataclass(frozen=True)
class _Flags:
    """The command's own options as typed; empty or None where they were not."""

    engine: tuple[str, ...]
    engine_a: str | None
    engine_b: str | None
    parsers: tuple[tuple[str, str], ...]
    needs: tuple[str, ...]
    relaunch: bool
    symmetric: bool
    prompts: bool
    stdin_filename: str | None
    bos_token: str | None
    eos_token: str | None


@click.command(
    cls=Command,
    examples=(
        "templatelint diff Qwen2.5-7B-Instruct/ gemma-2-9b-it/ --engine vllm",
        "templatelint diff chat_template.jinja --engine-a transformers --engine-b llama.cpp",
    ),
)
@click.argument("refs", metavar="A B...", nargs=-1, required=True)
@engine_option("Compare on this engine", DEFAULT_SET)
@one_engine_option("--engine-a", "The engine of A, where that of B is another.")
@one_engine_option("--engine-b", "The engine of B.")
@parser_option
@click.option("--relaunch", is_flag=True, help="B is launched with the parsers that fit B, not with those that fit A.")
@needs_option("What the client relies on, instead of all that works with A")
@click.option("--symmetric", is_flag=True, help="Compare B with A too.")
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

    flags = _Flags(**values)
    config = session.config
    pairs = _pairs(flags, config.engine or ())
    need_asked(flags.parsers, [engine.name for pair in pairs for engine in pair], "--tool-call-parser")
    tokens = {"bos_token": flags.bos_token, "eos_token": flags.eos_token}
    given = {name: text if text is not None else getattr(config, name) for name, text in tokens.items()}
    read = references.read(refs, stdin_filename=flags.stdin_filename, **given)
    for row in read.unreadable:
        session.error(row.message, row.help)
    models = _models(refs, read, flags)
    if not models:
        return NO_ANSWER
    comparisons = _compared(session, models, pairs, flags)
    broken = any(comparison.breaks for comparison in comparisons)
    code = NO_ANSWER if read.unreadable else FINDINGS if broken else CLEAN
    _write(session, comparisons, pairs, read, flags, code)
    return code


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
    models = [*read.models]
    if read.unreadable and (refs[0] in {row.ref for row in read.unreadable} or len(models) < _TWO):
        return []
    if len(models) == 1 and (len(refs) > 1 or flags.engine_a is not None):
        return models * 2  # named twice, or on two engines
    if len(models) < _TWO:
        raise TemplatelintError(
            f"{refs[0]} alone: nothing to compare with",
            help="give a second reference, or two engines for the one (--engine-a, --engine-b)",
        )
    return models


_TWO = 2


def _compared(
    session: Session, models: Sequence[tuple[str, Model]], pairs: Sequence[tuple[Engine, Engine]], flags: _Flags
) -> list[Comparison]:
    from templatelint import diff, outcomes
    from templatelint.cli.progress import bar

    needs = frozenset(flags.needs or session.config.needs or outcomes.JUDGED)
    asked = list({engine.name: engine for pair in pairs for engine in pair}.values())
    known: list[Known] = []
    with bar("comparing", quiet=session.quiet) as progress:
        for ref, model in models:
            again = next((one for one in known if one.ref == ref), None)
            known.append(again or diff.Known(ref, outcomes.observed(model, asked, needs)))
            if progress is not None:
                progress(len(known), len(models))
    launches = diff.Launches(dict(flags.parsers or session.config.parsers), flags.relaunch)
    named = [(a.name, b.name) for a, b in pairs]
    first, *others = known
    turned = [(b, a) for a, b in named]
    comparisons = []
    for other in others:
        comparisons.append(diff.compare(first, other, named, needs, launches))
        if flags.symmetric:
            comparisons.append(diff.compare(other, first, turned, needs, launches))
    return comparisons


def _write(  # noqa: PLR0913 (what a run consists of)
    session: Session,
    comparisons: Sequence[Comparison],
    pairs: Sequence[tuple[Engine, Engine]],
    read: Read,
    flags: _Flags,
    code: int,
) -> None:
    from templatelint import inspection
    from templatelint.report import Setting

    uses = inspection.uses(list({engine.name: engine for pair in pairs for engine in pair}.values()))
    not_run = [
        *inspection.not_run(flags.engine or session.config.engine or ()),
        *dict.fromkeys(row for one in comparisons for row in one.not_run),
    ]
    remarks = [*read.remarks()]
    form = session.output_format or "text"
    if form == "json":
        from templatelint.report import diffed_json

        session.write(diffed_json.write(comparisons, uses, not_run, remarks, read.unreadable, exit_code=code))
        return
    from templatelint.report import diffed

    setting = Setting(
        replay=replay(flags.bos_token, flags.eos_token),
        quiet=session.quiet,
        verbose=session.verbose,
        paint=session.paint,
        columns=session.columns,
    )
    session.write(diffed.write(comparisons, uses, not_run, remarks, setting))

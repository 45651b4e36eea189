"""`render`: references × requests × engines → the exact prompts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from templatelint.cli import CLEAN, FINDINGS, NO_ANSWER
from templatelint.cli.group import Command
from templatelint.cli.options import Session, Word, common, engine_option, token_options
from templatelint.errors import TemplatelintError, clip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from templatelint.cli.prompts import Asked, Cell
    from templatelint.cli.real import RealPlan
    from templatelint.cli.references import Read
    from templatelint.engines import Engine
    from templatelint.model import Model, Request

_CONTEXT = 'give a JSON object of template variables: {"messages": [...], "add_generation_prompt": true}'
_BATCH = 100  # requests that one bounded child renders


@dataclass(frozen=True)
class _Flags:
    """The command's own options as typed; empty or None where they were not."""

    case: tuple[str, ...]
    all_cases: bool
    messages: str | None
    tools: str | None
    requests: str | None
    media: bool
    engine: tuple[str, ...]
    real: bool
    variables: tuple[str, ...]
    no_generation_prompt: bool
    date: str | None
    show: Literal["marks", "tokens"] | None
    renderer: str | None
    context: str | None
    stdin_filename: str | None
    bos_token: str | None
    eos_token: str | None


@click.command(
    cls=Command,
    examples=(
        "templatelint render chat_template.jinja --case tool-loop --show marks",
        "templatelint render model/ --messages chat.json --tools tools.json",
    ),
)
@click.argument("refs", metavar="REF...", nargs=-1, required=True)
@click.option(
    "--case", multiple=True, metavar="ID", help="A canonical conversation; repeatable.  [default: chat-basic]"
)
@click.option("--all-cases", is_flag=True, help="Every canonical conversation.")
@click.option("--messages", metavar="FILE", help="A request object or a list of messages; - for stdin.")
@click.option("--requests", metavar="PATH", help="A folder of chat-completions bodies, or a file with a list of them.")
@click.option("--tools", metavar="FILE", help="Tool definitions in OpenAI, Anthropic or MCP form.")
@engine_option("Whose prompt", "transformers")
@click.option("--real", is_flag=True, help="Ask the engine itself, on this machine: llama.cpp.")
@click.option("--set", "variables", multiple=True, metavar="KEY=JSON", help="A template variable of the request.")
@click.option("--no-generation-prompt", is_flag=True, help="Do not ask for the assistant's cue.")
@click.option("--media", is_flag=True, help="The server has a multimodal projector.")
@click.option("--date", metavar="ISO", help="What the template's clock shows.")
@click.option(
    "--show",
    type=Word("thing to show", lambda: ("marks", "tokens"), metavar="WHAT"),
    help="Point out the `marks` of a case, or `tokens`: what looks like a special one.",
)
@click.option("--renderer", metavar="NAME", help="No engine: this renderer, with --context.")
@click.option("--context", metavar="FILE", help="The template variables for --renderer.")
@click.option("--stdin-filename", metavar="FILE", help="What the text on stdin is, for the REF -.")
@token_options
@common(("text", "json", "jsonl"))
def command(session: Session, refs: tuple[str, ...], **values: Any) -> int:
    """Print the exact prompt that an engine gets.

    One prompt is printed as it is; several get a line each that says which is which.
    Canonical conversations are rendered at their own date, requests of yours now.
    """
    from templatelint.cli import prompts, references

    flags = _Flags(**values)
    form = session.output_format or "text"
    if flags.show and form != "text":
        raise TemplatelintError(f"--show is for people, not for --output-format {form}")
    sources = (flags.messages, flags.requests, flags.tools, flags.context)
    if sum(map(references.is_stdin, references.once(refs))) + sources.count("-") > 1:
        raise TemplatelintError("stdin is asked for twice", help="give one of the two as a file")
    if flags.renderer or flags.context:
        plan: _Plan | _RawPlan | RealPlan = _raw_plan(flags)
    else:
        plan = _real_plan(flags, session) if flags.real else _plan(flags)
    config = session.config
    read = references.read(
        refs,
        stdin_filename=flags.stdin_filename,
        bos_token=flags.bos_token if flags.bos_token is not None else config.bos_token,
        eos_token=flags.eos_token if flags.eos_token is not None else config.eos_token,
        reach=session.reach(),
    )
    references.need_other_file(session.output_file, read)
    _tell(session, read, flags)
    failed = withheld = 0

    def counted() -> Iterator[Cell]:
        nonlocal failed, withheld
        for ref, model in read.models:
            for cell in plan.cells(ref, model):
                failed += cell.observation.prompt is None
                withheld += form == "text" and prompts.unwritable(cell, look)
                yield cell

    single = len(refs) == 1 and plan.size == 1
    look = prompts.Look(session.paint, safe=session.terminal or flags.show is not None, show=flags.show)
    session.write(prompts.write(form, counted(), look, single=single, complain=session.error))
    if read.unreadable or withheld:
        return NO_ANSWER
    return FINDINGS if failed else CLEAN


# -------------------------------------------------------------------------------- requests through engines


@dataclass(frozen=True)
class _Plan:
    """What to render of each model, with which engines."""

    asked: Sequence[Asked]
    engines: Sequence[Engine]

    @property
    def size(self) -> int:
        """Cells a model."""
        return len(self.asked) * len(self.engines)

    def cells(self, ref: str, model: Model) -> Iterator[Cell]:
        """Render them, engine by engine."""
        from templatelint import matrix
        from templatelint.cases import to_form
        from templatelint.cli.prompts import Cell
        from templatelint.model import Observation, RenderError

        for engine in self.engines:
            for batch in _batches(self.asked):
                requests = [
                    to_form(asked.request, asked.form or engine.client_form) if asked.canonical else asked.request
                    for asked in batch
                    if not asked.flaw
                ]
                answers = iter(matrix.observe_requests(model, engine, requests, batch[0].now) if requests else ())
                for asked in batch:
                    rejected = Observation(error=RenderError("invalid-request", asked.flaw))
                    template, observation = (None, rejected) if asked.flaw else next(answers)
                    yield Cell(ref, model, template, asked, engine.name, observation)


def _batches(asked: Sequence[Asked]) -> Iterator[list[Asked]]:
    """Runs of requests that share a date, none longer than what one child may work on."""
    batch: list[Asked] = []
    for item in asked:
        if batch and (item.now != batch[0].now or len(batch) == _BATCH):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


def _tell(session: Session, read: Read, flags: _Flags) -> None:
    """Say what the references gave besides templates, and what `all` does not stand for here."""
    from templatelint.engines import absent

    for row in read.unreadable:
        session.error(row.message, row.help)
    if not flags.renderer:  # the remarks are about tokens, which a renderer alone takes from --context
        for remark in read.remarks():
            session.note(f"{remark.ref}: {remark.text}")
    for name, why_not in absent(flags.engine).items():
        session.note(f"not run: {name}: {why_not}")


def _plan(flags: _Flags) -> _Plan:
    from templatelint import engines

    named = engines.expanded(flags.engine or ("transformers",))
    return _Plan(_asked(flags), [engines.get(name) for name in named])


def _real_plan(flags: _Flags, session: Session) -> RealPlan:
    from templatelint.cli import real

    if flags.date is not None:
        raise TemplatelintError("--date and --real exclude each other: a real server shows its own clock")
    if flags.media:
        raise TemplatelintError("--media and --real exclude each other: the model that --real makes has no projector")
    return real.plan(flags.engine, _asked(flags), session)


def _asked(flags: _Flags) -> list[Asked]:
    """The conversations that the flags name, as the flags change them."""
    from templatelint import cases, traffic
    from templatelint.cli.prompts import Asked
    from templatelint.model import Request

    own: list[tuple[str, Request | TemplatelintError]] = []
    if flags.messages is not None:
        name = "stdin" if flags.messages == "-" else Path(flags.messages).stem
        own.append((name, traffic.read_messages(flags.messages)))
    if flags.requests is not None:
        own += traffic.read_requests(flags.requests)
    ids = list(cases.all_cases()) if flags.all_cases else list(dict.fromkeys(flags.case))
    canonical = [cases.get(case_id) for case_id in ids or ([] if own else ["chat-basic"])]
    changes = _changes(flags)
    date, now = _date(flags.date), _now()
    return [
        Asked(
            case.id, _changed(case.request, changes), date or cases.clock(case), case.marks, case.form, canonical=True
        )
        for case in canonical
    ] + [
        Asked(name, Request(()), date or now, flaw=request.message)
        if isinstance(request, TemplatelintError)
        else Asked(name, _changed(request, changes), date or now)
        for name, request in own
    ]


def _changes(flags: _Flags) -> dict[str, Any]:
    """Members of every request that the flags set."""
    from templatelint import traffic

    changes: dict[str, Any] = {}
    if flags.tools is not None:
        changes["tools"] = traffic.read_tools(flags.tools)
    if flags.no_generation_prompt:
        changes["add_generation_prompt"] = False
    if flags.media:
        changes["media"] = True
    if flags.variables:
        changes["variables"] = dict(_variable(text) for text in flags.variables)
    return changes


def _changed(request: Request, changes: dict[str, Any]) -> Request:
    from dataclasses import replace

    if "variables" in changes:
        changes = {**changes, "variables": {**request.variables, **changes["variables"]}}
    return replace(request, **changes)


def _variable(text: str) -> tuple[str, Any]:
    """`KEY=JSON` as name and value."""
    import json

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise TemplatelintError(f"--set {clip(text)}: not KEY=JSON", help="for example --set enable_thinking=false")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError as error:
        raise TemplatelintError(
            f"--set {clip(name)}: {clip(value)} is not JSON",
            help=f"a text keeps its quotes: --set '{clip(name)}=\"...\"'",
        ) from error
    except RecursionError as error:
        raise TemplatelintError(f"--set {clip(name)}: {clip(value)} is nested too deeply") from error
    except ValueError as error:  # Python's limit on the digits of an integer
        raise TemplatelintError(
            f"--set {clip(name)}: {clip(value)} holds a number of more than 4,300 digits", help="write it as a string"
        ) from error


def _date(text: str | None) -> datetime | None:
    from datetime import datetime

    if text is None:
        return None
    try:
        # without a zone, like the clock that transformers gives to templates
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError as error:
        raise TemplatelintError(
            f"--date {clip(text)}: not an ISO date", help="for example --date 2026-03-02"
        ) from error


def _now() -> datetime:
    from datetime import UTC, datetime

    return datetime.now(UTC).astimezone().replace(tzinfo=None)


# ------------------------------------------------------------------------------- variables through a renderer


@dataclass(frozen=True)
class _RawPlan:
    """One set of variables for a renderer; no engine has a say."""

    renderer: str
    asked: Asked
    variables: Mapping[str, Any]

    @property
    def size(self) -> int:
        """Cells a model."""
        return 1

    def cells(self, ref: str, model: Model) -> Iterator[Cell]:
        """Render the default template, or the picked one."""
        from templatelint.cli import raw
        from templatelint.cli.prompts import Cell

        template = model.template("default") or next(iter(model.templates), None)
        if template is None:
            raise TemplatelintError(f"{ref}: carries no chat template")
        observation = raw.render(self.renderer, template, self.variables, self.asked.now)
        yield Cell(ref, model, template, self.asked, self.renderer, observation)


def _raw_plan(flags: _Flags) -> _RawPlan:
    from templatelint import traffic
    from templatelint.cli import raw
    from templatelint.cli.prompts import Asked
    from templatelint.model import Request

    if flags.renderer is None or flags.context is None:
        raise TemplatelintError("--renderer and --context go together")
    if (
        flags.engine
        or flags.real
        or flags.case
        or flags.all_cases
        or flags.messages
        or flags.requests
        or _changes(flags)
    ):
        raise TemplatelintError(
            "--renderer takes all variables from --context",
            help="leave out the options that choose engines or make requests",
        )
    raw.check(flags.renderer)
    variables = traffic.read_json(flags.context, _CONTEXT)
    if not isinstance(variables, dict):
        raise TemplatelintError(f"{flags.context}: not an object of variables", help=_CONTEXT)
    return _RawPlan(
        flags.renderer, Asked(Path(flags.context).stem, Request(()), _date(flags.date) or _now()), variables
    )

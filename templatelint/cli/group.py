"""The command group: a table of names and modules, each imported when its command is called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click

from templatelint import __version__
from templatelint.cli import NO_ANSWER, output

if TYPE_CHECKING:
    from collections.abc import Sequence

# name → what `--help` says of it; the command is the attribute `command` of the module of that name
COMMANDS = {
    "vet": "Say whether a model may be deployed, on which engine and for what.",
    "lint": "Find what a template drops, breaks or refuses.",
    "diff": "Predict what works with model A and breaks with model B.",
    "inspect": "Show what a template honours, drops or refuses, engine by engine.",
    "render": "Print the exact prompt that an engine gets.",
    "extract": "Print or write the templates a model carries.",
    "pin": "Write a lock of templates, or check files and servers against it.",
    "probe": "Check which clauses of its contract a live endpoint keeps.",
    "embed": "Write a copy of a GGUF with another chat template.",
    "parse": "Read a model's raw output back: what it says, thinks and calls.",
    "rule": "Explain a rule, or list them.",
    "cases": "List or show the canonical conversations.",
    "engines": "List the engines and what they need.",
}

# what fingers used to other linters type
_HABITS = {"check": "lint", "verify": "vet", "explain": "rule", "rules": "rule", "show": "render", "compare": "diff"}

_EXAMPLES = (
    "templatelint lint chat_template.jinja",
    "templatelint render chat_template.jinja --case chat-basic",
)


class CommonOption(click.Option):
    """An option that every command has; `--help` lists these apart."""


class _Help:
    """`--help` that goes out like every result does: whether it could be written is the exit code's business."""

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """The option."""
        return click.Option(
            ctx.help_option_names,
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_help,
            help="Show this message and exit.",
        )


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value and not ctx.resilient_parsing:
        output.to_stdout([ctx.get_help(), "\n"])
        ctx.exit()


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value and not ctx.resilient_parsing:
        output.to_stdout([f"templatelint {__version__}\n"])
        ctx.exit()


class Command(_Help, click.Command):
    """A command whose help ends with examples."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; `-#NAME` is no option but standard input's template of that name."""
        valued = {
            flag
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and not param.is_flag
            for flag in param.opts
        }
        picks: list[str] = []
        rest: list[str] = []
        for before, word in zip(["", *args], args, strict=False):
            (picks if word.startswith("-#") and before not in valued else rest).append(word)
        if picks and "--" not in rest:
            rest.append("--")
        return super().parse_args(ctx, [*rest, *picks])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then those that all commands share."""
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            # newer versions of click list arguments too, which the usage line has named
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                shared = isinstance(param, CommonOption) or param.name == "help"
                (common if shared else own).append(record)
        for title, records in (("Options", own), ("Common options", common)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=26)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        del ctx  # click's interface
        _write_examples(formatter, self.examples)


class LazyGroup(_Help, click.Group):
    """Knows its commands by name; imports a command's module only to run it or to show its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of use."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        return cast("click.Command", import_module(f"templatelint.cli.{cmd_name}").command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from templatelint.nearest import unknown

            raise unknown("command", args[0], COMMANDS, habits=_HABITS)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an interrupt is told by the exit code alone (click would print an empty line)."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise click.Abort from interrupt

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without importing a command."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the exit codes mean, and the examples."""
        del ctx
        with formatter.section("Exit codes"):
            formatter.write_dl(
                [
                    ("0", "clean"),
                    ("1", "findings"),
                    ("2", "no answer: usage, unreadable input, or a bug of ours"),
                    ("130", "interrupted"),
                ]
            )
        _write_examples(formatter, _EXAMPLES)


def _write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"  {example}\n")


@click.command(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def group(ctx: click.Context) -> int | None:
    """Tell what a chat template really does, on the engine that will run it.

    A REF is a template file, tokenizer_config.json or its like, a model folder, a GGUF, or - for stdin;
    REF#NAME picks one of several templates.
    """
    if ctx.invoked_subcommand is not None:
        return None
    output.tell(ctx.get_help())
    return NO_ANSWER

"""Arguments → exit code: 0 clean, 1 findings, 2 no answer, 130 interrupted; a failure is one clear line."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from templatelint.cli import CLEAN, INTERRUPTED, NO_ANSWER, output
from templatelint.cli.group import COMMANDS, group
from templatelint.errors import TemplatelintError, clip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.report.terminal import ColorChoice

_CLAUSE = 200  # characters
_ISSUES = "report it with this line and the command that led to it; TEMPLATELINT_TRACEBACK=1 shows where"


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code; raises nothing but KeyboardInterrupt."""
    for stream in (sys.stdout, sys.stderr):
        # what a terminal's encoding lacks is spelt out instead of ending the program
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
    try:
        code = group.main(list(arguments), prog_name="templatelint", standalone_mode=False)
        output.flush()
    except click.Abort:
        output.let_go()
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click answers a closed pipe by SystemExit
        output.let_go(certain=True)
        return NO_ANSWER
    except Exception as error:  # noqa: BLE001 (the last line of defence: a bug of ours is exit code 2)
        output.let_go()  # first: if it was stdout that failed, what it still holds must not fail again
        with suppress(TemplatelintError, OSError):  # stderr may be what cannot be written
            _tell(error, arguments)
        output.let_go()
        return NO_ANSWER
    return code if isinstance(code, int) else CLEAN


def _tell(error: Exception, arguments: Sequence[str]) -> None:
    """Say on stderr what ended the run."""
    if isinstance(error, TemplatelintError):
        message, cure = error.message, error.help
    elif isinstance(error, click.UsageError):
        message, cure = _usage(error, arguments)
    elif isinstance(error, click.ClickException):
        message, cure = _clause(error.format_message()), None
    elif isinstance(error, OSError) and error.strerror:
        subject = f"{error.filename}: " if error.filename else ""
        message, cure = f"{subject}{error.strerror.lower()}", None
    else:
        if os.environ.get("TEMPLATELINT_TRACEBACK") or {"-v", "--verbose"} & set(arguments):
            _trace(error)
        reason = " ".join(str(error).split())
        message, cure = f"internal: {type(error).__name__}: {reason}".rstrip(": "), _ISSUES
    output.error(message, cure, _color_choice(arguments))


def _trace(error: Exception) -> None:
    from traceback import format_exception

    from templatelint.report.terminal import visible_block

    output.tell(visible_block("".join(format_exception(error))).rstrip("\n"))


def _color_choice(arguments: Sequence[str]) -> ColorChoice:
    """What `--color` says, read once more by hand: the failure may be that the options do not parse."""
    joined = "\n".join(arguments).replace("--color\n", "--color=")
    return "always" if "--color=always" in joined else "never" if "--color=never" in joined else "auto"


def _usage(error: click.UsageError, arguments: Sequence[str]) -> tuple[str, str]:
    """Message and help for what click found wrong with the command line."""
    command = next((f" {word}" for word in arguments if word in COMMANDS), "")
    pointer = f"see templatelint{command} --help"
    if isinstance(error, click.NoSuchOption):
        from templatelint.nearest import nearest

        match = nearest(error.option_name, _options(error.ctx))
        return f"unknown option {clip(error.option_name)}", f"did you mean {match}?" if match else pointer
    if isinstance(error, click.MissingParameter) and error.param is not None:
        option = isinstance(error.param, click.Option)
        return f"missing {error.param.opts[-1] if option else error.param.human_readable_name}", pointer
    if isinstance(error, click.BadParameter) and isinstance(error.param, click.Option):
        return f"{error.param.opts[-1]}: {_clause(error.message)}", pointer
    return _clause(error.format_message()), pointer


def _options(ctx: click.Context | None) -> list[str]:
    if ctx is None:
        return []
    params = ctx.command.get_params(ctx)
    return [name for param in params if isinstance(param, click.Option) for name in param.opts]


def _clause(sentence: str) -> str:
    """One of click's sentences as a clause: lower case, no full stop, what it repeats of the command line clipped."""
    clipped = " ".join(map(clip, sentence.split(" ")))
    return clip(clipped[:1].lower() + clipped[1:].rstrip("."), _CLAUSE)

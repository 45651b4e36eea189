"""What the commands' options have in common: the shared ones, and types that name the nearest word."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from templatelint.cli import output
from templatelint.cli.group import CommonOption
from templatelint.errors import TemplatelintError, clip
from templatelint.model import NEEDS
from templatelint.nearest import unknown
from templatelint.report.terminal import ColorChoice, Paint, columns, wants_color

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from templatelint.config import Config
    from templatelint.sources.reach import Reach

    Command = TypeVar("Command", bound=Callable[..., Any])
    WordType = click.ParamType[str]
    IntType = click.ParamType[int]
    FloatType = click.ParamType[float]
else:
    WordType = IntType = FloatType = click.ParamType  # no generic in older versions of click


_DIGITS = 9
_HOUR = 3600.0  # seconds


@dataclass(frozen=True)
class Session:
    """The options that every command has, and what follows from them.

    Attributes:
        output_format: as typed; None where the command's default holds.
        offline: nothing may be fetched.
    """

    output_format: str | None
    output_file: Path | None
    color: ColorChoice
    quiet: bool
    verbose: bool
    config_file: Path | None
    isolated: bool
    offline: bool

    @cached_property
    def config(self) -> Config:
        """The project's settings, or none where `--isolated` says so."""
        from templatelint import config

        if self.config_file is not None:
            return config.load(self.config_file)
        if self.isolated:
            return config.Config()
        try:
            here = Path.cwd()
        except OSError:  # it is gone, and settings are those of a place
            return config.Config()
        return config.find(here)

    def reach(self, *, vetting: bool = False, typed: bool = True) -> Reach:
        """How far references may be followed.

        Args:
            vetting: files are judged as a whole.
            typed: they stand on the command line, and in no file that somebody else may have written.
        """
        from templatelint.cli.progress import fetching
        from templatelint.sources.reach import Reach

        return Reach(self.offline, typed, vetting, fetching(quiet=self.quiet))

    @property
    def terminal(self) -> bool:
        """Whether a person will read the result as it comes."""
        return self.output_file is None and sys.stdout is not None and sys.stdout.isatty()

    @property
    def paint(self) -> Paint:
        """Colour for the result."""
        return Paint(wants_color(sys.stdout if self.output_file is None else None, self.color))

    @property
    def columns(self) -> int:
        """The width that the result is written for."""
        return columns(sys.stdout if self.output_file is None else None)

    def write(self, pieces: Iterable[str]) -> None:
        """Write the result where it is wanted, exactly."""
        if self.output_file is None:
            output.to_stdout(pieces, color=self.paint.on)
        else:
            output.to_file(self.output_file, pieces)

    def note(self, text: str) -> None:
        """Tell something beside the result, unless nothing but the result is wanted."""
        if not self.quiet:
            output.note(text)

    def error(self, message: str, cure: str | None = None) -> None:
        """Tell a failure that does not end the run."""
        output.error(message, cure, self.color)


class Word(WordType):
    """One of some words; another is an error that names the nearest."""

    name = "word"

    def __init__(self, what: str, known: Callable[[], Iterable[str]], metavar: str | None = None) -> None:
        self.what = what
        self.known = known
        self.metavar = metavar

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """How `--help` shows the value."""
        del param, ctx  # click's interface, of old and new
        return self.metavar or "[" + "|".join(self.known()) + "]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word, or the words between commas, each checked."""
        del param, ctx
        known = tuple(self.known())
        for word in str(value).split(","):
            if word.strip() not in known:
                raise unknown(self.what, word.strip(), known)
        return str(value)


class Count(IntType):
    """A whole number above 0."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        del ctx
        if isinstance(value, int):
            return value
        text = str(value)
        if not (text.isascii() and text.isdigit() and text.strip("0")):
            flag = f"{param.opts[-1]} " if param else ""
            raise TemplatelintError(f"{flag}{clip(text)}: not a whole number above 0")
        if len(text) > _DIGITS:
            raise TemplatelintError(f"{param.opts[-1] if param else 'number'} {clip(text)}: too large")
        return int(text)


class Seconds(FloatType):
    """A number of seconds above 0."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        del ctx
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= _HOUR:
            flag = f"{param.opts[-1]} " if param else ""
            raise TemplatelintError(f"{flag}{clip(str(value))}: not a number of seconds above 0, an hour at most")
        return seconds


def split(ctx: click.Context, param: click.Parameter, values: Iterable[str]) -> tuple[str, ...]:
    """The callback of an option that may be repeated and may hold several words between commas."""
    del ctx
    words = tuple(word.strip() for value in values for word in value.split(","))
    if not all(words):
        raise TemplatelintError(f"{param.opts[-1]}: a word is empty", help="leave the option out for its default")
    return words


def engines() -> Iterable[str]:
    """The engine ids that a user may type."""
    from templatelint.engines import ENGINES

    return (*ENGINES, "all")


DEFAULT_SET = "transformers, llama.cpp, vllm, sglang"
"""What help texts call the engines that are asked where none is named."""


def engine_option(asks: str, default: str) -> Callable[[Command], Command]:
    """`--engine`, with what it asks for in the words of the command.

    Args:
        asks: the beginning of the help text.
        default: the engines that are asked where none is named.
    """
    return click.option(
        "--engine",
        multiple=True,
        type=Word("engine", engines, metavar="ENGINE"),
        callback=split,
        help=f"{asks}; may be repeated, or `all`.  [default: {default}]",
    )


def one_engine_option(flag: str, says: str) -> Callable[[Command], Command]:
    """An option that names one engine."""
    return click.option(flag, type=Word("engine", lambda: [*engines()][:-1], metavar="ENGINE"), help=says)


def needs_option(says: str) -> Callable[[Command], Command]:
    """`--needs`: what a client relies on, and what that stands in for."""
    return click.option(
        "--needs",
        multiple=True,
        type=Word("need", lambda: NEEDS, metavar="NEED,..."),
        callback=split,
        help=f"{says}: {', '.join(NEEDS)}.",
    )


def parser_option(function: Command) -> Command:
    """Give a command `--tool-call-parser`, the launch flag of engines that are told which dialect to read."""
    decorated: Any = click.option(
        "--tool-call-parser",
        "parsers",
        multiple=True,
        metavar="ENGINE=NAME",
        callback=_parsers,
        help="The parser that you launch vllm or sglang with; may be repeated.",
    )(function)
    return cast("Command", decorated)


def _parsers(ctx: click.Context, param: click.Parameter, values: Iterable[str]) -> tuple[tuple[str, str], ...]:
    words = split(ctx, param, values)
    if not words:
        return ()
    from templatelint.dialects.serving.parsers import launched

    return launched(words, f"{param.opts[-1]} ")


def _session(values: Mapping[str, Any]) -> Session:
    if str(values["output_file"]) == "-":
        values = {**values, "output_file": None}
    session = Session(**values)
    if session.config_file is not None:
        _ = session.config  # named: read and checked also where nothing of it is used
    return session


_SHARED = (
    "output_format",
    "output_file",
    "color",
    "quiet",
    "verbose",
    "config_file",
    "isolated",
    "offline",
)


def common(formats: Iterable[str]) -> Callable[[Command], Command]:
    """Give a command the options that all have; it receives them as its first argument, a Session."""

    def decorate(function: Command) -> Command:
        @wraps(function)
        def with_session(**values: Any) -> Any:
            shared = {name: values.pop(name) for name in _SHARED}
            return function(_session(shared), **values)

        decorated: Any = with_session
        for option in reversed(_options(tuple(formats))):
            decorated = option(decorated)
        return cast("Command", decorated)

    return decorate


def _options(formats: tuple[str, ...]) -> list[Callable[[Any], Any]]:
    file = click.Path(path_type=Path)
    return [
        click.option(
            "--output-format",
            cls=CommonOption,
            type=Word("output format", lambda: formats, metavar="FORMAT"),
            help=f"One of: {', '.join(formats)}.",
        ),
        click.option(
            "-o",
            "--output-file",
            cls=CommonOption,
            type=file,
            metavar="FILE",
            help="Write the result here; - is stdout.",
        ),
        click.option(
            "--color",
            cls=CommonOption,
            default="auto",
            type=Word("colour choice", lambda: ("auto", "always", "never"), metavar="WHEN"),
            help="auto, always or never; NO_COLOR and FORCE_COLOR are honoured.",
        ),
        click.option("-q", "--quiet", cls=CommonOption, is_flag=True, help="Print the result, nothing else."),
        click.option("-v", "--verbose", cls=CommonOption, is_flag=True, help="Print more."),
        click.option(
            "--config",
            "config_file",
            cls=CommonOption,
            type=file,
            metavar="FILE",
            help="Settings, instead of templatelint.toml or pyproject.toml.",
        ),
        click.option("--isolated", cls=CommonOption, is_flag=True, help="Read no settings file."),
        click.option(
            "--offline",
            cls=CommonOption,
            is_flag=True,
            help="Fetch nothing; servers on this machine are still asked.",
        ),
    ]


def token_options(function: Command) -> Command:
    """Give a command `--bos-token` and `--eos-token`."""
    decorated: Any = function
    for name, assumed in (("eos", "</s>"), ("bos", "<s>")):
        decorated = click.option(
            f"--{name}-token",
            metavar="TOKEN",
            help=f"{name.upper()} for bare template files.  [default: {assumed}]",
        )(decorated)
    return cast("Command", decorated)


def replay_flags(bos_token: str | None, eos_token: str | None) -> tuple[str, ...]:
    """The flags that `render` needs to show the cells of a run with these tokens."""
    given = (("--bos-token", bos_token), ("--eos-token", eos_token))
    return tuple(word for flag, value in given if value is not None for word in (flag, value))

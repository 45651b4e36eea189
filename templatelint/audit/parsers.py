"""The parsers that vLLM or SGLang was started with → whether they read the replies that the template asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.audit.command_line import read
from templatelint.audit.fault import LAUNCH, LaunchFault
from templatelint.dialects.serving import parsers
from templatelint.errors import TemplatelintError, clip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.audit.fault import Started

_VLLM, _SGLANG = "vllm", "sglang"
_CALLS, _THOUGHTS, _AUTO_CHOICE = (
    "tool-call-parser",
    "reasoning-parser",
    "enable-auto-tool-choice",
)
_VALUED = frozenset({f"--{_CALLS}", f"--{_THOUGHTS}"})
# vLLM reads these back without a parser: online_renderer.py, tool_parsing_unavailable; which tokenizer a Mistral model
# has does not show in its flags
_WITHOUT = frozenset({"harmony", "mistral"})


def faults(started: Started) -> Iterator[LaunchFault]:
    """What does not come back."""
    if not _readable(started):
        return
    if started.dialect:
        yield from _calls(started, _named(started, _CALLS))
    if started.syntax is not None and started.syntax.reasoning is not None:
        yield from _thoughts(started, _named(started, _THOUGHTS))


def gaps(started: Started) -> tuple[tuple[str, str], ...]:
    """Rule and reason of what cannot be judged."""
    if _readable(started):
        return ()
    return (
        (
            LAUNCH,
            f"{started.launch.engine}: the flags that it was started with cannot be read",
        ),
    )


def _readable(started: Started) -> bool:
    return started.launch.arguments is not None or any(
        started.setting(name.replace("-", "_")) is not None for name in (_CALLS, _THOUGHTS, "server_args", "model_path")
    )


def _named(started: Started, name: str) -> str:
    """The parser that it was started with, by its settings or else its command line; empty for none."""
    told = started.setting(name.replace("-", "_"))
    if isinstance(told, str):
        return told
    line = read(started.launch.arguments or (), _VALUED)
    return line.value(f"--{name}") or ""


def _calls(started: Started, name: str) -> Iterator[LaunchFault]:
    engine, dialect = started.launch.engine, started.dialect
    advice = " ".join(started.advised)
    cure = f"start it with {advice}" if advice else "read replies in the client (templatelint parse)"
    if engine == _VLLM and dialect not in _WITHOUT and not (name and _chooses(started)):
        # online_renderer.py: the error of `"auto" tool choice`; ParserManager.get_tool_parser wants both
        lacking = f"--{_CALLS}" if not name else f"--{_AUTO_CHOICE}"
        yield LaunchFault(
            f"no {lacking}: vLLM refuses requests with tools, whose tool_choice is auto where they name none",
            cure,
            "calls",
            impact="breaks",
        )
    elif not name and engine == _SGLANG:
        yield LaunchFault(
            f"no --{_CALLS}: SGLang leaves the calls in the text, written in {dialect}",
            cure,
            "calls",
            impact="breaks",
        )
    elif name and (other := _other_dialect(engine, _inferred(started, name), dialect)):
        yield LaunchFault(
            f"--{_CALLS} {clip(name)} reads {other}, and the template writes calls in {dialect}: they stay in the text",
            cure,
            "calls",
            impact="breaks",
        )


def _chooses(started: Started) -> bool:
    """Whether vLLM was told to let the model choose tools."""
    told = started.setting(_AUTO_CHOICE.replace("-", "_"))
    if told is not None:
        return told is True
    if started.launch.arguments is None:
        return True  # not known
    line = read(started.launch.arguments, _VALUED)
    return bool(line.switched((f"--{_AUTO_CHOICE}",), (f"--no-{_AUTO_CHOICE}",)))


def _inferred(started: Started, name: str) -> str:
    if started.launch.engine != _SGLANG or name != parsers.AUTO:
        return name
    from templatelint.dialects.serving.inferred import inferred

    return inferred(_SGLANG, started.source) or ""


def _other_dialect(engine: str, name: str, dialect: str) -> str:
    """What a parser reads that does not read the dialect; empty where it does, or is not known."""
    try:
        parser = parsers.named(engine, name) if name else None
    except TemplatelintError:
        return ""  # a plug-in of theirs, or a newer release
    if parser is None or not parser.dialects or dialect in (*parser.dialects, *parser.unstreamed):
        return ""
    return ", ".join(parser.dialects)


def _thoughts(started: Started, name: str) -> Iterator[LaunchFault]:
    marks = started.syntax.reasoning if started.syntax is not None else None
    if marks is None or (not name and started.dialect == "harmony"):
        return
    start = marks.start.strip()
    if not name:
        yield _unsplit(
            started,
            f"no --{_THOUGHTS}: thoughts stay in the content, behind {clip(start)}",
        )
        return
    try:
        parser = parsers.named_reasoning(started.launch.engine, name)
    except TemplatelintError:
        return  # a plug-in of theirs, a newer release, or one that is inferred
    if parser.splits and parser.end.strip() != marks.end.strip():
        looks = f"{parser.start.strip()} … {parser.end.strip()}"
        has = f"{start} … {marks.end.strip()}"
        yield _unsplit(
            started,
            f"--{_THOUGHTS} {clip(name)} looks for {looks}, and thoughts stand in {has}",
        )


def _unsplit(started: Started, message: str) -> LaunchFault:
    advice = " ".join(started.advised)
    return LaunchFault(
        message,
        f"start it with {advice}" if f"--{_THOUGHTS}" in started.advised else "cut thoughts off in the client",
        "thoughts",
        need="reasoning",
    )

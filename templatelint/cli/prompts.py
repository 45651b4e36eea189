"""Rendered cells → text for people, exact prompts, or JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from templatelint.cli.output import SPELT_IN_JSON, as_json
from templatelint.report.terminal import Paint, visible, visible_block
from templatelint.texts import half_character

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from templatelint.model import ClientForm, Model, Observation, RenderError, Request, Template


@dataclass(frozen=True)
class Asked:
    """One conversation to render.

    Attributes:
        id: the case's id, or the name of the user's file.
        now: what the template's clock shows.
        form: the client form that the case insists on.
        flaw: why a user's body can be no request: every engine rejects it.
        canonical: a case of the corpus, rendered in its form or the engine's; a user's request stays as it is.
    """

    id: str
    request: Request
    now: datetime
    marks: Mapping[str, str] = field(default_factory=dict)
    form: ClientForm | None = None
    canonical: bool = False
    flaw: str = ""


@dataclass(frozen=True)
class Cell:
    """A rendered cell.

    Attributes:
        template: None where the engine found none for the request.
        build: which build of the engine itself answered; empty where our model of it did.
    """

    ref: str
    model: Model
    template: Template | None
    asked: Asked
    engine: str
    observation: Observation
    build: str = ""


@dataclass(frozen=True)
class Look:
    """How text is shown.

    Attributes:
        safe: a person reads it: control characters are spelt out, the last line is ended.
        show: what to point out in a prompt.
    """

    paint: Paint
    safe: bool
    show: Literal["marks", "tokens"] | None = None


class Complain(Protocol):
    """Tells a failure on stderr."""

    def __call__(self, message: str, cure: str | None = None) -> None:
        """Tell it."""


def write(form: str, cells: Iterable[Cell], look: Look, *, single: bool, complain: Complain) -> Iterator[str]:
    """The cells in that format, each as soon as it is there.

    Args:
        form: `text`, `json` or `jsonl`.
        cells: what was rendered.
        look: how text is shown.
        single: there is one cell only: its prompt is the whole output, its failure goes to `complain`.
        complain: takes that failure.
    """
    if form != "text":
        yield from as_json((_object(cell) for cell in cells), "renders", lines=form == "jsonl")
    elif single:
        for cell in cells:
            yield from _alone(cell, look, complain)
    else:
        for cell in cells:
            yield from _headed(cell, look)


def _object(cell: Cell) -> dict[str, Any]:
    observation = cell.observation
    body: dict[str, Any] = {
        "ref": cell.ref,
        "template": None if cell.template is None else cell.template.name,
        "case": cell.asked.id,
        "engine": cell.engine,
        "ok": observation.prompt is not None,
    }
    if cell.build:
        body["build"] = cell.build
    if observation.error is None:
        return {**body, "prompt": observation.prompt}
    error = observation.error
    told = {"kind": error.kind, "message": error.message, "line": error.line, "column": error.column}
    return {**body, "error": told}


def _alone(cell: Cell, look: Look, complain: Complain) -> Iterator[str]:
    if cell.observation.error is not None:
        complain(f"{cell.ref} · {cell.asked.id} · {cell.engine}: {_failure(cell.observation.error)}")
        return
    if unwritable(cell, look):
        complain(f"{cell.ref} · {cell.asked.id} · {cell.engine}: {_lack(cell)}", SPELT_IN_JSON)
        return
    prompt = cell.observation.prompt or ""
    yield _shown(prompt, cell, look)
    if look.safe and prompt and not prompt.endswith("\n"):
        yield "\n"


def _headed(cell: Cell, look: Look) -> Iterator[str]:
    named = cell.template is not None and cell.template.name != "default" and "#" not in cell.ref
    ref = f"{cell.ref}#{cell.template.name}" if named and cell.template else cell.ref
    yield look.paint(f"── {visible(f'{ref} · {cell.asked.id} · {cell.engine}')}", "bold") + "\n"
    if cell.observation.error is not None:
        yield f"{look.paint('error', 'red')} {visible(_failure(cell.observation.error))}\n"
        return
    if unwritable(cell, look):
        yield f"{look.paint('error', 'red')} {_lack(cell)} ({SPELT_IN_JSON})\n"
        return
    prompt = cell.observation.prompt or ""
    yield _shown(prompt, cell, look)
    if not prompt.endswith("\n"):
        yield "\n"


def unwritable(cell: Cell, look: Look) -> bool:
    """Whether a prompt has no UTF-8 form and goes where no escape may stand for a character: see `output.encoded`."""
    return not look.safe and half_character(cell.observation.prompt or "") is not None


def _lack(cell: Cell) -> str:
    half = half_character(cell.observation.prompt or "")
    return f"the prompt holds {half}, half of a surrogate pair, which UTF-8 cannot carry"


def _failure(error: RenderError) -> str:
    place = "" if error.line is None else f" (line {error.line}"
    if place:
        place += ")" if error.column is None else f", column {error.column})"
    return f"{error.kind}: {error.message}{place}"


# ------------------------------------------------------------------------------------------------ pointing out


def _shown(prompt: str, cell: Cell, look: Look) -> str:
    if look.show == "marks":
        return _with_marks(prompt, cell.asked.marks, look.paint)
    if look.show == "tokens":
        return _pointed(prompt, _token_pattern(cell.model), look.paint)
    return visible_block(prompt) if look.safe else prompt


def _with_marks(prompt: str, marks: Mapping[str, str], paint: Paint) -> str:
    """The prompt with its marks pointed out, and a line on those that are not in it."""
    lost = [name for name, text in marks.items() if text.casefold() not in prompt.casefold()]
    shown = visible_block(prompt)
    if marks:
        shown = _pointed(prompt, _pattern(marks.values(), ignore_case=True), paint)
    if lost:
        shown += ("" if prompt.endswith("\n") else "\n") + paint(f"not in the prompt: {', '.join(lost)}", "red") + "\n"
    return shown


def _pattern(texts: Iterable[str], *, ignore_case: bool = False, more: Sequence[str] = ()) -> re.Pattern[str]:
    import re

    longest_first = sorted(texts, key=len, reverse=True)
    alternatives = [re.escape(text) for text in longest_first if text]
    return re.compile("|".join([*alternatives, *more]), re.IGNORECASE if ignore_case else 0)


def _token_pattern(model: Model) -> re.Pattern[str]:
    """What the tokenizer names, and what looks like a special token: `<|im_end|>`, `<start_of_turn>`, `[INST]`."""
    tokenizer = model.tokenizer
    return _pattern(
        {*tokenizer.special_tokens.values(), *tokenizer.stop_tokens},
        more=(
            r"</?[|｜][^|｜<>\n]{1,64}[|｜]>",
            r"<\|[a-z_]{1,64}>",
            r"<[a-z_]{1,64}\|>",
            r"</?[a-z][a-z0-9_]{0,63}>",
            r"\[/?[A-Z][A-Z_]{1,63}\]",
            r"<<[/]?[A-Z]{2,16}>>",
        ),
    )


def _pointed(prompt: str, pattern: re.Pattern[str], paint: Paint) -> str:
    """The prompt, safe to show, with what the pattern finds in colour, or between ‹ and › without."""
    pieces: list[str] = []
    at = 0
    for match in pattern.finditer(prompt):
        pieces.append(visible_block(prompt[at : match.start()]))
        found = visible(match[0])
        pieces.append(paint(found, "mark") if paint.on else f"‹{found}›")
        at = match.end()
    pieces.append(visible_block(prompt[at:]))
    return "".join(pieces)

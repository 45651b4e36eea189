"""TL609: a file that contradicts itself or its size, or lacks a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.model import Model, RenderError
    from templatelint.view import View

CASES = ()
_CONVERT = "convert the model again with a current llama.cpp: fetched anew, the file is the same"
_CURE = (
    "fetch the file again (of a split model: all its files, into one folder) and compare size and sha256 with the "
    "source's; where the source has the same fault, convert the model again"
)


def check(view: View) -> Iterator[Fault]:  # noqa: ARG001 (what is damaged is the file, whatever its templates)
    """Nothing: a view is of one template."""
    yield from ()


def check_model(model: Model, refusals: Mapping[str, RenderError]) -> Iterator[Fault]:  # noqa: ARG001 (the pipeline's)
    """Tell each thing that is wrong with the model's files."""
    if not model.damage:
        return
    from templatelint.sources.gguf_structure import made_so

    for clause in model.damage:
        yield Fault(message=clause, help=_CONVERT if made_so(clause) else _CURE, cause=clause)

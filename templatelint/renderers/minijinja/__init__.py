"""Templates → text by the minijinja that is installed, set up like the program that renders with it.

A program in Rust may use an older minijinja. What that would do otherwise is emulated (see `gates`, `loops`, `maps`
and `filters`) as far as real templates need it: held against 2.14 and 2.8 built from their sources, it gave the same
for all but 2 of 101,480 prompts of real templates. Known to differ still: `~` and text filters on a computed 1.0, true
and none inside `join` and `format`, `format` of floats, comparisons in a chain, division by zero, byte offsets from
`find`, and `.items()` of a map that has a key of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from templatelint.renderers.minijinja.program import Program

__all__ = ["INSTALL", "compile_template", "missing"]

INSTALL = "pip install 'templatelint[minijinja]'"


def missing() -> str | None:
    """What this renderer lacks here, in a clause, or None; looks for it, and imports nothing."""
    from importlib.util import find_spec

    return None if find_spec("minijinja") else "the Python package minijinja is not installed"


def compile_template(source: str) -> Program:
    """Make a template ready to render, minijinja set up to match transformers.

    Raises:
        RenderFailure: minijinja does not parse it: `unsupported` where jinja2 does, else `syntax`.
        TemplatelintError: `missing` has the reason.
    """
    from templatelint.renderers.minijinja import program  # a list of engines asks only for what is missing

    return program.compile_template(source)

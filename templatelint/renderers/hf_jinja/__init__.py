"""Templates → text with the npm package @huggingface/jinja itself, run by Node.js."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.renderers.hf_jinja.installed import INSTALL, described, missing

if TYPE_CHECKING:
    from templatelint.renderers.hf_jinja.program import Program

__all__ = ["INSTALL", "compile_template", "described", "missing"]


def compile_template(source: str) -> Program:
    """Make a template ready to render.

    Raises:
        RenderFailure: the package does not parse it: `unsupported` where jinja2 does, else `syntax`.
        TemplatelintError: `missing` has the reason.
    """
    from templatelint.renderers.hf_jinja import program  # a list of engines asks only for what is missing

    return program.compile_template(source)

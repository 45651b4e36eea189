"""Templates → text with the npm package @huggingface/jinja itself, run by Node.js."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.renderers.hf_jinja import installed
from templatelint.renderers.hf_jinja.installed import INSTALL, described

if TYPE_CHECKING:
    from templatelint.renderers.hf_jinja.program import Program

__all__ = ["INSTALL", "compile_template", "described", "missing"]


def compile_template(source: str) -> Program:
    """Make a template ready to render.

    Raises:
        RenderFailure: the package does not parse it: `unsupported` where jinja2 does, else `syntax`.
        TemplatelintError: `missing` has the reason, or node has stopped working since.
    """
    from templatelint.renderers.hf_jinja import program  # a list of engines asks only for what is missing

    return program.compile_template(source)


def missing() -> str | None:
    """What keeps this renderer from running here, in a clause; None where nothing does.

    Where node and the package are found, node is started once a process, to see that it renders.
    """
    program, package = installed.node(), installed.package()
    if program is None or package is None:
        return installed.missing()
    from templatelint.renderers.hf_jinja.node import unfit  # most commands ask nothing of node

    return unfit(program, package)

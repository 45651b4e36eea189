"""An `http(s)` address of a GGUF or a template → Model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from templatelint.model import Model
    from templatelint.sources.reach import Reach


def resolve(ref: str, reach: Reach) -> Model:
    """The model that the reference names."""
    raise TemplatelintError(
        f"{ref}: remote references are not supported in this version",
        help="download the file or the model folder and give its path",
    )

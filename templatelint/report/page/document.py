"""A template of this folder and what it is to show → the page: escaped throughout, nothing fetched, no style astray."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from templatelint import __version__
from templatelint.report.terminal import visible_block

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent
_PIECES = 256  # of the template's output that leave together


def page(*names: str, **shown: Any) -> Iterator[str]:
    """The page in pieces.

    Args:
        names: `diffed`, `inspected` or `linted`, which may have style and script of its own beside what all have;
            behind it what extends it.
        shown: what the template of that name speaks of; texts of any origin.
    """
    style = _own("style.css", *(f"{name}.css" for name in names))
    script = _own("script.js", *(f"{name}.js" for name in names))
    stream = (
        _environment()
        .get_template(f"{names[-1]}.html.jinja")
        .stream(style=style, script=script, policy=_policy(style, script), version=__version__, **shown)
    )
    stream.enable_buffering(_PIECES)
    yield from stream


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_legible,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )


def _legible(value: Any) -> Any:
    """Every text that goes into the page, but what is a part of it already, with hidden characters spelt out."""
    return visible_block(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _own(*names: str) -> Markup:
    """Files of ours, as far as they are there, that go into the page as they are."""
    paths = (_HERE / name for name in names)
    return Markup("".join(path.read_text("utf-8") for path in paths if path.exists()))  # noqa: S704 (nobody else's text)


def _policy(style: str, script: str) -> str:
    """Nothing but this style and this script may take effect, whatever else gets into the page."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(style)}'",
            f"script-src '{_digest(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()

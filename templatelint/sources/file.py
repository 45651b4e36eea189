"""A file of Jinja text → Model with one template and assumed BOS and EOS."""

from __future__ import annotations

from templatelint import texts
from templatelint.model import Model, Origin, Template, Tokenizer
from templatelint.sources import opening

# What most vocabularies call them; a template file says nothing about its tokenizer.
ASSUMED = Tokenizer(special_tokens={"bos_token": "<s>", "eos_token": "</s>"}, assumed=True)
_WHAT = "a template"


def resolve(path: str) -> Model:
    """The model behind a template file.

    Raises:
        TemplatelintError: it cannot be read, or holds no UTF-8 text of a template's size.
    """
    return Model(path, "file", (template(path, "default"),), ASSUMED)


def template(path: str, name: str) -> Template:
    """The template that a file holds, its text byte for byte (BOM and newlines kept)."""
    return from_bytes(opening.read_bytes(path, opening.MAX_TEMPLATE, _WHAT), path, name)


def from_bytes(raw: bytes, path: str, name: str) -> Template:
    """The template in bytes that were read from what the user calls `path`."""
    source = texts.decode(raw, path, _WHAT)
    return Template(name, source, Origin(path, source))

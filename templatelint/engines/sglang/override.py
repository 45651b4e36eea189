"""A template file as SGLang 0.5.23 reads it for --chat-template, and places in it back to places in the file."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import nodes

from templatelint.model import Lines, RenderError
from templatelint.syntax import TemplateSyntax, parse

if TYPE_CHECKING:
    from templatelint.model import Template

_ESCAPED = "\\n"  # a backslash and the letter


class Override(NamedTuple):
    r"""The text that SGLang makes of a file: no newlines around it, and a newline wherever the file has `\n`.

    (parser/template_manager.py::_load_jinja_template)

    Attributes:
        file: the text of the file.
        unescaped: the same without newlines around it: what the content format is detected on.
    """

    file: str
    unescaped: str

    @property
    def text(self) -> str:
        """What templates are compiled from."""
        return self.unescaped.replace(_ESCAPED, "\n")

    def placed(self, error: RenderError) -> RenderError:
        """The error with its place in the file, for one with its place in the text."""
        if error.line is None:
            return error
        text = Lines(self.text)
        offset = text.start(error.line) + (error.column or 1) - 1
        pieces = self.unescaped.split(_ESCAPED)
        ends = [sum(map(len, pieces[: count + 1])) + count for count in range(len(pieces) - 1)]
        start = self.file.index(self.unescaped)
        line, column = Lines(self.file).line_of(start + offset + bisect_left(ends, offset))
        return RenderError(error.kind, error.message, line, None if error.column is None else column)


def override(template: Template) -> Override | None:
    """How the file is read; None where it is no file to pass, or where that says the same as the file."""
    if not _is_passed(template):
        return None
    source = template.source
    read = Override(source, source.strip("\r\n"))
    trimmed = source.removesuffix("\n").removesuffix("\r")  # jinja2 drops one newline at the end itself
    if read.unescaped in (source, trimmed) and not (_ESCAPED in source and _matters(source)):
        return None
    return read


def _is_passed(template: Template) -> bool:
    """A template file of its own, and not one that stands in a model's folder under the name it must have there."""
    path = PurePath(template.origin.path)
    return (
        path.suffix == ".jinja"
        and path.name != "chat_template.jinja"
        and path.parent.name != "additional_chat_templates"
        and template.origin.text == template.source
    )


def _matters(source: str) -> bool:
    r"""Whether a newline for `\n` says something else; inside of a string it is what the string says anyway."""
    if "\\" + _ESCAPED in source:
        return True
    try:
        syntax = parse(source)
    except TemplateSyntax:
        return True
    return any(isinstance(node, nodes.TemplateData) and _ESCAPED in node.data for node in syntax.all_nodes)

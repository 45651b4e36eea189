"""Edits of a template's source → the same edits in the file that carries it, and the model as it then reads."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint.fix.code import Edit, edited

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.model import Model, Origin, Template

_FILES = frozenset({"file", "config", "folder"})


def refusal(model: Model, template: Template) -> str:
    """Why the file that carries the template cannot be written to; empty where it can."""
    if model.kind == "stdin":
        return ""
    if not template.origin.locatable or model.kind == "gguf":
        return "a GGUF is not written to in place"
    if model.kind not in _FILES or not model.local:
        return "it is no local file"
    return ""


def revised(model: Model, template: Template, edits: Sequence[Edit]) -> Model:
    """The model with one of its templates edited; what stands behind it in the same file moves along."""
    source = edited(template.source, edits)
    origin = template.origin
    text = edited(origin.text, [_in_file(origin, edit) for edit in edits])
    moved = len(text) - len(origin.text)

    def follow(other: Template) -> Template:
        if other is template or other == template:
            return replace(other, source=source, origin=replace(origin, text=text))
        beside = other.origin
        if beside.path != origin.path or beside.text != origin.text:
            return other
        start = beside.start + (moved if beside.start > origin.start else 0)
        return replace(other, origin=replace(beside, text=text, start=start))

    return replace(model, templates=tuple(map(follow, model.templates)))


def _in_file(origin: Origin, edit: Edit) -> Edit:
    """The edit as it is made in the file: inside a JSON string its text is escaped as the rest of it is."""
    start, end = origin.offset(edit.start), origin.offset(edit.end)
    text = json.dumps(edit.text, ensure_ascii=origin.text.isascii())[1:-1] if origin.escaped else edit.text
    return Edit(start, end, text)

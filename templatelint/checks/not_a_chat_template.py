"""TL007: message text never appears, or the file is written in another template language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-basic", "chat-turns")

# {{ .Prompt }}, {{- if .System }}, {{ range .Messages }}, {{ end }}: Go's text/template, which Ollama writes
_GO = re.compile(r"\{\{-?\s*(?:\.[A-Z]\w*|\$\w|(?:if|range|with|block|define|template)\s+[.$\"(]|end\s*-?\}\})")
# {prompt}, {system_message}: Python's str.format, as older model cards write it
_FORMAT = re.compile(
    r"(?<!\{)\{(?:prompt|system|system_message|system_prompt|user|user_message|instruction|input|query)\}(?!\})"
)


def check(view: View) -> Iterator[Fault]:
    """Look for other template languages, then for the user's text in the simplest prompts."""
    source = view.written
    if view.load_error is not None or not has_text(view):
        yield from _other_language(source, view)


def has_text(view: View) -> bool:
    """Whether the user's text reaches any of the simplest prompts that render."""
    prompts = list(view.rendered(*CASES))
    return not prompts or any(has(prompt, case, mark) for case, prompt in prompts for mark in case.marks)


def _other_language(source: str, view: View) -> Iterator[Fault]:
    go = _GO.search(source)
    if go is not None:
        yield Fault(
            message=f"this is a Go template ({go[0].strip()} …), as Ollama holds it, not a Jinja chat template",
            help="take the Jinja chat template of the model's own repository",
            cases=() if view.load_error is not None else tuple(case_id for case_id in CASES if view.renders(case_id)),
            cause="go",
            span=go.span(),
        )
        return
    if view.load_error is not None:
        return
    cases = view.ids(*(case_id for case_id in CASES if view.renders(case_id)))
    python = _FORMAT.search(source)
    if python is not None:
        yield Fault(
            message=f"the file holds a Python format string ({python[0]}), which Jinja prints as it stands",
            help="write the template in Jinja, over `messages`",
            cases=cases,
            cause="format",
            span=python.span(),
        )
    elif "{{" not in source and "{%" not in source:
        yield Fault(
            message="the file holds no Jinja at all: every prompt is this same text",
            help="write the template in Jinja, over `messages`",
            cases=cases,
            cause="constant",
        )
    else:
        yield Fault(
            message="no text of any message reaches the prompt",
            help="print `message['content']` of each of `messages`",
            cases=cases,
            cause="silent",
            span=view.mention("messages"),
        )

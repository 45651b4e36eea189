"""TL601: a chat model without a template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault, Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ()


def check(view: View) -> Iterator[Fault]:  # noqa: ARG001 (where a template is, this rule has nothing to say)
    """Nothing: a view has a template."""
    yield from ()


def check_model(model: Model) -> Iterator[Fault]:
    """Say so where a model carries no template; engines then invent one or refuse to chat."""
    if not model.templates:
        yield Fault(
            message="the model carries no chat template",
            help="add the template of its base model (`chat_template.jinja`, or `--chat-template-file` at the engine): "
            "llama.cpp falls back to ChatML, the other engines refuse chat requests",
            cause="missing",
        )

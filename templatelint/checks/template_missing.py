"""TL601: a chat model without a template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.model import Model, RenderError
    from templatelint.view import View

CASES = ()


def check(view: View) -> Iterator[Fault]:  # noqa: ARG001 (where a template is, this rule has nothing to say)
    """Nothing: a view has a template."""
    yield from ()


def check_model(model: Model, refusals: Mapping[str, RenderError]) -> Iterator[Fault]:
    """Say so where engines find no template for a plain chat; they then invent one or refuse to chat."""
    if not refusals or model.elsewhere or model.not_for_chat:
        return
    default = model.template("default")
    if default is not None:
        blank = not default.source.strip()
        message = "the default template is empty" if blank else next(iter(refusals.values())).message
    elif model.templates:
        named = ", ".join(template.name for template in model.templates)
        message = f"plain chat has no template: the model carries {named} and none named default"
    else:
        message = "the model carries no chat template"
    yield Fault(
        message=message,
        help="add the template of its base model (`chat_template.jinja`, or `--chat-template-file` at the engine): "
        "llama.cpp falls back to ChatML, most other engines refuse chat requests",
        cause="missing",
    )

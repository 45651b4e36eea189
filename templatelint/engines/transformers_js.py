"""Requests → prompts as `tokenizer.apply_chat_template` of transformers.js gives them.

Read in @huggingface/transformers 4.3.2, `src/tokenization_utils.js` and `src/pipelines/text-generation.js`; what npm
installs of it holds @huggingface/jinja 0.5.10, whatever else is installed. Its processors of Gemma 3 and 4 read
`chat_template.jinja`, its tokenizers never: they know only `tokenizer_config.json`. A template is judged here
wherever it was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint.engines.prepared import Prepared, Preparing
from templatelint.engines.transformers import choose_named

# the renderer not inside `load`: what is imported here, the children of a run inherit
from templatelint.renderers import RenderFailure
from templatelint.renderers.hf_jinja import described
from templatelint.renderers.hf_jinja.program import compile_template

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from templatelint.model import ClientForm, Model, RenderError, Request, Template, Tokenizer


# Options of the call that no template sees.
_OPTIONS = frozenset(
    {
        "chat_template",
        "tokenize",
        "padding",
        "truncation",
        "max_length",
        "return_tensor",
        "return_dict",
        "tokenizer_kwargs",
    }
)


@dataclass(frozen=True)
class TransformersJs:
    """The tokenizer's way from a conversation to a prompt, in JavaScript."""

    version: str
    name: str = "transformers.js"
    renderer: str = "hf-jinja"
    emulated: bool = False
    client_form: ClientForm = "native"
    always_cues: bool = False

    def choose(self, model: Model, request: Request) -> Template | RenderError:
        """`tool_use` where the request has tools (an empty list counts), else `default` (`get_chat_template`)."""
        return choose_named(model, request)

    def load(self, template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
        """Compile the template."""
        try:
            program = compile_template(template.source)
        except RenderFailure as failure:
            return failure.record
        return LoadedTemplate(program, tokenizer.special_tokens)


@dataclass(frozen=True)
class LoadedTemplate(Preparing):
    """A compiled template and the special tokens it sees."""

    special_tokens: Mapping[str, str]

    def prepare(self, request: Request, now: datetime) -> Prepared | RenderError:  # noqa: ARG002 (others tell the time)
        """The variables of the call: nothing is changed, checked or left out, and what is not known is a variable.

        So is `continue_final_message`, which this engine does not have.
        """
        options: dict[str, Any] = {
            "tools": request.tools,
            "documents": request.documents,
            "add_generation_prompt": request.add_generation_prompt,
        }
        if request.continue_final_message:
            options["continue_final_message"] = request.continue_final_message
        options |= request.variables
        named = {name: options.pop(name) for name in ("add_generation_prompt", "tools", "documents")}
        return Prepared(
            {
                "messages": request.messages,
                **named,
                **{name: token for name, token in self.special_tokens.items() if token},
                **{name: value for name, value in options.items() if name not in _OPTIONS},
            }
        )


def engine(name: str) -> TransformersJs:
    """The engine of that id, over the copy of the npm package that is found."""
    return TransformersJs(described(), name)

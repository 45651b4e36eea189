"""Request → the template variables that vLLM passes on: only those that the template mentions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jinja2 import nodes
from jinja2.defaults import DEFAULT_NAMESPACE
from jinja2.meta import TrackingCodeGenerator

from templatelint.engines.vllm.validation import InvalidRequest
from templatelint.syntax import parse

if TYPE_CHECKING:
    from templatelint.model import Request

_KEPT = 4  # templates whose names are remembered
NAMES_OF_ARGUMENTS = frozenset(
    {"self", "sanitize_control_tokens", "padding", "truncation", "max_length", "return_tensors"}
    | {"return_assistant_tokens_mask", "tokenizer_kwargs"}
)
"""What `apply_chat_template` of transformers 5.20 declares, and vLLM does not set itself: passed on in any case."""
# what vLLM sets itself, whatever the request's chat_template_kwargs say
_SET = ("chat_template", "tokenize", "add_generation_prompt", "continue_final_message", "return_dict")
# arguments of the function that takes them, each of which it would be given twice
_TAKEN = ("model_config", "tokenizer", "conversation")


def asked_for(request: Request) -> dict[str, Any]:
    """The template variables of the request: its `chat_template_kwargs`, and what follows from its other members.

    `tools` and `documents` are among them where chat_template_kwargs has them. Null and "auto" count as not given.

    Raises:
        InvalidRequest: vLLM fails on one of them.
    """
    asked = dict(request.variables)
    effort = request.extra.get("reasoning_effort")
    if effort is not None:
        if "enable_thinking" not in asked:
            asked["enable_thinking"] = effort != "none"
        asked["reasoning_effort"] = effort
    for name in _TAKEN:
        if asked.get(name) is not None:
            raise InvalidRequest(f"chat_template_kwargs has {name}, which vLLM passes itself")
    return {name: value for name, value in asked.items() if is_given(value) and name not in _SET}


def is_given(value: Any) -> bool:
    """Whether vLLM counts a value of `chat_template_kwargs` as one."""
    return value is not None and value != "auto"


def mentioned(asked: dict[str, Any], source: str) -> dict[str, Any]:
    """Those of the variables that the template looks up somewhere, or that are arguments of transformers."""
    if not asked:
        return asked
    read, bound = _names(source)
    # Jinja looks a name up that it gives a value in some branch only; whether it does takes more than a look
    looked_up = read if bound.isdisjoint(asked) else _undeclared(source)
    return {name: value for name, value in asked.items() if name in looked_up or name in NAMES_OF_ARGUMENTS}


@lru_cache(_KEPT)
def _names(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names that the template reads, and those that it, or Jinja, gives a value somewhere."""
    read: set[str] = set()
    bound = {*DEFAULT_NAMESPACE, "loop", "caller", "varargs", "kwargs", "self", "super"}
    for node in parse(source).all_nodes:
        if isinstance(node, nodes.Name):
            (read if node.ctx == "load" else bound).add(node.name)
        elif isinstance(node, nodes.NSRef):
            read.add(node.name)
        elif isinstance(node, nodes.Macro):
            bound.add(node.name)
        elif isinstance(node, nodes.Import):
            bound.add(node.target)
        elif isinstance(node, nodes.FromImport):
            bound.update(name if isinstance(name, str) else name[1] for name in node.names)
    return frozenset(read), frozenset(bound)


@lru_cache(_KEPT)
def _undeclared(source: str) -> frozenset[str]:
    """What `jinja2.meta.find_undeclared_variables` finds, which vLLM goes by; the tree stays as it is."""
    root = parse(source).root
    found = TrackingCodeGenerator(root.environment)  # type: ignore[arg-type]  # the parser has set it
    found.optimizer = None  # it would fold constants in the tree
    found.visit(root)
    return frozenset(found.undeclared_identifiers)

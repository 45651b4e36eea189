"""Template source → what SGLang concludes from it before the first request (0.5.23)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from jinja2 import nodes

from templatelint.renderers import RenderFailure

# not inside a function: what is imported here, the children of a run inherit
from templatelint.renderers.jinja2 import compile_template

if TYPE_CHECKING:
    from templatelint.syntax import Syntax

ContentFormat: TypeAlias = Literal["string", "openai"]

_MEDIA_WORDS = ("image", "audio", "video", "vision")
_MESSAGE_NAMES = frozenset(("message", "msg", "m"))
_CALL_ID = "tool_call_id"
_SELECTING = frozenset(("map", "selectattr", "rejectattr"))


@lru_cache(16)
def content_format(source: str) -> ContentFormat:
    """Whether templates are given typed content as lists (`openai`) or as text (`string`).

    A word for media anywhere in the source decides for lists, else a loop over a message's content.
    (parser/jinja_template_utils.py::detect_jinja_template_content_format)
    """
    if any(word in source for word in _MEDIA_WORDS):
        return "openai"
    syntax = _compiled(source)
    loops = () if syntax is None else (node for node in syntax.all_nodes if isinstance(node, nodes.For))
    return "openai" if any(_is_content(loop.iter) for loop in loops) else "string"


def _compiled(source: str) -> Syntax | None:
    """The tree of the source; None for one that does not compile, of which SGLang sees no tree."""
    try:
        return compile_template(source, restricted=False).syntax
    except RenderFailure:
        return None


def _is_content(node: nodes.Node | None) -> bool:
    """`message.content`, `msg['content']` …, also behind filters, tests and slices."""
    while isinstance(node, nodes.Filter | nodes.Test) or (
        isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)
    ):
        node = node.node
    if isinstance(node, nodes.Getattr):
        key: object = node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        key = node.arg.value
    else:
        return False
    return key == "content" and isinstance(node.node, nodes.Name) and node.node.name in _MESSAGE_NAMES


def reads_call_ids(source: str) -> bool:
    """Whether the template may place tool results by their ids rather than as they come.

    (parser/jinja_template_utils.py::jinja_template_may_reorder_tool_results)
    """
    if _CALL_ID not in source:
        return False
    syntax = _compiled(source)
    return syntax is not None and any(map(_reads_call_id, syntax.all_nodes))


def _reads_call_id(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Getattr):
        return node.attr == _CALL_ID
    if isinstance(node, nodes.Getitem):
        return _is_call_id(node.arg)
    if isinstance(node, nodes.Call):
        return isinstance(node.node, nodes.Getattr) and node.node.attr == "get" and any(map(_is_call_id, node.args[:1]))
    if isinstance(node, nodes.Filter) and node.name in _SELECTING:
        named = (keyword.value for keyword in node.kwargs if keyword.key == "attribute")
        return any(map(_is_call_id, [*node.args[:1], *named]))
    return False


def _is_call_id(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Const) and node.value == _CALL_ID


# ------------------------------------------------------------------------------------- reasoning effort

_THINKING_OFF = (
    r"(?s){%\s*if\s+not\s+enable_thinking\s+is\s+defined\s*%}.*?"
    r"{%\s*set\s+enable_thinking\s*=\s*(?:false|False)\s*%}"
)
# each row of words makes the template one of another kind, which has no such switch
_OTHER_KINDS = (
    ("<ifm|think>", "<ifm|think_fast>", "reasoning_effort"),
    ("<|channel|>",),
    ("reasoning_effort", "[THINK]"),
    ("reasoning_effort", "reasoning_mode_token", "no_think"),
)


def low_effort_switch(source: str) -> str | None:
    """The variable that SGLang sets where a request asks for low effort.

    Only templates that read as Nemotron 3's have one, and only where no rule before that one matches.
    (parser/template_detection.py::REASONING_MODE_RULES)
    """
    if "low_effort" not in source or "truncate_history_thinking" not in source:
        return None
    if any(all(word in source for word in words) for words in _OTHER_KINDS) or is_glm53(source):
        return None
    if re.search(_THINKING_OFF, source) or _defaults_to_no_thinking(source):
        return None
    return "low_effort"


def _defaults_to_no_thinking(source: str) -> bool:
    """`enable_thinking | default(false)`, whatever it is for."""
    syntax = _compiled(source)
    return syntax is not None and any(map(_is_off_default, syntax.all_nodes))


def _is_off_default(node: nodes.Node) -> bool:
    if not (isinstance(node, nodes.Filter) and node.name in ("default", "d")) or node.dyn_args or node.dyn_kwargs:
        return False
    if not (isinstance(node.node, nodes.Name) and node.node.name == "enable_thinking") or not node.args:
        return False
    named = (keyword.value for keyword in node.kwargs if keyword.key == "boolean")
    replaces_false = [*node.args[1:2], *named][:1]
    value = node.args[0]
    return isinstance(value, nodes.Const) and value.value is False and all(map(_is_constant, replaces_false))


def _is_constant(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Const)


def is_glm53(source: str) -> bool:
    """Whether the template reads as one of GLM-5.3's: parser/template_detection.py::is_glm53_template."""
    words = ("[gMASK]<sop>", "Reasoning Effort:", "<tool_call>", "<arg_key>", "<arg_value>")
    return all(word in source for word in words) and "enable_thinking" not in source

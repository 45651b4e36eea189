"""What a template has to do with thoughts: the fields and switches that its source names, and what engines give it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from jinja2 import nodes

from templatelint import call_syntax
from templatelint.passages import without_comments
from templatelint.reading import THOUGHT, has, stretch
from templatelint.syntax import TemplateSyntax, parse, walk
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from templatelint.call_syntax import ReasoningMarks
    from templatelint.syntax import Syntax
    from templatelint.view import View

HISTORY, LOOP = "reasoning-history", "reasoning-loop"
_BASIC = "chat-basic"
# what shows the marks around thoughts: always, and where calls reach the prompt
SHOWING, SHOWING_CALLS = (_BASIC, HISTORY), call_syntax.CASES
_ENABLE = "enable_thinking"
_LLAMA_CPP, _HARMONY = "llama.cpp", "<|channel|>"
# template variable → values that turn thinking on and off, as templates of 2026-11 read them
SWITCHES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "enable_thinking": (("true", "false"),),
    "thinking": (("true", "false"),),
    "reasoning": (("true", "false"),),
    "skip_thinking": (("false", "true"),),
    "skip_think": (("false", "true"),),
    "skip_reasoning": (("false", "true"),),
    "no_thinking": (("false", "true"),),
    "open_thinking": (("true", "false"),),
    "forced_thinking": (("true", "false"),),
    "force_reasoning": (("true", "false"),),
    "add_think_prompt": (("true", "false"),),
    "thinking_mode": (('"enabled"', '"disabled"'), ('"on"', '"off"'), ('"thinking"', '"chat"')),
    "reasoning_mode": (('"on"', '"off"'),),
    "thinking_budget": (("-1", "0"),),
}
# variables by which templates keep thoughts of earlier turns, with the value that does so
PRESERVING: Mapping[str, str] = {
    "preserve_thinking": "true",
    "keep_past_thinking": "true",
    "preserve_reasoning": "true",
    "clear_thinking": "false",
    "truncate_history_thinking": "false",
    "drop_thinking": "false",
    "interleaved_thinking": "true",
    "add_thoughts": "true",
}
# engines that hand a message's members on as the client sent them
VERBATIM = frozenset({"transformers", "transformers.js", "llama-cpp-python"})
# engines that hand no thoughts of earlier turns on, whatever the template reads, or of which that is not known
DROPPING = frozenset({"ollama", "tgi", "lmstudio"})
# engine → the members in which a template finds thoughts that came as `reasoning_content`
GIVEN: Mapping[str, tuple[str, ...]] = {
    "transformers": ("reasoning_content", "thinking"),
    "mlx-lm": ("reasoning_content", "thinking"),
    "vllm": ("reasoning_content", "reasoning"),
}
# engine → what it may write the prompts of a model with where its files say so, by what the templates of those hold
_OWN_CODE = {"vllm": {"[THINK]": "mistral_common"}}
# members of a message in which templates look for thoughts
_FIELDS = frozenset({"reasoning_content", "reasoning", "thinking", "thought", "thoughts", "reasoning_text"})
_PART = "thinking"  # the type of the parts of a content that Mistral's templates take thoughts from
_MESSAGES = "messages"
_SIGNS = ("think", "reason", "thought", "inner_prefix")


def concerned(source: str) -> bool:
    """Whether the source names anything of thoughts: most templates that do not need no cell rendered."""
    lower = without_comments(source).lower()
    return any(sign in lower for sign in _SIGNS)


def marks(view: View) -> ReasoningMarks | None:
    """The marks around thoughts, as the engine's cells show them, be it where a switch is set; None where none do."""
    found = call_syntax.of(view).reasoning
    return found if found is not None else _switched_marks(view)


def _switched_marks(view: View) -> ReasoningMarks | None:
    for case_id in switch_cells(view.template.source):
        text = (_behind_user(view, case_id) if view.renders(case_id) else None) or ""
        for start, end in THOUGHT:
            if start in text:
                return call_syntax.ReasoningMarks(start, end)
    return None


def tail(view: View, case_id: str = _BASIC) -> str:
    """What stands behind the user's text of plain chat.

    Raises:
        NoText: there is no prompt, or not that text in it.
    """
    if (text := _behind_user(view, case_id)) is None:
        raise NoText(case_id, "the user's text is not in the prompt")
    return text


def _behind_user(view: View, case_id: str) -> str | None:
    prompt = view.prompt(case_id)
    user = stretch(prompt, view.case(case_id), "user.1")
    return None if user is None else prompt[user.end :]


def closed(view: View) -> bool:
    """Whether prompts end with thoughts that are over, so that replies have none unless something turns them on."""
    found = marks(view)
    if found is None or found.opened:
        return False
    text = tail(view)
    # some open thoughts nowhere and end them all the same; gpt-oss ends every turn with the mark
    return found.end.strip() in text and (found.start in text or found.end.startswith("</"))


def asked_for(view: View) -> bool:
    """Whether the model thinks only where a request turns that on: the value that turns it off changes nothing."""
    usual = tail(view)
    for name, on, off in switches_in(view.template.source):
        cells = switch_cell(name, on), switch_cell(name, off)
        if all(view.renders(case_id) for case_id in cells) and view.prompt(cells[0]) != view.prompt(cells[1]):
            return tail(view, cells[1]) == usual
    return closed(view)


def family(engine: str) -> str:
    """The engine's id without the release."""
    return engine.partition("@")[0]


def given(view: View) -> tuple[str, ...]:
    """The members in which this engine gives the template thoughts; empty where it gives none.

    Raises:
        NoText: nothing but a template is known of the model, and the engine reads none of models with such templates.
    """
    name = family(view.engine)
    if name in DROPPING:
        return ()
    for sign, code in _OWN_CODE.get(name, {}).items():
        if sign in view.template.source and not view.model.metadata:
            raise NoText(HISTORY, f"{name} writes the prompts of most models with such a template with {code}")
    if name == _LLAMA_CPP and _HARMONY in view.template.source:
        return ("thinking",)  # its handler for gpt-oss renames them
    return GIVEN.get(view.engine, ("reasoning_content",))


def evidence(view: View, *case_ids: str) -> tuple[str, ...]:
    """The ids of the cells that were looked at for these cases."""
    return tuple(view.case(case_id).id for case_id in case_ids)


def shown(view: View, case_id: str) -> list[str]:
    """The marks of thoughts of the case that the prompt holds; none where the cell was not tried or has no prompt."""
    if not view.renders(case_id):
        return []
    case, prompt = view.case(case_id), view.prompt(case_id)
    return [mark for mark in case.marks if mark.startswith("reasoning.") and has(prompt, case, mark)]


# ------------------------------------------------------------------------------------------- the variables


def switch_cell(name: str, value: str, base: str = _BASIC) -> str:
    """The id of the case with that value of a switch."""
    if name == _ENABLE and base == _BASIC:
        return "thinking-on" if value == "true" else "thinking-off"
    return f"{base}+{name}={value}"


def switch_cells(source: str) -> Iterator[str]:
    """Plain chat with each value of each of them."""
    yield from (switch_cell(name, value) for name, *pair in switches_in(source) for value in pair)


@lru_cache(maxsize=4)  # every check asks, of the same template on each engine
def switches_in(source: str) -> tuple[tuple[str, str, str], ...]:
    """Name and values of the switches that the template of that text looks up: on, off."""
    try:
        read = _variables(parse(source))
    except TemplateSyntax:
        return ()
    return tuple((name, on, off) for name, pairs in SWITCHES.items() if name in read for on, off in pairs)


def named(view: View, names: Iterable[str]) -> list[str]:
    """Those of the names that the template looks up as a variable, and does not set whatever a request says."""
    looked_up = _variables(view.syntax)
    return [name for name in names if name in looked_up]


def preserving(view: View) -> str:
    """The variable that has the template keep thoughts, as a member of `chat_template_kwargs`; empty without one."""
    return next((f'"{name}": {PRESERVING[name]}' for name in named(view, PRESERVING)), "")


@lru_cache(maxsize=4)
def _variables(syntax: Syntax) -> frozenset[str]:
    read = {node.name for node in syntax.all_nodes if isinstance(node, nodes.Name) and node.ctx == "load"}
    return frozenset(read.difference(set_anyway(syntax)))


def set_anyway(syntax: Syntax) -> Iterator[str]:
    """The variables to which the template gives a value of its own in any case."""
    for node in syntax.root.body:
        if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
            name = node.target.name
            if all(not isinstance(used, nodes.Name) or used.name != name for used in walk(node.node)):
                yield name


# --------------------------------------------------------------------------------------------- the fields


@lru_cache(maxsize=4)
def fields_read(syntax: Syntax) -> tuple[str, ...]:
    """The members of a message from which the template takes thoughts, in the order of the source."""
    turns = _Turns(syntax)
    return tuple(dict.fromkeys(name for of, name in _members(syntax) if name in _FIELDS and turns.is_one(of)))


@lru_cache(maxsize=4)
def reads_parts(syntax: Syntax) -> bool:
    """Whether the template looks for parts of a content that are thoughts."""
    asked = any(
        isinstance(node, nodes.Compare)
        and any(isinstance(side.expr, nodes.Const) and side.expr.value == _PART for side in node.ops)
        for node in syntax.all_nodes
    )
    return asked and any(name == _PART for _, name in _members(syntax))


def _members(syntax: Syntax) -> Iterator[tuple[nodes.Node, str]]:
    """Every `OBJECT.NAME`, `OBJECT['NAME']` and `OBJECT.get('NAME')`: the object and the name."""
    for node in syntax.all_nodes:
        if isinstance(node, nodes.Getattr):
            yield node.node, node.attr
        elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            yield node.node, node.arg.value
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr == "get":
            first = next(iter(node.args), None)
            if isinstance(first, nodes.Const) and isinstance(first.value, str):
                yield node.node.node, first.value


class _Turns:
    """Which expressions of a template stand for a message."""

    def __init__(self, syntax: Syntax) -> None:
        self._lists = {_MESSAGES}
        self._names = {"message", "msg"}  # also where a macro is given one
        for node in syntax.all_nodes:
            if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
                if self._is_list(node.node):
                    self._lists.add(node.target.name)
                elif self.is_one(node.node):
                    self._names.add(node.target.name)
            elif isinstance(node, nodes.For) and self._is_list(node.iter):
                targets = [node.target] if isinstance(node.target, nodes.Name) else []
                self._names.update(target.name for target in targets)

    def is_one(self, node: nodes.Node) -> bool:
        """Whether it is a message."""
        if isinstance(node, nodes.Name):
            return node.name in self._names
        if isinstance(node, nodes.Getitem):
            return not isinstance(node.arg, nodes.Slice) and self._is_list(node.node)
        return isinstance(node, nodes.Filter) and node.name in {"first", "last"} and self._is_list(node.node)

    def _is_list(self, node: nodes.Node | None) -> bool:
        """Whether it is a list of messages: the request's, a part of it, or another name of one."""
        while isinstance(node, nodes.Filter) or (isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)):
            if isinstance(node, nodes.Filter) and node.name in {"first", "last", "length", "map"}:
                return False
            node = node.node
        if isinstance(node, nodes.Getattr):  # of a namespace
            return node.attr in self._lists
        return isinstance(node, nodes.Name) and node.name in self._lists

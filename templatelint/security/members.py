"""Attributes and items of what an expression may be: where a template leaves the data that it is given."""

from __future__ import annotations

from jinja2 import nodes

from templatelint.security.atoms import LOOP_NUMBERS, method_of, place, row
from templatelint.security.internals import MODULES, RUNNING, hidden, internal
from templatelint.security.protocol import prose
from templatelint.security.requests import SPOKEN, answers_any, keyed, member
from templatelint.security.showing import path
from templatelint.security.state import EACH, State
from templatelint.security.values import (
    MANY,
    NUMBER,
    UNKNOWN,
    Atom,
    Seq,
    Str,
    Table,
    Thing,
    Value,
    built,
    data,
    joined,
    one,
    texts,
)


class Members(State):
    """Reads what belongs to what."""

    def member(self, base: Value, key: Value, node: nodes.Node, how: str = "", *, dotted: bool = False) -> Value:
        """What a key or attribute of it is; `how` is the filter that asks for it."""
        bases, names = _telling(base, key)
        self.charge(EACH * len(bases) * len(names))
        found = [self._of_atom(atom, name, node, how, dotted=dotted) for atom in bases for name in names]
        value = found[0] if len(found) == 1 else joined(found)
        why = base.why | key.why
        if keyed(key) and any(isinstance(atom, Table) for atom in base.atoms):  # {'word': …}[content]
            trigger = self.found.trigger("text", "lookup", _instructing(base), node)
            why |= frozenset(() if trigger is None else (trigger,))
        return value.because(why) if why else value

    def _of_atom(self, base: Atom, key: Atom, node: nodes.Node, how: str, *, dotted: bool) -> Value:  # noqa: PLR0911
        if isinstance(key, Str) and leaves_data(base, key.text):
            return self.reached(path(base, key, how, dotted=dotted), node, key, base)
        if isinstance(key, Thing) or (isinstance(key, Str) and not dotted and computed(node)):
            self.unfolded(base, key, node, how)
        if isinstance(base, Thing):
            if base.kind == "internal":
                return self.reached(path(base, key, how, dotted=dotted), node, key, base)
            if base.name == "message" and isinstance(key, Str) and key.text in SPOKEN and self._is_system(node):
                return data("system")
            return self._of_thing(base, key)
        if isinstance(base, Table):
            self.charge(2 * len(base.rows))
            return row(base, key)
        if isinstance(base, Str | Seq):
            return place(base, key)
        return method_of(base, key)

    def _is_system(self, node: nodes.Node) -> bool:
        """Whether what is asked of is the message whose role was asked for, not another."""
        asked = node.node if isinstance(node, nodes.Call) else node
        whose = getattr(asked, "node", None)
        if isinstance(whose, nodes.Name) and whose.name in self.systems:
            return True
        return self.operator is not None and whose == self.operator

    def _of_thing(self, base: Thing, key: Atom) -> Value:
        name = key.text if isinstance(key, Str) else None
        made = UNKNOWN
        if base.kind == "data":
            made = self._of_data(base.name, key, name)
        elif base.kind == "namespace" and name is not None:
            made = self.env.get((base.name, name), UNKNOWN)
        elif base.kind == "macro":
            made = _of_macro(base, name)
        elif base.kind == "global" and name is not None:
            made = one(Thing("method", name, base))
        elif base.kind == "loop" and name is not None:
            made = NUMBER if name in LOOP_NUMBERS else MANY
        elif base.kind in ("made", "many"):  # what a cycler or joiner was given, and so on
            made = MANY
        elif base.kind == "mixed" and name is None:
            made = one(base)
        return made

    def _of_data(self, tag: str, key: Atom, name: str | None) -> Value:
        if name is not None and tag in ("text", "part"):
            self.found.asked.add(name)
        return member(tag, key)


def computed(node: nodes.Node) -> bool:
    """Whether the name that is asked for stands there as no constant."""
    if isinstance(node, nodes.Getitem):
        return not isinstance(node.arg, nodes.Const)
    if isinstance(node, nodes.Filter):
        given = (*node.args, *(pair.value for pair in node.kwargs))
        spread = node.dyn_args is not None or node.dyn_kwargs is not None
        return spread or not all(isinstance(arg, nodes.Const) for arg in given)
    return False


def leaves_data(base: Atom, name: str) -> bool:
    """Whether an attribute of that name is none of the data's."""
    if internal(name):
        return True
    if isinstance(base, Thing) and base.kind == "variable" and base.name in MODULES and name in RUNNING:
        return True
    return hidden(name) and not answers_any(base)


def _telling(base: Value, key: Value) -> tuple[tuple[Atom, ...], tuple[Atom, ...]]:
    """The alternatives that matter: of names put together of alternatives, most are none."""
    telling = tuple(atom for atom in key.atoms if isinstance(atom, Str) and internal(atom.text))
    if not telling:
        return base.atoms, key.atoms
    objects = tuple(atom for atom in base.atoms if isinstance(atom, Thing) and atom.kind == "generator")
    return objects or base.atoms, telling


def _instructing(base: Value) -> list[Atom]:
    """The keys under which a mapping holds an instruction."""
    rows = [row for atom in base.atoms if isinstance(atom, Table) for row in atom.rows]
    return [atom for key, value in rows if any(prose(text.text) for text in texts(value)) for atom in key.atoms]


def _of_macro(macro: Thing, name: str | None) -> Value:
    if name == "name":
        return built(macro.name, Str(macro.name))
    if name == "arguments":
        return one(Seq(tuple(built(argument.name, Str("")) for argument in macro.base.args)))
    return UNKNOWN

"""A template's syntax tree → what it reaches, what it is keyed to, what it says: read through, never run.

The tree is followed as it would be rendered, with sets of constants where they are known and descriptions where they
are not. Every branch is followed, those that are never taken too; loops over constants are followed item by item,
others once or twice. All of it is bounded: beyond the bounds a value is unknown, and no node is left unseen.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from jinja2 import nodes

from templatelint.security.atoms import loop, truth
from templatelint.security.expressions import DEEP, Expressions
from templatelint.security.internals import holds_internal, internal
from templatelint.security.members import computed
from templatelint.security.requests import VARIABLES, role_of
from templatelint.security.showing import GLOBALS
from templatelint.security.state import CHANGED, EACH, GivenUp
from templatelint.security.values import EMPTY, MANY, NUMBER, UNKNOWN, Seq, Str, Table, Thing, Value, Why, joined, one
from templatelint.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from templatelint.security.findings import Findings
    from templatelint.security.state import Env

_ITERATIONS: Final = 256
_NESTED: Final = 2  # loops in each other that are followed twice
_LOOP: Final = one(Thing("loop", "loop"))
_ACCESSES = (nodes.Getattr, nodes.Getitem, nodes.Filter, nodes.Call)

_Branch: TypeAlias = "tuple[Why, nodes.Expr | None, Sequence[nodes.Node]]"


def _alike(known: Value | None, value: Value) -> bool:
    """Whether it may be nothing that it could not be before."""
    return known is value or (
        known is not None and all(any(a is b or a == b for b in known.atoms) for a in value.atoms)
    )


def _constant(node: nodes.Expr) -> bool:
    """Whether a name of templates, or a list of them, stands there."""
    listed = node.items if isinstance(node, nodes.List | nodes.Tuple) else [node]
    return all(isinstance(part, nodes.Const) for part in listed)


class Interpreter(Expressions):
    """Reads statements."""

    def __init__(self, syntax: Any) -> None:
        super().__init__(syntax)
        self._loops = 0  # over what is not known
        self._ways: dict[int, bool] = {}
        self._aside: set[int] = set()  # bodies that were read once though nothing leads there

    def read(self) -> Findings:
        """What there is to be told of the template."""
        try:
            self._whole()
        except GivenUp:
            self.found.unread = True
        self._look_over()
        return self.found

    def _whole(self) -> None:
        self._run(self.syntax.root.body)
        while self.deferred:
            node, self.env = self.deferred.pop()
            self.depth = 0
            self.eval(node)
        for node in self.syntax.all_nodes:  # what has not been come by
            if isinstance(node, _ACCESSES) and id(node) not in self.seen:
                self.depth = 0
                self.eval(node)

    def _look_over(self) -> None:
        """What the nodes tell alone, without what leads to them."""
        for node in self.syntax.all_nodes:
            if isinstance(node, nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends):
                if not _constant(node.template):
                    self.found.dynamic("{% include … %}", "a template that is computed", node)
            elif self.found.unread:
                self._look_at(node)

    def _look_at(self, node: nodes.Node) -> None:
        if isinstance(node, nodes.Getattr) and internal(node.attr):
            self.found.reach(f"(…).{node.attr}", node, (), "", "")
        elif isinstance(node, nodes.Const) and isinstance(node.value, str) and holds_internal(node.value):
            self.found.reach(f"(…)[{node.value!r}]", node, (), "", "")
        elif isinstance(node, nodes.Getitem):
            key, base = node.arg, node.node
            bare = isinstance(base, nodes.Const) or (
                isinstance(base, nodes.Name) and base.name in (*GLOBALS, "messages")
            )
            if bare and isinstance(key, nodes.Filter | nodes.Call | nodes.Concat | nodes.Name | nodes.Getitem):
                self.found.dynamic("(…)[…]", "a name that is computed in a way that cannot be followed", node)
        elif isinstance(node, nodes.Filter) and node.name in ("attr", "getattr") and computed(node):
            self.found.dynamic("(…)|attr(…)", "a name that is computed in a way that cannot be followed", node)

    def _run(self, body: Iterable[nodes.Node]) -> None:
        self.depth += 1
        for node in body:
            self.steps += 1
            self.charge(EACH)
            if self.depth > DEEP:
                self._lose(node)
                continue
            work = _STATEMENTS.get(type(node))
            if work is not None:
                work(self, node)
            else:
                self._any(node)
        self.depth -= 1

    def _lose(self, body: nodes.Node) -> None:
        """What is too deep to be run may set its names to anything."""
        for node in walk(body):
            if isinstance(node, nodes.NSRef | nodes.Macro) or (isinstance(node, nodes.Name) and node.ctx == "store"):
                self.charge(EACH)
                target = nodes.Name(node.name, "store") if isinstance(node, nodes.Macro) else node
                self.bind(target, MANY)
        if self.out is not None:
            self.out = MANY
        self.muddle()

    def _any(self, node: nodes.Node) -> None:
        """A statement without rules of its own: its expressions, then its body."""
        for child in node.iter_child_nodes():
            if isinstance(child, nodes.Expr):
                self.eval(child)
            else:
                self._run((child,))

    def _output(self, node: nodes.Output) -> None:
        for part in node.nodes:
            self.emit(self.eval(part), part)

    def _set(self, node: nodes.Assign) -> None:
        self.bind(node.target, self.eval(node.node))

    def _set_block(self, node: nodes.AssignBlock) -> None:
        value = self._captured(node.body)
        self.bind(node.target, self._filtered(node.filter, value) if node.filter is not None else value)

    def _filter_block(self, node: nodes.FilterBlock) -> None:
        self.emit(self._filtered(node.filter, self._captured(node.body)), node)

    def _filtered(self, node: nodes.Expr, value: Value) -> Value:
        """A text through the filters of its tag."""
        chain: list[nodes.Filter] = []
        current: nodes.Expr | None = node
        while isinstance(current, nodes.Filter):
            chain.append(current)
            current = current.node
        return self.through(chain, value)

    def _captured(self, body: Sequence[nodes.Node]) -> Value:
        out, self.out = self.out, EMPTY
        self._run(body)
        made: Value | None = self.out
        self.out = out
        return UNKNOWN if made is None else made

    def _with(self, node: nodes.With) -> None:
        outer = self.env
        values = [self.eval(value) for value in node.values]
        self.env = dict(outer)
        for target, value in zip(node.targets, values, strict=False):
            self.bind(target, value)
        self._run(node.body)
        self.leave(outer)

    # ------------------------------------------------------------------------------------------------ branches

    def _if(self, node: nodes.If) -> None:
        why, live = self.guard, True
        taken: list[_Branch] = []
        aside: list[Sequence[nodes.Node]] = []
        tests: list[Any] = [(node.test, node.body), *((other.test, other.body) for other in node.elif_)]
        for test, body in tests:
            value = self.eval(test)
            why |= value.why
            known = truth(value)
            if live and known is not False:
                taken.append((why, test, body))
            else:
                aside.append(body)
            live = live and known is not True
        if live:
            taken.append((why, None, node.else_))
        else:
            aside.append(node.else_)
        for body in aside:
            self._read_aside(body)
        if len(taken) == 1 and taken[0][0] <= self.guard:
            self._branch(*taken[0])
        else:
            self.forked([partial(self._branch, *branch) for branch in taken])

    def _branch(self, why: Why, test: nodes.Expr | None, body: Sequence[nodes.Node]) -> None:
        """A branch that is taken for these reasons."""
        self.guard = why
        operator, self.operator = self.operator, role_of(test) or self.operator
        self._run(body)
        self.operator = operator

    def _read_aside(self, body: Sequence[nodes.Node]) -> None:
        """What is never taken: read once all the same, without effect on what follows."""
        if body and id(body) not in self._aside:
            self._aside.add(id(body))
            env, out = self.env, self.out
            self.env, self.out = dict(env), EMPTY
            self._run(body)
            self.env, self.out = env, out

    # --------------------------------------------------------------------------------------------------- loops

    def _for(self, node: nodes.For) -> None:
        over = self.eval(node.iter)
        outer = self.env
        items, known = self.iterated(over)
        if node.test is not None and known and items and not self.spent:
            items, known = self._filtered_items(node, items)
        before = self.env
        if known and items and len(items) <= _ITERATIONS and not self.spent and self._straight(node):
            for number, item in enumerate(items):
                self._iterate(node, item, loop(items, number))
                if self.spent and number + 1 < len(items):
                    self._widen(before)
                    self.out = None if self.out is None else MANY
                    break
        else:
            item = joined(items) if items else UNKNOWN
            self._follow(node, joined((item, MANY)) if node.recursive and known else item)
            if node.recursive:
                self._widen(before)
        if node.else_:
            self.forked([lambda: None, partial(self._run, node.else_)])
        self.leave(outer)

    def _follow(self, node: nodes.For, item: Value) -> None:
        """A loop whose rounds are not known: none or one, and another where that made a text or list longer."""
        before, out = self.env, self.out
        self._loops += 1
        self.forked([lambda: None, partial(self._iterate, node, item, _LOOP)])
        self._loops -= 1
        grown = any(
            isinstance(key, tuple)
            and before.get(key) is not value
            and any(isinstance(atom, Str | Seq | Table | int) for atom in value.atoms)
            for key, value in self.env.items()
        )
        if self.out is not None and out is not None and not _alike(out, self.out):
            self.out = joined((self.out, MANY))  # as often as there are items
        if not grown:
            return
        if self._loops < _NESTED and not self.spent:
            before = self.env
            self._loops += 1
            self.forked([lambda: None, partial(self._iterate, node, item, _LOOP)])
            self._loops -= 1
        self._widen(before)

    def _widen(self, before: Env) -> None:
        """What was put together in a loop that is not followed may have become anything."""
        for key, value in self.env.items():
            grown = isinstance(key, tuple) and not _alike(before.get(key), value)
            if grown and any(isinstance(atom, Str | Seq | Table) for atom in value.atoms):
                self.env[key] = joined((value, MANY))
            elif grown and any(isinstance(atom, int) and not isinstance(atom, bool) for atom in value.atoms):
                self.env[key] = joined((value, NUMBER))
            if isinstance(key, tuple) and key[0] == CHANGED and key[1] in self.env:
                self.env[key[1]] = self.env[key]

    def _straight(self, node: nodes.For) -> bool:
        """Whether its rounds go through their items one by one, to the last."""
        known = self._ways.get(id(node))
        if known is None:
            leaps = any(isinstance(part, nodes.Break | nodes.Continue) for part in walk(node))
            known = self._ways[id(node)] = not leaps and not node.recursive
        return known

    def _filtered_items(self, node: nodes.For, items: list[Value]) -> tuple[list[Value], bool]:
        """The items that pass its test, and whether that is known."""
        outer = self.env
        kept: list[Value] = []
        certain = True
        for item in items:
            self.charge(len(outer))
            self.env = dict(outer)
            self.bind(node.target, item)
            holds = truth(self.eval(node.test)) if node.test is not None else True
            certain = certain and holds is not None
            if holds is not False:
                kept.append(item)
        self.env = outer
        return kept, certain

    def _iterate(self, node: nodes.For, item: Value, round_: Value) -> None:
        outer, guard = self.env, self.guard
        self.charge(len(outer))
        self.env = {**outer, "loop": round_}
        self.scopes += 1
        self.bind(node.target, item)
        if node.test is not None:
            self.guard |= self.eval(node.test).why
        self.guard |= item.why
        self._run(node.body)
        self.guard = guard
        self.scopes -= 1
        self.leave(outer)

    # -------------------------------------------------------------------------------------------------- macros

    def _macro(self, node: nodes.Macro) -> None:
        self.env[node.name] = one(Thing("macro", node.name, node))
        if id(node) not in self._aside:
            self._aside.add(id(node))
            self._unfold(node)

    def _unfold(self, node: nodes.Macro | nodes.CallBlock) -> None:
        """Its body for whatever it may be given: nobody may call it."""
        given = [VARIABLES.get(argument.name, UNKNOWN) for argument in node.args]
        defaults = [self.eval(default) for default in node.defaults]
        for at, default in enumerate(defaults, len(given) - len(defaults)):
            given[at] = joined((UNKNOWN, default))
        env, out, writes = self.env, self.out, self.writes
        self._enclosed(node, {argument.name: value for argument, value in zip(node.args, given, strict=True)}, {})
        self.env, self.out, self.writes = env, out, writes

    def _call_block(self, node: nodes.CallBlock) -> None:
        if isinstance(node.call.node, nodes.ExtensionAttribute):  # {% generation %}
            self._run(node.body)
            return
        outer = self.env
        self._unfold(node)
        value = self.eval(node.call, one(Thing("macro", "caller", node)))
        self.leave(outer)
        self.emit(value, node)

    def enter(self, node: Any, args: Sequence[Value], named: dict[str, Value], caller: Value | None = None) -> Value:
        """The text that a macro gives for these arguments."""
        names = [argument.name for argument in node.args]
        missing = len(names) - len(node.defaults)
        given = dict.fromkeys(names, UNKNOWN)
        given.update(zip(names, args, strict=False))
        given.update({name: value for name, value in named.items() if name in given})
        outer = self.env
        for number, (name, default) in enumerate(zip(names[missing:], node.defaults, strict=True), missing):
            if number >= len(args) and name not in named:  # it may name those before it
                self.charge(len(outer))
                self.env = {**outer, **{known: given[known] for known in names[:number]}}
                given[name] = self.eval(default)
        self.env = outer
        rows = tuple((one(Str(name, built=True)), value) for name, value in named.items() if name not in names)
        more = {"varargs": one(Seq(tuple(args[len(names) :]))), "kwargs": one(Table(rows))}
        if caller is not None:
            more["caller"] = caller
        return self._enclosed(node, given, more)

    def _enclosed(self, node: nodes.Macro | nodes.CallBlock, given: dict[str, Value], more: dict[str, Value]) -> Value:
        outer, guard = self.env, self.guard
        self.charge(len(outer))
        self.env = {**outer, **given, **more}
        self.stack.append(node)
        self.scopes += 1
        made = self._captured(node.body)
        self.scopes -= 1
        self.stack.pop()
        self.guard = guard
        self.leave(outer)
        return made


_STATEMENTS: Mapping[type[nodes.Node], Callable[[Interpreter, Any], None]] = {
    nodes.Output: Interpreter._output,  # noqa: SLF001 (the table of this class)
    nodes.If: Interpreter._if,  # noqa: SLF001 (as above)
    nodes.For: Interpreter._for,  # noqa: SLF001 (as above)
    nodes.Assign: Interpreter._set,  # noqa: SLF001 (as above)
    nodes.AssignBlock: Interpreter._set_block,  # noqa: SLF001 (as above)
    nodes.FilterBlock: Interpreter._filter_block,  # noqa: SLF001 (as above)
    nodes.With: Interpreter._with,  # noqa: SLF001 (as above)
    nodes.Macro: Interpreter._macro,  # noqa: SLF001 (as above)
    nodes.CallBlock: Interpreter._call_block,  # noqa: SLF001 (as above)
}

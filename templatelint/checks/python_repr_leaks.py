"""TL006: `None`, `True`, `{'a': …}`, `<undefined>` or `[object …]` reaches the prompt from data."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from templatelint.checks._parts import printed
from templatelint.model import Case, Fault
from templatelint.reading import around, region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_PLAIN = ("chat-basic", "chat-turns")
_SYSTEM = ("chat-system", "chat-turns-system")
_TOOLS = ("tools-offer", "tool-schema-rich")
_ROLES = ("system", "user", "assistant")
_ARGUMENTS = "tool-arguments-types"
_RESULT = "tool-result-json"
CASES = (*_PLAIN, *_SYSTEM, *_TOOLS, "tool-call", _ARGUMENTS, _RESULT)

_FOREIGN = re.compile(r"<undefined>|\[object \w+\]|Undefined\(|<built-in method|<bound method|<function ")
# A part of content, which is a fault of its own where it is printed.
_PART = re.compile(r"\{'(?:type': 'text', 'text|text)': ")
_WORD = re.compile(r"\b(?:None|True|False)\b")
# with `| tojson` it is JSON's word
_MISSING = re.compile(r"\b(?:None|True|False|null)\b")


def check(view: View) -> Iterator[Fault]:
    """Look for Python's spelling of what the case holds as JSON."""
    for case, prompt in view.rendered(*CASES):
        leak = _FOREIGN.search(prompt)
        if leak is not None and leak[0] not in view.written:
            yield _fault(view, case, f"{leak[0]!r} is printed in place of a value", prompt[leak.start() :], "foreign")
            break
    for case, prompt in view.rendered(*_PLAIN):
        leak = _MISSING.search(prompt)
        if leak is not None and leak[0] not in view.written:
            fault = _fault(view, case, f"{leak[0]!r} is printed for a missing value", prompt[leak.start() :], "word")
            yield replace(fault, need="chat")
            break
    yield from _wrapped(view)
    for case, prompt in view.rendered(*_TOOLS):
        leak = _python_dict(view, prompt, _keys(case.request.tools))
        if leak is not None:
            yield _fault(view, case, "tool definitions are printed as a Python dict", prompt[leak.start() :], "tools")
            break
    yield from _arguments(view)


def _wrapped(view: View) -> Iterator[Fault]:
    """Some engines (vLLM) make a list of parts of every text, where the template looks as if it took lists."""
    for case, prompt in view.rendered(*_PLAIN, *_SYSTEM, *_TOOLS):
        if not all(isinstance(message["content"], str) for message in case.request.messages):
            continue
        leaks = {role: at for role in _ROLES if (at := printed(view, case.id, role)) is not None}
        if not leaks:
            continue
        whose, at = min(leaks.items(), key=lambda leak: leak[1])
        beside = " beside tools" if case.request.tools else ""
        yield Fault(
            message="text is handed over as a list of parts, "
            f"and {whose} content{beside} is printed as data: {around(prompt, at)!r}",
            help="print the `text` of each part wherever content is printed, or none of them: half is what misleads "
            "the engine; for vLLM, --chat-template-content-format string",
            cases=(case.id,),
            cause="wrapped",
            span=view.mention("content is string", "content"),
            need="tools" if beside else "system" if whose == "system" else "chat",
        )
        return


def _arguments(view: View) -> Iterator[Fault]:
    for case, prompt in view.rendered("tool-call", _ARGUMENTS):
        written = region(prompt, case)
        if _pythonic(case, written):
            return  # Python literals are this dialect's own syntax
        arguments = [_decoded(call["function"]["arguments"]) for call in _calls(case)]
        leak = _python_dict(view, written, {key for one in arguments for key in one})
        if leak is not None:
            yield _fault(
                view, case, "call arguments are printed as a Python dict", written[leak.start() :], "arguments"
            )
            return
        leak = _python_dict(view, written, _keys(arguments))
        if leak is not None:
            message = "an argument that is an object is printed as a Python dict"
            yield replace(_fault(view, case, message, written[leak.start() :], "value"), impact="degrades")
            return
    if not view.renders("tool-call") or not view.renders(_ARGUMENTS):
        return
    usual = region(view.prompt("tool-call"), view.case("tool-call"))
    case = view.case(_ARGUMENTS)
    written = region(view.prompt(_ARGUMENTS), case)
    for word in _WORD.finditer(written):
        if word[0] not in usual:
            message = f"the JSON value of an argument is printed as Python's {word[0]!r}"
            excerpt = written[max(0, word.start() - 30) :]
            yield replace(_fault(view, case, message, excerpt, "value"), impact="degrades")
            return


_HELP = {
    "value": "print arguments that are no strings with `| tojson`: a model repeats the spelling that its history shows",
    "tools": "print the tools with `| tojson`",
    "arguments": "print the arguments with `| tojson`, unless they are a string",
}


def _fault(view: View, case: Case, message: str, excerpt: str, cause: str) -> Fault:
    return Fault(
        message=f"{message}: {around(excerpt, 0)!r}",
        help=_HELP.get(cause, "print data with `| tojson`, and guard what may be missing with `is defined`"),
        cases=(case.id,),
        cause=cause,
        span=view.mention("tool_calls" if cause in {"arguments", "value"} else "tools", "messages"),
    )


def _calls(case: Case) -> list[Any]:
    return [call for message in case.request.messages for call in message.get("tool_calls") or ()]


def _pythonic(case: Case, written: str) -> bool:
    """Whether the call is written as `name(key=…)`."""
    return any(re.search(rf"\b{call['function']['name']}\(\w+\s*=", written) for call in _calls(case))


def _python_dict(view: View, text: str, keys: set[str]) -> re.Match[str] | None:
    """The first of the keys in Python's quotes that the template has not written itself."""
    quoted = re.compile("[{ ]'(?:" + "|".join(map(re.escape, sorted(keys))) + r")': .")
    return next(
        (
            found
            for found in quoted.finditer(text)
            if found[0] not in view.written and not _PART.match(text, found.start())
        ),
        None,
    )


def _decoded(arguments: Any) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(arguments) if isinstance(arguments, str) else arguments
    return decoded


def _keys(data: Any) -> set[str]:
    if isinstance(data, dict):
        return set(data).union(*(_keys(value) for value in data.values()))
    if isinstance(data, (list, tuple)):
        return set().union(*(_keys(value) for value in data))
    return set()

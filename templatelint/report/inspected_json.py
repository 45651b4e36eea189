"""Inspections → JSON: one object for all, or one line a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from templatelint.capabilities import able

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from templatelint.capabilities import Capabilities
    from templatelint.inspection import Inspection
    from templatelint.model import EngineUse, NotRun, Tokenizer
    from templatelint.report import Unreadable

# facts that are told as yes or no; the words behind them stand under `how`
_YES_OR_NO = (
    "tools",
    "tool_calls",
    "parallel_tool_calls",
    "tool_results",
    "string_content",
    "typed_content",
    "typed_tool_results",
    "object_arguments",
    "string_arguments",
)
_APART = frozenset({"why", "errors"})


def write(
    inspected: Iterable[tuple[str, Inspection]],
    engines: Iterable[EngineUse],
    not_run: Iterable[NotRun],
    unreadable: Iterable[Unreadable],
) -> Iterator[str]:
    """One object; each model stands on a line of its own, as soon as it is known.

    Args:
        inspected: references as typed, with what is known.
        engines: those asked.
        not_run: those that could not be.
        unreadable: references that gave no model.
    """
    yield '{"version": 1, "models": ['
    for number, (ref, inspection) in enumerate(inspected):
        yield ("," if number else "") + "\n" + json.dumps(model_of(ref, inspection))
    yield f"\n],\n{json.dumps(_run(engines, not_run, unreadable))[1:]}\n"


def write_lines(
    inspected: Iterable[tuple[str, Inspection]],
    engines: Iterable[EngineUse],
    not_run: Iterable[NotRun],
    unreadable: Iterable[Unreadable],
) -> Iterator[str]:
    """One object a line: the models, then what they were asked with; `type` says which is which."""
    for ref, inspection in inspected:
        yield json.dumps({"type": "model", **model_of(ref, inspection)}) + "\n"
    yield json.dumps({"type": "summary", "version": 1, **_run(engines, not_run, unreadable)}) + "\n"


def _run(engines: Iterable[EngineUse], not_run: Iterable[NotRun], unreadable: Iterable[Unreadable]) -> dict[str, Any]:
    return {
        "engines": [
            {"name": use.name, "renderer": use.renderer, "version": use.version, "emulated": use.emulated}
            for use in engines
        ],
        "not_run": [{"engine": row.ref, "why": row.why} for row in not_run],
        "unreadable": [{"ref": row.ref, "message": row.message, "help": row.help} for row in unreadable],
    }


def model_of(ref: str, inspection: Inspection) -> dict[str, Any]:
    """A model as an object of JSON."""
    model = inspection.model
    return {
        "ref": ref,
        "templates": [
            {
                "name": template.name,
                "sha256": template.sha256,
                "bytes": len(template.source.encode("utf-8", "surrogatepass")),
            }
            for template in model.templates
        ],
        "tokens": {**model.tokenizer.special_tokens},
        "tokenizer": _tokenizer(model.tokenizer),
        "notes": list(model.notes),
        "serves": {
            engine: {"chat": serving.chat, "tools": serving.tools} for engine, serving in inspection.serving.items()
        },
        "capabilities": {
            engine: {**_facts(found), **_own(inspection, engine)} for engine, found in inspection.capabilities.items()
        },
        "dialect": _dialect(inspection),
        "flags": {engine: flags.text for engine, flags in inspection.flags.items()},
        "flag_remarks": {
            engine: [*flags.lost, *flags.remarks]
            for engine, flags in inspection.flags.items()
            if flags.lost or flags.remarks
        },
        "contract": [str(term) for term in inspection.contract],
        "terms": [
            {"id": term.id, "text": term.text, "engines": list(term.engines), "everywhere": term.everywhere}
            for term in inspection.contract
        ],
    }


def _dialect(inspection: Inspection) -> dict[str, Any]:
    """The dialect of the first engine whose prompts show one; `engines` tells those of all."""
    told = (*inspection.syntax.values(), *inspection.elsewhere.values())
    syntax = next((found for found in told if found.dialect is not None), None)
    return {
        "name": syntax.dialect if syntax else None,
        "reads_back": syntax.reads_back if syntax else None,
        "ids": syntax.ids or None if syntax else None,
        "lost": [{"case": case, "what": lost} for case, lost in syntax.lost] if syntax else [],
        "engines": {engine: found.dialect for engine, found in inspection.syntax.items()},
    }


def _tokenizer(tokenizer: Tokenizer) -> dict[str, Any]:
    """What the files say, without vocabularies and other long lists."""
    scalars = {
        name: value for name, value in tokenizer.facts.items() if isinstance(value, (str, int, float)) or value is None
    }
    return {
        "assumed": tokenizer.assumed,
        "add_bos": tokenizer.add_bos,
        "add_eos": tokenizer.add_eos,
        "stop_tokens": list(tokenizer.stop_tokens),
        "facts": scalars,
    }


def _facts(found: Capabilities) -> dict[str, Any]:
    """Null is unknown."""
    values = {name: getattr(found, name) for name in found.__slots__ if name not in _APART}
    told: dict[str, Any] = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    told |= {name: able(values[name]) for name in _YES_OR_NO}
    how = {name: values[name] for name in _YES_OR_NO if values[name] is not None}
    return {"loads": told.pop("loads"), "why": found.why or None, **told, "how": how, "errors": {**found.errors}}


def _own(inspection: Inspection, engine: str) -> Mapping[str, Any]:
    own = inspection.own.get(engine)
    if own is None:
        return {}
    return {"caps": {**own.caps}, "parser": own.parser or None, "read_back": own.read_back or None}

"""Findings and reports made by hand, for the tests of what becomes of them."""

from __future__ import annotations

from typing import Any

from templatelint.model import EngineUse, Finding, NotRun, Place, Report, TemplateUse

LINE = "{%- if xml_tools %}{{ tools | tojson }}{% endif %}"
TRANSFORMERS = EngineUse("transformers", "jinja2", "5.24.0", emulated=True)
VLLM = EngineUse("vllm", "jinja2", "0.33.0", emulated=True)
ABSENT = (NotRun("*", "*", "llama.cpp: not modelled yet"), NotRun("*", "*", "sglang: not modelled yet"))


def finding(**changes: Any) -> Finding:
    made: dict[str, Any] = {
        "rule": "TL201",
        "name": "tools-ignored",
        "severity": "error",
        "message": "tool definitions never reach the prompt",
        "help": "print `tools` where the system text stands",
        "ref": "m.jinja",
        "template": "default",
        "place": Place("m.jinja", 3, 8),
        "end": Place("m.jinja", 3, 17),
        "engines": ("transformers",),
        "needs": ("tools",),
        "evidence": (("tools-offer", "transformers"),),
        "fingerprint": "0f",
        "span": (47, 56),
        "excerpt": LINE,
        "excerpt_line": 3,
        "excerpt_column": 8,
    }
    return Finding(**{**made, **changes})


def whole(**changes: Any) -> Finding:
    """A finding about a template as a whole."""
    place = Place("m.jinja", 1, 1)
    about_all = {"span": None, "excerpt": "", "excerpt_line": 0, "excerpt_column": 0, "place": place, "end": place}
    return finding(**{**about_all, **changes})


def report(*findings: Finding, **changes: Any) -> Report:
    made: dict[str, Any] = {
        "engines": (TRANSFORMERS,),
        "templates": (TemplateUse("m.jinja", "default", "m.jinja", "ab" * 32),),
        "findings": findings,
    }
    return Report(**{**made, **changes})

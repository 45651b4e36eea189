"""Findings and reports made by hand, for the tests of what becomes of them."""

from __future__ import annotations

from typing import Any

from templatelint.model import EngineUse, Finding, NotRun, Place, Related, Report, Suppressed, TemplateUse
from templatelint.report import Remark, Setting, Unreadable

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


# what a template, a file's name or somebody's reason may hold
HOSTILE = {
    "controls": "\x00\x08\x0c\x1b]0;owned\x07\x9b2J\x7f\t",
    "bidirectional": "\u202eabc\u2066\u200b\u2028\ufeff",
    "half characters": "\ud800 \udfff",
    "no characters of XML": "\ufffe\uffff",
    "line ends": "a\r\nb\nc\rd",
    "HTML": "<script>alert(1)</script>&amp;]]><!-- \"' --></details>",
    "Markdown": "| a | `b` **c** [d](https://evil.example) ![e](x) @octocat #12 GH-3 www.evil.example <b>f</b> $g$",
    "an open backtick": "a ` b\n- c",
    "commands": "50%,a:b::error file=x::y\n::set-output name=z::1\n##[add-path]/evil",
    "a path of Windows": "C:\\models\\a b.jinja",
    "links and placeholders": "[here](1) ]( {0} {{1}} \\[",
    "nothing": "",
    "much": "x" * 5000,
}


def hostile(text: str) -> Report:
    """A report in which that text stands wherever a text from elsewhere can."""
    place = Place(text, 3, 8)
    changes: dict[str, Any] = {
        "message": text,
        "help": text,
        "ref": text,
        "template": text,
        "place": place,
        "end": Place(text, 3, 17),
        "engines": (text,),
        "evidence": ((text, text),),
        "excerpt": f"{text}{{{{ x }}}}",
        "related": (Related(text, place, Place(text, 3, 9), 7),),
    }
    findings = (finding(**changes), finding(**changes, severity="note"), whole(severity="warning", message=text))
    return report(
        *findings,
        templates=(TemplateUse(text, text, text, "ab" * 32), TemplateUse(f"{text}2", "default", text, "ab" * 32)),
        suppressed=(Suppressed(findings[0], "per-file", text, place),),
        not_run=(NotRun("TL503", text, text), NotRun("*", text, text), NotRun("*", "*", f"tgi: {text}")),
    )


def hostile_setting(text: str) -> Setting:
    """What surrounds it."""
    return Setting(
        2, (Unreadable(text, text, text),), (Remark(text, text),), verbose=True, replay=("--bos-token", text)
    )

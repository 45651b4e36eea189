from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from program import start

if TYPE_CHECKING:
    from pathlib import Path

STEERING = re.compile(rb"[^\n -~\x80-\xff]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]")  # controls, also of C1, and overrides

TEMPLATES = {
    "loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% for k in range(99) %}{% endfor %}"
    "{% endfor %}{% endfor %}",
    "repetition": "{{ 'a' * 10**10 }}",
    "doubling": "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}"
    "{% endfor %}{{ ns.x }}",
    "recursion": "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
    "nesting": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "escapes": "{% for m in messages %}\x1b]0;owned\x07\x1b[2J\u202e{{ m.content }\n{% endfor %}",
    "message": "{{ raise_exception('\x1b[2J\u202e\x9b\\n') }}",
}


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("command", ["lint", "render"])
def test_a_hostile_template_is_answered_and_stays_in_its_cage(tmp_path: Path, command: str, name: str) -> None:
    path = tmp_path / f"{name}.jinja"
    path.write_text(TEMPLATES[name], encoding="utf-8")
    ran = start(command, str(path))
    told = ran.stdout + ran.stderr
    assert ran.returncode == 1, told.decode()
    assert not STEERING.search(told)
    assert b"Traceback" not in told
    assert b"internal" not in told
    assert len(told) < 5000


@pytest.mark.parametrize("form", ["full", "concise", "json", "jsonl"])
def test_nor_does_the_name_of_a_file(folder: Path, form: str) -> None:
    names = ("na\x1b[2Jme\n\u202e.jinja", "bad\udcff.jinja")
    try:
        for name in names:
            (folder / name).write_text("{% if", encoding="utf-8")
    except (OSError, ValueError):
        pytest.skip("the file system does not take these names")
    ran = start("lint", *names, "gone\x1b[2J", "--output-format", form)
    assert ran.returncode == 2
    assert ran.stdout.count(b"TL001") >= len(names)
    assert not STEERING.search(ran.stdout + ran.stderr)

"""A lock against the llama-server of the xllamacpp wheel, started with templates that are the pinned ones or not."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from program import CHATML, DEAF

from templatelint.engines.llamacpp import hosted
from templatelint.engines.llamacpp.loaded import Ends
from templatelint.engines.llamacpp.server import Bounds, serving
from templatelint.engines.llamacpp.tiny_gguf import write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from program import InProcess

pytestmark = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs the package xllamacpp")
ENDS = Ends("<s>", "</s>")
# a guard that llama.cpp switches off as it loads a template
PATCHED = (
    "{#- <|channel|> -#}{%- for message in messages %}<|im_start|>{{ message.role }}\n"
    '{%- if "<|channel|>analysis<|message|>" in message.content or "<|channel|>final<|message|>" in message.content %}'
    "{{- raise_exception('no') }}{%- endif %}\n{{ message.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)


@contextmanager
def started(**templates: str) -> Iterator[str]:
    """The reference of a server with these templates."""
    ports: list[int] = []

    def command(gguf: Path, port: int) -> Sequence[str]:
        ports.append(port)
        return (sys.executable, "-P", str(hosted.__file__), str(gguf), str(port))

    with serving(command, write(templates, ENDS), Bounds(20.0, 10.0)):
        yield f"server:http://127.0.0.1:{ports[0]}"


def _pinned(cli: InProcess, **templates: str) -> None:
    Path("model.gguf").write_bytes(write(templates, ENDS))
    assert cli("pin", "model.gguf", "--engine", "llama.cpp").code == 0


def _checked(cli: InProcess, ref: str) -> tuple[int, list[tuple[str, str]]]:
    ran = cli("pin", "--check", ref, "--output-format", "json")
    assert json.loads(ran.out)["not_run"] == []
    return ran.code, [(row["severity"], row["message"]) for row in json.loads(ran.out)["findings"]]


@pytest.mark.usefixtures("folder")
def test_a_server_with_the_pinned_templates_passes_and_one_with_others_is_caught(cli: InProcess) -> None:
    _pinned(cli, default=CHATML, tool_use=CHATML.replace("<tools>", "<functions>"))
    with started(default=CHATML, tool_use=CHATML.replace("<tools>", "<functions>")) as ref:
        assert _checked(cli, ref) == (0, [])
        # pinned as a server, it is held against that
        assert cli("pin", ref, "--lock", "server.lock").code == 0
        assert cli("pin", "--check", "--lock", "server.lock").code == 0
    with started(default=DEAF, tool_use=CHATML.replace("<tools>", "<functions>")) as ref:
        code, [(severity, message)] = _checked(cli, ref)
        assert (code, severity) == (1, "error")
        assert message.startswith(
            "not the template that templatelint.lock pins: tool definitions never reach the model"
        )
    ran = cli("pin", "--check", ref)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {ref}")
    ran = cli("pin", "--check", "--lock", "server.lock")
    assert ran.code == 2


@pytest.mark.usefixtures("folder")
def test_what_the_server_patches_is_no_fault(cli: InProcess) -> None:
    _pinned(cli, default=PATCHED)
    with started(default=PATCHED) as ref:
        code, [(severity, message)] = _checked(cli, ref)
    assert (code, severity) == (0, "note")
    assert "patched by the engine" in message

"""A template → a real llama-server with a scripted model of it, started once and shared by the tests of a module."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from templatelint import probe, scripted
from templatelint.engines.llamacpp import server
from templatelint.model import Model, Origin, Template, Tokenizer
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from templatelint.dialects.reply import ToolCall
    from templatelint.probe.catalogue import Check
    from templatelint.probe.verdict import Verdict

# xllamacpp in a process of its own, which ends when its standard input does: as `hosted.py`, with a larger context.
_HOST = """
import os, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
params.n_ctx = int(sys.argv[3])
params.n_parallel = 2
params.warmup = False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.endpoint_slots = True
if len(sys.argv) > 4:
    params.model_alias = {sys.argv[4]}
params.default_template_kwargs = {"preserve_reasoning": "true"}
server = xllamacpp.Server(params)
sys.stdin.buffer.read()
os._exit(0)
"""


def model_of(source: str, tokenizer: Tokenizer | None = None) -> Model:
    """A model that has this template, and no special tokens of its own unless they are given."""
    template = Template("default", source, Origin("chat_template.jinja", source))
    return Model("chat_template.jinja", "file", (template,), tokenizer or Tokenizer())


@contextmanager
def serving(
    template_source: str,
    *,
    dialect: str | None = None,
    further: Mapping[str, str | Sequence[ToolCall]] = {},
    tokenizer: Tokenizer | None = None,
    context: int = 8192,
) -> Iterator[str]:
    """The base URL of a llama-server, without `/v1`, whose model says the scripts.

    Put it into a fixture of the module's scope: a start takes a fraction of a second, a process and a model's file.

    Args:
        template_source: the chat template.
        dialect: of the calls, where it is not to be the template's own.
        further: further scripts.
        tokenizer: the model's special tokens.
        context: tokens for a request, of which each byte of a prompt is one.
    """
    made = scripted.script(model_of(template_source, tokenizer), dialect=dialect, further=further)
    with running(made.gguf, context=context) as url:
        yield url


@contextmanager
def running(gguf: bytes, *, context: int = 8192, alias: str = "") -> Iterator[str]:
    """The base URL of a llama-server with that model, which it lists by its alias."""

    def command(path: Path, port: int) -> Sequence[Any]:
        ports.append(port)
        # two slots share the context
        named = (alias,) if alias else ()
        return (sys.executable, "-c", _HOST, str(path), str(port), str(2 * context), *named)

    ports: list[int] = []
    with server.serving(command, gguf, server.Bounds(start=30.0, request=60.0)):
        yield f"http://127.0.0.1:{ports[0]}"


def deserved(url: str, checks: Mapping[str, Check], verdicts: Mapping[str, tuple[str, str]]) -> Mapping[str, Verdict]:
    """What checks say of a server; asserts that it is the word and the fact that are given for each."""
    with probe.opened(url, probe.Options(), Reach()) as endpoint:
        found = {rule: check.judge(endpoint.for_check()) for rule, check in checks.items()}
    told = {rule: (verdict.word, verdicts[rule][1] in verdict.message) for rule, verdict in found.items()}
    assert told == {rule: (word, True) for rule, (word, _) in verdicts.items()}, found
    return found

"""What a llama-server makes of a few requests, and what the pinned templates give there → where the two differ."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from templatelint import cases, engines, matrix
from templatelint.engines.llamacpp.real import body
from templatelint.errors import TemplatelintError
from templatelint.sources import endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Model, Template

ENGINE = "llama.cpp"
# plain chat, tools, and a call with its result: what no rewriting for a dialect of its own touches
CASES = ("chat-system", "tools-offer", "tool-call")
# flags with which a template is given other variables, or is not rendered as it is
_FLAGS = re.compile(r"--?(?:no-)?(?:chat-template-kwargs|reasoning[a-z-]*|rea|jinja|prefill-assistant)\Z")
_BUILD = re.compile(r"b(\d+)")


@dataclass(frozen=True)
class Renders:
    """How the prompts of a server compare.

    Attributes:
        differing: ids of the cases of which it makes another prompt.
        explained: what about the server may be why: a flag of its launch, or its build; empty where nothing is known.
        why_not: why they cannot be compared; empty where they were.
    """

    differing: tuple[str, ...] = ()
    explained: str = ""
    why_not: str = ""


def compared(model: Model, pinned: Sequence[Template]) -> Renders:
    """Ask a llama-server for prompts, and hold them against those of the pinned templates.

    Args:
        model: the server.
        pinned: the templates as they were.
    """
    engine = engines.get(ENGINE)
    given = {template.name: template for template in pinned}
    served = replace(model, templates=tuple(given.get(one.name, one) for one in model.templates))
    requests = [cases.to_form(cases.get(case_id).request, engine.client_form) for case_id in CASES]
    try:
        there = endpoint.prompts(model, [body(request) for request in requests])
        ours = [observed.prompt for _, observed in matrix.observe_requests(served, engine, requests)]
        later = matrix.observe_requests(served, engine, requests, cases.FIXED_NOW + timedelta(days=1))
    except TemplatelintError as error:
        return Renders(why_not=error.message)
    differing = tuple(
        case_id
        for case_id, own, (_, tomorrow), real in zip(CASES, ours, later, there, strict=True)
        # what reads the clock is another text every day
        if own == tomorrow.prompt and own is not None and real is not None and not _same(model, own, real)
    )
    return Renders(differing, next(explanations(model, engine.version), "") if differing else "")


def _same(model: Model, own: str, real: str) -> bool:
    """Whether two prompts are one, but for what the tokenizer adds: `/props` does not tell whether it does."""
    special = model.tokenizer.special_tokens
    bos, eos = special.get("bos_token", ""), special.get("eos_token", "")
    return own.removeprefix(bos).removesuffix(eos) == real.removeprefix(bos).removesuffix(eos)


def explanations(model: Model, modelled: str) -> Iterator[str]:
    """What about a server may be why it makes other prompts than the modelled version: flags, then its build."""
    launch = model.launch
    if launch is None:
        return
    yield from (word for word in launch.arguments or () if _FLAGS.match(word.partition("=")[0].replace("_", "-")))
    build = _BUILD.match(launch.version)
    if build and int(build[1]) and build[0] != modelled:
        yield f"its build {build[0]}"

"""The linted template in our model of the engine, beside the server: which conversations give another prompt there."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from templatelint import cases, engines, matrix
from templatelint.engines.llamacpp.real import body
from templatelint.errors import clip
from templatelint.probe.server.rendering import APPLY, LLAMA_CPP, TOKENIZING, Made, made, tokens, written
from templatelint.probe.template.differing import difference, lines_that_differ
from templatelint.probe.template.in_force import DEFAULT
from templatelint.probe.verdict import NotOffered
from templatelint.sources.endpoint.routes import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.engines import Engine
    from templatelint.model import Model, Observation, Request
    from templatelint.probe.endpoint import Endpoint, Served

# one of each kind of thing that a chat is made of
CASES = (
    "chat-basic",
    "chat-system",
    "chat-turns",
    "typed-user",
    "developer",
    "reasoning-history",
    "tools-offer",
    "tool-call",
    "tool-parallel",
)
_SAID = 160  # characters of an error
_TEXT = "x"  # that a tokenizer puts BOS and EOS around, where it does
_WRITES_TOKENS = re.compile(r"\b(?:bos|eos|pad|unk)_token\b")
_DAY = timedelta(days=1)
_MINUTE = timedelta(seconds=61)


@dataclass(frozen=True)
class Differing:
    """A conversation of which the server makes another prompt.

    Attributes:
        case_id: which.
        how: the first difference, in a clause.
        evidence: lines of both.
    """

    case_id: str
    how: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Battery:
    """How the prompts compare.

    Attributes:
        compared: ids of the conversations that could be compared.
        by: what was compared: `prompts`, `tokens` or `token counts`.
        assumed: the template writes tokens of which neither the server nor the linted model tells the text.
    """

    compared: tuple[str, ...]
    differing: tuple[Differing, ...]
    by: str
    assumed: bool = False


def battery(endpoint: Endpoint, linted: Model, served: Served) -> Battery:
    """Render nine conversations here and there, and compare.

    Raises:
        NotOffered: the server has no route that would tell what it makes of them.
        NoAnswer: it does not answer.
        TemplatelintError: our model of the engine does not work any more.
    """
    kind = served.kind or LLAMA_CPP  # /apply-template is that engine's
    if kind not in {LLAMA_CPP, *TOKENIZING}:
        raise NotOffered(APPLY, 0)
    engine = engines.get(kind)
    requests = [cases.to_form(cases.get(case_id).request, engine.client_form) for case_id in CASES]
    by = "tokens" if kind in TOKENIZING else "prompts"
    there = [made(endpoint, body(request), served.kind) for request in requests]
    if kind in TOKENIZING and all(each.error for each in there):  # older versions take no messages at that route
        there, by = [_used(endpoint, request) for request in requests], "token counts"
    model = _as_served(endpoint, linted, served, kind)
    ours = _Ours(endpoint, kind, model, engine, requests)
    differing, compared = [], []
    for row, (case_id, observed) in enumerate(zip(CASES, there, strict=True)):
        found = ours.differing(row, observed)
        if found is None:
            continue
        compared.append(case_id)
        if found:
            differing.append(replace(found[0], case_id=case_id))
    if differing:  # what decides is what was asked last
        made(endpoint, body(requests[CASES.index(differing[0].case_id)]), served.kind)
    assumed = model.tokenizer.assumed and any(_WRITES_TOKENS.search(one.source) for one in model.templates)
    return Battery(tuple(compared), tuple(differing), by, assumed)


def _used(endpoint: Endpoint, request: Request) -> Made:
    """How many tokens the chat route has counted, which is all that it tells of its prompt."""
    members = body(request)
    reply = endpoint.chat(members.pop("messages"), **members, max_tokens=1)
    said = table(reply.object.get("usage")).get("prompt_tokens")
    return Made(count=said if reply.ok and type(said) is int else None)


def _as_served(endpoint: Endpoint, linted: Model, served: Served, kind: str) -> Model:
    """The linted templates with the tokens of the server."""
    tokenizer = linted.tokenizer if served.model is None else served.model.tokenizer
    if kind == LLAMA_CPP and (around := _around(endpoint, kind)) is not None:
        tokenizer = replace(tokenizer, add_bos=around[0], add_eos=around[1])
    templates = linted.templates
    if len(templates) == 1:
        templates = (replace(templates[0], name=DEFAULT),)
    return replace(linted, templates=templates, tokenizer=tokenizer)


def _around(endpoint: Endpoint, kind: str) -> tuple[bool, bool] | None:
    """Whether the tokenizer puts BOS before a text and EOS behind it; None where that is not told."""
    both = [tokens(endpoint, _TEXT, kind, special=special) for special in (False, True)]
    bare, whole = both
    if not bare or not whole:
        return None
    for before in (0, 1):
        for behind in (0, 1):
            if whole[before : len(whole) - behind] == bare and len(whole) == len(bare) + before + behind:
                return bool(before), bool(behind)
    return None


@dataclass
class _Ours:
    """What our model of the engine makes of the conversations."""

    endpoint: Endpoint
    kind: str
    model: Model
    engine: Engine
    requests: Sequence[Request]

    def __post_init__(self) -> None:
        self._now = datetime.now(UTC).astimezone().replace(tzinfo=None)

    @cached_property
    def _observed(self) -> list[Observation]:
        return self._at(self._now)

    @cached_property
    def _otherwhen(self) -> list[list[Observation]]:
        """The same a day before, a day after and a minute later: the server's clock is its own."""
        return [self._at(self._now + later) for later in (-_DAY, _DAY, _MINUTE)]

    def _at(self, now: datetime) -> list[Observation]:
        return [observed for _, observed in matrix.observe_requests(self.model, self.engine, self.requests, now)]

    def differing(self, row: int, there: Made) -> list[Differing] | None:
        """How one conversation differs, in a list that is empty where it does not; None where that cannot be told."""
        here = self._observed[row]
        if here.error is not None and here.error.out_of_budget:
            return None
        found = self._compared(here, there)
        if not found or here.prompt is None:
            return found
        *days, minute = (each[row] for each in self._otherwhen)
        if any(other != here and self._compared(other, there) == [] for other in days):
            return []
        return None if minute != here else found

    def _compared(self, here: Observation, there: Made) -> list[Differing] | None:
        if there.turned_away:
            return None
        if here.prompt is None:
            reason = "" if here.error is None else clip(here.error.message, _SAID)
            told = f"the server makes a prompt, and the linted template none: {reason}"
            return [] if there.error else [Differing("", told)] if there.known else None
        if there.error:
            return [Differing("", f"the server makes no prompt: {there.error}")]
        if there.text is not None:
            return self._texts(here.prompt, there.text)
        return self._tokens(here.prompt, there) if there.known else None

    def _texts(self, here: str, there: str) -> list[Differing]:
        if here == there or self._but_for_ends(here, there):
            return []
        found = difference(here, there)
        return [Differing("", str(found), lines_that_differ(here, there)[1])]

    def _but_for_ends(self, here: str, there: str) -> bool:
        """Whether they are one but for BOS and EOS, where it is not known who adds these."""
        if self.model.tokenizer.add_bos is not None:
            return False
        special = self.model.tokenizer.special_tokens
        bos, eos = special.get("bos_token", ""), special.get("eos_token", "")
        return here.removeprefix(bos).removesuffix(eos) == there.removeprefix(bos).removesuffix(eos)

    def _tokens(self, here: str, there: Made) -> list[Differing] | None:
        own = tokens(self.endpoint, here, self.kind, special=False)
        if own is None:
            return None
        if there.ids in (own, None) and there.count in (len(own), None):
            return []
        texts = () if there.ids is None else [written(self.endpoint, ids) for ids in (own, there.ids)]
        if not texts or None in texts:
            count = there.count if there.ids is None else len(there.ids)
            return [Differing("", f"{count} tokens in place of {len(own)}")]
        ours, theirs = (text or "" for text in texts)
        return self._texts(ours, theirs)

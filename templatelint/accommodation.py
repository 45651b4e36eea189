"""First observations of a template → the variants of the cases in which it can be judged at all.

Some templates ask more of a client than the plain form: content as a list of parts, call ids of nine characters,
content "" rather than null beside calls. A rule of its own says so once; every other rule then looks at requests that
meet the demand, instead of failing with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import cases, reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from templatelint.matrix import Matrix
    from templatelint.model import Case, Observation

_TEXT = "chat-basic"
_CALL = "tool-call-empty"
_NULL = "tool-call"
FIRST = (_TEXT, _CALL, _NULL)
_BARE = (_NULL, "tool-call-absent")
PROBES = (f"{_TEXT}+typed", f"{_CALL}+typed", f"{_CALL}+shortids", f"{_CALL}+typed+shortids")


def suspicious(observed: Matrix, engine: str) -> bool:
    """Whether the plain form loses a text or makes the template raise, so that the probes are worth rendering."""
    text, call = (observed.cells.get((case_id, engine)) for case_id in (_TEXT, _CALL))
    if observed.loads.get(engine) is not None or _hopeless(text) or _hopeless(call):
        return False
    silent = text is not None and not _shows(observed, engine, _TEXT)
    return silent or (call is not None and call.error is not None)


def _hopeless(cell: Observation | None) -> bool:
    return cell is not None and cell.error is not None and cell.error.out_of_budget


def demands(observed: Matrix, engine: str) -> tuple[str, ...]:
    """The variants (`typed`, `shortids`, `empty`) without which this engine gets no usable prompt from the template."""
    typed = "+typed" if not _shows(observed, engine, _TEXT) and _shows(observed, engine, f"{_TEXT}+typed") else ""
    call = f"{_CALL}{typed}"
    short = _fails(observed, engine, call) and _renders(observed, engine, f"{call}+shortids")
    empty = _fails(observed, engine, _NULL) and _renders(observed, engine, _CALL)
    return (*(["typed"] if typed else []), *(["shortids"] if short else []), *(["empty"] if empty else []))


def adapted(case_ids: Iterable[str], variants: tuple[str, ...]) -> Mapping[str, str]:
    """Case id → the id of the same case with those of the variants that change it."""
    return {
        case_id: "+".join([case_id, *(variant for variant in variants if _applies(variant, cases.get(case_id)))])
        for case_id in case_ids
    }


def _applies(variant: str, case: Case) -> bool:
    if variant in case.id.split("+"):
        return False
    calling = [message for message in case.request.messages if message.get("tool_calls")]
    if variant == "empty":  # the rule on null content looks at these as they are
        return case.id.split("+")[0] not in _BARE and any(message.get("content") is None for message in calling)
    return variant == "typed" or bool(calling)


def _shows(observed: Matrix, engine: str, case_id: str) -> bool:
    cell = observed.cells.get((case_id, engine))
    if cell is None or cell.prompt is None:
        return False
    return reading.has(cell.prompt, observed.cases[case_id], "user.1")


def _renders(observed: Matrix, engine: str, case_id: str) -> bool:
    cell = observed.cells.get((case_id, engine))
    return cell is not None and cell.prompt is not None


def _fails(observed: Matrix, engine: str, case_id: str) -> bool:
    cell = observed.cells.get((case_id, engine))
    return cell is not None and cell.error is not None

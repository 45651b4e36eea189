"""First observations of a template → the variants of the cases in which it can be judged at all.

Some templates ask more of a client than the plain form: content as a list of parts, call ids of nine characters,
content "" rather than null beside calls. A rule of its own says so once; every other rule then looks at requests that
meet the demand, instead of failing with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import cases, reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from templatelint.model import Case, Observation

_TEXT = "chat-basic"
_CALL = "tool-call-empty"
_NULL = "tool-call"
FIRST = (_TEXT, _CALL, _NULL)
VARIANTS = frozenset({"typed", "shortids", "empty"})
_BARE = (_NULL, "tool-call-absent")
PROBES = (f"{_TEXT}+typed", f"{_CALL}+typed", f"{_CALL}+shortids", f"{_CALL}+typed+shortids")


def further(plan: Sequence[str], cells: Mapping[str, Observation]) -> Iterable[str]:
    """What an engine is to render next, given its cells by case id: the probes, then what their answers demand."""
    if suspicious(cells) and PROBES[0] not in cells:
        return PROBES
    return [variant for case_id, variant in adapted(plan, demands(cells)).items() if variant != case_id]


def suspicious(cells: Mapping[str, Observation]) -> bool:
    """Whether the plain form loses a text or makes the template raise, so that the probes are worth rendering."""
    text, call = cells.get(_TEXT), cells.get(_CALL)
    if _hopeless(text) or _hopeless(call):
        return False
    silent = text is not None and not _shows(cells, _TEXT)
    return silent or (call is not None and call.error is not None)


def _hopeless(cell: Observation | None) -> bool:
    return cell is not None and cell.error is not None and cell.error.out_of_budget


def demands(cells: Mapping[str, Observation]) -> tuple[str, ...]:
    """The variants (`typed`, `shortids`, `empty`) without which there is no usable prompt of the template."""
    typed = "+typed" if not _shows(cells, _TEXT) and _shows(cells, f"{_TEXT}+typed") else ""
    call = f"{_CALL}{typed}"
    short = _fails(cells, call) and _renders(cells, f"{call}+shortids")
    empty = _fails(cells, _NULL) and _renders(cells, _CALL)
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


def _shows(cells: Mapping[str, Observation], case_id: str) -> bool:
    cell = cells.get(case_id)
    return cell is not None and cell.prompt is not None and reading.has(cell.prompt, cases.get(case_id), "user.1")


def _renders(cells: Mapping[str, Observation], case_id: str) -> bool:
    return case_id in cells and cells[case_id].prompt is not None


def _fails(cells: Mapping[str, Observation], case_id: str) -> bool:
    return case_id in cells and cells[case_id].error is not None

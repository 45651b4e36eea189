"""TL201: tool definitions never reach the prompt, or not all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._calls import lost_parts
from templatelint.model import Case, Fault
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import RenderError
    from templatelint.view import View

_OFFERS = ("tools-offer", "tools-offer-system", "tools-many", "tool-call")
_CALLS = ("tool-call", "tool-call-empty", "tool-call-text")
_ORDER = ("chat-two-users", "chat-two-assistants")
CASES = (*_OFFERS, *_CALLS, *_ORDER)

# names under which templates take tools that OpenAI clients do not send
_OWN_NAMES = (
    "xml_tools",
    "python_tools",
    "builtin_tools",
    "custom_tools",
    "functions",
    "tools_json",
)
# what stands in a prompt only where the tool is offered
_PARTS = ("description", "parameter", "parameter.description")


def check(view: View) -> Iterator[Fault]:
    """Look for the name and description of every tool that the request offers."""
    seen = list(view.rendered(*_OFFERS))
    lost = {case.id: missing for case, prompt in seen if (missing := _missing(case, prompt))}
    if not lost:
        return
    none_shown = [case_id for case_id, missing in lost.items() if len(missing) == _offered(view.case(case_id))]
    if len(none_shown) == len(seen):
        history, calls_shown = _history(view)
        failing = [case_id for case_id in _CALLS if _unaware(view, view.raised(case_id))]
        yield Fault(
            message=f"tool definitions never reach the prompt{_own_names(view)}{history}",
            help="print `tools` in the system part, or deploy a template of this model that does: "
            "clients that send tools get answers from a model that never saw them",
            cases=tuple(dict.fromkeys((*lost, *view.ids(*failing)))),
            cause="never",
            span=view.mention("tools", "tool_calls", "messages"),
            total=not calls_shown,
        )
        return
    case_id = next(iter(lost))
    only_with_system = all(_has_system(case) != (case.id in lost) for case, _ in seen)
    if only_with_system:
        message = "tool definitions reach the prompt only beside a system message"
    else:
        message = (
            f"{len(lost[case_id])} of {_offered(view.case(case_id))} tool definitions "
            f"do not reach the prompt in {', '.join(lost)}"
        )
    yield Fault(
        message=message,
        help="print every entry of `tools`, whatever the messages are",
        cases=tuple(lost),
        cause="some",
        span=view.mention("tools"),
        total=False,
        partial=True,
    )


def _unaware(view: View, error: RenderError | None) -> bool:
    """Whether what a call or its result runs into is there for another reason, as that roles have to alternate."""
    if error is None:
        return False
    order = [view.raised(case_id) for case_id in _ORDER]
    return error.kind != "refused" or any(known is not None and known.message == error.message for known in order)


def _missing(case: Case, prompt: str) -> list[str]:
    """Tools of which neither name nor description nor a parameter arrived."""
    numbers = [name.split(".")[1] for name in case.marks if name.startswith("tools.") and name.endswith(".name")]
    return [
        number
        for number in numbers
        if not any(has(prompt, case, mark) for part in _PARTS if (mark := f"tools.{number}.{part}") in case.marks)
        # a name that the history calls stands in the prompt without being offered
        and (_called(case, number) or not has(prompt, case, f"tools.{number}.name"))
    ]


def _called(case: Case, number: str) -> bool:
    name = case.marks[f"tools.{number}.name"]
    return any(
        mark.startswith("call.") and mark.endswith(".name") and text == name for mark, text in case.marks.items()
    )


def _has_system(case: Case) -> bool:
    return any(message["role"] == "system" for message in case.request.messages)


def _offered(case: Case) -> int:
    return len(case.request.tools or ())


def _history(view: View) -> tuple[str, bool]:
    """What becomes of the calls and results of earlier turns, and whether calls are shown."""
    error = view.error("tool-call-empty")
    if error is not None:
        return f"; calls of earlier turns make the template raise: {error.message}", False
    case, prompt = view.case("tool-call-empty"), view.prompt("tool-call-empty")
    call = "value" not in lost_parts(prompt, case, 1)
    result = has(prompt, case, "tool.1")
    if call and result:
        return "; calls and results of earlier turns do", True
    if not call and not result:
        return "; neither do calls and results of earlier turns", False
    return f"; {'results' if result else 'calls'} of earlier turns do, {'calls' if result else 'results'} do not", call


def _own_names(view: View) -> str:
    # names of variables, of members, and of members in quotes; prose may hold the same words
    read = {getattr(node, field, None) for node in view.syntax.all_nodes for field in ("name", "attr", "value")}
    names = [name for name in _OWN_NAMES if name in read]
    return f"; the template reads {' and '.join(names)} instead" if names else ""

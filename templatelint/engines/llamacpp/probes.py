"""The conversations that llama.cpp's analysis renders, each rendered once, and their comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from templatelint.engines.llamacpp.markers import Difference, difference
from templatelint.engines.llamacpp.preparation import fit_content
from templatelint.renderers import RenderFailure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from templatelint.engines.llamacpp.capabilities import Capabilities
    from templatelint.renderers.llamacpp import Program

USER = "U_USER_MSG Hello END_U"
OTHER_USER = "V_USER_MSG Hello END_V"
ANSWER = "A_ASST_MSG I can help END_A"
REASONING = "REASON_PART I am thinking END_R"
FUNCTIONS = ("FFF_FIRST_FUN_F", "SSS_SECOND_FUN_S")
ARGUMENTS = ("AA_ARG_FST_AA", "BB_ARG_SND_BB")
VALUES = ("XXXX", "YYYY")
CALL_IDS = ("call00001", "call00002", "call99999")


# -------------------------------------------------------------------------------------- the conversations


def _call(function: str, arguments: Mapping[str, str], call_id: str = CALL_IDS[0]) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": function, "arguments": dict(arguments)}}


def _assistant(content: str | None = "", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def _tool(name: str, description: str) -> dict[str, Any]:
    properties = {
        argument: {"type": "string", "description": f"{order} argument"}
        for argument, order in zip(ARGUMENTS, ("First", "Second"), strict=True)
    }
    parameters = {"type": "object", "properties": properties, "required": []}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


class _Probe(NamedTuple):
    """What differs from one probe to the next."""

    messages: list[dict[str, Any]]
    tools: bool = False
    cue: bool = False
    thinking: bool = True


_FIRST, _SECOND = ARGUMENTS
_BOTH = dict(zip(ARGUMENTS, VALUES, strict=True))
_TOOLS = [_tool(FUNCTIONS[0], "Test function foo"), _tool(FUNCTIONS[1], "Test function bar")]
_USER = {"role": "user", "content": USER}
_OTHER = {"role": "user", "content": OTHER_USER}
_CALL = _call(FUNCTIONS[0], _BOTH)
_SECOND_CALL = _call(FUNCTIONS[1], _BOTH, CALL_IDS[1])


def _calls(*calls: Mapping[str, Any]) -> _Probe:
    return _Probe([_USER, _assistant(tool_calls=list(calls))], tools=True)


_REASONED_CALL = _call(FUNCTIONS[0], {_FIRST: "VVVV", _SECOND: "XXXX"})

PROBES: Mapping[str, _Probe] = {
    "nothing": _Probe([]),
    "user": _Probe([_USER]),
    "answer": _Probe([_USER, _assistant(ANSWER)]),
    "answer-reasoned": _Probe([_USER, _assistant(ANSWER, reasoning_content=REASONING)]),
    "cue-plain": _Probe([_USER], cue=True, thinking=False),
    "cue-thinking": _Probe([_USER], cue=True),
    "tools-answer": _Probe([_USER, _assistant(ANSWER)], tools=True),
    "tools-answer-reasoned": _Probe([_USER, _assistant(ANSWER, reasoning_content=REASONING)], tools=True),
    "tools-call-reasoned": _Probe(
        [_USER, _assistant(None, reasoning_content=REASONING, tool_calls=[_REASONED_CALL])], tools=True
    ),
    "tools-reasoning": _Probe([_USER, _assistant(reasoning_content=REASONING)], tools=True),
    "other-call": _calls(_call("test_func", {"arg1": "value1"})),
    "call": _calls(_CALL),
    "second-call": _calls(_SECOND_CALL),
    "both-calls": _calls(_CALL, _SECOND_CALL),
    "call-other-id": _calls(_call(FUNCTIONS[0], _BOTH, CALL_IDS[2])),
    "call-one-argument": _calls(_call(FUNCTIONS[0], {_FIRST: VALUES[0]})),
    "call-other-value": _calls(_call(FUNCTIONS[0], {_FIRST: VALUES[1]})),
    "call-other-argument": _calls(_call(FUNCTIONS[0], {_SECOND: VALUES[1]})),
    "exchange": _Probe([_OTHER, _assistant(ANSWER)]),
    "exchange-user": _Probe([_OTHER, _assistant(ANSWER), _USER]),
}


# ------------------------------------------------------------------------------------------- the renders


class Comparison(NamedTuple):
    """The texts of two probes and what they differ in."""

    left: bytes
    right: bytes
    difference: Difference


@dataclass(frozen=True)
class Rendered:
    """The probes as one template renders them, on demand."""

    program: Program
    capabilities: Capabilities
    bos_token: str
    eos_token: str
    now: datetime
    _texts: dict[str, bytes | None] = field(default_factory=dict)

    def text(self, name: str) -> bytes | None:
        """The prompt of a probe; None where the template raises."""
        if name not in self._texts:
            self._texts[name] = self._render(PROBES[name])
        return self._texts[name]

    def compare(self, left: str, right: str) -> Comparison | None:
        """Two probes side by side; None where either raises."""
        left_text, right_text = self.text(left), self.text(right)
        if left_text is None or right_text is None:
            return None
        return Comparison(left_text, right_text, difference(left_text, right_text))

    def _render(self, probe: _Probe) -> bytes | None:
        variables: dict[str, Any] = {
            "messages": fit_content(probe.messages, self.capabilities),
            "bos_token": self.bos_token,
            "eos_token": self.eos_token,
            "enable_thinking": probe.thinking,
        }
        if probe.tools:
            variables["tools"] = _TOOLS
        if probe.cue:
            variables["add_generation_prompt"] = True
        try:
            return self.program.render(variables, self.now).encode("utf-8", "surrogatepass")
        except RenderFailure:
            return None

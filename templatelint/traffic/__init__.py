"""What users send: request bodies, message files, tool files, recorded traffic → Request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.traffic.chat import read_messages, read_requests, request_from_openai
from templatelint.traffic.json_files import parsed, read_json, read_text

if TYPE_CHECKING:
    from templatelint.traffic.recorded import Recorded, read_recorded
    from templatelint.traffic.tools import read_tools, tools_of

__all__ = (
    "Recorded",
    "parsed",
    "read_json",
    "read_messages",
    "read_recorded",
    "read_requests",
    "read_text",
    "read_tools",
    "request_from_openai",
    "tools_of",
)

# name → the module that has it: the corpus of cases is read without either
_LATER = {"Recorded": "recorded", "read_recorded": "recorded", "read_tools": "tools", "tools_of": "tools"}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)

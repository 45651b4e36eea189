"""Markers that come in pairs: what opens a turn or a part of one, and what may close it (as of 2026-11)."""

from __future__ import annotations

from templatelint.reading import TURNS

PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("<|start_header_id|>", ("<|end_header_id|>", "<|stop_header_id|>")),
    ("<|header_start|>", ("<|header_end|>",)),
    ("<|start_of_role|>", ("<|end_of_role|>",)),
    ("<tool_call>", ("</tool_call>",)),
    ("<tool_response>", ("</tool_response>",)),
    ("[TOOL_RESULTS]", ("[/TOOL_RESULTS]",)),
    ("[AVAILABLE_TOOLS]", ("[/AVAILABLE_TOOLS]",)),
)

__all__ = ("PARTS", "TURNS")

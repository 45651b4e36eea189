"""Markers that come in pairs: what opens a turn or a part of one, and what may close it (as of 2026-11)."""

from __future__ import annotations

TURNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("<|im_start|>", ("<|im_end|>",)),  # ChatML: Qwen, Yi, Hermes, SmolLM …
    ("<start_of_turn>", ("<end_of_turn>",)),  # Gemma 1 to 3
    ("<|turn>", ("<turn|>",)),  # Gemma 4
    ("<|start_header_id|>", ("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>")),  # Llama 3
    ("<|header_start|>", ("<|eot|>", "<|eom|>")),  # Llama 4
    ("<|start_of_role|>", ("<|end_of_text|>",)),  # Granite
    ("<|START_OF_TURN_TOKEN|>", ("<|END_OF_TURN_TOKEN|>",)),  # Command R
    ("<|start|>", ("<|end|>", "<|call|>", "<|return|>")),  # gpt-oss
    ("[INST]", ("[/INST]",)),  # Mistral, Llama 2: the user's part only
)
PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("<|start_header_id|>", ("<|end_header_id|>", "<|stop_header_id|>")),
    ("<|header_start|>", ("<|header_end|>",)),
    ("<|start_of_role|>", ("<|end_of_role|>",)),
    ("<tool_call>", ("</tool_call>",)),
    ("<tool_response>", ("</tool_response>",)),
    ("[TOOL_RESULTS]", ("[/TOOL_RESULTS]",)),
    ("[AVAILABLE_TOOLS]", ("[/AVAILABLE_TOOLS]",)),
)

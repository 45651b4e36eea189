"""Replies of TranslateGemma: nothing but content.

Facts: common/parsers/translate-gemma.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import parts

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.reply import Setting


def translate_gemma(text: Cursor, setting: Setting) -> None:
    """The generation prompt, whatever it is, and content."""
    text.literal(setting.generation_prompt)
    text.blanks()
    parts.content(text)

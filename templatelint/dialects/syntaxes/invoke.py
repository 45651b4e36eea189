"""Dialects whose tags hold names as attributes: `<invoke name="f"><parameter name="key">value`, and DeepSeek's DSML."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from templatelint.dialects.dialect import Dialect
from templatelint.dialects.syntaxes.tag_reader import reader
from templatelint.dialects.syntaxes.tag_writer import Layout, writer
from templatelint.dialects.syntaxes.tags import Tags, attributed


def invokes(prefix: str, section: str) -> Tags:
    """`<PREFIXinvoke name="f">`, arguments as `<PREFIXparameter name="key">`, maybe in a section."""
    return Tags(
        call=attributed(f"<{prefix}invoke", "name"),
        call_end=f"</{prefix}invoke>",
        argument=attributed(f"<{prefix}parameter", "name"),
        argument_end=f"</{prefix}parameter>",
        sections=((f"<{section}>", f"</{section}>"),) if section else (),
    )


# --------------------------------------------------------------------------- the parameter says whether it is text


def _is_text(_: str, value: Any) -> str:
    return f'string="{"true" if isinstance(value, str) else "false"}"'


def _marked(prefix: str, section: str) -> Tags:
    return replace(
        invokes(prefix, f"{prefix}{section}"), argument=attributed(f"<{prefix}parameter", "name", kind=_is_text)
    )


def _dsml(name: str, tags: Tags, *aliases: str) -> Dialect:
    section, end = tags.sections[0]
    return Dialect(
        name=name,
        openings=tags.openings,
        read=reader(tags),
        write=writer(tags, Layout((section, end))),
        signature=rf'{section}\s*{tags.call.marks[0]}\s+name="NAME"',
        dropped=("<｜end▁of▁sentence｜>",),
        aliases=aliases,
    )


DEEPSEEK_V3_2 = _dsml("deepseek-v3.2", _marked("｜DSML｜", "function_calls"), "deepseek-v32", "deepseekv32", "dsml")
DEEPSEEK_V4 = _dsml("deepseek-v4", _marked("｜DSML｜", "tool_calls"), "deepseekv4")
DEEPSEEK_V4_1 = _dsml("deepseek-v4.1", _marked("｜DSML｜ ", "calls"), "deepseek-v41", "deepseekv41")
GIGACHAT3_5 = replace(
    _dsml("gigachat3.5", _marked("｜GCML｜", "tool_calls"), "gigachat35", "gcml"), dropped=("<|message_sep|>",)
)

# ------------------------------------------------------------------------------------- it says nothing of the kind

_M2 = invokes("", "minimax:tool_call")

MINIMAX_M2 = Dialect(
    name="minimax-m2",
    openings=_M2.openings,
    read=reader(_M2),
    write=writer(_M2, Layout(("<minimax:tool_call>", "</minimax:tool_call>"))),
    signature=r'<minimax:tool_call>\s*<invoke name="NAME"',
    dropped=("[e~[",),
    aliases=("minimax", "minimax-m2-append-think"),
)

_DOTS = replace(invokes("", "dots_function_call"), json_calls=True)

DOTS = Dialect(
    name="dots",
    openings=_DOTS.openings,
    read=reader(_DOTS),
    write=writer(_DOTS, Layout(("<dots_function_call>", "</dots_function_call>"))),
    signature=r'<dots_function_call>\s*(?:<invoke name="NAME"|\{)',
)

_STEP3 = replace(
    invokes("steptml:", ""),
    sections=(("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),),
    # One of them has a slip of the published template in it.
    fillers=("<｜tool_call_begin｜>", "<｜tool_call_begin>｜>", "function<｜tool_sep｜>", "<｜tool_call_end｜>"),
)

STEP3 = Dialect(
    name="step3",
    openings=(*_STEP3.openings, "<｜tool_call_begin｜>"),
    read=reader(_STEP3),
    write=writer(
        _STEP3,
        Layout(
            ("<｜tool_calls_begin｜>\n", "\n<｜tool_calls_end｜>"),
            line="",
            gap="\n",
            around=("<｜tool_call_begin｜>function<｜tool_sep｜>", "<｜tool_call_end｜>"),
        ),
    ),
    signature=r'<steptml:invoke name="NAME"',
    dropped=("<|EOT|>",),
)

_MINICPM5 = Tags(
    call=replace(attributed("<function", "name"), marks=("<function name=", "<functionname=")),
    call_end="</function>",
    argument=replace(attributed("<param", "name"), marks=("<param name=", "<paramname=")),
    argument_end="</param>",
    verbatim=("<![CDATA[", "]]>"),
)

MINICPM5 = Dialect(
    name="minicpm5",
    openings=_MINICPM5.openings,
    read=reader(_MINICPM5),
    write=writer(_MINICPM5, Layout(line="")),
    signature=r'<function\s+name="NAME"',
    dropped=("<|im_end|>",),
)

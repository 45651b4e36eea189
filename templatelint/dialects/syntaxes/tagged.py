"""Dialects whose tags hold names and values as text: qwen3-coder, glm and their kin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.dialects.dialect import Dialect
from templatelint.dialects.syntaxes.tag_reader import reader
from templatelint.dialects.syntaxes.tag_writer import Layout, writer
from templatelint.dialects.syntaxes.tags import Tags, enclosed, labelled, leading

if TYPE_CHECKING:
    from templatelint.dialects.dialect import Reading
    from templatelint.dialects.stream import Step

# ------------------------------------------------------------------- <function=name><parameter=key>value


def _functions(*sections: str, padding: str = "") -> Tags:
    return Tags(
        call=enclosed("<function=", ">", name=True),
        call_end="</function>",
        argument=enclosed("<parameter=", ">"),
        argument_end="</parameter>",
        sections=tuple((f"<{section}>", f"</{section}>") for section in sections),
        padding=padding,
        json_arguments=True,
    )


_CODER = _functions("tool_call", "zyphra_tool_call", padding="\n")
_MIMO = _functions("tool_call")
_SEED = _functions("seed:tool_call")
_FUNCTION = r"<function=NAME>\s*<parameter=KEY>"

QWEN3_CODER = Dialect(
    name="qwen3-coder",
    openings=_CODER.openings,
    read=reader(_CODER),
    write=writer(_CODER, Layout(("<tool_call>", "</tool_call>"), each=True)),
    # Values on lines of their own, or calls without anything around them.
    signature=rf"{_FUNCTION}(?:\n|[^<]*\n</parameter>)|(?<!tool_call>)(?<!tool_call>\n){_FUNCTION}",
    dropped=("<|im_end|>", "<|endoftext|>"),
    aliases=("qwen3-xml", "qwen3.5", "qwen3.6", "nemotron-3", "nemotron-v3", "step3p5", "step3.5", "nanbeige"),
)

MIMO = Dialect(
    name="mimo",
    openings=_MIMO.openings,
    read=reader(_MIMO),
    write=writer(_MIMO, Layout(("<tool_call>", "</tool_call>"), each=True, gap="")),
    signature=rf"<tool_call>\s*{_FUNCTION}[^<\n]*</parameter>",
    dropped=("<|im_end|>", "<|endoftext|>"),
    aliases=("mimo-v2",),
)

SEED_OSS = Dialect(
    name="seed-oss",
    openings=_SEED.openings,
    read=reader(_SEED),
    write=writer(_SEED, Layout(("<seed:tool_call>", "</seed:tool_call>"), each=True)),
    signature=r"<seed:tool_call>\s*<function=NAME>",
    reasoning=(("<seed:think>", "</seed:think>"),),
    dropped=("<seed:eos>",),
    aliases=("seed",),
)

# ------------------------------------------------------------- name <arg_key>key</arg_key><arg_value>value

_GLM = Tags(
    call=leading("<tool_call>"),
    call_end="</tool_call>",
    argument=labelled(("<arg_key>", "</arg_key>", "<arg_value>")),
    argument_end="</arg_value>",
    doubtful=True,
)

GLM = Dialect(
    name="glm",
    openings=_GLM.openings,
    read=reader(_GLM),
    write=writer(_GLM, Layout(line="", gap="")),
    signature=r"<tool_call>\s*NAME\s*<arg_key>",
    dropped=("<|endoftext|>", "<|user|>", "<|observation|>", "<|role_end|>"),
    aliases=("glm45", "glm4.5", "glm47", "glm4.7", "glm5", "ling3", "poolside-v1", "spark25", "iquest-q1"),
)

_LONGCAT = Tags(
    call=leading("<longcat_tool_call>"),
    call_end="</longcat_tool_call>",
    argument=labelled(("<longcat_arg_key>", "</longcat_arg_key>", "<longcat_arg_value>"), gap="\n"),
    argument_end="</longcat_arg_value>",
    json_calls=True,
)

LONGCAT = Dialect(
    name="longcat",
    openings=_LONGCAT.openings,
    read=reader(_LONGCAT),
    write=writer(_LONGCAT, Layout()),
    signature=r"<longcat_tool_call>\s*(?:NAME|\{)",
    reasoning=(("<longcat_think>", "</longcat_think>"), ("<think>", "</think>")),
    dropped=("</longcat_s>",),
)


def _hunyuan(suffix: str) -> Tags:
    def end(tag: str) -> str:
        return f"</{tag}{suffix}>"

    def mark(tag: str) -> str:
        return f"<{tag}{suffix}>"

    return Tags(
        call=leading(mark("tool_call"), mark("tool_sep")),
        call_end=end("tool_call"),
        argument=labelled((mark("arg_key"), end("arg_key"), mark("arg_value")), gap="\n"),
        argument_end=end("arg_value"),
        sections=((mark("tool_calls"), end("tool_calls")),),
    )


_HY3, _HY3_OPEN = _hunyuan(""), _hunyuan(":opensource")


def _read_hy3(reading: Reading) -> Step[None]:
    marked = (yield from reading.stream.starts(*_HY3_OPEN.openings)) is not None
    yield from reader(_HY3_OPEN if marked else _HY3)(reading)


HY3 = Dialect(
    name="hy3",
    openings=(*_HY3.openings, *_HY3_OPEN.openings),
    read=_read_hy3,
    write=writer(_HY3, Layout(("<tool_calls>", "</tool_calls>"))),
    signature=r"<tool_call(?::\w+)?>\s*NAME\s*<tool_sep",
    reasoning=(("<think>", "</think>"), ("<think:opensource>", "</think:opensource>")),
    dropped=("<｜hy_eos｜>", "<｜hy_eos:opensource｜>"),
    aliases=("hy-v3", "hy-v4", "hunyuan", "hunyuan-v3"),
)

_HORIZON = Tags(
    call=leading("<ifm|tool_call>"),
    call_end="</ifm|tool_call>",
    argument=labelled(
        ("<ifm|arg_key>", "</ifm|arg_key>", "<ifm|arg_value>"),
        gap="\n",
        kind=("<ifm|arg_type>", "</ifm|arg_type>"),
    ),
    argument_end="</ifm|arg_value>",
    sections=(("<ifm|tool_calls>", "</ifm|tool_calls>"),),
    json_calls=True,
)

K2_HORIZON = Dialect(
    name="k2-horizon",
    openings=_HORIZON.openings,
    read=reader(_HORIZON),
    write=writer(_HORIZON, Layout(("<ifm|tool_calls>", "</ifm|tool_calls>"))),
    signature=r"<ifm\|tool_call>\s*(?:NAME|\{)",
    reasoning=tuple((f"<ifm|think{speed}>", f"</ifm|think{speed}>") for speed in ("", "_fast", "_faster")),
    dropped=("<|ifm|im_end|>",),
)

_SOLAR = Tags(
    call=leading("<|tool_call:start|>"),
    call_end="<|tool_call:end|>",
    argument=labelled(("<|tool_arg:start|>", "<|tool_arg:value|>", "")),
    argument_end="<|tool_arg:end|>",
)

SOLAR_OPEN2 = Dialect(
    name="solar-open2",
    openings=_SOLAR.openings,
    read=reader(_SOLAR),
    write=writer(_SOLAR, Layout()),
    signature=r"<\|tool_call:start\|>\s*NAME",
    reasoning=(("<|think:start|>", "<|think:end|>"),),
    dropped=("<|im:end|>", "<|im:content|>"),
)

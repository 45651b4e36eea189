"""A template's tool calls, as probes show them → the form in which llama.cpp expects the model's."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from templatelint.engines.llamacpp import jsontext, markers
from templatelint.engines.llamacpp.markers import BLANK, BLANKS, MARKER, SPACED_MARKER, difference
from templatelint.engines.llamacpp.probes import ARGUMENTS, CALL_IDS, FUNCTIONS, VALUES, Rendered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.engines.llamacpp.markers import Difference

CallMode: TypeAlias = Literal["NONE", "JSON_NATIVE", "TAG_WITH_JSON", "TAG_WITH_TAGGED"]
IdPosition: TypeAlias = Literal["NONE", "PRE_FUNC_NAME", "BETWEEN_FUNC_AND_ARGS", "POST_ARGS"]


class NotAnalysable(Exception):
    """The analysis ends with an error: llama-server does not start, and every request fails.

    Attributes:
        text: the call as the template writes it for an object of arguments.
    """

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """How calls are written; names as llama.cpp's own.

    Attributes:
        mode: one JSON object, JSON behind a tagged name, or everything tagged.
        openai_wrapper_trigger: a call may begin with `"type": "function"`.
        blanks_before_end: white space may stand between the last argument and `per_call_end`.
        args_start, args_end, arg_separator: never filled.
    """

    mode: CallMode = "NONE"
    section_start: bytes = b""
    section_end: bytes = b""
    per_call_start: bytes = b""
    per_call_end: bytes = b""
    fun_name_is_key: bool = False
    tools_array_wrapped: bool = False
    openai_wrapper_trigger: bool = False
    blanks_before_end: bool = False
    function_field: bytes = b"function"
    name_field: bytes = b"name"
    args_field: bytes = b"arguments"
    id_field: bytes = b""
    gen_id_field: bytes = b""
    parameter_order: tuple[bytes, ...] = ()
    name_prefix: bytes = b""
    name_suffix: bytes = b""
    args_separator: bytes = b""
    func_close: bytes = b""
    args_start: bytes = b""
    args_end: bytes = b""
    arg_name_prefix: bytes = b""
    arg_name_suffix: bytes = b""
    arg_value_prefix: bytes = b""
    arg_value_suffix: bytes = b""
    arg_separator: bytes = b""
    call_id_pos: IdPosition = "NONE"
    call_id_prefix: bytes = b""
    call_id_suffix: bytes = b""


_NAME, _OTHER_NAME = (name.encode() for name in FUNCTIONS)
_FIRST, _SECOND = (name.encode() for name in ARGUMENTS)
_X, _Y = (value.encode() for value in VALUES)
_ID = b"call0000"
_ID_HEAD = CALL_IDS[0].encode()[: markers.shared_head(CALL_IDS[0].encode(), CALL_IDS[2].encode())]

_NAME_IN_JSON = re.compile(rb"[{:]" + BLANK + b'"' + _NAME + b'"')
_ARGUMENT_IN_JSON = re.compile(rb"[{:]" + BLANK + b'"' + _FIRST + b'"')
_TERMS = {b"m": SPACED_MARKER, b"b": BLANK, b"f": _NAME, b"M": MARKER}
_NAME_MARK = re.compile(
    rb"<((?:(?!%(f)s)[^>])*+)%(f)s(?!%(b)s<)[^>]*+>%(b)s"
    rb"|\[((?:(?!%(f)s)[^\]])*+)%(f)s(?!%(b)s\[[^\]]*+\])%(b)s" % _TERMS
)
_TWO_AT_END = re.compile(rb"(%(m)s)(%(m)s)\Z" % _TERMS)
_ONE_AT_END = re.compile(rb"(%(m)s)\Z" % _TERMS)
_BEFORE_JSON = re.compile(rb"(?:%(M)s|[^{\[])*+" % _TERMS, re.DOTALL)
_ARGUMENT = re.compile(rb"%(m)s(?:%(a)s|%(c)s)" % {**_TERMS, b"a": _FIRST, b"c": _SECOND})
_MARKER_AROUND_BLANKS = re.compile(rb"%(b)s%(m)s" % _TERMS)
_NAME_END = re.compile(rb"[^\"X]*+")
_OTHER_NAME_END = re.compile(rb"[^\"Y]*+")
_MARKER_BEHIND_TEXT = re.compile(rb"(?:(?!%(M)s).)*+%(m)s" % _TERMS, re.DOTALL)
_ID_MARK = re.compile(rb"(%(M)s)(?:(?!%(M)s)(?!%(i)s).)*+%(i)s" % {**_TERMS, b"i": _ID_HEAD}, re.DOTALL)


def form_of(rendered: Rendered, reasoning_start: bytes, reasoning_end: bytes) -> ToolCalls:
    """The mode, and the marks around calls, as one call shows them.

    Raises:
        NotAnalysable: the call looks like a JSON object, but is none.
    """
    compared = rendered.compare("tools-answer", "call")
    if compared is None or not compared.difference.right:
        return ToolCalls()
    shown = compared.difference.right
    clean = shown
    for mark in (reasoning_start, reasoning_end):
        if mark:
            clean = clean.replace(mark, b"", 1)
    if _NAME_IN_JSON.search(shown):
        found = _json_form(clean)
    else:
        found = _tagged_form(clean)
        found = replace(found, mode="TAG_WITH_JSON" if _ARGUMENT_IN_JSON.search(shown) else "TAG_WITH_TAGGED")
    return replace(found, section_end=found.section_end.strip(BLANKS), per_call_end=found.per_call_end.strip(BLANKS))


def find(rendered: Rendered, reasoning_start: bytes, reasoning_end: bytes) -> ToolCalls:
    """The complete form.

    Raises:
        NotAnalysable: as `form_of`.
    """
    found = form_of(rendered, reasoning_start, reasoning_end)
    if found.mode == "NONE":
        return found
    parallel = rendered.capabilities.parallel_tool_calls
    if found.mode == "JSON_NATIVE":
        return _json_sections(rendered, found) if parallel else found
    if parallel:
        found = _tagged_sections(rendered, found)
    found = _function_marks(rendered, found)
    if found.mode == "TAG_WITH_TAGGED":
        found = _value_marks(rendered, _argument_marks(rendered, found))
    return _call_id(rendered, found)


# --------------------------------------------------------------------------------------- calls in JSON


def _json_form(clean: bytes) -> ToolCalls:
    start, end = clean.find(b"{"), clean.rfind(b"}")
    cut = clean[start : end + 1]
    try:
        call = jsontext.parse(cut.decode())
    except ValueError as error:
        text = clean.decode("utf-8", "replace").strip()
        raise NotAnalysable(
            f"it writes a call with an object of arguments as something that is not JSON: {error}", text
        ) from error
    found = _json_fields(call)
    if array := re.search(rb"(\[" + BLANK + b")" + re.escape(cut) + rb"(" + BLANK + rb"\])", clean):
        found = replace(found, tools_array_wrapped=True)
        start -= len(array[1])
        end += len(array[2])
    section_end = clean[end + 1 :].strip(BLANKS)
    named = (found.name_field, found.args_field, found.id_field, found.gen_id_field)
    located = sorted((_place(clean, name), name) for name in named if name)
    return replace(
        found,
        mode="JSON_NATIVE",
        section_start=clean[: max(start, 0)].lstrip(BLANKS),
        section_end=b"" if found.tools_array_wrapped and section_end == b"]" else section_end,
        parameter_order=tuple(name for _, name in located),
    )


def _place(clean: bytes, name: bytes) -> int:
    at = clean.find(name)
    return at if at >= 0 else len(clean)


def _json_fields(call: Mapping[str, Any]) -> ToolCalls:
    """Which members of a call hold what."""
    found: dict[str, Any] = {}
    for key, value in call.items():
        if key == FUNCTIONS[0]:
            found |= {"fun_name_is_key": True, "name_field": b"", "args_field": b""}
            continue
        if isinstance(value, dict) and ARGUMENTS[0] not in jsontext.dump(value):
            found["function_field"] = key.encode()
            for name, member in value.items():
                found |= _field(f"{key}.{name}", name, member)
        found |= _field(key, key, value)
    return ToolCalls(**found)


def _field(path: str, name: str, value: Any) -> dict[str, bytes]:
    if isinstance(value, str) and _ID.decode() in value:
        return {"id_field": path.encode()}
    if value == FUNCTIONS[0]:
        return {"name_field": path.encode()}
    if ARGUMENTS[0] in jsontext.dump(value):
        return {"args_field": path.encode()}
    return {"gen_id_field": path.encode()} if "id" in name else {}


def _json_sections(rendered: Rendered, found: ToolCalls) -> ToolCalls:
    """Marks that a second call repeats stand around each call."""
    compared = rendered.compare("call", "both-calls")
    if compared is None or not found.section_start or found.section_start not in compared.difference.right:
        return found
    return _per_call(found)


def _per_call(found: ToolCalls) -> ToolCalls:
    return replace(
        found,
        per_call_start=found.section_start,
        per_call_end=found.section_end,
        section_start=b"",
        section_end=b"",
    )


# ----------------------------------------------------------------------------------------- tagged calls


def _tagged_form(clean: bytes) -> ToolCalls:
    """Up to two markers before the one with the function's name, and as many at the end."""
    named = _NAME_MARK.search(clean)
    mark = re.escape(named[0] if named else _NAME)
    opened = re.search(rb"(%(m)s)(%(m)s).*?%(n)s(.*)" % {**_TERMS, b"n": mark}, clean, re.DOTALL)
    if opened:
        closed = _TWO_AT_END.search(opened[3])
        return ToolCalls(
            section_start=opened[1],
            per_call_start=opened[2],
            per_call_end=closed[1] if closed else b"",
            section_end=closed[2] if closed else b"",
            name_prefix=(named[1] or named[2] or b"") if named else b"",
        )
    opened = re.search(rb"(%(m)s)%(n)s(.*)" % {**_TERMS, b"n": mark}, clean, re.DOTALL)
    if not opened:
        return ToolCalls()
    closed = _ONE_AT_END.search(opened[2])
    return ToolCalls(section_start=opened[1], section_end=closed[1] if closed else b"")


def _tagged_sections(rendered: Rendered, found: ToolCalls) -> ToolCalls:
    compared = rendered.compare("call", "both-calls")
    if compared is None:
        return found
    second = difference(compared.difference.suffix, compared.difference.right).right.lstrip(BLANKS)
    if found.section_start and second.startswith(found.section_start):
        found = _per_call(found)
    end = found.per_call_end
    if end and 0 < compared.left.count(end) == compared.right.count(end):
        return replace(found, section_end=end, per_call_end=b"")
    return found


def _function_marks(rendered: Rendered, found: ToolCalls) -> ToolCalls:
    """What stands before and behind the function's name, and behind its arguments."""
    compared = rendered.compare("call", "second-call")
    if compared is None:
        return found
    changed = compared.difference
    if _NAME not in changed.left or _OTHER_NAME not in changed.right:
        return found
    opening = found.per_call_start or found.section_start
    prefix = found.name_prefix
    if opening and opening in changed.prefix:
        prefix = changed.prefix.rpartition(opening)[2]
    before, _, behind = changed.left.partition(_NAME)
    suffix, separator = markers.before_marker(behind), b""
    if found.mode == "TAG_WITH_JSON":
        extent = _BEFORE_JSON.match(changed.suffix)
        if extent and markers.first_marker(changed.suffix[extent.end() :]):
            suffix += extent[0]
    else:
        text = markers.before_marker(changed.suffix)
        suffix += text
        if argument := _ARGUMENT.search(changed.suffix, len(text)):
            separator = changed.suffix[len(text) : argument.start()].strip(BLANKS)
    return replace(
        found,
        name_prefix=prefix + before,
        name_suffix=suffix,
        args_separator=separator,
        func_close=_closing(rendered, found, changed),
    )


def _closing(rendered: Rendered, found: ToolCalls, changed: Difference) -> bytes:
    """What stands between the last argument and the end of the call."""
    if ending := found.per_call_end or found.section_end:
        rest = changed.suffix.partition(ending)[0]
    else:
        compared = rendered.compare("call", "tools-answer")
        if compared is None:
            return b""
        own = compared.difference.left
        rest = own[own.find(_Y) + len(_Y) :]
    _, value, behind = rest.partition(_Y)
    if not value:
        return b""
    if found.mode == "TAG_WITH_TAGGED":
        marker = _MARKER_AROUND_BLANKS.match(behind)
        return behind[marker.end() :].lstrip(BLANKS) if marker else b""
    at = max(behind.rfind(b"}"), behind.rfind(b"]"))
    return behind[at + 1 :].lstrip(BLANKS) if at >= 0 else b""


def _argument_marks(rendered: Rendered, found: ToolCalls) -> ToolCalls:
    """What stands around an argument's name."""
    compared = rendered.compare("call-one-argument", "call-other-argument")
    if compared is None:
        return found
    left, right = compared.difference.left, compared.difference.right
    around = _around(left, _FIRST, _NAME_END)
    if around is not None and around[0] and around == _around(right, _SECOND, _OTHER_NAME_END):
        return replace(found, arg_name_prefix=around[0], arg_name_suffix=around[1])
    if not left.startswith(_FIRST) or not right.startswith(_SECOND):
        return found
    prefix = markers.last_marker(compared.difference.prefix)[1] or compared.difference.prefix
    behind = _MARKER_BEHIND_TEXT.match(left[len(_FIRST) :] + compared.difference.suffix)
    return replace(found, arg_name_prefix=prefix, arg_name_suffix=behind[0] if behind else found.arg_name_suffix)


def _around(own: bytes, name: bytes, end: re.Pattern[bytes]) -> tuple[bytes, bytes] | None:
    before, present, behind = own.partition(name)
    if not present:
        return None
    extent = end.match(behind)
    return before, extent[0] if extent else b""


def _value_marks(rendered: Rendered, found: ToolCalls) -> ToolCalls:
    """What stands around an argument's value."""
    compared = rendered.compare("call-one-argument", "call-other-value")
    if compared is None or (compared.difference.left, compared.difference.right) != (_X, _Y):
        return found
    prefix, suffix = compared.difference.prefix, compared.difference.suffix
    name_end = _FIRST + found.arg_name_suffix
    if name_end in prefix:
        prefix = prefix.rpartition(name_end)[2]
    if ending := found.func_close or found.per_call_end or found.section_end:
        suffix = suffix.partition(ending)[0]
    return replace(
        found,
        arg_value_prefix=markers.last_marker(prefix)[1] or prefix,
        arg_value_suffix=suffix if suffix.strip(BLANKS) else found.arg_value_suffix,
    )


def _call_id(rendered: Rendered, found: ToolCalls) -> ToolCalls:
    """Where a call's id stands, and what stands around it."""
    compared = rendered.compare("call", "call-other-id")
    if compared is None or not (compared.difference.left or compared.difference.right):
        return found
    marks = dict(_id_marks(compared.difference))
    if not marks:
        return found
    found = replace(found, **marks)
    if found.call_id_suffix and found.per_call_end.startswith(found.call_id_suffix):
        return replace(found, per_call_end=b"")
    return found


def _id_marks(changed: Difference) -> Iterator[tuple[str, Any]]:
    prefix, suffix = changed.prefix, changed.suffix
    if _NAME in prefix and _NAME not in suffix:
        _, _, behind = prefix.rpartition(_NAME)
        if b"{" not in behind and b"{" in suffix:
            yield "call_id_pos", "BETWEEN_FUNC_AND_ARGS"
            marked = _ID_MARK.search(behind)
            yield "call_id_prefix", marked[1] if marked else markers.last_marker(behind)[0]
            yield "call_id_suffix", markers.first_marker(suffix)
        elif b"{" in behind:
            yield "call_id_pos", "POST_ARGS"
            if b"}" in behind:
                yield "call_id_prefix", markers.last_marker(behind.rpartition(b"}")[2])[0]
            yield "call_id_suffix", markers.first_marker(suffix)
    elif _NAME in suffix and _NAME not in prefix:
        yield "call_id_pos", "PRE_FUNC_NAME"
        yield "call_id_prefix", markers.last_marker(prefix)[0]
        yield "call_id_suffix", markers.first_marker(suffix.partition(_NAME)[0])

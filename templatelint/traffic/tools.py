"""Tools as OpenAI, Anthropic or MCP write them, in memory or in a file → OpenAI tool definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from templatelint.errors import TemplatelintError, clip
from templatelint.traffic.json_files import read_json, shown_name, wrong

if TYPE_CHECKING:
    from pathlib import Path

_TOOLS = "give a list of tools as OpenAI, Anthropic or MCP write them"


def read_tools(path: str | Path) -> list[dict[str, Any]]:
    """OpenAI tool definitions from a JSON file, whichever of three forms it is in; `-` reads standard input.

    Args:
        path: a file with a list of tools, an object with such a list as `tools` (an OpenAI or Anthropic request,
            MCP's answer to `tools/list` bare or in its envelope), or one tool. OpenAI's own form is kept as it is.

    Raises:
        TemplatelintError: it cannot be read, holds no tool, or something that is none.
    """
    return tools_of(read_json(path, _TOOLS), shown_name(path))


def tools_of(value: object, where: str) -> list[dict[str, Any]]:
    """OpenAI tool definitions from JSON data; forms and errors as of `read_tools`.

    Args:
        value: the data.
        where: what error messages call it.
    """
    shown, place = where, ""
    if isinstance(value, Mapping) and isinstance(value.get("result"), Mapping):
        value, place = value["result"], "result."
    if isinstance(value, Mapping) and "tools" in value:
        value, place = value["tools"], f"{place}tools"
    elif isinstance(value, Mapping):
        return [_openai_tool(value, shown)]
    if not isinstance(value, list):
        raise wrong(f"{shown}: {place}" if place else shown, value, "an array of tools", _TOOLS)
    if not value:
        raise TemplatelintError(f"{shown} holds no tool", help=_TOOLS)
    return [_openai_tool(tool, f"{shown}: {place}[{index}]") for index, tool in enumerate(value)]


def _openai_tool(tool: object, where: str) -> dict[str, Any]:
    if not isinstance(tool, Mapping):
        raise wrong(where, tool, "an object", _TOOLS)
    if "function" in tool:
        if not isinstance(tool["function"], Mapping):
            raise wrong(f"{where}.function", tool["function"], "an object", _TOOLS)
        _check_function(tool["function"], f"{where}.function", "parameters")
        return {"type": "function", **tool}
    # Anthropic's own tools ("bash_20250124") run at Anthropic: there is no schema that a prompt could show
    kind = tool.get("type")
    if kind not in (None, "function", "custom"):
        raise TemplatelintError(
            f'{where} is of type "{clip(str(kind))}", which has no schema to show to a model', help=_TOOLS
        )
    schema = next((name for name in ("input_schema", "inputSchema", "parameters") if name in tool), "parameters")
    _check_function(tool, where, schema)
    function = {"name": tool["name"]}
    if tool.get("description") is not None:
        function["description"] = tool["description"]
    if tool.get(schema) is not None:
        function["parameters"] = tool[schema]
    if "strict" in tool:
        function["strict"] = tool["strict"]
    return {"type": "function", "function": function}


def _check_function(function: Mapping[str, Any], where: str, schema: str) -> None:
    name = function.get("name")
    if not (isinstance(name, str) and name):
        raise TemplatelintError(f"{where} has no name", help=_TOOLS)
    parameters = function.get(schema)
    if parameters is not None and not isinstance(parameters, Mapping):
        raise wrong(f"{where}.{schema}", parameters, "a JSON schema object", _TOOLS)

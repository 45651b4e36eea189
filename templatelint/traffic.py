"""Turns what users send (OpenAI request bodies, message files, tool files) into Request."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from templatelint import texts
from templatelint.errors import TemplatelintError, clip
from templatelint.model import Lines, Request

_BODY = 'give an OpenAI chat-completions body: {"messages": [{"role": "user", "content": "..."}]}'
_BODIES = "give a folder of *.json files, one OpenAI chat-completions body each, or one file with a list of bodies"
_TOOLS = "give a list of tools as OpenAI, Anthropic or MCP write them"

# members of a body that a Request has a place for
_PLACED = frozenset(
    (
        "messages",
        "tools",
        "documents",
        "chat_template_kwargs",
        "add_generation_prompt",
        "continue_final_message",
        "allow_media",
    )
)


# -------------------------------------------------------------------------------------------- requests


def request_from_openai(body: object, *, media: bool = False, where: str = "the request") -> Request:
    """The Request of an OpenAI chat-completions body.

    `chat_template_kwargs` become template variables, `allow_media: true` stands for a server with a multimodal
    projector, null counts as absent, and members that no prompt member covers (`tool_choice`, `model`, …) are kept as
    `extra`. What an engine would refuse about the messages themselves is left to the engine.

    Args:
        body: JSON data.
        media: the server has a multimodal projector, whatever the body says.
        where: what error messages call the body.

    Raises:
        TemplatelintError: a member has a type that no engine could read.
    """
    if not isinstance(body, Mapping):
        raise _wrong(where, body, "an object")
    if body.get("messages") is None:
        raise TemplatelintError(f"{where} has no messages", help=_BODY)
    messages = _objects(body, "messages", where)
    for index, message in enumerate(messages or ()):
        if not isinstance(message.get("role"), str):
            raise TemplatelintError(f"{where}: messages[{index}] has no role", help=_BODY)
    variables = body.get("chat_template_kwargs")
    if variables is not None and not isinstance(variables, Mapping):
        raise _wrong(f"{where}: chat_template_kwargs", variables, "an object")
    continued = body.get("continue_final_message")
    if not isinstance(continued, (bool, str)) and continued is not None:
        raise _wrong(f"{where}: continue_final_message", continued, "a boolean or the name of a field")
    return Request(
        messages=messages or (),
        tools=_objects(body, "tools", where),
        add_generation_prompt=_boolean(body, "add_generation_prompt", where, default=True),
        continue_final_message=continued or False,
        documents=_objects(body, "documents", where),
        variables=variables or {},
        extra={name: value for name, value in body.items() if name not in _PLACED},
        media=_boolean(body, "allow_media", where, default=False) or media,
    )


def read_messages(path: str | Path) -> Request:
    """The request in a JSON file: an OpenAI request object, or a bare list of messages; `-` reads standard input.

    Raises:
        TemplatelintError: it cannot be read, is not JSON, or is neither of the two.
    """
    value = read_json(path, _BODY)
    return request_from_openai({"messages": value} if isinstance(value, list) else value, where=_shown(path))


def read_requests(path: str | Path) -> list[tuple[str, Request | TemplatelintError]]:
    """Requests by id, from a folder or from one JSON file; a body that can be no request by what is wrong with it.

    Args:
        path: a folder of `*.json`, one body each (id = stem, in the order of the ids); or a file with a list of
            bodies that have an `id`, bare or as member `fixtures` of an object; or a file with one body.

    Raises:
        TemplatelintError: nothing is there, or something is no JSON, has no id, or has the id of another.
    """
    folder = Path(path)
    if folder.is_dir():
        return [(file.stem, _request(_parsed(file, _BODY), str(file))) for file in _json_files(folder)]
    value = _parsed(path, _BODIES)
    shown, place = _shown(path), ""
    if isinstance(value, Mapping) and "fixtures" in value:
        value, place = value["fixtures"], "fixtures"
    if isinstance(value, Mapping):
        return [(Path(path).stem, _request(value, shown))]
    if not isinstance(value, list):
        raise _wrong(shown, value, "an array of request bodies", _BODIES)
    if not value:
        raise TemplatelintError(f"{shown} holds no request", help=_BODIES)
    requests: dict[str, Request | TemplatelintError] = {}
    first: dict[str, int] = {}
    for index, body in enumerate(value):
        where = f"{shown}: {place}[{index}]"
        if not isinstance(body, Mapping):
            raise _wrong(where, body, "an object")
        name = body.get("id")
        if not (isinstance(name, str) and name):
            raise TemplatelintError(
                f"{where} has no id", help='give each body of the list an "id": results are named by it'
            )
        request = _request(body, where)
        if name in requests:
            raise TemplatelintError(
                f'{where} has the id "{clip(name)}" of {place}[{first[name]}]',
                help="give each body an id of its own",
            )
        requests[name], first[name] = request, index
    return list(requests.items())


def _request(body: object, where: str) -> Request | TemplatelintError:
    """A body of a collection: its id names it, and is no member of the request."""
    if isinstance(body, Mapping):
        body = {name: value for name, value in body.items() if name != "id"}
    try:
        _check_characters(body, where)
        return request_from_openai(body, where=where)
    except TemplatelintError as error:
        return error


def _json_files(folder: Path) -> list[Path]:
    try:
        files = [file for file in folder.iterdir() if file.suffix == ".json" and file.name[0] != "." and file.is_file()]
    except OSError as error:
        raise _unreadable(str(folder), error, _BODIES) from error
    if not files:
        raise TemplatelintError(f"{folder} holds no *.json file", help=_BODIES)
    return sorted(files, key=lambda file: file.stem)


# ----------------------------------------------------------------------------------------------- tools


def read_tools(path: str | Path) -> list[dict[str, Any]]:
    """OpenAI tool definitions from a JSON file, whichever of three forms it is in; `-` reads standard input.

    Args:
        path: a file with a list of tools, an object with such a list as `tools` (an OpenAI or Anthropic request,
            MCP's answer to `tools/list` bare or in its envelope), or one tool. OpenAI's own form is kept as it is.

    Raises:
        TemplatelintError: it cannot be read, holds no tool, or something that is none.
    """
    return tools_of(read_json(path, _TOOLS), _shown(path))


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
        raise _wrong(f"{shown}: {place}" if place else shown, value, "an array of tools", _TOOLS)
    if not value:
        raise TemplatelintError(f"{shown} holds no tool", help=_TOOLS)
    return [_openai_tool(tool, f"{shown}: {place}[{index}]") for index, tool in enumerate(value)]


def _openai_tool(tool: object, where: str) -> dict[str, Any]:
    if not isinstance(tool, Mapping):
        raise _wrong(where, tool, "an object", _TOOLS)
    if "function" in tool:
        if not isinstance(tool["function"], Mapping):
            raise _wrong(f"{where}.function", tool["function"], "an object", _TOOLS)
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
        raise _wrong(f"{where}.{schema}", parameters, "a JSON schema object", _TOOLS)


# ------------------------------------------------------------------------------------------------ JSON


def read_json(path: str | Path, wanted: str) -> Any:
    """The value in a JSON file; `-` reads standard input.

    Args:
        path: the file; a pipe will do.
        wanted: what to give instead, for the help line.

    Raises:
        TemplatelintError: it cannot be read, is not UTF-8, or not JSON that can become a prompt.
    """
    value = _parsed(path, wanted)
    _check_characters(value, _shown(path))
    return value


def _check_characters(value: object, where: str) -> None:
    """Raise for half of a surrogate pair: it has no bytes, so no server could be sent it."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError as error:
        raise TemplatelintError(f"{where} is nested too deeply", help=_BODY) from error
    if half := texts.half_character(text):
        raise TemplatelintError(f"{where} holds {half}, half of a surrogate pair", help="write the whole character")


def _parsed(path: str | Path, wanted: str) -> Any:
    """The same, whatever characters its strings hold."""
    text = read_text(path, "JSON", wanted).removeprefix("\ufeff")
    if not text.strip():
        raise TemplatelintError(f"{_shown(path)} is empty", help=wanted)
    return parsed(text, _shown(path), wanted)


def read_text(path: str | Path, what: str, wanted: str) -> str:
    """The text of a file; `-` reads standard input.

    Args:
        path: the file; a pipe will do.
        what: what is meant to be in it (`JSON`).
        wanted: what to give instead, for the help line.

    Raises:
        TemplatelintError: it cannot be read or is not UTF-8.
    """
    shown = _shown(path)
    if str(path) == "-" and sys.stdin is None:
        raise TemplatelintError("standard input is closed", help=wanted)
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    except OSError as error:
        raise _unreadable(shown, error, wanted) from error
    return texts.decode(raw, shown, what)


def parsed(text: str, shown: str, wanted: str) -> Any:
    """JSON text → its value.

    Args:
        text: the text.
        shown: what error messages call it.
        wanted: what to give instead, for the help line.

    Raises:
        TemplatelintError: it is not JSON.
    """
    import json

    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = error.msg.removesuffix(" at").removesuffix(" starting")
        line, column = Lines(text).line_of(error.pos)
        raise TemplatelintError(
            f"{shown}:{line}:{column} is not JSON: {reason[:1].lower()}{reason[1:]}", help=wanted
        ) from error
    except RecursionError as error:
        raise TemplatelintError(f"{shown} is nested too deeply", help=wanted) from error
    except ValueError as error:  # Python reads no integer of more than 4,300 digits
        raise TemplatelintError(
            f"{shown} holds a number of more than 4,300 digits", help="write it as a string"
        ) from error


def _shown(path: str | Path) -> str:
    return "standard input" if str(path) == "-" else str(path)


def _unreadable(shown: str, error: OSError, wanted: str) -> TemplatelintError:
    reason = error.strerror or type(error).__name__
    return TemplatelintError(f"cannot read {shown}: {reason[:1].lower()}{reason[1:]}", help=wanted)


def _objects(body: Mapping[str, Any], name: str, where: str) -> list[Mapping[str, Any]] | None:
    """The member as a list of objects, None where it is absent or null."""
    value = body.get(name)
    if value is None:
        return None
    if not _is_list(value):
        raise _wrong(f"{where}: {name}", value, "an array")
    for index, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise _wrong(f"{where}: {name}[{index}]", item, "an object")
    return list(value)


def _is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    return isinstance(value, (list, tuple))


def _boolean(body: Mapping[str, Any], name: str, where: str, *, default: bool) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise _wrong(f"{where}: {name}", value, "a boolean")
    return value


def _wrong(where: str, value: object, wanted: str, cure: str = _BODY) -> TemplatelintError:
    return TemplatelintError(f"{where} is {_kind(value)}, not {wanted}", help=cure)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "a boolean"),
        ((int, float), "a number"),
        (str, "a string"),
        ((list, tuple), "an array"),
        (Mapping, "an object"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), f"a {type(value).__name__}")

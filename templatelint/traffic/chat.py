"""OpenAI chat-completions bodies, in memory or in users' files → Request."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from templatelint.errors import TemplatelintError, clip
from templatelint.model import Request
from templatelint.traffic.json_files import (
    BODY,
    boolean,
    check_characters,
    objects,
    parsed_file,
    read_json,
    shown_name,
    unreadable,
    wrong,
)

_BODIES = "give a folder of *.json files, one OpenAI chat-completions body each, or one file with a list of bodies"

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
        raise wrong(where, body, "an object")
    if body.get("messages") is None:
        raise TemplatelintError(f"{where} has no messages", help=BODY)
    messages = objects(body, "messages", where)
    for index, message in enumerate(messages or ()):
        if not isinstance(message.get("role"), str):
            raise TemplatelintError(f"{where}: messages[{index}] has no role", help=BODY)
    variables = body.get("chat_template_kwargs")
    if variables is not None and not isinstance(variables, Mapping):
        raise wrong(f"{where}: chat_template_kwargs", variables, "an object")
    continued = body.get("continue_final_message")
    if not isinstance(continued, (bool, str)) and continued is not None:
        raise wrong(f"{where}: continue_final_message", continued, "a boolean or the name of a field")
    return Request(
        messages=messages or (),
        tools=objects(body, "tools", where),
        add_generation_prompt=boolean(body, "add_generation_prompt", where, default=True),
        continue_final_message=continued or False,
        documents=objects(body, "documents", where),
        variables=variables or {},
        extra={name: value for name, value in body.items() if name not in _PLACED},
        media=boolean(body, "allow_media", where, default=False) or media,
    )


def read_messages(path: str | Path) -> Request:
    """The request in a JSON file: an OpenAI request object, or a bare list of messages; `-` reads standard input.

    Raises:
        TemplatelintError: it cannot be read, is not JSON, or is neither of the two.
    """
    value = read_json(path, BODY)
    return request_from_openai({"messages": value} if isinstance(value, list) else value, where=shown_name(path))


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
        return [(file.stem, _request(parsed_file(file, BODY), str(file))) for file in _json_files(folder)]
    value = parsed_file(path, _BODIES)
    shown, place = shown_name(path), ""
    if isinstance(value, Mapping) and "fixtures" in value:
        value, place = value["fixtures"], "fixtures"
    if isinstance(value, Mapping):
        return [(Path(path).stem, _request(value, shown))]
    if not isinstance(value, list):
        raise wrong(shown, value, "an array of request bodies", _BODIES)
    if not value:
        raise TemplatelintError(f"{shown} holds no request", help=_BODIES)
    requests: dict[str, Request | TemplatelintError] = {}
    first: dict[str, int] = {}
    for index, body in enumerate(value):
        where = f"{shown}: {place}[{index}]"
        if not isinstance(body, Mapping):
            raise wrong(where, body, "an object")
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
        check_characters(body, where)
        return request_from_openai(body, where=where)
    except TemplatelintError as error:
        return error


def _json_files(folder: Path) -> list[Path]:
    try:
        files = [file for file in folder.iterdir() if file.suffix == ".json" and file.name[0] != "." and file.is_file()]
    except OSError as error:
        raise unreadable(str(folder), error, _BODIES) from error
    if not files:
        raise TemplatelintError(f"{folder} holds no *.json file", help=_BODIES)
    return sorted(files, key=lambda file: file.stem)

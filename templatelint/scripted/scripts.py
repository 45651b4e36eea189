"""What a scripted model says: the names by which messages choose a script, its texts, its calls, and the tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint.dialects.reply import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SELECTOR = "@@"  # a message chooses a script by `@@NAME`
HANDSHAKE = "templatelint-scripted 1"  # what `about` says, and then the dialect
NO_DIALECT, UNNAMED = "none", "unknown"  # there are no calls; their dialect is none that we know
DEFAULT = "plain"  # what is said where nothing is chosen

STOPWORD = "STOPWORD"
PLAIN = "Hello, this is a scripted model and it is glad to help."
LONG = (
    "The river leaves the hills early, when fog still hangs over its banks. Barges follow it past orchards and quiet "
    "villages, under nine bridges built of grey stone. By noon market boats gather near the old mill; somebody plays "
    "an accordion, children throw bread at the ducks. Towards evening the water widens, turns copper, then slate, "
    "and finally it meets the sea between two lighthouses whose lamps answer each other all night."
)
PROSE = (
    "I would rather talk about clouds than use anything else today. They drift, they change shape, nobody has to "
    "pay for them, and every one of them is gone by tomorrow. "
)
UNICODE = "Crème brûlée à Zürich, déjà vu: 🌧️ then 🌞, naïve façade, 東京 and Ελλάδα, señor 🚀!"
ENDLESS = "round and round goes the wheel, over hill, under moon; "
THOUGHTS = f"The user greets me. The word {STOPWORD} means nothing in here, so I go on to reply."
STOP = f"one two {STOPWORD} three"
ANSWER = "It is 21 degrees in Paris."

NOTE = "Buy milk, bread and eggs; call Ann at 5 pm about the trip to Oslo on 12 May 2027."
GET_WEATHER: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Name of the city."},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
WRITE_FILE: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "write_file",
        "description": "Write a text to a file.",
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where to write."},
                "content": {"type": "string", "description": "What to write."},
            },
            "required": ["path", "content"],
            "additionalProperties": False,
        },
    },
}
TOOLS = (GET_WEATHER, WRITE_FILE)
USER: Mapping[str, Any] = {"role": "user", "content": "Hi"}  # whom a reply answers where one has to be rendered

# script → the calls that it makes
CALLS: Mapping[str, tuple[ToolCall, ...]] = {
    "tool": (ToolCall("get_weather", {"city": "Paris"}),),
    "parallel": (ToolCall("get_weather", {"city": "Paris"}), ToolCall("get_weather", {"city": "Oslo"})),
    "write": (ToolCall("write_file", {"path": "notes.txt", "content": NOTE}),),
}
# one call in another dialect than the template's
FOREIGN = "foreign"
FOREIGN_CALLS = CALLS["tool"]
THINK = "think"
ABOUT, TOOL = "about", "tool"
ANSWER_NAME = "answer"
# script → its text, whatever the template
TEXTS: Mapping[str, str] = {
    "plain": PLAIN,
    "long": LONG,
    "prose": PROSE,
    "unicode": UNICODE,
    "endless": ENDLESS,
    "stop": STOP,
    ANSWER_NAME: ANSWER,
}
# scripts that start anew: always, or where an end is not allowed
ENDLESS_NAMES = ("endless",)
INSISTENT_NAMES = ("prose",)
NAMES = (
    "about",
    "plain",
    "long",
    "tool",
    "write",
    "parallel",
    "prose",
    "unicode",
    "endless",
    "think",
    "stop",
    "answer",
    FOREIGN,
)


_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def tools_for(calls: Iterable[ToolCall]) -> list[Mapping[str, Any]]:
    """Our tools, and one for each further function that is called; arguments have the types of their values."""
    tools: dict[str, Mapping[str, Any]] = {tool["function"]["name"]: tool for tool in TOOLS}
    for call in calls:
        properties = {
            name: {"type": _TYPES[type(value)]} if type(value) in _TYPES else {}
            for name, value in call.arguments.items()
        }
        schema = {"type": "object", "properties": properties}
        function = {"name": call.name, "description": "", "parameters": schema}
        tools.setdefault(call.name, {"type": "function", "function": function})
    return list(tools.values())


def selector(name: str) -> str:
    """What a message has to hold to choose a script."""
    return SELECTOR + name


@dataclass(frozen=True, slots=True)
class Script:
    """One reply.

    Attributes:
        text: exactly what the model says.
        bare: it says nothing before that, though other scripts do.
        calls: it ends with a call.
        endless: it starts anew at its end, and never ends.
        insistent: it starts anew at its end where it may not end there.
    """

    name: str
    text: str
    bare: bool = False
    calls: bool = False
    endless: bool = False
    insistent: bool = False

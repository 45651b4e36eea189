"""What is said to a model so that it does what a check needs: our words, the scripted model's, or the user's."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from templatelint.errors import TemplatelintError
from templatelint.nearest import unknown
from templatelint.scripted import scripts

CITY, OTHER_CITY = "Paris", "Oslo"
WEATHER, WRITE = TOOLS = scripts.TOOLS
"""What requests offer: the tools of which the scripted model knows."""


@dataclass(frozen=True)
class Prompts:
    """Texts of user messages; the first eight may be the user's own (`--prompts FILE`).

    Attributes:
        plain: a short answer.
        long: a long answer.
        tool: a call of `get_weather` for Paris.
        write: a call of `write_file` with some eighty characters of content.
        parallel: two calls of `get_weather`, for Paris and for Oslo.
        json: an object, by a schema.
        endless: an answer that takes longer than a check waits.
        unicode: an answer with accented letters and emoji.
        stop: an answer in which `STOPWORD` stands.
        prose: an answer that is no call whatever is demanded.
        think: an answer after some thinking.
        result: what the tool says of Paris: no user's text, but the content of a tool message.
    """

    plain: str = "Say hello in one short sentence."
    long: str = "Tell a story of at least three hundred words about a lighthouse keeper."
    tool: str = "What is the weather in Paris? Call get_weather to find out."
    write: str = (
        "Call write_file with the path notes.txt and as its content the sentence: The tide comes in at six in the "
        "morning and leaves again at noon, every day."
    )
    parallel: str = "What is the weather in Paris, and what in Oslo? Call get_weather for both at once."
    json: str = "Describe the city of Paris as a JSON object."
    endless: str = "Count from one to ten thousand in words, and leave nothing out."
    unicode: str = "Answer with a sentence that has five words with accented letters and five different emoji."
    stop: str = "Repeat exactly: one two STOPWORD three"
    prose: str = "Tell a story of three hundred words; call no function."
    think: str = "What is 17 times 23? Think it through first."
    result: str = '{"city": "Paris", "temperature": 21, "unit": "celsius"}'


def scripted() -> Prompts:
    """The same, with the selectors that the scripted model answers to."""
    plain = Prompts()
    texts = {field.name: getattr(plain, field.name) for field in fields(plain)}
    selectors = {name: f"@@{'answer' if name == 'result' else name}" for name in texts}
    selectors["json"] = "@@plain"  # a schema decides by itself what is written
    return Prompts(**{name: f"{selectors[name]} {text}" for name, text in texts.items()})


OWN = ("plain", "long", "tool", "write", "parallel", "json", "endless", "unicode")


def with_own(prompts: Prompts, texts: Any, path: str) -> Prompts:
    """The prompts, with the user's own in their place.

    Args:
        prompts: ours.
        texts: the JSON value of the user's file.
        path: that file.

    Raises:
        TemplatelintError: it is no object of texts, or has one of another name.
    """
    if not isinstance(texts, dict):
        raise TemplatelintError(f"{path} is no JSON object of prompts", help=f"its members: {', '.join(OWN)}")
    for name, text in texts.items():
        if name not in OWN:
            raise unknown("prompt", name, OWN)
        if not isinstance(text, str) or not text.strip():
            raise TemplatelintError(f"{path}: the prompt {name} is no text", help="give a string that says something")
    return replace(prompts, **texts)

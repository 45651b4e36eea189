"""Messages that passed → the conversation that vLLM hands to the template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.engines.kinds import json_kind
from templatelint.engines.vllm.validation import MEDIA, InvalidRequest, Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from templatelint.engines.vllm.content_format import ContentFormat

# part type → the member that has its text
_TEXTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
}
_MAY_LACK_TEXT = ("text", "refusal")
# Members of the part types that vLLM and the OpenAI package declare; only what is beyond them stays on a part.
_PART_MEMBERS = frozenset(
    {"type", "text", "refusal", "thinking", "closed", "name", "uuid", "data", "file", "prompt_cache_breakpoint"}
    | {"image_url", "image_pil", "image_embeds", "audio_url", "input_audio", "audio_embeds"}
    | {"video_url", "video_embeds"}
)
_NOT_ENABLED = ("image_embeds", "audio_embeds", "video_embeds", "prompt_embeds")
_BILLING = "x-anthropic-billing-header"


class NoPlaceholder(Exception):
    """The text that stands for an image is the model's class's to say, and in no file of the model."""


def conversation(messages: Sequence[Message], content_format: ContentFormat, *, media: bool) -> list[Message]:
    """The messages built anew of what vLLM reads of them, their calls' arguments as mappings.

    Args:
        messages: as `validation.message` gives them.
        content_format: of the template.
        media: the model takes images, sounds and films.

    Raises:
        InvalidRequest: vLLM answers with an error.
        NoPlaceholder: a text-only template is given a medium.
    """
    parts = _Parts(typed=content_format == "openai", media=media)
    return [_message(message, f"message {number}", parts) for number, message in enumerate(messages, 1)]


def _message(message: Message, where: str, parts: _Parts) -> Message:
    role = message["role"]
    content = message.get("content")
    given = [] if content is None else [content] if isinstance(content, str) else content
    if role == "system":
        given = list(_without_billing(given))
    built: Message = {"role": role, "content": parts.content(given, where)}
    if role == "assistant":
        if calls := message.get("tool_calls"):
            built["tool_calls"] = [_parsed(call, where) for call in calls]
        if (reasoning := message.get("reasoning")) is not None:
            built["reasoning"] = built["reasoning_content"] = reasoning
    elif role == "tool":
        if "tool_call_id" in message:
            built["tool_call_id"] = message["tool_call_id"]
        built["content"] = _flat(built["content"], where)
    for name in ("name", "task"):
        if isinstance(message.get(name), str):
            built[name] = message[name]
    if role == "developer":
        built["tools"] = message.get("tools")
    return built


def _without_billing(parts: Iterable[Any]) -> Iterable[Any]:
    """The parts of a system message without the line by which Claude Code marks its requests."""
    for part in parts:
        typed = isinstance(part, dict) and part.get("type") == "text"
        text = part["text"] if typed and "text" in part else part
        if not isinstance(text, str) or not text.startswith(_BILLING):
            yield part
        elif rest := text.partition("\n")[2]:
            yield {**part, "text": rest} if typed else rest


def _flat(content: Any, where: str) -> Any:
    """The content of a tool's result: as text where it consists of text only."""
    if not isinstance(content, list) or any(part["type"] != "text" for part in content):
        return content
    return _joined([part["text"] for part in content], where)


def _joined(texts: list[Any], where: str) -> str:
    for text in texts:
        if not isinstance(text, str):
            raise InvalidRequest(f"text of a part of {where} is {json_kind(text)}")
    return "\n".join(texts)


class _Parts:
    """How the parts of a message become its content."""

    def __init__(self, *, typed: bool, media: bool) -> None:
        self._typed = typed
        self._media = media

    def content(self, parts: Iterable[Any], where: str) -> str | list[dict[str, Any]]:
        """A list of typed parts, or the texts that are not empty, one a line."""
        if self._typed:
            return [built for part in parts if (built := self._part(part, where)) is not None]
        texts = [self._part(part, where) for part in parts]
        return _joined([text for text in texts if text], where)

    def _part(self, part: Any, where: str) -> Any:
        """A part as its text, or as an object of its type; None where it is left out."""
        if isinstance(part, str):
            return {"type": "text", "text": part} if self._typed else part
        form = part.get("type")
        if form is None or part.get("uuid") is not None:
            form = next((name for name in (*MEDIA, "prompt_embeds", "tool_reference") if name in part), None)
            if form is None:
                raise InvalidRequest(f"{where} has a part without a type")
        if not isinstance(form, str):
            raise InvalidRequest(f"{where} has a part whose type is {json_kind(form)}")
        if form in _TEXTS:
            return self._text(part, form)
        if form == "tool_reference":
            return {"type": form, "name": part.get("name")} if self._typed else part.get("name")
        return self._medium(part, form, where)

    def _text(self, part: dict[str, Any], form: str) -> Any:
        text = part.get(_TEXTS[form])
        if text is None and form in _MAY_LACK_TEXT:
            return None
        return {"type": "text", "text": text, **_extra(part)} if self._typed else text

    def _medium(self, part: dict[str, Any], form: str, where: str) -> dict[str, Any]:
        if form in _NOT_ENABLED or form not in MEDIA:
            raise InvalidRequest(f"{where} has a part of type {form}, which vLLM does not take as it is started")
        if not self._media:
            raise InvalidRequest(f"{where} has a part of type {form}, and the model takes text only")
        if not self._typed:
            raise NoPlaceholder(f"the text that stands for the {form} of {where} is known to vLLM's model class only")
        return {"type": MEDIA[form], **_extra(part)}


def _extra(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in _PART_MEMBERS}


def _parsed(call: dict[str, Any], where: str) -> dict[str, Any]:
    """A call with its arguments as a mapping, which is empty where they are anything else."""
    function = call["function"]
    return {**call, "function": {**function, "arguments": _mapping(function["arguments"], where)}}


def _mapping(arguments: str, where: str) -> dict[str, Any]:
    if not arguments:
        return {}
    import json

    try:
        value = json.loads(arguments)
    except json.JSONDecodeError:
        return {}
    except (RecursionError, ValueError) as error:
        raise InvalidRequest(f"arguments of a call of {where} break Python's JSON parser: {error}") from None
    return value if isinstance(value, dict) else {}


# ------------------------------------------------------------------------------------------ developer role


def without_developer(messages: Sequence[Message], source: str) -> Sequence[Message]:
    """The conversation for a template that does not name the developer role.

    Its developer messages become system messages, and then all system messages one, in front and as text, unless one
    stands in front already and is the only one.
    """
    if '"developer"' in source or "'developer'" in source:
        return messages
    if all(message["role"] != "developer" for message in messages):
        return messages
    converted = [_as_system(message) if message["role"] == "developer" else message for message in messages]
    systems = [message for message in converted if message["role"] == "system"]
    texts = [_text_of(message["content"]) for message in systems]
    if len(systems) == 1 and converted[0] is systems[0]:
        return converted
    merged = {"role": "system", "content": "\n\n".join(text for text in texts if text)}
    return [merged, *(message for message in converted if message["role"] != "system")]


def _as_system(message: Message) -> Message:
    return {name: value for name, value in {**message, "role": "system"}.items() if name != "tools"}


def _text_of(content: Any) -> str:
    if not isinstance(content, list):
        return str(content)
    return _joined([part["text"] for part in content if "text" in part], "a system message")

"""A recorded answer → what the official `openai` or `anthropic` SDK makes of it; nothing is sent for that."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from templatelint.errors import clip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from templatelint.probe.wire.exchange import Exchange

INSTALL = "pip install 'templatelint[probe]'"
# beyond what any of our requests lets a model write; the SDKs copy what they have at every event
_LARGEST, _MANY = 1 << 20, 10_000
_PIECE = 1 << 14  # bytes that the SDK is given at once
_LONG = 300  # characters of what an exception says
_FAULTS = 20
# nothing is ever sent there
_NOWHERE = "http://recorded.invalid"


@dataclass(frozen=True)
class Reading:
    """What an SDK makes of an answer.

    Attributes:
        value: the object that it hands over, as JSON; empty where it raises.
        trouble: what it raises, `TypeError: …` in one line; empty where it does not.
        faults: what a strict validation finds, `choices.0.index: Field required`.
        unread: why it was given nothing to read, in a clause, which is no fault of the answer.
    """

    value: Mapping[str, Any]
    trouble: str = ""
    faults: tuple[str, ...] = ()
    unread: str = ""


def installed(package: str) -> bool:
    """Whether `openai`, or `anthropic`, can be imported."""
    try:
        import_module(package)
    except Exception:  # noqa: BLE001 (a package that does not start is none)
        return False
    return True


# ------------------------------------------------------------------------------------------------------- openai


def chat(exchange: Exchange, *, strict: bool = False) -> Reading:
    """A plain chat completion.

    Args:
        exchange: a 2xx answer.
        strict: also validate what is read against the SDK's types, which it does not do by itself.
    """
    return _read(exchange, "openai", lambda client: client.chat.completions.create(model="m", messages=[]), strict)


def chat_stream(exchange: Exchange, *, strict: bool = False) -> Reading:
    """A streamed chat completion, put together by the SDK."""

    def streamed(client: Any) -> Any:
        from openai import ContentFilterFinishReasonError, LengthFinishReasonError

        with client.chat.completions.stream(model="m", messages=[]) as events:
            try:
                return events.get_final_completion()
            except (ContentFilterFinishReasonError, LengthFinishReasonError):  # it takes such ends for no answer
                return events.current_completion_snapshot

    return _read(exchange, "openai", streamed, strict)


def response(exchange: Exchange, *, strict: bool = False) -> Reading:
    """A plain answer of the Responses API."""
    return _read(exchange, "openai", lambda client: client.responses.create(model="m", input=""), strict)


def parsed_response(exchange: Exchange, form: type, *, strict: bool = False) -> Reading:
    """A plain answer of the Responses API, its text read as a pydantic model (`responses.parse`)."""
    return _read(
        exchange, "openai", lambda client: client.responses.parse(model="m", input="", text_format=form), strict
    )


def response_stream(exchange: Exchange, *, strict: bool = False) -> Reading:
    """A streamed answer of the Responses API, put together by the SDK (`responses.stream`)."""

    def streamed(client: Any) -> Any:
        with client.responses.stream(model="m", input="") as events:
            return events.get_final_response()

    return _read(exchange, "openai", streamed, strict)


# ---------------------------------------------------------------------------------------------------- anthropic


def message(exchange: Exchange, *, strict: bool = False) -> Reading:
    """A plain answer of Anthropic's Messages API."""
    return _read(
        exchange, "anthropic", lambda client: client.messages.create(model="m", messages=[], max_tokens=1), strict
    )


def message_stream(exchange: Exchange, *, strict: bool = False) -> Reading:
    """A streamed answer of Anthropic's Messages API, put together by the SDK."""

    def streamed(client: Any) -> Any:
        with client.messages.stream(model="m", messages=[], max_tokens=1) as events:
            return events.get_final_message()

    return _read(exchange, "anthropic", streamed, strict)


# ------------------------------------------------------------------------------------------------------ replaying


def _read(exchange: Exchange, package: str, call: Callable[[Any], Any], strict: bool) -> Reading:
    if len(exchange.body) > _LARGEST or len(exchange.events or ()) > _MANY:
        return Reading({}, unread=f"an answer of more than {_LARGEST:,} bytes or {_MANY:,} events")
    recorded = _Recorded(exchange)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with _client(recorded, package, strict) as client:
                found = call(client)
            value = found.to_dict(mode="python") if hasattr(found, "to_dict") else None
        except Exception as error:  # noqa: BLE001 (whatever a client raises on an answer is what is asked for)
            said = f"{type(error).__name__}: {_line(str(error))}"
            return Reading({}, said, _faults(error)) if recorded.given else Reading({}, unread=said)
    if not isinstance(value, dict):
        return Reading({}, f"{type(found).__name__} in place of an object")
    return Reading(value)


def _line(said: str) -> str:
    """A text of any origin as one line of a message."""
    plain = "".join(letter if letter.isprintable() else " " for letter in said[: _LONG * 4])
    return clip(" ".join(plain.split()), _LONG)


def _faults(error: BaseException) -> tuple[str, ...]:
    """What pydantic found, where the exception is its own, or caused by it."""
    told = getattr(error, "errors", None) or getattr(error.__cause__, "errors", None)
    if not callable(told):
        return ()
    found = told(include_url=False, include_input=False, include_context=False)
    return tuple(
        _line(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}".removeprefix(": ")) for fault in found[:_FAULTS]
    )


class _Recorded:
    """Gives what was recorded as the answer to every request.

    Attributes:
        given: whether it was asked for.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.given = False

    def pieces(self) -> Iterator[bytes]:
        for start in range(0, len(self._exchange.body), _PIECE):
            yield self._exchange.body[start : start + _PIECE]

    def answer(self, http: Any) -> Any:
        self.given = True
        kind = self._exchange.headers.get("content-type", "application/json")
        return http.Response(self._exchange.status, headers={"content-type": kind}, content=self.pieces())


def _client(recorded: _Recorded, package: str, strict: bool) -> Any:
    """A client of the SDK that gets no further than to what was recorded."""
    sdk: Any = import_module(package)
    http = _http(sdk)
    make = sdk.OpenAI if package == "openai" else sdk.Anthropic
    return make(
        api_key="none",
        base_url=_NOWHERE,
        max_retries=0,
        http_client=http.Client(transport=http.MockTransport(lambda _: recorded.answer(http)), trust_env=False),
        _strict_response_validation=strict,
    )


def _http(sdk: Any) -> Any:
    """The HTTP library that the SDK is built on: httpx2, or httpx in earlier versions."""
    names = [base.__module__.partition(".")[0] for base in sdk.DefaultHttpxClient.__mro__]
    return import_module(next(name for name in names if name.startswith("httpx")))

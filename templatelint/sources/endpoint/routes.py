"""Routes of a server → the JSON they answer with, bounded; and what comes of it: a Model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from templatelint.errors import TemplatelintError, clip
from templatelint.model import Launch, Model, Origin, Template, Tokenizer
from templatelint.nearest import nearest
from templatelint.sources import opening
from templatelint.sources.web_refusals import Refused
from templatelint.texts import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from templatelint.sources.web import Answer, Web
    from templatelint.sources.web_address import Address

Key = Literal["none", "sent", "withheld"]
"""What became of the user's key: he has none, it is sent, or it is kept from a host that he did not type."""

_MAX_ANSWER = 16 << 20  # bytes
_OK, _NO_LOGIN, _NO_ACCESS, _NOT_READY = 200, 401, 403, 503
_MANY = 8  # models that a message lists
_LONG = 2000  # characters of a setting that is kept


@dataclass(frozen=True)
class Told:
    """What a server tells.

    Attributes:
        templates: name → text.
        notes: what the user should know about it.
    """

    templates: Mapping[str, str]
    launch: Launch
    tokenizer: Tokenizer
    metadata: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def model(self, ref: str) -> Model:
        """The model behind the server.

        Raises:
            TemplatelintError: a template is larger than any real one.
        """
        templates = []
        for name, source in self.templates.items():
            size = len(source.encode("utf-8", "surrogatepass"))
            if size > opening.MAX_TEMPLATE:
                raise opening.too_large(
                    f'{ref}: the template "{shown(name)}"', size, opening.MAX_TEMPLATE, "a template"
                )
            templates.append(Template(name, source, Origin(ref, source, locatable=False)))
        return Model(
            ref, "server", tuple(templates), self.tokenizer, self.metadata, notes=self.notes, launch=self.launch
        )


class Wire:
    """Asks a server over HTTP.

    Attributes:
        variable: of the environment, that holds the user's key.
    """

    def __init__(self, web: Web, base: Address, variable: str, key: Key) -> None:
        self._web = web
        self._base = base.url.rstrip("/")
        self._variable = variable
        self._key = key

    def __call__(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON value of the answer; the value is None where it is none.

        Raises:
            Refused: no connection, no access, or an answer beyond all bounds.
        """
        raw = None if body is None else json.dumps(body).encode()
        with self._web.ask(url=self._base + path, body=raw) as answer:
            if answer.status in (_NO_LOGIN, _NO_ACCESS):
                raise self._no_access(answer)
            content = self._content(answer)
        return answer.status, _value(content)

    def _content(self, answer: Answer) -> bytes:
        content = None if answer.encoded else answer.up_to(_MAX_ANSWER)
        if content is None:
            raise Refused(f"{self._web.name} answers with more than {_MAX_ANSWER:,} bytes, or encoded", help=None)
        return content

    def _no_access(self, answer: Answer) -> Refused:
        refused = self._web.refusal(answer)
        cure = {
            "none": f"set {self._variable} to its key",
            "sent": f"{self._variable} is not accepted",
            "withheld": f"{self._variable} is not sent to a host that a file names: give {self._web.name} as the REF",
        }[self._key]
        return Refused(refused.message, help=cure, status=refused.status, headers=refused.headers)


class Silent(TemplatelintError):
    """A server that is known, and does not tell the template that is in force.

    Attributes:
        engine: its id; empty until it is known.
    """

    engine = ""


class Routes:
    """A server that is asked one route after the other.

    Attributes:
        name: what messages call it.
        base: its address.
        key: what became of the user's key.
    """

    def __init__(
        self, name: str, base: Address, asking: Callable[[str, Any], tuple[int, Any]], key: Key = "none"
    ) -> None:
        """Nothing is asked yet.

        Args:
            name: what messages call it.
            base: its address.
            asking: path and body (None for a GET) → status and JSON value, as `Wire` does it.
            key: what became of the user's key.
        """
        self.name = name
        self.base = base
        self.key = key
        self._asking = asking

    def get(self, path: str) -> Any:
        """The JSON value that a route answers with; None where there is no such route.

        Raises:
            TemplatelintError: no connection, no access, not ready, or an answer beyond all bounds.
        """
        status, value = self.ask(path)
        return value if status == _OK else None

    def get_if_allowed(self, path: str) -> Any:
        """The same of a route that may be closed: None then too."""
        try:
            return self.get(path)
        except Refused:
            return None

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON value of the answer to a GET, or to a POST of a body; the value is None where it is none."""
        status, value = self._asking(path, body)
        if status == _NOT_READY:
            raise Refused(f"{self.name} is not ready{_reason(value)}", help="try again when its model is loaded")
        return status, value

    def pick(self, wanted: str, known: Sequence[str]) -> str:
        """The id of the model that is meant: the named one, or the only one.

        Raises:
            TemplatelintError: none, several and none named, or no such one.
        """
        known = [each for each in known if each]
        if wanted in known:
            return wanted
        listed = ", ".join(shown(each) for each in known[:_MANY]) + (", …" if len(known) > _MANY else "")
        if not known:
            raise TemplatelintError(f"{self.name} serves no model")
        if wanted:
            close = nearest(wanted, known)
            cure = f"did you mean ?model={shown(close)}?" if close else f"it has {listed}"
            raise TemplatelintError(f'{self.name} has no model "{clip(shown(wanted))}"', help=cure)
        if len(known) > 1:
            raise TemplatelintError(
                f"{self.name} serves {len(known)} models", help=f"name one: {self.name}?model=ID ({listed})"
            )
        return known[0]

    def silent(self, why: str, cure: str) -> Silent:
        """The error for a server that does not tell the template that is in force."""
        return Silent(f"{self.name} {why}", help=cure)


def table(value: Any) -> Mapping[str, Any]:
    """A JSON object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def text(value: Any) -> str:
    """A JSON string; empty for anything else."""
    return value if isinstance(value, str) else ""


def rows(value: Any, key: str) -> list[Mapping[str, Any]]:
    """The objects in a list that is a member of an object."""
    found = table(value).get(key)
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


def kept(values: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Of an answer those members that matter, and that are small."""
    found = {key: _sound(values[key]) for key in keys if values.get(key) is not None}
    return {key: value for key, value in found.items() if len(str(value)) <= _LONG or isinstance(value, list)}


def _sound(value: Any) -> Any:
    """A text without halves of characters, which no report could be written with."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _value(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _reason(value: Any) -> str:
    error = table(value).get("error")
    message = text(table(error).get("message")) or text(error)
    return f": {shown(message[:1].lower() + message[1:])}" if message else ""

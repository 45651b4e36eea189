"""A server of language models that keeps every clause of its contract, and breaks those that a test tells it to.

What it says is the scripted model's (`live_model`), what it refuses stands in `live_requests`, how it answers in
`live_answers`; here are its routes, its connection, and the twists:

    with LiveServer(twists=[edit(CHAT, put("choices.0.finish_reason", "stop"), when=has("max_tokens"))]) as server:
        run(server.url)

A twist sees the request and the right answer and changes one of them. `edit(PATH, *changes, when=, stream=)` changes
answers, `ignore(MEMBER, PATH)` lets the server act as if the request had no such member. Changes are functions of an
`Answer` (`put`, `drop`, `swap`, `status`, `each`, `drop_events`, `rearrange`, `cut_after`, `hang_after`, …), or any of
your own: they change it in place, or give another. `accept(PATH)` answers what is to be refused; a server that leaves
calls in the text is `LiveServer(scripts=LEAKED)`; models that do not cooperate are `LiveServer(choose=…)`.

What is no server of models at all stands in `live_hostile`.
"""

from __future__ import annotations

import contextlib
import copy
import json
import select
import socket
import sys
import threading
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import parse_qs, urlsplit

import live_requests
from live_answers import BUILD, DONE, Chat, Event, Messages, Responses
from live_model import DEFAULT_BOS, DEFAULT_EOS, SCRIPTS, Json, Refused, Served, by_selector, leaked

from templatelint.scripted.scripts import CALLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from live_model import Script

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
MODELS, PROPS, SLOTS, HEALTH = "/v1/models", "/props", "/slots", "/health"
APPLY, TOKENIZE, DETOKENIZE, TOOLS = "/apply-template", "/tokenize", "/detokenize", "/tools"

TEMPLATES = Path(__file__).parent.parent / "corpus" / "templates"
THINKING = (TEMPLATES / "thinking" / "chat_template.jinja").read_text("utf-8")
CHATML = (TEMPLATES / "chatml-tools" / "chat_template.jinja").read_text("utf-8")

LEAKED = {name: leaked(SCRIPTS[name]) for name in CALLS}

PACE = 0.005  # seconds between the tokens of what never ends: it has to last until a client leaves
_ENGINES = {
    "bare": "llama.cpp",
    "lmstudio": "llama.cpp",
}  # that render for a kind of server, where it has not the engine's name
_OWNERS = {"llama.cpp": "llamacpp", "vllm": "vllm", "sglang": "sglang", "ollama": "library"}
_ANTHROPIC_KINDS = {401: "authentication_error", 404: "not_found_error"}
_IDLE = 20.0  # seconds that a connection may be silent
_LINGER = 30.0  # seconds that a slot stays busy where a twist forgets clients that left


# ------------------------------------------------------------------------------------ calls and answers


@dataclass
class Call:
    """A request.

    Attributes:
        path: without its query.
        body: the JSON value; None where there is none.
    """

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]  # names in lower case
    raw: bytes = b""

    @cached_property
    def body(self) -> Any:
        try:
            return json.loads(self.raw)
        except (ValueError, RecursionError):
            return None

    @property
    def members(self) -> Json:
        """Of the body; none where it is no object."""
        return self.body if isinstance(self.body, dict) else {}


@dataclass
class Answer:
    """What is answered.

    Attributes:
        json: the body; bytes are sent as they are.
        events: of a stream, whose body they are.
        pause: seconds before each event, or for each token of a plain answer.
        tokens: that a plain answer takes.
        cut_after: the connection ends behind so many events, or so many bytes of a plain body.
        hang_after: nothing comes behind so many events, or instead of a plain answer.
        lingers: the slot stays busy when the client has left.
        forever: the last event but `[DONE]` comes again and again; behind a plain body, spaces do.
    """

    json: Any = None
    events: list[Event] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    tokens: int = 0
    cut_after: int | None = None
    hang_after: int | None = None
    lingers: bool = False
    forever: bool = False

    @property
    def streamed(self) -> bool:
        return self.events is not None

    @property
    def body(self) -> bytes:
        return self.json if isinstance(self.json, bytes) else json.dumps(self.json).encode("utf-8", "surrogatepass")


def failure(refused: Refused, *, anthropic: bool = False) -> Answer:
    """The error object, as OpenAI or Anthropic write it."""
    if anthropic:
        kind = _ANTHROPIC_KINDS.get(refused.status, "invalid_request_error")
        return Answer({"type": "error", "error": {"type": kind, "message": refused.message}}, status=refused.status)
    error = {"message": refused.message, "type": refused.kind, "param": refused.param, "code": refused.code}
    return Answer({"error": {**error, **refused.extra}}, status=refused.status)


# ----------------------------------------------------------------------------------------------- twists

Change: TypeAlias = "Callable[[Answer], Answer | None]"
When: TypeAlias = "Callable[[Json], bool]"


@dataclass(frozen=True)
class Twist:
    """What a server does wrong.

    Attributes:
        path: of the requests that it befalls; None for all.
        when: members of the body → whether it befalls this one.
        before: changes the members of the body.
        after: changes the answer.
    """

    path: str | None = None
    when: When = lambda _: True
    before: Callable[[Json], object] | None = None
    after: Callable[[Call, Answer], Answer | None] | None = None

    def befalls(self, call: Call) -> bool:
        return self.path in (None, call.path) and self.when(call.members)


def edit(path: str | None, *changes: Change, when: When = lambda _: True, stream: bool | None = None) -> Twist:
    """Change answers of a route: streams, plain ones or both; error objects too (see `only_good`)."""

    def after(_: Call, answer: Answer) -> Answer:
        if stream is None or answer.streamed is stream:
            for change in changes:
                answer = change(answer) or answer
        return answer

    return Twist(path, when, after=after)


def ignore(member: str, path: str | None = None, *, when: When = lambda _: True) -> Twist:
    """Act as if the request had no such member (`response_format.json_schema`)."""
    return Twist(path, when, before=lambda body: _without(body, member.split(".")))


def preset(member: str, value: Any, path: str | None = None, *, when: When = lambda _: True) -> Twist:
    """Act as if the request had this member."""
    return Twist(path, when, before=lambda body: body.update({member: value}))


def instead(path: str, answer: Callable[[Call], Answer], *, when: When = lambda _: True) -> Twist:
    """Answer something else."""
    return Twist(path, when, after=lambda call, _: answer(call))


def accept(path: str, *, when: When = lambda _: True) -> Twist:
    """Answer as if the request were an ordinary one where it has to be refused."""

    def after(call: Call, answer: Answer) -> Answer | None:
        if answer.status < 400:
            return None
        ordinary = {"messages": [{"role": "user", "content": "hi"}], "input": "hi", "max_tokens": 64}
        body = {**ordinary, "stream": call.members.get("stream") is True}
        return LiveServer().answer(Call("POST", path, {}, {}, json.dumps(body).encode()))

    return Twist(path, when, after=after)


def every(*conditions: When) -> When:
    """All of the conditions."""
    return lambda body: all(condition(body) for condition in conditions)


def has(*members: str) -> When:
    """The body has all of these members."""
    return lambda body: all(body.get(member) is not None for member in members)


def holds(text: str) -> When:
    """The text stands somewhere in the body (`@@tool`)."""
    return lambda body: text in json.dumps(body, ensure_ascii=False)


# ---------------------------------------------------------------------------------------------- changes


def put(where: str, value: Any) -> Change:
    """Set a member (`choices.0.finish_reason`; `*` is every row): in streams, where it is there and not null."""

    def changed(answer: Answer) -> None:
        _everywhere(answer, lambda data: _put(data, where.split("."), value, new=not answer.streamed))

    return changed


def swap(old: str, new: str) -> Change:
    """Another text wherever this one stands, in names too; in streams, where it stands in one event."""

    def swapped(data: Any) -> Any:
        if isinstance(data, str):
            return data.replace(old, new)
        if isinstance(data, list):
            return [swapped(inner) for inner in data]
        if isinstance(data, dict):
            return {swapped(name): swapped(inner) for name, inner in data.items()}
        return data

    def changed(answer: Answer) -> None:
        answer.json = swapped(answer.json)
        for event in answer.events or []:
            event.data, event.name = swapped(event.data), event.name.replace(old, new)

    return changed


def drop(where: str) -> Change:
    """Leave out a member of the object, or of each event."""
    return lambda answer: _everywhere(answer, lambda data: _without(data, where.split(".")))


def status(code: int, only: int | None = None) -> Change:
    """Answer with another status; `only` where it would be that one."""

    def change(answer: Answer) -> None:
        if only in (None, answer.status):
            answer.status = code

    return change


def only_good(*changes: Change) -> Change:
    """Let errors as they are."""

    def change(answer: Answer) -> Answer:
        if answer.status < 400:
            for each_change in changes:
                answer = each_change(answer) or answer
        return answer

    return change


def each(change: Callable[[Event], object], kind: str | None = None) -> Change:
    """Change every event (of a type), in place."""

    def changed(answer: Answer) -> None:
        for event in answer.events or []:
            if kind is None or type_of(event) == kind:
                change(event)

    return changed


def drop_events(which: str | Callable[[Event], bool]) -> Change:
    """Leave out the events of a type (`response.output_text.done`; `[DONE]` is one), or those that a function picks."""

    def changed(answer: Answer) -> None:
        if answer.events is not None:
            picked = (lambda event: type_of(event) == which) if isinstance(which, str) else which
            answer.events = [event for event in answer.events if not picked(event)]

    return changed


def rearrange(order: Callable[[list[Event]], list[Event]]) -> Change:
    """Send other events, or in another order."""

    def changed(answer: Answer) -> None:
        if answer.events is not None:
            answer.events = order(answer.events)

    return changed


def cut_after(count: int) -> Change:
    """End the connection behind so many events (or bytes of a plain body)."""
    return lambda answer: setattr(answer, "cut_after", count)


def hang_after(count: int = 0) -> Change:
    """Say nothing more behind so many events (or instead of a plain answer)."""
    return lambda answer: setattr(answer, "hang_after", count)


def keep_running() -> Change:
    """Do not notice that a client has left."""
    return lambda answer: setattr(answer, "lingers", True)


def never_end() -> Change:
    """Repeat the last event (or a space) for ever."""
    return lambda answer: setattr(answer, "forever", True)


without_done: Change = drop_events(DONE)


def type_of(event: Event) -> str:
    """The type that the data of an event gives; of text, the text."""
    if isinstance(event.data, str):
        return event.data
    found = event.data.get("type") or event.data.get("object") if isinstance(event.data, dict) else ""
    return found if isinstance(found, str) else ""


def _everywhere(answer: Answer, change: Callable[[Any], object]) -> None:
    for data in [answer.json] if answer.events is None else [event.data for event in answer.events]:
        change(data)


def _parents(data: Any, steps: Sequence[str]) -> Iterator[Any]:
    if not steps:
        yield data
        return
    step, rest = steps[0], steps[1:]
    if isinstance(data, dict):
        for inner in list(data.values()) if step == "*" else [data[step]] if step in data else []:
            yield from _parents(inner, rest)
    elif isinstance(data, list) and step == "*":
        for inner in data:
            yield from _parents(inner, rest)
    elif isinstance(data, list) and step.lstrip("-").isdigit() and -len(data) <= int(step) < len(data):
        yield from _parents(data[int(step)], rest)


def _put(data: Any, steps: Sequence[str], value: Any, *, new: bool) -> None:
    last = steps[-1]
    for parent in _parents(data, steps[:-1]):
        if isinstance(parent, dict) and (new or parent.get(last) is not None):
            parent[last] = copy.deepcopy(value)
        elif isinstance(parent, list) and last.lstrip("-").isdigit() and -len(parent) <= int(last) < len(parent):
            parent[int(last)] = copy.deepcopy(value)


def _without(data: Any, steps: Sequence[str]) -> None:
    last = steps[-1]
    for parent in _parents(data, steps[:-1]):
        if isinstance(parent, dict):
            parent.pop(last, None)
        elif isinstance(parent, list) and last.lstrip("-").isdigit() and -len(parent) <= int(last) < len(parent):
            del parent[int(last)]


# ----------------------------------------------------------------------------------------------- server


class LiveServer:
    """A server on loopback; a context manager, whose `url` is open inside.

    It is a llama-server (`kind`: or vllm, sglang, ollama, lmstudio, or `bare`, of which nothing but /v1 is there) of
    one model; with `models` (name → template) it is a router of several.

    Attributes:
        requests: what it received, in order, before any twist.
        faults: what a twist, or this server, has raised; the end of the context raises the first.
    """

    def __init__(  # noqa: PLR0913 (what a server is started with)
        self,
        *,
        twists: Sequence[Twist] = (),
        template: str = THINKING,
        model: str = "scripted",
        models: Mapping[str, str] | None = None,
        context: int = 4096,
        slots: int = 4,
        routes_missing: frozenset[str] | set[str] = frozenset(),
        api_key: str = "",
        choose: Callable[[Sequence[Json], str], str] = by_selector,
        scripts: Mapping[str, Script] | None = None,
        bos_token: str = DEFAULT_BOS,
        eos_token: str = DEFAULT_EOS,
        tools: bool = False,
        kind: str = "llama.cpp",
    ) -> None:
        self.kind = kind
        self.twists = tuple(twists)
        templates = models or {model: template}
        self.served = {
            name: Served(name, source, context, bos_token, eos_token, choose, scripts or {}, _ENGINES.get(kind, kind))
            for name, source in templates.items()
        }
        self.router = models is not None
        self.context, self.routes_missing, self.api_key, self.tools = context, frozenset(routes_missing), api_key, tools
        self.requests: list[Call] = []
        self.faults: list[BaseException] = []
        self.stopping = threading.Event()
        self._busy = [False] * slots
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"live": self}))
        self._server.live = self
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True).start()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        if self.faults and error is None:
            raise self.faults[0]

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        """Of the requests, with their methods."""
        return [f"{call.method} {call.path}" for call in self.requests]

    # ------------------------------------------------------------------------------------------ slots

    @contextlib.contextmanager
    def slot(self) -> Iterator[None]:
        """Keep one busy; where none is idle, there is one more."""
        with self._lock:
            if all(self._busy):
                self._busy.append(False)
            number = self._busy.index(False)
            self._busy[number] = True
        try:
            yield
        finally:
            with self._lock:
                self._busy[number] = False

    def _slots(self) -> list[Json]:
        with self._lock:
            return [
                {"id": number, "n_ctx": self.context, "is_processing": busy} for number, busy in enumerate(self._busy)
            ]

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)

    # ---------------------------------------------------------------------------------------- answers

    def answer(self, call: Call) -> Answer:
        """What is answered, with all that is twisted."""
        befallen = [twist for twist in self.twists if twist.befalls(call)]
        twisted = copy.deepcopy(call)
        for twist in befallen:
            if twist.before is not None and isinstance(twisted.body, dict):
                twist.before(twisted.body)
        answer = self._right(twisted)
        for twist in befallen:
            if twist.after is not None:
                answer = twist.after(call, answer) or answer
        return answer

    def _right(self, call: Call) -> Answer:
        try:
            return self._routed(call)
        except Refused as refused:
            return failure(refused, anthropic=call.path.startswith(MESSAGES))

    def _authorised(self, call: Call) -> bool:
        key = call.headers.get("authorization", "").removeprefix("Bearer ") or call.headers.get("x-api-key")
        return key == self.api_key

    def _unknown(self, call: Call) -> Refused:
        return Refused(f"there is no {call.method} {call.path}", status=404, kind="not_found_error", code="not_found")

    def _routed(self, call: Call) -> Answer:
        if self.api_key and call.path != HEALTH and not self._authorised(call):
            raise Refused("invalid API key", status=401, kind="authentication_error", code="invalid_api_key")
        if call.path in self.routes_missing:
            raise self._unknown(call)
        asked = f"{call.method} {call.path}"
        if asked in (f"POST {CHAT}/input_tokens", f"POST {RESPONSES}/input_tokens", f"POST {MESSAGES}/count_tokens"):
            return self._counted(call)
        if asked in (f"POST {CHAT}", f"POST {RESPONSES}", f"POST {MESSAGES}"):
            return self._generated(call)
        found = self._own().get(asked)
        if found is None:
            raise self._unknown(call)
        value = found(call)
        return value if isinstance(value, Answer) else Answer(value)

    def _own(self) -> dict[str, Callable[[Call], Any]]:
        """Routes beside the three APIs: method and path → what answers."""
        routes: dict[str, Callable[[Call], Any]] = {f"GET {MODELS}": lambda _: self._models()}
        if self.kind == "llama.cpp":
            routes |= {
                f"GET {HEALTH}": lambda _: {"status": "ok"},
                f"GET {PROPS}": self._props,
                f"GET {SLOTS}": lambda _: self._slots(),
                f"POST {APPLY}": lambda call: {"prompt": self._served(call).prompt(self._members(call))},
                f"POST {TOKENIZE}": self._tokenize,
                f"POST {DETOKENIZE}": lambda call: {"content": self._text(call)},
            }
            if self.tools:
                routes[f"GET {TOOLS}"] = lambda _: [{"tool": "exec_shell_command", "type": "builtin"}]
        elif self.kind == "vllm":
            routes |= {
                f"GET {HEALTH}": lambda _: Answer(b""),
                "GET /version": lambda _: {"version": "0.29.1"},
                "GET /tokenizer_info": self._tokenizer_info,
                f"POST {TOKENIZE}": self._tokenize_as_vllm,
                f"POST {DETOKENIZE}": lambda call: {"prompt": self._text(call)},
                f"POST {CHAT}/render": lambda call: {"token_ids": self._tokenize_as_vllm(call)["tokens"]},
            }
        elif self.kind == "sglang":
            info = {"version": "0.5.23", "model_path": "own/scripted", "tokenizer_path": "own/scripted"}
            routes |= {
                f"GET {HEALTH}": lambda _: Answer(b""),
                "GET /server_info": lambda _: info,
                "GET /get_server_info": lambda _: info,
                "GET /get_model_info": lambda _: {"model_path": "own/scripted", "is_generation": True},
                f"POST {TOKENIZE}": self._tokenize_as_vllm,
                f"POST {DETOKENIZE}": lambda call: {"text": self._text(call)},
            }
        elif self.kind == "ollama":
            routes |= {
                "GET /api/version": lambda _: {"version": "0.34.2"},
                "GET /api/tags": lambda _: {"models": [{"name": name, "model": name} for name in self.served]},
                "POST /api/show": self._show,
            }
        elif self.kind == "lmstudio":
            routes["GET /api/v0/models"] = lambda _: {"object": "list", "data": self._models_of_lm_studio()}
        return routes

    def _members(self, call: Call) -> Json:
        if call.body is None:
            raise Refused("the body of the request is no JSON", code="invalid_json")
        if not isinstance(call.body, dict):
            raise Refused("the body of the request is no JSON object", code="invalid_type")
        return call.body

    def _served(self, call: Call) -> Served:
        name = call.query.get("model") or call.members.get("model")
        first = next(iter(self.served.values()))
        if not self.router:
            return first
        if name is None and call.method == "POST":
            raise Refused("model is missing", param="model", code="missing_required_parameter")
        if name not in self.served:
            raise Refused(
                f"there is no model {name!r}", status=404, kind="not_found_error", param="model", code="model_not_found"
            )
        return self.served[name]

    # ----------------------------------------------------------------------------- llama-server's routes

    def _models(self) -> Json:
        rows = []
        for name in self.served:
            row: Json = {"id": name, "object": "model", "created": 1764460800, "owned_by": _OWNERS.get(self.kind, "me")}
            if self.kind == "vllm":
                row |= {"root": f"own/{name}", "max_model_len": self.context}
            if self.router:
                given = ["llama-server", "--port", "0", "--alias", name, "--chat-template-file", f"{name}.jinja"]
                row["status"] = {"value": "loaded", "args": given}
            rows.append(row)
        return {"object": "list", "data": rows}

    def _props(self, call: Call) -> Json:
        if self.router and "model" not in call.query:
            return {"role": "router", "models_autoload": True, "build_info": BUILD, "default_generation_settings": {}}
        served = self._served(call)
        capabilities: Any = getattr(served.loaded, "capabilities", None)  # llama.cpp's have them
        return {
            "default_generation_settings": {"n_ctx": self.context, "params": {}},
            "total_slots": len(self._busy),
            "model_alias": served.name,
            "model_path": f"/models/{served.name}.gguf",
            "modalities": {"vision": False, "audio": False},
            "chat_template": served.template,
            "chat_template_caps": capabilities.as_props(),
            "bos_token": served.bos_token,
            "eos_token": served.eos_token,
            "build_info": BUILD,
            "is_sleeping": False,
        }

    def _tokenize(self, call: Call) -> Json:
        body = self._members(call)
        content = body.get("content", "")
        if not isinstance(content, str):
            raise Refused("content is no text", param="content", code="invalid_type")
        tokens = self._served(call).tokens(content, parse_special=body.get("parse_special") is not False)
        if body.get("with_pieces") is True:
            return {"tokens": [{"id": number, "piece": piece.decode("utf-8", "replace")} for number, piece in tokens]}
        return {"tokens": [number for number, _ in tokens]}

    def _text(self, call: Call) -> str:
        ids = self._members(call).get("tokens")
        if not isinstance(ids, list) or not all(type(each) is int for each in ids):
            raise Refused("tokens is no array of integers", param="tokens", code="invalid_type")
        return self._served(call).text(ids)

    # -------------------------------------------------------------------------------------- others' routes

    def _tokenizer_info(self, call: Call) -> Json:
        served = self._served(call)
        return {
            "tokenizer_class": "ScriptedTokenizer",
            "chat_template": served.template,
            "bos_token": served.bos_token,
            "eos_token": served.eos_token,
        }

    def _tokenize_as_vllm(self, call: Call) -> Json:
        body, served = self._members(call), self._served(call)
        prompt = body.get("prompt") if "prompt" in body else served.prompt(body)
        if not isinstance(prompt, str):
            raise Refused("prompt is no text", param="prompt", code="invalid_type")
        tokens = served.tokens(prompt)
        found: Json = {"count": len(tokens), "max_model_len": self.context, "tokens": [number for number, _ in tokens]}
        if body.get("return_token_strs") is True:
            found["token_strs"] = [piece.decode("utf-8", "replace") for _, piece in tokens]
        return found

    def _show(self, call: Call) -> Json:
        served = self._served(call)
        return {
            "template": served.template,
            "model_info": {"general.architecture": "llama"},
            "capabilities": ["completion", "tools"],
        }

    def _models_of_lm_studio(self) -> list[Json]:
        common = {"object": "model", "type": "llm", "compatibility_type": "gguf", "state": "loaded"}
        return [{"id": name, **common, "max_context_length": self.context} for name in self.served]

    # --------------------------------------------------------------------------------------- the three APIs

    def _counted(self, call: Call) -> Answer:
        body = self._members(call)
        if call.path.startswith(MESSAGES):
            wanted = live_requests.anthropic(body, counting=True)
        else:
            wanted = live_requests.responses(body) if call.path.startswith(RESPONSES) else live_requests.chat(body)
        served = self._served(call)
        count = len(served.tokens(served.prompt(wanted.body)))
        return Answer(
            {"input_tokens": count}
            if call.path.startswith(MESSAGES)
            else {"object": "response.input_tokens", "input_tokens": count}
        )

    def _generated(self, call: Call) -> Answer:
        body, served = self._members(call), self._served(call)
        made: Chat | Responses | Messages
        if call.path == CHAT:
            wanted = live_requests.chat(body)
            generated = served.generate(wanted)
            made = Chat(wanted, generated, served.name)
        elif call.path == RESPONSES:
            generated = served.generate(live_requests.responses(body))
            made = Responses(body, generated, served.name)
        else:
            generated = served.generate(live_requests.anthropic(body))
            made = Messages(generated, served.name)
        pause = PACE if generated.endless else 0.0
        if body.get("stream") is True:
            return Answer(events=list(made.events()), pause=pause)
        return Answer(made.plain(), pause=pause, tokens=generated.tokens)


# ------------------------------------------------------------------------------------------- connection


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    live: LiveServer

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 (the standard library's)
        """A client that hangs up in the middle is what is being tested; anything else is a fault of ours."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self.live.faults.append(error)


class _Handler(BaseHTTPRequestHandler):
    live: LiveServer
    protocol_version = "HTTP/1.1"
    timeout = _IDLE
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Nothing is told."""

    def setup(self) -> None:
        super().setup()
        self.live.opened(self.connection)

    def finish(self) -> None:
        self.live.closed(self.connection)
        super().finish()

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Call(self.command, parts.path, query, headers, raw)
        self.live.requests.append(call)
        generates = call.method == "POST" and call.path in (CHAT, RESPONSES, MESSAGES)
        with self.live.slot() if generates else contextlib.nullcontext():
            answer = self.live.answer(call)
            there = self._streamed(answer) if answer.events is not None else self._plain(answer)
            if not there:
                self.close_connection = True
                if answer.lingers:
                    self.live.stopping.wait(_LINGER)

    def _head(self, answer: Answer, headers: Mapping[str, str]) -> bytes:
        """The head of an answer, whose headers are those of the answer before ours."""
        # tests that are turned away have no time to wait
        soon = {"Retry-After": "0"} if answer.status == HTTPStatus.TOO_MANY_REQUESTS else {}
        lines = {"Content-Type": "application/json; charset=utf-8", **soon, **headers, **answer.headers}
        reason = self.responses.get(answer.status, ("", ""))[0]
        rows = [f"HTTP/1.1 {answer.status} {reason}", *(f"{name}: {value}" for name, value in lines.items())]
        return "\r\n".join([*rows, "\r\n"]).encode("latin-1")

    def _plain(self, answer: Answer) -> bool:
        """Whether the client was there to the end."""
        if answer.hang_after is not None:
            self._hang()
            return False
        if answer.pause and not all(self._goes_on(answer.pause) for _ in range(answer.tokens)):
            return False
        body = answer.body
        if answer.forever:
            self.wfile.write(self._head(answer, {"Connection": "close"}) + body)
            while self._goes_on(0):
                self.wfile.write(b" " * (64 << 10))
            return False
        head = self._head(answer, {"Content-Length": str(len(body))})
        self.wfile.write(head + (body if answer.cut_after is None else body[: answer.cut_after]))
        return answer.cut_after is None

    def _streamed(self, answer: Answer) -> bool:
        self.wfile.write(
            self._head(answer, {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"})
        )
        try:
            for number, event in enumerate(self._all(answer)):
                if answer.hang_after == number:
                    self._hang()
                    return False
                if answer.cut_after == number or not self._goes_on(event.pause or answer.pause):
                    return False
                self._chunk(event.raw)
            if answer.hang_after is not None:
                self._hang()
                return False
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            return False
        return True

    def _all(self, answer: Answer) -> Iterator[Event]:
        events = answer.events or []
        if answer.forever:
            events = [event for event in events if event.data != DONE]
            yield from events
            while events:
                yield events[-1]
        yield from events

    def _chunk(self, raw: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))

    def _hang(self) -> None:
        while self._goes_on(0.02):
            pass

    def _goes_on(self, pause: float) -> bool:
        """Wait; whether the client is still there, and the server too."""
        if pause and self.live.stopping.wait(pause):
            return False
        try:
            readable, _, _ = select.select([self.connection], [], [], 0)
            return not (readable and self.connection.recv(1, socket.MSG_PEEK) == b"")
        except (OSError, ValueError):
            return False

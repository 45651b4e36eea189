"""What a server says that it is: its models, its build, the tools of its own, templates that requests bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from templatelint.probe.server import serving
from templatelint.probe.server.rendering import LLAMA_CPP, TOKENIZING, made
from templatelint.probe.server.serving import MODELS
from templatelint.probe.telling import busy, counted, for_now, http, quoted
from templatelint.probe.verdict import NoAnswer, failed, inconclusive, passed, skipped, warned
from templatelint.sources.endpoint.routes import rows, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.probe.endpoint import Endpoint, Served
    from templatelint.probe.server.rendering import Made
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_CLOSED = frozenset({401, 403})
_FAILED = 500
_MANY = 8  # tools, or models, that a message lists
_LINE = 400  # characters of a command line
_TYPES: Mapping[str, tuple[type, ...]] = {"id": (str,), "object": (str,), "created": (int, float), "owned_by": (str,)}
_LATEST = ":latest"
_NO_MODEL = "templatelint-no-such-model"
_OFF = "start llama-server without --tools: whoever reaches its port can run them; calling functions does not need it"


# ------------------------------------------------------------------------------------------- TL901


def models_listed(endpoint: Endpoint) -> Verdict:
    """TL901."""
    kind = serving.known(endpoint).kind
    if kind == LLAMA_CPP and (ill := _ill(endpoint)):
        return ill
    listed = endpoint.get(MODELS)
    return busy(listed) or _of_list(endpoint, listed, kind)


def _of_list(endpoint: Endpoint, listed: Exchange, kind: str) -> Verdict:
    if listed.absent:
        return warned(
            f"there is no list of models: GET {MODELS} answers {http(listed)}",
            cure="clients that let people pick a model find none",
        )
    data = listed.object.get("data")
    if not listed.ok or not isinstance(data, list):
        return failed(f"GET {MODELS} answers {http(listed)} without a list of models in data")
    if wrong := [*_wrong(listed.object, data)]:
        return failed(wrong[0], evidence=tuple(wrong[1:_MANY]))
    names = _names(listed, kind)
    if endpoint.model in names:
        return passed(f"{quoted(endpoint.model)} is listed, one of {counted(len(data), 'model')}")
    return _unlisted(endpoint, names, kind)


def _ill(endpoint: Endpoint) -> Verdict | None:
    """A llama-server that says that it is not well, though it answers; others let models answer at that route."""
    try:
        health = endpoint.get("/health")
    except NoAnswer:
        return None
    if health.absent or health.status in _CLOSED:  # a proxy lets it through or not
        return None
    if not health.ok or health.object.get("status") != "ok":
        return failed(
            f"GET /health answers {http(health)}, status {quoted(health.object.get('status'))}, while it serves"
        )
    return None


def _wrong(answer: Mapping[str, Any], data: list[Any]) -> Iterator[str]:
    if answer.get("object") != "list":
        yield f"object is {quoted(answer.get('object'))} in place of 'list'"
    if not data:
        yield "data lists no model"
    for number, row in enumerate(data):
        for name, kind in _TYPES.items():
            value = table(row).get(name)
            if not isinstance(value, kind) or isinstance(value, bool):
                yield f"data[{number}].{name} is {quoted(value) if name in table(row) else 'missing'}"
        if text(table(row).get("object")) not in {"", "model"}:
            yield f"data[{number}].object is {quoted(table(row).get('object'))} in place of 'model'"


def _names(listed: Exchange, kind: str) -> set[str]:
    """By what the models can be asked for."""
    found = set()
    for row in rows(listed.value, "data"):
        name = text(row.get("id"))
        aliases = row.get("aliases")  # llama-server's
        found |= {name, *(each for each in aliases if isinstance(each, str))} if isinstance(aliases, list) else {name}
        if kind == "ollama":
            found.add(name.removesuffix(_LATEST))
    return found


def _unlisted(endpoint: Endpoint, names: set[str], kind: str) -> Verdict:
    """A name that is answered for: by another model, or by one that the list keeps quiet about."""
    known = ", ".join(quoted(name) for name in sorted(names)[:_MANY])
    one = endpoint.get(f"{MODELS}/{quote(endpoint.model, safe='')}")
    answering = text(endpoint.chat(endpoint.prompts.plain).object.get("model"))
    aliased = one.ok and text(one.object.get("id")) in {*names, endpoint.model}
    if aliased and not endpoint.get(f"{MODELS}/{_NO_MODEL}").ok:
        return warned(f"{quoted(endpoint.model)} is not listed, though GET {MODELS}/ID knows it: {MODELS} has {known}")
    if kind == LLAMA_CPP or answering in names:
        return failed(
            f"{quoted(endpoint.model)} is asked for, and not listed: {MODELS} has {known}",
            cure="a server that takes any name answers with another model than was asked for: name the one it lists",
        )
    return warned(f"{quoted(endpoint.model)} answers, and {MODELS} has only {known}")


# ------------------------------------------------------------------------------------------- TL905


def server_tools_off(endpoint: Endpoint) -> Verdict:
    """TL905."""
    served = serving.told(endpoint)
    tools = endpoint.get("/tools")
    if for_now(tools):
        return inconclusive(f"GET /tools is turned away: {http(tools)}")
    noted = tuple(_noted(served))
    if tools.ok and isinstance(tools.value, list):
        names = [each for each in map(_tool, tools.value) if each]
        if not names:
            return warned(
                f"GET /tools answers with a list of {counted(len(tools.value), 'tool')}", evidence=noted, cure=_OFF
            )
        shown = ", ".join(map(quoted, names[:_MANY])) + (", …" if len(names) > _MANY else "")
        return failed(f"the server runs {counted(len(names), 'tool')} of its own: {shown}", evidence=noted, cure=_OFF)
    if served.kind == LLAMA_CPP and (other := _other_build(endpoint, served.version)):
        return failed(
            other, evidence=noted, cure="is there one server behind the address, or several of different builds?"
        )
    return passed(f"GET /tools answers HTTP {tools.status}: the server offers no tools of its own", evidence=noted)


def _tool(row: Any) -> str:
    """The name of a tool as llama-server lists it."""
    function = table(table(table(row).get("definition")).get("function"))
    return text(table(row).get("tool")) or text(table(row).get("name")) or text(function.get("name"))


def _other_build(endpoint: Endpoint, version: str) -> str:
    """That replies come from another build than `/props`, in a clause."""
    said = endpoint.chat(endpoint.prompts.plain).object.get("system_fingerprint")
    if not version or not isinstance(said, str) or said == version:
        return ""
    return f"build_info of /props is {quoted(version)}, and system_fingerprint of a reply is {quoted(said)}"


def _noted(served: Served) -> Iterator[str]:
    """What a later reader wants to know of the server that was probed."""
    if served.version:
        yield f"version: {quoted(served.version)}"
    launch = served.model.launch if served.model else None
    if launch is None:
        return
    for name in ("model_path", "model_alias", "id", "chat_template_caps"):
        if name in launch.settings:
            value = launch.settings[name]
            yield f"{name}: {_caps(value) if isinstance(value, dict) else quoted(value)}"
    if launch.arguments is not None:
        yield f"started with: {quoted(' '.join(launch.arguments), _LINE)}"


def _caps(value: Mapping[str, Any]) -> str:
    return ", ".join(f"{quoted(name)[1:-1]} {quoted(each)}" for name, each in value.items())


# ------------------------------------------------------------------------------------------- TL906

_OWN = "templatelint was here: {{ messages | length }}"
_OWN_PROMPT = "templatelint was here: 1"


def request_template_heeded(endpoint: Endpoint) -> Verdict:
    """TL906."""
    kind = serving.known(endpoint).kind
    if kind and kind != LLAMA_CPP and kind not in TOKENIZING - {"sglang"}:
        return skipped(f"{kind} takes no template with a request")
    plain: dict[str, Any] = {"messages": [{"role": "user", "content": endpoint.prompts.plain}]}
    usual = made(endpoint, plain, kind)
    if not usual.known:
        return inconclusive(f"the server tells no prompt of a user message: {usual.error}")
    own = made(endpoint, {**plain, "chat_template": _OWN}, kind)
    if own.turned_away:
        return inconclusive(f"a request with a chat_template of its own is turned away: {own.error}")
    return _heeded(usual, own)


def _heeded(usual: Made, own: Made) -> Verdict:
    if own.status >= _FAILED:
        return failed(f"a request with a chat_template of its own is answered with {own.error}")
    if own.error:
        return passed(f"a request with a chat_template of its own is answered with {own.error}")
    if own.text == _OWN_PROMPT:
        return passed("the chat_template of the request is used")
    if (own.text, own.ids) == (usual.text, usual.ids):
        return failed(
            "the chat_template of a request is dropped without a word: the prompt is the usual one",
            cure="start another server with --chat-template-file, and send no template with requests",
        )
    if own.ids is not None:
        return passed("the chat_template of the request is used: it gives other tokens")
    return warned(f"with a chat_template the prompt is neither its own nor the usual one: {quoted(own.text)}")

"""A running server → Model: the template in force, as far as it tells, and how it was started."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

from templatelint.errors import TemplatelintError, clip
from templatelint.sources.endpoint.routes import Routes, Silent, Told, Wire, table
from templatelint.sources.web import Patience, Web
from templatelint.sources.web_address import address, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.model import Model
    from templatelint.sources.endpoint.routes import Key
    from templatelint.sources.reach import Reach

KEY = "TEMPLATELINT_API_KEY"
KEYED = "keyed"
"""The setting of a launch that says that its server was asked with the key."""
LOGIN = "login"
"""The setting of a launch that says that its address holds a name and a password."""

_PATIENCE = Patience(connect=5.0, read=20.0, whole=60.0)
# Asked in this order: a route of an earlier one tells it apart from those behind it. Module → the engine's id.
_KINDS = {"llama_server": "llama.cpp", "ollama_server": "ollama", "vllm": "vllm", "sglang": "sglang"}
_OK = 200
_PLAIN = "/:@"  # what a model's id may hold besides, without another meaning in a query
_FORM = "give server:http://HOST:PORT, and ?model=ID behind it where it serves several models"


def resolve(ref: str, reach: Reach) -> Model:
    """The model that a server serves.

    Args:
        ref: `server:http://host:port[?model=ID]`.
        reach: offline, only a server on this machine is asked; vetting asks it for its tools too. The environment
            variable `TEMPLATELINT_API_KEY` is sent to this machine, and to a host that was typed.

    Raises:
        TemplatelintError: no server, none that is known, no such model, or one whose template it does not tell.
    """
    with _connected(ref, typed=reach.typed, offline=reach.offline) as (routes, model_id):
        return served(routes, model_id, reach)


def served(routes: Routes, model_id: str, reach: Reach) -> Model:
    """The model behind the routes of a server; see `resolve`.

    Raises:
        TemplatelintError: as there; `Silent` where it is known what serves it.
    """
    told = _ask(routes, model_id, reach)
    # name and password are in no reference that we hand on
    how = {LOGIN: bool(routes.base.login), KEYED: routes.key == "sent"}
    settings = {**told.launch.settings, **{name: True for name, holds in how.items() if holds}}
    told = replace(told, launch=replace(told.launch, settings=settings))
    # the answers that a template came in are no file of the user's
    return replace(told.model(f"{routes.name}{f'?model={quote(model_id, _PLAIN)}' if model_id else ''}"), local=False)


def prompts(model: Model, bodies: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """What a llama-server makes of chat-completions bodies; None where it answers with an error.

    Args:
        model: what `resolve` gave for the server; the key is sent where it was then.
        bodies: without the id of a model.

    Raises:
        TemplatelintError: no connection, or no access.
    """
    found = []
    keyed = model.launch is not None and model.launch.settings.get(KEYED) is True
    with _connected(model.ref, typed=keyed, offline=False) as (routes, model_id):
        for body in bodies:
            named = {**body, "model": model_id} if model_id else dict(body)
            status, answer = routes.ask("/apply-template", named)
            prompt = table(answer).get("prompt") if status == _OK else None
            found.append(prompt if isinstance(prompt, str) else None)
    return found


@contextmanager
def _connected(ref: str, *, typed: bool, offline: bool) -> Iterator[tuple[Routes, str]]:
    """The routes of a server, and the id of the model that is meant; empty where none is."""
    url, model_id = parsed(ref.partition(":")[2])
    base = address(url)
    name = f"server:{shown(url)}"
    if offline and not base.loopback:
        raise TemplatelintError(
            f"{name} is not asked: --offline", help="with it, only servers on this machine (127.0.0.1, localhost) are"
        )
    secret = "" if base.login else os.environ.get(KEY, "").strip()
    # a file that others write, as a lock, names hosts that they choose
    key: Key = "none" if not secret else "sent" if typed or base.loopback else "withheld"
    headers = {"authorization": f"Bearer {secret}"} if key == "sent" else {}
    with Web(url, name=name, headers=headers, stay=True, patience=_PATIENCE) as web:
        yield Routes(name, base, Wire(web, base, KEY, key), key), model_id


def parsed(text: str) -> tuple[str, str]:
    """The address of a server without `/v1`, and the id of a model; empty where none is named."""
    url = text if "://" in text else f"http://{text.removeprefix('//')}"
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), max_num_fields=4)
    except ValueError as error:
        raise TemplatelintError(f"server:{shown(url)} names no server", help=_FORM) from error
    if any(key != "model" for key, _ in query) or len(query) > 1:
        raise TemplatelintError(f"server:{shown(url)}: of a query, only ?model=ID is known", help=_FORM)
    path = parts.path.rstrip("/").removesuffix("/v1")
    model_id = query[0][1] if query else ""
    if not model_id.isprintable():
        raise TemplatelintError(f"server:{shown(url)}: no model is called {clip(ascii(model_id))}", help=_FORM)
    return parts._replace(path=path, query="", fragment="").geturl(), model_id


def _ask(routes: Routes, model_id: str, reach: Reach) -> Told:
    for module, engine in _KINDS.items():
        source = import_module(f"{__name__}.{module}")
        try:
            told = source.ask(routes, model_id, reach)
        except Silent as silence:
            silence.engine = engine
            raise
        if isinstance(told, Told):
            return told
    listed = routes.get("/v1/models")
    what = "is no server of models that is known" if listed is None else "does not tell its template"
    raise TemplatelintError(
        f"{routes.name} {what}: neither llama-server nor Ollama, vLLM or SGLang",
        help="name the file or the repository of its model instead",
    )

"""`/props` of a llama-server, alone or behind a router → what it tells (`get_res_props`, llama.cpp b11549)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from templatelint.errors import TemplatelintError, clip
from templatelint.model import Launch, Tokenizer
from templatelint.sources.endpoint.process import arguments, without_secrets
from templatelint.sources.endpoint.routes import Told, kept, rows, table, text
from templatelint.texts import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.sources.endpoint.routes import Routes
    from templatelint.sources.reach import Reach

_ENGINE = "llama.cpp"
_PROGRAMS = ("llama",)
_KEPT = (
    "model_path",
    "model_alias",
    "model_ftype",
    "chat_template_caps",
    "modalities",
    "total_slots",
    "is_sleeping",
    "cors_proxy_enabled",
)
_OK, _NO_REQUEST = 200, 400


def ask(routes: Routes, model_id: str, reach: Reach) -> Told | None:
    """What the server tells; None where it is no llama-server."""
    props = routes.get("/props")
    if not isinstance(props, dict) or not {"chat_template", "default_generation_settings", "role"}.intersection(props):
        return None
    row: Mapping[str, Any] = {}
    if "chat_template" not in props:
        if props.get("role") != "router" and "models_autoload" not in props:
            raise routes.silent("is a llama-server that tells no template", "name the file of its model instead")
        row, props = _behind_router(routes, model_id)
        line = _of_router(row)
        notes: tuple[str, ...] = ()
    else:
        line = arguments(routes.base.port, _PROGRAMS) if routes.base.loopback else None
        alias = text(props.get("model_alias"))
        other = model_id and model_id not in (alias, text(props.get("model_path")))
        served = shown(alias or text(props.get("model_path"))) or "its one model"
        notes = (f"it serves {served} whatever model is asked for",) if other else ()
    templates = _templates(routes, props)
    settings = kept(props, _KEPT) | kept(row, ("id",))
    # answered with 403 where it runs no tools
    if reach.vetting and isinstance(tools := routes.get_if_allowed("/tools"), list):
        settings["tools"] = tools
    tokens = {name: text(props.get(name)) for name in ("bos_token", "eos_token")}
    tokens = {name: value for name, value in tokens.items() if value}
    stops = (tokens["eos_token"],) if "eos_token" in tokens else ()
    return Told(
        templates,
        Launch(_ENGINE, clip(text(props.get("build_info"))), line, settings),
        Tokenizer(special_tokens=tokens, stop_tokens=stops),
        notes=notes,
    )


def _templates(routes: Routes, props: Mapping[str, Any]) -> dict[str, str]:
    default, tools = text(props.get("chat_template")), text(props.get("chat_template_tool_use"))
    if not default:
        raise routes.silent("is a llama-server that tells no template", "name the file of its model instead")
    # requests with tools are rendered by the second, where there is one
    return {"default": default, "tool_use": tools} if tools else {"default": default}


def _behind_router(routes: Routes, model_id: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The router's row of a model, and the `/props` of the server that runs it; none is started for this."""
    listed = rows(routes.get("/v1/models"), "data")
    names = {text(row.get("id")): row for row in listed if row.get("id")}
    for row in listed:
        aliases = row.get("aliases")
        for alias in aliases if isinstance(aliases, list) else ():
            names.setdefault(text(alias), row)
    wanted = model_id if model_id in names else routes.pick(model_id, [text(row.get("id")) for row in listed])
    row = names[wanted]
    status, props = routes.ask(f"/props?model={quote(wanted, safe='')}&autoload=false")
    if status == _OK and isinstance(props, dict) and "chat_template" in props:
        return row, props
    state = text(table(row.get("status")).get("value")) or "not loaded"
    if status == _NO_REQUEST or state != "loaded":
        raise TemplatelintError(
            f"{routes.name}: the router has not loaded {shown(wanted)} ({shown(state)})",
            help="send it a request first: nothing is loaded for a look at its template",
        )
    raise routes.silent(f"answers HTTP {status} for {shown(wanted)}", "name the file of its model instead")


def _of_router(row: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The command line that the router has started a model with, without the program."""
    words = table(row.get("status")).get("args")
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        return None
    return without_secrets(words if words[0].startswith("-") else words[1:])

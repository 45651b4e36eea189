"""The routes of an endpoint → what it tells of itself: the engine, its version, the template in force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.errors import TemplatelintError
from templatelint.probe.endpoint import Served
from templatelint.probe.verdict import NoAnswer
from templatelint.sources import endpoint as sources
from templatelint.sources.endpoint.routes import Routes, Silent, rows, table, text
from templatelint.sources.reach import Reach
from templatelint.sources.web_address import address
from templatelint.sources.web_refusals import Refused

if TYPE_CHECKING:
    from templatelint.probe.endpoint import Endpoint

MODELS = "/v1/models"
_NO_ACCESS = (401, 403)
_VERSIONS = {
    "llama.cpp": ("/props", "build_info"),
    "ollama": ("/api/version", "version"),
    "vllm": ("/version", "version"),
    "sglang": ("/server_info", "version"),
}
# the owner that a server names for what it serves → the engine, where a proxy hides all other routes
_OWNERS = {"llamacpp": "llama.cpp", "vllm": "vllm", "sglang": "sglang"}
_LM_STUDIO = "/api/v0/models"


def known(endpoint: Endpoint) -> Served:
    """What the first meeting has found out; without one, what the server tells now."""
    return endpoint.served if endpoint.served != Served() else told(endpoint)


def told(endpoint: Endpoint, reach: Reach | None = None) -> Served:
    """What the server tells; what was asked before is not asked again.

    Args:
        endpoint: whom to ask.
        reach: as for a reference `server:URL`.
    """
    ids = model_ids(endpoint)
    routes = Routes(f"server:{endpoint.url}", address(endpoint.url), _asking(endpoint))
    try:
        model = sources.served(routes, endpoint.model, reach or Reach())
    except Silent as silence:
        return Served(silence.engine, _version(endpoint, silence.engine), None, ids, silence.message)
    except NoAnswer as silence:
        asked = silence.exchange.asked
        return Served(_owner(endpoint), models=ids, why=f"{asked.method} {asked.path} gets no answer")
    except TemplatelintError as silence:
        kind = _owner(endpoint) or _lm_studio(endpoint)
        return Served(kind, models=ids, why=silence.message)
    launch = model.launch
    return Served(launch.engine if launch else "", launch.version if launch else "", model, ids)


def model_ids(endpoint: Endpoint) -> tuple[str, ...]:
    """The ids that it lists; none where it lists none."""
    try:
        listed = endpoint.get(MODELS)
    except NoAnswer:
        return ()
    return tuple(text(row.get("id")) for row in rows(listed.value, "data") if text(row.get("id")))


def _asking(endpoint: Endpoint) -> Any:
    def ask(path: str, body: Any = None) -> tuple[int, Any]:
        exchange = endpoint.get(path) if body is None else endpoint.post(path, body)
        if exchange.status in _NO_ACCESS:
            raise Refused(f"server:{endpoint.url}: {path} is closed (HTTP {exchange.status})", status=exchange.status)
        return exchange.status, exchange.value

    return ask


def _version(endpoint: Endpoint, kind: str) -> str:
    path, member = _VERSIONS[kind]
    try:
        return text(endpoint.get(path).object.get(member))
    except NoAnswer:
        return ""


def _owner(endpoint: Endpoint) -> str:
    """The engine by what its list of models says."""
    try:
        listed = rows(endpoint.get(MODELS).value, "data")
    except NoAnswer:
        return ""
    owners = {text(row.get("owned_by")) for row in listed}
    return next((kind for owner, kind in _OWNERS.items() if owners == {owner}), "")


def _lm_studio(endpoint: Endpoint) -> str:
    """LM Studio has a second list of its models, with what no other server says of them."""
    try:
        listed = rows(endpoint.get(_LM_STUDIO).value, "data")
    except NoAnswer:
        return ""
    return "lmstudio" if any("compatibility_type" in table(row) for row in listed) else ""

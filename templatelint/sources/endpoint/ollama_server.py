"""`/api/show` of a running Ollama → what it tells (`GetModelInfo`, `selectedModelTemplate` in `server/routes.go`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from templatelint.errors import clip
from templatelint.model import Launch
from templatelint.sources.endpoint.process import arguments
from templatelint.sources.endpoint.routes import Told, kept, rows, table, text
from templatelint.sources.file import ASSUMED
from templatelint.texts import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.sources.endpoint.routes import Routes
    from templatelint.sources.reach import Reach

_ENGINE = "ollama"
_KEPT = ("capabilities", "parameters", "details")
_FACTS = ("general.architecture", "general.basename", "general.name")
# What an expression of Go's begins with, and none of Jinja's.
_GO = re.compile(r"\{\{-?\s*(?:[.$]|(?:if|range|with|template|define|block|json|slice|currentDate)\s|end\b|else\b)")
_LATEST = ":latest"
_OK = 200


def ask(routes: Routes, model_id: str, reach: Reach) -> Told | None:
    """What the server tells; None where it is no Ollama."""
    del reach
    version = routes.get("/api/version")
    if not isinstance(version, dict) or not isinstance(version.get("version"), str):
        return None
    names = [text(row.get("name")) for row in rows(routes.get("/api/tags"), "models")]
    name = model_id + _LATEST if model_id + _LATEST in names else routes.pick(model_id, names)
    status, answer = routes.ask("/api/show", {"model": name})
    told = table(answer)
    template = text(told.get("template"))
    if status != _OK or not template:
        raise routes.silent(
            f"is an Ollama that tells no template of {shown(name)}", f"vet ollama:{shown(name)} instead"
        )
    own = text(told.get("renderer")) or text(told.get("parser"))
    if own or (_GO.search(template) and "{%" not in template):
        what = f"code of its own ({shown(own)})" if own else "its Go TEMPLATE, which is not judged"
        raise routes.silent(
            f"renders {shown(name)} with {what}", f"ollama:{shown(name)} has the template of its GGUF, where it has one"
        )
    line = arguments(routes.base.port, (_ENGINE,)) if routes.base.loopback else None
    settings = {"id": name, **kept(told, _KEPT)}
    return Told(
        {"default": template},
        Launch(_ENGINE, clip(version["version"]), line, settings),
        ASSUMED,
        _metadata(table(told.get("model_info"))),
    )


def _metadata(info: Mapping[str, Any]) -> dict[str, Any]:
    return {key: info[key] for key in _FACTS if isinstance(info.get(key), str)}

"""`/tokenizer_info` of vLLM, where it was started with it → what it tells (`TokenizerInfo`, vLLM 0.29)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from templatelint.errors import clip
from templatelint.model import Launch
from templatelint.sources import config_json, tokens
from templatelint.sources.endpoint.process import arguments
from templatelint.sources.endpoint.routes import Told, kept, rows, text
from templatelint.texts import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.sources.endpoint.routes import Routes
    from templatelint.sources.reach import Reach

_ENGINE = "vllm"
_FLAG = "--enable-tokenizer-info-endpoint"


def ask(routes: Routes, model_id: str, reach: Reach) -> Told | None:
    """What the server tells; None where it is no vLLM."""
    del reach
    version = routes.get("/version")
    if not isinstance(version, dict) or not isinstance(version.get("version"), str):
        return None
    listed = rows(routes.get("/v1/models"), "data")
    if listed and not any(row.get("owned_by") == _ENGINE for row in listed):
        return None
    # those with a parent are adapters, rendered with the template of the model
    served = [row for row in listed if not row.get("parent")] or listed
    row: Mapping[str, Any] = served[0] if served else {}
    if model_id:
        routes.pick(model_id, [text(each.get("id")) for each in listed])
    info = routes.get("/tokenizer_info")
    if not isinstance(info, dict):
        root = text(row.get("root")) or text(row.get("id")) or "its model"
        raise routes.silent(
            f"is a vLLM {clip(shown(version['version']))} that does not tell its template",
            f"start it with {_FLAG}, or name what it serves: {clip(shown(root), 120)}",
        )
    templates = {each.name: each.source for each in config_json.templates(json.dumps(info), info, routes.name)}
    if not templates:
        raise routes.silent("is a vLLM whose tokenizer has no template", "name what it serves instead")
    tokenizer, _ = tokens.read_tokenizer(info, None)
    line = arguments(routes.base.port, (_ENGINE,)) if routes.base.loopback else None
    settings = kept(row, ("id", "root", "max_model_len"))
    return Told(templates, Launch(_ENGINE, clip(version["version"]), line, settings), tokenizer)

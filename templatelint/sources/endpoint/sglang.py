"""`/server_info` of SGLang → what it tells, and the template from the files it names (`http_server.py`, 0.5.23)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from templatelint.errors import TemplatelintError, clip
from templatelint.model import Launch, Tokenizer
from templatelint.sources.endpoint.process import arguments, runs_here
from templatelint.sources.endpoint.routes import Told, kept, text
from templatelint.sources.file import ASSUMED
from templatelint.texts import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.sources.endpoint.routes import Routes
    from templatelint.sources.reach import Reach

_ENGINE = "sglang"
# `/server_info` holds its API keys too: nothing but these is kept.
_KEPT = (
    "model_path",
    "tokenizer_path",
    "served_model_name",
    "chat_template",
    "tool_call_parser",
    "reasoning_parser",
    "context_length",
)


def ask(routes: Routes, model_id: str, reach: Reach) -> Told | None:
    """What the server tells; None where it is no SGLang."""
    info = routes.get("/server_info")
    info = info if isinstance(info, dict) else routes.get("/get_server_info")
    if not isinstance(info, dict) or "model_path" not in info or "version" not in info:
        return None
    if model_id and (name := text(info.get("served_model_name"))):
        routes.pick(model_id, [name])
    templates, tokenizer = _templates(routes, info, reach)
    line = arguments(routes.base.port, (_ENGINE,)) if routes.base.loopback else None
    return Told(templates, Launch(_ENGINE, clip(text(info["version"])), line, kept(info, _KEPT)), tokenizer)


def _templates(routes: Routes, info: Mapping[str, Any], reach: Reach) -> tuple[dict[str, str], Tokenizer]:
    """The template in force: it tells the path alone, which can be followed on this machine."""
    given, path = text(info.get("chat_template")), text(info.get("tokenizer_path")) or text(info.get("model_path"))
    local = routes.base.loopback and runs_here(routes.base.port, _ENGINE)
    folder = _folder(path) if local else None
    if given:
        if not (local and Path(given).is_absolute() and Path(given).is_file()):
            raise routes.silent(
                f"is an SGLang with --chat-template {clip(shown(given), 120)}, whose text it does not tell",
                "name that file instead",
            )
        from templatelint.sources import file

        tokenizer = folder[1] if folder else ASSUMED
        return {"default": file.template(given, "default").source}, tokenizer
    if folder is None or not folder[0]:
        raise routes.silent(
            "is an SGLang, which tells no template", f"name what it serves instead: {clip(shown(path), 120)}"
        )
    tokenizer = folder[1] if reach.vetting else replace(folder[1], vocabulary=None)
    return folder[0], tokenizer


def _folder(path: str) -> tuple[dict[str, str], Tokenizer] | None:
    """Templates and tokenizer of a model's folder on this machine."""
    if not Path(path).is_absolute() or not Path(path).is_dir():
        return None
    from templatelint.sources import folder

    try:
        model = folder.resolve(path, vetting=True)
    except TemplatelintError:
        return None
    return {each.name: each.source for each in model.templates}, model.tokenizer

"""An `http(s)` address of a GGUF, a template or a JSON config → Model; a page of the Hub is handed to the Hub."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from templatelint.errors import TemplatelintError
from templatelint.model import Model
from templatelint.sources import file, gguf, opening
from templatelint.sources.gguf_shards import first_shard
from templatelint.sources.ranged import open_ranged
from templatelint.sources.web import fetch
from templatelint.sources.web_address import Address, address, shown

if TYPE_CHECKING:
    from templatelint.sources.reach import Reach

_TEMPLATES = (".jinja", ".jinja2", ".j2", ".txt")
_HUB = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})
# A repository's page, and the pages and links of its files; other kinds of pages begin with a word of their own.
_PAGE = re.compile(
    r"/(?!(?:datasets|spaces|docs|papers|collections|blog|api|organizations|settings)/)(?P<repo>[^/]+/[^/]+)"
    r"(?:/(?:blob|resolve|raw|tree)/(?P<revision>refs/(?:pr/\d+|convert/[^/]+)|[^/]+)(?:/(?P<file>.+))?)?/?"
)
_GGUF = b"GGUF"


def resolve(ref: str, reach: Reach) -> Model:
    """The model that the reference names.

    Args:
        ref: the address; a login in it is sent to its host, and shown nowhere.
        reach: offline, nothing is fetched but what the Hub's cache has.

    Raises:
        TemplatelintError: no address, nothing there, no access, or nothing that holds a template.
    """
    place, name = address(ref), shown(ref)
    if page := _hub_reference(place):
        from templatelint.sources import hub

        found = hub.resolve(page, reach)
        return replace(found, ref=name, notes=(f"{name} is read as {page}", *found.notes))
    if reach.offline:
        raise TemplatelintError(
            f"{name} is not fetched: --offline", help="download the file and give its path, or leave --offline out"
        )
    path = unquote(urlsplit(place.url).path).lower()
    if path.endswith(".gguf"):
        return _gguf(ref, name, reach)
    if path.endswith(".json"):
        return _config(fetch(ref, name=name, limit=opening.MAX_JSON, what="a JSON file"), name)
    if path.endswith(_TEMPLATES):
        return _template(fetch(ref, name=name, limit=opening.MAX_TEMPLATE, what="a template"), name)
    return _by_content(ref, name, reach)


def _hub_reference(place: Address) -> str:
    """How a page of the Hub is named as a reference; empty for anything else."""
    endpoint = urlsplit(os.environ.get("HF_ENDPOINT", ""))
    if place.host not in _HUB and place.origin[:2] != (endpoint.scheme, endpoint.hostname):
        return ""
    if place.host not in _HUB and place.port != (endpoint.port or place.port):
        return ""
    page = _PAGE.fullmatch(unquote(urlsplit(place.url).path))
    if page is None:
        return ""
    revision = f"@{page['revision'].replace('/', '%2F')}" if page["revision"] else ""
    return f"hf:{page['repo']}{revision}" + (f"/{page['file']}" if page["file"] else "")


def _gguf(ref: str, name: str, reach: Reach) -> Model:
    _require_first_shard(name)
    with open_ranged(ref, name=name, progress=reach.progress) as source:
        return gguf.from_source(source, name, name, vetting=reach.vetting)


def _require_first_shard(name: str) -> None:
    """Refuse a later file of a split, which carries no template, before it is asked for."""
    folder, _, last = name.partition("?")[0].rpartition("/")
    first = first_shard(last)
    if first is not None and first.lower() != last.lower():
        raise TemplatelintError(
            f"{name} is a later part of a split model and carries no template", help=f"give the first: {folder}/{first}"
        )


def _config(raw: bytes, name: str) -> Model:
    from templatelint.sources import config_json, json_object

    text, data = json_object.parse(raw, name)
    return replace(config_json.from_data(text, data, name, kind="config", folder=None), local=False)


def _template(raw: bytes, name: str) -> Model:
    if opening.looks_like_html(raw):
        raise opening.html_page(name)
    return Model(name, "file", (file.from_bytes(raw, name, "default"),), file.ASSUMED, local=False)


def _by_content(ref: str, name: str, reach: Reach) -> Model:
    """What an address is whose ending does not say."""
    with open_ranged(ref, name=name, progress=reach.progress) as source:
        if source.read(0, len(_GGUF)) == _GGUF:
            return gguf.from_source(source, name, name, vetting=reach.vetting)
        if source.size > opening.MAX_JSON:
            raise opening.too_large(name, source.size, opening.MAX_JSON, "a JSON file")
        # a JSON object begins so, and no template does
        if re.match(rb'\s*\{\s*["}]', source.read(0, 256)):
            return _config(source.read(0, source.size), name)
        if source.size > opening.MAX_TEMPLATE:
            raise opening.too_large(name, source.size, opening.MAX_TEMPLATE, "a template")
        return _template(source.read(0, source.size), name)

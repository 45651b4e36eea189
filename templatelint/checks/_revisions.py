"""A template and the names of its model → the vendor's fix that it lacks, from `_revisions.toml`."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from templatelint.model import Model, Template

_TABLE = Path(__file__).with_suffix(".toml")
_READ = 500  # characters of a name
_SEPARATORS = re.compile(r"[^a-z0-9]+")
# metadata that names a model, or what it was made of
_NAMES = ("general.name", "general.basename", "hub.repo", "hub.base_model")
_BASE_NAME = re.compile(r"general\.(base_model\.\d+\.(name|repo_url)|source\..*|repo_url)")


@dataclass(frozen=True)
class Revision:
    """A fix of a vendor's template, and how the revisions before it are recognised; see the table."""

    model: str
    fixed: str
    what: str
    source: str
    sha256: frozenset[str] = frozenset()
    all: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    name: str = ""

    def is_older(self, text: str, names: Iterable[str]) -> bool:
        """Whether the text, its newlines LF and its ends stripped, is a revision from before the fix."""
        known = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() in self.sha256
        marked = bool(self.all) and all(map(text.__contains__, self.all)) and not any(map(text.__contains__, self.none))
        if not known and not marked:
            return False
        return not self.name or any(re.search(self.name, name) for name in names)


@cache
def table() -> tuple[Revision, ...]:
    """Every fix, the oldest first."""
    import tomllib

    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["revision"]
    return tuple(sorted(map(_revision, rows), key=lambda row: row.fixed))


def _revision(row: dict[str, Any]) -> Revision:
    known: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Revision(**(known | {"sha256": frozenset(row.get("sha256", ()))}))


def lacking(model: Model, template: Template) -> Revision | None:
    """The last fix that the template lacks; None where it is none of the old revisions that are known."""
    text = template.source.replace("\r\n", "\n").strip()
    names = tuple(_SEPARATORS.sub("-", name[-_READ:].lower()) for name in _names(model, template))
    older = [revision for revision in table() if revision.is_older(text, names)]
    return older[-1] if older else None


def _names(model: Model, template: Template) -> Iterator[str]:
    """What the model is called, as far as anything says so."""
    yield from (model.ref, template.origin.path)
    for key, value in model.metadata.items():
        if key in _NAMES or _BASE_NAME.fullmatch(key):
            listed = value if isinstance(value, (list, tuple)) else [value]
            yield from (name for name in listed if isinstance(name, str))  # files may hold whatever they like

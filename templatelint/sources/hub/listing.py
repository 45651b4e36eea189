"""A repository → its files at one commit: as the Hub's API lists them, or as the cache has them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from templatelint.errors import TemplatelintError
from templatelint.sources import model_card
from templatelint.sources.hub import refusals
from templatelint.sources.hub.reference import is_plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from templatelint.sources.hub.reference import Reference
    from templatelint.sources.hub.refusals import Asked

_MAX_ANSWER = 64 << 20  # bytes; 100,000 files take about 30 MB
_MAX_FILES = 200_000
_MAX_NAMES = 100
COMMIT = re.compile(r"[0-9a-f]{40}")
_OK = 200


class Wanted(NamedTuple):
    """A file to fetch.

    Attributes:
        file: its path in the repository.
        limit: more bytes are refused.
        what: what the limit is for (`a template`).
    """

    file: str
    limit: int
    what: str


@dataclass(frozen=True)
class Listing:
    """The files of a repository at one commit.

    Attributes:
        repo: as the Hub calls it now.
        commit: 40 hex digits.
        files: name → bytes, None where nobody says; in the Hub's order.
        snapshot: the folder where the cache has files of that commit, or will have them.
        card: what the card says that the model was made of, as `model_card` gives it.
        missing: files that a cache knows not to be there.
    """

    repo: str
    commit: str
    files: Mapping[str, int | None]
    snapshot: Path
    card: Mapping[str, Any] = field(default_factory=dict)
    missing: frozenset[str] = field(default_factory=frozenset)

    @property
    def top(self) -> frozenset[str]:
        """Names of the files and folders at the top."""
        return frozenset(name.partition("/")[0] for name in self.files)


def fetched(
    reference: Reference, asked: Asked, headers: Mapping[str, str], cache: Path, *, hurry: float | None = None
) -> Listing:
    """What the Hub lists, by one request.

    Args:
        reference: the repository and revision.
        asked: what messages say of the request.
        headers: with the token where there is one; they go to the Hub's host alone.
        cache: the library's folder of repositories.
        hurry: seconds that the Hub may take; None for as long as anything may.

    Raises:
        TemplatelintError: there is none that may be read, or what answers is no Hub.
    """
    from templatelint.sources.web import PATIENCE, Patience, Web
    from templatelint.sources.web_refusals import Refused

    at = f"/revision/{quote(reference.revision, safe='')}" if reference.revision else ""
    url = f"{asked.endpoint}/api/models/{reference.repo}{at}?blobs=true"
    try:
        # of a host with several addresses each is tried
        patience = PATIENCE if hurry is None else Patience(hurry / 2, hurry, hurry)
        with Web(url, name=reference.repo, headers=headers, patience=patience) as web, web.ask() as answer:
            if answer.status != _OK:
                raise refusals.answered(asked, answer.status, answer.headers)
            if answer.encoded:
                raise refusals.no_hub(asked, "an encoding that was not asked for")
            raw = answer.up_to(_MAX_ANSWER)
    except Refused as error:
        raise refusals.unreached(asked, error, kept=cached(reference, cache) is not None) from error
    if raw is None:
        raise refusals.no_hub(asked, f"more than {_MAX_ANSWER:,} bytes")
    return _listing(_object(raw, asked), asked, _folder(cache, reference.repo))


def cached(reference: Reference, cache: Path) -> Listing | None:
    """What the cache has of a repository at a revision; None where it has none of it."""
    folder = _folder(cache, reference.repo)
    commit = _cached_commit(folder, reference.revision or "main")
    snapshot = folder / "snapshots" / commit
    if not commit or not snapshot.is_dir():
        return None
    missing = frozenset(name for name, _ in _walk(folder / ".no_exist" / commit))
    card = model_card.read(str(snapshot))
    return Listing(reference.repo, commit, dict(_walk(snapshot)), snapshot, card, missing)


def remember(listing: Listing, revision: str, wanted: frozenset[str]) -> None:
    """Write down, as the library does, what commit a revision is and which files are not there.

    A revision stays with a commit whose weights are in the cache: an engine that runs offline goes by it.
    """
    folder = listing.snapshot.parents[1]
    try:
        if revision != listing.commit and is_plain(revision) and not _has_weights(folder, revision):
            ref = folder / "refs" / revision
            ref.parent.mkdir(parents=True, exist_ok=True)
            ref.write_text(listing.commit, encoding="ascii")
        absent = folder / ".no_exist" / listing.commit
        for name in sorted(wanted.difference(listing.files)):
            absent.mkdir(parents=True, exist_ok=True)
            (absent / name).touch()
    except OSError:
        return  # a cache that cannot be written to is one that is only read


def _folder(cache: Path, repo: str) -> Path:
    return cache / f"models--{repo.replace('/', '--')}"


def _cached_commit(folder: Path, revision: str) -> str:
    if COMMIT.fullmatch(revision):
        return revision
    if not is_plain(revision):
        return ""
    try:
        with (folder / "refs" / revision).open(encoding="ascii") as handle:
            commit = handle.read(41).strip()
    except (OSError, ValueError):
        return ""
    return commit if COMMIT.fullmatch(commit) else ""


def _has_weights(folder: Path, revision: str) -> bool:
    commit = _cached_commit(folder, revision)
    endings = (".safetensors", ".gguf", ".bin", ".pth")
    return bool(commit) and any(name.endswith(endings) for name, _ in _walk(folder / "snapshots" / commit))


def _walk(folder: Path) -> Iterator[tuple[str, int | None]]:
    """Name and size of each file below a folder, by name."""
    from itertools import islice

    found = sorted(path for path in islice(folder.rglob("*"), _MAX_FILES) if path.is_file())
    for path in found:
        yield path.relative_to(folder).as_posix(), path.stat().st_size


def _object(raw: bytes, asked: Asked) -> dict[str, Any]:
    import json

    from templatelint.sources.opening import looks_like_html

    if looks_like_html(raw):
        raise refusals.no_hub(asked, "an HTML page")
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise refusals.no_hub(asked, "what is no JSON") from error
    if not isinstance(data, dict):
        raise refusals.no_hub(asked, "JSON that describes no repository")
    return data


def _listing(data: Mapping[str, Any], asked: Asked, folder: Path) -> Listing:
    commit, siblings, name = data.get("sha"), data.get("siblings"), data.get("id", asked.repo)
    if not isinstance(commit, str) or not COMMIT.fullmatch(commit):
        raise refusals.no_hub(asked, "JSON that names no commit")
    if not isinstance(siblings, list) or len(siblings) > _MAX_FILES:
        raise refusals.no_hub(asked, "JSON that lists no files")
    files = {}
    for entry in siblings:
        file = entry.get("rfilename") if isinstance(entry, dict) else None
        if isinstance(file, str) and is_plain(file):
            files[file] = _size(entry)
    repo = name if isinstance(name, str) and is_plain(name) else asked.repo
    return Listing(repo, commit, files, folder / "snapshots" / commit, _card(data.get("cardData")))


def _size(entry: Mapping[str, Any]) -> int | None:
    size = entry.get("size")
    return size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None


def _card(data: Any) -> dict[str, Any]:
    """What the API says of the card's front matter, in the form that `model_card` gives of the file."""
    found = data if isinstance(data, dict) else {}
    value, relation = found.get("base_model"), found.get("base_model_relation")
    names = tuple(filter(_is_name, value if isinstance(value, list) else [value]))
    card: dict[str, Any] = {model_card.BASE_MODEL: names[:_MAX_NAMES]} if names else {}
    return card | ({model_card.RELATION: relation} if _is_name(relation) else {})


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != "" and value.isprintable()


def not_cached(reference: Reference, cache: Path) -> TemplatelintError:
    """The error for a repository of which the cache has nothing, and nothing may be fetched."""
    what = f"{reference}" if reference.explicit else f"there is no file or folder {reference}, and it"
    cure = f"run once without --offline and HF_HUB_OFFLINE, or: hf download {reference.repo}"
    if reference.quant:
        cure = f"of a GGUF nothing is kept; what keeps it: hf download {reference.repo} --include '*{reference.quant}*'"
    where = _folder(cache, reference.repo)
    return TemplatelintError(f"{what} is not in the cache ({where}), and nothing is fetched offline", help=cure)

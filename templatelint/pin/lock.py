"""`templatelint.lock` (TOML) → what it pins, each entry checked; and the file anew, the same text for the same pins."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeGuard

from templatelint import texts
from templatelint.engines import ENGINES
from templatelint.errors import TemplatelintError, clip
from templatelint.nearest import unknown
from templatelint.pin.normal import RENDERERS, digest
from templatelint.pin.place import fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tomlkit.items import String

VERSION = 1
LIMIT = 64 << 20  # bytes; a template has up to 1 MiB, a real one some 10 KB
_HEAD = "Written by `templatelint pin REF`; `templatelint pin --check` holds files and running servers against it."
_AGAIN = "delete it, then pin again"
_CONFLICT = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: .*)?$", re.MULTILINE)
_SHA256 = re.compile(r"[0-9a-f]{64}")
# what a literal string of several lines cannot hold, and what would end it
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|'''|'\Z")
_MARK = b"\xef\xbb\xbf"
SOURCES = ("file", "hub", "url", "ollama", "server")
# member → what it holds, in the order in which they are written; those of _NEEDED are in every entry
_TEXTS = ("ref", "name", "source", "read-as", "place", "revision", "dialect", "sha256", "text")
_NEEDED = ("ref", "name", "source", "sha256")
_MEMBERS = (*_TEXTS, "picked", "engines", "normalised", "flags")


@dataclass(frozen=True)
class Entry:
    """One template of one reference, as it was pinned.

    Attributes:
        ref: the reference as it can be typed in the folder of the lock, without `#NAME`.
        name: the template's.
        source: where it came from: a word of SOURCES.
        kind: what it was read as: `Model.kind`.
        place: where in that it stands: a file of a folder, a key of a GGUF; empty where there is but one place.
        revision: commit of a repository, digest of a blob, version of a server; empty where there is none.
        engines: ids of those that it is served by.
        dialect: of its tool calls; empty where it writes none, or no known one.
        sha256: of its bytes.
        normalised: renderer → sha256 of what that parses, where it is another text.
        flags: engine → how to launch it so that it reads the replies.
        picked: it was named (`REF#NAME`): what other templates the reference has is not pinned.
        text: the template itself; None where the file does not hold it.
    """

    ref: str
    name: str
    source: str
    sha256: str
    kind: str = ""
    place: str = ""
    revision: str = ""
    dialect: str = ""
    engines: tuple[str, ...] = ()
    normalised: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: str | None = field(default=None, repr=False)
    picked: bool = False

    def parsed_by(self, renderer: str) -> str:
        """The digest of the text that a renderer parses."""
        return self.normalised.get(renderer, self.sha256)


@dataclass(frozen=True)
class Lock:
    """What a file pins.

    Attributes:
        path: the file as the user named it.
    """

    path: str
    entries: tuple[Entry, ...] = ()

    @property
    def refs(self) -> tuple[str, ...]:
        """The references, each once."""
        return tuple(dict.fromkeys(entry.ref for entry in self.entries))

    def of(self, ref: str) -> tuple[Entry, ...]:
        """The entries of a reference."""
        return tuple(entry for entry in self.entries if entry.ref == ref)

    def renewed(self, entries: Iterable[Entry]) -> Lock:
        """With these entries: in place of all of their references, but where a template was picked."""
        known = {(entry.ref, entry.name): entry for entry in self.entries}
        new = tuple(entries)
        whole = {entry.ref for entry in new if not entry.picked}
        kept = {key: entry for key, entry in known.items() if entry.ref not in whole}
        for entry in new:
            before = known.get((entry.ref, entry.name))
            # one of all that are pinned stays one of them
            alone = entry.picked and (before is None or before.picked)
            kept[entry.ref, entry.name] = replace(entry, picked=alone)
        return Lock(self.path, tuple(kept[key] for key in sorted(kept)))


# ---------------------------------------------------------------------------------------------- reading


def read(path: str) -> Lock:
    """The lock in a file.

    Raises:
        TemplatelintError: it cannot be read, or is no lock, or was changed by something else than `pin`.
    """
    from templatelint.sources import opening

    if opening.status(path) is None:
        raise TemplatelintError(f"no such file: {path}", help=f"templatelint pin REF --lock {quote(path)} writes it")
    return parsed(opening.read_bytes(path, LIMIT, "a lock"), path)


def parsed(raw: bytes, path: str) -> Lock:
    """The lock that the bytes of a file hold; likewise."""
    text = texts.decode(raw.removeprefix(_MARK), path, "a lock")
    if not text.strip():
        raise TemplatelintError(f"{path} is empty", help=_AGAIN)
    try:
        return _lock(_table(text, path), path)
    except TemplatelintError:
        # inside of a template's text they would make no TOML error
        if conflict := _CONFLICT.search(text):
            line = text.count("\n", 0, conflict.start()) + 1
            raise TemplatelintError(
                f"{path}:{line}: has the conflict markers of a merge",
                help="take one side, or delete the file, and pin what both sides pinned",
            ) from None
        raise


def _table(text: str, path: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TemplatelintError(f"{path}: not TOML: {_lower(str(error))}", help=_AGAIN) from error
    except RecursionError as error:
        raise TemplatelintError(f"{path} nests values too deeply to be read", help=_AGAIN) from error
    except ValueError as error:  # Python's limit on the digits of an integer; dates that are none
        raise TemplatelintError(f"{path}: not TOML: {_lower(str(error))}", help=_AGAIN) from error


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _lock(table: Mapping[str, Any], path: str) -> Lock:
    version = table.get("version")
    if type(version) is not int:
        fact = "it has no version" if version is None else "its version is no whole number"
        raise TemplatelintError(f"{path} is no lock: {fact}", help=_AGAIN)
    if version != VERSION:
        cure = "install the templatelint that wrote it" if version > VERSION else _AGAIN
        raise TemplatelintError(f"{path} is a lock of version {version}, this templatelint reads {VERSION}", help=cure)
    for name in table:
        if name not in ("version", "template"):
            raise unknown("member", name, ("version", "template"), where=f"{path}: ")
    rows = table.get("template", [])
    if not isinstance(rows, list):
        raise TemplatelintError(f'{path}: "template" is no list of tables', help=_AGAIN)
    entries: dict[tuple[str, str], Entry] = {}
    for number, row in enumerate(rows, 1):
        entry = _entry(row, f"{path}: template {number}")
        if (entry.ref, entry.name) in entries:
            raise TemplatelintError(
                f"{path}: template {number} is there twice: {clip(entry.ref)} {clip(entry.name)}",
                help="delete both and pin it again",
            )
        entries[entry.ref, entry.name] = entry
    return Lock(path, tuple(entries.values()))


def _entry(row: object, where: str) -> Entry:
    if not isinstance(row, dict):
        raise TemplatelintError(f"{where} is no table", help=_AGAIN)
    _check(row, where)
    entry = Entry(
        ref=row["ref"],
        name=row["name"],
        source=row["source"],
        sha256=row["sha256"],
        kind=row.get("read-as", ""),
        place=row.get("place", ""),
        revision=row.get("revision", ""),
        dialect=row.get("dialect", ""),
        engines=tuple(row.get("engines", ())),
        normalised=row.get("normalised", {}),
        flags={engine: tuple(words) for engine, words in row.get("flags", {}).items()},
        text=row.get("text"),
        picked=row.get("picked", False),
    )
    if entry.text is not None and digest(entry.text) != entry.sha256:
        raise TemplatelintError(f"{where} ({clip(entry.ref)}): its text is not the one of its sha256", help=_AGAIN)
    return entry


def _check(row: Mapping[str, Any], where: str) -> None:
    """Raise for a member that is missing, not known, or of the wrong type."""
    for name in row:
        if name not in _MEMBERS:
            raise unknown("member", name, _MEMBERS, where=f"{where}: ")
    for name in _TEXTS:
        if not isinstance(row.get(name, ""), str):
            raise _wrong(where, name, "no string")
    for name in _NEEDED:
        if not row.get(name):
            raise TemplatelintError(f'{where} has no "{name}"', help=_AGAIN)
    if row["source"] not in SOURCES:
        raise unknown("source", row["source"], SOURCES, where=f"{where}: ")
    if not fits(row["ref"], row["source"]):
        raise TemplatelintError(f"{where}: {clip(row['ref'])} is no reference of source {row['source']}", help=_AGAIN)
    if not isinstance(row.get("picked", False), bool):
        raise _wrong(where, "picked", "neither true nor false")
    _check_engines(row.get("engines", []), row.get("flags", {}), where)
    _check_digests(row["sha256"], row.get("normalised", {}), where)


def _check_engines(engines: object, flags: object, where: str) -> None:
    if not _is_words(engines):
        raise _wrong(where, "engines", "no list of strings")
    if not isinstance(flags, dict) or not all(map(_is_words, flags.values())):
        raise _wrong(where, "flags", "no table of lists of strings")
    for name in (*engines, *flags):
        if name not in ENGINES:
            raise unknown("engine", name, ENGINES, where=f"{where}: ")


def _check_digests(sha256: str, normalised: object, where: str) -> None:
    if not isinstance(normalised, dict):
        raise _wrong(where, "normalised", "no table of digests")
    for name in normalised:
        if name not in RENDERERS:
            raise unknown("renderer", name, RENDERERS, where=f"{where}: ")
    for value in (sha256, *normalised.values()):
        if not isinstance(value, str) or _SHA256.fullmatch(value) is None:
            raise TemplatelintError(f"{where}: {clip(str(value))} is no sha256", help=_AGAIN)


def _wrong(where: str, name: str, fact: str) -> TemplatelintError:
    return TemplatelintError(f'{where}: "{name}" is {fact}', help=_AGAIN)


def _is_words(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


# ---------------------------------------------------------------------------------------------- writing


def written(entries: Sequence[Entry]) -> str:
    """The text of the file that holds the entries, in their order."""
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment(_HEAD))
    document.add("version", tomlkit.item(VERSION))
    tables = tomlkit.aot()
    for entry in entries:
        table = tomlkit.table()
        for name, value in _row(entry).items():
            table.add(name, _lines(value) if name == "text" else tomlkit.item(value))
        tables.append(table)
    if entries:
        document.add(tomlkit.nl())
        document.add("template", tables)
    return tomlkit.dumps(document)


def _lines(text: str) -> String:
    """A template as it reads, line by line, where TOML can hold it so; else with escapes."""
    import tomlkit
    from tomlkit.items import String, StringType, Trivia

    if "\n" not in text or _UNWRITABLE.search(text):
        return tomlkit.string(text)
    # a newline right behind the quotes is none of the text's
    return String(StringType.MLL, text, f"\n{text}", Trivia())


def _row(entry: Entry) -> dict[str, Any]:
    row: dict[str, Any] = {
        "ref": entry.ref,
        "name": entry.name,
        "picked": entry.picked,
        "source": entry.source,
        "read-as": entry.kind,
        "place": entry.place,
        "revision": entry.revision,
        "engines": list(entry.engines),
        "dialect": entry.dialect,
        "sha256": entry.sha256,
        "text": entry.text,
        "normalised": dict(sorted(entry.normalised.items())),
        "flags": {engine: list(words) for engine, words in sorted(entry.flags.items())},
    }
    return {name: value for name, value in row.items() if value or (name == "text" and value is not None)}

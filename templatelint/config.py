"""`templatelint.toml` or `[tool.templatelint]` of `pyproject.toml` → Config."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from templatelint import texts
from templatelint.errors import TemplatelintError, clip
from templatelint.model import NEEDS, SEVERITIES, Severity
from templatelint.nearest import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from templatelint.overrides import Override
    from templatelint.suppress.per_file import PerFileIgnore

OWN_FILE = "templatelint.toml"
SHARED_FILE = "pyproject.toml"


@dataclass(frozen=True)
class Config:
    """What the project's file sets; None where it says nothing.

    Attributes:
        path: the file; None where there is none.
        exclude: patterns of files not to lint, as seen from the file's folder.
        baseline: the file of accepted findings, as seen from there.
        per_file_ignores: rules that are ignored in some files.
        override: files that replace the template of a model.
    """

    path: Path | None = None
    engine: tuple[str, ...] | None = None
    needs: tuple[str, ...] | None = None
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    min_severity: Severity | None = None
    fail_on: Severity | None = None
    jobs: int | None = None
    output_format: str | None = None
    exclude: tuple[str, ...] = ()
    bos_token: str | None = None
    eos_token: str | None = None
    tool_call_parser: tuple[str, ...] = ()
    baseline: str | None = None
    per_file_ignores: tuple[PerFileIgnore, ...] = ()
    override: tuple[Override, ...] = ()

    @property
    def parsers(self) -> tuple[tuple[str, str], ...]:
        """Engine and the tool-call parser that it is launched with."""
        return tuple((engine, name) for engine, _, name in (word.partition("=") for word in self.tool_call_parser))

    def excludes(self, path: str | Path) -> bool:
        """Whether a pattern of `exclude` names that path, a folder above it, or its last part."""
        if self.path is None or not self.exclude:
            return False
        from templatelint.patterns import Pattern

        folder = self.path.parent
        return any(Pattern(pattern, folder, anywhere=True).means(path) for pattern in self.exclude)

    @property
    def baseline_path(self) -> str | None:
        """The baseline's file as it can be said from here: the settings name it as seen from their folder."""
        if self.baseline is None or self.path is None:
            return None
        return _shown(self.path.parent / self.baseline)


# ------------------------------------------------------------------------------------ what a key may hold


def _engines() -> Iterable[str]:
    from templatelint.engines import ENGINES

    return (*ENGINES, "all")


def _formats() -> Iterable[str]:
    from templatelint.report import FORMATS

    return FORMATS


@dataclass(frozen=True)
class _Key:
    """The kind of a key's value, and for words the ones there are."""

    kind: Literal["word", "words", "count", "path", "tables"]
    what: str = ""
    known: Callable[[], Iterable[str]] | None = None


_RULES = _Key("words", "rule")
_PARSERS = _Key("words", "tool-call parser")
_KEYS: Mapping[str, _Key] = {
    "engine": _Key("words", "engine", _engines),
    "needs": _Key("words", "need", lambda: NEEDS),
    "select": _RULES,
    "extend-select": _RULES,
    "ignore": _RULES,
    "min-severity": _Key("word", "severity", lambda: SEVERITIES),
    "fail-on": _Key("word", "severity", lambda: SEVERITIES),
    "jobs": _Key("count"),
    "output-format": _Key("word", "output format", _formats),
    "exclude": _Key("words"),
    "bos-token": _Key("word"),
    "eos-token": _Key("word"),
    "tool-call-parser": _PARSERS,
    "baseline": _Key("path"),
    "per-file-ignores": _Key("tables"),
    "override": _Key("tables"),
}
_EXPECTED = {
    "word": "a string",
    "words": "a list of strings",
    "count": "a whole number above 0",
    "path": "a path",
}
_TYPE_NAMES = {
    bool: "a boolean",
    int: "a whole number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "a table",
}


# ------------------------------------------------------------------------------------------------ reading


def find(start: Path) -> Config:
    """The config of the nearest folder upward from `start` that has one; an empty one where none has.

    Raises:
        TemplatelintError: the file cannot be read, or holds what is not known.
    """
    for folder in (start, *start.parents):
        own = folder / OWN_FILE
        if _is_there(own):
            return _config(own, _parse(own, _read(own)))
        shared = folder / SHARED_FILE
        if _is_there(shared):
            raw = _read(shared)
            # most projects do not mention us: their file needs no parser
            if b"templatelint" in raw and (table := _table(shared, _parse(shared, raw))) is not None:
                return _config(shared, table)
    return Config()


def load(path: Path) -> Config:
    """The config in a file that was named.

    Raises:
        TemplatelintError: the file cannot be read, or holds what is not known.
    """
    body = _parse(path, _read(path))
    if path.name != SHARED_FILE:
        return _config(path, body)
    table = _table(path, body)
    if table is None:
        raise TemplatelintError(f"{_shown(path)}: has no table [tool.templatelint]")
    return _config(path, table)


def _is_there(path: Path) -> bool:
    """Whether a settings file is there; what has its name and cannot be read is an error."""
    from templatelint.sources import opening

    try:
        path.lstat()
    except OSError:  # nothing, or a folder above that we may not look into
        return False
    try:
        return opening.is_there(_shown(path))
    except TemplatelintError as error:
        raise TemplatelintError(error.message, help="--isolated reads no settings file") from error


def _shown(path: Path) -> str:
    """The path as short as it can be said from here."""
    try:
        here = Path.cwd()
    except OSError:  # it is gone
        return str(path)
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TemplatelintError(f"{_shown(path)}: cannot be read: {reason}") from error


def _parse(path: Path, raw: bytes) -> Mapping[str, Any]:
    import tomllib

    try:
        return tomllib.loads(texts.decode(raw, _shown(path), "TOML"))
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
        raise TemplatelintError(f"{_shown(path)}: not TOML: {reason[:1].lower()}{reason[1:]}") from error
    except RecursionError as error:
        raise TemplatelintError(f"{_shown(path)}: nested too deeply") from error
    except ValueError as error:  # Python's limit on the digits of an integer
        raise TemplatelintError(f"{_shown(path)}: holds a number of more than 4,300 digits") from error


def _table(path: Path, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    tool = body.get("tool", {})
    table = tool.get("templatelint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise TemplatelintError(f"{_shown(path)}: tool.templatelint is {_type_name(table)}, not a table")
    return table


def _config(path: Path, table: Mapping[str, Any]) -> Config:
    values: dict[str, Any] = {}
    for name, value in table.items():
        key = _KEYS.get(name)
        if key is None and name == "tool" and path.name != SHARED_FILE:
            raise TemplatelintError(
                f'{_shown(path)}: unknown key "tool"',
                help=f"leave out tool.templatelint: that prefix is for {SHARED_FILE}; here write [[override]], say",
            )
        if key is None:
            raise unknown("key", name, _KEYS, where=f"{_shown(path)}: ")
        if key.kind == "tables":
            values[name.replace("-", "_")] = _TABLES[name](path, value)
            continue
        _check(path, name, key, value)
        values[name.replace("-", "_")] = tuple(value) if isinstance(value, list) else value
    return Config(path=path, **values)


def _check(path: Path, name: str, key: _Key, value: object) -> None:
    """Raise for a value of the wrong type, or a word that is not known."""
    if key.kind == "count":
        right = isinstance(value, int) and not isinstance(value, bool) and value > 0
    elif key.kind == "word":
        right = isinstance(value, str)
    elif key.kind == "path":
        right = isinstance(value, str) and bool(value) and "\0" not in value
    else:
        right = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if not right:
        shown = clip(str(value)) if key.kind == "count" and type(value) is int else _type_name(value)
        example = f'write {name} = ["{clip(value)}"]' if key.kind == "words" and isinstance(value, str) else None
        raise TemplatelintError(f'{_shown(path)}: "{name}" is {shown}, not {_EXPECTED[key.kind]}', help=example)
    words = cast("list[str]", [value] if isinstance(value, str) else value)
    if key is _RULES:
        _check_rules(path, words)
    elif key is _PARSERS:
        from templatelint.dialects.serving.parsers import launched

        launched(words, f'{_shown(path)}: "{name}": ')
    elif key.known is not None:
        known = tuple(key.known())
        for word in words:
            if word not in known:
                raise unknown(key.what, word, known, where=f'{_shown(path)}: "{name}": ')


def _check_rules(path: Path, words: Iterable[str]) -> None:
    from templatelint import cards

    for word in words:
        try:
            cards.select(word)
        except TemplatelintError as error:
            raise TemplatelintError(f"{_shown(path)}: {error.message}", help=error.help) from error


# ------------------------------------------------------------------------------------------- tables in it


def _per_file_ignores(path: Path, value: object) -> tuple[PerFileIgnore, ...]:
    """Pattern → what is ignored in the files that it means, and why; several entries for one pattern in a list."""
    from templatelint import cards
    from templatelint.suppress.per_file import PerFileIgnore

    name = "per-file-ignores"
    example = f'write [{_header(path, name)}] and "PATTERN" = {{ rules = ["TL201"], reason = "…" }}'
    if not isinstance(value, dict):
        raise TemplatelintError(f'{_shown(path)}: "{name}" is {_type_name(value)}, not a table', help=example)
    text = texts.decode(_read(path), _shown(path), "TOML")
    found = []
    for pattern, listed in value.items():
        where = f'{name} of "{clip(pattern)}"'
        for row in listed if isinstance(listed, list) and listed else [listed]:
            if not isinstance(row, dict):
                raise TemplatelintError(f"{_shown(path)}: {where} is {_type_name(row)}, not a table", help=example)
            _check_row(path, where, row, {"rules": _RULES, "reason": _Key("word")}, required=("rules", "reason"))
            if not any(map(str.isalnum, row["reason"])):
                raise TemplatelintError(f'{_shown(path)}: {where}: "reason" says nothing')
            rules = tuple((word, cards.select(word)) for word in row["rules"])
            found.append(PerFileIgnore(pattern, rules, row["reason"], _shown(path), path.parent, text))
    return tuple(found)


def _overrides(path: Path, value: object) -> tuple[Override, ...]:
    """Each file that replaces a model's template, with the model and where it is deployed."""
    from templatelint.overrides import Override

    name = "override"
    example = f'write [[{_header(path, name)}]] with file = "…" and model = "…"'
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        kind = "a list with something else than tables" if isinstance(value, list) else _type_name(value)
        raise TemplatelintError(f'{_shown(path)}: "{name}" is {kind}, not a list of tables', help=example)
    keys = {
        "file": _Key("path"),
        "model": _Key("path"),
        "engines": _KEYS["engine"],
        "needs": _KEYS["needs"],
    }
    found = []
    for number, row in enumerate(value, 1):
        _check_row(path, f"{name} {number}", row, keys, required=("file", "model"))
        engines, needs = (tuple(row[key]) if key in row else None for key in ("engines", "needs"))
        found.append(Override(row["file"], row["model"], engines, needs, _shown(path), path.parent))
    return tuple(found)


def _check_row(
    path: Path, where: str, row: Mapping[str, Any], keys: Mapping[str, _Key], *, required: tuple[str, ...]
) -> None:
    """Raise for a table that lacks a key, has one that is not known, or a value that is not."""
    for name in row:
        if name not in keys:
            raise unknown("key", name, keys, where=f"{_shown(path)}: {where}: ")
    for name in required:
        if not row.get(name) or (isinstance(row[name], str) and not row[name].strip()):
            raise TemplatelintError(f'{_shown(path)}: {where} has no "{name}"')
    for name, value in row.items():
        _check(path, name, keys[name], value)


def _header(path: Path, name: str) -> str:
    return f"tool.templatelint.{name}" if path.name == SHARED_FILE else name


_TABLES: Mapping[str, Callable[[Path, object], tuple[Any, ...]]] = {
    "per-file-ignores": _per_file_ignores,
    "override": _overrides,
}


def _type_name(value: object) -> str:
    if isinstance(value, list) and any(not isinstance(item, str) for item in value):
        return "a list with something else than strings"
    return _TYPE_NAMES.get(type(value), "a date or time")

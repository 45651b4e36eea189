"""Files and folders of recorded traffic → the requests in them, each by a name of its own, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from templatelint.errors import TemplatelintError
from templatelint.traffic import shapes
from templatelint.traffic.json_files import parsed, read_text, shown_name, unreadable
from templatelint.traffic.shapes import WANTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Request
    from templatelint.traffic.shapes import Kind

_LINES = frozenset({".jsonl", ".ndjson"})
_SUFFIXES = _LINES | {".json"}
_COLLECTIONS = ("fixtures", "requests")
_FOLDER = "give a folder of *.json or *.jsonl files: one request, a list of requests, or one request a line"


@dataclass(frozen=True)
class Recorded:
    """One recorded request.

    Attributes:
        name: its own `id` or `custom_id`, else the file's stem, else STEM:LINE or STEM[INDEX]; no two share one.
        request: as chat completions have it; None where there is a flaw.
        flaw: what is wrong with it and where, in a clause; empty where nothing is.
        kind: the interface that it was recorded at; None where there is a flaw.
        left_out: what of it no engine shows a model, in clauses.
    """

    name: str
    request: Request | None
    flaw: str = ""
    kind: Kind | None = None
    left_out: tuple[str, ...] = ()


def read_recorded(path: str | Path) -> tuple[Recorded, ...]:
    """The requests recorded in a file or folder, in its order; `-` reads standard input.

    A file holds one request, a list of them (bare, or as member `fixtures` or `requests`), or one a line. A request is
    an OpenAI chat-completions or Responses body, an Anthropic Messages body, messages alone, or an MCP server's answer
    to `tools/list`; each may stand in an envelope of logs and batch files (`request`, `body`, `params` …).

    Args:
        path: a file, whatever its name; or a folder of `*.json`, `*.jsonl` and `*.ndjson`, in the order of their names.

    Raises:
        TemplatelintError: it cannot be read, is no JSON, or holds no request that any engine could be sent.
    """
    files = _files(Path(path)) if str(path) != "-" and Path(path).is_dir() else [path]
    names: set[str] = set()
    found: list[Recorded] = []
    error: TemplatelintError | None = None
    for file in files:
        try:
            entries = list(_entries(file, alone=len(files) == 1))
        except TemplatelintError as unread:
            if len(files) == 1:
                raise
            entries = [_Entry(Path(file).stem, Path(file).name, unread, "")]
        for entry in entries:
            recorded, flaw = _recorded(entry, names)
            error = error or flaw
            found.append(recorded)
    if error is not None and all(recorded.request is None for recorded in found):
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise TemplatelintError(f"{error.message}{more}", help=error.help) from error
    return tuple(found)


class _Entry(NamedTuple):
    """A value of a file.

    Attributes:
        name: what to call it where it has no name of its own.
        longer: what to call it where another has that name too.
        value: JSON data, or why there is none.
        where: what error messages call it.
    """

    name: str
    longer: str
    value: Any
    where: str


def _files(folder: Path) -> list[str | Path]:
    try:
        files = [
            file for file in folder.iterdir() if file.suffix in _SUFFIXES and file.name[0] != "." and file.is_file()
        ]
    except OSError as error:
        raise unreadable(str(folder), error, _FOLDER) from error
    if not files:
        raise TemplatelintError(f"{folder} holds no *.json or *.jsonl file", help=_FOLDER)
    return [*sorted(files, key=lambda file: file.name)]


def _recorded(entry: _Entry, names: set[str]) -> tuple[Recorded, TemplatelintError | None]:
    """The request of an entry, and what is wrong with it."""
    own = ""
    try:
        if isinstance(entry.value, TemplatelintError):
            raise entry.value
        own, request, kind, left_out = shapes.shaped(entry.value, entry.where)
    except TemplatelintError as error:
        return Recorded(_unique((entry.name, entry.longer), names), None, error.message), error
    name = _unique((own or entry.name, entry.name, entry.longer), names)
    return Recorded(name, request, kind=kind, left_out=left_out), None


def _unique(candidates: tuple[str, ...], names: set[str]) -> str:
    numbered = (f"{candidates[-1]}#{number}" for number in range(2, len(names) + 3))
    name = next(name for name in (*candidates, *numbered) if name not in names)
    names.add(name)
    return name


# ----------------------------------------------------------------------------------------- one file


def _entries(path: str | Path, *, alone: bool) -> Iterator[_Entry]:
    """The values of a file, each request one."""
    shown = shown_name(path)
    file = Path("stdin" if str(path) == "-" else path)
    text = read_text(path, "JSON", WANTED).removeprefix("\ufeff")
    if not text.strip():
        raise TemplatelintError(f"{shown} is empty", help=WANTED)
    if file.suffix in _LINES:
        yield from _of_lines(text, file, shown)
        return
    try:
        value = parsed(text, shown, WANTED)
    except TemplatelintError:
        if not _is_lines(text):
            raise
        yield from _of_lines(text, file, shown)
        return
    yield from _of_value(value, file, shown, alone=alone)


def _of_value(value: Any, file: Path, shown: str, *, alone: bool) -> Iterator[_Entry]:
    place = ""
    if isinstance(value, Mapping):
        place = next((name for name in _COLLECTIONS if isinstance(value.get(name), list)), "")
    values = value[place] if place else value
    if not isinstance(values, list) or shapes.is_one(values):
        yield _Entry(file.stem, file.name, values, shown)
        return
    if not values and alone:
        raise TemplatelintError(f"{shown} holds no request", help=WANTED)
    for index, one in enumerate(values):
        at = f"{place}[{index}]"
        yield _Entry(f"{file.stem}[{index}]", f"{file.name}[{index}]", one, f"{shown}: {at}")


def _of_lines(text: str, file: Path, shown: str) -> Iterator[_Entry]:
    for number, line in enumerate(text.split("\n"), 1):  # other newlines may stand inside of JSON's strings
        if not line.strip():
            continue
        where = f"{shown}:{number}"
        value: Any
        try:
            value = parsed(line, shown, WANTED, number)
        except TemplatelintError as error:
            value = error
        yield _Entry(f"{file.stem}:{number}", f"{file.name}:{number}", value, where)


def _is_lines(text: str) -> bool:
    """Whether a text that is no JSON holds a JSON object or array a line; inner lines of one object are indented."""
    import json

    for number, line in enumerate(text.lstrip().split("\n")):
        if line[:1] not in ("{", "["):
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            if number == 0 and line[0] == "[":  # a list that goes on over lines
                return False
            continue
        if value:
            return True
    return False

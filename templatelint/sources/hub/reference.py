"""What the user types for a repository of the Hub → its parts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from templatelint.errors import TemplatelintError, clip

_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
# The Hub's own names of revisions that hold a slash; another one is written with %2F where a file follows.
_REVISION = r"refs/(?:pr/\d+|convert/[\w.-]+)|[^/:@\s]+"
_WHOLE = re.compile(
    rf"(?P<repo>{_SEGMENT}(?:/{_SEGMENT})?)"
    rf"(?:@(?P<revision>{_REVISION}))?(?::(?P<quant>[\w.-]+))?(?:/(?P<file>[^\s:](?:.*\S)?))?",
    re.ASCII,
)
# Without the scheme there is no file: what follows the @ is a revision to its end.
_SHORT = re.compile(rf"(?P<repo>{_SEGMENT}/{_SEGMENT})(?:@(?P<revision>[^:@\s]+))?(?::(?P<quant>[\w.-]+))?", re.ASCII)
_FILE = re.compile(r".*\.(jinja2?|j2|json|gguf|txt|model|safetensors|md)", re.IGNORECASE)
_FORMS = "owner/name, owner/name@revision, owner/name:QUANT, hf:owner/name/file"
_MAX_NAME = 96  # characters of a repository's name, by huggingface_hub


@dataclass(frozen=True)
class Reference:
    """A repository, or one file of it.

    Attributes:
        repo: `owner/name`, or the one word that the oldest repositories are called.
        revision: branch, tag or commit; empty for what the repository shows first.
        quant: the tag by which llama.cpp picks a GGUF.
        file: a path in the repository.
        explicit: with the scheme: it could be no path.
    """

    repo: str
    revision: str = ""
    quant: str = ""
    file: str = ""
    explicit: bool = False

    def __str__(self) -> str:
        at = f"@{self.revision}" if self.revision else ""
        return f"{self.repo}{at}"


def parse(ref: str) -> Reference:
    """The parts of a reference.

    Raises:
        TemplatelintError: no repository can be called that.
    """
    scheme, colon, rest = ref.partition(":")
    explicit = bool(colon) and scheme.lower() == "hf"
    found = (_WHOLE if explicit else _SHORT).fullmatch(rest.removeprefix("//") if explicit else ref)
    if found is None:
        raise TemplatelintError(f'"{clip(ref)}" names no repository of the Hub', help=f"what can be given: {_FORMS}")
    parts = {name: text or "" for name, text in found.groupdict().items()}
    repo, file = parts["repo"], parts.get("file", "")
    if not file and not parts["quant"] and not parts["revision"] and _FILE.fullmatch(repo.rpartition("/")[2]):
        repo, _, file = repo.rpartition("/")  # hf:gpt2/config.json
    if not repo or len(repo) > _MAX_NAME or "--" in repo or ".." in repo or repo.endswith((".git", ".", "-")):
        raise TemplatelintError(f'no repository of the Hub can be called "{clip(repo or file)}"', help=_FORMS)
    if file and parts["quant"]:
        raise TemplatelintError(f"{clip(ref)} names a file and the tag of another", help="give one of them")
    if file and not is_plain(file):
        raise TemplatelintError(f"{clip(ascii(ref)[1:-1])} names no file of a repository")
    revision = parts["revision"].replace("%2F", "/").replace("%2f", "/")
    if revision and not is_plain(revision):
        raise TemplatelintError(f"{clip(ascii(ref)[1:-1])} names no revision of a repository")
    return Reference(repo, revision, parts["quant"], file, explicit)


def is_plain(path: str) -> bool:
    """Whether a name out of a repository can be used as a path that stays where it belongs, and be shown."""
    parts = path.split("/")
    return path.isprintable() and "\\" not in path and not {"", ".", ".."}.intersection(parts)

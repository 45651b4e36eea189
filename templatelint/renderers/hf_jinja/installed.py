"""This machine → its node and its copy of the npm package @huggingface/jinja, found without starting anything."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "@huggingface/jinja"
NODE_MODULES = "TEMPLATELINT_NODE_MODULES"
INSTALL = f"install Node.js and run: npm install -g {PACKAGE}"


@dataclass(frozen=True, slots=True)
class Package:
    """A copy of the npm package.

    Attributes:
        folder: the package's own, without links.
        version: of the package, as its package.json says.
        module: the file to import.
    """

    folder: Path
    version: str
    module: Path


def missing() -> str | None:
    """What this machine lacks, in a clause; None where it lacks nothing. Starts nothing."""
    if node() is None:
        return "node is not on PATH"
    if package() is None:
        return f"the npm package {PACKAGE} is not found"
    return None


def described() -> str:
    """The package and the version that is found, for people."""
    found = package()
    return f"{PACKAGE} not found" if found is None else f"{PACKAGE} {found.version}"


def node() -> str | None:
    """The path of node, or None where it is not on PATH."""
    return which("node")


def package() -> Package | None:
    """The first copy of the package in the folders of `folders`."""
    for folder in folders():
        if (found := _package(folder / PACKAGE)) is not None:
            return found
    return None


def folders() -> Iterator[Path]:
    """The `node_modules` folders to look in, in this order.

    1. those that TEMPLATELINT_NODE_MODULES lists, as PATH lists folders;
    2. those of NODE_PATH, where they are absolute;
    3. npm's global one under NPM_CONFIG_PREFIX;
    4. beside the node that PATH finds, as it is linked and as it is installed;
    5. under the home: `~/.npm-global`, `~/.local`, npm's of Windows;
    6. `/usr/local/lib/node_modules` and `/usr/lib/node_modules`.

    The `node_modules` of the working directory is not among them: it may be part of what is being audited.
    """
    yield from (Path(entry) for entry in _listed(NODE_MODULES))
    yield from (Path(entry) for entry in _listed("NODE_PATH") if Path(entry).is_absolute())
    yield from (_of_prefix(Path(prefix)) for prefix in _listed("NPM_CONFIG_PREFIX"))
    if (program := node()) is not None:
        for binary in dict.fromkeys((Path(program), Path(program).resolve())):
            yield binary.parent / "node_modules" if os.name == "nt" else _of_prefix(binary.parent.parent)
    home = Path("~").expanduser()
    yield _of_prefix(home / ".npm-global")
    yield _of_prefix(home / ".local")
    yield from (Path(entry) / "npm" / "node_modules" for entry in _listed("APPDATA"))
    yield Path("/usr/local/lib/node_modules")
    yield Path("/usr/lib/node_modules")


def _listed(variable: str) -> Iterator[str]:
    return (entry for entry in os.environ.get(variable, "").split(os.pathsep) if entry)


def _of_prefix(prefix: Path) -> Path:
    return prefix / "node_modules" if os.name == "nt" else prefix / "lib" / "node_modules"


def _package(folder: Path) -> Package | None:
    """The package in that folder; None where there is none that can be imported."""
    import json

    try:
        folder = folder.resolve(strict=True)
        facts: Any = json.loads((folder / "package.json").read_text("utf-8"))
        module = (folder / (facts.get("module") or facts.get("main") or "")).resolve(strict=True)
    except (OSError, ValueError, AttributeError, TypeError):
        return None
    return Package(folder, str(facts.get("version", "of no version")), module) if module.is_file() else None

"""Finds `rules/` and `corpus/`, in a wheel (`_data/`) or in a checkout."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def folder(name: str) -> Path:
    """The project's data folder of that name (`rules` or `corpus`)."""
    # A checkout comes first: an editable install may leave a stale `_data` behind.
    checkout = _HERE.parent / name
    if (_HERE.parent / "pyproject.toml").is_file() and checkout.is_dir():
        return checkout
    return _HERE / "_data" / name

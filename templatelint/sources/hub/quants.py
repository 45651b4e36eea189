"""The files of a repository and a tag → the GGUF that llama.cpp's `-hf` takes.

Facts of llama.cpp, b11549: common/download.cpp::find_best_model, ::gguf_filename_is_model, ::get_gguf_split_info.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError
from templatelint.nearest import nearest
from templatelint.texts import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DEFAULTS = ("Q4_K_M", "Q8_0")
PRESET = "preset.ini"  # where a repository has one, `-hf` takes that file alone (::common_download_get_hf_plan)
_BESIDE = ("mmproj", "imatrix", "mtp-", "eagle3-", "dflash-", "dspark-")
_SPLIT = re.compile(r".+-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
_TAG = re.compile(r"[-.]([A-Z0-9_]+)$", re.IGNORECASE)
_LISTED = 12


def models(files: Iterable[str]) -> list[str]:
    """The GGUFs that carry a model, each split by its first file, in their order."""
    return [file for file in files if _is_model(file) and _is_first(file)]


def pick(files: Sequence[str], tag: str, repo: str) -> str:
    """The GGUF that llama.cpp takes.

    Args:
        files: all files of the repository, in the Hub's order.
        tag: as typed; empty for llama.cpp's own choice.
        repo: what messages call the repository.

    Raises:
        TemplatelintError: none has that tag.
    """
    found = models(files)
    for wanted in (tag,) if tag else DEFAULTS:
        # llama.cpp reads the tag as a regular expression, and looks for it in folders too
        pattern = re.compile(f"{wanted}[.-]", re.IGNORECASE)
        for file in found:
            if pattern.search(file):
                return file
    if tag or not found:
        raise _none(found, tag, repo)
    return found[0]


def tag_of(file: str) -> str:
    """The tag that picks a file; empty where its name ends with none."""
    stem = re.sub(r"-\d{5}-of-\d{5}$", "", file.removesuffix(".gguf"))
    found = _TAG.search(stem)
    return found[1] if found else ""


def _none(found: Sequence[str], tag: str, repo: str) -> TemplatelintError:
    if not found:
        return TemplatelintError(f"{repo} has no GGUF of a model")
    tags = list(dict.fromkeys(tag_of(file) or file for file in found))
    close = nearest(tag.upper(), [each.upper() for each in tags])
    more = f" and {len(tags) - _LISTED} more" if len(tags) > _LISTED else ""
    hints = [f"did you mean {repo}:{next(each for each in tags if each.upper() == close)}?"] if close else []
    hints.append(f"it has {', '.join(shown(each) for each in tags[:_LISTED])}{more}")
    return TemplatelintError(f"{repo} has no GGUF with the tag {tag}", help=" ".join(hints))


def _is_model(file: str) -> bool:
    name = file.rpartition("/")[2]
    return name.endswith(".gguf") and not any(word in name for word in _BESIDE)


def _is_first(file: str) -> bool:
    split = _SPLIT.fullmatch(file)
    return split is None or int(split["count"]) <= 1 or int(split["number"]) == 1

"""What the Hub answered instead of a file → one line that says so, and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError, clip
from templatelint.sources.web_address import address, shown
from templatelint.sources.web_refusals import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SECONDS = re.compile(r"\d{1,5}")
_RESET = re.compile(r"\bt\s*=\s*(\d{1,5})\b")  # of the header `ratelimit`: `"api";r=0;t=55`
_LOGIN = "set HF_TOKEN or run: hf auth login"
_CONNECTION = "is there a connection? HF_ENDPOINT and HTTPS_PROXY say how the Hub is reached"
_UNKNOWN, _FORBIDDEN, _MISSING, _TOO_MANY, _FAILS = 401, 403, 404, 429, 500


@dataclass(frozen=True)
class Asked:
    """What a request was for.

    Attributes:
        endpoint: the Hub's address; it may hold a password.
        repo: as typed.
        revision: as typed; empty for none.
        token: whether one goes along.
        path: it could have been a path, and there is none.
    """

    endpoint: str
    repo: str
    revision: str = ""
    token: bool = False
    path: bool = False

    @property
    def hub(self) -> str:
        """The Hub as people may see it."""
        return shown(self.endpoint)


def answered(asked: Asked, status: int, headers: Mapping[str, str]) -> TemplatelintError:
    """The error for an answer whose status says no.

    Args:
        asked: what the request was for.
        status: of HTTP.
        headers: of the answer, names in lower case.
    """
    code, said = headers.get("x-error-code", ""), headers.get("x-error-message", "")
    if code in _CODES:
        return _CODES[code](asked)
    if said == "Access to this resource is disabled.":
        return TemplatelintError(f"{asked.repo}: the Hub has disabled access to it")
    if status == _UNKNOWN and (said.startswith("Invalid credentials") or asked.token):
        cure = f"make one at {asked.hub}/settings/tokens, then {_LOGIN}"
        return TemplatelintError(f"{asked.hub} does not accept the token", help=cure)
    if status in (_UNKNOWN, _MISSING):
        return _no_repository(asked)
    if status == _FORBIDDEN:
        cure = f"the token needs the right to read {asked.repo}" if asked.token else f"for a token: {_LOGIN}"
        return TemplatelintError(f"{asked.hub} refuses access to {asked.repo} (HTTP 403)", help=cure)
    return _passing(asked, status, headers)


def _passing(asked: Asked, status: int, headers: Mapping[str, str]) -> TemplatelintError:
    """The error for what has nothing to do with the repository."""
    if status == _TOO_MANY:
        return _too_many(asked, headers)
    if status >= _FAILS:
        cure = "try again later; --offline takes what the cache has"
        return TemplatelintError(f"{asked.hub} fails (HTTP {status})", help=cure)
    what = f"{asked.hub} answers a request for {asked.repo} with HTTP {status}"
    return TemplatelintError(what, help="is HF_ENDPOINT the address of a Hub?")


def no_hub(asked: Asked, what: str) -> TemplatelintError:
    """The error for an answer that no Hub gives.

    Args:
        asked: what the request was for.
        what: the answer is (`an HTML page`).
    """
    return TemplatelintError(
        f"{asked.hub} answers a request for {asked.repo} with {what}",
        help="is HF_ENDPOINT the address of a Hub, and no proxy or login page in between?",
    )


def require_address(endpoint: str) -> None:
    """Refuse an `HF_ENDPOINT` that is no address."""
    try:
        address(endpoint)
    except Refused as error:
        raise TemplatelintError("HF_ENDPOINT is no http(s) address", help="unset it, or give https://HOST") from error


def unreached(asked: Asked, error: Refused, *, kept: bool) -> TemplatelintError:
    """The error where no answer came.

    Args:
        asked: what the request was for.
        error: what the client says of it.
        kept: whether the cache has what was asked for.
    """
    why = error.message.removeprefix(f"{asked.repo}: ")
    what = f"there is no file or folder {asked.repo}, and" if asked.path else f"{asked.repo}:"
    cure = "--offline reads what the cache has" if kept else _CONNECTION
    return TemplatelintError(f"{what} no answer from the Hub: {why}", help=cure)


def _gated(asked: Asked) -> TemplatelintError:
    page = f"{asked.hub}/{asked.repo}"
    if asked.token:
        return TemplatelintError(
            f"{asked.repo} is gated, and the account of the token has no access to it",
            help=f"accept its terms at {page} with that account; some owners then take time to approve",
        )
    return TemplatelintError(f"{asked.repo} is gated", help=f"accept its terms at {page}, then {_LOGIN}")


def _no_repository(asked: Asked) -> TemplatelintError:
    what = f"{asked.hub} has no repository {asked.repo}, or it is private"
    if asked.path:
        what = f"there is no file or folder {asked.repo}, and {asked.hub} has no such repository, or it is private"
    if asked.token:
        return TemplatelintError(what, help="check the name; a private one needs a token that may read it")
    return TemplatelintError(what, help=f"check the name; for a private one {_LOGIN}")


def _too_many(asked: Asked, headers: Mapping[str, str]) -> TemplatelintError:
    wait = _SECONDS.fullmatch(headers.get("retry-after", "")) or _RESET.search(headers.get("ratelimit", ""))
    cure = f"try again in {wait[wait.lastindex or 0]} s" if wait else "try again later"
    more = "" if asked.token else f"; with a token there may be more: {_LOGIN}"
    return TemplatelintError(f"{asked.hub} has had too many requests (HTTP 429)", help=cure + more)


def _no_revision(asked: Asked) -> TemplatelintError:
    what = f"{asked.repo} has no revision {clip(asked.revision or 'main')}"
    return TemplatelintError(what, help=f"its branches and tags: {asked.hub}/{asked.repo}/tree/main")


def _no_file(asked: Asked) -> TemplatelintError:
    return TemplatelintError(f"{asked.hub} lists a file of {asked.repo} that it does not have", help="try again")


# `X-Error-Code`, by huggingface_hub's `hf_raise_for_status`
_CODES: dict[str, Callable[[Asked], TemplatelintError]] = {
    "GatedRepo": _gated,
    "RepoNotFound": _no_repository,
    "RevisionNotFound": _no_revision,
    "EntryNotFound": _no_file,
}

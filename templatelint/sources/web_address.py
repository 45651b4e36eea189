"""A URL as typed → its parts, checked, and the form of it that people may see."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from templatelint.sources.web_refusals import Refused

_PORTS = {"http": 80, "https": 443}
_SHOWN = re.compile(r"(?i)(https?):/*([^/?#]*)([^?#]*)(\?[^#]*)?")
_AUTHORITY = re.compile(r"([\w.~%-]+|\[[\da-fA-F:.%\w]+\])(:\d*)?")
_CONTROL = re.compile(r"[\x00-\x20\x7f-\xa0]")
_HARMLESS = re.compile(r"|\?(?:download=true|raw=true|model=[\w.:/@+%-]{0,200})?")


class Address(NamedTuple):
    """An `http(s)` URL in parts.

    Attributes:
        url: without login and fragment: what is asked for.
        login: `user:password`, decoded; empty without one.
    """

    scheme: str
    host: str
    port: int
    url: str
    login: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """What has to be the same for a secret to go there."""
        return self.scheme, self.host, self.port

    @property
    def loopback(self) -> bool:
        """Whether it is on this machine."""
        return self.host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", self.host) is not None

    @property
    def on_this_link(self) -> bool:
        """Whether it is on this machine, or where clouds tell machines their secrets."""
        from ipaddress import ip_address

        try:
            there = ip_address(self.host)
        except ValueError:
            return self.host == "localhost"
        return there.is_loopback or there.is_link_local or there.is_unspecified


def address(url: str) -> Address:
    """The parts of a URL.

    Raises:
        Refused: no `http(s)` URL with a host, or one that cannot be sent.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _no_address(url) from error
    if parts.scheme not in _PORTS or not host or _CONTROL.search(url) or "\\" in parts.netloc:
        raise _no_address(url)
    login = "" if parts.username is None else f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
    return Address(parts.scheme, host, port or _PORTS[parts.scheme], plain, login)


def shown(url: str) -> str:
    """A URL as people may see it: without its login, without the query, which may hold a signature."""
    parts = _SHOWN.match(url)
    if parts is None:
        return "an address"
    scheme, authority, path, query = parts.groups(default="")
    place = authority.rpartition("@")[2]
    if not _AUTHORITY.fullmatch(place):  # a password with a slash in it ends up here
        return f"{scheme.lower()}://…"
    return _CONTROL.sub("�", f"{scheme.lower()}://{place}{path}{query if _HARMLESS.fullmatch(query) else '?…'}")


def _no_address(url: str) -> Refused:
    return Refused(f"{shown(url)} is no address of a file on the web", help="give https://HOST/PATH")

"""The Hub's host → whether there is a way to it, found out in a moment: without a network, nobody waits for it."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from threading import Thread
from urllib.parse import urlsplit

_PROXIES = ("https_proxy", "http_proxy", "all_proxy")
_SECONDS = 2.0  # a resolver that nobody answers takes half a minute to say so


def unreachable() -> bool:
    """Whether the name of the Hub's host leads nowhere; False where that is not known."""
    from huggingface_hub import constants

    host = urlsplit(constants.ENDPOINT).hostname
    if host is None or any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES):
        return False  # a proxy looks the name up
    found: list[bool] = []

    def look_up() -> None:
        with suppress(OSError, UnicodeError):  # no such name; none that a name can be
            socket.getaddrinfo(host, None)
            found.append(True)

    thread = Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(_SECONDS)
    return not found

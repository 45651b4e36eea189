"""A live OpenAI-compatible endpoint → which clauses of its contract it keeps, with what was sent and what came."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError, clip
from templatelint.probe import running
from templatelint.probe.endpoint import Endpoint, Served
from templatelint.probe.keeping import ROOM
from templatelint.probe.prompts import Prompts, with_own
from templatelint.probe.running import BrokenOff
from templatelint.probe.server.contact import contacted
from templatelint.probe.verdict import WORDS
from templatelint.probe.wire.client import Client
from templatelint.sources.endpoint import parsed
from templatelint.sources.web import Patience, Web
from templatelint.sources.web_address import address, shown
from templatelint.sources.web_refusals import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from templatelint.model import Model
    from templatelint.probe.catalogue import Check
    from templatelint.probe.verdict import Result, Word
    from templatelint.sources.reach import Reach
    from templatelint.sources.web_address import Address

_LONGEST = 300  # characters of a name that a server gives


@dataclass(frozen=True)
class Options:
    """How to probe.

    Attributes:
        model: the id to ask for; empty for the only one.
        linted: the model whose template ought to be in force.
        key: sent as a bearer token; empty for none.
        prompts: the user's own, as the JSON of their file, and its path.
        tokens: that an answer may have, where a check does not need less.
        seconds: that a request may take.
        room: bytes that are kept of what is sent and comes.
    """

    model: str = ""
    linted: Model | None = None
    key: str = field(default="", repr=False)
    prompts: tuple[Mapping[str, str], str] | None = None
    tokens: int = 512
    seconds: float = 60.0
    room: int = ROOM


@dataclass(frozen=True)
class Probed:
    """What came of it.

    Attributes:
        url: of the server, as people may see it.
        model: the id that was asked for.
        scripted: the dialect of the scripted model; empty where another one is served.
        broken_off: why the server was asked no further, in a clause; empty where it was.
        left_out: that the model is no chat model, in the server's words; empty where it is one.
        keyed: whether the server was sent a key.
    """

    url: str
    model: str
    served: Served
    results: tuple[Result, ...]
    scripted: str = ""
    broken_off: str = ""
    left_out: str = ""
    keyed: bool = False

    @property
    def summary(self) -> Mapping[Word, int]:
        """How many checks ended with each verdict."""
        count = Counter(result.verdict.word for result in self.results)
        return {word: count[word] for word in WORDS}


def probe(
    url: str,
    checks: Sequence[Check],
    options: Options,
    reach: Reach,
    progress: Callable[[int, int], None] | None = None,
) -> Probed:
    """Check one model behind an endpoint.

    Raises:
        TemplatelintError: there is nothing to check: no server, no key, no such model.
    """
    with opened(url, options, reach) as endpoint:
        results: list[Result] = []
        why = ""
        try:
            for result in running.run(checks, endpoint, progress, room=options.room):
                results.append(result)  # noqa: PERF402 (what there is when it breaks off is kept)
        except BrokenOff as end:
            why = end.why
        dialect = endpoint.scripted.dialect if endpoint.scripted else ""
        name, served = _bounded(endpoint)
        return Probed(endpoint.url, name, served, tuple(results), dialect, why, keyed=bool(options.key))


def _bounded(endpoint: Endpoint) -> tuple[str, Served]:
    """The model's id and what the server tells of itself, as reports repeat them."""
    version = clip(endpoint.served.version, _LONGEST)
    return clip(endpoint.model, _LONGEST), replace(endpoint.served, version=version)


@contextmanager
def opened(url: str, options: Options, reach: Reach) -> Iterator[Endpoint]:
    """The endpoint at an address, after the first meeting."""
    with unmet(url, options, reach) as stranger:
        endpoint = contacted(stranger, reach)
        if options.prompts is not None:
            endpoint.prompts = with_own(endpoint.prompts, *options.prompts)
        yield endpoint


def located(url: str) -> tuple[str, Address, str]:
    """The address of a server without `/v1`, whole and in parts, and the model that it names; empty where it does not.

    Raises:
        TemplatelintError: it is no address of a server.
    """
    typed = url.removeprefix("server:")
    base_url, named = parsed(typed)
    try:
        return base_url, address(base_url), named
    except Refused as trouble:
        told = shown(base_url) if "@" in typed else ascii(clip(typed))
        raise TemplatelintError(f"{told} is no address of a server", help="give http://HOST:PORT") from trouble


@contextmanager
def unmet(url: str, options: Options, reach: Reach) -> Iterator[Endpoint]:
    """The endpoint at an address, of which nothing is known yet.

    Raises:
        TemplatelintError: it is no address, or one that may not be asked.
    """
    base_url, base, named = located(url)
    name = shown(base_url)
    if reach.offline and not base.loopback:
        raise TemplatelintError(
            f"{name} is not asked: --offline", help="with it, only servers on this machine (127.0.0.1, localhost) are"
        )
    key = "" if base.login else options.key
    headers = {"authorization": f"Bearer {key}", "x-api-key": key} if key else {}
    first = Patience(read=options.seconds, whole=options.seconds)
    with Web(base_url, name=name, headers=headers, stay=True, patience=first) as web:
        yield Endpoint(
            name,
            options.model or named,
            Client(web, base, options.seconds).ask,
            linted=options.linted,
            tokens=options.tokens,
            seconds=options.seconds,
        )


__all__ = ["Endpoint", "Options", "Probed", "Prompts", "opened", "probe", "unmet"]

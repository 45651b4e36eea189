"""A repository of the Hugging Face Hub → Model: its small files by way of the cache, a GGUF's header by range."""

from __future__ import annotations

import os
import re
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from templatelint.errors import TemplatelintError
from templatelint.nearest import nearest
from templatelint.sources import config_json, file, folder, opening
from templatelint.sources.hub import quants, refusals
from templatelint.sources.hub.listing import Listing, Wanted, cached, fetched, not_cached, remember
from templatelint.sources.hub.reference import Reference, parse
from templatelint.texts import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from templatelint.model import Model, Template
    from templatelint.sources.gguf_header import ByteSource
    from templatelint.sources.reach import Reach

_JINJA = "chat_template.jinja"
_JSON = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "chat_template.json",
    "processor_config.json",
    "special_tokens_map.json",
)
_CARRIERS = frozenset({_JINJA, "tokenizer_config.json", "chat_template.json", "processor_config.json"})
_ADDITIONAL = re.compile(r"additional_chat_templates/[^/]+\.jinja")
_MAX_TEMPLATES = 64
_TOKENIZER, _CARD = "tokenizer.json", "README.md"
_MAX_TOKENIZER = 64 << 20  # bytes; the largest real ones have about 35 MB
_MAX_CARD = 4 << 20  # bytes
# Every repository of the Hub has one, and only those who fetch all of it fetch that.
_WHOLE = ".gitattributes"
_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE")
_TOKEN = re.compile(r"[!-~]+")


def resolve(ref: str, reach: Reach) -> Model:
    """The model that the reference names.

    Args:
        ref: `owner/name`, with `@revision` or `:QUANT`, or `hf:` before it and perhaps a file behind.
        reach: offline, the cache alone is read; the vocabulary is fetched for vetting only.

    Raises:
        TemplatelintError: no such repository, file or tag, no access, no connection, or an answer that no Hub gives.
    """
    reference = parse(ref)
    found = _find(reference, reach)
    model = found.model()
    listing = found.listing
    metadata = {
        "hub.repo": listing.repo,
        "hub.commit": listing.commit,
        "hub.revision": reference.revision or "main",
    }
    metadata = {**model.metadata, **metadata, **listing.card}
    return replace(model, ref=ref, local=False, notes=(*found.notes(), *model.notes), metadata=metadata)


def _find(reference: Reference, reach: Reach) -> _Repository:
    from huggingface_hub import constants

    cache = Path(constants.HF_HUB_CACHE)
    if reach.offline or constants.is_offline_mode():
        listing = cached(reference, cache)
        if listing is None:
            raise not_cached(reference, cache)
        return _Repository(reference, listing, reach, cache)
    refusals.require_address(constants.ENDPOINT)
    token = _token()
    asked = refusals.Asked(
        constants.ENDPOINT, reference.repo, reference.revision, token=bool(token), path=not reference.explicit
    )
    listing = fetched(reference, asked, _headers(token), cache, hurry=reach.hurry)
    return _Repository(reference, listing, reach, cache, asked, token)


def _token() -> str:
    """The user's token, where the library would send one; empty without one."""
    from huggingface_hub import constants

    # Most have none, and what the library needs to find one takes a tenth of a second to load.
    somewhere = any(map(os.environ.get, _TOKENS)) or "google.colab" in sys.modules
    somewhere = somewhere or Path(constants.HF_TOKEN_PATH).exists()
    if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN or not somewhere:
        return ""
    from huggingface_hub import get_token

    try:
        token = get_token() or ""
    except Exception as error:  # it may ask the Hub for a new one, and fail in any way
        kind = type(error).__name__
        raise TemplatelintError(f"the saved token cannot be used ({kind})", help="run: hf auth login") from error
    if token and not _TOKEN.fullmatch(token):
        raise TemplatelintError("the token holds characters that no token has", help="see HF_TOKEN, or: hf auth login")
    return token


@dataclass(frozen=True)
class _Repository:
    """A repository at a commit, and how its files are reached.

    Attributes:
        asked: what messages say of requests; None offline.
        token: for the Hub's host; empty for none.
    """

    reference: Reference
    listing: Listing
    reach: Reach
    cache: Path
    asked: refusals.Asked | None = None
    token: str = field(default="", repr=False)

    @property
    def repo(self) -> str:
        return self.reference.repo

    def notes(self) -> Iterator[str]:
        """What the user should know about how the reference was followed."""
        if self.listing.repo != self.repo:
            yield f"{self.repo} has moved: the Hub calls it {self.listing.repo}"

    def model(self) -> Model:
        """The model, with the names of the cache's files in it made those of the repository's."""
        reference, listing = self.reference, self.listing
        try:
            if reference.file:
                return self._renamed(self._file(reference.file))
            if reference.quant:
                return self._tagged(quants.pick(list(listing.files), reference.quant, self.repo))
            if folder.is_tokenizer(listing.top) or not any(quants.models(listing.files)):
                return self._renamed(self._folder())
            return self._tagged(quants.pick(list(listing.files), "", self.repo))
        except TemplatelintError as error:
            message, cure = self._named(error.message), error.help and self._named(error.help)
            if (message, cure) == (error.message, error.help):
                raise
            raise TemplatelintError(message, help=cure) from error

    # ---- a folder

    def _folder(self) -> Model:
        self._fetch(list(self._wanted()))
        listing = self.listing
        with ExitStack() as stack:

            @cache
            def tokenizer() -> ByteSource:
                return stack.enter_context(self._bytes(_TOKENIZER))

            remote = self.asked is not None and _TOKENIZER in listing.files
            model = folder.resolve(
                str(listing.snapshot),
                vetting=self.reach.vetting,
                listed=listing.top,
                head=(lambda limit: tokenizer().read(0, limit)) if remote else None,
            )
        notes = [*(self._unknown(model) if self.asked is None else ()), *model.notes]
        if model.templates and quants.models(self.listing.files):
            notes.append(f"read as transformers does; its GGUFs have templates of their own: {self.repo}:QUANT")
        return replace(model, notes=tuple(notes))

    def _unknown(self, model: Model) -> Iterator[str]:
        """A note where the cache cannot tell which template is in force."""
        listing = self.listing
        if _WHOLE in listing.files:
            return
        unknown = sorted(_CARRIERS.difference(listing.files, listing.missing))
        if unknown and not model.templates:
            raise TemplatelintError(
                f"of {self.reference} the cache has no file with a template, and nothing is fetched offline",
                help=f"not there: {', '.join(unknown)}; run once without --offline and HF_HUB_OFFLINE",
            )
        if _JINJA in unknown:
            yield f"offline: whether the repository has a {_JINJA}, which would be in force, is not known"

    def _wanted(self) -> Iterator[Wanted]:
        """The small files that say how a prompt is made."""
        files = self.listing.files
        templates = [name for name in files if name == _JINJA or _ADDITIONAL.fullmatch(name)]
        if len(templates) > _MAX_TEMPLATES:
            raise TemplatelintError(f"{self.repo} has {len(templates):,} chat templates, known models have under 10")
        yield from map(_template, templates)
        yield from (_json(name) for name in _JSON if name in files)
        if self.reach.vetting and _TOKENIZER in files:
            yield Wanted(_TOKENIZER, _MAX_TOKENIZER, "a tokenizer")
        if self.reach.vetting and _CARD in files:
            yield Wanted(_CARD, _MAX_CARD, "a model card")

    # ---- one file

    def _file(self, name: str) -> Model:
        files = self.listing.files
        if name not in files:
            raise self._no_file(name)
        if name.lower().endswith(".gguf"):
            return self._gguf(name)
        path = str(self.listing.snapshot / name)
        if not name.lower().endswith(".json"):
            self._fetch([_template(name)])
            return file.resolve(path)
        # the files beside it lend their special tokens
        own = [] if name in _JSON else [_json(name)]
        self._fetch([*own, *self._wanted()])
        return config_json.resolve(path)

    def _no_file(self, name: str) -> TemplatelintError:
        where = "" if self.asked else " in the cache"
        close = nearest(name, self.listing.files)
        cure = f"did you mean hf:{self.reference}/{close}?" if close else None
        return TemplatelintError(f"{self.reference} has no file {shown(name)}{where}", help=cure)

    # ---- a GGUF

    def _tagged(self, name: str) -> Model:
        """The model of a GGUF that llama.cpp picks."""
        note = f"taken: {name}"
        others = len(quants.models(self.listing.files)) - 1
        if not self.reference.quant and others:
            note += f", as llama.cpp does of {others + 1:,} GGUFs; {self.repo}:QUANT takes another"
        notes = [note]
        if quants.PRESET in self.listing.files:
            notes.append(f"llama-server -hf takes the {quants.PRESET} of this repository instead of a GGUF")
        model = self._renamed(self._gguf(name))
        return replace(model, notes=(*notes, *model.notes))

    def _gguf(self, name: str) -> Model:
        from templatelint.sources import gguf

        here = name.rpartition("/")[0]
        beside = frozenset(each.rpartition("/")[2] for each in self.listing.files if each.rpartition("/")[0] == here)
        with self._bytes(name) as source:
            return gguf.from_source(
                source, f"{self.repo}/{name}", str(self.reference), vetting=self.reach.vetting, beside=beside
            )

    def _bytes(self, name: str) -> AbstractContextManager[ByteSource]:
        """The bytes of a large file: the cache's where it has it, else the Hub's by range."""
        from contextlib import contextmanager

        path = str(self.listing.snapshot / name)

        @contextmanager
        def local() -> Iterator[ByteSource]:
            with opening.open_regular(path) as (handle, size):
                yield opening.LocalFile(handle, size)

        @contextmanager
        def remote(asked: refusals.Asked) -> Iterator[ByteSource]:
            from templatelint.sources import ranged

            url = f"{asked.endpoint}/{self.repo}/resolve/{self.listing.commit}/{quote(name)}"
            try:
                with ranged.open_ranged(
                    url, name=f"{self.repo}/{name}", headers=_headers(self.token), progress=self.reach.progress
                ) as source:
                    yield source
            except ranged.Refused as error:
                if error.status is None:
                    raise
                raise refusals.answered(asked, error.status, error.headers) from error

        return local() if self.asked is None or opening.status(path) is not None else remote(self.asked)

    # ---- the cache

    def _fetch(self, wanted: list[Wanted]) -> None:
        """Have files in the cache; the library is loaded for those that are not."""
        files, snapshot = self.listing.files, self.listing.snapshot
        for each in wanted:
            size = files.get(each.file)
            if size is not None and size > each.limit:
                raise opening.too_large(f"{self.repo}/{each.file}", size, each.limit, each.what)
        if self.asked is None:
            return
        new = [each for each in wanted if not (snapshot / each.file).exists()]
        if new:
            from templatelint.sources.hub import downloads

            downloads.fetch(self.asked, self.listing.commit, new, self.cache, self.token)
        remember(self.listing, self.reference.revision or "main", _CARRIERS)

    def _named(self, text: str) -> str:
        """A text with the repository's name for the folder of the cache."""
        return text.replace(str(self.listing.snapshot), self.repo)

    def _renamed(self, model: Model) -> Model:
        def renamed(templates: tuple[Template, ...]) -> tuple[Template, ...]:
            return tuple(
                replace(each, origin=replace(each.origin, path=self._named(each.origin.path))) for each in templates
            )

        return replace(
            model,
            templates=renamed(model.templates),
            others=renamed(model.others),
            notes=tuple(map(self._named, model.notes)),
            elsewhere=self._named(model.elsewhere),
        )


def _headers(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} if token else {}


def _template(name: str) -> Wanted:
    return Wanted(name, opening.MAX_TEMPLATE, "a template")


def _json(name: str) -> Wanted:
    return Wanted(name, opening.MAX_JSON, "a JSON file")

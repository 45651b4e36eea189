"""`tokenizer_config.json` and the files beside it → Tokenizer, as transformers 5.24 reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from templatelint.errors import TemplatelintError, clip
from templatelint.model import Tokenizer
from templatelint.sources import json_object, opening
from templatelint.sources.json_positions import head_members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from templatelint.model import Vocabulary

    Head = Callable[[int], bytes]

NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")

_SPECIFIC = "model_specific_special_tokens"
_EXTRA = "extra_special_tokens"
_TOKENIZER_HEAD = 4 << 20  # bytes; added tokens stand before the vocabulary, and take about 1 MB at most
_HEADS = (256 << 10, 1 << 20, _TOKENIZER_HEAD)  # bytes, where they come over a network
_MAX_TOKENIZER = 64 << 20  # bytes


def is_tokenizer_config(data: Mapping[str, Any], path: str) -> bool:
    """Whether a JSON object speaks for a tokenizer (and not, say, for a processor)."""
    return Path(path).name.endswith("tokenizer_config.json") or "tokenizer_class" in data or "eos_token" in data


def read_tokenizer(
    config: Mapping[str, Any], folder: str | None, *, vetting: bool = False, head: Head | None = None
) -> tuple[Tokenizer, tuple[str, ...]]:
    """What a tokenizer's files say, and notes about those of them that could not be read.

    Args:
        config: `tokenizer_config.json` as parsed; empty where there is none.
        folder: where the other files of the tokenizer stand; None where there are none.
        vetting: read the vocabulary too.
        head: gives the first bytes of a `tokenizer.json` that is elsewhere.
    """
    files = _Companions(folder, head)
    # A config that lists its added tokens is complete; only older ones lean on special_tokens_map.json.
    older = {} if "added_tokens_decoder" in config else files.json("special_tokens_map.json")
    # A present but null pad_token is a decision; only a missing one is taken from the padding settings.
    padding = files.padding() if "pad_token" not in config and "pad_token" not in older else None
    special = special_tokens(config, older, padding)
    generation = files.json("generation_config.json")
    facts = _facts(config, older)
    tokenizer = Tokenizer(
        special_tokens=special,
        add_bos=_flag(config, "add_bos_token"),
        add_eos=_flag(config, "add_eos_token"),
        stop_tokens=_stop_tokens(special, generation, config, files),
        generation_config=generation,
        facts=facts | (_of_the_model(files) if vetting else {}),
        vocabulary=files.vocabulary(config, (*special.values(), *facts.get(_EXTRA, ()))) if vetting else None,
    )
    return tokenizer, tuple(files.notes)


def special_tokens(config: Mapping[str, Any], older: Mapping[str, Any], padding: Any) -> dict[str, str]:
    """The special tokens that transformers hands to a template: the seven named ones and the model's own.

    The model's own are every `…_token` string of the config, and the entries of `extra_special_tokens`
    (formerly `additional_special_tokens`) where that is an object.

    Args:
        config: `tokenizer_config.json` as parsed.
        older: `special_tokens_map.json` as parsed, where it counts: it wins over the config.
        padding: the `padding` member of `tokenizer.json`.
    """
    values = dict(config)
    if "additional_special_tokens" in values and not values.get(_EXTRA):
        values[_EXTRA] = values.pop("additional_special_tokens")
    specific = {key: value for key, value in values.items() if _is_specific(key) and isinstance(value, str)}
    specific |= _object(values, _EXTRA)
    specific = specific or _object(values, _SPECIFIC)
    values |= older
    specific |= _object(older, _EXTRA)
    if isinstance(padding, Mapping):
        values.setdefault("pad_token", padding.get("pad_token"))
    given = {key: values[key] for key in NAMED if key in values}
    given |= {key: value for key, value in values.items() if _is_specific(key)}
    given |= specific
    texts = ((key, token_text(value)) for key, value in given.items())
    return {key: text for key, text in texts if text is not None}


def token_text(value: Any) -> str | None:
    """The text of a token as config files write it: a string, or an object with `content`."""
    text = value.get("content") if isinstance(value, Mapping) else value
    return text if isinstance(text, str) else None


def _is_specific(key: str) -> bool:
    return key.endswith("_token") and key not in NAMED


def _object(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = values.get(key)
    return dict(value) if isinstance(value, Mapping) else {}


def _flag(config: Mapping[str, Any], key: str) -> bool | None:
    value = config.get(key)
    return value if isinstance(value, bool) else None


def _facts(config: Mapping[str, Any], older: Mapping[str, Any]) -> dict[str, Any]:
    facts = {
        key: config[key]
        for key in ("tokenizer_class", "model_max_length", "chat_control_tokens", "chat_template_type")
        if key in config
    }
    for source in (config, older):
        for key in (_EXTRA, "additional_special_tokens"):
            if isinstance(source.get(key), list):
                texts = (token_text(token) for token in source[key])
                facts[_EXTRA] = [text for text in texts if text is not None]
    return facts


def _of_the_model(files: _Companions) -> dict[str, Any]:
    """What `config.json` says of where an answer ends: engines go by it too."""
    ends = files.json("config.json").get("eos_token_id")
    return {} if ends is None else {"config.eos_token_id": ends}


def _stop_tokens(
    special: Mapping[str, str], generation: Mapping[str, Any], config: Mapping[str, Any], files: _Companions
) -> tuple[str, ...]:
    """EOS and what `generation_config.json` stops at, as far as added tokens give its ids a text."""
    stops = dict.fromkeys(text for text in [special.get("eos_token")] if text)
    ids = generation.get("eos_token_id")
    wanted = [each for each in (ids if isinstance(ids, list) else [ids]) if isinstance(each, int)]
    decoder = _object(config, "added_tokens_decoder")
    known = {key: token_text(value) for key, value in decoder.items()}
    if any(str(each) not in known for each in wanted):
        added = files.tokenizer("added_tokens")
        listed = [entry for entry in added if isinstance(entry, Mapping)] if isinstance(added, list) else []
        known = {str(entry.get("id")): token_text(entry) for entry in listed} | known
    stops |= dict.fromkeys(text for text in (known.get(str(each)) for each in wanted) if text)
    return tuple(stops)


_SHOWN = 60  # characters of a token in a note


class _Companions:
    """The files beside a `tokenizer_config.json`, read when asked for; an unusable one leaves a note."""

    def __init__(self, folder: str | None, head: Head | None) -> None:
        self._folder = folder
        self._head = head
        self._tokenizer: dict[str, Any] | None = None
        self._unreadable = False
        self.notes: list[str] = []

    def json(self, name: str) -> dict[str, Any]:
        try:
            path = self._path(name)
            return {} if path is None else json_object.read(path)[1]
        except TemplatelintError as error:
            self.notes.append(f"left out: {error.message}")
            return {}

    def tokenizer(self, member: str) -> Any:
        """A member of `tokenizer.json` that stands before its vocabulary."""
        if self._tokenizer is None:
            self._tokenizer = self._read_tokenizer()
        return self._tokenizer.get(member)

    def padding(self) -> Any:
        """The settings of padding in `tokenizer.json`, where it is at hand: hardly a template writes that token."""
        return None if self._head is not None and self._path("tokenizer.json") is None else self.tokenizer("padding")

    def vocabulary(self, config: Mapping[str, Any], named: Iterable[str]) -> Vocabulary | None:
        """The tokens of `tokenizer.json`, and those named; None where there is no such file, or it cannot be read."""
        from templatelint.sources import json_vocabulary

        added = self.tokenizer("added_tokens")
        path = None if self._unreadable else self._path("tokenizer.json")
        if path is None:
            return None
        self._contradictions(added, config.get("added_tokens_decoder"))
        return json_vocabulary.read(path, added, config, named)

    def _contradictions(self, added: Any, decoder: Any) -> None:
        """Note an id for which the two files have different tokens."""
        if not isinstance(added, list) or not isinstance(decoder, Mapping):
            return
        known = {str(entry.get("id")): token_text(entry) for entry in added if isinstance(entry, Mapping)}
        differ = [key for key, entry in decoder.items() if known.get(key) and known[key] != (token_text(entry) or "")]
        if differ:
            key = differ[0]
            more = f", and {len(differ) - 1:,} more ids differ" if len(differ) > 1 else ""
            own = clip(token_text(decoder[key]) or "", _SHOWN)
            self.notes.append(
                f"id {clip(key, _SHOWN)} is {own!r} in added_tokens_decoder and {clip(known[key] or '', _SHOWN)!r} in "
                f"tokenizer.json{more}"
            )

    def _read_tokenizer(self) -> dict[str, Any]:
        wanted = frozenset({"padding", "added_tokens"})
        try:
            path = self._path("tokenizer.json")
            if path is None and self._head is None:
                return {}
            # The vocabulary behind them has megabytes that nothing here looks at.
            for limit in _HEADS if path is None else (_TOKENIZER_HEAD, _MAX_TOKENIZER):
                raw = self._head(limit) if path is None and self._head else opening.read_head(str(path), limit)
                members = head_members(raw.decode("utf-8", "replace"), wanted, last="model")
                if members is not None:
                    return members
        except TemplatelintError as error:
            self._unreadable = True
            self.notes.append(f"left out: {error.message}")
            return {}
        self._unreadable = True
        self.notes.append(f"left out: {path or 'tokenizer.json'} has no readable list of added tokens")
        return {}

    def _path(self, name: str) -> str | None:
        if self._folder is None:
            return None
        path = str(Path(self._folder, name))
        return path if opening.is_there(path) else None

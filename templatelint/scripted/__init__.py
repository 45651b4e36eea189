"""A model's template → a small GGUF that says scripted replies in any llama.cpp, calls of tools in its dialect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from templatelint.errors import TemplatelintError
from templatelint.scripted import scripts
from templatelint.scripted.scripts import Script, selector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from templatelint.dialects.reply import ToolCall
    from templatelint.engines.llamacpp.loaded import Ends
    from templatelint.model import Model
    from templatelint.scripted.wording import Wording

_EPSILON = 1e-6
# Calls in the first of these whose marks the template does not have are calls that its model must not write.
_FOREIGN = ("functionary-v3.1", "hermes", "mistral", "llama3-json")
_MOST_TEXT = 16_000  # bytes of all scripts
_ANSWERED = selector(scripts.ANSWER_NAME)
_MARK = 3  # characters of a mark: fewer stand in texts too


@dataclass(frozen=True, slots=True)
class Scripted:
    """A scripted model.

    Attributes:
        gguf: the file.
        dialect: that of its calls; `none` where it makes none.
        texts: script → what the model says; of a call, and of thoughts, with everything that belongs to them.
        prefix: what it says before, to close what the generation prompt opens; mostly empty.
        marker: what stands in prompts before the result of a tool, and chooses the script `answer`; may be empty.
        foreign: the dialect of the script `foreign`.
        unread: scripts of calls that our model of llama.cpp does not read back.
        unwritten: scripts of calls for which there is no text: a sentence stands for it.
        notes: what it cannot do, a clause each.
        served: llama-server starts with the template, as far as we know.
    """

    gguf: bytes = field(repr=False)
    dialect: str
    texts: Mapping[str, str]
    prefix: str
    marker: str
    foreign: str
    unread: tuple[str, ...] = ()
    unwritten: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    served: bool = True

    @property
    def selectors(self) -> tuple[str, ...]:
        """What a message can hold to choose a script."""
        return tuple(map(selector, self.texts))


def write(model: Model, *, dialect: str | None = None, further: Mapping[str, str | Sequence[ToolCall]] = {}) -> bytes:
    """The file alone; see `script`."""
    return script(model, dialect=dialect, further=further).gguf


def script(
    model: Model, *, dialect: str | None = None, further: Mapping[str, str | Sequence[ToolCall]] = {}
) -> Scripted:
    """A model that says scripts with the template of another.

    Args:
        model: whose templates and special tokens it gets.
        dialect: the name of the dialect of its calls, where that is not to be the template's own; `auto` is that.
        further: script → text, or the calls that it makes; they go before our own of the same names.

    Raises:
        TemplatelintError: the model has no template, there is no such dialect, or no model can say the scripts.
    """
    from templatelint import dialects
    from templatelint.scripted import wording

    if not model.templates:
        raise TemplatelintError(f"{model.ref} carries no chat template")
    if dialect is not None:
        dialect = None if dialect == dialects.AUTO else dialects.get(dialect).name
    calls = {name: tuple(wanted) for name, wanted in further.items() if not isinstance(wanted, str)}
    known = wording.of(model, dialect, calls)
    foreign = _foreign(model, known)
    plain = _plain(known, foreign, further)
    unwritten = tuple(name for name in dict.fromkeys((*scripts.CALLS, *calls)) if name not in {**plain, **known.texts})
    plain |= {name: f"{scripts.PLAIN} There is no call in {name}." for name in unwritten}
    lines = _lines(known, plain, further)
    return Scripted(
        gguf=_file(model, known, lines),
        dialect=known.dialect,
        texts={line.name: line.text for line in lines},
        prefix=known.prefix,
        marker=known.result,
        foreign=foreign,
        unread=known.unread,
        unwritten=unwritten,
        notes=tuple(_notes(known, unwritten)),
        served=known.served,
    )


def _plain(known: Wording, foreign: str, further: Mapping[str, str | Sequence[ToolCall]]) -> dict[str, str]:
    """Script → its text, of those that say something without calls, or what the template does not know for calls."""
    from templatelint import dialects

    return {
        **scripts.TEXTS,
        scripts.ABOUT: f"{scripts.HANDSHAKE} {known.dialect}",
        scripts.FOREIGN: dialects.get(foreign).write(scripts.FOREIGN_CALLS),
        **{name: text for name, text in further.items() if isinstance(text, str)},
    }


def _lines(known: Wording, plain: Mapping[str, str], further: Iterable[str]) -> list[Script]:
    """The scripts; a user's own goes before ours of the same name."""
    lines = []
    for name in dict.fromkeys((*scripts.NAMES, *further)):
        if name in known.texts and (name not in plain or name not in further):
            text = known.texts[name]
            bare = bool(known.prefix) and not text.startswith(known.prefix)
            lines.append(Script(name, text if bare else text[len(known.prefix) :], bare, calls=name != scripts.THINK))
        elif name in plain:
            own = name in further
            endless, insistent = name in scripts.ENDLESS_NAMES, name in scripts.INSISTENT_NAMES
            lines.append(Script(name, plain[name], endless=endless and not own, insistent=insistent and not own))
    return lines


def _notes(known: Wording, unwritten: Sequence[str]) -> Iterator[str]:
    """What the model cannot do, a clause each."""
    if known.why:
        yield f"llama.cpp gives no prompt with this template: {known.why}"
    elif scripts.TOOL in unwritten:
        yield "the template writes no calls: scripts of calls say a sentence instead"
    elif unwritten:
        yield f"there is no text for the calls of {', '.join(unwritten)}: a sentence stands for it"
    if scripts.TOOL in known.texts and not known.result:
        yield f"nothing in prompts tells the result of a tool: one that is to be answered has to hold {_ANSWERED}"
    if known.unread:
        yield f"llama.cpp does not read back what the template writes for {', '.join(known.unread)}"


def _foreign(model: Model, known: Wording) -> str:
    from templatelint import dialects

    sources = "\0".join(template.source for template in model.templates)
    for name in _FOREIGN:
        if name != known.dialect and not any(mark in sources for mark in dialects.get(name).openings):
            return name
    return next(name for name in _FOREIGN if name != known.dialect)


# ------------------------------------------------------------------------------------------------ the file


def _file(model: Model, known: Wording, lines: Sequence[Script]) -> bytes:
    from templatelint.engines.llamacpp.facts import load
    from templatelint.engines.llamacpp.loaded import Ends
    from templatelint.gguf_writing import gguf
    from templatelint.scripted import automaton
    from templatelint.scripted.forced import ForcedCall
    from templatelint.scripted.pieces import Cutter
    from templatelint.scripted.vocabulary import vocabulary

    facts = load()
    ends = Ends.of(model.tokenizer, facts)
    end = _end(model, facts.vocabulary.ends)
    if len(lines) > automaton.SCRIPTS:
        raise TemplatelintError(f"{len(lines)} scripts are too many: {automaton.SCRIPTS} are the most")
    if sum(len(line.text.encode("utf-8", "replace")) for line in lines) > _MOST_TEXT:
        raise TemplatelintError(f"the scripts have more than {_MOST_TEXT:,} bytes")
    tool = next((line.text for line in lines if line.name == scripts.TOOL and scripts.TOOL in known.texts), "")
    forced = ForcedCall.of(tool, known.thought_end)
    texts = {line.name: line.text for line in lines}
    texts |= {
        " prefix": known.prefix if any(not line.bare for line in lines) else "",
        " opener": forced.opener,
        " between": known.between if forced.opener else "",
        " rest": forced.rest,
        " closer": forced.closer,
        " thought_end": known.thought_end,
    }
    numbers = {line.name: number for number, line in enumerate(lines)}
    selectors = {selector(name): number for name, number in numbers.items()}
    if known.result:
        selectors[known.result] = numbers[scripts.ANSWER_NAME]
        if known.bare_answer:
            selectors[known.result] = automaton.unprefixed(len(lines))
    specials = [text for text in _specials(model, known, ends, texts.values(), facts.vocabulary.ends) if text != end]
    taken = (*specials, *selectors, *facts.vocabulary.ends)
    mark = _mark(known, (*taken, end))
    cutter = Cutter([text.encode("utf-8", "surrogatepass") for text in (*taken, mark)], _openings())
    pieces = {" prefix": cutter.cut(" prefix", texts.pop(" prefix"), mark)}
    said = mark.encode()
    shared = [mark] if said in pieces[" prefix"] else []
    sharing = {" thought_end", *(line.name for line in lines if line.bare)} if shared else set()
    # the shortest first: they find fewer pieces that are still free
    for name in sorted(texts, key=lambda name: len(texts[name])):
        pieces[name] = cutter.cut(name, texts[name], mark if name in sharing else "")
    own = [piece for parts in pieces.values() for piece in parts if piece != said]
    words = vocabulary(end, specials, selectors, shared, own)
    ids = iter(range(len(words.tokens), len(words.texts)))
    runs = {
        name: tuple(words.number(mark) if piece == said else next(ids) for piece in parts)
        for name, parts in pieces.items()
    }
    plan = automaton.Plan(
        tokens=words.tokens,
        size=len(words.texts),
        lines=[automaton.Line(runs[line.name], line.bare, line.calls, line.endless, line.insistent) for line in lines],
        default=numbers[scripts.DEFAULT],
        prefix=runs[" prefix"],
        opener=runs[" opener"],
        rest=runs[" rest"],
        between=runs[" between"],
        bare_keys=forced.bare_keys,
        # a reply that is JSON may begin like that too
        opens_replies=not forced.opener.startswith(("{", "[{")),
        closer=runs[" closer"],
        thought_end=runs[" thought_end"],
        bare_too=numbers[scripts.ANSWER_NAME] if known.bare_answer else None,
    )
    return gguf(dict(_metadata(model, ends, words.texts, words.types)), automaton.tensors(plan))


def _openings() -> list[str]:
    """The marks at which calls begin, of every dialect."""
    from templatelint import dialects

    marks = (mark for dialect in dialects.every() for mark in dialect.openings)
    return [mark for mark in dict.fromkeys(marks) if len(mark) >= _MARK]


def _mark(known: Wording, taken: Sequence[str]) -> str:
    """The end of thoughts that prompts open: one token, by which alone a server knows that they are over."""
    return known.thought_end if known.thought_end in known.prefix and known.thought_end not in taken else ""


def _end(model: Model, known: Sequence[str]) -> str:
    """A token that ends replies and that the template does not know, so that no parser takes it for a part of one."""
    sources = "\0".join(template.source for template in model.templates)
    return next((end for end in known if end.startswith("<") and end not in sources), known[0])


def _specials(model: Model, known: Wording, ends: Ends, texts: Iterable[str], further: Sequence[str]) -> list[str]:
    """The special tokens of prompts; those that a script prints are spelt in pieces."""
    said, sources = "\0".join(texts), "\0".join(template.source for template in model.templates)
    own = model.tokenizer.vocabulary
    found = [ends.bos_token, ends.eos_token]
    others = [*ends.stop_tokens, *known.markers, *(end for end in further if end in sources)]
    if own is not None:
        others += [token.text for token in own.special() if token.text in sources]
    found += [text for text in others if text not in said]
    return [text for text in dict.fromkeys(found) if len(text) > 1]


def _metadata(
    model: Model, ends: Ends, texts: Sequence[str], types: Sequence[int]
) -> Iterator[tuple[str, tuple[int, Any]]]:
    from templatelint.gguf_writing import ARRAY, BOOL, F32, I32, STRING, U32
    from templatelint.scripted import automaton

    yield "general.architecture", (STRING, "llama")
    yield "general.name", (STRING, "templatelint-scripted")
    yield "llama.context_length", (U32, automaton.CONTEXT)
    yield "llama.embedding_length", (U32, automaton.WIDTH)
    yield "llama.block_count", (U32, 1)
    yield "llama.feed_forward_length", (U32, automaton.FEED)
    yield "llama.attention.head_count", (U32, 1)
    yield "llama.attention.key_length", (U32, automaton.HEAD)
    yield "llama.attention.value_length", (U32, automaton.HEAD)
    yield "llama.attention.layer_norm_rms_epsilon", (F32, _EPSILON)
    yield "llama.rope.dimension_count", (U32, automaton.HEAD)
    yield "llama.rope.freq_base", (F32, 10000.0)
    yield "llama.rope.scaling.type", (STRING, "linear")
    yield "llama.rope.scaling.factor", (F32, automaton.ROPE_FACTOR)
    yield "tokenizer.ggml.model", (STRING, "gpt2")
    yield "tokenizer.ggml.pre", (STRING, "gpt-2")
    yield "tokenizer.ggml.tokens", (ARRAY, (STRING, texts))
    yield "tokenizer.ggml.token_type", (ARRAY, (I32, types))
    yield "tokenizer.ggml.merges", (ARRAY, (STRING, ["x y"]))
    yield "tokenizer.ggml.add_bos_token", (BOOL, ends.add_bos and bool(ends.bos_token))
    yield "tokenizer.ggml.add_eos_token", (BOOL, False)
    for key, text in (("bos", ends.bos_token), ("eos", ends.eos_token)):
        if text in texts:
            yield f"tokenizer.ggml.{key}_token_id", (U32, texts.index(text))
    served = model.templates[:1] if model.picked else model.templates
    for template in served:
        named = "" if model.picked or template.name == "default" else f".{template.name}"
        yield f"tokenizer.chat_template{named}", (STRING, template.source)

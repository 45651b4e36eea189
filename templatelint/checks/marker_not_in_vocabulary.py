"""TL602: a marker of turns or calls that the template writes is no token of the vocabulary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint import call_syntax
from templatelint.checks import _reasoning, _tokens
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from templatelint.dialects.serving.parsers import ReasoningParser, ToolParser
    from templatelint.model import Impact, Vocabulary
    from templatelint.view import View

CASES = (*_tokens.CHAT, *call_syntax.FIRST, *_reasoning.SHOWING)
CALL_CASES = call_syntax.CASES
# engines that are launched with the name of a parser
_LAUNCHED = frozenset({"vllm", "sglang"})

_CURE = "the template belongs to another model, or the tokens were lost when this file was made: "


def check(view: View) -> Iterator[Fault]:
    """Judge the markers around turns, those around calls that are not among them, and what parsers of calls need."""
    tokens = _tokens.vocabulary(view)
    told = False
    around_turns = _tokens.around_turns(view)
    around_calls = {
        marker: case_id for marker, case_id in _tokens.around_calls(view).items() if marker not in around_turns
    }
    shown: dict[str, str] = {}
    for written, what, need in ((around_turns, "turns", "chat"), (around_calls, "tool calls", "tools")):
        shown |= written
        missing = {marker: case_id for marker, case_id in written.items() if tokens.token(marker) is None}
        alike = ((marker, _tokens.meant(marker, tokens)) for marker in missing)
        # one that the template writes elsewhere is meant there
        meant = {marker: token for marker, token in alike if token and token not in view.template.source}
        certain = {one: case_id for one, case_id in missing.items() if one in meant or _tokens.has_to_be_token(one)}
        known = {marker: case_id for marker, case_id in certain.items() if not _tokens.plain_to(marker, tokens)}
        if known:
            told = told or need == "tools"
            yield replace(_fault(view, tokens, known, (what, need, "breaks")), help=_help(meant))
            continue
        plain = {
            marker: id_ for marker, id_ in missing.items() if _tokens.looks_like_token(marker) or marker in certain
        }
        if plain:
            odd = not certain.keys() >= plain.keys() and _mixed(view, tokens, shown)
            yield _fault(view, tokens, plain, (what, need, "degrades" if odd else "informs"))
    if not told:
        yield from _no_parser(view, tokens)
    yield from _no_reasoning_parser(view, tokens)


def _mixed(view: View, tokens: Vocabulary, shown: Iterable[str]) -> bool:
    """Whether some of the markers are tokens: a model that has tokens for its turns has them for its calls."""
    own = view.model.tokenizer.special_tokens.values()
    return any(_tokens.looks_like_token(one) and one not in own and tokens.token(one) is not None for one in shown)


def _no_parser(view: View, tokens: Vocabulary) -> Iterator[Fault]:
    """The parser of calls that the engine is launched with wants tokens, without which the server does not start."""
    dialect = call_syntax.of(view).dialect
    if dialect is None or view.engine not in _LAUNCHED:
        return
    from templatelint.dialects.serving import parsers

    known = parsers.load(view.engine)
    fitting = [known.tool[name] for name in parsers.for_dialect(view.engine, dialect) if name in known.tool]
    asked = [parser for parser in fitting if parser.name == view.parser] if view.parser else fitting
    case_id = call_syntax.of(view).case
    yield from _not_started(known.title, asked, tokens, ("calls", "tools", case_id, f"no parser {view.engine}"))


def _no_reasoning_parser(view: View, tokens: Vocabulary) -> Iterator[Fault]:
    """The same of the parser of thoughts: `BaseThinkingReasoningParser.__init__` in `reasoning/basic_parsers.py`."""
    if view.engine not in _LAUNCHED or not _reasoning.concerned(view.template.source):
        return
    marks = _reasoning.marks(view)
    if marks is None:
        return
    from templatelint.dialects.serving import parsers

    known = parsers.load(view.engine)
    names = parsers.for_reasoning(view.engine, marks, dialect=call_syntax.of(view).dialect)
    fitting = [known.reasoning[name] for name in names]
    about = ("thoughts", "reasoning", _reasoning.HISTORY, f"no reasoning parser {view.engine}")
    yield from _not_started(known.title, fitting, tokens, about)


def _not_started(
    title: str,
    asked: Iterable[ToolParser | ReasoningParser],
    tokens: Vocabulary,
    about: tuple[str, str, str, str],
) -> Iterator[Fault]:
    what, need, case_id, cause = about
    missing = {
        parser.name: [marker for marker in parser.vocabulary if tokens.token(marker) is None] for parser in asked
    }
    if missing and all(missing.values()):
        name, markers = next(iter(missing.items()))
        yield Fault(
            message=f"{title} does not start with the parser {name}, which reads the {what} of this template: "
            f"the vocabulary has no {_tokens.listed(markers)}",
            help="take the tokenizer of the model that the parser is made for, or read replies in the client "
            "(`templatelint parse`)",
            cases=(case_id,),
            cause=cause,
            need=need,
        )


def _fault(view: View, tokens: Vocabulary, missing: Mapping[str, str], about: tuple[str, str, Impact]) -> Fault:
    what, need, impact = about
    verb = "is no token" if len(missing) == 1 else "are no tokens"
    around = "around" if impact != "informs" else "as plain text around"
    return Fault(
        message=f"{_tokens.listed(missing)}, which the template writes {around} {what}, {verb} of the vocabulary, "
        f"which has {tokens.size:,}",
        help=_PLAIN if impact == "informs" else _help({}),
        cases=tuple(dict.fromkeys(missing.values())),
        cause=f"no token {need}",
        span=view.mention(*missing),
        impact=impact,
        need=need,
    )


_PLAIN = "right where the model was trained on them as text: compare with the template of its maker"


def _help(meant: Mapping[str, str]) -> str:
    """The cure; names the special tokens that misspelt markers were meant for."""
    if meant:
        hints = ", ".join(f"{token} for {marker}" for marker, token in meant.items())
        return f"did you mean {hints}? else {_CURE}see where the template comes from"
    return _CURE + "take the template of the model that the vocabulary belongs to, or convert the model again"

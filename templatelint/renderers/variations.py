"""Templates → text with the Jinja of transformers, changed in one respect: to find out what a difference comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from jinja2 import nodes
from jinja2.runtime import Undefined

from templatelint.renderers import MAX_OUTPUT, RenderFailure
from templatelint.renderers.jinja2 import environment, strftime_at, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from jinja2.environment import Template as CompiledTemplate


@dataclass(frozen=True)
class Variation:
    """One respect in which another Jinja differs.

    Attributes:
        clause: what it does that transformers' Jinja does not, for people; empty for no variation.
        trims: `trim_blocks` and `lstrip_blocks` are on.
        printed: what becomes of a value that is printed.
        filters: filters that do something else.
        source: what becomes of the template's text before it is parsed.
        tree: what becomes of its syntax tree, changed in place.
    """

    clause: str = ""
    trims: bool = True
    printed: Callable[[Any], Any] | None = None
    filters: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    source: Callable[[str], str] | None = None
    tree: Callable[[nodes.Template], None] | None = None

    @property
    def program(self) -> Callable[[str], VariedTemplate]:
        """Template source → what renders it so; raises RenderFailure where it does not compile."""
        return lambda source: _compiled(source, self)


@dataclass(frozen=True)
class VariedTemplate:
    """A template compiled in a variation."""

    template: CompiledTemplate

    def render(self, variables: Mapping[str, Any], now: datetime) -> str:
        """The text; raises RenderFailure, without a place, where there is none."""
        context = self.template.new_context({"strftime_now": strftime_at(now), **variables})
        try:
            return "".join(_limited(self.template.root_render_func(context)))
        except RenderFailure:
            raise
        except Exception as error:  # noqa: BLE001 (whatever the template's code raises)
            raise RenderFailure(*verdict(error)) from None


def _limited(blocks: Iterator[str]) -> Iterator[str]:
    length = 0
    for block in blocks:
        length += len(block)
        if length > MAX_OUTPUT:
            raise RenderFailure("too-large", f"more than {MAX_OUTPUT:,} characters of output")
        yield block


def _compiled(source: str, variation: Variation) -> VariedTemplate:
    varied = environment().overlay(
        trim_blocks=variation.trims, lstrip_blocks=variation.trims, finalize=variation.printed, cache_size=0
    )
    varied.filters = {**varied.filters, **variation.filters}
    try:
        tree = varied.parse(source if variation.source is None else variation.source(source))
        if variation.tree is not None:
            variation.tree(tree)
        return VariedTemplate(varied.from_string(tree))
    except Exception as error:  # noqa: BLE001 (folding constants runs the template's own expressions)
        raise RenderFailure("syntax", verdict(error)[1]) from None


# --------------------------------------------------------------------------- what other renderers do differently


def _after_break_lost(tree: nodes.Template) -> None:
    """Text that stands before `continue` or `break` in the same branch is not output."""
    for node in [tree, *tree.find_all(nodes.Node)]:
        for name in ("body", "else_"):
            body = getattr(node, name, None)
            if isinstance(body, list) and any(isinstance(item, nodes.Continue | nodes.Break) for item in body):
                setattr(node, name, [item for item in body if not isinstance(item, nodes.Output)])


def _printed_by_llamacpp(value: Any) -> Any:
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return "".join(str(_printed_by_llamacpp(item)) for item in value)
    return f"{value:g}" if isinstance(value, float) else value


def _printed_by_hf_jinja(value: Any) -> Any:
    import json

    if value is None or isinstance(value, Undefined):
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | list | dict) else value


def _printed_by_minijinja(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else value


def _tgi_json(value: Any, indent: int | None = None) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("'", "\\u0027")


def _first_newline_lost(source: str) -> str:
    return source.removeprefix("\n")


def _default_of_none(value: Any, default: Any = "", boolean: bool = False) -> Any:
    unset = value is None or isinstance(value, Undefined)
    return default if unset or (boolean and not value) else value


_LOOP_CONTROLS = Variation(
    "drops text that stands before `continue` or `break` in the same branch", tree=_after_break_lost
)
_SAFE = Variation("joins text marked `safe` with other text unescaped", filters={"safe": str, "escape": str, "e": str})


@cache
def pairs(renderer: str) -> tuple[Variation, ...]:
    """Every two of the known respects together."""
    return tuple(_both(one, other) for one, other in combinations(known(renderer), 2))


def _both(one: Variation, other: Variation) -> Variation:
    return Variation(
        f"{one.clause}, and {other.clause}",
        trims=one.trims and other.trims,
        printed=one.printed or other.printed,
        filters={**one.filters, **other.filters},
        source=one.source or other.source,
        tree=one.tree or other.tree,
    )


@cache
def known(renderer: str) -> tuple[Variation, ...]:
    """The respects in which that renderer is known to differ, commonest first."""
    if renderer == "llama.cpp":
        return (
            Variation("prints none and mappings as nothing, lists without brackets", printed=_printed_by_llamacpp),
            _LOOP_CONTROLS,
            _SAFE,
            Variation("drops a newline at the start of the template", source=_first_newline_lost),
            Variation(
                "takes none for undefined in `default`",
                filters={"default": _default_of_none, "d": _default_of_none},
            ),
        )
    if renderer == "hf-jinja":
        return (
            Variation(
                "prints true and false, lists and mappings as JSON, none as nothing", printed=_printed_by_hf_jinja
            ),
            _LOOP_CONTROLS,
            _SAFE,
        )
    if renderer == "minijinja":
        return (
            Variation("leaves the newlines and indentation of block tags in", trims=False),
            Variation("prints true, false and none in lower case", printed=_printed_by_minijinja),
            Variation("writes JSON compact, with sorted keys and escaped `<`, `>`, `&`", filters={"tojson": _tgi_json}),
            _SAFE,
        )
    return ()

"""The template in force: the linted one, giving the prompts that were linted, which the chat route uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import engines
from templatelint.errors import TemplatelintError
from templatelint.pin.normal import digest
from templatelint.pin.rendered import explanations
from templatelint.probe.prompts import CITY, TOOLS
from templatelint.probe.server import serving
from templatelint.probe.server.rendering import LLAMA_CPP, TOKENIZING, made, tokens
from templatelint.probe.telling import counted, quoted
from templatelint.probe.template import in_force, linted_prompts
from templatelint.probe.template.differing import lines_that_differ
from templatelint.probe.verdict import NotOffered, failed, inconclusive, passed, skipped, warned
from templatelint.sources.endpoint.routes import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from templatelint.model import Model
    from templatelint.probe.endpoint import Endpoint, Served
    from templatelint.probe.template.in_force import Compared
    from templatelint.probe.template.linted_prompts import Battery
    from templatelint.probe.verdict import Verdict

_LINT = "--template REF names what was linted"
_START = "start the server with the linted template (llama-server: --chat-template-file), or lint the one in force"
_DIGITS = 12  # of a digest that are shown
_NAMED = 4  # conversations that a message names
# what every engine renders alike: a difference here is the template's
_DECISIVE = frozenset({"chat-basic", "chat-system", "chat-turns", "tools-offer"})
_CALL = "call_0123456789abcdef"


# ------------------------------------------------------------------------------------------- TL902


def template_unchanged(endpoint: Endpoint) -> Verdict:
    """TL902."""
    linted = endpoint.linted
    if linted is None:
        return skipped("there is no linted template to compare with", cure=_LINT)
    served = serving.told(endpoint)
    if served.model is None:
        return _otherwise(served) or skipped(_reason(served))
    found = in_force.compared(linted, served.model, served.kind)
    others = [each for each in found if each.word in {"other", "absent"}]
    if others:
        return failed("; ".join(map(_told, others)), evidence=tuple(_shown(others)), cure=_START)
    unlinted = [each for each in found if each.word == "unlinted"]
    if unlinted:
        names = ", ".join(quoted(each.name) for each in unlinted)
        return warned(
            f"the template {names} serves requests with tools, and is not among the linted ones",
            cure="name the model or its GGUF as --template, which has both",
        )
    digests = "; ".join(f"sha256 {digest(each.there)[:_DIGITS]}" for each in found)
    patched = any(each.word == "patched" for each in found)
    how = f", patched by the engine: {served.kind} rewrites a guard as it loads it" if patched else ""
    return passed(f"the template in force is the linted one ({digests}){how}")


def _otherwise(served: Served) -> Verdict | None:
    """Ollama, which may render with what is no Jinja at all."""
    if served.kind != "ollama" or "renders" not in served.why:
        return None
    return failed(
        f"the linted template is not in force: {_reason(served)}",
        cure="what Ollama makes of the model is another template: templatelint vet ollama:NAME tells of it",
    )


def _reason(served: Served) -> str:
    """Why the text in force is not known."""
    return f"the server {served.why.partition(' ')[2]}" if served.why.startswith("server:") else served.why


def _told(one: Compared) -> str:
    which = f'the template "{one.name}" in force' if one.name == in_force.TOOL_USE else "the template in force"
    if one.word == "absent":
        return "the linted template of requests with tools (tool_use) is not in force"
    count, lines = lines_that_differ(one.here, one.there)
    verb = "differs" if count == 1 else "differ"
    return f"{which} is not the linted one: {counted(count, 'line')} {verb} {lines[0].rstrip(':')}"


def _shown(others: list[Compared]) -> Iterator[str]:
    for one in others:
        if one.word == "other":
            yield f"linted: sha256 {digest(one.here)}"
            yield f"in force: sha256 {digest(one.there)}"
            yield from lines_that_differ(one.here, one.there)[1]


# ------------------------------------------------------------------------------------------- TL903


def prompts_as_linted(endpoint: Endpoint) -> Verdict:
    """TL903."""
    linted = endpoint.linted
    if linted is None:
        return skipped("there is no linted template to compare with", cure=_LINT)
    served = serving.known(endpoint)
    known = served.model is not None
    try:
        found = linted_prompts.battery(endpoint, linted, served)
    except NotOffered as absence:
        return _not_told(f"the server has no {absence.route}, which tells the prompt of a conversation", known=known)
    except TemplatelintError as trouble:
        return inconclusive(f"the linted template cannot be rendered here: {trouble.message}")
    if not found.compared:
        return inconclusive("nothing could be compared: the server tells no tokens, or the template reads the clock")
    if found.differing:
        return _differing(found, linted, served)
    return passed(f"{len(found.compared)} conversations give the {found.by} of the linted template")


def _not_told(why: str, *, known: bool) -> Verdict:
    """Nothing is left open where the text of the template is known: TL902 has judged it."""
    return (
        skipped(why) if known else inconclusive(f"{why}, nor its template", cure="ask the engine itself, not a proxy")
    )


def _differing(found: Battery, linted: Model, served: Served) -> Verdict:
    first = found.differing[0]
    names = ", ".join(each.case_id for each in found.differing[:_NAMED])
    more = f" and {len(found.differing) - _NAMED} more" if len(found.differing) > _NAMED else ""
    listed = f" ({names}{more})" if len(found.differing) > 1 else ""
    told = (
        f"{len(found.differing)} of {len(found.compared)} conversations give other {found.by} than the linted template"
        f"{listed}: {first.case_id}{' has in ' if first.how.startswith('line ') else ': '}{first.how}"
    )
    evidence = (f"{first.case_id}, linted (-) and in force (+),", *first.evidence) if first.evidence else ()
    kind = served.kind or LLAMA_CPP
    if found.assumed:
        cure = "name the model's folder, repository or GGUF as --template: a template file has no BOS of its own"
        return inconclusive(told, evidence=evidence, cure=cure)
    held = () if served.model is None else in_force.compared(linted, served.model, served.kind)
    if served.model is not None and all(each.word in {"same", "patched"} for each in held):
        why = next(explanations(served.model, engines.ENGINES[kind].modelled), "")
        if why:
            return warned(f"{told}; {why} of the server may be why", evidence=evidence)
        cure = "the template is the same: look for LLAMA_ARG_ variables and template variables that the server sets"
        return (failed if kind == LLAMA_CPP else warned)(told, evidence=evidence, cure=cure)
    if kind == LLAMA_CPP or not _DECISIVE.isdisjoint(each.case_id for each in found.differing):
        return failed(told, evidence=evidence, cure=_START)
    return warned(told, evidence=evidence, cure=f"our model of {kind} may be another version than the server")


# ------------------------------------------------------------------------------------------- TL904


def prompt_tokens_agree(endpoint: Endpoint) -> Verdict:
    """TL904."""
    kind = serving.known(endpoint).kind
    lines, wrong, why = [], [], ""
    for name, body in _conversations(endpoint):
        there = made(endpoint, body, kind)
        counts = None if there.error else _counted(endpoint, there.text, there.ids, kind)
        if counts is None:
            why = why or there.error or "the server does not tell the tokens of its prompt"
            continue
        members = {key: value for key, value in body.items() if key != "messages"}
        reply = endpoint.chat(body["messages"], **members, max_tokens=1)
        said = table(reply.object.get("usage")).get("prompt_tokens")
        if not reply.ok or type(said) is not int:
            why = why or f"the chat route answers HTTP {reply.status} without usage.prompt_tokens"
            continue
        lines.append(f"{name}: {counts} tokens in the prompt, usage.prompt_tokens {said}")
        if said != counts:
            wrong.append(f"{name}: usage.prompt_tokens {said}, and {counts} tokens in the prompt that the server tells")
    if wrong:
        return failed(
            wrong[0],
            evidence=tuple(lines),
            cure="the chat route renders otherwise than the route that tells prompts: is it the same process?",
        )
    if not lines:
        # older versions take no messages at that route
        told = f"no prompt could be counted: {why}"
        return skipped(told) if kind in TOKENIZING else inconclusive(told)
    return passed(
        f"{counted(len(lines), 'prompt')} of the chat route have as many tokens as told", evidence=tuple(lines)
    )


def _counted(endpoint: Endpoint, prompt: str | None, ids: tuple[int, ...] | None, kind: str) -> int | None:
    if ids is None and prompt is not None:
        ids = tokens(endpoint, prompt, kind, special=True)
    return None if ids is None else len(ids)


def _conversations(endpoint: Endpoint) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A few of what a chat is made of, and what people call them."""
    plain = {"role": "user", "content": endpoint.prompts.plain}
    asking = {"role": "user", "content": endpoint.prompts.tool}
    call = {"name": "get_weather", "arguments": f'{{"city": "{CITY}"}}'}
    calling = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": _CALL, "type": "function", "function": call}],
    }
    result = {"role": "tool", "tool_call_id": _CALL, "content": endpoint.prompts.result}
    yield "a user message", {"messages": [plain]}
    yield "a system message", {"messages": [{"role": "system", "content": "Answer in one sentence."}, plain]}
    yield "tools", {"messages": [asking], "tools": TOOLS}
    yield "a tool result", {"messages": [asking, calling, result], "tools": TOOLS}

"""A model, or what a server has in force, held against its entries of a lock → findings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint import cards, cases
from templatelint import engines as catalogue
from templatelint.lint import fingerprint
from templatelint.model import Finding, NotRun, Origin, Place, RenderError, Template
from templatelint.pin import carried, place
from templatelint.pin.behaviour import change
from templatelint.pin.normal import as_parsed, as_read, digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Model, Severity
    from templatelint.pin.lock import Entry, Lock

RULE = "TL704"
_SHOWN = 12  # digits of a digest
_SERVER = "server"
_DEFAULT, _TOOLS = "default", "tool_use"
_LLAMA_CPP, _JINJA2 = "llama.cpp", "jinja2"
_CHOOSING = ("chat-basic", "tools-offer")  # plain chat and requests with tools may get templates of their own
# what servers call the model that they were started with
_STARTED_WITH = ("model_path", "model", "root", "id")
_LOOPBACK = re.compile(r"(?<=^server:http://)(?:127\.0\.0\.1|localhost)(?![^:/?])")
_LAST_PART = re.compile(r"[^/\\]+$")


@dataclass(frozen=True)
class Held:
    """A model, and what of a lock it is held against.

    Attributes:
        entries: of one reference.
        lock: the file as the user named it.
    """

    model: Model
    entries: tuple[Entry, ...]
    lock: str

    @property
    def serving(self) -> str:
        """The engine of a running server; empty for files."""
        launch = self.model.launch
        return launch.engine if self.model.kind == _SERVER and launch is not None else ""

    def engines(self, entry: Entry) -> tuple[str, ...]:
        """The engines on which a change of that template counts."""
        return (self.serving,) if self.serving else entry.engines or catalogue.DEFAULT_ENGINES

    def counterpart(self, entry: Entry) -> Template | None:
        """The template that is there in place of the pinned one."""
        found = carried.template(self.model, entry.name)
        if found is None and self.serving and len(self.entries) == 1:
            return self.model.template(_DEFAULT)  # a file given to a server has no name any more
        return found


# ------------------------------------------------------------------------------------------- which entries


def held(model: Model, lock: Lock, as_ref: str | None = None) -> Held | str:
    """The entries that a model is to be held against, or why there are none.

    Args:
        model: what a reference resolved to.
        lock: the lock.
        as_ref: the pinned reference that it stands for; None to find it.
    """
    if as_ref is not None:
        named = _named(as_ref, lock)
        return Held(model, named, lock.path) if named else f"{lock.path} does not pin {as_ref}"
    own = _own(model, lock)
    if own:
        meant = tuple(entry for entry in own if not model.picked or carried.template(model, entry.name) is not None)
        return Held(model, meant, lock.path) if meant else f"{lock.path} pins other templates of {model.ref}"
    if model.kind != _SERVER:
        return f"{lock.path} does not pin {model.ref}"
    refs = _served(model, lock)
    if len(refs) == 1:
        return Held(model, lock.of(refs[0]), lock.path)
    if not refs:
        return f"{lock.path} does not pin {model.ref}, nor a model that it may serve"
    return f"{lock.path} pins {len(refs)} models that it may serve: name the one with --as"


def unpinned(model: Model, lock: Lock, as_ref: str | None = None) -> tuple[str, ...]:
    """Names of the model's templates that are not checked, since others were pinned by name."""
    one = held(model, lock, as_ref)
    if isinstance(one, str) or one.serving or not all(entry.picked for entry in one.entries):
        return ()
    pinned = {entry.name for entry in one.entries}
    return tuple(template.name for template in model.templates if template.name not in pinned)


def _own(model: Model, lock: Lock) -> tuple[Entry, ...]:
    """The entries of the model's own reference; `localhost` is the same server as 127.0.0.1."""
    ref = place.place(model, lock.path).ref
    if model.kind == _SERVER and not lock.of(ref):
        here = _LOOPBACK.sub("localhost", ref)
        ref = next((known for known in lock.refs if _LOOPBACK.sub("localhost", known) == here), ref)
    return lock.of(ref)


def _named(ref: str, lock: Lock) -> tuple[Entry, ...]:
    """The entries of a reference as the user types it, the file being here or not."""
    whole, _, name = ref.rpartition("#")
    for known, picked in ((ref, ""), (whole, name)):
        found = (lock.of(known) or lock.of(place.of(known, lock.path).ref)) if known else ()
        if found:
            return tuple(entry for entry in found if not picked or entry.name == picked)
    return ()


def _served(model: Model, lock: Lock) -> tuple[str, ...]:
    """The pinned references that a server may have been started with: by name, else all."""
    refs = tuple(dict.fromkeys(entry.ref for entry in lock.entries if entry.source != _SERVER))
    settings = model.launch.settings if model.launch is not None else {}
    started = {_last_part(value) for name in _STARTED_WITH if isinstance(value := settings.get(name), str)}
    return tuple(ref for ref in refs if _last_part(ref) in started) or refs


def _last_part(path: str) -> str:
    found = _LAST_PART.search(path)
    return found[0] if found else path


# ---------------------------------------------------------------------------------------------- the verdict


def verdict(one: Held) -> tuple[tuple[Finding, ...], tuple[NotRun, ...]]:
    """What is otherwise than pinned, and why there is no verdict where there is none."""
    model = one.model
    if model.kind == _SERVER and not carried.carried(model):
        why = "the server does not tell its template"
        return (), (NotRun(RULE, model.ref, why, no_answer=True),)
    found = tuple(_findings(one))
    if one.serving != _LLAMA_CPP or any(finding.severity == "error" for finding in found):
        return found, ()
    rendered, gaps = _rendered(one)
    return (*found, *rendered), gaps


def _rendered(one: Held) -> tuple[tuple[Finding, ...], tuple[NotRun, ...]]:
    """Whether a llama-server with the pinned templates makes the prompts that they give."""
    pinned = [
        Template(entry.name, entry.text, Origin(one.lock, entry.text, locatable=False))
        for entry in one.entries
        if entry.text is not None
    ]
    if len(pinned) < len(one.entries):
        return (), (NotRun(RULE, one.model.ref, f"prompts are not compared: {one.lock} holds digests alone"),)
    from templatelint.pin import rendered

    found = rendered.compared(one.model, pinned)
    if found.why_not:
        return (), (NotRun(RULE, one.model.ref, f"prompts are not compared: {found.why_not}"),)
    if not found.differing:
        return (), ()
    known = catalogue.ENGINES[_LLAMA_CPP].modelled
    because = f", which {found.explained} may be the reason for" if found.explained else ""
    told = (
        f"the pinned template is in force, and makes other prompts than on llama.cpp {known}"
        f"{because}: {', '.join(found.differing)}"
    )
    return (
        _finding(
            one,
            one.model.templates[0],
            "note" if found.explained else "warning",
            told,
            engines=(_LLAMA_CPP,),
            cells=tuple((case_id, _LLAMA_CPP) for case_id in found.differing),
            cure="compare: POST /apply-template, and templatelint render; look for LLAMA_ARG_ variables of the server",
        ),
    ), ()


def _findings(one: Held) -> Iterator[Finding]:
    met = set()
    for entry in one.entries:
        template = one.counterpart(entry)
        if template is not None:
            met.add(template.name)
            yield from _compared(one, entry, template)
        elif not one.serving or (one.serving == _LLAMA_CPP and entry.name in {_DEFAULT, _TOOLS}):
            yield _gone(one, entry)
    if not one.model.picked and not all(entry.picked for entry in one.entries):
        for template in carried.carried(one.model):
            if template.name not in met:
                yield _added(one, template)


def _compared(one: Held, entry: Entry, template: Template) -> Iterator[Finding]:
    if template.sha256 == entry.sha256:
        return
    if entry.name == carried.GO:
        yield _changed(one, entry, template)
        return
    if one.serving:
        renderer = _renderer(one.serving)
        # a server tells its text before the engine has read it, or after
        shown = {template.sha256, digest(as_read(renderer, template.source))}
        plain = digest(as_read(renderer, entry.text)) if entry.text is not None else entry.parsed_by(_JINJA2)
        if plain in shown:
            return
        if entry.parsed_by(renderer) in shown:
            yield _patched(one, entry, template)
            return
    elif all(
        digest(as_parsed(renderer, template.source, template.name)) == entry.parsed_by(renderer)
        for renderer in {_renderer(engine) for engine in one.engines(entry)}
    ):
        yield _newlines(one, entry, template)
        return
    yield _changed(one, entry, template)


def _renderer(engine: str) -> str:
    known = catalogue.ENGINES.get(engine)
    return known.renderer if known is not None else _JINJA2


def _changed(one: Held, entry: Entry, template: Template) -> Finding:
    names = one.engines(entry)
    hashes = f"sha256 {template.sha256[:_SHOWN]} in place of {entry.sha256[:_SHOWN]}"
    if entry.text is None or entry.name == carried.GO:
        return _finding(one, template, "error", f"not the template that {one.lock} pins: {hashes}", engines=names)
    pinned = Template(entry.name, entry.text, Origin(one.lock, entry.text, locatable=False))
    found = change(one.model, pinned, template, names)
    if found.why_not:
        told = f"not the template that {one.lock} pins: {hashes}; what that changes is not known: {found.why_not}"
        return _finding(one, template, "error", told, engines=names)
    if not found.facts:
        told = f"other bytes than {one.lock} pins ({hashes}), and the same prompts on {', '.join(names)}"
        return _finding(one, template, "warning", told, engines=names)
    told = f"not the template that {one.lock} pins: {'; '.join(found.facts)}"
    hit = tuple(dict.fromkeys(engine for _, engine in found.cells)) or names
    return _finding(one, template, "error", told, engines=hit, need=found.need, cells=found.cells)


def _newlines(one: Held, entry: Entry, template: Template) -> Finding:
    names = one.engines(entry)
    told = f"other newlines than {one.lock} pins, and the same text for {', '.join(names)}"
    return _finding(one, template, "warning", told, engines=names)


def _patched(one: Held, entry: Entry, template: Template) -> Finding:
    told = f"the template that {one.lock} pins, patched by the engine: {one.serving} rewrites a guard as it loads it"
    return _finding(one, template, "note", told, engines=one.engines(entry), cure="nothing is to be done")


def _gone(one: Held, entry: Entry) -> Finding:
    path = one.model.templates[0].origin.path if one.model.templates else one.model.ref
    template = Template(entry.name, "", Origin(path, "", locatable=False))
    told = f'{one.lock} pins a template "{entry.name}", which is gone'
    return _finding(one, template, "error", told, engines=one.engines(entry))


def _added(one: Held, template: Template) -> Finding:
    """A template that was not there; one that engines take for some request changes what they do."""
    names = tuple(dict.fromkeys(name for entry in one.entries for name in one.engines(entry)))
    running = [catalogue.get(name) for name in names if name in catalogue.ENGINES and not _why_not(name)]
    taking = tuple(
        engine.name
        for engine in running
        if any(
            not isinstance(choice := engine.choose(one.model, cases.get(case_id).request), RenderError)
            and choice.name == template.name
            for case_id in _CHOOSING
        )
    )
    told = f'{one.lock} pins no template "{template.name}"'
    if taking:
        return _finding(one, template, "error", f"{told}, and {', '.join(taking)} takes it", engines=taking)
    return _finding(one, template, "warning", f"{told}; no engine in question takes it", engines=names)


def _why_not(engine: str) -> str:
    return catalogue.ENGINES[engine].why_not


def _finding(  # noqa: PLR0913 (what a finding consists of)
    one: Held,
    template: Template,
    weight: Severity,
    message: str,
    *,
    engines: tuple[str, ...],
    need: str = "",
    cells: tuple[tuple[str, str], ...] = (),
    cure: str = "",
) -> Finding:
    card = cards.get(RULE)
    at = template.origin.place(0) if template.source else Place(template.origin.path, 1, 1)
    return Finding(
        rule=card.id,
        name=card.name,
        severity=weight,
        message=message,
        help=cure or _cure(one),
        ref=one.model.reference(template),
        template=template.name,
        place=at,
        end=at,
        engines=engines,
        needs=(need or card.need,),
        evidence=cells,
        fingerprint=fingerprint(card.id, template.name, "pin"),
        locatable=template.origin.locatable,
    )


def _cure(one: Held) -> str:
    from shlex import quote

    ref = one.entries[0].ref
    if one.serving:
        return f"start the server with the template of {ref} again, or pin what it serves now if that is meant"
    lock = "" if one.lock == "templatelint.lock" else f" --lock {quote(one.lock)}"
    if place.place(one.model, one.lock).ref != ref:  # --as: to pin what was checked would pin something else
        typed = quote(place.from_here(one.entries[0], one.lock))
        return f"make both the same; where {ref} is what is meant now: templatelint pin {typed}{lock}"
    return f"put the pinned template back, or, where the change is meant: templatelint pin {quote(one.model.ref)}{lock}"

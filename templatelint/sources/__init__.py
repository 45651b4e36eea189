"""What the user types → Model: one module a kind of place that templates are found in."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from templatelint.errors import TemplatelintError, clip
from templatelint.nearest import nearest
from templatelint.sources import opening
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from templatelint.model import Model

_SCHEME = re.compile(r"(hf|https?|ollama|server):", re.IGNORECASE)
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[^\s:#]+)?(:[\w.-]+)?")
_FILE_ENDINGS = (".jinja", ".jinja2", ".j2", ".json", ".gguf", ".txt")
_MAX_NAMES = 5000  # of a folder, looked through for the nearest
_GGUF = b"GGUF"
# of these, what follows may hold a password
_ADDRESSED = ("http", "https", "server")
# scheme of a reference → the module here that follows it
_ELSEWHERE = {"hf": "hub", "http": "url", "https": "url", "ollama": "ollama", "server": "endpoint"}


def resolve(
    ref: str,
    *,
    stdin_filename: str | None = None,
    bos_token: str | None = None,
    eos_token: str | None = None,
    reach: Reach = Reach(),  # noqa: B008 (frozen)
) -> Model:
    """The model that a reference names.

    Args:
        ref: path of a template file, a JSON config, a GGUF or a folder, or `-`; a repository of the Hub, a URL, a
            model of Ollama's, a server; `#NAME` behind it picks a template.
        stdin_filename: what standard input is called; decides its kind.
        bos_token: BOS of a bare template file, `""` for none; None leaves the assumption.
        eos_token: EOS of a bare template file, likewise.
        reach: how far to go for it: what may be fetched, and what is read besides.

    Returns:
        The model. With `#NAME` it has that one template and is `picked`.

    Raises:
        TemplatelintError: nothing is there, or it cannot be read as what it is.
    """
    path, name = _split(ref)
    if path == "-":
        from templatelint.sources import stdin

        model = stdin.resolve(stdin_filename)
    else:
        model = _resolve_path(path, reach)
    model = _with_carrier(model, (stdin_filename or "") if path == "-" else path)
    model = _with_tokens(model, {"bos_token": bos_token, "eos_token": eos_token})
    return model if name is None else _pick(model, name)


def public(ref: str) -> str:
    """A reference as people may see it: of an address on the web, without its login and without a signature."""
    scheme = _SCHEME.match(ref)
    if scheme is None or scheme[1].lower() not in _ADDRESSED:
        return ref
    from templatelint.sources.web_address import shown

    path, mark, name = ref.rpartition("#") if "#" in ref else (ref, "", "")
    if scheme[1].lower() != "server":
        return f"{shown(path)}{mark}{name}"
    address = path[scheme.end() :]
    return f"{scheme[0]}{shown(address if '://' in address else f'http://{address}')}{mark}{name}"


def _split(ref: str) -> tuple[str, str | None]:
    """A reference as path and template name; a path that exists with `#` in its name stays whole."""
    if not ref:
        raise TemplatelintError("the reference is empty")
    if "#" not in ref or os.path.lexists(ref):
        return ref, None
    path, _, name = ref.rpartition("#")
    if not path:
        raise TemplatelintError(f'no file or folder before "{clip(ref)}"', help="give REF#NAME, or -#NAME for stdin")
    return path, name


def _resolve_path(path: str, reach: Reach) -> Model:
    if _SCHEME.match(path) and not os.path.lexists(path):
        return _resolve_elsewhere(path, reach)  # it may be longer than any path is
    found = opening.status(path)
    if found is None:
        return _resolve_elsewhere(path, reach)
    model = _resolve_there(path, found.st_mode, reach)
    if _named_as_repository(path):
        kind = "folder" if stat.S_ISDIR(found.st_mode) else "file"
        return replace(model, notes=(f"taken: the {kind} here; the repository of that name is hf:{path}", *model.notes))
    return model


def _resolve_there(path: str, mode: int, reach: Reach) -> Model:
    if stat.S_ISDIR(mode):
        from templatelint.sources import folder

        return folder.resolve(path, vetting=reach.vetting)
    ending = path.lower()
    if ending.endswith(".gguf") or opening.read_head(path, len(_GGUF)) == _GGUF:
        from templatelint.sources import gguf

        return gguf.resolve(path, vetting=reach.vetting)
    if ending.endswith(".json"):
        from templatelint.sources import config_json

        return config_json.resolve(path, vetting=reach.vetting)
    from templatelint.sources import file

    return file.resolve(path)


def _with_carrier(model: Model, path: str) -> Model:
    """A model that a JSON file without a template stands for, told which file beside it has one."""
    if model.templates or model.kind not in ("config", "stdin"):
        return model
    from templatelint.sources import folder

    carrier = folder.carrier(str(Path(path).parent))
    if not carrier or Path(carrier) == Path(path):
        reason = folder.not_for_chat(str(Path(path).parent)) if path else ""
        notes = (*model.notes, f"no chat model: {reason}") if reason else model.notes
        return replace(model, not_for_chat=reason, notes=notes)
    told = any(carrier in note for note in model.notes)
    notes = model.notes if told else (*model.notes, f"the template of this model is in {carrier}")
    return replace(model, elsewhere=carrier, notes=notes)


def _pick(model: Model, name: str) -> Model:
    template = model.template(name)
    if template is not None:
        return replace(model, templates=(template,), picked=True)
    names = [template.name for template in model.templates]
    close = nearest(name, names)
    hints = [f"did you mean {model.ref}#{close}?"] if close else []
    hints.append("it has " + (", ".join(names) if names else "no template"))
    raise TemplatelintError(f'no template "{clip(name)}" in {model.ref}', help=" ".join(hints))


def _with_tokens(model: Model, given: dict[str, str | None]) -> Model:
    """The model with the special tokens that the user set, where the files say nothing of them."""
    chosen = {token: text for token, text in given.items() if text is not None}
    if not chosen:
        return model
    if not model.tokenizer.assumed:
        options = ", ".join(f"--{token.replace('_', '-')}" for token in chosen)
        return replace(
            model,
            notes=(*model.notes, f"{options} not applied: the model's own files say which tokens it has"),
        )
    special = {token: text for token, text in {**model.tokenizer.special_tokens, **chosen}.items() if text}
    # What the user set both of is no assumption of ours any more.
    tokenizer = replace(model.tokenizer, special_tokens=special, assumed=len(chosen) < len(given))
    return replace(model, tokenizer=tokenizer)


# ------------------------------------------------------------------------------- no file of that name


def _resolve_elsewhere(path: str, reach: Reach) -> Model:
    """The model that a reference names which is no path: by its scheme, else a repository of the Hub."""
    scheme = _SCHEME.match(path)
    if scheme is None and not _is_repository(path):
        raise _missing(path)
    module = _ELSEWHERE[scheme[1].lower() if scheme else "hf"]
    source = import_module(f"{__name__}.{module}")
    return cast("Model", source.resolve(path, reach))


def _missing(path: str) -> TemplatelintError:
    if not Path(path).is_absolute() and _homeless():
        return TemplatelintError(f"no such file: {path}", help="the working directory is gone: give absolute paths")
    folder = Path(path).parent
    if opening.status(str(folder)) is None:
        return TemplatelintError(f"no such file: {path}", help=f"there is no folder {folder}")
    close = nearest(Path(path).name, _some_names(folder))
    hints = [f"did you mean {folder / close}?"] if close else []
    hints += [f"the repository of that name is hf:{path}"] if _named_as_repository(path) else []
    return TemplatelintError(f"no such file: {path}", help=" ".join(hints) or None)


def _homeless() -> bool:
    """Whether the working directory was deleted under us."""
    try:
        Path.cwd()
    except OSError:
        return True
    return False


def _is_repository(path: str) -> bool:
    """Whether a path that does not exist is rather the name of a model on the Hub."""
    if not _named_as_repository(path):
        return False
    return "@" in path or ":" in path or not Path(path.split("/", 1)[0]).is_dir()


def _named_as_repository(path: str) -> bool:
    return _REPOSITORY.fullmatch(path) is not None and not path.lower().endswith(_FILE_ENDINGS)


def _some_names(folder: Path) -> list[str]:
    from itertools import islice

    try:
        return [entry.name for entry in islice(folder.iterdir(), _MAX_NAMES)]
    except OSError:
        return []

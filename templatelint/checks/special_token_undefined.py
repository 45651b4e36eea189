"""TL607: a special token that the template prints, or at which answers end, is none that the model's files define."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import nodes

from templatelint.checks import _tokens
from templatelint.engines import tokenizing
from templatelint.engines.assumed import taken_for
from templatelint.model import Fault
from templatelint.reading import shortened, turns
from templatelint.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Impact, Token
    from templatelint.syntax import Syntax
    from templatelint.view import View

CASES = ("chat-turns",)

_NAMED = ("eos_token", "bos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_EOS_KEY = "tokenizer.ggml.eos_token_id"
_WORDS = ("None", "none", "null", "undefined")


def check(view: View) -> Iterator[Fault]:
    """Tell of an end that is assumed, and of each token that is printed without a question whether there is one."""
    _tokens.read_tokens(view)
    special = view.model.tokenizer.special_tokens
    ends = _assumed_end(view)
    if ends is not None:
        yield _ends_at_text(view, ends)
    yield from _strange(view)
    missing = [name for name in _NAMED if not special.get(name) and name in view.template.source]
    if ends is not None and "eos_token" in missing:
        missing.remove("eos_token")
    if not missing:
        return
    syntax = view.syntax
    printed = _printed(syntax)
    for name in missing:
        if name in printed and not _named_so(view, name):
            yield _fault(view, syntax, name, printed[name])


def _assumed_end(view: View) -> Token | None:
    """The token of ordinary text that llama.cpp takes for EOS, of a GGUF that names none of its tokens.

    What it takes for EOS always ends generation: `llama_vocab::impl::load` puts it among those that do.
    """
    tokenizer = view.model.tokenizer
    taken = taken_for(tokenizer, "eos_token") if view.engine in tokenizing.LLAMA else ""
    if not taken or tokenizer.special_tokens.get("eos_token") or tokenizer.vocabulary is None:
        return None
    token = tokenizer.vocabulary.token(taken)
    return token if token is not None and token.type in {"normal", "byte"} else None


def _ends_at_text(view: View, token: Token) -> Fault:
    facts = view.model.tokenizer.facts
    named = facts.get(_EOS_KEY)
    lacks = f"{_EOS_KEY} is {named}, which the vocabulary does not have" if named is not None else f"no {_EOS_KEY}"
    return Fault(
        message=f"{lacks}: llama.cpp takes {token.text!r} (id {token.id}) for EOS, and ends every answer at it",
        help=f"set {_EOS_KEY} to the id of the token that ends answers, or convert the model again",
        cases=view.ids("chat-turns"),
        cause="eos_token",
        span=view.mention("eos_token", "messages"),
        impact="breaks",
    )


def _strange(view: View) -> Iterator[Fault]:
    """What the files name for EOS and BOS is no token of theirs, or one is where the other belongs."""
    tokens = view.model.tokenizer.vocabulary
    special = view.model.tokenizer.special_tokens
    eos, bos = special.get("eos_token", ""), special.get("bos_token", "")
    found = tokens.token(eos) if tokens is not None and eos else None
    if tokens is not None and found is not None and found.id >= tokens.size:
        yield Fault(
            message=f"eos_token is {eos!r}, which the vocabulary of {tokens.size:,} does not have: loading adds it as "
            f"id {found.id:,}, which the model never learned to write",
            help="name a token of tokenizer.json in tokenizer_config.json",
            cases=view.ids("chat-turns"),
            cause="eos_token lacking",
            span=view.mention("eos_token", "messages"),
            impact="degrades",
        )
    if tokenizing.ends_text(bos) and eos and not tokenizing.ends_text(eos):
        yield Fault(
            message=f"BOS is {bos!r}, which ends texts in every model that has it, and EOS is {eos!r}: "
            "the two are swapped",
            help="exchange the ids of BOS and EOS in the model's files",
            cases=view.ids("chat-turns"),
            cause="bos_token ends",
            span=view.mention("bos_token", "messages"),
            impact="degrades",
        )


def _fault(view: View, syntax: Syntax, name: str, node: nodes.Name) -> Fault:
    taken = taken_for(view.model.tokenizer, name) if view.engine in tokenizing.LLAMA else ""
    what, impact = _assumed(name, taken) if taken else _effect(view, name)
    return Fault(
        message=f"the template prints `{name}`, which the tokenizer does not define: {what}",
        help=f"name the {name.removesuffix('_token').upper()} token in the model's files, or write "
        f"`{{{{ {name} or '' }}}}` where it may be missing",
        cases=view.ids("chat-turns"),
        cause=name,
        span=syntax.span(node),
        impact=impact,
    )


def _named_so(view: View, name: str) -> bool:
    """Whether the engine assumes a token for it that is a special one: that of the models of its kind."""
    taken, tokens = taken_for(view.model.tokenizer, name), view.model.tokenizer.vocabulary
    token = tokens.token(taken) if taken and tokens is not None else None
    return view.engine in tokenizing.LLAMA and token is not None and token.type == "control"


def _assumed(name: str, taken: str) -> tuple[str, Impact]:
    ends = ", and ends generation at it" if name == "eos_token" else ""
    return f"llama.cpp takes {taken!r} for it{ends}", "breaks" if ends else "degrades"


def _effect(view: View, name: str) -> tuple[str, Impact]:
    """What a prompt shows of it, and what that does."""
    error = view.raised("chat-turns")
    if error is not None and name in error.message:
        return f"the render fails with {shortened(error.message)!r}", "breaks"
    prompt = view.prompt("chat-turns")
    anatomy = turns(prompt, view.case("chat-turns"))
    if name == "eos_token" and anatomy is not None:
        follows = (anatomy.assistant_to_user + anatomy.user_header).strip()
        word = next((word for word in _WORDS if follows.startswith(word)), "")
        if word:
            return f"{word!r} stands where an answer ends", "breaks"
        if not anatomy.assistant_to_user.strip():
            return "nothing stands where an answer ends", "breaks"
    word = next((word for word in _WORDS if prompt.lstrip().startswith(word)), "")
    if name == "bos_token" and word:
        return f"prompts begin with {word!r}", "breaks"
    return "nothing stands there", "informs"


def _printed(syntax: Syntax) -> dict[str, nodes.Name]:
    """The names that are printed where nothing has asked whether they are there."""
    found: dict[str, nodes.Name] = {}
    asked = _asked(syntax)
    for node in walk(syntax.root):
        if isinstance(node, nodes.Output):
            for name in _outputs(node):
                if name.name in _NAMED and name.name not in asked:
                    found.setdefault(name.name, name)
    return found


def _outputs(output: nodes.Output) -> Iterator[nodes.Name]:
    """The names whose values are printed as they are, alone or joined to other text."""
    pending: list[nodes.Node] = list(output.nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, nodes.Name):
            yield node
        elif isinstance(node, (nodes.Add, nodes.Concat)):
            pending += node.iter_child_nodes()
        elif isinstance(node, nodes.CondExpr):
            pending += [node.expr1, *([node.expr2] if node.expr2 is not None else [])]


def _asked(syntax: Syntax) -> frozenset[str]:
    """The names that a condition looks at, or that the template sets itself."""
    found: set[str] = set()
    for node in walk(syntax.root):
        if isinstance(node, (nodes.If, nodes.CondExpr)):
            found |= {name.name for name in walk(node.test) if isinstance(name, nodes.Name)}
        elif isinstance(node, nodes.Assign):
            found |= {name.name for name in walk(node.target) if isinstance(name, nodes.Name)}
        elif isinstance(node, nodes.Or) and isinstance(node.left, nodes.Name):
            found.add(node.left.name)
    return frozenset(found)

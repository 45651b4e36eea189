"""A template's source → what real transformers, and our llama.cpp, render of the cases: what mutants are held against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from templatelint import cases
from templatelint.cases import FIXED_NOW, to_form
from templatelint.engines.llamacpp.engine import engine
from templatelint.model import Origin, RenderError, Template, Tokenizer
from mutations.claims import Effect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.model import Case
    from mutations.claims import Claim

_TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
_FORMS = ("", "+shortids", "+nogen", "+wire")

Prompts = dict[str, str | None]


@cache
def _cases() -> Mapping[str, Case]:
    ids = [case_id for case_id in cases.all_cases() if case_id != "image-user"]
    return {f"{case_id}{form}": cases.get(f"{case_id}{form}") for form in _FORMS for case_id in ids}


def by_transformers(source: str) -> Prompts:
    """Case id → the prompt that `apply_chat_template` gives; None where it raises."""
    from transformers.utils.chat_template_utils import _compile_jinja_template, render_jinja_template

    try:
        _compile_jinja_template(source)
    except Exception:  # noqa: BLE001 (whatever it is, nothing renders)
        return dict.fromkeys(_cases())
    prompts: Prompts = {}
    for case_id, case in _cases().items():
        request = to_form(case.request, case.form or "native")
        given: dict[str, Any] = {**_TOKENS, **request.variables}
        try:
            rendered, _ = render_jinja_template(
                [list(request.messages)],
                tools=None if request.tools is None else list(request.tools),
                chat_template=source,
                add_generation_prompt=request.add_generation_prompt,
                **given,
            )
        except Exception:  # noqa: BLE001 (templates reach every exception there is)
            prompts[case_id] = None
        else:
            prompts[case_id] = rendered[0]
    return prompts


def by_llamacpp(source: str) -> Prompts:
    """Case id → the prompt of llama.cpp, as the engine renders it that is held against the real one."""
    template = Template("default", source, Origin("chat_template.jinja", source))
    loaded = engine("llama.cpp").load(template, Tokenizer(_TOKENS, assumed=True))
    if isinstance(loaded, RenderError) or loaded.refusal is not None:
        return dict.fromkeys(_cases())
    return {
        case_id: loaded.render(case.request, FIXED_NOW).prompt
        for case_id, case in _cases().items()
        if case.form is None
    }


@dataclass(frozen=True)
class Original:
    """A template as it is, and what it renders."""

    source: str
    transformers: Prompts
    llamacpp: Prompts

    @classmethod
    def of(cls, source: str) -> Original:
        """Render it."""
        return cls(source, by_transformers(source), by_llamacpp(source))

    def bears_out(self, mutant: str, claim: Claim) -> str | None:
        """The case and the engine that show the claim; None where none does."""
        for name, before, render in (
            ("transformers", self.transformers, by_transformers),
            ("llama.cpp", self.llamacpp, by_llamacpp),
        ):
            for effect in _effects(before, render(mutant)):
                if claim(effect):
                    return f"{effect.case.id} {name}"
        return None

    def same(self, mutant: str) -> bool:
        """Whether every case renders to the same bytes, or as before to none, on both."""
        return by_transformers(mutant) == self.transformers and by_llamacpp(mutant) == self.llamacpp


def _effects(before: Prompts, after: Prompts) -> Iterator[Effect]:
    for case_id, prompt in before.items():
        if prompt is not None:
            yield Effect(_cases()[case_id], prompt, after[case_id])

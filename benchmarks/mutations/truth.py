"""A template's source → what real transformers, and our llama.cpp, render of the cases: the truth about mutants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from mutations.claims import Effect
from templatelint import cases
from templatelint.cases import FIXED_NOW, to_form
from templatelint.engines.llamacpp.engine import engine
from templatelint.model import Origin, RenderError, Template, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mutations.claims import Claim
    from templatelint.model import Case

_TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
_FORMS = ("", "+shortids", "+nogen")

Prompts = dict[str, str | None]


@cache
def _cases() -> Mapping[str, Case]:
    ids = [case_id for case_id in cases.all_cases() if case_id != "image-user"]
    return {f"{case_id}{form}": cases.get(f"{case_id}{form}") for form in _FORMS for case_id in ids}


def by_transformers(source: str) -> Iterator[tuple[str, str | None]]:
    """Case id and the prompt that `apply_chat_template` gives, None where it raises; one after the other."""
    from transformers.utils.chat_template_utils import _compile_jinja_template, render_jinja_template

    try:
        _compile_jinja_template(source)
    except Exception:  # noqa: BLE001 (whatever it is, nothing renders)
        yield from dict.fromkeys(_cases()).items()
        return
    for case_id, case in _cases().items():
        request = to_form(case.request, "native")
        given: dict[str, Any] = {**_TOKENS, **request.variables}
        try:
            rendered = render_jinja_template(
                [[dict(message) for message in request.messages]],
                tools=None if request.tools is None else [dict(tool) for tool in request.tools],
                chat_template=source,
                add_generation_prompt=request.add_generation_prompt,
                **given,
            )
        except Exception:  # noqa: BLE001 (templates reach every exception there is)
            yield case_id, None
        else:
            yield case_id, rendered[0][0]


def by_llamacpp(source: str) -> Iterator[tuple[str, str | None]]:
    """Case id and the prompt of llama.cpp, by the engine that is held against the real one elsewhere."""
    template = Template("default", source, Origin("chat_template.jinja", source))
    loaded = engine("llama.cpp").load(template, Tokenizer(_TOKENS, assumed=True))
    for case_id, case in _cases().items():
        if isinstance(loaded, RenderError) or loaded.refusal is not None:
            yield case_id, None
        else:
            yield case_id, loaded.render(case.request, FIXED_NOW).prompt


@dataclass(frozen=True)
class Original:
    """A template as it is, and what it renders."""

    source: str
    transformers: Prompts
    llamacpp: Prompts

    @classmethod
    def of(cls, source: str) -> Original:
        """Render it."""
        return cls(source, dict(by_transformers(source)), dict(by_llamacpp(source)))

    def bears_out(self, mutant: str, claim: Claim) -> str | None:
        """The case and the engine that show the claim; None where none does."""
        for name, before, render in (
            ("transformers", self.transformers, by_transformers),
            ("llama.cpp", self.llamacpp, by_llamacpp),
        ):
            for case_id, after in render(mutant):
                prompt = before[case_id]
                if prompt is not None and claim(Effect(_cases()[case_id], prompt, after)):
                    return f"{case_id} {name}"
        return None

    def same(self, mutant: str) -> bool:
        """Whether every case renders to the same bytes, or as before to none, on both."""
        return all(
            before[case_id] == after
            for before, render in ((self.transformers, by_transformers), (self.llamacpp, by_llamacpp))
            for case_id, after in render(mutant)
        )

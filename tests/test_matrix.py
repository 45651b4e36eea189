from __future__ import annotations

from templatelint import cases, engines, matrix
from templatelint.model import Model, Origin, Template

HANGS_WHERE_REASONING_HAS_ALIASES = (
    "{% for m in messages %}{{ m.content }}{% if m.thinking %}"
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{% endif %}{% endfor %}"
)


def _observe(source: str, *names: str, case_ids: tuple[str, ...]) -> matrix.Matrix:
    template = Template("default", source, Origin("t.jinja", source))
    model = Model("t.jinja", "file", (template,))
    return matrix.observe(model, template, [engines.get(name) for name in names], [cases.get(c) for c in case_ids])


def test_an_engine_that_hangs_takes_no_other_of_its_renderer_with_it() -> None:
    case_ids = ("chat-basic", "reasoning-history", "chat-turns")
    observed = _observe(
        HANGS_WHERE_REASONING_HAS_ALIASES, "transformers@4.57", "transformers", "transformers@5.20", case_ids=case_ids
    )
    for name in ("transformers@4.57", "transformers@5.20"):
        assert all(observed.cells[case_id, name].prompt for case_id in case_ids)
    assert observed.cells["chat-basic", "transformers"].prompt
    hung = observed.cells["reasoning-history", "transformers"].error
    assert hung is not None
    assert hung.kind == "timeout"
    assert ("chat-turns", "transformers") in observed.skipped


def test_an_engine_that_hangs_while_it_loads_takes_no_other_with_it() -> None:
    folded = "{{ ('a' * 999999)|" + "|".join(["replace('a', 'aa')"] * 60) + " }}"
    observed = _observe(folded, "transformers", "transformers@5.20", case_ids=("chat-basic",))
    for name in ("transformers", "transformers@5.20"):
        refusal = observed.loads[name]
        assert refusal is not None
        assert refusal.out_of_budget


def test_what_an_engine_would_do_with_a_request_may_not_be_known() -> None:
    chatml = "{% for m in messages %}{{ m.content }}{% endfor %}"
    observed = _observe(chatml, "ollama", "transformers", case_ids=("chat-basic", "chat-basic+nogen"))
    assert observed.skipped == {
        ("chat-basic+nogen", "ollama"): "ollama cannot be asked to leave the generation prompt out"
    }
    assert set(observed.cells) == {
        ("chat-basic", "ollama"),
        ("chat-basic", "transformers"),
        ("chat-basic+nogen", "transformers"),
    }


def test_what_a_cell_makes_worth_rendering_is_rendered_too_and_once() -> None:
    source = "{% for m in messages %}{{ m.content }}{% endfor %}"
    template = Template("default", source, Origin("t.jinja", source))
    model = Model("t.jinja", "file", (template,))
    observed = matrix.observe(
        model,
        template,
        [engines.get("transformers")],
        [cases.get("chat-basic")],
        further=lambda cells: (
            ["chat-turns"] if "chat-turns" not in cells else ["chat-basic", "chat-turns", "chat-system"]
        ),
    )
    assert set(observed.of("transformers")) == {"chat-basic", "chat-turns", "chat-system"} == set(observed.cases)
    assert all(cell.prompt for cell in observed.of("transformers").values())

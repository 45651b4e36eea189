from __future__ import annotations

import subprocess
import sys

import pytest

from templatelint import engines
from templatelint.engines import DEFAULT_ENGINES, ENGINES, available, get
from templatelint.errors import TemplatelintError

# every engine id and renderer id of the command-line contract
IDS = [
    "transformers",
    "transformers@4.57",
    "transformers@5.20",
    "llama.cpp",
    "vllm",
    "sglang",
    "mlx-lm",
    "llama-cpp-python",
    "mistral.rs",
    "tgi",
    "transformers.js",
    "lmstudio",
    "ollama",
]


def test_the_catalogue_is_complete_and_in_order() -> None:
    assert list(ENGINES) == IDS
    assert {entry.renderer for entry in ENGINES.values()} == {"jinja2", "llama.cpp", "minijinja", "hf-jinja"}
    assert set(DEFAULT_ENGINES) < set(IDS)


@pytest.mark.parametrize("name", IDS)
def test_an_engine_is_there_or_says_why_not(name: str) -> None:
    entry = ENGINES[name]
    assert entry.modelled
    if name in available():
        assert entry.install
        assert not entry.why_not
        engine = get(name)
        assert (engine.name, engine.renderer, engine.version) == (name, entry.renderer, entry.modelled)
    else:
        with pytest.raises(TemplatelintError, match=rf"^engine {name} cannot be used here: {entry.why_not}$") as raised:
            get(name)
        assert raised.value.help == entry.install


@pytest.mark.parametrize(
    ("word", "match"),
    [("transfomers", "transformers"), ("llamacpp", "llama.cpp"), ("VLLM", "vllm"), ("sg-lang", "sglang")],
)
def test_a_mistyped_engine_has_a_nearest_match(word: str, match: str) -> None:
    with pytest.raises(TemplatelintError, match=f'^unknown engine "{word}"$') as raised:
        get(word)
    assert raised.value.help
    assert raised.value.help.startswith(f"did you mean {match}?")


def test_transformers_runs_the_renderer_itself_on_python_data() -> None:
    engine = get("transformers")
    assert (engine.version, engine.emulated, engine.client_form) == ("5.24.0", False, "native")


def test_the_catalogue_costs_no_renderer() -> None:
    program = f"import sys, {engines.__name__}; print([m for m in ('jinja2', 'difflib', 'json') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"

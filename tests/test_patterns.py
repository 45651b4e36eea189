from __future__ import annotations

import os
from pathlib import Path

import pytest

from templatelint.patterns import Pattern

FILES = (
    "a.jinja",
    "ops/a.jinja",
    "ops/b.txt",
    "ops/[c].jinja",
    "ops/sub/b.jinja",
    "ops/sub/deep/b.jinja",
    "ops/.old/a.jinja",
    "[p]/x/a.jinja",
    "hub/blobs/deadbeef",
)
LINKS = {
    "ops/link.jinja": "../elsewhere.jinja",
    "ops/folder": "../../outside",
    "hub/snapshots/rev/chat_template.jinja": "../../blobs/deadbeef",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "project"
    for name in (*FILES, "elsewhere.jinja", "../outside/o.jinja"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    for name, target in LINKS.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).symlink_to(target)
    monkeypatch.chdir(top)
    return top


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("ops/a.jinja", "ops/a.jinja"),
        ("./ops/a.jinja", "ops/a.jinja"),
        ("ops//./a.jinja", "ops/a.jinja"),
        ("ops/sub/../a.jinja", "ops/a.jinja"),
        ("../project/ops/a.jinja", "ops/a.jinja"),
        ("TOP/ops/a.jinja", "ops/a.jinja"),
        ("ops/*.jinja", "ops/a.jinja ops/[c].jinja ops/link.jinja"),
        ("./ops/*.jinja", "ops/a.jinja ops/[c].jinja ops/link.jinja"),
        ("TOP/ops/?.jinja", "ops/a.jinja"),
        ("ops/[ab].jinja", "ops/a.jinja"),
        ("ops/[c].jinja", "ops/[c].jinja"),
        ("[p]/*/a.jinja", "[p]/x/a.jinja"),
        ("TOP/[p]/x/*.jinja", "[p]/x/a.jinja"),
        ("ops/sub", "ops/sub/b.jinja ops/sub/deep/b.jinja"),
        ("ops/s*", "ops/sub/b.jinja ops/sub/deep/b.jinja"),
        ("ops/sub/", "ops/sub/b.jinja ops/sub/deep/b.jinja"),
        ("ops/**/b.jinja", "ops/sub/b.jinja ops/sub/deep/b.jinja"),
        ("ops/**/a.jinja", "ops/a.jinja"),
        ("ops/**/**/deep/*", "ops/sub/deep/b.jinja"),
        ("**/deep/**", "ops/sub/deep/b.jinja"),
        ("**/a.jinja", "a.jinja ops/a.jinja [p]/x/a.jinja"),
        ("ops/.old/*", "ops/.old/a.jinja"),
        ("ops/link.jinja", "ops/link.jinja"),
        ("ops/folder/*", "ops/folder/o.jinja"),
        ("ops/*/o.jinja", "ops/folder/o.jinja"),
        ("../outside/*", "../outside/o.jinja ops/folder/o.jinja"),
        ("hub/snapshots/*", "hub/snapshots/rev/chat_template.jinja"),
        ("hub/snapshots/*/chat_template.jinja", "hub/snapshots/rev/chat_template.jinja"),
        ("hub/snapshots/**", "hub/snapshots/rev/chat_template.jinja"),
        ("hub/blobs/*", "hub/blobs/deadbeef hub/snapshots/rev/chat_template.jinja"),
        ("a.jinja", "a.jinja"),
        ("{a,b}.jinja", ""),
        ("ops/*/*/*/*/*", ""),
        ("gone/*", ""),
    ],
)
def test_the_files_that_a_pattern_means(project: Path, text: str, means: str) -> None:
    pattern = Pattern(text.replace("TOP", str(project)), project)
    every = [*FILES, *LINKS, "ops/folder/o.jinja", "../outside/o.jinja"]
    wanted = set(means.split())
    assert {name for name in every if pattern.means(name) and Path(name).is_file()} == wanted
    assert {name for name in every if pattern.means(project / name) and Path(name).is_file()} == wanted
    # and what a walk finds is what is meant, but for what a link from elsewhere leads to
    found = {os.path.relpath(path) for path, meant in pattern.looked_at() if meant}
    assert found <= wanted
    assert {os.path.realpath(name) for name in found} == {os.path.realpath(name) for name in wanted}


@pytest.mark.parametrize(
    ("text", "path", "means"),
    [
        ("a.jinja", "ops/a.jinja", True),
        ("a.jinja", "ops/.old/a.jinja", True),
        ("sub", "ops/sub/deep/b.jinja", True),
        ("su?/", "ops/sub/b.jinja", True),
        ("./a.jinja", "ops/a.jinja", False),
        ("./a.jinja", "a.jinja", True),
        ("*", "../outside/o.jinja", False),
        ("project", "a.jinja", False),
        ("*.jinja", "ops/link.jinja", True),
    ],
)
def test_a_plain_name_may_mean_all_that_are_called_so(project: Path, text: str, path: str, means: bool) -> None:
    assert Pattern(text, project, anywhere=True).means(path) is means


@pytest.mark.parametrize(("text", "path"), [("a.jinja", "ops/a.jinja"), ("sub", "ops/sub/b.jinja")])
def test_or_only_what_is_called_so_in_the_folder(project: Path, text: str, path: str) -> None:
    assert not Pattern(text, project).means(path)


@pytest.mark.parametrize(
    ("text", "plain"), [("gone.jinja", "gone.jinja"), ("ops/[c].jinja", "ops/[c].jinja"), ("ops/[d].jinja", None)]
)
def test_one_path_is_plain_whatever_signs_its_name_holds(project: Path, text: str, plain: str | None) -> None:
    assert Pattern(text, project).plain == (plain and str(project / plain))


def test_a_project_is_the_same_through_a_link(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked = project.parent / "linked"
    linked.symlink_to(project)
    assert Pattern("ops/*.jinja", linked).means("ops/a.jinja")
    assert Pattern("ops/folder/*", linked).means("ops/folder/o.jinja")
    assert Pattern(f"{linked}/ops/*.jinja", project).means("ops/a.jinja")
    monkeypatch.chdir(linked)
    assert Pattern("ops/*.jinja", project).means(linked / "ops" / "a.jinja")


def test_links_that_go_round_are_walked_once(project: Path) -> None:
    (project / "ops" / "round").symlink_to(project / "ops")
    found = [path for path, meant in Pattern("ops/**/a.jinja", project).looked_at() if meant]
    assert found == [str(project / "ops" / "a.jinja")]


def test_a_pattern_looks_only_where_something_can_be_meant(project: Path) -> None:
    looked = {os.path.relpath(path, project) for path, _ in Pattern("ops/s*/*.jinja", project).looked_at()}
    assert "ops/sub/b.jinja" in looked
    assert not any(path.startswith(("hub", "ops/sub/deep/", "ops/folder/")) for path in looked)


@pytest.mark.parametrize(
    "text", ["\0", "\ud800/*", "x" * 5_000, "../" * 200 + "*/a", "[", "*" * 200 + "b", "**", "/", "."]
)
def test_no_pattern_is_fatal(project: Path, text: str) -> None:
    pattern = Pattern(text, project, anywhere=True)
    assert pattern.means("a.jinja") in {True, False}
    assert pattern.means("a" * 200) in {True, False}
    assert next(iter(pattern.looked_at()), ("", False))[1] in {True, False}

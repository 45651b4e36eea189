"""HTML as the tests of pages read it: elements, their text, where links lead; what a parser would stumble over."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def own(self) -> str:
        return "".join(child for child in self.children if isinstance(child, str))

    @property
    def all(self) -> list[Element]:
        found = [self]
        for child in self.children:
            if isinstance(child, Element):
                found += child.all
        return found

    def find(self, tag: str, **attributes: str) -> list[Element]:
        """Elements of that name in here with these attributes (`class_`: one of the words)."""
        return [
            one
            for one in self.all
            if one.tag == tag
            and all(
                value in one.attributes.get("class", "").split()
                if name == "class_"
                else one.attributes.get(name) == value
                for name, value in attributes.items()
            )
        ]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice in {self.get_starttag_text()}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}> at {self.getpos()}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:80]}")


def read(page: str) -> Element:
    """The root element; every tag must be closed in its turn."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root], f"left open: {[one.tag for one in reader.open[1:]]}"
    (html,) = reader.root.find("html")
    return html


def sound(text: str, tags: re.Pattern[str], attributes: re.Pattern[str], home: str) -> Element:
    """The page, when it is well-formed, made of these elements only, and its links lead somewhere."""
    html = read(text)
    ids = [one.attributes["id"] for one in html.all if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    for one in html.all:
        assert tags.fullmatch(one.tag), one.tag
        assert all(map(attributes.fullmatch, one.attributes)), one.attributes
        target = one.attributes.get("href", home)
        assert target == "data:," or target.removeprefix("#") in ids, target
        assert one.attributes.get("aria-labelledby", ids[0]) in ids
    assert len(html.find("script")) == len(html.find("style")) == 1
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", text)
    text.encode()
    return html

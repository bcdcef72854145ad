"""Reading a page in tests: its tags, its visible text and the data of its figures."""

import gzip
import json
import re
from base64 import b85decode
from html.parser import HTMLParser
from typing import Any


class Reader(HTMLParser):
    """Collects tags, attributes and what is visible."""

    EMPTY = frozenset({"meta", "link", "br", "circle", "rect", "path", "polyline", "use"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.inside = ""  # the id of the element that began last
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.data: dict[str, Any] = {}

    @property
    def words(self) -> str:
        """All that is visible, in one line."""
        return " ".join(" ".join(self.text).split())

    def values(self, attribute: str) -> list[str]:
        """List the values of an attribute, wherever it is."""
        return [value for _, name, value in self.attributes if name == attribute]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.inside = dict(attrs).get("id") or ""
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)
        elif self.open and self.open[-1] == "script" and self.inside == "figures":
            self.data = _unpack(
                json.loads(gzip.decompress(b85decode(data.translate(str.maketrans(",.:", "<>&")))))
            )


def _unpack(packed: dict[str, Any]) -> dict[str, Any]:
    """Put the lists of traces in the place of their numbers."""
    for figure in packed["figures"].values():
        for trace in figure["traces"]:
            trace |= {name: packed["lists"][trace[name]] for name in ("x", "y", "text") if name in trace}
    return dict(packed["figures"])


def read(page: str) -> Reader:
    """Read a page, and check that every tag is closed."""
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader


def resolved(value: Any, colours: tuple[str, ...]) -> Any:
    """Replace names of colours by colours, as the page does it."""
    if isinstance(value, dict):
        names = {"traces": "data"}
        return {
            names.get(key, key): item if key == "meta" else resolved(item, colours)
            for key, item in value.items()
            if key not in ("env", "multiples")
        }
    if isinstance(value, list):
        return [resolved(item, colours) for item in value]
    if isinstance(value, str) and (match := re.fullmatch(r"@([a-z]+)(\d*)(/[\d.]+)?", value)):
        return colours[int(match[2])] if match[2] else "#123456"
    return value

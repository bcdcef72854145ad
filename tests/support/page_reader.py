"""Reading a page in tests: its tags, its visible text and its figures."""

from html.parser import HTMLParser


class DrawnFigure:
    """A figure of a page: whose lines and points are in it, and its words."""

    def __init__(self) -> None:
        self.agents: list[str] = []
        self.text: list[str] = []


class Reader(HTMLParser):
    """Collects tags, attributes and what is visible."""

    EMPTY = frozenset({"meta", "link", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.figures: dict[str, DrawnFigure] = {}

    @property
    def words(self) -> str:
        """All that is visible, in one line."""
        return " ".join(" ".join(self.text).split())

    def values(self, attribute: str) -> list[str]:
        """List the values of an attribute, wherever it is."""
        return [value for _, name, value in self.attributes if name == attribute]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "figure":
            self.figures[dict(attrs)["id"] or ""] = DrawnFigure()
        agent = dict(attrs).get("data-agent")
        if agent and "figure" in self.open:
            list(self.figures.values())[-1].agents.append(agent)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)
            if "figure" in self.open and self.open[-1] == "text":
                list(self.figures.values())[-1].text.append(data)


def read(page: str) -> Reader:
    """Read a page, and check that every tag is closed."""
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader

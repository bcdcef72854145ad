"""Tables of pages that a command makes: Markdown between two marks."""

from collections.abc import Iterable, Sequence
from pathlib import Path

END = "<!-- end of the table -->\n"


def to_markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a table whose first column is flush left, the others flush right."""
    lines = (header, ["---", *["--:"] * (len(header) - 1)], *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def write_table(page: Path, command: str, table: str) -> None:
    """Write a table between its marks, of which the first names the command."""
    before, begin, rest = page.read_text().partition(f"<!-- table: {command} -->\n")
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{page} has no place for the table of: {command}")
    page.write_text(f"{before}{begin}{table}{end}{after}")

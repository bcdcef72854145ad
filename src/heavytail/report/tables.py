"""Tables of a page as plain records; the macros of templates/parts.html.j2 turn them into HTML."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from heavytail.report.theme import AgentStyle


class Link(NamedTuple):
    """A link to another place in the page."""

    target: str  # an id
    text: str


class TableCell(NamedTuple):
    """A cell: lines, smaller ones below them, and its sort key."""

    lines: Sequence[str | Link]
    sort: float | str | None = None  # by default the text of the cell
    kind: str = ""  # a class of the style sheet; "number" does not wrap
    notes: Sequence[str] = ()  # small, below the lines
    more: str = ""  # shown on demand
    style: AgentStyle | None = None  # of the agent named in it
    verdict: str = ""  # shown as a badge before the lines


class Table(NamedTuple):
    """A table that sorts by a click on a heading."""

    headings: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    name: str = ""  # its id in the page, if links lead to it


def make_text_cell(value: Any) -> TableCell:
    """Make a cell of plain text."""
    return TableCell([str(value)])


def make_number_cell(text: str, sort: float, note: str = "") -> TableCell:
    """Make a cell with a number, and a note below it; a missing number is sorted before all others."""
    key = "" if math.isnan(sort) else float(f"{sort:.6g}")
    return TableCell([text], key, "number", [note] if note else [])


def make_agent_cell(style: AgentStyle, label: str) -> TableCell:
    """Make a cell with an agent's name beside its line and marker."""
    return TableCell([label], label, style=style)


def format_parameters(values: Mapping[str, Any]) -> str:
    """Write parameters in one line.

    >>> format_parameters({"scale": 0.12345, "flag": True, "law": {"alpha": 1.5}})
    'scale = 0.1235, flag = true, law = {alpha = 1.5}'
    """
    return ", ".join(f"{name} = {_format_value(value)}" for name, value in values.items())


def _format_value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.4g}"
        case dict():
            return f"{{{format_parameters(value)}}}"
    return str(value)

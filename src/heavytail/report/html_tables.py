"""Tables of a page.

They sort by a click on a heading and scroll inside themselves where there is no room.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from heavytail.report.theme import STROKES, AgentStyle

GLYPHS = {
    "circle": '<circle cx="17" cy="6" r="3.6"/>',
    "square": '<rect x="13.6" y="2.6" width="6.8" height="6.8"/>',
    "diamond": '<path d="M17 1.6 21.4 6 17 10.4 12.6 6z"/>',
    "triangle-up": '<path d="M17 1.8 21.2 9.4H12.8z"/>',
    "x": (
        '<path d="M13.2 3.6 14.6 2.2 17 4.6 19.4 2.2 20.8 3.6 18.4 6 20.8 8.4 19.4 9.8 17 7.4 14.6 9.8'
        ' 13.2 8.4 15.6 6z"/>'
    ),
    "triangle-down": '<path d="M17 10.2 21.2 2.6H12.8z"/>',
    "cross": '<path d="M15.7 2H18.3V4.7H21V7.3H18.3V10H15.7V7.3H13V4.7H15.7z"/>',
    "star": '<path d="M17 1.4 18.3 4.6 21.8 4.8 19.1 7 20 10.4 17 8.5 14 10.4 14.9 7 12.2 4.8 15.7 4.6z"/>',
    "pentagon": '<path d="M17 1.8 21.2 4.9 19.6 9.8H14.4L12.8 4.9z"/>',
    "hexagon": '<path d="M17 1.6 20.8 3.8V8.2L17 10.4 13.2 8.2V3.8z"/>',
}


class Cell(NamedTuple):
    """A cell: what it shows, and by what it is sorted (its text if that is left out)."""

    html: str
    sort: float | str | None = None
    kind: str = ""  # a class of the style sheet; "number" is set to the right


def text(value: Any) -> Cell:
    """A cell of plain text."""
    return Cell(escape(str(value)))


def numeric(shown: str, sort: float, small: str = "") -> Cell:
    """A cell with a number, and a word about it below; one that is missing is sorted before all others."""
    below = f"<small>{escape(small)}</small>" if small else ""
    return Cell(escape(shown) + below, "" if math.isnan(sort) else sort, "number")


def table(headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, name: str = "", kind: str = "") -> str:
    """A table whose headings are buttons that sort it."""
    heads = "".join(
        f'<th scope="col"><button type="button">{escape(heading)}</button></th>' for heading in headings
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows)
    label = f' id="{escape(name)}"' if name else ""
    return (
        '<div class="scroll"><table class="sortable'
        f' {kind}"{label}><thead><tr>{heads}</tr></thead>\n<tbody>{body}</tbody></table></div>\n'
    )


def _cell(cell: Cell) -> str:
    sort = "" if cell.sort is None else f' data-sort="{escape(str(cell.sort))}"'
    kind = f' class="{cell.kind}"' if cell.kind else ""
    return f"<td{kind}{sort}>{cell.html}</td>"


def swatch(look: AgentStyle) -> str:
    """The line and the marker of an agent."""
    dashes = f' stroke-dasharray="{STROKES[look.dash]}"' if STROKES[look.dash] else ""
    line = f'<path d="M1 6H33" stroke="currentColor" stroke-width="2" fill="none"{dashes}/>'
    return (
        f'<svg class="swatch" style="color:var(--c{look.colour})" viewBox="0 0 34 12"'
        f' aria-hidden="true">{line}<g fill="currentColor">{GLYPHS[look.marker]}</g></svg>'
    )


def named(look: AgentStyle, label: str) -> Cell:
    """An agent's name beside its line."""
    return Cell(f'<span class="agent">{swatch(look)}{escape(label)}</span>', label)


def legend(env: str, agents: Sequence[tuple[str, str, str]], styles: Mapping[str, AgentStyle]) -> str:
    """A legend for all figures of an environment: a button for each agent, in groups by setting.

    Args:
        env: key of the environment.
        agents: key, label and setting of each.
        styles: how each is drawn.
    """
    groups: dict[str, list[str]] = {}
    for key, label, setting in agents:
        button = (
            f'<button type="button" aria-pressed="true" data-agent="{escape(key)}" title="click: show or'
            ' hide; double click: only this one">'
        )
        groups.setdefault(setting, []).append(f"{button}{swatch(styles[key])}{escape(label)}</button>")
    shown = "".join(
        f'<span class="group">{f"<em>{escape(setting)}</em>" if setting else ""}{"".join(buttons)}</span>'
        for setting, buttons in groups.items()
    )
    return (
        f'<div class="legend" data-env="{escape(env)}">{shown}<button type="button" class="all">show'
        " all</button></div>\n"
    )


def parameters(values: Mapping[str, Any]) -> str:
    """Parameters in one line."""
    return ", ".join(f"{name} = {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.4g}"
        case dict():
            return f"{{{parameters(value)}}}"
    return str(value)

"""What all figures for plotly.js share: their layout, axes, titles and texts."""

import math
from html import escape
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.report.figures.figure import Axis

Trace: TypeAlias = dict[str, Any]


class Multiples(NamedTuple):
    """Small multiples, which the page sets in as many columns as there is room for."""

    panels: int
    columns: int  # at most
    height: int  # pixels of each
    width: int  # pixels of each, at least
    same: bool  # whether all have one label at the left, which then stands in the first column only


class Rendered(NamedTuple):
    """Traces and layout for plotly.js, and the height of the plot in pixels."""

    traces: list[Trace]
    layout: dict[str, Any]
    height: int
    multiples: Multiples | None = None


def make_layout(x: Axis, y: Axis) -> dict[str, Any]:
    """Make the layout that all figures share."""
    font = {"color": "@ink"}
    label = {"bgcolor": "@card", "bordercolor": "@muted", "font": font, "align": "left", "namelength": -1}
    return {
        "xaxis": {**_make_axis(x, standoff=8), "showgrid": False, "showline": True},
        "yaxis": _make_axis(y, standoff=10),
        "margin": {"l": 56, "r": 14, "t": 10, "b": 48},
        "font": {**font, "family": "system-ui, sans-serif", "size": 12.5},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hoverlabel": label,
        "hovermode": "closest",
        "showlegend": False,
        "uirevision": "kept",
    }


def _make_axis(axis: Axis, standoff: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "gridcolor": "@grid",
        "linecolor": "@muted",
        "zerolinecolor": "@grid",
        "ticks": "outside",
        "tickcolor": "@muted",
        "automargin": True,
        "title": {"text": escape_text(axis.label), "standoff": standoff},
    }
    if axis.limits:
        made["range"] = [math.log10(end) if axis.log else end for end in axis.limits]
    if axis.log:
        made |= {"type": "log", "exponentformat": "power", "dtick": "D2" if axis.percent else 1}
    if axis.percent:
        made["tickformat"] = ".3~p"
    if axis.ticks:
        places, words = zip(*axis.ticks, strict=True)
        made |= {"tickvals": places, "ticktext": [escape_text(word) for word in words]}
    return made


def escape_text(text: str) -> str:
    """Escape text that plotly would read as markup: it knows some tags, and mathematics between dollars."""
    return escape(text, quote=False).replace("$", "&#36;")


def hover_text(*lines: str) -> str:
    """Lines under the pointer, in plotly's own markup; an empty <extra> hides the box with the name."""
    return "<br>".join(lines) + "<extra></extra>"


def to_json_list(values: Floats | Ints) -> list[float | None]:
    """Turn an array into a list for JSON, with six digits, which is more than a screen shows.

    What is not finite is None, which curves leave out.
    """
    return [round_number(x) for x in np.asarray(values, np.float64).tolist()]


def round_number(x: float) -> float | None:
    """Round to six digits; None for what is not finite."""
    return float(f"{x:.6g}") if math.isfinite(x) else None


def make_panel_title(title: str, axes: dict[str, str]) -> dict[str, Any]:
    """Make the title of a panel, above the middle of its axes."""
    return {
        "text": escape_text(title),
        "xref": f"{axes['xaxis']} domain",
        "yref": f"{axes['yaxis']} domain",
        "x": 0.5,
        "y": 1.0,
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
    }


def axis_number(i: int) -> str:
    """Return the number in the names of the axes of panel i; the first have none."""
    return f"{i + 1}" if i else ""

"""A section of a page, and its figures."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from heavytail.report.figures.draw import draw_panels, thin_out
from heavytail.report.figures.figure import (
    Axis,
    Curves,
    Figure,
    Plot,
    Row,
    SmallMultiples,
    Styles,
    Tiles,
    figure_file,
    figure_id,
)
from heavytail.report.figures.svg import Drawing, make_drawing
from heavytail.report.number_format import interval, number, percent
from heavytail.report.tables import Table, TableCell, make_agent_cell, make_number_cell, make_text_cell
from heavytail.report.theme import AgentStyle
from heavytail.studies.results import Agent

FIGURE_FOLDER = "figures"  # beside the page
MAX_PLACES = 6  # along a curve, in its table


class Section(NamedTuple):
    """A part of a page under a heading, rendered by the macro `kind` of templates/sections.html.j2."""

    html_id: str
    link: str  # its name at the top of the page
    title: str
    kind: str
    content: dict[str, Any]  # for the macro
    figures: "Sequence[PlacedFigure]" = ()


class DrawnPanel(NamedTuple):
    """A panel of a figure."""

    title: str
    drawing: Drawing
    words: str  # a description for those who cannot see it
    numbers: Table | None  # its data; tiles show theirs, or are too many


class PlacedFigure(NamedTuple):
    """A figure at its place in the page."""

    html_id: str
    env: str  # the legend that controls it
    figure: Figure
    panels: list[DrawnPanel]
    file: str  # its file for papers, relative to the page


class LegendEntry(NamedTuple):
    """A button that shows or hides an agent."""

    agent: str
    label: str
    style: AgentStyle


class LegendGroup(NamedTuple):
    """The agents of one setting."""

    setting: str
    entries: list[LegendEntry]


def place_figure(html_id: str, figure: Figure) -> PlacedFigure:
    """Draw a figure for its place: an environment, a family, or sweep maps."""
    name = figure_id(html_id, figure.name)
    return PlacedFigure(name, html_id, figure, list(_draw(figure, name)), figure_path(html_id, figure.name))


def _draw(figure: Figure, name: str) -> Iterator[DrawnPanel]:
    content = figure.content
    plots = [panel for _, panel in content.panels] if isinstance(content, SmallMultiples) else [content]
    for i, (plot, (title, drawn)) in enumerate(zip(plots, draw_panels(figure), strict=True)):
        words = ": ".join(part for part in (figure.title, title, _describe(plot)) if part)
        numbers = None if isinstance(plot, Tiles) else make_numbers(plot)
        yield DrawnPanel(title, make_drawing(drawn, f"{name}-{i}"), words, numbers)


def _describe(content: Plot | Tiles) -> str:
    """Describe the axes."""
    if isinstance(content, Curves | Tiles):
        return " against ".join(axis.label for axis in (content.y, content.x) if axis.label)
    return content.x.label


# The numbers of a figure


def make_numbers(content: Plot) -> Table | None:
    """Make the table of a plot's data: curves at a few places, quartiles over seeds."""
    if isinstance(content, Curves):
        return _tabulate_curves(content) if content.curves else None
    seeds = [row for row in content.rows if row.values is not None]
    headings = ["least", "first quartile", "median", "third quartile", "largest"]
    rows = [[make_agent_cell(row.style, row.label), *_list_cells(row, content.x)] for row in content.rows]
    return Table([content.x.label, *(headings if seeds else [""])], rows)


def _tabulate_curves(content: Curves) -> Table:
    x = content.curves[0].x
    at = x[thin_out(x, log=content.x.log, most=MAX_PLACES)]
    words = dict(content.x.ticks)
    headings = [f"{content.x.label} {words.get(float(place), number(float(place)))}" for place in at]
    rows = []
    for curve in content.curves:
        lines = [curve.y, *(edge for edge in (curve.low, curve.high) if edge is not None)]
        values = zip(*(np.interp(at, curve.x, line).tolist() for line in lines), strict=True)
        label = f"{curve.label}, {curve.note}" if curve.note else curve.label
        rows.append([make_agent_cell(curve.style, label), *(_make_cell(content.y, *each) for each in values)])
    for line in content.references:
        values = np.interp(at, line.x, line.y).tolist()
        rows.append([make_text_cell(line.label), *(_make_cell(content.y, value) for value in values)])
    return Table([content.y.label, *headings], rows)


def _list_cells(row: Row, axis: Axis) -> list[TableCell]:
    if row.values is None:
        return [_make_cell(axis, row.estimate, row.low, row.high)]
    return [_make_cell(axis, float(x)) for x in np.quantile(row.values, (0.0, 0.25, 0.5, 0.75, 1.0))]


def _make_cell(axis: Axis, value: float, low: float = np.nan, high: float = np.nan) -> TableCell:
    return make_number_cell((percent if axis.percent else interval)(value, low, high), value)


# Legends and files


def figure_path(*parts: str) -> str:
    """Return the path of a figure's file as the page links to it."""
    return f"{FIGURE_FOLDER}/{figure_file(*parts)}"


def make_legend(agents: Sequence[Agent], styles: Styles) -> list[LegendGroup]:
    """Make the legend for all figures of an environment, in groups by setting."""
    groups: dict[str, LegendGroup] = {}
    for agent in agents:
        group = groups.setdefault(agent.setting, LegendGroup(agent.setting, []))
        group.entries.append(LegendEntry(agent.key, agent.label, styles[agent.key]))
    return list(groups.values())

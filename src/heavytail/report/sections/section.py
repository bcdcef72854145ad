"""A section of a page, and the places for figures in it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from heavytail.report.figures.figure import Figure, Styles, figure_file, figure_id
from heavytail.report.figures.plotly_layout import Rendered
from heavytail.report.figures.render_plotly import render_plotly
from heavytail.report.theme import AgentStyle
from heavytail.studies.results import Agent

FIGURE_FOLDER = "figures"  # beside the page


class Section(NamedTuple):
    """A part of a page under its own heading, shown by the macro `kind` of templates/sections.html.j2."""

    html_id: str
    link: str  # what the top of the page calls it
    title: str
    kind: str
    content: dict[str, Any]  # what the macro shows
    figures: "Sequence[PlacedFigure]" = ()


class PlacedFigure(NamedTuple):
    """A figure at its place in the page."""

    html_id: str
    env: str  # the legend that it follows
    figure: Figure
    rendered: Rendered
    file: str  # the same for papers, relative to the page

    @property
    def plot_id(self) -> str:
        """The element that the script draws in."""
        return f"plot-{self.html_id}"


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
    """Render a figure for its place: that of an environment, of a family, or of sweep maps."""
    name = figure_id(html_id, figure.name)
    return PlacedFigure(name, html_id, figure, render_plotly(figure), figure_path(html_id, figure.name))


def figure_path(*parts: str) -> str:
    """Name the file of a figure as the page links to it."""
    return f"{FIGURE_FOLDER}/{figure_file(*parts)}"


def make_legend(agents: Sequence[Agent], styles: Styles) -> list[LegendGroup]:
    """Make the legend for all figures of an environment, in groups by setting."""
    groups: dict[str, LegendGroup] = {}
    for agent in agents:
        group = groups.setdefault(agent.setting, LegendGroup(agent.setting, []))
        group.entries.append(LegendEntry(agent.key, agent.label, styles[agent.key]))
    return list(groups.values())

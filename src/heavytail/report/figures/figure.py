"""A figure, described once and drawn once: `draw` draws it in the page and in files for papers.

A description holds the contents (numbers, names, axes) and their agents, not how they are drawn. To add a
figure of environments, register a function in a file of this folder, or in any other module:

    @register("figure", "spread")
    def spread(task: Task, styles: Styles) -> Figure | None:
        ...

It returns None if the figure does not apply.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.report.theme import AgentStyle
from heavytail.studies.results import Agent

Styles: TypeAlias = Mapping[str, AgentStyle]  # by key of agent
Segment: TypeAlias = tuple[tuple[float, float], tuple[float, float]]


class Axis(NamedTuple):
    """An axis of numbers."""

    label: str
    log: bool = False
    percent: bool = False  # its numbers are shares
    limits: tuple[float, float] | None = None  # by default those of the data
    ticks: Sequence[tuple[float, str]] = ()  # places and labels, instead of plain numbers


class AgentCurve(NamedTuple):
    """A line of an agent, with a band around it if `low` and `high` are finite."""

    agent: str  # its key, by which the legend of the page finds it
    label: str
    style: AgentStyle
    x: Ints | Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    note: str = ""  # the meaning of a second, thin and dotted line of the same agent


class ReferenceLine(NamedTuple):
    """A thin grey line beside those of agents: the best policy, a bound."""

    label: str
    x: Ints | Floats
    y: Floats
    dash: str = "solid"
    labelled: bool = False  # with its name on it, on paper


class Curves(NamedTuple):
    """Lines over one axis."""

    x: Axis
    y: Axis
    curves: Sequence[AgentCurve]
    references: Sequence[ReferenceLine] = ()


class Row(NamedTuple):
    """A number of an agent, with its interval, or a median with a point for each of its values."""

    agent: str
    label: str
    style: AgentStyle
    estimate: float
    low: float = np.nan  # a single run has no interval
    high: float = np.nan
    values: Floats | None = None


class Rows(NamedTuple):
    """A row for each agent, from the top."""

    x: Axis
    rows: Sequence[Row]
    reference: float | None = None  # a thin grey line across all rows


class SmallMultiples(NamedTuple):
    """Small figures side by side, each with its own title and axes."""

    panels: "Sequence[tuple[str, Plot]]"


Plot: TypeAlias = Curves | Rows  # contents of a pair of axes


class TileMark(NamedTuple):
    """A named point on tiles."""

    rank: int  # in the legend
    label: str
    symbol: str
    x: float
    y: float


class Panel(NamedTuple):
    """Tiles, and the drawings on them."""

    title: str
    values: Floats  # [y, x], which colours show; NaN where there is none
    texts: Sequence[Sequence[str]] = ()  # [y][x] in the tiles
    outline: Sequence[Segment] = ()
    marks: Sequence[TileMark] = ()


class ColourScale(NamedTuple):
    """The scale of the colours of tiles, which are shares; bright is good."""

    low: float
    high: float
    label: str


class Tiles(NamedTuple):
    """Panels of tiles on common axes and one scale of colours."""

    x: Axis
    y: Axis
    edges: tuple[Floats, Floats]  # on both axes, where tiles begin and end
    panels: Sequence[Panel]
    scale: ColourScale | None = None  # logarithmic, small is good; None: values are from 0 (bad) to 1 (good)
    outline_label: str = ""

    @property
    def marks(self) -> list[TileMark]:
        """The marks of all panels, in the order of the legend."""
        return sorted(mark for panel in self.panels for mark in panel.marks)


class Figure(NamedTuple):
    """A figure: its contents, and its place in the page."""

    title: str
    caption: str
    content: Plot | SmallMultiples | Tiles
    order: float = 100.0  # sorts the figures of an environment, equal ones by name
    name: str = ""  # its registered name, unique in its environment

    @property
    def is_wide(self) -> bool:
        """True if it is as wide as the page."""
        return isinstance(self.content, SmallMultiples | Tiles)


def figure_id(html_id: str, name: str) -> str:
    """Return the id of the page element that holds a figure.

    >>> figure_id("six_arms", "regret")
    'six_arms--regret'
    """
    return f"{html_id}--{name}"


def figure_file(*parts: str) -> str:
    """Name the file of a figure.

    >>> figure_file("six_arms", "regret")
    'six_arms-regret.svg'
    """
    return f"{'-'.join(parts)}.svg"


def make_curve(
    agent: Agent, styles: Styles, x: Ints | Floats, lines: Sequence[Floats], note: str = ""
) -> AgentCurve:
    """Make the curve of an agent from its middle line and, if given, the edges of its band."""
    y, *edges = lines
    low, high = edges or (None, None)
    return AgentCurve(agent.key, agent.label, styles[agent.key], x, y, low, high, note)


def count_columns(panels: int, most: int = 4) -> int:
    """Choose how many panels stand side by side, so that the last row is not much shorter than the others.

    >>> [count_columns(n) for n in (1, 4, 5, 8, 9)]
    [1, 4, 3, 4, 3]
    """
    return -(-panels // -(-panels // most))


def jitter(n: int) -> Floats:
    """Spread n points of a strip over heights from -0.5 to 0.5, the same every time.

    Multiples of the golden ratio keep neighbours apart.

    >>> jitter(3).round(2)
    array([ 0.  , -0.38,  0.24])
    """
    return np.mod(0.5 + np.arange(n, dtype=np.float64) * 0.6180339887, 1.0) - 0.5

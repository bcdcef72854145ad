"""Drawing of figures: whole, for files, or panel by panel, for the page.

Each agent's elements form a group whose id holds its key and label, by which the legend of the page finds it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.lines import Line2D

from heavytail.arrays import Floats, Ints
from heavytail.report.figures.axes import FONT, plain_text, style_axis
from heavytail.report.figures.figure import (
    AgentCurve,
    Curves,
    Figure,
    Plot,
    ReferenceLine,
    Row,
    Rows,
    SmallMultiples,
    Tiles,
    count_columns,
    jitter,
)
from heavytail.report.figures.tiles import draw_tiles
from heavytail.report.theme import DASHES, GRID, INK, MARKERS, MUTED, AgentStyle

WIDTH, PANEL_WIDTH = 4.2, 3.3  # inches of a figure, and of a panel of several
HEIGHT, ROW = 2.7, 0.32  # inches of curves, and of a row of an agent
LEGEND_ROW = 0.15  # inches
MAX_POINTS = 150  # of a line: one for every three pixels of a screen


def draw_figure(figure: Figure) -> MatplotlibFigure:
    """Draw a figure whole, with its legend."""
    content = figure.content
    if isinstance(content, Tiles):
        return draw_tiles(content, figure.title)
    panels = _list_panels(content)
    columns = count_columns(len(panels))
    rows, width = -(-len(panels) // columns), max(columns * PANEL_WIDTH, WIDTH)
    legend = {
        curve.agent: curve
        for _, panel in panels
        if isinstance(panel, Curves)
        for curve in panel.curves
        if not curve.note
    }
    height = rows * max(_height(panel) for _, panel in panels)
    longest = max((len(curve.label) for curve in legend.values()), default=1)
    legend_columns = max(1, int(width / (0.042 * longest + 0.45)))
    height += LEGEND_ROW * -(-len(legend) // legend_columns)
    drawn = MatplotlibFigure((width, height), layout="constrained")
    for i, (title, panel) in enumerate(panels):
        axes = drawn.add_subplot(rows, columns, i + 1)
        _draw_panel(axes, panel)
        axes.set_title(plain_text(title), fontsize=FONT + 1.5, color=INK)
    if legend:
        _draw_legend(drawn, list(legend.values()), legend_columns)
    return drawn


def draw_panels(figure: Figure) -> Iterator[tuple[str, MatplotlibFigure]]:
    """Draw the panels of a figure one by one, without background and legend, each with its title."""
    if isinstance(figure.content, Tiles):
        yield "", draw_tiles(figure.content)
        return
    panels = _list_panels(figure.content)
    for title, panel in panels:
        width = WIDTH if len(panels) == 1 else PANEL_WIDTH
        drawn = MatplotlibFigure((width, _height(panel)), layout="constrained")
        _draw_panel(drawn.add_subplot(), panel)
        yield title, drawn


def _list_panels(content: Plot | SmallMultiples) -> Sequence[tuple[str, Plot]]:
    return content.panels if isinstance(content, SmallMultiples) else [("", content)]


def _height(panel: Plot) -> float:
    return 0.6 + ROW * max(len(panel.rows), 2) if isinstance(panel, Rows) else HEIGHT


def _draw_panel(axes: Axes, panel: Plot) -> None:
    match panel:
        case Curves():
            _draw_curves(axes, panel)
        case Rows():
            _draw_rows(axes, panel)
        case _:
            raise TypeError(f"a figure shows curves, rows or tiles, not {type(panel).__name__}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    axes.set_axisbelow(True)


def _group(agent: AgentCurve | Row, words: str = "") -> str:
    """Return the id of a group of artists: their agent, and their tooltip in the page."""
    return f"agent:{agent.agent}\n{words or agent.label}"


# Curves


def _draw_curves(axes: Axes, content: Curves) -> None:
    for curve in content.curves:
        _draw_curve(axes, curve, content)
    for line in content.references:
        _draw_reference(axes, line)
    style_axis(axes.xaxis, content.x)
    style_axis(axes.yaxis, content.y)
    axes.grid(axis="y", color=GRID, linewidth=0.6)


def _draw_curve(axes: Axes, curve: AgentCurve, content: Curves) -> None:
    """Draw a line with its band.

    On a logarithmic axis the band ends where its lower edge is no longer above 0: the line says how it goes
    on.
    """
    some, colour = thin_out(curve.x, log=content.x.log), curve.style.paper
    x, y = curve.x[some], curve.y[some]
    if curve.note:
        gid = _group(curve, f"{curve.label}, {curve.note}")
        axes.plot(x, y, color=colour, linestyle=DASHES["dot"], linewidth=0.8, gid=gid)
        return
    axes.plot(x, y, markevery=max(1, len(x) // 7), gid=_group(curve), **_line_style(curve.style))
    if curve.low is not None and curve.high is not None:
        low, high = curve.low[some], curve.high[some]
        there = np.isfinite(low) & ((low > 0) | (not content.y.log))
        look: dict[str, Any] = {"color": colour, "alpha": 0.16, "linewidth": 0, "gid": _group(curve)}
        if there.any():
            axes.fill_between(x, low, high, where=there, **look)


def thin_out(x: Ints | Floats, *, log: bool, most: int = MAX_POINTS) -> Ints:
    """Choose at most so many points of a line, evenly along its axis.

    >>> thin_out(np.arange(1, 8), log=False, most=3), thin_out(np.arange(1, 10_001), log=True, most=3) + 1
    (array([0, 3, 6]), array([    1,   100, 10000]))
    """
    if len(x) <= most:
        return np.arange(len(x))
    at = np.log(x) if log and x[0] > 0 else np.asarray(x, np.float64)
    return np.unique(np.searchsorted(at, np.linspace(at[0], at[-1], most) - 1e-9))


def _draw_reference(axes: Axes, line: ReferenceLine) -> None:
    """Draw a grey line, with its name on it if it is labelled."""
    axes.plot(line.x, line.y, color=MUTED, linewidth=0.8, linestyle=DASHES[line.dash], zorder=0)
    if line.labelled:
        middle = (float(line.x[len(line.x) // 2]), float(line.y[len(line.x) // 2]))
        offset: dict[str, Any] = {"xytext": (0, 4), "textcoords": "offset points", "ha": "right"}
        axes.annotate(plain_text(line.label), middle, color=MUTED, fontsize=FONT - 2, **offset)


def _line_style(style: AgentStyle) -> dict[str, Any]:
    return {
        "color": style.paper,
        "linestyle": DASHES[style.dash],
        "marker": MARKERS[style.marker],
        "markersize": 3.2,
        "linewidth": 1.2,
    }


def _draw_legend(drawn: MatplotlibFigure, curves: Sequence[AgentCurve], columns: int) -> None:
    handles = [Line2D([], [], label=plain_text(curve.label), **_line_style(curve.style)) for curve in curves]
    drawn.legend(
        handles=handles,
        loc="outside lower center",
        ncols=columns,
        fontsize=FONT - 0.5,
        frameon=False,
        handlelength=2.8,
        columnspacing=1.4,
        labelspacing=0.35,
        labelcolor=INK,
    )


# Rows of agents


def _draw_rows(axes: Axes, content: Rows) -> None:
    """Draw a row for each agent: its name, and below that its values."""
    if content.reference is not None:
        axes.axvline(content.reference, color=MUTED, linewidth=0.8, zorder=0)
    for i, row in enumerate(content.rows):
        colour, gid = row.style.paper, _group(row)
        look = _line_style(row.style) | {"gid": gid}
        if row.values is None:
            axes.plot([row.low, row.high], [i, i], color=colour, linewidth=1.6, gid=gid)
            axes.plot(row.estimate, i, **look | {"markersize": 5})
        else:
            points = {"linestyle": "none", "markeredgewidth": 0, "alpha": 0.7, "clip_on": False}
            axes.plot(row.values, i + 0.3 * jitter(len(row.values)), **look | points)
            axes.plot([row.estimate] * 2, [i - 0.24, i + 0.24], color=INK, linewidth=1.4, gid=gid)
        name = axes.text(0, i - 0.44, plain_text(row.label), fontsize=FONT - 0.5, color=colour, va="center")
        name.set(gid=gid, transform=axes.get_yaxis_transform())
    style_axis(axes.xaxis, content.x)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(max(len(content.rows), 1) - 0.55, -0.75)
    axes.grid(axis="x", color=GRID, linewidth=0.6)

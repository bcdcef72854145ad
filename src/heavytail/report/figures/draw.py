"""Every figure, drawn: whole as files for papers have it, or panel by panel as the page does.

What is an agent's carries its key and its label as a group's id, by which the legend of the page finds it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as MatplotlibAxis
from matplotlib.axis import XAxis
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from heavytail.arrays import Floats, Ints
from heavytail.report.figures.figure import (
    AgentCurve,
    Axis,
    Curves,
    Figure,
    IntervalRow,
    Intervals,
    Plot,
    ReferenceLine,
    SmallMultiples,
    Strip,
    Strips,
    Tiles,
    count_columns,
    jitter,
)
from heavytail.report.figures.tiles import draw_tiles, plain_text
from heavytail.report.number_format import short_number
from heavytail.report.theme import DASHES, GRID, INK, MARKERS, MUTED, AgentStyle

WIDTH, PANEL_WIDTH = 4.2, 3.3  # inches of a figure, and of a panel of several
HEIGHT, ROW = 2.7, 0.32  # inches of curves, and of a row of an agent
LEGEND_ROW = 0.15  # inches
FONT = 8.0  # points
MAX_POINTS = 300  # of a line: more than a screen shows


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
    legend_columns = max(1, int(width / (0.042 * max(map(_label_size, legend.values()), default=1) + 0.45)))
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
    """Draw the panels of a figure one by one, without paper and legend; with each comes its title."""
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
    match panel:
        case Strips():
            return 0.6 + ROW * max(len(panel.strips), 2)
        case Intervals():
            return 0.6 + ROW * max(len(panel.rows), 2)
    return HEIGHT


def _draw_panel(axes: Axes, panel: Plot) -> None:
    match panel:
        case Curves():
            _draw_curves(axes, panel)
        case Strips():
            _draw_rows(axes, panel.x, panel.strips, panel.reference)
        case Intervals():
            _draw_rows(axes, panel.x, panel.rows, panel.reference)
        case _:
            raise TypeError(f"a figure shows curves, strips, intervals or tiles, not {type(panel).__name__}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    axes.set_axisbelow(True)


def _group(agent: AgentCurve | Strip | IntervalRow, words: str = "") -> str:
    """The id of a group of artists: whose they are, and what the page says of them under the pointer."""
    return f"agent:{agent.agent}\n{words or agent.label}"


# Curves


def _draw_curves(axes: Axes, content: Curves) -> None:
    for curve in content.curves:
        _draw_curve(axes, curve, content)
    for line in content.references:
        _draw_reference(axes, line)
    _style_axis(axes.xaxis, content.x)
    _style_axis(axes.yaxis, content.y)
    axes.grid(axis="y", color=GRID, linewidth=0.6)


def _draw_curve(axes: Axes, curve: AgentCurve, content: Curves) -> None:
    """A line with its band.

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
    """A grey line, with its name on it where it is labelled."""
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


def _label_size(curve: AgentCurve) -> int:
    return len(curve.label)


# Rows of agents


def _draw_rows(axes: Axes, x: Axis, rows: Sequence[Strip | IntervalRow], reference: float | None) -> None:
    """A row for each agent, from the top: its name, and below that its values."""
    if reference is not None:
        axes.axvline(reference, color=MUTED, linewidth=0.8, zorder=0)
    for i, row in enumerate(rows):
        look = _line_style(row.style)
        if isinstance(row, Strip):
            _draw_points(axes, row, i, look)
        else:
            axes.plot([row.low, row.high], [i, i], color=row.style.paper, linewidth=1.6, gid=_group(row))
            axes.plot(row.estimate, i, gid=_group(row), **look | {"markersize": 5})
        place: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center"}
        name = axes.text(
            0, i - 0.44, plain_text(row.label), fontsize=FONT - 0.5, color=row.style.paper, **place
        )
        name.set_gid(_group(row))
    _style_axis(axes.xaxis, x)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(max(len(rows), 1) - 0.55, -0.75)
    axes.grid(axis="x", color=GRID, linewidth=0.6)


def _draw_points(axes: Axes, strip: Strip, row: int, look: dict[str, Any]) -> None:
    """A point for each value, and a bar at their median."""
    points = {"linestyle": "none", "markeredgewidth": 0, "alpha": 0.7, "clip_on": False}
    heights = row + 0.3 * jitter(len(strip.values))
    axes.plot(strip.values, heights, gid=_group(strip), **look | points)
    median = float(np.median(strip.values))
    axes.plot([median] * 2, [row - 0.24, row + 0.24], color=INK, linewidth=1.4, gid=_group(strip))


# Axes


def _style_axis(drawn: MatplotlibAxis, axis: Axis) -> None:
    """Label an axis, set its scale and its ticks."""
    drawn.set_label_text(plain_text(axis.label), fontsize=FONT, color=INK)
    drawn.set_tick_params(which="both", labelsize=FONT - 0.5, color=MUTED, labelcolor=INK)
    drawn.set_tick_params(length=2.5)
    horizontal = isinstance(drawn, XAxis)
    if axis.log:
        (drawn.axes.set_xscale if horizontal else drawn.axes.set_yscale)("log")
    if axis.limits:
        (drawn.axes.set_xlim if horizontal else drawn.axes.set_ylim)(*axis.limits)
    if axis.ticks:
        drawn.set_ticks(
            [place for place, _ in axis.ticks], labels=[plain_text(text) for _, text in axis.ticks]
        )
        drawn.set_minor_formatter(NullFormatter())
        return
    if axis.log:
        low, high = drawn.get_view_interval()
        drawn.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0)))
        drawn.set_minor_formatter(NullFormatter())
    drawn.set_major_formatter(
        FuncFormatter(lambda value, _: f"{100 * value:.3g}%" if axis.percent else short_number(value, 6))
    )

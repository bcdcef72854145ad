"""Figures for papers: what the page shows, in the style of a two-column article."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.lines import Line2D

from heavytail.report.figures.figure import (
    AgentCurve,
    Axis,
    Curves,
    Figure,
    Intervals,
    ReferenceLine,
    SmallMultiples,
    Strips,
    Tiles,
    count_columns,
    jitter,
)
from heavytail.report.figures.matplotlib_axes import FONT, plain_text, style_axes
from heavytail.report.figures.matplotlib_tiles import render_tiles
from heavytail.report.theme import PAPER_DASHES, PAPER_MARKERS, AgentStyle

WIDTH, HEIGHT = 4.2, 2.7  # inches of curves
SMALL_WIDTH = 3.3  # inches of a small multiple
LEGEND_ROW = 0.15  # inches
GREY = "#777777"

Legend: TypeAlias = dict[str, AgentCurve]  # by key of agent


def render_matplotlib(figure: Figure) -> MatplotlibFigure:
    """Render any figure as a file shows it."""
    return _render(figure.content, figure.title)


@singledispatch
def _render(content: Any, title: str) -> MatplotlibFigure:
    raise TypeError(f"a figure shows curves, strips, intervals or tiles, not {type(content).__name__}")


# Small multiples


@_render.register
def _render_multiples(content: SmallMultiples, title: str) -> MatplotlibFigure:
    """A panel for each, under its title; one legend for all curves."""
    columns = count_columns(len(content.panels))
    rows, width = -(-len(content.panels) // columns), max(columns * SMALL_WIDTH, WIDTH)
    curves = [panel for _, panel in content.panels if isinstance(panel, Curves)]
    legend = {key: curve for each in curves for key, curve in _make_legend(each).items()}
    height = max(
        (_rows_height(each) for _, each in content.panels if isinstance(each, Intervals)), default=HEIGHT
    )
    drawn = MatplotlibFigure(
        (width, rows * height + LEGEND_ROW * _legend_rows(legend, width)), layout="constrained"
    )
    for i, (name, panel) in enumerate(content.panels):
        axes = drawn.add_subplot(rows, columns, i + 1)
        if isinstance(panel, Curves):
            _draw_curves(axes, panel)
        elif isinstance(panel, Intervals):
            _draw_intervals(axes, panel, named=i % columns == 0)
        axes.set_title(plain_text(name), fontsize=FONT + 1.5)
    _draw_legend(drawn, legend)
    return drawn


# Curves


@_render.register
def _render_curves(content: Curves, title: str) -> MatplotlibFigure:
    legend = _make_legend(content)
    drawn = MatplotlibFigure((WIDTH, HEIGHT + LEGEND_ROW * _legend_rows(legend, WIDTH)), layout="constrained")
    _draw_curves(drawn.add_subplot(), content)
    _draw_legend(drawn, legend)
    return drawn


def _draw_curves(axes: Axes, content: Curves) -> None:
    for curve in content.curves:
        _draw_curve(axes, curve)
    for line in content.references:
        _draw_reference(axes, line)
    style_axes(axes, content.x, content.y)


def _draw_curve(axes: Axes, curve: AgentCurve) -> None:
    """A line with its band."""
    if curve.note:
        axes.plot(curve.x, curve.y, color=curve.style.paper, linestyle=PAPER_DASHES["dot"], linewidth=0.8)
        return
    axes.plot(curve.x, curve.y, markevery=max(1, len(curve.x) // 7), **_line_style(curve.style))
    if curve.low is not None and curve.high is not None:
        axes.fill_between(curve.x, curve.low, curve.high, color=curve.style.paper, alpha=0.15, linewidth=0)


def _draw_reference(axes: Axes, line: ReferenceLine) -> None:
    """A grey line, with its name on it where it is labelled."""
    axes.plot(line.x, line.y, color=GREY, linewidth=0.8, linestyle=PAPER_DASHES[line.dash], zorder=0)
    if line.labelled:
        middle = (float(line.x[len(line.x) // 2]), float(line.y[len(line.x) // 2]))
        offset: dict[str, Any] = {"xytext": (0, 4), "textcoords": "offset points", "ha": "right"}
        axes.annotate(plain_text(line.label), middle, color=GREY, fontsize=6, **offset)


def _line_style(style: AgentStyle) -> dict[str, Any]:
    return {
        "color": style.paper,
        "linestyle": PAPER_DASHES[style.dash],
        "marker": PAPER_MARKERS[style.marker],
        "markersize": 3.2,
        "linewidth": 1.2,
    }


def _make_legend(content: Curves) -> Legend:
    return {curve.agent: curve for curve in content.curves if not curve.note}


def _draw_legend(drawn: MatplotlibFigure, legend: Legend) -> None:
    handles = [
        Line2D([], [], label=plain_text(curve.label), **_line_style(curve.style)) for curve in legend.values()
    ]
    if handles:
        drawn.legend(
            handles=handles,
            loc="outside lower center",
            ncols=_legend_columns(legend, drawn.get_figwidth()),
            fontsize=FONT - 0.5,
            frameon=False,
            handlelength=2.8,
            columnspacing=1.4,
            labelspacing=0.35,
        )


def _legend_columns(legend: Legend, width: float) -> int:
    """Count the names that fit side by side in a legend of this width."""
    longest = max((len(curve.label) for curve in legend.values()), default=1)
    return max(1, int(width / (0.042 * longest + 0.45)))


def _legend_rows(legend: Legend, width: float) -> int:
    return -(-len(legend) // _legend_columns(legend, width))


# Rows of agents


@_render.register
def _render_strips(content: Strips, title: str) -> MatplotlibFigure:
    drawn = MatplotlibFigure((WIDTH, _rows_height(content)), layout="constrained")
    axes = drawn.add_subplot()
    for row, strip in enumerate(content.strips):
        look: dict[str, Any] = {"color": strip.style.paper, "marker": PAPER_MARKERS[strip.style.marker]}
        heights = row + 0.5 * jitter(len(strip.values))
        axes.scatter(strip.values, heights, s=9, alpha=0.7, linewidth=0, clip_on=False, **look)
        axes.plot([np.median(strip.values)] * 2, [row - 0.32, row + 0.32], color="black", linewidth=1.4)
    _style_rows(axes, content.x, [strip.label for strip in content.strips], content.reference)
    return drawn


@_render.register
def _render_intervals(content: Intervals, title: str) -> MatplotlibFigure:
    drawn = MatplotlibFigure((WIDTH, _rows_height(content)), layout="constrained")
    _draw_intervals(drawn.add_subplot(), content, named=True)
    return drawn


def _draw_intervals(axes: Axes, content: Intervals, *, named: bool) -> None:
    for i, row in enumerate(content.rows):
        axes.plot([row.low, row.high], [i, i], color=row.style.paper, linewidth=1.6)
        axes.plot(row.estimate, i, **_line_style(row.style) | {"markersize": 5})
    _style_rows(axes, content.x, [row.label if named else "" for row in content.rows], content.reference)


def _rows_height(content: Strips | Intervals) -> float:
    rows = content.strips if isinstance(content, Strips) else content.rows
    return 0.7 + 0.26 * max(len(rows), 2)


def _style_rows(axes: Axes, x: Axis, labels: Sequence[str], reference: float | None) -> None:
    """Name the rows, from the top."""
    if reference is not None:
        axes.axvline(reference, color=GREY, linewidth=0.8, zorder=0)
    style_axes(axes, x, Axis(""))
    axes.set_yticks(range(len(labels)), [plain_text(label) for label in labels])
    axes.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


_render.register(Tiles, render_tiles)

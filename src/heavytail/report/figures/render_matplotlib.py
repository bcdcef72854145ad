"""Figures for papers: what the page shows, in the style of a two-column article."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.axis import Axis as MatplotlibAxis
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from heavytail.report.figures.figure import (
    AgentCurve,
    Axis,
    ColourScale,
    Curves,
    Figure,
    Intervals,
    Panel,
    ReferenceLine,
    SmallMultiples,
    Strips,
    Tiles,
    count_columns,
    jitter,
)
from heavytail.report.number_format import short_number
from heavytail.report.theme import OUTLINE, PAPER_DASHES, PAPER_MARKERS, AgentStyle, is_bright

WIDTH, HEIGHT = 4.2, 2.7  # inches of curves
SMALL_WIDTH = 3.3  # inches of a small multiple
LEGEND_ROW = 0.15  # inches
PANEL = 1.75  # inches of a side of tiles without texts
TILE_WIDTH, TILE_HEIGHT = 0.62, 0.34  # inches of a tile with a text
LETTER = 0.055  # inches across
MAX_LEVEL_LABEL = 8  # letters; longer labels of columns are set at an angle
FONT, SMALL_FONT = 8.0, 7.5  # points: of curves, and of tiles
GREY = "#777777"
COLOUR_MAP = colormaps["cividis"].with_extremes(bad="#dddddd")
MISSING = (0.9, 0.9, 0.9, 1.0)

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
        axes.set_title(_plain(name), fontsize=FONT + 1.5)
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
    _style_axes(axes, content.x, content.y)


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
        axes.annotate(_plain(line.label), middle, color=GREY, fontsize=6, **offset)


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
        Line2D([], [], label=_plain(curve.label), **_line_style(curve.style)) for curve in legend.values()
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
    _style_axes(axes, x, Axis(""))
    axes.set_yticks(range(len(labels)), [_plain(label) for label in labels])
    axes.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


# Tiles


@_render.register
def _render_tiles(content: Tiles, title: str) -> MatplotlibFigure:
    n = len(content.panels)
    columns = count_columns(n)
    rows = -(-n // columns)
    drawn = MatplotlibFigure(_tiles_size(content, title, rows, columns), layout="constrained")
    drawn.suptitle(_plain(title), fontsize=SMALL_FONT + 1.5)
    panels = [drawn.add_subplot(rows, columns, i + 1) for i in range(n)]
    norm, colours = _make_norm(content.scale)
    for i, (panel, axes) in enumerate(zip(content.panels, panels, strict=True)):
        values = np.ma.masked_invalid(panel.values)
        tiles = axes.pcolormesh(content.x.edges, content.y.edges, values, cmap=colours, norm=norm)
        tiles.set_edgecolor("face")  # else hairlines are seen between them
        tiles.set_rasterized(not panel.texts)  # many tiles are one picture inside the file, few are shapes
        _draw_on_tiles(axes, panel)
        _name_sides(axes, content, left=i % columns == 0, below=i >= n - columns)
    if content.scale:
        _draw_colour_bar(drawn, panels, content.scale)
    _draw_tile_legend(drawn, content)
    return drawn


def _tiles_size(content: Tiles, title: str, rows: int, columns: int) -> tuple[float, float]:
    """Inches across and down."""
    lines = title.split("\n")
    legend = 0.16 * len(content.marks) + (0.25 if content.outline_label else 0.0)
    if not content.panels[0].texts:
        return columns * PANEL + 1.3, rows * PANEL + 0.3 + legend
    wide = TILE_WIDTH * len(content.x.ticks) + 0.55 + LETTER * _longest(content.y.tick_labels)
    high = TILE_HEIGHT * len(content.y.ticks) + 0.75
    if _is_angled(content):
        high += 0.5 * LETTER * _longest(content.x.tick_labels)
    width = max(columns * wide, 3.0, 1.35 * LETTER * _longest(lines))
    return width, rows * high + 0.15 * (1 + len(lines)) + legend


def _make_norm(scale: ColourScale | None) -> tuple[Normalize, Any]:
    if scale is None:
        return Normalize(0.0, 1.0), COLOUR_MAP
    return LogNorm(scale.low, scale.high), COLOUR_MAP.reversed()


def _draw_on_tiles(axes: Axes, panel: Panel) -> None:
    for i, row in enumerate(panel.texts):
        for j, text in enumerate(row):
            value = float(panel.values[i, j])
            red, green, blue, _ = COLOUR_MAP(value) if np.isfinite(value) else MISSING
            ink = "black" if is_bright(red, green, blue) else "white"
            axes.text(j, i, _plain(text), ha="center", va="center", fontsize=SMALL_FONT - 1, color=ink)
    axes.add_collection(LineCollection(list(panel.outline), colors=OUTLINE, linewidths=1.4))
    for mark in panel.marks:
        axes.plot(mark.x, mark.y, clip_on=False, zorder=5, **_mark_style(mark.symbol))
    axes.set_title(_plain(panel.title), fontsize=SMALL_FONT)


def _name_sides(axes: Axes, content: Tiles, *, left: bool, below: bool) -> None:
    x, y, texts = content.x, content.y, bool(content.panels[0].texts)
    angle = (30 if texts else 45) if _is_angled(content) else 0
    slant: dict[str, Any] = {"rotation": angle, "ha": "right", "rotation_mode": "anchor"} if angle else {}
    axes.set_xticks(x.ticks, [_plain(label) for label in x.tick_labels], **slant)
    axes.set_yticks(y.ticks, [_plain(label) for label in y.tick_labels])
    axes.set_xlim(x.edges[0], x.edges[-1])
    axes.set_ylim(y.edges[0], y.edges[-1])
    if texts:
        axes.invert_yaxis()  # rows are read from the top
    axes.tick_params(labelsize=SMALL_FONT - 0.5, length=0 if texts else 2)
    axes.tick_params(labelleft=left or texts, labelbottom=below or texts)
    axes.set_xlabel(_plain(x.label) if below else "", fontsize=SMALL_FONT)
    axes.set_ylabel(_plain(y.label) if left else "", fontsize=SMALL_FONT)


def _draw_colour_bar(drawn: MatplotlibFigure, panels: list[Axes], scale: ColourScale) -> None:
    bar = drawn.colorbar(ScalarMappable(*_make_norm(scale)), ax=panels, aspect=30, pad=0.015)
    bar.set_ticks(list(scale.ticks), labels=list(scale.tick_labels))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.tick_params(labelsize=SMALL_FONT - 0.5)
    bar.set_label(scale.label, fontsize=SMALL_FONT)


def _draw_tile_legend(drawn: MatplotlibFigure, content: Tiles) -> None:
    handles = [Line2D([], [], label=_plain(mark.label), **_mark_style(mark.symbol)) for mark in content.marks]
    if content.outline_label:
        handles.append(Line2D([], [], color=OUTLINE, linewidth=1.4, label=_plain(content.outline_label)))
    if handles:
        drawn.legend(handles=handles, loc="outside lower left", fontsize=SMALL_FONT - 0.5, frameon=False)


def _mark_style(symbol: str) -> dict[str, Any]:
    return {
        "marker": PAPER_MARKERS[symbol],
        "markersize": 8,
        "markerfacecolor": "white",
        "markeredgecolor": "black",
        "linestyle": "none",
    }


def _is_angled(content: Tiles) -> bool:
    """Tell whether the labels of columns need an angle, because tiles are too narrow for them."""
    return not content.panels[0].texts or _longest(content.x.tick_labels) > MAX_LEVEL_LABEL


def _longest(labels: Sequence[str]) -> int:
    return max(map(len, labels), default=0)


# Axes


def _style_axes(axes: Axes, x: Axis, y: Axis) -> None:
    """Label both axes, set their scales, and leave out the frame."""
    axes.set_xlabel(_plain(x.label), fontsize=FONT)
    axes.set_ylabel(_plain(y.label), fontsize=FONT)
    if x.log:
        axes.set_xscale("log")
    if y.log:
        axes.set_yscale("log")
    if x.limits:
        axes.set_xlim(*x.limits)
    if y.limits:
        axes.set_ylim(*y.limits)
    _style_ticks(axes.xaxis, x)
    _style_ticks(axes.yaxis, y)
    axes.tick_params(which="both", labelsize=FONT - 0.5)
    axes.tick_params(length=2.5)
    axes.spines[["top", "right"]].set_visible(False)


def _style_ticks(drawn: MatplotlibAxis, axis: Axis) -> None:
    if axis.ticks:
        drawn.set_ticks([place for place, _ in axis.ticks], [_plain(words) for _, words in axis.ticks])
    elif axis.percent:
        if axis.log:
            drawn.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            drawn.set_minor_formatter(NullFormatter())
        drawn.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g}%"))
    elif not axis.log:
        drawn.set_major_formatter(FuncFormatter(lambda value, _: short_number(value, 6)))


def _plain(text: str) -> str:
    """Text as it is: a dollar starts mathematics in matplotlib."""
    return text.replace("$", r"\$")

"""Drawing of tiles: heat maps in panels, with texts or outlines and marks on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.lines import Line2D

from heavytail.report.figures.axes import FONT, plain_text, style_axis
from heavytail.report.figures.figure import Axis, ColourScale, Panel, Tiles, count_columns
from heavytail.report.theme import INK, MARKERS, MUTED, OUTLINE

PANEL = 1.75  # inches of a side of tiles without texts
TILE_WIDTH, TILE_HEIGHT = 0.62, 0.34  # inches of a tile with a text
LETTER = 0.055  # inches across
MAX_WIDTH = 9.3  # inches, if one panel is not wider
MAX_LEVEL_LABEL = 8  # letters; longer labels of columns are rotated
COLOUR_MAP = colormaps["cividis"].with_extremes(bad="#d5d8dc")
DARK_INK, BRIGHT_INK = "#111111", "#ffffff"  # on tiles, in any theme


def draw_tiles(content: Tiles, title: str = "") -> MatplotlibFigure:
    """Draw panels of tiles on common axes, under a title if there is one."""
    n = len(content.panels)
    width, height = _panel_size(content)
    columns = count_columns(n, most=min(4, max(1, int(MAX_WIDTH / width))))
    rows, lines = -(-n // columns), title.split("\n")
    legend = 0.16 * len(content.marks) + (0.25 if content.outline_label else 0.0)
    size = (
        max(columns * width + (1.3 if content.scale else 0.0), 3.0, 1.35 * LETTER * max(map(len, lines))),
        rows * height + 0.3 + 0.15 * len(lines) + legend,
    )
    drawn = MatplotlibFigure(size, layout="constrained")
    if title:
        drawn.suptitle(plain_text(title), fontsize=FONT + 1.5, color=INK)
    panels = [drawn.add_subplot(rows, columns, i + 1) for i in range(n)]
    norm, colours = _make_norm(content.scale)
    for i, (panel, axes) in enumerate(zip(content.panels, panels, strict=True)):
        values = np.ma.masked_invalid(panel.values)
        tiles = axes.pcolormesh(*content.edges, values, cmap=colours, norm=norm)
        tiles.set_edgecolor("face")  # else hairlines show between them
        tiles.set_rasterized(not panel.texts)  # many tiles are one picture inside the file, few are shapes
        _draw_on_tiles(axes, panel)
        _name_sides(axes, content, left=i % columns == 0, below=i >= n - columns)
    if content.scale:
        _draw_colour_bar(drawn, panels, content.scale)
    _draw_tile_legend(drawn, content)
    return drawn


def _panel_size(content: Tiles) -> tuple[float, float]:
    """Return the size of a panel, in inches across and down."""
    if not content.panels[0].texts:
        return PANEL, PANEL
    height = TILE_HEIGHT * len(content.y.ticks) + 0.75
    if _is_angled(content):
        height += 0.5 * LETTER * _longest(content.x.ticks)
    return TILE_WIDTH * len(content.x.ticks) + 0.55 + LETTER * _longest(content.y.ticks), height


def _make_norm(scale: ColourScale | None) -> tuple[Normalize, Any]:
    if scale is None:
        return Normalize(0.0, 1.0), COLOUR_MAP
    return LogNorm(scale.low, scale.high), COLOUR_MAP.reversed()


def _draw_on_tiles(axes: Axes, panel: Panel) -> None:
    for i, row in enumerate(panel.texts):
        for j, text in enumerate(row):
            red, green, blue, _ = COLOUR_MAP(panel.values[i, j])
            ink = DARK_INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else BRIGHT_INK
            axes.text(j, i, plain_text(text), ha="center", va="center", fontsize=FONT - 1, color=ink)
    axes.add_collection(LineCollection(list(panel.outline), colors=OUTLINE, linewidths=1.4))
    for mark in panel.marks:
        axes.plot(mark.x, mark.y, clip_on=False, zorder=5, **_mark_style(mark.symbol))
    axes.set_title(plain_text(panel.title), fontsize=FONT, color=INK)


def _name_sides(axes: Axes, content: Tiles, *, left: bool, below: bool) -> None:
    """Label both sides; without texts, only at the left and the bottom of all panels."""
    texts = bool(content.panels[0].texts)
    style_axis(axes.xaxis, content.x if below else content.x._replace(label=""))
    style_axis(axes.yaxis, content.y if left else content.y._replace(label=""))
    axes.set_xlim(content.edges[0][0], content.edges[0][-1])
    axes.set_ylim(content.edges[1][0], content.edges[1][-1])
    if texts:
        axes.invert_yaxis()  # rows are read from the top
    if _is_angled(content):
        turned: dict[str, Any] = {"rotation": 30 if texts else 45, "ha": "right", "rotation_mode": "anchor"}
        axes.xaxis.set_tick_params(labelrotation=turned["rotation"])
        for label in axes.get_xticklabels():
            label.set(**turned)
    axes.tick_params(length=0 if texts else 2, labelleft=left or texts, labelbottom=below or texts)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set_color(MUTED)


def _draw_colour_bar(drawn: MatplotlibFigure, panels: list[Axes], scale: ColourScale) -> None:
    bar = drawn.colorbar(ScalarMappable(*_make_norm(scale)), ax=panels, aspect=30, pad=0.015)
    bar.outline.set_visible(False)
    style_axis(bar.ax.yaxis, Axis(scale.label, log=True, percent=True))
    bar.ax.tick_params(which="minor", length=0)


def _draw_tile_legend(drawn: MatplotlibFigure, content: Tiles) -> None:
    handles = [
        Line2D([], [], label=plain_text(mark.label), **_mark_style(mark.symbol)) for mark in content.marks
    ]
    if content.outline_label:
        label = plain_text(content.outline_label)
        handles.append(Line2D([], [], color=OUTLINE, linewidth=1.4, label=label))
    if handles:
        drawn.legend(
            handles=handles, loc="outside lower left", fontsize=FONT - 0.5, frameon=False, labelcolor=INK
        )


def _mark_style(symbol: str) -> dict[str, Any]:
    return {
        "marker": MARKERS[symbol],
        "markersize": 8,
        "markerfacecolor": BRIGHT_INK,
        "markeredgecolor": DARK_INK,
        "linestyle": "none",
    }


def _is_angled(content: Tiles) -> bool:
    """Return whether the labels of columns are rotated, because tiles are too narrow for them."""
    return not content.panels[0].texts or _longest(content.x.ticks) > MAX_LEVEL_LABEL


def _longest(ticks: Sequence[tuple[float, str]]) -> int:
    return max((len(label) for _, label in ticks), default=0)

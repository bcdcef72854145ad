"""A map for paper: small multiples, what works outlined, named points marked."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from heavytail.report.figures.sweep_axes import in_percent, shares_between
from heavytail.report.figures.sweep_maps import SYMBOLS, SweepMap, columns, outline
from heavytail.report.theme import PAPER_MARKERS

LETTERS = 7.5
PANEL = 1.75  # inches of a side
COLOURS = colormaps["cividis_r"].with_extremes(bad="#dddddd")
OUTLINE = "#d62728"


def paper_landscape(landscape: SweepMap) -> Figure:
    """All panels with one bar of colours."""
    n = len(landscape.axes[2].values)
    across, down = columns(n), -(-n // columns(n))
    figure = Figure(
        (across * PANEL + 1.3, down * PANEL + 0.55 + 0.16 * len(landscape.marks)), layout="constrained"
    )
    figure.suptitle(_plain(landscape.title), fontsize=LETTERS + 1.5)
    norm = LogNorm(*landscape.span)
    panels = [figure.add_subplot(down, across, i + 1) for i in range(n)]
    for (i, words), axes in zip(landscape.panels(), panels, strict=True):
        _draw(axes, landscape, i, words, norm)
        _name_sides(axes, landscape, left=i % across == 0, below=i >= n - across)
    bar = figure.colorbar(ScalarMappable(norm, COLOURS), ax=panels, aspect=30, pad=0.015)
    ticks = shares_between(*landscape.span)
    bar.set_ticks(ticks, labels=[in_percent(share) for share in ticks])
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.tick_params(labelsize=LETTERS - 0.5)
    bar.set_label("median final regret,\nof what the best policy earns", fontsize=LETTERS)
    _legend(figure, landscape)
    return figure


def _draw(axes: Axes, landscape: SweepMap, panel: int, words: str, norm: LogNorm) -> None:
    x, y, _ = landscape.axes
    axes.pcolormesh(
        x.edges,
        y.edges,
        np.ma.masked_invalid(landscape.lost[:, :, panel].T),
        cmap=COLOURS,
        norm=norm,
        rasterized=True,
    )
    axes.add_collection(
        LineCollection(
            outline(landscape.works[:, :, panel], x.edges, y.edges), colors=OUTLINE, linewidths=1.4
        )
    )
    for i, mark in landscape.marked(panel):
        axes.plot(x.place(mark.at[x.name]), y.place(mark.at[y.name]), clip_on=False, zorder=5, **_look(i))
    axes.set_title(_plain(words), fontsize=LETTERS)


def _name_sides(axes: Axes, landscape: SweepMap, *, left: bool, below: bool) -> None:
    x, y, _ = landscape.axes
    axes.set_xticks(*x.ticks(), rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(*y.ticks())
    axes.tick_params(labelsize=LETTERS - 1, length=2, labelleft=left, labelbottom=below)
    axes.set_xlabel(_plain(x.name) if below else "", fontsize=LETTERS)
    axes.set_ylabel(_plain(y.name) if left else "", fontsize=LETTERS)


def _legend(figure: Figure, landscape: SweepMap) -> None:
    handles = [
        Line2D([], [], label=_plain(f"{mark.label} ({', '.join(mark.words())})"), **_look(i))
        for i, mark in enumerate(landscape.marks)
    ]
    handles.append(
        Line2D([], [], color=OUTLINE, linewidth=1.4, label="at least 95 % of the optimum in the last tenth")
    )
    figure.legend(handles=handles, loc="outside lower left", fontsize=LETTERS - 0.5, frameon=False)


def _look(i: int) -> dict[str, Any]:
    marker = PAPER_MARKERS[SYMBOLS[i % len(SYMBOLS)]]
    return {
        "marker": marker,
        "markersize": 8,
        "markerfacecolor": "white",
        "markeredgecolor": "black",
        "linestyle": "none",
    }


def _plain(words: str) -> str:
    return words.replace("$", r"\$")

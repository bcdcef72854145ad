"""Heat maps for paper: small multiples of a grid, the chosen point marked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from heavytail.report.heatmaps import Map, in_words
from heavytail.report.page_numbers import number

LETTERS = 7.5
MOST_ACROSS = 4
COLOURS = colormaps["cividis_r"].with_extremes(bad="#dddddd")


def paper_heat_maps(maps: Sequence[Map], title: str) -> Figure:
    """All maps of one agent in one environment."""
    across = min(len(maps), MOST_ACROSS)
    down = -(-len(maps) // across)
    wide, high = 0.62 * len(maps[0].columns) + 0.75, 0.34 * len(maps[0].rows) + 0.75
    figure = Figure((max(across * wide, 3.0), down * high + 0.3), layout="constrained")
    figure.suptitle(title.replace("$", r"\$"), fontsize=LETTERS + 1.5)
    norm = _norm(maps)
    for i, m in enumerate(maps):
        _draw(figure.add_subplot(down, across, i + 1), m, norm, named=i % across == 0, below=i >= len(maps) - across)
    return figure


def _norm(maps: Sequence[Map]) -> Normalize:
    every = np.concatenate([m.regret.ravel() for m in maps])
    every = every[np.isfinite(every)]
    low, high = (every.min(), every.max()) if len(every) else (0.0, 1.0)
    return LogNorm(low, high) if 0 < low < high else Normalize(low, high if high > low else low + 1.0)


def _draw(axes: Axes, m: Map, norm: Normalize, *, named: bool, below: bool) -> None:
    axes.imshow(np.ma.masked_invalid(m.regret), cmap=COLOURS, norm=norm, aspect="auto")
    for (i, j), regret in np.ndenumerate(m.regret):
        red, green, blue, _ = COLOURS(norm(regret)) if np.isfinite(regret) else (0.9, 0.9, 0.9, 1.0)
        ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else "white"
        axes.text(
            j,
            i,
            _short(regret),
            ha="center",
            va="center",
            fontsize=LETTERS - 1,
            color=ink,
            weight="bold" if (i, j) == m.chosen else "normal",
        )
    if m.chosen:
        axes.add_patch(Rectangle((m.chosen[1] - 0.46, m.chosen[0] - 0.44), 0.92, 0.88, fill=False, edgecolor="#d62728", linewidth=1.8))
    axes.set_xticks(range(len(m.columns)), map(_label, m.columns))
    axes.set_yticks(range(len(m.rows)), map(_label, m.rows) if m.row_name else [""])
    axes.tick_params(labelsize=LETTERS - 0.5, length=0)
    axes.set_xlabel(m.column_name if below else "", fontsize=LETTERS)
    axes.set_ylabel(m.row_name if named else "", fontsize=LETTERS)
    if m.fixed:
        axes.set_title(", ".join(f"{name} = {_label(value)}" for name, value in m.fixed.items()), fontsize=LETTERS)


def _short(regret: float) -> str:
    if not np.isfinite(regret):
        return "failed"
    size = abs(regret)
    for most, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= most:
            return f"{number(regret / most, 3)}{unit}"
    return number(regret, 3)


def _label(value: Any) -> str:
    return in_words(value).replace("$", r"\$")

"""Heat maps for paper: small multiples of a grid, the chosen point marked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from heavytail.arrays import Floats
from heavytail.report.figures.heatmaps import HeatMap, Measure, in_words, is_bright, shades
from heavytail.report.number_format import number

LETTERS = 7.5
LETTER = 0.055  # inches across
MAX_COLUMNS = 4
LONG = 8  # letters; longer names of columns are set aslant
COLOURS = colormaps["cividis"].with_extremes(bad="#dddddd")


def paper_heat_maps(maps: Sequence[HeatMap], measure: Measure, title: str) -> Figure:
    """All maps of one agent in one environment, or the map of a study, under a title of one or more lines."""
    across = min(len(maps), MAX_COLUMNS)
    down = -(-len(maps) // across)
    wide = 0.62 * len(maps[0].columns) + 0.55 + LETTER * _longest(maps[0].rows)
    high = (
        0.34 * len(maps[0].rows)
        + 0.75
        + (0.5 * LETTER * _longest(maps[0].columns) if _aslant(maps[0]) else 0.0)
    )
    lines = title.split("\n")
    figure = Figure(
        (max(across * wide, 3.0, 1.35 * LETTER * _longest(lines)), down * high + 0.15 * (1 + len(lines))),
        layout="constrained",
    )
    figure.suptitle(title.replace("$", r"\$"), fontsize=LETTERS + 1.5)
    for i, (m, shaded) in enumerate(zip(maps, shades(maps, measure), strict=True)):
        _draw(
            figure.add_subplot(down, across, i + 1),
            m,
            shaded,
            measure,
            named=i % across == 0,
            below=i >= len(maps) - across,
        )
    return figure


def _draw(axes: Axes, m: HeatMap, shaded: Floats, measure: Measure, *, named: bool, below: bool) -> None:
    axes.imshow(
        np.ma.masked_where(~np.isfinite(m.values), shaded), cmap=COLOURS, vmin=0.0, vmax=1.0, aspect="auto"
    )
    for (i, j), value in np.ndenumerate(m.values):
        red, green, blue, _ = COLOURS(shaded[i, j]) if np.isfinite(value) else (0.9, 0.9, 0.9, 1.0)
        weight, ink = (
            "bold" if (i, j) == m.chosen else "normal",
            "black" if is_bright(red, green, blue) else "white",
        )
        axes.text(
            j,
            i,
            _short(value, measure),
            ha="center",
            va="center",
            fontsize=LETTERS - 1,
            color=ink,
            weight=weight,
        )
    if m.chosen:
        axes.add_patch(
            Rectangle(
                (m.chosen[1] - 0.46, m.chosen[0] - 0.44),
                0.92,
                0.88,
                fill=False,
                edgecolor="#d62728",
                linewidth=1.8,
            )
        )
    _name_sides(axes, m, named=named, below=below)


def _name_sides(axes: Axes, m: HeatMap, *, named: bool, below: bool) -> None:
    slant: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if _aslant(m) else {}
    axes.set_xticks(range(len(m.columns)), map(_label, m.columns), **slant)
    axes.set_yticks(range(len(m.rows)), map(_label, m.rows) if m.row_name else [""])
    axes.tick_params(labelsize=LETTERS - 0.5, length=0)
    axes.set_xlabel(m.column_name if below else "", fontsize=LETTERS)
    axes.set_ylabel(m.row_name if named else "", fontsize=LETTERS)
    if m.fixed:
        axes.set_title(
            ", ".join(f"{name} = {_label(value)}" for name, value in m.fixed.items()), fontsize=LETTERS
        )


def _longest(names: Sequence[Any]) -> int:
    return max(len(in_words(name)) for name in names)


def _aslant(m: HeatMap) -> bool:
    return _longest(m.columns) > LONG


def _short(value: float, measure: Measure) -> str:
    """As in the page, except that large numbers are short."""
    if np.isfinite(value) and not measure.share:
        for most, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if abs(value) >= most:
                return f"{number(value / most, 3)}{unit}"
    return measure.shown(value)


def _label(value: Any) -> str:
    return in_words(value).replace("$", r"\$")

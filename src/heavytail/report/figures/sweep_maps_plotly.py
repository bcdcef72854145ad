"""A map as an interactive figure.

A panel for each value of the third axis, what works outlined, named points marked.
"""

import math
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from heavytail.report.figures.curves import FigureSpec
from heavytail.report.figures.render_plotly import Traces, layout, plain
from heavytail.report.figures.sweep_axes import Axis, in_percent, shares_between
from heavytail.report.figures.sweep_maps import SYMBOLS, WORKS, Mark, SweepMap, columns, outline
from heavytail.report.number_format import number, percent

PANEL = 250  # pixels high
OUTLINE = "#d62728"


def landscape_figure(landscape: SweepMap) -> FigureSpec:
    """All panels, on one scale of colours."""
    traces: Traces = []
    for i, _ in landscape.panels():
        traces += [
            _tiles(landscape, i),
            _edge(landscape, i),
            *(_mark(landscape, i, n, mark) for n, mark in landscape.marked(i)),
        ]
    n = len(landscape.axes[2].values)
    down = -(-n // columns(n))
    return FigureSpec(
        landscape.name,
        landscape.title,
        _caption(landscape),
        traces,
        _layout(landscape),
        True,
        PANEL * down + 130,
    )


def _caption(landscape: SweepMap) -> str:
    return (
        f"Median final regret over {landscape.runs} seeds as a share of what the best policy earns; bright is good, on one logarithmic scale. Inside the red line"
        f" the median run earns at least {WORKS:.0%} of the optimum in its last tenth. Marks are agents of this study; one whose value is not on an axis"
        " lies between its neighbours, in the nearest panel."
    )


def _tiles(landscape: SweepMap, panel: int) -> dict[str, Any]:
    x, y, _ = landscape.axes
    return {
        "type": "heatmap",
        "x": x.edges.tolist(),
        "y": y.edges.tolist(),
        "z": [plain(row) for row in np.log10(landscape.lost[:, :, panel].T)],
        "customdata": _numbers(landscape, panel),
        "coloraxis": "coloraxis",
        **_sides(landscape, panel),
        "hovertemplate": (
            f"{escape(x.name)} %{{customdata[0]}}<br>{escape(y.name)} %{{customdata[1]}}<br>median final regret %{{customdata[2]}}, %{{customdata[3]}} of the best policy's reward<br>"
            "middle half of the seeds %{customdata[4]} to %{customdata[5]}<br>last tenth %{customdata[6]} of the optimum<extra></extra>"
        ),
    }


def _numbers(landscape: SweepMap, panel: int) -> list[list[list[str]]]:
    """What is said of each tile [y, x]."""
    x, y, _ = landscape.axes

    def tile(i: int, j: int) -> list[str]:
        at = i, j, panel
        regret, low, high = (
            float(values[at]) for values in (landscape.regret, landscape.low, landscape.high)
        )
        place = [f"{x.values[i]:.4g}", f"{y.values[j]:.4g}"]
        return [
            *place,
            number(regret),
            percent(regret / landscape.best),
            number(low),
            number(high),
            percent(float(landscape.last_tenth[at])),
        ]

    return [[tile(i, j) for i in range(len(x.values))] for j in range(len(y.values))]


def _edge(landscape: SweepMap, panel: int) -> dict[str, Any]:
    x, y, _ = landscape.axes
    segments = outline(landscape.works[:, :, panel], x.edges, y.edges)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [at for (a, _), (b, _) in segments for at in (a, b, None)],
        "y": [at for (_, a), (_, b) in segments for at in (a, b, None)],
        "line": {"color": OUTLINE, "width": 2},
        "hoverinfo": "skip",
        "showlegend": False,
        **_sides(landscape, panel),
    }


def _mark(landscape: SweepMap, panel: int, i: int, mark: Mark) -> dict[str, Any]:
    x, y, _ = landscape.axes
    label = escape(mark.label, quote=False)
    said = (
        f"{label}<br>{escape(', '.join(mark.words()), quote=False)}<br>final regret"
        f" {percent(mark.regret)}, last tenth {percent(mark.earns)} of the optimum"
    )
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{label} ({escape(', '.join(mark.words()), quote=False)})",
        "x": [x.place(mark.at[x.name])],
        "y": [y.place(mark.at[y.name])],
        "marker": {
            "symbol": SYMBOLS[i % len(SYMBOLS)],
            "size": 14,
            "color": "#ffffff",
            "line": {"color": "#000000", "width": 2},
        },
        "cliponaxis": False,
        "legendrank": i,
        "showlegend": True,
        **_sides(landscape, panel),
        "hovertemplate": f"{said}<extra></extra>",
    }


def _sides(landscape: SweepMap, panel: int) -> dict[str, str]:
    """The axes of a panel: those of its column and of its row."""
    row, column = divmod(panel, columns(len(landscape.axes[2].values)))
    return {"xaxis": f"x{column + 1 if column else ''}", "yaxis": f"y{row + 1 if row else ''}"}


def _layout(landscape: SweepMap) -> dict[str, Any]:
    x, y, panels = landscape.axes
    n, base = len(panels.values), layout("", "")
    across, down = columns(n), -(-n // columns(n))
    sides = {"showgrid": False, "zeroline": False, "constrain": "domain"}

    def axis(given: dict[str, Any], of: Axis) -> dict[str, Any]:
        places, words = of.ticks()
        ends = [float(of.edges[0]), float(of.edges[-1])]
        return {
            **given,
            **sides,
            "title": {"text": escape(of.name), "standoff": 6},
            "tickvals": places,
            "ticktext": words,
            "range": ends,
        }

    below = {f"xaxis{c + 1 if c else ''}": axis(base["xaxis"], x) for c in range(across)}
    left = {f"yaxis{r + 1 if r else ''}": axis(base["yaxis"], y) for r in range(down)}
    return {
        **base,
        **below,
        **left,
        "grid": {"rows": down, "columns": across, "pattern": "coupled", "xgap": 0.06, "ygap": 0.16},
        "annotations": [_title(_sides(landscape, i), words) for i, words in landscape.panels() if words],
        "coloraxis": _colours(landscape),
        "showlegend": bool(landscape.marks),
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.0,
            "yanchor": "top",
            "yref": "container",
            "itemclick": False,
            "itemdoubleclick": False,
        },
        "margin": {"l": 62, "r": 10, "t": 62, "b": 52},
    }


def _title(sides: Mapping[str, str], words: str) -> dict[str, Any]:
    return {
        "text": escape(words),
        "xref": f"{sides['xaxis']} domain",
        "yref": f"{sides['yaxis']} domain",
        "x": 0.5,
        "y": 1.0,
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
    }


def _colours(landscape: SweepMap) -> dict[str, Any]:
    low, high = landscape.span
    ticks = shares_between(low, high)
    return {
        "colorscale": "Cividis",
        "reversescale": True,
        "cmin": math.log10(low),
        "cmax": math.log10(high),
        "colorbar": {
            "tickvals": np.log10(ticks).tolist(),
            "ticktext": [in_percent(share) for share in ticks],
            "thickness": 14,
            "outlinewidth": 0,
        },
    }

"""Tiles as plotly.js takes them: heat maps in panels, with outlines and marks."""

import math
from typing import Any

import numpy as np

from heavytail.report.figures.figure import Axis, ColourScale, Panel, TileAxis, TileMark, Tiles, count_columns
from heavytail.report.figures.plotly_layout import (
    Rendered,
    Trace,
    axis_number,
    escape_text,
    hover_text,
    make_layout,
    make_panel_title,
    to_json_list,
)
from heavytail.report.theme import OUTLINE

PANEL_HEIGHT = 250  # pixels of a row of panels


def render_tiles(content: Tiles) -> Rendered:
    """Render panels of tiles in a grid, with one scale of colours."""
    columns = count_columns(len(content.panels))
    traces: list[Trace] = []
    for i, panel in enumerate(content.panels):
        axes = _panel_axes(i, columns)
        traces += [_make_heatmap(panel, content) | axes, _make_outline(panel) | axes]
        traces += [_make_mark(mark) | axes for mark in panel.marks]
    rows = -(-len(content.panels) // columns)
    return Rendered(traces, _make_tile_layout(content, rows, columns), PANEL_HEIGHT * rows + 130)


def _panel_axes(panel: int, columns: int) -> dict[str, str]:
    """The axes of a panel: those of its column and of its row."""
    row, column = divmod(panel, columns)
    return {"xaxis": f"x{axis_number(column)}", "yaxis": f"y{axis_number(row)}"}


def _make_heatmap(panel: Panel, content: Tiles) -> Trace:
    values = np.log10(panel.values) if content.scale else panel.values
    fields = (f"%{{customdata[{i}]}}" for i in range(len(panel.details[0][0])))
    return {
        "type": "heatmap",
        "x": content.x.edges.tolist(),
        "y": content.y.edges.tolist(),
        "z": [to_json_list(row) for row in values],
        "customdata": panel.details,
        "coloraxis": "coloraxis",
        "hovertemplate": hover_text(*escape_text(content.template).format(*fields).splitlines()),
    }


def _make_outline(panel: Panel) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [x for (start, _), (end, _) in panel.outline for x in (start, end, None)],
        "y": [y for (_, start), (_, end) in panel.outline for y in (start, end, None)],
        "line": {"color": OUTLINE, "width": 2},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _make_mark(mark: TileMark) -> Trace:
    line = {"color": "#000000", "width": 2}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": escape_text(mark.label),
        "x": [mark.x],
        "y": [mark.y],
        "marker": {"symbol": mark.symbol, "size": 14, "color": "#ffffff", "line": line},
        "cliponaxis": False,
        "legendrank": mark.rank,
        "showlegend": True,
        "hovertemplate": hover_text(*map(escape_text, mark.notes)),
    }


def _make_tile_layout(content: Tiles, rows: int, columns: int) -> dict[str, Any]:
    base = make_layout(Axis(""), Axis(""))
    x, y = base["xaxis"] | _make_tile_axis(content.x), base["yaxis"] | _make_tile_axis(content.y)
    legend = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "top", "yref": "container"}
    return {
        **base,
        **{f"xaxis{axis_number(i)}": x for i in range(columns)},
        **{f"yaxis{axis_number(i)}": y for i in range(rows)},
        "grid": {"rows": rows, "columns": columns, "pattern": "coupled", "xgap": 0.06, "ygap": 0.16},
        "annotations": [
            make_panel_title(panel.title, _panel_axes(i, columns))
            for i, panel in enumerate(content.panels)
            if panel.title
        ],
        **({"coloraxis": _make_colour_axis(content.scale)} if content.scale else {}),
        "showlegend": bool(content.marks),
        "legend": {**legend, "itemclick": False, "itemdoubleclick": False},
        "margin": {"l": 62, "r": 10, "t": 62, "b": 52},
    }


def _make_tile_axis(axis: TileAxis) -> dict[str, Any]:
    return {
        "showgrid": False,
        "zeroline": False,
        "constrain": "domain",
        "title": {"text": escape_text(axis.label), "standoff": 6},
        "tickvals": list(axis.ticks),
        "ticktext": list(axis.tick_labels),
        "range": [float(axis.edges[0]), float(axis.edges[-1])],
    }


def _make_colour_axis(scale: ColourScale) -> dict[str, Any]:
    ticks = {"tickvals": np.log10(scale.ticks).tolist(), "ticktext": list(scale.tick_labels)}
    return {
        "colorscale": "Cividis",
        "reversescale": True,
        "cmin": math.log10(scale.low),
        "cmax": math.log10(scale.high),
        "colorbar": {**ticks, "thickness": 14, "outlinewidth": 0},
    }

"""Figures as plotly.js takes them: traces and a layout.

Every trace carries the key of its agent as ``meta``, by which the page's legend finds it. Colours are names
(see `theme`) that the page resolves.
"""

import math
from functools import singledispatch
from html import escape
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.report.figures.figure import (
    AgentCurve,
    Axis,
    ColourScale,
    Curves,
    Figure,
    Panel,
    ReferenceLine,
    Strip,
    Strips,
    TileAxis,
    TileMark,
    Tiles,
    count_columns,
    jitter,
)
from heavytail.report.theme import OUTLINE

Trace: TypeAlias = dict[str, Any]

HEIGHT, WIDE_HEIGHT = 380, 460  # pixels of curves
STRIP_HEIGHT = 46  # pixels of an agent
PANEL_HEIGHT = 250  # pixels of a row of panels
BAND_OPACITY = 0.16


class Rendered(NamedTuple):
    """Traces and layout for plotly.js, and the height of the plot in pixels."""

    traces: list[Trace]
    layout: dict[str, Any]
    height: int


def render_plotly(figure: Figure) -> Rendered:
    """Render any figure for the page."""
    rendered = _render(figure.content)
    height = WIDE_HEIGHT if figure.wide and isinstance(figure.content, Curves) else rendered.height
    return rendered._replace(height=max(height, figure.min_height))


@singledispatch
def _render(content: Any) -> Rendered:
    raise TypeError(f"a figure shows curves, strips or tiles, not {type(content).__name__}")


@_render.register
def _render_curves(content: Curves) -> Rendered:
    traces = []
    for curve in content.curves:
        band = _make_band(curve, positive=content.y.log)
        traces += [*([band] if band else []), _make_line(curve, content.y)]
    traces += [_make_reference(line) for line in content.references]
    return Rendered(traces, _make_layout(content.x, content.y), HEIGHT)


def _make_line(curve: AgentCurve, y: Axis) -> Trace:
    """The line of an agent; a few markers tell it apart where colours do not."""
    colour, value = curve.style.token, "%{y:.3~p}" if y.percent else "%{y:,.4~g}"
    name = "%{fullData.name}" + (f", {escape_text(curve.note)}" if curve.note else "")
    line = {"color": colour, "dash": curve.style.dash, "width": 2}
    marker = {"symbol": curve.style.marker, "size": 7, "maxdisplayed": 7, "color": colour}
    look = {"mode": "lines+markers", "line": line, "marker": marker}
    if curve.note:
        look = {"mode": "lines", "line": {"color": colour, "width": 1.2, "dash": "dot"}}
    return {
        "type": "scatter",
        "meta": curve.agent,
        "name": escape_text(curve.label),
        "x": curve.x.tolist(),
        "y": to_json_list(curve.y),
        **look,
        "hovertemplate": _hover(name, f"%{{x:,}}: {value}"),
    }


def _make_band(curve: AgentCurve, *, positive: bool) -> Trace | None:
    """An area, there along the upper edge and back along the lower; None where no edge is finite.

    On a logarithmic axis (`positive`) it ends where the lower edge is no longer above 0: the line says how
    it goes on.
    """
    if curve.low is None or curve.high is None or not np.isfinite(curve.low).any():
        return None
    keep = curve.low > 0 if positive else np.ones(len(curve.low), bool)
    x, low, high = curve.x[keep], curve.low[keep], curve.high[keep]
    return {
        "type": "scatter",
        "meta": curve.agent,
        "name": escape_text(curve.label),
        "x": [*x.tolist(), *x[::-1].tolist()],
        "y": [*to_json_list(high), *to_json_list(low[::-1])],
        "mode": "lines",
        "line": {"width": 0, "color": curve.style.token},
        "fill": "toself",
        "fillcolor": f"{curve.style.token}/{BAND_OPACITY}",
        "hoverinfo": "skip",
    }


def _make_reference(line: ReferenceLine) -> Trace:
    label = escape_text(line.label)
    return {
        "type": "scatter",
        "name": label,
        "x": line.x.tolist(),
        "y": to_json_list(line.y),
        "mode": "lines",
        "line": {"color": "@muted", "width": 1.2, "dash": line.dash},
        "hovertemplate": _hover(label, "%{x:,}: %{y:,.4~g}"),
    }


@_render.register
def _render_strips(content: Strips) -> Rendered:
    layout, rows = _make_layout(content.x, Axis("")), len(content.strips)
    shapes = [bar for row, strip in enumerate(content.strips) if (bar := _make_median(strip, row))]
    if content.reference is not None:
        ends = {"x0": content.reference, "x1": content.reference, "y0": 0, "y1": 1}
        line = {"line": {"color": "@muted", "width": 1.2}}
        shapes.append({"type": "line", "xref": "x", "yref": "paper", **ends, **line})
    layout["xaxis"]["showgrid"] = True
    layout |= {
        "yaxis": {"visible": False, "range": [-max(rows, 1) - 0.05, 0.1], "fixedrange": True},
        "shapes": shapes,
        "annotations": [_make_row_title(strip, row) for row, strip in enumerate(content.strips)],
        "margin": {"l": 14, "r": 14, "t": 4, "b": 48},
    }
    traces = [_make_points(strip, row) for row, strip in enumerate(content.strips)]
    return Rendered(traces, layout, 80 + STRIP_HEIGHT * max(rows, 2))


def _make_points(strip: Strip, row: int) -> Trace:
    colour = f"{strip.style.token}/0.75"
    return {
        "type": "scatter",
        "meta": strip.agent,
        "name": escape_text(strip.label),
        "mode": "markers",
        "x": to_json_list(strip.values),
        "y": to_json_list(_row_centre(row) + 0.34 * jitter(len(strip.values))),
        "text": list(strip.names),
        "marker": {"color": colour, "size": 7, "symbol": strip.style.marker, "line": {"width": 0}},
        "hovertemplate": _hover("%{fullData.name}, %{text}", "%{x:,.5~g}"),
    }


def _make_median(strip: Strip, row: int) -> dict[str, Any] | None:
    """A bar at the median; none where some run has no value."""
    median, y = float(np.median(strip.values)), _row_centre(row)
    if not math.isfinite(median):
        return None
    ends = {"x0": median, "x1": median, "y0": y - 0.26, "y1": y + 0.26}
    return {"type": "line", **ends, "name": strip.agent, "line": {"color": "@ink", "width": 2.5}}


def _make_row_title(strip: Strip, row: int) -> dict[str, Any]:
    return {
        "text": escape_text(strip.label),
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "y": -row - 0.2,
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": 11.5, "color": strip.style.token},
    }


def _row_centre(row: int) -> float:
    return -row - 0.62


@_render.register
def _render_tiles(content: Tiles) -> Rendered:
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
    return {"xaxis": f"x{_axis_number(column)}", "yaxis": f"y{_axis_number(row)}"}


def _axis_number(i: int) -> str:
    return f"{i + 1}" if i else ""


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
        "hovertemplate": _hover(*escape_text(content.template).format(*fields).splitlines()),
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
        "hovertemplate": _hover(*map(escape_text, mark.notes)),
    }


def _make_tile_layout(content: Tiles, rows: int, columns: int) -> dict[str, Any]:
    base = _make_layout(Axis(""), Axis(""))
    x, y = base["xaxis"] | _make_tile_axis(content.x), base["yaxis"] | _make_tile_axis(content.y)
    legend = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "top", "yref": "container"}
    return {
        **base,
        **{f"xaxis{_axis_number(i)}": x for i in range(columns)},
        **{f"yaxis{_axis_number(i)}": y for i in range(rows)},
        "grid": {"rows": rows, "columns": columns, "pattern": "coupled", "xgap": 0.06, "ygap": 0.16},
        "annotations": [
            _make_panel_title(panel.title, _panel_axes(i, columns))
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


def _make_panel_title(title: str, axes: dict[str, str]) -> dict[str, Any]:
    return {
        "text": escape_text(title),
        "xref": f"{axes['xaxis']} domain",
        "yref": f"{axes['yaxis']} domain",
        "x": 0.5,
        "y": 1.0,
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
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


def _make_layout(x: Axis, y: Axis) -> dict[str, Any]:
    """Make the layout that all figures share."""
    font = {"color": "@ink"}
    label = {"bgcolor": "@card", "bordercolor": "@muted", "font": font, "align": "left", "namelength": -1}
    return {
        "xaxis": {**_make_axis(x, standoff=8), "showgrid": False, "showline": True},
        "yaxis": _make_axis(y, standoff=10),
        "margin": {"l": 56, "r": 14, "t": 10, "b": 48},
        "font": {**font, "family": "system-ui, sans-serif", "size": 12.5},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hoverlabel": label,
        "hovermode": "closest",
        "showlegend": False,
        "uirevision": "kept",
    }


def _make_axis(axis: Axis, standoff: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "gridcolor": "@grid",
        "linecolor": "@muted",
        "zerolinecolor": "@grid",
        "ticks": "outside",
        "tickcolor": "@muted",
        "automargin": True,
        "title": {"text": escape_text(axis.label), "standoff": standoff},
    }
    if axis.limits:
        made["range"] = [math.log10(end) if axis.log else end for end in axis.limits]
    if axis.log:
        made |= {"type": "log", "exponentformat": "power", "dtick": "D2" if axis.percent else 1}
    if axis.percent:
        made["tickformat"] = ".3~p"
    if axis.ticks:
        places, words = zip(*axis.ticks, strict=True)
        made |= {"tickvals": places, "ticktext": [escape_text(word) for word in words]}
    return made


def escape_text(text: str) -> str:
    """Escape text that plotly would read as markup: it knows some tags, and mathematics between dollars."""
    return escape(text, quote=False).replace("$", "&#36;")


def _hover(*lines: str) -> str:
    """Lines under the pointer, in plotly's own markup; an empty <extra> hides the box with the name."""
    return "<br>".join(lines) + "<extra></extra>"


def to_json_list(values: Floats | Ints) -> list[float | None]:
    """Turn an array into a list for JSON, with six digits, which is more than a screen shows.

    What is not finite is None, which curves leave out.
    """
    return [float(f"{x:.6g}") if math.isfinite(x) else None for x in np.asarray(values, np.float64).tolist()]

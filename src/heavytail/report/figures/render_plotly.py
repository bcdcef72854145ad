"""Figures as plotly.js takes them: traces and a layout.

Every trace carries the key of its agent as ``meta``, by which the page's legend finds it. Colours are names
(see `theme`) that the page resolves.
"""

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from heavytail.report.figures.figure import (
    AgentCurve,
    Axis,
    Curves,
    Figure,
    IntervalRow,
    Intervals,
    ReferenceLine,
    SmallMultiples,
    Strip,
    Strips,
    Tiles,
    count_columns,
    jitter,
)
from heavytail.report.figures.plotly_layout import (
    Multiples,
    Rendered,
    Trace,
    axis_number,
    escape_text,
    hover_text,
    make_layout,
    make_panel_title,
    round_number,
    to_json_list,
)
from heavytail.report.figures.plotly_tiles import render_tiles

HEIGHT, WIDE_HEIGHT = 380, 460  # pixels of curves
STRIP_HEIGHT = 46  # pixels of an agent
INTERVAL_HEIGHT = 38  # pixels of an agent
SMALL_HEIGHT, SMALL_WIDTH = 250, 215  # pixels of a small multiple: of its curves, and at least
BAND_OPACITY = 0.16


def render_plotly(figure: Figure) -> Rendered:
    """Render any figure for the page."""
    rendered = _render(figure.content)
    height = WIDE_HEIGHT if figure.wide and isinstance(figure.content, Curves) else rendered.height
    return rendered._replace(height=max(height, figure.min_height))


@singledispatch
def _render(content: Any) -> Rendered:
    raise TypeError(f"a figure shows curves, strips, intervals or tiles, not {type(content).__name__}")


@_render.register
def _render_curves(content: Curves) -> Rendered:
    traces = []
    for curve in content.curves:
        band = _make_band(curve, positive=content.y.log)
        traces += [*([band] if band else []), _make_line(curve, content.y)]
    traces += [_make_reference(line) for line in content.references]
    return Rendered(traces, make_layout(content.x, content.y), HEIGHT)


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
        "hovertemplate": hover_text(name, f"%{{x:,}}: {value}"),
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
        "hovertemplate": hover_text(label, "%{x:,}: %{y:,.4~g}"),
    }


@_render.register
def _render_strips(content: Strips) -> Rendered:
    traces = [_make_points(strip, row) for row, strip in enumerate(content.strips)]
    bars = [bar for row, strip in enumerate(content.strips) if (bar := _make_median(strip, row))]
    layout = _make_row_layout(content.x, content.strips, content.reference, bars)
    return Rendered(traces, layout, 80 + STRIP_HEIGHT * max(len(traces), 2))


def _make_row_layout(
    x: Axis, rows: Sequence[Strip | IntervalRow], reference: float | None, bars: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Make the layout of a row for each agent, under its name."""
    layout, shapes = make_layout(x, Axis("")), list(bars)
    if reference is not None:
        ends = {"x0": reference, "x1": reference, "y0": 0, "y1": 1}
        line = {"line": {"color": "@muted", "width": 1.2}}
        shapes.append({"type": "line", "xref": "x", "yref": "paper", **ends, **line})
    layout["xaxis"]["showgrid"] = True
    return layout | {
        "yaxis": {"visible": False, "range": [-max(len(rows), 1) - 0.05, 0.1], "fixedrange": True},
        "shapes": shapes,
        "annotations": [_make_row_title(each, row) for row, each in enumerate(rows)],
        "margin": {"l": 14, "r": 14, "t": 4, "b": 48},
    }


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
        "hovertemplate": hover_text("%{fullData.name}, %{text}", "%{x:,.5~g}"),
    }


def _make_median(strip: Strip, row: int) -> dict[str, Any] | None:
    """A bar at the median; none where some run has no value."""
    median, y = float(np.median(strip.values)), _row_centre(row)
    if not math.isfinite(median):
        return None
    ends = {"x0": median, "x1": median, "y0": y - 0.26, "y1": y + 0.26}
    return {"type": "line", **ends, "name": strip.agent, "line": {"color": "@ink", "width": 2.5}}


def _make_row_title(agent: Strip | IntervalRow, row: int) -> dict[str, Any]:
    return {
        "text": escape_text(agent.label),
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "y": -row - 0.2,
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": 11.5, "color": agent.style.token},
    }


def _row_centre(row: int) -> float:
    return -row - 0.62


@_render.register
def _render_intervals(content: Intervals) -> Rendered:
    traces = [_make_dot(each, row, content.x) for row, each in enumerate(content.rows)]
    layout = _make_row_layout(content.x, content.rows, content.reference)
    return Rendered(traces, layout, 80 + INTERVAL_HEIGHT * max(len(traces), 2))


def _make_dot(each: IntervalRow, row: int, x: Axis) -> Trace:
    colour, form = each.style.token, ".3~p" if x.percent else ",.4~g"
    hover = [escape_text(each.label), f"%{{x:{form}}}"]
    bar = {}
    if math.isfinite(each.low) and math.isfinite(each.high):
        ends = {
            "array": [round_number(each.high - each.estimate)],
            "arrayminus": [round_number(each.estimate - each.low)],
        }
        bar = {"error_x": {"type": "data", "symmetric": False, **ends, "thickness": 2.5, "width": 0}}
        hover[1] += f" [%{{customdata[0]:{form}}}, %{{customdata[1]:{form}}}]"
    return {
        "type": "scatter",
        "meta": each.agent,
        "name": escape_text(each.label),
        "mode": "markers",
        "x": [round_number(each.estimate)],
        "y": [_row_centre(row)],
        "customdata": [[round_number(each.low), round_number(each.high)]],
        "marker": {"color": colour, "size": 10, "symbol": each.style.marker},
        "cliponaxis": False,
        **bar,
        "hovertemplate": hover_text(*hover),
    }


@_render.register
def _render_multiples(content: SmallMultiples) -> Rendered:
    """Render the panels one by one, and give each axes of its own."""
    n, rendered = len(content.panels), [_render(panel) for _, panel in content.panels]
    columns = count_columns(n, most=5)
    rows = -(-n // columns)
    base = make_layout(Axis(""), Axis(""))
    del base["xaxis"], base["yaxis"]
    small = [_to_panel(each, i) for i, each in enumerate(rendered)]
    titles = [make_panel_title(title, _own_axes(i)) for i, (title, _) in enumerate(content.panels)]
    layout = {
        **base,
        **{name: axis for each in small for name, axis in each.layout.items() if "axis" in name},
        "grid": {"rows": rows, "columns": columns, "pattern": "independent"},
        "annotations": [*titles, *(item for each in small for item in each.layout["annotations"])],
        "shapes": [item for each in small for item in each.layout["shapes"]],
        "margin": {"l": max(each.layout["margin"]["l"] for each in rendered), "r": 14, "t": 26, "b": 44},
    }
    height = max(SMALL_HEIGHT, *(each.height for each in rendered if "shapes" in each.layout), 0)
    labels = {each.layout["yaxis"].get("title", {}).get("text") for each in rendered}
    multiples = Multiples(n, columns, height, SMALL_WIDTH, len(labels) == 1)
    return Rendered([trace for each in small for trace in each.traces], layout, rows * height, multiples)


def _own_axes(panel: int) -> dict[str, str]:
    return {"xaxis": f"x{axis_number(panel)}", "yaxis": f"y{axis_number(panel)}"}


def _to_panel(rendered: Rendered, panel: int) -> Rendered:
    """Turn a figure into a panel: its axes are those of this number, and its paper is what they span."""
    axes, layout = _own_axes(panel), rendered.layout

    def anchor(item: dict[str, Any]) -> dict[str, Any]:
        refs = {f"{side}ref": item.get(f"{side}ref", side) for side in "xy"}
        own = {"x": axes["xaxis"], "y": axes["yaxis"]}
        return item | {
            name: f"{own[name[0]]} domain" if ref == "paper" else own[name[0]] for name, ref in refs.items()
        }

    return rendered._replace(
        traces=[trace | axes for trace in rendered.traces],
        layout={
            **{f"{side}axis{axis_number(panel)}": layout[f"{side}axis"] for side in "xy"},
            **{name: [anchor(item) for item in layout.get(name, ())] for name in ("annotations", "shapes")},
        },
    )


_render.register(Tiles, render_tiles)

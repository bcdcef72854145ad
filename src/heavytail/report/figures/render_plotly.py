"""What the interactive curves are made of, as plotly.js takes it: lines, bands, axes.

Every trace carries the key of its agent as ``meta``, by which the page's legend finds it. Colours are names
(see `theme`); texts from the study are escaped, since plotly reads tags.
"""

from html import escape
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.report.theme import AgentStyle
from heavytail.studies.bound_lines import BoundLine
from heavytail.studies.results import Agent, Task

Traces: TypeAlias = list[dict[str, Any]]
BAND = 0.16  # how opaque


class Lines(NamedTuple):
    """A curve with a band around it."""

    middle: Floats
    low: Floats
    high: Floats


def layout(x: str, y: str, task: Task | None = None) -> dict[str, Any]:
    """What all figures have in common; along the run of a task the axis starts at 0."""
    longest = max((int(agent.runs.at[-1]) for agent in task.agents), default=1) if task else 0
    axis = {
        "gridcolor": "@grid",
        "linecolor": "@muted",
        "zerolinecolor": "@grid",
        "ticks": "outside",
        "tickcolor": "@muted",
        "automargin": True,
    }
    return {
        "xaxis": {
            **axis,
            "title": {"text": x, "standoff": 8},
            "showgrid": False,
            "showline": True,
            **({"range": [0, 1.02 * longest]} if task else {}),
        },
        "yaxis": {**axis, "title": {"text": y, "standoff": 10}},
        "margin": {"l": 56, "r": 14, "t": 10, "b": 48},
        "font": {"color": "@ink", "family": "system-ui, sans-serif", "size": 12.5},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hoverlabel": {
            "bgcolor": "@card",
            "bordercolor": "@muted",
            "font": {"color": "@ink"},
            "align": "left",
            "namelength": -1,
        },
        "hovermode": "closest",
        "showlegend": False,
        "uirevision": "kept",
    }


def line(agent: Agent, look: AgentStyle, at: Ints | Floats, middle: Floats) -> dict[str, Any]:
    """The curve of an agent; a few markers tell it apart where colours do not."""
    return {
        "type": "scatter",
        "meta": agent.key,
        "name": escape(agent.label, quote=False),
        "x": at.tolist(),
        "y": plain(middle),
        "mode": "lines+markers",
        "line": {"color": look.token, "dash": look.dash, "width": 2},
        "marker": {"symbol": look.marker, "size": 7, "maxdisplayed": 7, "color": look.token},
        "hovertemplate": "%{fullData.name}<br>%{x:,}: %{y:,.4~g}<extra></extra>",
    }


def band(agent: Agent, look: AgentStyle, at: Ints | Floats, lines: Lines) -> dict[str, Any]:
    """There along the upper edge and back along the lower."""
    return {
        "type": "scatter",
        "meta": agent.key,
        "name": escape(agent.label, quote=False),
        "x": [*at.tolist(), *at[::-1].tolist()],
        "y": [*plain(lines.high), *plain(lines.low[::-1])],
        "mode": "lines",
        "line": {"width": 0, "color": look.token},
        "fill": "toself",
        "fillcolor": f"{look.token}/{BAND}",
        "hoverinfo": "skip",
    }


def positive(traces: Traces) -> Traces:
    """Bands on logarithmic axes end where the lower edge is no longer above 0.

    The line says how it goes on.
    """
    kept = []
    for trace in traces:
        half = len(trace["x"]) // 2
        if trace.get("fill"):
            high, low = trace["y"][:half], trace["y"][half:][::-1]
            keep = [i for i in range(half) if low[i] is not None and low[i] > 0]
            x = [trace["x"][i] for i in keep]
            trace = {
                **trace,
                "x": [*x, *x[::-1]],
                "y": [*(high[i] for i in keep), *(low[i] for i in keep[::-1])],
            }
        kept.append(trace)
    return kept


def best_line(at: Ints, values: Floats) -> dict[str, Any]:
    """What the best policy gets."""
    return {
        "type": "scatter",
        "name": "best policy",
        "x": at.tolist(),
        "y": plain(values),
        "mode": "lines",
        "line": {"color": "@muted", "width": 1.2},
        "hovertemplate": "best policy<br>%{x:,}: %{y:,.4~g}<extra></extra>",
    }


def bound_line(bound: BoundLine) -> dict[str, Any]:
    """What theory says."""
    label = escape(bound.label, quote=False)
    return {
        "type": "scatter",
        "name": label,
        "x": plain(bound.at),
        "y": plain(bound.values),
        "mode": "lines",
        "line": {"color": "@muted", "width": 1.2, "dash": bound.dash},
        "hovertemplate": f"{label}<br>%{{x:,}}: %{{y:,.4~g}}<extra></extra>",
    }


def plain(value: Any) -> Any:
    """Arrays as lists for JSON, with six digits, which is more than a screen shows.

    What is not finite is left out of a curve.
    """
    return [float(f"{x:.6g}") if np.isfinite(x) else None for x in np.asarray(value, np.float64).tolist()]

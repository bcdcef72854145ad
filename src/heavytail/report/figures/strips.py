"""Strips: every seed a point, so that nobody has to trust a summary."""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from heavytail.arrays import Floats
from heavytail.report.figures.curves import HEIGHT, FigureSpec
from heavytail.report.figures.render_plotly import Traces, layout, plain
from heavytail.report.theme import AgentStyle
from heavytail.studies.results import Task, final_regret, mean_reward_in

ROW = 46  # pixels of an agent


def last_tenth_strips(task: Task, styles: Mapping[str, AgentStyle]) -> FigureSpec:
    """Where each run ended up: its mean reward per unit in the last tenth."""
    values = {agent.key: mean_reward_in(agent.runs, 0.9, 1.0) for agent in task.agents}
    what = f"mean {task.reward} per {task.per}"
    best = ", the thin line the best policy" if task.optimum is not None else ""
    caption = (
        f"{what.capitalize()} in the last tenth of the run, one point per seed; the bar is the median{best}."
    )
    shown = _strips(
        "last-tenth", "Where each seed ended up", caption, task, styles, values, f"{what}, last tenth"
    )
    if task.optimum is not None:
        line = {
            "type": "line",
            "xref": "x",
            "yref": "paper",
            "x0": task.optimum,
            "x1": task.optimum,
            "y0": 0,
            "y1": 1,
        }
        shown.layout["shapes"].append({**line, "line": {"color": "@muted", "width": 1.2}})
        return shown
    return shown._replace(height=max(shown.height, HEIGHT))  # beside curves, not beside other strips


def final_regret_strips(task: Task, styles: Mapping[str, AgentStyle]) -> FigureSpec:
    """The regret of each run."""
    values = {agent.key: final_regret(agent.runs) for agent in task.agents}
    caption = "Regret of the whole run, one point per seed; the bar is the median."
    return _strips(
        "final-regret", "Final regret of each seed", caption, task, styles, values, "final regret (reward)"
    )


def jitter(n: int) -> Floats:
    """Heights that keep neighbouring points apart, the same every time: the golden ratio's multiples.

    >>> jitter(3).round(2)
    array([ 0.  , -0.38,  0.24])
    """
    return np.mod(0.5 + np.arange(n, dtype=np.float64) * 0.6180339887, 1.0) - 0.5


def _strips(
    name: str,
    title: str,
    caption: str,
    task: Task,
    styles: Mapping[str, AgentStyle],
    values: Mapping[str, Floats],
    x: str,
) -> FigureSpec:
    traces: Traces = []
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for row, agent in enumerate(task.agents):
        look, points, y = styles[agent.key], values[agent.key], -row - 0.62
        middle = float(np.median(points))
        traces.append(
            {
                "type": "scatter",
                "meta": agent.key,
                "name": escape(agent.label, quote=False),
                "mode": "markers",
                "x": plain(points),
                "y": plain(y + 0.34 * jitter(len(points))),
                "text": [f"seed {r}" for r in agent.runs.replicates.tolist()],
                "marker": {
                    "color": f"{look.token}/0.75",
                    "size": 7,
                    "symbol": look.marker,
                    "line": {"width": 0},
                },
                "hovertemplate": "%{fullData.name}, %{text}<br>%{x:,.5~g}<extra></extra>",
            }
        )
        if np.isfinite(middle):  # unless some run ended no episode
            bar = {
                "type": "line",
                "x0": middle,
                "x1": middle,
                "y0": y - 0.26,
                "y1": y + 0.26,
                "name": agent.key,
            }
            shapes.append({**bar, "line": {"color": "@ink", "width": 2.5}})
        text = {
            "text": escape(agent.label, quote=False),
            "xref": "paper",
            "x": 0,
            "xanchor": "left",
            "y": -row - 0.2,
            "yanchor": "middle",
        }
        notes.append({**text, "showarrow": False, "font": {"size": 11.5, "color": look.token}})
    made = layout(x, "")
    made["yaxis"] = {"visible": False, "range": [-max(len(task.agents), 1) - 0.05, 0.1], "fixedrange": True}
    made["xaxis"]["showgrid"] = True
    made.update(shapes=shapes, annotations=notes, margin={"l": 14, "r": 14, "t": 4, "b": 48})
    return FigureSpec(name, title, caption, traces, made, height=80 + ROW * max(len(task.agents), 2))

"""Figures for paper.

The curves of the page as matplotlib draws them, in the style of a two-column article.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

from heavytail.arrays import Floats, Ints
from heavytail.report.figures.curves import (
    figure_names,
    realised_lines,
    reward_lines,
    truncated_decades,
    truncated_lines,
)
from heavytail.report.figures.render_plotly import Lines
from heavytail.report.figures.strips import jitter
from heavytail.report.theme import PAPER_DASHES, PAPER_MARKERS, AgentStyle
from heavytail.studies.backends.backend import TRUNCATED
from heavytail.studies.bound_lines import BoundLine
from heavytail.studies.results import Agent, Task, final_regret, mean_reward_in

WIDTH, HEIGHT = 4.2, 2.7  # inches of a panel
LETTERS = 8.0
GREY = "#777777"
MAX_COLUMNS = 4  # panels side by side
ROW = 0.15  # inches of a line of the legend


def paper_figures(task: Task, styles: Mapping[str, AgentStyle]) -> dict[str, Figure]:
    """All figures of a task by the names that they have in the page."""

    def curves(lines: Callable[[Agent], Lines], y: str, **settings: Any) -> Figure:
        return single(task.agents, styles, lambda axes: _curves(axes, task, styles, lines, y, **settings))

    drawn: dict[str, Callable[[], Figure]] = {
        "regret": lambda: curves(lambda a: Lines(*a.regret), "cumulative regret"),
        "log-log": lambda: curves(lambda a: Lines(*a.regret), "cumulative regret", log=True),
        "reward": lambda: single(task.agents, styles, lambda axes: draw_reward(axes, task, styles)),
        "pace": lambda: single(task.agents, styles, lambda axes: draw_pace(axes, task, styles)),
        "realised": lambda: curves(realised_lines, "cumulative realised reward"),
        "last-tenth": lambda: _strips(
            task,
            styles,
            lambda a: mean_reward_in(a.runs, 0.9, 1.0),
            f"{_reward(task)}, last tenth",
            best=task.optimum,
        ),
        "final-regret": lambda: _strips(task, styles, lambda a: final_regret(a.runs), "final regret"),
        TRUNCATED: lambda: _truncated(task, styles),
    }
    return {name: drawn[name]() for name in figure_names(task)}


def overview(tasks: Sequence[Task], styles: Mapping[str, AgentStyle]) -> Figure:
    """Figure 2 of the paper: a panel for each environment, one legend for all."""
    agents = list({agent.key: agent for task in tasks for agent in task.agents}.values())
    across = min(len(tasks), MAX_COLUMNS)
    down = -(-len(tasks) // across)
    wide = max(across * 3.3, WIDTH)
    figure = Figure((wide, down * HEIGHT + ROW * _rows(agents, wide)), layout="constrained")
    for i, task in enumerate(tasks):
        axes = figure.add_subplot(down, across, i + 1)
        (draw_pace if task.optimum is None else draw_reward)(axes, task, styles)
        axes.set_title(_plain(task.label), fontsize=LETTERS + 1.5)
    _legend(figure, agents, styles)
    return figure


def draw_reward(axes: Axes, task: Task, styles: Mapping[str, AgentStyle]) -> None:
    """Cumulative mean reward, mean and one standard deviation over seeds."""
    _curves(axes, task, styles, reward_lines, "cumulative mean reward", best=lambda optimum, at: optimum * at)


def draw_pace(axes: Axes, task: Task, styles: Mapping[str, AgentStyle]) -> None:
    """Reward per unit along the run, median and bootstrap band."""
    _curves(
        axes,
        task,
        styles,
        lambda a: Lines(*a.pace),
        _reward(task),
        best=lambda optimum, at: np.full(len(at), optimum),
    )


def _reward(task: Task) -> str:
    return f"mean {task.reward} per {task.per}"


def _truncated(task: Task, styles: Mapping[str, AgentStyle]) -> Figure:
    truncating = task._replace(agents=task.truncating)

    def draw(axes: Axes) -> None:
        _curves(
            axes, truncating, styles, lambda a: truncated_lines(a, task), "share of rewards truncated so far"
        )
        axes.set_yscale("log")
        axes.set_ylim(*(10.0**end for end in truncated_decades(task)))
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g}%"))

    return single(truncating.agents, styles, draw)


def single(agents: Sequence[Agent], styles: Mapping[str, AgentStyle], draw: Callable[[Axes], None]) -> Figure:
    """A figure of one panel, with a legend below."""
    figure = Figure((WIDTH, HEIGHT + ROW * _rows(agents, WIDTH)), layout="constrained")
    draw(figure.add_subplot())
    _legend(figure, agents, styles)
    return figure


def _curves(
    axes: Axes,
    task: Task,
    styles: Mapping[str, AgentStyle],
    lines: Callable[[Agent], Lines],
    y: str,
    *,
    log: bool = False,
    best: Callable[[float, Floats], Floats] | None = None,
) -> None:
    for agent in task.agents:
        draw_line(axes, styles[agent.key], agent.runs.at, lines(agent))
    if best and task.optimum is not None and task.agents:
        at = task.agents[0].runs.at
        axes.plot(at, best(task.optimum, at.astype(np.float64)), color=GREY, linewidth=0.8, zorder=0)
    if log:
        axes.set_xscale("log")
        axes.set_yscale("log")
        for bound in task.bounds:
            draw_bound(axes, bound)
    else:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    dress(axes, f"{task.unit}s", y)


def draw_line(axes: Axes, look: AgentStyle, at: Ints | Floats, lines: Lines) -> None:
    """A curve with its band."""
    axes.plot(
        at,
        lines.middle,
        color=look.paper,
        linestyle=PAPER_DASHES[look.dash],
        marker=PAPER_MARKERS[look.marker],
        markevery=max(1, len(at) // 7),
        markersize=3.2,
        linewidth=1.2,
    )
    axes.fill_between(at, lines.low, lines.high, color=look.paper, alpha=0.15, linewidth=0)


def _strips(
    task: Task,
    styles: Mapping[str, AgentStyle],
    values: Callable[[Agent], Floats],
    x: str,
    *,
    best: float | None = None,
) -> Figure:
    figure = Figure((WIDTH, 0.7 + 0.26 * max(len(task.agents), 2)), layout="constrained")
    axes = figure.add_subplot()
    for row, agent in enumerate(task.agents):
        look, points = styles[agent.key], values(agent)
        axes.scatter(
            points,
            row + 0.5 * jitter(len(points)),
            s=9,
            color=look.paper,
            marker=PAPER_MARKERS[look.marker],
            alpha=0.7,
            linewidth=0,
            clip_on=False,
        )
        axes.plot([np.median(points)] * 2, [row - 0.32, row + 0.32], color="black", linewidth=1.4)
    if best is not None:
        axes.axvline(best, color=GREY, linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(task.agents)), [_plain(agent.label) for agent in task.agents])
    axes.set_ylim(len(task.agents) - 0.5, -0.5)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    dress(axes, x, "")
    axes.tick_params(axis="y", length=0)
    return figure


def dress(axes: Axes, x: str, y: str) -> None:
    """Words at the axes, and no frame."""
    axes.set_xlabel(x, fontsize=LETTERS)
    axes.set_ylabel(y, fontsize=LETTERS)
    axes.tick_params(labelsize=LETTERS - 0.5, length=2.5)
    axes.spines[["top", "right"]].set_visible(False)


def draw_bound(axes: Axes, bound: BoundLine) -> None:
    """A grey line with its name on it."""
    axes.plot(bound.at, bound.values, color=GREY, linewidth=0.8, linestyle=PAPER_DASHES[bound.dash], zorder=0)
    middle = (bound.at[len(bound.at) // 2], bound.values[len(bound.at) // 2])
    axes.annotate(
        bound.label, middle, xytext=(0, 4), textcoords="offset points", ha="right", color=GREY, fontsize=6
    )


def _legend(figure: Figure, agents: Sequence[Agent], styles: Mapping[str, AgentStyle]) -> None:
    handles = [
        Line2D(
            [],
            [],
            color=look.paper,
            linestyle=PAPER_DASHES[look.dash],
            marker=PAPER_MARKERS[look.marker],
            markersize=3.2,
            linewidth=1.2,
            label=_plain(agent.label),
        )
        for agent in agents
        if (look := styles[agent.key])
    ]
    if handles:
        figure.legend(
            handles=handles, loc="outside lower center", ncols=_columns(agents, figure.get_figwidth()), fontsize=LETTERS - 0.5, frameon=False, handlelength=2.8,
            columnspacing=1.4, labelspacing=0.35,
        )  # fmt: skip


def _columns(agents: Sequence[Agent], width: float) -> int:
    """How many names stand side by side in a legend of this width."""
    longest = max((len(agent.label) for agent in agents), default=1)
    return max(1, int(width / (0.042 * longest + 0.45)))


def _rows(agents: Sequence[Agent], width: float) -> int:
    return -(-len(agents) // _columns(agents, width))


def _plain(label: str) -> str:
    """Words as they are: a dollar starts mathematics in matplotlib."""
    return label.replace("$", r"\$")

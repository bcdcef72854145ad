"""Figures for paper: the curves of the page as matplotlib draws them, in the style of a two-column article."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from heavytail.arrays import Floats, Ints
from heavytail.report.curves import Agent, Task, between, final
from heavytail.report.curves_shown import realised_lines, reward_lines
from heavytail.report.curves_strips import jitter
from heavytail.report.curves_traces import Lines
from heavytail.report.theme import PAPER_DASHES, PAPER_MARKERS, Look

WIDTH, HEIGHT = 4.2, 2.7  # inches of a panel
LETTERS = 8.0
GREY = "#777777"
ROW = 0.15  # inches of a line of the legend


def paper_figures(task: Task, looks: Mapping[str, Look]) -> dict[str, Figure]:
    """All figures of a task by the names that they have in the page."""

    def single(draw: Callable[[Axes], None], height: float = HEIGHT) -> Figure:
        figure = Figure((WIDTH, height + ROW * _rows(task.agents, WIDTH)), layout="constrained")
        draw(figure.add_subplot())
        _legend(figure, task.agents, looks)
        return figure

    def curves(lines: Callable[[Agent], Lines], y: str, *, log: bool = False, best: Callable[[Ints], Floats] | None = None) -> Figure:
        return single(lambda axes: _curves(axes, task, looks, lines, y, log=log, best=best))

    return {
        "regret": curves(lambda a: Lines(*a.regret), "cumulative regret"),
        "log-log": curves(lambda a: Lines(*a.regret), "cumulative regret", log=True),
        "reward": single(lambda axes: draw_reward(axes, task, looks)),
        "pace": curves(
            lambda a: Lines(*a.pace),
            f"mean reward per {task.unit}",
            best=lambda at: np.full(len(at), task.optimum),
        ),
        "realised": curves(realised_lines, "cumulative realised reward"),
        "last-tenth": _strips(
            task, looks, lambda a: between(a.runs, 0.9, 1.0), f"mean reward per {task.unit}, last tenth", best=task.optimum
        ),
        "final-regret": _strips(task, looks, lambda a: final(a.runs), "final regret"),
    }


def overview(tasks: Sequence[Task], looks: Mapping[str, Look]) -> Figure:
    """Figure 2 of the paper: a panel for each environment, one legend for all."""
    agents = list({agent.key: agent for task in tasks for agent in task.agents}.values())
    wide = max(len(tasks) * 3.3, WIDTH)
    figure = Figure((wide, HEIGHT + ROW * _rows(agents, wide)), layout="constrained")
    for i, task in enumerate(tasks):
        axes = figure.add_subplot(1, len(tasks), i + 1)
        draw_reward(axes, task, looks)
        axes.set_title(_plain(task.label), fontsize=LETTERS + 1.5)
    _legend(figure, agents, looks)
    return figure


def draw_reward(axes: Axes, task: Task, looks: Mapping[str, Look]) -> None:
    """Cumulative mean reward, mean and one standard deviation over seeds."""
    _curves(axes, task, looks, reward_lines, "cumulative mean reward", best=lambda at: task.optimum * at.astype(np.float64))


def _curves(
    axes: Axes,
    task: Task,
    looks: Mapping[str, Look],
    lines: Callable[[Agent], Lines],
    y: str,
    *,
    log: bool = False,
    best: Callable[[Ints], Floats] | None = None,
) -> None:
    for agent in task.agents:
        look, found, at = looks[agent.key], lines(agent), agent.runs.at
        axes.plot(
            at,
            found.middle,
            color=look.paper,
            linestyle=PAPER_DASHES[look.dash],
            marker=PAPER_MARKERS[look.marker],
            markevery=max(1, len(at) // 7),
            markersize=3.2,
            linewidth=1.2,
        )
        axes.fill_between(at, found.low, found.high, color=look.paper, alpha=0.15, linewidth=0)
    if best and task.agents:
        at = task.agents[0].runs.at
        axes.plot(at, best(at), color=GREY, linewidth=0.8, zorder=0)
    if log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    else:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    _dress(axes, f"{task.unit}s", y)


def _strips(task: Task, looks: Mapping[str, Look], values: Callable[[Agent], Floats], x: str, *, best: float | None = None) -> Figure:
    figure = Figure((WIDTH, 0.7 + 0.26 * max(len(task.agents), 2)), layout="constrained")
    axes = figure.add_subplot()
    for row, agent in enumerate(task.agents):
        look, points = looks[agent.key], values(agent)
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
    _dress(axes, x, "")
    axes.tick_params(axis="y", length=0)
    return figure


def _dress(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=LETTERS)
    axes.set_ylabel(y, fontsize=LETTERS)
    axes.tick_params(labelsize=LETTERS - 0.5, length=2.5)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(figure: Figure, agents: Sequence[Agent], looks: Mapping[str, Look]) -> None:
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
        if (look := looks[agent.key])
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

"""The curves of a task as interactive figures.

Regret, reward as the paper draws it and along the run, what was really drawn, and what was truncated.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats
from heavytail.report.figures.render_plotly import (
    Lines,
    Traces,
    band,
    best_line,
    bound_line,
    layout,
    line,
    positive,
)
from heavytail.report.theme import AgentStyle
from heavytail.studies.backends.backend import TRUNCATED
from heavytail.studies.bound_lines import in_words
from heavytail.studies.results import Agent, Task, truncated_shares

HEIGHT = 380  # pixels


class FigureSpec(NamedTuple):
    """A figure of the page."""

    name: str
    title: str
    caption: str
    traces: Traces
    layout: dict[str, Any]
    wide: bool = False
    height: int = HEIGHT


def regret_figure(task: Task, styles: Mapping[str, AgentStyle]) -> FigureSpec:
    """Cumulative regret: median and bootstrap band."""
    caption = (
        f"Median over seeds; the band is its {task.aggregation.confidence:.0%} bootstrap interval."
        " Regret is measured with mean rewards."
    )
    return _figure(
        "regret",
        "Regret",
        caption,
        task,
        styles,
        lambda a: Lines(*a.regret),
        "cumulative regret (reward)",
        wide=True,
    )


def log_log_figure(task: Task, styles: Mapping[str, AgentStyle]) -> FigureSpec:
    """The same on logarithmic axes, where a power is a line."""
    hidden = sum(int((agent.regret.estimate <= 0).sum()) for agent in task.agents)
    caption = (
        "The same on logarithmic axes: a slope of 1 is a policy that stays wrong, 1/2 is the rate of the"
        " light-tailed theory."
    )
    caption += f" {hidden} points at or below 0 cannot be drawn here." if hidden else ""
    caption += in_words(task.bounds)
    shown = _figure(
        "log-log",
        "Regret, log-log",
        caption,
        task,
        styles,
        lambda a: Lines(*a.regret),
        "cumulative regret (reward)",
    )
    for axis in ("xaxis", "yaxis"):
        shown.layout[axis].update(type="log", exponentformat="power", dtick=1)
    shown.layout["xaxis"].pop("range")
    return shown._replace(traces=[*positive(shown.traces), *map(bound_line, task.bounds)])


def reward_figure(task: Task, styles: Mapping[str, AgentStyle]) -> FigureSpec:
    """Cumulative mean reward as the paper draws it."""
    caption = (
        "As in figure 2 of the paper: cumulative mean reward, averaged over seeds, with one standard deviation on either side."
        " The thin line is the best policy."
    )
    shown = _figure(
        "reward",
        "Cumulative reward, the paper's drawing",
        caption,
        task,
        styles,
        reward_lines,
        "cumulative mean reward",
    )
    return _with_best(shown, task, lambda optimum, at: optimum * at)


def pace_figure(task: Task, styles: Mapping[str, AgentStyle]) -> FigureSpec:
    """Reward per unit along the run.

    Where nobody knows the best policy, it is the figure to look at first.
    """
    what = f"{task.reward} per {task.per}"
    since = (
        "of the episodes that ended since the checkpoint before"
        if task.unit != task.per
        else "since the checkpoint before"
    )
    caption = (
        f"Mean {what} {since}: median over seeds with its {task.aggregation.confidence:.0%} bootstrap"
        " interval."
    )
    caption += " The thin line is the best policy." if task.optimum is not None else ""
    shown = _figure(
        "pace",
        what.capitalize(),
        caption,
        task,
        styles,
        lambda a: Lines(*a.pace),
        f"mean {what}",
        wide=task.optimum is None,
    )
    return _with_best(shown, task, lambda optimum, at: np.full(len(at), optimum))


def realised_figure(task: Task, styles: Mapping[str, AgentStyle]) -> FigureSpec:
    """What was really drawn, beside what was to be expected."""
    caption = (
        "Realised rewards (lines; the band holds the middle half of the seeds) against mean rewards (dotted medians). Realised sums of"
        " heavy-tailed rewards have no variance: their mean and standard deviation describe the largest draw and nothing else, so that"
        " only medians and quantiles are drawn."
    )

    lost = sum(int(np.isnan(agent.runs.realised_reward).any(axis=1).sum()) for agent in task.agents)
    caption += (
        f" {lost} runs drew both infinities, so that their sum is not defined; they are left out."
        if lost
        else ""
    )

    shown = _figure(
        "realised", "Realised against mean reward", caption, task, styles, realised_lines, "cumulative reward"
    )
    means = [
        {
            **line(agent, styles[agent.key], agent.runs.at, np.median(agent.runs.mean_reward, axis=0)),
            "mode": "lines",
            "line": {"color": styles[agent.key].token, "width": 1.2, "dash": "dot"},
            "hovertemplate": "%{fullData.name}, mean reward<br>%{x:,}: %{y:,.4~g}<extra></extra>",
        }
        for agent in task.agents
    ]
    return shown._replace(traces=[*shown.traces, *means])


def truncated_figure(task: Task, styles: Mapping[str, AgentStyle]) -> FigureSpec:
    """How many rewards were truncated so far, on a logarithmic axis.

    Some agents truncate half of them, others one in a thousand.
    """
    caption = (
        "Rewards that truncation left out or changed, as a share of all steps so far:"
        f" median over seeds with its {task.aggregation.confidence:.0%} bootstrap interval. The axis is logarithmic, and who truncated nothing is not on it."
    )
    truncating = task._replace(agents=task.truncating)
    y = "share of rewards truncated so far"
    shown = _figure(
        TRUNCATED, "Truncated rewards", caption, truncating, styles, lambda a: truncated_lines(a, task), y
    )
    shown.layout["yaxis"].update(
        type="log", dtick="D2", tickformat=".3~p", range=list(truncated_decades(task))
    )
    hover = "%{fullData.name}<br>%{x:,}: %{y:.3~p}<extra></extra>"
    traces = [trace if trace.get("fill") else {**trace, "hovertemplate": hover} for trace in shown.traces]
    return shown._replace(traces=positive(traces))


def truncated_lines(agent: Agent, task: Task) -> Lines:
    """Median over seeds, with its interval."""
    return Lines(*task.aggregation.median(truncated_shares(agent.runs, task.horizon)))


def reward_lines(agent: Agent) -> Lines:
    """Mean and one standard deviation of the mean rewards over seeds."""
    values = agent.runs.mean_reward
    mean = values.mean(axis=0)
    deviation = (
        statistics.mean_and_deviation(values).deviation if len(values) > 1 else np.full(mean.shape, np.nan)
    )
    return Lines(mean, mean - deviation, mean + deviation)


def realised_lines(agent: Agent) -> Lines:
    """Median and middle half of the realised rewards of the runs whose sum is defined."""
    values = agent.runs.realised_reward
    defined = values[~np.isnan(values).any(axis=1)]
    if len(defined) < 2:
        nothing = np.full(len(agent.runs.at), np.nan)
        return Lines(defined[0] if len(defined) else nothing, nothing, nothing)
    return Lines(*(statistics.heavy.quantile(defined, level) for level in (0.5, 0.25, 0.75)))


def _with_best(shown: FigureSpec, task: Task, best: Callable[[float, Floats], Floats]) -> FigureSpec:
    """With a line for the best policy, where it is known."""
    if task.optimum is None or not task.agents:
        return shown
    at = task.agents[0].runs.at
    return shown._replace(traces=[*shown.traces, best_line(at, best(task.optimum, at.astype(np.float64)))])


def _figure(
    name: str,
    title: str,
    caption: str,
    task: Task,
    styles: Mapping[str, AgentStyle],
    lines: Callable[[Agent], Lines],
    y: str,
    *,
    wide: bool = False,
) -> FigureSpec:
    traces: Traces = []
    for agent in task.agents:
        found, look = lines(agent), styles[agent.key]
        if np.isfinite(found.low).any():
            traces.append(band(agent, look, agent.runs.at, found))
        traces.append(line(agent, look, agent.runs.at, found.middle))
    return FigureSpec(
        name, title, caption, traces, layout(f"{task.unit}s", y, task), wide, 460 if wide else HEIGHT
    )


OF_REGRET = (
    "regret",
    "reward",
    "pace",
    "log-log",
    "realised",
    "last-tenth",
    "final-regret",
)  # figures, in the order of the page
WITHOUT_REGRET = ("pace", "last-tenth")


def decades(values: Floats) -> tuple[int, int]:
    """The powers of ten between which all positive values are: the ends of a logarithmic axis.

    >>> decades(np.array([0.0, 0.03, 0.96])), decades(np.array([0.1]))
    ((-2, 0), (-1, 0))
    """
    positive = values[values > 0]
    low = math.floor(math.log10(positive.min()))
    return low, max(math.ceil(math.log10(positive.max())), low + 1)


def figure_names(task: Task) -> list[str]:
    """List the figures of a task in the order of the page."""
    names = OF_REGRET if task.optimum is not None else WITHOUT_REGRET
    return [*names, TRUNCATED] if task.truncating else list(names)


def truncated_decades(task: Task) -> tuple[int, int]:
    """Find the ends of a logarithmic axis for the median shares of truncated rewards."""
    shares = [np.median(truncated_shares(agent.runs, task.horizon), axis=0) for agent in task.truncating]
    return decades(np.concatenate(shares))

"""Curves along a run: regret, reward as the paper draws it and per unit, realised rewards, truncation."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats
from heavytail.registry import register
from heavytail.report.figures.figure import Axis, Curves, Figure, ReferenceLine, Styles, make_curve
from heavytail.studies.results import Agent, BoundLine, Task, describe_bounds, truncated_shares
from heavytail.studies.specs.spec import Regret

MEASURED: dict[Regret, str] = {
    "rewards": "with mean rewards",
    "gaps": "by what each action loses against the best one of its state, without luck of transitions",
}


@register("figure", "regret")
def regret(task: Task, styles: Styles) -> Figure | None:
    """Cumulative regret: median and bootstrap band."""
    if task.optimum is None:
        return None
    caption = (
        f"Median over seeds; the band is its {task.aggregation.confidence:.0%} bootstrap interval."
        f" Regret is measured {MEASURED[task.regret]}."
    )
    content = along_run(task, styles, lambda agent: agent.regret, Axis("cumulative regret (reward)"))
    return Figure("Regret", caption, content, order=1)


@register("figure", "log-log")
def log_log(task: Task, styles: Styles) -> Figure | None:
    """Cumulative regret on logarithmic axes, where powers are straight lines, with the study's bounds."""
    if task.optimum is None:
        return None
    hidden = sum(int((agent.regret.estimate <= 0).sum()) for agent in task.agents)
    caption = (
        "The same on logarithmic axes: a slope of 1 is a policy that stays wrong, 1/2 is the rate of the"
        " light-tailed theory."
    )
    caption += f" {hidden} points at or below 0 cannot be drawn here." if hidden else ""
    content = along_run(
        task, styles, lambda agent: agent.regret, Axis("cumulative regret (reward)", log=True)
    )
    content = content._replace(x=Axis(f"{task.unit}s", log=True), references=make_references(task.bounds))
    return Figure("Regret, log-log", caption + describe_bounds(task.bounds), content, order=4)


@register("figure", "reward")
def reward(task: Task, styles: Styles) -> Figure | None:
    """Cumulative mean reward as the paper draws it."""
    if task.optimum is None:
        return None
    caption = (
        "Cumulative mean reward, averaged over seeds, with one standard deviation on either side, as Zhuang"
        " and Sui (2021) draw it. The thin line is the best policy."
    )
    content = along_run(task, styles, _mean_and_deviation, Axis("cumulative mean reward"))
    best = _best_policy(task, lambda optimum, at: optimum * at)
    return Figure("Cumulative reward", caption, content._replace(references=best), order=2)


@register("figure", "pace")
def pace(task: Task, styles: Styles) -> Figure:
    """Reward per unit along the run: the first figure to look at if the best policy is not known."""
    what = f"{task.reward} per {task.per}"
    since = "since the previous checkpoint"
    if task.unit != task.per:
        since = f"of the episodes that ended {since}"
    caption = (
        f"Mean {what} {since}: median over seeds with its {task.aggregation.confidence:.0%} bootstrap"
        " interval."
    )
    caption += " The thin line is the best policy." if task.optimum is not None else ""
    content = along_run(task, styles, lambda agent: agent.pace, Axis(f"mean {what}"))
    best = _best_policy(task, lambda optimum, at: np.full(len(at), optimum))
    return Figure(what.capitalize(), caption, content._replace(references=best), order=3)


@register("figure", "realised")
def realised(task: Task, styles: Styles) -> Figure | None:
    """Realised rewards beside their means."""
    if task.optimum is None:
        return None
    caption = (
        "Realised rewards (lines; the band holds the middle half of the seeds) against mean rewards (dotted"
        " medians). Realised sums of heavy-tailed rewards have no variance: their mean and standard deviation"
        " describe only the largest draw, so only medians and quantiles are drawn."
    )
    lost = sum(int(np.isnan(agent.runs.realised_reward).any(axis=1).sum()) for agent in task.agents)
    if lost:
        caption += f" {lost} runs drew both infinities, so that their sum is not defined; they are left out."
    content = along_run(task, styles, _realised_quartiles, Axis("cumulative reward"))
    means = [
        make_curve(agent, styles, agent.runs.at, [np.median(agent.runs.mean_reward, axis=0)], "mean reward")
        for agent in task.agents
    ]
    content = content._replace(curves=[*content.curves, *means])
    return Figure("Realised against mean reward", caption, content, order=5)


@register("figure", "truncated")
def truncated(task: Task, styles: Styles) -> Figure | None:
    """Truncated rewards so far; the axis is logarithmic, since shares go from 1/2 to 1/1000 and below."""
    if not task.truncating:
        return None
    caption = (
        "Rewards that truncation left out or changed, as a share of all steps so far: median over seeds with"
        f" its {task.aggregation.confidence:.0%} bootstrap interval. The axis is logarithmic, so agents that"
        " truncated nothing are not on it."
    )
    shares = {agent.key: truncated_shares(agent.runs, task.horizon) for agent in task.truncating}
    low, high = find_decades(np.concatenate([np.median(values, axis=0) for values in shares.values()]))
    y = Axis("share of rewards truncated so far", log=True, percent=True, limits=(10.0**low, 10.0**high))
    content = along_run(
        task._replace(agents=task.truncating),
        styles,
        lambda agent: task.aggregation.median(shares[agent.key]),
        y,
    )
    return Figure("Truncated rewards", caption, content, order=8)


def along_run(task: Task, styles: Styles, lines: Callable[[Agent], Sequence[Floats]], y: Axis) -> Curves:
    """Make a curve for every agent of a task.

    Args:
        task: an environment with its agents' runs.
        styles: the styles of agents.
        lines: returns the middle line of an agent, and the lower and upper edge of its band.
        y: the axis of the values.
    """
    longest = max((int(agent.runs.at[-1]) for agent in task.agents), default=1)
    curves = [make_curve(agent, styles, agent.runs.at, lines(agent)) for agent in task.agents]
    return Curves(Axis(f"{task.unit}s", limits=(0.0, 1.02 * longest)), y, curves)


def make_references(bounds: Sequence[BoundLine]) -> list[ReferenceLine]:
    """Make the lines of bounds."""
    return [ReferenceLine(bound.label, bound.at, bound.values, bound.dash, labelled=True) for bound in bounds]


def _best_policy(task: Task, reward_at: Callable[[float, Floats], Floats]) -> list[ReferenceLine]:
    """Return the line of the best policy, if it is known."""
    if task.optimum is None or not task.agents:
        return []
    at = task.agents[0].runs.at
    return [ReferenceLine("best policy", at, reward_at(task.optimum, at.astype(np.float64)))]


def _mean_and_deviation(agent: Agent) -> tuple[Floats, Floats, Floats]:
    """Return the mean of the mean rewards over seeds, with one standard deviation on either side."""
    values = agent.runs.mean_reward
    mean = values.mean(axis=0)
    if len(values) < 2:
        return mean, *_nothing(agent)
    deviation = statistics.mean_and_deviation(values).deviation
    return mean, mean - deviation, mean + deviation


def _realised_quartiles(agent: Agent) -> tuple[Floats, Floats, Floats]:
    """Return the median and quartiles of realised rewards, of the runs whose sum is defined."""
    values = agent.runs.realised_reward
    defined = values[~np.isnan(values).any(axis=1)]
    low, high = _nothing(agent)
    if len(defined) < 2:
        return defined[0] if len(defined) else low, low, high
    middle, low, high = (statistics.heavy.quantile(defined, level) for level in (0.5, 0.25, 0.75))
    return middle, low, high


def _nothing(agent: Agent) -> tuple[Floats, Floats]:
    """Return a band that is not drawn."""
    missing = np.full(len(agent.runs.at), np.nan)
    return missing, missing


def find_decades(values: Floats) -> tuple[int, int]:
    """Find the powers of ten that enclose all positive values: the ends of a logarithmic axis.

    >>> find_decades(np.array([0.0, 0.03, 0.96])), find_decades(np.array([0.1]))
    ((-2, 0), (-1, 0))
    """
    positive = values[values > 0]
    low = math.floor(math.log10(positive.min()))
    return low, max(math.ceil(math.log10(positive.max())), low + 1)

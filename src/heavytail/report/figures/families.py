"""Final regret, or reward, in families of environments, against the number in which these differ.

An exponent of T that theory gives for the worst MDP, or for an MDP that changes a given number of times, is
not that of a curve along a run: each T has its own environment and its own runs.
"""

from collections.abc import Callable

import numpy as np

from heavytail.arrays import Floats
from heavytail.report.figures.curves import make_references
from heavytail.report.figures.figure import Axis, Curves, Figure, Styles, make_curve
from heavytail.studies.families import Family
from heavytail.studies.results import Agent, describe_bounds


def make_family_figures(family: Family, styles: Styles) -> list[Figure]:
    """Make the figures of a family, in the order of the page."""
    if not family.has_optimum:
        return [_reward(family, styles)]
    figures = [_regret(family, styles)]
    if family.at_stake is not None:
        figures.append(_share(family, styles, family.at_stake))
    return figures


def _regret(family: Family, styles: Styles) -> Figure:
    """Final regret along the axis, on logarithmic axes, with the bounds that the study names."""
    caption = (
        "Mean final regret over seeds, each point a separate environment; the band is its"
        f" {_confidence(family)} bootstrap interval."
    )
    y = Axis("final regret", log=True)
    content = _along_axis(family, styles, lambda agent: family.regrets(agent.key), y)
    content = content._replace(references=make_references(family.bounds))
    title = f"Final regret against {family.axis}"
    return Figure(title, caption + describe_bounds(family.bounds), content, name="regret")


def _reward(family: Family, styles: Styles) -> Figure:
    """Make the figure of the reward in the last tenth, with evenly spaced values, since one may be 0."""
    task = family.members[-1]
    what = f"{task.reward} per {task.per}"
    caption = (
        f"Median {what} in the last tenth of runs, each point a separate environment; the band is its"
        f" {_confidence(family)} bootstrap interval."
    )
    places = np.arange(len(family.at), dtype=np.float64)
    x = Axis(family.axis, ticks=[(float(place), f"{at:g}") for place, at in enumerate(family.at)])
    curves = [
        make_curve(agent, styles, places, task.aggregation.median(family.last_rewards(agent.key)))
        for agent in family.agents
    ]
    title = f"{task.reward.capitalize()} against {family.axis}"
    return Figure(title, caption, Curves(x, Axis(what), curves), name="reward")


def _share(family: Family, styles: Styles, at_stake: Floats) -> Figure:
    """Final regret as a share of what the second best policy would lose."""
    caption = (
        "Mean final regret over what the second best policy would lose in a whole run, with its"
        f" {_confidence(family)} bootstrap interval. An agent that learns nothing is near 1."
    )
    y = Axis("regret / (gap × length)")
    content = _along_axis(family, styles, lambda agent: family.regrets(agent.key) / at_stake, y)
    return Figure("Regret over gap times length", caption, content, name="share")


def _along_axis(family: Family, styles: Styles, values: Callable[[Agent], Floats], y: Axis) -> Curves:
    curves = [make_curve(agent, styles, family.at, family.mean(values(agent))) for agent in family.agents]
    # within a decade a logarithmic axis has no labels
    short = family.at[0] > 0 and family.at[-1] < 10 * family.at[0]
    ticks = [(float(at), f"{at:g}") for at in family.at] if short else []
    return Curves(Axis(family.axis, log=bool(family.at[0] > 0), ticks=ticks), y, curves)


def _confidence(family: Family) -> str:
    return f"{family.members[-1].aggregation.confidence:.0%}"

"""Families of environments that differ in one number, such as the length of a run: final regret against that number.

An exponent of T that theory gives for the worst MDP, or for an MDP that changes a given number of times, is not that of a curve along a run: each T has its own environment and its own runs.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats
from heavytail.report.bound_lines import BoundLine, in_words
from heavytail.report.curves import Agent, Task, final
from heavytail.report.curves_shown import Shown
from heavytail.report.curves_traces import Lines, Traces, band, bound_line, layout, line, positive
from heavytail.report.theme import Look
from heavytail.statistics import Interval

MEANS = 4  # of spawn keys; medians have 3


class Family(NamedTuple):
    """Environments along an axis, with everybody who ran in all of them."""

    key: str
    place: str  # its key as the page knows it
    label: str
    axis: str  # what varies, in words
    grows: bool  # whether that is the length of runs
    members: list[Task]
    at: Floats  # [member]
    at_stake: Floats | None  # [member] what the second best policy would lose in a whole run, if the study asks for it
    bounds: tuple[BoundLine, ...]

    @property
    def agents(self) -> list[Agent]:
        """Those who ran everywhere, as they are at the last member."""
        keys = [{agent.key for agent in task.agents} for task in self.members]
        return [agent for agent in self.members[-1].agents if all(agent.key in there for there in keys)]

    def regrets(self, key: str) -> Floats:
        """The final regrets [run, member] of an agent, of the seeds that came to their end everywhere."""
        runs = [next(agent.runs for agent in task.agents if agent.key == key) for task in self.members]
        common = set(runs[0].replicates.tolist()).intersection(*(each.replicates.tolist() for each in runs[1:]))
        return np.stack([final(each)[np.isin(each.replicates, list(common))] for each in runs], axis=1)

    def mean(self, values: Floats) -> Interval:
        """The mean over runs [member] with its bootstrap interval. Regret with mean rewards is bounded, so that it has one, and theorems speak of it."""
        summing = self.members[-1].summing
        if len(values) < 2:
            nothing = np.full(values.shape[1], np.nan)
            return Interval(values.mean(axis=0), nothing, nothing)
        rng = np.random.default_rng(np.random.SeedSequence(summing.seed, spawn_key=(MEANS,)))
        return statistics.bootstrap_interval(values, "mean", rng=rng, confidence=summing.confidence, resamples=summing.resamples)


def family_figures(family: Family, looks: Mapping[str, Look]) -> list[Shown]:
    """In the order of the page."""
    if family.at_stake is None:
        return [regret_figure(family, looks)]
    return [regret_figure(family, looks), share_figure(family, looks, family.at_stake)]


def regret_figure(family: Family, looks: Mapping[str, Look]) -> Shown:
    """Final regret along the axis, on logarithmic axes, with the bounds that the study names."""
    caption = (
        f"Mean final regret over seeds, each point an environment of its own; the band is its {_confidence(family)} bootstrap interval."
    )
    caption += in_words(family.bounds)
    shown = _figure(
        family, looks, "regret", f"Final regret against {family.axis}", caption, lambda a: family.regrets(a.key), "final regret"
    )
    shown.layout["yaxis"].update(type="log", exponentformat="power", dtick=1)
    return shown._replace(traces=[*positive(shown.traces), *map(bound_line, family.bounds)])


def share_figure(family: Family, looks: Mapping[str, Look], at_stake: Floats) -> Shown:
    """Final regret as a share of what the second best policy would lose."""
    caption = f"Mean final regret over what the second best policy would lose in a whole run, with its {_confidence(family)} bootstrap interval. Who learns nothing is near 1."
    return _figure(
        family,
        looks,
        "share",
        "Regret over gap times length",
        caption,
        lambda a: family.regrets(a.key) / at_stake,
        "regret / (gap × length)",
    )


def _confidence(family: Family) -> str:
    return f"{family.members[-1].summing.confidence:.0%}"


def _figure(
    family: Family, looks: Mapping[str, Look], name: str, title: str, caption: str, values: Callable[[Agent], Floats], y: str
) -> Shown:
    traces: Traces = []
    for agent in family.agents:
        found = Lines(*family.mean(values(agent)))
        if np.isfinite(found.low).any():
            traces.append(band(agent, looks[agent.key], family.at, found))
        traces.append(line(agent, looks[agent.key], family.at, found.middle))
    made = layout(family.axis, y)
    made["xaxis"].update(type="log", exponentformat="power", dtick=1)
    return Shown(name, title, caption, traces, made)

"""The leaderboard of a study: the best agent over all environments, and those not clearly worse.

Agents are ranked by how often their runs beat runs of other agents in the same environment, by the mean
reward in the last tenth. That does not depend on scale, so it compares agents over any environments, and
agents need not have run everywhere.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats
from heavytail.statistics import Interval
from heavytail.studies.results import Task, final_reward
from heavytail.studies.specs.spec import SpawnKey, Spec, make_rng


class Standing(NamedTuple):
    """A line of the leaderboard."""

    agent: str
    label: str
    share: Interval  # of pairs with a run of another agent in the same environment that it wins
    of_optimum: Interval | None  # the interquartile mean of all runs; None if an optimum is unknown
    envs: int  # number of environments in which it ran
    level: int  # number of those where no agent is significantly better
    # that the first is not better, corrected; None for the first, and if they never met
    p_value: float | None


class TaskScores(NamedTuple):
    """The rewards in the last tenth of runs in an environment, by agent and seed."""

    values: dict[str, dict[int, float]]
    optimum: float | None

    def pairs(self, first: str, second: str) -> tuple[list[float], list[float]]:
        """Return the rewards of two agents on the seeds that both have."""
        a, b = self.values[first], self.values[second]
        common = [seed for seed in a if seed in b]
        return [a[seed] for seed in common], [b[seed] for seed in common]


def make_leaderboard(spec: Spec, tasks: Iterable[Task]) -> list[Standing]:
    """Rank the agents of a study; agents that met no other are left out."""
    scored = [_score_task(task) for task in tasks]
    confidence, resamples = spec.statistics.confidence, spec.statistics.resamples
    rng = make_rng(spec.seed, SpawnKey.LEADERBOARD)
    runs = [{agent: list(by_seed.values()) for agent, by_seed in each.values.items()} for each in scored]
    shares = statistics.winning_shares(runs, rng=rng, confidence=confidence, resamples=resamples)
    order = sorted(shares, key=lambda agent: -float(shares[agent].estimate))
    p_values, level = _test_against(order, scored), _count_level(scored, spec.statistics.significance)
    standings = []
    for agent in order:
        met = [each for each in scored if agent in each.values]
        shares_of_optimum = _shares_of_optimum(agent, met)
        of_optimum = None
        if shares_of_optimum:
            of_optimum = statistics.stratified_interval(
                shares_of_optimum, rng=rng, confidence=confidence, resamples=resamples
            )
        label = spec.agents[agent].label
        standings.append(
            Standing(agent, label, shares[agent], of_optimum, len(met), level[agent], p_values.get(agent))
        )
    return standings


def _score_task(task: Task) -> TaskScores:
    """Return rewards by agent and seed; runs in which no episode ended are left out."""
    values = {}
    for agent in task.agents:
        rewards = final_reward(agent.runs)
        by_seed = zip(agent.runs.replicates.tolist(), rewards.tolist(), strict=True)
        if known := {seed: reward for seed, reward in by_seed if np.isfinite(reward)}:
            values[agent.key] = known
    return TaskScores(values, task.optimum)


def _shares_of_optimum(agent: str, tasks: Sequence[TaskScores]) -> list[Floats]:
    """Return an agent's rewards as shares of the optimum, by environment; empty if that is undefined."""
    rewards = [np.array(list(each.values[agent].values())) for each in tasks]
    if any(not each.optimum or each.optimum < 0 for each in tasks) or min(map(len, rewards)) < 2:
        return []
    return [values / each.optimum for values, each in zip(rewards, tasks, strict=True) if each.optimum]


def _test_against(order: Sequence[str], tasks: Sequence[TaskScores]) -> dict[str, float]:
    """Test whether the first of an order wins more pairs of runs on one seed than each of the others.

    This is the sign test, with p-values corrected over all others (Holm).
    """
    first, *others = order or [""]
    met = {agent: [each for each in tasks if {first, agent} <= each.values.keys()] for agent in others}
    return _correct({agent: _test_pairs(first, agent, some) for agent, some in met.items() if some})


def _count_level(tasks: Sequence[TaskScores], significance: float) -> Counter[str]:
    """Count the environments in which each agent is the best, or not significantly worse than the best."""
    return Counter(
        agent for each in tasks if len(each.values) > 1 for agent in _find_level(each, significance)
    )


def _find_level(task: TaskScores, significance: float) -> list[str]:
    """Find the agents of an environment that are not significantly worse than the best median there."""
    best = max(task.values, key=lambda agent: float(np.median(list(task.values[agent].values()))))
    others = [agent for agent in task.values if agent != best]
    p_values = _correct({agent: _test_pairs(best, agent, [task]) for agent in others})
    return [best, *(agent for agent, p in p_values.items() if p > significance)]


def _test_pairs(first: str, second: str, tasks: Sequence[TaskScores]) -> float:
    """Compute the p-value of the sign test of all pairs of runs on one seed."""
    signs = np.concatenate([np.sign(np.subtract(*task.pairs(first, second))) for task in tasks])
    return statistics.sign_test(int((signs > 0).sum()), int((signs < 0).sum()))


def _correct(p_values: Mapping[str, float]) -> dict[str, float]:
    adjusted = statistics.holm(list(p_values.values())).tolist() if p_values else []
    return dict(zip(p_values, adjusted, strict=True))

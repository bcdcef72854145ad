"""Families of environments that differ in one number, such as the length of a run.

An exponent of T that theory gives for the worst MDP, or for an MDP that changes a given number of times, is
not that of a curve along a run: each T has its own environment and its own runs.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats
from heavytail.planning.policy_enumeration import policy_gap
from heavytail.statistics import Interval
from heavytail.studies.backends import backend_for
from heavytail.studies.backends.tabular import TabularBackend
from heavytail.studies.bound_lines import lines_across
from heavytail.studies.plan import run_length
from heavytail.studies.results import Agent, BoundLine, Runs, Task, final_regret, final_reward
from heavytail.studies.specs.spec import LENGTHS, EnvSpec, SpawnKey, Spec, make_rng


class Family(NamedTuple):
    """Environments along an axis, with the agents that ran in all of them."""

    key: str
    html_id: str  # its key in the page
    label: str
    axis: str  # what varies, in words
    grows: bool  # whether that is the length of runs
    members: list[Task]
    at: Floats  # [member]
    at_stake: Floats | None  # [member] what the second best policy loses in a run, if the spec asks for it
    bounds: tuple[BoundLine, ...]

    @property
    def agents(self) -> list[Agent]:
        """The agents that ran everywhere, with their runs in the last member."""
        keys = [{agent.key for agent in task.agents} for task in self.members]
        return [agent for agent in self.members[-1].agents if all(agent.key in members for members in keys)]

    @property
    def has_optimum(self) -> bool:
        """Whether the best policies of all members are known."""
        return all(task.optimum is not None for task in self.members)

    def regrets(self, key: str) -> Floats:
        """The final regrets [run, member] of an agent, of the seeds that are complete everywhere."""
        return self._values(key, final_regret)

    def last_rewards(self, key: str) -> Floats:
        """The mean rewards [run, member] in the last tenth of an agent's runs, of the same seeds."""
        return self._values(key, final_reward)

    def _values(self, key: str, measure: Callable[[Runs], Floats]) -> Floats:
        runs = [next(agent.runs for agent in task.agents if agent.key == key) for task in self.members]
        common = set(runs[0].replicates.tolist()).intersection(
            *(each.replicates.tolist() for each in runs[1:])
        )
        return np.stack([measure(each)[np.isin(each.replicates, list(common))] for each in runs], axis=1)

    def mean(self, values: Floats) -> Interval:
        """The mean over runs [member] with its bootstrap interval.

        Theorems bound the expected regret; with mean rewards regret is bounded, so that it has a mean.
        """
        aggregation = self.members[-1].aggregation
        if len(values) < 2:
            nothing = np.full(values.shape[1], np.nan)
            return Interval(values.mean(axis=0), nothing, nothing)
        rng = make_rng(aggregation.seed, SpawnKey.FAMILY_MEANS)
        return statistics.bootstrap_interval(
            values, "mean", rng=rng, confidence=aggregation.confidence, resamples=aggregation.resamples
        )


def make_families(spec: Spec, tasks: Mapping[str, Task]) -> list[Family]:
    """The families of a study, each with the tasks of its members."""
    return [
        _family(spec, key, {name: env for name, env in spec.envs.items() if env.family == key}, tasks)
        for key in spec.families
    ]


def _family(spec: Spec, key: str, members: Mapping[str, EnvSpec], tasks: Mapping[str, Task]) -> Family:
    family = spec.families[key]
    at = np.array([env.at for env in members.values()], np.float64)
    lengths = [run_length(spec, name) for name in members]
    stakes = (_at_stake(env, n) for env, n in zip(members.values(), lengths, strict=True))
    return Family(
        key=key,
        html_id=tasks[next(iter(members))].html_id,
        label=family.label or key,
        axis=family.axis,
        grows=family.axis in LENGTHS,
        members=[tasks[name] for name in members],
        at=at,
        at_stake=np.array(list(stakes)) if family.over_gap else None,
        bounds=lines_across(list(members.values()), at, lengths),
    )


def _at_stake(env: EnvSpec, length: int) -> float:
    """Compute what the second best policy loses in a run; NaN where the MDP changes, or it is unknown."""
    backend = backend_for(env.env, env.parameters)
    if not isinstance(backend, TabularBackend) or len(backend.mdp.mdps) > 1:
        return float("nan")
    return policy_gap(backend.mdp.mdps[0]) * backend.horizon * length

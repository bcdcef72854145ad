"""Families of environments that differ in one number, such as the length, and bounds along an axis.

An exponent of T that theory gives for the worst MDP, or for an MDP that changes a given number of times, is
not that of a curve along a run: each T has its own environment and its own runs.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats
from heavytail.bounds import Bound, Quantities, bounds_at, quantities_of
from heavytail.bounds.catalogue import theorems
from heavytail.errors import InputError, suggestion
from heavytail.planning.policy_enumeration import policy_gap
from heavytail.statistics import Interval
from heavytail.studies.backends import backend_for
from heavytail.studies.backends.tabular import TabularBackend
from heavytail.studies.plan import run_length
from heavytail.studies.results import Agent, BoundLine, Runs, Task, final_regret, final_reward
from heavytail.studies.specs.spec import LENGTHS, EnvSpec, SpawnKey, Spec, canonical, make_rng

FAR = np.array([1e150, 1e300])  # steps between which a bound grows as in the limit, but for a thousandth


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
        """True if the best policies of all members are known."""
        return all(task.optimum is not None for task in self.members)

    def regrets(self, key: str) -> Floats:
        """Return the final regrets [run, member] of an agent, of the seeds that are complete everywhere."""
        return self._values(key, final_regret)

    def last_rewards(self, key: str) -> Floats:
        """Return the mean rewards [run, member] in the last tenth of an agent's runs, of the same seeds."""
        return self._values(key, final_reward)

    def _values(self, key: str, measure: Callable[[Runs], Floats]) -> Floats:
        runs = [next(agent.runs for agent in task.agents if agent.key == key) for task in self.members]
        common = set(runs[0].replicates.tolist()).intersection(
            *(each.replicates.tolist() for each in runs[1:])
        )
        return np.stack([measure(each)[np.isin(each.replicates, list(common))] for each in runs], axis=1)

    def mean(self, values: Floats) -> Interval:
        """Compute the mean over runs [member] with its bootstrap interval.

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
    """Make the families of a study, each with the tasks of its members."""
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


# Bounds


def bound_lines(env: EnvSpec, at: Floats) -> tuple[BoundLine, ...]:
    """Return the bounds of an environment along a run, at these numbers of episodes or steps."""
    return _lines([env], at, [at])


def lines_across(envs: Sequence[EnvSpec], at: Floats, lengths: Sequence[int]) -> tuple[BoundLine, ...]:
    """Return the bounds of environments along an axis, each at the end of its runs."""
    return _lines(envs, at, [np.array([length], np.float64) for length in lengths])


def check_bounds(env: EnvSpec) -> None:
    """Raise InputError if an environment names bounds that it does not have."""
    bound_lines(env, np.array([1e6]))


def _lines(envs: Sequence[EnvSpec], at: Floats, units: Sequence[Floats]) -> tuple[BoundLine, ...]:
    shown = envs[-1].bounds.shown if envs[-1].bounds else []
    return tuple(_line(name, at, envs, units) for name in shown)


def _line(name: str, at: Floats, envs: Sequence[EnvSpec], units: Sequence[Floats]) -> BoundLine:
    bounds = [
        _bound(name, env, each * backend_for(env.env, env.parameters).horizon)
        for env, each in zip(envs, units, strict=True)
    ]
    last, words = bounds[-1], theorems()[name].label
    return BoundLine(
        name=name,
        label=words if last.is_lower else f"bound of {words}",
        at=at,
        values=np.concatenate([bound.total for bound in bounds]),
        share=np.nan if last.is_lower else float(np.exp(last.log_total[-1] - last.log_trivial[-1])),
        limit=float(np.diff(_bound(name, envs[-1], FAR).log_total)[0] / np.diff(np.log(FAR))[0]),
    )


def _bound(name: str, env: EnvSpec, steps: Floats) -> Bound:
    """Return a bound for an environment; of several MDPs, the largest at the last of these steps."""
    if env.bounds is None:
        raise InputError("its bounds are not named")
    quantities = _quantities(env.env, canonical(env.parameters), env.bounds.epsilon)
    by_mdp = [bounds_at(each, steps, env.bounds.delta, changes=len(quantities)) for each in set(quantities)]
    for bounds in by_mdp:
        if name not in bounds.regret:
            left_out = bounds.left_out.get(name)
            reason = f": {left_out}" if left_out is not None else f"; {suggestion(name, bounds.regret)}"
            raise InputError(f"there is no bound {name!r}{reason}")
    return max((bounds.regret[name] for bounds in by_mdp), key=lambda bound: float(bound.log_total[-1]))


@lru_cache(maxsize=256)
def _quantities(env: str, parameters: str, epsilon: float | None) -> tuple[Quantities, ...]:
    backend = backend_for(env, json.loads(parameters))
    if not isinstance(backend, TabularBackend):
        raise InputError("there are bounds only for MDPs")
    return tuple(quantities_of(mdp, epsilon) for mdp in backend.mdp.mdps)

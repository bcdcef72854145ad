"""Where a learner learns: in MDP records, by the fused loop; or in a Gymnasium environment, one step at a time."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from heavytail import loop, stepwise
from heavytail.arrays import Record
from heavytail.changing import ChangingMDP
from heavytail.errors import InputError
from heavytail.mdp import MDP
from heavytail.problem import Problem
from heavytail.rng import Streams

Between = Callable[[Record], None]


class Setting(Protocol):
    """What a learner needs of its environment."""

    problem: Problem

    def run(self, agent: Record, streams: Streams, clock: loop.Clock, recorded: loop.Checkpoints, until: int, between: Between) -> None:
        """Learn until the clock shows `until` units, telling `between` of the agent as it goes."""


class MDPSetting:
    """MDP records, one after the other; usually one."""

    def __init__(self, worlds: ChangingMDP) -> None:
        self.worlds = worlds
        first = worlds.mdps[0]
        r_max = max(float(mdp.row_means.max()) for mdp in worlds.mdps)
        self.problem = Problem(first.n_states, first.n_actions, first.horizon, r_max)

    def run(self, agent: Record, streams: Streams, clock: loop.Clock, recorded: loop.Checkpoints, until: int, between: Between) -> None:
        """The fused loop, from change to change."""
        while clock.units[0] < until:
            units = int(clock.units[0])
            change = self.worlds.until(units)
            stop = until if change is None else min(until, change)
            agent = loop.run(agent, self.worlds.mdps[self.worlds.which(units)], streams, clock, recorded, stop, between)


class GymSetting:
    """A Gymnasium environment with discrete observations and actions.

    Its own random numbers come from `seed` at the first reset; they are not part of an agent file. An episode that was under way is not taken up again: the
    next `learn` starts with a new one.
    """

    def __init__(self, env: Any, horizon: int | None, seed: int) -> None:
        self.env = env
        self.problem = _problem(env, horizon)
        self._world = GymWorld(env, seed)

    def run(self, agent: Record, streams: Streams, clock: loop.Clock, recorded: loop.Checkpoints, until: int, between: Between) -> None:
        """One step after the other."""
        clock.started[0] = 0
        stepwise.run(stepwise.Stepwise(agent, streams.agent), self._world, self.problem.horizon, clock, recorded, until, between)


class GymWorld:
    """A Gymnasium environment as the stepwise loop sees it: states and actions counted from 0."""

    def __init__(self, env: Any, seed: int) -> None:
        self.env = env
        self._seed: int | None = seed
        self._first_state, self._first_action = int(env.observation_space.start), int(env.action_space.start)

    def reset(self) -> int:
        """Start an episode; the environment is seeded once."""
        observation, _ = self.env.reset(seed=self._seed)
        self._seed = None
        return int(observation) - self._first_state

    def step(self, s: int, a: int, h: int) -> tuple[int, float, bool, float]:
        """One transition; the expected reward is what `info` says of it, else unknown."""
        observation, reward, terminated, truncated, info = self.env.step(a + self._first_action)
        mean = float(info.get("mean_reward", np.nan))
        return int(observation) - self._first_state, float(reward), bool(terminated or truncated), mean


def _problem(env: Any, horizon: int | None) -> Problem:
    from gymnasium.spaces import Discrete

    for what, space in (("observations", env.observation_space), ("actions", env.action_space)):
        if not isinstance(space, Discrete):
            raise InputError(
                f"make_agent: the {what} of this environment are {space}; tabular agents need Discrete ones, so make them discrete with a wrapper"
            )
    limit = _limit(env)
    if horizon is not None and limit is not None and horizon > limit:
        raise InputError(f"make_agent: horizon is {horizon}, but the environment cuts its episodes after {limit} steps")
    if horizon is None and limit is None:
        raise InputError("make_agent: this environment has no limit of steps; give horizon=, the number of steps in an episode")
    mdp = getattr(env.unwrapped, "mdp", None)
    r_max = float(mdp.row_means.max()) if isinstance(mdp, MDP) else None
    return Problem(int(env.observation_space.n), int(env.action_space.n), int(horizon or limit or 0), r_max)


def _limit(env: Any) -> int | None:
    """After how many steps the environment itself ends an episode."""
    own = getattr(getattr(env.unwrapped, "mdp", None), "horizon", None)
    limits = [x for x in (own, getattr(env.spec, "max_episode_steps", None)) if x]
    return min(limits) if limits else None

"""A wrapper of a vector of environments, whose rewards pass through one filter."""

from collections.abc import Hashable
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.error import ResetNeeded
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import iterate

from heavytail.arrays import Bools, Floats
from heavytail.errors import InputError, short_repr
from heavytail.gym._filtering import Filtering, Visit


class VectorFilterReward(Filtering, VectorWrapper[ObsType, ActType, ObsType, ActType, Any]):
    """A wrapper of Gymnasium's vectors; a subclass gives it the filter."""

    def __init__(self, env: VectorEnv[ObsType, ActType, Any]) -> None:
        if not isinstance(cast("Any", env), VectorEnv):
            name = type(self).__name__
            raise InputError(
                f"{name}: env is {short_repr(env)}; it must be a vector of Gymnasium's, such as"
                f" gymnasium.make_vec makes; {_suggest_wrapper(env, name.removeprefix('Vector'))}"
            )
        VectorWrapper.__init__(self, env)
        mode = env.metadata.get("autoreset_mode", "NextStep")
        self._resets_next = getattr(mode, "value", mode) == "NextStep"
        self._observations: Any = None
        self._codes: list[Hashable] = []
        self._resetting: Bools = np.zeros(env.num_envs, np.bool_)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start episodes; what was learnt of rewards stays."""
        chosen = (options or {}).get("reset_mask", slice(None))  # before Gymnasium takes it out
        observations, infos = self.env.reset(seed=seed, options=options)
        self._resetting[chosen] = False
        self._remember(observations)
        return observations, infos

    def step(self, actions: ActType) -> tuple[ObsType, Floats, Any, Any, dict[str, Any]]:
        """Make one step of each environment, with its reward filtered."""
        if not self._codes:
            raise ResetNeeded("step: no episode has begun; call reset() first")
        observations, raw, terminations, truncations, infos = self.env.step(actions)
        stepped = np.flatnonzero(~self._resetting)
        raw, rewards, ends = np.array(raw, np.float64), np.array(raw, np.float64), np.asarray(terminations)
        added = {key: np.full(self.num_envs, value) for key, value in self._filter.missing.items()}
        taken = list(iterate(self.action_space, actions))
        visits = [Visit(self._codes[i], taken[i], float(raw[i]), bool(ends[i])) for i in stepped]
        filtered = self._apply(visits)
        for i, (reward, described) in zip(stepped, filtered, strict=True):
            rewards[i] = reward
            for key, value in described.items():
                added[key][i] = value
        added = {"raw_reward": raw, **added}
        masks = {f"_{key}": ~self._resetting for key in added}
        self._resetting = (ends | np.asarray(truncations)) & self._resets_next
        self._remember(observations)
        return observations, rewards, terminations, truncations, {**infos, **added, **masks}

    def _remember(self, observations: Any) -> None:
        self._observations = observations
        singles = iterate(self.observation_space, observations)
        self._codes = [self._filter.code(observation) for observation in singles]

    def _recode(self) -> None:
        if self._codes:
            self._remember(self._observations)


def _suggest_wrapper(env: Any, name: str) -> str:
    if isinstance(env, gymnasium.Env):
        return f"for a single environment take {name}"
    return f"for one of Stable-Baselines3 take Vec{name}"

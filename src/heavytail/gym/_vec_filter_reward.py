"""A wrapper of a vector of Stable-Baselines3, whose rewards pass through one filter.

Nothing of heavytail but such wrappers needs Stable-Baselines3, nor imports it.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np
from gymnasium.vector.utils import batch_space, iterate

from heavytail.errors import InputError, short_repr
from heavytail.gym._filtering import Filtering, Visit

try:
    from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
except ModuleNotFoundError as error:  # the constructor then says so
    if (error.name or "").split(".")[0] != "stable_baselines3":
        raise
    VecEnv = VecEnvWrapper = object


# Stable-Baselines3 may be missing, to a type checker.
class VecFilterReward(Filtering, VecEnvWrapper):  # type: ignore[misc]
    """A wrapper of a ``VecEnv``; a subclass gives it the filter."""

    def __init__(self, venv: Any) -> None:
        name = type(self).__name__
        if VecEnvWrapper is object:
            raise InputError(
                f"{name} needs Stable-Baselines3, which is not installed: pip install stable-baselines3"
            )
        if not isinstance(venv, VecEnv):
            raise InputError(
                f"{name}: venv is {short_repr(venv)}; it must be a VecEnv; for a single environment take"
                f" {name.removeprefix('Vec')}"
            )
        VecEnvWrapper.__init__(self, venv)
        self._batched_observations = batch_space(venv.observation_space, venv.num_envs)
        self._batched_actions = batch_space(venv.action_space, venv.num_envs)
        self._actions: Any = None
        self._observations: Any = None
        self._codes: list[Hashable] = []

    def reset(self) -> Any:
        """Start episodes; what was learnt of rewards stays."""
        observations = self.venv.reset()
        self._remember(observations)
        return observations

    def step_async(self, actions: Any) -> None:
        """Begin a step."""
        self._actions = np.array(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """End the step, with rewards filtered."""
        observations, raw, dones, infos = self.venv.step_wait()
        actions = list(iterate(self._batched_actions, self._actions))
        ends = [
            bool(done) and not info.get("TimeLimit.truncated", False)
            for done, info in zip(dones, infos, strict=True)
        ]
        visits = [Visit(*each) for each in zip(self._codes, actions, raw.tolist(), ends, strict=True)]
        filtered = self._apply(visits)
        self._remember(observations)  # where an episode has ended, this is the first of the next
        new_infos = [
            {**info, "raw_reward": reward, **added}
            for info, reward, (_, added) in zip(infos, raw.tolist(), filtered, strict=True)
        ]
        return observations, np.array([reward for reward, _ in filtered], raw.dtype), dones, new_infos

    def _remember(self, observations: Any) -> None:
        self._observations = observations
        singles = iterate(self._batched_observations, observations)
        self._codes = [self._filter.code(observation) for observation in singles]

    def _recode(self) -> None:
        if self._codes:
            self._remember(self._observations)

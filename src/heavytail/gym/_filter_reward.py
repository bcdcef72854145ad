"""A wrapper whose rewards pass through a filter."""

from collections.abc import Hashable
from typing import Any, cast

import gymnasium
from gymnasium.core import ActType, ObsType
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded

from heavytail.errors import InputError, short_repr
from heavytail.gym._filtering import Filtering, Visit
from heavytail.gym_answers import check_step

NOTHING: Any = ...  # before the first reset


class FilterReward(Filtering, gymnasium.Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper of one environment; a subclass gives it the filter."""

    def __init__(self, env: gymnasium.Env[ObsType, ActType]) -> None:
        if not isinstance(cast("Any", env), gymnasium.Env):
            name = type(self).__name__
            raise InputError(
                f"{name}: env is {short_repr(env)}; it must be a Gymnasium environment; for a vector"
                f" take Vector{name}"
            )
        gymnasium.Wrapper.__init__(self, env)
        self._observation: Any = NOTHING
        self._code: Hashable = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode; what was learnt of rewards stays."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._remember(observation)
        return observation, info

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Make one step, with its reward filtered."""
        if self._observation is NOTHING:
            raise ResetNeeded("step: no episode has begun; call reset() first")
        observation, raw, terminated, truncated, info = check_step(self.env.step(action))
        ((reward, added),) = self._apply([Visit(self._code, action, raw, terminated)])
        self._remember(observation)
        return observation, reward, terminated, truncated, {**info, "raw_reward": raw, **added}

    @property
    # Declared as an attribute, but a property in every wrapper.
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """The spec of this environment; a seed alone does not repeat a run where rewards are remembered."""
        spec = super().spec  # a copy of our own
        if spec is not None and self._filter.remembers:
            spec.nondeterministic = True
        return spec

    def _remember(self, observation: Any) -> None:
        self._observation, self._code = observation, self._filter.code(observation)

    def _recode(self) -> None:
        if self._observation is not NOTHING:
            self._remember(self._observation)

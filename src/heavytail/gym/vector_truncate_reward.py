"""The paper's adaptive truncation of rewards, for Gymnasium's vector environments."""

from collections.abc import Hashable
from typing import Any, Literal, Unpack

import gymnasium
import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import iterate

from heavytail.arrays import Bools, Floats
from heavytail.errors import InputError, short_repr
from heavytail.gym._truncating import Truncating
from heavytail.gym._truncator import TruncationOptions, Truncator


class VectorTruncateReward(
    Truncating, VectorWrapper[ObsType, ActType, ObsType, ActType, Any], RecordConstructorArgs
):
    """`heavytail.gym.TruncateReward` for a vector of environments, with one count for all of them.

    Where two environments visit the same pair in one step, the count of the second includes the first. A step
    that only resets an environment (Gymnasium's default, ``NEXT_STEP``) is no visit. ``infos`` has
    ``raw_reward``, ``reward_threshold`` and ``reward_truncated`` as arrays and, as usual in Gymnasium, masks
    ``_raw_reward`` and so on, true for the environments that took a step. They are at the top level also if
    an episode ended and the next has begun in the same step (``SAME_STEP``).

    Put ``gymnasium.wrappers.vector.RecordEpisodeStatistics`` beneath, so that it records rewards before
    truncation.

    Args:
        env: the vector environment.
        epsilon: as in `heavytail.gym.TruncateReward`.
        coefficient: as there.
        **options: as there.

    >>> import gymnasium
    >>> import heavytail as ht
    >>> envs = gymnasium.make_vec("FrozenLake-v1", num_envs=3)
    >>> envs = ht.gym.VectorTruncateReward(envs, epsilon=0.5, coefficient=1.0)
    >>> _ = envs.reset(seed=0)
    >>> *_, infos = envs.step([0, 0, 1])
    >>> infos["reward_threshold"].round(2).tolist()  # the second environment does what the first has done
    [1.0, 1.59, 1.0]
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Any],
        epsilon: float | None = None,
        coefficient: float | Literal["auto"] | None = None,
        **options: Unpack[TruncationOptions],
    ) -> None:
        if not isinstance(env, VectorEnv):
            raise InputError(
                f"VectorTruncateReward: env is {short_repr(env)}; it must be a vector of Gymnasium's,"
                f" {_suggest_wrapper(env)}"
            )
        # A counter that is shared is not copied.
        RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, epsilon=epsilon, coefficient=coefficient, **options
        )
        VectorWrapper.__init__(self, env)
        self._truncator = Truncator(
            env.single_observation_space, env.single_action_space, epsilon, coefficient, **options
        )
        mode = env.metadata.get("autoreset_mode", "NextStep")
        self._resets_next = getattr(mode, "value", mode) == "NextStep"
        self._observations: Any = None
        self._codes: list[Hashable] = []
        self._resetting: Bools = np.zeros(env.num_envs, np.bool_)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start episodes; counts continue."""
        chosen = (options or {}).get("reset_mask", slice(None))  # before Gymnasium takes it out
        observations, infos = self.env.reset(seed=seed, options=options)
        self._resetting[chosen] = False
        self._remember(observations)
        return observations, infos

    def step(self, actions: ActType) -> tuple[ObsType, Floats, Any, Any, dict[str, Any]]:
        """Make one step of each environment, with its reward truncated."""
        if not self._codes:
            raise ResetNeeded("step: no episode has begun; call reset() first")
        observations, raw, terminations, truncations, infos = self.env.step(actions)
        stepped = np.flatnonzero(~self._resetting)
        raw, rewards = np.array(raw, np.float64), np.array(raw, np.float64)
        thresholds, beyond = np.full(self.num_envs, np.inf), np.zeros(self.num_envs, np.bool_)
        taken = list(iterate(self.action_space, actions))
        transformed = self._truncate(
            [self._codes[i] for i in stepped], [taken[i] for i in stepped], rewards[stepped].tolist()
        )
        for i, result in zip(stepped, transformed, strict=True):
            rewards[i], thresholds[i], beyond[i] = result
        added = {"raw_reward": raw, "reward_threshold": thresholds, "reward_truncated": beyond}
        masks = {f"_{key}": ~self._resetting for key in added}
        self._resetting = (np.asarray(terminations) | np.asarray(truncations)) & self._resets_next
        self._remember(observations)
        return observations, rewards, terminations, truncations, {**infos, **added, **masks}

    def _remember(self, observations: Any) -> None:
        self._observations = observations
        singles = iterate(self.observation_space, observations)
        self._codes = [self._truncator.code(observation) for observation in singles]

    def _recode(self) -> None:
        if self._codes:
            self._remember(self._observations)


def _suggest_wrapper(env: Any) -> str:
    if isinstance(env, gymnasium.Env):
        return "such as gymnasium.make_vec makes; for a single environment take TruncateReward"
    return "such as gymnasium.make_vec makes; for one of Stable-Baselines3 take VecTruncateReward"

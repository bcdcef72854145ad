"""The paper's adaptive truncation of rewards, for Stable-Baselines3's vectors.

Nothing else of heavytail needs Stable-Baselines3, nor imports it.
"""

from collections.abc import Hashable
from typing import Any, Literal, Unpack

import numpy as np
from gymnasium.vector.utils import batch_space, iterate

from heavytail.errors import InputError, short_repr
from heavytail.gym._truncating import Truncating
from heavytail.gym._truncator import TruncationOptions, Truncator

try:
    from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
except ModuleNotFoundError as error:  # the constructor then says so
    if (error.name or "").split(".")[0] != "stable_baselines3":
        raise
    VecEnv = VecEnvWrapper = object


# Stable-Baselines3 may be missing, to a type checker.
class VecTruncateReward(Truncating, VecEnvWrapper):  # type: ignore[misc]
    """`heavytail.gym.TruncateReward` for a ``VecEnv`` of Stable-Baselines3, with shared counts.

    ``make_vec_env`` puts a ``Monitor`` on each environment, beneath this wrapper: logs and ``ep_rew_mean``
    show rewards before truncation. (So ``VecMonitor``, if you use it, belongs beneath too.) With
    ``wrapper_class=AddRewardNoise`` the noise is outside the ``Monitor``, and logs show returns without it.

    Each ``info`` has ``raw_reward``, ``reward_threshold`` and ``reward_truncated``.

    Args:
        venv: the vector.
        epsilon: as in `heavytail.gym.TruncateReward`.
        coefficient: as there.
        **options: as there.

    A model goes on with the counts it learnt with: ``venv.save(path)`` beside ``model.save``, and
    ``VecTruncateReward.load(path, venv)`` before ``PPO.load(..., env=venv)``, as with ``VecNormalize``. A
    model that learns on in a wrapper without them gives a warning. ::

        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env
        import heavytail as ht

        law = {"law": "alpha_stable", "alpha": 1.1}
        noise = {"wrapper_class": ht.gym.AddRewardNoise, "wrapper_kwargs": law}
        venv = make_vec_env("CartPole-v1", n_envs=8, seed=0, **noise)
        venv = ht.gym.VecTruncateReward(venv)
        model = PPO("MlpPolicy", venv, n_steps=32, seed=0, device="cpu").learn(256)
        model.save("model.zip")
        venv.save("counts.npz")
        venv = ht.gym.VecTruncateReward.load("counts.npz", make_vec_env("CartPole-v1", n_envs=8, **noise))
        model = PPO.load("model.zip", env=venv).learn(256)
    """

    def __init__(
        self,
        venv: Any,
        epsilon: float | None = None,
        coefficient: float | Literal["auto"] | None = None,
        **options: Unpack[TruncationOptions],
    ) -> None:
        if VecEnvWrapper is object:
            raise InputError(
                "VecTruncateReward needs Stable-Baselines3, which is not installed: pip install"
                " stable-baselines3"
            )
        if not isinstance(venv, VecEnv):
            raise InputError(
                f"VecTruncateReward: venv is {short_repr(venv)}; it must be a VecEnv; for a single"
                " environment take TruncateReward"
            )
        VecEnvWrapper.__init__(self, venv)
        self._truncator = Truncator(
            venv.observation_space, venv.action_space, epsilon, coefficient, **options
        )
        self._batched_observations = batch_space(venv.observation_space, venv.num_envs)
        self._batched_actions = batch_space(venv.action_space, venv.num_envs)
        self._actions: Any = None
        self._observations: Any = None
        self._codes: list[Hashable] = []

    def reset(self) -> Any:
        """Start episodes; counts continue."""
        observations = self.venv.reset()
        self._remember(observations)
        return observations

    def step_async(self, actions: Any) -> None:
        """Begin a step."""
        self._actions = np.array(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """End the step, with rewards truncated."""
        observations, raw, dones, infos = self.venv.step_wait()
        actions = iterate(self._batched_actions, self._actions)
        transformed = self._truncate(self._codes, actions, raw.tolist())
        self._remember(observations)  # where an episode has ended, this is the first of the next
        new_infos = [
            {**info, "raw_reward": raw_reward, "reward_threshold": threshold, "reward_truncated": beyond}
            for info, raw_reward, (_, threshold, beyond) in zip(infos, raw.tolist(), transformed, strict=True)
        ]
        return observations, np.array([reward for reward, *_ in transformed], raw.dtype), dones, new_infos

    def _remember(self, observations: Any) -> None:
        self._observations = observations
        singles = iterate(self._batched_observations, observations)
        self._codes = [self._truncator.code(observation) for observation in singles]

    def _recode(self) -> None:
        if self._codes:
            self._remember(self._observations)

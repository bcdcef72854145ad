"""The paper's adaptive truncation of rewards, for Stable-Baselines3's vectors."""

from typing import Any, Literal, Unpack

from heavytail.gym._truncating import Truncating
from heavytail.gym._truncator import TruncationOptions, Truncator
from heavytail.gym._vec_filter_reward import VecFilterReward


class VecTruncateReward(Truncating, VecFilterReward):
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
        super().__init__(venv)
        self._filter = Truncator(venv.observation_space, venv.action_space, epsilon, coefficient, **options)

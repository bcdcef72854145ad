"""Rewards without their noise, for Stable-Baselines3's vectors."""

from typing import Any

from heavytail.gym._denoiser import Denoiser
from heavytail.gym._denoising import Denoising
from heavytail.gym._vec_filter_reward import VecFilterReward


class VecDenoiseReward(Denoising, VecFilterReward):
    """`heavytail.gym.DenoiseReward` for a ``VecEnv`` of Stable-Baselines3, which learns from all of it.

    ``make_vec_env`` puts a ``Monitor`` on each environment, beneath this wrapper: logs and ``ep_rew_mean``
    show what was paid. (So ``VecMonitor``, if you use it, belongs beneath too.) With
    ``wrapper_class=AddRewardNoise`` the noise is outside the ``Monitor``, and logs show returns without it.

    Each ``info`` has ``raw_reward`` and ``reward_samples``.

    Args:
        venv: the vector.

    A model goes on with the estimates it learnt with: ``venv.save(path)`` beside ``model.save``, and
    ``VecDenoiseReward.load(path, venv)`` before ``PPO.load(..., env=venv)``, as with ``VecNormalize``. A
    model that learns on in a wrapper without them gives a warning. ::

        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env
        import heavytail as ht

        law = {"law": "alpha_stable", "alpha": 1.1}
        noise = {"wrapper_class": ht.gym.AddRewardNoise, "wrapper_kwargs": law}
        venv = ht.gym.VecDenoiseReward(make_vec_env("CartPole-v1", n_envs=8, seed=0, **noise))
        model = PPO("MlpPolicy", venv, n_steps=32, seed=0, device="cpu").learn(256)
        model.save("model.zip")
        venv.save("rewards.npz")
        venv = ht.gym.VecDenoiseReward.load("rewards.npz", make_vec_env("CartPole-v1", n_envs=8, **noise))
        model = PPO.load("model.zip", env=venv).learn(256)
    """

    def __init__(self, venv: Any) -> None:
        super().__init__(venv)
        self._filter = Denoiser(venv.observation_space, venv.action_space)

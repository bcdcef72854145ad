"""Rewards without their noise, for Gymnasium's vector environments."""

from typing import Any

from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv

from heavytail.gym._denoiser import Denoiser
from heavytail.gym._denoising import Denoising
from heavytail.gym._vector_filter_reward import VectorFilterReward


class VectorDenoiseReward(Denoising, VectorFilterReward[ObsType, ActType], RecordConstructorArgs):
    """`heavytail.gym.DenoiseReward` for a vector of environments, which learns from all of them.

    A step that only resets an environment (Gymnasium's default, ``NEXT_STEP``) has no reward, and nothing is
    learnt from it. ``infos`` has ``raw_reward`` and ``reward_samples`` as arrays and, as usual in Gymnasium,
    masks ``_raw_reward`` and ``_reward_samples``, true for the environments that took a step. They are at the
    top level also if an episode ended and the next has begun in the same step (``SAME_STEP``).

    Put ``gymnasium.wrappers.vector.RecordEpisodeStatistics`` beneath, so that it records what was paid.

    Args:
        env: the vector environment.

    >>> import gymnasium
    >>> import heavytail as ht
    >>> envs = ht.gym.VectorDenoiseReward(gymnasium.make_vec("FrozenLake-v1", num_envs=3))
    >>> _ = envs.reset(seed=0)
    >>> *_, infos = envs.step([0, 0, 1])
    >>> infos["reward_samples"].tolist()  # the second environment does what the first has done
    [1, 2, 1]
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self._filter = Denoiser(env.single_observation_space, env.single_action_space)

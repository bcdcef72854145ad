"""The paper's adaptive truncation of rewards, for Gymnasium's vector environments."""

from typing import Any, Literal, Unpack

from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv

from heavytail.gym._truncating import Truncating
from heavytail.gym._truncator import TruncationOptions, Truncator
from heavytail.gym._vector_filter_reward import VectorFilterReward


class VectorTruncateReward(Truncating, VectorFilterReward[ObsType, ActType], RecordConstructorArgs):
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
        # A counter that is shared is not copied.
        RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, epsilon=epsilon, coefficient=coefficient, **options
        )
        super().__init__(env)
        self._filter = Truncator(
            env.single_observation_space, env.single_action_space, epsilon, coefficient, **options
        )

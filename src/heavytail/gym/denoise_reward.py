"""Rewards without their noise, for any environment and any framework."""

import gymnasium
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs

from heavytail.gym._denoiser import Denoiser
from heavytail.gym._denoising import Denoising
from heavytail.gym._filter_reward import FilterReward


class DenoiseReward(Denoising, FilterReward[ObsType, ActType], RecordConstructorArgs):
    """Replace each reward by a robust running estimate of its mean, given state and action.

    There is nothing to choose. What one is paid for an action in a state is a mean plus noise, of which only
    the mean matters; so the learner is given the mean, as far as it is known. It is estimated in *cells*: the
    observation, or its `heavytail.gym.SimHash` where observations are not discrete, the action, and whether a
    terminal state follows, since goals are paid otherwise. While a cell does not differ significantly from
    those around it (the first 16 bits of the hash, the first 8, all observations, all rewards), it has their
    estimate. Each is that of `heavytail.estimators.sketch`: any finite mean will do, whatever the tails, and
    skewed noise biases it little. Rewards may be of any scale, and have any constant added.

    Where a cell pays the same twice there is no noise in it, and that is what it gives, exactly. So discrete
    environments without noise are hardly changed: only some of the first rewards are. Where the reward varies
    within a cell, as Pendulum's does, it is smoothed. *Without noise take no wrapper*.

    Each step's ``info`` has ``raw_reward`` (the reward that came in, including any noise added beneath) and
    ``reward_samples``: of how many rewards, this one included, the narrowest cell is. Observations, ends of
    episodes and seeds pass unchanged.

    **Estimates** continue for as long as the wrapper exists, also over ``reset(seed=...)``. A run is
    therefore repeated with a new wrapper, not with a seed alone, and ``env.spec.nondeterministic`` says so.
    For several environments at once use `VectorDenoiseReward` (Gymnasium's vectors) or `VecDenoiseReward`
    (Stable-Baselines3's), which learn from all of them. Evaluate on an environment without this wrapper, and
    put what records returns beneath it: ``DenoiseReward(Monitor(env))``.

    **Cost**: 40 microseconds a step, twice those of `TruncateReward`. A cell takes 3 kB. There are at most
    32,768, about 100 MB; when there are so many, new observations have the estimate of the cells around them.

    Args:
        env: the environment.

    >>> import gymnasium
    >>> import heavytail as ht
    >>> law = ht.laws.alpha_stable(alpha=1.1, scale=5.0)
    >>> env = ht.gym.DenoiseReward(ht.gym.AddRewardNoise(gymnasium.make("CartPole-v1"), law))
    >>> observation, _ = env.reset(seed=0)
    >>> for i in range(2000):
    ...     observation, reward, terminated, truncated, info = env.step(i % 2)
    ...     if terminated or truncated:
    ...         _ = env.reset()
    >>> round(info["raw_reward"], 1), round(reward, 1)
    (-11.5, 1.2)

    ``env.estimate(observation, action)`` is what it believes. ``env.save(path)`` keeps it in an ``.npz``
    file, without pickle. ``DenoiseReward.load(path, env)`` makes the wrapper again, and ``env.load(path)``
    continues in one that is there. ``state_dict()`` and ``load_state_dict(arrays)`` are the same as arrays.
    """

    def __init__(self, env: gymnasium.Env[ObsType, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self._filter = Denoiser(env.observation_space, env.action_space)

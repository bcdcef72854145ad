"""The paper's adaptive truncation of rewards, for any environment and any framework."""

from typing import Any, Literal

import gymnasium
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs

from heavytail.gym._filter_reward import FilterReward
from heavytail.gym._truncating import Truncating
from heavytail.gym._truncator import QUANTILE, VISITS, WARM_UP, Counter, Mode, Truncator
from heavytail.gym.observation_codes import BITS


class TruncateReward(Truncating, FilterReward[ObsType, ActType], RecordConstructorArgs):
    """Truncate rewards at a threshold that grows with the visits of the state and action.

    The idea of Heavy-DQN, for any learner. At the n-th visit of an observation and action, this one included,
    a reward r becomes 0 if

        abs(r) > (coefficient * n) ** (1 / (1 + epsilon))

    So an outlier cannot ruin what is learnt from few visits, and nothing is lost in the end, since the
    threshold grows without bound. Which coefficient is right depends on the task: with 0.015, the paper's
    best on MountainCar, rewards of size 1 are 0 until the 67th visit.

    Each step's ``info`` has ``raw_reward`` (the reward that came in, including any noise added beneath),
    ``reward_threshold`` and ``reward_truncated``. Observations, ends of episodes and seeds pass unchanged.

    **Counts** continue for as long as the wrapper exists, also over ``reset(seed=...)``: many scripts seed
    every episode, and would otherwise restart counting each time. A run is therefore repeated with a new
    wrapper, not with a seed alone, and ``env.spec.nondeterministic`` says so. For several environments at
    once use `VectorTruncateReward` (Gymnasium's vectors) or `VecTruncateReward` (Stable-Baselines3's), whose
    counts are shared; with a wrapper on each of N environments, counts would grow N times slower. Evaluate on
    an environment without this wrapper.

    **Logs** show the rewards at the place where they are recorded. Put the recorder *beneath* this wrapper to
    log rewards before truncation::

        # Gymnasium
        env = TruncateReward(RecordEpisodeStatistics(env), 0.05, 0.015)
        # Stable-Baselines3, which puts a Monitor outside if there is none
        env = TruncateReward(Monitor(env), 0.05, 0.015)
        # returns without the noise that was added
        env = TruncateReward(AddRewardNoise(Monitor(env), law), 0.05, 0.015)

    **Which coefficient**: a learner with a replay memory averages over many visits, so its threshold may grow
    as fast as the visits do; "auto" is made for that. One that learns from fresh rewards only, such as PPO,
    never has more than the last few, and needs a threshold that grows slowly: a smaller coefficient, a larger
    epsilon, mode "clip". In our tests DQN learns with "auto" where it fails without, and PPO with 0.0015 and
    "clip", but not with "auto".

    **Automatic**: with ``coefficient="auto"`` the threshold at `visits` visits is the `quantile` of the sizes
    of the first `warm_up` rewards (of those that are finite and not 0). Until they are all seen, the quantile
    is of those seen so far, so that rewards are truncated from the first step on: if they were left
    unchanged, outliers would enter a replay memory and stay there; if they were set to 0, nothing would be
    learnt from the warm-up. Then the coefficient is fixed.

    Args:
        env: the environment.
        epsilon: rewards are assumed to have a moment of order 1 + epsilon; above 0, at most 1. 0.05 if left
            out, the paper's.
        coefficient: C, above 0, or "auto", as it is if left out: nothing need be known of the rewards.
        counter: what counts as the same observation: "exact", "simhash"
            (`heavytail.gym.SimHash`), "auto" (exact where observations are discrete, else SimHash), a
            function from an observation to any hashable value, or a `heavytail.gym.VisitCounter` to share.
        mode: what becomes of a reward beyond the threshold: "zero" (the paper's), or "clip": the threshold,
            with its sign. As baselines also "sign", which keeps only the sign of every reward, and "none",
            which changes nothing; both take neither epsilon nor coefficient nor limit.
        limit: a fixed threshold, in place of epsilon and coefficient: ``mode="clip", limit=5.0`` is the usual
            clipping to [-5, 5]. Nothing is counted then.
        bits: of the SimHash. More bits distinguish more observations.
        hash_seed: of the SimHash, which is the same for every run unless you change it.
        warm_up: how many rewards "auto" uses.
        quantile: of their sizes.
        visits: at which visit the threshold is that quantile.

    Attributes:
        transform: the transform of rewards, as numbers; ``transform.coefficient`` is what "auto" has chosen
            so far.
        counter: the visit counts; None if the threshold is fixed.
        warming_up: whether "auto" is still choosing the coefficient.
        truncated_fraction: the fraction of all rewards so far that were beyond the threshold.

    Raises:
        InputError: an argument is wrong, or a reward is nan.

    >>> import gymnasium
    >>> import heavytail as ht
    >>> env = ht.gym.TruncateReward(gymnasium.make("MountainCar-v0"))  # all by itself

    With the numbers of the paper:

    >>> law = ht.laws.alpha_stable(alpha=1.1, scale=5.0)
    >>> env = ht.gym.AddRewardNoise(gymnasium.make("MountainCar-v0"), law)
    >>> env = ht.gym.TruncateReward(env, epsilon=0.05, coefficient=0.015)
    >>> _ = env.reset(seed=0)
    >>> _, reward, _, _, info = env.step(0)
    >>> reward, info["reward_truncated"], round(info["reward_threshold"], 3)
    (0.0, True, 0.018)
    >>> info["raw_reward"] == -1 + info["reward_noise"]
    True

    The usual clipping:

    >>> env = ht.gym.TruncateReward(gymnasium.make("MountainCar-v0"), mode="clip", limit=0.5)
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[1]
    -0.5

    ``env.save(path)`` keeps options and counts in an ``.npz`` file, without pickle.
    ``TruncateReward.load(path, env)`` makes the wrapper again, and ``env.load(path)`` continues in one that
    is there. ``state_dict()`` and ``load_state_dict(arrays)`` are the same as arrays:

    >>> env = ht.gym.TruncateReward(gymnasium.make("FrozenLake-v1"), epsilon=0.5, coefficient=1.0)
    >>> _, _ = env.reset(seed=0), env.step(2)
    >>> {name: array.tolist() for name, array in env.state_dict().items()}
    {'steps': [1, 0], 'observations': [0], 'actions': [2], 'counts': [1]}
    """

    def __init__(
        self,
        env: gymnasium.Env[ObsType, ActType],
        epsilon: float | None = None,
        coefficient: float | Literal["auto"] | None = None,
        counter: Counter = "auto",
        mode: Mode = "zero",
        limit: float | None = None,
        bits: int = BITS,
        hash_seed: int = 0,
        warm_up: int = WARM_UP,
        quantile: float = QUANTILE,
        visits: int = VISITS,
    ) -> None:
        options: dict[str, Any] = {
            "epsilon": epsilon,
            "coefficient": coefficient,
            "counter": counter,
            "mode": mode,
            "limit": limit,
            "bits": bits,
            "hash_seed": hash_seed,
            "warm_up": warm_up,
            "quantile": quantile,
            "visits": visits,
        }
        # A counter that is shared is not copied.
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **options)
        super().__init__(env)
        self._filter = Truncator(env.observation_space, env.action_space, **options)

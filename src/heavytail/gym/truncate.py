"""The paper's adaptive truncation of rewards, for any environment and any framework."""

import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import Space

from heavytail.agent_file import find_array
from heavytail.checks import Count, MomentOrder, OpenProbability, cast_value
from heavytail.errors import InputError, short_repr
from heavytail.files import Arrays
from heavytail.gym import reward_transforms
from heavytail.gym.adapters import Filtered, FilterReward, RewardFilter, Visit
from heavytail.gym.observation_codes import BITS
from heavytail.gym.reward_transforms import RewardTransform, coefficient_from, transform_reward
from heavytail.gym.visit_counts import VisitCounter, as_plain, visit_counter
from heavytail.ranges import MAX_COUNT

Mode: TypeAlias = Literal["zero", "clip", "sign", "none"]
Counter: TypeAlias = str | Callable[[Any], Hashable] | VisitCounter

OWN_COUNTER = "your own"  # in place of a counter that cannot be saved
EPSILON = 0.05  # the paper's, and the heaviest tails that have a mean
WARM_UP = 1000  # rewards
QUANTILE = 0.5
VISITS = 10
MAX_SHARE = 0.5  # of rewards truncated; beyond it, a user's coefficient gives a warning


class Truncator(RewardFilter):
    """Truncates rewards and counts visits. The arguments are those of `heavytail.gym.TruncateReward`."""

    missing: ClassVar[Mapping[str, Any]] = {"reward_threshold": math.inf, "reward_truncated": False}

    def __init__(self, observation_space: Space[Any], action_space: Space[Any], **options: Any) -> None:
        options = _fill_in(options)
        counter, bits, seed = (options[name] for name in ("counter", "bits", "hash_seed"))
        self.transform = _make_transform(options)
        self.counter: VisitCounter | None = None
        if self.transform.exponent:  # the threshold grows
            self.counter = visit_counter(observation_space, action_space, counter, bits, seed)
        self.steps = 0
        self.truncated = 0
        self._epsilon = options["epsilon"]
        self._automatic = options["coefficient"] == "auto"
        self._warm_up: int = cast_value(options["warm_up"], Count, "warm_up")
        self._quantile: float = cast_value(options["quantile"], OpenProbability, "quantile")
        self._visits: int = cast_value(options["visits"], Count, "visits")
        self._sizes: list[float] = []  # of the first rewards that are finite and not 0
        self.options = {name: as_plain(value) for name, value in options.items()}
        if not isinstance(counter, str):
            self.options["counter"] = OWN_COUNTER

    @property
    def remembers(self) -> bool:
        """True if visits are counted."""
        return self.counter is not None

    @property
    def warming_up(self) -> bool:
        """True while the coefficient is being chosen."""
        return self._automatic and len(self._sizes) < self._warm_up

    def code(self, observation: Any) -> Hashable:
        """Return the code of an observation, to remember until its action is known."""
        return None if self.counter is None else self.counter.code(observation)

    def apply(self, visits: Sequence[Visit]) -> list[Filtered]:
        """Count these visits, one after the other, and transform their rewards."""
        if len(self._sizes) < self._warm_up and self.transform.exponent:
            self._sizes += [abs(visit.reward) for visit in visits if 0.0 < abs(visit.reward) < math.inf]
            if self._automatic and self._sizes:
                self.transform = self.transform._replace(coefficient=self._suggest_coefficient())
        transformed = [
            transform_reward(self.transform, visit.reward, self._count(visit.code, visit.action))
            for visit in visits
        ]
        self.steps += len(transformed)
        self.truncated += sum(beyond for *_, beyond in transformed)
        if self.steps - len(transformed) < self._warm_up <= self.steps:
            self._warn_if_most_are_truncated()
        return [
            (reward, {"reward_threshold": threshold, "reward_truncated": beyond})
            for reward, threshold, beyond in transformed
        ]

    def state_dict(self) -> Arrays:
        """Return the counts and the coefficient as arrays."""
        state: Arrays = {"steps": np.array([self.steps, self.truncated], np.int64)}
        if self.counter is not None:
            state |= self.counter.state_dict()
        if self._automatic:
            state |= {
                "coefficient": np.array(self.transform.coefficient),
                "warm_up": np.array(self._sizes, np.float64),
            }
        return state

    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from what was saved."""
        steps = find_array("steps", arrays, np.zeros(2, np.int64))
        if not 0 <= steps[1] <= steps[0] <= MAX_COUNT:
            raise InputError(
                f"steps is {steps.tolist()}; it must be how many there were, and how many truncated"
            )
        if self.counter is None and "counts" in arrays:
            raise InputError("it has counts, which a fixed threshold does not use")
        if self._automatic:
            if "coefficient" not in arrays:
                raise InputError('coefficient is missing; it was saved without "auto"')
            coefficient = find_array("coefficient", arrays, np.array(0.0))
            sizes = find_array("warm_up", arrays, np.zeros(0), same_shape=False)
            if not 0 < coefficient < np.inf:
                raise InputError(f"coefficient is {coefficient}; it must be finite and above 0")
            if not ((sizes > 0) & (sizes < np.inf)).all():
                raise InputError("warm_up has a size that is not finite and above 0")
        if self.counter is not None:
            own = ("steps", "coefficient", "warm_up")
            self.counter.load_state_dict({name: array for name, array in arrays.items() if name not in own})
        if self._automatic:
            self.transform = self.transform._replace(coefficient=float(coefficient))
            self._sizes = sizes.tolist()
        self.steps, self.truncated = steps.tolist()

    def _count(self, code: Hashable, action: Any) -> int:
        return 1 if self.counter is None else self.counter.visit(code, action)

    def _suggest_coefficient(self) -> float:
        """Return the coefficient that suits the first rewards."""
        epsilon = float(self._epsilon or 0.0)
        return coefficient_from(self._sizes, epsilon, self._quantile, self._visits)

    def _warn_if_most_are_truncated(self) -> None:
        """Warn of a coefficient of the user's that is too small for the rewards."""
        if self._automatic or self.truncated <= MAX_SHARE * self.steps or not self._sizes:
            return
        suggested = self._suggest_coefficient()
        if self.transform.exponent and suggested > self.transform.coefficient:
            warnings.warn(
                f"of the first {self.steps:,} rewards {self.truncated / self.steps:.0%} were truncated: with"
                f" coefficient={self.transform.coefficient:g} thresholds are small; the sizes of these"
                f" rewards suggest {suggested:.3g}, as coefficient='auto' does",
                stacklevel=4,
            )


class TruncateReward(FilterReward):
    """Truncate rewards at a threshold that grows with the visits of the state and action.

    The idea of Heavy-DQN, for any learner. At the n-th visit of an observation and action, a reward r becomes
    0 if

        abs(r) > (coefficient * n) ** (1 / (1 + epsilon))

    So an outlier cannot ruin what is learnt from few visits, and nothing is lost in the end, since the
    threshold grows without bound. The right coefficient depends on the task: with 0.015, the paper's best on
    MountainCar, rewards of size 1 are 0 until the 67th visit.

    Each step's ``info`` has ``raw_reward`` (the reward that came in, including any noise added beneath),
    ``reward_threshold`` and ``reward_truncated``. Observations, ends of episodes and seeds pass unchanged.

    **Counts** persist for as long as the wrapper exists, even across ``reset(seed=...)``: many scripts seed
    every episode, and would otherwise restart counting each time. To repeat a run you therefore need a new
    wrapper, not just the seed, and ``env.spec.nondeterministic`` says so. Evaluate on an environment without
    this wrapper.

    **Vectors**: around a vector of environments, Gymnasium's or Stable-Baselines3's, it is itself such a
    vector, with one count for all of its environments; with a wrapper on each of N environments, counts would
    grow N times slower. If two environments visit the same pair in one step, the count of the second includes
    the first. In a Gymnasium vector, a step that only resets an environment (the default, ``NEXT_STEP``) is
    not a visit. ``infos`` has the three as arrays and, as usual there, masks ``_raw_reward`` and so on, true
    for the environments that took a step. They stay at the top level even if an episode ended and the next
    began in the same step (``SAME_STEP``).

    **Logs** show the rewards where they are recorded. Put the recorder *beneath* this wrapper to log rewards
    before truncation::

        # Gymnasium
        env = TruncateReward(RecordEpisodeStatistics(env), 0.05, 0.015)
        # Stable-Baselines3, which puts a Monitor outside if there is none
        env = TruncateReward(Monitor(env), 0.05, 0.015)
        # returns without the noise that was added
        env = TruncateReward(AddRewardNoise(Monitor(env), law), 0.05, 0.015)

    **Which coefficient**: a learner with a replay memory averages over many visits, so its threshold may grow
    as fast as the visits do; "auto" is made for that. A learner that uses only fresh rewards, such as PPO,
    never has more than the last few, and needs a threshold that grows slowly: a smaller coefficient, a larger
    epsilon, mode "clip". In our tests DQN learns with "auto" where it fails without, and PPO with 0.0015 and
    "clip", but not with "auto".

    **Automatic**: with ``coefficient="auto"`` the threshold at `visits` visits is the `quantile` of the sizes
    of the first `warm_up` rewards (those that are finite and not 0). Until they are all seen, the quantile of
    those seen so far is used, so that rewards are truncated from the first step on: if they were left
    unchanged, outliers would enter a replay memory and stay there; if they were set to 0, nothing would be
    learnt from the warm-up. After that the coefficient is fixed.

    Args:
        env: the environment, or a vector of them.
        epsilon: rewards are assumed to have a moment of order 1 + epsilon; above 0, at most 1. By default
            0.05, the paper's.
        coefficient: C, above 0, or "auto" (the default), which needs no prior knowledge of the rewards.
        counter: how observations are told apart: "exact", "simhash"
            (`heavytail.gym.SimHash`), "auto" (exact where observations are discrete, else SimHash), a
            function from an observation to any hashable value, or a `heavytail.gym.VisitCounter` to share.
        mode: what happens to a reward beyond the threshold: "zero" (the paper's) sets it to 0, "clip" to the
            threshold with the reward's sign. Baselines are "sign", which keeps only the sign of every reward,
            and "none", which changes nothing; both take neither epsilon nor coefficient nor limit.
        limit: a fixed threshold, in place of epsilon and coefficient: ``mode="clip", limit=5.0`` is the usual
            clipping to [-5, 5]. Visits are not counted then.
        bits: the bits of the SimHash. More bits distinguish more observations.
        hash_seed: the seed of the SimHash, which is the same for every run unless you change it.
        warm_up: how many rewards "auto" uses.
        quantile: the quantile of their sizes.
        visits: the visit at which the threshold is that quantile.

    Raises:
        InputError: an argument is wrong, or a reward is nan.

    >>> import gymnasium
    >>> import heavytail as ht
    >>> env = ht.gym.TruncateReward(gymnasium.make("MountainCar-v0"))  # fully automatic

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

    One count for a vector:

    >>> envs = gymnasium.make_vec("FrozenLake-v1", num_envs=3)
    >>> envs = ht.gym.TruncateReward(envs, epsilon=0.5, coefficient=1.0)
    >>> _ = envs.reset(seed=0)
    >>> *_, infos = envs.step([0, 0, 1])
    >>> infos["reward_threshold"].round(2).tolist()  # the second environment does what the first has done
    [1.0, 1.59, 1.0]

    ``env.save(path)`` keeps options and counts in an ``.npz`` file, without pickle; save it beside the model
    that learnt with them. ``ht.load(path, env)`` makes the wrapper again, and ``env.load(path)`` loads the
    file into an existing one, which is needed if `counter` is your own. ``state_dict()`` and
    ``load_state_dict(arrays)`` do the same with arrays:

    >>> env = ht.gym.TruncateReward(gymnasium.make("FrozenLake-v1"), epsilon=0.5, coefficient=1.0)
    >>> _, _ = env.reset(seed=0), env.step(2)
    >>> {name: array.tolist() for name, array in env.state_dict().items()}
    {'steps': [1, 0], 'observations': [0], 'actions': [2], 'counts': [1]}
    """

    _filter: Truncator

    def __init__(
        self,
        env: Any,
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
        options = {name: value for name, value in locals().items() if name not in ("self", "env")}
        self._begin(env, Truncator, options)

    @property
    def transform(self) -> RewardTransform:
        """The transform of rewards; ``transform.coefficient`` is the choice of "auto" so far."""
        return self._filter.transform

    @property
    def counter(self) -> VisitCounter | None:
        """The visit counts; None if the threshold is fixed."""
        return self._filter.counter

    @property
    def warming_up(self) -> bool:
        """True while "auto" is choosing the coefficient."""
        return self._filter.warming_up

    @property
    def truncated_fraction(self) -> float:
        """The fraction of rewards so far that were beyond the threshold."""
        return self._filter.truncated / max(1, self._filter.steps)


def _fill_in(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options, with default epsilon and coefficient if the threshold grows."""
    if options["counter"] == OWN_COUNTER:
        raise InputError("it was saved with your own counter; make a wrapper with that, then env.load(path)")
    if options["mode"] in ("sign", "none") or options["limit"] is not None:
        return options
    defaults = {"epsilon": EPSILON, "coefficient": "auto"}
    return options | {name: value for name, value in defaults.items() if options[name] is None}


def _make_transform(options: dict[str, Any]) -> RewardTransform:
    epsilon, coefficient, limit = (options[name] for name in ("epsilon", "coefficient", "limit"))
    mode = cast_value(options["mode"], Mode, "mode")
    given = [name for name in ("epsilon", "coefficient", "limit") if options[name] is not None]
    if mode in ("sign", "none"):
        if given:
            raise InputError(f"mode is {mode!r}, which takes no {', '.join(given)}")
        return reward_transforms.sign() if mode == "sign" else reward_transforms.none()
    if given == ["limit"]:
        return reward_transforms.fixed(limit, mode)
    if "limit" in given:
        raise InputError(
            f"mode {mode!r} takes epsilon and coefficient, for a threshold that grows, or limit, for"
            f" a fixed one; got {' and '.join(given)}"
        )
    if isinstance(coefficient, str):
        if coefficient != "auto":
            raise InputError(
                f"coefficient is {short_repr(coefficient)}; it must be a number above 0, or 'auto'"
            )
        coefficient = reward_transforms.MIN_SIZE  # until the first reward of the warm-up
        return reward_transforms.truncate(epsilon, coefficient, mode)
    return reward_transforms.truncate(cast_value(epsilon, MomentOrder, "epsilon"), coefficient, mode)

"""The core of the wrappers that truncate rewards: the transform, the visit counts and the warm-up."""

import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt
from gymnasium import Space

from heavytail.agent_file import find_array
from heavytail.checks import Count, MomentOrder, OpenProbability, cast_value
from heavytail.errors import InputError, short_repr
from heavytail.files import Arrays
from heavytail.gym import reward_transforms
from heavytail.gym._filtering import OWN_COUNTER, Filtered, Visit
from heavytail.gym.observation_codes import BITS
from heavytail.gym.reward_transforms import RewardTransform, coefficient_from, transform_one
from heavytail.gym.visit_counts import VisitCounter, visit_counter
from heavytail.ranges import MAX_COUNT

Mode: TypeAlias = Literal["zero", "clip", "sign", "none"]
Counter: TypeAlias = str | Callable[[Any], Hashable] | VisitCounter

EPSILON = 0.05  # the paper's, and the heaviest tails that have a mean
WARM_UP = 1000  # rewards
QUANTILE = 0.5
VISITS = 10
MAX_SHARE = 0.5  # of rewards truncated, beyond which a coefficient of the user's is called in question


class TruncationOptions(TypedDict, total=False):
    """The options of all wrappers that truncate rewards; `heavytail.gym.TruncateReward` explains them."""

    counter: Counter
    mode: Mode
    limit: float | None
    bits: int
    hash_seed: int
    warm_up: int
    quantile: float
    visits: int


class Truncator:
    """Truncates rewards and counts visits. The arguments are those of `heavytail.gym.TruncateReward`."""

    missing: ClassVar[Mapping[str, Any]] = {"reward_threshold": math.inf, "reward_truncated": False}

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        epsilon: float | None,
        coefficient: float | Literal["auto"] | None,
        counter: Counter = "auto",
        mode: Mode = "zero",
        limit: float | None = None,
        bits: int = BITS,
        hash_seed: int = 0,
        warm_up: int = WARM_UP,
        quantile: float = QUANTILE,
        visits: int = VISITS,
    ) -> None:
        epsilon, coefficient = _fill_in(epsilon, coefficient, mode, limit)
        self.transform = _make_transform(epsilon, coefficient, mode, limit)
        self.counter: VisitCounter | None = None
        if self.transform.exponent:  # the threshold grows
            self.counter = visit_counter(observation_space, action_space, counter, bits, hash_seed)
        self.steps = 0
        self.truncated = 0
        self._epsilon = epsilon
        self._automatic = coefficient == "auto"
        self._warm_up: int = cast_value(warm_up, Count, "warm_up")
        self._quantile: float = cast_value(quantile, OpenProbability, "quantile")
        self._visits: int = cast_value(visits, Count, "visits")
        self._sizes: list[float] = []  # of the first rewards that are finite and not 0
        self.options: dict[str, Any] = {
            "epsilon": _plain(epsilon),
            "coefficient": _plain(coefficient),
            "counter": counter if isinstance(counter, str) else OWN_COUNTER,
            "mode": mode,
            "limit": _plain(limit),
            "bits": _plain(bits),
            "hash_seed": _plain(hash_seed),
            "warm_up": self._warm_up,
            "quantile": self._quantile,
            "visits": self._visits,
        }

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
            transform_one(self.transform, visit.reward, self._count(visit.code, visit.action))
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
            raise InputError("there are counts in it, for which a fixed threshold has no use")
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


def _plain(value: Any) -> Any:
    """Return a number of NumPy's as one of Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _fill_in(epsilon: Any, coefficient: Any, mode: Any, limit: Any) -> tuple[Any, Any]:
    """Return epsilon and coefficient as given, or as they are by default where a threshold grows."""
    if mode in ("sign", "none") or limit is not None:
        return epsilon, coefficient
    return EPSILON if epsilon is None else epsilon, "auto" if coefficient is None else coefficient


def _make_transform(epsilon: Any, coefficient: Any, mode: Any, limit: Any) -> RewardTransform:
    mode = cast_value(mode, Mode, "mode")
    arguments = {"epsilon": epsilon, "coefficient": coefficient, "limit": limit}
    given = [name for name, value in arguments.items() if value is not None]
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

"""The core of the wrappers that truncate rewards: the transform, the visit counts and the warm-up."""

import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt
from gymnasium import Space

from heavytail.checks import Count, MomentOrder, OpenProbability, cast_value
from heavytail.errors import InputError, short_repr
from heavytail.files import Arrays, read_arrays, write_arrays
from heavytail.gym import reward_transforms
from heavytail.gym.observation_codes import BITS
from heavytail.gym.reward_transforms import RewardTransform, coefficient_from, transform_one
from heavytail.gym.visit_counts import VisitCounter, visit_counter
from heavytail.ranges import MAX_COUNT

Mode: TypeAlias = Literal["zero", "clip", "sign", "none"]
Counter: TypeAlias = str | Callable[[Any], Hashable] | VisitCounter

WARM_UP = 1000  # rewards
QUANTILE = 0.5
VISITS = 10


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
        self._warm_up_sizes: list[float] = []  # of rewards that are finite and not 0

    @property
    def warming_up(self) -> bool:
        """True while the coefficient is being chosen."""
        return self._automatic and len(self._warm_up_sizes) < self._warm_up

    def code(self, observation: Any) -> Hashable:
        """Return the code of an observation, to remember until its action is known."""
        return None if self.counter is None else self.counter.code(observation)

    def apply(
        self, codes: Iterable[Hashable], actions: Iterable[Any], rewards: Sequence[float]
    ) -> list[tuple[float, float, bool]]:
        """Count these visits, one after the other, and transform their rewards.

        Returns:
            for each its reward, its threshold, and whether it was truncated.
        """
        for i, reward in enumerate(rewards, self.steps + 1):
            if math.isnan(reward):
                raise InputError(f"the reward of step {i} is nan; a reward must be a number")
        if self.warming_up:
            self._set_coefficient(rewards)
        transformed = [
            transform_one(self.transform, reward, self._visit(code, action))
            for code, action, reward in zip(codes, actions, rewards, strict=True)
        ]
        self.steps += len(transformed)
        self.truncated += sum(beyond for *_, beyond in transformed)
        return transformed

    def state_dict(self) -> Arrays:
        """Return the counts and the coefficient as arrays."""
        state: Arrays = {"steps": np.array([self.steps, self.truncated], np.int64)}
        if self.counter is not None:
            state |= self.counter.state_dict()
        if self._automatic:
            state |= {
                "coefficient": np.array(self.transform.coefficient),
                "warm_up": np.array(self._warm_up_sizes, np.float64),
            }
        return state

    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from what was saved."""
        steps = _check_array("steps", arrays, (2,), np.int64)
        if not 0 <= steps[1] <= steps[0] <= MAX_COUNT:
            raise InputError(
                f"steps is {steps.tolist()}; it must be how many there were, and how many truncated"
            )
        if self.counter is None and "counts" in arrays:
            raise InputError("there are counts in it, for which a fixed threshold has no use")
        if self._automatic:
            if "coefficient" not in arrays:
                raise InputError('coefficient is missing; it was saved without "auto"')
            coefficient = _check_array("coefficient", arrays, (), np.float64)
            sizes = _check_array("warm_up", arrays, None, np.float64)
            if not 0 < coefficient < np.inf:
                raise InputError(f"coefficient is {coefficient}; it must be finite and above 0")
            if not ((sizes > 0) & (sizes < np.inf)).all():
                raise InputError("warm_up has a size that is not finite and above 0")
        if self.counter is not None:
            own = ("steps", "coefficient", "warm_up")
            self.counter.load_state_dict({name: array for name, array in arrays.items() if name not in own})
        if self._automatic:
            self.transform = self.transform._replace(coefficient=float(coefficient))
            self._warm_up_sizes = sizes.tolist()
        self.steps, self.truncated = steps.tolist()

    def _visit(self, code: Hashable, action: Any) -> int:
        return 1 if self.counter is None else self.counter.visit(code, action)

    def _set_coefficient(self, rewards: Sequence[float]) -> None:
        self._warm_up_sizes += [abs(reward) for reward in rewards if 0.0 < abs(reward) < math.inf]
        if self._warm_up_sizes:
            epsilon = float(self._epsilon or 0.0)
            coefficient = coefficient_from(self._warm_up_sizes, epsilon, self._quantile, self._visits)
            self.transform = self.transform._replace(coefficient=coefficient)


class Truncating:
    """Properties and methods that all wrappers around a truncator share."""

    _truncator: Truncator

    @property
    def transform(self) -> RewardTransform:
        """The transform of rewards; ``transform.coefficient`` is what "auto" has chosen so far."""
        return self._truncator.transform

    @property
    def counter(self) -> VisitCounter | None:
        """The visit counts; None if the threshold is fixed."""
        return self._truncator.counter

    @property
    def warming_up(self) -> bool:
        """True while "auto" is choosing the coefficient."""
        return self._truncator.warming_up

    @property
    def truncated_fraction(self) -> float:
        """The fraction of all rewards so far that were beyond the threshold."""
        return self._truncator.truncated / max(1, self._truncator.steps)

    def state_dict(self) -> Arrays:
        """Return the counts and the coefficient of "auto" as arrays."""
        return self._truncator.state_dict()

    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from such arrays; the present counts are forgotten."""
        self._truncator.load_state_dict(arrays)
        self._recode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts into an ``.npz`` file, without pickle; an interruption leaves the old file."""
        write_arrays(path, self.state_dict())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continue from a file of counts; if anything is wrong with it, nothing changes."""
        arrays = read_arrays(path, "file of counts")
        try:
            self.load_state_dict(arrays)
        except InputError as error:
            raise InputError(f"{path} does not fit: {error}") from None

    def _recode(self) -> None:
        """Hash the present observations again: the hash may have changed."""
        raise NotImplementedError


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
    if given != ["epsilon", "coefficient"]:
        raise InputError(
            f"mode {mode!r} takes epsilon and coefficient, for a threshold that grows, or limit, for"
            f" a fixed one; got {' and '.join(given) or 'neither'}"
        )
    if isinstance(coefficient, str):
        if coefficient != "auto":
            raise InputError(
                f"coefficient is {short_repr(coefficient)}; it must be a number above 0, or 'auto'"
            )
        coefficient = reward_transforms.MIN_SIZE  # until the first reward of the warm-up
        return reward_transforms.truncate(epsilon, coefficient, mode)
    return reward_transforms.truncate(cast_value(epsilon, MomentOrder, "epsilon"), coefficient, mode)


def _check_array(
    name: str, arrays: Mapping[str, npt.NDArray[Any]], shape: tuple[int, ...] | None, kind: type
) -> npt.NDArray[Any]:
    array = arrays.get(name)
    if array is None:
        raise InputError(f"{name} is missing")
    if array.dtype != kind or (array.ndim != 1 if shape is None else array.shape != shape):
        raise InputError(f"{name} is {array.dtype}{list(array.shape)}, which it should not be")
    return array

"""Transforms of rewards before an agent sees them.

None, clipping to a fixed range, the sign, or the paper's adaptive truncation.

Heavy-DQN (section 3.4 of the paper) *truncates*: with n visits of the hashed state and action, this one
included, a reward beyond the threshold

    B = (C n)^(1 / (1 + epsilon))

becomes 0. Here C is a number to tune (the paper's best on MountainCar is 0.015), not a moment. Since n is
counted before it is used, n >= 1 and B > 0. With C = 0.015 and epsilon = 0.05 the threshold is 0.018 at the
first visit, 1 at the 67th, 13 at the thousandth: small rewards are zeroed too while visits are few, which is
a bonus where rewards are negative and a penalty where they are positive. Mode ``"clip"`` keeps the sign, and
B of the size, instead.

Every transform is one record of four numbers, so that transforms stack into arrays and run side by side. All
of them are of the form: threshold ``limit * (coefficient n)^exponent``, and a mode that says what happens
beyond it. The functions here take arrays or single numbers and broadcast.

>>> import numpy as np
>>> from heavytail.gym import reward_transforms
>>> heavy_dqn = reward_transforms.truncate(epsilon=0.05, coefficient=0.015)
>>> reward_transforms.transform_reward(heavy_dqn, [-1.0, -1.0, 500.0], [66, 67, 1000]).reward.tolist()
[0.0, -1.0, 0.0]
>>> reward_transforms.transform_reward(reward_transforms.clip(5.0), [-1.0, 500.0], 1).reward.tolist()
[-1.0, 5.0]
"""

import math
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Bools, Floats
from heavytail.checks import Count, MomentOrder, OpenProbability, Positive, as_floats, cast_value
from heavytail.errors import InputError

# A reward beyond the threshold becomes 0, or the threshold; or every reward becomes its sign.
ZERO, CLIP, SIGN = 0, 1, 2
MIN_SIZE = 1e-150  # so that a power of up to 2 of a size neither vanishes nor overflows

TruncationMode: TypeAlias = Literal["zero", "clip"]


class RewardTransform(NamedTuple):
    """A transform as numbers, or as arrays of them for several side by side."""

    mode: int  # ZERO, CLIP or SIGN
    limit: float  # the threshold, if it is fixed; 1 if it grows
    coefficient: float  # C
    exponent: float  # 1 / (1 + epsilon); 0 if the threshold is fixed


class Transformed(NamedTuple):
    """Rewards after a transform."""

    reward: Floats
    threshold: Floats
    truncated: Bools  # whether the reward was beyond the threshold


def none() -> RewardTransform:
    """Leave rewards unchanged: an infinite threshold.

    >>> none()
    RewardTransform(mode=1, limit=inf, coefficient=1.0, exponent=0.0)
    """
    return RewardTransform(CLIP, math.inf, 1.0, 0.0)


def clip(limit: float) -> RewardTransform:
    """Clip rewards to [-limit, limit].

    >>> clip(5)
    RewardTransform(mode=1, limit=5.0, coefficient=1.0, exponent=0.0)
    """
    return fixed(limit, "clip")


def sign() -> RewardTransform:
    """Keep only the sign of a reward: -1, 0 or 1. Rewards of size above 1 count as truncated."""
    return RewardTransform(SIGN, 1.0, 1.0, 0.0)


def fixed(limit: float, mode: TruncationMode = "zero") -> RewardTransform:
    """Zero or clip rewards beyond a threshold that never grows."""
    return RewardTransform(_mode(mode), cast_value(limit, Positive, "limit"), 1.0, 0.0)


def truncate(epsilon: float, coefficient: float, mode: TruncationMode = "zero") -> RewardTransform:
    """Zero (as in the paper) or clip rewards beyond a threshold that grows with the visits.

    Args:
        epsilon: rewards are assumed to have a moment of order 1 + epsilon; above 0, at most 1.
        coefficient: C.
        mode: "zero" or "clip".

    >>> truncate(0.5, 2.0, mode="clip")
    RewardTransform(mode=1, limit=1.0, coefficient=2.0, exponent=0.6666666666666666)
    """
    order = 1.0 + cast_value(epsilon, MomentOrder, "epsilon")
    return RewardTransform(_mode(mode), 1.0, cast_value(coefficient, Positive, "coefficient"), 1.0 / order)


def reward_threshold(transform: RewardTransform, count: npt.ArrayLike) -> Floats:
    """Calculate the threshold at a number of visits, the present one included.

    >>> reward_threshold(truncate(epsilon=0.05, coefficient=0.015), [1, 67, 1000]).round(3).tolist()
    [0.018, 1.005, 13.185]
    """
    return np.asarray(
        transform.limit * (transform.coefficient * np.asarray(count, np.float64)) ** transform.exponent
    )


def transform_reward(transform: RewardTransform, reward: npt.ArrayLike, count: npt.ArrayLike) -> Transformed:
    """Transform rewards whose state and action have `count` visits, the present one included.

    A reward exactly at the threshold is kept. Infinite rewards are truncated like any other; NaN stays NaN.

    Args:
        transform: the transform.
        reward: any shape.
        count: at least 1; any shape that broadcasts with the rewards. Has no effect where the threshold is
            fixed.
    """
    r, b = np.broadcast_arrays(np.asarray(reward, np.float64), reward_threshold(transform, count))
    beyond = np.abs(r) > b
    cut = np.where(np.asarray(transform.mode) == CLIP, np.copysign(b, r), 0.0)
    kept = np.where(beyond, cut, r)
    return Transformed(np.where(np.asarray(transform.mode) == SIGN, np.sign(r), kept), b, beyond)


def transform_one(transform: RewardTransform, reward: float, count: int) -> tuple[float, float, bool]:
    """Transform one reward in plain Python, many times as fast as `transform_reward`.

    Returns:
        the reward, the threshold, and whether it was truncated.

    >>> transform_one(clip(5.0), -7.0, 1)
    (-5.0, 5.0, True)
    """
    threshold = transform.limit * (transform.coefficient * count) ** transform.exponent
    beyond = abs(reward) > threshold
    if transform.mode == SIGN:
        return float((reward > 0) - (reward < 0)), threshold, beyond
    if not beyond:
        return reward, threshold, beyond
    return math.copysign(threshold, reward) if transform.mode == CLIP else 0.0, threshold, beyond


def coefficient_from(
    rewards: npt.ArrayLike, epsilon: float, quantile: float = 0.5, visits: int = 10
) -> float:
    """Choose the coefficient with which the threshold at so many visits is a quantile of reward sizes.

    Rewards that are 0 or infinite do not count: otherwise a task with mostly zero rewards would always have
    the threshold 0.

    Args:
        rewards: those of a warm-up.
        epsilon: as in `truncate`.
        quantile: above 0 and below 1.
        visits: at least 1.

    >>> c = coefficient_from([-1.0, 2.0, 0.0, 3.0], epsilon=0.05)
    >>> reward_threshold(truncate(0.05, c), [1, 10, 100]).round(3).tolist()
    [0.223, 2.0, 17.923]
    """
    sizes = np.abs(as_floats("rewards", rewards)).ravel()
    sizes = sizes[(sizes > 0) & np.isfinite(sizes)]
    if not len(sizes):
        raise InputError("rewards has none that is finite and not 0; a coefficient needs at least one")
    order = 1.0 + cast_value(epsilon, MomentOrder, "epsilon")
    share = cast_value(quantile, OpenProbability, "quantile")
    size = float(np.quantile(np.clip(sizes, MIN_SIZE, 1.0 / MIN_SIZE), share))
    return size**order / cast_value(visits, Count, "visits")


def _mode(mode: Any) -> int:
    chosen: str = cast_value(mode, Literal["zero", "clip"], "mode")
    return {"zero": ZERO, "clip": CLIP}[chosen]

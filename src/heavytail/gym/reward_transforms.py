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

Every transform is one record of four numbers, so that transforms stack into arrays and run side by side, as
they do in `heavytail.deep.rewards`. Each has a threshold ``limit * (coefficient n)^exponent``, and a mode
that says what happens beyond it.

>>> from heavytail.gym import reward_transforms
>>> heavy_dqn = reward_transforms.truncate(epsilon=0.05, coefficient=0.015)
>>> [reward_transforms.transform_reward(heavy_dqn, -1.0, n)[0] for n in (66, 67)]
[0.0, -1.0]
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from heavytail.checks import MomentOrder, Positive, cast_value

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


def none() -> RewardTransform:
    """Leave rewards unchanged: an infinite threshold.

    >>> none()
    RewardTransform(mode=1, limit=inf, coefficient=1.0, exponent=0.0)
    """
    return RewardTransform(CLIP, math.inf, 1.0, 0.0)


def sign() -> RewardTransform:
    """Keep only the sign of a reward: -1, 0 or 1. Rewards of size above 1 count as truncated."""
    return RewardTransform(SIGN, 1.0, 1.0, 0.0)


def fixed(limit: float, mode: TruncationMode = "zero") -> RewardTransform:
    """Zero or clip rewards beyond a threshold that never grows.

    >>> fixed(5, "clip")
    RewardTransform(mode=1, limit=5.0, coefficient=1.0, exponent=0.0)
    """
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


def transform_reward(transform: RewardTransform, reward: float, count: int) -> tuple[float, float, bool]:
    """Transform a reward whose state and action have `count` visits, the present one included.

    A reward exactly at the threshold is kept. Infinite rewards are truncated like any other; NaN stays NaN.

    Returns:
        the reward, the threshold, and whether it was truncated.

    >>> transform_reward(fixed(5.0, "clip"), -7.0, 1)
    (-5.0, 5.0, True)
    """
    threshold = transform.limit * (transform.coefficient * count) ** transform.exponent
    beyond = abs(reward) > threshold
    if transform.mode == SIGN:
        return float((reward > 0) - (reward < 0)), threshold, beyond
    if not beyond:
        return reward, threshold, beyond
    return math.copysign(threshold, reward) if transform.mode == CLIP else 0.0, threshold, beyond


def coefficient_from(sizes: Sequence[float], epsilon: float, quantile: float, visits: int) -> float:
    """Choose the coefficient that makes the threshold at `visits` visits a quantile of reward sizes.

    Args:
        sizes: sizes of the rewards of a warm-up, finite and above 0: otherwise a task with mostly zero
            rewards would always have the threshold 0.
        epsilon: as in `truncate`.
        quantile: above 0 and below 1.
        visits: at least 1.

    >>> heavy_dqn = truncate(0.05, coefficient_from([1.0, 2.0, 3.0], epsilon=0.05, quantile=0.5, visits=10))
    >>> [round(transform_reward(heavy_dqn, 0.0, n)[1], 3) for n in (1, 10, 100)]
    [0.223, 2.0, 17.923]
    """
    size = float(np.quantile(np.clip(sizes, MIN_SIZE, 1.0 / MIN_SIZE), quantile))
    return size ** (1.0 + epsilon) / visits


def _mode(mode: TruncationMode) -> int:
    return {"zero": ZERO, "clip": CLIP}[cast_value(mode, TruncationMode, "mode")]

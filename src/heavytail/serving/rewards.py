"""Rewards that a caller shows an agent: any number, also an infinite one, but not NaN."""

import math
import numbers
from typing import Any

from heavytail.errors import InputError, short_repr

NAN_REWARD = (
    "the reward of step {step} (in state {state}) is nan; rewards may be infinite, but must be numbers"
)


def check_reward(r: Any, s: Any, step: int) -> float:
    """Return a reward as a float; an error if it is none.

    >>> check_reward(10**400, "idle", step=3)
    Traceback (most recent call last):
    heavytail.errors.InputError: the reward 100... is too large; for infinity say inf
    """
    if not isinstance(r, numbers.Real):
        raise InputError(f"a reward must be a number, got {short_repr(r)}")
    try:
        reward = float(r)
    except OverflowError:
        raise InputError(f"the reward {short_repr(r)} is too large; for infinity say inf") from None
    if math.isnan(reward):
        raise InputError(NAN_REWARD.format(step=step, state=short_repr(s)))
    return reward

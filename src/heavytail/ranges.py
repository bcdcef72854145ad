"""Ranges and facts, with which records declare what their arrays may hold.

`heavytail.kernels.validity` explains how, and checks them.
"""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Bools, Ints

Fact: TypeAlias = tuple[str, bool | np.bool_]  # an error message, and whether all is well


class Range(NamedTuple):
    """The least and the largest number an array may hold; NaN is in no range."""

    low: float
    high: float

    def holds(self, array: npt.NDArray[Any]) -> Bools:
        """Return for each entry whether it is in the range."""
        return np.asarray((array >= self.low) & (array <= self.high))


MAX_COUNT = 2**53  # whole numbers up to it are exact as floats, and far from overflow
COUNT = Range(0, MAX_COUNT)
FLAG = Range(0, 1)
NUMBER = Range(-math.inf, math.inf)  # anything but NaN
FINITE = Range(-np.finfo(np.float64).max, np.finfo(np.float64).max)


def below(n: float) -> Range:
    """Return the range of indices into n things."""
    return Range(0, n - 1)


def blocks_fit(start: Ints, length: Ints, used: int) -> bool:
    """Return whether blocks lie within the first `used` places of a pool without overlapping.

    >>> blocks_fit(np.array([4, 0]), np.array([2, 4]), used=6)
    True
    >>> blocks_fit(np.array([3, 0]), np.array([2, 4]), used=6)
    False
    """
    order = np.argsort(start, kind="stable")
    first, end = start[order], (start + length)[order]
    first, end = first[end > first], end[end > first]
    return bool((end[:-1] <= first[1:]).all() and end.max(initial=0) <= used)

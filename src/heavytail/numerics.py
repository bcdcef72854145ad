"""Small functions that mean the same compiled and as plain Python, where the obvious ones would not."""

import math

import numpy as np

from heavytail.compiling import kernel
from heavytail.elementary import LARGEST_EXPONENT

SURE = 1.0 - 1e-12  # so far below a threshold rounding decides nothing


@kernel
def as_int(x: int) -> int:
    """An element of an array as an ordinary integer: `int` alone keeps an unsigned type when compiled, and differences would wrap."""
    return int(np.int64(x))


@kernel
def exp_or_inf(x: float) -> float:
    """exp, infinite where it overflows."""
    return math.exp(x) if x < LARGEST_EXPONENT else math.inf


@kernel
def expm1_or_inf(x: float) -> float:
    """Exp - 1, infinite where it overflows."""
    return math.expm1(x) if x < LARGEST_EXPONENT else math.inf

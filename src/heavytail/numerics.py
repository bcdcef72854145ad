"""Functions that plain Python would raise in where compiled code gives infinity: both give infinity here."""

import math

from heavytail.compiling import kernel

LARGEST_EXPONENT = 709.0  # exp(709) is just below the largest float


@kernel
def exp_or_inf(x: float) -> float:
    """exp, infinite where it overflows."""
    return math.exp(x) if x < LARGEST_EXPONENT else math.inf


@kernel
def expm1_or_inf(x: float) -> float:
    """Exp - 1, infinite where it overflows."""
    return math.expm1(x) if x < LARGEST_EXPONENT else math.inf

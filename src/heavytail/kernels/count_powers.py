"""Powers of a count: t**p for a fixed p and t = 1, 2, 3, ..., from a table and a short polynomial.

Exploration bonuses need such a power at every step, and a library's `pow` costs as much as the rest of the
step. With t = 2**k c (1 + x), c near the centre of one of 64 pieces of [1, 2),

    t**p = (2**k)**p  c**p  (1 + x)**p,

the first two from tables, the last from seven terms of a binomial series. The result is within three units in
the last place of the exact power, as tests check.
"""

from itertools import accumulate
from operator import mul
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, U
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import FRACTION, ONE, from_bits, to_bits

PIECES = 64
TERMS = 7
EXPONENTS = 64
PIECE = U(46)  # the shift after which the last six bits of a float are its piece


class CountPowers(NamedTuple):
    """The tables of one exponent."""

    powers_of_two: Floats  # [EXPONENTS] (2**k)**p
    powers_of_centre: Floats  # [PIECES] c**p
    inverse: Floats  # [PIECES] 1/c
    series: Floats  # [TERMS] binomial coefficients of p, from p itself on

    def constant_fields(self) -> tuple[str, ...]:
        """Name all fields."""
        return self._fields


def make_count_powers(p: float) -> CountPowers:
    """Build the tables for the exponent `p`, between -1 and 1."""
    inverse = [1.0 / (1.0 + (i + 0.5) / PIECES) for i in range(PIECES)]
    series = [(p - i) / (i + 1.0) for i in range(TERMS)]
    return CountPowers(  # Python's powers: NumPy's last digits depend on the processor
        powers_of_two=np.array([(2.0**k) ** p for k in range(EXPONENTS)]),
        powers_of_centre=np.array([c**-p for c in inverse]),
        inverse=np.array(inverse),
        series=np.array(list(accumulate(series, mul))),
    )


@kernel
def count_power(powers: CountPowers, t: float) -> float:
    """Return t**p for a whole number t from 1 to 2**63.

    >>> round(float(count_power(make_count_powers(-0.5), 16.0)), 12)
    0.25
    """
    bits = to_bits(t)
    piece = (bits >> PIECE) & U(PIECES - 1)
    x = from_bits((bits & FRACTION) | ONE) * powers.inverse[piece] - 1.0
    c, square = powers.series, x * x
    # In pairs: the latencies of successive products would add up to a third of a step.
    tail = (c[3] + x * c[4]) + square * (c[5] + x * c[6])
    binomial = 1.0 + ((x * c[0] + square * (c[1] + x * c[2])) + square * square * tail)
    return powers.powers_of_two[(bits >> U(52)) - U(1023)] * powers.powers_of_centre[piece] * binomial

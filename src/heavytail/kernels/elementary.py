"""Sine, logarithm, exponential and power, made only of sums, products, quotients and bit shifts.

Library functions have two drawbacks: a call keeps LLVM from computing eight draws at once, and another
machine or a GPU gives different last digits. So kernels use these. `sin`, `log` and `exp` are a few lines
without a branch, so a loop over them becomes vector code (AVX-512, AVX2 or whatever is available), and since
LLVM may neither reorder them nor contract a product and a sum, they give the same bits alone, in a vector and
as plain Python. `log` and `exp` consist of three functions each, so that a long loop can be split into three
short ones: a processor looks a few hundred operations ahead, and the shorter an iteration, the more of them
it overlaps.

The polynomials interpolate at Chebyshev's points with an error of a fraction of the last place. With
rounding, `log` and `exp` are within one unit in the last place, `sin` is within two and `expm1` within three.
`power` multiplies the error of the logarithm: it is within 1 + 3 |p log(x)| units, that is 12 correct digits
for the largest powers and 14 for ordinary ones. Tests check all of these limits.
"""

import math

import numpy as np

from heavytail.arrays import U
from heavytail.kernels.compiling import kernel

HALF_PI = 0.5 * math.pi
LOG_2_HIGH = 0.6931471803691238  # the first 32 bits of log(2), so that its products with exponents are exact
LOG_2_LOW = 1.9082149292705877e-10  # the rest
MAX_EXPONENT = 709.0  # exp(709) is just below the largest float
MIN_EXPONENT = -708.0  # exp(-708) is just above the smallest normal one
SQRT_HALF = U(0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)
ONE = U(0x3FF0000000000000)  # the bits of 1.0
TWO_52 = U(0x4330000000000000)  # the bits of 2**52; a whole number fits into its last bits
FRACTION = U(0x000FFFFFFFFFFFFF)
ROUNDER = 1.5 * 2.0**52  # added to a float, it leaves the nearest whole number in the last digits


@kernel
def to_bits(x: float) -> U:
    """Return the bits of a float."""
    return np.float64(x).view(np.uint64)


@kernel
def from_bits(bits: U) -> float:
    """Return the float of these bits."""
    return float(np.uint64(bits).view(np.float64))


@kernel
def sin(x: float) -> float:
    """Compute the sine of x from -pi/2 to pi/2."""
    z = x * x
    p = -7.643970296798572e-13 + z * 2.7314447669863995e-15
    p = -2.5052107616996182e-08 + z * (1.6058977312464087e-10 + z * p)
    p = -0.00019841269841254974 + z * (2.7557319219163234e-06 + z * p)
    p = -0.16666666666666666 + z * (0.008333333333333316 + z * p)
    return x + x * (z * p)


@kernel
def log(x: float) -> float:
    """Compute the logarithm of a positive normal x.

    The logarithm of its fraction, from sqrt(1/2) to sqrt(2), is a series for artanh; that of its exponent is
    added.
    """
    s = artanh_argument(x)
    return log_from(x, s, artanh_series(s))


@kernel
def artanh_argument(x: float) -> float:
    """Return the s for which 2 artanh(s) is the logarithm of the fraction of x, 1 + f."""
    _, f = exponent_and_fraction(x)
    return f / (2.0 + f)


@kernel
def artanh_series(s: float) -> float:
    """Compute 2 artanh(s) / s - 2."""
    z = s * s
    p = 0.15331721600556042 + z * 0.14616449685043406
    p = 0.2222221113479508 + z * (0.18182889125261723 + z * p)
    p = 0.39999999999899505 + z * (0.28571428625975487 + z * p)
    return z * (0.666666666666667 + z * p)


@kernel
def log_from(x: float, s: float, p: float) -> float:
    """Compute the logarithm of x, from its `artanh_argument` and the `artanh_series` of that."""
    exponent, f = exponent_and_fraction(x)
    square = 0.5 * f * f
    return exponent * LOG_2_HIGH - ((square - (s * (square + p) + exponent * LOG_2_LOW)) - f)


@kernel
def exponent_and_fraction(x: float) -> tuple[float, float]:
    """Return the exponent and the f of x = 2**exponent (1 + f), with 1 + f from sqrt(1/2) to sqrt(2)."""
    shifted = to_bits(x) + (ONE - SQRT_HALF)
    exponent = from_bits((shifted >> U(52)) | TWO_52) - (2.0**52 + 1023.0)
    return exponent, from_bits((shifted & FRACTION) + SQRT_HALF) - 1.0


@kernel
def exp(x: float) -> float:
    """Compute the exponential of x, infinite from 709 on and 0 below -708."""
    r = exp_remainder(x)
    return exp_from(x, r, exp_series(r))


@kernel
def exp_remainder(x: float) -> float:
    """Return x less the nearest multiple of log(2)."""
    exponent = rounded_exponent(x) - ROUNDER
    return (x - exponent * LOG_2_HIGH) - exponent * LOG_2_LOW


@kernel
def exp_series(r: float) -> float:
    """Compute (exp(r) - 1 - r) / r**2 for such a remainder."""
    p = 2.7620075879983367e-07 + r * 2.5100375832561234e-08
    p = 2.4801521322368692e-05 + r * (2.7557268480310024e-06 + r * p)
    p = 0.0013888888917196719 + r * (0.00019841269863040545 + r * p)
    p = 0.041666666666624164 + r * (0.008333333333330065 + r * p)
    return 0.5000000000000001 + r * (0.16666666666666669 + r * p)


@kernel
def exp_from(x: float, r: float, p: float) -> float:
    """Compute the exponential of x, from its `exp_remainder` and the `exp_series` of that."""
    power = from_bits((to_bits(rounded_exponent(x)) + U(1023)) << U(52))
    value = (1.0 + (r + r * r * p)) * power
    if x >= MAX_EXPONENT:
        return math.inf
    return value if x >= MIN_EXPONENT else 0.0


@kernel
def rounded_exponent(x: float) -> float:
    """Return the exponent of the power of two in exp(x), a whole number in the last digits of a float."""
    return min(max(x, MIN_EXPONENT), MAX_EXPONENT) * 1.4426950408889634 + ROUNDER


@kernel
def expm1(x: float) -> float:
    """Compute exp(x) - 1 for x from 0 on, exact for small x too.

    Kahan's method: the rounding of exp is undone by its logarithm.
    """
    y = exp(x)
    if y == 1.0:
        return x
    return (y - 1.0) * (x / log(y)) if y < math.inf else y


@kernel
def power(x: float, p: float) -> float:
    """Compute x**p for a positive p; 0 for x = 0.

    For x beyond the range of normal floats p must be at least 1.
    """
    return exp(p * log(x)) if x > 0.0 else 0.0

"""Absolute moments by quadrature, accurate for heavy tails.

For Y >= 0, E Y**p is the integral of p y**(p-1) P(Y > y). In x = log y the integrand is smooth, falls like exp(p x) to the left and, for a tail of
index alpha, like exp(-(alpha - p) x) to the right. Panels of one unit of x cover twelve decades on both sides of where the law lives; what is left is
a pure power and integrates in closed form, which no finite panel would reach when alpha - p is small.
"""

import math
from collections.abc import Callable
from itertools import pairwise

DECADES = 12.0
NEGLIGIBLE = 1e-17


def absolute_moment(exceedance: Callable[[float], float], p: float, tail_index: float, landmarks: tuple[float, ...]) -> float:
    """E Y**p from P(Y > y), for p below the tail index; `landmarks` are the sizes at which Y lives, and its kinks."""
    marks = sorted(math.log(y) for y in landmarks if y > 0)
    left, right = marks[0] - DECADES * math.log(10), marks[-1] + DECADES * math.log(10)
    edges = sorted({left + k for k in range(int(right - left) + 2)} | set(marks))
    total = _power(left, p) * exceedance(math.exp(left))
    for lower, upper in pairwise(edges):
        total += _panel(exceedance, p, lower, upper)
    if math.isinf(tail_index):
        return total + _light_tail(exceedance, p, edges[-1], total)
    return total + p / (tail_index - p) * _power(edges[-1], p) * exceedance(math.exp(edges[-1]))


def _power(x: float, p: float) -> float:
    return math.exp(p * x)


def _panel(exceedance: Callable[[float], float], p: float, lower: float, upper: float) -> float:
    from scipy.integrate import quad  # here, because moments are rarely asked for and scipy is slow to import

    value, _ = quad(lambda x: p * _power(x, p) * exceedance(math.exp(x)), lower, upper, epsabs=0.0, epsrel=1e-12)
    return float(value)


def _light_tail(exceedance: Callable[[float], float], p: float, x: float, body: float) -> float:
    """Further panels until they add nothing: a log-normal of large sigma lives far to the right."""
    total = 0.0
    while (more := _panel(exceedance, p, x, x + 1.0)) > NEGLIGIBLE * (body + total):
        total += more
        x += 1.0
    return total

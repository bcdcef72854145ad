"""Absolute moments by quadrature, accurate for heavy tails, large shifts and large orders.

The normal, Student, Pareto and log-normal laws are all a + s b exp(k x) for a sign s and an x with a smooth
density, so that

    E|X - center|**p  =  sum over s of the integral of w(x) |a + s b exp(k x)|**p.

In x nothing is narrow, however far the center; the integrand has one kink, where a + s b exp(k x) is zero,
and falls exponentially on both sides. It is computed in logarithms, so that high orders overflow only where
the moment does. Beyond `upper` a power tail is a pure exponential and integrates in closed form; no finite
panel would cover it when the order is close to the tail index.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from heavytail.kernels.elementary import exp

BEYOND = 30.0  # exp(-30) is 1e-13: this far beyond the scale of a law its tail is a pure power
NEGLIGIBLE = 45.0  # exp(-45) is 3e-20


def expected_power(
    log_density: Callable[[float], float],
    p: float,
    *,
    a: float,
    b: float,
    k: float = 1.0,
    sign: int = 1,
    lower: float,
    upper: float,
    decay: float = math.inf,
) -> float:
    """Integrate exp(log_density(x)) |a + sign b exp(k x)|**p from `lower` to `upper`.

    Beyond `upper` the integrand falls as exp(-decay x), and that part is added in closed form.
    """
    log_b = math.log(b)
    log_a = math.log(abs(a)) if a else -math.inf
    opposite = sign * a < 0

    def log_f(x: float) -> float:
        size = log_b + k * x - log_a
        if size > 700.0:  # also if a is 0
            return log_density(x) + p * (log_b + k * x)
        ratio = 1.0 - math.exp(size) if opposite else 1.0 + math.exp(size)
        return log_density(x) + p * (log_a + math.log(abs(ratio))) if ratio else -math.inf

    edges = _edges(lower, upper, (log_a - log_b) / k if opposite else lower)
    middles = [0.5 * (x + y) for x, y in pairwise(edges)]
    peak = max(map(log_f, [*edges, *middles]))
    rough = math.fsum((y - x) * math.exp(log_f(0.5 * (x + y)) - peak) for x, y in pairwise(edges))
    total = math.fsum(_panel(lambda x: math.exp(log_f(x) - peak), x, y, rough) for x, y in pairwise(edges))
    total += math.exp(log_f(upper) - peak) / decay
    return exp(peak + math.log(total))


def two_sided_power(
    log_density: Callable[[float], float],
    p: float,
    *,
    a: float,
    b: float,
    upper: float,
    decay: float = math.inf,
) -> float:
    """Compute E|a + b T|**p for a T with a symmetric density, given as a function of t > 0."""
    side = partial(expected_power, lambda x: x + log_density(math.exp(x)), p, a=a, b=b)
    return math.fsum(side(sign=sign, lower=-NEGLIGIBLE, upper=upper, decay=decay) for sign in (1, -1))


def _edges(lower: float, upper: float, kink: float) -> list[float]:
    n = max(1, math.ceil(upper - lower))
    inside = [kink] if lower < kink < upper else []
    return sorted({*(lower + (upper - lower) * i / n for i in range(n + 1)), *inside})


def _panel(f: Callable[[float], float], lower: float, upper: float, rough: float) -> float:
    from scipy.integrate import quad  # here, because moments are rarely asked for and scipy is slow to import

    return float(quad(f, lower, upper, epsabs=1e-14 * rough, epsrel=1e-12, limit=200)[0])

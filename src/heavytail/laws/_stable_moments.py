"""The integral in the moments of the stable laws that accounts for shift and skewness.

With unit scale,

    S(shift)  =  integral over t > 0 of  2 exp(-t**alpha) sin(b(t)/2)**2 t**(-1-p),

where the phase b(t) is shift * t + skew * t**alpha, or shift * t - (2 beta / pi) t log t when alpha = 1.
Below t0, where the phase is under one radian, the integrand is smooth in log t and its first stretch is a sum
of powers. Above t0 the square is split into 1 - cos b: a smooth part, and one that oscillates as fast as the
shift is large, for which QUADPACK has a rule.
"""

import math
from collections.abc import Callable

SMALL = 1e-12
NEAR_ONE = 0.5
NEGLIGIBLE_EXPONENT = 45.0  # exp(-45) is below 1e-19


def shift_integral(alpha: float, beta: float, shift: float, p: float) -> float:
    """Compute S(shift) for the stable law of index `alpha` and skewness `beta`, 0 < p < alpha < 2."""
    if shift == 0.0 and beta == 0.0:
        return 0.0
    skew = 0.0 if alpha == 1.0 else beta * math.tan(0.5 * math.pi * alpha)
    linear, bend = _phase(alpha, beta, skew, shift)

    def smooth(t: float) -> float:
        half = math.sin(0.5 * (linear * t + bend(t)))
        return 2.0 * math.exp(-(t**alpha)) * half * half * t**-p

    end = NEGLIGIBLE_EXPONENT ** (1.0 / alpha)
    bending = abs(beta) if abs(alpha - 1.0) < NEAR_ONE else max(abs(skew), abs(beta))
    t0 = min(end, 1.0 / max(abs(linear), SMALL), max(bending, SMALL) ** (-1.0 / alpha))
    first = min(1e-8 * t0, SMALL ** (1.0 / alpha))
    return (
        _power_start(alpha, skew, shift, p, first)
        + _over_log(smooth, first, t0)
        + _over_log(lambda t: math.exp(-(t**alpha)) * t**-p, t0, end)
        - _oscillating(lambda t: math.exp(-(t**alpha)) * t ** (-1.0 - p), bend, linear, t0, end)
    )


def _phase(alpha: float, beta: float, skew: float, shift: float) -> tuple[float, Callable[[float], float]]:
    """Split the phase b(t) into a linear part and the rest.

    Towards alpha = 1 the skew grows without bound while t**alpha becomes t: there skew * t joins the linear
    part, and the rest stays small.
    """
    if alpha == 1.0:
        return shift, lambda t: -2.0 / math.pi * beta * t * math.log(t)
    if abs(alpha - 1.0) < NEAR_ONE:
        return shift + skew, lambda t: skew * t * math.expm1((alpha - 1.0) * math.log(t))
    return shift, lambda t: skew * t**alpha


def _power_start(alpha: float, skew: float, shift: float, p: float, t: float) -> float:
    """Integrate from 0 to a tiny t, where the integrand is b(t)**2 / 2 times a power."""
    linear = shift * shift * t ** (2.0 - p) / (2.0 - p)
    mixed = 2.0 * shift * skew * t ** (1.0 + alpha - p) / (1.0 + alpha - p)
    bent = skew * skew * t ** (2.0 * alpha - p) / (2.0 * alpha - p)
    return 0.5 * (linear + mixed + bent)


def _over_log(f: Callable[[float], float], lower: float, upper: float) -> float:
    """Integrate f(t) / t, in log t, one unit at a time."""
    from scipy.integrate import quad  # here, because moments are rarely asked for and scipy is slow to import

    a, b = math.log(lower), math.log(upper)
    panels = max(1, math.ceil(b - a))
    edges = [a + (b - a) * k / panels for k in range(panels + 1)]
    return math.fsum(
        quad(lambda x: f(math.exp(x)), edges[k], edges[k + 1], epsabs=0.0, epsrel=1e-12)[0]
        for k in range(panels)
    )


def _oscillating(
    envelope: Callable[[float], float],
    bend: Callable[[float], float],
    linear: float,
    lower: float,
    upper: float,
) -> float:
    """Integrate envelope(t) * cos(linear * t + bend(t)), over intervals that about double.

    Half an interval times the frequency is 1.6 times a power of two, so that no bisection of it meets 2:
    exactly there QUADPACK changes its rule, and its answers are wrong by up to half a percent, without a
    warning.
    """
    from scipy.integrate import quad  # here, as above

    def even(x: float) -> float:
        return envelope(x) * math.cos(bend(x))

    def odd(x: float) -> float:
        return envelope(x) * math.sin(bend(x))

    options = {"epsabs": 1e-13 * lower * envelope(lower), "epsrel": 1e-12, "limit": 1000, "limlst": 1000}
    total, t = 0.0, lower
    while t < upper:
        if linear == 0.0:
            end = 2.0 * t
            total += quad(even, t, end, **options)[0]
        else:
            end = t + 3.2 / abs(linear) * 2.0 ** math.floor(math.log2(abs(linear) * t / 3.2))
            total += quad(even, t, end, weight="cos", wvar=linear, **options)[0]
            total -= quad(odd, t, end, weight="sin", wvar=linear, **options)[0]
        t = end
    return float(total)

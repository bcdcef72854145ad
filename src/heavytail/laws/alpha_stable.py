"""The alpha-stable laws: the limits of sums of heavy-tailed variables.

Parametrised as SciPy's ``levy_stable`` (S1): the characteristic function is

    phi(t) = exp(i loc t - |scale t|**alpha (1 - i beta sign(t) w(t))),

with w = tan(pi alpha / 2), or w = -(2/pi) log|t| when alpha = 1. The paper calls `scale` a shape parameter,
and says that moments of order 1 + epsilon are finite for epsilon < alpha; they are if 1 + epsilon < alpha.

Sampling: Chambers, Mallows and Stuck (1976), as corrected by Weron (1996), from one uniform and one
exponential. With v = pi (u - 1/2), shift = arctan(beta tan(pi alpha / 2)) and theta = alpha v + shift,

    X = sin(theta) / cos(v) * (cos(v - theta) / (e cos(v)))**(1/alpha - 1),

one power where they have two. The cosine of v is computed as the sine of its distance from the edge, which
keeps the far tail exact.

Moments: with Y = X - center, for 0 < p < 2,

    E|Y|**p = (2/pi) Gamma(1+p) sin(pi p/2)  integral over t > 0 of (1 - Re phi_Y(t)) t**(-1-p).

With Re phi = exp(-a) cos(b), a = (scale t)**alpha, the integrand splits into 1 - exp(-a), whose integral is
scale**p Gamma(1-p/alpha)/p, and 2 exp(-a) sin(b/2)**2, which `heavytail.laws._stable_moments` integrates.
(Unsplit, the integrand cancels near 0: the naive integral is wrong by more than a tenth at alpha 1.1 and
p 1.05.)
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from annotated_types import Ge, Gt, Le

from heavytail.arrays import Floats
from heavytail.checks import Positive
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import HALF_PI, exp, log, sin
from heavytail.laws._stable_moments import shift_integral
from heavytail.laws.law import Law
from heavytail.laws.normal import Normal
from heavytail.laws.table import LawTable, sampler
from heavytail.registry import register

MIN_COSINE = 2.0**-60  # below this, a cosine is only rounding error


@dataclass(frozen=True)
class AlphaStable(Law):
    """S(alpha, beta; scale, loc) in the S1 parametrisation."""

    name: ClassVar[str] = "alpha_stable"
    alpha: float
    beta: float
    loc: float
    scale: float

    def mean(self) -> float:
        if self.alpha > 1.0:
            return self.loc
        totally_skewed = abs(self.beta) == 1.0  # then the other tail is light
        return math.copysign(math.inf, self.beta) if totally_skewed else math.nan

    @property
    def tail_index(self) -> float:
        return self.alpha if self.alpha < 2.0 else math.inf

    def row(self) -> tuple[float, ...]:
        if self.alpha == 1.0:
            loc = self.loc + self.beta * self.scale * math.log(self.scale) / HALF_PI
            return (loc, self.scale, 1.0, 0.0, 1.0, self.beta)
        skew = self._skew()
        scale = self.scale * (1.0 + skew * skew) ** (0.5 / self.alpha)
        return (self.loc, scale, self.alpha, math.atan(skew), 1.0 / self.alpha, self.beta)

    def _skew(self) -> float:
        return self.beta * math.tan(HALF_PI * self.alpha) if self.alpha < 2.0 and self.beta else 0.0

    @classmethod
    def from_row(cls, row: Floats, data: Floats) -> Self:
        loc, scale, alpha, angle, _, beta = map(float, row)
        if alpha == 1.0:
            return cls(alpha, beta, loc - beta * scale * math.log(scale) / HALF_PI, scale)
        return cls(alpha, beta, loc, scale * math.cos(angle) ** (1.0 / alpha))

    def _moment(self, p: float, center: float) -> float:
        if self.alpha == 2.0:
            return Normal(self.loc, math.sqrt(2.0) * self.scale).moment(p, center)
        factor = 2.0 / math.pi * math.gamma(1.0 + p) * math.sin(HALF_PI * p)
        spread = math.gamma(1.0 - p / self.alpha) / p
        shift = (self.row()[0] - center) / self.scale
        return self.scale**p * factor * (spread + shift_integral(self.alpha, self.beta, shift, p))


@register("law", "alpha_stable")
def alpha_stable(
    alpha: Annotated[float, Gt(0), Le(2)],
    beta: Annotated[float, Ge(-1), Le(1)] = 0.0,
    loc: float = 0.0,
    scale: Positive = 1.0,
) -> AlphaStable:
    """Alpha-stable with stability `alpha`, skewness `beta`; at alpha = 2 normal with variance 2 scale**2.

    Args:
        alpha: the stability, which is also the tail index below 2; with 1 or less there is no mean.
        beta: the skewness; 0 is symmetric, 1 has its heavy tail above.
        loc: is added to every draw; the mean, if alpha is above 1.
        scale: multiplies the rest.

    >>> alpha_stable(alpha=1.1, loc=2.0).mean()
    2.0
    """
    return AlphaStable(alpha, beta, loc, scale)


@kernel
def cms_factor_and_ratio(alpha: float, shift: float, u: float, e: float) -> tuple[float, float]:
    """Compute the two numbers that make a standard variate: x = factor * ratio**(1/alpha - 1)."""
    angle = math.pi * (u - 0.5)
    theta = alpha * angle + shift
    size = abs(theta)
    sine = math.copysign(sin(math.pi - size if size > HALF_PI else size), theta)
    cosine = sin(math.pi * min(u, 1.0 - u))
    other = max(abs(sin(HALF_PI - abs(angle - theta))), MIN_COSINE)
    return sine / cosine, other / (e * cosine)


@kernel
def standard_variate(alpha: float, shift: float, inverse: float, u: float, e: float) -> float:
    """Make the variate of a pair, before scaling and shifting; not for alpha = 1."""
    factor, ratio = cms_factor_and_ratio(alpha, shift, u, e)
    return factor * exp((inverse - 1.0) * log(ratio))


@kernel
def variate_of_index_one(beta: float, u: float, e: float) -> float:
    """Make the variate of a pair for alpha = 1, before scaling and shifting."""
    cosine = sin(math.pi * min(u, 1.0 - u))
    edge = HALF_PI * (1.0 - abs(beta)) + abs(beta) * math.pi * (u if beta > 0.0 else 1.0 - u)
    return (edge * sin(math.pi * (u - 0.5)) / cosine - beta * log(HALF_PI * e * cosine / edge)) / HALF_PI


@sampler("alpha_stable")
def _draw(table: LawTable, i: int, u: float, e: float) -> float:
    loc, scale, alpha = table.parameters[i, 0], table.parameters[i, 1], table.parameters[i, 2]
    if alpha == 1.0:
        return loc + scale * variate_of_index_one(table.parameters[i, 5], u, e)
    return loc + scale * standard_variate(alpha, table.parameters[i, 3], table.parameters[i, 4], u, e)

"""The normal law: light tails, for comparison."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from heavytail.arrays import Floats
from heavytail.checks import Positive
from heavytail.kernels.rng import to_normal
from heavytail.laws._moments import two_sided_power
from heavytail.laws.law import Law
from heavytail.laws.table import LawTable, sampler
from heavytail.registry import register

LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True)
class Normal(Law):
    """Mean `loc`, standard deviation `scale`."""

    name: ClassVar[str] = "normal"
    loc: float
    scale: float

    def mean(self) -> float:
        return self.loc

    @property
    def tail_index(self) -> float:
        return math.inf

    def row(self) -> tuple[float, ...]:
        return (self.loc, self.scale)

    @classmethod
    def from_row(cls, row: Floats, data: Floats) -> Self:
        return cls(loc=float(row[0]), scale=float(row[1]))

    def _moment(self, p: float, center: float) -> float:
        # Beyond this many standard deviations the integrand is below exp(-700).
        upper = math.log(40.0 + 2.0 * math.sqrt(p))
        return two_sided_power(standard_normal_log_density, p, a=self.loc - center, b=self.scale, upper=upper)


def standard_normal_log_density(t: float) -> float:
    """Compute the logarithm of the standard normal density."""
    return -0.5 * t * t - LOG_SQRT_TWO_PI


@register("law", "normal")
def normal(loc: float = 0.0, scale: Positive = 1.0) -> Normal:
    """Normal with mean `loc` and standard deviation `scale`.

    Args:
        loc: the mean.
        scale: the standard deviation.

    >>> round(normal(scale=2.0).moment(2), 9)
    4.0
    """
    return Normal(loc, scale)


@sampler("normal")
def _draw(table: LawTable, i: int, u: float, e: float) -> float:
    return table.parameters[i, 0] + table.parameters[i, 1] * to_normal(u, e)

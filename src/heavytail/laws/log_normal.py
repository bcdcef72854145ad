"""The log-normal law: all moments are finite, and yet its tail is heavy in practice."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from heavytail.arrays import Floats
from heavytail.checks import Positive
from heavytail.kernels.elementary import exp
from heavytail.kernels.rng import to_normal
from heavytail.laws._moments import expected_power
from heavytail.laws.law import Law
from heavytail.laws.normal import standard_normal_log_density
from heavytail.laws.table import LawTable, sampler
from heavytail.registry import register


@dataclass(frozen=True)
class LogNormal(Law):
    """loc + scale * exp(sigma * Z), Z standard normal; as SciPy's ``lognorm(sigma, loc, scale)``."""

    name: ClassVar[str] = "log_normal"
    sigma: float
    loc: float
    scale: float

    def mean(self) -> float:
        return self.loc + self.scale * exp(0.5 * self.sigma * self.sigma)

    @property
    def tail_index(self) -> float:
        return math.inf

    def row(self) -> tuple[float, ...]:
        return (self.loc, self.scale, self.sigma)

    @classmethod
    def from_row(cls, row: Floats, data: Floats) -> Self:
        return cls(sigma=float(row[2]), loc=float(row[0]), scale=float(row[1]))

    def _moment(self, p: float, center: float) -> float:
        """Integrate over the normal z of which X is the exponential; most of it is near z = p sigma."""
        a, upper = self.loc - center, 40.0 + p * self.sigma
        return expected_power(
            standard_normal_log_density, p, a=a, b=self.scale, k=self.sigma, lower=-40.0, upper=upper
        )


@register("law", "log_normal")
def log_normal(sigma: Positive = 1.0, loc: float = 0.0, scale: Positive = 1.0) -> LogNormal:
    """Log-normal: the law of loc + scale * exp(sigma * Z), Z standard normal.

    Args:
        sigma: the standard deviation of the logarithm; the larger, the heavier; every moment is finite.
        loc: is added to every draw.
        scale: multiplies the rest; its median.

    >>> round(log_normal(sigma=1.0).mean(), 6)
    1.648721
    """
    return LogNormal(sigma, loc, scale)


@sampler("log_normal")
def _draw(table: LawTable, i: int, u: float, e: float) -> float:
    return table.parameters[i, 0] + table.parameters[i, 1] * exp(table.parameters[i, 2] * to_normal(u, e))

"""Pareto's law, one-sided as losses are, or symmetric."""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

from heavytail.arrays import Floats
from heavytail.checks import Positive
from heavytail.kernels.elementary import exp
from heavytail.laws._moments import BEYOND, NEGLIGIBLE, expected_power
from heavytail.laws.law import Law
from heavytail.laws.table import LawTable, sampler
from heavytail.registry import register


@dataclass(frozen=True)
class Pareto(Law):
    """loc + scale * Y, P(Y > y) = y**-alpha for y >= 1, as SciPy's ``pareto(alpha, loc, scale)``.

    If symmetric, Y has a fair random sign.
    """

    name: ClassVar[str] = "pareto"
    alpha: float
    loc: float
    scale: float
    symmetric: bool

    def mean(self) -> float:
        if self.alpha <= 1.0:
            return math.nan if self.symmetric else math.inf
        return self.loc if self.symmetric else self.loc + self.scale * self.alpha / (self.alpha - 1.0)

    @property
    def tail_index(self) -> float:
        return self.alpha

    def row(self) -> tuple[float, ...]:
        return (self.loc, self.scale, 1.0 / self.alpha, float(self.symmetric))

    @classmethod
    def from_row(cls, row: Floats, data: Floats) -> Self:
        return cls(alpha=1.0 / float(row[2]), loc=float(row[0]), scale=float(row[1]), symmetric=bool(row[3]))

    def _moment(self, p: float, center: float) -> float:
        """Integrate over the exponential e of which Y is exp(e / alpha)."""
        a, decay = self.loc - center, 1.0 - p / self.alpha
        kink = self.alpha * math.log(max(abs(a) / self.scale, 1.0))
        upper = kink + min(self.alpha * BEYOND, NEGLIGIBLE / decay)
        side = partial(expected_power, lambda e: -e, p, a=a, b=self.scale, k=1.0 / self.alpha)
        signs = (1, -1) if self.symmetric else (1,)
        return math.fsum(side(sign=s, lower=0.0, upper=upper, decay=decay) for s in signs) / len(signs)


@register("law", "pareto")
def pareto(alpha: Positive, loc: float = 0.0, scale: Positive = 1.0, symmetric: bool = False) -> Pareto:
    """Pareto: the law of loc + scale * Y with P(Y > y) = y**-alpha for y >= 1.

    Args:
        alpha: the tail index; with 1 or less there is no mean, with 2 or less no variance.
        loc: is added to every draw.
        scale: multiplies the rest; the least size of a draw, if loc is 0.
        symmetric: give Y a fair random sign.

    >>> pareto(alpha=1.5).mean()
    3.0
    """
    return Pareto(alpha, loc, scale, symmetric)


@sampler("pareto")
def _draw(table: LawTable, i: int, u: float, e: float) -> float:
    y = exp(e * table.parameters[i, 2])
    if table.parameters[i, 3] > 0.0 and u < 0.5:
        y = -y
    return table.parameters[i, 0] + table.parameters[i, 1] * y

"""Pareto's law, one-sided as losses are, or symmetric."""

import math
from dataclasses import dataclass
from typing import ClassVar

from heavytail.laws.law import Law
from heavytail.laws.table import LawTable, draws
from heavytail.numerics import exp_or_inf
from heavytail.registry import Positive, register


@dataclass(frozen=True)
class Pareto(Law):
    """loc + scale * Y, P(Y > y) = y**-alpha for y >= 1, as SciPy's ``pareto(alpha, loc, scale)``; symmetric: with a fair random sign on Y."""

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

    def exceedance(self, y: float, center: float) -> float:
        if not self.symmetric:
            return self._above(center + y - self.loc) + self._below(center - y - self.loc)
        shift = center - self.loc
        return 0.5 * (self._above(y + shift) + self._below(-y - shift) + self._above(y - shift) + self._below(shift - y))

    def _above(self, x: float) -> float:
        return (x / self.scale) ** -self.alpha if x > self.scale else 1.0

    def _below(self, x: float) -> float:
        return 1.0 - self._above(x)

    def _landmarks(self, center: float) -> tuple[float, ...]:
        shift = center - self.loc
        return (self.scale, abs(shift), abs(shift - self.scale), abs(shift + self.scale))


@register("law", "pareto")
def pareto(alpha: Positive, loc: float = 0.0, scale: Positive = 1.0, symmetric: bool = False) -> Pareto:
    """Loc + scale * Y with P(Y > y) = y**-alpha from 1 on; `symmetric` gives Y a fair random sign.

    >>> pareto(alpha=1.5).mean()
    3.0
    """
    return Pareto(alpha, loc, scale, symmetric)


@draws("pareto")
def _draw(table: LawTable, i: int, u: float, e: float) -> float:
    y = exp_or_inf(e * table.parameters[i, 2])
    if table.parameters[i, 3] > 0.0 and u < 0.5:
        y = -y
    return table.parameters[i, 0] + table.parameters[i, 1] * y

"""The normal law: the light-tailed yardstick."""

import math
from dataclasses import dataclass
from typing import ClassVar

from heavytail.laws.law import Law
from heavytail.laws.table import LawTable, draws
from heavytail.registry import Positive, register
from heavytail.rng import normal_of


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

    def exceedance(self, y: float, center: float) -> float:
        from scipy.special import ndtr

        shift = center - self.loc
        return float(ndtr((shift - y) / self.scale) + ndtr((-shift - y) / self.scale))

    def _landmarks(self, center: float) -> tuple[float, ...]:
        return (self.scale, abs(center - self.loc))


@register("law", "normal")
def normal(loc: float = 0.0, scale: Positive = 1.0) -> Normal:
    """Normal with mean `loc` and standard deviation `scale`.

    >>> round(normal(scale=2.0).moment(2), 9)
    4.0
    """
    return Normal(loc, scale)


@draws("normal")
def _draw(table: LawTable, i: int, u: float, e: float) -> float:
    return table.parameters[i, 0] + table.parameters[i, 1] * normal_of(u, e)

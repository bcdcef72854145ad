"""A scaled Bernoulli law: rarely a large reward, otherwise none. Lower bounds are built from it."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from heavytail.arrays import Floats
from heavytail.checks import Probability
from heavytail.laws.law import Law
from heavytail.laws.table import LawTable, sampler
from heavytail.registry import register


@dataclass(frozen=True)
class Bernoulli(Law):
    """loc + scale with probability `p`, else loc."""

    name: ClassVar[str] = "bernoulli"
    p: float
    loc: float
    scale: float

    def mean(self) -> float:
        return self.loc + self.scale * self.p

    @property
    def tail_index(self) -> float:
        return math.inf

    def row(self) -> tuple[float, ...]:
        return (self.loc, self.scale, self.p)

    @classmethod
    def from_row(cls, row: Floats, data: Floats) -> Self:
        return cls(p=float(row[2]), loc=float(row[0]), scale=float(row[1]))

    def atoms(self) -> tuple[Floats, Floats]:
        return np.array([self.loc, self.loc + self.scale]), np.array([1.0 - self.p, self.p])

    def _moment(self, p: float, center: float) -> float:
        high, low = abs(self.loc + self.scale - center), abs(self.loc - center)
        return float(self.p * high**p + (1.0 - self.p) * low**p)


@register("law", "bernoulli")
def bernoulli(p: Probability, loc: float = 0.0, scale: float = 1.0) -> Bernoulli:
    """Pay loc + scale with probability `p`, else loc.

    Args:
        p: the probability.
        loc: what is paid anyway.
        scale: what is paid beyond it with probability p.

    >>> bernoulli(p=0.25, scale=4.0).mean()
    1.0
    """
    return Bernoulli(p, loc, scale)


@sampler("bernoulli")
def _draw(table: LawTable, i: int, u: float, e: float) -> float:
    return table.parameters[i, 0] + (table.parameters[i, 1] if u < table.parameters[i, 2] else 0.0)

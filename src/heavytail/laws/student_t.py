"""Student's t: a symmetric tail of any index."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from heavytail.arrays import Floats
from heavytail.checks import Positive
from heavytail.kernels.elementary import expm1
from heavytail.kernels.rng import cos_2pi
from heavytail.laws._moments import BEYOND, two_sided_power
from heavytail.laws.law import Law
from heavytail.laws.table import LawTable, sampler
from heavytail.registry import register


@dataclass(frozen=True)
class StudentT(Law):
    """loc + scale * T, T Student with `df` degrees of freedom."""

    name: ClassVar[str] = "student_t"
    df: float
    loc: float
    scale: float

    def mean(self) -> float:
        return self.loc if self.df > 1.0 else math.nan

    @property
    def tail_index(self) -> float:
        return self.df

    def row(self) -> tuple[float, ...]:
        return (self.loc, self.scale, self.df)

    @classmethod
    def from_row(cls, row: Floats, data: Floats) -> Self:
        return cls(df=float(row[2]), loc=float(row[0]), scale=float(row[1]))

    def _moment(self, p: float, center: float) -> float:
        df, a = self.df, self.loc - center
        norm = math.lgamma(0.5 * (df + 1.0)) - math.lgamma(0.5 * df) - 0.5 * math.log(df * math.pi)
        upper = BEYOND + math.log(max(1.0, math.sqrt(df), abs(a) / self.scale))

        def log_density(t: float) -> float:
            return norm - 0.5 * (df + 1.0) * math.log1p(t * t / df)

        return two_sided_power(log_density, p, a=a, b=self.scale, upper=upper, decay=df - p)


@register("law", "student_t")
def student_t(df: Positive, loc: float = 0.0, scale: Positive = 1.0) -> StudentT:
    """Student's t with `df` degrees of freedom, which is also its tail index.

    Args:
        df: degrees of freedom; with 1 or less there is no mean, with 2 or less no variance.
        loc: is added to every draw; the mean, if df is above 1.
        scale: multiplies the rest.

    >>> student_t(df=1.5).moment(1.5)
    inf
    """
    return StudentT(df, loc, scale)


@sampler("student_t")
def _draw(table: LawTable, i: int, u: float, e: float) -> float:
    """Draw by Bailey (1994): sqrt(df * (w**(-2/df) - 1)) * cos(2 pi u), where w = exp(-e) is uniform."""
    df = table.parameters[i, 2]
    return table.parameters[i, 0] + table.parameters[i, 1] * math.sqrt(df * expm1(2.0 * e / df)) * cos_2pi(u)

"""Resampling of given data: rewards as they were logged."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.checks import as_finite_floats
from heavytail.errors import InputError
from heavytail.laws.law import Law
from heavytail.laws.table import COLUMNS, LawTable, sampler
from heavytail.registry import register


@dataclass(frozen=True)
class Empirical(Law):
    """loc + scale * X, X drawn with equal weights from `samples`."""

    name: ClassVar[str] = "empirical"
    samples: tuple[float, ...]
    loc: float
    scale: float

    def __repr__(self) -> str:
        return f"Empirical(<{len(self.samples):,} samples>, loc={self.loc}, scale={self.scale})"

    def mean(self) -> float:
        return self.loc + self.scale * math.fsum(self.samples) / len(self.samples)

    @property
    def tail_index(self) -> float:
        return math.inf

    def row(self) -> tuple[float, ...]:
        return (self.loc, self.scale)

    def data(self) -> Floats:
        return np.array(self.samples)

    @classmethod
    def from_row(cls, row: Floats, data: Floats) -> Self:
        return cls(tuple(data.tolist()), loc=float(row[0]), scale=float(row[1]))

    def _moment(self, p: float, center: float) -> float:
        distances = np.abs(self.loc + self.scale * self.data() - center)
        with np.errstate(over="ignore"):
            return float(np.mean(distances**p))


@register("law", "empirical")
def empirical(samples: npt.ArrayLike, loc: float = 0.0, scale: float = 1.0) -> Empirical:
    """Resample data: loc + scale * X, X drawn with equal weights from `samples`.

    Args:
        samples: the data, a sequence of finite numbers.
        loc: is added to every draw.
        scale: multiplies the rest.

    >>> empirical([1.0, 2.0, 6.0]).mean()
    3.0
    """
    data = as_finite_floats("empirical: samples", samples, "sample")
    if data.ndim != 1 or not data.size:
        raise InputError(
            f"empirical: samples has shape {data.shape}; it must be a list of one or more numbers"
        )
    return Empirical(tuple(data.tolist()), loc, scale)


@sampler("empirical")
def _draw(table: LawTable, i: int, u: float, e: float) -> float:
    start, length = int(table.parameters[i, COLUMNS - 2]), table.parameters[i, COLUMNS - 1]
    return table.parameters[i, 0] + table.parameters[i, 1] * table.samples[start + int(u * length)]

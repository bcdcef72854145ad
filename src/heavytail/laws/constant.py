"""A reward that is always the same."""

from dataclasses import dataclass
from typing import ClassVar, Self

from heavytail.arrays import Floats
from heavytail.laws.law import Law
from heavytail.laws.table import LawTable, law_code, sampler
from heavytail.registry import register

CONSTANT = law_code("constant")


@dataclass(frozen=True)
class Constant(Law):
    """Always `loc`."""

    name: ClassVar[str] = "constant"
    loc: float

    def mean(self) -> float:
        return self.loc

    @property
    def tail_index(self) -> float:
        return float("inf")

    def row(self) -> tuple[float, ...]:
        return (self.loc,)

    @classmethod
    def from_row(cls, row: Floats, data: Floats) -> Self:
        return cls(float(row[0]))

    def _moment(self, p: float, center: float) -> float:
        return float(abs(self.loc - center) ** p)


@register("law", "constant")
def constant(loc: float = 0.0) -> Constant:
    """Pay `loc` always.

    Args:
        loc: what is paid.

    >>> constant(2.0).mean()
    2.0
    """
    return Constant(loc)


@sampler("constant")
def _draw(table: LawTable, i: int, u: float, e: float) -> float:
    return table.parameters[i, 0]

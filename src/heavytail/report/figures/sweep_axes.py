"""The axes of a map: where values lie, where tiles begin and end, and which of them are named."""

import math
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats

FEW = 6  # values of an axis, each of which has a tick
ENOUGH = 3  # ticks of a bar of colours


class Axis(NamedTuple):
    """A parameter and its values, which ascend.

    Places on it are logarithms where all are positive, else numbers of values.
    """

    name: str
    values: Floats

    @property
    def logarithmic(self) -> bool:
        """Whether places are logarithms."""
        return bool((self.values > 0).all())

    def place(self, value: float) -> float:
        """Where a value lies, also one between those of the axis; one beyond them lies at the edge.

        >>> Axis("scale", np.array([0.01, 1.0])).place(0.1), Axis("scale", np.array([0.0, 1.0])).place(0.25), Axis("scale", np.array([0.1, 1.0])).place(1000.0)
        (-1.0, 0.25, 0.5)
        """
        edges = self.edges
        if self.logarithmic:
            at = math.log10(value) if value > 0 else -math.inf
        else:
            at = float(
                np.interp(value, self.values, np.arange(len(self.values)), left=-math.inf, right=math.inf)
            )
        return min(max(at, float(edges[0])), float(edges[-1]))

    @property
    def centers(self) -> Floats:
        """The places of its values."""
        return np.log10(self.values) if self.logarithmic else np.arange(len(self.values), dtype=np.float64)

    @property
    def edges(self) -> Floats:
        """Where the tiles of its values begin and end: halfway."""
        at = self.centers
        if len(at) == 1:
            return at[0] + np.array([-0.5, 0.5])
        middles = (at[1:] + at[:-1]) / 2
        return np.concatenate([[2 * at[0] - middles[0]], middles, [2 * at[-1] - middles[-1]]])

    def nearest(self, value: float) -> int:
        """The number of the value that is nearest."""
        return int(np.argmin(np.abs(self.centers - self.place(value))))

    def ticks(self) -> tuple[list[float], list[str]]:
        """Places and words: every value where they are few, else powers of ten."""
        low, high = self.edges[0], self.edges[-1]
        decades = [float(k) for k in range(math.ceil(low), math.floor(high) + 1)] if self.logarithmic else []
        if len(self.values) <= FEW or len(decades) < 2:
            return self.centers.tolist(), [f"{value:.3g}" for value in self.values]
        every = 1 if len(decades) <= FEW else 2
        return decades[::every], [f"{10**k:g}" for k in decades[::every]]


def shares_between(low: float, high: float) -> list[float]:
    """Round shares for the ticks of a logarithmic colour bar.

    Its ends, where there are not enough between them.

    >>> shares_between(0.004, 0.3), shares_between(0.25, 0.6), shares_between(0.51, 0.56)
    ([0.005, 0.01, 0.02, 0.05, 0.1, 0.2], [0.3, 0.4, 0.5, 0.6], [0.51, 0.56])
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1,), (1, 2, 5), range(1, 10)):
        inside = [share for k in exponents for m in digits if low <= (share := float(f"{m}e{k}")) <= high]
        if len(inside) >= ENOUGH:
            return inside
    return [low, high]


def in_percent(share: float) -> str:
    """A share as ticks show it.

    >>> in_percent(0.005), in_percent(1.0)
    ('0.5 %', '100 %')
    """
    return f"{100 * share:.3g} %"

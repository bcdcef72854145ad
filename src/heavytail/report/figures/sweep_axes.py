"""The axes of a sweep map: where values lie, where tiles begin and end, and which of them are named."""

import math
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.report.figures.figure import TileAxis

MAX_TICKS = 6
MIN_COLOUR_TICKS = 3


class SweepAxis(NamedTuple):
    """A parameter and its values, which ascend.

    Positions on it are logarithms where all values are positive, else their indices.
    """

    name: str
    values: Floats

    @property
    def logarithmic(self) -> bool:
        """True if positions are logarithms."""
        return bool((self.values > 0).all())

    def position(self, value: float) -> float:
        """Compute where a value lies, also one between those of the axis; one beyond them lies at the edge.

        >>> SweepAxis("scale", np.array([0.01, 1.0])).position(0.1)
        -1.0
        >>> SweepAxis("scale", np.array([0.0, 1.0])).position(0.25)
        0.25
        >>> SweepAxis("scale", np.array([0.1, 1.0])).position(1000.0)
        0.5
        """
        edges = self.edges
        if self.logarithmic:
            at = math.log10(value) if value > 0 else -math.inf
        else:
            indices = np.arange(len(self.values))
            at = float(np.interp(value, self.values, indices, left=-math.inf, right=math.inf))
        return min(max(at, float(edges[0])), float(edges[-1]))

    @property
    def centers(self) -> Floats:
        """The positions of its values."""
        return np.log10(self.values) if self.logarithmic else np.arange(len(self.values), dtype=np.float64)

    @property
    def edges(self) -> Floats:
        """The edges of the tiles of its values, halfway between them."""
        at = self.centers
        if len(at) == 1:
            return at[0] + np.array([-0.5, 0.5])
        middles = (at[1:] + at[:-1]) / 2
        return np.concatenate([[2 * at[0] - middles[0]], middles, [2 * at[-1] - middles[-1]]])

    def nearest(self, value: float) -> int:
        """Find the index of the value that is nearest."""
        return int(np.argmin(np.abs(self.centers - self.position(value))))

    def make_side(self) -> TileAxis:
        """Describe it as a side of tiles."""
        return TileAxis(self.name, self.edges, *self.ticks())

    def ticks(self) -> tuple[list[float], list[str]]:
        """Choose ticks and their labels: every value where they are few, else powers of ten."""
        low, high = self.edges[0], self.edges[-1]
        decades = [float(k) for k in range(math.ceil(low), math.floor(high) + 1)] if self.logarithmic else []
        if len(self.values) <= MAX_TICKS or len(decades) < 2:
            return self.centers.tolist(), [f"{value:.3g}" for value in self.values]
        stride = 1 if len(decades) <= MAX_TICKS else 2
        return decades[::stride], [f"{10**k:g}" for k in decades[::stride]]


def choose_share_ticks(low: float, high: float) -> list[float]:
    """Choose round shares for the ticks of a logarithmic colour bar; its ends, where too few lie between.

    >>> choose_share_ticks(0.004, 0.3)
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
    >>> choose_share_ticks(0.25, 0.6), choose_share_ticks(0.51, 0.56)
    ([0.3, 0.4, 0.5, 0.6], [0.51, 0.56])
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1,), (1, 2, 5), range(1, 10)):
        inside = [share for k in exponents for m in digits if low <= (share := float(f"{m}e{k}")) <= high]
        if len(inside) >= MIN_COLOUR_TICKS:
            return inside
    return [low, high]


def format_share_tick(share: float) -> str:
    """Format a share for a tick.

    >>> format_share_tick(0.005), format_share_tick(1.0)
    ('0.5 %', '100 %')
    """
    return f"{100 * share:.3g} %"

"""How an agent does at every point of a map.

Where it works, how far that reaches, and where named points lie.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.report.figures.sweep_axes import Axis
from heavytail.report.number_format import number

WORKS = 0.95  # of what the best policy earns, in the last tenth of the run
SYMBOLS = ("circle", "star", "diamond", "square", "triangle-up", "cross", "x")
MIN_LOST = 1e-6  # a share that stands for none
MAX_COLUMNS = 4  # panels

Bools: TypeAlias = npt.NDArray[np.bool_]


class Mark(NamedTuple):
    """An agent of the study that is a point of the map, or lies between some."""

    label: str
    at: dict[str, float]  # values on the axes
    earns: float  # median in the last tenth, as a share of the optimum
    regret: float  # median at the end, as a share of what the best policy earns

    def words(self) -> list[str]:
        """Where it is, axis by axis."""
        return [f"{name} {number(value, 3)}" for name, value in self.at.items()]


class SweepMap(NamedTuple):
    """A map in one environment. Arrays are [x, y, panel]; NaN where every run failed."""

    name: str
    title: str
    axes: tuple[Axis, Axis, Axis]  # the last has one value and no name, where there are two
    best: float  # what the best policy earns in a run
    regret: Floats  # median final regret
    low: Floats  # its quartiles over seeds
    high: Floats
    last_tenth: Floats  # median, as a share of the best policy's
    runs: int  # of each point
    marks: list[Mark]

    @property
    def works(self) -> Bools:
        """Where the median run has learnt."""
        return np.nan_to_num(self.last_tenth, nan=-np.inf) >= WORKS

    @property
    def lost(self) -> Floats:
        """Median final regret as a share of what the best policy earns.

        Not below the smallest that is positive, so that it has a logarithm.
        """
        share = self.regret / self.best
        positive = share[share > 0]
        return np.maximum(share, positive.min() if positive.size else MIN_LOST)

    @property
    def span(self) -> tuple[float, float]:
        """From the least that is lost to the most."""
        there = self.lost[np.isfinite(self.lost)]
        low, high = (float(there.min()), float(there.max())) if there.size else (MIN_LOST, 1.0)
        return low, max(high, 2 * low)

    @property
    def peak(self) -> tuple[int, int, int]:
        """The point with the smallest regret, of those that work if any do."""
        works = self.works
        eligible = (
            np.where(works, self.regret, np.inf) if works.any() else np.nan_to_num(self.regret, nan=np.inf)
        )
        x, y, panel = np.unravel_index(np.argmin(eligible), self.regret.shape)
        return int(x), int(y), int(panel)

    def reach(self, axis: int) -> tuple[float, float] | None:
        """From which to which value of an axis it works without a gap, the others being as at the peak; None if not even there."""
        return reach(
            np.moveaxis(self.works, axis, -1)[tuple(i for k, i in enumerate(self.peak) if k != axis)],
            self.axes[axis].values,
            self.peak[axis],
        )

    def ranges(self) -> list[str]:
        """Over which values of each axis it works, around the peak."""
        return [
            f"{axis.name} {range_in_words(self.reach(i), axis.values)}"
            for i, axis in enumerate(self.axes)
            if axis.name
        ]

    def panels(self) -> Iterator[tuple[int, str]]:
        """Every panel with its title."""
        panel = self.axes[2]
        for i, value in enumerate(panel.values):
            yield i, f"{panel.name} = {value:.3g}" if panel.name else ""

    def marked(self, panel: int) -> list[tuple[int, Mark]]:
        """The marks that belong to a panel, each with its number."""
        name = self.axes[2].name
        return [
            (i, mark)
            for i, mark in enumerate(self.marks)
            if not name or self.axes[2].nearest(mark.at[name]) == panel
        ]


def reach(works: Bools, values: Floats, start: int) -> tuple[float, float] | None:
    """The values of the ends of the run of what works around a start.

    >>> reach(np.array([True, False, True, True, False]), np.arange(5.0), 2)
    (2.0, 3.0)
    """
    if not works[start]:
        return None
    below = next(i for i in range(start, -1, -1) if i == 0 or not works[i - 1])
    above = next(i for i in range(start, len(works)) if i == len(works) - 1 or not works[i + 1])
    return float(values[below]), float(values[above])


Segment: TypeAlias = tuple[tuple[float, float], tuple[float, float]]


def outline(works: Bools, x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> list[Segment]:
    """The edges between tiles [x, y] that work and those that do not, given where tiles begin and end.

    >>> outline(np.array([[True], [False]]), [0, 1, 2], [0, 1])
    [((1.0, 0.0), (1.0, 1.0))]
    """
    found: list[Segment] = []
    for i, j in itertools.product(range(works.shape[0]), range(works.shape[1])):
        if i + 1 < works.shape[0] and works[i, j] != works[i + 1, j]:
            found.append(((float(x[i + 1]), float(y[j])), (float(x[i + 1]), float(y[j + 1]))))
        if j + 1 < works.shape[1] and works[i, j] != works[i, j + 1]:
            found.append(((float(x[i]), float(y[j + 1])), (float(x[i + 1]), float(y[j + 1]))))
    return found


def columns(panels: int) -> int:
    """How many panels stand side by side, so that the last row is not much shorter than the others.

    >>> [columns(n) for n in (1, 4, 5, 8, 9)]
    [1, 4, 3, 4, 3]
    """
    return -(-panels // -(-panels // MAX_COLUMNS))


def range_in_words(ends: tuple[float, float] | None, values: Floats) -> str:
    """From where to where; an end of the axis may not be the end of what works.

    >>> axis = np.array([0.1, 1.0, 10.0])
    >>> [range_in_words(ends, axis) for ends in ((0.1, 1.0), (0.1, 10.0), (1.0, 1.0), (0.1, 0.1), None)]
    ['at most 0.1 to 1', 'at most 0.1 to at least 10', '1 only', 'at most 0.1', 'nowhere']
    """
    if ends is None:
        return "nowhere"
    low = f"{'at most ' if ends[0] == values[0] else ''}{number(ends[0], 3)}"
    high = f"{'at least ' if ends[1] == values[-1] else ''}{number(ends[1], 3)}"
    if ends[0] < ends[1]:
        return f"{low} to {high}"
    return low if ends[0] == values[0] else high if ends[0] == values[-1] else f"{low} only"

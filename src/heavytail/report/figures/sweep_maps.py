"""Sweep maps: how an agent does at every point of a fine grid.

Where it works, how far that reaches, and where agents of the study lie on it.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.report.figures.figure import ColourScale, Figure, Panel, Segment, TileMark, Tiles
from heavytail.report.figures.sweep_axes import SweepAxis, choose_share_ticks, format_share_tick
from heavytail.report.number_format import number, percent

WORKS = 0.95  # of what the best policy earns, in the last tenth of the run
SYMBOLS = ("circle", "star", "diamond", "square", "triangle-up", "cross", "x")
MIN_LOST = 1e-6  # a share that stands for none

CAPTION = (
    "Median final regret over {runs} seeds as a share of what the best policy earns; bright is good, on one"
    " logarithmic scale. Inside the red line the median run earns at least {works:.0%} of the optimum in its"
    " last tenth. Marks are agents of this study; one whose value is not on an axis lies between its"
    " neighbours, in the nearest panel."
)
TILE_TEMPLATE = (  # after the values on both axes
    "median final regret {2}, {3} of the best policy's reward\n"
    "middle half of the seeds {4} to {5}\n"
    "last tenth {6} of the optimum"
)

BoolArray: TypeAlias = npt.NDArray[np.bool_]


class Mark(NamedTuple):
    """An agent of the study that is a point of the map, or lies between some."""

    label: str
    at: dict[str, float]  # values on the axes
    earns: float  # median in the last tenth, as a share of the optimum
    regret: float  # median at the end, as a share of what the best policy earns

    def describe(self) -> list[str]:
        """Say where it is, axis by axis."""
        return [f"{name} {number(value, 3)}" for name, value in self.at.items()]


class SweepMap(NamedTuple):
    """A sweep in one environment. Arrays are [x, y, panel]; NaN where every run failed."""

    name: str
    title: str
    axes: tuple[SweepAxis, SweepAxis, SweepAxis]  # the last has one value and no name, where there are two
    best: float  # what the best policy earns in a run
    regret: Floats  # median final regret
    low: Floats  # its quartiles over seeds
    high: Floats
    last_tenth: Floats  # median, as a share of the best policy's
    runs: int  # of each point
    marks: list[Mark]

    @property
    def works(self) -> BoolArray:
        """True at points where the median run has learnt."""
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
        finite = self.lost[np.isfinite(self.lost)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (MIN_LOST, 1.0)
        return low, max(high, 2 * low)

    @property
    def peak(self) -> tuple[int, int, int]:
        """The point with the smallest regret, of those that work if any do."""
        eligible = self.works if self.works.any() else np.isfinite(self.regret)
        x, y, panel = np.unravel_index(np.argmin(np.where(eligible, self.regret, np.inf)), self.regret.shape)
        return int(x), int(y), int(panel)

    def find_reach(self, axis: int) -> tuple[float, float] | None:
        """Find from which to which value of an axis it works without a gap; None if not even at the peak.

        The other axes are as at the peak.
        """
        others = tuple(i for k, i in enumerate(self.peak) if k != axis)
        works = np.moveaxis(self.works, axis, -1)[others]
        return find_reach(works, self.axes[axis].values, self.peak[axis])

    def describe_ranges(self) -> list[str]:
        """Say over which values of each axis it works, around the peak."""
        return [
            f"{axis.name} {describe_range(self.find_reach(i), axis.values)}"
            for i, axis in enumerate(self.axes)
            if axis.name
        ]

    def marks_in(self, panel: int) -> list[tuple[int, Mark]]:
        """List the marks that belong to a panel, each with its number."""
        axis = self.axes[2]
        return [
            (i, mark)
            for i, mark in enumerate(self.marks)
            if not axis.name or axis.nearest(mark.at[axis.name]) == panel
        ]

    def make_figure(self) -> Figure:
        """Describe the map: a panel for each value of the third axis, what works outlined, agents marked."""
        low, high = self.span
        ticks = choose_share_ticks(low, high)
        tick_labels = [format_share_tick(share) for share in ticks]
        label = "median final regret,\nof what the best policy earns"
        x, y, panels = self.axes
        content = Tiles(
            x.make_side(),
            y.make_side(),
            [self._make_panel(i) for i in range(len(panels.values))],
            ColourScale(low, high, label, ticks, tick_labels),
            template=f"{x.name} {{0}}\n{y.name} {{1}}\n{TILE_TEMPLATE}",
            outline_label=f"at least {100 * WORKS:.0f} % of the optimum in the last tenth",
        )
        caption = CAPTION.format(runs=self.runs, works=WORKS)
        return Figure(self.title, caption, content, wide=True, name=self.name)

    def _make_panel(self, panel: int) -> Panel:
        x, y, axis = self.axes
        title = f"{axis.name} = {axis.values[panel]:.3g}" if axis.name else ""
        details = [
            [self._describe_tile(i, j, panel) for i in range(len(x.values))] for j in range(len(y.values))
        ]
        outline = outline_works(self.works[:, :, panel], x.edges, y.edges)
        marks = [self._make_mark(i, mark) for i, mark in self.marks_in(panel)]
        return Panel(title, self.lost[:, :, panel].T, details=details, outline=outline, marks=marks)

    def _describe_tile(self, i: int, j: int, panel: int) -> list[str]:
        """The numbers of a tile, for `TILE_TEMPLATE`."""
        at = i, j, panel
        regret, low, high, share = (
            float(values[at]) for values in (self.regret, self.low, self.high, self.last_tenth)
        )
        position = [f"{self.axes[0].values[i]:.4g}", f"{self.axes[1].values[j]:.4g}"]
        numbers = [number(regret), percent(regret / self.best), number(low), number(high), percent(share)]
        return position + numbers

    def _make_mark(self, i: int, mark: Mark) -> TileMark:
        x, y, _ = self.axes
        where = ", ".join(mark.describe())
        result = f"final regret {percent(mark.regret)}, last tenth {percent(mark.earns)} of the optimum"
        return TileMark(
            rank=i,
            label=f"{mark.label} ({where})",
            symbol=SYMBOLS[i % len(SYMBOLS)],
            x=x.position(mark.at[x.name]),
            y=y.position(mark.at[y.name]),
            notes=[mark.label, where, result],
        )


def find_reach(works: BoolArray, values: Floats, start: int) -> tuple[float, float] | None:
    """Find the values between which everything around a start works.

    >>> find_reach(np.array([True, False, True, True, False]), np.arange(5.0), 2)
    (2.0, 3.0)
    """
    if not works[start]:
        return None
    below = next(i for i in range(start, -1, -1) if i == 0 or not works[i - 1])
    above = next(i for i in range(start, len(works)) if i == len(works) - 1 or not works[i + 1])
    return float(values[below]), float(values[above])


def outline_works(
    works: BoolArray, x: Sequence[float] | Floats, y: Sequence[float] | Floats
) -> list[Segment]:
    """List the edges between tiles [x, y] that work and those that do not, given the edges of tiles.

    >>> outline_works(np.array([[True], [False]]), [0, 1, 2], [0, 1])
    [((1.0, 0.0), (1.0, 1.0))]
    """
    segments: list[Segment] = []
    for i, j in itertools.product(range(works.shape[0]), range(works.shape[1])):
        if i + 1 < works.shape[0] and works[i, j] != works[i + 1, j]:
            segments.append(((float(x[i + 1]), float(y[j])), (float(x[i + 1]), float(y[j + 1]))))
        if j + 1 < works.shape[1] and works[i, j] != works[i, j + 1]:
            segments.append(((float(x[i]), float(y[j + 1])), (float(x[i + 1]), float(y[j + 1]))))
    return segments


def describe_range(ends: tuple[float, float] | None, values: Floats) -> str:
    """Say from where to where; an end of the axis may not be the end of what works.

    >>> axis = np.array([0.1, 1.0, 10.0])
    >>> [describe_range(ends, axis) for ends in ((0.1, 1.0), (0.1, 10.0), (1.0, 1.0), (0.1, 0.1), None)]
    ['at most 0.1 to 1', 'at most 0.1 to at least 10', '1 only', 'at most 0.1', 'nowhere']
    """
    if ends is None:
        return "nowhere"
    low = f"{'at most ' if ends[0] == values[0] else ''}{number(ends[0], 3)}"
    high = f"{'at least ' if ends[1] == values[-1] else ''}{number(ends[1], 3)}"
    if ends[0] < ends[1]:
        return f"{low} to {high}"
    return low if ends[0] == values[0] else high if ends[0] == values[-1] else f"{low} only"

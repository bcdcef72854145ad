"""Sweep maps: how an agent does at every point of a fine grid.

They show where it works, how far that region reaches, and where agents of the study lie on the map.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heavytail.arrays import Bools, Floats
from heavytail.report.figures.figure import Axis, ColourScale, Figure, Panel, Segment, TileMark, Tiles
from heavytail.report.number_format import number
from heavytail.studies.plan import Cell, Sweep
from heavytail.studies.results import Agent, Task, final_reward
from heavytail.studies.specs.spec import Spec
from heavytail.studies.sweeps import Summary

WORKS = 0.95  # of what the best policy earns, in the last tenth of the run
SYMBOLS = ("circle", "star", "diamond", "square", "triangle-up", "cross", "x")
MIN_LOST = 1e-6  # a share that stands for none
MAX_TICKS = 6

CAPTION = (
    "Median final regret over {runs} seeds as a share of what the best policy earns; bright is good, on one"
    " logarithmic scale. Inside the red line the median run earns at least {works:.0%} of the optimum in its"
    " last tenth. Marks are agents of this study; one whose value is not on an axis lies between its"
    " neighbours, in the nearest panel."
)


class SweepAxis(NamedTuple):
    """A parameter and its ascending values.

    It is logarithmic if all values are positive; otherwise positions on it are the indices of values.
    """

    name: str
    values: Floats

    @property
    def logarithmic(self) -> bool:
        """True if positions are the values themselves, on a logarithmic axis."""
        return bool((self.values > 0).all())

    def position(self, value: float) -> float:
        """Compute the position of a value, which may lie between those of the axis; at most at its edge.

        >>> SweepAxis("scale", np.array([0.01, 1.0])).position(0.1)
        0.1
        >>> SweepAxis("scale", np.array([0.0, 1.0])).position(0.25)
        0.25
        >>> round(SweepAxis("scale", np.array([0.1, 1.0])).position(1000.0), 2)
        3.16
        """
        at, edges = value, self.edges
        if not self.logarithmic:
            indices = np.arange(len(self.values))
            at = float(np.interp(value, self.values, indices, left=-math.inf, right=math.inf))
        return min(max(at, float(edges[0])), float(edges[-1]))

    @property
    def edges(self) -> Floats:
        """The edges of the tiles of its values, halfway between them."""
        at = np.log10(self.values) if self.logarithmic else np.arange(len(self.values), dtype=np.float64)
        middles = (at[1:] + at[:-1]) / 2
        first, last = (middles[0], middles[-1]) if len(at) > 1 else (at[0] + 0.5, at[0] - 0.5)
        edges = np.concatenate([[2 * at[0] - first], middles, [2 * at[-1] - last]])
        return np.asarray(10.0**edges if self.logarithmic else edges)

    def nearest(self, value: float) -> int:
        """Find the index of the tile in which a value lies."""
        return int(np.searchsorted(self.edges[1:-1], self.position(value)))

    def make_axis(self) -> Axis:
        """Make the side of tiles: with every value if they are few, else with powers of ten."""
        if self.logarithmic and len(self.values) > MAX_TICKS and self.values[-1] >= 100 * self.values[0]:
            return Axis(self.name, log=True)
        places = self.values if self.logarithmic else range(len(self.values))
        ticks = [(float(at), f"{value:.3g}") for at, value in zip(places, self.values, strict=True)]
        return Axis(self.name, log=self.logarithmic, ticks=ticks)


class Mark(NamedTuple):
    """An agent of the study at a point of the map, or between points."""

    label: str
    at: dict[str, float]  # values on the axes
    earns: float  # median in the last tenth, as a share of the optimum

    def describe(self) -> list[str]:
        """Describe its position, axis by axis."""
        return [f"{name} {number(value, 3)}" for name, value in self.at.items()]


class SweepMap(NamedTuple):
    """A sweep in one environment. Arrays are [x, y, panel]; NaN where every run failed."""

    name: str
    title: str
    axes: tuple[SweepAxis, SweepAxis, SweepAxis]  # if there are two, the last has one value and no name
    best: float  # what the best policy earns in a run
    regret: Floats  # median final regret
    last_tenth: Floats  # median, as a share of the best policy's
    runs: int  # of each point
    marks: list[Mark]

    @property
    def works(self) -> Bools:
        """True at points where the agent works: its median run has learnt."""
        return np.nan_to_num(self.last_tenth, nan=-np.inf) >= WORKS

    @property
    def lost(self) -> Floats:
        """Median final regret as a share of what the best policy earns.

        It is at least the smallest positive one, so that it has a logarithm.
        """
        share = self.regret / self.best
        positive = share[share > 0]
        return np.maximum(share, positive.min() if positive.size else MIN_LOST)

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest share lost."""
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
        """Find the range of an axis where it works without a gap; None if not even at the peak.

        The other axes stay as at the peak.
        """
        others = tuple(i for k, i in enumerate(self.peak) if k != axis)
        works = np.moveaxis(self.works, axis, -1)[others]
        return find_reach(works, self.axes[axis].values, self.peak[axis])

    def describe_ranges(self) -> list[str]:
        """Describe the values of each axis for which it works, around the peak."""
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
        """Make the figure: a panel per value of the third axis, working points outlined, agents marked."""
        low, high = self.span
        label = "median final regret,\nof what the best policy earns"
        x, y, panels = self.axes
        content = Tiles(
            x.make_axis(),
            y.make_axis(),
            (x.edges, y.edges),
            [self._make_panel(i) for i in range(len(panels.values))],
            ColourScale(low, high, label),
            outline_label=f"at least {100 * WORKS:.0f} % of the optimum in the last tenth",
        )
        caption = CAPTION.format(runs=self.runs, works=WORKS)
        return Figure(self.title, caption, content, name=self.name)

    def _make_panel(self, panel: int) -> Panel:
        x, y, axis = self.axes
        title = f"{axis.name} = {axis.values[panel]:.3g}" if axis.name else ""
        outline = outline_works(self.works[:, :, panel], x.edges, y.edges)
        marks = [self._make_mark(i, mark) for i, mark in self.marks_in(panel)]
        return Panel(title, self.lost[:, :, panel].T, outline=outline, marks=marks)

    def _make_mark(self, i: int, mark: Mark) -> TileMark:
        x, y, _ = self.axes
        return TileMark(
            rank=i,
            label=f"{mark.label} ({', '.join(mark.describe())})",
            symbol=SYMBOLS[i % len(SYMBOLS)],
            x=x.position(mark.at[x.name]),
            y=y.position(mark.at[y.name]),
        )


def find_reach(works: Bools, values: Floats, start: int) -> tuple[float, float] | None:
    """Find the values between which everything around a start works.

    >>> find_reach(np.array([True, False, True, True, False]), np.arange(5.0), 2)
    (2.0, 3.0)
    """
    if not works[start]:
        return None
    below = next(i for i in range(start, -1, -1) if i == 0 or not works[i - 1])
    above = next(i for i in range(start, len(works)) if i == len(works) - 1 or not works[i + 1])
    return float(values[below]), float(values[above])


def outline_works(works: Bools, x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> list[Segment]:
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
    """Describe a range; where it ends with the axis, it may extend further.

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


# From the results of a study


def make_sweep_maps(
    spec: Spec,
    summary: Summary,
    sweeps: Sequence[Sweep],
    cells: Sequence[Cell],
    tasks: Mapping[str, Task],
) -> list[SweepMap]:
    """Make the map of every sweep in every environment.

    Args:
        spec: the study's spec.
        summary: the summary of its sweeps.
        sweeps: the sweeps, as planned.
        cells: the cells of the evaluation, for the marked agents.
        tasks: the runs of these agents, by environment.
    """
    return [
        _make_map(spec, summary.table, sweep, _find_marks(spec, sweep, cells, tasks[sweep.env]))
        for sweep in sweeps
    ]


def _make_map(spec: Spec, table: pa.Table, sweep: Sweep, marks: list[Mark]) -> SweepMap:
    rows = table.filter(pc.and_(pc.equal(table["map"], sweep.agent), pc.equal(table["env"], sweep.env)))
    names = list(spec.maps[sweep.agent].axes)
    axes = [SweepAxis(name, np.array(sweep.axes[name])) for name in names]
    axes += [SweepAxis("", np.ones(1))] * (3 - len(names))
    order = [list(sweep.axes).index(name) for name in names]

    def values(column: str) -> Floats:
        points = rows[column].to_numpy().reshape([len(values) for values in sweep.axes.values()])
        return np.asarray(points.transpose(order).reshape([len(axis.values) for axis in axes]), np.float64)

    return SweepMap(
        name=f"{sweep.agent}-{sweep.env}",
        title=f"{spec.maps[sweep.agent].label}, {spec.envs[sweep.env].label}",
        axes=(axes[0], axes[1], axes[2]),
        best=float(rows["best"][0].as_py()),
        regret=values("regret_median"),
        last_tenth=values("last_tenth"),
        runs=sweep.seeds,
        marks=marks,
    )


def _find_marks(spec: Spec, sweep: Sweep, cells: Sequence[Cell], task: Task) -> list[Mark]:
    """Find the agents that differ from the sweep's only in its axes."""
    agents, shared = {agent.key: agent for agent in task.agents}, sweep.parts[0].parameters
    marks = []
    for cell in cells:
        same_env = cell.env == sweep.env and cell.agent in agents
        if not same_env or spec.agents[cell.agent].agent != spec.maps[sweep.agent].agent:
            continue
        parameters = cell.parameters()
        others = {name: value for name, value in parameters.items() if name not in sweep.axes}
        place = {name: parameters[name] for name in spec.maps[sweep.agent].axes}
        if others == shared and None not in place.values():  # a parameter left out has no place on its axis
            at = {name: float(value) for name, value in place.items()}
            marks.append(_mark_agent(agents[cell.agent], at, task.optimum or math.nan))
    return marks


def _mark_agent(agent: Agent, at: dict[str, float], optimum: float) -> Mark:
    return Mark(agent.label, at, float(np.median(final_reward(agent.runs))) / optimum)

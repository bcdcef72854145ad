"""Heat maps: a number at every point of a grid, or of every agent in every environment.

Tiles are bright where the number is good. The two parameters of a grid with the most values are the sides of
a map; of the others every combination has a map of its own. Colours of regrets are logarithmic, since the
worst point of a grid may be a thousand times worse than the best, and cividis, which looks alike to all kinds
of colour vision.
"""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.report.figures.figure import Figure, Panel, Segment, TileAxis, Tiles
from heavytail.report.number_format import number, percent, short_number


class GridPoint(NamedTuple):
    """A point of a grid and its value; None if every run of it failed."""

    point: Mapping[str, Any]
    value: float | None


class HeatMap(NamedTuple):
    """A map: two parameters along its sides, the others fixed."""

    fixed: dict[str, Any]
    row_name: str  # empty if there is one parameter only
    column_name: str
    rows: list[Any]
    columns: list[Any]
    values: Floats  # [row, column], NaN where there is none
    chosen: tuple[int, int] | None

    @property
    def title(self) -> str:
        """The parameters that are fixed."""
        return ", ".join(f"{name} = {format_level(value)}" for name, value in self.fixed.items())


class Measure(NamedTuple):
    """The quantity in the tiles of heat maps."""

    words: str
    short: str  # names the row of a map with one parameter only
    large_is_good: bool  # else a regret
    share: bool = False  # in percent
    by_column: bool = False  # each column is compared within itself
    missing: str = "failed"  # stands where there is none

    def format(self, value: float, *, short: bool = False) -> str:
        """Format a value for its tile; `short` abbreviates thousands and more."""
        if not math.isfinite(value):
            return self.missing
        if self.share:
            return percent(value)
        return short_number(value) if short else number(value, 3)


def make_heat_maps(
    grid: Mapping[str, Sequence[Any]], scored: Sequence[GridPoint], chosen: Mapping[str, Any]
) -> list[HeatMap]:
    """Make all maps of a grid.

    >>> grid = {"a": [1, 2], "b": [3, 4, 5], "c": [6, 7]}
    >>> points = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    >>> [m.fixed for m in make_heat_maps(grid, [GridPoint(point, 1.0) for point in points], points[0])]
    [{'c': 6}, {'c': 7}]
    """
    values = {_point_key(score.point): score.value for score in scored}
    sides = sorted(sorted(grid, key=lambda name: -len(grid[name]))[:2], key=lambda name: len(grid[name]))
    others = [name for name in grid if name not in sides]
    combinations = itertools.product(*(grid[name] for name in others))
    return [
        _make_map(dict(zip(others, fixed, strict=True)), sides, grid, values, chosen)
        for fixed in combinations
    ]


def _make_map(
    fixed: dict[str, Any],
    sides: Sequence[str],
    grid: Mapping[str, Sequence[Any]],
    values: Mapping[str, float | None],
    chosen: Mapping[str, Any],
) -> HeatMap:
    row_name, column_name = (sides[0], sides[1]) if len(sides) == 2 else ("", sides[0])
    rows, columns = list(grid.get(row_name, [None])), list(grid[column_name])
    keys = [
        [_point_key({**fixed, **({row_name: row} if row_name else {}), column_name: c}) for c in columns]
        for row in rows
    ]
    numbers = np.array([[_or_nan(values.get(key)) for key in line] for line in keys])
    at = [index for index in np.ndindex(numbers.shape) if keys[index[0]][index[1]] == _point_key(chosen)]
    return HeatMap(fixed, row_name, column_name, rows, columns, numbers, (at[0][0], at[0][1]) if at else None)


def compute_shades(maps: Sequence[HeatMap], measure: Measure) -> list[Floats]:
    """Compute how good every tile is, from 0, the worst of all maps, to 1, the best.

    Of regrets logarithmic where all are positive.

    >>> maps = [HeatMap({}, "", "scale", [None], [1, 2, 3], np.array([[10.0, 100.0, 1000.0]]), None)]
    >>> compute_shades(maps, Measure("final regret", "regret", large_is_good=False))[0]
    array([[1. , 0.5, 0. ]])
    >>> compute_shades(maps, Measure("reward", "reward", large_is_good=True))[0].round(2)
    array([[0.  , 0.09, 1.  ]])
    """
    values = np.concatenate([m.values for m in maps])  # all maps of a grid have the same columns
    finite, axis = np.isfinite(values), 0 if measure.by_column else None
    goodness = values if measure.large_is_good else -np.log(values) if (values[finite] > 0).all() else -values
    low = goodness.min(axis=axis, keepdims=True, where=finite, initial=np.inf)
    width = goodness.max(axis=axis, keepdims=True, where=finite, initial=-np.inf) - low
    shades = np.divide(goodness - low, width, out=np.ones_like(values), where=finite & (width > 0))
    return np.split(shades, np.cumsum([len(m.rows) for m in maps])[:-1])


def make_heat_map_figure(maps: Sequence[HeatMap], measure: Measure, title: str) -> Figure:
    """Describe maps side by side, under a title of one or more lines; the page has them as tables."""
    panels = [
        Panel(
            m.title,
            np.where(np.isfinite(m.values), shades, np.nan),
            [[measure.format(float(value), short=True) for value in row] for row in m.values],
            outline=_outline_tile(*m.chosen) if m.chosen else [],
        )
        for m, shades in zip(maps, compute_shades(maps, measure), strict=True)
    ]
    x = _make_side(maps[0].column_name, [format_level(level) for level in maps[0].columns])
    rows = [format_level(level) if maps[0].row_name else "" for level in maps[0].rows]
    return Figure(title, "", Tiles(x, _make_side(maps[0].row_name, rows), panels))


def _make_side(label: str, levels: list[str]) -> TileAxis:
    n = len(levels)
    return TileAxis(label, np.arange(n + 1, dtype=np.float64) - 0.5, [float(i) for i in range(n)], levels)


def _outline_tile(row: int, column: int) -> list[Segment]:
    left, right, top, bottom = column - 0.46, column + 0.46, row - 0.44, row + 0.44
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    return list(itertools.pairwise(corners))


def format_level(value: Any) -> str:
    """Format a value of a parameter.

    >>> format_level(0.010), format_level("true")
    ('0.01', 'true')
    """
    return f"{value:g}" if isinstance(value, float) else str(value)


def _point_key(point: Mapping[str, Any]) -> str:
    return json.dumps(point, sort_keys=True)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value

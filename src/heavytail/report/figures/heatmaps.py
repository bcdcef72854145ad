"""Heat maps: a number at every point of a grid, or for every agent in every environment, bright where it is good.

The two parameters of a grid with the most values are the sides of a map; of the others every combination has
a map of its own. Colours of regrets are logarithmic, since the worst point of a grid may be a thousand times
worse than the best, and cividis, which looks alike to all kinds of colour vision.
"""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.report.number_format import number, percent


class Scored(NamedTuple):
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


class Measure(NamedTuple):
    """What is in the tiles of maps."""

    words: str
    short: str  # names the row of a map with one parameter only
    large_is_good: bool  # else a regret
    share: bool = False  # in percent
    by_column: bool = False  # each column is compared within itself
    missing: str = "failed"  # stands where there is none

    def shown(self, value: float) -> str:
        """A value in its tile."""
        if not math.isfinite(value):
            return self.missing
        return percent(value) if self.share else number(value, 3)


def maps_of(
    grid: Mapping[str, Sequence[Any]], scored: Sequence[Scored], chosen: Mapping[str, Any]
) -> list[HeatMap]:
    """All maps of a grid.

    >>> grid = {"a": [1, 2], "b": [3, 4, 5], "c": [6, 7]}
    >>> points = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    >>> [m.fixed for m in maps_of(grid, [Scored(point, 1.0) for point in points], points[0])]
    [{'c': 6}, {'c': 7}]
    """
    found = {_name(each.point): each.value for each in scored}
    sides = sorted(sorted(grid, key=lambda name: -len(grid[name]))[:2], key=lambda name: len(grid[name]))
    row_name, column_name = (sides[0], sides[1]) if len(sides) == 2 else ("", sides[0])
    rows, columns = list(grid.get(row_name, [None])), list(grid[column_name])
    others = [name for name in grid if name not in sides]
    maps = []
    for fixing in itertools.product(*(grid[name] for name in others)):
        fixed = dict(zip(others, fixing, strict=True))
        points = [
            [{**fixed, **({row_name: r} if row_name else {}), column_name: c} for c in columns] for r in rows
        ]
        values = np.array([[_or_nan(found.get(_name(point))) for point in line] for line in points])
        places = [
            (i, j)
            for i, line in enumerate(points)
            for j, point in enumerate(line)
            if _name(point) == _name(chosen)
        ]
        maps.append(
            HeatMap(fixed, row_name, column_name, rows, columns, values, places[0] if places else None)
        )
    return maps


def shades(maps: Sequence[HeatMap], measure: Measure) -> list[Floats]:
    """How good every tile is, from 0, the worst of all maps, to 1, the best.

    Of regrets logarithmic where all are positive.

    >>> maps = [HeatMap({}, "", "scale", [None], [1, 2, 3], np.array([[10.0, 100.0, 1000.0]]), None)]
    >>> shades(maps, Measure("final regret", "regret", large_is_good=False))[0], shades(maps, Measure("reward", "reward", large_is_good=True))[0].round(2)
    (array([[1. , 0.5, 0. ]]), array([[0.  , 0.09, 1.  ]]))
    """
    every = np.concatenate([m.values for m in maps])  # all maps of a grid have the same columns
    there, axis = np.isfinite(every), 0 if measure.by_column else None
    goodness = every if measure.large_is_good else -np.log(every) if (every[there] > 0).all() else -every
    low = goodness.min(axis=axis, keepdims=True, where=there, initial=np.inf)
    width = goodness.max(axis=axis, keepdims=True, where=there, initial=-np.inf) - low
    shaded = np.divide(goodness - low, width, out=np.ones_like(every), where=there & (width > 0))
    return np.split(shaded, np.cumsum([len(m.rows) for m in maps])[:-1])


def heat_maps(maps: Sequence[HeatMap], measure: Measure) -> str:
    """Maps side by side, with the numbers in them."""
    drawn = "".join(_map(m, shaded, measure) for m, shaded in zip(maps, shades(maps, measure), strict=True))
    return f'<div class="maps">{drawn}</div>\n'


def _map(m: HeatMap, shaded: Floats, measure: Measure) -> str:
    fixed = ", ".join(f"{name} = {in_words(value)}" for name, value in m.fixed.items())
    caption = f"<caption>{escape(fixed)}</caption>" if fixed else ""
    corner = (
        f"{escape(m.row_name)} ↓<br>{escape(m.column_name)} →" if m.row_name else f"{escape(m.column_name)} →"
    )
    heads = "".join(f'<th scope="col">{escape(in_words(c))}</th>' for c in m.columns)
    body = "".join(
        f'<tr><th scope="row">{escape(in_words(row) if m.row_name else measure.short)}</th>'
        + "".join(
            _tile(float(x), float(shaded[i, j]), measure, chosen=(i, j) == m.chosen)
            for j, x in enumerate(m.values[i])
        )
        + "</tr>"
        for i, row in enumerate(m.rows)
    )
    return (
        f'<div class="scroll map"><table>{caption}<thead><tr><th'
        f' class="corner">{corner}</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _tile(value: float, shade: float, measure: Measure, *, chosen: bool) -> str:
    from matplotlib import colormaps

    if not math.isfinite(value):
        return f'<td class="tile failed">{measure.missing}</td>'
    red, green, blue, _ = colormaps["cividis"](shade)
    colour = f"rgb({255 * red:.0f},{255 * green:.0f},{255 * blue:.0f})"
    ink = "#000" if is_bright(red, green, blue) else "#fff"
    mark, kind = ("★ ", " chosen") if chosen else ("", "")
    title = escape(f"{measure.words} {value:,.6g}")
    return (
        f'<td class="tile{kind}" style="background:{colour};color:{ink}"'
        f' title="{title}">{mark}{measure.shown(value)}</td>'
    )


def is_bright(red: float, green: float, blue: float) -> bool:
    """Whether letters on this colour should be black."""
    return 0.299 * red + 0.587 * green + 0.114 * blue > 0.45


def _name(point: Mapping[str, Any]) -> str:
    return json.dumps(point, sort_keys=True)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def in_words(value: Any) -> str:
    """A value of a grid."""
    return f"{value:g}" if isinstance(value, float) else str(value)

"""Grids as heat maps: the median final regret at every point, the chosen one marked.

The two parameters with the most values are the sides of a map; of the others every combination has a map of its own. Colours are logarithmic, since the worst
point of a grid may be a thousand times worse than the best, and cividis, which looks alike to all kinds of colour vision.
"""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.report.page_numbers import number


class Scored(NamedTuple):
    """A point of a grid and its regret; None if every run of it failed."""

    point: Mapping[str, Any]
    regret: float | None


class Map(NamedTuple):
    """A map: two parameters along its sides, the others fixed."""

    fixed: dict[str, Any]
    row_name: str  # empty if there is one parameter only
    column_name: str
    rows: list[Any]
    columns: list[Any]
    regret: Floats  # [row, column], NaN where there is none
    chosen: tuple[int, int] | None


def maps_of(grid: Mapping[str, Sequence[Any]], scored: Sequence[Scored], chosen: Mapping[str, Any]) -> list[Map]:
    """All maps of a grid.

    >>> grid = {"a": [1, 2], "b": [3, 4, 5], "c": [6, 7]}
    >>> points = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    >>> [m.fixed for m in maps_of(grid, [Scored(point, 1.0) for point in points], points[0])]
    [{'c': 6}, {'c': 7}]
    """
    found = {_name(each.point): each.regret for each in scored}
    sides = sorted(sorted(grid, key=lambda name: -len(grid[name]))[:2], key=lambda name: len(grid[name]))
    row_name, column_name = (sides[0], sides[1]) if len(sides) == 2 else ("", sides[0])
    rows, columns = list(grid.get(row_name, [None])), list(grid[column_name])
    others = [name for name in grid if name not in sides]
    maps = []
    for values in itertools.product(*(grid[name] for name in others)):
        fixed = dict(zip(others, values, strict=True))
        points = [[{**fixed, **({row_name: r} if row_name else {}), column_name: c} for c in columns] for r in rows]
        regret = np.array([[_or_nan(found.get(_name(point))) for point in line] for line in points])
        places = [(i, j) for i, line in enumerate(points) for j, point in enumerate(line) if _name(point) == _name(chosen)]
        maps.append(Map(fixed, row_name, column_name, rows, columns, regret, places[0] if places else None))
    return maps


def shade(regret: float, low: float, high: float) -> float:
    """From 0, the worst, to 1, the best; logarithmic where all regrets are positive."""
    if not math.isfinite(regret) or high <= low:
        return 1.0
    if low > 0:
        return 1.0 - math.log(regret / low) / math.log(high / low)
    return 1.0 - (regret - low) / (high - low)


def heat_maps(maps: Sequence[Map]) -> str:
    """Maps side by side, with the numbers in them."""
    every = np.concatenate([m.regret.ravel() for m in maps])
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 0.0)
    return f'<div class="maps">{"".join(_map(m, low, high) for m in maps)}</div>\n'


def _map(m: Map, low: float, high: float) -> str:
    fixed = ", ".join(f"{name} = {in_words(value)}" for name, value in m.fixed.items())
    caption = f"<caption>{escape(fixed)}</caption>" if fixed else ""
    corner = f"{escape(m.row_name)} ↓<br>{escape(m.column_name)} →" if m.row_name else f"{escape(m.column_name)} →"
    heads = "".join(f'<th scope="col">{escape(in_words(c))}</th>' for c in m.columns)
    body = "".join(
        f'<tr><th scope="row">{escape(in_words(row)) if m.row_name else "regret"}</th>'
        + "".join(_tile(float(x), low, high, chosen=(i, j) == m.chosen) for j, x in enumerate(m.regret[i]))
        + "</tr>"
        for i, row in enumerate(m.rows)
    )
    return f'<div class="scroll map"><table>{caption}<thead><tr><th class="corner">{corner}</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _tile(regret: float, low: float, high: float, *, chosen: bool) -> str:
    from matplotlib import colormaps

    if not math.isfinite(regret):
        return '<td class="tile failed" title="every run failed">failed</td>'
    red, green, blue, _ = colormaps["cividis"](shade(regret, low, high))
    ink = "#000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else "#fff"
    colour = f"rgb({255 * red:.0f},{255 * green:.0f},{255 * blue:.0f})"
    mark, kind = ("★ ", " chosen") if chosen else ("", "")
    return f'<td class="tile{kind}" style="background:{colour};color:{ink}" title="median final regret {regret:,.6g}">{mark}{number(regret, 3)}</td>'


def _name(point: Mapping[str, Any]) -> str:
    return json.dumps(point, sort_keys=True)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def in_words(value: Any) -> str:
    """A value of a grid."""
    return f"{value:g}" if isinstance(value, float) else str(value)

"""Heat maps as tables of the page: the grids of tuning, and agents against environments."""

import math
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex

from heavytail.arrays import Floats
from heavytail.report.figures.heat_maps import HeatMap, HeatMaps, Measure, compute_shades, format_level
from heavytail.report.report_data import ReportData
from heavytail.report.sections.section import Section, figure_path
from heavytail.report.theme import is_bright


class HeatMapTile(NamedTuple):
    """A cell of a heat map."""

    text: str
    title: str = ""  # under the pointer
    background: str = ""  # empty where there is no number
    kind: str = ""  # classes of the style sheet: "deep" where letters must be white, "chosen"


class HeatMapTable(NamedTuple):
    """A heat map with its numbers in it."""

    title: str
    row_name: str
    column_name: str
    columns: list[str]
    rows: list[tuple[str, list[HeatMapTile]]]  # the head of a row, and its tiles


def make_heat_map_tables(heat_maps: HeatMaps) -> list[HeatMapTable]:
    """Make tables that stand side by side, on one scale of colours."""
    maps, measure = heat_maps.maps, heat_maps.measure
    return [
        _make_table(m, shades, measure) for m, shades in zip(maps, compute_shades(maps, measure), strict=True)
    ]


def _make_table(m: HeatMap, shades: Floats, measure: Measure) -> HeatMapTable:
    heads = [format_level(row) if m.row_name else measure.short for row in m.rows]
    tiles = [
        [
            _make_tile(float(value), float(shades[i, j]), measure, chosen=(i, j) == m.chosen)
            for j, value in enumerate(row)
        ]
        for i, row in enumerate(m.values)
    ]
    columns = [format_level(column) for column in m.columns]
    return HeatMapTable(m.title, m.row_name, m.column_name, columns, list(zip(heads, tiles, strict=True)))


def _make_tile(value: float, shade: float, measure: Measure, *, chosen: bool) -> HeatMapTile:
    if not math.isfinite(value):
        return HeatMapTile(measure.missing)
    red, green, blue, _ = colormaps["cividis"](shade)
    return HeatMapTile(
        f"★ {measure.format(value)}" if chosen else measure.format(value),
        title=f"{value:,.6g}",
        background=to_hex((red, green, blue)),
        kind=" ".join(["deep"] * (not is_bright(red, green, blue)) + ["chosen"] * chosen),
    )


def make_matrix_section(data: ReportData, title: str, title_prefix: str) -> Section:
    """Make the section of agents against environments."""
    content = [
        {
            "words": _describe_matrix(matrix.heat_maps),
            "file": figure_path(data.prefix + matrix.name),
            "maps": make_heat_map_tables(matrix.heat_maps),
        }
        for matrix in data.matrices
    ]
    return Section(f"{data.prefix}map", title, f"{title_prefix}{title}", "matrices", {"matrices": content})


def _describe_matrix(matrix: HeatMaps) -> str:
    scale = "a scale of each environment's own" if matrix.measure.by_column else "one scale for all"
    gaps = (
        " A dash: the agent did not run there." if any(np.isnan(m.values).any() for m in matrix.maps) else ""
    )
    return f"{matrix.title}. Bright is good, on {scale}.{gaps}"


def make_tuning_content(data: ReportData, env: str) -> dict[str, Any] | None:
    """Describe the grids of one environment; None if there are none."""
    grids = [grid for grid in data.grids if grid.env == env]
    if not grids:
        return None
    measure, tuning = grids[0].heat_maps.measure, data.spec.tuning
    return {
        "words": measure.words.capitalize(),
        "seeds": tuning.seeds,
        "share": f"{tuning.share:.0%}",
        "scale": "a scale" if measure.large_is_good else "a logarithmic scale",
        "grids": [
            {
                "style": data.styles[grid.agent],
                "label": grid.label,
                "maps": make_heat_map_tables(grid.heat_maps),
                "change": None if grid.review.change is None else f"{grid.review.change:.0%}",
                "remarks": list(grid.review.remarks()),
            }
            for grid in grids
        ],
    }

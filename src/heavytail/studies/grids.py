"""Tuning as a reader sees it: every point of every grid, and the one that was chosen."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from heavytail.report.heatmaps import Map, Scored, heat_maps, maps_of
from heavytail.report.tables import named
from heavytail.report.theme import Look
from heavytail.studies import tune
from heavytail.studies.plan import Choices
from heavytail.studies.spec import Spec


class Grid(NamedTuple):
    """The grid of one agent in one environment."""

    agent: str
    env: str
    label: str
    maps: list[Map]


def grids_of(spec: Spec, scored: Sequence[tune.Scored], choices: Choices) -> list[Grid]:
    """All grids of a study."""
    by_cell: dict[tuple[str, str], list[Scored]] = {}
    for each in scored:
        by_cell.setdefault((each.agent, each.env), []).append(Scored(each.point, each.regret))
    return [
        Grid(agent, env, spec.agents[agent].label, maps_of(spec.agents[agent].grid, points, choices[agent][env]))
        for (agent, env), points in by_cell.items()
    ]


def grids_section(grids: Sequence[Grid], looks: Mapping[str, Look], spec: Spec) -> str:
    """The grids of one environment; nothing if there are none."""
    if not grids:
        return ""
    words = (
        f"Median final regret over {spec.tuning.seeds} tuning seeds, which evaluation never uses, in runs of {spec.tuning.share:.0%} of the length."
        " Bright is good, on a logarithmic scale of each agent's own; ★ is the point that was chosen."
    )
    shown = "".join(f"<h4>{named(looks[grid.agent], grid.label).html}</h4>{heat_maps(grid.maps)}" for grid in grids)
    return f"<h3>Tuned values and their grids</h3>\n<p class=quiet>{escape(words)}</p>\n{shown}"

"""Tuning as a reader sees it: every point of every grid, and the one that was chosen."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from heavytail.report.figures.heatmaps import HeatMap, Measure, Scored, heat_maps, maps_of
from heavytail.report.html_tables import named
from heavytail.report.theme import AgentStyle
from heavytail.studies import tuning
from heavytail.studies.plan import Choices
from heavytail.studies.specs.spec import Spec

MEASURES = {
    "regret": Measure("median final regret", "regret", large_is_good=False),
    "reward": Measure("median clean return per episode in the last tenth", "return", large_is_good=True),
}


class Grid(NamedTuple):
    """The grid of one agent in one environment."""

    agent: str
    env: str
    label: str
    measure: Measure
    maps: list[HeatMap]


def grids_of(spec: Spec, scored: Sequence[tuning.GridScore], choices: Choices) -> list[Grid]:
    """All grids of a study."""
    by_cell: dict[tuple[str, str], list[tuning.GridScore]] = {}
    for each in scored:
        by_cell.setdefault((each.agent, each.env), []).append(each)
    return [_grid(spec, agent, env, points, choices) for (agent, env), points in by_cell.items()]


def _grid(spec: Spec, agent: str, env: str, scored: Sequence[tuning.GridScore], choices: Choices) -> Grid:
    said, chosen = spec.agents[agent], choices[agent][env]
    (measure,) = {each.measure for each in scored if each.value is not None}  # there is a chosen one
    points = [Scored(each.point, each.value) for each in scored]
    return Grid(agent, env, said.label, MEASURES[measure], maps_of(said.grid, points, chosen))


def grids_section(grids: Sequence[Grid], styles: Mapping[str, AgentStyle], spec: Spec) -> str:
    """The grids of one environment; nothing if there are none."""
    if not grids:
        return ""
    measure = grids[0].measure
    scale = "a scale" if measure.large_is_good else "a logarithmic scale"
    words = (
        f"{measure.words.capitalize()} over {spec.tuning.seeds} tuning seeds, which evaluation never uses, in runs of {spec.tuning.share:.0%} of the length."
        f" Bright is good, on {scale} of each agent's own; ★ is the point that was chosen."
    )
    shown = "".join(
        f"<h4>{named(styles[grid.agent], grid.label).html}</h4>{heat_maps(grid.maps, grid.measure)}"
        for grid in grids
    )
    return f"<h3>Tuned values and their grids</h3>\n<p class=quiet>{escape(words)}</p>\n{shown}"

"""Heat maps: a number at every point of a grid, or of every agent in every environment.

Tiles are bright where the number is good. The two parameters of a grid with the most values are the sides of
a map; every combination of the others has its own map. A map of agents against environments shows how each
did everywhere: with an environment for each scale of the noise and an agent for each value of a parameter, it
shows one against the other. Families of one environment with equal axes, whose parameters differ in one
number, also span a grid: the axis to the right, that number upwards.

Colours of regrets are logarithmic, since the worst point of a grid may be a thousand times worse than the
best. The colour map is cividis, which looks alike to all kinds of colour vision.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.checks import is_number
from heavytail.report.figures.figure import Axis, Figure, Panel, Segment, Tiles
from heavytail.report.number_format import percent, short_number
from heavytail.studies.plan import Choices
from heavytail.studies.results import Task, final_regret, final_reward
from heavytail.studies.specs.spec import FamilySpec, Spec, canonical, env_kind
from heavytail.studies.tuning import ChoiceReview, GridScore, review_choices

MIN_SIDE = 3  # agents and environments; fewer are easy to read in their tables
MIN_SHARE = 1e-3  # of the largest regret at a point: luck can make one negative, and all below look the same


class HeatMap(NamedTuple):
    """A map: two parameters along its sides, the others fixed."""

    fixed: dict[str, Any]
    row_name: str  # empty if there is one parameter only
    column_name: str
    rows: list[Any]
    columns: list[Any]
    values: Floats  # [row, column], NaN where there is none
    chosen: tuple[int, int] | None = None

    @property
    def title(self) -> str:
        """The parameters that are fixed."""
        return ", ".join(f"{name} = {format_level(value)}" for name, value in self.fixed.items())


class Measure(NamedTuple):
    """The quantity in the tiles of heat maps."""

    words: str
    large_is_good: bool  # else a regret
    share: bool = False  # in percent
    by_column: bool = False  # each column is compared within itself
    missing: str = "failed"  # text of an empty tile

    def format(self, value: float) -> str:
        """Format a value for its tile."""
        if not math.isfinite(value):
            return self.missing
        return percent(value) if self.share else short_number(value)


class HeatMaps(NamedTuple):
    """Maps side by side, on one scale of colours."""

    name: str  # of their figure
    title: str  # of one or more lines
    maps: list[HeatMap]
    measure: Measure

    def make_figure(self) -> Figure:
        """Describe them."""
        shades = compute_shades(self.maps, self.measure)
        panels = [self._make_panel(m, some) for m, some in zip(self.maps, shades, strict=True)]
        first = self.maps[0]
        x = _make_side(first.column_name, first.columns)
        y = _make_side(first.row_name, first.rows if first.row_name else [""])
        across, down = (np.arange(len(side.ticks) + 1, dtype=np.float64) - 0.5 for side in (x, y))
        content = Tiles(x, y, (across, down), panels)
        return Figure(self.title, self._describe(), content, name=self.name)

    def _make_panel(self, m: HeatMap, shades: Floats) -> Panel:
        texts = [[self.measure.format(float(value)) for value in row] for row in m.values]
        if m.chosen:
            row, column = m.chosen
            texts[row][column] = f"★ {texts[row][column]}"
        outline = _outline_tile(*m.chosen) if m.chosen else []
        return Panel(m.title, np.where(np.isfinite(m.values), shades, np.nan), texts, outline=outline)

    def _describe(self) -> str:
        scale = "a separate scale for each environment" if self.measure.by_column else "one scale for all"
        missing = any(np.isnan(m.values).any() for m in self.maps)
        return f"Bright is good, on {scale}.{' A dash: the agent did not run there.' if missing else ''}"


def compute_shades(maps: Sequence[HeatMap], measure: Measure) -> list[Floats]:
    """Compute how good every tile is, from 0, the worst of all maps, to 1, the best.

    The scale is logarithmic for regrets if all are positive.

    >>> maps = [HeatMap({}, "", "scale", [None], [1, 2, 3], np.array([[10.0, 100.0, 1000.0]]))]
    >>> compute_shades(maps, Measure("final regret", large_is_good=False))[0]
    array([[1. , 0.5, 0. ]])
    >>> compute_shades(maps, Measure("reward", large_is_good=True))[0].round(2)
    array([[0.  , 0.09, 1.  ]])
    """
    values = np.concatenate([m.values for m in maps])  # all maps of a grid have the same columns
    finite, axis = np.isfinite(values), 0 if measure.by_column else None
    goodness = values if measure.large_is_good else -np.log(values) if (values[finite] > 0).all() else -values
    low = goodness.min(axis=axis, keepdims=True, where=finite, initial=np.inf)
    width = goodness.max(axis=axis, keepdims=True, where=finite, initial=-np.inf) - low
    shades = np.divide(goodness - low, width, out=np.ones_like(values), where=finite & (width > 0))
    return np.split(shades, np.cumsum([len(m.rows) for m in maps])[:-1])


def _make_side(label: str, levels: Sequence[Any]) -> Axis:
    return Axis(label, ticks=[(float(i), format_level(level)) for i, level in enumerate(levels)])


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


# The points of a grid


class TuningGrid(NamedTuple):
    """The grid of one agent in one environment: every point, and the chosen one."""

    agent: str
    env: str
    label: str
    heat_maps: HeatMaps
    review: ChoiceReview


TUNING_MEASURES = {
    "regret": Measure("median final regret", large_is_good=False),
    "reward": Measure("median clean return per episode in the last tenth", large_is_good=True),
}


def make_tuning_grids(spec: Spec, scores: Sequence[GridScore], choices: Choices) -> list[TuningGrid]:
    """Make all grids of a study."""
    by_cell: dict[tuple[str, str], list[GridScore]] = {}
    for score in scores:
        by_cell.setdefault((score.agent, score.env), []).append(score)
    reviews = {(each.agent, each.env): each for each in review_choices(spec, scores, choices)}
    return [_make_tuning_grid(spec, points, reviews[cell]) for cell, points in by_cell.items()]


def _make_tuning_grid(spec: Spec, scores: Sequence[GridScore], review: ChoiceReview) -> TuningGrid:
    agent, env = spec.agents[review.agent], spec.envs[review.env]
    (measured,) = {score.measure for score in scores if score.value is not None}  # that of the chosen one
    measure = TUNING_MEASURES[measured]
    values = {canonical(score.point): score.value for score in scores}
    title = f"{agent.label}, {env.label}\n{measure.words} in tuning"
    maps = make_grid_maps(agent.grid, values, review.point)
    heat_maps = HeatMaps(f"grid-{review.agent}", title, maps, measure)
    return TuningGrid(review.agent, review.env, agent.label, heat_maps, review)


def make_grid_maps(
    grid: Mapping[str, Sequence[Any]], values: Mapping[str, float | None], chosen: Mapping[str, Any]
) -> list[HeatMap]:
    """Make all maps of a grid.

    Args:
        grid: parameters and their values.
        values: by point, as canonical JSON; None where every run failed.
        chosen: the point to mark.

    >>> grid = {"a": [1, 2], "b": [3, 4, 5], "c": [6, 7]}
    >>> [m.fixed for m in make_grid_maps(grid, {}, {"a": 1, "b": 3, "c": 6})]
    [{'c': 6}, {'c': 7}]
    """
    sides = sorted(sorted(grid, key=lambda name: -len(grid[name]))[:2], key=lambda name: len(grid[name]))
    row_name, column_name = (sides[0], sides[1]) if len(sides) == 2 else ("", sides[0])
    rows, columns = list(grid.get(row_name, [None])), list(grid[column_name])
    others = [name for name in grid if name not in sides]

    def make_map(fixed: dict[str, Any]) -> HeatMap:
        keys = np.array(
            [
                [
                    canonical({**fixed, **({row_name: row} if row_name else {}), column_name: c})
                    for c in columns
                ]
                for row in rows
            ],
            object,
        )
        numbers = np.array([[values.get(key) for key in line] for line in keys], np.float64)
        at = [(int(row), int(column)) for row, column in np.argwhere(keys == canonical(chosen))]
        return HeatMap(fixed, row_name, column_name, rows, columns, numbers, at[0] if at else None)

    combinations = itertools.product(*(grid[name] for name in others))
    return [make_map(dict(zip(others, fixed, strict=True))) for fixed in combinations]


# Agents in environments


def make_env_maps(spec: Spec, tasks: Mapping[str, Task]) -> list[HeatMaps]:
    """Make a map for each kind of environment outside families, then those of families."""
    return [*_make_agent_env_maps(spec, tasks), *make_family_maps(spec, tasks)]


def _make_agent_env_maps(spec: Spec, tasks: Mapping[str, Task]) -> Iterator[HeatMaps]:
    """Make a map for each kind of environment with enough members and enough agents in common."""
    kinds: dict[str, list[Task]] = {}
    for key, task in tasks.items():
        if not spec.envs[key].family:
            kinds.setdefault(env_kind(spec.envs[key].env), []).append(task)
    for kind, some in kinds.items():
        made = _make_agent_env_map(spec, kind, some)
        if min(made.maps[0].values.shape) >= MIN_SIDE:
            yield made


def _make_agent_env_map(spec: Spec, kind: str, tasks: Sequence[Task]) -> HeatMaps:
    medians = {
        (agent.key, task.key): float(np.median(final_reward(agent.runs)))
        for task in tasks
        for agent in task.agents
    }
    agents = [key for key in spec.agents if sum((key, task.key) in medians for task in tasks) >= MIN_SIDE]
    columns = [task for task in tasks if sum((key, task.key) in medians for key in agents) >= MIN_SIDE]
    measure = _choose_measure(spec, columns)
    wholes = [task.optimum if measure.share and task.optimum else 1.0 for task in columns]
    values = [
        [medians.get((key, task.key), np.nan) / whole for task, whole in zip(columns, wholes, strict=True)]
        for key in agents
    ]
    heat_map = HeatMap(
        fixed={},
        row_name="agent",
        column_name="environment",
        rows=[spec.agents[key].label for key in agents],
        columns=[task.label for task in columns],
        values=np.reshape(values, (len(agents), len(columns))),
    )
    return HeatMaps(kind, measure.words.capitalize(), [heat_map], measure)


def _choose_measure(spec: Spec, tasks: Sequence[Task]) -> Measure:
    """Choose shares of the optimum if it is known, since they are comparable everywhere.

    Rewards are comparable only if environments differ in nothing but their parameters.
    """
    if all(task.optimum for task in tasks):
        words = "median reward in the last tenth, of the optimum"
        return Measure(words, large_is_good=True, share=True, missing="–")
    same = len({spec.envs[task.key].env for task in tasks}) == 1
    words = f"median {tasks[0].reward} per {tasks[0].per} in the last tenth"
    return Measure(words, large_is_good=True, by_column=not same, missing="–")


FAMILY_MEASURE = Measure(
    "median final regret, over the least of all agents there", large_is_good=False, missing="–"
)


def make_family_maps(spec: Spec, tasks: Mapping[str, Task]) -> list[HeatMaps]:
    """Make maps of all families that span a grid: every agent's regret over the smallest one there."""
    found = [
        (f"{env}-{axis}-{name}", f"{env}: ", _make_family_maps(spec, tasks, keys, name))
        for env, axis, name, keys in _find_grids(spec.families)
        if all(task.optimum for key, task in tasks.items() if spec.envs[key].family in keys)
    ]
    words = FAMILY_MEASURE.words.capitalize()
    return [HeatMaps(name, prefix + words, maps, FAMILY_MEASURE) for name, prefix, maps in found]


def _find_grids(families: Mapping[str, FamilySpec]) -> Iterator[tuple[str, str, str, list[str]]]:
    """Find the environment, the axis, the number that differs and the keys of families that span a grid."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for key, family in families.items():
        groups.setdefault((family.env or key, family.axis, repr(family.vary)), []).append(key)
    for (env, axis, _), keys in groups.items():
        parameters = [families[key].parameters for key in keys]
        names = {name for each in parameters for name in each}
        differing = [name for name in names if len({repr(each.get(name)) for each in parameters}) > 1]
        numbers = [each.get(differing[0]) for each in parameters] if len(differing) == 1 else []
        if len(keys) > 1 and len(set(map(repr, numbers))) == len(keys) and all(map(is_number, numbers)):
            ordered = sorted(keys, key=lambda key: families[key].parameters[differing[0]])
            yield env, axis, differing[0], ordered


def _make_family_maps(spec: Spec, tasks: Mapping[str, Task], keys: Sequence[str], name: str) -> list[HeatMap]:
    first = spec.families[keys[0]]
    agents = [
        key
        for key in spec.agents
        if any(key == agent.key for task in tasks.values() for agent in task.agents)
    ]
    regrets = np.full((len(agents), len(keys), len(first.vary[first.axis])), np.nan)
    for row, family in enumerate(keys):
        members = [task for key, task in tasks.items() if spec.envs[key].family == family]
        for column, task in enumerate(members):
            for agent in task.agents:
                regrets[agents.index(agent.key), row, column] = np.median(final_regret(agent.runs))
    regrets = np.maximum(regrets, MIN_SHARE * np.nanmax(regrets, axis=0))
    ratios = regrets / np.nanmin(regrets, axis=0)
    rows = [spec.families[key].parameters[name] for key in keys]
    return [
        HeatMap(
            fixed={"agent": spec.agents[key].label},
            row_name=name,
            column_name=first.axis,
            rows=rows[::-1],
            columns=list(first.vary[first.axis]),
            values=values[::-1],
        )
        for key, values in zip(agents, ratios, strict=True)
    ]

"""Tuning: choose a point of each grid, and say how far the choice can be trusted.

The choice is the point with the smallest median final regret over the tuning seeds, the first of equals. If
the best policy is unknown there is no regret: then it is the point with the largest median reward in the last
tenth. A choice may change with the seeds, lie at the edge of its grid, or hide that its runs fall into two
groups.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heavytail.arrays import Floats
from heavytail.checks import is_number
from heavytail.errors import InputError, key_path
from heavytail.statistics.location import two_groups
from heavytail.studies.part_table import to_frame
from heavytail.studies.plan import Cell, Choices
from heavytail.studies.results import final_reward, gather_runs
from heavytail.studies.specs.spec import SpawnKey, Spec, make_rng


class GridScore(NamedTuple):
    """The score of a point of a grid."""

    agent: str
    env: str
    point: dict[str, Any]
    measure: Literal["regret", "reward"]
    value: float | None  # the median over seeds; None if every run failed
    runs: tuple[float | None, ...] = ()  # of which it is the median, seed by seed; None where one failed

    @property
    def cost(self) -> float:
        """A number that is smaller for better points."""
        if self.value is None:
            return np.inf
        return self.value if self.measure == "regret" else -self.value


def score_cells(cells: Sequence[Cell], table: pa.Table) -> list[GridScore]:
    """Score every point."""
    regrets, rewards = final_regrets(table), last_tenths(table)
    return [_score(cell, regrets, rewards) for cell in cells]


def _score(cell: Cell, regrets: Mapping[str, float], rewards: Mapping[str, float]) -> GridScore:
    measure: Literal["regret", "reward"] = "reward" if any(run in rewards for run in cell.runs) else "regret"
    known = rewards if measure == "reward" else regrets
    runs = tuple(known.get(run) for run in cell.runs)
    values = [value for value in runs if value is not None]
    median = float(np.median(values)) if values else None
    return GridScore(cell.agent, cell.env, cell.point, measure, median, runs)


def final_regrets(table: pa.Table) -> dict[str, float]:
    """Compute the final regret of each run that has one."""
    runs, regret = table["run"].to_pylist(), table["regret"].to_pylist()
    return {run: value for run, value in zip(runs, regret, strict=True) if value is not None}


def last_tenths(table: pa.Table) -> dict[str, float]:
    """Compute the mean reward in the last tenth of each complete run that has no regret."""
    without = to_frame(table.filter(pc.and_(pc.is_null(table["regret"]), pc.is_null(table["error"]))))
    return {str(run): float(final_reward(gather_runs(frame))[0]) for run, frame in without.groupby("run")}


def choose(scores: Sequence[GridScore]) -> dict[str, dict[str, dict[str, Any]]]:
    """Choose the best point of each agent in each environment."""
    best: dict[tuple[str, str], GridScore] = {}
    for score in scores:
        old = best.get((score.agent, score.env))
        if old is None or score.cost < old.cost:
            best[score.agent, score.env] = score
    chosen: dict[str, dict[str, dict[str, Any]]] = {}
    for (agent, env), score in best.items():
        if score.value is None:
            raise InputError(
                f"tuning: every run of {agent} on {env} failed, so that nothing can be chosen; see"
                " heavytail status"
            )
        chosen.setdefault(agent, {})[env] = score.point
    return chosen


# Reviews


RESAMPLES = 1000
MAX_VALUES = 2**22  # numbers in memory at once
MIN_LEVELS = 3  # numbers of a grid, one of which is not at its edge
UNSTABLE = 0.2  # a choice with at least this probability of change gets a remark


class Edge(NamedTuple):
    """A parameter whose chosen value is at the edge of its grid."""

    name: str
    value: float
    side: str  # "smallest" or "largest"


class ChoiceReview(NamedTuple):
    """The review of one choice."""

    agent: str
    env: str
    point: dict[str, Any]
    seeds: int
    change: float | None  # the probability that other seeds choose another point; None of a single seed
    edges: tuple[Edge, ...]
    groups: tuple[Floats, Floats] | None  # the scores of its runs, where they fall into two groups

    def remarks(self) -> Iterator[str]:
        """Yield what a user should know before relying on the choice, a sentence each."""
        if self.change is not None and self.change >= UNSTABLE:
            yield (
                f"with other tuning seeds another point would be chosen with probability {self.change:.2f};"
                f" more than {self.seeds} would tell better"
            )
        for name, value, side in self.edges:
            yield f"{key_path([name])} = {value:g} is the {side} of its grid; better ones may lie beyond"
        if self.groups is not None:
            one, other = (f"{len(group)} near {np.median(group):,.4g}" for group in self.groups)
            yield f"its runs fall into two groups, {one} and {other}, which their median does not show"


def review_choices(spec: Spec, scores: Sequence[GridScore], choices: Choices) -> list[ChoiceReview]:
    """Review every choice of a study."""
    grids: dict[tuple[str, str], list[GridScore]] = {}
    for score in scores:
        grids.setdefault((score.agent, score.env), []).append(score)
    return [
        _review(spec, points, choices[agent][env], place)
        for place, ((agent, env), points) in enumerate(grids.items())
    ]


def _review(spec: Spec, points: Sequence[GridScore], chosen: Mapping[str, Any], place: int) -> ChoiceReview:
    best = next(k for k, score in enumerate(points) if score.point == chosen)
    score, seeds = points[best], len(points[best].runs)
    costs = np.array([_costs(each) for each in points])
    rng = make_rng(spec.seed, SpawnKey.CHOICES, place)
    return ChoiceReview(
        score.agent,
        score.env,
        score.point,
        seeds,
        change_probability(costs, best, rng) if seeds > 1 else None,
        tuple(_edges(score.point, spec.agents[score.agent].grid)),
        two_groups([value for value in score.runs if value is not None]),
    )


def _costs(score: GridScore) -> list[float]:
    """Return the costs of a point's runs, smaller being better; NaN if a run failed."""
    sign = 1.0 if score.measure == "regret" else -1.0
    return [np.nan if value is None else sign * value for value in score.runs]


def change_probability(costs: Floats, best: int, rng: np.random.Generator) -> float:
    """Estimate by a bootstrap over seeds how likely another point than the best would be chosen.

    Seeds are drawn for all points together, since they meet the same noise on the same seed.

    Args:
        costs: [point, seed]; NaN where a run failed.
        best: the point that was chosen.
        rng: draws the seeds.

    >>> change_probability(np.array([[1.0, 1.1], [5.0, 5.1]]), 0, np.random.default_rng(0))
    0.0
    """
    seeds = costs.shape[1]
    drawn, few = rng.integers(seeds, size=(RESAMPLES, seeds)), max(1, MAX_VALUES // costs.size)
    changed = 0
    for k in range(0, RESAMPLES, few):
        samples = costs[:, drawn[k : k + few]]  # [point, resample, seed]
        changed += int((_medians(samples).argmin(axis=0) != best).sum())
    return changed / RESAMPLES


def _medians(samples: Floats) -> Floats:
    """Compute the medians of the runs that did not fail [point, resample]; infinite if all did."""
    failed = np.asarray(np.isnan(samples).all(axis=-1))
    return np.where(failed, np.inf, np.nanmedian(np.where(failed[..., None], 0.0, samples), axis=-1))


def _edges(point: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> Iterator[Edge]:
    for name, values in grid.items():
        numbers, value = {float(v) for v in values if is_number(v)}, point[name]
        if len(numbers) >= MIN_LEVELS and is_number(value) and value in (min(numbers), max(numbers)):
            yield Edge(name, float(value), "smallest" if value == min(numbers) else "largest")

"""How far the choices of tuning can be trusted.

A choice may change with the seeds, lie at the edge of its grid, or hide that its runs fall into two groups.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.checks import is_number
from heavytail.errors import key_path
from heavytail.statistics.location import two_groups
from heavytail.studies.plan import Choices
from heavytail.studies.specs.spec import SpawnKey, Spec, make_rng
from heavytail.studies.tuning import GridScore

RESAMPLES = 1000
MAX_VALUES = 2**22  # numbers in memory at once
MIN_LEVELS = 3  # numbers of a grid, one of which is not at its edge
UNSTABLE = 0.2  # from this probability of change on, a choice is remarked upon


class Edge(NamedTuple):
    """A parameter whose chosen value is at the edge of its grid."""

    name: str
    value: float
    side: str  # "smallest" or "largest"


class ChoiceReview(NamedTuple):
    """What is known of one choice."""

    agent: str
    env: str
    point: dict[str, Any]
    seeds: int
    change: float | None  # the probability that other seeds choose another point; None of a single seed
    edges: tuple[Edge, ...]
    groups: tuple[Floats, Floats] | None  # the scores of its runs, where they fall into two groups

    def remarks(self) -> Iterator[str]:
        """What should be known before the choice is relied upon, a sentence each."""
        if self.change is not None and self.change >= UNSTABLE:
            yield (
                f"with other tuning seeds another point would be chosen with probability {self.change:.2f};"
                f" more than {self.seeds} would tell better"
            )
        for name, value, side in self.edges:
            yield f"{key_path([name])} = {value:g} is the {side} of its grid; better ones may lie beyond"
        if self.groups is not None:
            one, other = (f"{len(group)} near {np.median(group):,.4g}" for group in self.groups)
            yield f"its runs fall into two groups, {one} and {other}, of which their median tells nothing"


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
    """The costs of the runs of a point, smaller ones being better; NaN where a run failed."""
    sign = 1.0 if score.measure == "regret" else -1.0
    return [np.nan if value is None else sign * value for value in score.runs]


def change_probability(costs: Floats, best: int, rng: np.random.Generator) -> float:
    """Estimate by a bootstrap over seeds how probably another point than the best would be chosen.

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
    """The medians of the runs that did not fail [point, resample]; infinite where all did."""
    failed = np.asarray(np.isnan(samples).all(axis=-1))
    return np.where(failed, np.inf, np.nanmedian(np.where(failed[..., None], 0.0, samples), axis=-1))


def _edges(point: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> Iterator[Edge]:
    for name, values in grid.items():
        numbers, value = {float(v) for v in values if is_number(v)}, point[name]
        if len(numbers) >= MIN_LEVELS and is_number(value) and value in (min(numbers), max(numbers)):
            yield Edge(name, float(value), "smallest" if value == min(numbers) else "largest")

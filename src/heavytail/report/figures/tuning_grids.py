"""Tuning as heat maps: every point of every grid, and the one that was chosen."""

from collections.abc import Sequence
from typing import NamedTuple

from heavytail.report.figures.figure import Figure
from heavytail.report.figures.heat_maps import (
    GridPoint,
    HeatMap,
    Measure,
    make_heat_map_figure,
    make_heat_maps,
)
from heavytail.studies import tuning
from heavytail.studies.choice_reviews import ChoiceReview, review_choices
from heavytail.studies.plan import Choices
from heavytail.studies.specs.spec import Spec

MEASURES = {
    "regret": Measure("median final regret", "regret", large_is_good=False),
    "reward": Measure("median clean return per episode in the last tenth", "return", large_is_good=True),
}


class TuningGrid(NamedTuple):
    """The grid of one agent in one environment."""

    agent: str
    env: str
    label: str
    measure: Measure
    maps: list[HeatMap]
    review: ChoiceReview

    def make_figure(self, env_label: str) -> Figure:
        """Describe it for paper."""
        title = f"{self.label}, {env_label}\n{self.measure.words} in tuning"
        return make_heat_map_figure(self.maps, self.measure, title)


def make_tuning_grids(spec: Spec, scores: Sequence[tuning.GridScore], choices: Choices) -> list[TuningGrid]:
    """Make all grids of a study."""
    by_cell: dict[tuple[str, str], list[tuning.GridScore]] = {}
    for score in scores:
        by_cell.setdefault((score.agent, score.env), []).append(score)
    reviews = {(each.agent, each.env): each for each in review_choices(spec, scores, choices)}
    return [_make_grid(spec, points, reviews[cell]) for cell, points in by_cell.items()]


def _make_grid(spec: Spec, scores: Sequence[tuning.GridScore], review: ChoiceReview) -> TuningGrid:
    (measure,) = {score.measure for score in scores if score.value is not None}  # that of the chosen one
    points = [GridPoint(score.point, score.value) for score in scores]
    agent = spec.agents[review.agent]
    maps = make_heat_maps(agent.grid, points, review.point)
    return TuningGrid(review.agent, review.env, agent.label, MEASURES[measure], maps, review)

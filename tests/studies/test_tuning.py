"""Tuning chooses the best point, and reviews say how far each choice can be trusted."""

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail.errors import InputError
from heavytail.studies import Study
from heavytail.studies.part_table import SCHEMA
from heavytail.studies.plan import Cell, tuning_cells
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.tuning import GridScore, change_probability, choose, review_choices, score_cells
from support.examples import examples
from support.small_studies import Notes, small

Regrets = list[list[float | None]]  # [point, run]; None where a run failed


def cells_of(points: int, seeds: int) -> list[Cell]:
    agents = {"q_learning": {"grid": {"transition_scale": [float(k) for k in range(points)]}}}
    return tuning_cells(make_spec(small(envs={"six_arms": {}}, agents=agents, tuning={"seeds": seeds})))


def table_for(cells: list[Cell], regrets: Regrets) -> pa.Table:
    """Curves of two checkpoints that end at these regrets; a failed run has one row without any."""
    runs: list[str] = []
    values: list[float | None] = []
    for cell, finals in zip(cells, regrets, strict=True):
        for replicate, final in enumerate(finals):
            rows = [None] if final is None else [-1e300, final]  # what comes before the end would win
            runs += [cell.runs[replicate]] * len(rows)
            values += rows
    errors = [None if value is not None else "ValueError: no" for value in values]
    columns = {"run": runs, "regret": pa.array(values, pa.float64()), "error": pa.array(errors, pa.string())}
    return pa.concat_tables([SCHEMA.empty_table(), pa.table(columns)], promote_options="default")


def best_point(regrets: Regrets) -> int | None:
    """The slow, obvious way."""
    best: tuple[float, int] | None = None
    for k, finals in enumerate(regrets):
        kept = [value for value in finals if value is not None]
        if kept and (best is None or statistics.median(kept) < best[0]):
            best = statistics.median(kept), k
    return None if best is None else best[1]


# Few different values, so that many points are equal.
some_regrets = st.integers(1, 4).flatmap(
    lambda seeds: st.lists(
        st.lists(
            st.sampled_from([None, 0.0, 1.0, 2.0, -3.5]) | st.floats(-1e6, 1e6),
            min_size=seeds,
            max_size=seeds,
        ),
        min_size=2,  # a single point is not searched
        max_size=5,
    )
)


@given(some_regrets)
@examples(150)
def test_the_first_point_of_smallest_median_final_regret_is_chosen(regrets: Regrets) -> None:
    cells = cells_of(len(regrets), len(regrets[0]))
    scored = score_cells(cells, table_for(cells, regrets))
    assert [each.point for each in scored] == [{"transition_scale": float(k)} for k in range(len(regrets))]
    best = best_point(regrets)
    if best is None:
        with pytest.raises(
            InputError,
            match=(
                r"^tuning: every run of q_learning on six_arms failed, so that nothing can be chosen;"
                r" see heavytail status$"
            ),
        ):
            choose(scored)
    else:
        assert choose(scored) == {"q_learning": {"six_arms": {"transition_scale": float(best)}}}


def test_the_choice_is_for_each_agent_in_each_environment() -> None:
    def scored(agent: str, env: str, k: int, regret: float | None) -> GridScore:
        return GridScore(agent=agent, env=env, point={"k": k}, measure="regret", value=regret)

    rows: list[tuple[str, str, int, float | None]] = [
        ("a", "x", 0, 2.0),
        ("a", "x", 1, 1.0),
        ("a", "y", 0, None),
        ("a", "y", 1, 5.0),
        ("b", "x", 0, 3.0),
        ("b", "x", 1, 3.0),
    ]
    expected = {"a": {"x": {"k": 1}, "y": {"k": 1}}, "b": {"x": {"k": 0}}}
    assert choose([scored(*row) for row in rows]) == expected
    failed = [*rows, ("b", "y", 0, None)]
    with pytest.raises(InputError, match="every run of b on y failed"):
        choose([scored(*row) for row in failed])
    assert choose([]) == {}


GRID: dict[str, list[Any]] = {"transition_scale": [0.01, 0.1, 1.0], "constants": ["tight", "practical"]}


def reviews(runs: dict[tuple[float, str], list[float | None]], seeds: int = 5) -> list[Any]:
    """Review the choice of a grid of which these runs are known; all others are far worse."""
    spec = make_spec(
        small(envs={"six_arms": {}}, agents={"q_learning": {"grid": GRID}}, tuning={"seeds": seeds})
    )
    scores = []
    for scale in GRID["transition_scale"]:
        for constants in GRID["constants"]:
            found = runs.get((scale, constants), [1e6 + k for k in range(seeds)])
            known = [value for value in found if value is not None]
            scores.append(
                GridScore(
                    "q_learning",
                    "six_arms",
                    {"transition_scale": scale, "constants": constants},
                    "regret",
                    float(np.median(known)) if known else None,
                    tuple(found),
                )
            )
    return review_choices(spec, scores, choose(scores))


def test_a_clear_choice_in_the_middle_has_no_remarks() -> None:
    (review,) = reviews({(0.1, "tight"): [10.0, 11.0, 12.0, 13.0, 14.0]})
    assert (review.change, review.edges, review.groups) == (0.0, (), None)
    assert list(review.remarks()) == []


def test_a_choice_that_seeds_decide_is_remarked_upon() -> None:
    close = {
        (0.1, "tight"): [10.0, 30.0, 12.0, 28.0, 20.0],
        (0.1, "practical"): [29.0, 11.0, 27.0, 13.0, 21.0],
    }
    (review,) = reviews({cell: list(values) for cell, values in close.items()})
    assert review.change is not None
    assert 0.2 < review.change < 0.8
    assert "another point would be chosen with probability" in next(review.remarks())


@pytest.mark.parametrize(("scale", "side"), [(0.01, "smallest"), (1.0, "largest")])
def test_the_edge_of_a_grid_is_remarked_upon(scale: float, side: str) -> None:
    (review,) = reviews({(scale, "tight"): [10.0, 11.0, 12.0, 13.0, 14.0]})
    assert list(review.remarks()) == [
        f"transition_scale = {scale:g} is the {side} of its grid; better ones may lie beyond"
    ]


def test_two_groups_of_runs_are_remarked_upon() -> None:
    (review,) = reviews({(0.1, "tight"): [10.0, 11.0, 10.5, 900.0, 901.0]})
    assert list(review.remarks()) == [
        "its runs fall into two groups, 3 near 10.5 and 2 near 900.5, which their median does not show"
    ]


def test_failed_runs_and_single_seeds_are_no_trouble() -> None:
    (review,) = reviews({(0.1, "tight"): [10.0, None, 12.0, 13.0, 14.0], (1.0, "tight"): [None] * 5})
    assert review.change is not None
    assert review.change < 0.05
    (alone,) = reviews({(0.1, "tight"): [10.0]}, seeds=1)
    assert alone.change is None


def test_the_probability_is_that_of_all_resamples() -> None:
    """Of two seeds there are four resamples, and one of them turns the choice over."""
    costs = np.array([[0.0, 4.0], [3.0, 3.0]])
    found = change_probability(costs, 0, np.random.default_rng(0))
    assert found == pytest.approx(0.25, abs=0.06)  # four standard deviations


def test_the_log_and_the_report_say_it(tmp_path: Path) -> None:
    grid = {"transition_scale": [0.01, 0.1, 1.0]}
    raw = small(envs={"six_arms": {}}, agents={"q_learning": {"grid": grid}}, tuning={"seeds": 4})
    study, listener = Study(raw, tmp_path), Notes()
    study.run("inline", listener=listener)
    (review,) = study.choice_reviews()
    said = [f"tuning of q_learning on six_arms: {remark}" for remark in review.remarks()]
    assert listener.words == said
    assert said
    page = study.report().read_text(encoding="utf-8")
    assert f"Other seeds would choose another point with probability {review.change:.0%}." in page
    assert all(f"⚠ {remark}." in page for remark in review.remarks())
    again = Notes()
    Study.open(tmp_path).run("inline", listener=again)
    assert again.words == []  # nothing was tuned

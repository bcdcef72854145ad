"""Runs summed up where something is missing: no episode ended, every run of a point failed."""

import numpy as np
import pytest

from heavytail import statistics
from heavytail.report.figures.heat_maps import HeatMap, Measure, compute_shades
from heavytail.studies.results import Aggregation, Runs, reward_rates

SUMMING = Aggregation(confidence=0.9, resamples=200, seed=5)


def test_while_no_episode_ends_the_last_return_stands() -> None:
    ended, returns = np.array([[0.0, 2.0, 2.0, 3.0]]), np.array([[0.0, -300.0, -300.0, -420.0]])
    nothing = np.full((1, 4), np.nan)
    runs = Runs(
        np.array([0]),
        np.array([100, 200, 300, 400]),
        ended,
        returns,
        nothing,
        nothing,
        {"episodes": ended},
        0,
    )
    np.testing.assert_array_equal(reward_rates(runs), [[np.nan, -150.0, -150.0, -120.0]])


def test_a_median_is_of_all_runs_or_not_there() -> None:
    values = np.random.default_rng(0).normal(size=(7, 3))
    values[2, 1] = np.nan
    found = SUMMING.median(values)
    assert np.isnan(np.stack(found)[:, 1]).all()
    whole = SUMMING.median(values[:, [0, 2]])
    for each, alone in zip(found, whole, strict=True):
        np.testing.assert_array_equal(each[[0, 2]], alone)
    rng = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(3,)))
    expected = statistics.bootstrap_interval(values[:, 0], "median", rng=rng, confidence=0.9, resamples=200)
    assert tuple(SUMMING.median(values[:, 0])) == tuple(expected)


def test_a_single_run_has_no_interval() -> None:
    found = SUMMING.median(np.array([[1.0, np.nan]]))
    np.testing.assert_array_equal(np.stack(found), [[1.0, np.nan], [np.nan, np.nan], [np.nan, np.nan]])


REGRET, REWARD = (
    Measure("regret", "regret", large_is_good=False),
    Measure("reward", "reward", large_is_good=True),
)


@pytest.mark.parametrize(
    ("measure", "values", "expected"),
    [
        (REGRET, [[1.0, 10.0], [np.nan, 100.0]], [[1.0, 0.5], [1.0, 0.0]]),  # logarithmic
        (REGRET, [[-1.0, 1.0], [np.nan, 3.0]], [[1.0, 0.5], [1.0, 0.0]]),  # which these cannot be
        (REWARD, [[1.0, 10.0], [np.nan, 100.0]], [[0.0, 1 / 11], [1.0, 1.0]]),
        (REWARD, [[-200.0, -150.0], [np.nan, -100.0]], [[0.0, 0.5], [1.0, 1.0]]),
        (REWARD._replace(by_column=True), [[1.0, 10.0], [np.nan, 100.0]], [[1.0, 0.0], [1.0, 1.0]]),
        (REWARD, [[7.0, 7.0], [7.0, 7.0]], [[1.0, 1.0], [1.0, 1.0]]),
        (REGRET, [[np.nan, np.nan], [np.nan, np.nan]], [[1.0, 1.0], [1.0, 1.0]]),
    ],
)
def test_the_best_is_bright(measure: Measure, values: list[list[float]], expected: list[list[float]]) -> None:
    """One scale for both maps of a grid; a tile without a number is drawn without a colour."""
    maps = [
        HeatMap({"other": i}, "", "x", [None], [1, 2], np.array([row]), None) for i, row in enumerate(values)
    ]
    np.testing.assert_allclose(np.concatenate(compute_shades(maps, measure)), expected)

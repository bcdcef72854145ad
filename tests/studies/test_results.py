"""Runs summed up where something is missing: no episode ended, or there is a single run."""

import numpy as np

from heavytail import statistics
from heavytail.studies.results import Aggregation, Runs, reward_rates

AGGREGATION = Aggregation(confidence=0.9, resamples=200, seed=5)


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
    found = AGGREGATION.median(values)
    assert np.isnan(np.stack(found)[:, 1]).all()
    whole = AGGREGATION.median(values[:, [0, 2]])
    for each, alone in zip(found, whole, strict=True):
        np.testing.assert_array_equal(each[[0, 2]], alone)
    rng = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(3,)))
    expected = statistics.bootstrap_interval(values[:, 0], "median", rng=rng, confidence=0.9, resamples=200)
    assert tuple(AGGREGATION.median(values[:, 0])) == tuple(expected)


def test_a_single_run_has_no_interval() -> None:
    found = AGGREGATION.median(np.array([[1.0, np.nan]]))
    np.testing.assert_array_equal(np.stack(found), [[1.0, np.nan], [np.nan, np.nan], [np.nan, np.nan]])

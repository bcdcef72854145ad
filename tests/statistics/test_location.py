"""Where runs lie and how they spread: against SciPy and NumPy, and what must not change anything."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heavytail import statistics
from heavytail.statistics.location import Statistic, location_of

STATISTICS = get_args(Statistic)
RUNS = st.lists(st.floats(-(2**20), 2**20, width=32), min_size=1, max_size=40)


@given(RUNS)
def test_locations_are_those_of_scipy(values: list[float]) -> None:
    expected = {
        "mean": np.mean(values),
        "median": np.median(values),
        "interquartile_mean": stats.trim_mean(values, 0.25),
    }
    for name in STATISTICS:
        assert location_of(values, name) == pytest.approx(expected[name], rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("n", range(1, 14))
def test_curves_are_taken_checkpoint_by_checkpoint(n: int) -> None:
    curves = np.random.default_rng(n).standard_t(1.1, size=(n, 5))
    np.testing.assert_array_equal(statistics.median(curves), np.median(curves, axis=0))
    np.testing.assert_allclose(
        statistics.interquartile_mean(curves), stats.trim_mean(curves, 0.25, axis=0), rtol=1e-12
    )
    for name in STATISTICS:
        np.testing.assert_array_equal(
            location_of(curves, name), [location_of(curves[:, j], name) for j in range(5)]
        )


def test_the_deviation_has_one_less_in_the_denominator() -> None:
    curves = np.random.default_rng(0).normal(size=(7, 3))
    found = statistics.mean_and_deviation(curves)
    np.testing.assert_allclose(found.mean, curves.sum(axis=0) / 7, rtol=1e-14)
    np.testing.assert_allclose(
        found.deviation, np.sqrt(((curves - curves.mean(axis=0)) ** 2).sum(axis=0) / 6), rtol=1e-14
    )


@given(RUNS, st.integers(-1000, 1000), st.sampled_from([0.25, 2.0, 1024.0]))
def test_the_order_of_runs_changes_no_bit_and_shift_and_scale_carry_over(
    values: list[float], shift: int, scale: float
) -> None:
    x = np.array(values)
    mixed = np.random.default_rng(len(values)).permutation(x)
    for name in STATISTICS:
        found = location_of(x, name)
        assert location_of(mixed, name) == found
        assert location_of(scale * x, name) == scale * found
        assert location_of(x + shift, name) == pytest.approx(found + shift, rel=1e-9, abs=1e-9)
        assert location_of(-x, name) == pytest.approx(-found, rel=1e-12, abs=1e-9)


def test_outliers_move_the_mean_only() -> None:
    x = np.arange(20.0)
    wild = np.concatenate([x[:-4], [1e300] * 4])
    assert statistics.median(wild) == statistics.median(x)
    assert statistics.interquartile_mean(wild) == statistics.interquartile_mean(x)
    assert location_of(wild, "mean") > 1e299


# Bands


@given(RUNS, st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5))
def test_quantiles_are_those_of_numpy_in_any_order_of_runs(values: list[float], levels: list[float]) -> None:
    found = statistics.quantiles(values, levels)
    np.testing.assert_array_equal(found, np.quantile(values, levels))
    np.testing.assert_array_equal(found, statistics.quantiles(values[::-1], levels))


def test_a_band_holds_the_part_of_the_runs_it_names() -> None:
    curves = np.random.default_rng(1).standard_t(1.1, size=(1001, 4))
    for band, part in (
        (statistics.quantile_band(curves), 0.5),
        (statistics.quantile_band(curves, 0.1, 0.4), 0.3),
        (statistics.central_band(curves, 0.9), 0.9),
    ):
        inside = ((curves >= band.low) & (curves <= band.high)).mean(axis=0)
        np.testing.assert_allclose(inside, part, rtol=0, atol=0.002)
    np.testing.assert_array_equal(statistics.central_band(curves, 0.5), statistics.quantile_band(curves))


def test_of_one_number_per_run_one_number_comes_back() -> None:
    x, rng = np.arange(5.0), np.random.default_rng(0)
    found = [
        *(location_of(x, name) for name in STATISTICS),
        *statistics.mean_and_deviation(x),
        *statistics.quantile_band(x),
        *statistics.bootstrap_interval(x, rng=rng, resamples=100),
        *statistics.improvement_interval(x, x, rng=rng, resamples=100),
        *statistics.heavy.median_interval(x),
    ]
    assert all(isinstance(value, float) for value in found)

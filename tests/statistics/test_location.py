"""Where runs lie and how they spread: against SciPy and NumPy, and what must not change anything."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heavytail import registry, statistics
from heavytail.statistics.location import Location, location_of, two_groups
from support.registry_copy import copy_registry

STATISTICS = ("mean", "median", "interquartile_mean")
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


@given(RUNS, st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5))
def test_quantiles_are_those_of_numpy_in_any_order_of_runs(values: list[float], levels: list[float]) -> None:
    found = statistics.quantiles(values, levels)
    np.testing.assert_array_equal(found, np.quantile(values, levels))
    np.testing.assert_array_equal(found, statistics.quantiles(values[::-1], levels))


def test_of_one_number_per_run_one_number_comes_back() -> None:
    x, rng = np.arange(5.0), np.random.default_rng(0)
    found = [
        *(location_of(x, name) for name in STATISTICS),
        *statistics.mean_and_deviation(x),
        *statistics.quantiles(x, [0.25, 0.75]),
        *statistics.bootstrap_interval(x, rng=rng, resamples=100),
        statistics.probability_of_improvement(x, x),
        *statistics.heavy.median_interval(x),
    ]
    assert all(isinstance(value, float) for value in found)


def test_a_statistic_from_outside_is_used_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """One registration: it is computed, resampled and permuted like heavytail's own."""
    copy_registry(monkeypatch)

    @registry.register("statistic", "midrange")
    def midrange() -> Location:
        return Location(lambda rows: 0.5 * (rows.min(axis=-1) + rows.max(axis=-1)))

    x, rng = np.array([0.0, 1.0, 4.0, 6.0]), np.random.default_rng(0)
    assert location_of(x, "midrange") == 3.0
    np.testing.assert_array_equal(location_of(np.stack([x, 2.0 * x], axis=1), "midrange"), [3.0, 6.0])
    interval = statistics.bootstrap_interval(x, "midrange", rng=rng, resamples=100)
    assert interval.estimate == 3.0
    assert interval.low >= 0.0
    assert interval.high <= 6.0
    assert statistics.permutation_test(x + 10.0, x, "midrange", rng=rng).effect == 10.0
    assert statistics.paired_permutation_test(x + 10.0, x, "midrange", rng=rng).p_value == 1 / 16


LAWS: dict[str, Callable[[np.random.Generator, Any], Any]] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "uniform": lambda rng, size: rng.random(size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "log-normal": lambda rng, size: rng.lognormal(size=size),
    "student": lambda rng, size: rng.standard_t(2.0, size=size),
    "pareto": lambda rng, size: rng.pareto(1.5, size=size),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [4, 5, 10, 20])
def test_one_law_is_seldom_split(law: str, n: int) -> None:
    """At most 6% as the docstring says: more than 30 of 300 samples then come with probability 0.002."""
    samples = LAWS[law](np.random.default_rng(0), (300, n))
    assert sum(two_groups(sample) is not None for sample in samples) <= 30


@pytest.mark.parametrize("n", [5, 10, 20])
def test_runs_that_got_stuck_are_told_from_others(n: int) -> None:
    """With two in five stuck at thirty times the deviation: nearly always."""
    rng, stuck = np.random.default_rng(1), np.arange(n) < 2 * n // 5
    found = [two_groups(rng.normal(size=n) + 30.0 * stuck) for _ in range(100)]
    sizes = [(len(split[0]), len(split[1])) for split in found if split is not None]
    assert set(sizes) == {(n - stuck.sum(), stuck.sum())}
    assert len(sizes) >= 80


@given(st.lists(st.floats(-1e9, 1e9), max_size=30))
def test_groups_are_all_values_with_a_gap_between(values: list[float]) -> None:
    found = two_groups(values)
    if found is not None:
        low, high = found
        assert [*low, *high] == sorted(values)
        assert high[0] - low[-1] > 0.1 * max(map(abs, values))
        assert min(len(low), len(high)) >= max(2, 0.2 * len(values))


def test_differences_that_matter_to_nobody_and_infinite_values_are_no_groups() -> None:
    assert two_groups([100.0, 100.0, 101.0, 101.0]) is None
    assert two_groups([1.0, 1.0, np.inf, np.inf]) is None
    assert two_groups([1.0, 1.0, 2.0, 2.0]) is not None

"""Order statistics: against SciPy, what they promise for every law, and infinite values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import heavytail as ht
from heavytail.errors import InputError
from heavytail.statistics import heavy

RUNS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)
LEVELS = st.floats(0.02, 0.98)


@given(RUNS, LEVELS)
def test_the_quantile_parts_the_runs(values: list[float], level: float) -> None:
    found, n = heavy.quantile(values, level), len(values)
    assert sum(x <= found for x in values) >= level * n - 1e-6
    assert sum(x >= found for x in values) >= (1.0 - level) * n - 1e-6
    assert heavy.quantile(values[::-1], level) == found
    assert heavy.quantile(4.0 * np.array(values), level) == pytest.approx(4.0 * found, rel=1e-12)


@pytest.mark.parametrize("n", range(1, 12))
def test_quantiles_are_those_of_numpy(n: int) -> None:
    x = np.random.default_rng(n).standard_cauchy((n, 4))
    np.testing.assert_allclose(heavy.median(x), np.median(x, axis=0), rtol=1e-14)
    for level in (1e-12, 0.07, 0.25, 0.5, 0.9, 1.0 - 1e-12):
        np.testing.assert_allclose(
            heavy.quantile(x, level),
            np.quantile(x, level, axis=0, method="averaged_inverted_cdf"),
            rtol=1e-14,
        )
    hundred = np.arange(1.0, 101.0)
    assert heavy.quantile(hundred, 0.07) == 7.5  # although 100 * 0.07 is more than 7


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
def test_the_interval_is_scipys(level: float, confidence: float) -> None:
    for n in (1, 4, 6, 13, 30, 101):
        x = np.random.default_rng(n).standard_cauchy(n)
        low, high = stats.quantile_test(x, p=level).confidence_interval(confidence)
        found = heavy.quantile_interval(x, level, confidence=confidence)
        assert found.low == (-math.inf if math.isnan(low) else low)
        assert found.high == (math.inf if math.isnan(high) else high)


@pytest.mark.parametrize(("n", "level"), [(5, 0.5), (6, 0.5), (30, 0.5), (30, 0.9), (200, 0.25)])
def test_coverage_is_what_the_binomial_law_says_whatever_the_tail(n: int, level: float) -> None:
    """8,000 columns of Student t samples with 1.1 degrees of freedom: bounds missed once in 100,000 times."""
    truth = stats.t(1.1).ppf(level)
    found = heavy.quantile_interval(
        np.random.default_rng(n).standard_t(1.1, size=(n, 8000)), level, confidence=0.9
    )
    below, above = int((truth < found.low).sum()), int((truth > found.high).sum())
    ranks = heavy.quantile_interval(np.arange(1.0, n + 1.0), level, confidence=0.9)
    miss_below = stats.binom.cdf(ranks.low - 1, n, level) if math.isfinite(ranks.low) else 0.0
    miss_above = stats.binom.sf(ranks.high - 1, n, level) if math.isfinite(ranks.high) else 0.0
    assert max(miss_below, miss_above) <= 0.05
    for missed, probability in ((below, miss_below), (above, miss_above)):
        low, high = stats.binom.ppf([5e-6, 1.0 - 5e-6], 8000, probability) if probability else (0, 0)
        assert low <= missed <= high
    assert (
        stats.binom.cdf(max(float(ranks.low), 0.0), n, level) > 0.05
    )  # one rank narrower would break the promise
    assert stats.binom.sf(min(float(ranks.high), n + 1.0) - 2.0, n, level) > 0.05


def test_the_interval_holds_for_values_with_ties() -> None:
    x = np.random.default_rng(0).integers(0, 3, size=(21, 5000))
    found = heavy.median_interval(x)
    assert ((found.low <= 1.0) & (found.high >= 1.0)).mean() >= 0.95


def test_the_median_of_realised_returns_is_known_where_their_mean_is_not() -> None:
    law = ht.laws.alpha_stable(alpha=1.1, loc=2.0)
    returns = law.sample(400 * 100, seed=0).reshape(400, 100)
    found = heavy.median_interval(returns)
    assert (found.high - found.low).max() < 1.0
    assert np.ptp(returns.mean(axis=0)) > 5.0


def test_infinite_values_are_legal() -> None:
    x = [-math.inf, 1.0, 2.0, 3.0, math.inf, math.inf]
    assert heavy.median(x) == 2.5
    assert heavy.quantile(x, 0.9) == math.inf
    assert heavy.quantile(x, 0.1) == -math.inf
    assert [float(v) for v in heavy.median_interval(x, confidence=0.7)] == [2.5, 1.0, math.inf]
    with pytest.raises(InputError, match=r"values has no quantile of level 0\.5"):
        heavy.median([-math.inf, math.inf])


def test_too_few_values_have_an_infinite_interval() -> None:
    """Of five values the least is above the median once in 32 times, which is more than 2.5 %."""
    assert [float(v) for v in heavy.median_interval(np.arange(5.0))] == [2.0, -math.inf, math.inf]
    assert [float(v) for v in heavy.median_interval(np.arange(6.0))] == [2.5, 0.0, 5.0]

"""The probability of improvement: against SciPy and rliable, and what it does not depend on."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heavytail import statistics

TIED = st.lists(st.integers(-5, 5), min_size=1, max_size=20)


@given(TIED, TIED)
def test_it_is_the_mann_whitney_statistic(a: list[int], b: list[int]) -> None:
    found = statistics.probability_of_improvement(a, b)
    assert found == stats.mannwhitneyu(a, b, method="asymptotic").statistic / (len(a) * len(b))
    assert found == np.mean([[(x > y) + 0.5 * (x == y) for y in b] for x in a])


@given(TIED, TIED)
def test_only_the_order_matters(a: list[int], b: list[int]) -> None:
    found = statistics.probability_of_improvement(a, b)
    assert statistics.probability_of_improvement(b, a) == pytest.approx(1.0 - found, abs=1e-15)
    assert statistics.probability_of_improvement(a[::-1], sorted(b)) == found
    assert statistics.probability_of_improvement(np.exp(a), np.exp(b)) == found


def test_infinite_values_are_compared_like_others() -> None:
    assert statistics.probability_of_improvement(
        [math.inf, 1.0], [-math.inf, 0.0, math.inf]
    ) == pytest.approx((2.5 + 2.0) / 6.0)


def test_averaged_over_tasks_it_is_rliables() -> None:
    """From rliable 1.2.0: its probability of improvement of these scores, averaged over the tasks."""
    rng = np.random.default_rng(12)
    a, b = rng.standard_t(2, (10, 4)) + 1.0, rng.standard_t(2, (12, 4))
    b[3] = a[3]
    assert statistics.probability_of_improvement(a, b).mean() == pytest.approx(0.7604166666666666, rel=1e-12)


def test_curves_are_taken_checkpoint_by_checkpoint() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(6, 3)), rng.normal(size=(9, 3))
    expected = [statistics.probability_of_improvement(a[:, j], b[:, j]) for j in range(3)]
    np.testing.assert_array_equal(statistics.probability_of_improvement(a, b), expected)

"""Permutation tests: against SciPy and against fractions, their size on null data, and their power."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heavytail import statistics
from heavytail.statistics import inputs, permutation
from heavytail.statistics.location import Statistic, find_statistic
from support.examples import examples

STATISTICS = ("mean", "median", "interquartile_mean")
TESTS = (statistics.permutation_test, statistics.paired_permutation_test)


ON_ROWS: dict[str, Callable[..., Any]] = {
    "mean": np.mean,
    "median": np.median,
    "interquartile_mean": lambda x, axis: stats.trim_mean(x, 0.25, axis=axis),
}


def exactly(values: list[Fraction], name: Statistic) -> Fraction:
    """A statistic without rounding."""
    k = find_statistic(name).trimmed(len(values))
    kept = sorted(values)[k : len(values) - k]
    return sum(kept, Fraction(0)) / len(kept)


# Against others


@pytest.mark.parametrize("name", STATISTICS)
def test_all_splits_give_the_p_value_of_scipy(name: Statistic) -> None:
    rng = np.random.default_rng(0)
    for n, m in ((5, 7), (2, 6), (8, 8)):
        a, b = rng.standard_t(2, n) + 0.5, rng.standard_t(2, m)
        found = statistics.permutation_test(a, b, name, rng=rng)
        of_rows = ON_ROWS[name]
        expected = stats.permutation_test(
            (a, b),
            lambda x, y, axis, of_rows=of_rows: of_rows(x, axis=axis) - of_rows(y, axis=axis),
            alternative="greater",
            n_resamples=np.inf,
        )
        assert found.p_value == expected.pvalue
        assert found.effect == pytest.approx(expected.statistic, rel=1e-12)
        assert (found.exact, found.permutations) == (True, math.comb(n + m, n))


@pytest.mark.parametrize("name", STATISTICS)
def test_all_signs_give_the_p_value_of_scipy(name: Statistic) -> None:
    rng = np.random.default_rng(1)
    for n in (2, 6, 11):
        a, b = rng.standard_t(2, n) + 0.5, rng.standard_t(2, n)
        found = statistics.paired_permutation_test(a, b, name, rng=rng)
        expected = stats.permutation_test(
            (a - b,), ON_ROWS[name], permutation_type="samples", alternative="greater", n_resamples=np.inf
        )
        assert found.p_value == expected.pvalue
        assert found.effect == pytest.approx(expected.statistic, rel=1e-12)
        assert found.probability_of_improvement == (a > b).mean()
        assert (found.exact, found.permutations) == (True, 2**n)


DECIMALS = st.lists(st.integers(-30, 30), min_size=1, max_size=5)


@given(DECIMALS, DECIMALS, st.sampled_from([0, 10**6]), st.sampled_from(STATISTICS))
@examples(50)
def test_ties_are_ties_although_decimals_round(
    a: list[int], b: list[int], shift: int, name: Statistic
) -> None:
    """Tenths, also on top of a million: what is equal as a fraction counts as equal."""
    exact_a, exact_b = ([Fraction(x, 10) + shift for x in values] for values in (a, b))
    pooled, n = [*exact_a, *exact_b], len(a)
    effect = exactly(exact_a, name) - exactly(exact_b, name)
    splits = [set(chosen) for chosen in combinations(range(len(pooled)), n)]
    nulls = [
        exactly([pooled[i] for i in chosen], name)
        - exactly([x for i, x in enumerate(pooled) if i not in chosen], name)
        for chosen in splits
    ]
    found = statistics.permutation_test(
        [float(x) for x in exact_a], [float(x) for x in exact_b], name, rng=np.random.default_rng(0)
    )
    assert found.p_value == sum(null >= effect for null in nulls) / len(nulls)
    assert found.effect == pytest.approx(float(effect), abs=1e-6)


@given(
    st.lists(st.tuples(st.integers(-30, 30), st.integers(-30, 30)), min_size=1, max_size=6),
    st.sampled_from([0, 10**6]),
    st.sampled_from(STATISTICS),
)
@examples(50)
def test_ties_are_ties_in_pairs_too(pairs: list[tuple[int, int]], shift: int, name: Statistic) -> None:
    differences = [Fraction(x - y, 10) for x, y in pairs]
    effect = exactly(differences, name)
    nulls = [
        exactly([sign * d for sign, d in zip(signs, differences, strict=True)], name)
        for signs in product((1, -1), repeat=len(pairs))
    ]
    a, b = np.array(pairs).T / 10 + shift
    found = statistics.paired_permutation_test(a, b, name, rng=np.random.default_rng(0))
    assert found.p_value == sum(null >= effect for null in nulls) / len(nulls)
    assert found.probability_of_improvement == pytest.approx(
        np.mean([(x > y) + 0.5 * (x == y) for x, y in pairs])
    )


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("name", ["median", "interquartile_mean"])
def test_an_outlier_does_not_blur_the_others(
    test: Callable[..., statistics.Comparison], name: Statistic
) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(1.0, 1.0, size=7), rng.normal(size=7)
    found = []
    for outlier in (1e2, 1e18):
        a[0] = outlier
        found.append(test(a, b, name, rng=rng))
    assert found[0] == found[1]
    assert found[0].p_value < 0.2


# Drawn permutations


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("name", STATISTICS)
def test_drawn_permutations_estimate_the_exact_p_value(
    test: Callable[..., statistics.Comparison], name: Statistic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 20,000 draws the standard error is at most 0.0035; four of them are missed once in 16,000 times."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.7, 1.0, size=8), rng.normal(size=8)
    exact = test(a, b, name, rng=rng)
    monkeypatch.setattr(permutation, "MAX_EXACT", 0)
    drawn = test(a, b, name, rng=rng)
    error = math.sqrt(exact.p_value * (1.0 - exact.p_value) / 20_000)
    assert 0.02 < exact.p_value < 0.5
    assert drawn.p_value == pytest.approx(exact.p_value, abs=4.0 * error)
    assert (exact.exact, drawn.exact, drawn.permutations) == (True, False, 20_000)
    assert drawn.effect == exact.effect


@pytest.mark.parametrize("test", TESTS)
def test_the_p_value_is_never_nought_and_chunks_do_not_matter(
    test: Callable[..., statistics.Comparison], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.arange(30.0)
    assert test(2.0 * x + 100.0, x, rng=np.random.default_rng(0), resamples=999).p_value == 1.0 / 1000.0
    assert test(x, 2.0 * x + 100.0, rng=np.random.default_rng(0), resamples=999).p_value == 1.0
    for n in (6, 30):
        mixed = np.random.default_rng(1).permutation(x[:n])
        whole = test(mixed, x[:n] - 0.3, rng=np.random.default_rng(0), resamples=999)
        for values_at_once in (1, 500):
            with monkeypatch.context() as patch:
                patch.setattr(inputs, "MAX_VALUES", values_at_once)
                assert test(mixed, x[:n] - 0.3, rng=np.random.default_rng(0), resamples=999) == whole


def test_up_to_twenty_thousand_are_gone_through() -> None:
    x, rng = np.arange(17.0), np.random.default_rng(0)
    unpaired = [statistics.permutation_test(x[:n], x[:8], rng=rng, resamples=99).permutations for n in (8, 9)]
    paired = [
        statistics.paired_permutation_test(x[:n], x[:n], rng=rng, resamples=99).permutations for n in (14, 15)
    ]
    assert (unpaired, paired) == ([12870, 99], [16384, 99])


# What it promises


@given(st.lists(st.integers(-8, 8), min_size=6, max_size=6), st.integers(1, 5), st.sampled_from(STATISTICS))
@examples(30)
def test_over_all_splits_p_values_are_never_too_small(values: list[int], n: int, name: Statistic) -> None:
    """Under the hypothesis each split is as likely: P(p <= t) <= t for each t, exactly."""
    pooled, found = np.array(values, float), []
    for chosen in combinations(range(6), n):
        rest = np.delete(pooled, chosen)
        found.append(
            statistics.permutation_test(
                pooled[list(chosen)], rest, name, rng=np.random.default_rng(0)
            ).p_value
        )
    p = np.sort(found)
    assert (np.arange(1, len(p) + 1) <= p * len(p) + 1e-9).all()


@pytest.mark.parametrize(
    ("test", "n", "resamples", "expected"),
    [
        (statistics.permutation_test, 5, 1, 25 / 252),  # all 252 splits
        (statistics.paired_permutation_test, 8, 1, 25 / 256),  # all 256 signs
        (statistics.permutation_test, 12, 199, 0.1),  # drawn
        (statistics.paired_permutation_test, 16, 199, 0.1),
    ],
)
def test_a_tenth_of_null_comparisons_is_rejected_at_a_tenth(
    test: Callable[..., statistics.Comparison], n: int, resamples: int, expected: float
) -> None:
    """With Cauchy runs and the interquartile mean, which has no ties.

    1,000 repetitions, bounds that a right test misses once in 100,000 times.
    """
    rng = np.random.default_rng(4)
    rejected = sum(
        test(
            rng.standard_cauchy(n), rng.standard_cauchy(n), "interquartile_mean", rng=rng, resamples=resamples
        ).p_value
        <= 0.1
        for _ in range(1000)
    )
    low, high = stats.binom.ppf([5e-6, 1.0 - 5e-6], 1000, expected)
    assert low <= rejected <= high


def test_medians_with_their_ties_err_on_the_safe_side() -> None:
    """At most a tenth: 1,000 repetitions, above the bound once in 100,000 times."""
    rng = np.random.default_rng(5)
    rejected = sum(
        statistics.permutation_test(rng.standard_cauchy(6), rng.standard_cauchy(5), rng=rng).p_value <= 0.1
        for _ in range(1000)
    )
    assert 0 < rejected <= stats.binom.ppf(1.0 - 1e-5, 1000, 0.1)


def test_a_difference_is_found_and_common_seeds_help() -> None:
    """Runs 0.5 better on seeds that differ by much more: 100 repetitions of 12 runs."""
    rng, unpaired, paired = np.random.default_rng(6), 0, 0
    for _ in range(100):
        seed = 3.0 * rng.standard_cauchy(12)
        a, b = seed + 0.5 + 0.3 * rng.normal(size=12), seed + 0.3 * rng.normal(size=12)
        unpaired += statistics.permutation_test(a, b, rng=rng, resamples=199).p_value <= 0.05
        paired += statistics.paired_permutation_test(a, b, rng=rng).p_value <= 0.05
    assert unpaired < 15
    assert paired > 80


@given(DECIMALS, DECIMALS, st.integers(-1000, 1000), st.sampled_from([0.5, 4.0]), st.sampled_from(STATISTICS))
@examples(50)
def test_shift_scale_and_the_order_of_runs_change_nothing_else(
    a: list[int], b: list[int], shift: int, scale: float, name: Statistic
) -> None:
    x, y = np.array(a, float), np.array(b, float)
    found = statistics.permutation_test(x, y, name, rng=np.random.default_rng(0))
    assert statistics.permutation_test(x[::-1], y[::-1], name, rng=np.random.default_rng(0)) == found
    moved = statistics.permutation_test(
        scale * x + shift, scale * y + shift, name, rng=np.random.default_rng(0)
    )
    assert moved.p_value == found.p_value
    assert moved.effect == pytest.approx(scale * found.effect, abs=1e-9)
    assert found.cliffs_delta == pytest.approx(np.sign(x[:, None] - y).mean(), abs=1e-12)


# Several tests


def test_holm_is_that_of_statsmodels() -> None:
    """From statsmodels 0.15.0: ``multipletests(p, method="holm")[1]``."""
    found = statistics.holm([0.01, 0.04, 0.03, 0.005, 0.55, 0.02, 0.03])
    np.testing.assert_allclose(found, [0.06, 0.12, 0.12, 0.035, 0.55, 0.1, 0.12], rtol=1e-12)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=10))
def test_holm_lies_between_nothing_and_bonferroni_and_keeps_the_order(p_values: list[float]) -> None:
    p, found = np.array(p_values), statistics.holm(p_values)
    assert (found >= p).all()
    assert (found <= np.minimum(len(p) * p, 1.0)).all()
    assert (np.diff(found[np.argsort(p)]) >= 0.0).all()
    assert found[p.argmin()] == min(1.0, len(p) * p.min())


def test_holm_errs_in_one_family_in_twenty() -> None:
    """Eight true hypotheses: 1 - (1 - 0.05 / 8)**8 = 0.049 of 2,000 families.

    Bounds missed once in 100,000 times.
    """
    p = np.random.default_rng(7).random((2000, 8))
    wrong = sum((statistics.holm(row) <= 0.05).any() for row in p)
    low, high = stats.binom.ppf([5e-6, 1.0 - 5e-6], 2000, 1.0 - (1.0 - 0.05 / 8) ** 8)
    assert low <= wrong <= high


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

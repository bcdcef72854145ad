"""The sketch against slow twins, its coverage, and what it makes of hostile samples."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

import heavytail as ht
from heavytail.arrays import Floats, record_bytes
from heavytail.estimators._histogram import BINS, HELD, find_bin, inner_edge
from heavytail.estimators.sketch import MIDDLE, SEEN, sketch
from heavytail.estimators.sketch_beliefs import describe_cells
from heavytail.kernels.quantiles import normal_quantile, student_quantile
from heavytail.laws.law import Law
from support.examples import examples

SKETCH: Any = ht.estimators.sketch


def filled(samples: Any) -> Any:
    estimator = SKETCH()
    estimator.push(samples)
    return estimator


# Slow twins


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=HELD - 1).filter(lambda x: len(set(x)) > 1))
@example([5e-324, 0.0])  # its mean lies between two numbers, and either is as near
@examples(60)
def test_few_samples_have_the_trimmed_mean_of_the_array(values: list[float]) -> None:
    estimator = filled(values)
    estimator.mean(1.0)
    expected = stats.trim_mean(values, 0.25)
    largest = max(map(abs, values))
    error = max(1e-12 * largest, math.ulp(largest))  # among the least numbers, the next is near enough
    assert estimator.record.summary[0, MIDDLE] == pytest.approx(expected, rel=0, abs=error)


@pytest.mark.parametrize("n", [100, 10_000, 300_000])
def test_bins_keep_the_trimmed_mean_to_a_tenth_of_its_error(n: int) -> None:
    x = ht.laws.alpha_stable(1.3, beta=0.7, loc=5.0, scale=3.0).sample(n, seed=n)
    estimator = filled(x)
    estimator.mean(1.0)
    slow = stats.trim_mean(x, 0.25)
    error = 1.5 * stats.iqr(x) / math.sqrt(n)
    assert abs(estimator.record.summary[0, MIDDLE] - slow) < 0.1 * error


def test_every_deviation_is_within_the_edges_of_its_bin() -> None:
    side = BINS // 2
    for y in np.concatenate([np.logspace(-8, 12, 400), -np.logspace(-8, 12, 400)]):
        k = find_bin(y)
        j = k - side if y >= 0 else side - 1 - k
        assert 0 <= j < side
        assert abs(y) >= inner_edge(j)
        assert j == side - 1 or abs(y) < inner_edge(j + 1)


def test_quantiles_are_those_of_scipy() -> None:
    for level in (0.8, 2.0, 5.0, 20.0, 100.0):
        z = stats.norm.isf(math.exp(-level))
        assert normal_quantile(level) == pytest.approx(z, abs=5e-4)
        for freedom in (3.0, 10.0, 100.0):
            exact = stats.t.isf(math.exp(-level), freedom)
            # Far out it is too large, which is on the safe side.
            most = 1.05 if level <= 5.0 else 3.0 if level <= 20.0 else math.inf
            assert 0.97 * exact < student_quantile(z, freedom) < most * exact


@pytest.mark.parametrize("alpha", [1.3, 1.7, 2.5])
def test_the_tail_index_of_pareto_laws_is_found(alpha: float) -> None:
    """The 90% interval holds the index in at least 80 of 100 samples: less has probability 0.1% at 90%."""
    held = 0
    for seed in range(100):
        estimator = filled(ht.laws.pareto(alpha).sample(2000, seed=seed))
        table = describe_cells(estimator.record)
        held += bool(table["right_index_low"][0] <= alpha <= table["right_index_high"][0])
    assert held >= 80


# Coverage, on laws that no constant was chosen on


def weibull(rng: np.random.Generator, n: int) -> Floats:
    return rng.weibull(0.6, n)


def frechet(rng: np.random.Generator, n: int) -> Floats:
    return rng.standard_exponential(n) ** (-1.0 / 1.7)


def two_scales(rng: np.random.Generator, n: int) -> Floats:
    return rng.standard_normal(n) * np.where(rng.random(n) < 0.05, 30.0, 1.0)


def uneven_t(rng: np.random.Generator, n: int) -> Floats:
    x = rng.standard_t(1.6, n)
    return np.where(x > 0.0, 2.0 * x, x)


UNSEEN_LAWS: dict[str, tuple[Callable[[np.random.Generator, int], Any], float]] = {
    "weibull": (weibull, math.gamma(1.0 + 1.0 / 0.6)),
    "frechet": (frechet, math.gamma(1.0 - 1.0 / 1.7)),
    "two_scales": (two_scales, 0.0),
    "uneven_t": (uneven_t, 0.5 * float(stats.t(1.6).expect(lambda x: 2.0 * x, lb=0.0))),
    "geometric": (lambda rng, n: rng.geometric(0.2, n) * 1.0, 5.0),
}


@pytest.mark.parametrize("n", [30, 300, 3000])
@pytest.mark.parametrize("law", sorted(UNSEEN_LAWS))
def test_the_interval_of_a_law_it_was_not_made_for_holds_the_mean(law: str, n: int) -> None:
    """The radius at 90% holds the mean in at least so many of 200 samples, on seeds fixed here.

    At a true coverage of 88% less than 160 has probability 0.1%. Two heavy tails of different scales look
    symmetric for long: there it is 75%, and less than 130 has probability 0.05%.
    """
    draw, true = UNSEEN_LAWS[law]
    rng, held, estimator = np.random.default_rng(n), 0, SKETCH()
    for _ in range(200):
        estimator.reset()
        estimator.push(draw(rng, n))
        held += bool(abs(estimator.mean(math.log(20.0)) - true) <= estimator.radius(math.log(20.0)))
    assert held >= (130 if law == "uneven_t" else 160)


# Equivariance


@pytest.mark.parametrize("law", [ht.laws.pareto(1.5), ht.laws.alpha_stable(1.1), ht.laws.bernoulli(0.2)])
def test_a_power_of_two_scales_estimate_and_radius_exactly(law: Law) -> None:
    x = law.sample(5000, seed=1)
    one, many = filled(x), filled(2.0**40 * x)
    assert many.mean(3.0) == 2.0**40 * one.mean(3.0)
    assert many.radius(3.0) == 2.0**40 * one.radius(3.0)


def test_a_shift_moves_the_estimate_and_not_the_radius() -> None:
    x = ht.laws.pareto(1.5).sample(5000, seed=1)
    one, moved = filled(x), filled(x + 100.0)
    assert moved.mean(3.0) == pytest.approx(one.mean(3.0) + 100.0, rel=1e-9)
    assert moved.radius(3.0) == pytest.approx(one.radius(3.0), rel=1e-6)


# Hostile samples

HOSTILE: dict[str, Any] = {
    "one": [3.0],
    "two": [1.0, 2.0],
    "constant": [7.25] * 1000,
    "constant but for the last": [5.0] * 1000 + [6.0],
    "infinite": [math.inf] * 40,
    "infinite of both signs": [math.inf, -math.inf] * 40,
    "huge": [1e300, -1e300, 1e299] * 30,
    "huge and alike": [1e300] * 30,
    "tiny": [1e-310, 0.0] * 40,
    "integers": list(range(100)),
    "alternating": [1.0, -1.0] * 500,
    "two values far apart": [0.0] * 99 + [1e200] + [0.0] * 99 + [1e200],
    "ever larger": [2.0**k for k in range(0, 900, 3)],
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_samples_give_numbers(name: str) -> None:
    estimator = filled(HOSTILE[name])
    for level in (0.1, 3.0, 30.0, 300.0):
        assert math.isfinite(estimator.mean(level))
        assert estimator.radius(level) >= 0.0
    table = describe_cells(estimator.record)
    assert table["n"][0] == len(HOSTILE[name])


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=80))
@examples(200)
def test_any_samples_give_numbers(values: list[float]) -> None:
    estimator = filled(values)
    assert math.isfinite(estimator.mean(3.0))
    assert estimator.radius(3.0) >= 0.0


def test_a_billion_samples_are_summarised_as_a_thousand_are() -> None:
    """Samples are not pushed one by one: the counts of a thousand are multiplied."""
    x = ht.laws.alpha_stable(1.2, loc=2.0).sample(1000, seed=3)
    few, many = filled(x), filled(x)
    histogram = many.record.histogram
    histogram.counts[:] *= 1_000_000
    histogram.sums[:] *= 1e6
    histogram.n[:] *= 1_000_000
    assert many.mean(3.0) == pytest.approx(2.0, abs=0.5)
    assert 0.0 < many.radius(3.0) < few.radius(3.0)
    assert many.record.summary[0, SEEN] == 1e9


def test_a_full_bin_counts_no_more() -> None:
    estimator = filled(np.arange(100.0))
    histogram = estimator.record.histogram
    full = int(np.flatnonzero(histogram.counts[0])[3])
    histogram.counts[0, full] = 2**32 - 1
    before = histogram.sums.copy()
    for x in np.arange(100.0):
        estimator.push(x)
    assert histogram.counts[0, full] == 2**32 - 1
    assert histogram.sums[0, full] == before[0, full]
    assert math.isfinite(estimator.mean(3.0))


def test_memory_is_24_bytes_a_cell_and_2500_where_there_is_noise() -> None:
    many, few = record_bytes(sketch(10_000)), record_bytes(sketch(1))
    assert (many - few) / 9999 == 24
    record = sketch(1)
    blocks = record.summary.shape[0]
    pools = [record.summary, record.tails, *(getattr(record.histogram, f) for f in record.histogram.pools())]
    assert sum(pool.nbytes for pool in pools) / blocks + 24 <= 2500

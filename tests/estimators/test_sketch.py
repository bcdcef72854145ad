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
from heavytail.arrays import record_bytes
from heavytail.estimators._histogram import BINS, HELD, find_bin, inner_edge
from heavytail.estimators.sketch import CENTRE, ERROR, FREEDOM, MIDDLE, SCALE, SEEN, SKEWED, sketch
from heavytail.estimators.sketch_beliefs import describe_cells
from heavytail.estimators.sketch_symmetry import log_gamma
from heavytail.kernels.quantiles import normal_quantile, normal_survival, student_quantile, student_score
from heavytail.laws.law import Law
from support.examples import examples
from support.sketch_twin import summarise

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


def test_survival_scores_and_factorials_are_those_of_scipy() -> None:
    for z in (-6.0, -1.0, 0.0, 0.5, 3.0, 20.0):
        assert normal_survival(z) == pytest.approx(stats.norm.sf(z), rel=4e-3)
        assert student_score(student_quantile(z, 7.0), 7.0) == pytest.approx(z, abs=1e-9)
    for x in (0.5, 1.0, 3.7, 1e3, 1e9):
        assert log_gamma(x) == pytest.approx(math.lgamma(x), rel=1e-9, abs=1e-8)


TWIN_LAWS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t 1.5": lambda rng, n: rng.standard_t(1.5, n),
    "Pareto 1.5": lambda rng, n: rng.pareto(1.5, n),
    "-Pareto 1.2": lambda rng, n: -rng.pareto(1.2, n),
    "skewed stable": lambda rng, n: ht.laws.alpha_stable(1.3, beta=0.5).sample(
        n, seed=int(rng.integers(2**40))
    ),
    "rare losses": lambda rng, n: np.where(rng.random(n) < 0.01, -100.0, rng.normal(size=n)),
}


@examples(12)
@given(law=st.sampled_from(sorted(TWIN_LAWS)), n=st.sampled_from([50, 300, 2000]), seed=st.integers(0, 2**32))
def test_the_summary_is_that_of_the_twin(law: str, n: int, seed: int) -> None:
    """Coarse grids and approximate quantiles move the ends of the interval by a fraction of its width.

    They may also stop the search for a threshold one step sooner or later; then the two are of other tails,
    and only the agreement of the intervals as a whole is asked for.
    """
    estimator = filled(TWIN_LAWS[law](np.random.default_rng(seed), n))
    low, high = estimator.interval(0.9)
    row = estimator.record.summary[0]
    samples = TWIN_LAWS[law](np.random.default_rng(seed), n)
    twin = summarise(samples, row[MIDDLE], row[ERROR], row[FREEDOM])
    if abs(row[MIDDLE] + row[SCALE] * row[CENTRE] - twin.centre) < 0.02 * (high - low):
        assert row[SKEWED] == pytest.approx(twin.p, abs=0.05)
        ends = twin.quantile(0.05), twin.quantile(0.95)
        slack = 0.02 * (high - low)
        if samples.min() < low - slack and high + slack < samples.max() and samples.min() < 0 < samples.max():
            assert (low, high) == pytest.approx(ends, abs=0.2 * (high - low))


@pytest.mark.parametrize("alpha", [1.3, 1.7, 2.5])
def test_the_tail_index_of_pareto_laws_is_found(alpha: float) -> None:
    """The 90% interval holds the index in at least 80 of 100 samples: less has probability 0.1% at 90%."""
    held = 0
    for seed in range(100):
        estimator = filled(ht.laws.pareto(alpha).sample(2000, seed=seed))
        table = describe_cells(estimator.record)
        held += bool(table["right_index_low"][0] <= alpha <= table["right_index_high"][0])
    assert held >= 80


# Coverage

Draw = Callable[[np.random.Generator, int], Any]


def with_rare(rest: Draw, p: float, value: Draw) -> Draw:
    """Mix a rare value into the rest."""
    return lambda rng, n: np.where(rng.random(n) < p, value(rng, n), rest(rng, n))


def normal(loc: float = 0.0, scale: float = 1.0) -> Draw:
    return lambda rng, n: rng.normal(loc, scale, n)


def at(value: float) -> Draw:
    return lambda rng, n: np.full(n, value)


# law, mean, samples
BATTERY: dict[str, tuple[Draw, float, int]] = {
    "normal": (normal(), 0.0, 300),
    "uniform": (lambda rng, n: rng.uniform(-1.0, 1.0, n), 0.0, 100),
    "t 1.5": (lambda rng, n: rng.standard_t(1.5, n), 0.0, 1000),
    "5% 30 times as wide": (with_rare(normal(), 0.05, normal(0.0, 30.0)), 0.0, 300),
    "Pareto 1.5": (lambda rng, n: 1.0 + rng.pareto(1.5, n), 3.0, 1000),
    "-Pareto 2.5": (lambda rng, n: -rng.pareto(2.5, n), -2.0 / 3.0, 100),
    "log-normal 1": (lambda rng, n: rng.lognormal(size=n), math.exp(0.5), 1000),
    "Weibull 0.5": (lambda rng, n: rng.weibull(0.5, n), 2.0, 300),
    "exponential": (lambda rng, n: rng.standard_exponential(n), 1.0, 30),
    "Poisson 2": (lambda rng, n: rng.poisson(2.0, n) * 1.0, 2.0, 300),
    "normal, -1000 at 0.1%": (with_rare(normal(), 1e-3, at(-1000.0)), -1.0, 10_000),
    "normal, 1000 at 0.1%": (with_rare(normal(), 1e-3, at(1000.0)), 1.0, 3000),
    "normal, N(30, 60) at 0.2%": (with_rare(normal(), 2e-3, normal(30.0, 60.0)), 0.06, 10_000),
    "normal, -20 at 1%": (with_rare(normal(), 0.01, at(-20.0)), -0.2, 1000),
    "1, -499 at 0.2%": (with_rare(at(1.0), 2e-3, at(-499.0)), 0.0, 6000),
    "Bernoulli 0.01": (with_rare(at(0.0), 0.01, at(1.0)), 0.01, 1000),
    "98% 0, log-normal 1": (
        with_rare(at(0.0), 0.02, lambda rng, n: rng.lognormal(size=n)),
        0.02 * math.exp(0.5),
        1000,
    ),
}


@pytest.mark.parametrize("law", sorted(BATTERY))
def test_the_interval_holds_the_mean(law: str) -> None:
    """The interval of 90% holds the mean in at least 160 of 200 samples, on seeds fixed here.

    At a true coverage of 88% less has probability 0.1%, at 85% 2.5%; docs/accuracy.md has the whole battery.
    """
    draw, true, n = BATTERY[law]
    rng, held, estimator = np.random.default_rng(list(law.encode())), 0, SKETCH()
    for _ in range(200):
        estimator.reset()
        estimator.push(draw(rng, n))
        low, high = estimator.interval(0.9)
        held += bool(low - 1e-12 <= true <= high + 1e-12)
    assert held >= 160


def test_the_error_falls_as_the_sample_means() -> None:
    """With a finite variance: at n = 100,000, where rare losses were seen a hundred times, in 20 samples."""
    draw = with_rare(normal(), 1e-3, at(-1000.0))
    own, plain, estimator = [], [], SKETCH()
    for seed in range(20):
        x = draw(np.random.default_rng(seed), 100_000)
        estimator.reset()
        estimator.push(x)
        own.append(abs(estimator.mean() + 1.0))
        plain.append(abs(x.mean() + 1.0))
    assert np.median(own) <= 1.2 * np.median(plain)


# Range


@examples(100)
@given(
    values=st.lists(st.integers(-3, 3).map(float) | st.floats(-1e3, 1e3), min_size=2, max_size=200),
    repeats=st.integers(1, 30),
)
def test_means_lie_within_the_samples_unless_a_tail_is_heavy(values: list[float], repeats: int) -> None:
    estimator = filled(values * repeats)
    mean, (low, high) = estimator.mean(), estimator.interval(0.9)
    table = describe_cells(estimator.record)
    assert low <= mean <= high
    if not table["left_index"][0] < math.inf:
        assert min(values) <= low
    if not table["right_index"][0] < math.inf:
        assert high <= max(values)
    if min(values) >= 0.0:
        assert low >= 0.0
    if max(values) <= 0.0:
        assert high <= 0.0


def test_a_rare_atom_beside_a_common_one() -> None:
    """3,000 rewards of 1 or -499: the mean is one of the samples' and not certain."""
    x = with_rare(at(1.0), 2e-3, at(-499.0))(np.random.default_rng(0), 3000)
    estimator = filled(x)
    low, high = estimator.interval(0.9)
    assert -499.0 <= low < estimator.mean() < high <= 1.0
    assert estimator.mean() == pytest.approx(x.mean(), abs=0.05)


# Equivariance


@pytest.mark.parametrize("law", [ht.laws.pareto(1.5), ht.laws.alpha_stable(1.1), ht.laws.bernoulli(0.2)])
def test_a_power_of_two_scales_estimate_and_radius_exactly(law: Law) -> None:
    x = law.sample(5000, seed=1)
    one, many = filled(x), filled(2.0**40 * x)
    assert many.mean(3.0) == 2.0**40 * one.mean(3.0)
    assert many.radius(3.0) == 2.0**40 * one.radius(3.0)
    assert many.interval() == tuple(2.0**40 * end for end in one.interval())


@pytest.mark.parametrize("n", [5, 40, 3000])
@pytest.mark.parametrize("law", sorted(TWIN_LAWS))
def test_a_mirror_turns_the_interval_around_and_a_factor_stretches_it(law: str, n: int) -> None:
    x = TWIN_LAWS[law](np.random.default_rng(1), n)
    one, other, larger = filled(x), filled(-x), filled(1e6 * x)
    low, high = one.interval(0.9)
    slack = 1e-6 * (high - low)
    assert other.mean() == pytest.approx(-one.mean(), abs=slack)
    assert other.interval(0.9) == pytest.approx((-high, -low), abs=slack)
    assert larger.interval(0.9) == pytest.approx((1e6 * low, 1e6 * high), abs=1e6 * slack)


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


def test_when_a_bin_is_full_all_are_halved() -> None:
    estimator = filled(np.arange(100.0))
    histogram = estimator.record.histogram
    full = int(np.flatnonzero(histogram.counts[0])[3])
    many = 2**32 - 1
    histogram.sums[0, full] *= many / histogram.counts[0, full]
    histogram.counts[0, full] = many
    counts, means = histogram.counts[0].astype(float), histogram.sums[0] / np.maximum(histogram.counts[0], 1)
    for x in np.arange(100.0):
        estimator.push(x)
    assert histogram.counts[0, full] == pytest.approx(many / 2, rel=1e-6)
    assert ((histogram.counts[0] > 0) == (counts > 0)).all()
    after = histogram.sums[0] / np.maximum(histogram.counts[0], 1)
    assert after[full] == pytest.approx(means[full], rel=1e-6)
    assert math.isfinite(estimator.mean(3.0))


def test_memory_is_24_bytes_a_cell_and_2500_where_there_is_noise() -> None:
    many, few = record_bytes(sketch(10_000)), record_bytes(sketch(1))
    assert (many - few) / 9999 == 24
    record = sketch(1)
    blocks = record.summary.shape[0]
    pools = [record.summary, record.tails, *(getattr(record.histogram, f) for f in record.histogram.pools())]
    assert sum(pool.nbytes for pool in pools) / blocks + 24 <= 2500

"""One index for both tails, against sums in NumPy over a fine grid of indices."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import gamma, iqr

import heavytail as ht
from heavytail.arrays import Floats, Stream
from heavytail.estimators.sketch_indices import (
    COMMON_COLUMNS,
    FIRST_INDEX,
    INDEX_BELOW,
    INDEX_STEP,
    INDICES,
    PROBABILITY,
    draw_excesses,
)
from heavytail.estimators.sketch_tails import (
    BELOW,
    GRID,
    LIGHT,
    MIN_INDEX,
    PRIOR_COUNT,
    PRIOR_SUM,
    RATE,
    STEP,
    SUMS,
    TAIL_COUNT,
)
from heavytail.kernels.compiling import entry
from heavytail.kernels.rng import stream
from heavytail.laws.law import Law

SKETCH: Any = ht.estimators.sketch
INDICES_OF_TWIN = np.linspace(0.3, 6.0, 6000)


def filled(law: Law, n: int, seed: int = 0) -> Any:
    estimator = SKETCH()
    estimator.push(law.sample(n, seed=seed))
    estimator.mean(1.0)
    return estimator.record


def log_integrals(tail: Floats) -> Floats:
    """log of alpha^k sum of b^k e^(-(alpha + 1) S(b)), for each index of the twin."""
    k, b = tail[TAIL_COUNT], tail[RATE] * tail[STEP] ** np.arange(GRID)
    sums = tail[SUMS : SUMS + GRID] - PRIOR_SUM
    terms = k * np.log(b)[:, None] - (INDICES_OF_TWIN + 1.0) * sums[:, None]
    return np.asarray(logsumexp(terms, axis=0) + k * np.log(INDICES_OF_TWIN))


def twin(tails: Floats) -> tuple[float, float, float]:
    """The probability of one index, and the mean and standard deviation of its posterior above the least."""
    prior = gamma(PRIOR_COUNT, scale=1.0 / PRIOR_SUM).logpdf(INDICES_OF_TWIN)
    width = math.log(INDICES_OF_TWIN[1] - INDICES_OF_TWIN[0])
    right, left = log_integrals(tails[0]), log_integrals(tails[1])
    one = logsumexp(prior + right + left) + width
    two = logsumexp(prior + right) + logsumexp(prior + left) + 2.0 * width
    weights = np.exp(prior + right + left - one) * (INDICES_OF_TWIN > MIN_INDEX)
    mean = np.average(INDICES_OF_TWIN, weights=weights)
    sd = math.sqrt(np.average((INDICES_OF_TWIN - mean) ** 2, weights=weights))
    return 1.0 / (1.0 + math.exp(two - one)), float(mean), sd


@pytest.mark.parametrize(
    ("law", "n"),
    [
        (ht.laws.alpha_stable(1.3, beta=0.5), 3000),
        (ht.laws.alpha_stable(1.5, beta=0.7), 30_000),
        (ht.laws.student_t(2.0), 300),
    ],
)
def test_the_posterior_is_that_of_sums_over_a_fine_grid(law: Law, n: int) -> None:
    record = filled(law, n)
    row = record.common[0]
    probability, mean, sd = twin(record.tails[0])
    p = np.diff(row[INDEX_BELOW : INDEX_BELOW + INDICES], prepend=0.0)
    alphas = row[FIRST_INDEX] + row[INDEX_STEP] * np.arange(INDICES)
    assert row[PROBABILITY] == pytest.approx(probability, abs=0.02)
    assert p @ alphas == pytest.approx(mean, abs=0.1 * sd)
    assert math.sqrt(p @ (alphas - p @ alphas) ** 2) == pytest.approx(sd, rel=0.15)


def test_tails_of_different_indices_have_none_in_common() -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random(30_000) < 0.5, rng.pareto(1.3, 30_000), -rng.pareto(4.0, 30_000))
    estimator = SKETCH()
    estimator.push(x)
    estimator.mean(1.0)
    assert estimator.record.common[0, PROBABILITY] < 0.01
    assert estimator.record.common.shape[1] == COMMON_COLUMNS


def _draw(common: Floats, tails: Floats, rng: Stream, out: Floats) -> None:
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1] = draw_excesses(common, tails, 0, rng)


def draws(record: Any, n: int = 4000) -> Floats:
    out = np.zeros((n, 2))
    entry(_draw, record.common, record.tails)(record.common, record.tails, stream(2), out)
    return out


def test_mean_excesses_of_tails_with_one_index_are_drawn_together() -> None:
    record = filled(ht.laws.alpha_stable(1.3, beta=0.5), 3000)
    assert (record.tails[0, :, LIGHT] < 0.01).all()
    record.common[0, PROBABILITY] = 1.0
    together = np.log(draws(record))
    record.common[0, PROBABILITY] = 0.0
    apart = np.log(draws(record))
    assert np.corrcoef(together.T)[0, 1] > 0.3
    assert abs(np.corrcoef(apart.T)[0, 1]) < 5.0 / math.sqrt(len(apart))


def test_draws_of_one_index_have_the_mean_excess_of_the_twin() -> None:
    """The mean of log E Y = -log(b (alpha - 1)), by sums over both grids; 5 standard errors."""
    record = filled(ht.laws.alpha_stable(1.5, beta=0.7), 30_000)
    record.common[0, PROBABILITY] = 1.0
    row, tail = record.common[0], record.tails[0, 0]
    p = np.diff(row[INDEX_BELOW : INDEX_BELOW + INDICES], prepend=0.0)
    alphas = row[FIRST_INDEX] + row[INDEX_STEP] * np.arange(INDICES)
    log_b = np.log(tail[RATE]) + np.arange(GRID) * math.log(tail[STEP])
    expected = 0.0
    for weight, alpha in zip(p, alphas, strict=True):
        if weight > 0.0:
            logs = tail[TAIL_COUNT] * log_b - (alpha + 1.0) * tail[SUMS : SUMS + GRID]
            conditional = np.exp(logs - logsumexp(logs))
            expected += weight * (-(conditional @ log_b) - math.log(alpha - 1.0))
    found = np.log(draws(record)[:, 0])
    assert found.mean() == pytest.approx(expected, abs=5.0 * found.std() / math.sqrt(len(found)))
    assert tail[BELOW + GRID - 1] == pytest.approx(1.0)


def test_one_index_makes_the_mean_of_a_skewed_stable_law_more_certain() -> None:
    """What is uncertain of the index cancels between the tails; by the range of the middle half of draws."""
    ratios = []
    for seed in range(10):
        record, widths = filled(ht.laws.alpha_stable(1.3, beta=0.3), 3000, seed), []
        for probability in (1.0, 0.0):
            record.common[0, PROBABILITY] = probability
            out = draws(record, 1000)
            widths.append(iqr(out @ (record.tails[0, :, TAIL_COUNT] * [1.0, -1.0])))
        ratios.append(widths[0] / widths[1])
    assert np.median(ratios) < 0.8

"""Draws of mean rewards: what cells have in common against slow twins, and the means themselves."""

import math
from typing import NamedTuple, cast

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import heavytail as ht
from heavytail.agents._common_shape import (
    FIRST_OMEGA,
    FIRST_TAU,
    MIN_TESTED,
    OMEGAS,
    POOLED,
    PRIOR_PRECISION,
    SKEW_PRIOR,
    STEP,
    SYMMETRIC,
    TAUS,
    draw_common_shape,
    draw_spread,
    skew_odds,
)
from heavytail.agents._drawn_mdp import draw_mean
from heavytail.agents._index_list import IndexList, new_index_list
from heavytail.arrays import Floats, Indices, Ints, Stream
from heavytail.estimators.sketch import (
    MIDDLE,
    OFFSET,
    OFFSET_ERROR,
    SPREAD,
    SPREAD_ERROR,
    Sketch,
    sketch,
)
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.rng import stream
from heavytail.kernels.verbs import push
from heavytail.laws.law import Law
from support.index_lists import index_list


def sketch_of(samples: Floats) -> Sketch:
    """A sketch of samples [cell, n]."""
    record = sketch(len(samples))
    for cell, row in enumerate(samples):
        for x in row:
            if record.histogram.used[0] == record.summary.shape[0]:
                record = with_larger_pools(record)
            entry(_push, record)(record, cell, float(x))
    return record


def _push(record: Sketch, cell: int, x: float) -> None:
    push(record, cell, x)


class Draws(NamedTuple):
    """What is common of cells, as drawn, and what was drawn of each."""

    tau: Floats  # [n]
    offset: Floats  # [n]
    pooled: Floats  # [n, 3] log spread, its variance between cells, and its noise
    kinds: Ints  # [n, cells]
    spreads: Floats  # [n, cells]
    means: Floats  # [n, cells]
    weights: Floats  # [TAUS] scratch


def _draw(record: Sketch, tried: IndexList, kinds: Indices, pool: IndexList, rng: Stream, out: Draws) -> None:
    for i in range(out.tau.size):
        common = draw_common_shape(record, tried, kinds, pool, out.weights, rng)
        out.tau[i], out.offset[i] = common.tau, common.offset
        out.pooled[i, 0], out.pooled[i, 1] = common.log_spread, common.spread_variance
        out.pooled[i, 2] = common.spread_noise
        for cell in range(kinds.size):
            out.kinds[i, cell] = kinds[cell]
            if kinds[cell] == POOLED and common.known:
                out.spreads[i, cell] = draw_spread(record, cell, common, rng)
            out.means[i, cell] = draw_mean(record, cell, int(kinds[cell]), common, rng)


def draws(record: Sketch, n: int, seed: int = 0) -> Draws:
    """Draw n times."""
    each = (n, record.n.size)
    out = Draws(
        np.zeros(n),
        np.zeros(n),
        np.zeros((n, 3)),
        np.zeros(each, np.int64),
        np.zeros(each),
        np.zeros(each),
        np.zeros(TAUS),
    )
    tried, kinds = index_list(range(record.n.size)), np.zeros(record.n.size, np.uint32)
    pool = new_index_list(record.n.size)
    entry(_draw, record)(record, tried, kinds, pool, stream(seed), out)
    return out


def log_likelihood(x: Floats, variance: Floats, tau: float) -> float:
    """The log likelihood of x ~ N(mu, variance + tau^2), mu ~ N(0, 1 / PRIOR_PRECISION)."""
    covariance = np.diag(variance + tau**2) + 1.0 / PRIOR_PRECISION
    return float(multivariate_normal.logpdf(x, cov=covariance))


def test_tau_has_the_posterior_of_the_normal_model() -> None:
    """Of 4,000 draws, against the likelihoods by their definition; 5 standard errors."""
    x = np.array([ht.laws.pareto(1.5, loc=i).sample(400, seed=i) for i in range(6)])
    record = sketch_of(x)
    found = draws(record, 4000)
    assert (found.kinds == POOLED).all()
    rows, n = record.summary[record.histogram.block], record.n
    o, e = rows[:, OFFSET], rows[:, OFFSET_ERROR]
    variance = np.maximum(e**2, n.sum() / (e**-2.0).sum() / n)
    y = np.log(rows[:, SPREAD])
    noise = np.average(n * rows[:, SPREAD_ERROR] ** 2, weights=n)
    y -= np.average(y, weights=n)
    omegas, taus = FIRST_OMEGA * STEP ** np.arange(OMEGAS), FIRST_TAU * STEP ** np.arange(TAUS)
    alike = log_likelihood(o, variance, 0.0) + log_likelihood(y, noise / n, 0.0)
    apart = np.mean([math.exp(log_likelihood(y, noise / n, omega)) for omega in omegas])
    weights = [math.exp(alike)]
    weights += [math.exp(log_likelihood(o, variance, tau)) * float(apart) / TAUS for tau in taus]
    p = np.array(weights) / sum(weights)
    assert 0.1 < p[0] < 0.9
    for tau, expected in zip([0.0, *taus], p, strict=True):
        assert np.isclose(found.tau, tau).mean() == pytest.approx(expected, abs=5.0 * math.sqrt(0.25 / 4000))


def shares_of_one_law(samples: list[Floats]) -> float:
    """How often cells are drawn as of one law."""
    return float((draws(sketch_of(cast("Floats", samples)), 200).tau == 0.0).mean())


def test_cells_of_one_law_at_several_places_are_drawn_as_such() -> None:
    pareto = [ht.laws.pareto(1.5, loc=i).sample(2000, seed=i) for i in range(8)]
    assert shares_of_one_law(pareto) > 0.8
    assert shares_of_one_law([(1.0 + i) * x for i, x in enumerate(pareto)]) == 0.0
    assert shares_of_one_law([x if i % 2 else -x for i, x in enumerate(pareto)]) == 0.0


def test_the_common_offset_is_drawn_around_the_mean_of_all_and_not_below() -> None:
    record = sketch_of(np.array([ht.laws.pareto(1.5, loc=i).sample(2000, seed=i) for i in range(8)]))
    found = draws(record, 500)
    offset = found.offset[found.tau == 0.0]
    rows = record.summary[record.histogram.block]
    centre = np.average(rows[:, OFFSET], weights=rows[:, OFFSET_ERROR] ** -2.0)
    assert offset.min() == pytest.approx(centre, rel=0.1)
    assert 0.2 < (offset > offset.min()).mean() < 0.8


def test_light_tails_and_symmetric_laws_are_not_pooled() -> None:
    laws = [ht.laws.pareto(1.5), ht.laws.empirical([0.0, 0.0, 0.0, 4.0]), ht.laws.student_t(df=1.5)]
    kinds = draws(sketch_of(np.array([law.sample(1000, seed=0) for law in laws])), 200).kinds
    assert (kinds[:, 0] == POOLED).all()
    assert not (kinds[:, 1] == POOLED).any()
    assert (kinds[:, 2] == SYMMETRIC).mean() > 0.9


@pytest.mark.parametrize("samples", [10, 40])
def test_equal_rewards_with_few_others_are_not_known_without_error(samples: int) -> None:
    """The middle half says that all are 0; one of five is 4."""
    found = draws(sketch_of(np.tile([0.0, 0.0, 4.0, 0.0, 0.0], samples // 5)[None]), 500)
    assert not (found.kinds == SYMMETRIC).any()
    assert found.means.min() > 0.5


def test_spreads_are_pooled_by_the_method_of_moments() -> None:
    x = np.array([(1.0 + i) * ht.laws.pareto(1.8).sample(300 + 100 * i, seed=i)[:300] for i in range(6)])
    record = sketch_of(x)
    found = draws(record, 1)
    assert (found.kinds == POOLED).all()
    rows, n = record.summary[record.histogram.block], record.n
    y = np.log(rows[:, SPREAD])
    noise = np.average(n * rows[:, SPREAD_ERROR] ** 2, weights=n)
    w = n / noise
    q = (w * (y - np.average(y, weights=w)) ** 2).sum()
    variance = max(q - (len(y) - 1.0), 0.0) / (w.sum() - (w * w).sum() / w.sum())
    centre = np.average(y, weights=1.0 / (noise / n + variance))
    assert variance > 0.1
    assert found.pooled[0] == pytest.approx([centre, variance, noise], rel=0.02)


def test_a_cell_of_few_samples_has_the_spread_of_the_others() -> None:
    """Few samples miss the tail; with a spread as small as they show a cell would never be tried again."""
    many = [ht.laws.pareto(1.5).sample(2000, seed=i) for i in range(12)]
    few = np.linspace(1.0, 1.4, 9) ** 2
    record = sketch_of(cast("Floats", [*many, few]))
    found = draws(record, 1000)
    own = float(record.summary[record.histogram.block[-1], SPREAD])
    typical = float(np.median(found.spreads[:, :-1]))
    assert own < 0.4 * typical
    last = found.spreads[found.kinds[:, -1] == POOLED, -1]
    assert np.median(last) == pytest.approx(typical, rel=0.3)


def test_symmetric_cells_are_drawn_around_the_trimmed_mean() -> None:
    x = np.array([ht.laws.student_t(df=1.5, loc=3.0).sample(500, seed=i) for i in range(4)])
    means = draws(sketch_of(x), 500).means
    assert np.abs(np.median(means, axis=0) - 3.0).max() < 0.5
    assert means.std(axis=0).max() < 0.5


def test_draws_of_cells_of_one_shape_move_together() -> None:
    """Pooling: what is uncertain of the common offset cancels in comparisons."""
    x = np.array([ht.laws.pareto(1.5, loc=0.3 * (i == 0)).sample(3000, seed=i) for i in range(20)])
    means = draws(sketch_of(x), 2000).means
    correlations = np.asarray(np.corrcoef(means.T))
    assert correlations[np.triu_indices(20, 1)].mean() > 0.1  # 0 if each were drawn by itself, to within 0.01


def skew_odds_of(law: Law, samples: int) -> float:
    """The odds of skewness that six cells of one law give to others."""
    record, odds = sketch_of(np.array([law.sample(samples, seed=i) for i in range(6)])), np.zeros(1)
    entry(_skew_odds, record)(record, index_list(range(record.n.size)), odds)
    return float(odds[0])


def _skew_odds(record: Sketch, tried: IndexList, odds: Floats) -> None:
    odds[0] = skew_odds(record, tried)


def test_heavy_cells_of_many_samples_tell_others_how_probably_they_are_skewed() -> None:
    symmetric, skewed = ht.laws.student_t(df=1.5), ht.laws.pareto(1.5)
    assert skew_odds_of(symmetric, MIN_TESTED) < 0.4
    assert skew_odds_of(skewed, MIN_TESTED) == pytest.approx((6.0 + SKEW_PRIOR) / SKEW_PRIOR, rel=0.1)


def test_few_samples_say_nothing_of_skewness_elsewhere() -> None:
    assert skew_odds_of(ht.laws.student_t(df=1.5), MIN_TESTED - 1) == 1.0


def test_rare_losses_are_losses_as_soon_as_they_are_seen() -> None:
    """Three losses among 3,000 rewards whose tails are light otherwise: hardly a draw is above 0."""
    x = np.random.default_rng(0).normal(0.1, 1.0, (1, 3000))
    x[0, [500, 1500, 2500]] = -1000.0
    assert (draws(sketch_of(x), 500).means > 0.0).mean() < 0.1


def test_a_skewed_mean_is_drawn_at_or_above_the_centre_of_its_posterior() -> None:
    record = sketch_of(ht.laws.pareto(1.5).sample(1000, seed=0)[None])
    means = draws(record, 500).means[:, 0]
    row = record.summary[0]
    centre = row[MIDDLE] + row[SPREAD] * row[OFFSET]
    assert means.min() == centre
    assert 0.2 < (means > centre).mean() < 0.8

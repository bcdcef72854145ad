r"""The features shared by the laws of skewed cells, drawn once for all of them.

One cell learns slowly how skewed its law is, but cells are often of one shape, and then a common offset of
the mean from the trimmed mean changes no comparison.

**Which cells.** A cell with light tails is drawn as skewed: its mean is known without symmetry, and rare
losses are losses. One with heavy tails is drawn as symmetric or skewed by its sketch's odds, times those of
the other heavy-tailed cells, N_s + a skewed to N_0 + a symmetric ones, where cells count from the samples on
by which skewness would have shown. Heavy-tailed cells drawn as skewed are pooled; light ones say nothing of
them.

**Random effects.** With the spread sigma_c of a cell,

    o_c = (skewed mean - m) / sigma_c  with error e_c,    o_c ~ N(o, tau^2),    o ~ N(0, 10^2),
    log sigma_c  with error c / sqrt(n),    log sigma_c ~ N(log sigma, omega^2),

(Lindley and Smith 1972; Efron and Morris 1975). Few samples miss the tail: offset, spread and the errors of
both are too small, and a good cell would never be tried again. So c is as the cells with many samples have
it, and e_c^2 is at least v / n, v the variance that one sample of the pool leaves.

**One law, moved.** At even odds before, all cells of the pool are one law at several places: tau = omega = 0.
Equal spreads speak for it as equal offsets do, and much sooner. Cells that are skewed to different sides are
not of one law. Else tau is drawn from a grid by its marginal likelihood, and omega found by the method of
moments (DerSimonian and Laird 1986).

**The common offset** is the mean of draws of the cells' own offsets, weighted by their precision, so that it
is as skewed as their posteriors. It is at least its centre, since what is taken for too small would not be
tried again (optimistic sampling; May, Korda, Lee and Leslie 2012).
"""

import math
from typing import NamedTuple

from heavytail.agents._index_list import IndexList, append, item
from heavytail.arrays import Floats, Indices, Stream, U
from heavytail.estimators.sketch import (
    MIDDLE,
    OFFSET,
    OFFSET_ERROR,
    SPREAD,
    SPREAD_ERROR,
    Sketch,
    draw_skewed,
    lightness,
    renew,
    skewness,
)
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import exp, log
from heavytail.kernels.rng import normal, uniform

SYMMETRIC, ALONE, POOLED = range(3)  # what a cell is drawn as; the last two are skewed
MIN_POOLED = 8  # samples from which on a cell counts among the others
MIN_POOLED_CELLS = 2  # fewer have nothing in common
MAX_LIGHT = 0.5  # the probability of light tails up to which a cell is pooled
MIN_TESTED = 1000  # samples from which on skewness would have shown
SKEW_PRIOR = 0.3  # skewed cells, and as many symmetric ones
TAUS = 9
FIRST_TAU = 0.03
OMEGAS = 5
FIRST_OMEGA = 0.1
STEP = 2.0  # of both grids
PRIOR_PRECISION = 0.01  # of the common offset, and of the common log spread
MIN_NOISE = 1e-12  # of a log spread
OFFSETS, SPREADS = 0, 1  # what is measured of a cell


class CommonShape(NamedTuple):
    """The features drawn for the laws of pooled cells."""

    known: bool  # whether cells are pooled at all
    offset: float
    tau: float
    log_spread: float
    spread_variance: float  # of log spreads between cells
    spread_noise: float  # of a log spread that is measured by one sample


class Noise(NamedTuple):
    """The precision of the pool: the uncertainty left by one sample, and where log spreads are."""

    offset: float  # the variance of an offset that one sample leaves, at least
    spread: float  # the same of a log spread
    centre: float  # of log spreads


# Which cells


@kernel
def skew_odds(sketch: Sketch, tried: IndexList) -> float:
    """Renew all summaries, and return the odds that a heavy-tailed law is skewed."""
    skewed, symmetric = SKEW_PRIOR, SKEW_PRIOR
    for k in range(tried.size[0]):
        cell = item(tried, k)
        if sketch.histogram.block[U(cell)] >= 0:
            block = renew(sketch, cell)
            if sketch.histogram.n[U(cell)] >= MIN_TESTED and lightness(sketch, block) <= MAX_LIGHT:
                skewed += skewness(sketch, block)
                symmetric += 1.0 - skewness(sketch, block)
    return skewed / symmetric


@kernel
def draw_kinds(sketch: Sketch, tried: IndexList, kinds: Indices, pool: IndexList, rng: Stream) -> None:
    """Draw which cells are skewed, and list those that are pooled."""
    odds = skew_odds(sketch, tried)
    pool.size[0] = 0
    for k in range(tried.size[0]):
        cell = item(tried, k)
        i, block = U(cell), sketch.histogram.block[U(cell)]
        kinds[i] = SYMMETRIC
        if block < 0:
            continue
        light, skewed = lightness(sketch, block), skewness(sketch, block)
        skewed = odds * skewed / (odds * skewed + 1.0 - skewed)
        if uniform(rng) < light + (1.0 - light) * skewed:
            kinds[i] = ALONE
            if sketch.histogram.n[i] >= MIN_POOLED and light <= MAX_LIGHT:
                kinds[i] = POOLED
                append(pool, cell)


# Random effects


@kernel
def find_noise(sketch: Sketch, pool: IndexList) -> Noise:
    """Return how well a pool that is not empty measures."""
    samples, precision, noise, centre = 0.0, 0.0, 0.0, 0.0
    for k in range(pool.size[0]):
        cell = item(pool, k)
        b, n = U(sketch.histogram.block[U(cell)]), float(sketch.histogram.n[U(cell)])
        error, spread_error = sketch.summary[b, OFFSET_ERROR], sketch.summary[b, SPREAD_ERROR]
        samples += n
        precision += 1.0 / (error * error)
        noise += n * (n * spread_error * spread_error)
        centre += n * log(sketch.summary[b, SPREAD])
    return Noise(samples / precision, max(noise / samples, MIN_NOISE), centre / samples)


@kernel
def measure(sketch: Sketch, cell: int, what: int, noise: Noise) -> tuple[float, float]:
    """Return the offset or the log spread of a cell, and its variance."""
    b, n = U(sketch.histogram.block[U(cell)]), sketch.histogram.n[U(cell)]
    if what == OFFSETS:
        error = sketch.summary[b, OFFSET_ERROR]
        return sketch.summary[b, OFFSET], max(error * error, noise.offset / n)
    return log(sketch.summary[b, SPREAD]) - noise.centre, noise.spread / n


@kernel
def weigh(sketch: Sketch, pool: IndexList, what: int, noise: Noise, tau: float) -> tuple[float, float, float]:
    """Return the precision of what is common, that times its mean, and the log likelihood of tau."""
    precision, total, logs = PRIOR_PRECISION, 0.0, 0.0
    for k in range(pool.size[0]):
        cell = item(pool, k)
        x, variance = measure(sketch, cell, what, noise)
        w = 1.0 / (variance + tau * tau)
        precision += w
        total += w * x
        logs += 0.5 * (log(w) - w * x * x)
    return precision, total, logs + 0.5 * total * total / precision - 0.5 * log(precision)


@kernel
def spread_evidence(sketch: Sketch, pool: IndexList, noise: Noise) -> float:
    """Return the likelihood of spreads that differ, over that of one spread."""
    one, total, omega = weigh(sketch, pool, SPREADS, noise, 0.0)[2], 0.0, FIRST_OMEGA
    for _ in range(OMEGAS):
        total += exp(min(weigh(sketch, pool, SPREADS, noise, omega)[2] - one, 500.0)) / OMEGAS
        omega *= STEP
    return total


@kernel
def one_sided(sketch: Sketch, pool: IndexList) -> bool:
    """Return whether all cells of the pool are skewed to one side."""
    low, high = math.inf, -math.inf
    for k in range(pool.size[0]):
        cell = item(pool, k)
        offset = sketch.summary[U(sketch.histogram.block[U(cell)]), OFFSET]
        low, high = min(low, offset), max(high, offset)
    return not low < 0.0 < high


@kernel
def draw_tau(sketch: Sketch, pool: IndexList, noise: Noise, weights: Floats, rng: Stream) -> float:
    """Draw tau; 0 is of one law at several places. weights [TAUS] is scratch."""
    alike = weigh(sketch, pool, OFFSETS, noise, 0.0)[2]
    most, tau, total = alike, FIRST_TAU, 0.0
    for k in range(TAUS):
        weights[U(k)] = weigh(sketch, pool, OFFSETS, noise, tau)[2]
        most = max(most, weights[U(k)])
        tau *= STEP
    for k in range(TAUS):
        weights[U(k)] = exp(weights[U(k)] - most) / TAUS
        total += weights[U(k)]
    alike = exp(alike - most) / spread_evidence(sketch, pool, noise) if one_sided(sketch, pool) else 0.0
    u = uniform(rng) * (total + alike) - alike
    if u < 0.0:
        return 0.0
    tau, k = FIRST_TAU, 0
    u -= weights[0]
    while k < TAUS - 1 and u >= 0.0:
        k += 1
        u -= weights[U(k)]
        tau *= STEP
    return tau


@kernel
def draw_offset(sketch: Sketch, pool: IndexList, noise: Noise, tau: float, rng: Stream) -> float:
    """Draw the common offset: the mean of what is drawn of each cell, at least its centre."""
    precision, centre, _ = weigh(sketch, pool, OFFSETS, noise, tau)
    total = math.sqrt(PRIOR_PRECISION) * normal(rng)
    for k in range(pool.size[0]):
        cell = item(pool, k)
        block = sketch.histogram.block[U(cell)]
        b = U(block)
        own = (draw_skewed(sketch, block, rng) - sketch.summary[b, MIDDLE]) / sketch.summary[b, SPREAD]
        variance = measure(sketch, cell, OFFSETS, noise)[1]
        total += (own + tau * normal(rng)) / (variance + tau * tau)
    return max(total, centre) / precision


@kernel
def spread_variance(sketch: Sketch, pool: IndexList, noise: Noise) -> float:
    """Return the variance of log spreads between cells, by the method of moments."""
    cells, weights, squares, first, second = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(pool.size[0]):
        cell = item(pool, k)
        y, variance = measure(sketch, cell, SPREADS, noise)
        cells += 1.0
        weights += 1.0 / variance
        squares += 1.0 / (variance * variance)
        first += y / variance
        second += y * y / variance
    excess = second - first * first / weights - (cells - 1.0)
    freedom = weights - squares / weights
    return max(excess, 0.0) / freedom if freedom > 0.0 else 0.0


@kernel
def draw_common_shape(
    sketch: Sketch, tried: IndexList, kinds: Indices, pool: IndexList, weights: Floats, rng: Stream
) -> CommonShape:
    """Renew all summaries, draw of which kind cells are, and what those of the pool have in common.

    kinds [cells] is written for the cells tried, and the pool; weights [TAUS] is scratch.
    """
    draw_kinds(sketch, tried, kinds, pool, rng)
    if pool.size[0] < MIN_POOLED_CELLS:
        return CommonShape(False, 0.0, 0.0, 0.0, 0.0, 0.0)
    noise = find_noise(sketch, pool)
    tau = draw_tau(sketch, pool, noise, weights, rng)
    offset = draw_offset(sketch, pool, noise, tau, rng)
    variance = spread_variance(sketch, pool, noise) if tau > 0.0 else 0.0
    precision, total, _ = weigh(sketch, pool, SPREADS, noise, math.sqrt(variance))
    return CommonShape(True, offset, tau, noise.centre + total / precision, variance, noise.spread)


@kernel
def draw_spread(sketch: Sketch, cell: int, common: CommonShape, rng: Stream) -> float:
    """Draw the spread of a cell, which counts as much as it is measured, and else as those of others."""
    error = common.spread_noise / sketch.histogram.n[U(cell)]
    own = common.spread_variance / (common.spread_variance + error)
    centre = log(sketch.summary[U(sketch.histogram.block[U(cell)]), SPREAD])
    centre = own * centre + (1.0 - own) * common.log_spread
    return exp(centre + math.sqrt(own * error) * normal(rng))

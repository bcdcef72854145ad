r"""Draws of mean rewards from the posteriors of a sketch (`heavytail.estimators.sketch`).

A draw is from the symmetric posterior m + s t or, with the probability that the law is skewed, from the
skewed one. A skewed draw is at least the centre of its posterior, since a mean that is taken for too small
would not be tried again (optimistic sampling; May, Korda, Lee and Leslie 2012).

**Symmetry is shared.** Few samples say little of symmetry, and the skewed posterior is wide. The odds of a
skewed law are therefore those of the other heavy-tailed cells, N_s + a skewed to N_0 + a symmetric ones,
where cells count from the samples on by which skewness would have shown. Light tails say nothing of heavy
ones and do not count.

**Random effects.** One cell learns slowly how skewed its law is, but cells are often of one shape, and then a
common offset of the mean from the trimmed mean changes no comparison. With the spread sigma_c of a cell,

    o_c = (skewed mean - m) / sigma_c  with error e_c,    o_c ~ N(o, tau^2),    o ~ N(0, 10^2),

where cells count by their probability of being skewed. The common o and tau are drawn once for all cells
(tau on a grid, by its marginal likelihood), so that what is uncertain of them cancels in comparisons. A
skewed cell is then

    B (draw of its own) + (1 - B) (m + s t + sigma' (o + tau z)),    B = tau^2 / (tau^2 + e_c^2),

which has the mean and the variance of the posterior of a normal hierarchical model (Lindley and Smith 1972;
Efron and Morris 1975). Spreads are pooled likewise: few samples miss the tail and make a spread too small, by
which a good cell would never be tried again. log sigma_c ~ N(log sigma, omega^2) with error c / sqrt(n), c as
the cells with many samples have it, omega by the method of moments (DerSimonian and Laird 1986), and sigma'
is a draw from the posterior of a cell's spread.
"""

import math
from typing import NamedTuple

from heavytail.arrays import Floats, Stream, U
from heavytail.estimators._common_index import draw_excesses
from heavytail.estimators._symmetry import skew_probability
from heavytail.estimators._tails import EDGE, LEFT, LIGHT, RIGHT, TAIL_COUNT
from heavytail.estimators.sketch import (
    BODY_COUNT,
    BODY_ERROR,
    BODY_MEAN,
    ERROR,
    EVIDENCE,
    FREEDOM,
    MIDDLE,
    OFFSET,
    OFFSET_ERROR,
    ORIGIN,
    SCALE,
    SEEN,
    SPREAD,
    SPREAD_ERROR,
    Sketch,
    renew,
    skewness,
)
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import exp, log
from heavytail.kernels.rng import gamma, normal, uniform

MIN_POOLED = 8  # samples from which on a cell counts among the others
MIN_TESTED = 1000  # samples from which on skewness would have shown
SKEW_PRIOR = 0.3  # skewed cells, and as many symmetric ones
TAUS = 9
FIRST_TAU = 0.03
TAU_STEP = 2.0
OFFSET_PRECISION = 0.01  # of the prior of the common offset
MIN_SHARES = 1.5  # cells, by their probability of being skewed: fewer have nothing in common
NORMAL_FREEDOM = 100.0  # from which on Student's t is a normal
MIN_NOISE = 1e-12  # of a log spread
WEIGHT_PRIOR = 0.5  # samples, added to a tail's


class CommonShape(NamedTuple):
    """What the laws of cells have in common; of skewed cells, as drawn."""

    skew_odds: float  # of a heavy-tailed law
    known: bool  # whether there is enough for the rest, which is of skewed cells
    offset: float
    tau: float
    log_spread: float
    spread_variance: float  # of log spreads between cells
    spread_noise: float  # of a log spread that is measured by one sample


@kernel
def student(rng: Stream, freedom: float) -> float:
    """Draw a Student t variate."""
    if freedom >= NORMAL_FREEDOM:
        return normal(rng)
    return normal(rng) * math.sqrt(0.5 * freedom / max(gamma(rng, 0.5 * freedom), 1e-300))


@kernel
def draw_skewed(sketch: Sketch, block: int, rng: Stream) -> float:
    """Draw a mean from the skewed posterior."""
    tails, b = sketch.tails, U(block)
    count = sketch.summary[b, BODY_COUNT]
    total = sketch.summary[b, BODY_MEAN] + sketch.summary[b, BODY_ERROR] * student(rng, max(count - 1.0, 1.0))
    if tails[b, RIGHT, TAIL_COUNT] + tails[b, LEFT, TAIL_COUNT] > 0.0:
        weight = gamma(rng, count)
        total *= weight
        right, left = draw_excesses(sketch.common, tails, block, rng)
        for side in range(2):
            k = tails[b, U(side), TAIL_COUNT]
            if k > 0.0:
                w = gamma(rng, k + WEIGHT_PRIOR)
                total += w * (tails[b, U(side), EDGE] + (right if side == RIGHT else -left))
                weight += w
        total /= weight
    return sketch.summary[b, ORIGIN] + sketch.summary[b, SCALE] * total


@kernel
def _share(sketch: Sketch, cell: int) -> float:
    """Return how much a cell counts among the skewed ones."""
    block = sketch.histogram.block[U(cell)]
    if block < 0 or sketch.histogram.n[U(cell)] < MIN_POOLED:
        return 0.0
    return skewness(sketch, block)


@kernel
def _weigh(sketch: Sketch, tau: float) -> tuple[float, float, float]:
    """Return the precision of the common offset, that times its mean, and the log likelihood of tau."""
    precision, total, logs = OFFSET_PRECISION, 0.0, 0.0
    for cell in range(sketch.histogram.n.size):
        share = _share(sketch, cell)
        if share > 0.0:
            b = U(sketch.histogram.block[U(cell)])
            offset, error = sketch.summary[b, OFFSET], sketch.summary[b, OFFSET_ERROR]
            w = 1.0 / (error * error + tau * tau)
            precision += share * w
            total += share * w * offset
            logs += 0.5 * share * (log(w) - w * offset * offset)
    return precision, total, logs + 0.5 * total * total / precision - 0.5 * log(precision)


@kernel
def draw_common_shape(sketch: Sketch, weights: Floats, rng: Stream) -> CommonShape:
    """Renew all summaries, and draw what cells have in common; weights [TAUS] is scratch."""
    shares, skewed, symmetric = 0.0, SKEW_PRIOR, SKEW_PRIOR
    for cell in range(sketch.histogram.n.size):
        if sketch.histogram.block[U(cell)] >= 0:
            b = U(renew(sketch, cell))
            share = _share(sketch, cell)
            shares += share
            if sketch.histogram.n[U(cell)] >= MIN_TESTED:
                heavy = 1.0 - sketch.tails[b, RIGHT, LIGHT] * sketch.tails[b, LEFT, LIGHT]
                skewed += heavy * share
                symmetric += heavy * (1.0 - share)
    odds = skewed / symmetric
    if shares < MIN_SHARES:
        return CommonShape(odds, False, 0.0, 0.0, 0.0, 0.0, 0.0)
    most, tau, total = -math.inf, FIRST_TAU, 0.0
    for k in range(TAUS):
        weights[U(k)] = _weigh(sketch, tau)[2]
        most = max(most, weights[U(k)])
        tau *= TAU_STEP
    for k in range(TAUS):
        weights[U(k)] = exp(weights[U(k)] - most)
        total += weights[U(k)]
    u, tau, k = uniform(rng) * total - weights[0], FIRST_TAU, 0
    while k < TAUS - 1 and u >= 0.0:
        k += 1
        u -= weights[U(k)]
        tau *= TAU_STEP
    precision, moment, _ = _weigh(sketch, tau)
    offset = moment / precision + normal(rng) / math.sqrt(precision)
    log_spread, variance, noise = pool_spreads(sketch)
    return CommonShape(odds, True, offset, tau, log_spread, variance, noise)


@kernel
def pool_spreads(sketch: Sketch) -> tuple[float, float, float]:
    """Return the mean of log spreads, their variance between cells, and the noise of one of one sample."""
    shares, weights, squares, first, second, noise = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for cell in range(sketch.histogram.n.size):
        share = _share(sketch, cell)
        if share > 0.0:
            b, n = U(sketch.histogram.block[U(cell)]), float(sketch.histogram.n[U(cell)])
            y, error = log(sketch.summary[b, SPREAD]), sketch.summary[b, SPREAD_ERROR]
            shares += share
            weights += share * n
            squares += share * n * n
            first += share * n * y
            second += share * n * y * y
            noise += share * n * (n * error * error)
    noise = max(noise / weights, MIN_NOISE)
    first /= weights
    excess = max(second - weights * first * first, 0.0) / noise - max(shares - 1.0, 0.0)
    freedom = weights - squares / weights
    variance = max(excess, 0.0) * noise / freedom if freedom > 0.0 else 0.0
    precision, total = 0.0, 0.0
    for cell in range(sketch.histogram.n.size):
        share = _share(sketch, cell)
        if share > 0.0:
            b = U(sketch.histogram.block[U(cell)])
            w = share / (noise / sketch.histogram.n[U(cell)] + variance)
            precision += w
            total += w * log(sketch.summary[b, SPREAD])
    return total / precision, variance, noise


@kernel
def draw_spread(sketch: Sketch, cell: int, common: CommonShape, rng: Stream) -> float:
    """Draw the spread of a cell, which counts as much as it is measured, and else as those of others."""
    error = common.spread_noise / sketch.histogram.n[U(cell)]
    own = common.spread_variance / (common.spread_variance + error)
    centre = log(sketch.summary[U(sketch.histogram.block[U(cell)]), SPREAD])
    centre = own * centre + (1.0 - own) * common.log_spread
    return exp(centre + math.sqrt(own * error) * normal(rng))


@kernel
def draw_mean(sketch: Sketch, cell: int, common: CommonShape, rng: Stream) -> float:
    """Draw the mean of a cell of at least two samples, of which the summary is up to date."""
    block = sketch.histogram.block[U(cell)]
    if block < 0:
        return sketch.histogram.first[U(cell)]
    b, mean, own = U(block), 0.0, 0.0
    evidence, n = sketch.summary[b, EVIDENCE], sketch.summary[b, SEEN]
    skewed = uniform(rng) < skew_probability(evidence, n / common.skew_odds)
    if skewed:
        own = 1.0
        if common.known:
            own = common.tau * common.tau
            own /= own + sketch.summary[b, OFFSET_ERROR] * sketch.summary[b, OFFSET_ERROR]
            own = own if sketch.histogram.n[U(cell)] >= MIN_POOLED else 0.0
    if own < 1.0:
        mean = sketch.summary[b, MIDDLE] + sketch.summary[b, ERROR] * student(rng, sketch.summary[b, FREEDOM])
        if skewed:
            mean += draw_spread(sketch, cell, common, rng) * (common.offset + common.tau * normal(rng))
    if own == 0.0:
        return mean
    centre = sketch.summary[b, MIDDLE] + sketch.summary[b, SPREAD] * sketch.summary[b, OFFSET]
    return own * max(draw_skewed(sketch, block, rng), centre) + (1.0 - own) * mean

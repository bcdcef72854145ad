r"""The tails of a law: generalised Pareto excesses over a threshold, with a posterior of their mean.

**Excesses.** Beyond a threshold far enough out, excesses y over it are generalised Pareto, whatever the law
(Pickands 1975; Balkema and de Haan 1974), and no location enters: with rate b and index alpha

    P(Y > y) = (1 + b y)^-alpha,    E Y = 1 / (b (alpha - 1)).

**Posterior.** Given b, the logarithms log(1 + b y) are exponential with rate alpha. With k excesses,
S(b) = sum log(1 + b y) and the prior alpha ~ Gamma(10, 5), db / b,

    alpha | b ~ Gamma(k + 10, S(b) + 5),    p(b) ~ b^k e^-S(b) (S(b) + 5)^-(k + 10) P(alpha > c | b) db / b,

the second on a grid around its mode (after Zhang and Stephens 2009; the weak prior as in Vehtari et al. 2024,
"Pareto smoothed importance sampling"). The posterior is that given alpha > c = `MIN_INDEX`: below it no mean
could be estimated. Gamma laws are Wilson and Hilferty's cubes of normal scores. Of log E Y and of
eta = log(alpha - 1) mean, variance and covariance are kept, and how skewed the first is.

**Light tails.** An exponential tail, or a narrower one as of atoms, has the mean excess of the samples with
its own error. Its probability is by the Bayes factor of a gamma law of the same variance.

**Gaps.** Where the i farthest samples begin so much farther out than the next one that an index of
`MIN_INDEX` has such a gap with probability 1 / 200, what is beyond is a tail of its own: no law of tails is
drawn across a gap that no tail with a mean has.

**Threshold.** 12 samples, doubled up to n/5 for as long as the index agrees with all before within 1.5
standard errors, or one beyond 3 sqrt(n) samples (Lepski's method; Boucheron and Thomas 2015), and the law
fits the counts of bins (a likelihood ratio within three standard deviations).

**One index.** The tails may have one index in common, as stable laws' have, and then what is uncertain of it
mostly cancels in the mean. Two Gaussians eta of variances v_R and v_L are conditioned on being equal, by the
probability of that against one that differs as the prior says, at even odds.
"""

import math
from typing import NamedTuple

from heavytail.arrays import Floats, U
from heavytail.estimators._histogram import COUNT, FLOOR, HIGH, LEFT, LOW, RIGHT, Atoms, Histogram, X
from heavytail.estimators.sketch_symmetry import log_gamma
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import exp, log
from heavytail.kernels.quantiles import mills_ratio, normal_survival

# Columns of a tail, of a row for the right and one for the left:
TAIL_COUNT = 0  # samples in the tail
EDGE = 1  # how far out it begins
EXCESS = 2  # the mean excess of the samples
EXCESS_ERROR = 3  # its standard error, if the tail is light
LIGHT = 4  # the probability of that
LOG_EXCESS = 5  # the mean of log E Y, of a heavy tail
LOG_ERROR = 6  # its standard deviation
LOG_SKEW = 7  # and its skewness
LARGEST = 8  # the logarithm of the largest mean excess of the grid
ETA = 9  # the mean of eta
ETA_VARIANCE = 10
COVARIANCE = 11  # of eta and log E Y
HAS_MEAN = 12  # P(alpha > MIN_INDEX) without that condition
BIAS = 13  # what 1 / alpha would be more by a quarter of the samples
TAIL_COLUMNS = 14
Y, WEIGHT, WIDTH = range(3)  # rows of excesses: from the edge, how many, and the width of their atom

MIN_SAMPLES = 4.0  # from which on there are tails
TAIL_SHARE = 0.2  # the most samples in a tail: this share of all,
MAX_FIRST_SHARE = 0.3  # or this in an atom that alone makes a tail
FIRST = 12.0  # samples tried first
ROOT = 3.0  # times sqrt(n): up to so many samples
WIDE, NARROW = 1.5, 1.0  # standard errors by which estimates of an index may differ, and beyond
MAX_MISFIT = 3.0
MIN_EXPECTED = 3.0  # samples in a group of bins
MIN_INDEX = 1.05
GAP = math.log(200.0)
MIN_GAP = 1.5  # a ratio of distances, as of the edges of a bin; within one there is no gap to be seen
PRIOR_COUNT = 10.0  # the prior of an index is as of so many excesses
PRIOR_INDEX = 2.0  # of this index
PRIOR_SUM = PRIOR_COUNT / PRIOR_INDEX
PRIOR_LIGHT = 0.1  # odds of a tail as light as an exponential one, or lighter
PRIOR_EVIDENCE = PRIOR_COUNT * math.log(PRIOR_SUM) - math.lgamma(PRIOR_COUNT)
PRIOR_ETA_VARIANCE = 0.5
MAX_LOG_ODDS = 50.0
MIN_SHAPE = 0.01  # of the square of the mean excess: the least variance of excesses
TINY = 1e-100  # a mean excess below it is 0
MIN_MEDIAN = 1e-3  # of the mean excess
LOG_2 = math.log(2.0)
OCTAVES = 13.0  # of rates b tried first,
COARSE = 2.0 * LOG_2  # so far apart,
FIRST_RATE = math.log(64.0)  # the least so much less than one over the median excess
REFINEMENTS = 2  # parabolas
GRID = 9  # rates b,
WIDE_REACH = 6.0  # up to so many standard deviations from the most probable one,
REACH = 4.0  # and then from their mean
SCORES = 9  # of alpha given b,
MAX_SCORE = 3.5
BIN_VARIANCE = 1.0 / 24.0  # half the variance of an even density of width 1


class Tail(NamedTuple):
    """A tail as it is fitted."""

    atoms: int
    samples: float
    edge: float
    mean: float
    shape: float  # the variance of excesses over the square of their mean, at most 1
    log_size: float  # the logarithm of their sum


class Rate(NamedTuple):
    """The most probable log b."""

    log_rate: float
    spread: float  # about its standard deviation
    alpha: float  # the index that goes with it


# Fitting


@subroutine
def fit_tail(
    tails: Floats, excesses: Floats, histogram: Histogram, atoms: Atoms, block: int, side: int
) -> int:
    """Fit one tail; return how many of the atoms it has. excesses [3, BINS] is scratch."""
    tails[U(block), U(side), TAIL_COUNT], tails[U(block), U(side), LIGHT] = 0.0, 1.0
    if atoms.n < MIN_SAMPLES:
        return 0
    limit, gap = find_gap(histogram, atoms, side)
    best, best_rate = Tail(0, 0.0, 0.0, 0.0, 0.0, 0.0), Rate(0.0, 0.0, 0.0)
    target, lowest, highest = min(FIRST, TAIL_SHARE * atoms.n), -math.inf, math.inf
    xi, half, quarter = 0.0, 0.0, 0.0
    while target <= TAIL_SHARE * atoms.n and best.atoms < limit:
        used = _count_atoms(histogram, limit, target, side)
        target *= 2.0
        if used > best.atoms:
            tail = _list_excesses(excesses, histogram, used, used == gap, side)
            rate = _find_rate(excesses, tail, best, best_rate)
            wider = 1.0 / rate.alpha if tail.shape > 0.0 else 0.0
            if best.atoms > 0 and not lowest <= wider <= highest:
                break
            binned = atoms.binned and tail.samples >= 2.0 * FIRST
            if best.atoms > 0 and binned and _misfit(histogram, tail, rate, side) > MAX_MISFIT:
                break
            error = WIDE if tail.samples < ROOT * math.sqrt(atoms.n) else NARROW
            half, quarter = (xi, half) if best.atoms > 0 else (wider, wider)
            xi = wider
            error *= (1.0 + xi) / math.sqrt(tail.samples)
            lowest, highest = max(lowest, xi - error), min(highest, xi + error)
            best, best_rate = tail, rate
    if best.atoms > 0:
        tail = _list_excesses(excesses, histogram, best.atoms, best.atoms == gap, side)
        _store(tails, excesses, tail, best_rate, block, side)
        tails[U(block), U(side), BIAS] = quarter - xi
    return best.atoms


@kernel
def find_gap(histogram: Histogram, atoms: Atoms, side: int) -> tuple[int, int]:
    """Return how many atoms a tail may have, and how many it has where there is a gap, else 0."""
    count, limit, j = 0.0, 0, U(side)
    for k in range(atoms.size - 1):
        count += histogram.atoms[j, COUNT, U(k)]
        if count > (MAX_FIRST_SHARE if k == 0 else TAIL_SHARE) * atoms.n + 1e-9:
            break
        limit = k + 1
        outer, inner = histogram.atoms[j, LOW, U(k)], histogram.atoms[j, HIGH, U(k + 1)]
        ratio = outer / max(inner, 1e-9 * abs(outer), TINY)
        if ratio > MIN_GAP and MIN_INDEX * count * log(ratio) > GAP:
            return limit, limit
    return limit, 0


@kernel
def _count_atoms(histogram: Histogram, limit: int, target: float, side: int) -> int:
    """Return how many atoms hold `target` samples, from the outside; one at least."""
    count, used = 0.0, 0
    while used < limit:
        c = histogram.atoms[U(side), COUNT, U(used)]
        if count + c > target and 3.0 * count >= target:
            break
        count += c
        used += 1
    return used


@kernel
def _list_excesses(excesses: Floats, histogram: Histogram, used: int, at_gap: bool, side: int) -> Tail:
    """List the excesses of so many atoms over the edge of the innermost one, or within the gap inside it."""
    j, last, count, total, squares = U(side), U(used - 1), 0.0, 0.0, 0.0
    edge = histogram.atoms[j, FLOOR, last]
    if at_gap:
        edge = max(histogram.atoms[j, HIGH, U(used)], math.sqrt(0.5) * histogram.atoms[j, X, last])
    for k in range(used):
        i = U(k)
        c, y = histogram.atoms[j, COUNT, i], histogram.atoms[j, X, i] - edge
        excesses[Y, i], excesses[WEIGHT, i] = y, c
        excesses[WIDTH, i] = histogram.atoms[j, HIGH, i] - histogram.atoms[j, LOW, i]
        count += c
        total += c * y
        squares += c * y * y
    mean = total / count
    if not mean > TINY:
        return Tail(used, count, edge, mean, 0.0, 0.0)
    variance = max(squares / count / (mean * mean) - 1.0, 0.0) * count / max(count - 1.0, 1.0)
    return Tail(used, count, edge, mean, min(MIN_SHAPE + variance, 1.0), log(total))


@kernel
def _median_excess(excesses: Floats, tail: Tail) -> float:
    below, k = 0.0, tail.atoms
    while k > 0 and below < 0.5 * tail.samples:
        k -= 1
        below += excesses[WEIGHT, U(k)]
    return excesses[Y, U(k)]


@subroutine
def _sum_logs(excesses: Floats, used: int, b: float) -> float:
    """Return S(b), as if the samples of an atom were spread over it."""
    logs = 0.0
    for k in range(used):
        c, v = excesses[WEIGHT, U(k)], 1.0 + b * excesses[Y, U(k)]
        own, width = c * log(v), b * excesses[WIDTH, U(k)] / v
        if width < 1.0:
            own -= min((c - 1.0) * width * width * BIN_VARIANCE, 0.5 * own)
        logs += own
    return logs


@kernel
def _cube(samples: float, sums: float, z: float) -> float:
    """Return the quantile of Gamma(k + 10, S + 5) at a normal score (Wilson and Hilferty 1931)."""
    a = samples + PRIOR_COUNT
    root = 1.0 - 1.0 / (9.0 * a) + z / (3.0 * math.sqrt(a))
    return a / (sums + PRIOR_SUM) * root * root * root


@kernel
def _least_score(samples: float, sums: float) -> float:
    """Return the normal score of the least index."""
    a = samples + PRIOR_COUNT
    root = exp(log(MIN_INDEX * (sums + PRIOR_SUM) / a) / 3.0)
    return 3.0 * math.sqrt(a) * (root - 1.0 + 1.0 / (9.0 * a))


@kernel
def _log_survival(z: float) -> float:
    if z > 0.0:
        return log(0.3989422804014327 * mills_ratio(z)) - 0.5 * z * z
    return log(normal_survival(z))


@subroutine
def _weigh(excesses: Floats, tail: Tail, log_rate: float) -> tuple[float, float, float]:
    """Return the log posterior of log b relative to an exponential law, S(b), and the least index's score."""
    k, sums = tail.samples, _sum_logs(excesses, tail.atoms, exp(log_rate))
    least = _least_score(k, sums)
    weight = k * (log_rate + tail.log_size) - sums - (k + PRIOR_COUNT) * log(sums + PRIOR_SUM)
    return weight + _log_survival(least), sums, least


@subroutine
def _find_rate(excesses: Floats, tail: Tail, smaller: Tail, known: Rate) -> Rate:
    """Find the most probable log b by parabolas, from that of a smaller tail, or from some far apart."""
    if not tail.shape > 0.0:
        return Rate(0.0, 0.0, 0.0)
    median = max(_median_excess(excesses, tail), MIN_MEDIAN * tail.mean)
    first = -FIRST_RATE - log(max(median, tail.mean))
    width, centre, most, before, after, last = COARSE, first, -math.inf, -math.inf, -math.inf, -math.inf
    tried = int((OCTAVES * LOG_2 - FIRST_RATE - log(median) - first) / COARSE) + 1
    if known.spread > 0.0:
        width, centre, tried = LOG_2, known.log_rate + log(smaller.mean / tail.mean), 0
    for g in range(tried):
        weight = _weigh(excesses, tail, first + g * COARSE)[0]
        if weight > most:
            centre, most, before, after = first + g * COARSE, weight, last, -math.inf
        elif after == -math.inf:
            after = weight
        last = weight
    spread = width
    for k in range(REFINEMENTS):
        if k > 0 or tried == 0:
            most = _weigh(excesses, tail, centre)[0]
            before = _weigh(excesses, tail, centre - width)[0]
            after = _weigh(excesses, tail, centre + width)[0]
        if before > -math.inf and after > -math.inf:
            curvature = max(2.0 * most - before - after, 1e-9)
            centre += max(min(0.5 * width * (after - before) / curvature, width), -width)
            spread = min(width / math.sqrt(curvature), COARSE)
            width = min(spread, 0.5 * width)
    _, sums, least = _weigh(excesses, tail, centre)
    z = 1.0 / mills_ratio(least) if least > 0.0 else 0.0  # the mean score beyond the least one, about
    return Rate(centre, spread, max(_cube(tail.samples, sums, z), MIN_INDEX))


@subroutine
def _misfit(histogram: Histogram, tail: Tail, rate: Rate, side: int) -> float:
    """Return how many standard deviations the likelihood ratio of the counts of bins is too large."""
    ratio, groups, seen, before = 0.0, 0.0, 0.0, 0.0
    for k in range(tail.atoms):
        seen += histogram.atoms[U(side), COUNT, U(k)]
        y = max(histogram.atoms[U(side), FLOOR, U(k)] - tail.edge, 0.0)
        beyond = tail.samples * exp(-rate.alpha * log(1.0 + exp(rate.log_rate) * y))
        expected = max(beyond - before, TINY)
        if expected >= MIN_EXPECTED or k == tail.atoms - 1:
            ratio += 2.0 * (expected - seen + (seen * log(seen / expected) if seen > 0.0 else 0.0))
            groups += 1.0
            before, seen = beyond, 0.0
    freedom = max(groups - 3.0, 1.0)
    return (ratio - freedom) / math.sqrt(2.0 * freedom)


@kernel
def _store(tails: Floats, excesses: Floats, tail: Tail, rate: Rate, block: int, side: int) -> None:
    b, j, k = U(block), U(side), tail.samples
    tails[b, j, TAIL_COUNT], tails[b, j, EDGE], tails[b, j, EXCESS] = k, tail.edge, tail.mean
    tails[b, j, EXCESS_ERROR] = tail.mean * math.sqrt(tail.shape / k)
    for column in range(LOG_EXCESS, TAIL_COLUMNS):
        tails[b, j, U(column)] = 0.0
    if tail.shape > 0.0:
        heavy = _store_moments(tails, excesses, tail, rate, block, side)
        heavy += PRIOR_EVIDENCE + log_gamma(k + PRIOR_COUNT) - log_gamma(k)
        light = (k - 1.0) * (-0.5 * log(tail.shape) - 0.42 * (1.0 - tail.shape))
        odds = PRIOR_LIGHT * exp(min(max(light - heavy, -MAX_LOG_ODDS), MAX_LOG_ODDS))
        tails[b, j, LIGHT] = odds / (1.0 + odds)


@kernel
def _center_rates(excesses: Floats, tail: Tail, rate: Rate) -> tuple[float, float, float]:
    """Return mean, standard deviation and largest weight of log b, on a grid around the most probable."""
    step, total, first, second, most = 2.0 * WIDE_REACH * rate.spread / (GRID - 1), 0.0, 0.0, 0.0, -math.inf
    for g in range(GRID):
        x = rate.log_rate + (g - 0.5 * (GRID - 1)) * step
        weight = _weigh(excesses, tail, x)[0]
        if weight > most:  # keep sums relative to the largest
            scale = exp(most - weight)
            total, first, second, most = total * scale, first * scale, second * scale, weight
        p = exp(weight - most)
        total += p
        first += p * g
        second += p * g * g
    first /= total
    spread = math.sqrt(max(second / total - first * first, 0.1))
    return rate.log_rate + (first - 0.5 * (GRID - 1)) * step, spread * step, most


@subroutine
def _store_moments(tails: Floats, excesses: Floats, tail: Tail, rate: Rate, block: int, side: int) -> float:
    """Find moments of log E Y and eta over a grid of rates and scores of the index; return log evidence."""
    i, j, centre = U(block), U(side), -rate.log_rate - log(rate.alpha - 1.0)
    mean, spread, most = _center_rates(excesses, tail, rate)
    width, evidence, free = 2.0 * REACH * spread / (GRID - 1), 0.0, 0.0
    total, x1, x2, x3, h1, h2, both = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for g in range(GRID):
        log_rate = mean + (g - 0.5 * (GRID - 1)) * width
        weight, sums, least = _weigh(excesses, tail, log_rate)
        p_rate, survival = exp(min(weight - most, 1.0)), _log_survival(least)
        evidence += p_rate
        free += exp(min(weight - most - survival, MAX_LOG_ODDS))
        start = max(-MAX_SCORE, least)
        step = (max(MAX_SCORE, start + 3.0 / max(start, 1.0)) - start) / (SCORES - 1)
        base = weight - most - survival - math.log(math.sqrt(2.0 * math.pi)) + log(step)
        for q in range(SCORES):
            z = start + q * step
            alpha = max(_cube(tail.samples, sums, z), MIN_INDEX)
            p = exp(base - 0.5 * z * z) * (0.5 if q == 0 and start > -MAX_SCORE else 1.0)
            eta = log(alpha - 1.0)
            x = -log_rate - eta - centre  # relative to about its mean, so that no moment cancels
            total += p
            x1 += p * x
            x2 += p * x * x
            x3 += p * x * x * x
            h1 += p * eta
            h2 += p * eta * eta
            both += p * eta * x
    x1, x2, x3, h1, h2, both = x1 / total, x2 / total, x3 / total, h1 / total, h2 / total, both / total
    variance = max(x2 - x1 * x1, 1e-12)
    tails[i, j, LOG_EXCESS], tails[i, j, LOG_ERROR] = centre + x1, math.sqrt(variance)
    third = x3 - 3.0 * x1 * x2 + 2.0 * x1 * x1 * x1
    tails[i, j, LOG_SKEW] = min(max(third / (variance * math.sqrt(variance)), -2.0), 2.0)
    tails[i, j, LARGEST] = REACH * spread - mean - log(MIN_INDEX - 1.0)
    tails[i, j, ETA], tails[i, j, ETA_VARIANCE] = h1, max(h2 - h1 * h1, 1e-12)
    tails[i, j, COVARIANCE] = both - h1 * x1
    tails[i, j, HAS_MEAN] = min(evidence / free, 1.0)
    return most + log(evidence * width)


# One index


@kernel
def fit_common_index(tails: Floats, block: int) -> float:
    """Condition both tails on having one index, as probably as they have; return log E Y's covariance."""
    b = U(block)
    for side in range(2):
        if tails[b, U(side), TAIL_COUNT] == 0.0 or tails[b, U(side), LIGHT] > 0.5:
            return 0.0
    apart = tails[b, RIGHT, ETA] - tails[b, LEFT, ETA]
    variance = tails[b, RIGHT, ETA_VARIANCE] + tails[b, LEFT, ETA_VARIANCE]
    other = variance + 2.0 * PRIOR_ETA_VARIANCE
    odds = math.sqrt(other / variance) * exp(-0.5 * apart * apart * (1.0 / variance - 1.0 / other))
    p, product = odds / (1.0 + odds), -variance
    for side in range(2):
        j, error = U(side), tails[b, U(side), LOG_ERROR]
        slope = tails[b, j, COVARIANCE] / variance * (1.0 if side == RIGHT else -1.0)
        squares = error * error - p * slope * slope * (variance - (1.0 - p) * apart * apart)
        tails[b, j, LOG_ERROR] = math.sqrt(max(squares, 1e-12))
        tails[b, j, LOG_EXCESS] -= p * slope * apart
        product *= slope
    return p * product


# Asking


@kernel
def excess_at(tails: Floats, block: int, side: int, z: float) -> float:
    """Return the mean excess of a tail at a normal score of its posterior, averaged over light and heavy."""
    i, j = U(block), U(side)
    light = tails[i, j, LIGHT]
    excess = light * max(tails[i, j, EXCESS] + z * tails[i, j, EXCESS_ERROR], 0.0)
    if light < 1.0:
        # the 5% and 95% quantiles of Cornish and Fisher
        stretch = 1.0 + (1.0 if z > 0.0 else -1.0) * tails[i, j, LOG_SKEW] * 0.173
        logs = tails[i, j, LOG_EXCESS] + z * stretch * tails[i, j, LOG_ERROR]
        excess += (1.0 - light) * exp(min(logs, tails[i, j, LARGEST]))
    return excess


@kernel
def index_at(tails: Floats, block: int, side: int, z: float) -> float:
    """Return the index of a tail at a normal score of its posterior, infinite for a light tail.

    It is moved by the bias that shows when the threshold is raised, and not above `MIN_INDEX` where that is
    as probable.
    """
    i, j = U(block), U(side)
    if tails[i, j, LIGHT] > 0.5:
        return math.inf
    if normal_survival(-z) <= 1.0 - tails[i, j, HAS_MEAN]:
        return MIN_INDEX
    index, bias = 1.0 + exp(tails[i, j, ETA] + z * math.sqrt(tails[i, j, ETA_VARIANCE])), tails[i, j, BIAS]
    xi = 1.0 / index + (0.0 if bias * z >= 0.0 else bias)
    return max(1.0 / xi, MIN_INDEX) if xi > 0.0 else math.inf

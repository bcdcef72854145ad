r"""The tails of a law: generalised Pareto excesses over a threshold, with a posterior of their mean.

**Excesses.** Beyond a threshold far enough out, excesses y over it are generalised Pareto, whatever the law
(Pickands 1975; Balkema and de Haan 1974), and no location enters: with rate b and index alpha

    P(Y > y) = (1 + b y)^-alpha,    E Y = 1 / (b (alpha - 1)).

**Posterior.** Given b, the logarithms log(1 + b y) are exponential with rate alpha. With k excesses,
S(b) = sum log(1 + b y) and the prior alpha ~ Gamma(10, 5), db / b,

    alpha | b ~ Gamma(k + 10, S(b) + 5),    p(b) ~ b^k e^-S(b) (S(b) + 5)^-(k + 10) db / b,

the second on a grid around its mode (after Zhang and Stephens 2009; the weak prior as in Vehtari et al. 2024,
"Pareto smoothed importance sampling"). Indices below `MIN_INDEX` are excluded: no mean could be estimated.

**Light tails.** An exponential tail, or a narrower one as of atoms, has the mean excess of the samples with
its own error. Its probability is by the Bayes factor of a gamma law of the same variance.

**Threshold.** k = min(n/5, 3 sqrt(n)) samples, doubled up to n/5 for as long as the index agrees with all
before within a standard error (Lepski's method; Boucheron and Thomas 2015).
"""

import math
from typing import NamedTuple

from heavytail.arrays import Floats, Stream, U
from heavytail.estimators._histogram import COUNT, HIGH, LOW, Atoms, Histogram, X
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import exp, log
from heavytail.kernels.rng import gamma, normal, uniform

RIGHT, LEFT = 0, 1  # rows of a block's tails, and their columns:
TAIL_COUNT = 0  # samples in the tail
EDGE = 1  # where it begins
EXCESS = 2  # the mean excess of the samples
EXCESS_ERROR = 3  # its standard error, if the tail is light
LIGHT = 4  # the probability of that
RATE = 5  # the least b of the grid
STEP = 6  # the factor from one b to the next
LOG_EXCESS = 7  # the centre of the posterior of log E Y, of a heavy tail
LOG_ERROR = 8  # its standard deviation
SUMS = 9  # S(b) + 5 for each b of the grid
MIN_SAMPLES = 4.0  # from which on there are tails
TAIL_SHARE = 0.2  # the most samples in a tail: this share of all,
TAIL_ROOT = 3.0  # and at first so many times sqrt(n)
MAX_FIRST_SHARE = 0.3  # of the samples, in an atom that alone makes a tail
AGREEMENT = 1.0  # standard errors by which two estimates of the index may differ
MIN_INDEX = 1.05
MAX_DRAWS = 8  # of an index, before the least is taken
PRIOR_COUNT = 10.0  # the prior of an index is as of so many excesses
PRIOR_INDEX = 2.0  # of this index
PRIOR_SUM = PRIOR_COUNT / PRIOR_INDEX
PRIOR_LIGHT = 0.1  # odds of a tail as light as an exponential one, or lighter
PRIOR_EVIDENCE = PRIOR_COUNT * math.log(PRIOR_SUM) - math.lgamma(PRIOR_COUNT)
MAX_LOG_ODDS = 50.0
MIN_SHAPE = 0.01  # of the square of the mean excess: the least variance of excesses
TINY = 1e-100  # a mean excess below it is 0
MIN_MEDIAN = 1e-3  # of the mean excess
GRID = 12  # rates b
BELOW = SUMS + GRID  # the probability of this b or a smaller one
TAIL_COLUMNS = BELOW + GRID
LOG_STEP = 0.75 * math.log(2.0)  # the widest step of the grid
GRID_WIDTH = 10.0  # of the grid, in standard deviations of log b
FIRST_RATE = 1.0 / 64.0  # the least rate tried, over the median excess
SEARCH = 10  # rates tried, a factor 2 apart
LOG_2 = math.log(2.0)
REFINEMENTS = 2  # parabolas through three values around the largest
BIN_VARIANCE = 1.0 / 24.0  # half the variance of an even density of width 1


class TailFit(NamedTuple):
    """A tail with its posterior's mode, before the grid is filled."""

    atoms: int
    samples: float
    edge: float
    mean: float
    shape: float  # the variance of excesses over the square of their mean, at most 1
    rate: float
    step: float
    xi: float  # 1 / alpha at the mode


# Fitting


@subroutine
def fit_tail(tails: Floats, histogram: Histogram, atoms: Atoms, block: int, side: int) -> int:
    """Fit one tail; return how many of the atoms it has."""
    b, j = U(block), U(side)
    tails[b, j, TAIL_COUNT], tails[b, j, LIGHT] = 0.0, 1.0
    if atoms.n < MIN_SAMPLES:
        return 0
    target = min(TAIL_SHARE * atoms.n, TAIL_ROOT * math.sqrt(atoms.n))
    fit = TailFit(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    lowest, highest = -math.inf, math.inf
    while True:
        used = _count_atoms(histogram, atoms, target, side)
        if used > fit.atoms:
            wider = _fit_excesses(histogram, atoms, used, side)
            if wider.xi < lowest or wider.xi > highest:
                break
            error = AGREEMENT * (1.0 + wider.xi) / math.sqrt(wider.samples)
            lowest, highest = max(lowest, wider.xi - error), min(highest, wider.xi + error)
            fit = wider
        target *= 2.0
        if target > TAIL_SHARE * atoms.n:
            break
    if fit.atoms > 0:
        _store(tails, histogram, atoms, fit, block, side)
    return fit.atoms


@kernel
def _count_atoms(histogram: Histogram, atoms: Atoms, target: float, side: int) -> int:
    """Return how many atoms hold `target` samples, from the outside."""
    size = atoms.size
    if not atoms.binned:
        used = int(min(max(math.floor(target + 0.5), 1.0), size - 1.0))
        edge = histogram.atoms[X, U(size - 1 - used if side == RIGHT else used)]
        while used > 0 and histogram.atoms[X, U(size - used if side == RIGHT else used - 1)] == edge:  # ties
            used -= 1
        return used
    count, used = 0.0, 0
    while used < size - 1:
        c = histogram.atoms[COUNT, U(size - 1 - used if side == RIGHT else used)]
        alone = 3.0 * count < target and count + c <= MAX_FIRST_SHARE * atoms.n
        if count + c > target and not alone:
            break
        count += c
        used += 1
    return used


@kernel
def _edge(histogram: Histogram, atoms: Atoms, used: int, side: int) -> float:
    """Return where a tail of so many atoms begins: at an edge, or at the next sample."""
    if atoms.binned:
        return (
            histogram.atoms[LOW, U(atoms.size - used)]
            if side == RIGHT
            else histogram.atoms[HIGH, U(used - 1)]
        )
    return histogram.atoms[X, U(atoms.size - 1 - used if side == RIGHT else used)]


@subroutine
def _fit_excesses(histogram: Histogram, atoms: Atoms, used: int, side: int) -> TailFit:
    """Find the mode of the posterior of b, and a grid around it."""
    size, sign, edge = atoms.size, 1.0 if side == RIGHT else -1.0, _edge(histogram, atoms, used, side)
    count, total, squares = 0.0, 0.0, 0.0
    for q in range(used):
        k = U(size - 1 - q if side == RIGHT else q)
        c, y = histogram.atoms[COUNT, k], sign * (histogram.atoms[X, k] - edge)
        count += c
        total += c * y
        squares += c * y * y
    mean = total / count
    if not mean > TINY:
        return TailFit(used, count, edge, mean, 0.0, 0.0, 1.0, 0.0)
    variance = max(squares / count / (mean * mean) - 1.0, 0.0) * count / max(count - 1.0, 1.0)
    first = FIRST_RATE / max(_median_excess(histogram, atoms, used, side, edge, count), MIN_MEDIAN * mean)
    best, most, before, after, last, rate = 0, -math.inf, 0.0, 0.0, -math.inf, first
    for g in range(SEARCH):
        weight = _log_weight(histogram, size, used, side, edge, rate, count, mean)
        if weight > most:
            best, most, before, after = g, weight, last, -math.inf
        elif g == best + 1:
            after = weight
        last = weight
        rate *= 2.0
    centre, width, spread = log(first) + best * LOG_2, LOG_2, math.inf
    for _ in range(REFINEMENTS if 0 < best < SEARCH - 1 else 0):
        curvature = 2.0 * most - before - after
        if not curvature > 0.0:
            break
        centre += max(min(0.5 * width * (after - before) / curvature, width), -width)
        spread = width / math.sqrt(curvature)
        width = min(spread, width)
        before = _log_weight(histogram, size, used, side, edge, exp(centre - width), count, mean)
        most = _log_weight(histogram, size, used, side, edge, exp(centre), count, mean)
        after = _log_weight(histogram, size, used, side, edge, exp(centre + width), count, mean)
    step = min(GRID_WIDTH * spread / GRID, LOG_STEP)
    start = centre - 0.5 * (GRID - 1) * step if step < LOG_STEP else log(first)
    logs = _sum_logs(histogram, size, used, side, edge, exp(centre))
    index = (logs + PRIOR_SUM) / (count + PRIOR_COUNT)
    return TailFit(used, count, edge, mean, min(MIN_SHAPE + variance, 1.0), exp(start), exp(step), index)


@kernel
def _median_excess(
    histogram: Histogram, atoms: Atoms, used: int, side: int, edge: float, count: float
) -> float:
    sign, below, excess = 1.0 if side == RIGHT else -1.0, 0.0, 0.0
    for q in range(used):
        k = U(atoms.size - used + q if side == RIGHT else used - 1 - q)
        c, excess = histogram.atoms[COUNT, k], sign * (histogram.atoms[X, k] - edge)
        if below + c >= 0.5 * count:
            if atoms.binned and c > 1.0:
                inner = sign * (
                    (histogram.atoms[LOW, k] if side == RIGHT else histogram.atoms[HIGH, k]) - edge
                )
                excess = inner + 2.0 * (excess - inner) * (0.5 * count - below) / c
            break
        below += c
    return excess


@subroutine
def _sum_logs(histogram: Histogram, size: int, used: int, side: int, edge: float, b: float) -> float:
    """Return S(b), as if the samples of an atom were spread over it."""
    logs, factor = 0.0, b if side == RIGHT else -b
    for q in range(used):
        k = U(size - 1 - q if side == RIGHT else q)
        c, y = histogram.atoms[COUNT, k], 1.0 + factor * (histogram.atoms[X, k] - edge)
        width = b * (histogram.atoms[HIGH, k] - histogram.atoms[LOW, k]) / y
        logs += c * log(y)
        if width < 1.0:
            logs -= (c - 1.0) * width * width * BIN_VARIANCE
    return logs


@kernel
def _log_weight(
    histogram: Histogram, size: int, used: int, side: int, edge: float, b: float, count: float, mean: float
) -> float:
    """Return the log posterior of log b relative to an exponential law, up to a constant."""
    return _weigh(_sum_logs(histogram, size, used, side, edge, b), b, count, mean)


@kernel
def _weigh(logs: float, b: float, count: float, mean: float) -> float:
    return count * log(b * count * mean) - logs - (count + PRIOR_COUNT) * log(logs + PRIOR_SUM)


@kernel
def _store(tails: Floats, histogram: Histogram, atoms: Atoms, fit: TailFit, block: int, side: int) -> None:
    b, j = U(block), U(side)
    tails[b, j, TAIL_COUNT], tails[b, j, EDGE], tails[b, j, EXCESS] = fit.samples, fit.edge, fit.mean
    tails[b, j, RATE], tails[b, j, STEP] = fit.rate, fit.step
    tails[b, j, EXCESS_ERROR] = fit.mean * math.sqrt(fit.shape / fit.samples)
    tails[b, j, LIGHT] = 1.0
    tails[b, j, LOG_EXCESS], tails[b, j, LOG_ERROR] = 0.0, 0.0
    if fit.rate > 0.0:
        _fill_grid(tails, histogram, atoms, fit, block, side)


@kernel
def _fill_grid(
    tails: Floats, histogram: Histogram, atoms: Atoms, fit: TailFit, block: int, side: int
) -> None:
    """Fill the posterior of b, and find the probability of a light tail and the centre of log E Y."""
    i, j, b, most = U(block), U(side), fit.rate, -math.inf
    for g in range(GRID):
        logs = _sum_logs(histogram, atoms.size, fit.atoms, side, fit.edge, b)
        weight = _weigh(logs, b, fit.samples, fit.mean)
        tails[i, j, U(SUMS + g)] = logs + PRIOR_SUM
        tails[i, j, U(BELOW + g)] = weight
        most = max(most, weight)
        b *= fit.step
    total, centre, squares, within, b = 0.0, 0.0, 0.0, 0.0, fit.rate
    for g in range(GRID):
        weight = exp(tails[i, j, U(BELOW + g)] - most)
        alpha = max((fit.samples + PRIOR_COUNT) / tails[i, j, U(SUMS + g)], MIN_INDEX)
        excess = -log(b * (alpha - 1.0))
        total += weight
        centre += weight * excess
        squares += weight * excess * excess
        within += weight * alpha * alpha / ((alpha - 1.0) * (alpha - 1.0) * (fit.samples + PRIOR_COUNT))
        tails[i, j, U(BELOW + g)] = total
        b *= fit.step
    for g in range(GRID):
        tails[i, j, U(BELOW + g)] /= total
    centre /= total
    tails[i, j, LOG_EXCESS] = centre
    tails[i, j, LOG_ERROR] = math.sqrt(max(squares / total - centre * centre, 0.0) + within / total)
    heavy = most + log(total * log(fit.step)) + PRIOR_EVIDENCE
    for k in range(int(PRIOR_COUNT)):
        heavy += log(fit.samples + k)
    light = (fit.samples - 1.0) * (-0.5 * log(fit.shape) - 0.42 * (1.0 - fit.shape))
    odds = PRIOR_LIGHT * exp(min(max(light - heavy, -MAX_LOG_ODDS), MAX_LOG_ODDS))
    tails[i, j, LIGHT] = odds / (1.0 + odds)


# Asking


@kernel
def draw_excess(tails: Floats, block: int, side: int, light: bool, rng: Stream) -> float:
    """Draw the mean excess of a tail from its posterior, as of a light tail or of a heavy one."""
    i, j = U(block), U(side)
    if light:
        return max(tails[i, j, EXCESS] + tails[i, j, EXCESS_ERROR] * normal(rng), 0.0)
    u, g, b, alpha = uniform(rng), 0, tails[i, j, RATE], 0.0
    while g < GRID - 1 and u >= tails[i, j, U(BELOW + g)]:
        g += 1
        b *= tails[i, j, STEP]
    for _ in range(MAX_DRAWS):
        alpha = gamma(rng, tails[i, j, TAIL_COUNT] + PRIOR_COUNT) / tails[i, j, U(SUMS + g)]
        if alpha > MIN_INDEX:
            break
    return 1.0 / (b * (max(alpha, MIN_INDEX) - 1.0))


@kernel
def excess_at(tails: Floats, block: int, side: int, z: float) -> float:
    """Return the mean excess of a tail, z standard deviations from the centre of its posterior.

    That of a heavy tail is as of a log-normal law; the two are averaged by their probabilities.
    """
    i, j = U(block), U(side)
    light = tails[i, j, LIGHT]
    excess = light * max(tails[i, j, EXCESS] + z * tails[i, j, EXCESS_ERROR], 0.0)
    if light < 1.0:
        largest = 1.0 / (tails[i, j, RATE] * (MIN_INDEX - 1.0))
        excess += (1.0 - light) * min(exp(tails[i, j, LOG_EXCESS] + z * tails[i, j, LOG_ERROR]), largest)
    return excess


@kernel
def index_moments(tails: Floats, block: int, side: int) -> tuple[float, float]:
    """Return the mean and the variance of the index of a heavy tail."""
    i, j = U(block), U(side)
    k, before, mean, squares = tails[i, j, TAIL_COUNT] + PRIOR_COUNT, 0.0, 0.0, 0.0
    for g in range(GRID):
        p, alpha = tails[i, j, U(BELOW + g)] - before, k / tails[i, j, U(SUMS + g)]
        before = tails[i, j, U(BELOW + g)]
        mean += p * alpha
        squares += p * alpha * alpha * (1.0 + 1.0 / k)
    return mean, max(squares - mean * mean, mean * mean / k)

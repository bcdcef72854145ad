r"""The sketch: a mean estimator that needs no prior knowledge of the law, neither moment nor scale.

It keeps a histogram of each cell's samples (`heavytail.estimators._histogram`), and of it two posteriors of
the mean:

- *symmetric*: the trimmed mean with a Student t (`heavytail.estimators.sketch_symmetry`), valid for every
  symmetric law;
- *skewed*: a Bayesian bootstrap (Rubin 1981) of all samples, the outermost of which are generalised Pareto
  tails as far as that fits (`heavytail.estimators.sketch_tails`). With a body of n_B and tails of n_R and n_L
  samples

      mean = (w_B m_B + w_R (u_R + e_R) + w_L (u_L - e_L)) / (w_B + w_R + w_L),

  with m_B the mean of the body, u the edges of the tails, e their mean excesses and gamma weights w of these
  counts (outwards of one more: Garwood 1936). Its quantile at a normal score z is the centre, and in squares
  how far body, weights and excesses reach at this score.

The second is believed with probability P, of the odds

    E / (r - 1),    r the width of its 90% interval over that of the first,

and at least E where a tail begins at a gap, with E the evidence against symmetry. Where symmetry would hardly
narrow the interval, nothing is gained by believing in it; and heavy tails have no such gap, while what has
one, rare values that lie apart, need not be symmetric. `mean` is the centre of the more probable one. The
ends of an interval are quantiles of the mixture of both. All lie within the samples seen, unless a heavy tail
is extrapolated on that side; what is shown to people (`interval`) has the samples' sign if they have one.

No theorem gives these intervals: they hold as far as a tail is generalised Pareto beyond its threshold, and
docs/accuracy.md has how often they do. Laws of an index below `heavytail.estimators.sketch_tails.MIN_INDEX`
are out of reach, and no estimator adapts to an unknown tail for free (Genalti et al., COLT 2024).

The summary of a cell is renewed when its samples have grown by 2%.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints, Stream, U
from heavytail.checks import Count
from heavytail.estimators._histogram import (
    BINS,
    COUNT,
    GREATEST,
    INITIAL_POOL,
    LEAST,
    LEFT,
    RIGHT,
    Atoms,
    Histogram,
    X,
    list_atoms,
    list_sides,
    new_histogram,
)
from heavytail.estimators.sketch_symmetry import asymmetry, trimmed_mean
from heavytail.estimators.sketch_tails import (
    EDGE,
    LIGHT,
    LOG_ERROR,
    TAIL_COLUMNS,
    TAIL_COUNT,
    TINY,
    excess_at,
    find_gap,
    fit_common_index,
    fit_tail,
)
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import exp
from heavytail.kernels.quantiles import normal_quantile, normal_survival, student_quantile, student_score
from heavytail.kernels.rng import normal
from heavytail.kernels.verbs import full, interval, mean, push, radius, reset
from heavytail.ranges import Fact
from heavytail.registry import register

# Columns of a summary:
SEEN = 0  # how many samples the summary is of
MIDDLE = 1  # the trimmed mean
ERROR = 2  # its standard error
FREEDOM = 3  # its degrees of freedom
SKEWED = 4  # the probability of the skewed posterior
SCALE = 5  # the unit of tails, and of what follows: distances from the trimmed mean
CENTRE = 6  # of the skewed posterior
BODY_COUNT = 7  # samples in neither tail
BODY_MEAN = 8  # their mean
BODY_ERROR = 9  # its standard error
SHARED = 10  # the covariance of log mean excesses of both tails
SPREAD = 11  # the square of the mean root of |x - middle|, in units of samples
SPREAD_ERROR = 12  # the standard error of its logarithm
OFFSET = 13  # of the skewed mean from the trimmed one, over the spread
OFFSET_ERROR = 14  # its standard deviation
ASKED = 15  # the log-confidence of the interval that is kept, since agents ask for the same often; -1: none
LOW, HIGH = 16, 17  # its ends
SUMMARY_COLUMNS = 18
RENEW_AFTER = 50  # a summary is renewed when one in so many samples is new
MIN_OFFSET_ERROR = 1e-6
MIN_ERROR = (
    1e-6  # of the trimmed mean, in spreads; less is rounding: the middle half of the samples are equal
)
SCORE = 1.6448536  # of 90% intervals
MAX_SCORE = 40.0
HALVINGS = 36  # of the interval of scores, to find a quantile
MIN_KEPT = 0.3  # of the squared reach, of what tails have in common


class Sketch(NamedTuple):
    """Histograms and their summaries. Arrays with one row per block are pools."""

    histogram: Histogram
    tails: Floats  # [blocks, 2, TAIL_COLUMNS] see `heavytail.estimators.sketch_tails`
    summary: Floats  # [blocks, SUMMARY_COLUMNS] see above
    excesses: Floats  # [3, BINS] scratch

    @property
    def n(self) -> Ints:
        """The number of samples of each cell."""
        return self.histogram.n

    def moment_kind(self) -> str | None:
        """It needs no moment."""
        return None

    def pools(self) -> tuple[str, ...]:
        """Name what grows with the number of blocks."""
        return ("tails", "summary")

    def facts(self) -> Iterator[Fact]:
        """Say of what there are summaries."""
        yield "histograms and summaries differ in number", len(self.summary) == len(self.histogram.held)
        cells = np.flatnonzero(self.histogram.block >= 0)
        seen = self.summary[self.histogram.block[cells], SEEN]
        yield "a summary is of other samples", ((seen >= 0) & (seen <= self.n[cells])).all()


@register("estimator", "sketch")
def sketch(n_cells: Count = 1) -> Sketch:
    """An estimator that needs no moment, exponent or scale, for heavy tails of an index above 1.05.

    Its interval is a posterior's, not a theorem's. A cell with noise takes 2.1 kB, one without 24 bytes.

    Args:
        n_cells: how many means are estimated side by side.
    """
    return Sketch(
        histogram=new_histogram(n_cells),
        tails=np.zeros((INITIAL_POOL, 2, TAIL_COLUMNS)),
        summary=np.zeros((INITIAL_POOL, SUMMARY_COLUMNS)),
        excesses=np.zeros((3, BINS)),
    )


@full.method(Sketch)
def _full(record: Sketch) -> bool:
    return record.histogram.used[0] == record.summary.shape[0]


@push.method(Sketch)
def _push(estimator: Sketch, cell: int, x: float) -> None:
    push(estimator.histogram, cell, x)


# Summaries


@kernel
def is_constant(estimator: Sketch, cell: int) -> bool:
    """Return whether all samples of a cell are equal."""
    return estimator.histogram.block[U(cell)] < 0


@kernel
def renew(estimator: Sketch, cell: int) -> int:
    """Bring the summary of a cell that is not constant up to date; return its block."""
    block, n = int(estimator.histogram.block[U(cell)]), estimator.histogram.n[U(cell)]
    if n * RENEW_AFTER > estimator.summary[U(block), SEEN] * (RENEW_AFTER + 1):
        _summarise(estimator, cell, block)
    return block


@subroutine
def _summarise(estimator: Sketch, cell: int, block: int) -> None:
    b, histogram, summary = U(block), estimator.histogram, estimator.summary
    atoms = list_atoms(histogram, cell)
    middle, error, freedom = trimmed_mean(histogram, atoms)
    list_sides(histogram, atoms, middle)
    summary[b, SEEN], summary[b, FREEDOM] = histogram.n[U(cell)], freedom
    summary[b, MIDDLE], summary[b, ERROR] = atoms.origin + atoms.scale * middle, atoms.scale * error
    summary[b, SCALE], summary[b, ASKED] = atoms.scale, -1.0
    _summarise_spread(estimator, atoms, block)
    right = fit_tail(estimator.tails, estimator.excesses, histogram, atoms, block, RIGHT)
    left = fit_tail(estimator.tails, estimator.excesses, histogram, atoms, block, LEFT)
    summary[b, SHARED] = fit_common_index(estimator.tails, block)
    _summarise_body(estimator, right, atoms.size - left, block)
    summary[b, CENTRE] = _skewed_centre(estimator, block)
    width = skewed_reach(estimator, block, SCORE) - skewed_reach(estimator, block, -SCORE)
    unit = atoms.scale / summary[b, SPREAD]
    summary[b, OFFSET] = unit * summary[b, CENTRE]
    summary[b, OFFSET_ERROR] = max(unit * width / (2.0 * SCORE), MIN_OFFSET_ERROR)
    summary[b, SKEWED] = 1.0
    if summary[b, ERROR] > MIN_ERROR * summary[b, SPREAD]:
        wider = width / (2.0 * student_quantile(SCORE, freedom) * error) - 1.0
        odds = 1.0 / max(wider, 1e-6)
        for side in range(2):
            if find_gap(histogram, atoms, side)[1] > 0:
                odds = max(odds, 1.0)
        odds *= asymmetry(histogram, atoms)
        summary[b, SKEWED] = odds / (1.0 + odds)


@kernel
def _summarise_spread(estimator: Sketch, atoms: Atoms, block: int) -> None:
    """Square the mean root of the deviations: it exists for every law that has a mean, atoms included."""
    roots, sizes, histogram = 0.0, 0.0, estimator.histogram
    for k in range(atoms.size):
        deviation = abs(histogram.atoms[RIGHT, X, U(k)])
        roots += histogram.atoms[RIGHT, COUNT, U(k)] * math.sqrt(deviation)
        sizes += histogram.atoms[RIGHT, COUNT, U(k)] * deviation
    roots, sizes = roots / atoms.n, sizes / atoms.n
    estimator.summary[U(block), SPREAD] = atoms.scale * roots * roots
    estimator.summary[U(block), SPREAD_ERROR] = (
        2.0 * math.sqrt(max(sizes - roots * roots, 0.0) / atoms.n) / roots
    )


@kernel
def _summarise_body(estimator: Sketch, start: int, end: int, block: int) -> None:
    """Summarise what is between the tails."""
    count, total, squares, histogram = 0.0, 0.0, 0.0, estimator.histogram
    for k in range(start, end):
        count += histogram.atoms[RIGHT, COUNT, U(k)]
        total += histogram.atoms[RIGHT, COUNT, U(k)] * histogram.atoms[RIGHT, X, U(k)]
    centre = total / max(count, 1.0)
    for k in range(start, end):
        y = histogram.atoms[RIGHT, X, U(k)] - centre
        squares += histogram.atoms[RIGHT, COUNT, U(k)] * y * y
    estimator.summary[U(block), BODY_COUNT] = count
    estimator.summary[U(block), BODY_MEAN] = centre
    estimator.summary[U(block), BODY_ERROR] = math.sqrt(squares / (max(count, 1.0) * max(count - 1.0, 1.0)))


# The skewed posterior, relative to the trimmed mean and in units of the scale


@kernel
def skewness(estimator: Sketch, block: int) -> float:
    """Return the probability that symmetry is not relied upon."""
    return estimator.summary[U(block), SKEWED]


@kernel
def lightness(estimator: Sketch, block: int) -> float:
    """Return the probability that both tails are light."""
    return estimator.tails[U(block), RIGHT, LIGHT] * estimator.tails[U(block), LEFT, LIGHT]


@kernel
def _outwards(side: int) -> float:
    return 1.0 if side == RIGHT else -1.0


@kernel
def _skewed_centre(estimator: Sketch, block: int) -> float:
    tails, b = estimator.tails, U(block)
    count = estimator.summary[b, BODY_COUNT]
    total = count * estimator.summary[b, BODY_MEAN]
    for side in range(2):
        k = tails[b, U(side), TAIL_COUNT]
        if k > 0.0:
            count += k
            total += _outwards(side) * k * (tails[b, U(side), EDGE] + excess_at(tails, block, side, 0.0))
    return total / count


@subroutine
def skewed_reach(estimator: Sketch, block: int, z: float) -> float:
    """Return how far from the centre the skewed posterior is at a normal score, with its sign."""
    tails, summary, b = estimator.tails, estimator.summary, U(block)
    centre, n, shared = summary[b, CENTRE], summary[b, BODY_COUNT], -2.0 * summary[b, SHARED]
    for side in range(2):
        n += tails[b, U(side), TAIL_COUNT]
    t, share = student_quantile(z, max(n - 1.0, 1.0)), summary[b, BODY_COUNT] / n
    own, apart = share * summary[b, BODY_ERROR], summary[b, BODY_MEAN] - centre
    squares = t * t * (own * own + share * apart * apart / n)
    for side in range(2):
        k, score = tails[b, U(side), TAIL_COUNT], _outwards(side) * z
        if k > 0.0:
            excess = excess_at(tails, block, side, 0.0)
            own = k / n * (excess_at(tails, block, side, score) - excess)
            apart = _outwards(side) * (tails[b, U(side), EDGE] + excess) - centre
            weight = apart * (_count_at(k, score) - k) / n
            squares += own * own + weight * weight
            shared *= abs(own) / max(tails[b, U(side), LOG_ERROR], TINY)
    # The tails pull the mean apart, so what they have in common cancels
    reach = math.sqrt(max(squares + shared, MIN_KEPT * squares) if shared < 0.0 else squares)
    return reach if z >= 0.0 else -reach


@kernel
def _count_at(k: float, z: float) -> float:
    """Return the quantile of Gamma(k), upwards of k + 1, at a normal score (Wilson and Hilferty 1931)."""
    k += min(max(z, 0.0), 1.0)
    root = max(1.0 - 1.0 / (9.0 * k) + z / (3.0 * math.sqrt(k)), 0.0)
    return k * root * root * root


# As an estimator


@kernel
def _within(estimator: Sketch, block: int, x: float) -> float:
    """Bring a mean within the samples seen, but on the side of a heavy tail."""
    held, tails, b = estimator.histogram.held, estimator.tails, U(block)
    if tails[b, LEFT, LIGHT] > 0.5:
        x = max(x, held[b, LEAST])
    return min(x, held[b, GREATEST]) if tails[b, RIGHT, LIGHT] > 0.5 else x


@kernel
def _centre(estimator: Sketch, block: int) -> float:
    """Return the centre of the more probable posterior."""
    summary, b = estimator.summary, U(block)
    if skewness(estimator, block) <= 0.5:
        return summary[b, MIDDLE]
    return _within(estimator, block, summary[b, MIDDLE] + summary[b, SCALE] * summary[b, CENTRE])


@kernel
def skewed_quantile(estimator: Sketch, block: int, z: float) -> float:
    """Return the skewed posterior's quantile at a normal score."""
    summary, b = estimator.summary, U(block)
    return summary[b, MIDDLE] + summary[b, SCALE] * (summary[b, CENTRE] + skewed_reach(estimator, block, z))


@kernel
def draw_symmetric(estimator: Sketch, block: int, rng: Stream) -> float:
    """Draw a mean from the symmetric posterior."""
    summary, b = estimator.summary, U(block)
    return summary[b, MIDDLE] + summary[b, ERROR] * student_quantile(normal(rng), summary[b, FREEDOM])


@kernel
def draw_skewed(estimator: Sketch, block: int, rng: Stream) -> float:
    """Draw a mean from the skewed posterior."""
    return _within(estimator, block, skewed_quantile(estimator, block, normal(rng)))


@subroutine
def _quantile(estimator: Sketch, block: int, log_confidence: float, sign: float) -> float:
    """Return what the mean is beyond, to the side of this sign, with probability exp(-L)."""
    summary, b, p = estimator.summary, U(block), skewness(estimator, block)
    beyond, low, high = exp(-log_confidence), -MAX_SCORE, MAX_SCORE
    if 1.0 - p <= 1e-3 * beyond:
        return skewed_quantile(estimator, block, sign * normal_quantile(log_confidence))
    for _ in range(HALVINGS):  # of scores of the skewed posterior
        z = 0.5 * (low + high)
        x = sign * (summary[b, CENTRE] + skewed_reach(estimator, block, sign * z))
        score = student_score(summary[b, SCALE] / summary[b, ERROR] * x, summary[b, FREEDOM])
        if p * normal_survival(z) + (1.0 - p) * normal_survival(score) > beyond:
            low = z
        else:
            high = z
    return skewed_quantile(estimator, block, sign * 0.5 * (low + high))


@kernel
def mean_and_ends(estimator: Sketch, block: int, log_confidence: float) -> tuple[float, float, float]:
    """Return the mean of a summary and the ends of its interval."""
    summary, b, centre = estimator.summary, U(block), _centre(estimator, block)
    if summary[b, ASKED] != log_confidence:
        summary[b, LOW] = _quantile(estimator, block, log_confidence, -1.0)
        summary[b, HIGH] = _quantile(estimator, block, log_confidence, 1.0)
        summary[b, ASKED] = log_confidence
    low, high = _within(estimator, block, summary[b, LOW]), _within(estimator, block, summary[b, HIGH])
    return centre, min(low, centre), max(high, centre)


@interval.method(Sketch)
def _interval(estimator: Sketch, cell: int, log_confidence: float) -> tuple[float, float, float]:
    first = estimator.histogram.first[U(cell)]
    if is_constant(estimator, cell):
        reach = 0.0 if estimator.histogram.n[U(cell)] > 1 else math.inf
        return first, first - reach, first + reach
    block = renew(estimator, cell)
    centre, low, high = mean_and_ends(estimator, block, log_confidence)
    if estimator.histogram.held[U(block), LEAST] >= 0.0:
        return max(centre, 0.0), max(low, 0.0), max(high, 0.0)
    if estimator.histogram.held[U(block), GREATEST] <= 0.0:
        return min(centre, 0.0), min(low, 0.0), min(high, 0.0)
    return centre, low, high


@mean.method(Sketch)
def _mean(estimator: Sketch, cell: int, log_confidence: float) -> float:
    if is_constant(estimator, cell):
        return estimator.histogram.first[U(cell)]
    return _centre(estimator, renew(estimator, cell))


@radius.method(Sketch)
def _radius(estimator: Sketch, cell: int, log_confidence: float) -> float:
    if is_constant(estimator, cell):
        return 0.0 if estimator.histogram.n[U(cell)] > 1 else math.inf
    centre, low, high = mean_and_ends(estimator, renew(estimator, cell), log_confidence)
    return max(centre - low, high - centre)


@reset.method(Sketch)
def _reset(record: Sketch) -> None:
    reset(record.histogram)
    record.tails[:] = 0.0
    record.summary[:] = 0.0
    record.excesses[:] = 0.0

r"""The sketch: a mean estimator that needs no prior knowledge of the law, neither moment nor scale.

It keeps a histogram of each cell's samples (`heavytail.estimators._histogram`), and of it two posteriors of
the mean:

- *symmetric*: the trimmed mean with a Student t (`heavytail.estimators.sketch_symmetry`), valid for every
  symmetric law;
- *skewed*: the law is cut into a body and two tails of n_B, n_R and n_L samples
  (`heavytail.estimators.sketch_tails`), and

      mean = (w_B m_B + w_R (u_R + e_R) + w_L (u_L - e_L)) / (w_B + w_R + w_L),

  with m_B the mean of the body, u the edges of the tails, e their mean excesses and gamma weights w of these
  counts, as in a Bayesian bootstrap (Rubin 1981). Two heavy tails may have one index in common
  (`heavytail.estimators.sketch_indices`).

The evidence against symmetry says which of them holds, and how probably. `mean` is the centre of the more
probable one. `radius` bounds the mixture of both: each may exceed it with probability exp(-L) / 2, and the
errors of body, tails and weights add up as independent ones do. No theorem gives these intervals: they hold
as far as a tail is generalised Pareto beyond its threshold, and tests measure how often. Laws of an index
below `heavytail.estimators.sketch_tails.MIN_INDEX` are out of reach, and no estimator adapts to an unknown
tail for free (Genalti et al., COLT 2024).

The summary of a cell is renewed when its samples have grown by 2%.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints, U
from heavytail.checks import Count
from heavytail.estimators._histogram import (
    COUNT,
    INITIAL_POOL,
    Atoms,
    Histogram,
    X,
    list_atoms,
    new_histogram,
)
from heavytail.estimators.sketch_indices import COMMON_COLUMNS, COVARIANCE, fit_common_index
from heavytail.estimators.sketch_symmetry import asymmetry, skew_probability, trimmed_mean
from heavytail.estimators.sketch_tails import (
    EDGE,
    LOG_ERROR,
    RIGHT,
    TAIL_COLUMNS,
    TAIL_COUNT,
    TINY,
    excess_at,
    fit_tail,
)
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import log
from heavytail.kernels.quantiles import normal_quantile, student_quantile
from heavytail.kernels.verbs import full, mean, push, radius, reset
from heavytail.ranges import Fact
from heavytail.registry import register

# Columns of a summary:
SEEN = 0  # how many samples the summary is of
MIDDLE = 1  # the trimmed mean
ERROR = 2  # its standard error
FREEDOM = 3  # its degrees of freedom
EVIDENCE = 4  # against symmetry
ORIGIN = 5  # what body and tails are relative to,
SCALE = 6  # and in units of
BODY_COUNT = 7  # samples in neither tail
BODY_MEAN = 8  # their mean
BODY_ERROR = 9  # its standard error
SPREAD = 10  # the square of the mean root of |x - middle|
SPREAD_ERROR = 11  # the standard error of its logarithm
OFFSET = 12  # of the skewed mean from the trimmed one, over the spread
OFFSET_ERROR = 13  # its standard deviation
SUMMARY_COLUMNS = 14
RENEW_AFTER = 50  # a summary is renewed when one in so many samples is new
MIN_OFFSET_ERROR = 1e-6


class Sketch(NamedTuple):
    """Histograms and their summaries. Arrays with one row per block are pools."""

    histogram: Histogram
    tails: Floats  # [blocks, 2, TAIL_COLUMNS] see `heavytail.estimators.sketch_tails`
    common: Floats  # [blocks, COMMON_COLUMNS] see `heavytail.estimators.sketch_indices`
    summary: Floats  # [blocks, SUMMARY_COLUMNS] see above

    @property
    def n(self) -> Ints:
        """The number of samples of each cell."""
        return self.histogram.n

    def moment_kind(self) -> str | None:
        """It needs no moment."""
        return None

    def pools(self) -> tuple[str, ...]:
        """Name what grows with the number of blocks."""
        return ("tails", "common", "summary")

    def facts(self) -> Iterator[Fact]:
        """Declare which summaries exist."""
        yield "histograms and summaries differ in number", len(self.summary) == len(self.histogram.held)
        cells = np.flatnonzero(self.histogram.block >= 0)
        seen = self.summary[self.histogram.block[cells], SEEN]
        yield "a summary is of other samples", ((seen >= 0) & (seen <= self.n[cells])).all()


@register("estimator", "sketch")
def sketch(n_cells: Count = 1) -> Sketch:
    """An estimator that needs no moment, exponent or scale, for heavy tails of an index above 1.05.

    Its interval is a posterior's, not a theorem's. A cell with noise takes 2.5 kB, one without 24 bytes.

    Args:
        n_cells: how many means are estimated side by side.
    """
    return Sketch(
        histogram=new_histogram(n_cells),
        tails=np.zeros((INITIAL_POOL, 2, TAIL_COLUMNS)),
        common=np.zeros((INITIAL_POOL, COMMON_COLUMNS)),
        summary=np.zeros((INITIAL_POOL, SUMMARY_COLUMNS)),
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
    """Tell whether all samples of a cell are equal."""
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
    b, histogram = U(block), estimator.histogram
    atoms = list_atoms(histogram, cell)
    middle, error, freedom = trimmed_mean(histogram, atoms)
    estimator.summary[b, SEEN] = histogram.n[U(cell)]
    estimator.summary[b, MIDDLE] = atoms.origin + atoms.scale * middle
    estimator.summary[b, ERROR] = atoms.scale * error
    estimator.summary[b, FREEDOM] = freedom
    estimator.summary[b, EVIDENCE] = asymmetry(histogram, atoms, middle)
    estimator.summary[b, ORIGIN] = atoms.origin
    estimator.summary[b, SCALE] = atoms.scale
    _summarise_spread(estimator, atoms, block, middle)
    right, left = 0, 0
    for side in range(2):
        used = fit_tail(estimator.tails, histogram, atoms, block, side)
        right, left = (used, left) if side == RIGHT else (right, used)
    fit_common_index(estimator.common, estimator.tails, block)
    _summarise_body(estimator, atoms, block, left, atoms.size - right)
    unit = atoms.scale / estimator.summary[b, SPREAD]
    estimator.summary[b, OFFSET] = unit * (skewed_mean(estimator, block) - middle)
    reach = 0.0
    for sign in range(-1, 2, 2):
        reach += 0.5 * skewed_deviation(estimator, block, float(sign))
    estimator.summary[b, OFFSET_ERROR] = max(unit * reach, MIN_OFFSET_ERROR)


@kernel
def _summarise_spread(estimator: Sketch, atoms: Atoms, block: int, middle: float) -> None:
    """Square the mean root of the deviations: it exists for every law that has a mean, atoms included."""
    roots, sizes, histogram = 0.0, 0.0, estimator.histogram
    for k in range(atoms.size):
        deviation = abs(histogram.atoms[X, U(k)] - middle)
        roots += histogram.atoms[COUNT, U(k)] * math.sqrt(deviation)
        sizes += histogram.atoms[COUNT, U(k)] * deviation
    roots, sizes = roots / atoms.n, sizes / atoms.n
    estimator.summary[U(block), SPREAD] = atoms.scale * roots * roots
    estimator.summary[U(block), SPREAD_ERROR] = (
        2.0 * math.sqrt(max(sizes - roots * roots, 0.0) / atoms.n) / roots
    )


@kernel
def _summarise_body(estimator: Sketch, atoms: Atoms, block: int, start: int, end: int) -> None:
    """Summarise what is between the tails."""
    count, total, squares, histogram = 0.0, 0.0, 0.0, estimator.histogram
    for k in range(start, end):
        count += histogram.atoms[COUNT, U(k)]
        total += histogram.atoms[COUNT, U(k)] * histogram.atoms[X, U(k)]
    centre = total / max(count, 1.0)
    for k in range(start, end):
        y = histogram.atoms[X, U(k)] - centre
        squares += histogram.atoms[COUNT, U(k)] * y * y
    estimator.summary[U(block), BODY_COUNT] = count
    estimator.summary[U(block), BODY_MEAN] = centre
    estimator.summary[U(block), BODY_ERROR] = math.sqrt(squares / (max(count, 1.0) * max(count - 1.0, 1.0)))


# The skewed posterior


@kernel
def skewness(estimator: Sketch, block: int) -> float:
    """Return the probability that a law is skewed."""
    return skew_probability(estimator.summary[U(block), EVIDENCE], estimator.summary[U(block), SEEN])


@kernel
def skewed_mean(estimator: Sketch, block: int) -> float:
    """Return the centre of the skewed posterior, relative to the origin and in units of the scale."""
    tails, b = estimator.tails, U(block)
    count = estimator.summary[b, BODY_COUNT]
    total = count * estimator.summary[b, BODY_MEAN]
    for side in range(2):
        k = tails[b, U(side), TAIL_COUNT]
        if k > 0.0:
            excess = excess_at(tails, block, side, 0.0)
            count += k
            total += k * (tails[b, U(side), EDGE] + (excess if side == RIGHT else -excess))
    return total / count


@subroutine
def skewed_deviation(estimator: Sketch, block: int, z: float) -> float:
    """Return how far the skewed posterior reaches beyond its centre, in units of the scale.

    z is a normal quantile: positive to go up, negative to go down.
    """
    tails, b = estimator.tails, U(block)
    centre, n = skewed_mean(estimator, block), estimator.summary[b, BODY_COUNT]
    for side in range(2):
        n += tails[b, U(side), TAIL_COUNT]
    t = student_quantile(abs(z), max(n - 1.0, 1.0))
    share = estimator.summary[b, BODY_COUNT] / n
    own = t * share * estimator.summary[b, BODY_ERROR]
    apart = estimator.summary[b, BODY_MEAN] - centre
    between = share * apart * apart
    squares, product = own * own, estimator.common[b, COVARIANCE]
    for side in range(2):
        share = tails[b, U(side), TAIL_COUNT] / n
        if share > 0.0:
            excess = excess_at(tails, block, side, 0.0)
            own = share * (excess_at(tails, block, side, z if side == RIGHT else -z) - excess)
            apart = tails[b, U(side), EDGE] + (excess if side == RIGHT else -excess) - centre
            between += share * apart * apart
            squares += own * own
            product *= own / max(tails[b, U(side), LOG_ERROR], TINY)
    # The tails pull the mean apart, so what they have in common cancels: `own` has opposite signs.
    return math.sqrt(max(squares + 2.0 * product, 0.0) + t * t * between / n)


# As an estimator


@kernel
def _offset(estimator: Sketch, block: int) -> float:
    """Return how far the mean of the more probable posterior is from the trimmed mean."""
    skewed = skewness(estimator, block) > 0.5
    return estimator.summary[U(block), SPREAD] * estimator.summary[U(block), OFFSET] if skewed else 0.0


@mean.method(Sketch)
def _mean(estimator: Sketch, cell: int, log_confidence: float) -> float:
    if is_constant(estimator, cell):
        return estimator.histogram.first[U(cell)]
    block = renew(estimator, cell)
    return estimator.summary[U(block), MIDDLE] + _offset(estimator, block)


@radius.method(Sketch)
def _radius(estimator: Sketch, cell: int, log_confidence: float) -> float:
    if is_constant(estimator, cell):
        return 0.0 if estimator.histogram.n[U(cell)] > 1 else math.inf
    block = renew(estimator, cell)
    b, summary, p, reach = U(block), estimator.summary, skewness(estimator, block), 0.0
    # Each of the posteriors may exceed the radius with probability exp(-L) / 2.
    symmetric, skewed = log_confidence + log(2.0 * (1.0 - p)), log_confidence + log(2.0 * p)
    if symmetric > 0.0:
        t = student_quantile(normal_quantile(symmetric), summary[b, FREEDOM])
        reach = abs(_offset(estimator, block)) + t * summary[b, ERROR]
    if skewed > 0.0:
        z = normal_quantile(skewed)
        apart = summary[b, SPREAD] * summary[b, OFFSET] - _offset(estimator, block)
        for sign in range(-1, 2, 2):
            deviation = summary[b, SCALE] * skewed_deviation(estimator, block, sign * z)
            reach = max(reach, sign * apart + deviation)
    return reach


@reset.method(Sketch)
def _reset(record: Sketch) -> None:
    reset(record.histogram)
    record.tails[:] = 0.0
    record.common[:] = 0.0
    record.summary[:] = 0.0

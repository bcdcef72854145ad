"""Robust means of nested cells, each shrunk to the wider cell around it.

The cells of a reward are a *path*: all rewards, then narrower and narrower cells, down to its own. Each is a
cell of the sketch (`heavytail.estimators.sketch`), which takes no moment, exponent or scale. One more cell,
`RESIDUALS`, has what is left of the rewards when their estimates are subtracted.

From the widest to the narrowest, the estimate moves towards the cell's own mean m, from that so far, v, by
the positive part of James and Stein's factor,

    v + (1 - (e / (m - v))^2) (m - v)   if |m - v| > e,   else v,

with e how far the 99.9% interval of m reaches towards v. So a cell counts once it differs, and then soon for
nearly all. A cell of equal rewards has no error, and is returned as it is.

Where a cell's samples are evidently skewed, as rare prizes are, m is the sketch's mean of them. Few samples
do not say whether their law is skewed, though, and the middle of a skewed law is not its mean. The residuals
do say it, since they are many: elsewhere m is the cell's trimmed mean, plus the residuals' mean less *their*
trimmed mean.
"""

import math
from typing import NamedTuple

from heavytail.arrays import Ints, U
from heavytail.estimators.sketch import (
    ERROR,
    FREEDOM,
    MIDDLE,
    Sketch,
    is_constant,
    mean_and_ends,
    renew,
    skewness,
)
from heavytail.kernels.compiling import kernel
from heavytail.kernels.quantiles import normal_quantile, student_quantile
from heavytail.kernels.verbs import full, mean, push

RESIDUALS = 0
LOG_CONFIDENCE = 7.0  # of e, 99.9%: chosen on simulated rewards, seed 1, of 2, 3, 4, 7 and 10
MIN_SKEWED = 16  # samples, and
EVIDENTLY = 0.9  # the probability of a skewed posterior from which on a cell's own is used
LOG_TWO_SIDES = LOG_CONFIDENCE + math.log(2.0)


class Belief(NamedTuple):
    """A mean and its interval."""

    centre: float
    low: float
    high: float


def push_all(sketch: Sketch, path: Ints, k: int, x: float) -> int:
    """Add a sample to the cells of a path, from the k-th on; return at which the sketch was full."""
    while k < path.size and not full(sketch):
        push(sketch, path[U(k)], x)
        k += 1
    return k


def estimate(sketch: Sketch, path: Ints, trust: float) -> float:
    """Estimate the mean of the last cell of a path, whose first cell has a sample.

    A single sample of a cell is trusted by so much, from 0 to 1: the share of cells whose second sample was
    equal to the first.
    """
    value, offset = 0.0, _offset(sketch)
    for k in range(path.size):
        cell = path[U(k)]
        n = sketch.histogram.n[U(cell)]
        if is_constant(sketch, cell):
            first = sketch.histogram.first[U(cell)]
            if k == 0 or n > 1:
                value = first
            elif n == 1:
                value = trust * first + (1.0 - trust) * value  # exactly the first where trust is 1
        else:
            own = _believe(sketch, cell, offset)
            value = own.centre if k == 0 else _shrink(own, value)
    return value


@kernel
def _offset(sketch: Sketch) -> float:
    """Return how far the mean of the residuals is from their trimmed mean, if they are evidently skewed."""
    if is_constant(sketch, RESIDUALS):
        return 0.0
    block = renew(sketch, RESIDUALS)
    if skewness(sketch, block) <= EVIDENTLY:
        return 0.0
    return mean(sketch, RESIDUALS, LOG_CONFIDENCE) - sketch.summary[U(block), MIDDLE]


@kernel
def _believe(sketch: Sketch, cell: int, offset: float) -> Belief:
    """Return what the samples of a cell that is not constant say of their mean."""
    block = renew(sketch, cell)
    if skewness(sketch, block) > EVIDENTLY and sketch.histogram.n[U(cell)] >= MIN_SKEWED:
        centre, low, high = mean_and_ends(sketch, block, LOG_TWO_SIDES)
        return Belief(centre, low, high)
    b = U(block)
    reach = student_quantile(normal_quantile(LOG_TWO_SIDES), sketch.summary[b, FREEDOM])
    centre, reach = sketch.summary[b, MIDDLE] + offset, reach * sketch.summary[b, ERROR]
    return Belief(centre, centre - reach, centre + reach)


@kernel
def _shrink(own: Belief, towards: float) -> float:
    apart = own.centre - towards
    if own.low <= towards <= own.high:
        return towards
    ratio = ((own.centre - own.low) if apart > 0.0 else (own.high - own.centre)) / apart
    return towards + (1.0 - ratio * ratio) * apart

r"""One tail of a sample: its index with an interval, and what follows for the mean and the variance.

It is the tail of the sketch (`heavytail.estimators.sketch_tails`), as agents have it: excesses over a
threshold are generalised Pareto, or light, with a posterior of the index alpha given that it is above 1.05.
That of log(alpha - 1) is taken to be normal.

Beside it stands Hill's estimate, the best known: for the k largest samples x_1, ..., x_k above
the threshold u > 0

    1 / alpha = (1/k) sum log(x_i / u),

the maximum-likelihood estimate if x / u is exactly Pareto (Hill 1975). It assumes the tail to begin at 0: a
constant that is added to all rewards changes it, and it is never infinite. So it is not part of the verdict.
Its standard error is alpha / sqrt(k).
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.checks import as_finite_floats
from heavytail.errors import InputError
from heavytail.estimators.sketch import MIDDLE, SCALE
from heavytail.estimators.sketch_tails import (
    EDGE,
    ETA,
    ETA_VARIANCE,
    EXCESS,
    EXCESS_ERROR,
    HAS_MEAN,
    LIGHT,
    TAIL_COUNT,
    excess_at,
    index_at,
)
from heavytail.tails.location import Filled

UPPER, LOWER = range(2)  # the sketch's right and left side
Verdict: TypeAlias = Literal["bounded", "light", "unclear", "heavy"]
NORMAL_QUANTILE = 1.959963984540054  # of the level 0.975, for intervals of 95%
SURE = 0.95  # from which confidence on a tail is light, or heavy
MIN_EXCESSES = 5  # fewer, in a tail of several values, say nothing
BOUNDED_SHAPE = 0.5  # the variance over the squared mean of excesses of a tail that ends; a normal one: 0.7


@dataclass(frozen=True, slots=True)
class Tail:
    """The estimates of one tail; a lower tail is that of the rewards times -1.

    The index is infinite where the tail is not a power law, and NaN where nothing is known.
    """

    verdict: Verdict  # on the variance: "heavy" if it is infinite, "light" if it is finite
    index: float
    index_low: float  # the ends of the 95% interval of the index
    index_high: float
    hill: float  # Hill's estimate of the index, NaN where the threshold is not above 0
    mean_finite: float  # the confidence that this tail leaves the mean finite,
    variance_finite: float  # and the variance
    excesses: int  # how many samples lie beyond the threshold
    threshold: float  # in units of rewards, with their sign
    mean_excess: float  # of the law beyond it, NaN where there is none

    @property
    def ends(self) -> bool:
        """True if no reward lies beyond the threshold, and none is to be expected there."""
        return self.verdict == "bounded"

    @property
    def unknown(self) -> bool:
        """True if too few rewards lie in the tail to say anything about it."""
        return math.isnan(self.index)

    def survival(self, y: Floats) -> Floats:
        """Compute the probability of an excess over the threshold beyond y."""
        if math.isinf(self.index):
            return np.exp(-y / self.mean_excess)
        return (1.0 + y / (self.mean_excess * (self.index - 1.0))) ** -self.index


def read_tail(filled: Filled, samples: Floats, side: int) -> Tail:
    """Read a tail from a sketch of samples that are not all equal."""
    tails, summary, sign = filled.record.tails, filled.record.summary[0], 1.0 if side == UPPER else -1.0
    row, end = tails[0, side], float((sign * samples).max())
    if end <= 0.0:  # no reward has this sign
        return _bounded(0.0)
    k = float(row[TAIL_COUNT])
    start = sign * float(summary[MIDDLE]) + float(summary[SCALE] * row[EDGE])
    threshold = sign * filled.unit * start
    if 0.0 < k < MIN_EXCESSES:
        return Tail("unclear", math.nan, 0.0, math.inf, math.nan, 0.5, 0.5, int(k), threshold, math.nan)
    shape = k * (row[EXCESS_ERROR] / row[EXCESS]) ** 2 if row[EXCESS] > 0.0 else 0.0
    if k == 0.0 or (row[LIGHT] > 0.5 and shape * (1.0 + 4.0 / math.sqrt(k)) < BOUNDED_SHAPE):
        return _bounded(sign * end)
    light, has_mean = float(row[LIGHT]), float(row[HAS_MEAN])
    above_2 = 0.5 * math.erfc(-float(row[ETA] / math.sqrt(2.0 * max(row[ETA_VARIANCE], 1e-12))))
    variance_finite = light + (1.0 - light) * has_mean * above_2
    beyond = sign * samples[sign * samples > filled.unit * start]
    verdict: Verdict = "light" if variance_finite >= SURE else "unclear"
    return Tail(
        verdict="heavy" if variance_finite <= 1.0 - SURE else verdict,
        index=float(index_at(tails, 0, side, 0.0)),
        index_low=float(index_at(tails, 0, side, -NORMAL_QUANTILE)),
        index_high=float(index_at(tails, 0, side, NORMAL_QUANTILE)),
        hill=hill_index(beyond, filled.unit * start) if beyond.size else math.nan,
        mean_finite=light + (1.0 - light) * has_mean,
        variance_finite=variance_finite,
        excesses=beyond.size,
        threshold=threshold,
        mean_excess=filled.unit * float(summary[SCALE]) * excess_at(tails, 0, side, 0.0),
    )


def _bounded(end: float) -> Tail:
    return Tail("bounded", math.inf, math.inf, math.inf, math.nan, 1.0, 1.0, 0, end + 0.0, math.nan)


def hill_index(exceedances: npt.ArrayLike, threshold: float) -> float:
    """Estimate the tail index from the samples above a threshold; NaN if the threshold is not above 0.

    >>> round(hill_index([2.0, 4.0, 8.0], 1.0), 3)
    0.721
    """
    x = as_finite_floats("exceedances", exceedances, "sample").ravel()
    if not x.size or x.min() < threshold:
        least = f"reach down to {x.min():g}" if x.size else "is empty"
        raise InputError(f"exceedances {least}; give the samples above the threshold {threshold:g}, alone")
    if not threshold > 0.0:
        return math.nan
    mean = float(np.log(x).mean()) - math.log(threshold)
    return 1.0 / mean if mean > 0.0 else math.inf

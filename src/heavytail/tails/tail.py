r"""One tail of a sample: its index with an interval, and what follows for the mean and the variance.

The excesses over the threshold (`heavytail.tails.threshold`) are fitted by a generalised Pareto law
(`heavytail.tails.generalised_pareto`). Its interval allows for noise. For bias, the fit is repeated with a
lower threshold, and the difference d of the two shapes moves one end:

    low  = low of the profile  - max(d, 0),    d = shape of 4 k samples - shape of k samples,
    high = high of the profile + max(-d, 0).

The confidence that a moment of order p is finite is that of the profile for a shape below 1 / p, moved
likewise: it is above 97.5% exactly if the interval of the index lies above p.

Beside it stands Hill's estimate, the best known: for the k largest samples x_1, ..., x_k above
the threshold u > 0

    1 / alpha = (1/k) sum log(x_i / u),

the maximum-likelihood estimate if x / u is exactly Pareto (Hill 1975). It assumes the tail to begin at 0: a
constant that is added to all rewards changes it, and it is never infinite. So it is not part of the verdict.
Its standard error is alpha / sqrt(k).
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.checks import as_finite_floats
from heavytail.errors import InputError
from heavytail.tails.generalised_pareto import (
    GeneralisedPareto,
    confidence_below,
    fit_excesses,
    fit_shape,
    index_of,
)
from heavytail.tails.threshold import MIN_DISTINCT, MIN_EXCESSES, Exceedances, choose_exceedances

Verdict: TypeAlias = Literal["bounded", "light", "unclear", "heavy"]
BOUNDED_SHAPE = -0.2  # a shape that is surely below it is of a tail that ends; a normal law's is above it


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
    fit: GeneralisedPareto | None  # of the excesses, if there are enough

    @property
    def ends(self) -> bool:
        """True if no reward lies beyond the threshold, and none is to be expected there."""
        return self.fit is None and self.verdict == "bounded"

    @property
    def unknown(self) -> bool:
        """True if too few rewards lie in the tail to say anything about it."""
        return self.fit is None and self.verdict == "unclear"


def fit_tail(ends: Floats, n: int) -> Tail:
    """Fit the upper tail of n samples, given the largest of them, ascending.

    Args:
        ends: the `heavytail.tails.threshold.wider_size` + 1 largest samples.
        n: how many samples there are.
    """
    if ends[-1] <= 0.0:  # no reward has this sign
        return bounded_tail(0.0)
    chosen = choose_exceedances(ends, n)
    distinct = len(np.unique(ends)) - 1  # beyond the least of them
    if distinct < MIN_DISTINCT and (ends[-1] == ends[-2]):  # few values, and the largest is not rare
        return bounded_tail(float(ends[-1]))
    if distinct < MIN_DISTINCT or len(chosen.values) < MIN_EXCESSES:
        return unknown_tail(ends)
    return _fit_exceedances(chosen)


def bounded_tail(end: float) -> Tail:
    """Describe a tail that is none: nothing lies beyond the end."""
    return Tail("bounded", math.inf, math.inf, math.inf, math.nan, 1.0, 1.0, 0, end, None)


def unknown_tail(ends: Floats) -> Tail:
    """Describe a tail of too few samples."""
    threshold, excesses = float(ends[0]), int((ends > ends[0]).sum())
    return Tail("unclear", math.nan, 0.0, math.inf, math.nan, 0.5, 0.5, excesses, threshold, None)


def mirrored(tail: Tail) -> Tail:
    """Describe the same tail as one of the rewards times -1."""
    return replace(tail, threshold=0.0 - tail.threshold)  # not -0.0


def _fit_exceedances(chosen: Exceedances) -> Tail:
    y = chosen.values - chosen.threshold
    fit = fit_excesses(y)
    bias = fit_shape(chosen.wider - chosen.wider_threshold) - fit.shape
    down, up = max(bias, 0.0), max(-bias, 0.0)
    low, high = fit.shape_low - down, fit.shape_high + up
    variance_finite = _confidence(y, fit, 0.5, down, up)
    return Tail(
        verdict=_judge(low, high),
        index=fit.index,
        index_low=index_of(high),
        index_high=index_of(low),
        hill=hill_index(chosen.values, chosen.threshold),
        # what has a variance has a mean, also where the likelihood has two maxima
        mean_finite=max(_confidence(y, fit, 1.0, down, up), variance_finite),
        variance_finite=variance_finite,
        excesses=len(y),
        threshold=chosen.threshold,
        fit=fit,
    )


def _judge(shape_low: float, shape_high: float) -> Verdict:
    if shape_high < BOUNDED_SHAPE:
        return "bounded"
    if shape_high < 0.5:
        return "light"
    return "heavy" if shape_low > 0.5 else "unclear"


def _confidence(y: Floats, fit: GeneralisedPareto, shape: float, down: float, up: float) -> float:
    """Return the confidence that the shape is below this one, with the interval's ends moved down and up."""
    moved = max(shape - up, fit.shape) if shape > fit.shape else min(shape + down, fit.shape)
    return confidence_below(y, fit, moved)


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

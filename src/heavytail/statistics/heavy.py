"""Medians, quantiles and their intervals for values without a variance, such as realised returns.

The mean of such values follows the largest sample and their standard deviation grows without end, so neither
is computed here. A quantile always exists. How many of n values lie below the quantile of level p is
binomial (n, p) whatever the law, so that two order statistics enclose it with at least the stated confidence
(Thompson 1936; David and Nagaraja 2003, section 7.1). Nothing is resampled and nothing is asymptotic; where
there are too few values for the confidence, an end is infinite. Infinite values are legal.
"""

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.statistics.inputs import Interval, as_open_fraction, as_runs


def median(values: npt.ArrayLike) -> Floats:
    """The median over runs, of [run] or [run, checkpoint].

    >>> float(median([1.0, 2.0, np.inf]))
    2.0
    """
    return quantile(values, 0.5)


def quantile(values: npt.ArrayLike, level: float) -> Floats:
    """The quantile over runs, of [run] or [run, checkpoint].

    It is the least value with this part of them at or below it, or the midpoint where two values qualify.

    >>> float(quantile([1.0, 2.0, 3.0, 4.0, np.inf], 0.7))
    4.0
    """
    runs = np.sort(as_runs("values", values, infinite=True), axis=0)
    place = len(runs) * as_open_fraction("level", level)
    near = min(max(round(place), 1), len(runs) - 1)
    if abs(place - near) > 1e-9:
        return runs[int(place)]
    low, high = runs[near - 1], runs[near]  # both qualify; 100 * 0.07 is a little more than 7
    if (np.isneginf(low) & np.isposinf(high)).any():
        raise InputError(
            f"values has no quantile of level {level}: as many are -inf as are inf on either side of it;"
            " another level has one"
        )
    return 0.5 * low + 0.5 * high


def median_interval(values: npt.ArrayLike, *, confidence: float = 0.95) -> Interval:
    """The median over runs and its distribution-free interval.

    >>> [float(x) for x in median_interval([3.0, 1.0, 4.0, 1.5, 9.0, 2.6])]
    [2.8, 1.0, 9.0]
    """
    return quantile_interval(values, 0.5, confidence=confidence)


def quantile_interval(values: npt.ArrayLike, level: float, *, confidence: float = 0.95) -> Interval:
    """A quantile over runs and its distribution-free interval.

    Each end is missed with probability (1 - confidence) / 2 at most.

    Args:
        values: [run] or [run, checkpoint]; the interval holds at each checkpoint.
        level: of the quantile.
        confidence: how often the interval holds the truth, at least.

    >>> [float(x) for x in quantile_interval(range(20), 0.9)]
    [17.5, 14.0, inf]
    """
    from scipy.special import bdtr  # here, because importing SciPy takes a while

    tail = 0.5 * (1.0 - as_open_fraction("confidence", confidence))
    estimate, runs = quantile(values, level), as_runs("values", values, infinite=True)
    n = len(runs)
    at_most = bdtr(np.arange(n + 1.0), n, level)  # probability that at most so many lie below the quantile
    never = np.full((1, *runs.shape[1:]), np.inf)
    ranked = np.concatenate([-never, np.sort(runs, axis=0), never])  # order statistic i at place i
    low, high = np.searchsorted(at_most, tail, "right"), np.searchsorted(at_most, 1.0 - tail, "left") + 1
    return Interval(estimate, ranked[low], ranked[high])

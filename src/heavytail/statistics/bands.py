"""Bands along a curve: between which values a given part of the runs lies, at each checkpoint.

A band shows how runs spread. It is no confidence interval and does not narrow with more runs; for how well a
median is known see `bootstrap`. Quantiles interpolate between neighbouring runs (Hyndman and Fan's type 7,
NumPy's default). Checkpoints are taken one by one: a run may leave the band and return.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.statistics._inputs import as_open_fraction, as_probabilities, as_runs


class Band(NamedTuple):
    """The lower and the upper edge of a band.

    Of one number per run two floats, of [run, checkpoint] two arrays [checkpoint].
    """

    low: Floats
    high: Floats


def quantiles(values: npt.ArrayLike, levels: npt.ArrayLike) -> Floats:
    """Quantiles over runs: one row per level, [level] or [level, checkpoint].

    Args:
        values: [run] or [run, checkpoint].
        levels: numbers from 0, the least, to 1, the greatest.

    >>> quantiles([4.0, 1.0, 3.0, 2.0, 5.0], [0.0, 0.5, 0.9])
    array([1. , 3. , 4.6])
    """
    return np.quantile(as_runs("values", values), as_probabilities("levels", levels), axis=0)


def quantile_band(values: npt.ArrayLike, low: float = 0.25, high: float = 0.75) -> Band:
    """The band between two quantiles, by default of the middle half of the runs.

    Args:
        values: [run] or [run, checkpoint].
        low: level of the lower edge.
        high: level of the upper edge.

    >>> band = quantile_band([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 9.0]])
    >>> band.low, band.high
    (array([1., 5.]), array([3., 5.]))
    """
    ends = as_probabilities("[low, high]", [low, high])
    if low >= high:
        raise InputError(f"low is {low} and high is {high}; low must be below high")
    return Band(*quantiles(values, ends))


def central_band(values: npt.ArrayLike, mass: float) -> Band:
    """The band of the runs in the middle, with as many below it as above.

    Args:
        values: [run] or [run, checkpoint].
        mass: the part of the runs that lies in it, such as 0.5 or 0.9.

    >>> band = central_band(range(101), 0.8)
    >>> round(float(band.low), 9), round(float(band.high), 9)
    (10.0, 90.0)
    """
    tail = 0.5 * (1.0 - as_open_fraction("mass", mass))
    return Band(*quantiles(values, [tail, 1.0 - tail]))

"""Where the runs lie.

Median, interquartile mean, and the mean with one standard deviation as papers draw it.

Each is a trimmed mean: sort the n runs, leave out k at either end, average the rest. The mean leaves out
none, the interquartile mean k = floor(n / 4) (as rliable's IQM and ``scipy.stats.trim_mean(x, 0.25)``), the
median all but the one or two in the middle. So one function serves all, and whatever resamples or permutes
runs takes the statistic by its name: "mean", "median" or "interquartile_mean".

With heavy tails, up to k runs at either end may be as wild as they like and the trimmed mean hardly moves; a
mean is moved by one.
"""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.errors import InputError, suggestion
from heavytail.statistics._inputs import as_runs

Statistic = Literal["mean", "median", "interquartile_mean"]


class MeanAndDeviation(NamedTuple):
    """The mean and one standard deviation."""

    mean: Floats
    deviation: Floats


def median(values: npt.ArrayLike) -> Floats:
    """The median over runs; of an even number the midpoint of the two in the middle.

    Args:
        values: [run] or [run, checkpoint].

    >>> float(median([1.0, 2.0, 1e9]))
    2.0
    >>> median([[1.0, 10.0], [2.0, 20.0], [3.0, 90.0]])
    array([ 2., 20.])
    """
    return location_of(values, "median")


def interquartile_mean(values: npt.ArrayLike) -> Floats:
    """The mean over runs without the lowest and the highest quarter, floor(n / 4) runs each.

    Of less than four runs the plain mean.

    Args:
        values: [run] or [run, checkpoint].

    >>> float(interquartile_mean([-1e9, 1.0, 3.0, 1e9]))
    2.0
    """
    return location_of(values, "interquartile_mean")


def mean_and_deviation(values: npt.ArrayLike) -> MeanAndDeviation:
    """The mean over runs and one standard deviation, with n - 1 in the denominator (ddof=1, the unbiased variance), so of at least two runs.

    It describes how the runs spread and says nothing about how well their mean is known. It is for quantities
    that have a variance, such as regret measured with mean rewards; realised returns with heavy tails have
    none (see `heavytail.statistics.heavy`).

    Args:
        values: [run] or [run, checkpoint].

    >>> found = mean_and_deviation([1.0, 2.0, 3.0])
    >>> float(found.mean), float(found.deviation)
    (2.0, 1.0)
    """
    runs = as_runs("values", values, least=2)
    return MeanAndDeviation(runs.mean(axis=0), runs.std(axis=0, ddof=1))


def location_of(values: npt.ArrayLike, statistic: Statistic) -> Floats:
    """A statistic over runs by its name.

    Args:
        values: [run] or [run, checkpoint].
        statistic: "mean", "median" or "interquartile_mean".

    >>> [float(location_of([0.0, 1.0, 2.0, 3.0, 94.0], name)) for name in ("mean", "median", "interquartile_mean")]
    [20.0, 2.0, 2.0]
    """
    runs = as_runs("values", values)
    k = trimmed(statistic, len(runs))
    return trimmed_mean(
        np.ascontiguousarray(np.sort(runs, axis=0).T), k
    )  # sorted first: the order of runs changes no bit of a mean either


def trimmed(statistic: Any, n: int) -> int:
    """How many of n runs a statistic leaves out at either end.

    >>> trimmed("interquartile_mean", 10), trimmed("median", 10), trimmed("median", 11)
    (2, 4, 5)
    """
    if not isinstance(statistic, str) or statistic not in get_args(Statistic):
        raise InputError(
            f"there is no statistic {statistic!r}; {suggestion(str(statistic), get_args(Statistic))}"
        )
    return {"mean": 0, "interquartile_mean": n // 4, "median": (n - 1) // 2}[statistic]


def trimmed_mean(rows: Floats, k: int) -> Floats:
    """The mean along the last axis without the k lowest and the k highest; it sorts the rows in place.

    >>> trimmed_mean(np.array([[1.0, 9.0, 2.0], [7.0, 5.0, 6.0]]), 1)
    array([2., 6.])
    """
    if k:
        rows.sort(axis=-1)
    return rows[..., k : rows.shape[-1] - k].mean(axis=-1)

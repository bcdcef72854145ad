"""Statistics of location: median, interquartile mean, mean, and the statistics that others register.

Those of this file are trimmed means: sort the n runs, leave out k at either end, average the rest. The mean
leaves out none, the interquartile mean k = floor(n / 4) (as rliable's IQM and
``scipy.stats.trim_mean(x, 0.25)``), the median all but the one or two in the middle.

With heavy tails, up to k runs at either end may take any value and the trimmed mean hardly moves; a mean is
moved by one run.

Whatever resamples or permutes runs takes the statistic by its name. A file that registers one adds it::

    @register("statistic", "midrange")
    def midrange() -> Location:
        return Location(lambda rows: 0.5 * (rows.min(axis=-1) + rows.max(axis=-1)))
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.errors import InputError, short_repr, suggestion
from heavytail.registry import find, register, registered
from heavytail.statistics.inputs import as_probabilities, as_runs

Statistic: TypeAlias = str  # the name of a registered statistic: "mean", "median", "interquartile_mean" ...


class Location(NamedTuple):
    """A statistic of location, as builders of the kind "statistic" return it."""

    compute: Callable[[Floats], Floats]  # [..., run] -> [...]; it may reorder the runs in place
    trimmed: Callable[[int], int] = lambda n: 0  # how many of n runs at either end never enter the result


class MeanAndDeviation(NamedTuple):
    """The mean and one standard deviation."""

    mean: Floats
    deviation: Floats


def find_statistic(name: Any) -> Location:
    """Find a registered statistic by its name.

    >>> find_statistic("median").trimmed(10), find_statistic("interquartile_mean").trimmed(10)
    (4, 2)
    """
    if not isinstance(name, str):
        names = (entry.name for entry in registered("statistic"))
        raise InputError(f"there is no statistic {short_repr(name)}; {suggestion(str(name), names)}")
    location: Location = find("statistic", name).builder()
    return location


def trimmed_location(trimmed: Callable[[int], int]) -> Location:
    """Make the trimmed mean that leaves out `trimmed(n)` of n runs at either end."""
    return Location(lambda rows: trimmed_mean(rows, trimmed(rows.shape[-1])), trimmed)


@register("statistic", "mean")
def _mean() -> Location:
    """Average all runs."""
    return trimmed_location(lambda n: 0)


@register("statistic", "median")
def _median() -> Location:
    """Average the one or two runs in the middle."""
    return trimmed_location(lambda n: (n - 1) // 2)


@register("statistic", "interquartile_mean")
def _interquartile_mean() -> Location:
    """Average the runs without the lowest and the highest quarter."""
    return trimmed_location(lambda n: n // 4)


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
    """The mean over runs and one standard deviation, with n - 1 in the denominator (ddof=1).

    It describes how at least two runs spread and says nothing about how well their mean is known. It is for
    quantities that have a variance, such as regret measured with mean rewards; realised returns with heavy
    tails have none (see `heavytail.statistics.heavy`).

    Args:
        values: [run] or [run, checkpoint].

    >>> mean, deviation = mean_and_deviation([1.0, 2.0, 3.0])
    >>> float(mean), float(deviation)
    (2.0, 1.0)
    """
    runs = as_runs("values", values, least=2)
    return MeanAndDeviation(runs.mean(axis=0), runs.std(axis=0, ddof=1))


def location_of(values: npt.ArrayLike, statistic: Statistic) -> Floats:
    """A statistic over runs by its name.

    Args:
        values: [run] or [run, checkpoint].
        statistic: "mean", "median", "interquartile_mean" or another registered one.

    >>> [float(location_of([0.0, 1.0, 2.0, 3.0, 94.0], name)) for name in ("mean", "median")]
    [20.0, 2.0]
    """
    runs = np.sort(as_runs("values", values), axis=0)  # so that the order of runs changes no bit of a mean
    return find_statistic(statistic).compute(np.ascontiguousarray(runs.T))


def quantiles(values: npt.ArrayLike, levels: npt.ArrayLike) -> Floats:
    """Quantiles over runs: one row per level, [level] or [level, checkpoint].

    They interpolate between neighbouring runs (Hyndman and Fan's type 7, NumPy's default), and show how runs
    spread; how well a median is known is what `bootstrap_interval` says.

    Args:
        values: [run] or [run, checkpoint].
        levels: numbers from 0, the least, to 1, the greatest.

    >>> quantiles([4.0, 1.0, 3.0, 2.0, 5.0], [0.0, 0.5, 0.9])
    array([1. , 3. , 4.6])
    """
    return np.quantile(as_runs("values", values), as_probabilities("levels", levels), axis=0)


def trimmed_mean(rows: Floats, k: int) -> Floats:
    """The mean along the last axis without the k lowest and the k highest; it sorts the rows in place.

    >>> trimmed_mean(np.array([[1.0, 9.0, 2.0], [7.0, 5.0, 6.0]]), 1)
    array([2., 6.])
    """
    if k:
        rows.sort(axis=-1)
    return rows[..., k : rows.shape[-1] - k].mean(axis=-1)


MIN_RUNS, MIN_SHARE = 2, 0.2  # of each group
MIN_GAP = 0.1  # as a share of the largest value: smaller gaps do not matter
LEAST_RATIO, RATIO_TIMES_RUNS = 2.0, 60.0  # of the gap to the deviation within groups: few runs need more


def two_groups(values: npt.ArrayLike) -> tuple[Floats, Floats] | None:
    """Split runs into two groups with a wide gap between them; None where there is none.

    The gap must be 60 / n times the standard deviation within the groups, and at least twice that. Of samples
    of four and more values of one normal, uniform, exponential, log-normal (sigma 1), Student (df 2) or
    Pareto (alpha 1.5) law, at most 6% are split, of most sizes and laws at most 3%.

    >>> two_groups([1.0, 1.2, 9.0, 1.1, 9.3])
    (array([1. , 1.1, 1.2]), array([9. , 9.3]))
    >>> two_groups([1.0, 2.0, 3.0, 4.0, 5.0])
    """
    x = np.sort(np.asarray(values, np.float64))
    n = len(x)
    least = max(MIN_RUNS, int(np.ceil(MIN_SHARE * n)))
    if n < 2 * least or not np.isfinite(x).all():
        return None
    cuts = np.arange(least, n - least + 1)
    gaps = x[cuts] - x[cuts - 1]
    within = np.array([np.sqrt((k * x[:k].var() + (n - k) * x[k:].var()) / n) for k in cuts])
    wide = gaps > np.maximum(
        max(LEAST_RATIO, RATIO_TIMES_RUNS / n) * within, MIN_GAP * np.abs(x[[0, -1]]).max()
    )
    if not wide.any():
        return None
    cut = int(cuts[wide][np.argmax(gaps[wide])])
    return x[:cut], x[cut:]

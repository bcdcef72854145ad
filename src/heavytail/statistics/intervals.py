"""Intervals for a statistic of the runs, by the bootstrap, and for the rate of an event, exactly.

*Percentile bootstrap* (Efron 1979): draw n of the n runs with replacement, compute the statistic, repeat; the
interval holds the middle of the results. Of [run, checkpoint] whole runs are drawn, so that a curve stays
together; the interval holds at each checkpoint, not at all of them at once. (For intervals over several tasks
see `Study.to_rliable`.)

Memory is bounded: resamples come in chunks, checkpoints in blocks, and every block sees the same resamples.
So the result depends on the values and the generator alone, and the interval at one checkpoint does not
depend on the others.

The bootstrap needs a statistic whose law settles: for the mean of values without a variance it fails (Athreya
1987). Of heavy-tailed values take the median or the interquartile mean. With few runs percentile intervals
are a little short: of 10 normal runs those at 95 % hold the truth in 94 % of cases for the median and the
interquartile mean, in 91 % for the mean.

*Rates*: k of n runs, with the interval of Clopper and Pearson (1934): all rates under which neither k or more
nor k or fewer would be rarer than (1 - confidence)/2. It is exact for every n and every rate, and so a little
wide: it holds the truth at least as often as it says. Of 0 in n it ends at 1 - ((1 - confidence)/2)^(1/n),
about 3.7/n at 95 %.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.checks import as_floats
from heavytail.errors import InputError
from heavytail.statistics.inputs import Interval, as_open_fraction, as_resamples, as_runs, at_once, check_rng
from heavytail.statistics.location import Location, Statistic, find_statistic, location_of


def bootstrap_interval(
    values: npt.ArrayLike,
    statistic: Statistic = "median",
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> Interval:
    """A statistic over runs and its percentile bootstrap interval.

    Args:
        values: [run] or [run, checkpoint], of at least two runs.
        statistic: "mean", "median", "interquartile_mean" or another registered one.
        rng: draws the resamples.
        confidence: how often the interval should hold the truth.
        resamples: how many.

    >>> interval = bootstrap_interval(range(101), rng=np.random.default_rng(0))
    >>> [round(float(x)) for x in interval]
    [50, 40, 60]
    """
    runs, location = as_runs("values", values, least=2), find_statistic(statistic)
    check_rng(rng)
    tail = 0.5 * (1.0 - as_open_fraction("confidence", confidence))
    number, columns = as_resamples(resamples, confidence), np.ascontiguousarray(runs.reshape(len(runs), -1).T)
    state, ends, width = rng.bit_generator.state, np.empty((2, len(columns))), at_once(number)
    for first in range(0, len(columns), width):
        rng.bit_generator.state = state  # the same resamples for every block
        block = slice(first, first + width)
        replicates = _replicates(columns[block], location, rng, number)
        ends[:, block] = np.quantile(replicates, [tail, 1.0 - tail], axis=1)
    low, high = (end.reshape(runs.shape[1:])[()] for end in ends)
    return Interval(location_of(runs, statistic), low, high)


def _replicates(columns: Floats, location: Location, rng: np.random.Generator, number: int) -> Floats:
    """The statistic of so many resamples of the runs [column, replicate]."""
    n = columns.shape[1]
    step = at_once(columns.size)
    counts = (min(step, number - done) for done in range(0, number, step))
    draws = (np.take(columns, rng.integers(0, n, (count, n)), axis=1) for count in counts)
    return np.concatenate([location.compute(rows) for rows in draws], axis=1)


def rate_interval(happened: Any, *, confidence: float = 0.95) -> Interval:
    """The rate at which something happens and its exact interval.

    Args:
        happened: [run] whether it did.
        confidence: how often the interval should at least hold the true rate.

    >>> [round(float(x), 3) for x in rate_interval([True] * 3 + [False] * 57)]
    [0.05, 0.01, 0.139]
    """
    from scipy.stats import beta  # here, because importing SciPy takes a while

    runs = as_floats("happened", happened)
    if runs.ndim != 1 or not runs.size or not np.isin(runs, (0.0, 1.0)).all():
        raise InputError(
            f"happened has shape {runs.shape}; it must be a list of True and False, one for each run"
        )
    n, k, tail = runs.size, int(runs.sum()), 0.5 * (1.0 - as_open_fraction("confidence", confidence))
    low = beta.ppf(tail, k, n - k + 1) if k > 0 else 0.0  # scipy.stats.binomtest finds it to ten digits only
    high = beta.ppf(1.0 - tail, k + 1, n - k) if k < n else 1.0
    return Interval(*np.array([k / n, low, high]))

"""Rates: k of n runs, and the exact interval of the rate.

The interval is that of Clopper and Pearson (1934): all rates under which neither k or more nor k or fewer
would be rarer than (1 - confidence)/2. It is exact for every n and every rate, and so a little wide: it holds
the truth at least as often as it says. Of 0 in n it ends at 1 - ((1 - confidence)/2)^(1/n), about 3.7/n at
95 %.
"""

from typing import Any

import numpy as np

from heavytail.checks import as_floats
from heavytail.errors import InputError
from heavytail.statistics._inputs import Interval, as_open_fraction


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

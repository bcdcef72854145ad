"""Two groups of runs, such as those that learnt and those that never did: one median describes neither."""

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats

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

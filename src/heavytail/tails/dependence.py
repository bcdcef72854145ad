r"""A test for dependent rewards: neighbours of like size make intervals for independent ones too short.

What comes in clusters is their size: the volatility of markets, the load of a queue, the state that an agent
stays in. So it is Spearman's correlation of |r - median| with the next one's that is looked at. It exists for
every tail, and is 0 but for noise of 1 / sqrt(n) if rewards are independent.
"""

import math

import numpy as np

from heavytail.arrays import Floats

MAX_REWARDS = 100_000  # that are looked at, the last ones: more change nothing
NOTABLE = 0.1  # smaller correlations shorten no interval by more than a tenth,
ERRORS = 4.0  # and those of fewer standard errors are noise


def size_correlation(samples: Floats, centre: float) -> float:
    """Compute the rank correlation of distances from the centre with those of the next samples.

    >>> calm, wild = np.tile([1.0, -1.0], 50), np.tile([5.0, -5.0], 50)
    >>> round(size_correlation(np.concatenate([calm, wild]), 0.0), 2)
    0.98
    """
    ranks = _ranks(np.abs(samples[-MAX_REWARDS:] - centre))
    deviations = ranks - ranks.mean()
    square = float(deviations @ deviations)
    return float(deviations[1:] @ deviations[:-1]) / square if square > 0.0 else 0.0


def is_notable(correlation: float, n: int) -> bool:
    """Tell whether a correlation within n samples is neither noise nor too small to matter.

    >>> is_notable(0.2, 1000), is_notable(0.2, 100), is_notable(0.05, 10_000)
    (True, False, False)
    """
    return correlation > max(NOTABLE, ERRORS / math.sqrt(min(n, MAX_REWARDS)))


def _ranks(values: Floats) -> Floats:
    """Rank values from 0 on; equal ones share the middle of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * (counts + 1)
    return np.asarray(middle[place])

r"""Rewards that intervals are not made for: dependent ones, and those drawn repeatedly from a list.

*Dependence.* Neighbours of like size make intervals for independent rewards too short. What comes in clusters
is their size: the volatility of markets, the load of a queue, the state that an agent stays in. So the test
is Spearman's correlation of |r - median| with the next one's. It exists for every tail, and is 0 but for
noise of 1 / sqrt(n) if rewards are independent.

*Repetition*, as by a law made of data. A reward that is drawn twice tells no more of the tail than once:
where n rewards repeat a list of m, intervals for n independent ones are too short by sqrt(n / m), and
thresholds for n lie where the list has a handful. So the list takes their place, each value as often as it is
there. It shows in the tail. Rewards of a continuous law never repeat, and rounded ones lie so far apart in
the tail that few do, or as near to each other as rounding allows. A list is known by both: most of its `TOP`
largest values came more than once, although they are far apart.
"""

import math

import numpy as np

from heavytail.arrays import Floats

MAX_REWARDS = 100_000  # that are used, the last ones: more would change nothing
NOTABLE = 0.1  # smaller correlations shorten no interval by more than a tenth,
ERRORS = 4.0  # and those of fewer standard errors are noise
TOP = 10  # the largest values of a tail, of which more than half must have come again,
FAR = 30.0  # and be this many times farther apart than the nearest two in the tail


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
    """Return whether a correlation within n samples is neither noise nor too small to matter.

    >>> is_notable(0.2, 1000), is_notable(0.2, 100), is_notable(0.05, 10_000)
    (True, False, False)
    """
    return correlation > max(NOTABLE, ERRORS / math.sqrt(min(n, MAX_REWARDS)))


def _ranks(values: Floats) -> Floats:
    """Rank values from 0 on; equal ones share the middle of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * (counts + 1)
    return np.asarray(middle[place])


def are_drawn_again(ascending: Floats) -> bool:
    """Return whether the largest samples are a list that was drawn from again and again.

    >>> rng = np.random.default_rng(0)
    >>> returns = rng.standard_t(3, 500)
    >>> are_drawn_again(np.sort(returns)), are_drawn_again(np.sort(rng.choice(returns, 5000)))
    (False, True)
    """
    values, counts = np.unique(ascending, return_counts=True)
    if len(values) <= TOP:
        return False
    gaps = np.diff(values)
    apart = float(np.median(gaps[-TOP:])) > FAR * float(gaps.min())
    return apart and int((counts[-TOP:] > 1).sum()) > TOP // 2


def draw_once(samples: Floats) -> Floats:
    """Return the list that samples were drawn from, in the order of arrival.

    A value that came k times as often as others, such as 0, is k times in the list.

    >>> draw_once(np.array([0.0, 7.0, 0.0, 7.0, 0.0, 5.0, 5.0, 0.0]))
    array([0., 7., 0., 5.])
    """
    _, place, counts = np.unique(samples, return_inverse=True, return_counts=True)
    listed = np.maximum(np.rint(counts / np.median(counts)), 1.0)
    order = np.argsort(place, kind="stable")
    occurrence = np.empty(len(samples), np.int64)  # how often its value came before
    occurrence[order] = np.arange(len(samples)) - np.repeat(np.cumsum(counts) - counts, counts)
    return samples[occurrence < listed[place]]

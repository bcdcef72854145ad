r"""The threshold of a tail: how many of the largest samples belong to it, and how ties are treated.

**How many.** Too many, and the law is not generalised Pareto yet: the index is biased. Too few, and it is all
noise. For the laws that have a power for a tail the optimum grows as a power of n between 1/2 and 1, which
depends on the law (Hall 1982). A rule that looks for it in the data must then pay for having looked, and
intervals after it are too short. Here

    k = min(n / 10, 4 sqrt(n)),    but at least min(20, n / 5),

grows more slowly than the optimum of all common laws, so that the bias vanishes beside the noise, and it
depends on n alone (the share of a tenth is DuMouchel's 1983; powers of n near 1/2 as in Ferreira, de Haan and
Peng 2003).

**Bias.** What is left of it shows when the threshold is lowered: with a second-order exponent of -1/2 the
bias doubles from k to 4 k samples, so that the difference of the two estimates is the bias of the first. The
end of the interval on that side is moved by it: see `heavytail.tails.tail`.

**Ties.** Any threshold is legal, so one that falls on a value which many samples share moves above it: no
atom, such as the zeros of sparse rewards, is part of a tail. Samples of equal value beyond it, as of whole
numbers or prices in cents, are spread evenly over the least distance between values.
"""

import math
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats

TAIL_SHARE = 0.1  # the most samples in a tail: this share of all,
TAIL_ROOT = 4.0  # and this many times sqrt(n),
FEW, FEW_SHARE = 20, 0.2  # but at least this many, if they are no more than this share
WIDER = 4  # how many times as many samples the wider tail has,
WIDER_SHARE = 0.4  # unless it is more than this share
MIN_EXCESSES = 10  # fewer say nothing,
MIN_DISTINCT = 3  # nor do fewer values


class Exceedances(NamedTuple):
    """The samples beyond a threshold, and those beyond a lower one. All are distinct unless they are few."""

    threshold: float
    values: Floats  # [k] ascending
    wider_threshold: float
    wider: Floats  # [up to 4 k] ascending


def tail_size(n: int) -> int:
    """Choose how many of n samples are taken for a tail.

    >>> [tail_size(n) for n in (50, 1_000, 1_000_000)]
    [10, 100, 4000]
    """
    least = min(FEW, int(FEW_SHARE * n))
    return max(round(min(TAIL_SHARE * n, TAIL_ROOT * math.sqrt(n))), least)


def wider_size(n: int) -> int:
    """Choose how many samples the wider tail has.

    >>> [wider_size(n) for n in (50, 1_000, 1_000_000)]
    [20, 400, 16000]
    """
    return max(min(WIDER * tail_size(n), int(WIDER_SHARE * n)), tail_size(n))


def choose_exceedances(ends: Floats, n: int) -> Exceedances:
    """Choose the threshold of a tail, given the `wider_size(n)` + 1 largest of n samples, ascending."""
    spread = spread_ties(ends)
    k, wider = (_above_ties(ends, size) for size in (tail_size(n), wider_size(n)))
    return Exceedances(*_beyond(spread, k), *_beyond(spread, wider))


def spread_ties(ascending: Floats) -> Floats:
    """Spread equal values evenly over the least distance between different ones.

    >>> spread_ties(np.array([1.0, 2.0, 2.0, 4.0]))
    array([1.  , 1.75, 2.25, 4.  ])
    """
    values, first, counts = np.unique(ascending, return_index=True, return_counts=True)
    if len(values) in (1, len(ascending)):
        return ascending
    place = np.arange(len(ascending)) - np.repeat(first, counts)
    shares = (place + 0.5) / np.repeat(counts, counts) - 0.5
    return ascending + np.diff(values).min() * shares


def _above_ties(ends: Floats, k: int) -> int:
    """Return how many samples are beyond a threshold near the k-th largest that no tie goes across."""
    if k >= len(ends) or ends[-k - 1] < ends[-k]:
        return min(k, len(ends) - 1)
    above = len(ends) - int(np.searchsorted(ends, ends[-k - 1], side="right"))
    return max(above - 1, 0)  # the least value above the tie is the threshold


def _beyond(ascending: Floats, k: int) -> tuple[float, Floats]:
    start = len(ascending) - k
    return float(ascending[start - 1]), ascending[start:]

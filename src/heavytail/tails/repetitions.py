r"""Rewards that were drawn again and again from a list, as a law made of data draws them.

A reward that is drawn twice tells no more of the tail than once: where n rewards repeat a list of m,
intervals for n independent ones are too short by sqrt(n / m), and thresholds for n lie where the list has a
handful. So the list is taken in their place, each value as often as it is there.

It shows in the tail. Rewards of a continuous law never repeat, and rounded ones lie so far apart in the tail
that few do, or as near to each other as rounding allows. A list is known by both: most of its `TOP` largest
values came more than once, although they are far apart.
"""

import numpy as np

from heavytail.arrays import Floats

TOP = 10  # the largest values of a tail, of which more than half must have come again,
FAR = 30.0  # and be so many times farther apart than the nearest two in the tail


def are_drawn_again(ascending: Floats) -> bool:
    """Tell whether the largest samples are a list that was drawn from again and again.

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

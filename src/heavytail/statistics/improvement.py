"""The probability that a run of A beats a run of B: P(A > B) + P(A = B) / 2, over random pairs.

It is the Mann-Whitney statistic over the number of pairs, the area under the ROC curve, and rliable's
probability of improvement. Only the order of runs matters: no tail is too heavy, and infinite values are
legal. 0.5 means neither is better; Cliff's delta is 2 P - 1. Larger is better here: for regret, exchange A
and B.
"""

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.statistics._inputs import as_runs


def probability_of_improvement(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """P(A > B) + P(A = B) / 2 over all pairs of runs, at each checkpoint; the numbers of runs may differ.

    Args:
        a: [run] or [run, checkpoint].
        b: the same for the other, with the same checkpoints.

    >>> float(probability_of_improvement([1.0, 3.0], [2.0, 0.0, 1.0, 1.0]))
    0.75
    """
    first, second = as_runs("a", a, infinite=True), as_runs("b", b, infinite=True)
    if first.shape[1:] != second.shape[1:]:
        raise InputError(
            f"a has shape {first.shape} and b has shape {second.shape}; they may differ in the number of runs"
            " only"
        )
    columns_a, columns_b = first.reshape(len(first), -1).T, np.sort(second.reshape(len(second), -1).T)
    shares = [_improvement(x, y) for x, y in zip(columns_a, columns_b, strict=True)]
    return np.reshape(shares, first.shape[1:])[()]


def _improvement(a: Floats, b: Floats) -> float:
    """The probability of improvement, `b` being sorted: a sum of whole numbers, so without rounding."""
    below, at_most = np.searchsorted(b, a, "left"), np.searchsorted(b, a, "right")
    return float((below + at_most).sum()) / (2.0 * len(a) * len(b))

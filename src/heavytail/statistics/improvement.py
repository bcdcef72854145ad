"""How often a run of A does better than a run of B.

P(A > B) + P(A = B) / 2, of pairs of runs drawn at random.

It is the Mann-Whitney statistic over the number of pairs, the area under the ROC curve, and rliable's
probability of improvement. Only the order of runs matters: no tail is too heavy, and infinite values are
welcome. 0.5 means neither is better; Cliff's delta is 2 P - 1. Larger is better here: for regret, exchange A
and B.
"""

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError
from heavytail.statistics._inputs import Interval, as_runs
from heavytail.statistics.bootstrap import percentiles


def probability_of_improvement(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """P(A > B) + P(A = B) / 2 over all pairs of runs, at each checkpoint; the numbers of runs may differ.

    Args:
        a: [run] or [run, checkpoint].
        b: the same for the other, with the same checkpoints.

    >>> float(probability_of_improvement([1.0, 3.0], [2.0, 0.0, 1.0, 1.0]))
    0.75
    """
    first, second = _samples(a, b, least=1)
    ones_a, ones_b = np.ones((1, len(first)), np.int64), np.ones((1, len(second)), np.int64)
    found = [_improvements(x, y, ones_a, ones_b)[0] for x, y in zip(*_columns(first, second), strict=True)]
    return np.reshape(found, first.shape[1:])[()]


def improvement_interval(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> Interval:
    """The probability of improvement and its percentile bootstrap interval, at each checkpoint.

    Runs of A and of B are drawn apart.

    Where every run of A is above every run of B, every resample says 1 and the interval has no width: what
    few runs can show then is said by `permutation_test`.

    Args:
        a: [run] or [run, checkpoint], of at least two runs.
        b: the same for the other, with the same checkpoints.
        rng: draws the resamples.
        confidence: how often the interval should hold the truth.
        resamples: how many.

    >>> found = improvement_interval(np.arange(50) + 20, np.arange(50), rng=np.random.default_rng(0))
    >>> [round(float(x), 2) for x in found]
    [0.82, 0.74, 0.89]
    """
    first, second = _samples(a, b, least=2)
    n, both = len(first), len(first) + len(second)
    columns_a, columns_b = _columns(first, second)

    def draw(block: slice, count: int) -> Floats:
        u = rng.random(
            (count, both)
        )  # one array for both, so that chunks do not change who gets which number
        counts = _counts(u[:, :n]), _counts(u[:, n:])
        return np.stack(
            [_improvements(x, y, *counts) for x, y in zip(columns_a[block], columns_b[block], strict=True)]
        )

    low, high = percentiles(draw, len(columns_a), both, rng, confidence, resamples)
    shape = first.shape[1:]
    return Interval(
        probability_of_improvement(first, second), low.reshape(shape)[()], high.reshape(shape)[()]
    )


def stratified_improvement_interval(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> Interval:
    """The probability of improvement averaged over tasks, as rliable reports it, with its stratified bootstrap interval: three floats.

    Args:
        a: [run, task], of at least two runs.
        b: the same for the other, with the same tasks.
        rng: draws the resamples, within each task.
        confidence: how often the interval should hold the truth.
        resamples: how many.

    >>> a, b = np.stack([np.arange(50) + 50, np.arange(50)], axis=1), np.stack([np.arange(50), np.arange(50)], axis=1)
    >>> found = stratified_improvement_interval(a, b, rng=np.random.default_rng(0))
    >>> [round(float(x), 2) for x in found]
    [0.75, 0.69, 0.81]
    """
    first, second = _samples(a, b, least=2)
    if first.ndim != 2:
        raise InputError(f"a has shape {first.shape}; it must be [run, task]")
    n, both, tasks = len(first), len(first) + len(second), first.shape[1]

    def draw(_: slice, count: int) -> Floats:
        u = rng.random((count, tasks, both))
        found = [
            _improvements(x, y, _counts(u[:, i, :n]), _counts(u[:, i, n:]))
            for i, (x, y) in enumerate(zip(*_columns(first, second), strict=True))
        ]
        return np.mean(found, axis=0)[None]

    low, high = percentiles(draw, 1, both * tasks, rng, confidence, resamples)
    return Interval(probability_of_improvement(first, second).mean(), low[0], high[0])


def _samples(a: npt.ArrayLike, b: npt.ArrayLike, least: int) -> tuple[Floats, Floats]:
    first, second = as_runs("a", a, least=least, infinite=True), as_runs("b", b, least=least, infinite=True)
    if first.shape[1:] != second.shape[1:]:
        raise InputError(
            f"a has shape {first.shape} and b has shape {second.shape}; they may differ in the"
            " number of runs only"
        )
    return first, second


def _columns(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    return a.reshape(len(a), -1).T, b.reshape(len(b), -1).T


def _counts(u: Floats) -> Ints:
    """How often each of n runs is drawn [resample, n], where n uniform numbers choose one each."""
    rows, n = u.shape
    chosen = (u * n).astype(np.int64) + n * np.arange(rows)[:, None]
    return np.bincount(chosen.ravel(), minlength=u.size).reshape(rows, n)


def _improvements(a: Floats, b: Floats, counts_a: Ints, counts_b: Ints) -> Floats:
    """The probability of improvement [resample] where each run counts as often as it was drawn.

    Sums of whole numbers, so without rounding.
    """
    order = np.argsort(b)
    below = np.cumsum(counts_b[:, order], axis=1)
    below = np.concatenate([np.zeros((len(below), 1), np.int64), below], axis=1)
    less, at_most = np.searchsorted(b[order], a, "left"), np.searchsorted(b[order], a, "right")
    pairs = (counts_a * (below[:, less] + below[:, at_most])).sum(axis=1)
    return pairs / (2.0 * len(a) * len(b))

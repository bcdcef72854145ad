"""Is A better than B, or is it chance? Permutation tests, unpaired and paired, and Holm's correction.

*Unpaired*: if A and B have one law, any split of all runs into two groups of these sizes was as likely as the
one seen. *Paired*, where A and B met the same seeds: if they have one law, each difference could as well have
had the other sign. The p-value is the part of all splits, or of all signs, whose statistic is at least as
large as the one seen; it holds for any tail and any number of runs (Fisher 1935; Lehmann and Romano 2005,
chapter 15). Up to 20,000 are enumerated; of more, as many as asked for are drawn, and the one seen is
counted among them, (1 + those at least as large) / (1 + drawn), which keeps the test valid (Phipson and Smyth
2010).

The hypothesis is that the laws are the same, not only their medians. Larger is better: for regret, exchange A
and B. A median of few runs takes few values, so that its test has little power; the interquartile mean has
more and still resists outliers. Statistics that differ by rounding only are equal, on the scale of the runs
that are not trimmed, so that an outlier does not blur the others.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import chain, combinations, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Bools, Floats
from heavytail.errors import InputError
from heavytail.statistics.inputs import (
    as_number_of_resamples,
    as_probabilities,
    as_runs,
    at_once,
    check_rng,
)
from heavytail.statistics.location import Statistic, find_statistic

MAX_EXACT = 20_000
ROUNDING = 64 * float(np.finfo(np.float64).eps)


class Comparison(NamedTuple):
    """The result of a test of "A is better than B"."""

    p_value: float
    effect: float  # statistic of A less that of B; paired: the statistic of the differences
    probability_of_improvement: float  # P(A > B) + P(A = B) / 2 of two runs; paired: of two with one seed
    exact: bool  # whether all permutations were enumerated
    permutations: int  # how many were enumerated or drawn

    @property
    def cliffs_delta(self) -> float:
        """P(A > B) - P(A < B), from -1 to 1."""
        return 2.0 * self.probability_of_improvement - 1.0


def permutation_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    statistic: Statistic = "median",
    *,
    rng: np.random.Generator,
    resamples: int = 20_000,
) -> Comparison:
    """Test one-sidedly whether A is better than B, from independent runs.

    Args:
        a: [run].
        b: [run]; the numbers of runs may differ.
        statistic: whose difference is the effect: "mean", "median", "interquartile_mean" or another.
        rng: draws permutations where there are too many to enumerate.
        resamples: how many to draw then.

    >>> result = permutation_test([5.0, 6.0, 7.0], [1.0, 2.0, 3.0], "mean", rng=np.random.default_rng(0))
    >>> result.p_value, result.effect, result.cliffs_delta, result.exact
    (0.05, 4.0, 1.0, True)
    """
    first, second = as_runs("a", a, curves=False), as_runs("b", b, curves=False)
    n, m, drawn = len(first), len(second), _check_resamples(rng, resamples)
    location, pooled = find_statistic(statistic), np.concatenate([first, second])
    order = np.argsort(pooled)
    pool, trimmed = pooled[order], min(location.trimmed(n), location.trimmed(m))

    def differences(in_a: Bools) -> Floats:
        values = np.broadcast_to(pool, in_a.shape)
        return location.compute(values[in_a].reshape(-1, n)) - location.compute(values[~in_a].reshape(-1, m))

    seen, total = order < n, math.comb(n + m, n)
    exact = total <= MAX_EXACT
    splits = _all_splits(n, n + m) if exact else _random_splits(seen, drawn, rng)
    scale = np.abs(pool[trimmed : n + m - trimmed]).max()  # what is beyond never enters a statistic
    effect = float(differences(seen[None])[0])
    p_value = _p_value(map(differences, splits), effect, scale, exact)
    improvement = float(probability_of_improvement(first, second))
    return Comparison(p_value, effect, improvement, exact, total if exact else drawn)


def paired_permutation_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    statistic: Statistic = "median",
    *,
    rng: np.random.Generator,
    resamples: int = 20_000,
) -> Comparison:
    """Test one-sidedly whether A is better than B, run i of A paired with run i of B by their seed.

    The effect is the statistic of the differences, which for medians is not the difference of the statistics.
    Where many differences are exactly alike, their median has the same value whatever most of the signs, and
    its test has no power: take another statistic then.

    Args:
        a: [run].
        b: [run], in the same order of seeds.
        statistic: "mean", "median", "interquartile_mean" or another registered one, of the differences.
        rng: draws signs where there are too many to enumerate.
        resamples: how many to draw then.

    >>> result = paired_permutation_test([5.0, 16.0, 27.0], [4.0, 14.0, 24.0], rng=np.random.default_rng(0))
    >>> result.p_value, result.effect, result.cliffs_delta, result.exact
    (0.25, 2.0, 1.0, True)
    """
    first, second = as_runs("a", a, curves=False), as_runs("b", b, curves=False)
    n, drawn = len(first), _check_resamples(rng, resamples)
    if n != len(second):
        raise InputError(
            f"a has {n} runs and b has {len(second)}; paired runs must be as many (permutation_test takes"
            " unpaired ones)"
        )
    location, difference = find_statistic(statistic), first - second
    exact = 2**n <= MAX_EXACT
    signs = _all_signs(n) if exact else _random_signs(n, drawn, rng)
    scale = np.sort(np.abs(first) + np.abs(second))[n - 1 - location.trimmed(n)]
    effect = float(location.compute(difference.copy()))
    nulls = (location.compute(np.where(changed, -difference, difference)) for changed in signs)
    p_value = _p_value(nulls, effect, scale, exact)
    improvement = float((0.5 * (np.sign(difference) + 1.0)).mean())
    return Comparison(p_value, effect, improvement, exact, 2**n if exact else drawn)


def sign_test(wins: int, losses: int) -> float:
    """Test one-sidedly whether A beats B more often than not, of pairs that A won and lost.

    Ties do not count. It is the permutation test of signs alone, so only the order of values matters.

    >>> sign_test(3, 0), sign_test(0, 0)
    (0.125, 1.0)
    """
    from scipy.stats import binom  # here, because importing SciPy takes a while

    return float(binom.sf(wins - 1, wins + losses, 0.5))


def holm(p_values: npt.ArrayLike) -> Floats:
    """Adjust the p-values of several tests, in their order (Holm 1979).

    Rejecting all below 0.05 then makes any error at all in at most 5 % of cases, however the tests depend on
    each other.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = as_probabilities("p_values", p_values)
    order, adjusted = np.argsort(p, kind="stable"), np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def _check_resamples(rng: np.random.Generator, resamples: int) -> int:
    check_rng(rng)
    return as_number_of_resamples(resamples)


def _p_value(nulls: Iterable[Floats], effect: float, scale: float, exact: bool) -> float:
    """The share of null statistics that are at least the effect, or less by rounding only."""
    count = total = 0 if exact else 1
    for null in nulls:
        count += int(np.count_nonzero(null >= effect - ROUNDING * scale))
        total += len(null)
    return count / total


def _all_splits(n: int, total: int) -> Iterator[Bools]:
    """Every way to choose n of `total`, as masks [chunk, total]."""
    ways = combinations(range(total), n)
    while chunk := list(islice(ways, at_once(total))):
        masks = np.zeros((len(chunk), total), np.bool_)
        chosen = np.fromiter(chain.from_iterable(chunk), np.int64, len(chunk) * n)
        masks[np.repeat(np.arange(len(chunk)), n), chosen] = True
        yield masks


def _random_splits(mask: Bools, count: int, rng: np.random.Generator) -> Iterator[Bools]:
    step = at_once(len(mask))
    for done in range(0, count, step):
        yield rng.permuted(np.tile(mask, (min(step, count - done), 1)), axis=1)


def _all_signs(n: int) -> Iterator[Bools]:
    """Every way to choose signs, as masks [chunk, n] of those that change."""
    step = at_once(n)
    for first in range(0, 2**n, step):
        yield (np.arange(first, min(first + step, 2**n))[:, None] >> np.arange(n) & 1).astype(np.bool_)


def _random_signs(n: int, count: int, rng: np.random.Generator) -> Iterator[Bools]:
    step = at_once(n)
    for done in range(0, count, step):
        yield rng.integers(0, 2, (min(step, count - done), n)).astype(np.bool_)


# The probability of improvement


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

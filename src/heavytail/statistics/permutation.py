"""Whether A is better than B, or chance alone would have it so.

Permutation tests, unpaired and paired, and Holm's correction for several of them.

*Unpaired*: if A and B have one law, any split of all runs into two groups of these sizes was as likely as the
one seen. *Paired*, where A and B met the same seeds: if they have one law, each difference could as well have
had the other sign. The p-value is the part of all splits, or of all signs, whose statistic is at least as
large as the one seen; it holds for any tail and any number of runs (Fisher 1935; Lehmann and Romano 2005,
chapter 15). Up to 20,000 are gone through; of more, as many as asked for are drawn, and the one seen is
counted among them, (1 + those at least as large) / (1 + drawn), which keeps the test valid (Phipson and Smyth
2010).

The hypothesis is that the laws are the same, not only their medians. Larger is better: for regret, exchange A
and B. A median of few runs takes few values, so that its test is blunt; the interquartile mean has more power
and still bears outliers. Statistics that differ by rounding only are equal, on the scale of the runs that can
be kept, so that an outlier does not blur the others.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import chain, combinations, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Bools, Floats
from heavytail.checks import as_count
from heavytail.errors import InputError
from heavytail.statistics._inputs import as_probabilities, as_runs, at_once, check_rng
from heavytail.statistics.improvement import probability_of_improvement
from heavytail.statistics.location import Statistic, trimmed, trimmed_mean

EXACT_UP_TO = 20_000
ROUNDING = 64 * float(np.finfo(np.float64).eps)


class Comparison(NamedTuple):
    """What a test found about "A is better than B"."""

    p_value: float
    effect: float  # statistic of A less that of B; paired: the statistic of the differences
    probability_of_improvement: float  # P(A > B) + P(A = B) / 2 of two runs; paired: of two with one seed
    exact: bool  # whether all permutations were gone through
    permutations: int  # how many were

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
    """Test one-sidedly whether A is better than B, from runs that have nothing to do with each other.

    Args:
        a: [run].
        b: [run]; the numbers of runs may differ.
        statistic: "mean", "median" or "interquartile_mean", whose difference is the effect.
        rng: draws permutations where there are too many to go through.
        resamples: how many to draw then.

    >>> found = permutation_test([5.0, 6.0, 7.0], [1.0, 2.0, 3.0], "mean", rng=np.random.default_rng(0))
    >>> found.p_value, found.effect, found.cliffs_delta, found.exact
    (0.05, 4.0, 1.0, True)
    """
    first, second = as_runs("a", a, curves=False), as_runs("b", b, curves=False)
    n, m, drawn = len(first), len(second), _drawn(rng, resamples)
    pooled = np.concatenate([first, second])
    order = np.argsort(pooled)
    pool, k, l = pooled[order], trimmed(statistic, n), trimmed(statistic, m)

    def differences(in_a: Bools) -> Floats:
        values = np.broadcast_to(pool, in_a.shape)  # ascending, and so is each group
        group_a, group_b = values[in_a].reshape(-1, n), values[~in_a].reshape(-1, m)
        return group_a[:, k : n - k].mean(axis=1) - group_b[:, l : m - l].mean(axis=1)

    seen, total = order < n, math.comb(n + m, n)
    exact = total <= EXACT_UP_TO
    splits = _all_splits(n, n + m) if exact else _random_splits(seen, drawn, rng)
    kept = np.abs(pool[min(k, l) : n + m - min(k, l)]).max()  # nothing beyond is ever averaged
    effect = float(differences(seen[None])[0])
    p_value = _p_value(map(differences, splits), effect, kept, exact)
    return Comparison(
        p_value, effect, float(probability_of_improvement(first, second)), exact, total if exact else drawn
    )


def paired_permutation_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    statistic: Statistic = "median",
    *,
    rng: np.random.Generator,
    resamples: int = 20_000,
) -> Comparison:
    """Test one-sidedly whether A is better than B, from runs with common seeds.

    Run i of A and run i of B belong together.

    The effect is the statistic of the differences, which for medians is not the difference of the statistics.
    Where many differences are exactly alike, their median has the same value whatever most of the signs, and
    its test sees next to nothing: take another statistic then.

    Args:
        a: [run].
        b: [run], in the same order of seeds.
        statistic: "mean", "median" or "interquartile_mean" of the differences.
        rng: draws signs where there are too many to go through.
        resamples: how many to draw then.

    >>> found = paired_permutation_test([5.0, 16.0, 27.0], [4.0, 14.0, 24.0], rng=np.random.default_rng(0))
    >>> found.p_value, found.effect, found.cliffs_delta, found.exact
    (0.25, 2.0, 1.0, True)
    """
    first, second = as_runs("a", a, curves=False), as_runs("b", b, curves=False)
    n, drawn = len(first), _drawn(rng, resamples)
    if n != len(second):
        raise InputError(
            f"a has {n} runs and b has {len(second)}; paired runs must be as many (permutation_test"
            " takes unpaired ones)"
        )
    k, difference = trimmed(statistic, n), first - second
    exact = 2**n <= EXACT_UP_TO
    signs = _all_signs(n) if exact else _random_signs(n, drawn, rng)
    kept = np.sort(np.abs(first) + np.abs(second))[n - 1 - k]
    effect = float(trimmed_mean(difference.copy(), k))
    p_value = _p_value(
        (trimmed_mean(np.where(s, -difference, difference), k) for s in signs), effect, kept, exact
    )
    improvement = float((0.5 * (np.sign(difference) + 1.0)).mean())
    return Comparison(p_value, effect, improvement, exact, 2**n if exact else drawn)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Adjust the p-values of several tests, in their order, so that rejecting all below 0.05 errs at all in at most 5 % of cases (Holm 1979).

    It holds however the tests depend on each other.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = as_probabilities("p_values", p_values)
    order, adjusted = np.argsort(p, kind="stable"), np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def _drawn(rng: np.random.Generator, resamples: int) -> int:
    check_rng(rng)
    return as_count("resamples", resamples)


def _p_value(nulls: Iterable[Floats], effect: float, kept: float, exact: bool) -> float:
    """The part of the null statistics that are at least the effect, or short of it by no more than rounding."""
    count = total = 0 if exact else 1
    for null in nulls:
        count += int(np.count_nonzero(null >= effect - ROUNDING * kept))
        total += len(null)
    return count / total


def _all_splits(n: int, total: int) -> Iterator[Bools]:
    """Every way to choose n of them, as masks [chunk, total]."""
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
    """Every way to choose signs, as masks [chunk, n] of what changes."""
    step = at_once(n)
    for first in range(0, 2**n, step):
        yield (np.arange(first, min(first + step, 2**n))[:, None] >> np.arange(n) & 1).astype(np.bool_)


def _random_signs(n: int, count: int, rng: np.random.Generator) -> Iterator[Bools]:
    step = at_once(n)
    for done in range(0, count, step):
        yield rng.integers(0, 2, (min(step, count - done), n)).astype(np.bool_)

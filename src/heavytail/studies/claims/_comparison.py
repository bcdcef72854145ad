"""Comparisons of two agents: what `better`, `no_gain` and `no_worse` share.

Agents that ran the same replicates had the same random numbers, so that their differences are tested by
changing signs, otherwise the runs by changing groups. Both directions are tested, since "the opposite holds"
is a finding too.

The statistic is the interquartile mean, which one lucky or lost seed does not move. Of n runs that all agree
it trims k = n // 4 at either end and can reach p = 2^(k - n), more if differences are exactly equal: with
fewer than about 15 seeds a study of many claims leaves comparisons undecided.
"""

from typing import NamedTuple

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats
from heavytail.studies.claims import ClaimKind, Evidence, TestResult, metric_values, undecided
from heavytail.studies.results import Runs

STATISTIC: statistics.Statistic = "interquartile_mean"


class BothDirections(NamedTuple):
    """Two agents, tested in both directions."""

    first_ahead: statistics.Comparison  # of "the first is better, by more than the margin"
    second_ahead: statistics.Comparison  # of "the second is better, after adding the margin to its values"
    result: TestResult  # without p-values

    def with_p_values(self, held: statistics.Comparison, opposite: statistics.Comparison) -> TestResult:
        """The result, `held` being the test of the condition."""
        return self.result._replace(p_value=held.p_value, p_opposite=opposite.p_value)


class ComparisonKind(ClaimKind):
    """A condition on two agents."""

    compares = True


def compare(evidence: Evidence, margin: float) -> BothDirections | TestResult:
    """Compare two agents, the second of which has `margin` added; a result if there are too few runs."""
    condition, spec, rng = evidence.condition, evidence.statistics, evidence.rng
    assert evidence.than is not None  # the checks of a spec see to it
    pair = (evidence.runs, evidence.than)
    method, n = "interquartile mean, permutation test", min(len(runs.replicates) for runs in pair)
    if n < 2:
        return undecided(evidence, method, margin, n)
    sign = -1.0 if condition.metric == "final_regret" else 1.0  # less regret is better
    a, b = (sign * metric_values(condition, runs) for runs in pair)
    paired = is_paired(evidence.runs, evidence.than)
    test = statistics.paired_permutation_test if paired else statistics.permutation_test
    ahead = test(a, b + margin, STATISTIC, rng=rng, resamples=spec.permutations)
    behind = test(b + margin, a, STATISTIC, rng=rng, resamples=spec.permutations)
    low, high = _interval_of_differences(evidence, a - b) if paired else (np.nan, np.nan)
    pairing, every = "paired by seed" if paired else "unpaired", ", all" if ahead.exact else ""
    result = TestResult(
        condition,
        evidence.env,
        f"{method} ({pairing}, {ahead.permutations:,} permutations{every})",
        ahead.effect + margin,
        low,
        high,
        margin,
        improvement=_improvement(a, b, paired),
        runs=n,
    )
    return BothDirections(ahead, behind, result)


def is_paired(runs: Runs, than: Runs) -> bool:
    """Whether two agents ran the same replicates."""
    return bool(np.array_equal(runs.replicates, than.replicates))


def _improvement(a: Floats, b: Floats, paired: bool) -> float:
    if paired:
        return float((0.5 * (np.sign(a - b) + 1.0)).mean())
    return float(statistics.probability_of_improvement(a, b))


def _interval_of_differences(evidence: Evidence, differences: Floats) -> tuple[float, float]:
    spec = evidence.statistics
    interval = statistics.bootstrap_interval(
        differences, STATISTIC, rng=evidence.rng, confidence=spec.confidence, resamples=spec.resamples
    )
    return float(interval.low), float(interval.high)

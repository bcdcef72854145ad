"""Comparisons of two agents: `better`, `no_gain`, `no_worse` and `ratio_at_most`.

Agents that ran the same replicates had the same random numbers, so their differences are tested by changing
signs; otherwise runs are tested by changing groups. Both directions are tested, since "the opposite holds" is
a finding too.

The statistic is the interquartile mean, which one lucky or lost seed does not move. If all n runs agree, it
trims k = n // 4 at either end and can reach p = 2^(k - n), more if differences are exactly equal: with fewer
than about 15 seeds a study of many claims leaves comparisons undecided.
"""

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.registry import register
from heavytail.statistics.location import Statistic, find_statistic, location_of
from heavytail.studies.claims import (
    ClaimKind,
    Evidence,
    TestResult,
    Verdict,
    Words,
    metric_values,
    reject_bound,
    undecided,
)
from heavytail.studies.claims.thresholds import need_value
from heavytail.studies.results import Runs
from heavytail.studies.specs.spec import Condition

STATISTIC: Statistic = "interquartile_mean"


@register("claim", "better")
class Better(ClaimKind):
    """`agent` is better than `than`."""

    compares = True

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Test both directions of the difference."""
        return _compare(evidence, 0.0)

    def sentence(self, condition: Condition, words: Words) -> str:
        """Say which agent is better than which."""
        return f"{words.agent} better than {words.than}, {words.metric}"


@register("claim", "no_gain")
class NoGain(ClaimKind):
    """`agent` is not better than `than` by more than `margin`, a share of the optimum.

    The margin is first added to the other agent's values; the test is whether that one is then ahead.
    """

    compares = True

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Test both directions of the difference from the margin."""
        found = _compare(evidence, evidence.condition.margin * abs(evidence.whole))
        return found._replace(p_value=found.p_opposite, p_opposite=found.p_value)

    def sentence(self, condition: Condition, words: Words) -> str:
        """Say which agent is no better than which, and by which margin."""
        margin = f"margin {words.number(condition.margin)}{words.of_optimum}"
        return f"{words.agent} no better than {words.than}, {words.metric}, {margin}"


@register("claim", "no_worse")
class NoWorse(ClaimKind):
    """`agent` is not worse than `than` by more than `margin`, a share of what that one reaches.

    The margin is first subtracted from the other agent's values; the test is whether `agent` is then ahead.
    """

    compares = True

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Test both directions of the difference from the margin."""
        assert evidence.than is not None  # the checks of a spec see to it
        others = metric_values(evidence.condition, evidence.than)
        reached = abs(float(location_of(others, STATISTIC))) if len(others) else 0.0
        return _compare(evidence, -evidence.condition.margin * reached)

    def sentence(self, condition: Condition, words: Words) -> str:
        """Say which agent is no worse than which, and by which margin."""
        margin = f"margin {words.percent(condition.margin)} of it"
        return f"{words.agent} no worse than {words.than}, {words.metric}, {margin}"


def _compare(evidence: Evidence, margin: float) -> TestResult:
    """Compare two agents in both directions, with `margin` added to the second.

    The p-value is that of "the first is better, by more than the margin".
    """
    condition, spec, rng = evidence.condition, evidence.statistics, evidence.rng
    assert evidence.than is not None  # the checks of a spec see to it
    pair = (evidence.runs, evidence.than)
    method, n = "interquartile mean, permutation test", min(len(runs.replicates) for runs in pair)
    if n < 2:
        return undecided(evidence, method, margin, n)
    sign = -1.0 if condition.metric == "final_regret" else 1.0  # less regret is better
    a, b = (sign * metric_values(condition, runs) for runs in pair)
    paired = _is_paired(evidence.runs, evidence.than)
    test = statistics.paired_permutation_test if paired else statistics.permutation_test
    ahead = test(a, b + margin, STATISTIC, rng=rng, resamples=spec.permutations)
    behind = test(b + margin, a, STATISTIC, rng=rng, resamples=spec.permutations)
    low, high = _interval_of_differences(evidence, a - b) if paired else (np.nan, np.nan)
    pairing, every = "paired by seed" if paired else "unpaired", ", all" if ahead.exact else ""
    return TestResult(
        condition,
        evidence.env,
        f"{method} ({pairing}, {ahead.permutations:,} permutations{every})",
        ahead.effect + margin,
        low,
        high,
        margin,
        ahead.p_value,
        behind.p_value,
        improvement=_improvement(a, b, paired),
        runs=n,
    )


def _is_paired(runs: Runs, than: Runs) -> bool:
    """Return whether two agents ran the same replicates."""
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


@register("claim", "ratio_at_most")
class RatioAtMost(ClaimKind):
    """The median, or mean, regret of `agent` is at most `value` times that of `than`.

    An interval decides: that of the median of one less `value` times the median of the other, since a ratio
    has no interval if the second may be 0. Runs of the same seeds are resampled together.
    """

    compares = True

    def check(self, condition: Condition) -> None:
        """Require a value and regret."""
        need_value(condition, "the other agent's regret")
        find_statistic(condition.statistic)
        if condition.metric != "final_regret":
            raise InputError(f'{condition.test!r} is for regret; say metric = "final_regret"')
        reject_bound(condition)

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Bootstrap the difference of the medians, or means."""
        condition, spec = evidence.condition, evidence.statistics
        compute = find_statistic(condition.statistic).compute
        assert evidence.than is not None  # the checks of a spec see to it
        pair = (evidence.runs, evidence.than)
        n = min(len(runs.replicates) for runs in pair)
        name = condition.statistic.replace("_", " ")
        method = f"ratio of {name}s and bootstrap interval, {spec.resamples:,} resamples"
        if n < 2:
            return undecided(evidence, method, evidence.value, n)
        a, b = (metric_values(condition, runs) for runs in pair)
        paired = _is_paired(evidence.runs, evidence.than)
        tops, bottoms = map(compute, _resample(a, b, paired, spec.resamples, evidence.rng))
        tails = [0.5 * (1.0 - spec.confidence), 0.5 * (1.0 + spec.confidence)]
        low, high = np.quantile(tops - evidence.value * bottoms, tails)
        verdict: Verdict = "reproduced" if high <= 0.0 else "not reproduced" if low > 0.0 else "undecided"
        top, bottom = (float(location_of(each, condition.statistic)) for each in (a, b))
        estimate = top / bottom if bottom > 0.0 else np.inf if top > 0.0 else np.nan
        ends = np.quantile(tops / bottoms, tails) if (bottoms > 0.0).all() else (np.nan, np.nan)
        return TestResult(
            condition,
            evidence.env,
            f"{method} ({'paired by seed' if paired else 'unpaired'})",
            estimate,
            float(ends[0]),
            float(ends[1]),
            evidence.value,
            runs=n,
            verdict=verdict,
        )

    def sentence(self, condition: Condition, words: Words) -> str:
        """Say which agent's regret is at most how many times which other's."""
        times = words.number(condition.value or 0.0)
        name = condition.statistic.replace("_", " ")
        return f"{words.agent}, {name} {words.metric}, at most {times} times that of {words.than}"


def _resample(
    a: Floats, b: Floats, paired: bool, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw runs [resample, run] of both with replacement."""
    first = rng.integers(len(a), size=(resamples, len(a)))
    second = first if paired else rng.integers(len(b), size=(resamples, len(b)))
    return a[first], b[second]

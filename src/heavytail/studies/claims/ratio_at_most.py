"""Test that the median, or mean, regret of one agent is at most a multiple of another's."""

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.registry import register
from heavytail.studies.claims import (
    Evidence,
    TestResult,
    Verdict,
    Words,
    metric_values,
    reject_bound,
    undecided,
)
from heavytail.studies.claims._comparison import ComparisonKind, is_paired
from heavytail.studies.claims._threshold import need_value
from heavytail.studies.specs.claims import Condition


class RatioAtMost(ComparisonKind):
    """The median, or mean, regret of `agent` is at most `value` times that of `than`.

    An interval decides, of the median of one less `value` times the median of the other: a ratio would have
    none where the second may be 0. Runs of the same seeds are resampled together.
    """

    def check(self, condition: Condition) -> None:
        """A value and regret are needed."""
        need_value(condition, "the other agent's regret")
        statistics.find_statistic(condition.statistic)
        if condition.metric != "final_regret":
            raise InputError(f'{condition.test!r} is for regret; say metric = "final_regret"')
        reject_bound(condition)

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Bootstrap the difference of the medians, or means."""
        condition, spec = evidence.condition, evidence.statistics
        compute = statistics.find_statistic(condition.statistic).compute
        assert evidence.than is not None  # the checks of a spec see to it
        pair = (evidence.runs, evidence.than)
        n = min(len(runs.replicates) for runs in pair)
        name = condition.statistic.replace("_", " ")
        method = f"ratio of {name}s and bootstrap interval, {spec.resamples:,} resamples"
        if n < 2:
            return undecided(evidence, method, evidence.value, n)
        a, b = (metric_values(condition, runs) for runs in pair)
        paired = is_paired(evidence.runs, evidence.than)
        tops, bottoms = map(compute, _resample(a, b, paired, spec.resamples, evidence.rng))
        tails = [0.5 * (1.0 - spec.confidence), 0.5 * (1.0 + spec.confidence)]
        low, high = np.quantile(tops - evidence.value * bottoms, tails)
        verdict: Verdict = "reproduced" if high <= 0.0 else "not reproduced" if low > 0.0 else "undecided"
        top, bottom = (float(statistics.location_of(each, condition.statistic)) for each in (a, b))
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
        """Say whose regret is at most how many times whose."""
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


@register("claim", "ratio_at_most")
def ratio_at_most() -> RatioAtMost:
    """The median, or mean, regret of `agent` is at most `value` times that of `than`."""
    return RatioAtMost()

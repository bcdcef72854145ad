"""Numbers of one agent compared with a value: `at_least`, `at_most`, rates, and `stuck_at_most`.

The interval of the number decides: all of it must be on one side of the value.
"""

from dataclasses import dataclass

from heavytail import statistics
from heavytail.arrays import Bools
from heavytail.errors import InputError
from heavytail.registry import register
from heavytail.statistics.intervals import rate_interval
from heavytail.statistics.location import find_statistic
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
from heavytail.studies.specs.spec import Condition


@dataclass(frozen=True)
class LocationKind(ClaimKind):
    """The median, or the mean, of a metric on one side of a value or of a multiple of a bound."""

    at_least: bool

    def check(self, condition: Condition) -> None:
        """Require a value, or a bound on regret."""
        need_value(condition, "the optimum")
        find_statistic(condition.statistic)
        if condition.metric != "final_regret":
            reject_bound(condition)

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Compare the bootstrap interval with the value."""
        condition, spec, n = evidence.condition, evidence.statistics, len(evidence.runs.replicates)
        method = f"{condition.statistic} and bootstrap interval, {spec.resamples:,} resamples"
        bound = evidence.value * evidence.whole
        if n < 2:
            return undecided(evidence, method, bound, n)
        interval = statistics.bootstrap_interval(
            metric_values(condition, evidence.runs),
            condition.statistic,
            rng=evidence.rng,
            confidence=spec.confidence,
            resamples=spec.resamples,
        )
        return _decide_by_interval(evidence, method, interval, bound, at_least=self.at_least)

    def sentence(self, condition: Condition, words: Words) -> str:
        """Say which number is on which side of the value."""
        statistic = "" if condition.statistic == "median" else f"{condition.statistic.replace('_', ' ')} "
        start = f"{words.agent}, {statistic}{words.metric}, {_side(self.at_least)}"
        value = condition.value or 0.0
        if condition.of:
            times = "" if condition.value in (None, 1.0) else f"{words.number(value)} times "
            return f"{start} {times}the bound {condition.of}"
        return f"{start} {words.number(value)}{words.of_optimum}"


@dataclass(frozen=True)
class RateKind(ClaimKind):
    """The share of runs in which something was counted, on one side of a value."""

    at_least: bool
    is_rate = True

    def check(self, condition: Condition) -> None:
        """Require a value and a counter."""
        need_value(condition, "runs")
        if condition.metric != "counter":
            raise InputError(f'{condition.test!r} is for counters; say metric = "counter" and which')
        reject_bound(condition)

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Compare the exact interval of the share with the value."""
        counted = metric_values(evidence.condition, evidence.runs) > 0
        return _decide_by_rate(evidence, counted, at_least=self.at_least)

    def sentence(self, condition: Condition, words: Words) -> str:
        """Say which share is on which side of the value."""
        share = words.percent(condition.value or 0.0)
        return f"{words.agent}, share of runs with {words.metric}, {_side(self.at_least)} {share}"


@register("claim", "stuck_at_most")
class StuckAtMost(ClaimKind):
    """The share of runs that end below 1 - `margin` of the optimum is at most `value`."""

    is_rate = True

    def check(self, condition: Condition) -> None:
        """Require a value and rewards."""
        need_value(condition, "runs")
        if condition.metric in ("final_regret", "counter"):
            raise InputError(f'{condition.test!r} is for rewards; say metric = "last_tenth"')
        reject_bound(condition)

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Compare the exact interval of the share with the value."""
        least = evidence.whole - evidence.condition.margin * abs(evidence.whole)
        stuck = metric_values(evidence.condition, evidence.runs) < least
        return _decide_by_rate(evidence, stuck, at_least=False)

    def sentence(self, condition: Condition, words: Words) -> str:
        """Say which share of runs may end how far from the optimum."""
        share, least = words.percent(condition.value or 0.0), words.percent(1.0 - condition.margin)
        return (
            f"{words.agent}, share of runs with {words.metric} below {least} of the optimum, at most {share}"
        )


def need_value(condition: Condition, shares_of: str) -> None:
    """Raise InputError if neither a value nor a bound is given."""
    if condition.value is None and not condition.of:
        raise InputError(f"{condition.test!r} needs value=, a share of {shares_of}")


def _side(at_least: bool) -> str:
    """Return the side of a value in words."""
    return "at least" if at_least else "at most"


def _decide_by_rate(evidence: Evidence, happened: Bools, *, at_least: bool) -> TestResult:
    """Compare the share of runs in which something happened with a value."""
    method = "share of runs and its exact interval (Clopper and Pearson)"
    if len(happened) < 2:
        return undecided(evidence, method, evidence.value, len(happened))
    interval = rate_interval(happened, confidence=evidence.statistics.confidence)
    return _decide_by_interval(evidence, method, interval, evidence.value, at_least=at_least)


def _decide_by_interval(
    evidence: Evidence, method: str, interval: statistics.Interval, bound: float, *, at_least: bool
) -> TestResult:
    """Compare an interval with a value."""
    estimate, low, high = map(float, interval)
    right, wrong = (low >= bound, high < bound) if at_least else (high <= bound, low > bound)
    verdict: Verdict = "reproduced" if right else "not reproduced" if wrong else "undecided"
    runs = len(evidence.runs.replicates)
    condition, env = evidence.condition, evidence.env
    return TestResult(condition, env, method, estimate, low, high, bound, runs=runs, verdict=verdict)


@register("claim", "at_least")
def at_least() -> LocationKind:
    """The median, or the mean, of a metric is at least a value or a multiple of a bound."""
    return LocationKind(at_least=True)


@register("claim", "at_most")
def at_most() -> LocationKind:
    """The median, or the mean, of a metric is at most a value or a multiple of a bound."""
    return LocationKind(at_least=False)


@register("claim", "rate_at_least")
def rate_at_least() -> RateKind:
    """The share of runs in which something was counted is at least a value."""
    return RateKind(at_least=True)


@register("claim", "rate_at_most")
def rate_at_most() -> RateKind:
    """The share of runs in which something was counted is at most a value."""
    return RateKind(at_least=False)

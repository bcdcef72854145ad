"""Test that few runs end far from the optimum."""

from heavytail.errors import InputError
from heavytail.registry import register
from heavytail.studies.claims import (
    ClaimKind,
    Evidence,
    TestResult,
    Words,
    metric_values,
    reject_bound,
)
from heavytail.studies.claims._threshold import decide_by_rate, need_value
from heavytail.studies.specs.claims import Condition


class StuckAtMost(ClaimKind):
    """The share of runs that end below 1 - `margin` of the optimum is at most `value`."""

    is_rate = True

    def check(self, condition: Condition) -> None:
        """A value and rewards are needed."""
        need_value(condition, "runs")
        if condition.metric in ("final_regret", "counter"):
            raise InputError(f'{condition.test!r} is for rewards; say metric = "last_tenth"')
        reject_bound(condition)

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Compare the exact interval of the share with the value."""
        least = evidence.whole - evidence.condition.margin * abs(evidence.whole)
        stuck = metric_values(evidence.condition, evidence.runs) < least
        return decide_by_rate(evidence, stuck, at_least=False)

    def sentence(self, condition: Condition, words: Words) -> str:
        """Say which share of runs may end how far from the optimum."""
        share, least = words.percent(condition.value or 0.0), words.percent(1.0 - condition.margin)
        return (
            f"{words.agent}, share of runs with {words.metric} below {least} of the optimum, at most {share}"
        )


@register("claim", "stuck_at_most")
def stuck_at_most() -> StuckAtMost:
    """The share of runs that end below 1 - `margin` of the optimum is at most `value`."""
    return StuckAtMost()

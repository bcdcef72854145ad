"""Test that one agent is not worse than another by more than a margin."""

from heavytail import statistics
from heavytail.registry import register
from heavytail.studies.claims import Evidence, TestResult, Words, metric_values
from heavytail.studies.claims._comparison import STATISTIC, ComparisonKind, compare
from heavytail.studies.specs.claims import Condition


class NoWorse(ComparisonKind):
    """`agent` is not worse than `than` by more than `margin`, a share of what that one reaches.

    The margin is taken from the other agent's values first: that the agent is then ahead is what is tested.
    """

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Test both directions of the difference from the margin."""
        assert evidence.than is not None  # the checks of a spec see to it
        others = metric_values(evidence.condition, evidence.than)
        reached = abs(float(statistics.location_of(others, STATISTIC))) if len(others) else 0.0
        found = compare(evidence, -evidence.condition.margin * reached)
        if isinstance(found, TestResult):
            return found
        return found.with_p_values(found.first_ahead, found.second_ahead)

    def sentence(self, condition: Condition, words: Words) -> str:
        """Say who is no worse than whom, and by which margin."""
        margin = f"margin {words.percent(condition.margin)} of it"
        return f"{words.agent} no worse than {words.than}, {words.metric}, {margin}"


@register("claim", "no_worse")
def no_worse() -> NoWorse:
    """`agent` is not worse than `than` by more than `margin` of what that one reaches."""
    return NoWorse()

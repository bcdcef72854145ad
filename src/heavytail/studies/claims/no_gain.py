"""Test that one agent is not better than another by more than a margin."""

from heavytail.registry import register
from heavytail.studies.claims import Evidence, TestResult, Words
from heavytail.studies.claims._comparison import ComparisonKind, compare
from heavytail.studies.specs.claims import Condition


class NoGain(ComparisonKind):
    """`agent` is not better than `than` by more than `margin`, a share of the optimum.

    The margin is added to the other agent's values first: that it is then ahead is what is tested.
    """

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Test both directions of the difference from the margin."""
        found = compare(evidence, evidence.condition.margin * abs(evidence.whole))
        if isinstance(found, TestResult):
            return found
        return found.with_p_values(found.second_ahead, found.first_ahead)

    def sentence(self, condition: Condition, words: Words) -> str:
        """Say who is no better than whom, and by which margin."""
        margin = f"margin {words.number(condition.margin)}{words.of_optimum}"
        return f"{words.agent} no better than {words.than}, {words.metric}, {margin}"


@register("claim", "no_gain")
def no_gain() -> NoGain:
    """`agent` is not better than `than` by more than `margin` of the optimum."""
    return NoGain()

"""Test that one agent is better than another."""

from heavytail.registry import register
from heavytail.studies.claims import Evidence, TestResult, Words
from heavytail.studies.claims._comparison import ComparisonKind, compare
from heavytail.studies.specs.claims import Condition


class Better(ComparisonKind):
    """`agent` is better than `than`."""

    def evaluate(self, evidence: Evidence) -> TestResult:
        """Test both directions of the difference."""
        found = compare(evidence, 0.0)
        if isinstance(found, TestResult):
            return found
        return found.with_p_values(found.first_ahead, found.second_ahead)

    def sentence(self, condition: Condition, words: Words) -> str:
        """Say who is better than whom."""
        return f"{words.agent} better than {words.than}, {words.metric}"


@register("claim", "better")
def better() -> Better:
    """`agent` is better than `than`."""
    return Better()

"""Test that the share of runs in which something was counted is at least a value."""

from heavytail.registry import register
from heavytail.studies.claims._threshold import RateKind


@register("claim", "rate_at_least")
def rate_at_least() -> RateKind:
    """The share of runs in which something was counted is at least a value."""
    return RateKind(at_least=True)

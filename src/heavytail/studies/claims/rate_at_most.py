"""Test that the share of runs in which something was counted is at most a value."""

from heavytail.registry import register
from heavytail.studies.claims._threshold import RateKind


@register("claim", "rate_at_most")
def rate_at_most() -> RateKind:
    """The share of runs in which something was counted is at most a value."""
    return RateKind(at_least=False)

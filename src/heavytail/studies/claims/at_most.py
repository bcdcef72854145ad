"""Test that the median, or the mean, of a metric is at most a value or a multiple of a bound."""

from heavytail.registry import register
from heavytail.studies.claims._threshold import LocationKind


@register("claim", "at_most")
def at_most() -> LocationKind:
    """The median, or the mean, of a metric is at most a value or a multiple of a bound."""
    return LocationKind(at_least=False)

"""Test that the median, or the mean, of a metric is at least a value or a multiple of a bound."""

from heavytail.registry import register
from heavytail.studies.claims._threshold import LocationKind


@register("claim", "at_least")
def at_least() -> LocationKind:
    """The median, or the mean, of a metric is at least a value or a multiple of a bound."""
    return LocationKind(at_least=True)

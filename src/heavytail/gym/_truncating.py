"""What all wrappers that truncate rewards share: how they are looked at."""

from heavytail.gym._filtering import Filtering
from heavytail.gym._truncator import Truncator
from heavytail.gym.reward_transforms import RewardTransform
from heavytail.gym.visit_counts import VisitCounter


class Truncating(Filtering):
    """Properties of a wrapper around a truncator."""

    _filter: Truncator

    @property
    def transform(self) -> RewardTransform:
        """The transform of rewards; ``transform.coefficient`` is what "auto" has chosen so far."""
        return self._filter.transform

    @property
    def counter(self) -> VisitCounter | None:
        """The visit counts; None if the threshold is fixed."""
        return self._filter.counter

    @property
    def warming_up(self) -> bool:
        """True while "auto" is choosing the coefficient."""
        return self._filter.warming_up

    @property
    def truncated_fraction(self) -> float:
        """The fraction of all rewards so far that were beyond the threshold."""
        return self._filter.truncated / max(1, self._filter.steps)

"""What theory says of an environment, as numbers along an axis: to be drawn beside what agents did."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats


class BoundLine(NamedTuple):
    """A bound on regret, along a run or from environment to environment."""

    name: str  # as `heavytail.bounds` has it
    label: str
    at: Floats  # [point]
    values: Floats  # [point]
    share: float  # at the last point, of all that can be lost there: from 1 on it says nothing; NaN for a lower bound
    limit: float  # the exponent that its growth comes to in the end

    @property
    def at_stake(self) -> float:
        """All that can be lost by the last point; NaN if it is not known."""
        return float(self.values[-1]) / self.share

    @property
    def dash(self) -> str:
        """Upper bounds are solid."""
        return "dash" if np.isnan(self.share) else "solid"


def in_words(bounds: Sequence[BoundLine]) -> str:
    """What the lines of bounds are, for a caption.

    >>> in_words([BoundLine("ucrl2", "bound of UCRL2", np.ones(1), np.ones(1), 0.3, 0.5)])
    ' Grey: bound of UCRL2 (solid).'
    """
    return f" Grey: {', '.join(f'{bound.label} ({bound.dash})' for bound in bounds)}." if bounds else ""

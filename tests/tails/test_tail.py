import math

import numpy as np
import pytest

from heavytail.errors import InputError
from heavytail.tails import hill_index


def test_hill_finds_the_index_of_a_pareto_law() -> None:
    """Within four standard errors of 1.5 / sqrt(100,000): one seed in 16,000 fails."""
    x = 1.0 + np.random.default_rng(0).pareto(1.5, 100_000)
    assert abs(hill_index(x, 1.0) - 1.5) < 0.019


def test_there_is_none_without_a_positive_threshold_and_it_is_infinite_for_equal_samples() -> None:
    assert math.isnan(hill_index(np.array([1.0, 2.0]), 0.0))
    assert hill_index(np.array([2.0, 2.0]), 2.0) == math.inf


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([2.0, math.nan], r"exceedances\[1\] is nan; every sample must be a finite number"),
        ([0.5, 2.0], "exceedances reach down to 0.5; give the samples above the threshold 1, alone"),
        ([], "exceedances is empty; give the samples above the threshold 1, alone"),
    ],
)
def test_samples_that_lie_in_no_tail_are_refused(samples: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hill_index(samples, 1.0)

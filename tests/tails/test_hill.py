import math

import numpy as np

from heavytail.tails import hill_index


def test_hill_finds_the_index_of_a_pareto_law() -> None:
    """Within four standard errors of 1.5 / sqrt(100,000): one seed in 16,000 fails."""
    x = 1.0 + np.random.default_rng(0).pareto(1.5, 100_000)
    assert abs(hill_index(x, 1.0) - 1.5) < 0.019


def test_there_is_none_without_a_positive_threshold_and_it_is_infinite_for_equal_samples() -> None:
    assert math.isnan(hill_index(np.array([1.0, 2.0]), 0.0))
    assert hill_index(np.array([2.0, 2.0]), 2.0) == math.inf

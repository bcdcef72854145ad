import numpy as np
import pytest
from scipy.stats import spearmanr

from heavytail.tails.dependence import MAX_REWARDS, is_notable, size_correlation


@pytest.mark.parametrize("decimals", [0, 8])
def test_it_is_spearmans_correlation_also_with_ties(decimals: int) -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=3000) * np.repeat([1.0, 3.0], 1500), decimals)
    sizes = np.abs(x - 0.5)
    assert size_correlation(x, 0.5) == pytest.approx(spearmanr(sizes[1:], sizes[:-1]).statistic, abs=2e-3)


def test_independent_rewards_are_hardly_ever_notable() -> None:
    """At four standard errors one seed in 30,000 fails."""
    rng = np.random.default_rng(0)
    assert not is_notable(size_correlation(rng.standard_t(1.5, 1000), 0.0), 1000)


def test_equal_sizes_and_long_sequences_have_an_answer() -> None:
    assert size_correlation(np.tile([1.0, -1.0], 50), 0.0) == 0.0
    calm_then_wild = np.concatenate([np.ones(MAX_REWARDS), np.random.default_rng(0).normal(size=MAX_REWARDS)])
    assert abs(size_correlation(calm_then_wild, 0.0)) < 0.02

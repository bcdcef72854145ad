import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from heavytail.tails.cautions import (
    MAX_REWARDS,
    are_drawn_again,
    draw_once,
    is_notable,
    size_correlation,
)


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


@given(st.lists(st.integers(0, 20), min_size=1, max_size=60), st.integers(1, 5))
def test_a_list_drawn_in_turn_is_found_again(listed: list[int], times: int) -> None:
    """Where most values are in the list once, so that the median count tells how often it was drawn."""
    values = np.array([*listed, *range(100, 200)], float)
    assert np.array_equal(draw_once(np.tile(values, times)), values)


def test_rows_that_are_there_twice_are_a_list() -> None:
    x = np.random.default_rng(0).normal(size=500)
    assert not are_drawn_again(np.sort(x))
    assert are_drawn_again(np.sort(np.repeat(x, 2)))


def test_whole_numbers_are_none_however_often_they_repeat() -> None:
    rng = np.random.default_rng(0)
    assert not are_drawn_again(np.sort(rng.poisson(20.0, 5000).astype(float)))
    assert not are_drawn_again(np.sort(rng.integers(1, 7, 5000).astype(float)))

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heavytail.arrays import Floats
from heavytail.tails.threshold import choose_exceedances, spread_ties, tail_size, wider_size

WHOLE = arrays(np.float64, st.integers(2, 200), elements=st.integers(-50, 50).map(float))


@given(n=st.integers(50, 10**9))
def test_a_tail_is_a_small_part_and_its_wider_one_is_wider(n: int) -> None:
    assert 10 <= tail_size(n) <= wider_size(n) < n / 2


@given(values=WHOLE)
def test_spreading_ties_keeps_order_and_sums_and_moves_by_less_than_half_a_step(values: Floats) -> None:
    ascending = np.sort(values)
    spread = spread_ties(ascending)
    assert (np.diff(spread) >= 0.0).all()
    assert spread.sum() == pytest.approx(ascending.sum(), abs=1e-9)
    if len(set(values)) > 1:
        assert np.abs(spread - ascending).max() < 0.5 * np.diff(np.unique(ascending)).min()


def test_what_has_no_ties_is_as_it_was() -> None:
    ascending = np.array([1.0, 2.5, 7.0])
    assert spread_ties(ascending) is ascending


def test_a_threshold_moves_above_an_atom() -> None:
    n = 1000
    rewards = np.sort(np.concatenate([np.zeros(960), np.arange(1.0, 41.0)]))
    chosen = choose_exceedances(rewards[n - wider_size(n) - 1 :], n)
    assert chosen.threshold == 1.0
    assert chosen.values.tolist() == list(np.arange(2.0, 41.0))


def test_a_threshold_without_ties_is_the_next_lower_sample() -> None:
    n = 1000
    chosen = choose_exceedances(1.5 * np.arange(n - wider_size(n) - 1.0, n, dtype=np.float64), n)
    assert len(chosen.values) == tail_size(n)
    assert len(chosen.wider) == wider_size(n)
    assert chosen.threshold == chosen.values[0] - 1.5

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heavytail.tails.repetitions import are_drawn_again, draw_once


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

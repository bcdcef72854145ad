"""Rounding up to 32 bits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail.agents.q_learning import _round_up
from heavytail.kernels.array_ops import LOWEST, round_up


@given(st.floats(-1e38, 3e38))
def test_it_is_not_below_and_at_most_two_numbers_above(x: float) -> None:
    found = round_up(x)
    assert found == float(np.float32(found)) == float(_round_up(np.array([x]))[0])
    nearest, top = np.float32(x), np.float32(np.inf)
    above = nearest if float(nearest) > x else np.nextafter(nearest, top)
    assert x <= found <= max(float(np.nextafter(above, top)), x + 2.0**-125)


@pytest.mark.parametrize("x", [-math.inf, -1e300, -1e39])
def test_there_is_a_lowest(x: float) -> None:
    assert x < round_up(x) == round_up(LOWEST)


@pytest.mark.parametrize("x", [4e38, 1e300, math.inf])
def test_what_is_too_large_is_infinite(x: float) -> None:
    assert round_up(x) == math.inf

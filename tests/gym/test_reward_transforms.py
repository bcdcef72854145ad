import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail.gym.reward_transforms import (
    coefficient_from,
    fixed,
    none,
    sign,
    transform_reward,
    truncate,
)

ALL = {
    "none": none(),
    "clip": fixed(2.0, "clip"),
    "sign": sign(),
    "fixed": fixed(2.0),
    "zero": truncate(0.05, 0.5),
    "grown clip": truncate(0.5, 0.5, "clip"),
}
REWARDS = [-math.inf, -1e300, -7.0, -2.0, -1.0, -1e-300, 0.0, 0.5, 1.0, 2.0, 2.5, 1e6, math.inf]


def naive(name: str, r: float, n: int) -> float:
    match name:
        case "none":
            return r
        case "clip":
            return max(-2.0, min(2.0, r))
        case "sign":
            return 0.0 if r == 0 else r / abs(r) if math.isfinite(r) else math.copysign(1, r)
        case "fixed":
            return 0.0 if abs(r) > 2 else r
        case "zero":
            return 0.0 if abs(r) > (0.5 * n) ** (1 / 1.05) else r
        case "grown clip":
            b = (0.5 * n) ** (1 / 1.5)
            return max(-b, min(b, r))
    raise AssertionError(name)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [1, 2, 10, 10**6])
def test_every_transform_is_what_it_says(name: str, n: int) -> None:
    for r in REWARDS:
        reward, threshold, truncated = transform_reward(ALL[name], r, n)
        assert reward == pytest.approx(naive(name, r, n), rel=1e-15)
        assert truncated == (abs(r) > threshold)
        assert (type(reward), type(threshold), type(truncated)) == (float, float, bool)


def test_the_thresholds_of_the_paper() -> None:
    """Row 67 of READING.md."""
    thresholds = [transform_reward(truncate(0.05, 0.015), 0.0, n)[1] for n in (1, 10, 1000, 10_000, 66, 67)]
    np.testing.assert_allclose(thresholds[:4], [0.018, 0.16, 13.2, 118], rtol=0.03)
    assert thresholds[4] < 1.0 < thresholds[5]


def test_a_reward_at_the_threshold_stays() -> None:
    assert transform_reward(fixed(2.0), 2.0, 1) == (2.0, 2.0, False)
    assert transform_reward(fixed(2.0), math.nextafter(2.0, 3.0), 1) == (0.0, 2.0, True)


def test_no_number_stays_no_number() -> None:
    for transform in (none(), fixed(1.0, "clip"), fixed(1.0)):
        assert math.isnan(transform_reward(transform, math.nan, 1)[0])


# The coefficient of a warm-up


@given(
    st.lists(st.floats(1e-6, 1e6), min_size=1),
    st.floats(0.01, 0.99),
    st.integers(1, 1000),
    st.floats(0.01, 1),
)
def test_the_threshold_is_the_quantile_at_the_given_visit(
    sizes: list[float], quantile: float, visits: int, epsilon: float
) -> None:
    chosen = truncate(epsilon, coefficient_from(sizes, epsilon, quantile, visits))
    assert transform_reward(chosen, 0.0, visits)[1] == pytest.approx(np.quantile(sizes, quantile))


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1.7e308])
def test_extreme_sizes_give_a_coefficient_all_the_same(size: float) -> None:
    assert 0 < coefficient_from([size], 1.0, 0.5, 10) < math.inf


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: truncate(0.0, 1.0), "epsilon must be above 0, got 0.0"),
        (lambda: truncate(1.5, 1.0), "epsilon must be at most 1, got 1.5"),
        (lambda: truncate(0.5, -1), "coefficient must be above 0, got -1.0"),
        (lambda: truncate(0.5, 1.0, "zeros"), "mode is 'zeros'; did you mean 'zero'?"),  # type: ignore[arg-type]
        (lambda: fixed(math.inf, "clip"), "limit must be finite, got inf"),
        (lambda: fixed(0), "limit must be above 0, got 0.0"),
    ],
)
def test_mistakes_are_said_in_one_line(what: Any, message: str) -> None:
    with pytest.raises(ht.InputError) as caught:
        what()
    assert str(caught.value) == message

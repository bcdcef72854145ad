import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail.gym.reward_transforms import (
    RewardTransform,
    clip,
    coefficient_from,
    fixed,
    none,
    reward_threshold,
    sign,
    transform_one,
    transform_reward,
    truncate,
)

ALL = {
    "none": none(),
    "clip": clip(2.0),
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
    transformed = transform_reward(ALL[name], REWARDS, n)
    np.testing.assert_allclose(transformed.reward, [naive(name, r, n) for r in REWARDS], rtol=1e-15)
    assert transformed.truncated.tolist() == [
        abs(r) > b for r, b in zip(REWARDS, transformed.threshold, strict=True)
    ]


def test_the_thresholds_of_the_paper() -> None:
    """Row 67 of READING.md."""
    thresholds = reward_threshold(truncate(0.05, 0.015), [1, 10, 66, 67, 1000, 10_000])
    np.testing.assert_allclose(thresholds[[0, 1, 4, 5]], [0.018, 0.16, 13.2, 118], rtol=0.03)
    assert thresholds[2] < 1.0 < thresholds[3]


@given(
    st.sampled_from(sorted(ALL)),
    st.floats(allow_nan=False),
    st.integers(1, 10**9),
)
def test_one_reward_in_plain_python_is_one_of_an_array(name: str, reward: float, count: int) -> None:
    alone = transform_one(ALL[name], reward, count)
    many = transform_reward(ALL[name], [reward], [count])
    assert all(type(x) is t for x, t in zip(alone, (float, float, bool), strict=True))
    assert alone[1] == pytest.approx(many.threshold[0], rel=1e-15)
    if abs(abs(reward) - alone[1]) > 1e-12 * alone[1] or not math.isfinite(reward):
        assert alone[0] == pytest.approx(many.reward[0], rel=1e-15)
        assert alone[2] == many.truncated[0]


def test_a_reward_at_the_threshold_stays() -> None:
    assert transform_one(fixed(2.0), 2.0, 1) == (2.0, 2.0, False)
    assert transform_one(fixed(2.0), math.nextafter(2.0, 3.0), 1) == (0.0, 2.0, True)


def test_no_number_stays_no_number() -> None:
    for transform in (none(), clip(1.0), fixed(1.0)):
        assert math.isnan(transform_reward(transform, math.nan, 1).reward)


def test_transforms_stack_and_counts_broadcast() -> None:
    # Its fields may be arrays too.
    stacked = RewardTransform(*(np.array(field)[:, None] for field in zip(*ALL.values(), strict=True)))  # type: ignore[arg-type]
    together = transform_reward(stacked, REWARDS, np.arange(1, len(REWARDS) + 1))
    for i, transform in enumerate(ALL.values()):
        alone = transform_reward(transform, REWARDS, np.arange(1, len(REWARDS) + 1))
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, many[i])


# The coefficient of a warm-up


@given(
    st.lists(st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-6), min_size=1),
    st.floats(0.01, 0.99),
    st.integers(1, 1000),
    st.floats(0.01, 1),
)
def test_the_threshold_is_the_quantile_at_the_given_visit(
    rewards: list[float], quantile: float, visits: int, epsilon: float
) -> None:
    coefficient = coefficient_from(rewards, epsilon, quantile, visits)
    assert reward_threshold(truncate(epsilon, coefficient), visits) == pytest.approx(
        np.quantile(np.abs(rewards), quantile)
    )


def test_rewards_of_0_and_infinite_ones_say_nothing_about_the_size_of_the_others() -> None:
    assert coefficient_from([0.0] * 100 + [3.0, math.inf, -3.0], 0.05) == coefficient_from([3.0], 0.05)


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1.7e308])
def test_extreme_sizes_give_a_coefficient_all_the_same(size: float) -> None:
    assert 0 < coefficient_from([size], 1.0) < math.inf


# Mistakes


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: truncate(0.0, 1.0), "epsilon must be above 0, got 0.0"),
        (lambda: truncate(1.5, 1.0), "epsilon must be at most 1, got 1.5"),
        (lambda: truncate(0.5, -1), "coefficient must be above 0, got -1.0"),
        (lambda: truncate(0.5, 1.0, "zeros"), "mode is 'zeros'; did you mean 'zero'?"),  # type: ignore[arg-type]
        (lambda: clip(math.inf), "limit must be finite, got inf"),
        (lambda: fixed(0), "limit must be above 0, got 0.0"),
        (
            lambda: coefficient_from([0.0], 0.5),
            "rewards has none that is finite and not 0; a coefficient needs at least one",
        ),
        (lambda: coefficient_from(["a"], 0.5), "rewards must be a regular array of numbers, got ['a']"),
        (lambda: coefficient_from([1.0], 0.5, quantile=1.0), "quantile must be below 1, got 1.0"),
        (lambda: coefficient_from([1.0], 0.5, visits=0), "visits must be at least 1, got 0"),
    ],
)
def test_mistakes_are_said_in_one_line(what: Any, message: str) -> None:
    with pytest.raises(ht.InputError) as caught:
        what()
    assert str(caught.value) == message

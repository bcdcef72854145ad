import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import heavytail as ht
from heavytail.errors import InputError
from heavytail.tails.location import largest_share, robust_mean, spread_around


@pytest.mark.parametrize("unit", [1e-140, 1.0, 1e140])
def test_the_robust_mean_is_scaled_with_its_samples(unit: float) -> None:
    samples = ht.laws.student_t(1.5, loc=2.0).sample(2000, seed=0)
    found = robust_mean(samples * unit)
    assert found.low < 2.0 * unit < found.high
    assert found.mean / unit == pytest.approx(robust_mean(samples).mean, rel=1e-6)


def test_skewed_laws_are_told_from_symmetric_ones() -> None:
    assert robust_mean(ht.laws.pareto(1.5).sample(2000, seed=0)).skewed > 0.99
    assert robust_mean(ht.laws.alpha_stable(1.3).sample(10_000, seed=0)).skewed < 0.2


def test_the_scale_is_a_normal_laws_deviation_and_stays_positive_among_equal_rewards() -> None:
    rng = np.random.default_rng(0)
    assert spread_around(5.0, rng.normal(5.0, 3.0, 100_000)) == pytest.approx(3.0, rel=0.02)
    assert spread_around(0.0, np.array([0.0] * 99 + [1.0])) > 0.0


def test_shares_of_plain_samples() -> None:
    assert largest_share(np.array([-3.0, 1.0])) == 0.75
    assert largest_share(np.zeros(3)) == 0.0


def test_samples_may_come_as_any_array_and_must_be_finite_numbers() -> None:
    x = np.array([1.0, 2.0, 4.0, -1.0])
    assert (
        robust_mean(x.tolist()) == robust_mean(pd.Series(x)) == robust_mean(x.reshape(2, 2)) == robust_mean(x)
    )
    cases: dict[str, Any] = {
        "samples is empty": [],
        r"samples\[1\] is nan; every sample must be a finite number": [1.0, math.nan],
        r"samples\[0\] is inf": [math.inf],
        r"samples\[2\] is nan": np.ma.array([1.0, 2.0, 3.0], mask=[False, False, True]),
        "samples must be a regular array of numbers, got 'a'": "a",
    }
    for message, samples in cases.items():
        with pytest.raises(InputError, match=message):
            robust_mean(samples)

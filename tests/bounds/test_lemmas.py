"""The lemmas that carry the proofs, over random sequences."""

import math
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail.agents.heavy_q_learning import weighted_bernstein_constant
from heavytail.agents.restarting import restart_steps
from heavytail.arrays import Floats
from heavytail.bounds import compute_bound
from heavytail.bounds.heavy_q_learning import learning_rate_constant
from heavytail.bounds.heavy_ucrl2 import sequence_constant
from support.examples import examples

epsilons = st.floats(0.01, 1.0)
horizons = st.integers(1, 40)
fractions = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=60)


def phases(shares: list[float]) -> tuple[Floats, Floats]:
    """A sequence with 0 <= z_k <= Z_{k-1}, and Z_{k-1}."""
    z, before = np.zeros(len(shares)), np.zeros(len(shares))
    for k, share in enumerate(shares):
        before[k] = max(1.0, z[:k].sum())
        z[k] = share * before[k]
    return z, before


def learning_rates(H: int, t: int) -> Floats:
    """alpha_t^i for i = 1, ..., t."""
    weights = np.zeros(t)
    for i in range(1, t + 1):
        rate = (H + 1) / (H + i)
        weights *= 1 - rate
        weights[i - 1] = rate
    return weights


@examples(150)
@given(fractions, epsilons)
def test_the_sequence_lemma_holds_with_half_the_papers_constant(shares: list[float], epsilon: float) -> None:
    z, before = phases(shares)
    a, b = 1 / (1 + epsilon), epsilon / (1 + epsilon)
    assert (z / before**b).sum() <= float(sequence_constant(epsilon)) * max(1.0, z.sum()) ** a * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.5, 1.0])
def test_and_with_no_smaller_one(epsilon: float) -> None:
    z, before = phases([1.0] * 70)
    a, b = 1 / (1 + epsilon), epsilon / (1 + epsilon)
    assert (z / before**b).sum() / z.sum() ** a == pytest.approx(float(sequence_constant(epsilon)), abs=1e-9)


@examples(100)
@given(fractions, epsilons, st.randoms(use_true_random=False))
def test_it_holds_for_some_of_the_phases_too(shares: list[float], epsilon: float, chance: Random) -> None:
    """Theorem 2 sums over bad phases only, by the number of steps in them."""
    z, before = phases(shares)
    bad = np.array([chance.random() < 0.5 for _ in shares])
    a, b = 1 / (1 + epsilon), epsilon / (1 + epsilon)
    assert (z / before**b)[bad].sum() <= float(sequence_constant(epsilon)) * max(1.0, z[bad].sum()) ** a * (
        1 + 1e-12
    )


@examples(100)
@given(horizons, st.integers(1, 400), epsilons)
def test_sums_of_learning_rates(H: int, t: int, epsilon: float) -> None:
    weights, b, i = learning_rates(H, t), epsilon / (1 + epsilon), np.arange(1, t + 1)
    constant = float(learning_rate_constant(H, b))
    assert t**-b * (1 - 1e-12) <= (weights * i**-b).sum() <= constant * t**-b * (1 + 1e-12)
    assert constant <= 4 / 3
    assert (weights**2).sum() <= 2 * H / t * (1 + 1e-12)
    assert weights.sum() == pytest.approx(1.0)


def test_the_constant_of_the_learning_rates_is_what_the_sum_comes_to() -> None:
    weights, i = learning_rates(5, 20_000), np.arange(1, 20_001)
    assert (weights * i**-0.5).sum() * 20_000**0.5 == pytest.approx(
        float(learning_rate_constant(5, 0.5)), rel=1e-4
    )


@examples(100)
@given(horizons, st.integers(1, 400), epsilons)
def test_the_weighted_bernstein_constant_is_never_exceeded(H: int, t: int, epsilon: float) -> None:
    weights, i = learning_rates(H, t), np.arange(1, t + 1)
    a, b = 1 / (1 + epsilon), epsilon / (1 + epsilon)
    spread = math.sqrt(2 * (weights**2 * i ** ((1 - epsilon) * a)).sum())
    K = t**b * ((weights * i**-b).sum() + spread + (weights * i**a).max() / 3)
    assert (
        K
        <= weighted_bernstein_constant(H, epsilon) * (1 + 1e-12)
        <= (2 + 2 * math.sqrt(H) + 2 * H / 3) * (1 + 2e-12)
        <= 8 * H
    )


@examples(60)
@given(st.floats(0.1, 1.0), st.integers(1, 8), st.floats(1.0, 1e6))
def test_the_stages_of_a_changing_mdp(epsilon: float, changes: int, T: float) -> None:
    """Their number, and the length of the last l of them, are as the proof of theorem 3 needs them.

    The paper's proof of the latter is not valid.
    """
    p = (1 + 2 * epsilon) / epsilon
    stages = (changes ** ((1 + epsilon) / epsilon) * T) ** (1 / p)
    schedule = restart_steps(epsilon, changes, int(stages) + 2)
    starts = [start for _, start in schedule if start <= T]
    assert len(starts) <= stages * (1 + 1e-9)
    last = T - starts[-changes] if len(starts) >= changes else T
    size: dict[str, Any] = {"S": 2, "A": 2, "diameter": 2, "r_max": 1, "raw_moment": 1}
    assert last <= float(compute_bound("changing", T, changes=changes, epsilon=epsilon, **size).remainder) * (
        1 + 1e-9
    )

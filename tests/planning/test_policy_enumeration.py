"""The gap between policies, and the gains of all of them."""

import numpy as np
import pytest
from hypothesis import given

import heavytail as ht
from heavytail import planning
from heavytail.mdp import MDP
from heavytail.planning.policy_enumeration import all_gains
from support.planning_twins import (
    FEW_EXAMPLES,
    Model,
    every_gain_and_bias,
    models,
    policies,
)


@given(models(most_states=3))
@FEW_EXAMPLES
def test_the_gap_is_that_of_a_naive_enumeration(model: Model) -> None:
    gains = sorted({round(float(g), 7) for g in every_gain_and_bias(model)[0].ravel()}, reverse=True)
    assert planning.policy_gap(model.mdp()) == pytest.approx(
        gains[0] - gains[1] if len(gains) > 1 else 0.0, abs=1e-6
    )


@given(models())
@FEW_EXAMPLES
def test_all_gains_come_in_the_order_of_their_digits(model: Model) -> None:
    S, A = model.r.shape
    naive, _ = every_gain_and_bias(model)
    numbers = [sum(a * A**s for s, a in enumerate(policy)) for policy in policies(model)]
    np.testing.assert_allclose(all_gains(model.mdp(), 0, A**S)[numbers], naive, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(
        all_gains(model.mdp(), A**S - 1, A**S), all_gains(model.mdp(), 0, A**S)[-1:]
    )


def test_the_numbers_of_policies_may_be_long() -> None:
    """2**70 policies: the last one always takes the second action."""
    n = 70
    mdp = ht.mdp_from_arrays(
        np.tile(np.eye(n)[:, None], (1, 2, 1)), np.stack([np.zeros(n), np.arange(1.0, n + 1)], axis=1)
    )
    np.testing.assert_allclose(all_gains(mdp, 2**n - 1, 2**n), [np.arange(1.0, n + 1)], rtol=1e-13)
    np.testing.assert_allclose(all_gains(mdp, 0, 1), np.zeros((1, n)), atol=1e-13)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_gap_of_six_arms_is_that_of_its_two_best(scale: float) -> None:
    mdp = one_arm_less(3)
    assert planning.policy_gap(mdp._replace(row_means=mdp.row_means * scale)) == pytest.approx(
        0.2 * scale, rel=1e-9
    )


def test_the_gap_of_rewards_that_have_much_in_common() -> None:
    mdp = one_arm_less(3)
    assert planning.policy_gap(mdp._replace(row_means=mdp.row_means + 2.0**30)) == pytest.approx(
        0.2, abs=1e-5
    )
    assert planning.policy_gap(mdp._replace(row_means=0.0 * mdp.row_means + 1e9 / 3.0)) == 0.0


def test_a_long_chain_without_choices_has_one_gain() -> None:
    mdp = ht.mdp_from_slots(
        np.arange(100_000),
        np.roll(np.arange(100_000), -1),
        np.ones(100_000),
        np.arange(100_000.0),
        n_states=100_000,
        n_actions=1,
    )
    assert planning.policy_gap(mdp) == 0.0
    assert all_gains(mdp, 0, 0).shape == (0, 100_000)
    np.testing.assert_allclose(all_gains(mdp, 0, 1), 49_999.5, rtol=1e-12)


def one_arm_less(arms: int) -> MDP:
    """SixArms with fewer arms: 6**7 policies are too many for a test."""
    p, r = np.zeros((arms + 1, arms, arms + 1)), np.zeros((arms + 1, arms))
    p[1:, :, 0] = 1.0
    for a in range(arms):
        p[0, a, [a + 1, 0]] = 1.0 - 0.25 * a, 0.25 * a
        p[a + 1, a], r[a + 1, a] = np.eye(arms + 1)[a + 1], 1.0 + 0.2 * a
    return ht.mdp_from_arrays(p, r)
